//! One method that is watched, from compilation to compilation.

use std::time::{Duration, Instant};

use fathom_hotspot::symbols::{Compiled, Method};

/// What becomes of its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// They are counted, or will be as soon as there is code and a breakpoint for it.
    Waits,
    /// They are not: there were too many.
    TooHot,
}

/// A method that is meant.
#[derive(Debug)]
pub(super) struct Followed {
    /// The `Method*`.
    pub(super) method: u64,
    /// "package.Class::method(I)V".
    pub(super) name: String,
    /// Whether it is native.
    pub(super) native: bool,
    /// What calls of it reach, by the last look.
    pub(super) code: Option<Compiled>,
    /// Its breakpoint.
    pub(super) slot: Option<usize>,
    /// Numbers of its entries so far; the last one is that of the breakpoint.
    pub(super) entries: Vec<u32>,
    /// What becomes of its calls.
    pub(super) state: State,
    /// Why it has no breakpoint though one was tried.
    pub(super) refused: Option<String>,
    /// How often CPUs stopped where the program did not run.
    pub(super) unseen: u64,
    /// When a breakpoint was set on its code for the first time.
    first: Option<Instant>,
    since: Option<Instant>,
    watched: Duration,
}

impl Followed {
    pub(super) fn new(method: u64, about: &Method) -> Self {
        Self {
            method,
            name: full_name(about),
            native: about.native,
            code: None,
            slot: None,
            entries: Vec::new(),
            state: State::Waits,
            refused: None,
            unseen: 0,
            first: None,
            since: None,
            watched: Duration::ZERO,
        }
    }

    /// Its class was redefined, or another method lies at its address.
    pub(super) fn rename(&mut self, about: &Method) {
        self.native = about.native;
        let name = full_name(about);
        if self.name != name {
            self.name = name;
        }
    }

    /// A breakpoint stands on its code.
    pub(super) fn armed(&mut self, slot: usize, entry: u32, now: Instant) {
        self.slot = Some(slot);
        self.entries.push(entry);
        self.first.get_or_insert(now);
        self.since = Some(now);
        self.refused = None;
    }

    /// It is removed. `unseen`: hits that the program did not see.
    pub(super) fn disarmed(&mut self, state: State, unseen: u64) {
        self.slot = None;
        self.state = state;
        self.unseen += unseen;
        self.watched += self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
    }

    /// Whether it was counted at any time.
    pub(super) fn is_counted(&self) -> bool {
        !self.entries.is_empty()
    }

    /// How long none did, from the first on.
    pub(super) fn unwatched(&self, now: Instant) -> Duration {
        let since = self.first.map_or(Duration::ZERO, |first| now.saturating_duration_since(first));
        since.saturating_sub(self.watched(now))
    }

    /// How long a breakpoint was set on its code.
    pub(super) fn watched(&self, now: Instant) -> Duration {
        self.watched + self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }
}

fn full_name(method: &Method) -> String {
    format!("{}::{}{}", method.class, method.name, method.signature)
}
