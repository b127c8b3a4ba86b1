//! Timestamps of a table's rows: numbers of some unit since some zero, or dates.
//!
//! Numbers are read exactly (an `f64` of epoch nanoseconds is off by hundreds of them). The unit of
//! a number is the header's, otherwise it follows from the size: 10⁹ … 4.1·10⁹ is a date between
//! 2001 and 2099 in seconds, a thousand times that one in milliseconds, and so on; anything else
//! counts from a start that the file does not name.

use fathom_recording::clock::{MILLI_NS, SECOND_NS};
use jiff::Timestamp;
use jiff::civil;
use jiff::tz::TimeZone;

/// Epoch seconds that are taken for a date: 2001-09-09 to 2099-12-04.
const EPOCH_S: std::ops::Range<i128> = 1_000_000_000..4_100_000_000;

/// A sample of timestamps that spans more than this does not consist of dates, whatever the size of
/// its numbers: three years.
const LONGEST_SAMPLE_S: i128 = 100_000_000;

/// The kind of a table's timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timestamps {
    /// Numbers since the epoch; nanoseconds per unit.
    Epoch { unit_ns: i64 },
    /// Numbers since a start; nanoseconds per unit.
    SinceStart { unit_ns: i64 },
    /// Dates with a zone or an offset.
    Dates,
    /// Dates without one, read as UTC.
    DatesWithoutZone,
    /// Times of day, or hours, minutes and seconds since a start.
    Clock,
}

impl Timestamps {
    /// Whether they are wall-clock time.
    pub(super) fn is_wall(self) -> bool {
        matches!(self, Self::Epoch { .. } | Self::Dates | Self::DatesWithoutZone)
    }

    /// In words.
    pub(super) fn words(self) -> String {
        let unit = |ns: i64| match ns {
            1 => "nanoseconds",
            1_000 => "microseconds",
            MILLI_NS => "milliseconds",
            _ => "seconds",
        };
        match self {
            Self::Epoch { unit_ns } => format!("{} since the epoch", unit(unit_ns)),
            Self::SinceStart { unit_ns } => format!("{} since a start", unit(unit_ns)),
            Self::Dates => "dates".to_owned(),
            Self::DatesWithoutZone => "dates without a zone, read as UTC".to_owned(),
            Self::Clock => "hours, minutes and seconds".to_owned(),
        }
    }

    /// A cell as nanoseconds on the table's clock.
    pub(super) fn parse(self, cell: &str) -> Option<i64> {
        match self {
            Self::Epoch { unit_ns } | Self::SinceStart { unit_ns } => {
                i64::try_from(nanos(cell)?.checked_mul(i128::from(unit_ns))? / i128::from(SECOND_NS)).ok()
            }
            Self::Dates => zoned(cell),
            Self::DatesWithoutZone => zoneless(cell),
            Self::Clock => clock(cell),
        }
    }

    /// The kind of a column of cells, if they are timestamps. `unit_ns` is the unit in the header.
    pub(super) fn of(cells: &[&str], unit_ns: Option<i64>) -> Option<Self> {
        let first = cells.first()?;
        if nanos(first).is_some() {
            let numbers: Vec<i128> = cells.iter().filter_map(|c| nanos(c)).collect();
            return Self::of_numbers(&numbers, unit_ns);
        }
        let kinds = [Self::Dates, Self::DatesWithoutZone, Self::Clock];
        kinds.into_iter().find(|kind| kind.parse(first).is_some())
    }

    /// `numbers` are in billionths of the unit.
    fn of_numbers(numbers: &[i128], unit_ns: Option<i64>) -> Option<Self> {
        let billion = i128::from(SECOND_NS);
        let (low, high) = (*numbers.iter().min()?, *numbers.iter().max()?);
        for unit in [SECOND_NS, MILLI_NS, 1_000, 1] {
            let seconds = |n: i128| n.saturating_mul(i128::from(unit)) / billion / billion;
            let sized = EPOCH_S.contains(&seconds(low)) && EPOCH_S.contains(&seconds(high));
            if sized && seconds(high) - seconds(low) < LONGEST_SAMPLE_S && unit_ns.is_none_or(|u| u == unit) {
                return Some(Self::Epoch { unit_ns: unit });
            }
        }
        if let Some(unit_ns) = unit_ns {
            return Some(Self::SinceStart { unit_ns });
        }
        // Ticks of a thousand seconds do not occur, and ticks of a second are usual: steps of a
        // thousand are milliseconds, steps of a million microseconds.
        let mut steps: Vec<i128> =
            numbers.windows(2).map(|w| (w[1] - w[0]) / billion).filter(|step| *step != 0).collect();
        steps.sort_unstable();
        let unit_ns = match steps.get(steps.len() / 2).copied().unwrap_or(1) {
            ..1_000 => SECOND_NS,
            1_000..500_000 => MILLI_NS,
            500_000..500_000_000 => 1_000,
            _ => 1,
        };
        Some(Self::SinceStart { unit_ns })
    }
}

/// A plain decimal number, in billionths, exactly. At most eighteen digits before the point.
fn nanos(cell: &str) -> Option<i128> {
    let (negative, digits) = match cell.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, cell.strip_prefix('+').unwrap_or(cell)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 19 || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let mut value = whole.parse::<i128>().ok()? * i128::from(SECOND_NS);
    let mut weight = i128::from(SECOND_NS);
    for digit in fraction.bytes().take(9) {
        weight /= 10;
        value += i128::from(digit - b'0') * weight;
    }
    Some(if negative { -value } else { value })
}

