//! Many judgements into one verdict: findings ranked without charging the same time twice, ruled-out causes and
//! blind spots one row each.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::source::SESSION;
use fathom_recording::{ProcessId, Recording};

use crate::growth::PACE_RULE;
use crate::intervals::Intervals;
use crate::rules::{CpuTakenByOthers, yields};
use crate::sight::Sights;
use crate::{
    BlindSpot, COVERED, Case, Confidence, Evidence, Finding, Judgement, Layer, MATTERS_SHARE, Rule, RuledOut,
    Sight, quantity,
};

/// Processes named in a row before "and N more".
const NAMED: usize = 3;
/// See [`weight_ms`].
const YIELDS_TO_SHARE: f64 = 0.2;
/// The same of CPUs that others took where no loss was measured.
const USUAL_SHARE: f64 = 0.05;

/// The verdict of all rules.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    pub(crate) findings: Vec<Finding>,
    pub(crate) ruled_out: Vec<RuledOut>,
    pub(crate) blind_spots: Vec<BlindSpot>,
}

/// Asks every rule about every JVM and merges what they say.
pub(crate) fn judge_all<'a>(
    case: &Case<'a>,
    sights: &Sights<'a>,
    jvms: &[ProcessId],
    rules: &[&dyn Rule],
) -> Merged {
    let mut merged = Merged::default();
    let mut blind: Vec<(String, BlindSpot)> = Vec::new();
    for rule in rules {
        let mut found = false;
        let mut out: Vec<(ProcessId, String, String)> = Vec::new();
        for jvm in jvms {
            match judge(case, sights, *rule, *jvm) {
                Judgement::Found(finding) => {
                    found = true;
                    merged.findings.push(*finding);
                }
                Judgement::RuledOut { figure, source } => out.push((*jvm, figure, source)),
                Judgement::CannotTell(spot) => blind.push((case.jvm_name(*jvm).to_owned(), spot)),
                Judgement::NotApplicable => {}
            }
        }
        // Found in one JVM and not in the others is the finding's to tell.
        if !found {
            merged.ruled_out.extend(most_telling(case, *rule, out));
        }
    }
    merged.findings = rank(merged.findings, case);
    merged.blind_spots = blind_spots(blind);
    merged
}

/// A verdict with what only the other frame shows (the whole run where this one is stops, or stops where it is the whole run): without a
/// share, for the loss of this frame is not theirs, and after its own findings, for what they cost is the cost of other moments. What only sums
/// up stops adds nothing to findings that explain most of them.
pub(crate) fn with_others(mut verdict: Merged, other: Merged, found: &str) -> Merged {
    let own = verdict.findings.len();
    for mut finding in other.findings {
        let known = |f: &Finding| f.rule == finding.rule && f.process_id == finding.process_id;
        if verdict.findings.iter().any(known) {
            continue;
        }
        if yields(finding.rule) && explained_ms(&finding, &verdict.findings) * 2.0 > finding.cost_ms {
            continue;
        }
        finding.share = None;
        finding.why_confidence += &format!("; found {found}");
        verdict.findings.push(finding);
    }
    by_cost(&mut verdict.findings[own..]);
    verdict.ruled_out.retain(|row| verdict.findings.iter().all(|finding| finding.rule != row.rule));
    verdict
}

