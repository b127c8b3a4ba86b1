//! One line of `-XX:+PrintCompilation`, which is also the body of a `-Xlog:jit+compilation` line.
//!
//! ```text
//!     106  160 % s!bn 4       Work::sum @ 9 (44 bytes)   made not entrant: uncommon trap
//!     │    │   │      │       │           │ │            └ message; none at the start of a compilation
//!     │    │   │      │       │           │ └ bytecodes, or (native)
//!     │    │   │      │       │           └ bytecode index of an on-stack replacement
//!     │    │   │      │       └ class::method; "(method)" once it is unloaded
//!     │    │   │      └ tier; absent without tiered compilation
//!     │    │   └ on-stack replacement, synchronized, has exception handlers, blocking, native
//!     │    └ compile id
//!     └ milliseconds since the JVM's start; absent in unified logging and before JDK 6u20 or so
//! ```
//!
//! Sources: `CompileTask::print_impl` and `nmethod::print_on` of HotSpot (`compileTask.cpp`,
//! `nmethod.cpp`, JDK 8 to 25), `CompileBroker::invoke_compiler_on_method` for "COMPILE SKIPPED".
//! JDK 6 puts the message before the method and writes `---` for a native wrapper. The line is
//! parsed by its form and not by columns; an unknown message is returned as it is.
//!
//! Limits: the line reports the start of a compilation, but neither its end nor how long it had
//! waited.

/// The event of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said<'a> {
    /// It starts (a native wrapper: it was made).
    Started,
    /// Its code is made not entrant; JDK 25 gives the reason.
    NotEntrant(Option<&'a [u8]>),
    /// Its code is made a zombie (JDK ≤ 19): nobody runs it any more.
    Zombie,
    /// It was given up, with the reason.
    Skipped(&'a [u8]),
    /// Its thread has stopped, because the JVM goes down (seen in JDK 25).
    Blocked,
    /// Something else, in the JVM's words.
    Other(&'a [u8]),
}

/// One line, parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompilationLine<'a> {
    /// Milliseconds since the JVM's start.
    pub(crate) stamp_ms: Option<i64>,
    /// Compile id; a JDK 6 native wrapper has none.
    pub(crate) id: Option<i64>,
    /// The flags, of `%s!bn`.
    pub(crate) flags: &'a [u8],
    /// Tier, 0 to 4; JDKs without tiered compilation print none.
    pub(crate) tier: Option<u8>,
    /// Class, with dots; empty when the method is unloaded or not named.
    pub(crate) class: &'a [u8],
    /// Method without its descriptor; empty when it is unloaded or not named.
    pub(crate) method: &'a [u8],
    /// Bytecode index of an on-stack replacement; negative after it was invalidated.
    pub(crate) osr_bci: Option<i64>,
    /// Size of the method in bytecodes; native methods have none.
    pub(crate) bytecodes: Option<i64>,
    /// The event of the line.
    pub(crate) said: Said<'a>,
}

impl CompilationLine<'_> {
    /// The method in the recording's spelling: "java.lang.String.hashCode".
    pub(crate) fn name(&self) -> String {
        if self.method.is_empty() {
            return "(unknown method)".to_owned();
        }
        let class = String::from_utf8_lossy(self.class);
        let method = String::from_utf8_lossy(self.method);
        if class.is_empty() { method.into_owned() } else { format!("{class}.{method}") }
    }
}

/// Parses one line. `None`: it is not such a line.
pub(crate) fn parse_line(line: &[u8]) -> Option<CompilationLine<'_>> {
    let mut rest = Words(line);
    let (stamp_ms, id) = rest.stamp_and_id()?;
    let flags = rest.flags();
    let tier = rest.tier();
    let early = rest.message_before_method();
    if id.is_some() && early.is_none() && rest.skip(b"COMPILE SKIPPED: ") {
        let said = Said::Skipped(rest.0.trim_ascii());
        return Some(CompilationLine {
            stamp_ms,
            id,
            flags,
            tier,
            class: b"",
            method: b"",
            osr_bci: None,
            bytecodes: None,
            said,
        });
    }
    let (class, method) = rest.method()?;
    let osr_bci = rest.osr_bci();
    let size = rest.size()?;
    // An id alone before a method is too little to distinguish the line from prose: the size, a
    // native mark or an early message must be there as well.
    if size == Size::Absent && early.is_none() && !flags.contains(&b'n') && !method.is_empty() {
        return None;
    }
    let said = early.unwrap_or_else(|| said(rest.0));
    let bytecodes = if let Size::Bytes(bytes) = size { Some(bytes) } else { None };
    Some(CompilationLine { stamp_ms, id, flags, tier, class, method, osr_bci, bytecodes, said })
}

