//! `fathom jit`: the metrics of the JIT compilers.

use fathom_diagnose::WindowSpec;
use jiff::tz::TimeZone;

use crate::exit::Outcome;
use crate::inputs::{InputArgs, in_words};
use crate::output::{columns, print, print_json};

/// Arguments of `fathom jit`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Show metrics of the JIT compilers, with what each means and whether it is fine",
    long_about = "Shows metrics of the JIT compilers, with what each means and whether it is fine here.

A LogCompilation file has most: waits in the queue, durations, reasons. PrintCompilation and \
-Xlog:jit+compilation=debug have what was compiled when and at which tier. What a log does not have is shown as – \
and never as zero.",
    after_long_help = "Examples:
  fathom jit hotspot_pid4711.log        -XX:+UnlockDiagnosticVMOptions -XX:+LogCompilation
  fathom jit hotspot.log /tmp/hs_c*.log after kill -9: the main file and the compiler threads' own files
  fathom jit jit.log --json             the machine's form (schema fathom.jit/3)"
)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,
    /// Only an interval of time: FROM..TO in seconds, 115s..125s, or clock times,
    /// 22:00:23..22:00:45
    #[arg(long, value_name = "WINDOW", allow_hyphen_values = true)]
    window: Option<WindowSpec>,
    /// As JSON (schema fathom.jit/3)
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the metrics.
    pub fn run(self) -> anyhow::Result<Outcome> {
        let recording = self.inputs.load()?.recording;
        let window =
            self.window.map(|w| fathom_diagnose::resolve(&recording, &w, TimeZone::system())).transpose()?;
        let report = fathom_diagnose::metrics::jit::report(&recording, window);
        anyhow::ensure!(
            !report.jvms.is_empty(),
            "no compilation in {}; a JIT log is written with -XX:+UnlockDiagnosticVMOptions -XX:+LogCompilation \
             -XX:LogFile=jit.xml",
            in_words(&recording)
        );
        if self.json {
            print_json(&report)?;
        } else {
            print(&fathom_render::jit::text(&report, columns()))?;
        }
        Ok(Outcome::Done)
    }
}
