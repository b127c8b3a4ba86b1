//! Flight recordings: what `-XX:StartFlightRecording`, `jcmd JFR.dump`, the repository of a JVM
//! that was killed, and async-profiler (`-o jfr`) write; format versions 1 and 2.
//!
//! ```text
//! stream ─▶ chunk ─┬─▶ metadata ─▶ types ─▶ layouts          per chunk: ids of types differ from chunk to chunk
//!                  ├─▶ checkpoints, newest first ─▶ pools ─▶ names, threads, stacks
//!                  └─▶ events ─▶ kinds by name ─▶ recording
//! ```
//!
//! One chunk at a time is in memory, and of its pools only the positions of their entries.
//! Everything is bounded by the size of the input; damage is counted, and what stands before and
//! after it is read.
//!
//! A file may hold chunks of several runs (concatenated files); a run is identified by the process
//! id and the start of its JVM. Chunks without that identity belong to the run before them.

mod bytes;
mod chunk;
mod events;
mod frames;
mod gc_events;
mod layout;
mod metadata;
mod names;
mod pools;
mod run_writer;
mod safepoints;
mod stacks;

use std::rc::Rc;

use fathom_recording::Sink;

use self::bytes::Bytes;
use self::chunk::{Chunk, Chunks, Events, MAGIC, event_at};
use self::events::{Event, Kind, MOST_FIELDS, Reader, STANDARD};
use self::layout::{Clock, Layout, Value};
use self::metadata::{Described, Types};
use self::names::Names;
use self::pools::Pools;
use self::run_writer::{Count, RunWriter};
use crate::{Confidence, Format, IngestError, Input};

/// The reader of flight recordings.
pub(crate) struct Jfr;

const ID: &str = "jfr";

/// Numeric ids of the two kinds of events that describe the others; all other ids are the writer's
/// choice.
const METADATA: u64 = 0;
const CHECKPOINT: u64 = 1;

impl Format for Jfr {
    fn id(&self) -> &'static str {
        ID
    }

    fn about(&self) -> &'static str {
        "flight recordings of JDK 8u262 and later and of async-profiler, also unfinished ones: samples, allocations, \
         locks, I/O, collections, safepoints, compilations, threads, load"
    }

    fn reads_bytes(&self) -> bool {
        true
    }

    fn written_by_jvms(&self) -> bool {
        true
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        Confidence(if head.starts_with(MAGIC) { 100 } else { 0 })
    }

    fn read(&self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), IngestError> {
        let name = input.name.clone();
        if matches!(input.lines.peek(), [b'F', b'L', b'R', 0, 0, 0, ..]) {
            return Err(IngestError::Refused { path: name.into(), why: TOO_OLD });
        }
        let mut chunks = Chunks::new(&mut input.lines);
        let mut described = Described::default();
        let mut runs = Runs { name: &name, count: 0, now: Now::None(sink) };
        // Chunks of which nothing could be read, and how many of them are truncated.
        let (mut unreadable, mut truncated) = (0, 0);
        while let Some(chunk) = chunks.next() {
            match Content::of(&chunk, &mut described) {
                Some(content) => runs.take(&chunk, &content),
                None => {
                    unreadable += 1;
                    truncated += u64::from(chunk.truncated);
                }
            }
        }
        let Now::Run(mut writer) = runs.now else {
            return Err(IngestError::Empty { path: name.into(), format: ID });
        };
        writer.faults.chunks += unreadable;
        writer.faults.unreadable += unreadable;
        writer.faults.unfinished += truncated;
        writer.faults.foreign += chunks.foreign;
        writer.finish();
        Ok(())
    }
}

/// The runs of a file, one after another.
struct Runs<'n, 's> {
    name: &'n str,
    count: u32,
    now: Now<'s>,
}

/// The run that chunks currently belong to.
enum Now<'s> {
    /// None yet.
    None(&'s mut dyn Sink),
    /// This one.
    Run(Box<RunWriter<'s>>),
    /// Taken out to be changed.
    Between,
}

impl Runs<'_, '_> {
    /// Reads a chunk into its run.
    fn take(&mut self, chunk: &Chunk<'_>, content: &Content) {
        let identity = content.identity(chunk);
        let mut writer = match std::mem::replace(&mut self.now, Now::Between) {
            Now::Run(writer) if writer.is_of(identity) => writer,
            Now::Run(writer) => self.begin(writer.finish()),
            Now::None(sink) => self.begin(sink),
            Now::Between => return,
        };
        writer.identify(identity);
        content.read(chunk, &mut writer);
        self.now = Now::Run(writer);
    }

    fn begin<'s>(&mut self, sink: &'s mut dyn Sink) -> Box<RunWriter<'s>> {
        self.count += 1;
        Box::new(RunWriter::new(sink, self.name, self.count))
    }
}