/// The message after the method.
fn said(message: &[u8]) -> Said<'_> {
    let mut message = message.trim_ascii();
    if let Some(rest) = message.strip_prefix(b"(static)") {
        message = rest.trim_ascii();
    }
    if message.is_empty() {
        Said::Started
    } else if let Some(reason) = message.strip_prefix(b"made not entrant") {
        let reason = reason.strip_prefix(b":").map(<[u8]>::trim_ascii);
        Said::NotEntrant(reason.filter(|r| !r.is_empty()))
    } else if message.starts_with(b"made zombie") {
        Said::Zombie
    } else if let Some(reason) = message.strip_prefix(b"COMPILE SKIPPED:") {
        Said::Skipped(reason.trim_ascii())
    } else if message == b"blocked" {
        Said::Blocked
    } else {
        Said::Other(message)
    }
}

/// The unparsed rest of a line.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn skip_spaces(&mut self) -> usize {
        let spaces = self.0.iter().take_while(|b| **b == b' ').count();
        self.0 = &self.0[spaces..];
        spaces
    }

    fn skip(&mut self, word: &[u8]) -> bool {
        let Some(rest) = self.0.strip_prefix(word) else { return false };
        self.0 = rest;
        true
    }

    /// An unsigned number of at most 18 digits.
    fn number(&mut self) -> Option<i64> {
        let digits = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 || digits > 18 {
            return None;
        }
        let (number, rest) = self.0.split_at(digits);
        self.0 = rest;
        Some(number.iter().fold(0, |n, digit| n * 10 + i64::from(digit - b'0')))
    }

    /// The leading numbers. With two of them, the first is the timestamp when an id can follow it:
    /// `"%7d %4d "` leaves at most four spaces between them, while id and tier are at least six
    /// apart (the flags' columns).
    fn stamp_and_id(&mut self) -> Option<(Option<i64>, Option<i64>)> {
        self.skip_spaces();
        if self.native_wrapper() {
            return Some((None, None));
        }
        let first = self.number()?;
        let after_first = self.0;
        let gap = self.skip_spaces();
        if gap > 0 && gap <= 4 {
            if self.native_wrapper() {
                return Some((Some(first), None));
            }
            if let Some(second) = self.number() {
                return Some((Some(first), Some(second)));
            }
        }
        self.0 = after_first;
        Some((None, Some(first)))
    }

    /// `---` (JDK 6) or `--` instead of the id.
    fn native_wrapper(&mut self) -> bool {
        self.skip(b"--- ") || self.skip(b"-- ")
    }

    /// Words of flags, as far as they go; columns that are not set leave spaces between them. JDK 6
    /// writes a tier right after them.
    fn flags(&mut self) -> &'a [u8] {
        let line = self.0;
        let (mut from, mut to) = (0, 0);
        loop {
            let spaces = line[to..].iter().take_while(|b| **b == b' ').count();
            let word = line[to + spaces..].iter().take_while(|b| b"%s!bn*".contains(b)).count();
            let next = line.get(to + spaces + word);
            if word == 0 || next.is_some_and(|b| *b != b' ' && !b.is_ascii_digit()) {
                break;
            }
            from = if to == 0 { spaces } else { from };
            to += spaces + word;
        }
        self.0 = &line[to..];
        &line[from..to]
    }

    fn tier(&mut self) -> Option<u8> {
        self.skip_spaces();
        match self.0 {
            [digit @ b'0'..=b'9', b' ', ..] => {
                self.0 = &self.0[2..];
                self.skip_spaces();
                Some(digit - b'0')
            }
            [b'-', b' ', ..] => {
                self.0 = &self.0[2..];
                self.skip_spaces();
                None
            }
            _ => None,
        }
    }

    /// JDK 6: "made not entrant  (2)  java.lang.String::charAt".
    fn message_before_method(&mut self) -> Option<Said<'a>> {
        let said = if self.skip(b"made not entrant ") {
            Said::NotEntrant(None)
        } else if self.skip(b"made zombie ") {
            Said::Zombie
        } else {
            return None;
        };
        self.skip_spaces();
        if let [b'(', digit, b')', b' ', ..] = self.0
            && digit.is_ascii_digit()
        {
            self.0 = &self.0[4..];
        }
        self.skip_spaces();
        Some(said)
    }

    /// `class::method`, or "(method)" once it is unloaded. A descriptor glued to it is dropped.
    fn method(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        self.skip_spaces();
        if self.skip(b"(method)") {
            return Some((b"", b""));
        }
        let end = memchr::memchr(b' ', self.0).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        let at = memchr::memmem::find(word, b"::")?;
        let (class, method) = (&word[..at], &word[at + 2..]);
        let method = &method[..memchr::memchr(b'(', method).unwrap_or(method.len())];
        if class.is_empty() || method.is_empty() {
            return None;
        }
        self.0 = rest;
        Some((class, method))
    }

    fn osr_bci(&mut self) -> Option<i64> {
        self.skip_spaces();
        if !self.skip(b"@ ") {
            return None;
        }
        let negative = self.skip(b"-");
        let bci = self.number()?;
        Some(if negative { -bci } else { bci })
    }

    /// "(44 bytes)" or "(native)"; `None`: it is broken.
    fn size(&mut self) -> Option<Size> {
        self.skip_spaces();
        if self.skip(b"(native)") {
            return Some(Size::Native);
        }
        if !matches!(self.0, [b'(', b'0'..=b'9', ..]) {
            return Some(Size::Absent);
        }
        self.skip(b"(");
        let bytes = self.number()?;
        self.skip(b" bytes)").then_some(Size::Bytes(bytes))
    }
}

