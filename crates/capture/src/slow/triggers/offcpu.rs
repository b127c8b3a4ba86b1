//! A thread that was kept off the CPU.
//!
//! Most threads of a server sleep most of the time, because nobody wants anything of them. Without
//! a name, sleeping by choice does not count: in calls that wait for work, time or another thread
//! (futex, epoll, sleeping, polling), or for a peer. What is left is uninterruptible (disks, page
//! faults, memory), waits for a CPU, and interruptible waits in other calls. A thread that is named
//! should be at work: all of its waits count but those of a thread without work, of a pool without
//! a task and the like, which the diagnosis calls idle. One without work that is given some and
//! gets no CPU for as long as the limit does count.

use fathom_recording::SpanRow;
use fathom_recording::vocabulary::{figure, kind, label, source};
use regex_lite::{Regex, RegexBuilder};

use crate::slow::trigger::{Kind, Limit, Measure, Seen, Slow, Watch};

pub(super) const KIND: Kind = Kind {
    word: "offcpu",
    syntax: "offcpu>1s or offcpu:THREAD_REGEX>1s",
    about: "a thread was off the CPU; not without work, nor, unless its name matches, asleep by choice (parked, polling)",
    collector: Some(source::SCHED),
    measure: Measure::Time,
    make,
};

/// Memory that a pattern may take when compiled, bytes: one that is written by hand takes
/// thousands.
const LARGEST_PATTERN: usize = 1 << 20;

/// Calls in which a thread that sleeps does so by choice, or for another that may take as long as
/// it likes.
const BY_CHOICE: [&str; 25] = [
    "futex",
    "futex_waitv",
    "nanosleep",
    "clock_nanosleep",
    "pause",
    "select",
    "pselect6",
    "poll",
    "ppoll",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "rt_sigtimedwait",
    "rt_sigsuspend",
    "restart_syscall",
    "io_getevents",
    "io_uring_enter",
    "wait4",
    "waitid",
    "accept",
    "accept4",
    "recvfrom",
    "recvmsg",
    "read",
    "readv",
];

fn make(what: Option<&str>) -> Result<Box<dyn Watch>, String> {
    let compile = |re: &str| RegexBuilder::new(re).size_limit(LARGEST_PATTERN).build();
    let thread = what.map(compile).transpose().map_err(|error| error.to_string())?;
    Ok(Box::new(OffCpu { thread }))
}

struct OffCpu {
    thread: Option<Regex>,
}

impl Watch for OffCpu {
    fn span(&mut self, row: &SpanRow<'_>, limit: Limit, seen: &Seen<'_>) -> Option<Slow> {
        if row.kind != kind::SCHED_OFF || !limit.is_passed_by(row) {
            return None;
        }
        let name = row.thread.map(|id| seen.ring.thread_name(id)).unwrap_or_default();
        let syscall = row.labels.iter().find(|(key, _)| *key == label::SYSCALL).map(|(_, text)| *text);
        let queued = row.figures.iter().find(|(key, _)| *key == figure::RUNQ_NS).map_or(0.0, |(_, ns)| *ns);
        let had_no_cpu = limit.ns().is_some_and(|ns| queued > ns as f64);
        let counts = match &self.thread {
            Some(thread) => thread.is_match(name),
            None => {
                let by_choice =
                    row.name == "sleeping" && syscall.is_none_or(|call| BY_CHOICE.contains(&call));
                !by_choice || had_no_cpu
            }
        };
        // What costs most is asked last.
        if !counts || (!had_no_cpu && seen.is_at_rest(row)) {
            return None;
        }
        let syscall = syscall.map(|call| format!(" in {call}()")).unwrap_or_default();
        let queued = if queued >= 1e6 {
            format!(", {:.1} ms of it waiting for a CPU", queued / 1e6)
        } else {
            String::new()
        };
        Some(Slow::of(row, format!("thread {name} {}{syscall}{queued}", row.name)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test panics where it fails")]
    use fathom_recording::{Bounds, FrameType, Process, Ring, Role, Sink, Source, SourceId, StackId};

    use super::*;
    use crate::slow::trigger::Trigger;

    /// What stands in for the diagnosis, which is not ours to call.
    fn at_rest(frames: &[(&str, FrameType)], _: Role) -> bool {
        frames.iter().any(|(name, _)| *name == "getTask")
    }

    /// Whether a wait of two seconds of a thread in a method is slow by a trigger.
    fn is_slow(trigger: &str, method: &str, queued_ns: f64, call: &str) -> bool {
        let mut ring = Ring::new(Bounds { bytes: 1 << 20, age_ns: i64::MAX }, 0);
        let process = ring.add_process(Process::default());
        ring.add_source(Source::default());
        let thread = ring.thread(process, Some(7), "http-7", Role::App);
        let frame = ring.frame(method, "", FrameType::C2, -1);
        let stack: StackId = ring.stack(None, frame);
        let row = SpanRow {
            kind: kind::SCHED_OFF,
            name: "sleeping",
            t0_ns: 0,
            t1_ns: 2_000_000_000,
            process,
            thread: Some(thread),
            stack: Some(stack),
            source: SourceId(0),
            line: 0,
            key: -1,
            parent: None,
            figures: &[(figure::RUNQ_NS, queued_ns)],
            labels: &[(label::SYSCALL, call)],
        };
        let trigger: Trigger = trigger.parse().unwrap();
        let seen = Seen { ring: &ring, at_rest };
        trigger.watch().unwrap().span(&row, trigger.limit, &seen).is_some()
    }

    #[test]
    fn a_named_thread_without_work_is_not_slow_and_one_that_waits_within_a_task_is() {
        assert!(is_slow("offcpu:^http>1s", "shop.Orders.add", 0.0, "futex"));
        assert!(!is_slow("offcpu:^http>1s", "getTask", 0.0, "futex"));
        assert!(!is_slow("offcpu:^batch>1s", "shop.Orders.add", 0.0, "futex"), "another's name");
        assert!(!is_slow("offcpu:^http>3s", "shop.Orders.add", 0.0, "futex"), "not as long");
    }

    #[test]
    fn work_that_waits_for_a_cpu_is_slow_whatever_was_before() {
        for trigger in ["offcpu:^http>1s", "offcpu>1s"] {
            assert!(is_slow(trigger, "getTask", 1.5e9, "futex"));
            assert!(!is_slow(trigger, "getTask", 0.5e9, "futex"));
        }
        assert!(!is_slow("offcpu>1s", "shop.Orders.add", 0.0, "futex"), "asleep by choice");
        assert!(is_slow("offcpu>1s", "shop.Orders.add", 0.0, "fsync"));
    }
}
