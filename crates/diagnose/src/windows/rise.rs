//! Where a level rises: the bins in which it is far above what is usual.

use crate::stats;

/// Bins that a change lasts at least.
pub(super) const LASTS: usize = 3;
/// By what it must rise above its own usual level, relatively: work that grows by a fifth does so
/// in each of its parts.
const RISES_TIMES: f64 = 1.5;
/// And above its own scatter, in median absolute deviations.
const RISES_SCATTER: f64 = 6.0;
/// A change that lasts for so many bins may scatter more, if three quarters of them are higher than
/// nine tenths of all others.
const LASTS_LONG: usize = 8;
const LONG_FROM: f64 = 0.25;
const OTHERS_UP_TO: f64 = 0.9;

/// What of the time must lie before a step that lasts for most of it.
const STEP_AFTER: f64 = 0.25;

/// Bins from a first one to the one behind the last.
pub(super) type Runs = Vec<(usize, usize)>;

/// Runs of bins in which a level is far above its median, with their area above it and the median.
/// Only bins that were `seen` count. As half of them lie below the median, such a change takes half
/// of the time at most; one that takes more is a step up that stays to the end.
pub(super) fn rise(levels: &[f64], seen: &[bool], least: f64) -> Option<(f64, Runs, f64)> {
    above_median(levels, seen, least).or_else(|| step(levels, seen, least))
}

/// A step from one level up to another that lasts for more than half of the time: the area above
/// the first one, the bins of the second, and the first level.
fn step(levels: &[f64], seen: &[bool], least: f64) -> Option<(f64, Runs, f64)> {
    let known: Vec<(usize, f64)> =
        (0..levels.len()).filter(|bin| seen[*bin]).map(|bin| (bin, levels[bin])).collect();
    let all: f64 = known.iter().map(|(_, level)| level).sum();
    let (count, fewest) = (known.len() as f64, (STEP_AFTER * known.len() as f64).max(LASTS_LONG as f64));
    // The split between which the two means differ most, each by how many bins it is of.
    let mut sum = 0.0;
    let splits = known.iter().enumerate().map(|(before, (_, level))| {
        let mean = sum / (before as f64).max(1.0);
        let after = (all - sum) / (count - before as f64);
        sum += level;
        (before, (after - mean) * (before as f64 * (count - before as f64)).sqrt())
    });
    let within = splits.filter(|(before, _)| (fewest..=0.5 * count).contains(&(*before as f64)));
    let (split, _) = within.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let part = |known: &[(usize, f64)]| stats::sorted(known.iter().map(|(_, level)| *level));
    let (before, after) = (part(&known[..split]), part(&known[split..]));
    let usual = stats::median(&before)?;
    let more = (usual + least).max(usual * RISES_TIMES);
    let is_above = stats::quantile(&after, LONG_FROM)? > more.max(stats::quantile(&before, OTHERS_UP_TO)?);
    let runs = vec![(known[split].0, known.last()?.0 + 1)];
    let stays = known[known.len() - LASTS..].iter().all(|(_, level)| *level > more);
    (is_above && stays).then(|| (after.iter().map(|level| level - usual).sum(), runs, usual))
}

