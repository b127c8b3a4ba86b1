//! The index by which rows are found by their kind, in order of their start.

use rustc_hash::FxHashMap;

use crate::{StrId, Strings};

/// Rows by kind, each list sorted by start.
#[derive(Clone, Debug, Default)]
pub(super) struct ByKind(FxHashMap<StrId, Vec<u32>>);

impl ByKind {
    /// Of rows with these kinds and starts.
    pub(super) fn of(kinds: &[StrId], t0_ns: &[i64]) -> Self {
        let mut by_kind: FxHashMap<StrId, Vec<u32>> = FxHashMap::default();
        for (row, kind) in kinds.iter().enumerate() {
            by_kind.entry(*kind).or_default().push(row as u32);
        }
        for rows in by_kind.values_mut() {
            let start = |row: &u32| t0_ns[*row as usize];
            if !rows.is_sorted_by_key(start) {
                // The stable sort uses the order that rows already have, because each thread writes
                // its own in order.
                let mut by_start: Vec<(i64, u32)> = rows.iter().map(|row| (start(row), *row)).collect();
                by_start.sort_by_key(|(t0_ns, _)| *t0_ns);
                rows.iter_mut().zip(by_start).for_each(|(row, (_, sorted))| *row = sorted);
            }
        }
        Self(by_kind)
    }

    /// Rows of a kind.
    pub(super) fn rows(&self, kind: Option<StrId>) -> &[u32] {
        kind.and_then(|kind| self.0.get(&kind)).map_or(&[], Vec::as_slice)
    }

    /// The kinds that occur, with the number of their rows, sorted by name.
    pub(super) fn kinds<'s>(&self, strings: &'s Strings) -> Vec<(&'s str, usize)> {
        let mut kinds: Vec<_> = self.0.iter().map(|(kind, rows)| (strings.get(*kind), rows.len())).collect();
        kinds.sort_unstable();
        kinds
    }
}
