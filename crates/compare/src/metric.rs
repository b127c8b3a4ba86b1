//! What is compared: a value that each run gives.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use fathom_ingest::Options;
use fathom_recording::{Recording, SeriesKind};
use regex_lite::Regex;
use serde::{Deserialize, Serialize};

use crate::jmh;
use crate::running::{Usage, tail};

/// More of what a run printed is not searched for numbers, bytes.
const MOST_PRINTED: u64 = 256 << 20;
/// A longer line is cut, bytes: a program may print one that never ends.
const LONGEST_LINE: u64 = 1 << 20;
/// More benchmarks than SPECjvm has, so that no output fills the memory.
const MOST_SCORES: usize = 200;
/// Numbers taken from one run at most.
const MOST_VALUES: usize = 1_000_000;

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Metric {
    /// From start to end.
    Wall,
    /// User and system time of the command and its children.
    Cpu,
    /// Numbers that the command prints: the first group of a pattern, or all that it matches.
    Number {
        /// The pattern.
        pattern: String,
        /// Whether more is better.
        higher_is_better: bool,
    },
    /// The scores that SPECjvm2008 prints, benchmark by benchmark.
    Specjvm,
    /// Operations per second of a table that the command writes.
    Throughput {
        /// The file.
        file: PathBuf,
    },
    /// The benchmarks of a file of JMH that the command writes (`-rf json -rff FILE`).
    Jmh {
        /// The file.
        file: PathBuf,
    },
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "wall" => Ok(Self::Wall),
            None if text == "cpu" => Ok(Self::Cpu),
            None if text == "specjvm" => Ok(Self::Specjvm),
            Some(("number", pattern)) => {
                Regex::new(pattern).map_err(|e| format!("{pattern}: {e}"))?;
                Ok(Self::Number { pattern: pattern.to_owned(), higher_is_better: false })
            }
            Some(("throughput", file)) => Ok(Self::Throughput { file: file.into() }),
            Some(("jmh", file)) => Ok(Self::Jmh { file: file.into() }),
            _ => Err("one of wall, cpu, number=REGEX, specjvm, throughput=FILE, jmh=FILE".to_owned()),
        }
    }
}

/// What a run gave of one thing that is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// What it is of, where a run gives several: a benchmark.
    pub name: String,
    /// "s", "ops/s"; empty where it is not known.
    pub unit: String,
    /// Whether more is better.
    pub higher_is_better: bool,
    /// In the order in which they came: one, or a series.
    pub values: Vec<f64>,
}

impl Measurement {
    /// What JMH measured of a benchmark.
    pub(crate) fn of(benchmark: &jmh::Benchmark) -> Self {
        Self {
            name: benchmark.name.clone(),
            unit: benchmark.unit.clone(),
            higher_is_better: benchmark.higher_is_better,
            values: benchmark.forks.concat(),
        }
    }
}

impl Metric {
    /// The file that each run has to write anew.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Throughput { file } | Self::Jmh { file } => Some(file),
            _ => None,
        }
    }

    /// In words: "wall time", "numbers that match /total (\d+)/".
    pub fn words(&self) -> String {
        match self {
            Self::Wall => "wall time".to_owned(),
            Self::Cpu => "CPU time".to_owned(),
            Self::Number { pattern, .. } => format!("numbers matching /{pattern}/"),
            Self::Specjvm => "scores of SPECjvm".to_owned(),
            Self::Throughput { file } => format!("throughput in {}", file.display()),
            Self::Jmh { file } => format!("benchmarks in {}", file.display()),
        }
    }

    /// What a run gave; `Err`: why it gave nothing.
    pub(crate) fn of(&self, usage: &Usage, printed: &Path) -> Result<Vec<Measurement>, String> {
        let figure = |name: &str, unit: &str, higher_is_better, values| {
            let (name, unit) = (name.to_owned(), unit.to_owned());
            Ok(vec![Measurement { name, unit, higher_is_better, values }])
        };
        match self {
            Self::Wall => figure("", "s", false, vec![usage.wall_s]),
            Self::Cpu => figure("", "s", false, vec![usage.user_s + usage.sys_s]),
            Self::Number { pattern, higher_is_better } => {
                let values = numbers(pattern, printed)?;
                if values.is_empty() {
                    return Err(format!(
                        "printed no number that matches /{pattern}/; last:\n{}",
                        tail(printed)
                    ));
                }
                figure("", "", *higher_is_better, values)
            }
            Self::Specjvm => scores(printed),
            Self::Throughput { file } => figure("", "ops/s", true, throughput(file)?),
            Self::Jmh { file } => {
                let benchmarks = jmh::read(file).map_err(|e| e.to_string())?;
                Ok(benchmarks.iter().map(Measurement::of).collect())
            }
        }
    }
}

/// Calls something for each line of what a run printed, until it has seen enough.
fn lines(printed: &Path, mut of: impl FnMut(&str) -> Result<bool, String>) -> Result<(), String> {
    let file = File::open(printed).map_err(|e| e.to_string())?;
    let mut input = BufReader::new(file.take(MOST_PRINTED));
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        if read.map_err(|e| e.to_string())? == 0 || !of(&String::from_utf8_lossy(&line))? {
            return Ok(());
        }
    }
}

/// The numbers of what a run printed that a pattern finds, line by line.
fn numbers(pattern: &str, printed: &Path) -> Result<Vec<f64>, String> {
    let regex = Regex::new(pattern).map_err(|e| e.to_string())?;
    let mut values = Vec::new();
    lines(printed, |line| {
        for found in regex.captures_iter(line) {
            let Some(found) = found.get(1).or(found.get(0)) else { continue };
            let value = number(found.as_str());
            let wrong = || format!("{:?}, which /{pattern}/ matched, is not a number", found.as_str().trim());
            values.push(value.ok_or_else(wrong)?);
        }
        Ok(values.len() < MOST_VALUES)
    })?;
    values.truncate(MOST_VALUES);
    Ok(values)
}