/// What a rule says of a JVM, judged on what is covered of what it needs to see: a finding says how much that is, and a
/// cause that was looked for in too little is not ruled out.
fn judge<'a>(case: &Case<'a>, sights: &Sights<'a>, rule: &dyn Rule, jvm: ProcessId) -> Judgement {
    if !rule.of_any_program() && is_no_jvm(case.recording, jvm) {
        return Judgement::NotApplicable;
    }
    let slow = Intervals::of_windows(&case.slow);
    let base = Intervals::of_windows(&case.base);
    let mut moments = slow.or(&base);
    for sight in rule.needs() {
        moments = moments.and(&sights.coverage(*sight, jvm).moments);
    }
    let share = share_of(&slow, &moments);
    // A little off at the edges, where collectors were not ready yet, is no other case.
    let whole = |share: f64| share > 1.0 - MATTERS_SHARE;
    let base_share = share_of(&base, &moments);
    let judgement = match share > 0.0 && !(whole(share) && whole(base_share)) {
        true => rule.judge(&case.clipped(&moments), jvm),
        false => rule.judge(case, jvm),
    };
    match judgement {
        Judgement::Found(mut finding) if share > 0.0 && !whole(share) => {
            finding.covered_share = share;
            finding.why_confidence += &format!(
                "; judged on the {} of the slow windows that its sources cover",
                quantity::share(share)
            );
            Judgement::Found(finding)
        }
        Judgement::Found(mut finding)
            if !base.is_empty() && base_share <= 0.0 && !rule.needs().is_empty() =>
        {
            finding.confidence = finding.confidence.min(Confidence::Likely);
            finding.why_confidence +=
                "; nothing of it was recorded in the base, so what is usual is not known";
            Judgement::Found(finding)
        }
        Judgement::RuledOut { .. } if share < COVERED => not_known(case, sights, rule, jvm, share),
        Judgement::RuledOut { figure, source } => {
            too_few_samples(case, sights, rule, jvm).unwrap_or(Judgement::RuledOut { figure, source })
        }
        other => other,
    }
}

/// Whether a process is known not to be a JVM: `fathom record` looks for the JVM's library, other inputs may not tell.
pub(crate) fn is_no_jvm(recording: &Recording, process: ProcessId) -> bool {
    let live = recording.sources.iter().any(|source| source.format == SESSION);
    live && recording.processes.get(process.index()).is_some_and(|row| !row.jvm)
}

fn share_of(windows: &Intervals, moments: &Intervals) -> f64 {
    let length = windows.length_ns();
    if length > 0 { windows.and(moments).length_ns() as f64 / length as f64 } else { 1.0 }
}

/// Too little was covered to rule a cause out.
fn not_known(case: &Case<'_>, sights: &Sights<'_>, rule: &dyn Rule, jvm: ProcessId, share: f64) -> Judgement {
    let slow = Intervals::of_windows(&case.slow);
    let least = rule.needs().iter().copied().min_by(|a, b| {
        let covered = |sight: &Sight| share_of(&slow, &sights.coverage(*sight, jvm).moments);
        covered(a).total_cmp(&covered(b))
    });
    let Some(sight) = least else { return Judgement::NotApplicable };
    let coverage = sights.coverage(sight, jvm);
    let of = if case.whole_run { "of the time" } else { "of the slow windows" };
    let why = match (coverage.lossy.first(), share > 0.0) {
        (Some(lossy), _) => lossy.clone(),
        (None, true) => format!("{} {of} is covered", quantity::share(share)),
        (None, false) => format!("nothing {of} is covered"),
    };
    let name = case.jvm_name(jvm);
    let name = if name.is_empty() { String::new() } else { format!(" of {name}") };
    Judgement::CannotTell(BlindSpot {
        what: format!("{}{name}: {why}", sight.words()),
        rules: vec![rule.id().to_owned()],
        remedy: sight.remedy().into(),
    })
}

/// A rule that found nothing in samples of the CPU, where so few were taken that they could have missed what matters.
fn too_few_samples(
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
        Judgement::CannotTell(BlindSpot {
            what: format!(
                "which Java code ran in {}: samples of the CPU are too far apart for it (up to {} may go unseen)",
                quantity::millis(Case::length_ms(&case.slow)),
                quantity::millis(unsampled_ms)
            ),
            rules: vec![rule.id().to_owned()],
            remedy: "fathom record --rate 999, or a longer slow window".into(),
        })
    })
}

/// One row for a rule that no JVM shows: the figure of the JVM in which its layer was busiest.
fn most_telling(
    case: &Case<'_>,
    rule: &dyn Rule,
    mut out: Vec<(ProcessId, String, String)>,
) -> Option<RuledOut> {
    let others = out.len().saturating_sub(1);
    let busy = |jvm: ProcessId| match rule.layer() {
        Layer::Jit => case.compile_ms(jvm, &case.slow),
        _ => case.stopped_ms(jvm, &case.slow),
    };
    // The first of equals: sort_by is stable.
    out.sort_by(|a, b| busy(b.0).total_cmp(&busy(a.0)));
    let (jvm, figure, source) = out.into_iter().next()?;
    let figure = match others {
        0 => figure,
        n => format!(
            "{}: {figure} (not in {} either)",
            case.jvm_name(jvm),
            match is_no_jvm(case.recording, jvm) {
                true => quantity::plural(n, "other process", "other processes"),
                false => quantity::plural(n, "other JVM", "other JVMs"),
            }
        ),
    };
    Some(RuledOut { rule: rule.id().to_owned(), figure, source })
}

