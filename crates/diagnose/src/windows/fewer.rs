//! That fewer requests were answered, where that is not what is judged: without a series
//! of the clients nobody knows whether they asked for less.

use super::Chosen;
use crate::Fact;
use crate::facts::{Value, windows as words};

/// What of the usual number is fewer: windows may have been found on how long they took.
const MUCH_FEWER: f64 = 0.9;

/// Requests a second that are none, and how long before the end of what was counted a window may
/// end to go on to it, nanoseconds: a load that ended before the recording did leaves as many.
const NONE: f64 = 0.5;
const END_NS: i64 = 2_000_000_000;

/// "it answered 476 requests a second instead of 2,495 at 14–30 s, which may be all that was asked
/// for": where windows were found on requests that a recording counts; seconds count from
/// `zero_ns`.
pub(crate) fn fewer_requests(chosen: &Chosen, zero_ns: i64) -> Option<Fact> {
    let requests = chosen.exchanges.as_ref().filter(|exchanges| exchanges.are_requests())?;
    let (first, last) = (chosen.windows.slow.first()?, chosen.windows.slow.last()?);
    let (slow, base) =
        (requests.mean_shown(&chosen.windows.slow)?, requests.mean_shown(&chosen.windows.base)?);
    if slow > MUCH_FEWER * base {
        return None;
    }
    let ends_ns = requests.window(0, requests.values.len()).to_ns;
    if slow < NONE && last.to_ns >= ends_ns.saturating_sub(END_NS) {
        let from = Value::at(first.from_ns.saturating_sub(zero_ns));
        return Some(words::NO_REQUESTS.fact().with("from", from));
    }
    let at = |ns: i64| Value::at(ns.saturating_sub(zero_ns));
    let fewer = words::FEWER_REQUESTS.is(Value::counted(slow)).over(Value::counted(base));
    Some(fewer.with("from", at(first.from_ns)).with("to", at(last.to_ns)))
}
