//! Who had the CPUs, and what for.

super::metrics! {
    /// A process that was made to stand behind others.
    NICER = "nicer", "its own nice value is {value#} instead of {baseline#}";
    /// The same of its control group; in relation to the default weight.
    LIGHTER = "lighter-group", "the CPU weight of its control group {group} is {value:.2} of the default instead of {baseline:.2}";
    /// Who took the CPUs: the collector of the JVM itself.
    BY_COLLECTOR = "cpus-taken-by-collector", "the JVM's own collector threads";
    /// Processes that ended before anybody listed them.
    BY_SHORT_LIVED = "cpus-taken-by-short-lived", "processes too short-lived to be listed";
    /// Any others.
    BY_OTHERS = "cpus-taken-by-others", "other processes";
    /// Time that threads of the application waited for a CPU, and the time for which they ran.
    THREADS_WAITING = "threads-waiting-for-cpu",
        "application threads: {value} waiting for a CPU, {running} running, {active} in all in which they had work[; in the baseline {baseline} waiting for a CPU, {baseline-running} running, {baseline-active} in all in which they had work]";
    /// CPUs that the application kept busy, and those that the JVM's own threads and other
    /// processes did.
    CPUS_BUSY = "cpus-busy",
        "CPUs kept busy: {value} by application threads, {gc} by the JVM's collector, {jit} by its compilers, {others} by other processes[; in the baseline {baseline} by application threads, {baseline-gc} by the JVM's collector, {baseline-jit} by its compilers, {baseline-others} by other processes]";
    /// Who took CPUs from the application.
    TAKEN_BY = "cpu-taken-by", "taken by {processes*; }";
    /// CPU time of one of them.
    TAKEN = "cpu-time-taken", "{process} {value} of CPU time";
    /// The same, as what it took above the baseline.
    TAKEN_ABOVE = "cpu-time-taken-above-baseline", "{process} {value} more than in the baseline";
    /// CPUs that threads of the other recorded JVMs kept busy.
    CPUS_OF_JVMS = "cpus-busy-by-other-jvms",
        "of other recorded JVMs: {value} by their application threads, {jit} by their compilers, {gc} by their collectors[; in the baseline {baseline} by their application threads, {baseline-jit} by their compilers, {baseline-gc} by their collectors]";
    /// Who left the CPU for a thread that had waited for it.
    RAN_LAST = "ran-at-end-of-wait", "who ran at the end of a wait, by how long it was: {processes}";
    /// The share of the waits that ended when one process left the CPU.
    RAN_LAST_SHARE = "ran-at-end-of-wait-share", "{process} ({value})";
    /// CPUs that the recorder kept busy.
    RECORDER = "cpus-of-recorder",
        "the recorder took {value} CPUs, which are not counted: it takes less with --without syscalls";
    /// CPUs that the hypervisor gave to other machines.
    STOLEN = "cpus-stolen", "the hypervisor took {value} CPUs as well";
    /// Programs that the JVM starts.
    PROGRAMS_STARTED = "programs-started", "the JVM starts {value:.0} programs a second";
    /// CPU time in what only a full TLS handshake does.
    HANDSHAKES = "tls-handshakes-in-full",
        "{value} of CPU time with certificates, signatures and keys, {rest} in the rest of handshakes";
    /// CPU time, and how long it took with the waits for a CPU.
    WITH_WAITS = "cpu-time-with-waits",
        "{value} of CPU time, which took {elapsed} with the waits for a CPU that its threads always have";
    /// Connections that the JVM made.
    CONNECTIONS = "connections-made", "{value:.1} connections a second were made by this JVM[ (baseline: {baseline:.1})]";
    /// Which methods the CPU time was spent below.
    BELOW = "cpu-time-below", "below {callers}";
    /// The share of one of them.
    BELOW_METHOD = "cpu-time-below-method", "{method} ({value})";
}
