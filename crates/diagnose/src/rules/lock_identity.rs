//! Which waits are for one lock, and who held it when.
//!
//! An address is no identity: collections move objects, and the JVM makes a monitor's record anew
//! when threads queue again. A lock is known by its class and the first method of the application
//! that takes it. Waits at two places are for one lock where they name one address at the same
//! time. Many objects of one class may be locked at one place: then waits at the same time name
//! different addresses.

use std::collections::{BTreeMap, BTreeSet};

use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{Span, StackId, StrId, ThreadId};
use rustc_hash::FxHashMap;

use super::wait_case::{Wait, Waits};
use crate::Fact;
use crate::chain::Monitor;
use crate::facts::{Value, culprits};
use crate::waits::Category;
use crate::waits::place::{NO_PLACE, place};

/// Of waits at the same time, the share that names different objects from which on the place locks
/// many objects.
const SEVERAL: f64 = 1.0 / 3.0;

/// A lock with all waits for it.
#[derive(Default)]
pub(crate) struct Lock {
    /// Class of the lock object; empty where it is not known.
    pub(crate) class: String,
    /// Methods that wait for it, the most costly first, with milliseconds.
    pub(crate) places: Vec<(String, f64)>,
    /// Milliseconds, with the waits that have no record of a lock.
    pub(crate) ms: f64,
    pub(crate) threads: BTreeSet<ThreadId>,
    /// Whether it is many objects of the class that are locked at this place.
    pub(crate) several: bool,
    /// Places in [`Waits::slow`].
    waits: Vec<usize>,
}

/// The locks of some waits, the one waited for longest first.
pub(crate) fn locks(waits: &Waits<'_, '_>, own: &[&str]) -> Vec<Lock> {
    let recording = waits.case.recording;
    // Many waits have one stack: its place is looked for once.
    let mut by_stack: FxHashMap<(StrId, Option<StackId>), usize> = FxHashMap::default();
    let mut keys: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut key_of: Vec<usize> = Vec::with_capacity(waits.slow.len());
    for Wait { span, .. } in &waits.slow {
        let stack = waits.case.chains().stack_of(span);
        let key = by_stack.entry((span.name_id(), stack)).or_insert_with(|| {
            let next = keys.len();
            *keys.entry((span.name(), place(recording, stack, own))).or_insert(next)
        });
        key_of.push(*key);
    }
    let mut same: Vec<usize> = (0..keys.len()).collect();
    for (one, other) in at_one_address(waits, &key_of) {
        let (a, b) = (root(&same, one), root(&same, other));
        same[a.max(b)] = a.min(b);
    }
    for (one, other) in at_one_place(&keys, &same) {
        let (a, b) = (root(&same, one), root(&same, other));
        same[a.max(b)] = a.min(b);
    }
    let mut locks: BTreeMap<usize, Lock> = BTreeMap::new();
    let mut places: BTreeMap<usize, BTreeMap<&str, f64>> = BTreeMap::new();
    let mut names = vec![("", ""); keys.len()];
    keys.iter().for_each(|(key, i)| names[*i] = *key);
    for (i, wait) in waits.slow.iter().enumerate() {
        let id = root(&same, key_of[i]);
        let (class, place) = names[key_of[i]];
        let lock = locks.entry(id).or_insert_with(|| Lock::new(class));
        if lock.class.is_empty() {
            class.clone_into(&mut lock.class);
        }
        lock.ms += wait.ms;
        lock.threads.extend(wait.span.thread());
        lock.waits.push(i);
        *places.entry(id).or_default().entry(place).or_default() += wait.ms;
    }
    // A wait without a record of a lock is taken to be for the lock that records name at its place.
    for unlisted in &waits.unlisted {
        let known = places.iter().filter_map(|(id, own)| Some((*id, *own.get(unlisted.place.as_str())?)));
        let id = known.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(id, _)| id);
        let id = id.unwrap_or_else(|| {
            let new = |id: &usize| *id >= keys.len();
            let at = |id: &usize| places.get(id).is_some_and(|p| p.contains_key(unlisted.place.as_str()));
            let there = locks.keys().copied().find(|id| new(id) && at(id));
            there.unwrap_or(keys.len() + locks.len())
        });
        let lock = locks.entry(id).or_insert_with(|| Lock::new(""));
        lock.ms += unlisted.ms;
        lock.threads.insert(unlisted.thread);
        *places.entry(id).or_default().entry(&unlisted.place).or_default() += unlisted.ms;
    }
    for (id, lock) in &mut locks {
        lock.places = places.remove(id).into_iter().flatten().map(|(p, ms)| (p.to_owned(), ms)).collect();
        lock.places.sort_by(|a, b| b.1.total_cmp(&a.1));
        lock.waits.sort_by_key(|i| waits.slow[*i].span.t0_ns());
        lock.several = lock.names_several(waits);
    }
    let mut locks: Vec<Lock> = locks.into_values().collect();
    locks.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    locks
}

