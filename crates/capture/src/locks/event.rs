//! What the program in the kernel sends and gets: `bpf/locks.h`, byte by byte.

use fathom_hotspot::locks::{LockConstants, Waiting, WaitsFor};
use fathom_recording::vocabulary::kind;

use crate::bpf::interrupts::Waker;
use crate::bpf::words;

/// Bytes of an event.
pub(super) const SIZE: usize = 112;
/// `LOCK_LATER`, `LOCK_ENDED`.
const LATER: u32 = 5;
const ENDED: u32 = 6;

/// What the ring buffer holds.
pub(super) enum Record {
    /// A wait for a lock.
    Wait(Event),
    /// A thread of which is not known whether it is Java's.
    Unknown(u32),
    /// A thread of Java's has ended.
    Ended {
        pid: u32,
        tid: u32,
        /// When, monotonic nanoseconds.
        at_ns: u64,
    },
}

impl Record {
    /// From the bytes of the ring buffer; `None` when they are not one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| words::word(bytes, at);
        match word(68)? {
            _ if bytes.len() < SIZE => None,
            0 => Some(Self::Unknown(word(60)?)),
            ENDED => Some(Self::Ended { pid: word(56)?, tid: word(60)?, at_ns: words::long(bytes, 0)? }),
            _ => Event::parse(bytes).map(Self::Wait),
        }
    }
}

/// What a thread waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Waited {
    /// To enter a Java monitor.
    Monitor,
    /// In `Object.wait`.
    Wait,
    /// Parked, with a blocker.
    Park,
    /// For a mutex of the C library.
    Native,
}

impl Waited {
    /// The kind of its spans.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Monitor => kind::LOCK_MONITOR,
            Self::Wait => kind::LOCK_WAIT,
            Self::Park => kind::LOCK_PARK,
            Self::Native => kind::LOCK_NATIVE,
        }
    }
}

/// A wait for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// Switched out, monotonic nanoseconds.
    pub(super) off_ns: u64,
    /// Ran again; 0: not yet.
    pub(super) on_ns: u64,
    /// The monitor, the blocker, the mutex: an address.
    pub(super) lock: u64,
    /// Who held it when the wait began, in the lock's own terms; 0: not known.
    pub(super) owner: u64,
    /// First bytes of the object that is locked.
    pub(super) header: [u64; 2],
    /// Timestamp of its stack; 0: none.
    pub(super) stack_ns: u64,
    pub(super) pid: u32,
    pub(super) tid: u32,
    /// Thread that woke it; 0: an interrupt, or nobody.
    pub(super) waker: u32,
    pub(super) waited: Waited,
    /// Thread id of the owner, if the owner is a thread; 0: not known.
    pub(super) owner_tid: u32,
    /// Whether the thread did something else since the wait before (slept for something else, read
    /// or wrote, ran for longer than the lock's own function does): it had got what it waited for
    /// then.
    pub(super) apart: bool,
    /// What it was for was read when it was over, and its owner is not known.
    pub(super) later: bool,
}

impl Event {
    /// An event from the bytes of the ring buffer or of the map of waits; `None` when they are
    /// none, or no wait.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..SIZE)?;
        let long = |at: usize| words::long(bytes, at);
        let word = |at: usize| words::word(bytes, at);
        let waited = match word(68)? {
            1 => Waited::Monitor,
            2 => Waited::Wait,
            3 => Waited::Park,
            4 => Waited::Native,
            _ => return None,
        };
        let event = Self {
            off_ns: long(0)?,
            on_ns: long(8)?,
            lock: long(16)?,
            owner: long(24)?,
            header: [long(32)?, long(40)?],
            stack_ns: long(48)?,
            pid: word(56)?,
            tid: word(60)?,
            waker: thread_of(Waker::parse(word(64)?)),
            waited,
            owner_tid: word(72)?,
            apart: bytes[76..78] != [0, 0],
            later: word(84)? != 0,
        };
        (event.off_ns > 0).then_some(event)
    }

    /// A wait that goes on.
    pub(super) fn going_on((pid, tid): (u32, u32), off_ns: u64, waiting: &Waiting) -> Option<Self> {
        Self::parse(&waits_since(off_ns, pid, tid, waiting))
    }
}

