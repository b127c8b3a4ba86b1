//! System calls on their way in and out: one program on each of the two tracepoints, which jumps to those of the collectors.
//!
//! Seven programs on the tracepoints cost each system call of the host twice what two cost, though five of them look at a few
//! calls only (`bpf/calls.h` has the order in which programs are reached, `docs/benchmarks.md` the figures). Where the jumps do not
//! work, collectors hang their programs on the tracepoints themselves.

use std::cell::RefCell;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::rc::Rc;

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, OpenObject, Result};

use super::object::{place, skeleton};
use super::silence;

skeleton!("calls");
use skeleton::{CallsSkel, CallsSkelBuilder};

/// The program that tells of waits when their call returns: `CALL_SLOT_WAITS`.
pub(crate) const WAITS: u32 = 512;
/// The one that counts every call, always the last: `CALL_SLOT_EVERY`.
pub(crate) const EVERY: u32 = 513;

/// A way on which programs meet a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The thread enters it.
    In,
    /// It returns.
    Out,
}

/// The two programs, and whom they hand calls to.
pub(crate) struct Calls {
    loaded: CallsSkel<'static>,
    /// By [`Way`].
    roots: RefCell<[Root; 2]>,
}

/// The program of a way: attached while there is somebody to be reached on it.
#[derive(Default)]
struct Root {
    link: Option<Link>,
    users: usize,
}

impl Calls {
    /// Loads them; nothing is attached yet.
    pub(crate) fn load() -> Result<Rc<Self>> {
        silence();
        let loaded = CallsSkelBuilder::default().open(place())?.load()?;
        Ok(Rc::new(Self { loaded, roots: RefCell::default() }))
    }

    /// Prepares an object that is not loaded yet: `programs` of it are reached from here, and not attached with the others.
    pub(crate) fn take_over(&self, object: &mut OpenObject, programs: &[&str]) -> Result<()> {
        for mut map in object.maps_mut() {
            match map.name().to_str() {
                Some("entering") => map.reuse_fd(self.loaded.maps.entering.as_fd())?,
                Some("leaving") => map.reuse_fd(self.loaded.maps.leaving.as_fd())?,
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

    /// Hands calls to a program until what is returned is dropped. `slots`: numbers of calls, [`WAITS`] or [`EVERY`].
    pub(crate) fn hand(self: &Rc<Self>, program: BorrowedFd<'_>, way: Way, slots: &[u32]) -> Result<Handed> {
        let roots = &mut *self.roots.borrow_mut();
        let [entering, leaving] = roots;
        let (root, map, first) = match way {
            Way::In => (entering, &self.loaded.maps.entering, &self.loaded.progs.enters_call),
            Way::Out => (leaving, &self.loaded.maps.leaving, &self.loaded.progs.leaves_call),
        };
        for slot in slots {
            map.update(&slot.to_ne_bytes(), &program.as_raw_fd().to_ne_bytes(), MapFlags::ANY)?;
        }
        if root.link.is_none() {
            root.link = Some(first.attach()?);
        }
        root.users += 1;
        Ok(Handed { calls: Rc::clone(self), way, slots: slots.to_vec() })
    }

    /// Hands nothing to these any more.
    fn take_back(&self, way: Way, slots: &[u32]) {
        let [entering, leaving] = &mut *self.roots.borrow_mut();
        let (root, map) = match way {
            Way::In => (entering, &self.loaded.maps.entering),
            Way::Out => (leaving, &self.loaded.maps.leaving),
        };
        for slot in slots {
            // Not there any more is as good as deleted.
            let _ = map.delete(&slot.to_ne_bytes());
        }
        root.users -= 1;
        if root.users == 0 {
            root.link = None;
        }
    }
}

/// A program that is handed calls.
pub(crate) struct Handed {
    calls: Rc<Calls>,
    way: Way,
    slots: Vec<u32>,
}

impl Drop for Handed {
    fn drop(&mut self) {
        self.calls.take_back(self.way, &self.slots);
    }
}
