//! From a path to a stream of lines: files, standard input, packed or plain.
//!
//! What the user names becomes [`Item`]s: one for a plain or packed file, one for each member of a zip archive, one
//! for each file of a directory. An item can be opened more than once unless it is a stream (standard input, a
//! pipe); that is what lets a rotated set be put in order before it is read.

mod unpack;

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use unpack::Budget;
pub use unpack::Expansion;

use crate::{IngestError, Lines};

/// Told how many bytes of how many have been read, packed ones; the total is 0 while it is not known (a stream).
pub type Progress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// Counts what is read from disk, over all inputs.
pub(crate) struct Meter {
    read: AtomicU64,
    total: u64,
    progress: Option<Progress>,
}

impl Meter {
    pub(crate) fn new(total: u64, progress: Option<Progress>) -> Arc<Self> {
        Arc::new(Self { read: AtomicU64::new(0), total, progress })
    }

    fn add(&self, bytes: u64) {
        let read = self.read.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if let Some(progress) = &self.progress {
            progress(read, self.total);
        }
    }
}

/// Where the bytes of an item are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Stdin,
    /// A regular file: it has a length and can be read again.
    File(PathBuf),
    /// A pipe or a device: it can be read once.
    Stream(PathBuf),
}

/// One thing to read.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// As the user named it; "archive.zip/member" or "directory/file" for what was found inside.
    pub(crate) name: String,
    pub(crate) modified: Option<SystemTime>,
    /// Its size on disk; 0 for a stream.
    pub(crate) bytes: u64,
    pub(crate) place: Place,
}

impl Item {
    /// Whether it can be opened again.
    pub(crate) fn reopens(&self) -> bool {
        matches!(self.place, Place::File(_))
    }

    /// An error of reading it.
    pub(crate) fn error(&self, cause: io::Error) -> IngestError {
        IngestError::Io { path: PathBuf::from(&self.name), cause }
    }
}

/// Counts bytes on their way in.
struct Metered<R> {
    inner: R,
    meter: Arc<Meter>,
    /// Where to count packed bytes, for a stream.
    budget: Option<Arc<Budget>>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.meter.add(n as u64);
        if let Some(budget) = &self.budget {
            budget.add_packed(n as u64);
        }
        Ok(n)
    }
}

/// Opens items.
#[derive(Clone)]
pub(crate) struct Opener {
    pub(crate) limit: Expansion,
    pub(crate) meter: Arc<Meter>,
}

impl Opener {
    /// The unpacked bytes of an item.
    pub(crate) fn stream(&self, item: &Item) -> io::Result<Box<dyn Read + Send>> {
        let raw: Box<dyn Read + Send> = match &item.place {
            Place::Stdin => Box::new(io::stdin()),
            Place::File(path) | Place::Stream(path) => Box::new(File::open(path)?),
        };
        let budget = Budget::new(self.limit, item.bytes);
        let counted = (!item.reopens()).then(|| budget.clone());
        let (packing, raw) =
            unpack::with_magic(Metered { inner: raw, meter: self.meter.clone(), budget: counted })?;
        unpack::unpack(packing, raw, budget)
    }

    /// The lines of an item.
    pub(crate) fn lines(&self, item: &Item) -> io::Result<Lines> {
        Ok(Lines::new(self.stream(item)?))
    }
}

/// The item that a path on the command line names.
pub(crate) fn item(path: &PathBuf) -> Result<Item, IngestError> {
    let error = |cause| IngestError::Io { path: path.clone(), cause };
    let name = path.display().to_string();
    if name == "-" {
        let name = "standard input".to_owned();
        return Ok(Item { name, modified: None, bytes: 0, place: Place::Stdin });
    }
    let metadata = std::fs::metadata(path).map_err(error)?;
    if metadata.is_file() {
        let (modified, bytes) = (metadata.modified().ok(), metadata.len());
        return Ok(Item { name, modified, bytes, place: Place::File(path.clone()) });
    }
    Ok(Item { name, modified: None, bytes: 0, place: Place::Stream(path.clone()) })
}
