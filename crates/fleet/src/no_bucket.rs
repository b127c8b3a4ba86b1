//! What stands for a bucket in a build without them, as `make demo` makes: none can be opened.

use std::path::{Path, PathBuf};

use crate::{FleetError, Question};

/// A bucket, which a build without them never has.
#[derive(Debug)]
pub enum Bucket {}

/// Files that were fetched from a bucket, which a build without them never has.
#[derive(Debug)]
pub struct Mirror {
    /// A place, as a directory.
    pub dir: PathBuf,
    /// Files that were fetched.
    pub fetched: usize,
    /// Their bytes.
    pub fetched_bytes: u64,
}

impl Bucket {
    /// Refuses, as this build opens no bucket.
    pub fn open(url: &str) -> Result<Self, FleetError> {
        Err(FleetError::Unfit(format!(
            "{url}: this fathom was built without buckets (the feature s3 of its package)"
        )))
    }

    /// As the user wrote it.
    pub fn url(&self) -> &str {
        match *self {}
    }

    /// Puts copies of files.
    pub fn put(&self, _: &[(PathBuf, PathBuf)]) -> Result<(), FleetError> {
        match *self {}
    }

    /// Whether there is an object of this name.
    pub fn has(&self, _: &Path) -> Result<bool, FleetError> {
        match *self {}
    }

    /// The object that the address itself names, into a file.
    pub fn fetch(&self, _: &Path) -> Result<(), FleetError> {
        match *self {}
    }

    /// The rows that a question asks for.
    pub fn mirror(&self, _: &Question, _: &[(String, String)]) -> Result<Mirror, FleetError> {
        match *self {}
    }
}
