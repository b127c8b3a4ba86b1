//! The column `figures` of spans and counts.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::Field;

use crate::disk::columns::{self, Columns, Damage, double, map};
use crate::figures::Figures;
use crate::{StrId, Strings};

/// The column.
pub(super) fn field() -> Field {
    map("figures", double("value"))
}

/// The figures of some rows.
pub(super) fn encode(figures: &Figures, strings: &Strings, rows: Range<usize>) -> ArrayRef {
    let list = || rows.clone().flat_map(|i| figures.of(i));
    let ends = rows.clone().scan(0, |end, i| {
        *end += figures.of(i).count() as u32;
        Some(*end)
    });
    columns::maps(
        ends,
        columns::texts(strings, list().map(|(key, _)| key)),
        columns::doubles(list().map(|(_, value)| value)),
        field(),
    )
}

/// The figures of all rows of a batch, checked.
pub(super) struct Read<'a> {
    ends: Vec<usize>,
    keys: Vec<StrId>,
    values: &'a [f64],
}

impl<'a> Read<'a> {
    pub(super) fn of(columns: &Columns<'a>, strings: &mut Strings) -> Result<Self, Damage> {
        let (ends, keys, values) = columns.maps("figures", strings)?;
        Ok(Self { ends, keys, values: columns::doubles_of(values, "figures")? })
    }

    /// Adds them.
    pub(super) fn push_to(&self, figures: &mut Figures) {
        let mut from = 0;
        for to in &self.ends {
            let keys = self.keys.get(from..*to).unwrap_or_default().iter().copied();
            let values = self.values.get(from..*to).unwrap_or_default().iter().copied();
            figures.push(keys.zip(values));
            from = *to;
        }
    }
}
