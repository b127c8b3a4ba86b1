//! What the program in the kernel reports of a long call: `struct call_event` of `bpf/syscalls.h`.

use zerocopy::{IntoBytes, transmute};

use super::skeleton::types::{call_event, call_event_flags, call_event_kind};
use crate::network::socket_ends::Ends;

/// What is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A call that took long.
    Call,
    /// A thread has ended.
    ThreadEnded,
}

/// A long call, or the end of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) kind: Kind,
    pub(super) enter_ns: u64,
    pub(super) exit_ns: u64,
    pub(super) result: i64,
    pub(super) arguments: [u64; 6],
    /// Timestamp of the stack; 0: none was taken.
    pub(super) stack_ns: u64,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) number: u16,
    /// It had begun before its thread was watched.
    pub(super) began_before: bool,
    /// It began somewhat later than `enter_ns`.
    pub(super) began_later: bool,
    /// It has not ended: `exit_ns` is when that was found.
    pub(super) unfinished: bool,
    pub(super) comm: String,
    /// What stands behind its descriptor.
    pub(super) file: Option<File>,
    pub(super) ends: Ends,
    /// The path that it names itself, made absolute.
    pub(super) path: Option<String>,
}

/// An open file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    /// As `/proc/PID/fd` would show it: a path, "pipe:[123]", "anon_inode:[eventpoll]"; the name of
    /// a Unix socket.
    pub(super) name: String,
    pub(super) is_socket: bool,
}

const MODE_TYPE: u32 = 0o170_000;
const MODE_SOCKET: u32 = 0o140_000;
/// include/uapi/linux/magic.h
const PIPE_MAGIC: u64 = 0x5049_5045;
const ANON_INODE_MAGIC: u64 = 0x0904_1934;

impl Event {
    /// As the program sends it, with the text behind it; `None` where its kind is not known, or its
    /// text is cut off.
    pub(super) fn of(event: &call_event, text: &[u8]) -> Option<Self> {
        let kind = match call_event_kind(event.kind.into()) {
            call_event_kind::CALL_REPORTED => Kind::Call,
            call_event_kind::CALL_THREAD_ENDED => Kind::ThreadEnded,
            _ => return None,
        };
        let [path, base, end] = [event.path, event.base, event.text].map(usize::from);
        let of_path = text.get(..path)?;
        let of_base = text.get(path..path + base)?;
        let argument = text.get(path + base..end).unwrap_or_default();
        let is = |flag| has(event.flags, flag);
        Some(Self {
            kind,
            enter_ns: event.enter_ns,
            exit_ns: event.exit_ns,
            result: event.result,
            arguments: event.argument,
            stack_ns: event.stack_ns,
            pid: event.pid,
            tid: event.tid,
            number: event.nr,
            began_before: is(call_event_flags::CALL_BEGAN_BEFORE),
            began_later: is(call_event_flags::CALL_COARSE),
            unfinished: is(call_event_flags::CALL_UNFINISHED),
            comm: string(event.comm.as_bytes()),
            file: file(of_path, event),
            // The same struct, as `network.bpf.c` has it.
            ends: Ends::of(&transmute!(event.socket)),
            path: absolute(of_base, argument, event.flags),
        })
    }
}

fn has(flags: u8, flag: call_event_flags) -> bool {
    u32::from(flags) & flag.0 != 0
}

