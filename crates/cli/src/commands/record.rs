//! `fathom record`: a running JVM, a set of processes, the host, or a command, recorded live.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fathom_capture::slow::limit::bytes;
pub(super) use fathom_capture::slow::limit::duration;
use fathom_capture::{
    CaptureEngine, CaptureError, CpuEvent, Ended, Limits, Output, Progress, Selection, Session, Settings,
    Signals, Summary, Targets, target,
};
use fathom_diagnose::Clock;
use fathom_recording::Writer;
use fathom_recording::disk::is_recording;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

use super::import::overwrite;
use crate::exit::{Environment, Outcome};
use crate::identity::IdentityArgs;
use crate::marks::MarkArgs;
use crate::{stderr, written_logs};

mod on_slow;

pub(super) use on_slow::adjust;

/// Without a terminal, progress is printed so often.
const PRINT_EVERY_S: u64 = 10;

/// Arguments of `fathom record`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Record a running JVM, a set of processes, the whole host, or a command",
    long_about = "Records what a JVM and its machine do, from outside: no flag on the JVM, no agent inside.

Runs until -d is over, Ctrl-C, or the end of what is recorded. Descendants of the recorded processes are recorded \
too, and so is every process that later matches --name, --cgroup or -a. What cannot be seen on this machine or by \
this user is reported and kept in the recording; a recording of nothing is refused (exit status 3).",
    after_long_help = collectors_help()
)]
#[command(group(clap::ArgGroup::new("targets").required(true).args(["pid", "name", "cgroup", "all", "command"])))]
pub struct Args {
    /// A process to record, with its descendants; may be given several times
    #[arg(short, long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pid: Vec<i32>,
    /// Record processes whose main class, jar or command matches a regular expression, now or later
    #[arg(long, value_name = "RE")]
    name: Option<String>,
    /// Record the processes of a control group and of those below it; a directory, or a path below
    /// /sys/fs/cgroup
    #[arg(long, value_name = "PATH")]
    cgroup: Option<PathBuf>,
    /// Record the whole host
    #[arg(short, long)]
    all: bool,
    /// A command to start and record from its first instruction
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// How long: 60s, 5m, 1h, 500ms [default: until Ctrl-C or the end of the target]
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    duration: Option<Duration>,
    /// CPU samples per second per CPU [default: 99]
    #[arg(short = 'F', long, value_name = "HZ", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    frequency: Option<u32>,
    /// The event that triggers a CPU sample: cpu-clock (time; works everywhere), or the
    /// CPU's cycle counter (weights are cycles; refused with exit status 3 where there is no such
    /// counter)
    #[arg(long, value_enum, default_value_t = EventName::CpuClock)]
    event: EventName,
    /// The recording to write [default: NAME-DATE-TIME.fathom]
    #[arg(short, long, value_name = "NAME.fathom")]
    output: Option<PathBuf>,
    /// Replace an existing recording
    #[arg(long, conflicts_with = "on_slow")]
    force: bool,
    /// Turn on a collector that is off by default (see the list below); may be given several
    /// times
    #[arg(long, value_name = "COLLECTOR", value_parser = collector)]
    with: Vec<String>,
    /// Turn off a collector; may be given several times
    #[arg(long, value_name = "COLLECTOR", value_parser = collector)]
    without: Vec<String>,
    /// Record individually the waits and system calls of at least this length: 10ms, 500us
    /// [default: 1ms]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    min: Option<Duration>,
    /// How to observe the JVM: ebpf (root, or CAP_BPF and CAP_PERFMON), jfr (the JVM's own
    /// user), auto: the best that works
    #[arg(long, value_enum, default_value_t = EngineName::Auto)]
    engine: EngineName,
    /// End the recording when it has grown to this size: 4GB, 512MB, a number alone is of MB
    /// [default: 4GB]. With
    /// --on-slow: what all incidents may take together, then the oldest are dropped [default: 1GB]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    max_size: Option<u64>,
    #[command(flatten)]
    slow: on_slow::SlowArgs,
    #[command(flatten)]
    marks: MarkArgs,
    #[command(flatten)]
    identity: IdentityArgs,
}

