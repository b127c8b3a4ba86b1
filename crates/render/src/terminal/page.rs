//! Lines of a page: titles, labels with their text, and what is coloured how.

use super::{LABEL, TerminalOptions};
use crate::printable::printable;
use crate::text::{left, width, wrap};

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy)]
pub(super) enum Ink {
    Plain,
    Strong,
    Faint,
    Accent,
    Warning,
}

/// A page that grows line by line.
pub(super) struct Page {
    pub(super) lines: Vec<String>,
    pub(super) options: TerminalOptions,
}

impl Page {
    /// The title of a list, and how much of it is shown where that is not all.
    pub(super) fn heading(&mut self, title: &str, total: usize, limit: usize) {
        self.blank();
        let shown = match limit < total {
            true => format!("({limit} of {total} shown, the rest with --all) "),
            false => String::new(),
        };
        let rule = if self.options.unicode { "─" } else { "-" };
        let rule = rule.repeat(self.options.width.saturating_sub(width(title) + width(&shown) + 1));
        let title = format!("{title} ");
        self.line(&[(Ink::Strong, &title), (Ink::Faint, &shown), (Ink::Faint, &rule)]);
    }

    /// A label and a text that wraps in a column of its own.
    pub(super) fn field(&mut self, label: &str, text: &str, ink: Ink) {
        let text = printable(text);
        for (i, line) in wrap(&text, self.options.width.saturating_sub(LABEL + 3)).iter().enumerate() {
            let label = left(if i == 0 { label } else { "" }, LABEL);
            self.line(&[(Ink::Plain, "   "), (Ink::Faint, &label), (ink, line)]);
        }
    }

    /// The same with a faint note behind the text: where a value comes from, what a recommendation
    /// costs.
    pub(super) fn field_with_source(&mut self, label: &str, text: &str, note: &str) {
        self.columns((label, LABEL, Ink::Faint), text, note);
    }

    /// A label of a given width, and a text with a faint note, wrapped.
    pub(super) fn columns(&mut self, (label, label_width, ink): (&str, usize, Ink), text: &str, note: &str) {
        let room = self.options.width.saturating_sub(label_width + 3);
        let (text, note) = (printable(text), printable(note));
        let mut lines: Vec<(String, String)> =
            wrap(&text, room).into_iter().map(|l| (l, String::new())).collect();
        let notes = if note.is_empty() { Vec::new() } else { wrap(&format!("[{note}]"), room) };
        for (i, note) in notes.into_iter().enumerate() {
            match lines.last_mut() {
                Some((last, aside)) if i == 0 && width(last) + 2 + width(&note) <= room => {
                    *aside = format!("  {note}");
                }
                _ => lines.push((String::new(), note)),
            }
        }
        for (i, (line, note)) in lines.into_iter().enumerate() {
            let label = left(if i == 0 { label } else { "" }, label_width);
            self.line(&[(Ink::Plain, "   "), (ink, &label), (Ink::Plain, &line), (Ink::Faint, &note)]);
        }
    }

    pub(super) fn blank(&mut self) {
        self.lines.push(String::new());
    }

    pub(super) fn line(&mut self, parts: &[(Ink, &str)]) {
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

    pub(super) fn ellipsis(&self) -> &'static str {
        if self.options.unicode { "…" } else { "..." }
    }
}
