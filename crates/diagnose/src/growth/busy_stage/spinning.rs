//! A stage that is busy with asking a selector again and again, which answers at once: an interest
//! that is never taken back (a channel that can be written to nearly always can), a key of a
//! connection that the peer has closed, a wakeup that repeats itself. It takes a CPU for nothing.

use fathom_recording::vocabulary::{call, count, source};
use fathom_recording::{ProcessId, ThreadId};

use crate::facts::{Value, growth as facts, remedies};
use crate::intervals::Intervals;
use crate::{Case, Evidence, Fact, Remedy, Window};

/// How often a second it must ask, and how many times as often as in the baseline.
const OFTEN: f64 = 1_000.0;
const TIMES: f64 = 3.0;
/// For how many of its questions it may read or take a connection.
const READS: f64 = 0.25;

/// What threads ask a selector, and read, a second.
#[derive(Clone, Copy, Default)]
struct Asked {
    polls: f64,
    reads: f64,
}

/// A selector that answers at once.
#[derive(Clone, Copy)]
pub(super) struct Spinning {
    slow: Asked,
    base: Asked,
}

impl Spinning {
    /// `None` where the threads do not spin, or as much as ever.
    pub(super) fn of(case: &Case<'_>, jvm: ProcessId, threads: &[ThreadId]) -> Option<Self> {
        if case.base.is_empty() {
            return None;
        }
        let asked = |windows: &[Window]| {
            let within = Intervals::of_windows(windows);
            let mut asked = Asked::default();
            let is_its = |thread: Option<ThreadId>| thread.is_some_and(|id| threads.contains(&id));
            let counts = case.recording.counts_of(count::SYSCALL_TOTALS);
            for made in counts.filter(|made| made.process() == jvm && is_its(made.thread())) {
                let a_second = within.counted_within(&made) * 1e3 / Case::length_ms(windows).max(1.0);
                match made.name() {
                    name if call::EPOLLS.contains(&name) => asked.polls += a_second,
                    name if call::READS.contains(&name) || call::ACCEPTS.contains(&name) => {
                        asked.reads += a_second;
                    }
                    _ => {}
                }
            }
            asked
        };
        let (slow, base) = (asked(&case.slow), asked(&case.base));
        let spins =
            slow.polls >= OFTEN && slow.polls >= TIMES * base.polls && slow.reads <= READS * slow.polls;
        spins.then_some(Self { slow, base })
    }

    pub(super) fn evidence(self) -> Evidence {
        Evidence::summed(source::SYSCALLS, self.fact())
    }

    /// What a finding says of it.
    pub(super) fn fact(self) -> Fact {
        let base = (self.base.polls > 0.0).then(|| Value::per_second(self.base.polls));
        let asked = facts::SELECTOR_SPINS.is(Value::per_second(self.slow.polls)).over(base);
        asked.with("reads", Value::per_second(self.slow.reads))
    }

    pub(super) fn remedy() -> Remedy {
        remedies::WHY_SELECTOR_SPINS.remedy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, whole_run};

    /// Whether a thread spins that asks its selector and reads so often a second in the second half
    /// of a minute, and 300 times each in the first.
    fn spins(polls: u64, reads: u64) -> bool {
        let mut built = Built::jvm("25", "G1", 60.0);
        for s in 0..60 {
            let (polls, reads) = if s < 30 { (300, 300) } else { (polls, reads) };
            built.counted_calls("nio", "epoll_wait", f64::from(s), 1_000.0, polls);
            built.counted_calls("nio", "read", f64::from(s), 1_000.0, reads);
        }
        let (jvm, recording) = (built.jvm, built.sealed());
        let half =
            |from: i64, to: i64| vec![Window { from_ns: from * 1_000_000_000, to_ns: to * 1_000_000_000 }];
        let mut case = Case { slow: half(30, 60), base: half(0, 30), ..whole_run(&recording) };
        let spins = Spinning::of(&case, jvm, &[ThreadId(0)]).is_some();
        case.base.clear();
        assert!(
            Spinning::of(&case, jvm, &[ThreadId(0)]).is_none(),
            "as often as ever, for all that is known"
        );
        spins
    }

    #[test]
    fn a_selector_that_answers_at_once_with_little_to_read_spins() {
        assert!(spins(100_000, 300));
        assert!(!spins(100_000, 90_000), "it reads for nearly all of them");
        assert!(!spins(600, 30), "too seldom to keep a CPU busy");
    }
}
