//! What the collector's threads run in pauses, by their stacks: a pause whose record has no phases,
//! as that of a live recording, does not say what it spends its time on.

use fathom_recording::vocabulary::{sample, source};
use fathom_recording::{ProcessId, Recording, Role, StackId, Thread, ThreadId};
use rustc_hash::FxHashMap;

use super::gc_case::summed;
use crate::facts::{Metric, Value, mechanisms, pauses, remedies, titles};
use crate::intervals::Intervals;
use crate::{Case, Finding};

/// What of their time in pauses it must make up to be reported.
const MUCH: f64 = 0.4;
/// CPU time in pauses that is too little to tell, milliseconds: some thirty samples at 99 Hz.
const LITTLE_MS: f64 = 300.0;

/// What a worker runs that has nothing left to do and waits for the others.
const IDLE: [&str; 3] = ["SpinPause", "TaskTerminator::", "ParallelTaskTerminator::"];

/// Copying what survives, which scanning leads to.
const COPIES: [&str; 4] = ["copy_to_survivor", "trim_queue", "drain_stacks", "process_popped_location"];

/// Work of collectors: its words, parts of names of HotSpot functions, and what makes it less.
type Work = (&'static Metric, &'static [&'static str], &'static Metric);

/// The special before the general. Copying what survives is what pauses are for, and is in none.
static WORKS: [Work; 6] = [
    (&mechanisms::GC_VERIFIES, &["Universe::verify", "G1HeapVerifier::"], &remedies::NO_VERIFYING),
    (
        &mechanisms::GC_REFERENCES,
        &[
            "ReferenceProcessor::",
            "RefProcPhase",
            "ParallelScavengeRefProc",
            "WeakProcessor::",
            "InstanceRefKlass",
        ],
        &remedies::FEWER_REFERENCES,
    ),
    (
        &mechanisms::GC_STACKS,
        &["JavaThread::oops_do", "Threads::possibly_parallel_oops_do", "Threads::oops_do", "ThreadRootsTask"],
        &remedies::SHALLOWER_STACKS,
    ),
    (
        &mechanisms::GC_CODE,
        &["nmethod::oops_do", "CodeCache::blobs_do", "CodeCache::do_unloading", "G1CodeRootSet::"],
        &remedies::LESS_CODE,
    ),
    (
        &mechanisms::GC_CLASSES,
        &["ClassLoaderDataGraph::", "ClassLoaderData::oops_do", "SystemDictionary::do_unloading"],
        &remedies::FEWER_LOADERS,
    ),
    (
        &mechanisms::GC_CARDS,
        &[
            "G1RemSet::",
            "G1ScanHRForRegionClosure",
            "G1MergeHeapRoots",
            "PSCardTable::",
            "CardTableRS::",
            "ClearNoncleanCardWrapper::",
            "DirtyCardToOopClosure::",
        ],
        &remedies::FEWER_OLD_TO_YOUNG,
    ),
];

/// Says of a finding about collections what most of their threads' time in these pauses went to,
/// where that is no copying.
pub(super) fn report(case: &Case<'_>, jvm: ProcessId, collected: &Intervals, finding: &mut Finding) {
    let Some((work, share)) = most(case, jvm, collected) else { return };
    let of_it = pauses::COLLECTOR_WORK.is(Value::share(share)).with("work", Value::from(work.0.fact()));
    let title = titles::COLLECTOR_WORK.is(Value::share(share)).with("work", Value::from(work.0.fact()));
    finding.title = title.with("title", Value::from(&finding.title)).into();
    finding.evidence.insert(1.min(finding.evidence.len()), summed(source::CPU, of_it));
    finding.remedies.insert(0, work.2.remedy());
}

fn most(case: &Case<'_>, jvm: ProcessId, collected: &Intervals) -> Option<(&'static Work, f64)> {
    let recording = case.recording;
    let kinds = sample::ON_CPU.map(|kind| recording.strings.find(kind));
    let mut by_stack: FxHashMap<StackId, f64> = FxHashMap::default();
    let threads = recording.threads.iter().enumerate();
    // The serial collector runs in the JVM's own thread.
    let collects = |thread: &Thread| [Role::Gc, Role::Vm].contains(&thread.role);
    let own = threads.filter(|(_, thread)| thread.process == jvm && collects(thread));
    for (i, _) in own {
        let samples = case.chains().samples(ThreadId(i as u32));
        for taken in samples.iter().filter(|taken| kinds.contains(&Some(taken.kind))) {
            if collected.touches(taken.t_ns, taken.t_ns)
                && let Some(stack) = taken.stack()
                && !is_in(recording, stack, &IDLE)
            {
                *by_stack.entry(stack).or_default() += taken.weight.max(0) as f64 / 1e6;
            }
        }
    }
    let all: f64 = by_stack.values().sum();
    if all < LITTLE_MS {
        return None;
    }
    let share = |work: &Work| {
        let of_it = by_stack.iter().filter(|(stack, _)| does(recording, **stack, work.1));
        of_it.map(|(_, ms)| ms).sum::<f64>() / all
    };
    let shares = WORKS.iter().map(|work| (work, share(work)));
    shares.filter(|(_, share)| *share >= MUCH).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Whether a thread is at some work, and not at copying what that leads to.
fn does(recording: &Recording, stack: StackId, functions: &[&str]) -> bool {
    let frames = recording.frames_of(stack).filter(|frame| !frame.is_java());
    let mut frames = frames.map(|frame| frame.name());
    let is_of = |name: &str, functions: &[&str]| functions.iter().any(|function| name.contains(function));
    let first = frames.find(|name| is_of(name, functions) || is_of(name, &COPIES));
    first.is_some_and(|name| is_of(name, functions))
}

fn is_in(recording: &Recording, stack: StackId, functions: &[&str]) -> bool {
    let mut frames = recording.frames_of(stack).filter(|frame| !frame.is_java());
    frames.any(|frame| functions.iter().any(|function| frame.name().contains(function)))
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::Jvm;
    use fathom_recording::{SampleRow, Sink};

    use super::*;
    use crate::built::{Built, whole_run};
    use crate::{Confidence, Layer};

    /// Ten pauses of 100 ms, in which a thread runs all the time: `scans_ms` of it scanning stacks,
    /// the rest copying.
    fn reported(scans_ms: i64) -> Finding {
        reported_of(scans_ms, "GC Thread#0", Role::Gc, "G1ParScanThreadState::do_copy_to_survivor_space")
    }

    fn reported_of(scans_ms: i64, thread: &str, role: Role, rest: &str) -> Finding {
        let mut built = Built::jvm("17", "G1", 10.0);
        let thread = Some(built.recording.thread(built.jvm, Some(11), thread, role));
        let scans = built.stack(&[("OopMapSet::all_do", Jvm), ("JavaThread::oops_do_frames", Jvm)]);
        let copies = built.stack(&[(rest, Jvm)]);
        let (process, source) = (built.jvm, built.source);
        for i in 0..10 {
            for (stack, weight) in [(scans, scans_ms), (copies, 100 - scans_ms)] {
                let (t_ns, weight) = (i * 1_000_000_000 + 50_000_000, weight * 1_000_000);
                let kind = sample::CPU;
                built.recording.sample(&SampleRow { kind, t_ns, process, thread, stack, weight, source });
            }
        }
        let recording = built.sealed();
        let case = whole_run(&recording);
        let sure = (Confidence::Likely, Vec::new());
        let mut finding = case.finding_by("jvm-stopped", Layer::Gc, process, sure, 1_000.0);
        finding.title =
            titles::GC_WAITED_FOR_CPU.is(Value::share(0.5)).with("paused", Value::ms(1_000.0)).into();
        let pauses = (0..10).map(|i| (i * 1_000_000_000, i * 1_000_000_000 + 100_000_000));
        report(&case, process, &Intervals::of(pauses), &mut finding);
        finding
    }

    #[test]
    fn what_the_collector_spends_pauses_on_is_reported_unless_it_copies() {
        let scans = reported(90);
        scans.title.states(&titles::COLLECTOR_WORK, &[("value", "90%")]);
        assert!(scans.title.fact().find(&mechanisms::GC_STACKS).is_some());
        assert!(scans.advises(&remedies::SHALLOWER_STACKS), "{scans:#?}");
        assert!(reported(20).title.fact().find(&titles::COLLECTOR_WORK).is_none());
        let serial = reported_of(90, "VM Thread", Role::Vm, "DefNewGeneration::copy_to_survivor_space");
        serial.title.states(&titles::COLLECTOR_WORK, &[("value", "90%")]);
        // Cards lead to objects that are copied.
        let mut built = Built::jvm("17", "G1", 1.0);
        let frames = |inner| [(inner, Jvm), ("G1RemSet::scan_heap_roots", Jvm)];
        let trims = frames("G1ParScanThreadState::trim_queue_to_threshold");
        let (copies, scans) = (built.stack(&trims), built.stack(&frames("BitMap::get_next_bit")));
        let recording = built.sealed();
        let scans_cards = |stack: Option<StackId>| does(&recording, stack.unwrap(), &["G1RemSet::"]);
        assert!(!scans_cards(copies) && scans_cards(scans));
        let idle = reported_of(60, "GC Thread#0", Role::Gc, "SpinPause");
        idle.title.states(&titles::COLLECTOR_WORK, &[("value", "100%")]);
    }
}
