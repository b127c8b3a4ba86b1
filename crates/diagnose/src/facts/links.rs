//! What a link of a chain is: what a thread did, who had the CPU, what a disk worked at. On what a
//! thread's time was spent is the category of the link.

super::metrics! {
    /// What is waited for where its class is not known.
    A_LOCK = "link-a-lock", "a lock";
    /// Time under a category of the ledger of threads.
    SPENT = "link-spent", "{value}[ on {target}][, on {class}][ in {place}]";
    /// The same of a thread of the JVM in a stop.
    FOR_THE_JVM = "link-waits-for-jvm", "waiting for another thread of the JVM[ on {target}][ in {place}]";
    /// Time without work until a timer fires: a scheduler's.
    UNTIL_A_TIME = "link-idle-until-a-time", "idle until a time that it had set[ on {target}][ in {place}]";
    /// On CPUs, by the samples in that time.
    RUNNING = "link-running", "running[, mostly {method}][ below {caller}]";
    /// Nothing shows what it did.
    NOT_SEEN = "link-not-seen", "not seen";
    /// A wait on an object or a condition.
    FOR_A_THREAD = "link-waits-for-thread", "waiting for another thread[, on {class}][ in {place}]";
    /// A wait until another thread has run a static initialiser.
    FOR_INITIALISER = "link-waits-for-initialiser", "waiting for another thread to initialise a class";
    /// A wait for a lock that has an owner.
    FOR_LOCK = "link-waits-for-lock", "waiting for [{value}|a lock][ that {owner} held]";
    /// A wait for the lock of an address space.
    FOR_MAP_LOCK = "link-waits-for-map-lock", "waiting to {value} the address space of its process";
    /// A wait for memory: reclaim, compaction.
    FOR_MEMORY = "link-waits-for-memory", "waiting for memory: {value}";
    /// A look-up of a name.
    RESOLVING = "link-resolves", "resolving {value}";
    /// A connection that is being made.
    CONNECTING = "link-connects", "connecting to {value}";
    /// A TLS handshake.
    TLS = "link-tls-handshake", "in a TLS handshake with {value}";
    /// A page fault.
    PAGE_FAULT = "link-page-fault", "in a {value} page fault[ on {target}]";
    /// A call of the kernel that names what it waits for.
    CALL = "link-call", "in {value}() on {target}";
    /// What a thread waits for while its file system is frozen.
    FROZEN_FILES = "link-frozen-file-system", "a frozen file system";
    /// An interrupt, or a process that was not recorded, which ended the wait.
    ENDED_BY = "link-ended-by", "{value}, which ended the wait";
    /// What a thread did that held the lock and waits for one of the chain.
    HELD = "link-held-lock", "held it";
    /// Nobody is known to have held the lock.
    HOLDER_UNKNOWN = "link-holder-unknown", "who held it is not known";
    /// A thread that is further up in the chain.
    AGAIN = "link-again", "again";
    /// Parts of stops of the JVM: until the last thread had stopped.
    STOP_REACH = "link-stop-reach", "a stop: time to safepoint";
    /// The operation that it was for.
    STOP_OPERATION = "link-stop-operation", "a stop: the operation[ ({operation})]";
    /// Writes of the JVM's log meanwhile.
    STOP_LOG_WRITE = "link-stop-log-write", "a stop: writing the JVM's log[ ({operation})]";
    /// Until the threads ran again.
    STOP_LEAVE = "link-stop-leave", "a stop: until threads ran again[ ({operation})]";
    /// A stop that no record explains.
    STOP_UNKNOWN = "link-stop-unknown", "a stop that no record explains";
    /// Who had the CPU.
    RAN = "link-ran", "{value} ran";
    /// Threads of the same process had it.
    OWN_THREADS_RAN = "link-own-threads-ran", "other threads of {value} ran";
    /// Processes that ran for a little each.
    OTHERS_RAN = "link-others-ran", "others ran, each for a little";
    /// Who had the CPU was not recorded.
    RUNNER_UNKNOWN = "link-runner-unknown", "who ran then was not recorded";
    /// A request to a disk.
    REQUEST = "link-disk-request", "{device}: a {value} by [{issuer}|somebody]";
    /// One of 256 KB or more.
    LARGE_REQUEST = "link-large-disk-request", "{device}: a large {value} by [{issuer}|somebody]";
    /// A commit of a journal.
    COMMIT = "link-journal-commit", "the journal of {device} being committed";
    /// A round of writeback, and which files were written.
    WRITEBACK = "link-writeback", "writeback to {device} ({value})[: {files}]";
    /// A thread that has written much is held back.
    THROTTLED = "link-write-throttled", "held back until more is written to {device}[: {files}]";
    /// No work of a disk explains the wait.
    NO_DISK = "link-disk-unknown", "nothing of a disk was recorded";
    /// No request explains the commit or the writeback.
    NO_REQUEST = "link-disk-request-unknown", "no request long enough to be recorded";
    /// How it is known who stopped last: a flight recorder has it.
    LAST_RECORDED = "last-to-stop-recorded", "the JVM's flight recorder names it";
    /// It blocked when all others had stopped.
    LAST_BLOCKED = "last-to-stop-blocked", "it was the last to block for the safepoint";
    /// Nobody was seen to block.
    LAST_RAN = "last-to-stop-ran", "it ran, or could have run, for most of the time";
    /// Links that are put together.
    SMALLER = "links-smaller", "{value|thing|things} more, each short";
}
