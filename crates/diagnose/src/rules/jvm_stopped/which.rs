//! Which stops are reported: the share of a run or of a part of it, long ones, and those that stand
//! out.

use crate::burden::Burden;
use crate::facts::{Value, titles};
use crate::intervals::Intervals;
use crate::limits::LONG_MS;
use crate::stop_delay::StopDelay;
use crate::{Case, Fact, MATTERS_SHARE, Window};

/// Slow windows that are stops for as much of their time were picked for that: a share of them says
/// nothing.
const PICKED: f64 = 0.8;
/// Stops below a second that are reported for standing out: whether one or two of them will come
/// again, nobody can know.
const SEVERAL: usize = 3;
/// What stops that were picked must make up of all of the run's to stand for them.
const NEARLY_ALL: f64 = 0.75;

/// Stops that are to be reported.
pub(super) struct Seen {
    pub(super) stops: Intervals,
    pub(super) cost_ms: f64,
    pub(super) title: Fact,
    /// What requests wait for them, where as many as ever come.
    pub(super) delay: Option<StopDelay>,
}

/// What a series shows as lost, so far as stops took it.
pub(super) fn in_windows(case: &Case<'_>, burden: &Burden) -> Option<Seen> {
    let stops = burden.stops.and(&Intervals::of_windows(&case.slow));
    let base_ms = burden.stops.and(&Intervals::of_windows(&case.base)).length_ms();
    let delay = StopDelay::of(case, &burden.stops);
    let by_delay_ms = delay.map_or(0.0, |delay| delay.share * case.loss.lost_ms);
    let cost_ms = case.excess_ms(stops.length_ms(), base_ms).max(by_delay_ms);
    let length_ms = Case::length_ms(&case.slow);
    case.matters(cost_ms).then(|| Seen {
        title: titles::STOPPED_IN_WINDOWS.is(Value::ms(stops.length_ms())).with("of", Value::ms(length_ms)),
        stops,
        cost_ms,
        delay,
    })
}

/// What stands out in absolute terms.
pub(super) fn over_run(case: &Case<'_>, burden: &Burden) -> Option<Seen> {
    let slow = Intervals::of_windows(&case.slow);
    let all = burden.stops.and(&slow);
    let within = |window: &Window| all.and(&Intervals::of_windows(&[*window]));
    let Some(heavy) = burden.heavy.filter(|heavy| !within(&heavy.window).is_empty()) else {
        return standing_out(case, burden, &slow, all);
    };
    if heavy.whole && !case.whole_run && all.length_ms() >= PICKED * slow.length_ms() {
        // A few stops are not to be reported for the run's share: the whole run is looked at as
        // well. Those that make up nearly all of it are, as the stops that they are.
        let is_most = all.length_ms() >= NEARLY_ALL * burden.stops.length_ms();
        return is_most.then(|| standing_out(case, burden, &slow, all)).flatten();
    }
    let stops = if heavy.whole { all } else { within(&heavy.window) };
    let stopped = if heavy.whole { &titles::STOPPED_IN_RUN } else { &titles::STOPPED_IN_PART };
    let title = stopped.is(Value::share(heavy.share)).with("of", Value::ms(heavy.ms));
    Some(Seen { cost_ms: stops.length_ms(), stops, title, delay: None })
}

/// Long stops, and others that were picked for standing out of their run.
fn standing_out(case: &Case<'_>, burden: &Burden, slow: &Intervals, all: Intervals) -> Option<Seen> {
    let long: Vec<(i64, i64)> = burden.long().filter(|(from, to)| slow.touches(*from, *to)).collect();
    if !long.is_empty() {
        let longest = long.iter().map(|(from, to)| to.saturating_sub(*from)).max().unwrap_or(0);
        let (n, longest) = (long.len(), Value::ms(longest as f64 / 1e6));
        let long = Intervals::of(long);
        // Stops below a second that stand out of the run are as much of what was lost.
        let shorter = all.without(&long);
        let with_shorter = case.found_on_stops
            && shorter.ranges().len() >= SEVERAL
            && shorter.length_ms() >= MATTERS_SHARE * slow.length_ms()
            && all.length_ms() >= PICKED * slow.length_ms();
        let long_stops = titles::LONG_STOPS
            .is(longest.clone())
            .with("stops", Value::count(n))
            .with("least", Value::ms(LONG_MS));
        let title = match (n, with_shorter) {
            (1, false) => titles::LONG_STOP.is(longest),
            (_, false) => long_stops,
            (_, true) => long_stops
                .with("shorter", Value::count(shorter.ranges().len()))
                .with("all", Value::count(burden.stops.ranges().len())),
        };
        let stops = if with_shorter { all } else { long.and(slow) };
        return Some(Seen { cost_ms: stops.length_ms(), stops, title, delay: None });
    }
    let quiet = case.found_on_stops && burden.quiet;
    let (stopped_ms, length_ms) = (all.length_ms(), slow.length_ms());
    if quiet || case.whole_run || stopped_ms < MATTERS_SHARE * length_ms {
        return None;
    }
    let title = if stopped_ms < PICKED * length_ms {
        // Intervals that were found for being stopped more than usual, and are more than the stops
        // themselves.
        let share = Value::share(stopped_ms / length_ms.max(f64::MIN_POSITIVE));
        titles::STOPPED_STANDING_OUT.is(share).with("of", Value::ms(length_ms))
    } else if case.found_on_stops && all.ranges().len() >= SEVERAL {
        // Stops that stand out are what was lost, however short each is.
        let longest = all.ranges().iter().map(|(from, to)| to.saturating_sub(*from)).max().unwrap_or(0);
        titles::STOPS_STANDING_OUT
            .is(Value::ms(longest as f64 / 1e6))
            .with("stops", Value::count(all.ranges().len()))
            .with("all", Value::count(burden.stops.ranges().len()))
    } else {
        return None;
    };
    Some(Seen { cost_ms: stopped_ms, stops: all, title, delay: None })
}
