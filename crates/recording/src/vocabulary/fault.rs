//! Mappings in which page faults are, as spans `page-faults` and the frames of samples name them. A
//! file is its path.

/// The Java heap.
pub const HEAP: &str = "Java heap";
/// The JVM's code cache.
pub const CODE_CACHE: &str = "code cache";
/// Metaspace that compressed class pointers reach.
pub const CLASS_SPACE: &str = "class space";
/// A thread's stack.
pub const STACK: &str = "thread stack";
/// The C library's main heap (brk).
pub const MALLOC: &str = "malloc heap";
/// An arena of the C library's allocator.
pub const ARENA: &str = "malloc arena";
/// Memory of no file: large blocks of malloc, direct buffers, what the JVM keeps for itself.
pub const ANONYMOUS: &str = "anonymous memory";
/// Data that a library or program writes into its own image (.data, .bss), or other private copies
/// of a file's pages. Followed by the file.
pub const PRIVATE_COPY: &str = "private copy of ";
/// The kernel's page in user space.
pub const VDSO: &str = "vdso";
/// Nobody could look at the mapping when the fault came.
pub const NOT_SEEN: &str = "mapping not seen";

/// Begins the name of the innermost frame of a sampled fault.
const FRAME_PREFIX: &str = "[page fault: ";

/// Name of the innermost frame of a sampled fault (its type is "kernel").
pub fn frame(mapping: &str) -> String {
    format!("{FRAME_PREFIX}{mapping}]")
}

/// The mapping, when a frame is one of a sampled fault.
pub fn mapping_of(frame: &str) -> Option<&str> {
    frame.strip_prefix(FRAME_PREFIX)?.strip_suffix(']')
}
