//! Processes that end with the test, and what is said to them and by them.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Nothing here takes longer, on any machine; a test that hangs must end.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A process that ends with the test, and all that it started.
pub struct Running(pub Child);

impl Running {
    /// Starts a command, which must be there.
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    /// Its id, as an argument.
    pub fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// Waits for its end, and panics where it hangs.
    #[track_caller]
    pub fn end(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "it hangs");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends it a signal, by its name without SIG.
    pub fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args(["-s", signal, &self.pid()]).status().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // What has ended has left its id to others.
        if matches!(self.0.try_wait(), Ok(None)) {
            let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.0.id()));
            for child in children.unwrap_or_default().split_whitespace() {
                let _ = Command::new("kill").args(["-s", "KILL", child]).stderr(Stdio::null()).status();
            }
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// What a process prints, by lines. It is read as it comes, so that the process never waits for the
/// test.
pub struct Lines {
    from: Receiver<String>,
    said: Vec<String>,
}

impl Lines {
    /// Begins to read.
    pub fn of(printed: impl Read + Send + 'static) -> Self {
        let (sender, from) = channel();
        std::thread::spawn(move || {
            BufReader::new(printed).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { from, said: Vec::new() }
    }

    fn line_by(&mut self, end: Instant) -> Option<&str> {
        match self.from.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => self.said.push(line),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => panic!("nothing more is said: {:?}", self.said),
        }
        self.said.last().map(String::as_str)
    }

    /// The next line; `None` at the end.
    pub fn line(&mut self) -> Option<&str> {
        self.line_by(Instant::now() + PATIENCE)
    }

    /// The first line of this sort, which may have been read already; `None` where there is none to
    /// the end.
    pub fn until(&mut self, is: impl Fn(&str) -> bool) -> Option<String> {
        if let Some(line) = self.said.iter().find(|line| is(line)) {
            return Some(line.clone());
        }
        let end = Instant::now() + PATIENCE;
        loop {
            let line = self.line_by(end)?;
            if is(line) {
                return Some(line.to_owned());
            }
        }
    }

    /// All lines that were read so far.
    pub fn said(&self) -> &[String] {
        &self.said
    }
}

/// A program that is controlled by lines, and says by lines what it did.
pub struct Talking {
    /// Ends with it.
    pub process: Running,
    to: ChildStdin,
    out: Lines,
}

impl Talking {
    /// Starts a command that may not be there.
    pub fn spawn(command: &mut Command) -> std::io::Result<Self> {
        let mut process = Running(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?);
        let to = process.0.stdin.take().unwrap();
        let out = Lines::of(process.0.stdout.take().unwrap());
        Ok(Self { process, to, out })
    }

    /// Starts a command, and waits until it is ready.
    pub fn start(command: &mut Command) -> Self {
        let mut talking = Self::spawn(command).unwrap();
        talking.until("ready");
        talking
    }

    /// Its id, as an argument.
    pub fn pid(&self) -> String {
        self.process.pid()
    }

    /// Sends it a line.
    pub fn send(&mut self, line: &str) {
        writeln!(self.to, "{line}").unwrap();
    }

    /// The next line that it says; `None` when it has ended.
    pub fn line(&mut self) -> Option<&str> {
        self.out.line()
    }

    /// The rest of the first line that begins so, which it may have said already.
    #[track_caller]
    pub fn until(&mut self, beginning: &str) -> String {
        let line = self.out.until(|line| line.starts_with(beginning));
        let line = line.unwrap_or_else(|| panic!("no line {beginning:?}: {:?}", self.said()));
        line[beginning.len()..].trim().to_owned()
    }

    /// All lines that were read so far.
    pub fn said(&self) -> &[String] {
        self.out.said()
    }
}

/// A pipe that is full and that nobody reads for as long as the first end is kept.
pub fn unread_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    // So much it holds (pipe(7)).
    writer.write_all(&[b'x'; 65_536]).unwrap();
    (reader, writer)
}

/// A process that keeps a CPU busy.
pub fn busy() -> Running {
    Running::start(Command::new("sh").args(["-c", "while :; do :; done"]))
}