fn above_median(levels: &[f64], seen: &[bool], least: f64) -> Option<(f64, Runs, f64)> {
    let known = || levels.iter().zip(seen).filter(|(_, seen)| **seen).map(|(level, _)| *level);
    let usual = stats::median(&stats::sorted(known()))?;
    let scatter = stats::median(&stats::sorted(known().map(|level| (level - usual).abs())))?;
    let more = (usual + least).max(usual * RISES_TIMES);
    let far = runs_above(levels, seen, more.max(usual + RISES_SCATTER * scatter), LASTS);
    let long = apart(levels, seen, runs_above(levels, seen, more, LASTS_LONG));
    // What begins with the recording may be a program that warms up, unless the same comes again.
    let later = [far, long].into_iter().filter(|runs| runs.iter().any(|(first, _)| *first >= LASTS));
    let with_area = later.map(|runs| {
        let levels = runs.iter().flat_map(|(first, end)| &levels[*first..*end]);
        (levels.map(|level| level - usual).sum::<f64>(), runs, usual)
    });
    with_area.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// Runs of bins above a limit that last for so many.
fn runs_above(levels: &[f64], seen: &[bool], limit: f64, lasts: usize) -> Runs {
    let mut runs = Runs::new();
    for bin in (0..levels.len()).filter(|bin| seen[*bin] && levels[*bin] > limit) {
        match runs.last_mut() {
            // A single bin below the limit, as where a tick of something else falls, does not end a
            // run.
            Some((_, end)) if bin == *end || (bin == *end + 1 && seen[*end]) => *end = bin + 1,
            _ => runs.push((bin, bin + 1)),
        }
    }
    runs.retain(|(first, end)| end - first >= lasts);
    runs
}

/// The runs, if most of their bins are higher than nearly all others; else none.
fn apart(levels: &[f64], seen: &[bool], runs: Runs) -> Runs {
    let is_in = |bin: usize| runs.iter().any(|(first, end)| (*first..*end).contains(&bin));
    let part = |within: bool| {
        let bins = (0..levels.len()).filter(|bin| seen[*bin] && is_in(*bin) == within);
        stats::sorted(bins.map(|bin| levels[bin]))
    };
    let lower = stats::quantile(&part(true), LONG_FROM);
    let others = stats::quantile(&part(false), OTHERS_UP_TO);
    match (lower, others) {
        (Some(lower), Some(others)) if lower > others => runs,
        _ => Runs::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_rises_for_some_bins_is_found_and_one_that_wavers_is_not() {
        let mut levels: Vec<f64> = (0..40).map(|bin| 0.1 * f64::from(bin % 3)).collect();
        let seen = [true; 40];
        assert!(rise(&levels, &seen, 0.5).is_none());
        levels[20..28].iter_mut().for_each(|level| *level += 6.0);
        let (area, runs, usual) = rise(&levels, &seen, 0.5).unwrap();
        assert_eq!(runs, [(20, 28)]);
        assert!((area - 48.0).abs() < 1.0 && usual <= 0.1, "{area} {usual}");
        // Two bins are a short time, and what begins with the recording is its warm-up.
        let mut short = vec![0.0; 40];
        short[20..22].fill(6.0);
        assert!(rise(&short, &seen, 0.5).is_none());
        let mut early = vec![0.0; 40];
        early[0..8].fill(6.0);
        assert!(rise(&early, &seen, 0.5).is_none());
        let mut again = early.clone();
        again[25..30].fill(6.0);
        assert_eq!(rise(&again, &seen, 0.5).unwrap().1, [(0, 8), (25, 30)]);
        let mut most = vec![0.0; 40];
        most[10..34].fill(6.0);
        assert!(rise(&most, &seen, 0.5).is_none(), "that is the usual level");
        let mut stays = vec![0.0; 40];
        stays[12..].fill(6.0);
        assert_eq!(rise(&stays, &seen, 0.5).unwrap().1, [(12, 40)]);
        let mut warm_up = vec![0.0; 40];
        warm_up[7..].fill(6.0);
        assert!(rise(&warm_up, &seen, 0.5).is_none(), "what comes soon is the usual level");
        let falls: Vec<f64> = stays.iter().map(|level| 6.0 - level).collect();
        assert!(rise(&falls, &seen, 0.5).is_none(), "a fall");
        // A long change may waver, and what is usual as well.
        let wavers = |bin: usize| [0.2, 1.9, 0.6, 1.4, 0.1][bin % 5];
        let mut long: Vec<f64> = (0..80).map(wavers).collect();
        long[24..50].iter_mut().for_each(|level| *level = 2.2 * *level + 2.0);
        assert_eq!(rise(&long, &seen_for(80), 0.5).unwrap().1, [(24, 50)]);
        // Less than that above it is a matter of chance.
        let mut little: Vec<f64> = (0..80).map(wavers).collect();
        little[24..50].iter_mut().for_each(|level| *level += 0.9);
        assert!(rise(&little, &seen_for(80), 0.5).is_none());
        // Where nobody looked for most of the time, the rest is what is usual.
        let mut late = vec![0.0; 40];
        late[25..40].fill(6.0);
        assert!(rise(&late, &seen, 0.5).is_some());
        let seen: Vec<bool> = (0..40).map(|bin| bin >= 25).collect();
        assert!(rise(&late, &seen, 0.5).is_none());
    }

    fn seen_for(bins: usize) -> Vec<bool> {
        vec![true; bins]
    }
}
