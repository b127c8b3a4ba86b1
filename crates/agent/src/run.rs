//! The agent at work: a session that goes on for as long as it can, and begins anew when it was
//! paused or the wall clock was set.
//!
//! ```text
//!   open the spool ─▶ threads: rows, ship ─▶ ┌ session until: signal · paused · clock set · cannot record
//!                                            └ without one: wait, say so in the rows, try again
//!   signal ─▶ the last interval ─▶ threads end ─▶ done
//! ```

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fathom_capture::slow::trigger::{AtRest, Trigger};
use fathom_capture::slow::{IncidentOutcome, OnSlow, SlowSamples};
use fathom_capture::target::JvmFilter;
use fathom_capture::{Ended, Limits as SessionLimits, Selection, Session, Settings, Signals, Targets};
use fathom_recording::{Identity, Unseen};

use crate::AgentError;
use crate::backoff::Backoff;
use crate::intervals::{Identify, Intervals, Making};
use crate::limits::{Governor, Limits};
use crate::place::Place;
use crate::rows::Rows;
use crate::ship::Shipper;
use crate::spool::Spool;
use crate::status::{PlaceStatus, SCHEMA, Shared, SpoolStatus, Status};

/// How often the status is written.
const PUBLISH_EVERY: Duration = Duration::from_secs(2);
/// How often it is looked for a signal where no session does.
const POLL_EVERY: Duration = Duration::from_millis(200);
/// The part of the memory limit that rows may take, and as much again while they are written.
const RING_PART: u64 = 4;

/// What is asked for.
pub struct Agent {
    /// Which JVMs.
    pub filter: JvmFilter,
    /// What is captured of them.
    pub capture: Settings,
    /// What is kept whole.
    pub triggers: Vec<Trigger>,
    /// Which threads have nothing to do, for triggers.
    pub at_rest: AtRest,
    /// How much time before it began is kept.
    pub before: Duration,
    /// How long nothing must be slow before it is written.
    pub after: Duration,
    /// Length of an interval.
    pub every: Duration,
    /// Bounds.
    pub limits: Limits,
    /// The directory of what waits.
    pub spool: PathBuf,
    /// Where it goes.
    pub place: Box<dyn Place>,
    /// Says what a JVM is.
    pub identify: Identify,
    /// What is known of the host.
    pub host: Identity,
}

/// Runs until a signal comes.
pub fn run(agent: Agent, signals: &Signals) -> Result<(), AgentError> {
    let spool = Arc::new(Spool::open(&agent.spool, agent.limits.disk_bytes)?);
    let shared = Arc::new(Shared::new(agent.status()));
    publish(&shared, &spool);
    let Agent { filter, capture, triggers, at_rest, before, after, .. } = agent;
    let Agent { every, limits, place, identify, host, .. } = agent;
    let rows = Rows::start(Arc::clone(&spool), Arc::clone(&shared), (host.clone(), filter.clone()))?;
    let shipper = Shipper::start(Arc::clone(&spool), place, Arc::clone(&shared))?;
    let making = Making {
        every_ns: i64::try_from(every.as_nanos()).unwrap_or(i64::MAX / 4),
        identify,
        rows,
        spool: Arc::clone(&spool),
        shared,
        governor: Governor::new(limits, capture.frequency_hz, Instant::now()),
        unseen: Vec::new(),
        cannot: None,
        happened: Vec::new(),
    };
    let on_slow = OnSlow {
        triggers,
        before,
        after,
        memory_bytes: limits.memory_bytes / RING_PART,
        place: spool.dir().join("incidents"),
        // The spool drops what is too much, rows first.
        max_bytes: u64::MAX,
        keep: None,
        identity: host,
        at_rest,
    };
    let mut at_work = AtWork { filter, capture, on_slow, signals, published: Instant::now() };
    let making = at_work.run(making)?;
    let Making { rows, shared, .. } = making;
    rows.finish();
    shipper.finish();
    publish(&shared, &spool);
    Ok(())
}

impl Agent {
    fn status(&self) -> Status {
        Status {
            schema: SCHEMA.into(),
            pid: std::process::id(),
            started_s: now_s(),
            state: "starting".into(),
            asked_hz: self.capture.frequency_hz,
            cpu_limit_percent: self.limits.cpu * 100.0,
            rss_limit_bytes: self.limits.memory_bytes,
            spool: SpoolStatus { limit_bytes: self.limits.disk_bytes, ..SpoolStatus::default() },
            place: PlaceStatus { place: self.place.shown(), ..PlaceStatus::default() },
            ..Status::default()
        }
    }
}

struct AtWork<'a> {
    filter: JvmFilter,
    capture: Settings,
    on_slow: OnSlow,
    signals: &'a Signals,
    published: Instant,
}

