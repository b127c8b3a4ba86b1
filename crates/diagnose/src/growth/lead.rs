//! What grew most, and what queues behind it.

use fathom_recording::vocabulary::{kind, label};

use super::parts::BASE;
use super::{Grown, THROUGHOUT, TIMES, on_threads};
use crate::Case;
use crate::attribution::{Key, Path};
use crate::intervals::Intervals;
use crate::waits::Category;

/// What of a wait for who knows whom running time must have grown by to be the cause before it.
const AS_MUCH: f64 = 0.5;
/// Share of the baseline for which a thread may have been in a wait that is new.
const HARDLY: f64 = 0.2;

/// The cause, and what waits behind it.
pub(super) struct Lead<'g, 'a> {
    pub(super) part: &'g Grown<'a>,
    pub(super) behind: Vec<&'g Grown<'a>>,
    /// Share of the slow time in which some thread was in it.
    pub(super) throughout: f64,
}

impl<'a> Lead<'_, 'a> {
    /// How many threads wait behind it, and what they wait in: as their waits were followed, else
    /// as they grew together.
    pub(super) fn behind_it(&self, case: &Case<'_>, way: Option<&Path<'a>>) -> Option<(usize, Key<'a>)> {
        if let Some(step) = way.and_then(|way| way.first()) {
            return Some((self.part.part.threads.len(), step.key));
        }
        // Where it is known who woke threads, one that takes from a queue and is called idle has no
        // work; else it may wait for a thing.
        let by_wakers = || case.recording.spans_of(kind::SCHED_OFF).any(|s| s.label(label::WAKER).is_some());
        let waits = |g: &&&Grown<'_>| g.key.category != Category::Idle || !by_wakers();
        let behind: Vec<&Grown<'a>> = self.behind.iter().filter(waits).copied().collect();
        let most = behind.iter().map(|g| g.part.threads.len()).max()?;
        // While some thread is in it, one other at least waits: else the same threads are now in
        // the one and now in the other.
        let waited: f64 = behind.iter().map(|g| g.by()).sum();
        (waited >= self.part.by()).then_some((most, behind[0].key))
    }
}

/// What grew most; what queues behind it, where it is a resource that some thread waits for nearly
/// all the time.
pub(super) fn lead<'g, 'a>(case: &Case<'_>, grown: &[&'g Grown<'a>]) -> Option<Lead<'g, 'a>> {
    let throughout = |g: &Grown<'_>| throughout(case, g);
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

/// Share of the slow time in which some thread was in it.
fn throughout(case: &Case<'_>, grown: &Grown<'_>) -> f64 {
    let slow_ns = Intervals::of_windows(&case.slow).length_ns().max(1) as f64;
    Intervals::of(grown.part.intervals.iter().copied()).length_ns() as f64 / slow_ns
}

/// A wait that ends by itself or from outside, in which some thread is nearly all the slow time,
/// and hardly ever was in the baseline: what operations wait for need not be theirs alone. The one
/// that threads are in for most of the time, where there are several.
pub(super) fn waits_all_along<'g, 'a>(case: &Case<'_>, grown: &'g [Grown<'a>]) -> Option<Lead<'g, 'a>> {
    use Category::{Disk, Dns, Network, Sleep, TimedWait};
    let base_ms = Case::length_ms(&case.base);
    let may_be = grown.iter().filter(|g| {
        matches!(g.key.category, Disk | Dns | Network | Sleep | TimedWait)
            && g.holds
            && !g.part.is_new
            && g.part.ms[BASE] <= HARDLY * base_ms
    });
    let leads = may_be.map(|part| Lead { part, behind: Vec::new(), throughout: throughout(case, part) });
    let most = leads.max_by(|a, b| a.throughout.total_cmp(&b.throughout))?;
    (most.throughout >= THROUGHOUT).then_some(most)
}