/// A chunk's types and pools, and the positions of the events that others need.
struct Content {
    types: Rc<Types>,
    pools: Pools,
    first: Vec<chunk::Event>,
}

impl Content {
    /// Scans a chunk. `None`: it does not describe its types, and nothing in it can be read.
    fn of(chunk: &Chunk<'_>, described: &mut Described) -> Option<Self> {
        let compressed = chunk.header.compressed;
        let mut types = |event: chunk::Event| {
            let body = Bytes::up_to(chunk.data, event.body, event.end, compressed);
            (event.class == METADATA).then(|| described.types(body))?
        };
        // The newest metadata event is where the header says; otherwise it is searched.
        let named = event_at(chunk, chunk.header.metadata).and_then(&mut types);
        let types = named.or_else(|| {
            let all: Vec<_> = Events::of(chunk).filter(|event| event.class == METADATA).collect();
            all.into_iter().rev().find_map(types)
        })?;
        let (mut checkpoints, mut first) = (Vec::new(), Vec::new());
        for event in Events::of(chunk) {
            if event.class == CHECKPOINT {
                checkpoints.push((event.body, event.end));
            } else if types.by_id(event.class).is_some_and(|class| class.comes_first) {
                first.push(event);
            }
        }
        let pools = Pools::read(chunk.data, compressed, &types, &checkpoints);
        Some(Self { types, pools, first })
    }

    /// Process id and start of the JVM according to the chunk.
    fn identity(&self, chunk: &Chunk<'_>) -> Option<(i64, i64)> {
        let is_jvm = |event: &&chunk::Event| {
            self.types.by_id(event.class).is_some_and(|class| class.name == "jdk.JVMInformation")
        };
        let event = self.first.iter().find(is_jvm)?;
        let layout = Layout::of(&self.types, self.types.index(event.class)?, &["pid", "jvmStartTime"])?;
        let mut bytes = Bytes::up_to(chunk.data, event.body, event.end, chunk.header.compressed);
        let mut values = [Value::Absent; 2];
        layout.read(&mut bytes, &chunk.header.clock(), &mut values)?;
        match values {
            [Value::Integer(pid), Value::Integer(start_ns)] => Some((pid, start_ns)),
            _ => None,
        }
    }

    /// Reads the events of a chunk: first those that others need.
    fn read(&self, chunk: &Chunk<'_>, writer: &mut RunWriter<'_>) {
        let (clock, compressed) = (chunk.header.clock(), chunk.header.compressed);
        let mut plans: Vec<Option<Plan>> = Vec::new();
        plans.resize_with(self.types.classes.len(), || None);
        let mut walk = Walk {
            content: self,
            chunk,
            clock,
            plans,
            last_ns: chunk.header.start_ns,
            values: [Value::Absent; MOST_FIELDS],
            reader: Reader {
                names: Names::new(chunk.data, compressed, clock, &self.types, &self.pools),
                writer,
            },
            unknown: 0,
        };
        for event in &self.first {
            walk.event(event, true);
        }
        let mut events = Events::of(chunk);
        for event in events.by_ref() {
            walk.event(&event, false);
        }
        let whole = events.at == chunk.data.len();
        walk.finish(whole);
    }
}

/// How events of a type are read.
struct Plan {
    kind: Option<(events::Read, Layout)>,
    /// How many fields are requested.
    fields: usize,
    count: Count,
    failed: u64,
}

/// Reads the events of a chunk.
struct Walk<'w, 'a, 's> {
    content: &'a Content,
    chunk: &'w Chunk<'a>,
    clock: Clock,
    /// By index of the type, made when its first event comes.
    plans: Vec<Option<Plan>>,
    last_ns: i64,
    /// The fields of the current event; beyond them, remains of earlier ones.
    values: [Value<'a>; MOST_FIELDS],
    reader: Reader<'w, 'a, 's>,
    /// Events of types that the chunk does not describe.
    unknown: u64,
}

/// Version 0: its events are described in another way than since version 1.
const TOO_OLD: &str = "a flight recording of format 0.x, as Oracle's JDK 7 and 8 wrote it with \
    -XX:+UnlockCommercialFeatures: too old; fathom reads format 1 and 2, of OpenJDK 8u262 and later and of JDK 9 and later";

