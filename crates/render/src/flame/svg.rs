//! A flame graph as one static SVG: for a document, a mail, a ticket that shows pictures.
//!
//! No script is in it. Every box has a `<title>`, which browsers show as a tooltip and screen
//! readers read; colours follow the reader's light or dark theme; letters and patterns say the same
//! as the colours.

use std::fmt::Write as _;
use std::io::{self, Write};

use fathom_diagnose::stacks::{CallTree, Comparison, Errors, Flame, NodeType, Verdict, inverted};

use super::top::tag;
use super::{About, names, notes, part, sign, weight};
use crate::printable;
use crate::text;

/// Width of the picture, pixels.
const WIDTH: f64 = 1200.0;
/// Left and right of the boxes.
const MARGIN: f64 = 10.0;
/// Height of a row.
const ROW: f64 = 17.0;
/// Above the boxes: title and what was chosen.
const HEAD: f64 = 58.0;
/// Boxes narrower than this are left out with all below them, and counted.
const SMALLEST: f64 = 0.3;
/// Advance of a letter of the font in the boxes.
const LETTER: f64 = 6.65;
/// A box has room for a letter from here on.
const LABEL_FROM: f64 = 24.0;

const STYLE: &str = "\
svg{--paper:#fdfdfb;--ink:#14181c;--faint:#5a626c;--hatch:#00000026;--i:#f5c97a;--c1:#a9d8f2;--c2:#8ad3b4;--n:#c4ebd9;\
--s:#f2ea9b;--j:#e3b4d0;--l:#a8c3e6;--k:#f3ae8a;--u:#d5d8db;--g:#e9eae6;--more:#f39a4d;--less:#74b3e6;--same:#e1e3e4}\
@media(prefers-color-scheme:dark){svg{--paper:#14171b;--ink:#f3f5f7;--faint:#a3abb5;--hatch:#ffffff24;--i:#8a5a10;\
--c1:#24617f;--c2:#0f6149;--n:#2a5748;--s:#6a6312;--j:#7d3f63;--l:#2b4a76;--k:#8a3d16;--u:#474e56;--g:#333941;\
--more:#a84f08;--less:#1f5f97;--same:#3a4047}}\
text{font:11px ui-monospace,\"DejaVu Sans Mono\",Menlo,Consolas,monospace;fill:var(--ink);white-space:pre}\
text.t{font:600 15px system-ui,sans-serif}text.a{font:12px system-ui,sans-serif;fill:var(--faint)}\
.i{fill:var(--i)}.c1{fill:var(--c1)}.c2{fill:var(--c2)}.n{fill:var(--n)}.s{fill:var(--s)}.j{fill:var(--j)}.l{fill:var(--l)}\
.k{fill:var(--k)}.u{fill:var(--u)}.g{fill:var(--g)}.more{fill:var(--more)}.less{fill:var(--less)}.same{fill:var(--same)}\
.h{stroke:var(--hatch);fill:none}.d{fill:var(--hatch)}";

const PATTERNS: &str = "<defs>\
<pattern id=\"diagonal\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path class=\"h\" d=\"M-1 7L7-1M-1 1L1-1M5 7L7 5\"/></pattern>\
<pattern id=\"bars\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path class=\"h\" d=\"M.5 0V6\"/></pattern>\
<pattern id=\"cross\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path class=\"h\" d=\"M0 6L6 0M0 0L6 6\"/></pattern>\
<pattern id=\"dots\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path class=\"d\" d=\"M1 1h1.4v1.4h-1.4zM4 4h1.4v1.4h-1.4z\"/></pattern>\
</defs>";

/// Class and pattern of a type.
fn look(node_type: NodeType) -> (&'static str, Option<&'static str>) {
    match node_type {
        NodeType::Interpreted => ("i", Some("diagonal")),
        NodeType::C1 => ("c1", Some("bars")),
        NodeType::C2 => ("c2", None),
        NodeType::Inlined => ("n", Some("dots")),
        NodeType::Stub => ("s", Some("dots")),
        NodeType::Jvm => ("j", None),
        NodeType::Native => ("l", None),
        NodeType::Kernel => ("k", Some("bars")),
        NodeType::Unknown | NodeType::Cut => ("u", Some("cross")),
        NodeType::Group => ("g", None),
    }
}

