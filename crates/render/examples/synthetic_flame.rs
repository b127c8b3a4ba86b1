//! A page of flame graphs of a made-up recording: `synthetic_flame SAMPLES METHODS > page.html`.
//!
//! For the browser test and for measuring how the page opens and moves. Stacks are 8 to 40 deep; in
//! the second half one method takes three times as long, which the comparison of both halves has to
//! find. Names try to break out of the page.

use std::io::{BufWriter, Write};

use fathom_diagnose::Window;
use fathom_diagnose::stacks::{Base, Normalisation, Selection, Shape, flame};
use fathom_recording::vocabulary::sample;
use fathom_recording::{
    FrameType, Process, ProcessId, Recording, Role, SampleRow, Sink, Source, SourceId, StackId,
};
use fathom_render::flame::About;

const S: i64 = 1_000_000_000;
const RUN_S: i64 = 600;
const EVIL: &str = "</script><img src=x onerror=\"document.title='owned'\">\u{202e}\x1b[2J";

fn main() -> std::io::Result<()> {
    let mut numbers = std::env::args().skip(1).map(|a| a.parse::<u64>().unwrap_or(0));
    let (samples, methods) = (numbers.next().unwrap_or(100_000), numbers.next().unwrap_or(2_000));
    let recording = recording(samples, methods.max(10));
    let selection = |kind: &str, from_s: i64, to_s: i64| Selection {
        kind: kind.into(),
        windows: vec![Window { from_ns: from_s * S, to_ns: to_s * S }],
        ..Selection::default()
    };
    let base = Base { selection: selection(sample::CPU, 0, RUN_S / 2), normalisation: Normalisation::Wall };
    let compared =
        flame(&recording, &selection(sample::CPU, RUN_S / 2, RUN_S), Shape::default(), Some(&base));
    let waits = flame(
        &recording,
        &selection(sample::OFF_CPU, 0, RUN_S),
        Shape { per_thread: true, lines: false },
        None,
    );
    let flames: Vec<_> = [compared, waits].into_iter().flatten().collect();
    let about = About::of(&recording, format!("made up {EVIL}"), String::new(), false);
    let mut out = BufWriter::new(std::io::stdout().lock());
    fathom_render::flame::html(&flames, &about, &mut out)?;
    out.flush()
}

/// A sequence that looks random and is the same each time (Knuth's MMIX generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

fn recording(samples: u64, methods: u64) -> Recording {
    let mut recording = Recording::new();
    let process = recording.add_process(Process { name: "server2".into(), jvm: true, ..Process::default() });
    let covers_ns = Some((0, RUN_S * S));
    let source = recording.add_source(Source { name: "made up".into(), covers_ns, ..Source::default() });
    let mut numbers = Numbers(5);
    for i in 0..samples {
        let t_ns = (i as i64) * (RUN_S * S / samples.max(1) as i64);
        let stack = stack(&mut recording, &mut numbers, methods, t_ns > RUN_S * S / 2);
        let name = format!("worker-{}", numbers.below(8));
        let thread = Some(recording.thread(process, Some(i as i64 % 8), &name, Role::App));
        add(&mut recording, sample::CPU, t_ns, process, thread, stack, 10_000_000, source);
        if i % 10 == 0 {
            add(&mut recording, sample::OFF_CPU, t_ns, process, thread, stack, 250_000_000, source);
        }
    }
    recording.seal();
    recording
}

#[allow(clippy::too_many_arguments, reason = "a row's columns")]
fn add(
    recording: &mut Recording,
    kind: &str,
    t_ns: i64,
    process: ProcessId,
    thread: Option<fathom_recording::ThreadId>,
    stack: Option<StackId>,
    weight: i64,
    source: SourceId,
) {
    recording.sample(&SampleRow { kind, t_ns, process, thread, stack, weight, source });
}

/// A walk down a made-up program: each method calls a few others, rarely ones more often than not.
fn stack(recording: &mut Recording, numbers: &mut Numbers, methods: u64, late: bool) -> Option<StackId> {
    let mut at = None;
    let mut method = 0;
    let depth = 8 + numbers.below(33);
    for level in 0..depth {
        let (name, module, frame_type) = match method {
            _ if level + 2 >= depth && numbers.below(4) == 0 => {
                ("ksys_write".to_owned(), "kernel", FrameType::Kernel)
            }
            7 => (EVIL.to_owned(), "libjvm.so", FrameType::Jvm),
            8 => ("G1ParScanThreadState::trim_queue()".to_owned(), "libjvm.so", FrameType::Jvm),
            9 => ("deflate".to_owned(), "libz.so.1", FrameType::Native),
            m => {
                let frame_type = [
                    FrameType::C2,
                    FrameType::Inlined,
                    FrameType::C1,
                    FrameType::Interpreted,
                    FrameType::Stub,
                ][(m % 5) as usize];
                (format!("org.example.p{}.Class{}.method{m}", m % 40, m / 7), "", frame_type)
            }
        };
        let frame = recording.frame(&name, module, frame_type, -1);
        at = Some(recording.stack(at, frame));
        let branch = numbers.below(8) * numbers.below(8) / 8;
        method =
            if late && level == 5 && numbers.below(3) == 0 { 4 } else { (method * 5 + branch + 1) % methods };
    }
    at
}
