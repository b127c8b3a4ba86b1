//! Rows of a bucket as files of this machine, for engines that read files.
//!
//! Each engine could read buckets by an extension of its own, which is to be had elsewhere, knows
//! other variables and other credentials. Objects are never changed, so that what was fetched once
//! is right as long as the bucket has it: only what a question asks for and is not here is fetched,
//! and what the bucket has no more is removed.

use std::collections::HashSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use futures_util::{TryStreamExt, stream};

use super::{AT_ONCE, Bucket, Listed};
use crate::{FleetError, Question};

/// Below the user's directory of what can be had again.
const CACHE: &str = "fathom/fleet";
/// Taken while files come and go, and shared while they are read.
const LOCK: &str = "lock";

/// Files that a question asks for; they stay while it is held.
#[derive(Debug)]
pub struct Mirror {
    /// A place, as a directory.
    pub dir: PathBuf,
    /// Files that were fetched.
    pub fetched: usize,
    /// Their bytes.
    pub fetched_bytes: u64,
    _lock: File,
    /// Where there is no directory that stays.
    _temporary: Option<tempfile::TempDir>,
}

impl Bucket {
    /// The rows that a question asks for. `set`: its parameters.
    pub fn mirror(&self, question: &Question, set: &[(String, String)]) -> Result<Mirror, FleetError> {
        let (dir, temporary) = self.dir()?;
        let path = dir.join(LOCK);
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let lock = lock.and_then(|lock| lock.lock().map(|()| lock)).map_err(FleetError::io(&path))?;
        let mut mirror = Mirror { dir, fetched: 0, fetched_bytes: 0, _lock: lock, _temporary: temporary };
        self.runtime.block_on(self.fill(&mut mirror, question, set))?;
        // flock(2) turns the one into the other.
        mirror._lock.lock_shared().map_err(FleetError::io(&path))?;
        Ok(mirror)
    }

    async fn fill(
        &self,
        mirror: &mut Mirror,
        question: &Question,
        set: &[(String, String)],
    ) -> Result<(), FleetError> {
        let tables = question.tables();
        let days: Vec<String> =
            self.tops().await?.into_iter().filter(|dir| dir.starts_with("day=")).collect();
        if days.is_empty() {
            return Err(FleetError::nothing_added(&self.url));
        }
        let value = |name: &str| question.value(name, set).unwrap_or_default();
        let (since, until, service) = (value("since"), value("until"), value("service"));
        let asked = |day: &&String| {
            let day = day.trim_start_matches("day=");
            since <= day && (until.is_empty() || day <= until)
        };
        let mut wanted = Vec::new();
        for day in days.iter().filter(asked) {
            let dir = match service {
                "" => day.clone(),
                service => format!("{day}/{}", crate::slot::part("service", Some(service))),
            };
            let listed = self.rows_in(&dir, &tables).await?;
            remove_others(&mirror.dir, &dir, &tables, &listed)?;
            wanted.extend(listed);
        }
        if wanted.is_empty() {
            // An engine takes the columns from files: one of each table, whose rows it leaves out.
            let newest = days.iter().max().map(String::as_str).unwrap_or_default();
            let listed = self.rows_in(newest, &tables).await?;
            let one = |table: &&str| listed.iter().find(|row| is_of(&row.name, table)).cloned();
            wanted.extend(tables.iter().filter_map(one));
        }
        // Some servers list directories in which all was removed.
        if wanted.is_empty() {
            return Err(FleetError::nothing_added(&self.url));
        }
        let is_here =
            |row: &Listed| mirror.dir.join(&row.name).metadata().is_ok_and(|it| it.len() == row.bytes);
        wanted.retain(|row| !is_here(row));
        let each = stream::iter(wanted.iter().map(Ok));
        each.try_for_each_concurrent(AT_ONCE, |row| self.fetch_row(&mirror.dir, row)).await?;
        (mirror.fetched, mirror.fetched_bytes) = (wanted.len(), wanted.iter().map(|row| row.bytes).sum());
        Ok(())
    }

    /// Files of some tables in a directory. Names that fathom does not give are ignored.
    async fn rows_in(&self, dir: &str, tables: &[&str]) -> Result<Vec<Listed>, FleetError> {
        let mut listed = self.list(dir).await?;
        listed.retain(|row| {
            row.name.split('/').count() == 4 && tables.iter().any(|table| is_of(&row.name, table))
        });
        Ok(listed)
    }

    async fn fetch_row(&self, dir: &Path, row: &Listed) -> Result<(), FleetError> {
        let to = dir.join(&row.name);
        let parent = to.parent().unwrap_or(dir);
        make(parent)?;
        let aside = tempfile::NamedTempFile::new_in(parent).map_err(FleetError::io(parent))?;
        self.fetch_one(&self.key(Path::new(&row.name))?, row.bytes, aside.path()).await?;
        aside.persist(&to).map(drop).map_err(|error| FleetError::io(&to)(error.error))
    }

    /// The directory of this place: `$XDG_CACHE_HOME/fathom/fleet/…`, or one that goes again.
    fn dir(&self) -> Result<(PathBuf, Option<tempfile::TempDir>), FleetError> {
        let var = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = var("XDG_CACHE_HOME").or_else(|| Some(var("HOME")?.join(".cache")));
        let Some(cache) = cache else {
            let dir = tempfile::tempdir().map_err(FleetError::io(&std::env::temp_dir()))?;
            return Ok((dir.path().to_path_buf(), Some(dir)));
        };
        // The endpoint may have a password in it.
        let endpoint =
            ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"].map(|name| std::env::var(name).ok());
        let sum = crc32fast::hash(format!("{endpoint:?} {}", self.url).as_bytes());
        let bucket = self.url.split('/').nth(2).unwrap_or_default();
        let dir = cache.join(CACHE).join(format!("{bucket}-{sum:08x}"));
        make(&dir)?;
        Ok((dir, None))
    }
}

fn make(dir: &Path) -> Result<(), FleetError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(FleetError::io(dir))
}

fn is_of(name: &str, table: &str) -> bool {
    name.strip_suffix(".parquet")
        .and_then(|name| name.strip_suffix(table))
        .is_some_and(|name| name.ends_with('-'))
}

/// Removes files of some tables that the bucket does not have.
fn remove_others(mirror: &Path, dir: &str, tables: &[&str], listed: &[Listed]) -> Result<(), FleetError> {
    let known: HashSet<&str> = listed.iter().map(|row| &row.name[..]).collect();
    let mut dirs = vec![mirror.join(dir)];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                dirs.push(path);
                continue;
            }
            let name = path.strip_prefix(mirror).ok().and_then(Path::to_str).unwrap_or_default();
            // What a killed fathom was fetching is nobody's: whoever fetches has the lock.
            let half = entry.file_name().to_string_lossy().starts_with(".tmp");
            if half || (tables.iter().any(|table| is_of(name, table)) && !known.contains(name)) {
                std::fs::remove_file(&path).map_err(FleetError::io(&path))?;
            }
        }
    }
    Ok(())
}
