//! Why the metrics of `fathom gc` and `fathom jit` are judged as they are, or are not judged.

super::metrics! {
    NOT_LOGGED = "not-in-log", "not in this log";
    NO_TIMESTAMPS = "log-without-timestamps", "the log has no timestamps";
    NOTHING_RECORDED = "nothing-recorded", "no collection and no stop was recorded";
    /// The limit of what is usual.
    USUAL_UP_TO = "usual-up-to", "up to {value} is usual";
    /// The same of what should be large.
    USUAL_FROM = "usual-from", "{value} or more is usual";
    NONE = "none-counted", "none";
    NUMBER_ALONE = "number-alone", "a number alone says nothing";
    MANY_SHORT = "many-short-pauses", "a number alone says nothing: many short pauses are fine";
    BY_SHARE = "judged-by-share-of-run", "judged by its share of the run, above";

    STOPS_UNNAMED = "stops-without-purpose", "the log has stops of the JVM, and not what they were for";
    /// Time in which collections stopped the application, and the limit that it is below.
    STOPPED_BELOW = "stopped-below-limit", "stopped for {value} of the run, below {limit}";
    /// The same above a limit.
    STOPPED_ABOVE = "stopped-above-limit", "stopped for {value} of the run, above {limit}";
    NO_PAUSE = "no-pause-in-log", "no pause";
    /// The longest pause that is usual for a collector that works concurrently.
    PAUSE_USUAL_CONCURRENT = "pause-usual-concurrent",
        "up to {value} is usual for a collector that works concurrently with the application";
    /// The same for one that does not.
    PAUSE_USUAL = "pause-usual", "up to {value} is usual for a collector that stops the application to work";
    /// The limit that a pause passes, of a collector that works concurrently.
    PAUSE_LONG_CONCURRENT = "pause-long-concurrent",
        "above {value}, long for a collector that works concurrently with the application";
    /// The same of one that does not.
    PAUSE_LONG = "pause-long", "above {value}, long for a collector that stops the application to work";
    FEW_PAUSES = "fewer-than-two-pauses", "fewer than two pauses with timestamps";
    /// What pauses take that come often.
    PAUSES_OFTEN = "pauses-often", "pauses come often enough to take {value}";
    PAUSES_TAKE = "pauses-take", "however often, they take {value} in all";
    SEE_CAUSES = "see-causes", "[they take {value} of the run; ]see the causes for who asks for them";
    SAME_AS_ABOVE = "same-as-above", "the same ones as above";
    /// Collections that are full by what they do.
    UNLABELLED = "full-and-not-labelled", "{value} more than are labelled full";

    NO_RATE = "allocation-unknown", "needs two collections with heap sizes and timestamps";
    /// The time that the collector takes to keep up with allocation.
    KEEPS_UP = "collector-keeps-up", "the collector keeps up with {value} of the time stopped";
    KEEPING_UP_TAKES = "keeping-up-takes", "keeping up takes {value} of the time";
    NO_OLD_SIZES = "old-sizes-unknown", "no young collection with sizes of the old generation";
    PROMOTED_MORE = "promoted-more-than-allocated",
        "more was promoted than is seen to be allocated: the log is a fragment";
    BY_ALLOCATED = "judged-by-share-of-allocated", "judged as a share of what is allocated, below";
    MUCH_SURVIVES = "much-survives",
        "much survives: a cache that fills, or a young generation or survivor spaces too small";
    BY_HEAP = "judged-by-share-of-heap", "judged as a share of the heap, below";
    NO_OLD_COLLECTION = "no-old-collection", "no collection of the old generation in the log";
    NO_OLD_OR_SIZE = "no-old-collection-or-heap-size",
        "no collection of the old generation in the log, or no heap size";
    /// The share of the heap below which the live set leaves room.
    LEAVES_ROOM = "live-set-leaves-room", "below {value} leaves the collector room";
    LITTLE_ROOM = "live-set-leaves-little-room", "little room: a larger heap makes collections rarer";
    NO_HEAP_SIZE = "heap-size-not-in-log", "the size of the heap is not in the log";
    /// How many collections a trend needs, and how many there are.
    TOO_FEW_OLD = "trend-needs-collections", "needs {value} collections of the old generation, has {has}";
    GROWS_AS_LEAK = "grows-as-leak", "it grows as a leak does; at this rate full in {value}";
    GREW_FULL = "grew-until-full", "it grows as a leak does, and the heap is as full as it can be";
    NO_HEAP_SIZES = "no-pause-with-sizes", "no pause with heap sizes";
    OF_LARGEST = "of-largest-heap", "{value} of the largest heap";
    NO_HEAP_MAX = "heap-maximum-not-in-log", "the maximum heap size is not in the log";
    FOR_COMPARISON = "for-comparison", "for comparison with the two metrics above";
    BY_COLLECTIONS = "judged-by-collections", "judged by the collections that it causes, below";
    NO_CAUSES = "causes-not-in-log", "the log names no causes";
    LOADING = "loading-causes-a-few", "a few while an application loads its classes are usual";
    LOADING_GOES_ON = "loading-goes-on", "class loading goes on, or class loaders are not released";
    HUMONGOUS_NONE = "humongous-start-none", "no collection was started because of them";
    /// Collections that humongous objects started.
    HUMONGOUS_STARTED = "humongous-started",
        "{value|collection was|collections were} started because of them";
    NO_AGES = "ages-not-in-log",
        "the log has no ages; -Xlog:gc+age=trace (JDK 8: -XX:+PrintTenuringDistribution) shows them";
    FEWER_THAN_HALF = "fewer-than-half", "fewer than half";
    HALF_OR_MORE = "half-or-more",
        "half or more: objects reach the old generation before they had time to die";

    NO_CPU = "cpu-times-not-in-log",
        "no pause of 50 ms or more with CPU times (JDK 9 on: -Xlog:gc+cpu, part of gc*)";
    NO_WORKERS = "workers-not-in-log", "how many workers there were is not in the log";
    WORKERS_WAITED = "workers-waited",
        "the workers waited more than they worked: no CPU, a disk, page faults, or swap";
    BY_WORKERS = "judged-by-workers", "judged by what the workers could use, above";
    NO_MOST_CPUS = "cpus-for-pauses-not-in-log", "how many there could have been is not in the log";
    KERNEL_MEMORY = "kernel-gives-memory", "the kernel gives or takes memory while the application waits";
    NO_ROOM = "heap-too-little-room", "the heap has too little room, or old collections start too late";
    NO_LINES = "lines-of-pause-not-in-log", "the log prints one line per pause, or no timestamps";
    LINES_FOLLOW = "lines-follow-at-once", "the lines of a pause follow each other at once";
    GAP_UNKNOWN = "gap-unknown", "what was done in it the log does not say; it used CPU time, or none is printed";
    GAP_OF_LOG = "gap-of-log",
        "the JVM may have waited for the log itself; see the rule gc-log-write-blocked";
    RESTS = "rests-half-of-time", "it rests at least half of the time";
    RARELY_RESTS = "rarely-rests", "it rarely rests: a larger heap or less allocation gives it room";
    /// Stalls that are all shorter than a limit.
    ALL_BELOW = "all-below", "all below {value}";
    STALLED = "threads-stalled", "threads were stopped that the collector is built never to stop";
    BY_LONGEST = "judged-by-number-and-longest", "judged by their number and the longest one";
    SHORT = "stall-short", "short";
    LONGER_THAN_PAUSE = "stall-long", "longer than any pause should be";
    /// A load beyond the CPUs that there are.
    LOAD_HIGH = "load-above-cpus", "more than its {value} CPUs";
    LOAD_LOW = "load-within-cpus", "not more than its {value} CPUs";
    NO_CPUS = "cpus-not-in-log", "the number of CPUs is not in the log";

    SWITCH_ON = "safepoints-not-in-log",
        "no safepoint lines; -Xlog:safepoint (JDK 8: -XX:+PrintGCApplicationStoppedTime) shows them";
    /// Time stopped, and what of it was not for collections.
    STOPPED_BEYOND = "stopped-beyond-collections", "stopped for {value}, {beyond} of it not by collections";
    NO_OPERATION = "no-operation-named", "none is named";
    NOT_NOTICED = "not-noticed", "up to {value} is not noticed";
    /// The operation that held the application longest, in the words of fathom.
    OPERATION = "long-operation", "a {value}: see the rule safepoint-operation";
    /// The same in those of the log.
    OPERATION_LOGGED = "long-operation-as-logged", "{value}: see the rule safepoint-operation";
    NO_REACH = "reach-not-in-log", "no line shows how long the threads took to stop; -Xlog:safepoint does";
    SLOW_TO_STOP = "slow-to-stop", "a thread was slow to stop: see the rule safepoint-slow-to-reach";

    THOUSANDS = "thousands-are-usual",
        "a number alone says nothing: thousands while an application starts are usual";
    BY_WAITS = "judged-by-waits", "judged by the waits and the busy time below";
    BY_BUSIEST = "judged-by-busiest-thread", "judged by the busiest thread, below";
    NO_ENDS = "ends-not-in-log",
        "the log does not record when compilations end; -XX:+UnlockDiagnosticVMOptions -XX:+LogCompilation does";
    /// Of a log of LogCompilation, whose tasks the JVM appends when it ends.
    NO_TASKS = "tasks-not-in-log",
        "the JVM adds the tasks to its log of LogCompilation when it ends; until then, and after kill -9, they are in /tmp/hs_c*_pidPID.log, one file a compiler thread: read them as well";
    COMPILES_ON = "compiles-through-run",
        "compilation goes on through most of the run: a short run, or code that never settles";
    NO_QUEUES = "queues-not-in-log", "the log does not record when tasks were queued (LogCompilation does)";
    CANNOT_KEEP_UP = "compiler-cannot-keep-up",
        "the compiler cannot keep up: too few CPUs or too much code at once";
    BY_FREE = "judged-by-share-free", "judged by the share left free";
    COMPILER_OFF = "compiler-off", "the JVM has switched its compiler off";
    NEVER = "never", "never";
    THROWN_AWAY = "cache-thrown-away", "code is thrown away and compiled again";
    HARMLESS = "harmless-unless-full", "harmless as long as the cache is not full";
    NO_CACHE_SIZE = "cache-size-not-in-log", "the size of the code cache is not in the log";
    /// The share of the code cache that is left.
    AT_LEAST = "left-at-least", "{value} or more";
    GETTING_FULL = "getting-full", "getting full";
    NEARLY_FULL = "nearly-full", "next to nothing left: raise -XX:ReservedCodeCacheSize";
    BY_REAL = "judged-by-not-replaced", "judged by the part that was not replaced by better code, below";
    /// How often a second code is thrown away, as in a storm.
    STORM = "storm", "{value:.0} a second";
    /// How often a second code is thrown away, where that is no storm.
    NO_STORM = "no-storm", "{value:.2} a second; a storm has more than {limit:.0}";
    NONE_AGAIN = "none-compiled-again", "no method was compiled again";
    /// The method that is compiled most often.
    IN_LOOP = "compiled-in-loop", "{value}";
    /// How often a method may be compiled.
    WARM_UP = "fewer-is-warm-up", "fewer than {value} is warm-up";
    SEE_TABLE = "see-table", "the table shows the reasons";
    SEE_TABLE_FEW = "see-table-few-usual", "the table shows the reasons; a few are usual";
    /// Methods that are not compiled any more.
    GIVEN_UP = "given-up", "{value|method was|methods were} given up for compilation";
}
