//! `fathom record --on-slow`: everything in a ring in memory, a recording on disk only of what was
//! slow.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Result, bail};
use fathom_capture::slow::limit::{bytes, duration};
use fathom_capture::slow::trigger::Trigger;
use fathom_capture::slow::triggers::TRIGGERS;
use fathom_capture::slow::{IncidentOutcome, LONGEST, OnSlow, SlowSamples};
use fathom_capture::{CaptureEngine, Ended, Limits, Session, Settings, Signals, Targets, Unavailable};
use fathom_recording::Identity;
use indicatif::HumanBytes;

use super::{ProgressLine, say, say_ended, say_start, seconds, user_error};
use crate::exit::{Environment, Outcome};

/// What incidents may take together when nothing is said.
pub(super) const MAX_SIZE: u64 = 1 << 30;
/// The least memory that a ring is worth having with.
const LEAST_MEMORY: u64 = 16 << 20;
/// What collectors record one by one by themselves, nanoseconds; a shorter limit asks for more.
const ONE_BY_ONE_NS: u64 = 1_000_000;
/// Without a terminal, progress is printed so often: it may run for days.
const PRINT_EVERY_S: u64 = 600;

/// Arguments of slow samples.
#[derive(clap::Args, Debug)]
pub(super) struct SlowArgs {
    /// Write only what is around something slow: stop>200ms, syscall:write>50ms (see the
    /// list below); may be given several times. -o is a directory then, in which each incident is a
    /// recording of its own
    #[arg(long, value_name = "TRIGGER", value_parser = trigger)]
    on_slow: Vec<Trigger>,
    /// With --on-slow: how much time before it began is kept [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "on_slow")]
    before: Option<Duration>,
    /// With --on-slow: an incident ends after this time without anything slow [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "on_slow")]
    after: Option<Duration>,
    /// With --on-slow: keep only the latest incidents, this many [default: as many as fit into
    /// --max-size]
    #[arg(long, value_name = "N", requires = "on_slow", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
    /// With --on-slow: memory for the buffer [default: 256MB]
    #[arg(long, value_name = "SIZE", value_parser = bytes, requires = "on_slow")]
    memory: Option<u64>,
}

fn trigger(text: &str) -> Result<Trigger, String> {
    text.parse()
}

