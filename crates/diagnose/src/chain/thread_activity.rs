//! What one thread did in some intervals: the categories of the ledger, each explained by the
//! record that says most about it.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, interrupt, kind, label};
use fathom_recording::{FrameType, ProcessId, Role, Span, StackId, StrId, ThreadId};
use rustc_hash::FxHashMap;

use super::initialisers::awaits_initialiser;
use super::{Chains, End};
use crate::facts::{Value, links};
use crate::intervals::Intervals;
use crate::side_by_side::touching;
use crate::thread_ledger::Taken;
use crate::waits::place::is_of_jdk;
use crate::waits::{Category, record};
use crate::{Fact, Statement};

/// Methods of the JDK that only wait or delegate: the caller is what matters.
pub(super) const TRANSPARENT: [&str; 6] =
    ["java.lang.Thread.", "java.util.concurrent.", "jdk.internal.", "sun.misc.", "sun.nio.", "java.io."];

/// Beginnings of functions of the kernel that wait for storage within a page fault.
const STORAGE: [&str; 11] = [
    "ext4_",
    "xfs_",
    "btrfs_",
    "f2fs_",
    "filemap_",
    "folio_wait",
    "io_schedule",
    "jbd2_",
    "blk_",
    "submit_bio",
    "swap_",
];
/// How the kernel waits until a file system is thawed (include/linux/fs.h, `sb_start_write`, on
/// percpu-rwsem).
const FROZEN: [&str; 2] = ["percpu_rwsem_wait", "__percpu_down_read"];

/// The class of what a thread waits at for a condition of `java.util.concurrent`.
const CONDITION: &str = "AbstractQueuedSynchronizer$ConditionObject";

/// A thing that a thread did.
pub(super) struct Doing<'a> {
    pub(super) category: Category,
    pub(super) what: Statement,
    pub(super) intervals: Intervals,
    /// The longest record of it.
    pub(super) span: Option<Span<'a>>,
    /// The stack that shows it, where it is not the record's.
    pub(super) stack: Option<StackId>,
    pub(super) next: Next,
}

/// What it waited for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Next {
    /// A thread: an owner, or who woke it.
    Thread(ThreadId),
    /// Those who held a lock one after another ([`super::held_locks::HeldLocks`]).
    Lock(usize),
    /// The end of a stop of its JVM.
    Stop,
    /// Storage.
    Disk,
    /// A CPU.
    Cpu,
    /// An interrupt or a process of which only the name is known: it ended the wait.
    EndedBy(String),
    /// A file system until it is thawed.
    FrozenFiles,
    /// Nothing: the chain ends there.
    End(EndKey),
}

/// [`End`], with an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EndKey {
    Running,
    Outside,
    Choice,
    Unknown,
}

impl From<EndKey> for End {
    fn from(key: EndKey) -> Self {
        match key {
            EndKey::Running => Self::Running,
            EndKey::Outside => Self::Outside,
            EndKey::Choice => Self::Choice,
            EndKey::Unknown => Self::Unknown,
        }
    }
}

type Key = (Category, Statement, Next);

/// Things under way to become [`Doing`]s.
#[derive(Default)]
struct Found<'a>(BTreeMap<(Category, String, Next), Seen<'a>>);

/// What, when, and the longest record with its part of that, nanoseconds.
type Seen<'a> = (Statement, Vec<(i64, i64)>, Option<(i64, Span<'a>)>);

impl<'a> Found<'a> {
    fn add(&mut self, (category, what, next): Key, parts: Vec<(i64, i64)>, span: Option<Span<'a>>) {
        let ns: i64 = parts.iter().map(|(from, to)| to.saturating_sub(*from)).sum();
        let seen = self.0.entry((category, what.to_string(), next));
        let (_, intervals, longest) = seen.or_insert_with(|| (what, Vec::new(), None));
        intervals.extend(parts);
        if let Some(span) = span.filter(|_| longest.as_ref().is_none_or(|(best, _)| ns > *best)) {
            *longest = Some((ns, span));
        }
    }
}

