//! Requests and replies of the attach protocol.
//!
//! From HotSpot's `services/attachListener.cpp` and `sun.tools.attach.HotSpotVirtualMachine`:
//!
//! ```text
//!   version 1   "1\0" command\0 argument\0 argument\0 argument\0        always three, each of 1024 bytes at most
//!   version 2   "2\0" size\0 command\0 argument\0 …                     from JDK 24; size: bytes after its own NUL
//!   reply       status in digits \n text …                              until the JVM closes; status 0: done
//! ```

/// Arguments of a request of version 1, and the longest one (`AttachOperation::arg_length_max`).
const ARGUMENTS: usize = 3;
const LONGEST_ARGUMENT: usize = 1024;
/// Digits of a status with its newline, at most.
const LONGEST_STATUS: usize = 12;

/// A command and its arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    /// "jcmd", "properties", "threaddump".
    pub command: &'a str,
    /// Its arguments.
    pub arguments: &'a [&'a str],
}

impl Request<'_> {
    /// Whether it can be encoded at all: NUL ends an argument.
    pub fn is_sayable(&self) -> bool {
        !self.words().any(|word| word.contains('\0'))
    }

    /// Whether every JVM understands it.
    pub fn fits_version_1(&self) -> bool {
        self.arguments.len() <= ARGUMENTS && self.arguments.iter().all(|a| a.len() <= LONGEST_ARGUMENT)
    }

    /// Its bytes.
    pub fn bytes(&self, version: u8) -> Vec<u8> {
        let mut words = Vec::new();
        for word in self.words() {
            words.extend(word.bytes());
            words.push(0);
        }
        if version == 1 {
            words.resize(words.len() + ARGUMENTS.saturating_sub(self.arguments.len()), 0);
            return [b"1\0", words.as_slice()].concat();
        }
        let head = format!("{version}\0{}\0", words.len());
        [head.as_bytes(), words.as_slice()].concat()
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.command).chain(self.arguments.iter().copied())
    }
}

/// Status and text of a reply. `None`: it does not begin with a status.
pub(super) fn reply(bytes: &[u8]) -> Option<(i32, String)> {
    let end = bytes.iter().take(LONGEST_STATUS).position(|byte| *byte == b'\n')?;
    let status = std::str::from_utf8(&bytes[..end]).ok()?.trim().parse().ok()?;
    Some((status, String::from_utf8_lossy(&bytes[end + 1..]).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_both_versions_are_those_of_the_jdk() {
        let request = Request { command: "jcmd", arguments: &["VM.version"] };
        assert_eq!(request.bytes(1), b"1\0jcmd\0VM.version\0\0\0");
        assert_eq!(request.bytes(2), b"2\x0016\0jcmd\0VM.version\0");
        assert!(request.fits_version_1() && request.is_sayable());
        let long = "x".repeat(1025);
        assert!(!Request { command: "jcmd", arguments: &[&long] }.fits_version_1());
        assert!(!Request { command: "jcmd", arguments: &["a\0b"] }.is_sayable());
    }

    #[test]
    fn a_reply_is_a_status_and_a_text() {
        assert_eq!(reply(b"0\nJDK 17\n"), Some((0, "JDK 17\n".to_owned())));
        assert_eq!(reply(b"-1\n"), Some((-1, String::new())));
        assert_eq!(reply(b""), None);
        assert_eq!(reply(b"HTTP/1.1 400 Bad Request\n"), None);
        assert_eq!(reply(b"\xff\n"), None);
    }
}
