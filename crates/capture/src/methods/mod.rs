//! Calls of compiled Java methods, counted from outside by hardware breakpoints (`fathom method`).
//!
//! ```text
//!  Method._code ──▶ entry of its nmethod ──▶ breakpoint on every CPU ──▶ program: caller, thread, count
//!      ▲                  │ asked anew every few milliseconds: compiled again ──▶ breakpoint moves
//!      └── code cache: methods that are meant, and where they are inlined ──▶ not counted, listed
//! ```
//! Nothing is loaded into the JVM and nothing of it is changed: no flag, no agent, no code. What a
//! breakpoint costs it costs at each call, a trap into the kernel, so that methods that are called
//! too often are let go of. Breakpoints hang on descriptors of this process: however it ends, they
//! end with it.

mod agent;
mod flight;
mod followed;
mod pattern;
mod program;
mod report;
mod timing;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use fathom_hotspot::symbols::Entries;

use crate::Unavailable;
use crate::session::Raised;
use crate::unwind::{SharedUnwinder, Unwinder};
pub use agent::Woven;
pub use flight::{Filter, MethodFlight};
use followed::{Followed, State};
pub use pattern::Pattern;
pub use program::Times;
use program::{BREAKPOINTS, Program, WHAT};
pub use report::{CallsOf, MethodReport, NotCounted, Report, SlowCall, Standing, Untimed, Way};
use timing::Timing;

/// New compiled code is looked for so often: code that was compiled since then may hold a method
/// that is meant, or inline it.
const SURVEY: Duration = Duration::from_secs(2);
/// Callers and threads are named so often: code that is freed meanwhile cannot be named any more.
const NAMES: Duration = Duration::from_millis(250);
/// How often it is looked whether methods are called too often. A breakpoint takes some
/// microseconds, so that in this time even the hottest method is called some ten thousand times.
const GUARD: Duration = Duration::from_millis(50);
/// The rate is that of so long: a burst is no reason.
const RATE_OF: Duration = Duration::from_millis(250);
/// Where all breakpoints were taken by others, it is tried again after so long.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// Methods followed at most. More match a pattern that is too wide to be of use with four
/// breakpoints.
const MOST_METHODS: usize = 256;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Which methods.
    pub patterns: Vec<Pattern>,
    /// Hits a second, of all breakpoints, above which the one that is hit most is taken away.
    pub most_hits_per_s: u64,
    /// Whether it is measured how long calls take, which takes one breakpoint. Other ways always
    /// do.
    pub times: bool,
    /// Calls that take so long are kept one by one; no breakpoint can.
    pub slow: Option<Duration>,
}

/// What counts calls, in one of three ways.
pub trait Count {
    /// To be called every few milliseconds.
    fn poll(&mut self);
    /// What happened since the last time it was asked.
    fn news(&mut self) -> Vec<News>;
    /// Whether nothing can come any more.
    fn is_over(&self) -> bool;
    /// What was counted so far.
    fn report(&mut self) -> Report;
    /// Calls of all methods so far.
    fn calls(&mut self) -> u64;
    /// Takes away what counts; what was counted to the end.
    fn stop(self: Box<Self>) -> Report;
    /// Names of methods that may have been meant where nothing is found.
    fn similar(&mut self) -> Vec<String>;
}

/// Something that whoever watches should hear of when it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A method is counted from now on, for the first time or in new code.
    Armed {
        /// Its name.
        method: String,
        /// Tier of its code.
        level: u8,
        /// Number of the compilation.
        compile_id: u32,
        /// Whether it was counted before, in other code.
        again: bool,
    },
    /// The code of a method was given up and calls are interpreted, so that they are not counted.
    Interpreted {
        /// Its name.
        method: String,
    },
    /// A method is not counted any more: it is called too often.
    TooHot {
        /// Its name.
        method: String,
        /// Hits a second of all breakpoints.
        hits_per_s: u64,
    },
    /// The bytecode of a method counts from now on.
    Woven {
        /// Its name.
        method: String,
    },
    /// Calls come too often for each of them to be traced; they are counted on.
    Untraced {
        /// Calls a second of all methods.
        calls_per_s: u64,
    },
    /// What counts gives up, or could not be taken away in order.
    Failed {
        /// Why.
        why: String,
    },
    /// A method, or all of a class, cannot be counted.
    Refused {
        /// The method.
        method: String,
        /// What the kernel or the agent said.
        why: String,
    },
}

