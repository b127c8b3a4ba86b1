//! Samples: a stack seen at a moment, standing for a weight; with the dictionaries of frames and stacks.

use serde::{Deserialize, Serialize};

use crate::{FrameId, ProcessId, SourceId, StackId, StrId, ThreadId};

/// What kind of code a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrameType {
    /// Java, run by the interpreter.
    Interpreted,
    /// Java, compiled by C1.
    C1,
    /// Java, compiled by C2 (or another top-tier compiler).
    C2,
    /// Java, inlined into the frame below it.
    Inlined,
    /// A stub, adapter or intrinsic of the JVM.
    Stub,
    /// Native code outside the JVM.
    Native,
    /// The JVM's own native code.
    Jvm,
    /// The kernel.
    Kernel,
    /// Not known.
    Unknown,
}

/// A frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// What kind of code it is.
    pub frame_type: FrameType,
    /// Class and method, or function.
    pub name: StrId,
    /// Module, library or file.
    pub module: StrId,
    /// Source line, -1 when unknown.
    pub line: i32,
}

/// A node of the stack prefix tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackNode {
    /// The caller's node; `None` at the root.
    pub parent: Option<StackId>,
    /// This node's frame.
    pub frame: FrameId,
}

/// One sample on its way into a recording.
#[derive(Clone, Copy, Debug)]
pub struct SampleRow<'a> {
    /// What was sampled: "cpu", "wall", "alloc".
    pub kind: &'a str,
    /// When, nanoseconds on the source's clock.
    pub t_ns: i64,
    /// Of which process.
    pub process: ProcessId,
    /// On which thread.
    pub thread: Option<ThreadId>,
    /// The stack seen.
    pub stack: Option<StackId>,
    /// What it stands for: nanoseconds, bytes or counts, as the kind says.
    pub weight: i64,
    /// The source that told it.
    pub source: SourceId,
}

/// All samples, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    pub(crate) kind: Vec<StrId>,
    pub(crate) t_ns: Vec<i64>,
    pub(crate) process: Vec<ProcessId>,
    pub(crate) thread: Vec<u32>,
    pub(crate) stack: Vec<u32>,
    pub(crate) weight: Vec<i64>,
    pub(crate) source: Vec<SourceId>,
}

impl Samples {
    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// Memory that they take, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.kind.capacity() * size_of::<Sample>()
    }

    /// Gives back what is reserved for more.
    pub(crate) fn shrink(&mut self) {
        self.kind.shrink_to_fit();
        self.t_ns.shrink_to_fit();
        self.process.shrink_to_fit();
        self.thread.shrink_to_fit();
        self.stack.shrink_to_fit();
        self.weight.shrink_to_fit();
        self.source.shrink_to_fit();
    }

    /// All samples in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Sample> + '_ {
        (0..self.len()).map(move |i| self.at(i))
    }

    /// The sample at a place in their order; `None` behind the last.
    pub fn get(&self, place: usize) -> Option<Sample> {
        (place < self.len()).then(|| self.at(place))
    }

    fn at(&self, i: usize) -> Sample {
        let id = |id: u32| (id != crate::spans::NONE).then_some(id);
        Sample {
            kind: self.kind[i],
            t_ns: self.t_ns[i],
            process: self.process[i],
            thread: id(self.thread[i]).map(ThreadId),
            stack: id(self.stack[i]).map(StackId),
            weight: self.weight[i],
            source: self.source[i],
        }
    }
}

/// A sample of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// What was sampled, in the recording's strings.
    pub kind: StrId,
    /// When, nanoseconds.
    pub t_ns: i64,
    /// Of which process.
    pub process: ProcessId,
    /// On which thread.
    pub thread: Option<ThreadId>,
    /// The stack seen.
    pub stack: Option<StackId>,
    /// What it stands for: nanoseconds, bytes or counts, as the kind says.
    pub weight: i64,
    /// The source that told it.
    pub source: SourceId,
}
