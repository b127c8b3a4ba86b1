//! The commands, one file each, and the list of them.

use clap::{Parser, Subcommand};

use crate::exit::Outcome;

mod agent;
mod chain;
mod check;
mod compare;
mod completions;
mod demo;
mod diagnose;
mod export;
mod flags;
mod flame;
mod fleet;
mod gc;
mod heap;
mod import;
mod info;
mod jdks;
mod jit;
mod ledger;
mod man;
mod method;
mod pack;
mod ps;
mod record;
mod report;
mod serve;
mod trace;
mod verify;
mod version;

/// Gets to the bottom of a slow JVM: what took the time, the proof, what was ruled out, the remedy.
#[derive(Parser, Debug)]
#[command(name = "fathom", version, max_term_width = 110)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Each command: one variant here, one file next to this one.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Record a running JVM, a set of processes, the host, or a command
    Record(record::Args),
    /// The daemon of a host: its JVMs always recorded within limits, as rows for `fathom fleet`
    Agent(agent::Args),
    /// One kind of event of a process, live: waits, stops, collections, compilations, with stacks
    /// and a summary
    Trace(trace::Args),
    /// Calls of Java methods, live, by caller and thread, counted by hardware breakpoints with
    /// nothing loaded into the JVM
    Method(method::Args),
    /// The verdict: what took the time, the proof, what was ruled out, the remedy
    Diagnose(diagnose::Args),
    /// Verdict and timeline as one page that opens anywhere, without a network
    Report(report::Args),
    /// Samples as a flame graph or a table of frames: one recording, or two windows compared
    Flame(flame::Args),
    /// The same from a server on this machine: for large recordings, and for one that is being
    /// written
    Serve(serve::Args),
    /// Metrics of garbage collection and safepoints, each with what it means and whether it is fine
    Gc(gc::Args),
    /// Metrics of the JIT compilers, each with what it means and whether it is fine
    Jit(jit::Args),
    /// Who keeps what in a heap dump: the largest holders, the ways that lead to them, classes,
    /// waste
    Heap(heap::Args),
    /// What threads spent a window on: every millisecond attributed to one category
    Ledger(ledger::Args),
    /// What threads waited for, link by link to what runs or lies outside; stops of the JVM cut
    /// into their parts
    Chain(chain::Args),
    /// Which of several commands is faster, or what changed between two recordings, beyond noise
    Compare(compare::Args),
    /// Whether a fix helped: what became of each finding, what was gained, what is new
    Verify(verify::Args),
    /// What differs between the flags of two JVMs, who set it, and what it is for
    Flags(flags::Args),
    /// Rows of many recordings in one place, and questions to them, answered by DuckDB or
    /// ClickHouse
    Fleet(fleet::Args),
    /// What is in a recording or in files: sources, time covered, losses, checks
    Info(info::Args),
    /// Files of any known format into a recording
    Import(import::Args),
    /// Samples, spans and series in other programs' formats: pprof, speedscope, Firefox Profiler,
    /// Perfetto, CSV …
    Export(export::Args),
    /// A recording as one file to send
    Pack(pack::Args),
    /// A directory of a packed recording again
    Unpack(pack::UnpackArgs),
    /// Run a real JVM that gets slow, and explain it
    Demo(demo::Args),
    /// What can be seen here, what stands in the way, and what would change it
    Check(check::Args),
    /// JVMs that run on this machine
    Ps(ps::Args),
    /// JDKs on this machine
    Jdks(jdks::Args),
    /// What a shell needs to complete commands and options (bash, zsh, fish, elvish, powershell)
    Completions(completions::Args),
    /// The manual as pages for `man`
    Man(man::Args),
    /// Version of fathom and of the formats that it writes
    Version(version::Args),
}

impl Command {
    /// Runs the command.
    pub fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Self::Record(args) => args.run(),
            Self::Agent(args) => args.run(),
            Self::Trace(args) => args.run(),
            Self::Method(args) => args.run(),
            Self::Diagnose(args) => args.run(),
            Self::Report(args) => args.run(),
            Self::Flame(args) => args.run(),
            Self::Serve(args) => args.run(),
            Self::Gc(args) => args.run(),
            Self::Jit(args) => args.run(),
            Self::Heap(args) => args.run(),
            Self::Ledger(args) => args.run(),
            Self::Chain(args) => args.run(),
            Self::Compare(args) => args.run(),
            Self::Verify(args) => args.run(),
            Self::Flags(args) => args.run(),
            Self::Fleet(args) => args.run(),
            Self::Info(args) => args.run(),
            Self::Import(args) => args.run(),
            Self::Export(args) => args.run(),
            Self::Pack(args) => args.run(),
            Self::Unpack(args) => args.run(),
            Self::Demo(args) => args.run(),
            Self::Check(args) => args.run(),
            Self::Ps(args) => args.run(),
            Self::Jdks(args) => args.run(),
            Self::Completions(args) => args.run(),
            Self::Man(args) => args.run(),
            Self::Version(args) => args.run(),
        }
    }
}
