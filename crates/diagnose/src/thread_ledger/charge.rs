//! A thread's time in a window, all of it attributed to one category.

use super::bounds::Bounds;
use super::gaps::{self, Kinds};
use super::layers::by_samples;
use super::thread_records::{Means, Seen, Taken, ThreadRecords};
use crate::Window;
use crate::intervals::Intervals;
use crate::split_time::Parts;
use crate::waits::stack::ByStack;
use crate::waits::{Category, record};
use fathom_recording::vocabulary::{figure, sample};
use fathom_recording::{ProcessId, Recording, Role, Span, ThreadId};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

pub(super) const CATEGORIES: usize = Category::ALL.len();

/// A thread's time by category.
#[derive(Clone, Debug)]
pub(super) struct Account<'a> {
    pub(super) thread: ThreadId,
    /// What it waited for by name, with nanoseconds, by category; parts of those.
    pub(super) on: Vec<(Category, &'a str, i64)>,
    /// Nanoseconds by category; they add up to the time that the thread lived in the window.
    pub(super) spent_ns: [i64; CATEGORIES],
    /// CPU samples of the thread in the window.
    pub(super) cpu_samples: u64,
    /// What they stand for, nanoseconds; 0 where they count no time.
    pub(super) sampled_ns: i64,
}

/// The accounts of all threads that lived in each of many windows, in the order of the threads;
/// all time is attributed once, and each window takes its part of that. The time of a thread that
/// was attributed before is not attributed again.
pub(super) fn accounts<'a>(
    intervals: &ThreadIntervals<'a>,
    stacks: &ByStack,
    windows: &[Window],
) -> Vec<Vec<Account<'a>>> {
    let recording = intervals.recording;
    let means = &intervals.seen.means;
    let asked = Intervals::of_windows(windows);
    let mut accounts: Vec<Vec<Account<'a>>> = windows.iter().map(|_| Vec::new()).collect();
    for (id, records) in &intervals.seen.threads {
        let known = intervals.charged.borrow().get(id).cloned();
        let Some(charged) = known.unwrap_or_else(|| intervals.charge(*id, stacks, &asked).map(Rc::new))
        else {
            continue;
        };
        let on = named(records, &charged, &asked);
        for (window, accounts) in windows.iter().zip(&mut accounts) {
            accounts.extend(account(recording, *id, records, &means.kinds, (&charged, &on), stacks, *window));
        }
    }
    let bounds = Bounds::of(recording, means.sampler.clone());
    for (window, accounts) in windows.iter().zip(&mut accounts) {
        bounds.hold(recording, *window, accounts);
    }
    accounts
}

/// Intervals of threads by category, for those who ask for more than sums: each thread is
/// attributed once, when it is asked for.
pub(crate) struct ThreadIntervals<'a> {
    recording: &'a Recording,
    /// What the recording covers.
    covers: (i64, i64),
    seen: Seen<'a>,
    stops: RefCell<FxHashMap<ProcessId, Rc<Parts>>>,
    charged: RefCell<FxHashMap<ThreadId, Option<Rc<ByCategory>>>>,
}

/// Intervals of one thread by category, in the order of [`Category::ALL`]; together those in which
/// it lived.
pub(crate) type ByCategory = [Intervals; CATEGORIES];

impl<'a> ThreadIntervals<'a> {
    pub(crate) fn of(recording: &'a Recording) -> Self {
        let (stops, charged) = (RefCell::default(), RefCell::default());
        let covers = recording.covers_ns().unwrap_or_default();
        Self { recording, covers, seen: Seen::of(recording), stops, charged }
    }

