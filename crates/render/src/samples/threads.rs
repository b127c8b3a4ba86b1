//! The threads that samples and spans of a page refer to.

use fathom_recording::{Recording, Role, ThreadId};
use serde::Serialize;

use crate::names::{name_of, short};

/// A thread in the header.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct ThreadHeader {
    name: String,
    tid: Option<i64>,
    process: String,
    role: Role,
}

/// Numbers for threads, as they are asked for.
pub(crate) struct Threads<'a> {
    recording: &'a Recording,
    /// Number of each thread of the recording, 0 is none yet.
    numbers: Vec<u32>,
    used: Vec<ThreadId>,
}

impl<'a> Threads<'a> {
    pub(crate) fn new(recording: &'a Recording) -> Self {
        Self { recording, numbers: vec![0; recording.threads.len()], used: Vec::new() }
    }

    /// All threads of the recording, numbered in their order: the same numbers whatever is asked
    /// for.
    pub(crate) fn all(recording: &'a Recording) -> Self {
        let n = recording.threads.len() as u32;
        Self { recording, numbers: (1..=n).collect(), used: (0..n).map(ThreadId).collect() }
    }

    /// The number of a thread, from 1; 0 for none.
    pub(crate) fn number(&mut self, thread: Option<ThreadId>) -> u32 {
        let Some(thread) = thread.filter(|t| t.index() < self.numbers.len()) else { return 0 };
        let number = &mut self.numbers[thread.index()];
        if *number == 0 {
            self.used.push(thread);
            *number = self.used.len() as u32;
        }
        *number
    }

    pub(crate) fn write(&self) -> Vec<ThreadHeader> {
        let header = |id: &ThreadId| {
            let thread = &self.recording.threads[id.index()];
            ThreadHeader {
                name: short(&thread_name(self.recording, *id)),
                tid: thread.tid,
                process: name_of(self.recording, thread.process),
                role: thread.role,
            }
        };
        self.used.iter().map(header).collect()
    }
}

/// The name of a thread, or what stands for it.
pub(crate) fn thread_name(recording: &Recording, id: ThreadId) -> String {
    let thread = &recording.threads[id.index()];
    let name = recording.strings.get(thread.name);
    match (name.is_empty(), thread.tid) {
        (false, _) => short(name),
        (true, Some(tid)) => format!("thread {tid}"),
        (true, None) => "a thread".into(),
    }
}
