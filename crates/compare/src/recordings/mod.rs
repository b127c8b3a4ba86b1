//! Two recordings, logs or flight recordings compared with each other: first whether they can be,
//! then what changed.
//!
//! One run of each shows what differs between these two runs. It cannot show how much two runs of
//! the same thing differ, and the report says so.

mod comparability;
mod frames;
mod measures;
#[cfg(test)]
mod tests;

use fathom_diagnose::stacks::Normalisation;
use fathom_diagnose::{Diagnosis, MATTERS_SHARE, Window};
use fathom_recording::Recording;
use serde::Serialize;

pub use comparability::{Condition, Differing};
pub use frames::{Change, Frames, MovedFrame, Sampled};
pub use measures::Measure;

use crate::causes::{Cause, New, Sides, causes, new_ones};
use crate::interval::Estimate;
use crate::judge::ALPHA;
use crate::metric::Measurement;
use crate::segments::discoveries;
use crate::sentence::{Compared, Words};
use crate::verdict::Comparison;

/// The schema of the JSON form. A field is only added within a version, never renamed or removed.
pub const SCHEMA: &str = "fathom.compare-recordings/1";

/// The comparison of two recordings.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RecordingsReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// What the two are.
    pub of: [String; 2],
    /// The time that each covers, seconds.
    pub covers_s: [f64; 2],
    /// What makes them hard to compare: host, JDK, flags, heap, load.
    pub differing: Vec<Differing>,
    /// All that was looked at for that, the same and what is not known.
    pub conditions: Vec<Condition>,
    /// The verdict on the second.
    pub verdict: Comparison,
    /// What the verdict is of, or why there is none.
    pub verdict_of: &'static str,
    /// Metrics of both, those that differ first.
    pub measures: Vec<Measure>,
    /// Frames whose share of the CPU samples differs; absent where a side has none.
    pub frames: Option<Frames>,
    /// Frames whose CPU time per operation differs; absent where a side has no CPU samples, or
    /// where operations are not counted on both.
    pub costs: Option<Frames>,
    /// Changes of the JDK between the two releases, and those that a flag of one side switches.
    pub known_changes: Vec<crate::jdk_changes::Match>,
    /// What the diagnoses of both sides find; absent where they were not asked for.
    pub causes: Option<Causes>,
}

/// What the diagnoses of both sides find.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Causes {
    /// Each diagnosis in a sentence.
    pub headlines: [String; 2],
    /// Findings of the first side, and what became of them on the second.
    pub of_first: Vec<Cause>,
    /// Findings of the second that the first has not.
    pub new: Vec<New>,
}

impl RecordingsReport {
    /// Adds what the diagnoses of both sides find.
    pub fn explained_by(&mut self, diagnoses: [&Diagnosis; 2]) {
        let throughput = self.measures.iter().find(|m| m.id == "throughput");
        let rates = throughput.map(|m| [m.first, m.second]);
        let sides = Sides { diagnoses, names: ["A", "B"], covers_s: self.covers_s, rates };
        self.causes = Some(Causes {
            headlines: diagnoses.map(|d| d.headline.to_string()),
            of_first: causes(sides),
            new: new_ones(sides),
        });
    }
}

/// What two recordings are compared by.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// A window of each, where not all of it is compared.
    pub within: [Option<Window>; 2],
    /// The share of difference that does not matter.
    pub margin: f64,
    /// Pauses of so many milliseconds or more are counted.
    pub long_pauses_ms: Vec<f64>,
}

impl Default for Asked {
    fn default() -> Self {
        Self { within: [None, None], margin: 0.01, long_pauses_ms: vec![200.0, 500.0] }
    }
}

/// Compares two recordings.
pub fn compare(of: [String; 2], recordings: [Recording; 2], asked: &Asked) -> RecordingsReport {
    compare_sampled(of, recordings, asked).0
}

/// The same, with the samples of both, of which flame graphs are drawn.
pub fn compare_sampled(
    of: [String; 2],
    [first, second]: [Recording; 2],
    asked: &Asked,
) -> (RecordingsReport, Sampled) {
    let within = asked.within;
    let windows = [within[0].or_else(|| covered(&first)), within[1].or_else(|| covered(&second))];
    let mut measures = measures::measures([&first, &second], windows, &asked.long_pauses_ms);
    let tests: Vec<f64> = measures.iter().map(|m| m.held.map_or(f64::NAN, |h| h.p_value)).collect();
    measures.iter_mut().zip(discoveries(&tests)).for_each(|(measure, differs)| measure.differs = differs);
    let (verdict_of, verdict) = verdict(&measures, asked.margin);
    let conditions = comparability::conditions([&first, &second]);
    let differing = comparability::differing(&conditions);
    let releases = [&first, &second].map(comparability::release);
    let arguments = [&first, &second].map(comparability::arguments);
    measures.sort_by_key(|m| !m.differs);
    let sampled = Sampled::of(first, second, within);
    let frames = sampled.frames(Normalisation::Share);
    let counted = measures.iter().any(|measure| measure.id == "throughput");
    let costs = counted.then(|| sampled.frames(Normalisation::Operation)).flatten();
    let moved: Vec<&str> = frames.iter().flat_map(|f| f.moved.iter().map(|m| m.name.as_str())).collect();
    let known_changes = crate::jdk_changes::matching(releases, &arguments, &moved);
    let report = RecordingsReport {
        schema: SCHEMA,
        of,
        covers_s: windows.map(|w| w.map_or(0.0, |w| w.length_ns() as f64 / 1e9)),
        differing,
        conditions,
        verdict,
        verdict_of,
        measures,
        frames,
        costs,
        known_changes,
        causes: None,
    };
    (report, sampled)
}

/// From the first to the last record of processes.
fn covered(recording: &Recording) -> Option<Window> {
    let ends = recording.covers_ns();
    ends.map(|(from_ns, to_ns)| Window { from_ns, to_ns })
}

/// The verdict: on operations per second where both have them, else on the time that collections
/// stop the application.
fn verdict(measures: &[Measure], margin: f64) -> (&'static str, Comparison) {
    let of = |id: &str| measures.iter().find(|m| m.id == id);
    let known = |id: &str| of(id).and_then(|m| m.held).and_then(|h| h.ratio);
    let stops = of("gc.stopped").map_or(0.0, |m| m.first.max(m.second));
    let (what, estimate): (&'static str, Option<Estimate>) = match (known("throughput"), known("gc.stopped"))
    {
        (Some(estimate), _) => ("operations per second", Some(estimate)),
        // Twice of next to nothing makes no application slower.
        (None, Some(estimate)) if stops >= MATTERS_SHARE => {
            ("the share of time stopped by collections", Some(estimate))
        }
        (None, Some(_)) => ("operations are not known, and collections stop neither for long", None),
        (None, None) => ("neither operations nor enough pauses of both are known", None),
    };
    let throughput = known("throughput").is_some();
    let measurement = Measurement {
        name: String::new(),
        unit: String::new(),
        higher_is_better: throughput,
        values: Vec::new(),
    };
    let compared = Compared {
        names: ["A".to_owned(), "B".to_owned()],
        runs: estimate.map_or(0, |e| e.pairs),
        measurement: &measurement,
        words: if throughput { Words::Work } else { Words::Stopped },
    };
    let mut verdict = compared.judged_segments(estimate, margin, ALPHA);
    if estimate.is_none() {
        verdict.sentence.push_str(&format!("; {what}"));
    }
    (what, verdict)
}