/// The field of a method's size.
#[derive(PartialEq, Eq)]
enum Size {
    Bytes(i64),
    Native,
    Absent,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "timestamp id flags tier name osr bytecodes event" of a line, for comparison.
    fn parsed(line: &str) -> Option<String> {
        let line = parse_line(line.as_bytes())?;
        let or_dash = |n: Option<i64>| n.map_or("-".to_owned(), |n| n.to_string());
        let text = String::from_utf8_lossy;
        let said = match line.said {
            Said::Started => "start".to_owned(),
            Said::NotEntrant(reason) => format!("not-entrant<{}>", text(reason.unwrap_or_default())),
            Said::Zombie => "zombie".to_owned(),
            Said::Skipped(reason) => format!("skipped<{}>", text(reason)),
            Said::Blocked => "blocked".to_owned(),
            Said::Other(message) => format!("other<{}>", text(message)),
        };
        let tier = or_dash(line.tier.map(i64::from));
        let flags = text(line.flags).replace(' ', "");
        Some(format!(
            "{} {} [{flags}] {tier} {} @{} {} {said}",
            or_dash(line.stamp_ms),
            or_dash(line.id),
            line.name(),
            or_dash(line.osr_bci),
            or_dash(line.bytecodes),
        ))
    }

    #[track_caller]
    fn parses_to(line: &str, expected: &str) {
        assert_eq!(parsed(line).as_deref(), Some(expected), "{line}");
    }

    #[test]
    fn a_start_is_read_with_and_without_timestamp_and_tier() {
        parses_to(
            "     20    1       3       java.lang.Object::<init> (1 bytes)",
            "20 1 [] 3 java.lang.Object.<init> @- 1 start",
        );
        parses_to(
            "80    1       3       java.lang.Object::<init> (1 bytes)",
            "80 1 [] 3 java.lang.Object.<init> @- 1 start",
        );
        parses_to(
            "   1       3       java.lang.Object::<init> (1 bytes)",
            "- 1 [] 3 java.lang.Object.<init> @- 1 start",
        );
        parses_to("12345       4       A::b (1 bytes)", "- 12345 [] 4 A.b @- 1 start");
        parses_to(" 1234567 12345       4       A::b (1 bytes)", "1234567 12345 [] 4 A.b @- 1 start");
        parses_to(
            "    105    1             java.lang.String::hashCode (67 bytes)",
            "105 1 [] - java.lang.String.hashCode @- 67 start",
        );
        parses_to(
            "  1       java.lang.String::hashCode (64 bytes)",
            "- 1 [] - java.lang.String.hashCode @- 64 start",
        );
    }

