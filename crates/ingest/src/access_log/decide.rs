//! Infers what a log does not state: the unit of whole numbers, and whether a timestamp is the
//! start or the end of its request.
//!
//! Apache's `%D` is microseconds, Tomcat's milliseconds up to release 9 and microseconds from 10
//! on, Jetty's `%D` milliseconds; `%T` is seconds; all are whole numbers without a unit. nginx and
//! Tomcat write the end of a request, Apache and Jetty its start, in the same form. Neither is
//! guessed: a unit is accepted when every other one contradicts the log, and a timestamp is a start
//! when only then the requests are in the order in which they ended, which is the order in which
//! every server writes them.
//!
//! Decimal numbers are seconds in nginx and in Tomcat, and are taken for these unless the log
//! contradicts it, or half of the requests would take more than a second and milliseconds are just
//! as plausible.

use fathom_recording::clock::{MILLI_NS, SECOND_NS};
use fathom_recording::quantity::whole;

use super::unit::Unit;

/// Requests that an inference needs.
const FEWEST: usize = 30;
/// No request is answered in less, microseconds: receiving one and sending its answer are system
/// calls of some microseconds each, and the server works between them. Zeros are no evidence: they
/// come from coarse clocks and from requests that were refused.
const LEAST_MICROS: f64 = 10.0;
/// Share of the requests that must be shorter to exclude microseconds.
const SHARE_OF_LESS: f64 = 0.01;
/// Requests in flight at one time beyond which a unit is wrong: by default Tomcat and Jetty have
/// 200 threads, Apache 400 workers.
const MOST_IN_FLIGHT: usize = 1000;
/// The 99th percentile of durations is not longer than an hour.
const LONGEST_NS: f64 = 3600.0 * SECOND_NS as f64;
/// Decimal numbers with a larger median are seconds only where the log contradicts milliseconds.
const USUAL_S: f64 = 1.0;
/// The median of durations is not longer than a minute: clients give up earlier.
const LONGEST_USUAL_NS: f64 = 60.0 * SECOND_NS as f64;
/// A line is written at most this much later than its request ended, and the resolution of
/// timestamps.
const JITTER_NS: i64 = 500 * MILLI_NS;
/// Lines out of order that are evidence, …
const FEWEST_OUT_OF_ORDER: usize = 3;
/// … if another reading leaves a tenth of them or less.
const TIMES_FEWER: usize = 10;

/// What a timestamp marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimestampOf {
    Start,
    End,
}

/// Timestamp and duration of a request, in the order of their lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Timed {
    pub(super) at_ns: i64,
    pub(super) value: f64,
    /// Whether it got an answer that is not a refusal.
    pub(super) answered: bool,
}

/// The inferred meaning of durations and timestamps, and why.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Decision {
    /// `None`: the unit is uncertain, so that there is no latency.
    pub(super) unit: Option<Unit>,
    pub(super) unit_is: String,
    pub(super) stamp: TimestampOf,
    /// Whether that is certain.
    pub(super) stamp_known: bool,
    pub(super) stamp_is: String,
}

/// What is known of a log before the inference.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Known {
    pub(super) unit: Option<Unit>,
    /// Durations are decimal numbers.
    pub(super) decimal: bool,
    pub(super) stamp: Option<TimestampOf>,
}

/// Infers what is not known yet.
pub(super) fn decide(rows: &[Timed], resolution_ns: i64, known: Known) -> Decision {
    let (unit, unit_is) = match known.unit {
        Some(unit) => (Some(unit), format!("durations are {}", unit.words())),
        None if known.decimal => of_decimals(rows, resolution_ns),
        None => inferred(rows, resolution_ns),
    };
    let (stamp, stamp_known, stamp_is) = match (known.stamp, unit) {
        (Some(stamp), _) => (stamp, true, "by its format".to_owned()),
        (None, Some(unit)) => stamps(rows, resolution_ns, unit),
        (None, None) => (TimestampOf::End, false, "without durations it makes no difference".to_owned()),
    };
    Decision { unit, unit_is, stamp, stamp_known, stamp_is }
}

