//! Waits for what takes as long as ever and fewer threads do at a time: connections or permits that
//! were not given back, a pool or a limit that became smaller, a lock that came.
//!
//! ```text
//! threads at a time = operations a second × what each takes itself
//!        fewer                 fewer              as long as ever ─▶ the place is narrower, and not slower
//! ```

use fathom_recording::ProcessId;

use super::parts::BASE;
use super::{Grown, Growth, MOST};
use crate::attribution::{Key, segments};
use crate::facts::{Metric, Value, growth as facts};
use crate::intervals::Intervals;
use crate::places::Places;
use crate::{Case, Evidence, Fact};

/// How many threads at a time must usually be there for fewer to mean something.
const SEVERAL: f64 = 1.5;
/// What of them must be left at most.
const LEFT: f64 = 0.6;
/// How many times as long as usual each may take, …
const AS_EVER: f64 = 1.3;
/// … and how many times as short: those that are left have the peer to themselves.
const SHORTER: f64 = 2.0;

/// What of the waits for it threads must do themselves, among those that operations are known to
/// have.
const OF_OTHERS: f64 = 0.1;

/// How many threads at a time do something, slow and in the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fewer {
    at_a_time: [f64; 2],
    /// What each takes itself, milliseconds.
    each_ms: [f64; 2],
}

/// Milliseconds for which threads of a JVM did something themselves, in the slow windows and in the
/// baseline.
fn of_all_threads(case: &Case<'_>, jvm: ProcessId, key: &Key<'_>) -> [f64; 2] {
    let chains = case.chains();
    let mut places = Places::of_recording(case.recording);
    let mut did: Vec<(i64, i64)> = Vec::new();
    let frames = [&case.slow, &case.base].map(|windows| Intervals::of_windows(windows));
    let mut sums = [0.0; 2];
    for thread in chains.application_threads(jvm) {
        let segments = segments::of(chains, &mut places, thread);
        did.clear();
        did.extend(segments.iter().filter(|s| s.key == *key).map(|s| (s.from, s.to)));
        let did = Intervals::of(did.iter().copied());
        sums.iter_mut().zip(&frames).for_each(|(sum, frame)| *sum += did.and(frame).length_ms());
    }
    sums
}

impl Growth<'_> {
    /// That fewer threads at a time do what others wait for, and each as quickly as ever.
    pub(super) fn fewer(&self, case: &Case<'_>, grown: &Grown<'_>) -> Option<Fewer> {
        // What a waiting thread is charged with is the time of another one.
        let waited = grown.part.waited_ms();
        let own = |frame: usize| (grown.part.ms[frame] - waited[frame]).max(0.0);
        let [first, second, base_ms] = self.lengths_ms;
        let mut own_ms = [own(0) + own(1), own(BASE)];
        // Who does it may be a pool that takes part in operations by these waits alone.
        if own_ms[1] <= OF_OTHERS * waited[BASE] {
            own_ms = of_all_threads(case, self.jvm, &grown.key);
        }
        let at_a_time = [own_ms[0] / (first + second), own_ms[1] / base_ms];
        let operations = [self.per.by[0] + self.per.by[1], self.per.by[BASE]];
        let each_ms = [own_ms[0] / operations[0], own_ms[1] / operations[1]];
        let waits_ms = (waited[0] + waited[1]) / operations[0] - waited[BASE] / operations[1];
        let is_as_ever = each_ms[0] <= AS_EVER * each_ms[1] && each_ms[1] <= SHORTER * each_ms[0];
        let is_narrower = at_a_time[1] >= SEVERAL && at_a_time[0] <= LEFT * at_a_time[1];
        let grew_by_waits = waits_ms >= MOST * grown.by();
        (self.per.each.is_counted() && is_as_ever && is_narrower && grew_by_waits)
            .then_some(Fewer { at_a_time, each_ms })
    }
}

impl Fewer {
    pub(super) fn in_title(&self) -> Fact {
        self.fact(&facts::FEWER)
    }

    pub(super) fn evidence(&self) -> Evidence {
        let fact = self.fact(&facts::AT_A_TIME).with("each-baseline", Value::ms(self.each_ms[1]));
        Evidence::summed("ledger of threads", fact)
    }

    fn fact(&self, metric: &'static Metric) -> Fact {
        let [slow, base] = self.at_a_time.map(Value::plain);
        metric.is(slow).over(base).with("each", Value::ms(self.each_ms[0]))
    }
}

#[cfg(test)]
mod tests {
    use super::facts;
    use crate::Statement;
    use crate::growth::tests::{READ, SLEEP, Service, is_slow};
    use fathom_recording::FrameType::{C2, Kernel};
    use fathom_recording::vocabulary::{kind, label};
    use fathom_recording::{Role, Sink};

    const WAIT: [(&str, fathom_recording::FrameType); 4] = [
        ("futex_wait", Kernel),
        ("java.util.concurrent.locks.LockSupport.park", C2),
        ("java.util.concurrent.LinkedBlockingQueue.poll", C2),
        ("shop.Pool.take", C2),
    ];

