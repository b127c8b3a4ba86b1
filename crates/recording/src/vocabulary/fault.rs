//! Kinds of mappings in which page faults occur, as spans `page-faults` and the frames of samples
//! name them. A mapped file is named by its path.

/// The Java heap.
pub const HEAP: &str = "Java heap";
/// The JVM's code cache.
pub const CODE_CACHE: &str = "code cache";
/// The part of metaspace that compressed class pointers cover.
pub const CLASS_SPACE: &str = "class space";
/// A thread's stack.
pub const STACK: &str = "thread stack";
/// The C library's main heap (brk).
pub const MALLOC: &str = "malloc heap";
/// An arena of the C library's allocator.
pub const ARENA: &str = "malloc arena";
/// Anonymous memory: large blocks of malloc, direct buffers, the JVM's own data.
pub const ANONYMOUS: &str = "anonymous memory";
/// Data that a library or program writes into its own image (.data, .bss), or other private copies
/// of a file's pages. Followed by the file.
pub const PRIVATE_COPY: &str = "private copy of ";
/// The kernel's page in user space.
pub const VDSO: &str = "vdso";
/// The mapping could not be looked up at the time of the fault.
pub const NOT_SEEN: &str = "mapping not seen";

/// The prefix of the name of the innermost frame of a sampled fault.
const FRAME_PREFIX: &str = "[page fault: ";

/// Name of the innermost frame of a sampled fault (its type is "kernel").
pub fn frame(mapping: &str) -> String {
    format!("{FRAME_PREFIX}{mapping}]")
}

/// The mapping, if a frame is that of a sampled fault.
pub fn mapping_of(frame: &str) -> Option<&str> {
    frame.strip_prefix(FRAME_PREFIX)?.strip_suffix(']')
}
