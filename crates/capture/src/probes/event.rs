//! What the program in the kernel sends: `bpf/probe.h`.

use zerocopy::IntoBytes;

use super::skeleton::types::probe_event;

/// A text is one from so many characters on: less may be any bytes.
const SHORTEST: usize = 3;

/// A hit of a probe.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) t0_ns: u64,
    pub(super) t1_ns: u64,
    /// Timestamp of its stack; 0: none.
    pub(super) stack_ns: u64,
    /// What a function returned.
    pub(super) result: Option<u64>,
    pub(super) arguments: Vec<u64>,
    pub(super) pid: u32,
    pub(super) tid: u32,
    /// Which probe.
    pub(super) probe: u32,
    /// What the first arguments point to, where that is text.
    pub(super) texts: [Option<String>; 2],
    /// The record of a tracepoint.
    pub(super) raw: Box<[u8]>,
}

impl Event {
    /// As the program sends it.
    pub(super) fn of(event: &probe_event) -> Self {
        let arguments = event.argument.iter().take(usize::from(event.arguments));
        Self {
            t0_ns: event.t0_ns,
            t1_ns: event.t1_ns,
            stack_ns: event.stack_ns,
            result: Some(event.result).filter(|_| event.returned != 0),
            arguments: arguments.copied().collect(),
            pid: event.pid,
            tid: event.tid,
            probe: event.probe,
            texts: event.text.map(|text| text_of(text.bytes.as_bytes())),
            raw: event.raw.into(),
        }
    }
}

/// Bytes that look like text.
fn text_of(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    (end >= SHORTEST && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::record::characters;

    #[test]
    fn an_event_has_the_arguments_that_are_set_and_what_looks_like_text() {
        let mut sent = probe_event { result: 4, returned: 1, arguments: 2, ..probe_event::default() };
        sent.argument[..3].copy_from_slice(&[5, 6, 7]);
        (sent.text[0].bytes, sent.text[1].bytes) = (characters("/etc"), characters("a\u{1}bc"));
        let event = Event::of(&sent);
        assert_eq!((event.result, event.arguments.as_slice()), (Some(4), &[5, 6][..]));
        assert_eq!(event.texts, [Some("/etc".into()), None]);
        assert_eq!(Event::of(&probe_event { returned: 0, ..sent }).result, None);
    }
}
