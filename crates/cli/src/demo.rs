//! The demo's workload: a transactional service in Java, compiled and run on a JDK of this machine,
//! with a throughput series and GC, safepoint and JIT logs, and recorded live.
//!
//! The verdict of the demo comes from these files alone; nothing here is handed to the diagnosis.

mod live;
mod neighbours;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::exit::Environment;
use crate::jdk::Jdk;

pub use live::Recorded;
pub use neighbours::Neighbours;

/// The sources of the workload, compiled on the spot.
const SOURCES: [(&str, &str); 4] = [
    ("Procedures.java", include_str!("../demo/Procedures.java")),
    ("Store.java", include_str!("../demo/Store.java")),
    ("TenantProcedures.java", include_str!("../demo/TenantProcedures.java")),
    ("TransactionService.java", include_str!("../demo/TransactionService.java")),
];

/// How the workload is run.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Length of the run, seconds.
    pub seconds: u32,
    /// When the other node's tenants are taken over, seconds; 0 for never.
    pub take_over_at: u32,
    /// Tenants that are served at a time.
    pub tenants: u32,
    /// Threads that serve them.
    pub workers: u32,
}

impl Workload {
    /// A run in which all CPUs are busy, with as many tenants for each as make its compilers
    /// busy for some seconds (measured on 2 CPUs: 20 tenants a CPU keep C2 busy for
    /// some 5 s; with 10 it is over in one).
    pub fn for_this_machine(seconds: u32, healthy: bool) -> Self {
        let processors = std::thread::available_parallelism().map_or(2, |n| n.get() as u32);
        let take_over_at = if healthy { 0 } else { seconds * 11 / 20 };
        Self { seconds, take_over_at, tenants: 20 * processors, workers: processors }
    }
}

/// What a run leaves.
#[derive(Debug)]
pub struct Files {
    /// What the service and its JVM wrote.
    pub logs: Logs,
    /// What became of the live recording.
    pub live: Recorded,
}

/// The files that the service and its JVM write.
#[derive(Clone, Debug)]
pub struct Logs {
    /// Throughput, a line per half second.
    pub throughput: PathBuf,
    /// GC and safepoint log.
    pub gc_log: PathBuf,
    /// LogCompilation XML.
    pub jit_log: PathBuf,
}

/// A JVM that is killed when it is no longer wanted (Ctrl-C reaches it by its process group, an
/// error by this).
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Compiles and runs the workload in `dir`, giving the seconds gone to `progress` about five times
/// a second.
pub fn run(jdk: &Jdk, workload: &Workload, dir: &Path, progress: impl Fn(Duration)) -> Result<Files> {
    let classes = dir.join("classes");
    std::fs::create_dir_all(&classes).with_context(|| format!("{}", classes.display()))?;
    compile(jdk, &classes)?;
    let logs = Logs {
        throughput: dir.join("service.csv"),
        gc_log: dir.join("gc.log"),
        jit_log: dir.join("jit.xml"),
    };
    let mut jvm = Running(start(jdk, workload, &classes, &logs)?);
    let recorder = live::Recorder::start(jvm.0.id(), &dir.join("demo.fathom"));
    let begin = Instant::now();
    // Start, the run, writing the LogCompilation file at exit; beyond that the machine cannot do
    // it.
    let limit = Duration::from_secs(u64::from(workload.seconds) * 2 + 60);
    let status = loop {
        if let Some(status) = jvm.0.try_wait()? {
            break status;
        }
        if begin.elapsed() > limit {
            bail!(Environment(format!("the demo's JVM did not end within {} s", limit.as_secs())));
        }
        progress(begin.elapsed());
        std::thread::sleep(Duration::from_millis(200));
    };
    if !status.success() {
        let mut said = String::new();
        if let Some(stderr) = jvm.0.stderr.take() {
            stderr.take(4_000).read_to_string(&mut said)?;
        }
        bail!(Environment(format!("the demo's JVM ended with {status}: {}", said.trim())));
    }
    let live = recorder.map_or_else(|error| Recorded::No(error.to_string()), live::Recorder::end);
    Ok(Files { logs, live })
}

fn compile(jdk: &Jdk, classes: &Path) -> Result<()> {
    let mut javac = Command::new(jdk.program("javac"));
    javac.args(["-nowarn", "-d"]).arg(classes);
    for (name, text) in SOURCES {
        let file = classes.join(name);
        std::fs::write(&file, text).with_context(|| format!("{}", file.display()))?;
        javac.arg(file);
    }
    let output = javac.output().with_context(|| format!("{}", jdk.program("javac").display()))?;
    if !output.status.success() {
        bail!(Environment(format!("javac failed: {}", String::from_utf8_lossy(&output.stderr).trim())));
    }
    Ok(())
}

fn start(jdk: &Jdk, workload: &Workload, classes: &Path, logs: &Logs) -> Result<Child> {
    let java = jdk.program("java");
    Command::new(&java)
        .args(["-Xms512m", "-Xmx512m"])
        // Without rotation: the JVM would keep an earlier run's log next to this one's as gc.log.0.
        .arg(format!("-Xlog:gc*,safepoint:file={}:time,uptime,level,tags:filecount=0", logs.gc_log.display()))
        .args(["-XX:+UnlockDiagnosticVMOptions", "-XX:+LogCompilation"])
        .arg(format!("-XX:LogFile={}", logs.jit_log.display()))
        .arg("-cp")
        .arg(classes)
        .arg("TransactionService")
        .arg(&logs.throughput)
        .args(
            [workload.seconds, workload.take_over_at, workload.tenants, workload.workers]
                .map(|n| n.to_string()),
        )
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("{}", java.display()))
}
