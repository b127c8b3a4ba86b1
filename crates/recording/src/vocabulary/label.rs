//! Keys of labels.

/// GC cause: "G1 Evacuation Pause", "System.gc()", "Allocation Failure".
pub const CAUSE: &str = "cause";
/// Parenthesised qualifiers that were not known to the reader; the pause counts all the same.
pub const QUALIFIER: &str = "qualifier";
/// What a collection failed at, as its log words it, one label each: [`super::failure`] has the
/// words.
pub const FAILURE: &str = "failure";
/// Why: of a compile failure, a trap, an invalidation; "tiered" of a queued task.
pub const REASON: &str = "reason";
/// What the runtime does about a trap: "reinterpret", "make_not_compilable".
pub const ACTION: &str = "action";
/// "c1", "c2", "jvmci".
pub const COMPILER: &str = "compiler";
/// The class whose loading broke a dependency of compiled code.
pub const WITNESS: &str = "witness";
/// Code-cache segment: "CodeHeap 'non-profiled nmethods'".
pub const SEGMENT: &str = "segment";
/// File behind a descriptor.
pub const PATH: &str = "path";
/// Block device: "vda", "nvme0n1"; of writeback its number, "254:0".
pub const DEVICE: &str = "device";
/// Name at the kernel of the thread that issued a request.
pub const ISSUER: &str = "issuer";
/// The process that wrote to a file last, "dd (4711)".
pub const WRITER: &str = "writer";
/// Other end of a connection, "host:port".
pub const PEER: &str = "peer";
/// Own end of a connection, "host:port".
pub const OWN: &str = "own";
/// "yes" of a connection that the process accepted: what it waits for there is a request, and an
/// answer elsewhere.
pub const ACCEPTED: &str = "accepted";
/// Error of a system call: "EAGAIN".
pub const ERROR: &str = "error";
/// The system call within which something happened.
pub const SYSCALL: &str = "syscall";
/// Flags of a system call, or what it was to do: "O_RDWR|O_CREAT", "MADV_DONTNEED".
pub const FLAGS: &str = "flags";
/// Name of the thread that woke another; of [`super::kind::SCHED_OFF`] its name at the kernel and
/// its id, "main (4711)".
pub const WAKER: &str = "waker";
/// What woke a thread where no thread did, a word of [`super::interrupt`] or the name of a softirq
/// of Linux. It and [`WAKER`] are never on one span. Where interrupts could not be seen (its source
/// says so), the thread that was interrupted stands as the waker.
pub const INTERRUPT: &str = "interrupt";
/// Of a wait for a CPU: the thread that had it until then, as [`WAKER`] names one.
pub const RAN_INSTEAD: &str = "ran_instead";
/// Name of the thread that asked for a VM operation.
pub const CALLER: &str = "caller";
/// Name of the thread that held a lock.
pub const OWNER: &str = "owner";
/// Address or identity of an object, hexadecimal.
pub const ADDRESS: &str = "address";
/// What was slow, in words, on [`super::kind::SLOW`].
pub const WHAT: &str = "what";
/// Why a record ends early: the log was cut off, or lines of it are missing.
pub const CUT: &str = "cut";
/// Another source that has the same fact; its record was put together with this one.
pub const ALSO_IN: &str = "also_in";
/// What keeps something in the heap, in words: "Sessions.OPEN (static)".
pub const HELD_BY: &str = "held_by";
/// The static field that keeps something in the heap: "Sessions.OPEN".
pub const STATIC_FIELD: &str = "static_field";
/// Names of the threads that keep something in the heap, one a line.
pub const HELD_BY_THREADS: &str = "held_by_threads";
/// The class of what accumulates in a holder.
pub const ENTRY_CLASS: &str = "entry_class";
/// The class of the table, array or list within a holder in which memory accumulates.
pub const ACCUMULATES_IN: &str = "accumulates_in";
/// Classes in the dominator tree from the first object that keeps a holder down to it, one a line.
pub const DOMINATORS: &str = "dominators";
/// The measure by which a holder is a suspect: "unbounded-entries", "repeated-loaders",
/// "thread-locals", "finalizers".
pub const SUSPICION: &str = "suspicion";
/// What says that a holder cannot grow further, in words.
pub const BOUND: &str = "bound";
