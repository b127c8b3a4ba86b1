//! Starts of threads, put together from what two collectors see: `sched` the parent in `clone`, the
//! child's first time on a CPU and the parent that it wakes (`bpf/starts.h`), `jvm-events` the call
//! of `Thread.start` and the child as it gets to Java.
//!
//! ```text
//!   parent  Thread.start ─ clone() ──────── returns ─ asleep, until the child is up ──────── returns from Thread.start
//!                             └ child: born ─ waits for a CPU ─ ran ─ wakes its parent ─ waits to be let go ─ Java
//! ```
//!
//! Parts come in any order, and some never do: a thread of the JVM's own is not called for, one in
//! native code never gets to Java. What there is is reported after a while.

use std::collections::{HashMap, VecDeque};

use fathom_recording::StackId;

/// Starts, threads that got to Java and callers that are remembered; of more, the parts that came
/// are not joined.
const MOST: usize = 16_384;
/// Calls of a thread that wait to be asked for; those of it whose child's birth was not seen are
/// never.
const MOST_CALLS: usize = 256;
/// How long a thread that has run may take to Java: one that never gets there is reported then.
const TO_JAVA_NS: u64 = 10_000_000_000;
/// How long one may wait for a CPU at first: behind that, it was lost.
const TO_RUN_NS: u64 = 120_000_000_000;

/// A thread at its first Java instruction, as its JVM reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InJava {
    /// When, monotonic nanoseconds.
    pub(crate) t_ns: u64,
    /// Its whole name.
    pub(crate) name: String,
}

/// A thread that was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Child {
    /// The process.
    pub(crate) pid: u32,
    /// Its id.
    pub(crate) tid: u32,
    /// The thread that made it.
    pub(crate) parent: u32,
    /// When the kernel had made it, monotonic nanoseconds.
    pub(crate) born_ns: u64,
}

/// The start of one thread, as far as it was seen. Times are monotonic nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// Whose.
    pub(crate) child: Child,
    /// The parent entered `clone`, where that was seen, and returned from it.
    pub(crate) cloned_ns: Option<(u64, u64)>,
    /// The parent's stack as it returned.
    pub(crate) stack: Option<StackId>,
    /// When it ran for the first time.
    pub(crate) ran_ns: Option<u64>,
    /// When the parent was off the CPU until it was woken by the child.
    waits_ns: Vec<(u64, u64)>,
    /// From when to when the parent was in `Thread.start`.
    pub(crate) call_ns: Option<(u64, u64)>,
    /// When it got to Java.
    pub(crate) java: Option<InJava>,
    /// When it was over.
    ended_ns: Option<u64>,
}

impl Start {
    /// From when to when it lasted, as far as it was seen: from the call, or `clone`, to Java, or
    /// the first time on a CPU.
    pub(crate) fn lasted_ns(&self, now_ns: u64) -> (u64, u64) {
        let clone_ns = self.cloned_ns.map(|(from, _)| from).filter(|from| *from > 0);
        let from_ns = self.call_ns.map(|(from, _)| from).or(clone_ns).unwrap_or(self.child.born_ns);
        let java_ns = self.java.as_ref().map(|java| java.t_ns);
        (from_ns, java_ns.or(self.ran_ns).unwrap_or(now_ns).max(from_ns))
    }

    /// How long the parent was off the CPU until the child was up. `None`: that cannot be
    /// distinguished from other waits for the child, as nothing says when the start was over.
    pub(crate) fn waited_ns(&self) -> Option<u64> {
        // The parent learns that the child is up before it lets it go to Java.
        let java_ns = self.java.as_ref().map(|java| java.t_ns);
        let over_ns = java_ns.into_iter().chain(self.call_ns.map(|(_, to)| to)).min()?;
        Some(self.waits_ns.iter().filter(|(from, _)| *from <= over_ns).map(|(from, to)| to - from).sum())
    }
}

