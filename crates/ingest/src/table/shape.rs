//! Recognises the columns of a table from the beginning of the file.
//!
//! With a header, its words decide ([`super::column_names`]). Without one the shape does: the first
//! column of timestamps that do not go back is the time; a column that repeats a few words, or
//! distinguishes rows with equal timestamps, names the instance; one column of numbers is a
//! throughput, several of like size are one throughput each, and of several unlike ones the first
//! is the throughput and the rest are gauges. Such guesses are reported to the user.

use std::borrow::Cow;
use std::collections::HashSet;

use fathom_recording::clock::{SECOND_NS, seconds};

use super::column_names::{self, Cells, Measure};
use super::rows::{DELIMITERS, Delimiter, text};
use super::timestamps::Timestamps;
use crate::Confidence;

/// Lines of the head that are looked at. Enough for junk before the table, a ramp, and a few rounds
/// of instances.
const SAMPLE: usize = 400;
/// Rows that a table without a header must have: fewer lines of numbers are not a pattern.
const FEWEST_BARE_ROWS: usize = 3;
/// A counter grows from one of so many rows to the next at least.
const GROWS_ONCE_IN: usize = 5;
/// Rows over which a number must never fall to be taken for a counter.
const COUNTER_ROWS: usize = 20;
/// Rows that distinguish counts from rates: among this many counts of half a second, one table in
/// 256 has only even ones.
const DECISIVE_ROWS: usize = 8;
/// More distinct values than this are not instances but data.
pub(super) const MAX_INSTANCES: usize = 512;
/// Longer cells, in characters, are sentences and not names of columns.
const LONGEST_NAME: usize = 48;
/// Values of columns that are instances of the same quantity differ by at most this factor in the
/// median.
const LIKE_SIZE: f64 = 5.0;

/// A column of values and its position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) index: usize,
    pub(super) measure: Measure,
}

/// The shape of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) delimiter: Delimiter,
    pub(super) header: Option<Vec<String>>,
    pub(super) time: usize,
    /// Whether the date is in `time` and the time of day in the next column.
    pub(super) split_date: bool,
    pub(super) stamps: Timestamps,
    /// The column that distinguishes instances.
    pub(super) instance: Option<usize>,
    /// The column that names the metric (time, metric, value).
    pub(super) metric: Option<usize>,
    pub(super) values: Vec<Column>,
    /// The usual distance of timestamps of one instance, nanoseconds.
    pub(super) tick_ns: i64,
    /// First timestamp, nanoseconds.
    pub(super) first_ns: i64,
    /// What was assumed due to the lack of a header, in words.
    pub(super) guesses: Vec<String>,
    pub(super) confidence: Confidence,
}

/// Sampled rows, all with the same number of cells.
struct Sample<'a> {
    delimiter: Delimiter,
    header: Option<Vec<Cow<'a, str>>>,
    rows: Vec<Vec<Cow<'a, str>>>,
    /// Share of lines that are rows, from the first row on.
    conforming: f64,
}

