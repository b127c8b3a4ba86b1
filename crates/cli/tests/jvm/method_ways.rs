//! `fathom method` by the flight recorder and by the agent on live JVMs: each call is counted,
//! interpreted or compiled, and nothing goes on when fathom is gone, however it ended.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::live::process::{Lines, Running, Talking};
use crate::live::{FATHOM, jdks};

const METHOD: &str = "Called::step";

/// The program on a JDK, just started: all of it is interpreted.
fn started(dir: &Path, home: &Path) -> Talking {
    let mut java = Command::new(home.join("bin/java"));
    java.args(["-cp"]).arg(dir).arg("Called").stderr(Stdio::null());
    let mut program = Talking::start(&mut java);
    program.send("call 10");
    program.until("called 10");
    program
}

/// fathom, counting until it is asked to end.
struct Counting {
    process: Running,
    said: Lines,
    out: Lines,
}

impl Counting {
    #[track_caller]
    fn start(pid: &str, jar: Option<&Path>, args: &[&str]) -> Self {
        let mut fathom = Command::new(FATHOM);
        fathom.args(["method", "-p", pid, "--json", METHOD]).args(args);
        jar.iter().for_each(|jar| {
            fathom.env("FATHOM_AGENT_JAR", jar);
        });
        let mut process = Running::start(fathom.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let said = Lines::of(process.0.stderr.take().unwrap());
        let out = Lines::of(process.0.stdout.take().unwrap());
        let mut counting = Self { process, said, out };
        counting.until("counting in process");
        counting
    }

    #[track_caller]
    fn until(&mut self, text: &str) {
        let line = self.said.until(|line| line.contains(text));
        assert!(line.is_some(), "no line with {text:?}: {:?}", self.said.said());
    }

    /// The last line of JSON, when it has ended.
    #[track_caller]
    fn totals(mut self) -> Value {
        while self.out.line().is_some() {}
        assert!(self.process.end().success(), "{:?}", self.said.said());
        serde_json::from_str(self.out.said().last().unwrap()).unwrap()
    }

    #[track_caller]
    fn stop(self) -> Value {
        self.process.signal("INT");
        self.totals()
    }
}

#[track_caller]
fn step(totals: &Value) -> &Value {
    let methods = totals["methods"].as_array().unwrap();
    let step = methods.iter().find(|method| method["name"].as_str().unwrap().starts_with(METHOD));
    step.unwrap_or_else(|| panic!("{totals}"))
}

/// Calls of who begins so.
fn calls_of(method: &Value, list: &str, who: &str) -> u64 {
    let list = method[list].as_array().unwrap().iter();
    let meant = list.filter(|of| of["who"].as_str().unwrap().starts_with(who));
    meant.map(|of| of["calls"].as_u64().unwrap()).sum()
}

/// The agent's jar as maven builds it, once for all tests; `None`, loudly, where it cannot.
fn jar() -> Option<PathBuf> {
    static JAR: OnceLock<Option<PathBuf>> = OnceLock::new();
    JAR.get_or_init(built).clone()
}

fn built() -> Option<PathBuf> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../jvmagent");
    let built =
        Command::new("mvn").args(["-q", "-B", "-f"]).arg(project.join("pom.xml")).arg("package").output();
    let output = match built {
        Ok(output) => output,
        Err(error) => {
            fathom_testing::skip(&format!("maven, which builds the agent: {error}"));
            return None;
        }
    };
    let all = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!all.contains("COMPILATION ERROR"), "{all}");
    if !output.status.success() {
        fathom_testing::skip(&format!("maven cannot build the agent: {}", all.lines().next().unwrap_or("")));
        return None;
    }
    Some(project.join("target/fathom-calls.jar"))
}

/// Folders of ours in `/tmp` for a JVM.
fn folders(pid: &str) -> Vec<String> {
    let begin = format!(".fathom-calls-{pid}-");
    let names = std::fs::read_dir("/tmp").unwrap().map(|entry| entry.unwrap().file_name());
    names.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with(&begin)).collect()
}

