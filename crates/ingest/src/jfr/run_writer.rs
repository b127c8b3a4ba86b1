//! Writes the events of one JVM run: source and process, counters, and events that wait for others.

use fathom_recording::quantity::{plural, whole};
use std::collections::BTreeMap;

use fathom_recording::vocabulary::{fact, kind};
use fathom_recording::{
    Check, ClockBasis, Process, ProcessId, SampleRow, SeriesId, SeriesInfo, SeriesKind, Sink, Source,
    SourceId, SpanId, SpanRow, StackId, ThreadId,
};
use rustc_hash::FxHashMap;

use super::events::Counted;
use super::gc_events::Collections;
use super::safepoints::Stops;
use crate::Tally;

/// The most names of kinds of events that are listed in a self-check.
const LISTED: usize = 12;

/// Chunks that follow each other within this are one interval.
const CLOSE_NS: i64 = 1_000_000_000;

/// How often a kind of event occurred, and how it was handled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) all: u64,
    /// Whether its meaning is known here, used or not.
    pub(super) known: bool,
    /// Whether it is read.
    pub(super) used: bool,
}

/// One run of a JVM while it is written into the recording.
pub(super) struct RunWriter<'s> {
    pub(super) sink: &'s mut dyn Sink,
    pub(super) source: SourceId,
    pub(super) process: ProcessId,
    tally: Tally,
    /// Process id and start of the JVM, once a chunk has them.
    identity: Option<(i64, i64)>,
    /// The intervals of its chunks, those that follow closely as one.
    covers_ns: Vec<(i64, i64)>,
    bytes: u64,
    counts: BTreeMap<String, Count>,
    series: FxHashMap<(&'static str, String), SeriesId>,
    /// Settings of kinds of events: "jdk.ExecutionSample", "period" → "20 ms".
    /// By event; looked up with each sample.
    settings: FxHashMap<String, FxHashMap<String, String>>,
    /// What they mean for samples; looked up with each of them.
    pub(super) counted: Option<Counted>,
    pub(super) collections: Collections,
    pub(super) stops: Stops,
    pub(super) faults: Faults,
}

/// Damage that was found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Faults {
    pub(super) chunks: u64,
    /// Chunks that were still being written, or are truncated.
    pub(super) unfinished: u64,
    /// Chunks of which nothing could be read because their types are missing.
    pub(super) unreadable: u64,
    /// Events that could not be read.
    pub(super) events: u64,
    /// Checkpoints that could not be read to their end.
    pub(super) checkpoints: u64,
    /// Keys that no constant pool has.
    pub(super) unresolved: u64,
    /// Bytes of the file that belong to no chunk.
    pub(super) foreign: u64,
}

/// A span without what is the same for the whole run.
pub(super) struct Entry<'a> {
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
    pub(super) t0_ns: i64,
    pub(super) t1_ns: i64,
    pub(super) key: i64,
    pub(super) thread: Option<ThreadId>,
    pub(super) stack: Option<StackId>,
    pub(super) figures: &'a [(&'a str, f64)],
    pub(super) labels: &'a [(&'a str, &'a str)],
}

impl<'a> Entry<'a> {
    /// A span of a kind and a name, to be filled.
    pub(super) fn new(kind: &'a str, name: &'a str, t0_ns: i64, t1_ns: i64) -> Self {
        Self { kind, name, t0_ns, t1_ns, key: -1, thread: None, stack: None, figures: &[], labels: &[] }
    }
}

impl<'s> RunWriter<'s> {
    /// A source and a process for a run that begins in the file of this name.
    pub(super) fn new(sink: &'s mut dyn Sink, name: &str, run: u32) -> Self {
        let name = if run == 1 { name.to_owned() } else { format!("{name} #{run}") };
        let process = sink.add_process(Process { name: name.clone(), jvm: true, ..Process::default() });
        let source = sink.add_source(Source {
            name,
            format: super::ID.to_owned(),
            process: Some(process.0),
            clock: ClockBasis::Epoch,
            ..Source::default()
        });
        Self {
            sink,
            source,
            process,
            tally: Tally::default(),
            identity: None,
            covers_ns: Vec::new(),
            bytes: 0,
            counts: BTreeMap::new(),
            series: FxHashMap::default(),
            settings: FxHashMap::default(),
            counted: None,
            collections: Collections::default(),
            stops: Stops::default(),
            faults: Faults::default(),
        }
    }

