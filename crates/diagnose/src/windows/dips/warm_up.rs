//! Where a series reaches its usual level for the first time: what comes before is warm-up.

use super::{EFFECT, FALLEN_TO, LONG_WARM_UP, MIN_TICKS, SIGMAS, Usual};
use crate::stats;

/// What ends a warm-up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// That the series stays at its usual level.
    Settled,
    /// A fall by half as well, where the level had been reached: what warms up does not fall so.
    Fall,
}

/// The first tick from which the series is at its usual level for three ticks; `None` where it
/// starts there. Where that would take much of the run, being less than a dip below the level is
/// there as well: a run whose last part is a little better than the rest has not warmed up all the
/// while. Ticks that are there by the noise of a level that is not have not reached it.
pub(super) fn warm_up(
    values: &[f64],
    levels: &[(usize, usize, f64)],
    usual: &Usual,
    until: Until,
) -> Option<usize> {
    let first_at = |limit: f64| {
        let there = |v: &f64| *v >= limit;
        let settled = values.windows(MIN_TICKS).position(|w| w.iter().all(there));
        // Noise may keep three in a row from ever being there; then the first tick that is.
        settled.or_else(|| values.iter().position(there))
    };
    let mut begin = first_at(usual.edge_below())?;
    if begin as f64 > LONG_WARM_UP * values.len() as f64 {
        begin = begin.min(first_at(usual.level * (1.0 - EFFECT))?);
    }
    begin = begin.max(noisy_start(values, levels, usual));
    if until == Until::Fall {
        begin = reached_before_a_fall(&values[..begin], usual).unwrap_or(begin);
    }
    (begin > 0).then_some(begin)
}

/// Where the first levels of a series end that are lower than usual by a dip, with no tick above
/// their own noise.
fn noisy_start(values: &[f64], levels: &[(usize, usize, f64)], usual: &Usual) -> usize {
    let is_start = |(from, to, median): &&(usize, usize, f64)| {
        let own = &values[*from..*to];
        let highest = own.iter().copied().fold(*median, f64::max);
        usual.is_dip(*median)
            && stats::robust_sigma(own).is_some_and(|sigma| highest - median <= SIGMAS * sigma)
    };
    let rises = |pair: &&[(usize, usize, f64)]| pair[0].2 <= pair[1].2;
    let rising = 1 + levels.windows(2).take_while(rises).count();
    levels.iter().take(rising).take_while(is_start).last().map_or(0, |level| level.1)
}

/// Where a series that falls to less than half of the usual level was less than a dip below it
/// before: the first tick of those. One tick may be chance, most of three are not.
fn reached_before_a_fall(values: &[f64], usual: &Usual) -> Option<usize> {
    let there = |v: &f64| *v >= usual.level * (1.0 - EFFECT);
    let most = |w: &[f64]| 2 * w.iter().filter(|v| there(v)).count() > w.len();
    let from = values.windows(MIN_TICKS).position(most)?;
    let reached = from + values[from..].iter().position(there)?;
    let fallen = |w: &[f64]| w.iter().all(|v| *v < FALLEN_TO * usual.level);
    values[from + MIN_TICKS..].windows(MIN_TICKS).any(fallen).then_some(reached)
}
