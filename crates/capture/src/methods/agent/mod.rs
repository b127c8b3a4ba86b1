//! Calls counted from within the JVM, by an agent that weaves counting into the methods' bytecode:
//! the way that sees every call and changes most. Only on request.
//!
//! ```text
//!   /tmp/.fathom-calls-PID-…/ of the JVM    fathom-calls.jar, asked-for     read once, then removed
//!                                           asked ─▶ the agent              "report", "stop"; its end is fathom's end
//!                                           said  ◀─ the agent              see `wire`
//! ```
//!
//! Both pipes are held by descriptors of this process alone. However it ends, the kernel closes
//! them, the agent reads the end, and puts every class back as it was.

mod jar;
mod wire;

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use fathom_hotspot::Error;
use fathom_hotspot::attach::{Attach, AttachError};
use fathom_hotspot::find::{About, Kind};

use super::report::Way;
use super::{Asked, Count, MethodReport, News, NotCounted, Report, SlowCall, Standing};
use crate::Unavailable;
use crate::jvm_folder::{Folder, For, clear_left};
use wire::{Counted, Wire, Word};

/// Versions of its lines that are understood.
const PROTOCOL: u32 = 1;
/// How often the agent is asked.
const ASK: Duration = Duration::from_millis(200);
/// How long loading it, and putting classes back, may take: a JVM of many classes stops for it.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause between two looks into a pipe.
const LOOK: Duration = Duration::from_millis(2);
/// Since when the JVM warns of agents that come later (JEP 451).
const WARNS: u32 = 21;
/// Until when the first agent that can retransform makes the JVM give up its compiled code
/// (JDK-8324241, mended in 23).
const FLUSHES: u32 = 22;

/// A JVM whose methods count their calls.
pub struct Woven {
    attach: Attach,
    /// Removed at the end, with the pipes.
    _folder: Folder,
    asked: File,
    said: File,
    wire: Wire,
    news: Vec<News>,
    next: Instant,
    begun: Instant,
    begun_ns: i64,
    known: Vec<String>,
    refused: Vec<(String, String)>,
    slow: Vec<SlowCall>,
    ends: bool,
    /// How long the agent took to look at all classes, and how many there are.
    pub took: Option<(Duration, u64)>,
}

impl Woven {
    /// Loads the agent into the JVM of a process.
    pub fn start(pid: u32, asked: &Asked) -> Result<Self, Unavailable> {
        let jar = jar::read().map_err(|why| unavailable(why, ""))?;
        let attach = Attach::to(pid).map_err(|error| refused(&error))?;
        let no_folder = |error: std::io::Error| {
            unavailable(
                format!("the /tmp of JVM {pid} cannot be written: {error}"),
                "give it one that its user can write",
            )
        };
        clear_left(&attach, For::Calls).map_err(no_folder)?;
        let folder = Folder::create(&attach, For::Calls).map_err(no_folder)?;
        folder.write(&attach, jar::NAME, &jar).map_err(no_folder)?;
        folder.write(&attach, "asked-for", configuration(asked).as_bytes()).map_err(no_folder)?;
        let to = folder.pipe(&attach, "asked").map_err(no_folder)?;
        let from = folder.pipe(&attach, "said").map_err(no_folder)?;
        load(&attach, &folder)?;
        let now = Instant::now();
        let mut woven = Self {
            attach,
            asked: to,
            said: from,
            wire: Wire::default(),
            news: Vec::new(),
            next: now,
            begun: now,
            begun_ns: 0,
            known: Vec::new(),
            refused: Vec::new(),
            slow: Vec::new(),
            ends: false,
            took: None,
            _folder: folder,
        };
        if !woven.until(|woven| woven.took.is_some() || woven.ends) {
            return Err(unavailable(format!("the agent in JVM {pid} does not answer"), ""));
        }
        if let Some(News::Failed { why }) = woven.news.iter().find(|news| matches!(news, News::Failed { .. }))
        {
            return Err(unavailable(why.clone(), ""));
        }
        // What it was read from is of no use any more, and the JVM has it open.
        for file in [jar::NAME, "asked-for"] {
            woven._folder.remove(file);
        }
        woven.begun = Instant::now();
        woven.begun_ns = now_ns();
        woven.ask("report");
        woven.until(|woven| woven.wire.answers > 0 || woven.ends);
        woven.learn();
        Ok(woven)
    }

