//! Recognises a column by the words of its header: "avg_latency(ms)", "ops", "p99", "client 2 tps".

use fathom_recording::SeriesKind;
use fathom_recording::clock::{MILLI_NS, SECOND_NS};
use fathom_recording::vocabulary::series::THROUGHPUT;

/// What the cells of a column hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cells {
    /// A number per tick, to be divided by the tick's length.
    Count,
    /// A number that grows from row to row; its steps are counts.
    Counter,
    /// The wanted value, after scaling.
    AsIs,
}

/// A column of values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measure {
    pub(super) name: String,
    /// Which of several instances; empty when the header does not name one.
    pub(super) instance: String,
    pub(super) unit: String,
    pub(super) kind: SeriesKind,
    pub(super) cells: Cells,
    /// The factor by which a cell is multiplied.
    pub(super) scale: f64,
    /// Whether its words were understood; otherwise it is a gauge by default.
    pub(super) known: bool,
}

/// Words of a column of timestamps.
const TIME: &[&str] = &[
    "time",
    "timestamp",
    "ts",
    "date",
    "datetime",
    "sec",
    "secs",
    "second",
    "seconds",
    "s",
    "ms",
    "millis",
    "epoch",
    "t",
    "tick",
    "elapsed",
    "uptime",
    "clock",
    "when",
    "interval",
];
/// Words of a column that distinguishes instances, in the long form.
const INSTANCE: &[&str] = &[
    "instance",
    "client",
    "thread",
    "host",
    "node",
    "worker",
    "server",
    "process",
    "pid",
    "id",
    "name",
    "label",
    "group",
    "partition",
    "shard",
    "replica",
    "site",
];
/// Words of a column that names the metric of a row.
const METRIC: &[&str] = &["metric", "measure", "measurement", "series", "quantity"];
/// Words of work done.
const WORK: &[&str] = &[
    "throughput",
    "ops",
    "op",
    "operations",
    "tx",
    "txs",
    "txn",
    "txns",
    "transactions",
    "commits",
    "committed",
    "requests",
    "request",
    "reqs",
    "req",
    "completed",
    "done",
    "count",
    "queries",
    "events",
    "messages",
    "msgs",
    "records",
    "rows",
    "hits",
    "calls",
    "processed",
    "finished",
];
/// Words of completed work that are rates by themselves.
const RATES: &[&str] = &["tps", "rps", "qps", "ops/s", "iops", "eps", "tpm", "qpm", "rpm"];
/// Words of work that failed or was only requested: rates, but not throughput.
const NOT_DONE: &[&str] = &[
    "error", "errors", "failed", "failures", "fail", "abort", "aborts", "aborted", "retry", "retries",
    "timeouts", "rejected", "target", "offered", "queued", "pending", "active",
];
/// Words of a latency.
const LATENCY: &[&str] =
    &["latency", "lat", "response", "rt", "rtt", "duration", "service", "wait", "percentile", "pause"];
/// Words of a statistic, a latency when the unit is one of time.
const STATISTIC: &[&str] = &["avg", "average", "mean", "median", "min", "max", "stddev", "std", "worst"];
/// Words of a number that grows.
const GROWS: &[&str] = &["total", "cumulative", "cum", "accumulated", "sum"];

/// A header cell, parsed: lower-case words, and the unit in parentheses or brackets.
struct Header {
    words: Vec<String>,
    unit: String,
}

impl Header {
    fn of(cell: &str) -> Self {
        let lower = cell.trim().to_lowercase();
        let (name, unit) = match lower.split_once(['(', '[']) {
            Some((name, rest)) if !name.trim().is_empty() => {
                (name.trim(), rest.trim_end_matches([')', ']']).trim())
            }
            _ => (lower.as_str(), ""),
        };
        // "ops/s" is one word; "avg_latency", "p99-lat", "client.2" are several.
        let words = name.split(|c: char| c.is_whitespace() || "_-.:#@\"'".contains(c));
        let words: Vec<String> = words.filter(|w| !w.is_empty()).map(str::to_owned).collect();
        Self { words, unit: unit.to_owned() }
    }

    fn has(&self, list: &[&str]) -> bool {
        self.words.iter().any(|w| list.contains(&w.as_str()))
    }

    /// The unit: that in parentheses, otherwise the last word when it is a unit of time.
    fn time_unit_ns(&self) -> Option<i64> {
        let last = self.words.last().filter(|_| self.words.len() > 1);
        unit_ns(&self.unit).or_else(|| unit_ns(last?))
    }