/// The id of a waker that is a thread.
fn thread_of(waker: Waker) -> u32 {
    if let Waker::Thread(tid) = waker { tid } else { 0 }
}

/// A thread that sleeps and was not asked what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unasked {
    pub(super) pid: u32,
    pub(super) tid: u32,
    /// Since when.
    pub(super) off_ns: u64,
}

impl Unasked {
    /// From the bytes of the map of waits; `None` when it sleeps no more, or was asked.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (long, word) = (|at| words::long(bytes, at), |at| words::word(bytes, at));
        let sleeps = word(68)? == LATER && long(0)? > 0 && long(8)? == 0;
        sleeps.then_some(Self { pid: word(56)?, tid: word(60)?, off_ns: long(0)? })
    }
}

/// `struct lock_event` of a thread that waits already.
pub(super) fn waits_since(off_ns: u64, pid: u32, tid: u32, waiting: &Waiting) -> Vec<u8> {
    let kind: u32 = match waiting.what {
        WaitsFor::Monitor => 1,
        WaitsFor::Notification => 2,
        WaitsFor::Permit => 3,
    };
    let longs = [off_ns, 0, waiting.lock, waiting.owner, waiting.header[0], waiting.header[1], 0];
    let words = [pid, tid, 0, kind, waiting.owner_tid, 0, 0, 0];
    let mut bytes: Vec<u8> = longs.iter().flat_map(|long| long.to_ne_bytes()).collect();
    words.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
    // What it has done by the end of it, the program writes.
    bytes.resize(SIZE, 0);
    bytes
}

/// `struct lock_jvm`.
pub(super) fn bytes_of(constants: &LockConstants, exclusive_owner: u32) -> Vec<u8> {
    let mut bytes = constants.oop_base.to_ne_bytes().to_vec();
    let words = [
        constants.oop_shift,
        constants.pending,
        constants.waiting,
        constants.thread_object,
        constants.monitor_object,
        constants.monitor_owner,
        constants.os_thread,
        constants.thread_id,
        constants.park_blocker,
        constants.eetop,
        exclusive_owner,
    ];
    words.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
    let flags = [
        constants.thread_object_is_handle,
        constants.monitor_object_is_handle,
        constants.compressed_oops,
        constants.coloured,
    ];
    bytes.extend(flags.map(u8::from));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_by_their_places_and_others_are_refused() {
        let mut bytes = [0_u8; SIZE];
        for (at, value) in [(0, 7_u64), (8, 9), (16, 0x1000), (24, 3), (32, 4), (40, 5), (48, 6)] {
            bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        for (at, value) in [(56, 100_u32), (60, 101), (64, 102), (68, 3)] {
            bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        let event = Event::parse(&bytes).unwrap();
        assert_eq!((event.off_ns, event.on_ns, event.lock, event.owner), (7, 9, 0x1000, 3));
        assert_eq!((event.header, event.stack_ns), ([4, 5], 6));
        assert_eq!((event.pid, event.tid, event.waker, event.waited), (100, 101, 102, Waited::Park));
        assert_eq!(Event::parse(&bytes[1..]), None);
        let waiting =
            Waiting { what: WaitsFor::Permit, lock: 0x1000, owner: 3, owner_tid: 0, header: [4, 5] };
        let written = Event::parse(&waits_since(7, 100, 101, &waiting)).unwrap();
        assert_eq!(written, Event { on_ns: 0, stack_ns: 0, waker: 0, ..event });
        bytes[68] = 9;
        assert_eq!(Event::parse(&bytes), None);
    }

    #[test]
    fn a_thread_that_was_not_asked_is_no_wait_and_is_one_that_sleeps_until_it_wakes() {
        let waiting = Waiting { what: WaitsFor::Monitor, lock: 1, owner: 2, owner_tid: 3, header: [4, 5] };
        let mut bytes = waits_since(7, 100, 101, &waiting);
        assert_eq!(Unasked::parse(&bytes), None);
        bytes[68] = 5;
        assert_eq!(Event::parse(&bytes), None);
        assert_eq!(Unasked::parse(&bytes), Some(Unasked { pid: 100, tid: 101, off_ns: 7 }));
        bytes[8] = 9;
        assert_eq!(Unasked::parse(&bytes), None);
    }
}
