//! Parses a line of strace.
//!
//! ```text
//! 962   1795213002.988457 poll([{fd=15, events=POLLIN}], 1, 2000) = 1 ([{fd=15, revents=POLLIN}]) <1.200265>
//! └ tid └ -ttt            └ name └ arguments                       └ result └ note                └ -T
//! [pid   962] 14:27:09.608272 futex(0x7f…, FUTEX_WAIT, 2, NULL <unfinished ...>
//! [pid   962]      0.000192 <... futex resumed>) = 0 <0.003384>
//! 962   1795213002.806505 --- SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=NULL} ---
//! 962   1795213003.000000 +++ exited with 0 +++
//! ```
//!
//! Arguments may hold anything, including what looks like a result; strace escapes quotes in
//! strings, and the result is what follows the last `) = ` outside of them.

use fathom_recording::clock::SECOND_NS;

/// The kind of a line's timestamp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Timestamp {
    /// `-ttt`: nanoseconds since the epoch.
    Epoch(i64),
    /// `-t`, `-tt`: nanoseconds since midnight, local time.
    OfDay(i64),
    /// `-r`: nanoseconds since the line before.
    Since(i64),
}

/// A line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line<'a> {
    /// The thread, if the line names it.
    pub(super) tid: Option<i64>,
    pub(super) stamp: Option<Timestamp>,
    pub(super) what: What<'a>,
}

/// What a line reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What<'a> {
    /// A whole call.
    Call { name: &'a str, args: &'a str, end: End<'a> },
    /// A call that had not returned when another thread's line came.
    Unfinished { name: &'a str, args: &'a str },
    /// The second part of one.
    Resumed { name: &'a str, args: &'a str, end: End<'a> },
    /// A signal was delivered.
    Signal(&'a str),
    /// The thread, or its process, ended.
    Exit,
    /// strace's own message: "strace: Process 12 attached".
    Note,
}

/// How a call returned.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct End<'a> {
    /// Its result; `None` when it did not return, or strace does not know it.
    pub(super) result: Option<i64>,
    /// "EAGAIN".
    pub(super) error: Option<&'a str>,
    /// What follows: "(Timeout)", "([{fd=15, revents=POLLIN}])", or "</path>" of a descriptor.
    pub(super) note: &'a str,
    /// `-T`: its duration.
    pub(super) took_ns: Option<i64>,
}

/// Parses a line. `None`: it is not strace's.
pub(super) fn parse(line: &str) -> Option<Line<'_>> {
    let (tid, rest) = thread(line);
    let (stamp, rest) = stamp(rest);
    Some(Line { tid, stamp, what: what(rest.trim_end())? })
}