    /// What loading an agent changes in this JVM, in sentences; or why there is none to be loaded.
    pub fn warnings(pid: u32) -> Result<Vec<String>, Unavailable> {
        jar::read().map_err(|why| unavailable(why, ""))?;
        let kind = Kind::HotSpot { libjvm: String::new(), deleted: false };
        let status = fathom_hotspot::proc_status::ProcStatus::of(pid);
        let release = status.ok().and_then(|status| About::of(pid, &status, &kind).feature()).unwrap_or(0);
        let mut warnings = Vec::new();
        if (1..=FLUSHES).contains(&release) {
            warnings.push(format!(
                "JDK {release} gives up all of its compiled code for the first agent (JDK-8324241): the program runs slowly until it is \
                 compiled again"
            ));
        }
        if release >= WARNS {
            warnings.push(format!(
                "JDK {release} says on the program's standard error that an agent was loaded (JEP 451), unless it runs with \
                 -XX:+EnableDynamicAgentLoading"
            ));
        }
        Ok(warnings)
    }

    fn ask(&mut self, what: &str) {
        // A pipe that is full is that of an agent that does not read: it is asked again.
        let _ = self.asked.write_all(format!("{what}\n").as_bytes());
    }

    /// Reads what the agent has said.
    fn pump(&mut self) {
        let mut bytes = [0; 1 << 16];
        loop {
            match self.said.read(&mut bytes) {
                Ok(0) => break,
                Ok(n) => self.wire.take(&bytes[..n]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        for word in std::mem::take(&mut self.wire.words) {
            self.heard(word);
        }
        let to_epoch_ns = to_epoch_ns();
        for mut slow in self.wire.slow.drain(..) {
            slow.begun_ns = slow.begun_ns.saturating_add(to_epoch_ns);
            self.slow.push(slow);
        }
    }

    fn heard(&mut self, word: Word) {
        match word {
            Word::Hello { protocol: PROTOCOL } => {}
            Word::Hello { protocol } => {
                let why =
                    format!("the agent speaks version {protocol} and fathom {PROTOCOL}: build both anew");
                self.news.push(News::Failed { why });
                self.ends = true;
            }
            Word::Ready { ns, classes } => self.took = Some((Duration::from_nanos(ns), classes)),
            Word::Hot { method, calls_per_s } => {
                self.news.push(News::TooHot { method, hits_per_s: calls_per_s });
            }
            Word::Refused { what, why } => {
                self.news.push(News::Refused { method: what.clone(), why: why.clone() });
                self.refused.push((what, why));
            }
            Word::Failed { why } => {
                self.news.push(News::Failed { why });
                self.ends = true;
            }
            Word::Over => self.ends = true,
        }
    }

    /// Waits until something is so; whether it came to be.
    fn until(&mut self, is_so: impl Fn(&Self) -> bool) -> bool {
        let until = Instant::now() + PATIENCE;
        loop {
            self.pump();
            if is_so(self) {
                return true;
            }
            if Instant::now() >= until || !self.attach.is_alive() {
                return false;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn counted(&self, elapsed: Duration) -> Report {
        Report {
            begun_ns: self.begun_ns,
            refused: self.refused.clone(),
            slow: self.slow.clone(),
            ..report(&self.wire.counted, elapsed)
        }
    }

    /// Says which methods are counted that were not before.
    fn learn(&mut self) {
        for method in &self.wire.counted.methods {
            if !self.known.contains(&method.name) {
                self.known.push(method.name.clone());
                self.news.push(News::Woven { method: method.name.clone() });
            }
        }
    }
}

impl Count for Woven {
    fn poll(&mut self) {
        self.pump();
        self.learn();
        let now = Instant::now();
        if now >= self.next {
            self.next = now + ASK;
            self.ask("report");
        }
    }

    fn news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    fn is_over(&self) -> bool {
        let methods = &self.wire.counted.methods;
        self.ends || (!methods.is_empty() && methods.iter().all(|method| method.is_hot))
    }

    fn calls(&mut self) -> u64 {
        let methods = self.wire.counted.methods.iter();
        methods.flat_map(|method| &method.threads).map(|(_, _, calls)| calls).sum()
    }

    fn report(&mut self) -> Report {
        self.counted(self.begun.elapsed())
    }

    fn stop(mut self: Box<Self>) -> Report {
        let elapsed = self.begun.elapsed();
        let answers = self.wire.answers;
        if self.attach.is_alive() && !self.ends {
            self.ask("stop");
            if !self.until(|woven| woven.ends && woven.wire.answers > answers) && self.attach.is_alive() {
                let why = "the agent did not say that all classes are as they were; it puts them back as soon as it runs".to_owned();
                self.news.push(News::Failed { why });
            }
        }
        let mut report = self.counted(elapsed);
        report.last = self.news();
        report
    }

    fn similar(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// What is asked for, as `Session.java` reads it.
fn configuration(asked: &Asked) -> String {
    let mut text = String::new();
    for pattern in &asked.patterns {
        let descriptor = pattern.descriptor().unwrap_or("");
        text += &format!("method\t{}\t{}\t{descriptor}\n", pattern.class(), pattern.name());
    }
    text += &format!("most-calls\t{}\n", asked.most_hits_per_s.min(i64::MAX as u64));
    if let Some(slow) = asked.slow {
        text += &format!("slow-ns\t{}\n", slow.as_nanos().min(i64::MAX as u128));
    }
    text
}

/// Has the JVM load the agent, which goes on by itself.
fn load(attach: &Attach, folder: &Folder) -> Result<(), Unavailable> {
    let argument = format!("{}={}", folder.path(jar::NAME), folder.place());
    let answer = attach.execute_within(PATIENCE, "load", &["instrument", "false", &argument]);
    let answer = answer.map_err(|error| refused(&error))?;
    // "return code: 0" since JDK 9, "0" before.
    let status = answer.trim().rsplit(' ').next().unwrap_or("").to_owned();
    if status != "0" {
        let why = match status.as_str() {
            "100" => "the JVM could not load it as an agent (its jar could not be read)".to_owned(),
            "102" => "the agent failed when it was started".to_owned(),
            _ => format!("the JVM says: {}", answer.lines().next().unwrap_or("nothing")),
        };
        return Err(unavailable(why, ""));
    }
    let mut why = String::new();
    if let Some(failed) = folder.open("failed") {
        let _ = failed.take(4096).read_to_string(&mut why);
        return Err(unavailable(format!("the agent could not begin: {why}"), ""));
    }
    Ok(())
}

fn unavailable(why: String, remedy: &str) -> Unavailable {
    Unavailable { scope: None, what: "counting by an agent".into(), why, remedy: remedy.into() }
}

fn refused(error: &Error) -> Unavailable {
    let remedy = match error {
        Error::Attach(AttachError::NotYours { .. }) | Error::NotAllowed { .. } => {
            "run fathom as that user or as root"
        }
        Error::Attach(AttachError::Disabled { .. }) => "use --way breakpoint",
        Error::Attach(AttachError::Refused { text, .. }) if text.contains("ynamic agent loading") => {
            "start it with -XX:+EnableDynamicAgentLoading, or use --way breakpoint"
        }
        _ => "",
    };
    unavailable(error.to_string(), remedy)
}

fn now_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// What has to be added to the monotonic clock.
fn to_epoch_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now_ns() - (now.tv_sec * 1_000_000_000 + now.tv_nsec)
}

fn report(counted: &Counted, elapsed: Duration) -> Report {
    let method = |method: &wire::Method| {
        let calls: u64 = method.threads.iter().map(|(_, _, calls)| calls).sum();
        let standing_for: u64 = method.callers.iter().map(|(_, calls, _, _)| calls).sum();
        let seen: u64 = method.callers.iter().map(|(_, _, seen, _)| seen).sum();
        let named = |name: &str| {
            if name.is_empty() { "[called by the JVM or native code]".to_owned() } else { name.to_owned() }
        };
        let rest = calls.saturating_sub(standing_for);
        let not_seen = (rest > 0).then(|| ("[caller not seen]".to_owned(), rest));
        let callers = method.callers.iter().map(|(name, calls, _, _)| (named(name), *calls)).chain(not_seen);
        let threads = method.threads.iter().map(|(id, name, calls)| (thread(*id, name), *calls));
        let mut times: Vec<_> =
            method.callers.iter().map(|(name, _, _, times)| (named(name), times.clone())).collect();
        times.retain(|(_, times)| times.count > 0);
        times.sort_by(|a, b| b.1.count.cmp(&a.1.count).then_with(|| a.0.cmp(&b.0)));
        MethodReport {
            name: method.name.clone(),
            native: false,
            standing: if method.is_hot { Standing::TooHot } else { Standing::Woven },
            calls,
            replaced: 0,
            not_kept: 0,
            elsewhere: 0,
            watched: elapsed,
            unwatched: Duration::ZERO,
            compilations: 0,
            callers: wire::most_first(callers),
            threads: wire::most_first(threads),
            times,
            all_times: Some(method.times.clone()),
            thrown: method.thrown,
            callers_seen: (seen < calls).then_some(seen),
            untimed: Vec::new(),
            not_counted: NotCounted::default(),
        }
    };
    Report {
        way: Way::Agent,
        begun_ns: 0,
        methods: counted.methods.iter().map(method).collect(),
        elapsed,
        unread: 0,
        left_out: usize::try_from(counted.left_out).unwrap_or(usize::MAX),
        refused: Vec::new(),
        slow: Vec::new(),
        slow_left_out: counted.slow_left_out,
        last: Vec::new(),
    }
}

/// A thread by its name and its number in Java, which is not the kernel's.
fn thread(id: i64, name: &str) -> String {
    match id {
        -1 => "[virtual threads]".to_owned(),
        id if name.is_empty() => format!("[threads that have ended] (#{id})"),
        id => format!("{name} (#{id})"),
    }
}
