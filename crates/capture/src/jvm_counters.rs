//! What JVMs publish of themselves, once a second: collections, safepoints, heap, classes,
//! compilers, threads.
//!
//! Needs no rights beyond those of the JVM's user, and costs the JVM nothing: it keeps these
//! counters anyway ([`crate::perf_memory`]).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fathom_recording::vocabulary::live;

use crate::clock::monotonic_ns;
use crate::growing_series::{Counter, Gauge, Points};
use crate::perf_memory::PerfMemory;
use crate::target::{Change, Target, TargetEvent};
use crate::{CaptureEngine, Collector, Context, Entry, Order, Settings, Unavailable};

/// The line in the list of collectors.
pub const ENTRY: Entry = Entry {
    id: "jvm-counters",
    about: "what the JVM counts: collections, safepoints, heap, classes, compile time, threads",
    engine: CaptureEngine::Any,
    needs: &[],
    essential: true,
    default: true,
    order: Order::Listed,
    make: |_: &Settings| Box::new(JvmCounters::default()),
};

/// How often they are read.
const PERIOD: Duration = Duration::from_secs(1);
/// How long is waited for a young JVM to publish its counters.
const PATIENCE: Duration = Duration::from_secs(10);
/// Collectors and spaces of a heap that are asked for; HotSpot has three and five at most.
const MOST: usize = 8;

/// The collector.
#[derive(Default)]
pub struct JvmCounters {
    jvms: BTreeMap<i32, Jvm>,
    next: Option<Instant>,
}

struct Jvm {
    target: Target,
    since: Instant,
    memory: Option<PerfMemory>,
    last_ns: Option<i64>,
    counters: Vec<(String, Counter)>,
    gauges: Vec<(String, Gauge)>,
}

impl Jvm {
    fn new(target: &Target) -> Self {
        let (memory, last_ns) = (None, None);
        let (counters, gauges) = (Vec::new(), Vec::new());
        Self { target: target.clone(), since: Instant::now(), memory, last_ns, counters, gauges }
    }

    /// Finds its counters and makes their series. `false` when there are none (yet).
    fn open(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(memory) = PerfMemory::find(self.target.pid) else { return false };
        let process = self.target.process;
        let name = format!("{} ({})", cx.sink.process_mut(process).name, self.target.pid);
        // Times are in ticks of the JVM's clock.
        let tick_s =
            1.0 / memory.number("sun.os.hrt.frequency").filter(|hz| *hz > 0).unwrap_or(1_000_000_000) as f64;
        let named = |part: &str| if part.is_empty() { name.clone() } else { format!("{name} {part}") };
        let (counters, gauges) = (&mut self.counters, &mut self.gauges);
        let mut counter = |key: String, word, part: &str, step: f64| {
            if memory.number(&key).is_some() {
                counters.push((key, Counter::new(Gauge::of(word, &named(part), process), step)));
            }
        };
        for i in 0..MOST {
            let collector = format!("sun.gc.collector.{i}");
            let part = memory.text(&format!("{collector}.name")).unwrap_or_default();
            counter(format!("{collector}.invocations"), live::JVM_COLLECTIONS, &part, 1.0);
            counter(format!("{collector}.time"), live::JVM_GC_TIME, &part, tick_s);
        }
        counter("sun.rt.safepoints".into(), live::JVM_SAFEPOINTS, "", 1.0);
        counter("sun.rt.safepointTime".into(), live::JVM_SAFEPOINT_TIME, "", tick_s);
        counter("sun.rt.safepointSyncTime".into(), live::JVM_SAFEPOINT_SYNC, "", tick_s);
        counter("java.cls.loadedClasses".into(), live::JVM_CLASSES_LOADED, "", 1.0);
        counter("java.cls.sharedLoadedClasses".into(), live::JVM_CLASSES_LOADED, "shared", 1.0);
        counter("java.cls.unloadedClasses".into(), live::JVM_CLASSES_UNLOADED, "", 1.0);
        counter("java.ci.totalTime".into(), live::JVM_COMPILE_TIME, "", tick_s);
        let mut gauge = |key: String, word, part: &str| {
            if memory.number(&key).is_some() {
                gauges.push((key, Gauge::of(word, &named(part), process)));
            }
        };
        for (i, j) in (0..3).flat_map(|i| (0..MOST).map(move |j| (i, j))) {
            let space = format!("sun.gc.generation.{i}.space.{j}");
            let part = memory.text(&format!("{space}.name")).unwrap_or_default();
            gauge(format!("{space}.used"), live::JVM_HEAP_USED, &part);
            gauge(format!("{space}.capacity"), live::JVM_HEAP_CAPACITY, &part);
        }
        gauge("sun.gc.metaspace.used".into(), live::JVM_METASPACE_USED, "");
        gauge("java.threads.live".into(), live::JVM_THREADS, "");
        self.memory = Some(memory);
        true
    }

    fn read(&mut self, cx: &mut Context<'_>) {
        let Some(memory) = &self.memory else { return };
        let now_ns = monotonic_ns();
        let mut points = Points::new(cx, self.last_ns.replace(now_ns), now_ns);
        for (key, counter) in &mut self.counters {
            let value = memory.number(key).and_then(|value| u64::try_from(value).ok());
            value.into_iter().for_each(|value| points.counter(counter, value));
        }
        for (key, gauge) in &mut self.gauges {
            let value = memory.number(key).filter(|value| *value >= 0);
            value.into_iter().for_each(|value| points.gauge(gauge, value as f64));
        }
        let written = points.written();
        cx.source_mut().records += written;
    }
}

impl Collector for JvmCounters {
    fn start(&mut self, _cx: &mut Context<'_>) -> Result<(), Unavailable> {
        Ok(())
    }

    fn target(&mut self, event: &TargetEvent, cx: &mut Context<'_>) {
        let target = &event.target;
        match event.change {
            Change::Gone => {
                self.jvms.remove(&target.pid);
            }
            _ if target.jvm => {
                let mut jvm = Jvm::new(target);
                if jvm.open(cx) {
                    jvm.read(cx);
                }
                self.jvms.insert(target.pid, jvm);
            }
            _ => {}
        }
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        let now = Instant::now();
        if self.next.is_some_and(|next| now < next) {
            return Ok(());
        }
        self.next = Some(now + PERIOD);
        self.jvms.retain(|pid, jvm| {
            if jvm.memory.is_none() && !jvm.open(cx) && jvm.since.elapsed() > PATIENCE {
                cx.unseen(unpublished(*pid));
                return false;
            }
            jvm.read(cx);
            true
        });
        Ok(())
    }

    fn stop(&mut self, cx: &mut Context<'_>) {
        self.jvms.values_mut().for_each(|jvm| jvm.read(cx));
    }
}

fn unpublished(pid: i32) -> Unavailable {
    Unavailable {
        scope: None,
        what: format!("counters of the JVM (pid {pid})"),
        why: "it publishes none: it runs with -XX:-UsePerfData or -XX:+PerfDisableSharedMem".into(),
        remedy: "leave that flag out".into(),
    }
}
