//! The order of findings: what they cost, and what only sums up others behind what explains them.

use crate::growth::busy_stage::STAGE_RULE;
use crate::growth::{PACE_RULE, RULE};
use crate::rules::{self, yields};
use crate::{Confidence, Finding, Rule};

/// See [`weight_ms`].
pub(super) const YIELDS_TO_SHARE: f64 = 0.2;

/// The same of what may be usual, where no loss was measured.
pub(super) const USUAL_SHARE: f64 = 0.05;

/// What a finding with a mechanism must explain of what the first one does, which only grew, to
/// come before it.
const ABOUT: f64 = 0.8;

/// What a finding weighs in the order of findings, milliseconds. A cause that explains a fifth of
/// what is only summed up as well, or of threads that sleep longer between operations, is the
/// better answer. So is one compared with what may be usual, where no loss was measured.
pub(crate) fn weight_ms(finding: &Finding) -> f64 {
    let usual = finding.share.is_none() && may_be_usual(finding);
    let weight = if usual {
        USUAL_SHARE
    } else if yields(finding.rule) || finding.rule == PACE_RULE {
        YIELDS_TO_SHARE
    } else {
        1.0
    };
    weight * finding.cost_ms
}

/// Whether the rule of a finding has a property.
fn is(finding: &Finding, property: impl FnOnce(&'static dyn Rule) -> bool) -> bool {
    rules::find(finding.rule).is_some_and(property)
}

/// Whether what a finding describes may be so at other times as well.
pub(super) fn may_be_usual(finding: &Finding) -> bool {
    is(finding, Rule::may_be_usual)
}

/// Whether a finding is more than consistent with what was seen.
pub(super) fn is_sure(finding: &Finding) -> bool {
    finding.confidence > Confidence::ConsistentWith
}

/// Whether a finding says why the JVM was stopped.
pub(super) fn is_about_stops(finding: &Finding) -> bool {
    is(finding, Rule::is_about_stops)
}

/// Adds a finding, or its cost to the one that is of the same cause already.
pub(crate) fn join(findings: &mut Vec<Finding>, new: Finding) {
    let is_same = |known: &&mut Finding| {
        (known.rule, known.process_id) == (new.rule, new.process_id) && known.culprit == new.culprit
    };
    let Some(known) = findings.iter_mut().find(is_same) else { return findings.push(new) };
    known.cost_ms += new.cost_ms;
    known.share = known.share.zip(new.share).map(|(known, new)| (known + new).min(1.0));
}

/// Most expensive first; of equally expensive ones the surest, then in the order of the rules. What
/// is only the sum of stops gives way to what explains them, and not to what has nothing to do with
/// stops.
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
    // A sum of stops of which another finding explains a part stands right behind that, and both
    // before what has nothing to do with stops and costs less than the sum.
    let sum = findings.iter().position(|f| yields(f.rule)).unwrap_or(0);
    let costs_less = |f: &Finding| is_about_stops(f) || f.cost_ms < findings[sum].cost_ms;
    if findings[..sum].iter().any(is_about_stops)
        && let Some(place) = findings[..sum].iter().position(costs_less)
    {
        findings[place..=sum].sort_by_key(|f| (!is_about_stops(f), !yields(f.rule)));
    }
    // Of two that explain about as much, what is proven comes before what only grew, and so does
    // what makes others grow and is as sure; what is only consistent with that comes after it.
    let grew = |f: &Finding| [RULE, STAGE_RULE].contains(&f.rule);
    let makes_others_grow = |f: &Finding| is(f, Rule::makes_others_grow);
    let goes_before = |f: &Finding, first: &Finding| match (grew(first), grew(f)) {
        (true, false) => {
            f.confidence == Confidence::Proven
                || (makes_others_grow(f) && is_sure(f) && f.confidence >= first.confidence)
        }
        (false, true) => makes_others_grow(first) && !is_sure(first),
        _ => false,
    };
    if let [first, second, ..] = findings
        && goes_before(second, first)
        && weight_ms(second) >= ABOUT * weight_ms(first)
    {
        findings.swap(0, 1);
    }
    // What a cause brings about stands behind it, and asks for other recommendations.
    let follows = |f: &Finding, cause: &Finding| {
        let of_it = is_sure(cause) && cause.process_id == f.process_id;
        of_it && is(cause, |rule| rule.brings_about().contains(&f.rule))
    };
    for cause in 1..findings.len() {
        if let Some(first) = findings[..cause].iter().position(|f| follows(f, &findings[cause])) {
            findings[first..=cause].rotate_right(1);
        }
    }
}
