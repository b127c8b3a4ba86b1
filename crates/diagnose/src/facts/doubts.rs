//! What makes values doubtful: of an input, of a recording, or of the verdict.

super::metrics! {
    /// A self-check of an input that failed.
    CHECK_FAILED = "self-check-failed", "{source}: self-check failed: {value}: {detail}";
    /// Lines that no reader understood, where they are many.
    NOT_UNDERSTOOD = "lines-not-understood",
        "{source}: {value} of {lines} lines were not understood; fathom info shows some of them";
    /// Records that were lost.
    TOO_LOW = "input-lost-records", "{source}: {lost}: its values are too low";
    /// An input whose last line has no end.
    INPUT_CUT = "input-truncated",
        "{source}: its last line has no end, or its last record is truncated: what came last may be missing";
    /// An input that is on no common clock.
    LEFT_OUT = "input-left-out",
        "{source}: left out, because it cannot be time-aligned with the rest: {how}";
    /// No JVM is on the clock of the series.
    SERIES_NOT_USED = "series-not-used",
        "no JVM is time-aligned with the series: the series was not used; align one of them with --align";
    /// A recording whose last rows are missing.
    RECORDING_CUT = "recording-truncated", "the recording is truncated: what came last is missing";
    /// Metrics that are judged bad and that no finding explains.
    BAD = "metrics-bad", "{process}: bad by fathom gc, and no finding: {metrics*; }";
    /// One of them.
    BAD_METRIC = "metric-bad", "{metric}[ {value}] ({why})";
}
