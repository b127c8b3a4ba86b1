//! Where rows and incidents go: a directory. A bucket would be another [`Place`].

use std::path::{Path, PathBuf};

/// A place that takes files. Putting one again under the same name changes nothing.
pub trait Place: Send {
    /// Puts a copy of a file under a name relative to the place. `Ok`: it is there whole and stays.
    /// `Err`: why not; it may be there, and putting it again is right.
    fn put(&mut self, name: &Path, from: &Path) -> Result<(), String>;

    /// As the user wrote it.
    fn shown(&self) -> String;
}

/// A directory, which must be there: one that is missing is a disk that is not mounted.
#[derive(Debug)]
pub struct Directory(pub PathBuf);

impl Place for Directory {
    fn put(&mut self, name: &Path, from: &Path) -> Result<(), String> {
        fathom_fleet::put(&self.0, name, from).map_err(|error| error.to_string())
    }

    fn shown(&self) -> String {
        self.0.display().to_string()
    }
}