fn root(same: &[usize], mut at: usize) -> usize {
    while same[at] != at {
        at = same[at];
    }
    at
}

/// Pairs of keys at one place, of which one has no class: what could not be read of an object is
/// taken to be what others read there, where that is one lock.
fn at_one_place(keys: &BTreeMap<(&str, &str), usize>, same: &[usize]) -> Vec<(usize, usize)> {
    let unknown = keys.iter().filter(|((class, place), _)| class.is_empty() && *place != NO_PLACE);
    let pair = |((_, place), one): (&(&str, &str), &usize)| {
        let there = keys.iter().filter(|((class, at), _)| !class.is_empty() && at == place);
        let roots: BTreeSet<usize> = there.map(|(_, key)| root(same, *key)).collect();
        (roots.len() == 1).then(|| (*one, roots.into_iter().next().unwrap_or(*one)))
    };
    unknown.filter_map(pair).collect()
}

/// A wait: from, to, and the key of its lock.
type Wanted = (i64, i64, usize);
/// Pairs of keys of one class whose waits name one address at the same time.
fn at_one_address(waits: &Waits<'_, '_>, key_of: &[usize]) -> Vec<(usize, usize)> {
    let mut by_address: FxHashMap<(StrId, StrId), Vec<Wanted>> = FxHashMap::default();
    for (wait, key) in waits.slow.iter().zip(key_of) {
        let Some(address) = wait.span.label_id(label::ADDRESS) else { continue };
        let timestamp = (wait.span.t0_ns(), wait.span.t1_ns(), *key);
        by_address.entry((wait.span.name_id(), address)).or_default().push(timestamp);
    }
    let mut pairs = Vec::new();
    for mut list in by_address.into_values() {
        list.sort_unstable();
        let mut last: Option<(i64, usize)> = None;
        for (from, to, key) in list {
            if let Some((_, other)) = last.filter(|(end, other)| from < *end && *other != key) {
                pairs.push((other, key));
            }
            if last.is_none_or(|(end, _)| to > end) {
                last = Some((to, key));
            }
        }
    }
    pairs
}

/// The last parts of a name with dots.
fn last(name: &str, parts: usize) -> &str {
    let cut = name.rmatch_indices('.').nth(parts - 1).map_or(0, |(at, _)| at + 1);
    &name[cut..]
}

impl Lock {
    /// Whether its waits are those for a monitor.
    pub(super) fn is_monitor(&self, waits: &Waits<'_, '_>) -> bool {
        self.waits.first().is_some_and(|i| waits.slow[*i].span.kind() == kind::LOCK_MONITOR)
    }

    /// As a monitor, of which it is known that it is held within the methods that take it; `None`
    /// for other locks.
    pub(crate) fn as_monitor(&self, category: Category) -> Option<Monitor> {
        let places = self.places.iter().map(|(place, _)| place).filter(|place| *place != NO_PLACE).cloned();
        (category == Category::Monitor).then(|| Monitor { category, places: places.collect() })
    }

    fn new(class: &str) -> Self {
        Self { class: class.to_owned(), ..Self::default() }
    }

    /// Its class, and where it is taken: what it is known by.
    pub(crate) fn named(&self) -> String {
        self.culprit().sentence()
    }

    /// The same as data.
    pub(crate) fn culprit(&self) -> Fact {
        let class = Value::named(&self.class);
        Fact { value: class, ..culprits::LOCK.fact() }.with("place", self.place().map(Value::name))
    }

    /// The method that takes it.
    fn place(&self) -> Option<&str> {
        self.places.first().map(|(place, _)| place.as_str()).filter(|place| *place != NO_PLACE)
    }

    /// Where it is taken, without packages: "Orders.book".
    pub(crate) fn short_place(&self) -> Option<&str> {
        self.place().map(|place| last(place, 2))
    }

    /// Its class, without packages.
    pub(crate) fn short_class(&self) -> &str {
        last(if self.class.is_empty() { "an object of unknown class" } else { &self.class }, 1)
    }

    /// The same with where it is taken.
    pub(crate) fn short(&self) -> String {
        let within = self.short_place().map_or(String::new(), |place| format!(" in {place}()"));
        format!("{}{within}", self.short_class())
    }

