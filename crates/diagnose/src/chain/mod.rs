//! Wait-for chains: from a thread that did not get on to what runs, works or lies outside.
//!
//! ```text
//! victim, intervals ─▶ what it did then, by the thread ledger ─┬─ a lock ──────▶ its owner ────────────┐
//!                                                              ├─ a condition ─▶ who woke it ──────────┤ in the same
//!                                                              ├─ stopped ─────▶ the parts of the stop ┤ intervals
//!                                                              │               (last thread in, VM)    │
//!                                                              ├─ a disk ──────▶ requests, journal     ▼
//!                                                              └─ runs, sleeps, a peer, unknown: the end
//! ```
//!
//! A chain is a tree. Every link stands for intervals of the victim; those of a link are split over
//! its next links without overlap and without a rest, so that the time of a chain's ends adds up to
//! that of the victim (the redistribution of Zhou et al., "wPerf", OSDI 2018). What is not known is
//! a link that says so.
//!
//! Where a lock changes hands while it is waited for, what its holders did is added up over the
//! wait ([`held_locks`]).
//!
//! Limits. Of many objects locked at one place, who held one when a wait began stands for the whole
//! wait. Who woke a thread is taken to be what a thread that waits for no lock waited for. Where a
//! recording could not see interrupts, a timer that fires while a thread of the same process runs
//! looks like that thread. Peers are not followed into other recordings.

mod cpus;
mod deadlock;
mod disks;
pub(crate) mod ends;
mod held_locks;
mod holders;
mod initialisers;
pub(crate) mod spent;
mod stops;
#[cfg(test)]
mod tests;
mod thread_activity;
mod threads;
mod under_lock;
mod wakers;
mod walk;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use fathom_recording::{FrameType, ProcessId, Recording, Role, Span, StackFrame, StackId, StrId, ThreadId};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::intervals::Intervals;
use crate::thread_ledger::{self, By, ByCategory, GroupLedger, ThreadIntervals, Weight};
use crate::waits::Category;
use crate::waits::stack::ByStack;
use crate::{Statement, Window};

pub(crate) use held_locks::HeldLocks;
pub(crate) use initialisers::awaits_initialiser;
pub use stops::{Part, Stop, StopPart};
pub(crate) use under_lock::Monitor;

/// Version of the JSON of `fathom chain`.
pub const SCHEMA: &str = "fathom.chain/3";

/// What a thread waited for, and what that waited for, to the end.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Chain {
    /// The thread that did not get on.
    pub thread: String,
    /// Its id at the kernel.
    pub tid: Option<i64>,
    /// Its process.
    pub process: String,
    /// The same as a row of the recording's processes.
    pub process_id: Option<ProcessId>,
    /// The intervals looked at: from the first …
    pub from_ns: i64,
    /// … to the last of them, nanoseconds on the recording's clock.
    pub to_ns: i64,
    /// How long they are together, milliseconds.
    pub ms: f64,
    /// What it did in them, the longest first; their times add up to `ms`.
    pub links: Vec<Link>,
}

/// One link: what a thread, or a device, did while the links before waited for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "ChainLink"))]
pub struct Link {
    /// The thread; `None` for a device, for several holders of a lock, or where nobody knows.
    pub thread: Option<String>,
    /// Its id at the kernel.
    pub tid: Option<i64>,
    /// Its process; empty where it is not known.
    pub process: String,
    /// The same as a row of the recording's processes.
    pub process_id: Option<ProcessId>,
    /// What its time is attributed to, as in the ledger of threads; `None` for a device and for
    /// what was not followed.
    pub category: Option<Category>,
    /// What kind of link it is.
    pub kind: LinkKind,
    /// What it did: "waiting for shop.Cart that worker-7 held", "in write() on
    /// /var/log/app.log".
    pub what: Statement,
    /// Of the victim's time, milliseconds.
    pub ms: f64,
    /// The same as a share of the chain's time.
    pub share: f64,
    /// Intervals of time that it is made of.
    pub times: usize,
    /// The longest of them: its beginning, nanoseconds …
    pub from_ns: i64,
    /// … and its end.
    pub to_ns: i64,
    /// The stack that shows it, innermost frame first; empty where none was recorded.
    pub stack: Vec<String>,
    /// Where its record stands; empty where there is none.
    pub source: String,
    /// Why the chain ends here; `None` where it goes on.
    pub end: Option<End>,
    /// What it itself waited for; their times add up to `ms`.
    pub next: Vec<Link>,
}

