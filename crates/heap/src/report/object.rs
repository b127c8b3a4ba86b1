//! One object, and one class: what a question after the first screen is about.

use serde::Serialize;

use crate::classes::Strength;
use crate::cursor::ids;
use crate::edges::Edge;
use crate::heap::{Heap, number};
use crate::kept::{Kept, Sum};
use crate::numbers::NONE;
use crate::paths::{Paths, Way};
use crate::records::{tag, width};

/// Elements or characters of a value that are shown, where values are shown at all.
const SHOWN: usize = 200;
/// Most fields, or elements of an array of references, that are listed.
const FIELDS: usize = 200;

/// An object that another one is about.
#[derive(Clone, Debug, Serialize)]
pub struct Brief {
    /// Its address.
    pub address: u64,
    /// Its class, or its own name where it is a class.
    pub class: String,
    /// Bytes that it takes.
    pub shallow_bytes: u64,
    /// Bytes that it keeps; none where nothing reaches it.
    pub retained_bytes: Option<u64>,
}

/// A field or an element.
#[derive(Clone, Debug, Serialize)]
pub struct Member {
    /// Its name, or its index.
    pub name: String,
    /// The type of its value: "int", "reference".
    pub kind: &'static str,
    /// What it refers to.
    pub object: Option<Brief>,
    /// Its value, where values are shown.
    pub value: Option<String>,
}

/// All about an object.
#[derive(Clone, Debug, Serialize)]
pub struct ObjectReport {
    /// The form of this: "fathom.heap-object/1".
    pub schema: &'static str,
    /// The object.
    pub object: Brief,
    /// Elements of an array.
    pub length: Option<u64>,
    /// How strongly it holds its referent, where it is a `Reference`.
    pub strength: Option<Strength>,
    /// Its fields, or the first elements of its array.
    pub members: Vec<Member>,
    /// Its value, of a text or an array of primitive values, where values are shown.
    pub value: Option<String>,
    /// What keeps it, nearest first, up to a root.
    pub dominators: Vec<Brief>,
    /// What it keeps directly, largest first.
    pub keeps: Vec<Brief>,
    /// How many objects it keeps directly.
    pub keeps_objects: u64,
}

/// The ways that lead to an object: one through each that refers to it.
#[derive(Clone, Debug, Serialize)]
pub struct WaysReport {
    /// The form of this: "fathom.heap-paths/1".
    pub schema: &'static str,
    /// The object.
    pub object: Brief,
    /// The ways, shortest first; the first is the shortest of all.
    pub ways: Vec<Way>,
    /// How many objects refer to it.
    pub referrers: u64,
}

/// All about the classes of a name.
#[derive(Clone, Debug, Serialize)]
pub struct ClassReport {
    /// The form of this: "fathom.heap-class/1".
    pub schema: &'static str,
    /// Its name.
    pub class: String,
    /// Superclasses, upward.
    pub superclasses: Vec<String>,
    /// Loaders that define a class of this name.
    pub loaders: Vec<String>,
    /// Its instances together.
    pub sum: Sum,
    /// The instances that keep most.
    pub largest: Vec<Brief>,
    /// What keeps instances directly, by class: how many, bytes that these instances keep.
    pub kept_by: Vec<(String, u64, u64)>,
}

impl Brief {
    /// Of an object.
    pub fn of(heap: &Heap, kept: &Kept, node: u32) -> Self {
        let class = match heap.as_class(node) {
            Some(class) => format!("class {}", class.name),
            None => heap.class(node).name.clone(),
        };
        let retained_bytes = kept.number(node).map(|number| kept.retained(number));
        Self { address: heap.address(node), class, shallow_bytes: heap.size(node), retained_bytes }
    }
}

