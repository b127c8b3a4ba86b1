//! The one sentence of a diagnosis, and its parts.

super::metrics! {
    NOTHING_TO_JUDGE = "nothing-to-judge",
        "nothing to judge: no log of a JVM and no series of progress was read";
    /// A series that showed no loss, and few stops.
    HEALTHY = "healthy",
        "healthy: {series} kept its usual level (what the level should be is not known), and stops of the JVM took less than {limit} of {value}, none of them a second";
    /// The same of a series that was a little worse than usual.
    HEALTHY_SLIGHT = "healthy-but-slight",
        "healthy: {series} was worse than usual by {worse} at {from}–{to} s, too little to be examined by default (--slow {from}s..{to}s examines it), and kept its usual level otherwise, and stops of the JVM took less than {limit} of {value}, none of them a second";
    /// The same with a finding.
    HEALTHY_WITH = "healthy-with", "{healthy}; what acts all along: {found}";
    /// A loss while nothing but the series was recorded.
    UNRECORDED = "loss-unrecorded",
        "{value} lost {when}, when nothing but {series} was recorded: its cause cannot be known from these inputs";
    NOT_EXPLAINED = "loss-not-explained",
        "{value} lost {when}, and nothing that these inputs show explains it[; the largest parts: {parts*; }]";
    NOTHING_OF_JVM = "nothing-of-jvm",
        "no cause can be seen[ {when}]: nothing about a JVM was read; the blind spots say what to switch on";
    /// No cause where only stops were seen, and what they were for.
    COLLECTOR_HEALTHY = "no-cause-collector-healthy",
        "no cause found in {value}[ {when}]: the collector is healthy (it stopped the JVM for {share} of the time, the longest stop took {longest}); these inputs do not show locks, I/O, CPUs or what the application ran; {loss}";
    /// The same without what they were for.
    STOPS_FEW = "no-cause-stops-few",
        "no cause found in {value}[ {when}]: stops of the JVM are few (they took {share} of the time, the longest stop took {longest}); these inputs do not show what they were for, locks, I/O, CPUs or what the application ran; {loss}";
    NO_CAUSE = "no-cause",
        "no cause found in {value} of {input}[ {when}] ({loss})[; the largest parts: {parts*; }]";
    LOSS_NOT_MEASURED = "loss-not-measured", "loss not measured: no throughput or latency given";
    LOSS_OUTSIDE = "loss-outside",
        "{series} shows a loss, of which {value} lie outside of what was recorded, and too little within it to judge";
    NO_LOSS = "no-loss", "{series} shows no loss that stands out";
    /// Requests of which fewer were answered, before what a diagnosis comes to.
    AFTER_FEWER = "after-fewer-requests", "{fewer}; {headline}";
    /// A finding with what of the loss it explains.
    FOUND_SHARE = "found-share",
        "{title@who}: {value} of the {lost} lost {when}[, in the {covered} of it that was recorded] ({sure})[{rest}]";
    /// That it explains less than half.
    REST = "rest-not-explained", "; the rest is not explained[; the largest parts: {parts*; }]";
    /// A finding with its cost.
    FOUND_COST = "found-cost",
        "{title@who}: {value} ({sure})[; other stops took {others}: {left}][; the largest parts: {parts*; }]";
    /// The same where the title has the cost, or there is none.
    FOUND = "found", "{title@who} ({sure})[; other stops took {others}: {left}][; the largest parts: {parts*; }]";
    /// A cost that is little of the time.
    FOUND_LITTLE = "found-little",
        "{title@who}; it cost little: {value} of {of} ({sure})[; the largest parts: {parts*; }]";
    /// The same where the title has the cost.
    FOUND_LITTLE_OF = "found-little-of",
        "{title@who}, which is little of {of} ({sure})[; the largest parts: {parts*; }]";
    /// The process of a finding, and how many other JVMs show the same.
    WHO = "found-in", "[ in {value}][, and the same in {others|other JVM|other JVMs}]";
    /// Slow windows, the longest first.
    AT = "at-windows", "at [{windows*, } and {more} more|{windows* and }]";
    WINDOW = "window", "{from}–{to} s";
    /// Windows that come back in a beat.
    PERIODIC = "windows-periodic", "for {value} s in every {every} s ({times} times, {from}–{to} s)";
    /// A part of the time: stops of a JVM.
    PART_STOPS = "part-stops", "{value} {process} was {what}[: {details*; }]";
    /// Parts of the application threads' time.
    PART_THREADS = "part-threads",
        "of {value} in which application threads[ of {process}] were not idle, {parts*, }";
    PART = "part", "{value} {what}[ ({baseline} in the baseline)]";
    PART_DETAIL = "part-detail", "{details*; }";
    /// What a part of the time was spent on: a category of the ledger.
    CATEGORY = "part-category", "{value}";
    /// All that ran, whatever its layer.
    RUNNING = "part-running", "running";
    /// Stops until threads ran again, which the ledger of threads does not distinguish.
    LEAVING = "part-leaving-safepoint", "stopped: leaving a safepoint";
    /// Stops of one name and cause.
    STOPS_NAMED = "part-stops-named", "{value} × {name}[, {cause}]";
}
