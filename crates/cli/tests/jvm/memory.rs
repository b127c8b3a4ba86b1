//! Page faults of real JVMs that touch a known number of fresh pages of a known mapping: counted as
//! the kernel counts them, in the right mapping, below the right Java method. Needs root and eBPF;
//! skips loudly without.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fathom_recording::Recording;
use fathom_recording::vocabulary::{count, fault, sample};

use crate::live::process::Talking;
use crate::live::recorded::names;
use crate::live::recorder::Recorder;
use crate::live::{ebpf_is_allowed, jdks, patiently};

/// How far a count may be from the kernel's own.
const WITHIN: f64 = 0.02;
/// Touched in each of two rounds.
const MEGABYTES: u64 = 128;
/// A fault for each page; the JVM's own are few.
const EACH_PAGE: f64 = (1.0 - WITHIN) * (2 * MEGABYTES * 256) as f64;
/// A file system that keeps pages together maps some of them at a fault.
const SOME_PAGES: f64 = 1000.0;

/// The program, which touches memory at each line that it is sent.
struct Program(Talking);

impl Program {
    fn start(java: &Path, classes: &Path, options: &[&str], arguments: &[&str]) -> Self {
        let mut command = Command::new(java);
        command.args(options).arg("-cp").arg(classes).arg("Faults").args(arguments);
        Self(Talking::start(command.stderr(Stdio::null())))
    }

    fn round(&mut self) {
        self.0.send("");
        assert_eq!(self.0.line(), Some("done"));
    }

    /// Faults that the kernel has counted for it: proc_pid_stat(5), minflt and majflt.
    fn faults(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.pid())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[7].parse::<u64>().unwrap() + fields[9].parse::<u64>().unwrap()
    }
}

/// Launchers of the JDKs to test, and where the program is compiled.
fn jdks(classes: &Path) -> Vec<PathBuf> {
    let there = jdks::compile(classes, 11, &["Faults"]).map_or_else(Vec::new, |_| jdks::of(&[17, 25]));
    there.into_iter().map(|(_, home)| home.join("bin/java")).collect()
}

/// Records the program while it is asked to touch memory; and how many faults it made: at least
/// those that the kernel counted meanwhile, at most those from before the recording began until
/// after its end.
fn recorded(
    program: &mut Program,
    dir: &Path,
    touch: impl FnOnce(&mut Program),
) -> (Recording, RangeInclusive<f64>) {
    let ever = program.faults();
    let recorder = Recorder::record(dir, &program.0.pid(), &["--without", "jvm-events"]);
    // The JVM is read, and its code is known.
    std::thread::sleep(Duration::from_secs(2));
    let before = program.faults();
    look_into(program.0.process.0.id());
    touch(program);
    let least = program.faults() - before;
    let recording = recorder.stop(dir);
    let most = program.faults() - ever;
    (recording, (1.0 - WITHIN) * least as f64..=(1.0 + WITHIN) * most as f64)
}

/// Times that this process looks into the program's memory.
const LOOKS: usize = 200;

/// Reads memory of another process, for which the kernel locks its address space.
fn look_into(pid: u32) {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let start = maps.split('-').next().and_then(|start| u64::from_str_radix(start, 16).ok()).unwrap();
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    (0..LOOKS).for_each(|_| memory.read_exact_at(&mut [0; 8], start).unwrap());
}

fn by_mapping(recording: &Recording) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    for faults in recording.counts_of(count::PAGE_FAULTS) {
        *all.entry(faults.name().to_owned()).or_default() += faults.count() as f64;
    }
    all
}

