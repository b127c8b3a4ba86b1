//! From runs to a verdict on each command against the first.
//!
//! Where several commands or several benchmarks are compared at once, the chance of error is
//! divided among the comparisons (Bonferroni), so that "5%" is the chance of any wrong claim and
//! not of each.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::interval::{Pair, half_interval, p_value, paired};
use crate::letters::{holm, letters};
use crate::metric::Measurement;
use crate::runs::{Host, Run, Runs};
use crate::sentence::{Compared, Words};
use crate::steady::Steady;
use crate::verdict::Comparison;

/// The schema of the JSON form. A field is only added within a version, never renamed or removed.
pub const SCHEMA: &str = "fathom.compare/1";
/// The chance of a wrong claim.
pub const ALPHA: f64 = 0.05;

/// What is judged by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judging {
    /// The share of difference that does not matter.
    pub margin: f64,
    /// Whether the warm-up of a series is left out.
    pub drop_warm_up: bool,
}

/// The result of the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// What is compared, in words.
    pub metric: String,
    /// What it ran on.
    pub host: Host,
    /// Chance of any wrong claim in the verdicts below.
    pub alpha: f64,
    /// Looks at which the runs could have ended, and the chance of error of each.
    pub looks: Vec<crate::plan::Look>,
    /// The share of difference that does not matter.
    pub margin: f64,
    /// Runs of each command that count.
    pub runs: usize,
    /// Runs of each that do not.
    pub warmup: usize,
    /// Whether the user ended it.
    pub ended_early: bool,
    /// The commands, the baseline first; one row for each measurement of each.
    pub commands: Vec<Row>,
    /// Each other command against the baseline.
    pub comparisons: Vec<Comparison>,
    /// Benchmarks that only one of two files has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(as = "Option<_>", optional))]
    pub not_compared: Vec<String>,
    /// What makes two files hard to compare.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(as = "Option<_>", optional))]
    pub differing: Vec<String>,
}

impl Report {
    /// One of nothing yet, that nobody ran.
    pub(crate) fn empty(metric: &str, margin: f64) -> Self {
        Self {
            schema: SCHEMA,
            metric: metric.to_owned(),
            host: Host::default(),
            alpha: ALPHA,
            looks: Vec::new(),
            margin,
            runs: 0,
            warmup: 0,
            ended_early: false,
            commands: Vec::new(),
            comparisons: Vec::new(),
            not_compared: Vec::new(),
            differing: Vec::new(),
        }
    }
}

/// A measurement of a command.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Row {
    /// What it is called.
    pub label: String,
    /// The command.
    pub text: String,
    /// Benchmark; empty where a run gives one value.
    pub figure: String,
    /// Unit of the values below.
    pub unit: String,
    /// Runs.
    pub runs: usize,
    /// Mean over the runs.
    pub mean: f64,
    /// Smallest run.
    pub min: f64,
    /// Largest run.
    pub max: f64,
    /// Standard deviation between runs as a share of the mean; null in JSON with one run.
    #[cfg_attr(feature = "typescript", ts(as = "Option<f64>"))]
    pub spread: f64,
    /// What each run gave, in the order of the runs.
    pub values: Vec<f64>,
    /// The mean lies between these 95 times in 100, by Student's interval of these runs alone;
    /// absent with one run. Verdicts rest on pairs of runs, whose interval is mostly narrower.
    pub interval: Option<[f64; 2]>,
    /// Mean CPU time of a run, seconds; absent where nothing was run.
    pub cpu_s: Option<f64>,
    /// Runs whose series warms up first, and how many of its values at most.
    pub warming_up: (usize, usize),
    /// Runs whose series never gets steady.
    pub never_steady: usize,
    /// Where three or more are compared: who shares a letter does not differ.
    pub letters: String,
}

/// Judges runs.
pub fn judge(runs: &Runs, judging: &Judging) -> Report {
    let blocks = runs.whole_blocks();
    // Who ended it by hand has not spent the chance of the last look.
    let look = runs.looks.iter().find(|l| l.blocks == blocks).or(runs.looks.last());
    let alpha = look.map_or(ALPHA, |look| look.alpha);
    let measurements = measurements(runs);
    let tests = (measurements.len() * (runs.commands.len() - 1)).max(1);
    let mut report = Report {
        host: runs.host.clone(),
        alpha: runs.looks.iter().map(|l| l.alpha).sum(),
        looks: runs.looks.clone(),
        runs: blocks,
        warmup: runs.warmup,
        ended_early: runs.ended_early,
        ..Report::empty(&runs.metric.words(), judging.margin)
    };
    for measurement in &measurements {
        let rows = (0..runs.commands.len()).map(|command| row(runs, judging, command, measurement));
        let mut rows: Vec<Row> = rows.collect();
        if rows.len() > 2 {
            let means: Vec<f64> = rows.iter().map(|row| row.mean).collect();
            let distinct = distinct(runs, judging, &measurement.name, alpha / measurements.len() as f64);
            let letters = letters(&means, &distinct);
            rows.iter_mut().zip(letters).for_each(|(row, letters)| row.letters = letters);
        }
        report.commands.extend(rows);
        for other in 1..runs.commands.len() {
            let pairs = pairs(runs, judging, (0, other), &measurement.name);
            let estimate = paired(&pairs, alpha / tests as f64);
            let names = [0, other].map(|i| runs.commands[i].label.clone());
            let compared = Compared {
                names,
                runs: pairs.len(),
                measurement,
                words: Words::of(&runs.metric, measurement),
            };
            report.comparisons.push(compared.judged(estimate, judging.margin, alpha / tests as f64));
        }
    }
    report
}

