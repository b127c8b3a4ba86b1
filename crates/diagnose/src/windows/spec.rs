//! Windows as people write them: `115s..125s`, `2m..2m30s`, `22:00:23..22:00:45`, full timestamps.

use jiff::civil;
use jiff::tz::TimeZone;

use crate::Window;

/// What a user may ask of a diagnosis.
#[derive(Clone, Debug)]
pub struct Options {
    /// Slow windows; found when empty.
    pub slow: Vec<WindowSpec>,
    /// Baseline windows; found when empty.
    pub base: Vec<WindowSpec>,
    /// The zone of clock times that name none.
    pub zone: TimeZone,
}

impl Default for Options {
    fn default() -> Self {
        Self { slow: Vec::new(), base: Vec::new(), zone: TimeZone::UTC }
    }
}

/// A window that the user gave, not yet on the recording's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowSpec {
    text: String,
    from: Timestamp,
    to: Timestamp,
}

/// An end of a window.
#[derive(Clone, Debug, PartialEq)]
enum Timestamp {
    /// The recording's own start or end: nothing was written.
    Open,
    /// Nanoseconds since the zero of relative times.
    Relative(i64),
    /// A time of day.
    Clock(civil::Time),
    /// A date and a time of day.
    Local(civil::DateTime),
    /// A timestamp that needs no zone.
    Stamp(i64),
}

/// A timestamp that the user gave, not yet on the recording's clock: in every form that an end of a
/// window has.
#[derive(Clone, Debug, PartialEq)]
pub struct TimestampSpec {
    text: String,
    timestamp: Timestamp,
    precision_ns: i64,
}

/// What is wrong with a window.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// It is not two timestamps.
    #[error("{0}: a window is FROM..TO, such as 115s..125s, 2m..2m30s, 22:00:23..22:00:45")]
    Shape(String),
    /// A timestamp cannot be read.
    #[error("{window}: cannot read {timestamp:?}: write 115s, 2m30s, 22:00:23 or 2026-11-20T22:00:23+01:00")]
    Timestamp {
        /// The window.
        window: String,
        /// The timestamp.
        timestamp: String,
    },
    /// It is not one timestamp.
    #[error("cannot read the time {0:?}: write 115s, 2m30s, 22:00:23 or 2026-11-20T22:00:23+01:00")]
    NotATimestamp(String),
    /// It ends before it begins.
    #[error("{0}: ends before it begins")]
    Backward(String),
    /// It begins where it ends.
    #[error("{0}: has no length")]
    NoLength(String),
    /// Slow windows lie within the baseline's.
    #[error("--slow lies within --base: there is nothing left to compare with it")]
    NothingToCompare,
    /// Nothing was recorded in it.
    #[error("{window}: nothing was recorded then; the recording goes from {from} to {to}")]
    Outside {
        /// The window.
        window: String,
        /// Start of the recording.
        from: String,
        /// End of the recording.
        to: String,
    },
    /// A time of day for a recording that has none.
    #[error(
        "{0}: the inputs have no wall-clock time; write seconds, such as 115s..125s, or align them with --align"
    )]
    NoWallClock(String),
}

/// What timestamps are read against.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Where relative times count from, nanoseconds.
    pub zero_ns: i64,
    /// The recording's first and last timestamp, nanoseconds.
    pub covers_ns: (i64, i64),
    /// Whether the recording is in wall-clock time.
    pub wall: bool,
    /// The zone of times without one.
    pub zone: TimeZone,
}

impl std::str::FromStr for WindowSpec {
    type Err = WindowError;

    fn from_str(text: &str) -> Result<Self, WindowError> {
        let shape = || WindowError::Shape(text.to_owned());
        // The ways in which verdicts and pages print a window, too: "1.6 to 17.1 s", "1.6–17.1 s".
        let between = ["..", " to ", "–"].iter().find_map(|between| text.trim().split_once(between));
        let (from, to) = between.ok_or_else(shape)?;
        if from.trim().is_empty() && to.trim().is_empty() {
            return Err(shape());
        }
        let timestamp = |part: &str| {
            Timestamp::read(part.trim())
                .ok_or_else(|| WindowError::Timestamp { window: text.to_owned(), timestamp: part.to_owned() })
        };
        Ok(Self { text: text.to_owned(), from: timestamp(from)?, to: timestamp(to)? })
    }
}