/// A watch of methods of one JVM.
pub struct Watch {
    pid: i32,
    asked: Asked,
    unwinder: SharedUnwinder,
    entries: Entries,
    /// Breakpoints before what they are for.
    program: Program,
    followed: Vec<Followed>,
    /// Which method an entry is of, by its number.
    entry_of: Vec<usize>,
    names: report::Names,
    /// How long calls take, where that was asked for.
    timing: Option<Timing>,
    news: Vec<News>,
    begun: Instant,
    next_survey: Instant,
    next_names: Instant,
    next_guard: Instant,
    try_again: Instant,
    /// Hits by method, when they were looked at.
    rates: Vec<(Instant, Vec<u64>)>,
    too_many: usize,
    _first: Raised,
}

impl Watch {
    /// Begins to watch the JVM of a process.
    pub fn start(pid: i32, asked: Asked) -> Result<Self, Unavailable> {
        crate::check::ebpf()?;
        crate::descriptors::raise_limit();
        let unwinder = Unwinder::load(false)?;
        unwinder.borrow_mut().renew(pid, true);
        let unreadable =
            |why: String| Unavailable { scope: None, what: WHAT.into(), why, remedy: String::new() };
        let (vm, code) = {
            let mut unwinder = unwinder.borrow_mut();
            let known = unwinder.code.get_mut(pid);
            let why = known.as_ref().and_then(|known| known.jvm_error.clone());
            let jvm = known.and_then(|known| known.jvm.as_ref());
            let jvm = jvm.ok_or_else(|| {
                unreadable(why.unwrap_or_else(|| format!("the JVM of process {pid} cannot be read")))
            })?;
            (jvm.vm.clone(), jvm.code.clone())
        };
        let patterns = asked.patterns.clone();
        let is_wanted = move |method: &_| patterns.iter().any(|pattern: &Pattern| pattern.means(method));
        let entries = Entries::new(vm, code, Box::new(is_wanted)).map_err(|e| unreadable(e.to_string()))?;
        let program = Program::load(pid.cast_unsigned(), &unwinder)?;
        let now = Instant::now();
        let timing = asked.times.then(|| Timing::new(now));
        let mut watch = Self {
            timing,
            pid,
            asked,
            unwinder,
            entries,
            program,
            followed: Vec::new(),
            entry_of: Vec::new(),
            names: report::Names::default(),
            news: Vec::new(),
            begun: now,
            next_survey: now,
            next_names: now + NAMES,
            next_guard: now + GUARD,
            try_again: now,
            rates: Vec::new(),
            too_many: 0,
            _first: Raised::new(),
        };
        watch.survey(now).map_err(|error| unreadable(error.to_string()))?;
        watch.follow(now);
        Ok(watch)
    }

    /// Looks for methods that are meant in code that is new.
    fn survey(&mut self, now: Instant) -> fathom_hotspot::Result<()> {
        self.next_survey = now + SURVEY;
        let surveyed = self.entries.survey();
        self.next_survey = Instant::now() + SURVEY;
        for matched in &self.entries.methods {
            match self.followed.iter().position(|followed| followed.method == matched.method) {
                Some(known) => self.followed[known].rename(&matched.about),
                None if self.followed.len() < MOST_METHODS => {
                    self.followed.push(Followed::new(matched.method, &matched.about));
                }
                None => {}
            }
        }
        self.too_many = self.entries.methods.len().saturating_sub(MOST_METHODS);
        surveyed
    }

    /// Sets breakpoints where code is new, and takes them away where it was given up.
    fn follow(&mut self, now: Instant) {
        for i in 0..self.followed.len() {
            let followed = &self.followed[i];
            if followed.state == State::TooHot {
                continue;
            }
            let before = followed.code;
            // Where a class was unloaded, or the process has ended, nothing can be read; other code
            // may lie at the address.
            let read = self.entries.current(followed.method, before);
            let is_given_up = matches!(read, Ok(None)) && before.is_some();
            let code = read.ok().flatten();
            if code != before {
                self.let_go(i, State::Waits);
                self.followed[i].code = code;
                if is_given_up && self.followed[i].is_counted() {
                    self.news.push(News::Interpreted { method: self.followed[i].name.clone() });
                }
            }
            if self.followed[i].slot.is_none() && code.is_some() && now >= self.try_again {
                self.arm(i, now);
            }
        }
    }