    /// A chunk of this run: its size, and the time that it covers.
    pub(super) fn chunk(&mut self, bytes: u64, covers_ns: (i64, i64)) {
        self.faults.chunks += 1;
        self.bytes += bytes;
        match self.covers_ns.last_mut() {
            Some(last) if covers_ns.0 >= last.0 && covers_ns.0 <= last.1.saturating_add(CLOSE_NS) => {
                last.1 = last.1.max(covers_ns.1);
            }
            _ => self.covers_ns.push(covers_ns),
        }
        let mut collections = std::mem::take(&mut self.collections);
        collections.write(self, false);
        self.collections = collections;
        let mut stops = std::mem::take(&mut self.stops);
        stops.write(self, false);
        self.stops = stops;
    }

    /// Whether a chunk with this identity, or with none, belongs to this run. Start times are in
    /// milliseconds.
    pub(super) fn is_of(&self, identity: Option<(i64, i64)>) -> bool {
        self.identity.zip(identity).is_none_or(|(a, b)| a == b)
    }

    /// When the JVM started, nanoseconds since the epoch, once a chunk has it.
    pub(super) fn started_ns(&self) -> Option<i64> {
        self.identity.map(|(_, start_ns)| start_ns)
    }

    /// Takes the identity in a chunk.
    pub(super) fn identify(&mut self, identity: Option<(i64, i64)>) {
        self.identity = self.identity.or(identity);
    }

    /// Counts events of a kind.
    pub(super) fn count(&mut self, name: &str, count: Count) {
        let known = self.counts.entry(name.to_owned()).or_default();
        *known = Count { all: known.all + count.all, ..count };
    }

    /// Writes a span and counts it.
    pub(super) fn span(&mut self, entry: &Entry<'_>) -> SpanId {
        self.tally.records += 1;
        self.put(entry)
    }

    fn put(&mut self, entry: &Entry<'_>) -> SpanId {
        self.sink.span(&SpanRow {
            kind: entry.kind,
            name: entry.name,
            t0_ns: entry.t0_ns,
            t1_ns: entry.t1_ns,
            process: self.process,
            thread: entry.thread,
            stack: entry.stack,
            source: self.source,
            line: 0,
            key: entry.key,
            parent: None,
            figures: entry.figures,
            labels: entry.labels,
        })
    }

    /// A sample.
    pub(super) fn sample(
        &mut self,
        kind: &str,
        t_ns: i64,
        thread: Option<ThreadId>,
        stack: Option<StackId>,
        weight: i64,
    ) {
        self.tally.records += 1;
        let (process, source) = (self.process, self.source);
        self.sink.sample(&SampleRow { kind, t_ns, process, thread, stack, weight, source });
    }

    /// A point of a gauge.
    pub(super) fn gauge(&mut self, name: &'static str, unit: &str, instance: &str, t_ns: i64, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.tally.records += 1;
        let key = (name, instance.to_owned());
        let series = match self.series.get(&key) {
            Some(series) => *series,
            None => {
                let info = SeriesInfo {
                    name: name.to_owned(),
                    unit: unit.to_owned(),
                    instance: instance.to_owned(),
                    kind: SeriesKind::Gauge,
                    process: Some(self.process),
                    source: self.source,
                };
                let series = self.sink.add_series(info);
                self.series.insert(key, series);
                series
            }
        };
        self.sink.point(series, t_ns, 0, value);
    }

    /// Sets a fact of the process; the first one counts.
    pub(super) fn fact(&mut self, key: &str, value: impl Into<String>) {
        self.tally.records += 1;
        self.sink.process_mut(self.process).facts.entry(key.to_owned()).or_insert_with(|| value.into());
    }

    /// Counts records that the JVM had no room for.
    pub(super) fn lost(&mut self, records: u64) {
        self.tally.lost = self.tally.lost.saturating_add(records);
    }

    /// Takes a setting of a kind of events.
    pub(super) fn set(&mut self, event: &str, setting: &str, value: &str) {
        self.tally.records += 1;
        self.counted = None;
        let of_event = self.settings.entry(event.to_owned()).or_default();
        of_event.insert(setting.to_owned(), value.to_owned());
    }

    /// A setting of a kind of events, as text.
    pub(super) fn setting(&self, event: &str, setting: &str) -> Option<&str> {
        self.settings.get(event)?.get(setting).map(String::as_str)
    }

    /// A setting that is a duration ("20 ms", async-profiler's "5000000" nanoseconds), nanoseconds.
    pub(super) fn setting_ns(&self, event: &str, setting: &str) -> Option<i64> {
        length_ns(self.setting(event, setting)?)
    }

