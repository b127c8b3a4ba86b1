//! `fathom pack` and `fathom unpack`: a recording as one file to send.

use std::fs::OpenOptions;
use std::io::{BufWriter, IsTerminal};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fathom_recording::disk::PACKED_EXTENSION;

use super::import::overwrite;
use crate::exit::Outcome;
use crate::output::print;

/// Arguments of `fathom pack`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Pack a recording into one file to send",
    long_about = "Makes one file of a recording, to send: a tar archive, which is no larger than the recording.

Every command reads it as it is; `fathom unpack` or `tar xf` make a directory of it again. A recording holds command \
lines (values of arguments that look like secrets are masked when logs are read), paths, and names of methods and \
threads: look at `fathom info` before you send it."
)]
pub struct Args {
    /// The recording
    #[arg(value_name = "NAME.fathom")]
    recording: PathBuf,
    /// Where to; `-` for standard output [default: NAME.fathom.tar in the current directory]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

impl Args {
    /// Packs.
    pub fn run(self) -> Result<Outcome> {
        if self.output.as_deref() == Some(Path::new("-")) {
            let out = std::io::stdout();
            anyhow::ensure!(!out.is_terminal(), "an archive is not written to a terminal: give a file");
            fathom_recording::pack(
                &self.recording,
                BufWriter::new(out.lock()),
                Path::new("standard output"),
            )?;
            return Ok(Outcome::Done);
        }
        let output = match self.output {
            Some(output) => output,
            None => default_output(&self.recording)?,
        };
        let mut options = OpenOptions::new();
        options.write(true).mode(0o600);
        if self.force {
            options.create(true).truncate(true)
        } else {
            options.create_new(true)
        };
        let file = options.open(&output).with_context(|| output.display().to_string())?;
        let packed = fathom_recording::pack(&self.recording, BufWriter::new(file), &output);
        if packed.is_err() {
            // Best effort: a part of an archive is of no use.
            let _ = std::fs::remove_file(&output);
        }
        packed?;
        print(&format!("{}\n", output.display()))?;
        Ok(Outcome::Done)
    }
}

fn default_output(recording: &Path) -> Result<PathBuf> {
    let full = recording.canonicalize().with_context(|| recording.display().to_string())?;
    let Some(name) = full.file_stem() else {
        bail!("{}: has no name; give one with -o", recording.display())
    };
    let mut name = name.to_owned();
    name.push(".");
    name.push(PACKED_EXTENSION);
    Ok(name.into())
}

/// Arguments of `fathom unpack`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Unpack a packed recording into a directory",
    long_about = "Makes a directory of a packed recording again.

Only the files of a recording are taken from the archive; one that holds anything else is refused."
)]
pub struct UnpackArgs {
    /// The packed recording
    #[arg(value_name = "FILE")]
    packed: PathBuf,
    /// The recording to write [default: the name that it was packed under, in the current
    /// directory]
    #[arg(short, long, value_name = "NAME.fathom")]
    output: Option<PathBuf>,
    /// Replace an existing recording
    #[arg(long)]
    force: bool,
}

impl UnpackArgs {
    /// Unpacks.
    pub fn run(self) -> Result<Outcome> {
        let unpacked = fathom_recording::unpack(&self.packed, self.output.as_deref(), overwrite(self.force))?;
        print(&format!("{}\n", unpacked.display()))?;
        Ok(Outcome::Done)
    }
}
