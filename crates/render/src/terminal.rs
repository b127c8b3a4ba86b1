//! The verdict on a terminal: one screen that answers what took the time, how sure that is, what proves it, what to
//! do and how to check; then what was ruled out, what could not be seen, and where the time went.
//!
//! Composed several times with ever fewer details until it fits a screen; what was folded is counted and said.
//! Colour only helps the eye: every word and figure stands there without it.

mod page;

use std::io::IsTerminal;

use fathom_diagnose::{Diagnosis, Evidence, Finding, LedgerRow, Window};
use fathom_recording::clock::{SECOND_NS, seconds};

use self::page::{Ink, Page};
use crate::printable::printable;
use crate::text::{bar, cut, left, right, width, wrap};
use crate::units;

/// Lines that a screen is taken to hold. Laptops show 45 to 60; below that people scroll in any case.
const SCREEN_LINES: usize = 46;
/// Narrower than this, columns of figures would no longer fit beside their words.
const MIN_WIDTH: usize = 60;
/// Wider lines are hard to read back from.
const MAX_WIDTH: usize = 110;
/// Columns of the names at the left of a finding ("evidence").
const LABEL: usize = 10;

/// How to write for this terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalOptions {
    /// Columns to use, held between 60 and 110.
    pub width: usize,
    /// Whether to colour.
    pub colour: bool,
    /// Whether signs beyond ASCII may be used for rules and bars.
    pub unicode: bool,
}

impl TerminalOptions {
    /// As standard output allows: colour only on a terminal that is not "dumb" and when NO_COLOR is unset or empty
    /// (no-color.org); signs beyond ASCII unless the locale names another character set.
    pub fn detect() -> Self {
        let set = |key: &str| std::env::var(key).ok().filter(|v| !v.is_empty());
        let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
        let terminal = std::io::stdout().is_terminal() && set("TERM").is_none_or(|t| t != "dumb");
        Self {
            width: terminal_size::terminal_size().map_or(100, |(w, _)| usize::from(w.0)),
            colour: terminal && set("NO_COLOR").is_none(),
            unicode: locale.is_none_or(|l| {
                let l = l.to_ascii_lowercase();
                l.contains("utf-8") || l.contains("utf8") || !(l == "c" || l == "posix" || l.contains('.'))
            }),
        }
    }
}

/// The verdict as text with a line end at its end.
pub fn terminal(diagnosis: &Diagnosis, options: TerminalOptions) -> String {
    let options = TerminalOptions { width: options.width.clamp(MIN_WIDTH, MAX_WIDTH), ..options };
    let mut text = String::new();
    for detail in DETAILS {
        let mut page = Page { lines: Vec::new(), options };
        page.compose(diagnosis, &detail);
        let lines = page.lines.len();
        text = page.lines.join("\n");
        text.push('\n');
        if lines <= SCREEN_LINES {
            break;
        }
    }
    text
}

/// How much to show.
struct Detail {
    /// Findings with evidence and remedy; the others get one line each.
    full: usize,
    /// Findings in all.
    findings: usize,
    /// Evidence lines of the first finding, and of each other.
    evidence: (usize, usize),
    /// Whether to explain what a finding means and why it is as sure as it is.
    explain: bool,
    /// Remedies of a finding.
    remedies: usize,
    /// Rows of each of the lists below the findings.
    ruled_out: usize,
    not_seen: usize,
    warnings: usize,
    ledger: usize,
}

/// From generous to scarce; the first that fits the screen is taken, the last in any case.
const DETAILS: [Detail; 7] = [
    Detail {
        full: 3,
        findings: 6,
        evidence: (4, 3),
        explain: true,
        remedies: 2,
        ruled_out: 12,
        not_seen: 6,
        warnings: 4,
        ledger: 10,
    },
    Detail {
        full: 2,
        findings: 6,
        evidence: (4, 3),
        explain: true,
        remedies: 2,
        ruled_out: 6,
        not_seen: 4,
        warnings: 3,
        ledger: 7,
    },
    Detail {
        full: 2,
        findings: 5,
        evidence: (4, 2),
        explain: true,
        remedies: 2,
        ruled_out: 4,
        not_seen: 2,
        warnings: 2,
        ledger: 4,
    },
    Detail {
        full: 2,
        findings: 5,
        evidence: (4, 2),
        explain: false,
        remedies: 2,
        ruled_out: 5,
        not_seen: 3,
        warnings: 2,
        ledger: 5,
    },
    Detail {
        full: 1,
        findings: 4,
        evidence: (4, 2),
        explain: false,
        remedies: 2,
        ruled_out: 3,
        not_seen: 2,
        warnings: 1,
        ledger: 4,
    },
    Detail {
        full: 1,
        findings: 3,
        evidence: (3, 1),
        explain: false,
        remedies: 1,
        ruled_out: 2,
        not_seen: 1,
        warnings: 1,
        ledger: 2,
    },
    Detail {
        full: 1,
        findings: 2,
        evidence: (2, 1),
        explain: false,
        remedies: 1,
        ruled_out: 2,
        not_seen: 1,
        warnings: 1,
        ledger: 2,
    },
];

