//! `fathom export`: what is written opens in the programs that it is for, with equal totals.
//!
//! pprof comes by `go install`, Perfetto's Python package from PyPI into `target/tmp`, speedscope
//! and the Firefox Profiler's command line from npm with the page's other development dependencies;
//! where one cannot be had, its test says SKIPPED.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use fathom_recording::vocabulary::{kind, sample};
use fathom_recording::{
    FrameType, Overwrite, Placement, Process, Recording, Role, SampleRow, SeriesInfo, SeriesKind, Sink,
    Source, SpanRow,
};

const S: i64 = 1_000_000_000;
/// CPU of `recording`: 2 threads × 500 samples × 10 ms.
const CPU_S: f64 = 10.0;

/// 500 s of samples, spans that overlap, a series; `main` is below everything, `hot` takes half.
fn recording(dir: &Path) {
    let mut r = Recording::new();
    let process =
        r.add_process(Process { name: "App".into(), pid: Some(77), jvm: true, ..Process::default() });
    let placement = Placement { wall: true, uncertainty_ns: Some(0), ..Placement::default() };
    let source = Source { name: "x".into(), covers_ns: Some((0, 500 * S)), placement, ..Source::default() };
    let source = r.add_source(source);
    for tid in [78, 79] {
        let thread = Some(r.thread(process, Some(tid), &format!("worker-{tid}"), Role::App));
        for i in 0..500_i64 {
            let names = ["org.example.Main.main", if i % 2 == 0 { "org.example.A.hot" } else { "write" }];
            let mut stack = None;
            for (name, frame_type) in names.into_iter().zip([FrameType::Interpreted, FrameType::C2]) {
                let frame = r.frame(name, "", frame_type, -1);
                stack = Some(r.stack(stack, frame));
            }
            let (kind, t_ns, weight) = (sample::CPU, i * S, 10_000_000);
            r.sample(&SampleRow { kind, t_ns, process, thread, stack, weight, source });
            r.span(&SpanRow {
                thread,
                key: i,
                figures: &[("bytes", 5.0)],
                labels: &[("owner", "main")],
                ..SpanRow::new(
                    kind::LOCK_MONITOR,
                    "java.lang.Object",
                    (i * S, i * S + 3 * S / 2),
                    process,
                    source,
                )
            });
        }
    }
    let series = r.add_series(SeriesInfo {
        name: "throughput".into(),
        unit: "ops/s".into(),
        instance: String::new(),
        kind: SeriesKind::Rate,
        process: Some(process),
        source,
    });
    (0..500).for_each(|i| r.point(series, i * S, S, 100.0 + i as f64));
    // A process of which nothing is known but its CPU time.
    let other = r.add_process(Process { name: "other".into(), pid: Some(99), ..Process::default() });
    let series = r.add_series(SeriesInfo {
        name: "process.cpu".into(),
        unit: "cpus".into(),
        instance: String::new(),
        kind: SeriesKind::Gauge,
        process: Some(other),
        source,
    });
    r.point(series, 3 * S, S, 0.5);
    r.seal();
    fathom_recording::write(&r, &dir.join("a.fathom"), Overwrite::Never).unwrap();
}

/// The export of the recording in a format.
pub fn exported(dir: &Path, format: &str, name: &str) -> PathBuf {
    recording(dir);
    let args = ["export", "a.fathom", "--format", format, "-o", name];
    let output = Command::new(env!("CARGO_BIN_EXE_fathom")).current_dir(dir).args(args).output().unwrap();
    assert!(output.status.success(), "{}", reported(&output));
    dir.join(name)
}

