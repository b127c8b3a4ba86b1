//! Compressed content, recognised by its magic bytes and decompressed as a stream under a limit.
//!
//! | bytes | packing |
//! |---|---|
//! | `1f 8b` | gzip, any number of members (RFC 1952) |
//! | `28 b5 2f fd`, `5? 2a 4d 18` | zstd, any number of frames, skippable ones too (RFC 8878) |
//! | `BZh1` … `BZh9` | bzip2, any number of streams |
//! | `PK 03 04`, `PK 05 06` | zip: see [`super::zip`] |
//!
//! One layer is removed, not more: a gzip within a gzip is not a log, and nested archives are how
//! decompression bombs work.

use fathom_recording::quantity::whole;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The compression of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstd,
    Bzip2,
    Zip,
}

impl Packing {
    /// The compression of content that begins with `head`.
    pub(crate) fn of(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Self::Zip,
            _ => Self::Plain,
        }
    }
}

/// How much compressed content may expand.
#[derive(Clone, Copy, Debug)]
pub struct Expansion {
    /// Up to this size it is not limited, bytes.
    pub floor_bytes: u64,
    /// Beyond that, how many times its compressed size the content may have.
    pub ratio: u64,
}

impl Default for Expansion {
    /// Logs shrink 10 to 100 times; deflate cannot do more than 1032 times, and only on one
    /// repeated byte.
    fn default() -> Self {
        Self { floor_bytes: 1 << 30, ratio: 1000 }
    }
}

/// How much one file on disk (all members of an archive together) may still expand.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: Expansion,
    packed: AtomicU64,
    unpacked: AtomicU64,
}

impl Budget {
    /// A budget for a file of `packed_bytes`; 0 for a stream, whose bytes are added as they come.
    pub(crate) fn new(limit: Expansion, packed_bytes: u64) -> Arc<Self> {
        Arc::new(Self { limit, packed: AtomicU64::new(packed_bytes), unpacked: AtomicU64::new(0) })
    }

    pub(crate) fn add_packed(&self, bytes: u64) {
        self.packed.fetch_add(bytes, Ordering::Relaxed);
    }

    fn take(&self, bytes: u64) -> io::Result<()> {
        let unpacked = self.unpacked.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let packed = self.packed.load(Ordering::Relaxed);
        let allowed = self.limit.floor_bytes.max(packed.saturating_mul(self.limit.ratio));
        if unpacked <= allowed {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "expands to more than {} bytes from {}: stopped there, as this looks like a decompression bomb",
            whole(allowed),
            whole(packed)
        )))
    }
}

/// Counts decompressed bytes against the budget.
pub(super) struct Bounded<R> {
    pub(super) inner: R,
    pub(super) budget: Arc<Budget>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.budget.take(n as u64)?;
        Ok(n)
    }
}

/// The first bytes of a stream, and the stream including them.
pub(crate) fn with_magic<R: Read + Send + 'static>(mut raw: R) -> io::Result<(Packing, impl Read + Send)> {
    let mut magic = [0; 4];
    let mut have = 0;
    while let Some(room @ [_, ..]) = magic.get_mut(have..) {
        match raw.read(room) {
            Ok(0) => break,
            Ok(n) => have += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let head = magic.get(..have).unwrap_or_default().to_vec();
    Ok((Packing::of(&head), Cursor::new(head).chain(raw)))
}

/// The decompressed stream of `raw`, which begins with its magic bytes. A zip is returned as it is.
pub(crate) fn unpack(
    packing: Packing,
    raw: impl Read + Send + 'static,
    budget: Arc<Budget>,
) -> io::Result<Box<dyn Read + Send>> {
    fn bounded(inner: impl Read + Send + 'static, budget: Arc<Budget>) -> Box<dyn Read + Send> {
        Box::new(Bounded { inner, budget })
    }
    fn buffered(raw: impl Read + Send + 'static) -> impl BufRead + Send + 'static {
        BufReader::with_capacity(128 << 10, raw)
    }
    Ok(match packing {
        Packing::Plain | Packing::Zip => Box::new(raw),
        Packing::Gzip => bounded(flate2::bufread::MultiGzDecoder::new(buffered(raw)), budget),
        Packing::Bzip2 => bounded(bzip2::bufread::MultiBzDecoder::new(buffered(raw)), budget),
        Packing::Zstd => bounded(zstd::stream::read::Decoder::with_buffer(buffered(raw))?, budget),
    })
}

/// Compressed content for tests.
#[cfg(test)]
pub(crate) mod packed {
    use std::io::Write;

    pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 3).unwrap()
    }

    pub(crate) fn bzip2(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::packed::{bzip2, gzip, zstd};
    use super::*;

    fn unpacked(packed: Vec<u8>, limit: Expansion) -> (Vec<u8>, Option<io::Error>) {
        let budget = Budget::new(limit, packed.len() as u64);
        let (packing, raw) = with_magic(Cursor::new(packed)).unwrap();
        let mut out = Vec::new();
        let mut reader = unpack(packing, raw, budget).unwrap();
        let mut buffer = [0; 1000];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return (out, None),
                Ok(n) => out.extend_from_slice(&buffer[..n]),
                Err(error) => return (out, Some(error)),
            }
        }
    }

    #[test]
    fn every_compression_is_recognised_by_its_bytes_and_all_members_are_read() {
        let (one, two) = (b"first member\n".repeat(1000), b"second member\n".repeat(1000));
        let both = [one.clone(), two.clone()].concat();
        for pack in [gzip, zstd, bzip2] {
            let (out, error) = unpacked([pack(&one), pack(&two)].concat(), Expansion::default());
            assert!(error.is_none(), "{error:?}");
            assert_eq!(out, both);
        }
        assert_eq!(unpacked(both.clone(), Expansion::default()).0, both);
        for short in [&b""[..], b"a", b"BZ", b"PK"] {
            assert_eq!(unpacked(short.to_vec(), Expansion::default()).0, short);
        }
    }

    #[test]
    fn what_was_decompressed_before_the_truncation_is_kept_and_the_truncation_is_an_error() {
        let text: String =
            (0..50_000).map(|i| format!("[{i}.000s][info][gc] line {}\n", i * 7919 % 1013)).collect();
        for pack in [gzip, zstd, bzip2] {
            let packed = pack(text.as_bytes());
            let (out, error) = unpacked(packed[..packed.len() * 3 / 4].to_vec(), Expansion::default());
            assert!(error.is_some());
            assert!(text.as_bytes().starts_with(&out));
        }
        let packed = zstd(text.as_bytes());
        assert!(
            unpacked(packed[..packed.len() * 3 / 4].to_vec(), Expansion::default()).0.len() > text.len() / 4
        );
    }

    #[test]
    fn a_bomb_is_stopped_at_the_limit() {
        let bomb = zstd(&vec![b'x'; 8 << 20]);
        let (out, error) = unpacked(bomb, Expansion { floor_bytes: 1 << 20, ratio: 10 });
        assert!(out.len() <= 1 << 20);
        assert!(error.unwrap().to_string().contains("stopped there"));
    }
}
