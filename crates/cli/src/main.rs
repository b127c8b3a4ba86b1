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
mod help;
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

use clap::FromArgMatches;

fn main() -> ExitCode {
    if std::env::args_os().len() == 1 {
        // Without arguments the help is shown.
        let printed = help::command().print_help();
        return exit::code(printed.map(|()| exit::Outcome::Done).map_err(anyhow::Error::from));
    }
    let given = help::command().get_matches();
    let cli = commands::Cli::from_arg_matches(&given).unwrap_or_else(|error| error.exit());
    exit::code(cli.command.run())
}
