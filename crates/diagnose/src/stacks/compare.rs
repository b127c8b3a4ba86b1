//! Two sets of samples compared with each other, node by node and frame by frame, with what is
//! noise.
//!
//! **Normalisation.** Windows differ in length and load, so weights are compared per second of wall
//! time, as a share of
//! all samples, or per completed operation. The baseline is scaled by the quotient of the two
//! denominators and everything is shown in the unit of the first side.
//!
//! **Noise.** Two standard errors are found for each side and the larger is taken:
//!
//! - by counting: samples arrive as a Poisson process, so the variance of a sum of weights is the
//!   sum of their squares (at least that of one average sample, so that "none seen" is not "none,
//!   for certain");
//! - by blocks: the window is cut into 8 to 32 intervals of equal length and the value is computed
//!   in each. Work that comes in bursts or drifts differs from interval to interval by more than
//!   counting explains. The variance is that of a ratio estimator, Σ(x − r·d)² · B/(B − 1) with
//!   value x and denominator d of each block (Cochran, Sampling Techniques, ch. 6), widened by the
//!   quotient of Student's and the normal 97.5% quantile for few blocks.
//!
//! A frame seen fewer than 5 times on both sides together is not judged. Of the others many are
//! tested at once, so the limit is set by the procedure of Benjamini and Hochberg (1995): of the
//! frames called different, 5% may be wrong. Nothing is drawn at random: the same input gives the
//! same verdict.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::rows::Rows;
use super::tree::CallTree;
use crate::Window;

/// Fewer samples than this on both sides together say nothing of a frame.
const FEWEST_SAMPLES: f64 = 5.0;
/// With fewer blocks the variance between them is hardly known.
const FEWEST_BLOCKS: usize = 8;
/// More add nothing but time.
const MOST_BLOCKS: usize = 32;
/// A block should hold some samples.
const SAMPLES_A_BLOCK: usize = 16;
/// Share of wrongly called differences among those that are called.
const FALSE_DISCOVERIES: f64 = 0.05;

/// Half of an interval of 95%, in standard errors. Those between blocks are widened for few blocks
/// already.
pub const HALF_INTERVAL: f64 = 1.96;

/// What makes two sides comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalisation {
    /// Per second of wall time.
    Wall,
    /// As a share of all samples of the side.
    Share,
    /// Per operation that the throughput series counts.
    Operation,
}

impl Normalisation {
    /// In words, as it is shown.
    pub fn words(self) -> &'static str {
        match self {
            Self::Wall => "per second of wall time",
            Self::Share => "as a share of all samples",
            Self::Operation => "per operation",
        }
    }
}

/// Whether a difference is more than noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// More than the baseline, beyond noise.
    More,
    /// Less than the baseline, beyond noise.
    Less,
    /// Within noise.
    Noise,
    /// Too few samples to judge.
    TooFew,
}

/// Standard errors of differences, and from how many of them on a difference is called one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Errors {
    /// Of own weights, in the unit of the first side; not-a-number where there are too few samples.
    pub of_self: Vec<f64>,
    /// Of totals.
    pub of_total: Vec<f64>,
    /// Standard errors from which on a difference of own weights is beyond noise; `None` when none
    /// is.
    pub self_limit: Option<f64>,
    /// The same of totals.
    pub total_limit: Option<f64>,
}

impl Errors {
    /// The verdict on a difference.
    pub fn judge(difference: f64, error: f64, limit: Option<f64>) -> Verdict {
        match limit {
            _ if !(error > 0.0 && error.is_finite()) => Verdict::TooFew,
            Some(limit) if difference.abs() >= limit * error => {
                if difference > 0.0 {
                    Verdict::More
                } else {
                    Verdict::Less
                }
            }
            _ => Verdict::Noise,
        }
    }
}

/// What a frame took of all samples of a side: a share, and half of its interval of 95%, from the
/// larger of the two errors that the noise of a difference is estimated by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Of all weight, 0 to 1.
    pub of_all: f64,
    /// Half of the interval, not cut off at 0 and 1.
    pub half: f64,
}

impl Share {
    /// Where the interval begins and ends, within 0 and 1.
    pub fn interval(self) -> [f64; 2] {
        [self.of_all - self.half, self.of_all + self.half].map(|end| end.clamp(0.0, 1.0))
    }
}

/// Shares of all samples of a side, frame by frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shares {
    /// What each frame took itself.
    pub of_self: Vec<Share>,
    /// What each took with all that it called.
    pub of_total: Vec<Share>,
}

