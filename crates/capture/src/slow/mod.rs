//! Slow samples: everything is kept in a ring in memory, and written only around what was slow.
//!
//! ```text
//!   collectors ──▶ [`SlowSamples`] ──▶ Ring (the latest rows, bounded)
//!                     │ each row past the triggers        ▲
//!                     ▼                                   │ excerpt [first slow − before, last slow + after]
//!                  Incident ── nothing slow for `after` ──┴──▶ Store's thread: NAME/…-stop.fathom, the oldest are dropped
//! ```
//!
//! An incident that is near the one before is the same one, as long as that is not yet written. One
//! that goes on for longer than
//! [`LONGEST`] is written in parts. Memory: the ring's bound, as much again while an incident is
//! written, and what lives at
//! the same time (threads, processes, mappings).
//!
//! What is slow is seen when it has ended. What never ends (a deadlock) is no trigger; it stands in
//! the incidents of others, as it is when they are written.

mod incident;
pub mod limit;
mod store;
pub mod trigger;
pub mod triggers;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use fathom_recording::{
    Bounds, Check, CountRow, Excerpt, FrameId, FrameType, Identity, Process, ProcessId, RecordingError, Ring,
    Role, SampleRow, SeriesId, SeriesInfo, Sink, Source, SourceId, SpanId, SpanRow, StackId, ThreadId,
    Unseen, quantity,
};

use crate::error::CaptureError;
use crate::{Clock, Output, procfs};
use incident::Incident;
use store::{Done, Job, Store};
use trigger::{AtRest, Seen, Slow, Trigger, Watch};

/// How long an incident may go on before it is written; the next one begins where it ends.
pub const LONGEST: Duration = Duration::from_secs(60);
/// How long after its end an incident is written: collectors write what has ended some rounds
/// later.
const SETTLE_NS: i64 = 1_000_000_000;
/// Rows are kept for so much longer than `before`: something as long is still there from its
/// beginning when it has ended.
const HELD_NS: i64 = LONGEST.as_nanos() as i64;
/// An incident ends early when the ring is so full, of a hundred: what it is about must not be
/// dropped meanwhile.
const NEARLY_FULL: usize = 85;
/// Threads, processes and series that are known before it is looked which of them are over.
const MANY_KNOWN: usize = 4096;
/// A second is a step of the wall clock; steering moves it by less.
const MAX_DRIFT_NS: i64 = 1_000_000_000;
/// Format of the source that says what an incident was kept for.
const FORMAT: &str = "on-slow";

/// What is asked for.
#[derive(Clone, Debug)]
pub struct OnSlow {
    /// What is slow.
    pub triggers: Vec<Trigger>,
    /// How much is written from before it began.
    pub before: Duration,
    /// How long nothing must be slow before it is written.
    pub after: Duration,
    /// Memory of the ring, bytes.
    pub memory_bytes: u64,
    /// The directory that incidents are written into.
    pub place: PathBuf,
    /// What incidents may take on disk together, bytes: then the oldest are dropped.
    pub max_bytes: u64,
    /// How many are kept.
    pub keep: Option<usize>,
    /// What is recorded.
    pub identity: Identity,
    /// Which threads have nothing to do.
    pub at_rest: AtRest,
}

/// What became of an incident.
#[derive(Clone, Debug)]
pub enum IncidentOutcome {
    /// It is written.
    Written {
        /// Where.
        path: PathBuf,
        /// Its size, bytes.
        bytes: u64,
        /// When the first slow thing began, nanoseconds since the epoch.
        t0_ns: i64,
        /// What was slow, in words.
        what: String,
        /// Of how many older ones room was made.
        dropped: usize,
    },
    /// It could not be written.
    Failed {
        /// What was slow.
        what: String,
        /// Why.
        why: String,
    },
}

/// How it is getting on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stand {
    /// Incidents written.
    pub written: u64,
    /// Incidents that could not be written.
    pub failed: u64,
    /// Older incidents dropped for room, all in all.
    pub dropped: u64,
    /// Rows dropped from the ring for lack of memory, not age.
    pub rows_dropped: u64,
    /// Rows in the ring, and its memory, bytes.
    pub rows: usize,
    /// See `rows`.
    pub bytes: usize,
}