    /// Threads of which anything is known.
    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.seen.threads.keys().copied()
    }

    /// What of the running time that the intervals of a process' application threads show is borne
    /// out by what the kernel accounts to it and by its samples: a share, over all windows. The
    /// rest was not seen: a switch that was lost, between two that were recorded.
    pub(crate) fn borne_out(&self, process: ProcessId, stacks: &ByStack, windows: &[Window]) -> f64 {
        let recording = self.recording;
        let bounds = Bounds::of(recording, self.seen.means.sampler.clone());
        let of_process = |id: &ThreadId| recording.threads[id.index()].process == process;
        let known: Vec<_> = (self.seen.threads.iter().filter(|(id, _)| of_process(id)))
            .filter_map(|(id, records)| Some((*id, records, self.by_category(*id, stacks)?)))
            .collect();
        let (mut all_ns, mut kept_ns) = (0.0, 0.0);
        for window in windows {
            let account = |(id, records, charged): &(ThreadId, &ThreadRecords<'a>, Rc<ByCategory>)| {
                let charged = (charged.as_ref(), &Named::default());
                account(recording, *id, records, &self.seen.means.kinds, charged, stacks, *window)
            };
            let mut accounts: Vec<Account<'a>> = known.iter().filter_map(account).collect();
            let running = |accounts: &[Account<'a>]| -> f64 {
                let of_application =
                    accounts.iter().filter(|a| recording.threads[a.thread.index()].role == Role::App);
                of_application.map(|account| account.running_ns() as f64).sum()
            };
            all_ns += running(&accounts);
            bounds.hold(recording, *window, &mut accounts);
            kept_ns += running(&accounts);
        }
        if all_ns > 0.0 { kept_ns / all_ns } else { 1.0 }
    }

    /// What a thread spent its life on; `None` when nothing is known of it.
    pub(crate) fn by_category(&self, thread: ThreadId, stacks: &ByStack) -> Option<Rc<ByCategory>> {
        if let Some(known) = self.charged.borrow().get(&thread) {
            return known.clone();
        }
        let always = Intervals::of([(i64::MIN, i64::MAX)]);
        let intervals = self.charge(thread, stacks, &always).map(Rc::new);
        self.charged.borrow_mut().insert(thread, intervals.clone());
        intervals
    }

    /// What a thread spent the intervals on that are asked for.
    fn charge(&self, thread: ThreadId, stacks: &ByStack, asked: &Intervals) -> Option<ByCategory> {
        let records = self.seen.threads.get(&thread)?;
        let stops = self.stops(self.recording.threads[thread.index()].process);
        let alive = records.alive(self.covers);
        charge(self.recording, thread, records, &self.seen.means, &stops, stacks, alive, asked)
    }

    /// How the time of a JVM is split by its stops.
    pub(crate) fn stops(&self, process: ProcessId) -> Rc<Parts> {
        let parts = || Rc::new(Parts::of(self.recording, process));
        Rc::clone(self.stops.borrow_mut().entry(process).or_insert_with(parts))
    }

    /// When a thread lived, as far as that is known: of one that the kernel does not know, from its
    /// first record to its last.
    pub(crate) fn lived(&self, thread: ThreadId) -> Option<(i64, i64)> {
        let records = self.seen.threads.get(&thread)?;
        let is_known = self.recording.threads[thread.index()].tid.is_some() || !records.is_known_by_waits();
        if is_known { Some(records.alive(self.covers)) } else { records.hull }
    }

    /// Records that show what a thread waited for.
    pub(crate) fn waits(&self, thread: ThreadId) -> &[Span<'a>] {
        self.seen.threads.get(&thread).map_or(&[], |records| &records.waits)
    }

    /// The same kind by kind, each in order of their beginnings, with whether their ends are in
    /// order, too.
    pub(crate) fn waits_by_kind(
        &self,
        thread: ThreadId,
    ) -> impl Iterator<Item = (&'static str, &[Span<'a>], bool)> {
        let records = self.seen.threads.get(&thread);
        let mut from = 0;
        records.into_iter().flat_map(|records| records.wait_kinds.iter().map(move |row| (records, row))).map(
            move |(records, (kind, to, in_order))| {
                (*kind, &records.waits[std::mem::replace(&mut from, *to)..*to], *in_order)
            },
        )
    }

    /// Times that a thread was off the CPU, in order of their beginnings.
    pub(crate) fn off(&self, thread: ThreadId) -> &[Span<'a>] {
        self.seen.threads.get(&thread).map_or(&[], |records| &records.off)
    }

    /// Whether the ends of those are in order as well, as those of one thread on one clock are.
    pub(crate) fn off_ends_in_order(&self, thread: ThreadId) -> bool {
        self.seen.threads.get(&thread).is_none_or(|records| records.ends_in_order)
    }

    /// Samples of a thread, in order of time.
    pub(crate) fn samples(&self, thread: ThreadId) -> &[Taken] {
        self.seen.threads.get(&thread).map_or(&[], |records| &records.samples)
    }
}

