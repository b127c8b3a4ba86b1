//! A report of a made-up recording: `synthetic_report SPANS POINTS SAMPLES > page.html`, or the
//! recording itself: `synthetic_report SPANS POINTS SAMPLES OUT.fathom`. With `many` for a path it
//! is a page of fifty slow windows on the wall clock, without an account of the loss and with a
//! long headline; with `early` one of a live recording in which a wait began long before.
//!
//! For the browser test and for measuring how the page opens with a recording of a given size: half
//! of the spans are compilations, the rest other events of the JVM; the points are three clients'
//! throughput with a dip, and one of the stacks of 24 threads grows in it. Names try to break out.

use std::io::{BufWriter, Write};

use fathom_diagnose::chain::{Chain, End, Link, LinkKind, Part, Stop, StopPart};
use fathom_diagnose::facts::{Metric, Value};
use fathom_diagnose::{
    Began, BlindSpot, Charge, ChargeKind, Confidence, Diagnosis, Evidence, Fact, Finding, FoundOn, Input,
    Layer, LedgerCategory, LedgerRow, Loss, Mark, Measure, Remedy, RuledOut, SCHEMA, Seen, Status, Window,
    Windows,
};
use fathom_recording::vocabulary::{figure, kind, label, sample};
use fathom_recording::{
    FrameType, Process, ProcessId, Recording, Role, SampleRow, SeriesInfo, SeriesKind, Sink, Source,
    SourceId, SpanRow, StackId,
};

const S: i64 = 1_000_000_000;
/// What a diagnosis states, as a sentence that was made up.
static MADE_UP: Metric = Metric::new("", "{value}");
/// Length of the made-up run.
const RUN_NS: i64 = 600 * S;
const SLOW: Window = Window { from_ns: 300 * S, to_ns: 330 * S };
const BASE: Window = Window { from_ns: 30 * S, to_ns: 270 * S };
const EVIL: &str = "</script><img src=x onerror=\"document.title='owned'\">\u{202e}\x1b[2J";

fn said(sentence: &str) -> Fact {
    MADE_UP.is(Value::name(sentence))
}

fn main() -> std::io::Result<()> {
    let mut numbers = std::env::args().skip(1).take(3).map(|a| a.parse::<i64>().unwrap_or(0));
    let (spans, points) = (numbers.next().unwrap_or(200_000), numbers.next().unwrap_or(100_000));
    let mut recording = Recording::new();
    fill_spans(&mut recording, spans);
    fill_points(&mut recording, points);
    fill_samples(&mut recording, numbers.next().unwrap_or(0));
    let fourth = std::env::args().nth(4);
    let [is_many, is_early] = ["many", "early"].map(|word| fourth.as_deref() == Some(word));
    if is_early {
        wait_from_before(&mut recording);
    }
    if let Some(path) = fourth.filter(|_| !is_many && !is_early) {
        recording.sources.iter_mut().for_each(|source| source.covers_ns = Some((0, RUN_NS)));
        recording.seal();
        return fathom_recording::write(&recording, path.as_ref(), fathom_recording::Overwrite::Never)
            .map_err(std::io::Error::other);
    }
    recording.seal();
    let mut out = BufWriter::new(std::io::stdout().lock());
    let diagnosis = if is_many { many(diagnosis()) } else { diagnosis() };
    fathom_render::html(&diagnosis, &recording, &mut out)?;
    out.flush()
}

/// A wait that began before anybody looked, and the source of a live recording, which says when
/// that was.
fn wait_from_before(recording: &mut Recording) {
    let format = fathom_recording::vocabulary::source::SESSION.into();
    let source = recording.add_source(Source { format, covers_ns: Some((0, RUN_NS)), ..Source::default() });
    let process = ProcessId(0);
    let thread = Some(recording.thread(process, None, "http-exec-0", Role::App));
    recording.span(&SpanRow {
        kind: kind::LOCK_PARK,
        name: "park",
        t0_ns: -4 * RUN_NS,
        t1_ns: 10 * S,
        process,
        thread,
        stack: None,
        source,
        line: 0,
        key: -1,
        parent: None,
        figures: &[],
        labels: &[],
    });
}

