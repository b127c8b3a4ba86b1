//! What grew most, and what queues behind it.

use super::{Grown, THROUGHOUT, TIMES, on_threads};
use crate::Case;
use crate::intervals::Intervals;
use crate::waits::Category;

/// What of a wait for who knows whom running time must have grown by to be the cause before it.
const AS_MUCH: f64 = 0.5;

/// The cause, and what waits behind it.
pub(super) struct Lead<'g, 'a> {
    pub(super) part: &'g Grown<'a>,
    pub(super) behind: Vec<&'g Grown<'a>>,
    /// Share of the slow time in which some thread was in it.
    pub(super) throughout: f64,
}

/// What grew most; what queues behind it, where it is a resource that some thread waits for nearly
/// all the time.
pub(super) fn lead<'g, 'a>(case: &Case<'_>, grown: &[&'g Grown<'a>]) -> Option<Lead<'g, 'a>> {
    let slow_ns = Intervals::of_windows(&case.slow).length_ns().max(1) as f64;
    let throughout =
        |g: &Grown<'_>| Intervals::of(g.part.intervals.iter().copied()).length_ns() as f64 / slow_ns;
    // That threads were blocked, on what nobody saw, names no cause: it stays with what is not
    // explained.
    let names_a_cause = |g: &&'g Grown<'a>| !matches!(g.key.category, Category::Idle | Category::Blocked);
    let mut grew = grown.iter().copied().filter(|g| g.by() > 0.0).filter(names_a_cause);
    let first = grew.next()?;
    let resource = |g: &&'g Grown<'a>| !on_threads(g.key.category);
    let root = Some(first).filter(resource).or_else(|| grew.find(resource));
    // A wait of which nobody knows who ended it is what happened, and why it did is another part
    // where that grew nearly as much.
    if let Some(next) = root.filter(|g| !resource(&first) && g.holds && g.by() >= AS_MUCH * first.by())
        && next.key.category.is_running()
    {
        return Some(Lead { part: next, behind: Vec::new(), throughout: 0.0 });
    }
    let Some(root) = root.filter(|g| g.holds && throughout(g) >= THROUGHOUT) else {
        return Some(Lead { part: first, behind: Vec::new(), throughout: throughout(first) });
    };
    let waits = |g: &&'g Grown<'a>| on_threads(g.key.category) && g.holds && g.by() > 0.0;
    let behind: Vec<_> = grown.iter().copied().filter(waits).collect();
    // Each thread that waits behind another one waits about as long as that one does: what waits
    // grew by is no more than that many times what is waited for.
    let threads = behind.iter().map(|g| g.part.threads.len()).max().unwrap_or(0) as f64;
    let waited: f64 = behind.iter().filter(|g| g.key.category != Category::Idle).map(|g| g.by()).sum();
    if waited > TIMES * threads * root.by() {
        return Some(Lead { part: first, behind: Vec::new(), throughout: throughout(first) });
    }
    Some(Lead { part: root, behind, throughout: throughout(root) })
}
