//! `fathom chain`: what threads waited for, link by link, and what stops of a JVM were made of.

use anyhow::Context;
use fathom_diagnose::chain::{Chain, Chains, SCHEMA, Stop};
use fathom_diagnose::{Window, WindowSpec};
use fathom_recording::{ProcessId, RecordingPart, ThreadId};
use jiff::tz::TimeZone;
use regex_lite::RegexBuilder;
use serde::Serialize;

use crate::exit::Outcome;
use crate::inputs::{InputArgs, in_words};
use crate::output::{print, print_json};

/// Memory that a pattern may take when compiled, bytes: one that is written by hand takes
/// thousands.
const LARGEST_PATTERN: usize = 1 << 20;
/// Narrower or wider lines do not read well.
const WIDTHS: (usize, usize) = (60, 140);

/// Arguments of `fathom chain`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Show what threads waited for, link by link down to what runs or lies outside, and safepoints divided into their parts",
    long_about = "Shows what threads waited for, and what that waited for, until something runs, works or lies \
outside of the recording: a lock, its owner, the owner's write(), the disk; a stop of the JVM, the last thread to \
reach the safepoint, its page fault.

Each link stands for part of the time of the thread at the top; the links below it divide that part without \
overlap and without a remainder, and time that is not explained is shown as such. Without --thread, the threads \
come first that were held up most beyond what is usual for them (in the rest of the recording, or in most of the \
window); time in which they ran, slept or had no work does not count. Stops are divided into their parts: time to \
safepoint and the last thread, the operation, writing the JVM's log, and resuming the threads.

More than the first link needs a live recording (fathom record as root); a JFR file or a GC log only has locks and \
stops.",
    after_long_help = "Examples:
  fathom chain slow.fathom                                 the threads held up most, the longest stops
  fathom chain slow.fathom --thread 'http-nio' --window 115s..125s
  fathom chain slow.fathom --stops 10 --threads 0          stops alone
  fathom chain slow.fathom --json | jq '.chains[0].links[0].next'"
)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,
    /// Only threads whose name matches a regular expression
    #[arg(long, value_name = "RE")]
    thread: Option<String>,
    /// Only an interval of time: FROM..TO in seconds, 115s..125s, or clock times,
    /// 22:00:23..22:00:45
    #[arg(long, value_name = "WINDOW", allow_hyphen_values = true)]
    window: Option<WindowSpec>,
    /// How many threads to show: those held up most beyond what is usual
    #[arg(long, value_name = "N", default_value_t = 3)]
    threads: usize,
    /// How many stops of each JVM to show: the longest
    #[arg(long, value_name = "N", default_value_t = 3)]
    stops: usize,
    /// All of the threads' time, including running, asleep and idle
    #[arg(long)]
    all_time: bool,
    /// As JSON (schema fathom.chain/3)
    #[arg(long)]
    json: bool,
}

/// What is printed with `--json`.
#[derive(Serialize)]
struct Shown {
    schema: &'static str,
    recording: Option<String>,
    recordings: Vec<RecordingPart>,
    window: Window,
    /// Threads that were held up at all, of those asked for.
    held_up: usize,
    chains: Vec<Chain>,
    stops: Vec<Stop>,
}

impl Args {
    /// Prints chains and stops.
    pub fn run(self) -> anyhow::Result<Outcome> {
        anyhow::ensure!(
            self.threads > 0 || !(self.all_time || self.thread.is_some()),
            "--thread and --all-time are about threads, and --threads 0 shows none"
        );
        anyhow::ensure!(self.threads + self.stops > 0, "--threads 0 --stops 0 leaves nothing to be shown");
        let recording = self.inputs.load()?.recording;
        let resolve = |spec: WindowSpec| fathom_diagnose::resolve(&recording, &spec, TimeZone::system());
        anyhow::ensure!(recording.covers_ns().is_some(), "nothing in {}", in_words(&recording));
        let whole = fathom_diagnose::whole(&recording);
        let asked = self.window.map(resolve).transpose()?;
        // What a thread does in the rest of the recording is what is usual for it.
        let base: Vec<Window> = asked.map_or_else(Vec::new, |window| {
            let (before, after) = ((whole.from_ns, window.from_ns), (window.to_ns, whole.to_ns));
            let rest = [before, after].into_iter().filter(|(from, to)| from < to);
            rest.map(|(from_ns, to_ns)| Window { from_ns, to_ns }).collect()
        });
        let window = asked.unwrap_or(whole);
        let pattern = self.thread.as_ref().map(|pattern| {
            let built = RegexBuilder::new(pattern).size_limit(LARGEST_PATTERN).build();
            built.with_context(|| format!("--thread {pattern}: not a regular expression"))
        });
        let pattern = pattern.transpose()?;
        let chains = Chains::with_lock_holders(&recording);
        let name = |id: ThreadId| recording.strings.get(recording.threads[id.index()].name);
        let mut victims = chains.victims(window, &base);
        let any = !victims.is_empty();
        victims.retain(|(id, _)| pattern.as_ref().is_none_or(|pattern| pattern.is_match(name(*id))));
        let held_up = victims.len();
        let chain = |(id, _): &(ThreadId, f64)| match self.all_time {
            true => chains.of_thread(*id, window),
            false => chains.of_victim(*id, window),
        };
        let jvms = (0..recording.processes.len()).map(|i| ProcessId(i as u32));
        let mut stops: Vec<Stop> = if self.stops == 0 {
            Vec::new()
        } else {
            jvms.flat_map(|jvm| chains.stops(jvm, window, self.stops)).collect()
        };
        stops.sort_by(|a, b| b.ms.total_cmp(&a.ms));
        stops.truncate(self.stops);
        let shown = Shown {
            schema: SCHEMA,
            recording: recording.identity.recording.clone(),
            recordings: recording.parts(),
            window,
            held_up,
            chains: victims.iter().take(self.threads).map(chain).collect(),
            stops,
        };
        if self.json {
            print_json(&shown)?;
            return Ok(Outcome::Done);
        }
        if let Some(none) = crate::watched::none(&recording, window) {
            print(&format!("{none}\n"))?;
        } else if shown.chains.is_empty() && shown.stops.is_empty() {
            let threads = match (self.threads, any) {
                (0, _) => "",
                (_, false) => "no thread was held up, ",
                (_, true) => "no thread that was held up has a name that fits --thread, ",
            };
            let stops =
                if self.stops == 0 { "stops of JVMs were not requested" } else { "no JVM was stopped" };
            print(&format!("{threads}{stops} in the window, as far as was recorded\n"))?;
        }
        if shown.chains.is_empty() && shown.stops.is_empty() {
            return Ok(Outcome::Done);
        }
        let width = terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0));
        let zero = fathom_diagnose::zero(&recording);
        let mut text = fathom_render::chain::text(
            &shown.chains,
            &shown.stops,
            zero.at_ns,
            width.clamp(WIDTHS.0, WIDTHS.1),
        );
        if let Some(pattern) = self.thread.as_ref().filter(|_| shown.chains.is_empty()) {
            text += &format!("no thread that was held up has a name that fits --thread {pattern}\n");
        }
        if held_up > shown.chains.len() && self.threads > 0 {
            text += &format!("{held_up} threads were held up; --threads {held_up} shows all\n");
        }
        text += &format!("{}\n", fathom_render::counted_from(&zero));
        let text = fathom_render::fit(&text, width);
        print(&text)?;
        Ok(Outcome::Done)
    }
}
