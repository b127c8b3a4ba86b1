//! What a session writes to: rows are kept in memory for an interval and then become the
//! fleet's; what is slow meanwhile becomes an incident, whole.
//!
//! ```text
//!   collectors ──▶ SlowSamples (ring, triggers) ──▶ SPOOL/incidents
//!                      └─ every N seconds: excerpt ──▶ Rows' thread ──▶ SPOOL/rows
//! ```
//!
//! What is in memory when the agent is killed is lost: the interval that has not ended. Intervals
//! follow each other without a gap, and none overlaps another.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fathom_capture::Output;
use fathom_capture::slow::SlowSamples;
use fathom_recording::quantity;
use fathom_recording::vocabulary::live::{self, Word};
use fathom_recording::{
    CountRow, FrameId, FrameType, Identity, Process, ProcessId, RecordingError, Role, SampleRow, SeriesId,
    SeriesInfo, Sink, Source, SourceId, SpanId, SpanRow, StackId, ThreadId, Unseen,
};

use crate::limits::{Governor, Verdict};
use crate::rows::{Interval, Rows, trim_memory};
use crate::spool::Spool;
use crate::status::{JvmStatus, Shared};
use crate::usage::Usage;

/// Collectors report some rounds later what has ended; series have the second before.
const SETTLE_NS: i64 = 2_000_000_000;
/// An interval that is cut for lack of memory is at least so long.
const LEAST_NS: i64 = 1_000_000_000;
/// How often the limits are judged and the JVMs are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// A second is a step of the wall clock; steering moves it by less.
const STEP_NS: i64 = 1_000_000_000;

/// Says what a JVM is.
pub type Identify = Arc<dyn Fn(i32) -> Identity + Send + Sync>;

/// What intervals are made with.
pub(crate) struct Making {
    pub every_ns: i64,
    pub identify: Identify,
    pub rows: Rows,
    pub spool: Arc<Spool>,
    pub shared: Arc<Shared>,
    pub governor: Governor,
    /// What cannot be seen all the time.
    pub unseen: Vec<Unseen>,
    /// Why nothing can be recorded.
    pub cannot: Option<String>,
    /// What happened since the last interval.
    pub happened: Vec<Unseen>,
}

impl Making {
    /// Judges what is used now, and says what comes of it.
    pub fn judge(&mut self) -> Verdict {
        let Some(used) = Usage::now() else { return Verdict::Stay };
        let before = self.governor.rate_hz();
        let verdict = self.governor.judge(used, Instant::now());
        if verdict == Verdict::Changed {
            let why = self.governor.why().unwrap_or("it was well below its limits again").to_owned();
            let now = match (self.governor.is_paused(), self.governor.rate_hz()) {
                (true, _) => "nothing is recorded".to_owned(),
                (false, hz) => format!("{hz} samples per second per CPU"),
            };
            self.note(Unseen {
                scope: None,
                what: format!(
                    "CPU samples at the requested rate: {before} a second before, {now} from then on"
                ),
                why: format!("the agent keeps its limits: {why}"),
                remedy: "raise --max-cpu or --max-memory, or ask for less (-F, --with)".into(),
            });
        }
        self.say_state(self.cannot.as_deref());
        verdict
    }

    /// Says in the status whether it records as it was asked to; `cannot`: why not at all.
    pub fn say_state(&self, cannot: Option<&str>) {
        let governor = &self.governor;
        let state = match (cannot, governor.is_paused(), governor.why()) {
            (Some(_), ..) => "cannot record",
            (None, true, _) => "paused",
            (None, false, Some(_)) => "reduced",
            (None, false, None) => "recording",
        };
        let why = cannot.or(governor.why()).map(str::to_owned);
        let rate_hz = if cannot.is_some() { 0 } else { governor.rate_hz() };
        let used = governor.used();
        self.shared.with(|status| {
            (status.state, status.why, status.rate_hz) = (state.to_owned(), why, rate_hz);
            status.cpu_percent = used.and_then(|(share, _)| share).map(|share| share * 100.0);
            status.rss_bytes = used.map(|(_, rss)| rss);
        });
    }

    fn note(&mut self, note: Unseen) {
        eprintln!("fathom: {}; {}", note.what, note.why);
        if self.happened.len() < 64 {
            self.happened.push(note);
        }
    }

