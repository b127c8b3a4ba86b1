//! Access logs of nginx, Apache, Tomcat, Jetty and Envoy, and such logs as JSON lines.
//!
//! A line is a request with its timestamp, method, path, status and, if the format includes it, its
//! duration. They become operations and series ([`out`]). What lines do not state is inferred once,
//! from the first [`HELD`] requests ([`decide`]): the unit of whole numbers, and whether timestamps
//! are starts or ends. Addresses, users, query strings and whatever else a client sends are not
//! recorded ([`template`]).
//!
//! Limits: the status must follow the request, as in the Common Log Format; a path whose segments
//! name things with words shows the first of them; a log that several processes write in blocks
//! (nginx with `buffer=`) is not in the order of its ends, so that nothing can be inferred from
//! that.

mod clock_set_back;
mod column;
mod decide;
mod json;
mod line;
mod out;
mod template;
mod timestamp;
mod unit;

use fathom_recording::Sink;

use self::column::{Column, Found};
use self::decide::{Known, Timed, TimestampOf, decide};
use self::line::Number;
use self::out::Out;
use self::template::Templates;
use crate::{Confidence, Format, IngestError, Input, Tally};

/// The reader of access logs.
pub(crate) struct AccessLog;

const ID: &str = "access-log";

/// How many lines of the head are looked at to recognise the format.
const SNIFFED: usize = 200;
/// How many lines of the head are looked at to find the field of the duration.
const SAMPLED: usize = 1000;
/// How many requests are held back to infer what the lines do not state: some hundred bytes each.
const HELD: usize = 20_000;
/// What is shown of a line that is not understood: it may hold an address, a user, a query.
const HIDDEN: &[u8] = b"(not shown, as a line of an access log may hold secrets)";

impl Format for AccessLog {
    fn id(&self) -> &'static str {
        ID
    }

    fn about(&self) -> &'static str {
        "access logs of nginx, Apache, Tomcat, Jetty (common, combined, with a duration), Envoy, and as JSON lines: \
         requests a second, latency, share of 5xx"
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        let (mut ours, mut all) = (0u32, 0u32);
        for line in whole_lines(head).take(SNIFFED) {
            all += 1;
            let text = std::str::from_utf8(line).unwrap_or_default();
            ours += u32::from(line::parse(text).is_some() || json::parse(line).is_some());
        }
        Confidence(if ours > 0 && ours * 10 >= all * 8 { 85 } else { 0 })
    }

    fn rotates(&self) -> bool {
        true
    }

    fn read(&self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), IngestError> {
        let mut reader = Reader::new(&input.name, Shape::of(input.lines.peek()), sink);
        while let Some(line) = input.lines.next() {
            if line.bytes.trim_ascii().is_empty() {
                continue;
            }
            if line.truncated || !reader.line(line.number, line.bytes) {
                reader.tally.unknown(line.number, HIDDEN);
            }
        }
        if reader.finish(input.lines.ends_in_line()) {
            return Ok(());
        }
        Err(IngestError::Empty { path: input.name.clone().into(), format: ID })
    }
}

/// The time of the first request in `head`, by which the files of a rotated set are ordered.
pub(crate) fn first_timestamp_ns(head: &[u8]) -> Option<i64> {
    whole_lines(head).take(SNIFFED).find_map(|line| {
        let text = std::str::from_utf8(line).ok()?;
        line::parse(text).map(|line| line.stamp).or_else(|| Some(json::parse(line)?.stamp)).map(|s| s.at_ns)
    })
}

/// The lines of a head that are not empty; a truncated last one is left out, unless it is the only
/// one.
fn whole_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = memchr::memrchr(b'\n', head).and_then(|end| head.get(..end)).unwrap_or(head);
    whole.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

/// The form of the lines.
#[derive(Debug, PartialEq)]
enum Shape {
    Common(Found),
    Envoy,
    Json,
}

impl Shape {
    fn of(head: &[u8]) -> Self {
        let lines: Vec<&str> =
            whole_lines(head).take(SAMPLED).filter_map(|line| std::str::from_utf8(line).ok()).collect();
        let parsed: Vec<_> = lines.iter().filter_map(|line| line::parse(line)).collect();
        if parsed.is_empty() {
            return Self::Json;
        }
        let envoy = parsed.iter().filter(|line| line::of_envoy(line).is_some()).count();
        if envoy * 2 > parsed.len() {
            return Self::Envoy;
        }
        let rests: Vec<&str> = parsed.iter().map(|line| line.rest).collect();
        Self::Common(Column::find(&rests))
    }

