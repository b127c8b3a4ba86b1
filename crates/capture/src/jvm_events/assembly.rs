//! What the probes of one JVM report, put together into spans.
//!
//! ```text
//!   safepoint begin ─ threads stop ─ operation begin ─ [gc begin … gc end] ─ operation end ─ safepoint end
//!   ├──── reach_ns (with cleanup) ───┤├──────────── at_ns ─────────────────┤├──── leave_ns ────┤
//! ```
//!
//! All of that is reported by the VM thread, in order. Compilations are reported by the compiler
//! threads, each its own. After a loss whatever is open is forgotten, because its end may be among
//! what was lost.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{SpanRow, ThreadId};

use super::names;
use super::probes::Kind;
use super::record::Record;
use crate::Context;
use crate::target::Target;

/// Compilations that are open at a time: one for each compiler thread; more are forgotten ones.
const MAX_COMPILES: usize = 256;
/// Memory pools of a heap; HotSpot has at most a handful.
const MAX_POOLS: usize = 32;

/// Spans in the making.
pub struct Assembly {
    target: Target,
    safepoint: Option<Safepoint>,
    operation: Option<Operation>,
    gc: Option<Gc>,
    /// By thread: since when, and what.
    compiles: BTreeMap<i32, (i64, Compile)>,
    /// Last known use of each memory pool, bytes.
    pools: BTreeMap<String, i64>,
}

struct Safepoint {
    t0_ns: i64,
    /// The first operation in it.
    name: String,
    first_operation_ns: Option<i64>,
    last_operation_end_ns: Option<i64>,
}

struct Operation {
    t0_ns: i64,
    name: String,
    /// The thread that runs it: the VM thread.
    tid: i32,
    /// Whether the probes of a collection reported one within it.
    collected: bool,
}

/// A collection: pools as they were before it, and capacities.
struct Gc {
    t0_ns: i64,
    full: bool,
    /// Collections that began within it and have not ended.
    nested: u32,
    /// The young collection before it within the same, and its end.
    young: Option<Box<(Gc, i64)>>,
    before: BTreeMap<String, i64>,
    after: BTreeMap<String, i64>,
    committed: BTreeMap<String, i64>,
}

impl Gc {
    /// A young one that begins.
    fn at(t0_ns: i64) -> Self {
        let (before, after, committed) = Default::default();
        Self { t0_ns, full: false, nested: 0, young: None, before, after, committed }
    }
}

