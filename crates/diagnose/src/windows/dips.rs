//! Slow windows of a series of progress: dips, lower levels and stalls, compared with the level
//! that is usual.
//!
//! 1. Change points cut the series into levels. The usual level is the highest that the run keeps
//!    for a fifth of its time: a spike is not normal, and a run that is slow for its second half
//!    was normal in the first.
//! 2. What comes before the usual level is reached for the first time is warm-up and belongs to
//!    neither side, however long it takes: a rise is no dip. A rise by less than a fifth is no
//!    warm-up of a third of the run. A slow interval needs a better one before it; a warm-up that
//!    is long enough to have a usual level of its own is searched for dips below that. Where it has
//!    none, it ends before a fall by half from the later level.
//! 3. A dip is at least three ticks below the usual level by a fifth and by four standard
//!    deviations (robust ones); a level lower by a fifth is a dip whatever its ticks are. One tick
//!    is a dip where it is prolonged, for a stall prolongs the tick of whoever keeps time within
//!    the JVM, and where less than a tenth of the usual is done in it.
//!    Where the usual level wanders, its standard deviation hides a short fall: three ticks that
//!    are on average less than half of the ten before are a dip when their mean is four standard
//!    deviations below, estimated from the differences of neighbours.
//!    A series that is below its usual level for most of the time, to and fro, wanders: then the
//!    level that it keeps for half of the time is the usual one.
//! 4. A dip begins and ends where the series leaves and reaches the usual noise, so that a slow
//!    recovery counts.
//!    A tick at its edge in which several times as much was done as within is of both sides.
//! 5. Of a dip of several levels the deepest counts, where most is lost there.

mod apart;
#[cfg(test)]
mod tests;
mod warm_up;

use super::progress::Progress;
use crate::facts::{Value, windows as words};
use crate::{Statement, Window, stats};
use apart::apart;
use warm_up::{Until, warm_up};

/// The least effect: a dip by less than a fifth is not what people call slow, and shared machines
/// show it all day.
const EFFECT: f64 = 0.2;
/// Below the usual by so many standard deviations: one tick in 30,000 by chance.
const SIGMAS: f64 = 4.0;
/// Where a dip begins and ends: below the usual by two standard deviations and a twentieth.
const EDGE: (f64, f64) = (2.0, 0.05);
/// The fewest slow ticks of a dip.
const MIN_TICKS: usize = 3;
/// An outage: below this part of the usual level, and for so long, nanoseconds: stops of 200 ms are
/// what people notice.
const OUTAGE: (f64, i64) = (0.1, 200_000_000);
/// Standard deviations that must not reach down to that: a single tick is the lowest of hundreds.
const OUTAGE_SIGMAS: f64 = 5.0;
/// Ticks before a fall that it is compared with.
const BEFORE: usize = 10;
/// A fall is to less than this part of them: nobody calls that wandering.
const FALLEN_TO: f64 = 0.5;
/// Ticks by which an end of a level may be off.
const EDGE_TICKS: usize = 2;
/// A tick at the edge of a dip is one of both sides where so many times as much is done in it as in
/// one within, and more by this part of the usual.
const PARTLY: (f64, f64) = (3.0, 0.1);
/// What of a series must be one slow interval, and what the level of half of it must be of the
/// usual one at most, for that to be no wandering.
const STAYS: f64 = 0.3;
const FRACTION: f64 = 0.25;
/// Ticks between two dips that make them one.
const BRIDGE: usize = 2;
/// Ticks below which a series is too short to know what is usual.
const MIN_SERIES: usize = 20;
/// Part of the run for which the usual level is kept.
const USUAL_FOR: f64 = 0.2;
/// The same where the series wanders.
const USUAL_FOR_WANDERING: f64 = 0.5;
/// Intervals below the usual level from which on a series may wander.
const WANDERS: usize = 3;
/// By how many of their standard deviations slow and usual ticks lie apart where they are two
/// levels (Ashman's D): the halves of one normal distribution have 2.7.
const TWO_LEVELS: f64 = 4.0;
/// A beginning longer than this part of the run may have had a level of its own, and dips below it.
const LONG_WARM_UP: f64 = 1.0 / 3.0;
/// Slow ticks at the very end that are the end of the load and not a dip, as a part of the run.
const TAIL: f64 = 0.05;

