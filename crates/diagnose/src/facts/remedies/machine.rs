//! What helps with what the JVM runs on: CPUs, memory, swap, signals.

super::remedies! {
    MORE_CPUS_OR_FEWER_JVMS = "remedy-more-cpus-or-fewer-jvms",
        "more CPUs, or fewer JVMs a machine: what they run in all must fit, and their own compilers and collectors come on top",
        "the host", "costs hardware; a JVM should start within its own cpuset or limit, which sets its number of threads";
    OWN_CPUS = "remedy-own-cpus",
        "CPUs of its own for the JVM: move the others away, or cpuset (taskset, --cpuset-cpus)",
        "the host", "costs hardware; the JVM should start within its cpuset, which sets its number of threads";
    FEWER_COLLECTOR_THREADS = "remedy-fewer-collector-threads",
        "fewer collector threads: -XX:ConcGCThreads, -XX:ParallelGCThreads; a larger heap, so that they work less often",
        "any JDK", "collections take longer each";
    PRIORITY_AS_BEFORE = "remedy-priority-as-before",
        "its priority as before: renice -n {value#} for all of its threads (root may lower the value), or the former cpu.weight or cpu.shares; find out who changed it (a scheduler of batch jobs, systemd's Nice= and CPUWeight=, a script)",
        "any Linux", "the others get less";
    LARGER_WEIGHT = "remedy-larger-weight",
        "a larger weight than the others (cpu.weight, cpu.shares, --cpu-shares), or a quota or nice 19 for them",
        "control groups, any Linux", "the others get less";
    LARGER_QUOTA = "remedy-larger-quota",
        "a larger quota (cpu.max, cpu.cfs_quota_us, --cpus, Kubernetes limits.cpu), or none and a weight in its place",
        "control groups", "others get less";
    FEWER_THREADS_AT_ONCE = "remedy-fewer-threads-at-once",
        "fewer threads that run at once: -XX:ActiveProcessorCount=N sets the collector's and the compilers', and the sizes of common pools",
        "JDK 10, 8u191 and later", "less parallel work when the quota is not used up";
    NO_SWAP = "remedy-no-swap",
        "no swap for the JVM: vmstat 1 shows si and so at 0 while it is stopped, and VmSwap in /proc/PID/status stays at 0; fewer programs on the machine, or vm.swappiness=1",
        "Linux", "memory";
    NO_COMPACTION = "remedy-no-compaction",
        "transparent huge pages off, or without compaction on a page fault: /sys/kernel/mm/transparent_hugepage/enabled and defrag (madvise, or defer)",
        "Linux", "more TLB misses";
    KEEP_HEAP_TOUCHED = "remedy-keep-heap-touched",
        "-Xms equal to -Xmx with -XX:+AlwaysPreTouch: no memory is given back and taken again",
        "any JDK", "the JVM starts later and takes all its memory at once";
    CPUS_FOR_COLLECTOR = "remedy-cpus-for-collector",
        "give the JVM CPUs of its own: fewer neighbours, cpuset, a higher CPU quota or weight",
        "any JDK", "costs hardware";
    WORKERS_BY_CPUS = "remedy-workers-by-cpus",
        "-XX:ActiveProcessorCount=N or -XX:ParallelGCThreads=N, N the CPUs that it really gets",
        "ActiveProcessorCount: JDK 10, 8u191 and later", "fewer workers make collections longer on a quiet machine";
    PRETOUCH = "remedy-pretouch",
        "-XX:+AlwaysPreTouch with -Xms equal to -Xmx",
        "any JDK; with several threads since JDK 9", "the JVM starts later and takes all its memory at once";
    HUGE_PAGES = "remedy-huge-pages",
        "-XX:+UseTransparentHugePages (with madvise in /sys/kernel/mm/transparent_hugepage/enabled)",
        "Linux", "one fault in 512, each of which zeroes 2 MB: longer single stalls, and compaction when memory is fragmented";
    MAP_ELSEWHERE = "remedy-map-elsewhere",
        "a file that is mapped on another file system, or in memory: for hsperfdata -XX:+PerfDisableSharedMem, or /tmp on tmpfs",
        "any JDK", "jps, jstat and tools that read hsperfdata no longer see the JVM";
    RELIEVE_FILE_SYSTEM = "remedy-relieve-file-system",
        "see to what keeps the file system or the disk busy: fathom chain names it",
        "the host", "";
    LARGER_MEMORY_LIMIT = "remedy-larger-memory-limit",
        "a larger limit of memory (memory.max, --memory, limits.memory): heap, metaspace, code, stacks, buffers and the files that are mapped or read again and again must fit",
        "control groups", "memory";
    HIGHER_IO_LIMIT = "remedy-higher-io-limit",
        "a higher limit of the control group's input and output, or none (io.max, io.weight instead of it; blkio.throttle.* of v1; systemd's IOReadIOPSMax and the like; docker run --device-read-iops): the device itself has time to spare",
        "control groups", "others on the device get less";
    SMALLER_HEAP = "remedy-smaller-heap",
        "a smaller heap (-Xmx), so that all else fits",
        "any JDK", "more collections";
    KEEP_HEAP = "remedy-keep-heap",
        "keep the heap: -Xms equal to -Xmx (G1: no G1PeriodicGCInterval; ZGC: -XX:-ZUncommit; Shenandoah: -XX:-ShenandoahUncommit)",
        "any JDK; ZUncommit since 13", "memory that the JVM does not need stays with it";
    REUSE_BUFFER = "remedy-reuse-buffer",
        "use the buffer again instead of a new one for each operation (a pool, one for each thread)",
        "any", "it stays allocated";
    MALLOC_KEEPS = "remedy-malloc-keeps",
        "MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=268435456 in the JVM's environment",
        "glibc, which takes no more than 32 MB for the first: larger blocks are mapped and unmapped each time", "freed memory stays with the process";
    NO_TRIMMING = "remedy-no-trimming",
        "-XX:TrimNativeHeapInterval=0, where trimming was switched on",
        "JDK 17.0.9, 21.0.1 and later", "freed memory stays with the process";
    REUSE_NATIVE_MEMORY = "remedy-reuse-native-memory",
        "allocate once and use again: pooled direct buffers, arenas that live as long as the work",
        "any", "it stays allocated";
    TOUCH_EARLY = "remedy-touch-early",
        "touch it before it matters, at the start",
        "any", "the start takes longer";
    REUSE_THREADS = "remedy-reuse-threads",
        "use threads again (a pool), or virtual threads",
        "virtual threads: JDK 21", "none for a pool; pinning until JDK 24";
    READ_INTO_BUFFER = "remedy-read-into-buffer",
        "read the file with read() into a buffer that is used again",
        "any", "one copy more";
    LOAD_MAPPING = "remedy-load-mapping",
        "MappedByteBuffer.load(), once, before it matters",
        "any JDK", "reads the whole file";
    REUSE_FILES = "remedy-reuse-files",
        "fewer and larger files, made in full once and used again",
        "any", "disk space";
    WRITE_FROM_BUFFER = "remedy-write-from-buffer",
        "write with write() from a buffer instead of through a mapping",
        "any", "one system call for each write";
    NO_FORK = "remedy-no-fork",
        "do not fork the JVM: -Djdk.lang.Process.launchMechanism=POSIX_SPAWN",
        "JDK 13 and later do so by themselves", "none known";
    FIND_PROTECTOR = "remedy-find-protector",
        "find who protects the pages: a snapshot (CRIU, userfaultfd), page merging (KSM), soft-dirty tracking",
        "Linux", "none";
    RECORD_AS_ROOT = "remedy-record-as-root",
        "fathom record as root, which shows the mapping and who touches it",
        "Linux with eBPF", "about 0.3 µs for each fault";
    FIND_STOPPER = "remedy-find-stopper",
        "find who sends SIGSTOP, attaches, or freezes the cgroup: job control of a shell, a debugger, docker pause, a backup or checkpoint of the container",
        "the host: audit rules for kill and ptrace, events of the container's runtime", "none";
    END_TRACER = "remedy-end-tracer",
        "end the tracer, or trace what it is asked for alone (strace --seccomp-bpf -f -e trace=…; perf trace, or fathom record, which stop no thread)",
        "the host", "none";
    FEWER_PROGRAMS = "remedy-fewer-programs",
        "start fewer programs: a library for what they do, one that stays and takes many tasks, or fewer at a time",
        "any JDK", "code change";
}
