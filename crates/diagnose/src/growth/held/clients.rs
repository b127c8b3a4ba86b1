//! The same by what clients measure: they wait for answers that no thread works on or waits for.
//!
//! What the recorder counts as a request ends with the first bytes of its answer. Clients measure
//! up to the last ones: an answer that is sent in pieces, of which the last is in a send buffer
//! until the peer has acknowledged the first (Nagle's algorithm, RFC 896, together with an
//! acknowledgement that is delayed by up to 40 ms on Linux, TCP_DELACK_MIN), is late for them
//! alone.

use fathom_recording::vocabulary::call::WRITES;
use fathom_recording::vocabulary::{count, source};
use fathom_recording::{ProcessId, Role, ThreadId};
use rustc_hash::FxHashSet;

use super::{Answered, BY_THREADS, HELD_RULE, LONGER};
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, growth as facts, meanings, reasons, remedies};
use crate::growth::lead::waits_all_along;
use crate::growth::{Growth, LEADS, words};
use crate::intervals::Intervals;
use crate::stop_delay::StopDelay;
use crate::windows::progress::Progress;
use crate::{Case, Evidence, Fact, Finding, Layer, Remedy, Window, thread_ledger};

/// How many times as many calls that send an operation must make for its answer to be sent in more
/// pieces.
const MORE_PIECES: f64 = 1.5;
/// Calls that send by which each answer must be more, where clients measure nothing, and how many
/// times fewer answers there must be.
const ONE_MORE: f64 = 0.9;
const FEWER: f64 = 2.0;
/// How much later an answer must come for a delayed acknowledgement to be what it waits for,
/// milliseconds: Linux delays by 40 to 200 ms.
const DELAYED_ACK_MS: f64 = 30.0;

/// Whether the latency of a series is so much worse than usual that no less was asked for.
pub(crate) fn rose(case: &Case<'_>, latency: &Progress) -> bool {
    matches!(took(case, latency), Some((slow, base)) if slow >= LONGER * base)
}

/// What operations took in the slow windows and in the baseline, milliseconds.
fn took(case: &Case<'_>, latency: &Progress) -> Option<(f64, f64)> {
    let mean = |windows: &[Window]| latency.mean_shown(windows).filter(|ms| ms.is_finite() && *ms > 0.0);
    Some((mean(&case.slow)?, mean(&case.base)?)).filter(|_| latency.unit == "ms")
}

impl Growth<'_> {
    /// That clients wait for answers longer than threads spend on them more; `None` where they do
    /// not, or threads do.
    pub(crate) fn late_at_clients(&self, case: &Case<'_>, latency: &Progress) -> Option<Finding> {
        let lost_ms = case.loss.lost_ms;
        let (slow, base) = took(case, latency)?;
        let operations = operations(case, &case.slow)?;
        let (threads, usual) = self.worked().fold((0.0, 0.0), |sum, g| (sum.0 + g.slow, sum.1 + g.base));
        let stops = StopDelay::of(case, &case.known.stops(self.jvm).burden.stops);
        let by_stops = stops.map_or(0.0, |stops| stops.longer_ms());
        let (longer, by_threads) = (slow - base, (threads - usual).max(0.0) + by_stops);
        let cost_ms = ((longer - by_threads) * operations).min(lost_ms);
        if slow < LONGER * base || by_threads > BY_THREADS * longer || cost_ms < LEADS * lost_ms {
            return None;
        }
        if let Some(lead) = waits_all_along(case, &self.grown) {
            let mut finding = self.finding(case, &lead, &[], cost_ms / lost_ms, cost_ms, true);
            finding.why_confidence = vec![reasons::WAITS_ALL_ALONG.fact().into()];
            let throughout = facts::THROUGHOUT.is(Value::share(lead.throughout.min(1.0)));
            let doing = throughout.with("doing", Value::from(words::does(&lead.part.key)));
            let evidence = evidence(latency, (slow, base), (threads, usual), None);
            finding
                .evidence
                .extend(evidence.into_iter().chain([Evidence::summed("ledger of threads", doing)]));
            return Some(finding);
        }
        let pieces = Pieces::of(case, self.jvm).filter(|pieces| pieces.slow >= MORE_PIECES * pieces.base);
        let delayed = pieces.filter(|_| longer - by_threads >= DELAYED_ACK_MS);
        let (ground, why) = match delayed {
            Some(_) => (Ground::Incomplete, &reasons::DELAYED_ACK),
            None => (Ground::Fits, &reasons::CLIENTS_WAIT),
        };
        let sure = ground.because(case, cost_ms, why);
        let mut finding = case.finding_by(HELD_RULE, Layer::Application, self.jvm, sure, cost_ms);
        let waits = facts::LATE_AT_CLIENTS.is(Value::ms(slow)).over(Value::ms(base));
        let title = waits.with("spent", Value::ms(threads)).with("spent-baseline", Value::ms(usual));
        finding.title = title.with("pieces", pieces.map(|pieces| Value::from(pieces.fact()))).into();
        finding.culprit =
            if pieces.is_some() { culprits::PIECES.fact() } else { culprits::OUTSIDE.fact() }.into();
        finding.meaning = meanings::LATE_AT_CLIENTS.fact().into();
        finding.evidence = evidence(latency, (slow, base), (threads, usual), pieces);
        finding.remedies = remedies(pieces.is_some());
        let waits = checks::CLIENTS_WAIT.is(Value::ms(base));
        finding.verify = vec![waits.with("measured-on", Value::name(&latency.measured_on)).into()];
        finding.windows.clone_from(&case.slow);
        Some(finding)
    }
}