/// The same verdict over fifty windows, without an account, with a headline that says all that its
/// finding does.
fn many(mut diagnosis: Diagnosis) -> Diagnosis {
    let window = |i: i64| Window { from_ns: i * 12 * S, to_ns: (i * 12 + 3) * S };
    diagnosis.windows.slow = (0..50).map(window).collect();
    diagnosis.windows.base =
        (0..50).map(|i| Window { from_ns: (i * 12 + 4) * S, to_ns: (i * 12 + 11) * S }).collect();
    diagnosis.wall_clock = true;
    diagnosis.account.clear();
    let finding = &mut diagnosis.findings[0];
    finding.culprit =
        said("com.example.orders.service.OrderService$AccountLedgerOfAllTheAccounts in OrderService.book()")
            .into();
    finding.title = said(&format!(
        "30 threads waited 455.66 s for the monitor {}; its holder was off the CPU 17.39 s of 17.86 s: asleep in \
         OrderService.auditTrail 76%, in fsync() on /srv/svc/run/audit.wal 9.3%",
        finding.culprit
    ))
    .into();
    let headline =
        format!("{}: 97% of the 15.97 s lost at 0–3 s, 12–15 s and 48 more (likely)", finding.title);
    diagnosis.headline = said(&headline).with("title", Value::from(&finding.title)).into();
    diagnosis
}

/// A sequence that looks random and is the same each time (Knuth's MMIX generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as i64 % limit.max(1)
    }
}

fn fill_spans(recording: &mut Recording, spans: i64) {
    let mut random = Numbers(7);
    let source = recording.add_source(Source { name: "gc.log".into(), ..Source::default() });
    let process = recording.add_process(Process { name: "server2".into(), jvm: true, ..Process::default() });
    let threads = ["C2 CompilerThread0", "C2 CompilerThread1", "C1 CompilerThread0"]
        .map(|name| recording.thread(process, None, name, Role::Jit));
    let names: Vec<String> = (0..5_000)
        .map(|i| format!("org.example.p{}.Class{i}.method(ILjava.lang.String;)V", i % 40))
        .collect();
    for i in 0..spans {
        let at = RUN_NS / spans.max(1) * i;
        let slow = (SLOW.from_ns..SLOW.to_ns).contains(&at);
        let mut span = |kind: &str,
                        name: &str,
                        duration: i64,
                        thread,
                        figures: &[(&str, f64)],
                        labels: &[(&str, &str)]| {
            recording.span(&SpanRow {
                kind,
                name,
                t0_ns: at,
                t1_ns: at + duration,
                process,
                thread,
                stack: None,
                source,
                line: i as u64 + 1,
                key: i,
                parent: None,
                figures,
                labels,
            });
        };
        match i % 10 {
            0 => {
                let ms = 1 + random.below(if i % 1_000 == 0 { 400 } else { 12 });
                let full = f64::from(u8::from(i % 1_000 == 0));
                let name = if full > 0.0 { "Pause Full" } else { "Pause Young (Normal)" };
                let before = 2e9 + random.below(1_000_000_000) as f64;
                let figures = [
                    (figure::HEAP_BEFORE_BYTES, before),
                    (figure::HEAP_AFTER_BYTES, 1e9),
                    (figure::FULL, full),
                    (figure::USER_S, 0.01),
                ];
                span(kind::GC_PAUSE, name, ms * 1_000_000, None, &figures, &[(label::CAUSE, EVIL)]);
            }
            1..=3 => {
                let at_ns = random.below(8_000_000);
                let reach = random.below(900_000);
                let figures = [
                    (figure::REACH_NS, reach as f64),
                    (figure::AT_NS, at_ns as f64),
                    (figure::CLEANUP_NS, 20_000.0),
                ];
                span(kind::SAFEPOINT, "G1CollectForAllocation", at_ns + reach + 20_000, None, &figures, &[]);
            }
            4 => span(kind::JIT_INVALIDATE, EVIL, 0, None, &[], &[(label::REASON, "unstable_if")]),
            _ => {
                let name = &names[random.below(5_000) as usize];
                let duration = random.below(if slow { 40_000_000 } else { 3_000_000 });
                let thread = threads[random.below(3) as usize];
                let tier = if i % 3 == 0 { 4.0 } else { 3.0 };
                span(
                    kind::JIT_COMPILE,
                    name,
                    duration,
                    Some(thread),
                    &[(figure::TIER, tier), (figure::BYTECODES, 120.0)],
                    &[],
                );
            }
        }
    }
    fill_cited(recording, process, source);
}

