//! What each engine can see here, what stands in the way, and what would change it.
//!
//! By trying wherever that does no harm: a program is loaded, an event opened, the tables of a JVM
//! read. A setting explains why something failed; it never proves alone that something works.

mod jvm;
mod kernel;
mod machine;
mod tries;

use crate::{CaptureEngine, Unavailable, privileges};
pub use jvm::{JvmCheck, jvm};
pub(crate) use kernel::{SHOW_SYMBOLS, setting};
pub use machine::{Machine, ebpf_obstacle, machine};

/// Whether the eBPF engine works here: the rights are there, and the kernel, tried, does as it is
/// asked (lockdown, a filter of system calls, or its age can be in the way).
pub fn ebpf() -> Result<(), Unavailable> {
    privileges::processor(std::env::consts::ARCH)?;
    privileges::capabilities()?;
    match ebpf_obstacle() {
        None => Ok(()),
        Some(item) => {
            Err(Unavailable { scope: None, what: item.what.into(), why: item.found, remedy: item.remedy })
        }
    }
}

/// How well something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should.
    Works,
    /// It works with a limit.
    Limited,
    /// It does not.
    Missing,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Short name, for machines: "ebpf-load".
    pub id: &'static str,
    /// What it is, for people: "eBPF programs".
    pub what: &'static str,
    /// The engine that needs it; [`CaptureEngine::Any`]: either, or neither to work.
    pub engine: CaptureEngine,
    /// How well it works.
    pub state: State,
    /// What was found: "a program was loaded", "EPERM".
    pub found: String,
    /// What is lost without it; empty when it works.
    pub loss: &'static str,
    /// The command or the change that would help; empty when it works or nothing does.
    pub remedy: String,
}

impl Item {
    /// Something that works.
    pub(crate) fn works(
        id: &'static str,
        what: &'static str,
        engine: CaptureEngine,
        found: impl Into<String>,
    ) -> Self {
        Self { id, what, engine, state: State::Works, found: found.into(), loss: "", remedy: String::new() }
    }

    /// The same with a limit.
    pub(crate) fn limited(
        self,
        found: impl Into<String>,
        loss: &'static str,
        remedy: impl Into<String>,
    ) -> Self {
        Self { state: State::Limited, found: found.into(), loss, remedy: remedy.into(), ..self }
    }

    /// The same, missing.
    pub(crate) fn missing(
        self,
        found: impl Into<String>,
        loss: &'static str,
        remedy: impl Into<String>,
    ) -> Self {
        Self { state: State::Missing, found: found.into(), loss, remedy: remedy.into(), ..self }
    }
}

/// Why an engine does not work, by what was looked at; `None`: it does.
pub fn obstacle<'a>(items: impl IntoIterator<Item = &'a Item>, engine: CaptureEngine) -> Option<&'a Item> {
    items.into_iter().find(|item| item.engine == engine && item.state == State::Missing)
}
