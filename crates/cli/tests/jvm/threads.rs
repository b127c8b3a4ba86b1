//! Starts of threads against what the program itself measured: how many, by whom, from where, how
//! long `Thread.start` took and how long it was until the thread ran; on a machine with room, and
//! on one CPU that others burn. Needs root and eBPF; skips loudly without.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use fathom_recording::vocabulary::{figure, kind};
use serde_json::Value;

use crate::live::process::Talking;
use crate::live::recorder::Recorder;
use crate::live::{FATHOM, ebpf_is_allowed, jdks, json, patiently};

/// Threads that are started while it is watched.
const STARTS: usize = 200;
/// The same where each waits for a CPU for milliseconds.
const CROWDED: usize = 60;
/// What lies between the program's clock and the probes, at each start, nanoseconds: their traps
/// around `Thread.start`, and what Java does from its first probe to `run()`.
const AROUND_CALL_NS: f64 = 40_000.0;
const AROUND_RUN_NS: f64 = 150_000.0;
/// Of twenty starts, so many may have more: a busy machine puts a thread aside there now and then,
/// for milliseconds.
const PUT_ASIDE: usize = 1;
/// From when a thread is made until it is put into a run queue.
const BORN_NS: f64 = 50_000.0;
/// No value is above what was measured around it, but for what reading a clock takes.
const CLOCK_NS: f64 = 1_000.0;

/// The program, which starts its threads when it is asked to.
struct Program(Talking);

/// What the program measured of a start, nanoseconds.
#[derive(Clone, Copy)]
struct Own {
    call_ns: f64,
    to_run_ns: f64,
    /// For a CPU by then; of a kernel that does not count it, none.
    queued_ns: Option<f64>,
}

impl Program {
    /// Running and past its first line. `CPU`: the only one that it may run on.
    fn start(dir: &Path, home: &Path, starts: usize, burners: usize, processor: Option<&str>) -> Self {
        let java = home.join("bin/java");
        let mut command = match processor {
            Some(processor) => {
                let mut command = Command::new("taskset");
                command.args(["-c", processor]).arg(java);
                command
            }
            None => Command::new(java),
        };
        command.args(["-XX:+UseSerialGC", "-cp"]).arg(dir).arg("Starts");
        Self(Talking::start(command.args([starts.to_string(), burners.to_string()])))
    }

    /// Lets it start its threads, and takes what it says of each.
    fn go(&mut self) -> HashMap<String, Own> {
        self.0.send("");
        let mut own = HashMap::new();
        loop {
            let line = self.0.line().unwrap();
            if line == "done" {
                return own;
            }
            let mut words = line.split(' ');
            let name = words.next().unwrap().to_owned();
            let [call_ns, to_run_ns] = [(); 2].map(|()| words.next().unwrap().parse().unwrap());
            let queued_ns = words.next().unwrap().parse().ok();
            own.insert(name, Own { call_ns, to_run_ns, queued_ns });
        }
    }
}

/// A fathom that watches a program: once it does, `during` is run, and what it printed is given.
fn watched<T>(dir: &Path, pid: &str, args: &[&str], during: impl FnOnce() -> T) -> (T, String) {
    let printed = dir.join("printed");
    let mut fathom = Command::new(FATHOM);
    fathom.current_dir(dir).args(args).args(["-p", pid]).stdout(File::create(&printed).unwrap());
    let begun = if args[0] == "trace" { "tracing " } else { "recording " };
    let watching = Recorder::start(&mut fathom, begun).unwrap_or_else(|(_, said)| panic!("{said}"));
    let done = during();
    // Parts of a start that do not come are waited for, for a second.
    std::thread::sleep(Duration::from_millis(500));
    let (code, said) = watching.end("INT");
    assert_eq!(code, Some(0), "{said}");
    (done, std::fs::read_to_string(printed).unwrap())
}

/// A CPU that this process may use.
fn processor() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    allowed.rsplit([',', '-']).next().unwrap().to_owned()
}

/// Starts that `fathom trace threads --json` reported, of threads that one of the program's own has
/// started.
fn traced(printed: &str) -> Vec<Value> {
    let lines = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let events: Vec<Value> = lines.map(|mut line| line["event"].take()).collect();
    let is_one = |event: &Value| event["kind"] == kind::THREAD_STARTUP && event["thread"] == "main";
    events.into_iter().filter(is_one).collect()
}

fn figure_of(event: &Value, key: &str) -> f64 {
    event["figures"][key].as_f64().unwrap_or_else(|| panic!("no {key}: {event}"))
}

