//! `fathom demo`: a real JVM made slow, recorded and explained.

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};

use super::record::say;
use crate::demo::{self, Recorded, Workload};
use crate::exit::{Environment, Outcome};
use crate::inputs::InputArgs;
use crate::jdk::{self, Jdk};
use crate::verdict::print_verdict;

/// The oldest release that the demo runs on: `-Xlog` came with 9, and 11 is the oldest that still
/// gets updates.
const OLDEST: u32 = 11;

/// Arguments of `fathom demo`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "\
Examples:
  fathom demo                       run it, print the verdict, write fathom-demo/report.html
  fathom demo --healthy             the same service without the takeover: nothing must be found
  fathom demo --json | jq .findings[0].rule
  fathom demo --java-home /usr/lib/jvm/java-17-openjdk-amd64 --seconds 60

The service keeps all CPUs busy for --seconds. Its logs and its recording stay in the folder, so that every other
command can be tried on them: fathom gc fathom-demo/gc.log; fathom jit fathom-demo/jit.xml; fathom info fathom-demo;
fathom flame fathom-demo/demo.fathom; fathom diagnose --all fathom-demo")]
pub struct Args {
    /// Run without the takeover: the service stays fast and fathom must find nothing
    #[arg(long)]
    healthy: bool,
    /// Print the diagnosis as JSON (schema fathom.diagnosis/8)
    #[arg(long)]
    json: bool,
    /// The whole verdict, also what does not fit a screen; JSON always has all of it
    #[arg(long, conflicts_with = "json")]
    all: bool,
    /// Length of the run, seconds (at least 20)
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(20..=600))]
    seconds: u32,
    /// The JDK to run it on [default: FATHOM_JAVA_HOME, JAVA_HOME, the PATH, the usual places]
    #[arg(long, value_name = "DIR")]
    java_home: Option<PathBuf>,
    /// Directory for the logs and the report
    #[arg(short, long, value_name = "DIR", default_value = "fathom-demo")]
    output: PathBuf,
}

impl Args {
    /// Runs the workload, diagnoses its files and writes the report.
    pub fn run(self) -> Result<Outcome> {
        let jdk = self.jdk()?;
        let workload = Workload::for_this_machine(self.seconds, self.healthy);
        std::fs::create_dir_all(&self.output).with_context(|| format!("{}", self.output.display()))?;
        eprintln!(
            "fathom: running a transactional service for {} s on JDK {} ({}), {} workers, {}",
            workload.seconds,
            jdk.version,
            jdk.home.display(),
            workload.workers,
            match workload.take_over_at {
                0 => "without a change of its load".to_owned(),
                at => format!("which takes over another node's {} tenants at {at} s", workload.tenants),
            }
        );
        let bar = bar(u64::from(workload.seconds));
        let neighbours = demo::Neighbours::watch();
        let files = demo::run(&jdk, &workload, &self.output, |gone| bar.set_position(gone.as_secs()))?;
        let warning = neighbours.warning();
        bar.finish_and_clear();
        let demo::Files { logs, live } = files;
        let mut inputs = vec![logs.throughput, logs.gc_log, logs.jit_log];
        let left = match &live {
            Recorded::Yes { .. } => "logs and recording",
            Recorded::No(_) => "logs",
        };
        match live {
            Recorded::Yes { place, limits } => {
                limits.iter().for_each(|limit| say(limit));
                inputs.push(place);
            }
            Recorded::No(reason) => say(&format!("not recorded live, the logs alone are asked: {reason}")),
        }
        let inputs = InputArgs { inputs, align: Vec::new() };
        let loaded = inputs.load()?;
        let diagnosis = fathom_diagnose::diagnose(&loaded.recording, &fathom_diagnose::Options::default())?;
        let report = self.output.join("report.html");
        super::report::write(&diagnosis, &loaded.recording, &report)?;
        print_verdict(&diagnosis, self.json, self.all)?;
        if let Some(warning) = warning {
            eprintln!("fathom: {warning}");
        }
        eprintln!("fathom: report in {}, {left} in the same directory", report.display());
        Ok(Outcome::Done)
    }

    /// The JDK that was asked for, or the first that can compile and is new enough.
    fn jdk(&self) -> Result<Jdk> {
        if let Some(home) = &self.java_home {
            let Some(jdk) = Jdk::at(home) else {
                bail!(Environment(format!(
                    "{}: no JDK there (no bin/java, or no release named there)",
                    home.display()
                )));
            };
            return usable(jdk);
        }
        let jdks = jdk::find();
        let found = jdks.iter().find(|jdk| jdk.javac && jdk.feature >= OLDEST);
        found.cloned().ok_or_else(|| {
            let seen: Vec<_> = jdks.iter().map(|jdk| jdk.version.as_str()).collect();
            let seen = if seen.is_empty() { "none".to_owned() } else { seen.join(", ") };
            let message = format!(
                "the demo needs a JDK {OLDEST} or later with javac (found: {seen}); on Debian: \
                 apt-get install default-jdk-headless; or give one with --java-home"
            );
            Environment(message).into()
        })
    }
}

fn usable(jdk: Jdk) -> Result<Jdk> {
    match (jdk.feature >= OLDEST, jdk.javac) {
        (true, true) => Ok(jdk),
        (false, _) => bail!(Environment(format!("JDK {} is too old: the demo needs {OLDEST}", jdk.version))),
        (_, false) => bail!(Environment(format!("{}: a runtime without javac", jdk.home.display()))),
    }
}

fn bar(seconds: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {wide_bar} {pos} of {len} s");
    ProgressBar::new(seconds).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
