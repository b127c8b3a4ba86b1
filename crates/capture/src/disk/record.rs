//! What the program in the kernel tells and counts: `bpf/disk.h`, byte by byte.

use crate::bpf::words::{long, text, word};

/// Bytes of a device's or file's name.
const NAME: usize = 32;
/// Bytes of `struct disk_event`.
const EVENT: usize = 88 + NAME;

/// Something that took long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) from_ns: u64,
    /// When a request went to the device.
    pub(super) issued_ns: u64,
    pub(super) to_ns: u64,
    pub(super) bytes: u64,
    /// Of the file of a sync.
    pub(super) inode: u64,
    pub(super) what: What,
    /// Of a request: which operation; of writeback: why; of a sync: which system call.
    pub(super) number: u32,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) result: i32,
    /// Descriptor of the file of a sync.
    pub(super) fd: u32,
    pub(super) comm: String,
    /// The device; of a sync the file, without folders.
    pub(super) name: String,
}

/// `enum disk_what`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Request,
    Commit,
    Writeback,
    Throttle,
    Sync,
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

/// Why the kernel writes back: `enum wb_reason` (include/linux/backing-dev-defs.h), as it prints them.
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
    /// From the bytes of a ring buffer; `None` when they are none.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..EVENT)?;
        let what = match word(bytes, 40)? {
            1 => What::Request,
            2 => What::Commit,
            3 => What::Writeback,
            4 => What::Throttle,
            5 => What::Sync,
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
            result: word(bytes, 60)?.cast_signed(),
            fd: word(bytes, 64)?,
            comm: text(&bytes[72..88]),
            name: text(&bytes[88..]),
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
}