/// What will be reported of a JVM's starts besides the kernel's part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expected {
    /// Threads that get to Java.
    pub(crate) java: bool,
    /// Calls of `Thread.start`.
    pub(crate) calls: bool,
}

/// All that are not put together yet.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    /// Whether somebody takes them; else nothing is kept.
    pub(crate) are_wanted: bool,
    /// By child.
    open: HashMap<u32, Start>,
    /// By child: those of which the kernel's part has not come.
    java: HashMap<u32, InJava>,
    /// By parent: from when to when each call was, those that are not over with no end.
    calls: HashMap<u32, VecDeque<(u64, Option<u64>)>>,
    /// What will be reported, by process.
    expected: HashMap<u32, Expected>,
    /// See [`Starts::seen`].
    seen_ns: u64,
    /// See [`Starts::calls_are_off`].
    calls_off_ns: u64,
    /// Starts of which something came and found no room.
    pub(crate) lost: u64,
}

impl Starts {
    /// Says what will be reported of a process.
    pub(crate) fn expect(&mut self, pid: i32, expected: Expected) {
        if self.are_wanted {
            self.expected.insert(pid.cast_unsigned(), expected);
        }
    }

    /// A thread enters `Thread.start`, or returns from it.
    pub(crate) fn call(&mut self, parent: i32, t_ns: i64, returns: bool) {
        let (parent, t_ns) = (parent.cast_unsigned(), t_ns.max(0).cast_unsigned());
        if !self.are_wanted || (self.calls.len() >= MOST && !self.calls.contains_key(&parent)) {
            return;
        }
        let calls = self.calls.entry(parent).or_default();
        match (returns, calls.back_mut()) {
            (true, Some((from, None))) if (*from..t_ns).contains(&self.calls_off_ns) => {
                calls.pop_back();
            }
            (true, Some((_, end @ None))) => *end = Some(t_ns),
            // Entered before the probe was there.
            (true, _) => {}
            (false, last) => {
                // Its return was lost: nobody is in two of these at a time.
                if last.is_some_and(|(_, end)| end.is_none()) {
                    calls.pop_back();
                }
                calls.push_back((t_ns, None));
            }
        }
        if calls.len() > MOST_CALLS {
            calls.pop_front();
        }
    }

    /// Calls and returns of `Thread.start` are not reported from now on, for a while: a call that
    /// is under way ends unseen, and must not be taken to last until a later one returns. Parts
    /// that were reported before may still come.
    pub(crate) fn calls_are_off(&mut self, t_ns: u64) {
        self.calls_off_ns = t_ns;
    }

    /// A thread gets to Java.
    pub(crate) fn in_java(&mut self, tid: i32, t_ns: i64, name: &str) {
        let (tid, t_ns) = (tid.cast_unsigned(), t_ns.max(0).cast_unsigned());
        if !self.are_wanted {
            return;
        }
        let java = InJava { t_ns, name: name.to_owned() };
        match self.open.get_mut(&tid).filter(|start| start.java.is_none() && start.child.born_ns <= t_ns) {
            Some(start) => start.java = Some(java),
            None => {
                if self.java.len() >= MOST {
                    self.java.clear();
                }
                self.java.insert(tid, java);
            }
        }
    }

    /// The parent has returned from `clone`, which it entered at `from_ns`; 0: before that was
    /// watched.
    pub(crate) fn cloned(&mut self, of: Child, ends_ns: (u64, u64), stack: Option<StackId>) {
        let Some(start) = self.open(of) else { return };
        (start.cloned_ns, start.stack) = (Some(ends_ns), stack);
    }

    /// The child runs for the first time.
    pub(crate) fn ran(&mut self, of: Child, t_ns: u64) {
        let Some(start) = self.open(of) else { return };
        start.ran_ns = Some(t_ns);
    }

    /// The parent was off the CPU until the child woke it. It comes behind `cloned`; of a start
    /// that was reported already it is another wait for the same thread.
    pub(crate) fn waited(&mut self, of: Child, ends_ns: (u64, u64)) {
        if let Some(start) = self.open.get_mut(&of.tid).filter(|start| start.child == of) {
            start.waits_ns.push(ends_ns);
        }
    }

