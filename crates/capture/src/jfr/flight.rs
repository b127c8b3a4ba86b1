//! The flight recording of one JVM: short slices, each started before the one before it is stopped.
//!
//! ```text
//!   slice 1  ├────────────────┤           every slice has an end of its own inside the JVM (`duration`), so that a
//!   slice 2              ├────────────────┤   fathom that is killed leaves nothing that goes on; what two slices share
//!   slice 3                          ├─ …     are the same chunks, which are kept once
//! ```
//!
//! A JVM that ends in order writes its slice itself (`dumponexit`). Of one that was killed, what
//! its recorder had put into its repository is read from there.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use fathom_hotspot::attach::{Attach, AttachError};
use fathom_hotspot::find::About;
use fathom_hotspot::find::Kind;
use fathom_hotspot::root::Root;
use fathom_hotspot::{Error, jcmd};
use rustix::fs::{AtFlags, OFlags, unlinkat};

use super::chunks::Chunks;
use super::settings::configuration;
use crate::Unavailable;
use crate::jvm_folder::{Folder, For, clear_left, names, open_written};

/// How long a slice lasts when nobody stops it: what a killed fathom leaves behind ends by itself
/// after that.
const SLICE: Duration = Duration::from_secs(30);
/// When the next slice is started. Each costs the JVM two rotations of its recording, some 20 ms of
/// its recorder's thread.
const RENEW: Duration = Duration::from_secs(20);
/// How often it is looked whether the JVM is still there.
const LOOK: Duration = Duration::from_millis(250);
/// How long the JVM may take to start or to write a slice.
const PATIENCE: Duration = Duration::from_secs(25);
/// How much of its recording a JVM keeps on disk for a slice, and how much of all slices is kept.
const SLICE_BYTES: &str = "256m";
const MOST_BYTES: u64 = 2 << 30;
/// Begins the names of our recordings within a JVM.
const NAME: &str = "fathom-";

/// A JVM whose recorder runs for us.
pub(super) struct Flight {
    attach: Attach,
    folder: Folder,
    chunks: Chunks,
    slice: u32,
    started: Instant,
    /// Where the recorder keeps its chunks, when it did not exist before; for a JVM that is killed.
    repository: Option<Repository>,
    faults: Vec<String>,
}

/// What is left of a flight.
#[derive(Debug)]
pub(super) struct Landed {
    /// The recording; `None`: nothing came.
    pub file: Option<File>,
    /// Chunks in it, and those for which there was no room.
    pub chunks: u64,
    /// See `chunks`.
    pub refused: u64,
    /// What went wrong on the way.
    pub faults: Vec<String>,
}

/// What a flight reports on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    /// Chunks so far.
    pub chunks: u64,
}

impl Flight {
    /// Attaches to a JVM and starts the first slice. Clears away what a killed fathom left there.
    pub fn start(pid: u32, frequency_hz: u32) -> Result<Self, Unavailable> {
        let attach = Attach::to(pid).map_err(|error| unavailable(pid, &error))?;
        let failed = |error: io::Error| Unavailable {
            scope: None,
            what: what(pid),
            why: format!("its /tmp cannot be written: {error}"),
            remedy: "give the JVM a /tmp of its user that can be written".into(),
        };
        let held = clear_left(&attach, For::Flight).map_err(failed)?;
        stop_left(&attach, &held).map_err(|error| unavailable(pid, &error))?;
        let folder = Folder::create(&attach, For::Flight).map_err(failed)?;
        let kind = Kind::HotSpot { libjvm: String::new(), deleted: false };
        let release = About::of(pid, attach.status(), &kind).feature().unwrap_or(0);
        folder.write(&attach, SETTINGS, configuration(release, frequency_hz).as_bytes()).map_err(failed)?;
        let mut flight = Self {
            attach,
            folder,
            chunks: Chunks::new(MOST_BYTES).map_err(failed)?,
            slice: 0,
            started: Instant::now(),
            repository: None,
            faults: Vec::new(),
        };
        let before = flight.attach.tmp().map(|tmp| names(&tmp)).unwrap_or_default();
        flight.next_slice().map_err(|error| unavailable(pid, &error))?;
        flight.repository = Repository::of(&flight.attach, &before);
        Ok(flight)
    }

