//! Something kept per name of many spans: a long log has few names and many spans, so that a name
//! is compared as text once and not once a span.

use std::collections::HashMap;

use fathom_recording::{Recording, StrId};

/// What is kept, name by name.
pub(super) struct ByName<'a, T> {
    recording: &'a Recording,
    rows: Vec<(&'a str, T)>,
    of: HashMap<StrId, usize>,
    last: Option<(StrId, usize)>,
}

impl<'a, T: Default> ByName<'a, T> {
    pub(super) fn new(recording: &'a Recording) -> Self {
        Self { recording, rows: Vec::new(), of: HashMap::new(), last: None }
    }

    /// What is kept of a name.
    pub(super) fn of(&mut self, name: StrId) -> &mut T {
        let row = match self.last {
            Some((last, row)) if last == name => row,
            _ => *self.of.entry(name).or_insert_with(|| {
                self.rows.push((self.recording.strings.get(name), T::default()));
                self.rows.len() - 1
            }),
        };
        self.last = Some((name, row));
        &mut self.rows[row].1
    }

    /// All of it, in order of the names.
    pub(super) fn into_rows(mut self) -> Vec<(&'a str, T)> {
        self.rows.sort_by_key(|(name, _)| *name);
        self.rows
    }
}
