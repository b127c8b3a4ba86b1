//! The windows that a command compares, as the user gives them.

use fathom_diagnose::{Options, WindowError, WindowSpec};

/// Arguments of every command that diagnoses.
#[derive(clap::Args, Clone, Debug)]
pub struct WindowArgs {
    /// A slow window, FROM..TO: seconds from the start of the series (else of the JVM), clock
    /// times, or full stamps; may be given several times [default: found on the series, or on long
    /// stops]
    #[arg(long, value_name = "WINDOW", value_parser = window)]
    pub slow: Vec<WindowSpec>,
    /// A window of normal work to hold the slow ones against; may be given several times [default:
    /// found]
    #[arg(long, value_name = "WINDOW", value_parser = window)]
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
