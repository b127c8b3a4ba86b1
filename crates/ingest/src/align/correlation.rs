//! At which offset a table of completed work fits what the JVMs did, and how probable that is.
//!
//! Each [`Witness`] (the allocation of a JVM, its system calls, its CPU time …) is divided into
//! intervals, at several scales, and at every offset the change of its rate from interval to
//! interval is correlated with the change of the table's. Changes, not levels: two unrelated
//! quantities that drift or have phases correlate by chance, their changes do not. Changes are
//! clipped at a few times their usual size: one dip in each of two unrelated quantities can always
//! be aligned, and must not decide. So what counts is many small changes that fit, and only the
//! right offset has those.
//!
//! The significance of a correlation is measured in deviations of what the same witness shows at
//! all other offsets, so that whatever makes chance matches likely, such as a common period, counts
//! against it. It becomes a Bayes factor of "related, at this offset" against "unrelated".
//! Witnesses are not independent, so their factors are averaged and not multiplied (one of them is
//! the right one, and it is not known which), and what several JVMs show together is a witness of
//! its own ([`vote`]). With all offsets, and "unrelated", equally probable a priori, the result is
//! the probability of the best offset.
//!
//! What that yields on real and synthetic runs: docs/alignment.md.

mod statistics;

use std::collections::{BTreeMap, BTreeSet};

use fathom_recording::ProcessId;

use statistics::{clip, fisher, pearson, shifts, spread, turned};

/// More ticks than this are merged: what is left is still finer than any phase of a run.
const MOST_TICKS: usize = 600;
/// Fewer ticks than this show nothing about when they were.
const FEWEST_TICKS: usize = 20;
/// Fewer ticks than this do not show that two tables rise and fall together.
const FEWEST_TOGETHER: usize = 60;
/// The fewest changes that are correlated.
const FEWEST_CHANGES: usize = 16;
/// How much of the table, or of what a witness covers if that is shorter, must overlap with the
/// other.
const OVERLAP: f64 = 0.8;
/// Offsets tried per tick; one where there are very many.
const STEPS_A_TICK: f64 = 2.0;
/// The most offsets that are tried.
const MOST_OFFSETS: f64 = 8_000.0;
/// Lengths of the intervals, in ticks: from what a single tick shows to phases of a run.
const SCALES: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// The most intervals over all offsets and witnesses: some seconds of work.
const MOST_WORK: usize = 300_000_000;
/// The most intervals of one witness at one scale: a run that is longer than its table by more is
/// not searched.
const MOST_INTERVALS: usize = 20_000;
/// Changes are clipped at this many times their usual size (the median's deviation as a standard
/// deviation).
const CLIPPED_AT: f64 = 2.5;
/// Fewer offsets than this do not show what chance does.
const FEWEST_OFFSETS: usize = 20;
/// The changes of noise follow each other with a correlation of -0.5, which increases the variation
/// of that of two noises by a half.
const CHANGES_VARY: f64 = 1.5;
/// One part in this many of the table may be all that fits, and be a coincidence; without it …
const PARTS: usize = 5;
/// … this significance must remain.
const LEAST_WITHOUT_A_PART: f64 = 2.5;
/// The probability from which an offset is used.
const PROBABLE: f64 = 0.99;
/// The best offset is one within this share of the table's length …
const WIDE: f64 = 0.025;
/// … or this many ticks: a phase of a run is longer.
const WIDE_TICKS: f64 = 5.0;
/// The share of the probability near the best offset that the uncertainty must cover.
const HELD: f64 = 0.99;
/// A witness that is this many deviations sure by itself counts as one that agrees.
const AGREES: f64 = 4.0;
/// The most other offsets that are offered.
const OFFERED: usize = 3;

/// One tick of a table, seconds on the table's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) from_s: f64,
    pub(super) length_s: f64,
    pub(super) value: f64,
}

/// A quantity that accumulates over time and follows the work.
#[derive(Clone, Debug)]
pub(super) struct Witness {
    /// What it is, in words.
    pub(super) what: &'static str,
    /// Its process; none for the machine.
    pub(super) process: Option<ProcessId>,
    /// Whether it may go against the work as well as with it.
    pub(super) either_way: bool,
    /// (seconds, sum so far): the course between two of them is unknown.
    pub(super) sums: Vec<(f64, f64)>,
}

