//! Whether the live set grows, and why that is no leak or not known to be one.

super::metrics! {
    /// The live set changes, and no growth is sure; bytes a minute, with the interval.
    NOT_SURELY = "live-set-not-surely-growing",
        "the live set changes by {value} a minute (95% between {low} and {high}): not surely a growth";
    /// The same, where the readings scatter so much that a growth which matters would not show.
    UNCERTAIN = "live-set-growth-uncertain",
        "the live set changes by {value} a minute (95% between {low} and {high}): too uncertain to distinguish growth from none";
    /// By how much the live set grew over the run.
    GREW_BY = "live-set-grew-by", "the live set grew by {value} of a heap of {heap}";
    /// A growth that ends, bytes a minute in the later half; the baseline is the earlier half.
    FLATTENS = "live-set-flattens",
        "the growth of the live set flattens: {baseline} a minute in the earlier half, {value} in the later, as a cache does that fills";
    /// A growth of which it is not sure whether it ends, as before.
    MAY_FLATTEN = "live-set-may-flatten",
        "the live set goes on growing, and whether as fast as before is not sure: {baseline} a minute in the earlier half, {value} in the later; a cache that fills looks so, and a leak under falling load";
    /// A growth that is far from the end, bytes a minute.
    FAR_FROM_FULL = "live-set-far-from-full",
        "the live set grows by {value} a minute and has reached {share} of the heap, full in {left} if that goes on";
    /// A growth that has cost next to nothing so far, bytes a minute.
    COSTS_LITTLE = "live-set-growth-costs-little",
        "it grows by {value} a minute, and collections of the old generation took {cost} so far";
    /// Too few readings.
    TOO_FEW = "old-collections-too-few",
        "{value|collection|collections} of the old generation {value?is|are} too few to judge growth by, {needed} are needed";
    /// Readings that are too close together.
    TOO_CLOSE = "old-collections-too-close",
        "the collections of the old generation are not far enough apart in time";
    /// What rules a leak out, with what a heap dump shows.
    NO_LEAK = "no-leak", "{why}; so {keeper}, which keeps {share} of the heap in {file}, is no leak";
    /// Why it is not known whether the live set grows, with what a heap dump shows.
    NOT_KNOWN = "live-set-growth-not-known",
        "whether the live set of {jvm} goes on growing: {why}[; that {keeper} keeps {share} of the heap in {file} is no proof of a leak]";
    /// What can be reached in a heap dump that cannot be of the JVM and time of the log.
    OTHER_DUMP = "heap-dump-of-another",
        "{value} can be reached in {file}, and the log says that {in-use} were in use after the collection before it: it is of another JVM or another time";
}
