//! Two recordings in the terminal: what makes them hard to compare, the verdict, what changed.

use fathom_compare::jdk_changes::Match;
use fathom_compare::recordings::{Change, Frames, Measure, RecordingsReport};
use fathom_diagnose::quantity;

use super::causes::causes;
use super::runs::paragraph;
use crate::printable;
use crate::tables::{section, shortened, table};

/// Metrics that do not differ are shown up to this many.
const MOST_SAME: usize = 12;
/// Metrics that differ, and frames.
const MOST: usize = 30;
/// Columns of a name.
const NAME: usize = 46;
/// Columns of a frame's, next to costs of an operation.
const FRAME: usize = 36;

/// The report as text of at most 100 columns.
pub fn recordings(report: &RecordingsReport) -> String {
    let mut out = String::new();
    for (label, of, covers) in
        [("A", &report.of[0], report.covers_s[0]), ("B", &report.of[1], report.covers_s[1])]
    {
        paragraph(&mut out, &format!("{label}: {}, {}", printable(of), quantity::seconds(covers)), "");
    }
    let sentence = match report.verdict.estimate {
        Some(_) => format!("{} (by {})", report.verdict.sentence, report.verdict_of),
        None => report.verdict.sentence.clone(),
    };
    out.push('\n');
    paragraph(&mut out, &printable(&sentence), "");
    let mut rows = table(&["", "A", "B"], &[1, 2]);
    let (flags, others): (Vec<_>, Vec<_>) = report.differing.iter().partition(|d| d.what == "flags");
    for differing in others {
        let shown = |side: &Option<String>| shortened(side.as_deref().unwrap_or("–"), 34);
        rows.add_row([differing.what.to_owned(), shown(&differing.first), shown(&differing.second)]);
    }
    section(&mut out, "Not the same on both sides", &rows);
    for (label, flags) in flags.iter().flat_map(|d| [("A", &d.first), ("B", &d.second)]) {
        if let Some(flags) = flags {
            paragraph(&mut out, &format!("flags of {label} alone: {}", printable(flags)), "  ");
        }
    }
    let (differ, same): (Vec<&Measure>, Vec<&Measure>) = report.measures.iter().partition(|m| m.differs);
    measures(&mut out, "Differs by more than it varies within each run", &differ, MOST);
    measures(&mut out, "Does not, or has no test", &same, MOST_SAME);
    if let Some(found) = report.costs.as_ref().or(report.frames.as_ref()) {
        frames(&mut out, found);
    }
    changes(&mut out, report);
    if let Some(found) = &report.causes {
        causes(&mut out, found);
    }
    out.push('\n');
    paragraph(
        &mut out,
        "This holds for these two runs. Only more runs show how much runs differ by themselves: \
         fathom compare -- 'COMMAND A' -- 'COMMAND B'. Up to 5% of what is called different may be wrong.",
        "  ",
    );
    out
}

fn measures(out: &mut String, title: &str, measures: &[&Measure], most: usize) {
    let mut rows = table(&["", "A", "B", "B / A", "interval"], &[]);
    for measure in measures.iter().take(most) {
        let ratio = measure.held.and_then(|h| h.ratio);
        let plain = (measure.first > 0.0).then(|| measure.second / measure.first);
        let interval = ratio.filter(|r| r.high.is_finite());
        rows.add_row([
            shortened(&measure.name, NAME),
            value(measure.first, measure.unit),
            value(measure.second, measure.unit),
            plain.map_or("–".to_owned(), |r| format!("{r:.2}")),
            interval.map_or(String::new(), |r| format!("{:.2}–{:.2}", r.low, r.high)),
        ]);
    }
    section(out, title, &rows);
    let more = measures.len().saturating_sub(most);
    if more > 0 {
        out.push_str(&format!("  … and {more} more (--json)\n"));
    }
}

fn frames(out: &mut String, frames: &Frames) {
    let mut rows = table(&["frame", "A", "B", "difference between", ""], &[4]);
    let shares = frames.operations.is_none();
    for frame in frames.moved.iter().take(MOST) {
        let signed = |amount: f64| match shares {
            true => format!("{:+.2}", amount * 100.0),
            false => format!("{}{}", if amount < 0.0 { '-' } else { '+' }, value(amount.abs(), frames.unit)),
        };
        let [low, high] = frame.difference.map(signed);
        rows.add_row([
            shortened(&frame.name, FRAME),
            value(frame.first, frames.unit),
            value(frame.second, frames.unit),
            format!("{low} and {high}{}", if shares { " points" } else { "" }),
            word(frame.change).to_owned(),
        ]);
    }
    let [a, b] = frames.samples;
    let what = if shares { "share of the" } else { "cost per operation by" };
    let title = format!(
        "Frames whose own {what} {} samples differs: {} of {} ({} and {} samples)",
        frames.kind,
        frames.differ,
        frames.judged,
        quantity::count(a as f64),
        quantity::count(b as f64)
    );
    if frames.moved.is_empty() {
        out.push_str(&format!("\n{title}\n"));
    }
    section(out, &title, &rows);
}

/// Changes of the JDK: those that touch what changed in words, the others in a line.
fn changes(out: &mut String, report: &RecordingsReport) {
    let (switched, between): (Vec<_>, Vec<_>) = report.known_changes.iter().partition(|m| m.in_both);
    let (touching, others): (Vec<_>, Vec<_>) = between.into_iter().partition(|m| !m.touches.is_empty());
    for (title, found) in [
        ("Known changes of the JDK between the two that touch what changed", touching),
        ("Known changes of the JDK in both, which flags that differ switch", switched),
    ] {
        if !found.is_empty() {
            out.push_str(&format!("\n{title}\n"));
        }
        found.into_iter().for_each(|change| one(out, change));
    }
    if !others.is_empty() {
        let ids: Vec<&str> = others.iter().map(|m| m.change.id.as_str()).collect();
        out.push('\n');
        paragraph(
            out,
            &format!("Also between the two, with nothing seen of them here: {}", ids.join(", ")),
            "  ",
        );
    }
}

fn one(out: &mut String, found: &Match) {
    let side = match (found.in_both, found.second_has_it) {
        (true, _) => "",
        (false, true) => " (in B)",
        (false, false) => " (in A)",
    };
    let text = format!(
        "{}{side}: {}; seen here: {}. {}",
        found.change.id,
        found.change.what,
        printable(&found.touches.join(", ")),
        found.change.url
    );
    paragraph(out, &text, "  ");
}

/// What became of a frame, where it is more than a difference.
fn word(change: Change) -> &'static str {
    match change {
        Change::New => "new",
        Change::Gone => "gone",
        Change::Moved => "moved",
        Change::More | Change::Less => "",
    }
}

/// A value in its unit. What one operation takes may be short.
fn value(value: f64, unit: &str) -> String {
    match unit {
        "share" => quantity::share(value),
        "ms" => quantity::millis(value),
        "ms/op" | "ms/s" => {
            let time = if value == 0.0 { "0".to_owned() } else { quantity::of_one(value) };
            format!("{time}{}", unit.trim_start_matches("ms"))
        }
        "count" => quantity::count(value),
        _ => format!("{value:.2} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_operation_takes_is_never_rounded_to_nothing() {
        let written = [2.5, 0.0042, 0.000_12, 0.0].map(|ms| value(ms, "ms/op"));
        assert_eq!(written, ["2.50 ms/op", "4.2 µs/op", "120 ns/op", "0/op"]);
        assert_eq!((value(0.0042, "ms/s"), value(0.25, "share")), ("4.2 µs/s".to_owned(), "25%".to_owned()));
    }
}