/// Seconds, unless the log contradicts that, or half of the requests would be slow and milliseconds
/// are plausible as well.
fn of_decimals(rows: &[Timed], resolution_ns: i64) -> (Option<Unit>, String) {
    if contradiction(rows, resolution_ns, Unit::Seconds).is_some() {
        return inferred(rows, resolution_ns);
    }
    let slow = rows.iter().filter(|row| row.value > USUAL_S).count();
    if slow * 2 <= rows.len() {
        return (Some(Unit::Seconds), "durations are seconds, as decimal numbers usually are".to_owned());
    }
    match contradiction(rows, resolution_ns, Unit::Millis) {
        Some(why) => (Some(Unit::Seconds), format!("durations are seconds: {why}")),
        None => (None, "decimal durations have no unit and may be seconds or milliseconds".to_owned()),
    }
}

/// The one unit that the log does not contradict.
fn inferred(rows: &[Timed], resolution_ns: i64) -> (Option<Unit>, String) {
    if rows.is_empty() {
        return (None, "no request has a duration".to_owned());
    }
    if rows.len() < FEWEST {
        let why =
            format!("durations have no unit, and {} requests are too few to infer it", whole(rows.len()));
        return (None, why);
    }
    let units = [Unit::Seconds, Unit::Millis, Unit::Micros];
    let against: Vec<Option<String>> =
        units.iter().map(|unit| contradiction(rows, resolution_ns, *unit)).collect();
    let left: Vec<Unit> =
        units.iter().zip(&against).filter(|(_, against)| against.is_none()).map(|(unit, _)| *unit).collect();
    let why: Vec<&str> = against.iter().flatten().map(String::as_str).collect();
    match left.as_slice() {
        [only] => (Some(*only), format!("durations are {}: {}", only.words(), why.join("; "))),
        [] => (None, format!("durations have no unit, and none fits: {}", why.join("; "))),
        several => {
            let words: Vec<&str> = several.iter().map(|unit| unit.words()).collect();
            (None, format!("durations have no unit and may be {}", words.join(" or ")))
        }
    }
}

/// Why durations cannot be in a unit.
fn contradiction(rows: &[Timed], resolution_ns: i64, unit: Unit) -> Option<String> {
    let mut values: Vec<f64> = rows.iter().map(|row| row.value).collect();
    values.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| values.get((values.len() as f64 * share) as usize).copied().unwrap_or(0.0);
    let (median_ns, long_ns) = (at(0.5) * unit.ns() as f64, at(0.99) * unit.ns() as f64);
    let words = unit.words();
    let micros = |row: &Timed| row.value * unit.ns() as f64 / 1e3;
    let is_too_short = |row: &&Timed| row.answered && row.value > 0.0 && micros(row) < LEAST_MICROS;
    let too_short = rows.iter().filter(is_too_short).count();
    if too_short > 0 && too_short as f64 >= SHARE_OF_LESS * rows.len() as f64 {
        return Some(format!(
            "{} requests would take less than {LEAST_MICROS} µs in {words}",
            whole(too_short)
        ));
    }
    if median_ns > LONGEST_USUAL_NS {
        return Some(format!("half of the requests would take more than a minute in {words}"));
    }
    if long_ns > LONGEST_NS {
        return Some(format!("one request in a hundred would take more than an hour in {words}"));
    }
    let in_flight = [TimestampOf::Start, TimestampOf::End].map(|stamp| most_in_flight(rows, unit, stamp));
    let in_flight = in_flight.into_iter().min().unwrap_or(0);
    if in_flight > MOST_IN_FLIGHT {
        return Some(format!("{} requests would be in flight at once in {words}", whole(in_flight)));
    }
    let stamped = out_of_order(rows, resolution_ns, |_| 0);
    let ended = |unit: Unit| out_of_order(rows, resolution_ns, move |row| unit.of(row.value));
    let some_unit_orders =
        [Unit::Seconds, Unit::Millis, Unit::Micros].into_iter().any(|unit| is_fewer(ended(unit), stamped));
    // Timestamps that durations put in order are starts: then all requests must be in the order of
    // their ends.
    let left = ended(unit);
    if some_unit_orders && !is_fewer(left, stamped) {
        return Some(format!(
            "{} of {} requests would not be in the order of their ends in {words}",
            whole(left),
            whole(rows.len())
        ));
    }
    None
}