/// Size of a recording that ends it, bytes.
const MAX_SIZE: u64 = 4 << 30;

const EXAMPLES: &str = "\
Examples:
  fathom record -p 4711 -d 60s                  one JVM for a minute
  fathom record --name OrderService             every JVM of that main class, until Ctrl-C
  fathom record -a -d 5m -o host.fathom         the whole host
  fathom record --cgroup /system.slice/app.service
  fathom record -- java -jar app.jar            a command, from its first instruction to its end
  fathom record -p 4711 -d 30s --event cycles    CPU samples by the CPU's cycles, where it counts them
  fathom record -p 4711 -d 60s -o slow.fathom && fathom diagnose slow.fathom client.csv
  fathom record -p 4711 --on-slow 'stop>200ms' --on-slow 'lock>50ms' -o incidents
                                                for days: a recording of each stop and lock wait that was long

Then: fathom diagnose, report, flame, info NAME.fathom. Files of a recording can be read by their owner only.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum EngineName {
    Auto,
    Ebpf,
    Jfr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum EventName {
    CpuClock,
    Cycles,
}

/// Examples and the list of collectors, made from the list itself.
fn collectors_help() -> String {
    let lines = fathom_capture::COLLECTORS.iter().map(|entry| {
        let off = if entry.default { "" } else { " (off by default)" };
        format!("  {:<12} {}{off}", entry.id, entry.about)
    });
    let lines = lines.collect::<Vec<_>>().join("\n");
    format!("{EXAMPLES}\n\n{}\n\nCollectors:\n{lines}", on_slow::help())
}

impl Args {
    /// Records, says what was recorded and what to do with it.
    pub fn run(self) -> Result<Outcome> {
        self.check()?;
        self.slow.check(&self.without, self.engine == EngineName::Jfr)?;
        if self.slow.is_given() && self.marks.is_given() {
            bail!(
                "--mark and --marks are for one recording; give them to fathom diagnose for those of --on-slow"
            );
        }
        let selection = self.selection()?;
        // From here on Ctrl-C ends the recording and not the program.
        let signals = Signals::take_over().map_err(user_error)?;
        let targets = Targets::find(selection).map_err(user_error)?;
        let place = match &self.output {
            Some(path) => path.clone(),
            None if self.slow.is_given() => default_name(&targets, "slow"),
            None => default_name(&targets, "fathom"),
        };
        let mut settings = Settings {
            frequency_hz: self.frequency.unwrap_or(Settings::default().frequency_hz),
            cpu_event: match self.event {
                EventName::CpuClock => CpuEvent::CpuClock,
                EventName::Cycles => CpuEvent::Cycles,
            },
            engine: match self.engine {
                EngineName::Auto => None,
                EngineName::Ebpf => Some(CaptureEngine::Ebpf),
                EngineName::Jfr => Some(CaptureEngine::Jfr),
            },
            with: self.with.clone(),
            without: self.without.clone(),
            min_ns: self.min.map(|min| u64::try_from(min.as_nanos()).unwrap_or(u64::MAX)),
            ..Settings::default()
        };
        if self.slow.is_given() {
            self.slow.adjust(&mut settings);
            let size = self.max_size.unwrap_or(on_slow::MAX_SIZE);
            let identity = self.identity.live(&targets);
            return self.slow.run(targets, settings, self.duration, (place, size, identity), &signals);
        }
        let max_bytes = self.max_size.unwrap_or(MAX_SIZE);
        let limits = Limits { duration: self.duration, max_bytes, place: place.clone() };
        let mut writer = Writer::create(&place, overwrite(self.force))?;
        let recorded = record(targets, settings, limits, (&mut writer, &self.identity), &signals);
        let mut summary = match recorded {
            Ok(summary) => summary,
            Err(error) => {
                // Nothing was recorded: an empty recording would only look like one.
                writer.discard().with_context(|| format!("{}", place.display()))?;
                return Err(user_error(error));
            }
        };
        let logs = written_logs::take(std::mem::take(&mut summary.written), summary.covers_ns, &mut writer);
        let marks = self.mark(summary.covers_ns, &mut writer);
        let finished = writer.finish();
        logs.iter().chain(&marks).for_each(|text| say(text));
        say_ended(&summary);
        finished.with_context(|| not_completed(&place))?;
        let place = place.display();
        match summary.ended {
            Ended::CannotWrite(why) => {
                bail!("{why}; what was saved until then can be opened as a truncated recording: {place}")
            }
            Ended::CannotRead(why) => {
                Err(Environment(format!("{why}; {place} has what was seen until then")).into())
            }
            _ => {
                say(&format!("{place} is written; next: fathom diagnose {place}; fathom info {place}"));
                Ok(Outcome::Done)
            }
        }
    }

    /// Refuses options that would say nothing to each other.
    fn check(&self) -> Result<()> {
        let is_without = |id: &str| self.without.iter().any(|without| without == id);
        if let Some(both) = self.with.iter().find(|id| is_without(id)) {
            bail!("--with {both} and --without {both} contradict each other");
        }
        let entries = || fathom_capture::COLLECTORS.iter();
        if let Some(on) = entries().find(|entry| entry.default && self.with.iter().any(|id| id == entry.id)) {
            bail!("--with {}: it is on by default", on.id);
        }
        let (engine, name) = match self.engine {
            EngineName::Auto => (None, "auto"),
            EngineName::Ebpf => (Some(CaptureEngine::Ebpf), "ebpf"),
            EngineName::Jfr => (Some(CaptureEngine::Jfr), "jfr"),
        };
        let is_of = |of: CaptureEngine| of == CaptureEngine::Any || engine.is_none_or(|engine| engine == of);
        let named = |id: &str| is_without(id) || self.with.iter().any(|with| with == id);
        if let Some(other) = entries().find(|entry| named(entry.id) && !is_of(entry.engine)) {
            bail!("{} is not a collector of --engine {name}: it would not run anyway", other.id);
        }
        if engine == Some(CaptureEngine::Jfr) && is_without("jfr") {
            bail!("--engine jfr --without jfr leaves out everything that this engine records");
        }
        if engine == Some(CaptureEngine::Jfr) && self.min.is_some() {
            bail!(
                "--min says what collectors of eBPF record one by one: the flight recorder has limits of its own"
            );
        }
        let sampled = self.frequency.is_some() || self.event != EventName::CpuClock;
        if is_without("cpu") && sampled && engine != Some(CaptureEngine::Jfr) {
            bail!("-F and --event say how CPU samples are taken, and --without cpu takes none");
        }
        Ok(())
    }

    /// Writes the marks, once it is known what was recorded: a file of them may have grown
    /// meanwhile. What is wrong with them does not cost the recording; it is reported.
    fn mark(&self, covers_ns: (i64, i64), writer: &mut Writer) -> Vec<String> {
        if !self.marks.is_given() {
            return Vec::new();
        }
        let clock = Clock { zero_ns: covers_ns.0, covers_ns, wall: true, zone: jiff::tz::TimeZone::system() };
        self.marks
            .write(writer, &clock, true, None)
            .unwrap_or_else(|error| vec![format!("no marks: {error:#}")])
    }

    fn selection(&self) -> Result<Selection> {
        if let Some((program, arguments)) = self.command.split_first() {
            return target::Command::hold(program, arguments).map(Selection::Command).map_err(user_error);
        }
        if let Some(pattern) = &self.name {
            let pattern =
                target::NamePattern::new(pattern).map_err(|e| anyhow::anyhow!("--name {pattern}: {e}"))?;
            return Ok(Selection::Name(pattern));
        }
        if let Some(path) = &self.cgroup {
            return Selection::cgroup(path).map_err(user_error);
        }
        Ok(if self.all { Selection::All } else { Selection::Pids(self.pid.clone()) })
    }
}

fn record(
    targets: Targets,
    settings: Settings,
    limits: Limits,
    (writer, identity): (&mut Writer, &IdentityArgs),
    signals: &Signals,
) -> Result<Summary, CaptureError> {
    let until = match limits.duration {
        Some(duration) => format!("for {}", seconds(duration)),
        None => "until Ctrl-C or until it ends".to_owned(),
    };
    let mut session = Session::start(targets, settings, limits, writer)?;
    if let Err(error) = writer.identify(identity.live(session.targets())) {
        say(&format!("host and service are not in the recording: {error}"));
    }
    say_start(&mut session, writer, &until);
    let mut line = ProgressLine::new(PRINT_EVERY_S);
    let ended = session.run(writer, signals, &mut |progress| line.print(progress));
    line.clear();
    session.stop(ended, writer)
}

/// What is said of a recording that could not be completed, by what is left of it.
pub(super) fn not_completed(place: &Path) -> String {
    let left = match is_recording(place) {
        true => "it can be opened and is marked truncated",
        false => "nothing of it is left",
    };
    format!("{} could not be completed; {left}", place.display())
}

/// An error with the exit status that belongs to it.
pub(super) fn user_error(error: CaptureError) -> anyhow::Error {
    if error.is_environment() { Environment(error.to_string()).into() } else { error.into() }
}

fn say_start(session: &mut Session, writer: &mut dyn Output, until: &str) {
    let targets = session.targets();
    let (jvms, all) = (targets.iter().filter(|target| target.jvm).count(), targets.len());
    let what = targets.selection().description();
    let command = matches!(targets.selection(), Selection::Command(_));
    let found = match (jvms, all) {
        _ if command => "from its first instruction".to_owned(),
        (_, 0) if targets.foreign() > 0 => {
            format!("{} match, but this user may not observe them; waiting for others", targets.foreign())
        }
        (_, 0) => "nothing matches yet, waiting".to_owned(),
        (0, 1) => "no JVM: only native code and counters".to_owned(),
        (0, all) => format!("{all} processes, no JVM among them yet"),
        (1, 1) => "a JVM".to_owned(),
        (jvms, all) => format!("{jvms} JVMs among {all} processes"),
    };
    let attached = seconds(session.attaching());
    let fallback = session.fallback().map_or_else(String::new, |why| {
        format!(
            "; ONLY by the JVM's flight recorder, as eBPF cannot be used: {}{}",
            why.why,
            remedy(&why.remedy)
        )
    });
    say(&format!("recording {what} ({found}) {until}, attached in {attached}{fallback}"));
    for unseen in session.unseen(writer) {
        say(&format!("not seen: {}: {}{}", unseen.what, unseen.why, remedy(&unseen.remedy)));
    }
}

fn remedy(remedy: &str) -> String {
    if remedy.is_empty() { String::new() } else { format!("; {remedy}") }
}

/// How long it was, why it ended, and what collectors took in.
fn say_ended(summary: &Summary) {
    let why = match &summary.ended {
        Ended::Deadline => "the time is over".to_owned(),
        Ended::Interrupted => "interrupted".to_owned(),
        Ended::Terminated => "terminated".to_owned(),
        Ended::TargetsGone => "what was recorded has ended".to_owned(),
        Ended::Command(status) => format!("the command has ended: {status}"),
        Ended::DiskFull(free) => format!("the disk is nearly full: {} are free", HumanBytes(*free)),
        Ended::TooLarge(bytes) => format!("it has grown to {} (--max-size)", HumanBytes(*bytes)),
        Ended::CannotRead(cause) => format!("nothing more can be read: {cause}"),
        Ended::CannotWrite(cause) => format!("it cannot be written any more: {cause}"),
        Ended::Asked => "it was asked to stop".to_owned(),
    };
    let (from, to) = summary.covers_ns;
    let lasted = seconds(Duration::from_nanos((to - from).max(0) as u64));
    say(&format!("{lasted} recorded; {why}"));
    for (id, records, lost) in &summary.collectors {
        let lost = if *lost > 0 { format!(", {lost} LOST") } else { String::new() };
        say(&format!("  {id}: {records} records{lost}"));
    }
}

/// Says a line. A terminal that went away must not end a recording, nor one that is not read hold
/// it up.
pub(super) fn say(text: &str) {
    stderr::write(&format!("fathom: {}\n", fathom_render::printable(text)));
}

/// One line that is kept up to date on a terminal, or a line now and then.
struct ProgressLine {
    bar: Option<ProgressBar>,
    last: Vec<(&'static str, u64, u64)>,
    last_s: u64,
    printed_s: u64,
    /// Without a terminal: how often.
    every_s: u64,
}

impl ProgressLine {
    fn new(every_s: u64) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let style = ProgressStyle::with_template("{wide_msg}").ok().filter(|_| terminal);
        let bar = style.map(|style| ProgressBar::new_spinner().with_style(style));
        Self { bar, last: Vec::new(), last_s: 0, printed_s: 0, every_s }
    }

    fn print(&mut self, progress: &Progress) {
        let now_s = progress.elapsed.as_secs();
        let text = self.text(progress);
        self.show(now_s, &text);
    }

    /// Puts a line above the one that is kept up to date.
    fn above(&self, text: &str) {
        match &self.bar {
            Some(bar) if stderr::is_read() => bar.suspend(|| say(text)),
            _ => say(text),
        }
    }

    fn show(&mut self, now_s: u64, text: &str) {
        match &self.bar {
            Some(bar) if stderr::is_read() => bar.set_message(text.to_owned()),
            None if now_s >= self.printed_s + self.every_s => {
                self.printed_s = now_s;
                say(text);
            }
            _ => {}
        }
    }

    /// "0:12 · 3 processes · host 41/s · cpu 97/s, 3 lost · 1.2 MiB".
    fn text(&mut self, progress: &Progress) -> String {
        let now_s = progress.elapsed.as_secs();
        let over = now_s.saturating_sub(self.last_s).max(1);
        let before = |id: &str| self.last.iter().find(|(i, _, _)| *i == id).map_or(0, |(_, n, _)| *n);
        let rates = progress.collectors.iter().map(|(id, records, lost)| {
            let rate = records.saturating_sub(before(id)) / over;
            let lost = if *lost > 0 { format!(", {lost} lost") } else { String::new() };
            format!("{id} {rate}/s{lost}")
        });
        let processes = if progress.targets == 1 { "process" } else { "processes" };
        let text = format!(
            "{}:{:02} · {} {processes} · {} · {}",
            now_s / 60,
            now_s % 60,
            progress.targets,
            rates.collect::<Vec<_>>().join(" · "),
            HumanBytes(progress.bytes),
        );
        (self.last, self.last_s) = (progress.collectors.clone(), now_s);
        text
    }

    fn clear(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }
}

/// "Main-20261121-135412.fathom".
fn default_name(targets: &Targets, extension: &str) -> PathBuf {
    let name = match targets.selection() {
        Selection::Pids(pids) => pids.first().and_then(|pid| target::Identity::of(*pid)).map(|i| i.name),
        Selection::Command(command) => Some(command.program().to_owned()),
        Selection::Cgroup(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
        Selection::Name(_) | Selection::Jvms(_) => None,
        Selection::All => Some("host".into()),
    };
    let name = name.unwrap_or_else(|| "recording".into());
    let last = name.rsplit(['/', '.']).find(|part| !part.is_empty() && *part != "jar").unwrap_or("recording");
    let plain: String =
        last.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).take(40).collect();
    let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    PathBuf::from(format!("{}-{now}.{extension}", if plain.is_empty() { "recording" } else { &plain }))
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

pub(super) fn collector(id: &str) -> Result<String, String> {
    let known: Vec<&str> = fathom_capture::COLLECTORS.iter().map(|entry| entry.id).collect();
    let is_known = known.contains(&id);
    is_known.then(|| id.to_owned()).ok_or_else(|| format!("write one of: {}", known.join(", ")))
}
