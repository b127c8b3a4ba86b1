//! Many judgements into one verdict: findings ranked without attributing the same time twice,
//! ruled-out causes and blind spots one row each.

mod charged;
mod judged;
mod order;
mod rows;
#[cfg(test)]
mod tests;

use fathom_recording::ProcessId;

use crate::facts::Metric;
use crate::rules::yields;
use crate::sight::Sights;
use crate::{BlindSpot, Case, Finding, Judgement, Rule, RuledOut, Statement};

use charged::explained_ms;
pub(crate) use charged::{limit_shares, rank};
pub(crate) use judged::is_no_jvm;
use judged::judge;
pub(crate) use order::{by_cost, join, weight_ms};
use rows::{blind_spots, of_the_busiest};

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
        let mut out: Vec<(ProcessId, Statement, String)> = Vec::new();
        for jvm in jvms {
            match judge(case, sights, *rule, *jvm) {
                Judgement::Found(finding) => {
                    found = true;
                    merged.findings.push(*finding);
                }
                Judgement::RuledOut { figure, source } => out.push((*jvm, figure, source)),
                Judgement::Inconclusive(spot) => blind.push((case.jvm_name(*jvm).to_owned(), spot)),
                Judgement::NotApplicable => {}
            }
        }
        // Where it was found in one JVM and not in the others, the finding says so.
        if !found {
            merged.ruled_out.extend(of_the_busiest(case, *rule, out));
        }
    }
    merged.findings = rank(merged.findings, case);
    merged.blind_spots = blind_spots(blind);
    merged
}

/// A verdict with what only the other frame shows (the whole run where this one is stops, or stops
/// where it is the whole run): without a share, for the loss of this frame is not theirs, and after
/// its own findings, for what they cost is the cost of other intervals. What only sums up stops
/// adds nothing to findings that explain most of them.
pub(crate) fn with_others(mut verdict: Merged, other: Merged, found: &'static Metric) -> Merged {
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
        finding.why_confidence.push(found.fact().into());
        verdict.findings.push(finding);
    }
    by_cost(&mut verdict.findings[own..]);
    verdict.ruled_out.retain(|row| verdict.findings.iter().all(|finding| finding.rule != row.rule));
    verdict
}
