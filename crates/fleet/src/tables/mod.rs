//! The tables of a fleet: one file each, and the list of them.
//!
//! They are thin: sums by minute, as a question to hundreds of machines is about sums. Who wants to
//! see one thing opens its recording.

mod calls;
mod findings;
mod frames;
mod ledger;
mod locks;
mod pauses;
mod recordings;
mod series;
mod unseen;

use std::collections::BTreeMap;

use fathom_diagnose::Diagnosis;
use fathom_recording::{ProcessId, Recording, Role, Span, ThreadId};

use crate::columns::{Cell, Rows};

pub(crate) use recordings::common;

/// Nanoseconds of a minute.
pub(crate) const MINUTE_NS: i64 = 60_000_000_000;

/// What tables are made of.
pub(crate) struct Input<'a> {
    pub recording: &'a Recording,
    pub diagnosis: &'a Diagnosis,
    /// First and last time that it covers.
    pub covers_ns: (i64, i64),
}

/// A table.
pub(crate) struct Table {
    pub rows: fn(&Input<'_>) -> Rows,
    /// The types of its columns, as a row of unknown values.
    pub types: &'static [Cell],
}

const TEXT: Cell = Cell::Text(None);
const INT: Cell = Cell::Int(None);
const REAL: Cell = Cell::Real(None);

/// All tables. `recordings` is the last to be written: where it is, the others are.
pub(crate) const TABLES: [Table; 9] = [
    Table { rows: frames::rows, types: &[INT, TEXT, TEXT, TEXT, TEXT, INT, INT, INT] },
    Table { rows: ledger::rows, types: &[INT, TEXT, TEXT, TEXT, REAL] },
    Table { rows: findings::rows, types: &[TEXT, TEXT, TEXT, TEXT, REAL, REAL, TEXT, TEXT, INT] },
    Table { rows: pauses::rows, types: &[INT, TEXT, TEXT, TEXT, TEXT, INT, INT, INT] },
    Table { rows: locks::rows, types: &[INT, TEXT, TEXT, TEXT, TEXT, INT, INT, INT] },
    Table { rows: calls::rows, types: &[INT, TEXT, TEXT, TEXT, INT, INT, INT] },
    Table { rows: series::rows, types: &[INT, TEXT, TEXT, TEXT, REAL, REAL, REAL, INT] },
    Table { rows: unseen::rows, types: &[TEXT, TEXT, TEXT, TEXT] },
    Table {
        rows: recordings::rows,
        types: &[INT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, INT, INT, INT, TEXT, TEXT, REAL, REAL, REAL],
    },
];

/// Their names.
pub(crate) const NAMES: [&str; 9] =
    ["recordings", "frames", "ledger", "findings", "pauses", "locks", "calls", "series", "unseen"];

/// The minute that a timestamp lies in.
fn minute(t_ns: i64) -> i64 {
    t_ns.div_euclid(MINUTE_NS).saturating_mul(MINUTE_NS)
}

/// A role's word.
fn role(recording: &Recording, thread: Option<ThreadId>) -> &'static str {
    match thread.and_then(|id| recording.threads.get(id.index())).map(|thread| thread.role) {
        Some(Role::App) => "app",
        Some(Role::Gc) => "gc",
        Some(Role::Jit) => "jit",
        Some(Role::Vm) => "vm",
        Some(Role::Other) | None => "other",
    }
}

/// What a process is called in tables: its main class or command, without its pid, so that replicas
/// have one name.
fn process(recording: &Recording, id: ProcessId) -> &str {
    recording.processes.get(id.index()).map_or("", |process| process.name.as_str())
}

/// How often, how long together, and the longest.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: i64,
    total_ns: i64,
    longest_ns: i64,
}

impl Sum {
    fn add(&mut self, count: i64, total_ns: i64, longest_ns: i64) {
        self.count = self.count.saturating_add(count);
        self.total_ns = self.total_ns.saturating_add(total_ns);
        self.longest_ns = self.longest_ns.max(longest_ns);
    }
}

/// Sums of spans by what `key` says of each, in the minute in which they end.
fn sums<'a, K: Ord>(
    recording: &'a Recording,
    kinds: &[&str],
    key: impl Fn(&Span<'a>) -> K,
) -> BTreeMap<(K, i64), Sum> {
    let mut sums: BTreeMap<(K, i64), Sum> = BTreeMap::new();
    for span in kinds.iter().flat_map(|kind| recording.spans_of(kind)) {
        let sum = sums.entry((key(&span), minute(span.t1_ns()))).or_default();
        sum.add(1, span.duration_ns(), span.duration_ns());
    }
    sums
}
