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

/// Each command: one variant here, one file next to this one. What the help says of it stands at
/// the arguments there: a comment here would take the place of both texts.
#[derive(Subcommand, Debug)]
pub enum Command {
    Record(record::Args),
    Agent(agent::Args),
    Receive(receive::Args),
    Trace(trace::Args),
    Method(method::Args),
    /// Diagnose a slow JVM: what took the time, the evidence, what was ruled out, and the fix
    Diagnose(diagnose::Args),
    /// Write the verdict and the timeline as one HTML page that needs no network
    Report(report::Args),
    Flame(flame::Args),
    Serve(serve::Args),
    Gc(gc::Args),
    Jit(jit::Args),
    Heap(heap::Args),
    Ledger(ledger::Args),
    Chain(chain::Args),
    Compare(compare::Args),
    Verify(verify::Args),
    Flags(flags::Args),
    Fleet(fleet::Args),
    Info(info::Args),
    Import(import::Args),
    Export(export::Args),
    Pack(pack::Args),
    Unpack(pack::UnpackArgs),
    /// Run a real JVM that gets slow, and explain it
    Demo(demo::Args),
    Check(check::Args),
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
