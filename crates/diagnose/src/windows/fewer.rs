//! That fewer requests were answered, in words, where that is not what is judged: without a series
//! of the clients nobody knows whether they asked for less.

use super::Chosen;
use crate::quantity;

/// "it answered 476 requests a second instead of 2,495 at 14–30 s, which may be all that was asked
/// for": where windows were found on requests that a recording counts; seconds count from
/// `zero_ns`.
pub(crate) fn fewer_requests(chosen: &Chosen, zero_ns: i64) -> Option<String> {
    let requests = chosen.exchanges.as_ref().filter(|exchanges| exchanges.are_requests())?;
    let (first, last) = (chosen.windows.slow.first()?, chosen.windows.slow.last()?);
    let (slow, base) =
        (requests.mean_shown(&chosen.windows.slow)?, requests.mean_shown(&chosen.windows.base)?);
    let at = |ns: i64| quantity::number(ns.saturating_sub(zero_ns) as f64 / 1e9);
    Some(format!(
        "it answered {} requests a second instead of {} at {}–{} s, and whether more were asked for is not known",
        quantity::count(slow),
        quantity::count(base),
        at(first.from_ns),
        at(last.to_ns)
    ))
}