    /// The run ends: writes what waited, completes source and process.
    pub(super) fn finish(mut self) -> &'s mut dyn Sink {
        let mut covers_ns: Option<(i64, i64)> = None;
        let mut collections = std::mem::take(&mut self.collections);
        collections.write(&mut self, true);
        let mut stops = std::mem::take(&mut self.stops);
        stops.write(&mut self, true);
        // A run means that all stops of the JVM are recorded in it. A profiler's recording has no
        // collections.
        let of_the_jdk = self.setting("jdk.GarbageCollection", "enabled") == Some("true")
            || self.counts.contains_key("jdk.GarbageCollection");
        for (from, to) in std::mem::take(&mut self.covers_ns) {
            if of_the_jdk {
                self.put(&Entry::new(kind::RUN, "run", from, to));
            }
            let (first, last) = covers_ns.unwrap_or((from, to));
            covers_ns = Some((first.min(from), last.max(to)));
        }
        self.record_thresholds();
        let checks = self.checks();
        let (bytes, faults) = (self.bytes, self.faults);
        let mut tally = self.tally;
        tally.skipped += faults.events;
        for (name, count) in self.counts.iter().filter(|(_, count)| !count.known && !count.used) {
            tally.skipped += count.all - 1;
            tally.unknown(0, format!("{name}: {} events", whole(count.all)).as_bytes());
        }
        let source = self.sink.source_mut(self.source);
        source.bytes = bytes;
        source.lines = self.counts.values().map(|count| count.all).sum();
        source.cut |= faults.unfinished > 0;
        source.covers_ns = covers_ns;
        source.checks = checks;
        tally.add_to(source);
        self.sink
    }

    /// Keeps as a fact which events are only in the recording when they last longer than their
    /// threshold.
    fn record_thresholds(&mut self) {
        let mut thresholds: Vec<_> = self
            .settings
            .iter()
            .filter_map(|(event, of_event)| Some((event, of_event.get("threshold")?)))
            .filter(|(event, value)| {
                super::events::kind_of(event).is_some()
                    && length_ns(value).is_some_and(|ns| ns > 0)
                    && self.setting(event, "enabled") != Some("false")
            })
            .map(|(event, value)| format!("{} {value}", event.strip_prefix("jdk.").unwrap_or(event)))
            .collect();
        if !thresholds.is_empty() {
            thresholds.sort();
            self.sink
                .process_mut(self.process)
                .facts
                .insert(fact::JFR_THRESHOLDS.to_owned(), thresholds.join(", "));
        }
    }

    fn checks(&self) -> Vec<Check> {
        let check =
            |claim: &str, holds: bool, detail: String| Check { claim: claim.to_owned(), holds, detail };
        let faults = &self.faults;
        let unused: u64 = self.counts.values().filter(|c| c.known && !c.used).map(|c| c.all).sum();
        let mut unused_by_name: Vec<_> = self.counts.iter().filter(|(_, c)| c.known && !c.used).collect();
        unused_by_name.sort_by_key(|(_, count)| std::cmp::Reverse(count.all));
        let more = unused_by_name.len().saturating_sub(LISTED);
        let mut listed: Vec<_> =
            unused_by_name.iter().take(LISTED).map(|(name, c)| format!("{name} {}", whole(c.all))).collect();
        listed.extend((more > 0).then(|| format!("{} more kinds", whole(more))));
        let unused = match unused {
            0 => "all of them are used".to_owned(),
            n => format!("{} are known and of no use here: {}", whole(n), listed.join(", ")),
        };
        vec![
            check(
                "every chunk is whole",
                faults.unfinished + faults.unreadable + faults.foreign == 0,
                format!(
                    "{}, {} unfinished, {} without their types, {} bytes outside of chunks",
                    plural(faults.chunks as usize, "chunk", "chunks"),
                    whole(faults.unfinished),
                    whole(faults.unreadable),
                    whole(faults.foreign)
                ),
            ),
            check(
                "every event of a known kind can be read",
                // A thread may be named by an event and never described: that is not damage.
                faults.events + faults.checkpoints == 0,
                format!(
                    "{} and {} damaged, {} missing; {unused}",
                    plural(faults.events as usize, "event", "events"),
                    plural(faults.checkpoints as usize, "constant pool", "constant pools"),
                    plural(faults.unresolved as usize, "name", "names")
                ),
            ),
        ]
    }
}

/// "20 ms", "1 s", "everyChunk", "5000000".
fn length_ns(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: i64 = text.get(..digits)?.parse().ok()?;
    let unit = match text.get(digits..)?.trim() {
        "" | "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::length_ns;

    #[test]
    fn lengths_of_settings() {
        assert_eq!(length_ns("20 ms"), Some(20_000_000));
        assert_eq!(length_ns("1 s"), Some(1_000_000_000));
        assert_eq!(length_ns("5000000"), Some(5_000_000));
        assert_eq!(length_ns("everyChunk"), None);
        assert_eq!(length_ns("99999999999999999 d"), None);
    }
}
