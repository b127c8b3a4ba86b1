//! Locks that were waited for, system calls counted to the last short one, and what was asked of
//! others: connections, names, TLS, disks.

use std::collections::{BTreeMap, BTreeSet};

use fathom_recording::Recording;
use fathom_recording::vocabulary::{count, figure, kind, lock};

use super::operations::Operations;
use super::{Found, MOST_CALLS, Side, per_operation};

/// Most classes of locks that are listed.
const MOST_LOCKS: usize = 10;

/// Kinds whose number and time are reported, with id and name.
const ASKED: [(&str, &str, &str); 6] = [
    (kind::NET_CONNECT, "connects", "connections made"),
    (kind::NET_DNS, "dns", "names resolved"),
    (kind::IO_SOCKET, "socket", "socket reads and writes"),
    (kind::IO_FILE, "file", "file reads and writes"),
    (kind::DISK_REQUEST, "disk", "disk requests"),
    (kind::DISK_SYNC, "sync", "syncs of files"),
];

/// Kinds of waits for locks.
const LOCKS: [(&str, &str, &str); 3] = [
    (kind::LOCK_MONITOR, "monitor", "waits for monitors"),
    (kind::LOCK_PARK, "park", "waits for java.util.concurrent locks"),
    (kind::LOCK_NATIVE, "native", "waits for locks of the C library"),
];

impl Found<'_> {
    /// Waits for locks, all of a sort together, then class by class.
    pub(super) fn locks(&mut self, operations: &[Option<Operations>; 2]) {
        for (kind, id, name) in LOCKS {
            if !self.comparable(kind) {
                continue;
            }
            let values: [fn(f64) -> f64; 2] = [|_| 1.0, |ms| ms];
            let [counts, times] = values.map(|value| {
                [self.a, self.b].map(|side| {
                    let mut rates = side.rates(kind, value);
                    // A thread that parks without a lock waits for something to do.
                    rates.retain(|name, _| kind != kind::LOCK_PARK || lock::is_lock(name));
                    rates
                })
            });
            let together =
                |rows: &[BTreeMap<String, Vec<f64>>; 2]| [self.a.all(&rows[0]), self.b.all(&rows[1])];
            let ([count_a, count_b], [time_a, time_b]) = (together(&counts), together(&times));
            self.add(&format!("locks.{id}.count"), name, "1/s", &count_a, &count_b);
            self.add(&format!("locks.{id}.time"), &format!("time of {name}"), "ms/s", &time_a, &time_b);
            let words = (format!("locks.{id}"), format!("time of {name}:"));
            self.each_name(&times, (&words.0, &words.1), ("ms/s", "ms/op"), MOST_LOCKS, operations);
        }
    }

    /// System calls as the kernel counted them, and what was asked of others.
    pub(super) fn calls(&mut self, operations: &[Option<Operations>; 2]) {
        let counts = |side: &Side<'_>| side.recording.counts_of(count::SYSCALL_TOTALS).len() > 0;
        if counts(self.a) && counts(self.b) {
            let rows = [self.a, self.b].map(Side::counted_calls);
            let words = ("calls.system", "system call");
            self.each_name(&rows, words, ("1/s", "1/op"), MOST_CALLS, operations);
        }
        for (kind, id, name) in ASKED {
            if self.comparable(kind) {
                self.number_and_time(kind, &format!("calls.{id}"), name);
            }
        }
        if self.comparable(kind::NET_TLS) {
            self.handshakes(operations);
        }
    }

    /// TLS handshakes in full, resumed, and those of which it is not known, where there are any.
    fn handshakes(&mut self, operations: &[Option<Operations>; 2]) {
        for (id, name, resumed) in [
            ("calls.tls.full", "TLS handshakes in full", Some(0.0)),
            ("calls.tls.resumed", "TLS handshakes that resumed a session", Some(1.0)),
            ("calls.tls.either", "TLS handshakes, in full or resumed", None),
        ] {
            let rows = [self.a, self.b].map(|side| side.handshakes(resumed));
            if rows.iter().flatten().all(|rate| *rate == 0.0) {
                continue;
            }
            match per_operation(operations, [&rows[0], &rows[1]]) {
                Some([first, second]) => self.add(id, name, "1/op", &first, &second),
                None => self.add(id, name, "1/s", &rows[0], &rows[1]),
            }
        }
    }

    /// Whether what only one side recorded did not happen on the other: both were read by the same
    /// readers and collectors.
    fn comparable(&self, kind: &str) -> bool {
        let recorded = [self.a, self.b].map(|side| side.records(kind));
        let alike = || formats(self.a.recording) == formats(self.b.recording);
        recorded.iter().all(|t| *t) || (recorded.iter().any(|t| *t) && alike())
    }

    /// A metric for each name: those that are largest on either side. Its unit: per second, and per
    /// operation, where both sides count these.
    fn each_name(
        &mut self,
        [a, b]: &[BTreeMap<String, Vec<f64>>; 2],
        (id, words): (&str, &str),
        units: (&'static str, &'static str),
        most: usize,
        operations: &[Option<Operations>; 2],
    ) {
        let none = [vec![0.0; self.a.segments.len()], vec![0.0; self.b.segments.len()]];
        let sum = |name: &String| [a, b].map(|rows| rows.get(name).map_or(0.0, |r| r.iter().sum::<f64>()));
        let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        let mut names: Vec<(&String, f64)> =
            names.into_iter().map(|n| (n, sum(n).iter().sum::<f64>())).collect();
        names.sort_by(|x, y| y.1.total_cmp(&x.1));
        for (name, _) in names.into_iter().take(most) {
            let rows = [a.get(name).unwrap_or(&none[0]).as_slice(), b.get(name).unwrap_or(&none[1])];
            let (id, name) = (format!("{id}.{name}"), format!("{words} {name}"));
            match per_operation(operations, rows) {
                Some([first, second]) => self.add(&id, &name, units.1, &first, &second),
                None => self.add(&id, &name, units.0, rows[0], rows[1]),
            }
        }
    }
}

