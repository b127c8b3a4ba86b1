//! A thread that was kept off the CPU.
//!
//! Most threads of a server sleep most of the time, because nobody wants anything of them. Without
//! a name, sleeping by choice does not count: in calls that wait for work, time or another thread
//! (futex, epoll, sleeping, polling), or for a peer. What is left is uninterruptible (disks, page
//! faults, memory), waits for a CPU, and interruptible waits in other calls. A thread that is named
//! should be at work: all of its waits count.

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{Ring, SpanRow};
use regex_lite::{Regex, RegexBuilder};

use crate::slow::trigger::{Kind, Limit, Measure, Slow, Watch};

pub(super) const KIND: Kind = Kind {
    word: "offcpu",
    syntax: "offcpu>1s or offcpu:THREAD_REGEX>1s",
    about: "a thread was off the CPU; not asleep by choice (parked, polling, sleeping), unless its name matches",
    collector: Some("sched"),
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
    fn span(&mut self, row: &SpanRow<'_>, limit: Limit, ring: &Ring) -> Option<Slow> {
        if row.kind != kind::SCHED_OFF || !limit.is_passed_by(row) {
            return None;
        }
        let name = row.thread.map(|id| ring.thread_name(id)).unwrap_or_default();
        let syscall = row.labels.iter().find(|(key, _)| *key == label::SYSCALL).map(|(_, text)| *text);
        let queued = row.figures.iter().find(|(key, _)| *key == figure::RUNQ_NS).map_or(0.0, |(_, ns)| *ns);
        let counts = match &self.thread {
            Some(thread) => thread.is_match(name),
            None => {
                let by_choice =
                    row.name == "sleeping" && syscall.is_none_or(|call| BY_CHOICE.contains(&call));
                !by_choice || limit.ns().is_some_and(|ns| queued > ns as f64)
            }
        };
        if !counts {
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
