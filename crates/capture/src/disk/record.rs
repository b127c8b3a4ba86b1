//! What the program in the kernel sends and counts: `bpf/disk.h`, byte by byte.

use crate::bpf::words::{long, text, word};

/// Bytes of a device's or file's name.
const NAME: usize = 32;
/// Bytes of `struct disk_event`.
const EVENT: usize = 88 + NAME;
/// Names of a file and of the folders above it.
const NAMES: usize = 12;
/// Bytes of each of them; a longer name is cut.
const FILE_NAME: usize = 48;
/// Bytes of `struct disk_file`.
const FILE: usize = EVENT + 24 + NAMES * FILE_NAME;
/// Bits of a device's number that are its minor one (include/linux/kdev_t.h).
const MINOR_BITS: u32 = 20;

/// Something that took long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) from_ns: u64,
    /// When a request went to the device.
    pub(super) issued_ns: u64,
    pub(super) to_ns: u64,
    pub(super) bytes: u64,
    /// Of the file of a sync, or that was written back.
    pub(super) inode: u64,
    pub(super) what: What,
    /// Of a request: which operation; of writeback: why; of a sync: which system call.
    pub(super) number: u32,
    pub(super) pid: u32,
    pub(super) tid: u32,
    /// The device of a request or a file: major, minor.
    pub(super) dev: (u32, u32),
    pub(super) result: i32,
    /// Descriptor of the file of a sync.
    pub(super) fd: u32,
    pub(super) comm: String,
    /// The device; of a sync the file, without folders.
    pub(super) name: String,
}

/// A file that was written back: `struct disk_file`. `bytes`, `inode`, `dev` and the timestamps of
/// the event are its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrittenFile {
    pub(super) event: Event,
    /// Who wrote to it last, process and name; none where that was before the recording.
    pub(super) writer: Option<(u32, String)>,
    /// Whether it is the block device itself: a file system's metadata.
    pub(super) metadata: bool,
    /// From the root of its file system, "/srv/logs/gc.log"; "…/gc.log" where the beginning is
    /// missing, empty for a file that has no name; a name that was cut ends in "…".
    pub(super) path: String,
}

/// Bytes that were written back, by device and by who wrote to the files last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrittenBack {
    /// Of a target; 0: another process, by `comm`, or nobody knows whose.
    pub(super) pid: u32,
    pub(super) comm: String,
    pub(super) device: String,
    pub(super) bytes: u64,
}

/// `enum disk_what`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Request,
    Commit,
    Writeback,
    Throttle,
    Sync,
    File,
}

/// Requests of a device, kind and issuer since they began to be counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) op: u32,
    /// Of a target; 0: another process, by `comm`.
    pub(super) pid: u32,
    pub(super) comm: String,
    pub(super) device: String,
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) queue_ns: u64,
    pub(super) device_ns: u64,
    pub(super) failed: u64,
}

/// Kinds of requests, by `enum disk_op`.
pub(super) fn op_name(op: u32) -> &'static str {
    ["read", "write", "flush", "discard"].get(op as usize).copied().unwrap_or("other")
}

/// Why the kernel writes back: `enum wb_reason` (include/linux/backing-dev-defs.h), as it prints
/// them.
pub(super) fn reason_name(reason: u32) -> &'static str {
    let names = [
        "background",
        "vmscan",
        "sync",
        "periodic",
        "laptop_timer",
        "fs_free_space",
        "forker_thread",
        "foreign_flush",
    ];
    names.get(reason as usize).copied().unwrap_or("other")
}

/// A system call that writes a file's pages back.
pub(super) fn sync_name(number: u32) -> &'static str {
    match number {
        74 => "fsync",
        75 => "fdatasync",
        277 => "sync_file_range",
        306 => "syncfs",
        _ => "sync",
    }
}

impl Event {
    /// From the bytes of a ring buffer; `None` when they are not one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..EVENT)?;
        let what = match word(bytes, 40)? {
            1 => What::Request,
            2 => What::Commit,
            3 => What::Writeback,
            4 => What::Throttle,
            5 => What::Sync,
            6 => What::File,
            _ => return None,
        };
        Some(Self {
            from_ns: long(bytes, 0)?,
            issued_ns: long(bytes, 8)?,
            to_ns: long(bytes, 16)?,
            bytes: long(bytes, 24)?,
            inode: long(bytes, 32)?,
            what,
            number: word(bytes, 44)?,
            pid: word(bytes, 48)?,
            tid: word(bytes, 52)?,
            dev: word(bytes, 56).map(|dev| (dev >> MINOR_BITS, dev & ((1 << MINOR_BITS) - 1)))?,
            result: word(bytes, 60)?.cast_signed(),
            fd: word(bytes, 64)?,
            comm: text(&bytes[72..88]),
            name: text(&bytes[88..]),
        })
    }
}

