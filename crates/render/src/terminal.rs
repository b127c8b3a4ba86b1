//! The verdict on a terminal: one screen that answers what took the time, how sure that is, what proves it, what to
//! do and how to check; then what was ruled out, what could not be seen, and where the time went.
//!
//! Composed several times with ever fewer details until it fits a screen; what was folded is counted and said.
//! Colour only helps the eye: every word and figure stands there without it.

use std::io::IsTerminal;

use fathom_diagnose::{Diagnosis, Finding, LedgerRow, Window};
use fathom_recording::clock::{SECOND_NS, seconds};

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
    /// Rows of each of the lists below the findings.
    ruled_out: usize,
    not_seen: usize,
    warnings: usize,
    ledger: usize,
}

/// From generous to scarce; the first that fits the screen is taken, the last in any case.
const DETAILS: [Detail; 5] = [
    Detail {
        full: 3,
        findings: 6,
        evidence: (4, 3),
        explain: true,
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
        ruled_out: 6,
        not_seen: 4,
        warnings: 3,
        ledger: 7,
    },
    Detail {
        full: 2,
        findings: 5,
        evidence: (4, 2),
        explain: false,
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
        ruled_out: 2,
        not_seen: 1,
        warnings: 1,
        ledger: 2,
    },
];

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy)]
enum Ink {
    Plain,
    Strong,
    Faint,
    Accent,
    Warning,
}

