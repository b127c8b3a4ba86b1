//! `fathom compare`: commands, or what was recorded of them, compared with each other.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use fathom_compare::Verdict;
use fathom_compare::judge::{Judging, Report, judge};
use fathom_compare::matrix::Axis;
use fathom_compare::metric::Metric;
use fathom_compare::recordings::{Asked, RecordingsReport};
use fathom_compare::runs::Runs;
use fathom_compare::{benchmarks, jmh};
use fathom_diagnose::WindowSpec;
use serde::Serialize;

use super::record::duration;
use crate::exit::Outcome;
use crate::output::{print_fitted, print_json, write_file};

mod files;
mod profile;
mod running;

use profile::Explained;

/// Arguments of `fathom compare`.
#[derive(clap::Args, Debug)]
#[command(
    override_usage = "fathom compare [OPTIONS] -- 'COMMAND A' -- 'COMMAND B' [-- …]\n       fathom compare [OPTIONS] A B\n       fathom compare [OPTIONS] RUNS.json",
    about = "Compare commands (which is faster?) or recordings (what changed?), beyond noise",
    long_about = "Says which of several commands is faster, and by how much, beyond noise.

Commands are run alternately, in blocks of a random order each followed by its reverse, so that interference by \
the machine affects all of them alike. The verdict is one of four: faster, slower, no difference (the interval \
lies within --margin), cannot tell (with the number of runs that would suffice). Each is wrong at most 5 times in \
100; docs/compare.md has the measurements that show it. The first command is the baseline.

