//! A case: a recording with its windows, and the few questions that rules ask of it.

use std::rc::Rc;

use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Recording, Span};

use crate::chain::{Chains, Stop};
use crate::facts::Value;
use crate::intervals::Intervals;
use crate::known::Known;
use crate::limits::MATTERS_SHARE;
use crate::waits::Category;
use crate::windows::progress::Progress;
use crate::{Finding, Layer, Loss, Statement, Sure, Window};

/// What of the baseline must come after the slow windows for these to be the beginning.
const MOSTLY_LATER: f64 = 0.75;

/// A recording with its windows and its loss.
///
/// Where no slow window was given or found, the whole run is looked at: `slow` is then one window
/// over all that the recording covers, `base` is empty and `whole_run` is set. A rule then judges
/// what stands out in absolute terms.
pub struct Case<'a> {
    /// The recording, sealed.
    pub recording: &'a Recording,
    /// Slow windows, sorted, without overlap.
    pub slow: Vec<Window>,
    /// Baseline windows, sorted, without overlap; may be empty.
    pub base: Vec<Window>,
    /// Whether `slow` is only "everything".
    pub whole_run: bool,
    /// What was lost.
    pub loss: Loss,
    /// Whether the slow windows were found for being stopped, and nobody says that anything was
    /// slow in them.
    pub found_on_stops: bool,
    /// The beginning, before the application reached its usual level for the first time, where a
    /// series shows it.
    pub warm_up: Option<Window>,
    /// The loss tick by tick of the series within the slow windows, milliseconds; empty without a
    /// series. A tick above the baseline's rate has a negative one.
    pub lost_by: Vec<(Window, f64)>,
    /// What counts operations where no series does, so that times can be divided by their number.
    pub(crate) exchanges: Option<Rc<Progress>>,
    /// What of the loss operations spent on what, where they are counted.
    pub(crate) attributed: Rc<Attributed>,
    /// What cases of one recording share.
    pub(crate) known: Rc<Known<'a>>,
}

impl<'a> Case<'a> {
    /// What time is judged, in words.
    pub(crate) fn judged_time(&self) -> Value {
        Value::name(if self.whole_run { "the time that was looked at" } else { "the slow windows" })
    }

