//! Results into exit statuses and messages on standard error.

use std::process::ExitCode;

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
    let broken_pipe = error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    });
    if broken_pipe {
        return ExitCode::SUCCESS;
    }
    // What an error quotes may come from a file.
    let text = format!("{error:#}");
    text.lines().for_each(|line| eprintln!("fathom: {}", fathom_render::printable(line)));
    ExitCode::from(if error.is::<Environment>() { 3 } else { 2 })
}
