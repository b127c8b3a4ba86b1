//! What CPU time the threads that answer requests spend on each of them.
//!
//! How long a request takes is counted to the first bytes of its answer. Where an answer goes out
//! in many small writes, or much is left to do after its first bytes, that is as short as ever,
//! and the connection is busy for longer. Threads that run as much as they did when there were
//! several times as many requests spend more on each: it was not less that was asked for.

use fathom_recording::ThreadId;
use fathom_recording::vocabulary::{call, count};
use rustc_hash::FxHashSet;

use super::{Answered, Growth};
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::{Case, Window};

/// What requests must have fallen to of their number a second.
const FEWER: f64 = 0.5;
/// What of their running time in the baseline the threads that answer them must still run: noise
/// of short windows aside, as much as ever.
const AS_MUCH: f64 = 0.9;
/// CPUs that these threads keep busy in the baseline; of less, chance decides.
const LEAST_CPUS: f64 = 0.05;

impl Growth<'_> {
    /// Whether the threads that answer requests run as much as ever, while those are half as many
    /// or fewer.
    pub(super) fn costs_more(&self, case: &Case<'_>) -> bool {
        let rate = |windows: &[Window]| Answered::of(case.recording, self.jvm, windows).map(|a| a.rate());
        let Some((slow_rate, base_rate)) = rate(&case.slow).zip(rate(&case.base)) else { return false };
        let answering = self.answering(case);
        let ran = |windows: &[Window]| {
            let ran_ms: f64 = answering.iter().map(|thread| running_ms(case, *thread, windows)).sum();
            ran_ms / Case::length_ms(windows).max(f64::MIN_POSITIVE)
        };
        let (slow_cpus, base_cpus) = (ran(&case.slow), ran(&case.base));
        slow_rate <= FEWER * base_rate && base_cpus >= LEAST_CPUS && slow_cpus >= AS_MUCH * base_cpus
    }

    /// Threads of the application that read as well as send, in the slow windows or the baseline:
    /// those of clients that went away ran as well.
    fn answering(&self, case: &Case<'_>) -> Vec<ThreadId> {
        let both: Vec<Window> = case.slow.iter().chain(&case.base).copied().collect();
        let within = Intervals::of_windows(&both);
        let (mut read, mut sent) = (FxHashSet::default(), FxHashSet::default());
        for made in case.recording.counts_of(count::SYSCALL_TOTALS).filter(|c| c.process() == self.jvm) {
            let Some(thread) = made.thread().filter(|_| within.counted_within(&made) > 0.0) else { continue };
            match made.name() {
                name if call::READS.contains(&name) => read.insert(thread),
                name if call::WRITES.contains(&name) => sent.insert(thread),
                _ => false,
            };
        }
        let application = case.chains().application_threads(self.jvm).into_iter();
        application.filter(|thread| read.contains(thread) && sent.contains(thread)).collect()
    }
}

/// Milliseconds for which a thread ran on a CPU.
fn running_ms(case: &Case<'_>, thread: ThreadId, windows: &[Window]) -> f64 {
    let Some(by_category) = case.chains().by_category(thread) else { return 0.0 };
    let within = Intervals::of_windows(windows);
    let running = Category::ALL.into_iter().filter(|category| category.is_running());
    running.map(|category| by_category[category.index()].and(&within).length_ms()).sum()
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType;
    use fathom_recording::vocabulary::{kind, live};

    use super::*;
    use crate::built::{Built, whole_run};

    /// A minute in which 800 requests a second are answered, and 80 in its middle third, each after
    /// 5 ms; the thread that answers them is off the CPU for a part of each second. `leave`: other
    /// threads that answer as many each, and end before that.
    fn answers_as_ever(off_usually_ms: f64, off_slow_ms: f64, leave: usize) -> bool {
        let mut built = Built::jvm("25", "G1", 60.0);
        let jvm = built.jvm;
        let third = |at: f64, value: f64| (at, at + 20.0, value);
        let rates = [third(0.0, 800.0), third(20.0, 80.0), third(40.0, 800.0)];
        built.gauge(live::PROCESS_REQUESTS, "", Some(jvm), &rates);
        built.gauge(live::PROCESS_REQUEST_TIME, "", Some(jvm), &[0.0, 20.0, 40.0].map(|at| third(at, 5.0)));
        built.watched("worker", 60.0);
        let rest = [("shop.Server.read", FrameType::C2)];
        for s in 0..60 {
            let off_ms = if (20..40).contains(&s) { off_slow_ms } else { off_usually_ms };
            built.with_stack((kind::SCHED_OFF, "sleeping"), "worker", &rest, &[], (f64::from(s), off_ms));
        }
        built.counted_calls("worker", "read", 0.0, 60_000.0, 30_000);
        built.counted_calls("worker", "write", 0.0, 60_000.0, 30_000);
        for i in 0..leave {
            let thread = format!("leaves-{i}");
            built.watched(&thread, 19.0);
            built.with_stack((kind::SCHED_OFF, "sleeping"), &thread, &rest, &[], (0.0, 12_000.0));
            built.counted_calls(&thread, "read", 0.0, 19_000.0, 10_000);
            built.counted_calls(&thread, "write", 0.0, 19_000.0, 10_000);
        }
        let recording = built.sealed();
        let window =
            |from: i64, to: i64| vec![Window { from_ns: from * 1_000_000_000, to_ns: to * 1_000_000_000 }];
        let loss = crate::Loss { lost_ms: 10_000.0, ..crate::Loss::default() };
        let whole = whole_run(&recording);
        let case = Case { slow: window(20, 40), base: window(0, 20), whole_run: false, loss, ..whole };
        let grown = crate::growth::tests::grew(&[(Category::Network, "", 2.0, 2.0)]);
        Growth { jvm, ..grown }.answers_as_ever(&case)
    }

    #[test]
    fn threads_that_run_as_much_for_fewer_requests_spend_more_on_each() {
        assert!(answers_as_ever(600.0, 950.0, 0), "less was asked for");
        assert!(!answers_as_ever(600.0, 600.0, 0), "as busy with a tenth of the requests");
        assert!(answers_as_ever(980.0, 980.0, 0), "hardly busy at all");
        assert!(answers_as_ever(600.0, 600.0, 9), "nine of ten clients went away");
    }
}