/// "12.5" and "1,012.5"; a comma before other than three digits is a decimal one, and refused:
/// without it the number would be another.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let whole = text.split('.').next().unwrap_or(text);
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let is_divided = groups.clone().count() > 0 && (1..=3).contains(&first.trim_start_matches('-').len());
    let value = match is_divided && groups.all(|group| group.len() == 3) {
        true => text.replace(',', "").parse::<f64>(),
        false => text.parse(),
    };
    value.ok().filter(|value| value.is_finite())
}

/// What SPECjvm2008 prints of each benchmark and of all: "Score on compress: 312.02 ops/m",
/// "Noncompliant composite result: 98.5 ops/m".
fn scores(printed: &Path) -> Result<Vec<Measurement>, String> {
    let mut found: Vec<Measurement> = Vec::new();
    lines(printed, |line| {
        let line = line.trim();
        let of_one = line.strip_prefix("Score on ").and_then(|rest| rest.split_once(": "));
        let of_all = line.split_once("omposite result: ").map(|(_, score)| ("composite", score));
        let Some((name, score)) = of_one.or(of_all) else { return Ok(true) };
        let (score, unit) = score.split_once(' ').unwrap_or((score, ""));
        if let Some(value) = number(score) {
            let (name, unit) = (name.to_owned(), unit.trim().to_owned());
            match found.iter_mut().find(|measurement| measurement.name == name) {
                Some(again) => again.values.push(value),
                None => {
                    found.push(Measurement { name, unit, higher_is_better: true, values: vec![value] });
                }
            }
        }
        Ok(found.len() < MOST_SCORES)
    })?;
    if found.is_empty() {
        return Err(format!("printed no \"Score on …: …\" of SPECjvm; last:\n{}", tail(printed)));
    }
    Ok(found)
}

/// The throughput of a table, summed over its instances tick by tick.
fn throughput(file: &Path) -> Result<Vec<f64>, String> {
    let mut recording = Recording::new();
    fathom_ingest::read_inputs(&[file.to_owned()], &Options::default(), &mut recording)
        .map_err(|e| e.to_string())?;
    let rates = recording.series.iter().filter(|s| s.info.kind == SeriesKind::Rate && !s.value.is_empty());
    let rates: Vec<_> = rates.collect();
    let Some(shortest) = rates.iter().map(|s| s.value.len()).min() else {
        return Err(format!("{}: no throughput in it", file.display()));
    };
    Ok((0..shortest).map(|i| rates.iter().map(|s| s.value[i]).sum()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, text: &str) -> Result<Vec<f64>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        numbers(pattern, file.path())
    }

    #[test]
    fn numbers_are_found_wherever_they_stand_and_the_group_says_which() {
        let text = "run 1: 12.5 ms\nrun 2: 1,012.25 ms\nend\n";
        assert_eq!(found(r"run \d+: (\S+) ms", text), Ok(vec![12.5, 1012.25]));
        assert_eq!(found(r"\d+\.\d+", "a 1.5 b 2.5"), Ok(vec![1.5, 2.5]));
        assert_eq!(found("nothing", text), Ok(vec![]));
        assert!(found("(run)", text).unwrap_err().contains("is not a number"));
    }

    /// "12,5" is no 125: compared with "13", B would seem to take a tenth of the time.
    #[test]
    fn a_decimal_comma_is_refused_and_one_between_thousands_is_not() {
        assert_eq!(found(r"(\S+) ms", "12,345 ms\n1,234,567.5 ms\n"), Ok(vec![12_345.0, 1_234_567.5]));
        for text in ["12,5 ms", "1234,567 ms", "1,2345 ms", ",500 ms"] {
            assert!(found(r"(\S+) ms", text).unwrap_err().contains("is not a number"), "{text}");
        }
    }

    #[test]
    fn scores_of_specjvm_are_by_benchmark() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "  Iteration 1 (240 seconds) result: 309.00 ops/m\n\n  Valid run!\n  Score on compress: 312.02 ops/m\n\
                    \n  Score on scimark.fft.large: 1,020.5 ops/m\n  Noncompliant composite result: 98.5 ops/m\n";
        std::fs::write(file.path(), text).unwrap();
        let scores = scores(file.path()).unwrap();
        let shown = scores.iter().map(|s| (s.name.as_str(), s.unit.as_str(), s.values.as_slice()));
        let expected = [
            ("compress", "ops/m", [312.02].as_slice()),
            ("scimark.fft.large", "ops/m", &[1020.5]),
            ("composite", "ops/m", &[98.5]),
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
        assert!(scores.iter().all(|s| s.higher_is_better));
        std::fs::write(file.path(), "Error\n").unwrap();
        assert!(super::scores(file.path()).unwrap_err().contains("Error"));
    }

    #[test]
    fn a_metric_is_told_by_its_word() {
        assert_eq!("wall".parse(), Ok(Metric::Wall));
        assert_eq!("jmh=a=b.json".parse(), Ok(Metric::Jmh { file: "a=b.json".into() }));
        assert!("number=(".parse::<Metric>().is_err());
        assert!("walls".parse::<Metric>().unwrap_err().starts_with("one of wall"));
    }

    #[test]
    fn the_throughput_of_several_clients_is_their_sum() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.csv");
        std::fs::write(&file, "time_s,throughput\n0,4\n1,5\n2,4\n").unwrap();
        assert_eq!(throughput(&file), Ok(vec![4.0, 5.0, 4.0]));
        std::fs::write(&file, "nothing at all").unwrap();
        assert!(throughput(&file).is_err());
    }
}
