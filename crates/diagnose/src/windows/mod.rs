//! The windows that a diagnosis compares: given by the user, or found on a series of progress, on
//! exchanges that the recording counts, on long stops, or on what threads do.

pub(crate) mod change;
mod chosen;
pub(crate) mod dips;
mod exchanges;
mod fewer;
mod latency;
mod lengths;
mod lost;
mod mix;
pub(crate) mod progress;
mod recorded;
mod rise;
pub(crate) mod spec;
pub(crate) mod stops;
#[cfg(test)]
mod tests;
mod turns;

pub(crate) use chosen::Chosen;
use chosen::chosen;
pub(crate) use fewer::fewer_requests;
pub use spec::{Clock, Options, TimestampSpec, WindowError, WindowSpec};

use std::collections::BTreeSet;
use std::rc::Rc;

use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Recording};
use jiff::tz::TimeZone;

use crate::facts::{Value, windows as words};
use crate::intervals::Intervals;
use crate::known::Known;
use crate::timeline::Timeline;
use crate::{Fact, FoundOn, Loss, Statement, Window};
use dips::Found;
use lost::{lost_by, lost_progress, lost_to_stops};
use progress::Progress;

/// What of its usual level a series must fall to, and for how long, nanoseconds, to have collapsed.
const COLLAPSE: (f64, i64) = (0.1, 5_000_000_000);

/// The interval that a user means by a window, by the same rules as the windows of a diagnosis.
pub fn resolve(recording: &Recording, spec: &WindowSpec, zone: TimeZone) -> Result<Window, WindowError> {
    spec.resolve(&clock(&Timeline::of(recording), zone))
}

/// What timestamps that a user gives are read against, by the same rules as for a diagnosis.
pub fn clock_of(recording: &Recording, zone: TimeZone) -> Clock {
    clock(&Timeline::of(recording), zone)
}

fn clock(timeline: &Timeline<'_>, zone: TimeZone) -> Clock {
    // A recording begins before its collectors are ready: nothing is known of that time, and it can
    // be asked for.
    let (covers, judged) = (timeline.covers, timeline.judged());
    let judged = judged.iter().map(|window| window.from_ns);
    Clock {
        zero_ns: timeline.zero_ns,
        covers_ns: (judged.fold(covers.from_ns, i64::min), covers.to_ns),
        wall: timeline.wall,
        zone,
    }
}

/// A found window of which half or as much was recorded is judged, nanoseconds: of less, chance
/// says as much as what acted.
const ENOUGH_NS: i64 = 1_000_000_000;

/// Ticks of a series in which it must be lower, and how often chance may show as much: of a test
/// that is made once a diagnosis.
const FEWEST_TICKS: usize = 4;
const CHANCE: f64 = 0.01;

/// What windows may be found on where no series shows them and the user gave none: each way
/// includes those after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FindOn {
    /// Long stops, else nothing.
    Stops,
    /// What threads do.
    Change,
    /// Exchanges that the recording counts.
    Exchanges,
    /// The same, of the time in which threads were watched: where a series is slow outside of that
    /// alone, nothing shows what they did meanwhile.
    Watched,
    /// An interval of the series that is lower than usual, and no dip.
    Slight,
    /// Intervals in which threads did something else, and in which the series is lower than usual,
    /// though by less than a dip.
    Both,
    /// The recording itself, whatever a series shows that wanders too much, or that had not
    /// reached its level.
    Recording,
}

