//! A thread's time in a window, each moment charged to one heading.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use fathom_recording::vocabulary::{figure, kind, sample};
use fathom_recording::{FrameType, ProcessId, Recording, Role, Sample, Span, ThreadId};
use rustc_hash::FxHashMap;

use crate::Window;
use crate::intervals::Intervals;
use crate::ledger::Parts;
use crate::waits::stack::ByStack;
use crate::waits::{Heading, record};

const HEADINGS: usize = Heading::ALL.len();

/// A thread's time by heading.
#[derive(Clone, Debug)]
pub(super) struct Account<'a> {
    pub(super) thread: ThreadId,
    /// What it waited for by name, with nanoseconds, by heading; parts of those.
    pub(super) on: Vec<(Heading, &'a str, i64)>,
    /// Nanoseconds by heading; they add up to the time that the thread lived in the window.
    pub(super) spent_ns: [i64; HEADINGS],
    /// CPU samples of the thread in the window.
    pub(super) cpu_samples: u64,
}

/// The accounts of all threads that lived in a window, in the order of the threads.
pub(super) fn accounts(recording: &Recording, window: Window) -> Vec<Account<'_>> {
    accounts_of_each(recording, &[window]).pop().unwrap_or_default()
}

/// The same for many windows; every moment is charged once, and each window takes its part of that.
pub(super) fn accounts_of_each<'a>(recording: &'a Recording, windows: &[Window]) -> Vec<Vec<Account<'a>>> {
    let stacks = ByStack::of(recording);
    let seen = Seen::of(recording);
    let asked = Intervals::of_windows(windows);
    let covers = recording.covers_ns().unwrap_or_default();
    let mut stops: FxHashMap<ProcessId, Parts> = FxHashMap::default();
    let mut accounts: Vec<Vec<Account<'a>>> = windows.iter().map(|_| Vec::new()).collect();
    for (id, mut book) in seen.threads {
        let process = recording.threads[id.index()].process;
        let stops = stops.entry(process).or_insert_with(|| Parts::of(recording, process));
        let alive = book.alive(covers);
        let Some(charged) = charge(recording, id, &book, stops, &stacks, alive, &asked) else { continue };
        book.samples.sort_by_key(|sample| sample.t_ns);
        for (window, accounts) in windows.iter().zip(&mut accounts) {
            accounts.extend(account(recording, id, &book, &charged, &stacks, *window));
        }
    }
    accounts
}

/// Moments of threads by heading, for those who ask for more than sums: each thread is charged once, when it is asked for.
pub(crate) struct Moments<'a> {
    recording: &'a Recording,
    /// What the recording covers.
    covers: (i64, i64),
    seen: Seen<'a>,
    stops: RefCell<FxHashMap<ProcessId, Rc<Parts>>>,
    charged: RefCell<FxHashMap<ThreadId, Option<Rc<ByHeading>>>>,
}

/// Moments of one thread by heading, in the order of [`Heading::ALL`]; together those in which it lived.
pub(crate) type ByHeading = [Intervals; HEADINGS];

impl<'a> Moments<'a> {
    pub(crate) fn of(recording: &'a Recording) -> Self {
        let (stops, charged) = (RefCell::default(), RefCell::default());
        let covers = recording.covers_ns().unwrap_or_default();
        Self { recording, covers, seen: Seen::of(recording), stops, charged }
    }