Two recordings, logs or flight recordings are checked for what makes them hard to compare (host, JDK, flags, heap, \
load), then for what changed: collections, compilations, what threads spent their time on, system calls, frames of \
the CPU samples; then for causes, by the diagnosis of each and by known changes of the JDK. The result holds for these two runs: only more runs show how much runs differ by themselves.",
    after_long_help = "Examples:
  fathom compare -- 'java -jar old.jar' -- 'java -jar new.jar'     10 runs of each, wall time
  fathom compare --runs 6..30 -- ./a.sh -- ./b.sh                  ends as soon as the result is known
  fathom compare --metric cpu --margin 3% -- ./a.sh -- ./b.sh      CPU time; 3% do not matter
  fathom compare --metric 'number=took (\\d+) ms' -- ./a.sh -- ./b.sh   numbers that they print
  fathom compare --metric jmh=r.json -- 'java -jar a.jar -rf json -rff r.json' -- …   forks alternately
  fathom compare --profile why -- 'java -jar old.jar' -- 'java -jar new.jar'   and what changed
  fathom compare --metric specjvm -- 'java -jar SPECjvm2008.jar compress' -- …   scores by benchmark
  fathom compare --matrix jdk=17,25 'flags=-Xint,-XX:+UseZGC' -- '{jdk} {flags} -cp app.jar Main'
  fathom compare --out runs.json -- ./a.sh -- ./b.sh; fathom compare runs.json --json
  fathom compare old.fathom new.fathom        what changed between recordings, GC logs, JFR files
  fathom compare old.fathom new.fathom --html page.html    one page, with a differential flame graph
  fathom compare gc-old.log gc-new.log --long-pause 50ms   how many pauses break a limit of yours
  fathom compare x.fathom x.fathom --window 20s..60s --window 80s..120s   two windows of one recording
  fathom compare jmh-old.json jmh-new.json    benchmark by benchmark, the fork as the unit"
)]
pub struct Args {
    /// Two recordings, GC logs, JFR files or JMH results; or one file with runs saved by
    /// --out
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Runs of each command: a number, or FEWEST..MOST to end at one of a few numbers fixed
    /// beforehand, as soon as the result is known
    #[arg(long, value_name = "N", default_value = "10", conflicts_with = "inputs")]
    runs: running::Count,
    /// Warm-up runs of each command, which do not count
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "inputs")]
    warmup: usize,
    /// The metric to compare: wall, cpu (user and system time with all children), number=REGEX (its
    /// first group in the command's output), specjvm (the scores that SPECjvm2008 prints),
    /// throughput=FILE.csv or jmh=FILE.json (which each run writes)
    #[arg(long, value_name = "METRIC", default_value = "wall", conflicts_with = "inputs")]
    metric: Metric,
    /// With number=REGEX: more is better
    #[arg(long, conflicts_with = "inputs")]
    higher_is_better: bool,
    /// With two recordings: only an interval of time of both, 20s..110s or clock times; given
    /// twice, the first is of A and the second of B
    #[arg(
        long,
        value_name = "WINDOW",
        value_parser = crate::selection::window,
        allow_hyphen_values = true,
        conflicts_with = "commands"
    )]
    window: Vec<WindowSpec>,
    /// With two recordings: count the pauses that take at least this long (20ms, 1s) in place of
    /// those of 200ms and 500ms; may be given several times
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "commands")]
    long_pause: Vec<Duration>,
    /// The largest difference that does not matter
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = margin)]
    margin: f64,
    /// Where a run gives a series of numbers: keep those before it is steady
    #[arg(long)]
    keep_warm_up: bool,
    /// One command in all variants of its placeholders: --matrix jdk=17,25
    /// 'flags=-XX:TieredStopAtLevel={1,4}' -- '{jdk} {flags} Main'. A release or a home of {jdk}
    /// becomes its java
    #[arg(long, value_name = "NAME=VALUES", num_args = 1.., conflicts_with = "inputs")]
    matrix: Vec<Axis>,
    /// Seed of the random order, to repeat it [default: a new one each time]
    #[arg(long, value_name = "NUMBER", conflicts_with = "inputs")]
    seed: Option<u64>,
    /// Save all runs to a file that can be read again
    #[arg(short, long, value_name = "FILE.json", conflicts_with = "inputs")]
    out: Option<PathBuf>,
    /// Record one more run of each command into this folder, outside of the timing, and compare
    /// the recordings of the baseline and of the command that differs most
    #[arg(long, value_name = "FOLDER", conflicts_with = "inputs")]
    profile: Option<PathBuf>,
    /// Exit status 1 when a command is slower than the baseline, or when that cannot be
    /// excluded
    #[arg(long, value_name = "WHEN", value_enum)]
    fail_on: Option<FailOn>,
    /// Write one HTML page with all results; for recordings with a differential flame graph. An
    /// existing file is replaced; only you can read it
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// As JSON (schema fathom.compare/1; of recordings fathom.compare-recordings/1)
    #[arg(long)]
    json: bool,
    /// The commands, separated by --: each one string, or several words
    #[arg(last = true, value_name = "COMMAND")]
    commands: Vec<String>,
}

/// What `--json` prints of runs.
#[derive(Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'a RecordingsReport>,
}

/// `--fail-on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// A command is slower
    Slower,
    /// A command is slower, or the verdict is "cannot tell"
    CannotTell,
}

impl Args {
    /// Compares.
    pub fn run(self) -> Result<Outcome> {
        let judging = Judging { margin: self.margin, drop_warm_up: !self.keep_warm_up };
        if let Some(folder) = &self.profile {
            profile::prepare(folder)?;
        }
        let runs = match (self.inputs.as_slice(), self.commands.as_slice()) {
            ([], []) => bail!("nothing to compare: fathom compare -- 'COMMAND A' -- 'COMMAND B'"),
            ([], commands) => running::run(&self, commands, &judging)?,
            ([path], []) if is(path, Runs::is_one) => Runs::read(path)?,
            ([path], []) => {
                std::fs::metadata(path).with_context(|| path.display().to_string())?;
                bail!("{}: holds no runs saved by --out; give two files to compare", path.display())
            }
            ([first, second], []) => return self.files(first, second),
            (_, []) => bail!("give two files to compare"),
            _ => bail!("either files or commands are compared, not both"),
        };
        let report = judge(&runs, &judging);
        let explained = match &self.profile {
            Some(folder) if !runs.ended_early => profile::explained(&runs, &report, folder, self.margin)?,
            _ => None,
        };
        self.show(&report, explained.as_ref())?;
        Ok(self.outcome(report.comparisons.iter().map(|c| c.verdict)))
    }

