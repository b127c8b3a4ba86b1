//! Units of durations.

use fathom_recording::clock::{MILLI_NS, SECOND_NS};

/// The unit of a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Millis,
    Micros,
    Nanos,
}

impl Unit {
    /// Nanoseconds of one.
    pub(super) fn ns(self) -> i64 {
        match self {
            Self::Seconds => SECOND_NS,
            Self::Millis => MILLI_NS,
            Self::Micros => 1_000,
            Self::Nanos => 1,
        }
    }

    /// A duration of this many, nanoseconds.
    pub(super) fn of(self, value: f64) -> i64 {
        (value * self.ns() as f64).round() as i64
    }

    /// In words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Millis => "milliseconds",
            Self::Micros => "microseconds",
            Self::Nanos => "nanoseconds",
        }
    }

    /// A unit that follows a number, or is in the name of a key.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "s" | "sec" | "secs" | "second" | "seconds" => Self::Seconds,
            "ms" | "msec" | "msecs" | "millis" | "milliseconds" => Self::Millis,
            "us" | "µs" | "μs" | "usec" | "usecs" | "micros" | "microseconds" => Self::Micros,
            "ns" | "nsec" | "nanos" | "nanoseconds" => Self::Nanos,
            _ => return None,
        })
    }

    /// The unit in the name of a key: `duration_ms`, `durationMs`, `latency.micros`.
    pub(super) fn of_key(key: &str) -> Option<Self> {
        let last = key.rsplit(['_', '-', '.', '(']).next()?.trim_end_matches(')');
        let camel = key.rfind(|c: char| c.is_ascii_uppercase()).and_then(|at| key.get(at..));
        let whole = |word: &&str| word.len() < key.len();
        Some(last).filter(whole).and_then(Self::of_word).or_else(|| Self::of_word(camel.filter(whole)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_name_units() {
        for (key, unit) in [
            ("duration_ms", Some(Unit::Millis)),
            ("durationMs", Some(Unit::Millis)),
            ("latency.micros", Some(Unit::Micros)),
            ("elapsed-seconds", Some(Unit::Seconds)),
            ("took(us)", Some(Unit::Micros)),
            ("s", None),
            ("duration", None),
            ("requests", None),
        ] {
            assert_eq!(Unit::of_key(key), unit, "{key}");
        }
    }
}
