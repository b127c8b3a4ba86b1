//! Keys of labels.

/// GC cause: "G1 Evacuation Pause", "System.gc()", "Allocation Failure".
pub const CAUSE: &str = "cause";
/// Parenthesised qualifiers that the reader did not know; the pause counts all the same.
pub const QUALIFIER: &str = "qualifier";
/// How a collection failed, in the words of its log, one label each: [`super::failure`] has the
/// values.
pub const FAILURE: &str = "failure";
/// The reason: of a compile failure, a trap, an invalidation; "tiered" of a queued task.
pub const REASON: &str = "reason";
/// What the runtime does about a trap: "reinterpret", "make_not_compilable".
pub const ACTION: &str = "action";
/// "c1", "c2", "jvmci".
pub const COMPILER: &str = "compiler";
/// The class whose loading broke a dependency of compiled code.
pub const WITNESS: &str = "witness";
/// Code-cache segment: "CodeHeap 'non-profiled nmethods'".
pub const SEGMENT: &str = "segment";
/// File of a descriptor.
pub const PATH: &str = "path";
/// Block device: "vda", "nvme0n1"; of writeback its number, "254:0".
pub const DEVICE: &str = "device";
/// The kernel's name of the thread that issued a request.
pub const ISSUER: &str = "issuer";
/// The process that last wrote to a file, "dd (4711)".
pub const WRITER: &str = "writer";
/// Remote end of a connection, "host:port".
pub const PEER: &str = "peer";
/// Local end of a connection, "host:port".
pub const OWN: &str = "own";
/// "yes" of a connection that the process accepted: there it waits for requests, and elsewhere for
/// answers.
pub const ACCEPTED: &str = "accepted";
/// Error of a system call: "EAGAIN".
pub const ERROR: &str = "error";
/// The system call within which something happened.
pub const SYSCALL: &str = "syscall";
/// Flags of a system call, or what it was to do: "O_RDWR|O_CREAT", "MADV_DONTNEED".
pub const FLAGS: &str = "flags";
/// Name of the thread that woke another; of [`super::kind::SCHED_OFF`] its name in the kernel and
/// its id, "main (4711)".
pub const WAKER: &str = "waker";
/// What woke a thread where no thread did, a value of [`super::interrupt`] or the name of a softirq
/// of Linux. It and [`WAKER`] are never on one span. Where interrupts could not be recorded (its
/// source reports that), the thread that was interrupted is given as the waker.
pub const INTERRUPT: &str = "interrupt";
/// Of a wait for a CPU: the thread that had the CPU until then, in the form of [`WAKER`].
pub const RAN_INSTEAD: &str = "ran_instead";
/// The trace that a thread was in, 32 hexadecimal digits, where its program publishes it
/// (OpenTelemetry's thread context).
pub const TRACE_ID: &str = "trace_id";
/// The span of that trace, 16 hexadecimal digits.
pub const SPAN_ID: &str = "span_id";
/// Name of the thread that requested a VM operation.
pub const CALLER: &str = "caller";
/// Name of the thread that held a lock.
pub const OWNER: &str = "owner";
/// Address or identity of an object, hexadecimal.
pub const ADDRESS: &str = "address";
/// What was slow, in words, on [`super::kind::SLOW`].
pub const WHAT: &str = "what";
/// Why a record is truncated: the log ends early, or lines of it are missing.
pub const CUT: &str = "cut";
/// Another source that has the same event; its record was merged into this one.
pub const ALSO_IN: &str = "also_in";
/// What keeps something in the heap, in words: "Sessions.OPEN (static)".
pub const HELD_BY: &str = "held_by";
/// The static field that keeps something in the heap: "Sessions.OPEN".
pub const STATIC_FIELD: &str = "static_field";
/// Names of the threads that keep something in the heap, one per line.
pub const HELD_BY_THREADS: &str = "held_by_threads";
/// The class of the entries that accumulate in a holder.
pub const ENTRY_CLASS: &str = "entry_class";
/// The class of the table, array or list within a holder in which memory accumulates.
pub const ACCUMULATES_IN: &str = "accumulates_in";
/// Classes on the dominator path from the outermost object that keeps a holder down to it, one per
/// line.
pub const DOMINATORS: &str = "dominators";
/// The reason to suspect a holder: "unbounded-entries", "repeated-loaders", "thread-locals",
/// "finalizers".
pub const SUSPICION: &str = "suspicion";
/// What shows that a holder cannot grow further, in words.
pub const BOUND: &str = "bound";
