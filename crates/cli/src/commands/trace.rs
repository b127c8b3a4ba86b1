//! `fathom trace`: one kind of event of a process, live: shown as it comes, summed up at the end.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use fathom_capture::probes::{self, Spec};
use fathom_capture::syscalls::check_name;
use fathom_capture::{
    COLLECTORS, CaptureEngine, Ended, Limits, Selection, Session, Settings, Signals, Targets, Unavailable,
    procfs,
};
use fathom_recording::Writer;

use super::import::overwrite;
use super::record::{duration, not_completed, say, user_error};
use crate::exit::{Environment, Outcome};
use condition::Condition;
use probe::{NAMED, PROBES, Probe};
use show::{Show, Wanted};
use sink::TraceSink;

mod condition;
mod probe;
mod show;
mod sink;
mod stacks;
mod stops;
mod summary;

/// How probes on functions of the kernel begin with others: bpftrace, perf, bcc.
const OF_THE_KERNEL: [&str; 7] = ["kprobe:", "kretprobe:", "kfunc:", "kretfunc:", "fentry:", "fexit:", "k:"];

/// What collectors record one by one by themselves, or a little less. Shorter ones are recorded
/// where
/// --min asks for them.
const ONE_BY_ONE_NS: u128 = 1_000_000;

/// Arguments of `fathom trace`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Print one kind of event of a process live: waits, stops, collections, compilations, with stacks and a summary",
    long_about = "Shows one kind of event of a running process as it happens, with thread, duration, details and \
the whole stack through Java, the JVM, native code and the kernel; at the end a summary with histograms. No flag \
on the JVM, no agent inside; it needs eBPF (root, or CAP_BPF and CAP_PERFMON).

