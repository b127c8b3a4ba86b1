//! Series of the machine, its control groups and its processes, which live collectors write about
//! once per second.
//!
//! Each declares its unit and how it behaves. A rate is already divided by the time over which it
//! was taken; "cpus" is CPU time by wall time, so that 1.0 is one CPU kept busy, and instances add
//! up.

use crate::SeriesKind::{self, Gauge, Latency, Rate};

/// The key of a series, with its unit and its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Word {
    /// Its name.
    pub name: &'static str,
    /// Unit of its values.
    pub unit: &'static str,
    /// How its values behave.
    pub kind: SeriesKind,
}

const fn word(name: &'static str, unit: &'static str, kind: SeriesKind) -> Word {
    Word { name, unit, kind }
}

/// How names of these series begin. None of them measures the application's progress.
const FAMILIES: [&str; 8] = ["host.", "disk.", "net.", "tcp.", "process.", "cgroup.", "jvm.", "fathom."];

/// Whether a series is one of these: it describes the machine or the JVM, and not the progress of
/// the application.
pub fn is_live(name: &str) -> bool {
    FAMILIES.iter().any(|family| name.starts_with(family))
}

/// All of them.
pub const ALL: &[Word] = &[
    HOST_CPU_BUSY,
    HOST_CPU_KERNEL,
    HOST_CPU_IOWAIT,
    HOST_CPU_STEAL,
    HOST_RUNNABLE,
    HOST_BLOCKED,
    HOST_LOAD,
    HOST_SWITCHES,
    HOST_FORKS,
    HOST_MEMORY_AVAILABLE,
    HOST_MEMORY_DIRTY,
    HOST_MEMORY_WRITEBACK,
    HOST_SWAP_USED,
    HOST_SWAP_IN,
    HOST_SWAP_OUT,
    HOST_MAJOR_FAULTS,
    HOST_DIRECT_RECLAIM,
    HOST_COMPACTION_STALLS,
    HOST_OOM_KILLS,
    HOST_PRESSURE_CPU,
    HOST_PRESSURE_MEMORY,
    HOST_PRESSURE_IO,
    DISK_BUSY,
    DISK_QUEUE,
    DISK_AWAIT,
    DISK_READ,
    DISK_WRITTEN,
    DISK_REQUESTS,
    DISK_IO_REQUESTS,
    DISK_IO_BYTES,
    DISK_IO_QUEUED,
    DISK_IO_IN_DEVICE,
    DISK_WRITTEN_BACK,
    NET_RECEIVED,
    NET_SENT,
    NET_DROPPED,
    TCP_SEGMENTS,
    TCP_RETRANSMITS,
    TCP_LISTEN_DROPS,
    PROCESS_CPU,
    PROCESS_CPU_USER,
    PROCESS_CPU_KERNEL,
    PROCESS_CPU_ROLE,
    PROCESS_RSS,
    PROCESS_SWAP,
    PROCESS_MINOR_FAULTS,
    PROCESS_MAJOR_FAULTS,
    PROCESS_FAULTS,
    PROCESS_FAULT_TIME,
    PROCESS_MEMORY_STALLS,
    PROCESS_SPACE_CALLS,
    PROCESS_SPACE_BYTES,
    PROCESS_SWITCHES_VOLUNTARY,
    PROCESS_SWITCHES_INVOLUNTARY,
    PROCESS_RUN_QUEUE,
    PROCESS_THREADS,
    PROCESS_NICE,
    PROCESS_FDS,
    PROCESS_REQUESTS,
    PROCESS_REQUEST_TIME,
    PROCESS_REQUEST_LONGEST,
    PROCESS_PEER_ANSWERS,
    PROCESS_PEER_ANSWER_TIME,
    PROCESS_PEER_UNREAD_TIME,
    PROCESS_PEER_GIVEN_UP,
    PROCESS_PEER_GIVEN_UP_TIME,
    PROCESS_READ,
    PROCESS_WRITTEN,
    CONNECTIONS,
    ROUND_TRIP,
    RECEIVE_WINDOW,
    SENDING,
    PEER_WINDOW_FULL,
    SEND_BUFFER_SHORT,
    UNREAD,
    UNACKNOWLEDGED,
    ACCEPT_QUEUE,
    ACCEPT_QUEUE_LIMIT,
    CGROUP_CPU,
    CGROUP_CPU_QUOTA,
    CGROUP_CPU_WEIGHT,
    CGROUP_THROTTLED,
    CGROUP_THROTTLED_PERIODS,
    CGROUP_MEMORY,
    CGROUP_MEMORY_MAX,
    CGROUP_MEMORY_LIMIT_HITS,
    CGROUP_OOM_KILLS,
    CGROUP_IO_REQUESTS,
    CGROUP_IO_REQUESTS_MAX,
    CGROUP_IO_BYTES,
    CGROUP_IO_BYTES_MAX,
    JVM_COLLECTIONS,
    JVM_GC_TIME,
    JVM_SAFEPOINTS,
    JVM_SAFEPOINT_TIME,
    JVM_SAFEPOINT_SYNC,
    JVM_CLASSES_LOADED,
    JVM_CLASSES_UNLOADED,
    JVM_COMPILE_TIME,
    JVM_HEAP_USED,
    JVM_HEAP_CAPACITY,
    JVM_METASPACE_USED,
    JVM_THREADS,
    FATHOM_CPU,
    AGENT_RATE,
    AGENT_SPOOL,
    AGENT_DROPPED,
    AGENT_JVMS,
    FATHOM_RSS,
];

