//! Whether the process itself was made to stand behind others: its nice value rose, or the weight
//! of its control group fell.

use fathom_recording::vocabulary::live::{self, Word};
use fathom_recording::{ProcessId, Series};

use crate::facts::{Value, cpu as facts, remedies};
use crate::series_within::median;
use crate::{Case, Fact, Remedy};

/// By how much a nice value must have risen: each step is a part of the CPUs that is 1.25 times
/// smaller (sched_prio_to_weight of Linux).
const NICER: f64 = 3.0;
/// To what part of what it was a weight must have fallen.
const LIGHTER: f64 = 0.6;

/// How it was.
pub(super) enum Lowered {
    /// Nice values.
    Nice { slow: f64, base: f64 },
    /// Of a control group, in relation to the default weight.
    Weight { group: String, slow: f64, base: f64 },
}

impl Lowered {
    /// That of a process; a weight is that of a group of any process, where one JVM was recorded.
    pub(super) fn of(case: &Case<'_>, jvm: ProcessId) -> Option<Self> {
        let all = |word: Word| case.recording.series.iter().filter(move |s| s.info.name == word.name);
        let sides = |series: &Series| median(series, &case.slow).zip(median(series, &case.base));
        let nice = all(live::PROCESS_NICE).filter(|series| series.info.process == Some(jvm));
        if let Some((slow, base)) = { nice }.find_map(sides).filter(|(slow, base)| slow - base >= NICER) {
            return Some(Self::Nice { slow, base });
        }
        let one = case.recording.processes.iter().filter(|process| process.jvm).count() == 1;
        let group = |series: &Series| {
            let (slow, base) = sides(series).filter(|(slow, base)| *slow <= LIGHTER * base)?;
            Some(Self::Weight { group: series.info.instance.clone(), slow, base })
        };
        all(live::CGROUP_CPU_WEIGHT).filter(|_| one).find_map(group)
    }

    pub(super) fn fact(&self) -> Fact {
        match self {
            Self::Nice { slow, base } => facts::NICER.is(Value::plain(*slow)).over(Value::plain(*base)),
            Self::Weight { group, slow, base } => {
                let fact = facts::LIGHTER.is(Value::plain(*slow)).over(Value::plain(*base));
                fact.with("group", Value::name(group))
            }
        }
    }

    pub(super) fn remedy(&self) -> Remedy {
        let nice = if let Self::Nice { base, .. } = self { base.round() } else { 0.0 };
        remedies::PRIORITY_AS_BEFORE.is(Value::plain(nice)).into()
    }
}
