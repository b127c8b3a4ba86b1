//! System calls on their way in and out, context switches and wakeups of threads: one program on
//! each of the four tracepoints, which jumps to those of the collectors.
//!
//! Seven programs on the tracepoints of system calls cost each call of the host twice what two
//! cost, though five of them look at a few calls only (`bpf/calls.h` and `bpf/switches.h` have the
//! order in which programs are reached, `docs/benchmarks.md` the numbers). Where the jumps do not
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

skeleton!("dispatcher");
use skeleton::types::{call_slot, switch_slot};
use skeleton::{DispatcherSkel, DispatcherSkelBuilder};

/// The program that reports waits when their call returns.
pub(crate) const WAITS: u32 = call_slot::CALL_SLOT_WAITS.0;
/// The one that counts every call, always the last.
pub(crate) const EVERY: u32 = call_slot::CALL_SLOT_EVERY.0;
/// Of context switches and wakeups, the program that reports waits, and the one behind it that
/// reports locks.
pub(crate) const SWITCH_WAITS: u32 = switch_slot::SWITCH_SLOT_WAITS.0;
pub(crate) const SWITCH_LOCKS: u32 = switch_slot::SWITCH_SLOT_LOCKS.0;

/// What programs are attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    /// A thread enters a system call.
    In,
    /// It returns from it.
    Out,
    /// A CPU goes from one thread to another.
    Switch,
    /// A thread is woken.
    Wakeup,
}

/// The four programs, and the programs that are registered with them.
pub(crate) struct Dispatcher {
    loaded: DispatcherSkel<'static>,
    /// By [`Hook`].
    roots: RefCell<[Root; 4]>,
}

/// The program of a hook: attached while a program is registered.
#[derive(Default)]
struct Root {
    link: Option<Link>,
    /// Slots that lead somewhere.
    taken: BTreeSet<u32>,
}

impl Dispatcher {
    /// Loads them; nothing is attached yet.
    pub(crate) fn load() -> Result<Rc<Self>> {
        silence();
        let loaded = DispatcherSkelBuilder::default().open(place())?.load()?;
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

    /// Registers a program until what is returned is dropped. `slots`: numbers of calls,
    /// [`WAITS`] or [`EVERY`]; of context switches and wakeups [`SWITCH_WAITS`] or
    /// [`SWITCH_LOCKS`]. An error if one of them leads to another program: that one would get no
    /// more calls, and nobody would notice.
    pub(crate) fn register(
        self: &Rc<Self>,
        program: BorrowedFd<'_>,
        hook: Hook,
        slots: &[u32],
    ) -> Result<Registered> {
        let roots = &mut *self.roots.borrow_mut();
        let root = &mut roots[hook as usize];
        if let Some(slot) = slots.iter().find(|slot| root.taken.contains(slot)) {
            let why = format!("what comes by slot {slot} goes to another program already");
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why).into());
        }
        let (map, first) = self.hook(hook);
        let kept = program.try_clone_to_owned()?;
        let registered = slots.iter().try_for_each(|slot| {
            root.taken.insert(*slot);
            map.update(&slot.to_ne_bytes(), &program.as_raw_fd().to_ne_bytes(), MapFlags::ANY)
        });
        let attached = registered.and_then(|()| match root.link {
            Some(_) => Ok(()),
            None => first.attach().map(|link| root.link = Some(link)),
        });
        if let Err(error) = attached {
            self.empty(root, hook, slots);
            return Err(error);
        }
        Ok(Registered { dispatcher: Rc::clone(self), hook, slots: slots.to_vec(), _program: kept })
    }

    /// Where the slots of a hook are, and the program that reads them.
    fn hook(&self, hook: Hook) -> (&MapMut<'static>, &ProgramMut<'static>) {
        match hook {
            Hook::In => (&self.loaded.maps.entering, &self.loaded.progs.enters_call),
            Hook::Out => (&self.loaded.maps.leaving, &self.loaded.progs.leaves_call),
            Hook::Switch => (&self.loaded.maps.switching, &self.loaded.progs.switches),
            Hook::Wakeup => (&self.loaded.maps.waking, &self.loaded.progs.wakes),
        }
    }

    /// Unregisters these.
    fn empty(&self, root: &mut Root, hook: Hook, slots: &[u32]) {
        for slot in slots {
            root.taken.remove(slot);
            // Not there any more is as good as deleted.
            let _ = self.hook(hook).0.delete(&slot.to_ne_bytes());
        }
        if root.taken.is_empty() {
            root.link = None;
        }
    }
}

/// A registered program.
pub(crate) struct Registered {
    dispatcher: Rc<Dispatcher>,
    hook: Hook,
    slots: Vec<u32>,
    /// No link shows that it is ours (`bpf/own.rs`).
    _program: OwnedFd,
}

impl Drop for Registered {
    fn drop(&mut self) {
        let root = &mut self.dispatcher.roots.borrow_mut()[self.hook as usize];
        self.dispatcher.empty(root, self.hook, &self.slots);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No system call has this number.
    const NOBODYS: u32 = 400;

    #[test]
    fn a_slot_leads_to_one_program_until_it_is_given_back() {
        if let Err(why) = crate::check::ebpf() {
            fathom_testing::skip(&format!("{}: {}", why.what, why.why));
            return;
        }
        let dispatcher = Dispatcher::load().unwrap();
        let program = dispatcher.loaded.progs.enters_call.as_fd();
        let first = dispatcher.register(program, Hook::In, &[NOBODYS]).unwrap();
        let again = dispatcher
            .register(program, Hook::In, &[NOBODYS + 1, NOBODYS])
            .err()
            .map(|error| error.to_string());
        assert!(again.is_some_and(|why| why.contains("slot 400")));
        assert!(
            dispatcher.register(program, Hook::In, &[NOBODYS + 1]).is_ok(),
            "the refused one took nothing"
        );
        let out = dispatcher.loaded.progs.leaves_call.as_fd();
        assert!(
            dispatcher.register(out, Hook::Out, &[NOBODYS]).is_ok(),
            "the other hook has slots of its own"
        );
        drop(first);
        assert!(dispatcher.register(program, Hook::In, &[NOBODYS]).is_ok());
    }
}
