//! The markup of a LogCompilation log, line by line.
//!
//! HotSpot writes one element per line, attributes in single quotes, with five entities
//! (`xmlstream.cpp`). Most lines of a log are the compilers' parse trees, which are not needed: an
//! element is recognised by its name alone, and its attributes are parsed only where they are
//! needed.
//!
//! Why not an XML library: a log that was truncated, or into which the JVM printed something, is
//! not XML, and a general reader stops there. It is also slower: to read through a log of 406 MB,
//! quick-xml 0.42 takes 0.81 CPU seconds without looking at a single attribute; with this, the
//! whole reader takes 0.54.

use std::borrow::Cow;

/// A line of markup.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'a> {
    /// "task_queued"; empty for `<![CDATA[`, `]]>`, `<?xml …?>`.
    pub(super) name: &'a [u8],
    /// Whether it is an end tag.
    pub(super) closes: bool,
    /// What follows the name.
    rest: &'a [u8],
}

impl<'a> Element<'a> {
    /// The element that a line begins with; `None`: the line is text.
    pub(super) fn of(line: &'a [u8]) -> Option<Self> {
        let mut bytes = line;
        // C1 and C2 do not indent; failures within a parse tree of JDK 8 follow spaces.
        while let [b' ', rest @ ..] = bytes {
            bytes = rest;
        }
        let [b'<', bytes @ ..] = bytes else {
            return bytes.starts_with(b"]]>").then_some(Self { name: b"", closes: false, rest: b"" });
        };
        let (closes, bytes) = match bytes {
            [b'/', rest @ ..] => (true, rest),
            [b'!' | b'?', ..] => return Some(Self { name: b"", closes: false, rest: bytes }),
            _ => (false, bytes),
        };
        let end = bytes.iter().position(|b| !(b.is_ascii_lowercase() || *b == b'_')).unwrap_or(bytes.len());
        let (name, rest) = bytes.split_at(end);
        (!name.is_empty()).then_some(Self { name, closes, rest })
    }

    /// Whether it is complete up to its end, `>`.
    pub(super) fn is_whole(&self) -> bool {
        self.rest.trim_ascii_end().ends_with(b">")
    }

    /// Whether it is an element without a body: `<… />`.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.trim_ascii_end().ends_with(b"/>")
    }

    /// An attribute as it is written, including entities.
    pub(super) fn raw(&self, name: &[u8]) -> Option<&'a [u8]> {
        let mut rest = self.rest;
        loop {
            let from = rest.iter().position(|b| *b != b' ')?;
            let equals = memchr::memchr(b'=', &rest[from..])? + from;
            let quote = *rest.get(equals + 1)?;
            if quote != b'\'' && quote != b'"' {
                return None;
            }
            let value = rest.get(equals + 2..)?;
            let end = memchr::memchr(quote, value)?;
            if &rest[from..equals] == name {
                return Some(&value[..end]);
            }
            rest = &value[end + 1..];
        }
    }

    /// An attribute as text.
    pub(super) fn text(&self, name: &[u8]) -> Option<Cow<'a, str>> {
        self.raw(name).map(decoded)
    }

    /// An integer attribute.
    pub(super) fn number(&self, name: &[u8]) -> Option<i64> {
        std::str::from_utf8(self.raw(name)?).ok()?.parse().ok()
    }

    /// An integer attribute, as the value of a figure.
    pub(super) fn figure(&self, name: &[u8]) -> Option<f64> {
        self.number(name).map(|n| n as f64)
    }

    /// The `stamp` attribute, nanoseconds since the JVM's start.
    pub(super) fn stamp_ns(&self) -> Option<i64> {
        nanoseconds(self.raw(b"stamp")?)
    }

    /// A method attribute in the recording's spelling: "java.lang.String.hashCode".
    pub(super) fn method(&self, name: &[u8]) -> Option<String> {
        self.text(name).map(|text| method_name(&text))
    }
}