/// What a link is; [`Link::what`] says more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// What a thread did: its category says on what its time was spent.
    Thread,
    /// What several threads did that held the lock one after another.
    Holders,
    /// A thread that held the lock meanwhile and leads back into the chain.
    Holder,
    /// Who held the lock is not known.
    HolderUnknown,
    /// A part of a stop of the JVM.
    Stop,
    /// A stop that no record explains.
    StopUnknown,
    /// A thread that is further up in the chain.
    Again,
    /// Who had the CPU.
    Cpu,
    /// Who had the CPU was not recorded.
    CpuUnknown,
    /// Work of a disk, or of the kernel on one.
    Disk,
    /// No work of a disk was recorded that explains it.
    DiskUnknown,
    /// Somebody outside of what was recorded, or a device: a peer, a process, an interrupt.
    Outside,
    /// Several links that are too small to be followed one by one.
    Smaller,
}

/// Why a chain ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "ChainEnd"))]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// On a CPU.
    Running,
    /// A disk at work.
    Hardware,
    /// Beyond what was recorded: a peer, another process, a quota, who froze a file system.
    Outside,
    /// By choice: asleep, or without work.
    Choice,
    /// Threads that wait for each other, and did so until the recording ended.
    Deadlock,
    /// Back at a thread of the chain: the lock has changed hands meanwhile.
    Circle,
    /// Too deep, too short or too many to be followed.
    NotFollowed,
    /// Nothing shows why.
    Unknown,
}

impl End {
    /// In words; empty where the link says it itself.
    pub fn words(self) -> &'static str {
        match self {
            Self::Running | Self::Choice | Self::NotFollowed => "",
            Self::Hardware => "the disk was at work",
            Self::Outside => "outside of what was recorded",
            Self::Deadlock => "a deadlock",
            Self::Circle => "back at a thread of this chain: the lock changed hands meanwhile",
            Self::Unknown => "what for is not known",
        }
    }
}

impl Link {
    /// The longest of what it waited for, and of that, and so on, this link first.
    pub fn heaviest(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |link| {
            link.next.iter().reduce(|best, next| if next.ms > best.ms { next } else { best })
        })
    }
}

/// What threads did, with how long in all.
pub(crate) struct Did {
    pub(crate) category: Category,
    pub(crate) what: Statement,
    pub(crate) ms: f64,
}

/// Frames of a link's stack that are kept: the innermost.
const FRAMES: usize = 24;
/// Frames of the kernel that are shown of a stack without a Java method.
const KERNEL_FRAMES: usize = 2;

/// Windows, as from whence to when, in which a process is looked at.
type WindowsOf = (ProcessId, Vec<(i64, i64)>);

/// Chains of a recording. What it looks at is looked at once.
pub struct Chains<'a> {
    recording: &'a Recording,
    stacks: ByStack,
    intervals: ThreadIntervals<'a>,
    by_tid: FxHashMap<i64, ThreadId>,
    /// Threads of processes by their names; `None` where several have the same.
    by_name: OnceCell<FxHashMap<(ProcessId, StrId), Option<ThreadId>>>,
    /// What windows were spent on, for several rules.
    spent: RefCell<FxHashMap<WindowsOf, Rc<spent::Spent<'a>>>>,
    runners: OnceCell<cpus::Runners>,
    ends: ends::Ends<'a>,
    held_locks: held_locks::HeldLocks,
}

impl<'a> Chains<'a> {
    /// Of a (sealed) recording.
    pub fn of(recording: &'a Recording) -> Self {
        let intervals = ThreadIntervals::of(recording);
        let mut by_tid = FxHashMap::default();
        // Where a number was used twice, the thread of which more is known.
        let known = |id: &ThreadId| intervals.off(*id).len() + intervals.waits(*id).len();
        for (i, thread) in recording.threads.iter().enumerate() {
            let (id, Some(tid)) = (ThreadId(i as u32), thread.tid) else { continue };
            let best = by_tid.entry(tid).or_insert(id);
            if known(&id) > known(best) {
                *best = id;
            }
        }
        let (stacks, by_name, runners) = (ByStack::of(recording), OnceCell::new(), OnceCell::new());
        let (ends, spent) = (ends::Ends::of(recording), RefCell::default());
        let held_locks = held_locks::HeldLocks::default();
        Self { recording, stacks, intervals, by_tid, by_name, spent, runners, ends, held_locks }
    }