    /// A thread is over.
    pub(crate) fn ended(&mut self, tid: u32, t_ns: u64) {
        if let Some(start) = self.open.get_mut(&tid) {
            start.ended_ns = Some(t_ns);
        }
    }

    /// All that happened before has been reported. Said by the first collector of a round, before
    /// it reads: on a busy machine much happens between what the first reads and what the last
    /// does.
    pub(crate) fn seen(&mut self, t_ns: u64) {
        self.seen_ns = t_ns;
    }

    /// Whether a thread is still in the call that made a child.
    fn is_being_called(&self, child: &Child) -> bool {
        let calls = self.calls.get(&child.parent);
        let is_it = |(from, to): &(u64, Option<u64>)| {
            *from <= child.born_ns && *from > self.calls_off_ns && to.is_none()
        };
        calls.is_some_and(|calls| calls.iter().any(is_it))
    }

    /// What is known of a start, of which `of` has process, threads and birth.
    fn open(&mut self, of: Child) -> Option<&mut Start> {
        let known = self.open.get(&of.tid).map(|start| start.child.born_ns);
        // An id is given again after all others: what is open of the former thread was never
        // reported, and is not any more.
        if known != Some(of.born_ns) {
            if known.is_none() && self.open.len() >= MOST {
                self.lost += 1;
                return None;
            }
            let java = self.java.remove(&of.tid).filter(|java| java.t_ns >= of.born_ns);
            self.open.insert(of.tid, Start { child: of, java, ..Start::default() });
        }
        self.open.get_mut(&of.tid)
    }

    /// Takes out what is put together, or will not be any further. `is_jvm`: whether a process is
    /// one; others are left out.
    pub(crate) fn take(&mut self, is_jvm: impl Fn(u32) -> bool) -> Vec<Start> {
        self.find_calls();
        let seen_ns = self.seen_ns;
        let is_over = |start: &Start| {
            let expected = self.expected.get(&start.child.pid).copied().unwrap_or_default();
            let has_ended = start.ended_ns.is_some_and(|at_ns| at_ns < seen_ns);
            let Some(ran_ns) = start.ran_ns else {
                return has_ended || seen_ns.saturating_sub(start.child.born_ns) > TO_RUN_NS;
            };
            let is_in_java = start.java.is_some() || !expected.java;
            let is_being_called = expected.calls && self.is_being_called(&start.child);
            let is_called = start.child.born_ns < seen_ns && !is_being_called;
            // A young JVM is not known for one yet.
            (start.cloned_ns.is_some() && is_in_java && is_called && is_jvm(start.child.pid))
                || has_ended
                || seen_ns.saturating_sub(ran_ns) > TO_JAVA_NS
        };
        let over: Vec<u32> =
            self.open.iter().filter(|(_, start)| is_over(start)).map(|(tid, _)| *tid).collect();
        self.take_out(&over, |start| is_jvm(start.child.pid))
    }

    /// Takes out all of a process that is gone, or of all.
    pub(crate) fn take_all(&mut self, pid: Option<u32>, is_jvm: impl Fn(u32) -> bool) -> Vec<Start> {
        self.find_calls();
        let is_meant = |start: &Start| pid.is_none_or(|pid| pid == start.child.pid);
        let all: Vec<u32> =
            self.open.iter().filter(|(_, start)| is_meant(start)).map(|(tid, _)| *tid).collect();
        if let Some(pid) = pid {
            self.expected.remove(&pid);
        }
        self.take_out(&all, |start| is_jvm(start.child.pid))
    }

    fn take_out(&mut self, tids: &[u32], is_wanted: impl Fn(&Start) -> bool) -> Vec<Start> {
        let mut out: Vec<Start> =
            tids.iter().filter_map(|tid| self.open.remove(tid)).filter(is_wanted).collect();
        out.sort_by_key(|start| start.child.born_ns);
        out
    }

