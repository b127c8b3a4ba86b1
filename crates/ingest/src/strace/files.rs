//! What descriptors refer to: files and connections, followed from call to call.
//!
//! With `-y` or `-yy` strace prints it after each descriptor; without, it is known from the calls
//! that opened it. Threads of a process share their descriptors, a forked child has a copy.

use rustc_hash::FxHashMap;

use super::line::End;

/// Descriptors that are followed, over all processes. A process has 1024 by default, a server a
/// million.
const MOST: usize = 1 << 20;

/// What a descriptor refers to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Target {
    /// A file, by its path.
    Path(String),
    /// A connection, by its remote end: "127.0.0.1:53".
    Peer(String),
}

/// Descriptors of all processes.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// By process and descriptor.
    targets: FxHashMap<(i64, i64), Target>,
}

impl Files {
    /// What the first argument of a call refers to.
    pub(super) fn of(&self, process: i64, args: &str) -> Option<Target> {
        if let Some((_, printed)) = descriptor(args)
            && let Some(target) = printed.and_then(in_words)
        {
            return Some(target);
        }
        self.targets.get(&(process, descriptor(args)?.0)).cloned()
    }

    /// Follows a call that has returned.
    pub(super) fn follow(&mut self, process: i64, name: &str, args: &str, end: &End<'_>) {
        let Some(result) = end.result.filter(|result| *result >= 0) else {
            // A connection that is being established has its remote end already.
            if name == "connect" && end.error == Some("EINPROGRESS") {
                self.connect(process, args);
            }
            return;
        };
        match name {
            "open" | "creat" => self.put(process, result, quoted(args).map(Target::Path)),
            "openat" | "openat2" => {
                let path = args.split_once(", ").and_then(|(_, rest)| quoted(rest));
                self.put(process, result, path.map(Target::Path));
            }
            "connect" => self.connect(process, args),
            "accept" | "accept4" => self.put(process, result, address(args).map(Target::Peer)),
            "dup" | "dup2" | "dup3" | "fcntl" if name != "fcntl" || args.contains("F_DUPFD") => {
                let target = self.of(process, args);
                self.put(process, result, target);
            }
            "socket" => self.put(process, result, None),
            "close" => {
                if let Some((fd, _)) = descriptor(args) {
                    self.targets.remove(&(process, fd));
                }
            }
            _ => {}
        }
    }

    fn connect(&mut self, process: i64, args: &str) {
        if let Some((fd, _)) = descriptor(args) {
            self.put(process, fd, address(args).map(Target::Peer));
        }
    }

    fn put(&mut self, process: i64, fd: i64, target: Option<Target>) {
        match target {
            Some(target) if self.targets.len() < MOST => {
                self.targets.insert((process, fd), target);
            }
            _ => {
                self.targets.remove(&(process, fd));
            }
        }
    }

    /// A child has what its parent has.
    pub(super) fn fork(&mut self, parent: i64, child: i64) {
        let copies: Vec<_> = self
            .targets
            .iter()
            .filter(|((of, _), _)| *of == parent)
            .map(|((_, fd), t)| (*fd, t.clone()))
            .collect();
        for (fd, target) in copies {
            self.put(child, fd, Some(target));
        }
    }
}

/// The descriptor that arguments begin with, and what strace prints for it: `4</tmp/x>`, `15`,
/// `9<TCPv6:[237355]>`.
pub(super) fn descriptor(args: &str) -> Option<(i64, Option<&str>)> {
    let digits = args.bytes().take_while(u8::is_ascii_digit).count();
    let fd = args.get(..digits)?.parse().ok()?;
    let rest = args.get(digits..)?;
    let printed = rest.strip_prefix('<').and_then(|rest| {
        // A connection has an arrow in it: `TCP:[127.0.0.1:40000->127.0.0.1:5432]`.
        let end = if rest.starts_with('/') { None } else { rest.find("]>").map(|at| at + 1) };
        rest.get(..end.or_else(|| rest.find('>'))?)
    });
    (rest.is_empty() || rest.starts_with([',', '<'])).then_some((fd, printed))
}

