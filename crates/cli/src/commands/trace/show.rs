//! Which events are shown, and how they and the summary read: as text, or as JSON, a line each.

mod histogram;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::time::{Duration, Instant};

use fathom_diagnose::chain::Stop;
use fathom_diagnose::quantity;
use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{ProcessId, Recording, SampleRow, SpanRow, StackId, ThreadId};
use fathom_render::printable;
use serde_json::{Map, Value as Json, json};

use super::condition::{Condition, Value};
use super::probe::Probe;
use super::stacks;
use super::summary::{Summary, Tally, dearest};
use histogram::{histogram, histogram_json};

/// Schema of `--json`.
pub const SCHEMA: &str = "fathom.trace/1";
/// Stacks that are numbered, so that one that was printed is not printed again; then numbers begin
/// anew.
const MOST_NUMBERED: usize = 4096;
/// Things of the summary that are listed, and those of them that are shown in full.
const LISTED: usize = 20;
const IN_FULL: usize = 5;
/// Columns of the parts of stops.
const WIDTH: usize = 110;
/// Threads, owners and stacks of each.
const WITHIN: usize = 5;
const STACKS: usize = 3;

/// What is to be shown.
pub struct Wanted {
    /// What is traced.
    pub probe: &'static Probe,
    /// As it was asked for, its argument too.
    pub title: String,
    /// Its argument: the name of a system call.
    pub argument: Option<String>,
    /// What took less is not shown, nanoseconds.
    pub min_ns: i64,
    /// A condition on it.
    pub condition: Option<Condition>,
    /// Frames of a stack.
    pub depth: usize,
    /// Events printed in a second at most; `None`: all.
    pub rate: Option<u64>,
    /// As JSON, a line each.
    pub json: bool,
}

/// The events as they come, and their sum.
pub struct Show {
    wanted: Wanted,
    text: String,
    second: Instant,
    in_second: u64,
    unprinted: u64,
    /// Sum of what was shown or counted.
    pub summary: Summary,
    /// Events of the kind that were shorter or did not fit the condition.
    pub left_out: u64,
    numbered: HashMap<StackId, usize>,
    fields_asked: BTreeSet<String>,
    fields_seen: BTreeSet<String>,
}

/// An event with its words.
struct Event<'a> {
    kind: &'a str,
    name: &'a str,
    by: String,
    t0_ns: i64,
    took_ns: i64,
    /// Values that are summed up as well.
    parts: &'static [(&'static str, &'static str)],
    /// How many it stands for.
    count: u64,
    process: ProcessId,
    thread: Option<ThreadId>,
    stack: Option<StackId>,
    figures: &'a [(&'a str, f64)],
    labels: &'a [(&'a str, &'a str)],
}

impl Show {
    /// Nothing shown yet.
    pub fn new(wanted: Wanted) -> Self {
        let asked = wanted.condition.as_ref().map(Condition::fields).unwrap_or_default();
        Self {
            fields_asked: asked.into_iter().map(str::to_owned).collect(),
            wanted,
            text: String::new(),
            second: Instant::now(),
            in_second: 0,
            unprinted: 0,
            summary: Summary::default(),
            left_out: 0,
            numbered: HashMap::new(),
            fields_seen: BTreeSet::new(),
        }
    }

    /// The first line of JSON.
    pub fn head(&mut self, pid: i32) {
        if self.wanted.json {
            let probe = &self.wanted.title;
            self.line(&json!({ "schema": SCHEMA, "probe": probe, "pid": pid, "min_ns": self.wanted.min_ns }));
        }
    }

    /// What waits to be written.
    pub fn take_text(&mut self) -> String {
        if self.second.elapsed() >= Duration::from_secs(1) {
            if self.unprinted > 0 {
                let _ = writeln!(self.text, "  … {} more in this second (--rate)", self.unprinted);
            }
            (self.second, self.in_second, self.unprinted) = (Instant::now(), 0, 0);
        }
        std::mem::take(&mut self.text)
    }

    /// A span of a collector.
    pub fn span(&mut self, row: &SpanRow<'_>, names: &Recording) {
        let Some(shown) = self.wanted.probe.shows(row) else { return };
        let Some(took_ns) = (shown.took_ns)(row) else { return };
        let is_other = |argument: &String| row.kind == kind::SYSCALL && row.name != argument;
        if self.wanted.argument.as_ref().is_some_and(is_other) {
            return;
        }
        let event = Event {
            kind: row.kind,
            name: row.name,
            by: (shown.by)(row),
            t0_ns: row.t0_ns,
            took_ns,
            parts: shown.parts,
            count: 1,
            process: row.process,
            thread: row.thread,
            stack: row.stack,
            figures: row.figures,
            labels: row.labels,
        };
        self.event(&event, names);
    }

