//! At which offset a table of work done fits what the JVMs did, and how sure that is.
//!
//! Throughput is held against signals of the JVM's log at every offset (Pearson's correlation, tick by tick): work
//! allocates, so the allocation rate rises and falls with it; compiling goes the other way. The best offset always
//! exists, also for things that have nothing to do with each other, so it counts only when
//!
//! - it is well above the next separate peak and above what chance gives: the same table, turned around in a circle
//!   against the same signals, which keeps its slow swings (two random walks correlate by chance, and here they do
//!   so in the null as well);
//! - no single feature makes it: without any fifth of the table, the best offset stays where it is. One dip in each
//!   of two unrelated things can always be laid over one another.
//!
//! Bounds measured on a real benchmark (three clients, four JVMs, offset known to ±2 s): correlation 0.73 against at
//! most 0.31 by chance; on its reverse and its rotations, white and autocorrelated noise, random walks and made-up
//! dips, no offset meets all conditions.

/// More ticks than this are put together: what is left is still finer than any phase of a run.
const MOST_TICKS: usize = 600;
/// Fewer ticks than this tell nothing.
const FEWEST_TICKS: usize = 60;
/// How much of the table, or of what the signals cover if that is shorter, must lie within the other.
const OVERLAP: f64 = 0.8;
/// Offsets tried for each tick.
const STEPS_A_TICK: f64 = 2.0;
/// More offsets than this are not tried; a run that is thousands of times longer than its table says nothing.
const MOST_OFFSETS: usize = 4_000;
/// Parts of the table that are left out in turn.
const PARTS: usize = 5;
/// The peak's width is measured where it has fallen to this share of its height.
const WIDTH_AT: f64 = 0.85;
/// What counts as another peak begins where the curve has fallen to this share.
const SEPARATE_AT: f64 = 0.5;

// What a match must reach to be applied. Chosen on 300 pairs of made-up unrelated loads and walks, of which one passes
// (both rise from nothing at their start, and are laid over one another there), and 150 related ones, of which 138 do.
const LEAST_CORRELATION: f64 = 0.6;
const MOST_BY_CHANCE: f64 = 0.5;
const MOST_ELSEWHERE: f64 = 0.65;
const LEAST_DEVIATIONS: f64 = 5.0;
const LEAST_WITHOUT_A_PART: f64 = 0.65;
/// A peak that is wider than this share of the table is one of slow swings.
const WIDEST: f64 = 0.025;

/// One tick of a table, seconds on the table's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) from_s: f64,
    pub(super) length_s: f64,
    pub(super) value: f64,
}

/// A quantity that adds up over time, as (seconds, sum so far), straight between: its slope is a rate.
#[derive(Clone, Debug, Default)]
pub(super) struct Signal {
    pub(super) sums: Vec<(f64, f64)>,
    /// 1 when it goes with the work, -1 when against it.
    pub(super) sign: f64,
}

/// The best offset and what speaks for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Match {
    /// What to add to the table's seconds.
    pub(super) offset_s: f64,
    pub(super) uncertainty_s: f64,
    /// Correlation with the first signal.
    pub(super) correlation: f64,
    /// The next separate peak and the highest by chance, as shares of the peak.
    pub(super) next: f64,
    pub(super) chance: f64,
    /// How many standard deviations of chance the peak is high.
    pub(super) deviations: f64,
    /// Whether it stays without any part of the table, is narrow, and has a curve on both sides that falls off.
    pub(super) steady: bool,
}

impl Match {
    /// Whether it may be applied without asking.
    pub(super) fn is_certain(&self) -> bool {
        self.correlation >= LEAST_CORRELATION
            && self.chance <= MOST_BY_CHANCE
            && self.next <= MOST_ELSEWHERE
            && self.deviations >= LEAST_DEVIATIONS
            && self.steady
    }

    /// From 0 to 1: how far the peak stands out of the next best and of chance, none when a single feature makes it.
    pub(super) fn certainty(&self) -> f64 {
        let out = (1.0 - self.next.max(self.chance)).clamp(0.0, 1.0);
        if self.steady { out } else { 0.0 }
    }
}

