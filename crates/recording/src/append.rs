//! Several recordings as one.

use crate::spans::NONE;
use crate::{FrameId, ProcessId, Recording, SourceId, StackId, StrId};

impl Recording {
    /// Adds all rows of `other`, with the ids that they get here. Times stay as they are: both are on the one clock.
    /// Processes stay apart, also where both tell of one JVM. Seal it afterwards.
    pub fn append(&mut self, other: Self) {
        if self.sources.is_empty() && self.processes.is_empty() && self.strings.is_empty() {
            *self = other;
            return;
        }
        let strings: Vec<StrId> = (0..other.strings.len() as u32)
            .map(|id| self.strings.intern(other.strings.get(StrId(id))))
            .collect();
        let text = |id: StrId| strings[id.index()];
        let processes = self.processes.len() as u32;
        let process = |id: ProcessId| ProcessId(id.0 + processes);
        let sources = self.sources.len() as u32;
        let source = |id: SourceId| SourceId(id.0 + sources);
        let (threads, stacks) = (self.threads.len() as u32, self.stacks.len() as u32);
        let (frames, spans) = (self.frames.len() as u32, self.spans.len() as u32);
        let moved = |id: u32, by: u32| if id == NONE { NONE } else { id + by };

        self.cut |= other.cut;
        self.processes.extend(other.processes);
        self.sources.extend(other.sources);
        for source in &mut self.sources[sources as usize..] {
            source.process = source.process.map(|id| id + processes);
        }
        for mut thread in other.threads {
            (thread.process, thread.name) = (process(thread.process), text(thread.name));
            self.add_thread(thread);
        }
        for mut frame in other.frames {
            (frame.name, frame.module) = (text(frame.name), text(frame.module));
            self.add_frame(frame);
        }
        for mut node in other.stacks {
            node.parent = node.parent.map(|parent| StackId(parent.0 + stacks));
            node.frame = FrameId(node.frame.0 + frames);
            self.add_stack(node);
        }
        for mut series in other.series {
            series.info.process = series.info.process.map(process);
            series.info.source = source(series.info.source);
            self.series.push(series);
        }

        let (to, from) = (&mut self.samples, other.samples);
        to.kind.extend(from.kind.into_iter().map(text));
        to.t_ns.extend(from.t_ns);
        to.process.extend(from.process.into_iter().map(process));
        to.thread.extend(from.thread.into_iter().map(|id| moved(id, threads)));
        to.stack.extend(from.stack.into_iter().map(|id| moved(id, stacks)));
        to.weight.extend(from.weight);
        to.source.extend(from.source.into_iter().map(source));

        let (to, from) = (&mut self.spans, other.spans);
        let labels = to.labels.len() as u32;
        to.kind.extend(from.kind.into_iter().map(text));
        to.name.extend(from.name.into_iter().map(text));
        to.t0_ns.extend(from.t0_ns);
        to.t1_ns.extend(from.t1_ns);
        to.process.extend(from.process.into_iter().map(process));
        to.thread.extend(from.thread.into_iter().map(|id| moved(id, threads)));
        for (i, stack) in from.stack.into_iter().enumerate() {
            to.push_stack(spans as usize + i, moved(stack, stacks));
        }
        to.source.extend(from.source.into_iter().map(source));
        to.line.extend(from.line);
        to.key.extend(from.key);
        to.parent.extend(from.parent.into_iter().map(|id| moved(id, spans)));
        to.labels_end.extend(from.labels_end.into_iter().map(|end| end + labels));
        to.figures.append(from.figures, text);
        to.labels.extend(from.labels.into_iter().map(|(key, value)| (text(key), text(value))));
    }
}
