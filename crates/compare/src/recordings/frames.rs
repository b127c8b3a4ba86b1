//! Frames whose share of the CPU samples differs, as `fathom flame --diff --normalise share` finds
//! them.

use fathom_diagnose::Window;
use fathom_diagnose::stacks::{Base, Errors, Normalisation, Selection, Shape, Verdict, flame, kinds, top};
use fathom_recording::Recording;
use fathom_recording::vocabulary::sample;
use serde::Serialize;

/// Frames that are told.
const MOST: usize = 40;
/// Half of an interval of 95%, in standard errors; the errors are widened for few stretches
/// already.
const HALF: f64 = 1.96;

/// What differs in the samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Frames {
    /// What was sampled.
    pub kind: String,
    /// Samples on each side.
    pub samples: [usize; 2],
    /// Frames that differ beyond noise (5% of them may be wrong), the largest difference first.
    pub moved: Vec<MovedFrame>,
    /// How many of them there are.
    pub differ: usize,
    /// Frames that were judged.
    pub judged: usize,
}

/// A frame whose own share differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MovedFrame {
    /// Method or function.
    pub name: String,
    /// Library, "kernel", or empty.
    pub module: String,
    /// Its own share of the samples on the first side.
    pub first: f64,
    /// On the second.
    pub second: f64,
    /// The difference lies between these.
    pub difference: [f64; 2],
}

/// Compares the CPU samples of two recordings, of a window of each where one is given; `None` where
/// a side has none.
pub(super) fn frames(mut first: Recording, second: Recording, within: [Option<Window>; 2]) -> Option<Frames> {
    let sampled = |recording: &Recording| {
        let kinds = kinds(recording);
        let known = [sample::CPU, sample::CYCLES].into_iter();
        known.filter(|kind| kinds.iter().any(|k| k.name == *kind && k.rows > 0)).collect::<Vec<_>>()
    };
    let (here, there) = (sampled(&second), sampled(&first));
    let kind = here.into_iter().find(|kind| there.contains(kind))?;
    let before = first.sources.len() as u32;
    first.append(second);
    first.seal();
    let all = Selection { kind: kind.to_owned(), ..Selection::default() };
    let [of_first, of_second] = within.map(|window| window.into_iter().collect());
    let base = Selection { sources_to: Some(before), windows: of_first, ..all.clone() };
    let this = Selection { sources_from: before, windows: of_second, ..all };
    let base = Base { selection: base, normalisation: Normalisation::Share };
    let flame = flame(&first, &this, Shape::default(), Some(&base)).ok()?;
    let (comparison, _) = flame.comparison.as_ref()?;
    let whole = flame.tree.total_weight.first().copied().unwrap_or(0) as f64;
    let (mut moved, mut judged) = (Vec::new(), 0);
    for frame in top(&flame.tree) {
        let i = frame.frame as usize;
        let error = comparison.frames.of_self.get(i).copied().unwrap_or(f64::NAN);
        let of_base = comparison.base_frame_self.get(i).copied().unwrap_or(0) as f64 * comparison.scale;
        let difference = frame.self_weight as f64 - of_base;
        let verdict = Errors::judge(difference, error, comparison.frames.self_limit);
        judged += usize::from(verdict != Verdict::TooFew);
        if !matches!(verdict, Verdict::More | Verdict::Less) {
            continue;
        }
        let Some(named) = flame.tree.frames.get(i) else { continue };
        moved.push(MovedFrame {
            name: named.name.clone(),
            module: named.module.clone(),
            first: of_base / whole,
            second: frame.self_weight as f64 / whole,
            difference: [-HALF, HALF].map(|n| (difference + n * error) / whole),
        });
    }
    moved.sort_by(|a, b| (b.second - b.first).abs().total_cmp(&(a.second - a.first).abs()));
    let differ = moved.len();
    moved.truncate(MOST);
    let samples = [comparison.base_samples, flame.samples];
    Some(Frames { kind: kind.to_owned(), samples, moved, differ, judged })
}