/// `/tmp/x`, `TCP:[127.0.0.1:40000->127.0.0.1:5432]`; `socket:[1234]` and the like have no such
/// name.
fn in_words(printed: &str) -> Option<Target> {
    if printed.starts_with('/') {
        return Some(Target::Path(printed.to_owned()));
    }
    let (_, peer) = printed.split_once("->")?;
    Some(Target::Peer(peer.trim_end_matches(']').to_owned()))
}

/// The first string in quotes, with its escapes as they are.
pub(super) fn quoted(text: &str) -> Option<String> {
    let from = text.find('"')? + 1;
    let rest = text.get(from..)?;
    let mut escaped = false;
    let end = rest.bytes().position(|b| {
        let ends = b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        ends
    })?;
    rest.get(..end).map(str::to_owned)
}

/// The address in the arguments of `connect`, `accept`, `sendto`: "127.0.0.1:53", "[::1]:53", a
/// path of a local socket.
pub(super) fn address(args: &str) -> Option<String> {
    let from = args.find("sa_family=")?;
    let text = args.get(from..)?;
    let within = |open: &str| Some(text.split_once(open)?.1.split_once(')')?.0.trim_matches('"'));
    let port = within("sin_port=htons(").or_else(|| within("sin6_port=htons("));
    if let Some(port) = port {
        if let Some(host) = within("inet_addr(\"") {
            return Some(format!("{}:{port}", host.trim_end_matches('"')));
        }
        let host = text.split_once("inet_pton(AF_INET6, \"")?.1.split_once('"')?.0;
        return Some(match host.strip_prefix("::ffff:").filter(|v4| v4.contains('.')) {
            Some(v4) => format!("{v4}:{port}"),
            None => format!("[{host}]:{port}"),
        });
    }
    text.contains("sun_path=").then(|| quoted(text))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok(result: i64) -> End<'static> {
        End { result: Some(result), ..End::default() }
    }

    #[test]
    fn descriptors_are_followed_until_they_are_closed() {
        let mut files = Files::default();
        files.follow(1, "openat", r#"AT_FDCWD, "/var/log/gc.log", O_WRONLY"#, &ok(4));
        assert_eq!(files.of(1, r#"4, "x", 1"#), Some(Target::Path("/var/log/gc.log".into())));
        assert_eq!(files.of(2, r#"4, "x", 1"#), None);
        files.fork(1, 2);
        assert!(files.of(2, "4").is_some());
        files.follow(1, "dup", "4", &ok(9));
        files.follow(1, "close", "4", &ok(0));
        assert_eq!(files.of(1, "4"), None);
        assert!(files.of(1, "9").is_some());
        let refused = End { result: Some(-1), error: Some("EINPROGRESS"), ..End::default() };
        files.follow(
            1,
            "connect",
            r#"7, {sa_family=AF_INET, sin_port=htons(5432), sin_addr=inet_addr("10.0.0.7")}, 16"#,
            &refused,
        );
        assert_eq!(files.of(1, "7"), Some(Target::Peer("10.0.0.7:5432".into())));
    }

    #[test]
    fn strace_may_say_it_itself() {
        let files = Files::default();
        assert_eq!(files.of(1, r#"4</tmp/x>, "a", 1"#), Some(Target::Path("/tmp/x".into())));
        let peer = Some(Target::Peer("127.0.0.1:5432".into()));
        assert_eq!(files.of(1, "9<TCP:[127.0.0.1:40000->127.0.0.1:5432]>, 1"), peer);
        assert_eq!(files.of(1, "9<TCPv6:[237355]>, 1"), None);
        assert_eq!(files.of(1, "0x7f, 1"), None);
    }

    #[test]
    fn addresses_of_every_family() {
        let v6 = r#"9, {sa_family=AF_INET6, sin6_port=htons(46083), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::ffff:127.0.0.1", &sin6_addr), sin6_scope_id=0}, 28"#;
        assert_eq!(address(v6).as_deref(), Some("127.0.0.1:46083"));
        assert_eq!(address(&v6.replace("::ffff:127.0.0.1", "::1")).as_deref(), Some("[::1]:46083"));
        let unix = r#"3, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110"#;
        assert_eq!(address(unix).as_deref(), Some("/var/run/nscd/socket"));
        assert_eq!(address("3, NULL, 0"), None);
    }
}
