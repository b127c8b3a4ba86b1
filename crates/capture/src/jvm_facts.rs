//! What is known of each recorded JVM: its release, collector, options, and when it started.
//!
//! Every JVM gets a source of its own without rows: its anchor says when the JVM's own clock showed
//! zero, which places logs that count from there, also logs that are given with the recording
//! later.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fathom_hotspot::find::{About, Collector, Jvm, Kind};
use fathom_recording::vocabulary::fact;
use fathom_recording::{Anchor, ClockBasis, Placement, Sink, Source, Unseen};

use crate::jvm_start::jvm_start;
use crate::perf_memory::PerfMemory;
use crate::target::{Change, Target, TargetEvent};

/// Format of a JVM's source.
const FORMAT: &str = fathom_recording::vocabulary::source::JVM;
/// How long is waited for a young JVM to say all of itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// JVMs of which everything was not known when they were found.
#[derive(Default)]
pub(crate) struct JvmFacts {
    waiting: BTreeMap<i32, (Instant, Target)>,
}

impl JvmFacts {
    /// A target came, changed or went.
    pub fn target(&mut self, event: &TargetEvent) {
        let target = &event.target;
        match event.change {
            Change::Gone => {
                self.waiting.remove(&target.pid);
            }
            _ if target.jvm => {
                self.waiting.insert(target.pid, (Instant::now(), target.clone()));
            }
            _ => {}
        }
    }

    /// Writes down what is known by now. What a JVM does not publish within some seconds it never
    /// will.
    pub fn write(&mut self, sink: &mut dyn Sink) {
        self.waiting.retain(|pid, (since, target)| {
            let Ok(Some(jvm)) = Jvm::of(*pid as u32) else { return since.elapsed() < PATIENCE };
            let counters = PerfMemory::find(*pid);
            if counters.is_none() && matches!(jvm.kind, Kind::HotSpot { .. }) && since.elapsed() < PATIENCE {
                return true;
            }
            write_one(target, &jvm, counters.as_ref(), sink);
            false
        });
    }
}

fn write_one(target: &Target, jvm: &Jvm, counters: Option<&PerfMemory>, sink: &mut dyn Sink) {
    let row = sink.process_mut(target.process);
    if let Some(main) = &jvm.about.main {
        row.name.clone_from(main);
    }
    let name = format!("{} ({})", row.name, target.pid);
    for (key, value) in facts(&jvm.about, counters) {
        row.facts.insert(key.to_owned(), value);
    }
    let start = jvm_start(target.pid, target.start_ticks);
    let how = "the JVM's start, as it published it or the kernel knows it";
    sink.add_source(Source {
        name,
        format: FORMAT.into(),
        process: Some(target.process.0),
        clock: ClockBasis::JvmUptime,
        anchor: start.map(|(zero_epoch_ns, uncertainty_ns)| Anchor {
            zero_epoch_ns,
            uncertainty_ns,
            how: how.into(),
        }),
        placement: Placement {
            wall: start.is_some(),
            offset_ns: start.map_or(0, |(zero_ns, _)| zero_ns),
            uncertainty_ns: start.map(|(_, uncertainty_ns)| uncertainty_ns),
            how: how.into(),
        },
        unseen: foreign(target.pid, &jvm.kind).into_iter().collect(),
        ..Source::default()
    });
}

/// What a runtime that is not HotSpot keeps to itself.
fn foreign(pid: i32, kind: &Kind) -> Option<Unseen> {
    let what = match kind {
        Kind::HotSpot { .. } | Kind::Other => return None,
        Kind::OpenJ9 => "OpenJ9",
        Kind::ThirtyTwoBit => "a 32-bit JVM",
        Kind::NativeImage => "a GraalVM native image",
    };
    Some(Unseen {
        scope: None,
        what: format!("Java frames and JVM events of pid {pid}"),
        why: format!("it is {what}, and fathom reads 64-bit HotSpot only"),
        remedy: "run the service on a HotSpot JDK".into(),
    })
}

/// The smallest region of G1 (`HeapRegionBounds::MIN_REGION_SIZE`), bytes.
const REGION: i64 = 1 << 20;

fn facts(about: &About, counters: Option<&PerfMemory>) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut add =
        |key, value: Option<String>| facts.extend(value.filter(|v| !v.is_empty()).map(|v| (key, v)));
    add(fact::MAIN, about.main.clone());
    add(fact::JVM_VERSION, about.vm_version.clone());
    add(fact::JDK, about.feature().map(|feature| feature.to_string()));
    add(fact::COLLECTOR, about.collector.map(|collector| collector.name().to_owned()));
    add(fact::JVM_ARGS, Some(about.options.join(" ")));
    // Reserved sizes of the generations. Where they share one reservation, each of them claims all
    // of it.
    let capacity = |i: u8| counters?.number(&format!("sun.gc.generation.{i}.maxCapacity")).filter(|n| *n > 0);
    let shared = !matches!(about.collector, Some(Collector::Serial | Collector::Parallel | Collector::Cms));
    let heap = capacity(0).into_iter().chain(capacity(1));
    let heap = if shared { heap.min() } else { heap.reduce(i64::saturating_add) };
    // G1 adds some words to each, so that none is ever zero (`pad_capacity`,
    // g1MonitoringSupport.hpp); a heap has whole regions of a megabyte or more.
    let heap = heap.map(|bytes| if bytes > REGION { bytes & !(REGION - 1) } else { bytes });
    add(fact::HEAP_MAX_BYTES, heap.map(|bytes| bytes.to_string()));
    facts
}