/// What the verdict cites of 301 s.
fn fill_cited(recording: &mut Recording, process: ProcessId, source: SourceId) {
    recording.span(&SpanRow {
        line: 88_412,
        labels: &[(label::REASON, "unstable_if")],
        ..SpanRow::new(
            kind::JIT_INVALIDATE,
            "org.example.Cited.method()V",
            (301 * S, 301 * S),
            process,
            source,
        )
    });
}

fn fill_points(recording: &mut Recording, points: i64) {
    let mut random = Numbers(11);
    let source = recording.add_source(Source { name: "clients.csv".into(), ..Source::default() });
    for instance in ["client0", "client1", "client2"] {
        let series = recording.add_series(SeriesInfo {
            name: "throughput".into(),
            unit: "tx/s".into(),
            instance: instance.into(),
            kind: SeriesKind::Rate,
            process: None,
            source,
        });
        let n = points / 3;
        for i in 0..n {
            let at = RUN_NS / n.max(1) * i;
            let slow = (SLOW.from_ns..SLOW.to_ns).contains(&at);
            let value = if slow { 40.0 } else { 130.0 } + random.below(10) as f64;
            recording.point(series, at, RUN_NS / n.max(1), value);
        }
    }
}

/// Stacks as a service has them: a thread's loop, then frames of which few are common and most are
/// rare.
fn stacks(recording: &mut Recording, random: &mut Numbers, wanted: i64) -> Vec<StackId> {
    const TYPES: [FrameType; 8] = [
        FrameType::C2,
        FrameType::C2,
        FrameType::Inlined,
        FrameType::C1,
        FrameType::Interpreted,
        FrameType::Jvm,
        FrameType::Native,
        FrameType::Kernel,
    ];
    let frames: Vec<_> = (0..5_000)
        .map(|i| {
            let frame_type = TYPES[(i % 8) as usize];
            let (name, module) = match frame_type {
                FrameType::Kernel => (format!("do_work_{i}"), "kernel"),
                FrameType::Jvm | FrameType::Native => (format!("Arena::grow{i}(unsigned long)"), "libjvm.so"),
                _ => (format!("org.example.p{}.Class{i}.method{}", i % 40, i % 7), ""),
            };
            recording.frame(&name, module, frame_type, -1)
        })
        .collect();
    let evil = recording.frame(EVIL, "", FrameType::Interpreted, 7);
    let run = recording.frame("java.lang.Thread.run", "", FrameType::C2, -1);
    let root = recording.stack(None, run);
    let mut stacks = vec![recording.stack(Some(root), evil)];
    for _ in 1..wanted {
        // Skewed twice: most stacks go on from an early one, with few frames of their own.
        let from = random.below(stacks.len() as i64);
        let mut at = stacks[random.below(from + 1) as usize];
        for _ in 0..1 + random.below(10) {
            let most = 1 + random.below(frames.len() as i64);
            at = recording.stack(Some(at), frames[random.below(most) as usize]);
        }
        stacks.push(at);
    }
    stacks
}

