//! Members of a zip archive, read as streams from where they lie in the file.
//!
//! The directory at the end of the archive is read by the `zip` crate; a member is then a range of
//! the file, stored or deflated. Each member is an input of its own. Archives within archives are
//! not followed, and all members together share one budget, so that members that overlap (a known
//! kind of bomb) do not multiply.

use fathom_recording::quantity::whole;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use flate2::Crc;
use zip::{CompressionMethod, ZipArchive};

use super::unpack::{Bounded, Budget, Expansion};
use super::{Item, MOST_FILES, Place};

/// A member of an archive.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    archive: Arc<File>,
    start: u64,
    packed_bytes: u64,
    deflated: bool,
    crc32: u32,
    budget: Arc<Budget>,
}

/// The members of the archive at `path`.
pub(super) fn members(path: &Path, limit: Expansion) -> io::Result<Vec<Item>> {
    let file = Arc::new(File::open(path)?);
    let budget = Budget::new(limit, file.metadata()?.len());
    let mut archive = ZipArchive::new(file.as_ref()).map_err(io::Error::other)?;
    if archive.len() > MOST_FILES {
        return Err(io::Error::other(format!(
            "has more than {} members: unpack those of interest",
            whole(MOST_FILES)
        )));
    }
    let mut items = Vec::new();
    for i in 0..archive.len() {
        let member = archive.by_index_raw(i).map_err(io::Error::other)?;
        if !member.is_file() {
            continue;
        }
        let name = format!("{}/{}", path.display(), member.name().map_err(io::Error::other)?);
        let deflated = match member.compression() {
            CompressionMethod::Stored => Some(false),
            CompressionMethod::Deflated => Some(true),
            _ => None,
        };
        let place = match (deflated, member.data_start(), member.encrypted()) {
            (_, _, true) => Place::Nowhere("is encrypted".to_owned()),
            (Some(deflated), Some(start), false) => Place::Member(Member {
                archive: file.clone(),
                start,
                packed_bytes: member.compressed_size(),
                deflated,
                crc32: member.crc32(),
                budget: budget.clone(),
            }),
            _ => Place::Nowhere(format!("is packed as {}: unpack it first", member.compression())),
        };
        items.push(Item { name, modified: None, bytes: member.compressed_size(), place, found: true });
    }
    Ok(items)
}

impl Member {
    pub(super) fn budget(&self) -> Arc<Budget> {
        self.budget.clone()
    }

    /// Its content. `metered` wraps what is read from disk.
    pub(super) fn stream(&self, metered: impl FnOnce(Slice) -> Box<dyn Read + Send>) -> Box<dyn Read + Send> {
        let slice = Slice { file: self.archive.clone(), at: self.start, left: self.packed_bytes };
        let raw = metered(slice);
        let check =
            |content: Box<dyn Read + Send>| Checked { content, crc: Crc::new(), expected: self.crc32 };
        match self.deflated {
            false => Box::new(check(raw)),
            true => {
                let inflated = flate2::bufread::DeflateDecoder::new(BufReader::new(raw));
                let bounded = Bounded { inner: inflated, budget: self.budget.clone() };
                Box::new(check(Box::new(bounded)))
            }
        }
    }
}

/// A range of a file, read without moving the file's own position, which other members share.
pub(super) struct Slice {
    file: Arc<File>,
    at: u64,
    left: u64,
}

impl Read for Slice {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let n = self.file.read_at(buffer.get_mut(..room).unwrap_or_default(), self.at)?;
        if n == 0 && room > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at = self.at.saturating_add(n as u64);
        self.left = self.left.saturating_sub(n as u64);
        Ok(n)
    }
}

/// Compares the checksum at the end: what was read before stays, the damage is reported.
struct Checked {
    content: Box<dyn Read + Send>,
    crc: Crc,
    expected: u32,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.content.read(buffer)?;
        self.crc.update(buffer.get(..n).unwrap_or_default());
        if n == 0 && !buffer.is_empty() && self.crc.sum() != self.expected {
            return Err(io::Error::other(
                "the checksum in the archive does not match: the member is damaged",
            ));
        }
        Ok(n)
    }
}
