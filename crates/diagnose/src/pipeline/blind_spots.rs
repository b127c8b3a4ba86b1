//! What a verdict could not see: sources that nobody gave, time that nobody recorded, records that
//! were lost.

use fathom_recording::vocabulary::source::SESSION;
use fathom_recording::{ProcessId, Recording};

use crate::Layer::{Application, Cpu, Gc, Jit, Memory, Safepoint, Storage};
use crate::facts::{Value, scope, switch_on};
use crate::rules::RULES;
use crate::windows::Chosen;
use crate::{BlindSpot, merge, sight};

/// The beginning of a recommendation for what is summed up and not missing.
const NOTHING_TO_DO: &str = "nothing to do";

/// What no rule could look at: recordings without a JVM, JVMs that are on no common clock.
pub(super) fn unseen(recording: &Recording, jvms: &[ProcessId], unplaced: &[ProcessId]) -> Vec<BlindSpot> {
    let rules: Vec<String> = RULES.iter().map(|rule| rule.id().to_owned()).collect();
    if !unplaced.is_empty() {
        let names: Vec<_> = unplaced.iter().map(|jvm| recording.process_name(*jvm)).collect();
        return vec![BlindSpot {
            what: scope::NOT_ALIGNED.is(Value::name(names.join(", "))).into(),
            rules,
            remedy: switch_on::ALIGN.fact().into(),
        }];
    }
    // A recording of processes none of which is a JVM: there is no log to give.
    let live = recording.sources.iter().any(|source| source.format == SESSION);
    if live && jvms.iter().all(|jvm| merge::is_no_jvm(recording, *jvm)) {
        let rules = RULES.iter().filter(|rule| jvms.is_empty() || !rule.of_any_program());
        let rules = rules.map(|rule| rule.id().to_owned()).collect();
        return vec![BlindSpot {
            what: scope::NO_JVM.fact().into(),
            rules,
            remedy: switch_on::ANY_PROCESS.fact().into(),
        }];
    }
    if !jvms.is_empty() {
        return Vec::new();
    }
    let of = |layers: &[crate::Layer]| -> Vec<String> {
        let rules = RULES.iter().filter(|rule| layers.contains(&rule.layer()));
        rules.map(|rule| rule.id().to_owned()).collect()
    };
    let rows = [
        (
            &scope::NO_GC_LOG,
            of(&[Gc, Safepoint, Cpu, Memory, Storage, Application]),
            &switch_on::GC_AND_SAFEPOINT_LOG,
        ),
        (&scope::NO_JIT_LOG, of(&[Jit]), &switch_on::LOG_COMPILATION),
    ];
    rows.into_iter()
        .filter(|(_, rules, _)| !rules.is_empty())
        .map(|(what, rules, remedy)| BlindSpot {
            what: what.fact().into(),
            rules,
            remedy: remedy.fact().into(),
        })
        .collect()
}

/// Slow time that only the series covers.
pub(super) fn unrecorded(chosen: &Chosen, slow_ms: f64) -> Option<BlindSpot> {
    let verdict = match !chosen.whole_run && chosen.unrecorded_ms >= slow_ms {
        true => "nothing else was recorded while it was slow, so that its cause cannot be known",
        false => "the verdict holds for the rest",
    };
    (chosen.unrecorded_ms > 0.0).then(|| BlindSpot {
        what: scope::ONLY_SERIES
            .is(Value::ms(chosen.unrecorded_ms))
            .with("verdict", Value::name(verdict))
            .into(),
        rules: Vec::new(),
        remedy: switch_on::RECORD_SERIES_TIME.fact().into(),
    })
}

/// What the collectors of a live recording could not see, as they said themselves, and what they
/// lost. What they summed up on purpose is there, only not one by one.
pub(super) fn uncollected(recording: &Recording) -> impl Iterator<Item = BlindSpot> {
    let lost = recording.sources.iter().filter_map(|source| {
        sight::too_lossy(source).map(|lost| BlindSpot {
            what: scope::TOO_LOW.fact().with("lost", Value::list([lost])).into(),
            rules: Vec::new(),
            remedy: switch_on::RECORD_LESS.fact().into(),
        })
    });
    lost.chain(unseen_of(recording))
}

/// Whether something that a source did not list is in its sums: then nothing is missing, and there
/// is nothing to do.
pub fn is_summed(unseen: &fathom_recording::Unseen) -> bool {
    unseen.remedy.starts_with(NOTHING_TO_DO)
}

fn unseen_of(recording: &Recording) -> impl Iterator<Item = BlindSpot> {
    let unseen = recording.sources.iter().flat_map(|source| &source.unseen);
    let unseen = unseen.filter(|unseen| !is_summed(unseen));
    unseen.map(|unseen| BlindSpot {
        what: scope::NOT_COLLECTED.is(Value::name(&unseen.what)).with("why", Value::name(&unseen.why)).into(),
        rules: Vec::new(),
        remedy: switch_on::AS_SAID.is(Value::name(&unseen.remedy)).into(),
    })
}
