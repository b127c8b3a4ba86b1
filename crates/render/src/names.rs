//! Names as the page has them.

use fathom_recording::{ProcessId, Recording};

/// Characters of a name; method names with signatures pass 200, and an input may hold a megabyte.
const MAX_NAME: usize = 300;

/// A text of an input, cut to a length that a page can hold many of.
pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_NAME) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The name of a process, or what stands for it.
pub(crate) fn name_of(recording: &Recording, id: ProcessId) -> String {
    let process = &recording.processes[id.index()];
    match (process.name.is_empty(), process.pid) {
        (false, _) => short(recording.process_name(id)),
        (true, Some(pid)) => format!("process {pid}"),
        (true, None) => format!("process {}", id.index() + 1),
    }
}