/// See the module.
pub struct SlowSamples {
    settings: OnSlow,
    watches: Vec<(Trigger, Box<dyn Watch>)>,
    ring: Ring,
    clock: Clock,
    source: SourceId,
    incident: Option<Incident>,
    /// The end of an incident that was cut: the next does not begin before it.
    cut_at_ns: i64,
    store: Store,
    stand: Stand,
    known_before: usize,
    /// The row of what is no process', once there was something.
    machine: Option<ProcessId>,
    /// Rows from here on are kept although they are old, nanoseconds.
    keep_from_ns: i64,
    /// Whose incident it is, where it is one JVM's.
    identities: HashMap<ProcessId, Identity>,
    report: Box<dyn FnMut(&IncidentOutcome)>,
}

impl SlowSamples {
    /// Makes the directory, or takes one up that is there; `report` is called with each incident.
    pub fn new(settings: OnSlow, report: Box<dyn FnMut(&IncidentOutcome)>) -> Result<Self, CaptureError> {
        let clock = Clock::now();
        let before_ns = i64::try_from(settings.before.as_nanos()).unwrap_or(i64::MAX / 4);
        let bytes = usize::try_from(settings.memory_bytes).unwrap_or(usize::MAX);
        let bounds = Bounds { bytes, age_ns: before_ns.saturating_add(HELD_NS) };
        let mut ring = Ring::new(bounds, clock.epoch_now_ns());
        let watch = |trigger: &Trigger| Some((trigger.clone(), trigger.watch().ok()?));
        let watches = settings.triggers.iter().filter_map(watch).collect();
        let source = ring.add_source(source(&settings, clock));
        let store = Store::open(&settings.place, settings.max_bytes, settings.keep)?;
        Ok(Self {
            settings,
            watches,
            ring,
            clock,
            source,
            incident: None,
            cut_at_ns: i64::MIN,
            store,
            stand: Stand::default(),
            known_before: 0,
            machine: None,
            keep_from_ns: i64::MAX,
            identities: HashMap::new(),
            report,
        })
    }

    /// How it is getting on.
    pub fn stand(&self) -> Stand {
        let rows_dropped = self.ring.dropped().rows;
        Stand { rows: self.ring.rows(), bytes: self.ring.bytes(), rows_dropped, ..self.stand }
    }

    /// The end of it all: what is slow at the time is written as far as it is there.
    pub fn finish(mut self) -> Stand {
        let now_ns = self.clock.epoch_now_ns();
        self.ring.roll(now_ns, self.keep_from_ns());
        if let Some(mut incident) = self.incident.take() {
            incident.end_at(now_ns);
            self.ring.write_unfinished();
            self.hand_over(incident, true);
        }
        for done in self.store.finish() {
            self.done(done);
        }
        self.stand()
    }

    fn keep_from_ns(&self) -> Option<i64> {
        let incident = self.incident.as_ref().map_or(i64::MAX, Incident::begins_ns);
        Some(incident.min(self.keep_from_ns))
    }

    /// Keeps rows that came in from here on although they are old, as far as there is room.
    pub fn keep_from(&mut self, from_ns: i64) {
        self.keep_from_ns = from_ns;
    }

    /// Names what a JVM is, for incidents that are its alone.
    pub fn identify(&mut self, process: ProcessId, identity: Identity) {
        self.identities.insert(process, identity);
    }

    /// Whether the ring is so full that rows would be dropped soon.
    pub fn is_nearly_full(&self) -> bool {
        let bytes = usize::try_from(self.settings.memory_bytes).unwrap_or(usize::MAX);
        self.ring.bytes() / 100 > bytes / 10_000 * NEARLY_FULL
    }

    /// A process, by its id; `None` when it is not known any more.
    pub fn process(&self, id: ProcessId) -> Option<&Process> {
        self.ring.process(id)
    }

