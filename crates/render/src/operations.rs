//! Slow operations in words: `fathom diagnose --slowest` and `--op`.

use std::fmt::Write;

use fathom_diagnose::Statement;
use fathom_diagnose::operations::{Behind, Explained, Part, Slowest};
use fathom_diagnose::quantity::{millis, plural, share};

use crate::printable::printable;

/// Parts of the difference that are shown; the others are one line.
const SHOWN: usize = 8;
/// Slow operations that are listed.
const LISTED: usize = 5;
/// Other kinds that are named.
const KINDS: usize = 5;
/// Pieces of one operation that are shown: the longest, in order of time.
const PIECES: usize = 40;

/// What slow operations have that ordinary ones have not; `zero_ns` is what times count from.
pub fn slowest(found: &Slowest, zero_ns: i64) -> String {
    let mut text = format!(
        "{} of {}: p50 {}, p99 {}, longest {}\n",
        plural(found.operations, "operation", "operations"),
        printable(&found.kind),
        millis(found.p50_ms),
        millis(found.p99_ms),
        millis(found.longest_ms),
    );
    let _ = writeln!(
        text,
        "the slowest {} take {} on average, the {} ordinary ones (p25 to p75) {}\n",
        found.slow.operations,
        millis(found.slow.mean_ms),
        found.ordinary.operations,
        millis(found.ordinary.mean_ms),
    );
    let word = found.confidence.map_or("cannot tell", |confidence| confidence.word());
    let _ = writeln!(
        text,
        "{word}: {}\n  {}\n",
        printable(&found.finding),
        printable(&Statement::joined(&found.why_confidence))
    );
    let _ = writeln!(text, "{:>10} {:>10} {:>10} {:>7}  what", "slow", "ordinary", "more", "share");
    let (shown, rest) = found.parts.split_at(found.parts.len().min(SHOWN));
    shown.iter().for_each(|part| line(&mut text, part, &described(part)));
    if !rest.is_empty() {
        let sum = |of: fn(&Part) -> f64| rest.iter().map(of).sum::<f64>();
        let mut all = rest[0].clone();
        (all.slow_ms, all.ordinary_ms) = (sum(|part| part.slow_ms), sum(|part| part.ordinary_ms));
        (all.more_ms, all.share) = (sum(|part| part.more_ms), sum(|part| part.share));
        line(
            &mut text,
            &all,
            &plural(rest.len(), "row more (all of them: --json)", "rows more (all of them: --json)"),
        );
    }
    for (side, name) in [(&found.slow, "slow"), (&found.ordinary, "ordinary")] {
        if side.looked_at < side.operations {
            let (looked_at, of) = (side.looked_at, side.operations);
            let _ = writeln!(text, "of the {of} {name} ones {looked_at} were looked at, spread evenly");
        }
    }
    let listed = found.slow_operations.len().min(LISTED);
    let of = match found.slow.operations {
        all if all > listed => format!(" {listed} of these {all}"),
        _ => String::new(),
    };
    let _ = writeln!(text, "\nthe slowest{of}, each explained by fathom diagnose --op ID:");
    for operation in found.slow_operations.iter().take(LISTED) {
        let at_s = operation.from_ns.saturating_sub(zero_ns) as f64 / 1e9;
        let thread = operation.thread.as_deref().unwrap_or("no thread known");
        let _ = writeln!(
            text,
            "  {:<14} {:>10}  at {at_s:.3} s  {}",
            operation.id,
            millis(operation.ms),
            printable(thread)
        );
    }
    if !found.other_kinds.is_empty() {
        let kinds: Vec<_> = found
            .other_kinds
            .iter()
            .take(KINDS)
            .map(|(kind, n)| format!("{} ({n})", printable(kind)))
            .collect();
        let more = match found.other_kinds.len().saturating_sub(KINDS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let _ = writeln!(text, "\nother kinds, by --kind: {}{more}", kinds.join(", "));
    }
    text
}

/// A signed difference: what shrank is listed with what grew.
fn signed(ms: f64) -> String {
    if ms < 0.0 { format!("-{}", millis(-ms)) } else { millis(ms) }
}

fn line(text: &mut String, part: &Part, what: &str) {
    let of = if part.share < 0.0 { format!("-{}", share(-part.share)) } else { share(part.share) };
    let (slow, ordinary) = (millis(part.slow_ms), millis(part.ordinary_ms));
    let _ = writeln!(text, "{slow:>10} {ordinary:>10} {:>10} {of:>7}  {what}", signed(part.more_ms));
}

fn described(part: &Part) -> String {
    let mut what = part.words.to_owned();
    if !part.place.is_empty() {
        let _ = write!(what, " in {}", printable(&part.place));
    }
    if !part.counterpart.is_empty() {
        let _ = write!(what, " ({})", printable(&part.counterpart));
    }
    if let Some(by) = part.covered_by {
        let _ = write!(what, " [{}]", by.words());
    }
    what
}

/// What a thread did while it was waited for.
fn did(step: &Behind) -> String {
    let mut did = step.thread.as_ref().map_or(String::new(), |thread| format!("{thread}: "));
    did.push_str(step.words);
    if !step.place.is_empty() {
        let _ = write!(did, " in {}", step.place);
    }
    if !step.counterpart.is_empty() {
        let _ = write!(did, ", {}", step.counterpart);
    }
    did
}

/// One operation along its thread.
pub fn operation(explained: &Explained) -> String {
    let own = &explained.operation;
    let thread = own.thread.as_deref().unwrap_or("no thread known");
    let mut text =
        format!("{}: {}, {}, on {}\n", own.id, printable(&own.kind), millis(own.ms), printable(thread));
    if let (Some(trace), Some(span)) = (&own.trace_id, &own.span_id) {
        let _ = writeln!(text, "span {} of trace {}", printable(span), printable(trace));
    }
    let mut in_all: Vec<(&str, f64)> = Vec::new();
    for piece in &explained.pieces {
        match in_all.iter_mut().find(|(words, _)| *words == piece.words) {
            Some((_, ms)) => *ms += piece.ms,
            None => in_all.push((piece.words, piece.ms)),
        }
    }
    in_all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let in_all: Vec<_> = in_all.iter().map(|(words, ms)| format!("{} {words}", millis(*ms))).collect();
    let _ = writeln!(text, "in all: {}\n", in_all.join(", "));
    let mut lengths: Vec<i64> = explained.pieces.iter().map(|p| p.to_ns.saturating_sub(p.from_ns)).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let least = lengths.get(PIECES - 1).copied().unwrap_or(0);
    let (mut left, mut left_ms) = (0_usize, 0.0);
    for piece in &explained.pieces {
        if piece.to_ns.saturating_sub(piece.from_ns) < least {
            (left, left_ms) = (left + 1, left_ms + piece.ms);
            continue;
        }
        let at = piece.from_ns.saturating_sub(own.from_ns) as f64 / 1e6;
        let mut what = piece.words.to_owned();
        if !piece.place.is_empty() {
            let _ = write!(what, " in {}", printable(&piece.place));
        }
        if !piece.counterpart.is_empty() {
            let _ = write!(what, " ({})", printable(&piece.counterpart));
        }
        let _ = writeln!(text, "{:>12} {:>10}  {what}", format!("+{}", millis(at)), millis(piece.ms));
        for step in &piece.behind {
            let _ = writeln!(text, "{:>24}  <- {}", "", printable(&did(step)));
        }
    }
    if left > 0 {
        let _ = writeln!(text, "{:>12} {:>10}  {left} shorter pieces", "", millis(left_ms));
    }
    if !explained.notes.is_empty() {
        let _ = writeln!(text, "\n{}", printable(&Statement::joined(&explained.notes)));
    }
    text
}

#[cfg(test)]
mod tests {
    use fathom_diagnose::Category;
    use fathom_diagnose::operations::{Operation, Piece, Side};

    use super::*;

    fn found(slow: usize, looked_at: usize, kinds: usize) -> Slowest {
        let operation = |at: usize| Operation {
            id: format!("event:{at}"),
            kind: "shop.Request".into(),
            from_ns: 0,
            to_ns: 1,
            ms: 1.0,
            thread: None,
            trace_id: None,
            span_id: None,
        };
        let side = Side { operations: slow, looked_at, mean_ms: 1.0, on_a_thread: 0 };
        Slowest {
            schema: "",
            recording: None,
            kind: "shop.Request".into(),
            other_kinds: (0..kinds).map(|at| (format!("kind{at}"), 9)).collect(),
            operations: 100,
            p50_ms: 1.0,
            p99_ms: 1.0,
            longest_ms: 1.0,
            slow: side,
            ordinary: side,
            longer_ms: 0.0,
            parts: Vec::new(),
            finding: Statement::default(),
            confidence: None,
            why_confidence: Vec::new(),
            slow_operations: (0..slow.min(20)).map(operation).collect(),
        }
    }

    #[test]
    fn what_an_operation_spent_is_summed_up_before_its_pieces() {
        let mut operation = found(1, 1, 0).slow_operations.remove(0);
        (operation.trace_id, operation.span_id) = (Some("7ace".into()), Some("05".into()));
        let piece = |words: &'static str, ms: f64| Piece {
            from_ns: 0,
            to_ns: 1,
            ms,
            category: Category::Unknown,
            words,
            place: String::new(),
            counterpart: String::new(),
            behind: Vec::new(),
        };
        let pieces = vec![piece("running", 2.0), piece("asleep", 50.0), piece("running", 3.0)];
        let explained = Explained { schema: "", recording: None, operation, pieces, notes: Vec::new() };
        let text = super::operation(&explained);
        assert!(
            text.contains("\nspan 05 of trace 7ace\nin all: 50 ms asleep, 5.00 ms running\n\n"),
            "{text}"
        );
    }

    #[test]
    fn what_is_not_listed_is_counted() {
        let text = slowest(&found(7, 4, 8), 0);
        assert!(text.contains("the slowest 5 of these 7, each explained"), "{text}");
        assert!(text.contains("of the 7 slow ones 4 were looked at"), "{text}");
        assert!(text.contains("kind4 (9) and 3 more"), "{text}");
        let all = slowest(&found(5, 5, 2), 0);
        assert!(all.contains("the slowest, each") && !all.contains("looked at, spread"), "{all}");
    }
}
