//! An access log of JSON lines, with the usual keys: nginx's and Envoy's variables, Caddy, the
//! Elastic schema.
//!
//! ```text
//! {"time":"2026-11-24T11:49:06+00:00","request":"GET /orders/17 HTTP/1.1","status":200,"request_time":0.012}
//! {"start_time":"2026-11-24T11:49:06.310Z","method":"GET","path":"/","response_code":200,"duration":12,"response_flags":"-"}
//! ```

use serde_json::{Map, Value};

use super::decide::TimestampOf;
use super::line::{Number, number};
use super::template;
use super::timestamp::{self, Timestamp};
use super::unit::Unit;

const TIMES: [&str; 10] = [
    "start_time",
    "time",
    "timestamp",
    "@timestamp",
    "ts",
    "time_local",
    "time_iso8601",
    "date",
    "datetime",
    "msec",
];
const STATUS: [&str; 8] = [
    "status",
    "response_code",
    "status_code",
    "statuscode",
    "http_status",
    "response_status",
    "code",
    "http.response.status_code",
];
const METHODS: [&str; 6] =
    ["method", "request_method", "verb", "http_method", "request.method", "http.request.method"];
const PATHS: [&str; 11] = [
    "path",
    "uri",
    "request_uri",
    "url",
    "request_path",
    "x-envoy-origin-path",
    "request.uri",
    "request.url",
    "url.path",
    "url.original",
    "request.path",
];
const REQUESTS: [&str; 4] = ["request", "request_line", "requestline", "http_request"];
/// Keys of a duration, without the unit that may follow.
const DURATIONS: [&str; 13] = [
    "request_time",
    "duration",
    "elapsed",
    "latency",
    "response_time",
    "responsetime",
    "elapsedtime",
    "time_taken",
    "took",
    "rt",
    "request_duration",
    "total_time",
    "event.duration",
];

/// A request, as its line has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    pub(super) stamp: Timestamp,
    /// What the timestamp marks, according to its key.
    pub(super) stamp_of: Option<TimestampOf>,
    pub(super) method: String,
    pub(super) target: String,
    pub(super) status: u16,
    pub(super) took: Option<Number>,
    /// Where the duration is.
    pub(super) took_key: &'static str,
}

/// Parses a line as a request. `None`: it is not one.
pub(super) fn parse(line: &[u8]) -> Option<Request> {
    let line = line.trim_ascii();
    if line.first() != Some(&b'{') || line.last() != Some(&b'}') {
        return None;
    }
    let Value::Object(object) = serde_json::from_slice(line).ok()? else { return None };
    let object = Keys::of(&object);
    let (time_key, stamp) =
        TIMES.iter().find_map(|key| Some((*key, timestamp::of_json(object.get(key)?)?)))?;
    let status = STATUS.iter().find_map(|key| status(object.get(key)?))?;
    let text = |keys: &[&str]| keys.iter().find_map(|key| object.get(key)?.as_str()).map(str::to_owned);
    let (method, target) = match (text(&METHODS), text(&PATHS)) {
        (Some(method), Some(path)) => (method, path),
        (method, path) => {
            let line = text(&REQUESTS)?;
            let (named, target) = template::split(&line);
            (method.unwrap_or_else(|| named.to_owned()), path.unwrap_or_else(|| target.to_owned()))
        }
    };
    let (took_key, took) = took(&object).unzip();
    let took_key = took_key.unwrap_or_default();
    Some(Request { stamp, stamp_of: stamp_of(time_key), method, target, status, took, took_key })
}

/// Envoy's and nginx's variables have one meaning each: nginx's is the time at which the line is
/// written.
fn stamp_of(key: &str) -> Option<TimestampOf> {
    match key {
        "start_time" => Some(TimestampOf::Start),
        "time_local" | "time_iso8601" | "msec" => Some(TimestampOf::End),
        _ => None,
    }
}

/// The keys of an object and of the objects in it, as "request.method", in lower case.
struct Keys<'a>(Vec<(String, &'a Value)>);

/// The most keys of a line that are looked at.
const MOST_KEYS: usize = 256;

impl<'a> Keys<'a> {
    fn of(object: &'a Map<String, Value>) -> Self {
        let mut keys = Self(Vec::new());
        keys.add("", object, 3);
        keys
    }

    fn add(&mut self, within: &str, object: &'a Map<String, Value>, depth: usize) {
        for (key, value) in object {
            if self.0.len() >= MOST_KEYS {
                return;
            }
            let key = format!("{within}{}", key.to_ascii_lowercase());
            match value {
                Value::Object(inner) if depth > 0 => self.add(&format!("{key}."), inner, depth - 1),
                _ => self.0.push((key, value)),
            }
        }
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.iter().find(|(own, _)| own == key).map(|(_, value)| *value)
    }
}

