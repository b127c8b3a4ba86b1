//! The session: collectors are started, fed with news of the targets, drained, stopped, in one loop
//! on one thread.
//!
//! ```text
//!   start ─▶ sources in the recording, collectors started, targets found ──▶ nothing to see? ─▶ error
//!   run   ─▶ ┌ wait: a signal, a target's end, a collector's wake, or the next round
//!            ├ news of targets (births, a scan) ─▶ collectors
//!            ├ drain collectors, checkpoint the writer
//!            └ an end? deadline · signal · targets over · disk · size · writing failed
//!   stop  ─▶ collectors stopped, sources completed
//! ```

use std::time::{Duration, Instant};

use fathom_recording::{Check, SourceId, quantity};

use crate::clock::monotonic_ns;
use crate::error::CaptureError;
use crate::jvm_facts::JvmFacts;
use crate::target::{Change, Target, TargetEvent, Targets};
use crate::written_files::{WrittenFile, WrittenFiles};
use crate::{
    COLLECTORS, CaptureEngine, Clock, Collector, Context, Entry, Order, Services, Settings, Unavailable,
};

mod contexts;
mod end;
mod engines;
mod limits;
mod memory;
mod output;
mod priority;
mod signals;
mod stacks;
mod targets;
mod window;

pub use end::Ended;
use engines::{check_event, choose_engine};
pub use limits::Limits;
pub(crate) use limits::free_bytes;
pub use memory::left as memory_left;
pub use output::Output;
pub(crate) use priority::Raised;
pub use signals::Signals;
use window::{Window, Within};

/// How often collectors are drained when none wakes the session. Ten rounds a second cost nothing
/// that can be measured, and what is shown stays fresh.
const ROUND: Duration = Duration::from_millis(100);
/// How often while a target has just started, so that little is missed of a JVM's start.
const SHORT_ROUND: Duration = Duration::from_millis(20);
/// How often the targets are looked at, unless one of them ends.
const SCAN: Duration = Duration::from_millis(250);
/// How soon after news of forks and execs the next are taken: a shell script makes hundreds a
/// second.
const NEWS: Duration = Duration::from_millis(5);
/// How often limits are checked and progress is reported.
const SECOND: Duration = Duration::from_secs(1);

