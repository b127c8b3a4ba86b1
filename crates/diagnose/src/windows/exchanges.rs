//! Progress that a live recording counts itself, where no series is given: how often the threads of
//! a JVM read and wrote.
//!
//! ```text
//! system calls of application threads, counted each second ─┬─ that read  ─┬─▶ the fewer of both: exchanges
//!                                                           └─ that write ─┘
//! ```
//!
//! A request is read and its reply written, by the server as by the client. The fewer of both is
//! taken: a service that begins to log more writes more, and does no more for it. Calls of a futex
//! are no measure of progress, for they rise with contention.
//!
//! Limits. How many exchanges an operation makes is not known, and may change: that fewer were made
//! is a loss only where each of them took longer, which the ledger of threads says
//! ([`crate::growth`]). A program that reads and writes nothing has none.

use fathom_recording::vocabulary::call::{READS, WRITES};
use fathom_recording::vocabulary::{count, live, source};
use fathom_recording::{Count, ProcessId, Recording, Role, Series};

use super::dips::{self, Found};
use super::latency;
use super::lost::lost_progress;
use super::progress::{Progress, REQUESTS};
use crate::{Window, sight, stats};

/// Length of a tick: calls are counted by the second.
const TICK_NS: i64 = 1_000_000_000;
/// The same of requests, which are counted twice a second.
const REQUESTS_TICK_NS: i64 = 500_000_000;
/// A day of ticks, so that no input asks for unbounded memory.
const MOST_TICKS: i64 = 86_400;
/// Two levels are the same where they differ by less than this part of what another one is above
/// them.
const AS_BEFORE: f64 = 0.25;
/// How many times of the usual requests must take for that to be what is judged.
const TIMES_LATER: f64 = 2.0;
/// Share of the usual number of exchanges from which on a tick counts as usual, and below which a
/// load counts as ended …
const FULL: f64 = 0.8;
const ENDED: f64 = 0.05;
/// … if that was so long before the end of the recording at most, nanoseconds.
const END_OF_LOAD_NS: i64 = 4_000_000_000;
/// Exchanges a second below which there is no level that could fall.
const LEAST_PER_S: f64 = 20.0;

/// The exchanges of the JVM that lost most of them, with the windows in which it did; `None` where
/// no JVM's fell.
pub(crate) fn find(recording: &Recording, jvms: &[ProcessId]) -> Option<(Progress, Found)> {
    let of_each = jvms.iter().filter_map(|jvm| {
        let progress = of(recording, *jvm)?;
        let found = dips::find(&progress).filter(|found| !found.slow.is_empty())?;
        if is_rise_between(&progress, &found) {
            return None;
        }
        Some((lost(&progress, &found), progress, found))
    });
    let (_, progress, found) = of_each.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some((progress, found))
}

/// Whether more exchanges were made for a time, and as few before it as after it: what begins and
/// ends with them is the trouble as well as it may be health, for an operation may make more of
/// them. A warm-up rises to what is usual; before this there is a level.
fn is_rise_between(progress: &Progress, found: &Found) -> bool {
    let level = |windows: &[Window]| {
        stats::median(&stats::sorted(progress.within(windows).map(|value| value.unwrap_or(0.0))))
    };
    let Some(warm_up) = found.warm_up else { return false };
    let later_half = Window { from_ns: warm_up.from_ns + warm_up.length_ns() / 2, ..warm_up };
    let ends_with_it = found.slow.iter().all(|slow| found.base.iter().all(|base| base.to_ns <= slow.from_ns));
    let Some(((before, between), after)) =
        level(&[later_half]).zip(level(&found.base)).zip(level(&found.slow))
    else {
        return false;
    };
    ends_with_it && (before - after).abs() < AS_BEFORE * (between - after)
}

/// Requests that are answered later.
pub(super) struct Later {
    pub(super) requests: Progress,
    pub(super) answers: Progress,
    pub(super) found: Found,
}