impl AtWork<'_> {
    fn run(&mut self, mut making: Making) -> Result<Making, AgentError> {
        let mut backoff = Backoff::new(u64::from(std::process::id()));
        loop {
            let began = Instant::now();
            let (ended, back) = self.session(making)?;
            making = back;
            match ended {
                Ok(Ended::Interrupted | Ended::Terminated) => return Ok(making),
                Ok(_) => {
                    if began.elapsed() > Duration::from_secs(60) {
                        backoff.reset();
                    }
                    making.say_state(None);
                }
                Err(why) => {
                    eprintln!("fathom: nothing can be recorded: {why}");
                    making.cannot = Some(why.clone());
                    making.say_state(Some(&why));
                    making.happened.push(Unseen {
                        scope: None,
                        what: "everything".into(),
                        why,
                        remedy: "`fathom check` lists what is missing; docs/agent.md what the agent needs"
                            .into(),
                    });
                }
            }
            // One that ends at once, whyever, is not begun anew at once.
            let wait = if making.governor.is_paused() { Duration::MAX } else { backoff.failed() };
            if self.wait(&mut making, wait) {
                return Ok(making);
            }
        }
    }

    /// One session, to its end. The inner error: why nothing can be recorded.
    fn session(&mut self, making: Making) -> Result<(Result<Ended, String>, Making), AgentError> {
        let shared = Arc::clone(&making.shared);
        let spool = Arc::clone(&making.spool);
        let note = {
            let (shared, spool) = (Arc::clone(&shared), Arc::clone(&spool));
            move |outcome: &IncidentOutcome| incident(outcome, &shared, &spool)
        };
        let slow = SlowSamples::new(self.on_slow.clone(), Box::new(note))?;
        let mut intervals = Intervals::new(slow, making);
        let targets = Targets::find(Selection::Jvms(self.filter.clone()))?;
        let limits = SessionLimits { duration: None, max_bytes: u64::MAX, place: PathBuf::new() };
        let settings = Settings { frequency_hz: intervals.making.governor.rate_hz(), ..self.capture.clone() };
        let mut session = match Session::start(targets, settings, limits, &mut intervals) {
            Ok(session) => session,
            Err(error) => return Ok((Err(error.to_string()), intervals.finish())),
        };
        intervals.begin(session.started_ns());
        let fallback = session.fallback().cloned();
        intervals.making.unseen = session.unseen(&mut intervals).into_iter().chain(fallback).collect();
        intervals.making.cannot = None;
        intervals.making.say_state(None);
        eprintln!(
            "fathom: recording {} ({} there now), attached in {:.1} s",
            session.targets().selection().description(),
            session.targets().len(),
            session.attaching().as_secs_f64()
        );
        let ended = session.run(&mut intervals, self.signals, &mut |_| {
            if self.published.elapsed() >= PUBLISH_EVERY {
                self.published = Instant::now();
                publish(&shared, &spool);
            }
        });
        // That there never was a JVM is no error here.
        let _ = session.stop(ended.clone(), &mut intervals);
        Ok((Ok(ended), intervals.finish()))
    }

    /// Waits without a session, for so long or until limits allow to go on; whether a signal came.
    /// Rows say meanwhile that nothing is recorded.
    fn wait(&mut self, making: &mut Making, wait: Duration) -> bool {
        let (began, mut looked, mut from) = (Instant::now(), Instant::now(), (Instant::now(), now_ns()));
        let every = Duration::from_nanos(making.every_ns.max(1).cast_unsigned());
        loop {
            let signal = self.signals.take().is_some();
            let over =
                signal || began.elapsed() >= wait || (wait == Duration::MAX && !making.governor.is_paused());
            let now = Instant::now();
            let lasts = now - from.0;
            if lasts >= every || (over && lasts >= Duration::from_secs(1)) {
                // By the monotonic clock: the other one may be set meanwhile.
                let to_ns = from.1.saturating_add(i64::try_from(lasts.as_nanos()).unwrap_or(0));
                let interval = making.interval((from.1, to_ns), HashMap::new());
                making.rows.write(interval);
                from = (now, now_ns());
            }
            if over {
                return signal;
            }
            if looked.elapsed() >= Duration::from_secs(1) {
                looked = Instant::now();
                making.judge();
                if self.published.elapsed() >= PUBLISH_EVERY {
                    self.published = Instant::now();
                    publish(&making.shared, &making.spool);
                }
            }
            std::thread::sleep(POLL_EVERY.min(wait));
        }
    }
}

/// What became of an incident.
fn incident(outcome: &IncidentOutcome, shared: &Shared, spool: &Spool) {
    match outcome {
        IncidentOutcome::Written { path, what, .. } => {
            eprintln!("fathom: {what} → {}", path.display());
            shared.with(|status| status.incidents.written += 1);
            if let Err(error) = spool.trim() {
                shared.with(|status| status.spool.error = Some(error.to_string()));
            }
        }
        IncidentOutcome::Failed { what, why } => {
            eprintln!("fathom: NOT WRITTEN: {what}: {why}");
            shared.with(|status| {
                status.incidents.failed += 1;
                status.incidents.why = Some(format!("{what}: {why}"));
            });
        }
    }
}

/// Writes the status.
fn publish(shared: &Shared, spool: &Spool) {
    let fill = spool.fill();
    let status = shared.with(|status| {
        status.written_s = now_s();
        let known = &mut status.spool;
        (known.bytes, known.entries, known.dropped_recordings) = (fill.bytes, fill.entries, fill.dropped);
        status.clone()
    });
    if let Err(error) = status.store(spool.dir()) {
        shared.with(|status| status.spool.error = Some(error.to_string()));
    }
}

fn now_ns() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}

fn now_s() -> i64 {
    now_ns() / 1_000_000_000
}