    /// All that is to be said of an interval that ends now.
    fn notes(&mut self) -> Vec<Unseen> {
        let mut notes = std::mem::take(&mut self.happened);
        if let Some(why) = self.governor.why() {
            let what = match (self.governor.is_paused(), self.governor.rate_hz()) {
                (true, _) => "everything".to_owned(),
                (false, 0) => "CPU samples".to_owned(),
                (false, hz) => format!("CPU samples at the requested rate: {hz} a second are taken"),
            };
            let why = format!("the agent keeps its limits: {why}");
            notes.push(Unseen {
                scope: None,
                what,
                why,
                remedy: "raise --max-cpu or --max-memory, or ask for less".into(),
            });
        }
        let dropped = self.spool.fill().dropped;
        if dropped > 0 {
            notes.push(Unseen {
                scope: None,
                what: format!(
                    "{} recordings of this host, since its spool was made",
                    quantity::count(dropped as f64)
                ),
                why:
                    "the place could not be reached for so long that the oldest were dropped for lack of room"
                        .into(),
                remedy: "raise --max-disk".into(),
            });
        }
        notes.extend(self.unseen.iter().cloned());
        notes
    }

    /// An interval that ends now.
    pub fn interval(&mut self, within_ns: (i64, i64), jvms: HashMap<ProcessId, Identity>) -> Interval {
        Interval { within_ns, excerpt: None, own: self.own(jvms.len()), notes: self.notes(), jvms }
    }

    fn own(&self, jvms: usize) -> Vec<(Word, f64)> {
        let fill = self.spool.fill();
        let mut own = vec![
            (live::AGENT_RATE, f64::from(self.governor.rate_hz())),
            (live::AGENT_SPOOL, fill.bytes as f64),
            (live::AGENT_DROPPED, fill.dropped as f64),
            (live::AGENT_JVMS, jvms as f64),
        ];
        if let Some((share, rss_bytes)) = self.governor.used() {
            own.extend(share.map(|share| (live::FATHOM_CPU, share)));
            own.push((live::FATHOM_RSS, rss_bytes as f64));
        }
        own
    }
}

/// See the module.
pub(crate) struct Intervals {
    pub making: Making,
    slow: SlowSamples,
    from_ns: i64,
    /// Processes that were not JVMs when they were looked at.
    others: Vec<ProcessId>,
    jvms: HashMap<ProcessId, (JvmStatus, Identity)>,
    looked: Instant,
    rate_hz: u32,
    cut: bool,
    ends: bool,
}

impl Intervals {
    pub fn new(slow: SlowSamples, making: Making) -> Self {
        let from_ns = slow.now_ns();
        let rate_hz = making.governor.rate_hz();
        let (others, jvms) = (Vec::new(), HashMap::new());
        Self { making, slow, from_ns, others, jvms, looked: Instant::now(), rate_hz, cut: false, ends: false }
    }

    /// Everything is attached: the first interval begins.
    pub fn begin(&mut self, from_ns: i64) {
        self.from_ns = from_ns;
        self.slow.keep_from(from_ns);
        self.making.governor.forget(Instant::now());
    }

    /// The end: the last interval and what is slow at the time are written.
    pub fn finish(mut self) -> Making {
        self.look();
        let to_ns = self.slow.now_ns();
        let interval = self.interval(to_ns);
        self.making.rows.write(interval);
        self.slow.finish();
        self.making
    }

    fn interval(&mut self, to_ns: i64) -> Interval {
        let within_ns = (self.from_ns, to_ns);
        let jvms = self.jvms.iter().map(|(id, (_, identity))| (*id, identity.clone())).collect();
        let excerpt = self.slow.excerpt(within_ns);
        Interval { excerpt: Some(excerpt), ..self.making.interval(within_ns, jvms) }
    }

    /// Gives an interval that is over to be written.
    fn hand_over(&mut self) {
        let now_ns = self.slow.now_ns();
        let full = (self.cut || self.slow.is_nearly_full()) && now_ns - self.from_ns > SETTLE_NS + LEAST_NS;
        let over = now_ns - self.from_ns >= self.making.every_ns + SETTLE_NS;
        if !(full || over) || !self.making.rows.is_idle() {
            return;
        }
        let to_ns = if over { self.from_ns + self.making.every_ns } else { now_ns - SETTLE_NS };
        let interval = self.interval(to_ns);
        self.making.rows.write(interval);
        self.from_ns = to_ns;
        self.slow.keep_from(to_ns);
        self.cut = false;
        self.forget();
    }

