//! Requests that are answered late while no thread works on them or waits for them: they are in a
//! queue, in a timer, in a buffer that is not flushed, or in a future that nobody completes.
//!
//! ```text
//! first bytes of a request read ──▶ … ──▶ first bytes of its answer sent      what the collector of requests counts
//!        └─ what threads do for it ─┘                                         what the ledger of threads has
//!                                   └── held back ──┘                         the rest, in which it is nobody's
//! ```

pub(crate) mod clients;
mod effort;
mod given_up;
mod in_flight;
mod larger_answers;
mod more_requests;
mod peers;

use std::collections::BTreeMap;

use fathom_recording::vocabulary::call::WRITES;
use fathom_recording::vocabulary::{count, live, source};
use fathom_recording::{ProcessId, Recording, Role, Series};

use self::in_flight::InFlight;
use super::{Growth, LEADS};
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, growth as facts, meanings, reasons, remedies};
use crate::intervals::Intervals;
use crate::{Case, Evidence, Fact, Finding, Layer, Window};

/// The id of the finding.
pub const HELD_RULE: &str = "answers-held-back";

/// Requests from which on their mean time is meaningful.
const FEW: f64 = 20.0;
/// How many times as long as usual a request must take.
const LONGER: f64 = 1.5;
/// How many times of the usual a request may take and be answered as soon as ever.
const AS_EVER: f64 = 1.15;
/// What of the time that requests take longer threads may spend more on them: beyond that they are
/// not held back, but worked on or waited for.
const BY_THREADS: f64 = 0.5;
/// What of all answers a thread must send to be named.
const MOST: f64 = 0.6;

/// Requests that were answered in some windows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Answered {
    count: f64,
    /// From the first bytes of a request to the first of its answer, on average, milliseconds.
    ms: f64,
    /// For how long of the windows they were counted, seconds.
    counted_s: f64,
}

impl Answered {
    /// `None` where they were not counted, or are few.
    fn of(recording: &Recording, jvm: ProcessId, windows: &[Window]) -> Option<Self> {
        let series = |word: live::Word| {
            recording.series.iter().find(|s| s.info.name == word.name && s.info.process == Some(jvm))
        };
        let (requests, times) = (series(live::PROCESS_REQUESTS)?, series(live::PROCESS_REQUEST_TIME)?);
        let rates: BTreeMap<i64, f64> = points(requests).map(|(t, _, rate)| (t, rate)).collect();
        let within = Intervals::of_windows(windows);
        let seconds = |t: i64, dt: i64| within.length_within_ns(t, t.saturating_add(dt)) as f64 / 1e9;
        let counted_s = points(requests).map(|(t, dt, _)| seconds(t, dt)).sum();
        let (mut count, mut sum_ms) = (0.0, 0.0);
        for (t, dt, ms) in points(times) {
            let Some(rate) = rates.get(&t) else { continue };
            let answered = rate * seconds(t, dt);
            count += answered;
            sum_ms += answered * ms;
        }
        (count >= FEW).then(|| Self { count, ms: sum_ms / count, counted_s })
    }

    /// Requests a second.
    fn rate(&self) -> f64 {
        self.count / self.counted_s.max(f64::MIN_POSITIVE)
    }
}

/// Begin, length and value of points that are numbers.
fn points(series: &Series) -> impl Iterator<Item = (i64, i64, f64)> {
    let times = series.t_ns.iter().zip(&series.dt_ns).zip(&series.value);
    times.map(|((t, dt), value)| (*t, *dt, *value)).filter(|(.., value)| value.is_finite() && *value >= 0.0)
}

/// After how long a peer's answers were read in the slow windows, on average, milliseconds.
pub(super) fn answered_after_ms(case: &Case<'_>, jvm: ProcessId, peer: &str) -> Option<f64> {
    Some(peers::answers(case.recording, jvm, &case.slow).get(peer)?.until_read_ms())
}

