//! Appends one recording to another.

use crate::narrow::{NONE, Sparse};
use crate::{FrameId, ProcessId, Recording, SourceId, StackId, StrId};

impl Recording {
    /// Adds all rows of `other`, with new ids. Times stay as they are: both must be on the same
    /// clock. Processes stay separate, even where both are of one JVM. Seal the recording
    /// afterwards.
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
        self.identity.in_common(&other.identity);
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
        to.t_ns.extend(from.t_ns);
        to.origins.append(from.origins, |(kind, p, s)| (text(kind), process(p), source(s)));
        to.thread.extend(from.thread.into_iter().map(|id| moved(id, threads)));
        to.stack.extend(from.stack.into_iter().map(|id| moved(id, stacks)));
        from.weight.rows(0..from.weight.len()).for_each(|weight| to.weight.push(weight));

        let origin = |(p, s)| (process(p), source(s));
        self.counts.append(other.counts, text, origin, |id| moved(id, threads));

        let (to, from) = (&mut self.spans, other.spans);
        to.kind.extend(from.kind.into_iter().map(text));
        to.name.extend(from.name.into_iter().map(text));
        to.t0_ns.extend(from.t0_ns);
        to.t1_ns.extend(from.t1_ns);
        to.origins.append(from.origins, origin);
        let sparse = |to: &mut Sparse, from: Sparse, by: u32| {
            from.into_iter().enumerate().for_each(|(i, id)| to.put(spans as usize + i, moved(id, by)));
        };
        sparse(&mut to.thread, from.thread, threads);
        sparse(&mut to.stack, from.stack, stacks);
        sparse(&mut to.parent, from.parent, spans);
        from.line.rows(0..from.line.len()).for_each(|line| to.line.push(line));
        from.key.rows(0..from.key.len()).for_each(|key| to.key.push(key));
        to.figures.append(from.figures, text);
        to.labels.append(from.labels, text);
    }
}