/// The best offset and the evidence for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Match {
    /// The offset to add to the table's seconds.
    pub(super) offset_s: f64,
    pub(super) uncertainty_s: f64,
    /// The probability that the offset is right to within the uncertainty.
    pub(super) probability: f64,
    /// The strongest witness, and the correlation of its changes with the table's there.
    pub(super) by: &'static str,
    pub(super) correlation: f64,
    /// The number of processes that show the same independently.
    pub(super) agree: usize,
    /// Whether more than one part of the table shows it.
    pub(super) steady: bool,
    /// Other offsets, the most probable first, with their probability.
    pub(super) others: Vec<(f64, f64)>,
}

impl Match {
    /// Whether it may be applied without asking.
    pub(super) fn is_certain(&self) -> bool {
        self.probability >= PROBABLE && self.steady
    }
}

/// The best offset of a table according to the witnesses; `None` when there is too little evidence.
pub(super) fn best_offset(table: &[Tick], witnesses: &[Witness]) -> Option<Match> {
    let table = Table::new(table)?;
    let offsets = offsets(&table, witnesses)?;
    let each = 2 * offsets.len() * (table.length_s() / table.tick_s) as usize;
    let mut heard: Vec<Heard> = Vec::new();
    for witness in witnesses.iter().take(MOST_WORK / each.max(1)) {
        for scale in SCALES {
            let Some(intervals) = Intervals::new(witness, scale * table.tick_s) else { continue };
            heard.extend(Heard::of(&table, witness, scale, intervals, &offsets));
        }
    }
    let votes = vote(&heard);
    if heard.is_empty() {
        return None;
    }
    let factors = factors(heard.iter().chain(&votes), offsets.len());
    // The sum of all probabilities: "unrelated" is as probable a priori as all offsets together.
    let peak = factors.iter().copied().fold(0.0, f64::max);
    let each = |log: f64| (log - peak).exp() / factors.len() as f64;
    let masses: Vec<f64> = factors.iter().map(|log| each(*log)).collect();
    let all: f64 = masses.iter().sum::<f64>() + (-peak).exp();
    let (best, _) = masses.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
    let offset_s = *offsets.get(best)?;
    let wide_s = (WIDE * table.length_s()).max(WIDE_TICKS * table.tick_s);
    let within = |half_s: f64| -> f64 {
        let near = offsets.iter().zip(&masses).filter(|(o, _)| (*o - offset_s).abs() <= half_s + 1e-9);
        near.map(|(_, mass)| mass).sum()
    };
    let near = within(wide_s);
    let step_s = table.tick_s / STEPS_A_TICK;
    let steps = (wide_s / step_s).ceil() as usize;
    let half = (0..=steps).map(|i| i as f64 * step_s).find(|half| within(*half) >= HELD * near);
    let (first, _) =
        heard.iter().filter_map(|h| Some((h, h.evidence(best)?))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let voices: Vec<_> =
        heard.iter().filter_map(|h| Some((h, h.sure_near(&offsets, offset_s, wide_s)?))).collect();
    let agree: BTreeSet<_> = voices.iter().filter_map(|(h, _)| h.witness.process).collect();
    // The scale is settled: the finer the scale and the surer the match, the smaller the
    // uncertainty.
    let weights = || voices.iter().map(|(h, (own_s, z))| (*own_s, (z / h.scale).powi(2)));
    let weight: f64 = weights().map(|(_, w)| w).sum();
    let mean = |of: &dyn Fn(f64) -> f64| weights().map(|(own_s, w)| w * of(own_s)).sum::<f64>() / weight;
    let (centre_s, apart_s) = if weight > 0.0 {
        let centre_s = mean(&|own_s| own_s);
        (centre_s, 2.0 * mean(&|own_s| (own_s - centre_s).powi(2)).sqrt())
    } else {
        (offset_s, 0.0)
    };
    Some(Match {
        offset_s: centre_s,
        uncertainty_s: half.unwrap_or(wide_s).max(apart_s) + 0.5 * table.tick_s,
        probability: near / all,
        by: first.witness.what,
        correlation: first.correlation(&table, offset_s).unwrap_or(0.0),
        agree: agree.len(),
        steady: first.steady(&table, offset_s),
        others: others(&offsets, &masses, all, (offset_s, wide_s)),
    })
}

/// Other offsets that are probable, one in each wide neighbourhood.
fn others(offsets: &[f64], masses: &[f64], all: f64, (best_s, wide_s): (f64, f64)) -> Vec<(f64, f64)> {
    let mut taken = vec![best_s];
    let mut found = Vec::new();
    for _ in 0..OFFERED {
        let free = |o: f64| taken.iter().all(|t| (t - o).abs() > 2.0 * wide_s);
        let rest = offsets.iter().zip(masses).filter(|(o, _)| free(**o));
        let Some((offset, _)) = rest.max_by(|a, b| a.1.total_cmp(b.1)) else { break };
        let near = offsets.iter().zip(masses).filter(|(o, _)| (**o - offset).abs() <= wide_s);
        found.push((*offset, near.map(|(_, mass)| mass).sum::<f64>() / all));
        taken.push(*offset);
    }
    found
}

/// The table, its work accumulated.
struct Table {
    tick_s: f64,
    from_s: f64,
    /// Work so far, in equal steps of `step_s`.
    step_s: f64,
    sums: Vec<f64>,
}

impl Table {
    fn new(ticks: &[Tick]) -> Option<Self> {
        let ticks = coarse(ticks);
        let mut lengths: Vec<f64> = ticks.iter().map(|t| t.length_s).collect();
        lengths.sort_unstable_by(f64::total_cmp);
        let tick_s = lengths.get(lengths.len() / 2).copied().filter(|l| *l > 0.0)?;
        let (first, last) = ticks.first().zip(ticks.last())?;
        let length_s = last.from_s + last.length_s - first.from_s;
        // A table with long gaps is one of several runs.
        let gaps = length_s > 2.0 * tick_s * ticks.len() as f64;
        if ticks.len() < FEWEST_TICKS || gaps || !length_s.is_finite() {
            return None;
        }
        let step_s = tick_s / 4.0;
        let count = (length_s / step_s).round() as usize;
        let mut sums = Vec::with_capacity(count + 1);
        let (mut at, mut before) = (0, 0.0);
        for i in 0..=count {
            let t = first.from_s + i as f64 * step_s;
            while let Some(tick) = ticks.get(at).filter(|tick| tick.from_s + tick.length_s <= t) {
                before += tick.value * tick.length_s;
                at += 1;
            }
            let within = ticks.get(at).map_or(0.0, |tick| (t - tick.from_s).max(0.0) * tick.value);
            sums.push(before + within);
        }
        Some(Self { tick_s, from_s: first.from_s, step_s, sums })
    }

    fn length_s(&self) -> f64 {
        self.step_s * self.sums.len().saturating_sub(1) as f64
    }

    fn sum_at(&self, t_s: f64) -> f64 {
        let at = ((t_s - self.from_s) / self.step_s).max(0.0);
        let i = (at as usize).min(self.sums.len().saturating_sub(2));
        let (a, b) = (self.sums[i], self.sums.get(i + 1).copied().unwrap_or(self.sums[i]));
        a + (b - a) * (at - i as f64).clamp(0.0, 1.0)
    }
}

/// A witness divided into intervals of at least some length.
struct Intervals {
    /// The boundaries; one more than there are intervals.
    edges: Vec<f64>,
    /// Change of the rate from each to the next; one less than there are intervals.
    changes: Vec<f64>,
}

impl Intervals {
    fn new(witness: &Witness, least_s: f64) -> Option<Self> {
        let mut edges: Vec<f64> = Vec::new();
        let mut rates: Vec<f64> = Vec::new();
        let mut last: Option<(f64, f64)> = None;
        let mut divide = |from: (f64, f64), to: (f64, f64)| {
            if edges.is_empty() {
                edges.push(from.0);
            }
            edges.push(to.0);
            rates.push((to.1 - from.1) / (to.0 - from.0));
        };
        for (t, sum) in &witness.sums {
            let Some((from_s, from)) = last.filter(|_| t.is_finite() && sum.is_finite()) else {
                last = last.or(Some((*t, *sum)));
                continue;
            };
            // What is measured every second comes slightly early or late.
            if t - from_s < 0.9 * least_s {
                continue;
            }
            divide((from_s, from), (*t, *sum));
            last = Some((*t, *sum));
        }
        let enough = rates.len() > FEWEST_CHANGES && rates.len() <= MOST_INTERVALS;
        enough.then(|| Self { changes: rates.windows(2).map(|pair| pair[1] - pair[0]).collect(), edges })
    }

    fn covers_s(&self) -> f64 {
        self.edges.last().zip(self.edges.first()).map_or(0.0, |(last, first)| last - first)
    }

    /// The changes of the table and of the witness at an offset, where they overlap enough.
    fn pairs(&self, table: &Table, offset_s: f64) -> Option<(Vec<f64>, Vec<f64>)> {
        let (from_s, to_s) = (table.from_s + offset_s, table.from_s + offset_s + table.length_s());
        let first = self.edges.partition_point(|e| *e < from_s - 1e-6);
        let end = self.edges.partition_point(|e| *e <= to_s + 1e-6);
        let edges = self.edges.get(first..end)?;
        let within_s = edges.last()? - edges.first()?;
        let enough = within_s >= OVERLAP * table.length_s().min(self.covers_s());
        if !enough || edges.len() < FEWEST_CHANGES + 2 {
            return None;
        }
        let rate = |pair: &[f64]| {
            (table.sum_at(pair[1] - offset_s) - table.sum_at(pair[0] - offset_s)) / (pair[1] - pair[0])
        };
        let rates: Vec<f64> = edges.windows(2).map(rate).collect();
        let mut of_table: Vec<f64> = rates.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mut of_witness = self.changes.get(first..end - 2)?.to_vec();
        (clip(&mut of_table) && clip(&mut of_witness)).then_some((of_table, of_witness))
    }
}

/// How well the table fits one witness at one scale, at every offset.
struct Heard<'a> {
    witness: &'a Witness,
    scale: f64,
    intervals: Option<Intervals>,
    /// Significance, in deviations of what the other offsets show, and the number of changes that
    /// it is of; none where too little overlaps.
    curve: Vec<Option<(f64, usize)>>,
}