    const ANSWER: [(&str, fathom_recording::FrameType); 4] = [
        ("futex_wait", Kernel),
        ("java.util.concurrent.locks.LockSupport.park", C2),
        ("java.util.concurrent.CompletableFuture.join", C2),
        ("shop.Client.ask", C2),
    ];
    const REST: [(&str, fathom_recording::FrameType); 4] = [
        ("futex_wait", Kernel),
        ("java.util.concurrent.locks.LockSupport.park", C2),
        ("java.util.concurrent.LinkedBlockingQueue.take", C2),
        ("java.util.concurrent.ThreadPoolExecutor.getTask", C2),
    ];

    /// Six workers, each of which reads for 100 ms for each of its operations, 10 a second. While
    /// it is slow, `left` of them at a time do, for `each_ms`, and the others wait for who ends.
    fn title(left: i64, each_ms: i64) -> Statement {
        let per_second = |workers: i64, each_ms: i64| (workers * 1_000 / each_ms) as f64;
        let mut service = Service::of((per_second(6, 100), per_second(left, each_ms)));
        let (read, wait) = (service.stack(&READ), service.stack(&WAIT));
        for i in 0..6_i64 {
            let (jvm, name) = (service.built.jvm, format!("worker-{i}"));
            let worker = service.built.recording.thread(jvm, Some(100 + i), &name, Role::App);
            service.row(kind::SCHED_WATCHED, worker, (0, 60_000), None, &[]);
            for s in 0..60_i64 {
                let slow = is_slow(s);
                let (each, workers) = if slow { (each_ms, left) } else { (100, 6) };
                for turn in 0..1_000 / each {
                    let (from, to) = (s * 1_000 + turn * each, s * 1_000 + (turn + 1) * each - 1);
                    // Workers take turns.
                    let first = (turn * left + s) % 6;
                    let works = !slow || (0..workers).any(|k| (first + k) % 6 == i);
                    if works {
                        service.row(kind::SCHED_OFF, worker, (from, to), Some(read), &[]);
                    } else {
                        let by = format!("worker-{first} ({})", 100 + first);
                        let labels = [(label::WAKER, by.as_str())];
                        service.row(kind::SCHED_OFF, worker, (from, to), Some(wait), &labels);
                    }
                }
            }
        }
        service.diagnosis().findings.remove(0).title
    }

    /// Six clients wait for the tasks that they gave a pool of six threads: each sleeps for 50 ms,
    /// all six of them at once in the baseline and in turn while it is slow.
    #[test]
    fn tasks_of_another_pool_that_now_follow_each_other_are_counted_there() {
        let mut service = Service::of((120.0, 20.0));
        let (sleep, rest, wait) = (service.stack(&SLEEP), service.stack(&REST), service.stack(&ANSWER));
        for i in 0..6_i64 {
            let jvm = service.built.jvm;
            let mut thread = |name: String, tid: i64| {
                let thread = service.built.recording.thread(jvm, Some(tid), &name, Role::App);
                service.row(kind::SCHED_WATCHED, thread, (0, 60_000), None, &[]);
                thread
            };
            let (client, task) =
                (thread(format!("client-{i}"), 100 + i), thread(format!("task-{i}"), 200 + i));
            let by = |row: i64| format!("task-{row} ({})", 200 + row);
            let (own, before) = (by(i), by((i + 5) % 6));
            for (from, to, turns) in [(0, 20_000, 1), (20_000, 40_000, 6), (40_000, 60_000, 1)] {
                let mut begin = from;
                while begin < to {
                    let in_turn = if turns == 1 { 50 } else { 50 * (i + 1) };
                    let end = if begin == from { begin + in_turn } else { begin + 50 * turns };
                    let end = end.min(to);
                    let sleeps = end - 50;
                    service.row(
                        kind::SCHED_OFF,
                        client,
                        (begin, end - 1),
                        Some(wait),
                        &[(label::WAKER, &own)],
                    );
                    if begin < sleeps {
                        let labels = [(label::WAKER, before.as_str())];
                        service.row(kind::SCHED_OFF, task, (begin, sleeps), Some(rest), &labels);
                    }
                    service.row(kind::SCHED_OFF, task, (sleeps.max(begin), end), Some(sleep), &[]);
                    begin = end;
                }
            }
        }
        let title = service.diagnosis().findings.remove(0).title;
        title.states(&facts::FEWER, &[("value", "1.0"), ("baseline", "6.0")]);
    }

    #[test]
    fn a_place_that_became_narrower_is_told_from_one_that_became_slower() {
        let narrower = title(1, 100);
        narrower.states(&facts::FEWER, &[("each", "99 ms"), ("value", "1.0"), ("baseline", "5.9")]);
        assert_eq!(title(6, 500).fact().find(&facts::FEWER), None);
    }
}
