//! `--profile`: one more run of each command, recorded, to explain the largest difference.

use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use anyhow::{Context, Result};
use fathom_compare::Verdict;
use fathom_compare::command::Command;
use fathom_compare::judge::Report;
use fathom_compare::recordings::{Asked, RecordingsReport, Sampled};
use fathom_compare::runs::Runs;

use super::files;

/// Two recordings compared: of the baseline, and of the command that differs most from it.
pub(super) struct Explained {
    pub(super) report: RecordingsReport,
    pub(super) sampled: Sampled,
}

impl Explained {
    /// As text, as of any two recordings.
    pub(super) fn text(&self) -> String {
        fathom_render::compare::recordings(&self.report)
    }
}

/// Makes the folder, before anything is run: hours of runs are not lost for its name.
pub(super) fn prepare(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())
}

/// Records a run of each command into a folder and compares the two that differ most. `None`, and a
/// word on standard error, where that does not work: the verdict on the runs stands.
pub(super) fn explained(
    runs: &Runs,
    report: &Report,
    folder: &Path,
    margin: f64,
) -> Result<Option<Explained>> {
    let mut recorded = Vec::new();
    for (n, command) in runs.commands.iter().enumerate() {
        let path = folder.join(format!("{}-{}.fathom", n + 1, name_of(&command.label)));
        if let Err(why) = record(command, &path) {
            eprintln!("fathom: --profile: {}: not recorded: {why:#}", command.text);
            return Ok(None);
        }
        recorded.push(path);
    }
    let other = most_different(runs, report);
    let [first, second] = [0, other].map(|command| recorded[command].as_path());
    match files::recordings(first, second, &[], Asked { margin, ..Asked::default() }) {
        Ok((report, sampled)) => Ok(Some(Explained { report, sampled })),
        Err(why) => {
            eprintln!("fathom: --profile: {why:#}");
            Ok(None)
        }
    }
}

/// The command whose ratio to the baseline is furthest from 1, those with a verdict before others.
fn most_different(runs: &Runs, report: &Report) -> usize {
    let rank = |c: &&fathom_compare::verdict::Comparison| {
        let distance = c.estimate.map_or(0.0, |e| e.ratio.ln().abs());
        (matches!(c.verdict, Verdict::Faster | Verdict::Slower), distance)
    };
    let most = report.comparisons.iter().max_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    let label = most.map(|c| c.other.as_str());
    runs.commands.iter().position(|command| Some(command.label.as_str()) == label).unwrap_or(1)
}

/// What of a label can be in the name of a file.
fn name_of(label: &str) -> String {
    label.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect()
}

/// Runs a command under `fathom record`. An older recording of the same name is replaced.
fn record(command: &Command, path: &PathBuf) -> Result<()> {
    let _ = std::fs::remove_dir_all(path);
    let program = std::env::current_exe().context("finding this program")?;
    let mut record = Process::new(program);
    record.arg("record").arg("-o").arg(path).arg("--").args(&command.words);
    record.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let done = record.output().context("starting fathom record")?;
    let said = String::from_utf8_lossy(&done.stderr);
    anyhow::ensure!(path.exists(), "{}", said.lines().last().unwrap_or("fathom record said nothing"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_becomes_the_name_of_a_file_and_no_path() {
        assert_eq!((name_of("A").as_str(), name_of("jdk=../17 x").as_str()), ("A", "jdk----17-x"));
    }
}
