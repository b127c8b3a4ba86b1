//! Timestamps of requests: `24/Nov/2026:11:49:06 +0000`, ISO 8601, numbers since the epoch; and
//! their precision.

use fathom_recording::clock::{MILLI_NS, SECOND_NS};
use jiff::civil;
use jiff::tz::TimeZone;

/// Epoch seconds that are taken for a date: 2001-09-09 to 2099-12-04, as in tables.
const EPOCH_S: std::ops::Range<f64> = 1e9..4.1e9;

/// A timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timestamp {
    /// Nanoseconds since the epoch.
    pub(super) at_ns: i64,
    /// Its precision: what it is truncated to, nanoseconds.
    pub(super) resolution_ns: i64,
}

/// Parses what stands in the brackets of a line: the date of the Common Log Format, or ISO 8601
/// (nginx's `$time_iso8601`).
pub(super) fn bracketed(text: &str) -> Option<Timestamp> {
    match text.as_bytes().get(2) {
        Some(b'/') => common(text),
        _ => iso(text),
    }
}

/// `24/Nov/2026:11:49:06 +0000`, possibly with a fraction after the seconds.
fn common(text: &str) -> Option<Timestamp> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let separators = [(6, b'/'), (11, b':'), (14, b':'), (17, b':')];
    if separators.iter().any(|(at, byte)| text.as_bytes().get(*at) != Some(byte)) {
        return None;
    }
    let month = match text.get(3..6)? {
        "Jan" => 1,
        "Feb" => 2,
        "Mar" => 3,
        "Apr" => 4,
        "May" => 5,
        "Jun" => 6,
        "Jul" => 7,
        "Aug" => 8,
        "Sep" => 9,
        "Oct" => 10,
        "Nov" => 11,
        "Dec" => 12,
        _ => return None,
    };
    let date = civil::Date::new(number(7, 11)? as i16, month, number(0, 2)? as i8).ok()?;
    let (hour, minute, second) = (number(12, 14)?, number(15, 17)?, number(18, 20)?);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let rest = text.get(20..)?;
    let (fraction_ns, resolution_ns, zone) = match rest.strip_prefix('.') {
        Some(rest) => {
            let (digits, zone) = rest.split_once(' ').unwrap_or((rest, ""));
            let (ns, resolution_ns) = fraction(digits)?;
            (ns, resolution_ns, zone)
        }
        None => (0, SECOND_NS, rest.trim_start()),
    };
    let midnight = date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond();
    let of_day = (hour * 60 + minute) * 60 + second.min(59);
    let at_ns = i64::try_from(midnight).ok()?.checked_add(of_day * SECOND_NS)?;
    let at_ns = at_ns.checked_add(fraction_ns)?.checked_sub(offset_ns(zone)?)?;
    Some(Timestamp { at_ns, resolution_ns })
}

/// `+0000`, `-0730`, `+05:30`; nothing, and names of UTC, are zero.
fn offset_ns(zone: &str) -> Option<i64> {
    if matches!(zone, "" | "Z" | "UTC" | "GMT") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: String = zone.get(1..)?.chars().filter(|c| *c != ':').collect();
    let number: i64 = (digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit()))
        .then(|| digits.parse().ok())
        .flatten()?;
    (number / 100 < 24 && number % 100 < 60)
        .then_some(sign * (number / 100 * 60 + number % 100) * 60 * SECOND_NS)
}

/// Digits of the fraction of a second: nanoseconds, and their precision.
fn fraction(digits: &str) -> Option<(i64, i64)> {
    let kept = digits.get(..digits.len().min(9)).filter(|d| !d.is_empty())?;
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let unit = 10_i64.pow(9 - kept.len() as u32);
    Some((kept.parse::<i64>().ok()?.checked_mul(unit)?, unit.max(1)))
}

