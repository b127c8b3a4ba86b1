//! Who: what findings are about. One that is a name has it as its value.

super::metrics! {
    /// A method of the application, and the one that calls it, where that says more.
    METHOD = "culprit-method", "{value}[, called from {caller}]";
    /// The static initialiser of a class.
    INITIALISER = "culprit-initialiser", "[{value}.<clinit>|a static initialiser]";
    /// A lock by its class, and where it is taken.
    LOCK = "culprit-lock", "[{value}|an object of unknown class][ in {place}()]";
    /// The address of a peer, of the host itself or another.
    PEER = "culprit-peer", "peer {value}";
    /// What answers look-ups.
    RESOLVER = "culprit-resolver", "[{value}|the resolver]";
    /// A peer, a host, a file or a process that threads wait for.
    TARGET = "culprit-target", "{value}";
    /// What threads do at a place that is not known.
    DOING = "culprit-doing", "{value}";
    /// A thread.
    THREAD = "culprit-thread", "thread {value}";
    /// Threads that ended.
    ENDED = "culprit-threads-ended", "{value} of {usual} threads of {pool} ended";
    /// What lies between the process and a peer.
    WAY = "culprit-way", "the network to {value}";
    /// The part of the CPUs that a process is given.
    OWN_PRIORITY = "culprit-own-priority", "the priority of the process itself";
    /// A limit of a control group.
    IO_LIMIT = "culprit-io-limit", "the limit of control group {value}";
    /// Whoever does not take in what is sent.
    READER = "culprit-reader", "whoever reads what {value} writes";
    /// What a thread answers for.
    SENDER = "culprit-sender", "what thread {value} sends answers for";
    /// What may hold answers back.
    ASYNCHRONOUS = "culprit-asynchronous-call", "an asynchronous call, a timer, a queue or a buffer";
    /// What lets no more calls of a peer through.
    LIMIT_OF_CALLS = "culprit-limit-of-calls", "what limits the calls to {value} at a time";
    /// What reads answers.
    EVENT_LOOP = "culprit-event-loop", "the thread that reads answers (an event loop)";
    /// Answers in pieces.
    PIECES = "culprit-answers-in-pieces", "answers that are sent in pieces";
    /// Answers that became larger.
    ANSWERS = "culprit-larger-answers", "the size of the answers";
    /// Who makes requests in addition to the operations.
    MORE_REQUESTS = "culprit-more-requests", "who makes these requests";
    /// What lies between the threads and the clients.
    OUTSIDE = "culprit-between-threads-and-clients", "a buffer, a queue, the network or the clients";
    /// Who asks for less.
    CLIENTS = "culprit-clients", "whoever requests the operations";
    /// Handshakes, and the method below which they are.
    HANDSHAKES = "culprit-tls-handshakes", "TLS handshakes in full[, below {value}]";
    /// Who asked for collections.
    ASKED_BY = "culprit-asked-for-collections", "{value}";
    /// A caller of `System.gc()`.
    SYSTEM_GC = "culprit-system-gc", "System.gc() called by {value}";
    /// Direct buffers.
    DIRECT_BUFFERS = "culprit-direct-buffers", "direct buffers that {value} allocates";
    /// What keeps memory.
    KEEPER = "culprit-keeper", "[{value}|objects that the application keeps referring to]";
    /// Classes without end.
    CLASS_LOADERS = "culprit-class-loaders", "class loaders that are never released, or classes generated without end";
    /// The threshold of metaspace.
    METASPACE_SIZE = "culprit-metaspace-threshold", "the metaspace threshold";
    /// What there was no class memory for.
    NO_METASPACE = "culprit-class-memory", "classes and class loaders that are not let go, or a limit of metaspace";
    /// What there was no heap for.
    NO_HEAP = "culprit-heap", "objects that the application keeps, or the size of the heap";
    /// A heap or generation that is too small.
    SIZE = "culprit-size", "the size of the {value}";
    /// Survivor spaces.
    SURVIVORS = "culprit-survivor-spaces", "survivor spaces too small for what survives one collection";
    /// Objects of half a region or more.
    LARGE_ARRAYS = "culprit-humongous-objects", "allocation of large arrays (humongous objects)";
    /// Native code that holds arrays.
    CRITICAL_SECTIONS = "culprit-critical-sections", "native code in JNI critical sections (GetPrimitiveArrayCritical)";
    /// A heap without room.
    NO_ROOM = "culprit-free-heap", "too little free heap when a collection starts";
    /// Collections that nothing explains.
    NOT_NAMED = "culprit-not-in-log", "a reason that the log does not name";
    /// Allocation that outruns the collector.
    ALLOCATION = "culprit-allocation", "allocation faster than the collector frees";
    /// The kernel's part in pauses.
    KERNEL_MEMORY = "culprit-kernel-memory", "the kernel's management of memory: huge pages, swap, memory that is given back and taken again";
    /// Memory of the heap that was not used before.
    FIRST_TOUCH = "culprit-heap-not-touched", "the heap's memory, touched for the first time during collections";
    /// What keeps collectors from their CPUs.
    NO_CPU_OR_SWAP = "culprit-cpus-or-swap", "whatever else runs on the CPUs (other processes, a CPU quota, the hypervisor), or swap";
    TAKEN_CPUS = "culprit-taken-cpus", "whatever else runs on the CPUs (other processes, a CPU quota, the hypervisor)";
    /// A file that the JVM writes.
    WRITES = "culprit-log", "writes to {value}";
    /// What most of the stops were.
    STOPS = "culprit-stops", "{value}[, {cause}]";
    /// A VM operation, and who asks for it.
    OPERATION = "culprit-vm-operation", "{value}[, asked for by {asked-by}][: {by}]";
    /// The thread that came last to a safepoint, and what it did.
    LAST_IN = "culprit-last-thread", "{value}: {did}";
    /// Threads that are late to a safepoint, where none is named: the kernel held them up.
    HELD_UP = "culprit-threads-held-up",
        "threads that were held up: by page faults (memory from swap, huge pages), or without a CPU";
    /// The thread that ends a safepoint.
    VM_THREAD = "culprit-vm-thread", "the VM thread, which lets the threads go";
    /// Threads without CPUs.
    NO_CPU = "culprit-threads-without-cpu", "threads that do not get a CPU";
    /// A loop, a copy or a fault.
    NO_POLL = "culprit-code-without-poll", "code that runs on without a poll, in a thread that the log does not name";
    /// One thread.
    LATE_THREAD = "culprit-late-thread", "one thread that is late; the log does not name it";
    /// Whoever stops a process.
    STOPPER = "culprit-stopper", "whoever stopped the process: it does not stop itself";
    /// A tracer.
    TRACER = "culprit-tracer", "[{value}|a tracer]";
    /// A control group.
    QUOTA = "culprit-quota", "the CPU quota[ of {quota} CPUs] of [the control group {value}|the JVM's control group]";
    /// Who had the CPUs.
    TAKERS = "culprit-on-cpus", "{takers}";
    /// One of them.
    TAKER = "culprit-on-cpu", "{value}[: {cpus} CPUs]";
    /// Memory, and the method that touches it.
    MEMORY = "culprit-memory", "[{value}|memory][, touched by {method}]";
    /// Packages of the methods that are compiled, and how many there are of each.
    PACKAGES = "culprit-packages", "{packages}[ and {more|more package|more packages}]";
    /// One of them.
    PACKAGE = "culprit-package", "{package} ({value})";
    /// Parts of the code cache.
    SEGMENTS = "culprit-code-cache", "[{value}|the code cache]";
    /// Arguments of the JVM.
    FLAG = "culprit-flag", "{value}";
    /// An intrinsic that is not there.
    NO_INTRINSIC = "culprit-intrinsic", "no intrinsic for {value}";
}
