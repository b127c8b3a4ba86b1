//! What was counted, in names.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use fathom_hotspot::symbols::{Entries, JavaFrame};

use super::followed::{Followed, State};
use super::program::{Calls, Hits, Times};
use crate::unwind::Jvm;
use crate::unwind::samples::WalkedFrame;

/// Callers and threads whose names are kept at most: as many as the program has room for.
const MOST_NAMES: usize = 1 << 16;
/// What calls that came from no frame that is known are called.
const UNKNOWN_CALLER: &str = "[caller not known]";
/// Java called by the JVM itself: native code, thread starts, class initialisers.
const CALLED_BY_JVM: &str = "[called by the JVM or native code]";

/// How to count calls, the one that changes least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Hardware breakpoints, from outside.
    Breakpoint,
    /// Method timing and tracing of the flight recorder (JEP 520).
    Flight,
    /// An agent that changes bytecode.
    Agent,
}

impl Way {
    /// As it is written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Breakpoint => "breakpoint",
            Self::Flight => "jfr",
            Self::Agent => "agent",
        }
    }
}

/// A call that took long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowCall {
    /// The method.
    pub method: String,
    /// Name of the thread.
    pub thread: String,
    /// Its number in Java; 0: not known.
    pub java_thread: i64,
    /// When it began, nanoseconds since the epoch.
    pub begun_ns: i64,
    /// How long it took.
    pub took_ns: u64,
    /// The method and who called, innermost first.
    pub stack: Vec<String>,
    /// What the thread waited for meanwhile, where that was recorded: what, nanoseconds.
    pub waited: Vec<(String, u64)>,
}

/// What was counted of all methods.
#[derive(Clone, Debug)]
pub struct Report {
    /// How it was counted.
    pub way: Way,
    /// When counting began, nanoseconds since the epoch; 0: no slow calls can be in it.
    pub begun_ns: i64,
    /// Each method that was found, in the order in which it was.
    pub methods: Vec<MethodReport>,
    /// Since the watch began.
    pub elapsed: Duration,
    /// Compilations whose tables could not be read: what is inlined there is not known.
    pub unread: u64,
    /// Methods that fit, beyond what is followed.
    pub left_out: usize,
    /// Methods and classes that cannot be counted in this way, and why.
    pub refused: Vec<(String, String)>,
    /// Calls that took at least the requested time, in the order in which they ended.
    pub slow: Vec<SlowCall>,
    /// Slow calls for which there was no room.
    pub slow_left_out: u64,
    /// What happened at the end.
    pub last: Vec<super::News>,
}

/// What becomes of the calls of a method now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// They are counted.
    Counted {
        /// Number of the compilation.
        compile_id: u32,
        /// Its tier; 0: the wrapper of a native method.
        level: u8,
    },
    /// Its bytecode counts them, interpreted or compiled.
    Woven,
    /// They are interpreted, or it is inlined wherever it is called: there is no code of its own.
    NoCode,
    /// There is code and no breakpoint.
    NoBreakpoint {
        /// Why, where one was tried.
        refused: Option<String>,
    },
    /// It was called too often.
    TooHot,
}

/// What was counted of one method.
#[derive(Clone, Debug)]
pub struct MethodReport {
    /// "package.Class::method(I)V".
    pub name: String,
    /// Whether it is native.
    pub native: bool,
    /// What becomes of its calls now.
    pub standing: Standing,
    /// Calls.
    pub calls: u64,
    /// Calls that met code that had just been replaced: they went on to newer code or to the
    /// interpreter, and are not in `calls` unless they were seen there.
    pub replaced: u64,
    /// Calls whose caller and thread are not known: there was no room for them, or the kernel could
    /// not run the program.
    pub not_kept: u64,
    /// Executions at the same addresses by other processes, not in `calls`.
    pub elsewhere: u64,
    /// How long it was counted.
    pub watched: Duration,
    /// How long it was not, from the first count on: interpreted, between two compilations, or let
    /// go of.
    pub unwatched: Duration,
    /// How many compilations were watched.
    pub compilations: usize,
    /// Calls by caller, most first.
    pub callers: Vec<CallsOf>,
    /// Calls by thread, most first.
    pub threads: Vec<CallsOf>,
    /// How long calls took, by caller, most timed first; empty where that is not measured.
    pub times: Vec<(String, Times)>,
    /// How long all calls took, where all are timed.
    pub all_times: Option<Times>,
    /// Calls that ended by an exception, where that is seen.
    pub thrown: u64,
    /// Of how many calls the caller was looked at, where it was not of all: those stand for the
    /// others.
    pub callers_seen: Option<u64>,
    /// Callers of whose calls none was timed, and why, most calls first; empty where that is not
    /// measured.
    pub untimed: Vec<Untimed>,
    /// What is not counted.
    pub not_counted: NotCounted,
}

/// Calls by somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallsOf {
    /// A frame with its line, or a thread with its id.
    pub who: String,
    /// How many.
    pub calls: u64,
}

/// Calls from one caller of which none was timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untimed {
    /// The caller.
    pub caller: String,
    /// How many calls.
    pub calls: u64,
    /// Why none was timed.
    pub why: &'static str,
}

/// Executions of a method that pass no entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotCounted {
    /// Compiled methods that hold a copy of it, with tier and number of places.
    pub inlined: Vec<(String, u8, u32)>,
    /// Its code for loops that were under way: tier and bytecode.
    pub on_stack: Vec<(u8, i32)>,
}

