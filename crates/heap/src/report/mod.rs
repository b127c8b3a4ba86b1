//! The first screen of a dump.

mod bounds;
mod buffers;
mod collections;
mod grouped;
mod held_by;
mod holders;
mod loaders;
pub(crate) mod object;
mod picture;
mod references;
mod screen;
mod steps;
mod threads;
mod waste;

pub use bounds::Bound;
pub use buffers::{Buffers, buffers};
pub(crate) use collections::is_inner;
pub use grouped::{Folded, Grouped, Limits, Node, Sort};
pub use held_by::HeldBy;
pub use holders::{Entries, Holder, Holders, SUSPECT_ENTRIES, SUSPECT_SHARE, Suspicion};
pub use loaders::{Loaders, SUSPECT_LOADERS};
pub use object::{Brief, ClassReport, Member, ObjectReport, WaysReport};
pub use picture::Picture;
pub use references::References;
pub use screen::{About, Group, RootsOfKind, Screen, Size};
pub use steps::WayStep;
pub use threads::ThreadKeeps;
pub use waste::Waste;
