//! What threads do while others wait for it, which those waits count already.

use rustc_hash::FxHashMap;

use super::{Cause, Part, REACHED};
use crate::attribution::{Key, Pool};

/// Slow milliseconds of what threads of a pool did while others waited for them.
pub(super) type Reached<'a> = FxHashMap<(Pool<'a>, Key<'a>), f64>;

pub(super) fn reached<'a>(all: &[(Pool<'a>, Cause<'a>, Part<'a>)]) -> Reached<'a> {
    let mut reached = Reached::default();
    for (_, cause, part) in all {
        if let Some(other) = cause.other {
            *reached.entry((other, cause.key)).or_default() += part.ms[0] + part.ms[1];
        }
    }
    reached
}

/// Whether what a thread does is what others wait for: their waits count it already, once for each
/// of them.
pub(super) fn is_reached(reached: &Reached<'_>, pool: Pool<'_>, cause: &Cause<'_>, part: &Part<'_>) -> bool {
    let by_waits = reached.get(&(pool, cause.key)).copied().unwrap_or(0.0);
    cause.other.is_none() && by_waits >= REACHED * (part.ms[0] + part.ms[1]) && by_waits > 0.0
}
