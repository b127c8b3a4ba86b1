//! One page with flame graphs in it, written as a stream. Read by ui/src/flame/decode.ts.

use std::io::{self, Write};

use fathom_diagnose::stacks::{Comparison, Flame};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::{About, names, notes};
use crate::payload::{ColumnId, Columns};
use crate::printable;

const TEMPLATE: &str = include_str!("../../assets/flame.html");
/// Where the data goes.
const MARKER: &str = "<!--fathom:data-->";
pub(crate) const SCHEMA: &str = "fathom.flame-page/1";

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Header {
    schema: &'static str,
    version: &'static str,
    title: String,
    about: String,
    inverted: bool,
    names: Vec<String>,
    modules: Vec<String>,
    module_of: ColumnId,
    graphs: Vec<Graph>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Graph {
    kind: String,
    unit: &'static str,
    samples: usize,
    label: String,
    notes: Vec<String>,
    parent: ColumnId,
    name: ColumnId,
    #[serde(rename = "type")]
    node_type: ColumnId,
    #[serde(rename = "self")]
    own: ColumnId,
    mix: Option<Mix>,
    base: Option<Base>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Mix {
    interpreted: ColumnId,
    c1: ColumnId,
    c2: ColumnId,
    inlined: ColumnId,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Base {
    #[serde(rename = "self")]
    own: ColumnId,
    scale: f64,
    normalised: &'static str,
    self_error: ColumnId,
    total_error: ColumnId,
    self_limit: Option<f64>,
    total_limit: Option<f64>,
    frames: BaseFrames,
    label: String,
}

/// Errors name by name.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct BaseFrames {
    self_error: ColumnId,
    total_error: ColumnId,
    self_limit: Option<f64>,
    total_limit: Option<f64>,
}

/// Writes the page of some graphs, the first of which is shown first.
pub fn html(flames: &[Flame], about: &About, out: &mut impl Write) -> io::Result<()> {
    let (before, after) =
        TEMPLATE.split_once(MARKER).expect("the build checks that the marker is there once");
    out.write_all(before.as_bytes())?;
    script(flames, about, out)?;
    out.write_all(after.as_bytes())
}

/// The graphs as an element that any page may hold.
pub(crate) fn script(flames: &[Flame], about: &About, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"<script type=\"application/octet-stream\" id=\"fathom-flame\">")?;
    let mut columns = Columns::default();
    let header = header(flames, about, &mut columns);
    columns.write(&header, out)?;
    out.write_all(b"</script>")
}

fn header(flames: &[Flame], about: &About, columns: &mut Columns) -> Header {
    let mut dictionary = Dictionary::default();
    let ids: Vec<Vec<u32>> =
        flames.iter().map(|f| f.tree.frames.iter().map(|frame| dictionary.id(frame)).collect()).collect();
    let names = dictionary.names.len();
    let graphs = flames.iter().zip(&ids).map(|(f, ids)| graph(f, ids, names, about, columns)).collect();
    Header {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        title: printable(&about.title).into_owned(),
        about: printable(&about.chosen).into_owned(),
        inverted: about.inverted,
        module_of: columns.small(dictionary.module_of.iter().map(|m| u64::from(*m))),
        names: dictionary.names,
        modules: dictionary.modules,
        graphs,
    }
}

fn graph(flame: &Flame, ids: &[u32], names: usize, about: &About, columns: &mut Columns) -> Graph {
    let tree = &flame.tree;
    let weights =
        |columns: &mut Columns, values: &[i64]| columns.small(values.iter().map(|v| (*v).max(0) as u64));
    let java =
        |columns: &mut Columns, kind: usize| columns.small(tree.java.iter().map(|j| j[kind].max(0) as u64));
    let mixed = tree.java.iter().any(|java| java.iter().filter(|weight| **weight > 0).count() > 1);
    Graph {
        kind: printable(&flame.kind).into_owned(),
        unit: flame.unit,
        samples: flame.samples,
        label: about.windows(&flame.covered),
        notes: notes(flame),
        parent: columns.delta((0..tree.len()).map(|i| if i == 0 { -1 } else { i64::from(tree.parent[i]) })),
        name: columns.small(tree.frame.iter().map(|f| u64::from(ids[*f as usize]))),
        node_type: columns.small(tree.node_type.iter().map(|t| *t as u64)),
        own: weights(columns, &tree.self_weight),
        mix: mixed.then(|| Mix {
            interpreted: java(columns, 0),
            c1: java(columns, 1),
            c2: java(columns, 2),
            inlined: java(columns, 3),
        }),
        base: flame.comparison.as_ref().map(|(c, covered)| Base {
            own: weights(columns, &c.base_self),
            scale: c.scale,
            normalised: c.normalisation.words(),
            self_error: columns.figures(c.nodes.of_self.iter().copied()),
            total_error: columns.figures(c.nodes.of_total.iter().copied()),
            self_limit: c.nodes.self_limit,
            total_limit: c.nodes.total_limit,
            frames: base_frames(c, ids, names, columns),
            label: about.windows(covered),
        }),
    }
}

fn base_frames(c: &Comparison, ids: &[u32], names: usize, columns: &mut Columns) -> BaseFrames {
    let mut by_name = |errors: &[f64]| {
        // Two frames may be shown by one name (a Java method and a stub of it): then their
        // variances add up.
        let mut variance = vec![f64::NAN; names];
        for (id, error) in ids.iter().zip(errors).filter(|(_, error)| error.is_finite()) {
            let sum = &mut variance[*id as usize];
            *sum = if sum.is_nan() { error * error } else { *sum + error * error };
        }
        columns.figures(variance.into_iter().map(f64::sqrt))
    };
    BaseFrames {
        self_error: by_name(&c.frames.of_self),
        total_error: by_name(&c.frames.of_total),
        self_limit: c.frames.self_limit,
        total_limit: c.frames.total_limit,
    }
}

/// Names as they are shown, each once with its module, over all graphs of a page.
#[derive(Default)]
struct Dictionary {
    names: Vec<String>,
    modules: Vec<String>,
    module_of: Vec<u32>,
    known: FxHashMap<(String, u32), u32>,
    known_modules: FxHashMap<String, u32>,
}

impl Dictionary {
    fn id(&mut self, frame: &fathom_diagnose::stacks::TreeFrame) -> u32 {
        let modules = &mut self.modules;
        let module = *self.known_modules.entry(names::shown(&frame.module)).or_insert_with_key(|module| {
            modules.push(module.clone());
            modules.len() as u32 - 1
        });
        let (list, module_of) = (&mut self.names, &mut self.module_of);
        *self.known.entry((names::of_frame(frame), module)).or_insert_with_key(|(name, module)| {
            list.push(name.clone());
            module_of.push(*module);
            list.len() as u32 - 1
        })
    }
}