    /// Renews slices until it is stopped or the JVM is gone; then stops the last one.
    pub fn fly(mut self, stop: &Receiver<()>, news: &Sender<News>) -> Landed {
        // The sender is dropped to stop it, or as there is nobody any more.
        while let Err(RecvTimeoutError::Timeout) = stop.recv_timeout(LOOK) {
            if !self.attach.is_alive() {
                break;
            }
            if self.started.elapsed() >= RENEW {
                self.renew();
                // Nobody may be listening any more.
                let _ = news.send(News { chunks: self.chunks.count() });
            }
        }
        self.land()
    }

    /// Starts the next slice, then stops the one before it and takes what it holds.
    fn renew(&mut self) {
        let before = self.slice;
        if let Err(error) = self.next_slice() {
            self.fault(format!("a slice could not be started: {error}"));
            // The one that runs has its own end; it is tried again while it lasts and behind it.
            return;
        }
        self.end_slice(before);
    }

    fn next_slice(&mut self) -> Result<(), Error> {
        let slice = self.slice + 1;
        let quoted = |file: &str| jcmd::quoted(&self.folder.path(file)).unwrap_or_default();
        let command = format!(
            "JFR.start name={} settings={} duration={}s filename={} maxsize={SLICE_BYTES} dumponexit=true",
            self.name(slice),
            quoted(SETTINGS),
            SLICE.as_secs(),
            quoted(&file_of(slice)),
        );
        let answer = self.attach.jcmd_within(PATIENCE, &command)?;
        if !answer.contains("Started recording") {
            let refused = AttachError::Refused { command: "JFR.start".to_owned(), status: 0, text: answer };
            return Err(refused.into());
        }
        (self.slice, self.started) = (slice, Instant::now());
        Ok(())
    }

    /// Stops a slice and takes its chunks.
    fn end_slice(&mut self, slice: u32) {
        let command = format!("JFR.stop name={}", self.name(slice));
        match self.attach.jcmd_within(PATIENCE, &command) {
            Ok(_) => {}
            // It came to its own end before, or the JVM did: the file shows it.
            Err(error) if self.attach.is_alive() => {
                self.fault(format!("a slice could not be stopped: {error}"))
            }
            Err(_) => {}
        }
        self.take(slice);
    }

    /// Takes the chunks of a slice that the JVM has written.
    fn take(&mut self, slice: u32) {
        let file = file_of(slice);
        if let Some(mut written) = self.folder.open(&file)
            && let Err(error) = self.chunks.append(&mut written, false)
        {
            self.fault(format!("a slice could not be read: {error}"));
        }
        self.folder.remove(&file);
    }

    /// Ends the last slice and gives what was recorded.
    fn land(mut self) -> Landed {
        let last = self.slice;
        if self.attach.is_alive() {
            self.end_slice(last);
        } else {
            self.take(last);
            if let Some(repository) = self.repository.take() {
                repository.salvage(&mut self.chunks);
            }
        }
        let (chunks, refused) = (self.chunks.count(), self.chunks.refused);
        let mut faults = self.faults;
        let file = self.chunks.finish().unwrap_or_else(|error| {
            faults.push(format!("the recording could not be read back: {error}"));
            None
        });
        Landed { file, chunks, refused, faults }
    }

    fn name(&self, slice: u32) -> String {
        format!("{NAME}{}-{slice}", self.folder.token())
    }

    fn fault(&mut self, fault: String) {
        /// Faults that are kept: a JVM that answers nothing brings one each quarter of a second.
        const MOST: usize = 8;
        if self.faults.len() < MOST && self.faults.last() != Some(&fault) {
            self.faults.push(fault);
        }
    }
}

const SETTINGS: &str = "fathom.jfc";

fn file_of(slice: u32) -> String {
    format!("slice-{slice}.jfr")
}

fn what(pid: u32) -> String {
    format!("the doings of JVM {pid} through its flight recorder")
}

