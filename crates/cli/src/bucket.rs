//! Places and inputs in buckets (`s3://…`).

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fathom_fleet::{Bucket, FleetError};

use crate::exit::Environment;

/// How the address of a bucket begins.
const SCHEME: &str = "s3://";

/// The bucket that an argument names; `None`: it is a path.
pub fn named(argument: &Path) -> Option<Result<Bucket>> {
    let url = argument.to_str().filter(|text| text.starts_with(SCHEME))?;
    Some(Bucket::open(url).map_err(user_error))
}

/// An error with the exit status that belongs to it.
pub fn user_error(error: FleetError) -> anyhow::Error {
    match error {
        FleetError::Bucket { .. } => Environment(error.to_string()).into(),
        error => error.into(),
    }
}

/// Inputs of a command, those of buckets as files that go with this.
pub struct Inputs {
    /// In the order that they were named in.
    pub paths: Vec<PathBuf>,
    _fetched: Option<tempfile::TempDir>,
}

impl Inputs {
    /// Fetches what is in buckets into a private directory.
    pub fn of(named: &[PathBuf], report_to_user: bool) -> Result<Self> {
        let mut dir = None;
        let mut paths = Vec::with_capacity(named.len());
        for (i, path) in named.iter().enumerate() {
            let Some(bucket) = self::named(path) else {
                paths.push(path.clone());
                continue;
            };
            if report_to_user {
                eprintln!("fathom: fetching {}", fathom_render::printable(&path.display().to_string()));
            }
            let within = match &mut dir {
                Some(dir) => dir,
                none => none.insert(tempfile::tempdir().context("a directory for what is fetched")?),
            };
            // Two of one name may be meant.
            let within = within.path().join(i.to_string());
            std::fs::create_dir(&within).with_context(|| within.display().to_string())?;
            let to = within.join(path.file_name().unwrap_or_default());
            bucket?.fetch(&to).map_err(user_error)?;
            paths.push(to);
        }
        Ok(Self { paths, _fetched: dir })
    }
}