    /// Looks which processes are JVMs by now, and what these are, while they live.
    fn look(&mut self) {
        let (slow, jvms, identify) = (&mut self.slow, &mut self.jvms, &self.making.identify);
        self.others.retain(|id| {
            let Some(process) = slow.process(*id) else { return false };
            if !process.jvm {
                return true;
            }
            let Some(pid) = process.pid else { return false };
            let mut identity = identify(i32::try_from(pid).unwrap_or(-1));
            identity.derive_service(std::slice::from_ref(process));
            let service = identity.service.clone();
            let status =
                JvmStatus { pid, name: process.name.clone(), service, container: identity.container.clone() };
            slow.identify(*id, identity.clone());
            jvms.insert(*id, (status, identity));
            false
        });
        let mut alive: Vec<JvmStatus> = jvms.values().map(|(status, _)| status.clone()).collect();
        alive.retain(|jvm| fathom_capture::procfs::lives(jvm.pid, None));
        alive.sort_by_key(|jvm| jvm.pid);
        self.making.shared.with(|status| status.jvms = alive);
    }

    /// Lets go of JVMs of which no row can come any more.
    fn forget(&mut self) {
        let slow = &self.slow;
        self.jvms.retain(|id, (status, _)| {
            fathom_capture::procfs::lives(status.pid, None) || slow.process(*id).is_some()
        });
    }

    fn judge(&mut self) {
        match self.making.judge() {
            Verdict::Stay => {}
            Verdict::GiveBack => {
                self.cut = true;
                trim_memory();
            }
            Verdict::Changed => self.ends |= self.making.governor.is_paused(),
        }
        let drift_ns = self.slow.drift_ns();
        if drift_ns.abs() >= STEP_NS && !self.ends {
            self.ends = true;
            self.making.note(Unseen {
                scope: None,
                what: "a short time while everything was attached again".into(),
                why: format!("the wall clock was set by {:.1} s", drift_ns as f64 / 1e9),
                remedy: String::new(),
            });
        }
    }
}

impl Output for Intervals {
    fn checkpoint(&mut self) -> Result<(), RecordingError> {
        self.slow.checkpoint()?;
        if self.looked.elapsed() >= LOOK {
            self.looked = Instant::now();
            self.look();
            self.judge();
            self.hand_over();
        }
        Ok(())
    }

    fn wants_unfinished(&mut self) -> bool {
        self.slow.wants_unfinished()
    }

    fn has_unfinished(&mut self) {
        self.slow.has_unfinished();
    }

    fn wants_new_names(&self) -> bool {
        self.slow.wants_new_names()
    }

    fn has_new_names(&mut self) {
        self.slow.has_new_names();
    }

    fn wants_rate_hz(&mut self) -> Option<u32> {
        let hz = self.making.governor.rate_hz();
        (hz != std::mem::replace(&mut self.rate_hz, hz)).then_some(hz)
    }

    fn wants_end(&mut self) -> bool {
        self.ends
    }
}

impl Sink for Intervals {
    fn add_source(&mut self, source: Source) -> SourceId {
        self.slow.add_source(source)
    }

    fn source_mut(&mut self, id: SourceId) -> &mut Source {
        self.slow.source_mut(id)
    }

    fn add_process(&mut self, process: Process) -> ProcessId {
        let id = self.slow.add_process(process);
        self.others.push(id);
        id
    }

    fn process_mut(&mut self, id: ProcessId) -> &mut Process {
        self.slow.process_mut(id)
    }

    fn thread(&mut self, process: ProcessId, tid: Option<i64>, name: &str, role: Role) -> ThreadId {
        self.slow.thread(process, tid, name, role)
    }

    fn rename_thread(&mut self, id: ThreadId, name: &str, role: Role) {
        self.slow.rename_thread(id, name, role);
    }

    fn span(&mut self, row: &SpanRow<'_>) -> SpanId {
        self.slow.span(row)
    }

    fn count(&mut self, row: &CountRow<'_>) {
        self.slow.count(row);
    }

    fn add_series(&mut self, info: SeriesInfo) -> SeriesId {
        self.slow.add_series(info)
    }

    fn point(&mut self, series: SeriesId, t_ns: i64, dt_ns: i64, value: f64) {
        self.slow.point(series, t_ns, dt_ns, value);
    }

    fn frame(&mut self, name: &str, module: &str, frame_type: FrameType, line: i32) -> FrameId {
        self.slow.frame(name, module, frame_type, line)
    }

    fn stack(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        self.slow.stack(parent, frame)
    }

    fn sample(&mut self, row: &SampleRow<'_>) {
        self.slow.sample(row);
    }
}
