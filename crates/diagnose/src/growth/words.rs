//! The words of a finding without a rule.

use super::Each;
use super::calls::Calls;
use super::parts::{Cause, Key};
use crate::attribution::{Path, Pool};
pub(super) use crate::quantity::of_one as time;
use crate::waits::Category;
use crate::{Layer, Remedy, quantity};

/// Whether a rule speaks of time under a category, so that its finding already has it.
pub(super) fn is_of(category: Category, rule: &str) -> bool {
    let beginnings: &[&str] = match category {
        Category::Monitor | Category::Lock => &["lock-"],
        Category::StoppedByGc | Category::AllocationStall => &["gc-", "heap-", "jvm-", "out-of-"],
        Category::StoppedByLog => &["gc-log-write"],
        Category::StoppedToReach | Category::Stopped => &["safepoint-", "gc-", "jvm-"],
        Category::Dns => &["dns-"],
        Category::PageFault | Category::KernelFault => &["page-fault-", "memory-"],
        Category::RunQueue | Category::Throttled => &["cpu-"],
        Category::Frozen => &["process-"],
        _ => &[],
    };
    beginnings.iter().any(|beginning| rule.starts_with(beginning))
}

/// Whether a rule speaks of a resource under a category: its finding explains no more than those
/// resources grew by. A collector or a lock acts in other ways, too.
pub(super) fn is_resource_of(category: Category, rule: &str) -> bool {
    let beginnings: &[&str] = match category {
        // Code that is not compiled yet runs longer, also at the other end of a connection;
        // compilers take CPUs.
        Category::RunQueue | Category::Throttled => &["cpu-", "jit-"],
        Category::Network => &["jit-"],
        Category::Dns => &["dns-"],
        category if category.is_running() => &["jit-"],
        _ => &[],
    };
    beginnings.iter().any(|beginning| rule.starts_with(beginning))
}

/// What a thread does: "waiting for an answer from 127.0.0.1:7432 in shop.Pool.call".
pub(super) fn doing(key: &Key<'_>) -> String {
    let on = |preposition: &str| match key.target {
        "" => String::new(),
        target => format!(" {preposition} {target}"),
    };
    let what = match key.category {
        Category::Network => format!("waiting for the network{}", on("at")),
        Category::Disk => format!("waiting for the disk{}", on("at")),
        Category::Dns => format!("waiting for the name{}", on("of")),
        Category::RunQueue => "waiting for a CPU".to_owned(),
        Category::Throttled => "held by the CPU quota of its cgroup".to_owned(),
        Category::StoppedByGc => "stopped for a collection".to_owned(),
        Category::StoppedToReach => "stopped until the last thread had reached a safepoint".to_owned(),
        Category::StoppedByLog => "stopped while the JVM wrote its log".to_owned(),
        Category::Stopped => "stopped for another VM operation".to_owned(),
        Category::AllocationStall => "stalled by the collector for memory".to_owned(),
        Category::MemoryStall => "stalled by the kernel for memory".to_owned(),
        Category::Monitor => "waiting for a Java monitor".to_owned(),
        Category::Lock => "waiting for a lock of java.util.concurrent".to_owned(),
        Category::NativeLock => "waiting for a native lock".to_owned(),
        Category::Waiting | Category::Idle => "waiting for another thread".to_owned(),
        Category::PageFault => format!("waiting in page faults{}", on("on")),
        Category::KernelFault => "on a CPU in page faults".to_owned(),
        Category::MapLock => "waiting for the lock of its address space".to_owned(),
        Category::Child => format!("waiting for another process{}", on("at")),
        Category::Sleep => "sleeping for a time".to_owned(),
        Category::TimedWait => "in a timed wait".to_owned(),
        Category::Frozen => "stopped by a signal or frozen".to_owned(),
        Category::Blocked => "blocked on something unknown".to_owned(),
        Category::Unknown => "not seen".to_owned(),
        Category::Recorder => "running fathom's own eBPF programs".to_owned(),
        _ => "running".to_owned(),
    };
    format!("{what}{}", within(key.place))
}

/// " in shop.Pool.call", or nothing.
pub(super) fn within(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" in {place}") }
}

/// Who or what: the peer, the file, else the method.
pub(super) fn culprit(key: &Key<'_>) -> String {
    match (key.target, key.place) {
        ("", "") => doing(key),
        ("", place) => place.to_owned(),
        (target, _) => target.to_owned(),
    }
}