/// What timestamps mark, when durations are known.
fn stamps(rows: &[Timed], resolution_ns: i64, unit: Unit) -> (TimestampOf, bool, String) {
    let as_ends = out_of_order(rows, resolution_ns, |_| 0);
    let as_starts = out_of_order(rows, resolution_ns, |row| unit.of(row.value));
    let of = |stamp, few: usize, many: usize, word: &str| {
        let why = format!(
            "as {word}s, {} of {} requests are not in the order in which they ended; otherwise {}",
            whole(few),
            whole(rows.len()),
            whole(many)
        );
        (stamp, true, why)
    };
    if is_fewer(as_starts, as_ends) {
        return of(TimestampOf::Start, as_starts, as_ends, "start");
    }
    if is_fewer(as_ends, as_starts) {
        return of(TimestampOf::End, as_ends, as_starts, "end");
    }
    let why = "assumed, as nginx and Tomcat write it (Apache and Jetty write the start): the order of the lines does not \
                show it, so a request may have ended later by its duration";
    (TimestampOf::End, false, why.to_owned())
}

fn is_fewer(few: usize, many: usize) -> bool {
    many >= FEWEST_OUT_OF_ORDER && few.saturating_mul(TIMES_FEWER) <= many
}

/// The largest number of requests in flight at one time, when their timestamps mark that.
fn most_in_flight(rows: &[Timed], unit: Unit, stamp: TimestampOf) -> usize {
    let mut steps: Vec<(i64, i8)> = Vec::with_capacity(2 * rows.len());
    for row in rows {
        let took_ns = unit.of(row.value);
        let (from, to) = match stamp {
            TimestampOf::Start => (row.at_ns, row.at_ns.saturating_add(took_ns)),
            TimestampOf::End => (row.at_ns.saturating_sub(took_ns), row.at_ns),
        };
        steps.extend([(from, 1), (to, -1)]);
    }
    // Ends before starts at the same time.
    steps.sort_unstable();
    let (mut now, mut most) = (0_i64, 0_i64);
    for (_, step) in steps {
        now += i64::from(step);
        most = most.max(now);
    }
    usize::try_from(most).unwrap_or(0)
}

