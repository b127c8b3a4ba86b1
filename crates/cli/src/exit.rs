//! Results into exit statuses and messages on standard error.

use std::process::ExitCode;

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

/// The exit status of a command's result; says on standard error why, when it is not 0. A reader that went away
/// (`fathom … | head`) is success.
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
    let text = format!("{error:#}");
    text.lines().for_each(|line| eprintln!("fathom: {}", fathom_render::printable(line)));
    ExitCode::from(if error.is::<Environment>() { 3 } else { 2 })
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    let io = match cause.downcast_ref::<RecordingError>() {
        Some(RecordingError::Io { cause, .. }) => Some(cause),
        _ => cause.downcast_ref::<std::io::Error>(),
    };
    io.is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}
