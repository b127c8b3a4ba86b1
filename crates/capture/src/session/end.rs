//! Why and when a recording ends.

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::Signals;
use crate::target::Targets;

/// How long a command that was asked to end may take, so that its end is recorded too.
const GRACE: Duration = Duration::from_secs(10);

/// Why a recording ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was to last so long.
    Deadline,
    /// Ctrl-C.
    Interrupted,
    /// SIGTERM or SIGHUP.
    Terminated,
    /// All targets have ended.
    TargetsGone,
    /// The command has ended.
    Command(ExitStatus),
    /// The disk is about to be full: free bytes.
    DiskFull(u64),
    /// The recording is as large as it may be: its bytes.
    TooLarge(u64),
    /// Nothing could be read of what is recorded any more, for this reason.
    CannotRead(String),
    /// It could not be written any more, for this reason.
    CannotWrite(String),
    /// Whoever it is written to asked for it.
    Asked,
}

/// Waits for the ends that have nothing to do with what is written.
pub(super) struct Watch {
    deadline: Option<Instant>,
    /// When a command was asked to end, and how the recording ended by that.
    asked: Option<(Instant, Ended)>,
}

impl Watch {
    pub fn new(started: Instant, duration: Option<Duration>) -> Self {
        Self { deadline: duration.map(|duration| started + duration), asked: None }
    }

    /// How long to wait at most for the next round.
    pub fn timeout(&self, round: Duration) -> Duration {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        left.map_or(round, |left| left.min(round))
    }

    /// The end, when it is reached.
    pub fn reached(&mut self, signals: &Signals, targets: &mut Targets) -> Option<Ended> {
        if let Some(status) = targets.command().and_then(|command| command.ended()) {
            return Some(Ended::Command(status));
        }
        if let Some(signal) = signals.take() {
            let ended = if signal == Signal::INT { Ended::Interrupted } else { Ended::Terminated };
            // A second signal, or no command to wait for: at once.
            if self.asked.is_some() || !ask_to_end(targets, signal) {
                return Some(ended);
            }
            self.asked = Some((Instant::now(), ended));
        }
        if let Some((since, ended)) = &self.asked {
            if since.elapsed() >= GRACE {
                return Some(ended.clone());
            }
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Some(Ended::Deadline);
        }
        // A command's descendants may outlive it; its own end was looked for above.
        targets.is_over().then_some(Ended::TargetsGone)
    }
}

/// Passes a signal on to the command, so that one that runs under fathom can be ended as if it did
/// not. Whether there is a command. Ctrl-C of a terminal has reached it already.
fn ask_to_end(targets: &mut Targets, signal: Signal) -> bool {
    let Some(command) = targets.command() else { return false };
    let by_terminal = signal == Signal::INT && rustix::termios::isatty(rustix::stdio::stdin());
    if !by_terminal {
        command.signal(signal);
    }
    true
}
