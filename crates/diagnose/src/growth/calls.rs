//! Calls of the kernel that operations make more of: a query for each row of a list, a log written
//! byte by byte, a directory listed again and again.
//!
//! Each of the calls takes as long as ever, so what grows is spread over running, waiting for the
//! network and the disk, in the methods that call and in those that answer. Together they are one
//! cause: more calls.
//!
//! ```text
//! system calls of application threads, counted each second ─▶ an operation's, slow and baseline ─▶ the call that grew
//! parts of an operation's time that grew ─▶ those whose stacks are in that call ─▶ one finding
//! ```

use std::cmp::Reverse;

use fathom_recording::vocabulary::call::POLLS;
use fathom_recording::vocabulary::{count, kind};
use fathom_recording::{FrameType, ProcessId, Recording, Role, StackId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::callers::Callers;
use super::connection::Limited;
use super::parts::{BASE, FRAMES, Part};
use super::{CALLS_RULE, Each, Grown, Growth, MOST, Per, SHOWN, mechanism, words};
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, meanings, reasons, remedies};
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::{Case, Evidence, Finding, Layer};

/// What an application asks the kernel for, by what belongs together: where one of these calls is
/// made for each row of a list, so are the others. Calls by which a thread waits for another one,
/// for memory or for the time follow from how the program goes, and rise with contention.
const FAMILIES: [&[&str]; 5] = [
    // A request is written and its answer read.
    &[
        "read", "recvfrom", "recvmsg", "recvmmsg", "readv", "write", "sendto", "sendmsg", "sendmmsg",
        "writev", "sendfile",
    ],
    &["connect", "accept", "accept4", "socket", "shutdown"],
    &[
        "openat",
        "open",
        "newfstatat",
        "stat",
        "lstat",
        "fstat",
        "statx",
        "access",
        "faccessat",
        "faccessat2",
        "getdents64",
        "unlink",
        "unlinkat",
        "rename",
        "mkdir",
    ],
    &["pread64", "preadv", "pwrite64", "pwritev"],
    &["fsync", "fdatasync"],
];
/// The call that opens a connection.
const CONNECT: &str = "connect";
/// How many times as many calls an operation must make, and how many more.
const TIMES: f64 = 3.0;
const MORE: f64 = 3.0;
/// The same of connections: most operations need none of their own.
const MORE_CONNECTS: f64 = 0.5;
/// The same a second, where operations are not counted.
const MORE_PER_S: f64 = 100.0;
/// How many times as many the threads must make in a second: a thread that polls makes as many as
/// ever, however few operations there are.
const MORE_A_SECOND: f64 = 1.2;
/// How many times as long a part must take to be the calls' doing.
const PART_TIMES: f64 = 2.0;
/// Share of a part's time in which its stacks must be in the call for the part to be the calls'
/// doing.
const IN_THE_CALL: f64 = 0.25;

/// A call that operations make more of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Calls<'a> {
    pub(super) name: &'a str,
    /// The calls that belong to it.
    family: &'static [&'static str],
    /// Whose they are: a second's where operations are not counted.
    pub(super) each: Each,
    /// Whether threads make more of them in a second, too, and not only for each of fewer
    /// operations.
    pub(super) more_a_second: bool,
    /// How many, in the slow windows and in the baseline.
    pub(super) slow: f64,
    pub(super) base: f64,
    /// By thread, in all frames.
    by_thread: FxHashMap<ThreadId, [f64; FRAMES]>,
}

/// The call of each family of which an operation, or a second, makes most more; none where calls
/// are not counted.
pub(super) fn grown<'a>(
    case: &Case<'a>,
    jvm: ProcessId,
    frames: &[Intervals; FRAMES],
    per: &Per,
) -> Vec<Calls<'a>> {
    let recording: &'a Recording = case.recording;
    let mut by_name: FxHashMap<&'a str, FxHashMap<ThreadId, [f64; FRAMES]>> = FxHashMap::default();
    for made in recording.counts_of(count::SYSCALL_TOTALS).filter(|made| made.process() == jvm) {
        let Some(id) = made.thread() else { continue };
        let is_application = recording.threads.get(id.index()).is_some_and(|thread| thread.role == Role::App);
        if family_of(made.name()).is_none() || !is_application {
            continue;
        }
        let sums = by_name.entry(made.name()).or_default().entry(id).or_default();
        for (sum, intervals) in sums.iter_mut().zip(frames) {
            *sum += intervals.counted_within(&made);
        }
    }
    more_connects(case, jvm, frames, &mut by_name);
    let lengths_ms = frames.each_ref().map(Intervals::length_ms);
    let of = |(name, by_thread): (&'a str, FxHashMap<ThreadId, [f64; FRAMES]>)| {
        let family = family_of(name)?;
        let (rate, usual) = a_second(by_thread.values(), &lengths_ms);
        let (slow, base) = each_one(by_thread.values(), per, &lengths_ms);
        let more = match per.each.is_counted() {
            true if family.contains(&CONNECT) => MORE_CONNECTS,
            true => MORE,
            false => MORE_PER_S,
        };
        let grew = slow >= TIMES * base && slow >= base + more;
        let more_a_second = rate >= MORE_A_SECOND * usual;
        grew.then_some(Calls { name, family, each: per.each, more_a_second, slow, base, by_thread })
    };
    let more = |calls: &Calls<'_>| (calls.slow - calls.base) as i64;
    let place = |calls: &Calls<'_>| calls.family.iter().position(|name| *name == calls.name);
    let mut grown: Vec<Calls<'a>> = by_name.into_iter().filter_map(of).collect();
    // Of calls that grew alike, the first of their family.
    let order = |calls: &Calls<'_>| (!calls.more_a_second, Reverse(more(calls)), place(calls));
    grown.sort_by_key(order);
    let mut seen: Vec<&[&str]> = Vec::new();
    grown.retain(|calls| {
        !seen.contains(&calls.family) && {
            seen.push(calls.family);
            true
        }
    });
    grown
}