/// Chooses the windows of a recording.
pub(crate) fn choose<'a>(
    recording: &'a Recording,
    jvms: &[ProcessId],
    timeline: &Timeline<'_>,
    options: &Options,
    find_on: FindOn,
    known: &Known<'a>,
) -> Result<Chosen, WindowError> {
    let clock = clock(timeline, options.zone.clone());
    let given = |specs: &[WindowSpec]| -> Result<Intervals, WindowError> {
        let windows: Vec<Window> = specs.iter().map(|s| s.resolve(&clock)).collect::<Result<_, _>>()?;
        Ok(Intervals::of_windows(&windows))
    };
    let (slow, base) = (given(&options.slow)?, given(&options.base)?);
    if !slow.is_empty() && slow.without(&base).is_empty() {
        return Err(WindowError::NothingToCompare);
    }
    let usable = |series: &fathom_recording::Series| timeline.usable(series);
    let mut progress = Progress::of(recording, usable);
    let mut found = progress.as_ref().and_then(dips::find);
    let within = progress
        .as_ref()
        .zip(found.as_ref())
        .and_then(|(progress, found)| recorded::instead(progress, found, &timeline.recorded()));
    if let Some((part, dips)) = within {
        (progress, found) = (Some(part), Some(dips));
    }
    if let Some((latency, slower)) = latency::slower(recording, usable, progress.as_ref().zip(found.as_ref()))
    {
        match (
            progress.as_ref().and_then(|rate| latency::more_asked(rate, (&slower.slow, &slower.base))),
            &mut found,
        ) {
            // More requests at once are each answered later: a load, and not a slowness. Nor is it
            // health: what a service should bear is not known.
            (Some(more), Some(found)) => {
                found.how.push(more.with("series", Value::name(&latency.measured_on)).into());
                found.would_show = false;
            }
            _ => (progress, found) = (Some(latency), Some(slower)),
        }
    }
    let wanders = progress.as_ref().zip(found.as_ref()).is_some_and(|(progress, found)| {
        !found.slow.is_empty() && !found.would_show && !collapses(progress, found)
    });
    let series = match (&found, find_on) {
        (Some(found), FindOn::Recording) if found.slow.is_empty() => {
            also(&found.how, &words::WARM_UP_UNKNOWN)
        }
        (Some(found), FindOn::Recording) => also(&found.how, &words::NOISE),
        _ => vec![series_without_windows(progress.as_ref()).into()],
    };
    if find_on == FindOn::Recording {
        (progress, found) = (None, None);
    }
    let slight = found.as_ref().and_then(|found| Some((found, found.slight?)));
    let both = (find_on == FindOn::Both)
        .then(|| both(recording, jvms, progress.as_ref().zip(found.as_ref()), known))
        .flatten();
    let mut chosen = if let Some(both) = both {
        both
    } else if let Some((found, (window, share))) = slight.filter(|_| find_on == FindOn::Slight) {
        let base = Intervals::of_windows(&found.base).without(&Intervals::of_windows(&[window]));
        let slight = words::SLIGHT.is(Value::share(share));
        let slight = slight.with("length", Value::ms(window.length_ns() as f64 / 1e6));
        chosen(vec![window], base.windows(), also(&found.how, slight))
    } else if slow.is_empty() {
        by_finding(recording, jvms, timeline, series, found.as_ref(), find_on, known)
    } else {
        by_hand(&slow, timeline, found.as_ref())
    };
    if !base.is_empty() {
        let slow = Intervals::of_windows(&chosen.windows.slow);
        if chosen.whole_run {
            // A baseline alone: everything else is compared with it.
            chosen.windows.slow = slow.without(&base).windows();
            chosen.whole_run = false;
            chosen.windows.how = vec![words::BASELINE_ALONE.fact().into()];
        } else {
            chosen.windows.slow = slow.without(&base).windows();
            // What was taken for the baseline before no longer is.
            chosen.base_is = None;
            chosen.windows.how.push(words::BASELINE_GIVEN.fact().into());
        }
        chosen.windows.base = base.windows();
    }
    chosen.windows.found_on = match options.slow.is_empty() && options.base.is_empty() {
        true => chosen.found_on(),
        false => FoundOn::Given,
    };
    chosen.windows.how.extend(chosen.base_is.map(|base| base.fact().into()));
    if chosen.whole_run {
        let seen = found.as_ref().filter(|found| found.slow.is_empty() && found.would_show);
        chosen.steady = seen.zip(progress.as_ref()).map(|(found, p)| {
            let all = p.window(0, p.values.len());
            Window { from_ns: found.warm_up.map_or(all.from_ns, |w| w.to_ns), ..all }
        });
    }
    chosen.slight = found.as_ref().and_then(|found| found.slight).filter(|_| chosen.steady.is_some());
    chosen.wanders = wanders && !chosen.whole_run && options.slow.is_empty() && options.base.is_empty();
    let is_found = found.is_some();
    chosen.warm_up = found.and_then(|f| f.warm_up);
    // What is usual the series shows in all of its baseline, recorded or not.
    let usual = chosen.windows.base.clone();
    if chosen.whole_run {
        chosen.clip_run(&match find_on {
            FindOn::Watched => change::watched(recording),
            _ => timeline.recorded(),
        });
    } else {
        chosen.clip(&timeline.recorded());
        if options.slow.is_empty() && !chosen.on_stops {
            chosen.keep_to_watched(&change::watched(recording));
        }
        let counted = chosen.answers.as_ref().or(chosen.exchanges.as_deref());
        let measured = progress.as_ref().or(counted).cloned();
        let series = measured.and_then(|p| Some((lost_progress(&p, &chosen.windows.slow, &usual)?, p)));
        if let Some((loss, progress)) = series {
            if loss.lost_ms > 0.0 {
                chosen.lost_by = lost_by(&progress, &chosen.windows.slow, &usual);
            }
            chosen.loss = Loss { measure: Some(chosen.measure_of(&progress)), ..loss };
        } else if !chosen.by_change {
            chosen.loss = lost_to_stops(recording, jvms, &chosen.windows, known);
        }
    }
    if let Some(progress) = progress.filter(|_| chosen.whole_run) {
        chosen.without_operations = progress.without_operations().filter(|_| !is_found);
        chosen.loss.measure = Some(chosen.measure_of(&progress));
        chosen.loss.measured_on = progress.measured_on;
        chosen.loss.unit = progress.unit;
    }
    chosen.windows.how.push(words::COUNTED_FROM.is(Value::name(timeline.zero_is)).into());
    Ok(chosen)
}

