//! What one flame graph shows: a tree of the chosen samples, and that of the baseline.

use fathom_recording::vocabulary::sample;
use fathom_recording::{Recording, SeriesKind};

use super::compare::{Comparison, Normalisation, Side, compare};
use super::rows::Rows;
use super::selection::Selection;
use super::tree::{Builder, CallTree, Shape};
use crate::Window;

/// What a selection is compared with.
#[derive(Clone, Debug)]
pub struct Base {
    /// The samples.
    pub selection: Selection,
    /// What makes them comparable.
    pub normalisation: Normalisation,
}

/// Why there is no flame graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StacksError {
    /// No sample was chosen.
    #[error("no {kind} sample {side}{hint}")]
    Nothing {
        /// The kind that was asked for.
        kind: String,
        /// In which of the two selections.
        side: &'static str,
        /// What there is instead.
        hint: String,
    },
    /// Operations were to be compared, and nobody counted them.
    #[error("no throughput is known in {0}: compare per second of wall time or by share")]
    NoOperations(&'static str),
}

/// A flame graph's content.
#[derive(Clone, Debug)]
pub struct Flame {
    /// What was sampled.
    pub kind: String,
    /// Unit of the weights: "ns", "bytes", "cycles", "count".
    pub unit: &'static str,
    /// Samples, or spans, that it is made of.
    pub samples: usize,
    /// The time that they are from.
    pub covered: Vec<Window>,
    /// The tree.
    pub tree: CallTree,
    /// The baseline, and the time that it is from.
    pub comparison: Option<(Comparison, Vec<Window>)>,
    /// Samples whose callers could not be walked to the end.
    pub cut: usize,
    /// Samples without any stack.
    pub without_stack: usize,
    /// Samples left out because their weight is negative.
    pub negative: u64,
}

/// Makes the call tree of a selection, compared with a baseline when there is one.
pub fn flame(
    recording: &Recording,
    selection: &Selection,
    shape: Shape,
    base: Option<&Base>,
) -> Result<Flame, StacksError> {
    let rows = Rows::of(recording, selection);
    if rows.rows.is_empty() {
        return Err(nothing(recording, selection, "is chosen"));
    }
    let mut builder = Builder::new(recording, shape);
    let ends = builder.add(&rows.rows, true);
    let base_rows = base.map(|b| Rows::of(recording, &b.selection));
    if let Some((base, rows)) = base.zip(base_rows.as_ref())
        && rows.rows.is_empty()
    {
        return Err(nothing(recording, &base.selection, "is in the baseline"));
    }
    let base_ends = base_rows.as_ref().map(|rows| builder.add(&rows.rows, false));
    let tree = builder.finish();
    let mut comparison = None;
    if let (Some(base), Some(other), Some(other_ends)) = (base, &base_rows, &base_ends) {
        let (here_done, base_done) =
            (operations(recording, selection), operations(recording, &base.selection));
        if base.normalisation == Normalisation::Operation {
            let known =
                |rows: &Rows, done: &dyn Fn(Window) -> f64| rows.covered.iter().any(|w| done(*w) > 0.0);
            for (rows, done, side) in [
                (&rows, &here_done as &dyn Fn(Window) -> f64, "the window"),
                (other, &base_done as &dyn Fn(Window) -> f64, "the baseline"),
            ] {
                if !known(rows, done) {
                    return Err(StacksError::NoOperations(side));
                }
            }
        }
        let here = Side { rows: &rows, ends: &ends, operations: &here_done };
        let there = Side { rows: other, ends: other_ends, operations: &base_done };
        comparison = compare(&tree, &here, &there, base.normalisation).map(|c| (c, other.covered.clone()));
    }
    let is_cut = cut_stacks(recording);
    let cut = rows.rows.iter().filter(|r| r.stack.is_some_and(|s| is_cut.get(s.index()) == Some(&true)));
    Ok(Flame {
        kind: selection.kind.clone(),
        unit: unit(recording, &selection.kind),
        samples: rows.rows.len(),
        cut: cut.count(),
        without_stack: rows.rows.iter().filter(|r| r.stack.is_none()).count(),
        negative: rows.negative,
        covered: rows.covered,
        tree,
        comparison,
    })
}

