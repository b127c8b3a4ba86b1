//! Many judgements into one verdict: findings ranked without charging the same time twice, ruled-out causes and
//! blind spots one row each.

use fathom_recording::ProcessId;

use crate::intervals::Intervals;
use crate::{BlindSpot, Case, Confidence, Evidence, Finding, Judgement, Layer, Rule, RuledOut, quantity};

/// Processes named in a row before "and N more".
const NAMED: usize = 3;

/// The verdict of all rules.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    pub(crate) findings: Vec<Finding>,
    pub(crate) ruled_out: Vec<RuledOut>,
    pub(crate) blind_spots: Vec<BlindSpot>,
}

/// Asks every rule about every JVM and merges what they say.
pub(crate) fn judge_all(case: &Case<'_>, jvms: &[ProcessId], rules: &[&dyn Rule]) -> Merged {
    let mut merged = Merged::default();
    let mut blind: Vec<(String, BlindSpot)> = Vec::new();
    for rule in rules {
        let mut found = false;
        let mut out: Vec<(ProcessId, String, String)> = Vec::new();
        for jvm in jvms {
            match rule.judge(case, *jvm) {
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
            quantity::plural(n, "other JVM", "other JVMs")
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
    by_cost(&mut findings);
    let mut left_ms = if case.loss.lost_ms > 0.0 { case.loss.lost_ms } else { f64::INFINITY };
    let mut claims: Vec<Claim> = Vec::new();
    let mut kept: Vec<Finding> = Vec::new();
    for mut finding in findings {
        let own = Intervals::of_windows(&finding.windows);
        let density = density(finding.cost_ms, &own);
        let (mut taken_ms, mut by) = (0.0_f64, None);
        for claim in claims.iter().filter(|claim| claim.process == finding.process) {
            let shared_ms = own.and(&claim.stretches).length_ms();
            if shared_ms > 0.0 {
                taken_ms += shared_ms * density.min(claim.density);
                by.get_or_insert(claim.of);
            }
        }
        let asked_ms = finding.cost_ms;
        finding.cost_ms = (asked_ms - taken_ms).max(0.0).min(left_ms);
        left_ms -= finding.cost_ms;
        finding.share = case.share(finding.cost_ms);
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
                first.evidence.push(Evidence {
                    text: format!(
                        "the same time also fits {} ({}): {}",
                        finding.rule,
                        finding.confidence.word(),
                        finding.title
                    ),
                    source: finding.evidence.first().map_or(String::new(), |e| e.source.clone()),
                    at_ns: None,
                });
                continue;
            }
        }
        claims.push(Claim { of: kept.len(), process: finding.process.clone(), stretches: own, density });
        kept.push(finding);
    }
    by_cost(&mut kept);
    kept
}

/// What a finding has been charged with.
struct Claim {
    /// The finding, by its place among those kept.
    of: usize,
    process: String,
    stretches: Intervals,
    density: f64,
}

fn density(cost_ms: f64, stretches: &Intervals) -> f64 {
    let length_ms = stretches.length_ms();
    if length_ms > 0.0 { (cost_ms / length_ms).clamp(0.0, 1.0) } else { 0.0 }
}

/// Dearest first; of equally dear ones the surest, then in the order of the rules.
fn by_cost(findings: &mut [Finding]) {
    let sure = |f: &Finding| match f.confidence {
        Confidence::Proven => 2,
        Confidence::Likely => 1,
        Confidence::ConsistentWith => 0,
    };
    findings.sort_by(|a, b| b.cost_ms.total_cmp(&a.cost_ms).then(sure(b).cmp(&sure(a))));
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
                warm_up: None,
                lost_by: Vec::new(),
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
    fn a_pause_within_a_long_stretch_keeps_what_the_stretch_does_not_claim() {
        with_case(10_000.0, |case, jvm| {
            let burst = finding(case, jvm, "a", 5_000.0, &[(0, 10_000)]);
            let pause = finding(case, jvm, "b", 1_000.0, &[(2_000, 3_000)]);
            let ranked = rank(vec![pause, burst], case);
            assert_eq!([ranked[0].cost_ms, ranked[1].cost_ms], [5_000.0, 500.0]);
            assert!(ranked[1].why_confidence.contains("charged to a"), "{}", ranked[1].why_confidence);
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

    #[test]
    fn rows_are_merged_by_rule_and_by_what_to_switch_on() {
        with_case(0.0, |case, jvm| {
            let rules: [&dyn Rule; 3] = [&Named("blind-b"), &Named("gc-x"), &Named("blind-a")];
            let merged = judge_all(case, &[jvm, jvm], &rules);
            assert_eq!(merged.blind_spots.len(), 1);
            assert_eq!(merged.blind_spots[0].rules, ["blind-a", "blind-b"]);
            assert_eq!(merged.ruled_out.len(), 1);
            assert!(merged.ruled_out[0].figure.contains("not in 1 other JVM either"));
        });
    }
}