// CPUs: /proc/stat, /proc/loadavg. Instance: "cpu0".
/// Busy time of a CPU: user, nice, system, interrupts; guests are within user.
pub const HOST_CPU_BUSY: Word = word("host.cpu.busy", "cpus", Gauge);
/// Of it, in the kernel: system and interrupts.
pub const HOST_CPU_KERNEL: Word = word("host.cpu.kernel", "cpus", Gauge);
/// Idle while a task that last ran on it waits for a disk.
pub const HOST_CPU_IOWAIT: Word = word("host.cpu.iowait", "cpus", Gauge);
/// Stolen by the hypervisor while there was work to do.
pub const HOST_CPU_STEAL: Word = word("host.cpu.steal", "cpus", Gauge);
/// Tasks that run or wait for a CPU, at the time of reading.
pub const HOST_RUNNABLE: Word = word("host.tasks.runnable", "tasks", Gauge);
/// Tasks blocked on I/O, at the time of reading.
pub const HOST_BLOCKED: Word = word("host.tasks.blocked", "tasks", Gauge);
/// Load average of one minute.
pub const HOST_LOAD: Word = word("host.load1", "tasks", Gauge);
/// Context switches.
pub const HOST_SWITCHES: Word = word("host.switches", "1/s", Rate);
/// Processes and threads created.
pub const HOST_FORKS: Word = word("host.forks", "1/s", Rate);

// Memory: /proc/meminfo, /proc/vmstat.
/// Memory that could be allocated without swapping, as the kernel estimates it.
pub const HOST_MEMORY_AVAILABLE: Word = word("host.memory.available", "bytes", Gauge);
/// Dirty page cache.
pub const HOST_MEMORY_DIRTY: Word = word("host.memory.dirty", "bytes", Gauge);
/// Page cache under writeback.
pub const HOST_MEMORY_WRITEBACK: Word = word("host.memory.writeback", "bytes", Gauge);
/// Swap in use.
pub const HOST_SWAP_USED: Word = word("host.swap.used", "bytes", Gauge);
/// Read back from swap.
pub const HOST_SWAP_IN: Word = word("host.swap.in", "bytes/s", Rate);
/// Written to swap.
pub const HOST_SWAP_OUT: Word = word("host.swap.out", "bytes/s", Rate);
/// Faults that had to read a page.
pub const HOST_MAJOR_FAULTS: Word = word("host.faults.major", "1/s", Rate);
/// Pages that allocating tasks scanned to find a free one (direct reclaim).
pub const HOST_DIRECT_RECLAIM: Word = word("host.reclaim.direct", "pages/s", Rate);
/// Compactions that allocating tasks waited for (direct compaction).
pub const HOST_COMPACTION_STALLS: Word = word("host.compaction.stalls", "1/s", Rate);
/// Processes killed due to lack of memory.
pub const HOST_OOM_KILLS: Word = word("host.oom-kills", "1/s", Rate);