/// ISO 8601; without a zone it is UTC.
fn iso(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let dated = bytes.len() <= 48 && bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-');
    if !dated || !bytes.get(..4)?.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let at_ns = match text.parse::<jiff::Timestamp>() {
        Ok(at) => at.as_nanosecond(),
        Err(_) => {
            let local: civil::DateTime = text.parse().ok()?;
            local.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond()
        }
    };
    let digits = text
        .split_once(['.', ','])
        .map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count().min(9));
    let resolution_ns = 10_i64.pow(9 - digits as u32).max(1);
    Some(Timestamp { at_ns: i64::try_from(at_ns).ok()?, resolution_ns })
}

/// A timestamp of a JSON line: text in any form, or a number since the epoch whose unit follows
/// from its size.
pub(super) fn of_json(value: &serde_json::Value) -> Option<Timestamp> {
    match value {
        serde_json::Value::String(text) => {
            let text = text.trim().trim_start_matches('[').trim_end_matches(']');
            bracketed(text).or_else(|| since_epoch(text.parse().ok()?, text.contains('.')))
        }
        serde_json::Value::Number(number) => {
            since_epoch(number.as_f64()?, !number.is_i64() && !number.is_u64())
        }
        _ => None,
    }
}

/// Whether a number is in the range of times since the epoch, in whichever unit.
pub(super) fn is_epoch_time(number: f64) -> bool {
    since_epoch(number, false).is_some()
}

fn since_epoch(number: f64, fraction: bool) -> Option<Timestamp> {
    let units = [SECOND_NS, MILLI_NS, 1_000, 1];
    let unit_ns = units.into_iter().find(|unit| EPOCH_S.contains(&(number / (SECOND_NS / unit) as f64)))?;
    // Seconds with a fraction come with at least milliseconds.
    let resolution_ns = if fraction { unit_ns.min(MILLI_NS) } else { unit_ns };
    Some(Timestamp { at_ns: (number * unit_ns as f64) as i64, resolution_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: i64 = 1_795_520_946 * SECOND_NS;

    #[test]
    fn the_date_of_the_common_log_format_has_a_zone() {
        for text in ["24/Nov/2026:11:49:06 +0000", "24/Nov/2026:12:49:06 +0100", "24/Nov/2026:04:19:06 -0730"]
        {
            assert_eq!(bracketed(text), Some(Timestamp { at_ns: AT, resolution_ns: SECOND_NS }), "{text}");
        }
        let fine = bracketed("24/Nov/2026:11:49:06.250 +0000").unwrap();
        assert_eq!((fine.at_ns, fine.resolution_ns), (AT + 250 * MILLI_NS, MILLI_NS));
        for none in [
            "",
            "24/Xxx/2026:11:49:06 +0000",
            "24/Nov/2026:25:49:06 +0000",
            "31/Feb/2026:11:49:06 +0000",
            "24/Nov/2026:11:49:06 0000",
            "24/Nov/2026:11:49:06 +00",
            "24/Nov/2026:11:49",
            "24/N\u{f6}v/2026:11:49:06 +0000",
        ] {
            assert_eq!(bracketed(none), None, "{none}");
        }
    }

    #[test]
    fn iso_and_numbers_since_the_epoch_have_a_precision() {
        let of = |json: &str| {
            of_json(&serde_json::from_str(json).unwrap()).map(|s| (s.at_ns - AT, s.resolution_ns))
        };
        assert_eq!(of("\"2026-11-24T11:49:06.310Z\""), Some((310 * MILLI_NS, MILLI_NS)));
        assert_eq!(of("\"2026-11-24T12:49:06+01:00\""), Some((0, SECOND_NS)));
        assert_eq!(of("1795520946"), Some((0, SECOND_NS)));
        assert_eq!(of("1795520946500"), Some((500 * MILLI_NS, MILLI_NS)));
        assert_eq!(of("\"1795520946.500\""), Some((500 * MILLI_NS, MILLI_NS)));
        assert_eq!(of("\"24/Nov/2026:11:49:06 +0000\""), Some((0, SECOND_NS)));
        assert_eq!(of("12"), None);
        assert_eq!(of("true"), None);
    }
}