/// Draws a flame graph.
pub fn svg(flame: &Flame, about: &About, out: &mut impl Write) -> io::Result<()> {
    let turned = about
        .inverted
        .then(|| inverted(&flame.tree, flame.comparison.as_ref().map(|(comparison, _)| comparison)));
    let (tree, comparison) = match &turned {
        Some((tree, comparison)) => (tree, comparison.as_ref()),
        None => (&flame.tree, flame.comparison.as_ref().map(|(comparison, _)| comparison)),
    };
    let drawn = place(tree);
    let rows = drawn.boxes.iter().map(|b| b.depth + 1).max().unwrap_or(1) as f64;
    let legend = legend(tree, &drawn, comparison.is_some());
    let notes = notes(flame);
    let foot = HEAD + rows * ROW + 14.0;
    let height = foot + 20.0 * (legend.lines as f64 + notes.len() as f64) + 26.0;
    let mut head = String::new();
    let title = escape(&names::shown(&about.title));
    let _ = write!(
        head,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" \
         role=\"img\" aria-label=\"Flame graph: {title}\">\n<title>Flame graph: {title}</title>\n<style>{STYLE}</style>\n{PATTERNS}\n\
         <rect width=\"{WIDTH}\" height=\"{height:.0}\" style=\"fill:var(--paper)\"/>\n\
         <text class=\"t\" x=\"{MARGIN}\" y=\"24\">{}</text>\n<text class=\"a\" x=\"{MARGIN}\" y=\"44\">{}</text>\n",
        escape(&text::cut(&names::shown(&about.title), 130, "…")),
        escape(&text::cut(&subtitle(flame, about), 180, "…")),
    );
    out.write_all(head.as_bytes())?;
    for one in &drawn.boxes {
        out.write_all(boxed(flame, tree, comparison, one).as_bytes())?;
    }
    let mut y = foot;
    let mut tail = String::new();
    for (x, line, class, pattern, words) in &legend.entries {
        let at = y + 20.0 * *line as f64;
        let _ = write!(tail, "<rect class=\"{class}\" x=\"{x}\" y=\"{at}\" width=\"18\" height=\"12\"/>");
        if let Some(pattern) = pattern {
            let _ = write!(
                tail,
                "<rect fill=\"url(#{pattern})\" x=\"{x}\" y=\"{at}\" width=\"18\" height=\"12\"/>"
            );
        }
        let _ = writeln!(tail, "<text class=\"a\" x=\"{}\" y=\"{}\">{words}</text>", x + 24.0, at + 10.0);
    }
    y += 20.0 * legend.lines as f64 + 12.0;
    for note in &notes {
        let _ = writeln!(
            tail,
            "<text class=\"a\" x=\"{MARGIN}\" y=\"{y}\">{}</text>",
            escape(&text::cut(note, 190, "…"))
        );
        y += 20.0;
    }
    let left = match drawn.narrow {
        0 => String::new(),
        n => format!("{} boxes are too narrow to draw. ", fathom_diagnose::quantity::count(n as f64)),
    };
    let _ = writeln!(
        tail,
        "<text class=\"a\" x=\"{MARGIN}\" y=\"{y}\">{left}Made by fathom {}.</text>\n</svg>",
        env!("CARGO_PKG_VERSION")
    );
    out.write_all(tail.as_bytes())
}

fn subtitle(flame: &Flame, about: &About) -> String {
    let whole = flame.tree.total_weight.first().copied().unwrap_or(0) as f64;
    let mut words = vec![
        format!("{}: {}", printable(&flame.kind), weight(whole, flame.unit)),
        format!("{} samples", fathom_diagnose::quantity::count(flame.samples as f64)),
        about.windows(&flame.covered),
    ];
    if !about.chosen.is_empty() {
        words.push(printable(&about.chosen).into_owned());
    }
    if about.inverted {
        words.push("callers below what they called".into());
    }
    if let Some((c, covered)) = &flame.comparison {
        words.push(format!("against {}, {}", about.windows(covered), c.normalisation.words()));
    }
    words.join(" · ")
}

