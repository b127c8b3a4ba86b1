//! System calls on their way in and out, switches and wakings of threads: one program on each of
//! the four tracepoints, which jumps to those of the collectors.
//!
//! Seven programs on the tracepoints of system calls cost each call of the host twice what two
//! cost, though five of them look at a few calls only (`bpf/calls.h` and `bpf/switches.h` have the
//! order in which programs are reached, `docs/benchmarks.md` the figures). Where the jumps do not
//! work, collectors hang their programs on the tracepoints themselves.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, MapMut, OpenObject, ProgramMut, Result};

use super::object::{place, skeleton};
use super::silence;

skeleton!("relay");
use skeleton::{RelaySkel, RelaySkelBuilder};

/// The program that reports waits when their call returns: `CALL_SLOT_WAITS`.
pub(crate) const WAITS: u32 = 512;
/// The one that counts every call, always the last: `CALL_SLOT_EVERY`.
pub(crate) const EVERY: u32 = 513;
/// Of switches and wakings, the program that reports waits, and the one behind it that reports
/// locks: `SWITCH_SLOT_WAITS`, `SWITCH_SLOT_LOCKS`.
pub(crate) const SWITCH_WAITS: u32 = 0;
pub(crate) const SWITCH_LOCKS: u32 = 1;

/// What programs meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A thread enters a system call.
    In,
    /// It returns from it.
    Out,
    /// A processor goes from one thread to another.
    Switch,
    /// A thread is woken.
    Waking,
}

/// The four programs, and whom they hand what they meet to.
pub(crate) struct Relay {
    loaded: RelaySkel<'static>,
    /// By [`Way`].
    roots: RefCell<[Root; 4]>,
}

/// The program of a way: attached while there is somebody to be reached on it.
#[derive(Default)]
struct Root {
    link: Option<Link>,
    /// Slots that lead somewhere.
    taken: BTreeSet<u32>,
}

impl Relay {
    /// Loads them; nothing is attached yet.
    pub(crate) fn load() -> Result<Rc<Self>> {
        silence();
        let loaded = RelaySkelBuilder::default().open(place())?.load()?;
        Ok(Rc::new(Self { loaded, roots: RefCell::default() }))
    }

    /// Prepares an object that is not loaded yet: `programs` of it are reached from here, and not
    /// attached with the others.
    pub(crate) fn take_over(&self, object: &mut OpenObject, programs: &[&str]) -> Result<()> {
        for mut map in object.maps_mut() {
            match map.name().to_str() {
                Some("entering") => map.reuse_fd(self.loaded.maps.entering.as_fd())?,
                Some("leaving") => map.reuse_fd(self.loaded.maps.leaving.as_fd())?,
                Some("switching") => map.reuse_fd(self.loaded.maps.switching.as_fd())?,
                Some("waking") => map.reuse_fd(self.loaded.maps.waking.as_fd())?,
                // What is looked at before a jump.
                Some("runs") => map.reuse_fd(self.loaded.maps.runs.as_fd())?,
                Some("deaths") => map.reuse_fd(self.loaded.maps.deaths.as_fd())?,
                Some("pending") => map.reuse_fd(self.loaded.maps.pending.as_fd())?,
                _ => {}
            }
        }
        for mut program in object.progs_mut() {
            if program.name().to_str().is_some_and(|name| programs.contains(&name)) {
                program.set_autoattach(false);
            }
        }
        Ok(())
    }

    /// Hands what is met to a program until what is returned is dropped. `slots`: numbers of calls,
    /// [`WAITS`] or [`EVERY`]; of switches and wakings [`SWITCH_WAITS`] or [`SWITCH_LOCKS`]. An
    /// error if one of them leads to another program: that one would get no more calls, and nobody
    /// would notice.
    pub(crate) fn hand(self: &Rc<Self>, program: BorrowedFd<'_>, way: Way, slots: &[u32]) -> Result<Handed> {
        let roots = &mut *self.roots.borrow_mut();
        let root = &mut roots[way as usize];
        if let Some(slot) = slots.iter().find(|slot| root.taken.contains(slot)) {
            let why = format!("what comes by slot {slot} is handed to another program already");
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why).into());
        }
        let (map, first) = self.way(way);
        let held = program.try_clone_to_owned()?;
        let handed = slots.iter().try_for_each(|slot| {
            root.taken.insert(*slot);
            map.update(&slot.to_ne_bytes(), &program.as_raw_fd().to_ne_bytes(), MapFlags::ANY)
        });
        let attached = handed.and_then(|()| match root.link {
            Some(_) => Ok(()),
            None => first.attach().map(|link| root.link = Some(link)),
        });
        if let Err(error) = attached {
            self.empty(root, way, slots);
            return Err(error);
        }
        Ok(Handed { relay: Rc::clone(self), way, slots: slots.to_vec(), _program: held })
    }

    /// Where the slots of a way are, and the program that reads them.
    fn way(&self, way: Way) -> (&MapMut<'static>, &ProgramMut<'static>) {
        match way {
            Way::In => (&self.loaded.maps.entering, &self.loaded.progs.enters_call),
            Way::Out => (&self.loaded.maps.leaving, &self.loaded.progs.leaves_call),
            Way::Switch => (&self.loaded.maps.switching, &self.loaded.progs.switches),
            Way::Waking => (&self.loaded.maps.waking, &self.loaded.progs.wakes),
        }
    }

    /// Hands nothing to these any more.
    fn empty(&self, root: &mut Root, way: Way, slots: &[u32]) {
        for slot in slots {
            root.taken.remove(slot);
            // Not there any more is as good as deleted.
            let _ = self.way(way).0.delete(&slot.to_ne_bytes());
        }
        if root.taken.is_empty() {
            root.link = None;
        }
    }
}

/// A program that is reached.
pub(crate) struct Handed {
    relay: Rc<Relay>,
    way: Way,
    slots: Vec<u32>,
    /// No link shows that it is ours (`bpf/own.rs`).
    _program: OwnedFd,
}

impl Drop for Handed {
    fn drop(&mut self) {
        let root = &mut self.relay.roots.borrow_mut()[self.way as usize];
        self.relay.empty(root, self.way, &self.slots);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No system call has this number.
    const NOBODYS: u32 = 400;

    #[test]
    fn a_slot_leads_to_one_program_until_it_is_given_back() {
        if let Err(why) = crate::privileges::ebpf() {
            fathom_testing::skip(&format!("{}: {}", why.what, why.why));
            return;
        }
        let relay = Relay::load().unwrap();
        let program = relay.loaded.progs.enters_call.as_fd();
        let first = relay.hand(program, Way::In, &[NOBODYS]).unwrap();
        let again =
            relay.hand(program, Way::In, &[NOBODYS + 1, NOBODYS]).err().map(|error| error.to_string());
        assert!(again.is_some_and(|why| why.contains("slot 400")));
        assert!(relay.hand(program, Way::In, &[NOBODYS + 1]).is_ok(), "the refused one took nothing");
        let out = relay.loaded.progs.leaves_call.as_fd();
        assert!(relay.hand(out, Way::Out, &[NOBODYS]).is_ok(), "the other way has slots of its own");
        drop(first);
        assert!(relay.hand(program, Way::In, &[NOBODYS]).is_ok());
    }
}