    /// Threads of which anything is known.
    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.seen.threads.keys().copied()
    }

    /// What a thread spent its life on; `None` when nothing is known of it.
    pub(crate) fn by_heading(&self, thread: ThreadId, stacks: &ByStack) -> Option<Rc<ByHeading>> {
        if let Some(known) = self.charged.borrow().get(&thread) {
            return known.clone();
        }
        let moments = self.charge(thread, stacks).map(Rc::new);
        self.charged.borrow_mut().insert(thread, moments.clone());
        moments
    }

    fn charge(&self, thread: ThreadId, stacks: &ByStack) -> Option<ByHeading> {
        let book = self.seen.threads.get(&thread)?;
        let stops = self.stops(self.recording.threads[thread.index()].process);
        let all = Intervals::of([(i64::MIN, i64::MAX)]);
        Some(charge(self.recording, thread, book, &stops, stacks, book.alive(self.covers), &all)?.moments)
    }

    /// How the time of a JVM is split by its stops.
    pub(crate) fn stops(&self, process: ProcessId) -> Rc<Parts> {
        let parts = || Rc::new(Parts::of(self.recording, process));
        Rc::clone(self.stops.borrow_mut().entry(process).or_insert_with(parts))
    }

    /// Records that tell what a thread waited for.
    pub(crate) fn told(&self, thread: ThreadId) -> &[Span<'a>] {
        self.seen.threads.get(&thread).map_or(&[], |book| &book.told)
    }

    /// Times that a thread was off the CPU, in order of their beginnings.
    pub(crate) fn off(&self, thread: ThreadId) -> &[Span<'a>] {
        self.seen.threads.get(&thread).map_or(&[], |book| &book.off)
    }

    /// Samples of a thread, in no order.
    pub(crate) fn samples(&self, thread: ThreadId) -> &[Sample] {
        self.seen.threads.get(&thread).map_or(&[], |book| &book.samples)
    }
}

/// What is recorded of each thread.
struct Seen<'a> {
    threads: BTreeMap<ThreadId, Book<'a>>,
}

#[derive(Default)]
struct Book<'a> {
    watched: Vec<(i64, i64)>,
    off: Vec<Span<'a>>,
    told: Vec<Span<'a>>,
    starts: Vec<i64>,
    ends: Vec<i64>,
    samples: Vec<Sample>,
    /// First and last time of anything.
    hull: Option<(i64, i64)>,
}

impl Book<'_> {
    fn reach(&mut self, from: i64, to: i64) {
        let (first, last) = self.hull.unwrap_or((from, to));
        self.hull = Some((first.min(from), last.max(to)));
    }

    /// When the thread lived. Where nobody watched its start, it is taken to live from its first record to its last
    /// when its switches were watched, and for the whole recording when not: a sampled thread is mostly silent.
    fn alive(&self, covers: (i64, i64)) -> (i64, i64) {
        let (first, last) = self.hull.unwrap_or(covers);
        let watched = !self.watched.is_empty();
        let start = self.starts.iter().min().copied().unwrap_or(if watched { first } else { covers.0 });
        let end = self.ends.iter().max().copied().unwrap_or(if watched { last } else { covers.1 });
        (start.min(first), end.max(last))
    }

    /// Whether nothing is known of it but what it waited for. A virtual thread is no thread of the kernel's: what it does else, its
    /// carriers are charged with.
    fn is_known_by_waits(&self) -> bool {
        self.watched.is_empty() && self.off.is_empty() && self.samples.is_empty()
    }
}

impl<'a> Seen<'a> {
    fn of(recording: &'a Recording) -> Self {
        let mut threads: BTreeMap<ThreadId, Book<'a>> = BTreeMap::new();
        let mut each = |kind: &str, take: &mut dyn FnMut(&mut Book<'a>, Span<'a>)| {
            for span in recording.spans_of(kind) {
                let Some(thread) = span.thread() else { continue };
                let book = threads.entry(thread).or_default();
                book.reach(span.t0_ns(), span.t1_ns());
                take(book, span);
            }
        };
        each(kind::SCHED_WATCHED, &mut |book, span| book.watched.push((span.t0_ns(), span.t1_ns())));
        each(kind::SCHED_OFF, &mut |book, span| book.off.push(span));
        each(kind::THREAD_START, &mut |book, span| book.starts.push(span.t0_ns()));
        each(kind::THREAD_END, &mut |book, span| book.ends.push(span.t1_ns()));
        for kind in record::WAITS {
            each(kind, &mut |book, span| book.told.extend(record::is_wait(&span).then_some(span)));
        }
        let waits = [sample::OFF_CPU, sample::RUN_QUEUE].map(|kind| recording.strings.find(kind));
        let kinds = [recording.on_cpu_kind(), waits[0], waits[1]];
        for sample in recording.samples.iter().filter(|s| kinds.contains(&Some(s.kind))) {
            let Some(thread) = sample.thread else { continue };
            let book = threads.entry(thread).or_default();
            book.reach(sample.t_ns, sample.t_ns);
            book.samples.push(sample);
        }
        Self { threads }
    }
}

