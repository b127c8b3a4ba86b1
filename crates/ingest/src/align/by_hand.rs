//! `--align FILE=OFFSET`: a source placed by hand.
//!
//! `FILE` is a source by its full name, its file name, or any suffix of its path that only one
//! source has; the second run in a file is `FILE#2`. `OFFSET` is `+12.3s`, `-200ms`, `1.5min`,
//! `2h`, a plain number of seconds, or `@2026-11-20T22:00:00Z` (`@1795212000` as epoch seconds),
//! the time at which the file's own timestamps were zero.

use fathom_recording::clock::{MILLI_NS, SECOND_NS};
use fathom_recording::{ClockBasis, Recording, Source};
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};

use crate::report::InputsError;

/// Units of an offset, nanoseconds of one. Longer names first, as they are matched by their end.
const UNITS: &[(&str, i64)] = &[
    ("min", 60 * SECOND_NS),
    ("ms", MILLI_NS),
    ("us", 1_000),
    ("ns", 1),
    ("s", SECOND_NS),
    ("m", 60 * SECOND_NS),
    ("h", 3600 * SECOND_NS),
];

/// How a source is moved, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// By this offset.
    By(i64),
    /// So that its zero is at this time.
    Zero(i64),
}

/// One argument, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ByHand {
    /// Index of the source.
    pub(super) source: usize,
    pub(super) shift: Move,
    /// As the user wrote it.
    pub(super) argument: String,
}

/// Parses all arguments against the sources from `first_new` on.
pub(super) fn parse(
    arguments: &[String],
    recording: &Recording,
    first_new: usize,
) -> Result<Vec<ByHand>, InputsError> {
    let one = |argument: &String| {
        let error = |why: String| InputsError::Align { argument: argument.clone(), why };
        let (file, offset) =
            argument.rsplit_once('=').ok_or_else(|| error("is not FILE=OFFSET".to_owned()))?;
        let shift = offset_of(offset).ok_or_else(|| {
            error(format!("{offset:?} is no offset: say +12.3s, -200ms, 1.5min or @2026-11-20T22:00:00Z"))
        })?;
        let source = find(file, recording, first_new).map_err(error)?;
        let has_dates = recording.sources.get(source).is_some_and(|s| s.clock == ClockBasis::Epoch);
        if has_dates && matches!(shift, Move::Zero(_)) {
            return Err(error(
                "the timestamps of this file are dates: say by how much to move them, -1h".into(),
            ));
        }
        Ok(ByHand { source, shift, argument: argument.clone() })
    };
    arguments.iter().map(one).collect()
}

fn find(file: &str, recording: &Recording, first_new: usize) -> Result<usize, String> {
    let sources = || recording.sources.iter().enumerate().skip(first_new);
    let ways: [fn(&str, &str) -> bool; 3] = [
        |name, file| name == file,
        |name, file| name.rsplit('/').next() == Some(file),
        |name, file| !file.is_empty() && name.ends_with(file),
    ];
    let is = |source: &Source, way: fn(&str, &str) -> bool| {
        way(&source.name, file) || source.segments.iter().any(|segment| way(&segment.name, file))
    };
    for way in ways {
        let found: Vec<_> = sources().filter(|(_, source)| is(source, way)).collect();
        match found.as_slice() {
            [] => {}
            [(index, _)] => return Ok(*index),
            several => {
                return Err(format!("{file} may be any of {}", names(several.iter().map(|(_, s)| *s))));
            }
        }
    }
    Err(format!("no input is called {file}; there are {}", names(sources().map(|(_, s)| s))))
}

fn names<'a>(sources: impl Iterator<Item = &'a Source>) -> String {
    sources.map(|source| source.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn offset_of(text: &str) -> Option<Move> {
    if let Some(date) = text.strip_prefix('@') {
        return zero_of(date).map(Move::Zero);
    }
    let unit = UNITS.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, *ns)));
    let (number, unit_ns) = unit.unwrap_or((text, SECOND_NS));
    let value: f64 = number.trim().parse().ok()?;
    let ns = value * unit_ns as f64;
    // 9·10¹⁸ ns are 285 years: anything beyond is a typing error.
    (ns.is_finite() && ns.abs() < 9e18).then_some(Move::By(ns.round() as i64))
}

