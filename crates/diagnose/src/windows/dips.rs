//! Slow windows of a series of progress: dips, lower levels and stalls, beside the level that is usual.
//!
//! 1. Change points cut the series into levels. The usual level is the highest that the run keeps for a fifth of
//!    its time: a spike is not normal, and a run that is slow for its second half was normal in the first.
//! 2. What comes before the usual level is reached for the first time is warm-up and belongs to neither side, however
//!    long it takes: a rise is no dip. A rise by less than a fifth is no warm-up of a third of the run. A slow stretch needs a better one before it; a warm-up that is long enough to
//!    have a usual level of its own is searched for dips below that.
//! 3. A dip is at least three ticks below the usual level by a fifth and by four standard deviations (robust ones);
//!    a level lower by a fifth is a dip whatever its ticks are; one stretched tick is a dip, for a stall stretches
//!    the tick of whoever keeps time within the JVM.
//!    Where the usual level wanders, its standard deviation hides a short fall: three ticks that are on average
//!    less than half of the ten before are a dip when their mean is four standard deviations below, as the differences of neighbours tell.
//! 4. A dip begins and ends where the series leaves and reaches the usual noise, so that a slow recovery counts.

use super::progress::Progress;
use crate::{Window, quantity, stats};

/// The least effect: a dip by less than a fifth is not what people call slow, and shared machines show it all day.
const EFFECT: f64 = 0.2;
/// Below the usual by so many standard deviations: one tick in 30 000 by chance.
const SIGMAS: f64 = 4.0;
/// Where a dip begins and ends: below the usual by two standard deviations and a twentieth.
const EDGE: (f64, f64) = (2.0, 0.05);
/// The fewest slow ticks of a dip.
const MIN_TICKS: usize = 3;
/// Ticks before a fall that it is held against.
const BEFORE: usize = 10;
/// A fall is to less than this part of them: nobody calls that wandering.
const FALLEN_TO: f64 = 0.5;
/// Ticks by which an end of a level may be off.
const EDGE_TICKS: usize = 2;
/// Ticks between two dips that make them one.
const BRIDGE: usize = 2;
/// Ticks below which a series is too short to know what is usual.
const MIN_SERIES: usize = 20;
/// Part of the run for which the usual level is kept.
const USUAL_FOR: f64 = 0.2;
/// A beginning longer than this part of the run may have had a level of its own, and dips below it.
const LONG_WARM_UP: f64 = 1.0 / 3.0;
/// Slow ticks at the very end that are the end of the load and not a dip, as a part of the run.
const TAIL: f64 = 0.05;

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
    /// How, in words.
    pub how: String,
    /// Whether ticks at half of the usual level would have been taken for a dip: with more noise than that, a series
    /// without one says nothing.
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

    fn edge_below(&self) -> f64 {
        self.level - (EDGE.0 * self.sigma).max(EDGE.1 * self.level)
    }
}

/// Finds slow and usual windows; `None` when the series is too short or never gets anything done.
pub fn find(progress: &Progress) -> Option<Found> {
    let mut found = find_after_warm_up(progress)?;
    let Some(warm_up) = found.warm_up.filter(|w| is_long(w, progress)) else { return Some(found) };
    let ticks = usize::try_from(warm_up.length_ns() / progress.tick_ns.max(1)).unwrap_or(0);
    let before = progress.first(ticks);
    if let Some(early) = find_after_warm_up(&before).filter(|early| !early.slow.is_empty()) {
        found.warm_up = early.warm_up;
        found.slow.splice(0..0, early.slow);
        found.base.splice(0..0, early.base);
        found.how += &format!("; in the warm-up itself: {}", early.how);
    }
    Some(found)
}

fn is_long(warm_up: &Window, progress: &Progress) -> bool {
    let whole = progress.window(0, progress.values.len());
    warm_up.length_ns() as f64 > LONG_WARM_UP * whole.length_ns() as f64
}