impl<'a> Heard<'a> {
    fn of(
        table: &Table,
        witness: &'a Witness,
        scale: f64,
        intervals: Intervals,
        offsets: &[f64],
    ) -> Option<Self> {
        let at = |offset_s: &f64| {
            let (x, y) = intervals.pairs(table, *offset_s)?;
            Some((significance(pearson(&x, &y), x.len()), x.len()))
        };
        let curve = measured(offsets.iter().map(at).collect())?;
        Some(Self { witness, scale, intervals: Some(intervals), curve })
    }

    /// The logarithm of the Bayes factor of "related, at this offset" against "unrelated". A priori
    /// the effect is equally probable up to half of the variation, so that chance must be exceeded
    /// by more the more was observed.
    fn evidence(&self, at: usize) -> Option<f64> {
        let (z, n) = self.curve.get(at).copied().flatten()?;
        let spread = 0.5 * (1.0 + n as f64 / 4.0).ln();
        Some(match self.witness.either_way {
            true => 0.5 * z * z - spread - std::f64::consts::LN_2,
            false => 0.5 * z.max(0.0).powi(2) - spread,
        })
    }

    fn correlation(&self, table: &Table, offset_s: f64) -> Option<f64> {
        let (x, y) = self.intervals.as_ref()?.pairs(table, offset_s)?;
        Some(pearson(&x, &y))
    }