// Pressure: /proc/pressure. Instance: "some" (a task waited) or "full" (all non-idle tasks waited).
/// Share of the time in which tasks waited for a CPU.
pub const HOST_PRESSURE_CPU: Word = word("host.pressure.cpu", "share", Latency);
/// Share of the time in which tasks waited for memory.
pub const HOST_PRESSURE_MEMORY: Word = word("host.pressure.memory", "share", Latency);
/// Share of the time in which tasks waited for I/O.
pub const HOST_PRESSURE_IO: Word = word("host.pressure.io", "share", Latency);

// Disks: /proc/diskstats. Instance: the device ("nvme0n1").
/// Share of the time in which it had at least one request.
pub const DISK_BUSY: Word = word("disk.busy", "share", Gauge);
/// Requests in flight or queued, on average.
pub const DISK_QUEUE: Word = word("disk.queue", "requests", Gauge);
/// Time from a request's queueing to its completion, mean of those completed.
pub const DISK_AWAIT: Word = word("disk.await", "ms", Latency);
/// Read from it.
pub const DISK_READ: Word = word("disk.read", "bytes/s", Rate);
/// Written to it.
pub const DISK_WRITTEN: Word = word("disk.written", "bytes/s", Rate);
/// Requests completed.
pub const DISK_REQUESTS: Word = word("disk.requests", "1/s", Rate);

// Requests by device, kind and issuer. Instance: "vda write OrderService (4711)", for others than
// recorded processes "vda write kworker".
/// Requests completed.
pub const DISK_IO_REQUESTS: Word = word("disk.io.requests", "1/s", Rate);
/// Bytes of those requests.
pub const DISK_IO_BYTES: Word = word("disk.io.bytes", "bytes/s", Rate);
/// Requests that were queued before they went to the device, on average.
pub const DISK_IO_QUEUED: Word = word("disk.io.queued", "requests", Gauge);
/// Requests in flight at the device, on average. Divided by the rate: the time that one took.
pub const DISK_IO_IN_DEVICE: Word = word("disk.io.in-device", "requests", Gauge);

// The page cache. Instance: the device's number and the process that last wrote to the files,
// "254:0 OrderService (4711)", for others than recorded processes by name, "254:0 dd", "254:0
// unknown" where it wrote before the recording.
/// Bytes of files that were handed to the device.
pub const DISK_WRITTEN_BACK: Word = word("disk.written-back", "bytes/s", Rate);

// Network: /proc/net/dev, /proc/net/snmp, /proc/net/netstat. Instance of the first four: the
// interface.
/// Received.
pub const NET_RECEIVED: Word = word("net.received", "bytes/s", Rate);
/// Sent.
pub const NET_SENT: Word = word("net.sent", "bytes/s", Rate);
/// Packets that were dropped or erroneous, in both directions.
pub const NET_DROPPED: Word = word("net.dropped", "1/s", Rate);
/// TCP segments sent.
pub const TCP_SEGMENTS: Word = word("tcp.segments", "1/s", Rate);
/// TCP segments that were retransmitted.
pub const TCP_RETRANSMITS: Word = word("tcp.retransmits", "1/s", Rate);
/// Connections refused because the queue of a listening socket was full.
pub const TCP_LISTEN_DROPS: Word = word("tcp.listen-drops", "1/s", Rate);

