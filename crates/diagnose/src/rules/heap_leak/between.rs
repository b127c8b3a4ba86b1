//! What grew from one heap dump to the next, where the log has too little to judge its growth by:
//! collections that clean the old generation may be rare where they cost nothing.

use super::keeper::{By, Dump};
use crate::collections::live_points;
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, meanings, reasons, titles};
use crate::rules::gc_case::GcCase;
use crate::{Finding, Rule};

/// Growth as a share of the largest heap: less is within what load does.
const GROWN: f64 = 0.2;
/// And of what there was before.
const TIMES: f64 = 1.5;

/// The finding, where two dumps show a growth that matters.
pub(super) fn found(rule: &dyn Rule, gc: &GcCase<'_, '_>, dump: &Dump<'_>) -> Option<Finding> {
    let points = live_points(gc.case.recording, gc.jvm, None);
    // Without a collection of the old generation there is nothing to tell another JVM's dump by.
    if !points.is_empty() && dump.is_of_another(&points).is_some() {
        return None;
    }
    let keeper = dump.keeper(0.0)?;
    let By::Grew(grown) = keeper.by else { return None };
    let (heap, bytes) = (gc.heap_max_bytes()?, keeper.bytes());
    if grown < GROWN * heap || bytes < TIMES * (bytes - grown) {
        return None;
    }
    let sure = Ground::Fits.because(gc.case, 0.0, &reasons::TWO_HEAP_DUMPS);
    let mut finding = gc.finding(rule, sure, 0.0, &[]);
    let title = titles::HEAP_LEAK_DUMPS.is(Value::bytes(grown)).with("owner", keeper.name());
    let title = title.with("size", Value::bytes(bytes));
    finding.title = title.with("share", Value::share((bytes / heap).min(1.0))).into();
    finding.culprit = culprits::KEEPER.is(keeper.name()).into();
    finding.meaning = meanings::LIVE_SET_GROWS.fact().into();
    finding.evidence.extend(keeper.evidence(dump));
    finding.remedies = super::remedies(gc, Some(&keeper), None);
    finding.verify = vec![checks::NO_GROWTH_OF_LIVE_SET.fact().into()];
    Some(finding)
}