/// One row for each thing to switch on, with all rules that it blinds.
fn blind_spots(spots: Vec<(String, BlindSpot)>) -> Vec<BlindSpot> {
    let mut rows: Vec<(Vec<String>, BlindSpot)> = Vec::new();
    for (_, spot) in spots {
        match rows.iter_mut().find(|(_, row)| row.remedy == spot.remedy) {
            Some((whats, row)) => {
                if !whats.contains(&spot.what) {
                    whats.push(spot.what);
                }
                row.rules.extend(spot.rules);
            }
            None => rows.push((vec![spot.what.clone()], spot)),
        }
    }
    rows.into_iter()
        .map(|(whats, mut row)| {
            let more = whats.len().saturating_sub(NAMED);
            let named = &whats[..whats.len() - more];
            row.what = named.join("; ");
            if more > 0 {
                row.what += &format!("; and {more} more");
            }
            row.rules.sort_unstable();
            row.rules.dedup();
            row
        })
        .collect()
}

/// Ranks findings by what they cost and takes away what a finding before it has already been charged with.
///
/// A finding claims its stretches with a density, cost / length of its stretches, at most 1: a pause claims all of
/// its time, a burst of compilation that costs half of a dip half of every moment of it. A later finding of the same
/// process loses what earlier ones claim of its own stretches. Over all findings the shares of the loss add up to at
/// most 1; what is beyond is cut from the later ones. Whoever loses says so in `why_confidence`; what is then left with
/// too little to matter is no finding of its own, and is named as the other explanation where the time was charged.
pub(crate) fn rank(mut findings: Vec<Finding>, case: &Case<'_>) -> Vec<Finding> {
    share_out(&mut findings, case.loss.lost_ms);
    by_cost(&mut findings);
    findings.sort_by_key(|finding| yields(finding.rule));
    let mut left_ms = if case.loss.lost_ms > 0.0 { case.loss.lost_ms } else { f64::INFINITY };
    let mut claims: Vec<Claim> = Vec::new();
    let mut kept: Vec<Finding> = Vec::new();
    for mut finding in findings {
        let own = acts(&finding);
        let density = density(finding.cost_ms, &own);
        let (mut taken_ms, mut by) = (0.0_f64, None);
        for claim in claims.iter().filter(|claim| claim.process == finding.process_id) {
            let shared_ms = own.and(&claim.stretches).length_ms();
            if shared_ms > 0.0 {
                taken_ms += shared_ms * density.min(claim.density);
                by.get_or_insert(claim.of);
            }
        }
        let asked_ms = finding.cost_ms;
        finding.cost_ms = (asked_ms - taken_ms).max(0.0).min(left_ms);
        left_ms -= finding.cost_ms;
        finding.share = match finding.share {
            // Of what is covered: what others took away leaves as much less of it.
            Some(share) if finding.covered_share < 1.0 && asked_ms > 0.0 => {
                Some(share * finding.cost_ms / asked_ms)
            }
            // What costs nothing in these windows has no share of what was lost there.
            _ if finding.cost_ms <= 0.0 => None,
            // Stops as a share of windows that are stops say nothing.
            _ if yields(finding.rule) && case.lost_by.is_empty() => None,
            _ => case.share(finding.cost_ms),
        };
        if finding.cost_ms < asked_ms * 0.999 {
            let already = match by.and_then(|of| kept.get(of)) {
                Some(first) => format!("are charged to {}, which explains the same time", first.rule),
                None => "are charged to the findings before it".to_owned(),
            };
            let gone = quantity::millis(asked_ms - finding.cost_ms);
            finding.why_confidence += &format!("; {gone} of its {} {already}", quantity::millis(asked_ms));
        }
        let lost_out = finding.cost_ms < asked_ms * 0.999 && !case.matters(finding.cost_ms);
        if lost_out {
            left_ms += finding.cost_ms;
            if let Some(first) = kept.get_mut(by.unwrap_or(0)) {
                let text = match yields(finding.rule) {
                    true => in_all(&finding),
                    false => format!(
                        "the same time also fits {} ({}): {}",
                        finding.rule,
                        finding.confidence.word(),
                        finding.title
                    ),
                };
                first.also.push(finding.rule);
                first.evidence.push(Evidence {
                    text,
                    source: finding.evidence.first().map_or(String::new(), |e| e.source.clone()),
                    at_ns: None,
                });
                continue;
            }
        }
        claims.push(Claim { of: kept.len(), process: finding.process_id, stretches: own, density });
        kept.push(finding);
    }
    by_cost(&mut kept);
    kept
}