    /// Sets a breakpoint on the code of a method, where one is free.
    fn arm(&mut self, i: usize, now: Instant) {
        let Some(code) = self.followed[i].code else { return };
        let (Some(slot), Some(entry)) = (self.program.free(self.for_entries()), self.new_entry(i)) else {
            return;
        };
        let armed = program::Armed { at: code.entry, state: code.state, entry, ..program::Armed::default() };
        if let Err(error) = self.program.arm(slot, &armed) {
            self.entry_of.pop();
            self.try_again = now + TRY_AGAIN;
            let method = self.followed[i].name.clone();
            let why = if error.raw_os_error() == Some(libc::ENOSPC) {
                "all breakpoints of a CPU are taken, by a debugger or another fathom".to_owned()
            } else {
                error.to_string()
            };
            if self.followed[i].refused.replace(why.clone()).as_ref() != Some(&why) {
                self.news.push(News::Refused { method, why });
            }
            return;
        }
        let again = self.followed[i].is_counted();
        let followed = &mut self.followed[i];
        followed.armed(slot, entry, Instant::now());
        let method = followed.name.clone();
        self.news.push(News::Armed { method, level: code.level, compile_id: code.compile_id, again });
    }

    /// Breakpoints for entries: all, but for one where times are measured.
    fn for_entries(&self) -> usize {
        BREAKPOINTS - usize::from(self.timing.is_some())
    }

    /// A number for an entry of a method; `None`: all were used.
    fn new_entry(&mut self, method: usize) -> Option<u32> {
        let entry = u32::try_from(self.entry_of.len()).ok().filter(|entry| *entry < program::MOST_ENTRIES)?;
        self.entry_of.push(method);
        Some(entry)
    }

    /// Takes the breakpoint of a method away.
    fn let_go(&mut self, i: usize, state: State) {
        let Some((slot, entry)) = self.followed[i].slot.zip(self.followed[i].entries.last().copied()) else {
            self.followed[i].state = state;
            return;
        };
        if self.timing.as_ref().is_some_and(|timing| timing.is_of(i)) {
            self.end_timing();
        }
        let stopped = self.program.disarm(slot);
        let seen = self.program.hits(entry).all();
        self.followed[i].disarmed(state, stopped.map_or(0, |stopped| stopped.saturating_sub(seen)));
    }

    /// Lets go of what is hit most where all together are hit too often.
    fn guard(&mut self, now: Instant) {
        let returns = |i| self.timing.as_ref().map_or(0, |timing| timing.returns_of(i, &self.program));
        let hits = self.followed.iter().enumerate();
        let hits: Vec<u64> = hits.map(|(i, followed)| self.hits(followed).all() + returns(i)).collect();
        while self.rates.first().is_some_and(|(then, _)| now.duration_since(*then) > RATE_OF + GUARD) {
            self.rates.remove(0);
        }
        let now_and_then = self.rates.first().map(|(then, before)| {
            let more = |(i, hits): (usize, &u64)| hits - before.get(i).copied().unwrap_or(0).min(*hits);
            (now.duration_since(*then), hits.iter().enumerate().map(more).collect::<Vec<u64>>())
        });
        self.rates.push((now, hits));
        let Some((elapsed, more)) = now_and_then else { return };
        let sum: u64 = more.iter().sum();
        // At the start there is no rate yet, but so many hits are too many in a whole one.
        let most = self.asked.most_hits_per_s as f64 * elapsed.max(RATE_OF).as_secs_f64();
        if sum as f64 <= most {
            return;
        }
        let is_watched = |i: &usize| self.followed[*i].slot.is_some();
        let Some(hottest) = (0..more.len()).filter(is_watched).max_by_key(|i| more[*i]) else { return };
        self.let_go(hottest, State::TooHot);
        self.rates.clear();
        let hits_per_s = (sum as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
        self.news.push(News::TooHot { method: self.followed[hottest].name.clone(), hits_per_s });
    }

    /// What was seen at all entries of a method.
    fn hits(&self, followed: &Followed) -> program::Hits {
        let mut all = program::Hits::default();
        for entry in &followed.entries {
            let hits = self.program.hits(*entry);
            all.calls += hits.calls;
            all.replaced += hits.replaced;
            all.not_kept += hits.not_kept;
            all.elsewhere += hits.elsewhere;
            all.returns += hits.returns;
        }
        all
    }

    /// Names callers and threads that are new.
    fn name(&mut self) {
        let calls = self.program.calls();
        let mut unwinder = self.unwinder.borrow_mut();
        if let Some(jvm) = unwinder.code.get_mut(self.pid).and_then(|known| known.jvm.as_mut()) {
            self.names.learn(&calls, jvm);
        }
    }
}

impl Count for Watch {
    /// What happened since the last time it was asked.
    fn news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// Follows the code of the methods, and looks whether they are called too often. To be called
    /// every few milliseconds.
    fn poll(&mut self) {
        let now = Instant::now();
        self.follow(now);
        if now >= self.next_guard {
            self.next_guard = now + GUARD;
            self.guard(now);
        }
        if self.timing.as_ref().is_some_and(|timing| timing.is_due(now)) {
            self.time_another(now);
        }
        if now >= self.next_names {
            self.next_names = now + NAMES;
            self.name();
        }
        if now >= self.next_survey {
            // A JVM that cannot be read ends just now, which its descriptor shows.
            let _ = self.survey(now);
        }
    }