/// The best offset of a table against the signals; `None` when there is too little to tell.
pub(super) fn best_offset(table: &[Tick], signals: &[Signal]) -> Option<Match> {
    let ticks = coarse(table);
    let field = Field::new(&ticks, signals)?;
    let curve = field.curve();
    let (best, peak) = curve.iter().enumerate().max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let (offset_s, height) = *peak;
    if height <= 0.0 {
        return None;
    }
    let fallen = |share: f64| {
        let low = |(_, h): &(f64, f64)| *h < share * height;
        let left = curve[..best].iter().rposition(low).map_or(0, |i| i + 1);
        let right = curve[best..].iter().position(low).map_or(curve.len(), |i| best + i);
        (left, right)
    };
    let (left, right) = fallen(SEPARATE_AT);
    let others = curve[..left].iter().chain(&curve[right..]);
    let next = others.map(|(_, h)| *h).fold(0.0, f64::max) / height;
    let (left, right) = fallen(WIDTH_AT);
    let width_s = curve[right - 1].0 - curve[left].0;
    let (chance, deviations) = field.chance(offset_s, height)?;
    let tolerance_s = width_s.max(2.0 * field.tick_s);
    let uncertainty_s = width_s / 2.0 + field.tick_s;
    let narrow = uncertainty_s <= (WIDEST * field.table_s()).max(5.0 * field.tick_s);
    let inside = left > 0 && right < curve.len();
    Some(Match {
        offset_s,
        uncertainty_s,
        correlation: field.correlations(offset_s, None)?.first().copied()?,
        next,
        chance,
        deviations,
        steady: narrow
            && inside
            && (0..PARTS).all(|part| field.holds_without(part, offset_s, height, tolerance_s)),
    })
}

/// Whether two tables of the same kind started together: they correlate at no offset, and better so than by chance.
pub(super) fn together(a: &[Tick], b: &[Tick]) -> bool {
    let n = a.len().min(b.len());
    if n < FEWEST_TICKS {
        return false;
    }
    // Both are put together in the same way, as they have the same ticks.
    let values = |ticks: &[Tick]| {
        let ticks = coarse(ticks.get(..n).unwrap_or_default());
        ticks.iter().map(|t| t.value).collect::<Vec<_>>()
    };
    let (a, b) = (values(a), values(b));
    let n = a.len().min(b.len());
    let at_once = fisher(pearson(&a, &b));
    let others = shifts(n).map(|k| fisher(pearson(&turned(&a, k), &b)));
    let (mean, deviation, _) = spread(others);
    at_once > mean + 3.0 * deviation
}

/// The table and the signals, ready to be held against one another.
struct Field<'a> {
    ticks: &'a [Tick],
    values: Vec<f64>,
    tick_s: f64,
    grids: Vec<Grid>,
    covers_s: (f64, f64),
}

/// A signal's sums at even distances, to be looked up without searching.
struct Grid {
    from_s: f64,
    step_s: f64,
    sums: Vec<f64>,
    sign: f64,
}

impl Grid {
    fn new(signal: &Signal, covers_s: (f64, f64), step_s: f64) -> Self {
        let (from_s, to_s) = covers_s;
        let count = ((to_s - from_s) / step_s).ceil() as usize + 2;
        let mut sums = Vec::with_capacity(count);
        let mut at = 0;
        for i in 0..count {
            let t = from_s + i as f64 * step_s;
            while signal.sums.get(at).is_some_and(|(s, _)| *s <= t) {
                at += 1;
            }
            let before = at.checked_sub(1).and_then(|i| signal.sums.get(i));
            sums.push(match (before, signal.sums.get(at)) {
                (Some((t0, s0)), Some((t1, s1))) if t1 > t0 => s0 + (s1 - s0) * (t - t0) / (t1 - t0),
                (Some((_, s)), _) | (None, Some((_, s))) => *s,
                (None, None) => 0.0,
            });
        }
        Self { from_s, step_s, sums, sign: signal.sign }
    }

    fn sum_at(&self, t_s: f64) -> f64 {
        let at = ((t_s - self.from_s) / self.step_s).max(0.0);
        let i = (at as usize).min(self.sums.len().saturating_sub(2));
        let (a, b) = (self.sums[i], self.sums.get(i + 1).copied().unwrap_or(self.sums[i]));
        a + (b - a) * (at - i as f64).clamp(0.0, 1.0)
    }

