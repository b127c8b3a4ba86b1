//! Numbers as HotSpot prints them, parsed from bytes: this is the hot path of a 4 GB log.
//!
//! Decimal text becomes an exact integer count of nanoseconds, never a float on the way, so that
//! the sum of the pauses is the sum of what is printed. A decimal comma is accepted like a point:
//! some locales of `strtod`-formatting wrappers write one. Numbers that do not fit saturate.

/// Takes an integer from the beginning. `None`: there is no digit.
pub(crate) fn integer(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    let mut at = 0;
    while let Some(digit) = text.get(at).and_then(|b| b.checked_sub(b'0')).filter(|d| *d < 10) {
        value = value.saturating_mul(10).saturating_add(u64::from(digit));
        at += 1;
    }
    let rest = text.get(at..).unwrap_or_default();
    (at > 0).then_some((value, rest))
}

/// Takes a decimal number from the beginning, as billionths: "12.345" is 12,345,000,000. Digits
/// after the ninth are dropped.
pub(crate) fn billionths(text: &[u8]) -> Option<(i64, &[u8])> {
    let (whole, rest) = integer(text)?;
    let whole = i64::try_from(whole).unwrap_or(i64::MAX).saturating_mul(1_000_000_000);
    let [b'.' | b',', fraction @ ..] = rest else { return Some((whole, rest)) };
    let mut value = 0i64;
    let mut digits = 0;
    while let Some(digit) = fraction.get(digits).and_then(|b| b.checked_sub(b'0')).filter(|d| *d < 10) {
        if digits < 9 {
            value = value * 10 + i64::from(digit);
        }
        digits += 1;
    }
    if digits == 0 {
        return Some((whole, rest));
    }
    for _ in digits..9 {
        value *= 10;
    }
    Some((whole.saturating_add(value), fraction.get(digits..).unwrap_or_default()))
}

/// Takes milliseconds from the beginning, as nanoseconds; the unit after the number is left.
pub(crate) fn milliseconds(text: &[u8]) -> Option<(i64, &[u8])> {
    let (value, rest) = billionths(text)?;
    Some((value / 1_000, rest))
}

/// Takes an amount of memory from the beginning: "205M", "78656K", "8B", "1048576 bytes". A bare
/// number is bytes.
pub(crate) fn bytes(text: &[u8]) -> Option<(f64, &[u8])> {
    let (value, rest) = match integer(text)? {
        (_, [b'.' | b',', ..]) => billionths(text).map(|(value, rest)| (value as f64 / 1e9, rest))?,
        (whole, rest) => (whole as f64, rest),
    };
    let (scale, rest) = match rest {
        [b'K' | b'k', rest @ ..] => (1u64 << 10, rest),
        [b'M' | b'm', rest @ ..] => (1 << 20, rest),
        [b'G' | b'g', rest @ ..] => (1 << 30, rest),
        [b'T' | b't', rest @ ..] => (1 << 40, rest),
        _ => (1, rest),
    };
    let rest = rest.strip_prefix(b"B").or_else(|| rest.strip_prefix(b"b")).unwrap_or(rest);
    Some((value * scale as f64, rest))
}

/// An amount before and after, and the capacity: `a->b(c)`, with the JDK 16+ form `a(c)->b(c)` and
/// ZGC's percentages. `None`: the text does not begin so.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Change {
    /// Before, bytes (or a count, where the line prints counts).
    pub(crate) before: f64,
    /// After.
    pub(crate) after: f64,
    /// Number in parentheses after `after`, when it is an amount.
    pub(crate) capacity: Option<f64>,
    /// Whether `before` has a capacity too: the form since JDK 16.
    pub(crate) both_sides: bool,
}

/// Takes a change of an amount from the beginning.
pub(crate) fn change(text: &[u8]) -> Option<(Change, &[u8])> {
    let (before, rest) = bytes(text)?;
    let (first, rest) = in_parentheses(rest);
    let rest = rest.strip_prefix(b"->")?;
    let (after, rest) = bytes(rest)?;
    let (second, rest) = in_parentheses(rest);
    let amount =
        |inner: Option<&[u8]>| bytes(inner?).filter(|(_, rest)| rest.is_empty()).map(|(amount, _)| amount);
    Some((Change { before, after, capacity: amount(second), both_sides: first.is_some() }, rest))
}

/// Takes a group "(…)" without inner parentheses from the beginning.
fn in_parentheses(text: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let Some(inner) = text.strip_prefix(b"(") else { return (None, text) };
    match inner.iter().position(|b| *b == b')') {
        Some(end) => (inner.get(..end), inner.get(end + 1..).unwrap_or_default()),
        None => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_exact_nanoseconds() {
        assert_eq!(milliseconds(b"19875.187ms"), Some((19_875_187_000, &b"ms"[..])));
        assert_eq!(milliseconds(b"0.005ms"), Some((5_000, &b"ms"[..])));
        assert_eq!(milliseconds(b"0,005ms"), Some((5_000, &b"ms"[..])));
        assert_eq!(milliseconds(b"7ms"), Some((7_000_000, &b"ms"[..])));
        assert_eq!(milliseconds(b"ms"), None);
    }

    #[test]
    fn hostile_numbers_saturate() {
        assert_eq!(billionths(b"99999999999999999999999.5").map(|(v, _)| v), Some(i64::MAX));
        assert_eq!(integer(b"99999999999999999999999").map(|(v, _)| v), Some(u64::MAX));
        assert_eq!(billionths(b"1.1234567899999").map(|(v, _)| v), Some(1_123_456_789));
        assert_eq!(billionths(b"5.").unwrap().1, b".");
    }

    #[test]
    fn a_change_is_read_in_each_of_its_forms() {
        let of = |text: &'static str| change(text.as_bytes()).unwrap();
        let mib = f64::from(1 << 20);
        let (plain, rest) = of("205M->52M(4096M) 42.7ms");
        assert_eq!(
            (plain.before, plain.after, plain.capacity),
            (205.0 * mib, 52.0 * mib, Some(4096.0 * mib))
        );
        assert_eq!(rest, b" 42.7ms");
        let (both, _) = of("148K(384K)->147K(384K)");
        assert!(both.both_sides && both.capacity == Some(384.0 * 1024.0));
        let (percent, _) = of("102M(10%)->54M(5%)");
        assert_eq!((percent.after, percent.capacity), (54.0 * mib, None));
        let (open, _) = of("0->13");
        assert_eq!((open.before, open.after, open.capacity), (0.0, 13.0, None));
        assert_eq!(change(b"12"), None);
        assert_eq!(change(b"12->"), None);
    }
}