/// Waits until the JVM has no thread and no file of the agent's any more.
#[track_caller]
fn is_as_it_was(pid: &str) {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let names = tasks.flat_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
        let threads: Vec<String> = names.filter(|name| name.starts_with("fathom-calls")).collect();
        let left = folders(pid);
        if threads.is_empty() && left.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "{threads:?} {left:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_agent_counts_every_call_and_leaves_with_fathom_however_that_ends() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_) = jdks::compile(dir.path(), 8, &["Called"]) else { return };
    let Some(jar) = jar() else { return };
    crate::live::with_each(jdks::of(&[8, 25]), |release, home| {
        let mut program = started(dir.path(), home);
        let pid = program.pid();
        let counting = Counting::start(&pid, Some(&jar), &["--way", "agent"]);
        for (line, calls) in [("call 1234", 1234), ("pace 100", 100), ("threads 3 111", 333)] {
            program.send(line);
            program.until(&format!("called {calls}"));
        }
        let totals = counting.stop();
        let step = step(&totals);
        let shown = format!("JDK {release}: {step}");
        assert_eq!((&totals["way"], &step["calls"]), (&"agent".into(), &1667.into()), "{shown}");
        assert_eq!(calls_of(step, "callers", "Called.once:"), 1234 + 333, "{shown}");
        assert_eq!(calls_of(step, "callers", "Called.called:"), 100, "{shown}");
        for (thread, calls) in [("caller-0 ", 111), ("caller-2 ", 111), ("main ", 1334)] {
            assert_eq!(calls_of(step, "threads", thread), calls, "{shown}");
        }
        assert_eq!(step["all_times"]["count"], 1667, "{shown}");
        is_as_it_was(&pid);
        // Killed, it can say nothing: the agent sees that its pipe is closed.
        let mut counting = Counting::start(&pid, Some(&jar), &["--way", "agent"]);
        counting.process.signal("KILL");
        counting.process.end();
        is_as_it_was(&pid);
        // What is called too often is let go of, and nothing of it is woven any more.
        program.send("spin 1000000");
        program.until("spinning");
        let mut counting = Counting::start(&pid, Some(&jar), &["--way", "agent", "--max-rate", "1000"]);
        counting.until("DROPPED");
        assert_eq!(self::step(&counting.totals())["standing"], "too-hot", "JDK {release}");
        is_as_it_was(&pid);
    });
}

#[test]
fn slow_calls_are_shown_with_their_thread_and_their_stack() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_) = jdks::compile(dir.path(), 8, &["Called"]) else { return };
    let Some(jar) = jar() else { return };
    crate::live::with_each(jdks::of(&[17]), |release, home| {
        let mut program = started(dir.path(), home);
        let args = ["--way", "agent", "--slow", "20ms", "Called::takes"];
        let counting = Counting::start(&program.pid(), Some(&jar), &args);
        program.send("slow 5 30000");
        program.until("slow 5 ");
        let totals = counting.stop();
        let slow = totals["slow"].as_array().unwrap();
        assert_eq!(slow.len(), 5, "JDK {release}: {totals}");
        for call in slow {
            assert!(call["took_ns"].as_u64().unwrap() >= 30_000_000, "{call}");
            assert_eq!((&call["method"], &call["thread"]), (&"Called::takes(J)I".into(), &"main".into()));
            let stack: Vec<&str> =
                call["stack"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            assert!(stack[0].starts_with("Called.takes") && stack[1].starts_with("Called.timed:"), "{call}");
        }
    });
}

#[test]
fn the_flight_recorder_counts_calls_and_names_callers_from_jdk_25_on() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_) = jdks::compile(dir.path(), 8, &["Called"]) else { return };
    crate::live::with_each(jdks::of(&[25]), |release, home| {
        let mut program = started(dir.path(), home);
        let counting = Counting::start(&program.pid(), None, &["--way", "jfr", "-d", "6s"]);
        // Calls are traced from the second look on.
        program.send("pace 450");
        program.until("called 450");
        let totals = counting.totals();
        let step = step(&totals);
        let shown = format!("JDK {release}: {step}");
        assert_eq!((&totals["way"], &step["calls"]), (&"jfr".into(), &450.into()), "{shown}");
        let (seen, not) =
            (calls_of(step, "callers", "Called.called:"), calls_of(step, "callers", "[not traced]"));
        assert!(seen + not == 450 && seen > 100, "{shown}");
        is_as_it_was(&program.pid());
    });
    // An older one says what it lacks, in one sentence.
    let Some((release, home)) = jdks::of(&[17]).pop() else { return };
    let program = started(dir.path(), &home);
    let refused =
        Command::new(FATHOM).args(["method", "-p", &program.pid(), METHOD, "--way", "jfr"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains(&format!("JDK {release} cannot")) && said.contains("JEP 520"), "{said}");
}