impl Side<'_> {
    /// Rows of all names together.
    fn all(&self, rows: &BTreeMap<String, Vec<f64>>) -> Vec<f64> {
        let mut all = vec![0.0; self.segments.len()];
        rows.values().for_each(|row| all.iter_mut().zip(row).for_each(|(sum, v)| *sum += v));
        all
    }

    /// TLS handshakes a second of which it is known, or not known, whether they resumed a session.
    fn handshakes(&self, resumed: Option<f64>) -> Vec<f64> {
        let mut row = vec![0.0; self.segments.len()];
        let such = self.recording.spans_of(kind::NET_TLS);
        for span in such.filter(|span| span.figure(figure::RESUMED) == resumed) {
            if let Some(i) = self.at(span.t0_ns()) {
                row[i] += 1e9 / self.segments[i].length_ns().max(1) as f64;
            }
        }
        row
    }

    /// System calls a second by name: what was counted over about a second is spread evenly over
    /// it.
    fn counted_calls(&self) -> BTreeMap<String, Vec<f64>> {
        let mut rows: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for made in self.recording.counts_of(count::SYSCALL_TOTALS) {
            let (t0, t1) = (made.t0_ns(), made.t1_ns().max(made.t0_ns().saturating_add(1)));
            let (calls, length) = (made.count() as f64, t1.saturating_sub(t0) as f64);
            let row = rows.entry(made.name().to_owned()).or_insert_with(|| vec![0.0; self.segments.len()]);
            let first = self.segments.partition_point(|w| w.to_ns <= t0);
            for (value, window) in row.iter_mut().zip(&self.segments).skip(first) {
                let within = t1.min(window.to_ns).saturating_sub(t0.max(window.from_ns));
                if within <= 0 {
                    break;
                }
                *value += calls * within as f64 / length / (window.length_ns().max(1) as f64 / 1e9);
            }
        }
        rows
    }
}

/// Readers and collectors of a recording.
fn formats(recording: &Recording) -> BTreeSet<&str> {
    recording.sources.iter().map(|source| source.format.as_str()).collect()
}
