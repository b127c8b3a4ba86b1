//! The windows that a diagnosis compares: given by the user, or found on a series of progress, or on long stops.

pub(crate) mod dips;
pub(crate) mod progress;
pub(crate) mod spec;
pub(crate) mod stops;

pub use spec::{Clock, WindowError, WindowSpec};

use std::collections::BTreeSet;

use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Recording};
use jiff::tz::TimeZone;

use crate::intervals::Intervals;
use crate::timeline::Timeline;
use crate::{Loss, Options, Window, Windows};
use dips::Found;
use progress::Progress;

/// Share of the slow windows that stops must take to be the measure of what was lost: a fifth, as for a dip.
const STOPS_TELL: f64 = 0.2;

/// The stretch of a recording that a user means by a window, by the same rules as the windows of a diagnosis.
pub fn resolve(recording: &Recording, spec: &WindowSpec, zone: TimeZone) -> Result<Window, WindowError> {
    spec.resolve(&clock(&Timeline::of(recording), zone))
}

/// Where the seconds of windows count from, nanoseconds on the recording's clock.
pub fn zero_ns(recording: &Recording) -> i64 {
    Timeline::of(recording).zero_ns
}

/// What that is, in words: "the start of the JVM".
pub fn zero_is(recording: &Recording) -> &'static str {
    Timeline::of(recording).zero_is
}

fn clock(timeline: &Timeline<'_>, zone: TimeZone) -> Clock {
    Clock {
        zero_ns: timeline.zero_ns,
        covers_ns: (timeline.covers.from_ns, timeline.covers.to_ns),
        wall: timeline.wall,
        zone,
    }
}

/// Windows with what was lost in them.
pub(crate) struct Chosen {
    pub(crate) windows: Windows,
    /// Whether the slow window is only "everything".
    pub(crate) whole_run: bool,
    pub(crate) loss: Loss,
    /// The beginning before the usual level was reached.
    pub(crate) warm_up: Option<Window>,
    /// The loss tick by tick.
    pub(crate) lost_by: Vec<(Window, f64)>,
}

/// Chooses the windows of a recording.
pub(crate) fn choose(
    recording: &Recording,
    jvms: &[ProcessId],
    timeline: &Timeline<'_>,
    options: &Options,
) -> Result<Chosen, WindowError> {
    let clock = clock(timeline, options.zone.clone());
    let given = |specs: &[WindowSpec]| -> Result<Intervals, WindowError> {
        let windows: Vec<Window> = specs.iter().map(|s| s.resolve(&clock)).collect::<Result<_, _>>()?;
        Ok(Intervals::of_windows(&windows))
    };
    let (slow, base) = (given(&options.slow)?, given(&options.base)?);
    let progress = Progress::of(recording, |s| timeline.usable(s));
    let found = progress.as_ref().and_then(dips::find);
    let mut chosen = if slow.is_empty() {
        by_finding(recording, jvms, timeline, progress.as_ref(), found.as_ref())
    } else {
        by_hand(&slow, timeline, found.as_ref())
    };
    if !base.is_empty() {
        let slow = Intervals::of_windows(&chosen.windows.slow);
        if chosen.whole_run {
            // A base alone: everything else is held against it.
            chosen.windows.slow = slow.without(&base).windows();
            chosen.whole_run = false;
            chosen.windows.how = "base given by the user, held against everything else".into();
        } else {
            chosen.windows.slow = slow.without(&base).windows();
            chosen.windows.how += "; base given by the user";
        }
        chosen.windows.base = base.windows();
    }
    chosen.warm_up = found.and_then(|f| f.warm_up);
    if !chosen.whole_run {
        let series = progress.as_ref().and_then(|p| Some((p, lost_progress(p, &chosen.windows)?)));
        if let Some((progress, loss)) = series {
            chosen.lost_by = lost_by(progress, &chosen.windows);
            chosen.loss = loss;
        } else {
            chosen.loss = lost_to_stops(recording, jvms, &chosen.windows);
        }
    } else if let Some(progress) = progress {
        chosen.loss.measured_on = progress.measured_on;
        chosen.loss.unit = progress.unit;
    }
    chosen.windows.how += &format!("; times count from {}", timeline.zero_is);
    Ok(chosen)
}

fn by_hand(slow: &Intervals, timeline: &Timeline<'_>, found: Option<&Found>) -> Chosen {
    let (base, how) = match found {
        Some(found) => {
            let usual = Intervals::of_windows(&found.base).without(slow);
            (usual, "given by the user; base: where the series is at its usual level")
        }
        None => {
            let all = Intervals::of_windows(&[timeline.covers]);
            (all.without(slow), "given by the user; base: everything else")
        }
    };
    chosen(slow.windows(), base.windows(), how.to_owned())
}

fn chosen(slow: Vec<Window>, base: Vec<Window>, how: String) -> Chosen {
    let windows = Windows { slow, base, how };
    Chosen { windows, whole_run: false, loss: Loss::default(), warm_up: None, lost_by: Vec::new() }
}

