//! Threads of native libraries without work. A thread that a library started itself (a compaction
//! of RocksDB, a worker of OpenBLAS), with no frame of Java or of the JVM on its stack, waits on a
//! condition variable for its next piece of work, as a thread of a Java pool does at its queue. It
//! does so near the beginning of its stack: deeper down it is within a piece of work, and waits for
//! something else (a rate limiter, a colleague).

use fathom_recording::FrameType;

use super::Category;

/// The functions of the C library that wait on a condition variable.
const CONDITION: &str = "pthread_cond_";
/// Where threads begin: without it a stack is truncated, and what lies further out is not known.
const BEGINNINGS: [&str; 3] = ["start_thread", "clone3", "__clone"];

/// Frames between the beginning of a thread and its wait for work: the loop of a pool, its
/// wrappers, the library's own wait. RocksDB has 6 of them there, and 16 and more to a wait within
/// its work.
const MOST_FRAMES: u8 = 8;

/// What a frame says of that.
#[derive(Clone, Copy, Default)]
pub(super) struct Frame {
    /// Whether it is where a thread begins.
    begins: bool,
    /// Whether it is native code or the kernel's.
    is_native: bool,
    /// Whether it waits on a condition variable.
    waits: bool,
}

impl Frame {
    pub(super) fn of(frame_type: FrameType, name: &str) -> Self {
        let of_native = frame_type == FrameType::Native;
        Self {
            begins: of_native && BEGINNINGS.contains(&name),
            is_native: of_native || frame_type == FrameType::Kernel,
            waits: of_native && name.trim_start_matches('_').starts_with(CONDITION),
        }
    }
}

/// What a stack has shown so far, from its outermost frame on.
#[derive(Clone, Copy)]
pub(super) struct Native {
    /// Whether it is whole, and all of its frames are of native code or of the kernel.
    is_all: bool,
    /// Frames without those of the condition variable.
    depth: u8,
    waits: bool,
}

impl Native {
    /// With one more frame.
    pub(super) fn with(callers: Option<&Self>, own: Frame) -> Self {
        match callers {
            None => Self { is_all: own.begins, depth: 0, waits: own.waits },
            Some(callers) => Self {
                is_all: callers.is_all && own.is_native,
                depth: callers.depth.saturating_add(u8::from(!callers.waits)),
                waits: callers.waits || own.waits,
            },
        }
    }

    /// The category of the stack, of which its functions show this one.
    pub(super) fn category(&self, known: Category) -> Category {
        let rests = self.is_all && self.waits && self.depth <= MOST_FRAMES;
        if rests && known == Category::NativeLock { Category::Idle } else { known }
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::{self, C2, Jvm, Kernel, Native};

    use crate::built::Built;
    use crate::waits::Category;
    use crate::waits::stack::ByStack;

    fn category(innermost_first: &[(&str, FrameType)]) -> Category {
        let mut built = Built::jvm("25", "G1", 1.0);
        let stack = built.stack(innermost_first);
        ByStack::of(&built.sealed()).category(stack)
    }

    #[test]
    fn a_native_thread_at_its_condition_variable_has_no_work() {
        let futex = ("futex_wait", Kernel);
        let wait = ("pthread_cond_wait", Native);
        let pool = ("rocksdb::ThreadPoolImpl::Impl::BGThread", Native);
        let (start, clone) = (("start_thread", Native), ("clone3", Native));
        assert_eq!(category(&[futex, wait, pool, start, clone]), Category::Idle);
        // Within its work it waits for something else.
        let work =
            ["GenericRateLimiter::Request", "Flush", "Append", "WriteBlock", "Add", "BuildTable", "Run"];
        let limited =
            [vec![futex, wait], work.map(|f| (f, Native)).to_vec(), vec![pool, start, clone]].concat();
        assert_eq!(category(&limited), Category::NativeLock);
        // A mutex, a call of Java's, the JVM's own code, and a truncated stack are not rest.
        let mutex = ("pthread_mutex_lock", Native);
        assert_eq!(category(&[futex, mutex, pool, start, clone]), Category::NativeLock);
        assert_eq!(category(&[futex, wait, ("shop.Native.call", C2), start, clone]), Category::NativeLock);
        assert_eq!(category(&[futex, wait, ("Monitor::wait", Jvm), start, clone]), Category::NativeLock);
        assert_eq!(category(&[futex, wait, pool]), Category::NativeLock);
    }
}
