//! Threads of native libraries without work. A thread that a library started itself (a compaction
//! of RocksDB, a worker of OpenBLAS), with no frame of Java or of the JVM on its stack, waits on a
//! condition variable for its next piece of work, as a thread of a Java pool does at its queue. It
//! does so near the beginning of its stack: deeper down it is within a piece of work, and waits for
//! something else (a rate limiter, a colleague).

use fathom_recording::{FrameType, Recording};

use super::Category;

/// The functions of the C library that wait on a condition variable.
const CONDITION: &str = "pthread_cond_";
/// Where threads begin: without it a stack is truncated, and what lies further out is not known.
const BEGINNINGS: [&str; 3] = ["start_thread", "clone3", "__clone"];

/// Frames between the beginning of a thread and its wait for work: the loop of a pool, its
/// wrappers, the library's own wait. RocksDB has 6 of them there, and 16 and more to a wait within
/// its work.
const MOST_FRAMES: usize = 8;

/// What a stack has shown so far, from its outermost frame on.
#[derive(Clone, Copy)]
struct Native {
    /// Whether it is whole, and all of its frames are of native code or of the kernel.
    is_all: bool,
    /// Frames without those of the condition variable.
    depth: usize,
    waits: bool,
}

/// Sets the category of stacks of native threads that wait on a condition variable.
pub(super) fn at_rest(recording: &Recording, categories: &mut [Category]) {
    let mut seen: Vec<Native> = Vec::with_capacity(recording.stacks.len());
    for (i, node) in recording.stacks.iter().enumerate() {
        let callers = node.parent.and_then(|parent| seen.get(parent.index()).copied());
        let frame = recording.frames.get(node.frame.index());
        let name = frame.map_or("", |frame| recording.strings.get(frame.name));
        let of_native = frame.is_some_and(|f| f.frame_type == FrameType::Native);
        let of_kernel = frame.is_some_and(|f| f.frame_type == FrameType::Kernel);
        let own = Native {
            is_all: match callers {
                Some(callers) => callers.is_all && (of_native || of_kernel),
                None => of_native && BEGINNINGS.contains(&name),
            },
            depth: callers.map_or(0, |callers| callers.depth + usize::from(!callers.waits)),
            waits: callers.is_some_and(|callers| callers.waits)
                || (of_native && name.trim_start_matches('_').starts_with(CONDITION)),
        };
        seen.push(own);
        if let Some(category) = categories.get_mut(i)
            && own.is_all
            && own.waits
            && own.depth <= MOST_FRAMES
            && *category == Category::NativeLock
        {
            *category = Category::Idle;
        }
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
