//! Dates of the `time` and `utctime` decorators: `2026-11-20T21:59:52.977+0000`.
//!
//! `jiff` does the calendar, once per minute of log time; within a minute only the seconds are
//! parsed.

use jiff::Timestamp;
use jiff::fmt::strtime;

use super::scan;

/// Length of "2026-11-20T21:59:", the part that is the same for a whole minute.
const MINUTE_LEN: usize = 17;

/// Parses dates, with the minute and the zone of the last one cached.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dates {
    minute: Vec<u8>,
    zone: Vec<u8>,
    minute_epoch_ns: i64,
}

impl Dates {
    /// Nanoseconds since the epoch of a complete date. `None`: it is not one.
    pub(crate) fn epoch_ns(&mut self, stamp: &[u8]) -> Option<i64> {
        let (minute, rest) = stamp.split_at_checked(MINUTE_LEN)?;
        let (seconds_ns, zone) = scan::billionths(rest)?;
        if minute != self.minute || zone != self.zone {
            self.minute_epoch_ns = minute_epoch_ns(minute, zone)?;
            self.minute = minute.to_vec();
            self.zone = zone.to_vec();
        }
        self.minute_epoch_ns.checked_add(seconds_ns)
    }
}

/// Uses the calendar. HotSpot writes the zone as `+0100`, tools that rewrite logs also as `+01:00`
/// or `Z`.
fn minute_epoch_ns(minute: &[u8], zone: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(minute).ok()?;
    let zone = match zone {
        b"" | b"Z" => "+0000".to_owned(),
        zone if zone.len() <= 6 => std::str::from_utf8(zone).ok()?.replace(':', ""),
        _ => return None,
    };
    let time = strtime::parse("%Y-%m-%dT%H:%M:%S%z", format!("{text}00{zone}")).ok()?;
    let time: Timestamp = time.to_timestamp().ok()?;
    i64::try_from(time.as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_nanoseconds_since_the_epoch() {
        let mut dates = Dates::default();
        assert_eq!(dates.epoch_ns(b"1970-01-01T00:00:01.500+0000"), Some(1_500_000_000));
        assert_eq!(dates.epoch_ns(b"1970-01-01T00:00:02.000+0000"), Some(2_000_000_000));
        assert_eq!(dates.epoch_ns(b"1970-01-01T02:00:02,001+0200"), Some(2_001_000_000));
        assert_eq!(dates.epoch_ns(b"2026-11-20T21:59:52.977+0000"), Some(1_795_211_992_977_000_000));
        assert_eq!(dates.epoch_ns(b"2026-11-20T21:59:52.977Z"), Some(1_795_211_992_977_000_000));
    }

    #[test]
    fn what_is_not_a_date_is_refused() {
        for text in [&b""[..], b"2026-11-20T21:59:", b"2026-13-40T21:59:52.9+0000", b"9999999999999999999999"]
        {
            assert_eq!(Dates::default().epoch_ns(text), None);
        }
    }
}