Runs until -d is over, Ctrl-C or the end of the process. Events go to standard output, everything else to standard \
error.",
    after_long_help = probes_help()
)]
pub struct Args {
    /// What to trace: see the list below
    #[arg(value_name = "PROBE")]
    probe: String,
    /// The probe's argument: a system call's name
    #[arg(value_name = "ARGUMENT")]
    argument: Option<String>,
    /// The process
    #[arg(short, long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pid: Option<i32>,
    /// How long: 10s, 5m, 500ms [default: until Ctrl-C or the end of the process]
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    duration: Option<Duration>,
    /// Show only what took at least this long: 10ms, 500us, 0s [default: see the list below]
    #[arg(long, value_name = "TIME", value_parser = span)]
    min: Option<Duration>,
    /// Show only what matches a condition: dur > 10ms && thread ~ "worker" || name == futex
    #[arg(long, value_name = "CONDITION", value_parser = Condition::parse)]
    r#where: Option<Condition>,
    /// Frames of a stack to print; 0: none
    #[arg(long, value_name = "FRAMES", default_value_t = 24)]
    depth: usize,
    /// Limit of events printed per second; all are counted; 0: only the summary [default: 20; with
    /// --json all]
    #[arg(long, value_name = "N")]
    rate: Option<u64>,
    /// Also write a recording, for fathom diagnose, report, flame
    #[arg(short, long, value_name = "NAME.fathom")]
    output: Option<PathBuf>,
    /// Replace an existing recording
    #[arg(long, requires = "output")]
    force: bool,
    /// As JSON, one line an event, the summary last (schema fathom.trace/1)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fathom trace offcpu -p 4711 --min 50ms           what threads waited for, 50 ms or longer
  fathom trace runq -p 4711 -d 10s                 who waits for a CPU
  fathom trace safepoint -p 4711 --where 'reach_ns > 5ms'
  fathom trace offcpu -p 4711 --where 'stack ~ \"HikariPool\" && dur > 100ms'
  fathom trace lock -p 4711 -d 10s --rate 0        every contended lock: owners, histogram, stacks
  fathom trace syscall fsync -p 4711               each fsync with its file and Java stack
  fathom trace uprobe:libc.so.6:open64 -p 4711 --where 'str0 ~ /tmp/ || ret < 0'
  fathom trace usdt:libjvm.so:hotspot:gc__begin -p 4711
  fathom trace tracepoint:sched:sched_migrate_task -p 4711
  fathom trace gc -p 4711 --json | jq -c .event
  fathom trace offcpu -p 4711 -d 30s --rate 0 -o waits.fathom

Conditions (--where): FIELD == != < <= > >= VALUE, FIELD ~ !~ REGEX, combined with && || ! ( ). Fields of every event: \
dur, name, thread, tid, method (innermost Java method), stack (any frame); and the event's own, as they are printed \
(those printed as a time or a size end in _ns and _bytes). Times take ns, us, ms, s; sizes k, M, G.";

/// Examples and the list of probes, made from the list itself.
fn probes_help() -> String {
    let lines = Probe::all().map(|probe| {
        let min = match probe.min_ns {
            0 => String::new(),
            ns => format!(" (--min {}ms)", ns / 1_000_000),
        };
        let jvm = if probe.jvm { "" } else { "; any process" };
        format!("  {:<12} {}{min}{jvm}", probe.id, probe.about)
    });
    let lines: Vec<String> = lines.collect();
    let named = "  uprobe:LIBRARY:FUNCTION       calls of a function: time, six arguments, what it returned; any process
  usdt:LIBRARY:PROVIDER:NAME     a probe that is built into a library, with its arguments; any process
  tracepoint:CATEGORY:NAME       a tracepoint of the kernel, with its fields; any process";
    format!("{EXAMPLES}\n\nTags of frames: {}.\n\nProbes:\n{}\n{named}", stacks::TAGS, lines.join("\n"))
}

impl Args {
    /// Traces, and prints the summary.
    pub fn run(self) -> Result<Outcome> {
        let probe = self.probe()?;
        let pid = self.process()?;
        let signals = Signals::take_over().map_err(user_error)?;
        let mut targets = Targets::find(Selection::Pids(vec![pid])).map_err(user_error)?;
        check_kind(pid, probe)?;
        let min_ns = self.min.map_or(probe.min_ns, |min| i64::try_from(min.as_nanos()).unwrap_or(i64::MAX));
        let wanted = Wanted {
            probe,
            title: [Some(&self.probe), self.argument.as_ref()]
                .into_iter()
                .flatten()
                .cloned()
                .collect::<Vec<_>>()
                .join(" "),
            argument: self.argument.clone(),
            min_ns,
            condition: self.r#where.clone(),
            depth: self.depth,
            rate: self.rate.or((!self.json).then_some(20)),
            json: self.json,
        };
        let writer =
            self.output.as_ref().map(|place| Writer::create(place, overwrite(self.force))).transpose()?;
        let mut sink = TraceSink::new(Show::new(wanted), writer);
        sink.show.head(pid);
        let traced = self.trace((pid, probe), &mut targets, &mut sink, &signals);
        let closed = sink.closed;
        let (names, stops, writer, mut show, mut unread) = sink.end();
        let (seconds, lost, ended) = match traced {
            Ok(traced) => traced,
            Err(error) => {
                // Nothing was seen: an empty recording would only look like one.
                writer.map_or(Ok(()), Writer::discard)?;
                return Err(error);
            }
        };
        if let (Some(writer), Some(place)) = (writer, &self.output) {
            writer.finish().with_context(|| not_completed(place))?;
            let place = place.display();
            match ended {
                Ended::CannotWrite(_) => say(&format!("{place} has what was saved until then")),
                _ => say(&format!("{place} is written; next: fathom diagnose {place}; fathom info {place}")),
            }
        }
        if closed {
            return Ok(Outcome::Done);
        }
        if let Ended::CannotWrite(why) | Ended::CannotRead(why) = ended {
            bail!(why);
        }
        show.end(&names, &stops, seconds, lost);
        unread.add_last(&show.take_text());
        // Nothing is traced any more; who does not read can still be left by another Ctrl-C.
        unread.finish(|| signals.take().is_some()).context("standard output")?;
        if unread.left_out() > 0 {
            say(&format!("{} lines were left out: standard output was not read in time", unread.left_out()));
        }
        if show.left_out > 0 && show.summary.all.count == 0 {
            for field in show.fields_not_seen() {
                say(&format!("--where: no event has {field}"));
            }
        }
        Ok(Outcome::Done)
    }