/// Intervals in which threads spent their time differently, where a series without a dip is lower
/// meanwhile, too: two witnesses. A test of given intervals sees more than a search for some.
fn both<'a>(
    recording: &'a Recording,
    jvms: &[ProcessId],
    series: Option<(&Progress, &Found)>,
    known: &Known<'a>,
) -> Option<Chosen> {
    let (progress, found) = series.filter(|(_, found)| found.slow.is_empty())?;
    if !change::watches_threads(recording) {
        return None;
    }
    let change = change::find(recording, known.chains(), jvms)?;
    let warm_up = Intervals::of_windows(found.warm_up.as_slice());
    let ticks = |windows: &[Window]| -> Vec<f64> {
        let windows = Intervals::of_windows(windows).without(&warm_up).windows();
        progress.within(&windows).flatten().collect()
    };
    let (slow, base) = (ticks(&change.slow), ticks(&change.base));
    let median = |values: &[f64]| crate::stats::median(&crate::stats::sorted(values.iter().copied()));
    let lower = 1.0 - median(&slow)? / median(&base).filter(|usual| *usual > 0.0)?;
    if slow.len() < FEWEST_TICKS || lower < dips::SLIGHT || crate::stats::mann_whitney(&slow, &base) > CHANCE
    {
        return None;
    }
    let both = words::BOTH.is(Value::share(lower)).with("change", Value::from(change.how));
    Some(chosen(change.slow, change.base, also(&found.how, both)))
}

fn by_hand(slow: &Intervals, timeline: &Timeline<'_>, found: Option<&Found>) -> Chosen {
    let (base, base_is) = match found {
        Some(found) => {
            let usual = Intervals::of_windows(&found.base).without(slow);
            (usual, &words::BASELINE_USUAL)
        }
        None => {
            let all = Intervals::of_windows(&[timeline.covers]);
            (all.without(slow), &words::BASELINE_ELSE)
        }
    };
    Chosen {
        base_is: Some(base_is),
        ..chosen(slow.windows(), base.windows(), vec![words::GIVEN.fact().into()])
    }
}

