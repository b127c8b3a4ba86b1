//! A system call that took long.
//!
//! Calls in which a thread waits for somebody to ask or to answer (reading a socket, a pipe or a
//! terminal, accepting, polling) take as long as the other side likes: a server's idle connection
//! is not slow. They count where they are named.

use fathom_recording::SpanRow;
use fathom_recording::vocabulary::call::{ACCEPTS, POLLS, READS};
use fathom_recording::vocabulary::{kind, label};

use crate::similar_names::similar_names;
use crate::slow::trigger::{Kind, Limit, Measure, Seen, Slow, Watch};
use crate::syscalls::{is_reported, names};

pub(super) const KIND: Kind = Kind {
    word: "syscall",
    syntax: "syscall>100ms or syscall:NAME>50ms",
    about: "a system call; not those that wait for a peer (reading sockets and pipes, accept, poll), unless named",
    collector: Some("syscalls"),
    measure: Measure::Time,
    make,
};

fn make(what: Option<&str>) -> Result<Box<dyn Watch>, String> {
    if let Some(name) = what {
        match is_reported(name) {
            Some(true) => {}
            Some(false) => {
                return Err(format!(
                    "threads wait in {name} by choice, so that it is counted and not reported one by one: lock>50ms and \
                     offcpu>1s report waits that matter"
                ));
            }
            None => {
                return Err(format!("there is no system call {name:?}{}", similar_names(name, "", &names())));
            }
        }
    }
    Ok(Box::new(Syscall { name: what.map(str::to_owned) }))
}

struct Syscall {
    name: Option<String>,
}

impl Watch for Syscall {
    fn span(&mut self, row: &SpanRow<'_>, limit: Limit, seen: &Seen<'_>) -> Option<Slow> {
        if row.kind != kind::SYSCALL || !limit.is_passed_by(row) {
            return None;
        }
        let label = |key: &str| row.labels.iter().find(|(k, _)| *k == key).map(|(_, text)| *text);
        let on = label(label::PATH).or_else(|| label(label::PEER));
        let matches = match &self.name {
            Some(name) => row.name == name,
            None => !waits_for_another(row.name, label(label::PEER).is_some(), on.unwrap_or("")),
        };
        let error = label(label::ERROR).map(|error| format!(", {error}")).unwrap_or_default();
        let on = on.map(|on| format!(" of {on}")).unwrap_or_default();
        let thread =
            row.thread.map(|id| format!(", thread {}", seen.ring.thread_name(id))).unwrap_or_default();
        matches.then(|| Slow::of(row, format!("{}(){on}{error}{thread}", row.name)))
    }
}

fn waits_for_another(call: &str, has_peer: bool, on: &str) -> bool {
    let of_another = ["pipe:", "unix:", "socket:", "anon_inode:", "/dev/pts/", "/dev/tty"];
    let of_another = || has_peer || on.is_empty() || of_another.iter().any(|begin| on.starts_with(begin));
    // Reading is waiting for the other side where another writes what is read; the others always
    // are.
    ACCEPTS.contains(&call) || POLLS.contains(&call) || (READS.contains(&call) && of_another())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_connection_is_not_slow_and_a_file_is() {
        assert!(waits_for_another("recvfrom", true, "10.0.0.7:5432"));
        assert!(waits_for_another("read", false, "pipe:[4711]"));
        assert!(waits_for_another("accept4", false, "0.0.0.0:80"));
        assert!(!waits_for_another("read", false, "/data/orders.db"));
        assert!(!waits_for_another("write", false, "pipe:[4711]"));
        assert!(!waits_for_another("connect", true, "10.0.0.7:5432"));
        assert!(make(Some("write")).is_ok() && make(Some("futex")).is_err() && make(Some("wirte")).is_err());
    }
}