fn reported(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn works(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

fn tmp() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn pprof_reads_the_same_totals() {
    let bin = tmp().join("go-bin");
    let pprof = bin.join("pprof");
    let has = || works(Command::new(&pprof).arg("--help")) || pprof.exists();
    if !has() {
        works(Command::new("go").args(["install", "github.com/google/pprof@latest"]).env("GOBIN", &bin));
    }
    if !has() {
        fathom_testing::skip("pprof cannot be had here (go install github.com/google/pprof@latest)");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = exported(dir.path(), "pprof", "x.pb.gz");
    let output = Command::new(&pprof).args(["-top", "-unit=s"]).arg(&file).output().unwrap();
    let text = reported(&output);
    assert!(text.contains("Type: cpu") && text.contains("10s, 100% of 10s total"), "{text}");
    let main = text.lines().find(|l| l.ends_with("org.example.Main.main")).unwrap();
    assert_eq!(main.split_whitespace().nth(3), Some("10s"), "{text}");
    let hot = text.lines().find(|l| l.ends_with("org.example.A.hot")).unwrap();
    assert_eq!(hot.split_whitespace().next(), Some("5s"), "{text}");
    let tags = Command::new(&pprof).arg("-tags").arg(&file).output().unwrap();
    assert!(reported(&tags).contains("worker-78"), "{}", reported(&tags));
}

#[test]
fn perfetto_reads_the_same_totals() {
    let packages = tmp().join("perfetto-python");
    let python = |code: &str| {
        let mut command = Command::new("python3");
        command.args(["-c", code]).env("PYTHONPATH", &packages);
        command
    };
    let has = || works(&mut python("from perfetto.protos.perfetto.trace import perfetto_trace_pb2"));
    if !has() {
        let pip = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--target"];
        works(Command::new("python3").args(pip).arg(&packages).args(["perfetto", "protobuf"]));
    }
    if !has() {
        fathom_testing::skip("Perfetto's Python package cannot be had here (python3 with pip, and PyPI)");
        return;
    }
    // The package's trace_processor is a program that it downloads; its protobuf classes come with
    // it, and know every field of the format.
    let code = "\
import sys
from collections import Counter
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as p
trace = p.Trace()
trace.ParseFromString(open(sys.argv[1], 'rb').read())
frames, names, stacks, leaves, kinds, points, tracks = {}, {}, {}, Counter(), Counter(), [], []
for packet in trace.packet:
    for f in packet.interned_data.function_names: names[f.iid] = f.str.decode()
    for f in packet.interned_data.frames: frames[f.iid] = names[f.function_name_id]
    for c in packet.interned_data.callstacks: stacks[c.iid] = [frames[i] for i in c.frame_ids]
    if packet.HasField('perf_sample'): leaves[stacks[packet.perf_sample.callstack_iid][-1]] += 1
    if packet.HasField('track_event'):
        kinds[p.TrackEvent.Type.Name(packet.track_event.type)] += 1
        if packet.track_event.HasField('double_counter_value'): points.append(packet.track_event.double_counter_value)
    if packet.HasField('track_descriptor'): tracks.append(packet.track_descriptor)
assert leaves == {'org.example.A.hot': 500, 'write': 500}, leaves
assert kinds == {'TYPE_SLICE_BEGIN': 1000, 'TYPE_SLICE_END': 1000, 'TYPE_COUNTER': 501}, kinds
assert sorted(points) == [0.5] + [100.0 + i for i in range(500)]
assert sorted(t.thread.thread_name for t in tracks if t.HasField('thread')) == ['worker-78', 'worker-79']
assert sorted(t.counter.unit_name for t in tracks if t.HasField('counter')) == ['cpus', 'ops/s']
";
    let dir = tempfile::tempdir().unwrap();
    let file = exported(dir.path(), "perfetto", "x.pftrace");
    let output = python(code).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", reported(&output));
}

#[test]
fn speedscope_reads_the_same_totals() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dir = tempfile::tempdir().unwrap();
    let file = exported(dir.path(), "speedscope", "x.speedscope.json");
    let script = root.join("ui/test/speedscope.mjs");
    if !works(Command::new("node").arg("--version")) || !root.join("ui/node_modules/speedscope").exists() {
        fathom_testing::skip("speedscope is not here (node, and npm --prefix ui ci)");
        return;
    }
    let output = Command::new("node").arg(script).arg(&file).output().unwrap();
    let text = reported(&output);
    assert!(output.status.success(), "{text}");
    if let Some(why) = text.lines().find_map(|line| line.strip_prefix("SKIPPED: ")) {
        fathom_testing::skip(why);
        return;
    }
    let rows: Vec<&str> = text.lines().collect();
    let main = rows.iter().find(|l| l.contains("org.example.Main.main")).expect(&text);
    assert!(main.contains(&format!("{CPU_S:.2}s (100%)")), "{text}");
    let hot = rows.iter().find(|l| l.contains("org.example.A.hot")).expect(&text);
    assert!(hot.matches("5.00s (50%)").count() == 2, "{text}");
}

#[test]
fn firefox_profiler_reads_the_same_totals() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = root.join("ui/node_modules/@firefox-devtools/profiler-cli");
    if !works(Command::new("node").arg("--version")) || !program.exists() {
        fathom_testing::skip("the Firefox Profiler's importer is not here (node, and npm --prefix ui ci)");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = exported(dir.path(), "firefox", "x.json");
    let output = Command::new("node").arg(root.join("ui/test/firefox.mjs")).arg(&file).output().unwrap();
    let text = reported(&output);
    assert!(output.status.success(), "{text}");
    for tid in [78, 79] {
        let thread = text.split(&format!("thread worker-{tid} ")).nth(1).expect(&text);
        let thread = thread.split("thread ").next().unwrap();
        assert!(thread.contains(" 500 markers"), "{text}");
        for line in [
            "org.example.Main.main: self 0.000 total 5000.000",
            "org.example.A.hot: self 2500.000 total 2500.000",
            "write: self 2500.000 total 2500.000",
        ] {
            assert!(thread.contains(line), "{line}\n{text}");
        }
    }
    assert!(text.contains("throughput (ops/s)") && text.contains("process.cpu (cpus)"), "{text}");
    assert!(text.contains("500 samples"), "{text}");
}