/// `962   `, `[pid   962] `, or nothing.
fn thread(line: &str) -> (Option<i64>, &str) {
    if let Some(rest) = line.strip_prefix("[pid ") {
        let Some((tid, rest)) = rest.split_once("] ") else { return (None, line) };
        return match tid.trim().parse() {
            Ok(tid) => (Some(tid), rest),
            Err(_) => (None, line),
        };
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    match line.get(digits..) {
        Some(rest) if digits > 0 && digits < 11 && rest.starts_with(' ') => {
            let tid = line.get(..digits).and_then(|tid| tid.parse().ok());
            (tid, rest.trim_start())
        }
        _ => (None, line),
    }
}

fn stamp(text: &str) -> (Option<Timestamp>, &str) {
    let trimmed = text.trim_start();
    let Some((word, rest)) = trimmed.split_once(' ') else { return (None, trimmed) };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if let Some((whole, part)) = word.split_once('.')
        && digits(whole)
        && digits(part)
    {
        // Since the previous line it always has a few digits; since the epoch ten.
        let Some(ns) = nanos(whole, part) else { return (None, trimmed) };
        let stamp = if whole.len() >= 9 { Timestamp::Epoch(ns) } else { Timestamp::Since(ns) };
        return (Some(stamp), rest.trim_start());
    }
    let mut parts = word.splitn(3, ':');
    let of_day = || {
        let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
        let (seconds, part) = seconds.split_once('.').unwrap_or((seconds, "0"));
        let all =
            [hours, minutes, seconds].map(|n| (n.len() == 2 && digits(n)).then(|| n.parse::<i64>().ok())?);
        let [Some(h), Some(m), Some(_)] = all else { return None };
        Some(nanos(seconds, part)? + (h * 60 + m) * 60 * SECOND_NS)
    };
    match { of_day }() {
        Some(ns) => (Some(Timestamp::OfDay(ns)), rest.trim_start()),
        None if word.len() >= 9 && digits(word) => {
            (nanos(word, "0").map(Timestamp::Epoch), rest.trim_start())
        }
        None => (None, trimmed),
    }
}

/// Seconds and their fraction as nanoseconds.
fn nanos(seconds: &str, fraction: &str) -> Option<i64> {
    let seconds: i64 = seconds.parse().ok()?;
    let digits = fraction.get(..fraction.len().min(9))?;
    let part: i64 = digits.parse().ok()?;
    let part = part * 10_i64.pow(9 - digits.len() as u32);
    seconds.checked_mul(SECOND_NS)?.checked_add(part)
}

fn what(text: &str) -> Option<What<'_>> {
    if let Some(signal) = text.strip_prefix("--- ") {
        return Some(What::Signal(signal.strip_suffix(" ---").unwrap_or(signal)));
    }
    if text.starts_with("+++ ") {
        return Some(What::Exit);
    }
    if text.starts_with("strace: ") {
        return Some(What::Note);
    }
    if let Some(rest) = text.strip_prefix("<... ") {
        let (name, rest) = rest.split_once(" resumed>")?;
        // Old releases write a blank after it, and ") = " follows at once where nothing was left to
        // print.
        let (args, end) = args_and_end(rest)?;
        return is_name(name).then_some(What::Resumed { name, args, end });
    }
    let (name, rest) = text.split_once('(')?;
    if !is_name(name) {
        return None;
    }
    if let Some(args) = rest.strip_suffix("<unfinished ...>") {
        return Some(What::Unfinished { name, args: args.trim_end() });
    }
    let (args, end) = args_and_end(rest)?;
    Some(What::Call { name, args, end })
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'?')
}

/// Arguments and what follows `) = `.
fn args_and_end(text: &str) -> Option<(&str, End<'_>)> {
    let at = end_of_args(text)?;
    let (args, rest) = text.split_at_checked(at)?;
    let rest = rest.strip_prefix(')')?.trim_start().strip_prefix("= ")?;
    Some((args, end(rest)))
}

/// Where the arguments end: at the last `)` outside of strings that blanks and `= ` follow.
fn end_of_args(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped, mut last) = (false, false, None);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b')' if !quoted => {
                let rest = text.get(at + 1..)?;
                // What follows a result is in parentheses too, but no result follows it.
                if rest.starts_with(' ') && rest.trim_start().starts_with("= ") {
                    last = Some(at);
                }
            }
            _ => {}
        }
    }
    last
}

/// `-1 ENOENT (No such file or directory) <0.000021>`, `3</etc/hosts> <0.000005>`,
/// `? ERESTARTSYS (…)`, `0x7f…`.
fn end(text: &str) -> End<'_> {
    let (text, took_ns) = duration(text.trim_end());
    let value_end = text.find([' ', '<']).unwrap_or(text.len());
    let (value, rest) = text.split_at_checked(value_end).unwrap_or((text, ""));
    let result = match value.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(|n| n as i64),
        None => value.parse().ok(),
    };
    let rest = rest.trim_start();
    let word = rest.split(' ').next().unwrap_or_default();
    let is_error = word.len() > 1
        && word.starts_with('E')
        && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    let error = is_error.then_some(word);
    End { result, error, note: rest, took_ns }
}

