//! `fathom chain` on real JVMs whose waits are known by construction: each chain leads to what the owner is made to do, each
//! stop to who is made to come last and to the write that is made to hang. Needs root and eBPF; skips loudly without.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use fathom_recording::vocabulary::{figure, kind, label};
use serde_json::Value;

/// Nothing here takes as long, on whatever machine; a test that hangs must end.
const PATIENCE: Duration = Duration::from_secs(120);
/// Clocks of program and recorder are read one after the other.
const CLOCKS_MS: f64 = 1.0;

fn fathom(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom")).current_dir(dir).args(args).output().unwrap()
}

fn json(dir: &Path, args: &[&str]) -> Value {
    let output = fathom(dir, &[args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn ebpf_is_allowed() -> bool {
    let allowed = fathom_capture::privileges::ebpf();
    if let Err(why) = &allowed {
        eprintln!("SKIPPED: {}: {}", why.what, why.why);
    }
    allowed.is_ok()
}

/// Homes of the JDKs from 11 on, one of each release, with the program compiled into `dir`; none, loudly, without a compiler.
fn jdks(dir: &Path, program: &str) -> Vec<(u64, PathBuf)> {
    let listed = json(dir, &["jdks"]);
    let all = listed["jdks"].as_array().unwrap();
    let home = |jdk: &Value| PathBuf::from(jdk["home"].as_str().unwrap());
    let Some(compiler) = all.iter().find(|jdk| jdk["javac"] == true).map(home) else {
        eprintln!("SKIPPED: no JDK with a compiler was found");
        return Vec::new();
    };
    let source = format!("{}/tests/java/{program}.java", env!("CARGO_MANIFEST_DIR"));
    let mut javac = Command::new(compiler.join("bin/javac"));
    assert!(javac.args(["--release", "11", "-d"]).arg(dir).arg(source).status().unwrap().success());
    let release = |jdk: &Value| Some((jdk["feature"].as_u64().filter(|release| *release >= 11)?, home(jdk)));
    let mut found: Vec<_> = all.iter().filter_map(release).collect();
    found.sort();
    found.dedup_by_key(|(release, _)| *release);
    found
}

/// A process that ends with the test, and the lines that it prints.
struct Running(Child, Option<Receiver<String>>);

impl Running {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| tell.send(line))
        });
        Self(child, Some(lines))
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// Lines until one that begins so, that one too.
    fn until(&self, beginning: &str) -> Vec<String> {
        let (mut lines, end) = (Vec::new(), Instant::now() + PATIENCE);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.1.as_ref().unwrap().recv_timeout(left);
            lines.push(line.unwrap_or_else(|why| panic!("no line {beginning:?}: {why}: {lines:?}")));
            if lines.last().unwrap().starts_with(beginning) {
                return lines;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A recording of a process that is under way, and what it says.
struct Recorder(Child, std::thread::JoinHandle<String>);

impl Recorder {
    /// Begins, and comes back when all collectors are at work.
    fn start(dir: &Path, pid: &str) -> Self {
        let mut record = Command::new(env!("CARGO_BIN_EXE_fathom"));
        record.current_dir(dir).args(["record", "-p", pid, "-o", "x.fathom", "--force"]);
        let mut child = record.stderr(Stdio::piped()).spawn().unwrap();
        let (mut err, (tell, begun)) = (BufReader::new(child.stderr.take().unwrap()), channel());
        let said = std::thread::spawn(move || {
            let (mut said, mut line) = (String::new(), String::new());
            while err.read_line(&mut line).is_ok_and(|read| read > 0) {
                if line.contains("recording pid") {
                    let _ = tell.send(());
                }
                said += &std::mem::take(&mut line);
            }
            said
        });
        let begun = begun.recv_timeout(PATIENCE);
        let recorder = Self(child, said);
        assert!(begun.is_ok(), "recording did not begin");
        // What is there already is told to the collectors in their first turns.
        std::thread::sleep(Duration::from_millis(500));
        recorder
    }

    /// Ends it as Ctrl-C does.
    fn stop(mut self) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let status = self.0.wait().unwrap();
        assert!(status.success(), "{}", self.1.join().unwrap());
    }
}

/// The parts below share out what is above, and what ends says why.
fn adds_up(ms: f64, links: &Value, shown: &str) {
    let links = links.as_array().unwrap();
    let sum: f64 = links.iter().map(|link| link["ms"].as_f64().unwrap()).sum();
    assert!((sum - ms).abs() <= ms * 1e-6 + 1e-6, "{shown}: {sum} of {ms}");
    for link in links {
        let next = link["next"].as_array().unwrap();
        assert_eq!(link["end"].is_null(), !next.is_empty(), "{shown}: {link}");
        if !next.is_empty() {
            adds_up(link["ms"].as_f64().unwrap(), &link["next"], shown);
        }
    }
}

/// Every thread's time in the ledger adds up to how long it lived.
fn the_ledger_adds_up(dir: &Path, shown: &str) {
    let ledger = json(dir, &["ledger", "x.fathom", "--by", "thread"]);
    for group in ledger["groups"].as_array().unwrap() {
        let sum: f64 = group["spent"].as_array().unwrap().iter().map(|s| s["ms"].as_f64().unwrap()).sum();
        let whole = group["thread_ms"].as_f64().unwrap();
        assert!((sum - whole).abs() <= whole * 0.001, "{shown}: {group}");
    }
}

/// The chain of a thread; the links of its own that say it waited for a monitor, and what comes next.
fn monitor(dir: &Path, thread: &str, shown: &str) -> Value {
    let chains = json(dir, &["chain", "x.fathom", "--thread", &format!("^{thread}$"), "--stops", "0"]);
    let chain = &chains["chains"][0];
    assert_eq!(chain["thread"], thread, "{shown}: {chains}");
    adds_up(chain["ms"].as_f64().unwrap(), &chain["links"], shown);
    let waits = chain["links"].as_array().unwrap().iter().filter(|link| link["heading"] == "monitor");
    let longest = waits.max_by(|a, b| a["ms"].as_f64().unwrap().total_cmp(&b["ms"].as_f64().unwrap()));
    longest.unwrap_or_else(|| panic!("{shown}: {chain}")).clone()
}

/// How much of a link is not in the end a wait for a CPU: how busy the machine is is nobody's to say.
fn own_ms(link: &Value) -> f64 {
    let next = link["next"].as_array().unwrap();
    match link["heading"].as_str() {
        Some("run-queue") => 0.0,
        _ if next.is_empty() => link["ms"].as_f64().unwrap(),
        _ => next.iter().map(own_ms).sum(),
    }
}

/// The longest thing that a link waited for, waits for a CPU apart.
fn longest<'v>(link: &'v Value, shown: &str) -> &'v Value {
    let next = link["next"].as_array().unwrap().iter();
    let longest = next.max_by(|a, b| own_ms(a).total_cmp(&own_ms(b)));
    longest.unwrap_or_else(|| panic!("{shown}: {link}"))
}

