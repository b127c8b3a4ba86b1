//! What is slow, and much less so than the deepest part of the same interval: it would dilute what
//! an operation is found to take there.

use super::{EDGE_TICKS, FALLEN_TO, MIN_TICKS, Usual};
use crate::stats;

/// A part of a slow interval between change points.
struct Part {
    from: usize,
    to: usize,
    median: f64,
    /// Whether the level that it belongs to is lower than usual by a dip.
    is_lower: bool,
}

/// Ticks of slow intervals that are no part of the deepest level within: twice as much is done in
/// theirs, and half as much is lost at most. An interval that loses more there than in its deepest
/// part stays whole. A level is (first tick, first tick of the next, median).
pub(super) fn apart(
    values: &[Option<f64>],
    intervals: &[(usize, usize)],
    levels: &[(usize, usize, f64)],
    usual: &Usual,
) -> Vec<bool> {
    let mut apart = vec![false; values.len()];
    for interval in intervals {
        let parts = parts(values, *interval, levels, usual);
        let Some((limit, is_mild)) = mild(&parts, usual) else { continue };
        let mild = parts.iter().zip(&is_mild).filter(|(_, is_mild)| **is_mild);
        mild.for_each(|(part, _)| apart[part.from..part.to].fill(true));
        // Ranks place an end of a level to within a tick or two.
        for (i, part) in parts.iter().enumerate().skip(1).filter(|(i, _)| is_mild[*i] != is_mild[i - 1]) {
            let from = parts[i - 1].from.max(part.from.saturating_sub(EDGE_TICKS));
            let near = from..part.to.min(part.from + EDGE_TICKS);
            for (apart, value) in apart[near.clone()].iter_mut().zip(&values[near]) {
                *apart = value.is_some_and(|v| v >= limit);
            }
        }
    }
    apart
}

fn parts(
    values: &[Option<f64>],
    (from, to): (usize, usize),
    levels: &[(usize, usize, f64)],
    usual: &Usual,
) -> Vec<Part> {
    let part = |(begin, end, median): &(usize, usize, f64)| {
        let (from, to) = (from.max(*begin), to.min(*end));
        let own = (from < to).then(|| stats::sorted(values[from..to].iter().map(|v| v.unwrap_or(0.0))))?;
        Some(Part { from, to, median: stats::median(&own)?, is_lower: usual.is_dip(*median) })
    };
    levels.iter().filter_map(part).collect()
}

/// Above which value ticks are no part of the deepest level, and which parts are not; `None` where
/// all are.
fn mild(parts: &[Part], usual: &Usual) -> Option<(f64, Vec<bool>)> {
    let long = parts.iter().filter(|part| part.to - part.from >= MIN_TICKS);
    let deepest = long.map(|part| part.median).reduce(f64::min)?;
    let limit = (deepest / FALLEN_TO).max((deepest + usual.level) / 2.0);
    let lower: Vec<bool> = parts.iter().map(|part| part.is_lower && part.median >= limit).collect();
    // The edge of such a part within the usual level goes with it; a recovery of the deepest does
    // not.
    let next_to_lower = |i: usize| (i > 0 && lower[i - 1]) || lower.get(i + 1).is_some_and(|next| *next);
    let is_mild: Vec<bool> =
        (0..parts.len()).map(|i| lower[i] || (!parts[i].is_lower && next_to_lower(i))).collect();
    let lost = |mild: bool| -> f64 {
        let of = parts.iter().zip(&is_mild).filter(|(_, is_mild)| **is_mild == mild);
        of.map(|(part, _)| (usual.level - part.median) * (part.to - part.from) as f64).sum()
    };
    (lower.contains(&true) && lost(true) <= lost(false)).then_some((limit, is_mild))
}
