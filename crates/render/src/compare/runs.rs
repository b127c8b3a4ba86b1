//! `fathom compare` in the terminal: verdicts first, then what they are of.

use fathom_compare::judge::{Report, Row};
use fathom_compare::sentence::percent;
use fathom_diagnose::quantity;

use crate::printable;
use crate::tables::{section, shortened, table};
use crate::text::{left, right, wrap};

/// Columns of a text.
const WIDTH: usize = 98;
/// Verdicts shown as sentences.
const MOST_SENTENCES: usize = 4;
/// Columns of the plot of ratios.
const PLOT: usize = 36;
/// Columns for a name next to it.
const NAME: usize = 30;
/// Columns for the text of a command.
const COMMAND: usize = 44;

/// The verdicts on commands that were run, as text of at most 100 columns.
pub fn runs(report: &Report) -> String {
    let mut out = String::new();
    // Of many variants the table and the plot say it; their sentences are in the JSON form.
    if report.comparisons.len() <= MOST_SENTENCES {
        report.comparisons.iter().for_each(|c| paragraph(&mut out, &printable(&c.sentence), ""));
    }
    // A label that is no letter says what a command is.
    let labelled = report.commands.iter().any(|row| row.label.len() > 2);
    let first: &[&str] = if labelled { &["command"] } else { &["", "command"] };
    let cpu: &[&str] = if report.commands.iter().any(|row| row.cpu_s.is_some()) { &["CPU"] } else { &[] };
    let header = [first, &["runs", "mean", "smallest", "largest", "spread"], cpu].concat();
    let mut rows = table(&header, &[first.len() - 1]);
    for row in &report.commands {
        let names = if labelled {
            let figure = if row.figure.is_empty() { String::new() } else { format!("{} ", row.figure) };
            vec![shortened(&format!("{figure}{}", row.label), COMMAND)]
        } else {
            vec![printable(&row.label).into_owned(), shortened(&named(row), COMMAND)]
        };
        let [mean, min, max] = [row.mean, row.min, row.max].map(|value| figure(value, &row.unit));
        let spread = quantity::share(row.spread);
        let figures = [row.runs.to_string(), mean, min, max, spread];
        let cpu = row.cpu_s.map(quantity::seconds);
        let figures = figures.into_iter().chain(cpu);
        rows.add_row(names.into_iter().chain(figures));
    }
    let title = printable(&report.metric).into_owned();
    section(&mut out, &format!("{title} (spread: standard deviation between runs)"), &rows);
    if report.comparisons.len() > 1 {
        plot(&mut out, report);
    }
    out.push('\n');
    for note in notes(report) {
        paragraph(&mut out, &note, "  ");
    }
    out.trim_start_matches('\n').to_owned()
}

/// Ratios to the baseline with their intervals, as a picture; behind them the letters.
fn plot(out: &mut String, report: &Report) {
    let known = report.comparisons.iter().filter_map(|c| c.estimate);
    let (low, high) = known.fold((1.0_f64, 1.0_f64), |(low, high), e| (low.min(e.low), high.max(e.high)));
    // Ratios are factors: as much to the left as to the right is half and double.
    let (from, to) = (low.ln(), high.ln());
    let width = if to > from { to - from } else { 1.0 };
    let at = |ratio: f64| (((ratio.ln() - from) / width) * (PLOT - 1) as f64).round() as usize;
    let one = at(1.0).min(PLOT - 1);
    let letters = |label: &str, figure: &str| {
        let row = report.commands.iter().find(|row| row.label == label && row.figure == figure);
        row.map_or("", |row| row.letters.as_str())
    };
    let lettered = report.commands.iter().any(|row| !row.letters.is_empty());
    let of_letters = if lettered { "; those that share a letter are not distinguished" } else { "" };
    out.push_str(&format!("\nRatio to the first, with its interval{of_letters}\n"));
    let mut add = |name: &str, ratio: &str, interval: &str, line: &[char], letters: &str| {
        let name = left(&shortened(name, NAME), NAME);
        let line: String = line.iter().collect();
        let text = format!("  {name} {} {} {line} {letters}", right(ratio, 6), right(interval, 13));
        out.push_str(text.trim_end());
        out.push('\n');
    };
    let mut figure = None;
    for c in &report.comparisons {
        if figure != Some(&c.figure) {
            figure = Some(&c.figure);
            let mut line = [' '; PLOT];
            line[one] = '●';
            add(&format!("{} {}", c.base, c.figure), "1", "", &line, letters(&c.base, &c.figure));
        }
        let mut line = [' '; PLOT];
        line[one] = '│';
        let mut cells = [String::from("–"), String::new()];
        if let Some(e) = c.estimate {
            let (a, b) = (at(e.low).min(PLOT - 1), at(e.high).min(PLOT - 1));
            line[a..=b].iter_mut().for_each(|c| *c = '─');
            line[at(e.ratio).min(PLOT - 1)] = '●';
            cells = [short(e.ratio), format!("{}–{}", short(e.low), short(e.high))];
        }
        add(&format!("{} {}", c.other, c.figure), &cells[0], &cells[1], &line, letters(&c.other, &c.figure));
    }
}

