//! A way from a root to an object, a line a step.

use fathom_diagnose::quantity;
use fathom_heap::{Edge, RootKind, Step, Way};

use crate::printable;
use crate::text::cut;

/// Columns of a line.
const WIDTH: usize = 100;

/// A kind of root in words.
pub(super) fn root(kind: RootKind) -> &'static str {
    match kind {
        RootKind::Unknown => "unknown root",
        RootKind::JniGlobal => "global reference of native code",
        RootKind::JniLocal => "local reference of native code",
        RootKind::JavaFrame => "local variable of a thread",
        RootKind::NativeStack => "frame of native code",
        RootKind::StickyClass => "class that is never unloaded",
        RootKind::ThreadBlock => "thread block",
        RootKind::Monitor => "monitor in use",
        RootKind::Thread => "thread that runs",
        RootKind::Other => "root of another kind",
    }
}

/// A reference in words: ".sessions", "[17]", "(local variable of …)".
pub(super) fn edge(edge: &Edge) -> String {
    match edge {
        Edge::Field { name } => format!(".{}", printable(name)),
        Edge::Static { class, name } => format!("{}.{} (static)", printable(class), printable(name)),
        Edge::Index { index } => format!("[{index}]"),
        Edge::Local { frame: Some(frame) } => format!("local variable of {}", printable(frame)),
        Edge::Local { frame: None } => "local variable".to_owned(),
        Edge::Defines => "defines".to_owned(),
        Edge::OfClass => "refers by its class".to_owned(),
        Edge::InstanceOf => "is an instance of".to_owned(),
    }
}

/// The lines of a way.
pub(super) fn lines(way: &Way, indent: &str) -> Vec<String> {
    let kinds: Vec<&str> = way.roots.iter().map(|kind| root(*kind)).collect();
    let thread = way.thread.as_ref().map_or(String::new(), |name| format!(" \"{}\"", printable(name)));
    let mut lines = vec![format!("{indent}root: {}{thread}", kinds.join(", "))];
    for (i, step) in way.steps.iter().enumerate() {
        if way.left_out > 0 && i == way.steps.len() / 2 {
            lines.push(format!(
                "{indent}  … {} in between",
                quantity::plural(way.left_out as usize, "step", "steps")
            ));
        }
        lines.push(format!("{indent}  {}", line(step)));
    }
    if way.weak {
        lines.push(format!("{indent}  (through the referent of a soft, weak, phantom or final reference: nothing else holds it)"));
    }
    lines.into_iter().map(|line| cut(&line, WIDTH, "…")).collect()
}

fn line(step: &Step) -> String {
    let class = if step.is_class { format!("class {}", step.class) } else { step.class.clone() };
    let to = format!("{} {:#x}", printable(&class), step.address);
    match &step.edge {
        Some(by) => format!("{} → {to}", edge(by)),
        None => to,
    }
}
