//! What helps threads that wait for each other: locks, pools, initialisers, starts.

super::remedies! {
    INITIALISE_EARLY = "remedy-initialise-early",
        "initialise the class before requests come: Class.forName(name, true, loader) or a call of it at the start of the service, before it reports that it is ready",
        "any JDK", "the start takes longer";
    INITIALISE_WITHOUT_WAITS = "remedy-initialise-without-waits",
        "take what waits or computes out of the static initialiser: into a method that is called on start, or into a holder that is loaded in the background",
        "the code of the class", "whoever needs it before must be able to wait or to do without";
    SAME_ORDER = "remedy-same-order",
        "take these locks in the same order everywhere, or ask with tryLock and a time limit; until then, restart",
        "any JDK", "none";
    POOL_OF_THEIR_OWN = "remedy-pool-of-their-own",
        "give the tasks that others wait for a pool of their own",
        "the code that submits them", "more threads";
    NO_WAIT_IN_POOL = "remedy-no-wait-in-pool",
        "do not wait in the pool: combine the results when they are there (CompletableFuture.thenCombine), or run tasks in virtual threads, of which there are enough",
        "virtual threads: JDK 21 or later", "what the size of the pool limited, such as calls of a database at a time, needs a limit of its own";
    KEEP_THREADS = "remedy-keep-threads",
        "keep threads: an executor with a bound, or virtual threads (JDK 21)",
        "the code that starts them", "threads that are kept hold their stacks";
    FEWER_MAPPINGS = "remedy-fewer-mappings",
        "fewer mappings made and given back: MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_, reused buffers, no heap that shrinks and grows (-Xms = -Xmx)",
        "glibc, the JVM", "memory is kept";
    CPU_FOR_NEW_THREAD = "remedy-cpu-for-new-thread",
        "a CPU for the new thread: fewer that compute at once, more CPUs, a larger quota",
        "the host or the control group", "others get less";
    FEWER_STARTS = "remedy-fewer-starts",
        "fewer threads that start and end a second: each takes the JVM's lock of its list of threads (Threads_lock) twice, and thread dumps hold it",
        "the code that starts them, the monitoring", "none";
    NEWER_KERNEL = "remedy-newer-kernel",
        "a newer kernel (from 6.1 on mappings are found in a tree that does not slow down with their number) and fewer mappings",
        "/proc/PID/maps lists them", "an update of the host";
    SMALLER_STACKS = "remedy-smaller-stacks",
        "smaller stacks (-Xss) and no touching of them in advance; the JVM's lock of its list of threads is held by thread dumps",
        "the JVM's flags, the monitoring", "deep recursion needs its stack";
    DO_LESS_HOLDING = "remedy-do-less-holding",
        "do less while holding it: move I/O, logging, sleeping and allocation out of the locked part",
        "any JDK", "what was atomic together no longer is";
    SPLIT_LOCK = "remedy-split-lock",
        "split it: one lock a key or stripe, a ConcurrentHashMap or LongAdder in its place",
        "any JDK", "operations over all keys need another way";
    FEWER_THREADS = "remedy-fewer-threads",
        "fewer threads than now, where the lock is the limit anyway",
        "any JDK", "none for throughput; waits move to the pool's queue";
    RETURN_EARLY = "remedy-return-early",
        "hold a permit for less time: release it before work that does not need it, and look at what its holders wait for",
        "any JDK", "none";
    GIVE_BACK = "remedy-give-back",
        "check that every permit is released: release() in a finally block, on each way out of the code that acquires one; a semaphore does not know who holds it, and a permit that is lost stays lost until the JVM ends",
        "any JDK", "none";
    MORE_PERMITS = "remedy-more-permits",
        "more permits (a larger pool), where what they guard can take more at once",
        "any JDK", "what they guard gets more load; where it is the limit, waits only move there";
    SHORT_HOLDS = "remedy-short-holds",
        "hold it for less time, for reading as well: a writer waits for all who read, and those who come later queue behind it; fewer writes; copies that are replaced as a whole, or a ConcurrentHashMap",
        "any JDK", "readers may see what was true a short time ago";
    OPTIMISTIC_READS = "remedy-optimistic-reads",
        "StampedLock with optimistic reads, for short reads",
        "since JDK 8", "not reentrant; reads must be checked and repeated";
    WHO_COUNTS_DOWN = "remedy-who-counts-down",
        "look at the threads that count it down: a latch is not a lock, and opens when the last of them is done",
        "any JDK", "none";
    FILE_LOCK = "remedy-file-lock",
        "see who has the lock of that file: lslocks (or /proc/locks) names the process; fcntl() waits until another process lets go of it",
        "Linux", "none";
    UNFAIR_SEMAPHORE = "remedy-unfair-semaphore",
        "make the fair semaphore unfair: new Semaphore(permits, false)",
        "any JDK", "a thread may wait longer than those that came after it";
    UNFAIR_READ_WRITE = "remedy-unfair-read-write",
        "make the fair lock unfair: new ReentrantReadWriteLock(false)",
        "any JDK", "a thread may wait longer than those that came after it";
    UNFAIR_LOCK = "remedy-unfair-lock",
        "make the fair lock unfair: new ReentrantLock(false)",
        "any JDK", "a thread may wait longer than those that came after it";
}
