//! Wait-for chains and the parts of stops in words: a few lines below a finding, whole trees for
//! `fathom chain`.

use fathom_diagnose::chain::{Chain, End, Link, LinkKind, Stop, StopPart};
use fathom_diagnose::quantity;

use crate::text::wrap;
use crate::{printable, units};

/// Links of the longest way that stand below a finding.
const BELOW_A_FINDING: usize = 4;
/// Frames of a stack that a tree shows.
const FRAMES: usize = 6;
/// Threads of a row that are named.
const NAMED: usize = 3;
/// A link must be as much of its chain to be shown in a tree.
const SHOWN_SHARE: f64 = 0.01;

/// The longest way of a chain, a line a link; `corner` is what a next link begins with.
pub(crate) fn below_a_finding(chain: &Chain, corner: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(first) = longest(&chain.links) else { return lines };
    lines.push(format!("{}, {}: {}", chain.thread, quantity::millis(chain.ms), said(first, &chain.thread)));
    lines.extend(way(first, &chain.thread, corner));
    lines
}

/// A stop in a line, and the longest way behind its longest part.
pub(crate) fn stop_below_a_finding(stop: &Stop, corner: &str) -> Vec<String> {
    let mut lines = vec![parts(stop)];
    let part = stop.parts.iter().reduce(|best, part| if part.ms > best.ms { part } else { best });
    if let Some(first) = part.and_then(|part| longest(&part.links)) {
        lines.push(format!("{corner} {}", said(first, "")));
        let thread = who(first).unwrap_or_default();
        lines.extend(way(first, thread, &format!("  {corner}")));
    }
    lines
}

/// Whether more is known of a stop than that it was one.
pub(crate) fn is_worth_showing(stop: &Stop) -> bool {
    stop.parts.len() > 1 || stop.parts.iter().any(|part| !part.links.is_empty())
}

fn longest(links: &[Link]) -> Option<&Link> {
    links.iter().reduce(|best, link| if link.ms > best.ms { link } else { best })
}

/// What comes after a link on the longest way.
fn way(first: &Link, thread: &str, corner: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut before = thread.to_owned();
    for (depth, link) in first.heaviest().skip(1).take(BELOW_A_FINDING - 1).enumerate() {
        lines.push(format!("{}{corner} {}", "  ".repeat(depth), said(link, &before)));
        before = who(link).unwrap_or_default().to_owned();
    }
    lines
}

/// Whose a link is.
pub fn who(link: &Link) -> Option<&str> {
    match link.kind {
        LinkKind::Holders => Some("its holders, in turn"),
        _ => link.thread.as_deref(),
    }
}

/// One link: who, what, how much, why it is the last.
fn said(link: &Link, before: &str) -> String {
    with_end(link, before, end(link))
}

/// Why a link is the last. What is nobody's says itself that nothing is known of it.
fn end(link: &Link) -> &'static str {
    match link.end {
        Some(End::Unknown) if who(link).is_none() => "",
        end => end.map_or("", End::words),
    }
}

fn with_end(link: &Link, before: &str, end: &str) -> String {
    let who = who(link).filter(|thread| *thread != before && !thread.is_empty());
    let who = who.map_or(String::new(), |thread| format!("{thread}: "));
    let end = if end.is_empty() { String::new() } else { format!(" ({end})") };
    format!("{who}{}{end}, {} ({})", link.what, quantity::millis(link.ms), quantity::share(link.share))
}

/// Operation, length, who asked, parts.
fn parts(stop: &Stop) -> String {
    let asked = stop.asked_by.as_ref().map_or(String::new(), |by| format!(", asked by {by}"));
    let part = |part: &StopPart| format!("{} {}", part.words, quantity::millis(part.ms));
    let parts: Vec<String> = stop.parts.iter().map(part).collect();
    let last = stop.last_in.as_ref().map_or(String::new(), |thread| format!("; last to stop: {thread}"));
    format!("{} {}{asked}: {}{last}", stop.operation, quantity::millis(stop.ms), parts.join(", "))
}

