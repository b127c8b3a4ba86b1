//! What findings mean, for somebody who does not know it.

super::metrics! {
    LESS_DEMAND = "meaning-less-demand",
        "A service that does less because it gets fewer requests is not slow. Clients that wait for their turn elsewhere, a balancer that sends requests to other instances, or a queue before this process look the same from here. So does an answer that the service holds back where no thread waits for it: in a timer, a queue, or a buffer that is not flushed.";
    LATE_AT_CLIENTS = "meaning-late-at-clients",
        "In between, no thread of this process works on the request: an answer that was written into a buffer and not flushed or not sent, a request that is in a queue, the network, or a client that is slow itself.";
    ASYNCHRONOUS = "meaning-asynchronous",
        "A request whose answer waits for another service that is called asynchronously, for a timer (group commit, batching, a rate limit, a delayed retry) or for a future that somebody else completes, that is in a queue, or that is written into a buffer and not flushed, belongs to no thread: none is seen waiting for it.";
    GIVEN_UP = "meaning-calls-given-up",
        "A call that is never answered takes as long as its time-out, and what asks again afterwards takes that much longer. Where calls are asynchronous, no thread waits meanwhile.";
    CARRIERS_PINNED = "meaning-carriers-pinned",
        "There are as many carriers as CPUs. A virtual thread that waits and cannot leave its carrier takes one of them away from all others, as if it ran.";
    CLASS_INITIALISED_ONCE = "meaning-class-initialised-once",
        "A class is initialised once, by the first thread that uses it; whoever uses it meanwhile waits until that has ended.";
    CPUS_WITH_OTHERS = "meaning-cpus-with-others",
        "The threads were ready to run, and the CPUs were with others. All that the application does takes longer meanwhile; nothing in it is slow by itself.";
    CPUS_WITH_OTHER_JVMS = "meaning-cpus-with-other-jvms",
        "The threads were ready to run, and the CPUs were with threads of the other recorded JVMs, which wait for theirs in turn. All that they do takes longer meanwhile; nothing in it is slow by itself.";
    QUOTA_USED_UP = "meaning-quota-used-up",
        "Once a control group has used up its quota, all of its threads are stopped until the next period begins, although CPUs may be free.";
    RESOLVER_FIRST = "meaning-resolver-first",
        "Before it can connect, a thread waits until the resolver has answered; a time-out of the request counts this time too.";
    QUERY_LOST = "meaning-query-lost",
        "The query or its answer is lost on the way. The thread does not wait for the network but for the time-out of the resolver's client.";
    COLLECTOR_TOO_LATE = "meaning-collector-too-late",
        "The collector works concurrently with the application and came too late: the heap was full before it had freed anything, so threads had to wait for it.";
    NO_ROOM_IN_COLLECTION = "meaning-no-room-in-collection",
        "There was too little free memory when a collection needed it, to copy what survives or to let the application run on concurrently. What the collector does instead takes many times as long, with the application stopped.";
    FULL_WITH_ROOM = "meaning-full-with-room",
        "The whole heap was collected, with the application stopped, though most of it was free and no call asked for it in the log: a full permanent generation or metaspace, a tool that asks the JVM (jmap, jcmd, a profiler), or RMI on a JVM that does not log causes.";
    PAGES_ZEROED = "meaning-pages-zeroed",
        "The kernel zeroes each page when it is first written to. Here that happens while collections copy objects and the application waits.";
    COLLECTIONS_FOLLOW = "meaning-collections-follow",
        "There is so little free memory between collections that the next one follows at once. The same work with more room takes fewer collections.";
    HUMONGOUS = "meaning-humongous",
        "G1 keeps objects of half a region or more in regions of their own in the old generation. Allocating many of them starts one collection cycle after the other.";
    COLLECTOR_IN_KERNEL = "meaning-collector-in-kernel",
        "The collector's threads run, but in the kernel: the application waits while memory is found, moved, zeroed or read back.";
    ARRAY_HELD = "meaning-array-held",
        "While native code works on a Java array, the collector cannot move it. Threads that need memory wait for that code, and an extra collection follows.";
    LOG_WRITTEN_IN_STOP = "meaning-log-written-in-stop",
        "While all threads are stopped, the JVM writes lines of its log and waits until the kernel has taken them. When the disk is busy with other writes, the whole application waits for the log.";
    CLASSES_UNLOADED = "meaning-classes-unloaded",
        "These collections were started to unload classes, not because the heap was full. Each looks at the whole heap, most of them with the application stopped.";
    PROMOTED_EARLY = "meaning-promoted-early",
        "Objects that would die soon are moved to the old generation, and the costly collections of that have to remove them.";
    COLLECTOR_HARDLY_RAN = "meaning-collector-hardly-ran",
        "The collector hardly ran while the application waited for it. Consistent with that: no CPU for its threads, a heap that was swapped out, a disk or file system that blocked the JVM.";
    COLLECTOR_WAITED = "meaning-collector-waited",
        "While the application is stopped, the collector's threads are ready to run and others have the CPUs. On CPUs that are free the same collections take a fraction of the time.";
    LIVE_SET_GROWS = "meaning-live-set-grows",
        "After each collection more memory stays in use. Collections come more often and free less, until the application does little else or fails with an OutOfMemoryError.";
    DIRECT_BUFFERS = "meaning-direct-buffers",
        "A direct buffer is a small object whose memory lies outside of the heap. The memory is given back when the object is collected, so that what keeps the object keeps the memory, and the sizes in the GC log do not show it.";
    NO_MORE_COMPILATION = "meaning-no-more-compilation",
        "Methods that become hot from now on, or whose code was thrown away, run interpreted, some twenty times slower than compiled.";
    INTERPRETED = "meaning-interpreted",
        "The interpreter takes some twenty times as long as compiled code. A method that stays in it is too large for the compilers (8,000 bytes of bytecode), was excluded, or one of them gave up on it.";
    STOPPED = "meaning-stopped",
        "While a collection or another safepoint holds the JVM, no thread of the application runs.";
    DEADLOCK = "meaning-deadlock",
        "Each of these threads holds what the one before it waits for: none of them, and nobody who wants one of their locks, will ever go on.";
    OUT_OF_MEMORY = "meaning-out-of-memory",
        "Memory was asked for and there was none. Whatever asked for it failed, and the application may be in a state that nobody planned for.";
    POOL_WAITS_FOR_ITSELF = "meaning-pool-waits-for-itself",
        "The results that they wait for are made by tasks that stand in the queue of the same pool, and for which no thread is left: the pool works with those of its threads that do not wait, or, when all wait, not at all until a time-out.";
    PROCESS_STOPPED = "meaning-process-stopped",
        "A stopped process does nothing at all: no thread of it runs until it is let go.";
    TRACED = "meaning-traced",
        "A tracer (strace, gdb, a debugger of native code) stops a thread twice for each system call and looks at it before it lets it go.";
    VM_OPERATION = "meaning-vm-operation",
        "While a VM operation holds the JVM at a safepoint, no thread of the application runs.";
    LAST_THREAD = "meaning-last-thread",
        "All Java threads that have stopped wait for the last one. The time is no part of the collection or operation itself, and no setting of the collector changes it.";
    THREAD_STARTS = "meaning-thread-starts",
        "Work that is handed to a new thread begins when that thread runs; who starts many pays for each.";
    FULL_HANDSHAKES = "meaning-full-handshakes",
        "Each new connection sends and checks certificates, signs and exchanges keys; one that resumes a session leaves that out. What is attributed is all of the time in handshakes; a little of it stays.";
    PIPELINE = "meaning-pipeline",
        "A pipeline is as fast as the stage that never waits for work. Making any other one faster, or giving it more threads, changes nothing.";
    SPINNING = "meaning-spinning",
        "A thread that asks its selector again and again without ever waiting takes a whole CPU for nothing, and what it has to do comes later for it.";
    MORE_CALLS = "meaning-more-calls",
        "Each call takes about as long as ever, but an operation makes many more of them: a query for each row of a list, data written in small pieces, files looked for again and again. The time is spread over running, waiting and whoever answers.";
    PEER_IS_LATE = "meaning-peer-is-late",
        "An asynchronous call costs no thread anything: the operation waits for its answer, and nobody else does.";
    READ_LATE = "meaning-read-late",
        "The answers were there: what reads them came late. An event loop that runs something else, or that gets no CPU, lets all of its connections wait.";
    SHARED_WAIT = "meaning-shared-wait",
        "What each of a few threads waits for became slower, and the others wait for those threads: the delay is multiplied by all that share them.";
    MORE_CPU_TIME = "meaning-more-cpu-time",
        "Operations need more CPU time than in the baseline: more work is done for each, or the same work by slower code; or the code does other work than operations.";
    LONGER_SLEEP = "meaning-longer-sleep",
        "Threads sleep by their own choice for longer: a back-off, a retry, a poll, or a pause because less is asked for. Sleep that came anew is a delay; sleep that was there before and lasts longer may be the pace of what is asked.";
    GREW_MOST = "meaning-grew-most",
        "This part of an operation's time grew most; the rest stayed about as it was.";
    ASKED_FOR_BUFFERS = "meaning-asked-for-buffers",
        "Memory outside the heap is given back only when the collector finds the buffer that stands for it. Where the limit is reached, the JDK asks for a collection and waits, thread by thread.";
    ASKED_FOR = "meaning-asked-for",
        "The heap did not need these collections. Each one looks at the whole heap, most of them while the application is stopped.";
    QUEUE_FOR_COMPILERS = "meaning-queue-for-compilers",
        "New code runs interpreted, many times slower, until C1 and then C2 have compiled it. When much becomes hot at once it queues up for the few compiler threads, which take CPUs from the application as well.";
    COMPILERS_TAKE_CPUS = "meaning-compilers-take-cpus",
        "What becomes hot at the same time is compiled at the same time, and the compiler threads take the CPUs that the application's threads wait for.";
    QUEUE_FOR_C2 = "meaning-queue-for-c2",
        "New code runs interpreted, then in C1's profiled code, until C2 has compiled it; when much becomes hot at the same time it queues up for the few compiler threads.";
    REDEFINED = "meaning-classes-redefined",
        "When an agent, a profiler or a debugger redefines classes of a running JVM, the compiled code that depends on them is thrown away, the first time all of it. Methods run interpreted, are profiled and compiled anew.";
    DEOPT_LOOP = "meaning-deopt-loop",
        "An assumption that the compiler makes about the method keeps failing. Each time it runs interpreted until it has been profiled and compiled anew.";
    INTRINSIC = "meaning-intrinsic",
        "HotSpot has machine code of its own for {value} and puts it in the place of the Java method, which takes several times as long. {here}. What is attributed is all of the time in it; less than that can be regained.";
    SWITCHED_OFF = "meaning-switched-off",
        "Here that was switched off explicitly";
    IN_LATER_JDK = "meaning-in-later-jdk",
        "JDK {value#} and later have it";
    NOT_SEEN = "meaning-not-seen",
        "Here it does not: the flag is off, or the JDK or the CPU does not support it";
    ONE_AT_A_TIME = "meaning-one-at-a-time",
        "Only one thread at a time holds a {value}; the others do nothing until they get it, however many CPUs there are.[ {holder}]";
    HOLDER_IS_OFF = "meaning-holder-is-off",
        "Whoever holds it is off the CPU for most of that time, with the lock in hand: what it waits for there is what all the others wait for.";
    HOLDER_RUNS = "meaning-holder-runs",
        "Whoever holds it is on a CPU for most of that time: the work that is done under the lock is what the others wait for.";
    HEAP_COPIED_INTO = "meaning-heap-copied-into",
        "The collector copies objects into parts of the heap that were never used, and the kernel zeroes each page first.";
    HEAP_TOUCHED = "meaning-heap-touched",
        "New objects are put into parts of the heap that were never used, and the kernel zeroes each page first.";
    HEAP_RETURNED = "meaning-heap-returned",
        "More pages of the heap were fetched than it has: between collections it gives memory back to the kernel, and every page costs a fault when it is used again.";
    BLOCKS_RETURNED = "meaning-blocks-returned",
        "The C library gives blocks back to the kernel when they are freed and asks for them again at the next allocation; each time every page costs a fault and is zeroed.";
    NATIVE_TOUCHED = "meaning-native-touched",
        "Memory outside the heap is used for the first time, and the kernel zeroes each page first.";
    STACKS_TOUCHED = "meaning-stacks-touched",
        "Each new thread touches the pages of its own stack for the first time.";
    FILE_MAPPED = "meaning-file-mapped",
        "The file is mapped: each page, or small group of pages, is mapped by a fault when first touched.";
    FILE_WRITTEN = "meaning-file-written",
        "Files are mapped and written to. A page that is clean, for it is new or was written back, may not be written to before its file system has agreed (page_mkwrite), and the kernel notes that it is dirty: one fault for each page, and again after each time that it was written back.";
    PAGES_COPIED = "meaning-pages-copied",
        "The pages are there, but must not be written to: they are shared with a child after a fork, mapped privately from a file, or protected by somebody who wants to know of writes; the kernel copies each when it is.";
    PAGE_WAITED_FOR = "meaning-page-waited-for",
        "The page belongs to a file, or was moved away: it cannot be touched before it is read, or before its file system lets it be written to.";
    MEMORY_LIMIT = "meaning-memory-limit",
        "The control group may hold no more memory. The kernel takes away pages that files can be read from again, code and libraries too, and threads wait for the disk when they touch them next.";
    MEMORY_TOUCHED = "meaning-memory-touched",
        "Memory is touched whose pages the kernel has to find or make first.";
    FAULTS = "meaning-faults",
        "{faults}[ A profile shows that time in {toucher}, which only is the first to touch the memory.]";
    MORE_REQUESTS = "meaning-more-requests",
        "Threads that answer other requests, and set up connections, are not there for the operations, which wait for them or for a CPU.";
    LARGER_ANSWERS = "meaning-larger-answers",
        "The service hands its answers to the kernel and has no more to do with them. Whoever asked takes longer to take in and to read a larger answer, and asks for the next one later.";
}