    fn rate(&self, from_s: f64, length_s: f64) -> f64 {
        (self.sum_at(from_s + length_s) - self.sum_at(from_s)) / length_s
    }
}

impl<'a> Field<'a> {
    fn new(ticks: &'a [Tick], signals: &[Signal]) -> Option<Self> {
        let mut lengths: Vec<f64> = ticks.iter().map(|t| t.length_s).collect();
        lengths.sort_unstable_by(f64::total_cmp);
        let tick_s = lengths.get(lengths.len() / 2).copied().filter(|l| *l > 0.0)?;
        let from_s = signals.iter().filter_map(|s| Some(s.sums.first()?.0)).reduce(f64::min)?;
        let to_s = signals.iter().filter_map(|s| Some(s.sums.last()?.0)).reduce(f64::max)?;
        let table_s = ticks.last()?.from_s - ticks.first()?.from_s;
        let offsets = (to_s - from_s + table_s) / tick_s * STEPS_A_TICK;
        if ticks.len() < FEWEST_TICKS || !offsets.is_finite() || offsets > MOST_OFFSETS as f64 {
            return None;
        }
        let covers_s = (from_s, to_s);
        let grids = signals.iter().map(|signal| Grid::new(signal, covers_s, tick_s / 4.0)).collect();
        Some(Self { ticks, values: ticks.iter().map(|t| t.value).collect(), tick_s, grids, covers_s })
    }

    fn table_s(&self) -> f64 {
        let ends = self.ticks.first().zip(self.ticks.last());
        ends.map_or(0.0, |(first, last)| last.from_s + last.length_s - first.from_s)
    }

    /// The ticks that lie within what the signals cover.
    fn within(&self, offset_s: f64) -> std::ops::Range<usize> {
        let from = self.ticks.partition_point(|t| t.from_s + offset_s < self.covers_s.0);
        let to = self.ticks.partition_point(|t| t.from_s + t.length_s + offset_s <= self.covers_s.1);
        from..to.max(from)
    }

    /// Correlation with each signal at an offset, without the ticks in `except`.
    fn correlations(&self, offset_s: f64, except: Option<&std::ops::Range<usize>>) -> Option<Vec<f64>> {
        let within = self.within(offset_s);
        let kept: Vec<usize> = within.filter(|i| except.is_none_or(|e| !e.contains(i))).collect();
        let shorter = self.table_s().min(self.covers_s.1 - self.covers_s.0) / self.table_s();
        let enough = (FEWEST_TICKS as f64).max(OVERLAP * shorter * self.ticks.len() as f64);
        if (kept.len() as f64) < enough * if except.is_some() { 0.7 } else { 1.0 } {
            return None;
        }
        let values: Vec<f64> = kept.iter().map(|i| self.values[*i]).collect();
        let with = |grid: &Grid| {
            let rate = |i: &usize| grid.rate(self.ticks[*i].from_s + offset_s, self.ticks[*i].length_s);
            let rates: Vec<f64> = kept.iter().map(rate).collect();
            grid.sign * pearson(&values, &rates)
        };
        Some(self.grids.iter().map(with).collect())
    }

    /// (offset, height) for every offset at which enough of the table is covered.
    fn curve(&self) -> Vec<(f64, f64)> {
        let (first, last) = (self.ticks.first(), self.ticks.last());
        let (Some(first), Some(last)) = (first, last) else { return Vec::new() };
        let step_s = self.tick_s / STEPS_A_TICK;
        let from_s = self.covers_s.0 - last.from_s;
        let count = ((self.covers_s.1 - first.from_s - from_s) / step_s) as usize;
        let count = count.min(MOST_OFFSETS);
        // Whole steps of the table's own ticks, so that a table on whole seconds is tried on whole seconds.
        let from_s = (from_s / step_s).floor() * step_s;
        let offsets = (0..=count).map(|i| from_s + i as f64 * step_s);
        offsets.filter_map(|o| Some((o, height(&self.correlations(o, None)?)))).collect()
    }

