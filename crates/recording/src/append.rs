//! Appends one recording to another, and remembers which rows are whose.

use crate::narrow::{NONE, Sparse};
use crate::{FrameId, ProcessId, Recording, RecordingPart, SourceId, StackId, StrId};

impl Recording {
    /// Adds all rows of `other`, with new ids. Times stay as they are: both must be on the same
    /// clock. Processes stay separate, even where both are of one JVM. Seal the recording
    /// afterwards.
    pub fn append(&mut self, other: Self) {
        if self.sources.is_empty() && self.processes.is_empty() && self.strings.is_empty() {
            *self = other;
            if self.parts.is_empty() {
                self.parts.push(self.whole());
            }
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

        let before = [processes, sources, threads, stacks];
        if self.parts.is_empty() {
            self.parts.push(self.whole());
        }
        match other.parts.is_empty() {
            true => self.parts.push(other.whole().behind(before)),
            false => self.parts.extend(other.parts.iter().map(|part| part.clone().behind(before))),
        }
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

    /// The recordings that it is made of; empty of files that are none.
    pub fn parts(&self) -> Vec<RecordingPart> {
        if !self.parts.is_empty() || self.identity.recording.is_none() {
            return self.parts.clone();
        }
        vec![self.whole()]
    }

    /// The id of the recording that a process was read from; `None` of one that a file names.
    pub fn recording_of(&self, process: ProcessId) -> Option<&str> {
        if self.parts.is_empty() {
            return self.identity.recording.as_deref();
        }
        let of = self.parts.iter().find(|part| (part.processes.from..part.processes.to).contains(&process.0));
        of?.recording.as_deref()
    }

    /// All of its rows as one part.
    pub(crate) fn whole(&self) -> RecordingPart {
        RecordingPart {
            recording: self.identity.recording.clone(),
            host: self.identity.host.clone(),
            service: self.identity.service.clone(),
            processes: (0..self.processes.len()).into(),
            sources: (0..self.sources.len()).into(),
            threads: (0..self.threads.len()).into(),
            stacks: (0..self.stacks.len()).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Process, Role, Sink};

    fn recorded(id: &str, processes: usize) -> Recording {
        let mut recording = Recording::new();
        recording.identity.recording = Some(id.to_owned());
        for i in 0..processes {
            let process = recording.add_process(Process::default());
            recording.thread(process, Some(i as i64), "main", Role::App);
        }
        recording
    }

    #[test]
    fn a_process_of_several_recordings_is_known_with_the_one_that_it_is_of() {
        let alone = recorded("a", 2);
        assert_eq!((alone.recording_of(ProcessId(1)), alone.parts().len()), (Some("a"), 1));
        let mut all = Recording::new();
        all.append(alone);
        all.append(recorded("b", 3));
        // A log that is read next to them is of neither.
        let of_log = all.add_process(Process::default());
        let of = |id: u32| all.recording_of(ProcessId(id));
        assert_eq!([of(0), of(1), of(2), of(4)], [Some("a"), Some("a"), Some("b"), Some("b")]);
        assert_eq!((of(of_log.0), all.identity.recording.as_deref()), (None, None));
        let ids = all.parts().into_iter().map(|part| (part.processes.from, part.threads.to));
        assert_eq!(ids.collect::<Vec<_>>(), [(0, 2), (2, 5)]);
        let mut more = Recording::new();
        more.append(recorded("c", 1));
        more.append(all);
        let of = [1, 3, 6].map(|id| more.recording_of(ProcessId(id)));
        assert_eq!(of, [Some("a"), Some("b"), None]);
    }
}
