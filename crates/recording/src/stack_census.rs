//! How many of a recording's CPU samples of Java threads have a complete stack, up to the thread's
//! root, and why the others do not.

use std::collections::BTreeMap;

use crate::vocabulary::frame;
use crate::{Recording, Role, StackId};

/// Stacks of CPU samples, counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StackCensus {
    /// CPU samples with a stack.
    pub samples: u64,
    /// Of them, Java samples: of an application thread of a JVM, or with a Java frame.
    pub java_samples: u64,
    /// Java samples whose stack is complete.
    pub java_whole: u64,
    /// Java samples with a truncated stack, by reason.
    pub cut_by_reason: BTreeMap<String, u64>,
    /// Other samples with a truncated stack, by reason: native threads, the JVM's own threads,
    /// other processes.
    pub other_cut_by_reason: BTreeMap<String, u64>,
}

impl StackCensus {
    /// Counts the stacks of a recording.
    pub fn of(recording: &Recording) -> Self {
        let shapes = shapes(recording);
        let mut census = Self::default();
        let cpu = recording.on_cpu_kind();
        for row in recording.samples.iter().filter(|row| Some(row.kind) == cpu) {
            let Some(shape) = row.stack.and_then(|stack| shapes.get(stack.index())) else { continue };
            census.samples += 1;
            let thread = row.thread.and_then(|thread| recording.threads.get(thread.index()));
            let is_jvm = recording.processes.get(row.process.index()).is_some_and(|process| process.jvm);
            let java = shape.java || (is_jvm && thread.is_some_and(|thread| thread.role == Role::App));
            census.java_samples += u64::from(java);
            let truncated = shape.root.and_then(|root| {
                let name = recording.frames.get(recording.stacks[root.index()].frame.index())?.name;
                frame::cut_reason(recording.strings.get(name))
            });
            match (truncated, java) {
                (None, true) => census.java_whole += 1,
                (None, false) => {}
                (Some(reason), java) => {
                    let counts =
                        if java { &mut census.cut_by_reason } else { &mut census.other_cut_by_reason };
                    *counts.entry(reason.to_owned()).or_default() += 1;
                }
            }
        }
        census
    }

    /// The share of Java samples with a complete stack; `None` where there are no Java samples.
    pub fn whole_share(&self) -> Option<f64> {
        (self.java_samples > 0).then(|| self.java_whole as f64 / self.java_samples as f64)
    }
}

/// What is known of a stack.
#[derive(Clone, Copy, Default)]
struct Shape {
    root: Option<StackId>,
    java: bool,
}

fn shapes(recording: &Recording) -> Vec<Shape> {
    let mut shapes: Vec<Shape> = Vec::with_capacity(recording.stacks.len());
    for (i, node) in recording.stacks.iter().enumerate() {
        // Parents come before their children.
        let above = match node.parent {
            Some(parent) => shapes.get(parent.index()).copied().unwrap_or_default(),
            None => Shape { root: Some(StackId(i as u32)), java: false },
        };
        let frame = recording.frames.get(node.frame.index());
        let java = frame.is_some_and(|frame| frame.frame_type.is_java());
        shapes.push(Shape { root: above.root, java: above.java || java });
    }
    shapes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::sample;
    use crate::{FrameType, Process, SampleRow, Sink, Source};

    #[test]
    fn java_samples_are_complete_or_truncated_for_a_reason() {
        let mut recording = Recording::default();
        let source = recording.add_source(Source::default());
        let process = recording.add_process(Process { jvm: true, ..Process::default() });
        let app = recording.thread(process, Some(1), "main", Role::App);
        let gc = recording.thread(process, Some(2), "GC Thread#0", Role::Gc);
        let root = recording.frame("start_thread", "libc.so.6", FrameType::Native, -1);
        let truncated = recording.frame(&frame::cut("no unwind row"), "", FrameType::Unknown, -1);
        let method = recording.frame("A.b", "", FrameType::C2, 3);
        let whole = recording.stack(None, root);
        let whole_java = recording.stack(Some(whole), method);
        let broken = recording.stack(None, truncated);
        let broken_java = recording.stack(Some(broken), method);
        for (thread, stack) in
            [(app, whole), (app, broken), (gc, whole), (gc, broken), (gc, whole_java), (app, broken_java)]
        {
            recording.sample(&SampleRow {
                kind: sample::CPU,
                t_ns: 0,
                process,
                thread: Some(thread),
                stack: Some(stack),
                weight: 1,
                source,
            });
        }
        let census = StackCensus::of(&recording);
        assert_eq!((census.samples, census.java_samples, census.java_whole), (6, 4, 2));
        assert_eq!(census.whole_share(), Some(0.5));
        assert_eq!(census.cut_by_reason, BTreeMap::from([("no unwind row".to_owned(), 2)]));
        assert_eq!(census.other_cut_by_reason.values().sum::<u64>(), 1);
        assert_eq!(StackCensus::default().whole_share(), None);
    }
}
