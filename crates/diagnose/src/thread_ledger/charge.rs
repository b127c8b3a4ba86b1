//! A thread's time in a window, each moment charged to one heading.

use std::collections::BTreeMap;

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
pub(super) struct Account {
    pub(super) thread: ThreadId,
    /// Nanoseconds by heading; they add up to the time that the thread lived in the window.
    pub(super) spent_ns: [i64; HEADINGS],
    /// CPU samples of the thread in the window.
    pub(super) cpu_samples: u64,
}

/// The accounts of all threads that lived in a window, in the order of the threads.
pub(super) fn accounts(recording: &Recording, window: Window) -> Vec<Account> {
    accounts_of_each(recording, &[window]).pop().unwrap_or_default()
}

/// The same for many windows; what is recorded is gone through once.
pub(super) fn accounts_of_each(recording: &Recording, windows: &[Window]) -> Vec<Vec<Account>> {
    let stacks = ByStack::of(recording);
    let seen = Seen::of(recording);
    let mut stops: FxHashMap<ProcessId, Parts> = FxHashMap::default();
    let mut accounts: Vec<Vec<Account>> = windows.iter().map(|_| Vec::new()).collect();
    for (id, book) in seen.threads {
        let process = recording.threads[id.index()].process;
        let stops = stops.entry(process).or_insert_with(|| Parts::of(recording, process));
        for (window, accounts) in windows.iter().zip(&mut accounts) {
            accounts.extend(account(recording, id, &book, stops, &stacks, *window));
        }
    }
    accounts
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
            each(kind, &mut |book, span| book.told.push(span));
        }
        let kinds =
            [sample::CPU, sample::OFF_CPU, sample::RUN_QUEUE].map(|kind| recording.strings.find(kind));
        for sample in recording.samples.iter().filter(|s| kinds.contains(&Some(s.kind))) {
            let Some(thread) = sample.thread else { continue };
            let book = threads.entry(thread).or_default();
            book.reach(sample.t_ns, sample.t_ns);
            book.samples.push(sample);
        }
        Self { threads }
    }
}

fn account(
    recording: &Recording,
    id: ThreadId,
    book: &Book<'_>,
    stops: &Parts,
    stacks: &ByStack,
    window: Window,
) -> Option<Account> {
    let covers = recording.covers_ns()?;
    let alive = Intervals::of([book.alive(covers)]).and(&Intervals::of_windows(&[window]));
    if alive.is_empty() {
        return None;
    }
    let role = recording.threads[id.index()].role;
    let mut left = alive.clone();
    let mut spent_ns = [0; HEADINGS];
    let mut charge = |heading: Heading, moments: &Intervals| {
        let moments = moments.and(&left);
        spent_ns[heading.index()] += moments.length_ns();
        left = left.without(&moments);
    };

    // What waited for a CPU did nothing else, whatever record lies around it.
    let watched = Intervals::of(book.watched.iter().copied());
    let queued = |s: &Span<'_>| {
        let queued = s.figure(figure::RUNQ_NS).unwrap_or(0.0).max(0.0) as i64;
        (s.t1_ns().saturating_sub(queued).max(s.t0_ns()), s.t1_ns())
    };
    let told = by_heading(book.told.iter().map(|s| (record::heading(s, stacks), (s.t0_ns(), s.t1_ns()))));
    let off = by_heading(book.off.iter().map(|s| {
        let at = stacks.heading(s.stack());
        (idle_by_role(at, role), (s.t0_ns(), queued(s).0))
    }));
    charge(Heading::RunQueue, &Intervals::of(book.off.iter().map(queued)));
    for (heading, moments) in &off {
        if *heading == Heading::Stopped {
            charge(Heading::StoppedByGc, &moments.and(&stops.stopped[0]));
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
    for (heading, moments) in &told {
        charge(*heading, moments);
    }
    if role == Role::App {
        charge(Heading::StoppedByGc, &stops.stopped[0]);
        stops.stopped[1..].iter().for_each(|part| charge(Heading::Stopped, part));
    }
    charge(Heading::Unknown, &alive);

    let cpu_samples = by_samples(recording, book, role, stacks, window, &mut spent_ns);
    Some(Account { thread: id, spent_ns, cpu_samples })
}

fn by_heading(told: impl Iterator<Item = (Heading, (i64, i64))>) -> BTreeMap<Heading, Intervals> {
    let mut lists: BTreeMap<Heading, Vec<(i64, i64)>> = BTreeMap::new();
    told.for_each(|(heading, ends)| lists.entry(heading).or_default().push(ends));
    lists.into_iter().map(|(heading, list)| (heading, Intervals::of(list))).collect()
}

/// The JVM's own threads that wait on a lock or for nothing known wait for work.
fn idle_by_role(heading: Heading, role: Role) -> Heading {
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
    for sample in book.samples.iter().filter(|s| s.t_ns >= window.from_ns && s.t_ns < window.to_ns) {
        let weight = sample.weight.max(0);
        let heading = match kind_of(sample) {
            sample::CPU => {
                cpu_samples += 1;
                running_ns = running_ns.saturating_add(weight);
                let layer = &mut layers[running(recording, role, sample).index()];
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
fn running(recording: &Recording, role: Role, sample: &Sample) -> Heading {
    let leaf = sample.stack.and_then(|stack| recording.stacks.get(stack.index()));
    let frame = leaf.and_then(|node| recording.frames.get(node.frame.index()));
    match (frame.map(|f| f.frame_type), role) {
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
