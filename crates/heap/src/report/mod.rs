//! What a dump tells on its first screen.

mod bounds;
mod collections;
mod holders;
mod screen;

pub use bounds::Bound;
pub use holders::{Entries, Holder, Holders, SUSPECT_ENTRIES, SUSPECT_LOADERS, SUSPECT_SHARE, Suspicion};
pub use screen::{About, Group, RootsOfKind, Screen, Size};
