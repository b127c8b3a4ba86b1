//! What was run and what it gave, as it is kept in a file and read again.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::CompareError;
use crate::command::Command;
use crate::metric::{Measurement, Metric};
use crate::plan::Look;
use crate::running::Usage;

/// The schema of the file. A field is only added within a version, never renamed or removed.
pub const SCHEMA: &str = "fathom.compare-runs/1";
/// A larger file is not read, bytes.
const LARGEST: u64 = 1 << 30;
/// More commands than anybody compares: each pair of them is tested.
pub const MOST_COMMANDS: usize = 64;
/// More values of one run than any benchmark suite has.
const MOST_FIGURES: usize = 2_000;

/// All runs of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    /// [`SCHEMA`].
    pub schema: String,
    /// When it began, seconds since 1970.
    pub began_unix_s: u64,
    /// What it ran on.
    pub host: Host,
    /// What is compared.
    pub metric: Metric,
    /// The seed of the order.
    pub seed: u64,
    /// Blocks at the beginning that do not count.
    pub warmup: usize,
    /// After how many blocks somebody looks.
    pub looks: Vec<Look>,
    /// The commands; the first is the baseline.
    pub commands: Vec<Command>,
    /// The runs, in order.
    pub runs: Vec<Run>,
    /// Why there are fewer than planned, where the user ended it.
    pub ended_early: bool,
}

/// What the runs were made on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The kernel.
    pub kernel: String,
    /// CPUs that fathom itself may use.
    pub cpus: usize,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its block, counted from 0; blocks of the warm-up come first.
    pub block: usize,
    /// Its place in the block.
    pub place: usize,
    /// Which command.
    pub command: usize,
    /// What it took.
    pub usage: Usage,
    /// What is compared.
    pub figures: Vec<Measurement>,
}

impl Host {
    /// This machine.
    pub fn here() -> Self {
        let of_the_kernel = |name: &str| {
            let text = std::fs::read_to_string(Path::new("/proc/sys/kernel").join(name));
            text.map_or(String::new(), |text| text.trim().to_owned())
        };
        Self {
            name: of_the_kernel("hostname"),
            kernel: of_the_kernel("osrelease"),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

impl Runs {
    /// Runs that were kept.
    pub fn read(path: &Path) -> Result<Self, CompareError> {
        let file = File::open(path).map_err(|e| CompareError::io(path, e))?;
        let mut text = Vec::new();
        file.take(LARGEST).read_to_end(&mut text).map_err(|e| CompareError::io(path, e))?;
        let runs: Self = serde_json::from_slice(&text).map_err(|e| CompareError::content(path, e))?;
        let wrong = |why: &str| Err(CompareError::content(path, why));
        if runs.schema != SCHEMA {
            return wrong(&format!("its schema is {:?}, and {SCHEMA} is read", runs.schema));
        }
        if !(2..=MOST_COMMANDS).contains(&runs.commands.len()) {
            return wrong(&format!(
                "it has {} commands, and 2 to {MOST_COMMANDS} are compared",
                runs.commands.len()
            ));
        }
        if runs.runs.iter().any(|run| run.command >= runs.commands.len()) {
            return wrong("its runs are not of its commands");
        }
        if runs.runs.iter().any(|run| run.figures.len() > MOST_FIGURES) {
            return wrong(&format!("a run has more than {MOST_FIGURES} values"));
        }
        if runs.looks.iter().any(|look| !(look.alpha > 0.0 && look.alpha < 1.0)) {
            return wrong("the error probability of a look is not a probability");
        }
        Ok(runs)
    }

    /// Whether the head of a file looks like one.
    pub fn is_one(head: &[u8]) -> bool {
        String::from_utf8_lossy(head).contains("\"fathom.compare-runs/")
    }

    /// The runs of a command that count, with their blocks.
    pub fn of(&self, command: usize) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.command == command && run.block >= self.warmup)
    }

    /// Blocks that count and in which each command has run.
    pub fn whole_blocks(&self) -> usize {
        (0..self.commands.len()).map(|command| self.of(command).count()).min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_damaged_or_lies_is_an_error_or_a_verdict_and_no_panic() {
        let command = |label: &str| Command::of(label, &["true".to_owned()]).unwrap();
        let good = Runs {
            schema: SCHEMA.to_owned(),
            began_unix_s: 0,
            host: Host::default(),
            metric: Metric::Wall,
            seed: 1,
            warmup: 0,
            looks: crate::plan::looks(3, 3, 0.05),
            commands: vec![command("A"), command("B")],
            runs: Vec::new(),
            ended_early: false,
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = |runs: &Runs| {
            std::fs::write(file.path(), serde_json::to_vec(runs).unwrap()).unwrap();
            Runs::read(file.path())
        };
        let judging = crate::judge::Judging { margin: 0.01, drop_warm_up: true };
        let nothing = crate::judge::judge(&read(&good).unwrap(), &judging);
        assert!(nothing.comparisons.is_empty(), "no run tells what was compared");
        let mut lies = good.clone();
        lies.looks[0].alpha = 7.0;
        assert!(read(&lies).unwrap_err().to_string().contains("error probability"));
        let mut alone = good.clone();
        alone.commands.truncate(1);
        assert!(read(&alone).unwrap_err().to_string().contains("1 commands"));
        let mut odd = good;
        for (i, value) in [0.0, -1.0, 1e308, 1e-308, f64::MAX, 1.0].into_iter().enumerate() {
            let figures = vec![Measurement {
                name: "\u{1b}x".into(),
                unit: "s".into(),
                higher_is_better: true,
                values: vec![value; 30],
            }];
            odd.runs.push(Run { block: i / 2, place: i, command: i % 2, usage: Usage::default(), figures });
        }
        let odd = crate::judge::judge(&read(&odd).unwrap(), &judging);
        assert_eq!(odd.comparisons[0].verdict.word(), "cannot_tell");
    }

    #[test]
    fn a_file_of_something_else_is_refused_by_name() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for text in ["", "{}", "[1,2", "{\"schema\":\"fathom.compare-runs/1\"}"] {
            std::fs::write(file.path(), text).unwrap();
            let error = Runs::read(file.path()).unwrap_err().to_string();
            assert!(error.starts_with(&file.path().display().to_string()), "{error}");
        }
        assert!(Runs::is_one(b"{\n \"schema\": \"fathom.compare-runs/1\",") && !Runs::is_one(b"{}"));
    }
}
