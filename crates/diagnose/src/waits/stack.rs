//! A wait classified by the stack of the thread that waits.
//!
//! One list of functions ([`super::functions`]), the most specific first: the earliest line that
//! any frame of the stack matches decides. A thread in `ThreadPoolExecutor.getTask` is idle
//! although it is parked, a thread in a page fault under `write()` waits for the fault. What is not
//! in the list is [`Category::Blocked`] and shown as such.

use fathom_recording::vocabulary::frame::RECORDER_MODULE;
use fathom_recording::vocabulary::{interrupt, label};
use fathom_recording::{FrameType, ProcessId, Recording, Role, Span, StackId, StrId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::functions::Layer::{self, Java, Kernel, Native};
use super::functions::{PERMIT, WAIT_FUNCTIONS};
use super::place::is_of_jdk;
use super::queues::{self, Takes};
use super::synchronizer::Caller;
use super::whose::{Whose, library};
use super::{Category, acceptors, main_thread, native_rest, streams};

/// What a class of a queue is called, and its methods that wait for an element, also in libraries
/// that have queues of their own.
const QUEUES: [&str; 2] = ["Queue", "Deque"];
const TAKES: [&str; 3] = ["take", "poll", "dequeue"];

/// Categories of a recording's stacks, each looked at once. Parents stand before children, so that
/// one pass does it.
pub(crate) struct ByStack {
    shown: Vec<Shown>,
    /// The line of [`WAIT_FUNCTIONS`] of queues.
    queue: Option<u8>,
    /// Processes of threads, by the kernel's ids.
    processes: FxHashMap<i64, ProcessId>,
    /// Threads whose only wait is one for the end of the service.
    keep_alive: Vec<ThreadId>,
    /// Peers that send of their own accord.
    streams: FxHashSet<(ProcessId, StrId)>,
    /// Threads that take new connections, in order.
    acceptors: Vec<ThreadId>,
}

/// What a stack shows: its frames, and those of its callers.
#[derive(Clone, Copy)]
struct Shown {
    category: Category,
    /// The earliest line of [`WAIT_FUNCTIONS`] that a frame matches.
    line: u8,
    whose: Whose,
    native: native_rest::Native,
    is_kernel_only: bool,
    /// Whether a method of the application is on it.
    is_of_application: bool,
    /// Whether it waits with a time limit.
    is_limited: bool,
    /// Whether it is in a BPF program of the recorder.
    is_in_recorder: bool,
    /// Whether its innermost frame is of anything but the JDK, …
    ends_outside_jdk: bool,
    /// … and is a method that waits for work itself.
    rests: bool,
    caller: Caller,
}

const NOTHING: u8 = u8::MAX;

/// Functions of the C library that wait with a time limit: those of every timed wait of
/// a JVM on Linux (os_posix.cpp).
const LIMITED: [&str; 3] =
    ["pthread_cond_timedwait*", "__pthread_cond_timedwait*", "pthread_cond_clockwait*"];
/// The methods by which Java code stays away for a time of its choice, unless a lock or queue of
/// the JDK calls them.
const AWAY: [&str; 2] =
    ["java.util.concurrent.locks.LockSupport.parkNanos", "java.util.concurrent.locks.LockSupport.parkUntil"];

/// A method that waits for work itself, and runs the work as well: a wait that it calls is without
/// work, one deeper in a task is not.
const RESTS: &str = "java.util.TimerThread.mainLoop";

/// What a thread waited for whose waits for another thread were not recorded one by one
/// ([`ByStack::of_unlisted`]).
#[derive(Clone, Copy)]
pub(crate) struct Unlisted {
    are_timed: bool,
}

impl Unlisted {
    /// The category of such a wait, of which stack or record say this.
    pub(crate) fn category(self, known: Category) -> Category {
        if known == Category::Waiting && self.are_timed { Category::TimedWait } else { known }
    }
}

/// What a frame says of the stacks that it is in.
#[derive(Clone, Copy, Default)]
struct Frame {
    place: u8,
    is_kernel: bool,
    is_application: bool,
    is_limited: bool,
    is_away: bool,
    is_wait: bool,
    rests: bool,
    is_of_jdk: bool,
    takes: bool,
    /// The number of its library, of a Java method that is not the JDK's.
    library: Option<u32>,
    is_recorder: bool,
    native: native_rest::Frame,
    caller: Caller,
}

impl ByStack {
    /// All that the stacks show, with what the queues that threads wait at are for.
    pub(crate) fn of(recording: &Recording) -> Self {
        let mut by_stack = Self::by_frames(recording);
        taken_within_tasks(recording, &mut by_stack);
        by_stack
    }

    /// What the frames show alone, for callers who do not ask about queues: of the record of a wait
    /// only its stack is read.
    pub(crate) fn by_frames(recording: &Recording) -> Self {
        let mut libraries = FxHashMap::default();
        let frames: Vec<Frame> =
            (0..recording.frames.len()).map(|i| frame(recording, i, &mut libraries)).collect();
        let (sleep, idle) = (place_of(Category::Sleep), place_of(Category::Idle));
        let nothing = Frame { place: NOTHING, is_of_jdk: true, ..Frame::default() };
        let mut shown: Vec<Shown> = Vec::with_capacity(recording.stacks.len());
        for node in &recording.stacks {
            let caller = node.parent.and_then(|parent| shown.get(parent.index()));
            let is_root = node.parent.is_none();
            let own = frames.get(node.frame.index()).unwrap_or(&nothing);
            shown.push(Shown::with(caller, is_root, own, (sleep, idle)));
        }
        let known = |thread: &fathom_recording::Thread| Some((thread.tid?, thread.process));
        let processes = recording.threads.iter().filter_map(known).collect();
        let keep_alive = main_thread::that_keep_alive(recording);
        let streams = streams::of(recording);
        let acceptors = acceptors::of(recording);
        Self { shown, queue: place_from_queue(), processes, keep_alive, streams, acceptors }
    }

    fn shown(&self, stack: Option<StackId>) -> Option<&Shown> {
        self.shown.get(stack?.index())
    }

    /// Whether a thread whose stack this is runs a BPF program of the recorder.
    pub(crate) fn is_in_recorder(&self, stack: Option<StackId>) -> bool {
        self.shown(stack).is_some_and(|shown| shown.is_in_recorder)
    }

    /// What a thread waits for whose stack this is.
    pub(crate) fn category(&self, stack: Option<StackId>) -> Category {
        self.shown(stack).map_or(Category::Blocked, |shown| shown.category)
    }

    /// Whether a stack takes from a queue of the JDK, be it for work or for something that the work
    /// needs.
    pub(crate) fn takes_from_queue(&self, stack: Option<StackId>) -> bool {
        self.shown(stack).is_some_and(|shown| Some(shown.line) == self.queue)
    }

    /// Whether a call waits for what a peer sends of its own accord.
    pub(crate) fn is_of_stream(&self, span: &Span<'_>) -> bool {
        let peer = span.label_id(label::PEER).filter(|_| !self.streams.is_empty());
        peer.is_some_and(|peer| self.streams.contains(&(span.process(), peer)))
    }

    /// Whether a call is one of a thread that takes new connections.
    pub(crate) fn takes_connections(&self, span: &Span<'_>) -> bool {
        span.thread().is_some_and(|thread| self.acceptors.binary_search(&thread).is_ok())
    }

    /// Whether any stack waits for it.
    pub(crate) fn has(&self, one: Category) -> bool {
        self.shown.iter().any(|shown| shown.category == one)
    }

    /// The same of a thread of some role: the JVM's own threads that wait on a lock or for nothing
    /// known wait for work, unless they run the application's code (a finalizer).
    pub(crate) fn of_role(&self, stack: Option<StackId>, role: Role) -> Category {
        let category = self.category(stack);
        let waits = matches!(
            category,
            Category::Blocked | Category::NativeLock | Category::Waiting | Category::TimedWait
        );
        let is_own = matches!(role, Role::Gc | Role::Jit | Role::Vm);
        let for_application = self.shown(stack).is_some_and(|shown| shown.is_of_application);
        if waits && is_own && !for_application { Category::Idle } else { category }
    }

    /// What a thread waited for that was off the CPU: one that waits with a time limit,
    /// and that no thread of its process woke, waited until then. Where an interrupt woke it, that
    /// decides what the stack leaves open.
    pub(crate) fn of_switch(&self, span: &Span<'_>, role: Role) -> Category {
        let category = self.of_role(span.stack(), role);
        let keeps_alive = || span.thread().is_some_and(|thread| self.keep_alive.contains(&thread));
        if category == Category::Waiting && keeps_alive() {
            return Category::Idle;
        }
        match (category, span.label(label::INTERRUPT)) {
            (Category::Waiting | Category::Blocked, Some(interrupt::TIMER)) => return Category::TimedWait,
            (Category::Blocked, Some(interrupt::DISK)) => return Category::Disk,
            (Category::Blocked, Some(interrupt::NETWORK)) => return Category::Network,
            _ => {}
        }
        let is_limited = || self.shown(span.stack()).is_some_and(|shown| shown.is_limited);
        if category != Category::Waiting || span.label(label::CUT).is_some() || !is_limited() {
            return category;
        }
        let waker = span.label(label::WAKER).and_then(queues::id_of);
        let is_of_process = waker.and_then(|tid| self.processes.get(&tid)) == Some(&span.process());
        if is_of_process { category } else { Category::TimedWait }
    }

    /// How the waits for another thread of one thread end of which nobody recorded the end: those
    /// that are counted in sums, and those known by a record of their lock alone. They end as most
    /// of those did that were recorded one by one.
    pub(crate) fn of_unlisted(&self, off: &[Span<'_>], role: Role) -> Unlisted {
        let waits = off.iter().filter(|span| self.of_role(span.stack(), role) == Category::Waiting);
        let ends = waits.map(|span| self.of_switch(span, role) == Category::TimedWait);
        let (all, timed) = ends.fold((0, 0), |(all, timed), is| (all + 1, timed + usize::from(is)));
        Unlisted { are_timed: 2 * timed > all }
    }
}

fn frame<'a>(recording: &'a Recording, index: usize, libraries: &mut FxHashMap<&'a str, u32>) -> Frame {
    let frame = &recording.frames[index];
    let name = recording.strings.get(frame.name);
    let plain = name.split('(').next().unwrap_or(name);
    let is_java = layer(frame.frame_type) == Some(Java);
    Frame {
        place: place(layer(frame.frame_type), name),
        is_kernel: frame.frame_type == FrameType::Kernel,
        is_application: queues::is_application(recording, fathom_recording::FrameId(index as u32)),
        is_limited: LIMITED.iter().any(|pattern| fits(pattern, plain)),
        is_away: is_java && AWAY.contains(&plain),
        // Compiled native methods are stubs.
        is_wait: frame.frame_type != FrameType::Kernel && fits("java.lang.Object.wait*", plain),
        rests: is_java && plain == RESTS,
        is_of_jdk: is_of_jdk(plain),
        takes: is_java && takes_from_queue(plain),
        library: (is_java && plain.contains('.') && !is_of_jdk(plain)).then(|| {
            let next = libraries.len() as u32;
            match library(plain) {
                // What has no package is of nobody, and two of that are of two.
                "" => u32::MAX - index as u32,
                library => *libraries.entry(library).or_insert(next),
            }
        }),
        is_recorder: frame.frame_type == FrameType::Kernel
            && recording.strings.get(frame.module) == RECORDER_MODULE,
        native: native_rest::Frame::of(frame.frame_type, name),
        caller: Caller::of(is_java, plain),
    }
}

impl Shown {
    /// What a frame shows that these callers made.
    fn with(caller: Option<&Self>, is_root: bool, own: &Frame, (sleep, idle): (u8, u8)) -> Self {
        let is = |pick: fn(&Self) -> bool| caller.is_some_and(pick);
        let whose = caller.map_or(Whose::Jdk, |caller| caller.whose).with(own.library);
        let innermost = own.caller.below(caller.map(|caller| caller.caller));
        let place = match own {
            own if own.caller != innermost => NOTHING,
            // A library's thread that has nothing of the application on its stack takes its next
            // task.
            own if own.takes && matches!(whose, Whose::Library(_)) => own.place.min(idle),
            own if own.is_away && is(|caller| caller.ends_outside_jdk) => own.place.min(sleep),
            own if own.is_wait && is(|caller| caller.rests) => own.place.min(idle),
            own => own.place,
        };
        let line = caller.map_or(NOTHING, |caller| caller.line).min(place);
        let is_kernel_only = own.is_kernel && (is_root || is(|caller| caller.is_kernel_only));
        let native = native_rest::Native::with(caller.map(|caller| &caller.native), own.native);
        Self {
            category: native.category(category_at(line, is_kernel_only)),
            line,
            whose,
            native,
            is_kernel_only,
            is_of_application: own.is_application || is(|caller| caller.is_of_application),
            is_limited: own.is_limited || is(|caller| caller.is_limited),
            // What a program of the recorder calls in the kernel belongs to it.
            is_in_recorder: own.is_recorder || (own.is_kernel && is(|caller| caller.is_in_recorder)),
            ends_outside_jdk: !own.is_of_jdk,
            rests: own.rests,
            caller: innermost,
        }
    }
}

/// The place of the first line of a category.
fn place_of(category: Category) -> u8 {
    WAIT_FUNCTIONS.iter().position(|line| line.2 == category).map_or(NOTHING, |line| line as u8)
}

fn category_at(place: u8, kernel_only: bool) -> Category {
    match WAIT_FUNCTIONS.get(usize::from(place)).map_or(Category::Blocked, |line| line.2) {
        // Monitors, parking, joining: all sleep on a futex, and only the caller shows which.
        Category::NativeLock if kernel_only => Category::Blocked,
        category => category,
    }
}

/// Stacks that take from a queue what their thread needs for its work wait for another thread.
fn taken_within_tasks(recording: &Recording, by_stack: &mut ByStack) {
    let Some(from_queue) = by_stack.queue else { return };
    let at_rest = place_of(Category::Idle);
    let permit = WAIT_FUNCTIONS.iter().position(|line| line.1 == [PERMIT]).map_or(NOTHING, |line| line as u8);
    let takes: Vec<Takes> = (by_stack.shown.iter())
        .map(|shown| match shown.line {
            place if place == at_rest => Takes::AtRest,
            place if place == from_queue => Takes::FromQueue,
            place if place == permit => Takes::Permit,
            _ => Takes::No,
        })
        .collect();
    let sites = queues::sites(recording, &takes);
    if sites.within_tasks.is_empty() && sites.signals.is_empty() {
        return;
    }
    for (i, shown) in by_stack.shown.iter_mut().enumerate().filter(|(i, _)| takes[*i] != Takes::No) {
        let Some(method) = queues::method(recording, StackId(i as u32)) else { continue };
        match takes[i] {
            Takes::FromQueue if sites.within_tasks.contains(&method) => shown.category = Category::Waiting,
            Takes::Permit => match sites.signals.get(&method) {
                // As at its queue: a library's thread with nothing of the application on its stack
                // waits for its next task.
                Some(true) if !matches!(shown.whose, Whose::Library(_)) => shown.category = Category::Waiting,
                Some(_) => shown.category = Category::Idle,
                None => {}
            },
            _ => {}
        }
    }
}

fn layer(frame_type: FrameType) -> Option<Layer> {
    match frame_type {
        FrameType::Interpreted | FrameType::C1 | FrameType::C2 | FrameType::Inlined => Some(Java),
        FrameType::Native | FrameType::Jvm | FrameType::Stub => Some(Native),
        FrameType::Kernel => Some(Kernel),
        FrameType::Unknown => None,
    }
}

fn place(layer: Option<Layer>, name: &str) -> u8 {
    // The compiled wrapper of a native method is a stub with the method's name; no C++ name looks
    // like one of Java.
    let is_of = |of: Layer| Some(of) == layer || (of == Java && layer == Some(Native));
    // Signatures are not part of a name here; some profilers write them.
    let name = name.split('(').next().unwrap_or(name);
    let matches = |pattern: &&str| fits(pattern, name);
    let line = WAIT_FUNCTIONS.iter().position(|(of, names, _)| is_of(*of) && names.iter().any(matches));
    line.map_or(NOTHING, |line| line as u8)
}

/// Whether a method is one that takes from a queue of a library's own, by what its class and it are
/// called: "org.eclipse.jetty.util.BlockingArrayQueue.poll".
fn takes_from_queue(name: &str) -> bool {
    let Some((class, method)) = name.rsplit_once('.') else { return false };
    let class = class.rsplit('.').next().unwrap_or(class);
    let is_queue = QUEUES.iter().any(|suffix| class.ends_with(suffix));
    is_queue && !is_of_jdk(name) && TAKES.iter().any(|beginning| method.starts_with(beginning))
}

/// The place of the line of queues: the second one without work.
fn place_from_queue() -> Option<u8> {
    let mut idle = (0..WAIT_FUNCTIONS.len()).filter(|line| WAIT_FUNCTIONS[*line].2 == Category::Idle);
    idle.nth(1).map(|line| line as u8)
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => glob(beginning, name),
        None => pattern == name,
    }
}

