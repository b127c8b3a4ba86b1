//! Which field behind the status is the duration.
//!
//! A log format appends what its author chose. A field is the duration when its name says so, or when it is the only
//! one that can be: of decimal numbers the one that is never less than another (nginx's `$request_time` beside
//! `$upstream_response_time`), else the only whole number. Where two can be, none is taken, and that is said.

use super::line::{Field, Number, fields, number};
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
/// nginx' times of a request and of its upstream come of cached clocks of milliseconds, seconds.
const CLOCKS_S: f64 = 0.0025;
/// Share of lines in which a field must be a number, or "-", to be one of numbers.
const MOSTLY: f64 = 0.8;

/// Where the duration of a request stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    /// Which field behind the status.
    index: usize,
    /// Its unit, where its name or its form says.
    pub(super) unit: Option<Unit>,
    /// How it is known, in words.
    pub(super) how: String,
}

/// What was found.
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
        let mostly = fitting as f64 >= MOSTLY * lines.len() as f64;
        (any && mostly).then_some(Self { index, key, numbers })
    }

    fn is_part(&self) -> bool {
        PARTS.iter().any(|part| self.key.contains(part))
    }

    /// Whether its name is that of a duration, its unit aside.
    fn is_named(&self) -> bool {
        let name = self.key.trim_start_matches('$');
        let without =
            name.rsplit_once('_').filter(|(_, unit)| Unit::of_word(unit).is_some()).map_or(name, |(n, _)| n);
        NAMES.contains(&without)
    }

    fn unit(&self) -> Option<Unit> {
        let written = self.numbers.iter().flatten().find_map(|n| n.unit);
        written.or_else(|| Unit::of_key(&self.key))
    }

    fn is_decimal(&self) -> bool {
        self.numbers.iter().flatten().all(|n| n.decimals > 0)
    }

    /// Whether it is nowhere less than another one, by more than what clocks of milliseconds differ by.
    fn is_never_less(&self, other: &Self) -> bool {
        self.numbers.iter().zip(&other.numbers).all(|pair| match pair {
            (Some(a), Some(b)) => a.value + CLOCKS_S >= b.value,
            _ => true,
        })
    }

    fn column(&self, how: &str) -> Column {
        let unit = self.unit().or_else(|| self.is_decimal().then_some(Unit::Seconds));
        let named = match self.key.as_str() {
            "" => format!("field {} behind the status", self.index + 1),
            key => format!("the field {key:?}"),
        };
        Column { index: self.index, unit, how: format!("{named}, {how}") }
    }
}

impl Column {
    /// The column of a log, from what follows the status in some of its lines.
    pub(super) fn find(rests: &[&str]) -> Found {
        let lines: Vec<Vec<Field<'_>>> = rests.iter().map(|rest| fields(rest).collect()).collect();
        let width = lines.iter().map(Vec::len).max().unwrap_or(0);
        // The first field is the size of the answer, unless it has a name.
        let all = (0..width).filter_map(|index| Candidate::of(index, &lines));
        let all: Vec<Candidate> = all.filter(|c| (c.index > 0 || c.is_named()) && !c.is_part()).collect();
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
            Found::Column(column) => (Some((column.index, column.unit)), 1),
            Found::None => (None, 0),
            Found::Several(n) => (None, n),
        }
    }

    #[test]
    fn the_duration_is_told_by_its_name_or_its_form() {
        let seconds = Some(Unit::Seconds);
        assert_eq!(found(&["512 \"-\" \"curl\"", "17 \"-\" \"curl\""]), (None, 0));
        assert_eq!(found(&["512 \"-\" \"curl/8\" 0.012", "- \"-\" \"x\" 1.000"]), (Some((3, seconds)), 1));
        // $request_time and $upstream_response_time, in either order, and a file that was served without an upstream.
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
}