impl Growth<'_> {
    /// That answers are sent in more pieces while far fewer are asked for, where clients measure
    /// nothing: threads that answer have nothing to do meanwhile, and who waits for the last piece
    /// asks for nothing else. `None` where the threads that answer send as often for each request
    /// as ever.
    pub(crate) fn in_more_pieces(&self, case: &Case<'_>) -> Option<Finding> {
        let answered = |windows: &[Window]| Answered::of(case.recording, self.jvm, windows);
        let (slow, base) = (answered(&case.slow)?, answered(&case.base)?);
        let serves: FxHashSet<ThreadId> = case.chains().application_threads(self.jvm).into_iter().collect();
        let serves = |thread: ThreadId| serves.contains(&thread) && case.chains().serves(thread);
        let per = |windows: &[Window], answered: &Answered| {
            calls_of(case, self.jvm, windows, &WRITES, serves) / answered.count
        };
        let pieces = Pieces { slow: per(&case.slow, &slow), base: per(&case.base, &base) };
        let is_so = pieces.base > 0.0
            && pieces.slow >= MORE_PIECES * pieces.base
            && pieces.slow >= pieces.base + ONE_MORE
            && slow.rate() * FEWER <= base.rate();
        if !is_so {
            return None;
        }
        let cost_ms = case.loss.lost_ms;
        let sure = Ground::Fits.because(case, cost_ms, &reasons::CLIENTS_NOT_SEEN);
        let mut finding = case.finding_by(HELD_RULE, Layer::Application, self.jvm, sure, cost_ms);
        let title = facts::IN_MORE_PIECES.is(Value::plain(pieces.slow)).over(Value::plain(pieces.base));
        finding.title = title.into();
        finding.culprit = culprits::PIECES.fact().into();
        finding.meaning = meanings::LATE_AT_CLIENTS.fact().into();
        finding.evidence = vec![Evidence::summed(source::SYSCALLS, pieces.fact())];
        finding.remedies = remedies(true);
        let sends = checks::SENDS_AS_BEFORE.is(Value::plain(pieces.base));
        finding.verify = vec![sends.into()];
        finding.windows.clone_from(&case.slow);
        Some(finding)
    }
}

fn evidence(
    latency: &Progress,
    (slow, base): (f64, f64),
    (threads, usual): (f64, f64),
    pieces: Option<Pieces>,
) -> Vec<Evidence> {
    let waits = facts::AT_CLIENTS.is(Value::ms(slow)).over(Value::ms(base));
    let waits = waits.with("measured-on", Value::name(&latency.measured_on));
    let spent = facts::SPENT.is(Value::ms(threads)).over(Value::ms(usual));
    let rows = [Evidence::summed("clients", waits), Evidence::summed("ledger of threads", spent)];
    rows.into_iter().chain(pieces.map(|pieces| Evidence::summed(source::SYSCALLS, pieces.fact()))).collect()
}

fn remedies(in_pieces: bool) -> Vec<Remedy> {
    if in_pieces {
        return vec![remedies::WRITE_AT_ONCE.remedy(), remedies::TCP_NODELAY.remedy()];
    }
    vec![remedies::LOOK_BETWEEN.remedy()]
}

/// Calls that send, for each operation.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pieces {
    slow: f64,
    base: f64,
}

