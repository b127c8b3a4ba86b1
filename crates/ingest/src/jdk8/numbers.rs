//! Numbers as these logs print them: exact seconds, sizes with units, either decimal sign.
//!
//! HotSpot prints with the C library's locale, so `0.0123` may read `0,0123` (a JVM started with
//! `LC_NUMERIC` of most of Europe). Seconds become nanoseconds digit by digit, never through a
//! float: sums must agree with what a reader adds up by hand.

use memchr::memmem;

/// A size before and after a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Change {
    /// Bytes before; absent in "used(capacity)", where `after` is what is used.
    pub before: Option<f64>,
    /// Bytes after.
    pub after: f64,
    /// The number in parentheses after it.
    pub capacity: Option<f64>,
}

fn is_number_byte(b: u8) -> bool {
    b.is_ascii_digit() || b == b'.' || b == b','
}

/// The number at the start of `text` and how long it is: "26624.0K" gives 26624.0 and 7.
pub(super) fn leading_number(text: &[u8]) -> Option<(f64, usize)> {
    // Digits over a power of ten: one rounding, so that "0.41" is 0.41 and not its neighbour.
    let (mut digits, mut divisor, mut in_fraction, mut at) = (0f64, 1f64, false, 0);
    while let Some(&b) = text.get(at) {
        match b {
            b'0'..=b'9' => {
                digits = digits * 10.0 + f64::from(b - b'0');
                if in_fraction {
                    divisor *= 10.0;
                }
            }
            // A sign that is not followed by a digit belongs to the sentence: "0.5 ms, GC Workers:
            // 4".
            b'.' | b',' if !in_fraction && at > 0 && text.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                in_fraction = true;
            }
            _ => break,
        }
        at += 1;
    }
    let value = digits / divisor;
    (at > 0 && value.is_finite()).then_some((value, at))
}

/// The whole number at the start of `text`, after leading spaces.
pub(super) fn leading_integer(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii_start();
    let end = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let mut value: i64 = 0;
    for b in text.get(..end).filter(|digits| !digits.is_empty())? {
        value = value.checked_mul(10)?.checked_add(i64::from(b - b'0'))?;
    }
    Some(value)
}

/// Decimal seconds such as "0.0559082" as nanoseconds, exactly; digits after the ninth are dropped.
/// A leading minus is accepted: clocks that were set back made JDK 6 print such durations.
pub(super) fn exact_ns(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let (mut ns, mut fraction_digits, mut seen) = (0i64, None, false);
    for &b in digits {
        match b {
            b'0'..=b'9' => {
                seen = true;
                match fraction_digits {
                    Some(9) => continue,
                    Some(ref mut n) => *n += 1,
                    None => {}
                }
                ns = ns.checked_mul(10)?.checked_add(i64::from(b - b'0'))?;
            }
            b'.' | b',' if fraction_digits.is_none() => fraction_digits = Some(0u32),
            _ => return None,
        }
    }
    if !seen {
        return None;
    }
    let ns = ns.checked_mul(10i64.checked_pow(9 - fraction_digits.unwrap_or(0))?)?;
    Some(if negative { -ns } else { ns })
}

/// The last position of `needle` in `text`. Texts are short and most hold none, so that looking for
/// the needle's rarest byte is twice as fast as preparing a searcher for each.
fn last(text: &[u8], needle: &[u8], rare: usize) -> Option<usize> {
    let mut end = text.len();
    loop {
        end = memchr::memrchr(*needle.get(rare)?, text.get(..end)?)?;
        let start = end.checked_sub(rare)?;
        if text.get(start..)?.starts_with(needle) {
            return Some(start);
        }
    }
}

/// The seconds before the last " sec" of `text`, in nanoseconds.
pub(super) fn seconds_ns(text: &[u8]) -> Option<i64> {
    exact_ns(trailing_decimal(text.get(..last(text, b" sec", 1)?)?))
}

/// The number that `text` ends with: digits with at most one decimal sign, and a minus where one
/// stands. In ", 0,0123" the first comma belongs to the sentence and the second to the number.
pub(super) fn trailing_decimal(text: &[u8]) -> &[u8] {
    let mut start = text.len();
    let mut sign_seen = false;
    while let Some(&b) = start.checked_sub(1).and_then(|i| text.get(i)) {
        match b {
            b'0'..=b'9' => {}
            b'.' | b',' if !sign_seen && start < text.len() => sign_seen = true,
            b'-' => {
                start -= 1;
                break;
            }
            _ => break,
        }
        start -= 1;
    }
    match text.get(start..).unwrap_or_default() {
        [b',' | b'.', rest @ ..] => rest,
        number => number,
    }
}

fn unit_bytes(unit: u8) -> Option<f64> {
    match unit {
        b'B' => Some(1.0),
        b'K' => Some(1024.0),
        b'M' => Some(1024.0 * 1024.0),
        b'G' => Some(1024.0 * 1024.0 * 1024.0),
        _ => None,
    }
}

