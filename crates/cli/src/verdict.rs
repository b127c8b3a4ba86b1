//! Printing a verdict: one screen for people, JSON for programs.

use anyhow::Result;
use fathom_diagnose::Diagnosis;
use fathom_render::TerminalOptions;

use crate::output::print;

/// Prints a diagnosis on standard output; for people with `all` of it, or what fits a screen.
pub fn print_verdict(diagnosis: &Diagnosis, json: bool, all: bool) -> Result<()> {
    if json {
        print(&format!("{}\n", fathom_render::json(diagnosis)))
    } else {
        print(&fathom_render::terminal(diagnosis, TerminalOptions { all, ..TerminalOptions::detect() }))
    }
}