/// The JVM whose answers came latest, where as many requests as ever were answered, or where that
/// is the smaller loss (`fewer`): what asks at a pace of its own asks as often when it waits for
/// longer.
pub(super) fn later(
    recording: &Recording,
    jvms: &[ProcessId],
    fewer: Option<(&Progress, &Found)>,
) -> Option<Later> {
    let lost_ms = |progress: &Progress, found: &Found| {
        lost_progress(progress, &found.slow, &found.base).map_or(0.0, |loss| loss.lost_ms)
    };
    let by_fewer = fewer.map_or(0.0, |(progress, found)| lost_ms(progress, found));
    let of_each = jvms.iter().filter_map(|jvm| {
        let (requests, answers) = (requests(recording, *jvm)?, Progress::of_answers(recording, *jvm)?);
        let found = dips::find(&answers).filter(|found| !found.slow.is_empty())?;
        let (slow, base) = (answers.mean_shown(&found.slow)?, answers.mean_shown(&found.base)?);
        let lost = lost_ms(&answers, &found);
        let is_later = slow >= TIMES_LATER * base && lost > latency::MOST_OF_IT * by_fewer;
        (is_later && latency::more_asked(&requests, (&found.slow, &found.base)).is_none())
            .then_some((lost, Later { requests, answers, found }))
    });
    Some(of_each.max_by(|a, b| a.0.total_cmp(&b.0))?.1)
}

/// Whether a JVM answered so many more requests in some windows than in others that what its
/// threads did else there is that.
pub(super) fn answered_more(
    recording: &Recording,
    jvms: &[ProcessId],
    windows: (&[Window], &[Window]),
) -> bool {
    let mut counted = jvms.iter().filter_map(|jvm| requests(recording, *jvm));
    counted.any(|requests| latency::more_asked(&requests, windows).is_some())
}

/// How many exchanges fewer were made in the slow windows than usual.
pub(super) fn lost(progress: &Progress, found: &Found) -> f64 {
    let rate = |windows: &[Window]| {
        let values: Vec<f64> = progress.within(windows).map(|value| value.unwrap_or(0.0)).collect();
        (stats::mean(&values).unwrap_or(0.0), values.len() as f64)
    };
    let ((slow, ticks), (base, _)) = (rate(&found.slow), rate(&found.base));
    (base - slow) * ticks
}

/// The exchanges of a JVM's application threads by the second, or the requests that it answered
/// where these were recorded; `None` where neither were counted, or they are few.
pub(crate) fn of(recording: &Recording, jvm: ProcessId) -> Option<Progress> {
    requests(recording, jvm).or_else(|| calls(recording, jvm))
}

/// Whether a collector lost so many of what it counts that these look like fewer.
fn is_lossy(recording: &Recording, format: &str) -> bool {
    let mut sources = recording.sources.iter().filter(|source| source.format == format);
    sources.any(|source| sight::too_lossy(source).is_some())
}

/// The requests that a JVM answered.
fn requests(recording: &Recording, jvm: ProcessId) -> Option<Progress> {
    if is_lossy(recording, source::REQUESTS) {
        return None;
    }
    let is_own = |series: &&Series| {
        series.info.name == live::PROCESS_REQUESTS.name && series.info.process == Some(jvm)
    };
    let series = recording.series.iter().find(is_own)?;
    let ends = |i: usize| series.t_ns[i].saturating_add(series.dt_ns[i]);
    let (from_ns, to_ns) = (*series.t_ns.first()?, ends(series.t_ns.len().checked_sub(1)?));
    let mut progress = ticks(from_ns, to_ns, REQUESTS_TICK_NS)?;
    progress.unit = REQUESTS.into();
    progress.measured_on = format!("requests that {} answered", recording.process_name(jvm));
    let mut sums = vec![0.0; progress.stalled.len()];
    for (i, rate) in series.value.iter().enumerate().filter(|(_, rate)| rate.is_finite()) {
        let answered = rate.max(0.0) * series.dt_ns[i].max(0) as f64 / 1e9;
        spread(&mut sums, &progress, (series.t_ns[i], ends(i)), answered);
    }
    let rates = sums.into_iter().map(|sum| sum * 1e9 / REQUESTS_TICK_NS as f64);
    progress.values = rates.map(Some).collect();
    let mean = progress.values.iter().flatten().sum::<f64>() / progress.values.len().max(1) as f64;
    (mean >= LEAST_PER_S).then(|| without_end_of_load(progress))
}