/// How far an event of a finished chunk may lie outside of it: buffers of threads are written late.
const OUTSIDE_NS: i64 = 60_000_000_000;

impl<'a> Walk<'_, 'a, '_> {
    /// Handles an event, if it is its turn.
    fn event(&mut self, event: &chunk::Event, first: bool) {
        if event.class == METADATA || event.class == CHECKPOINT {
            return;
        }
        let Some(index) = self.content.types.index(event.class) else {
            self.unknown += 1;
            return;
        };
        let Some(class) = self.content.types.class(index) else { return };
        if class.comes_first != first {
            return;
        }
        let Some(plan) = self.plans.get_mut(index as usize) else { return };
        let plan = plan.get_or_insert_with(|| Plan::of(&self.content.types, index));
        plan.count.all += 1;
        let Some((read, layout)) = &plan.kind else { return };
        let mut bytes = Bytes::up_to(self.chunk.data, event.body, event.end, self.chunk.header.compressed);
        let Some(values) = self.values.get_mut(..plan.fields) else { return };
        values.fill(Value::Absent);
        let done = layout
            .read(&mut bytes, &self.clock, values)
            .and_then(|()| {
                let of_others = || {
                    (!class.name.starts_with("jdk."))
                        .then(|| since_start(self.chunk, self.reader.writer, values))
                };
                within(self.chunk, values).or_else(|| of_others().flatten())
            })
            .and_then(|t_ns| {
                self.last_ns = self.last_ns.max(t_ns);
                read(&mut self.reader, &Event { name: &class.name, values })
            });
        plan.failed += u64::from(done.is_none());
    }

    fn finish(self, whole: bool) {
        let header = &self.chunk.header;
        let writer = self.reader.writer;
        for (class, plan) in self.content.types.classes.iter().zip(self.plans) {
            if let Some(plan) = plan {
                writer.count(&class.name, plan.count);
                writer.faults.events += plan.failed;
            }
        }
        writer.faults.events += self.unknown;
        writer.faults.unresolved += self.reader.names.unresolved;
        writer.faults.checkpoints += self.content.pools.damaged;
        writer.faults.unfinished += u64::from(self.chunk.truncated || !whole);
        let end_ns =
            if self.chunk.truncated { self.last_ns } else { header.end_ns().unwrap_or(self.last_ns) };
        writer.chunk(self.chunk.data.len() as u64, (header.start_ns, end_ns.max(header.start_ns)));
    }
}

/// The start of an event, if it is plausible for its chunk: a damaged timestamp must not extend the
/// recording over centuries.
fn within(chunk: &Chunk<'_>, values: &[Value<'_>]) -> Option<i64> {
    let Some(Value::Integer(t_ns)) = values.first() else { return None };
    let end_ns = chunk.header.end_ns().filter(|_| !chunk.truncated);
    let fits = end_ns.is_none_or(|end| *t_ns <= end.saturating_add(OUTSIDE_NS));
    let length = if let Some(Value::Integer(length)) = values.get(1) { (*length).max(0) } else { 0 };
    let ends_ns = t_ns.saturating_add(length);
    (fits && *t_ns >= 0 && ends_ns >= chunk.header.start_ns.saturating_sub(OUTSIDE_NS)).then_some(*t_ns)
}

/// The start of an event of another program, if it is before its chunk and after the start of the
/// JVM: an event about a live object may have the time when that was allocated.
fn since_start(chunk: &Chunk<'_>, writer: &RunWriter<'_>, values: &[Value<'_>]) -> Option<i64> {
    let Some(Value::Integer(t_ns)) = values.first() else { return None };
    (*t_ns >= writer.started_ns()? && *t_ns <= chunk.header.start_ns).then_some(*t_ns)
}

impl Plan {
    fn of(types: &Types, index: u32) -> Self {
        let name = types.class(index).map_or("", |class| &*class.name);
        let kind: Option<&Kind> = events::kind_of(name);
        let own = name.starts_with("jdk.") || name.starts_with("profiler.");
        let fields = kind.map_or(&[][..], |kind| kind.fields);
        let wanted: Vec<&str> = STANDARD.iter().chain(fields).copied().collect();
        let read = kind.map(|kind| kind.read).or((!own).then_some(events::custom as events::Read));
        let layout = Layout::of(types, index, &wanted);
        let count = Count { all: 0, known: own, used: read.is_some() };
        Self { kind: read.zip(layout), fields: wanted.len(), count, failed: 0 }
    }
}

#[cfg(test)]
mod tests;