    /// A sample of a collector. Its weight counts as what it took.
    pub fn sample(&mut self, row: &SampleRow<'_>, names: &Recording) {
        if !self.wanted.probe.samples.contains(&row.kind) {
            return;
        }
        let by = stacks::java_method(names, row.stack).unwrap_or("outside of Java").to_owned();
        let event = Event {
            kind: row.kind,
            name: row.kind,
            by,
            t0_ns: row.t_ns,
            took_ns: 0,
            parts: &[],
            count: row.weight.max(0).unsigned_abs(),
            process: row.process,
            thread: row.thread,
            stack: row.stack,
            figures: &[("weight", row.weight as f64)],
            labels: &[],
        };
        self.event(&event, names);
    }

    fn event(&mut self, event: &Event<'_>, names: &Recording) {
        if event.took_ns < self.wanted.min_ns || !self.fits(event, names) {
            self.left_out += 1;
            return;
        }
        let thread = thread(event.thread, names);
        let by = |wanted| event.labels.iter().find(|(key, _)| *key == wanted).map(|(_, value)| *value);
        let owner = by(label::OWNER).or_else(|| by(label::WAKER)).or_else(|| by(label::INTERRUPT));
        self.summary.add((&event.by, &thread, owner), event.stack, (event.count, event.took_ns));
        for (key, what) in event.parts {
            let figure = event.figures.iter().find(|(name, _)| name == key);
            if let Some((_, ns)) = figure {
                self.summary.add_part(&event.by, what, *ns as i64);
            }
        }
        // Threads end as often as they begin: those lines would take the room of the ones that show
        // something.
        if event.kind == kind::THREAD_END && !self.wanted.json {
            return;
        }
        if self.wanted.rate.is_some_and(|rate| self.in_second >= rate) {
            self.unprinted += u64::from(self.wanted.rate != Some(0));
            return;
        }
        self.in_second += 1;
        if self.wanted.json {
            let line = self.event_json(event, names);
            self.line(&line);
        } else {
            self.event_text(event, &thread, names);
        }
    }

    /// Whether the condition holds.
    fn fits(&mut self, event: &Event<'_>, names: &Recording) -> bool {
        let Some(condition) = &self.wanted.condition else { return true };
        for field in &self.fields_asked {
            if !self.fields_seen.contains(field) && field_of(event, field, names).is_some() {
                self.fields_seen.insert(field.clone());
            }
        }
        condition.holds(&|field| field_of(event, field, names))
    }

    /// Fields of the condition that no event had.
    pub fn fields_not_seen(&self) -> Vec<&str> {
        self.fields_asked.difference(&self.fields_seen).map(String::as_str).collect()
    }

    fn line(&mut self, line: &Json) {
        // A value with keys of text can be written.
        self.text.push_str(&fathom_render::json_line(line).unwrap_or_default());
        self.text.push('\n');
    }

    fn event_json(&self, event: &Event<'_>, names: &Recording) -> Json {
        let thread = event.thread.and_then(|id| names.threads.get(id.index()));
        let figures: Map<_, _> = event.figures.iter().map(|(key, n)| ((*key).to_owned(), json!(n))).collect();
        let labels: Map<_, _> =
            event.labels.iter().map(|(key, text)| ((*key).to_owned(), json!(text))).collect();
        json!({ "event": {
            "t_ns": event.t0_ns,
            "took_ns": event.took_ns,
            "kind": event.kind,
            "name": event.name,
            "by": event.by,
            "pid": names.processes.get(event.process.index()).and_then(|process| process.pid),
            "tid": thread.and_then(|thread| thread.tid),
            "thread": thread.map(|thread| names.strings.get(thread.name)),
            "figures": figures,
            "labels": labels,
            "stack": stacks::json(names, event.stack),
        }})
    }