/// A ratio in five or six columns.
fn short(ratio: f64) -> String {
    let digits = if ratio < 10.0 { 3 } else { 1 };
    format!("{ratio:.digits$}")
}

fn named(row: &Row) -> String {
    if row.figure.is_empty() { row.text.clone() } else { row.figure.clone() }
}

/// What else is to be known of the verdicts.
fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    let host = &report.host;
    let warm = match report.warmup {
        0 => String::new(),
        n => format!("; the first {} of each not counted", quantity::plural(n, "run", "runs")),
    };
    notes.push(format!(
        "Intervals are wrong at most {} of the time, all verdicts together; less than {} is no difference{warm}.",
        percent(report.alpha),
        percent(report.margin)
    ));
    notes.extend(report.differing.iter().map(|what| format!("Not the same: {}.", printable(what))));
    if !report.not_compared.is_empty() {
        notes.push(format!("In one file only: {}.", printable(&report.not_compared.join(", "))));
    }
    if report.looks.len() > 1 {
        let looks: Vec<String> = report.looks.iter().map(|l| l.blocks.to_string()).collect();
        notes.push(format!(
            "It could end after {} runs of each; that chance of error is divided among these looks.",
            looks.join(", ")
        ));
    }
    if !host.kernel.is_empty() {
        let cpus = quantity::plural(host.cpus, "CPU", "CPUs");
        notes.push(format!("On {} with {cpus}, Linux {}.", printable(&host.name), printable(&host.kernel)));
    }
    for row in &report.commands {
        let (runs, values) = row.warming_up;
        if runs > 0 {
            notes.push(format!(
                "{}: {runs} of {} runs warm up; up to {values} values before that are left out.",
                printable(&row.label),
                row.runs
            ));
        }
        if row.never_steady > 0 {
            notes.push(format!(
                "{}: {} of {} runs never get steady, so that their mean depends on how long they run.",
                printable(&row.label),
                row.never_steady,
                row.runs
            ));
        }
    }
    notes
}

/// A value in its unit.
fn figure(value: f64, unit: &str) -> String {
    match unit {
        "s" => quantity::seconds(value),
        _ => format!("{} {}", significant(value), printable(unit)).trim_end().to_owned(),
    }
}

/// Four digits of a value.
fn significant(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = 3 - value.abs().max(1e-9).log10().floor() as i32;
    format!("{value:.*}", digits.clamp(0, 9) as usize)
}

/// A text in lines, those behind the first one indented.
pub(crate) fn paragraph(out: &mut String, text: &str, indent: &str) {
    for (i, line) in wrap(text, WIDTH - indent.len() - 2).iter().enumerate() {
        let further = if i == 0 { "" } else { "  " };
        out.push_str(&format!("{indent}{further}{line}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four commands whose runs are at hand: what is shown fits 100 columns, marks the baseline,
    /// and hostile names do no harm.
    #[test]
    fn a_plot_has_a_line_for_each_command_and_fits_a_terminal() {
        let label =
            ["flags=-Xint", "flags=\u{1b}[31m", "flags=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", "d"];
        let commands = label.map(|l| serde_json::json!({"label": l, "text": l, "words": ["true"]}));
        let run = |i: usize| {
            let wall = [2.0, 1.0, 1.01, 4.0][i % 4] * (1.0 + (i / 4 % 3) as f64 / 200.0);
            serde_json::json!({"block": i / 4, "place": i % 4, "command": i % 4,
                "usage": {"wall_s": wall, "user_s": wall, "sys_s": 0.0, "max_rss_bytes": 1, "preempted": 0},
                "figures": [{"name": "", "unit": "s", "higher_is_better": false, "values": [wall]}]})
        };
        let runs = serde_json::json!({"schema": "fathom.compare-runs/1", "began_unix_s": 0,
            "host": {"name": "h", "kernel": "6", "cpus": 2}, "metric": {"is": "wall"}, "seed": 1, "warmup": 0,
            "looks": [{"blocks": 6, "alpha": 0.05}], "commands": commands,
            "runs": (0..24).map(run).collect::<Vec<_>>(), "ended_early": false});
        let runs: fathom_compare::runs::Runs = serde_json::from_value(runs).unwrap();
        let judging = fathom_compare::judge::Judging { margin: 0.01, drop_warm_up: true };
        let shown = super::runs(&fathom_compare::judge::judge(&runs, &judging));
        assert!(shown.lines().all(|line| crate::text::width(line) <= 100), "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown}");
        let plot: Vec<&str> = shown.lines().skip_while(|l| !l.starts_with("Ratio")).skip(1).take(4).collect();
        assert!(
            plot[0].contains('●') && plot[0].trim_end().ends_with('c'),
            "the baseline, with its letter: {shown}"
        );
        assert!(plot[3].contains("2.000") && plot[3].trim_end().ends_with('d'), "{shown}");
    }

    #[test]
    fn figures_have_four_digits() {
        assert_eq!([1234.56, 12.3456, 0.0012345].map(significant), ["1235", "12.35", "0.001234"]);
        assert_eq!((significant(f64::NAN), significant(0.0)), ("–".to_owned(), "0".to_owned()));
        assert_eq!(
            (figure(2.0, "ns/op"), figure(0.25, "s")),
            ("2.000 ns/op".to_owned(), "250 ms".to_owned())
        );
    }
}
