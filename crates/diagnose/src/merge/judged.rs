//! What a rule says of one JVM, judged on what is covered of what it needs to see.

use fathom_recording::vocabulary::source::SESSION;
use fathom_recording::{ProcessId, Recording};

use crate::confidence::Ground;
use crate::facts::{Value, reasons, scope, switch_on};
use crate::intervals::Intervals;
use crate::sight::Sights;
use crate::{BlindSpot, COVERED, Case, Judgement, MATTERS_SHARE, Rule, Sight};

/// What a rule says of a JVM, judged on what is covered of what it needs to see: a finding says how
/// much that is, and a cause that was looked for in too little is not ruled out.
pub(super) fn judge<'a>(case: &Case<'a>, sights: &Sights<'a>, rule: &dyn Rule, jvm: ProcessId) -> Judgement {
    if !rule.of_any_program() && is_no_jvm(case.recording, jvm) {
        return Judgement::NotApplicable;
    }
    let slow = Intervals::of_windows(&case.slow);
    let base = Intervals::of_windows(&case.base);
    let mut intervals = slow.or(&base);
    for sight in rule.needs() {
        intervals = intervals.and(&sights.coverage(*sight, jvm).intervals);
    }
    let share = share_of(&slow, &intervals);
    // A little off at the edges, where collectors were not ready yet, is no other case.
    let whole = |share: f64| share > 1.0 - MATTERS_SHARE;
    let base_share = share_of(&base, &intervals);
    let judgement = match share > 0.0 && !(whole(share) && whole(base_share)) {
        true => rule.judge(&case.clipped(&intervals), jvm),
        false => rule.judge(case, jvm),
    };
    match judgement {
        Judgement::Found(mut finding) if share > 0.0 && !whole(share) => {
            finding.covered_share = share;
            finding.why_confidence.push(reasons::COVERED.is(Value::share(share)).into());
            Judgement::Found(finding)
        }
        Judgement::Found(mut finding)
            if !base.is_empty() && base_share <= 0.0 && !rule.needs().is_empty() =>
        {
            finding.confidence = Ground::Incomplete.at_most(finding.confidence);
            finding.why_confidence.push(reasons::NO_BASELINE.fact().into());
            Judgement::Found(finding)
        }
        Judgement::RuledOut { .. } if share < COVERED => not_known(case, sights, rule, jvm, share),
        Judgement::RuledOut { figure, source } => {
            too_few_samples(case, sights, rule, jvm).unwrap_or(Judgement::RuledOut { figure, source })
        }
        other => other,
    }
}

/// Whether a process is known not to be a JVM: `fathom record` looks for the JVM's library, other
/// inputs may not show it.
pub(crate) fn is_no_jvm(recording: &Recording, process: ProcessId) -> bool {
    let live = recording.sources.iter().any(|source| source.format == SESSION);
    live && recording.processes.get(process.index()).is_some_and(|row| !row.jvm)
}

pub(super) fn share_of(windows: &Intervals, intervals: &Intervals) -> f64 {
    let length = windows.length_ns();
    if length > 0 { windows.and(intervals).length_ns() as f64 / length as f64 } else { 1.0 }
}

/// Too little was covered to rule a cause out.
pub(super) fn not_known(
    case: &Case<'_>,
    sights: &Sights<'_>,
    rule: &dyn Rule,
    jvm: ProcessId,
    share: f64,
) -> Judgement {
    let slow = Intervals::of_windows(&case.slow);
    let least = rule.needs().iter().copied().min_by(|a, b| {
        let covered = |sight: &Sight| share_of(&slow, &sights.coverage(*sight, jvm).intervals);
        covered(a).total_cmp(&covered(b))
    });
    let Some(sight) = least else { return Judgement::NotApplicable };
    let coverage = sights.coverage(sight, jvm);
    let of = Value::name(if case.whole_run { "of the time" } else { "of the slow windows" });
    let what = match (coverage.lossy.first(), share > 0.0) {
        (Some(lossy), _) => scope::LOSSY.fact().with("lost", Value::list([lossy.clone()])),
        (None, true) => scope::COVERED.is(Value::share(share)).with("of", of),
        (None, false) => scope::NOT_COVERED.fact().with("of", of),
    };
    let name = Some(case.jvm_name(jvm)).filter(|name| !name.is_empty());
    let what = what.with("what", Value::name(sight.words())).with("process", name.map(Value::name));
    Judgement::Inconclusive(BlindSpot {
        what: what.into(),
        rules: vec![rule.id().to_owned()],
        remedy: sight.remedy(case.recording).into(),
    })
}

/// A rule that found nothing in samples of the CPU, where so few were taken that they could have
/// missed what matters.
pub(super) fn too_few_samples(
    case: &Case<'_>,
    sights: &Sights<'_>,
    rule: &dyn Rule,
    jvm: ProcessId,
) -> Option<Judgement> {
    if !rule.needs().contains(&Sight::CpuSamples) {
        return None;
    }
    let unsampled_ms = sights.unsampled_ms(jvm)?;
    case.matters(unsampled_ms).then(|| {
        Judgement::Inconclusive(BlindSpot {
            what: scope::FEW_SAMPLES
                .is(Value::ms(unsampled_ms))
                .with("length", Value::ms(Case::length_ms(&case.slow)))
                .into(),
            rules: vec![rule.id().to_owned()],
            remedy: switch_on::SAMPLE_OFTENER.fact().into(),
        })
    })
}
