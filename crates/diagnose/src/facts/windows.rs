//! How slow windows and their baseline were found, and what is judged of them.

super::metrics! {
    GIVEN = "windows-given", "given by the user";
    BASELINE_GIVEN = "baseline-given", "baseline given by the user";
    BASELINE_ALONE = "baseline-given-alone", "baseline given by the user, compared with everything else";
    /// What the baseline is.
    BASELINE_ELSE = "baseline-everything-else", "baseline: everything else";
    BASELINE_USUAL = "baseline-usual-level", "baseline: where the series is at its usual level";
    /// What a recording was kept for.
    KEPT = "recorded-as-slow", "what was recorded as slow ({value})";
    /// The usual level of a series.
    USUAL = "series-usual-level",
        "found on {series} ({ticks} ticks of {tick}): usually {value} {unit} (standard deviation {deviation})";
    /// No tick of it stands out.
    NOWHERE_BELOW = "series-nowhere-below", "nowhere below {value} {unit} for {ticks} ticks";
    /// The same of a latency.
    NOWHERE_ABOVE = "series-nowhere-above", "nowhere above {value} {unit} for {ticks} ticks";
    NO_DIP = "series-wavers", "it wavers too much for a dip to stand out";
    /// Intervals of a lower level.
    LOWER = "series-lower",
        "{value|interval|intervals} with [at least {ticks} ticks below {limit} {unit}, ]a lower level, a fall by half or a prolonged tick";
    /// The same of a latency.
    HIGHER = "series-higher",
        "{value|interval|intervals} with [at least {ticks} ticks above {limit} {unit}, ]a higher level, a rise to twice the usual or a prolonged tick";
    WARM_UP = "series-warm-up", "the first {value} are warm-up";
    /// What was lower and is no part of the slow windows.
    LEFT_OUT = "series-left-out", "{value} next to that, in which half as much or less was lost, are in no window";
    /// What was found before the usual level was reached.
    IN_WARM_UP = "windows-in-warm-up", "in the warm-up itself: {how*; }";
    NO_LEVEL = "series-without-level", "{series} wavers too much for a level to be usual";
    NOISE = "series-too-noisy", "too much noise to trust these";
    WARM_UP_UNKNOWN = "warm-up-unknown", "of the warm-up the series says nothing";
    /// Answers that come later because more is asked.
    MORE_ASKED = "more-asked",
        "{series} was higher while {value:.1} times as many operations as usual were made: more was asked";
    SLIGHT = "series-slightly-worse",
        "it was worse than usual by {value} for {length}: less than a dip, and looked into because its cause is found";
    /// A change of what threads do, and a series that is worse meanwhile.
    BOTH = "change-and-series", "{change}, and it was worse than usual by {value} meanwhile";
    /// A change of what threads do: how many at a time, what they did, and where.
    CHANGE = "threads-changed",
        "threads of {jvm} spent their time differently: {value:.1} instead of {baseline:.1} at a time were {doing}[ in {place}] ({intervals|interval|intervals} of {length})";
    /// That no request was answered to the end.
    NO_REQUESTS = "no-requests-to-the-end",
        "it answered no request from {from} s to the end, and whether any was asked for is not known";
    /// Requests of a recording that counts them itself.
    FEWER_REQUESTS = "fewer-requests",
        "it answered {value} requests a second instead of {baseline} at {from}–{to} s, and whether more were asked for is not known";
    NO_SERIES = "no-series", "no series of throughput or latency to find slow windows on";
    SERIES_TOO_SHORT = "series-too-short", "{series} is too short or too idle to find slow windows on";
    /// A series of throughput that counts none in most of its time.
    NO_OPERATIONS = "series-without-operations", "{series} counts no operation in {value}[ of {of}]";
    NO_OPERATIONS_NO_LEVEL = "series-without-operations-or-level", "{none}: no level to find slow windows on";
    FOUND_ON_STOPS = "found-on-stops",
        "no series of throughput or latency; found on stops of the JVM: {stops*; }";
    /// Stops far beyond the usual.
    LONG_STOPS = "stops-beyond-usual",
        "{jvm}: {value|stop|stops} of {all} far beyond the usual {usual} (median), the longest {longest}";
    /// The same where there are few.
    SOME_STOPS = "stops-of-few",
        "{jvm}: {value|stop|stops} of {limit} or more, the longest {longest}; too few ({all}) to know what is usual";
    /// Parts of the run in which stops take much more than in the rest.
    CROWDED = "stops-crowded",
        "{jvm}: {value|interval|intervals} in which it was stopped for at least {limit} of the time, usually {usual}";
    MORE_STOPS = "more-long-stops", "{value|more stop|more stops} of {limit} or more";
    MOST_STOPPED = "stopped-for-much", "{jvm} is stopped for {value} of a part of the run";
    NO_STOP = "no-stop-stands-out", "{series*; }, and no stop that stands out";
    /// Stops that stand out, in a run that is stopped much throughout.
    STOPPED_THROUGHOUT = "stopped-throughout",
        "{series*; }, {stops|stop is|stops are} far beyond the usual, but {jvm} is stopped for {value} of the time in all";
    WHOLE_RUN = "whole-run", "{why}: the whole run is looked at";
    NO_WINDOW = "no-slow-window", "no slow window, so the whole run is looked at: {how*; }";
    /// A JVM that is stopped for much of the rest as well.
    REST_STOPPED = "rest-stopped",
        "the rest of the run is stopped for {value} of its time, so the whole run is looked at";
    FEW_STOPS = "stops-too-few-to-matter",
        "they are too few and too short to matter, so the whole run is looked at";
    COSTS_MORE = "whole-run-costs-more", "what acted all along costs more, so the whole run is looked at";
    HARDLY_RECORDED = "windows-hardly-recorded",
        "only {value} of that were recorded, too little to judge, so the whole run is looked at";
    WATCHED_INSTEAD = "watched-time-instead",
        "threads were watched only at other times, and no log explains that slow time, so the watched time is judged instead";
    RECORDED_ALONE = "recorded-level-alone",
        "all of the recording is below the usual level of the series, so what was recorded is compared with itself alone: usually {value} {unit}";
    RECORDED = "slow-time-recorded", "only the {value} of {of} slow time that were recorded are judged";
    RUN_RECORDED = "run-recorded", "only the {value} that were recorded are judged";
    WATCHED = "slow-time-watched", "only the {value} of {of} slow time in which threads were watched are judged";
    COUNTED_FROM = "times-count-from", "times count from {value}";
}
