//! `fathom gc`: the metrics of garbage collection and safepoints.

use fathom_diagnose::WindowSpec;
use jiff::tz::TimeZone;

use crate::exit::Outcome;
use crate::inputs::{InputArgs, in_words};
use crate::output::{columns, print, print_json};

/// Arguments of `fathom gc`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Show metrics of garbage collection and safepoints, with what each means and whether it is fine",
    long_about = "Shows metrics of garbage collection and safepoints, with what each means and whether it is fine \
here.

A pause is a stop-the-world collection (the outermost one only), as long as the log prints it. Percentiles are by \
nearest rank: each one is a pause that took place. What a log does not have is shown as – and never as zero. For \
why an application is slow, use `fathom diagnose`.",
    after_long_help = "Examples:
  fathom gc gc.log                      the metrics of one log (JDK 6 to 25, any collector, packed or plain)
  fathom gc logs/                       all logs of a directory; a rotated set counts as one
  fathom gc gc.log --json | jq .pauses  the machine's form (schema fathom.gc/3), sums first, then JVM by JVM
  fathom gc gc.log --window 115s..125s  only these ten seconds
  zcat gc.log.gz | fathom gc -          from standard input"
)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,
    /// Only an interval of time: FROM..TO in seconds, 115s..125s, or clock times,
    /// 22:00:23..22:00:45
    #[arg(long, value_name = "WINDOW", allow_hyphen_values = true)]
    window: Option<WindowSpec>,
    /// As JSON (schema fathom.gc/3)
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the metrics.
    pub fn run(self) -> anyhow::Result<Outcome> {
        let recording = self.inputs.load()?.recording;
        let window =
            self.window.map(|w| fathom_diagnose::resolve(&recording, &w, TimeZone::system())).transpose()?;
        let report = fathom_diagnose::metrics::gc::report(&recording, window);
        anyhow::ensure!(
            !report.jvms.is_empty(),
            "no collection and no safepoint in {}; a GC log is written with -Xlog:gc*,safepoint:file=gc.log \
             (JDK 8: -Xloggc:gc.log -XX:+PrintGCDetails)",
            in_words(&recording)
        );
        if self.json {
            print_json(&report)?;
        } else {
            let not_understood = fathom_render::info::not_understood(&recording);
            print(&(fathom_render::gc::text(&report, columns()) + &not_understood))?;
        }
        Ok(Outcome::Done)
    }
}