impl Shares {
    fn of(measured: &Measured) -> Self {
        let all = measured.denominator;
        let share = |(weight, variance): (&f64, &f64)| Share {
            of_all: weight / all,
            half: HALF_INTERVAL * variance.sqrt() / all,
        };
        let (weight, variance) = (&measured.weight, &measured.variance);
        Self {
            of_self: weight.frame_own.iter().zip(&variance.frame_own).map(share).collect(),
            of_total: weight.frame_total.iter().zip(&variance.frame_total).map(share).collect(),
        }
    }
}

/// The baseline of the weights of a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What is compared.
    pub normalisation: Normalisation,
    /// What a baseline weight is multiplied with to be comparable.
    pub scale: f64,
    /// What weights are divided by on this side and in the baseline: seconds, the weight of all
    /// samples, or operations.
    pub denominators: [f64; 2],
    /// Baseline weight of samples that end in each node, as measured.
    pub base_self: Vec<i64>,
    /// Baseline weight of each node with all below.
    pub base_total: Vec<i64>,
    /// Baseline weights frame by frame; see [`super::top`].
    pub base_frame_self: Vec<i64>,
    /// Baseline totals frame by frame; a recursion counts once.
    pub base_frame_total: Vec<i64>,
    /// Errors of nodes.
    pub nodes: Errors,
    /// Errors of frames.
    pub frames: Errors,
    /// Shares of frames, of all samples on this side and of all in the baseline.
    pub shares: [Shares; 2],
    /// Samples of the baseline.
    pub base_samples: usize,
    /// Blocks that each side was cut into, 0 where there were too few samples and errors are by
    /// counting alone.
    pub blocks: (usize, usize),
}

/// One side: its rows, the nodes in which they end, and completed operations in a window, where
/// they are known.
pub(super) struct Side<'a> {
    pub(super) rows: &'a Rows,
    pub(super) ends: &'a [u32],
    pub(super) operations: &'a dyn Fn(Window) -> f64,
}

/// Compares; `None` when a denominator is zero.
pub(super) fn compare(
    tree: &CallTree,
    here: &Side<'_>,
    base: &Side<'_>,
    normalisation: Normalisation,
) -> Option<Comparison> {
    let recursive = tree.recursive();
    let sides = [here, base].map(|side| Measured::of(tree, &recursive, side, normalisation, side.blocks()));
    let [a, b] = &sides;
    let scale = a.denominator / b.denominator;
    if !(scale.is_finite() && scale > 0.0) {
        return None;
    }
    let errors = |pick: fn(&Figures) -> &Vec<f64>| -> Vec<f64> {
        let of = |m: &Measured| (pick(&m.variance).clone(), pick(&m.count).clone());
        let ((var_a, n_a), (var_b, n_b)) = (of(a), of(b));
        (0..var_a.len())
            .map(|i| {
                let enough = n_a[i] + n_b[i] >= FEWEST_SAMPLES;
                if enough { (var_a[i] + scale * scale * var_b[i]).sqrt() } else { f64::NAN }
            })
            .collect()
    };
    let limit = |pick: fn(&Figures) -> &Vec<f64>, errors: &[f64]| {
        let (x, y) = (pick(&a.weight), pick(&b.weight));
        limit((0..errors.len()).map(|i| ((x[i] - y[i] * scale) / errors[i]).abs()))
    };
    let judged = |own: fn(&Figures) -> &Vec<f64>, total: fn(&Figures) -> &Vec<f64>| {
        let (of_self, of_total) = (errors(own), errors(total));
        let (self_limit, total_limit) = (limit(own, &of_self), limit(total, &of_total));
        Errors { of_self, of_total, self_limit, total_limit }
    };
    let whole = |values: &[f64]| values.iter().map(|v| *v as i64).collect();
    let shares = match normalisation {
        Normalisation::Share => [Shares::of(a), Shares::of(b)],
        _ => [here, base].map(|side| {
            Shares::of(&Measured::of(tree, &recursive, side, Normalisation::Share, side.blocks()))
        }),
    };
    Some(Comparison {
        normalisation,
        scale,
        denominators: [a.denominator, b.denominator],
        base_self: whole(&b.weight.own),
        base_total: whole(&b.weight.total),
        base_frame_self: whole(&b.weight.frame_own),
        base_frame_total: whole(&b.weight.frame_total),
        nodes: judged(|f| &f.own, |f| &f.total),
        frames: judged(|f| &f.frame_own, |f| &f.frame_total),
        shares,
        base_samples: base.rows.rows.len(),
        blocks: (here.blocks(), base.blocks()),
    })
}