/// Leaves out the end of a load that ended shortly before the recording did: from the last tick on
/// in which about as many exchanges as usual were made, where hardly any are made at the end.
fn without_end_of_load(mut progress: Progress) -> Progress {
    let values = &progress.values;
    let known = || values.iter().flatten().copied();
    let Some(usual) = stats::median(&stats::sorted(known().filter(|value| *value > 0.0))) else {
        return progress;
    };
    let at_the_end = values.last().copied().flatten().unwrap_or(0.0);
    let as_usual = values.iter().rposition(|value| value.is_some_and(|value| value >= FULL * usual));
    let ends = as_usual.map_or(0, |last| last + 1);
    let rest_ns = (values.len() - ends) as i64 * progress.tick_ns;
    if ends > 0 && at_the_end <= ENDED * usual && rest_ns <= END_OF_LOAD_NS {
        progress.values.truncate(ends);
        progress.stalled.truncate(ends);
    }
    progress
}

/// Whole ticks between two timestamps, without values.
pub(super) fn ticks(from_ns: i64, to_ns: i64, tick_ns: i64) -> Option<Progress> {
    // The first and the last are counted in part.
    let ticks = usize::try_from((to_ns.checked_sub(from_ns)? / tick_ns).min(MOST_TICKS)).ok()?;
    Some(Progress {
        from_ns,
        tick_ns,
        values: Vec::new(),
        stalled: vec![false; ticks],
        of_latency: false,
        counts: Vec::new(),
        unit: String::new(),
        measured_on: String::new(),
    })
}

/// The calls of its application threads that read and wrote.
fn calls(recording: &Recording, jvm: ProcessId) -> Option<Progress> {
    if is_lossy(recording, source::SYSCALLS) {
        return None;
    }
    let counted: Vec<_> =
        recording.counts_of(count::SYSCALL_TOTALS).filter(|made| made.process() == jvm).collect();
    let from_ns = counted.iter().map(|made| made.t0_ns()).min()?;
    let to_ns = counted.iter().map(|made| made.t1_ns()).max()?;
    let mut progress = ticks(from_ns, to_ns, TICK_NS)?;
    progress.unit = "exchanges/s".into();
    progress.measured_on = format!("exchanges (a read and a write) of {}", recording.process_name(jvm));
    let ticks = progress.stalled.len();
    let (mut reads, mut writes) = (vec![0.0; ticks], vec![0.0; ticks]);
    let is_application = |made: &Count<'_>| {
        let thread = made.thread().and_then(|id| recording.threads.get(id.index()));
        thread.is_some_and(|thread| thread.role == Role::App)
    };
    for made in counted.iter().filter(|made| is_application(made)) {
        let sums = match made.name() {
            name if READS.contains(&name) => &mut reads,
            name if WRITES.contains(&name) => &mut writes,
            _ => continue,
        };
        spread(sums, &progress, (made.t0_ns(), made.t1_ns()), made.count() as f64);
    }
    progress.values = reads.iter().zip(&writes).map(|(read, written)| Some(read.min(*written))).collect();
    let mean = progress.values.iter().flatten().sum::<f64>() / ticks.max(1) as f64;
    (mean >= LEAST_PER_S).then(|| without_end_of_load(progress))
}

