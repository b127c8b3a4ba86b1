//! fathom, watching a process until it is asked to end.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use fathom_recording::Recording;

use super::FATHOM;
use super::kernel::Programs;
use super::process::{Lines, Running};
use super::recorded::open;

/// A recording or a trace that is under way, and what it says.
pub struct Recorder {
    process: Running,
    err: Lines,
}

impl Recorder {
    /// Starts a command, and comes back when it says `begun`; where it ends before, with its exit
    /// code and all that it said.
    pub fn start(command: &mut Command, begun: &str) -> Result<Self, (Option<i32>, String)> {
        let mut process = Running::start(command.stderr(Stdio::piped()));
        let err = Lines::of(process.0.stderr.take().unwrap());
        let mut recorder = Self { process, err };
        match recorder.err.until(|line| line.contains(begun)) {
            Some(_) => Ok(recorder),
            None => Err((recorder.process.0.wait().unwrap().code(), recorder.said())),
        }
    }

    /// Records a process into x.fathom, and comes back when all collectors are at work.
    #[track_caller]
    pub fn record(dir: &Path, pid: &str, args: &[&str]) -> Self {
        let mut record = Command::new(FATHOM);
        record.current_dir(dir).args(["record", "-p", pid, "-o", "x.fathom", "--force"]).args(args);
        let recorder = Self::start(&mut record, "recording pid");
        let recorder = recorder.unwrap_or_else(|(_, said)| panic!("recording did not begin: {said}"));
        // What is there already is reported to the collectors in their first rounds.
        std::thread::sleep(Duration::from_millis(500));
        recorder
    }

    /// The first line that has a text, which it may have said already.
    #[track_caller]
    pub fn until(&mut self, text: &str) -> String {
        let line = self.err.until(|line| line.contains(text));
        line.unwrap_or_else(|| panic!("no line with {text:?}: {}", self.said()))
    }

    /// What it has said so far.
    pub fn said(&self) -> String {
        self.err.said().join("\n")
    }

    /// What it has loaded into the kernel.
    #[track_caller]
    pub fn programs(&self) -> Programs {
        Programs::of(self.process.0.id())
    }

    /// The file descriptors that it has open.
    #[track_caller]
    pub fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.process.0.id())).unwrap().count()
    }

    /// Ends it by a signal; its exit code, where it ended by itself then, and all that it said.
    pub fn end(mut self, signal: &str) -> (Option<i32>, String) {
        self.process.signal(signal);
        while self.err.line().is_some() {}
        (self.process.0.wait().unwrap().code(), self.said())
    }

    /// Ends it as Ctrl-C does; what is in x.fathom.
    #[track_caller]
    pub fn stop(self, dir: &Path) -> Recording {
        let (code, said) = self.end("INT");
        assert_eq!(code, Some(0), "{said}");
        open(dir, "x.fathom")
    }
}
