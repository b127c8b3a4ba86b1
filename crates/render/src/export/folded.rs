//! Folded stacks: a line for each stack, callers first, frames separated by `;`, then a space and
//! its weight. What `flamegraph.pl` reads, and what it made known (its README; Perfetto's "other
//! formats" page).
//!
//! The format has no escape, so `;` in a name becomes `,`. No time, no threads.

use std::io::{self, Write};

use fathom_diagnose::stacks::{CallTree, NodeType, Selection, Shape, flame};

use super::{Export, ExportError, Request, Written, other_kinds};
use crate::flame::names;

/// See the module.
pub(super) struct Folded;

impl Export for Folded {
    fn id(&self) -> &'static str {
        "folded"
    }

    fn extension(&self) -> &'static str {
        "folded"
    }

    fn about(&self) -> &'static str {
        "for flamegraph.pl, inferno, speedscope and most viewers: one kind of samples, no time"
    }

    fn write(&self, request: &Request<'_>, out: &mut (dyn Write + Send)) -> Result<Written, ExportError> {
        let rows = request.all_rows()?;
        let Some((kind, _)) = rows.first() else { return Err(ExportError::Nothing("sample")) };
        let selection = Selection { kind: (*kind).to_owned(), ..request.selection.clone() };
        let shape = Shape { per_thread: request.per_thread, lines: false };
        let flame = flame(request.recording, &selection, shape, None)?;
        folded(&flame.tree, request.annotated, out)?;
        Ok(Written { samples: flame.samples, left_out: other_kinds(&rows), ..Written::default() })
    }
}

/// Writes a call tree. `annotated` puts async-profiler's suffixes behind the names: `_[0]`
/// interpreted, `_[1]` C1, `_[j]` C2, `_[i]` inlined, `_[k]` kernel (async-profiler,
/// src/converter/one/convert/FlameGraph.java).
pub fn folded(tree: &CallTree, annotated: bool, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let names: Vec<String> =
        tree.frames.iter().map(|frame| names::of_frame(frame).replace(';', ",")).collect();
    let mut line = String::new();
    for node in (0..tree.len()).filter(|node| tree.self_weight[*node] > 0) {
        line.clear();
        for at in tree.path(node) {
            if !line.is_empty() {
                line.push(';');
            }
            line.push_str(&names[tree.frame[at] as usize]);
            if annotated {
                line.push_str(suffix(tree.node_type[at]));
            }
        }
        writeln!(out, "{line} {}", tree.self_weight[node])?;
    }
    Ok(())
}

fn suffix(node_type: NodeType) -> &'static str {
    match node_type {
        NodeType::Interpreted => "_[0]",
        NodeType::C1 => "_[1]",
        NodeType::C2 => "_[j]",
        NodeType::Inlined => "_[i]",
        NodeType::Kernel => "_[k]",
        _ => "",
    }
}