/// Seconds with a fraction ("12.345"; a comma where an application has set such a locale) as
/// nanoseconds.
fn nanoseconds(stamp: &[u8]) -> Option<i64> {
    let dot = memchr::memchr2(b'.', b',', stamp).unwrap_or(stamp.len());
    let whole: i64 = std::str::from_utf8(&stamp[..dot]).ok()?.parse().ok()?;
    let digits = stamp.get(dot + 1..).unwrap_or_default();
    if whole < 0 || digits.len() > 9 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let fraction = digits.iter().fold(0, |n, digit| n * 10 + i64::from(digit - b'0'));
    let fraction = fraction * 10_i64.pow(9 - digits.len() as u32);
    whole.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// Text with its entities decoded. What is not an entity is left as it is.
pub(super) fn decoded(raw: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(raw);
    if !text.contains('&') {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        // The longest entity is a character reference of seven digits.
        let end = rest.bytes().take(12).position(|b| b == b';');
        match end.and_then(|end| entity(&rest[1..end])) {
            Some(c) => {
                out.push(c);
                rest = &rest[end.map_or(1, |end| end + 1)..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn entity(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    })
}

/// "java.lang.String hashCode ()I", with slashes up to JDK 8, as "java.lang.String.hashCode".
fn method_name(text: &str) -> String {
    let mut words = text.split(' ');
    let class = class_name(words.next().unwrap_or_default());
    match words.next() {
        Some(method) if !method.is_empty() => format!("{class}.{method}"),
        _ => class,
    }
}

/// A class with dots. The number of a hidden class keeps its slash
/// ("LambdaForm$MH/0x0000000800c00400"), as in PrintCompilation.
pub(super) fn class_name(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_number = chars.peek().is_some_and(char::is_ascii_digit);
        name.push(if c == '/' && !is_number { '.' } else { c });
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUED: &[u8] =
        b"<task_queued compile_id='2' method='java.lang.Object &lt;init&gt; ()V' bytes='1' \
        level='3' stamp='0.026' comment='tiered'/>";

    #[test]
    fn an_element_is_recognised_by_its_name_and_its_attributes_are_found() {
        let element = Element::of(QUEUED).unwrap();
        assert_eq!(element.name, b"task_queued");
        assert!(!element.closes && element.is_whole() && element.is_empty());
        assert_eq!(element.number(b"compile_id"), Some(2));
        assert_eq!(element.stamp_ns(), Some(26_000_000));
        assert_eq!(element.method(b"method").unwrap(), "java.lang.Object.<init>");
        assert_eq!(element.raw(b"comment"), Some(&b"tiered"[..]));
        assert_eq!(element.raw(b"nothing"), None);
        let end = Element::of(b"  </task>").unwrap();
        assert!(end.closes && end.name == b"task");
    }

    #[test]
    fn text_is_not_markup() {
        for line in ["", "Hello", "    20    1       3       A::b (1 bytes)", "<", "< a>", "a < b"] {
            assert!(Element::of(line.as_bytes()).is_none(), "{line}");
        }
        for line in ["<![CDATA[", "]]>", "<?xml version='1.0' encoding='UTF-8'?>"] {
            assert_eq!(Element::of(line.as_bytes()).unwrap().name, b"", "{line}");
        }
    }

    #[test]
    fn a_line_truncated_anywhere_gives_no_half_attribute() {
        for length in 1..QUEUED.len() {
            let element = Element::of(&QUEUED[..length]);
            if let Some(element) = element {
                assert!(!element.is_whole());
                assert!(matches!(element.number(b"compile_id"), None | Some(2)));
                assert!(element.method(b"method").is_none_or(|m| m == "java.lang.Object.<init>"));
            }
        }
    }

    #[test]
    fn entities_are_decoded_and_other_ampersands_kept() {
        assert_eq!(decoded(b"a &lt;b&gt; &quot;&apos;&amp;&#65;&#x42;"), "a <b> \"'&AB");
        assert_eq!(decoded(b"a & b &nothing; &#xfffffff; &"), "a & b &nothing; &#xfffffff; &");
        assert_eq!(decoded(b"\xff&lt;"), "\u{fffd}<");
    }

    #[test]
    fn names_of_jdk_8_and_of_hidden_classes_are_spelt_as_everywhere() {
        assert_eq!(method_name("java/lang/String hashCode ()I"), "java.lang.String.hashCode");
        assert_eq!(
            method_name("java.lang.invoke.LambdaForm$MH/0x0000000044040800 invoke (I)V"),
            "java.lang.invoke.LambdaForm$MH/0x0000000044040800.invoke"
        );
        assert_eq!(method_name(""), "");
        assert_eq!(class_name("java/util/HashMap"), "java.util.HashMap");
    }

    #[test]
    fn timestamps_are_exact_and_nonsense_is_refused() {
        assert_eq!(nanoseconds(b"289.925"), Some(289_925_000_000));
        assert_eq!(nanoseconds(b"0,5"), Some(500_000_000));
        assert_eq!(nanoseconds(b"7"), Some(7_000_000_000));
        for stamp in ["", "-1.0", "1.2x", "x", "99999999999999.0", "1.0000000000"] {
            assert_eq!(nanoseconds(stamp.as_bytes()), None, "{stamp}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_line_makes_it_panic(line in "[ <>/='\"&;#a-c_0-9.!?\\]é-]{0,80}") {
            if let Some(element) = Element::of(line.as_bytes()) {
                element.method(b"a");
                element.stamp_ns();
                element.is_whole();
            }
            decoded(line.as_bytes());
        }
    }
}
