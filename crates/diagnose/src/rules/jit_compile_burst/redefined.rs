//! Bursts that compile what had been compiled: classes were redefined, which throws away the code
//! that depends on them.

use std::collections::{BTreeMap, HashMap, HashSet};

use fathom_recording::vocabulary::label;

use super::burst::{Burst, LEAD_NS};
use crate::facts::{Value, checks, compile, culprits, meanings, remedies, titles};
use crate::rules::jit_case::{JitCase, REDEFINITION, Task};
use crate::{Finding, Window};

/// What of a burst's tasks must be of methods that had been compiled, for it to be one of code that
/// was thrown away.
const MOST: f64 = 0.5;

/// Redefinitions of classes within bursts.
pub(super) struct Redefined {
    operations: usize,
    /// The thread that asked for most of them, or for the longest one.
    asked_by: Option<String>,
    /// Methods whose code was thrown away and made again.
    again: usize,
}

impl Redefined {
    /// `None`: classes were not redefined, or what is compiled is new.
    pub(super) fn of(jit: &JitCase<'_, '_>, bursts: &[Burst<'_>]) -> Option<Self> {
        let near = |burst: &Burst<'_>| Window {
            from_ns: burst.window.from_ns.saturating_sub(LEAD_NS),
            to_ns: burst.window.to_ns,
        };
        let windows: Vec<Window> = bursts.iter().map(near).collect();
        let operations = jit.redefinitions(&windows);
        let mut begun: Vec<i64> = Vec::new();
        let mut longest: Option<Window> = None;
        let mut callers: BTreeMap<&str, usize> = BTreeMap::new();
        for span in &operations {
            begun.push(span.t0_ns());
            let one = Window { from_ns: span.t0_ns(), to_ns: span.t1_ns() };
            longest = longest.filter(|longest| longest.length_ns() >= one.length_ns()).or(Some(one));
            *callers.entry(span.label(label::CALLER).unwrap_or_default()).or_default() += 1;
        }
        begun.sort_unstable();
        let most = callers.into_iter().max_by_key(|(_, times)| *times);
        let by_record = most.map(|(who, _)| who.to_owned()).filter(|who| !who.is_empty());
        let by_switches = || jit.case.longest_stop(jit.jvm, &[longest?])?.asked_by;
        let asked_by = by_record.or_else(by_switches);
        // The method had such code before the last redefinition before the task.
        let mut made: HashMap<(&str, Option<u8>), i64> = HashMap::new();
        for task in jit.tasks.iter().filter(|task| !task.osr) {
            let first = made.entry((task.method(), task.tier)).or_insert(task.done_ns);
            *first = task.done_ns.min(*first);
        }
        let is_again = |task: &Task<'_>| {
            let before = begun.partition_point(|t_ns| *t_ns <= task.queued_ns);
            let thrown_away = before.checked_sub(1).and_then(|at| begun.get(at));
            let first = made.get(&(task.method(), task.tier));
            first.zip(thrown_away).is_some_and(|(first, thrown_away)| first < thrown_away)
        };
        let tasks = || bursts.iter().flat_map(|burst| &burst.tasks).filter(|task| !task.osr);
        let again: Vec<_> = tasks().filter(|task| is_again(task)).map(|task| task.method()).collect();
        if begun.is_empty() || (again.len() as f64) < MOST * tasks().count() as f64 {
            return None;
        }
        let again = again.into_iter().collect::<HashSet<_>>().len();
        Some(Self { operations: begun.len(), asked_by, again })
    }

    /// Says so in a finding of bursts.
    pub(super) fn say(&self, jit: &JitCase<'_, '_>, finding: &mut Finding) {
        let (again, times) = (Value::count(self.again), Value::count(self.operations));
        let asked_by = self.asked_by.as_deref().map(Value::name);
        let title = titles::REDEFINED.is(again.clone()).with("times", times.clone());
        finding.title = title.with("asked-by", asked_by.clone()).into();
        let culprit = culprits::OPERATION.is(Value::name(REDEFINITION));
        finding.culprit = culprit.with("asked-by", asked_by).into();
        finding.meaning = meanings::REDEFINED.fact().into();
        finding.evidence.insert(0, jit.evidence(compile::COMPILED_AGAIN.is(again).with("times", times)));
        finding.remedies = vec![remedies::INSTRUMENT_AT_LOAD.remedy()];
        finding.verify = vec![checks::NOT_REDEFINED.fact().into()];
    }
}