impl Page {
    fn compose(&mut self, diagnosis: &Diagnosis, detail: &Detail) {
        for line in wrap(&printable(&diagnosis.headline), self.options.width) {
            self.line(&[(Ink::Strong, &line)]);
        }
        self.blank();
        self.windows(diagnosis);
        self.findings(diagnosis, detail);
        let ruled_out =
            diagnosis.ruled_out.iter().map(|r| (r.rule.as_str(), r.figure.as_str(), r.source.as_str()));
        self.list("Ruled out", ruled_out.collect(), detail.ruled_out);
        self.not_seen(diagnosis, detail.not_seen);
        self.ledger(diagnosis, detail.ledger);
        self.warnings(diagnosis, detail.warnings);
    }

    /// Windows and loss.
    fn windows(&mut self, diagnosis: &Diagnosis) {
        let zero_ns = diagnosis.zero_ns;
        let windows = &diagnosis.windows;
        let describe = |windows: &[Window]| {
            let shown: Vec<String> = windows.iter().take(3).map(|w| window(w, zero_ns)).collect();
            let more = windows.len().saturating_sub(3);
            let length_ms = windows.iter().map(Window::length_ns).map(|ns| ns as f64 / 1e6).sum::<f64>();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}  ({})", shown.join(", "), units::duration_ms(length_ms))
        };
        if !windows.slow.is_empty() {
            let clock = match windows.slow.first() {
                Some(w) if diagnosis.wall_clock => units::wall_clock(w.from_ns),
                _ => None,
            };
            let clock = clock.map_or(String::new(), |c| format!("  from {c}"));
            let label = if windows.base.is_empty() { "looked at" } else { "slow" };
            self.field(label, &format!("{}{clock}", describe(&windows.slow)), Ink::Plain);
        }
        if !windows.base.is_empty() {
            self.field("base", &describe(&windows.base), Ink::Plain);
        }
        let loss = &diagnosis.loss;
        if loss.lost_ms > 0.0 || loss.slow_rate.is_some() {
            let rates = match (loss.slow_rate, loss.base_rate) {
                (Some(slow), Some(base)) => {
                    format!(
                        ": {} instead of {}",
                        units::rate(slow, &loss.unit),
                        units::rate(base, &loss.unit)
                    )
                }
                _ => String::new(),
            };
            let on = if loss.measured_on.is_empty() {
                String::new()
            } else {
                format!(", measured on {}", loss.measured_on)
            };
            self.field("lost", &format!("{}{rates}{on}", units::duration_ms(loss.lost_ms)), Ink::Plain);
        }
        if !windows.how.is_empty() {
            self.field("how", &windows.how, Ink::Faint);
        }
    }

    fn findings(&mut self, diagnosis: &Diagnosis, detail: &Detail) {
        if diagnosis.findings.is_empty() {
            return;
        }
        self.heading("Findings", diagnosis.findings.len(), detail.findings);
        for (i, finding) in diagnosis.findings.iter().take(detail.findings).enumerate() {
            if i > 0 && i < detail.full {
                self.blank();
            }
            self.finding_line(i + 1, finding, diagnosis, if i < detail.full { 3 } else { 1 });
            if i < detail.full {
                let evidence = if i == 0 { detail.evidence.0 } else { detail.evidence.1 };
                self.finding_body(finding, diagnosis, evidence, detail);
            }
        }
    }

    /// Number, title, cost and bar on the right; the confidence word and the culprit below.
    fn finding_line(&mut self, number: usize, finding: &Finding, diagnosis: &Diagnosis, title_lines: usize) {
        let cost = units::duration_ms(finding.cost_ms);
        let share = finding.share.filter(|s| s.is_finite());
        let figures = match share {
            Some(share) => format!("{}  {}", right(&cost, 8), right(&units::share(share), 6)),
            None => right(&cost, 8),
        };
        let gauge = share.map(|s| format!("  {}", bar(s, 12, self.options.unicode))).unwrap_or_default();
        let tail = width(&figures) + width(&gauge);
        let room = self.options.width.saturating_sub(tail + 5);
        let title = printable(&finding.title);
        let mut lines = wrap(&title, room);
        if lines.len() > title_lines {
            lines.truncate(title_lines);
            if let Some(last) = lines.last_mut() {
                *last = format!("{} {}", cut(last, room - 4, ""), self.ellipsis());
            }
        }
        for (i, line) in lines.iter().enumerate() {
            if i == 0 {
                let number = format!("{number:>2} ");
                self.line(&[
                    (Ink::Accent, &number),
                    (Ink::Strong, &left(line, room + 2)),
                    (Ink::Strong, &figures),
                    (Ink::Accent, &gauge),
                ]);
            } else {
                self.line(&[(Ink::Plain, "   "), (Ink::Strong, line)]);
            }
        }
        let process = if finding.process.is_empty() || finding.culprit.contains(&finding.process) {
            String::new()
        } else {
            format!(" · {}", finding.process)
        };
        let windows = match finding.windows.as_slice() {
            [one] => format!(" · {}", window(one, diagnosis.zero_ns)),
            _ => String::new(),
        };
        let who = format!("{} · {}{process}{windows}", finding.rule, finding.culprit);
        let word = finding.confidence.word();
        let who = cut(&printable(&who), self.options.width.saturating_sub(width(word) + 5), self.ellipsis());
        self.line(&[(Ink::Plain, "   "), (Ink::Accent, word), (Ink::Faint, "  "), (Ink::Plain, &who)]);
    }

    fn finding_body(&mut self, finding: &Finding, diagnosis: &Diagnosis, evidence: usize, detail: &Detail) {
        if detail.explain && !finding.meaning.is_empty() {
            self.field("means", &finding.meaning, Ink::Plain);
        }
        let places: Vec<String> = finding.evidence.iter().map(|e| place(e, diagnosis.zero_ns)).collect();
        for (i, item) in finding.evidence.iter().take(evidence).enumerate() {
            // Figures in a row from one place: it is named below the last of them.
            let named_below = i + 1 < evidence && places.get(i) == places.get(i + 1);
            let place = places.get(i).filter(|_| !named_below).map_or("", String::as_str);
            self.field_with_source(if i == 0 { "evidence" } else { "" }, &item.text, place);
        }
        let more = finding.evidence.len().saturating_sub(evidence);
        if more > 0 {
            self.field("", &format!("{} {more} more", self.ellipsis()), Ink::Faint);
        }
        if detail.explain && !finding.why_confidence.is_empty() {
            self.field("sure?", &finding.why_confidence, Ink::Faint);
        }
        for (i, remedy) in finding.remedies.iter().take(detail.remedies).enumerate() {
            let notes: Vec<&str> = [remedy.applies_to.as_str(), remedy.risk.as_str()]
                .into_iter()
                .filter(|s| !s.is_empty())
                .collect();
            self.field_with_source(if i == 0 { "do" } else { "or" }, &remedy.change, &notes.join("; "));
        }
        if let Some(verify) = finding.verify.first() {
            self.field("check", verify, Ink::Plain);
        }
    }

    /// What could not be seen, and below each how to see it: whole sentences, for half a flag is of no use.
    fn not_seen(&mut self, diagnosis: &Diagnosis, limit: usize) {
        let spots = &diagnosis.blind_spots;
        if spots.is_empty() {
            return;
        }
        self.heading("Not seen", spots.len(), limit);
        for spot in spots.iter().take(limit) {
            self.columns(("", 0, Ink::Plain), &format!("{}: {}", spot.what, spot.remedy), "");
        }
    }

    /// A list of name, text and source. What is shown is shown whole: a figure that is cut off misleads.
    fn list(&mut self, title: &str, rows: Vec<(&str, &str, &str)>, limit: usize) {
        if rows.is_empty() {
            return;
        }
        self.heading(title, rows.len(), limit);
        let name_width = rows.iter().take(limit).map(|r| width(&printable(r.0))).max().unwrap_or(0).min(26);
        for (name, text, source) in rows.iter().take(limit) {
            let name = cut(&printable(name), name_width, self.ellipsis());
            self.columns((&name, name_width + 2, Ink::Strong), text, source);
        }
    }

    /// Where the time went, slow beside base, process by process, each named once. The process of the first finding
    /// comes first.
    fn ledger(&mut self, diagnosis: &Diagnosis, limit: usize) {
        let seen = |row: &&LedgerRow| row.slow_ms.is_some() || row.base_ms.is_some();
        let first = diagnosis.findings.first().map(|f| f.process.as_str());
        let (own, others): (Vec<_>, Vec<_>) =
            diagnosis.ledger.iter().filter(seen).partition(|row| first.is_none_or(|p| p == row.process));
        let total = own.len() + others.len();
        let mut rows = grown_most(own, limit);
        rows.extend(others);
        if rows.is_empty() {
            return;
        }
        self.heading("Where the time went", total, limit);
        let has_base = !diagnosis.windows.base.is_empty();
        let name_width = self.options.width.saturating_sub(if has_base { 42 } else { 24 });
        let columns =
            if has_base { format!("{:>18}{:>18}", "slow", "base") } else { format!("{:>18}", "time") };
        // The first process stands beside the names of the columns, which saves a line.
        let mut process = rows.first().map(|row| &row.process);
        let name = process.map_or(String::new(), |name| format!("   {}", printable(name)));
        let name = left(&cut(&name, name_width + 3, self.ellipsis()), name_width + 3);
        self.line(&[(Ink::Strong, &name), (Ink::Faint, &columns)]);
        for row in rows.iter().take(limit) {
            if process.replace(&row.process) != Some(&row.process) {
                let name = printable(&row.process);
                let room = self.options.width.saturating_sub(3);
                self.line(&[(Ink::Plain, "   "), (Ink::Strong, &cut(&name, room, self.ellipsis()))]);
            }
            let beside = if row.in_sum { "" } else { " (beside)" };
            let name = printable(&format!("  {}{beside}", row.heading)).into_owned();
            let name = left(&cut(&name, name_width, self.ellipsis()), name_width);
            let slow = amount(row.slow_ms, row.slow_share);
            let base = if has_base { amount(row.base_ms, row.base_share) } else { String::new() };
            let grew = match (row.slow_share, row.base_share) {
                // Twice the share and at least a hundredth of the time: enough to be worth the eye.
                (Some(slow), Some(base)) => has_base && slow > 2.0 * base && slow - base > 0.01,
                _ => false,
            };
            let mark = match (grew, self.options.unicode) {
                (true, true) => " ▲",
                (true, false) => " ^",
                _ => "",
            };
            self.line(&[
                (Ink::Plain, "   "),
                (Ink::Plain, &name),
                (if grew { Ink::Strong } else { Ink::Plain }, &slow),
                (Ink::Faint, &base),
                (Ink::Accent, mark),
            ]);
        }
    }

    fn warnings(&mut self, diagnosis: &Diagnosis, limit: usize) {
        if diagnosis.warnings.is_empty() {
            return;
        }
        self.heading("Warnings", diagnosis.warnings.len(), limit);
        for warning in diagnosis.warnings.iter().take(limit) {
            for (i, line) in wrap(&printable(warning), self.options.width - 5).iter().take(2).enumerate() {
                self.line(&[(Ink::Warning, if i == 0 { " ! " } else { "   " }), (Ink::Plain, line)]);
            }
        }
    }
}

