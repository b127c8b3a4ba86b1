//! Why the slowest operations were slow, and what one operation waited for.

super::metrics! {
    /// The largest part of what the slow operations take longer.
    LONGER = "slow-take-longer",
        "a slow one takes {value} longer, {share} of it [{category}|running][ in {place}][ ({counterpart})][ while {lock} is waited for]";
    /// No part is known that is large enough.
    LONGER_UNKNOWN = "slow-take-longer-unknown", "what makes the slow ones {value} longer is not known";
    /// Of requests in an access log of whole seconds.
    COARSE = "operations-in-whole-seconds", "no thread is known, and timestamps are in whole seconds";
    /// The same of a single one.
    COARSE_ALONE = "operation-in-whole-seconds",
        "no thread is known, and timestamps are in whole seconds: nothing can be said of what went on during it";
    /// Of requests in an access log.
    NO_THREAD = "operations-without-thread", "no thread is known: only the stops of the JVM were seen";
    /// The same of a single one.
    NO_THREAD_ALONE = "operation-without-thread", "no thread is known: only the stops of the JVM during it were seen";
    /// What of the difference no record shows.
    NOT_SEEN = "difference-not-seen", "{value} of the difference was not seen";
    /// How many of the slow operations have the largest part.
    IN_SLOW = "part-in-slow", "{value} of the difference, in {of} of the slow ones, by the record of their threads";
    /// The same where too little was seen, or in too few.
    IN_FEW = "part-in-few", "{value} of the difference, in {of} of {looked_at|slow one|slow ones}; {unseen} of it was not seen";
    /// Where else threads were seen in the same span or trace.
    ELSEWHERE = "seen-elsewhere", "it was also seen, each explained by --op: {operations*, }[ and {more} more]";
    /// One of them, by its id.
    AT = "operation-seen", "{value} ({took}[ on {thread}])";
}
