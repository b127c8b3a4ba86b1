//! Merges the rows of one thread that several sources recorded. Call it before [`Recording::seal`].
//!
//! A flight recording has a thread's whole name, the kernel its first 15 characters, a trace of
//! system calls often only its id. Within a process the id identifies a thread, unless it was
//! reused for a thread of another name.

use std::collections::{BTreeMap, HashMap};

use crate::jvm_text::kept_by_kernel;
use crate::spans::NONE;
use crate::{ProcessId, Recording, Role, ThreadId};

impl Recording {
    /// Moves the rows of one thread under several names to one of its entries, which gets the
    /// longest name. The other entries stay and have no span, count or sample.
    pub fn merge_threads(&mut self) {
        // The entries that stay, each with its longest name.
        let mut by_tid: HashMap<(ProcessId, i64), Vec<(ThreadId, &str)>> = HashMap::new();
        let mut moved: BTreeMap<u32, u32> = BTreeMap::new();
        for (i, thread) in self.threads.iter().enumerate() {
            let Some(tid) = thread.tid else { continue };
            let rows = by_tid.entry((thread.process, tid)).or_default();
            let name = self.strings.get(thread.name);
            match rows.iter_mut().find(|(_, known)| are_one(name, known)) {
                Some((row, known)) => {
                    moved.insert(i as u32, row.0);
                    *known = if name.len() > known.len() { name } else { *known };
                }
                None => rows.push((ThreadId(i as u32), name)),
            }
        }
        if moved.is_empty() {
            return;
        }
        for (from, into) in &moved {
            let (donor, host) = (self.threads[*from as usize].clone(), *into as usize);
            let longer = self.strings.get(donor.name).len() > self.strings.get(self.threads[host].name).len();
            let host = &mut self.threads[host];
            if longer {
                host.name = donor.name;
            }
            if host.role == Role::Other || (longer && donor.role != Role::Other) {
                host.role = donor.role;
            }
        }
        let new = |id: u32| moved.get(&id).copied().unwrap_or(id);
        for threads in [&mut self.spans.thread, &mut self.counts.thread] {
            for (i, id) in std::mem::take(threads).into_iter().enumerate() {
                threads.put(i, if id == NONE { NONE } else { new(id) });
            }
        }
        self.samples.thread.iter_mut().filter(|id| **id != NONE).for_each(|id| *id = new(*id));
    }
}

/// Whether two names of one thread id belong to one thread.
fn are_one(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    short.is_empty() || short == long || short == kept_by_kernel(long)
}

#[cfg(test)]
mod tests {
    use crate::{CountRow, Process, Recording, Role, SampleRow, Sink, Source, SpanRow, ThreadId};

    #[test]
    fn a_thread_reported_by_three_sources_is_one() {
        let mut recording = Recording::new();
        let process = recording.add_process(Process::default());
        let source = recording.add_source(Source::default());
        let names = [("", Role::Other), ("C2 CompilerThre", Role::Other), ("C2 CompilerThread0", Role::Jit)];
        let mut ids: Vec<ThreadId> =
            names.iter().map(|(name, role)| recording.thread(process, Some(7), name, *role)).collect();
        // The kernel gave the id to another thread later on.
        ids.push(recording.thread(process, Some(7), "http-1", Role::App));
        for thread in &ids {
            let row = SpanRow { thread: Some(*thread), ..SpanRow::new("k", "", (0, 1), process, source) };
            recording.span(&SpanRow { thread: None, ..row });
            recording.span(&row);
            let count = CountRow::new("c", "", (0, 1), process, source, 1);
            recording.count(&CountRow { thread: Some(*thread), ..count });
            let kind = "cpu";
            recording.sample(&SampleRow {
                kind,
                t_ns: 0,
                process,
                thread: Some(*thread),
                stack: None,
                weight: 1,
                source,
            });
        }
        recording.merge_threads();
        recording.seal();
        let of = |id: ThreadId| {
            let thread = &recording.threads[id.index()];
            (recording.strings.get(thread.name), thread.role)
        };
        let spans: Vec<_> = recording.spans_of("k").map(|span| span.thread().map(of)).collect();
        let compiler = Some(("C2 CompilerThread0", Role::Jit));
        let expected = [None, compiler, None, compiler, None, compiler, None, Some(("http-1", Role::App))];
        assert_eq!(spans, expected);
        let counts: Vec<_> = recording.counts_of("c").filter_map(|count| count.thread()).collect();
        assert_eq!(counts, [ids[0], ids[0], ids[0], ids[3]]);
        let samples: Vec<_> = recording.samples.iter().filter_map(|sample| sample.thread).collect();
        assert_eq!(samples, [ids[0], ids[0], ids[0], ids[3]]);
    }

    #[test]
    fn a_name_of_any_characters_is_that_of_which_the_kernel_keeps_the_beginning() {
        let mut recording = Recording::new();
        let process = recording.add_process(Process::default());
        // The kernel keeps 15 bytes of what a JVM gives it, in which this character has six.
        for (tid, kept, name) in
            [(1, "\u{1f980}worker-73", "\u{1f980}worker-73 of pool"), (2, "請求執行緒", "請求執行緒-1")]
        {
            recording.thread(process, Some(tid), kept, Role::App);
            recording.thread(process, Some(tid), name, Role::App);
        }
        let other = recording.thread(process, Some(2), "請求執行", Role::App);
        recording.merge_threads();
        let name = |id: usize| recording.strings.get(recording.threads[id].name);
        assert_eq!(name(0), "\u{1f980}worker-73 of pool");
        assert_eq!(name(2), "請求執行緒-1");
        assert_eq!(name(other.index()), "請求執行", "shorter than what is kept: another thread");
    }
}