    fn event_text(&mut self, event: &Event<'_>, thread: &str, names: &Recording) {
        let took = if event.took_ns > 0 { took(event.took_ns) } else { String::new() };
        // The name is the thread's: it does not say what became of it.
        let what = match event.kind {
            kind::THREAD_STARTUP => "starts ",
            _ => "",
        };
        let _ = write!(
            self.text,
            "{} {took:>9}  {}  {what}{}",
            clock(event.t0_ns),
            printable(thread),
            printable(event.name)
        );
        for (key, text) in event.labels {
            let _ = write!(self.text, "  {key}={}", printable(text));
        }
        for (key, number) in event.figures {
            let _ = write!(self.text, "  {}", figure(key, *number));
        }
        let numbered = event.stack.map(|stack| {
            if self.numbered.len() >= MOST_NUMBERED {
                self.numbered.clear();
            }
            let (known, number) = (self.numbered.contains_key(&stack), self.numbered.len() + 1);
            (stack, known, *self.numbered.entry(stack).or_insert(number))
        });
        match numbered {
            Some((stack, false, number)) if self.wanted.depth > 0 => {
                let _ = writeln!(self.text, "  stack {number}:");
                stacks::write(&mut self.text, names, stack, self.wanted.depth, "      ");
            }
            Some((_, _, number)) => {
                let _ = writeln!(self.text, "  stack {number}");
            }
            None => self.text.push('\n'),
        }
    }

    /// The sum of it all, as it is printed at the end.
    pub fn end(&mut self, names: &Recording, stops: &[Stop], seconds: f64, lost: u64) {
        if self.wanted.json {
            let mut line = self.summary_json(names, seconds, lost);
            if self.is_of_stops() {
                line["summary"]["stops"] = json!(stops);
            }
            self.line(&line);
            return;
        }
        self.summary_text(names, seconds, lost);
        if !stops.is_empty() {
            let zero_ns = stops.iter().map(|stop| stop.from_ns).min().unwrap_or(0);
            self.text.push_str("\nThe longest stops by their parts, from the first of them on\n\n");
            self.text.push_str(&fathom_render::chain::text(&[], stops, zero_ns, WIDTH));
        }
    }

    /// Whether stops are what is traced.
    pub fn is_of_stops(&self) -> bool {
        self.wanted.probe.shows.iter().any(|shown| shown.kind == kind::SAFEPOINT)
    }

    fn summary_json(&self, names: &Recording, seconds: f64, lost: u64) -> Json {
        let list = |tallies: &HashMap<String, Tally>| -> Json {
            dearest(tallies).into_iter().map(|(name, tally)| with("name", json!(name), tally)).collect()
        };
        let things: Json = self
            .summary
            .things()
            .into_iter()
            .map(|(name, thing)| {
                let mut row = with("name", json!(name), &thing.all);
                row["histogram_us"] = histogram_json(&thing.all);
                if !thing.parts.is_empty() {
                    let parts = thing.parts.iter();
                    row["parts"] = parts.map(|(what, tally)| with("name", json!(what), tally)).collect();
                }
                row["threads"] = list(&thing.threads);
                row["owners"] = list(&thing.owners);
                let stacks = dearest(&thing.stacks).into_iter();
                row["stacks"] =
                    stacks.map(|(id, tally)| with("frames", stacks::json(names, Some(id)), tally)).collect();
                row
            })
            .collect();
        let mut all = self.summary.all.json();
        all["seconds"] = json!(seconds);
        all["left_out"] = json!(self.left_out);
        all["lost"] = json!(lost);
        all["histogram_us"] = histogram_json(&self.summary.all);
        all["things"] = things;
        json!({ "summary": all })
    }

    fn summary_text(&mut self, names: &Recording, seconds: f64, lost: u64) {
        let mut out = String::new();
        let all = &self.summary.all;
        let probe = &self.wanted.title;
        let _ = write!(out, "\n{probe}: {} in {seconds:.1} s", events(all.count));
        if all.total_ns > 0 {
            let _ = write!(out, ", {} in all, the longest {}", took(all.total_ns), took(all.max_ns));
        }
        if self.left_out > 0 {
            let why = if self.wanted.condition.is_some() {
                "shorter or not fitting --where"
            } else {
                "shorter (--min)"
            };
            let _ = write!(out, "; {} more {why}", quantity::count(self.left_out as f64));
        }
        if lost > 0 {
            let _ = write!(out, "; {} records LOST", quantity::count(lost as f64));
        }
        out.push('\n');
        let things = self.summary.things();
        if !things.is_empty() {
            let _ = writeln!(out, "\n{:>9} {:>11} {:>11} {:>11}  what", "count", "total", "mean", "max");
        }
        for (name, thing) in things.iter().take(LISTED) {
            let _ = writeln!(out, "{}  {}", row(&thing.all), printable(name));
        }
        if things.len() > LISTED {
            let _ = writeln!(out, "  … {} more (--json lists all)", things.len() - LISTED);
        }
        for (name, thing) in things.iter().take(IN_FULL) {
            let _ = writeln!(out, "\n{}", printable(name));
            if thing.all.total_ns > 0 {
                histogram(&mut out, &thing.all);
            }
            if !thing.parts.is_empty() {
                out.push_str("  parts; they overlap\n");
            }
            for (what, tally) in &thing.parts {
                let _ = writeln!(out, "  {}  {what}", row(tally));
            }
            let lists = [("by thread", &thing.threads), ("held or ended by", &thing.owners)];
            let says_something = |tallies: &HashMap<String, Tally>| tallies.keys().any(|name| name != "-");
            for (title, tallies) in lists.into_iter().filter(|(_, tallies)| says_something(tallies)) {
                let _ = writeln!(out, "  {title}");
                for (name, tally) in dearest(tallies).into_iter().take(WITHIN) {
                    let _ = writeln!(out, "  {}  {}", row(tally), printable(&name));
                }
                if tallies.len() > WITHIN {
                    let _ = writeln!(out, "    … {} more", tallies.len() - WITHIN);
                }
            }
            for (stack, tally) in dearest(&thing.stacks).into_iter().take(STACKS) {
                let _ = writeln!(out, "  {}  at", row(tally));
                stacks::write(&mut out, names, stack, self.wanted.depth.max(1), "        ");
            }
            if thing.stacks.len() > STACKS {
                let _ = writeln!(out, "    … {} more stacks", thing.stacks.len() - STACKS);
            }
        }
        self.text.push_str(&out);
    }
}