    /// Its own best offset and its significance, if it is sure by itself and the offset is near.
    fn sure_near(&self, offsets: &[f64], near_s: f64, wide_s: f64) -> Option<(f64, f64)> {
        let size = |z: f64| if self.witness.either_way { z.abs() } else { z };
        let all = offsets.iter().zip(&self.curve).filter_map(|(o, c)| Some((*o, size(c.as_ref()?.0))));
        let (own, z) = all.max_by(|a, b| a.1.total_cmp(&b.1))?;
        (z >= AGREES && (own - near_s).abs() <= wide_s).then_some((own, z))
    }

    /// Whether more than one part of the table fits.
    fn steady(&self, table: &Table, offset_s: f64) -> bool {
        let pairs = self.intervals.as_ref().and_then(|i| i.pairs(table, offset_s));
        let Some((x, y)) = pairs else { return false };
        let without = |part: usize| {
            let except = part * x.len() / PARTS..(part + 1) * x.len() / PARTS;
            let kept = |values: &[f64]| -> Vec<f64> {
                let kept = values.iter().enumerate().filter(|(i, _)| !except.contains(i));
                kept.map(|(_, v)| *v).collect()
            };
            let (x, y) = (kept(&x), kept(&y));
            let z = significance(pearson(&x, &y), x.len());
            if self.witness.either_way { z.abs() } else { z }
        };
        (0..PARTS).all(|part| without(part) >= LEAST_WITHOUT_A_PART)
    }
}