/// Shares the loss out among the JVMs that show one cause, where together they would explain more than all of it: replicas
/// do the same at the same time, and none of them is the other explanation of another one's.
fn share_out(findings: &mut [Finding], lost_ms: f64) {
    let mut costs: BTreeMap<&'static str, BTreeMap<ProcessId, f64>> = BTreeMap::new();
    for finding in findings.iter().filter(|_| lost_ms > 0.0) {
        *costs.entry(finding.rule).or_default().entry(finding.process_id).or_default() += finding.cost_ms;
    }
    for finding in findings {
        let Some(of_rule) = costs.get(finding.rule).filter(|of_rule| of_rule.len() > 1) else { continue };
        let all_ms: f64 = of_rule.values().sum();
        if all_ms > lost_ms {
            finding.cost_ms *= lost_ms / all_ms;
            finding.share = finding.share.map(|share| share * lost_ms / all_ms);
            finding.why_confidence +=
                &format!("; {} JVMs show it, and what was lost is shared out among them", of_rule.len());
        }
    }
}

/// A finding that is only the sum of the others', in words.
fn in_all(finding: &Finding) -> String {
    let first = finding.evidence.first().map_or(String::new(), |evidence| format!("; {}", evidence.text));
    format!("in all, {}{first}", finding.title)
}

/// What a finding has been charged with.
struct Claim {
    /// The finding, by its place among those kept.
    of: usize,
    process: ProcessId,
    stretches: Intervals,
    density: f64,
}

/// When a finding acted. Where stretches are joined for the timeline, what lies between them is not the finding's.
fn acts(finding: &Finding) -> Intervals {
    match finding.acts.is_empty() {
        true => Intervals::of_windows(&finding.windows),
        false => Intervals::of_windows(&finding.acts),
    }
}

/// What findings about stops explain of the time of another one in the same process, milliseconds.
fn explained_ms(finding: &Finding, by: &[Finding]) -> f64 {
    let own = acts(finding);
    let of_it = by.iter().filter(|f| f.process_id == finding.process_id && is_about_stops(f));
    let parts = of_it.map(|f| (acts(f), f.cost_ms));
    parts.map(|(acts, cost_ms)| own.and(&acts).length_ms() * density(cost_ms, &acts)).sum()
}

fn density(cost_ms: f64, stretches: &Intervals) -> f64 {
    let length_ms = stretches.length_ms();
    if length_ms > 0.0 { (cost_ms / length_ms).clamp(0.0, 1.0) } else { 0.0 }
}

/// Findings of several frames together explain no more than the loss: what is beyond is cut from those further down.
pub(crate) fn limit_shares(findings: &mut [Finding]) {
    let mut left = 1.0_f64;
    for share in findings.iter_mut().filter_map(|finding| finding.share.as_mut()) {
        *share = share.clamp(0.0, left);
        left = (left - *share).max(0.0);
    }
}

/// What a finding weighs in the order of findings, milliseconds. A cause that explains a fifth of what is only summed up
/// beside it, or of threads that sleep longer between operations, is the better answer. So is one beside other programs on the processors, where no loss was measured: many
/// machines are shared all the time, and what is usual there is not known.
pub(crate) fn weight_ms(finding: &Finding) -> f64 {
    let usual = finding.share.is_none() && finding.rule == CpuTakenByOthers.id();
    let weight = if usual {
        USUAL_SHARE
    } else if yields(finding.rule) || finding.rule == PACE_RULE {
        YIELDS_TO_SHARE
    } else {
        1.0
    };
    weight * finding.cost_ms
}

