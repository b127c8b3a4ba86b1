//! What the threads that do a JVM's operations spend their time on, where there is no baseline to compare with: by what they wait for in the
//! end, and by the method that runs.

use std::collections::BTreeMap;

use fathom_recording::ProcessId;

use super::parts::{self, Kept, Key};
use super::words;
use crate::intervals::Intervals;
use crate::waits::Heading;
use crate::{Case, quantity};

/// Methods that are named of the running time at most, and the share of it from which on.
const METHODS: usize = 2;
const NAMED: f64 = 0.15;

/// A part of the work of a JVM's threads.
pub(crate) struct Work {
    /// "asleep for a time in shop.Retry.backOff".
    pub(crate) what: String,
    /// Milliseconds, added up over threads.
    pub(crate) ms: f64,
}

/// The parts of a JVM's work in the slow windows, the largest first; empty where switches of threads were not recorded. Threads of pools that
/// hardly run are left out unless others wait for them: a timer, a thread that reads its console.
pub(crate) fn of(case: &Case<'_>, jvm: ProcessId) -> Vec<Work> {
    let all = Intervals::of_windows(&case.slow);
    let (first, second) = super::halves(&all);
    let frames = [first, second, Intervals::default()];
    let parts = parts::of(case.recording, case.chains(), jvm, &frames, Kept::AtWork);
    let own = case.jvm_name(jvm);
    let mut waits: BTreeMap<String, f64> = BTreeMap::new();
    let mut running: Vec<(String, f64)> = Vec::new();
    for (cause, part) in &parts.by_cause {
        let ms = part.ms[0] + part.ms[1];
        match cause.key.heading {
            Heading::Idle => {}
            heading if heading.is_running() => running.push((cause.key.place.to_owned(), ms)),
            // Where a thread lost its CPU is no reason for it.
            Heading::RunQueue | Heading::Throttled => {
                let key = Key { place: "", ..cause.key };
                *waits.entry(words::doing(&key)).or_default() += ms;
            }
            _ => *waits.entry(words::done_by(cause, own)).or_default() += ms,
        }
    }
    let mut work: Vec<Work> = waits.into_iter().map(|(what, ms)| Work { what, ms }).collect();
    let ran_ms: f64 = running.iter().map(|(_, ms)| ms).sum();
    if ran_ms > 0.0 {
        running.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let named =
            running.iter().filter(|(place, ms)| !place.is_empty() && *ms >= NAMED * ran_ms).take(METHODS);
        let named: Vec<String> =
            named.map(|(place, ms)| format!("{place} {}", quantity::share(ms / ran_ms))).collect();
        let within = if named.is_empty() { String::new() } else { format!(" ({} of it)", named.join(", ")) };
        work.push(Work { what: format!("running{within}"), ms: ran_ms });
    }
    work.sort_by(|a, b| b.ms.total_cmp(&a.ms).then_with(|| a.what.cmp(&b.what)));
    work
}
