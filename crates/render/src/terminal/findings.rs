//! The findings of a verdict: number, title, cost and share in a line; below, what it means, what
//! shows it, what to do.

use fathom_diagnose::{Diagnosis, Evidence, Finding, Statement};

use super::detail::Detail;
use super::page::{Ink, Page};
use super::{LABEL, window};
use crate::chain::{below_a_finding, is_worth_showing, stop_below_a_finding};
use crate::printable::printable;
use crate::text::{bar, cut, left, right, width, wrap};
use crate::units;

impl Page {
    pub(super) fn findings(&mut self, diagnosis: &Diagnosis, detail: &Detail) {
        if diagnosis.findings.is_empty() {
            return;
        }
        self.heading("Findings", diagnosis.findings.len(), detail.findings);
        for (i, finding) in diagnosis.findings.iter().take(detail.findings).enumerate() {
            if i > 0 && i < detail.full {
                self.blank();
            }
            let title = if i < detail.full { detail.title.0 } else { detail.title.1 };
            self.finding_line(i + 1, finding, diagnosis, title);
            if i < detail.full {
                let evidence = if i == 0 { detail.evidence.0 } else { detail.evidence.1 };
                self.finding_body(finding, diagnosis, evidence, detail);
            }
        }
    }

    /// Number, title, cost and bar on the right; the confidence word and the culprit below.
    fn finding_line(&mut self, number: usize, finding: &Finding, diagnosis: &Diagnosis, title_lines: usize) {
        // What failed is reported for itself; what it cost may be nothing that can be counted.
        let cost = match finding.cost_ms {
            0.0 => String::new(),
            ms => units::duration_ms(ms),
        };
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
                let number = format!("{:<3}", format!("{number}."));
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
            // Values in a row from one place: it is named below the last of them.
            let named_below = i + 1 < evidence && places.get(i) == places.get(i + 1);
            let place = places.get(i).filter(|_| !named_below).map_or("", String::as_str);
            self.field_with_source(if i == 0 { "evidence" } else { "" }, &item.text(), place);
        }
        let more = finding.evidence.len().saturating_sub(evidence);
        if more > 0 {
            self.field("", &format!("{} {more} more", self.ellipsis()), Ink::Faint);
        }
        self.chain(finding, detail.chain);
        if detail.explain && !finding.why_confidence.is_empty() {
            self.field("sure?", &Statement::joined(&finding.why_confidence), Ink::Faint);
        }
        for (i, remedy) in finding.remedies.iter().take(detail.remedies).enumerate() {
            let notes: Vec<&str> = [remedy.applies_to.as_str(), remedy.risk.as_str()]
                .into_iter()
                .filter(|s| !s.is_empty())
                .collect();
            self.field_with_source(if i == 0 { "do" } else { "or" }, &remedy.change, &notes.join("; "));
        }
        for (i, verify) in finding.verify.iter().take(detail.verify).enumerate() {
            self.field(if i == 0 { "check" } else { "" }, verify, Ink::Plain);
        }
    }
}

impl Page {
    /// What was waited for, link by link, and the longest stop by its parts.
    fn chain(&mut self, finding: &Finding, most: usize) {
        let corner = if self.options.unicode { "└" } else { "`-" };
        let chain = finding.chain.as_ref().map(|chain| ("chain", below_a_finding(chain, corner)));
        let stop = finding.stop.as_ref().filter(|stop| is_worth_showing(stop));
        let stop = stop.map(|stop| ("stop", stop_below_a_finding(stop, corner)));
        for (label, lines) in chain.into_iter().chain(stop) {
            for (i, line) in lines.iter().take(most).enumerate() {
                // Wrapped below its own beginning, so that the depth of a link stays visible.
                let indent = line.chars().take_while(|c| *c == ' ').count();
                let room = self.options.width.saturating_sub(LABEL + 3 + indent + 2);
                for (j, part) in wrap(&printable(line.trim_start()), room).iter().enumerate() {
                    let label = left(if i + j == 0 { label } else { "" }, LABEL);
                    let indent = " ".repeat(if j == 0 { indent } else { indent + 2 });
                    self.line(&[
                        (Ink::Plain, "   "),
                        (Ink::Faint, &label),
                        (Ink::Plain, &indent),
                        (Ink::Plain, part),
                    ]);
                }
            }
        }
    }
}

/// Where a value is from, and the timestamp that it refers to.
fn place(evidence: &Evidence, zero_ns: i64) -> String {
    let at = evidence.at_ns.map(|at| format!("at {}", units::timestamp(at, zero_ns)));
    let parts = [Some(evidence.source.to_string()).filter(|source| !source.is_empty()), at];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
