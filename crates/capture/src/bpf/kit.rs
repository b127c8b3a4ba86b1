//! What is done alike for every object of `bpf/`, each step with its words for what may go wrong
//! ([`Context::kit`](crate::Context) has it for a collector):
//!
//! ```text
//!   Kit: the recorded processes, what is shared ── open ──▶ Opened: constants, parts left out, sizes
//!     ── load ──▶ Loaded: ring buffers, losses ── attach, or probe by probe ──▶ kept
//! ```

use std::os::fd::AsFd;
use std::rc::Rc;

use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{Map, MapCore, OpenObject};

use super::dispatcher::{Dispatcher, Hook, Registered};
use super::interrupts::Interrupts;
use super::losses::Losses;
use super::object::place;
use super::ring::Ring;
use super::{pid_namespace, silence, unavailable};
use crate::Unavailable;

/// Constants that are the same for all objects which have them (`bpf/targets.h`, `bpf/sampler.h`,
/// `bpf/namespace.h`).
pub(crate) struct Common {
    pub(crate) own_pid: u32,
    pub(crate) pidns_ino: u64,
    pub(crate) all_processes: u8,
}

/// The constants of an object that is open: generated with its skeleton (`build.rs`).
pub(crate) trait Constants {
    /// All of them.
    type All: 'static;

    /// `None`: the kernel does not map them.
    fn constants(&mut self) -> Option<&mut Self::All>;

    /// Sets those that are the same for all objects.
    fn set_common(constants: &mut Self::All, common: &Common);
}

/// A program that the dispatcher reaches, where there is one, by its name.
pub(crate) struct Hooked {
    program: &'static str,
    hook: Hook,
    slots: Vec<u32>,
}

/// Gives an object that is open maps of others.
type Share<'a> = Box<dyn Fn(&mut OpenObject) -> libbpf_rs::Result<()> + 'a>;

/// What an object is loaded with.
pub(crate) struct Kit<'a> {
    /// What cannot be seen without it.
    what: &'static str,
    whole_host: bool,
    shared: Option<Share<'a>>,
    interrupts: Option<Rc<Interrupts>>,
    /// Whether it asked for the dispatcher, which may not be there.
    is_reached: bool,
    dispatcher: Option<Rc<Dispatcher>>,
    hooked: Vec<Hooked>,
}

impl<'a> Kit<'a> {
    /// For an object that shares nothing.
    pub(crate) fn alone(what: &'static str) -> Self {
        Self {
            what,
            whole_host: false,
            shared: None,
            interrupts: None,
            is_reached: false,
            dispatcher: None,
            hooked: Vec::new(),
        }
    }

    /// Whether it sees every process, or those in the map of targets only.
    pub(crate) fn sees_all(self, whole_host: bool) -> Self {
        Self { whole_host, ..self }
    }

    /// It gets maps of others: the tables by which stacks are walked, the targets.
    pub(crate) fn shares(self, share: impl Fn(&mut OpenObject) -> libbpf_rs::Result<()> + 'a) -> Self {
        Self { shared: Some(Box::new(share)), ..self }
    }

    /// It sees what interrupts CPUs, where that can be seen.
    pub(crate) fn sees_interrupts(self, interrupts: Option<Rc<Interrupts>>) -> Self {
        Self { interrupts, ..self }
    }

    /// The dispatcher reaches what is [`hooked`](Self::hooked). Where there is none, that is
    /// attached by itself.
    pub(crate) fn reached_by(self, dispatcher: Option<Rc<Dispatcher>>) -> Self {
        Self { is_reached: true, dispatcher, ..self }
    }

    /// A program of it is reached by these slots of the dispatcher. In this order they are
    /// registered.
    pub(crate) fn hooked(mut self, program: &'static str, hook: Hook, slots: &[u32]) -> Self {
        // It would work all the same, attached by itself: every call of the host would run it.
        debug_assert!(self.is_reached, "{program} needs the dispatcher");
        self.hooked.push(Hooked { program, hook, slots: slots.to_vec() });
        self
    }

