//! Lanes of spans: one entry of [`SPECS`] each; kinds of spans that none of them names get a lane of their own.

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{ProcessId, Span};

use super::{Builder, Lane, Named, SpanLane};

/// What a lane shows.
pub(super) struct Spec {
    /// Kinds of spans on it.
    kinds: &'static [&'static str],
    title: &'static str,
    /// Names of the classes that colour and height tell apart.
    classes: &'static [&'static str],
    /// Which of them a span belongs to.
    class: fn(&Span<'_>) -> usize,
    /// Whether spans lie on a row for each thread.
    by_thread: bool,
    /// Figures in nanoseconds that follow one another within a span.
    parts: &'static [(&'static str, &'static str)],
    /// Figures for the details: word, name, unit.
    facts: &'static [(&'static str, &'static str, &'static str)],
    /// Labels for the details: word, name.
    labels: &'static [(&'static str, &'static str)],
}

/// A lane with one class and nothing to add; the start of the others.
const PLAIN: Spec = Spec {
    kinds: &[],
    title: "",
    classes: &[""],
    class: |_| 0,
    by_thread: false,
    parts: &[],
    facts: &[],
    labels: &[(label::CAUSE, "cause"), (label::REASON, "reason"), (label::CUT, "cut off")],
};

/// The lanes of a process, from top to bottom.
pub(super) const SPECS: [Spec; 18] = [
    Spec {
        kinds: &[kind::GC_PAUSE],
        title: "GC pauses",
        classes: &["young", "mixed", "full", "other pause"],
        class: gc_class,
        facts: &[
            (figure::HEAP_BEFORE_BYTES, "heap before", "bytes"),
            (figure::HEAP_AFTER_BYTES, "heap after", "bytes"),
            (figure::HEAP_CAPACITY_BYTES, "heap size", "bytes"),
            (figure::USER_S, "user CPU", "s"),
            (figure::SYS_S, "system CPU", "s"),
            (figure::REAL_S, "real", "s"),
            (figure::WORKERS, "workers", ""),
            (figure::IDLE_GAP_MS, "idle gap", "ms"),
        ],
        labels: &[(label::CAUSE, "cause"), (label::QUALIFIER, "qualifier"), (label::CUT, "cut off")],
        ..PLAIN
    },
    Spec {
        kinds: &[kind::GC_CONCURRENT],
        title: "GC beside the application",
        classes: &["concurrent"],
        ..PLAIN
    },
    Spec { kinds: &[kind::GC_STALL], title: "Threads held up by GC", classes: &["stall"], ..PLAIN },
    Spec {
        kinds: &[kind::SAFEPOINT],
        title: "Safepoints",
        parts: &[
            (figure::REACH_NS, "reaching the safepoint"),
            (figure::CLEANUP_NS, "clean-up"),
            (figure::AT_NS, "at the safepoint"),
            (figure::LEAVE_NS, "leaving"),
        ],
        facts: &[(figure::THREADS, "threads", ""), (figure::THREADS_RUNNABLE, "threads running", "")],
        ..PLAIN
    },
    Spec {
        kinds: &[kind::JIT_COMPILE],
        title: "Compiler threads",
        classes: &["C1", "C2", "tier unknown"],
        class: |span| compiler(span),
        by_thread: true,
        facts: &[
            (figure::TIER, "tier", ""),
            (figure::BYTECODES, "bytecodes", ""),
            (figure::NMETHOD_BYTES, "machine code", "bytes"),
            (figure::OSR_BCI, "on-stack replacement at", ""),
        ],
        ..PLAIN
    },
    Spec {
        kinds: &[kind::JIT_INVALIDATE, kind::JIT_TRAP, kind::JIT_DEPENDENCY, kind::JIT_FAILURE],
        title: "Deoptimisation",
        classes: &["made not entrant", "uncommon trap", "dependency broken", "compile failed"],
        class: |span| match span.kind() {
            kind::JIT_TRAP => 1,
            kind::JIT_DEPENDENCY => 2,
            kind::JIT_FAILURE => 3,
            _ => 0,
        },
        labels: &[(label::REASON, "reason"), (label::ACTION, "action")],
        ..PLAIN
    },
    Spec {
        kinds: &[kind::JIT_CODE_CACHE_FULL, kind::JIT_SWEEP],
        title: "Code cache",
        classes: &["full", "sweep"],
        class: |span| usize::from(span.kind() == kind::JIT_SWEEP),
        facts: &[
            (figure::CODE_CACHE_FREE_BYTES, "free", "bytes"),
            (figure::CODE_CACHE_SIZE_BYTES, "reserved", "bytes"),
        ],
        labels: &[(label::SEGMENT, "segment")],
        ..PLAIN
    },
    Spec { kinds: &[kind::VM_OPERATION], title: "VM operations", ..PLAIN },
    Spec {
        kinds: &[kind::SCHED_OFF],
        title: "Threads off the CPU",
        classes: &["sleeping", "uninterruptible", "preempted", "stopped"],
        class: |span| match span.name() {
            "uninterruptible" => 1,
            "preempted" => 2,
            "stopped" => 3,
            _ => 0,
        },
        by_thread: true,
        ..PLAIN
    },
    Spec {
        kinds: &[kind::LOCK_MONITOR, kind::LOCK_WAIT, kind::LOCK_PARK],
        title: "Locks and waits",
        classes: &["monitor", "Object.wait", "park"],
        class: |span| match span.kind() {
            kind::LOCK_WAIT => 1,
            kind::LOCK_PARK => 2,
            _ => 0,
        },
        by_thread: true,
        ..PLAIN
    },
    Spec { kinds: &[kind::SYSCALL], title: "System calls", by_thread: true, ..PLAIN },
    Spec {
        kinds: &[kind::IO_FILE, kind::IO_SOCKET],
        title: "Files and sockets",
        classes: &["file", "socket"],
        class: |span| usize::from(span.kind() == kind::IO_SOCKET),
        by_thread: true,
        ..PLAIN
    },
    Spec {
        kinds: &[kind::NET_DNS, kind::NET_CONNECT, kind::NET_TLS],
        title: "Names, connections, handshakes",
        classes: &["name", "connection", "TLS handshake"],
        class: |span| match span.kind() {
            kind::NET_CONNECT => 1,
            kind::NET_TLS => 2,
            _ => 0,
        },
        ..PLAIN
    },
    Spec {
        kinds: &[kind::PAGE_FAULT],
        title: "Long page faults",
        classes: &["minor", "major", "write-protect"],
        class: |span| match span.name() {
            "major" => 1,
            "write-protect" => 2,
            _ => 0,
        },
        by_thread: true,
        ..PLAIN
    },
    Spec { kinds: &[kind::EXCEPTION], title: "Exceptions", ..PLAIN },
    Spec { kinds: &[kind::THREAD_SLEEP], title: "Sleeping threads", by_thread: true, ..PLAIN },
    Spec {
        kinds: &[kind::THREAD_START, kind::THREAD_END],
        title: "Threads that began and ended",
        classes: &["began", "ended"],
        class: |span| usize::from(span.kind() == kind::THREAD_END),
        ..PLAIN
    },
    Spec { kinds: &[kind::JVM_WARNING], title: "Warnings of the JVM", ..PLAIN },
];

