//! The stops of a JVM: collections and safepoints, and times in which it was stopped from outside.

use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Recording, Span};

use crate::intervals::Intervals;
use crate::waits::frozen;
use crate::waits::stack::ByStack;

/// Stops whose operation the log does not name.
pub(crate) const UNNAMED: &str = "unnamed VM operations";

/// What a stop is called. Where the source does not name the operation of a safepoint, its span is
/// called "stopped", which is no name in a sentence.
pub(crate) fn name_of<'a>(span: &Span<'a>) -> &'a str {
    match span.name() {
        "stopped" => UNNAMED,
        name => name,
    }
}

/// All stops of a JVM.
pub(crate) fn of_jvm(recording: &Recording, jvm: ProcessId) -> Intervals {
    let spans = [kind::GC_PAUSE, kind::SAFEPOINT].into_iter().flat_map(|kind| recording.spans_of(kind));
    Intervals::of(spans.filter(|s| s.process() == jvm).map(|s| (s.t0_ns(), s.t1_ns())))
}

/// All times in which a JVM was stopped as a whole: its own stops, and those from outside.
pub(crate) fn standstills(recording: &Recording, stacks: &ByStack, jvm: ProcessId) -> Intervals {
    of_jvm(recording, jvm).or(&frozen::of(recording, stacks, jvm).intervals)
}