struct Page {
    lines: Vec<String>,
    options: TerminalOptions,
}

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
        let not_seen: Vec<_> =
            diagnosis.blind_spots.iter().map(|b| (b.what.as_str(), b.remedy.as_str(), "")).collect();
        self.list("Not seen", not_seen, detail.not_seen);
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
        self.heading("Findings");
        for (i, finding) in diagnosis.findings.iter().take(detail.findings).enumerate() {
            if i > 0 && i < detail.full {
                self.blank();
            }
            self.finding_line(i + 1, finding, diagnosis, if i < detail.full { 3 } else { 1 });
            if i < detail.full {
                let evidence = if i == 0 { detail.evidence.0 } else { detail.evidence.1 };
                self.finding_body(finding, diagnosis, evidence, detail.explain);
            }
        }
        self.folded(diagnosis.findings.len(), detail.findings);
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

    fn finding_body(&mut self, finding: &Finding, diagnosis: &Diagnosis, evidence: usize, explain: bool) {
        if explain && !finding.meaning.is_empty() {
            self.field("means", &finding.meaning, Ink::Plain);
        }
        for (i, item) in finding.evidence.iter().take(evidence).enumerate() {
            let at = item.at_ns.map(|at| format!("at {}", units::moment(at, diagnosis.zero_ns)));
            let place: Vec<&str> = [item.source.as_str(), at.as_deref().unwrap_or("")]
                .into_iter()
                .filter(|s| !s.is_empty())
                .collect();
            self.field_with_source(if i == 0 { "evidence" } else { "" }, &item.text, &place.join(", "));
        }
        let more = finding.evidence.len().saturating_sub(evidence);
        if more > 0 {
            self.field("", &format!("{} {more} more", self.ellipsis()), Ink::Faint);
        }
        if explain && !finding.why_confidence.is_empty() {
            self.field("sure?", &finding.why_confidence, Ink::Faint);
        }
        for (i, remedy) in finding.remedies.iter().take(2).enumerate() {
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

    /// A list of name, text and source, a line or two each.
    fn list(&mut self, title: &str, rows: Vec<(&str, &str, &str)>, limit: usize) {
        if rows.is_empty() {
            return;
        }
        self.heading(title);
        let name_width = rows.iter().take(limit).map(|r| width(&printable(r.0))).max().unwrap_or(0).min(26);
        for (name, text, source) in rows.iter().take(limit) {
            let name = cut(&printable(name), name_width, self.ellipsis());
            self.columns((&name, name_width + 2, Ink::Strong), text, source, 2);
        }
        self.folded(rows.len(), limit);
    }

    /// Where the time went, slow beside base. The process of the first finding comes first.
    fn ledger(&mut self, diagnosis: &Diagnosis, limit: usize) {
        let seen = |row: &&LedgerRow| row.slow_ms.is_some() || row.base_ms.is_some();
        let first = diagnosis.findings.first().map(|f| f.process.as_str());
        let (mut rows, others): (Vec<_>, Vec<_>) =
            diagnosis.ledger.iter().filter(seen).partition(|row| first.is_none_or(|p| p == row.process));
        rows.extend(others);
        if rows.is_empty() {
            return;
        }
        self.heading("Where the time went");
        let has_base = !diagnosis.windows.base.is_empty();
        let name_width = self.options.width.saturating_sub(if has_base { 42 } else { 24 });
        let columns =
            if has_base { format!("{:>18}{:>18}", "slow", "base") } else { format!("{:>18}", "time") };
        self.line(&[(Ink::Faint, &left("", name_width + 3)), (Ink::Faint, &columns)]);
        for row in rows.iter().take(limit) {
            let beside = if row.in_sum { "" } else { " (beside)" };
            let name = printable(&format!("{}  {}{beside}", row.process, row.heading)).into_owned();
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
        self.folded(rows.len(), limit);
    }

    fn warnings(&mut self, diagnosis: &Diagnosis, limit: usize) {
        if diagnosis.warnings.is_empty() {
            return;
        }
        self.heading("Warnings");
        for warning in diagnosis.warnings.iter().take(limit) {
            for (i, line) in wrap(&printable(warning), self.options.width - 5).iter().take(2).enumerate() {
                self.line(&[(Ink::Warning, if i == 0 { " ! " } else { "   " }), (Ink::Plain, line)]);
            }
        }
        self.folded(diagnosis.warnings.len(), limit);
    }

    fn folded(&mut self, total: usize, shown: usize) {
        if let Some(more @ 1..) = total.checked_sub(shown) {
            let text = format!("   {} {more} more, see --json or the report", self.ellipsis());
            self.line(&[(Ink::Faint, &text)]);
        }
    }

    fn heading(&mut self, title: &str) {
        self.blank();
        let rule = if self.options.unicode { "─" } else { "-" };
        let rule = rule.repeat(self.options.width.saturating_sub(width(title) + 1));
        self.line(&[(Ink::Strong, title), (Ink::Plain, " "), (Ink::Faint, &rule)]);
    }

    /// A label and a text that wraps beside it.
    fn field(&mut self, label: &str, text: &str, ink: Ink) {
        let text = printable(text);
        for (i, line) in wrap(&text, self.options.width.saturating_sub(LABEL + 3)).iter().enumerate() {
            let label = left(if i == 0 { label } else { "" }, LABEL);
            self.line(&[(Ink::Plain, "   "), (Ink::Faint, &label), (ink, line)]);
        }
    }

    /// The same with a faint note behind the text: where a figure comes from, what a remedy costs.
    fn field_with_source(&mut self, label: &str, text: &str, note: &str) {
        self.columns((label, LABEL, Ink::Faint), text, note, usize::MAX);
    }

    /// A label of a given width, beside it a text with a faint note, wrapped and cut after `limit` lines.
    fn columns(
        &mut self,
        (label, label_width, ink): (&str, usize, Ink),
        text: &str,
        note: &str,
        limit: usize,
    ) {
        let room = self.options.width.saturating_sub(label_width + 3);
        let (text, note) = (printable(text), printable(note));
        let mut lines: Vec<(String, String)> =
            wrap(&text, room).into_iter().map(|l| (l, String::new())).collect();
        let notes = if note.is_empty() { Vec::new() } else { wrap(&format!("[{note}]"), room) };
        for (i, note) in notes.into_iter().enumerate() {
            match lines.last_mut() {
                Some((last, beside)) if i == 0 && width(last) + 2 + width(&note) <= room => {
                    *beside = format!("  {note}");
                }
                _ => lines.push((String::new(), note)),
            }
        }
        let whole = lines.len();
        for (i, (line, note)) in lines.into_iter().take(limit).enumerate() {
            let label = left(if i == 0 { label } else { "" }, label_width);
            let ends_early = i + 1 == limit && whole > limit;
            let note = if ends_early { format!(" {}", self.ellipsis()) } else { note };
            let line = if ends_early { cut(&line, room - width(&note), "") } else { line };
            self.line(&[(Ink::Plain, "   "), (ink, &label), (Ink::Plain, &line), (Ink::Faint, &note)]);
        }
    }

    fn blank(&mut self) {
        self.lines.push(String::new());
    }

    fn line(&mut self, parts: &[(Ink, &str)]) {
        let mut line = String::new();
        for (ink, text) in parts {
            let code = match ink {
                _ if !self.options.colour || text.trim().is_empty() => "",
                Ink::Plain => "",
                Ink::Strong => "1",
                Ink::Faint => "2",
                Ink::Accent => "36",
                Ink::Warning => "33",
            };
            if code.is_empty() {
                line.push_str(text);
            } else {
                line.push_str(&format!("\x1b[{code}m{text}\x1b[0m"));
            }
        }
        self.lines.push(line.trim_end().to_owned());
    }

    fn ellipsis(&self) -> &'static str {
        if self.options.unicode { "…" } else { "..." }
    }
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
            format!("{}{}", right(&units::duration_ms(ms), 11), right(&share, 7))
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
        assert!(text.contains("more, see --json or the report"));
        insta::assert_snapshot!(text);
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
