//! Who held a lock while others waited for it.
//!
//! ```text
//! waits of a lock ─┬─ the owner at the beginning of each ─┐
//!                  └─ whose wait ended, and so got it ────┴─▶ who held it, until another one does, it queues again, has nothing
//!                                                             to do, wakes the next one, or is seen outside of the method
//!                                                             in which it took it
//! ```

mod handed_over;
mod permits;

use std::collections::BTreeMap;

use fathom_recording::vocabulary::kind;
use fathom_recording::{Recording, Span, StackId, StrId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use self::handed_over::let_go_ns;
use super::lock_identity::Lock;
use super::wait_case::Waits;
use crate::chain::Chains;
use crate::intervals::Intervals;
use crate::nearest::Near;
use crate::waits::place::{NO_PLACE, Seen, java_method, place, seen_within};

/// From a timestamp on, somebody holds a lock, or somebody queues for it, or it is let go.
struct Event<'a> {
    at_ns: i64,
    holder: Option<ThreadId>,
    waiter: Option<ThreadId>,
    let_go: bool,
    /// The wait at whose end the holder got it.
    got: Option<Span<'a>>,
}

/// Who held it from a timestamp on, and the wait at whose end it was taken.
type Held<'a> = (ThreadId, i64, Option<Span<'a>>);

/// The method in which a lock was taken at the end of a wait: its holder is seen there until it
/// lets go. A monitor is held no longer than the method that enters it is on the stack, or the one
/// that enters it again after `wait`.
fn taken_in<'a>(recording: &'a Recording, wait: &Span<'a>) -> Option<&'a str> {
    let waits = |name: &str| name.starts_with("java.lang.Object.wait");
    match wait.kind() {
        kind::LOCK_MONITOR => java_method(recording, wait.stack(), waits),
        _ => Some(place(recording, wait.stack(), &[])).filter(|place| *place != NO_PLACE),
    }
}

