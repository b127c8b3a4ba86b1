//! `fathom version`.

use crate::exit::Outcome;
use crate::output::{print, print_json};

/// Arguments of `fathom version`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// As JSON (schema fathom.version/1)
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the version.
    pub fn run(self) -> anyhow::Result<Outcome> {
        if self.json {
            let version = serde_json::json!({
                "schema": "fathom.version/1",
                "version": env!("CARGO_PKG_VERSION"),
                "diagnosis_schema": fathom_diagnose::SCHEMA,
                "recording_schema": fathom_recording::disk::SCHEMA_VERSION,
            });
            print_json(&version)?;
        } else {
            print(concat!("fathom ", env!("CARGO_PKG_VERSION"), "\n"))?;
        }
        Ok(Outcome::Done)
    }
}