/// Of windows those of which enough was recorded to judge them, and of the others what was recorded
/// and what was not, milliseconds. Where nothing was recorded of any of those, all are kept.
fn recorded_enough(slow: &[Window], recorded: &Intervals) -> (Vec<Window>, f64, f64) {
    let part_ns = |window: &Window| recorded.length_within_ns(window.from_ns, window.to_ns);
    let enough_ns = |window: &Window| ENOUGH_NS.min((window.to_ns - window.from_ns) / 2);
    let (kept, hardly): (Vec<_>, Vec<_>) = slow.iter().partition(|w| part_ns(w) >= enough_ns(w));
    let hardly_ms: f64 = hardly.iter().map(|window| part_ns(window) as f64 / 1e6).sum();
    let unrecorded_ms = Intervals::of_windows(&hardly).length_ms() - hardly_ms;
    match hardly_ms > 0.0 {
        true => (kept, hardly_ms, unrecorded_ms),
        false => (slow.to_vec(), 0.0, 0.0),
    }
}

fn by_finding<'a>(
    recording: &'a Recording,
    jvms: &[ProcessId],
    timeline: &Timeline<'_>,
    series: Vec<Statement>,
    found: Option<&Found>,
    find_on: FindOn,
    known: &Known<'a>,
) -> Chosen {
    let whole =
        |how: Vec<Statement>| Chosen { whole_run: true, ..chosen(timeline.judged(), Vec::new(), how) };
    // Windows that are stops of the JVM, or in which it was stopped much.
    let on_stops = |slow: Vec<Window>, mut how: Vec<Statement>| {
        let (slow, more) = stops::with_long(recording, jvms, &slow);
        let base = stops::baseline_apart_from(&timeline.intervals(), &slow);
        how.extend(more.map(Statement::from));
        Chosen { on_stops: true, ..chosen(slow, base, how) }
    };
    if let Some((slow, how)) = kept_for(recording, timeline.covers) {
        let base = Intervals::of_windows(&[timeline.covers]).without(&slow).windows();
        let base_is = Some(&words::BASELINE_ELSE);
        return Chosen { picked: true, base_is, ..chosen(slow.windows(), base, vec![how.into()]) };
    }
    if let Some(found) = found.filter(|_| find_on == FindOn::Watched) {
        return Chosen {
            unrecorded_ms: Intervals::of_windows(&found.slow).length_ms(),
            ..whole(also(&found.how, &words::WATCHED_INSTEAD))
        };
    }
    if let Some(found) = found {
        let (kept, hardly_ms, unrecorded_ms) = recorded_enough(&found.slow, &timeline.recorded());
        let hardly = |chosen: Chosen| Chosen { unrecorded_ms, ..chosen };
        return match found.slow.is_empty() {
            false if kept.is_empty() => {
                let recorded = words::HARDLY_RECORDED.is(Value::ms(hardly_ms));
                hardly(whole(also(&found.how, recorded)))
            }
            false => hardly(chosen(kept, found.base.clone(), found.how.clone())),
            true => match most_stopped(recording, jvms, known) {
                Some((slow, stopped)) => on_stops(slow, [found.how.clone(), stopped].concat()),
                None => {
                    let none = words::NO_WINDOW.fact().with("how", Value::from(&found.how[..]));
                    whole(vec![none.into()])
                }
            },
        };
    }
    let stopped = stops::find(recording, jvms, timeline.covers, known);
    // What held threads up for longer than the JVM was stopped is the larger loss.
    let length_ns = |windows: &[Window]| Intervals::of_windows(windows).length_ns();
    let stopped_ns = stopped.as_ref().map_or(0, |(slow, _)| length_ns(slow));
    let watched = change::watches_threads(recording);
    let fewer = (watched && find_on >= FindOn::Exchanges)
        .then(|| match exchanges::find(recording, jvms) {
            Some((progress, found)) if progress.are_requests() => Some((progress, found)),
            calls => turns::find(recording, known.chains(), jvms).or(calls),
        })
        .flatten();
    let is_longer = |found: &Found| length_ns(&found.slow) > stopped_ns;
    let later = (watched && find_on >= FindOn::Exchanges)
        .then(|| exchanges::later(recording, jvms, fewer.as_ref().map(|(progress, found)| (progress, found))))
        .flatten();
    if let Some(later) = later.filter(|later| is_longer(&later.found)) {
        let how = [series, later.found.how].concat();
        let (exchanges, answers) = (Some(Rc::new(later.requests)), Some(later.answers));
        return Chosen { exchanges, answers, ..chosen(later.found.slow, later.found.base, how) };
    }
    if let Some((progress, found)) = fewer.filter(|(_, found)| is_longer(found)) {
        let how = [series, found.how].concat();
        return Chosen { exchanges: Some(Rc::new(progress)), ..chosen(found.slow, found.base, how) };
    }
    let changed = (watched && find_on >= FindOn::Change)
        .then(|| change::find(recording, known.chains(), jvms))
        .flatten()
        .filter(|change| !exchanges::answered_more(recording, jvms, (&change.slow, &change.base)));
    if let Some(change) = changed.filter(|change| length_ns(&change.slow) > stopped_ns) {
        let how = also(&series, change.how);
        return Chosen { by_change: true, ..chosen(change.slow, change.base, how) };
    }
    match stopped {
        Some((slow, how)) => match stops::rest_is_sick(recording, jvms, &timeline.intervals(), &slow) {
            Some(sick) => whole(vec![how.into(), sick.into()]),
            None => on_stops(slow, vec![how.into()]),
        },
        None => {
            let none = stops::why_none(recording, jvms, &series, known);
            match most_stopped(recording, jvms, known) {
                Some((slow, stopped)) => on_stops(slow, [vec![none.into()], stopped].concat()),
                None => whole(vec![words::WHOLE_RUN.fact().with("why", Value::from(none)).into()]),
            }
        }
    }
}

