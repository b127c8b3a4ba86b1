//! Checksums of the tables' files: Parquet's pages carry none as `parquet` 60.1 writes them, so
//! that a bit flipped in transfer could change a value unnoticed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Bytes read at a time.
const CHUNK: usize = 256 << 10;

/// A file that is written from its beginning to its end, and the CRC-32 of what was written.
pub(super) struct Summed {
    file: File,
    sum: crc32fast::Hasher,
}

impl Summed {
    pub fn new(file: File) -> Self {
        Self { file, sum: crc32fast::Hasher::new() }
    }

    /// The file and its checksum.
    pub fn finish(self) -> (File, Checksum) {
        (self.file, Checksum(self.sum.finalize()))
    }
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The CRC-32 (that of gzip and zip) of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Checksum(u32);

impl Checksum {
    /// The checksum of a file as it is now.
    pub fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let (mut chunk, mut sum) = (vec![0; CHUNK], crc32fast::Hasher::new());
        loop {
            match file.read(&mut chunk) {
                Ok(0) => return Ok(Self(sum.finalize())),
                Ok(n) => sum.update(&chunk[..n]),
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
    }
}

impl std::fmt::Display for Checksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_has_the_sum_that_gzip_gives_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut summed = Summed::new(file.reopen().unwrap());
        summed.write_all(b"1234").unwrap();
        summed.write_all(b"56789").unwrap();
        let (_, sum) = summed.finish();
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(sum.to_string(), "cbf43926");
        assert_eq!(Checksum::of(file.path()).unwrap(), sum);
    }
}
