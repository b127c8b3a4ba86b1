//! Findings of one frame, none attributed time that another one has already.

use std::collections::BTreeMap;

use fathom_recording::ProcessId;

use super::order::{by_cost, is_about_stops, is_sure, may_be_usual};
use crate::facts::{Value, merged, reasons};
use crate::intervals::Intervals;
use crate::rules::yields;
use crate::{Case, Evidence, Fact, Finding};

/// Ranks findings by what they cost and takes away what a finding before it has already been
/// charged with.
///
/// A finding claims its intervals with a density, cost / length of its intervals, at most 1: a
/// pause claims all of its time, a burst of compilation that costs half of a dip claims half of
/// all of it. A later finding of the same process loses what earlier ones claim of its own
/// intervals. Over all findings the shares of the loss add up to at most 1; what is beyond is cut
/// from the later ones. Whoever loses says so in `why_confidence`; what is then left with too
/// little to matter is no finding of its own, and is named as the other explanation where the time
/// was attributed.
pub(crate) fn rank(mut findings: Vec<Finding>, case: &Case<'_>) -> Vec<Finding> {
    share_out(&mut findings, case.loss.lost_ms);
    by_cost(&mut findings);
    // What may be usual, and is compared with nothing, takes no time from a cause that is surer.
    let is_vague = |f: &Finding| case.base.is_empty() && may_be_usual(f) && !is_sure(f);
    let any_sure = findings.iter().any(is_sure);
    findings.sort_by_key(|finding| (yields(finding.rule), any_sure && is_vague(finding)));
    let mut left_ms = if case.loss.lost_ms > 0.0 { case.loss.lost_ms } else { f64::INFINITY };
    let mut claims: Vec<Claim> = Vec::new();
    let mut kept: Vec<Finding> = Vec::new();
    for mut finding in findings {
        let own = acts(&finding);
        let density = density(finding.cost_ms, &own);
        let (mut taken_ms, mut by) = (0.0_f64, None);
        for claim in claims.iter().filter(|claim| claim.process == finding.process_id) {
            let shared_ms = own.and(&claim.ranges).length_ms();
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
            let gone = Value::ms(asked_ms - finding.cost_ms);
            let already = match by.and_then(|of| kept.get(of)) {
                Some(first) => reasons::CHARGED_TO.is(gone).with("rule", Value::name(first.rule)),
                None if kept.is_empty() => reasons::BEYOND_THE_LOSS.is(gone),
                None => reasons::CHARGED_BEFORE.is(gone),
            };
            finding.why_confidence.push(already.with("of", Value::ms(asked_ms)).into());
        }
        let lost_out = finding.cost_ms < asked_ms * 0.999 && !case.matters(finding.cost_ms);
        if lost_out {
            left_ms += finding.cost_ms;
            if let Some(first) = kept.get_mut(by.unwrap_or(0)) {
                let fact = match yields(finding.rule) {
                    true => in_all(&finding),
                    false => (merged::ALSO_FITS.fact().with("rule", Value::name(finding.rule)))
                        .with("confidence", Value::name(finding.confidence.word()))
                        .with("title", Value::from(&finding.title)),
                };
                first.also.push(finding.rule);
                let source = finding.evidence.first().map(|e| e.source.clone());
                first.evidence.push(Evidence::summed(source.unwrap_or_default(), fact));
                continue;
            }
        }
        claims.push(Claim { of: kept.len(), process: finding.process_id, ranges: own, density });
        kept.push(finding);
    }
    by_cost(&mut kept);
    kept
}

/// Shares the loss out among the JVMs that show one cause, where together they would explain more
/// than all of it: replicas do the same at the same time, and none of them is the other explanation
/// of another one's.
pub(super) fn share_out(findings: &mut [Finding], lost_ms: f64) {
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
            finding.why_confidence.push(reasons::DIVIDED.is(Value::count(of_rule.len())).into());
        }
    }
}

/// A finding that is only the sum of the others'.
pub(super) fn in_all(finding: &Finding) -> Fact {
    let first = finding.evidence.first().map(|evidence| Value::list([evidence.fact.clone()]));
    merged::IN_ALL.fact().with("title", Value::from(&finding.title)).with("first", first)
}

/// What a finding has been attributed.
pub(super) struct Claim {
    /// The finding, by its place among those kept.
    pub(super) of: usize,
    pub(super) process: ProcessId,
    pub(super) ranges: Intervals,
    pub(super) density: f64,
}

/// When a finding acted. Where intervals are joined for the timeline, what lies between them is not
/// the finding's.
pub(super) fn acts(finding: &Finding) -> Intervals {
    match finding.acts.is_empty() {
        true => Intervals::of_windows(&finding.windows),
        false => Intervals::of_windows(&finding.acts),
    }
}

/// What findings about stops explain of the time of another one in the same process, milliseconds.
pub(super) fn explained_ms(finding: &Finding, by: &[Finding]) -> f64 {
    let own = acts(finding);
    let of_it = by.iter().filter(|f| f.process_id == finding.process_id && is_about_stops(f));
    let parts = of_it.map(|f| (acts(f), f.cost_ms));
    parts.map(|(acts, cost_ms)| own.and(&acts).length_ms() * density(cost_ms, &acts)).sum()
}

pub(super) fn density(cost_ms: f64, ranges: &Intervals) -> f64 {
    let length_ms = ranges.length_ms();
    if length_ms > 0.0 { (cost_ms / length_ms).clamp(0.0, 1.0) } else { 0.0 }
}

/// Findings of several frames together explain no more than the loss: what is beyond is cut from
/// those further down.
pub(crate) fn limit_shares(findings: &mut [Finding]) {
    let mut left = 1.0_f64;
    for share in findings.iter_mut().filter_map(|finding| finding.share.as_mut()) {
        *share = share.clamp(0.0, left);
        left = (left - *share).max(0.0);
    }
}
