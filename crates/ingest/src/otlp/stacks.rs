//! Stacks of a dictionary as stacks of the recording, each made once.

use fathom_recording::{FrameId, FrameType, Sink, StackId};
use rustc_hash::FxHashMap;

use super::dictionary::Dictionary;
use super::wire::{Function, KeyValueAndUnit, Location, Mapping, Stack, dictionary};
use crate::folded::frame_of;
use crate::java_names;

/// Frames of a stack that are kept, the innermost ones.
const DEEPEST: usize = 4096;
/// Functions inlined at one address that are kept. Compilers stop at some ten.
const INLINED: usize = 128;
/// Frames for each byte of the dictionary: an honest stack takes a byte or more for a location,
/// which has few functions.
const FRAMES_PER_BYTE: usize = 16;

/// See the module.
pub(super) struct Stacks {
    /// Each with whether it has a frame of Java.
    stacks: FxHashMap<i32, (Option<StackId>, bool)>,
    /// Frames of each location, the innermost first, and whether one is of Java.
    locations: FxHashMap<i32, (Vec<FrameId>, bool)>,
    /// Frames that may still be walked.
    left: usize,
    pub(super) missing: u64,
}

impl Stacks {
    pub(super) fn new(bytes: usize) -> Self {
        Self {
            stacks: FxHashMap::default(),
            locations: FxHashMap::default(),
            left: bytes.saturating_mul(FRAMES_PER_BYTE),
            missing: 0,
        }
    }

    pub(super) fn stack(
        &mut self,
        sink: &mut dyn Sink,
        tables: &Dictionary<'_>,
        index: i32,
    ) -> (Option<StackId>, bool) {
        if let Some(known) = self.stacks.get(&index) {
            return *known;
        }
        let stack = self.made(sink, tables, index);
        self.stacks.insert(index, stack);
        stack
    }

    fn made(&mut self, sink: &mut dyn Sink, tables: &Dictionary<'_>, index: i32) -> (Option<StackId>, bool) {
        let Some(stack) = tables.entry::<Stack>(dictionary::STACK, index) else {
            self.missing += u64::from(index != 0);
            return (None, false);
        };
        let (mut frames, mut java) = (Vec::<FrameId>::new(), false);
        for id in stack.locations {
            if frames.len() >= DEEPEST || self.left == 0 {
                break;
            }
            if !self.locations.contains_key(&id) {
                let of_location = self.location(sink, tables, id);
                self.locations.insert(id, of_location);
            }
            if let Some((known, of_java)) = self.locations.get(&id) {
                frames.extend(known);
                java |= of_java;
                self.left = self.left.saturating_sub(known.len());
            }
        }
        let mut stack = None;
        for frame in frames.into_iter().rev() {
            stack = Some(sink.stack(stack, frame));
        }
        (stack, java)
    }

    fn location(&mut self, sink: &mut dyn Sink, tables: &Dictionary<'_>, index: i32) -> (Vec<FrameId>, bool) {
        let Some(location) = tables.entry::<Location>(dictionary::LOCATION, index) else {
            self.missing += 1;
            return (vec![sink.frame("[unknown]", "", FrameType::Unknown, -1)], false);
        };
        let said = Said::of(tables, &location.attributes);
        let mapping = tables.entry::<Mapping>(dictionary::MAPPING, location.mapping);
        let file = mapping.map(|mapping| tables.text(mapping.file).into_owned()).unwrap_or_default();
        let module = said.module.as_deref().unwrap_or(file.rsplit('/').next().unwrap_or_default());
        if location.lines.is_empty() {
            let frame_type = said.frame_type.unwrap_or(FrameType::Unknown);
            let name = if location.address == 0 && !module.is_empty() {
                format!("[{module}]")
            } else {
                format!("{:#x}", location.address)
            };
            return (vec![sink.frame(&name, module, frame_type, -1)], false);
        }
        let (mut frames, mut java) = (Vec::new(), false);
        for line in location.lines.iter().take(INLINED) {
            let function = tables.entry::<Function>(dictionary::FUNCTION, line.function).unwrap_or_default();
            self.missing += u64::from(!tables.has(dictionary::FUNCTION, line.function));
            let name = match function.name {
                0 => tables.text(function.system_name),
                name => tables.text(name),
            };
            let (name, frame_type) = said.name(&name, module);
            java |= !matches!(frame_type, FrameType::Native | FrameType::Kernel | FrameType::Jvm);
            let module = if frame_type == FrameType::Kernel { "kernel" } else { module };
            let number = i32::try_from(line.line).ok().filter(|n| *n > 0).unwrap_or(-1);
            frames.push(sink.frame(&name, module, frame_type, number));
        }
        (frames, java)
    }
}