impl<'a> Chains<'a> {
    /// What a thread did in some intervals, the longest first: all of them, without overlap.
    pub(super) fn doings(&self, thread: ThreadId, intervals: &Intervals) -> Vec<Doing<'a>> {
        let Some(by_category) = self.intervals.by_category(thread, &self.stacks) else {
            return vec![self.not_seen(intervals.clone())];
        };
        let mut found = Found::default();
        let mut running = Intervals::default();
        let mut lived = Intervals::default();
        for category in Category::ALL {
            let own = by_category[category.index()].and(intervals);
            if own.is_empty() {
                continue;
            }
            lived = lived.or(&own);
            match category {
                Category::Unknown => lived = lived.without(&own),
                _ if category.is_running() => running = running.or(&own),
                _ => self.off_the_cpu(thread, category, own, &mut found),
            }
        }
        let mut doings: Vec<Doing<'a>> = (found.0.into_iter())
            .map(|((category, _, next), (what, parts, longest))| Doing {
                category,
                what,
                intervals: Intervals::of(parts),
                span: longest.map(|(_, span)| span),
                stack: None,
                next,
            })
            .collect();
        doings.extend((!running.is_empty()).then(|| self.ran(thread, running)));
        let rest = intervals.without(&lived);
        doings.extend((!rest.is_empty()).then(|| self.not_seen(rest)));
        doings.sort_by_key(|doing| std::cmp::Reverse(doing.intervals.length_ns()));
        doings
    }

    fn not_seen(&self, intervals: Intervals) -> Doing<'a> {
        Doing {
            category: Category::Unknown,
            what: links::NOT_SEEN.fact().into(),
            intervals,
            span: None,
            stack: None,
            next: Next::End(EndKey::Unknown),
        }
    }

    /// Time on a CPU, described by the samples in it.
    fn ran(&self, thread: ThreadId, intervals: Intervals) -> Doing<'a> {
        let cpu = self.recording.on_cpu_kind();
        let mut methods: BTreeMap<(&str, Option<&str>), u32> = BTreeMap::new();
        let mut stacks: FxHashMap<StackId, u32> = FxHashMap::default();
        let timestamp = |sample: &Taken| (sample.t_ns, sample.t_ns.saturating_add(1));
        touching(self.intervals.samples(thread), true, timestamp, &intervals, |_, sample, _| {
            if Some(sample.kind) != cpu {
                return;
            }
            if let Some(method) = self.java_method(sample.stack(), |_| false) {
                // Of a method of the JDK it is the application's that says what it is for.
                let caller = is_of_jdk(method).then(|| self.java_method(sample.stack(), is_of_jdk)).flatten();
                *methods.entry((method, caller)).or_default() += 1;
            }
            if let Some(stack) = sample.stack() {
                *stacks.entry(stack).or_default() += 1;
            }
        });
        let most = methods.iter().max_by_key(|(_, count)| **count).map(|(most, _)| *most);
        let what = links::RUNNING.fact().with("method", most.map(|(method, _)| Value::name(method)));
        let what = what.with("caller", most.and_then(|(_, caller)| caller).map(Value::name)).into();
        let stack = stacks.into_iter().max_by_key(|(id, count)| (*count, std::cmp::Reverse(*id)));
        let stack = stack.map(|(stack, _)| stack);
        let next = Next::End(EndKey::Running);
        Doing { category: Category::Running, what, intervals, span: None, stack, next }
    }

    /// Time off the CPU under one category, described by the locks that were waited for, by calls
    /// that name a file or a peer, and by the switches themselves.
    fn off_the_cpu(&self, thread: ThreadId, category: Category, own: Intervals, found: &mut Found<'a>) {
        if category == Category::Frozen {
            let next = Next::End(end_of(category));
            let parts = own.ranges().to_vec();
            let off = self.intervals.off(thread);
            let near = off.partition_point(|span| span.t1_ns() <= parts.first().map_or(0, |part| part.0));
            found.add((category, spent(category).into(), next), parts, off.get(near).copied());
            return;
        }
        let mut left = own;
        let is_lock = matches!(
            category,
            Category::Monitor
                | Category::Lock
                | Category::NativeLock
                | Category::Waiting
                | Category::TimedWait
                | Category::Blocked
        );
        if is_lock {
            let locks = [kind::LOCK_MONITOR, kind::LOCK_PARK, kind::LOCK_NATIVE, kind::LOCK_WAIT];
            let locks = self.waits_within(thread, &locks, &left);
            self.take(&mut left, locks, found, |span| self.lock(thread, category, span));
        }
        let memory: &[&str] = match category {
            Category::MapLock => &[kind::MEMORY_MAP_LOCK],
            Category::MemoryStall => &[kind::MEMORY_STALL],
            _ => &[],
        };
        let naming = record::NAMING.into_iter().chain([kind::PAGE_FAULT, kind::DISK_SYNC]);
        for kind in memory.iter().copied().chain(naming) {
            if left.is_empty() {
                return;
            }
            let spans = self.waits_within(thread, &[kind], &left);
            self.take(&mut left, spans, found, |span| self.call(thread, category, span));
        }
        let mut off = Vec::new();
        self.off_within(thread, &left, |_, span, _| off.push(*span));
        self.take(&mut left, off, found, |span| Some(self.switched(thread, category, span)));
        if !left.is_empty() {
            let next = match category {
                _ if category.is_stopped() => Next::Stop,
                Category::Disk => Next::Disk,
                Category::RunQueue => Next::Cpu,
                _ => Next::End(end_of(category)),
            };
            found.add((category, spent(category).into(), next), left.ranges().to_vec(), None);
        }
    }

    /// Attributes what is left to spans that show what it was; all of them touch it.
    fn take(
        &self,
        left: &mut Intervals,
        mut spans: Vec<Span<'a>>,
        found: &mut Found<'a>,
        key_of: impl Fn(&Span<'a>) -> Option<Key>,
    ) {
        let mut taken: Vec<(i64, i64)> = Vec::new();
        let mut until = i64::MIN;
        spans.sort_by_key(Span::t0_ns);
        for span in &spans {
            // Records of one kind may overlap (two sources): all time counts once.
            let from = span.t0_ns().max(until);
            let parts: Vec<_> = left.within(from, span.t1_ns()).collect();
            if parts.is_empty() {
                continue;
            }
            let Some(key) = key_of(span) else { continue };
            until = until.max(span.t1_ns());
            taken.extend(&parts);
            found.add(key, parts, Some(*span));
        }
        *left = left.without(&Intervals::of(taken));
    }

    /// A lock, and who held it; of a condition, who ended the wait.
    fn lock(&self, thread: ThreadId, category: Category, span: &Span<'a>) -> Option<Key> {
        let category_of_span = record::category(span, &self.stacks);
        // A pool's thread that waits for a task holds nobody up.
        if category_of_span.is_idle() {
            return None;
        }
        let category = if category == Category::Blocked { category_of_span } else { category };
        if span.kind() == kind::LOCK_WAIT || (span.kind() == kind::LOCK_PARK && category != Category::Lock) {
            // The class of a condition says nothing of what is waited for.
            let is_own = |name: &str| TRANSPARENT.iter().any(|prefix| name.starts_with(prefix));
            let place = Some(span.name()).filter(|class| class.ends_with(CONDITION));
            let place = place.and_then(|_| self.java_method(self.stack_of(span), is_own));
            let on = |what: Fact| match (place, span.name()) {
                (Some(place), _) => what.with("place", Value::name(place)),
                (None, "") => what.with("class", Value::from(links::A_LOCK.fact())),
                (None, class) => what.with("class", Value::name(class)),
            };
            if category == Category::TimedWait {
                return Some((category, on(spent(category)).into(), Next::End(end_of(category))));
            }
            let what = match awaits_initialiser(self.recording, self.stack_of(span)) {
                true => links::FOR_INITIALISER.fact(),
                false => on(links::FOR_A_THREAD.fact()),
            };
            let waker = span.label(label::WAKER).and_then(|name| self.by_name(span.process(), name));
            let waker = waker.or_else(|| self.woken_by(thread, span)).filter(|other| *other != thread);
            let next = waker.map_or_else(|| self.interrupted(thread, span), Next::Thread);
            return Some((category, what.into(), next));
        }
        if let Some(lock) = self.held_lock_of(span) {
            return Some((category, self.for_held_lock(lock).into(), Next::Lock(lock)));
        }
        let owner = self.owner(span).filter(|owner| *owner != thread);
        let what = Fact { value: Value::named(span.name()), ..links::FOR_LOCK.fact() };
        let what = what.with("owner", span.label(label::OWNER).map(Value::name));
        Some((category, what.into(), owner.map_or(Next::End(EndKey::Unknown), Next::Thread)))
    }

    /// A call, with what it names.
    fn call(&self, thread: ThreadId, category: Category, span: &Span<'a>) -> Option<Key> {
        let with = record::target(span);
        let name = Value::name(span.name());
        let what: Statement = match (span.kind(), with) {
            (kind::NET_DNS, _) => links::RESOLVING.is(name),
            (kind::NET_CONNECT, Some(peer)) => links::CONNECTING.is(Value::name(peer)),
            (kind::NET_TLS, Some(peer)) => links::TLS.is(Value::name(peer)),
            (kind::MEMORY_MAP_LOCK, _) => links::FOR_MAP_LOCK.is(name),
            (kind::MEMORY_STALL, _) => links::FOR_MEMORY.is(name),
            (kind::PAGE_FAULT, path) => links::PAGE_FAULT.is(name).with("target", path.map(Value::name)),
            (_, Some(with)) => links::CALL.is(name).with("target", Value::name(with)),
            _ => return None,
        }
        .into();
        let answers = with.filter(|_| category == Category::Network);
        if let Some(other) = answers.and_then(|peer| self.answered_by(thread, peer, span)) {
            return Some((category, what, Next::Thread(other)));
        }
        // A call's stack is taken when it returns; what it hung in is in that of the switch.
        Some(self.storage(category, what, self.switched_out(thread, span).or(span.stack())))
    }

    /// The stack of a wait; where its own record has none, as of one that had begun before the
    /// recording, that at which its thread sleeps.
    pub(crate) fn stack_of(&self, span: &Span<'_>) -> Option<StackId> {
        span.stack().or_else(|| self.switched_out(span.thread()?, span))
    }

    /// The stack at which a thread was switched out for longest during a span.
    fn switched_out(&self, thread: ThreadId, span: &Span<'_>) -> Option<StackId> {
        let off = self.intervals.off(thread);
        let near = off.partition_point(|off| off.t1_ns() <= span.t0_ns());
        let within = off[near..].iter().take_while(|off| off.t0_ns() < span.t1_ns());
        within.max_by_key(|off| off.overlap_ns(span.t0_ns(), span.t1_ns()))?.stack()
    }

    /// A switch out that no other record explains.
    fn switched(&self, thread: ThreadId, category: Category, span: &Span<'a>) -> Key {
        let process = self.recording.threads[thread.index()].process;
        if let Some(lock) = self.held_lock_at(process, category, span.stack()) {
            return (category, self.for_held_lock(lock).into(), Next::Lock(lock));
        }
        let is_own = |name: &str| TRANSPARENT.iter().any(|prefix| name.starts_with(prefix));
        let role = self.recording.threads[thread.index()].role;
        let waker = || self.woken_by(thread, span).filter(|other| *other != thread);
        let is_the_jvms = matches!(role, Role::Gc | Role::Vm);
        let what = match category {
            Category::Idle if is_the_jvms && waker().is_some() => links::FOR_THE_JVM.fact(),
            Category::Idle if span.label(label::INTERRUPT) == Some(interrupt::TIMER) => {
                links::UNTIL_A_TIME.fact()
            }
            _ => spent(category),
        };
        let what = what.with("target", record::target(span).map(Value::name));
        let what = what.with("place", self.java_method(span.stack(), is_own).map(Value::name)).into();
        let next = match category {
            _ if category.is_stopped() => Next::Stop,
            Category::Disk | Category::PageFault => return self.storage(category, what, span.stack()),
            Category::RunQueue => return (category, spent(category).into(), Next::Cpu),
            // What the JVM's own threads wait for in a stop is what another of them does.
            Category::Idle if is_the_jvms => waker().map_or(Next::End(EndKey::Choice), Next::Thread),
            Category::NativeLock | Category::Waiting | Category::Monitor | Category::Lock => {
                waker().map_or_else(|| ended_by_interrupt(span), Next::Thread)
            }
            Category::Network => match record::target(span) {
                Some(peer) => {
                    self.answered_by(thread, peer, span).map_or(Next::End(end_of(category)), Next::Thread)
                }
                None => Next::End(end_of(category)),
            },
            Category::Child => match span.label(label::WAKER) {
                Some(other) => Next::EndedBy(other.to_owned()),
                None => Next::End(EndKey::Outside),
            },
            _ => Next::End(end_of(category)),
        };
        (category, what, next)
    }

    /// A wait in a call or a fault: for storage, unless its category or its stack says otherwise.
    fn storage(&self, category: Category, what: Statement, stack: Option<StackId>) -> Key {
        let next = match category {
            Category::Disk | Category::PageFault if self.has_frame(stack, &FROZEN) => Next::FrozenFiles,
            Category::Disk => Next::Disk,
            Category::PageFault if self.has_frame(stack, &STORAGE) => Next::Disk,
            _ => Next::End(end_of(category)),
        };
        (category, what, next)
    }

    fn has_frame(&self, stack: Option<StackId>, beginnings: &[&str]) -> bool {
        let frames = self.recording.frames_of(stack);
        let mut kernel = frames.filter(|frame| frame.frame_type() == FrameType::Kernel);
        kernel.any(|frame| beginnings.iter().any(|beginning| frame.name().starts_with(beginning)))
    }

    /// The innermost Java method of a stack, beyond those that `skip` picks.
    fn java_method(&self, stack: Option<StackId>, skip: impl Fn(&str) -> bool) -> Option<&'a str> {
        crate::waits::place::java_method(self.recording, stack, skip)
    }

    /// Who held the lock of a wait.
    pub(crate) fn owner(&self, wait: &Span<'_>) -> Option<ThreadId> {
        match wait.figure(figure::OWNER_TID) {
            Some(tid) => self.by_tid.get(&(tid as i64)).copied(),
            None => self.by_name_id(wait.process(), wait.label_id(label::OWNER)?),
        }
    }

    /// The thread of a process by its name, where only one has it.
    pub(super) fn by_name(&self, process: ProcessId, name: &str) -> Option<ThreadId> {
        self.by_name_id(process, self.recording.strings.find(name)?)
    }

    fn by_name_id(&self, process: ProcessId, name: StrId) -> Option<ThreadId> {
        let by_name = self.by_name.get_or_init(|| {
            let mut by_name = FxHashMap::default();
            for (i, thread) in self.recording.threads.iter().enumerate() {
                let only = by_name.entry((thread.process, thread.name));
                only.and_modify(|only| *only = None).or_insert(Some(ThreadId(i as u32)));
            }
            by_name
        });
        by_name.get(&(process, name)).copied().flatten()
    }

    /// What ended a wait of which no thread is known to have done so.
    fn interrupted(&self, thread: ThreadId, span: &Span<'_>) -> Next {
        self.last_switch(thread, span)
            .map_or(Next::End(EndKey::Unknown), |switch| ended_by_interrupt(&switch))
    }
}

/// What ended a wait for another thread where none did: a timeout does not show who was waited for
/// in vain.
fn ended_by_interrupt(switch: &Span<'_>) -> Next {
    match switch.label(label::INTERRUPT) {
        None | Some(interrupt::TIMER) => Next::End(EndKey::Unknown),
        Some(other) => Next::EndedBy(other.to_owned()),
    }
}

/// Time under a category.
pub(super) fn spent(category: Category) -> Fact {
    links::SPENT.is(Value::Category(category))
}

/// Why a chain ends at a category that names nothing to go on to.
fn end_of(category: Category) -> EndKey {
    match category {
        Category::Network | Category::Dns | Category::Child | Category::Throttled | Category::Frozen => {
            EndKey::Outside
        }
        Category::Sleep | Category::TimedWait | Category::Idle => EndKey::Choice,
        _ if category.is_running() => EndKey::Running,
        _ => EndKey::Unknown,
    }
}