// Processes: /proc/PID. Instance: name and pid of the process.
/// CPU time of one of the processes that use the most.
pub const PROCESS_CPU: Word = word("process.cpu", "cpus", Gauge);
/// CPU time in user mode of a recorded process.
pub const PROCESS_CPU_USER: Word = word("process.cpu.user", "cpus", Gauge);
/// CPU time in kernel mode of a recorded process.
pub const PROCESS_CPU_KERNEL: Word = word("process.cpu.kernel", "cpus", Gauge);
/// CPU time of a JVM's threads by role. Instance: "app", "gc", "jit", "vm".
pub const PROCESS_CPU_ROLE: Word = word("process.cpu.role", "cpus", Gauge);
/// Resident memory.
pub const PROCESS_RSS: Word = word("process.rss", "bytes", Gauge);
/// Of it, swapped out.
pub const PROCESS_SWAP: Word = word("process.swap", "bytes", Gauge);
/// Minor page faults.
pub const PROCESS_MINOR_FAULTS: Word = word("process.faults.minor", "1/s", Rate);
/// Major page faults.
pub const PROCESS_MAJOR_FAULTS: Word = word("process.faults.major", "1/s", Rate);
/// Page faults by mapping ([`super::fault`]), counted by the collector `memory`. Instance: the
/// mapping.
pub const PROCESS_FAULTS: Word = word("process.faults", "1/s", Rate);
/// Time of threads in page faults, by mapping.
pub const PROCESS_FAULT_TIME: Word = word("process.fault-time", "cpus", Gauge);
/// Time of threads held up for memory. Instance: "direct reclaim", "reclaim of the control group",
/// "compaction", "address space lock".
pub const PROCESS_MEMORY_STALLS: Word = word("process.memory-stalls", "cpus", Gauge);
/// Calls that change the address space. Instance: "mmap", "munmap", "mremap", "brk", "mprotect",
/// "madvise: give back" (MADV_DONTNEED and the like), "madvise".
pub const PROCESS_SPACE_CALLS: Word = word("process.space.calls", "1/s", Rate);
/// Bytes of the ranges that those calls were for.
pub const PROCESS_SPACE_BYTES: Word = word("process.space.bytes", "bytes/s", Rate);
/// Voluntary context switches of the process' first thread.
pub const PROCESS_SWITCHES_VOLUNTARY: Word = word("process.switches.voluntary", "1/s", Rate);
/// Involuntary context switches of the process' first thread.
pub const PROCESS_SWITCHES_INVOLUNTARY: Word = word("process.switches.involuntary", "1/s", Rate);
/// Time in which its threads were runnable and waited for a CPU.
pub const PROCESS_RUN_QUEUE: Word = word("process.run-queue", "cpus", Gauge);
/// Threads.
pub const PROCESS_THREADS: Word = word("process.threads", "threads", Gauge);
/// Nice value of its first thread, -20 to 19: a larger one is a smaller part of the CPUs.
pub const PROCESS_NICE: Word = word("process.nice", "nice", Gauge);
/// Open file descriptors.
pub const PROCESS_FDS: Word = word("process.fds", "descriptors", Gauge);
/// Requests that a process answered over connections that it accepted.
pub const PROCESS_REQUESTS: Word = word("process.requests", "1/s", Rate);
/// Mean time from the first bytes of a request to the first bytes of its answer.
pub const PROCESS_REQUEST_TIME: Word = word("process.request-time", "ms", Latency);
/// The longest of those times.
pub const PROCESS_REQUEST_LONGEST: Word = word("process.request-time.longest", "ms", Latency);
/// Answers that came over connections that a process made. Instance: the peer's address.
pub const PROCESS_PEER_ANSWERS: Word = word("process.peer.answers", "1/s", Rate);
/// Mean time from the first bytes that were sent to the first bytes of the answer that arrived.
pub const PROCESS_PEER_ANSWER_TIME: Word = word("process.peer.answer-time", "ms", Latency);
/// Mean time that these bytes then stood in the kernel until the process read them.
pub const PROCESS_PEER_UNREAD_TIME: Word = word("process.peer.unread-time", "ms", Latency);
/// Connections to a peer that a process closed while it waited for an answer: calls that it gave
/// up. A time without any has no point.
pub const PROCESS_PEER_GIVEN_UP: Word = word("process.peer.given-up", "1/s", Rate);
/// Mean time from the first bytes that were sent until then.
pub const PROCESS_PEER_GIVEN_UP_TIME: Word = word("process.peer.given-up-after", "ms", Latency);

