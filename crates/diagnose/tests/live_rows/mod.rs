//! Rows of all kinds that a recording may hold, drawn from bytes, and what must hold of every
//! judgement of them. `crates/diagnose/tests/hostile_rows.rs` draws them at random, `fuzz/` lets a
//! fuzzer look for them. Readers of files write a few kinds of rows each; live collectors write
//! most of them, and no file that is read as bytes leads there.
//!
//! The words are those of the sources of the vocabulary and of the list of functions in which
//! threads wait, so that a new one is among them.

use fathom_diagnose::chain::Chains;
use fathom_diagnose::thread_ledger::{By, thread_ledger};
use fathom_diagnose::{Diagnosis, Options, diagnose, metrics, whole};
use fathom_recording::{
    CountRow, FrameType, Process, ProcessId, Recording, Role, SampleRow, SeriesId, SeriesInfo, SeriesKind,
    Sink, Source, SourceId, SpanId, SpanRow, StackId, ThreadId, Unseen,
};

/// Where words stand as `pub const NAME: &str = "word";`.
const KINDS: &str = include_str!("../../../recording/src/vocabulary/kind.rs");
const COUNTS: &str = include_str!("../../../recording/src/vocabulary/count.rs");
const SAMPLES: &str = include_str!("../../../recording/src/vocabulary/sample.rs");
const LABELS: &str = include_str!("../../../recording/src/vocabulary/label.rs");
const FIGURES: &str = include_str!("../../../recording/src/vocabulary/figure.rs");
const FACTS: &str = include_str!("../../../recording/src/vocabulary/fact.rs");
const SOURCES: &str = include_str!("../../../recording/src/vocabulary/source.rs");
const SERIES: [&str; 2] = [
    include_str!("../../../recording/src/vocabulary/series.rs"),
    include_str!("../../../recording/src/vocabulary/live.rs"),
];
/// Where words stand as texts of all sorts: what rules look for in names and labels.
const TEXTS: [&str; 6] = [
    include_str!("../../../recording/src/vocabulary/failure.rs"),
    include_str!("../../../recording/src/vocabulary/fault.rs"),
    include_str!("../../../recording/src/vocabulary/interrupt.rs"),
    include_str!("../../../recording/src/vocabulary/lock.rs"),
    include_str!("../../../recording/src/vocabulary/frame.rs"),
    include_str!("../../src/waits/functions.rs"),
];
/// Names of rows, in addition to those strings.
const NAMES: [&str; 30] = [
    "",
    "sleeping",
    "uninterruptible",
    "preempted",
    "stopped",
    "read",
    "write",
    "futex",
    "recvfrom",
    "fsync",
    "G1CollectForAllocation",
    "Pause Young (Normal)",
    "Pause Full",
    "Full GC",
    "shop.Cart",
    "java.util.concurrent.locks.ReentrantLock$NonfairSync",
    "shop.Orders.book",
    "shop.Orders.book(Lshop/Cart;)V",
    "java.math.BigInteger.modPow",
    "main",
    "worker-1",
    "worker-2",
    "GC Thread#0",
    "C2 CompilerThread0",
    "VM Thread",
    "main (1)",
    "worker-1 (2)",
    "10.0.0.2:443",
    "gc.log",
    "0x7000",
];
const FRAME_TYPES: [FrameType; 9] = [
    FrameType::Interpreted,
    FrameType::C1,
    FrameType::C2,
    FrameType::Inlined,
    FrameType::Stub,
    FrameType::Native,
    FrameType::Jvm,
    FrameType::Kernel,
    FrameType::Unknown,
];
const ROLES: [Role; 5] = [Role::App, Role::Gc, Role::Jit, Role::Vm, Role::Other];