#[test]
fn chains_of_known_waits_lead_to_what_the_owner_is_made_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    if !ebpf_is_allowed() {
        return;
    }
    let fifo = dir.canonicalize().unwrap().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for (release, home) in jdks(dir, "Chains") {
        let _ = std::fs::remove_file(dir.join("go"));
        // Both ends, so that whoever opens it to read need not wait.
        let mut writer = std::fs::OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
        let mut java = Command::new(home.join("bin/java"));
        java.current_dir(dir).args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "Chains"]).arg(&fifo);
        let jvm = Running::start(java);
        jvm.until("ready");
        let recorder = Recorder::start(dir, &jvm.pid());
        std::fs::write(dir.join("go"), "").unwrap();
        jvm.until("asks reading-victim");
        std::thread::sleep(Duration::from_millis(800));
        writer.write_all(b"x").unwrap();
        let lines = jvm.until("stuck");
        recorder.stop();
        drop(jvm);
        let waited = |name: &str| -> f64 {
            let line = lines.iter().find_map(|line| line.strip_prefix(&format!("waited {name} ")));
            line.unwrap_or_else(|| panic!("{name}: {lines:?}")).parse::<f64>().unwrap() / 1e6
        };
        let shown = format!("JDK {release}");
        the_ledger_adds_up(dir, &shown);
        for (name, heading) in [("reading", "child"), ("napping", "sleep"), ("burning", "running")] {
            let (shown, victim) = (format!("{shown}, {name}"), format!("{name}-victim"));
            let link = monitor(dir, &victim, &shown);
            let ms = link["ms"].as_f64().unwrap();
            assert!(ms <= waited(&victim) + CLOCKS_MS, "{shown}: {ms} of {}: {link}", waited(&victim));
            assert!(link["what"].as_str().unwrap().contains("Chains$Basket"), "{shown}: {link}");
            let owner = longest(&link, &shown);
            assert_eq!(owner["thread"], format!("{name}-owner"), "{shown}: {link}");
            assert_eq!(owner["heading"], heading, "{shown}: {link}");
            if name == "reading" {
                let what = owner["what"].as_str().unwrap();
                assert!(what.contains("read") && what.contains(fifo.to_str().unwrap()), "{shown}: {link}");
                // It hung for as long as nobody wrote.
                assert!(owner["ms"].as_f64().unwrap() >= 700.0, "{shown}: {link}");
            }
        }
        let link = monitor(dir, "first", &shown);
        let second = longest(&link, &shown);
        assert_eq!((&second["thread"], &second["heading"]), (&"second".into(), &"monitor".into()), "{link}");
        let third = longest(second, &shown);
        assert_eq!((&third["thread"], &third["heading"]), (&"third".into(), &"sleep".into()), "{link}");
        assert!(link["ms"].as_f64().unwrap() <= waited("first") + CLOCKS_MS, "{shown}: {link}");
        for (one, other) in [("packer", "buyer"), ("buyer", "packer")] {
            let link = monitor(dir, one, &shown);
            let other_link = longest(&link, &shown);
            assert_eq!(other_link["thread"], other, "{shown}: {link}");
            assert_eq!(other_link["end"], "deadlock", "{shown}: {link}");
        }
        // Who ran instead is a thread by name and id, and never the one that waited.
        let mut recording = fathom_recording::open(&dir.join("x.fathom")).unwrap();
        recording.seal();
        for wait in recording.spans_of(kind::SCHED_OFF) {
            let Some(other) = wait.label(label::RAN_INSTEAD) else { continue };
            let tid = other.strip_suffix(')').and_then(|name| name.rsplit_once('(')?.1.parse::<i64>().ok());
            let own = wait.thread().and_then(|id| recording.threads[id.index()].tid);
            assert!(tid.is_some() && tid != own, "{shown}: {other} instead of {own:?}");
            assert!(wait.figure(figure::RUNQ_NS).is_some_and(|ns| ns >= 100_000.0), "{shown}: {other}");
        }
        let text = fathom(dir, &["chain", "x.fathom", "--thread", "^packer$", "--stops", "0"]);
        let text = String::from_utf8(text.stdout).unwrap();
        assert!(text.contains("(a deadlock)"), "{shown}: {text}");
    }
}

