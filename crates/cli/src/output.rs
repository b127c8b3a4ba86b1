//! Standard output: what a command prints, and the error when it cannot.

use std::io::Write;

use anyhow::{Context, Result};

/// Prints a text that ends its last line itself.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("standard output")
}

/// Prints JSON, indented.
pub fn print_json(value: &impl serde::Serialize) -> Result<()> {
    print(&format!("{}\n", serde_json::to_string_pretty(value)?))
}