impl Timestamp {
    fn read(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::Open);
        }
        // What lies before the timestamp that times count from.
        let (minus, length) = match text.strip_prefix(['-', '−']) {
            Some(length) => (-1, length),
            None => (1, text),
        };
        let seconds = length.strip_suffix(" s").map(str::trim_end);
        if let Some(ns) = duration_ns(seconds.unwrap_or(length)) {
            return Some(Self::Relative(minus * ns));
        }
        // Logs and `date` write the zone behind a blank: 2026-11-24 08:35:28 +0100.
        let joined = text.rsplit_once(' ').filter(|(_, zone)| is_zone(zone));
        let joined = joined.map(|(at, zone)| {
            let zone = if zone.starts_with(['+', '-']) { zone } else { "Z" };
            format!("{}{zone}", at.trim_end())
        });
        let stamp = joined.as_deref().unwrap_or(text).parse::<jiff::Timestamp>();
        if let Ok(stamp) = stamp {
            return i64::try_from(stamp.as_nanosecond()).ok().map(Self::Stamp);
        }
        if text.contains('-') {
            return text.parse().ok().map(Self::Local);
        }
        text.contains(':').then(|| text.parse().ok().map(Self::Clock)).flatten()
    }
}

/// Whether a word is a zone that can be read: an offset, or a name of the zero. Other names (CET,
/// EST) are of several.
fn is_zone(word: &str) -> bool {
    let offset = word.strip_prefix(['+', '-']);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b':');
    offset.is_some_and(digits) || ["UTC", "GMT", "Z"].iter().any(|zero| zero.eq_ignore_ascii_case(word))
}

impl std::str::FromStr for TimestampSpec {
    type Err = WindowError;

    fn from_str(text: &str) -> Result<Self, WindowError> {
        let text = text.trim();
        match Timestamp::read(text) {
            None | Some(Timestamp::Open) => Err(WindowError::NotATimestamp(text.to_owned())),
            Some(timestamp) => {
                let precision_ns = precision_ns(text, &timestamp);
                Ok(Self { text: text.to_owned(), timestamp, precision_ns })
            }
        }
    }
}

impl TimestampSpec {
    /// The timestamp on the recording's clock.
    pub fn resolve(&self, clock: &Clock) -> Result<i64, WindowError> {
        let at_ns = on(clock, &self.timestamp, 0, &self.text)?;
        if at_ns < clock.covers_ns.0 || at_ns > clock.covers_ns.1 {
            return Err(WindowError::Outside {
                window: self.text.clone(),
                from: clock.in_words(clock.covers_ns.0),
                to: clock.in_words(clock.covers_ns.1),
            });
        }
        Ok(at_ns)
    }

    /// What its last digit stands for, nanoseconds: whoever writes 22:00:23 says nothing of
    /// milliseconds.
    pub fn precision_ns(&self) -> i64 {
        self.precision_ns
    }
}

/// What the last digit of a timestamp stands for, nanoseconds.
fn precision_ns(text: &str, timestamp: &Timestamp) -> i64 {
    const SECOND: i64 = 1_000_000_000;
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count().min(9) as u32;
    if let Timestamp::Relative(_) = timestamp {
        let unit = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let (number, unit) = (unit, text.get(unit.len()..).unwrap_or_default());
        let last = number.rsplit(|c: char| c.is_ascii_alphabetic()).next().unwrap_or(number);
        let unit_ns = match unit {
            "h" => 3600 * SECOND,
            "m" | "min" => 60 * SECOND,
            "ms" => SECOND / 1000,
            _ => SECOND,
        };
        let decimals = last.split_once('.').map_or(0, |(_, fraction)| digits(fraction));
        return (unit_ns / 10_i64.pow(decimals)).max(1);
    }
    // The time of day: behind the date, in front of the zone.
    let time = text.split_once(['T', 't', ' ']).map_or(text, |(_, time)| time);
    let time = time.split(['+', '-', 'Z', 'z', '[']).next().unwrap_or(time);
    match time.split_once(['.', ',']) {
        Some((_, fraction)) => 10_i64.pow(9 - digits(fraction)).max(1),
        None if time.matches(':').count() >= 2 => SECOND,
        None => 60 * SECOND,
    }
}

