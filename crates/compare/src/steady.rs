//! Whether the series of a run gets steady, and from where on.
//!
//! At most 43.5% of the pairs of a virtual machine and a benchmark reach a steady peak (Barrett et
//! al., OOPSLA 2017), so that it is looked for and not taken for granted: change points divide the
//! series into levels; neighbours of the last level that are within a tolerance of it belong to it.
//! What comes before is warm-up. As in that paper a series whose last level is shorter than a
//! quarter of it never got steady.

use fathom_diagnose::stats::{change_points, median, sorted};
use serde::{Deserialize, Serialize};

/// A shorter series is not judged: change points need five ticks on each side.
const FEWEST: usize = 20;
/// Levels that differ by less are one.
const SAME_LEVEL: f64 = 0.01;
/// The share of the series that the last level has to have.
const LAST_SHARE: f64 = 0.25;

/// What a series does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Steady {
    /// Too few values to judge.
    NotJudged,
    /// One level from a value on; 0: from the start.
    From {
        /// Values before it.
        first: usize,
    },
    /// It changes until its end.
    Never,
}

impl Steady {
    /// Judges a series.
    pub fn of(values: &[f64]) -> Self {
        if values.len() < FEWEST {
            return Self::NotJudged;
        }
        let mut starts = vec![0];
        starts.extend(change_points(values));
        let level = |i: usize| {
            let to = starts.get(i + 1).copied().unwrap_or(values.len());
            values.get(starts[i]..to).and_then(|part| median(&sorted(part.iter().copied())))
        };
        let Some(last) = level(starts.len() - 1) else { return Self::NotJudged };
        let same = |i: &usize| level(*i).is_some_and(|l| (l - last).abs() <= SAME_LEVEL * last.abs());
        let from = (0..starts.len()).rev().take_while(same).last().map_or(0, |i| starts[i]);
        if (values.len() - from) as f64 >= LAST_SHARE * values.len() as f64 {
            Self::From { first: from }
        } else {
            Self::Never
        }
    }

    /// The values that count: those of the last level, or all where there is none.
    pub fn part<'v>(&self, values: &'v [f64]) -> &'v [f64] {
        match self {
            Self::From { first } => values.get(*first..).unwrap_or(values),
            Self::NotJudged | Self::Never => values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn series(levels: &[(usize, f64)]) -> Vec<f64> {
        let mut random = Random::new(3);
        let noise = |random: &mut Random| 1.0 + (random.below(1000) as f64 / 1000.0 - 0.5) * 0.01;
        levels.iter().flat_map(|(n, v)| vec![*v; *n]).map(|v| v * noise(&mut random)).collect()
    }

    #[test]
    fn a_warm_up_ends_where_the_last_level_begins() {
        assert_eq!(Steady::of(&series(&[(30, 5.0), (20, 2.0), (150, 1.0)])), Steady::From { first: 50 });
        assert_eq!(Steady::of(&series(&[(200, 1.0)])), Steady::From { first: 0 });
        let values = series(&[(50, 2.0), (150, 1.0)]);
        let part = Steady::of(&values).part(&values);
        assert_eq!(part.len(), 150);
    }

    #[test]
    fn what_changes_until_its_end_is_never_steady_and_a_short_series_is_not_judged() {
        assert_eq!(Steady::of(&series(&[(100, 1.0), (70, 2.0), (30, 3.0)])), Steady::Never);
        assert_eq!(Steady::of(&series(&[(10, 1.0)])), Steady::NotJudged);
        assert_eq!(Steady::of(&[]), Steady::NotJudged);
        assert_eq!(Steady::Never.part(&[1.0, 2.0]), [1.0, 2.0]);
    }
}