    /// The highest and the spread of the heights that the table reaches when it is turned around in a circle: as a
    /// share of `height`, and how many deviations `height` is above the mean.
    fn chance(&self, offset_s: f64, peak: f64) -> Option<(f64, f64)> {
        let within = self.within(offset_s);
        let values = self.values.get(within.clone())?;
        let rates = |grid: &Grid| -> Vec<f64> {
            let ticks = self.ticks[within.clone()].iter();
            ticks.map(|t| grid.rate(t.from_s + offset_s, t.length_s)).collect()
        };
        let rates: Vec<_> = self.grids.iter().map(|grid| (grid.sign, rates(grid))).collect();
        let heights = shifts(values.len()).map(|k| {
            let turned = turned(values, k);
            height(&rates.iter().map(|(sign, rates)| sign * pearson(&turned, rates)).collect::<Vec<_>>())
        });
        let (mean, deviation, highest) = spread(heights);
        (deviation > 0.0).then(|| ((highest / peak).max(0.0), (peak - mean) / deviation))
    }

    /// Whether the best offset nearby stays, and stays high, without one part of the table.
    fn holds_without(&self, part: usize, offset_s: f64, peak: f64, tolerance_s: f64) -> bool {
        let within = self.within(offset_s);
        let length = within.len();
        let except = within.start + part * length / PARTS..within.start + (part + 1) * length / PARTS;
        let step_s = self.tick_s / STEPS_A_TICK;
        let nearby = (-60..=60).map(|i| offset_s + f64::from(i) * step_s);
        let heights = nearby.filter_map(|o| Some((o, height(&self.correlations(o, Some(&except))?))));
        let best = heights.max_by(|a, b| a.1.total_cmp(&b.1));
        best.is_some_and(|(o, h)| (o - offset_s).abs() <= tolerance_s && h >= LEAST_WITHOUT_A_PART * peak)
    }
}

/// Neighbouring ticks put together until there are few enough.
fn coarse(table: &[Tick]) -> Vec<Tick> {
    let together = table.len().div_ceil(MOST_TICKS).max(1);
    let merge = |ticks: &[Tick]| {
        let length_s: f64 = ticks.iter().map(|t| t.length_s).sum();
        let work: f64 = ticks.iter().map(|t| t.value * t.length_s).sum();
        Tick { from_s: ticks.first().map_or(0.0, |t| t.from_s), length_s, value: work / length_s }
    };
    let usable: Vec<Tick> =
        table.iter().filter(|t| t.length_s > 0.0 && t.value.is_finite()).copied().collect();
    usable.chunks(together).map(merge).collect()
}

/// The rotations of `n` values that are far enough from none.
fn shifts(n: usize) -> std::ops::Range<usize> {
    let apart = (n / 20).max(10);
    apart..n.saturating_sub(apart).max(apart)
}

fn turned(values: &[f64], by: usize) -> Vec<f64> {
    let (head, tail) = values.split_at(by.min(values.len()));
    [tail, head].concat()
}

/// Correlations put together: the mean of their Fisher transforms, which are about normal.
fn height(correlations: &[f64]) -> f64 {
    correlations.iter().map(|r| fisher(*r)).sum::<f64>() / correlations.len().max(1) as f64
}

fn fisher(r: f64) -> f64 {
    r.clamp(-0.999, 0.999).atanh()
}

