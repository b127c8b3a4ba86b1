//! What running time that grew is spent on, and the collector's time in pauses, by the frames that
//! it lies below.

super::metrics! {
    TLS = "mechanism-tls-handshakes", "in TLS handshakes";
    EXCEPTIONS = "mechanism-exceptions", "filling in stack traces of exceptions";
    UNWINDING = "mechanism-unwinding", "unwinding exceptions";
    REVOCATIONS = "mechanism-revocations", "taking biased locks away from their threads";
    STACK_WALKS = "mechanism-stack-walks", "walking stacks";
    PAGE_FAULTS = "mechanism-page-faults", "in page faults";
    UNMAPPING = "mechanism-unmapping", "giving memory back to the kernel";
    CLASS_LOADING = "mechanism-class-loading", "loading and defining classes";
    INTROSPECTION = "mechanism-introspection", "inspecting classes as beans";
    RESOURCES = "mechanism-resources", "looking for files on the class path";
    LINKING = "mechanism-linking", "linking lambdas, method handles and concatenations of strings";
    REGEX_COMPILE = "mechanism-regex-compile", "compiling regular expressions";
    REGEX = "mechanism-regex", "matching regular expressions";
    COMPRESSION = "mechanism-compression", "compressing and uncompressing";
    SERIALISATION = "mechanism-serialisation", "in Java serialisation";
    XML = "mechanism-xml", "parsing and writing XML";
    COLLISIONS = "mechanism-collisions", "searching buckets of hash maps in which keys collide";
    LIST_SEARCH = "mechanism-list-search", "searching lists, or moving their elements";
    COPY_ON_WRITE = "mechanism-copy-on-write", "copying the arrays of copy-on-write collections";
    SORTING = "mechanism-sorting", "sorting";
    BIG_NUMBERS = "mechanism-big-numbers", "in arithmetic of arbitrary precision";
    CRYPTOGRAPHY = "mechanism-cryptography", "in ciphers, digests and signatures";
    RANDOM = "mechanism-secure-random", "drawing random numbers for cryptography";
    DATES = "mechanism-dates", "parsing and formatting dates";
    FORMATTING = "mechanism-formatting", "formatting text";
    REFLECTION = "mechanism-reflection", "looking up members of classes by reflection";
    MANAGEMENT = "mechanism-management", "asking the JVM about its threads and memory (its management beans)";
    LOGGING = "mechanism-logging", "logging";
    JVM_LOG = "mechanism-jvm-log", "writing the JVM's own log (-Xlog, jcmd VM.log)";
    REFINEMENT = "mechanism-refinement", "noting references that were written into other regions (G1's write barrier and the refinement of its remembered sets)";
    SMAPS = "mechanism-smaps", "walking all page tables of a process for /proc/PID/smaps";
    GC_VERIFIES = "mechanism-gc-verifies", "verifying the heap (-XX:+VerifyBeforeGC, -XX:+VerifyAfterGC)";
    GC_REFERENCES = "mechanism-gc-references", "processing references (soft, weak and phantom ones, finalizers, cleaners)";
    GC_STACKS = "mechanism-gc-stacks", "scanning the stacks of threads";
    GC_CODE = "mechanism-gc-code", "scanning compiled code";
    GC_CLASSES = "mechanism-gc-classes", "scanning class loaders and classes";
    GC_CARDS = "mechanism-gc-cards", "looking for references from old regions to young ones (cards, remembered sets)";
}
