//! Direct buffers that grew from one dump to the next: memory outside of the heap, which no
//! collection's sizes show.

use fathom_recording::vocabulary::{fact, figure};

use super::keeper::Dump;
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, meanings, pauses, reasons, remedies, titles};
use crate::rules::gc_case::{GcCase, summed};
use crate::{Finding, Rule};

/// Growth as a share of what direct buffers may take: less is within what load does.
const GROWN: f64 = 0.2;
/// And of what there was before: buffers that are kept in a pool change by some.
const TIMES: f64 = 1.5;

/// What direct buffers may take, bytes: what the JVM's flag says, else as much as the heap
/// (`VM.maxDirectMemory`, JDK 8 to 25).
fn limit(gc: &GcCase<'_, '_>) -> Option<f64> {
    let by_flag = gc.fact(fact::JVM_ARGS).and_then(|args| {
        let size = args.split_once("MaxDirectMemorySize=")?.1.split_whitespace().next()?;
        let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match size[digits.len()..].to_ascii_lowercase().as_str() {
            "" => 0,
            "k" => 10,
            "m" => 20,
            "g" => 30,
            _ => return None,
        };
        Some(digits.parse::<f64>().ok()? * f64::from(1_u32 << unit))
    });
    by_flag.filter(|bytes| *bytes > 0.0).or_else(|| gc.heap_max_bytes())
}

/// The finding, where two dumps show a growth that matters.
pub(super) fn found(rule: &dyn Rule, gc: &GcCase<'_, '_>, dump: &Dump<'_>) -> Option<Finding> {
    let (owner, grown) = dump.direct_growth()?;
    let bytes = owner.figure(figure::BYTES)?;
    let limit = limit(gc)?;
    if grown < GROWN * limit || bytes < TIMES * (bytes - grown) {
        return None;
    }
    // `Bits.reserveMemory` asks for a collection when the limit is reached, in the hope that
    // buffers are dead.
    let asked: Vec<_> =
        gc.slow.iter().filter(|p| p.cause().is_some_and(|c| c.contains("System.gc()"))).copied().collect();
    let exhausted = bytes >= super::EXHAUSTED * limit;
    let (ground, why) = match exhausted && !asked.is_empty() {
        true => (Ground::Incomplete, &reasons::DIRECT_LIMIT),
        false => (Ground::Fits, &reasons::TWO_DUMPS),
    };
    // Collections that something else asks for are not attributed to buffers that are far from
    // their limit.
    let cost_ms = match exhausted {
        true => gc.excess_ms(|p| p.cause().is_some_and(|c| c.contains("System.gc()"))),
        false => 0.0,
    };
    let sure = ground.because(gc.case, cost_ms, why);
    let mut finding = gc.finding(rule, sure, cost_ms, if exhausted { &asked } else { &[] });
    let kept_by = Value::name(owner.name());
    let title = titles::HEAP_LEAK_DIRECT.is(Value::bytes(grown)).with("owner", kept_by.clone());
    let title = title.with("size", Value::bytes(bytes));
    finding.title = title.with("share", Value::share((bytes / limit).min(1.0))).into();
    finding.culprit = culprits::KEEPER.is(kept_by).into();
    finding.meaning = meanings::DIRECT_BUFFERS.fact().into();
    finding.evidence.push(summed(
        dump.span.name(),
        (pauses::DIRECT_BUFFERS.is(Value::bytes(bytes)).over(Value::bytes(bytes - grown)))
            .with("buffers", Value::counted(owner.figure(figure::OBJECTS).unwrap_or(0.0)))
            .with("owner", Value::name(owner.name())),
    ));
    finding.remedies = vec![remedies::LET_BUFFERS_GO.is(Value::name(owner.name())).into()];
    finding.verify = vec![checks::SAME_DIRECT_BUFFERS.fact().into()];
    Some(finding)
}