/// Why a JVM's recorder cannot be used, and the way out.
fn unavailable(pid: u32, error: &Error) -> Unavailable {
    let missing = matches!(error, Error::Attach(AttachError::Refused { text, .. })
        if text.contains("Unknown diagnostic command") || text.contains("JFR"));
    let remedy = match error {
        Error::Attach(AttachError::NotYours { .. }) | Error::NotAllowed { .. } => {
            "run fathom as that user or as root"
        }
        Error::Attach(AttachError::Disabled { .. }) => {
            "start it without -XX:+DisableAttachMechanism, or use --engine ebpf"
        }
        _ if missing => "use --engine ebpf (as root), or a JDK with its module jdk.jfr (8u262, 11 and later)",
        _ => "use --engine ebpf (as root)",
    };
    Unavailable { scope: None, what: what(pid), why: error.to_string(), remedy: remedy.into() }
}

/// Stops the recordings that a killed fathom left running in a JVM: those of ours whose folder
/// nobody holds.
fn stop_left(attach: &Attach, held: &[String]) -> Result<(), Error> {
    let answer = attach.jcmd("JFR.check")?;
    for name in left(&answer, held) {
        // It may come to its own end meanwhile.
        let _ = attach.jcmd_within(PATIENCE, &format!("JFR.stop name={name}"));
    }
    Ok(())
}

/// Names of our recordings in the answer to JFR.check,
/// `Recording 1: name=fathom-0123-1 duration=30s (running)`, other than those of a fathom that
/// lives.
fn left(answer: &str, held: &[String]) -> Vec<String> {
    let names = answer.split_whitespace().filter_map(|word| word.strip_prefix("name="));
    let names = names.map(|name| name.trim_matches('"')).filter(|name| name.starts_with(NAME));
    let ours = names.filter(|name| {
        let known = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        known && !held.iter().any(|token| name[NAME.len()..].starts_with(token.as_str()))
    });
    ours.map(str::to_owned).collect()
}

/// Where a JVM's recorder keeps its chunks: a folder that the JVM makes in its temporary folder at
/// its first recording and removes at its end, unless it is killed.
struct Repository {
    parent: OwnedFd,
    fd: OwnedFd,
    name: String,
    uid: u32,
}

impl Repository {
    /// Of a JVM, when its folder was not there before our recording.
    fn of(attach: &Attach, before: &[String]) -> Option<Self> {
        let answer = attach.jcmd("JFR.configure").ok()?;
        let path = answer.lines().find_map(|line| line.trim().strip_prefix("Repository path: "))?;
        let (parent, name) = path.rsplit_once('/')?;
        if before.iter().any(|old| old == name) {
            return None;
        }
        let root = Root::of(attach.pid()).ok()?;
        let open = |path: &str| root.open(path, OFlags::RDONLY | OFlags::DIRECTORY).ok();
        let (parent, fd) = (open(parent)?, open(path)?);
        Some(Self { parent, fd, name: name.to_owned(), uid: attach.status().uid })
    }

    /// Takes the chunks that a killed JVM left, also the one that it was writing, and removes them
    /// with their folder.
    fn salvage(self, chunks: &mut Chunks) {
        let mut files: Vec<String> =
            names(&self.fd).into_iter().filter(|name| name.ends_with(".jfr")).collect();
        // They are named by the time at which they began.
        files.sort();
        for file in &files {
            if let Some(mut chunk) = open_written(&self.fd, file, self.uid) {
                // What cannot be read ends a file, and the others are still there.
                let _ = chunks.append(&mut chunk, true);
            }
            let _ = unlinkat(&self.fd, file.as_str(), AtFlags::empty());
        }
        let _ = unlinkat(&self.parent, self.name.as_str(), AtFlags::REMOVEDIR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_that_a_killed_fathom_left_are_distinguished_from_living_ones_and_the_users() {
        let answer = "4711:\nRecording 1: name=my-own maxsize=1GB (running)\n\
                    Recording 2: name=fathom-00ff-3 duration=30s (running)\n\
                    Recording 3: name=\"fathom-abcd-1\" (running)\nRecording 4: name=fathom-00ff;x (running)\n";
        assert_eq!(left(answer, &["abcd".to_owned()]), ["fathom-00ff-3"]);
        assert_eq!(left("No available recordings.\n", &[]), Vec::<String>::new());
    }
}