/// Whether a finding says why the JVM was stopped.
fn is_about_stops(finding: &Finding) -> bool {
    let beginnings = ["gc-", "heap-", "safepoint-", "out-of-", "process-"];
    beginnings.iter().any(|beginning| finding.rule.starts_with(beginning))
}

/// Dearest first; of equally dear ones the surest, then in the order of the rules. What is only the sum of stops gives way to what explains
/// them, and not to what has nothing to do with stops.
pub(crate) fn by_cost(findings: &mut [Finding]) {
    let stops_are_explained = findings.iter().any(is_about_stops);
    let weight_ms = |finding: &Finding| match yields(finding.rule) && !stops_are_explained {
        true => finding.cost_ms,
        false => weight_ms(finding),
    };
    let sure = |f: &Finding| match f.confidence {
        Confidence::Proven => 2,
        Confidence::Likely => 1,
        Confidence::ConsistentWith => 0,
    };
    findings.sort_by(|a, b| weight_ms(b).total_cmp(&weight_ms(a)).then(sure(b).cmp(&sure(a))));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::built::Built;
    use crate::{Loss, Window};

    struct Named(&'static str);

    impl Rule for Named {
        fn id(&self) -> &'static str {
            self.0
        }
        fn layer(&self) -> Layer {
            Layer::Gc
        }
        fn about(&self) -> &'static str {
            ""
        }
        fn needs(&self) -> &'static [Sight] {
            match self.0 {
                "needs-locks" => &[Sight::Locks],
                "needs-samples" => &[Sight::CpuSamples],
                _ => &[],
            }
        }
        fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
            match self.0 {
                "blind-a" | "blind-b" => Judgement::CannotTell(BlindSpot {
                    what: format!("stops of {}", case.jvm_name(jvm)),
                    rules: vec![self.0.into()],
                    remedy: "-Xlog:safepoint".into(),
                }),
                _ => Judgement::RuledOut { figure: format!("{}", jvm.0), source: "gc.log".into() },
            }
        }
    }

    fn with_case<T>(lost_ms: f64, test: impl FnOnce(&Case<'_>, ProcessId) -> T) -> T {
        let mut built = Built::jvm("17", "G1", 100.0);
        built.pause("Pause Young (Normal)", "", 5.0, 100.0, &[]);
        let (jvm, recording) = (built.jvm, built.sealed());
        let slow = vec![Window { from_ns: 0, to_ns: 100_000_000_000 }];
        let loss = Loss { lost_ms, ..Loss::default() };
        test(
            &Case {
                recording: &recording,
                slow,
                base: Vec::new(),
                whole_run: true,
                loss,
                found_on_stops: false,
                warm_up: None,
                lost_by: Vec::new(),
                exchanges: None,
                chains: Default::default(),
            },
            jvm,
        )
    }

    fn finding(
        case: &Case<'_>,
        jvm: ProcessId,
        rule: &'static str,
        cost_ms: f64,
        s: &[(i64, i64)],
    ) -> Finding {
        let mut finding = case.finding(&Named(rule), jvm, Confidence::Likely, cost_ms);
        let window = |(from, to): &(i64, i64)| Window { from_ns: from * 1_000_000, to_ns: to * 1_000_000 };
        finding.windows = s.iter().map(window).collect();
        finding
    }

    #[test]
    fn the_same_pause_is_charged_to_one_finding() {
        with_case(2_000.0, |case, jvm| {
            let mut surer = finding(case, jvm, "b", 1_000.0, &[(0, 1_000)]);
            surer.confidence = Confidence::Proven;
            let ranked = rank(vec![finding(case, jvm, "a", 1_000.0, &[(0, 1_000)]), surer], case);
            assert_eq!((ranked.len(), ranked[0].rule, ranked[0].cost_ms), (1, "b", 1_000.0));
            let told = &ranked[0].evidence[0].text;
            assert!(told.contains("also fits a (likely)"), "{told}");
        });
    }

    #[test]
    fn the_same_cause_in_another_jvm_is_added_from_the_other_frame_and_in_the_same_one_it_is_not() {
        with_case(2_000.0, |case, jvm| {
            let replica = ProcessId(jvm.0 + 1);
            let of = |jvms: &[ProcessId]| Merged {
                findings: jvms.iter().map(|jvm| finding(case, *jvm, "a", 1_000.0, &[(0, 1_000)])).collect(),
                ..Merged::default()
            };
            let merged = with_others(of(&[jvm]), of(&[jvm, replica]), "elsewhere");
            assert_eq!(merged.findings.iter().map(|f| f.process_id).collect::<Vec<_>>(), [jvm, replica]);
        });
    }

    #[test]
    fn a_sum_of_stops_is_added_from_the_other_frame_only_where_they_are_not_explained() {
        with_case(1_000.0, |case, jvm| {
            let ranked = |rule: &'static str, cost_ms: f64, stretch: (i64, i64)| {
                let of = |finding: Finding| Merged { findings: vec![finding], ..Merged::default() };
                let sum = finding(case, jvm, "jvm-stopped", 1_000.0, &[(0, 1_000)]);
                let explains = finding(case, jvm, rule, cost_ms, &[stretch]);
                with_others(of(explains), of(sum), "over the whole run").findings.len()
            };
            assert_eq!(ranked("gc-explicit", 900.0, (0, 900)), 1);
            assert_eq!(ranked("gc-explicit", 400.0, (0, 400)), 2, "less than half of them");
            assert_eq!(ranked("gc-explicit", 900.0, (2_000, 2_900)), 2, "other stops");
            assert_eq!(ranked("gc-explicit", 90.0, (0, 900)), 2, "a tenth of each");
            assert_eq!(ranked("jit-compile-burst", 900.0, (0, 900)), 2, "nothing about stops");
        });
    }

    #[test]
    fn a_pause_within_a_long_stretch_keeps_what_the_stretch_does_not_claim() {
        with_case(10_000.0, |case, jvm| {
            let burst = finding(case, jvm, "a", 5_000.0, &[(0, 10_000)]);
            let pause = finding(case, jvm, "b", 1_000.0, &[(2_000, 3_000)]);
            let ranked = rank(vec![pause, burst], case);
            assert_eq!([ranked[0].cost_ms, ranked[1].cost_ms], [5_000.0, 500.0]);
            assert!(ranked[1].why_confidence.contains("charged to a"), "{}", ranked[1].why_confidence);
        });
    }

    #[test]
    fn a_sum_of_stops_gives_way_to_what_explains_stops_alone() {
        with_case(1_000.0, |case, jvm| {
            let first = |rule: &'static str| {
                let mut findings =
                    vec![finding(case, jvm, "jvm-stopped", 600.0, &[]), finding(case, jvm, rule, 300.0, &[])];
                by_cost(&mut findings);
                findings[0].rule
            };
            assert_eq!(first("gc-heap-too-small"), "gc-heap-too-small");
            assert_eq!(first("jit-compile-burst"), "jvm-stopped");
        });
    }

    proptest! {
        #[test]
        fn shares_never_add_up_to_more_than_the_loss(
            costs in prop::collection::vec((0.0..9_000.0_f64, 0_i64..100, 1_i64..50), 0..8),
        ) {
            with_case(6_000.0, |case, jvm| {
                let all = costs.iter().map(|(c, at, len)| finding(case, jvm, "a", *c, &[(*at, at + len)]));
                let ranked = rank(all.collect(), case);
                let sum: f64 = ranked.iter().filter_map(|f| f.share).sum();
                prop_assert!(sum <= 1.0 + 1e-9, "{}", sum);
                prop_assert!(ranked.is_sorted_by(|a, b| a.cost_ms >= b.cost_ms));
                Ok(())
            })?;
        }
    }

    /// A JVM's log of 100 s, and a collector of lock waits that covers some of it.
    fn with_locks<T>(covers_s: (i64, i64), lost: u64, test: impl FnOnce(&Case<'_>, ProcessId) -> T) -> T {
        let mut built = Built::jvm("17", "G1", 100.0);
        built.pause("Pause Young (Normal)", "", 5.0, 100.0, &[]);
        built.recording.sources.push(fathom_recording::Source {
            name: "locks".into(),
            format: "locks".into(),
            covers_ns: Some((covers_s.0 * 1_000_000_000, covers_s.1 * 1_000_000_000)),
            records: 100,
            lost,
            ..Default::default()
        });
        let (jvm, recording) = (built.jvm, built.sealed());
        test(&crate::built::whole_run(&recording), jvm)
    }

    fn says(case: &Case<'_>, jvm: ProcessId, rule: &'static str) -> Judgement {
        judge(case, &Sights::of(case.recording), &Named(rule), jvm)
    }

    #[test]
    fn a_cause_is_ruled_out_only_where_what_shows_it_covers_most_of_the_time() {
        let judged = |covers_s| with_locks(covers_s, 0, |case, jvm| says(case, jvm, "needs-locks"));
        assert!(matches!(judged((0, 100)), Judgement::RuledOut { .. }));
        assert!(matches!(judged((10, 95)), Judgement::RuledOut { .. }));
        let Judgement::CannotTell(spot) = judged((10, 40)) else { panic!() };
        assert!(spot.what.contains("waits for locks of App: 30 % of the time is covered"), "{}", spot.what);
        assert_eq!(spot.rules, ["needs-locks"]);
        let Judgement::CannotTell(spot) = judged((200, 300)) else { panic!() };
        assert!(spot.what.contains("nothing of the time is covered"), "{}", spot.what);
    }

    #[test]
    fn a_source_that_lost_a_twentieth_of_its_records_rules_nothing_out() {
        let judged = |lost| with_locks((0, 100), lost, |case, jvm| says(case, jvm, "needs-locks"));
        assert!(matches!(judged(4), Judgement::RuledOut { .. }));
        let Judgement::CannotTell(spot) = judged(50) else { panic!() };
        assert!(spot.what.contains("locks lost 50 of 150 records (33 %)"), "{}", spot.what);
    }

    #[test]
    fn three_samples_of_the_cpu_rule_nothing_out() {
        let judged = |samples: usize, seconds: f64| {
            let mut built = Built::jvm("17", "G1", seconds);
            for i in 0..samples {
                let at = seconds * (i as f64 + 0.5) / samples as f64;
                built.on_cpu("worker", &[("app.Main.run", fathom_recording::FrameType::C2)], at, 10.0);
            }
            let (jvm, recording) = (built.jvm, built.sealed());
            says(&crate::built::whole_run(&recording), jvm, "needs-samples")
        };
        assert!(matches!(judged(3, 0.3), Judgement::CannotTell(_)), "30 ms may go unseen, 15 ms matter");
        assert!(matches!(judged(3, 10.0), Judgement::RuledOut { .. }), "30 ms of 10 s do not matter");
    }

    #[test]
    fn what_is_no_jvm_is_not_asked_for_what_only_a_jvm_has() {
        let judged = |jvm: bool| {
            let mut built = Built::jvm("17", "G1", 10.0);
            built.recording.sources[0].format = SESSION.into();
            built.recording.processes[built.jvm.index()].jvm = jvm;
            let (process, recording) = (built.jvm, built.sealed());
            says(&crate::built::whole_run(&recording), process, "gc-x")
        };
        assert!(matches!(judged(true), Judgement::RuledOut { .. }));
        assert_eq!(judged(false), Judgement::NotApplicable);
    }

    #[test]
    fn rows_are_merged_by_rule_and_by_what_to_switch_on() {
        with_case(0.0, |case, jvm| {
            let rules: [&dyn Rule; 3] = [&Named("blind-b"), &Named("gc-x"), &Named("blind-a")];
            let merged = judge_all(case, &Sights::of(case.recording), &[jvm, jvm], &rules);
            assert_eq!(merged.blind_spots.len(), 1);
            assert_eq!(merged.blind_spots[0].rules, ["blind-a", "blind-b"]);
            assert_eq!(merged.ruled_out.len(), 1);
            assert!(merged.ruled_out[0].figure.contains("not in 1 other JVM either"));
        });
    }
}