impl Shape {
    /// The shape of the table that begins with `head`, if it is one.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        let mut lines: Vec<_> = head.split(|b| *b == b'\n').take(SAMPLE).map(text).collect();
        if lines.len() > 1 && lines.len() < SAMPLE && !head.ends_with(b"\n") && head.len() > 64 << 10 {
            lines.pop(); // truncated by the size of the head, not by the file
        }
        lines.retain(|line| !line.is_empty());
        DELIMITERS.iter().find_map(|delimiter| Sample::of(*delimiter, &lines)?.shape())
    }

    /// The timestamp of a row, nanoseconds on the table's clock.
    pub(super) fn stamp(&self, cells: &[Cow<'_, str>]) -> Option<i64> {
        stamp(self.stamps, self.time, self.split_date, cells)
    }

    /// Whether a line repeats the header, as appended files do.
    pub(super) fn is_header(&self, cells: &[Cow<'_, str>]) -> bool {
        self.header.as_ref().is_some_and(|header| header.iter().eq(cells.iter()))
    }
}

fn stamp(stamps: Timestamps, time: usize, split_date: bool, cells: &[Cow<'_, str>]) -> Option<i64> {
    let cell = cells.get(time)?;
    if split_date {
        return stamps.parse(&format!("{cell} {}", cells.get(time + 1)?));
    }
    stamps.parse(cell)
}

impl<'a> Sample<'a> {
    fn of(delimiter: Delimiter, lines: &'a [Cow<'a, str>]) -> Option<Self> {
        let split: Vec<_> = lines.iter().map(|line| delimiter.split(line)).collect();
        let is_number = |cell: &Cow<'_, str>| delimiter.number(cell).is_some();
        let numeric = |cells: &[Cow<'_, str>]| cells.len() >= 2 && cells.iter().any(is_number);
        let mut counts: Vec<usize> = split.iter().filter(|cells| numeric(cells)).map(Vec::len).collect();
        counts.sort_unstable();
        let width = counts.chunk_by(|a, b| a == b).max_by_key(|chunk| chunk.len())?.first().copied()?;
        let first = split.iter().position(|cells| cells.len() == width && numeric(cells))?;
        let before = split.get(..first)?;
        let header = before.iter().rev().find_map(|cells| header_of(cells, width));
        let after = split.get(first..)?.to_vec();
        let total = after.len();
        let is_row = |cells: &Vec<Cow<'_, str>>| cells.len() == width && numeric(cells);
        let rows: Vec<_> = after.into_iter().filter(is_row).collect();
        let conforming = rows.len() as f64 / total as f64;
        Some(Self { delimiter, header, rows, conforming })
    }

    fn shape(self) -> Option<Shape> {
        let bare = self.header.is_none();
        if self.conforming < 0.9 || (bare && self.rows.len() < FEWEST_BARE_ROWS) {
            return None;
        }
        let (time, split_date, stamps) = self.time()?;
        let times: Vec<i64> = self.rows.iter().filter_map(|r| stamp(stamps, time, split_date, r)).collect();
        let skip = |i: usize| i == time || (split_date && i == time + 1);
        let (metric, instance) = self.names(&times, &skip)?;
        let mut guesses = Vec::new();
        if bare {
            guesses.push(format!("column {} is the time, in {}", time + 1, stamps.words()));
        }
        let taken = |i: usize| skip(i) || Some(i) == metric || Some(i) == instance;
        let tick_ns = self.tick_ns(&times, instance.or(metric));
        let values = self.values(&taken, metric.is_some(), tick_ns, &mut guesses);
        if values.is_empty() {
            return None;
        }
        let confidence = self.confidence(time, stamps, &values);
        Some(Shape {
            delimiter: self.delimiter,
            header: self.header.map(|h| h.into_iter().map(Cow::into_owned).collect()),
            time,
            split_date,
            stamps,
            instance,
            metric,
            values,
            tick_ns,
            first_ns: times.iter().copied().min().unwrap_or(0),
            guesses,
            confidence,
        })
    }

    fn cells(&self, index: usize) -> Vec<&str> {
        self.rows.iter().filter_map(|row| row.get(index)).map(AsRef::as_ref).collect()
    }

    fn width(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    /// The column of timestamps: the one that the header names so, otherwise (only the first column
    /// under a header or between blanks) the first that never goes back.
    fn time(&self) -> Option<(usize, bool, Timestamps)> {
        let named: Vec<usize> = match &self.header {
            Some(header) => (0..header.len()).filter(|i| column_names::is_time(&header[*i])).collect(),
            None => Vec::new(),
        };
        let only_first = self.header.is_some() || self.delimiter == Delimiter::Spaces;
        let rest = 0..if only_first { 1 } else { self.width() };
        named.into_iter().chain(rest).find_map(|i| self.time_at(i))
    }

    fn time_at(&self, index: usize) -> Option<(usize, bool, Timestamps)> {
        let cells = self.cells(index);
        let next = self.cells(index + 1);
        let date_only = |cell: &&str| cell.len() == 10 && Timestamps::DatesWithoutZone.parse(cell).is_some();
        if cells.iter().all(date_only) && next.first().is_some_and(|c| Timestamps::Clock.parse(c).is_some()) {
            let joined: Vec<String> = cells.iter().zip(&next).map(|(d, t)| format!("{d} {t}")).collect();
            let joined: Vec<&str> = joined.iter().map(String::as_str).collect();
            let stamps = Timestamps::of(&joined, None)?;
            return goes_on(stamps, &joined).then_some((index, true, stamps));
        }
        let unit = self.header.as_ref().and_then(|h| column_names::time_unit(h.get(index)?));
        let stamps = Timestamps::of(&cells, unit)?;
        goes_on(stamps, &cells).then_some((index, false, stamps))
    }

    /// The columns that name the metric and the instance of a row. `None`: there is free text in
    /// the rows, so this is a log and not a table.
    fn names(&self, times: &[i64], skip: &dyn Fn(usize) -> bool) -> Option<(Option<usize>, Option<usize>)> {
        let (mut metric, mut instance) = (None, None);
        for i in (0..self.width()).filter(|i| !skip(*i)) {
            let named = |is: fn(&str) -> bool| self.header.as_ref().is_some_and(|h| is(&h[i]));
            if named(column_names::is_metric) {
                metric = metric.or(Some(i));
            } else if named(column_names::is_instance) {
                instance = instance.or(Some(i));
            } else if !self.is_numeric(i) {
                let distinct: HashSet<_> = self.cells(i).into_iter().collect();
                let few = distinct.len() <= MAX_INSTANCES && distinct.len() * 2 <= self.rows.len();
                match (few && distinct.len() > 1, self.delimiter) {
                    (true, _) => instance = instance.or(Some(i)),
                    (false, Delimiter::Spaces) => return None,
                    (false, _) => {}
                }
            }
        }
        if self.header.is_none() && instance.is_none() {
            instance = self.numeric_instance(times, skip);
        }
        Some((metric, instance))
    }

    /// A column of numbers that distinguishes rows with equal timestamps, the same few numbers
    /// again and again.
    fn numeric_instance(&self, times: &[i64], skip: &dyn Fn(usize) -> bool) -> Option<usize> {
        let repeated = times.windows(2).filter(|w| w[0] == w[1]).count();
        if times.len() != self.rows.len() || repeated * 3 < times.len() {
            return None;
        }
        let mut columns = (0..self.width()).filter(|i| !skip(*i));
        let found = columns.find(|i| {
            let cells = self.cells(*i);
            let all: HashSet<_> = cells.iter().collect();
            let pairs: HashSet<_> = times.iter().zip(&cells).collect();
            pairs.len() == times.len() && all.len() * 2 <= times.len() && all.len() <= MAX_INSTANCES
        });
        found.filter(|_| self.width() > 2)
    }

    fn is_numeric(&self, index: usize) -> bool {
        let cells = self.cells(index);
        let filled = cells.iter().filter(|c| !c.is_empty()).count();
        let numbers = cells.iter().filter(|c| self.delimiter.number(c).is_some()).count();
        numbers > 0 && numbers * 10 >= filled * 8
    }

    fn values(
        &self,
        taken: &dyn Fn(usize) -> bool,
        metric: bool,
        tick_ns: i64,
        guesses: &mut Vec<String>,
    ) -> Vec<Column> {
        let indexes: Vec<_> = (0..self.width()).filter(|i| !taken(*i) && self.is_numeric(*i)).collect();
        let mut columns = match &self.header {
            // With a column of metrics each row names its metric, whatever the header calls the
            // values.
            Some(_) if metric => {
                let value = |index| Column { index, measure: column_names::measure("") };
                indexes.into_iter().map(value).collect()
            }
            Some(header) => self.values_by_header(header, indexes, guesses),
            None => self.values_by_shape(indexes, guesses),
        };
        // In ticks of a second (within their jitter) a count and a rate are the same number.
        let a_second = (SECOND_NS * 4 / 5..=SECOND_NS * 5 / 4).contains(&tick_ns);
        for Column { index, measure } in &mut columns {
            if measure.cells != Cells::Count {
                continue;
            }
            let bare = self.header.as_ref().is_some_and(|h| column_names::is_bare_throughput(&h[*index]));
            if self.never_falls(*index) {
                measure.cells = Cells::Counter;
                guesses.push(format!("column {} only grows: it is read as a counter", *index + 1));
            } else if bare && !a_second && self.counts_per_tick(*index, tick_ns) {
                let tick = seconds(tick_ns);
                let why = "its numbers are whole, and not counts that were divided by the tick";
                guesses.push(format!(
                    "column {} has no unit: it is read as counts of {tick} s each ({why}); call it \"throughput(ops/s)\" if it is a rate",
                    *index + 1
                ));
            } else if bare && !a_second {
                measure.cells = Cells::AsIs;
                guesses.push(format!(
                    "column {} has no unit: it is read as a rate per second; call it \"ops\" if it counts each tick",
                    *index + 1
                ));
            }
        }
        columns
    }

    fn values_by_header(
        &self,
        header: &[Cow<'_, str>],
        indexes: Vec<usize>,
        guesses: &mut Vec<String>,
    ) -> Vec<Column> {
        let measures: Vec<_> = indexes.iter().map(|i| column_names::measure(&header[*i])).collect();
        let nothing_known = !measures.iter().any(|m| m.known);
        // "time, client0, client1": columns named after who did the work, or a single column with
        // any name.
        let alike = self.alike(&indexes) && same_stem(header, &indexes);
        let assume = nothing_known && (indexes.len() == 1 || alike);
        if assume {
            guesses.push(
                "the columns are taken for throughput, as their names do not show what they are".to_owned(),
            );
        }
        let column = |(index, measure): (usize, Measure)| {
            let named = header[index].to_string();
            let measure = if assume { column_names::assumed_throughput(named) } else { measure };
            Column { index, measure }
        };
        indexes.into_iter().zip(measures).map(column).collect()
    }

    fn values_by_shape(&self, indexes: Vec<usize>, guesses: &mut Vec<String>) -> Vec<Column> {
        let key = |i: usize| self.rows.first()?.get(i)?.split_once('=').map(|(key, _)| key.trim().to_owned());
        if indexes.iter().any(|i| key(*i).is_some()) {
            let named = |index: usize| {
                let name = key(index).unwrap_or_else(|| format!("column {}", index + 1));
                Column { index, measure: column_names::measure(&name) }
            };
            return indexes.into_iter().map(named).collect();
        }
        let alike = self.alike(&indexes);
        let many = indexes.len() > 1;
        guesses.push(match (many, alike) {
            (true, true) => "the other columns are one throughput each, per tick".to_owned(),
            _ => match indexes.first() {
                Some(first) => format!("column {} is a throughput, per tick", first + 1),
                None => return Vec::new(),
            },
        });
        let column = |(nth, index): (usize, usize)| {
            let name = format!("column {}", index + 1);
            let measure = match (nth, alike && many) {
                (_, true) => column_names::assumed_throughput(name),
                (0, false) => column_names::assumed_throughput(String::new()),
                (_, false) => Measure { name, known: false, ..column_names::measure("") },
            };
            Column { index, measure }
        };
        indexes.into_iter().enumerate().map(column).collect()
    }

    /// Whether columns have values of like size.
    fn alike(&self, indexes: &[usize]) -> bool {
        let medians: Vec<f64> = indexes.iter().map(|i| self.median(*i)).collect();
        let low = medians.iter().copied().fold(f64::INFINITY, f64::min);
        let high = medians.iter().copied().fold(0.0, f64::max);
        low > 0.0 && high <= low * LIKE_SIZE
    }

    fn median(&self, index: usize) -> f64 {
        let mut values: Vec<f64> =
            self.cells(index).iter().filter_map(|c| self.delimiter.number(c)).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    }

    /// Whether the numbers of a column in ticks shorter than a second are counts of each tick and
    /// not rates. A rate that was made of counts is a multiple of the number of ticks in a second,
    /// or has decimals; counts of half a second are hardly ever all even. A few rows do not show
    /// it, and a longer tick leaves no such trace: then it is a rate.
    fn counts_per_tick(&self, index: usize, tick_ns: i64) -> bool {
        let ticks_a_second = (seconds(SECOND_NS) / seconds(tick_ns)).round();
        let values: Vec<f64> = self.cells(index).iter().filter_map(|c| self.delimiter.number(c)).collect();
        let whole = values.iter().all(|v| v.fract() == 0.0);
        values.len() >= DECISIVE_ROWS
            && whole
            && ticks_a_second >= 2.0
            && values.iter().any(|v| v % ticks_a_second != 0.0)
    }

    /// Whether the numbers of a column never fall over a good number of rows, and grow.
    fn never_falls(&self, index: usize) -> bool {
        let values: Vec<f64> = self.cells(index).iter().filter_map(|c| self.delimiter.number(c)).collect();
        // A rate that rises to its level and stays there never falls either.
        let steps = values.windows(2).filter(|pair| pair[0] < pair[1]).count();
        values.len() >= COUNTER_ROWS && values.is_sorted() && steps * GROWS_ONCE_IN >= values.len() - 1
    }

    /// The usual distance of the timestamps of one instance.
    fn tick_ns(&self, times: &[i64], instance: Option<usize>) -> i64 {
        let first = instance.and_then(|i| self.rows.first()?.get(i));
        let same = |row: &&Vec<Cow<'_, str>>| instance.is_none_or(|i| row.get(i) == first);
        let kept = self.rows.iter().zip(times).filter(|(row, _)| same(row)).map(|(_, t)| *t);
        let kept: Vec<i64> = kept.collect();
        let mut steps: Vec<i64> =
            kept.windows(2).map(|w| w[1].saturating_sub(w[0])).filter(|s| *s > 0).collect();
        steps.sort_unstable();
        steps.get(steps.len() / 2).copied().unwrap_or(SECOND_NS)
    }

    fn confidence(&self, time: usize, stamps: Timestamps, values: &[Column]) -> Confidence {
        let known = values.iter().any(|v| v.measure.known);
        let time_named =
            self.header.as_ref().is_some_and(|h| h.get(time).is_some_and(|c| column_names::is_time(c)));
        Confidence(match (&self.header, self.delimiter) {
            (Some(_), _) if time_named && known => 90,
            (Some(_), Delimiter::Byte(_)) if time_named || known => 70,
            (_, Delimiter::Byte(_)) if stamps.is_wall() => 60,
            (_, Delimiter::Byte(_)) => 45,
            (_, Delimiter::Spaces) if stamps.is_wall() => 40,
            (_, Delimiter::Spaces) => 25,
        })
    }
}

/// The names in a line above the rows: as many as there are cells, and none a number. A `#` may
/// precede them.
fn header_of<'a>(cells: &[Cow<'a, str>], width: usize) -> Option<Vec<Cow<'a, str>>> {
    let mut cells = cells.to_vec();
    if cells.first().is_some_and(|c| c == "#" || c == "//") {
        cells.remove(0);
    }
    if let Some(first) = cells.first_mut().filter(|c| c.starts_with('#')) {
        *first = Cow::Owned(first.trim_start_matches('#').trim().to_owned());
    }
    (cells.len() == width && cells.iter().all(|cell| is_name(cell))).then_some(cells)
}

/// Whether a cell may be a column's name: short, with letters, and brackets at most around a unit
/// at its end. A line of a log above the table, which commas may well separate into as many cells,
/// is not a header.
fn is_name(cell: &str) -> bool {
    let without_unit =
        cell.strip_suffix([')', ']']).and_then(|c| c.rsplit_once(['(', '['])).map_or(cell, |c| c.0);
    let letters = cell.chars().any(char::is_alphabetic);
    letters
        && cell.chars().count() <= LONGEST_NAME
        && !without_unit.contains(['(', ')', '[', ']', '{', '}', '<', '>'])
}

/// Whether (nearly) all cells are timestamps that do not go back. Long tables that are sorted by
/// instance go back once per instance.
fn goes_on(stamps: Timestamps, cells: &[&str]) -> bool {
    let times: Vec<i64> = cells.iter().filter_map(|c| stamps.parse(c)).collect();
    let back = times.windows(2).filter(|w| w[1] < w[0]).count();
    let on = times.windows(2).filter(|w| w[1] > w[0]).count();
    times.len() * 20 >= cells.len() * 19 && back * 10 <= times.len() && (on > 0 || times.len() == 1)
}

/// Whether names differ in their number only: client0, client1.
fn same_stem(header: &[Cow<'_, str>], indexes: &[usize]) -> bool {
    let stem = |i: &usize| header[*i].trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let stems: HashSet<String> = indexes.iter().map(stem).collect();
    stems.len() == 1 && indexes.len() > 1
}