/// The list of triggers, made from the list itself.
pub(super) fn help() -> String {
    let width = TRIGGERS.iter().map(|kind| kind.syntax.len()).max().unwrap_or(0);
    let lines = TRIGGERS.iter().map(|kind| format!("  {:<width$}  {}", kind.syntax, kind.about));
    format!("Triggers of --on-slow:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

impl SlowArgs {
    pub(super) fn is_given(&self) -> bool {
        !self.on_slow.is_empty()
    }

    /// Refuses what cannot be.
    pub(super) fn check(&self, without: &[String], jfr: bool) -> Result<()> {
        for trigger in &self.on_slow {
            let Some(collector) = trigger.kind.collector else { continue };
            if without.iter().any(|id| id == collector) {
                bail!(
                    "--on-slow {trigger} is reported by the collector {collector}, which --without leaves out"
                );
            }
        }
        if self.is_given() && jfr {
            bail!(
                "--on-slow needs eBPF: a flight recorder hands over what it saw when it ends, and not while it runs"
            );
        }
        if self.memory.is_some_and(|bytes| bytes < LEAST_MEMORY) {
            bail!("--memory: less than {} holds nothing of use", HumanBytes(LEAST_MEMORY));
        }
        Ok(())
    }

    /// What collectors have to see for the triggers.
    pub(super) fn adjust(&self, settings: &mut Settings) {
        adjust(&self.on_slow, settings);
        settings.engine.get_or_insert(CaptureEngine::Ebpf);
    }

    pub(super) fn run(
        &self,
        targets: Targets,
        settings: Settings,
        duration: Option<Duration>,
        (place, max_bytes, identity): (PathBuf, u64, Identity),
        signals: &Signals,
    ) -> Result<Outcome> {
        let on_slow = OnSlow {
            triggers: self.on_slow.clone(),
            before: self.before.unwrap_or(Duration::from_secs(10)),
            after: self.after.unwrap_or(Duration::from_secs(5)),
            memory_bytes: self.memory.unwrap_or(256 << 20),
            place: place.clone(),
            max_bytes,
            keep: self.keep.map(|keep| keep as usize),
            identity,
            at_rest: fathom_diagnose::is_at_rest,
        };
        if on_slow.before > LONGEST * 10 {
            bail!("--before: {} is more than memory could hold", seconds(on_slow.before));
        }
        let line = Rc::new(RefCell::new(ProgressLine::new(PRINT_EVERY_S)));
        let shown = Rc::clone(&line);
        let report = move |outcome: &IncidentOutcome| shown.borrow().above(&incident(outcome));
        let mut slow = SlowSamples::new(on_slow, Box::new(report)).map_err(user_error)?;
        // It ends by its duration, a signal or its target's end; what is on disk is bounded by
        // itself.
        let limits = Limits { duration, max_bytes: u64::MAX, place: PathBuf::new() };
        let mut session = Session::start(targets, settings, limits, &mut slow).map_err(user_error)?;
        let until = match duration {
            Some(duration) => format!("for {}", seconds(duration)),
            None => "until Ctrl-C or until it ends".to_owned(),
        };
        say_start(&mut session, &mut slow, &until);
        if let Some(why) = self.missing(&mut session, &mut slow) {
            let _ = session.stop(Ended::Interrupted, &mut slow);
            return Err(Environment(why).into());
        }
        let triggers: Vec<String> = self.on_slow.iter().map(ToString::to_string).collect();
        say(&format!(
            "written is what is around {}, into {}, {} at most",
            triggers.join(", "),
            place.display(),
            HumanBytes(max_bytes)
        ));
        let ended = session.run(&mut slow, signals, &mut |progress| line.borrow_mut().print(progress));
        line.borrow().clear();
        let summary = session.stop(ended, &mut slow);
        let stand = slow.finish();
        let summary = summary.map_err(user_error)?;
        say_ended(&summary);
        let failed = if stand.failed > 0 { format!(", {} NOT WRITTEN", stand.failed) } else { String::new() };
        let dropped = if stand.dropped > 0 {
            format!(", {} older ones dropped for room", stand.dropped)
        } else {
            String::new()
        };
        let written = fathom_diagnose::quantity::plural(stand.written as usize, "incident", "incidents");
        say(&format!("{written} written into {}{failed}{dropped}", place.display()));
        if let Ended::CannotRead(why) = summary.ended {
            return Err(Environment(why).into());
        }
        Ok(Outcome::Done)
    }

    /// Why something that was asked for will never be seen here.
    fn missing(&self, session: &mut Session, slow: &mut SlowSamples) -> Option<String> {
        let unseen = session.unseen(slow);
        let unprobed = unseen.iter().any(|unseen| unseen.what.starts_with(fathom_capture::probes::WHAT));
        let works: Vec<&str> = session.collectors().collect();
        let lacks = |trigger: &&Trigger| {
            let misses = trigger.kind.collector.is_some_and(|id| !works.contains(&id));
            misses || (unprobed && trigger.probe().is_some())
        };
        let trigger = self.on_slow.iter().find(lacks)?;
        let words = |unseen: Unavailable| format!("{}: {}; {}", unseen.what, unseen.why, unseen.remedy);
        let why: Vec<String> = unseen.into_iter().map(words).collect();
        Some(format!("--on-slow {trigger} cannot be seen here: {}", why.join("; ")))
    }
}

/// What collectors have to see for the triggers.
pub(in crate::commands) fn adjust(triggers: &[Trigger], settings: &mut Settings) {
    let is_recorded = |trigger: &&Trigger| trigger.probe().is_none();
    let shortest = triggers.iter().filter(is_recorded).filter_map(|trigger| trigger.limit.ns()).min();
    let shortest = shortest.map(|ns| ns.unsigned_abs());
    // None of what is looked for may be summed up with what is shorter.
    settings.always_ns = settings.always_ns.min(shortest.unwrap_or(u64::MAX));
    let shortest = shortest.filter(|ns| *ns < ONE_BY_ONE_NS);
    settings.min_ns = match (settings.min_ns, shortest) {
        (Some(min), Some(shortest)) => Some(min.min(shortest)),
        (min, shortest) => min.or(shortest),
    };
    let probed = triggers.iter().filter_map(|trigger| Some((trigger.probe()?, trigger.limit.ns()?)));
    for (spec, limit_ns) in probed {
        // What is shorter stays in the kernel.
        let least = settings.probes_min_ns.unwrap_or(u64::MAX);
        settings.probes_min_ns = Some(least.min(limit_ns.unsigned_abs()));
        settings.probes.push(spec);
    }
    for collector in triggers.iter().filter_map(|trigger| trigger.kind.collector) {
        settings.with.push(collector.to_owned());
    }
}

/// What became of an incident, in one line.
fn incident(outcome: &IncidentOutcome) -> String {
    match outcome {
        IncidentOutcome::Written { path, bytes, t0_ns, what, dropped } => {
            let at = jiff::Timestamp::from_nanosecond(i128::from(*t0_ns)).unwrap_or_default();
            let at = at.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S%.3f");
            let older = match dropped {
                0 => String::new(),
                1 => "; the oldest was dropped".to_owned(),
                n => format!("; the {n} oldest were dropped"),
            };
            format!("{at} {what} → {} ({}){older}", path.display(), HumanBytes(*bytes))
        }
        IncidentOutcome::Failed { what, why } => format!("NOT WRITTEN: {what}: {why}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test panics where it fails")]
    use super::*;

    fn adjusted(triggers: &[&str]) -> Settings {
        let on_slow = triggers.iter().map(|text| text.parse().unwrap()).collect();
        let args = SlowArgs { on_slow, before: None, after: None, keep: None, memory: None };
        let mut settings = Settings::default();
        args.adjust(&mut settings);
        settings
    }

    #[test]
    fn what_is_looked_for_is_told_one_by_one_however_much_of_it_there_is() {
        let settings = adjusted(&["stop>200ms", "offcpu>20ms", "lock>50ms"]);
        assert_eq!((settings.always_ns, settings.min_ns), (20_000_000, None));
        let settings = adjusted(&["offcpu>200us"]);
        assert_eq!((settings.always_ns, settings.min_ns), (200_000, Some(200_000)));
        let settings = adjusted(&["stop>5s"]);
        assert_eq!(settings.always_ns, Settings::default().always_ns);
    }
}
