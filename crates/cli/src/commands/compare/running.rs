//! Running the commands: what was typed into a plan, progress, what is kept.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, ensure};
use fathom_compare::command::{Command, letter};
use fathom_compare::judge::{ALPHA, Judging};
use fathom_compare::matrix;
use fathom_compare::metric::Metric;
use fathom_compare::plan::looks;
use fathom_compare::running::Stop;
use fathom_compare::runs::{MOST_COMMANDS, Runs};
use fathom_compare::trial::{self, Plan, Progress};
use indicatif::{ProgressBar, ProgressStyle};

use super::Args;
use crate::output::write_file;

/// More runs than anybody waits for.
const MOST_RUNS: usize = 100_000;

/// How many runs of each command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    fewest: usize,
    most: usize,
}

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (fewest, most) = text.split_once("..").unwrap_or((text, text));
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|n| (1..=MOST_RUNS).contains(n));
        match (number(fewest), number(most)) {
            (Some(fewest), Some(most)) if fewest <= most => Ok(Self { fewest, most }),
            _ => Err("a number of runs such as 10, or a range such as 6..30".to_owned()),
        }
    }
}

/// Runs the commands.
pub(super) fn run(args: &Args, commands: &[String], judging: &Judging) -> Result<Runs> {
    let commands = if args.matrix.is_empty() {
        divided(commands)?
    } else {
        ensure!(!commands.iter().any(|word| word == "--"), "--matrix takes one command");
        matrix::variants(commands, &args.matrix, resolved).map_err(|why| anyhow!("--matrix: {why}"))?
    };
    let metric = match args.metric.clone() {
        Metric::Number { pattern, .. } => Metric::Number { pattern, higher_is_better: args.higher_is_better },
        other => {
            ensure!(!args.higher_is_better, "--higher-is-better is for --metric number=REGEX");
            other
        }
    };
    for path in args.out.iter().chain(&args.html) {
        // Said before hours of runs and not behind them.
        write_file(path, |_| Ok(()))?;
    }
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
    let plan = Plan {
        commands,
        metric,
        warmup: args.warmup,
        looks: looks(args.runs.fewest, args.runs.most, ALPHA),
        seed: args.seed.unwrap_or(clock),
        judging: *judging,
    };
    let bar = progress_bar();
    let runs = {
        let stop = Stop::watch()?;
        trial::run(&plan, &stop, |progress| {
            if let Some(bar) = &bar {
                show(bar, &plan, progress);
            }
        })
    };
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let runs = match runs {
        Ok(runs) => runs,
        Err(failed) => {
            // Hours of runs are not lost for one that failed.
            keep(&failed.runs, args.out.as_deref())?;
            return Err(failed.error.into());
        }
    };
    keep(&runs, args.out.as_deref())?;
    if runs.ended_early {
        eprintln!("fathom: interrupted; this is the result of the runs that were done");
    }
    Ok(runs)
}

/// Saves runs, where that was asked for.
fn keep(runs: &Runs, path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    write_file(path, |out| {
        serde_json::to_writer(&mut *out, runs)?;
        out.write_all(b"\n")
    })
}

/// Commands as they were typed, divided by `--`.
fn divided(words: &[String]) -> Result<Vec<Command>> {
    let parts: Vec<&[String]> = words.split(|word| word == "--").collect();
    let commands = parts.iter().enumerate().map(|(i, words)| {
        Command::of(&letter(i), words).with_context(|| format!("command {} is empty", letter(i)))
    });
    let commands: Vec<Command> = commands.collect::<Result<_>>()?;
    ensure!(commands.len() > 1, "one command alone has nothing to be compared with: put -- between two");
    ensure!(commands.len() <= MOST_COMMANDS, "more than {MOST_COMMANDS} commands");
    Ok(commands)
}

/// What is in a command for a value of a placeholder: of `{jdk}` the java of a release or of a
/// home.
fn resolved(name: &str, value: &str) -> Result<String, String> {
    if name != "jdk" {
        return Ok(value.to_owned());
    }
    let home = Path::new(value);
    let java = if home.is_dir() {
        home.join("bin/java")
    } else if value.contains('/') {
        home.to_owned()
    } else {
        let jdks = crate::jdk::find();
        let of = |jdk: &&crate::jdk::Jdk| jdk.version == value || jdk.feature.to_string() == value;
        let found = jdks.iter().find(of).ok_or_else(|| {
            let there: Vec<&str> = jdks.iter().map(|jdk| jdk.version.as_str()).collect();
            format!("no JDK {value} was found; there are {}", there.join(", "))
        })?;
        found.program("java")
    };
    java.to_str().map(str::to_owned).ok_or_else(|| format!("{}: its name is not UTF-8", java.display()))
}

/// A bar on standard error, when somebody is looking at it.
fn progress_bar() -> Option<ProgressBar> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let style = ProgressStyle::with_template("run {pos} of {len} at most {wide_bar} {msg}").ok()?;
    Some(ProgressBar::new(0).with_style(style))
}

fn show(bar: &ProgressBar, plan: &Plan, progress: Progress) {
    bar.set_length(progress.all as u64);
    bar.set_position(progress.done as u64);
    let label = plan.commands.get(progress.command).map_or("", |c| c.label.as_str());
    let left = progress.left.map_or(String::new(), |left| format!(", {} left at most", rounded(left)));
    bar.set_message(format!("{label}{left}"));
    bar.tick();
}

/// "40 s", "3 min", "2 h 10 min".
fn rounded(time: Duration) -> String {
    match time.as_secs() {
        s if s < 90 => format!("{s} s"),
        s if s < 90 * 60 => format!("{} min", s.div_ceil(60)),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_a_number_or_a_range() {
        assert_eq!("10".parse(), Ok(Count { fewest: 10, most: 10 }));
        assert_eq!("6..30".parse(), Ok(Count { fewest: 6, most: 30 }));
        assert!(["0", "30..6", "", "..", "x", "1..999999"].iter().all(|text| text.parse::<Count>().is_err()));
    }

    #[test]
    fn commands_are_divided_by_two_dashes() {
        let words = ["java -version", "--", "java", "-Xint", "-version"].map(str::to_owned);
        let commands = divided(&words).unwrap();
        assert_eq!(commands[1].words, ["java", "-Xint", "-version"]);
        assert_eq!(commands[0].label, "A");
        assert!(divided(&words[..1]).is_err() && divided(&["a", "--"].map(str::to_owned)).is_err());
    }

    #[test]
    fn the_time_that_remains_is_told_roughly() {
        let shown = |s| rounded(Duration::from_secs(s));
        assert_eq!([shown(40), shown(150), shown(7_800)], ["40 s", "3 min", "2 h 10 min"]);
    }
}
