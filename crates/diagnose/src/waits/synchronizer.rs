//! Synchronizers of the JDK whose caller is not known: a lock, a latch and a permit wait in the
//! same method, and only who calls it shows which.
//!
//! ```text
//! AbstractQueuedSynchronizer.acquire ◀─ ReentrantLock.lock      a lock
//!                                    ◀─ CountDownLatch.await    an event
//!                                    ◀─ [unknown Java method]   either
//! ```

use fathom_recording::vocabulary::frame::UNKNOWN_JAVA;

/// The beginnings of the methods that all synchronizers share.
const SHARED: [&str; 2] = [
    "java.util.concurrent.locks.AbstractQueuedSynchronizer.",
    "java.util.concurrent.locks.AbstractQueuedLongSynchronizer.",
];

/// What a frame is, and with its callers: what they leave open.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Caller {
    #[default]
    Known,
    Unknown,
    /// The shared methods, called by a known one.
    Synchronizer,
}

impl Caller {
    /// Of a frame by itself. `plain`: its name without parameters.
    pub(super) fn of(is_java: bool, plain: &str) -> Self {
        match () {
            () if plain == UNKNOWN_JAVA => Self::Unknown,
            () if is_java && SHARED.iter().any(|class| plain.starts_with(class)) => Self::Synchronizer,
            () => Self::Known,
        }
    }

    /// Of a frame that these callers made: a synchronizer below an unknown method is unknown, too.
    pub(super) fn below(self, callers: Option<Self>) -> Self {
        match (self, callers) {
            (Self::Synchronizer, Some(Self::Unknown)) => Self::Unknown,
            (own, _) => own,
        }
    }
}