impl WrittenFile {
    /// From the bytes of a ring buffer; `None` when they are something else.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let event = Event::parse(bytes).filter(|event| event.what == What::File)?;
        let behind = bytes.get(EVENT..FILE)?;
        let comm = text(&behind[4..20]);
        let mut path = String::new();
        for name in behind[24..].chunks_exact(FILE_NAME).take_while(|name| name[0] != 0) {
            // What ends at the last byte but the zero is probably longer.
            let more = if name[FILE_NAME - 2] == 0 { "" } else { "…" };
            path = format!("/{}{more}{path}", text(name));
        }
        if behind[21] != 0 {
            path.insert(0, '…');
        }
        Some(Self {
            event,
            writer: Some((word(behind, 0)?, comm)).filter(|(_, comm)| !comm.is_empty()),
            metadata: behind[20] != 0,
            path,
        })
    }
}

impl WrittenBack {
    /// From an entry of the map `written`.
    pub(super) fn parse(key: &[u8], value: &[u8]) -> Option<Self> {
        Some(Self {
            pid: word(key, 0)?,
            comm: text(key.get(4..20)?),
            device: text(key.get(20..20 + NAME)?),
            bytes: long(value, 0)?,
        })
    }
}

impl Counts {
    /// From an entry of the map `totals`.
    pub(super) fn parse(key: &[u8], value: &[u8]) -> Option<Self> {
        Some(Self {
            op: word(key, 4)?,
            pid: word(key, 8)?,
            comm: text(key.get(12..28)?),
            count: long(value, 0)?,
            bytes: long(value, 8)?,
            queue_ns: long(value, 16)?,
            device_ns: long(value, 24)?,
            failed: long(value, 40)?,
            device: text(value.get(48..48 + NAME)?),
        })
    }

    /// What came since; a count that began anew counts from zero.
    pub(super) fn since(&self, before: Option<&Self>) -> Self {
        let rise = |of: fn(&Self) -> u64| {
            let (now, before) = (of(self), before.map_or(0, of));
            now.checked_sub(before).unwrap_or(now)
        };
        Self {
            count: rise(|c| c.count),
            bytes: rise(|c| c.bytes),
            queue_ns: rise(|c| c.queue_ns),
            device_ns: rise(|c| c.device_ns),
            failed: rise(|c| c.failed),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_too_short_or_of_an_unknown_kind_is_none() {
        let mut bytes = vec![0_u8; EVENT];
        assert_eq!(Event::parse(&bytes), None);
        bytes[40] = 1;
        bytes[88..91].copy_from_slice(b"vda");
        let event = Event::parse(&bytes).unwrap();
        assert_eq!((event.what, event.name.as_str(), op_name(event.number)), (What::Request, "vda", "read"));
        assert_eq!(Event::parse(&bytes[..EVENT - 1]), None);
    }

    #[test]
    fn a_file_has_its_path_from_the_root_and_its_writer() {
        let mut bytes = vec![0_u8; FILE];
        bytes[40] = 6;
        bytes[56..60].copy_from_slice(&(8 << 20 | 3_u32).to_ne_bytes());
        let names: [&[u8]; 3] = [b"gc.log", b"logs", b"srv"];
        for (i, name) in names.into_iter().enumerate() {
            let at = EVENT + 24 + i * FILE_NAME;
            bytes[at..at + name.len()].copy_from_slice(name);
        }
        let file = WrittenFile::parse(&bytes).unwrap();
        assert_eq!((file.path.as_str(), file.event.dev, &file.writer), ("/srv/logs/gc.log", (8, 3), &None));
        bytes[EVENT + 24..EVENT + 23 + FILE_NAME].fill(b'x');
        bytes[EVENT] = 7;
        bytes[EVENT + 4..EVENT + 6].copy_from_slice(b"dd");
        (bytes[EVENT + 20], bytes[EVENT + 21]) = (1, 1);
        let file = WrittenFile::parse(&bytes).unwrap();
        let long = format!("…/srv/logs/{}…", "x".repeat(FILE_NAME - 1));
        assert_eq!((file.path.as_str(), file.metadata), (long.as_str(), true));
        assert_eq!(file.writer, Some((7, "dd".into())));
        assert_eq!(WrittenFile::parse(&bytes[..FILE - 1]), None);
        bytes[40] = 1;
        assert_eq!(WrittenFile::parse(&bytes), None);
    }
}