impl ObjectReport {
    /// Of an object; `values` shows its values too.
    pub fn of(heap: &Heap, kept: &Kept, node: u32, top: usize, values: bool) -> Self {
        let number = kept.number(node);
        let mut keeps: Vec<u32> = number.map_or_else(Vec::new, |number| kept.children(number).collect());
        let keeps_objects = keeps.len() as u64;
        keeps.sort_unstable_by_key(|child| (std::cmp::Reverse(kept.retained(*child)), *child));
        keeps.truncate(top);
        let mut dominators = Vec::new();
        let mut at = number.map_or(0, |number| kept.dominator(number));
        while at != 0 && dominators.len() < 100 {
            dominators.push(Brief::of(heap, kept, kept.node(at)));
            at = kept.dominator(at);
        }
        let is_array = matches!(heap.tag(node), tag::OBJECT_ARRAY | tag::PRIMITIVE_ARRAY);
        Self {
            schema: "fathom.heap-object/1",
            object: Brief::of(heap, kept, node),
            length: is_array.then(|| heap.length(node)),
            strength: heap.class(node).strength,
            members: members(heap, kept, node, values),
            value: if values { value(heap, node) } else { None },
            dominators,
            keeps: keeps.into_iter().map(|child| Brief::of(heap, kept, kept.node(child))).collect(),
            keeps_objects,
        }
    }
}

fn members(heap: &Heap, kept: &Kept, node: u32, values: bool) -> Vec<Member> {
    let id_size = heap.header.id_size;
    let member = |name: String, kind: u8, bytes: &[u8]| {
        let object = if kind == 2 { ids(bytes, id_size).next().and_then(|id| heap.find(id)) } else { None };
        let value = if values && kind != 2 { primitive(kind, bytes) } else { None };
        Member { name, kind: kind_name(kind), object: object.map(|node| Brief::of(heap, kept, node)), value }
    };
    match heap.tag(node) {
        tag::INSTANCE => {
            let payload = heap.payload(node);
            let fields = heap.classes.fields(heap.class_number(node), id_size).take(FIELDS);
            let named = fields.filter_map(|(at, field, _)| {
                let bytes = payload.get(at..at + width(field.kind, id_size)?)?;
                Some(member(heap.text(field.name), field.kind, bytes))
            });
            named.collect()
        }
        tag::CLASS => {
            let statics = heap.statics(node);
            statics
                .iter()
                .take(FIELDS)
                .map(|(name, kind, bytes)| member(heap.text(*name), *kind, bytes))
                .collect()
        }
        tag::OBJECT_ARRAY => {
            let elements = heap.payload(node).chunks_exact(id_size).enumerate();
            let filled = elements.filter(|(_, id)| id.iter().any(|byte| *byte != 0)).take(FIELDS.min(20));
            filled.map(|(index, id)| member(format!("[{index}]"), 2, id)).collect()
        }
        _ => Vec::new(),
    }
}

pub(crate) fn kind_name(kind: u8) -> &'static str {
    match kind {
        2 => "reference",
        4 => "boolean",
        5 => "char",
        6 => "float",
        7 => "double",
        8 => "byte",
        9 => "short",
        10 => "int",
        _ => "long",
    }
}

fn primitive(kind: u8, bytes: &[u8]) -> Option<String> {
    match kind {
        4 => number(kind, bytes).map(|value| (value != 0).to_string()),
        5 => Some(u16::from_be_bytes(bytes.try_into().ok()?).to_string()),
        6 => Some(f32::from_be_bytes(bytes.try_into().ok()?).to_string()),
        7 => Some(f64::from_be_bytes(bytes.try_into().ok()?).to_string()),
        _ => number(kind, bytes).map(|value| value.to_string()),
    }
}

fn value(heap: &Heap, node: u32) -> Option<String> {
    if heap.class(node).name == "java.lang.String" {
        return heap.string(node, SHOWN);
    }
    if heap.tag(node) != tag::PRIMITIVE_ARRAY {
        return None;
    }
    let kind = heap.class_number(node) as u8;
    let elements = heap.payload(node).chunks_exact(width(kind, 8)?).take(SHOWN);
    let shown: Vec<String> = elements.filter_map(|element| primitive(kind, element)).collect();
    Some(shown.join(" "))
}