    /// Now, on the recording's clock.
    pub fn now_ns(&self) -> i64 {
        self.clock.epoch_now_ns()
    }

    /// How far the wall clock has moved away from the recording's, nanoseconds.
    pub fn drift_ns(&self) -> i64 {
        self.clock.drift_ns()
    }

    /// All rows of an interval that have come in by now.
    pub fn excerpt(&mut self, within: (i64, i64)) -> Excerpt {
        self.ring.excerpt(within)
    }

    fn found(&mut self, index: usize, slow: Slow) {
        let Some((trigger, _)) = self.watches.get(index) else { return };
        let (before, after) = (self.settings.before, self.settings.after);
        let incident = self.incident.get_or_insert_with(|| Incident::new(before, after, self.cut_at_ns));
        incident.add(trigger, slow);
    }

    /// Whether an incident is over, or has to be.
    fn is_due(&self, now_ns: i64) -> bool {
        let Some(incident) = &self.incident else { return false };
        let over = now_ns >= incident.ends_ns().saturating_add(SETTLE_NS);
        (over || incident.is_long(now_ns) || self.is_nearly_full()) && self.store.is_idle()
    }

    /// Gives an incident to be written. The ring gets what has not ended.
    fn hand_over(&mut self, incident: Incident, last: bool) {
        let within = (incident.begins_ns().max(self.ring.since_ns()), incident.ends_ns());
        let missing_ns = within.0 - incident.begins_ns();
        let (ring, machine) = (&mut self.ring, &mut self.machine);
        let machine = || {
            let add = || ring.add_process(Process { name: "machine".into(), ..Process::default() });
            *machine.get_or_insert_with(add)
        };
        for row in incident.rows(self.source, machine) {
            row.with(|row| self.ring.span(row));
        }
        let (stand, dropped, drift_ns) = (self.stand, self.ring.dropped(), self.clock.drift_ns());
        let own = self.ring.source_mut(self.source);
        (own.checks, own.unseen) = (incident.checks(&self.settings, &stand), Vec::new());
        own.checks.push(Check {
            claim: "the wall clock has run with the machine's clock since the recording began".into(),
            holds: drift_ns.abs() < MAX_DRIFT_NS,
            detail: format!("they have moved {:.3} ms apart", drift_ns as f64 / 1e6),
        });
        // What the ring never had is not missed by it.
        if missing_ns > 0 && dropped.rows > 0 {
            own.unseen.push(Unseen {
                scope: None,
                what: format!("the first {:.1} s of what was to be kept", missing_ns as f64 / 1e9),
                why: format!(
                    "there is more than fits into memory ({} rows were dropped so far)",
                    quantity::count(dropped.rows as f64)
                ),
                remedy: "fathom record --memory with more, or --min with a longer time".into(),
            });
        }
        if dropped.stacks > 0 {
            own.unseen.push(Unseen {
                scope: None,
                what: format!("stacks of {} rows", quantity::count(dropped.stacks as f64)),
                why: "they had been forgotten to keep memory bounded".into(),
                remedy: String::new(),
            });
        }
        let excerpt = self.ring.excerpt(within);
        let mut owners = incident.processes();
        let owner = owners.next().filter(|first| owners.all(|other| other == *first));
        let identity = owner.and_then(|process| self.identities.get(&process));
        let identity = identity.unwrap_or(&self.settings.identity).clone();
        let (name, what, t0_ns) = (incident.name(), incident.summary(), incident.t0_ns());
        let job = Job { excerpt, name, what, t0_ns, identity };
        if let Err(why) = self.store.write(job, last) {
            self.done(Done::Failed { what: incident.summary(), why });
        }
    }

    fn done(&mut self, done: Done) {
        let outcome = match done {
            Done::Written { path, bytes, t0_ns, what, dropped } => {
                self.stand.written += 1;
                self.stand.dropped += dropped as u64;
                IncidentOutcome::Written { path, bytes, t0_ns, what, dropped }
            }
            Done::Failed { what, why } => {
                self.stand.failed += 1;
                IncidentOutcome::Failed { what, why }
            }
        };
        (self.report)(&outcome);
    }

