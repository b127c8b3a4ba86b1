//! Parses a line of an access log.
//!
//! ```text
//! 10.0.0.7 - alice [24/Nov/2026:11:49:06 +0000] "GET /orders/17?q=x HTTP/1.1" 200 5120 "-" "curl/8.5" 0.012 0.011
//! └ never looked at  └ timestamp                 └ request                     └ status, bytes, what was appended
//! [2026-11-24T11:49:06.310Z] "GET /orders/17 HTTP/1.1" 200 - 0 123 12 10 "-" "curl/8.5" …      Envoy
//! └ START_TIME                └ request                └ status, flags, received, sent, DURATION (ms), upstream
//! ```

use super::timestamp::{Timestamp, bracketed};
use super::unit::Unit;

/// Brackets before a request that are searched for its timestamp: addresses may be in brackets
/// as well.
const MOST_BRACKETS: usize = 8;
/// Fields after the request that are looked at: appended formats have a dozen.
const MOST_FIELDS: usize = 40;

/// A request, as its line has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line<'a> {
    pub(super) stamp: Timestamp,
    /// The first line of the request, "GET /orders/17?q=x HTTP/1.1", or "-".
    pub(super) request: &'a str,
    pub(super) status: u16,
    /// What follows the status.
    pub(super) rest: &'a str,
    /// Whether it begins with its timestamp, as Envoy's does.
    pub(super) stamp_first: bool,
}

/// A field after the status.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Field<'a> {
    /// The name before `=` or `:`.
    pub(super) key: &'a str,
    pub(super) value: &'a str,
    /// Whether it is in quotes of its own, without a key.
    pub(super) quoted: bool,
}

/// A number that may be a duration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    pub(super) value: f64,
    /// Digits after the point.
    pub(super) decimals: usize,
    /// Its unit, where it has one: `12ms`.
    pub(super) unit: Option<Unit>,
}

/// Parses a line. `None`: it is not one of an access log.
pub(super) fn parse(line: &str) -> Option<Line<'_>> {
    let line = line.trim();
    let (at, stamp, rest) = line.match_indices('[').take(MOST_BRACKETS).find_map(|(at, _)| {
        let (stamp, rest) = line.get(at + 1..)?.split_once(']')?;
        Some((at, bracketed(stamp)?, rest))
    })?;
    let (request, rest) = quoted(rest.trim_start())?;
    let rest = rest.trim_start();
    let (status, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let digits = status.len() <= 3 && !status.is_empty() && status.bytes().all(|b| b.is_ascii_digit());
    // Envoy writes 0 for a client that left before there was an answer.
    let status = status.parse::<u16>().ok().filter(|s| digits && (*s == 0 || (100..=999).contains(s)))?;
    Some(Line { stamp, request, status, rest, stamp_first: at == 0 })
}

/// A string in double quotes at the beginning of `text`, with its escapes, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('"')?;
    let mut escaped = false;
    let end = inside.bytes().position(|b| {
        let ends = b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        ends
    })?;
    Some((inside.get(..end)?, inside.get(end + 1..)?))
}

/// The fields after a status.
pub(super) fn fields(rest: &str) -> impl Iterator<Item = Field<'_>> {
    let mut rest = rest.trim_start();
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        if let Some((value, behind)) = quoted(rest) {
            rest = behind;
            return Some(Field { key: "", value, quoted: true });
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        // A key with a quoted value: `rt="0.012"`; in it there may be blanks.
        if let Some((key, behind)) = rest.split_once("=\"")
            && key.len() < end
            && let Some((value, behind)) = quoted_value(behind)
        {
            rest = behind;
            return Some(Field { key, value, quoted: false });
        }
        let (word, behind) = rest.split_at_checked(end)?;
        rest = behind;
        let (key, value) = word.split_once(['=', ':']).unwrap_or(("", word));
        Some(Field { key, value, quoted: false })
    })
    .take(MOST_FIELDS)
}

