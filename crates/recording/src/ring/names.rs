//! A generation of frames and stacks, whose ids continue where the previous one ended.

use crate::{FrameId, FrameType, Recording, Sink, StackId};

/// The first id of a generation is below this, so that the ids of the largest generation do not
/// overflow.
const LAST_FIRST: u32 = 1 << 31;

/// See the module.
#[derive(Default)]
pub(super) struct Names {
    /// Frames, stacks and their strings, with ids from 0.
    inner: Recording,
    first_frame: u32,
    first_stack: u32,
}

impl Names {
    pub fn from(first_frame: u32, first_stack: u32) -> Self {
        Self { inner: Recording::new(), first_frame, first_stack }
    }

    /// The next generation, empty.
    pub fn next(&self) -> Self {
        let behind = |first: u32, count: usize| match first.checked_add(count as u32) {
            Some(next) if next < LAST_FIRST => next,
            // After two thousand million ids, the first ones are free again.
            _ => 0,
        };
        Self::from(
            behind(self.first_frame, self.inner.frames.len()),
            behind(self.first_stack, self.inner.stacks.len()),
        )
    }

    pub fn frame(&mut self, name: &str, module: &str, frame_type: FrameType, line: i32) -> FrameId {
        FrameId(self.first_frame + self.inner.frame(name, module, frame_type, line).0)
    }

    /// A node. If its frame is of another generation, the frame is an unknown one.
    pub fn stack(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        let known =
            frame.0.checked_sub(self.first_frame).filter(|id| (*id as usize) < self.inner.frames.len());
        let frame = match known {
            Some(id) => FrameId(id),
            None => self.inner.frame("[forgotten]", "", FrameType::Unknown, -1),
        };
        let parent = parent.filter(|parent| self.has(*parent));
        let parent = parent.map(|parent| StackId(parent.0 - self.first_stack));
        StackId(self.first_stack + self.inner.stack(parent, frame).0)
    }

    /// Whether a stack is of this generation.
    pub fn has(&self, stack: StackId) -> bool {
        stack.0.checked_sub(self.first_stack).is_some_and(|id| (id as usize) < self.inner.stacks.len())
    }

    pub fn bytes(&self) -> usize {
        self.inner.bytes()
    }

    /// Frames and stacks, and the id of the first stack.
    pub fn inner(&self) -> (&Recording, u32) {
        (&self.inner, self.first_stack)
    }

    /// Frames of a stack, innermost first.
    pub fn frames(&self, stack: Option<StackId>, most: usize) -> Vec<(String, FrameType)> {
        let known = stack.filter(|stack| self.has(*stack));
        let stack = known.map(|stack| StackId(stack.0 - self.first_stack));
        let frames = self.inner.frames_of(stack).take(most);
        frames.map(|frame| (frame.name().to_owned(), frame.frame_type())).collect()
    }
}