#[test]
fn a_thread_in_a_loop_without_polls_is_the_last_in() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    if !ebpf_is_allowed() {
        return;
    }
    for (release, home) in jdks(dir, "Stops") {
        let _ = std::fs::remove_file(dir.join("go"));
        let mut java = Command::new(home.join("bin/java"));
        let loops = ["-XX:-UseCountedLoopSafepoints", "-XX:LoopStripMiningIter=0"];
        java.current_dir(dir).args(["-XX:+UseSerialGC", "-Xmx64m"]).args(loops);
        java.args(["-cp", ".", "Stops", "loop", "6"]);
        let jvm = Running::start(java);
        jvm.until("ready");
        let recorder = Recorder::start(dir, &jvm.pid());
        std::fs::write(dir.join("go"), "").unwrap();
        let lines = jvm.until("done");
        recorder.stop();
        drop(jvm);
        let shown = format!("JDK {release}");
        let looped = lines.iter().find_map(|line| line.strip_prefix("longest ")).unwrap();
        let looped = looped.parse::<f64>().unwrap() / 1e6;
        the_ledger_adds_up(dir, &shown);
        let shown_stops = json(dir, &["chain", "x.fathom", "--threads", "0", "--stops", "50"]);
        let stops = shown_stops["stops"].as_array().unwrap();
        let reach = |stop: &Value| -> f64 {
            let parts = stop["parts"].as_array().unwrap().iter();
            parts.filter(|part| part["part"] == "reach").map(|part| part["ms"].as_f64().unwrap()).sum()
        };
        for stop in stops {
            let parts = stop["parts"].as_array().unwrap();
            let sum: f64 = parts.iter().map(|part| part["ms"].as_f64().unwrap()).sum();
            assert!((sum - stop["ms"].as_f64().unwrap()).abs() < 1e-3, "{shown}: {stop}");
            for part in parts.iter().filter(|part| part["links"].as_array().is_some_and(|l| !l.is_empty())) {
                adds_up(part["ms"].as_f64().unwrap(), &part["links"], &shown);
            }
        }
        let slowest = stops.iter().max_by(|a, b| reach(a).total_cmp(&reach(b)));
        let slowest = slowest.unwrap_or_else(|| panic!("{shown}: no stop"));
        assert_eq!(slowest["last_in"], "counter", "{shown}: {slowest}");
        assert!(reach(slowest) <= looped + CLOCKS_MS, "{shown}: {} of {looped}: {slowest}", reach(slowest));
        // Where it blocks is seen unless the others are done before it gets there.
        let stack = slowest["last_in_stack"].to_string();
        let is_told = stack.contains("Stops.count") || stack.contains("Stops.lambda");
        assert!(is_told || stack == "[]", "{shown}: {slowest}");
    }
}