    /// Where durations are, in words.
    fn durations(&self, json_key: &str) -> String {
        match self {
            Self::Common(Found::Column(column)) => column.how.clone(),
            Self::Common(Found::None) => "no field after the status can be a duration".to_owned(),
            Self::Common(Found::Several(n)) => {
                format!(
                    "{n} fields after the status can be the duration (name it in the log's format, as rt=…)"
                )
            }
            Self::Envoy => "DURATION of Envoy's default format".to_owned(),
            Self::Json if json_key.is_empty() => "no key is that of a duration".to_owned(),
            Self::Json => format!("the key {json_key:?}"),
        }
    }
}

/// A request that is held back.
#[derive(Clone, Copy, Debug)]
struct Row {
    line: u64,
    at_ns: i64,
    status: u16,
    /// Id in the templates.
    name: u32,
    took: Option<Number>,
}

/// Reads lines, holds the first ones back until their meaning is inferred, and passes the others
/// on.
struct Reader<'s> {
    name: String,
    shape: Shape,
    sink: Option<&'s mut dyn Sink>,
    out: Option<Out<'s>>,
    templates: Templates,
    held: Vec<Row>,
    resolution_ns: i64,
    stamp: Option<TimestampOf>,
    json_key: &'static str,
    tally: Tally,
}

impl<'s> Reader<'s> {
    fn new(name: &str, shape: Shape, sink: &'s mut dyn Sink) -> Self {
        Self {
            name: name.to_owned(),
            stamp: (shape == Shape::Envoy).then_some(TimestampOf::Start),
            shape,
            sink: Some(sink),
            out: None,
            templates: Templates::default(),
            held: Vec::new(),
            resolution_ns: i64::MAX,
            json_key: "",
            tally: Tally::default(),
        }
    }

    /// Takes a line; false when it is not a request.
    fn line(&mut self, number: u64, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        let (row, resolution_ns) = if let Some(line) = line::parse(&text) {
            let (method, target) = template::split(line.request);
            let took = match &self.shape {
                Shape::Common(Found::Column(column)) => {
                    column.of(line.rest).map(|took| Number { unit: took.unit.or(column.unit), ..took })
                }
                Shape::Envoy => line::of_envoy(&line).flatten(),
                Shape::Common(_) | Shape::Json => None,
            };
            let name = self.templates.of(method, target);
            let row = Row { line: number, at_ns: line.stamp.at_ns, status: line.status, name, took };
            (row, line.stamp.resolution_ns)
        } else if let Some(request) = json::parse(bytes).filter(|_| self.shape == Shape::Json) {
            self.json_key = if self.json_key.is_empty() { request.took_key } else { self.json_key };
            self.stamp = self.stamp.or(request.stamp_of);
            let name = self.templates.of(&request.method, &request.target);
            let stamp = request.stamp;
            let row =
                Row { line: number, at_ns: stamp.at_ns, status: request.status, name, took: request.took };
            (row, stamp.resolution_ns)
        } else {
            return false;
        };
        self.tally.records += 1;
        match &mut self.out {
            Some(out) => out.request(&row, &self.templates),
            None => {
                self.resolution_ns = self.resolution_ns.min(resolution_ns);
                self.held.push(row);
                if self.held.len() >= HELD {
                    self.decide();
                }
            }
        }
        true
    }

    /// Infers what the lines do not state, and passes on what was held back.
    fn decide(&mut self) {
        let Some(sink) = self.sink.take() else { return };
        let held = std::mem::take(&mut self.held);
        let timed: Vec<Timed> = held
            .iter()
            // The duration of an upgraded connection is that of the connection.
            .filter(|row| row.status != 101)
            .filter_map(|row| {
                Some(Timed {
                    at_ns: row.at_ns,
                    value: row.took?.value,
                    answered: (200..400).contains(&row.status),
                })
            })
            .collect();
        let decimal = matches!(&self.shape, Shape::Common(Found::Column(column)) if column.decimal);
        let known = Known { unit: out::written_unit(&held), decimal, stamp: self.stamp };
        let decision = decide(&timed, self.resolution_ns, known);
        let mut out = Out::new(sink, &self.name, decision, self.resolution_ns);
        held.iter().for_each(|row| out.request(row, &self.templates));
        self.out = Some(out);
    }

    /// Ends the log; false when there was no request in it.
    fn finish(mut self, ends_in_line: bool) -> bool {
        if !self.held.is_empty() {
            self.decide();
        }
        let Some(out) = self.out else { return false };
        let durations = self.shape.durations(self.json_key);
        let truncated = ends_in_line && self.tally.skipped > 0;
        out.finish(&durations, self.tally, truncated);
        true
    }
}

#[cfg(test)]
mod tests;