/// Who held a lock while somebody waited, as far as the waits show it: the owner at the beginning
/// of each wait, and the thread that waited from its end on.
pub(crate) fn holders(lock: &Lock, waits: &Waits<'_, '_>) -> Vec<(ThreadId, Intervals)> {
    let chains = waits.case.chains();
    let mut events: FxHashMap<Option<StrId>, [Vec<Event<'_>>; 2]> = FxHashMap::default();
    let mut wanted: FxHashMap<Option<StrId>, Vec<(i64, i64)>> = FxHashMap::default();
    // A flight recording names who had it last before the waiter got it. That thread may have
    // waited itself when the wait began: who waits for a lock does not hold it.
    let mut waiting: FxHashMap<ThreadId, Vec<(i64, i64)>> = FxHashMap::default();
    for span in lock.spans(waits).filter(|_| !lock.several) {
        if let Some(thread) = span.thread() {
            waiting.entry(thread).or_default().push((span.t0_ns(), span.t1_ns()));
        }
    }
    let mut waiting: FxHashMap<ThreadId, (Intervals, Near)> = (waiting.into_iter())
        .map(|(thread, list)| (thread, (Intervals::of(list), Near::default())))
        .collect();
    let mut waits_itself = |owner: &ThreadId, at_ns: i64| {
        let own = waiting.get_mut(owner);
        own.is_some_and(|(own, near)| own.within_near(near, at_ns, at_ns.saturating_add(1)).next().is_some())
    };
    let is_exclusive = lock.is_exclusive();
    for span in lock.spans(waits) {
        // One lock moves; of several each address is one.
        let address = fathom_recording::vocabulary::label::ADDRESS;
        let object = if lock.several { span.label_id(address) } else { None };
        wanted.entry(object).or_default().push((span.t0_ns(), span.t1_ns()));
        // Two lists, each nearly in order, are put in order in one go.
        let [begun, ended] = events.entry(object).or_default();
        let owner = chains.owner(&span).filter(|owner| Some(*owner) != span.thread());
        let owner = owner.filter(|owner| !waits_itself(owner, span.t0_ns()));
        let waiter = span.thread();
        begun.push(Event { at_ns: span.t0_ns(), holder: owner, waiter, let_go: false, got: None });
        let let_go = let_go_ns(chains, &span).filter(|_| is_exclusive && !lock.several);
        let let_go = let_go.map(|at_ns| Event { at_ns, holder: None, waiter: None, let_go: true, got: None });
        ended.extend(let_go);
        let is_cut = span.label(fathom_recording::vocabulary::label::CUT).is_some();
        let got = span.thread().filter(|_| is_exclusive && !is_cut);
        ended.extend(got.map(|thread| Event {
            at_ns: span.t1_ns(),
            holder: Some(thread),
            waiter: None,
            let_go: false,
            got: Some(span),
        }));
    }
    let mut held: BTreeMap<ThreadId, Vec<(i64, i64)>> = BTreeMap::new();
    let mut releases = Releases::new(waits.case.recording, chains, lock.is_monitor(waits));
    for (object, [mut list, ended]) in events {
        list.extend(ended);
        list.sort_by_key(|event| (event.at_ns, !event.let_go, event.holder, event.waiter));
        let wanted = Intervals::of(wanted.remove(&object).unwrap_or_default());
        let mut near = Near::default();
        let mut now: Option<Held<'_>> = None;
        let end = wanted.ranges().last().map_or(0, |s| s.1);
        let last = Event { at_ns: end, holder: None, waiter: None, let_go: false, got: None };
        for Event { at_ns, holder, waiter, let_go, got } in list.into_iter().chain([last]) {
            let queues_again = now.is_some_and(|(thread, ..)| waiter == Some(thread));
            let changes = holder.is_some_and(|holder| now.is_none_or(|(thread, ..)| thread != holder));
            if !(queues_again || changes || let_go || at_ns == end) {
                continue;
            }
            if let Some((thread, from, got)) = now.take() {
                let until = chains.idle_after(thread, from, at_ns).unwrap_or(at_ns);
                let until = match got.and_then(|wait| taken_in(waits.case.recording, &wait)) {
                    Some(place) => releases.first(thread, place, from, until),
                    None if releases.is_virtual(thread) => from,
                    None => until,
                };
                held.entry(thread).or_default().extend(wanted.within_near(&mut near, from, until));
            }
            now = holder.map(|holder| (holder, at_ns, got));
        }
    }
    let permits = permits::holders(lock, waits);
    let length_ns = |held: &BTreeMap<ThreadId, Vec<(i64, i64)>>| {
        Intervals::of(held.values().flatten().copied()).length_ns()
    };
    if length_ns(&permits) > length_ns(&held) {
        held = permits;
    }
    let held: BTreeMap<ThreadId, Intervals> =
        held.into_iter().map(|(thread, list)| (thread, Intervals::of(list))).collect();
    without_own_waits(lock, waits, held)
}

/// Takes from what threads held the time in which they waited for the same object, also where they
/// did so in another method: who waits for a lock does not hold it.
fn without_own_waits(
    lock: &Lock,
    waits: &Waits<'_, '_>,
    held: BTreeMap<ThreadId, Intervals>,
) -> Vec<(ThreadId, Intervals)> {
    let address = fathom_recording::vocabulary::label::ADDRESS;
    let objects: FxHashSet<StrId> = lock.spans(waits).filter_map(|span| span.label_id(address)).collect();
    let mut own: FxHashMap<ThreadId, Vec<(i64, i64)>> = FxHashMap::default();
    let kind = lock.spans(waits).next().map(|span| span.kind());
    for span in waits.case.recording.spans_of(kind.unwrap_or_default()).filter(|_| !objects.is_empty()) {
        let is_same = span.label_id(address).is_some_and(|object| objects.contains(&object));
        if let Some(thread) = span.thread().filter(|thread| is_same && held.contains_key(thread)) {
            own.entry(thread).or_default().push((span.t0_ns(), span.t1_ns()));
        }
    }
    let without = |(thread, held): (ThreadId, Intervals)| match own.remove(&thread) {
        Some(own) => (thread, held.without(&Intervals::of(own))),
        None => (thread, held),
    };
    held.into_iter().map(without).filter(|(_, held)| !held.is_empty()).collect()
}

/// Finds when a thread that took a lock is first seen outside of the method in which it did.
struct Releases<'c, 'a> {
    recording: &'a Recording,
    chains: &'c Chains<'a>,
    /// What stacks show of the methods in which the lock is taken.
    places: FxHashMap<&'a str, Place>,
    /// Where in its waits and samples each thread was looked at last.
    near: FxHashMap<ThreadId, (Vec<Near>, Near)>,
    /// Threads whose switches were seen: all but the virtual ones, in a live recording.
    watched: FxHashSet<ThreadId>,
    /// Whether it is a monitor: it is let go where it was taken.
    is_monitor: bool,
}

/// What stacks show of a method.
#[derive(Default)]
struct Place {
    seen: FxHashMap<StackId, Seen>,
    /// Whether it is ever seen on the stacks of who holds the lock: one that takes it for its
    /// caller is not.
    ever: bool,
}

impl<'c, 'a> Releases<'c, 'a> {
    fn new(recording: &'a Recording, chains: &'c Chains<'a>, is_monitor: bool) -> Self {
        let watched = recording.spans_of(kind::SCHED_WATCHED).filter_map(|span| span.thread()).collect();
        let (places, near) = (FxHashMap::default(), FxHashMap::default());
        Self { recording, chains, places, near, watched, is_monitor }
    }

    /// Whether what a thread does is known of its waits alone: nobody saw its switches, while
    /// others' were seen.
    fn is_virtual(&self, thread: ThreadId) -> bool {
        !self.watched.is_empty() && !self.watched.contains(&thread)
    }

    /// When a thread that took a lock in `place` at `from` is first seen outside of it; `until`
    /// where it never is. A virtual thread is seen only where it waits: it holds the lock no longer
    /// than it is seen within.
    fn first(&mut self, thread: ThreadId, name: &'a str, from: i64, until: i64) -> i64 {
        let is_virtual = self.is_virtual(thread);
        let place = self.places.entry(name).or_default();
        place.ever |= self.is_monitor;
        let (mut outside, mut seen_until) = (i64::MAX, from);
        let mut look = |at_ns: i64, to_ns: i64, stack: Option<StackId>| {
            let Some(stack) = stack else { return };
            let seen = place.seen.entry(stack).or_insert_with(|| seen_within(self.recording, stack, name));
            match seen {
                Seen::Within => (place.ever, seen_until) = (true, seen_until.max(to_ns)),
                Seen::Outside => outside = outside.min(at_ns),
                Seen::Unknown => {}
            }
        };
        let (waits, sampled) = self.near.entry(thread).or_default();
        self.chains.off_begun(thread, (from, until), waits, |span| {
            look(span.t0_ns(), span.t1_ns(), span.stack());
        });
        let samples = self.chains.samples(thread);
        let first = sampled.first(samples, |sample| sample.t_ns < from);
        let during = samples[first..].iter().take_while(|sample| sample.t_ns < until);
        during.for_each(|sample| look(sample.t_ns, sample.t_ns, sample.stack()));
        let until = if is_virtual { until.min(seen_until) } else { until };
        if place.ever { until.min(outside) } else { until }
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::{C2, Jvm, Kernel};
    use fathom_recording::vocabulary::{kind, label};

    use crate::built::{Built, did_by_holders, judged, spent_in};
    use crate::facts::{Value, links, locks};
    use crate::rules::lock_contended_juc::LockContendedJuc;
    use crate::rules::lock_contended_monitor::LockContendedMonitor;
    use crate::{Category, Finding, Judgement, Rule};

    fn found(rule: &dyn Rule, built: Built) -> Box<Finding> {
        match judged(rule, &built.sealed()) {
            Judgement::Found(finding) => finding,
            _ => panic!("nothing found"),
        }
    }

    /// Three threads that book one after another, each for a second, asleep for 900 ms of it, and
    /// meanwhile wait for the lock; when one has let go, it computes for a second before it
    /// queues again.
    #[test]
    fn a_holder_is_followed_only_while_it_holds() {
        let mut built = Built::jvm("17", "G1", 60.0);
        let names = ["a", "b", "c"];
        for name in names {
            built.on_thread(kind::SCHED_WATCHED, name, "", 0.0, 60_000.0);
        }
        for i in 0..58 {
            let at = f64::from(i);
            let (holder, next) = (names[i as usize % 3], names[(i as usize + 1) % 3]);
            let asleep = [("java.lang.Thread.sleep", C2), ("shop.Audit.trail", C2), ("shop.Orders.book", C2)];
            built.with_stack((kind::SCHED_OFF, "sleeping"), holder, &asleep, &[], (at, 900.0));
            let enter = [("ObjectMonitor::enter", Jvm), ("shop.Orders.book", C2)];
            built.with_stack((kind::SCHED_OFF, "sleeping"), next, &enter, &[], (at, 1_000.0));
            let labels = [(label::OWNER, holder), (label::ADDRESS, "0x1")];
            let class = (kind::LOCK_MONITOR, "shop.Ledger");
            built.with_stack(class, next, &[("shop.Orders.book", C2)], &labels, (at, 1_000.0));
        }
        let finding = found(&LockContendedMonitor, built);
        let holders = finding.fact(&locks::HOLDERS);
        assert_eq!(["off", "value"].map(|name| holders.number(name)), [Some(52_200.0), Some(58_000.0)]);
        let asleep = spent_in(Category::Sleep, "shop.Audit.trail");
        let did = [(asleep, 0.9), (links::RUNNING.fact(), 0.1)];
        assert_eq!(did_by_holders(&finding), did);
        let chain = finding.chain.unwrap();
        let next = chain.links[0].next.iter().map(|link| link.what.fact());
        assert!(next.eq(did.iter().map(|(what, _)| what)), "{chain:#?}");
        assert!((chain.links[0].next.iter().map(|l| l.ms).sum::<f64>() - chain.ms).abs() < 1.0);
    }

    /// Who holds a lock does not hold it while it waits for the same object in another method.
    #[test]
    fn a_thread_that_waits_for_the_same_object_does_not_hold_it() {
        let held_ms = |address: &str| {
            let mut built = Built::jvm("17", "G1", 60.0);
            let (metrics, lock) = ("metrics", "shop.Ledger");
            for name in [metrics, "a", "b"] {
                built.on_thread(kind::SCHED_WATCHED, name, "", 0.0, 60_000.0);
            }
            for i in 0..58 {
                let at = f64::from(i);
                for name in ["a", "b"] {
                    let park = [("ObjectMonitor::enter", Jvm), ("shop.Metrics.observe", C2)];
                    built.with_stack((kind::SCHED_OFF, "sleeping"), name, &park, &[], (at, 900.0));
                    let labels = [(label::OWNER, metrics), (label::ADDRESS, "0x1")];
                    built.with_stack((kind::LOCK_MONITOR, lock), name, &park, &labels, (at, 900.0));
                }
                let park = [("ObjectMonitor::enter", Jvm), ("shop.Metrics.run", C2)];
                built.with_stack((kind::SCHED_OFF, "sleeping"), metrics, &park, &[], (at + 0.3, 300.0));
                let labels = [(label::OWNER, "a"), (label::ADDRESS, address)];
                built.with_stack((kind::LOCK_MONITOR, lock), metrics, &park, &labels, (at + 0.3, 300.0));
            }
            let finding = found(&LockContendedMonitor, built);
            finding.fact(&locks::HOLDERS).number("value").unwrap()
        };
        // Sixty waits less, but for the times in which `a` or `b` is known to have got it.
        let (same, another) = (held_ms("0x1"), held_ms("0x2"));
        assert!((another - same - 58.0 * 300.0).abs() < 1_000.0, "{another} and {same}");
    }

    /// A thread sleeps under the lock; three others wait, each of which a flight recording says
    /// that the one that got it before was its owner.
    fn asleep_under_a_lock(
        rule: &dyn crate::Rule,
        kind_of_lock: &'static str,
        class: &'static str,
    ) -> Box<crate::Finding> {
        let mut built = Built::jvm("17", "G1", 60.0);
        let names = ["refresh", "a", "b", "c"];
        for name in names {
            built.on_thread(kind::SCHED_WATCHED, name, "", 0.0, 60_000.0);
        }
        for i in 0..58 {
            let at = f64::from(i);
            let asleep = [("java.lang.Thread.sleep", C2), ("shop.Prices.refresh", C2)];
            built.with_stack((kind::SCHED_OFF, "sleeping"), "refresh", &asleep, &[], (at, 500.0));
            for (n, pair) in names.windows(2).enumerate() {
                let (owner, waiter, ms) = (pair[0], pair[1], 500.0 + n as f64);
                let taking = match kind_of_lock {
                    kind::LOCK_MONITOR => ("ObjectMonitor::enter", Jvm),
                    _ => ("java.util.concurrent.Semaphore.acquire", C2),
                };
                let enter = [taking, ("shop.Orders.price", C2)];
                built.with_stack((kind::SCHED_OFF, "sleeping"), waiter, &enter, &[], (at, ms));
                let labels = [(label::OWNER, owner), (label::ADDRESS, "0x1")];
                built.with_stack(
                    (kind_of_lock, class),
                    waiter,
                    &[("shop.Orders.price", C2)],
                    &labels,
                    (at, ms),
                );
            }
        }
        found(rule, built)
    }

    #[test]
    fn who_waits_for_a_lock_or_a_permit_does_not_hold_it() {
        let monitor = asleep_under_a_lock(&LockContendedMonitor, kind::LOCK_MONITOR, "shop.Prices");
        let asleep = (spent_in(Category::Sleep, "shop.Prices.refresh"), 1.0);
        assert_eq!(did_by_holders(&monitor)[0], asleep);
        let class = "java.util.concurrent.Semaphore$NonfairSync";
        let permit = asleep_under_a_lock(&LockContendedJuc, kind::LOCK_PARK, class);
        assert_eq!(did_by_holders(&permit)[0], asleep);
    }

    /// Two threads hold it alternately. Each computes for 100 ms in the locked method and then
    /// sleeps elsewhere, while the other waits on for a third one, which never waits itself.
    #[test]
    fn who_is_seen_outside_of_the_locked_method_has_let_go() {
        let mut built = Built::jvm("17", "G1", 60.0);
        let names = ["a", "b"];
        for name in names {
            built.on_thread(kind::SCHED_WATCHED, name, "", 0.0, 60_000.0);
        }
        for i in 0..58_u32 {
            let at = f64::from(i);
            let (holder, next) = (names[i as usize % 2], names[(i as usize + 1) % 2]);
            for part in 0..10 {
                let frames = [("shop.Orders.price", C2), ("shop.Orders.book", C2)];
                built.on_cpu(holder, &frames, at + 0.01 * f64::from(part), 10.0);
            }
            let asleep = [("java.lang.Thread.sleep", C2), ("shop.Client.think", C2)];
            built.with_stack((kind::SCHED_OFF, "sleeping"), holder, &asleep, &[], (at + 0.1, 890.0));
            let enter = [("ObjectMonitor::enter", Jvm), ("shop.Orders.book", C2)];
            built.with_stack((kind::SCHED_OFF, "sleeping"), next, &enter, &[], (at, 1_000.0));
            let class = (kind::LOCK_MONITOR, "shop.Ledger");
            let frames = [("shop.Orders.book", C2)];
            built.with_stack(class, next, &frames, &[(label::ADDRESS, "0x1")], (at, 1_000.0));
        }
        let finding = found(&LockContendedMonitor, built);
        let ran = links::RUNNING.fact().with("method", Value::name("shop.Orders.price"));
        assert_eq!(did_by_holders(&finding), [(ran, 1.0)]);
    }

    /// Virtual threads that get it one after another, and are seen asleep for some time afterwards,
    /// with a stack that shows no method of the application.
    #[test]
    fn what_a_virtual_thread_does_under_the_lock_is_not_taken_from_what_it_does_later() {
        let mut built = Built::jvm("25", "G1", 60.0);
        built.on_thread(kind::SCHED_WATCHED, "dashboard", "", 0.0, 60_000.0);
        for i in 0..58_u32 {
            let at = f64::from(i);
            let name = format!("virtual thread #{}", i % 2);
            let asleep = [("java.lang.VirtualThread.yieldContinuation", C2)];
            built.with_stack((kind::LOCK_PARK, ""), &name, &asleep, &[], (at, 400.0));
            let labels = [(label::ADDRESS, "0x1")];
            let frames = [("shop.Sessions.touch", C2)];
            built.with_stack(
                (kind::LOCK_MONITOR, "shop.Sessions"),
                &name,
                &frames,
                &labels,
                (at + 0.4, 600.0),
            );
        }
        let finding = found(&LockContendedMonitor, built);
        assert!(finding.facts(&locks::HOLDERS).next().is_none(), "{finding:#?}");
    }

    /// Two threads hold it alternately; what each does in a second is known by sums alone: it
    /// forces a file in the locked method, and sleeps longer outside of it.
    #[test]
    fn of_short_waits_those_within_the_locked_method_show_what_a_holder_does() {
        let mut built = Built::jvm("17", "G1", 60.0);
        let names = ["a", "b"];
        for name in names {
            built.on_thread(kind::SCHED_WATCHED, name, "", 0.0, 60_000.0);
        }
        let forces = [("jbd2_log_wait_commit", Kernel), ("shop.Orders.book", C2), ("shop.Client.run", C2)];
        let sleeps = [("java.lang.Thread.sleep", C2), ("shop.Client.think", C2), ("shop.Client.run", C2)];
        let enter = [("ObjectMonitor::enter", Jvm), ("shop.Orders.book", C2), ("shop.Client.run", C2)];
        for i in 0..58_u32 {
            let at = f64::from(i);
            for name in names {
                built.short_waits(name, &forces, at, 200.0);
                built.short_waits(name, &sleeps, at, 350.0);
            }
            let next = names[(i as usize + 1) % 2];
            built.with_stack((kind::SCHED_OFF, "sleeping"), next, &enter, &[], (at, 400.0));
            let labels = [(label::ADDRESS, "0x1"), (label::OWNER, names[i as usize % 2])];
            let frames = [("shop.Orders.book", C2)];
            built.with_stack((kind::LOCK_MONITOR, "shop.Ledger"), next, &frames, &labels, (at, 400.0));
        }
        let finding = found(&LockContendedMonitor, built);
        let did: Vec<_> = did_by_holders(&finding).into_iter().map(|(what, _)| what).collect();
        assert_eq!(did, [spent_in(Category::Disk, "shop.Orders.book"), links::RUNNING.fact()]);
    }
}
