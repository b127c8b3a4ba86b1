//! What helps the compilers, and code that they do not get to.

super::remedies! {
    LARGER_CODE_CACHE = "remedy-larger-code-cache",
        "-XX:ReservedCodeCacheSize=512m (or twice what the log shows in use)",
        "all JDKs; the default is 240 MB with tiered compilation, 48 MB without", "address space; memory only as code fills it";
    ONE_CODE_CACHE = "remedy-one-code-cache",
        "one cache instead of segments, when one segment is full and the others are not: -XX:-SegmentedCodeCache",
        "JDK 9 and later", "";
    FLUSH_CODE_CACHE = "remedy-flush-code-cache",
        "keep -XX:+UseCodeCacheFlushing on (the default), so that a full cache does not end compilation for good",
        "all JDKs", "";
    WARM_UP = "remedy-warm-up",
        "warm the path up before it takes load: send it some ten thousand calls of its own kind (C2 compiles a method after 5,000 to 15,000 calls and loops)",
        "", "the calls must take the same branches and types, or the code is thrown away again";
    AOT_CACHE = "remedy-aot-cache",
        "an AOT cache with profiles of a training run: -XX:AOTCacheOutput=app.aot, then -XX:AOTCache=app.aot",
        "JDK 25 (JEP 514, 515); on 24 the cache has classes and no profiles (JEP 483)", "the training run must take the path";
    C1_ONLY = "remedy-c1-only",
        "as an experiment: -XX:TieredStopAtLevel=1, C1 only",
        "all JDKs with tiered compilation (8 and later)", "peak speed is a half to a third of C2's: to see what the burst costs, not to stay";
    HOLD_ASSUMPTION = "remedy-hold-assumption",
        "make the failing assumption hold: split the method, or the call by receiver type, so that each copy sees one shape (the reason and the bytecode index above say which)",
        "", "";
    NEWEST_UPDATE = "remedy-newest-update",
        "the newest update release: loops of this kind are fixed as bugs",
        "all JDKs (such as JDK-8257594)", "";
    INTERPRET_METHOD = "remedy-interpret-method",
        "as an experiment: keep the method interpreted, -XX:CompileCommand=exclude,CLASS::METHOD, or all of the JVM at C1's speed, -XX:TieredStopAtLevel=1",
        "all JDKs", "slower than a healthy C2: to see what the loop costs, not to stay";
    CPU_WITH_INSTRUCTIONS = "remedy-cpu-with-instructions",
        "a CPU, or a model of one for the virtual machine, with the instructions it needs (/proc/cpuinfo)",
        "the host", "a move";
    SPLIT_METHOD = "remedy-split-method",
        "see how large it is (javap -c -p CLASS: the last bytecode index); split a method of more than 8,000 bytes of bytecode, or let the generator do so",
        "the code", "none known";
    COMPILE_HUGE_METHODS = "remedy-compile-huge-methods",
        "-XX:-DontCompileHugeMethods",
        "JDK 8 and later", "compilers take long, and much memory, for such methods; C2 may still give up";
    DO_NOT_EXCLUDE = "remedy-do-not-exclude",
        "leave out what excludes it (-XX:CompileCommand=exclude,…, a .hotspot_compiler file), if it is excluded",
        "the JVM's arguments", "if it was excluded because of a bug, that must be fixed in this JDK first";
    MORE_COMPILER_THREADS = "remedy-more-compiler-threads",
        "more compiler threads: -XX:CICompilerCount=4 or more[ (this JVM: {value})], or more CPUs for the JVM",
        "all JDKs", "the threads take CPUs from the application during the burst";
    LEAVE_OUT = "remedy-leave-out",
        "leave out {value}",
        "the JVM's arguments", "none known";
    LEAVE_OUT_IF_FIXED = "remedy-leave-out-if-fixed",
        "leave out {value}",
        "the JVM's arguments", "if it was given because of a bug, that must be fixed in this JDK first";
    LATER_JDK = "remedy-later-jdk",
        "a JDK from {value#} on",
        "the host or the image", "an update";
    SEE_FLAG = "remedy-see-flag",
        "see whether it is on: java -XX:+UnlockDiagnosticVMOptions -XX:+PrintFlagsFinal -version | grep {value}",
        "this JDK on this host", "none";
}