/// Names of callers and threads, kept when code and thread are gone.
#[derive(Default)]
pub(super) struct Names {
    callers: HashMap<WalkedFrame, String>,
    threads: HashMap<u32, String>,
}

impl Names {
    /// Names what is new of these calls.
    pub(super) fn learn(&mut self, calls: &[Calls], jvm: &mut Jvm) {
        for calls in calls.iter().filter(|calls| calls.is_walked) {
            let frame = calls.caller.frame;
            if self.callers.len() < MOST_NAMES && !self.callers.contains_key(&frame) {
                self.callers.insert(frame, caller(frame, jvm));
            }
        }
        let is_new = |calls: &&Calls| !self.threads.contains_key(&calls.tid);
        if self.threads.len() >= MOST_NAMES || !calls.iter().any(|calls| is_new(&calls)) {
            return;
        }
        let named = jvm.threads.as_mut().and_then(|threads| threads.all(&jvm.vm).ok()).unwrap_or_default();
        let by_id: HashMap<u32, String> = named.into_iter().map(|thread| (thread.tid, thread.name)).collect();
        for calls in calls {
            let name = || by_id.get(&calls.tid).unwrap_or(&calls.comm).clone();
            self.threads.entry(calls.tid).or_insert_with(name);
        }
    }

    /// What a caller is called.
    pub(super) fn of_caller(&self, frame: &WalkedFrame) -> &str {
        self.callers.get(frame).map_or(UNKNOWN_CALLER, String::as_str)
    }

    pub(super) fn caller(&self, calls: &Calls) -> &str {
        let known = self.callers.get(&calls.caller.frame).filter(|_| calls.is_walked);
        known.map_or(UNKNOWN_CALLER, String::as_str)
    }

    fn thread(&self, calls: &Calls) -> String {
        let name = self.threads.get(&calls.tid).map_or("", String::as_str);
        format!("{name} ({})", calls.tid)
    }
}

/// The innermost Java frame of a caller.
fn caller(frame: WalkedFrame, jvm: &mut Jvm) -> String {
    let named = |frame: &JavaFrame| match frame.line {
        Some(line) => format!("{}:{line}", frame.name),
        None => frame.name.to_string(),
    };
    let known = match frame {
        WalkedFrame::Compiled { nmethod, compile_id, pc } => {
            let frames = jvm.symbols.compiled(nmethod, compile_id, pc).ok();
            frames.and_then(|frames| frames.first().map(named))
        }
        WalkedFrame::Interpreted { method, const_method, bci } => {
            jvm.symbols.interpreted(method, Some(const_method), bci).ok().map(|frame| named(&frame))
        }
        WalkedFrame::Stub { pc } if pc == jvm.constants.call_stub_return => Some(CALLED_BY_JVM.to_owned()),
        WalkedFrame::Stub { pc } => jvm.symbols.stub(pc).ok().map(|frame| named(&frame)),
        WalkedFrame::Native { .. } => Some(CALLED_BY_JVM.to_owned()),
    };
    known.unwrap_or_else(|| UNKNOWN_CALLER.to_owned())
}

/// What was counted of one method.
pub(super) fn of_method(
    followed: &Followed,
    hits: Hits,
    calls: &[&Calls],
    names: &Names,
    entries: &Entries,
    now: Instant,
) -> MethodReport {
    let standing = match (followed.state, followed.slot, followed.code) {
        (State::TooHot, ..) => Standing::TooHot,
        (_, _, None) => Standing::NoCode,
        (_, Some(_), Some(code)) => Standing::Counted { compile_id: code.compile_id, level: code.level },
        (_, None, Some(_)) => Standing::NoBreakpoint { refused: followed.refused.clone() },
    };
    let mut inlined: HashMap<(String, u8), u32> = HashMap::new();
    for copy in entries.inlined.iter().filter(|inlined| inlined.method == followed.method) {
        let places = inlined.entry((copy.into.clone(), copy.level)).or_default();
        *places = copy.places.max(*places);
    }
    let mut inlined: Vec<_> = inlined.into_iter().map(|((into, level), n)| (into, level, n)).collect();
    inlined.sort();
    let on_stack = entries.on_stack.iter().filter(|code| code.method == followed.method);
    let mut on_stack: Vec<_> = on_stack.map(|code| (code.level, code.bci)).collect();
    on_stack.sort_unstable();
    on_stack.dedup();
    MethodReport {
        name: followed.name.clone(),
        native: followed.native,
        standing,
        calls: hits.calls + followed.unseen,
        replaced: hits.replaced,
        not_kept: hits.not_kept + followed.unseen,
        elsewhere: hits.elsewhere,
        watched: followed.watched(now),
        unwatched: followed.unwatched(now),
        compilations: followed.entries.len(),
        callers: sums(calls, |calls| names.caller(calls).to_owned()),
        threads: sums(calls, |calls| names.thread(calls)),
        times: Vec::new(),
        all_times: None,
        thrown: 0,
        callers_seen: None,
        untimed: Vec::new(),
        not_counted: NotCounted { inlined, on_stack },
    }
}

/// Calls by somebody, most first.
fn sums(calls: &[&Calls], who: impl Fn(&Calls) -> String) -> Vec<CallsOf> {
    let mut sums: HashMap<String, u64> = HashMap::new();
    for calls in calls {
        *sums.entry(who(calls)).or_default() += calls.count;
    }
    let mut sums: Vec<CallsOf> = sums.into_iter().map(|(who, calls)| CallsOf { who, calls }).collect();
    sums.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.who.cmp(&b.who)));
    sums
}