// TCP connections of a process, once a second. Instance: the peer's address for those that it made,
// "clients of :8080" for those that it accepted.
/// How the instance of those begins that were accepted at a port.
pub const CLIENTS_OF: &str = "clients of :";
/// The instance of all peers beyond those that have series of their own.
pub const OTHER_PEERS: &str = "other peers";
/// Those that are open.
pub const CONNECTIONS: Word = word("process.connections", "connections", Gauge);
/// Mean smoothed round trip of those over which something was sent in that second: until the
/// peer's kernel acknowledged it, which it may put off for 40 ms where the peer has nothing to
/// send.
pub const ROUND_TRIP: Word = word("process.connections.round-trip", "ms", Latency);
/// Mean receive window that the process offers, of those over which something came in that second.
pub const RECEIVE_WINDOW: Word = word("process.connections.receive-window", "bytes", Gauge);
/// How many had something on its way, or to be sent, on average.
pub const SENDING: Word = word("process.connections.sending", "connections", Gauge);
/// How many of those could not send because the peer's receive window was full, on average.
pub const PEER_WINDOW_FULL: Word = word("process.connections.peer-window-full", "connections", Gauge);
/// How many of those had less in their send buffer than the peer and the network would take.
pub const SEND_BUFFER_SHORT: Word = word("process.connections.send-buffer-short", "connections", Gauge);
/// Bytes that arrived and that the process has not read.
pub const UNREAD: Word = word("process.connections.unread", "bytes", Gauge);
/// Bytes that the process wrote and that the peer's kernel has not acknowledged.
pub const UNACKNOWLEDGED: Word = word("process.connections.unacknowledged", "bytes", Gauge);
/// Connections that wait to be accepted. Instance of this and the next one: the port, ":8080".
pub const ACCEPT_QUEUE: Word = word("process.accept-queue", "connections", Gauge);
/// How many may wait: further ones are refused or tried again.
pub const ACCEPT_QUEUE_LIMIT: Word = word("process.accept-queue.limit", "connections", Gauge);

/// Read from storage.
pub const PROCESS_READ: Word = word("process.read", "bytes/s", Rate);
/// Written towards storage.
pub const PROCESS_WRITTEN: Word = word("process.written", "bytes/s", Rate);