/// Requests that ended before one that was written before them, when each ended this long after its
/// timestamp.
fn out_of_order(rows: &[Timed], resolution_ns: i64, after_ns: impl Fn(&Timed) -> i64) -> usize {
    let tolerance_ns = resolution_ns.saturating_add(JITTER_NS);
    let mut latest = i64::MIN;
    let mut count = 0;
    for row in rows {
        let end = row.at_ns.saturating_add(after_ns(row));
        count += usize::from(latest.saturating_sub(tolerance_ns) > end && latest != i64::MIN);
        latest = latest.max(end);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests of a server with this many workers: in the order of their ends, their timestamps
    /// truncated to seconds. Durations come from a fixed sequence with a long tail, in
    /// milliseconds.
    fn served(stamp: TimestampOf, per_ms: f64, scale: f64) -> Vec<Timed> {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut served: Vec<(i64, i64, f64)> = (0..3000)
            .map(|i| {
                let start = 1_795_520_946 * SECOND_NS + i * 40 * MILLI_NS;
                // Nothing is answered in less than a twentieth of a millisecond.
                let ms = 0.05 + scale * (-random().max(1e-9).ln()).powi(2);
                (start, start + (ms * 1e6) as i64, ms)
            })
            .collect();
        served.sort_by_key(|(_, end, _)| *end);
        let truncated = |ns: i64| ns / SECOND_NS * SECOND_NS;
        served
            .into_iter()
            .map(|(start, end, ms)| Timed {
                at_ns: truncated(if stamp == TimestampOf::Start { start } else { end }),
                value: (ms * per_ms).floor(),
                answered: true,
            })
            .collect()
    }

    #[test]
    fn a_unit_is_taken_when_every_other_contradicts_the_log() {
        // Slow requests, timestamped at their start as Apache does: the order of the ends
        // distinguishes all units.
        let of = |rows: &[Timed]| decide(rows, SECOND_NS, Known::default());
        assert_eq!(of(&served(TimestampOf::Start, 1000.0, 400.0)).unit, Some(Unit::Micros));
        let millis = of(&served(TimestampOf::Start, 1.0, 400.0));
        assert_eq!(
            (millis.unit, millis.stamp, millis.stamp_known),
            (Some(Unit::Millis), TimestampOf::Start, true)
        );
        let seconds = of(&served(TimestampOf::Start, 0.001, 4000.0));
        assert_eq!(seconds.unit, Some(Unit::Seconds), "{}", seconds.unit_is);
    }

    #[test]
    fn what_is_not_certain_is_left_open() {
        // Ends that show nothing of units, and durations that two units fit.
        let mut slow = served(TimestampOf::End, 1.0, 100.0);
        slow.retain(|row| row.value >= LEAST_MICROS);
        let open = decide(&slow, SECOND_NS, Known::default());
        assert_eq!(open.unit, None, "{}", open.unit_is);
        assert!(open.unit_is.contains("milliseconds or microseconds"), "{}", open.unit_is);
        let few = decide(&served(TimestampOf::Start, 1.0, 400.0)[..20], SECOND_NS, Known::default());
        assert!(few.unit.is_none() && few.unit_is.contains("too few"));
        // No unit that is accepted is ever wrong, whatever the timestamps mark and however long
        // requests take.
        for stamp in [TimestampOf::Start, TimestampOf::End] {
            for scale in [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0] {
                for (per_ms, unit) in [(1.0, Unit::Millis), (1000.0, Unit::Micros), (0.001, Unit::Seconds)] {
                    let decision = decide(&served(stamp, per_ms, scale), SECOND_NS, Known::default());
                    let right = decision.unit.is_none_or(|taken| taken == unit);
                    assert!(right, "{stamp:?} {scale} {unit:?}: {}", decision.unit_is);
                }
            }
        }
    }

    #[test]
    fn decimals_are_seconds_unless_something_speaks_against_it() {
        let of = |rows: &[Timed], per: f64| {
            let rows: Vec<Timed> =
                rows.iter().map(|row| Timed { value: (row.value * per).round() / 1e3, ..*row }).collect();
            decide(&rows, SECOND_NS, Known { decimal: true, ..Known::default() })
        };
        // Values of microseconds: as seconds with three decimals, and as milliseconds with three.
        let fast = served(TimestampOf::End, 1000.0, 10.0);
        assert_eq!(of(&fast, 1e-3).unit, Some(Unit::Seconds));
        let millis = of(&fast, 1.0);
        assert_eq!(millis.unit, None, "{}", millis.unit_is);
        assert!(millis.unit_is.contains("milliseconds"), "{}", millis.unit_is);
        // Half of the requests take seconds, and some take what milliseconds would make next to
        // nothing.
        let slow = served(TimestampOf::End, 1000.0, 3000.0);
        let seconds = of(&slow, 1e-3);
        assert_eq!(seconds.unit, Some(Unit::Seconds), "{}", seconds.unit_is);
        // In a queue that would be too long with seconds.
        let crowded = served(TimestampOf::Start, 1000.0, 400.0);
        let millis = of(&crowded, 1.0);
        assert_ne!(millis.unit, Some(Unit::Seconds), "{}", millis.unit_is);
        // A few lines are seconds, too.
        assert_eq!(of(&fast[..3], 1e-3).unit, Some(Unit::Seconds));
    }

    #[test]
    fn timestamps_are_what_puts_requests_in_the_order_of_their_ends() {
        for stamp in [TimestampOf::Start, TimestampOf::End] {
            let known = Known { unit: Some(Unit::Millis), ..Known::default() };
            let slow = decide(&served(stamp, 1.0, 1000.0), SECOND_NS, known);
            assert_eq!((slow.stamp, slow.stamp_known), (stamp, true), "{}", slow.stamp_is);
            let fast = decide(&served(stamp, 1.0, 3.0), SECOND_NS, known);
            assert_eq!((fast.stamp, fast.stamp_known), (TimestampOf::End, false));
        }
    }

    #[test]
    fn wild_numbers_do_no_harm() {
        let wild = [i64::MIN, i64::MAX, 0, -1, i64::MAX];
        let rows: Vec<Timed> = (0..100)
            .map(|i| Timed { at_ns: wild[i % 5], value: 1e17 * (i % 3) as f64, answered: true })
            .collect();
        decide(&rows, SECOND_NS, Known::default());
        decide(&rows, SECOND_NS, Known { decimal: true, ..Known::default() });
        decide(&rows, 1, Known { unit: Some(Unit::Seconds), ..Known::default() });
    }
}
