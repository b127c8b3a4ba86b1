//! System calls that fail where they never did, and after which threads sleep for a time: a program
//! that tries again.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{count, figure, source};
use fathom_recording::{ProcessId, ThreadId};

use super::parts::{BASE, Part};
use crate::facts::{Value, growth as facts, remedies};
use crate::intervals::Intervals;
use crate::{Case, Evidence, Fact, Remedy, Window};

/// System calls that do not fail in normal operation. Reads from and writes to non-blocking sockets
/// are not among them: they return EAGAIN all the time.
const CALLS: [&str; 21] = [
    "open",
    "openat",
    "socket",
    "pipe2",
    "mmap",
    "clone",
    "clone3",
    "fork",
    "vfork",
    "execve",
    "pwrite64",
    "fsync",
    "rename",
    "renameat2",
    "mkdir",
    "unlink",
    "ftruncate",
    // A connection that is still being made is not counted among those that failed.
    "connect",
    "bind",
    "fcntl",
    "flock",
];
/// Those that are refused with EAGAIN: no process or thread more, or a lock that another one has.
const REFUSED: [&str; 6] = ["clone", "clone3", "fork", "vfork", "fcntl", "flock"];
/// How many must fail, what part of these calls, how many times as many a second as in the
/// baseline, and how many for each time that threads stay away.
const FEW: f64 = 20.0;
const PART: f64 = 0.3;
const TIMES: f64 = 10.0;
const EACH: f64 = 0.5;

/// Calls of one name that fail.
pub(super) struct Failing<'a> {
    call: &'a str,
    per_s: f64,
    base_per_s: f64,
    of_calls: f64,
}

impl<'a> Failing<'a> {
    /// The calls of which threads of `part` make most that fail, where it is what they stay away
    /// after.
    pub(super) fn of(case: &Case<'a>, jvm: ProcessId, part: &Part<'_>) -> Option<Self> {
        let made = |windows: &[Window]| -> BTreeMap<&'a str, (f64, f64)> {
            let within = Intervals::of_windows(windows);
            let mut made: BTreeMap<&'a str, (f64, f64)> = BTreeMap::new();
            let is_its = |thread: Option<ThreadId>| thread.is_some_and(|id| part.threads.contains(&id));
            let counts = case.recording.counts_of(count::SYSCALL_TOTALS);
            for calls in
                counts.filter(|c| c.process() == jvm && is_its(c.thread()) && CALLS.contains(&c.name()))
            {
                let (all, counted) = (calls.count().max(1) as f64, within.counted_within(&calls));
                let sum = made.entry(calls.name()).or_default();
                let refused = calls.figure(figure::AGAIN).filter(|_| REFUSED.contains(&calls.name()));
                let failed = calls.figure(figure::FAILED).unwrap_or(0.0) + refused.unwrap_or(0.0);
                sum.0 += counted * failed / all;
                sum.1 += counted;
            }
            made
        };
        let (slow, base) = (made(&case.slow), made(&case.base));
        let (call, (failed, all)) = slow.into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
        let per_s = |failed: f64, windows: &[Window]| failed * 1e3 / Case::length_ms(windows).max(1.0);
        let base_per_s = per_s(base.get(call).map_or(0.0, |base| base.0), &case.base);
        let per_s = per_s(failed, &case.slow);
        let is_so = failed >= FEW
            && failed >= PART * all
            && per_s >= TIMES * base_per_s
            && failed >= EACH * part.ended[..BASE].iter().sum::<usize>() as f64;
        is_so.then(|| Self { call, per_s, base_per_s, of_calls: failed / all })
    }

    pub(super) fn in_title(&self) -> Fact {
        let base = (self.base_per_s > 0.0).then(|| Value::plain(self.base_per_s));
        let fails = facts::CALLS_FAIL.is(Value::plain(self.per_s)).over(base);
        fails.with("call", Value::name(self.call))
    }

    pub(super) fn evidence(&self) -> Evidence {
        Evidence::summed(source::SYSCALLS, self.in_title().with("share", Value::share(self.of_calls)))
    }

    pub(super) fn remedy(&self) -> Remedy {
        remedies::WHY_CALLS_FAIL.is(Value::name(self.call)).into()
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::vocabulary::{count, figure, kind};
    use fathom_recording::{CountRow, Sink};

    use crate::facts::{growth as facts, remedies};
    use crate::growth::tests::{SLEEP, Service, is_slow};

    /// A worker that sleeps 100 ms of each tenth of a second while it is slow, and opens ten files
    /// meanwhile, of which so many fail.
    fn finding(failed: f64) -> crate::Finding {
        finding_of("openat", figure::FAILED, failed)
    }

    fn finding_of(call: &str, figure: &'static str, failed: f64) -> crate::Finding {
        let mut service = Service::of((300.0, 60.0));
        let sleep = service.stack(&SLEEP);
        let worker = service.thread("worker-0");
        for tenth in 0..600 {
            let ms = if is_slow(tenth / 10) { 95 } else { 1 };
            service.row(kind::SCHED_OFF, worker, (tenth * 100, tenth * 100 + ms), Some(sleep), &[]);
        }
        for s in 0..60 {
            let failed = if is_slow(s) { failed } else { 0.0 };
            let interval = (s * 1_000_000_000, (s + 1) * 1_000_000_000);
            let of = (service.built.jvm, service.built.source);
            let row = CountRow::new(count::SYSCALL_TOTALS, call, interval, of.0, of.1, 20);
            let figures = &[(figure, failed)];
            service.built.recording.count(&CountRow { thread: Some(worker), figures, ..row });
        }
        service.diagnosis().findings.remove(0)
    }

    #[test]
    fn threads_that_stay_away_after_calls_that_fail_say_so() {
        let found = finding(10.0);
        let fails = found.title.fact().find(&facts::CALLS_FAIL).expect("said");
        assert_eq!((fails.name("call"), fails.number("value")), (Some("openat"), Some(10.0)), "{found:#?}");
        assert!(found.advises(&remedies::WHY_CALLS_FAIL));
        let fails = |call: &str| {
            finding_of(call, figure::AGAIN, 10.0).title.fact().find(&facts::CALLS_FAIL).is_some()
        };
        assert!(fails("clone3") && !fails("connect"), "no thread more; a connection in the making");
        assert!(finding(1.0).title.fact().find(&facts::CALLS_FAIL).is_none(), "some always do");
    }
}