fn status(value: &Value) -> Option<u16> {
    let number = match value {
        Value::Number(number) => u16::try_from(number.as_u64()?).ok()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    (number == 0 || (100..=999).contains(&number)).then_some(number)
}

/// The duration, with its unit where a key or the server defines it.
fn took(object: &Keys<'_>) -> Option<(&'static str, Number)> {
    DURATIONS.iter().find_map(|name| {
        let found = object.0.iter().find_map(|(key, value)| {
            let rest = key.strip_prefix(name)?;
            let unit = match rest {
                "" => None,
                rest => Some(Unit::of_word(rest.trim_start_matches(['_', '-', '.']))?),
            };
            Some((unit, *value))
        });
        let (unit, value) = found?;
        let written = match value {
            Value::Number(number) => self::number(&number.to_string()).or_else(|| {
                let value = number.as_f64().filter(|v| *v >= 0.0 && *v < 1e18)?;
                Some(Number { value, decimals: usize::from(value.fract() != 0.0), unit: None })
            })?,
            Value::String(text) => number(text)?,
            _ => return None,
        };
        let unit = written.unit.or(unit).or_else(|| known(object, name, written));
        Some((*name, Number { unit, ..written }))
    })
}

/// Units that a server is known to use for a key that has none.
fn known(object: &Keys<'_>, name: &str, written: Number) -> Option<Unit> {
    let has = |key: &str| object.get(key).is_some();
    match name {
        // Envoy: %DURATION%.
        "duration" if has("response_flags") || has("upstream_service_time") => Some(Unit::Millis),
        // The Elastic schema.
        "event.duration" => Some(Unit::Nanos),
        // nginx: $request_time; Caddy: seconds with all digits.
        "request_time" if written.decimals > 0 => Some(Unit::Seconds),
        "duration" if written.decimals > 0 && has("request.method") => Some(Unit::Seconds),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_keys_are_known() {
        let of = |text: &str| {
            let r = parse(text.as_bytes())?;
            Some((
                r.method,
                r.target,
                r.status,
                r.took.map(|t| (t.value, t.unit)),
                r.stamp_of == Some(TimestampOf::Start),
            ))
        };
        let seen = |method: &str, target: &str, status, took, start| {
            Some((method.to_owned(), target.to_owned(), status, took, start))
        };
        assert_eq!(
            of(
                r#"{"time":"2026-11-24T11:49:06+00:00","request":"GET /a?b HTTP/1.1","status":"200","request_time":"0.012"}"#
            ),
            seen("GET", "/a?b", 200, Some((0.012, Some(Unit::Seconds))), false)
        );
        assert_eq!(
            of(
                r#"{"start_time":"2026-11-24T11:49:06.310Z","method":"GET","path":"/","response_code":200,"duration":12,"response_flags":"-"}"#
            ),
            seen("GET", "/", 200, Some((12.0, Some(Unit::Millis))), true)
        );
        assert_eq!(
            of(
                r#"{"ts":1795520946.31,"request":{"method":"GET","uri":"/x"},"status":502,"duration":0.000123}"#
            ),
            seen("GET", "/x", 502, Some((0.000_123, Some(Unit::Seconds))), false)
        );
        assert_eq!(
            of(
                r#"{"@timestamp":"2026-11-24T11:49:06Z","http":{"request":{"method":"GET"},"response":{"status_code":200}},"url":{"path":"/x"},"event":{"duration":12000}}"#
            ),
            seen("GET", "/x", 200, Some((12_000.0, Some(Unit::Nanos))), false)
        );
        assert_eq!(
            of(r#"{"timestamp":1795520946310,"verb":"PUT","url":"/x","status":200,"latency_ms":3.5}"#),
            seen("PUT", "/x", 200, Some((3.5, Some(Unit::Millis))), false)
        );
        // A whole number without a unit, and a fraction of an unknown unit.
        for (took, value) in [("12", 12.0), ("12.5", 12.5)] {
            let line = format!(
                r#"{{"time":"2026-11-24T11:49:06Z","method":"GET","uri":"/","status":200,"elapsed":{took}}}"#
            );
            assert_eq!(of(&line), seen("GET", "/", 200, Some((value, None)), false));
        }
        for none in [
            "",
            "{}",
            "{\"time\":1}",
            r#"{"time":"2026-11-24T11:49:06Z","level":"info","message":"x","status":200}"#,
            r#"{"time":"2026-11-24T11:49:06Z","method":"GET","path":"/","status":99999}"#,
            "[1,2]",
            "{\"a\":",
        ] {
            assert_eq!(of(none), None, "{none}");
        }
        let deep = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
        assert!(parse(deep.as_bytes()).is_none());
    }
}