impl WaysReport {
    /// To an object, at most `top`.
    pub fn of(heap: &Heap, kept: &Kept, paths: &Paths<'_>, node: u32, top: usize) -> Self {
        let mut report = Self {
            schema: "fathom.heap-paths/1",
            object: Brief::of(heap, kept, node),
            ways: Vec::new(),
            referrers: 0,
        };
        let Some(number) = kept.number(node) else { return report };
        report.ways.push(paths.way(number));
        let first = paths.to(number);
        let before = first.len().checked_sub(2).map_or(NONE, |at| first[at]);
        let mut others = Vec::new();
        for from in kept.numbers() {
            let source = kept.node(from);
            if heap.referred(source).any(|to| to == node) {
                report.referrers += 1;
                // A way that goes through the object itself says nothing new.
                if from != before && others.len() < top.saturating_mul(100) {
                    others.push(from);
                }
            }
        }
        let mut ways: Vec<(usize, u32)> = others
            .into_iter()
            .map(|from| (paths.to(from), from))
            .filter(|(way, _)| !way.contains(&number))
            .map(|(way, from)| (way.len(), from))
            .collect();
        ways.sort_unstable();
        for (_, from) in ways.into_iter().take(top.saturating_sub(1)) {
            let mut way = paths.way(from);
            let step = crate::paths::Step {
                address: heap.address(node),
                class: heap.as_class(node).unwrap_or_else(|| heap.class(node)).name.clone(),
                is_class: heap.as_class(node).is_some(),
                edge: Some(heap.edge(kept.node(from), node)),
            };
            let by_referent = heap.class(kept.node(from)).strength.is_some();
            way.weak |= by_referent && matches!(&step.edge, Some(Edge::Field { name }) if name == "referent");
            way.steps.push(step);
            report.ways.push(way);
        }
        report
    }
}

/// Names that are suggested, at most.
const SIMILAR: usize = 5;

impl Heap {
    /// Names of classes that one may have meant by a name that is none: those that end with it
    /// first, then those that have it in them; case does not count.
    pub fn similar_classes(&self, name: &str) -> Vec<String> {
        let wanted = name.to_ascii_lowercase();
        let wanted = wanted.rsplit(['.', '$']).next().unwrap_or(&wanted);
        if wanted.is_empty() {
            return Vec::new();
        }
        let rank = |class: &str| {
            let class = class.to_ascii_lowercase();
            let last = class.rsplit(['.', '$']).next().unwrap_or(&class);
            match (last == wanted, last.contains(wanted)) {
                (true, _) => Some(0),
                (_, true) => Some(1),
                _ => class.contains(wanted).then_some(2),
            }
        };
        let names = self.classes.iter().map(|(_, class)| class.name.as_str());
        let mut found: Vec<(u8, bool, &str)> =
            names.filter_map(|name| Some((rank(name)?, crate::is_of_the_jdk(name), name))).collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().take(SIMILAR).map(|(.., name)| name.to_owned()).collect()
    }
}

impl ClassReport {
    /// Of the classes of a name; `None`: there is no such class.
    pub fn of(heap: &Heap, kept: &Kept, name: &str, top: usize) -> Option<Self> {
        let classes: Vec<u32> = heap.classes.named(name).collect();
        let first = *classes.first()?;
        let groups: Vec<[u32; 1]> =
            (0..heap.classes.count() as u32).map(|class| [u32::from(classes.contains(&class))]).collect();
        let sum = kept.sums(&groups, 2)[1];
        let mut largest: Vec<u32> = Vec::new();
        let mut by: std::collections::BTreeMap<String, (u64, u64)> = std::collections::BTreeMap::new();
        for number in kept.numbers() {
            let node = kept.node(number);
            if !classes.contains(&heap.class_number(node)) {
                continue;
            }
            largest.push(number);
            let dominator = match kept.dominator(number) {
                0 => "(roots, or several objects together)".to_owned(),
                dominator => Brief::of(heap, kept, kept.node(dominator)).class,
            };
            let (count, bytes) = by.entry(dominator).or_default();
            *count += 1;
            *bytes += kept.retained(number);
        }
        largest.sort_unstable_by_key(|number| (std::cmp::Reverse(kept.retained(*number)), *number));
        largest.truncate(top);
        let mut kept_by: Vec<(String, u64, u64)> =
            by.into_iter().map(|(class, (n, bytes))| (class, n, bytes)).collect();
        kept_by.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        kept_by.truncate(top);
        let loader = |class: &u32| heap.find(heap.classes.get(*class).loader).unwrap_or(NONE);
        let defined = classes.iter().filter(|class| heap.classes.get(**class).node != NONE);
        Some(Self {
            schema: "fathom.heap-class/1",
            class: name.to_owned(),
            superclasses: heap.classes.chain(first).skip(1).map(|(_, class)| class.name.clone()).collect(),
            loaders: defined.map(|class| super::screen::loader_name(heap, loader(class))).collect(),
            sum,
            largest: largest.into_iter().map(|number| Brief::of(heap, kept, kept.node(number))).collect(),
            kept_by,
        })
    }
}