/// A level that is lower by this is looked into where its cause is found, if it lasts for so many
/// ticks: the least that matters of a run.
pub(super) const SLIGHT: f64 = 0.07;
const SLIGHT_TICKS: usize = 6;
/// One that is lower by this, and by so many standard deviations of a tick, is reported.
const CLEARLY_LOWER: (f64, f64) = (0.03, 2.0);

/// See [`Found::would_show`].
const WOULD_SHOW: f64 = 0.5;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Slow windows in order of time.
    pub slow: Vec<Window>,
    /// Windows of the usual level.
    pub base: Vec<Window>,
    /// The warm-up, when there is one.
    pub warm_up: Option<Window>,
    /// How.
    pub how: Vec<Statement>,
    /// The longest interval at a level that is lower than usual and no dip, with the share by which
    /// it is lower.
    pub slight: Option<(Window, f64)>,
    /// Whether ticks at half of the usual level would have been taken for a dip: with more noise
    /// than that, a series without one says nothing.
    pub would_show: bool,
}

/// The usual level and its noise.
struct Usual {
    level: f64,
    sigma: f64,
}

impl Usual {
    fn slow_below(&self) -> f64 {
        self.level - (EFFECT * self.level).max(SIGMAS * self.sigma)
    }

    /// Whether a level is lower by a dip.
    fn is_dip(&self, level: f64) -> bool {
        level <= self.level * (1.0 - EFFECT)
    }

    fn edge_below(&self) -> f64 {
        self.level - (EDGE.0 * self.sigma).max(EDGE.1 * self.level)
    }
}

/// Finds slow and usual windows; `None` when the series is too short or never gets anything done.
pub fn find(progress: &Progress) -> Option<Found> {
    let mut found = find_after_warm_up(progress, Until::Settled)?;
    let Some(warm_up) = found.warm_up else { return Some(found) };
    let ticks = usize::try_from(warm_up.length_ns() / progress.tick_ns.max(1)).unwrap_or(0);
    let before = is_long(&warm_up, progress).then(|| progress.first(ticks));
    let early = before.and_then(|before| find_after_warm_up(&before, Until::Settled));
    let Some(early) = early.filter(|early| !early.slow.is_empty()) else {
        return find_after_warm_up(progress, Until::Fall);
    };
    found.warm_up = early.warm_up;
    found.slow.splice(0..0, early.slow);
    found.base.splice(0..0, early.base);
    found.how.push(words::IN_WARM_UP.fact().with("how", Value::from(&early.how[..])).into());
    Some(found)
}

fn is_long(warm_up: &Window, progress: &Progress) -> bool {
    warm_up.length_ns() as f64 > LONG_WARM_UP * whole(progress).length_ns() as f64
}