/// What attributes of a location say of its frames.
#[derive(Default)]
struct Said {
    frame_type: Option<FrameType>,
    /// Whether the type is all that fathom knows, and not one of OpenTelemetry's few.
    exactly: bool,
    module: Option<String>,
}

impl Said {
    fn of(tables: &Dictionary<'_>, attributes: &[i32]) -> Self {
        let mut said = Self::default();
        for index in attributes.iter().take(INLINED) {
            let Some(attribute) = tables.entry::<KeyValueAndUnit>(dictionary::ATTRIBUTE, *index) else {
                continue;
            };
            let text = attribute.value.map(|value| tables.value_text(&value)).unwrap_or_default();
            match &*tables.text(attribute.key) {
                "profile.frame.type" if !said.exactly => {
                    said.frame_type = match text.as_str() {
                        // Interpreted or compiled by whom is not said.
                        "jvm" => Some(FrameType::Unknown),
                        "kernel" => Some(FrameType::Kernel),
                        "native" | "go" | "rust" => Some(FrameType::Native),
                        _ => said.frame_type,
                    }
                }
                "fathom.frame.type" => {
                    if let Some(known) = exact(&text) {
                        (said.frame_type, said.exactly) = (Some(known), true);
                    }
                }
                "fathom.module" => said.module = Some(text),
                _ => {}
            }
        }
        said
    }

    /// A function's name in fathom's spelling, and its type.
    fn name(&self, name: &str, module: &str) -> (String, FrameType) {
        match self.frame_type {
            Some(frame_type) if self.exactly => (name.to_owned(), frame_type),
            Some(FrameType::Kernel) => (name.to_owned(), FrameType::Kernel),
            Some(FrameType::Unknown) => {
                (java_names::method(without_signature(name)).into_owned(), FrameType::Unknown)
            }
            _ if module == "libjvm.so" => (java_names::native(name).into_owned(), FrameType::Jvm),
            Some(frame_type) => (java_names::native(name).into_owned(), frame_type),
            None if module.starts_with("[kernel") => (name.to_owned(), FrameType::Kernel),
            None => frame_of(name),
        }
    }
}

/// A type of frames as `fathom export` writes it.
fn exact(text: &str) -> Option<FrameType> {
    Some(match text {
        "interpreted" => FrameType::Interpreted,
        "c1" => FrameType::C1,
        "c2" => FrameType::C2,
        "inlined" => FrameType::Inlined,
        "stub" => FrameType::Stub,
        "native" => FrameType::Native,
        "jvm" => FrameType::Jvm,
        "kernel" => FrameType::Kernel,
        "unknown" => FrameType::Unknown,
        _ => return None,
    })
}

/// "void java.lang.Thread.run()", as OpenTelemetry's profiler has it, without result and arguments.
fn without_signature(name: &str) -> &str {
    let Some((method, _)) = name.split_once('(') else { return name };
    method.rsplit(' ').next().unwrap_or(method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_named_without_its_signature() {
        assert_eq!(without_signature("void java.lang.Thread.run()"), "java.lang.Thread.run");
        assert_eq!(without_signature("Main.main"), "Main.main");
    }
}