/// Categories of the parts of stops, in the order of [`Parts::stopped`].
const STOPPED: [Category; 5] = [
    Category::StoppedByGc,
    Category::StoppedToReach,
    Category::Stopped,
    Category::Stopped,
    Category::StoppedByLog,
];

/// Categories under which a thread waits for something that has a name.
const NAMED: [Category; 5] =
    [Category::Disk, Category::Network, Category::Dns, Category::Child, Category::Blocked];

/// Parts of intervals of which it is known what was waited for, in the order of their beginnings.
type Named<'a> = Vec<((i64, i64), Category, &'a str)>;

/// Names what was waited for in the intervals that are asked for; all time counts once, by the most
/// specific record.
fn named<'a>(records: &ThreadRecords<'a>, intervals: &ByCategory, asked: &Intervals) -> Named<'a> {
    let mut on = Vec::new();
    let mut left = NAMED.map(|category| (category, intervals[category.index()].and(asked)));
    for kind in record::NAMING {
        let waits = records.waits.iter().filter(|span| span.kind() == kind);
        let named: Vec<_> = waits.filter_map(|span| Some((span, record::target(span)?))).collect();
        for (category, left) in left.iter_mut().filter(|(_, left)| !left.is_empty()) {
            for (span, target) in &named {
                let parts = left.within(span.t0_ns(), span.t1_ns());
                on.extend(parts.map(|part| (part, *category, *target)));
            }
            *left = left.without(&Intervals::of(named.iter().map(|(span, _)| (span.t0_ns(), span.t1_ns()))));
        }
    }
    on.sort_unstable_by_key(|(part, category, _)| (*part, *category));
    on
}

/// Attributes the time of a thread that were asked for, before samples move any; `None` when it
/// lived in none of them.
#[allow(clippy::too_many_arguments, reason = "the one place where all of it comes together")]
fn charge(
    recording: &Recording,
    id: ThreadId,
    records: &ThreadRecords<'_>,
    means: &Means,
    stops: &Parts,
    stacks: &ByStack,
    alive: (i64, i64),
    asked: &Intervals,
) -> Option<ByCategory> {
    let mut alive = Intervals::of([alive]).and(asked);
    if recording.threads[id.index()].tid.is_none() && records.is_known_by_waits() {
        alive = alive.and(&Intervals::of(records.waits.iter().map(|span| (span.t0_ns(), span.t1_ns()))));
    }
    if alive.is_empty() {
        return None;
    }
    let role = recording.threads[id.index()].role;
    let mut left = alive.clone();
    let mut lists: [Vec<(i64, i64)>; CATEGORIES] = std::array::from_fn(|_| Vec::new());
    let mut charge = |category: Category, intervals: &Intervals| {
        let intervals = intervals.and(&left);
        lists[category.index()].extend(intervals.ranges());
        left = left.without(&intervals);
    };

    // What waited for a CPU did nothing else, whatever record lies around it.
    let watched = Intervals::of(records.watched.iter().copied());
    let queued = |s: &Span<'_>| {
        let queued = s.figure(figure::RUNQ_NS).unwrap_or(0.0).max(0.0) as i64;
        (s.t1_ns().saturating_sub(queued).max(s.t0_ns()), s.t1_ns())
    };
    let throttled = |s: &Span<'_>| {
        let (from, to) = queued(s);
        let ns = s.figure(figure::THROTTLED_NS).unwrap_or(0.0).max(0.0) as i64;
        (from, from.saturating_add(ns).min(to))
    };
    let unlisted = stacks.of_unlisted(&records.off, role);
    let category = |span: &Span<'_>| unlisted.category(record::category(span, stacks));
    let recorded =
        by_category(records.waits.iter().map(|span| (category(span), (span.t0_ns(), span.t1_ns()))));
    let requests = records.waits.iter().filter(|span| record::awaits_work(span, stacks));
    let requests = Intervals::of(requests.map(|span| (span.t0_ns(), span.t1_ns())));
    let off = by_category(records.off.iter().map(|s| (stacks.of_switch(s, role), (s.t0_ns(), queued(s).0))));
    charge(Category::Throttled, &Intervals::of(records.off.iter().map(throttled)));
    charge(Category::RunQueue, &Intervals::of(records.off.iter().map(queued)));
    for (category, intervals) in &off {
        if *category == Category::Stopped {
            let parts = STOPPED.iter().zip(&stops.stopped).filter(|(part, _)| **part != Category::Stopped);
            parts.for_each(|(part, stop)| charge(*part, &intervals.and(stop)));
        }
        // Who has asked for a stop waits for its end at a lock of the JVM's own, as do those that
        // want memory meanwhile.
        if *category == Category::NativeLock && role == Role::App {
            STOPPED.iter().zip(&stops.stopped).for_each(|(part, stop)| charge(*part, &intervals.and(stop)));
        }
        if matches!(
            category,
            Category::Blocked | Category::PageFault | Category::Disk | Category::MemoryStall
        ) {
            for narrower in record::NARROWER {
                recorded.get(&narrower).into_iter().for_each(|waits| charge(narrower, &intervals.and(waits)));
            }
        }
        if *category == Category::Network {
            charge(Category::Idle, &intervals.and(&requests));
        }
        // A futex or nothing at all: the record around it knows better.
        if matches!(category, Category::Blocked | Category::NativeLock | Category::Waiting) {
            for (around, waits) in &recorded {
                charge(*around, &intervals.and(waits));
            }
        }
        charge(*category, intervals);
    }
    let gaps = gaps::of(records, &means.kinds, means.sampler.as_ref(), |sample| {
        let is_queued = recording.strings.get(sample.kind) == sample::RUN_QUEUE;
        if is_queued { Category::RunQueue } else { unlisted.category(stacks.of_role(sample.stack(), role)) }
    });
    for (category, intervals) in &by_category(gaps.short.into_iter()) {
        // Short waits whose stacks were not walked get the category of a record around them.
        if *category == Category::Blocked {
            for (around, waits) in &recorded {
                charge(*around, &intervals.and(waits));
            }
        }
        charge(*category, intervals);
    }
    charge(Category::Unknown, &gaps.unknown);
    charge(Category::Running, &watched);

    // No switches were recorded: what records of waits show, then the stops of the JVM, for the
    // application's threads.
    for narrower in record::NARROWER {
        recorded.get(&narrower).into_iter().for_each(|intervals| charge(narrower, intervals));
    }
    for (category, intervals) in &recorded {
        charge(*category, intervals);
    }
    if role == Role::App {
        STOPPED.iter().zip(&stops.stopped).for_each(|(category, stop)| charge(*category, stop));
    }
    charge(Category::Unknown, &alive);
    Some(lists.map(|list| {
        let mut intervals = Intervals::of(list);
        intervals.shrink();
        intervals
    }))
}