/// Whether `name` begins so; a further `*` within stands for anything.
fn glob(beginning: &str, name: &str) -> bool {
    match beginning.split_once('*') {
        None => name.starts_with(beginning),
        Some((head, tail)) => name.strip_prefix(head).is_some_and(|rest| rest.contains(tail)),
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::Sink;

    use super::*;

    fn category(frames: &[(FrameType, &str)]) -> Category {
        let mut recording = Recording::new();
        let mut at = None;
        for (frame_type, name) in frames {
            let frame = recording.frame(name, "", *frame_type, -1);
            at = Some(recording.stack(at, frame));
        }
        ByStack::of(&recording).category(at)
    }

    #[test]
    fn a_pool_without_a_task_is_idle_and_a_task_that_waits_for_a_lock_is_not() {
        use FrameType::{C2, Kernel, Native};
        let run = (C2, "java.util.concurrent.ThreadPoolExecutor.runWorker");
        let park = (C2, "java.util.concurrent.locks.LockSupport.park");
        let futex = (Kernel, "futex_wait_queue");
        let take = (C2, "java.util.concurrent.ThreadPoolExecutor.getTask");
        assert_eq!(category(&[run, take, park, futex]), Category::Idle);
        let acquire = (C2, "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire");
        assert_eq!(category(&[run, (C2, "shop.Orders.add"), acquire, park, futex]), Category::Lock);
        assert_eq!(category(&[run, (C2, "shop.Orders.add"), park, futex]), Category::Waiting);
        // A lock, a latch or a permit.
        let unknown = (FrameType::Interpreted, "[unknown Java method]");
        assert_eq!(category(&[run, unknown, acquire, acquire, park, futex]), Category::Waiting);
        assert_eq!(category(&[run, (Native, "pthread_mutex_lock"), futex]), Category::NativeLock);
        // Pools of libraries that park by themselves.
        for rest in [
            "org.jboss.threads.EnhancedQueueExecutor$PoolThreadNode.park",
            "okhttp3.internal.concurrent.TaskRunner$RealBackend.coordinatorWait",
        ] {
            assert_eq!(
                category(&[(C2, "web.Worker.run"), (C2, rest), park, futex]),
                Category::Idle,
                "{rest}"
            );
        }
    }

    #[test]
    fn a_timer_without_a_task_that_is_due_is_idle_and_its_tasks_are_not() {
        use FrameType::{C2, Kernel};
        let (run, main) = ((C2, "java.util.TimerThread.run"), (C2, "java.util.TimerThread.mainLoop"));
        let (wait, futex) = ((C2, "java.lang.Object.wait"), (Kernel, "futex_wait_queue"));
        assert_eq!(category(&[run, main, wait, (C2, "java.lang.Object.wait0"), futex]), Category::Idle);
        let stub = (FrameType::Stub, "java.lang.Object.wait");
        assert_eq!(
            category(&[run, main, stub, (FrameType::Jvm, "ObjectMonitor::wait"), futex]),
            Category::Idle
        );
        assert_eq!(category(&[run, main, (C2, "shop.Report.run"), wait, futex]), Category::Waiting);
    }

    #[test]
    fn a_librarys_thread_at_its_own_queue_is_idle_and_an_application_at_it_is_not() {
        use FrameType::{C2, Kernel};
        let run = (C2, "org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.run");
        let poll = (C2, "org.eclipse.jetty.util.BlockingArrayQueue.poll");
        let (park, futex) = ((C2, "java.util.concurrent.locks.LockSupport.park"), (Kernel, "futex_wait"));
        assert_eq!(category(&[(C2, "java.lang.Thread.run"), run, poll, park, futex]), Category::Idle);
        assert_eq!(category(&[run, (C2, "shop.Orders.next"), poll, park, futex]), Category::Waiting);
        assert_eq!(category(&[(C2, "Shop.run"), (C2, "ThingQueue.take"), park, futex]), Category::Waiting);
        assert_eq!(library("org.eclipse.jetty.util.thread.Pool.run"), "org.eclipse.jetty");
        assert_eq!(library("shop.stock.Queue.take"), "shop.stock");
        assert_eq!(library("shop.Queue.take"), "");
    }

    /// All go through `vfs_write`.
    #[test]
    fn a_write_waits_for_what_its_file_is() {
        use FrameType::{C2, Kernel};
        let (channel, write) = ((C2, "sun.nio.ch.IOUtil.write"), (Kernel, "vfs_write"));
        let of = |rest: &[(FrameType, &str)]| category(&[&[channel, write], rest].concat());
        let to_peer = [(Kernel, "sock_write_iter"), (Kernel, "tcp_sendmsg"), (Kernel, "wait_woken")];
        assert_eq!(of(&to_peer), Category::Network);
        assert_eq!(of(&[(Kernel, "anon_pipe_write"), (Kernel, "schedule")]), Category::Child);
        assert_eq!(of(&[(Kernel, "new_sync_write"), (Kernel, "schedule")]), Category::Disk);
    }

    #[test]
    fn the_kernels_side_distinguishes_a_blocked_write_from_a_fault_within_it() {
        use FrameType::{Jvm, Kernel};
        let log = (Jvm, "LogFileStreamOutput::write");
        let write = (Kernel, "vfs_write");
        assert_eq!(category(&[log, write, (Kernel, "balance_dirty_pages")]), Category::Disk);
        assert_eq!(
            category(&[log, (Kernel, "asm_exc_page_fault"), (Kernel, "ext4_page_mkwrite")]),
            Category::PageFault
        );
        assert_eq!(
            category(&[(Jvm, "SafepointSynchronize::block"), (Kernel, "futex_wait")]),
            Category::Stopped
        );
        let asked = [(Jvm, "VMThread::execute"), (Jvm, "Monitor::wait"), (Kernel, "futex_wait")];
        assert_eq!(category(&asked), Category::Stopped);
        assert_eq!(category(&[(Kernel, "schedule")]), Category::Blocked);
        assert_eq!(category(&[(Kernel, "__x64_sys_futex"), (Kernel, "futex_wait")]), Category::Blocked);
        assert_eq!(category(&[]), Category::Blocked);
    }

    #[test]
    fn a_java_method_that_is_named_like_the_kernels_is_not_the_kernels() {
        assert_eq!(category(&[(FrameType::C2, "tcp_recvmsg")]), Category::Blocked);
        assert_eq!(category(&[(FrameType::C2, "java.net.ServerSocket.accept")]), Category::Idle);
    }
}
