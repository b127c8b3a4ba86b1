//! `fathom method`: calls of Java methods of a live JVM, counted from outside.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use fathom_capture::methods::{Asked, Count, News, Pattern, Report, Way};
use fathom_capture::{Selection, Signals, Targets};
use fathom_hotspot::find;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::record::{duration, say, user_error};
use crate::exit::{Environment, Outcome};
use crate::output::print;
use way::Asking;

mod flight;
mod show;
mod slow;
mod waits;
mod way;

/// Code is followed so often: calls between a compilation and the next look are not counted.
const POLL_EVERY: Duration = Duration::from_millis(5);

/// Arguments of `fathom method`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Count calls of Java methods live, by caller and thread, with hardware breakpoints and nothing loaded into the JVM",
    long_about = "Counts calls of Java methods of a running JVM, by caller and by thread, without loading anything \
into it or changing it: a hardware breakpoint of the CPU is set on the entry of a method's compiled code. This \
needs eBPF (root, or CAP_BPF and CAP_PERFMON).

It counts exactly the calls that reach the compiled code of the method itself. When the JVM recompiles the method, \
the breakpoint moves. What it cannot see is listed with each method: copies of the method that are inlined into \
its callers, calls while it is interpreted, loops that were already running when they were compiled. At most four \
methods at a time, as a CPU has four breakpoints.

Each call costs a trap into the kernel, some microseconds (more on a virtual machine). Above --max-rate the method \
that is called most is dropped, and that is reported. All breakpoints are gone when fathom ends, however it ends.

Runs until -d is over, Ctrl-C or the end of the process. Counts go to standard output, everything else to standard \
error. --times measures how long calls take, for calls from compiled code: another breakpoint is set on the return \
address, for one caller after the other.

Two other ways see every call, interpreted and inlined ones too, and their times, but change the methods' bytecode \
while they count: --way jfr (JDK 25 and later), the flight recorder's own method timing (JEP 520), and --way agent \
(JDK 8 and later), fathom's agent, which is used only on request. What a way changes is printed before it counts.",
    after_long_help = EXAMPLES
)]
pub struct Args {
    /// Methods: package.Class::method, * for any characters, a descriptor where it matters
    #[arg(value_name = "METHOD", required = true)]
    methods: Vec<Pattern>,
    /// The JVM
    #[arg(short, long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pid: i32,
    /// How long: 10s, 5m [default: until Ctrl-C or the end of the process]
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    duration: Option<Duration>,
    /// Print counts at this interval: 5s, 1m
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    every: Duration,
    /// Print counts after this many calls as well, of all methods together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    every_calls: Option<u64>,
    /// Callers and threads to print for a method; the last line sums up the others
    #[arg(long, value_name = "N", default_value_t = 8)]
    top: usize,
    /// How to count calls
    #[arg(long, value_enum, default_value_t, value_name = "WAY")]
    way: Asking,
    /// Calls per second, of all methods together, above which the method called most is
    /// dropped (way jfr: none is traced any more) [default: 20000; way agent: 1000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_rate: Option<u64>,
    /// Way breakpoint: measure how long calls take as well, from one caller after the other, a
    /// second each; three methods at a time then. The ways jfr and agent measure them always
    #[arg(long)]
    times: bool,
    /// Show each call that takes at least this long, with its stack: 10ms, 1s (ways jfr and agent)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    slow: Option<Duration>,
    /// With --slow: what the thread waited for in them; another fathom records the JVM meanwhile
    /// (eBPF)
    #[arg(long, requires = "slow")]
    waits: bool,
    /// As JSON, one line each time, the totals last (schema fathom.method/1)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  sudo fathom method -p 4711 'sun.security.ssl.*::produce' -d 30s    who makes full handshakes?
  sudo fathom method -p 4711 com.shop.Cart::checkout com.shop.Db::query
  sudo fathom method -p 4711 'java.util.HashMap::resize' --every 1s --every-calls 1000
  sudo fathom method -p 4711 com.shop.Db::query -d 20s --times
  fathom method -p 4711 com.shop.Db::query --way jfr --slow 100ms     JDK 25: slow calls, with their stacks
  sudo fathom method -p 4711 com.shop.Db::query --way agent --slow 50ms --waits
  fathom method -p 4711 'com.shop.Cart::*' --way agent -d 30s         every call, on JDK 8 as well
  sudo fathom method -p 4711 'java.lang.String::indexOf(Ljava/lang/String;)I' -d 10s
  sudo fathom method -p 4711 OrderService::find --json | jq -c '.methods[] | [.name, .calls]'

A class without a package is one of any package. The shell must not see the * itself: write it in quotes.";

impl Args {
    /// Counts until the end, and prints the totals.
    pub fn run(self) -> Result<Outcome> {
        self.check()?;
        let signals = Signals::take_over().map_err(user_error)?;
        let asked =
            Asked { patterns: self.methods.clone(), most_hits_per_s: 0, times: self.times, slow: self.slow };
        // Refuses what is not to be looked into, in words.
        drop(Targets::find(Selection::Pids(vec![self.pid])).map_err(user_error)?);
        let process = Pid::from_raw(self.pid).ok_or_else(|| anyhow::anyhow!("no process {}", self.pid))?;
        let process = pidfd_open(process, PidfdFlags::empty()).map_err(std::io::Error::from)?;
        let waits = self.waits.then(|| waits::Waits::start(self.pid)).transpose()?;
        let mut watch = way::begin(self.pid, self.way, &asked, self.max_rate, &|line| say(line))?;
        self.say_begun(&mut *watch);
        let mut printed_calls = 0_u64;
        let mut show = show::Show::new(self.top, self.json);
        let mut next = Instant::now() + self.every;
        let over = self.duration.map(|duration| Instant::now() + duration);
        loop {
            let until = over.map_or(next, |over| over.min(next));
            let has_ended = wait(&process, POLL_EVERY.min(until.saturating_duration_since(Instant::now())));
            watch.poll();
            watch.news().iter().for_each(|news| say(&self.in_words(news)));
            let now = Instant::now();
            let is_over = over.is_some_and(|over| now >= over) || signals.take().is_some();
            if is_over || has_ended || watch.is_over() {
                if has_ended {
                    say(&format!("process {} has ended", self.pid));
                }
                break;
            }
            let enough =
                self.every_calls.is_some_and(|every| watch.calls() >= printed_calls.saturating_add(every));
            if now >= next || enough {
                next = now + self.every;
                printed_calls = watch.calls();
                print(&show.interval(&watch.report()))?;
            }
        }
        let mut report = watch.stop();
        if let Some(waits) = waits {
            waits.add_to(&mut report.slow)?;
        }
        report.last.iter().for_each(|news| say(&self.in_words(news)));
        print(&show.totals(&report))?;
        let not_found = self.not_found(&report);
        if !not_found.is_empty() && !report.methods.is_empty() {
            say(&format!(
                "{} of {} was found: nothing of it was counted",
                if report.way == Way::Breakpoint { "no compiled code" } else { "no loaded class" },
                not_found.join(", ")
            ));
        }
        Ok(Outcome::Done)
    }

