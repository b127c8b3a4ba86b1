//! A compiler thread's part of the log: its tasks, one after the other.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{Role, SeriesId, SpanRow, ThreadId};

use super::markup::Element;
use super::open_tasks::{self, Key, OpenTasks};
use super::out::Out;

/// Sizes of the code cache that HotSpot reserves by default: 48 MB, five times that with tiered
/// compilation (`ReservedCodeCacheSize`, `CodeCache::initialize_heaps`).
const DEFAULT_CODE_CACHES: [f64; 2] = [48.0 * 1048576.0, 240.0 * 1048576.0];
/// What may be in the code cache when the first task is done: stubs and adapters, a megabyte or
/// two.
const AT_START: f64 = 16.0 * 1048576.0;

/// The thread whose tasks are being read.
#[derive(Default)]
struct CompilerThread {
    tid: Option<i64>,
    /// "C1 CompilerThread0"; JDK 8 gives no name.
    name: String,
    id: Option<ThreadId>,
}

impl CompilerThread {
    /// "c1", "c2", "jvmci".
    fn compiler(&self, tier: u8) -> &'static str {
        match self.name.get(..2) {
            Some("C1") => "c1",
            Some("C2") => "c2",
            Some("JV") => "jvmci",
            _ if tier == 4 => "c2",
            _ => "c1",
        }
    }
}

/// A task that has been started.
struct Task {
    key: Key,
    line: u64,
    method: String,
    t0_ns: i64,
    tier: u8,
    bytecodes: Option<f64>,
    osr_bci: Option<f64>,
    compiler: &'static str,
    thread: Option<ThreadId>,
    failure: Option<String>,
    code_cache_free: Option<f64>,
}

/// The tasks of all compiler threads of a run.
#[derive(Default)]
pub(super) struct Tasks {
    thread: CompilerThread,
    task: Option<Task>,
    /// Tasks that were truncated by the end of the JVM, or of the file: one per thread.
    truncated: Vec<Task>,
    /// Compiler threads by tid: "c1".
    threads: BTreeMap<i64, &'static str>,
    /// Size of the code cache, when it is known.
    pub(super) code_cache_bytes: Option<f64>,
    /// Whether all threads' tasks are in this log: it has a root.
    pub(super) is_whole_log: bool,
    used: Option<SeriesId>,
    done: u64,
    backwards: u64,
}

impl Tasks {
    /// Whether a task is open: what follows is its parse tree.
    pub(super) fn is_in_task(&self) -> bool {
        self.task.is_some()
    }

