//! The histogram of a running heap, with collections that run exactly while it is walked.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod jvm;

use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use fathom_hotspot::Vm;
use fathom_hotspot::attach::Attach;
use fathom_hotspot::heap::HeapBounds;
use fathom_hotspot::histogram::{Histogram, read};
use fathom_hotspot::memory::{Memory, ProcessMemory, Unreadable};
use jvm::{Jdk, Jvm, jdks, may_trace};

/// Reads of this many bytes of the heap are windows of a pass, and not fields of the JVM.
const A_WINDOW: usize = 16 << 10;

/// What happens when a pass begins.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meanwhile {
    Nothing,
    /// The program makes some more objects.
    Allocates,
    /// A collection of the whole heap, after which the program creates its objects again.
    Collects,
    /// The JVM ends.
    Ends,
}

/// Memory of a JVM in which something happens between the reading of its regions and the pass
/// through them.
struct Eventful {
    truth: Arc<ProcessMemory>,
    heap: std::ops::Range<u64>,
    meanwhile: Meanwhile,
    /// Who asks for the histogram, and reads the regions between passes; others go through them.
    asks: ThreadId,
    state: Mutex<State>,
}

struct State {
    jvm: Jvm,
    /// In this many more passes.
    walks: u32,
    /// Whether regions were read since the last window of a pass.
    between: bool,
}

impl Memory for Eventful {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        // Whoever reads next, as well, waits until it has happened.
        let mut state = self.state.lock().unwrap();
        if std::thread::current().id() == self.asks {
            state.between = true;
        } else if into.len() >= A_WINDOW && self.heap.contains(&address) && state.between {
            state.between = false;
            if state.walks > 0 {
                state.walks -= 1;
                match self.meanwhile {
                    Meanwhile::Nothing => {}
                    Meanwhile::Allocates => state.jvm.say("m"),
                    Meanwhile::Collects => {
                        Attach::to(state.jvm.pid()).unwrap().jcmd("GC.run").unwrap();
                        state.jvm.say("n");
                    }
                    Meanwhile::Ends => state.jvm.kill(),
                }
            }
        }
        drop(state);
        self.truth.read(address, into)
    }
}

type Truth = Vm<Arc<ProcessMemory>>;

/// A JVM with 128 MB of young objects, and the same in whose memory something happens.
fn eventful(
    jdk: &Jdk,
    collector: &str,
    meanwhile: Meanwhile,
    walks: u32,
) -> Option<(Truth, Vm<Arc<Eventful>>)> {
    // Nothing leaves the young generation by itself.
    let jvm = Jvm::start(jdk, &[collector, "-Xmx256m", "-Xms256m", "-Xmn128m"], &["Young"])?;
    let truth = Vm::open(jvm.pid()).unwrap();
    let heap = HeapBounds::read(&truth).unwrap().heap.unwrap();
    let memory = Arc::new(Eventful {
        truth: truth.memory.clone(),
        heap,
        meanwhile,
        asks: std::thread::current().id(),
        state: Mutex::new(State { jvm, walks, between: true }),
    });
    let vm = Vm {
        memory,
        libjvm: truth.libjvm.clone(),
        structs: truth.structs.clone(),
        release: truth.release.clone(),
    };
    Some((truth, vm))
}

fn walked(jdk: &Jdk, collector: &str, meanwhile: Meanwhile, walks: u32) -> Option<(Histogram, Histogram)> {
    let (truth, vm) = eventful(jdk, collector, meanwhile, walks)?;
    let histogram = read(&vm, 1).unwrap();
    assert_eq!(
        vm.memory.state.lock().unwrap().walks,
        walks.saturating_sub(histogram.walks),
        "{jdk:?} {collector} {meanwhile:?}"
    );
    Some((histogram, read(&truth, 1).unwrap()))
}

fn items(histogram: &Histogram) -> f64 {
    histogram.rows.iter().find(|row| row.class == "Young$Item").map_or(0.0, |row| row.instances)
}

fn each(check: impl Fn(&Jdk, &str)) {
    if !may_trace() {
        return;
    }
    for jdk in jdks() {
        for collector in ["-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"] {
            // The regions of G1 and the generations of Serial are among the tables of later
            // releases only.
            if jdk.release > 8 || collector.contains("Parallel") {
                check(&jdk, collector);
            }
        }
    }
}

#[test]
fn a_heap_that_is_only_allocated_in_is_walked_once_and_nothing_moved() {
    each(|jdk, collector| {
        for meanwhile in [Meanwhile::Nothing, Meanwhile::Allocates] {
            let Some((seen, _)) = walked(jdk, collector, meanwhile, 1) else { return };
            assert_eq!(
                (seen.walks, seen.moved_bytes),
                (1, 0),
                "JDK {} {collector} {meanwhile:?}",
                jdk.release
            );
            assert!(items(&seen) >= 200_000.0, "JDK {} {collector}: {}", jdk.release, items(&seen));
        }
    });
}

#[test]
fn a_walk_during_which_a_collection_ran_is_made_again() {
    each(|jdk, collector| {
        let Some((seen, quiet)) = walked(jdk, collector, Meanwhile::Collects, 1) else { return };
        let what = format!("JDK {} {collector}", jdk.release);
        assert_eq!((seen.walks, seen.moved_bytes), (2, 0), "{what}");
        assert_eq!(items(&seen), items(&quiet), "{what}");
    });
}

#[test]
fn where_a_collection_runs_in_every_pass_what_moved_is_reported() {
    each(|jdk, collector| {
        let Some((seen, _)) = walked(jdk, collector, Meanwhile::Collects, 3) else { return };
        let what = format!("JDK {} {collector}: {} of {} B", jdk.release, seen.moved_bytes, seen.read_bytes);
        assert_eq!(seen.walks, 3, "{what}");
        assert!(seen.moved_bytes > seen.read_bytes / 100 && seen.moved_bytes <= seen.read_bytes, "{what}");
    });
}

#[test]
fn a_jvm_that_ends_while_its_heap_is_walked_is_an_error_at_once() {
    each(|jdk, collector| {
        let Some((_, vm)) = eventful(jdk, collector, Meanwhile::Ends, 1) else { return };
        let begun = std::time::Instant::now();
        assert!(read(&vm, 1).is_err(), "JDK {} {collector}", jdk.release);
        let took = begun.elapsed();
        assert!(took.as_secs() < 20, "JDK {} {collector}: {took:?}", jdk.release);
    });
}