    /// Whether it is a JVM, and the way can do what is asked for.
    fn check(&self) -> Result<()> {
        if self.slow.is_some() && self.way == Asking::Breakpoint {
            bail!("--slow wants a way that sees single calls: --way jfr or --way agent");
        }
        let found =
            find::Jvm::of(self.pid.cast_unsigned()).map_err(|error| Environment(error.to_string()))?;
        match found {
            Some(_) => Ok(()),
            None => {
                bail!(Environment(format!(
                    "process {} is not a JVM: fathom ps lists those that run",
                    self.pid
                )))
            }
        }
    }

    fn say_begun(&self, watch: &mut dyn Count) {
        let report = watch.report();
        let until = match self.duration {
            Some(duration) => format!("for {:.1} s", duration.as_secs_f64()),
            None => "until Ctrl-C or until it ends".to_owned(),
        };
        watch.news().iter().for_each(|news| say(&self.in_words(news)));
        if report.left_out > 0 {
            say(&format!(
                "{} methods fit beyond the first {}: write a narrower pattern",
                report.left_out,
                report.methods.len()
            ));
        }
        let asked = self.not_found(&report);
        if !asked.is_empty() && report.way == Way::Agent {
            say(&format!("no loaded class has {}; waiting for it to be loaded", asked.join(", ")));
        } else if !asked.is_empty() && report.way == Way::Breakpoint {
            let similar = watch.similar();
            let hint = match similar.as_slice() {
                [] => String::new(),
                similar => {
                    let shown: Vec<&str> = similar.iter().take(5).map(String::as_str).collect();
                    let more = similar.len() - shown.len();
                    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                    format!("; compiled methods of that name are {}{more}", shown.join(", "))
                }
            };
            say(&format!(
                "there is no compiled code of {} yet (never called often enough to be compiled, an intrinsic that its callers have \
                 compiled in, or spelt otherwise); waiting for it{hint}",
                asked.join(", ")
            ));
        }
        for waits in show::without_a_count(&report) {
            say(&waits);
        }
        say(&format!("counting in process {} {until}", self.pid));
    }

    /// What was asked for and no method fits.
    fn not_found(&self, report: &Report) -> Vec<String> {
        let found = |asked: &&Pattern| report.methods.iter().any(|method| asked.means_named(&method.name));
        self.methods.iter().filter(|asked| !found(asked)).map(ToString::to_string).collect()
    }

    fn in_words(&self, news: &News) -> String {
        match news {
            News::Armed { method, level, compile_id, again: false } => {
                format!(
                    "{method}: counted at the entry of its compiled code ({}, compilation {compile_id})",
                    show::tier(*level)
                )
            }
            News::Armed { method, level, compile_id, again: true } => {
                format!(
                    "{method}: compiled anew ({}, compilation {compile_id}); counted there from now on",
                    show::tier(*level)
                )
            }
            News::Interpreted { method } => {
                format!(
                    "{method}: the JVM gave its compiled code up; calls are interpreted, and not counted until it is compiled again"
                )
            }
            News::TooHot { method, hits_per_s } => format!(
                "{method}: DROPPED, it is not counted any more: {hits_per_s} calls a second of all methods were counted, more than \
                 --max-rate lets through"
            ),
            News::Woven { method } => format!("{method}: counted in its bytecode"),
            News::Untraced { calls_per_s } => format!(
                "NOT TRACED any more: {calls_per_s} calls a second are more than --max-rate lets through; they are counted on, without \
                 callers and threads"
            ),
            News::Failed { why } => why.clone(),
            News::Refused { method, why } => {
                format!("{method}: not counted: {why}")
            }
        }
    }
}

/// Waits for a little while; whether the process has ended meanwhile.
fn wait(process: &OwnedFd, time: Duration) -> bool {
    let mut fds = [PollFd::new(process, PollFlags::IN)];
    let time = Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: i64::from(time.subsec_nanos()) };
    // A signal ends the wait early.
    let _ = poll(&mut fds, Some(&time));
    fds.iter().any(|fd| !fd.revents().is_empty())
}
