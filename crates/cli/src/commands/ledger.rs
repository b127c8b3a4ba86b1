//! `fathom ledger`: what threads spent a window on.

use clap::ValueEnum;
use fathom_diagnose::WindowSpec;
use fathom_diagnose::thread_ledger::{By, Per, thread_ledger_per};
use jiff::tz::TimeZone;

use crate::exit::Outcome;
use crate::inputs::{InputArgs, in_words};
use crate::output::{columns, print, print_json};

/// Groups shown without `--all`.
const MOST: usize = 12;

/// Arguments of `fathom ledger`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Show what threads spent a window on: every millisecond attributed to one category",
    long_about = "Shows what threads spent a window on: every millisecond of every thread, attributed to one \
category.

Running time is divided by the layer that CPU samples saw, waiting time by its cause: a CPU, a lock, a disk, a \
peer, a page fault, the collector. Categories add up to threads times time; what was not seen is shown as unknown \
and never spread over the rest. A pool's thread without a task is idle, one that waits with a task is not. Layers \
of running time are shares of samples and carry their error.

The more the recording holds, the less is unknown: `fathom record` as root sees every context switch of a thread; \
a JFR file, an strace or a GC log each shows its part.",
    after_long_help = "Examples:
  fathom ledger slow.fathom                                     all of it, by what threads are for
  fathom ledger slow.fathom --window 115s..125s --base 20s..110s  a slow window compared with a normal one
  fathom ledger slow.fathom --by pool                           pool by pool; also thread, process
  fathom ledger slow.fathom --per syscall=sendto                milliseconds for each answer sent
  fathom ledger app.jfr gc.log --json | jq '.groups[0].spent'   from files, the machine's form"
)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,
    /// Only an interval of time: FROM..TO in seconds, 115s..125s, or clock times,
    /// 22:00:23..22:00:45
    #[arg(long, value_name = "WINDOW", allow_hyphen_values = true)]
    window: Option<WindowSpec>,
    /// An interval of time to compare it with
    #[arg(long, value_name = "WINDOW", allow_hyphen_values = true)]
    base: Option<WindowSpec>,
    /// How threads are grouped
    #[arg(long, value_enum, default_value_t = Grouping::Role)]
    by: Grouping,
    /// Count spans as operations, by kind or KIND=NAME (syscall=sendto,
    /// probe=uprobe:libshop.so:serve; `fathom info` lists kinds) [default: the series of
    /// throughput, if there is one]
    #[arg(long, value_name = "SPANS")]
    per: Option<Per>,
    /// All groups, however many there are, and all of their categories
    #[arg(long, conflicts_with = "json")]
    all: bool,
    /// As JSON (schema fathom.ledger/2)
    #[arg(long)]
    json: bool,
}

/// How threads are grouped.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Grouping {
    /// Each thread alone
    Thread,
    /// Application, collector, compilers, the JVM's own
    Role,
    /// Threads whose names differ in numbers only
    Pool,
    /// All threads of a process
    Process,
}

impl From<Grouping> for By {
    fn from(by: Grouping) -> Self {
        match by {
            Grouping::Thread => Self::Thread,
            Grouping::Role => Self::Role,
            Grouping::Pool => Self::Pool,
            Grouping::Process => Self::Process,
        }
    }
}

impl Args {
    /// Prints the ledger.
    pub fn run(self) -> anyhow::Result<Outcome> {
        let recording = self.inputs.load()?.recording;
        let resolve = |spec: Option<WindowSpec>| {
            spec.map(|w| fathom_diagnose::resolve(&recording, &w, TimeZone::system())).transpose()
        };
        let (window, base) = (resolve(self.window)?, resolve(self.base)?);
        let ledger = thread_ledger_per(&recording, window, base, self.by.into(), self.per.as_ref());
        if let Some(per) = self.per.as_ref().filter(|_| ledger.operations_of.is_none()) {
            let kinds: Vec<&str> = recording.kinds().into_iter().map(|(kind, _)| kind).collect();
            let name = per.name.as_ref().map_or(String::new(), |name| format!(" named {name}"));
            anyhow::bail!(
                "--per: no span {}{name} ends in the window; kinds: {}",
                per.kind,
                kinds.join(", ")
            );
        }
        let none = crate::watched::none(&recording, ledger.window).filter(|_| ledger.groups.is_empty());
        anyhow::ensure!(
            !ledger.groups.is_empty() || none.is_some(),
            "no thread in {}; threads are recorded by `fathom record`, a JFR file, an strace or a profile",
            in_words(&recording)
        );
        if self.json {
            print_json(&ledger)?;
        } else if let Some(none) = none {
            print(&format!("{none}\n"))?;
        } else {
            let zero = fathom_diagnose::zero(&recording);
            let most = if self.all { usize::MAX } else { MOST };
            print(&fathom_render::ledger::text(&ledger, &zero, most, columns()))?;
        }
        Ok(Outcome::Done)
    }
}
