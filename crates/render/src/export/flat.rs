//! The tables of a recording with names in place of ids, row by row: what CSV and Parquet files
//! hold.

use fathom_diagnose::stacks::{Rows, Selection};
use fathom_recording::{ProcessId, Recording, StackId, ThreadId};

use super::{ExportError, Request, Table, Written, stacks};
use crate::flame::names;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// A whole number, perhaps none.
    Int,
    /// A number.
    Float,
    /// A text.
    Text,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Int(Option<i64>),
    Float(f64),
    Text(String),
}

/// The columns of a table.
pub(super) fn columns(table: Table) -> &'static [(&'static str, Type)] {
    use Type::{Float, Int, Text};
    match table {
        Table::Samples => &[
            ("t_ns", Int),
            ("kind", Text),
            ("weight", Int),
            ("unit", Text),
            ("process", Text),
            ("pid", Int),
            ("thread", Text),
            ("tid", Int),
            ("role", Text),
            ("stack", Text),
        ],
        Table::Spans => &[
            ("t0_ns", Int),
            ("t1_ns", Int),
            ("kind", Text),
            ("name", Text),
            ("process", Text),
            ("pid", Int),
            ("thread", Text),
            ("tid", Int),
            ("key", Int),
            ("source", Text),
            ("figures", Text),
            ("labels", Text),
            ("stack", Text),
        ],
        Table::Counts => &[
            ("t0_ns", Int),
            ("t1_ns", Int),
            ("kind", Text),
            ("name", Text),
            ("process", Text),
            ("pid", Int),
            ("thread", Text),
            ("tid", Int),
            ("key", Int),
            ("count", Int),
            ("total_ns", Int),
            ("source", Text),
            ("figures", Text),
        ],
        Table::Series => &[
            ("t_ns", Int),
            ("dt_ns", Int),
            ("name", Text),
            ("instance", Text),
            ("value", Float),
            ("unit", Text),
            ("process", Text),
            ("pid", Int),
        ],
    }
}