/// A file system in a file, which can be frozen.
struct Loop {
    place: PathBuf,
}

impl Loop {
    /// `None`, loudly, where it cannot be made.
    fn make(dir: &Path) -> Option<Self> {
        let (image, place) = (dir.join("image"), dir.join("mnt"));
        std::fs::create_dir(&place).unwrap();
        std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let run = |program: &str, args: &[&str]| {
            let done = Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
            done.is_ok_and(|status| status.success())
        };
        let (image, mnt) = (image.to_str().unwrap(), place.to_str().unwrap());
        if run("mkfs.ext4", &["-qF", image]) && run("mount", &["-o", "loop", image, mnt]) {
            return Some(Self { place });
        }
        eprintln!("SKIPPED: no file system can be made in a file here (mkfs.ext4, mount -o loop)");
        None
    }

    fn freeze(&self, how: &str) -> bool {
        Command::new("fsfreeze").arg(how).arg(&self.place).status().is_ok_and(|status| status.success())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let quiet =
            |command: &mut Command| drop(command.stdout(Stdio::null()).stderr(Stdio::null()).status());
        quiet(Command::new("fsfreeze").arg("-u").arg(&self.place));
        quiet(Command::new("umount").arg("-l").arg(&self.place));
    }
}

#[test]
fn a_log_write_on_a_frozen_file_system_is_a_part_of_the_stop_and_proven() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    if !ebpf_is_allowed() {
        return;
    }
    let homes = jdks(dir, "Stops");
    let Some(disk) = Loop::make(dir).filter(|_| !homes.is_empty()) else { return };
    for (release, home) in homes {
        let _ = std::fs::remove_file(dir.join("go"));
        let mut java = Command::new(home.join("bin/java"));
        java.current_dir(dir).args(["-XX:+UseSerialGC", "-Xmx64m"]);
        java.arg(format!("-Xlog:gc*,safepoint:file=mnt/gc{release}.log"))
            .args(["-cp", ".", "Stops", "plain", "12"]);
        let jvm = Running::start(java);
        jvm.until("ready");
        let recorder = Recorder::start(dir, &jvm.pid());
        std::fs::write(dir.join("go"), "").unwrap();
        std::thread::sleep(Duration::from_secs(3));
        if !disk.freeze("-f") {
            eprintln!("SKIPPED: fsfreeze does not work here");
            return;
        }
        std::thread::sleep(Duration::from_secs(3));
        assert!(disk.freeze("-u"));
        jvm.until("done");
        recorder.stop();
        drop(jvm);
        let shown = format!("JDK {release}");
        the_ledger_adds_up(dir, &shown);
        let shown_stops = json(dir, &["chain", "x.fathom", "--threads", "0", "--stops", "1"]);
        let stop = &shown_stops["stops"][0];
        let parts = stop["parts"].as_array().unwrap();
        let write = parts.iter().find(|part| part["part"] == "log-write");
        let write = write.unwrap_or_else(|| panic!("{shown}: {stop}"));
        let log = format!("gc{release}.log");
        assert!(write["ms"].as_f64().unwrap() > 1_000.0, "{shown}: {stop}");
        assert!(write["links"].to_string().contains(&log), "{shown}: {stop}");
        assert!(write["links"].to_string().contains("a frozen file system"), "{shown}: {stop}");
        let diagnosis = json(dir, &["diagnose", "x.fathom"]);
        let finding = &diagnosis["findings"][0];
        assert_eq!(finding["rule"], "gc-log-write-blocked", "{shown}: {diagnosis}");
        assert_eq!(finding["confidence"], "proven", "{shown}: {finding}");
        assert!(finding["evidence"].to_string().contains("thawed (percpu_rwsem_wait)"), "{shown}: {finding}");
        assert_eq!(finding["stop"]["parts"], stop["parts"], "{shown}");
        let text = String::from_utf8(fathom(dir, &["diagnose", "x.fathom"]).stdout).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains("writing the JVM's log"), "{shown}: {text}");
        let ledger = String::from_utf8(fathom(dir, &["ledger", "x.fathom"]).stdout).unwrap();
        assert!(ledger.contains("stopped: log write at a safepoint"), "{shown}: {ledger}");
    }
}

