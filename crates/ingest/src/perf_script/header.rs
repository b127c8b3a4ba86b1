//! The line that begins a sample of `perf script`, whatever fields were requested.
//!
//! ```text
//! C2 CompilerThre 23820/23824 [001]  4080.252826:    5025125 cpu-clock:pppH:  [ip sym (dso)]
//! └ comm, with blanks │   └ tid └ cpu └ seconds       └ period └ event
//!                     └ pid, if it was requested
//! ```
//!
//! The only field that is always there and unambiguous is the time with its colon; the others are
//! recognised by their position relative to it.

use fathom_recording::clock::SECOND_NS;

/// A sample's first line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Header<'a> {
    pub(super) comm: &'a str,
    pub(super) pid: Option<i64>,
    pub(super) tid: Option<i64>,
    pub(super) t_ns: i64,
    pub(super) period: Option<i64>,
    /// "cpu-clock", "sched:sched_switch"; empty if it was not requested.
    pub(super) event: &'a str,
    /// What follows: a single frame, or the words of a tracepoint.
    pub(super) rest: &'a str,
}

/// Parses a line. `None`: it does not begin a sample.
pub(super) fn parse(line: &str) -> Option<Header<'_>> {
    let (before, t_ns, after) = time(line)?;
    let (comm, pid, tid) = who(before)?;
    let (period, event, rest) = what(after);
    Some(Header { comm, pid, tid, t_ns, period, event, rest })
}

/// Finds ` 4080.252826: `: what stands before it, nanoseconds, and what follows.
fn time(line: &str) -> Option<(&str, i64, &str)> {
    for (at, _) in line.match_indices(':').take(16) {
        let head = line.get(..at)?;
        let from = head.rfind([' ', '\t']).map_or(0, |blank| blank + 1);
        let (seconds, part) = match head.get(from..)?.split_once('.') {
            Some(parts) => parts,
            None => continue,
        };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if from == 0 || !digits(seconds) || !digits(part) || !(6..=9).contains(&part.len()) {
            continue;
        }
        let seconds: i64 = seconds.parse().ok()?;
        let part: i64 = part.parse::<i64>().ok()? * 10_i64.pow(9 - part.len() as u32);
        let t_ns = seconds.checked_mul(SECOND_NS)?.checked_add(part)?;
        return Some((head.get(..from)?.trim(), t_ns, line.get(at + 1..)?.trim()));
    }
    None
}

/// `C2 CompilerThre 23820/23824 [001]`: name, process, thread.
fn who(text: &str) -> Option<(&str, Option<i64>, Option<i64>)> {
    let mut text = text;
    // The CPU, and the flags of interrupts that some request ("d.h.").
    for _ in 0..2 {
        let (head, last) = text.rsplit_once(' ').unwrap_or(("", text));
        let cpu = last
            .strip_prefix('[')
            .and_then(|l| l.strip_suffix(']'))
            .is_some_and(|c| c.parse::<u32>().is_ok());
        let flags = last.len() >= 4
            && last.bytes().all(|b| b".dhHsNpnXzZDiIM0123456789".contains(&b))
            && last.contains('.');
        if !cpu && !flags {
            break;
        }
        text = head.trim_end();
    }
    let (comm, ids) = text.rsplit_once(' ').unwrap_or(("", text));
    let (pid, tid) = match ids.split_once('/') {
        Some((pid, tid)) => (Some(pid.parse().ok()?), Some(tid.parse().ok()?)),
        None => (None, Some(ids.parse().ok()?)),
    };
    Some((comm.trim(), pid, tid))
}

/// `5025125 cpu-clock:pppH:  rest`, with or without the period, or nothing.
fn what(text: &str) -> (Option<i64>, &str, &str) {
    let (first, after) = text.split_once(' ').unwrap_or((text, ""));
    let period: Option<i64> = first.parse().ok();
    let text = if period.is_some() { after.trim_start() } else { text };
    let (event, rest) = text.split_once(' ').unwrap_or((text, ""));
    match event.strip_suffix(':') {
        Some(event) => (period, without_modifiers(event), rest.trim_start()),
        None => (period, "", text),
    }
}

/// "cpu-clock:pppH" without its modifiers; "sched:sched_switch" is a name as it is.
fn without_modifiers(event: &str) -> &str {
    match event.rsplit_once(':') {
        Some((name, modifiers)) if modifiers.bytes().all(|b| b"ukhvIGHpPSDWeb".contains(&b)) => name,
        _ => event,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_with_any_fields_are_read() {
        let header = parse("java 23821  4080.252826:    5025125 cpu-clock:pppH: ").unwrap();
        assert_eq!((header.comm, header.pid, header.tid), ("java", None, Some(23821)));
        assert_eq!(
            (header.t_ns, header.period, header.event),
            (4_080_252_826_000, Some(5_025_125), "cpu-clock")
        );
        let header =
            parse("  C2 CompilerThre 23820/23824 [001] 4080.252826115: cycles:P:  ffffffff81 x+0x1 (y)")
                .unwrap();
        assert_eq!((header.comm, header.pid, header.tid), ("C2 CompilerThre", Some(23820), Some(23824)));
        assert_eq!((header.period, header.event, header.rest), (None, "cycles", "ffffffff81 x+0x1 (y)"));
        let header = parse("GC Thread#0 77 4080.252826: ").unwrap();
        assert_eq!((header.comm, header.tid, header.event), ("GC Thread#0", Some(77), ""));
        let header =
            parse("swapper     0 [000] d.h. 100.000001: sched:sched_switch: prev_comm=java prev_pid=1")
                .unwrap();
        assert_eq!((header.comm, header.event), ("swapper", "sched:sched_switch"));
        for other in [
            "",
            "java",
            "\t    7f286c93872f VM_Version stub+0x3af (/tmp/perf-1.map)",
            "at 10:00:00.123456: x",
            "1.5: 2",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_line_makes_it_panic(line in "\\PC{0,120}") {
            parse(&line);
        }
    }
}
