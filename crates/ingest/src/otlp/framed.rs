//! Several messages in one file, each behind its length in four bytes, the highest first: what the
//! file exporter of OpenTelemetry's collector writes with `format: proto`.

/// The first message, or the beginning of it, where the bytes begin with a length. A message itself
/// begins with the key of a field, which no length of up to 16 MB begins with.
pub(super) fn first(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = u32::from_be_bytes(*length) as usize;
    (bytes[0] == 0 && length > 0).then(|| rest.get(..length).unwrap_or(rest))
}

/// All messages; the bytes themselves where they are one message. The second is whether the last
/// one is truncated.
pub(super) fn messages(bytes: &[u8]) -> (Vec<&[u8]>, bool) {
    if first(bytes).is_none() {
        return (vec![bytes], false);
    }
    let (mut messages, mut rest) = (Vec::new(), bytes);
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = u32::from_be_bytes(*length) as usize;
        messages.push(behind.get(..length).unwrap_or(behind));
        match behind.get(length..) {
            Some(next) => rest = next,
            None => return (messages, true),
        }
    }
    (messages, !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_lie_behind_their_lengths() {
        assert_eq!(messages(&[0, 0, 0, 2, 7, 8, 0, 0, 0, 1, 9]), (vec![&[7, 8][..], &[9]], false));
        assert_eq!(messages(&[0, 0, 0, 2, 7, 8, 0, 0, 0, 5, 9]), (vec![&[7, 8][..], &[9]], true));
        assert_eq!(messages(&[10, 2, 7, 8]), (vec![&[10, 2, 7, 8][..]], false));
    }
}