/// A window's part of what a thread was attributed, with samples counted in; `None` when it did not
/// live then.
fn account<'a>(
    recording: &Recording,
    id: ThreadId,
    records: &ThreadRecords<'_>,
    kinds: &Kinds,
    (charged, on): (&ByCategory, &Named<'a>),
    stacks: &ByStack,
    window: Window,
) -> Option<Account<'a>> {
    let mut spent_ns = [0; CATEGORIES];
    for (spent, intervals) in spent_ns.iter_mut().zip(charged) {
        *spent = intervals.length_within_ns(window.from_ns, window.to_ns);
    }
    if spent_ns.iter().all(|ns| *ns == 0) {
        return None;
    }
    let role = recording.threads[id.index()].role;
    let (cpu_samples, sampled_ns) =
        by_samples(recording, records, kinds, role, stacks, window, &mut spent_ns);
    // Parts do not overlap: their ends are in order too.
    let first = on.partition_point(|(part, ..)| part.1 <= window.from_ns);
    let last = on.partition_point(|(part, ..)| part.0 < window.to_ns).max(first);
    let mut of: BTreeMap<(Category, &str), i64> = BTreeMap::new();
    for ((from, to), category, target) in &on[first..last] {
        let ns = to.min(&window.to_ns).saturating_sub(*from.max(&window.from_ns));
        if ns > 0 {
            *of.entry((*category, target)).or_default() += ns;
        }
    }
    let on = of.into_iter().map(|((category, target), ns)| (category, target, ns)).collect();
    Some(Account { thread: id, on, spent_ns, cpu_samples, sampled_ns })
}

fn by_category(waits: impl Iterator<Item = (Category, (i64, i64))>) -> BTreeMap<Category, Intervals> {
    let mut lists: BTreeMap<Category, Vec<(i64, i64)>> = BTreeMap::new();
    waits.for_each(|(category, ends)| lists.entry(category).or_default().push(ends));
    lists.into_iter().map(|(category, list)| (category, Intervals::of(list))).collect()
}
