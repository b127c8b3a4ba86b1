//! Sources, processes, threads and series that rows refer to, kept while they are alive or a row
//! refers to them.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::segment::Segment;
use crate::spans::NONE;
use crate::{Process, ProcessId, Role, SeriesId, SeriesInfo, Source, SourceId, ThreadId};

/// A thread with its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Named {
    pub process: ProcessId,
    pub tid: Option<i64>,
    pub name: String,
    pub role: Role,
}

/// Rows whose ids are never reused.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    rows: BTreeMap<u32, T>,
    next: u32,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), next: 0 }
    }
}

impl<T> Table<T> {
    fn add(&mut self, row: T) -> u32 {
        let after = |id: u32| if id >= NONE - 1 { 0 } else { id + 1 };
        let mut id = self.next;
        // After four thousand million threads it starts again, skipping ids that are in use.
        while self.rows.contains_key(&id) {
            id = after(id);
        }
        self.rows.insert(id, row);
        self.next = after(id);
        id
    }

    pub fn get(&self, id: u32) -> Option<&T> {
        self.rows.get(&id)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.rows.iter().map(|(id, row)| (*id, row))
    }
}

/// See the module.
#[derive(Clone, Default)]
pub(super) struct Entities {
    pub sources: Table<Source>,
    pub processes: Table<Process>,
    pub threads: Table<Named>,
    pub series: Table<SeriesInfo>,
    ids: HashMap<Named, ThreadId>,
    /// Writes to rows that were dropped go here.
    nobody: (Source, Process),
}

impl Entities {
    pub fn add_source(&mut self, source: Source) -> SourceId {
        SourceId(self.sources.add(source))
    }

    pub fn source_mut(&mut self, id: SourceId) -> &mut Source {
        self.sources.rows.get_mut(&id.0).unwrap_or(&mut self.nobody.0)
    }

    pub fn add_process(&mut self, process: Process) -> ProcessId {
        ProcessId(self.processes.add(process))
    }

    pub fn process_mut(&mut self, id: ProcessId) -> &mut Process {
        self.processes.rows.get_mut(&id.0).unwrap_or(&mut self.nobody.1)
    }

    pub fn process(&self, id: ProcessId) -> Option<&Process> {
        self.processes.get(id.0)
    }

    pub fn thread(&mut self, process: ProcessId, tid: Option<i64>, name: &str, role: Role) -> ThreadId {
        let named = Named { process, tid, name: name.to_owned(), role };
        if let Some(id) = self.ids.get(&named) {
            return *id;
        }
        let id = ThreadId(self.threads.add(named.clone()));
        self.ids.insert(named, id);
        id
    }

    pub fn rename_thread(&mut self, id: ThreadId, name: &str, role: Role) {
        let Some(thread) = self.threads.rows.get_mut(&id.0) else { return };
        if self.ids.get(thread) == Some(&id) {
            self.ids.remove(thread);
        }
        (thread.name, thread.role) = (name.to_owned(), role);
        self.ids.entry(thread.clone()).or_insert(id);
    }

    pub fn thread_name(&self, id: ThreadId) -> &str {
        self.threads.get(id.0).map_or("", |thread| thread.name.as_str())
    }

    pub fn thread_role(&self, id: ThreadId) -> Role {
        self.threads.get(id.0).map_or(Role::Other, |thread| thread.role)
    }

    pub fn add_series(&mut self, info: SeriesInfo) -> SeriesId {
        SeriesId(self.series.add(info))
    }

    pub fn series(&self, id: SeriesId) -> Option<&SeriesInfo> {
        self.series.get(id.0)
    }

    /// Records lost so far, of the sources that lost any.
    pub fn losses(&self) -> Vec<(u32, u64)> {
        self.sources.iter().filter(|(_, s)| s.lost > 0).map(|(id, s)| (id, s.lost)).collect()
    }

    pub fn len(&self) -> usize {
        let sources = self.sources.rows.len() + self.series.rows.len();
        sources + self.processes.rows.len() + self.threads.rows.len()
    }

    /// Drops what has ended and is referred to by no row.
    pub fn forget<'a>(
        &mut self,
        segments: impl Iterator<Item = &'a Segment>,
        is_over: impl Fn(i64, Option<i64>) -> bool,
    ) {
        let mut used = Used::default();
        segments.for_each(|segment| used.add(segment));
        let processes = &self.processes.rows;
        self.threads.rows.retain(|id, thread| {
            let pid = processes.get(&thread.process.0).and_then(|process| process.pid);
            let over = pid.is_some_and(|pid| is_over(pid, thread.tid));
            used.threads.contains(id) || !over
        });
        used.processes.extend(self.threads.rows.values().map(|thread| thread.process.0));
        self.processes.rows.retain(|id, process| {
            used.processes.contains(id) || !process.pid.is_some_and(|pid| is_over(pid, None))
        });
        let left = &self.processes.rows;
        let lives = |process: Option<u32>| process.is_none_or(|id| left.contains_key(&id));
        self.series.rows.retain(|id, series| used.series.contains(id) || lives(series.process.map(|p| p.0)));
        self.sources.rows.retain(|id, source| used.sources.contains(id) || lives(source.process));
        let threads = &self.threads.rows;
        self.ids.retain(|_, id| threads.contains_key(&id.0));
    }
}

/// Ids that rows refer to.
#[derive(Default)]
struct Used {
    processes: HashSet<u32>,
    threads: HashSet<u32>,
    sources: HashSet<u32>,
    series: HashSet<u32>,
}

impl Used {
    fn add(&mut self, segment: &Segment) {
        let (spans, counts, samples) = (&segment.rows.spans, &segment.rows.counts, &segment.rows.samples);
        for (origins, threads) in [(&spans.origins, &spans.thread), (&counts.origins, &counts.thread)] {
            for (i, (process, source)) in origins.rows(0..origins.len()).enumerate() {
                self.processes.insert(process.0);
                self.sources.insert(source.0);
                self.threads.insert(threads.get(i));
            }
        }
        for (_, process, source) in samples.origins.rows(0..samples.len()) {
            self.processes.insert(process.0);
            self.sources.insert(source.0);
        }
        self.threads.extend(&samples.thread);
        self.series.extend(segment.points.iter().map(|point| point.series.0));
    }
}
