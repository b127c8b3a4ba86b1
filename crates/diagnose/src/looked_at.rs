//! What was looked at, for how long, and what the largest parts of the time were: what a verdict
//! says where no rule names the cause.

use std::collections::{BTreeMap, BTreeSet};

use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{ProcessId, Recording};

use crate::facts::{Value, headlines};
use crate::growth::{busy_pools, held, work};
use crate::intervals::Intervals;
use crate::sight::Sights;
use crate::stops::name_of;
use crate::thread_ledger::{By, GroupLedger, operations};
use crate::waits::Category;
use crate::{
    Case, Fact, LedgerCategory, LedgerRow, MATTERS_SHARE, Part, PartOf, Sight, Sighted, Statement, Window,
};

/// Parts that are named at most.
const NAMED: usize = 4;
/// Windows that the parts are taken from, the longest ones: the rest would change no share that is
/// worth a word.
const WINDOWS: usize = 20;
/// The group of the ledger of threads that does the application's work.
pub(crate) const APPLICATION: &str = "application threads";
/// A thread that sleeps for as much of its time, in the slow windows and in the baseline, wakes up
/// at intervals of its own: no operation waits for it.
const TIMER: f64 = 0.9;

/// What is covered of the slow windows, by sight.
pub(crate) fn sights(case: &Case<'_>, sights: &Sights<'_>, jvms: &[ProcessId]) -> Vec<Sighted> {
    let slow = Intervals::of_windows(&case.slow);
    let of = |sight: Sight| {
        let all = jvms.iter().map(|jvm| sights.coverage(sight, *jvm));
        let best = all.max_by_key(|coverage| coverage.intervals.and(&slow).length_ns())?;
        let covered = best.intervals.and(&slow).length_ns();
        (covered > 0).then(|| Sighted {
            what: sight,
            sources: best.sources.clone(),
            share: covered as f64 / slow.length_ns().max(1) as f64,
        })
    };
    Sight::ALL.into_iter().filter_map(of).collect()
}

/// The largest parts of the time: stops of the JVMs, then what the application's threads did, by
/// how much they grew above the baseline, or by how much they are where there is none.
pub(crate) fn largest(case: &Case<'_>, ledger: &[LedgerRow], jvms: &[ProcessId]) -> Vec<Part> {
    let mut stops: Vec<Part> = ledger.iter().filter_map(|row| stop(case, row)).collect();
    stops.sort_by(|a, b| growth(b).total_cmp(&growth(a)));
    stops.truncate(2);
    let work = if case.base.is_empty() { work(case, jvms) } else { Vec::new() };
    // Who sleeps more than in the baseline is waited for; without one, nobody knows.
    let left_out = |category: Category| match case.base.is_empty() {
        true => category.is_idle(),
        false => category == Category::Idle,
    };
    let mut threads = if work.is_empty() { application(case, left_out) } else { work };
    threads.sort_by(|a, b| growth(b).total_cmp(&growth(a)));
    threads.truncate(NAMED - stops.len().min(NAMED));
    stops.append(&mut threads);
    stops
}

/// What the application's threads did but for having no work, by how much it grew for each
/// operation above the baseline, else by its share, or by how much it is where there is no
/// baseline. Sleep is part of it, but for that of threads that hardly do anything else: who sleeps
/// between retries is waited for.
pub(crate) fn threads(case: &Case<'_>) -> Vec<Part> {
    let mut parts = application(case, |category| category == Category::Idle);
    let by = |part: &Part| match (part.per_operation_ms, part.base_per_operation_ms) {
        (Some(slow), Some(base)) => slow - base,
        _ => growth(part),
    };
    parts.sort_by(|a, b| by(b).total_cmp(&by(a)));
    parts
}

/// Operations that a series counted in some windows; `None` where there is none.
fn operations_of(recording: &Recording, windows: &[Window]) -> Option<f64> {
    let counted: f64 = windows.iter().filter_map(|w| operations(recording, *w)).sum();
    (counted > 0.0).then_some(counted)
}

/// Milliseconds above what the baseline has, as a share.
fn growth(part: &Part) -> f64 {
    let whole = if part.share > 0.0 { part.ms / part.share } else { 0.0 };
    (part.share - part.base_share.unwrap_or(0.0)) * whole
}

