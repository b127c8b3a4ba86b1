//! The inputs of a command: recordings and files, read into one recording.

use std::collections::HashSet;
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use fathom_ingest::{Options, Progress, Report};
use fathom_recording::vocabulary::source;
use fathom_recording::{Recording, Source};
use indicatif::{ProgressBar, ProgressStyle};

use crate::bucket::Inputs;
use crate::heap_dumps;

/// Reading less than this takes no time worth a progress bar, bytes.
const LARGE: u64 = 64 << 20;

/// Arguments of every command that reads inputs.
#[derive(clap::Args, Debug)]
pub struct InputArgs {
    /// Recordings (NAME.fathom) and files of any known format, recognised by content; heap dumps
    /// with them; a directory; an object of a bucket, s3://BUCKET/NAME; `-` for standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Align a file by hand: FILE=+12.3s adds 12.3 seconds to its timestamps,
    /// FILE=@2026-11-20T22:00:00Z says when they were zero; may be given several times
    #[arg(long, value_name = "FILE=OFFSET")]
    pub align: Vec<String>,
}

/// Inputs that were read.
#[derive(Debug)]
pub struct Loaded {
    /// What was in them, on one clock, sealed.
    pub recording: Recording,
}

impl InputArgs {
    /// Reads all inputs into one recording, placed on one clock and sealed. Reports on standard
    /// error what could not be used and what is uncertain.
    pub fn load(&self) -> Result<Loaded> {
        self.read(true)
    }

    /// The same without a word: for inputs that were read before.
    pub fn load_again(&self) -> Result<Loaded> {
        self.read(false)
    }

    fn read(&self, report_to_user: bool) -> Result<Loaded> {
        let bar = progress_bar().filter(|_| report_to_user);
        let options = Options {
            align: self.align.clone(),
            progress: bar.clone().map(as_progress),
            ..Options::default()
        };
        let named = Inputs::of(&self.inputs, report_to_user)?;
        // A verdict on the others would look as if what is missing had nothing to say.
        for path in named.paths.iter().filter(|path| path.as_os_str() != "-") {
            path.metadata().with_context(|| format!("{}", path.display()))?;
        }
        let mut recording = Recording::new();
        let inputs: Vec<PathBuf> = named.paths.iter().flat_map(|path| with_recordings_within(path)).collect();
        let (dumps, inputs): (Vec<_>, Vec<_>) = inputs.iter().partition(|path| fathom_heap::is_dump(path));
        let (recordings, files): (Vec<_>, Vec<_>) = inputs.into_iter().partition(|path| is_recording(path));
        let mut seen = HashSet::new();
        let recordings_given = !recordings.is_empty();
        for path in recordings {
            if !seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
                eprintln!(
                    "fathom: {}: named twice, read once",
                    fathom_render::printable(&path.display().to_string())
                );
                continue;
            }
            recording.append(fathom_recording::open(path)?);
        }
        // Recordings are on the clock already: only what is read from here on is placed.
        let files: Vec<PathBuf> = files.into_iter().cloned().collect();
        let report = if files.is_empty() && !recordings_given && !dumps.is_empty() {
            Ok(Report::default())
        } else if files.is_empty() {
            anyhow::ensure!(
                self.align.is_empty(),
                "--align is for files; a recording is time-aligned already"
            );
            fathom_ingest::leave_out_duplicates(&mut recording);
            recording.seal();
            Ok(Report::default())
        } else {
            fathom_ingest::read_inputs(&files, &options, &mut recording)
        };
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        let report = report?;
        if recording.cut && report_to_user {
            eprintln!("fathom: a recording is truncated: its writer was killed before it finished");
        }
        for message in report.messages().into_iter().filter(|_| report_to_user) {
            eprintln!("fathom: {}", fathom_render::printable(&message));
        }
        let dumps: Vec<PathBuf> = dumps.into_iter().cloned().collect();
        heap_dumps::add(&dumps, &mut recording, report_to_user)?;
        Ok(Loaded { recording })
    }
}

/// What was read, for a message: names and formats of the files; of a live recording the JVMs, and
/// not its collectors.
pub fn in_words(recording: &Recording) -> String {
    const MOST: usize = 3;
    let live = recording.sources.iter().any(|s| s.format == source::SESSION);
    let is_file = |source: &&Source| !live || source.lines > 0 || source.bytes > 0;
    let named = |source: &Source| format!("{} ({})", source.name, source.format);
    let jvms = recording.sources.iter().filter(|s| live && s.format == source::JVM).map(|s| s.name.clone());
    let files = recording.sources.iter().filter(is_file).map(named);
    let mut names: Vec<String> = jvms.chain(files).collect();
    if names.is_empty() {
        names.push("processes of this machine".to_owned());
    }
    let more = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    names.extend((more > 0).then(|| format!("{more} more")));
    let mut words = names.join(", ");
    if live {
        words.push_str(", recorded live");
    }
    words
}

/// What a folder holds, where recordings are among it: readers of files know nothing of them. All
/// else as it was given.
fn with_recordings_within(path: &Path) -> Vec<PathBuf> {
    let given = || vec![path.to_path_buf()];
    if !path.is_dir() || is_recording(path) {
        return given();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut within: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    within.sort();
    if within.iter().any(|path| is_recording(path)) { within } else { given() }
}

/// Whether a path is a recording, a directory or a packed one; recognised by content.
fn is_recording(path: &Path) -> bool {
    if path.is_dir() {
        return fathom_recording::disk::is_recording(path);
    }
    // A pipe is read once: what is not a file is not looked at here.
    let mut head = [0; 512];
    let file = path.is_file().then(|| File::open(path).ok()).flatten();
    file.is_some_and(|mut file| file.read_exact(&mut head).is_ok())
        && fathom_recording::disk::is_packed(&head)
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