impl Growth<'_> {
    /// That answers are held back; `None` where they come as soon as ever, or threads spend more on
    /// them. Where requests were not counted only a peer that answers late is found.
    pub(crate) fn held_back(&self, case: &Case<'_>) -> Option<Finding> {
        let lost_ms = case.loss.lost_ms;
        if let Some(unanswered) = self.unanswered(case) {
            return Some(unanswered);
        }
        let answered = |windows: &[Window]| Answered::of(case.recording, self.jvm, windows);
        let Some((slow, base)) = answered(&case.slow).zip(answered(&case.base)) else {
            return self.late_peer(case, None);
        };
        let (threads, usual) = self.worked().fold((0.0, 0.0), |sum, g| (sum.0 + g.slow, sum.1 + g.base));
        let longer = slow.ms - base.ms;
        let by_threads = (threads - usual).max(0.0);
        // While requests are lost, somebody waits for one that takes longer.
        let cost_ms = ((longer - by_threads) * slow.count).min(lost_ms);
        if slow.ms < LONGER * base.ms || by_threads > BY_THREADS * longer || cost_ms < LEADS * lost_ms {
            return None;
        }
        if let Some(peer) = self.late_peer(case, Some((longer, slow.count))) {
            let cost_ms = peer.cost_ms.min(cost_ms);
            return Some(Finding { cost_ms, share: case.share(cost_ms), ..peer });
        }
        let limit = InFlight::of(case, self.jvm, (&slow, &base));
        let one_by_one = limit.filter(InFlight::is_one_by_one);
        let (ground, why) = match one_by_one {
            Some(_) => (Ground::Incomplete, &reasons::LIMIT_OF_CALLS),
            None => (Ground::Fits, &reasons::HOLDER_OF_ANSWERS),
        };
        let sure = ground.because(case, cost_ms, why);
        let mut finding = case.finding_by(HELD_RULE, Layer::Application, self.jvm, sure, cost_ms);
        let (now, before) = (Value::ms(slow.ms), Value::ms(base.ms));
        let (spent, spent_before) = (Value::ms(threads), Value::ms(usual));
        let title = facts::HELD_BACK.is(now.clone()).over(before.clone());
        let title = title.with("spent", spent.clone()).with("spent-baseline", spent_before.clone());
        finding.title = title.with("calls", limit.map(|limit| Value::from(limit.fact()))).into();
        let sender = sender(case, self.jvm);
        finding.culprit = match (one_by_one, &sender) {
            (Some(limit), _) => limit.culprit(),
            (None, Some((thread, _))) => culprits::SENDER.is(Value::name(thread)),
            (None, None) => culprits::ASYNCHRONOUS.fact(),
        }
        .into();
        finding.meaning = meanings::ASYNCHRONOUS.fact().into();
        let took = facts::ANSWER_TIME.is(now).over(before).with("rate", Value::per_second(slow.rate()));
        let took = took.with("rate-baseline", Value::per_second(base.rate()));
        let spent = facts::SPENT.is(spent).over(spent_before);
        finding.evidence =
            vec![Evidence::summed(source::REQUESTS, took), Evidence::summed("ledger of threads", spent)];
        finding.evidence.extend(sender.map(|(thread, share)| {
            let sends = facts::SENDS_MOST.is(Value::share(share)).with("thread", Value::Name(thread));
            Evidence::summed(source::SYSCALLS, sends)
        }));
        finding.evidence.splice(1..1, limit.map(|limit| limit.evidence()));
        finding.remedies = limit.map(|limit| limit.remedy()).into_iter().collect();
        finding.remedies.push(remedies::LOOK_AT_COMPLETION.remedy());
        finding.verify = vec![checks::ANSWERED_AS_BEFORE.is(Value::ms(base.ms)).into()];
        finding.windows.clone_from(&case.slow);
        Some(finding)
    }
}

impl Growth<'_> {
    /// Whether the requests that the recording counts were answered as soon as ever: then whatever
    /// threads wait for is no slowness of theirs.
    pub(crate) fn answers_as_ever(&self, case: &Case<'_>) -> bool {
        let of = |windows: &[Window]| Answered::of(case.recording, self.jvm, windows);
        // While requests are lost, somebody waits for one that takes longer: what all of them took
        // longer would be no less than what was lost.
        let is_too_little =
            |slow: Answered, base: Answered| (slow.ms - base.ms) * slow.count < LEADS * case.loss.lost_ms;
        let answered = of(&case.slow).zip(of(&case.base)).filter(|_| !self.costs_more(case));
        answered.is_some_and(|(slow, base)| slow.ms <= AS_EVER * base.ms || is_too_little(slow, base))
    }
}

/// The thread that sends most in the slow windows, where it is one, with its share of the calls.
fn sender(case: &Case<'_>, jvm: ProcessId) -> Option<(String, f64)> {
    let within = Intervals::of_windows(&case.slow);
    let mut by: BTreeMap<&str, f64> = BTreeMap::new();
    for made in case.recording.counts_of(count::SYSCALL_TOTALS).filter(|made| made.process() == jvm) {
        let thread = made.thread().and_then(|id| case.recording.threads.get(id.index()));
        let Some(thread) = thread.filter(|thread| thread.role == Role::App) else { continue };
        let calls = within.counted_within(&made);
        if WRITES.contains(&made.name()) && calls > 0.0 {
            *by.entry(case.recording.strings.get(thread.name)).or_default() += calls;
        }
    }
    let all: f64 = by.values().sum();
    let (thread, calls) = by.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (all > 0.0 && calls >= MOST * all).then(|| (thread.to_owned(), calls / all))
}

