//! The chance of error that a verdict states, compared with comparisons of commands with
//! themselves.

#[path = "../examples/calibrate/simulation.rs"]
mod simulation;

use simulation::{ALPHA, rates};

/// Comparisons of each case.
const COMPARISONS: usize = 250;
/// Three standard errors of a rate of 5% among so many: 3 · √(0.05 · 0.95 / 250).
const CHANCE: f64 = 0.042;

/// Wall times in seconds of real commands on a machine with other work, in order
/// (fixtures/README.md).
fn recorded() -> Vec<(String, Vec<f64>)> {
    let text = include_str!("../fixtures/wall_times.csv");
    let series = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut cells = line.split(',');
        let name = cells.next().unwrap_or("").to_owned();
        (name, cells.filter_map(|cell| cell.parse().ok()).collect::<Vec<f64>>())
    });
    series.collect()
}

#[test]
fn a_command_against_itself_is_called_different_no_more_often_than_stated() {
    let recorded = recorded();
    assert!(recorded.len() >= 3 && recorded.iter().all(|(_, s)| s.len() >= 200), "{}", recorded.len());
    for (name, series) in &recorded {
        for runs in [(5, 5), (10, 10), (6, 24)] {
            let rates = rates(series, 1.0, runs, COMPARISONS);
            assert!(rates.claimed <= ALPHA + CHANCE, "{name}, {runs:?}: {rates:?}");
        }
    }
}

#[test]
fn the_interval_covers_a_planted_ratio_at_its_rate_and_large_ones_are_found() {
    for (name, series) in &recorded() {
        for ratio in [0.9, 1.01, 1.25] {
            let rates = rates(series, ratio, (10, 10), COMPARISONS);
            assert!(rates.covered >= 1.0 - ALPHA - CHANCE, "{name}, {ratio}: {rates:?}");
        }
        let doubled = rates(series, 3.0, (10, 10), COMPARISONS);
        assert!(doubled.claimed > 0.9 && doubled.wrong == 0.0, "{name}: {doubled:?}");
    }
}