/// Takes the connections that were recorded one by one for the calls of connect(), where they are
/// more: recordings in which calls of threads that live for milliseconds were lost have most of
/// them there.
fn more_connects<'a>(
    case: &Case<'a>,
    jvm: ProcessId,
    frames: &[Intervals; FRAMES],
    by_name: &mut FxHashMap<&'a str, FxHashMap<ThreadId, [f64; FRAMES]>>,
) {
    let mut made: FxHashMap<ThreadId, [f64; FRAMES]> = FxHashMap::default();
    for span in case.recording.spans_of(kind::NET_CONNECT).filter(|span| span.process() == jvm) {
        let Some(id) = span.thread() else { continue };
        for (sum, intervals) in made.entry(id).or_default().iter_mut().zip(frames) {
            *sum += f64::from(u8::from(intervals.touches(span.t0_ns(), span.t0_ns())));
        }
    }
    let sum = |by: &FxHashMap<ThreadId, [f64; FRAMES]>| by.values().flatten().sum::<f64>();
    if by_name.get(CONNECT).map_or(0.0, sum) < sum(&made) {
        by_name.insert(CONNECT, made);
    }
}

/// Calls a second in the slow windows and in the baseline.
fn a_second<'c>(counts: impl Iterator<Item = &'c [f64; FRAMES]>, lengths_ms: &[f64; FRAMES]) -> (f64, f64) {
    let sums = counts.fold((0.0, 0.0), |sum, of| (sum.0 + of[0] + of[1], sum.1 + of[BASE]));
    let rate = |calls: f64, ms: f64| calls / ms.max(f64::MIN_POSITIVE) * 1e3;
    (rate(sums.0, lengths_ms[0] + lengths_ms[1]), rate(sums.1, lengths_ms[BASE]))
}

/// The same an operation, or a second where operations are not counted.
fn each_one<'c>(
    counts: impl Iterator<Item = &'c [f64; FRAMES]>,
    per: &Per,
    lengths_ms: &[f64; FRAMES],
) -> (f64, f64) {
    let by = if per.each.is_counted() { per.by.map(|n| n * 1e3) } else { *lengths_ms };
    a_second(counts, &by)
}

fn family_of(name: &str) -> Option<&'static [&'static str]> {
    FAMILIES.into_iter().find(|family| family.contains(&name))
}

impl<'a> Calls<'a> {
    /// Whether a part of the time is the doing of such calls: it grew, and its stacks are in the
    /// call for a good part of it.
    pub(super) fn make(&self, recording: &Recording, grown: &Grown<'_>) -> bool {
        let could = grown.key.category.is_running()
            || matches!(grown.key.category, Category::Network | Category::Disk | Category::RunQueue);
        if !could || grown.by() <= 0.0 || grown.slow < PART_TIMES * grown.base {
            return false;
        }
        let slow = |ms: &[f64; FRAMES]| ms[0] + ms[1];
        let all: f64 = grown.part.by_stack.values().map(slow).sum();
        let within = grown.part.by_stack.iter().filter(|(stack, _)| self.is_in(recording, **stack));
        let within: f64 = within.map(|(_, ms)| slow(ms)).sum();
        all > 0.0 && within >= IN_THE_CALL * all
    }

    /// The same calls, of some threads alone.
    fn of_threads(&self, per: &Per, lengths_ms: &[f64; FRAMES], threads: &FxHashSet<ThreadId>) -> Self {
        let by_thread: FxHashMap<_, _> =
            self.by_thread.iter().filter(|(id, _)| threads.contains(id)).map(|(id, n)| (*id, *n)).collect();
        let (slow, base) = each_one(by_thread.values(), per, lengths_ms);
        Self { slow, base, by_thread, ..self.clone() }
    }

