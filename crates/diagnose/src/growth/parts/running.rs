//! Running time of threads, split as their CPU samples are.

use fathom_recording::vocabulary::sample;
use fathom_recording::{StackId, ThreadId};
use rustc_hash::FxHashMap;

use super::{BASE, ByCause, Cause, FRAMES};
use crate::attribution::Key;
use crate::chain::Chains;
use crate::intervals::Intervals;
use crate::places::Places;
use crate::thread_ledger::Taken;
use crate::waits::Category;

/// Weights of CPU samples by the application's method, the stack and the thread, by frame.
pub(super) type Ran<'a> = FxHashMap<(&'a str, Option<StackId>, ThreadId), [f64; FRAMES]>;

/// CPU samples of a thread within windows.
pub(super) fn on_cpu<'c>(
    chains: &'c Chains<'_>,
    thread: ThreadId,
    windows: &Intervals,
) -> impl Iterator<Item = &'c Taken> {
    let kinds = sample::ON_CPU.map(|kind| chains.recording().strings.find(kind));
    let samples = chains.samples(thread).iter();
    samples.filter(move |s| kinds.contains(&Some(s.kind)) && windows.touches(s.t_ns, s.t_ns))
}

/// Milliseconds of CPU time that a sample stands for.
pub(super) fn ms_of(weight: i64) -> f64 {
    weight.max(0) as f64 / 1e6
}

/// Weights of a thread's CPU samples by the application's method and the stack.
pub(super) fn sampled<'a>(
    chains: &Chains<'a>,
    places: &mut Places<'a>,
    thread: ThreadId,
    windows: &Intervals,
) -> Vec<(&'a str, Option<StackId>, f64)> {
    on_cpu(chains, thread, windows)
        .map(|s| (places.of(s.stack()), s.stack(), s.weight.max(0) as f64))
        .collect()
}

/// Running time of all threads, split as their samples are.
pub(super) fn running<'a>(parts: &mut ByCause<'a>, chains: &Chains<'a>, ran_ms: [f64; FRAMES], ran: Ran<'a>) {
    let mut weights = [0.0; FRAMES];
    for by_frame in ran.values() {
        (0..FRAMES).for_each(|frame| weights[frame] += by_frame[frame]);
    }
    for ((place, stack, thread), by_frame) in ran {
        // What the recorder does in the name of a thread is no work of the method that the thread
        // was in. Nor is a page fault work of the method that happens to touch the memory first.
        let key = match chains.is_in_recorder(stack) {
            true => Key { category: Category::Recorder, place: "", target: "" },
            false if chains.stacks().category(stack) == Category::PageFault => {
                Key { category: Category::KernelFault, place, target: "" }
            }
            false => Key { category: Category::Running, place, target: "" },
        };
        let part = parts.entry(Cause::itself(key)).or_default();
        for frame in 0..FRAMES {
            if weights[frame] > 0.0 {
                let ms = ran_ms[frame] * by_frame[frame] / weights[frame];
                part.ms[frame] += ms;
                if let Some(stack) = stack {
                    part.by_stack.entry(stack).or_default()[frame] += ms;
                }
            }
            if frame != BASE && by_frame[frame] > 0.0 {
                part.threads.insert(thread);
            }
        }
    }
    for frame in (0..FRAMES).filter(|frame| weights[*frame] <= 0.0 && ran_ms[*frame] > 0.0) {
        let key = Key { category: Category::Running, place: "", target: "" };
        parts.entry(Cause::itself(key)).or_default().ms[frame] += ran_ms[frame];
    }
}
