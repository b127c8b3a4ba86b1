//! The runs of a comparison: which command next, what it gave, whether it is enough.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::CompareError;
use crate::command::Command;
use crate::judge::{Judging, judge};
use crate::metric::Metric;
use crate::plan::{Look, order};
use crate::running::{self, Stop};
use crate::runs::{Host, Run, Runs, SCHEMA};
use crate::verdict::Verdict;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The commands; the first is the baseline.
    pub commands: Vec<Command>,
    /// What is compared.
    pub metric: Metric,
    /// Blocks at the beginning that do not count.
    pub warmup: usize,
    /// After how many blocks somebody looks; the last one ends it.
    pub looks: Vec<Look>,
    /// The seed of the order.
    pub seed: u64,
    /// What the looks judge by.
    pub judging: Judging,
}

/// The progress, reported before each run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Runs that are done.
    pub done: usize,
    /// Runs at most.
    pub all: usize,
    /// The command that runs now.
    pub command: usize,
    /// How long the rest takes if it goes on so; unknown before each command has run.
    pub left: Option<Duration>,
}

/// A run failed: what was run until then, and why nothing is run any more.
#[derive(Debug)]
pub struct Failed {
    /// The runs before it.
    pub runs: Runs,
    /// What failed.
    pub error: CompareError,
}

/// Runs the commands until a look has a verdict, the plan is done, or the user stops it.
pub fn run(plan: &Plan, stop: &Stop, report: impl FnMut(Progress)) -> Result<Runs, Box<Failed>> {
    let mut runs = Runs {
        schema: SCHEMA.to_owned(),
        began_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()),
        host: Host::here(),
        metric: plan.metric.clone(),
        seed: plan.seed,
        warmup: plan.warmup,
        looks: plan.looks.clone(),
        commands: plan.commands.clone(),
        runs: Vec::new(),
        ended_early: false,
    };
    match run_all(plan, stop, report, &mut runs) {
        Ok(()) => Ok(runs),
        Err(error) => {
            runs.ended_early = true;
            Err(Box::new(Failed { runs, error }))
        }
    }
}

fn run_all(
    plan: &Plan,
    stop: &Stop,
    mut report: impl FnMut(Progress),
    runs: &mut Runs,
) -> Result<(), CompareError> {
    let counted = plan.looks.last().map_or(0, |look| look.blocks);
    let blocks = order(plan.commands.len(), plan.warmup + counted, plan.seed);
    let dir = tempfile::tempdir().map_err(|e| CompareError::io(&std::env::temp_dir(), e))?;
    let printed = dir.path().join("printed");
    for (number, block) in blocks.iter().enumerate() {
        for (place, command) in block.iter().copied().enumerate() {
            let all = blocks.len() * plan.commands.len();
            report(Progress { done: runs.runs.len(), all, command, left: left(runs, &blocks) });
            let Some(run) = one(plan, command, &printed, stop)? else {
                runs.ended_early = true;
                return Ok(());
            };
            runs.runs.push(Run { block: number, place, ..run });
        }
        let done = number + 1 - plan.warmup.min(number + 1);
        let last = done == counted;
        if !last && plan.looks.iter().any(|look| look.blocks == done) {
            let judged = judge(runs, &plan.judging);
            if judged.comparisons.iter().all(|c| c.verdict != Verdict::CannotTell) {
                break;
            }
        }
    }
    Ok(())
}

/// One run; `None`: the user asked for the end.
fn one(plan: &Plan, command: usize, printed: &Path, stop: &Stop) -> Result<Option<Run>, CompareError> {
    let run = &plan.commands[command];
    if let Some(file) = plan.metric.file() {
        // What an earlier run has left is not taken for this one's.
        match std::fs::remove_file(file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(CompareError::io(file, error));
            }
            _ => {}
        }
    }
    let Some(usage) = running::run(run, printed, stop)? else { return Ok(None) };
    let figures = plan
        .metric
        .of(&usage, printed)
        .map_err(|why| CompareError::NoFigure { command: run.named(), why })?;
    Ok(Some(Run { block: 0, place: 0, command, usage, figures }))
}

/// How long the runs take that are left, by what those of each command took.
fn left(runs: &Runs, blocks: &[Vec<usize>]) -> Option<Duration> {
    let todo = blocks.iter().flatten().skip(runs.runs.len());
    let mean = |command: usize| -> Option<f64> {
        let took: Vec<f64> =
            runs.runs.iter().filter(|r| r.command == command).map(|r| r.usage.wall_s).collect();
        fathom_diagnose::stats::mean(&took)
    };
    let means: Option<Vec<f64>> = (0..runs.commands.len()).map(mean).collect();
    let means = means?;
    Duration::try_from_secs_f64(todo.map(|command| means[*command]).sum()).ok()
}