/// From how many standard errors on a difference is called one (Benjamini and Hochberg).
fn limit(sizes: impl Iterator<Item = f64>) -> Option<f64> {
    let normal = Normal::standard();
    let mut sizes: Vec<f64> = sizes.filter(|z| z.is_finite()).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    let tests = sizes.len() as f64;
    let passes =
        |(rank, z): (usize, &f64)| 2.0 * normal.sf(*z) <= (rank + 1) as f64 / tests * FALSE_DISCOVERIES;
    let last = sizes.iter().enumerate().rposition(passes)?;
    sizes.get(last).copied()
}

impl Side<'_> {
    fn blocks(&self) -> usize {
        let blocks = (self.rows.rows.len() / SAMPLES_A_BLOCK).min(MOST_BLOCKS);
        let long_enough = self.rows.covered_ns() >= blocks as i64;
        if blocks < FEWEST_BLOCKS || !long_enough { 0 } else { blocks }
    }
}

/// A value of each node and of each frame, alone and with what is below.
#[derive(Clone, Debug, Default)]
struct Figures {
    own: Vec<f64>,
    total: Vec<f64>,
    frame_own: Vec<f64>,
    frame_total: Vec<f64>,
}

impl Figures {
    fn of(tree: &CallTree, recursive: &[bool], own: Vec<f64>) -> Self {
        let total = tree.totals(&own, |a, b| a + b);
        let mut frame_own = vec![0.0; tree.frames.len()];
        let mut frame_total = frame_own.clone();
        for (i, frame) in tree.frame.iter().enumerate() {
            frame_own[*frame as usize] += own[i];
            if !recursive[i] {
                frame_total[*frame as usize] += total[i];
            }
        }
        Self { own, total, frame_own, frame_total }
    }

    /// Changes each value by that of another at its place.
    fn each(&mut self, others: [&Self; 2], change: impl Fn(&mut f64, f64, f64)) {
        let [a, b] = others;
        let columns = [
            (&mut self.own, &a.own, &b.own),
            (&mut self.total, &a.total, &b.total),
            (&mut self.frame_own, &a.frame_own, &b.frame_own),
            (&mut self.frame_total, &a.frame_total, &b.frame_total),
        ];
        for (to, a, b) in columns {
            to.iter_mut().zip(a.iter().zip(b)).for_each(|(to, (a, b))| change(to, *a, *b));
        }
    }
}

/// What one side measures: weights, how many samples, and the variance of the weights.
struct Measured {
    denominator: f64,
    weight: Figures,
    count: Figures,
    variance: Figures,
}

impl Measured {
    fn of(
        tree: &CallTree,
        recursive: &[bool],
        side: &Side<'_>,
        normalisation: Normalisation,
        blocks: usize,
    ) -> Self {
        let rows = &side.rows.rows;
        let summed = |value: &dyn Fn(f64) -> f64| {
            let mut own = vec![0.0; tree.len()];
            for (row, end) in rows.iter().zip(side.ends) {
                own[*end as usize] += value(row.weight as f64);
            }
            Figures::of(tree, recursive, own)
        };
        let (weight, squares, count) = (summed(&|w| w), summed(&|w| w * w), summed(&|_| 1.0));
        let all = |figures: &Figures| figures.total.first().copied().unwrap_or(0.0);
        let (all_weight, all_squares) = (all(&weight), all(&squares));
        let one_sample = all_squares / all(&count).max(1.0);
        let denominator: f64 = match normalisation {
            Normalisation::Wall => side.rows.covered_ns() as f64 / 1e9,
            Normalisation::Share => all_weight,
            Normalisation::Operation => side.rows.covered.iter().map(|w| (side.operations)(*w)).sum(),
        };
        let mut variance = squares.clone();
        variance.each([&weight, &squares], |to, weight, squares| {
            let counted = if normalisation == Normalisation::Share && all_weight > 0.0 {
                let share = weight / all_weight;
                (1.0 - share).powi(2) * squares + share * share * (all_squares - squares).max(0.0)
            } else {
                squares
            };
            *to = counted.max(one_sample);
        });
        if blocks > 0 && denominator > 0.0 {
            let between =
                between_blocks(tree, recursive, side, normalisation, blocks, (&weight, denominator));
            let copy = between.clone();
            variance.each([&between, &copy], |to, between, _| *to = to.max(between));
        }
        Self { denominator, weight, count, variance }
    }
}

