//! Page faults: how many, where, by whom, and what they waited for.

super::metrics! {
    /// Of times that are what the baseline does not have.
    ABOVE = "page-faults-above-baseline", "above the baseline";
    /// Page faults a second, how long each took, and how many had to read their page. The detail
    /// `cause` is why the memory was touched: `heap-grows`, `waited`, `memory-limit` …
    RATE = "page-faults", "{value} page faults a second[ (baseline: {baseline})], {each} each, {major} of them major";
    /// The same where they were not counted: CPU time in the kernel's handling of them.
    SAMPLED = "page-faults-sampled", "{value} of CPU time below asm_exc_page_fault";
    /// The mappings that they were in.
    MAPPINGS = "page-faults-by-mapping", "by mapping: {mappings}";
    /// One of these mappings: its faults, and the time in them, above the baseline where there is
    /// one.
    MAPPING = "page-faults-in-mapping", "{mapping} ({faults} faults, {value}[ {above}])";
    /// Methods that touched the memory first.
    TOUCHED_BY = "memory-touched-by", "touched by {methods}";
    /// One of these methods, with its share.
    TOUCHED_IN = "memory-touched-in", "{method} ({value})";
    /// Time in page faults by thread.
    THREADS = "page-faults-by-thread", "time in faults by thread: {threads}";
    /// One of these threads.
    THREAD = "page-faults-of-a-thread", "{thread} ({value})";
    /// Memory that was given back to the kernel.
    GIVEN_BACK = "memory-given-back", "{value} given back to the kernel meanwhile (munmap, madvise)";
    /// What threads waited for in page faults.
    WAITED_FOR = "page-faults-waited-for", "in page faults, off the CPU: {waits}";
    /// A part of that.
    WAIT = "page-faults-wait", "{what} ({value})";
    /// Time in page faults that is too little to matter, and what it costs in wall time.
    LITTLE = "page-faults-too-few",
        "threads spent {value} in page faults[, {rate} faults a second]; {cost} of wall time[ {above}]";
}
