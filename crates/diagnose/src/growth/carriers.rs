//! Virtual threads whose sleep ends late, because their carriers always have work.
//!
//! When the time of a sleep is over, a carrier must take the virtual thread up, and in JDK 24 and
//! later a task that carriers run wakes it before. Until then the JDK calls it parked, and so does
//! the recording. Where carriers had time to spare in the base and have none in the slow windows,
//! what virtual threads sleep longer is waiting for a carrier, and follows from what those run.

use fathom_recording::{ProcessId, StackId, ThreadId};
use rustc_hash::FxHashMap;

use super::Grown;
use super::parts::{BASE, FRAMES};
use crate::Case;
use crate::intervals::Intervals;
use crate::waits::Category;

/// What carriers have on their stacks while a virtual thread is on them.
pub(super) const CARRIED: &str = "java.lang.VirtualThread.run";
/// Share of their time for which carriers that always have work are idle at most, and by how much
/// more they must be in the base.
const NONE_IDLE: f64 = 0.1;
const IDLE_BEFORE: f64 = 0.2;
/// Stacks of a thread that are looked at.
const LOOKED_AT: usize = 200;

/// Marks sleep of virtual threads that takes longer because no carrier is free.
pub(super) fn mark_late(
    case: &Case<'_>,
    jvm: ProcessId,
    frames: &[Intervals; FRAMES],
    grown: &mut [Grown<'_>],
) {
    let is_virtual = |id: &ThreadId| case.recording.threads.get(id.index()).is_some_and(|t| t.tid.is_none());
    let sleeps = |g: &Grown<'_>| g.key.category == Category::Sleep && g.part.threads.iter().all(is_virtual);
    if grown.iter().any(|g| sleeps(g) && g.by() > 0.0) && are_taken(case, jvm, frames) {
        grown.iter_mut().for_each(|g| g.is_late = sleeps(g));
    }
}

/// Whether the carriers always had work in the slow windows, and time to spare in the base.
fn are_taken(case: &Case<'_>, jvm: ProcessId, frames: &[Intervals; FRAMES]) -> bool {
    let mut carries: FxHashMap<StackId, bool> = FxHashMap::default();
    let (mut idle_ns, mut carriers) = ([0_i64; FRAMES], 0_i64);
    for id in case.chains().application_threads(jvm) {
        if case.recording.threads[id.index()].tid.is_none() || !is_carrier(case, id, &mut carries) {
            continue;
        }
        let Some(by_category) = case.chains().by_category(id) else { continue };
        carriers += 1;
        for (sum, frame) in idle_ns.iter_mut().zip(frames) {
            *sum = sum.saturating_add(by_category[Category::Idle.index()].shared_ns(frame));
        }
    }
    let share = |idle_ns: i64, length_ns: i64| idle_ns as f64 / (carriers * length_ns).max(1) as f64;
    let slow = share(idle_ns[0] + idle_ns[1], frames[0].length_ns() + frames[1].length_ns());
    let base = share(idle_ns[BASE], frames[BASE].length_ns());
    carriers > 0 && slow <= NONE_IDLE && base >= slow + IDLE_BEFORE
}

fn is_carrier(case: &Case<'_>, id: ThreadId, carries: &mut FxHashMap<StackId, bool>) -> bool {
    let stacks = case.chains().samples(id).iter().rev().take(LOOKED_AT).filter_map(|sample| sample.stack());
    stacks.into_iter().any(|stack| *carries.entry(stack).or_insert_with(|| has_carried(case, stack)))
}

/// Whether a stack is that of a virtual thread on its carrier.
pub(super) fn has_carried(case: &Case<'_>, stack: StackId) -> bool {
    let mut at = Some(stack);
    while let Some(node) = at.and_then(|id| case.recording.stacks.get(id.index())) {
        let frame = case.recording.frames.get(node.frame.index());
        if frame.is_some_and(|frame| case.recording.strings.get(frame.name).starts_with(CARRIED)) {
            return true;
        }
        at = node.parent;
    }
    false
}