fn string(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// Names, leaf first, each ended by 0, as a path. `cut`: it goes on above.
fn joined(names: &[u8], cut: bool) -> String {
    let mut path = if cut { "…".to_owned() } else { String::new() };
    let names: Vec<&[u8]> = names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect();
    for name in names.iter().rev() {
        path.push('/');
        path.push_str(&String::from_utf8_lossy(name));
    }
    if path.is_empty() { "/".to_owned() } else { path }
}

fn file(names: &[u8], event: &call_event) -> Option<File> {
    let call_event { inode, magic, mode, flags, .. } = *event;
    if magic == 0 {
        return None;
    }
    let is_socket = mode & MODE_TYPE == MODE_SOCKET;
    let name = match magic {
        _ if is_socket => string(names),
        PIPE_MAGIC => format!("pipe:[{inode}]"),
        ANON_INODE_MAGIC => format!("anon_inode:{}", joined(names, false).trim_start_matches('/')),
        _ if has(flags, call_event_flags::CALL_DELETED) => {
            format!("{} (deleted)", joined(names, has(flags, call_event_flags::CALL_PATH_CUT)))
        }
        _ => joined(names, has(flags, call_event_flags::CALL_PATH_CUT)),
    };
    Some(File { name, is_socket })
}

fn absolute(base: &[u8], argument: &[u8], flags: u8) -> Option<String> {
    let argument = string(argument);
    match argument.as_str() {
        "" if base.is_empty() => None,
        "" | "." => Some(joined(base, has(flags, call_event_flags::CALL_BASE_CUT))),
        path if path.starts_with('/') || base.is_empty() => Some(argument),
        path => {
            let base = joined(base, has(flags, call_event_flags::CALL_BASE_CUT));
            Some(format!("{}/{}", base.trim_end_matches('/'), path.trim_start_matches("./")))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn event(text: &[&str], path: usize, flags: u8, magic: u64) -> Event {
        let text: Vec<u8> = text.iter().flat_map(|name| name.bytes().chain([0])).collect();
        let lengths = (path as u16, text.len() as u16);
        let sent = call_event {
            kind: call_event_kind::CALL_REPORTED.0 as u8,
            nr: 1,
            inode: 7,
            magic,
            flags,
            path: lengths.0,
            ..call_event::default()
        };
        Event::of(&call_event { text: lengths.1, ..sent }, &text).unwrap()
    }

    #[test]
    fn what_stands_behind_a_descriptor_is_named_as_proc_names_it() {
        let named = |text: &[&str], flags, magic| {
            let length = text.iter().map(|name| name.len() + 1).sum();
            event(text, length, flags, magic).file.unwrap().name
        };
        assert_eq!(named(&["gc.log", "app", "var"], 0, 0xef53), "/var/app/gc.log");
        assert_eq!(named(&["gc.log"], call_event_flags::CALL_DELETED.0 as u8, 0xef53), "/gc.log (deleted)");
        assert_eq!(named(&["leaf", "deep"], call_event_flags::CALL_PATH_CUT.0 as u8, 0xef53), "…/deep/leaf");
        assert_eq!(named(&[], 0, 0xef53), "/");
        assert_eq!(named(&[""], 0, PIPE_MAGIC), "pipe:[7]");
        assert_eq!(named(&["[eventfd]"], 0, ANON_INODE_MAGIC), "anon_inode:[eventfd]");
    }

    #[test]
    fn a_path_is_made_absolute_with_the_directory_that_it_is_relative_to() {
        let base = b"work\0srv\0";
        assert_eq!(absolute(base, b"./conf/x.yml\0", 0).as_deref(), Some("/srv/work/conf/x.yml"));
        assert_eq!(absolute(base, b"/etc/hosts\0", 0).as_deref(), Some("/etc/hosts"));
        assert_eq!(
            absolute(base, b"x\0", call_event_flags::CALL_BASE_CUT.0 as u8).as_deref(),
            Some("…/srv/work/x")
        );
        assert_eq!(absolute(b"", b"", 0), None);
    }

    #[test]
    fn what_lies_about_its_lengths_is_no_event() {
        assert_eq!(Event::of(&call_event::default(), &[]), None);
        let sent =
            call_event { kind: call_event_kind::CALL_REPORTED.0 as u8, path: 9, ..call_event::default() };
        assert_eq!(Event::of(&sent, &[0; 8]), None);
        assert!(Event::of(&sent, &[0; 9]).is_some());
    }
}