/// "115s", "2m30s", "1h2m", "500ms", "115" (seconds) as nanoseconds.
fn duration_ns(text: &str) -> Option<i64> {
    let to_ns = |seconds: f64| (seconds.is_finite() && seconds.abs() < 1e9).then_some((seconds * 1e9) as i64);
    let plain = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if plain(text) {
        return to_ns(text.parse().ok()?);
    }
    let (mut rest, mut sum) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|i| *i > 0)?;
        let (number, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, next) = tail.split_at(letters);
        let scale = match unit {
            "h" => 3600.0,
            "m" | "min" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            _ => return None,
        };
        sum += number.parse::<f64>().ok()? * scale;
        rest = next;
    }
    to_ns(sum)
}

impl WindowSpec {
    /// The window on the recording's clock, cut to what was recorded.
    pub fn resolve(&self, clock: &Clock) -> Result<Window, WindowError> {
        let (first, last) = clock.covers_ns;
        let from = on(clock, &self.from, first, &self.text)?;
        let mut to = on(clock, &self.to, last, &self.text)?;
        // 23:59:50..00:00:10 goes past midnight.
        if let (Timestamp::Clock(_), Timestamp::Clock(_)) = (&self.from, &self.to) {
            to = if to < from { to.saturating_add(86_400_000_000_000) } else { to };
        }
        // An end that was left out is never the wrong one: then the other lies outside.
        let both_given = self.from != Timestamp::Open && self.to != Timestamp::Open;
        if both_given && to == from {
            return Err(WindowError::NoLength(self.text.clone()));
        }
        if both_given && to < from {
            return Err(WindowError::Backward(self.text.clone()));
        }
        let window = Window { from_ns: from.max(first), to_ns: to.min(last) };
        if window.to_ns <= window.from_ns {
            return Err(WindowError::Outside {
                window: self.text.clone(),
                from: clock.in_words(first),
                to: clock.in_words(last),
            });
        }
        Ok(window)
    }
}

/// A timestamp on the recording's clock; `text` is what the user wrote.
fn on(clock: &Clock, timestamp: &Timestamp, open: i64, text: &str) -> Result<i64, WindowError> {
    let zoned = |at: civil::DateTime| {
        let at = at.to_zoned(clock.zone.clone()).ok();
        at.and_then(|z| i64::try_from(z.timestamp().as_nanosecond()).ok())
    };
    let wall = |ns: Option<i64>| {
        let none = || WindowError::NoWallClock(text.to_owned());
        ns.filter(|_| clock.wall).ok_or_else(none)
    };
    match timestamp {
        Timestamp::Open => Ok(open),
        Timestamp::Relative(ns) => Ok(clock.zero_ns.saturating_add(*ns)),
        Timestamp::Stamp(ns) => wall(Some(*ns)),
        Timestamp::Local(at) => wall(zoned(*at)),
        // The day of the recording on which the time of day first comes.
        Timestamp::Clock(time) => {
            let first = jiff::Timestamp::from_nanosecond(i128::from(clock.covers_ns.0)).ok();
            let day = first.map(|t| t.to_zoned(clock.zone.clone()).date());
            let at = |date: civil::Date| zoned(date.to_datetime(*time));
            let today = day.and_then(at);
            let tomorrow = day.and_then(|d| d.tomorrow().ok()).and_then(at);
            let reached = |ns: i64| ns <= clock.covers_ns.1;
            let before = today.is_some_and(|ns| ns < clock.covers_ns.0);
            wall(if before && tomorrow.is_some_and(reached) { tomorrow } else { today })
        }
    }
}

