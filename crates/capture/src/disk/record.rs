//! What the program in the kernel sends and counts: `bpf/disk.h`.

use syscalls::Sysno;

use super::program::SYNC_CALLS;
use super::program::skeleton::types::{
    disk_counts, disk_event, disk_file, disk_key, disk_op, disk_what, written_key,
};
use crate::bpf::record::text;

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

/// What an event reports.
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

/// The name of a kind of requests.
pub(super) fn op_name(op: u32) -> &'static str {
    match disk_op(op) {
        disk_op::DISK_READ => "read",
        disk_op::DISK_WRITE => "write",
        disk_op::DISK_FLUSH => "flush",
        disk_op::DISK_DISCARD => "discard",
        _ => "other",
    }
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
    Sysno::new(number as usize).filter(|call| SYNC_CALLS.contains(call)).map_or("sync", |call| call.name())
}

impl Event {
    /// As the program sends it; `None` where its kind is not known.
    pub(super) fn of(event: &disk_event) -> Option<Self> {
        let what = match disk_what(event.what) {
            disk_what::DISK_REQUEST => What::Request,
            disk_what::DISK_COMMIT => What::Commit,
            disk_what::DISK_WRITEBACK => What::Writeback,
            disk_what::DISK_THROTTLE => What::Throttle,
            disk_what::DISK_SYNC => What::Sync,
            disk_what::DISK_FILE => What::File,
            _ => return None,
        };
        Some(Self {
            from_ns: event.from_ns,
            issued_ns: event.issued_ns,
            to_ns: event.to_ns,
            bytes: event.bytes,
            inode: event.inode,
            what,
            number: event.number,
            pid: event.pid,
            tid: event.tid,
            dev: (event.dev >> MINOR_BITS, event.dev & ((1 << MINOR_BITS) - 1)),
            result: event.result,
            fd: event.fd,
            comm: text(&event.comm),
            name: text(&event.name),
        })
    }
}

impl WrittenFile {
    /// As the program sends it; `None` when it is something else.
    pub(super) fn of(file: &disk_file) -> Option<Self> {
        let event = Event::of(&file.event).filter(|event| event.what == What::File)?;
        let mut path = String::new();
        for name in file.names.iter().map(|name| name.bytes).take_while(|name| name[0] != 0) {
            // What ends at the last byte but the zero is probably longer.
            let more = if name[name.len() - 2] == 0 { "" } else { "…" };
            path = format!("/{}{more}{path}", text(&name));
        }
        if file.cut != 0 {
            path.insert(0, '…');
        }
        let writer = (file.writer.pid, text(&file.writer.comm));
        Some(Self {
            event,
            writer: Some(writer).filter(|(_, comm)| !comm.is_empty()),
            metadata: file.metadata != 0,
            path,
        })
    }
}

impl WrittenBack {
    /// An entry of the map `written`.
    pub(super) fn of(key: &written_key, bytes: u64) -> Self {
        Self { pid: key.pid, comm: text(&key.comm), device: text(&key.device), bytes }
    }
}

impl Counts {
    /// An entry of the map `totals`.
    pub(super) fn of(key: &disk_key, counts: &disk_counts) -> Self {
        Self {
            op: key.op,
            pid: key.pid,
            comm: text(&key.comm),
            device: text(&counts.device),
            count: counts.count,
            bytes: counts.bytes,
            queue_ns: counts.queue_ns,
            device_ns: counts.device_ns,
            failed: counts.failed,
        }
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
    use crate::bpf::record::characters;

    #[test]
    fn an_event_of_an_unknown_kind_is_none() {
        let sent = disk_event { what: 1, name: characters("vda"), ..disk_event::default() };
        let event = Event::of(&sent).unwrap();
        assert_eq!((event.what, event.name.as_str(), op_name(event.number)), (What::Request, "vda", "read"));
        assert_eq!(Event::of(&disk_event::default()), None);
    }

    #[test]
    fn a_file_has_its_path_from_the_root_and_its_writer() {
        let mut sent = disk_file::default();
        (sent.event.what, sent.event.dev) = (6, 8 << 20 | 3);
        for (name, text) in sent.names.iter_mut().zip(["gc.log", "logs", "srv"]) {
            name.bytes = characters(text);
        }
        let file = WrittenFile::of(&sent).unwrap();
        assert_eq!((file.path.as_str(), file.event.dev, &file.writer), ("/srv/logs/gc.log", (8, 3), &None));
        sent.names[0].bytes = characters(&"x".repeat(47));
        (sent.writer.pid, sent.writer.comm, sent.metadata, sent.cut) = (7, characters("dd"), 1, 1);
        let file = WrittenFile::of(&sent).unwrap();
        let long = format!("…/srv/logs/{}…", "x".repeat(47));
        assert_eq!((file.path.as_str(), file.metadata), (long.as_str(), true));
        assert_eq!(file.writer, Some((7, "dd".into())));
        sent.event.what = 1;
        assert_eq!(WrittenFile::of(&sent), None);
    }
}
