//! `fathom method` on live JVMs: every call of a compiled method is counted, none twice, and
//! nothing of the JVM changes. Needs root and eBPF; skips loudly without.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::live::kernel::Programs;
use crate::live::process::{Lines, Running, Talking};
use crate::live::{FATHOM, jdks};

const METHOD: &str = "Called::step";

/// The program on a JDK, with the watched method compiled to the end.
fn warmed_up(dir: &Path, home: &Path) -> Talking {
    let mut java = Command::new(home.join("bin/java"));
    // Who looks for what is compiled must find it: nothing is inlined, and nothing that is rarely
    // called is given up meanwhile.
    java.args(["-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Called.step"]);
    java.args(["-XX:CompileCommand=dontinline,Called.takes", "-XX:CompileCommand=dontinline,Called.timed"]);
    java.args(["-XX:-UseCodeCacheFlushing", "-cp"]).arg(dir).arg("Called").stderr(Stdio::null());
    let mut program = Talking::start(&mut java);
    program.send("warm 300000");
    program.until("warm");
    program.send("call 300001");
    program.until("called 300001");
    program
}

/// fathom, counting until it is asked to end.
struct Counting {
    process: Running,
    said: Lines,
    out: Lines,
}

impl Counting {
    /// Comes back when a breakpoint stands on the code of C2.
    #[track_caller]
    fn start(pid: &str, args: &[&str]) -> Self {
        let mut fathom = Command::new(FATHOM);
        fathom.args(["method", "-p", pid, "--json"]).args(args);
        let mut process = Running::start(fathom.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let said = Lines::of(process.0.stderr.take().unwrap());
        let out = Lines::of(process.0.stdout.take().unwrap());
        Self { process, said, out }
    }

    #[track_caller]
    fn until(&mut self, text: &str) {
        let line = self.said.until(|line| line.contains(text));
        assert!(line.is_some(), "no line with {text:?}: {:?}", self.said.said());
    }

    /// Ends it as Ctrl-C does; its totals.
    #[track_caller]
    fn stop(self) -> Value {
        self.process.signal("INT");
        self.totals()
    }

    #[track_caller]
    fn totals(mut self) -> Value {
        while self.out.line().is_some() {}
        assert!(self.process.end().success(), "{:?}", self.said.said());
        serde_json::from_str(self.out.said().last().unwrap()).unwrap()
    }
}

/// What was counted of a method.
#[track_caller]
fn of<'a>(totals: &'a Value, name: &str) -> &'a Value {
    let methods = totals["methods"].as_array().unwrap();
    methods.iter().find(|method| method["name"] == name).unwrap_or_else(|| panic!("{totals}"))
}

/// Calls of who is called so, or begins so.
fn calls_of(method: &Value, list: &str, who: &str) -> u64 {
    let list = method[list].as_array().unwrap().iter();
    let meant = list.filter(|of| of["who"].as_str().unwrap().starts_with(who));
    meant.map(|of| of["calls"].as_u64().unwrap()).sum()
}

