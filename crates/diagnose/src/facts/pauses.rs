//! What collections took and why.

use super::{Evidence, Fact, Value};
use crate::collections::Pause;

super::metrics! {
    /// What keeps objects that wait to be finalized.
    FINALIZER_QUEUE = "finalizer-queue", "the queue of objects with finalize()";
    /// The class of what keeps objects, and what accumulates in it.
    CONTENTS = "keeper-contents", "[{objects} of ]{value}[ with {entries|entry|entries} of {entry-class}]";
    /// What the collector's threads spend pauses on.
    COLLECTOR_WORK = "collector-work", "of the CPU time of the collector's threads in these pauses {value} went to {work}";
    /// What stops add to the latency of requests that come whenever they come.
    REQUESTS_DELAYED = "stops-delay-requests",
        "a request that comes at any time waits {value} for the end of a stop on average, of {longer} in all, and {baseline} in the baseline";
    /// CPU time of the kernel in pauses, with the collector's own.
    KERNEL_TIME = "gc-kernel-time",
        "{pauses|pause|pauses} of {paused} in all, with {value} of kernel and {user} of user time";
    /// A pause with the CPU time used in it.
    PAUSE_CPU = "pause-cpu", "{pause} of {value} with {kernel} kernel and {user} user time";
    /// CPU time of the kernel in pauses before the heap had been used once.
    FIRST_TOUCH = "first-touch-kernel-time",
        "{pauses|pause|pauses} with {value} of kernel and {user} of user time, before the heap had been used once";
    /// The share that the kernel has of the CPU time of later pauses.
    LATER_KERNEL_SHARE = "later-kernel-share", "kernel share of CPU time in later pauses: {value}";
    /// Collections that failed, which cost too little to matter.
    FAILURES = "failed-collections", "{failures}, which cost {value} of the slow windows";
    /// A pause: what it was, why, how long, and how full the heap was.
    PAUSE = "pause",
        "{pause}[ ({cause})] of {value}[, {failed}][, the heap {heap-before} full][, heap {heap-after} full after it]";
    /// What the JVM was stopped for, by sort, the one that took most first.
    STOPS = "stops-by-sort", "{sorts*; }";
    /// One of these sorts: how often, how long in all, and the longest.
    STOPS_OF = "stops-of-a-sort", "{stops} × {sort}[, {cause}]: {value}, the longest {longest}";
    /// The sorts that are not named one by one.
    STOPS_OF_OTHERS = "stops-of-other-sorts", "others: {value}";
    /// The part of the stops that collections made.
    IN_COLLECTIONS = "stopped-in-collections",
        "{value} of {stopped} in collections[, {around} in the safepoints around them][, {others} at other safepoints]";
    /// A pause with what it found and left.
    PAUSE_SIZES = "pause-with-sizes", "{pause}[ ({cause})] of {value}[, heap {before} before, {after} after, of {capacity}]";
    /// The phases that took most of pauses.
    PHASES = "phases-of-pauses", "phases of these pauses: {phases}";
    /// One of them, with its share.
    PHASE = "phase-of-pauses", "{phase} {value} ({share})";
    /// CPU time of pauses, and for which share of them the collector waited, where it is most.
    CPU_OF = "cpu-of-pauses",
        "{pauses|pause|pauses} of {least} or more used {value} of CPU ({kernel} of it in the kernel) in {paused}[: for {waited} of it the collector waited, for a CPU, for memory from swap, or for a disk]";
    /// Pauses of CMS on one CPU, and why.
    ON_ONE_CPU = "pauses-on-one-cpu", "{pauses} {mark} ran on one CPU ({value} of CPU in {paused}): {why}";
    /// How fast full collections went through the heap, bytes a second.
    PACE = "pace-of-full-collections",
        "{collections|full collection|full collections} went through {heap} of heap in {paused}, {value} a second; a collector that works goes through 100 MB and more: for most of it this one waited, for memory from swap, for a CPU, or for a disk";
    /// What allocates what stays, of the bytes that were sampled.
    ALLOCATED_BY = "allocated-by",
        "{value} of the bytes allocated for {class} are by {stack* ← } ({samples|sample|samples})";
    /// The same, where it is not known what of that stays.
    ALLOCATED_ALL_BY = "allocated-or-dropped-by",
        "{value} of all bytes allocated for {class}, kept or not, are by {stack* ← } ({samples|sample|samples})";
    /// A method on the way there.
    FRAME = "frame", "{value}";
    /// A safepoint that is no pause of a collection.
    STOP = "stop", "{operation} of {value}";
    /// A pause whose record ends before its length.
    PAUSE_CUT_OFF = "pause-cut-off", "{value}, {failed}; its record is truncated, and how long it took is not known";
    /// How busy the thread that calls `finalize()` is, and with what.
    FINALIZER_BUSY = "finalizer-thread-busy",
        "the thread that runs finalizers had something to do for {value} of its time, most of it in {method}(): what waits for it stays in the heap";
    /// The median young pause.
    USUAL_YOUNG = "usual-young-pause", "a usual young pause of this run takes {value}";
    /// Collections that somebody asked for.
    ASKED_FOR = "collections-asked-for",
        "{by}: {collections|collection|collections}, {value} in all, cause \"{cause}\"";
    /// How far apart collections that somebody asked for are.
    ASKED_EVERY = "collections-asked-every", "one every {value} (median)";
    /// The same, so close together that direct memory may have run out.
    ASKED_IN_BUNCHES = "collections-asked-in-bunches",
        "one every {value} (median); so close together they may come from direct memory that runs out (-XX:MaxDirectMemorySize)";
    /// Growth of metaspace, bytes a minute, with its interval.
    METASPACE_GROWTH = "metaspace-growth",
        "metaspace after these collections went from {first} to {last} ({value} a minute, 95% between {low} and {high})";
    /// Threads that waited for native code which held an array.
    LOCKER_WAITS = "gclocker-waits",
        "{threads|thread|threads} waited {value} for native code that held an array below HotSpot's GCLocker, off the CPU; {thread} the longest, {longest}";
    /// The share of young collections that native code brought about.
    LOCKER_SHARE = "gclocker-share",
        "{value} of all young collections; {empty} of them found eden less than {limit} full";
    /// What was promoted too early, and how much of the old generation was garbage.
    PROMOTED_EARLY = "promoted-early",
        "threshold 1 after {collapsed} of {young|young collection|young collections}; {value} of what they freed was promoted; an old collection freed {garbage} of the old generation";
    /// Bytes of age 1 after a collection.
    AGE_1 = "survivors-of-age-1", "{value} of age 1, {desired} desired in a survivor space";
    /// Pauses for humongous allocations.
    HUMONGOUS = "humongous-pauses",
        "{value|pause|pauses} with cause G1 Humongous Allocation; humongous is what has [{size}|half a region] or more";
    /// Humongous regions before and after a collection.
    HUMONGOUS_REGIONS = "humongous-regions",
        "humongous regions {value} before the collection, {after} after it";
    /// The share of the time that collections for lack of room took.
    FOR_ROOM = "collections-for-room",
        "{collections|collection|collections} for lack of room, {paused} in all, {value} of the time";
    /// What the heap holds after collections of the old generation.
    LIVE_SET = "live-set", "live set {value} of {heap}";
    /// The same, where collections of the old generation are few.
    LIVE_SET_ABOUT = "live-set-estimate", "live set about {value} of a heap of {heap}";
    /// The size of the young generation.
    YOUNG_SIZE = "young-generation",
        "young generation {value} ({share} of the heap), full again {interval} after a collection, where most of their time went";
    /// Time that threads waited for memory which the collector had not freed yet.
    STALLS = "allocation-stalls",
        "{stalls|stall|stalls} of {threads|thread|threads}, {value} over all threads; at least one thread waited for {throughout} of the windows";
    /// One such wait.
    STALL = "allocation-stall", "{stall} of {thread}: {value}";
    /// CPU time of pauses that waited.
    STARVED = "starved-pauses",
        "{pauses|pause|pauses} of {least} or more: {value} of CPU ({kernel} of it in the kernel) in {paused} of wall time[, {efficiency} of what the workers could use; a quiet machine gives {usual} or more]";
    /// How long the collector's threads ran in pauses, and could have, milliseconds over threads.
    COLLECTOR_READY = "collector-ready",
        "in {pauses|pause|pauses} of {paused} in all, the collector's {threads|thread|threads} ran for {value} and waited for a CPU for {waited}";
    /// A load above the number of CPUs.
    HOST_LOAD = "host-load", "load of the machine {value:.1} on {cpus} CPUs";
    /// Safepoints that were late though their operations have nothing to do with collections.
    LATE_SAFEPOINTS = "late-safepoints",
        "{value} other safepoints were late too: {longest} to reach \"{operation}\"";
    /// More workers than CPUs.
    WORKERS = "collector-threads", "{value} collector threads on {cpus} CPUs";
    /// How much of the swap was free.
    SWAP_FREE = "swap-free", "only {value} of the swap was free at the start: the heap may have been swapped out";
    /// Growth of the live set, bytes a minute, with its interval and halves, whether it is steady
    /// or slowing, and how long it takes until the heap is full.
    LIVE_SET_GROWTH = "live-set-growth",
        "heap after {collections|collection|collections} of the old generation: {first} to {last}, {value} a minute (95% between {low} and {high}); {early} in the earlier half, {late} in the later ({pace})[; full in {left}]";
    /// The heap in use after one collection of the old generation.
    IN_USE_AFTER = "heap-in-use-after", "{value} in use after {pause}";
    /// Direct buffers and what keeps them.
    DIRECT_BUFFERS = "direct-buffers",
        "{buffers|direct buffer|direct buffers} with {value} are kept by {owner}; {baseline} in the dump before";
    /// What an object keeps, in a heap dump.
    RETAINED = "retained",
        "{value} of {heap} that can be reached ({share}) are kept by {owner}: {contents}[; memory accumulates in its {inside}]";
    /// Classes from a root to what accumulates.
    RETAINED_BY = "retained-by", "each holds what is right of it: {value}";
    /// What an object keeps above the dump before.
    RETAINED_MORE = "retained-growth", "it keeps {value} more than in the dump before, of {heap} that the heap grew by";
    /// How the JVM uses large pages, as its log states it.
    LARGE_PAGES = "large-pages", "large pages: {value}";
}

/// A pause and how long it took.
pub(crate) fn pause(pause: &Pause<'_>) -> Fact {
    PAUSE.is(Value::ms(pause.ms())).with("pause", Value::name(pause.span.name()))
}

/// The same with the cause that the log has.
pub(crate) fn with_cause(of: &Pause<'_>) -> Fact {
    pause(of).with("cause", of.cause().map(Value::name))
}

/// A pause with the CPU time used in it.
pub(crate) fn with_cpu(pause: &Pause<'_>) -> Evidence {
    let cpu = pause.cpu().unwrap_or_default();
    let fact = PAUSE_CPU.is(Value::ms(pause.ms())).with("pause", Value::name(pause.span.name()));
    let fact = fact.with("kernel", Value::seconds(cpu.sys_s)).with("user", Value::seconds(cpu.user_s));
    Evidence::cited(&pause.span, fact)
}
