//! Results into exit statuses and messages on standard error.

use std::process::ExitCode;

use fathom_hotspot::Error as JvmError;
use fathom_recording::RecordingError;

/// An error that the environment is to blame for (no JVM, no permission): exit status 3.
#[derive(Debug)]
pub struct Environment(pub String);

impl std::fmt::Display for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Environment {}

/// What a command ends with when it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done.
    Done,
    /// `--fail-on` found what it was asked to watch for.
    Found,
}

/// The exit status of a command's result; says on standard error why, when it is not 0. A reader
/// that went away (`fathom … | head`) is success.
pub fn code(result: anyhow::Result<Outcome>) -> ExitCode {
    let error = match result {
        Ok(Outcome::Done) => return ExitCode::SUCCESS,
        Ok(Outcome::Found) => return ExitCode::from(1),
        Err(error) => error,
    };
    if error.chain().any(is_broken_pipe) {
        return ExitCode::SUCCESS;
    }
    // What an error quotes may come from a file.
    let text = without_numbers(&format!("{error:#}"));
    text.lines().for_each(|line| eprintln!("fathom: {}", fathom_render::printable(line)));
    ExitCode::from(if is_environment(&error) { 3 } else { 2 })
}

/// Whether the environment is to blame: said by a command, or a JVM that is gone, belongs to
/// somebody else, or cannot be read.
fn is_environment(error: &anyhow::Error) -> bool {
    error.is::<Environment>() || error.chain().any(|cause| cause.is::<JvmError>())
}

/// A message without the kernel's numbers of errors (" (os error 2)"), which say nothing next to
/// their words.
fn without_numbers(text: &str) -> String {
    const NUMBER: &str = " (os error ";
    let mut parts = text.split(NUMBER);
    let mut plain = parts.next().unwrap_or("").to_owned();
    for part in parts {
        match part.split_once(')').filter(|(number, _)| number.parse::<i32>().is_ok()) {
            Some((_, rest)) => plain.push_str(rest),
            None => plain.extend([NUMBER, part]),
        }
    }
    plain
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    let io = match cause.downcast_ref::<RecordingError>() {
        Some(RecordingError::Io { cause, .. }) => Some(cause),
        _ => cause.downcast_ref::<std::io::Error>(),
    };
    io.is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jvm_that_cannot_be_read_is_not_the_users_mistake() {
        let jvm = anyhow::Error::from(JvmError::NoProcess { pid: 7 }).context("process 7");
        assert!(is_environment(&jvm) && is_environment(&Environment("no JVM".into()).into()));
        assert!(!is_environment(&anyhow::anyhow!("no such flag")));
    }

    #[test]
    fn the_numbers_of_errors_are_left_out_and_nothing_else() {
        let text = "a.log: No such file or directory (os error 2); b: (os error two) x";
        assert_eq!(without_numbers(text), "a.log: No such file or directory; b: (os error two) x");
        assert_eq!(without_numbers("at the end (os error 28)"), "at the end");
        assert_eq!(without_numbers("cut (os error 2"), "cut (os error 2");
    }
}
