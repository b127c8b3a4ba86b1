//! What the threads that do a JVM's operations spend their time on, where there is no baseline to
//! compare with: by what they wait for in the end, and by the method that runs.

use std::collections::{BTreeMap, BTreeSet};

use fathom_recording::ProcessId;
use rustc_hash::FxHashMap;

use super::callers::methods;
use super::parts::{self, Cause, Kept, Part, Parts};
use super::{MOST, sending, words};
use crate::attribution::Key;
use crate::facts::{Value, growth as facts};
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::{Case, Fact, Finding, RuledOut, Statement};

/// Methods that are named of the running time at most, and the share of it from which on.
const METHODS: usize = 2;
const NAMED: f64 = 0.15;

/// What of the waits that differ in the peer or the file alone the largest must make up to stand
/// for itself.
const LARGEST: f64 = 0.6;
/// Ports from here on are given to who connects (`ip_local_port_range` of Linux begins there).
const CHOSEN: u16 = 32_768;
/// So many peers with such ports at least are taken to be clients: a server of a test may listen at
/// such a port, too.
const SEVERAL: usize = 3;
/// What of the work waiting for CPUs must make up for others on them to be a cause, where the loss
/// was not measured.
const LEADS: f64 = 0.25;

/// What of the running time threads must have waited for others that ran for that to be said.
const BEHIND: f64 = 0.1;

/// A part of the work of a JVM's threads.
pub(crate) struct Work {
    /// As in the ledger of threads; all running time is [`Category::Running`].
    pub(crate) category: Category,
    /// "sleeping for a time in shop.Retry.backOff".
    pub(crate) what: Statement,
    /// Milliseconds, added up over threads.
    pub(crate) ms: f64,
}

impl Work {
    /// Whether it is waiting for a CPU, or for the quota of the control group.
    fn queues(&self) -> bool {
        matches!(self.category, Category::RunQueue | Category::Throttled)
    }
}

/// Takes findings about taken CPUs out where no loss was measured and waiting for a CPU is a small
/// part of the work, with the metric that says so.
pub(crate) fn limit(case: &Case<'_>, findings: &mut Vec<Finding>) -> Vec<RuledOut> {
    if case.loss.lost_ms > 0.0 || !case.whole_run {
        return Vec::new();
    }
    let mut too_small = Vec::new();
    findings.retain(|finding| {
        if !words::is_of(Category::RunQueue, finding.rule) {
            return true;
        }
        let work = of(case, finding.process_id);
        let whole: f64 = work.iter().map(|part| part.ms).sum();
        let queued: f64 = work.iter().filter(|part| part.queues()).map(|part| part.ms).sum();
        // What they wait for longer than for a CPU comes first, on a busy machine too.
        let other = work
            .iter()
            .filter(|part| !part.queues() && part.category != Category::Running)
            .map(|part| part.ms)
            .fold(0.0, f64::max);
        let leads = whole <= 0.0 || (queued >= LEADS * whole && queued >= other);
        if !leads {
            too_small.push(RuledOut {
                rule: finding.rule.into(),
                process_id: finding.process_id,
                recording: finding.recording.clone(),
                figure: facts::OF_WORK
                    .is(Value::share(queued / whole))
                    .with("title", Value::from(&finding.title))
                    .into(),
                source: "ledger of threads".into(),
            });
        }
        leads
    });
    too_small
}

/// The innermost method below which most of the running time lies, where stacks show it.
fn below<'a>(case: &Case<'a>, parts: &Parts<'a>, ran_ms: f64) -> Option<&'a str> {
    // By method: milliseconds, and how far from the innermost method it stands, weighted by them.
    let mut sums: FxHashMap<&'a str, (f64, f64)> = FxHashMap::default();
    let running = parts.by_cause.iter().filter(|(cause, _)| cause.key.category.is_running());
    for (stack, ms) in running.flat_map(|(_, part)| &part.by_stack) {
        let ms = ms[0] + ms[1];
        let mut seen: Vec<&str> = Vec::new();
        for (away, name) in methods(case.recording, *stack).into_iter().enumerate() {
            // A method that calls itself counts once.
            if !seen.contains(&name) {
                seen.push(name);
                let sum = sums.entry(name).or_default();
                *sum = (sum.0 + ms, sum.1 + ms * away as f64);
            }
        }
    }
    let most = sums.into_iter().filter(|(_, (ms, _))| *ms >= MOST * ran_ms);
    let away = |(ms, away): (f64, f64)| away / ms.max(f64::MIN_POSITIVE);
    most.min_by(|a, b| away(a.1).total_cmp(&away(b.1)).then_with(|| a.0.cmp(b.0))).map(|(name, _)| name)
}

/// Whether peers are clients, whose next request a thread waits for: several, each with a port of
/// its own that the kernel chose for it. Whoever is called has one port for all who call.
fn are_clients<'t>(targets: impl Iterator<Item = &'t str>) -> bool {
    let mut ports = BTreeSet::new();
    for target in targets {
        match target.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()) {
            Some(port) if port >= CHOSEN => ports.insert(port),
            _ => return false,
        };
    }
    ports.len() >= SEVERAL
}

/// What a thread waits for: an answer or room to send over a connection, where it waits for a
/// thread that selects.
fn waiting(case: &Case<'_>, cause: &Cause<'_>, part: &Part<'_>, own: &str) -> Fact {
    if cause.key.category == Category::Network {
        if let Some(sender) = sending::sender(case, part) {
            return facts::FOR_ROOM.is(Value::name(sender));
        }
        if let Some(event) = words::event_for(cause, super::way_of(part).as_ref(), own) {
            return facts::FOR_ANSWER.is(Value::from(event));
        }
    }
    words::done_by(cause, own)
}