fn find_after_warm_up(progress: &Progress) -> Option<Found> {
    let told: Vec<usize> = (0..progress.values.len()).filter(|i| progress.values[*i].is_some()).collect();
    let values: Vec<f64> = told.iter().filter_map(|i| progress.values[*i]).collect();
    if values.len() < MIN_SERIES {
        return None;
    }
    let levels = levels(&values);
    let usual = usual(&values, &levels)?;
    let begin = warm_up(&values, &usual).and_then(|i| told.get(i).copied()).unwrap_or(0);

    let mut slow = vec![false; progress.values.len()];
    for (i, (from, to, median)) in levels.iter().enumerate() {
        let better_before = levels[..i].iter().any(|(_, _, before)| *median <= before * (1.0 - EFFECT));
        let (Some(first), Some(last)) = (told.get(*from), told.get(*to - 1)) else { continue };
        if better_before && *median <= usual.level * (1.0 - EFFECT) && *last >= begin {
            let (mut first, mut last) = ((*first).max(begin), *last);
            // Ranks place an end to within a tick or two: one that is nearer to the usual level is not the dip's.
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
    let slow_ticks = stretches(&slow, begin);
    let around = |i: usize| slow[i.saturating_sub(1)..(i + 2).min(slow.len())].iter().any(|s| *s);
    let normal: Vec<bool> = (0..slow.len()).map(|i| i >= begin && !around(i)).collect();
    let window = |(from, to): &(usize, usize)| progress.window(*from, *to);
    let base: Vec<Window> =
        stretches(&normal, begin).iter().filter(|(a, b)| b - a >= MIN_TICKS).map(window).collect();
    Some(Found {
        slow: slow_ticks.iter().map(window).collect(),
        warm_up: (begin > 0).then(|| progress.window(0, begin)),
        how: how(progress, &usual, slow_ticks.len(), begin),
        would_show: usual.slow_below() >= usual.level * WOULD_SHOW,
        base,
    })
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

fn usual(values: &[f64], levels: &[(usize, usize, f64)]) -> Option<Usual> {
    let mut highest: Vec<_> = levels.to_vec();
    highest.sort_by(|a, b| b.2.total_cmp(&a.2));
    let mut kept = 0.0;
    let enough = USUAL_FOR * values.len() as f64;
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

/// The first tick from which the series is at its usual level for three ticks; `None` where it starts there. Where that
/// would take much of the run, being less than a dip below the level is there as well: a run whose last part is a little
/// better than the rest has not warmed up all the while.
fn warm_up(values: &[f64], usual: &Usual) -> Option<usize> {
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
    (begin > 0).then_some(begin)
}

/// Runs of slow ticks from `begin` on, widened to where the usual noise begins.
fn runs(progress: &Progress, usual: &Usual, begin: usize) -> Vec<(usize, usize)> {
    let n = progress.values.len();
    let below = |i: usize, limit: f64| progress.values[i].is_none_or(|v| v < limit);
    let is_slow: Vec<bool> = (0..n).map(|i| i >= begin && below(i, usual.slow_below())).collect();
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for (from, to) in stretches(&is_slow, begin) {
        match joined.last_mut() {
            Some(last) if from - last.1 <= BRIDGE => last.1 = to,
            _ => joined.push((from, to)),
        }
    }
    let tail = MIN_TICKS.max((TAIL * n as f64).ceil() as usize);
    let lasts = |(from, to): &(usize, usize)| {
        let ticks = is_slow[*from..*to].iter().filter(|s| **s).count();
        let stalled = (*from..*to).any(|i| is_slow[i] && progress.stalled[i]);
        if *to == n { ticks > tail } else { ticks >= MIN_TICKS || stalled }
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

/// Falls from the usual level to less than half of the ticks before, until nearly back.
fn falls(progress: &Progress, usual: &Usual, begin: usize) -> Vec<(usize, usize)> {
    let values: Vec<f64> = progress.values.iter().map(|v| v.unwrap_or(0.0)).collect();
    let steps: Vec<f64> =
        values.iter().skip(begin).zip(values.iter().skip(begin + 1)).map(|(a, b)| b - a).collect();
    // The difference of two independent values has √2 times their standard deviation.
    let Some(sigma) = stats::robust_sigma(&steps).map(|s| s / std::f64::consts::SQRT_2) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut i = begin + BEFORE;
    while i < values.len() {
        let before = stats::median(&stats::sorted(values[i - BEFORE..i].iter().copied())).unwrap_or(0.0);
        let fallen = values[i..].iter().take_while(|v| **v < (1.0 - EFFECT) * before).count();
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

/// Stretches of `true` from `begin` on.
fn stretches(flags: &[bool], begin: usize) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for i in (begin..flags.len()).filter(|i| flags[*i]) {
        match found.last_mut() {
            Some(last) if last.1 == i => last.1 = i + 1,
            _ => found.push((i, i + 1)),
        }
    }
    found
}

fn how(progress: &Progress, usual: &Usual, slow: usize, begin: usize) -> String {
    let n = progress.values.len();
    let tick = quantity::millis(progress.tick_ns as f64 / 1e6);
    let level = progress.shown(usual.level);
    let limit = progress.shown(usual.slow_below().max(0.0));
    let mut how = format!(
        "found on {} ({n} ticks of {tick}): usually {level} {unit} (standard deviation {}); ",
        progress.measured_on,
        quantity::share(usual.sigma / usual.level),
        unit = progress.unit,
        level = Short(level),
    );
    let beyond = if progress.of_latency { "above" } else { "below" };
    how += &match slow {
        0 => format!("nowhere {beyond} {} {} for {MIN_TICKS} ticks", Short(limit), progress.unit),
        _ => format!(
            "{} with at least {MIN_TICKS} ticks {beyond} {} {}, a lower level, a fall by half or a stretched tick",
            quantity::plural(slow, "stretch", "stretches"),
            Short(limit),
            progress.unit
        ),
    };
    if begin > 0 {
        let length = quantity::millis(progress.window(0, begin).length_ns() as f64 / 1e6);
        how += &format!("; the first {length} are warm-up");
    }
    how
}

/// A number with as many digits as one reads: "1980", "39.3", "0.25".
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = match self.0.abs() {
            a if a >= 100.0 => 0,
            a if a >= 10.0 => 1,
            _ => 2,
        };
        write!(f, "{:.*}", digits, self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn noise(i: usize) -> f64 {
        (i as f64 * 0.618_033_988_749_895).fract() - 0.5
    }

    fn progress(values: impl IntoIterator<Item = f64>) -> Progress {
        let values: Vec<_> = values.into_iter().map(Some).collect();
        Progress {
            from_ns: 1_000 * S,
            tick_ns: S,
            stalled: vec![false; values.len()],
            values,
            of_latency: false,
            unit: "ops/s".into(),
            measured_on: "throughput of app".into(),
        }
    }

    fn slow(found: &Found) -> Vec<(i64, i64)> {
        found.slow.iter().map(|w| (w.from_ns / S - 1_000, w.to_ns / S - 1_000)).collect()
    }

    #[test]
    fn a_healthy_series_has_no_slow_window() {
        for spread in [0.0, 20.0, 60.0] {
            let found = find(&progress((0..300).map(|i| 200.0 + spread * noise(i)))).unwrap();
            assert!(found.slow.is_empty() && found.warm_up.is_none(), "{spread}: {found:?}");
            assert_eq!(found.base.len(), 1);
        }
    }

    #[test]
    fn a_dip_is_found_with_its_slow_recovery_and_warm_up_is_none() {
        let level = |i: usize| match i {
            0..8 => 250.0 + 15.0 * i as f64,
            100..110 => 180.0,
            110..115 => 350.0,
            _ => 400.0,
        };
        let found = find(&progress((0..200).map(|i| level(i) + 16.0 * noise(i)))).unwrap();
        assert_eq!(slow(&found), [(100, 115)]);
        assert_eq!(found.warm_up.map(|w| w.length_ns() / S), Some(8));
        assert_eq!(found.base.first().map(|w| w.from_ns / S - 1_000), Some(8));
        assert!(found.how.contains("1 stretch with"), "{}", found.how);
    }

    #[test]
    fn two_slow_ticks_are_noise_and_a_load_that_ends_is_no_dip() {
        let level = |i: usize| if [50, 51].contains(&i) || i >= 196 { 10.0 } else { 100.0 };
        let found = find(&progress((0..200).map(|i| level(i) + 4.0 * noise(i)))).unwrap();
        assert!(slow(&found).is_empty(), "{found:?}");
    }

    #[test]
    fn a_lower_level_is_slow_to_its_end_however_noisy() {
        let level = |i: usize| if i < 150 { 100.0 } else { 65.0 };
        let found = find(&progress((0..400).map(|i| level(i) + 60.0 * noise(i)))).unwrap();
        assert_eq!(slow(&found).len(), 1, "{found:?}");
        let (from, to) = slow(&found)[0];
        assert!((145..=155).contains(&from) && to == 400, "{from} {to}");
    }

    #[test]
    fn one_stretched_tick_is_a_stall_when_nothing_was_done_in_it() {
        let mut p = progress((0..100).map(|i| 100.0 + 4.0 * noise(i)));
        p.values[60] = Some(20.0);
        p.stalled[60] = true;
        p.stalled[80] = true;
        assert_eq!(slow(&find(&p).unwrap()), [(60, 61)]);
    }

    #[test]
    fn too_short_or_idle_a_series_tells_nothing() {
        assert_eq!(find(&progress([1.0; 19])), None);
        assert_eq!(find(&progress([0.0; 50])), None);
    }

    const WANDERING: [f64; 84] = [
        57.0, 62.0, 78.0, 62.0, 71.0, 72.0, 72.0, 44.0, 59.0, 61.0, 65.0, 70.0, 87.0, 89.0, 100.0, 68.0,
        62.0, 63.0, 49.0, 72.0, 28.0, 91.0, 100.0, 59.0, 83.0, 85.0, 85.0, 96.0, 88.0, 76.0, 98.0, 50.0,
        73.0, 40.0, 74.0, 106.0, 72.0, 92.0, 91.0, 76.0, 114.0, 113.0, 119.0, 116.0, 125.0, 129.0, 16.0,
        18.0, 14.0, 19.0, 18.0, 31.0, 34.0, 36.0, 36.0, 25.0, 24.0, 25.0, 43.0, 66.0, 80.0, 83.0, 82.0, 87.0,
        65.0, 81.0, 71.0, 84.0, 70.0, 55.0, 57.0, 54.0, 36.0, 47.0, 57.0, 67.0, 61.0, 47.0, 71.0, 80.0, 80.0,
        85.0, 83.0, 70.0,
    ];

    #[test]
    fn a_deep_drop_in_a_wandering_series_is_found_and_the_wandering_is_not() {
        assert_eq!(slow(&find(&progress(WANDERING)).unwrap()), [(46, 59)]);
        let healthy = WANDERING.iter().enumerate().filter(|(i, _)| !(46..59).contains(i)).map(|(_, v)| *v);
        let found = find(&progress(healthy)).unwrap();
        assert!(found.slow.is_empty(), "{found:?}");
    }

    /// Throughput of the demo's service on a busy machine, thousands in each half second: the fall is at 22 s.
    const SHORT_FALL: [f64; 80] = [
        38.0, 90.0, 125.0, 135.0, 136.0, 140.0, 185.0, 400.0, 384.0, 356.0, 506.0, 355.0, 390.0, 369.0,
        377.0, 238.0, 245.0, 246.0, 269.0, 241.0, 414.0, 341.0, 424.0, 259.0, 310.0, 254.0, 269.0, 212.0,
        282.0, 292.0, 161.0, 197.0, 329.0, 413.0, 296.0, 274.0, 279.0, 328.0, 321.0, 438.0, 327.0, 415.0,
        524.0, 387.0, 54.0, 108.0, 177.0, 291.0, 446.0, 356.0, 303.0, 309.0, 267.0, 319.0, 489.0, 329.0,
        313.0, 309.0, 383.0, 376.0, 308.0, 269.0, 232.0, 265.0, 322.0, 303.0, 214.0, 226.0, 410.0, 306.0,
        230.0, 372.0, 454.0, 459.0, 421.0, 436.0, 483.0, 330.0, 365.0, 391.0,
    ];

    #[test]
    fn a_short_fall_by_half_is_found_where_the_level_wanders_as_much_over_the_run() {
        let found = find(&progress(SHORT_FALL)).unwrap();
        assert_eq!(slow(&found), [(44, 47)], "{}", found.how);
    }

    #[test]
    fn a_rise_is_warm_up_however_long_and_no_dip() {
        let rises: [fn(usize) -> f64; 4] = [
            |i| 40.0 + i as f64 * 0.5,
            |i| if i < 80 { 60.0 } else { 100.0 },
            |i| 100.0 - 80.0 * (-(i as f64) / 40.0).exp(),
            |i| [50.0, 65.0, 80.0, 100.0][(i / 40).min(3)],
        ];
        for (n, rise) in rises.iter().enumerate() {
            for spread in [0.0, 10.0, 25.0] {
                let found = find(&progress((0..160).map(|i| rise(i) + spread * noise(i)))).unwrap();
                assert!(found.slow.is_empty(), "{n} {spread}: {:?} {}", slow(&found), found.how);
            }
        }
    }

    #[test]
    fn a_stall_within_a_long_warm_up_is_found() {
        let level = |i: usize| match i {
            30..40 => 4.0,
            0..100 => 60.0,
            _ => 100.0,
        };
        let found = find(&progress((0..160).map(|i| level(i) + 4.0 * noise(i)))).unwrap();
        assert_eq!(slow(&found), [(30, 40)], "{}", found.how);
    }

    /// Normal noise by splitmix64 and Box and Muller, the same every time.
    struct Noise(u64);

    impl Noise {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            let (a, b) = (self.uniform().max(f64::MIN_POSITIVE), self.uniform());
            (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
        }
    }

    /// Of so many series with a dip of 16 ticks somewhere in the middle, the share in which windows cover at least half of it.
    fn share_found(ticks: usize, depth: f64, noise: f64, runs: usize) -> f64 {
        let mut random = Noise((ticks as u64) << 32 | ((depth * 1e3) as u64) << 16 | (noise * 1e3) as u64);
        let found = (0..runs).filter(|_| {
            let at = 12 + (random.uniform() * (ticks - 16 - 24) as f64) as usize;
            let dip = |i: usize| if (at..at + 16).contains(&i) { 1.0 - depth } else { 1.0 };
            let series: Vec<f64> =
                (0..ticks).map(|i| 500.0 * (dip(i) + noise * random.normal()).max(0.0)).collect();
            let windows = find(&progress(series)).map(|found| slow(&found)).unwrap_or_default();
            let within =
                |(from, to): &(i64, i64)| (*to.min(&(at as i64 + 16)) - *from.max(&(at as i64))).max(0);
            windows.iter().map(within).sum::<i64>() >= 8
        });
        found.count() as f64 / runs as f64
    }

    /// Of so many series of nothing but noise, the share in which a window was found.
    fn share_false(ticks: usize, noise: f64, runs: usize) -> f64 {
        let mut random = Noise((ticks as u64) << 32 | (noise * 1e3) as u64);
        let found = (0..runs).filter(|_| {
            let series: Vec<f64> =
                (0..ticks).map(|_| 500.0 * (1.0 + noise * random.normal()).max(0.0)).collect();
            find(&progress(series)).is_some_and(|found| !found.slow.is_empty())
        });
        found.count() as f64 / runs as f64
    }

    /// `cargo test -p fathom-diagnose --lib dips -- --nocapture` prints the table.
    #[test]
    fn a_dip_of_a_quarter_of_the_run_is_found_in_noise_and_noise_alone_is_none() {
        const NOISE: [f64; 6] = [0.03, 0.06, 0.08, 0.10, 0.12, 0.15];
        println!("noise                    {NOISE:?}");
        for (depth, up_to) in [(0.45, 0.15), (0.30, 0.08)] {
            for ticks in [64, 120] {
                let found = NOISE.map(|noise| share_found(ticks, depth, noise, 60));
                println!("-{:.0} %, 16 of {ticks:3} ticks   {found:?}", depth * 100.0);
                for (noise, share) in NOISE.iter().zip(found).filter(|(noise, _)| **noise <= up_to) {
                    assert!(share >= 0.95, "{depth} {ticks} {noise}: {share}");
                }
            }
        }
        for ticks in [40, 64, 120, 300] {
            let found = NOISE.map(|noise| share_false(ticks, noise, 40));
            println!("noise alone, {ticks:3} ticks   {found:?}");
            assert!(found.iter().all(|share| *share <= 0.01), "{ticks}: {found:?}");
        }
    }

    #[test]
    fn a_run_that_gets_a_little_better_at_its_end_has_not_warmed_up_all_the_while() {
        let level = |i: usize| match i {
            20..30 => 50.0,
            0..50 => 88.0,
            _ => 100.0,
        };
        let found = find(&progress((0..64).map(|i| level(i) + 3.0 * noise(i)))).unwrap();
        assert_eq!(slow(&found), [(20, 30)], "{}", found.how);
        assert!(found.warm_up.is_none(), "{:?}", found.warm_up);
    }
}