struct Drawn {
    boxes: Vec<Boxed>,
    narrow: usize,
}

struct Boxed {
    node: usize,
    depth: usize,
    x: f64,
    width: f64,
}

/// Where boxes lie: children side by side in the order of their names.
fn place(tree: &CallTree) -> Drawn {
    let mut drawn = Drawn { boxes: Vec::new(), narrow: 0 };
    let whole = tree.total_weight.first().copied().unwrap_or(0) as f64;
    if whole <= 0.0 {
        return drawn;
    }
    let per_unit = (WIDTH - 2.0 * MARGIN) / whole;
    let (first, child) = tree.children();
    let mut open = vec![Boxed { node: 0, depth: 0, x: MARGIN, width: WIDTH - 2.0 * MARGIN }];
    while let Some(one) = open.pop() {
        let mut below: Vec<usize> = child[first[one.node] as usize..first[one.node + 1] as usize]
            .iter()
            .map(|c| *c as usize)
            .collect();
        below.sort_by_key(|c| &tree.frames[tree.frame[*c] as usize].name);
        let mut x = one.x;
        for node in below {
            let width = tree.total_weight[node] as f64 * per_unit;
            if width >= SMALLEST {
                open.push(Boxed { node, depth: one.depth + 1, x, width });
            } else if width > 0.0 {
                drawn.narrow += 1;
            }
            x += width;
        }
        drawn.boxes.push(one);
    }
    drawn
}

fn boxed(flame: &Flame, tree: &CallTree, comparison: Option<&Comparison>, one: &Boxed) -> String {
    let Boxed { node, depth, x, width } = *one;
    let whole = tree.total_weight[0] as f64;
    let (total, own) = (tree.total_weight[node] as f64, tree.self_weight[node] as f64);
    let frame = &tree.frames[tree.frame[node] as usize];
    let name = names::of_frame(frame);
    let node_type = tree.node_type[node];
    let y = HEAD + depth as f64 * ROW;
    let mut title = format!("{name}\n{}", node_type.word());
    if !frame.module.is_empty() {
        title.push_str(&format!(" in {}", names::shown(&frame.module)));
    }
    title.push_str(&format!(
        "\ntotal {}, {}; self {}, {}",
        weight(total, flame.unit),
        part(total, whole),
        weight(own, flame.unit),
        part(own, whole)
    ));
    let (class, pattern, strength, letters) = match comparison {
        None => {
            let (class, pattern) = look(node_type);
            (class, pattern, 1.0, tag(node_type))
        }
        Some(c) => {
            let base = c.base_total[node] as f64 * c.scale;
            let verdict = Errors::judge(total - base, c.nodes.of_total[node], c.nodes.total_limit);
            title.push_str(&format!("\nbase {}; {}", weight(base, flame.unit), in_words(verdict)));
            let added = base == 0.0;
            let (class, beyond) = match verdict {
                Verdict::More => ("more", true),
                Verdict::Less => ("less", true),
                Verdict::Noise | Verdict::TooFew => ("same", false),
            };
            // Half of what there was is drawn at full strength.
            let strength = 0.35 + 0.65 * ((total - base).abs() / (base.max(total) * 0.5).max(1e-9)).min(1.0);
            let pattern = (added && beyond).then_some("diagonal");
            (class, pattern, if beyond { strength.min(1.0) } else { 1.0 }, sign(verdict, added))
        }
    };
    let shown = if width > 2.0 { width - 1.0 } else { width };
    let mut text = format!("<g><title>{}</title>", escape(&title));
    let shape = format!("x=\"{x:.2}\" y=\"{y:.0}\" width=\"{shown:.2}\" height=\"{:.0}\"", ROW - 1.0);
    if strength < 1.0 {
        let _ = write!(
            text,
            "<rect class=\"same\" {shape}/><rect class=\"{class}\" fill-opacity=\"{strength:.2}\" {shape}/>"
        );
    } else {
        let _ = write!(text, "<rect class=\"{class}\" {shape}/>");
    }
    if let Some(pattern) = pattern.filter(|_| width >= 1.5) {
        let _ = write!(text, "<rect fill=\"url(#{pattern})\" {shape}/>");
    }
    if width >= LABEL_FROM {
        let room = ((width - 8.0) / LETTER) as usize;
        let label = if letters.is_empty() { name } else { format!("{letters} {name}") };
        let label = fitting(&label, letters, room);
        let _ = write!(text, "<text x=\"{:.2}\" y=\"{:.0}\">{}</text>", x + 4.0, y + 12.0, escape(&label));
    }
    text.push_str("</g>\n");
    text
}

