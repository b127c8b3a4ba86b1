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
mod receive;
mod record;
mod report;
mod serve;
mod trace;
mod verify;
mod version;

/// Explain why a JVM is slow: what took the time, the evidence, what was ruled out, and the fix
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
    /// Record a running JVM, a set of processes, the whole host, or a command
    Record(record::Args),
    /// Run as a host's daemon: record its JVMs continuously, within limits, as rows for `fathom
    /// fleet`
    Agent(agent::Args),
    /// Receive the profiles that clients push (Pyroscope, OTLP) and keep them as files
    Receive(receive::Args),
    /// Print one kind of event of a process live: waits, stops, collections, compilations, with
    /// stacks and a summary
    Trace(trace::Args),
    /// Count calls of Java methods live, by caller and thread, with hardware breakpoints and
    /// nothing loaded into the JVM
    Method(method::Args),
    /// Diagnose a slow JVM: what took the time, the evidence, what was ruled out, and the fix
    Diagnose(diagnose::Args),
    /// Write the verdict and the timeline as one HTML page that needs no network
    Report(report::Args),
    /// Show samples as a flame graph or a table of frames: one recording, or two windows compared
    Flame(flame::Args),
    /// Serve the report from this machine: for large recordings, and for one that is still being
    /// written
    Serve(serve::Args),
    /// Show metrics of garbage collection and safepoints, with what each means and whether it is
    /// fine
    Gc(gc::Args),
    /// Show metrics of the JIT compilers, with what each means and whether it is fine
    Jit(jit::Args),
    /// Show who retains what in a heap dump: the largest holders, the paths to them, classes, waste
    Heap(heap::Args),
    /// Show what threads spent a window on: every millisecond attributed to one category
    Ledger(ledger::Args),
    /// Show what threads waited for, link by link down to what runs or lies outside, and safepoints
    /// divided into their parts
    Chain(chain::Args),
    /// Compare commands (which is faster?) or recordings (what changed?), beyond noise
    Compare(compare::Args),
    /// Verify a fix: what became of each finding, what was gained, what is new
    Verify(verify::Args),
    /// Compare the flags of two JVMs: what differs, who set it, and what it is for
    Flags(flags::Args),
    /// Collect rows of many recordings in one place, and query them with DuckDB, ClickHouse,
    /// Spark or Trino
    Fleet(fleet::Args),
    /// Show what is in a recording or in files: sources, time covered, losses, checks
    Info(info::Args),
    /// Import files of any known format into a recording
    Import(import::Args),
    /// Export samples, spans and series to other formats: pprof, speedscope, Firefox Profiler,
    /// Perfetto, CSV …
    Export(export::Args),
    /// Pack a recording into one file to send
    Pack(pack::Args),
    /// Unpack a packed recording into a directory
    Unpack(pack::UnpackArgs),
    /// Run a real JVM that gets slow, and explain it
    Demo(demo::Args),
    /// Check what can be recorded on this machine, what prevents the rest, and how to change that
    Check(check::Args),
    /// List the JVMs that run on this machine
    Ps(ps::Args),
    /// List the JDKs on this machine
    Jdks(jdks::Args),
    /// Print shell completions (bash, zsh, fish, elvish, powershell)
    Completions(completions::Args),
    /// Write the manual as man pages
    Man(man::Args),
    /// Print the version of fathom and of the formats that it writes
    Version(version::Args),
}

impl Command {
    /// Runs the command.
    pub fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Self::Record(args) => args.run(),
            Self::Agent(args) => args.run(),
            Self::Receive(args) => args.run(),
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
