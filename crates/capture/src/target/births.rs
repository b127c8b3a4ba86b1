//! News of processes as they happen, from the kernel (`bpf/births.bpf.c`): forks and execs of what
//! is recorded. Looking at `/proc` a few times a second, the other way, sees nothing of a child
//! that lives for milliseconds.

use std::collections::{HashMap, VecDeque};
use std::os::fd::BorrowedFd;

use libbpf_rs::MapHandle;

use crate::Unavailable;
use crate::bpf::attached::attached;
use crate::bpf::kit::Kit;
use crate::bpf::losses::Losses;
use crate::bpf::object::skeleton;
use crate::bpf::record::{read, text};
use crate::bpf::ring::Ring;

skeleton!("births");
use skeleton::{BirthsSkelBuilder, types};

attached!(BirthsSkel, BirthsMaps, BirthsLinks: targets);

/// What cannot be seen without it.
const WHAT: &str = "children of the recorded processes from their first instruction on";
/// News that wait at most; of more, `/proc` is looked at instead.
const MOST_NEWS: usize = 16_384;

/// What happened to a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Birth {
    /// When, monotonic nanoseconds.
    pub t_ns: u64,
    /// To which process.
    pub pid: i32,
    /// A fork rather than an exec.
    pub forked: bool,
    /// Its parent is recorded, and so is it.
    pub heir: bool,
    /// What the kernel calls it: at most 15 bytes.
    pub comm: String,
}

impl Birth {
    /// As the program sends it; `None` where its pid is out of range.
    fn of(birth: &types::birth) -> Option<Self> {
        Some(Self {
            t_ns: birth.t_ns,
            pid: i32::try_from(birth.pid).ok()?,
            forked: birth.kind == types::birth_kind::BIRTH_FORK.0,
            heir: birth.heir == 1,
            comm: text(&birth.comm),
        })
    }
}

/// The program at work.
pub(super) struct Births {
    ring: Ring<Birth>,
    inbox: VecDeque<Birth>,
    losses: Losses,
    /// Names by process as last reported, of the last interval and of the one before: what a
    /// process did may come in after the news of it were acted upon.
    names: [HashMap<i32, String>; 2],
    loaded: Attached,
}

impl Births {
    /// Loads and attaches it. `report_all`: every process of the machine is reported.
    pub fn watch(report_all: bool) -> Result<Self, Unavailable> {
        let mut open = Kit::alone(WHAT).open(BirthsSkelBuilder::default())?;
        open.constants().report_all = u8::from(report_all);
        let mut loaded = open.load()?;
        let ring = loaded.ring("births", |bytes| Birth::of(&read(bytes)?), MOST_NEWS)?;
        let losses = loaded.losses()?;
        loaded.attach()?;
        let loaded = loaded.keep(Attached::of)?;
        Ok(Self { ring, inbox: VecDeque::new(), losses, names: Default::default(), loaded })
    }

    /// The ids of all that is recorded. Children enter themselves.
    pub fn targets(&self) -> &MapHandle {
        &self.loaded.maps.targets
    }

    /// Takes in what has happened; whether anything did, or was lost.
    pub fn listen(&mut self) -> bool {
        let room = MOST_NEWS.saturating_sub(self.inbox.len());
        self.inbox.extend(self.ring.take().into_iter().take(room));
        self.losses.take() > 0 || !self.inbox.is_empty()
    }

    /// What was taken in, the oldest first.
    pub fn news(&mut self) -> VecDeque<Birth> {
        let news = std::mem::take(&mut self.inbox);
        self.names[0].extend(news.iter().map(|birth| (birth.pid, birth.comm.clone())));
        if self.names[0].len() > MOST_NEWS {
            self.age();
        }
        news
    }

    /// An interval is over: the names of the one before it are forgotten.
    pub fn age(&mut self) {
        self.names[1] = std::mem::take(&mut self.names[0]);
    }

    /// What a process was called last, of which no more than that is known.
    pub fn comm(&self, pid: i32) -> Option<String> {
        let waiting = self.inbox.iter().rev().find(|birth| birth.pid == pid).map(|birth| &birth.comm);
        waiting.or_else(|| self.names.iter().find_map(|names| names.get(&pid))).cloned()
    }

    /// The last exec of a process among what was taken in and is not acted upon yet.
    pub fn last_exec(&self, pid: i32) -> Option<&Birth> {
        self.inbox.iter().rev().find(|birth| birth.pid == pid).filter(|birth| !birth.forked)
    }

    /// Readable when something has happened.
    pub fn wake(&self) -> BorrowedFd<'_> {
        self.ring.wake()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::record::characters;

    #[test]
    fn a_birth_is_a_fork_or_an_exec_of_a_process_with_its_name() {
        let sent = types::birth {
            pid: 4711,
            kind: types::birth_kind::BIRTH_FORK.0,
            heir: 1,
            comm: characters("java"),
            ..Default::default()
        };
        let birth = Birth { t_ns: 0, pid: 4711, forked: true, heir: true, comm: "java".into() };
        assert_eq!(Birth::of(&sent), Some(birth.clone()));
        let exec = types::birth { kind: types::birth_kind::BIRTH_EXEC.0, heir: 0, ..sent };
        assert_eq!(Birth::of(&exec), Some(Birth { forked: false, heir: false, ..birth }));
        assert_eq!(Birth::of(&types::birth { pid: u32::MAX, ..sent }), None);
    }
}