impl Pieces {
    /// Of the threads of an application; `None` where calls or operations were not counted.
    fn of(case: &Case<'_>, jvm: ProcessId) -> Option<Self> {
        let per = |windows: &[Window]| Some(sends(case, jvm, windows) / operations(case, windows)?);
        let pieces = Self { slow: per(&case.slow)?, base: per(&case.base)? };
        (pieces.base > 0.0).then_some(pieces)
    }

    fn fact(self) -> Fact {
        facts::PIECES.is(Value::plain(self.slow)).over(Value::plain(self.base))
    }
}

pub(super) fn sends(case: &Case<'_>, jvm: ProcessId, windows: &[Window]) -> f64 {
    calls_made(case, jvm, windows, &WRITES)
}

/// How often the application's threads made some calls of the kernel in windows.
pub(super) fn calls_made(case: &Case<'_>, jvm: ProcessId, windows: &[Window], calls: &[&str]) -> f64 {
    let of_application =
        |id: ThreadId| case.recording.threads.get(id.index()).is_some_and(|thread| thread.role == Role::App);
    calls_of(case, jvm, windows, calls, of_application)
}

/// The same of some threads.
fn calls_of(
    case: &Case<'_>,
    jvm: ProcessId,
    windows: &[Window],
    calls: &[&str],
    is_one: impl Fn(ThreadId) -> bool,
) -> f64 {
    let within = Intervals::of_windows(windows);
    let made = case.recording.counts_of(count::SYSCALL_TOTALS).filter(|made| made.process() == jvm);
    let of_them = made.filter(|made| calls.contains(&made.name()) && made.thread().is_some_and(&is_one));
    of_them.map(|made| within.counted_within(&made)).sum()
}