fn find_after_warm_up(progress: &Progress, until: Until) -> Option<Found> {
    let ticks: Vec<usize> = (0..progress.values.len()).filter(|i| progress.values[*i].is_some()).collect();
    let values: Vec<f64> = ticks.iter().filter_map(|i| progress.values[*i]).collect();
    if values.len() < MIN_SERIES {
        return None;
    }
    let levels = levels(&values);
    let usual_level = usual(&values, &levels, USUAL_FOR)?;
    let full = usual_level.level;
    let found = find_apart_from_levels(progress, (&ticks, &values), &levels, usual_level, until);
    if !wanders(progress, &found) {
        return Some(found);
    }
    let half = usual(&values, &levels, USUAL_FOR_WANDERING)?;
    // To and fro is not what stays at a fraction of the level, however much that varied before.
    let stays = |window: &Window| window.length_ns() as f64 >= STAYS * whole(progress).length_ns() as f64;
    if half.level <= FRACTION * full && found.slow.iter().any(stays) {
        return Some(found);
    }
    let mut found = find_apart_from_levels(progress, (&ticks, &values), &levels, half, until);
    if wanders(progress, &found) {
        let from = found.warm_up.map_or(0, |warm_up| warm_up.to_ns);
        found.base = vec![Window { from_ns: from.max(progress.window(0, 1).from_ns), ..whole(progress) }];
        (found.slow, found.would_show) = (Vec::new(), false);
        found.how = vec![words::NO_LEVEL.fact().with("series", Value::name(&progress.measured_on)).into()];
    }
    Some(found)
}

fn whole(progress: &Progress) -> Window {
    progress.window(0, progress.values.len())
}

/// Whether a series is below its usual level for most of the time, to and fro, and the two are no
/// levels of their own. Ticks of which nothing is known, as in an outage, do not waver.
fn wanders(progress: &Progress, found: &Found) -> bool {
    let ticks = |windows: &[Window]| -> Vec<f64> {
        let within = |i: &usize| {
            let tick = progress.window(*i, *i + 1);
            windows.iter().any(|w| w.from_ns <= tick.from_ns && tick.to_ns <= w.to_ns)
        };
        (0..progress.values.len()).filter(within).filter_map(|i| progress.values[i]).collect()
    };
    let (slow, base) = (ticks(&found.slow), ticks(&found.base));
    // A usual level is kept for longer, unless all of it counts to the slow intervals around.
    let is_short = (base.len() as f64) < USUAL_FOR / 2.0 * slow.len() as f64;
    if !is_short && (found.slow.len() < WANDERS || slow.len() <= base.len()) {
        return false;
    }
    let of = |ticks: &[f64]| Some((stats::mean(ticks)?, stats::robust_sigma(ticks)?));
    let (Some((slow, slow_sigma)), Some((base, base_sigma))) = (of(&slow), of(&base)) else {
        return true;
    };
    (base - slow) * std::f64::consts::SQRT_2 < TWO_LEVELS * slow_sigma.hypot(base_sigma)
}

/// What is slow compared with a usual level. `ticks`: those that have values, and these.
fn find_apart_from_levels(
    progress: &Progress,
    (ticks, values): (&[usize], &[f64]),
    levels: &[(usize, usize, f64)],
    usual: Usual,
    until: Until,
) -> Found {
    let begin = warm_up(values, levels, &usual, until).and_then(|i| ticks.get(i).copied()).unwrap_or(0);

    let mut slow = vec![false; progress.values.len()];
    for (i, (from, to, median)) in levels.iter().enumerate() {
        let better_before = levels[..i].iter().any(|(_, _, before)| *median <= before * (1.0 - EFFECT));
        let (Some(first), Some(last)) = (ticks.get(*from), ticks.get(*to - 1)) else { continue };
        if better_before && usual.is_dip(*median) && *last >= begin {
            let (mut first, mut last) = ((*first).max(begin), *last);
            // Ranks place an end to within a tick or two: one that is nearer to the usual level is
            // not the dip's.
            let nearer = |i: usize| progress.values[i].is_some_and(|v| v > (usual.level + median) / 2.0);
            for _ in 0..EDGE_TICKS {
                first += usize::from(first < last && nearer(first));
                last -= usize::from(first < last && last + 1 < slow.len() && nearer(last));
            }
            slow[first..=last].fill(true);
        }
    }
    for (from, to) in runs(progress, &usual, begin).iter().chain(&falls(progress, &usual, begin)) {
        slow[*from..*to].fill(true);
    }
    let by_tick: Vec<(usize, usize, f64)> = levels
        .iter()
        .filter_map(|(from, to, median)| {
            Some((*ticks.get(*from)?, ticks.get(*to).copied().unwrap_or(slow.len()), *median))
        })
        .collect();
    let whole = slow.clone();
    let apart = apart(&progress.values, &ranges(&slow, begin), &by_tick, &usual);
    slow.iter_mut().zip(&apart).for_each(|(slow, apart)| *slow &= !apart);
    if !progress.of_latency {
        for (from, to) in ranges(&slow, begin) {
            let (first, last) = partly_slow(&progress.values[from..to], &usual);
            slow[from] &= !first;
            slow[to - 1] &= !last;
        }
    }
    let slow_ticks = ranges(&slow, begin);
    let around = |i: usize| whole[i.saturating_sub(1)..(i + 2).min(whole.len())].iter().any(|s| *s);
    let normal: Vec<bool> = (0..slow.len()).map(|i| i >= begin && !around(i)).collect();
    let window = |(from, to): &(usize, usize)| progress.window(*from, *to);
    let base: Vec<Window> =
        ranges(&normal, begin).iter().filter(|(a, b)| b - a >= MIN_TICKS).map(window).collect();
    Found {
        slow: slow_ticks.iter().map(window).collect(),
        warm_up: (begin > 0).then(|| progress.window(0, begin)),
        how: how(progress, &usual, slow_ticks.len(), begin, &apart),
        would_show: usual.slow_below() >= usual.level * WOULD_SHOW,
        slight: slight(values, levels, &usual, (ticks, begin))
            .map(|((from, to), share)| (progress.window(from, to), share)),
        base,
    }
}

