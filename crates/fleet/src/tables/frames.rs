//! `frames`: samples by minute, kind, role of the thread and method.
//!
//! A method that is on a stack more than once counts once in its total. Methods that hardly occur
//! are put together, by the whole recording and not by minute, so that one is either listed in all
//! minutes or in none; sums stay what they are.

use fathom_recording::vocabulary::sample;
use fathom_recording::{Recording, StackId, StrId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Input, minute, process, role};
use crate::columns::Rows;

const COLUMNS: &[&str] =
    &["minute_ns", "kind", "process", "role", "method", "self_weight", "total_weight", "samples"];

/// Kinds of samples that are listed by method.
const KINDS: [&str; 5] = [sample::CPU, sample::CYCLES, sample::WALL, sample::OFF_CPU, sample::ALLOC];
/// A method in the total of fewer than one of so many samples of its kind is not listed by name.
const ONE_OF: u64 = 5_000;
/// What such methods are called together.
const OTHERS: &str = "[other methods]";
/// What a sample without a stack is called.
const NO_STACK: &str = "[no stack]";
/// Frames of a stack that are looked at: deeper ones are of recursions, and a hostile file may have
/// any number.
const DEEPEST: usize = 4_096;

/// Samples that are alike but for their minute and weight.
type Key = (StrId, u32, &'static str);
/// Weight and number of such samples by minute, for each stack.
type ByStack = FxHashMap<(Key, Option<StackId>), FxHashMap<i64, (i64, i64)>>;

pub(super) fn rows(input: &Input<'_>) -> Rows {
    let recording = input.recording;
    let kinds: Vec<StrId> = KINDS.iter().filter_map(|kind| recording.strings.find(kind)).collect();
    let mut stacks = ByStack::default();
    for s in recording.samples.iter().filter(|s| kinds.contains(&s.kind)) {
        let key = (s.kind, s.process.0, role(recording, s.thread));
        let sum = stacks.entry((key, s.stack)).or_default().entry(minute(s.t_ns)).or_default();
        (sum.0, sum.1) = (sum.0.saturating_add(s.weight), sum.1 + 1);
    }
    let named_methods = named_methods(recording, &stacks);
    let mut sums: FxHashMap<(Key, Option<StrId>, bool, i64), [i64; 3]> = FxHashMap::default();
    for ((key, stack), minutes) in &stacks {
        let methods = methods(recording, *stack);
        let mut counted = FxHashSet::default();
        for (depth, method) in methods.iter().map(Some).chain(methods.is_empty().then_some(None)).enumerate()
        {
            let named = method.copied().filter(|method| named_methods.contains(&(key.0, *method)));
            let first = counted.insert(named);
            for (minute, (weight, samples)) in minutes {
                if depth > 0 && !first {
                    continue;
                }
                let sum = sums.entry((*key, named, method.is_none(), *minute)).or_default();
                if depth == 0 {
                    sum[0] = sum[0].saturating_add(*weight);
                    sum[2] += samples;
                }
                if first {
                    sum[1] = sum[1].saturating_add(*weight);
                }
            }
        }
    }
    let text = |id: StrId| recording.strings.get(id);
    let mut all: Vec<_> = sums
        .into_iter()
        .map(|((key, method, no_stack, minute), sum)| {
            let unnamed = if no_stack { NO_STACK } else { OTHERS };
            let name = method.map_or(unnamed, text);
            let process = process(recording, fathom_recording::ProcessId(key.1));
            ((text(key.0), process, key.2, name, minute, key.1), sum)
        })
        .collect();
    // Equal methods stand together: their names are then a few bytes, however many minutes there
    // are.
    all.sort_unstable();
    let mut rows = Rows::new("frames", COLUMNS);
    for ((kind, process, role, method, minute, _), [own, total, samples]) in all {
        let cells = [
            minute.into(),
            kind.into(),
            process.into(),
            role.into(),
            method.into(),
            own.into(),
            total.into(),
            samples.into(),
        ];
        rows.push(cells);
    }
    rows
}

/// The methods of a stack, innermost first, each once.
fn methods(recording: &Recording, stack: Option<StackId>) -> Vec<StrId> {
    let mut seen = FxHashSet::default();
    let names = recording.frames_of(stack).take(DEEPEST).map(|frame| frame.name_id());
    names.filter(|name| seen.insert(*name)).collect()
}

/// The methods of each kind that are listed by name.
fn named_methods(recording: &Recording, stacks: &ByStack) -> FxHashSet<(StrId, StrId)> {
    let mut all: FxHashMap<StrId, u64> = FxHashMap::default();
    let mut of: FxHashMap<(StrId, StrId), u64> = FxHashMap::default();
    for ((key, stack), minutes) in stacks {
        let samples = minutes.values().map(|(_, samples)| samples.unsigned_abs()).sum::<u64>();
        *all.entry(key.0).or_default() += samples;
        for method in methods(recording, *stack) {
            *of.entry((key.0, method)).or_default() += samples;
        }
    }
    let enough = |kind: &StrId, samples: u64| samples * ONE_OF >= all.get(kind).copied().unwrap_or(0);
    of.into_iter().filter(|((kind, _), samples)| enough(kind, *samples)).map(|(key, _)| key).collect()
}