/// Chains and stops as trees of at most so many columns.
pub fn text(chains: &[Chain], stops: &[Stop], zero_ns: i64, width: usize) -> String {
    let mut page = Page { out: String::new(), width, circle_is_shown: false };
    for chain in chains {
        let who = match chain.tid {
            Some(tid) => format!("{} ({tid})", chain.thread),
            None => chain.thread.clone(),
        };
        let of = if chain.process.is_empty() { String::new() } else { format!(" of {}", chain.process) };
        let window = units::window(chain.from_ns, chain.to_ns, zero_ns);
        let head = format!("{who}{of}: {} within {window}", quantity::millis(chain.ms));
        page.paragraph("", "", &head);
        page.tree(&chain.links, &chain.thread, "  ");
        page.out.push('\n');
    }
    for stop in stops {
        let at = units::timestamp(stop.from_ns, zero_ns);
        page.paragraph("", "  ", &format!("stop at {at}: {}", parts(stop)));
        if let Some(how) = &stop.last_in_how {
            let last = stop.last_in.as_deref().unwrap_or_default();
            page.paragraph("  ", "    ", &format!("last to stop: {last}; {how}"));
            page.stack(&stop.last_in_stack, "    ");
        }
        for part in &stop.parts {
            let head = format!("{}, {}", part.words, quantity::millis(part.ms));
            page.paragraph("  ", "    ", &head);
            page.tree(&part.links, "", "    ");
        }
        page.out.push('\n');
    }
    page.out.truncate(page.out.trim_end().len());
    page.out.push('\n');
    page.out
}

/// Text under way.
struct Page {
    out: String,
    width: usize,
    /// Whether it has been said why chains end at a thread that they lead through.
    circle_is_shown: bool,
}

impl Page {
    fn tree(&mut self, links: &[Link], before: &str, indent: &str) {
        for link in links.iter().filter(|link| link.share >= SHOWN_SHARE) {
            let times = match link.times {
                0 | 1 => String::new(),
                times => format!(", {} times", quantity::count(times as f64)),
            };
            let end = match link.end {
                Some(End::Circle) if std::mem::replace(&mut self.circle_is_shown, true) => "back again",
                _ => end(link),
            };
            let line = format!("{}{times}", with_end(link, before, end));
            self.paragraph(indent, &format!("{indent}    "), &line);
            // Where a chain goes on, the next link says why; at its end the stack does.
            if link.next.is_empty() {
                self.stack(&link.stack, &format!("{indent}    "));
            }
            let row = in_a_row(link);
            let last = row.last().copied().unwrap_or(link);
            if row.len() > 1 {
                let (ms, share) = (quantity::millis(last.ms), quantity::share(last.share));
                let line =
                    format!("{}: the same, one behind the other, {ms} ({share}) to the last", names(&row));
                self.paragraph(&format!("{indent}  "), &format!("{indent}      "), &line);
                if last.next.is_empty() {
                    self.stack(&last.stack, &format!("{indent}      "));
                }
                self.tree(&last.next, who(last).unwrap_or(before), &format!("{indent}    "));
                continue;
            }
            let name = who(link).unwrap_or(before);
            self.tree(&link.next, name, &format!("{indent}  "));
        }
    }

    fn stack(&mut self, frames: &[String], indent: &str) {
        if frames.is_empty() {
            return;
        }
        let more = if frames.len() > FRAMES { " ← …" } else { "" };
        let shown: Vec<&str> = frames.iter().take(FRAMES).map(String::as_str).collect();
        self.paragraph(indent, &format!("{indent}  "), &format!("at {}{more}", shown.join(" ← ")));
    }

    fn paragraph(&mut self, first: &str, others: &str, text: &str) {
        let room = self.width.saturating_sub(others.chars().count().max(first.chars().count())).max(30);
        for (i, line) in wrap(&printable(text), room).iter().enumerate() {
            self.out.push_str(if i == 0 { first } else { others });
            self.out.push_str(line);
            self.out.push('\n');
        }
    }
}