fn zoned(cell: &str) -> Option<i64> {
    looks_like_date(cell)?;
    i64::try_from(cell.parse::<Timestamp>().ok()?.as_nanosecond()).ok()
}

fn zoneless(cell: &str) -> Option<i64> {
    looks_like_date(cell)?;
    let with_dashes;
    // 2026/11/20 and a comma before the milliseconds (log4j) are common and not in any standard.
    let cell = if cell.contains('/') || cell.contains(',') {
        with_dashes = cell.replace('/', "-").replace(',', ".");
        &with_dashes
    } else {
        cell
    };
    let date: civil::DateTime = cell.parse().ok()?;
    i64::try_from(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond()).ok()
}

/// `2026-11-20` or `2026/11/20` at the beginning: jiff also accepts shorter forms, which would make
/// dates of plain numbers.
fn looks_like_date(cell: &str) -> Option<()> {
    let bytes = cell.as_bytes();
    let dash = |i: usize| bytes.get(i).is_some_and(|b| matches!(b, b'-' | b'/'));
    let year = bytes.get(..4)?.iter().all(u8::is_ascii_digit);
    (year && dash(4) && dash(7) && bytes.len() <= 48).then_some(())
}

/// `10:02:14`, `10:02:14.009`.
fn clock(cell: &str) -> Option<i64> {
    let mut parts = cell.splitn(3, ':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    let short =
        |s: &str| (s.len() <= 3 && s.bytes().all(|b| b.is_ascii_digit())).then(|| s.parse::<i64>().ok());
    let whole = short(hours)?? * 3600 + short(minutes)?? * 60;
    let seconds = i64::try_from(nanos(&seconds.replace(',', "."))?).ok()?;
    whole.checked_mul(SECOND_NS)?.checked_add(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cells: &[&str]) -> Option<Timestamps> {
        Timestamps::of(cells, None)
    }

    #[test]
    fn numbers_are_dates_when_they_have_the_size_of_dates() {
        assert_eq!(of(&["1795212941", "1795212942"]), Some(Timestamps::Epoch { unit_ns: SECOND_NS }));
        assert_eq!(of(&["1795212941503", "1795212942504"]), Some(Timestamps::Epoch { unit_ns: MILLI_NS }));
        assert_eq!(of(&["1795212941503123", "1795212942504124"]), Some(Timestamps::Epoch { unit_ns: 1000 }));
        assert_eq!(
            of(&["1795212941503123456", "1795212942504124456"]),
            Some(Timestamps::Epoch { unit_ns: 1 })
        );
        assert_eq!(of(&["0", "1", "2"]), Some(Timestamps::SinceStart { unit_ns: SECOND_NS }));
        assert_eq!(of(&["0", "1000", "2001"]), Some(Timestamps::SinceStart { unit_ns: MILLI_NS }));
        assert_eq!(
            of(&["1000000000", "2000000000", "3000000000", "4000000000"]),
            Some(Timestamps::SinceStart { unit_ns: 1 })
        );
        assert_eq!(
            Timestamps::of(&["100", "200"], Some(MILLI_NS)),
            Some(Timestamps::SinceStart { unit_ns: MILLI_NS })
        );
        assert_eq!(of(&["Pause", "Young"]), None);
    }

    #[test]
    fn timestamps_are_exact_to_the_nanosecond() {
        let seconds = Timestamps::Epoch { unit_ns: SECOND_NS };
        assert_eq!(seconds.parse("1795212133.741641282"), Some(1_795_212_133_741_641_282));
        assert_eq!(
            Timestamps::Epoch { unit_ns: 1 }.parse("1795212941503123456"),
            Some(1_795_212_941_503_123_456)
        );
        assert_eq!(seconds.parse("9999999999999999999"), None);
        assert_eq!(Timestamps::SinceStart { unit_ns: MILLI_NS }.parse("-1.5"), Some(-1_500_000));
        for not_a_number in ["", "-", ".", "1e9", "0x1", "1 2", "½", "1.2.3", "12:"] {
            assert_eq!(seconds.parse(not_a_number), None, "{not_a_number}");
        }
    }

    #[test]
    fn dates_are_read_with_and_without_a_zone() {
        let expected = Some(1_795_212_134_009_000_000);
        assert_eq!(of(&["2026-11-20T22:02:14.009Z"]), Some(Timestamps::Dates));
        for date in
            ["2026-11-20T22:02:14.009Z", "2026-11-20 23:02:14.009+01:00", "2026-11-20T22:02:14.009+0000"]
        {
            assert_eq!(Timestamps::Dates.parse(date), expected, "{date}");
        }
        assert_eq!(of(&["2026-11-20 22:02:14.009"]), Some(Timestamps::DatesWithoutZone));
        for date in ["2026-11-20 22:02:14.009", "2026-11-20T22:02:14.009", "2026/11/20 22:02:14,009"] {
            assert_eq!(Timestamps::DatesWithoutZone.parse(date), expected, "{date}");
        }
        assert_eq!(of(&["10:02:14.5"]), Some(Timestamps::Clock));
        assert_eq!(Timestamps::Clock.parse("00:01:01.5"), Some(61_500_000_000));
    }
}