fn by_finding(
    recording: &Recording,
    jvms: &[ProcessId],
    timeline: &Timeline<'_>,
    progress: Option<&Progress>,
    found: Option<&Found>,
) -> Chosen {
    let whole = |how: String| Chosen { whole_run: true, ..chosen(vec![timeline.covers], Vec::new(), how) };
    if let Some((slow, how)) = kept_for(recording, timeline.covers) {
        let base = Intervals::of_windows(&[timeline.covers]).without(&slow).windows();
        return chosen(slow.windows(), base, how);
    }
    if let Some(found) = found {
        return match found.slow.is_empty() {
            false => chosen(found.slow.clone(), found.base.clone(), found.how.clone()),
            true => whole(format!("no slow window, so the whole run is looked at: {}", found.how)),
        };
    }
    match stops::find(recording, jvms, timeline.covers) {
        Some((slow, how)) => {
            let all = Intervals::of_windows(&[timeline.covers]);
            let base = all.without(&Intervals::of_windows(&slow)).windows();
            chosen(slow, base, how)
        }
        None => {
            let series = match progress {
                Some(p) => format!("{} is too short or too idle to find slow windows on", p.measured_on),
                None => "no series of throughput or latency to find slow windows on".to_owned(),
            };
            let stops = stops::why_none(recording, jvms, timeline.covers);
            whole(format!("{series}, {stops}: the whole run is looked at"))
        }
    }
}

/// What a recording was kept for (`fathom record --on-slow`): it was slow by the limits of whoever asked for it.
fn kept_for(recording: &Recording, covers: Window) -> Option<(Intervals, String)> {
    let spans: Vec<_> = recording.spans_of(kind::SLOW).collect();
    let within = Intervals::of_windows(&[covers]);
    let slow = Intervals::of(spans.iter().map(|span| (span.t0_ns(), span.t1_ns()))).and(&within);
    let triggers: BTreeSet<&str> = spans.iter().map(|span| span.name()).collect();
    let named = triggers.into_iter().collect::<Vec<_>>().join(", ");
    (!slow.is_empty()).then(|| (slow, format!("what was recorded as slow ({named}); base: everything else")))
}

/// What was lost in the slow windows to stops of the JVM that was stopped most. Where the stops are but a small part
/// of the windows (a user gave them for another reason), they are no measure of what was lost, and nothing is.
fn lost_to_stops(recording: &Recording, jvms: &[ProcessId], windows: &Windows) -> Loss {
    let slow = Intervals::of_windows(&windows.slow);
    let base = Intervals::of_windows(&windows.base);
    let excess = |jvm: &ProcessId| {
        let stops = stops::of_jvm(recording, *jvm);
        let usual = match base.length_ms() {
            0.0 => 0.0,
            length => stops.and(&base).length_ms() / length,
        };
        (stops.and(&slow).length_ms() - usual * slow.length_ms()).max(0.0)
    };
    let worst = jvms.iter().map(|jvm| (excess(jvm), *jvm)).max_by(|a, b| a.0.total_cmp(&b.0));
    let enough = |ms: f64| ms > 0.0 && ms >= STOPS_TELL * slow.length_ms();
    let Some((lost_ms, jvm)) = worst.filter(|(ms, _)| enough(*ms)) else { return Loss::default() };
    let name = recording.processes.get(jvm.index()).map_or("", |p| p.name.as_str());
    Loss { lost_ms, measured_on: format!("stops of {name}"), ..Loss::default() }
}

fn lost_progress(progress: &Progress, windows: &Windows) -> Option<Loss> {
    let rate = |windows: &[Window]| {
        // A gap counts as no progress: nobody saw any.
        let values: Vec<f64> = progress.within(windows).map(|v| v.unwrap_or(0.0)).collect();
        crate::stats::mean(&values)
    };
    let (slow, base) = (rate(&windows.slow)?, rate(&windows.base).filter(|rate| *rate > 0.0)?);
    let length_ms: f64 = windows.slow.iter().map(|w| w.length_ns() as f64 / 1e6).sum();
    Some(Loss {
        lost_ms: (length_ms * (1.0 - slow / base)).max(0.0),
        slow_rate: Some(progress.shown(slow)),
        base_rate: Some(progress.shown(base)),
        unit: progress.unit.clone(),
        measured_on: progress.measured_on.clone(),
    })
}

/// The loss of each tick whose middle lies in a slow window.
fn lost_by(progress: &Progress, windows: &Windows) -> Vec<(Window, f64)> {
    let base: Vec<f64> = progress.within(&windows.base).map(|v| v.unwrap_or(0.0)).collect();
    let Some(base) = crate::stats::mean(&base).filter(|rate| *rate > 0.0) else { return Vec::new() };
    let tick_ms = progress.tick_ns as f64 / 1e6;
    progress
        .ticks_within(&windows.slow)
        .map(|i| (progress.window(i, i + 1), tick_ms * (1.0 - progress.values[i].unwrap_or(0.0) / base)))
        .collect()
}
