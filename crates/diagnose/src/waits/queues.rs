//! Whether a thread that takes something from a queue is without work, or in the middle of some.
//!
//! A worker that takes its next task and a request that takes a connection of a pool are in the
//! same method of the JDK. What distinguishes them is what others do, not a name:
//!
//! ```text
//! a queue of work      producer ──▶ queue ──▶ worker               who waits is woken by threads that never wait there
//! a pool of things     request ◀──▶ queue ◀──▶ request             who waits is woken by others that wait there: each gives back
//! within a task        worker rests in getTask, and elsewhere waits deeper in its stack than it rests
//! ```
//!
//! Where neither is seen (no switch names the waker), the wait is taken to be one for work; and so
//! it is where threads look into the queue every so often and find nothing ([`super::polls`]).
//!
//! A `Semaphore` is as ambiguous: permits that several threads want are a lock, and one that a
//! thread has for itself, for others to wake it by, is a signal. Of permits different threads wait
//! at one address; of signals each address has a thread of its own.

use fathom_recording::vocabulary::{interrupt, kind, label};
use fathom_recording::{FrameId, Recording, StackId, StrId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::place::is_of_jdk;
use super::polls::Polls;

/// Frames by which a wait must lie deeper than where the thread rests: two ways into one queue
/// differ by a method.
const DEEPER: usize = 2;

/// How a stack takes from a queue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// Not at all.
    No,
    /// Below a method that only a pool's thread without a task is in.
    AtRest,
    /// In a queue that anything may use.
    FromQueue,
    /// A permit, or a signal.
    Permit,
}

/// What the sites are at which threads wait, by the application's method.
#[derive(Default)]
pub(super) struct Sites {
    /// A queue that is taken from within a task.
    pub(super) within_tasks: FxHashSet<StrId>,
    /// A semaphore that is a signal for its thread, and whether the wait is one within a task.
    pub(super) signals: FxHashMap<StrId, bool>,
}

/// Whether a frame is a method of the application.
pub(super) fn is_application(recording: &Recording, frame: FrameId) -> bool {
    let Some(frame) = recording.frames.get(frame.index()) else { return false };
    let name = recording.strings.get(frame.name);
    frame.frame_type.is_java() && name.contains('.') && !is_of_jdk(name)
}

/// Where the application calls a queue: its method, and how many of its and the JDK's methods lie
/// between that and the thread's root.
#[derive(Clone, Copy)]
struct Site {
    method: StrId,
    depth: usize,
}

fn site(recording: &Recording, stack: StackId) -> Option<Site> {
    let mut found: Option<Site> = None;
    for frame in recording.frames_of(stack) {
        match &mut found {
            Some(site) if frame.is_java() => site.depth += 1,
            None if is_application(recording, frame.id()) => {
                found = Some(Site { method: frame.name_id(), depth: 1 });
            }
            _ => {}
        }
    }
    found
}

/// What was seen of a site.
#[derive(Default)]
struct Waiters {
    threads: FxHashSet<ThreadId>,
    /// Who ended the waits, by the kernel's id.
    wakers: Vec<i64>,
    /// Waits, and those of them that lie deeper than where their thread rests.
    waits: usize,
    deeper: usize,
    /// Who waited last at an address.
    last: FxHashMap<StrId, ThreadId>,
    /// Waits at an address at which the thread itself had waited last, and those at which another
    /// one had.
    alone: usize,
    shared: usize,
    /// Those whose time ran out.
    polls: Polls,
}

/// Share of the waits that threads which wait there themselves must end for what is taken to be
/// given back. In a queue of work they end some, too: who has taken something lets the next one in,
/// where several things came at once (half to two thirds, measured on `ArrayBlockingQueue`, against
/// 94% and more of pools).
const GIVEN_BACK: f64 = 0.8;
/// Waits of threads at an address of their own that show a semaphore to be a signal.
const SIGNALS: usize = 4;
/// Of the waits at an address that was waited at before, one in so many may be of another thread:
/// collections move objects to where others were.
const MOVED: usize = 20;

impl Waiters {
    /// Whether nearly all waits are ended by threads that wait there themselves: each gives back
    /// what others take.
    fn is_given_back(&self, recording: &Recording) -> bool {
        let tids: FxHashSet<i64> =
            self.threads.iter().filter_map(|id| recording.threads.get(id.index())?.tid).collect();
        let given_back = self.wakers.iter().filter(|tid| tids.contains(tid)).count();
        given_back > 0 && given_back as f64 >= GIVEN_BACK * self.wakers.len() as f64
    }

    /// Whether it is for a thing that a task needs, and not for the next task.
    fn is_within_tasks(&self, recording: &Recording) -> bool {
        self.is_deeper() || (self.is_given_back(recording) && !self.polls.are_usual())
    }

    fn is_deeper(&self) -> bool {
        2 * self.deeper > self.waits
    }

    fn is_signal(&self) -> bool {
        self.threads.len() >= 2 && self.alone >= SIGNALS && self.shared * MOVED <= self.alone
    }
}

