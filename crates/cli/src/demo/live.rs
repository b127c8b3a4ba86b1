//! The demo's JVM recorded live as well as its logs, by the command that a user would give:
//! `fathom record -p PID`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest text of a recorder that is kept, bytes.
const LONGEST_TEXT: u64 = 64 << 10;

/// How long a recorder may take to end after the JVM.
const LONGEST_END: Duration = Duration::from_secs(60);

/// A recorder that runs until the JVM ends.
pub struct Recorder {
    child: Child,
    place: PathBuf,
}

/// What became of a live recording.
#[derive(Debug)]
pub enum Recorded {
    /// The recording, and what it could not see, a line each.
    Yes {
        /// The folder NAME.fathom.
        place: PathBuf,
        /// "not seen: …" lines of `fathom record`.
        limits: Vec<String>,
    },
    /// Why there is no recording, as `fathom record` gave it.
    No(String),
}

impl Recorder {
    /// Begins to record a process. Where that is not allowed, [`Recorder::end`] says so.
    pub fn start(pid: u32, place: &Path) -> std::io::Result<Self> {
        // One of another run would be taken for this one's where this one cannot be recorded.
        if place.join("meta.json").is_file() {
            std::fs::remove_dir_all(place)?;
        }
        let child = Command::new("/proc/self/exe")
            .args(["record", "--force", "-p"])
            .arg(pid.to_string())
            .arg("-o")
            .arg(place)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        Ok(Self { child, place: place.to_owned() })
    }

    /// Waits until the recording is complete: the JVM has ended before.
    pub fn end(mut self) -> Recorded {
        let begun = Instant::now();
        while let Ok(None) = self.child.try_wait() {
            if begun.elapsed() > LONGEST_END {
                return Recorded::No(format!(
                    "the recorder did not end within {} s of the JVM",
                    LONGEST_END.as_secs()
                ));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut text = Vec::new();
        if let Some(stderr) = self.child.stderr.take() {
            // What cannot be read is missing from the words only.
            let _ = stderr.take(LONGEST_TEXT).read_to_end(&mut text);
        }
        let lines = lines(&String::from_utf8_lossy(&text));
        match self.child.wait() {
            Ok(status) if status.success() => Recorded::Yes {
                place: std::mem::take(&mut self.place),
                limits: lines.into_iter().filter(|line| line.starts_with("not seen: ")).collect(),
            },
            Ok(status) => Recorded::No(lines.last().cloned().unwrap_or_else(|| status.to_string())),
            Err(error) => Recorded::No(error.to_string()),
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines of a command of fathom, without its name in front.
fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.strip_prefix("fathom: ").unwrap_or(line).trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_program_is_no_part_of_a_reason() {
        assert_eq!(lines("fathom: one\n\nfathom: two\n"), ["one", "two"]);
    }
}
