//! The verdict on a terminal: one screen that answers what took the time, how sure that is, what
//! proves it, what to do and how to check; then what was ruled out, what could not be seen, and
//! where the time went.
//!
//! Composed several times with ever fewer details until it fits a screen; what was folded is
//! counted and reported. Colour only helps the eye: every word and number is there without it.

mod account;
mod detail;
mod findings;
mod ledger;
mod page;

use std::io::IsTerminal;

use fathom_diagnose::{Diagnosis, Statement, Window};
use fathom_recording::clock::seconds;

use self::detail::{ALL, DETAILS, Detail};
use self::page::{Ink, Page};
use crate::printable::printable;
use crate::text::{cut, width, wrap};
use crate::units;

/// Lines that a screen is taken to hold. Laptops show 45 to 60; below that people scroll in any
/// case.
const SCREEN_LINES: usize = 52;
/// Narrower than this, columns of values would no longer fit next to their names.
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
    /// Whether everything is shown, however long that is.
    pub all: bool,
}

impl TerminalOptions {
    /// As standard output allows: colour only on a terminal that is not "dumb" and when NO_COLOR is
    /// unset or empty (no-color.org); signs beyond ASCII unless the locale names another character
    /// set.
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
            all: false,
        }
    }
}

/// The verdict as text with a line end at its end.
pub fn terminal(diagnosis: &Diagnosis, options: TerminalOptions) -> String {
    let options = TerminalOptions { width: options.width.clamp(MIN_WIDTH, MAX_WIDTH), ..options };
    let mut text = String::new();
    let details: &[Detail] = if options.all { &[ALL] } else { &DETAILS };
    for detail in details {
        let mut page = Page { lines: Vec::new(), options };
        page.compose(diagnosis, detail);
        let lines = page.lines.len();
        text = page.lines.join("\n");
        text.push('\n');
        if lines <= SCREEN_LINES {
            break;
        }
    }
    text
}

impl Page {
    fn compose(&mut self, diagnosis: &Diagnosis, detail: &Detail) {
        for line in wrap(&printable(&diagnosis.headline), self.options.width) {
            self.line(&[(Ink::Strong, &line)]);
        }
        self.blank();
        self.windows(diagnosis, detail);
        self.account(diagnosis);
        self.how(diagnosis);
        self.findings(diagnosis, detail);
        let ruled_out = diagnosis.ruled_out.iter().map(|r| (r.rule.as_str(), &*r.figure, r.source.as_str()));
        self.list("Ruled out", ruled_out.collect(), detail.ruled_out);
        self.not_seen(diagnosis, detail.not_seen);
        self.ledger(diagnosis, detail.ledger);
        self.warnings(diagnosis, detail);
    }

    /// Windows and loss.
    fn windows(&mut self, diagnosis: &Diagnosis, detail: &Detail) {
        let zero_ns = diagnosis.zero_ns;
        let windows = &diagnosis.windows;
        let describe = |windows: &[Window]| {
            let shown: Vec<String> =
                windows.iter().take(detail.windows).map(|w| window(w, zero_ns)).collect();
            let more = windows.len().saturating_sub(detail.windows);
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
            self.field("baseline", &describe(&windows.base), Ink::Plain);
        }
        self.marks(diagnosis, detail.marks);
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
    }

    /// How the windows were found.
    fn how(&mut self, diagnosis: &Diagnosis) {
        if !diagnosis.windows.how.is_empty() {
            self.field("how", &Statement::joined(&diagnosis.windows.how), Ink::Faint);
        }
    }