/// A wait at a site.
struct Wait {
    thread: ThreadId,
    site: Site,
    is_permit: bool,
    waker: Option<i64>,
    address: Option<StrId>,
    /// From when to when it was off the CPU, and whether its time ran out; `None` of records of
    /// parking, which tell of the same waits.
    off: Option<((i64, i64), bool)>,
}

/// The sites of a recording that are not what the method of the JDK alone says.
pub(super) fn sites(recording: &Recording, takes: &[Takes]) -> Sites {
    if !takes.iter().any(|takes| matches!(takes, Takes::FromQueue | Takes::Permit)) {
        return Sites::default();
    }
    let mut known: FxHashMap<StackId, Option<Site>> = FxHashMap::default();
    let mut rests: FxHashMap<ThreadId, FxHashMap<Option<StrId>, usize>> = FxHashMap::default();
    let mut waits: Vec<Wait> = Vec::new();
    for span in [kind::SCHED_OFF, kind::LOCK_PARK].into_iter().flat_map(|kind| recording.spans_of(kind)) {
        let (Some(thread), Some(stack)) = (span.thread(), span.stack()) else { continue };
        let (place, depth) = match takes.get(stack.index()) {
            Some(Takes::AtRest) => (None, 0),
            Some(taken @ (Takes::FromQueue | Takes::Permit)) => {
                let site = *known.entry(stack).or_insert_with(|| site(recording, stack));
                let Some(site) = site else { continue };
                let waker = span.label(label::WAKER).and_then(id_of);
                let address = span.label_id(label::ADDRESS);
                let off = (span.kind() == kind::SCHED_OFF).then(|| {
                    let timed_out = span.label(label::INTERRUPT) == Some(interrupt::TIMER);
                    ((span.t0_ns(), span.t1_ns()), timed_out)
                });
                let is_permit = *taken == Takes::Permit;
                waits.push(Wait { thread, site, is_permit, waker, address, off });
                (Some(site.method), site.depth)
            }
            _ => continue,
        };
        let rest = rests.entry(thread).or_default().entry(place).or_insert(depth);
        *rest = depth.min(*rest);
    }
    let mut seen: FxHashMap<(StrId, bool), Waiters> = FxHashMap::default();
    for wait in waits {
        let at = seen.entry((wait.site.method, wait.is_permit)).or_default();
        at.threads.insert(wait.thread);
        at.wakers.extend(wait.waker);
        at.waits += 1;
        if let Some((times, timed_out)) = wait.off {
            at.polls.add(wait.thread, times, timed_out);
        }
        // Of a stack that was not walked to its end, the same place looks less deep.
        let is_above = |(place, depth): (&Option<StrId>, &usize)| {
            *place != Some(wait.site.method) && depth + DEEPER <= wait.site.depth
        };
        at.deeper += usize::from(rests.get(&wait.thread).is_some_and(|rests| rests.iter().any(is_above)));
        match wait.address.and_then(|address| at.last.insert(address, wait.thread)) {
            Some(before) if before == wait.thread => at.alone += 1,
            Some(_) => at.shared += 1,
            None => {}
        }
    }
    let mut sites = Sites::default();
    for ((method, is_permit), waiters) in seen {
        if is_permit && waiters.is_signal() {
            sites.signals.insert(method, waiters.is_deeper());
        } else if !is_permit && waiters.is_within_tasks(recording) {
            sites.within_tasks.insert(method);
        }
    }
    sites
}

/// The method in which a stack takes from a queue on behalf of the application.
pub(super) fn method(recording: &Recording, stack: StackId) -> Option<StrId> {
    Some(site(recording, stack)?.method)
}