/// Mean, standard deviation and maximum.
fn spread(values: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let values: Vec<f64> = values.collect();
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
    (mean, variance.sqrt(), values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// Pearson's correlation; 0 when one side does not vary.
fn pearson(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len().min(y.len()).max(1) as f64;
    let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        xy += (x - mx) * (y - my);
        xx += (x - mx).powi(2);
        yy += (y - my).powi(2);
    }
    if xx * yy > 0.0 { xy / (xx * yy).sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from -1 to 1 that look random and are the same every time (splitmix64).
    struct Noise(u64);

    impl Noise {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
    }

    fn ticks(values: &[f64]) -> Vec<Tick> {
        let tick = |(i, value): (usize, &f64)| Tick { from_s: i as f64, length_s: 1.0, value: *value };
        values.iter().enumerate().map(tick).collect()
    }

    fn signal(rates: &[f64]) -> Signal {
        let mut sum = 0.0;
        let mut sums = vec![(0.0, 0.0)];
        for (i, rate) in rates.iter().enumerate() {
            sum += rate;
            sums.push((i as f64 + 1.0, sum));
        }
        Signal { sums, sign: 1.0 }
    }

    /// Load with a ramp, a few phases and noise.
    fn load(noise: &mut Noise, n: usize) -> Vec<f64> {
        let mut level = 100.0;
        let mut value = |i: usize| {
            if noise.next() > 0.93 {
                level = 100.0 + 50.0 * noise.next();
            }
            (level + 5.0 * noise.next()) * (i as f64 / 12.0).min(1.0)
        };
        (0..n).map(&mut value).collect()
    }

    #[test]
    fn a_known_offset_is_found_and_certain() {
        let mut certain = 0;
        for seed in 0..8 {
            let mut noise = Noise(seed);
            let work = load(&mut noise, 230);
            let offset = 36;
            let mut activity: Vec<f64> = (0..290).map(|_| 20.0 + 10.0 * noise.next()).collect();
            for (i, value) in work.iter().enumerate() {
                activity[i + offset] += 0.7 * value + 4.0 * noise.next();
            }
            let found = best_offset(&ticks(&work), &[signal(&activity)]).unwrap();
            assert!((found.offset_s - 36.0).abs() <= 1.0, "{found:?}");
            assert!(found.uncertainty_s < 6.0, "{found:?}");
            certain += u32::from(found.is_certain());
        }
        assert!(certain >= 6, "{certain}");
    }

    #[test]
    fn unrelated_series_are_never_certain() {
        let mut certain = Vec::new();
        for seed in 0..30 {
            let mut noise = Noise(1000 + seed);
            let (activity, other) = (load(&mut noise, 290), load(&mut noise, 230));
            let mut level = 0.0;
            let walk: Vec<f64> = (0..230)
                .map(|_| {
                    level += noise.next();
                    level
                })
                .collect();
            let white: Vec<f64> = (0..230).map(|_| noise.next()).collect();
            let dip: Vec<f64> =
                (0..230).map(|i| if (90..100).contains(&i) { 10.0 } else { 100.0 + noise.next() }).collect();
            for table in [&other, &walk, &white, &dip] {
                let found = best_offset(&ticks(table), &[signal(&activity)]);
                certain.extend(found.filter(Match::is_certain).map(|found| (seed, found)));
            }
        }
        assert_eq!(certain, []);
    }

    #[test]
    fn one_dip_laid_over_one_dip_is_found_but_not_certain() {
        let mut noise = Noise(5);
        let dip = |at: usize, n: usize, noise: &mut Noise| -> Vec<f64> {
            (0..n)
                .map(|i| if (at..at + 10).contains(&i) { 20.0 } else { 100.0 + 3.0 * noise.next() })
                .collect()
        };
        let (table, activity) = (dip(100, 230, &mut noise), dip(150, 290, &mut noise));
        let found = best_offset(&ticks(&table), &[signal(&activity)]).unwrap();
        assert!((found.offset_s - 50.0).abs() <= 1.0 && !found.is_certain(), "{found:?}");
    }

    #[test]
    fn too_little_or_nothing_that_varies_tells_nothing() {
        let mut noise = Noise(9);
        let work = load(&mut noise, 230);
        assert_eq!(best_offset(&ticks(&work[..30]), &[signal(&work)]), None);
        assert_eq!(best_offset(&ticks(&[1.0; 230]), &[signal(&work)]), None);
        assert_eq!(best_offset(&ticks(&work), &[]), None);
        assert_eq!(best_offset(&ticks(&work), &[signal(&[])]), None);
        assert_eq!(best_offset(&[], &[signal(&work)]), None);
    }

    #[test]
    fn tables_that_started_together_are_told_from_those_that_did_not() {
        let mut noise = Noise(3);
        let work = load(&mut noise, 231);
        let share =
            |noise: &mut Noise| -> Vec<f64> { work.iter().map(|w| w / 3.0 + 6.0 * noise.next()).collect() };
        let (a, b) = (share(&mut noise), share(&mut noise));
        assert!(together(&ticks(&a), &ticks(&b[..230])));
        let unrelated: Vec<f64> = (0..231).map(|_| noise.next()).collect();
        assert!(!together(&ticks(&a), &ticks(&unrelated)));
    }
}