    /// What a slow window begins with, and how many marks there are besides. It is when, and not
    /// why.
    fn marks(&mut self, diagnosis: &Diagnosis, most: usize) {
        let began = diagnosis.marks.iter().filter_map(|mark| Some((mark, mark.began.as_ref()?)));
        for (mark, began) in began.clone().take(most) {
            let apart = units::duration_ms(began.before_ms.abs());
            let when = match began.before_ms {
                0.0 => "at the same time".to_owned(),
                ms if ms > 0.0 => format!("{apart} before"),
                _ => format!("{apart} after"),
            };
            let at = units::decimals(seconds(began.from_ns.saturating_sub(diagnosis.zero_ns)), 1);
            let within = units::duration_ms(began.within_ms);
            let text = format!(
                "began with: {} ({when} the window at {at} s; the order of events up to {within} apart is not known)",
                mark.text
            );
            self.field("marks", &text, Ink::Plain);
        }
        let others = diagnosis.marks.len().saturating_sub(began.take(most).count());
        if others > 0 {
            let unrelated = diagnosis.marks.iter().filter(|mark| mark.began.is_none()).take(most);
            let at = |t_ns: i64| units::decimals(seconds(t_ns.saturating_sub(diagnosis.zero_ns)), 1);
            let shown: Vec<String> =
                unrelated.map(|mark| format!("{} s {}", at(mark.at_ns), mark.text)).collect();
            let more = others.saturating_sub(shown.len());
            let more = if more > 0 { format!("; {more} more with --all") } else { String::new() };
            let label = if diagnosis.marks.len() > others { "" } else { "marks" };
            self.field(label, &format!("{}{more}", shown.join("; ")), Ink::Faint);
        }
    }

    /// What could not be seen, and below each how to see it: whole sentences, for half a flag is of
    /// no use.
    fn not_seen(&mut self, diagnosis: &Diagnosis, limit: usize) {
        let spots = &diagnosis.blind_spots;
        if spots.is_empty() {
            return;
        }
        self.heading("Not seen", spots.len(), limit);
        for spot in spots.iter().take(limit) {
            let what = spot.what.to_string();
            // Of some nothing could show more.
            let line = if spot.remedy.is_empty() { what } else { format!("{what}: {}", spot.remedy) };
            self.columns(("", 0, Ink::Plain), &line, "");
        }
    }

    /// A list of name, text and source. What is shown is shown whole: a number that is cut off
    /// misleads.
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

    fn warnings(&mut self, diagnosis: &Diagnosis, detail: &Detail) {
        if diagnosis.warnings.is_empty() {
            return;
        }
        self.heading("Warnings", diagnosis.warnings.len(), detail.warnings);
        for warning in diagnosis.warnings.iter().take(detail.warnings) {
            for (i, line) in wrap(&printable(warning), self.options.width - 5)
                .iter()
                .take(detail.warning_lines)
                .enumerate()
            {
                self.line(&[(Ink::Warning, if i == 0 { " ! " } else { "   " }), (Ink::Plain, line)]);
            }
        }
    }
}

