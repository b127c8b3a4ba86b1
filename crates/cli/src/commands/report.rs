//! `fathom report`: verdict and timeline as one self-contained HTML page.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fathom_diagnose::{Diagnosis, diagnose};
use fathom_recording::Recording;

use crate::exit::Outcome;
use crate::inputs::InputArgs;
use crate::marks::MarkArgs;
use crate::output::write_file;
use crate::windows::WindowArgs;

/// Arguments of `fathom report`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "\
Examples:
  fathom report gc.log jit.xml client.csv -o report.html
  fathom report logs/ --slow 115s..125s --base 20s..110s -o report.html
  fathom report incident.fathom -o - > report.html

The page needs no network and no server: open it in a browser, attach it to a ticket. docs/report.md explains how to read it.")]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    windows: WindowArgs,
    #[command(flatten)]
    marks: MarkArgs,
    /// Where the page goes; `-` for standard output. An existing file is replaced; only you can
    /// read it
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
}

impl Args {
    /// Diagnoses the inputs and writes the page.
    pub fn run(self) -> Result<Outcome> {
        let mut loaded = self.inputs.load()?;
        self.marks.add_to(&mut loaded.recording, true)?;
        let diagnosis = diagnose(&loaded.recording, &self.windows.options())?;
        if self.output.as_os_str() == "-" {
            let mut out = BufWriter::new(std::io::stdout().lock());
            let written = fathom_render::html(&diagnosis, &loaded.recording, &mut out);
            written.and_then(|()| out.flush()).context("standard output")?;
        } else {
            write(&diagnosis, &loaded.recording, &self.output)?;
            eprintln!("fathom: report in {}", self.output.display());
        }
        Ok(Outcome::Done)
    }
}

/// Writes the page; see [`write_file`].
pub fn write(diagnosis: &Diagnosis, recording: &Recording, path: &Path) -> Result<()> {
    write_file(path, |out| fathom_render::html(diagnosis, recording, out))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(path: &Path) -> Result<()> {
        let mut recording = Recording::new();
        recording.seal();
        write(&diagnose(&recording, &fathom_diagnose::Options::default())?, &recording, path)
    }

    #[test]
    fn a_report_can_be_read_by_its_owner_alone_and_replaces_an_older_one() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        std::fs::write(&path, "old").unwrap();
        written(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("<!doctype html>"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn a_link_or_a_folder_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        std::fs::write(&other, "precious").unwrap();
        let link = folder.path().join("report.html");
        std::os::unix::fs::symlink(&other, &link).unwrap();
        assert!(written(&link).is_err());
        assert!(written(folder.path()).is_err());
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "precious");
    }
}