    fn names_several(&self, waits: &Waits<'_, '_>) -> bool {
        let (mut pairs, mut different) = (0, 0);
        let mut last: Option<(i64, StrId)> = None;
        for span in self.waits.iter().map(|i| &waits.slow[*i].span) {
            let Some(address) = span.label_id(label::ADDRESS) else { continue };
            if let Some((_, other)) = last.filter(|(end, _)| span.t0_ns() < *end) {
                pairs += 1;
                different += usize::from(other != address);
            }
            if last.is_none_or(|(end, _)| span.t1_ns() > end) {
                last = Some((span.t1_ns(), address));
            }
        }
        pairs > 0 && f64::from(different as u32) > SEVERAL * f64::from(pairs as u32)
    }

    /// Whether one thread at a time holds it. Permits and read locks have many holders.
    pub(super) fn is_exclusive(&self) -> bool {
        !["Semaphore", "ReadWriteLock", "StampedLock", "CountDownLatch"]
            .iter()
            .any(|c| self.class.contains(c))
    }

    /// Its waits that have records, in order of their beginnings.
    pub(crate) fn spans<'w, 'a>(&'w self, waits: &'w Waits<'_, 'a>) -> impl Iterator<Item = Span<'a>> + 'w {
        self.waits.iter().map(|i| waits.slow[*i].span)
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::{C2, Jvm, Kernel};
    use fathom_recording::vocabulary::label;

    use super::*;
    use crate::built::{Built, judged, whole_run};
    use crate::facts::{culprits, locks as facts};
    use crate::rules::lock_contended_juc::LockContendedJuc;
    use crate::rules::lock_contended_monitor::LockContendedMonitor;
    use crate::waits::Category;
    use crate::{Finding, Judgement, Rule};

    fn wait(built: &mut Built, thread: &str, (class, address, place): (&str, &str, &str), at: (f64, f64)) {
        let frames = [("java.util.Hashtable.get", C2), (place, C2)];
        built.with_stack((kind::LOCK_MONITOR, class), thread, &frames, &[(label::ADDRESS, address)], at);
    }

    /// Locks as named, with whether they are several.
    fn named(built: Built) -> Vec<(String, bool)> {
        let jvm = built.jvm;
        let recording = built.sealed();
        let case = whole_run(&recording);
        let kind = (kind::LOCK_MONITOR, Category::Monitor);
        let waits = Waits::of_locks(&case, jvm, kind, &[], |_| true).unwrap();
        locks(&waits, &[]).iter().map(|lock| (lock.named(), lock.several)).collect()
    }

    #[test]
    fn an_object_that_moves_stays_one_lock_and_its_address_is_in_no_name() {
        let mut built = Built::jvm("17", "G1", 600.0);
        for i in 0..600 {
            for worker in 0..4 {
                let lock = ("shop.Ledger", &*format!("0x{}", i / 60), "shop.Orders.book");
                wait(&mut built, &format!("worker-{worker}"), lock, (f64::from(i), 900.0));
            }
        }
        let Judgement::Found(finding) = judged(&LockContendedMonitor, &built.sealed()) else { panic!() };
        finding.culprit.states(&culprits::LOCK, &[("value", "shop.Ledger"), ("place", "shop.Orders.book")]);
        assert_eq!(finding.fact(&facts::WAITS).name("lock"), Some(&*finding.culprit));
    }

    #[test]
    fn two_objects_of_one_class_taken_at_different_places_are_two_locks() {
        let mut built = Built::jvm("17", "G1", 60.0);
        for i in 0..60 {
            let at = f64::from(i);
            wait(&mut built, "a", ("shop.Ledger", "0x1", "shop.Orders.book"), (at, 500.0));
            wait(&mut built, "b", ("shop.Ledger", "0x2", "shop.Audit.write"), (at, 400.0));
        }
        let both = ["shop.Ledger in shop.Orders.book()", "shop.Ledger in shop.Audit.write()"];
        assert_eq!(named(built), both.map(|name| (name.to_owned(), false)));
    }

    #[test]
    fn one_object_that_two_places_wait_for_at_once_is_one_lock() {
        let mut built = Built::jvm("17", "G1", 60.0);
        for i in 0..60 {
            let at = f64::from(i);
            wait(&mut built, "a", ("shop.Ledger", "0x1", "shop.Orders.book"), (at, 500.0));
            wait(&mut built, "b", ("shop.Ledger", "0x1", "shop.Audit.write"), (at, 400.0));
        }
        assert_eq!(named(built), [("shop.Ledger in shop.Orders.book()".to_owned(), false)]);
    }

    #[test]
    fn waits_whose_object_could_not_be_read_are_for_the_lock_that_others_wait_for_there() {
        let mut built = Built::jvm("25", "G1", 60.0);
        for i in 0..60 {
            let at = f64::from(i);
            wait(&mut built, "a", ("", "0x0", "shop.Orders.book"), (at, 900.0));
            wait(&mut built, "b", ("shop.Ledger", "0x1", "shop.Orders.book"), (at, 400.0));
        }
        assert_eq!(
            named(built).iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["shop.Ledger in shop.Orders.book()"]
        );
    }

    #[test]
    fn many_objects_locked_at_one_place_are_reported_as_many() {
        let mut built = Built::jvm("17", "G1", 60.0);
        for i in 0..60 {
            for worker in 0..4 {
                let lock = ("shop.Account", &*format!("0x{worker}"), "shop.Orders.book");
                wait(&mut built, &format!("worker-{worker}"), lock, (f64::from(i), 900.0));
            }
        }
        assert_eq!(named(built), [("shop.Account in shop.Orders.book()".to_owned(), true)]);
    }

    fn found(rule: &dyn Rule, built: Built) -> Box<Finding> {
        match judged(rule, &built.sealed()) {
            Judgement::Found(finding) => finding,
            _ => panic!("nothing found"),
        }
    }

    #[test]
    fn waits_that_no_probe_saw_begin_are_found_by_the_stacks_of_the_switches() {
        let mut built = Built::jvm("17", "G1", 60.0);
        let frames = [
            ("futex_wait", Kernel),
            ("ObjectMonitor::enter", Jvm),
            ("shop.Orders.book", C2),
            ("shop.Server.handle", C2),
        ];
        for worker in 0..8 {
            let thread = format!("worker-{worker}");
            built.on_thread(kind::SCHED_WATCHED, &thread, "", 0.0, 60_000.0);
            built.with_stack((kind::SCHED_OFF, "sleeping"), &thread, &frames, &[], (10.0, 45_000.0));
            wait(&mut built, &thread, ("shop.Ledger", "0x1", "shop.Orders.book"), (55.0, 100.0));
        }
        let finding = found(&LockContendedMonitor, built);
        finding.culprit.states(&culprits::LOCK, &[("value", "shop.Ledger"), ("place", "shop.Orders.book")]);
        assert!((finding.cost_ms - 45_000.0).abs() < 200.0, "{}", finding.cost_ms);
        assert_eq!(finding.fact(&facts::UNLISTED).number("value"), Some(360_000.0));
    }

    #[test]
    fn waits_too_short_to_be_recorded_one_by_one_count_as_the_ledger_counts_them() {
        let mut built = Built::jvm("17", "G1", 60.0);
        let frames = [
            ("futex_wait", Kernel),
            ("java.util.concurrent.locks.LockSupport.park", C2),
            ("java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire", C2),
            ("java.util.concurrent.locks.ReentrantLock.lock", C2),
            ("shop.Stock.take", C2),
        ];
        for worker in 0..8 {
            let thread = format!("worker-{worker}");
            built.on_thread(kind::SCHED_WATCHED, &thread, "", 0.0, 60_000.0);
            for i in 1..60 {
                built.short_waits(&thread, &frames, f64::from(i), 400.0);
            }
            let blocker = (kind::LOCK_PARK, "java.util.concurrent.locks.ReentrantLock$NonfairSync");
            built.with_stack(blocker, &thread, &frames[1..], &[], (59.5, 2.0));
        }
        let recording = built.recording.clone();
        let finding = found(&LockContendedJuc, built);
        let lock = "java.util.concurrent.locks.ReentrantLock$NonfairSync in shop.Stock.take()";
        assert_eq!(finding.culprit, lock);
        let mut recording = recording;
        recording.seal();
        let by = crate::thread_ledger::By::Process;
        let ledger = crate::thread_ledger::thread_ledger(&recording, None, None, by);
        let spent: f64 = (ledger.groups.iter().flat_map(|group| &group.spent))
            .filter(|spent| spent.category == Category::Lock)
            .map(|spent| spent.ms)
            .sum();
        assert!(
            (finding.cost_ms * 8.0 - spent).abs() < spent / 100.0,
            "{} of {spent}",
            finding.cost_ms * 8.0
        );
        assert!(spent > 150_000.0, "{spent}");
    }
}
