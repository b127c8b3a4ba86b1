//! What a verdict could look at, and what it could not.

super::metrics! {
    /// What the collector cost above the baseline, of what was lost: it is ruled out as a whole.
    OF_THE_LOSS = "collections-of-the-loss",
        "collections stopped {process} for {stopped} of the slow windows and {baseline-stopped} of the baseline: {value} of the {lost} lost";
    /// What rules a cause out in the busiest of several JVMs; how many others do not show it
    /// either.
    OTHER_JVMS = "ruled-out-in-jvms", "{process}: {figure} (not in {value|other JVM|other JVMs} either)";
    /// The same of other programs.
    OTHER_PROCESSES = "ruled-out-in-processes", "{process}: {figure} (not in {value|other process|other processes} either)";
    /// How much of the time was covered of what a rule needs to see.
    COVERED = "covered-share", "{what}[ of {process}]: {value} {of} is covered";
    /// Nothing of that.
    NOT_COVERED = "not-covered", "{what}[ of {process}]: nothing {of} is covered";
    /// Records that a source lost.
    LOST = "records-lost", "{source} lost {value} of {all} records ({share})";
    /// The same, of a source that a rule needs.
    LOSSY = "source-too-lossy", "{what}[ of {process}]: {lost}";
    /// The same, of a collector of a live recording.
    TOO_LOW = "values-too-low", "{lost}: its values are too low, and rule nothing out";
    /// What a collector of a live recording could not see of something that a rule needs.
    UNSEEN = "not-seen-by-collector", "{what}: {collector} could not see {unseen}";
    /// What of the time may go unseen between samples.
    FEW_SAMPLES = "cpu-samples-too-few",
        "which Java code ran in {length}: samples of the CPU are too far apart for it (up to {value} may go unseen)";
    /// Slow time that only the series covers.
    ONLY_SERIES = "slow-time-unrecorded", "{value} of slow time that only the series covers: {verdict}";
    /// No recorded process is a JVM.
    NO_JVM = "no-jvm", "causes within a JVM: none of the recorded processes is one";
    /// Several things that one change makes visible.
    SEVERAL = "several-unseen", "{what*; }[; and {more:.0} more]";
}
