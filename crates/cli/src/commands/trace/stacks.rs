//! Stacks in text: the innermost frame first, each with a tag for what kind of code it is.

use std::fmt::Write;

use fathom_recording::{FrameType, Recording, StackFrame, StackId};
use fathom_render::printable;
use serde_json::{Value, json};

/// What the tags mean, for the help.
pub const TAGS: &str = "int interpreted Java, C1 / C2 compiled Java, inl inlined Java, stb stub or intrinsic of the JVM, \
                        JVM libjvm, nat native, krn kernel, ? no code (the class, the mapping)";

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

/// The innermost Java method.
pub fn java_method(names: &Recording, stack: Option<StackId>) -> Option<&str> {
    Some(names.frames_of(stack).find(StackFrame::is_java)?.name())
}

/// The names of all frames, a line each.
pub fn all_names(names: &Recording, stack: Option<StackId>) -> String {
    let list: Vec<&str> = names.frames_of(stack).map(|frame| frame.name()).collect();
    list.join("\n")
}

/// Adds a stack to a text, a line a frame.
pub fn write(out: &mut String, names: &Recording, stack: StackId, most: usize, indent: &str) {
    let mut left = names.frames_of(stack);
    for frame in left.by_ref().take(most) {
        let name = printable(frame.name()).into_owned();
        let place = match (frame.line(), frame.module()) {
            (line, _) if line >= 0 => format!(":{line}"),
            (_, "" | "kernel") => String::new(),
            (_, module) => format!(" ({})", printable(module)),
        };
        let _ = writeln!(out, "{indent}{:<4}{name}{place}", tag(frame.frame_type()));
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
    let one = |frame: StackFrame<'_>| {
        json!({
            "name": frame.name(),
            "module": frame.module(),
            "type": frame.frame_type(),
            "line": (frame.line() >= 0).then_some(frame.line()),
        })
    };
    names.frames_of(stack).map(one).collect()
}