/// The variance of the weights, estimated from the blocks of a window.
fn between_blocks(
    tree: &CallTree,
    recursive: &[bool],
    side: &Side<'_>,
    normalisation: Normalisation,
    blocks: usize,
    (weight, denominator): (&Figures, f64),
) -> Figures {
    let windows = cut(&side.rows.covered, blocks);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); blocks];
    for (i, row) in side.rows.rows.iter().enumerate() {
        // A row a little outside of what its source says to cover belongs to the nearest block.
        let at = windows.partition_point(|w| w.last().is_some_and(|last| last.to_ns <= row.t_ns));
        members[at.min(blocks - 1)].push(i);
    }
    let zero = || Figures::of(tree, recursive, vec![0.0; tree.len()]);
    let mut sum = zero();
    for (windows, members) in windows.iter().zip(&members) {
        let mut own = vec![0.0; tree.len()];
        let mut all = 0.0;
        for i in members {
            let value = side.rows.rows[*i].weight as f64;
            own[side.ends[*i] as usize] += value;
            all += value;
        }
        let here = Figures::of(tree, recursive, own);
        let part = match normalisation {
            Normalisation::Wall => windows.iter().map(|w| w.length_ns() as f64 / 1e9).sum(),
            Normalisation::Share => all,
            Normalisation::Operation => windows.iter().map(|w| (side.operations)(*w)).sum::<f64>(),
        };
        sum.each([&here, weight], |to, x, whole| *to += (x - whole / denominator * part).powi(2));
    }
    let n = blocks as f64;
    let student = StudentsT::new(0.0, 1.0, n - 1.0).map_or(1.0, |t| t.inverse_cdf(0.975));
    let widened = (student / Normal::standard().inverse_cdf(0.975)).powi(2) * n / (n - 1.0);
    let copy = sum.clone();
    sum.each([&copy, &copy], |to, _, _| *to *= widened);
    sum
}

/// Windows cut into blocks of equal length, in order; a block that reaches over the gap between two
/// windows has two parts.
fn cut(windows: &[Window], blocks: usize) -> Vec<Vec<Window>> {
    let length: i128 = windows.iter().map(|w| i128::from(w.length_ns())).sum();
    let mut parts: Vec<Vec<Window>> = Vec::with_capacity(blocks);
    let (mut at, mut from) = (0_usize, windows.first().map_or(0, |w| w.from_ns));
    let mut used: i128 = 0;
    for block in 1..=blocks {
        let end = length * block as i128 / blocks as i128;
        let mut part = Vec::new();
        while let Some(window) = windows.get(at).filter(|_| used < end) {
            let left = i128::from(window.to_ns.saturating_sub(from));
            let take = left.min(end - used);
            let to_ns = from.saturating_add(take as i64);
            part.push(Window { from_ns: from, to_ns });
            used += take;
            if take == left {
                at += 1;
                from = windows.get(at).map_or(to_ns, |w| w.from_ns);
            } else {
                from = to_ns;
            }
        }
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(from_ns: i64, to_ns: i64) -> Window {
        Window { from_ns, to_ns }
    }

    #[test]
    fn blocks_are_of_equal_length_and_lose_nothing() {
        let parts = cut(&[window(0, 10), window(20, 40)], 4);
        let lengths: Vec<i64> = parts.iter().map(|p| p.iter().map(Window::length_ns).sum()).collect();
        assert_eq!(lengths.iter().sum::<i64>(), 30);
        assert!(lengths.iter().all(|l| (7..=8).contains(l)), "{lengths:?}");
        assert_eq!(parts[1], [window(7, 10), window(20, 25)]);
    }

    /// The third largest has p = 0.0093, at most 3/10 of 0.05; the fourth has p = 0.0455, more than
    /// 4/10 of it.
    #[test]
    fn the_limit_is_that_of_benjamini_and_hochberg() {
        let sizes = [0.3, 2.6, 1.1, 4.0, 0.2, 3.1, 0.9, 2.0, 0.1, 0.5];
        assert_eq!(limit(sizes.into_iter()), Some(2.6));
        assert_eq!(limit([2.6, 4.0, 3.1, 0.5].into_iter()), Some(2.6));
        assert_eq!(limit([0.3, 1.2, f64::NAN].into_iter()), None);
        assert_eq!(limit(std::iter::empty()), None);
    }
}