    /// "c1", "c2" of each compiler thread that occurred.
    pub(super) fn threads(&self) -> impl Iterator<Item = &'static str> {
        self.threads.values().copied()
    }

    /// Tasks that were done, and how many of them ended before they started.
    pub(super) fn done_and_backwards(&self) -> (u64, u64) {
        (self.done, self.backwards)
    }

    /// `compilation_log` or `start_compile_thread`: another thread's part begins.
    pub(super) fn thread(&mut self, element: &Element<'_>) {
        self.truncate_open();
        let tid = element.number(b"thread");
        if tid != self.thread.tid {
            self.thread = CompilerThread { tid, ..CompilerThread::default() };
        }
        if let Some(name) = element.text(b"name") {
            self.thread.name = name.into_owned();
            self.thread.id = None;
        }
    }

    /// A task starts. `false`: it lacks what it needs.
    pub(super) fn open(
        &mut self,
        line: u64,
        element: &Element<'_>,
        tier: u8,
        open_tasks: &mut OpenTasks,
        out: &mut Out<'_>,
    ) -> bool {
        self.truncate_open();
        let (Some(key), Some(method), Some(t0_ns)) =
            (open_tasks::key(element), element.method(b"method"), element.stamp_ns())
        else {
            return false;
        };
        open_tasks.started(key, t0_ns, out);
        let compiler = self.thread.compiler(tier);
        let thread = self.thread_id(compiler, out);
        self.task = Some(Task {
            key,
            line,
            method,
            t0_ns,
            tier,
            bytecodes: element.figure(b"bytes"),
            osr_bci: element.figure(b"osr_bci"),
            compiler,
            thread,
            failure: None,
            code_cache_free: None,
        });
        true
    }

    fn thread_id(&mut self, compiler: &'static str, out: &mut Out<'_>) -> Option<ThreadId> {
        let tid = self.thread.tid?;
        self.threads.entry(tid).or_insert(compiler);
        let thread = &mut self.thread;
        if thread.name.is_empty() {
            thread.name = format!("{} CompilerThread", compiler.to_uppercase());
        }
        Some(*thread.id.get_or_insert_with(|| out.thread(tid, &thread.name, Role::Jit)))
    }

    /// Why the task fails, or why C2 tries once more; the last one counts.
    pub(super) fn failure(&mut self, element: &Element<'_>) {
        if let Some(task) = &mut self.task {
            task.failure = element.text(b"reason").map(|reason| reason.into_owned());
        }
    }

    /// The free part of the code cache, reported just before a task is done.
    pub(super) fn code_cache(&mut self, element: &Element<'_>) {
        let free = element.figure(b"free_code_cache");
        if let Some(task) = &mut self.task {
            task.code_cache_free = free;
        }
        if let (None, Some(free)) = (self.code_cache_bytes, free) {
            // No size was set. The first value shows which default it is; otherwise it stays
            // unknown.
            let fits = |size: &&f64| free <= **size && free > **size - AT_START;
            self.code_cache_bytes = Some(DEFAULT_CODE_CACHES.iter().find(fits).copied().unwrap_or(0.0));
        }
    }

    /// A task is done. `false`: it lacks its timestamp, or was not open.
    pub(super) fn done(&mut self, element: &Element<'_>, out: &mut Out<'_>) -> bool {
        let Some(t1_ns) = element.stamp_ns() else { return false };
        let Some(task) = self.task.take() else { return false };
        self.done += 1;
        self.backwards += u64::from(t1_ns < task.t0_ns);
        let success = element.figure(b"success");
        let more = [
            element.figure(b"nmsize").map(|bytes| (figure::NMETHOD_BYTES, bytes)),
            element.figure(b"inlined_bytes").map(|bytes| (figure::INLINED_BYTES, bytes)),
            success.map(|success| (figure::SUCCESS, success)),
        ];
        write_compile(&task, t1_ns, more.into_iter().flatten(), None, out);
        if success == Some(0.0) {
            write_failure(&task, t1_ns, out);
        }
        // In another thread's file a series of its own would be counted twice; the value is on the
        // task.
        if let (Some(size), Some(free), true) =
            (self.code_cache_bytes, task.code_cache_free, self.is_whole_log)
            && size >= free
        {
            out.code_cache_used(&mut self.used, t1_ns, size - free);
        }
        true
    }

    /// What is open will not be done in this log.
    pub(super) fn truncate_open(&mut self) {
        self.truncated.extend(self.task.take());
    }

    /// The log ends: writes the tasks that were truncated. Returns whether the last one was.
    pub(super) fn finish(&mut self, last_ns: i64, out: &mut Out<'_>) -> bool {
        let in_task = self.is_in_task();
        self.truncate_open();
        for task in &self.truncated {
            let why = "the log ends before it is done";
            write_compile(task, last_ns.max(task.t0_ns), [].into_iter(), Some(why), out);
        }
        in_task
    }
}

fn write_compile(
    task: &Task,
    t1_ns: i64,
    more: impl Iterator<Item = (&'static str, f64)>,
    truncated: Option<&str>,
    out: &mut Out<'_>,
) {
    let mut figures = vec![(figure::TIER, f64::from(task.tier))];
    figures.extend(task.osr_bci.map(|bci| (figure::OSR_BCI, bci)));
    figures.extend(task.bytecodes.map(|bytes| (figure::BYTECODES, bytes)));
    figures.extend(more);
    figures.extend(task.code_cache_free.map(|bytes| (figure::CODE_CACHE_FREE_BYTES, bytes)));
    let mut labels = vec![(label::COMPILER, task.compiler)];
    labels.extend(truncated.map(|why| (label::CUT, why)));
    let row = SpanRow {
        kind: kind::JIT_COMPILE,
        name: &task.method,
        t0_ns: task.t0_ns,
        t1_ns,
        thread: task.thread,
        stack: None,
        line: task.line,
        key: task.key.0,
        figures: &figures,
        labels: &labels,
        ..out.row()
    };
    out.put(&row);
}

fn write_failure(task: &Task, stamp_ns: i64, out: &mut Out<'_>) {
    let labels = [
        (label::REASON, task.failure.as_deref().unwrap_or("not recorded")),
        (label::COMPILER, task.compiler),
    ];
    let row = SpanRow {
        kind: kind::JIT_FAILURE,
        name: &task.method,
        t0_ns: stamp_ns,
        t1_ns: stamp_ns,
        thread: task.thread,
        stack: None,
        line: task.line,
        key: task.key.0,
        figures: &[(figure::TIER, f64::from(task.tier))],
        labels: &labels,
        ..out.row()
    };
    out.put(&row);
}
