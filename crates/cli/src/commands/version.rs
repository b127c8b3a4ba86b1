//! `fathom version`.

use crate::exit::Outcome;
use crate::output::{print, print_json};

const VERSION: &str = env!("CARGO_PKG_VERSION");

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
            print_json(&serde_json::json!({
                "schema": "fathom.version/1",
                "version": VERSION,
                "diagnosis_schema": fathom_diagnose::SCHEMA,
                "recording_schema": fathom_recording::disk::SCHEMA_VERSION,
            }))?;
        } else {
            print(&text())?;
        }
        Ok(Outcome::Done)
    }
}

fn text() -> String {
    let (recording, diagnosis) = (fathom_recording::disk::SCHEMA_VERSION, fathom_diagnose::SCHEMA);
    format!("fathom {VERSION}\nrecordings: schema {recording}\ndiagnoses: {diagnosis}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_printed_with_the_version() {
        let text = text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].ends_with(VERSION) && lines[2].ends_with(fathom_diagnose::SCHEMA), "{text}");
    }
}