/// The moments of a thread by heading, before samples have moved any; together they are those in which it lived.
struct Charged<'a> {
    moments: [Intervals; HEADINGS],
    /// Parts of them of which it is known what was waited for, in the order of their beginnings.
    on: Vec<((i64, i64), Heading, &'a str)>,
}

/// Headings of the parts of stops, in the order of [`Parts::stopped`].
const STOPPED: [Heading; 5] = [
    Heading::StoppedByGc,
    Heading::StoppedToReach,
    Heading::Stopped,
    Heading::Stopped,
    Heading::StoppedByLog,
];

/// Headings under which a thread waits for something that has a name.
const NAMED: [Heading; 5] = [Heading::Disk, Heading::Network, Heading::Dns, Heading::Child, Heading::Blocked];

/// Names what was waited for; each moment once, by the most telling record.
fn named<'a>(book: &Book<'a>, moments: &[Intervals; HEADINGS]) -> Vec<((i64, i64), Heading, &'a str)> {
    let mut on = Vec::new();
    let mut left = NAMED.map(|heading| (heading, moments[heading.index()].clone()));
    for kind in record::NAMING {
        let told = book.told.iter().filter(|span| span.kind() == kind);
        let named: Vec<_> = told.filter_map(|span| Some((span, record::target(span)?))).collect();
        for (heading, left) in left.iter_mut().filter(|(_, left)| !left.is_empty()) {
            for (span, target) in &named {
                let parts = left.within(span.t0_ns(), span.t1_ns());
                on.extend(parts.map(|part| (part, *heading, *target)));
            }
            *left = left.without(&Intervals::of(named.iter().map(|(span, _)| (span.t0_ns(), span.t1_ns()))));
        }
    }
    on.sort_unstable_by_key(|(part, heading, _)| (*part, *heading));
    on
}

/// Charges the moments of a thread that were asked for; `None` when it lived in none of them.
fn charge<'a>(
    recording: &Recording,
    id: ThreadId,
    book: &Book<'a>,
    stops: &Parts,
    stacks: &ByStack,
    alive: (i64, i64),
    asked: &Intervals,
) -> Option<Charged<'a>> {
    let mut alive = Intervals::of([alive]).and(asked);
    if recording.threads[id.index()].tid.is_none() && book.is_known_by_waits() {
        alive = alive.and(&Intervals::of(book.told.iter().map(|span| (span.t0_ns(), span.t1_ns()))));
    }
    if alive.is_empty() {
        return None;
    }
    let role = recording.threads[id.index()].role;
    let mut left = alive.clone();
    let mut lists: [Vec<(i64, i64)>; HEADINGS] = std::array::from_fn(|_| Vec::new());
    let mut charge = |heading: Heading, moments: &Intervals| {
        let moments = moments.and(&left);
        lists[heading.index()].extend(moments.stretches());
        left = left.without(&moments);
    };

    // What waited for a CPU did nothing else, whatever record lies around it.
    let watched = Intervals::of(book.watched.iter().copied());
    let queued = |s: &Span<'_>| {
        let queued = s.figure(figure::RUNQ_NS).unwrap_or(0.0).max(0.0) as i64;
        (s.t1_ns().saturating_sub(queued).max(s.t0_ns()), s.t1_ns())
    };
    let throttled = |s: &Span<'_>| {
        let (from, to) = queued(s);
        let ns = s.figure(figure::THROTTLED_NS).unwrap_or(0.0).max(0.0) as i64;
        (from, from.saturating_add(ns).min(to))
    };
    let told = by_heading(book.told.iter().map(|s| (record::heading(s, stacks), (s.t0_ns(), s.t1_ns()))));
    let off = by_heading(book.off.iter().map(|s| {
        let at = stacks.heading(s.stack());
        (idle_by_role(at, role), (s.t0_ns(), queued(s).0))
    }));
    charge(Heading::Throttled, &Intervals::of(book.off.iter().map(throttled)));
    charge(Heading::RunQueue, &Intervals::of(book.off.iter().map(queued)));
    for (heading, moments) in &off {
        if *heading == Heading::Stopped {
            let parts = STOPPED.iter().zip(&stops.stopped).filter(|(part, _)| **part != Heading::Stopped);
            parts.for_each(|(part, stop)| charge(*part, &moments.and(stop)));
        }
        if matches!(heading, Heading::Blocked | Heading::PageFault | Heading::Disk | Heading::MemoryStall) {
            for narrower in record::NARROWER {
                told.get(&narrower).into_iter().for_each(|told| charge(narrower, &moments.and(told)));
            }
        }
        // A futex or nothing at all: the record around it knows better.
        if matches!(heading, Heading::Blocked | Heading::NativeLock | Heading::Waiting) {
            for (around, told) in &told {
                charge(*around, &moments.and(told));
            }
        }
        charge(*heading, moments);
    }
    charge(Heading::Running, &watched);

    // Nobody watched: what records tell, then the stops of the JVM, for the application's threads.
    for narrower in record::NARROWER {
        told.get(&narrower).into_iter().for_each(|moments| charge(narrower, moments));
    }
    for (heading, moments) in &told {
        charge(*heading, moments);
    }
    if role == Role::App {
        STOPPED.iter().zip(&stops.stopped).for_each(|(heading, stop)| charge(*heading, stop));
    }
    charge(Heading::Unknown, &alive);
    let moments = lists.map(Intervals::of);
    let on = named(book, &moments);
    Some(Charged { moments, on })
}

