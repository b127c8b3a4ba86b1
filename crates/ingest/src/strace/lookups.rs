//! Name resolution by the C library: DNS queries sent to port 53, and the waits for the answers.
//!
//! ```text
//! connect(:53) ─▶ sendto(query) ─▶ poll ─┬─▶ recvfrom   answered
//!                        ▲                  └─▶ 0: a time-out ─┐
//!                        └──── the same query again, retransmitted ────────┘
//! ```
//!
//! A look-up ends with its last answer or time-out; which that was is known when the thread queries
//! another name, closes the socket, or its trace ends.

use std::collections::BTreeMap;

/// The most open look-ups, one per thread.
const MOST: usize = 100_000;

/// A look-up.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lookup {
    pub(super) name: String,
    /// The server that was queried: "127.0.0.1:53".
    pub(super) server: String,
    pub(super) t0_ns: i64,
    pub(super) t1_ns: i64,
    /// Queries that were not answered in time.
    pub(super) timeouts: u32,
    fd: i64,
}

/// The look-ups of all threads that have not ended.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    open: BTreeMap<i64, Lookup>,
}

impl Lookups {
    /// A thread sent a query. Returns the previous look-up, if this is another.
    pub(super) fn asked(
        &mut self,
        tid: i64,
        fd: i64,
        server: &str,
        name: String,
        (t0_ns, t1_ns): (i64, i64),
    ) -> Option<Lookup> {
        if let Some(open) = self.open.get_mut(&tid).filter(|open| open.name == name) {
            (open.fd, open.t1_ns) = (fd, open.t1_ns.max(t1_ns));
            return None;
        }
        let before = self.open.remove(&tid);
        if self.open.len() < MOST {
            let server = server.to_owned();
            self.open.insert(tid, Lookup { name, server, t0_ns, t1_ns, timeouts: 0, fd });
        }
        before
    }

    /// A thread waited on descriptors, of which the look-up's may be one: until when, and whether
    /// it timed out.
    pub(super) fn waited(&mut self, tid: i64, args: &str, t1_ns: i64, timed_out: bool) {
        let Some(open) = self.open.get_mut(&tid) else { return };
        if args.contains("POLLIN") && args.contains(&format!("fd={}", open.fd)) {
            open.timeouts += u32::from(timed_out);
            open.t1_ns = open.t1_ns.max(t1_ns);
        }
    }

    /// A thread received something on a descriptor.
    pub(super) fn received(&mut self, tid: i64, fd: i64, t1_ns: i64) {
        if let Some(open) = self.open.get_mut(&tid).filter(|open| open.fd == fd) {
            open.t1_ns = open.t1_ns.max(t1_ns);
        }
    }

    /// A thread closed a descriptor.
    pub(super) fn closed(&mut self, tid: i64, fd: i64) -> Option<Lookup> {
        // The library closes the socket between two tries as well; a time-out alone is not the end.
        let ends = self.open.get(&tid).is_some_and(|open| open.fd == fd && open.timeouts == 0);
        if ends { self.open.remove(&tid) } else { None }
    }

    /// The trace ends: returns what is open.
    pub(super) fn finish(&mut self) -> Vec<(i64, Lookup)> {
        std::mem::take(&mut self.open).into_iter().collect()
    }
}

/// The name in a query: the first string of the arguments is the message, with C escapes.
pub(super) fn question(args: &str) -> Option<String> {
    let message = unescaped(&super::files::quoted(args)?);
    // Flags: a query (bit 15 is 0), one entry in its first section.
    let header = message.get(..12)?;
    if header[2] & 0x80 != 0 || header[4..6] != [0, 1] {
        return None;
    }
    let mut rest = message.get(12..)?;
    let mut name = String::new();
    while let [length @ 1..=63, after @ ..] = rest {
        let label = after.get(..usize::from(*length).min(after.len()))?;
        if !name.is_empty() {
            name.push('.');
        }
        name.extend(label.iter().map(|b| if b.is_ascii_graphic() { char::from(*b) } else { '?' }));
        // strace truncates long strings: the part of the name that is there is used.
        rest = after.get(usize::from(*length)..).unwrap_or_default();
    }
    (!name.is_empty()).then_some(name)
}

/// The bytes of a string with C escapes.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'v') => bytes.push(0x0b),
            Some(b'f') => bytes.push(0x0c),
            Some(b'a') => bytes.push(0x07),
            Some(b'b') => bytes.push(0x08),
            Some(b'x') => {
                let mut value = 0u8;
                for _ in 0..2 {
                    let Some(digit) = rest.peek().and_then(|b| char::from(*b).to_digit(16)) else { break };
                    value = value << 4 | digit as u8;
                    rest.next();
                }
                bytes.push(value);
            }
            Some(first @ b'0'..=b'7') => {
                let mut value = u32::from(first - b'0');
                for _ in 0..2 {
                    let Some(digit) = rest.peek().and_then(|b| char::from(*b).to_digit(8)) else { break };
                    value = value * 8 + digit;
                    rest.next();
                }
                bytes.push(value as u8);
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_asked_for_is_read_from_the_message() {
        let args = r#"15, "\311;\1\0\0\1\0\0\0\0\0\0\5slow0\4test\0\0\1\0\1", 28, MSG_NOSIGNAL, NULL, 0"#;
        assert_eq!(question(args).as_deref(), Some("slow0.test"));
        let truncated = r#"15, "\311;\1\0\0\1\0\0\0\0\0\0\17a-very-long-na"..., 60, 0"#;
        assert_eq!(question(truncated).as_deref(), Some("a-very-long-na"));
        let answer = r#"15, "\311;\201\200\0\1\0\1\0\0\0\0\5slow0\4test", 1024"#;
        assert_eq!(question(answer), None);
        assert_eq!(question(r#"4, "hello", 5"#), None);
    }

    #[test]
    fn one_look_up_is_all_its_tries() {
        let mut lookups = Lookups::default();
        let ask = |l: &mut Lookups, name: &str, at| l.asked(7, 15, "127.0.0.1:53", name.into(), (at, at + 1));
        assert_eq!(ask(&mut lookups, "a", 100), None);
        lookups.waited(7, "[{fd=15, events=POLLIN}], 1, 2000", 2_100, true);
        assert_eq!(ask(&mut lookups, "a", 2_101), None);
        lookups.waited(7, "[{fd=15, events=POLLIN}], 1, 2000", 2_500, false);
        lookups.received(7, 15, 2_501);
        let done = ask(&mut lookups, "b", 3_000).unwrap();
        assert_eq!((done.t0_ns, done.t1_ns, done.timeouts), (100, 2_501, 1));
        assert_eq!(lookups.closed(7, 15).unwrap().name, "b");
        assert!(lookups.finish().is_empty());
    }
}
