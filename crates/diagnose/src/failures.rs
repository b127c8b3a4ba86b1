//! What a JVM's collections failed at, as its log says: the words of
//! [`fathom_recording::vocabulary::failure`], and full collections that nobody asked for, of
//! collectors that are built to do without.

use fathom_recording::vocabulary::{failure, figure, label};

use crate::collections::Pause;

/// A full collection of G1 or CMS that has no other name.
pub(crate) const FULL: &str = "full collection that nobody asked for";

/// Beginnings of causes by which somebody asks for a collection, or that are no lack of room in the
/// heap.
const ASKED: [&str; 11] = [
    "System",
    "Diagnostic",
    "Heap ",
    "JvmtiEnv",
    "WhiteBox",
    "WB_",
    "Metadata",
    "Permanent",
    "Last ditch",
    "CodeCache",
    "G1 Periodic",
];

/// Whether a pause has a cause that is no lack of room in the heap.
pub(crate) fn was_asked_for(pause: &Pause<'_>) -> bool {
    pause.cause().is_some_and(|cause| ASKED.iter().any(|asked| cause.starts_with(asked)))
}

/// What a pause failed at. Objects pinned by native code are no failure.
pub(crate) fn of(pause: &Pause<'_>, collector: Option<&str>) -> Vec<&'static str> {
    const WORDS: [&str; 4] = [
        failure::CONCURRENT_MODE_FAILURE,
        failure::CONCURRENT_MODE_INTERRUPTED,
        failure::PROMOTION_FAILED,
        failure::EVACUATION_FAILURE,
    ];
    let printed =
        |word: &&&str| pause.span.labels().any(|(key, said)| key == label::FAILURE && said == **word);
    let mut found: Vec<&'static str> = WORDS.iter().filter(printed).copied().collect();
    if found.is_empty() && ran_out(pause) {
        // A source that says that it failed and not at what.
        found.push(if collector == Some("G1") {
            failure::EVACUATION_FAILURE
        } else {
            failure::PROMOTION_FAILED
        });
    }
    let without = matches!(collector, Some("G1" | "CMS"));
    if without && found.is_empty() && pause.labelled_full() && !was_asked_for(pause) {
        found.push(FULL);
    }
    found
}

/// Whether a pause failed for lack of room, and not only because objects were pinned.
pub(crate) fn ran_out(pause: &Pause<'_>) -> bool {
    pause.flag(figure::EVACUATION_FAILURE) && !only_pinned(pause)
}

/// Whether a pause left regions in place only because native code holds an array in them.
pub(crate) fn only_pinned(pause: &Pause<'_>) -> bool {
    let named = |text: &str| text.contains("Pinned") && !text.contains("Allocation");
    named(pause.span.name()) || pause.span.label(label::QUALIFIER).is_some_and(named)
}
