//! Frames in the terminal: self and total, and what changed against the base.

use fathom_diagnose::quantity::count;
use fathom_diagnose::stacks::{Errors, Flame, NodeType, TopFrame, Verdict, top as frames};

use super::{About, names, notes, part, weight};
use crate::printable;
use crate::tables::{Sheet, section, shortened, table};

/// Columns of a name, beside the figures.
const NAME: usize = 46;
/// The same beside a comparison.
const NAME_COMPARED: usize = 26;

/// What the table is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopBy {
    /// What frames took themselves.
    #[default]
    Own,
    /// What they took with all that they called.
    Total,
    /// How much more or less they took than in the base, what is beyond noise first.
    Change,
}

/// How many frames are shown, and in which order.
#[derive(Clone, Copy, Debug)]
pub struct TopOptions {
    /// At most so many.
    pub most: usize,
    /// In which order.
    pub by: TopBy,
}

/// A frame with what it is held against.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    pub(crate) frame: TopFrame,
    /// Base weights, scaled, and verdicts: of its own weight, of its total.
    pub(crate) base: Option<[(f64, Verdict); 2]>,
}

/// All frames of a flame graph in an order.
pub(crate) fn compared(flame: &Flame, by: TopBy) -> Vec<Compared> {
    let mut all: Vec<Compared> = frames(&flame.tree)
        .into_iter()
        .map(|frame| {
            let base = flame.comparison.as_ref().map(|(c, _)| {
                let i = frame.frame as usize;
                let side = |here: i64, there: i64, error: f64, limit: Option<f64>| {
                    let there = there as f64 * c.scale;
                    (there, Errors::judge(here as f64 - there, error, limit))
                };
                [
                    side(frame.self_weight, c.base_frame_self[i], c.frames.of_self[i], c.frames.self_limit),
                    side(
                        frame.total_weight,
                        c.base_frame_total[i],
                        c.frames.of_total[i],
                        c.frames.total_limit,
                    ),
                ]
            });
            Compared { frame, base }
        })
        .collect();
    match by {
        TopBy::Own => {}
        TopBy::Total => all.sort_by_key(|c| std::cmp::Reverse((c.frame.total_weight, c.frame.self_weight))),
        TopBy::Change => {
            let size = |c: &Compared| {
                let [(base, verdict), _] = c.base.unwrap_or([(0.0, Verdict::TooFew); 2]);
                let beyond = matches!(verdict, Verdict::More | Verdict::Less);
                (beyond, (c.frame.self_weight as f64 - base).abs())
            };
            all.sort_by(|a, b| {
                let ((x, dx), (y, dy)) = (size(a), size(b));
                y.cmp(&x).then(dy.total_cmp(&dx))
            });
        }
    }
    all
}

/// The table as text of at most so many columns, 100 at most.
pub fn top(flame: &Flame, about: &About, options: TopOptions, columns: usize) -> String {
    let all = compared(flame, options.by);
    let whole = flame.tree.total_weight.first().copied().unwrap_or(0) as f64;
    let mut out = Sheet::new(columns);
    out.push_str(&format!(
        "{}: {} in {} samples, {}\n",
        printable(&flame.kind),
        weight(whole, flame.unit),
        count(flame.samples as f64),
        about.windows(&flame.covered)
    ));
    if !about.chosen.is_empty() {
        out.push_str(&format!("{}\n", printable(&about.chosen)));
    }
    if let Some((c, covered)) = &flame.comparison {
        let base = c.base_total.first().copied().unwrap_or(0) as f64;
        out.push_str(&format!(
            "base: {} in {} samples, {}; compared {}\n",
            weight(base, flame.unit),
            count(c.base_samples as f64),
            about.windows(covered),
            c.normalisation.words()
        ));
    }
    let has_base = flame.comparison.is_some();
    let mut rows = match has_base {
        false => table(&["self", "%", "total", "%", "type", "frame"], &[4, 5]),
        true => table(&["self", "%", "base", "change", "", "total", "%", "type", "frame"], &[4, 7, 8]),
    };
    if let Some(first) = rows.column_mut(0) {
        first.set_cell_alignment(comfy_table::CellAlignment::Right);
    }
    for one in all.iter().take(options.most) {
        let (own, total) = (one.frame.self_weight as f64, one.frame.total_weight as f64);
        let tree_frame = &flame.tree.frames[one.frame.frame as usize];
        let name = shortened(&names::of_frame(tree_frame), if has_base { NAME_COMPARED } else { NAME });
        let mut row = vec![weight(own, flame.unit), part(own, whole)];
        if let Some([(base, verdict), _]) = one.base {
            let difference = own - base;
            let change = if verdict == Verdict::TooFew && difference == 0.0 {
                "0".to_owned()
            } else {
                let sign = if difference < 0.0 { "−" } else { "+" };
                format!("{sign}{}", weight(difference.abs(), flame.unit))
            };
            row.extend([weight(base, flame.unit), change, word(verdict, base == 0.0).to_owned()]);
        }
        row.extend([
            weight(total, flame.unit),
            part(total, whole),
            tag(one.frame.node_type).to_owned(),
            name,
        ]);
        rows.add_row(row);
    }
    let left = all.len().saturating_sub(options.most);
    section(&mut out, "frames", &rows);
    if left > 0 {
        out.push_str(&format!("  {} more\n", count(left as f64)));
    }
    for note in notes(flame) {
        out.push_str(&format!("\n  {note}\n"));
    }
    out.finish()
}

/// A verdict in a word.
fn word(verdict: Verdict, added: bool) -> &'static str {
    match verdict {
        Verdict::More if added => "new",
        Verdict::More => "more",
        Verdict::Less => "less",
        Verdict::Noise => "noise",
        Verdict::TooFew => "too few",
    }
}

/// Letters for a type, the same as in the pictures.
pub(crate) fn tag(node_type: NodeType) -> &'static str {
    match node_type {
        NodeType::Interpreted => "int",
        NodeType::C1 => "C1",
        NodeType::C2 => "C2",
        NodeType::Inlined => "inl",
        NodeType::Stub => "stub",
        NodeType::Jvm => "JVM",
        NodeType::Native => "nat",
        NodeType::Kernel => "kern",
        NodeType::Unknown => "?",
        NodeType::Cut => "cut",
        NodeType::Group => "",
    }
}