/// A size such as "204.0M" at the start of `text` as bytes, and how long it is.
pub(super) fn leading_size(text: &[u8]) -> Option<(f64, usize)> {
    let (number, len) = leading_number(text)?;
    let unit = unit_bytes(*text.get(len)?)?;
    Some((number * unit, len + 1))
}

/// A size with a capacity, "204.0M(4096.0M)" or "204.0M", at the start of `text`, and how long it
/// is.
fn leading_used(text: &[u8]) -> Option<(f64, Option<f64>, usize)> {
    let (used, len) = leading_size(text)?;
    let capacity = match text.get(len..) {
        Some([b'(', rest @ ..]) => {
            leading_size(rest).filter(|(_, n)| rest.get(*n) == Some(&b')')).map(|(size, n)| (size, n + 2))
        }
        _ => None,
    };
    Some((used, capacity.map(|c| c.0), len + capacity.map_or(0, |c| c.1)))
}

/// "a->b(c)", "a(x)->b(c)" or "a(c)" at the start of `text`.
pub(super) fn leading_change(text: &[u8]) -> Option<Change> {
    let (used, capacity, len) = leading_used(text)?;
    match text.get(len..) {
        Some([b'-', b'>', rest @ ..]) => {
            let (after, capacity, _) = leading_used(rest)?;
            Some(Change { before: Some(used), after, capacity })
        }
        _ => Some(Change { before: None, after: used, capacity }),
    }
}

/// The last "a->b(c)" of `text`, or else its last "a(c)".
pub(super) fn last_change(text: &[u8]) -> Option<Change> {
    if let Some(arrow) = last(text, b"->", 1) {
        let head = text.get(..arrow)?;
        // Back over "204.0M" or "204.0M(4096.0M)".
        let size_end = match head.last()? {
            b')' => memchr::memrchr(b'(', head)?,
            _ => head.len(),
        };
        let digits = head.get(..size_end.checked_sub(1)?)?;
        let start = digits.iter().rposition(|b| !is_number_byte(*b)).map_or(0, |i| i + 1);
        return leading_change(text.get(start..)?);
    }
    let mut from = text.len();
    while let Some(open) = memchr::memrchr(b'(', text.get(..from)?) {
        from = open;
        let digits = text.get(..open.saturating_sub(1))?;
        let start = digits.iter().rposition(|b| !is_number_byte(*b)).map_or(0, |i| i + 1);
        if let Some(change) = text.get(start..).and_then(leading_change).filter(|c| c.capacity.is_some()) {
            return Some(change);
        }
    }
    None
}

/// The number that follows `key` in `text`: `number_after(b"user=0.01 sys=0.02", b"sys=")` is 0.02.
pub(super) fn number_after(text: &[u8], key: &[u8]) -> Option<f64> {
    let at = memmem::find(text, key)?;
    leading_number(text.get(at + key.len()..)?.trim_ascii_start()).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact_with_either_decimal_sign() {
        assert_eq!(exact_ns(b"0.0559082"), Some(55_908_200));
        assert_eq!(exact_ns(b"0,0559082"), Some(55_908_200));
        assert_eq!(exact_ns(b"33300"), Some(33_300_000_000_000));
        assert_eq!(exact_ns(b"-0.5"), Some(-500_000_000));
        assert_eq!(exact_ns(b"0.1234567899"), Some(123_456_789));
        assert_eq!(exact_ns(b""), None);
        assert_eq!(exact_ns(b"1.2.3"), None);
        assert_eq!(exact_ns(b"99999999999999999999"), None);
    }

    #[test]
    fn the_comma_of_the_sentence_is_not_the_comma_of_the_number() {
        assert_eq!(seconds_ns(b"(young), 0,0282200 secs"), Some(28_220_000));
        assert_eq!(seconds_ns(b",0.0282200 secs"), Some(28_220_000));
        assert_eq!(seconds_ns(b"icms_dc=5 , 0.01 secs"), Some(10_000_000));
        assert_eq!(seconds_ns(b"no number secs"), None);
    }

    #[test]
    fn sizes_take_every_unit_and_both_forms() {
        let k = 1024.0;
        let change = |before, after, capacity| Change { before, after, capacity };
        assert_eq!(
            last_change(b": 123K->45K(678K), 0.1 secs"),
            Some(change(Some(123.0 * k), 45.0 * k, Some(678.0 * k)))
        );
        assert_eq!(
            last_change(b"[ 1,5M(2,0M)->0.0B(1G)"),
            Some(change(Some(1.5 * k * k), 0.0, Some(k * k * k)))
        );
        assert_eq!(
            last_change(b"] 78715K(138624K), 0.1 secs"),
            Some(change(None, 78715.0 * k, Some(138_624.0 * k)))
        );
        assert_eq!(last_change(b"(max 15)"), None);
        assert_eq!(last_change(b"->"), None);
        assert_eq!(last_change(b")->"), None);
    }
}