/// Two threads that burn one CPU between them.
const PINNED: &str = r#"
public class Pinned {
    static volatile long sum;
    public static void main(String[] args) throws Exception {
        for (String name : new String[] {"burner-one", "burner-two"}) {
            Thread thread = new Thread(() -> { for (;;) sum += 1; }, name);
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready");
        Thread.sleep(120_000);
    }
}
"#;

#[test]
fn of_two_threads_on_one_cpu_each_is_told_to_have_run_instead_of_the_other() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    if !ebpf_is_allowed() {
        return;
    }
    std::fs::write(dir.join("Pinned.java"), PINNED).unwrap();
    let listed = json(dir, &["jdks"]);
    let all = listed["jdks"].as_array().unwrap().iter();
    let Some(home) = all.filter(|jdk| jdk["javac"] == true).find_map(|jdk| jdk["home"].as_str()) else {
        eprintln!("SKIPPED: no JDK with a compiler was found");
        return;
    };
    let compiled = Command::new(format!("{home}/bin/javac")).current_dir(dir).arg("Pinned.java").status();
    assert!(compiled.unwrap().success());
    let mut java = Command::new("taskset");
    java.current_dir(dir).args(["-c", "0"]).arg(format!("{home}/bin/java"));
    java.args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "Pinned"]);
    let jvm = Running::start(java);
    jvm.until("ready");
    let recorder = Recorder::start(dir, &jvm.pid());
    std::thread::sleep(Duration::from_secs(4));
    recorder.stop();
    let mut recording = fathom_recording::open(&dir.join("x.fathom")).unwrap();
    recording.seal();
    for (waits, runs) in [("burner-one", "burner-two"), ("burner-two", "burner-one")] {
        let name = |id: fathom_recording::ThreadId| recording.strings.get(recording.threads[id.index()].name);
        let own = recording
            .spans_of(kind::SCHED_OFF)
            .filter(|span| span.thread().is_some_and(|id| name(id) == waits));
        let others: Vec<_> = own.filter_map(|span| span.label(label::RAN_INSTEAD)).collect();
        assert!(others.iter().any(|other| other.starts_with(&format!("{runs} ("))), "{waits}: {others:?}");
    }
}