/// The unit of a kind of samples or spans.
pub fn unit(recording: &Recording, kind: &str) -> &'static str {
    let kinds = super::kinds(recording);
    // A part of the waits is not in the list.
    let spans = || if recording.spans_of(kind).next().is_some() { "ns" } else { sample::unit(kind) };
    kinds.iter().find(|k| k.name == kind).map_or_else(spans, |k| k.unit)
}

fn nothing(recording: &Recording, selection: &Selection, side: &'static str) -> StacksError {
    let kinds = super::kinds(recording);
    let hint = match kinds.iter().find(|k| k.name == selection.kind) {
        Some(_) if let Some((rows, from_s, to_s)) = beyond(recording, selection) => {
            format!(
                "; beyond the window there are {rows}, from {from_s:.1} s to {to_s:.1} s of the recording"
            )
        }
        Some(kind) => format!("; without window and filters there are {}", kind.rows),
        None if kinds.is_empty() => "; nothing that was read has stacks".to_owned(),
        None => {
            let known: Vec<_> = kinds.iter().map(|k| format!("{} ({})", k.name, k.rows)).collect();
            format!("; there are {}", known.join(", "))
        }
    };
    StacksError::Nothing { kind: selection.kind.clone(), side, hint }
}

/// What would be chosen without the windows: how many, and from when to when, seconds; `None` where
/// that is nothing either.
fn beyond(recording: &Recording, selection: &Selection) -> Option<(usize, f64, f64)> {
    if selection.windows.is_empty() {
        return None;
    }
    let rows = Rows::of(recording, &Selection { windows: Vec::new(), ..selection.clone() }).rows;
    let intervals = || rows.iter().map(|row| row.t_ns);
    let zero_ns = crate::zero_ns(recording);
    let at_s = |ns: i64| fathom_recording::clock::seconds(ns.saturating_sub(zero_ns));
    Some((rows.len(), at_s(intervals().min()?), at_s(intervals().max()?)))
}

/// Which stacks do not reach their thread's root.
fn cut_stacks(recording: &Recording) -> Vec<bool> {
    let mut cut: Vec<bool> = Vec::with_capacity(recording.stacks.len());
    for node in &recording.stacks {
        let caller = node.parent.and_then(|p| cut.get(p.index()).copied());
        let frame = recording.frames.get(node.frame.index());
        let text = frame.map_or("", |f| recording.strings.get(f.name));
        cut.push(caller.unwrap_or_else(|| fathom_recording::vocabulary::frame::cut_reason(text).is_some()));
    }
    cut
}

/// Completed operations in a window, by the throughput series of the selection's sources: all
/// instances together.
fn operations<'a>(recording: &'a Recording, selection: &Selection) -> impl Fn(Window) -> f64 + use<'a> {
    let (from, to) = (selection.sources_from, selection.sources_to);
    let ours = move |source: u32| source >= from && to.is_none_or(|to| source < to);
    let counted_as = crate::thread_ledger::counted_as(recording);
    let chosen: Vec<_> = recording
        .series
        .iter()
        .filter(|s| s.info.kind == SeriesKind::Rate && s.info.name == counted_as && ours(s.info.source.0))
        .collect();
    move |window| {
        let mut sum = 0.0;
        for series in &chosen {
            for ((t, dt), value) in series.t_ns.iter().zip(&series.dt_ns).zip(&series.value) {
                let from = (*t).max(window.from_ns);
                let to = t.saturating_add(*dt).min(window.to_ns);
                if from < to && value.is_finite() {
                    sum += value.max(0.0) * (to - from) as f64 / 1e9;
                }
            }
        }
        sum
    }
}