/// Format of the session's own source.
const FORMAT: &str = fathom_recording::vocabulary::source::SESSION;

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
    services: Services,
    limits: Limits,
    clock: Clock,
    /// The session's own source: what concerns all collectors.
    source: SourceId,
    engine: CaptureEngine,
    /// What rows are of the recording.
    window: Window,
    /// When everything was attached, by two clocks, and how long that had taken.
    started: Instant,
    started_ns: i64,
    attaching: Duration,
    /// What collectors had lost by then, which is no loss of the recording: buffers overflow while
    /// others are attached, and CPUs reach programs one after the other.
    lost_before: Vec<(SourceId, u64)>,
    /// Why the better engine is not used.
    fallback: Option<Unavailable>,
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
    /// Processes that are recorded now.
    pub targets: usize,
    /// Each collector with the records that it has taken in and those that it has lost, since the
    /// start.
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
    pub engine: CaptureEngine,
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
        writer: &mut dyn Output,
    ) -> Result<Self, CaptureError> {
        let clock = Clock::now();
        let source = writer.add_source(clock.source("fathom record", FORMAT));
        crate::descriptors::raise_limit();
        let (engine, reasons) = choose_engine(&settings)?;
        check_event(&settings, engine)?;
        let mut session = Self {
            targets,
            running: Vec::new(),
            settings,
            services: Services::default(),
            limits,
            clock,
            source,
            engine,
            window: Window::closed(),
            started: Instant::now(),
            started_ns: clock.epoch_now_ns(),
            attaching: Duration::ZERO,
            lost_before: Vec::new(),
            fallback: reasons.first().cloned(),
            events: Vec::new(),
            ever_had_a_target: false,
            written: WrittenFiles::default(),
            facts: JvmFacts::default(),
        };
        // Known from the beginning: times count from here, and do so before the recording has
        // ended.
        writer.source_mut(source).covers_ns = Some((session.started_ns, session.started_ns));
        // First, so that collectors can share the list of what is recorded.
        if let Err(unseen) = session.watch_births() {
            writer.source_mut(session.source).unseen.push(unseen);
        }
        // Those that are there already are passed to each collector as it starts: samples need not
        // wait for the kernel to have looked at the programs of all others, which takes most of a
        // second.
        session.news(writer, true);
        // To get ready takes a second of a CPU, and several of the wall clock where many want
        // one: meanwhile what is at work already would overflow.
        let _first = Raised::new();
        let mut why_not: Vec<Unavailable> = reasons;
        // Whoever asks for an engine by its name wants what it sees, and not the numbers alone that
        // anybody can read.
        let asked = session.settings.engine.is_some();
        let essential = |entry: &Entry| entry.essential && (!asked || entry.engine == engine);
        // Where all of these were left out by name, what is left is what is wanted.
        let some_essential =
            COLLECTORS.iter().any(|entry| essential(entry) && entry.is_wanted(&session.settings, engine));
        let counts = |entry: &Entry| essential(entry) || !some_essential;
        let mut wanted: Vec<&'static Entry> =
            COLLECTORS.iter().filter(|entry| entry.is_wanted(&session.settings, engine)).collect();
        wanted.sort_by_key(|entry| entry.order != Order::StartsFirst);
        let whole_host = session.targets.selection().is_whole_host();
        writer.source_mut(session.source).unseen.extend(memory::too_little(whole_host));
        for (i, entry) in wanted.into_iter().enumerate() {
            if let Err(unseen) = session.start_one(entry, writer) {
                why_not.extend((entry.essential || !some_essential).then(|| unseen.clone()));
                writer.source_mut(session.source).unseen.push(unseen);
            }
            if i == 0 {
                // With the samples at work: it takes longer than to make ready to walk them.
                session.targets.iter().for_each(|target| session.services.learn_code(target.pid));
            }
            // The kernel takes its time to look at the next one's programs, longer on a busy
            // machine: what is at work already must not lose anything meanwhile.
            session.drain(writer);
        }
        if !session.running.iter().any(|running| counts(running.entry)) {
            session.stop_collectors(writer);
            let reasons = why_not.iter().map(|u| format!("{}: {} ({})", u.what, u.why, u.remedy)).collect();
            return Err(CaptureError::NothingToSee(reasons));
        }
        if let Some(unseen) = crate::descriptors::exhausted() {
            session.stop_collectors(writer);
            return Err(CaptureError::NotHere(unseen));
        }
        session.news(writer, true);
        session.begin(writer);
        if let Some(Err(error)) = session.targets.command().map(|command| command.release()) {
            session.stop_collectors(writer);
            return Err(error);
        }
        Ok(session)
    }

    /// Begins the time that was asked for, with everything at work: a flight recorder may take
    /// seconds to start.
    fn begin(&mut self, writer: &mut dyn Output) {
        // What has come in by now and what was summed up is of the time before.
        self.drain(writer);
        self.each(writer, |running| running.works, |running, cx| running.collector.begin(cx));
        self.services.unwinder.iter().for_each(|engine| engine.borrow_mut().stacks.know_own_programs());
        let now = Instant::now();
        self.attaching = now - std::mem::replace(&mut self.started, now);
        self.started_ns = self.clock.epoch_now_ns();
        self.lost_before = self.losses(writer);
        self.window.begin(self.started_ns, writer);
    }

    /// What each source has lost so far.
    fn losses(&self, writer: &mut dyn Output) -> Vec<(SourceId, u64)> {
        self.running.iter().map(|running| (running.source, writer.source_mut(running.source).lost)).collect()
    }

    /// How long it took until everything was attached; what was recorded begins then.
    pub fn attaching(&self) -> Duration {
        self.attaching
    }

    /// The processes that are recorded.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// Ids of the collectors that were started and have not broken down.
    pub fn collectors(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.running.iter().filter(|running| running.works).map(|running| running.entry.id)
    }

    /// The engine that is used.
    pub fn engine(&self) -> CaptureEngine {
        self.engine
    }

    /// Why it is not the better one, where that was left to fathom.
    pub fn fallback(&self) -> Option<&Unavailable> {
        self.fallback.as_ref()
    }

    /// When it started, nanoseconds since the epoch.
    pub fn started_ns(&self) -> i64 {
        self.started_ns
    }

    /// What cannot be seen, as far as it is known by now.
    pub fn unseen(&self, writer: &mut dyn Output) -> Vec<Unavailable> {
        let sources = std::iter::once(self.source).chain(self.running.iter().map(|r| r.source));
        sources.flat_map(|source| writer.source_mut(source).unseen.clone()).collect()
    }

    /// Records until an end is reached. `report` is called about once a second.
    pub fn run(
        &mut self,
        writer: &mut dyn Output,
        signals: &Signals,
        report: &mut dyn FnMut(&Progress),
    ) -> Ended {
        let _first = Raised::new();
        let (mut next_scan, mut next_second) = (self.started + SCAN, self.started + SECOND);
        let mut end = end::Watch::new(self.started, self.limits.duration);
        let mut births_from = Instant::now();
        loop {
            let unsettled = self.targets.are_unsettled();
            let round = if unsettled { SHORT_ROUND } else { ROUND };
            let pause = births_from.saturating_duration_since(Instant::now());
            let round = if pause.is_zero() { round } else { round.min(pause) };
            let news = self.wait(signals, end.timeout(round), pause.is_zero()) || unsettled;
            let now = Instant::now();
            let births = self.targets.listen();
            if births || news || now >= next_scan {
                // What came in so far is of what the targets were.
                self.drain(writer);
                self.news(writer, news || now >= next_scan);
            }
            if births {
                births_from = now + NEWS;
            }
            if news || now >= next_scan {
                next_scan = now + SCAN;
            }
            self.drain(writer);
            let saved = writer.checkpoint();
            self.serve(writer);
            let mut ended = saved.err().map(|error| Ended::CannotWrite(error.to_string()));
            ended = ended.or_else(|| writer.wants_end().then_some(Ended::Asked));
            if now >= next_second {
                next_second = now + SECOND;
                ended = ended.or_else(|| self.limits.reached());
                report(&self.progress(writer));
            }
            if let Some(ended) = ended.or_else(|| end.reached(signals, &mut self.targets)) {
                // Without descriptors nothing can be read of a process that lives.
                return match crate::descriptors::exhausted() {
                    Some(unseen) if ended == Ended::TargetsGone => {
                        Ended::CannotRead(format!("{}; {}", unseen.why, unseen.remedy))
                    }
                    _ => ended,
                };
            }
        }
    }

    /// Gives an output what it asks for.
    fn serve(&mut self, writer: &mut dyn Output) {
        if writer.wants_unfinished() {
            self.each(writer, |running| running.works, |running, cx| running.collector.write_unfinished(cx));
            self.write_open_spans(writer);
            writer.has_unfinished();
        }
        if writer.wants_new_names() {
            self.services.unwinder.iter().for_each(|engine| engine.borrow_mut().stacks.forget());
            writer.has_new_names();
        }
        if let Some(hz) = writer.wants_rate_hz() {
            self.each(writer, |running| running.works, |running, cx| running.collector.set_rate(hz, cx));
        }
    }

    /// Stops all collectors and completes their sources.
    pub fn stop(mut self, ended: Ended, writer: &mut dyn Output) -> Result<Summary, CaptureError> {
        // Taking probes down may take a second, and a round on a busy machine too; what they saw
        // ends here.
        let now_ns = monotonic_ns();
        let asked_ns = self.limits.duration.filter(|_| ended == Ended::Deadline);
        let over_ns = asked_ns.map_or(0, |asked| self.started.elapsed().saturating_sub(asked).as_nanos());
        let ends_ns = now_ns - i64::try_from(over_ns).unwrap_or(0);
        let covers_ns = (self.started_ns, self.clock.epoch_ns(ends_ns));
        self.window.end(covers_ns.1);
        self.services.ended_ns = Some(ends_ns.max(0).cast_unsigned());
        // Names of what came and went since the last round.
        self.targets.listen();
        self.stop_collectors(writer);
        for (source, before) in &self.lost_before {
            let lost = &mut writer.source_mut(*source).lost;
            *lost = lost.saturating_sub(*before);
        }
        if !self.ever_had_a_target {
            let what = self.targets.selection().description();
            return Err(match self.targets.foreign() {
                0 => CaptureError::NoMatch { what },
                count => CaptureError::NoneOfYours { what, count },
            });
        }
        writer.source_mut(self.source).covers_ns = Some(covers_ns);
        for source in self.running.iter().map(|r| r.source) {
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
                scope: None,
                what: format!("processes that match: {} more", quantity::count(foreign as f64)),
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

    fn start_one(&mut self, entry: &'static Entry, writer: &mut dyn Output) -> Result<(), Unavailable> {
        if self.services.make(entry.needs) {
            self.make_unwinder(writer);
        }
        let source = writer.add_source(self.clock.source(entry.id, entry.id));
        let mut collector = (entry.make)(&self.settings);
        let mut within = Within { to: writer, window: &mut self.window };
        let mut cx =
            context(&mut within, source, &mut self.targets, self.clock, &self.settings, &mut self.services);
        collector.start(&mut cx)?;
        let there: Vec<Target> = cx.targets.iter().cloned().collect();
        for target in there {
            let at_ns = monotonic_ns().max(0).cast_unsigned();
            collector.target(&TargetEvent { change: Change::Appeared, target, at_ns }, &mut cx);
        }
        self.running.push(Running { entry, collector, source, works: true });
        let place = |running: &Running| COLLECTORS.iter().position(|listed| listed.id == running.entry.id);
        self.running.sort_by_key(place);
        Ok(())
    }

    fn drain(&mut self, writer: &mut dyn Output) {
        self.keep_stacks_up(writer);
        let since_ns = monotonic_ns().max(0).cast_unsigned();
        self.each(
            writer,
            |running| running.works,
            |running, cx| {
                if let Err(unseen) = running.collector.drain(cx) {
                    running.works = false;
                    cx.unseen(unseen);
                }
            },
        );
        self.keep_contexts_up(since_ns, writer);
    }

    fn stop_collectors(&mut self, writer: &mut dyn Output) {
        // What is in the kernel's buffers is taken before any of them overflows for lack of a
        // reader.
        self.drain(writer);
        // One that has broken down still has something to take down.
        let is_last = |running: &Running| running.entry.order == Order::StopsLast;
        self.each(writer, |running| !is_last(running), |running, cx| running.collector.stop(cx));
        self.each(writer, is_last, |running, cx| running.collector.stop(cx));
        self.end_spans(None, writer);
        self.end_stacks(writer);
    }

    /// Calls on those collectors that are meant, in the order of the list, each with its context.
    fn each(
        &mut self,
        writer: &mut dyn Output,
        is_meant: impl Fn(&Running) -> bool,
        mut call: impl FnMut(&mut Running, &mut Context<'_>),
    ) {
        let Self { running, targets, clock, settings, services, window, .. } = self;
        let mut within = Within { to: writer, window };
        for running in running.iter_mut().filter(|running| is_meant(running)) {
            call(running, &mut context(&mut within, running.source, targets, *clock, settings, services));
        }
    }

    fn progress(&self, writer: &mut dyn Output) -> Progress {
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

/// The wall clock is steered by at most 500 ppm (adjtimex); a second of drift in a recording is a
/// step.
const MAX_DRIFT_NS: i64 = 1_000_000_000;

fn context<'a>(
    sink: &'a mut Within<'_>,
    source: SourceId,
    targets: &'a mut Targets,
    clock: Clock,
    settings: &'a Settings,
    services: &'a mut Services,
) -> Context<'a> {
    Context { sink, source, targets, clock, settings, services }
}