/// The links behind one that wait in the same way, each for the next, for most of its time: a thing
/// handed on from thread to thread is said once.
fn in_a_row(link: &Link) -> Vec<&Link> {
    std::iter::successors(alike(link), |link| alike(link)).collect()
}

fn alike(link: &Link) -> Option<&Link> {
    let longest = longest(&link.next)?;
    let is_alike = longest.what == link.what && longest.category == link.category;
    (is_alike && longest.ms * 2.0 >= link.ms).then_some(longest)
}

/// The first few threads of a row.
fn names(row: &[&Link]) -> String {
    let named: Vec<&str> = row.iter().filter_map(|link| who(link)).collect();
    let more = match named.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", named[..named.len().min(NAMED)].join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::said;

    fn link(thread: Option<&str>, what: &str, ms: f64, end: Option<End>, next: Vec<Link>) -> Link {
        Link {
            thread: thread.map(str::to_owned),
            tid: Some(7),
            process: "Shop".into(),
            process_id: None,
            category: None,
            kind: LinkKind::Thread,
            what: said(what).into(),
            ms,
            share: ms / 2_000.0,
            times: 3,
            from_ns: 0,
            to_ns: 1,
            stack: vec!["pipe_read".into(), "Shop.read".into()],
            source: "locks".into(),
            end,
            next,
        }
    }

    fn chain() -> Chain {
        let end = link(None, "writer (9)", 1_900.0, Some(End::Outside), vec![]);
        let read = link(Some("holder"), "in read() on /tmp/fifo", 1_900.0, None, vec![end]);
        let ran = link(Some("holder"), "running", 5.0, Some(End::Running), vec![]);
        let waits =
            link(Some("victim"), "waiting for a lock that holder held", 2_000.0, None, vec![ran, read]);
        Chain {
            thread: "victim".into(),
            tid: Some(8),
            process: "Shop".into(),
            process_id: None,
            from_ns: 0,
            to_ns: 3_000_000_000,
            ms: 2_000.0,
            links: vec![waits],
        }
    }

    #[test]
    fn below_a_finding_the_longest_way_is_told_and_a_thread_named_once() {
        let lines = below_a_finding(&chain(), "└");
        assert_eq!(
            lines,
            [
                "victim, 2.00 s: waiting for a lock that holder held, 2.00 s (100%)",
                "└ holder: in read() on /tmp/fifo, 1.90 s (95%)",
                "  └ writer (9) (outside of what was recorded), 1.90 s (95%)",
            ]
        );
    }

    #[test]
    fn what_is_handed_on_from_thread_to_thread_is_said_once_and_so_is_a_circle() {
        let mut last = link(Some("h0"), "waiting for another thread", 1_500.0, Some(End::Circle), vec![]);
        for i in 1..9 {
            let name = format!("h{i}");
            last = link(Some(&name), "waiting for another thread", 1_500.0 + f64::from(i), None, vec![last]);
        }
        let back = link(Some("other"), "waiting for a lock", 50.0, Some(End::Circle), vec![]);
        let again = link(Some("third"), "waiting for a lock", 45.0, Some(End::Circle), vec![]);
        let mut chain = chain();
        chain.links = vec![last, back, again];
        let text = text(&[chain], &[], 0, 100);
        let row = "h7, h6, h5 and 5 more: the same, one behind the other, 1.50 s (75%) to the last";
        assert!(text.contains(row), "{text}");
        assert_eq!(text.matches("changed hands meanwhile").count(), 1, "{text}");
        assert!(text.contains("third: waiting for a lock (back again), 45 ms"), "{text}");
    }

    #[test]
    fn a_tree_shows_all_that_matters_and_no_line_is_too_wide_nor_active() {
        let mut chain = chain();
        chain.links[0].what = said(&"waiting for \u{1b}[2J that is very long indeed ".repeat(5)).into();
        let text = text(&[chain], &[], 0, 60);
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert!(text.contains("at pipe_read ← Shop.read") && !text.contains("running"), "{text}");
    }
}