    /// Lets go of threads and processes that are over, once they have become many more.
    fn forget(&mut self) {
        if self.ring.known() < 2 * self.known_before + MANY_KNOWN {
            return;
        }
        self.ring.forget(|pid, tid| !procfs::lives(pid, tid));
        self.known_before = self.ring.known();
        let ring = &self.ring;
        self.identities.retain(|process, _| ring.process(*process).is_some());
    }
}

/// The source that says what incidents are kept for.
fn source(settings: &OnSlow, clock: Clock) -> Source {
    let triggers: Vec<String> = settings.triggers.iter().map(ToString::to_string).collect();
    clock.source(&triggers.join(" "), FORMAT)
}

impl Output for SlowSamples {
    fn checkpoint(&mut self) -> Result<(), RecordingError> {
        let now_ns = self.clock.epoch_now_ns();
        self.ring.roll(now_ns, self.keep_from_ns());
        for done in self.store.done() {
            self.done(done);
        }
        self.forget();
        Ok(())
    }

    fn wants_unfinished(&mut self) -> bool {
        let due = self.is_due(self.clock.epoch_now_ns());
        if due {
            self.ring.write_unfinished();
        }
        due
    }

    fn has_unfinished(&mut self) {
        let now_ns = self.clock.epoch_now_ns();
        let Some(mut incident) = self.incident.take() else { return };
        if incident.end_at(now_ns) {
            self.cut_at_ns = now_ns;
        }
        self.hand_over(incident, false);
    }

    fn wants_new_names(&self) -> bool {
        self.ring.wants_new_names()
    }

    fn has_new_names(&mut self) {
        self.ring.renew_names();
    }
}

impl Sink for SlowSamples {
    fn add_source(&mut self, source: Source) -> SourceId {
        self.ring.add_source(source)
    }

    fn source_mut(&mut self, id: SourceId) -> &mut Source {
        self.ring.source_mut(id)
    }

    fn add_process(&mut self, process: Process) -> ProcessId {
        self.ring.add_process(process)
    }

    fn process_mut(&mut self, id: ProcessId) -> &mut Process {
        self.ring.process_mut(id)
    }

    fn thread(&mut self, process: ProcessId, tid: Option<i64>, name: &str, role: Role) -> ThreadId {
        self.ring.thread(process, tid, name, role)
    }

    fn rename_thread(&mut self, id: ThreadId, name: &str, role: Role) {
        self.ring.rename_thread(id, name, role);
    }

    fn span(&mut self, row: &SpanRow<'_>) -> SpanId {
        if !self.ring.is_writing_unfinished() {
            for i in 0..self.watches.len() {
                let (trigger, watch) = &mut self.watches[i];
                let seen = Seen { ring: &self.ring, at_rest: self.settings.at_rest };
                if let Some(slow) = watch.span(row, trigger.limit, &seen) {
                    self.found(i, slow);
                }
            }
        }
        self.ring.span(row)
    }

    fn count(&mut self, row: &CountRow<'_>) {
        self.ring.count(row);
    }

    fn add_series(&mut self, info: SeriesInfo) -> SeriesId {
        self.ring.add_series(info)
    }

    fn point(&mut self, series: SeriesId, t_ns: i64, dt_ns: i64, value: f64) {
        for i in 0..self.watches.len() {
            let (trigger, watch) = &mut self.watches[i];
            if let Some(slow) = watch.point(series, (t_ns, dt_ns), value, trigger.limit, &self.ring) {
                self.found(i, slow);
            }
        }
        self.ring.point(series, t_ns, dt_ns, value);
    }

    fn frame(&mut self, name: &str, module: &str, frame_type: FrameType, line: i32) -> FrameId {
        self.ring.frame(name, module, frame_type, line)
    }

    fn stack(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        self.ring.stack(parent, frame)
    }

    fn sample(&mut self, row: &SampleRow<'_>) {
        self.ring.sample(row);
    }
}