    /// Whether it means "per second" in one of its many forms; 60 for "per minute".
    fn per_seconds(&self) -> Option<f64> {
        let text = format!("{} {}", self.words.join(" "), self.unit);
        let says = |forms: &[&str]| forms.iter().any(|form| text.contains(form));
        if says(&["/s", "per s", "/ s"]) || self.has(&["tps", "rps", "qps", "iops", "eps"]) {
            return Some(1.0);
        }
        (says(&["/min", "per min"]) || self.has(&["tpm", "qpm", "rpm"])).then_some(60.0)
    }
}

/// Nanoseconds of a unit of time.
fn unit_ns(word: &str) -> Option<i64> {
    Some(match word {
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND_NS,
        "ms" | "msec" | "millis" | "milliseconds" => MILLI_NS,
        "us" | "µs" | "μs" | "usec" | "micros" | "microseconds" => 1_000,
        "ns" | "nsec" | "nanos" | "nanoseconds" => 1,
        _ => return None,
    })
}

/// Whether a header cell names a column of timestamps.
pub(super) fn is_time(cell: &str) -> bool {
    let header = Header::of(cell);
    let first = header.words.first().is_some_and(|w| TIME.contains(&w.as_str()) || w.starts_with("time"));
    first && !header.has(LATENCY) && !header.has(STATISTIC)
}

/// The unit of a column of timestamps, if its header has it.
pub(super) fn time_unit(cell: &str) -> Option<i64> {
    let header = Header::of(cell);
    let alone = header.words.first().filter(|_| header.words.len() == 1);
    header.time_unit_ns().or_else(|| unit_ns(alone?))
}

/// Whether a header cell names a column that distinguishes instances.
pub(super) fn is_instance(cell: &str) -> bool {
    let header = Header::of(cell);
    let named = |w: &String| INSTANCE.contains(&w.as_str());
    header.unit.is_empty() && header.words.iter().all(named) && !header.words.is_empty()
}

/// Whether a header cell names a column of metric names.
pub(super) fn is_metric(cell: &str) -> bool {
    let header = Header::of(cell);
    matches!(header.words.as_slice(), [word] if METRIC.contains(&word.as_str()))
}

/// The measure of a column of values.
pub(super) fn measure(cell: &str) -> Measure {
    let header = Header::of(cell);
    let time_unit = header.time_unit_ns();
    let percentile = header.words.iter().any(|w| is_percentile(w));
    if header.has(LATENCY) || percentile || (header.has(STATISTIC) && time_unit.is_some()) {
        return latency(&header, time_unit);
    }
    let per = header.per_seconds();
    let work = header.has(WORK) || header.has(RATES);
    if work && !header.has(STATISTIC) || (per.is_some() && !header.unit.starts_with("byte")) {
        return rate(&header, per);
    }
    if header.has(NOT_DONE) {
        return Measure { known: false, ..rate(&header, per) };
    }
    gauge(&header)
}

fn is_percentile(word: &str) -> bool {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    word.strip_prefix('p').is_some_and(digits) || word.strip_suffix("th").is_some_and(digits)
}

fn latency(header: &Header, unit_ns: Option<i64>) -> Measure {
    let is_unit = |w: &String| unit_ns.is_some() && self::unit_ns(w) == unit_ns;
    let words: Vec<_> = header.words.iter().filter(|w| !is_unit(w)).cloned().collect();
    Measure {
        name: words.join("_"),
        instance: String::new(),
        unit: "ms".to_owned(),
        kind: SeriesKind::Latency,
        cells: Cells::AsIs,
        scale: unit_ns.unwrap_or(MILLI_NS) as f64 / MILLI_NS as f64,
        known: true,
    }
}

fn rate(header: &Header, per: Option<f64>) -> Measure {
    let failed = header.has(NOT_DONE);
    let role = |w: &&String| {
        let word = w.as_str();
        let of_the_rate = [WORK, RATES, GROWS].iter().any(|list| list.contains(&word));
        !(of_the_rate || unit_ns(word).is_some() || ["per", "total"].contains(&word) || word.contains("/s"))
    };
    let rest: Vec<_> = header.words.iter().filter(role).cloned().collect();
    let unit = header.unit.split(['/', ' ']).next().unwrap_or_default();
    let unit = if unit.is_empty() { "ops" } else { unit };
    Measure {
        name: if failed { header.words.join("_") } else { THROUGHPUT.to_owned() },
        instance: if failed { String::new() } else { rest.join(" ") },
        unit: format!("{unit}/s"),
        kind: SeriesKind::Rate,
        cells: match per {
            Some(_) => Cells::AsIs,
            None if header.has(GROWS) => Cells::Counter,
            None => Cells::Count,
        },
        scale: 1.0 / per.unwrap_or(1.0),
        known: true,
    }
}

