//! Time on a CPU, divided by the layers that samples saw.

use fathom_recording::vocabulary::sample;
use fathom_recording::{FrameType, Recording, Role};

use super::charge::CATEGORIES;
use super::gaps::Kinds;
use super::thread_records::{Taken, ThreadRecords};
use crate::Window;
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::waits::stack::ByStack;

/// Moves time by samples: running time out of the unknown where nobody watched the switches, and
/// running time to the layer that was sampled. Nothing is moved that is not there, so the sum
/// stays.
pub(super) fn by_samples(
    recording: &Recording,
    records: &ThreadRecords<'_>,
    kinds: &Kinds,
    role: Role,
    stacks: &ByStack,
    window: Window,
    spent_ns: &mut [i64; CATEGORIES],
) -> (u64, i64) {
    let is_time = kinds.on_cpu == recording.strings.find(sample::CPU);
    let watched = Intervals::of(records.watched.iter().copied());
    let (mut sampled_ns, mut unwatched_ns) = (0_i64, 0_i64);
    let mut layers = [0_i64; CATEGORIES];
    let mut cpu_samples = 0;
    let before = |end: i64| records.samples.partition_point(|s| s.t_ns < end);
    for sample in &records.samples[before(window.from_ns)..before(window.to_ns).max(before(window.from_ns))] {
        if !kinds.is_on_cpu(sample.kind) {
            continue;
        }
        let weight = sample.weight.max(0);
        cpu_samples += 1;
        // Cycles are no time: they divide the time that was measured, and add none.
        let is_watched = || watched.within(sample.t_ns, sample.t_ns.saturating_add(1)).next().is_some();
        if is_time {
            sampled_ns = sampled_ns.saturating_add(weight);
            unwatched_ns = unwatched_ns.saturating_add(if is_watched() { 0 } else { weight });
        }
        let layer = &mut layers[running(recording, stacks, role, sample).index()];
        *layer = layer.saturating_add(weight);
    }
    shift(spent_ns, Category::Unknown, Category::Running, unwatched_ns);
    let sampled: i128 = layers.iter().map(|ns| i128::from(*ns)).sum();
    let measured = spent_ns[Category::Running.index()];
    for category in Category::ALL {
        // The last layer may leave a rest of some nanoseconds with "layer not sampled".
        let part = i128::from(measured) * i128::from(layers[category.index()]);
        if let Some(part) = part.checked_div(sampled) {
            shift(spent_ns, Category::Running, category, part as i64);
        }
    }
    (cpu_samples, sampled_ns)
}

pub(super) fn shift(spent_ns: &mut [i64; CATEGORIES], from: Category, to: Category, ns: i64) {
    let there = spent_ns[from.index()];
    let moved = ns.clamp(0, there.max(0));
    if from != to {
        spent_ns[from.index()] -= moved;
        spent_ns[to.index()] += moved;
    }
}

/// The layer of a CPU sample: that of its innermost frame; collectors and compilers by their
/// threads.
pub(super) fn running(recording: &Recording, stacks: &ByStack, role: Role, sample: &Taken) -> Category {
    let innermost = recording.frames_of(sample.stack()).next();
    match (innermost.map(|frame| frame.frame_type()), role) {
        (Some(FrameType::Kernel), _) if stacks.is_in_recorder(sample.stack()) => Category::Recorder,
        (Some(FrameType::Kernel), _) if stacks.category(sample.stack()) == Category::PageFault => {
            Category::KernelFault
        }
        (Some(FrameType::Kernel), _) => Category::Kernel,
        (_, Role::Gc) => Category::Gc,
        (_, Role::Jit) => Category::Jit,
        (Some(FrameType::Interpreted), _) => Category::Interpreted,
        (Some(FrameType::C1), _) => Category::C1,
        (Some(FrameType::C2), _) => Category::C2,
        // An inlined frame is as compiled as the frame that it was inlined into, and a stub works
        // for the code that calls it.
        (Some(FrameType::Inlined), _) => code_of(recording, sample).unwrap_or(Category::C2),
        (Some(FrameType::Stub), _) => code_of(recording, sample).unwrap_or(Category::Jvm),
        (Some(FrameType::Jvm), _) => Category::Jvm,
        (Some(FrameType::Native), _) => Category::Native,
        (Some(FrameType::Unknown) | None, _) => Category::Running,
    }
}

/// How the Java code of a sample runs whose innermost frames are inlined or stubs; `None` where
/// they are called by no Java code, or no caller is known.
fn code_of(recording: &Recording, sample: &Taken) -> Option<Category> {
    let mut types = recording.frames_of(sample.stack()).map(|frame| frame.frame_type());
    match types.find(|by| !matches!(by, FrameType::Inlined | FrameType::Stub))? {
        FrameType::Interpreted => Some(Category::Interpreted),
        FrameType::C1 => Some(Category::C1),
        FrameType::C2 => Some(Category::C2),
        _ => None,
    }
}
