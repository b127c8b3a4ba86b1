//! Where what arrived lies: `DIR/day=2026-11-29/service=shop/host=web-1/TIME-ID.jfr`, the layout of
//! a fleet's rows. Each file is written whole, synced and moved to its name, and never changed.

use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use fathom_recording::Identity;
use fathom_recording::quantity::bytes;

use super::push::Push;
use crate::output::write_new_file;

/// How deep files lie.
const DEEPEST: usize = 4;

/// See the module.
pub struct Store {
    dir: PathBuf,
    most: u64,
    /// Bytes that lie there, as far as is known: looked up again when there is no room.
    used: Mutex<u64>,
}

impl Store {
    /// The directory, which is made if it is not there.
    pub fn open(dir: PathBuf, most: u64) -> Result<Self> {
        private(&dir)?;
        let used = used(&dir, DEEPEST);
        Ok(Self { dir, most, used: Mutex::new(used) })
    }

    /// Keeps a profile, or says why not.
    pub fn keep(&self, push: &Push) -> Result<PathBuf> {
        let length = push.bytes.len() as u64;
        let mut used_now = self.used.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if used_now.saturating_add(length) > self.most {
            *used_now = used(&self.dir, DEEPEST);
        }
        if used_now.saturating_add(length) > self.most {
            bail!(
                "there is no room: {} lie there, and --max-disk is {}",
                bytes(*used_now as f64),
                bytes(self.most as f64)
            );
        }
        let now = jiff::Timestamp::now();
        let identity =
            Identity { service: push.service.clone(), host: push.host.clone(), ..Identity::default() };
        let partition = fathom_fleet::partition(&now.strftime("%Y-%m-%d").to_string(), &identity);
        let dir = self.dir.join(partition);
        private(&dir)?;
        let id = Identity::new_recording_id().context("no random bits from /dev/urandom")?;
        let id = id.get(..8).unwrap_or(&id);
        let path = dir.join(format!("{}-{id}.{}", now.strftime("%Y%m%dT%H%M%S%.3fZ"), push.ending));
        write_new_file(&path, |out| Ok(out.write_all(&push.bytes)?))?;
        *used_now = used_now.saturating_add(length);
        Ok(path)
    }
}

/// Makes a directory that only the user can enter, and those above it.
fn private(dir: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).with_context(|| dir.display().to_string())
}

/// Bytes of the files below a directory. Links are not followed.
fn used(dir: &Path, depth: usize) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let of = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(about) if about.is_dir() && depth > 0 => used(&entry.path(), depth - 1),
        Ok(about) if about.is_file() => about.len(),
        _ => 0,
    };
    entries.map(of).sum()
}