/// Whether the first and the last tick of a dip are slow for a part of them only. Where next to
/// nothing is done in a dip, the operations of such a tick outnumber those of all others, and what
/// an operation takes would be theirs.
fn partly_slow(dip: &[Option<f64>], usual: &Usual) -> (bool, bool) {
    let [first, within @ .., last] = dip else { return (false, false) };
    let within = stats::sorted(within.iter().flatten().copied());
    let Some(median) = stats::median(&within).filter(|_| within.len() >= MIN_TICKS) else {
        return (false, false);
    };
    let is_partly = |tick: &Option<f64>| {
        tick.is_some_and(|done| done > PARTLY.0 * median && done - median > PARTLY.1 * usual.level)
    };
    (is_partly(first), is_partly(last))
}

/// The longest level between change points, from `begin` on, that lasts and is lower than usual by
/// more than what matters, or clearly, and by less than a dip, with the share by which it is.
fn slight(
    values: &[f64],
    levels: &[(usize, usize, f64)],
    usual: &Usual,
    (ticks, begin): (&[usize], usize),
) -> Option<((usize, usize), f64)> {
    // Compared with the levels around it: what is usual has the ticks of this one in it, as it is
    // no dip.
    let lower = |i: usize| {
        let around = levels[..i].last().into_iter().chain(levels.get(i + 1));
        let around = around.filter(|level| ticks[level.0] >= begin).map(|level| level.2);
        let usual_near = around.fold(usual.level, f64::max);
        1.0 - levels[i].2 / usual_near
    };
    let least = match noise(values) {
        Some(sigma) => SLIGHT.min(CLEARLY_LOWER.0.max(CLEARLY_LOWER.1 * sigma / usual.level)),
        None => SLIGHT,
    };
    let is_one = |i: &usize| {
        let (from, to, _) = levels[*i];
        (least..EFFECT).contains(&lower(*i)) && to - from >= SLIGHT_TICKS && ticks[from] >= begin
    };
    // What matters comes before what is only clear.
    let longest = (0..levels.len())
        .filter(is_one)
        .max_by_key(|i| (lower(*i) >= SLIGHT, levels[*i].1 - levels[*i].0))?;
    let (from, to, _) = levels[longest];
    Some(((ticks[from], ticks[to - 1] + 1), lower(longest)))
}