/// A row of the ledger of stops that matters.
fn stop(case: &Case<'_>, row: &LedgerRow) -> Option<Part> {
    let category = row.category_id.of_threads()?;
    let (process_id, ms, share) = (row.process_id?, row.slow_ms?, row.slow_share?);
    let grown = share - row.base_share.unwrap_or(0.0);
    let by_gc = row.category_id == LedgerCategory::StoppedByGc;
    (grown >= MATTERS_SHARE).then(|| Part {
        process: row.process.clone(),
        process_id,
        recording: row.recording.clone(),
        of: PartOf::Jvm,
        category,
        what: stopped(row.category_id, category).into(),
        ms,
        share,
        base_share: row.base_share,
        per_operation_ms: None,
        base_per_operation_ms: None,
        details: stops_by_name(case.recording, row.process_id, by_gc, &case.slow),
    })
}

/// The stops of a process in some windows by name and cause, the longest in all first: "2 × Pause
/// Young (Normal), G1 Humongous Allocation".
fn stops_by_name(
    recording: &Recording,
    process: Option<ProcessId>,
    by_gc: bool,
    windows: &[Window],
) -> Vec<Statement> {
    let kind = if by_gc { kind::GC_PAUSE } else { kind::SAFEPOINT };
    let mut named: BTreeMap<(&str, Option<&str>), (usize, i64)> = BTreeMap::new();
    for span in recording.spans_of(kind) {
        let within: i64 = windows.iter().map(|w| span.overlap_ns(w.from_ns, w.to_ns)).sum();
        if Some(span.process()) == process && within > 0 {
            let sum = named.entry((name_of(&span), span.label(label::CAUSE))).or_default();
            *sum = (sum.0 + 1, sum.1.saturating_add(within));
        }
    }
    let mut named: Vec<_> = named.into_iter().collect();
    named.sort_by_key(|(_, (_, ns))| std::cmp::Reverse(*ns));
    let one = |((name, cause), (times, _)): ((&str, Option<&str>), (usize, i64))| {
        let stops = headlines::STOPS_NAMED.is(Value::count(times)).with("name", Value::name(name));
        stops.with("cause", cause.map(Value::name)).into()
    };
    named.into_iter().take(2).map(one).collect()
}

/// What application threads did, without what is left out: of the process in which most grew.
fn application(case: &Case<'_>, left_out: impl Fn(Category) -> bool) -> Vec<Part> {
    let slow = longest(&case.slow);
    let base = longest(&case.base);
    let all: Vec<Window> = slow.iter().chain(&base).copied().collect();
    let over_time = case.chains().over_time(&all, &[By::Role, By::Thread]);
    let (of_slow, of_base) = over_time.split_at(slow.len().min(over_time.len()));
    let timers = timers(of_slow, of_base);
    let sum = |windows: &[Vec<Vec<GroupLedger>>]| {
        let mut sums: BTreeMap<ProcessId, BTreeMap<Category, f64>> = BTreeMap::new();
        for group in of(windows, 0).filter(|group| group.name == APPLICATION) {
            let sum = sums.entry(group.process_id).or_default();
            for spent in group.spent.iter().filter(|spent| !left_out(spent.category)) {
                *sum.entry(running_as_one(spent.category)).or_default() += spent.ms;
            }
        }
        for group in of(windows, 1).filter(|group| timers.contains(&key(group))) {
            let asleep = sums.get_mut(&group.process_id).and_then(|sum| sum.get_mut(&Category::Sleep));
            if let Some(ms) = asleep {
                *ms = (*ms - asleep_ms(group)).max(0.0);
            }
        }
        sums
    };
    let (slow_sums, base_sums) = (sum(of_slow), sum(of_base));
    let done = operations_of(case.recording, &slow);
    let usually_done = operations_of(case.recording, &base);
    let of_process = |(process, spent): (&ProcessId, &BTreeMap<Category, f64>)| -> Vec<Part> {
        let whole: f64 = spent.values().sum();
        let usual = base_sums.get(process);
        let usual_whole: f64 = usual.map_or(0.0, |spent| spent.values().sum());
        let usual_ms = |category: &Category| usual.and_then(|u| u.get(category)).copied().unwrap_or(0.0);
        let part = |(category, ms): (&Category, &f64)| Part {
            process: case.recording.process_name(*process).to_owned(),
            process_id: *process,
            recording: case.recording.recording_of(*process).map(str::to_owned),
            of: PartOf::ApplicationThreads,
            category: *category,
            what: spent_on(*category).into(),
            ms: *ms,
            share: if whole > 0.0 { ms / whole } else { 0.0 },
            base_share: (usual_whole > 0.0).then(|| usual_ms(category) / usual_whole),
            per_operation_ms: done.map(|done| ms / done),
            base_per_operation_ms: usually_done.map(|done| usual_ms(category) / done),
            details: Vec::new(),
        };
        spent.iter().map(part).filter(|part| part.share >= MATTERS_SHARE).collect()
    };
    // One process: parts of several would be shares of different wholes in one sentence.
    let grown = |parts: &Vec<Part>| parts.iter().map(growth).filter(|g| *g > 0.0).sum::<f64>();
    slow_sums.iter().map(of_process).max_by(|a, b| grown(a).total_cmp(&grown(b))).unwrap_or_default()
}