fn zero_of(date: &str) -> Option<i64> {
    if let Ok(at) = date.parse::<Timestamp>() {
        return i64::try_from(at.as_nanosecond()).ok();
    }
    if let Some(Move::By(ns)) = date.parse::<f64>().ok().and_then(|_| offset_of(date)) {
        return Some(ns);
    }
    let utc = date.parse::<civil::DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?;
    i64::try_from(utc.timestamp().as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use fathom_recording::Sink;

    use super::*;

    fn recording(names: &[&str]) -> Recording {
        let mut recording = Recording::new();
        for name in names {
            recording.add_source(Source { name: (*name).to_owned(), ..Source::default() });
        }
        recording
    }

    fn parsed(argument: &str, names: &[&str]) -> Result<(usize, Move), String> {
        let parsed = parse(&[argument.to_owned()], &recording(names), 0);
        parsed.map(|p| (p[0].source, p[0].shift)).map_err(|e| e.to_string())
    }

    #[test]
    fn offsets_have_signs_and_units_and_may_be_dates() {
        let by = |ns| Ok((0, Move::By(ns)));
        for (text, ns) in [
            ("+12.3s", 12_300_000_000),
            ("-200ms", -200_000_000),
            ("36", 36_000_000_000),
            ("1.5min", 90_000_000_000),
            ("2m", 120_000_000_000),
            ("-1h", -3_600_000_000_000),
            ("+5us", 5_000),
        ] {
            assert_eq!(parsed(&format!("a={text}"), &["a"]), by(ns), "{text}");
        }
        let zero = Ok((0, Move::Zero(1_795_212_000_000_000_000)));
        for text in ["2026-11-20T22:00:00Z", "2026-11-20T23:00:00+01:00", "2026-11-20 22:00:00", "1795212000"]
        {
            assert_eq!(parsed(&format!("a=@{text}"), &["a"]), zero, "{text}");
        }
        for text in ["", "s", "+", "12x", "inf", "nan", "1e300", "@", "@yesterday"] {
            assert!(parsed(&format!("a={text}"), &["a"]).unwrap_err().contains("is no offset"), "{text}");
        }
        assert!(parsed("a", &["a"]).unwrap_err().contains("is not FILE=OFFSET"));
    }

    #[test]
    fn what_has_dates_is_moved_and_has_no_zero_to_place() {
        let mut recording = recording(&["app.csv"]);
        recording.sources[0].clock = ClockBasis::Epoch;
        let refused = parse(&["app.csv=@2026-11-20T22:00:00Z".to_owned()], &recording, 0).unwrap_err();
        assert!(refused.to_string().contains("are dates"), "{refused}");
        assert!(parse(&["app.csv=-1h".to_owned()], &recording, 0).is_ok());
    }

    #[test]
    fn a_file_is_found_by_name_file_name_or_unique_end() {
        let names = ["run/gc.log", "run/gc.log#2", "run/client=0.csv", "old/client1.csv", "old/gc.log"];
        let source = |file: &str| parsed(&format!("{file}=1s"), &names).map(|p| p.0);
        assert_eq!(source("run/gc.log"), Ok(0));
        assert_eq!(source("gc.log#2"), Ok(1));
        assert_eq!(source("client=0.csv"), Ok(2));
        assert_eq!(source("1.csv"), Ok(3));
        assert_eq!(source("old/gc.log"), Ok(4));
        assert!(source("gc.log").unwrap_err().contains("may be any of run/gc.log, old/gc.log"));
        assert!(source("jit.xml").unwrap_err().contains("there are run/gc.log"));
    }
}