/// The words of constants of a source of the vocabulary.
fn constants(source: &'static str) -> Vec<&'static str> {
    let lines = source.lines().filter_map(|line| line.trim().strip_prefix("pub const "));
    lines.filter_map(|line| line.split_once('"')?.1.split_once('"').map(|(word, _)| word)).collect()
}

/// All texts of a source, without its comments; what stands for any end is left out of a name.
fn texts(source: &'static str) -> Vec<&'static str> {
    let lines = source.lines().filter(|line| !line.trim().starts_with("//"));
    lines.flat_map(|line| line.split('"').skip(1).step_by(2)).map(|text| text.trim_end_matches('*')).collect()
}

/// All that rows are made of.
struct Words {
    kinds: Vec<&'static str>,
    counts: Vec<&'static str>,
    samples: Vec<&'static str>,
    labels: Vec<&'static str>,
    figures: Vec<&'static str>,
    facts: Vec<&'static str>,
    sources: Vec<&'static str>,
    series: Vec<&'static str>,
    names: Vec<&'static str>,
}

impl Words {
    fn all() -> Self {
        Self {
            kinds: constants(KINDS),
            counts: constants(COUNTS),
            samples: constants(SAMPLES),
            labels: constants(LABELS),
            figures: constants(FIGURES),
            facts: constants(FACTS),
            sources: constants(SOURCES),
            // Of the live ones the name is the first text of its line.
            series: SERIES.into_iter().flat_map(constants).collect(),
            names: TEXTS.into_iter().flat_map(texts).chain(NAMES).collect(),
        }
    }
}

/// Bytes, taken one by one; zeros when there are no more.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn byte(&mut self) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first)
    }

    fn number(&mut self) -> usize {
        self.byte() << 8 | self.byte()
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> Option<T> {
        let at = if list.len() > 256 { self.number() } else { self.byte() };
        list.get(at.checked_rem(list.len())?).copied()
    }

    fn text(&mut self, list: &[&'static str]) -> &'static str {
        self.of(list).unwrap_or("")
    }

    /// Timestamps are few, so that rows meet; some are far away.
    fn t_ns(&mut self) -> i64 {
        const ZERO_NS: i64 = 1_700_000_000_000_000_000;
        let (step, n) = (self.byte(), self.number() as i64);
        ZERO_NS + n * [1_000_000, 10_000_000, 1_000, 1, 1_000_000_000, 86_400_000_000_000][step % 6]
    }

    fn length_ns(&mut self) -> i64 {
        let (step, n) = (self.byte(), self.number() as i64);
        n * [1_000_000, 0, 1_000, 1, 100_000_000, 1_000_000_000][step % 6]
    }

    fn value(&mut self) -> f64 {
        let (step, n) = (self.byte(), self.number() as f64);
        match step % 12 {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => -n,
            3 => n * 1e300,
            4 => 1.0,
            5 => n * 1e9,
            6 => n / 65_536.0,
            7 | 8 => n * 1e6,
            _ => n,
        }
    }
}

/// A recording in the making, with what rows may name.
struct Made<'a> {
    bytes: Bytes<'a>,
    words: Words,
    recording: Recording,
    sources: Vec<SourceId>,
    processes: Vec<ProcessId>,
    threads: Vec<ThreadId>,
    stacks: Vec<StackId>,
    series: Vec<SeriesId>,
}

/// The recording that bytes stand for: any bytes do.
pub fn recording(data: &[u8]) -> Recording {
    let recording = Recording::new();
    let none = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (sources, processes, threads, stacks, series) = none;
    let (bytes, words) = (Bytes(data), Words::all());
    let mut made = Made { bytes, words, recording, sources, processes, threads, stacks, series };
    made.source();
    made.process();
    made.thread();
    while !made.bytes.is_empty() {
        match made.bytes.byte() % 32 {
            0 => made.source(),
            1 => made.process(),
            2 | 3 => made.thread(),
            4..=8 => made.stack(),
            9 => made.series(),
            10..=13 => made.point(),
            14..=18 => made.sample(),
            19..=21 => made.count(),
            _ => made.span(),
        }
    }
    made.recording.seal();
    made.recording
}

impl Made<'_> {
    fn source(&mut self) {
        let format = self.bytes.text(&self.words.sources);
        let covers_ns = (self.bytes.byte().is_multiple_of(2)).then(|| {
            let from_ns = self.bytes.t_ns();
            (from_ns, from_ns + self.bytes.length_ns())
        });
        let flags = self.bytes.byte();
        let unseen = Unseen {
            scope: None,
            what: "waits".into(),
            why: "there were too many".into(),
            remedy: String::new(),
        };
        self.sources.push(self.recording.add_source(Source {
            name: format.into(),
            format: format.into(),
            covers_ns,
            records: 10,
            lost: if flags & 1 == 1 { 1_000 } else { 0 },
            cut: flags & 2 == 2,
            unseen: if flags & 4 == 4 { vec![unseen] } else { Vec::new() },
            ..Source::default()
        }));
    }

    fn process(&mut self) {
        let flags = self.bytes.byte();
        let mut process = Process {
            pid: (flags & 1 == 0).then_some(self.processes.len() as i64 + 1),
            name: self.bytes.text(&self.words.names).into(),
            jvm: flags & 2 == 0,
            ..Process::default()
        };
        for _ in 0..flags >> 2 & 3 {
            let key = self.bytes.text(&self.words.facts);
            let value = match self.bytes.byte() % 4 {
                0 => "17".to_owned(),
                1 => "G1".to_owned(),
                2 => self.bytes.value().to_string(),
                _ => self.bytes.text(&self.words.names).to_owned(),
            };
            process.facts.insert(key.into(), value);
        }
        self.processes.push(self.recording.add_process(process));
    }

    fn thread(&mut self) {
        let Some(process) = self.bytes.of(&self.processes) else { return };
        let flags = self.bytes.byte();
        let tid = (flags & 1 == 0).then_some((flags >> 1) as i64 % 8);
        let role = self.bytes.of(&ROLES).unwrap_or(Role::Other);
        let name = self.bytes.text(&NAMES);
        self.threads.push(self.recording.thread(process, tid, name, role));
    }

    fn stack(&mut self) {
        let flags = self.bytes.byte();
        let frame_type = FRAME_TYPES[flags % FRAME_TYPES.len()];
        let frame = self.recording.frame(self.bytes.text(&self.words.names), "", frame_type, -1);
        // The one that came last, as callers come before callees.
        let parent = if flags >= 64 { self.stacks.last().copied() } else { None };
        self.stacks.push(self.recording.stack(parent, frame));
    }

    fn series(&mut self) {
        let process = self.bytes.of(&self.processes).filter(|id| id.0 % 2 == 0);
        let Some(source) = self.bytes.of(&self.sources) else { return };
        let kinds = [SeriesKind::Rate, SeriesKind::Gauge, SeriesKind::Latency];
        self.series.push(self.recording.add_series(SeriesInfo {
            name: self.bytes.text(&self.words.series).into(),
            unit: self.bytes.text(&["", "ms", "bytes", "cpus", "ops/s"]).into(),
            instance: self.bytes.text(&NAMES).into(),
            kind: self.bytes.of(&kinds).unwrap_or(SeriesKind::Gauge),
            process,
            source,
        }));
    }

    fn point(&mut self) {
        let (t_ns, dt_ns, value) = (self.bytes.t_ns(), self.bytes.length_ns(), self.bytes.value());
        if let Some(series) = self.bytes.of(&self.series) {
            self.recording.point(series, t_ns, dt_ns, value);
        }
    }

    fn sample(&mut self) {
        let kind = self.bytes.text(&self.words.samples);
        let (t_ns, weight) = (self.bytes.t_ns(), self.bytes.length_ns());
        let ids = (self.bytes.of(&self.processes), self.bytes.of(&self.sources));
        let (Some(process), Some(source)) = ids else { return };
        let (thread, stack) = (self.bytes.of(&self.threads), self.bytes.of(&self.stacks));
        self.recording.sample(&SampleRow { kind, t_ns, process, thread, stack, weight, source });
    }

    fn count(&mut self) {
        let (kind, name) = (self.bytes.text(&self.words.counts), self.bytes.text(&self.words.names));
        let (t0_ns, length_ns, flags) = (self.bytes.t_ns(), self.bytes.length_ns(), self.bytes.byte());
        let thread = self.bytes.of(&self.threads).filter(|_| flags & 1 == 0);
        let of_thread = thread.map(|id| self.recording.threads[id.index()].process);
        let ids = (of_thread.or(self.bytes.of(&self.processes)), self.bytes.of(&self.sources));
        let (Some(process), Some(source)) = ids else { return };
        let [count, total_ns] = [(); 2].map(|()| match self.bytes.byte() {
            255 => u64::MAX,
            size => (self.bytes.number() as u64) << (size % 32),
        });
        let figures: Vec<(&str, f64)> =
            (0..flags >> 1 & 3).map(|_| (self.bytes.text(&self.words.figures), self.bytes.value())).collect();
        self.recording.count(&CountRow {
            thread,
            total_ns: (flags & 8 == 0).then_some(total_ns),
            figures: &figures,
            ..CountRow::new(kind, name, (t0_ns, t0_ns + length_ns), process, source, count)
        });
    }

    fn span(&mut self) {
        let (kind, name) = (self.bytes.text(&self.words.kinds), self.bytes.text(&self.words.names));
        let (t0_ns, length_ns, flags) = (self.bytes.t_ns(), self.bytes.length_ns(), self.bytes.byte());
        let thread = self.bytes.of(&self.threads).filter(|_| flags & 1 == 0);
        let of_thread = thread.map(|id| self.recording.threads[id.index()].process);
        let ids = (of_thread.or(self.bytes.of(&self.processes)), self.bytes.of(&self.sources));
        let (Some(process), Some(source)) = ids else { return };
        let figures: Vec<(&str, f64)> =
            (0..flags >> 1 & 3).map(|_| (self.bytes.text(&self.words.figures), self.bytes.value())).collect();
        let labels: Vec<(&str, &str)> = (0..flags >> 3 & 3)
            .map(|_| (self.bytes.text(&self.words.labels), self.bytes.text(&self.words.names)))
            .collect();
        let spans = self.recording.spans.len() as u32;
        let parent = (flags & 64 == 64).then(|| self.bytes.number() as u32);
        self.recording.span(&SpanRow {
            kind,
            name,
            t0_ns,
            t1_ns: t0_ns + length_ns,
            process,
            thread,
            stack: self.bytes.of(&self.stacks).filter(|_| flags & 32 == 0),
            source,
            line: 0,
            key: if flags & 128 == 128 { self.bytes.byte() as i64 } else { -1 },
            parent: parent.filter(|parent| *parent < spans).map(SpanId),
            figures: &figures,
            labels: &labels,
        });
    }
}

/// Judges a recording in every way that a command does: all of it ends, with values that are
/// numbers and add up.
pub fn is_judged(recording: &Recording) {
    let diagnosis = diagnose(recording, &Options::default()).expect("only windows of a user can be refused");
    is_sound(&diagnosis);
    let _ = metrics::gc::report(recording, None);
    let _ = metrics::jit::report(recording, None);
    let slow = diagnosis.windows.slow.first().copied();
    for by in [By::Process, By::Role, By::Pool, By::Thread] {
        for group in &thread_ledger(recording, slow, None, by).groups {
            let spent: f64 = group.spent.iter().map(|spent| spent.ms).sum();
            assert!(spent.is_finite() && spent <= group.thread_ms * 1.001 + 1e-3, "{}: {spent}", group.name);
        }
    }
    let chains = Chains::with_lock_holders(recording);
    let window = slow.unwrap_or(whole(recording));
    for (thread, ms) in chains.victims(window, &diagnosis.windows.base) {
        assert!(ms.is_finite() && ms >= 0.0, "{ms}");
        let chain = chains.of_victim(thread, window);
        let links: f64 = chain.links.iter().map(|link| link.ms).sum();
        assert!(
            links.is_finite() && links <= chain.ms * 1.001 + 1e-3,
            "{}: {links} of {}",
            chain.thread,
            chain.ms
        );
    }
}

/// Shares lie between 0 and 1 and add up to at most the loss; costs are numbers.
fn is_sound(diagnosis: &Diagnosis) {
    let mut shares = 0.0;
    for finding in &diagnosis.findings {
        assert!(
            finding.cost_ms.is_finite() && finding.cost_ms >= 0.0,
            "{}: {}",
            finding.rule,
            finding.cost_ms
        );
        let share = finding.share.unwrap_or(0.0);
        assert!((0.0..=1.0).contains(&share), "{}: {share}", finding.rule);
        shares += share;
    }
    assert!(shares <= 1.0 + 1e-6, "{shares}");
    assert!(diagnosis.loss.lost_ms.is_finite() && diagnosis.loss.lost_ms >= 0.0);
}