/// A window's part of what a thread was charged, with samples counted in; `None` when it did not live then.
fn account<'a>(
    recording: &Recording,
    id: ThreadId,
    book: &Book<'_>,
    charged: &Charged<'a>,
    stacks: &ByStack,
    window: Window,
) -> Option<Account<'a>> {
    let mut spent_ns = [0; HEADINGS];
    for (spent, moments) in spent_ns.iter_mut().zip(&charged.moments) {
        *spent = moments.length_within_ns(window.from_ns, window.to_ns);
    }
    if spent_ns.iter().all(|ns| *ns == 0) {
        return None;
    }
    let role = recording.threads[id.index()].role;
    let cpu_samples = by_samples(recording, book, role, stacks, window, &mut spent_ns);
    // Parts do not overlap: their ends are in order too.
    let first = charged.on.partition_point(|(part, ..)| part.1 <= window.from_ns);
    let last = charged.on.partition_point(|(part, ..)| part.0 < window.to_ns).max(first);
    let mut on: BTreeMap<(Heading, &str), i64> = BTreeMap::new();
    for ((from, to), heading, target) in &charged.on[first..last] {
        let ns = to.min(&window.to_ns).saturating_sub(*from.max(&window.from_ns));
        if ns > 0 {
            *on.entry((*heading, target)).or_default() += ns;
        }
    }
    let on = on.into_iter().map(|((heading, target), ns)| (heading, target, ns)).collect();
    Some(Account { thread: id, on, spent_ns, cpu_samples })
}

fn by_heading(told: impl Iterator<Item = (Heading, (i64, i64))>) -> BTreeMap<Heading, Intervals> {
    let mut lists: BTreeMap<Heading, Vec<(i64, i64)>> = BTreeMap::new();
    told.for_each(|(heading, ends)| lists.entry(heading).or_default().push(ends));
    lists.into_iter().map(|(heading, list)| (heading, Intervals::of(list))).collect()
}

/// The JVM's own threads that wait on a lock or for nothing known wait for work.
pub(crate) fn idle_by_role(heading: Heading, role: Role) -> Heading {
    let waits = matches!(heading, Heading::Blocked | Heading::NativeLock | Heading::Waiting);
    if waits && matches!(role, Role::Gc | Role::Jit | Role::Vm) { Heading::Idle } else { heading }
}

