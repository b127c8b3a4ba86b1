//! The session: collectors are started, fed with news of the targets, drained, stopped, in one loop on one thread.
//!
//! ```text
//!   start ─▶ sources in the recording, collectors started, targets found ──▶ nothing to see? ─▶ error
//!   run   ─▶ ┌ wait: a signal, a target's end, a collector's wake, or the next turn
//!            ├ scan targets ─▶ tell collectors
//!            ├ drain collectors, checkpoint the writer
//!            └ an end? deadline · signal · targets over · disk · size · writing failed
//!   stop  ─▶ collectors stopped, sources completed
//! ```

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use fathom_recording::{Check, ClockBasis, Placement, Sink, Source, SourceId, Writer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::collector::{COLLECTORS, Collector, Context, Engine, Entry, Settings, Shared, Unavailable};
use crate::error::CaptureError;
use crate::jvm_facts::JvmFacts;
use crate::target::{TargetEvent, Targets};
use crate::written_files::{WrittenFile, WrittenFiles};
use crate::{Clock, privileges};

mod end;
mod limits;
mod signals;

pub use end::Ended;
pub use limits::Limits;
pub use signals::Signals;

/// How often collectors are drained when none wakes the session. Ten turns a second cost nothing that can be
/// measured, and what is shown stays fresh.
const TURN: Duration = Duration::from_millis(100);
/// How often while a target has just started, so that little is missed of a JVM's first moments.
const SHORT_TURN: Duration = Duration::from_millis(20);
/// How often the targets are looked at, unless one of them ends.
const SCAN: Duration = Duration::from_millis(250);
/// How often limits are checked and progress is told.
const SECOND: Duration = Duration::from_secs(1);

/// Format of the session's own source.
const FORMAT: &str = "session";

/// A collector at work.
struct Running {
    entry: &'static Entry,
    collector: Box<dyn Collector>,
    source: SourceId,
    /// Whether it still collects; one that broke down is only stopped.
    works: bool,
}

/// A recording in the making.
pub struct Session {
    targets: Targets,
    running: Vec<Running>,
    settings: Settings,
    shared: Shared,
    limits: Limits,
    clock: Clock,
    /// The session's own source: what concerns all collectors.
    source: SourceId,
    engine: Engine,
    started: Instant,
    started_ns: i64,
    events: Vec<TargetEvent>,
    ever_had_a_target: bool,
    written: WrittenFiles,
    facts: JvmFacts,
}

/// How a recording is getting on.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Since the start.
    pub elapsed: Duration,
    /// Processes that are recorded at the moment.
    pub targets: usize,
    /// Each collector with the records that it has taken in and those that it has lost, since the start.
    pub collectors: Vec<(&'static str, u64, u64)>,
    /// Size of the recording so far, bytes.
    pub bytes: u64,
}

/// What was recorded.
#[derive(Debug)]
pub struct Summary {
    /// Why it ended.
    pub ended: Ended,
    /// From when to when, nanoseconds since the epoch.
    pub covers_ns: (i64, i64),
    /// The engine that was used.
    pub engine: Engine,
    /// As [`Progress::collectors`].
    pub collectors: Vec<(&'static str, u64, u64)>,
    /// What could not be seen.
    pub unseen: Vec<Unavailable>,
    /// Files that the recorded JVMs wrote, logs perhaps.
    pub written: Vec<WrittenFile>,
}

impl Session {
    /// Starts all collectors on what is selected. After an error nothing of them is left.
    pub fn start(
        targets: Targets,
        settings: Settings,
        limits: Limits,
        writer: &mut Writer,
    ) -> Result<Self, CaptureError> {
        let clock = Clock::now();
        let source = writer.add_source(source_row("fathom record", FORMAT, clock));
        let (engine, reasons) = choose_engine(&settings);
        let mut session = Self {
            targets,
            running: Vec::new(),
            settings,
            shared: Shared::default(),
            limits,
            clock,
            source,
            engine,
            started: Instant::now(),
            started_ns: clock.epoch_now_ns(),
            events: Vec::new(),
            ever_had_a_target: false,
            written: WrittenFiles::default(),
            facts: JvmFacts::default(),
        };
        let mut why_not: Vec<Unavailable> = reasons;
        let wanted = COLLECTORS.iter().filter(|entry| session.settings.wants(entry, engine));
        for entry in wanted.collect::<Vec<_>>() {
            if let Err(unseen) = session.start_one(entry, writer) {
                why_not.extend(entry.essential.then(|| unseen.clone()));
                writer.source_mut(session.source).unseen.push(unseen);
            }
        }
        // Whoever asks for an engine by its name wants what it sees, and not the numbers alone that anybody can read.
        let asked = session.settings.engine.is_some();
        let essential = |entry: &Entry| entry.essential && (!asked || entry.engine == engine);
        let works = session.running.iter().any(|running| essential(running.entry));
        if COLLECTORS.iter().any(essential) && !works {
            session.stop_collectors(writer);
            let told = why_not.iter().map(|u| format!("{}: {} ({})", u.what, u.why, u.remedy)).collect();
            return Err(CaptureError::NothingToSee(told));
        }
        session.scan(writer);
        if let Some(Err(error)) = session.targets.command().map(|command| command.release()) {
            session.stop_collectors(writer);
            return Err(error);
        }
        // What was asked for is so long a time with everything at work: a flight recorder may take seconds to start.
        session.started = Instant::now();
        Ok(session)
    }

    /// The processes that are recorded.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// The engine that is used.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// When it started, nanoseconds since the epoch.
    pub fn started_ns(&self) -> i64 {
        self.started_ns
    }

    /// What cannot be seen, as far as it is known by now.
    pub fn unseen(&self, writer: &mut Writer) -> Vec<Unavailable> {
        let sources = std::iter::once(self.source).chain(self.running.iter().map(|r| r.source));
        sources.flat_map(|source| writer.source_mut(source).unseen.clone()).collect()
    }

    /// Records until an end is reached. `tell` is called about once a second.
    pub fn run(&mut self, writer: &mut Writer, signals: &Signals, tell: &mut dyn FnMut(&Progress)) -> Ended {
        let (mut next_scan, mut next_second) = (self.started + SCAN, self.started + SECOND);
        let mut end = end::Watch::new(self.started, self.limits.duration);
        loop {
            let unsettled = self.targets.are_unsettled();
            let turn = if unsettled { SHORT_TURN } else { TURN };
            let news = self.wait(signals, end.timeout(turn)) || unsettled;
            let now = Instant::now();
            if news || now >= next_scan {
                next_scan = now + SCAN;
                self.drain(writer);
                self.scan(writer);
            }
            self.drain(writer);
            let saved = writer.checkpoint();
            let mut ended = saved.err().map(|error| Ended::CannotWrite(error.to_string()));
            if now >= next_second {
                next_second = now + SECOND;
                ended = ended.or_else(|| self.limits.reached());
                tell(&self.progress(writer));
            }
            if let Some(ended) = ended.or_else(|| end.reached(signals, &mut self.targets)) {
                return ended;
            }
        }
    }

    /// Stops all collectors and completes their sources.
    pub fn stop(mut self, ended: Ended, writer: &mut Writer) -> Result<Summary, CaptureError> {
        // Taking probes down may take a second; what they saw ends here.
        let covers_ns = (self.started_ns, self.clock.epoch_now_ns());
        self.stop_collectors(writer);
        if !self.ever_had_a_target {
            let what = self.targets.selection().told();
            return Err(CaptureError::NoMatch { what });
        }
        let sources = std::iter::once(self.source).chain(self.running.iter().map(|r| r.source));
        for source in sources {
            writer.source_mut(source).covers_ns.get_or_insert(covers_ns);
        }
        let drift_ns = self.clock.drift_ns();
        let foreign = self.targets.foreign();
        let own = writer.source_mut(self.source);
        own.checks.push(Check {
            claim: "the wall clock ran with the machine's clock".into(),
            holds: drift_ns.abs() < MAX_DRIFT_NS,
            detail: format!("they moved {:.3} ms apart during the recording", drift_ns as f64 / 1e6),
        });
        if foreign > 0 {
            own.unseen.push(Unavailable {
                what: format!("processes that match: {foreign} more"),
                why: "this user may not look into them".into(),
                remedy: "run fathom as root (sudo)".into(),
            });
        }
        let unseen = self.unseen(writer);
        let collectors = self.progress(writer).collectors;
        let mut written = self.written.take();
        written.extend(self.running.iter_mut().flat_map(|running| running.collector.leave()));
        Ok(Summary { ended, covers_ns, engine: self.engine, collectors, unseen, written })
    }

    fn start_one(&mut self, entry: &'static Entry, writer: &mut Writer) -> Result<(), Unavailable> {
        let source = writer.add_source(source_row(entry.id, entry.id, self.clock));
        let mut collector = (entry.make)(&self.settings);
        let mut cx = context(writer, source, &mut self.targets, self.clock, &self.settings, &mut self.shared);
        collector.start(&mut cx)?;
        self.running.push(Running { entry, collector, source, works: true });
        Ok(())
    }

    /// Waits for the next turn, or for something to happen. Whether a target may have ended.
    fn wait(&self, signals: &Signals, timeout: Duration) -> bool {
        let targets: Vec<BorrowedFd<'_>> = self.targets.pidfds().collect();
        let wakes = self.running.iter().filter(|r| r.works).filter_map(|r| r.collector.wake());
        let fds = std::iter::once(signals.wake()).chain(targets.iter().copied()).chain(wakes);
        let mut fds: Vec<PollFd<'_>> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let timeout =
            Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
        // An interrupted wait is a turn that came early.
        let _ = poll(&mut fds, Some(&timeout));
        fds.iter().skip(1).take(targets.len()).any(|fd| !fd.revents().is_empty())
    }

    fn scan(&mut self, writer: &mut Writer) {
        let mut events = std::mem::take(&mut self.events);
        self.targets.scan(writer, &mut events);
        self.ever_had_a_target |= !self.targets.is_empty();
        self.written.look(&self.targets);
        events.iter().for_each(|event| self.facts.target(event));
        self.facts.tell(writer);
        for event in &events {
            for running in self.running.iter_mut().filter(|r| r.works) {
                let mut cx = context(
                    writer,
                    running.source,
                    &mut self.targets,
                    self.clock,
                    &self.settings,
                    &mut self.shared,
                );
                running.collector.target(event, &mut cx);
            }
        }
        events.clear();
        self.events = events;
    }

    fn drain(&mut self, writer: &mut Writer) {
        for running in self.running.iter_mut().filter(|r| r.works) {
            let mut cx = context(
                writer,
                running.source,
                &mut self.targets,
                self.clock,
                &self.settings,
                &mut self.shared,
            );
            if let Err(unseen) = running.collector.drain(&mut cx) {
                running.works = false;
                cx.unseen(unseen);
            }
        }
    }

    fn stop_collectors(&mut self, writer: &mut Writer) {
        for running in &mut self.running {
            let mut cx = context(
                writer,
                running.source,
                &mut self.targets,
                self.clock,
                &self.settings,
                &mut self.shared,
            );
            running.collector.stop(&mut cx);
        }
    }

    fn progress(&self, writer: &mut Writer) -> Progress {
        let collectors = self.running.iter().map(|running| {
            let source = writer.source_mut(running.source);
            (running.entry.id, source.records, source.lost)
        });
        Progress {
            elapsed: self.started.elapsed(),
            targets: self.targets.len(),
            collectors: collectors.collect(),
            bytes: self.limits.size_bytes(),
        }
    }
}

/// The wall clock is steered by at most 500 ppm (adjtimex); a second of drift in a recording is a step.
const MAX_DRIFT_NS: i64 = 1_000_000_000;

fn context<'a>(
    sink: &'a mut Writer,
    source: SourceId,
    targets: &'a mut Targets,
    clock: Clock,
    settings: &'a Settings,
    shared: &'a mut Shared,
) -> Context<'a> {
    Context { sink, source, targets, clock, settings, shared }
}

/// A source whose rows are stamped by the kernel's monotonic clock.
fn source_row(name: &str, format: &str, clock: Clock) -> Source {
    Source {
        name: name.to_owned(),
        format: format.to_owned(),
        clock: ClockBasis::Epoch,
        placement: Placement {
            wall: true,
            offset_ns: 0,
            uncertainty_ns: Some(clock.uncertainty_ns()),
            how: "recorded live, stamped by the machine's clock".into(),
        },
        ..Source::default()
    }
}

/// The engine that is used, and why not the better one.
fn choose_engine(settings: &Settings) -> (Engine, Vec<Unavailable>) {
    match (settings.engine, privileges::ebpf()) {
        (Some(Engine::Jfr), _) => (Engine::Jfr, Vec::new()),
        (_, Ok(())) => (Engine::Ebpf, Vec::new()),
        (Some(_), Err(why)) => (Engine::Ebpf, vec![why]),
        (None, Err(why)) => (Engine::Jfr, vec![why]),
    }
}