/// "10.8 ms an operation, 1.2 ms in the baseline".
pub(super) fn amounts(slow: f64, base: f64, each: Each) -> String {
    match each.is_counted() {
        true => format!("{} {}, {} in the baseline", time(slow), each.one(), time(base)),
        false => format!("{slow:.2} threads at a time, {base:.2} in the baseline"),
    }
}

/// What is usual.
pub(super) fn usual(base: f64, each: Each) -> String {
    match each.is_counted() {
        true => format!("{} {}", time(base), each.one()),
        false => format!("{base:.2} threads at a time"),
    }
}

/// What a thread does, and whose, where it is one of another pool.
pub(super) fn done_by(cause: &Cause<'_>, own: &str) -> String {
    format!("{}{}", doing(&cause.key), of(cause.other, own))
}

/// The steps of a way, from who waits to what that comes to: "… in shop.Orders.book ← sleeping for
/// a time in shop.Audit.trail (auditor)".
pub(super) fn way(way: &Path<'_>, own: &str) -> String {
    let step = |step: &crate::attribution::Step<'_>| format!("{}{}", doing(&step.key), of(step.other, own));
    way.iter().map(step).collect::<Vec<_>>().join(" ← ")
}

/// Whose threads, where they are of another pool than those that wait for them, and of which
/// process, where that is not `own`.
fn of(pool: Option<Pool<'_>>, own: &str) -> String {
    let Some(pool) = pool.filter(|pool| !pool.name.is_empty()) else { return String::new() };
    match pool.process == own {
        true => format!(" (thread {})", pool.name),
        false => format!(" (thread {} of {})", pool.name, pool.process),
    }
}

/// The address over which the waits led to another thread: " at the other end of 127.0.0.1:7432".
fn over(way: Option<&Path<'_>>) -> String {
    let before = way.and_then(|way| way.split_last()).map_or(&[][..], |(_, before)| before);
    let peer = before.iter().find(|s| s.key.category == Category::Network && !s.key.target.is_empty());
    peer.map_or(String::new(), |step| format!(" at the other end of {}", step.key.target))
}

/// What is waited for where the way ends at a thread that selects: the answer comes over a
/// connection of that thread.
pub(super) fn event_for(cause: &Cause<'_>, way: Option<&Path<'_>>, own: &str) -> Option<String> {
    let first = way?.first()?;
    let selects = cause.key.category == Category::Network && cause.key.target.is_empty();
    let thread = of(cause.other.filter(|_| selects), own);
    let thread = thread.trim_start_matches(" (").trim_end_matches(')');
    (!thread.is_empty()).then(|| {
        format!("the network{}: for an answer over a connection of {thread}", within(first.key.place))
    })
}

/// The line of the finding.
pub(super) fn title(
    cause: &Cause<'_>,
    way: Option<&Path<'_>>,
    own: &str,
    slow: f64,
    base: f64,
    each: Each,
) -> String {
    if let Some(what) = event_for(cause, way, own) {
        return match each.is_counted() {
            true => {
                format!("each {} waits {} instead of {} for {what}", each.noun(), time(slow), time(base))
            }
            false => format!("{slow:.1} threads at a time instead of {base:.1} wait for {what}"),
        };
    }
    let what = format!("{}{}", done_by(cause, own), over(way));
    // A wait in a queue for such a thread is longer than what that thread does once.
    match (each.is_counted(), way.is_some()) {
        (true, true) => format!(
            "each {} waits {} instead of {} for a thread that is {what}",
            each.noun(),
            time(slow),
            time(base)
        ),
        (true, false) => {
            format!("each {} spends {} instead of {} {what}", each.noun(), time(slow), time(base))
        }
        (false, true) => {
            format!("{slow:.1} threads at a time instead of {base:.1} wait for a thread that is {what}")
        }
        (false, false) if cause.key.category.is_running() => format!(
            "{slow:.1} threads at a time instead of {base:.1} are running or waiting for a CPU{}",
            within(cause.key.place)
        ),
        (false, false) => format!("{slow:.1} threads at a time instead of {base:.1} are {what}"),
    }
}

/// The line of a finding about a wait for room to send.
pub(super) fn sending(sender: &str, (slow, base): (f64, f64), each: Each) -> String {
    let why = "the other side takes in slowly what is written";
    match each.is_counted() {
        true => format!(
            "each {} waits {} instead of {} for room to send in {sender}: {why}",
            each.noun(),
            time(slow),
            time(base)
        ),
        false => {
            format!(
                "{slow:.1} threads at a time instead of {base:.1} wait for room to send in {sender}: {why}"
            )
        }
    }
}