/// Waits by what they are.
#[derive(Default)]
struct Waits(BTreeMap<(String, Category), (Statement, f64)>);

impl Waits {
    fn add(&mut self, what: Fact, category: Category, ms: f64) {
        let what = Statement::from(what);
        self.0.entry((what.to_string(), category)).or_insert((what, 0.0)).1 += ms;
    }
}

/// What runs, by the methods that do so most and the one below which most of it lies.
fn ran(behind: bool, shared: Option<&str>, named: Vec<Fact>) -> Fact {
    let methods = (!named.is_empty()).then(|| Value::list(named));
    let within = match (shared, methods) {
        (None, None) => None,
        (None, Some(methods)) => Some(facts::RAN_METHODS.fact().with("methods", methods)),
        (Some(method), methods) => Some(facts::RAN_BELOW.is(Value::name(method)).with("methods", methods)),
    };
    let runs = if behind { &facts::RAN_OR_BEHIND } else { &facts::RAN };
    runs.fact().with("within", within.map(Value::from))
}

/// The parts of a JVM's work in the slow windows, the largest first; empty where context
/// switches were not recorded. Threads of pools that hardly run are left out unless others wait for
/// them: a timer, a thread that reads its console.
pub(crate) fn of(case: &Case<'_>, jvm: ProcessId) -> Vec<Work> {
    let all = Intervals::of_windows(&case.slow);
    let (first, second) = super::measured::halves(&all);
    let frames = [first, second, Intervals::default()];
    let parts = parts::of(case.recording, case.chains(), jvm, &frames, Kept::AtWork);
    let own = case.jvm_name(jvm);
    let mut waits = Waits::default();
    // Waits for one service over many connections, or for many files of one disk.
    let mut spread: BTreeMap<Cause<'_>, Vec<(&str, Fact, f64)>> = BTreeMap::new();
    let mut running: Vec<(String, f64)> = Vec::new();
    // What of it threads spent waiting for others that ran.
    let mut behind_ms = 0.0;
    for (cause, part) in &parts.by_cause {
        let ms = part.ms[0] + part.ms[1];
        match cause.key.category {
            Category::Idle => {}
            category if category.is_running() => {
                let waited = part.waited_ms();
                behind_ms += waited[0] + waited[1];
                running.push((cause.key.place.to_owned(), ms));
            }
            // Where a thread lost its CPU is no reason for it.
            Category::RunQueue | Category::Throttled => {
                let key = Key { place: "", ..cause.key };
                waits.add(words::does(&key), key.category, ms);
            }
            Category::Network | Category::Disk | Category::Child if !cause.key.target.is_empty() => {
                let all = Cause { key: Key { target: "", ..cause.key }, ..*cause };
                let what = waiting(case, cause, part, own);
                spread.entry(all).or_default().push((cause.key.target, what, ms));
            }
            category => waits.add(waiting(case, cause, part, own), category, ms),
        }
    }
    for (all, parts) in spread {
        let category = all.key.category;
        let sum: f64 = parts.iter().map(|(_, _, ms)| ms).sum();
        if parts.iter().any(|(_, _, ms)| *ms >= LARGEST * sum) {
            parts.into_iter().for_each(|(_, what, ms)| waits.add(what, category, ms));
        } else if !are_clients(parts.iter().map(|(target, ..)| *target)) {
            let several = match all.key.category {
                Category::Network => &facts::AT_PEERS,
                Category::Disk => &facts::AT_FILES,
                _ => &facts::AT_PIPES,
            };
            let doing = Value::from(words::done_by(&all, own));
            waits.add(several.is(Value::count(parts.len())).with("doing", doing), category, sum);
        }
    }
    let waits = waits.0.into_iter();
    let mut work: Vec<Work> = waits.map(|((_, category), (what, ms))| Work { category, what, ms }).collect();
    let ran_ms: f64 = running.iter().map(|(_, ms)| ms).sum();
    if ran_ms > 0.0 {
        running.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let named =
            running.iter().filter(|(place, ms)| !place.is_empty() && *ms >= NAMED * ran_ms).take(METHODS);
        let named: Vec<&(String, f64)> = named.collect();
        let shared = below(case, &parts, ran_ms);
        let shared = shared.filter(|method| named.iter().all(|(place, _)| !place.starts_with(method)));
        let share = |(place, ms): &&(String, f64)| {
            facts::SHARE_OF_RUNNING.is(Value::share(ms / ran_ms)).with("method", Value::name(place))
        };
        let what = ran(behind_ms >= BEHIND * ran_ms, shared, named.iter().map(share).collect()).into();
        work.push(Work { category: Category::Running, what, ms: ran_ms });
    }
    work.sort_by(|a, b| b.ms.total_cmp(&a.ms).then_with(|| a.what.cmp(&*b.what)));
    work
}

#[cfg(test)]
mod tests {
    use super::are_clients;

    #[test]
    fn peers_with_ports_of_their_own_are_clients_and_one_service_is_none() {
        let clients = ["127.0.0.1:43012", "127.0.0.1:43048", "10.0.0.9:51000"];
        assert!(are_clients(clients.into_iter()));
        assert!(!are_clients(["db:5432", "10.0.0.9:51000", "10.0.0.9:51002"].into_iter()));
        assert!(
            !are_clients(["127.0.0.1:41875"].into_iter())
                && !are_clients(["/var/log/a", "b", "c"].into_iter())
        );
    }
}