/// The compilations that calls reach, by the JVM's own list (JDK 9 on); `None` where none can be
/// asked for it.
fn compiled(pid: &str) -> Option<BTreeSet<String>> {
    let (_, home) = jdks::all().into_iter().find(|(_, home)| home.join("bin/jcmd").is_file())?;
    let output = Command::new(home.join("bin/jcmd")).args([pid, "Compiler.codelist"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: BTreeSet<String> = text.lines().filter(|line| line.contains('[')).map(str::to_owned).collect();
    (lines.len() > 10).then_some(lines)
}

#[test]
fn every_call_of_a_compiled_method_is_counted_and_the_jvm_keeps_its_code() {
    if !crate::live::ebpf_is_allowed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let Some(_) = jdks::compile(dir.path(), 8, &["Called"]) else { return };
    crate::live::with_each(jdks::of(&[8, 11, 17, 21, 25]), |release, home| {
        let mut program = warmed_up(dir.path(), home);
        let pid = program.pid();
        let mut counting = Counting::start(&pid, &[METHOD, "-d", "60s"]);
        counting.until("entry of its compiled code (C2");
        counting.until("counting in process");
        program.send("count");
        let first: u64 = program.until("count ").parse().unwrap();
        for (step, calls) in [("call 1234", 1234), ("pace 300", 300), ("threads 3 111", 333)] {
            program.send(step);
            program.until(&format!("called {calls}"));
        }
        let totals = counting.stop();
        let step = of(&totals, "Called::step(I)I");
        let shown = format!("JDK {release}: {step}");
        assert_eq!(step["calls"], 1234 + 300 + 333, "{shown}");
        assert_eq!((&step["replaced"], &step["caller_not_kept"]), (&0.into(), &0.into()), "{shown}");
        assert_eq!(step["standing"], "counted", "{shown}");
        assert_eq!(calls_of(step, "callers", "Called.once:"), 1234 + 333, "{shown}");
        assert_eq!(calls_of(step, "callers", "Called.called:"), 300, "{shown}");
        for thread in ["caller-0 ", "caller-1 ", "caller-2 "] {
            assert_eq!(calls_of(step, "threads", thread), 111, "{shown}");
        }
        assert_eq!(calls_of(step, "threads", "main "), 1234 + 300, "{shown}");
        program.send("count");
        let said = program.said().len();
        while program.said().len() == said {
            program.line();
        }
        let last = program.said().last().unwrap().trim_start_matches("count ").to_owned();
        assert_eq!(last.parse::<u64>().unwrap() - first, 1234 + 300 + 333, "by the program's own count");
        if release > 8 {
            leaves_the_code(&mut program, release);
        }
    });
}

/// Counting leaves the JVM's compiled code as it is: the same compilations at the same addresses
/// before and after, and in the code of the program, also that which is counted, the same bytes
/// meanwhile. The JVM compiles by itself, so that it is first let run as long with nobody who
/// looks, until that alone changes nothing.
#[track_caller]
fn leaves_the_code(program: &mut Talking, release: u64) {
    let pid = program.pid();
    let mut differ = Vec::new();
    // A number of its own each time: what it says it has done is taken for no earlier time.
    let mut number = 100;
    let mut pace = |program: &mut Talking| {
        number += 1;
        program.send(&format!("pace {number}"));
        program.until(&format!("called {number}"));
        number
    };
    for _ in 0..12 {
        let Some(earlier) = compiled(&pid) else { return };
        pace(program);
        let before = compiled(&pid).unwrap();
        if before != earlier {
            continue;
        }
        let own: BTreeSet<String> = before.iter().filter(|line| line.contains("Called.")).cloned().collect();
        let bytes = code(&pid, &own);
        assert!(own.len() > 1 && bytes.iter().all(|code| !code.is_empty()), "JDK {release}: {own:#?}");
        let mut counting = Counting::start(&pid, &[METHOD]);
        counting.until("counting in process");
        let calls = pace(program);
        let meanwhile = (compiled(&pid).unwrap(), code(&pid, &own));
        let totals = counting.stop();
        assert_eq!(of(&totals, "Called::step(I)I")["calls"], calls, "JDK {release}: {totals}");
        let after = compiled(&pid).unwrap();
        if after == before && meanwhile.0 == before {
            assert!(meanwhile.1 == bytes, "JDK {release}: the code's bytes are others");
            return;
        }
        differ = before.symmetric_difference(&after).cloned().collect();
    }
    panic!("JDK {release}: {differ:#?}");
}

/// The bytes of compiled code, by lines of the JVM's list: `… [header, begin - end]`.
fn code(pid: &str, lines: &BTreeSet<String>) -> Vec<Vec<u8>> {
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    let number = |text: &str| u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).unwrap();
    let read = |line: &String| {
        let (_, ends) = line.trim_end().trim_end_matches(']').rsplit_once(", ").unwrap();
        let (begin, end) = ends.split_once(" - ").unwrap();
        let mut bytes = vec![0; (number(end) - number(begin)) as usize];
        memory.read_exact_at(&mut bytes, number(begin)).unwrap();
        bytes
    };
    lines.iter().map(read).collect()
}

#[test]
fn new_code_of_a_method_is_followed_and_copies_of_it_are_listed() {
    if !crate::live::ebpf_is_allowed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let Some(_) = jdks::compile(dir.path(), 8, &["Called"]) else { return };
    crate::live::with_each(jdks::of(&[8, 17, 25]), |release, home| {
        let mut program = warmed_up(dir.path(), home);
        // Hundreds of thousands of calls, to have it compiled again: far above what is let through
        // otherwise.
        let args = [METHOD, "Called::once", "--max-rate", "100000000"];
        let mut counting = Counting::start(&program.pid(), &args);
        counting.until("counting in process");
        program.send("call 1000");
        program.until("called 1000");
        program.send("change");
        program.until("changed");
        program.send("call 300003");
        program.until("called 300003");
        counting.until("compiled anew (C2");
        // What comes now is counted at the new code, all of it.
        program.send("threads 2 250");
        program.until("called 500");
        let totals = counting.stop();
        let step = of(&totals, "Called::step(I)I");
        let shown = format!("JDK {release}: {step}");
        let calls = step["calls"].as_u64().unwrap();
        assert!((1500..=301_503).contains(&calls), "{shown}");
        assert_eq!(calls_of(step, "threads", "caller-"), 500, "{shown}");
        assert!(step["compilations"].as_u64().unwrap() > 1 && step["standing"] == "counted", "{shown}");
        assert!(step["unwatched_ms"].as_f64().unwrap() > 0.0, "{shown}");
        assert!(step["not_counted"].to_string().contains("no breakpoint was set"), "{shown}");
        let once = of(&totals, "Called::once(I)I");
        let into: Vec<&str> =
            once["inlined"].as_array().unwrap().iter().map(|copy| copy["into"].as_str().unwrap()).collect();
        assert!(into.contains(&"Called.other"), "JDK {release}: {once}");
        assert!(once["not_counted"].to_string().contains("inlined into"), "JDK {release}: {once}");
    });
}

#[test]
fn what_is_called_too_often_is_let_go_of_and_nothing_is_left_behind_by_a_kill() {
    if !crate::live::ebpf_is_allowed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let Some(_) = jdks::compile(dir.path(), 8, &["Called"]) else { return };
    let Some((_, home)) = jdks::of(&[17]).pop() else { return };
    crate::live::patiently(|| {
        let mut program = warmed_up(dir.path(), &home);
        let mut counting = Counting::start(&program.pid(), &[METHOD]);
        counting.until("counting in process");
        let programs = Programs::of(counting.process.0.id());
        counting.process.signal("KILL");
        counting.process.end();
        programs.are_gone();
        // As many a second as the trap allows, for ever: it ends by itself, and says why.
        program.send("spin 100000000");
        program.until("spinning");
        let mut counting = Counting::start(&program.pid(), &[METHOD, "--max-rate", "1000"]);
        counting.until("DROPPED");
        let totals = counting.totals();
        let step = of(&totals, "Called::step(I)I");
        assert_eq!(step["standing"], "too-hot", "{step}");
        assert!(step["calls"].as_u64().unwrap() >= 250, "{step}");
        // The program goes on.
        program.send("pace 1");
        program.until("called 1");
        // One that ends while it is watched is said to have ended, and nothing else of it.
        let mut counting = Counting::start(&program.pid(), &["Called::once"]);
        counting.until("counting in process");
        drop(program);
        counting.until("has ended");
        let said = counting.said.said().join("\n");
        assert!(!said.contains("gave its compiled code up"), "{said}");
        assert_eq!(counting.totals()["kind"], "total");
    });
}

#[test]
fn calls_take_as_long_as_by_the_clock_of_their_caller() {
    if !crate::live::ebpf_is_allowed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let Some(_) = jdks::compile(dir.path(), 8, &["Called"]) else { return };
    crate::live::with_each(jdks::of(&[8, 17, 25]), |release, home| {
        let mut program = warmed_up(dir.path(), home);
        for round in 0..3 {
            program.send(&format!("slow 3000{round} 5"));
            program.until(&format!("slow 3000{round} "));
        }
        let mut counting = Counting::start(&program.pid(), &["Called::takes", "--times"]);
        counting.until("entry of its compiled code (C2");
        counting.until("counting in process");
        program.send("slow 800 5000");
        let sum_ns: f64 = program.until("slow 800 ").parse().unwrap();
        let totals = counting.stop();
        let takes = of(&totals, "Called::takes(J)I");
        // Each caller has times, or a reason why it has none.
        let list = |of: &str| takes[of].as_array().unwrap().len();
        assert_eq!(list("times") + list("untimed"), list("callers"), "JDK {release}: {takes}");
        let shown = format!("JDK {release}: {sum_ns} ns in 800 calls; {takes}");
        assert_eq!(takes["calls"], 800, "{shown}");
        let times = &takes["times"][0];
        assert!(
            times["caller"].as_str().is_some_and(|caller| caller.starts_with("Called.timed:")),
            "{shown}"
        );
        // The first second passes before the caller is known.
        let count = times["count"].as_u64().unwrap();
        assert!((200..=800).contains(&count), "{shown}");
        let mean = times["sum_ns"].as_f64().unwrap() / count as f64;
        assert!((mean - sum_ns / 800.0).abs() < 0.1 * sum_ns / 800.0, "{shown}");
        let buckets = times["buckets"].as_array().unwrap();
        assert_eq!(buckets.iter().map(|bucket| bucket[1].as_u64().unwrap()).sum::<u64>(), count, "{shown}");
        // None is shorter than the program waits: the bucket of 5 ms begins at 4 194 304 ns.
        assert!(buckets[0][0].as_u64().unwrap() >= 4_194_304, "{shown}");
    });
}