/// Which of all pairs of commands differ beyond noise.
fn distinct(runs: &Runs, judging: &Judging, measurement: &str, alpha: f64) -> Vec<(usize, usize)> {
    let n = runs.commands.len();
    let all: Vec<(usize, usize)> = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect();
    let p_values: Vec<f64> =
        all.iter().map(|pair| p_value(&pairs(runs, judging, *pair, measurement))).collect();
    let claimed = holm(&p_values, alpha);
    all.into_iter().zip(claimed).filter(|(_, claimed)| *claimed).map(|(pair, _)| pair).collect()
}

/// Pairs of runs of two commands, block by block.
pub fn pairs(
    runs: &Runs,
    judging: &Judging,
    (baseline, other): (usize, usize),
    measurement: &str,
) -> Vec<Pair> {
    let values = |run: &Run| series(run, measurement).map(|f| counted(f, judging).to_vec());
    let others: BTreeMap<usize, &Run> = runs.of(other).map(|run| (run.block, run)).collect();
    let pair = |run: &Run| Some(Pair { baseline: values(run)?, other: values(others.get(&run.block)?)? });
    runs.of(baseline).filter_map(pair).collect()
}

/// The measurements that every run has, in the order of the first run.
fn measurements(runs: &Runs) -> Vec<Measurement> {
    let Some(first) = runs.runs.first() else { return Vec::new() };
    let everywhere = |f: &&Measurement| runs.runs.iter().all(|run| series(run, &f.name).is_some());
    first.figures.iter().filter(everywhere).cloned().collect()
}

fn series<'r>(run: &'r Run, measurement: &str) -> Option<&'r Measurement> {
    run.figures.iter().find(|f| f.name == measurement)
}

/// The values of a run that count.
fn counted<'f>(measurement: &'f Measurement, judging: &Judging) -> &'f [f64] {
    if judging.drop_warm_up {
        Steady::of(&measurement.values).part(&measurement.values)
    } else {
        &measurement.values
    }
}

fn row(runs: &Runs, judging: &Judging, command: usize, measurement: &Measurement) -> Row {
    let series: Vec<&Measurement> =
        runs.of(command).filter_map(|run| series(run, &measurement.name)).collect();
    let steady: Vec<Steady> = series.iter().map(|f| Steady::of(&f.values)).collect();
    let means = series.iter().filter_map(|f| fathom_diagnose::stats::mean(counted(f, judging)));
    let means: Vec<f64> = means.collect();
    let warm = |s: &Steady| match s {
        Steady::From { first } if *first > 0 => Some(*first),
        _ => None,
    };
    let warming: Vec<usize> = steady.iter().filter_map(warm).collect();
    let cpu: Vec<f64> = runs.of(command).map(|r| r.usage.user_s + r.usage.sys_s).collect();
    let named = &runs.commands[command];
    Row {
        cpu_s: fathom_diagnose::stats::mean(&cpu),
        warming_up: (warming.len(), warming.iter().copied().max().unwrap_or(0)),
        never_steady: steady.iter().filter(|s| **s == Steady::Never).count(),
        ..Row::of(&named.label, &named.text, measurement, &means)
    }
}

