//! Synthetic runs.

use super::*;

/// Numbers from -1 to 1 that look random and are the same every time (splitmix64).
pub(super) struct Noise(pub(super) u64);

impl Noise {
    pub(super) fn next(&mut self) -> f64 {
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

fn signal(rates: &[f64]) -> Witness {
    let mut sum = 0.0;
    let mut sums = vec![(0.0, 0.0)];
    for (i, rate) in rates.iter().enumerate() {
        sum += rate;
        sums.push((i as f64 + 1.0, sum));
    }
    Witness { what: "allocation", process: Some(ProcessId(0)), either_way: false, sums }
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
        (0..n).map(|i| if (at..at + 10).contains(&i) { 20.0 } else { 100.0 + 3.0 * noise.next() }).collect()
    };
    let (table, activity) = (dip(100, 230, &mut noise), dip(150, 290, &mut noise));
    let found = best_offset(&ticks(&table), &[signal(&activity)]).unwrap();
    assert!((found.offset_s - 50.0).abs() <= found.uncertainty_s && !found.is_certain(), "{found:?}");
}

#[test]
fn too_little_or_nothing_that_varies_shows_nothing() {
    let mut noise = Noise(9);
    let work = load(&mut noise, 230);
    assert_eq!(best_offset(&ticks(&work[..15]), &[signal(&work)]), None);
    assert_eq!(best_offset(&ticks(&[1.0; 230]), &[signal(&work)]), None);
    assert_eq!(best_offset(&ticks(&work), &[]), None);
    assert_eq!(best_offset(&ticks(&work), &[signal(&[])]), None);
    assert_eq!(best_offset(&[], &[signal(&work)]), None);
}

#[test]
fn tables_that_started_together_are_distinguished_from_those_that_did_not() {
    let mut noise = Noise(3);
    let work = load(&mut noise, 231);
    let share =
        |noise: &mut Noise| -> Vec<f64> { work.iter().map(|w| w / 3.0 + 6.0 * noise.next()).collect() };
    let (a, b) = (share(&mut noise), share(&mut noise));
    assert!(together(&ticks(&a), &ticks(&b[..230])));
    let unrelated: Vec<f64> = (0..231).map(|_| noise.next()).collect();
    assert!(!together(&ticks(&a), &ticks(&unrelated)));
}