fn sum<'a>(events: impl IntoIterator<Item = &'a Value>, key: &str) -> f64 {
    events.into_iter().map(|event| figure_of(event, key)).sum()
}

/// What fathom reported of each start is what the program measured around it, less what lies
/// between. Pairs of both, nanoseconds.
fn holds(what: &str, pairs: &[(f64, f64)], around_ns: f64) {
    let mut between: Vec<f64> = pairs.iter().map(|(reported, own)| own - reported).collect();
    between.sort_by(f64::total_cmp);
    let kept = &between[..pairs.len() - pairs.len() * PUT_ASIDE / 20];
    let between_ns = kept.iter().sum::<f64>() / kept.len() as f64;
    let (reported_ns, own_ns) = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    let middle = between[between.len() / 2];
    let shown = format!(
        "{what}: {:.3} ms of {:.3} ms, {:.1} us less in the middle, {:.1} at least",
        reported_ns / 1e6,
        own_ns / 1e6,
        middle / 1e3,
        between[0] / 1e3
    );
    eprintln!("{shown}");
    assert!(between[0] > -CLOCK_NS && middle < around_ns, "{shown}");
    assert!(between_ns < around_ns, "{between_ns} ns less of most: {shown}");
}

/// The times of all starts: in `Thread.start`, and until they ran.
fn check_times(what: &str, events: &[Value], own: &HashMap<String, Own>) {
    let pairs = |reported: fn(&Value) -> f64, measured: fn(&Own) -> f64| -> Vec<(f64, f64)> {
        events
            .iter()
            .map(|event| (reported(event), measured(&own[event["name"].as_str().unwrap()])))
            .collect()
    };
    let calls = pairs(|event| figure_of(event, figure::CALL_NS), |own| own.call_ns);
    holds(&format!("{what}: in Thread.start"), &calls, AROUND_CALL_NS);
    let runs = pairs(|event| event["took_ns"].as_f64().unwrap(), |own| own.to_run_ns);
    holds(&format!("{what}: until it ran"), &runs, AROUND_RUN_NS);
    // The first wait for a CPU is one of those that the kernel has counted by then; it begins
    // a little before that count.
    let queued = events.iter().filter_map(|event| {
        let counted = own[event["name"].as_str().unwrap()].queued_ns?;
        Some(figure_of(event, figure::RUNQ_NS) - counted)
    });
    let mut over: Vec<f64> = queued.collect();
    over.sort_by(f64::total_cmp);
    assert!(over.get(over.len() / 2).is_none_or(|over| *over < BORN_NS), "{what}: {over:?}");
}

/// What must hold of every start whatever the machine does: each thread once, its parent, its
/// stack, its parts.
fn check_each(release: u64, events: &[Value], own: &HashMap<String, Own>) {
    let names: HashSet<&str> = events.iter().map(|event| event["name"].as_str().unwrap()).collect();
    let strange: Vec<_> = events.iter().filter(|e| !own.contains_key(e["name"].as_str().unwrap())).collect();
    assert!(strange.is_empty(), "JDK {release}: {strange:?}");
    let missing: Vec<_> = own.keys().filter(|name| !names.contains(name.as_str())).collect();
    assert!(missing.is_empty() && events.len() == own.len(), "JDK {release}: {missing:?} of {}", own.len());
    for event in events {
        let shown = format!("JDK {release}: {event}");
        assert_eq!(event["thread"], "main", "{shown}");
        let frames: Vec<&str> =
            event["stack"].as_array().unwrap().iter().map(|frame| frame["name"].as_str().unwrap()).collect();
        for frame in
            ["pthread_create", "JVM_StartThread", "java.lang.Thread.start", "Starts.startOne", "Starts.main"]
        {
            assert!(frames.iter().any(|name| name.starts_with(frame)), "{frame}: {shown}");
        }
        let [call, clone, waited, runq, to_java] =
            [figure::CALL_NS, figure::CLONE_NS, figure::WAITED_NS, figure::RUNQ_NS, figure::TO_JAVA_NS]
                .map(|key| figure_of(event, key));
        assert!(clone > 0.0 && clone + waited <= call, "{shown}");
        assert!(runq > 0.0 && runq < to_java, "{shown}");
        assert!(to_java <= event["took_ns"].as_f64().unwrap(), "{shown}");
    }
}