/// What a condition may ask for.
fn field_of(event: &Event<'_>, field: &str, names: &Recording) -> Option<Value> {
    let text = |text: &str| Some(Value::Text(text.to_owned()));
    let thread = || names.threads.get(event.thread?.index());
    match field {
        "dur" => Some(Value::Number(event.took_ns as f64)),
        "name" => text(event.name),
        "kind" => text(event.kind),
        "thread" => text(names.strings.get(thread()?.name)),
        "tid" => Some(Value::Number(thread()?.tid? as f64)),
        "method" => text(stacks::java_method(names, event.stack)?),
        "stack" => Some(Value::Text(stacks::all_names(names, event.stack))).filter(|_| event.stack.is_some()),
        // What a call returned goes by two names.
        "ret" => number(event, "ret").or_else(|| number(event, "result")),
        _ => {
            let label = event.labels.iter().find(|(key, _)| *key == field);
            label.map(|(_, value)| Value::Text((*value).to_owned())).or_else(|| number(event, field))
        }
    }
}

fn number(event: &Event<'_>, field: &str) -> Option<Value> {
    event.figures.iter().find(|(key, _)| *key == field).map(|(_, number)| Value::Number(*number))
}

/// "worker-1 (4711)".
fn thread(id: Option<ThreadId>, names: &Recording) -> String {
    let Some(thread) = id.and_then(|id| names.threads.get(id.index())) else { return "-".into() };
    let name = names.strings.get(thread.name);
    thread.tid.map_or_else(|| name.to_owned(), |tid| format!("{name} ({tid})"))
}

/// "reach 1.20 ms", "heap_before 12 MB", "tier 4".
fn figure(key: &str, number: f64) -> String {
    if let Some(name) = key.strip_suffix("_ns") {
        return format!("{name}={}", quantity::millis(number / 1e6));
    }
    match key.strip_suffix("_bytes") {
        Some(name) => format!("{name}={}", quantity::bytes(number)),
        None if key == "bytes" => format!("bytes={}", quantity::bytes(number)),
        None => format!("{key}={number}"),
    }
}

fn clock(t_ns: i64) -> String {
    let stamp = jiff::Timestamp::from_nanosecond(i128::from(t_ns)).unwrap_or_default();
    stamp.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S%.6f").to_string()
}

fn events(count: u64) -> String {
    quantity::plural(count as usize, "event", "events")
}

/// As [`quantity::millis`], and microseconds where they are what matters.
fn took(ns: i64) -> String {
    match ns {
        0 => "-".into(),
        1..100_000 => format!("{:.1} us", ns as f64 / 1e3),
        _ => quantity::millis(ns as f64 / 1e6),
    }
}

fn row(tally: &Tally) -> String {
    let mean = tally.total_ns / i64::try_from(tally.count.max(1)).unwrap_or(i64::MAX);
    let count = quantity::count(tally.count as f64);
    format!("{count:>9} {:>11} {:>11} {:>11}", took(tally.total_ns), took(mean), took(tally.max_ns))
}

fn with(key: &str, value: Json, tally: &Tally) -> Json {
    let mut row = tally.json();
    row[key] = value;
    row
}
