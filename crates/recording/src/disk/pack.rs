//! One file to send: `NAME.fathom.tar`, a plain tar archive of the directory. The tables are
//! compressed already; another layer would save 1% and cost the time of it.
//!
//! An archive is untrusted: only files that a recording has are unpacked, by their exact names, so
//! that no path leads out of the directory; only plain files, so that no link does; and no more
//! bytes than the archive has itself, so that nothing expands.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use tar::{Archive, Builder, EntryType, Header};

use super::meta::Meta;
use super::{EXTENSION, Overwrite, create, private_files, spool};
use crate::RecordingError;

/// The extension of packed recordings.
pub const PACKED_EXTENSION: &str = "fathom.tar";

/// An archive with more entries than a recording can have is not one.
const MAX_ENTRIES: usize = 64;

/// The magic bytes of a tar archive and their offset.
const MAGIC: std::ops::Range<usize> = 257..262;

/// Whether content that begins with `head` (at least 512 bytes of it) is a packed recording: a tar
/// archive whose first entry is a recording's `meta.json`.
pub fn is_packed(head: &[u8]) -> bool {
    let name = head.get(..100).and_then(|name| name.split(|byte| *byte == 0).next()).unwrap_or_default();
    head.get(MAGIC) == Some(b"ustar") && name.ends_with(b".fathom/meta.json")
}

/// Packs the recording in `dir` into `out`, which is called `to` in errors.
pub fn pack(dir: &Path, out: impl Write, to: &Path) -> Result<(), RecordingError> {
    Meta::load(dir)?;
    let name = file_name(dir)?;
    let mut archive = Builder::new(out);
    for file in create::files() {
        let path = dir.join(&file);
        // A recording has tables or a spool, and both only when it was killed while it was
        // finished.
        if !path.symlink_metadata().is_ok_and(|info| info.is_file()) {
            continue;
        }
        let (table, bytes) = open_table(&path).map_err(RecordingError::io(&path))?;
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_size(bytes);
        header.set_mode(0o600);
        let within = Path::new(&name).join(&file);
        archive.append_data(&mut header, within, table).map_err(RecordingError::io(to))?;
    }
    let finished = archive.into_inner().and_then(|mut out| out.flush());
    finished.map_err(RecordingError::io(to))
}

/// A file of a recording and its length.
fn open_table(path: &Path) -> std::io::Result<(File, u64)> {
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}

/// Name of the recording within the archive: its directory's, ending in `.fathom`.
fn file_name(dir: &Path) -> Result<String, RecordingError> {
    let full = dir.canonicalize().map_err(RecordingError::io(dir))?;
    let name = full.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.strip_suffix(".fathom").unwrap_or(&name);
    Ok(format!("{stem}.{EXTENSION}"))
}

/// Unpacks the file `packed` as the recording `to`; without `to`, under the name that it has in the
/// archive, in the current directory. Returns where it is.
pub fn unpack(packed: &Path, to: Option<&Path>, overwrite: Overwrite) -> Result<PathBuf, RecordingError> {
    let to = match to {
        Some(to) => to.to_path_buf(),
        None => PathBuf::from(name_in(packed)?),
    };
    create::check_place(&to, overwrite)?;
    let temporary = create::make_next_to(&to)?;
    let unpacked = extract(packed, &temporary).and_then(|()| create::move_into_place(&temporary, &to));
    if unpacked.is_err() {
        // Best effort: the first error is the one that matters.
        let _ = create::remove(&temporary);
    }
    unpacked.map(|()| to)
}

/// Unpacks a recording to be read, into a temporary directory that goes with what is returned.
pub(super) fn unpack_to_read(packed: &Path) -> Result<tempfile::TempDir, RecordingError> {
    let temporary =
        tempfile::Builder::new().prefix("fathom-").tempdir().map_err(RecordingError::io(packed))?;
    extract(packed, temporary.path())?;
    Ok(temporary)
}

/// The name of the recording in an archive, if it is a plain one.
fn name_in(packed: &Path) -> Result<String, RecordingError> {
    let mut archive = archive(packed)?;
    let first = archive.entries().and_then(|mut entries| entries.next().transpose());
    let entry = first.map_err(not_packed(packed))?;
    let path = entry.map(|entry| entry.path_bytes().into_owned()).unwrap_or_default();
    let name = String::from_utf8_lossy(&path).split('/').next().unwrap_or_default().to_owned();
    let plain =
        name.ends_with(".fathom") && !name.starts_with(['.', '-']) && !name.contains(char::is_control);
    if plain {
        Ok(name)
    } else {
        Err(not_packed(packed)("the name of its recording is not a plain one; give one"))
    }
}

fn extract(packed: &Path, into: &Path) -> Result<(), RecordingError> {
    let known = create::files();
    let mut archive = archive(packed)?;
    for (count, entry) in archive.entries().map_err(not_packed(packed))?.enumerate() {
        let mut entry = entry.map_err(not_packed(packed))?;
        let header = entry.header();
        let kind = header.entry_type();
        if kind.is_dir() && count < MAX_ENTRIES {
            continue;
        }
        let path = entry.path_bytes().into_owned();
        let within = path.iter().position(|byte| *byte == b'/').map_or(&path[..], |slash| &path[slash + 1..]);
        let file = known.iter().find(|file| file.as_os_str().as_encoded_bytes() == within);
        let Some(file) = file.filter(|_| kind.is_file() && count < MAX_ENTRIES) else {
            let name = String::from_utf8_lossy(&path).escape_debug().to_string();
            return Err(not_packed(packed)(format!(
                "it holds a file that does not belong to a recording: {name}"
            )));
        };
        if file.starts_with(spool::DIR) && !into.join(spool::DIR).is_dir() {
            private_files::make_dir(&into.join(spool::DIR))?;
        }
        let target = into.join(file);
        let size = entry.size();
        let mut out = private_files::make_file(&target)?;
        let copied = std::io::copy(&mut entry.by_ref().take(size), &mut out);
        if copied.map_err(RecordingError::io(packed))? != size {
            return Err(RecordingError::damaged(packed)("it is truncated"));
        }
    }
    Meta::load(into).map(|_| ()).map_err(|cause| match cause {
        RecordingError::NotARecording { why, .. } => not_packed(packed)(why),
        RecordingError::Newer { found, tool, known, .. } => {
            RecordingError::Newer { path: packed.to_path_buf(), found, tool, known }
        }
        other => other,
    })
}

fn archive(packed: &Path) -> Result<Archive<BufReader<File>>, RecordingError> {
    let mut file = BufReader::new(File::open(packed).map_err(RecordingError::io(packed))?);
    let mut head = [0; 512];
    let read = file.read_exact(&mut head).and_then(|()| std::io::Seek::rewind(&mut file));
    if read.is_err() || !is_packed(&head) {
        return Err(not_packed(packed)("neither a directory nor a packed recording"));
    }
    Ok(Archive::new(file))
}

fn not_packed<E: std::fmt::Display>(path: &Path) -> impl FnOnce(E) -> RecordingError + '_ {
    |why| RecordingError::NotARecording { path: path.to_path_buf(), why: why.to_string() }
}
