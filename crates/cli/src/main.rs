//! The binary `fathom`: parse, run, turn the result into an exit status.
//!
//! 0 done; 1 `--fail-on` found what it was asked to watch for; 2 bad usage or bad input; 3 the
//! environment does not allow it.

mod bucket;
mod columns;
mod commands;
mod demo;
mod exit;
mod heap_dumps;
mod identity;
mod inputs;
mod jdk;
mod marks;
mod output;
mod receive;
mod selection;
mod serve;
mod stderr;
mod user_names;
mod verdict;
mod watched;
mod windows;
mod written_logs;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

fn main() -> ExitCode {
    if std::env::args_os().len() == 1 {
        // Without arguments the help is shown.
        let printed = commands::Cli::command().print_help();
        return exit::code(printed.map(|()| exit::Outcome::Done).map_err(anyhow::Error::from));
    }
    let cli = commands::Cli::parse();
    exit::code(cli.command.run())
}
