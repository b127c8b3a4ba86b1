//! Metrics of both sides: operations, collections, safepoints, compilations, system calls, what
//! threads spent their time on.

mod calls;
mod operations;

use std::collections::{BTreeMap, BTreeSet};

use fathom_diagnose::thread_ledger::{By, over_time, thread_ledger};
use fathom_diagnose::{Category, Window, collections};
use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Recording, Role};
use serde::Serialize;

pub(super) use operations::counted;

use operations::Operations;

use crate::judge::ALPHA;
use crate::segments::{Held, held};

/// Segments that each side is cut into: as many as `fathom flame --diff` takes.
const SEGMENTS: usize = 16;
/// A shorter recording is not cut, nanoseconds: a segment of it would hold nothing.
const SHORTEST_NS: i64 = 2_000_000_000;
/// With fewer pauses on both sides most segments have none, and a test between segments says
/// nothing.
const FEWEST_PAUSES: usize = 2 * SEGMENTS;
/// System calls, and categories of the ledger, that took less than this of a second in each second
/// are not reported.
const LEAST: f64 = 0.001;
/// Most system calls that are listed.
const MOST_CALLS: usize = 30;

/// A metric of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Measure {
    /// Its id: "gc.stopped", "syscalls.futex", "ledger.app.monitor".
    pub id: String,
    /// In words.
    pub name: String,
    /// Unit of both.
    pub unit: &'static str,
    /// On the first side.
    pub first: f64,
    /// On the second.
    pub second: f64,
    /// The test between segments of both, where there is one.
    pub held: Option<Held>,
    /// Whether it differs by more than it varies within the two runs; set for all metrics together.
    pub differs: bool,
}

/// One side cut into segments.
struct Side<'a> {
    recording: &'a Recording,
    segments: Vec<Window>,
}

impl Side<'_> {
    /// Which segment a timestamp is in.
    fn at(&self, t_ns: i64) -> Option<usize> {
        let after = self.segments.partition_point(|w| w.from_ns <= t_ns);
        after.checked_sub(1).filter(|i| t_ns <= self.segments[*i].to_ns)
    }

    /// Spans of a kind summed by name in each segment, per second: what `value` takes of each.
    fn rates(&self, kind: &str, value: impl Fn(f64) -> f64) -> BTreeMap<String, Vec<f64>> {
        let mut sums: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for span in self.recording.spans_of(kind) {
            let Some(i) = self.at(span.t0_ns()) else { continue };
            let row = sums.entry(span.name().to_owned()).or_insert_with(|| vec![0.0; self.segments.len()]);
            let ms = span.t1_ns().saturating_sub(span.t0_ns()) as f64 / 1e6;
            row[i] += value(ms) / (self.segments[i].length_ns() as f64 / 1e9);
        }
        sums
    }

    /// The same of all names together.
    fn rate(&self, kind: &str, value: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut all = vec![0.0; self.segments.len()];
        for row in self.rates(kind, value).values() {
            all.iter_mut().zip(row).for_each(|(sum, v)| *sum += v);
        }
        all
    }

    fn records(&self, kind: &str) -> bool {
        self.recording.spans_of(kind).len() > 0
    }
}

/// All metrics that both sides have. `long_ms`: pauses of so many milliseconds are counted.
pub(super) fn measures(
    recordings: [&Recording; 2],
    windows: [Option<Window>; 2],
    long_ms: &[f64],
) -> Vec<Measure> {
    let [Some(a), Some(b)] = windows else { return Vec::new() };
    let [a, b] = [(recordings[0], a), (recordings[1], b)]
        .map(|(recording, window)| Side { recording, segments: cut(window) });
    let mut found = Found { a: &a, b: &b, measures: Vec::new() };
    let operations = [&a, &b].map(|side| Operations::of(side.recording, &side.segments));
    if let [Some(first), Some(second)] = &operations {
        found.add("throughput", "operations", "1/s", &first.rates(), &second.rates());
    }
    found.collections(long_ms);
    found.spans(kind::SAFEPOINT, "safepoint", "safepoints");
    found.spans(kind::JIT_COMPILE, "jit", "compilations");
    found.by_name(kind::SYSCALL, "syscalls", "system call");
    found.ledger(&operations);
    found.locks(&operations);
    found.calls(&operations);
    found.threads();
    found.measures
}

struct Found<'a> {
    a: &'a Side<'a>,
    b: &'a Side<'a>,
    measures: Vec<Measure>,
}