    /// Whether nothing is watched and nothing can come any more: each method was called too often.
    fn is_over(&self) -> bool {
        !self.followed.is_empty() && self.followed.iter().all(|followed| followed.state == State::TooHot)
    }

    fn calls(&mut self) -> u64 {
        self.followed.iter().map(|followed| self.hits(followed).calls).sum()
    }

    /// What was counted so far.
    fn report(&mut self) -> Report {
        self.name();
        let calls = self.program.calls();
        let mut by_method: HashMap<usize, Vec<&program::Calls>> = HashMap::new();
        for calls in &calls {
            if let Some(method) = self.entry_of.get(calls.entry as usize) {
                by_method.entry(*method).or_default().push(calls);
            }
        }
        let now = Instant::now();
        let methods = self.followed.iter().enumerate().map(|(i, followed)| {
            let calls = by_method.remove(&i).unwrap_or_default();
            let hits = self.hits(followed);
            let mut method = report::of_method(followed, hits, &calls, &self.names, &self.entries, now);
            if let Some(timing) = &self.timing {
                method.times = timing.of(i, &self.program, &self.names);
                method.untimed = timing.untimed(i, &calls, &method.times, &self.names);
            }
            method
        });
        Report {
            way: Way::Breakpoint,
            begun_ns: 0,
            methods: methods.collect(),
            elapsed: now.duration_since(self.begun),
            unread: self.entries.unread,
            left_out: self.too_many,
            refused: Vec::new(),
            slow: Vec::new(),
            slow_left_out: 0,
            last: Vec::new(),
        }
    }

    /// Takes all breakpoints away; what was counted to the end.
    fn stop(mut self: Box<Self>) -> Report {
        self.end_timing();
        // As it was until now.
        let standing: Vec<Standing> =
            self.report().methods.into_iter().map(|method| method.standing).collect();
        for i in 0..self.followed.len() {
            if self.followed[i].slot.is_some() {
                self.let_go(i, State::Waits);
            }
        }
        // What was compiled since the last look may hold copies, too.
        let _ = self.survey(Instant::now());
        let mut report = self.report();
        report.methods.iter_mut().zip(standing).for_each(|(method, standing)| method.standing = standing);
        report
    }

    /// Names of compiled methods that are called as what is asked for, of whatever class: what may
    /// have been meant where nothing is found.
    fn similar(&mut self) -> Vec<String> {
        let mut unwinder = self.unwinder.borrow_mut();
        let Some(jvm) = unwinder.code.get_mut(self.pid).and_then(|known| known.jvm.as_mut()) else {
            return Vec::new();
        };
        let blobs = jvm.code.blobs(&jvm.vm.memory).unwrap_or_default();
        let mut names: Vec<String> = Vec::new();
        for blob in blobs.iter().filter(|blob| blob.kind.is_nmethod()) {
            let Ok((method, _)) = jvm.symbols.compiled_method(blob.address) else { continue };
            if self.asked.patterns.iter().any(|pattern| pattern.has_name(&method)) {
                names.push(format!("{}::{}", method.class, method.name));
            }
        }
        names.sort();
        names.dedup();
        names
    }
}
