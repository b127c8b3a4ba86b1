//! Frames in the terminal: self and total, and against a baseline the share of both sides with what
//! changed.

use comfy_table::{CellAlignment, ColumnConstraint, Table};
use fathom_diagnose::quantity::count;
use fathom_diagnose::stacks::{Errors, Flame, NodeType, Share, TopFrame, Verdict, top as frames};

use super::{About, names, notes, part, weight};
use crate::printable;
use crate::tables::{Sheet, section, shortened, table};

/// Columns of a name, next to the values.
const NAME: usize = 46;
/// The same next to a comparison.
const NAME_COMPARED: usize = 24;
/// Columns from which on shares have their intervals next to a name of some length.
const WITH_INTERVALS: usize = 96;

/// What the table is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopBy {
    /// What frames took themselves.
    #[default]
    Own,
    /// What they took with all that they called.
    Total,
    /// How much more or less they took than in the baseline, what is beyond noise first.
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

/// A frame with what it is compared with.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    pub(crate) frame: TopFrame,
    /// The baseline of its own weight, and of its total.
    pub(crate) base: Option<[BaseOf; 2]>,
}

/// What a weight of a frame is compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BaseOf {
    /// The baseline's weight, scaled.
    pub(crate) weight: f64,
    /// Standard error of the difference; not-a-number where there are too few samples.
    pub(crate) error: f64,
    pub(crate) verdict: Verdict,
    /// Of all samples in the baseline, and of all in the window.
    pub(crate) shares: [Share; 2],
}

/// All frames of a flame graph in an order.
pub(crate) fn compared(flame: &Flame, by: TopBy) -> Vec<Compared> {
    let mut all: Vec<Compared> = frames(&flame.tree)
        .into_iter()
        .map(|frame| {
            let base = flame.comparison.as_ref().map(|(c, _)| {
                let i = frame.frame as usize;
                let side = |here: i64, there: i64, error: f64, limit: Option<f64>, shares: [Share; 2]| {
                    let weight = there as f64 * c.scale;
                    BaseOf {
                        weight,
                        error,
                        verdict: Errors::judge(here as f64 - weight, error, limit),
                        shares,
                    }
                };
                let ([here, there], errors) = (&c.shares, &c.frames);
                [
                    side(
                        frame.self_weight,
                        c.base_frame_self[i],
                        errors.of_self[i],
                        errors.self_limit,
                        [there.of_self[i], here.of_self[i]],
                    ),
                    side(
                        frame.total_weight,
                        c.base_frame_total[i],
                        errors.of_total[i],
                        errors.total_limit,
                        [there.of_total[i], here.of_total[i]],
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
                let Some([own, _]) = c.base else { return (false, 0.0) };
                let beyond = matches!(own.verdict, Verdict::More | Verdict::Less);
                (beyond, (c.frame.self_weight as f64 - own.weight).abs())
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
            "baseline: {} in {} samples, {}; compared {}\n",
            weight(base, flame.unit),
            count(c.base_samples as f64),
            about.windows(covered),
            c.normalisation.words()
        ));
    }
    let shown = all.iter().take(options.most);
    let rows = match flame.comparison.is_some() {
        false => plain(flame, whole, shown),
        true => with_baseline(flame, whole, options.by, columns, shown),
    };
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

/// What each frame took.
fn plain<'a>(flame: &Flame, whole: f64, shown: impl Iterator<Item = &'a Compared>) -> Table {
    let mut rows = table(&["self", "%", "total", "%", "type", "frame"], &[4, 5]);
    first_is_a_figure(&mut rows);
    for one in shown {
        let (own, total) = (one.frame.self_weight as f64, one.frame.total_weight as f64);
        rows.add_row([
            weight(own, flame.unit),
            part(own, whole),
            weight(total, flame.unit),
            part(total, whole),
            tag(one.frame.node_type).to_owned(),
            shortened(&names::of_frame(&flame.tree.frames[one.frame.frame as usize]), NAME),
        ]);
    }
    rows
}

/// What each frame took of all samples of the baseline and of the window, and how much more or less
/// that is in the unit of the samples: its total where that is what the table is sorted by, else
/// its own weight.
fn with_baseline<'a>(
    flame: &Flame,
    whole: f64,
    by: TopBy,
    columns: usize,
    shown: impl Iterator<Item = &'a Compared>,
) -> Table {
    let is_total = by == TopBy::Total;
    let (measure, other) = if is_total { ("total", "self") } else { ("self", "total") };
    let header = [&format!("{measure}: baseline → window"), "change ±", "", other, "type", "frame"];
    let mut rows = table(&header, &[2, 4, 5]);
    first_is_a_figure(&mut rows);
    for short in [2, 4] {
        if let Some(column) = rows.column_mut(short) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    for one in shown {
        let Some(base) = one.base.map(|[own, total]| if is_total { total } else { own }) else { continue };
        let (own, total) = (one.frame.self_weight as f64, one.frame.total_weight as f64);
        let (here, other) = if is_total { (total, own) } else { (own, total) };
        rows.add_row([
            from_to(base.shares, columns >= WITH_INTERVALS),
            change(here - base.weight, base, flame.unit),
            word(base.verdict, base.weight == 0.0).to_owned(),
            part(other, whole),
            tag(one.frame.node_type).to_owned(),
            shortened(&names::of_frame(&flame.tree.frames[one.frame.frame as usize]), NAME_COMPARED),
        ]);
    }
    rows
}

fn first_is_a_figure(rows: &mut Table) {
    if let Some(first) = rows.column_mut(0) {
        first.set_cell_alignment(CellAlignment::Right);
        first.set_constraint(ColumnConstraint::ContentWidth);
    }
}

/// Two shares, with half of their intervals of 95% where there is room:
/// "1.15 ±0.21% → 23.98 ±0.92%".
fn from_to([from, to]: [Share; 2], with_intervals: bool) -> String {
    let one = |share: Share| match with_intervals {
        true => format!("{:.2} ±{:.2}%", share.of_all * 100.0, share.half * 100.0),
        false => format!("{:.2}%", share.of_all * 100.0),
    };
    format!("{} → {}", one(from), one(to))
}

/// A difference with half of its interval of 95%, where there are samples enough for one.
fn change(difference: f64, base: BaseOf, unit: &str) -> String {
    if base.verdict == Verdict::TooFew && difference == 0.0 {
        return "0".to_owned();
    }
    let sign = if difference < 0.0 { "-" } else { "+" };
    let half = fathom_diagnose::stacks::HALF_INTERVAL * base.error;
    let interval = if half.is_finite() { format!(" ±{}", weight(half, unit)) } else { String::new() };
    format!("{sign}{}{interval}", weight(difference.abs(), unit))
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
