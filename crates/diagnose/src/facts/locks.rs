//! What threads waited for locks, and what the holders did meanwhile.

super::metrics! {
    /// Waits for locks: their number, their time, and the lock that was waited for longest.
    WAITS = "lock-waits",
        "{waits|wait|waits} of {threads|thread|threads}, {value} in all without stops of the JVM, the longest {longest}[; {share} on {lock}]";
    /// The same of waits that are known by their sums alone.
    WAITS_BY_SUMS = "lock-waits-by-sums",
        "{threads|thread|threads} waited {value} in all without stops of the JVM[; {share} on {lock}]";
    /// What of it no single record shows.
    UNLISTED = "lock-waits-unlisted",
        "{value} of it in waits that no record of a {noun} shows one by one: short ones, and those that had begun before";
    /// One wait.
    WAIT = "lock-wait", "{value} for [{class}|an object of unknown class] in [{place}|a place that was not recorded]";
    /// Where threads waited.
    WAITED_IN = "locks-waited-for-in", "waited for in {places}";
    /// One of these places.
    PLACE = "lock-waited-for-in", "[{place}|a place that was not recorded] ({value} of the time)";
    /// What the holders of a lock did while others waited: the time for which they are known to
    /// have held it, and what of it they were off the CPU.
    HOLDERS = "lock-holders", "meanwhile its holders were {did} (off the CPU for {off} of {value})[; a holder is known for {covered} of the {wanted} for which somebody waited]";
    /// A part of that time.
    DID = "lock-holders-did", "{what} {value}";
    /// What a thread did that the holder of a lock waited for, as a share of that wait.
    BEHIND_HOLDER = "lock-holder-waited-for", "{what}[ (thread {thread})] {value}";
    /// Threads each of which waits for what the next one holds.
    DEADLOCK = "deadlock", "{waits}";
    /// One of these waits.
    DEADLOCK_WAIT = "deadlock-wait", "{thread} waits for {lock}";
    /// Objects of a class, each a lock.
    OBJECTS = "objects-of-a-class", "objects of {value}";
    /// A lock, and where it is taken.
    TAKEN_IN = "lock-taken-in", "{value}[ in {place}]";
    /// Of waits that are none above the baseline.
    AS_USUAL = "lock-waits-as-usual", "no more than in the baseline";
    /// Waits that are too short to matter, per thread, or above the baseline.
    LITTLE = "lock-waits-too-short",
        "{threads|thread|threads} waited {value} in all for {noun}s, [{each} a thread][{above} a thread above the baseline][{usual}]";
}