    fn probe(&self) -> Result<&'static Probe> {
        if Spec::PREFIXES.iter().any(|prefix| self.probe.starts_with(prefix)) {
            return match &self.argument {
                Some(argument) => {
                    bail!("{} takes no {argument:?}; conditions are given by --where", self.probe)
                }
                None => self.specs(&NAMED).map(|_| &NAMED),
            };
        }
        const NAMED_FORMS: &str =
            "uprobe:LIBRARY:FUNCTION, usdt:LIBRARY:PROVIDER:NAME, tracepoint:CATEGORY:NAME";
        let Some(probe) = Probe::find(&self.probe) else {
            if OF_THE_KERNEL.iter().any(|kind| self.probe.starts_with(kind)) {
                bail!(
                    "{}: fathom does not probe kernel functions; what works: {NAMED_FORMS} (those that the kernel has stand \
                     below /sys/kernel/tracing/events), and `fathom flame --top` shows how often a function of the kernel ran",
                    self.probe
                );
            }
            let known: Vec<&str> = Probe::all().map(|probe| probe.id).collect();
            bail!("there is no probe {:?}; write one of: {}, {NAMED_FORMS}", self.probe, known.join(", "));
        };
        match (&self.argument, probe.argument) {
            // A number may be the process: that is asked for next.
            (Some(argument), None) if self.pid.is_some() || argument.parse::<u32>().is_err() => {
                bail!("{} takes no {argument:?}; conditions are given by --where", probe.id)
            }
            (Some(_), None) => Ok(probe),
            (None, Some(what)) => {
                bail!("{} needs {what}: fathom trace {} NAME -p PID", probe.id, probe.id)
            }
            (Some(name), Some(_)) => {
                check_name(name).map_err(anyhow::Error::msg)?;
                Ok(probe)
            }
            (None, None) => Ok(probe),
        }
    }

    /// The process; where it is given without `-p`, how to write it.
    fn process(&self) -> Result<i32> {
        let Some(pid) = self.pid else {
            match self.argument.as_deref().filter(|argument| argument.parse::<u32>().is_ok()) {
                Some(number) => bail!("write the process behind -p: fathom trace {} -p {number}", self.probe),
                None => {
                    bail!("which process? fathom trace {} -p PID; `fathom ps` lists the JVMs", self.probe)
                }
            }
        };
        Ok(pid)
    }

    /// What the collector `probes` is asked for.
    fn specs(&self, probe: &Probe) -> Result<Vec<Spec>> {
        if !std::ptr::eq(probe, &NAMED) {
            return Ok((probe.specs)());
        }
        let spec = self.probe.parse().map_err(|how| anyhow::anyhow!("{}: {how}", self.probe))?;
        Ok(vec![spec])
    }

    /// Seconds, records lost, and why it ended.
    fn trace(
        &self,
        (pid, probe): (i32, &Probe),
        targets: &mut Targets,
        sink: &mut TraceSink,
        signals: &Signals,
    ) -> Result<(f64, u64, Ended)> {
        let targets =
            std::mem::replace(targets, Targets::find(Selection::Pids(Vec::new())).map_err(user_error)?);
        // A recording has CPU samples as well as what is traced.
        let runs = |id: &str| (id == "cpu" && self.output.is_some()) || probe.collectors.contains(&id);
        let mut settings = Settings {
            min_ns: self.min.map(|min| min.as_nanos()).filter(|ns| *ns < ONE_BY_ONE_NS).map(|ns| ns as u64),
            syscalls: self.argument.iter().cloned().collect(),
            engine: Some(CaptureEngine::Ebpf),
            with: probe.collectors.iter().map(|id| (*id).to_owned()).collect(),
            without: COLLECTORS
                .iter()
                .map(|entry| entry.id)
                .filter(|id| !runs(id))
                .map(str::to_owned)
                .collect(),
            ..Settings::default()
        };
        settings.probes = self.specs(probe)?;
        let place = self.output.clone().unwrap_or_default();
        let limits = Limits { duration: self.duration, max_bytes: 4 << 30, place };
        let mut session = Session::start(targets, settings, limits, sink).map_err(user_error)?;
        let working: Vec<&str> = session.collectors().collect();
        let missing = probe.collectors.iter().any(|id| !working.contains(id));
        let unseen = session.unseen(sink);
        // A child may lack what its parent has.
        let (probes, in_it) = (probes::WHAT, probes::in_process(pid));
        let is_attached = !unseen.iter().any(|unseen| unseen.what == probes || unseen.what == in_it);
        if missing || !is_attached {
            let why = in_words(&unseen);
            let _ = session.stop(Ended::Interrupted, sink);
            return Err(
                Environment(format!("{} cannot be traced here: {}", self.probe, why.join("; "))).into()
            );
        }
        reported(&unseen).iter().for_each(|line| say(line));
        let until = match self.duration {
            Some(duration) => format!("for {:.1} s", duration.as_secs_f64()),
            None => "until Ctrl-C or until it ends".to_owned(),
        };
        say(&format!("tracing {} of process {pid} {until}", self.probe));
        let begun = Instant::now();
        let ended = session.run(sink, signals, &mut |_| {});
        let seconds = begun.elapsed().as_secs_f64();
        let summary = session.stop(ended, sink).map_err(user_error)?;
        let lost = summary.collectors.iter().map(|(_, _, lost)| lost).sum();
        let said = reported(&unseen);
        let later = reported(&summary.unseen).into_iter().filter(|line| !said.contains(line));
        later.for_each(|line| say(&line));
        if summary.ended == Ended::TargetsGone {
            say(&format!("process {pid} has ended"));
        }
        Ok((seconds, lost, summary.ended))
    }
}