    /// What threads waited for, link by link.
    pub(crate) fn chains(&self) -> &Chains<'a> {
        self.known.chains()
    }

    /// The same case with its windows and its loss cut to some intervals: those that a source
    /// covers.
    pub(crate) fn clipped(&self, intervals: &Intervals) -> Self {
        let cut = |windows: &[Window]| Intervals::of_windows(windows).and(intervals).windows();
        let (slow, base) = (cut(&self.slow), cut(&self.base));
        let mut lost_by: Vec<(Window, f64)> = Vec::new();
        for (tick, lost_ms) in &self.lost_by {
            let tick_ns = tick.length_ns().max(1) as f64;
            let covered = intervals.within(tick.from_ns, tick.to_ns);
            lost_by.extend(covered.map(|(from_ns, to_ns)| {
                let window = Window { from_ns, to_ns };
                (window, lost_ms * window.length_ns() as f64 / tick_ns)
            }));
        }
        // Without a series the loss is the stops of the windows, which are little else.
        let kept = Self::length_ms(&slow) / Self::length_ms(&self.slow).max(f64::MIN_POSITIVE);
        let lost_ms = match lost_by.is_empty() {
            true => self.loss.lost_ms * kept.min(1.0),
            false => lost_by.iter().map(|(_, ms)| ms).sum::<f64>().clamp(0.0, self.loss.lost_ms),
        };
        Self {
            recording: self.recording,
            slow,
            base,
            whole_run: self.whole_run,
            loss: Loss { lost_ms, ..self.loss.clone() },
            found_on_stops: self.found_on_stops,
            warm_up: self.warm_up,
            lost_by,
            exchanges: self.exchanges.clone(),
            attributed: Rc::new(self.attributed.scaled(kept.min(1.0))),
            known: Rc::clone(&self.known),
        }
    }

    /// The longest stop of a JVM that touches some intervals, cut into its parts.
    pub(crate) fn longest_stop(&self, jvm: ProcessId, ranges: &[Window]) -> Option<Stop> {
        let of = |window: &Window| self.chains().stops(jvm, *window, 1);
        // Findings mark the intervals in which they act; the longest of those holds the longest
        // stop.
        let longest = ranges.iter().max_by_key(|window| window.length_ns())?;
        of(longest).into_iter().next()
    }

    /// Spans of a kind and process that overlap any of the windows, in order of start.
    pub fn spans_in(
        &self,
        kind: &str,
        process: ProcessId,
        windows: &[Window],
    ) -> impl Iterator<Item = Span<'a>> {
        let windows = Intervals::of_windows(windows);
        let recording: &'a Recording = self.recording;
        recording
            .spans_of(kind)
            .filter(move |span| span.process() == process && windows.touches(span.t0_ns(), span.t1_ns()))
    }

    /// Time that spans of a kind spend within the windows, milliseconds, each span counted for
    /// itself.
    pub fn time_ms(&self, kind: &str, process: ProcessId, windows: &[Window]) -> f64 {
        let windows = Intervals::of_windows(windows);
        let own = self.recording.spans_of(kind).filter(|span| span.process() == process);
        let within = own.map(|span| windows.length_within_ns(span.t0_ns(), span.t1_ns()));
        within.fold(0, i64::saturating_add) as f64 / 1e6
    }

    /// Length of windows, milliseconds.
    pub fn length_ms(windows: &[Window]) -> f64 {
        windows.iter().map(Window::length_ns).sum::<i64>() as f64 / 1e6
    }

    /// Whether the recording holds any span of a kind for a process: whether the rule could have
    /// seen it at all.
    pub fn has(&self, kind: &str, process: ProcessId) -> bool {
        self.recording.spans_of(kind).any(|span| span.process() == process)
    }

    /// Whether the slow windows are where a program starts, by all that is known: nobody measured
    /// that anything was slow, and most of what they are compared with comes later.
    pub(crate) fn may_be_start_up(&self) -> bool {
        let Some(end_ns) = self.slow.last().map(|window| window.to_ns) else { return false };
        let later = |window: &Window| window.to_ns.saturating_sub(window.from_ns.max(end_ns)).max(0) as f64;
        let later_ms: f64 = self.base.iter().map(|window| later(window) / 1e6).sum();
        let nothing_measured = self.loss.lost_ms <= 0.0 && !self.whole_run && !self.base.is_empty();
        nothing_measured && later_ms >= MOSTLY_LATER * Self::length_ms(&self.base)
    }

    /// A cost as a share of the loss; `None` where the loss is not known.
    pub fn share(&self, cost_ms: f64) -> Option<f64> {
        (self.loss.lost_ms > 0.0).then(|| (cost_ms / self.loss.lost_ms).clamp(0.0, 1.0))
    }

    /// What of the loss a cost explains, milliseconds: no more than was lost, where that is known.
    pub(crate) fn explained_ms(&self, cost_ms: f64) -> f64 {
        if self.loss.lost_ms > 0.0 { cost_ms.min(self.loss.lost_ms) } else { cost_ms }
    }

    /// What costs are compared with, milliseconds: the loss where one was measured, else the length
    /// of the slow windows (the whole run where none was given or found).
    pub fn yardstick_ms(&self) -> f64 {
        if self.loss.lost_ms > 0.0 { self.loss.lost_ms } else { Self::length_ms(&self.slow) }
    }

    /// What of the loss fell into some intervals, milliseconds: ticks that they cover in part count
    /// in part. `None` where no series shows when it was lost.
    pub(crate) fn lost_during_ms(&self, ranges: &Intervals) -> Option<f64> {
        if self.lost_by.is_empty() {
            return None;
        }
        let part = |(tick, lost_ms): &(Window, f64)| {
            let covered = ranges.and(&Intervals::of_windows(&[*tick])).length_ns() as f64;
            lost_ms * covered / tick.length_ns().max(1) as f64
        };
        Some(self.lost_by.iter().map(part).sum::<f64>().max(0.0))
    }

    /// Whether a cost is worth a finding: at least [`MATTERS_SHARE`] of the loss. Without a
    /// measured loss it is compared with the wall time looked at, so that a healthy run, whose
    /// collections take one or two per cent of it, stays without a finding. For a single stop see
    /// [`crate::limits::stands_out`].
    pub fn matters(&self, cost_ms: f64) -> bool {
        cost_ms > 0.0 && cost_ms >= MATTERS_SHARE * self.yardstick_ms()
    }

    /// What a JVM is called in a report.
    pub fn jvm_name(&self, jvm: ProcessId) -> &'a str {
        self.recording.process_name(jvm)
    }

    /// Spans of a kind per second of the slow and of the baseline windows, counted where they
    /// start.
    pub fn rates(&self, kind: &str, jvm: ProcessId) -> Rates {
        let starts = |windows: &[Window]| {
            let intervals = Intervals::of_windows(windows);
            let within = |span: &Span<'_>| intervals.touches(span.t0_ns(), span.t0_ns());
            let count = self.recording.spans_of(kind).filter(|s| s.process() == jvm && within(s)).count();
            let length_s = Self::length_ms(windows) / 1e3;
            (length_s > 0.0).then(|| count as f64 / length_s)
        };
        Rates { slow_per_s: starts(&self.slow).unwrap_or(0.0), base_per_s: starts(&self.base) }
    }

    /// Time within the windows that any of some intervals covers, milliseconds; what they share
    /// counts once.
    pub fn union_ms(ranges: impl IntoIterator<Item = (i64, i64)>, windows: &[Window]) -> f64 {
        Intervals::of(ranges).and(&Intervals::of_windows(windows)).length_ms()
    }

    /// Time within the windows in which a JVM was stopped, by collections or other safepoints,
    /// milliseconds. A pause and the safepoint around it count once.
    pub fn stopped_ms(&self, jvm: ProcessId, windows: &[Window]) -> f64 {
        let stops = [kind::GC_PAUSE, kind::SAFEPOINT]
            .into_iter()
            .flat_map(|kind| self.recording.spans_of(kind))
            .filter(|span| span.process() == jvm)
            .map(|span| (span.t0_ns(), span.t1_ns()));
        Self::union_ms(stops, windows)
    }

    /// Time within the windows in which a JVM's compiler threads worked, milliseconds, added up
    /// over threads.
    pub fn compile_ms(&self, jvm: ProcessId, windows: &[Window]) -> f64 {
        self.time_ms(kind::JIT_COMPILE, jvm, windows)
    }

    /// What the slow windows have of something above as much baseline time, milliseconds; all of it
    /// without a baseline.
    pub fn excess_ms(&self, slow_ms: f64, base_ms: f64) -> f64 {
        let base_length = Self::length_ms(&self.base);
        if base_length <= 0.0 {
            return slow_ms.max(0.0);
        }
        (slow_ms - base_ms * Self::length_ms(&self.slow) / base_length).max(0.0)
    }

    /// A finding on a JVM with what follows from the case filled in; the words are those of what
    /// found it, which has the id `rule`. `sure`: how sure, and why.
    pub(crate) fn finding_by(
        &self,
        rule: &'static str,
        layer: Layer,
        jvm: ProcessId,
        sure: Sure,
        cost_ms: f64,
    ) -> Finding {
        let (confidence, why_confidence) = sure;
        Finding {
            rule,
            title: Statement::default(),
            layer,
            confidence,
            why_confidence,
            cost_ms,
            share: self.share(cost_ms),
            covered_share: 1.0,
            culprit: Statement::default(),
            process: self.jvm_name(jvm).to_owned(),
            process_id: jvm,
            recording: self.recording.recording_of(jvm).map(str::to_owned),
            pid: self.recording.processes.get(jvm.index()).and_then(|process| process.pid),
            started_ns: self.recording.process_started_ns(jvm),
            meaning: Statement::default(),
            evidence: Vec::new(),
            remedies: Vec::new(),
            verify: Vec::new(),
            windows: Vec::new(),
            acts: Vec::new(),
            also: Vec::new(),
            chain: None,
            stop: None,
        }
    }
}

