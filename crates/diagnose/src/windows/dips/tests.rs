//! Series made by hand, with dips of which it is known where they are.

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
        counts: Vec::new(),
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
}

#[test]
fn a_tick_at_the_edge_of_an_outage_is_of_both_sides() {
    let level = |i: usize| match i {
        99 | 112 => 250.0,
        100..112 => 2.0,
        _ => 400.0,
    };
    let found = find(&progress((0..200).map(|i| level(i) * (1.0 + 0.04 * noise(i))))).unwrap();
    assert_eq!(slow(&found), [(100, 112)]);
    let base: Vec<_> = found.base.iter().map(|w| (w.from_ns / S - 1_000, w.to_ns / S - 1_000)).collect();
    assert_eq!(base, [(0, 98), (114, 200)], "such a tick is not usual, either");
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
fn one_prolonged_tick_is_a_stall_when_nothing_was_done_in_it() {
    let mut p = progress((0..100).map(|i| 100.0 + 4.0 * noise(i)));
    p.values[60] = Some(20.0);
    p.stalled[60] = true;
    p.stalled[80] = true;
    assert_eq!(slow(&find(&p).unwrap()), [(60, 61)]);
}

#[test]
fn too_short_or_idle_a_series_is_not_judged() {
    assert_eq!(find(&progress([1.0; 19])), None);
    assert_eq!(find(&progress([0.0; 50])), None);
}

const WANDERING: [f64; 84] = [
    57.0, 62.0, 78.0, 62.0, 71.0, 72.0, 72.0, 44.0, 59.0, 61.0, 65.0, 70.0, 87.0, 89.0, 100.0, 68.0, 62.0,
    63.0, 49.0, 72.0, 28.0, 91.0, 100.0, 59.0, 83.0, 85.0, 85.0, 96.0, 88.0, 76.0, 98.0, 50.0, 73.0, 40.0,
    74.0, 106.0, 72.0, 92.0, 91.0, 76.0, 114.0, 113.0, 119.0, 116.0, 125.0, 129.0, 16.0, 18.0, 14.0, 19.0,
    18.0, 31.0, 34.0, 36.0, 36.0, 25.0, 24.0, 25.0, 43.0, 66.0, 80.0, 83.0, 82.0, 87.0, 65.0, 81.0, 71.0,
    84.0, 70.0, 55.0, 57.0, 54.0, 36.0, 47.0, 57.0, 67.0, 61.0, 47.0, 71.0, 80.0, 80.0, 85.0, 83.0, 70.0,
];

#[test]
fn a_deep_drop_in_a_wandering_series_is_found_and_the_wandering_is_not() {
    assert_eq!(slow(&find(&progress(WANDERING)).unwrap()), [(46, 59)]);
    let healthy = WANDERING.iter().enumerate().filter(|(i, _)| !(46..59).contains(i)).map(|(_, v)| *v);
    let found = find(&progress(healthy)).unwrap();
    assert!(found.slow.is_empty(), "{found:?}");
}

/// Throughput of the demo's service on a busy machine, thousands in each half second: the fall is
/// at 22 s.
const SHORT_FALL: [f64; 80] = [
    38.0, 90.0, 125.0, 135.0, 136.0, 140.0, 185.0, 400.0, 384.0, 356.0, 506.0, 355.0, 390.0, 369.0, 377.0,
    238.0, 245.0, 246.0, 269.0, 241.0, 414.0, 341.0, 424.0, 259.0, 310.0, 254.0, 269.0, 212.0, 282.0, 292.0,
    161.0, 197.0, 329.0, 413.0, 296.0, 274.0, 279.0, 328.0, 321.0, 438.0, 327.0, 415.0, 524.0, 387.0, 54.0,
    108.0, 177.0, 291.0, 446.0, 356.0, 303.0, 309.0, 267.0, 319.0, 489.0, 329.0, 313.0, 309.0, 383.0, 376.0,
    308.0, 269.0, 232.0, 265.0, 322.0, 303.0, 214.0, 226.0, 410.0, 306.0, 230.0, 372.0, 454.0, 459.0, 421.0,
    436.0, 483.0, 330.0, 365.0, 391.0,
];

#[test]
fn a_short_fall_by_half_is_found_where_the_level_wanders_as_much_over_the_run() {
    let found = find(&progress(SHORT_FALL)).unwrap();
    assert_eq!(slow(&found), [(44, 47)], "{:?}", found.how);
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
            assert!(found.slow.is_empty(), "{n} {spread}: {:?} {:?}", slow(&found), found.how);
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
    assert_eq!(slow(&found), [(30, 40)], "{:?}", found.how);
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

/// Of so many series with a dip of 16 ticks somewhere in the middle, the share in which windows
/// cover at least half of it.
fn share_found(ticks: usize, depth: f64, noise: f64, runs: usize) -> f64 {
    let mut random = Noise((ticks as u64) << 32 | ((depth * 1e3) as u64) << 16 | (noise * 1e3) as u64);
    let found = (0..runs).filter(|_| {
        let at = 12 + (random.uniform() * (ticks - 16 - 24) as f64) as usize;
        let dip = |i: usize| if (at..at + 16).contains(&i) { 1.0 - depth } else { 1.0 };
        let series: Vec<f64> =
            (0..ticks).map(|i| 500.0 * (dip(i) + noise * random.normal()).max(0.0)).collect();
        let windows = find(&progress(series)).map(|found| slow(&found)).unwrap_or_default();
        let within = |(from, to): &(i64, i64)| (*to.min(&(at as i64 + 16)) - *from.max(&(at as i64))).max(0);
        windows.iter().map(within).sum::<i64>() >= 8
    });
    found.count() as f64 / runs as f64
}

/// Of so many series of nothing but noise, the share in which a window was found.
fn share_false(ticks: usize, noise: f64, runs: usize) -> f64 {
    let mut random = Noise((ticks as u64) << 32 | (noise * 1e3) as u64);
    let found = (0..runs).filter(|_| {
        let series: Vec<f64> = (0..ticks).map(|_| 500.0 * (1.0 + noise * random.normal()).max(0.0)).collect();
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
            println!("-{:.0}%, 16 of {ticks:3} ticks   {found:?}", depth * 100.0);
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
fn a_series_that_wanders_is_not_slow_for_most_of_its_time() {
    let mut random = Noise(11);
    for run in 0..40 {
        // Each tick is nine tenths of the last one, with 40% of scatter in all.
        let mut x = 0.0;
        let values: Vec<f64> = (0..180)
            .map(|_| {
                x = 0.9 * x + 0.4 * 0.19_f64.sqrt() * random.normal();
                500.0 * (-x).exp()
            })
            .collect();
        let Some(found) = find(&progress(values)) else { continue };
        let ticks = |windows: &[Window]| windows.iter().map(|w| w.length_ns()).sum::<i64>() / S;
        let (slow, base) = (ticks(&found.slow), ticks(&found.base));
        assert!(
            slow <= base || found.slow.len() < 3,
            "{run}: {slow} s slow, {base} s usual: {:?}",
            found.how
        );
    }
}

#[test]
fn what_stays_at_a_fraction_does_not_waver_however_uneven_it_was_before() {
    // A batch on a busy machine, whose work itself becomes slow half way through.
    let ticks: [u32; 80] = [
        11460, 36741, 37919, 42155, 35335, 16121, 21579, 17577, 4448, 5493, 20112, 16522, 2635, 4622, 1507,
        0, 5607, 1013, 22728, 16912, 15019, 26320, 29350, 28855, 31839, 25286, 28672, 32298, 22599, 15002,
        34800, 35287, 35144, 14372, 7714, 9449, 9263, 29192, 6255, 4473, 1324, 1088, 840, 117, 4, 1836, 2690,
        1649, 2767, 1976, 1328, 1062, 957, 300, 724, 686, 644, 1108, 1218, 1277, 1162, 1155, 617, 530, 756,
        872, 767, 579, 839, 956, 837, 635, 534, 596, 519, 623, 649, 361, 83, 353,
    ];
    let found = find(&progress(ticks.map(f64::from))).unwrap();
    let last = *slow(&found).last().unwrap();
    assert!((38..=41).contains(&last.0) && last.1 == 80, "{found:?}");
}

#[test]
fn an_outage_that_is_longer_than_all_else_does_not_waver() {
    let mut series = progress((0..60).map(|i| 500.0 + 20.0 * noise(i)));
    series.values.extend(vec![None; 700]);
    series.values.extend((0..10).map(|i| Some(500.0 + 20.0 * noise(i))));
    series.stalled = vec![false; series.values.len()];
    let found = find(&series).unwrap();
    assert_eq!(slow(&found), [(60, 760)], "{:?}", found.how);
}

#[test]
fn a_series_of_two_levels_is_slow_for_most_of_its_time_where_it_is() {
    let level = |i: usize| if i % 30 < 10 { 500.0 } else { 200.0 };
    let found = find(&progress((0..180).map(|i| level(i) + 20.0 * noise(i)))).unwrap();
    // The last one ends with the series.
    assert_eq!(found.slow.len(), 5, "{:?}", found.how);
}

#[test]
fn a_run_that_gets_a_little_better_at_its_end_has_not_warmed_up_all_the_while() {
    let level = |i: usize| match i {
        20..30 => 50.0,
        0..50 => 88.0,
        _ => 100.0,
    };
    let found = find(&progress((0..64).map(|i| level(i) + 3.0 * noise(i)))).unwrap();
    assert_eq!(slow(&found), [(20, 30)], "{:?}", found.how);
    assert!(found.warm_up.is_none(), "{:?}", found.warm_up);
}

#[test]
fn an_interval_that_is_lower_by_less_than_a_dip_is_reported_and_noise_is_none() {
    let run = |depth: f64| {
        let level = |i: usize| if (60..90).contains(&i) { 200.0 * (1.0 - depth) } else { 200.0 };
        find(&progress((0..150).map(|i| level(i) + 10.0 * noise(i)))).unwrap()
    };
    let found = run(0.12);
    let (window, share) = found.slight.unwrap();
    assert!(found.slow.is_empty() && (share - 0.12).abs() < 0.02, "{share}");
    assert!((window.from_ns / S - 1_060).abs() <= 2 && (window.to_ns / S - 1_090).abs() <= 2, "{window:?}");
    assert_eq!(run(0.0).slight, None);
    assert!(run(0.4).slight.is_none() && !run(0.4).slow.is_empty());
    let mut numbers = Noise(7);
    let alone = (0..300).filter(|_| {
        let values: Vec<f64> = (0..64).map(|_| 200.0 * (1.0 + 0.05 * numbers.normal())).collect();
        find(&progress(values)).is_some_and(|found| found.slight.is_some())
    });
    assert!(alone.count() <= 9, "noise alone");
}

#[test]
fn a_level_that_is_clearly_lower_by_a_few_percent_is_reported() {
    let run = |depth: f64, scatter: f64| {
        let mut numbers = Noise(11);
        let level = |i: usize| if (60..90).contains(&i) { 200.0 * (1.0 - depth) } else { 200.0 };
        find(&progress((0..150).map(|i| level(i) + 200.0 * scatter * numbers.normal()))).unwrap()
    };
    let share = run(0.05, 0.01).slight.unwrap().1;
    assert!((share - 0.05).abs() < 0.01, "{share}");
    assert_eq!(run(0.02, 0.005).slight, None, "less than what anybody asks about");
    assert_eq!(run(0.05, 0.04).slight, None, "within the scatter");
}

/// Requests of a server in each half second: it warms up slowly, and 700 ms after it got there it
/// makes thirteen calls for each instead of one, for seven seconds.
const OUTAGE_AFTER_A_SLOW_START: [f64; 42] = [
    0.0, 0.0, 0.0, 0.0, 20.0, 48.0, 56.0, 44.0, 51.0, 164.0, 215.0, 245.0, 263.0, 192.0, 322.0, 391.0, 34.0,
    37.0, 45.0, 44.0, 44.0, 52.0, 50.0, 49.0, 47.0, 52.0, 42.0, 42.0, 44.0, 46.0, 357.0, 325.0, 313.0, 349.0,
    315.0, 295.0, 343.0, 357.0, 404.0, 422.0, 476.0, 420.0,
];

#[test]
fn a_warm_up_ends_where_the_level_was_reached_and_a_fall_after_that_is_an_outage() {
    let found = find(&progress(OUTAGE_AFTER_A_SLOW_START)).unwrap();
    assert_eq!(slow(&found), [(16, 30)], "{:?}", found.how);
    assert_eq!(found.warm_up.map(|w| w.length_ns() / S), Some(14));
}

/// Reads of a server in each half second: a file that is no longer in the page cache holds it up
/// for a second.
const OUTAGE_OF_ONE_TICK: [f64; 42] = [
    2439.0, 2474.0, 2528.0, 2261.0, 2090.0, 2006.0, 2207.0, 2435.0, 2393.0, 2474.0, 2302.0, 2375.0, 2365.0,
    2462.0, 2520.0, 2455.0, 17.0, 1115.0, 2140.0, 2250.0, 2318.0, 2381.0, 2409.0, 2380.0, 2397.0, 2351.0,
    2435.0, 2526.0, 2536.0, 2515.0, 2561.0, 2544.0, 2584.0, 2583.0, 2552.0, 2613.0, 2576.0, 2448.0, 2404.0,
    2349.0, 2416.0, 2395.0,
];

#[test]
fn one_tick_in_which_next_to_nothing_was_done_is_an_outage() {
    let found = find(&progress(OUTAGE_OF_ONE_TICK)).unwrap();
    assert_eq!(slow(&found), [(16, 18)], "{:?}", found.how);
    let alone = OUTAGE_OF_ONE_TICK.map(|v| if v == 1115.0 { 2_400.0 } else { v });
    assert_eq!(slow(&find(&progress(alone)).unwrap()), [(16, 17)]);
    // A tick without a value is a gap, one of a tenth of a second is short, and that of a latency
    // may be one operation.
    let mut gap = progress(alone);
    gap.values[16] = None;
    let short = Progress { tick_ns: S / 10, ..progress(alone) };
    let latency = Progress { of_latency: true, ..progress(alone) };
    for no_outage in [gap, short, latency] {
        assert!(slow(&find(&no_outage).unwrap()).is_empty(), "{no_outage:?}");
    }
    // Where noise reaches as far down, one such tick says nothing.
    let mut random = Noise(3);
    let noisy = (0..120).map(|i| if i == 60 { 4.0 } else { 100.0 * (1.0 + 0.3 * random.normal()).max(0.0) });
    assert!(slow(&find(&progress(noisy)).unwrap()).is_empty());
}

/// Calls of a server in each half second, on a machine that others make slower by a third for much
/// of the time: for seven seconds its peer takes no connections.
const OUTAGE_WITHIN_A_LOWER_LEVEL: [f64; 42] = [
    245.0, 337.0, 313.0, 300.0, 315.0, 284.0, 300.0, 292.0, 297.0, 235.0, 142.0, 170.0, 179.0, 210.0, 225.0,
    216.0, 19.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 9.0, 7.0, 9.0, 7.0, 8.0, 8.0, 8.0, 184.0, 207.0, 215.0, 230.0,
    170.0, 199.0, 192.0, 213.0, 217.0, 261.0, 282.0, 241.0,
];

#[test]
fn of_an_interval_of_two_levels_the_much_deeper_one_is_slow_and_the_other_neither() {
    let found = find(&progress(OUTAGE_WITHIN_A_LOWER_LEVEL)).unwrap();
    assert_eq!(slow(&found), [(16, 30)], "{:?}", found.how);
    assert!(found.base.iter().all(|w| w.to_ns <= 1_009 * S), "{:?}", found.base);
    let left_out = found.how.iter().find_map(|how| how.fact().find(&words::LEFT_OUT)).unwrap();
    assert_eq!(left_out.number("value"), Some(19_000.0));
    let two = |deep: f64, mild: f64, ticks: usize| {
        let level = |i: usize| match i {
            40..60 => deep,
            60.. if i < 60 + ticks => mild,
            _ => 100.0,
        };
        slow(&find(&progress((0..160).map(|i| level(i) + 4.0 * noise(i)))).unwrap())
    };
    assert_eq!(two(10.0, 70.0, 20), [(40, 60)]);
    // One that is not much deeper, or in which less is lost, is no interval of its own.
    assert_eq!(two(40.0, 70.0, 20), [(40, 80)]);
    assert_eq!(two(10.0, 70.0, 80), [(40, 140)]);
}

/// A fall from what was more than usual ends at the usual level: reports in each half second of a
/// process that got its CPUs back in the middle of the one at 30.
const FALL_FROM_ABOVE_THE_USUAL: [f64; 42] = [
    2608.0, 2881.0, 3760.0, 3184.0, 2270.0, 2216.0, 3204.0, 3777.0, 3978.0, 3950.0, 3078.0, 4470.0, 4679.0,
    4423.0, 3028.0, 2806.0, 0.0, 60.0, 131.0, 160.0, 110.0, 96.0, 59.0, 63.0, 79.0, 82.0, 59.0, 99.0, 56.0,
    47.0, 1554.0, 2714.0, 2963.0, 2657.0, 2358.0, 3117.0, 3030.0, 3470.0, 4032.0, 3661.0, 3569.0, 3805.0,
];

#[test]
fn a_fall_ends_where_the_usual_level_is_reached_again() {
    let found = find(&progress(FALL_FROM_ABOVE_THE_USUAL)).unwrap();
    assert_eq!(slow(&found), [(16, 30)], "{:?}", found.how);
}

/// Baskets of a server in each half second: it starts with a fifth less than it comes to, and
/// wavers; from 16 on its pool waits for itself.
const NOISY_START: [f64; 42] = [
    513.0, 726.0, 665.0, 588.0, 529.0, 544.0, 504.0, 636.0, 574.0, 444.0, 388.0, 553.0, 451.0, 497.0, 664.0,
    702.0, 55.0, 65.0, 78.0, 67.0, 83.0, 79.0, 82.0, 77.0, 73.0, 74.0, 56.0, 64.0, 60.0, 65.0, 712.0, 674.0,
    738.0, 660.0, 645.0, 790.0, 647.0, 756.0, 685.0, 757.0, 734.0, 793.0,
];

#[test]
fn a_start_that_wavers_below_the_usual_level_is_warm_up_and_no_dip() {
    let found = find(&progress(NOISY_START)).unwrap();
    assert_eq!(slow(&found), [(16, 30)], "{:?}", found.how);
    assert_eq!(found.warm_up.map(|w| w.length_ns() / S), Some(16));
    // What begins at the usual level, beyond the noise of what follows, falls.
    let fall = (0..60).map(|i| if (4..14).contains(&i) { 65.0 } else { 100.0 } + 4.0 * noise(i));
    assert_eq!(slow(&find(&progress(fall)).unwrap()), [(4, 14)]);
}