fn fill_samples(recording: &mut Recording, samples: i64) {
    let mut random = Numbers(13);
    let source = recording.add_source(Source { name: "app.jfr".into(), ..Source::default() });
    let process = ProcessId(0);
    let threads: Vec<_> = (0..24)
        .map(|i| match i {
            0..20 => recording.thread(process, Some(100 + i), &format!("http-exec-{i}"), Role::App),
            _ => recording.thread(process, Some(100 + i), &format!("C2 CompilerThread{}", i - 20), Role::Jit),
        })
        .collect();
    let stacks = stacks(recording, &mut random, 20_000.min(samples));
    for i in 0..samples {
        let t_ns = RUN_NS / samples * i + random.below(RUN_NS / samples);
        let slow = (SLOW.from_ns..SLOW.to_ns).contains(&t_ns);
        let (kind, weight) = match i % 20 {
            0..16 => (sample::CPU, 10_000_000),
            16..18 => (sample::OFF_CPU, 1_000 + random.below(80_000_000)),
            _ => (sample::ALLOC, 512 << random.below(12)),
        };
        // A pool has stacks of its own, and few of them take most of its time.
        let busy = 1 + random.below(24);
        let number = random.below(busy);
        let mut below = stacks.len() as i64 / 4;
        for _ in 0..3 {
            below = 1 + random.below(below);
        }
        let mut stack = stacks[(below * 4 - 1 - number / 6) as usize % stacks.len()];
        if slow && random.below(3) == 0 {
            stack = stacks[stacks.len() / 3];
        }
        let thread = Some(threads[number as usize]);
        recording.sample(&SampleRow { kind, t_ns, process, thread, stack: Some(stack), weight, source });
    }
}

/// A worker that waits for another, which waits for a disk; the second holds a lock whose name
/// tries to break out.
fn chain() -> Chain {
    let link = |thread: Option<&str>, what: &str, ms: f64, end: Option<End>, next: Vec<Link>| Link {
        thread: thread.map(str::to_owned),
        tid: None,
        process: "server2".into(),
        process_id: None,
        category: None,
        kind: LinkKind::Thread,
        what: said(what).into(),
        ms,
        share: ms / 900.0,
        times: 3,
        from_ns: 310 * S,
        to_ns: 311 * S,
        stack: vec![EVIL.into(), "org.example.Store.commit".into(), "org.example.Worker.run".into()],
        source: String::new(),
        end,
        next,
    };
    let disk = link(None, "write request on vda", 600.0, Some(End::Hardware), Vec::new());
    let fsync = link(Some("http-exec-7"), "in fsync() on /var/data/log", 700.0, None, vec![disk]);
    let waits = format!("waiting for {EVIL} that http-exec-7 held");
    let lock = link(Some("http-exec-3"), &waits, 800.0, None, vec![fsync]);
    let idle = link(Some("http-exec-3"), "asleep", 100.0, Some(End::Choice), Vec::new());
    Chain {
        thread: "http-exec-3".into(),
        tid: Some(103),
        process: "server2".into(),
        process_id: None,
        from_ns: 310 * S,
        to_ns: 312 * S,
        ms: 900.0,
        links: vec![lock, idle],
    }
}

/// A stop whose last thread came late.
fn stop() -> Stop {
    let part = |part: Part, from_ms: i64, to_ms: i64| StopPart {
        part,
        words: part.words(),
        from_ns: 320 * S + from_ms * 1_000_000,
        to_ns: 320 * S + to_ms * 1_000_000,
        ms: (to_ms - from_ms) as f64,
        links: Vec::new(),
    };
    Stop {
        process: "server2".into(),
        process_id: ProcessId(0),
        operation: "G1CollectForAllocation".into(),
        from_ns: 320 * S,
        to_ns: 320 * S + 120_000_000,
        ms: 120.0,
        asked_by: Some("http-exec-1".into()),
        last_in: Some("http-exec-2".into()),
        last_in_how: Some(said("it was the last to block").into()),
        last_in_stack: vec!["org.example.Loop.counted".into(), "org.example.Worker.run".into()],
        parts: vec![part(Part::Reach, 0, 90), part(Part::Operation, 90, 118), part(Part::Leave, 118, 120)],
        source: "gc.log:1234".into(),
    }
}

