//! Which field after the status is the duration.
//!
//! A log format appends what its author chose. A field is the duration when its name says so, or
//! when it is the only one that can be: of decimal numbers the one that is never less than another
//! (nginx's `$request_time` next to `$upstream_response_time`), otherwise the only whole number.
//! Where two fields qualify, none is used, and that is reported.
//!
//! These cannot be a duration: a number in quotes without a name (nginx's `compression` format ends
//! in `"$gzip_ratio"`), points in time (`$msec`), and whole numbers that are ids: one for all
//! lines, a few that are close to each other (processes), or ones that count up (connections).

use super::line::{Field, Number, fields, number};
use super::timestamp;
use super::unit::Unit;

/// Names of a whole request's duration.
const NAMES: [&str; 13] = [
    "rt",
    "request_time",
    "req_time",
    "reqtime",
    "duration",
    "latency",
    "elapsed",
    "took",
    "time",
    "response_time",
    "responsetime",
    "service_time",
    "time_taken",
];
/// Names of parts of one.
const PARTS: [&str; 10] =
    ["upstream", "urt", "uct", "uht", "connect", "header", "queue", "backend", "ttfb", "first"];
/// nginx takes the times of a request and of its upstream from cached clocks of milliseconds,
/// seconds.
const CLOCKS_S: f64 = 0.0025;
/// Share of lines in which a field must be a number, or "-", to be a numeric one.
const MOSTLY: f64 = 0.8;
/// Numbers that must be seen before "all equal" or "counting up" shows that they are ids.
const FEWEST: usize = 30;
/// If a few values within a factor of two make up this many numbers, they are ids: as many
/// durations have a longer tail, …
const MANY: usize = 200;
/// … and this many values are few: the processes of a server.
const FEW_VALUES: usize = 16;
/// Share of the changes from one line to the next that go up in a number that counts.
const COUNTS_UP: f64 = 0.9;

/// Where the duration of a request is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    /// The index of the field after the status.
    index: usize,
    /// Its unit, where its name, its form or the next field gives it.
    pub(super) unit: Option<Unit>,
    /// Whether it has decimal numbers, which usually are seconds.
    pub(super) decimal: bool,
    /// How it was recognised, in words.
    pub(super) how: String,
}

/// The result.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Found {
    Column(Column),
    /// No field can be a duration.
    None,
    /// Several can be.
    Several(usize),
}

/// A field over the lines of the sample.
struct Candidate {
    index: usize,
    key: String,
    numbers: Vec<Option<Number>>,
    /// Whether most are in quotes without a name.
    quoted: bool,
    /// A unit in the next field: morgan's `12.345 ms`.
    unit_behind: Option<Unit>,
}

