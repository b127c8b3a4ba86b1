//! Page faults in words: what is touched, what it means, and what to do about it.

use crate::facts::{Value, meanings, remedies};
use fathom_recording::vocabulary::fault;

use super::Why;
use crate::{Fact, Remedy};

/// A mapping within a sentence.
pub(super) fn called(mapping: &str) -> String {
    match mapping {
        fault::HEAP => "the Java heap".into(),
        fault::CODE_CACHE => "the code cache".into(),
        fault::CLASS_SPACE => "the class space".into(),
        fault::MALLOC => "the malloc heap".into(),
        fault::ARENA => "malloc's arenas".into(),
        fault::STACK => "stacks of threads".into(),
        other => other.into(),
    }
}

impl Why {
    /// The cause as evidence has it.
    pub(super) fn id(self) -> &'static str {
        match self {
            Self::HeapGrows => "heap-grows",
            Self::HeapReturned => "heap-returned",
            Self::AllocatorReturns => "allocator-returns",
            Self::NativeGrows => "native-memory-grows",
            Self::Stacks => "new-threads",
            Self::MappedFile => "mapped-file",
            Self::FileWritten => "clean-pages-of-files-written",
            Self::Copies => "pages-copied",
            Self::Waited => "waited-for-page",
            Self::MemoryLimit => "memory-limit",
            Self::Unknown => "unknown",
        }
    }
}

pub(super) fn in_short(why: Why) -> &'static str {
    match why {
        Why::HeapGrows => "the heap is used for the first time",
        Why::HeapReturned => "the heap gives memory back and fetches it again",
        Why::AllocatorReturns => "native memory is given back and fetched again",
        Why::NativeGrows => "native memory is used for the first time",
        Why::Stacks => "new threads",
        Why::MappedFile => "a mapped file",
        Why::FileWritten => "clean pages of mapped files are written to",
        Why::Copies => "pages are copied when they are written to",
        Why::Waited => "each waited for its page",
        Why::MemoryLimit => "the control group has no memory left, and pages are dropped and read again",
        Why::Unknown => "memory is touched that is not there",
    }
}

pub(super) fn meaning(why: Why, by_collector: bool, toucher: Option<&str>) -> Fact {
    let faults = match why {
        Why::HeapGrows if by_collector => &meanings::HEAP_COPIED_INTO,
        Why::HeapGrows => &meanings::HEAP_TOUCHED,
        Why::HeapReturned => &meanings::HEAP_RETURNED,
        Why::AllocatorReturns => &meanings::BLOCKS_RETURNED,
        Why::NativeGrows => &meanings::NATIVE_TOUCHED,
        Why::Stacks => &meanings::STACKS_TOUCHED,
        Why::MappedFile => &meanings::FILE_MAPPED,
        Why::FileWritten => &meanings::FILE_WRITTEN,
        Why::Copies => &meanings::PAGES_COPIED,
        Why::Waited => &meanings::PAGE_WAITED_FOR,
        Why::MemoryLimit => &meanings::MEMORY_LIMIT,
        Why::Unknown => &meanings::MEMORY_TOUCHED,
    };
    let meaning = meanings::FAULTS.fact().with("faults", Value::from(faults.fact()));
    meaning.with("toucher", toucher.map(Value::name))
}

pub(super) fn remedies(why: Why) -> Vec<Remedy> {
    let pretouch = || remedies::PRETOUCH.remedy();
    let huge = || remedies::HUGE_PAGES.remedy();
    match why {
        Why::Waited => vec![remedies::MAP_ELSEWHERE.remedy(), remedies::RELIEVE_FILE_SYSTEM.remedy()],
        Why::MemoryLimit => vec![remedies::LARGER_MEMORY_LIMIT.remedy(), remedies::SMALLER_HEAP.remedy()],
        Why::HeapGrows => vec![pretouch(), huge()],
        Why::HeapReturned => vec![remedies::KEEP_HEAP.remedy(), pretouch()],
        Why::AllocatorReturns => vec![
            remedies::REUSE_BUFFER.remedy(),
            remedies::MALLOC_KEEPS.remedy(),
            remedies::NO_TRIMMING.remedy(),
        ],
        Why::NativeGrows => vec![remedies::REUSE_NATIVE_MEMORY.remedy(), remedies::TOUCH_EARLY.remedy()],
        Why::Stacks => vec![remedies::REUSE_THREADS.remedy()],
        Why::MappedFile => vec![remedies::READ_INTO_BUFFER.remedy(), remedies::LOAD_MAPPING.remedy()],
        Why::FileWritten => vec![remedies::REUSE_FILES.remedy(), remedies::WRITE_FROM_BUFFER.remedy()],
        Why::Copies => vec![remedies::NO_FORK.remedy(), remedies::FIND_PROTECTOR.remedy()],
        Why::Unknown => vec![remedies::RECORD_AS_ROOT.remedy()],
    }
}
