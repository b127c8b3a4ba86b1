//! What threads waited for.

super::metrics! {
    /// Look-ups of names that took long.
    SLOW_LOOKUPS = "slow-lookups", "{value} of {lookups|look-up|look-ups} took {least} or more: {names}";
    /// How long look-ups of one name took.
    LOOKUPS_OF = "lookups-of-a-name", "{name} ({value})";
    /// DNS queries that ran into their time-out.
    TIMED_OUT = "dns-queries-timed-out", "{value:.0} questions ran into their time-out";
    /// Starts of threads that took long, and what they spent the time on.
    SLOW_STARTS = "slow-thread-starts", "{value:.0} of {starts|start of a thread|starts of threads} took {least} or more: {parts}";
    /// A part of these starts.
    START_PART = "thread-start-part", "{value} {part}";
    /// Where threads were started.
    STARTED_BY = "threads-started-by", "started by {sites}";
    /// One of these places.
    STARTED_AT = "threads-started-at", "{site} ({value:.0} of them)";
    /// Time in which most threads of the application were stopped by a signal or the freezer.
    FROZEN = "process-stopped",
        "most threads of the application were stopped at once for {value}, in as much time of the base for {baseline}";
    /// Time in which threads were stopped, one at a time; the share of the time in which they had
    /// work.
    TRACED = "threads-stopped-by-tracer",
        "threads were stopped for {value} in all, {share} of the time in which they had work, {baseline} in the base";
    /// The longest time that one thread was stopped.
    FROZEN_LONGEST = "process-stopped-longest", "the longest: one thread was stopped for {value}";
    /// Safepoints that threads were slow to reach or to leave.
    SLOW_SAFEPOINTS = "slow-safepoints",
        "{value} of {safepoints} safepoints slow ({share}), the usual time to stop is {usual}; {trivial} of the slow ones for an operation that does nothing of note";
    /// The operations of these.
    SLOW_FOR = "slow-safepoint-operations", "slow for {operations}";
    /// One of these operations.
    SLOW_OPERATION = "slow-safepoint-operation", "{operation} ({value:.0})";
    /// Time to safepoint of one, and time to leave it.
    REACH = "time-to-safepoint", "{operation}: {value} to stop, {leave} to be let go, {total} in all";
    /// VM operations of one sort that held the JVM, and who asked for them.
    VM_OPERATIONS = "vm-operations",
        "{operations} × {operation}: {value}, the longest {longest}[, {collections} of it in the collections that they begin with][, asked for by {asked-by}]";
    /// One of them.
    VM_OPERATION = "vm-operation", "{operation} of {value}[, asked for by {asked-by}]";
    /// What this JDK counts into the time to safepoint.
    REACH_HAS_CLEANUP = "time-to-safepoint-has-cleanup",
        "this JDK counts the cleanup into the time to stop (JDK-8297154)";
    /// Time that threads were throttled, running and waiting.
    THROTTLED = "throttled-threads",
        "application threads: {value} throttled, {running} running, {waiting} waiting for a CPU of {active} in which they had work";
    /// How often a control group's quota ran out, and for how long.
    QUOTA = "quota-ran-out",
        "{group}: throttled for {throttled} in all, the quota ran out in {value} periods a second";
}