/// Kinds that other lanes show in another form: a run is the whole width, a nested collection part of its pause,
/// the queue and the installations are counted in lines, and that a thread was watched is not something that it did.
const NOT_DRAWN: [&str; 5] =
    [kind::RUN, kind::GC_NESTED, kind::JIT_QUEUE, kind::JIT_INSTALL, kind::SCHED_WATCHED];

/// Labels and figures of a lane: more than any kind of record has; a file could name millions.
const MAX_WORDS: usize = 24;

/// Rows of threads in a lane; the last row takes all others.
const MAX_ROWS: usize = 12;

/// Index of the spec before which the compiler's lines stand.
const COMPILER_THREADS: usize = 4;

impl<'a> Builder<'a, '_> {
    /// All lanes of spans of a process that have something on them, with the compiler's activity between.
    pub(super) fn span_lanes(&mut self, process: ProcessId) -> Vec<Lane> {
        let mut lanes = Vec::new();
        for (i, spec) in SPECS.iter().enumerate() {
            if i == COMPILER_THREADS {
                lanes.extend(self.compile_lanes(process));
            }
            lanes.extend(self.span_lane(process, spec, spec.kinds, spec.title));
        }
        let recording = self.recording;
        for (kind, _) in recording.kinds() {
            let known = SPECS.iter().any(|s| s.kinds.contains(&kind)) || NOT_DRAWN.contains(&kind);
            if !known {
                lanes.extend(self.span_lane(process, &PLAIN, &[kind], kind));
            }
        }
        lanes
    }

    fn span_lane(&mut self, process: ProcessId, spec: &Spec, kinds: &[&str], title: &str) -> Option<Lane> {
        let mut spans: Vec<Span<'a>> = kinds.iter().flat_map(|k| self.spans_of(k, process)).collect();
        let total = spans.len();
        if total == 0 {
            return None;
        }
        let mut note = String::new();
        if total > self.max_spans {
            spans.select_nth_unstable_by_key(self.max_spans, |s| std::cmp::Reverse(s.duration_ns()));
            spans.truncate(self.max_spans);
            note = format!("the {} longest of {total} are drawn", self.max_spans);
        }
        spans.sort_by_key(Span::t0_ns);
        let (rows, row_of) = self.rows(&spans, spec.by_thread);
        let names: Vec<u64> = spans.iter().map(|s| self.string(s.name())).collect();
        let labels = self.labels(&spans, spec);
        let parts: Vec<Named> =
            spec.parts.iter().filter_map(|(word, name)| self.figure(&spans, word, name, "ns")).collect();
        let facts = self.facts(&spans, spec);
        let stacks: Vec<u64> = spans.iter().map(|s| u64::from(self.stacks.node(s.stack()))).collect();
        let threads: Vec<u64> = spans.iter().map(|s| u64::from(self.threads.number(s.thread()))).collect();
        let origin = self.origin_ns;
        let columns = &mut self.columns;
        Some(Lane::Spans(SpanLane {
            id: format!("p{}-{}", process.index(), kinds.first().unwrap_or(&"")),
            title: title.into(),
            note,
            classes: spec.classes.iter().map(|c| (*c).to_owned()).collect(),
            rows,
            t0: columns.delta(spans.iter().map(|s| s.t0_ns().saturating_sub(origin))),
            duration: columns.small(spans.iter().map(|s| s.duration_ns().max(0) as u64)),
            cls: columns.small(spans.iter().map(|s| (spec.class)(s) as u64)),
            row: columns.small(row_of.into_iter()),
            name: columns.small(names.into_iter()),
            parts,
            facts,
            labels,
            source: columns.small(spans.iter().map(|s| s.source().index() as u64)),
            line: columns.delta(spans.iter().map(|s| s.line() as i64)),
            stack: stacks.iter().any(|n| *n > 0).then(|| columns.small(stacks.into_iter())),
            thread: threads.iter().any(|n| *n > 0).then(|| columns.small(threads.into_iter())),
        }))
    }

    /// The labels that any of the spans has: those that the lane knows, then all others.
    fn labels(&mut self, spans: &[Span<'a>], spec: &Spec) -> Vec<Named> {
        let mut words: Vec<(&str, String)> =
            spec.labels.iter().map(|(word, name)| (*word, (*name).to_owned())).collect();
        let known = |word: &str, words: &[(&str, String)]| words.iter().any(|(w, _)| *w == word);
        for (word, _) in spans.iter().flat_map(Span::labels) {
            if !known(word, &words) && words.len() < MAX_WORDS {
                words.push((word, super::short(word)));
            }
        }
        let mut labels = Vec::new();
        for (word, name) in words {
            // One too high, so that 0 can mean none.
            let values: Vec<u64> =
                spans.iter().map(|s| s.label(word).map_or(0, |text| self.string(text) + 1)).collect();
            if values.iter().any(|v| *v > 0) {
                labels.push(Named { name, unit: "", values: self.columns.small(values.into_iter()) });
            }
        }
        labels
    }

    /// The figures that the lane knows; for kinds of spans that have no lane of their own all that there are.
    fn facts(&mut self, spans: &[Span<'a>], spec: &Spec) -> Vec<Named> {
        let mut words: Vec<(&str, &str, &'static str)> = spec.facts.to_vec();
        if spec.facts.is_empty() && spec.parts.is_empty() {
            for (word, _) in spans.iter().flat_map(Span::figures) {
                if !words.iter().any(|(w, ..)| *w == word) && words.len() < MAX_WORDS {
                    let (name, unit) = told(word);
                    words.push((word, name, unit));
                }
            }
        }
        words.into_iter().filter_map(|(word, name, unit)| self.figure(spans, word, name, unit)).collect()
    }

    /// A column of a figure, when any of the spans has it.
    fn figure(&mut self, spans: &[Span<'_>], word: &str, name: &str, unit: &'static str) -> Option<Named> {
        let values: Vec<f64> = spans.iter().map(|s| s.figure(word).unwrap_or(f64::NAN)).collect();
        let seen = values.iter().any(|v| !v.is_nan());
        seen.then(|| Named {
            name: super::short(name),
            unit,
            values: self.columns.figures(values.into_iter()),
        })
    }

    /// Names of the rows, and the row of each span.
    fn rows(&self, spans: &[Span<'_>], by_thread: bool) -> (Vec<String>, Vec<u64>) {
        if !by_thread {
            return (vec![String::new()], vec![0; spans.len()]);
        }
        let mut threads: Vec<_> = spans.iter().map(Span::thread).collect();
        threads.sort_unstable();
        threads.dedup();
        let name = |thread: &Option<fathom_recording::ThreadId>| match thread {
            Some(id) => crate::samples::thread_name(self.recording, *id),
            None => "unknown thread".into(),
        };
        let mut names: Vec<String> = threads.iter().take(MAX_ROWS).map(name).collect();
        if let Some(last) = names.last_mut().filter(|_| threads.len() > MAX_ROWS) {
            *last = format!("{} other threads", threads.len() - MAX_ROWS + 1);
        }
        let row_of = spans.iter().map(|s| {
            let at = threads.binary_search(&s.thread()).unwrap_or(0);
            at.min(MAX_ROWS - 1) as u64
        });
        (names, row_of.collect())
    }
}

/// A figure's word as a name and a unit: words carry their unit at the end.
fn told(word: &str) -> (&str, &'static str) {
    for (ending, unit) in [("_bytes", "bytes"), ("_ns", "ns"), ("_ms", "ms"), ("_s", "s")] {
        if let Some(name) = word.strip_suffix(ending).filter(|name| !name.is_empty()) {
            return (name, unit);
        }
    }
    (word, if word == figure::BYTES { "bytes" } else { "" })
}

fn gc_class(span: &Span<'_>) -> usize {
    let name = span.name();
    let has = |word: &str| name.contains(word);
    if span.figure(figure::FULL).is_some_and(|f| f > 0.0) || has("Full") {
        2
    } else if has("Mixed") || has("mixed") {
        1
    } else if ["Young", "young", "Minor", "ParNew", "DefNew", "PSYoungGen"].into_iter().any(has)
        || name == "GC"
    {
        0
    } else {
        3
    }
}

/// The class of a compilation: C1, C2 or unknown.
pub(super) fn compiler(span: &Span<'_>) -> usize {
    match (span.label(label::COMPILER), span.figure(figure::TIER)) {
        (Some("c1"), _) => 0,
        (Some("c2" | "jvmci"), _) => 1,
        (_, Some(tier)) if (1.0..4.0).contains(&tier) => 0,
        (_, Some(tier)) if tier >= 4.0 => 1,
        _ => 2,
    }
}
