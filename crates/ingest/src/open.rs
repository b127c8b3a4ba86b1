//! From a path to a stream of lines: files, standard input, compressed or plain.
//!
//! What the user names becomes [`Item`]s: one for a file, compressed or not, one for each member of
//! a zip archive, one for each file of a directory. An item can be opened more than once unless it
//! is a stream (standard input, a pipe), so that a rotated set can be put in order before it is
//! read.

pub(crate) mod rotation;
mod text;
mod unpack;
mod zip;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

pub use unpack::Expansion;
#[cfg(test)]
pub(crate) use unpack::packed;
use unpack::{Budget, Packing};
use zip::Member;

use crate::{IngestError, Lines};

/// Is called with how many bytes of how many have been read, compressed; the total is 0 while it is
/// unknown (a stream).
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

/// A directory or an archive with more files than this is not read: a mistaken `/` would take
/// hours.
pub(crate) const MOST_FILES: usize = 10_000;

/// The place of the bytes of an item.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Stdin,
    /// A regular file: it has a length and can be read again.
    File(PathBuf),
    /// A pipe or a device: it can be read once.
    Stream(PathBuf),
    /// A member of a zip archive.
    Member(Member),
    /// It cannot be read, and why.
    Nowhere(String),
}

/// One thing to read.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Its name as the user gave it; "archive.zip/member" or "directory/file" for what was found
    /// inside.
    pub(crate) name: String,
    pub(crate) modified: Option<SystemTime>,
    /// Its size on disk; 0 for a stream.
    pub(crate) bytes: u64,
    pub(crate) place: Place,
    /// Whether it was found in a directory or an archive, and not named by the user.
    pub(crate) found: bool,
}

impl Item {
    /// Whether it can be opened again.
    pub(crate) fn reopens(&self) -> bool {
        matches!(self.place, Place::File(_) | Place::Member(_))
    }

    /// An error of reading it.
    pub(crate) fn error(&self, cause: io::Error) -> IngestError {
        IngestError::Io { path: PathBuf::from(&self.name), cause }
    }
}

/// Counts bytes as they are read, for the progress.
struct Metered<R> {
    inner: R,
    meter: Arc<Meter>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.meter.add(n as u64);
        Ok(n)
    }
}

/// Counts the compressed bytes of a stream, whose size is not known beforehand.
struct Counted<R> {
    inner: R,
    budget: Arc<Budget>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.budget.add_packed(n as u64);
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
    /// The decompressed bytes of an item, text as UTF-8 with line feeds.
    pub(crate) fn stream(&self, item: &Item) -> io::Result<Box<dyn Read + Send>> {
        let own = || Budget::new(self.limit, item.bytes);
        let (raw, budget): (Box<dyn Read + Send>, _) = match &item.place {
            Place::Stdin => (self.metered(io::stdin()), own()),
            Place::Stream(path) => (self.metered(File::open(path)?), own()),
            Place::File(path) => (self.metered(File::open(path)?), own()),
            Place::Member(member) => (member.stream(|slice| self.metered(slice)), member.budget()),
            Place::Nowhere(why) => return Err(io::Error::other(why.clone())),
        };
        let raw: Box<dyn Read + Send> = match item.reopens() {
            true => raw,
            false => Box::new(Counted { inner: raw, budget: budget.clone() }),
        };
        let (packing, raw) = unpack::with_magic(raw)?;
        Ok(text::plain(unpack::unpack(packing, raw, budget)?))
    }

    fn metered(&self, raw: impl Read + Send + 'static) -> Box<dyn Read + Send> {
        Box::new(Metered { inner: raw, meter: self.meter.clone() })
    }

    /// The lines of an item.
    pub(crate) fn lines(&self, item: &Item) -> io::Result<Lines> {
        Ok(Lines::new(self.stream(item)?))
    }
}

/// The items that a path on the command line names: one, or the content of the directory or the
/// archive.
pub(crate) fn expand(path: &Path, limit: Expansion) -> Result<Vec<Item>, IngestError> {
    let error = |cause| IngestError::Io { path: path.to_owned(), cause };
    let name = path.display().to_string();
    if name == "-" {
        let name = "standard input".to_owned();
        return Ok(vec![Item { name, modified: None, bytes: 0, place: Place::Stdin, found: false }]);
    }
    let metadata = std::fs::metadata(path).map_err(error)?;
    if metadata.is_dir() {
        return directory(path, limit);
    }
    if !metadata.is_file() {
        let place = Place::Stream(path.to_owned());
        return Ok(vec![Item { name, modified: None, bytes: 0, place, found: false }]);
    }
    if is_zip(path).map_err(error)? {
        return zip::members(path, limit).map_err(error);
    }
    let (modified, bytes) = (metadata.modified().ok(), metadata.len());
    Ok(vec![Item { name, modified, bytes, place: Place::File(path.to_owned()), found: false }])
}

fn is_zip(path: &Path) -> io::Result<bool> {
    let (packing, _) = unpack::with_magic(File::open(path)?)?;
    Ok(packing == Packing::Zip)
}

/// The regular files of a directory, in order of their names. Directories within it are not
/// searched.
fn directory(path: &Path, limit: Expansion) -> Result<Vec<Item>, IngestError> {
    let error = |cause| IngestError::Io { path: path.to_owned(), cause };
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(error)? {
        let file = entry.map_err(error)?.path();
        if file.is_file() {
            files.push(file);
        }
        if files.len() > MOST_FILES {
            let why = format!("has more than {MOST_FILES} files: name those of interest");
            return Err(error(io::Error::other(why)));
        }
    }
    files.sort();
    let mut items = Vec::new();
    for file in files {
        // A file that cannot be opened is reported; the others are used.
        let found = expand(&file, limit).unwrap_or_else(|failure| {
            let why = match failure {
                IngestError::Io { cause, .. } => cause.to_string(),
                other => other.to_string(),
            };
            let name = file.display().to_string();
            vec![Item { name, modified: None, bytes: 0, place: Place::Nowhere(why), found: true }]
        });
        items.extend(found.into_iter().map(|item| Item { found: true, ..item }));
    }
    Ok(items)
}

/// Files in the directory of a named one that look like parts of its rotated set.
pub(crate) fn siblings(item: &Item) -> usize {
    let Place::File(path) = &item.place else { return 0 };
    let name = |path: &Path| path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let own = name(path);
    let (base, part) = rotation::part_of(&own);
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    let entries = entries.take(MOST_FILES).flatten().map(|entry| name(&entry.path()));
    let of_the_set = |other: &String| {
        let (other_base, other_part) = rotation::part_of(other);
        *other != own
            && other_base == base
            && (part, other_part) != (rotation::Part::Base, rotation::Part::Base)
    };
    entries.filter(of_the_set).count()
}
