//! What helps where running time that grew is spent on something well known.

super::remedies! {
    KEEP_TLS = "remedy-keep-tls",
        "keep connections alive and reuse them, and let clients resume sessions (session tickets, a session cache that is large enough and shared by the servers behind a balancer): each new TLS connection costs a full handshake otherwise",
        "any JDK", "";
    FEWER_EXCEPTIONS = "remedy-fewer-exceptions",
        "throw fewer exceptions on the common way, or ones without a stack trace (the constructor of Throwable with writableStackTrace = false)",
        "JDK 7 and later", "who catches one no longer sees where it came from";
    FEWER_STACK_WALKS = "remedy-fewer-stack-walks",
        "leave the caller's class and line out of log patterns (%C, %M, %L, %F, %l), and take stack traces less often",
        "any JDK", "logs no longer say where they come from";
    KEEP_MAPPED = "remedy-keep-mapped",
        "keep memory mapped and reuse it instead of mapping or allocating it anew for each operation; huge pages make faults fewer (-XX:+UseTransparentHugePages for the heap)",
        "any JDK", "what is kept takes memory";
    END_THE_RECURSION = "remedy-end-the-recursion",
        "find what throws (-Xlog:exceptions=info): a recursion without an end unwinds its whole stack in a StackOverflowError each time, whoever catches it; exceptions thrown through many frames cost by their number",
        "-Xlog: JDK 9 and later", "";
    INSPECT_ONCE = "remedy-inspect-once",
        "keep what was found out about a class (PropertyDescriptors, a mapper for each type), and do not flush those caches for each operation",
        "any JDK", "a cache keeps classes of loaders that should go";
    FIND_RESOURCES_ONCE = "remedy-find-resources-once",
        "look a file up once and keep its URL or content, and that it is not there, too: each look-up searches every jar of the class path",
        "any JDK", "";
    ROUND_NUMBERS = "remedy-round-numbers",
        "round to the digits that are needed (setScale, MathContext): each product has the digits of both its factors, and the next one takes longer",
        "any JDK", "what is rounded is lost";
    ASK_SELDOM = "remedy-ask-seldom",
        "ask for such figures once in so many seconds, by a thread of its own, and of those threads alone that matter: most of them go over all threads of the JVM",
        "any JDK", "";
    LOAD_ONCE = "remedy-load-once",
        "load, define and generate classes once: keep class loaders, compiled expressions, templates and proxies instead of making them for each operation",
        "any JDK", "";
    COMPILE_PATTERN_ONCE = "remedy-compile-pattern-once",
        "keep compiled patterns in constants: String.split, matches and replaceAll compile theirs at each call",
        "any JDK", "";
    SIMPLER_PATTERN = "remedy-simpler-pattern",
        "look at the pattern and the text that it is matched to: nested repetitions such as (\\w+\\s?)+ try exponentially many ways where a text does not match; possessive quantifiers or atomic groups end that, and so does a limit on the text's length",
        "any JDK", "";
    INDEX_INSTEAD = "remedy-index-instead",
        "keep what is searched in a map or set by its key, and a queue in an ArrayDeque: a list is searched from its beginning, and one that is an array moves all that lies behind what is removed",
        "any JDK", "a map takes more memory";
    BETTER_HASH = "remedy-better-hash",
        "look at hashCode() of the keys: many that share one value end in one bucket",
        "any JDK", "";
    WRITE_SELDOM = "remedy-write-seldom",
        "copy-on-write collections suit what is hardly ever written: each write copies all of it",
        "any JDK", "";
    LOG_LESS = "remedy-log-less",
        "log less on this way (levels, samples), with deferred arguments, and by an asynchronous appender",
        "any JDK", "what is not logged is missed later";
    NO_VERIFYING = "remedy-no-verifying",
        "leave out -XX:+VerifyBeforeGC, -XX:+VerifyAfterGC and -XX:+VerifyDuringGC: they walk the whole heap at each collection, to find faults of the JVM",
        "any JDK", "";
    LESS_OF_JVM_LOG = "remedy-less-of-jvm-log",
        "log less of the JVM: jcmd PID VM.log list shows what is on, jcmd PID VM.log disable ends it; fewer tags or a higher level in -Xlog; -Xlog:async writes it on a thread of its own (JDK 17 on)",
        "JDK 9 and later", "what is not logged is missed later";
    LESS_REFINEMENT = "remedy-less-refinement",
        "write fewer references between old objects that lie far apart (sort, shuffle or relink indexes of primitive numbers instead of references); where throughput counts, -XX:+UseParallelGC, whose barrier only marks a card",
        "G1", "longer pauses with the parallel collector";
    SMAPS_SELDOM = "remedy-smaps-seldom",
        "read /proc/PID/smaps seldom: its cost grows with the memory in use. /proc/PID/statm and status have the resident size for next to nothing, smaps_rollup (Linux 4.14 on) the sums in one line",
        "Linux", "";
    FEWER_REFERENCES = "remedy-fewer-references",
        "make fewer objects with finalize(), a Cleaner, or a soft, weak or phantom reference of their own: close resources with try-with-resources, and keep one reference for many objects; -XX:+ParallelRefProcEnabled shares the work among the workers where it is off",
        "any JDK; the flag is on by default since JDK 17", "";
    SHALLOWER_STACKS = "remedy-shallower-stacks",
        "have fewer threads that wait deep in their stacks: each collection walks all frames of all platform threads. End recursion before waiting, let waiting be asynchronous, or use virtual threads (JDK 21 on), whose stacks lie in the heap while they wait",
        "any JDK", "";
    LESS_CODE = "remedy-less-code",
        "look at how much code is compiled (jcmd PID Compiler.codecache), and generate less of it: scripts, proxies and expressions that are compiled anew",
        "any JDK", "";
    FEWER_LOADERS = "remedy-fewer-loaders",
        "look at how many class loaders there are (jcmd PID VM.classloader_stats), and keep generated classes and loaders instead of making them anew",
        "any JDK", "";
    FEWER_OLD_TO_YOUNG = "remedy-fewer-old-to-young",
        "write fewer references to new objects into old ones: large long-lived arrays and maps that are updated all the time; smaller ones are scanned in part",
        "any JDK", "";
}
