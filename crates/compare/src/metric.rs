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
            Some(("number", pattern)) => {
                Regex::new(pattern).map_err(|e| format!("{pattern}: {e}"))?;
                Ok(Self::Number { pattern: pattern.to_owned(), higher_is_better: false })
            }
            Some(("throughput", file)) => Ok(Self::Throughput { file: file.into() }),
            Some(("jmh", file)) => Ok(Self::Jmh { file: file.into() }),
            _ => Err("one of wall, cpu, number=REGEX, throughput=FILE, jmh=FILE".to_owned()),
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
            Self::Throughput { file } => figure("", "ops/s", true, throughput(file)?),
            Self::Jmh { file } => {
                let benchmarks = jmh::read(file).map_err(|e| e.to_string())?;
                Ok(benchmarks.iter().map(Measurement::of).collect())
            }
        }
    }
}

/// The numbers of what a run printed that a pattern finds, line by line.
fn numbers(pattern: &str, printed: &Path) -> Result<Vec<f64>, String> {
    let pattern = Regex::new(pattern).map_err(|e| e.to_string())?;
    let file = File::open(printed).map_err(|e| e.to_string())?;
    let mut input = BufReader::new(file.take(MOST_PRINTED));
    let (mut values, mut line) = (Vec::new(), Vec::new());
    while values.len() < MOST_VALUES {
        line.clear();
        if input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(|e| e.to_string())? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        for found in pattern.captures_iter(&text) {
            let Some(number) = found.get(1).or(found.get(0)) else { continue };
            let number = number.as_str().trim();
            // Thousands may be divided by commas; a decimal comma is not distinguished from
            // it, and refused.
            let value = number.parse().or_else(|_| number.replace(',', "").parse::<f64>());
            match value {
                Ok(value) if value.is_finite() => values.push(value),
                _ => return Err(format!("{number:?}, which /{pattern}/ matched, is not a number")),
            }
        }
    }
    values.truncate(MOST_VALUES);
    Ok(values)
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