    /// What the stacks of the recording wait for.
    pub(crate) fn stacks(&self) -> &ByStack {
        &self.stacks
    }

    /// What windows were spent on by the application's threads of a JVM; worked out when it is
    /// first asked for.
    pub(crate) fn spent(
        &self,
        jvm: ProcessId,
        windows: &[Window],
        of: impl FnOnce() -> spent::Spent<'a>,
    ) -> Rc<spent::Spent<'a>> {
        let key = (jvm, windows.iter().map(|window| (window.from_ns, window.to_ns)).collect());
        if let Some(known) = self.spent.borrow().get(&key) {
            return Rc::clone(known);
        }
        let spent = Rc::new(of());
        self.spent.borrow_mut().insert(key, Rc::clone(&spent));
        spent
    }

    /// Who had the CPUs, second by second.
    pub(crate) fn runners(&self) -> &cpus::Runners {
        self.runners.get_or_init(|| cpus::Runners::of(self.recording))
    }

    /// What a thread waited for in a window.
    pub fn of_thread(&self, thread: ThreadId, window: Window) -> Chain {
        self.during(thread, &Intervals::of_windows(&[window]))
    }

    /// What a thread waited for in some intervals.
    pub(crate) fn during(&self, thread: ThreadId, intervals: &Intervals) -> Chain {
        let (name, tid, process) = self.named(thread);
        let ends = intervals.ranges();
        Chain {
            thread: name,
            tid,
            process,
            process_id: self.process_of(thread),
            from_ns: ends.first().map_or(0, |s| s.0),
            to_ns: ends.last().map_or(0, |s| s.1),
            ms: intervals.length_ms(),
            links: walk::Walk::new(self, intervals.length_ns()).links(thread, intervals),
        }
    }

    /// The application's threads that were held up in a window, each with how long, milliseconds;
    /// those first that were so most above `base`, or, without one, most beyond what they always
    /// wait. Time that a thread spends running, asleep by choice or without work does not count.
    pub fn victims(&self, window: Window, base: &[Window]) -> Vec<(ThreadId, f64)> {
        let base_ms: f64 = base.iter().map(|w| w.length_ns() as f64 / 1e6).sum();
        let scale = if base_ms > 0.0 { window.length_ns() as f64 / 1e6 / base_ms } else { 0.0 };
        let parts = thread_ledger::parts(window);
        let held_up = |thread: ThreadId| {
            let by_category = self.intervals.by_category(thread, &self.stacks)?;
            let within = |category: Category, w: &Window| {
                by_category[category.index()].length_within_ns(w.from_ns, w.to_ns) as f64 / 1e6
            };
            let held: Vec<Category> = Category::ALL.into_iter().filter(|h| h.is_held_up()).collect();
            let ms: f64 = held.iter().map(|category| within(*category, &window)).sum();
            if ms <= 0.0 {
                return None;
            }
            let rank = if base.is_empty() {
                let mut weight = Weight::of(parts.iter().map(|part| part.length_ns() as f64 / 1e6));
                for (i, part) in parts.iter().enumerate() {
                    held.iter().for_each(|category| weight.add(i, *category, within(*category, part)));
                }
                weight.value()
            } else {
                let usual = |category| base.iter().map(|w| within(category, w)).sum::<f64>();
                let spent =
                    held.iter().map(|category| (*category, within(*category, &window), usual(*category)));
                thread_ledger::growth(spent, scale)
            };
            Some((thread, ms, rank))
        };
        // The first thread of a JVM's process only waits for the JVM's end.
        let is_app = |id: &ThreadId| {
            let row = &self.recording.threads[id.index()];
            let jvm = self.recording.processes.get(row.process.index()).is_some_and(|process| process.jvm);
            row.role == Role::App || (row.role == Role::Other && !jvm)
        };
        let mut victims: Vec<_> = self.intervals.threads().filter(is_app).filter_map(held_up).collect();
        victims.sort_by(|a, b| {
            b.2.total_cmp(&a.2).then_with(|| b.1.total_cmp(&a.1)).then_with(|| a.0.cmp(&b.0))
        });
        victims.into_iter().map(|(thread, ms, _)| (thread, ms)).collect()
    }

    /// When a thread was held up within a window.
    pub(crate) fn held_up(&self, thread: ThreadId, window: Window) -> Intervals {
        let Some(by_category) = self.intervals.by_category(thread, &self.stacks) else {
            return Intervals::default();
        };
        let held = Category::ALL.iter().filter(|h| h.is_held_up());
        Intervals::of(held.flat_map(|h| by_category[h.index()].within(window.from_ns, window.to_ns)))
    }

    /// Threads that do the work of a JVM's application, of which anything is known.
    pub(crate) fn application_threads(&self, jvm: ProcessId) -> Vec<ThreadId> {
        let is_app = |id: &ThreadId| {
            let row = &self.recording.threads[id.index()];
            row.process == jvm && row.role == Role::App
        };
        self.intervals.threads().filter(is_app).collect()
    }

    /// The ledger of threads in many windows, as [`thread_ledger::over_time`] has it.
    pub(crate) fn over_time(&self, windows: &[Window], by: &[By]) -> Vec<Vec<Vec<GroupLedger>>> {
        thread_ledger::over_time_of(self.recording, (&self.intervals, &self.stacks), windows, by)
    }

    /// What of the running time that the intervals of a JVM's application threads show in windows
    /// the kernel's accounts and samples bear out, as a share.
    pub(crate) fn borne_out(&self, jvm: ProcessId, windows: &[Window]) -> f64 {
        self.intervals.borne_out(jvm, &self.stacks, windows)
    }

    /// What a thread spent its life on; `None` when nothing is known of it.
    pub(crate) fn by_category(&self, thread: ThreadId) -> Option<Rc<ByCategory>> {
        self.intervals.by_category(thread, &self.stacks)
    }

    /// What a thread waited for in a window, without the time in which it ran, slept or had no
    /// work.
    pub fn of_victim(&self, thread: ThreadId, window: Window) -> Chain {
        self.during(thread, &self.held_up(thread, window))
    }

    /// What threads did in intervals of each of them, the longest first, and how much of it was
    /// off the CPU. They held a monitor meanwhile where one is given.
    pub(crate) fn did(&self, intervals: &[(ThreadId, Intervals)], held: Option<&Monitor>) -> (Vec<Did>, f64) {
        let mut sums: BTreeMap<String, Did> = BTreeMap::new();
        let mut off_ms = 0.0;
        for (thread, intervals) in intervals {
            for doing in self.doings_of_holder(*thread, intervals, held) {
                if doing.category == Category::Unknown {
                    continue;
                }
                off_ms += if doing.category.is_running() { 0.0 } else { doing.intervals.length_ms() };
                let did = sums.entry(doing.what.to_string());
                let did = did.or_insert(Did { category: doing.category, what: doing.what, ms: 0.0 });
                did.ms += doing.intervals.length_ms();
            }
        }
        let mut did: Vec<Did> = sums.into_values().collect();
        did.sort_by(|a, b| b.ms.total_cmp(&a.ms));
        (did, off_ms)
    }

    /// Name, id and process of a thread.
    fn named(&self, thread: ThreadId) -> (String, Option<i64>, String) {
        let Some(row) = self.recording.threads.get(thread.index()) else { return Default::default() };
        (self.recording.thread_label(thread), row.tid, self.recording.process_name(row.process).to_owned())
    }

    fn process_of(&self, thread: ThreadId) -> Option<ProcessId> {
        Some(self.recording.threads.get(thread.index())?.process)
    }

    /// Frames of a stack, innermost first. Of what lies within the first Java method only the
    /// innermost frame says what it is: the kernel's and the JVM's others would take the place of
    /// the methods that led there.
    fn frames(&self, stack: Option<StackId>) -> Vec<String> {
        let mut all: Vec<StackFrame<'_>> = self.recording.frames_of(stack).collect();
        match all.iter().position(StackFrame::is_java) {
            Some(first) if first > 1 => drop(all.drain(1..first)),
            Some(_) => {}
            None => {
                let kernel = all.iter().take_while(|frame| frame.frame_type() == FrameType::Kernel).count();
                all.drain(kernel.min(KERNEL_FRAMES)..kernel);
            }
        }
        all.into_iter().take(FRAMES).map(|frame| frame.name().to_owned()).collect()
    }

    /// The thread of which a text says "name (id)", as switches name who woke a thread.
    fn thread_named(&self, text: &str) -> Option<ThreadId> {
        self.by_tid.get(&crate::waits::queues::id_of(text)?).copied()
    }
}

/// Where a record stands and which timestamp it refers to.
fn position(span: &Span<'_>) -> String {
    span.position()
}