    #[test]
    fn flags_and_on_stack_replacement_are_read() {
        parses_to(
            "    106  160 %     4       Work::sum @ 9 (44 bytes)",
            "106 160 [%] 4 Work.sum @9 44 start",
        );
        parses_to("   160 %s!b  4       Work::sum @ 9 (44 bytes)", "- 160 [%s!b] 4 Work.sum @9 44 start");
        parses_to("    90  77  s ! b  4       Work::sum (44 bytes)", "90 77 [s!b] 4 Work.sum @- 44 start");
        parses_to("    500    7  !          n::s (5 bytes)", "500 7 [!] - n.s @- 5 start");
    }

    #[test]
    fn native_wrappers_of_all_jdks_are_read() {
        parses_to(
            "    157   50     n 0       java.lang.invoke.MethodHandle::linkToStatic(LLLLLL)L (native)   (static)",
            "157 50 [n] 0 java.lang.invoke.MethodHandle.linkToStatic @- - start",
        );
        parses_to(
            "---   n   java.lang.System::arraycopy (static)",
            "- - [n] - java.lang.System.arraycopy @- - start",
        );
        parses_to(
            "    102  --   n   java.lang.Object::hashCode",
            "102 - [n] - java.lang.Object.hashCode @- - start",
        );
    }

    #[test]
    fn invalidations_are_read_with_the_reason_where_there_is_one() {
        parses_to(
            "     25    1       3       A::b (1 bytes)   made not entrant",
            "25 1 [] 3 A.b @- 1 not-entrant<>",
        );
        parses_to(
            "104    1       3       A::b (1 bytes)   made not entrant: OSR invalidation of lower level",
            "104 1 [] 3 A.b @- 1 not-entrant<OSR invalidation of lower level>",
        );
        parses_to(
            "    200    3 %           A::b @ -2 (65 bytes)   made not entrant",
            "200 3 [%] - A.b @-2 65 not-entrant<>",
        );
        parses_to("    200    3       3       A::b (65 bytes)   made zombie", "200 3 [] 3 A.b @- 65 zombie");
        parses_to(
            "    200    3       3       (method)   made zombie",
            "200 3 [] 3 (unknown method) @- - zombie",
        );
        parses_to("  1%  made not entrant  (2)  A::b @ 6 (44 bytes)", "- 1 [%] - A.b @6 44 not-entrant<>");
    }

    #[test]
    fn a_compilation_given_up_is_read_with_its_reason() {
        parses_to(
            "    321   99       4       A::b (600 bytes)   COMPILE SKIPPED: out of nodes (retry at different tier)",
            "321 99 [] 4 A.b @- 600 skipped<out of nodes (retry at different tier)>",
        );
        parses_to(
            " 17   COMPILE SKIPPED: out of nodes (not retryable)",
            "- 17 [] - (unknown method) @- - skipped<out of nodes (not retryable)>",
        );
    }

    #[test]
    fn a_thread_stopped_at_the_exit_is_read() {
        parses_to("820  111       4       A::b (66 bytes)   blocked", "820 111 [] 4 A.b @- 66 blocked");
    }

    #[test]
    fn a_message_that_nobody_knows_is_handed_over() {
        parses_to(
            "     25    1       3       A::b (1 bytes)   made magical",
            "25 1 [] 3 A.b @- 1 other<made magical>",
        );
    }

    #[test]
    fn prose_and_other_logs_are_not_compilations() {
        for line in [
            "",
            "12",
            "12 34",
            "Hello, world",
            "2026-11-21 03:14:00 INFO foo.Bar::baz done (3 bytes)",
            "   @ 1   java.lang.Math::max (11 bytes)   inline (hot)",
            "12 monkeys",
            "3 Foo::bar",
            "1.234: [GC 12K->3K(5K), 0.001 secs]",
            "5    6       3       Foo::bar (12 byt",
            "99999999999999999999999 1 3 A::b (1 bytes)",
        ] {
            assert_eq!(parsed(line), None, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(line in proptest::collection::vec(proptest::num::u8::ANY, 0..120)) {
            parse_line(&line);
        }

        #[test]
        fn no_near_miss_makes_it_panic(line in "[ 0-9%s!bn*@:()a-c-]{0,60}") {
            parse_line(line.as_bytes());
        }
    }
}
