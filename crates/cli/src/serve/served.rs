//! What is served: the inputs, read and diagnosed, and read again while one of them is still being
//! written.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use fathom_diagnose::diagnose;
use fathom_recording::Recording;
use fathom_render::Parts;

use crate::inputs::InputArgs;
use crate::marks::MarkArgs;
use crate::windows::WindowArgs;

/// A recording that grows is looked at this often, and no more of the time is spent on reading it
/// than on waiting.
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// A recording that has grown within this time is taken to be still under way; its recorder writes
/// every second or so. Beyond it the recording was cut off, or its recorder was stopped.
const UNDER_WAY: Duration = Duration::from_secs(20);

/// A version of the data.
pub struct Data {
    pub version: u64,
    /// Whether an input was still being written when this was read.
    pub under_way: bool,
    pub recording: Recording,
    pub parts: Parts,
}

/// The inputs, with the latest version of what was in them.
#[derive(Clone)]
pub struct Served {
    inputs: Arc<(InputArgs, WindowArgs, MarkArgs)>,
    now: Arc<Mutex<Arc<Data>>>,
}

impl Served {
    /// Reads and diagnoses the inputs.
    pub fn load(inputs: InputArgs, windows: WindowArgs, marks: MarkArgs) -> Result<Self> {
        let inputs = (inputs, windows, marks);
        let data = read(&inputs, 1)?;
        Ok(Self { inputs: Arc::new(inputs), now: Arc::new(Mutex::new(Arc::new(data))) })
    }

    /// The latest version.
    pub fn now(&self) -> Arc<Data> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads again in the background whenever a recording that is being written has grown, until it
    /// is finished.
    pub fn follow(&self) {
        let served = self.clone();
        if !served.now().recording.cut {
            return;
        }
        let watch = move || {
            let mut seen = stamp(&served.inputs.0.inputs);
            while served.now().recording.cut {
                let started = Instant::now();
                let there = stamp(&served.inputs.0.inputs);
                let ended = served.now().under_way && !is_under_way(&there);
                if there != seen || ended {
                    // While its files are being moved into place it cannot be read; the next look
                    // will find it.
                    match read(&served.inputs, served.now().version + 1) {
                        Ok(data) => {
                            seen = there;
                            *served.now.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(data);
                        }
                        Err(e) => eprintln!("fathom: could not be read this time: {e:#}"),
                    }
                }
                std::thread::sleep(LOOK_EVERY.max(started.elapsed()));
            }
        };
        let thread = std::thread::Builder::new().name("fathom-follow".into()).spawn(watch);
        if let Err(e) = thread {
            eprintln!("fathom: the recording is shown as it is now, and not followed: {e}");
        }
    }
}

fn read((inputs, windows, marks): &(InputArgs, WindowArgs, MarkArgs), version: u64) -> Result<Data> {
    let mut recording = if version == 1 { inputs.load() } else { inputs.load_again() }?.recording;
    marks.add_to(&mut recording, version == 1)?;
    let under_way = recording.cut && is_under_way(&stamp(&inputs.inputs));
    // What is still being written was not cut off.
    let cut = recording.cut;
    recording.cut = cut && !under_way;
    let diagnosis = diagnose(&recording, &windows.clone().options())?;
    recording.cut = cut;
    let parts = fathom_render::parts(&diagnosis, &recording)?;
    Ok(Data { version, under_way, recording, parts })
}

/// Whether any of some files was written to a short while ago.
fn is_under_way(files: &[(PathBuf, u64, Option<SystemTime>)]) -> bool {
    let recently = |at: &SystemTime| at.elapsed().map_or(true, |ago| ago < UNDER_WAY);
    files.iter().filter_map(|(_, _, modified)| modified.as_ref()).any(recently)
}

/// Lengths and times of all files: differs when anything was written.
fn stamp(inputs: &[PathBuf]) -> Vec<(PathBuf, u64, Option<SystemTime>)> {
    fn look(path: &Path, depth: usize, into: &mut Vec<(PathBuf, u64, Option<SystemTime>)>) {
        let Ok(about) = path.metadata() else { return };
        into.push((path.to_owned(), about.len(), about.modified().ok()));
        if about.is_dir() && depth > 0 {
            let files = std::fs::read_dir(path).into_iter().flatten().flatten();
            files.for_each(|file| look(&file.path(), depth - 1, into));
        }
    }
    let mut all = Vec::new();
    inputs.iter().for_each(|path| look(path, 2, &mut all));
    all.sort();
    all
}
