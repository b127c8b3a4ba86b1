//! Text as a JVM hands it to C: modified UTF-8, in which a character beyond U+FFFF is a pair of
//! three bytes each and the character 0 has two bytes.
//!
//! Names of threads that the kernel keeps are such text, cut off after 15 bytes, and so are the
//! JVM's own symbols.

use std::borrow::Cow;

/// Bytes of a thread's name that the kernel keeps (`TASK_COMM_LEN` less the terminator).
pub(crate) const KERNEL_NAME: usize = 15;

/// The characters of such bytes. A character that is cut off at the end is left out; what is none
/// is replaced.
pub fn jvm_text(bytes: &[u8]) -> Cow<'_, str> {
    let mut rest = match std::str::from_utf8(bytes) {
        Ok(text) => return text.into(),
        Err(_) => bytes,
    };
    let mut text = String::with_capacity(bytes.len());
    loop {
        let (valid, other) = match std::str::from_utf8(rest) {
            Ok(valid) => (valid, None),
            Err(error) => {
                let valid = rest.get(..error.valid_up_to()).unwrap_or_default();
                (std::str::from_utf8(valid).unwrap_or_default(), Some(error.error_len()))
            }
        };
        text.push_str(valid);
        rest = rest.get(valid.len()..).unwrap_or_default();
        // Without a length it is the beginning of a character.
        let Some(Some(length)) = other else { return text.into() };
        let length = match *rest {
            [0xc0, 0x80, ..] => {
                text.push('\0');
                2
            }
            [0xed, a @ 0xa0..=0xaf, b, 0xed, c @ 0xb0..=0xbf, d, ..] => {
                let part = |byte: u8, bits: u8| u32::from(byte & bits);
                let high = part(a, 0xf) << 16 | part(b, 0x3f) << 10;
                let code = 0x1_0000 + (high | part(c, 0xf) << 6 | part(d, 0x3f));
                text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                6
            }
            [0xed, 0xa0..=0xaf]
            | [0xed, 0xa0..=0xaf, _]
            | [0xed, 0xa0..=0xaf, _, 0xed]
            | [0xed, 0xa0..=0xaf, _, 0xed, 0xb0..=0xbf]
            | [0xc0] => return text.into(),
            _ => {
                text.push(char::REPLACEMENT_CHARACTER);
                length
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// How much of a thread's name the kernel keeps.
pub(crate) fn kept_by_kernel(name: &str) -> &str {
    let mut room = KERNEL_NAME;
    let end = name.char_indices().find(|(_, c)| {
        let bytes = match u32::from(*c) {
            0 | 0x80..0x800 => 2,
            ..0x80 => 1,
            0x800..0x1_0000 => 3,
            _ => 6,
        };
        room.checked_sub(bytes).is_none_or(|left| {
            room = left;
            false
        })
    });
    end.and_then(|(at, _)| name.get(..at)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `java_lang_String::as_utf8_string` writes it.
    fn written(text: &str) -> Vec<u8> {
        let unit = |unit: u16| match unit {
            1..0x80 => vec![unit as u8],
            0 | 0x80..0x800 => vec![0xc0 | (unit >> 6) as u8, 0x80 | (unit & 0x3f) as u8],
            _ => vec![0xe0 | (unit >> 12) as u8, 0x80 | (unit >> 6 & 0x3f) as u8, 0x80 | (unit & 0x3f) as u8],
        };
        text.encode_utf16().flat_map(unit).collect()
    }

    #[test]
    fn any_text_of_a_jvm_comes_back_and_cut_off_its_whole_characters() {
        for name in ["worker-73", "😀worker-73", "请求-线程-😀", "a\0b", "ⓧ😀\u{10ffff}é", ""] {
            let bytes = written(name);
            assert_eq!(jvm_text(&bytes), name);
            for end in 0..bytes.len() {
                let cut = jvm_text(&bytes[..end]).into_owned();
                assert!(name.starts_with(&cut), "{name:?} up to {end}: {cut:?}");
                assert!(written(&name[..cut.len()]).len() + 6 > end, "{name:?} up to {end}: {cut:?}");
            }
            let kept = &bytes[..bytes.len().min(KERNEL_NAME)];
            assert_eq!(kept_by_kernel(name), jvm_text(kept));
        }
    }

    #[test]
    fn what_is_no_text_is_replaced() {
        assert_eq!(jvm_text(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(jvm_text(b"\xed\xb0\x80b"), "\u{fffd}\u{fffd}\u{fffd}b");
        assert_eq!(jvm_text(b"\xed\xa0\x80bcdef"), "\u{fffd}\u{fffd}\u{fffd}bcdef");
    }
}