/// The label cut to its room: a Java name loses its package before its method.
fn fitting(label: &str, letters: &str, room: usize) -> String {
    if text::width(label) <= room {
        return label.to_owned();
    }
    let name = label.strip_prefix(letters).map_or(label, str::trim_start);
    let last = name.rsplit_once('.').map_or(name, |(before, method)| {
        let class = before.rsplit_once('.').map_or(before, |(_, class)| class);
        let both = name.len() - class.len() - method.len() - 1;
        name.get(both..).unwrap_or(name)
    });
    let short = if letters.is_empty() { last.to_owned() } else { format!("{letters} {last}") };
    text::cut(&short, room, "…")
}

fn in_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::More => "more, beyond noise",
        Verdict::Less => "less, beyond noise",
        Verdict::Noise => "within noise",
        Verdict::TooFew => "too few samples to judge",
    }
}

type Entry = (f64, usize, &'static str, Option<&'static str>, String);

struct Legend {
    entries: Vec<Entry>,
    lines: usize,
}

fn legend(tree: &CallTree, drawn: &Drawn, compares: bool) -> Legend {
    let mut words: Vec<(&'static str, Option<&'static str>, String)> = Vec::new();
    if compares {
        words.push(("more", None, "+ more than the baseline".into()));
        words.push(("more", Some("diagonal"), "new: not in the baseline".into()));
        words.push(("less", None, "− less than the baseline".into()));
        words.push(("same", None, "= within noise, or too few samples to judge".into()));
    } else {
        for node_type in NodeType::ALL.into_iter().filter(|t| *t != NodeType::Group) {
            if drawn.boxes.iter().any(|b| tree.node_type[b.node] == node_type) {
                let (class, pattern) = look(node_type);
                words.push((class, pattern, format!("{} {}", tag(node_type), means(node_type))));
            }
        }
    }
    let (mut x, mut line) = (MARGIN, 0);
    let mut entries = Vec::new();
    for (class, pattern, words) in words {
        let width = 24.0 + 6.6 * words.chars().count() as f64 + 22.0;
        if x + width > WIDTH && x > MARGIN {
            (x, line) = (MARGIN, line + 1);
        }
        entries.push((x, line, class, pattern, words));
        x += width;
    }
    Legend { entries, lines: line + 1 }
}

fn means(node_type: NodeType) -> &'static str {
    match node_type {
        NodeType::Interpreted => "Java, interpreted",
        NodeType::C1 => "Java, compiled by C1",
        NodeType::C2 => "Java, compiled by C2",
        NodeType::Inlined => "Java, inlined",
        NodeType::Stub => "stub or adapter of the JVM",
        NodeType::Jvm => "the JVM itself",
        NodeType::Native => "native library",
        NodeType::Kernel => "kernel",
        NodeType::Unknown => "unknown",
        NodeType::Cut => "callers not seen",
        NodeType::Group => "thread, process",
    }
}

/// Text as XML: markup escaped, what XML 1.0 cannot hold left out (names are printable before).
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' => safe.push('\n'),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => {}
            c => safe.push(c),
        }
    }
    safe
}