fn diagnosis() -> Diagnosis {
    let evidence = |text: &str, at_s: i64| Evidence::summed("jit2.xml:88412", said(text)).at(at_s * S);
    let charge = |to: &str, kind, finding, ms: f64| Charge {
        to: said(to).into(),
        kind,
        category: None,
        finding,
        ms,
        share: ms / 20_600.0,
    };
    let row = |category: LedgerCategory, in_sum, slow: f64, base: f64| LedgerRow {
        process: "server2".into(),
        process_id: Some(ProcessId(0)),
        recording: None,
        pid: None,
        category_id: category,
        compiler: None,
        category: category.words().into(),
        in_sum,
        slow_ms: Some(slow * 30_000.0),
        base_ms: Some(base * 240_000.0),
        slow_share: Some(slow),
        base_share: Some(base),
    };
    Diagnosis {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        recording: None,
        recordings: Vec::new(),
        status: Status::Found,
        seen: Seen::default(),
        headline: said("A made-up burst of JIT compilation explains 17.9 s of 20.6 s lost").into(),
        inputs: vec![Input {
            name: EVIL.into(),
            format: "made-up".into(),
            process: Some("server2".into()),
            process_id: Some(ProcessId(0)),
            recording: None,
            records: 300_000,
            skipped: 1,
            lost: 0,
            placed: "made up on one clock".into(),
            uncertainty_ns: Some(0),
        }],
        wall_clock: false,
        zero_ns: 0,
        windows: Windows {
            slow: vec![SLOW],
            base: vec![BASE],
            found_on: FoundOn::Series,
            how: vec![said("made up").into()],
        },
        marks: vec![Mark {
            at_ns: SLOW.from_ns,
            text: "a made-up deploy".into(),
            precision_ns: 1_000_000_000,
            source: "made up".into(),
            began: Some(Began { from_ns: SLOW.from_ns, before_ms: 0.0, within_ms: 2000.0 }),
        }],
        loss: Loss {
            lost_ms: 20_600.0,
            slow_rate: Some(132.0),
            base_rate: Some(402.0),
            unit: "tx/s".into(),
            measure: Some(Measure::Throughput),
            measured_on: "throughput of three made-up clients".into(),
        },
        account: vec![
            charge("C2", ChargeKind::Finding, Some(0), 17_900.0),
            charge("not known", ChargeKind::NotKnown, None, 2_700.0),
        ],
        ledger: vec![
            row(LedgerCategory::StoppedByGc, true, 0.02, 0.01),
            row(LedgerCategory::Stopped, true, 0.01, 0.005),
            row(LedgerCategory::NotStopped, true, 0.97, 0.985),
            row(LedgerCategory::Compilers, false, 1.8, 0.03),
        ],
        findings: vec![Finding {
            rule: "jit-compile-burst",
            title: said("A burst of JIT compilation: 191 tasks/s instead of 0.4/s").into(),
            layer: Layer::Jit,
            confidence: Confidence::Proven,
            why_confidence: vec![said("queue and throughput move together; GC is ruled out").into()],
            cost_ms: 17_900.0,
            share: Some(0.87),
            covered_share: 1.0,
            culprit: said(EVIL).into(),
            process: "server2".into(),
            process_id: ProcessId(0),
            recording: None,
            pid: None,
            started_ns: None,
            meaning: said("Methods that had never run became hot, and ran in the interpreter.").into(),
            evidence: vec![
                evidence("956 methods queued between 300 s and 305 s", 301),
                evidence("the queue is empty again", 329),
            ],
            remedies: vec![Remedy {
                change: said("-XX:TieredStopAtLevel=1").into(),
                applies_to: "JDK 8 and later".into(),
                risk: "lower peak speed".into(),
            }],
            verify: vec![said("run again: throughput stays above 350 tx/s").into()],
            windows: vec![SLOW],
            acts: Vec::new(),
            also: Vec::new(),
            chain: Some(chain()),
            stop: Some(stop()),
        }],
        ruled_out: vec![RuledOut {
            rule: "gc".into(),
            process_id: ProcessId(0),
            recording: None,
            figure: said("GC stopped server2 for 0.6 s of 30 s").into(),
            source: "gc.log".into(),
        }],
        blind_spots: vec![BlindSpot {
            what: said("CPU of the machine").into(),
            rules: vec!["gc-starved-of-cpu".into()],
            remedy: said("record with fathom record").into(),
        }],
        warnings: vec![said("made up").into()],
    }
}