/// A window as seconds since the zero of the diagnosis, with the digits that its length calls for.
fn window(window: &Window, zero_ns: i64) -> String {
    let ends = units::ends(window.from_ns, window.to_ns, zero_ns);
    format!("{} to {} s", ends[0], ends[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    const PLAIN: TerminalOptions = TerminalOptions { width: 100, colour: false, unicode: true, all: false };

    #[test]
    fn a_verdict_reads_well() {
        insta::assert_snapshot!(terminal(&fixture::burst(), PLAIN));
    }

    #[test]
    fn a_verdict_reads_well_in_ascii_and_80_columns() {
        let options = TerminalOptions { width: 80, colour: false, unicode: false, all: false };
        insta::assert_snapshot!(terminal(&fixture::burst(), options));
    }

    #[test]
    fn a_window_never_ends_where_it_begins() {
        let shown = |from_ns: i64, to_ns: i64| window(&Window { from_ns, to_ns }, 0);
        assert_eq!(shown(13_514_957_000, 13_515_000_000), "13.514957 to 13.515000 s");
        assert_eq!(shown(93_812_000_000, 93_840_000_000), "93.812 to 93.840 s");
    }

    #[test]
    fn what_nothing_could_show_ends_without_a_colon() {
        let mut diagnosis = fixture::burst();
        diagnosis.blind_spots.truncate(1);
        diagnosis.blind_spots[0].what = fixture::said("names of 65 Java frames").into();
        diagnosis.blind_spots[0].remedy = Statement::default();
        let text = terminal(&diagnosis, PLAIN);
        let line = text.lines().find(|line| line.contains("names of 65")).unwrap();
        assert_eq!(line.trim(), "names of 65 Java frames");
    }

    #[test]
    fn what_a_slow_window_begins_with_is_said_and_other_marks_are_listed() {
        let mut diagnosis = fixture::burst();
        diagnosis.marks = vec![fixture::mark("backup", None), fixture::mark("deploy 2.3", Some(400.0))];
        diagnosis.marks.extend((0..4).map(|_| fixture::mark("probe", None)));
        let text = terminal(&diagnosis, PLAIN);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let began = "marks began with: deploy 2.3 (400 ms before the window at 143.0 s; the order of events up to \
                     2.00 s apart is not known)";
        assert!(words.contains(began), "{text}");
        assert!(words.contains("20.0 s backup; 20.0 s probe; 20.0 s probe; 2 more with --all"), "{text}");
    }

    #[test]
    fn finding_nothing_says_what_was_checked() {
        insta::assert_snapshot!(terminal(&fixture::healthy(), PLAIN));
    }

    #[test]
    fn many_findings_are_folded_to_a_screen_and_counted() {
        let text = terminal(&fixture::crowded(), PLAIN);
        assert!(text.lines().count() <= SCREEN_LINES, "{} lines\n{text}", text.lines().count());
        assert!(text.contains("shown, the rest with --all)"));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn with_all_nothing_is_folded() {
        let diagnosis = fixture::crowded();
        let text = terminal(&diagnosis, TerminalOptions { all: true, ..PLAIN });
        assert!(!text.contains("--all") && !text.contains(" more\n"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown =
            |text: &str| words.contains(&printable(text).split_whitespace().collect::<Vec<_>>().join(" "));
        for finding in &diagnosis.findings {
            // Its values follow its first line.
            assert!(finding.title.split_whitespace().all(shown), "{}\n{text}", finding.title);
            finding.evidence.iter().for_each(|e| assert!(shown(&e.text()), "{}\n{text}", e.text()));
            finding.remedies.iter().for_each(|r| assert!(shown(&r.change), "{}\n{text}", r.change));
            finding.verify.iter().for_each(|v| assert!(shown(v), "{v}\n{text}"));
        }
        diagnosis.ruled_out.iter().for_each(|r| assert!(shown(&r.figure), "{}\n{text}", r.figure));
        diagnosis.warnings.iter().for_each(|w| assert!(shown(w), "{w}\n{text}"));
        assert_eq!(
            diagnosis.ledger.iter().filter(|row| shown(&row.category)).count(),
            diagnosis.ledger.len()
        );
    }

    #[test]
    fn a_figure_that_is_shown_is_shown_whole_and_a_process_named_once() {
        let mut diagnosis = fixture::burst();
        let figure = (0..60).map(|i| format!("word{i}")).collect::<Vec<_>>().join(" ");
        diagnosis.ruled_out[0].figure = fixture::said(&figure).into();
        diagnosis.blind_spots[0].what = fixture::said(&figure).into();
        let words = terminal(&diagnosis, PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words.matches(&figure).count(), 2, "{words}");
        assert_eq!(
            words.matches(" server2 ").count(),
            2,
            "in the line of the columns and in the figure\n{words}"
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for (columns, all) in [0, 60, 80, 100, 110, 400].into_iter().flat_map(|w| [(w, false), (w, true)]) {
            for diagnosis in [fixture::burst(), fixture::healthy(), fixture::crowded(), fixture::hostile()] {
                let options = TerminalOptions { width: columns, all, ..PLAIN };
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