#[test]
fn every_start_is_reported_with_its_caller_and_takes_what_the_program_measured() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        for (release, home) in
            jdks::each(jdks::with_program(dir.path(), "Starts")).filter(|_| ebpf_is_allowed())
        {
            let mut program = Program::start(dir.path(), &home, STARTS, 0, None);
            let pid = program.0.pid();
            let args = ["trace", "threads", "--json"];
            let (own, printed) = watched(dir.path(), &pid, &args, || program.go());
            let events = traced(&printed);
            check_each(release, &events, &own);
            check_times(&format!("JDK {release}"), &events, &own);
        }
    });
}

/// With more threads than one CPU can run, a new one waits for a CPU for milliseconds, and
/// its parent for it: that is what starts cost then, and what is reported.
#[test]
fn on_a_crowded_processor_the_wait_for_the_first_turn_is_what_a_start_costs() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        for (release, home) in
            jdks::each(jdks::with_program(dir.path(), "Starts")).filter(|_| ebpf_is_allowed())
        {
            let mut program = Program::start(dir.path(), &home, CROWDED, 3, Some(&processor()));
            let pid = program.0.pid();
            let args = ["trace", "threads", "--json"];
            let (own, printed) = watched(dir.path(), &pid, &args, || program.go());
            let events = traced(&printed);
            check_each(release, &events, &own);
            check_times(&format!("JDK {release}, crowded"), &events, &own);
            // What a start costs is waiting: for a CPU, and for the new thread, which waits
            // for one. It cannot run while its parent does.
            let (waited_ns, call_ns) = (sum(&events, figure::WAITED_NS), sum(&events, figure::CALL_NS));
            let shown = format!("JDK {release}, crowded: waited {waited_ns} of {call_ns}");
            eprintln!("{shown}");
            assert!(waited_ns > 0.3 * call_ns, "{shown}");
        }
    });
}

#[test]
fn a_recording_has_the_starts_too() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let Some((release, home)) =
            jdks::with_program(dir.path(), "Starts").into_iter().rfind(|_| ebpf_is_allowed())
        else {
            return;
        };
        let mut program = Program::start(dir.path(), &home, STARTS, 0, None);
        let pid = program.0.pid();
        let (own, _) = watched(dir.path(), &pid, &["record", "-o", "x.fathom", "--force"], || program.go());
        let recording = fathom_recording::open(&dir.path().join("x.fathom")).unwrap();
        let starts: Vec<_> = recording
            .spans_of(kind::THREAD_STARTUP)
            .filter(|span| span.name().starts_with("started-"))
            .collect();
        assert_eq!(starts.len(), own.len(), "JDK {release}");
        for span in starts {
            let parent = span.thread().map(|id| recording.strings.get(recording.threads[id.index()].name));
            assert_eq!(parent, Some("main"), "JDK {release}: {}", span.name());
            assert!(span.stack().is_some(), "JDK {release}: {}", span.name());
            for key in
                [figure::CALL_NS, figure::CLONE_NS, figure::WAITED_NS, figure::RUNQ_NS, figure::TO_JAVA_NS]
            {
                assert!(span.figure(key).is_some(), "JDK {release}: {}: no {key}", span.name());
            }
        }
    });
}

#[test]
fn slow_starts_are_named_as_the_cause_with_who_starts_them_and_what_takes_the_time() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let jdks = jdks::with_program(dir.path(), "Starts");
        let Some((release, home)) = jdks.into_iter().rfind(|_| ebpf_is_allowed()) else { return };
        let mut program = Program::start(dir.path(), &home, CROWDED, 12, Some(&processor()));
        let pid = program.0.pid();
        let (own, _) = watched(dir.path(), &pid, &["record", "-o", "x.fathom", "--force"], || program.go());
        let verdict = json(dir.path(), &["diagnose", "x.fathom"]);
        let findings = verdict["findings"].as_array().unwrap();
        let found = findings.iter().find(|finding| finding["rule"] == "thread-start-slow");
        let found = found.unwrap_or_else(|| panic!("JDK {release}: {verdict}"));
        assert_eq!(found["culprit"]["value"], "Starts.startOne", "JDK {release}: {found}");
        let title = &found["title"]["details"];
        let part = &title["part"]["parts"][0]["metric"];
        assert_eq!(part, "thread-start-run-queue", "JDK {release}: {title}");
        assert!(title["share"]["value"].as_f64().unwrap() >= 0.5, "JDK {release}: {title}");
        let slow = title["starts"]["value"].as_f64().unwrap() as usize;
        assert!(slow > 0 && slow <= own.len(), "JDK {release}: {title}");
    });
}
