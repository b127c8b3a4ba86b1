//! Stacks in text: the innermost frame first, each with a tag for what kind of code it is.

use std::fmt::Write;

use fathom_recording::{Frame, FrameType, Recording, StackId};
use fathom_render::printable;
use serde_json::{Value, json};

/// What the tags mean, for the help.
pub const TAGS: &str = "int interpreted Java, C1 / C2 compiled Java, inl inlined Java, stb stub or intrinsic of the JVM, \
                        JVM libjvm, nat native, krn kernel";

/// The tag of a frame.
pub fn tag(frame_type: FrameType) -> &'static str {
    match frame_type {
        FrameType::Interpreted => "int",
        FrameType::C1 => "C1",
        FrameType::C2 => "C2",
        FrameType::Inlined => "inl",
        FrameType::Stub => "stb",
        FrameType::Native => "nat",
        FrameType::Jvm => "JVM",
        FrameType::Kernel => "krn",
        FrameType::Unknown => "?",
    }
}

/// Frames of a stack, innermost first.
pub fn frames(names: &Recording, stack: Option<StackId>) -> impl Iterator<Item = &Frame> {
    let mut at = stack;
    std::iter::from_fn(move || {
        let node = names.stacks.get(at?.index())?;
        at = node.parent;
        names.frames.get(node.frame.index())
    })
}

/// The innermost Java method.
pub fn java_method(names: &Recording, stack: Option<StackId>) -> Option<&str> {
    use FrameType::{C1, C2, Inlined, Interpreted};
    let frame = frames(names, stack).find(|f| matches!(f.frame_type, Interpreted | C1 | C2 | Inlined))?;
    Some(names.strings.get(frame.name))
}

/// The names of all frames, a line each.
pub fn all_names(names: &Recording, stack: Option<StackId>) -> String {
    let list: Vec<&str> = frames(names, stack).map(|frame| names.strings.get(frame.name)).collect();
    list.join("\n")
}

/// Adds a stack to a text, a line a frame.
pub fn write(out: &mut String, names: &Recording, stack: StackId, most: usize, indent: &str) {
    let mut left = frames(names, Some(stack));
    for frame in left.by_ref().take(most) {
        let name = printable(names.strings.get(frame.name)).into_owned();
        let place = match (frame.line, names.strings.get(frame.module)) {
            (line, _) if line >= 0 => format!(":{line}"),
            (_, "" | "kernel") => String::new(),
            (_, module) => format!(" ({})", printable(module)),
        };
        let _ = writeln!(out, "{indent}{:<4}{name}{place}", tag(frame.frame_type));
    }
    match left.count() {
        0 => {}
        more => {
            let _ = writeln!(out, "{indent}    … {more} more (--depth)");
        }
    }
}

/// For machines.
pub fn json(names: &Recording, stack: Option<StackId>) -> Value {
    let one = |frame: &Frame| {
        json!({
            "name": names.strings.get(frame.name),
            "module": names.strings.get(frame.module),
            "type": frame.frame_type,
            "line": (frame.line >= 0).then_some(frame.line),
        })
    };
    frames(names, stack).map(one).collect()
}
