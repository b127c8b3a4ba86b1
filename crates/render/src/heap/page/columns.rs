//! What of a dump's page is big, as columns: the tree, the steps of the ways, the tables of
//! classes.

use fathom_heap::report::{Group, Picture, WayStep};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::super::way;
use crate::flame::names::shown;
use crate::payload::{ColumnId, Columns};

/// Texts, each once.
#[derive(Default)]
pub(super) struct Dictionary {
    pub(super) texts: Vec<String>,
    known: FxHashMap<String, u64>,
}

impl Dictionary {
    fn id(&mut self, text: &str) -> u64 {
        let texts = &mut self.texts;
        *self.known.entry(shown(text)).or_insert_with_key(|text| {
            texts.push(text.clone());
            texts.len() as u64 - 1
        })
    }
}

/// The dominator tree. What a node retains is the sum of what is in it, and is not written.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Tree {
    /// The node above; −1 at the top.
    parent: ColumnId,
    name: ColumnId,
    sort: ColumnId,
    objects: ColumnId,
    chained: ColumnId,
    own: ColumnId,
    folded_objects: ColumnId,
    folded_classes: ColumnId,
    folded_bytes: ColumnId,
    address: Address,
    /// The last step of its way and one more; 0: it has none of its own.
    way: ColumnId,
}

/// An address in two halves, because a page counts exactly to 2⁵³ only.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Address {
    low: ColumnId,
    high: ColumnId,
}

impl Address {
    fn of(addresses: impl Iterator<Item = u64> + Clone, columns: &mut Columns) -> Self {
        let low: Vec<u32> = addresses.clone().map(|address| address as u32).collect();
        let high: Vec<u32> = addresses.map(|address| (address >> 32) as u32).collect();
        Self { low: columns.planes(&low), high: columns.planes(&high) }
    }
}

impl Tree {
    pub(super) fn of(picture: &Picture, names: &mut Dictionary, columns: &mut Columns) -> Self {
        let nodes = &picture.nodes;
        let ids: Vec<u64> = nodes.iter().map(|node| names.id(&node.name)).collect();
        let parents =
            nodes.iter().enumerate().map(|(at, node)| if at == 0 { -1 } else { i64::from(node.parent) });
        Self {
            parent: columns.delta(parents),
            name: columns.small(ids.into_iter()),
            sort: columns.small(nodes.iter().map(|node| node.sort as u64)),
            objects: columns.small(nodes.iter().map(|node| node.objects)),
            chained: columns.small(nodes.iter().map(|node| node.chained)),
            own: columns.small(nodes.iter().map(|node| node.own_bytes)),
            folded_objects: columns.small(nodes.iter().map(|node| node.folded.objects)),
            folded_classes: columns.small(nodes.iter().map(|node| node.folded.classes)),
            folded_bytes: columns.small(nodes.iter().map(|node| node.folded.bytes)),
            address: Address::of(nodes.iter().map(|node| node.address), columns),
            way: columns.small(picture.way_of_node.iter().map(|way| way.map_or(0, |way| u64::from(way) + 1))),
        }
    }
}

/// The steps of all ways, each behind the one before it.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Steps {
    /// The step before; −1: the first.
    before: ColumnId,
    left_out: ColumnId,
    name: ColumnId,
    /// How it is referred to, among the texts, and one more; 0: not known.
    edge: ColumnId,
    weak: ColumnId,
    address: Address,
    /// Why it is held, among the texts, and one more; 0: by the step before.
    root: ColumnId,
}

impl Steps {
    pub(super) fn of(
        steps: &[WayStep],
        names: &mut Dictionary,
        texts: &mut Dictionary,
        columns: &mut Columns,
    ) -> Self {
        let ids: Vec<u64> = steps.iter().map(|step| names.id(&step.class)).collect();
        let edges: Vec<u64> = steps
            .iter()
            .map(|step| step.edge.as_ref().map_or(0, |edge| texts.id(&way::edge(edge)) + 1))
            .collect();
        let roots: Vec<u64> = steps
            .iter()
            .map(|step| if step.before.is_none() { texts.id(&root(step)) + 1 } else { 0 })
            .collect();
        Self {
            before: columns.delta(steps.iter().map(|step| step.before.map_or(-1, i64::from))),
            left_out: columns.small(steps.iter().map(|step| step.left_out)),
            name: columns.small(ids.into_iter()),
            edge: columns.small(edges.into_iter()),
            weak: columns.small(steps.iter().map(|step| u64::from(step.weak))),
            address: Address::of(steps.iter().map(|step| step.address), columns),
            root: columns.small(roots.into_iter()),
        }
    }
}

/// Why a first step is held, in words.
fn root(step: &WayStep) -> String {
    let kinds: Vec<&str> = step.roots.iter().map(|kind| way::root(*kind)).collect();
    match &step.thread {
        Some(name) => format!("{} \"{name}\"", kinds.join(", ")),
        None if kinds.is_empty() => "held by the JVM itself".to_owned(),
        None => kinds.join(", "),
    }
}

/// Groups of objects by name.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Rows {
    name: ColumnId,
    objects: ColumnId,
    shallow: ColumnId,
    retained: ColumnId,
    /// Groups that keep less than these, with their objects and bytes of their own.
    left_out: usize,
    left_out_objects: u64,
    left_out_shallow: u64,
}

impl Rows {
    /// Of groups, the largest first.
    pub(super) fn of(groups: &[Group], most: usize, names: &mut Dictionary, columns: &mut Columns) -> Self {
        let (rows, rest) = groups.split_at(most.min(groups.len()));
        let ids: Vec<u64> = rows.iter().map(|row| names.id(&row.name)).collect();
        Self {
            name: columns.small(ids.into_iter()),
            objects: columns.small(rows.iter().map(|row| row.sum.objects)),
            shallow: columns.small(rows.iter().map(|row| row.sum.shallow_bytes)),
            retained: columns.small(rows.iter().map(|row| row.sum.retained_bytes)),
            left_out: rest.len(),
            left_out_objects: rest.iter().map(|row| row.sum.objects).sum(),
            left_out_shallow: rest.iter().map(|row| row.sum.shallow_bytes).sum(),
        }
    }
}