/// What helps threads that wait for room to send.
pub(super) fn take_in_faster() -> Remedy {
    Remedy {
        change: "look at who reads: slow clients, or a network that is narrow or loses packets (ss -ti shows each connection's queue and \
                 windows); write without a thread that waits (asynchronous responses), or put a proxy in front that buffers responses; a limit \
                 on the time that a write may take"
            .into(),
        applies_to: "any JDK".into(),
        risk: "a proxy needs memory or disk for what it buffers".into(),
    }
}

/// The line of a finding about running time that grew in many methods below one; `named`: the
/// innermost ones of most of it.
pub(super) fn spread(
    method: &str,
    caller: Option<&str>,
    (slow, base): (f64, f64),
    each: Each,
    named: &str,
) -> String {
    let from = caller.map_or(String::new(), |caller| format!(", called from {caller}"));
    let named = if named.is_empty() { String::new() } else { format!(" ({named})") };
    match each.is_counted() {
        true => format!(
            "each {} runs for {} instead of {} below {method}{from}{named}",
            each.noun(),
            time(slow),
            time(base)
        ),
        false => {
            format!("{slow:.1} threads at a time instead of {base:.1} run below {method}{from}{named}")
        }
    }
}

/// What it means that operations make more calls.
pub(super) const MORE_CALLS: &str = "Each call takes about as long as ever, but an operation makes many more of them: a query for each row of a \
     list, data written in small pieces, files looked for again and again. The time is spread over running, waiting and whoever answers.";

/// A number of calls, "2.0" or "39,122".
fn number(calls: f64) -> String {
    if calls < 10.0 { format!("{calls:.1}") } else { quantity::count(calls) }
}

/// "read() 118 times an operation", "read() 39,122 times a second".
pub(super) fn counted_as(calls: &Calls<'_>, count: f64) -> String {
    let each = if calls.each.is_counted() { calls.each.one().to_owned() } else { "a second".into() };
    format!("{}() {} times {each}", calls.name, number(count))
}

/// The line of a finding about more calls.
pub(super) fn more_calls(
    calls: &Calls<'_>,
    place: &str,
    caller: Option<&str>,
    slow: f64,
    base: f64,
) -> String {
    let from = caller.map_or(String::new(), |caller| format!(", called from {caller}"));
    let within = within(place);
    let (name, now, usual) = (calls.name, number(calls.slow), number(calls.base));
    match calls.each.is_counted() {
        true => format!(
            "each {} calls {name}() {now} times instead of {usual}{within}{from}: {} instead of {}",
            calls.each.noun(),
            time(slow),
            time(base)
        ),
        false => format!(
            "threads call {name}() {now} times a second instead of {usual}{within}{from}: {slow:.1} of them at a time instead of {base:.1}"
        ),
    }
}

/// Its value.
pub(super) fn counted(calls: &Calls<'_>) -> String {
    format!("{}, {} in the baseline", counted_as(calls, calls.slow), number(calls.base))
}

/// Connections that are opened: "each operation opens 10 connections instead of 0".
pub(super) fn connections(calls: &Calls<'_>) -> String {
    let usual = if calls.base < 0.05 { "none".to_owned() } else { number(calls.base) };
    let now = number(calls.slow);
    match calls.each.is_counted() {
        true => format!("each {} opens {now} connections instead of {usual}", calls.each.noun()),
        false => format!("{now} connections are opened a second instead of {usual}"),
    }
}

/// What to do against that.
pub(super) fn keep_connections() -> Remedy {
    Remedy {
        change: "keep connections open: a pool, HTTP keep-alive, HTTP/2; and see who closes them, the client or the peer".into(),
        applies_to: "any JDK".into(),
        risk: "connections that are kept hold memory on both sides".into(),
    }
}

/// The release in which `synchronized` no longer keeps virtual threads on their carriers.
const NO_PIN_BY_MONITORS: u32 = 24;

