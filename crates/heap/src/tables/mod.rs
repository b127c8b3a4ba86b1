//! A dump as tables, which engines of SQL answer questions about: Parquet files, one a table.
//!
//! An object is known by its address, as in all else that is shown. Rows are written as they are
//! come to, in the order of the dump, so that no more than a group of them is in memory. Values
//! are only in the tables that exist for them ([`Table::has_values`]).

mod classes;
mod columns;
mod objects;
mod refs;
mod roots;
mod shapes;
mod values;

use std::fs::File;
use std::io;

use crate::heap::Heap;
use crate::kept::Kept;
use columns::{Kind, Rows};

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// A row an object.
    Objects,
    /// A row a class, with sums.
    Classes,
    /// A row a reference.
    Refs,
    /// A row a root as the dump lists it.
    Roots,
    /// A row a thread.
    Threads,
    /// A row a text, with its value.
    Strings,
    /// A row a primitive value of an instance or a static field.
    Fields,
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Objects, Self::Classes, Self::Refs, Self::Roots, Self::Threads, Self::Strings, Self::Fields];

    /// Its name in a query, and that of its file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Objects => "objects",
            Self::Classes => "classes",
            Self::Refs => "refs",
            Self::Roots => "roots",
            Self::Threads => "threads",
            Self::Strings => "strings",
            Self::Fields => "fields",
        }
    }

    /// Whether values are in it, which may be personal data.
    pub fn has_values(self) -> bool {
        matches!(self, Self::Strings | Self::Fields)
    }

    fn columns(self) -> &'static [(&'static str, Kind)] {
        match self {
            Self::Objects => objects::COLUMNS,
            Self::Classes => classes::COLUMNS,
            Self::Refs => refs::COLUMNS,
            Self::Roots => roots::ROOTS,
            Self::Threads => roots::THREADS,
            Self::Strings => values::STRINGS,
            Self::Fields => values::FIELDS,
        }
    }

    /// Writes it; how many rows it has.
    pub fn write(self, heap: &Heap, kept: &Kept, file: File) -> io::Result<u64> {
        let mut rows = Rows::new(self.columns(), file)?;
        match self {
            Self::Objects => objects::write(heap, kept, &mut rows)?,
            Self::Classes => classes::write(heap, kept, &mut rows)?,
            Self::Refs => refs::write(heap, &mut rows)?,
            Self::Roots => roots::roots(heap, &mut rows)?,
            Self::Threads => roots::threads(heap, &mut rows)?,
            Self::Strings => values::strings(heap, &mut rows)?,
            Self::Fields => values::fields(heap, &mut rows)?,
        }
        rows.finish()
    }
}

/// An address as a column has it.
fn address(heap: &Heap, node: u32) -> i64 {
    heap.address(node).cast_signed()
}
