//! What compilers did, and what became of their code.

super::metrics! {
    /// Compile tasks asked for in the windows, a second.
    TASKS = "compile-tasks", "{tasks|compile task|compile tasks} in these windows: {value} a second, {baseline:.2} in the baseline";
    /// Methods that were compiled for the first time.
    FRESH = "methods-first-compiled",
        "{value|method|methods} not compiled before; most expensive to compile: {methods}";
    /// One of them.
    METHOD = "method-first-compiled", "{value}";
    /// Methods that had been compiled before classes were redefined.
    COMPILED_AGAIN = "methods-compiled-again-after-redefinition",
        "{value|method|methods} compiled again after {times|redefinition of classes|redefinitions of classes}";
    /// Compilations by tier.
    TIERS = "compilations-by-tier", "{parts}; {value} of them on-stack replacements of running loops";
    /// Compilations by compiler, where tiers are not known.
    COMPILERS = "compilations-by-compiler", "{parts}";
    /// Some of them.
    PART = "compilations", "{value} [at tier {tier#}|by {compiler}]";
    /// Those of which the tier is not recorded, where that of others is.
    PART_UNKNOWN = "compilations-of-unknown-tier", "{value} at a tier that is not recorded";
    /// How long tasks waited for a compiler thread.
    QUEUE = "compile-queue", "waits in the queue: {compilers*; }; up to {value} tasks waiting";
    /// The same of one compiler: 95th percentile, median and maximum.
    QUEUE_OF = "compile-queue-of-a-compiler", "{compiler} p50 {p50}, p95 {value}, max {max} (baseline p95 [{baseline}|none])";
    /// How busy compiler threads were.
    BUSY = "compiler-threads-busy", "compiler threads busy: {compilers}";
    /// The same of one compiler.
    BUSY_OF = "compiler-busy", "{compiler} {value} (baseline {baseline})";
    /// Where a burst begins, before its window or after that began.
    ONSET = "burst-onset", "the burst begins {value} {side} the slow window of {window}, and fills {filled} of it";
    /// Compile tasks of the other JVMs.
    OTHERS = "compile-tasks-of-others", "compile tasks of the other JVMs: {jvms}";
    /// The same of one of them.
    OTHER = "compile-tasks-of-a-jvm", "{jvm} {value} a second (baseline {baseline:.2})";
    /// The burst lies in the start-up of the JVM; how long after the start it begins.
    START_UP = "burst-in-start-up", "the burst begins {value} after the start of the JVM";
    /// CPUs that compiler threads kept busy.
    CPUS = "cpus-of-compilers", "compilers took {value} CPUs[ ({baseline} in the baseline)][, those of {jvms*, of }]";
    /// The same of the compilers of one JVM, with its share.
    CPUS_OF = "cpus-of-compilers-of-a-jvm", "{jvm} {share} ({value} CPUs[, {baseline} in the baseline])";
    /// Waiting for a CPU, as a share of the time in which the application had work, and what of it
    /// is attributed to compilers.
    CPU_WAITS = "cpu-waits-and-compilers",
        "application threads waited for a CPU for {value} of the time in which they had work[; in the baseline {baseline}]: {taken} of wall time for what compilers took";
    /// Wall time that code cost which ran before it was compiled, with its shares of the CPU time.
    UNCOMPILED = "ran-before-compiled",
        "of its CPU time the application ran, of methods compiled from then on, {interpreted} interpreted, {c1} in C1's code[; in the baseline {baseline-interpreted} interpreted, {baseline-c1} in C1's code]: {value} of wall time";
    /// Compile tasks a second, and how busy C2 was: no burst.
    RATE = "compile-rate",
        "{value} compile tasks a second in the slow windows, {baseline} in the baseline[; C2 busy {c2} of the time, {baseline-c2} in the baseline]";
    /// The same, of a burst that samples show to have cost next to nothing.
    WORKED = "compilers-worked",
        "{rate}; compilers worked for {value} in these periods, and samples show next to nothing that ran before it was compiled";
    /// A burst as new code brings them, which cost too little.
    AS_NEW_CODE = "burst-of-new-code",
        "{value} compile tasks a second, as new code brings them; of its CPU time the application ran {interpreted} interpreted, {c1} in C1's code of methods that were compiled then, and compilers took {taken} of wall time of CPUs that it waited for";
    /// Compile tasks of a JVM and of another in which many times as much became hot.
    LEADER = "compile-tasks-of-the-leader",
        "{own} compile tasks in the slow windows, compared with {value} of {jvm}";
    /// Compile tasks of the whole run, and the second with most of them.
    RUN = "compile-tasks-of-the-run",
        "{value|compile task|compile tasks}, at most {most} a second, {after:.0} s after the start";
    /// How busy compilers were where nothing shows when the JVM was slow.
    BUSY_RUN = "compilers-busy-in-the-run", "compilers busy for {value} of the time; {tasks}";
    /// The same, so busy that compilation may have slowed the JVM down.
    NOT_JUDGED = "compilation-not-judged",
        "whether compilation slowed {jvm} down, for nothing shows when it was slow: {tasks}, compilers busy for {value} of the time";
    /// No slow time.
    NO_SLOW_TIME = "no-slow-time", "no slow time was recorded; {tasks}";
    /// How often the code cache was full or swept, and collections to free code: too little to
    /// matter.
    CACHE_HARDLY = "code-cache-hardly-full",
        "the code cache was full {full|time|times} and swept {sweeps|time|times}, {value|collection|collections} to free code";
    /// What was lost after the code cache was full: too little to matter.
    CACHE_LOST = "lost-after-code-cache-full", "the code cache was full {full|time|times}, but {value} was lost after that";
    /// The release from which on the JDK has an intrinsic for a method, and the release that ran.
    SINCE = "intrinsic-since-jdk", "JDK {value#} and later have an intrinsic for {method}; this is JDK {jdk}";
    /// The share of the windows in which the JVM was stopped.
    STOPPED = "stopped-share", "collections and other safepoints stopped it for {value} of these windows, {baseline} of the baseline";
    /// The code cache had no room.
    CACHE_FULL = "code-cache-full", "code cache full[, {value} free]";
    /// The JVM switched its compiler off.
    DISABLED = "compiler-disabled", "the compiler has been disabled";
    /// How often the code cache was full.
    CACHE_FULL_TIMES = "code-cache-full-times", "full {value|time|times} in all";
    /// Compilations that gave up.
    GAVE_UP = "compilations-given-up", "{value|compilation|compilations} failed for lack of code cache";
    /// Sweeps of the code cache.
    SWEEPS = "code-cache-sweeps", "{value|sweep|sweeps} of the code cache";
    /// Collections to free code.
    FOR_CODE = "collections-for-code", "{value|collection|collections} to free code";
    /// The size of the code cache.
    CACHE_SIZE = "code-cache-size", "code cache of {value}";
    /// Compile tasks a second after the compiler was switched off; the baseline is before that.
    AFTER_DISABLED = "compile-tasks-after-disabled", "{baseline:.0} compile tasks a second before, {value:.0} after";
    /// Methods that were compiled again and again.
    AGAIN = "compiled-again",
        "compiled {value} times or more in the slow windows: {methods}; code that is still good is compiled once a tier";
    /// One of them, with how often.
    AGAIN_METHOD = "compilations-of-a-method", "{method} ({value} times)";
    /// How often the code of a method was thrown away, and how long it had none.
    THROWN_AWAY = "code-thrown-away",
        "{method}: thrown away {value|time|times} and made again, {without} without its code";
    /// Why code was thrown away.
    REASONS = "deoptimisation-reasons", "reasons: {reasons}";
    /// One reason, with how often.
    REASON = "deoptimisation-reason", "{reason} ({value})";
    /// Traps of one place.
    TRAPS = "uncommon-traps", "{value|trap|traps}: {reason}[ at bytecode {bytecode#}], in {method}";
    /// Methods that the compiler no longer takes.
    NOT_COMPILABLE = "methods-not-compilable", "{value|method|methods} {value?was|were} given up for compilation";
    /// CPU time in methods that have an intrinsic, as compiled Java code.
    NO_INTRINSIC = "intrinsic-as-java-code", "CPU time in them as code of C2: {methods}";
    /// CPU time in methods that stay in the interpreter.
    STAYS_INTERPRETED = "stays-interpreted", "{value} of the JVM's CPU time in them as interpreted code ({samples|sample|samples}), without what they call: {methods}";
    /// CPU time in one method.
    IN_METHOD = "cpu-time-in-method", "{method} ({value})";
    /// The argument that switches an intrinsic off.
    SWITCHED_OFF = "switched-off-by", "{value}";
    /// Who calls it, by CPU time.
    CALLED_BY = "called-by", "called by {callers}";
}
