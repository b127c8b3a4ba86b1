//! The windows that a command compares, as the user gives them.

use fathom_diagnose::{Options, WindowError, WindowSpec};

/// Arguments of every command that diagnoses.
#[derive(clap::Args, Clone, Debug)]
pub struct WindowArgs {
    /// A slow window, FROM..TO: seconds from the start of the series (else of the JVM), clock
    /// times, or full timestamps; may be given several times [default: found on the series, or on
    /// long stops]
    #[arg(long, value_name = "WINDOW", value_parser = window, allow_hyphen_values = true)]
    pub slow: Vec<WindowSpec>,
    /// A window of normal work, the baseline of the slow ones; may be given several times [default:
    /// found]
    #[arg(long, value_name = "WINDOW", value_parser = window, allow_hyphen_values = true)]
    pub base: Vec<WindowSpec>,
}

impl WindowArgs {
    /// As the diagnosis takes them; clock times without a zone are in that of this machine.
    pub fn options(self) -> Options {
        Options { slow: self.slow, base: self.base, zone: jiff::tz::TimeZone::system() }
    }
}

fn window(text: &str) -> Result<WindowSpec, WindowError> {
    text.parse()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        windows: WindowArgs,
    }

    #[test]
    fn a_window_from_before_the_zero_is_taken_as_it_is_printed() {
        let args = ["fathom", "--slow", "-3.3s..8.7s", "--base=-5s..-3.3s", "--base", "9s..20s"];
        let windows = Command::try_parse_from(args).unwrap().windows;
        assert_eq!((windows.slow.len(), windows.base.len()), (1, 2));
        assert!(Command::try_parse_from(["fathom", "--slow", "--base"]).is_err());
    }
}
