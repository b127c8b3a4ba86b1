//! The windows that were chosen, with what was lost in them, cut to what was recorded.

use std::rc::Rc;

use super::progress::Progress;
use crate::facts::{Metric, Value, windows as words};
use crate::intervals::Intervals;
use crate::{Fact, FoundOn, Loss, Measure, Statement, Window, Windows};

/// Share of the slow time in which threads must have been watched for the rest to be left out.
const WATCHED_LEAST: f64 = 0.5;
/// Share from which on what threads did is judged, whatever the rest was.
const JUDGED_FROM: f64 = 0.8;

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
    /// Whether the windows are stops, so that what acted all along is to be looked for in the whole
    /// run, too.
    pub(crate) on_stops: bool,
    /// Whether the windows are those in which threads spent their time differently: no loss was
    /// measured, and what acted all along is to be looked for in the whole run, too.
    pub(crate) by_change: bool,
    /// What the windows were found on, where the recording itself counts it: how many of them an
    /// operation makes is not known.
    pub(crate) exchanges: Option<Rc<Progress>>,
    /// What the loss is measured on, where that is how long those took.
    pub(super) answers: Option<Progress>,
    /// Whether the windows were picked for what threads did in them, by whoever recorded.
    pub(crate) picked: bool,
    /// Slow time that no source but the series covers, milliseconds; it was cut away where anything
    /// else is left to judge.
    pub(crate) unrecorded_ms: f64,
    /// What a series covers in which a dip would have been seen and none was.
    pub(crate) steady: Option<Window>,
    /// What the baseline is, where it was not found on a series.
    pub(super) base_is: Option<&'static Metric>,
    /// An interval of it that is lower than usual, by which share, and no dip.
    pub(crate) slight: Option<(Window, f64)>,
    /// Whether they were found on a series with so much noise that a fall by half would not stand
    /// out: what looks like a dip may be none.
    pub(crate) wanders: bool,
    /// That a series has no level of which anything could be lost, as it counts no operation.
    pub(crate) without_operations: Option<Fact>,
}

impl Chosen {
    /// What the windows were found on, where nobody gave them.
    pub(super) fn found_on(&self) -> FoundOn {
        match () {
            () if self.whole_run => FoundOn::WholeRun,
            () if self.on_stops => FoundOn::Stops,
            () if self.by_change => FoundOn::Change,
            () if self.exchanges.is_some() => FoundOn::Exchanges,
            () if self.picked => FoundOn::Kept,
            () => FoundOn::Series,
        }
    }

    /// What a loss is measured on, by the progress that shows it.
    pub(super) fn measure_of(&self, progress: &Progress) -> Measure {
        match (progress.of_latency, self.exchanges.is_some()) {
            (true, _) => Measure::Latency,
            (false, true) => Measure::Exchanges,
            (false, false) => Measure::Throughput,
        }
    }

    /// Cuts the windows to what was recorded, where that is anything of the slow ones: no rule can
    /// find or rule out what acted in the rest, and its loss would dilute what was found.
    pub(super) fn clip(&mut self, recorded: &Intervals) {
        let slow = Intervals::of_windows(&self.windows.slow);
        let base = Intervals::of_windows(&self.windows.base);
        let (seen, base_seen) = (slow.and(recorded), base.and(recorded));
        // A little at the edges is a matter of when collectors were ready.
        let most = |part: &Intervals, of: &Intervals| {
            part.length_ns() as f64 >= (1.0 - crate::MATTERS_SHARE) * of.length_ns() as f64
        };
        if seen.is_empty() && !recorded.is_empty() {
            self.unrecorded_ms += slow.length_ms();
        }
        if seen.is_empty() || (most(&seen, &slow) && most(&base_seen, &base)) {
            return;
        }
        if !most(&seen, &slow) {
            self.unrecorded_ms += slow.length_ms() - seen.length_ms();
            let part = words::RECORDED.is(Value::ms(seen.length_ms()));
            self.windows.how.push(part.with("of", Value::ms(slow.length_ms())).into());
        }
        (self.windows.slow, self.windows.base) = (seen.windows(), base_seen.windows());
    }

    /// Keeps to the slow time in which threads were watched, where that is half of it or more, and
    /// less than what they can be judged on: a log that goes on for longer shows little of the
    /// rest, which would dilute what the threads show.
    pub(super) fn keep_to_watched(&mut self, watched: &Intervals) {
        let slow = Intervals::of_windows(&self.windows.slow);
        let seen = slow.and(watched);
        let base = Intervals::of_windows(&self.windows.base).and(watched);
        let part = seen.length_ns() as f64 / slow.length_ns().max(1) as f64;
        if !(WATCHED_LEAST..JUDGED_FROM).contains(&part) || base.is_empty() {
            return;
        }
        let part = words::WATCHED.is(Value::ms(seen.length_ms()));
        self.windows.how.push(part.with("of", Value::ms(slow.length_ms())).into());
        (self.windows.slow, self.windows.base) = (seen.windows(), base.windows());
    }

    /// Cuts the whole run to what was recorded of it, where a series goes on well beyond that: what
    /// nobody recorded is neither healthy nor a cause.
    pub(super) fn clip_run(&mut self, recorded: &Intervals) {
        let run = Intervals::of_windows(&self.windows.slow);
        let seen = run.and(recorded);
        let nearly_all = (1.0 - crate::MATTERS_SHARE) * run.length_ns() as f64;
        if seen.is_empty() || seen.length_ns() as f64 >= nearly_all {
            return;
        }
        self.windows.how.push(words::RUN_RECORDED.is(Value::ms(seen.length_ms())).into());
        self.windows.slow = seen.windows();
    }
}

/// Windows of which no more is known yet.
pub(super) fn chosen(slow: Vec<Window>, base: Vec<Window>, how: Vec<Statement>) -> Chosen {
    let windows = Windows { slow, base, how, ..Windows::default() };
    Chosen {
        windows,
        whole_run: false,
        loss: Loss::default(),
        warm_up: None,
        lost_by: Vec::new(),
        on_stops: false,
        by_change: false,
        exchanges: None,
        answers: None,
        picked: false,
        unrecorded_ms: 0.0,
        steady: None,
        base_is: None,
        slight: None,
        wanders: false,
        without_operations: None,
    }
}
