//! `fathom record --engine jfr` on real JVMs of every release: what is recorded, and that nothing
//! stays behind.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use fathom_hotspot::attach::Attach;
use fathom_recording::Recording;
use fathom_recording::vocabulary::{kind, sample};

/// Computes, allocates, collects, waits for a lock, and sleeps.
const PROGRAM: &str = "public class Busy {
  static final Object LOCK = new Object();
  static volatile Object kept;
  public static void main(String[] args) throws Exception {
    Thread other = new Thread(() -> {
      while (true) {
        synchronized (LOCK) { pause(30); }
        pause(5);
      }
    }, \"holder\");
    other.setDaemon(true);
    other.start();
    Thread fighter = new Thread(() -> {
      while (true) {
        synchronized (LOCK) { pause(1); }
      }
    }, \"fighter\");
    fighter.setDaemon(true);
    fighter.start();
    System.out.println(\"ready\");
    double x = 0;
    for (long i = 0; ; i++) {
      x += spin(x);
      kept = new byte[256];
      if (i % 50 == 0) System.gc();
    }
  }
  static double spin(double x) {
    for (int i = 1; i < 20_000; i++) x += Math.sqrt(i) / (x + i);
    return x;
  }
  static void pause(long ms) {
    try { Thread.sleep(ms); } catch (InterruptedException e) { throw new IllegalStateException(e); }
  }
}";

fn fathom(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command.current_dir(dir).args(args);
    command
}

fn run(dir: &Path, args: &[&str]) -> Output {
    fathom(dir, args).output().unwrap()
}

fn jdks(dir: &Path) -> Vec<(u64, PathBuf, bool)> {
    let reported: serde_json::Value = serde_json::from_slice(&run(dir, &["jdks", "--json"]).stdout).unwrap();
    let mut found: Vec<(u64, PathBuf, bool)> = Vec::new();
    for jdk in reported["jdks"].as_array().unwrap() {
        let release = jdk["feature"].as_u64().unwrap();
        if !found.iter().any(|(known, _, _)| *known == release) {
            found.push((release, jdk["home"].as_str().unwrap().into(), jdk["javac"] == true));
        }
    }
    found.sort();
    found
}

/// The compiled program; `None`, loudly, without a compiler.
fn compiled(dir: &Path) -> Option<()> {
    let jdks = jdks(dir);
    let Some((_, home, _)) = jdks.iter().find(|(_, _, javac)| *javac) else {
        fathom_testing::skip("no JDK with a compiler was found");
        return None;
    };
    std::fs::write(dir.join("Busy.java"), PROGRAM).unwrap();
    let javac = Command::new(home.join("bin/javac"))
        .args(["--release", "8", "-Xlint:-options", "-g", "-d", "."])
        .arg("Busy.java")
        .current_dir(dir)
        .status();
    assert!(javac.unwrap().success());
    Some(())
}

/// A JVM that is busy, killed when dropped.
struct Jvm(Child);

impl Jvm {
    fn start(dir: &Path, home: &Path) -> Self {
        let mut command = Command::new(home.join("bin/java"));
        command.args(["-Xmx64m", "-cp", ".", "Busy"]).current_dir(dir).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self(child)
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Our recordings inside it.
    fn recordings(&self) -> Vec<String> {
        let reported = Attach::to(self.pid()).unwrap().jcmd("JFR.check").unwrap();
        reported.lines().filter(|line| line.contains("name=fathom-")).map(str::to_owned).collect()
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Our folders, and a repository of the recorder, of a JVM in `/tmp`.
fn left(pid: u32) -> Vec<String> {
    let names = std::fs::read_dir("/tmp").unwrap().flatten().filter_map(|e| e.file_name().into_string().ok());
    let ours = format!(".fathom-jfr-{pid}-");
    names.filter(|name| name.starts_with(&ours) || *name == format!(".attach_pid{pid}")).collect()
}

fn repositories(pid: u32) -> usize {
    let names = std::fs::read_dir("/tmp").unwrap().flatten().filter_map(|e| e.file_name().into_string().ok());
    names.filter(|name| name.starts_with("20") && name.ends_with(&format!("_{pid}"))).count()
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn every_release_is_recorded_through_its_flight_recorder_and_left_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    if compiled(dir.path()).is_none() {
        return;
    }
    for (release, home, _) in jdks(dir.path()) {
        let jvm = Jvm::start(dir.path(), &home);
        let pid = jvm.pid().to_string();
        let output = run(
            dir.path(),
            &["record", "--engine", "jfr", "-p", &pid, "-d", "4s", "-o", "x.fathom", "--force"],
        );
        assert!(output.status.success(), "JDK {release}: {output:?}");
        assert_eq!(jvm.recordings(), Vec::<String>::new(), "JDK {release}");
        assert_eq!(left(jvm.pid()), Vec::<String>::new(), "JDK {release}");
        let recording = fathom_recording::open(&dir.path().join("x.fathom")).unwrap();
        check(&recording, release, jvm.pid());
    }
}

/// What the program did is there, and belongs to the process that was recorded.
fn check(recording: &Recording, release: u64, pid: u32) {
    let jvms: Vec<_> = recording.processes.iter().filter(|p| p.pid == Some(i64::from(pid))).collect();
    assert_eq!(jvms.len(), 1, "JDK {release}: {jvms:?}");
    assert_eq!(jvms[0].name, "Busy");
    let kinds = recording.sample_kinds();
    let cpu = kinds.iter().find(|(kind, _)| *kind == sample::CPU).map_or(0, |(_, count)| *count);
    let frames: Vec<_> = recording.frames.iter().map(|f| recording.strings.get(f.name)).collect();
    // The recorder samples when it gets a CPU: on a busy machine that is a few times in as
    // many seconds.
    if cpu >= 20 {
        assert!(frames.contains(&"Busy.spin"), "JDK {release}: {cpu} samples, {frames:?}");
    } else {
        fathom_testing::skip(&format!(
            "JDK {release}: what was sampled, as the machine gave only {cpu} samples"
        ));
    }
    for wanted in [kind::GC_PAUSE, kind::LOCK_MONITOR, kind::THREAD_SLEEP] {
        assert!(recording.spans_of(wanted).next().is_some(), "JDK {release}: {wanted}");
    }
    let contended = recording.spans_of(kind::LOCK_MONITOR).any(|span| span.name() == "java.lang.Object");
    assert!(contended, "JDK {release}");
}

#[test]
fn a_killed_fathom_leaves_a_recording_that_ends_by_itself_and_the_next_one_clears_it_away() {
    let dir = tempfile::tempdir().unwrap();
    if compiled(dir.path()).is_none() {
        return;
    }
    let Some((_, home, _)) = jdks(dir.path()).pop() else { return };
    let jvm = Jvm::start(dir.path(), &home);
    let pid = jvm.pid().to_string();
    let args = ["record", "--engine", "jfr", "-p", &pid, "-d", "60s", "-o", "killed.fathom"];
    let mut killed = fathom(dir.path(), &args).spawn().unwrap();
    wait_for("no recording was started", || !jvm.recordings().is_empty());
    killed.kill().unwrap();
    killed.wait().unwrap();
    // Its end is inside the JVM already: half a minute from its start.
    let running = jvm.recordings();
    assert!(running.len() == 1 && running[0].contains("duration=30s"), "{running:?}");
    assert_eq!(left(jvm.pid()).len(), 1);
    let output = run(dir.path(), &["record", "--engine", "jfr", "-p", &pid, "-d", "1s", "-o", "next.fathom"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(jvm.recordings(), Vec::<String>::new());
    assert_eq!(left(jvm.pid()), Vec::<String>::new());
}

#[test]
fn two_at_once_do_not_take_each_other_for_left_over() {
    let dir = tempfile::tempdir().unwrap();
    if compiled(dir.path()).is_none() {
        return;
    }
    let Some((_, home, _)) = jdks(dir.path()).pop() else { return };
    let jvm = Jvm::start(dir.path(), &home);
    let pid = jvm.pid().to_string();
    let args = ["record", "--engine", "jfr", "-p", &pid, "-d", "8s", "-o", "long.fathom"];
    let mut long = fathom(dir.path(), &args).spawn().unwrap();
    wait_for("no recording was started", || !jvm.recordings().is_empty());
    let output =
        run(dir.path(), &["record", "--engine", "jfr", "-p", &pid, "-d", "1s", "-o", "short.fathom"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(long.try_wait().unwrap(), None);
    assert_eq!(jvm.recordings().len(), 1);
    assert!(long.wait().unwrap().success());
    assert_eq!((jvm.recordings(), left(jvm.pid())), (Vec::new(), Vec::new()));
}

#[test]
fn a_jvm_that_is_killed_while_it_is_recorded_is_read_from_what_it_left_and_nothing_stays() {
    let dir = tempfile::tempdir().unwrap();
    if compiled(dir.path()).is_none() {
        return;
    }
    let Some((release, home, _)) = jdks(dir.path()).pop() else { return };
    let mut jvm = Jvm::start(dir.path(), &home);
    let pid = jvm.pid();
    let args = ["record", "--engine", "jfr", "-p", &pid.to_string(), "-o", "dead.fathom"];
    let mut record = fathom(dir.path(), &args).spawn().unwrap();
    wait_for("no recording was started", || !jvm.recordings().is_empty());
    // Its recorder puts what it has into its repository once a second.
    std::thread::sleep(Duration::from_secs(4));
    jvm.0.kill().unwrap();
    jvm.0.wait().unwrap();
    assert!(record.wait().unwrap().success());
    let recording = fathom_recording::open(&dir.path().join("dead.fathom")).unwrap();
    assert!(
        !recording.samples.is_empty() || recording.spans_of(kind::THREAD_SLEEP).next().is_some(),
        "JDK {release}"
    );
    assert_eq!((left(pid), repositories(pid)), (Vec::new(), 0));
}

#[test]
fn a_process_that_is_no_jvm_is_refused_with_status_3_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut sleep = Command::new("sleep").arg("60").spawn().unwrap();
    let pid = sleep.id().to_string();
    let output = run(dir.path(), &["record", "--engine", "jfr", "-p", &pid, "-d", "1s", "-o", "x.fathom"]);
    let lived_on = sleep.try_wait().unwrap().is_none();
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    assert!(lived_on);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not a JVM"), "{output:?}");
    assert!(!dir.path().join("x.fathom").exists());
}