/// The rows of which most is to be seen, in their own order: those whose share grew most, when not all fit.
fn grown_most(mut rows: Vec<&LedgerRow>, limit: usize) -> Vec<&LedgerRow> {
    let grown = |row: &LedgerRow| row.slow_share.unwrap_or(0.0) - row.base_share.unwrap_or(0.0);
    let mut shares: Vec<f64> = rows.iter().map(|row| grown(row)).collect();
    shares.sort_by(|a, b| b.total_cmp(a));
    if let Some(least) = limit.checked_sub(1).and_then(|last| shares.get(last)).copied() {
        rows.retain(|row| grown(row) >= least);
    }
    rows
}

/// Where a figure stands, and of which moment it speaks.
fn place(evidence: &Evidence, zero_ns: i64) -> String {
    let at = evidence.at_ns.map(|at| format!("at {}", units::moment(at, zero_ns)));
    let parts = [Some(evidence.source.clone()).filter(|source| !source.is_empty()), at];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// A window as seconds since the zero of the diagnosis, with the digits that its length calls for.
fn window(window: &Window, zero_ns: i64) -> String {
    let digits = if window.length_ns() >= SECOND_NS { 1 } else { 4 };
    let at = |t_ns: i64| format!("{:.digits$}", seconds(t_ns.saturating_sub(zero_ns)));
    format!("{} to {} s", at(window.from_ns), at(window.to_ns))
}

/// A ledger entry: time and share in eighteen columns.
fn amount(ms: Option<f64>, share: Option<f64>) -> String {
    match ms {
        None => right("not seen", 18),
        Some(ms) => {
            let share = share.map_or(String::new(), units::share);
            format!("{}{}", right(&units::duration_ms(ms), 10), right(&share, 8))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    const PLAIN: TerminalOptions = TerminalOptions { width: 100, colour: false, unicode: true };

    #[test]
    fn a_verdict_reads_well() {
        insta::assert_snapshot!(terminal(&fixture::burst(), PLAIN));
    }

    #[test]
    fn a_verdict_reads_well_in_ascii_and_80_columns() {
        let options = TerminalOptions { width: 80, colour: false, unicode: false };
        insta::assert_snapshot!(terminal(&fixture::burst(), options));
    }

    #[test]
    fn finding_nothing_says_what_was_checked() {
        insta::assert_snapshot!(terminal(&fixture::healthy(), PLAIN));
    }

    #[test]
    fn many_findings_are_folded_to_a_screen_and_counted() {
        let text = terminal(&fixture::crowded(), PLAIN);
        assert!(text.lines().count() <= SCREEN_LINES, "{} lines\n{text}", text.lines().count());
        assert!(text.contains("shown, the rest in --json)"));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_figure_that_is_shown_is_shown_whole_and_a_process_named_once() {
        let mut diagnosis = fixture::burst();
        let figure = (0..60).map(|i| format!("word{i}")).collect::<Vec<_>>().join(" ");
        diagnosis.ruled_out[0].figure.clone_from(&figure);
        diagnosis.blind_spots[0].what.clone_from(&figure);
        let words = terminal(&diagnosis, PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words.matches(&figure).count(), 2, "{words}");
        assert_eq!(words.matches(" server2 ").count(), 2, "beside the columns and in the figure\n{words}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for columns in [0, 60, 80, 100, 110, 400] {
            for diagnosis in [fixture::burst(), fixture::healthy(), fixture::crowded(), fixture::hostile()] {
                let options = TerminalOptions { width: columns, ..PLAIN };
                let text = terminal(&diagnosis, options);
                let widest = text.lines().map(width).max().unwrap();
                assert!(widest <= columns.clamp(MIN_WIDTH, MAX_WIDTH), "{columns}: {widest}\n{text}");
            }
        }
    }

    #[test]
    fn colour_adds_only_escape_sequences_of_our_own() {
        let plain = terminal(&fixture::burst(), PLAIN);
        let coloured = terminal(&fixture::burst(), TerminalOptions { colour: true, ..PLAIN });
        let mut stripped = coloured.clone();
        for code in ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[33m"] {
            stripped = stripped.replace(code, "");
        }
        assert_ne!(coloured, plain);
        let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(trimmed(&stripped), trimmed(&plain));
    }

    #[test]
    fn nothing_from_an_input_reaches_the_terminal_as_a_command() {
        let text = terminal(&fixture::hostile(), PLAIN);
        assert!(text.chars().all(|c| c == '\n' || !crate::printable::is_active(c)), "{text:?}");
        assert!(text.contains("\\x1b[2J") && text.contains("\\u{202e}"), "shown, not dropped\n{text}");
    }

    #[test]
    fn figures_that_are_no_numbers_do_not_break_the_page() {
        let mut diagnosis = fixture::burst();
        diagnosis.loss.lost_ms = f64::NAN;
        diagnosis.findings[0].share = Some(f64::INFINITY);
        diagnosis.findings[0].cost_ms = f64::NAN;
        diagnosis.zero_ns = i64::MIN;
        assert!(terminal(&diagnosis, PLAIN).contains("unknown"));
    }
}
