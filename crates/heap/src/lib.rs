//! Heap dumps in HPROF, as HotSpot writes them: how large objects are, and who keeps what.
//!
//! ```text
//!   file ─▶ records ─▶ read (classes, layout, lookup) ─▶ Heap ─▶ dominators ─▶ Kept ─▶ report, compare
//! ```
//!
//! Values of texts and of arrays of primitive values are read where something is computed from them (duplicates) and kept nowhere; the
//! names of threads are names, and are shown.

mod classes;
mod cursor;
mod dominators;
mod error;
mod file;
mod heap;
mod layout;
mod lookup;
mod offsets;
mod read;
mod records;
mod text;

pub use classes::{Class, Classes, Strength};
pub use error::HeapError;
pub use heap::{Heap, Root, Thread};
pub use layout::Layout;
pub use read::{Referents, read};
pub use records::{Damage, Header, RootKind};
