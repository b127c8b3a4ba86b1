//! The inputs of a command: recordings and files, read into one recording.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use fathom_ingest::{Options, Progress, Report};
use fathom_recording::Recording;
use indicatif::{ProgressBar, ProgressStyle};

/// Reading less than this takes no time worth a progress bar, bytes.
const LARGE: u64 = 64 << 20;

/// Arguments of every command that reads inputs.
#[derive(clap::Args, Debug)]
pub struct InputArgs {
    /// Recordings (NAME.fathom) and files of any known format, told by content; a directory; `-` for standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Put a file on the clock by hand: FILE=+12.3s adds 12.3 seconds to its stamps, FILE=@2026-11-20T22:00:00Z
    /// says when they were zero; may be given several times
    #[arg(long, value_name = "FILE=OFFSET")]
    pub align: Vec<String>,
}

/// Inputs that were read.
#[derive(Debug)]
pub struct Loaded {
    /// What was in them, on one clock, sealed.
    pub recording: Recording,
    #[allow(dead_code, reason = "fathom info is the first to show it")]
    /// What became of each; its messages have been shown on standard error.
    pub report: Report,
}

impl InputArgs {
    /// Reads all inputs into one recording, placed on one clock and sealed. Tells on standard error what could not
    /// be used and what is uncertain.
    pub fn load(&self) -> Result<Loaded> {
        let bar = progress_bar();
        let options = Options {
            align: self.align.clone(),
            progress: bar.clone().map(as_progress),
            ..Options::default()
        };
        let mut recording = Recording::new();
        let report = fathom_ingest::read_inputs(&self.inputs, &options, &mut recording);
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        let report = report?;
        for message in report.messages() {
            eprintln!("fathom: {message}");
        }
        Ok(Loaded { recording, report })
    }
}

/// A bar on standard error, when somebody is looking at it.
fn progress_bar() -> Option<ProgressBar> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let style = ProgressStyle::with_template("reading {bytes} of {total_bytes} {wide_bar} {eta}").ok()?;
    Some(ProgressBar::no_length().with_style(style))
}

fn as_progress(bar: ProgressBar) -> Progress {
    Arc::new(move |read, total| {
        if total >= LARGE {
            bar.set_length(total);
            bar.set_position(read);
        }
    })
}
