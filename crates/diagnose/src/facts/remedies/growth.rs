//! What helps, or shows more, where a part of the time grew that no rule explains.

super::remedies! {
    WRITE_AT_ONCE = "remedy-write-at-once",
        "write an answer in one call: a BufferedOutputStream with one flush(), a gathering write of all of its buffers, Netty's write() with one flush()",
        "any JDK", "";
    TCP_NODELAY = "remedy-tcp-nodelay",
        "TCP_NODELAY at the connections that answer: Socket.setTcpNoDelay(true), StandardSocketOptions.TCP_NODELAY; in Netty childOption(ChannelOption.TCP_NODELAY, true)",
        "any JDK", "more and smaller packets where many small writes are made";
    ASK_AT_ONCE = "remedy-ask-at-once",
        "write a request in one call (a BufferedOutputStream with one flush(), a gathering write), or TCP_NODELAY at the connections that ask: Socket.setTcpNoDelay(true)",
        "any JDK", "";
    TIME_OUT_FOR_ANSWERS = "remedy-time-out-for-answers",
        "a limit on the time that an answer may take (Socket.setSoTimeout, the timeout of an HttpRequest, the driver's socket time-out), and a new connection after it: see with ss -tn whether the peer still knows of these",
        "any JDK", "a call that would have been answered late fails";
    WHY_CALLS_FAIL = "remedy-why-calls-fail",
        "find out why {value}() fails (strace -f -e trace={value} -p PID shows the error, and the application's log perhaps): a limit that is reached (ulimit -n, open files in /proc/PID/fd; pids.max of the cgroup), a full disk, a file that is gone, a local port or a peer that is not free, a lock that another process has; what it holds on to, it may never have closed",
        "any JDK", "";
    WHY_NO_ANSWER = "remedy-why-no-answer",
        "find out why no answer comes within the limit: the peer may wait for something of this side (the body behind Expect: 100-continue, the end of a request, a greeting), have dropped the request, or be too slow by far (tcpdump -nn host PEER shows who waits for whom); a shorter limit only bounds what that costs",
        "any JDK", "";
    LET_WINDOW_GROW = "remedy-let-window-grow",
        "no SO_RCVBUF of a few kilobytes (Socket.setReceiveBufferSize, StandardSocketOptions.SO_RCVBUF, a client's setting for it): left alone, Linux lets the window grow as needed, up to net.ipv4.tcp_rmem; that, or net.core.rmem_max, may be too small as well (sysctl net.ipv4.tcp_rmem; ss -tim shows each connection's window and buffers)",
        "any JDK", "more memory for each connection that is read slowly";
    LOOK_AT_THE_WAY = "remedy-look-at-the-way",
        "look at what lies between: a link or a policer that is full (tc -s qdisc and ip -s link on both hosts: backlog, overlimits, drops), a proxy or a tunnel, another route; fewer and smaller answers, compressed, where the link is full of this traffic itself",
        "any JDK", "";
    FIND_LOST_SEGMENTS = "remedy-find-lost-segments",
        "find where segments or their acknowledgements get lost: drops of the network cards and queues of both hosts (ip -s link, tc -s qdisc, nstat TcpExtListenDrops), rules that drop them (nft list ruleset), policers and load balancers between; the peer itself may be fast",
        "any JDK", "";
    LOOK_BETWEEN = "remedy-look-between",
        "look at what lies between: buffers that are not flushed, queues before pools, timers and rate limits, the network (ss -ti), the clients",
        "any JDK", "";
    LOOK_AT_CLIENTS = "remedy-look-at-clients",
        "look at the clients, the balancer or the queue before this process for the same time",
        "any JDK", "";
    LOOK_AT_COMPLETION = "remedy-look-at-completion",
        "look at what completes the answers: timers and batches, delays between tries, rate limits, queues before pools, buffers that are not flushed",
        "any JDK", "";
    LOOK_AT_PEER_AND_NETWORK = "remedy-look-at-peer-and-network",
        "look at {value} (record it too, if it is a JVM) and at the network to it (ss -ti shows retransmits and round trips); bound what a slow peer costs with a time-out, a limit of calls at a time and a cached answer",
        "any JDK", "";
    OFF_THE_EVENT_LOOP = "remedy-off-the-event-loop",
        "look at what the thread that reads these connections does meanwhile (fathom ledger, fathom chain), and move it off the event loop",
        "any JDK", "";
    FIND_LOST_PERMITS = "remedy-find-lost-permits",
        "find out what lets fewer threads in: connections or permits that are not given back on some way out of the code (a pool counts those in use; HikariCP's leakDetectionThreshold names who took them), a pool or a limit that became smaller, or a lock that came",
        "any JDK", "";
    FEWER_HANDSHAKES = "remedy-fewer-handshakes",
        "make fewer of these operations: each asks every thread of the JVM, and who asks waits for all. Closing a shared Arena (Arena.ofShared) is one: close one for many uses, or use Arena.ofConfined or ofAuto; so are stack traces of other threads",
        "JDK 10 and later", "memory is held for longer";
    SHORTER_TIME_OUT = "remedy-shorter-time-out",
        "a time-out not much longer than answers take (its 99.9th percentile), few retries with a growing delay, and a circuit breaker that stops asking a peer that does not answer",
        "any JDK", "a time-out that is too short gives up calls that would have been answered";
    SHORTER_WAIT = "remedy-shorter-wait",
        "look at what should end this wait before its time limit does: where each wait lasts the whole limit, nobody does (a future that is never completed, a notification that is missed, a lock or a peer that is not free); a batch that is to be full first (linger, flush interval, group commit), a poll or a delay can be shortened, or ended by what arrives",
        "any JDK", "smaller batches cost more for each";
    END_THREADS = "remedy-end-threads",
        "find what starts the threads {value} (fathom flame --kind thread.start shows from where), and make one pool, timer or client for all operations, or shut each down when it is no longer needed",
        "any JDK", "";
    WHY_THREADS_ENDED = "remedy-why-threads-ended",
        "find out why [{value}|threads of this pool] ended: an exception that leaves run() ends its thread (catch it there, and set an UncaughtExceptionHandler that logs)",
        "any JDK", "";
    OFF_THE_CRITICAL_PATH = "remedy-off-the-critical-path",
        "take it off the critical path, make it faster, or share it among more threads: {doing}",
        "any JDK", "more threads change the order of what passes through";
    WHY_SELECTOR_SPINS = "remedy-why-selector-spins",
        "find what keeps the selector from waiting: an interest in OP_WRITE that is not taken back once all is written (a channel can nearly always be written to), keys of connections that the peer has closed and nobody cancels, wakeup() called on every turn, select(0) or selectNow() in a loop",
        "any JDK", "";
    TAKE_IN_FASTER = "remedy-take-in-faster",
        "look at who reads: slow clients, or a network that is narrow or loses packets (ss -ti shows each connection's queue and windows); write without a thread that waits (asynchronous responses), or put a proxy in front that buffers responses; a limit on the time that a write may take",
        "any JDK", "a proxy needs memory or disk for what it buffers";
    SEE_WHO_ASKS = "remedy-see-who-asks",
        "see who asks: connections of the JVM by peer (ss -tn), its access log by client and kind of request; let clients that poll wait longer or be notified, and limit what one client may ask",
        "any JDK", "who is limited waits";
    KEEP_CONNECTIONS = "remedy-keep-connections",
        "keep connections open: a pool, HTTP keep-alive, HTTP/2; and see who closes them, the client or the peer",
        "any JDK", "connections that are kept hold memory on both sides";
    NO_WAITS_ON_CARRIERS = "remedy-no-waits-on-carriers",
        "let nothing wait below a class initialiser or a native frame, which keep a virtual thread on its carrier in this JDK, too: load in advance what an initialiser waits for, or let a platform thread run it; jdk.VirtualThreadPinned of a flight recording shows where",
        "virtual threads, JDK 24 and later: synchronized itself keeps no carrier there; file calls do", "none known";
    NO_PINNING_MONITORS = "remedy-no-pinning-monitors",
        "JDK 24 or later (JEP 491), or java.util.concurrent.locks.ReentrantLock in place of synchronized around what waits; -Djdk.tracePinnedThreads=full (JDK 21 to 23) shows where",
        "virtual threads, JDK 21 to 23; native frames and file calls keep carriers on all", "none known";
    CONNECT_ONCE = "remedy-connect-once",
        "connect() itself waits: each of these calls connects anew; keep connections open (a pool, HTTP keep-alive, HTTP/2), and see whether the peer accepts in time: ss -lnt there shows a full queue, nstat TcpExtListenOverflows what it dropped",
        "any JDK", "connections that are kept hold memory on both sides";
    ASK_ONCE = "remedy-ask-once",
        "ask for all of it in one call: a join or a batch instead of a query for each row, a listing kept instead of asked for again",
        "any JDK", "larger answers need memory at once";
    BUFFER_BETWEEN = "remedy-buffer-between",
        "put a buffer in between: BufferedOutputStream, BufferedInputStream, a larger buffer of the driver",
        "any JDK", "what is buffered is lost in a crash until it is flushed";
    LOOK_AT_PEER = "remedy-look-at-peer",
        "look at the peer: its own latency at that time, the number of calls an operation makes to it, the connections shared among threads",
        "any JDK", "more connections move the queue to the peer";
    LOOK_AT_FILE = "remedy-look-at-file",
        "look at the file and the device: who else writes to it, whether each operation must wait for it",
        "any JDK", "what is not written at once may be lost in a crash";
    MORE_CPUS = "remedy-more-cpus",
        "give the process more CPUs, or run less on the same machine",
        "any JDK", "";
    RAISE_QUOTA = "remedy-raise-quota",
        "raise the CPU quota of the cgroup, or run fewer threads at once",
        "any JDK", "";
    FIND_SLEEP = "remedy-find-sleep",
        "find what the code sleeps for: a retry, a back-off, a poll with a fixed interval",
        "any JDK", "";
    NO_PROCESS_EACH = "remedy-no-process-each",
        "start no process for each operation: keep one running and hand it the work, do the work in the JVM, or start fewer at once; where it is one peer at a pipe, look at what that process does meanwhile",
        "any JDK", "a process that stays must be watched and started again when it ends";
    COMPARE_FLAMES = "remedy-compare-flames",
        "fathom flame --diff of the two windows shows which callers and which code of the method grew",
        "any JDK", "";
    FOLLOW_CHAIN = "remedy-follow-chain",
        "fathom chain of the slow window shows what these threads waited for, link by link",
        "any JDK", "";
    SEND_LESS = "remedy-send-less",
        "send less for each request: pages of a list, only the fields that are asked for, compression; and see what made the answers grow",
        "any JDK", "compression costs CPU time";
}
