//! What a verdict could look at, and what it could not.

super::metrics! {
    /// What the collector cost above the baseline, of what was lost: it is ruled out as a whole.
    OF_THE_LOSS = "collections-of-the-loss",
        "collections stopped {process} for {stopped} of the slow windows and {baseline-stopped} of the baseline: {value} of the {lost} lost";
    /// What rules a cause out in the busiest of several JVMs; how many others do not show it
    /// either.
    OTHER_JVMS = "ruled-out-in-jvms", "{process}: {figure} (not in {value|other JVM|other JVMs} either)";
    /// The same of other programs.
    OTHER_PROCESSES = "ruled-out-in-processes", "{process}: {figure} (not in {value|other process|other processes} either)";
    /// How much of the time was covered of what a rule needs to see.
    COVERED = "covered-share", "{what}[ of {process}]: {value} {of} is covered";
    /// Nothing of that.
    NOT_COVERED = "not-covered", "{what}[ of {process}]: nothing {of} is covered";
    /// Records that a source lost.
    LOST = "records-lost", "{source} lost {value} of {all} records ({share})";
    /// The same, of a source that a rule needs.
    LOSSY = "source-too-lossy", "{what}[ of {process}]: {lost}";
    /// The same, of a collector of a live recording.
    TOO_LOW = "values-too-low", "{lost}: its values are too low, and rule nothing out";
    /// What a collector of a live recording could not see of something that a rule needs.
    UNSEEN = "not-seen-by-collector", "{what}: {collector} could not see {unseen}";
    /// What of the time may go unseen between samples.
    FEW_SAMPLES = "cpu-samples-too-few",
        "which Java code ran in {length}: samples of the CPU are too far apart for it (up to {value} may go unseen)";
    /// Slow time that only the series covers.
    ONLY_SERIES = "slow-time-unrecorded", "{value} of slow time that only the series covers: {verdict}";
    /// Collections of a JVM.
    COLLECTIONS = "collections-unseen", "garbage collections of {value}";
    /// Causes of collections.
    CAUSES = "collection-causes-unseen", "causes of collections";
    /// Kernel time of collections.
    KERNEL_TIME = "collection-kernel-time-unseen", "kernel time of collections";
    /// CPU time of collections.
    CPU_TIME = "collection-cpu-time-unseen", "CPU time of collections";
    /// Phases of pauses.
    PHASES = "pause-phases-unseen", "what pauses spend outside their phases: no log has these pauses phase by phase";
    /// A gap of a pause without CPU times.
    GAP_USE = "pause-gap-unseen",
        "what {value} of a pause outside its phases were spent on: no log has CPU times of these pauses";
    /// Ages of objects.
    AGES = "object-ages-unseen", "ages of surviving objects";
    /// The size of the heap.
    HEAP_SIZE = "heap-size-unseen", "the size of the heap";
    /// Pauses that are too few to judge the heap by.
    TOO_FEW_PAUSES = "pauses-too-few",
        "whether the heap of {jvm} is too small: {pauses|pause|pauses} of {value} in all are too few to judge by";
    /// A heap that may still grow.
    HEAP_GROWS = "heap-may-grow",
        "whether the heap of {jvm} is too small: collections took {value} of the time and leave the old generation full, but the heap has grown to no more than {taken} of {heap}";
    /// A heap that cannot be judged, and why: one of those below.
    HEAP_NOT_JUDGED = "heap-not-judged",
        "whether the heap of {jvm} is too small: collections took {value} of the time, and {why}";
    SHORT_LOG = "log-is-short", "the log covers less than 10 s";
    NO_HEAP_SIZE = "heap-without-size", "the size of the heap is not in the log";
    NO_YOUNG_SIZE = "young-size-unseen", "the size of the young generation is not in the log";
    FEW_OLD_COLLECTIONS = "few-old-collections",
        "what stays in use shows only after more collections of the old generation";
    FILLS_FAST = "young-fills-fast",
        "the young generation fills more than ten times a second, large a part of the heap as it is";
    /// Stops of a log that is too short.
    STOPS_OF_FRAGMENT = "stops-of-short-log",
        "whether stops take much of the run of {jvm}: {stopped}, and that is too short to know";
    /// How long threads take to stop.
    TIME_TO_STOP = "time-to-stop-unseen", "how long the threads of {value} take to stop";
    /// Compilers and the CPUs that others wait for.
    COMPILERS_AND_CPUS = "compilers-and-cpus-unseen", "whether compiler threads took the CPUs of {value}";
    /// Compilations of a JVM.
    COMPILATIONS = "compilations-unseen", "compilations of {value}";
    /// Which code ran.
    JAVA_CODE = "java-code-unseen", "which Java code ran";
    /// Page faults.
    PAGE_FAULTS = "page-faults-unseen", "page faults";
    /// Waits of a kind, and the collector that lost some.
    WAITS = "waits-unseen", "{value}[: {collector} lost some of its records]";
    /// What a collector could not see, as it says itself.
    NOT_COLLECTED = "not-collected", "{value}: {why}";
    /// Logs that are on no common clock.
    NOT_ALIGNED = "not-aligned", "{value}: cannot be time-aligned with the other inputs";
    /// No GC log.
    NO_GC_LOG = "no-gc-log", "what the JVM's collector and safepoints did: no log of a JVM was given";
    /// No JIT log.
    NO_JIT_LOG = "no-jit-log", "what the JIT compiler did: no log of a JVM was given";
    /// No recorded process is a JVM.
    NO_JVM = "no-jvm", "causes within a JVM: none of the recorded processes is one";
    /// Several things that one change makes visible.
    SEVERAL = "several-unseen", "{what*; }[; and {more} more]";
}
