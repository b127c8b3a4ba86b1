//! Page faults in words: what is touched, what it means, and what to do about it.

use crate::facts::remedies;
use fathom_recording::vocabulary::fault;

use super::Why;
use crate::Remedy;

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

pub(super) fn meaning(why: Why, by_collector: bool, toucher: Option<&str>) -> String {
    let what = match why {
        Why::HeapGrows if by_collector => {
            "The collector copies objects into parts of the heap that were never used, and the kernel zeroes each page first."
        }
        Why::HeapGrows => {
            "New objects are put into parts of the heap that were never used, and the kernel zeroes each page first."
        }
        Why::HeapReturned => {
            "More pages of the heap were fetched than it has: between collections it gives memory back to the kernel, and \
             every page costs a fault when it is used again."
        }
        Why::AllocatorReturns => {
            "The C library gives blocks back to the kernel when they are freed and asks for them again at the next \
             allocation; each time every page costs a fault and is zeroed."
        }
        Why::NativeGrows => {
            "Memory outside the heap is used for the first time, and the kernel zeroes each page first."
        }
        Why::Stacks => "Each new thread touches the pages of its own stack for the first time.",
        Why::MappedFile => {
            "The file is mapped: each page, or small group of pages, is mapped by a fault when first touched."
        }
        Why::FileWritten => {
            "Files are mapped and written to. A page that is clean, for it is new or was written back, may not be written to before its \
             file system has agreed (page_mkwrite), and the kernel notes that it is dirty: one fault for each page, and again after each \
             time that it was written back."
        }
        Why::Copies => {
            "The pages are there, but must not be written to: they are shared with a child after a fork, mapped privately from a \
             file, or protected by somebody who wants to know of writes; the kernel copies each when it is."
        }
        Why::Waited => {
            "The page belongs to a file, or was moved away: it cannot be touched before it is read, or before its file system \
             lets it be written to."
        }
        Why::MemoryLimit => {
            "The control group may hold no more memory. The kernel takes away pages that files can be read from again, code \
             and libraries too, and threads wait for the disk when they touch them next."
        }
        Why::Unknown => "Memory is touched whose pages the kernel has to find or make first.",
    };
    match toucher {
        Some(toucher) => {
            format!(
                "{what} A profile shows that time in {toucher}, which only is the first to touch the memory."
            )
        }
        None => what.into(),
    }
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