impl Clock {
    /// A timestamp in words: seconds since zero, and the time of day where there is one.
    pub fn in_words(&self, ns: i64) -> String {
        let relative = format!("{:.1}s", ns.saturating_sub(self.zero_ns) as f64 / 1e9);
        let stamp = jiff::Timestamp::from_nanosecond(i128::from(ns)).ok().filter(|_| self.wall);
        match stamp.map(|t| t.to_zoned(self.zone.clone())) {
            Some(at) => format!("{relative} ({})", at.strftime("%Y-%m-%dT%H:%M:%S%:z")),
            None => relative,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn clock(wall: bool) -> Clock {
        // 2026-11-20T23:59:00Z, two minutes long.
        let start = 1_795_219_140 * S;
        Clock { zero_ns: start, covers_ns: (start, start + 120 * S), wall, zone: TimeZone::UTC }
    }

    fn seconds(text: &str) -> Result<(i64, i64), WindowError> {
        let clock = clock(true);
        let w = text.parse::<WindowSpec>()?.resolve(&clock)?;
        Ok(((w.from_ns - clock.zero_ns) / S, (w.to_ns - clock.zero_ns) / S))
    }

    #[test]
    fn all_ways_to_write_a_window_are_read() {
        for text in [
            "50s..70s",
            "50..70",
            "50s..1m10s",
            "0.5m..70",
            "50.0 to 70.0 s",
            "50.000 s to 70.000 s",
            "50.0–70.0 s",
            "23:59:50..00:00:10",
            "2026-11-20T23:59:50Z..2026-11-21T01:00:10+01:00",
            "2026-11-20T23:59:50..2026-11-21 00:00:10",
        ] {
            let expected = if text.starts_with("0.5m") { (30, 70) } else { (50, 70) };
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        assert_eq!(seconds("100s.."), Ok((100, 120)));
        assert_eq!(seconds("..20s"), Ok((0, 20)));
        assert_eq!(seconds("-5s..20s"), Ok((0, 20)), "from before the zero");
        assert_eq!(seconds("110s..500s"), Ok((110, 120)), "cut to what was recorded");
    }

    #[test]
    fn a_timestamp_is_written_as_an_end_of_a_window_and_says_how_fine_it_is() {
        let clock = clock(true);
        let of = |text: &str| {
            let spec: TimestampSpec = text.parse()?;
            Ok((spec.resolve(&clock)? - clock.zero_ns, spec.precision_ns()))
        };
        for (text, at, precision) in [
            ("50", 50 * S, S),
            ("50s", 50 * S, S),
            ("50.25s", 50 * S + S / 4, S / 100),
            ("1m", 60 * S, 60 * S),
            ("1m5s", 65 * S, S),
            ("2026-11-21 00:59:50 +0100", 50 * S, S),
            ("2026-11-20T18:59:50.5 -05:00", 50 * S + S / 2, S / 10),
            ("2026-11-20 23:59:50 UTC", 50 * S, S),
            ("2026-11-20 23:59:50  gmt", 50 * S, S),
            ("2026-11-20 23:59 UTC", 0, 60 * S),
            ("50500ms", 50 * S + S / 2, S / 1000),
            ("23:59:50", 50 * S, S),
            ("23:59:50.5", 50 * S + S / 2, S / 10),
            ("2026-11-20T23:59:50Z", 50 * S, S),
            ("2026-11-21T00:59:50.250+01:00", 50 * S + S / 4, S / 1000),
            ("2026-11-20 23:59", 0, 60 * S),
        ] {
            assert_eq!(of(text), Ok((at, precision)), "{text}");
        }
        assert!(matches!(of("500s"), Err(WindowError::Outside { .. })));
        for none in ["", "..", "deploy", "1x", "50s..60s"] {
            assert!(matches!(of(none), Err(WindowError::NotATimestamp(_))), "{none}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(matches!(seconds("115s"), Err(WindowError::Shape(_))));
        assert!(matches!(seconds(".."), Err(WindowError::Shape(_))));
        assert!(matches!(seconds("1x..2s"), Err(WindowError::Timestamp { .. })));
        assert!(matches!(seconds("70s..50s"), Err(WindowError::Backward(_))));
        let Err(WindowError::Outside { from, to, .. }) = seconds("500s..600s") else { panic!() };
        assert_eq!(
            (from.as_str(), to.as_str()),
            ("0.0s (2026-11-20T23:59:00+00:00)", "120.0s (2026-11-21T00:01:00+00:00)")
        );
        let spec: WindowSpec = "22:00:23..22:00:45".parse().unwrap();
        assert!(matches!(spec.resolve(&clock(false)), Err(WindowError::NoWallClock(_))));
    }
}