/// Levels between change points as (from, to, median).
fn levels(values: &[f64]) -> Vec<(usize, usize, f64)> {
    let mut ends = stats::change_points(values);
    ends.push(values.len());
    let mut from = 0;
    let mut levels = Vec::with_capacity(ends.len());
    for to in ends {
        if let Some(median) = stats::median(&stats::sorted(values[from..to].iter().copied())) {
            levels.push((from, to, median));
        }
        from = to;
    }
    levels
}

fn usual(values: &[f64], levels: &[(usize, usize, f64)], kept_for: f64) -> Option<Usual> {
    let mut highest: Vec<_> = levels.to_vec();
    highest.sort_by(|a, b| b.2.total_cmp(&a.2));
    let mut kept = 0.0;
    let enough = kept_for * values.len() as f64;
    let level = highest.iter().find_map(|(from, to, median)| {
        kept += (to - from) as f64;
        (kept >= enough).then_some(*median)
    })?;
    let near = |median: f64| (median - level).abs() <= EFFECT * level;
    let ticks: Vec<f64> =
        levels.iter().filter(|l| near(l.2)).flat_map(|(from, to, _)| &values[*from..*to]).copied().collect();
    let level = stats::median(&stats::sorted(ticks.iter().copied()))?;
    (level > 0.0).then_some(Usual { level, sigma: stats::robust_sigma(&ticks)? })
}

/// Runs of slow ticks from `begin` on, widened to where the usual noise begins.
fn runs(progress: &Progress, usual: &Usual, begin: usize) -> Vec<(usize, usize)> {
    let n = progress.values.len();
    let below = |i: usize, limit: f64| progress.values[i].is_none_or(|v| v < limit);
    let is_slow: Vec<bool> = (0..n).map(|i| i >= begin && below(i, usual.slow_below())).collect();
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for (from, to) in ranges(&is_slow, begin) {
        match joined.last_mut() {
            Some(last) if from - last.1 <= BRIDGE => last.1 = to,
            _ => joined.push((from, to)),
        }
    }
    let tail = MIN_TICKS.max((TAIL * n as f64).ceil() as usize);
    // The latency of one tick may be that of one operation; a gap is no zero.
    let lowest = usual.level - OUTAGE_SIGMAS * usual.sigma;
    let can_be_out = !progress.of_latency && lowest >= OUTAGE.0 * usual.level;
    let is_out = |i: &usize| progress.values[*i].is_some_and(|v| v < OUTAGE.0 * usual.level);
    let lasts = |(from, to): &(usize, usize)| {
        let ticks = is_slow[*from..*to].iter().filter(|s| **s).count();
        let stalled = (*from..*to).any(|i| is_slow[i] && progress.stalled[i]);
        let out = if can_be_out { (*from..*to).filter(is_out).count() as i64 } else { 0 };
        let is_outage = out > 0 && out.saturating_mul(progress.tick_ns) >= OUTAGE.1;
        if *to == n { ticks > tail } else { ticks >= MIN_TICKS || stalled || is_outage }
    };
    let certain = |(from, to): &(usize, usize)| {
        // A gap counts as no progress here; what it really was cannot be known.
        let values: Vec<f64> = progress.values[*from..*to].iter().map(|v| v.unwrap_or(0.0)).collect();
        stats::mean_interval(&values).is_none_or(|mean| mean.high < usual.level * (1.0 - EFFECT / 2.0))
    };
    let widened = |(mut from, mut to): (usize, usize)| {
        while from > begin && below(from - 1, usual.edge_below()) {
            from -= 1;
        }
        while to < n && below(to, usual.edge_below()) {
            to += 1;
        }
        (from, to)
    };
    joined.into_iter().filter(lasts).filter(certain).map(widened).collect()
}