/// The groups of some windows by one of the ways in which their threads were grouped.
fn of(windows: &[Vec<Vec<GroupLedger>>], by: usize) -> impl Iterator<Item = &GroupLedger> {
    windows.iter().filter_map(move |groups| groups.get(by)).flatten()
}

fn key(group: &GroupLedger) -> (ProcessId, &str) {
    (group.process_id, &group.name)
}

fn asleep_ms(group: &GroupLedger) -> f64 {
    group.spent.iter().filter(|spent| spent.category == Category::Sleep).map(|spent| spent.ms).sum()
}

/// The threads that sleep for nearly all of their time, slow or not.
fn timers<'a>(
    slow: &'a [Vec<Vec<GroupLedger>>],
    base: &'a [Vec<Vec<GroupLedger>>],
) -> BTreeSet<(ProcessId, &'a str)> {
    let that_sleep = |windows: &'a [Vec<Vec<GroupLedger>>]| -> BTreeSet<_> {
        let mut times: BTreeMap<_, (f64, f64)> = BTreeMap::new();
        for group in of(windows, 1) {
            let (asleep, all) = times.entry(key(group)).or_default();
            (*asleep, *all) = (*asleep + asleep_ms(group), *all + group.thread_ms);
        }
        times.retain(|_, (asleep, all)| *asleep > TIMER * *all);
        times.into_keys().collect()
    };
    that_sleep(slow).intersection(&that_sleep(base)).copied().collect()
}

/// The same where there is no baseline, of the JVM whose threads worked most: by what they waited
/// for in the end, with the methods.
fn work(case: &Case<'_>, jvms: &[ProcessId]) -> Vec<Part> {
    let of_jvm = |jvm: &ProcessId| {
        let work = work::of(case, *jvm);
        let whole: f64 = work.iter().map(|part| part.ms).sum();
        (*jvm, work, whole)
    };
    let of_each = jvms.iter().map(of_jvm).filter(|(.., whole)| *whole > 0.0);
    let Some((jvm, work, whole)) = of_each.max_by(|a, b| a.2.total_cmp(&b.2)) else { return Vec::new() };
    let about = [busy_pools::always_busy(case, jvm, whole), held::stand(case, jvm, whole)];
    let mut about = Some(about.into_iter().flatten().map(Statement::from).collect());
    let part = |work: work::Work| Part {
        process: case.recording.process_name(jvm).to_owned(),
        process_id: jvm,
        recording: case.recording.recording_of(jvm).map(str::to_owned),
        of: PartOf::ApplicationThreads,
        category: work.category,
        what: work.what,
        ms: work.ms,
        share: work.ms / whole,
        base_share: None,
        per_operation_ms: None,
        base_per_operation_ms: None,
        // The largest part comes first.
        details: about.take().unwrap_or_default(),
    };
    work.into_iter().map(part).filter(|part| part.share >= MATTERS_SHARE).collect()
}

/// The longest of some windows, in order of time.
fn longest(windows: &[Window]) -> Vec<Window> {
    let mut windows = windows.to_vec();
    windows.sort_by_key(|w| std::cmp::Reverse(w.length_ns()));
    windows.truncate(WINDOWS);
    windows.sort_by_key(|w| w.from_ns);
    windows
}

/// What a stop of the JVM was.
fn stopped(row: LedgerCategory, category: Category) -> Fact {
    match row {
        LedgerCategory::StoppedToLeave => headlines::LEAVING.fact(),
        _ => headlines::CATEGORY.is(Value::Category(category)),
    }
}

/// What a part was spent on. All running time is said to be so, whatever its layer.
fn spent_on(category: Category) -> Fact {
    match category.is_running() {
        true => headlines::RUNNING.fact(),
        false => headlines::CATEGORY.is(Value::Category(category)),
    }
}

/// All running time is one part: which layer it is, samples say, and often there are few.
fn running_as_one(category: Category) -> Category {
    if category.is_running() { Category::Running } else { category }
}