impl Found<'_> {
    /// A metric with its value in each segment.
    fn add(&mut self, id: &str, name: &str, unit: &'static str, first: &[f64], second: &[f64]) {
        let held = held(first, second, ALPHA);
        let mean = |values: &[f64]| fathom_diagnose::stats::mean(values).unwrap_or(0.0);
        let (first, second) = (mean(first), mean(second));
        self.measures.push(Measure {
            id: id.to_owned(),
            name: name.to_owned(),
            unit,
            first,
            second,
            held,
            differs: false,
        });
    }

    /// A metric of the whole run, without values in segments.
    fn whole(&mut self, id: &str, name: &str, unit: &'static str, [first, second]: [f64; 2]) {
        let (id, name) = (id.to_owned(), name.to_owned());
        self.measures.push(Measure { id, name, unit, first, second, held: None, differs: false });
    }

    /// Pauses, outermost only, as `fathom gc` counts them.
    fn collections(&mut self, long_ms: &[f64]) {
        let pauses = [self.a, self.b].map(|side| {
            let jvms = (0..side.recording.processes.len() as u32).map(ProcessId);
            let pauses = jvms.flat_map(|jvm| collections::pauses(side.recording, jvm, None));
            pauses.map(|p| (p.span.t0_ns(), p.ms())).collect::<Vec<(i64, f64)>>()
        });
        if pauses.iter().any(Vec::is_empty) {
            return;
        }
        let [first, second] = [(self.a, &pauses[0]), (self.b, &pauses[1])].map(|(side, pauses)| {
            let (mut stopped, mut count) = (vec![0.0; side.segments.len()], vec![0.0; side.segments.len()]);
            for (t_ns, ms) in pauses {
                let Some(i) = side.at(*t_ns) else { continue };
                let seconds = side.segments[i].length_ns() as f64 / 1e9;
                stopped[i] += ms / 1e3 / seconds;
                count[i] += 1.0 / seconds;
            }
            (stopped, count)
        });
        let tested = pauses.iter().any(|pauses| pauses.len() >= FEWEST_PAUSES);
        for (id, name, unit, first, second) in [
            ("gc.stopped", "stopped by collections", "share", &first.0, &second.0),
            ("gc.pauses", "pauses", "1/s", &first.1, &second.1),
        ] {
            self.add(id, name, unit, first, second);
            if let Some(last) = self.measures.last_mut().filter(|_| !tested) {
                last.held = None;
            }
        }
        let lengths = [0, 1].map(|i| pauses[i].iter().map(|(_, ms)| *ms).collect::<Vec<f64>>());
        let of = |f: fn(&[f64]) -> f64| lengths.each_ref().map(|l| f(l));
        self.whole("gc.total", "pauses in all", "ms", of(|l| l.iter().sum()));
        self.whole("gc.longest", "longest pause", "ms", of(|l| l.iter().copied().fold(0.0, f64::max)));
        for limit in long_ms {
            let count = lengths.each_ref().map(|l| l.iter().filter(|ms| *ms >= limit).count() as f64);
            self.whole(
                &format!("gc.over_{limit}_ms"),
                &format!("pauses of {limit} ms or more"),
                "count",
                count,
            );
        }
        // Pauses of one run come one by one, so that a test by ranks may take each for itself.
        let p_value = fathom_diagnose::stats::mann_whitney(&lengths[0], &lengths[1]);
        let medians = lengths.map(|l| {
            let sorted = fathom_diagnose::stats::sorted(l);
            fathom_diagnose::stats::median(&sorted).unwrap_or(0.0)
        });
        self.whole("gc.median", "median pause", "ms", medians);
        if let Some(median) = self.measures.last_mut() {
            median.held =
                Some(Held { first: medians[0], second: medians[1], ratio: None, difference: None, p_value });
        }
    }

    /// Threads by role.
    fn threads(&mut self) {
        let count = |side: &Side<'_>| {
            let mut roles: BTreeMap<&'static str, f64> = BTreeMap::new();
            for thread in &side.recording.threads {
                *roles.entry(role_words(thread.role)).or_default() += 1.0;
            }
            roles
        };
        let [a, b] = [count(self.a), count(self.b)];
        if a.is_empty() || b.is_empty() {
            return;
        }
        let roles: BTreeSet<&&'static str> = a.keys().chain(b.keys()).collect();
        for role in roles {
            let of = [&a, &b].map(|side| side.get(*role).copied().unwrap_or(0.0));
            self.whole(&format!("threads.{role}"), &format!("threads: {role}"), "count", of);
        }
    }

    /// Number and time of the spans of a kind.
    fn spans(&mut self, kind: &str, id: &str, name: &str) {
        if self.a.records(kind) && self.b.records(kind) {
            self.number_and_time(kind, id, name);
        }
    }

    fn number_and_time(&mut self, kind: &str, id: &str, name: &str) {
        let counts = [self.a, self.b].map(|side| side.rate(kind, |_| 1.0));
        self.add(&format!("{id}.count"), name, "1/s", &counts[0], &counts[1]);
        let times = [self.a, self.b].map(|side| side.rate(kind, |ms| ms));
        self.add(&format!("{id}.time"), &format!("time of {name}"), "ms/s", &times[0], &times[1]);
    }

    /// Number of the spans of a kind, name by name: those that are most frequent on either side.
    fn by_name(&mut self, kind: &str, id: &str, name: &str) {
        if !(self.a.records(kind) && self.b.records(kind)) {
            return;
        }
        let [a, b] = [self.a, self.b].map(|side| side.rates(kind, |_| 1.0));
        let none = [vec![0.0; self.a.segments.len()], vec![0.0; self.b.segments.len()]];
        let sum =
            |rows: &BTreeMap<String, Vec<f64>>, n: &str| rows.get(n).map_or(0.0, |r| r.iter().sum::<f64>());
        let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
        names.sort_unstable();
        names.dedup();
        names.sort_by(|x, y| (sum(&a, y) + sum(&b, y)).total_cmp(&(sum(&a, x) + sum(&b, x))));
        for call in names.into_iter().take(MOST_CALLS) {
            let (first, second) = (a.get(call).unwrap_or(&none[0]), b.get(call).unwrap_or(&none[1]));
            self.add(&format!("{id}.{call}"), &format!("{name} {call}"), "1/s", first, second);
        }
    }

    /// Milliseconds that each role of threads spent on each category, per second, or per operation
    /// where both count them.
    fn ledger(&mut self, operations: &[Option<Operations>; 2]) {
        let spent = [self.a, self.b].map(|side| {
            let mut rows: BTreeMap<(String, Category), Vec<f64>> = BTreeMap::new();
            if thread_ledger(side.recording, None, None, By::Role).groups.is_empty() {
                return rows;
            }
            let over_time = over_time(side.recording, &side.segments, &[By::Role]);
            for (n, groups) in over_time.iter().enumerate() {
                let seconds = side.segments[n].length_ns() as f64 / 1e9;
                for group in groups.iter().flatten() {
                    for spent in &group.spent {
                        let key = (group.name.clone(), spent.category);
                        let row = rows.entry(key).or_insert_with(|| vec![0.0; side.segments.len()]);
                        row[n] += spent.ms / seconds;
                    }
                }
            }
            rows
        });
        if spent.iter().any(BTreeMap::is_empty) {
            return;
        }
        let none = [vec![0.0; self.a.segments.len()], vec![0.0; self.b.segments.len()]];
        let mut keys: Vec<&(String, Category)> = spent[0].keys().chain(spent[1].keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let rows = [0, 1].map(|i| spent[i].get(key).unwrap_or(&none[i]).as_slice());
            let total = |row: &[f64]| row.iter().sum::<f64>() / row.len().max(1) as f64;
            let little = rows.iter().all(|row| total(row) < LEAST * 1e3);
            let (group, category) = key;
            let id = format!("ledger.{group}.{category:?}").to_lowercase();
            let name = format!("{group}: {}", category.words());
            match per_operation(operations, rows) {
                Some([first, second]) => self.add(&id, &name, "ms/op", &first, &second),
                None if little => {}
                None => self.add(&id, &name, "ms/s", rows[0], rows[1]),
            }
        }
    }
}

/// Rates per second of both sides as values per operation; `None` where a side does not count
/// operations.
fn per_operation(operations: &[Option<Operations>; 2], rows: [&[f64]; 2]) -> Option<[Vec<f64>; 2]> {
    let [Some(first), Some(second)] = operations else { return None };
    Some([first.per_operation(rows[0])?, second.per_operation(rows[1])?])
}

fn role_words(role: Role) -> &'static str {
    match role {
        Role::App => "application",
        Role::Gc => "collector",
        Role::Jit => "compilers",
        Role::Vm => "the JVM's own",
        Role::Other => "other",
    }
}

/// A window in segments of equal length; one, where it is short.
fn cut(window: Window) -> Vec<Window> {
    let length = window.length_ns();
    let n = if length < SHORTEST_NS { 1 } else { SEGMENTS as i64 };
    let at =
        |i: i64| window.from_ns.saturating_add((i128::from(length) * i128::from(i) / i128::from(n)) as i64);
    (0..n).map(|i| Window { from_ns: at(i), to_ns: at(i + 1) }).collect()
}
