//! Heap dumps in HPROF, as HotSpot writes them: how large objects are, and who keeps what.
//!
//! ```text
//!   file ─▶ records ─▶ read (classes, layout, lookup) ─▶ Heap ─▶ dominators ─▶ Kept ─▶ report, compare
//! ```
//!
//! Values of texts and of arrays of primitive values are read where something is computed from them
//! (duplicates) and kept nowhere; the names of threads are names, and are shown.

mod addresses;
mod bits;
mod classes;
mod column;
mod compare;
mod cursor;
mod damage;
mod dominators;
mod edges;
mod error;
mod file;
mod heap;
mod kept;
mod kinds;
mod layout;
mod lookup;
mod numbers;
mod packed;
mod paths;
mod progress;
mod read;
mod records;
mod redact;
mod references;
pub mod report;
#[cfg(feature = "tables")]
mod tables;
mod text;
mod values;
mod walk;

pub use classes::{Class, Classes, Strength, is_of_the_jdk};
pub use column::{Storage, folder};
pub use compare::{ChainGrowth, ClassGrowth, Growth, Summary};
pub use damage::{Damage, DamagedPart, FirstDamage};
pub use edges::Edge;
pub use error::HeapError;
pub use file::is_dump;
pub use heap::{Heap, Root, Thread};
pub use kept::{Kept, Sum, Totals};
pub use layout::Layout;
pub use paths::{Paths, Step, Way};
pub use progress::Progress;
pub use read::{Referents, read, read_telling};
pub use records::{Header, RootKind};
pub use redact::{Redacted, redact};
#[cfg(feature = "tables")]
pub use tables::Table;