/// Operations that a series counts in windows.
pub(super) fn operations(case: &Case<'_>, windows: &[Window]) -> Option<f64> {
    let counted = windows.iter().filter_map(|w| thread_ledger::operations(case.recording, *w));
    Some(counted.sum::<f64>()).filter(|n| *n > 0.0)
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use fathom_recording::vocabulary::{label, live, series};
    use fathom_recording::{Recording, SeriesInfo, SeriesKind, Sink, Source};

    use super::*;
    use crate::built::{Built, whole_run};
    use crate::waits::Category;

    const S: i64 = 1_000_000_000;

    /// A minute of a service that answers 100 operations a second, 20 in the middle third, each of
    /// which clients wait `late_ms` for then and a millisecond else, with `sends` calls each.
    fn service(late_ms: f64, sends: u64) -> (ProcessId, Recording) {
        let mut built = Built::jvm("25", "G1", 60.0);
        let source = built.recording.add_source(Source { format: "table".into(), ..Source::default() });
        let mut column = |name: &str, unit: &str, kind, of: &dyn Fn(bool) -> f64| {
            let info = SeriesInfo {
                name: name.into(),
                unit: unit.into(),
                instance: String::new(),
                kind,
                process: None,
                source,
            };
            let id = built.recording.add_series(info);
            (0..60).for_each(|s| built.recording.point(id, s * S, S, of((20..40).contains(&s))));
        };
        column(series::THROUGHPUT, "ops/s", SeriesKind::Rate, &|slow| if slow { 20.0 } else { 100.0 });
        column("avg_latency", "ms", SeriesKind::Latency, &|slow| if slow { late_ms } else { 1.0 });
        built.watched("worker", 60.0);
        built.counted_calls("worker", "write", 0.0, 20_000.0, 2_000);
        built.counted_calls("worker", "write", 20.0, 20_000.0, 400 * sends);
        (built.jvm, built.sealed())
    }

    fn late(late_ms: f64, sends: u64, spent: f64) -> (bool, Option<Finding>) {
        late_with(late_ms, sends, spent, Vec::new())
    }

    /// `network`: when some thread waits for the network.
    fn late_with(late_ms: f64, sends: u64, spent: f64, network: Vec<(i64, i64)>) -> (bool, Option<Finding>) {
        let (jvm, recording) = service(late_ms, sends);
        let loss = crate::Loss { lost_ms: 16_000.0, ..crate::Loss::default() };
        let window = |from_s: i64, to_s: i64| vec![Window { from_ns: from_s * S, to_ns: to_s * S }];
        let whole = whole_run(&recording);
        let case = Case { slow: window(20, 40), base: window(0, 20), whole_run: false, loss, ..whole };
        let latency = Progress::of_latency(&recording, |_| true).unwrap();
        let mut grown = crate::growth::tests::grew(&[(Category::Network, "", 0.5, spent)]);
        grown.grown.iter_mut().for_each(|g| g.part.intervals.clone_from(&network));
        (rose(&case, &latency), Growth { jvm, ..grown }.late_at_clients(&case, &latency))
    }

    #[test]
    fn where_a_thread_is_in_a_new_wait_all_along_that_is_what_clients_wait_for() {
        let rule = |waits: (i64, i64)| late_with(44.0, 1, 0.6, vec![waits]).1.unwrap().rule;
        assert_eq!(rule((20 * S, 25 * S)), HELD_RULE);
        assert_eq!(rule((20 * S, 40 * S)), crate::growth::RULE);
    }

    #[test]
    fn answers_in_pieces_that_come_as_late_as_an_acknowledgement_may_be_are_likely() {
        let (rose, finding) = late(44.0, 3, 0.6);
        let finding = finding.unwrap();
        assert!(rose && finding.confidence == Confidence::Likely, "{finding:#?}");
        assert_eq!(finding.culprit.fact().metric, &culprits::PIECES);
        finding.title.states(
            &facts::LATE_AT_CLIENTS,
            &[
                ("value", "44 ms"),
                ("baseline", "1.00 ms"),
                ("spent", "0.60 ms"),
                ("spent-baseline", "0.50 ms"),
            ],
        );
        finding.title.states(&facts::PIECES, &[("value", "3.0"), ("baseline", "1.0")]);
        assert!(finding.advises(&remedies::TCP_NODELAY), "{:?}", finding.remedies);
    }

    #[test]
    fn answers_that_are_late_in_one_piece_may_be_held_anywhere() {
        let (rose, finding) = late(44.0, 1, 0.6);
        let finding = finding.unwrap();
        assert!(rose && finding.confidence == Confidence::ConsistentWith);
        let title = finding.says(&facts::LATE_AT_CLIENTS);
        assert_eq!(title.detail("pieces"), None);
    }

    /// A service whose answers are counted at its connections: 400 a second, and `rate` in the
    /// second half, each sent by `sends` calls of the thread that serves.
    fn pieces(rate: f64, sends: u64) -> Option<Finding> {
        let mut built = Built::jvm("25", "G1", 40.0);
        let jvm = built.jvm;
        let halves = |first: f64, second: f64| [(0.0, 20.0, first), (20.0, 40.0, second)];
        built.gauge(live::PROCESS_REQUESTS, "", Some(jvm), &halves(400.0, rate));
        built.gauge(live::PROCESS_REQUEST_TIME, "", Some(jvm), &halves(0.1, 0.1));
        built.watched("conn", 40.0);
        let accepted = [(label::ACCEPTED, "yes"), (label::PEER, "10.0.0.1:40000")];
        built.call_with("conn", "read", (1.0, 2.0), &[], &accepted);
        built.counted_calls("conn", "write", 0.0, 20_000.0, 8_000);
        built.counted_calls("conn", "write", 20.0, 20_000.0, (rate * 20.0) as u64 * sends);
        // What is no answer: a log.
        built.counted_calls("logger", "write", 20.0, 20_000.0, 100_000);
        let recording = built.sealed();
        let window = |from_s: i64, to_s: i64| vec![Window { from_ns: from_s * S, to_ns: to_s * S }];
        let loss = crate::Loss { lost_ms: 19_000.0, ..crate::Loss::default() };
        let whole = whole_run(&recording);
        let case = Case { slow: window(20, 40), base: window(0, 20), whole_run: false, loss, ..whole };
        Growth { jvm, ..crate::growth::tests::grew(&[]) }.in_more_pieces(&case)
    }

    #[test]
    fn far_fewer_answers_of_more_pieces_each_are_reported_where_clients_measure_nothing() {
        let finding = pieces(20.0, 3).expect("more pieces");
        assert_eq!(finding.confidence, Confidence::ConsistentWith);
        finding.title.states(&facts::IN_MORE_PIECES, &[("value", "3.0"), ("baseline", "1.0")]);
        assert!(finding.advises(&remedies::TCP_NODELAY), "{:?}", finding.remedies);
        assert!(pieces(20.0, 1).is_none(), "in one piece each");
        assert!(pieces(380.0, 3).is_none(), "as many as ever are asked for");
    }

    #[test]
    fn clients_that_wait_as_ever_or_for_what_threads_do_are_none() {
        let (rose, finding) = late(1.2, 1, 0.6);
        assert!(!rose && finding.is_none());
        assert!(late(44.0, 3, 40.0).1.is_none(), "threads spend it");
    }
}
