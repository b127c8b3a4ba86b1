//! What threads waited for in slow calls: looked up at the end in a recording of the same time,
//! which another fathom makes.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fathom_capture::methods::SlowCall;
use fathom_diagnose::Window;
use fathom_diagnose::chain::Chains;
use fathom_recording::{Recording, ThreadId};
use rustix::process::{Pid, Signal, kill_process};

/// Attaching takes seconds on a busy machine.
const ATTACH: Duration = Duration::from_secs(60);
/// What it says when everything is attached.
const ATTACHED: &str = "fathom: recording ";
/// Waits shown of a call, and links of each.
const WAITS: usize = 3;
const LINKS: usize = 4;
/// Shorter ones are not worth a line, of a call's time.
const LEAST: f64 = 0.02;

/// A recording under way.
pub struct Waits {
    child: Child,
    folder: tempfile::TempDir,
}

impl Waits {
    /// Begins; comes back when everything is attached.
    pub fn start(pid: i32) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let program = std::env::current_exe().context("finding this program")?;
        let mut command = Command::new(program);
        command
            .args(["record", "--engine", "ebpf", "-p", &pid.to_string(), "-o"])
            .arg(folder.path().join("waits.fathom"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("starting fathom record (--waits)")?;
        let (sender, lines) = mpsc::channel();
        if let Some(said) = child.stderr.take() {
            // Read to its end, or it would wait for somebody to read.
            std::thread::spawn(move || {
                for line in BufReader::new(said).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        let mut last = String::new();
        while let Ok(line) = lines.recv_timeout(ATTACH) {
            if line.starts_with(ATTACHED) {
                return Ok(Self { child, folder });
            }
            last = line;
        }
        let _ = child.kill();
        let _ = child.wait();
        bail!("--waits: fathom record did not begin: {last}")
    }

    /// Ends it, and adds to calls what their threads waited for.
    pub fn add_to(mut self, calls: &mut [SlowCall]) -> Result<()> {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process(pid, Signal::INT);
        }
        self.child.wait().context("waiting for fathom record (--waits)")?;
        let path: PathBuf = self.folder.path().join("waits.fathom");
        let mut recording = Recording::new();
        recording.append(fathom_recording::open(&path).context("reading what was recorded (--waits)")?);
        recording.seal();
        let chains = Chains::with_lock_holders(&recording);
        for call in calls {
            let Some(thread) = thread_of(&recording, &call.thread) else { continue };
            let from_ns = call.begun_ns;
            let to_ns = from_ns.saturating_add(i64::try_from(call.took_ns).unwrap_or(i64::MAX));
            let chain = chains.of_thread(thread, Window { from_ns, to_ns });
            for link in chain.links.iter().filter(|link| link.share >= LEAST).take(WAITS) {
                let words: Vec<String> = link
                    .heaviest()
                    .take(LINKS)
                    .map(|link| match fathom_render::chain::who(link) {
                        Some(thread) if thread != chain.thread => format!("{thread}: {}", link.what),
                        _ => link.what.to_string(),
                    })
                    .collect();
                call.waited.push((words.join(" ← "), (link.ms * 1e6).max(0.0) as u64));
            }
        }
        Ok(())
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        // Where counting could not begin: nobody needs what it records.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The thread of a name, "worker-7" or "worker-7 (4711)", if there is one alone.
fn thread_of(recording: &Recording, named: &str) -> Option<ThreadId> {
    let (name, tid) = match named.strip_suffix(')').and_then(|named| named.rsplit_once(" (")) {
        Some((name, tid)) => (name, tid.parse::<i64>().ok()),
        None => (named, None),
    };
    let fits = |i: &usize| {
        let thread = &recording.threads[*i];
        tid.map_or_else(|| recording.strings.get(thread.name) == name, |tid| thread.tid == Some(tid))
    };
    let mut all = (0..recording.threads.len()).filter(fits);
    let first = all.next()?;
    all.next().is_none().then_some(ThreadId(first as u32))
}
