//! All that the first screen shows, as one value: `fathom heap --json` prints it as it is (schema
//! fathom.heap/1).

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::buffers::{Buffers, buffers};
use super::holders::Holders;
use super::references::{References, references};
use super::threads::{ThreadKeeps, threads};
use super::waste::{Waste, waste};
use crate::column::Storage;
use crate::damage::Damage;
use crate::dominators::joined;
use crate::heap::Heap;
use crate::kept::{Kept, Sum, Totals};
use crate::layout::Layout;
use crate::numbers::NONE;
use crate::paths::Paths;
use crate::progress::Phase;
use crate::records::RootKind;

/// What a dump is.
#[derive(Clone, Debug, Serialize)]
pub struct About {
    /// The file.
    pub file: String,
    /// Bytes of it on disk.
    pub file_bytes: u64,
    /// Whether it is packed.
    pub packed: bool,
    /// "1.0.2".
    pub format: String,
    /// Where the index of it was: in memory, or on disk where memory did not suffice.
    pub index: Storage,
    /// Bytes of an identifier.
    pub id_bytes: usize,
    /// When it was begun, milliseconds since 1970.
    pub written_ms: u64,
    /// How objects are laid out.
    pub layout: Layout,
    /// What could not be read.
    pub damage: Damage,
    /// Whether it is a copy in which values are zero ([`redact`](crate::redact)).
    pub redacted: bool,
    /// Whether referents of soft, weak, phantom and final references count as held (as Eclipse MAT
    /// has it).
    pub weak_counts: bool,
}

/// Totals of a heap.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Size {
    /// Objects that can be reached.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects that nothing reaches.
    pub unreachable_objects: u64,
    /// Their bytes.
    pub unreachable_bytes: u64,
}

/// A named group of objects.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// A class, a package, a loader.
    pub name: String,
    /// Its objects.
    #[serde(flatten)]
    pub sum: Sum,
}

/// Roots of a kind.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RootsOfKind {
    /// The kind.
    pub kind: RootKind,
    /// How many.
    pub roots: u64,
}

/// The first screen.
#[derive(Clone, Debug, Serialize)]
pub struct Screen {
    /// The form of this: "fathom.heap/1".
    pub schema: &'static str,
    /// The dump.
    pub about: About,
    /// How much there is.
    pub size: Size,
    /// Who holds most.
    pub holders: Holders,
    /// Classes, largest retained first.
    pub classes: Vec<Group>,
    /// Packages.
    pub packages: Vec<Group>,
    /// Class loaders, which keep what they defined.
    pub loaders: Vec<Group>,
    /// Threads, the one that keeps most first.
    pub threads: Vec<ThreadKeeps>,
    /// What could be saved.
    pub waste: Waste,
    /// Reference objects and finalizers.
    pub references: References,
    /// Direct buffers.
    pub buffers: Buffers,
    /// Roots by kind.
    pub roots: Vec<RootsOfKind>,
}

impl About {
    /// Of a heap that was read from a file.
    pub fn of(heap: &Heap, path: &Path, weak_counts: bool) -> Self {
        Self {
            file: path.display().to_string(),
            file_bytes: heap.file.file_bytes,
            packed: heap.file.packed,
            format: heap.header.version.clone(),
            index: heap.storage,
            id_bytes: heap.header.id_size,
            written_ms: heap.header.written_ms,
            layout: heap.layout,
            damage: heap.damage.clone(),
            redacted: heap.is_redacted(),
            weak_counts,
        }
    }
}

impl Size {
    /// Of a heap.
    pub fn of(heap: &Heap, kept: &Kept) -> Self {
        let all = heap.kinds.all_bytes();
        let objects = u64::from(kept.objects());
        let (bytes, total) = (kept.reachable_bytes(), u64::from(heap.len()));
        Self { objects, bytes, unreachable_objects: total - objects, unreachable_bytes: all - bytes }
    }
}

impl Screen {
    /// Of a heap of which nothing is known yet; `top` rows of each table.
    pub fn of_heap(heap: &Heap, about: About, top: usize) -> Self {
        let (kept, waste) = Self::kept(heap);
        let paths = Paths::of(heap, &kept);
        Self::put_together(heap, &kept, &paths, Some(waste), about, top)
    }

    /// The dominator tree and, along with the sizes in it, what does not need them.
    pub(super) fn kept(heap: &Heap) -> (Kept, Waste) {
        Kept::along_with(heap, |reached| waste(heap, |node| reached.has(node)))
    }

    /// Of a heap; `top` rows of each table.
    pub fn of(heap: &Heap, kept: &Kept, about: About, top: usize) -> Self {
        Self::put_together(heap, kept, &Paths::of(heap, kept), None, about, top)
    }

    pub(super) fn put_together(
        heap: &Heap,
        kept: &Kept,
        paths: &Paths<'_>,
        known: Option<Waste>,
        about: About,
        top: usize,
    ) -> Self {
        // What goes over all objects, side by side.
        let (totals, waste, (holders, references, buffers)) = std::thread::scope(|scope| {
            let totals = scope.spawn(|| Totals::of(heap, kept));
            let look = || waste(heap, |node| kept.number(node).is_some());
            let waste = scope.spawn(move || known.unwrap_or_else(look));
            let holders = Holders::of(heap, kept, paths);
            heap.progress.at(Phase::Screen, 0.8);
            let (references, buffers) = (references(heap, kept, top), buffers(heap, kept, paths, top));
            (joined(totals), joined(waste), (holders, references, buffers))
        });
        let named = |groups: Vec<(String, Sum)>| {
            let groups = groups.into_iter().filter(|(_, sum)| sum.objects > 0).take(top);
            groups.map(|(name, sum)| Group { name, sum }).collect()
        };
        let loaders =
            totals.loaders.into_iter().map(|(loader, sum)| (loader_name(heap, loader), sum)).collect();
        Self {
            schema: "fathom.heap/1",
            about,
            size: Size::of(heap, kept),
            holders,
            classes: named(totals.classes),
            packages: named(totals.packages),
            loaders: named(loaders),
            threads: threads(heap, kept).into_iter().take(top).collect(),
            waste,
            references,
            buffers,
            roots: roots(heap),
        }
    }
}

/// The name of a loader: its class and its address; the boot loader has no address.
pub(crate) fn loader_name(heap: &Heap, loader: u32) -> String {
    if loader == NONE {
        return "boot loader".to_owned();
    }
    format!("{} at {:#x}", heap.class(loader).name, heap.address(loader))
}

fn roots(heap: &Heap) -> Vec<RootsOfKind> {
    let mut kinds: BTreeMap<RootKind, u64> = BTreeMap::new();
    for root in &heap.roots {
        *kinds.entry(root.kind).or_default() += 1;
    }
    kinds.into_iter().map(|(kind, roots)| RootsOfKind { kind, roots }).collect()
}