/// Whether next to nothing was done in slow windows that last: that is no noise, however much of it
/// there is.
fn collapses(progress: &Progress, found: &Found) -> bool {
    let rates = progress.mean_shown(&found.slow).zip(progress.mean_shown(&found.base));
    let lasts = Intervals::of_windows(&found.slow).length_ns() >= COLLAPSE.1;
    !progress.of_latency && lasts && rates.is_some_and(|(slow, base)| slow <= COLLAPSE.0 * base)
}

/// How something was found, and what is to be said of that.
fn also(how: &[Statement], more: impl Into<Fact>) -> Vec<Statement> {
    how.iter().cloned().chain([more.into().into()]).collect()
}

/// Why no windows were found on a series.
fn series_without_windows(progress: Option<&Progress>) -> Fact {
    let Some(progress) = progress else { return words::NO_SERIES.fact() };
    match progress.without_operations() {
        Some(none) => words::NO_OPERATIONS_NO_LEVEL.fact().with("none", Value::from(none)),
        None => words::SERIES_TOO_SHORT.fact().with("series", Value::name(&progress.measured_on)),
    }
}

/// The parts of the run in which JVMs are stopped for so much of the time that it matters, where
/// that is not all of it.
fn most_stopped(
    recording: &Recording,
    jvms: &[ProcessId],
    known: &Known<'_>,
) -> Option<(Vec<Window>, Vec<Statement>)> {
    let heavy = |jvm: &ProcessId| {
        let heavy = known.stops(*jvm).burden.heavy.filter(|heavy| !heavy.whole)?;
        let stopped = words::MOST_STOPPED.is(Value::share(heavy.share));
        Some((heavy.window, stopped.with("jvm", Value::name(recording.process_name(*jvm))).into()))
    };
    let (windows, stopped): (Vec<Window>, Vec<Statement>) = jvms.iter().filter_map(heavy).unzip();
    (!windows.is_empty()).then(|| (Intervals::of_windows(&windows).windows(), stopped))
}

/// What a recording was kept for (`fathom record --on-slow`): it was slow by the limits of whoever
/// asked for it.
fn kept_for(recording: &Recording, covers: Window) -> Option<(Intervals, Fact)> {
    let spans: Vec<_> = recording.spans_of(kind::SLOW).collect();
    let within = Intervals::of_windows(&[covers]);
    let slow = Intervals::of(spans.iter().map(|span| (span.t0_ns(), span.t1_ns()))).and(&within);
    let triggers: BTreeSet<&str> = spans.iter().map(|span| span.name()).collect();
    let named = triggers.into_iter().collect::<Vec<_>>().join(", ");
    (!slow.is_empty()).then(|| (slow, words::KEPT.is(Value::name(named))))
}