    /// Finds the call of each start that has none yet: the one within which the child was born.
    fn find_calls(&mut self) {
        for start in self.open.values_mut().filter(|start| start.call_ns.is_none()) {
            let Some(calls) = self.calls.get_mut(&start.child.parent) else { continue };
            let is_it = |(from, to): &(u64, Option<u64>)| {
                *from <= start.child.born_ns && to.is_some_and(|to| to >= start.child.born_ns)
            };
            if let Some(i) = calls.iter().position(is_it) {
                start.call_ns = calls.remove(i).and_then(|(from, to)| Some((from, to?)));
            }
            if calls.is_empty() {
                self.calls.remove(&start.child.parent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a child and its birth.
    fn born(tid: u32, born_ns: u64) -> Child {
        Child { pid: 1, tid, parent: 2, born_ns }
    }

    fn wanted() -> Starts {
        let mut starts = Starts { are_wanted: true, ..Starts::default() };
        starts.expect(1, Expected { java: true, calls: true });
        starts
    }

    /// What is reported when all until then was read.
    fn seen_at(starts: &mut Starts, t_ns: u64) -> Vec<Start> {
        starts.seen(t_ns);
        starts.take(|_| true)
    }

    #[test]
    fn a_call_whose_probes_are_taken_off_does_not_last_until_they_are_back() {
        let mut starts = wanted();
        starts.calls_are_off(130);
        // Reported before, and read behind it.
        starts.call(2, 100, false);
        for (tid, at) in [(7, 120), (8, 5_000)] {
            starts.cloned(born(tid, at), (at - 10, at + 10), None);
            starts.ran(born(tid, at), at + 30);
            starts.in_java(tid as i32, at as i64 + 70, "worker");
        }
        // The end of a call that began while nobody looked.
        starts.call(2, 5_050, true);
        let over = seen_at(&mut starts, 9_000);
        assert!(over.len() == 2 && over.iter().all(|start| start.call_ns.is_none()), "{over:?}");
    }

    #[test]
    fn parts_are_joined_in_whatever_order_they_come() {
        type Part = fn(&mut Starts);
        let parts: [Part; 6] = [
            |s| s.call(2, 100, false),
            |s| s.cloned(born(7, 120), (110, 130), Some(StackId(5))),
            |s| s.ran(born(7, 120), 150),
            |s| s.waited(born(7, 120), (135, 160)),
            |s| s.in_java(7, 190, "worker"),
            |s| s.call(2, 170, true),
        ];
        // A call's end does not come before its beginning.
        let orders = [[0, 1, 2, 3, 4, 5], [4, 0, 5, 2, 3, 1], [2, 4, 3, 0, 1, 5], [0, 5, 4, 1, 3, 2]];
        for order in orders {
            let mut starts = wanted();
            for (i, part) in order.into_iter().enumerate() {
                assert_eq!(seen_at(&mut starts, 119), [], "{order:?}: {i} parts are not all");
                parts[part](&mut starts);
            }
            let over = seen_at(&mut starts, 200);
            assert_eq!(over.len(), 1, "{order:?}");
            let start = &over[0];
            assert_eq!(start.lasted_ns(999), (100, 190), "{order:?}");
            assert_eq!((start.cloned_ns, start.ran_ns), (Some((110, 130)), Some(150)), "{order:?}");
            assert_eq!((start.waited_ns(), start.stack), (Some(25), Some(StackId(5))), "{order:?}");
            assert!(starts.calls.is_empty() && starts.java.is_empty(), "{order:?}: {starts:?}");
            // Thread.join, when all of the start was reported.
            starts.waited(born(7, 120), (300, 400));
            assert_eq!(starts.take_all(None, |_| true), [], "{order:?}");
        }
    }

    #[test]
    fn a_wait_for_the_child_behind_its_start_is_no_part_of_it() {
        let mut starts = wanted();
        starts.cloned(born(7, 120), (110, 130), None);
        starts.ran(born(7, 120), 150);
        starts.waited(born(7, 120), (135, 160));
        // Thread.join.
        starts.waited(born(7, 120), (250, 900));
        starts.in_java(7, 190, "worker");
        let over = starts.take_all(None, |_| true);
        assert_eq!(over[0].waited_ns(), Some(25));
        let unknown = Start { waits_ns: vec![(135, 160), (250, 900)], ..Start::default() };
        assert_eq!(unknown.waited_ns(), None, "nothing says when the start was over");
    }

    #[test]
    fn what_does_not_come_is_waited_for_and_then_left_out() {
        let mut starts = wanted();
        starts.cloned(born(7, 120), (110, 130), None);
        starts.ran(born(7, 120), 150);
        assert_eq!(seen_at(&mut starts, TO_JAVA_NS), [], "it may get to Java yet");
        assert_eq!(seen_at(&mut starts, TO_JAVA_NS + 200).len(), 1);
        // One of the JVM's own: in Java, and never called for.
        starts.cloned(born(8, 120), (110, 130), None);
        starts.ran(born(8, 120), 150);
        starts.in_java(8, 190, "C2 CompilerThread1");
        let over = seen_at(&mut starts, 300);
        assert_eq!((over.len(), over[0].call_ns, over[0].lasted_ns(0)), (1, None, (110, 190)));
        // A thread that waits for a CPU at first is not over, however long that takes.
        starts.cloned(born(9, 120), (110, 130), None);
        assert_eq!(seen_at(&mut starts, TO_JAVA_NS + 200), []);
        let over = starts.take_all(Some(1), |_| true);
        assert_eq!(over[0].lasted_ns(5000), (110, 5000));
    }

    #[test]
    fn a_thread_that_ends_before_all_of_its_start_is_read_is_reported_whole() {
        let mut starts = wanted();
        starts.call(2, 100, false);
        starts.cloned(born(7, 120), (110, 130), None);
        starts.ended(7, 250);
        assert_eq!(seen_at(&mut starts, 125), []);
        starts.call(2, 170, true);
        starts.in_java(7, 190, "worker");
        starts.ran(born(7, 120), 150);
        assert_eq!(seen_at(&mut starts, 300).len(), 1);
    }

    #[test]
    fn a_thread_with_the_id_of_a_former_one_is_another() {
        let mut starts = wanted();
        starts.in_java(7, 50, "former");
        starts.ran(born(7, 120), 150);
        starts.ran(born(7, 620), 650);
        starts.in_java(7, 690, "worker");
        let over = starts.take_all(None, |_| true);
        assert_eq!((over.len(), over[0].child.born_ns, over[0].ran_ns), (1, 620, Some(650)));
        assert_eq!(over[0].java.as_ref().map(|java| java.name.as_str()), Some("worker"));
    }

    #[test]
    fn nothing_grows_without_bound_and_nothing_is_kept_for_nobody() {
        let mut starts = wanted();
        for i in 0..40_000_u32 {
            starts.call(i.cast_signed(), 1, false);
            starts.call(1, i64::from(i), false);
            starts.call(2, i64::from(i), false);
            starts.call(2, i64::from(i), true);
            starts.in_java(i.cast_signed(), 1, "x");
            starts.ran(born(i, 5), 9);
        }
        assert!(starts.open.len() <= MOST && starts.java.len() <= MOST && starts.calls.len() <= MOST);
        assert!(
            starts.calls[&1].len() == 1
                && starts.calls[&2].len() == MOST_CALLS
                && starts.lost == 40_000 - MOST as u64
        );
        let mut nobody = Starts::default();
        nobody.in_java(1, 1, "x");
        nobody.call(1, 1, false);
        nobody.expect(1, Expected::default());
        assert!(nobody.java.is_empty() && nobody.calls.is_empty() && nobody.expected.is_empty());
    }
}