/// The standard deviation of values around their level, whatever levels there are.
fn noise(values: &[f64]) -> Option<f64> {
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The difference of two independent values has √2 times their standard deviation.
    stats::robust_sigma(&steps).map(|sigma| sigma / std::f64::consts::SQRT_2)
}

/// Falls from the usual level to less than half of the ticks before, until nearly back.
fn falls(progress: &Progress, usual: &Usual, begin: usize) -> Vec<(usize, usize)> {
    let values: Vec<f64> = progress.values.iter().map(|v| v.unwrap_or(0.0)).collect();
    let Some(sigma) = values.get(begin..).and_then(noise) else { return Vec::new() };
    let mut found = Vec::new();
    let mut i = begin + BEFORE;
    while i < values.len() {
        let before = stats::median(&stats::sorted(values[i - BEFORE..i].iter().copied())).unwrap_or(0.0);
        // Back at what is usual is back, however high it was before; unless the usual is so low.
        let usual_is_high = usual.level >= FALLEN_TO * before;
        let level = if usual_is_high { before.min(usual.level) } else { before };
        let nearly_back = (1.0 - EFFECT) * level;
        let fallen = values[i..].iter().take_while(|v| **v < nearly_back).count();
        let mean = stats::mean(&values[i..i + fallen]).unwrap_or(before);
        let certain = (before - mean) * (fallen as f64).sqrt() >= SIGMAS * sigma;
        let back = i + fallen;
        let deep = mean < FALLEN_TO * before && before >= (1.0 - EFFECT) * usual.level;
        if fallen >= MIN_TICKS && deep && certain && back < values.len() {
            found.push((i, back));
            i = back;
        } else {
            i += 1;
        }
    }
    found
}

/// Intervals of `true` from `begin` on.
fn ranges(flags: &[bool], begin: usize) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for i in (begin..flags.len()).filter(|i| flags[*i]) {
        match found.last_mut() {
            Some(last) if last.1 == i => last.1 = i + 1,
            _ => found.push((i, i + 1)),
        }
    }
    found
}

/// `begin`: ticks of warm-up; `apart`: those that were lower and are no part of the slow windows.
fn how(progress: &Progress, usual: &Usual, slow: usize, begin: usize, apart: &[bool]) -> Vec<Statement> {
    let unit = || Value::name(&progress.unit);
    let length = |ticks: usize| Value::ms(progress.window(0, ticks).length_ns() as f64 / 1e6);
    let level = words::USUAL.is(Value::of_series(progress.shown(usual.level))).with("unit", unit());
    let level = level.with("series", Value::name(&progress.measured_on));
    let level = level.with("ticks", Value::count(progress.values.len()));
    let level = level.with("tick", Value::ms(progress.tick_ns as f64 / 1e6));
    let mut how = vec![level.with("deviation", Value::share(usual.sigma / usual.level))];
    // Where the series wavers so much, no tick can stand out by itself.
    let limit = progress.shown(usual.slow_below());
    let limit = (usual.slow_below() > 0.0).then(|| Value::of_series(limit));
    let ticks = || Value::count(MIN_TICKS);
    how.push(match (slow, limit) {
        (0, Some(limit)) => {
            let nowhere = if progress.of_latency { &words::NOWHERE_ABOVE } else { &words::NOWHERE_BELOW };
            nowhere.is(limit).with("unit", unit()).with("ticks", ticks())
        }
        (0, None) => words::NO_DIP.fact(),
        (_, limit) => {
            let apart = if progress.of_latency { &words::HIGHER } else { &words::LOWER };
            let apart = apart.is(Value::count(slow)).with("limit", limit);
            apart.with("unit", unit()).with("ticks", ticks())
        }
    });
    how.extend((begin > 0).then(|| words::WARM_UP.is(length(begin))));
    let apart = apart.iter().filter(|apart| **apart).count();
    how.extend((apart > 0).then(|| words::LEFT_OUT.is(length(apart))));
    how.into_iter().map(Statement::from).collect()
}
