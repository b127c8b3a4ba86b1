//! Main threads that only keep their JVM alive: after the start they wait for the end of the
//! service, in `Server.join` or on a latch.

use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{Recording, ThreadId};
use rustc_hash::FxHashMap;

/// What the JVM calls the thread that runs the main method (`Threads::create_vm`,
/// `create_initial_thread`).
const MAIN: &str = "main";

/// Main threads that never ran in the recording and were still waiting at its end. One that waited
/// for work would have had some.
pub(super) fn that_keep_alive(recording: &Recording) -> Vec<ThreadId> {
    // Whether a thread's first wait lasted until the end; none that has a second one.
    let mut only: FxHashMap<ThreadId, bool> = FxHashMap::default();
    for span in recording.spans_of(kind::SCHED_OFF) {
        let Some(id) = span.thread() else { continue };
        if recording.threads.get(id.index()).is_some_and(|thread| recording.strings.get(thread.name) == MAIN)
        {
            let lasts = span.label(label::CUT).is_some();
            only.entry(id).and_modify(|only| *only = false).or_insert(lasts);
        }
    }
    only.into_iter().filter_map(|(id, only)| only.then_some(id)).collect()
}
