//! Printing a verdict: one screen for people, JSON for programs.

use std::io::Write;

use fathom_diagnose::Diagnosis;
use fathom_render::TerminalOptions;

/// Prints a diagnosis on standard output.
pub fn print(diagnosis: &Diagnosis, json: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", fathom_render::json(diagnosis))
    } else {
        write!(out, "{}", fathom_render::terminal(diagnosis, TerminalOptions::detect()))
    }
}