/// Refuses a probe of the JVM on what will never be one.
fn check_kind(pid: i32, probe: &Probe) -> Result<()> {
    let program = std::fs::read_link(procfs::path(pid, "exe")).unwrap_or_default();
    let launches_java = program.file_name().is_some_and(|name| name == "java");
    if !probe.jvm || launches_java || fathom_capture::target::jvm_library(pid).is_some() {
        return Ok(());
    }
    let others: Vec<&str> = PROBES.iter().filter(|probe| !probe.jvm).map(|probe| probe.id).collect();
    let text = format!(
        "process {} is not a JVM ({} maps no libjvm), and {} is reported by a JVM: `fathom ps` lists those that run; on any process \
         work {}",
        pid,
        program.display(),
        probe.id,
        others.join(", ")
    );
    Err(Environment(text).into())
}

/// Each thing that is not seen as a sentence. What is said of one process is not said again of its
/// children.
fn in_words(unseen: &[Unavailable]) -> Vec<String> {
    let mut said = BTreeSet::new();
    let anew = unseen.iter().filter(|unseen| said.insert((&unseen.why, &unseen.remedy)));
    let sentence = |unseen: &Unavailable| {
        let parts = [format!("{}: {}", unseen.what, unseen.why), unseen.remedy.clone()];
        parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("; ")
    };
    anew.map(sentence).collect()
}

/// A line for each thing that was not seen, or was not listed and is in sums all the same.
fn reported(unseen: &[Unavailable]) -> Vec<String> {
    let (summed, missing): (Vec<_>, Vec<_>) = unseen.iter().cloned().partition(fathom_diagnose::is_summed);
    let missing = in_words(&missing).into_iter().map(|words| format!("not seen: {words}"));
    let summed = summed.iter().map(|row| format!("summed, not listed: {} ({})", row.what, row.why));
    missing.chain(summed).collect()
}

/// As [`duration`], and nothing, and microseconds.
fn span(text: &str) -> Result<Duration, String> {
    if let Some(us) = text.trim().strip_suffix("us") {
        return us
            .trim()
            .parse()
            .map(Duration::from_micros)
            .map_err(|_| "write 10ms, 500us or 0s".to_owned());
    }
    match text.trim().trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim() {
        "0" => Ok(Duration::ZERO),
        _ => duration(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_sums_all_the_same_is_not_said_to_be_not_seen() {
        let row = |remedy: &str| Unavailable {
            scope: None,
            what: "waits".into(),
            why: "many".into(),
            remedy: remedy.into(),
        };
        let lines = reported(&[row("nothing to do; see the ledger"), row("run it as root")]);
        assert_eq!(lines, ["not seen: waits: many; run it as root", "summed, not listed: waits (many)"]);
    }
}