// Control groups of recorded processes. Instance: the group's path.
/// CPU time of the group.
pub const CGROUP_CPU: Word = word("cgroup.cpu", "cpus", Gauge);
/// CPUs that its quota allows.
pub const CGROUP_CPU_QUOTA: Word = word("cgroup.cpu.quota", "cpus", Gauge);
/// Its part of the CPUs against its siblings', in relation to the default (v2: cpu.weight of 100,
/// v1: cpu.shares of 1024).
pub const CGROUP_CPU_WEIGHT: Word = word("cgroup.cpu.weight", "times", Gauge);
/// Time its run queues were throttled, summed over CPUs.
pub const CGROUP_THROTTLED: Word = word("cgroup.cpu.throttled", "cpus", Gauge);
/// Periods in which the quota ran out.
pub const CGROUP_THROTTLED_PERIODS: Word = word("cgroup.cpu.throttled-periods", "1/s", Rate);
/// Memory attributed to it.
pub const CGROUP_MEMORY: Word = word("cgroup.memory", "bytes", Gauge);
/// The limit on that.
pub const CGROUP_MEMORY_MAX: Word = word("cgroup.memory.max", "bytes", Gauge);
/// Times it hit its limits (v2: high and max; v1: failcnt).
pub const CGROUP_MEMORY_LIMIT_HITS: Word = word("cgroup.memory.limit-hits", "1/s", Rate);
/// Processes of it killed due to lack of memory.
pub const CGROUP_OOM_KILLS: Word = word("cgroup.memory.oom-kills", "1/s", Rate);
// What a control group of a process does of what it is limited in. Instance: the group's path, the
// device, "read" or "write". Without a limit there are none.
/// Requests to the device.
pub const CGROUP_IO_REQUESTS: Word = word("cgroup.io.requests", "1/s", Rate);
/// The limit on those.
pub const CGROUP_IO_REQUESTS_MAX: Word = word("cgroup.io.requests.max", "1/s", Gauge);
/// Bytes of them.
pub const CGROUP_IO_BYTES: Word = word("cgroup.io.bytes", "bytes/s", Rate);
/// The limit on those.
pub const CGROUP_IO_BYTES_MAX: Word = word("cgroup.io.bytes.max", "bytes/s", Gauge);

// Counters of a JVM (hsperfdata). Instance: name and pid of the process, and the collector or
// space.
/// Collections.
pub const JVM_COLLECTIONS: Word = word("jvm.gc.collections", "1/s", Rate);
/// Time in collections, by wall time.
pub const JVM_GC_TIME: Word = word("jvm.gc.time", "share", Gauge);
/// Safepoints.
pub const JVM_SAFEPOINTS: Word = word("jvm.safepoints", "1/s", Rate);
/// Time at safepoints, by wall time.
pub const JVM_SAFEPOINT_TIME: Word = word("jvm.safepoint.time", "share", Gauge);
/// Of it, until all threads had stopped (time to safepoint).
pub const JVM_SAFEPOINT_SYNC: Word = word("jvm.safepoint.sync", "share", Gauge);
/// Classes loaded.
pub const JVM_CLASSES_LOADED: Word = word("jvm.classes.loaded", "1/s", Rate);
/// Classes unloaded.
pub const JVM_CLASSES_UNLOADED: Word = word("jvm.classes.unloaded", "1/s", Rate);
/// Time of compiler threads, by wall time.
pub const JVM_COMPILE_TIME: Word = word("jvm.compile.time", "share", Gauge);
/// Heap in use, by space. Between collections most collectors update it only now and then.
pub const JVM_HEAP_USED: Word = word("jvm.heap.used", "bytes", Gauge);
/// Current size of the heap, by space.
pub const JVM_HEAP_CAPACITY: Word = word("jvm.heap.capacity", "bytes", Gauge);
/// Metaspace in use.
pub const JVM_METASPACE_USED: Word = word("jvm.metaspace.used", "bytes", Gauge);
/// Live Java threads.
pub const JVM_THREADS: Word = word("jvm.threads", "threads", Gauge);

// fathom itself. Instance: "all", or a collector.
/// CPU time of fathom.
pub const FATHOM_CPU: Word = word("fathom.cpu", "cpus", Gauge);
/// Resident memory of fathom.
pub const FATHOM_RSS: Word = word("fathom.rss", "bytes", Gauge);

// `fathom agent`.
/// Requested CPU samples per second per CPU while it is busy; 0 if it takes none.
pub const AGENT_RATE: Word = word("fathom.rate", "1/s", Gauge);
/// What is queued on its disk until the destination takes it.
pub const AGENT_SPOOL: Word = word("fathom.spool", "bytes", Gauge);
/// Recordings that it dropped from there due to lack of room, since that directory was created.
pub const AGENT_DROPPED: Word = word("fathom.dropped", "recordings", Gauge);
/// JVMs that it records.
pub const AGENT_JVMS: Word = word("fathom.jvms", "jvms", Gauge);