impl Candidate {
    fn of(index: usize, lines: &[Vec<Field<'_>>]) -> Option<Self> {
        let cells: Vec<Option<&Field<'_>>> = lines.iter().map(|line| line.get(index)).collect();
        let numbers: Vec<Option<Number>> = cells.iter().map(|cell| number(cell.as_ref()?.value)).collect();
        let fits = |(cell, n): (&Option<&Field<'_>>, &Option<Number>)| {
            n.is_some() || cell.is_some_and(|cell| matches!(cell.value, "-" | ""))
        };
        let fitting = cells.iter().zip(&numbers).filter(|(cell, n)| fits((cell, n))).count();
        let any = numbers.iter().any(Option::is_some);
        let key = cells.iter().flatten().next()?.key.to_ascii_lowercase();
        let mostly = |count: usize| count as f64 >= MOSTLY * lines.len() as f64;
        let quoted = mostly(cells.iter().flatten().filter(|cell| cell.quoted).count());
        let unit_behind = unit_behind(index, lines).filter(|_| key.is_empty());
        (any && mostly(fitting)).then_some(Self { index, key, numbers, quoted, unit_behind })
    }

    /// Whether its numbers can be durations, whatever its name.
    fn can_be(&self) -> bool {
        let all = || self.numbers.iter().flatten();
        let epoch_times = all().all(|n| n.unit.is_none() && timestamp::is_epoch_time(n.value));
        !epoch_times && (self.is_named() || (!self.quoted && !self.is_id()))
    }

    /// Whether it has whole numbers that behave like ids.
    fn is_id(&self) -> bool {
        let all: Vec<Number> = self.numbers.iter().flatten().copied().collect();
        if all.len() < FEWEST || self.unit().is_some() || all.iter().any(|n| n.decimals > 0) {
            return false;
        }
        let mut values: Vec<f64> = all.iter().map(|n| n.value).collect();
        let next = values.iter().skip(1);
        let changes: Vec<f64> =
            values.iter().zip(next).map(|(value, next)| next - value).filter(|by| *by != 0.0).collect();
        let up = changes.iter().filter(|by| **by > 0.0).count();
        let counts = changes.len() >= FEWEST / 2 && up as f64 >= COUNTS_UP * changes.len() as f64;
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        let (least, most) = (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(0.0));
        // Zeros are durations below the resolution of a coarse clock.
        let few = all.len() >= MANY && values.len() <= FEW_VALUES && most < 2.0 * least;
        counts || few || (values.len() == 1 && least > 0.0)
    }

    fn is_part(&self) -> bool {
        PARTS.iter().any(|part| self.key.contains(part))
    }

    /// Whether its name, without the unit, is that of a duration.
    fn is_named(&self) -> bool {
        let name = self.key.trim_start_matches('$');
        let without =
            name.rsplit_once('_').filter(|(_, unit)| Unit::of_word(unit).is_some()).map_or(name, |(n, _)| n);
        NAMES.contains(&without)
    }

    fn unit(&self) -> Option<Unit> {
        let written = self.numbers.iter().flatten().find_map(|n| n.unit);
        written.or_else(|| Unit::of_key(&self.key)).or(self.unit_behind)
    }

    fn is_decimal(&self) -> bool {
        self.numbers.iter().flatten().all(|n| n.decimals > 0)
    }

    /// Whether it is never less than another one, by more than the resolution of millisecond
    /// clocks.
    fn is_never_less(&self, other: &Self) -> bool {
        self.numbers.iter().zip(&other.numbers).all(|pair| match pair {
            (Some(a), Some(b)) => a.value + CLOCKS_S >= b.value,
            _ => true,
        })
    }

    fn column(&self, how: &str) -> Column {
        let named = match self.key.as_str() {
            "" => format!("field {} after the status", self.index + 1),
            key => format!("the field {key:?}"),
        };
        let how = format!("{named}, {how}");
        Column { index: self.index, unit: self.unit(), decimal: self.is_decimal(), how }
    }
}

/// The unit that most lines have in the field after one.
fn unit_behind(index: usize, lines: &[Vec<Field<'_>>]) -> Option<Unit> {
    let behind = || lines.iter().filter_map(|line| line.get(index + 1));
    let unit_of =
        |field: &Field<'_>| Unit::of_word(field.value).filter(|_| field.key.is_empty() && !field.quoted);
    let unit = behind().find_map(unit_of)?;
    let same = behind().filter(|field| unit_of(field) == Some(unit)).count();
    (same as f64 >= MOSTLY * lines.len() as f64).then_some(unit)
}

impl Column {
    /// The column of a log, from what follows the status in some of its lines.
    pub(super) fn find(rests: &[&str]) -> Found {
        let lines: Vec<Vec<Field<'_>>> = rests.iter().map(|rest| fields(rest).collect()).collect();
        let width = lines.iter().map(Vec::len).max().unwrap_or(0);
        // The first field is the size of the answer, unless it has a name.
        let all = (0..width).filter_map(|index| Candidate::of(index, &lines));
        let may_be = |c: &Candidate| (c.index > 0 || c.is_named()) && !c.is_part() && c.can_be();
        let all: Vec<Candidate> = all.filter(may_be).collect();
        if let Some(named) = all.iter().find(|c| c.is_named()) {
            return Found::Column(named.column("by its name"));
        }
        let bare = || all.iter().filter(|c| c.key.is_empty());
        let with_unit: Vec<_> = bare().filter(|c| c.unit().is_some()).collect();
        if let [only] = with_unit.as_slice() {
            return Found::Column(only.column("which has a unit"));
        }
        let decimal: Vec<_> = bare().filter(|c| c.is_decimal()).collect();
        if let [only] = decimal.as_slice() {
            return Found::Column(only.column("the only decimal number"));
        }
        let longest = decimal.iter().find(|c| decimal.iter().all(|other| c.is_never_less(other)));
        match (longest, decimal.len()) {
            (Some(longest), _) => {
                return Found::Column(longest.column("never less than the other decimal numbers"));
            }
            (None, 2..) => return Found::Several(decimal.len()),
            (None, _) => {}
        }
        let whole: Vec<_> = bare().collect();
        match whole.as_slice() {
            [] => Found::None,
            [only] => Found::Column(only.column("the only number")),
            several => Found::Several(several.len()),
        }
    }

    /// The duration of a line.
    pub(super) fn of(&self, rest: &str) -> Option<Number> {
        number(fields(rest).nth(self.index)?.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rests: &[&str]) -> (Option<(usize, Option<Unit>)>, usize) {
        match Column::find(rests) {
            Found::Column(column) => {
                let usual = column.decimal.then_some(Unit::Seconds);
                (Some((column.index, column.unit.or(usual))), 1)
            }
            Found::None => (None, 0),
            Found::Several(n) => (None, n),
        }
    }

    #[test]
    fn the_duration_is_recognised_by_its_name_or_its_form() {
        let seconds = Some(Unit::Seconds);
        assert_eq!(found(&["512 \"-\" \"curl\"", "17 \"-\" \"curl\""]), (None, 0));
        assert_eq!(found(&["512 \"-\" \"curl/8\" 0.012", "- \"-\" \"x\" 1.000"]), (Some((3, seconds)), 1));
        // $request_time and $upstream_response_time, in either order, and a file that was served
        // without an upstream.
        assert_eq!(found(&["5 0.012 0.011", "5 0.300 -", "7 0.500 0.500"]), (Some((1, seconds)), 1));
        assert_eq!(found(&["5 0.011 0.016", "5 - 0.300"]), (Some((2, seconds)), 1));
        assert_eq!(found(&["5 0.011 0.016", "5 0.040 0.030"]), (None, 2));
        assert_eq!(found(&["5 uct=\"0.000\" rt=0.012 urt=\"0.012\""]), (Some((2, seconds)), 1));
        assert_eq!(found(&["5 \"-\" \"x\" 1234"]), (Some((3, None)), 1));
        assert_eq!(found(&["5 \"-\" \"x\" 1234 8080"]), (None, 2));
        assert_eq!(found(&["5 8080 12ms"]), (Some((2, Some(Unit::Millis))), 1));
        assert_eq!(found(&["5 1234(us)"]), (Some((1, Some(Unit::Micros))), 1));
        assert_eq!(found(&["5 duration_ms=12 17"]), (Some((1, Some(Unit::Millis))), 1));
        assert_eq!(found(&[]), (None, 0));
    }
    #[test]
    fn what_is_no_duration_is_no_candidate() {
        let of = |rest: &dyn Fn(usize) -> String| {
            let lines: Vec<String> = (0..300).map(rest).collect();
            found(&lines.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let seconds = |i: usize| format!("0.{:03}", 5 + i * 37 % 90);
        // nginx' `compression` format, alone and followed by $request_time.
        let ratio = |i: usize| if i.is_multiple_of(3) { "-".to_owned() } else { format!("{}.25", 2 + i % 2) };
        assert_eq!(of(&|i| format!("5 \"-\" \"x\" \"{}\"", ratio(i))), (None, 0));
        let both = of(&|i| format!("5 \"-\" \"x\" \"{}\" {}", ratio(i), seconds(i)));
        assert_eq!(both, (Some((4, Some(Unit::Seconds))), 1));
        let named = of(&|i| format!("5 \"-\" \"x\" rt=\"{}\"", seconds(i)));
        assert_eq!(named, (Some((3, Some(Unit::Seconds))), 1));
        // $msec, alone, followed by $request_time, and under a name that durations have.
        let msec = |i: usize| format!("17956000{:02}.{:03}", i / 60, i % 60 * 10);
        assert_eq!(of(&|i| format!("5 \"-\" {}", msec(i))), (None, 0));
        let both = of(&|i| format!("5 \"-\" {} {}", msec(i), seconds(i)));
        assert_eq!(both, (Some((3, Some(Unit::Seconds))), 1));
        assert_eq!(of(&|i| format!("5 \"-\" time={}", msec(i))), (None, 0));
        // Connections, processes, a port; and a %T that is 0 all the time.
        assert_eq!(of(&|i| format!("5 \"-\" {}", 100_000 + i)), (None, 0));
        assert_eq!(of(&|i| format!("5 \"-\" {}", 4711 + i * 7 % 4)), (None, 0));
        assert_eq!(of(&|_| "5 \"-\" 8080".to_owned()), (None, 0));
        assert_eq!(of(&|_| "5 \"-\" 0".to_owned()), (Some((2, None)), 1));
        let with_ids = of(&|i| format!("5 \"-\" {} {}", 4711 + i * 7 % 4, 3 + i * i * 37 % 900));
        assert_eq!(with_ids, (Some((3, None)), 1));
    }

    #[test]
    fn a_unit_may_stand_in_the_field_behind() {
        let millis = Some(Unit::Millis);
        assert_eq!(found(&["5 \"-\" 14.330 ms", "5 \"-\" - ms"]), (Some((2, millis)), 1));
        assert_eq!(found(&["5 14.330 ms - 17", "5 2.100 ms - 18"]), (Some((1, millis)), 1));
        assert_eq!(found(&["5 0.330 \"ms\"", "5 0.100 \"ms\""]), (Some((1, Some(Unit::Seconds))), 1));
    }
}