impl Row {
    /// What the means of runs are.
    pub(crate) fn of(label: &str, text: &str, measurement: &Measurement, means: &[f64]) -> Self {
        let mean = fathom_diagnose::stats::mean(means).unwrap_or(f64::NAN);
        let squares = means.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        let deviation = (squares / (means.len() as f64 - 1.0).max(1.0)).sqrt();
        let half = half_interval(means.len(), deviation);
        Self {
            label: label.to_owned(),
            text: text.to_owned(),
            figure: measurement.name.clone(),
            unit: measurement.unit.clone(),
            runs: means.len(),
            mean,
            min: means.iter().copied().fold(f64::INFINITY, f64::min),
            max: means.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            spread: deviation / mean,
            values: means.to_vec(),
            interval: half.map(|half| [mean - half, mean + half]),
            cpu_s: None,
            warming_up: (0, 0),
            never_steady: 0,
            letters: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Command;
    use crate::metric::Metric;
    use crate::plan::looks;
    use crate::running::Usage;
    use crate::verdict::Verdict;

    /// Runs of commands whose wall times are given block by block.
    fn runs(blocks: &[&[f64]]) -> Runs {
        let commands = (0..blocks[0].len())
            .map(|i| Command::of(&crate::command::letter(i), &["true".to_owned()]).expect("it is a command"));
        let mut runs = Runs {
            schema: crate::runs::SCHEMA.to_owned(),
            began_unix_s: 0,
            host: Host::default(),
            metric: Metric::Wall,
            seed: 1,
            warmup: 0,
            looks: looks(blocks.len(), blocks.len(), ALPHA),
            commands: commands.collect(),
            runs: Vec::new(),
            ended_early: false,
        };
        for (block, times) in blocks.iter().enumerate() {
            for (command, wall_s) in times.iter().enumerate() {
                let usage = Usage { wall_s: *wall_s, ..Usage::default() };
                let figures = vec![Measurement {
                    name: String::new(),
                    unit: "s".into(),
                    higher_is_better: false,
                    values: vec![*wall_s],
                }];
                runs.runs.push(Run { block, place: command, command, usage, figures });
            }
        }
        runs
    }

    const JUDGING: Judging = Judging { margin: 0.01, drop_warm_up: true };

    #[test]
    fn a_verdict_is_one_sentence_with_ratio_interval_and_runs() {
        let slower =
            runs(&[&[1.0, 1.05], &[1.1, 1.14], &[0.95, 1.0], &[1.2, 1.26], &[1.0, 1.05], &[1.0, 1.04]]);
        let report = judge(&slower, &JUDGING);
        let comparison = &report.comparisons[0];
        assert_eq!(comparison.verdict, Verdict::Slower);
        assert!(
            comparison.sentence.starts_with("B takes 1.0")
                && comparison.sentence.ends_with(", 6 runs each): slower"),
            "{}",
            comparison.sentence
        );
        assert_eq!((report.commands.len(), report.runs), (2, 6));
    }

    #[test]
    fn who_cannot_tell_says_how_many_runs_would_do() {
        let noisy = runs(&[&[1.0, 1.05], &[1.1, 1.0], &[0.95, 1.0], &[1.2, 1.16]]);
        let report = judge(&noisy, &JUDGING);
        let comparison = &report.comparisons[0];
        assert_eq!(comparison.verdict, Verdict::CannotTell);
        assert!(comparison.runs_needed.unwrap() > 100, "{comparison:?}");
        assert!(comparison.sentence.contains("runs each would show a difference of 1%"), "{comparison:?}");
        let report = judge(&noisy, &Judging { margin: 0.5, ..JUDGING });
        assert_eq!(report.comparisons[0].verdict, Verdict::NoDifference);
        let two = judge(&runs(&[&[1.0, 2.0], &[1.0, 2.0]]), &JUDGING);
        assert!(two.comparisons[0].sentence.contains("cannot tell; 2 runs of each"), "{two:?}");
    }

    #[test]
    fn several_commands_share_the_chance_of_error() {
        let rows: Vec<Vec<f64>> = (0..8).map(|i| vec![1.0, 1.0 + f64::from(i % 3) / 100.0, 1.5]).collect();
        let three = runs(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let pair: Vec<Vec<f64>> = rows.iter().map(|r| r[..2].to_vec()).collect();
        let two = runs(&pair.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let width = |runs: &Runs| {
            let estimate = judge(runs, &JUDGING).comparisons[0].estimate.unwrap();
            estimate.high - estimate.low
        };
        assert!(width(&three) > 1.1 * width(&two));
        let report = judge(&three, &JUDGING);
        assert_eq!(report.comparisons[1].verdict, Verdict::Slower);
        let letters: Vec<&str> = report.commands.iter().map(|row| row.letters.as_str()).collect();
        assert_eq!((letters[2], letters[0].contains('b')), ("c", false), "{letters:?}");
    }

    /// Two commands whose runs warm up: what counts is where they are steady.
    #[test]
    fn the_warm_up_of_a_series_is_left_out_and_told() {
        let mut warm = runs(&[&[1.0, 1.0], &[1.0, 1.0], &[1.0, 1.0], &[1.0, 1.0]]);
        for (n, run) in warm.runs.iter_mut().enumerate() {
            let wiggle = |i: usize| f64::from(((i * 7 + n * 3) % 11) as u32) / 1_000.0;
            let first = if run.command == 0 { 9.0 } else { 3.0 };
            let values = (0..100).map(|i| wiggle(i) + if i < 40 { first } else { 1.0 });
            run.figures[0].values = values.collect();
        }
        let report = judge(&warm, &JUDGING);
        assert_eq!(report.comparisons[0].verdict, Verdict::NoDifference);
        assert_eq!(report.commands[0].warming_up, (4, 40));
        let all = judge(&warm, &Judging { drop_warm_up: false, ..JUDGING });
        assert_eq!(all.comparisons[0].verdict, Verdict::Faster);
    }
}
