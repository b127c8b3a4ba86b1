//! Where rows and incidents go: a directory, or a bucket.

use std::path::{Path, PathBuf};

/// A place that takes files. Putting one again under the same name changes nothing.
pub trait Place: Send {
    /// Puts copies of files (the second of each pair) under names relative to the place (the
    /// first). `Ok`: all are there whole and stay. `Err`: why not; some may be there, and putting
    /// them again is right.
    fn put(&mut self, files: &[(PathBuf, PathBuf)]) -> Result<(), String>;

    /// As the user wrote it.
    fn shown(&self) -> String;
}

/// A directory, which must be there: one that is missing is a disk that is not mounted.
#[derive(Debug)]
pub struct Directory(pub PathBuf);

impl Place for Directory {
    fn put(&mut self, files: &[(PathBuf, PathBuf)]) -> Result<(), String> {
        let put = |name: &Path, from: &Path| fathom_fleet::put(&self.0, name, from);
        files.iter().try_for_each(|(name, from)| put(name, from)).map_err(|error| error.to_string())
    }

    fn shown(&self) -> String {
        self.0.display().to_string()
    }
}

impl Place for fathom_fleet::Bucket {
    fn put(&mut self, files: &[(PathBuf, PathBuf)]) -> Result<(), String> {
        fathom_fleet::Bucket::put(self, files).map_err(|error| error.to_string())
    }

    fn shown(&self) -> String {
        self.url().to_owned()
    }
}
