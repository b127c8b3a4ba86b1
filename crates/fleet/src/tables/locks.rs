//! `locks`: waits for locks, by minute, class of the lock and place.

use fathom_recording::vocabulary::kind;
use fathom_recording::{Recording, StackId};

use super::{Input, process, sums};
use crate::columns::{Cell, Rows};

const COLUMNS: &[&str] =
    &["minute_ns", "kind", "process", "lock", "place", "count", "total_ns", "longest_ns"];
/// Packages of the class library: who waits there was called by somebody.
const JDK: [&str; 4] = ["java.", "javax.", "jdk.", "sun."];
/// Frames that are looked at.
const DEEPEST: usize = 256;

pub(super) fn rows(input: &Input<'_>) -> Rows {
    let recording = input.recording;
    let mut rows = Rows::new("locks", COLUMNS);
    let kinds = [(kind::LOCK_MONITOR, "monitor"), (kind::LOCK_PARK, "park"), (kind::LOCK_NATIVE, "native")];
    for (of, word) in kinds {
        let all = sums(recording, &[of], |span| {
            (process(recording, span.process()), span.name(), place(recording, span.stack()))
        });
        for (((process, lock, place), minute), sum) in all {
            rows.push([
                minute.into(),
                word.into(),
                process.into(),
                lock.into(),
                Cell::Text(place.map(str::to_owned)),
                sum.count.into(),
                sum.total_ns.into(),
                sum.longest_ns.into(),
            ]);
        }
    }
    rows
}

/// The innermost Java method of a stack that is not the class library's.
fn place(recording: &Recording, stack: Option<StackId>) -> Option<&str> {
    let mut java = recording.frames_of(stack).take(DEEPEST).filter(|frame| frame.is_java());
    let of_jdk = |name: &str| JDK.iter().any(|package| name.starts_with(package));
    Some(java.find(|frame| !of_jdk(frame.name()))?.name())
}