struct Compile {
    compiler: String,
    method: String,
    /// Tier and bytecode index of an on-stack replacement, where they are known.
    figures: Vec<(&'static str, f64)>,
}

impl Compile {
    fn of(record: &Record) -> Self {
        let compiler = record.text(0).to_lowercase();
        let [_, tier, osr_bci, _] = record.numbers;
        let mut figures = Vec::new();
        // C1 compiles for tiers 1 to 3, and the probe does not say for which; a function's task
        // does.
        if tier > 0 {
            figures.push((figure::TIER, tier as f64));
            figures.extend((osr_bci >= 0).then_some((figure::OSR_BCI, osr_bci as f64)));
        } else if compiler == "c2" {
            figures.push((figure::TIER, 4.0));
        }
        let method = names::method(&record.text(1), &record.text(2));
        Self { compiler, method, figures }
    }
}

impl Assembly {
    /// Of a JVM.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            safepoint: None,
            operation: None,
            gc: None,
            compiles: BTreeMap::new(),
            pools: BTreeMap::new(),
        }
    }

    /// Forgets what is open.
    pub fn forget(&mut self) {
        (self.safepoint, self.operation, self.gc) = (None, None, None);
        self.compiles.clear();
    }

    /// Writes what has not ended by the end of the recording. Only compilations are worth it: the
    /// longest ones are those that are cut.
    pub fn finish(&mut self, cx: &mut Context<'_>) {
        self.write_unfinished(cx);
        self.compiles.clear();
    }

    /// The same, and goes on.
    pub fn write_unfinished(&self, cx: &mut Context<'_>) {
        let now_ns = cx.clock.epoch_now_ns();
        for (tid, (t0_ns, compile)) in &self.compiles {
            let labels = [(label::COMPILER, compile.compiler.as_str()), (label::CUT, "the recording ended")];
            let thread = cx.targets.thread_of(&self.target, *tid, None, cx.sink);
            let times = (cx.clock.epoch_ns(*t0_ns), now_ns);
            self.write(
                cx,
                kind::JIT_COMPILE,
                &compile.method,
                times,
                Some(thread),
                &compile.figures,
                &labels,
            );
        }
    }

    /// Takes what a probe reported.
    pub fn take(&mut self, record: &Record, cx: &mut Context<'_>) {
        let t_ns = record.t_ns;
        match record.kind {
            Kind::SafepointBegin => {
                self.safepoint = Some(Safepoint {
                    t0_ns: t_ns,
                    name: String::new(),
                    first_operation_ns: None,
                    last_operation_end_ns: None,
                });
            }
            Kind::OperationBegin => {
                let name = record.text(0);
                if let Some(safepoint) = self.safepoint.as_mut().filter(|s| s.first_operation_ns.is_none()) {
                    safepoint.first_operation_ns = Some(t_ns);
                    safepoint.name.clone_from(&name);
                }
                self.operation = Some(Operation { t0_ns: t_ns, name, tid: record.tid, collected: false });
                // Whatever began before has not ended in order.
                self.gc = None;
            }
            Kind::OperationEnd => self.operation_end(record, cx),
            Kind::SafepointEnd => self.safepoint_end(record, cx),
            // ZGC's driver threads report whole cycles through the same probes: a pause is reported
            // by the thread that stopped the others.
            Kind::GcBegin if self.is_in_operation(record) => self.gc_begin(record),
            Kind::GcEnd if self.is_in_operation(record) => self.gc_end(record, cx),
            Kind::GcBegin | Kind::GcEnd => {}
            Kind::PoolBegin => {
                self.full_begin(record);
                self.pool(record, true);
            }
            Kind::PoolEnd => self.pool(record, false),
            Kind::CompileBegin => {
                if self.compiles.len() < MAX_COMPILES {
                    self.compiles.insert(record.tid, (t_ns, Compile::of(record)));
                }
            }
            Kind::CompileEnd => self.compile_end(record, cx),
            Kind::ClassLoaded => self.event(cx, kind::CLASS_LOAD, &names::class(&record.text(0)), record),
            Kind::ClassUnloaded => self.event(cx, kind::CLASS_UNLOAD, &names::class(&record.text(0)), record),
            Kind::ThreadStart => {
                self.thread_event(cx, kind::THREAD_START, record);
                cx.services.starts.in_java(record.tid, t_ns, &record.text(0));
            }
            Kind::StartCalled => cx.services.starts.call(record.tid, t_ns, false),
            Kind::StartReturned => cx.services.starts.call(record.tid, t_ns, true),
            Kind::ThreadStop => self.thread_event(cx, kind::THREAD_END, record),
        }
    }

    fn operation_end(&mut self, record: &Record, cx: &mut Context<'_>) {
        let Some(operation) = self.operation.take() else { return };
        if let Some(safepoint) = &mut self.safepoint {
            safepoint.last_operation_end_ns = Some(record.t_ns);
        }
        let times = (cx.clock.epoch_ns(operation.t0_ns), cx.clock.epoch_ns(record.t_ns));
        let thread = self.thread(record, cx);
        self.write(cx, kind::VM_OPERATION, &operation.name, times, Some(thread), &[], &[]);
        // A collector that has no probes for its pauses.
        self.gc = None;
        if let (false, Some(pause)) = (operation.collected, names::known_pause(&operation.name)) {
            let cause = record.of_function.then(|| cause(record)).flatten();
            let labels: Vec<_> = cause.iter().map(|cause| (label::CAUSE, cause.as_str())).collect();
            self.write(cx, kind::GC_PAUSE, pause, times, None, &[], &labels);
        }
    }

    fn is_in_operation(&self, record: &Record) -> bool {
        self.operation.as_ref().is_some_and(|operation| operation.tid == record.tid)
    }

    fn safepoint_end(&mut self, record: &Record, cx: &mut Context<'_>) {
        let Some(safepoint) = self.safepoint.take() else { return };
        let (t0, t1) = (safepoint.t0_ns, record.t_ns);
        let mut figures = Vec::new();
        // Operations are reported once all threads have stopped and the cleanup is done.
        if let (Some(begin), Some(end)) = (safepoint.first_operation_ns, safepoint.last_operation_end_ns) {
            figures.push((figure::REACH_NS, (begin - t0) as f64));
            figures.push((figure::REACH_INCLUDES_CLEANUP, 1.0));
            figures.push((figure::AT_NS, (end - begin) as f64));
            figures.push((figure::LEAVE_NS, (t1 - end) as f64));
        }
        let name = if safepoint.name.is_empty() { "stopped" } else { &safepoint.name };
        let times = (cx.clock.epoch_ns(t0), cx.clock.epoch_ns(t1));
        self.write(cx, kind::SAFEPOINT, name, times, None, &figures, &[]);
    }

    fn gc_begin(&mut self, record: &Record) {
        let full = record.numbers[0] != 0;
        match &mut self.gc {
            Some(gc) => {
                gc.nested += 1;
                gc.full |= full;
            }
            None => self.gc = Some(Gc { full, ..Gc::at(record.t_ns) }),
        }
    }

    fn gc_end(&mut self, record: &Record, cx: &mut Context<'_>) {
        let Some(mut gc) = self.gc.take() else { return };
        if gc.nested > 0 {
            gc.nested -= 1;
            self.gc = Some(gc);
            return;
        }
        let cause = cause(record);
        if let Some((young, end_ns)) = gc.young.take().map(|young| *young) {
            self.pause(young, end_ns, cause.as_deref(), cx);
        }
        self.pause(gc, record.t_ns, cause.as_deref(), cx);
    }

    /// Writes a collection as a pause.
    fn pause(&mut self, mut gc: Gc, end_ns: i64, cause: Option<&str>, cx: &mut Context<'_>) {
        let Some(operation) = &mut self.operation else { return };
        operation.collected = true;
        let name = names::pause(&operation.name, gc.full);
        let mut figures = heap_figures(&gc, &self.pools);
        if gc.full {
            figures.push((figure::FULL, 1.0));
        }
        self.pools.extend(std::mem::take(&mut gc.after));
        let times = (cx.clock.epoch_ns(gc.t0_ns), cx.clock.epoch_ns(end_ns));
        let labels: Vec<_> = cause.iter().map(|cause| (label::CAUSE, *cause)).collect();
        self.write(cx, kind::GC_PAUSE, &name, times, None, &figures, &labels);
    }

    /// Parallel's and Serial's operations collect the young generation and, where that is not
    /// enough, the whole heap, within one collection as the probes report it; a log has two. The
    /// manager of the pools distinguishes them.
    fn full_begin(&mut self, record: &Record) {
        let begins = |gc: &Gc| !gc.full && gc.nested == 0 && names::collects_all(&record.text(0));
        let Some(gc) = self.gc.take_if(|gc| begins(gc)) else { return };
        let mut full = Gc { full: true, ..Gc::at(gc.t0_ns) };
        if !gc.after.is_empty() {
            full.t0_ns = record.t_ns;
            full.young = Some(Box::new((gc, record.t_ns)));
        }
        self.gc = Some(full);
    }

    /// Manager and pool; initial, used, committed and largest size.
    fn pool(&mut self, record: &Record, begin: bool) {
        let Some(gc) = &mut self.gc else { return };
        let pool = record.text(1);
        let [_, used, committed, _] = record.numbers;
        if gc.before.len().max(gc.after.len()) >= MAX_POOLS || used < 0 || !names::is_of_the_heap(&pool) {
            return;
        }
        if begin {
            gc.before.entry(pool).or_insert(used);
        } else {
            gc.committed.insert(pool.clone(), committed);
            gc.after.insert(pool, used);
        }
    }

    fn compile_end(&mut self, record: &Record, cx: &mut Context<'_>) {
        let Some((t0_ns, compile)) = self.compiles.remove(&record.tid) else { return };
        let mut figures = compile.figures;
        if !record.of_function {
            figures.push((figure::SUCCESS, if record.numbers[0] & 0xff != 0 { 1.0 } else { 0.0 }));
        }
        let thread = self.thread(record, cx);
        let times = (cx.clock.epoch_ns(t0_ns), cx.clock.epoch_ns(record.t_ns));
        let labels = [(label::COMPILER, compile.compiler.as_str())];
        self.write(cx, kind::JIT_COMPILE, &compile.method, times, Some(thread), &figures, &labels);
    }

    fn event(&self, cx: &mut Context<'_>, kind: &str, name: &str, record: &Record) {
        let thread = self.thread(record, cx);
        let t_ns = cx.clock.epoch_ns(record.t_ns);
        self.write(cx, kind, name, (t_ns, t_ns), Some(thread), &[], &[]);
    }

    /// The probe knows the whole name of its thread, which the kernel cuts; the thread itself hits
    /// it.
    fn thread_event(&self, cx: &mut Context<'_>, kind: &str, record: &Record) {
        let name = record.text(0);
        let thread = cx.targets.thread_of(&self.target, record.tid, Some(&name), cx.sink);
        let t_ns = cx.clock.epoch_ns(record.t_ns);
        self.write(cx, kind, &name, (t_ns, t_ns), Some(thread), &[], &[]);
    }

    fn thread(&self, record: &Record, cx: &mut Context<'_>) -> ThreadId {
        cx.targets.thread_of(&self.target, record.tid, None, cx.sink)
    }

    #[expect(clippy::too_many_arguments, reason = "one place that knows what a span of a JVM has")]
    fn write(
        &self,
        cx: &mut Context<'_>,
        kind: &str,
        name: &str,
        (t0_ns, t1_ns): (i64, i64),
        thread: Option<ThreadId>,
        figures: &[(&str, f64)],
        labels: &[(&str, &str)],
    ) {
        cx.sink.span(&SpanRow {
            thread,
            figures,
            labels,
            ..SpanRow::new(kind, name, (t0_ns, t1_ns), self.target.process, cx.source)
        });
    }
}

