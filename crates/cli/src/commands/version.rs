//! `fathom version`.

use std::io::Write;

use crate::exit::Outcome;

/// Arguments of `fathom version`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the version.
    pub fn run(self) -> anyhow::Result<Outcome> {
        let mut out = std::io::stdout().lock();
        if self.json {
            let version = serde_json::json!({
                "schema": "fathom.version/1",
                "version": env!("CARGO_PKG_VERSION"),
                "diagnosis_schema": fathom_diagnose::SCHEMA,
                "recording_schema": fathom_recording::disk::SCHEMA_VERSION,
            });
            writeln!(out, "{version}")?;
        } else {
            writeln!(out, "fathom {}", env!("CARGO_PKG_VERSION"))?;
        }
        Ok(Outcome::Done)
    }
}
