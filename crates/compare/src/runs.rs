//! What was run and what it gave, as it is kept in a file and read again.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::CompareError;
use crate::command::Command;
use crate::metric::{Figure, Metric};
use crate::plan::Look;
use crate::running::Usage;

/// The schema of the file. A field is only added within a version, never renamed or removed.
pub const SCHEMA: &str = "fathom.compare-runs/1";
/// A larger file is not read, bytes.
const LARGEST: u64 = 1 << 30;

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
    /// The commands; the first is the base.
    pub commands: Vec<Command>,
    /// The runs, in order.
    pub runs: Vec<Run>,
    /// Why there are fewer than planned, where the user ended it.
    pub ended_early: bool,
}

/// What the runs were made on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The kernel.
    pub kernel: String,
    /// Processors that fathom itself may use.
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
    pub figures: Vec<Figure>,
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
        if runs.commands.len() < 2 || runs.runs.iter().any(|run| run.command >= runs.commands.len()) {
            return wrong("its runs are not of its commands");
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