/// Runs it on each JDK; `mapping` must hold at least `least` of the faults, and `method` have
/// touched them.
fn check(options: &[&str], what: &str, file: Option<&str>, (mapping, least): (&str, f64), method: &str) {
    if !ebpf_is_allowed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let megabytes = MEGABYTES.to_string();
    for java in jdks(dir.path()) {
        let arguments: Vec<&str> = [what, &megabytes].into_iter().chain(file).collect();
        let mut program = Program::start(&java, dir.path(), options, &arguments);
        let (recording, kernel) = recorded(&mut program, dir.path(), |program| {
            program.round();
            program.round();
        });
        let mappings = by_mapping(&recording);
        let reported = format!("{} {what}: the kernel counted {kernel:?}; {mappings:?}", java.display());
        eprintln!("{reported}");
        let all: f64 = mappings.values().sum();
        assert!(kernel.contains(&all), "{reported}");
        let there = mappings.get(mapping).copied().unwrap_or(0.0);
        assert!(there >= least && there <= *kernel.end(), "{reported}");
        let looked: u64 = (recording.counts_of(count::MEMORY_FOREIGN))
            .filter(|locks| locks.key() == i64::from(std::process::id()))
            .map(|locks| locks.count())
            .sum();
        let seen =
            recording.sources.iter().all(|s| s.unseen.iter().all(|u| !u.what.contains("address space")));
        assert!(looked >= LOOKS as u64 || !seen, "this test looked {looked} times; {reported}");
        // Samples stand for all faults, within what chance does to them: one that stands for w
        // others may as well not be there. Only one of a run does, so that it is far less, but what
        // a run is changes with the rate.
        let (mut weight, mut in_it, mut right, mut squares) = (0, 0, 0, 0.0);
        let faults = recording.strings.find(sample::PAGE_FAULT);
        for sample in recording.samples.iter().filter(|s| Some(s.kind) == faults) {
            weight += sample.weight;
            squares += (sample.weight as f64).powi(2);
            let names = names(&recording, sample.stack);
            let leaf = names.first().and_then(|name| fault::mapping_of(name));
            if leaf == Some(mapping) {
                in_it += sample.weight;
                right += if names.contains(&method) { sample.weight } else { 0 };
            }
        }
        let chance = 4.0 * squares.sqrt() + 0.05 * all;
        let reported = format!("give or take {chance:.0}; {reported}");
        assert!((weight as f64 - all).abs() < chance, "samples stand for {weight}, {reported}");
        assert!((in_it as f64 - there).abs() < chance, "samples of it stand for {in_it}, {reported}");
        assert!(right as f64 > 0.9 * in_it as f64, "{right} of {in_it} in {method}; {reported}");
        // How long the faults took is known, whatever of the time they were.
        let mut fathom = Command::new(env!("CARGO_BIN_EXE_fathom"));
        let output = fathom.arg("diagnose").arg(dir.path().join("x.fathom")).arg("--json").output().unwrap();
        let verdict: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let judged = ["findings", "ruled_out"].iter().flat_map(|list| verdict[list].as_array().unwrap());
        assert!(judged.into_iter().any(|rule| rule["rule"] == "page-fault-storm"), "{verdict}");
    }
}

#[test]
fn fresh_native_memory_is_anonymous_and_touched_by_the_method_that_writes_it() {
    patiently(|| {
        check(&["-Xmx64m"], "native", None, (fault::ANONYMOUS, EACH_PAGE), "Faults.touchNative");
    });
}

#[test]
fn fresh_heap_is_the_heap_and_touched_by_the_method_that_allocates() {
    patiently(|| {
        // No collection may move what was touched: room for both rounds in the young generation.
        let options = ["-Xms1g", "-Xmx1g", "-Xmn700m", "-XX:+UseSerialGC", "-XX:-AlwaysPreTouch"];
        check(&options, "heap", None, (fault::HEAP, EACH_PAGE), "Faults.touchHeap");
    });
}

#[test]
fn pages_of_a_mapped_file_are_the_files() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("data.bin");
        let file = file.to_str().unwrap();
        check(&["-Xmx64m"], "file", Some(file), (file, SOME_PAGES), "Faults.touchFile");
    });
}

#[test]
fn a_storm_of_faults_is_counted_by_some_of_them_and_says_so() {
    patiently(|| {
        if !ebpf_is_allowed() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let Some(java) = jdks(dir.path()).into_iter().next() else { return };
        let mut program =
            Program::start(&java, dir.path(), &["-Xmx64m"], &["native", &MEGABYTES.to_string()]);
        let begin = Instant::now();
        let mut touching = Duration::ZERO;
        let (recording, kernel) = recorded(&mut program, dir.path(), |program| {
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_secs(8) {
                program.round();
            }
            touching = begin.elapsed();
        });
        let rate = kernel.start() / touching.as_secs_f64();
        let faults = || recording.counts_of(count::PAGE_FAULTS);
        let all = faults().map(|faults| faults.count() as f64).sum::<f64>();
        let took = Duration::from_nanos(faults().filter_map(|faults| faults.total_ns()).sum());
        let reported =
            format!("the kernel counted {kernel:?}, {rate:.0} a second; {all} in {took:?} of {touching:?}");
        eprintln!("{reported}");
        assert!(kernel.contains(&all), "{reported}");
        assert!(took > touching / 10 && took < begin.elapsed(), "{reported}");
        let unseen: Vec<&str> =
            recording.sources.iter().flat_map(|s| &s.unseen).map(|unseen| unseen.what.as_str()).collect();
        let says = |what: &str| unseen.iter().any(|unseen| unseen.contains(what));
        // A machine that is busy or slow may make no storm of it.
        if rate > 100_000.0 {
            assert!(says("others of their processes stand for them"), "{unseen:?}; {reported}");
            assert!(says("page faults' times"), "{unseen:?}; {reported}");
        } else {
            fathom_testing::skip(&format!("in part: {rate:.0} faults a second are no storm"));
        }
    });
}
