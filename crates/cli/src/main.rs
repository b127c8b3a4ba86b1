//! The binary `fathom`: parse, run, turn the result into an exit status.
//!
//! 0 done; 1 `--fail-on` found what it was asked to watch for; 2 bad usage or bad input; 3 the environment does not
//! allow it.

mod columns;
mod commands;
mod demo;
mod exit;
mod inputs;
mod jdk;
mod onlooker;
mod output;
mod selection;
mod serve;
mod users;
mod verdict;
mod windows;
mod written_logs;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = commands::Cli::parse();
    exit::code(cli.command.run())
}
