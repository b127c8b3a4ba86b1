//! Virtual threads that wait longer because their carriers always have work.
//!
//! When what a virtual thread waits for has come (an answer, the end of a sleep, a permit), a
//! carrier must take it up. Until then the JDK calls it parked, and so does the recording. Where
//! carriers had time to spare in the baseline and have none in the slow windows, they are what
//! limits operations (the utilisation law): what virtual threads wait longer is waiting for a
//! carrier, and follows from what took the time that carriers had to spare.

use fathom_recording::{ProcessId, StackId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Grown;
use super::parts::{BASE, FRAMES};
use crate::Case;
use crate::intervals::Intervals;
use crate::waits::Category;

/// What carriers have on their stacks while a virtual thread is on them.
pub(super) const CARRIED: &str = "java.lang.VirtualThread.run";
/// Share of their time for which carriers that always have work are idle at most, and by how much
/// more they must be in the baseline.
const NONE_IDLE: f64 = 0.1;
const IDLE_BEFORE: f64 = 0.2;
/// Waits of virtual threads that a carrier must end.
const PARKED: [Category; 4] = [Category::Sleep, Category::Network, Category::Waiting, Category::TimedWait];

/// Carriers that always had work in the slow windows, and time to spare in the baseline.
struct Taken {
    carriers: FxHashSet<ThreadId>,
    /// By how much larger a share of their time went to each category than in the baseline, running
    /// as one.
    more: FxHashMap<Category, f64>,
}

/// Credits what took the time that carriers had to spare with what virtual threads wait longer.
pub(super) fn credit(case: &Case<'_>, jvm: ProcessId, frames: &[Intervals; FRAMES], grown: &mut [Grown<'_>]) {
    let is_virtual = |id: &ThreadId| case.recording.threads.get(id.index()).is_some_and(|t| t.tid.is_none());
    let is_late = |g: &Grown<'_>| {
        let threads = g.part.threads.iter().filter(|id| is_virtual(id)).count();
        PARKED.contains(&g.key.category) && threads > 0 && 2 * threads >= g.part.threads.len()
    };
    let late: f64 = grown.iter().filter(|g| is_late(g)).map(Grown::by).sum();
    let Some(taken) = (late > 0.0).then(|| taken(case, jvm, frames)).flatten() else { return };
    let is_theirs =
        |g: &Grown<'_>| !is_late(g) && g.by() > 0.0 && !taken.carriers.is_disjoint(&g.part.threads);
    let mut grew: FxHashMap<Category, f64> = FxHashMap::default();
    for g in grown.iter().filter(|g| is_theirs(g)) {
        *grew.entry(whole(g.key.category)).or_default() += g.by();
    }
    let more: f64 = grew.keys().filter_map(|category| taken.more.get(category)).sum();
    if more <= 0.0 {
        return;
    }
    for g in grown {
        let category = whole(g.key.category);
        if is_late(g) {
            g.credit -= g.by();
        } else if let (true, Some(share)) = (is_theirs(g), taken.more.get(&category)) {
            g.credit += late * share / more * g.by() / grew[&category];
        }
    }
}

/// Running is one, whatever it is that runs.
fn whole(category: Category) -> Category {
    if category.is_running() { Category::Running } else { category }
}

/// The longest of slow windows, where it makes up half of them: in a short one next to it
/// something else may have acted.
fn mostly(slow: &Intervals) -> Intervals {
    let longest = slow.ranges().iter().max_by_key(|(from, to)| to.saturating_sub(*from));
    match longest.map(|ends| Intervals::of([*ends])) {
        Some(longest) if 2 * longest.length_ns() >= slow.length_ns() => longest,
        _ => slow.clone(),
    }
}

fn taken(case: &Case<'_>, jvm: ProcessId, frames: &[Intervals; FRAMES]) -> Option<Taken> {
    let all = frames[..BASE].iter().flat_map(|frame| frame.ranges().iter().copied());
    let (slow, base) = (mostly(&Intervals::of(all)), &frames[BASE]);
    let mut carries: FxHashMap<StackId, bool> = FxHashMap::default();
    let mut spent_ns: FxHashMap<Category, [i64; 2]> = FxHashMap::default();
    let mut carriers: FxHashSet<ThreadId> = FxHashSet::default();
    for id in case.chains().application_threads(jvm) {
        if case.recording.threads[id.index()].tid.is_none() || !is_carrier(case, id, &mut carries) {
            continue;
        }
        let Some(by_category) = case.chains().by_category(id) else { continue };
        carriers.insert(id);
        for category in Category::ALL {
            let sums = spent_ns.entry(whole(category)).or_default();
            for (sum, frame) in sums.iter_mut().zip([&slow, base]) {
                *sum = sum.saturating_add(by_category[category.index()].shared_ns(frame));
            }
        }
    }
    let count = i64::try_from(carriers.len()).unwrap_or(i64::MAX);
    let share = |ns: i64, length_ns: i64| ns as f64 / count.saturating_mul(length_ns).max(1) as f64;
    let shares = |ns: &[i64; 2]| (share(ns[0], slow.length_ns()), share(ns[1], base.length_ns()));
    let (idle, usual) = spent_ns.get(&Category::Idle).map(shares)?;
    if idle > NONE_IDLE || usual < idle + IDLE_BEFORE {
        return None;
    }
    spent_ns.remove(&Category::Idle);
    let more = spent_ns.iter().map(|(category, ns)| (*category, shares(ns)));
    let more = more.map(|(category, (slow, base))| (category, slow - base)).filter(|(_, by)| *by > 0.0);
    Some(Taken { more: more.collect(), carriers })
}

/// Whether a thread was seen to run virtual ones.
pub(crate) fn is_carrier(case: &Case<'_>, id: ThreadId, carries: &mut FxHashMap<StackId, bool>) -> bool {
    let stacks = case.chains().samples(id).iter().filter_map(|sample| sample.stack());
    stacks.into_iter().any(|stack| *carries.entry(stack).or_insert_with(|| has_carried(case, stack)))
}

/// Whether a stack is that of a virtual thread on its carrier.
pub(super) fn has_carried(case: &Case<'_>, stack: StackId) -> bool {
    case.recording.frames_of(stack).any(|frame| frame.name().starts_with(CARRIED))
}