fn gauge(header: &Header) -> Measure {
    Measure {
        name: header.words.join("_"),
        instance: String::new(),
        unit: header.unit.clone(),
        kind: SeriesKind::Gauge,
        cells: Cells::AsIs,
        scale: 1.0,
        known: false,
    }
}

/// Whether a header says "throughput" and nothing more: a count per tick for some, a rate for
/// others.
pub(super) fn is_bare_throughput(cell: &str) -> bool {
    let header = Header::of(cell);
    header.has(&["throughput"]) && header.unit.is_empty() && header.words.iter().all(|w| !w.contains('/'))
}

/// A throughput of which nothing but its position in the table is known.
pub(super) fn assumed_throughput(instance: String) -> Measure {
    Measure {
        name: THROUGHPUT.to_owned(),
        instance,
        unit: "ops/s".to_owned(),
        kind: SeriesKind::Rate,
        cells: Cells::Count,
        scale: 1.0,
        known: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(cell: &str) -> (String, String, String, Cells, f64) {
        let m = measure(cell);
        (m.name, m.instance, m.unit, m.cells, m.scale)
    }

    fn row(
        name: &str,
        instance: &str,
        unit: &str,
        cells: Cells,
        scale: f64,
    ) -> (String, String, String, Cells, f64) {
        (name.to_owned(), instance.to_owned(), unit.to_owned(), cells, scale)
    }

    #[test]
    fn throughput_is_recognised_by_its_words() {
        assert_eq!(measured("throughput(txs)"), row("throughput", "", "txs/s", Cells::Count, 1.0));
        assert_eq!(measured("ops"), row("throughput", "", "ops/s", Cells::Count, 1.0));
        assert_eq!(measured("rps"), row("throughput", "", "ops/s", Cells::AsIs, 1.0));
        assert_eq!(
            measured("Throughput (requests/second)"),
            row("throughput", "", "requests/s", Cells::AsIs, 1.0)
        );
        assert_eq!(measured("ops/sec"), row("throughput", "", "ops/s", Cells::AsIs, 1.0));
        assert_eq!(measured("client0_throughput"), row("throughput", "client0", "ops/s", Cells::Count, 1.0));
        assert_eq!(measured("server 2 tps"), row("throughput", "server 2", "ops/s", Cells::AsIs, 1.0));
        assert_eq!(measured("total_ops"), row("throughput", "", "ops/s", Cells::Counter, 1.0));
        assert_eq!(measured("tpm"), row("throughput", "", "ops/s", Cells::AsIs, 1.0 / 60.0));
    }

    #[test]
    fn latency_is_recognised_by_words_and_units_and_brought_to_milliseconds() {
        assert_eq!(measured("avg_latency(ms)"), row("avg_latency", "", "ms", Cells::AsIs, 1.0));
        assert_eq!(measured("25th_lat(ms)"), row("25th_lat", "", "ms", Cells::AsIs, 1.0));
        assert_eq!(measured("p99"), row("p99", "", "ms", Cells::AsIs, 1.0));
        assert_eq!(measured("p99_us"), row("p99", "", "ms", Cells::AsIs, 0.001));
        assert_eq!(measured("max(s)"), row("max", "", "ms", Cells::AsIs, 1000.0));
        assert_eq!(measure("min(ms)").kind, SeriesKind::Latency);
        assert_eq!(measure("response time [ms]").kind, SeriesKind::Latency);
    }

    #[test]
    fn other_words_are_gauges_and_failures_are_not_throughput() {
        assert_eq!(measure("heap used (MB)").kind, SeriesKind::Gauge);
        assert!(!measure("heap used (MB)").known);
        assert_eq!(measured("errors"), row("errors", "", "ops/s", Cells::Count, 1.0));
        assert_eq!(measure("aborted txs").name, "aborted_txs");
    }

    #[test]
    fn time_and_instance_columns_are_recognised_by_their_words() {
        for time in ["time(sec)", "timestamp", "Time", "elapsed_ms", "sec", "date", "timeStamp", "t"] {
            assert!(is_time(time), "{time}");
        }
        for other in ["response time", "avg time (ms)", "ops", "latency", "client"] {
            assert!(!is_time(other), "{other}");
        }
        assert_eq!(time_unit("time(sec)"), Some(SECOND_NS));
        assert_eq!(time_unit("elapsed_ms"), Some(MILLI_NS));
        assert_eq!(time_unit("ms"), Some(MILLI_NS));
        assert_eq!(time_unit("timestamp"), None);
        assert!(is_instance("client") && is_instance("Thread ID") && is_metric("metric"));
        assert!(!is_instance("client0") && !is_instance("ops"));
    }
}
