//! Writes of the JVM's log within stops, and what the disk did meanwhile.

super::metrics! {
    /// Time of a stop in which the log was written.
    IN_STOP = "log-written-in-stop", "the JVM wrote its log for {value} of a stop of {stop}";
    /// The longest of these writes, and what it waited for.
    WRITE = "log-write", "{thread} was in {call}()[ to {file}] for {value}[, {waited-for} ({function})][; {meanwhile}]";
    /// A write that was traced.
    TRACED = "log-write-traced", "{call}()[ to {file}] on {thread} took {value} in the kernel[; {meanwhile}]";
    /// A write in which the VM thread was off the CPU.
    OFF_CPU = "log-write-off-cpu", "{thread} was off the CPU in {call}() for {value}[; {meanwhile}]";
    /// A page fault in its place.
    FAULT = "page-fault-in-stop", "{thread} was in a page fault for {value}";
    /// A journal that was being committed.
    COMMIT = "journal-commit-meanwhile", "meanwhile the journal of {device} was being committed for {value}";
    /// Pages that were being written back.
    WRITEBACK = "writeback-meanwhile", "meanwhile writeback to {device} ({reason}) took {value}[: {files}]";
    /// A request to a disk.
    REQUEST = "disk-request-meanwhile", "meanwhile a {request} by {issuer} on {device} took {value}";
    /// What was written back to a device to which writers were throttled.
    BACK = "written-back-meanwhile", "written back to {device} meanwhile: {files}";
    /// The largest file that was written back.
    FILE = "file-written-back", "{value} of {file}[, last written by {writer}][, and {rest} of {others|other|others}]";
    /// All files that were written back, by who wrote to them.
    FILES = "files-written-back", "about {value} of files last written by {writers}";
    /// One who wrote to them.
    WRITER = "writer-of-files", "{writer} ({value})";
    /// A gap within a pause.
    GAP = "gap-in-pause",
        "nothing was done for {value}[ before line {line#}] in a pause of {pause} with [{cpu} of CPU|no CPU times]";
    /// What the phases of a pause account for.
    PHASES = "phases-of-pause",
        "phases account for {phases} of a pause of {pause} with [{cpu} of CPU|no CPU times]";
    /// Time of a stop behind its collections.
    AFTER = "held-after-collections",
        "threads were held for {value} after {collections|collection|collections} had ended";
    /// How the log is written.
    SYNCHRONOUS = "log-synchronous", "JDK 17 and later write the log synchronously unless -Xlog:async is given";
    /// The same before there was a choice.
    ALWAYS_SYNCHRONOUS = "log-always-synchronous", "before JDK 17 the log is always written synchronously";
    /// What a log says itself.
    LINE = "log-line", "{value}";
}