/// Removes ` <0.000021>` from the end.
fn duration(text: &str) -> (&str, Option<i64>) {
    let duration = || {
        let rest = text.strip_suffix('>')?;
        let at = rest.rfind('<')?;
        let (whole, part) = rest.get(at + 1..)?.split_once('.')?;
        Some((text.get(..at)?.trim_end(), nanos(whole, part)?))
    };
    match duration() {
        Some((text, ns)) => (text, Some(ns)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(line: &str) -> (Option<i64>, Option<Timestamp>, &str, &str, End<'_>) {
        match parse(line) {
            Some(Line { tid, stamp, what: What::Call { name, args, end } }) => (tid, stamp, name, args, end),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_call_with_every_kind_of_timestamp() {
        let (tid, stamp, name, args, end) = call(
            "962   1795213002.988457 poll([{fd=15, events=POLLIN}], 1, 2000) = 1 ([{fd=15, revents=POLLIN}]) <1.200265>",
        );
        assert_eq!((tid, stamp), (Some(962), Some(Timestamp::Epoch(1_795_213_002_988_457_000))));
        assert_eq!((name, args), ("poll", "[{fd=15, events=POLLIN}], 1, 2000"));
        assert_eq!((end.result, end.took_ns, end.error), (Some(1), Some(1_200_265_000), None));
        assert_eq!(end.note, "([{fd=15, revents=POLLIN}])");
        let (tid, stamp, ..) = call("[pid   7] 14:27:09.5 brk(NULL)       = 0x556e5f0ae000");
        assert_eq!((tid, stamp), (Some(7), Some(Timestamp::OfDay(52_029_500_000_000))));
        let (tid, stamp, ..) = call("23522      0.000192 brk(NULL)           = 0x55ad9acc5000 <0.000003>");
        assert_eq!((tid, stamp), (Some(23522), Some(Timestamp::Since(192_000))));
        let (tid, stamp, _, _, end) =
            call(r#"openat(AT_FDCWD</tmp>, "/etc/ld.so.cache", O_RDONLY) = 3</etc/ld.so.cache> <0.000005>"#);
        assert_eq!((tid, stamp, end.result, end.note), (None, None, Some(3), "</etc/ld.so.cache>"));
    }

    #[test]
    fn errors_and_what_never_returned() {
        let (.., end) =
            call(r#"5 access("/etc/x", R_OK) = -1 ENOENT (No such file or directory) <0.000004>"#);
        assert_eq!((end.result, end.error), (Some(-1), Some("ENOENT")));
        let (.., end) = call("5 exit_group(0)                     = ?");
        assert_eq!((end.result, end.error), (None, None));
        let (.., end) = call(
            "5 futex(0x7f, FUTEX_WAIT, 1, NULL) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <0.5>",
        );
        assert_eq!((end.result, end.error, end.took_ns), (None, Some("ERESTARTSYS"), Some(500_000_000)));
    }

    #[test]
    fn a_string_that_looks_like_a_result_is_an_argument() {
        let (.., args, end) = call(r#"5 write(4, "x) = 7 <0.1>\") = 8", 20) = 20 <0.000013>"#);
        assert_eq!((args, end.result), (r#"4, "x) = 7 <0.1>\") = 8", 20"#, Some(20)));
    }

    #[test]
    fn what_is_split_by_another_threads_line() {
        let of = |line| parse(line).map(|l| l.what);
        assert_eq!(
            of("9 1.0 futex(0x7f, FUTEX_WAIT, 2, NULL <unfinished ...>"),
            Some(What::Unfinished { name: "futex", args: "0x7f, FUTEX_WAIT, 2, NULL" })
        );
        let Some(What::Resumed { name, args, end }) = of("9 1.1 <... connect resumed>) = 0 <0.003384>")
        else {
            panic!()
        };
        assert_eq!((name, args, end.result, end.took_ns), ("connect", "", Some(0), Some(3_384_000)));
        let Some(What::Resumed { args, .. }) = of("9 <... rt_sigprocmask resumed>NULL, 8) = 0 <0.000012>")
        else {
            panic!()
        };
        assert_eq!(args, "NULL, 8");
    }

    #[test]
    fn signals_exits_and_notes() {
        let of = |line| parse(line).map(|l| l.what);
        assert_eq!(
            of("9 1.0 --- SIGSEGV {si_signo=SIGSEGV} ---"),
            Some(What::Signal("SIGSEGV {si_signo=SIGSEGV}"))
        );
        assert_eq!(of("9 1.0 +++ exited with 0 +++"), Some(What::Exit));
        assert_eq!(of("strace: Process 12 attached"), Some(What::Note));
        for other in ["", "hello", "a b(c) = 3", "[2026-11-20][info] GC(1) Pause (x) 3ms", "(x) = 1"] {
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
