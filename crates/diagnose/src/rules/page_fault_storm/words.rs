//! Page faults in words: what is touched, what it means, and what to do about it.

use super::super::gc_case::remedy;
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
    let pretouch = || {
        remedy(
            "-XX:+AlwaysPreTouch with -Xms equal to -Xmx",
            "any JDK; with several threads since JDK 9",
            "the JVM starts later and takes all its memory at once",
        )
    };
    let huge = || {
        remedy(
            "-XX:+UseTransparentHugePages (with madvise in /sys/kernel/mm/transparent_hugepage/enabled)",
            "Linux",
            "one fault in 512, each of which zeroes 2 MB: longer single stalls, and compaction when memory is fragmented",
        )
    };
    match why {
        Why::Waited => vec![
            remedy(
                "a file that is mapped on another file system, or in memory: for hsperfdata -XX:+PerfDisableSharedMem, or \
                 /tmp on tmpfs",
                "any JDK",
                "jps, jstat and tools that read hsperfdata no longer see the JVM",
            ),
            remedy(
                "see to what keeps the file system or the disk busy: fathom chain names it",
                "the host",
                "",
            ),
        ],
        Why::MemoryLimit => vec![
            remedy(
                "a larger limit of memory (memory.max, --memory, limits.memory): heap, metaspace, code, stacks, buffers and \
                 the files that are mapped must fit",
                "control groups",
                "memory",
            ),
            remedy("a smaller heap (-Xmx), so that all else fits", "any JDK", "more collections"),
        ],
        Why::HeapGrows => vec![pretouch(), huge()],
        Why::HeapReturned => vec![
            remedy(
                "keep the heap: -Xms equal to -Xmx (G1: no G1PeriodicGCInterval; ZGC: -XX:-ZUncommit; Shenandoah: -XX:-ShenandoahUncommit)",
                "any JDK; ZUncommit since 13",
                "memory that the JVM does not need stays with it",
            ),
            pretouch(),
        ],
        Why::AllocatorReturns => vec![
            remedy(
                "use the buffer again instead of a new one for each operation (a pool, one for each thread)",
                "any",
                "it stays allocated",
            ),
            remedy(
                "MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=268435456 in the JVM's environment",
                "glibc, which takes no more than 32 MB for the first: larger blocks are mapped and unmapped each time",
                "freed memory stays with the process",
            ),
            remedy(
                "-XX:TrimNativeHeapInterval=0, where trimming was switched on",
                "JDK 17.0.9, 21.0.1 and later",
                "freed memory stays with the process",
            ),
        ],
        Why::NativeGrows => vec![
            remedy(
                "allocate once and use again: pooled direct buffers, arenas that live as long as the work",
                "any",
                "it stays allocated",
            ),
            remedy("touch it before it matters, at the start", "any", "the start takes longer"),
        ],
        Why::Stacks => vec![remedy(
            "use threads again (a pool), or virtual threads",
            "virtual threads: JDK 21",
            "none for a pool; pinning until JDK 24",
        )],
        Why::MappedFile => vec![
            remedy("read the file with read() into a buffer that is used again", "any", "one copy more"),
            remedy("MappedByteBuffer.load(), once, before it matters", "any JDK", "reads the whole file"),
        ],
        Why::FileWritten => vec![
            remedy("fewer and larger files, made in full once and used again", "any", "disk space"),
            remedy(
                "write with write() from a buffer instead of through a mapping",
                "any",
                "one system call for each write",
            ),
        ],
        Why::Copies => vec![
            remedy(
                "do not fork the JVM: -Djdk.lang.Process.launchMechanism=POSIX_SPAWN",
                "JDK 13 and later do so by themselves",
                "none known",
            ),
            remedy(
                "find who protects the pages: a snapshot (CRIU, userfaultfd), page merging (KSM), soft-dirty tracking",
                "Linux",
                "none",
            ),
        ],
        Why::Unknown => vec![remedy(
            "fathom record as root, which shows the mapping and who touches it",
            "Linux with eBPF",
            "about 0.3 µs for each fault",
        )],
    }
}
