//! Code that ran before it was compiled: interpreted, or C1's, of methods that are compiled from
//! the beginning of a burst on.

use std::collections::HashSet;

use fathom_recording::{FrameType, ProcessId, Recording, StackId};

use super::super::jit_case::{JitCase, name_of};
use super::super::jit_deopt_loop::in_a_loop;
use super::burst::Burst;
use crate::Case;

/// What of the time in code that is not compiled yet its compiled form would have saved: the
/// interpreter takes some twenty times as long as C2's code, C1's profiled code two and a half
/// times. The rest is the work itself.
const SAVED_OF_INTERPRETED: f64 = 0.95;
const SAVED_OF_C1: f64 = 0.6;

/// The methods of bursts, to tell by a stack whether it is in one that is not compiled yet.
pub(super) struct Uncompiled<'a> {
    recording: &'a Recording,
    methods: HashSet<&'a str>,
}

impl<'a> Uncompiled<'a> {
    /// The methods of the bursts in the slow windows of a case; `None` without a burst.
    pub(super) fn of(case: &Case<'a>, jvm: ProcessId) -> Option<Self> {
        let jit = JitCase::read(case, jvm);
        let looping = in_a_loop(&jit);
        let bursts: Vec<Burst<'_>> =
            case.slow.iter().filter_map(|w| Burst::in_window(&jit, *w, &looping)).collect();
        Self::of_bursts(&jit, &bursts)
    }

    /// The methods that are compiled from the beginning of bursts on.
    pub(super) fn of_bursts(jit: &JitCase<'_, 'a>, bursts: &[Burst<'_>]) -> Option<Self> {
        let onset = bursts.iter().map(|burst| burst.onset_ns).min()?;
        let from = jit.tasks.partition_point(|task| task.queued_ns < onset);
        let methods = jit.tasks[from..].iter().map(|task| name_of(task.method())).collect();
        Some(Self { recording: jit.case.recording, methods })
    }

    /// Whether a stack is in code that was not what C2 makes of it later: interpreted, or C1's, of
    /// a method that was compiled.
    pub(super) fn ran_as(&self, stack: StackId) -> Option<FrameType> {
        // What was inlined runs as what it was inlined into does.
        let mut frames = self.recording.frames_of(stack);
        let frame = frames.find(|frame| frame.frame_type() != FrameType::Inlined)?;
        let is_uncompiled = matches!(frame.frame_type(), FrameType::Interpreted | FrameType::C1);
        (is_uncompiled && self.methods.contains(name_of(frame.name()))).then_some(frame.frame_type())
    }

    /// What of the time in a stack its compiled form would have saved, as a share.
    pub(super) fn saved(&self, stack: StackId) -> f64 {
        self.ran_as(stack).map_or(0.0, saved)
    }
}

/// See [`SAVED_OF_INTERPRETED`].
pub(super) fn saved(ran_as: FrameType) -> f64 {
    if ran_as == FrameType::Interpreted { SAVED_OF_INTERPRETED } else { SAVED_OF_C1 }
}
