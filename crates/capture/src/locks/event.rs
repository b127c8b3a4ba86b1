//! What the program in the kernel sends and gets: `bpf/locks.h`.

use fathom_hotspot::locks::{LockConstants, Waiting, WaitsFor};
use fathom_recording::vocabulary::kind;

use super::skeleton::types::{lock_event, lock_jvm, lock_kind};
use crate::bpf::interrupts::Waker;

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
    /// As the program sends it; `None` where its kind is not known.
    pub(super) fn of(event: &lock_event) -> Option<Self> {
        match lock_kind(event.kind) {
            lock_kind::LOCK_NONE => Some(Self::Unknown(event.tid)),
            lock_kind::LOCK_ENDED => {
                Some(Self::Ended { pid: event.pid, tid: event.tid, at_ns: event.off_ns })
            }
            _ => Event::of(event).map(Self::Wait),
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
    /// As the program sends and keeps it; `None` when it is no wait.
    pub(super) fn of(event: &lock_event) -> Option<Self> {
        let waited = match lock_kind(event.kind) {
            lock_kind::LOCK_MONITOR => Waited::Monitor,
            lock_kind::LOCK_WAIT => Waited::Wait,
            lock_kind::LOCK_PARK => Waited::Park,
            lock_kind::LOCK_NATIVE => Waited::Native,
            _ => return None,
        };
        let event = Self {
            off_ns: event.off_ns,
            on_ns: event.on_ns,
            lock: event.lock,
            owner: event.owner,
            header: event.header,
            stack_ns: event.stack_ns,
            pid: event.pid,
            tid: event.tid,
            waker: thread_of(Waker::parse(event.waker)),
            waited,
            owner_tid: event.owner_tid,
            apart: event.apart != 0,
            later: event.later != 0,
        };
        (event.off_ns > 0).then_some(event)
    }

    /// A wait that goes on.
    pub(super) fn going_on((pid, tid): (u32, u32), off_ns: u64, waiting: &Waiting) -> Option<Self> {
        Self::of(&waits_since(off_ns, pid, tid, waiting))
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
    /// As the program keeps it; `None` when it sleeps no more, or was asked.
    pub(super) fn of(event: &lock_event) -> Option<Self> {
        let sleeps = event.kind == lock_kind::LOCK_LATER.0 && event.off_ns > 0 && event.on_ns == 0;
        sleeps.then_some(Self { pid: event.pid, tid: event.tid, off_ns: event.off_ns })
    }
}

/// A thread that waits already. What it has done by the end of it, the program writes.
pub(super) fn waits_since(off_ns: u64, pid: u32, tid: u32, waiting: &Waiting) -> lock_event {
    lock_event {
        off_ns,
        lock: waiting.lock,
        owner: waiting.owner,
        header: waiting.header,
        pid,
        tid,
        kind: match waiting.what {
            WaitsFor::Monitor => lock_kind::LOCK_MONITOR.0,
            WaitsFor::Notification => lock_kind::LOCK_WAIT.0,
            WaitsFor::Permit => lock_kind::LOCK_PARK.0,
        },
        owner_tid: waiting.owner_tid,
        ..lock_event::default()
    }
}

/// How a JVM's objects lie, as the program is to know it.
pub(super) fn jvm_of(constants: &LockConstants, exclusive_owner: u32) -> lock_jvm {
    lock_jvm {
        oop_base: constants.oop_base,
        oop_shift: constants.oop_shift,
        pending: constants.pending,
        waiting: constants.waiting,
        thread_object: constants.thread_object,
        monitor_object: constants.monitor_object,
        monitor_owner: constants.monitor_owner,
        os_thread: constants.os_thread,
        thread_id: constants.thread_id,
        park_blocker: constants.park_blocker,
        eetop: constants.eetop,
        exclusive_owner,
        thread_object_is_handle: constants.thread_object_is_handle.into(),
        monitor_object_is_handle: constants.monitor_object_is_handle.into(),
        compressed_oops: constants.compressed_oops.into(),
        coloured: constants.coloured.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_was_entered_is_read_and_others_are_refused() {
        let waiting =
            Waiting { what: WaitsFor::Permit, lock: 0x1000, owner: 3, owner_tid: 0, header: [4, 5] };
        let entered = waits_since(7, 100, 101, &waiting);
        let event = Event::of(&entered).unwrap();
        assert_eq!((event.off_ns, event.on_ns, event.lock, event.owner), (7, 0, 0x1000, 3));
        assert_eq!((event.pid, event.tid, event.waker, event.waited), (100, 101, 0, Waited::Park));
        let over = lock_event { on_ns: 9, waker: 102, apart: 256, ..entered };
        assert_eq!(Event::of(&over), Some(Event { on_ns: 9, waker: 102, apart: true, ..event }));
        assert_eq!(Event::of(&lock_event { kind: 9, ..entered }), None);
        assert_eq!(Event::of(&lock_event { off_ns: 0, ..entered }), None);
    }

    #[test]
    fn a_thread_that_was_not_asked_is_no_wait_and_is_one_that_sleeps_until_it_wakes() {
        let waiting = Waiting { what: WaitsFor::Monitor, lock: 1, owner: 2, owner_tid: 3, header: [4, 5] };
        let asked = waits_since(7, 100, 101, &waiting);
        assert_eq!(Unasked::of(&asked), None);
        let asleep = lock_event { kind: lock_kind::LOCK_LATER.0, ..asked };
        assert_eq!(Event::of(&asleep), None);
        assert_eq!(Unasked::of(&asleep), Some(Unasked { pid: 100, tid: 101, off_ns: 7 }));
        assert_eq!(Unasked::of(&lock_event { on_ns: 9, ..asleep }), None);
    }
}
