//! The timestamps before a record: `2015-05-13T13:28:51.504-0400: 12.356: #7: [GC …`.
//!
//! Date (PrintGCDateStamps), uptime (PrintGCTimeStamps) and GC id (PrintGCID), each optional, in
//! this order (HotSpot 8 `outputStream::gclog_stamp`). They stand before every bracket that starts
//! something, also glued to the text before them ("Full GC0.855: [Tenured"), so they are read
//! backwards from the bracket. All give the time when what follows them *starts*.

use super::numbers::{exact_ns, leading_integer};

/// What HotSpot prints where a record has no id (`GCId::UNDEFINED`, -1 as unsigned): a concurrent
/// mark that ends while a Full GC aborts it.
const UNDEFINED_ID: i64 = u32::MAX as i64;

/// Length of a date: `os::iso8601_time` prints fixed columns, "2015-05-13T13:28:51.504-0400".
const DATE_LEN: usize = 28;

/// The timestamps before a bracket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timestamp {
    /// Nanoseconds since the epoch.
    pub date_ns: Option<i64>,
    /// Nanoseconds since the start of the JVM.
    pub uptime_ns: Option<i64>,
    /// GC id.
    pub id: Option<i64>,
}

impl Timestamp {
    /// Whether there is no timestamp at all.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Splits `text` into what stands before its trailing timestamps, and them.
    pub fn trailing(text: &[u8]) -> (&[u8], Self) {
        let mut stamp = Self::default();
        let mut rest = text;
        // At most three; each is "…: ".
        for _ in 0..3 {
            let Some((head, b':')) = rest.trim_ascii_end().split_last().map(|(b, h)| (h, *b)) else { break };
            if let Some((before, ns)) = trailing_date(head).filter(|_| stamp.date_ns.is_none()) {
                stamp.date_ns = Some(ns);
                rest = before;
                break;
            }
            let start =
                head.iter().rposition(|b| !matches!(b, b'0'..=b'9' | b'.' | b',')).map_or(0, |i| i + 1);
            let (before, number) = head.split_at(start);
            if let [before @ .., b'#'] = before {
                stamp.id = leading_integer(number).filter(|&id| id != UNDEFINED_ID);
                rest = before;
            } else if let Some(ns) = uptime(number).filter(|_| stamp.uptime_ns.is_none()) {
                stamp.uptime_ns = Some(ns);
                rest = before;
            } else {
                break;
            }
        }
        (rest, stamp)
    }

    /// Splits a line into its leading timestamps and what follows them.
    pub fn leading(line: &[u8]) -> (Self, &[u8]) {
        let mut stamp = Self::default();
        let mut rest = line.trim_ascii_start();
        if let Some((date, tail)) = rest.split_at_checked(DATE_LEN)
            && let (Some(ns), [b':', tail @ ..]) = (date_ns(date), tail)
        {
            stamp.date_ns = Some(ns);
            rest = tail.trim_ascii_start();
        }
        let end = rest.iter().position(|b| !matches!(b, b'0'..=b'9' | b'.' | b',')).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        if let (Some(ns), [b':', tail @ ..]) = (uptime(number), tail) {
            stamp.uptime_ns = Some(ns);
            rest = tail.trim_ascii_start();
        }
        (stamp, rest)
    }

    /// A line without the timestamps before it and without what is left of timestamps that another
    /// thread wrote into: "2026-11-23T02:03:44.297+0000 concurrent mark-sweep generation: …",
    /// "0.156: #7: {Heap before …".
    pub fn stripped(line: &[u8]) -> &[u8] {
        let stands_in_stamp =
            |b: &u8| matches!(b, b'0'..=b'9' | b'-' | b'+' | b':' | b'.' | b',' | b'#' | b' ');
        let mut rest = line.trim_ascii_start();
        loop {
            let end = rest.iter().position(|b| !stands_in_stamp(b)).unwrap_or(rest.len());
            let (stamp, tail) = rest.split_at(end);
            match (stamp.last(), tail) {
                (Some(b'0'..=b'9'), [b'T', time @ ..]) => rest = time,
                _ => return tail,
            }
        }
    }
}

/// Uptime is printed with three decimals; a number without any is not a timestamp (sizes, ages,
/// line numbers).
fn uptime(number: &[u8]) -> Option<i64> {
    let sign = number.iter().position(|b| matches!(b, b'.' | b','))?;
    (sign > 0 && sign + 1 < number.len()).then(|| exact_ns(number)).flatten()
}

fn trailing_date(head: &[u8]) -> Option<(&[u8], i64)> {
    let (before, date) = head.split_at_checked(head.len().checked_sub(DATE_LEN)?)?;
    Some((before, date_ns(date)?))
}

/// "2015-05-13T13:28:51.504-0400" as nanoseconds since the epoch.
pub(super) fn date_ns(text: &[u8]) -> Option<i64> {
    let digits = |from: usize, to: usize| -> Option<i64> {
        let field = text.get(from..to)?;
        field.iter().all(u8::is_ascii_digit).then(|| leading_integer(field)).flatten()
    };
    let punctuation = |at: usize, allowed: &[u8]| text.get(at).is_some_and(|b| allowed.contains(b));
    let shaped = text.len() == DATE_LEN
        && [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')].iter().all(|(at, b)| text[*at] == *b)
        && punctuation(19, b".,")
        && punctuation(23, b"+-");
    if !shaped {
        return None;
    }
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    let (hour, minute, second) = (digits(11, 13)?, digits(14, 16)?, digits(17, 19)?);
    let offset_s = digits(24, 26)? * 3600 + digits(26, 28)? * 60;
    let civil = jiff::civil::date(1970, 1, 1);
    let date =
        jiff::civil::Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?)
            .ok()?;
    let days = i64::from(date.since(civil).ok()?.get_days());
    let offset_s = if text[23] == b'-' { -offset_s } else { offset_s };
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset_s;
    seconds.checked_mul(1_000_000_000)?.checked_add(digits(20, 23)? * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flavour_is_read_from_the_front_and_from_the_back() {
        let date = Some(1_431_538_131_504_000_000);
        let both = Timestamp { date_ns: date, uptime_ns: Some(12_356_000_000), id: None };
        assert_eq!(Timestamp::trailing(b"2015-05-13T13:28:51.504-0400: 12.356: "), (&b""[..], both));
        assert_eq!(Timestamp::leading(b"2015-05-13T13:28:51.504-0400: 12,356: [GC"), (both, &b"[GC"[..]));
        assert_eq!(
            Timestamp::trailing(b"Full GC0.855: "),
            (&b"Full GC"[..], Timestamp { uptime_ns: Some(855_000_000), ..Timestamp::default() })
        );
        assert_eq!(
            Timestamp::trailing(b"GC2015-05-13T13:28:51.504-0400: "),
            (&b"GC"[..], Timestamp { date_ns: date, ..Timestamp::default() })
        );
        assert_eq!(
            Timestamp::trailing(b" 0.170: #12: ").1,
            Timestamp { uptime_ns: Some(170_000_000), id: Some(12), date_ns: None }
        );
    }

    #[test]
    fn what_only_looks_like_a_timestamp_is_not_one() {
        for text in ["", ":", "GC: ", "CMS Perm : ", "ParNew: ", "15: ", "Allocation (max 15): ", "1.2.3: "] {
            assert!(Timestamp::trailing(text.as_bytes()).1.is_empty(), "{text:?}");
        }
        assert_eq!(date_ns(b"2015-13-13T13:28:51.504-0400"), None);
        assert_eq!(date_ns(b"2015-05-13T13:28:5x.504-0400"), None);
    }
}