/// What to do where virtual threads stay on their carriers, in a JVM of a release.
pub(super) fn let_go_of_carriers(jdk: Option<u32>) -> Remedy {
    if jdk.is_some_and(|jdk| jdk >= NO_PIN_BY_MONITORS) {
        return Remedy {
            change: "let nothing wait below a class initialiser or a native frame, which keep a virtual thread on its carrier in this JDK, \
                     too: load in advance what an initialiser waits for, or let a platform thread run it; \
                     jdk.VirtualThreadPinned of a flight recording shows where"
                .into(),
            applies_to: "virtual threads, JDK 24 and later: synchronized itself keeps no carrier there; file calls do".into(),
            risk: "none known".into(),
        };
    }
    Remedy {
        change: "JDK 24 or later (JEP 491), or java.util.concurrent.locks.ReentrantLock in place of synchronized around what waits; \
                 -Djdk.tracePinnedThreads=full (JDK 21 to 23) shows where"
            .into(),
        applies_to: "virtual threads, JDK 21 to 23; native frames and file calls keep carriers on all".into(),
        risk: "none known".into(),
    }
}

/// What to do where connect() is what waits.
pub(super) fn connect_once() -> Remedy {
    Remedy {
        change: "connect() itself waits: each of these calls connects anew; keep connections open (a pool, HTTP keep-alive, HTTP/2), and \
                 see whether the peer accepts in time: ss -lnt there shows a full queue, nstat TcpExtListenOverflows what it dropped"
            .into(),
        applies_to: "any JDK".into(),
        risk: "connections that are kept hold memory on both sides".into(),
    }
}

/// What to do against many calls.
pub(super) fn fewer_calls() -> Vec<Remedy> {
    let one = |change: &str, risk: &str| Remedy {
        change: change.into(),
        applies_to: "any JDK".into(),
        risk: risk.into(),
    };
    vec![
        one(
            "ask for all of it in one call: a join or a batch instead of a query for each row, a listing kept instead of asked for again",
            "larger answers need memory at once",
        ),
        one(
            "put a buffer in between: BufferedOutputStream, BufferedInputStream, a larger buffer of the driver",
            "what is buffered is lost in a crash until it is flushed",
        ),
    ]
}

/// The layer that a category lies in.
pub(super) fn layer(category: Category) -> Layer {
    match category {
        Category::Network | Category::Dns => Layer::Network,
        Category::Disk | Category::StoppedByLog => Layer::Storage,
        Category::RunQueue | Category::Throttled => Layer::Cpu,
        Category::PageFault | Category::KernelFault | Category::MapLock | Category::MemoryStall => {
            Layer::Memory
        }
        Category::StoppedByGc | Category::AllocationStall => Layer::Gc,
        Category::StoppedToReach | Category::Stopped => Layer::Safepoint,
        _ => Layer::Application,
    }
}

/// What it means.
pub(super) fn meaning(category: Category, others_behind: bool) -> &'static str {
    match (category, others_behind) {
        (_, true) => {
            "What each of a few threads waits for became slower, and the others wait for those threads: \
             the delay is multiplied by all that share them."
        }
        (category, _) if category.is_running() => {
            "Operations need more CPU time than in the baseline: more work is done for each, or the same work by slower code; or the code does \
             other work than operations."
        }
        (Category::Sleep, _) => {
            "Threads sleep by their own choice for longer: a back-off, a retry, a poll, or a pause because less is asked for. \
             Sleep that came anew is a delay; sleep that was there before and lasts longer may be the pace of what is asked."
        }
        _ => "This part of an operation's time grew most; the rest stayed about as it was.",
    }
}

/// What to look at next.
pub(super) fn remedies(category: Category) -> Vec<Remedy> {
    let (change, risk) = match category {
        Category::Network => (
            "look at the peer: its own latency at that time, the number of calls an operation makes to it, the connections shared \
             among threads",
            "more connections move the queue to the peer",
        ),
        Category::Disk => (
            "look at the file and the device: who else writes to it, whether each operation must wait for it",
            "what is not written at once may be lost in a crash",
        ),
        Category::RunQueue => ("give the process more CPUs, or run less on the same machine", ""),
        Category::Throttled => ("raise the CPU quota of the cgroup, or run fewer threads at once", ""),
        Category::Sleep => {
            ("find what the code sleeps for: a retry, a back-off, a poll with a fixed interval", "")
        }
        Category::Child => (
            "start no process for each operation: keep one running and hand it the work, do the work in the JVM, or start fewer at \
             once; where it is one peer at a pipe, look at what that process does meanwhile",
            "a process that stays must be watched and started again when it ends",
        ),
        category if category.is_running() => (
            "fathom flame --diff of the two windows shows which callers and which code of the method grew",
            "",
        ),
        _ => ("fathom chain of the slow window shows what these threads waited for, link by link", ""),
    };
    vec![Remedy { change: change.into(), applies_to: "any JDK".into(), risk: risk.into() }]
}