    /// Opens it and sets which processes are recorded and what is shared.
    pub(crate) fn open<B>(self, builder: B) -> Result<Opened<B::Output>, Unavailable>
    where
        B: SkelBuilder<'static>,
        B::Output: Constants,
    {
        let failed = |step: &'static str| move |error: libbpf_rs::Error| unavailable(self.what, step, &error);
        silence();
        let mut skel = builder.open(place()).map_err(failed("opening"))?;
        let common = Common {
            own_pid: std::process::id(),
            pidns_ino: pid_namespace(),
            all_processes: self.whole_host.into(),
        };
        let constants = skel.constants().ok_or_else(|| no_constants(self.what))?;
        <B::Output as Constants>::set_common(constants, &common);
        let object = skel.open_object_mut();
        if let Some(share) = &self.shared {
            share(object).map_err(failed("sharing the tables of"))?;
        }
        if let Some(interrupts) = &self.interrupts {
            interrupts.share(object).map_err(failed("sharing the interrupts of"))?;
        }
        if let Some(dispatcher) = self.dispatcher.as_ref().filter(|_| !self.hooked.is_empty()) {
            let programs: Vec<&str> = self.hooked.iter().map(|hooked| hooked.program).collect();
            dispatcher.take_over(object, &programs).map_err(failed("sharing the dispatcher of"))?;
        }
        let Self { what, dispatcher, hooked, .. } = self;
        Ok(Opened { skel, rest: Rest { what, dispatcher, hooked } })
    }
}

/// What is still needed when an object is open.
struct Rest {
    what: &'static str,
    dispatcher: Option<Rc<Dispatcher>>,
    hooked: Vec<Hooked>,
}

/// An object that is open and not loaded yet.
pub(crate) struct Opened<O> {
    pub(crate) skel: O,
    rest: Rest,
}

impl<O: OpenSkel<'static> + Constants> Opened<O> {
    /// Its constants.
    pub(crate) fn constants(&mut self) -> &mut O::All {
        self.skel.constants().expect("they were there when it was opened")
    }

    /// Has the kernel verify and load it.
    pub(crate) fn load(self) -> Result<Loaded<O::Output>, Unavailable> {
        let skel = self.skel.load().map_err(|error| unavailable(self.rest.what, "loading", &error))?;
        Ok(Loaded { skel, rest: self.rest })
    }
}

/// An object that is loaded.
pub(crate) struct Loaded<S> {
    pub(crate) skel: S,
    rest: Rest,
}

impl<S: Skel<'static>> Loaded<S> {
    /// What a step that failed kept from being seen.
    pub(crate) fn failed(&self, step: &'static str) -> impl Fn(libbpf_rs::Error) -> Unavailable + use<S> {
        let what = self.rest.what;
        move |error| unavailable(what, step, &error)
    }

    fn map(&self, name: &str) -> Map<'_> {
        let mut maps = self.skel.object().maps();
        maps.find(|map| map.name() == name).expect("the object declares the map")
    }

    /// A ring buffer of it by its name, its records read by `parse` and at most `most` of them in a
    /// round.
    pub(crate) fn ring<T: 'static>(
        &self,
        name: &str,
        parse: fn(&[u8]) -> Option<T>,
        most: usize,
    ) -> Result<Ring<T>, Unavailable> {
        Ring::over(&self.map(name), parse, most).map_err(self.failed("mapping a ring buffer of"))
    }

    /// What it leaves out.
    pub(crate) fn losses(&self) -> Result<Losses, Unavailable> {
        Losses::over(&self.map("losses")).map_err(self.failed("opening a map of"))
    }

    /// Attaches what it says itself where to, and registers what the dispatcher reaches.
    pub(crate) fn attach(&mut self) -> Result<Vec<Registered>, Unavailable> {
        self.skel.attach().map_err(self.failed("attaching"))?;
        let Some(dispatcher) = &self.rest.dispatcher else { return Ok(Vec::new()) };
        let register = |hooked: &Hooked| {
            let mut programs = self.skel.object().progs();
            let program = programs.find(|program| program.name() == hooked.program);
            let program = program.expect("the object has the program");
            dispatcher.register(program.as_fd(), hooked.hook, &hooked.slots)
        };
        let registered: libbpf_rs::Result<Vec<Registered>> = self.rest.hooked.iter().map(register).collect();
        registered.map_err(self.failed("attaching"))
    }

    /// What is to stay of it (`bpf/attached.rs`).
    pub(crate) fn keep<K>(self, of: fn(S) -> libbpf_rs::Result<K>) -> Result<K, Unavailable> {
        let failed = self.failed("opening a map of");
        of(self.skel).map_err(failed)
    }
}

fn no_constants(what: &str) -> Unavailable {
    Unavailable {
        scope: None,
        what: what.to_owned(),
        why: "the kernel does not map the constants of its eBPF program".to_owned(),
        remedy: "a kernel from 5.17 on; `fathom check` lists what is missing".to_owned(),
    }
}
