//! Samples: a stack taken at one time, with a weight; and the dictionaries of frames and stacks.

use serde::{Deserialize, Serialize};

use crate::narrow::Narrow;
use crate::row_origins::Origins;
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
    /// Unknown.
    Unknown,
}

impl FrameType {
    /// Whether it is a Java method, however it runs.
    pub fn is_java(self) -> bool {
        matches!(self, Self::Interpreted | Self::C1 | Self::C2 | Self::Inlined)
    }
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

/// One sample to be added to a recording.
#[derive(Clone, Copy, Debug)]
pub struct SampleRow<'a> {
    /// What was sampled: "cpu", "wall", "alloc".
    pub kind: &'a str,
    /// When, nanoseconds on the source's clock.
    pub t_ns: i64,
    /// Its process.
    pub process: ProcessId,
    /// Its thread.
    pub thread: Option<ThreadId>,
    /// The stack.
    pub stack: Option<StackId>,
    /// Its weight: nanoseconds, bytes or counts, depending on the kind.
    pub weight: i64,
    /// Its source.
    pub source: SourceId,
}

/// All samples, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    pub(crate) origins: Origins<(StrId, ProcessId, SourceId)>,
    pub(crate) t_ns: Vec<i64>,
    pub(crate) thread: Vec<u32>,
    pub(crate) stack: Vec<u32>,
    /// As bits of an `i64`.
    pub(crate) weight: Narrow,
}

impl Samples {
    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.origins.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Memory in use, bytes.
    pub(crate) fn bytes(&self) -> usize {
        let ids = self.thread.capacity() + self.stack.capacity();
        self.origins.bytes() + 8 * self.t_ns.capacity() + 4 * ids + self.weight.bytes()
    }

    /// Releases reserved memory.
    pub(crate) fn shrink(&mut self) {
        self.origins.shrink();
        self.t_ns.shrink_to_fit();
        self.thread.shrink_to_fit();
        self.stack.shrink_to_fit();
        self.weight.shrink();
    }

    /// All samples in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Sample> + '_ {
        (0..self.len()).map(move |i| self.at(i))
    }

    /// The kind of each of them.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = StrId> + '_ {
        self.origins.rows(0..self.len()).map(|(kind, ..)| kind)
    }

    /// The sample at an index; `None` beyond the last.
    pub fn get(&self, place: usize) -> Option<Sample> {
        (place < self.len()).then(|| self.at(place))
    }

    fn at(&self, i: usize) -> Sample {
        let id = |id: u32| (id != crate::spans::NONE).then_some(id);
        let (kind, process, source) = self.origins.of(i);
        Sample {
            kind,
            t_ns: self.t_ns[i],
            process,
            thread: id(self.thread[i]).map(ThreadId),
            stack: id(self.stack[i]).map(StackId),
            weight: self.weight.get(i) as i64,
            source,
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
    /// Its process.
    pub process: ProcessId,
    /// Its thread.
    pub thread: Option<ThreadId>,
    /// The stack.
    pub stack: Option<StackId>,
    /// Its weight: nanoseconds, bytes or counts, depending on the kind.
    pub weight: i64,
    /// Its source.
    pub source: SourceId,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Process, Recording, Sink, Source};

    #[test]
    fn nodes_asked_for_at_once_are_those_asked_for_one_by_one() {
        let (mut one, mut many) = (Recording::new(), Recording::new());
        let mut state = 1u64;
        for _ in 0..3_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let frames: Vec<_> =
                (0..state >> 61).map(|i| FrameId((state >> (20 + 4 * i)) as u32 % 3)).collect();
            let (mut nodes, mut expected, mut parent) = (Vec::new(), Vec::new(), None);
            many.path(None, &frames, &mut nodes);
            for frame in &frames {
                parent = Some(one.stack(parent, *frame));
                expected.extend(parent);
            }
            assert_eq!(nodes, expected);
        }
        let distinct: std::collections::HashSet<_> = one.stacks.iter().collect();
        assert_eq!((distinct.len(), &one.stacks), (one.stacks.len(), &many.stacks));
    }

    #[test]
    fn samples_come_back_whatever_their_weight_and_source() {
        let mut recording = Recording::new();
        let process = recording.add_process(Process::default());
        let sources = [recording.add_source(Source::default()), recording.add_source(Source::default())];
        let rows =
            [("cpu", 10), ("cpu", 10), ("alloc", i64::MAX), ("cpu", -1), ("alloc", 1 << 32), ("cpu", 0)];
        for (i, (kind, weight)) in rows.into_iter().enumerate() {
            let (t_ns, source) = (i as i64, sources[i % 2]);
            recording.sample(&SampleRow { kind, t_ns, process, thread: None, stack: None, weight, source });
        }
        let strings = &recording.strings;
        let read: Vec<_> = recording.samples.iter().map(|s| (strings.get(s.kind), s.weight)).collect();
        assert_eq!(read, rows);
        assert!(recording.samples.iter().enumerate().all(|(i, s)| s.source == sources[i % 2]));
        assert_eq!(recording.sample_kinds(), [("alloc", 2), ("cpu", 4)]);
    }
}
