//! One frame of a stack of a recording.

use super::Recording;
use crate::samples::{Frame, FrameType};
use crate::{FrameId, StackId, StrId};

/// A frame of a stack, read in place.
#[derive(Clone, Copy)]
pub struct StackFrame<'a> {
    recording: &'a Recording,
    stack: StackId,
    id: FrameId,
    frame: &'a Frame,
}

impl Recording {
    /// Frames of a stack, the innermost first; none where there is no stack.
    pub fn frames_of(&self, stack: impl Into<Option<StackId>>) -> impl Iterator<Item = StackFrame<'_>> {
        let mut next = stack.into();
        std::iter::from_fn(move || {
            let stack = next.take()?;
            let node = self.stacks.get(stack.index())?;
            let frame = self.frames.get(node.frame.index())?;
            next = node.parent;
            Some(StackFrame { recording: self, stack, id: node.frame, frame })
        })
    }
}

impl<'a> StackFrame<'a> {
    /// Class and method, or function.
    pub fn name(&self) -> &'a str {
        self.recording.strings.get(self.frame.name)
    }

    /// The same as an id.
    pub fn name_id(&self) -> StrId {
        self.frame.name
    }

    /// Module, library or file.
    pub fn module(&self) -> &'a str {
        self.recording.strings.get(self.frame.module)
    }

    /// Source line, -1 when unknown.
    pub fn line(&self) -> i32 {
        self.frame.line
    }

    /// What kind of code it is.
    pub fn frame_type(&self) -> FrameType {
        self.frame.frame_type
    }

    /// Whether it is a Java method.
    pub fn is_java(&self) -> bool {
        self.frame.frame_type.is_java()
    }

    /// Its row in the table of frames.
    pub fn id(&self) -> FrameId {
        self.id
    }

    /// The stack from it on outwards.
    pub fn stack(&self) -> StackId {
        self.stack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sink;

    #[test]
    fn frames_come_innermost_first_and_a_stack_of_nothing_has_none() {
        let mut recording = Recording::new();
        let mut stack = None;
        for (name, by, line) in [("Thread.run", FrameType::C2, 3), ("write", FrameType::Kernel, -1)] {
            let frame = recording.frame(name, "somewhere", by, line);
            stack = Some(recording.stack(stack, frame));
        }
        let frames: Vec<_> = recording.frames_of(stack).collect();
        let words: Vec<_> = frames.iter().map(|frame| (frame.name(), frame.module(), frame.line())).collect();
        assert_eq!(words, [("write", "somewhere", -1), ("Thread.run", "somewhere", 3)]);
        assert_eq!(frames.iter().map(StackFrame::is_java).collect::<Vec<_>>(), [false, true]);
        let from_outer = recording.frames_of(frames[1].stack()).map(|frame| frame.id());
        assert_eq!(from_outer.collect::<Vec<_>>(), [frames[1].id()]);
        assert_eq!(recording.frames_of(None).count(), 0);
    }
}