    /// The calls that the threads of a part make for it, where their number grew by a larger
    /// factor than the time of each: the peer is asked more often rather than slower.
    pub(super) fn asked_more(
        &self,
        case: &Case<'_>,
        per: &Per,
        lengths_ms: &[f64; FRAMES],
        grown: &Grown<'_>,
    ) -> Option<Self> {
        let own = self.of_threads(per, lengths_ms, &grown.part.threads.iter().copied().collect());
        // Calls of virtual threads are their carriers'.
        let is_virtual = |id: &&ThreadId| case.recording.threads[id.index()].tid.is_none();
        let by_carriers = own.slow < self.slow / 2.0
            && grown.key.category == Category::Network
            && 2 * grown.part.threads.iter().filter(is_virtual).count() >= grown.part.threads.len();
        let own = if by_carriers { self.clone() } else { own };
        let times = own.slow / own.base.max(f64::MIN_POSITIVE);
        let longer = grown.slow / grown.base.max(f64::MIN_POSITIVE);
        let is_so =
            per.each.is_counted() && times >= TIMES && own.slow >= own.base + MORE && times * times >= longer;
        (is_so && (by_carriers || self.make(case.recording, grown))).then_some(own)
    }

    /// Whether something is read.
    fn reads(&self) -> bool {
        self.family.contains(&"read")
    }

    /// Whether it is connections that are opened.
    pub(super) fn connects(&self) -> bool {
        self.family.contains(&CONNECT)
    }

    /// Whether a stack is in a call of the family, or waits before one that reads: a read with a
    /// time-out asks first whether there is anything.
    fn is_in(&self, recording: &Recording, stack: StackId) -> bool {
        recording.frames_of(stack).any(|frame| {
            // The kernel's functions: ksys_read, __x64_sys_read, __sys_recvfrom.
            let call = frame.name().rsplit_once("sys_").map(|(_, call)| call);
            let is_meant = |call| {
                self.family.contains(&call) || (self.family.contains(&"read") && POLLS.contains(&call))
            };
            frame.frame_type() == FrameType::Kernel && call.is_some_and(is_meant)
        })
    }
}

impl<'a> Growth<'a> {
    /// The finding that operations make more calls; `made`: the parts of their time that are these
    /// calls' doing.
    pub(super) fn more_calls(
        &self,
        case: &Case<'_>,
        calls: &Calls<'_>,
        made: &[&Grown<'_>],
        share: f64,
        cost_ms: f64,
        by_change: bool,
    ) -> Finding {
        let holds = made.iter().any(|g| g.holds);
        let likely = share >= MOST && holds && !by_change;
        let ground = if likely { Ground::Incomplete } else { Ground::Fits };
        let why = reasons::CALLS_TAKE.is(Value::share(share.min(1.0)));
        let why = why.with("whose", Value::name(self.whose()));
        let sure = ground.because(case, cost_ms, why);
        let callers = Callers::of(case.recording, self.grown.iter().map(|g| &g.part), &self.per);
        // Who answers runs as long as who asks; who asks waits as well.
        let waits = |g: &&&Grown<'_>| matches!(g.key.category, Category::Network | Category::Disk);
        let asks = made.iter().filter(waits).max_by(|a, b| a.by().total_cmp(&b.by()));
        let place = asks.or(made.first()).map_or("", |g| g.key.place);
        let of_place: Vec<&Part<'_>> =
            made.iter().filter(|g| g.key.place == place).map(|g| &g.part).collect();
        let caller = callers.of_parts(&of_place, &self.per, place);
        // The calls of those threads: who answers makes as many again.
        let threads: FxHashSet<ThreadId> = of_place.iter().flat_map(|part| &part.threads).copied().collect();
        let own = calls.of_threads(&self.per, &self.lengths_ms, &threads);
        let calls = if own.slow > 0.0 { &own } else { calls };
        let (slow_ms, base_ms) = made.iter().fold((0.0, 0.0), |sum, g| (sum.0 + g.slow, sum.1 + g.base));
        let mut finding = case.finding_by(CALLS_RULE, Layer::Application, self.jvm, sure, cost_ms);
        finding.title = words::more_calls(calls, place, caller, (slow_ms, base_ms)).into();
        let caller = caller.map(Value::name);
        finding.culprit = culprits::METHOD.is(Value::name(place)).with("caller", caller).into();
        finding.meaning = meanings::MORE_CALLS.fact().into();
        let counted = Evidence::summed("system calls, counted by the second", words::counted(calls));
        let own = case.jvm_name(self.jvm);
        let of_parts = made.iter().take(SHOWN).map(|g| g.evidence(own, self.per.each));
        finding.evidence = std::iter::once(counted).chain(of_parts).collect();
        finding.remedies = vec![remedies::ASK_ONCE.remedy(), remedies::BUFFER_BETWEEN.remedy()];
        finding.verify = vec![words::calls_again(calls).into(), checks::CALLS_COUNTED.fact().into()];
        finding.windows = case.slow.clone();
        // Who makes the calls may be the JVM, and not the method that it runs in.
        let runs = made.iter().filter(|g| g.key.category.is_running()).map(|g| &g.part);
        mechanism::add(case, &self.per, runs, &mut finding);
        let peer = asks.filter(|g| g.key.category == Category::Network).map_or("", |g| g.key.target);
        let limited =
            Limited::of(case, self.jvm, peer, false, None).or_else(|| Limited::of_reads(case, self.jvm));
        if let Some(limited) = limited.filter(|_| calls.reads()) {
            limited.explain(&mut finding);
        }
        finding
    }
}