/// Adds calls that were counted in an interval to the ticks that it touches, evenly.
pub(super) fn spread(sums: &mut [f64], grid: &Progress, (from_ns, to_ns): (i64, i64), calls: f64) {
    let length_ns = to_ns.saturating_sub(from_ns).max(1) as f64;
    let first = usize::try_from(from_ns.saturating_sub(grid.from_ns) / grid.tick_ns).unwrap_or(usize::MAX);
    for (tick, sum) in sums.iter_mut().enumerate().skip(first) {
        let window = grid.window(tick, tick + 1);
        let within_ns = to_ns.min(window.to_ns).saturating_sub(from_ns.max(window.from_ns));
        if within_ns <= 0 {
            break;
        }
        *sum += calls * within_ns as f64 / length_ns;
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::Sink as _;

    use super::*;
    use crate::built::Built;

    /// A thread's calls of each second, by name.
    fn recorded(calls: &[(&str, &dyn Fn(i64) -> u64)]) -> (Recording, ProcessId) {
        let mut built = Built::jvm("17", "G1", 60.0);
        for s in 0..60 {
            for (name, of) in calls {
                built.counted_calls("worker", name, s as f64, 1_000.0, of(s));
            }
        }
        let jvm = built.jvm;
        (built.sealed(), jvm)
    }

    fn slow(s: i64) -> bool {
        (20..30).contains(&s)
    }

    #[test]
    fn fewer_replies_are_windows_and_a_log_that_is_written_more_is_no_progress() {
        let requests = |s: i64| if slow(s) { 40 } else { 500 };
        let with_log = |s: i64| requests(s) + if slow(s) { 90_000 } else { 0 };
        let (recording, jvm) = recorded(&[("recvfrom", &requests), ("write", &with_log)]);
        let (progress, found) = find(&recording, &[jvm]).unwrap();
        let seconds = |ns: i64| (ns - progress.from_ns) / TICK_NS;
        assert_eq!(found.slow.len(), 1);
        assert_eq!((seconds(found.slow[0].from_ns), seconds(found.slow[0].to_ns)), (20, 30));
        assert_eq!(progress.values[25], Some(40.0));
    }

    #[test]
    fn more_exchanges_for_a_time_make_neither_side_slow() {
        let windows = |before: u64, after: u64| {
            let level = move |s: i64| if s < 20 { before } else { after };
            let requests = move |s: i64| if (20..40).contains(&s) { 500 } else { level(s) };
            let (recording, jvm) = recorded(&[("read", &requests), ("write", &requests)]);
            find(&recording, &[jvm]).map(|(_, found)| found.slow.len())
        };
        assert_eq!(windows(200, 200), None, "an operation may have made more of them");
        assert_eq!(windows(400, 100), Some(1), "fewer than ever");
    }

    #[test]
    fn a_load_that_ends_shortly_before_the_recording_is_no_dip() {
        let ends = |at: i64| {
            let requests = move |s: i64| if s < at { 500 } else { u64::from(s == at) * 130 };
            let (recording, jvm) = recorded(&[("read", &requests), ("write", &requests)]);
            find(&recording, &[jvm]).map(|(_, found)| found.slow.len())
        };
        assert_eq!(ends(57), None);
        assert_eq!(ends(40), Some(1), "twenty seconds are no end");
    }

    #[test]
    fn exchanges_of_a_collector_that_lost_a_twentieth_of_the_calls_are_not_used() {
        let requests = |s: i64| if slow(s) { 40 } else { 500 };
        let found = |lost: u64| {
            let (mut recording, jvm) = recorded(&[("read", &requests), ("write", &requests)]);
            let format = source::SYSCALLS.to_owned();
            recording.sources.push(fathom_recording::Source {
                format,
                records: 1_000,
                lost,
                ..Default::default()
            });
            find(&recording, &[jvm]).is_some()
        };
        assert!(found(10) && !found(200));
    }

    #[test]
    fn calls_of_one_side_or_too_few_of_both_are_no_exchanges() {
        let many = |s: i64| if slow(s) { 40 } else { 500 };
        let few = |_: i64| 2;
        assert!(find(&recorded(&[("write", &many)]).0, &[ProcessId(0)]).is_none());
        let (recording, jvm) = recorded(&[("write", &many), ("read", &few)]);
        assert!(of(&recording, jvm).is_none());
        let (recording, jvm) = recorded(&[("futex", &many)]);
        assert!(of(&recording, jvm).is_none());
    }

    /// Whoever reads and writes much apart from its requests is judged by them, twice a second.
    #[test]
    fn requests_that_were_counted_are_taken_instead_of_calls() {
        let steady = |_: i64| 5_000;
        let (mut recording, jvm) = recorded(&[("read", &steady), ("write", &steady)]);
        let info = fathom_recording::SeriesInfo {
            name: live::PROCESS_REQUESTS.name.into(),
            unit: live::PROCESS_REQUESTS.unit.into(),
            instance: String::new(),
            kind: live::PROCESS_REQUESTS.kind,
            process: Some(jvm),
            source: fathom_recording::SourceId(0),
        };
        let series = recording.add_series(info);
        for half in 0..120_i64 {
            let rate = if slow(half / 2) { 40.0 } else { 500.0 };
            recording.point(series, half * TICK_NS / 2, TICK_NS / 2, rate);
        }
        recording.seal();
        let (progress, found) = find(&recording, &[jvm]).unwrap();
        assert!(progress.are_requests() && progress.tick_ns == TICK_NS / 2);
        assert_eq!(progress.values[50], Some(40.0));
        let seconds = |ns: i64| (ns - progress.from_ns) / TICK_NS;
        assert_eq!((seconds(found.slow[0].from_ns), seconds(found.slow[0].to_ns)), (20, 30));
    }

    #[test]
    fn calls_of_a_long_interval_are_spread_over_it() {
        let mut built = Built::jvm("17", "G1", 60.0);
        for name in ["read", "write"] {
            built.counted_calls("worker", name, 0.0, 30_000.0, 3_000);
        }
        let (jvm, recording) = (built.jvm, built.sealed());
        let progress = of(&recording, jvm).unwrap();
        assert_eq!(progress.values, vec![Some(100.0); 30]);
    }

    /// A minute of requests, each answered after 5 ms, and after `late_ms` in ten seconds of it in
    /// which there are `rate` of them a second instead of 100.
    fn answered(late_ms: f64, rate: f64) -> Option<Later> {
        let mut built = Built::jvm("25", "G1", 60.0);
        let jvm = built.jvm;
        let halves = |usual: f64, late: f64| -> Vec<(f64, f64, f64)> {
            let of = |half: i64| if slow(half / 2) { late } else { usual * (1.0 + 0.02 * (half % 3) as f64) };
            (0..120).map(|half| (half as f64 / 2.0, half as f64 / 2.0 + 0.5, of(half))).collect()
        };
        built.gauge(live::PROCESS_REQUESTS, "", Some(jvm), &halves(100.0, rate));
        built.gauge(live::PROCESS_REQUEST_TIME, "", Some(jvm), &halves(5.0, late_ms));
        let recording = built.sealed();
        let fewer = find(&recording, &[jvm]);
        later(&recording, &[jvm], fewer.as_ref().map(|(progress, found)| (progress, found)))
    }

    #[test]
    fn where_more_requests_are_answered_threads_do_more() {
        let mut built = Built::jvm("25", "G1", 60.0);
        let jvm = built.jvm;
        let rates: Vec<_> =
            (0..60).map(|s| (s as f64, s as f64 + 1.0, if slow(s) { 900.0 } else { 90.0 })).collect();
        built.gauge(live::PROCESS_REQUESTS, "", Some(jvm), &rates);
        let recording = built.sealed();
        let seconds = |from: i64, to: i64| Window { from_ns: from * TICK_NS, to_ns: to * TICK_NS };
        let (many, few) = ([seconds(20, 30)], [seconds(30, 50)]);
        assert!(answered_more(&recording, &[jvm], (&many, &few)));
        assert!(!answered_more(&recording, &[jvm], (&few, &many)));
    }

    #[test]
    fn answers_that_come_later_are_windows_where_as_many_are_asked_for() {
        let late = answered(80.0, 100.0).expect("answers come later");
        let seconds: i64 = late.found.slow.iter().map(Window::length_ns).sum::<i64>() / TICK_NS;
        assert_eq!(seconds, 10);
        assert!(late.answers.of_latency && late.requests.are_requests());
        assert!(answered(7.0, 100.0).is_none(), "not twice as long");
        assert!(answered(80.0, 10.0).is_none(), "that they are fewer shows as much");
        assert!(answered(80.0, 200.0).is_none(), "more were asked for");
    }
}
