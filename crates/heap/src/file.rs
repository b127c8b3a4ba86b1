//! The dump's bytes: a map of the file, or of what was unpacked from it.
//!
//! `jcmd GC.heap_dump -gz=1` writes many gzip members one after the other
//! (`heapDumperCompression.cpp`, JDK 17), which is one stream to every reader that goes on after
//! the end of a member. A packed dump is unpacked into a file that has no name and that nobody else
//! can open, in the folder of temporary files; an error says how much it needs when it does not
//! fit.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use memmap2::Mmap;

use crate::HeapError;
use crate::progress::Progress;

/// More is not unpacked, bytes: a dump that is larger could not be read.
const LONGEST: u64 = 1 << crate::numbers::PLACE_BITS;
/// Bytes handed on at a time while unpacking.
const PART: usize = 1 << 20;

/// How a dump begins, whatever its version.
const BEGINS: &[u8] = b"JAVA PROFILE 1.0.";

/// Whether a file is a heap dump, packed or plain, by how it begins. What is not a regular file is
/// not looked at: a pipe is read once.
pub fn is_dump(path: &Path) -> bool {
    let file = path.is_file().then(|| File::open(path).ok()).flatten();
    let Some(mut file) = file else { return false };
    let mut head = [0; BEGINS.len()];
    if file.read_exact(&mut head).is_err() {
        return false;
    }
    if head.starts_with(&[0x1f, 0x8b]) {
        let unpacked =
            file.seek(SeekFrom::Start(0)).and_then(|_| MultiGzDecoder::new(file).read_exact(&mut head));
        if unpacked.is_err() {
            return false;
        }
    }
    head == BEGINS
}

/// The bytes of a dump.
#[derive(Debug)]
pub struct DumpFile {
    map: Mmap,
    /// Whether the packed file ended before its end.
    pub cut_while_packed: bool,
    /// Bytes of the file as it lies on disk.
    pub file_bytes: u64,
    /// Whether it was packed.
    pub packed: bool,
}

impl DumpFile {
    /// Opens a dump, packed or plain.
    pub fn open(path: &Path, progress: &Progress) -> Result<Self, HeapError> {
        let failed = |cause: io::Error| HeapError::Io { path: path.to_owned(), cause };
        let mut file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if !about.is_file() {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
        }
        let mut head = [0; 2];
        let packed = file.read_exact(&mut head).is_ok() && head == [0x1f, 0x8b];
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut cut_while_packed = false;
        if packed {
            let mut plain = tempfile::tempfile_in(crate::column::folder()).map_err(failed)?;
            let bytes = about.len();
            cut_while_packed =
                !unpack(file, &mut plain, &|at| progress.done(at as f64 / bytes as f64)).map_err(failed)?;
            file = plain;
        }
        // SAFETY: the map is only read. Somebody who shortens the file meanwhile ends this process
        // by SIGBUS; nothing that was checked is relied upon after it could have changed, as every
        // read is bounded again.
        let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
        Ok(Self { map, cut_while_packed, file_bytes: about.len(), packed })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }
}

/// Unpacks as far as it goes; whether that was to the end.
fn unpack(packed: File, plain: &mut File, at: &dyn Fn(u64)) -> io::Result<bool> {
    let mut reader = MultiGzDecoder::new(io::BufReader::with_capacity(PART, packed));
    let mut part = vec![0; PART];
    let mut unpacked = 0;
    while unpacked <= LONGEST {
        match reader.read(&mut part) {
            Ok(0) => return Ok(true),
            Ok(bytes) => {
                plain.write_all(&part[..bytes]).map_err(with_the_folder)?;
                unpacked += bytes as u64;
                at(reader.get_mut().stream_position()?);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // What was unpacked so far is kept: the JVM, the disk or a copy ended early.
            Err(_) => return Ok(false),
        }
    }
    Ok(false)
}

/// Says which folder is full.
fn with_the_folder(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::StorageFull => {
            let folder = crate::column::folder();
            let message = format!(
                "unpacking needs more room than {} has (TMPDIR names another folder)",
                folder.display()
            );
            io::Error::new(error.kind(), message)
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_members_are_one_dump_and_a_cut_one_gives_what_was_there() {
        let member = |text: &[u8]| {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(text).unwrap();
            packer.finish().unwrap()
        };
        let whole = [member(b"one"), member(b"two")].concat();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&whole).unwrap();
        let dump = DumpFile::open(file.path(), &Progress::default()).unwrap();
        assert_eq!((dump.bytes(), dump.packed, dump.cut_while_packed), (&b"onetwo"[..], true, false));
        file.as_file().set_len(whole.len() as u64 - 9).unwrap();
        let dump = DumpFile::open(file.path(), &Progress::default()).unwrap();
        assert!(dump.cut_while_packed && dump.bytes().starts_with(b"one"));
    }
}