/// Moves time by samples: short waits out of the running time, running time out of the unknown, and running time to
/// the layer that was sampled. Nothing is moved that is not there, so the sum stays.
fn by_samples(
    recording: &Recording,
    book: &Book<'_>,
    role: Role,
    stacks: &ByStack,
    window: Window,
    spent_ns: &mut [i64; HEADINGS],
) -> u64 {
    let kind_of = |s: &Sample| recording.strings.get(s.kind);
    let mut running_ns = 0_i64;
    let mut layers = [0_i64; HEADINGS];
    let mut cpu_samples = 0;
    let before = |end: i64| book.samples.partition_point(|s| s.t_ns < end);
    for sample in &book.samples[before(window.from_ns)..before(window.to_ns).max(before(window.from_ns))] {
        let weight = sample.weight.max(0);
        let heading = match kind_of(sample) {
            kind @ (sample::CPU | sample::CYCLES) => {
                cpu_samples += 1;
                if kind == sample::CPU {
                    running_ns = running_ns.saturating_add(weight);
                }
                // Cycles are no time: they divide the time that was measured, and add none.
                let layer = &mut layers[running(recording, stacks, role, sample).index()];
                *layer = layer.saturating_add(weight);
                continue;
            }
            sample::RUN_QUEUE => Heading::RunQueue,
            _ => idle_by_role(stacks.heading(sample.stack), role),
        };
        shift(spent_ns, Heading::Running, heading, weight);
    }
    shift(spent_ns, Heading::Unknown, Heading::Running, running_ns - spent_ns[Heading::Running.index()]);
    let sampled: i128 = layers.iter().map(|ns| i128::from(*ns)).sum();
    let measured = spent_ns[Heading::Running.index()];
    for heading in Heading::ALL {
        // The last layer may leave a rest of some nanoseconds with "layer not sampled".
        let part = i128::from(measured) * i128::from(layers[heading.index()]);
        if let Some(part) = part.checked_div(sampled) {
            shift(spent_ns, Heading::Running, heading, part as i64);
        }
    }
    cpu_samples
}

fn shift(spent_ns: &mut [i64; HEADINGS], from: Heading, to: Heading, ns: i64) {
    let there = spent_ns[from.index()];
    let moved = ns.clamp(0, there.max(0));
    if from != to {
        spent_ns[from.index()] -= moved;
        spent_ns[to.index()] += moved;
    }
}

/// The layer of a CPU sample: that of its innermost frame; collectors and compilers by their threads.
fn running(recording: &Recording, stacks: &ByStack, role: Role, sample: &Sample) -> Heading {
    let leaf = sample.stack.and_then(|stack| recording.stacks.get(stack.index()));
    let frame = leaf.and_then(|node| recording.frames.get(node.frame.index()));
    match (frame.map(|f| f.frame_type), role) {
        (Some(FrameType::Kernel), _) if stacks.heading(sample.stack) == Heading::PageFault => {
            Heading::KernelFault
        }
        (Some(FrameType::Kernel), _) => Heading::Kernel,
        (_, Role::Gc) => Heading::Gc,
        (_, Role::Jit) => Heading::Jit,
        (Some(FrameType::Interpreted), _) => Heading::Interpreted,
        (Some(FrameType::C1), _) => Heading::C1,
        (Some(FrameType::C2 | FrameType::Stub), _) => Heading::C2,
        // An inlined frame is as compiled as the frame that it was inlined into.
        (Some(FrameType::Inlined), _) => compiled_by(recording, sample),
        (Some(FrameType::Jvm), _) => Heading::Jvm,
        (Some(FrameType::Native), _) => Heading::Native,
        (Some(FrameType::Unknown) | None, _) => Heading::Running,
    }
}

fn compiled_by(recording: &Recording, sample: &Sample) -> Heading {
    let mut at = sample.stack;
    while let Some(node) = at.and_then(|stack| recording.stacks.get(stack.index())) {
        match recording.frames.get(node.frame.index()).map(|f| f.frame_type) {
            Some(FrameType::Inlined) => at = node.parent,
            Some(FrameType::C1) => return Heading::C1,
            _ => break,
        }
    }
    Heading::C2
}