/// Hands out the rows of a table, each with as many cells as it has columns.
pub(super) fn each(
    request: &Request<'_>,
    mut row: impl FnMut(Vec<Cell>) -> Result<(), ExportError>,
) -> Result<Written, ExportError> {
    let recording = request.recording;
    let mut written = Written::default();
    match request.table {
        Table::Samples => {
            let mut texts = Stacks::default();
            let mut of_time: Vec<String> = Vec::new();
            for kind in &request.kinds {
                let before = written.samples;
                let selection = Selection { kind: kind.clone(), ..request.selection.clone() };
                let unit = request.unit(kind);
                for one in Rows::of(recording, &selection).rows {
                    let mut cells = vec![
                        Cell::Int(Some(one.t_ns)),
                        Cell::Text(names::shown(kind)),
                        Cell::Int(Some(one.weight)),
                        Cell::Text(unit.to_owned()),
                    ];
                    cells.extend(place(recording, one.process, one.thread));
                    cells.push(Cell::Text(role(recording, one.thread)));
                    cells.push(Cell::Text(texts.text(recording, one.stack)));
                    row(cells)?;
                    written.samples += 1;
                }
                if unit == "ns" && written.samples > before {
                    of_time.push(names::shown(kind));
                }
            }
            if of_time.len() > 1 {
                written.notes.push(format!(
                    "the kinds {} count the same time in several ways: add up the weights of one kind at a time",
                    of_time.join(", ")
                ));
            }
        }
        Table::Spans => {
            let mut texts = Stacks::default();
            for (kind, _) in recording.kinds() {
                for span in recording.spans_of(kind).filter(|s| request.in_window(s.t0_ns(), s.t1_ns())) {
                    let mut cells = vec![
                        Cell::Int(Some(span.t0_ns())),
                        Cell::Int(Some(span.t1_ns())),
                        Cell::Text(names::shown(kind)),
                        Cell::Text(names::shown(span.name())),
                    ];
                    cells.extend(place(recording, span.process(), span.thread()));
                    let labels: serde_json::Map<_, _> = span
                        .labels()
                        .map(|(key, value)| (key.to_owned(), names::shown(value).into()))
                        .collect();
                    cells.extend([
                        Cell::Int(Some(span.key()).filter(|key| *key >= 0)),
                        Cell::Text(names::shown(&span.position())),
                        Cell::Text(figures(span.figures())?),
                        Cell::Text(serde_json::to_string(&labels)?),
                        Cell::Text(texts.text(recording, span.stack())),
                    ]);
                    row(cells)?;
                    written.spans += 1;
                }
            }
        }
        Table::Counts => {
            let counts = recording.count_kinds().into_iter().flat_map(|(kind, _)| recording.counts_of(kind));
            for count in counts.filter(|count| request.in_window(count.t0_ns(), count.t1_ns())) {
                let mut cells = vec![
                    Cell::Int(Some(count.t0_ns())),
                    Cell::Int(Some(count.t1_ns())),
                    Cell::Text(names::shown(count.kind())),
                    Cell::Text(names::shown(count.name())),
                ];
                cells.extend(place(recording, count.process(), count.thread()));
                let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
                let source = recording.sources.get(count.source().index());
                cells.extend([
                    Cell::Int(Some(count.key()).filter(|key| *key >= 0)),
                    Cell::Int(Some(number(count.count()))),
                    Cell::Int(count.total_ns().map(number)),
                    Cell::Text(source.map_or(String::new(), |source| names::shown(&source.name))),
                    Cell::Text(figures(count.figures())?),
                ]);
                row(cells)?;
                written.counts += 1;
            }
        }
        Table::Series => {
            for series in &recording.series {
                let info = &series.info;
                for ((t, dt), value) in series.t_ns.iter().zip(&series.dt_ns).zip(&series.value) {
                    if !request.in_window(*t, t.saturating_add(*dt)) {
                        continue;
                    }
                    let (process, pid) =
                        info.process.map(|p| stacks::process(recording, p)).unwrap_or_default();
                    row(vec![
                        Cell::Int(Some(*t)),
                        Cell::Int(Some(*dt)),
                        Cell::Text(names::shown(&info.name)),
                        Cell::Text(names::shown(&info.instance)),
                        Cell::Float(*value),
                        Cell::Text(names::shown(&info.unit)),
                        Cell::Text(process),
                        Cell::Int(pid),
                    ])?;
                    written.points += 1;
                }
            }
        }
    }
    if written == Written::default() {
        return Err(ExportError::Nothing(match request.table {
            Table::Samples => "sample",
            Table::Spans => "span",
            Table::Counts => "count",
            Table::Series => "point of a series",
        }));
    }
    Ok(written)
}

/// Figures as one cell.
fn figures<'r>(figures: impl Iterator<Item = (&'r str, f64)>) -> Result<String, ExportError> {
    let figures: serde_json::Map<_, _> = figures.map(|(key, value)| (key.to_owned(), value.into())).collect();
    Ok(serde_json::to_string(&figures)?)
}

fn place(recording: &Recording, process: ProcessId, thread: Option<ThreadId>) -> [Cell; 4] {
    let (process, pid) = stacks::process(recording, process);
    let (name, tid) = match thread {
        None => (String::new(), None),
        Some(_) => stacks::thread(recording, thread),
    };
    [Cell::Text(process), Cell::Int(pid), Cell::Text(name), Cell::Int(tid)]
}

fn role(recording: &Recording, thread: Option<ThreadId>) -> String {
    let role = thread.and_then(|t| recording.threads.get(t.index())).map(|t| t.role);
    role.map_or(String::new(), |role| format!("{role:?}").to_lowercase())
}

/// Stacks as text, callers first, frames separated by `;`; the last one asked for is kept, because
/// samples repeat.
#[derive(Default)]
struct Stacks {
    last: Option<(StackId, String)>,
}

impl Stacks {
    fn text(&mut self, recording: &Recording, stack: Option<StackId>) -> String {
        let Some(stack) = stack else { return String::new() };
        if let Some((_, text)) = self.last.as_ref().filter(|(known, _)| *known == stack) {
            return text.clone();
        }
        let path = stacks::path(recording, Some(stack)).into_iter();
        let text =
            path.map(|f| stacks::described(recording, f).0.replace(';', ",")).collect::<Vec<_>>().join(";");
        self.last = Some((stack, text.clone()));
        text
    }
}