/// The loss by what operations took longer for, in the JVM in which they did so most.
///
/// Empty where operations are not counted, where no loss was measured, and where operations did not
/// take longer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributed {
    jvm: Option<ProcessId>,
    /// Milliseconds of the loss, by [`Category::index`].
    ms: Vec<f64>,
}

impl Attributed {
    /// `ms`: milliseconds of the loss, by [`Category::index`].
    pub(crate) fn of(jvm: ProcessId, ms: Vec<f64>) -> Self {
        Self { jvm: Some(jvm), ms }
    }

    /// What of the loss a JVM's operations lost to a category, milliseconds. For locks: all of the
    /// waits for them, whatever the holders did meanwhile.
    pub(crate) fn ms(&self, jvm: ProcessId, category: Category) -> f64 {
        match self.jvm == Some(jvm) {
            true => self.ms.get(category.index()).copied().unwrap_or(0.0),
            false => 0.0,
        }
    }

    /// The same for a part of the loss.
    pub(crate) fn scaled(&self, part: f64) -> Self {
        Self { jvm: self.jvm, ms: self.ms.iter().map(|ms| ms * part).collect() }
    }
}

/// How often something happened in the slow windows and in the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Per second of the slow windows.
    pub slow_per_s: f64,
    /// Per second of the baseline windows; `None` without any.
    pub base_per_s: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, slow_and_base, whole_run};
    use crate::limits::stands_out;

    fn window(from_s: i64, to_s: i64) -> Window {
        Window { from_ns: from_s * 1_000_000_000, to_ns: to_s * 1_000_000_000 }
    }

    fn case(recording: &Recording, lost_ms: f64) -> Case<'_> {
        Case {
            recording,
            slow: vec![window(10, 20)],
            base: vec![window(30, 70)],
            whole_run: false,
            loss: Loss { lost_ms, ..Loss::default() },
            found_on_stops: false,
            warm_up: None,
            lost_by: Vec::new(),
            exchanges: None,
            attributed: Rc::default(),
            known: Known::shared(recording),
        }
    }

    #[test]
    fn a_pause_and_the_safepoint_around_it_stop_the_jvm_once() {
        let mut built = Built::jvm("17", "G1", 100.0);
        built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 12.0, 100.0, &[]);
        built.span(kind::SAFEPOINT, "G1CollectForAllocation", 11.99, 120.0, &[], &[]);
        built.span(kind::SAFEPOINT, "Cleanup", 19.9, 200.0, &[], &[]);
        let (jvm, recording) = (built.jvm, built.sealed());
        let case = case(&recording, 0.0);
        assert!((case.stopped_ms(jvm, &case.slow) - 220.0).abs() < 1e-6);
        assert_eq!(case.rates(kind::SAFEPOINT, jvm), Rates { slow_per_s: 0.2, base_per_s: Some(0.0) });
        assert!((case.excess_ms(220.0, 400.0) - 120.0).abs() < 1e-6);
    }

    #[test]
    fn a_cost_matters_from_a_twentieth_of_the_loss_on() {
        let recording = Built::jvm("17", "G1", 100.0).sealed();
        let lossy = case(&recording, 4_000.0);
        assert!(lossy.matters(200.0) && !lossy.matters(199.0));
        let lossless = case(&recording, 0.0);
        assert!(lossless.matters(500.0) && !lossless.matters(499.0));
        assert!(stands_out(250.0, 20.0) && !stands_out(250.0, 30.0) && !stands_out(150.0, 1.0));
    }

    #[test]
    fn the_first_seconds_of_a_recording_may_be_a_start_unless_a_loss_was_measured_there() {
        let recording = Built::jvm("25", "G1", 60.0).sealed();
        let may_be = |slow, base, lost| slow_and_base(&recording, slow, base, lost).may_be_start_up();
        assert!(may_be((2, 5), (5, 60), 0.0));
        assert!(!may_be((2, 5), (5, 60), 0.5), "a series shows that it was slow");
        assert!(!may_be((30, 60), (0, 30), 0.0));
        assert!(!whole_run(&recording).may_be_start_up());
    }
}