    fn files(&self, first: &Path, second: &Path) -> Result<Outcome> {
        ensure!(!self.keep_warm_up, "--keep-warm-up is for commands and for runs that were kept with --out");
        if is(first, jmh::is_one) && is(second, jmh::is_one) {
            ensure!(self.window.is_empty(), "JMH results have no timeline: --window is for recordings");
            let report = benchmarks::compare([first, second], self.margin)?;
            self.show(&report, None)?;
            return Ok(self.outcome(report.comparisons.iter().map(|c| c.verdict)));
        }
        for path in [first, second] {
            let of_one_kind = "two recordings, logs or flight recordings are compared, or two results of JMH";
            ensure!(!is(path, jmh::is_one), "{}: results of JMH; {of_one_kind}", path.display());
            ensure!(!is(path, Runs::is_one), "{}: runs saved by --out are judged alone", path.display());
        }
        let mut asked = Asked { margin: self.margin, ..Asked::default() };
        if !self.long_pause.is_empty() {
            asked.long_pauses_ms = self.long_pause.iter().map(|limit| limit.as_secs_f64() * 1e3).collect();
        }
        let (report, sampled) = files::recordings(first, second, &self.window, asked)?;
        if let Some(path) = &self.html {
            files::page(None, &report, &sampled, path)?;
        }
        if self.json {
            print_json(&report)?;
        } else {
            print_fitted(&fathom_render::compare::recordings(&report))?;
        }
        Ok(self.outcome(std::iter::once(report.verdict.verdict)))
    }

    fn show(&self, report: &Report, explained: Option<&Explained>) -> Result<()> {
        if let Some(path) = &self.html {
            match explained {
                Some(Explained { report: compared, sampled }) => {
                    files::page(Some(report), compared, sampled, path)?;
                }
                None => write_file(path, |out| fathom_render::compare::page_of_runs(report, out))?,
            }
        }
        if self.json {
            return print_json(&Printed { report, profile: explained.map(|explained| &explained.report) });
        }
        let mut text = fathom_render::compare::runs(report);
        if let Some(explained) = explained {
            text.push_str(&format!("\nOne more run of each, recorded\n\n{}", explained.text()));
        }
        print_fitted(&text)
    }

    fn outcome(&self, mut verdicts: impl Iterator<Item = Verdict>) -> Outcome {
        let fails = |verdict: Verdict| match self.fail_on {
            Some(FailOn::Slower) => verdict == Verdict::Slower,
            Some(FailOn::CannotTell) => matches!(verdict, Verdict::Slower | Verdict::CannotTell),
            None => false,
        };
        if verdicts.any(fails) { Outcome::Found } else { Outcome::Done }
    }
}

/// Whether the beginning of a file is that of something.
fn is(path: &Path, one: impl Fn(&[u8]) -> bool) -> bool {
    let mut head = Vec::new();
    let file = path.is_file().then(|| File::open(path).ok()).flatten();
    file.is_some_and(|file| file.take(4096).read_to_end(&mut head).is_ok()) && one(&head)
}

/// "1%", "0.5%", "0.01".
fn margin(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(number) => (number.trim(), 100.0),
        None => (text.trim(), 1.0),
    };
    let share = number.parse::<f64>().ok().map(|n| n / scale);
    share.filter(|s| (1e-6..10.0).contains(s)).ok_or_else(|| "a share such as 1% or 0.5%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_a_share() {
        assert_eq!((margin("1%"), margin("0.5%"), margin("0.02")), (Ok(0.01), Ok(0.005), Ok(0.02)));
        assert!(["", "-1%", "0%", "x", "NaN"].iter().all(|text| margin(text).is_err()));
    }
}