fn quoted_value(text: &str) -> Option<(&str, &str)> {
    let end = text.find('"')?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// A field as a number: `0.012`, `12`, `12ms`, `1234(us)`, `[12]`.
pub(super) fn number(text: &str) -> Option<Number> {
    let text = text.trim_matches(|c: char| "[](){},;\"'".contains(c) || c.is_whitespace());
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(end)?;
    let unit = unit.trim_matches(|c: char| "[]() ".contains(c));
    let unit = match unit {
        "" => None,
        unit => Some(Unit::of_word(unit)?),
    };
    let decimals = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let plain = digits.len() <= 18 && digits.starts_with(|c: char| c.is_ascii_digit());
    let value = digits.parse::<f64>().ok().filter(|v| plain && v.is_finite())?;
    Some(Number { value, decimals, unit })
}

/// The duration of a line in Envoy's default format, and in Istio's, which has three more fields
/// after the flags. `None`: it is not such a line; `Some(None)`: it has no duration.
pub(super) fn of_envoy(line: &Line<'_>) -> Option<Option<Number>> {
    if !line.stamp_first || line.stamp.resolution_ns > fathom_recording::clock::MILLI_NS {
        return None;
    }
    let fields: Vec<Field<'_>> = fields(line.rest).collect();
    let is_flags =
        |text: &str| text == "-" || text.split(',').all(|f| f.bytes().all(|b| b.is_ascii_alphanumeric()));
    fields.first().filter(|flags| is_flags(flags.value))?;
    let counts = |from: usize| {
        let whole =
            |field: &Field<'_>| number(field.value).is_some_and(|n| n.decimals == 0 && n.unit.is_none());
        let counted = fields.get(from..from + 2).is_some_and(|two| two.iter().all(whole));
        let times = fields.get(from + 2..from + 4);
        counted && times.is_some_and(|two| two.iter().all(|f| f.value == "-" || whole(f)))
    };
    let from = [1, 4].into_iter().find(|from| counts(*from))?;
    let took = fields.get(from + 2).and_then(|field| number(field.value));
    Some(took.map(|took| Number { unit: Some(Unit::Millis), ..took }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_server_are_taken_apart() {
        let common = r#"10.0.0.7 - alice [24/Nov/2026:11:49:06 +0000] "GET /a?q=\"x\" HTTP/1.1" 200 5120"#;
        let line = parse(common).unwrap();
        assert_eq!((line.request, line.status, line.rest), (r#"GET /a?q=\"x\" HTTP/1.1"#, 200, "5120"));
        let combined =
            format!(r#"{common} "-" "Mozilla/5.0 (X11; Linux)" 0.012 rt=0.011 urt="0.01, 0.02" [17]"#);
        let values: Vec<_> = fields(parse(&combined).unwrap().rest).map(|f| (f.key, f.value)).collect();
        assert_eq!(
            values,
            [
                ("", "5120"),
                ("", "-"),
                ("", "Mozilla/5.0 (X11; Linux)"),
                ("", "0.012"),
                ("rt", "0.011"),
                ("urt", "0.01, 0.02"),
                ("", "[17]")
            ]
        );
        // Addresses of IPv6 in brackets: Jetty's, and nginx' with the address and the port of the
        // server in front.
        for before in ["[0:0:0:0:0:0:0:1] - - ", "[::1]:443 10.0.0.1 - - ", "[ [x] - "] {
            let six = format!("{before}[24/Nov/2026:11:49:06 +0000] \"GET /a HTTP/1.1\" 200 5");
            let line = parse(&six).unwrap();
            assert_eq!((line.request, line.rest, line.stamp_first), ("GET /a HTTP/1.1", "5", false), "{six}");
        }
        for none in [
            "",
            "[",
            "[::1] - - [24/Nov/2026] \"GET / HTTP/1.1\" 200 5",
            "] [",
            "[24/Nov/2026:11:49:06 +0000]",
            "x [24/Nov/2026:11:49:06 +0000] \"GET / 200",
            "x [24/Nov/2026:11:49:06 +0000] \"GET /\" 20",
            "[2026-11-20T22:02:12.784+0000][0.043s][info] GC \"x\" 200",
        ] {
            assert!(parse(none).is_none(), "{none}");
        }
    }

    #[test]
    fn numbers_may_have_a_unit() {
        let of = |text: &str| number(text).map(|n| (n.value, n.decimals, n.unit));
        assert_eq!(of("0.012"), Some((0.012, 3, None)));
        assert_eq!(of("12ms"), Some((12.0, 0, Some(Unit::Millis))));
        assert_eq!(of("1234(us)"), Some((1234.0, 0, Some(Unit::Micros))));
        assert_eq!(of("[17]"), Some((17.0, 0, None)));
        for none in ["-", "", ".", "ms", "1.2.3", "12 monkeys", "9999999999999999999", "0x12", "12ab"] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn envoys_duration_stands_behind_the_bytes() {
        let took = |text: &str| of_envoy(&parse(text).unwrap());
        let envoy = r#"[2026-11-24T11:49:06.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "nsq2http" "cc21" "locations" "tcp://10.0.2.1:80""#;
        assert_eq!(took(envoy).unwrap().map(|n| (n.value, n.unit)), Some((226.0, Some(Unit::Millis))));
        let istio = r#"[2026-11-24T11:49:06.310Z] "GET / HTTP/1.1" 503 UF,URX upstream_reset - "TLS error" 0 91 10003 - "-" "curl" "id" "a" "b" outbound"#;
        assert_eq!(took(istio).unwrap().map(|n| n.value), Some(10_003.0));
        let left = r#"[2026-11-24T11:49:06.310Z] "GET / HTTP/1.1" 0 DC 0 0 - - "-" "curl" "id" "a" "-""#;
        assert_eq!(took(left), Some(None));
        let common = r#"10.0.0.7 - - [24/Nov/2026:11:49:06 +0000] "GET / HTTP/1.1" 200 - 154 0 226 100"#;
        assert_eq!(took(common), None);
    }
}
