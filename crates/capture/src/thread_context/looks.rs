//! Which process is looked at for the variable, and when: as soon as it is recorded, then less and
//! less often, as a library that has it may be loaded later.

use std::time::{Duration, Instant};

use fathom_hotspot::maps;
use fathom_hotspot::memory::ProcessMemory;
use rustc_hash::{FxHashMap, FxHashSet};

use super::place::{Found, Place, find};

/// The second look comes so long after the first, each further one after twice that.
const AGAIN: Duration = Duration::from_secs(1);
/// But no later than this.
const LONGEST: Duration = Duration::from_secs(30);
/// Processes that are looked at in one round.
const MOST_IN_A_ROUND: usize = 4;
/// Files that are known to have none; then they are forgotten.
const MOST_FILES: usize = 8192;

/// A process that has shown none so far.
#[derive(Debug)]
struct Wanted {
    next: Instant,
    wait: Duration,
}

/// A file of one version: device, inode and name. Subvolumes of one device have inodes of their
/// own.
type FileId = (u64, u64, String);

/// What a look has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// The place, for all threads.
    At(Place),
    /// It is there, but cannot be read, as this says.
    Unsupported(&'static str),
}

/// The processes that are looked at.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    wanted: FxHashMap<i32, Wanted>,
    without: FxHashSet<FileId>,
}

impl Looks {
    /// A process came, or is another program by now.
    pub(crate) fn want(&mut self, pid: i32) {
        self.wanted.insert(pid, Wanted { next: Instant::now(), wait: AGAIN });
    }

    /// What was found could not be made use of yet.
    pub(crate) fn want_later(&mut self, pid: i32) {
        self.wanted.insert(pid, Wanted { next: Instant::now() + LONGEST, wait: LONGEST });
    }

    /// It is gone.
    pub(crate) fn forget(&mut self, pid: i32) {
        self.wanted.remove(&pid);
    }

    /// Looks at those that are due; those of which all is known.
    pub(crate) fn look(&mut self) -> Vec<(i32, Look)> {
        let now = Instant::now();
        let due = self.wanted.iter().filter(|(_, wanted)| wanted.next <= now);
        let due: Vec<i32> = due.map(|(pid, _)| *pid).take(MOST_IN_A_ROUND).collect();
        let mut found = Vec::new();
        for pid in due {
            if let Some(look) = self.look_at(pid) {
                self.wanted.remove(&pid);
                found.push((pid, look));
            } else if let Some(wanted) = self.wanted.get_mut(&pid) {
                (wanted.next, wanted.wait) = (now + wanted.wait, (wanted.wait * 2).min(LONGEST));
            }
        }
        found
    }

    /// Looks at what is mapped. A file that has none in one process has none in another.
    fn look_at(&mut self, pid: i32) -> Option<Look> {
        let pid = u32::try_from(pid).ok()?;
        let all = maps::read(pid).ok()?;
        if self.without.len() > MOST_FILES {
            self.without.clear();
        }
        let code: FxHashSet<(u64, u64)> =
            all.iter().filter(|m| m.executable).map(|m| (m.device, m.inode)).collect();
        let firsts = all.iter().filter(|m| m.offset == 0 && m.readable && m.is_file());
        for first in firsts {
            let file = (first.device, first.inode, first.file_name().to_owned());
            if !code.contains(&(first.device, first.inode)) || self.without.contains(&file) {
                continue;
            }
            let found = ProcessMemory::open(pid, first.start).ok().map(|memory| find(&memory, first, &all));
            match found {
                Some(Ok(Found::At(place))) => return Some(Look::At(place)),
                Some(Ok(Found::Unsupported(why))) => return Some(Look::Unsupported(why)),
                Some(Ok(Found::Nothing)) => {
                    self.without.insert(file);
                }
                // It is being loaded, or unloaded.
                Some(Ok(Found::NotYet) | Err(_)) | None => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_looked_at_less_and_less_often() {
        let own = std::process::id().cast_signed();
        let mut looks = Looks::default();
        looks.want(own);
        assert_eq!(looks.look(), [], "this program has no such variable");
        assert!(!looks.without.is_empty());
        let next = looks.wanted[&own].next;
        assert!(next > Instant::now() && looks.wanted[&own].wait == 2 * AGAIN);
        assert_eq!(looks.look(), []);
        assert_eq!(looks.wanted[&own].next, next);
        looks.want_later(own);
        assert_eq!(looks.look(), []);
        assert_eq!(looks.wanted[&own].wait, LONGEST);
        looks.forget(own);
        assert!(looks.wanted.is_empty());
    }
}