/// Where nothing shows when it was slow: how long requests take, where threads work on them or wait
/// for them for less than half of that. `work_ms`: what all threads spent on work.
pub(crate) fn stand(case: &Case<'_>, jvm: ProcessId, work_ms: f64) -> Option<Fact> {
    let answered = Answered::of(case.recording, jvm, &case.slow)?;
    let each = work_ms / answered.count;
    let rate = answered.count / Case::length_ms(&case.slow).max(f64::MIN_POSITIVE) * 1e3;
    (each < BY_THREADS * answered.ms).then(|| {
        let stand = facts::STAND.is(Value::ms(answered.ms)).with("requests", Value::counted(rate));
        stand.with("work", Value::ms(each))
    })
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType;
    use fathom_recording::vocabulary::kind;

    use super::*;
    use crate::built::{Built, whole_run};

    /// A minute in which eight requests a tenth of a second are answered, in the middle third after
    /// `slow_ms` and else after 5 ms.
    fn service(slow_ms: f64) -> Built {
        let mut built = Built::jvm("25", "G1", 60.0);
        let jvm = built.jvm;
        let third = |at: f64, value: f64| (at, at + 20.0, value);
        let rates = [third(0.0, 80.0), third(20.0, 40.0), third(40.0, 80.0)];
        let times = [third(0.0, 5.0), third(20.0, slow_ms), third(40.0, 5.0)];
        built.gauge(live::PROCESS_REQUESTS, "", Some(jvm), &rates);
        built.gauge(live::PROCESS_REQUEST_TIME, "", Some(jvm), &times);
        built.watched("worker", 60.0);
        let rest = [("java.util.concurrent.ThreadPoolExecutor.getTask", FrameType::C2)];
        built.with_stack((kind::SCHED_OFF, "sleeping"), "worker", &rest, &[], (0.0, 59_000.0));
        built.counted_calls("batcher", "write", 20.0, 20_000.0, 780);
        built.counted_calls("worker", "write", 20.0, 20_000.0, 20);
        built
    }

    fn window(from_s: i64, to_s: i64) -> Vec<Window> {
        vec![Window { from_ns: from_s * 1_000_000_000, to_ns: to_s * 1_000_000_000 }]
    }

    /// Threads spend `spent` milliseconds on each, instead of 2.
    fn held(slow_ms: f64, spent: f64) -> Option<Finding> {
        let built = service(slow_ms);
        let (jvm, recording) = (built.jvm, built.sealed());
        let whole = whole_run(&recording);
        let loss = crate::Loss {
            lost_ms: 10_000.0,
            slow_rate: Some(40.0),
            base_rate: Some(80.0),
            ..crate::Loss::default()
        };
        let case = Case { slow: window(20, 40), base: window(0, 20), whole_run: false, loss, ..whole };
        let grown = crate::growth::tests::grew(&[(crate::waits::Category::Network, "", 2.0, spent)]);
        Growth { jvm, ..grown }.held_back(&case)
    }

    #[test]
    fn answers_that_come_late_without_a_thread_that_waits_are_held_back() {
        let finding = held(80.0, 2.2).unwrap();
        finding.title.states(
            &facts::HELD_BACK,
            &[
                ("value", "80 ms"),
                ("baseline", "5.00 ms"),
                ("spent", "2.20 ms"),
                ("spent-baseline", "2.00 ms"),
            ],
        );
        finding.culprit.states(&culprits::SENDER, &[("value", "batcher")]);
        assert_eq!(finding.share, Some(1.0));
    }

    #[test]
    fn requests_that_are_answered_as_ever_or_that_threads_are_busy_with_are_not_held_back() {
        assert!(held(6.0, 2.0).is_none());
        assert!(held(80.0, 60.0).is_none(), "threads wait for them");
        assert!(held(8.0, 2.0).is_none(), "a tenth of what was lost");
    }

    #[test]
    fn of_the_whole_run_it_is_said_where_threads_do_less_than_half_of_it() {
        let built = service(80.0);
        let (jvm, recording) = (built.jvm, built.sealed());
        let case = Case { slow: window(20, 40), ..whole_run(&recording) };
        let stand = |work_ms: f64| stand(&case, jvm, work_ms);
        let shown = stand(1_600.0).map(|fact| ["requests", "value", "work"].map(|name| fact.shows(name)));
        assert_eq!(shown, Some(["40", "80 ms", "2.00 ms"].map(str::to_owned)));
        assert_eq!(stand(40_000.0), None);
    }
}