/// Why a collection was made, of a record with causes. Some operations are done with theirs before
/// the probe fires, which then is the last one.
fn cause(record: &Record) -> Option<String> {
    [record.text(0), record.text(1)].into_iter().find(|cause| !cause.is_empty() && cause != "No GC")
}

/// What a pool is part of.
fn part(pool: &str) -> Option<Part> {
    match pool {
        _ if pool.contains("Eden") => Some(Part::Eden),
        _ if pool.contains("Survivor") => Some(Part::Survivor),
        _ if ["Old Gen", "Tenured Gen", "Old Generation"].iter().any(|old| pool.contains(old)) => {
            Some(Part::Old)
        }
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Eden,
    Survivor,
    Old,
}

/// Sizes of the heap's parts before and after. A pool that this collection did not report stays as
/// it was last known before it; after it, it is not known any more (a young collection promotes).
fn heap_figures(gc: &Gc, known: &BTreeMap<String, i64>) -> Vec<(&'static str, f64)> {
    let mut figures = Vec::new();
    let sum = |pools: &BTreeMap<String, i64>, wanted: &dyn Fn(&str) -> bool| {
        let known: Vec<i64> =
            pools.iter().filter(|(pool, _)| wanted(pool)).map(|(_, bytes)| *bytes).collect();
        (!known.is_empty()).then(|| known.iter().sum::<i64>() as f64)
    };
    let of = |wanted: Part| move |pool: &str| part(pool) == Some(wanted);
    let young = |pool: &str| matches!(part(pool), Some(Part::Eden | Part::Survivor));
    let mut add = |key, value: Option<f64>| figures.extend(value.map(|value| (key, value)));
    add(figure::EDEN_BEFORE_BYTES, sum(&gc.before, &of(Part::Eden)));
    add(figure::EDEN_AFTER_BYTES, sum(&gc.after, &of(Part::Eden)));
    add(figure::SURVIVOR_BEFORE_BYTES, sum(&gc.before, &of(Part::Survivor)));
    add(figure::SURVIVOR_AFTER_BYTES, sum(&gc.after, &of(Part::Survivor)));
    add(figure::YOUNG_BEFORE_BYTES, sum(&gc.before, &young));
    add(figure::YOUNG_AFTER_BYTES, sum(&gc.after, &young));
    add(figure::YOUNG_CAPACITY_BYTES, sum(&gc.committed, &young));
    add(figure::OLD_BEFORE_BYTES, sum(&gc.before, &of(Part::Old)));
    add(figure::OLD_AFTER_BYTES, sum(&gc.after, &of(Part::Old)));
    add(figure::OLD_CAPACITY_BYTES, sum(&gc.committed, &of(Part::Old)));
    // The whole heap is written only for a collection that reported all of it.
    let all = |pools: &BTreeMap<String, i64>| {
        let whole = known.keys().all(|pool| pools.contains_key(pool));
        let old = pools.keys().any(|pool| part(pool) == Some(Part::Old) || part(pool).is_none());
        (whole && old).then(|| sum(pools, &|_| true)).flatten()
    };
    add(figure::HEAP_BEFORE_BYTES, all(&gc.before));
    add(figure::HEAP_AFTER_BYTES, all(&gc.after));
    add(figure::HEAP_CAPACITY_BYTES, all(&gc.committed));
    figures
}

#[cfg(test)]
mod tests;