/// What the same witness shows for several JVMs, together: each may be too unsure by itself. It is
/// compared anew with what chance does to the sum, because JVMs that share work also have chance in
/// common.
fn vote<'a>(heard: &[Heard<'a>]) -> Vec<Heard<'a>> {
    let mut groups: BTreeMap<(&str, u64), Vec<&Heard<'a>>> = BTreeMap::new();
    for one in heard.iter().filter(|h| h.witness.process.is_some() && !h.witness.either_way) {
        groups.entry((one.witness.what, one.scale.to_bits())).or_default().push(one);
    }
    let together = |voices: &Vec<&Heard<'a>>| {
        let first = voices.first().filter(|_| voices.len() > 1)?;
        let at = |i: usize| {
            let said: Vec<_> = voices.iter().filter_map(|v| v.curve.get(i).copied().flatten()).collect();
            let n = said.iter().map(|(_, n)| n).sum::<usize>().checked_div(said.len())?;
            let sum: f64 = said.iter().map(|(z, _)| z).sum();
            Some((sum / (said.len() as f64).sqrt(), n))
        };
        let curve = measured((0..first.curve.len()).map(at).collect())?;
        Some(Heard { witness: first.witness, scale: first.scale, intervals: None, curve })
    };
    groups.values().filter_map(together).collect()
}

/// Significances in deviations of what all offsets show, where those are larger than in theory.
fn measured(mut curve: Vec<Option<(f64, usize)>>) -> Option<Vec<Option<(f64, usize)>>> {
    let mut sizes: Vec<f64> = curve.iter().flatten().map(|(z, _)| z.abs()).collect();
    if sizes.len() < FEWEST_OFFSETS {
        return None;
    }
    let middle = sizes.len() / 2;
    let (_, median, _) = sizes.select_nth_unstable_by(middle, f64::total_cmp);
    let deviation = (1.4826 * *median).max(1.0);
    curve.iter_mut().flatten().for_each(|(z, _)| *z /= deviation);
    Some(curve)
}

/// The logarithms of the Bayes factors at all offsets: the mean over all witnesses.
fn factors<'h, 'a: 'h>(heard: impl Iterator<Item = &'h Heard<'a>>, offsets: usize) -> Vec<f64> {
    let heard: Vec<_> = heard.collect();
    let at = |i: usize| {
        // A witness that shows nothing at an offset makes it neither more nor less probable.
        let logs = || heard.iter().map(|h| h.evidence(i).unwrap_or(0.0));
        let most = logs().fold(0.0, f64::max);
        most + (logs().map(|log| (log - most).exp()).sum::<f64>() / heard.len().max(1) as f64).ln()
    };
    (0..offsets).map(at).collect()
}

/// All offsets at which the table may overlap what the witnesses cover.
fn offsets(table: &Table, witnesses: &[Witness]) -> Option<Vec<f64>> {
    let from_s = witnesses.iter().filter_map(|w| Some(w.sums.first()?.0)).reduce(f64::min)?;
    let to_s = witnesses.iter().filter_map(|w| Some(w.sums.last()?.0)).reduce(f64::max)?;
    let length_s = table.length_s();
    let ticks = (to_s - from_s + length_s) / table.tick_s;
    let a_tick = if ticks * STEPS_A_TICK <= MOST_OFFSETS { STEPS_A_TICK } else { 1.0 };
    if !ticks.is_finite() || ticks * a_tick > MOST_OFFSETS {
        return None;
    }
    let step_s = table.tick_s / a_tick;
    let first_s = ((from_s - table.from_s - length_s) / step_s).floor() * step_s;
    let count = ((to_s - table.from_s - first_s) / step_s).ceil() as usize;
    Some((0..=count).map(|i| first_s + i as f64 * step_s).collect())
}

/// A correlation of `n` changes in deviations of what chance gives.
fn significance(r: f64, n: usize) -> f64 {
    fisher(r) * (n.saturating_sub(3) as f64 / CHANGES_VARY).sqrt()
}

/// Whether two tables of the same kind started together: they correlate best without an offset, and
/// better than by chance.
pub(super) fn together(a: &[Tick], b: &[Tick]) -> bool {
    let n = a.len().min(b.len());
    if n < FEWEST_TOGETHER {
        return false;
    }
    // Both are merged in the same way, as they have the same ticks.
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

/// Merges neighbouring ticks until there are few enough.
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

#[cfg(test)]
mod robustness;
#[cfg(test)]
mod tests;
