//! What every rule asks of a recording, found once when the first of them does.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use fathom_recording::{ProcessId, Recording};
use rustc_hash::FxHashMap;

use crate::burden::Burden;
use crate::chain::Chains;
use crate::collections::{self, Pause};
use crate::waits::stack::ByStack;

/// What is found once for a recording.
pub(crate) struct Known<'a> {
    recording: &'a Recording,
    stacks: OnceCell<ByStack>,
    chains: OnceCell<Chains<'a>>,
    stops: RefCell<FxHashMap<ProcessId, Rc<JvmStops<'a>>>>,
}

/// The collections and stops of a JVM over its whole run.
pub(crate) struct JvmStops<'a> {
    /// The outermost pauses, in order of start.
    pub(crate) pauses: Rc<Vec<Pause<'a>>>,
    /// What they take of the run.
    pub(crate) burden: Burden,
}

impl<'a> Known<'a> {
    pub(crate) fn of(recording: &'a Recording) -> Self {
        Self { recording, stacks: OnceCell::new(), chains: OnceCell::new(), stops: RefCell::default() }
    }

    #[cfg(test)]
    pub(crate) fn shared(recording: &'a Recording) -> Rc<Self> {
        Rc::new(Self::of(recording))
    }

    /// Of a recording whose chains are there already.
    pub(crate) fn with_chains(recording: &'a Recording, chains: Chains<'a>) -> Self {
        Self { chains: chains.into(), ..Self::of(recording) }
    }

    /// What the frames of stacks show.
    pub(crate) fn stacks(&self) -> &ByStack {
        self.stacks.get_or_init(|| ByStack::by_frames(self.recording))
    }

    /// What threads waited for, link by link.
    pub(crate) fn chains(&self) -> &Chains<'a> {
        self.chains.get_or_init(|| Chains::of(self.recording))
    }

    pub(crate) fn into_chains(self) -> Option<Chains<'a>> {
        self.chains.into_inner()
    }

    pub(crate) fn stops(&self, jvm: ProcessId) -> Rc<JvmStops<'a>> {
        if let Some(stops) = self.stops.borrow().get(&jvm) {
            return Rc::clone(stops);
        }
        let stops = Rc::new(JvmStops {
            pauses: Rc::new(collections::pauses(self.recording, jvm, None)),
            burden: Burden::of(self.recording, jvm),
        });
        self.stops.borrow_mut().insert(jvm, Rc::clone(&stops));
        stops
    }
}
