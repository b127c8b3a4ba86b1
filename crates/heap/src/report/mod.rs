//! What a dump tells on its first screen.

mod bounds;
mod buffers;
mod collections;
mod holders;
mod object;
mod references;
mod screen;
mod threads;
mod waste;

pub use bounds::Bound;
pub use buffers::{Buffers, buffers};
pub(crate) use collections::is_inner;
pub use holders::{Entries, Holder, Holders, SUSPECT_ENTRIES, SUSPECT_LOADERS, SUSPECT_SHARE, Suspicion};
pub use object::{Brief, ClassReport, Member, ObjectReport, WaysReport};
pub use references::References;
pub use screen::{About, Group, RootsOfKind, Screen, Size};
pub use threads::ThreadKeeps;
pub use waste::Waste;
