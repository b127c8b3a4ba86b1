//! The inputs of a command: recordings and files, read into one recording.

use std::path::PathBuf;

use anyhow::Result;
use fathom_recording::Recording;

/// Arguments of every command that reads inputs.
#[derive(clap::Args, Debug)]
pub struct InputArgs {
    /// Recordings (NAME.fathom) and files of any known format, told by content; a directory; `-` for standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Put a file on the clock by hand: FILE=+12.3s adds 12.3 seconds to its stamps; may be given several times
    #[arg(long, value_name = "FILE=OFFSET")]
    pub align: Vec<String>,
}

impl InputArgs {
    #[allow(dead_code, reason = "the first command that reads is about to come")]
    /// Reads all inputs into one recording, placed on one clock and sealed.
    pub fn load(&self) -> Result<Recording> {
        anyhow::bail!("no reader is there yet")
    }
}