/// The id in "name (id)", as switches name who woke a thread.
pub(crate) fn id_of(text: &str) -> Option<i64> {
    text.strip_suffix(')')?.rsplit_once('(')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::{C2, Kernel};
    use fathom_recording::{Process, Role, Sink, Source, SpanRow};

    use super::super::Category;
    use super::super::stack::ByStack;
    use super::*;

    const TAKE: &[&str] = &["java.util.concurrent.ArrayBlockingQueue.take"];
    const REST: &[&str] =
        &["java.util.concurrent.ThreadPoolExecutor.getTask", "java.util.concurrent.LinkedBlockingQueue.take"];

    /// Waits of threads 1 to 4 below `frames`: the thread, and who woke it. The category of the
    /// first wait's stack.
    fn category(waits: &[(i64, &[&str], &str)]) -> Category {
        let waits =
            waits.iter().map(|(tid, frames, waker)| (*tid, *frames, (label::WAKER, (*waker).to_owned())));
        category_of(kind::SCHED_OFF, &waits.collect::<Vec<_>>())
    }

    /// The same of parks: the thread, and the address that it parks at.
    fn parked(waits: &[(i64, &[&str], i64)]) -> Category {
        let waits =
            waits.iter().map(|(tid, frames, at)| (*tid, *frames, (label::ADDRESS, format!("{at:#x}"))));
        category_of(kind::LOCK_PARK, &waits.collect::<Vec<_>>())
    }

    fn category_of(kind: &str, waits: &[(i64, &[&str], (&str, String))]) -> Category {
        let mut recording = Recording::new();
        let process = recording.add_process(Process { name: "App".into(), jvm: true, ..Process::default() });
        let source = recording.add_source(Source::default());
        let mut first = None;
        for (at, (tid, frames, label)) in waits.iter().enumerate() {
            let thread = recording.thread(process, Some(*tid), &format!("t{tid}"), Role::App);
            let mut stack = None;
            for (name, by) in frames.iter().map(|name| (*name, C2)).chain([("futex_wait", Kernel)]) {
                let frame = recording.frame(name, "", by, -1);
                stack = Some(recording.stack(stack, frame));
            }
            first = first.or(stack);
            recording.span(&SpanRow {
                thread: Some(thread),
                stack,
                labels: &[(label.0, label.1.as_str())],
                ..SpanRow::new(kind, "sleeping", (at as i64 * 10, at as i64 * 10 + 10), process, source)
            });
        }
        recording.seal();
        ByStack::of(&recording).category(first)
    }

    fn below<'s>(methods: &[&'s str], rest: &[&'s str]) -> Vec<&'s str> {
        methods.iter().chain(rest).copied().collect()
    }

    #[test]
    fn a_request_that_takes_what_other_requests_give_back_waits_for_them_and_a_worker_is_idle() {
        let borrow = below(&["shop.Server.serve", "shop.Pool.borrow"], TAKE);
        assert_eq!(category(&[(1, &borrow, "t2 (2)"), (2, &borrow, "t1 (1)")]), Category::Waiting);
        let work = below(&["shop.Mailer.loop"], TAKE);
        assert_eq!(category(&[(1, &work, "acceptor (9)"), (2, &work, "acceptor (9)")]), Category::Idle);
        assert_eq!(category(&[(1, &work, ""), (2, &work, "")]), Category::Idle, "nobody knows who woke it");
        // Workers that let the next one in after a burst.
        let let_in = [(2, &work[..], "t1 (1)"), (3, &work, "t2 (2)"), (4, &work, "t3 (3)")];
        let brought = [(1, &work[..], "acceptor (9)"), (1, &work, "acceptor (9)")];
        assert_eq!(category(&[&brought[..], &let_in].concat()), Category::Idle);
    }

    #[test]
    fn permits_are_a_lock_and_a_semaphore_of_each_threads_own_is_a_signal() {
        let acquire = "java.util.concurrent.Semaphore.acquire";
        let rest =
            ["java.lang.Thread.run", "org.web.io.Pool$Runner.run", "org.web.io.Reserved.await", acquire];
        let (one, other) = ((1, &rest[..], 0x100), (2, &rest[..], 0x200));
        assert_eq!(parked(&[one, other, one, other, one, other]), Category::Idle);
        let within = ["shop.Server.serve", "shop.Order.handle", "shop.Rpc.call", acquire];
        let own = |tid: i64| (tid, &within[..], tid);
        let at_rest = |tid: i64| (tid, REST, 9);
        assert_eq!(
            parked(&[own(1), at_rest(1), own(2), at_rest(2), own(1), own(2), own(1), own(2)]),
            Category::Waiting
        );
        let permits = |tid: i64| (tid, &within[..], 0x100);
        assert_eq!(
            parked(&[permits(1), permits(2), permits(1), permits(3), permits(2), permits(1)]),
            Category::Lock
        );
        assert_eq!(parked(&[own(1), own(2), own(1), own(2)]), Category::Lock, "too few to decide");
    }

    #[test]
    fn a_task_that_waits_for_an_answer_is_not_without_work() {
        let run = ["java.util.concurrent.ThreadPoolExecutor.runWorker"];
        let rest = below(&run, REST);
        let answer = below(&[run[0], "shop.Order.handle", "shop.Rpc.call"], TAKE);
        assert_eq!(category(&[(1, &answer, "io (9)"), (1, &rest, "io (9)")]), Category::Waiting);
        assert_eq!(category(&[(1, &rest, "io (9)"), (1, &answer, "io (9)")]), Category::Idle);
    }

    #[test]
    fn a_stack_that_was_not_walked_to_its_end_is_no_other_place() {
        let poll = below(&["java.lang.Thread.run", "shop.Server.run", "shop.Handler.next"], TAKE);
        let cut = below(&["shop.Handler.next"], TAKE);
        assert_eq!(
            category(&[(1, &poll, "io (9)"), (1, &cut, "io (9)"), (1, &poll, "io (9)")]),
            Category::Idle
        );
    }

    #[test]
    fn a_back_off_of_the_application_is_sleep_and_a_timed_wait_of_the_jdk_is_not() {
        let nanos = "java.util.concurrent.locks.LockSupport.parkNanos";
        assert_eq!(category(&[(1, &["shop.Retry.pause", nanos], "")]), Category::Sleep);
        let future = ["shop.Order.handle", "java.util.concurrent.FutureTask.awaitDone", nanos];
        assert_eq!(category(&[(1, &future, "")]), Category::Waiting);
    }
}
