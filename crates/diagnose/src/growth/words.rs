//! The words of a finding without a rule.

use super::Each;
use super::calls::Calls;
use super::parts::Cause;
use crate::attribution::Key;
use crate::attribution::{Path, Pool, Step};
use crate::facts::{Metric, Value, checks, culprits, growth as facts, meanings, remedies};
use crate::waits::Category;
use crate::{Fact, Layer, Remedy};

/// Whether rules of such an id speak of time under a category, so that their findings already have
/// it.
pub(super) fn is_of(category: Category, rule: &str) -> bool {
    let beginnings: &[&str] = match category {
        Category::Monitor | Category::Lock => &["lock-"],
        Category::StoppedByGc | Category::AllocationStall => &["gc-", "heap-", "jvm-", "out-of-"],
        Category::StoppedToReach | Category::Stopped => &["safepoint-", "gc-", "jvm-"],
        Category::Dns => &["dns-"],
        Category::PageFault | Category::KernelFault => &["page-fault-", "memory-"],
        Category::RunQueue | Category::Throttled => &["cpu-"],
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

/// What a thread does: "waiting for the network at 127.0.0.1:7432 in shop.Pool.call".
pub(super) fn does(key: &Key<'_>) -> Fact {
    let (what, target) = match key.category {
        Category::Child if is_file(key) => {
            ("waiting for another process that holds a lock of a file", "file")
        }
        Category::Network => ("waiting for the network", "peer"),
        Category::Disk => ("waiting for the disk", "file"),
        Category::Dns => ("waiting for the name", "name"),
        Category::RunQueue => ("waiting for a CPU", ""),
        Category::Throttled => ("held by the CPU quota of its cgroup", ""),
        Category::StoppedByGc => ("stopped for a collection", ""),
        Category::StoppedToReach => ("stopped until the last thread had reached a safepoint", ""),
        Category::StoppedByLog => ("stopped while the JVM wrote its log", ""),
        Category::Stopped => ("stopped for another VM operation", ""),
        Category::AllocationStall => ("stalled by the collector for memory", ""),
        Category::MemoryStall => ("stalled by the kernel for memory", ""),
        Category::Monitor => ("waiting for a Java monitor", ""),
        Category::Lock => ("waiting for a lock of java.util.concurrent", ""),
        Category::NativeLock => ("waiting for a native lock", ""),
        Category::Waiting | Category::Idle => ("waiting for another thread", ""),
        Category::PageFault => ("waiting in page faults", "mapping"),
        Category::KernelFault => ("on a CPU in page faults", ""),
        Category::MapLock => ("waiting for the lock of its address space", ""),
        Category::Child => ("waiting for another process", "peer"),
        Category::Sleep => ("sleeping for a time", ""),
        Category::TimedWait => ("in a timed wait", ""),
        Category::Frozen => ("stopped by a signal or frozen", ""),
        Category::Blocked => ("blocked on something unknown", ""),
        Category::Unknown => ("not seen", ""),
        Category::Recorder => ("running fathom's own eBPF programs", ""),
        _ => ("running", ""),
    };
    let shown = Value::named(key.target).filter(|_| !target.is_empty());
    facts::DOING.is(Value::name(what)).with(target, shown).with("place", Value::named(key.place))
}

/// Whether what is waited for is a file: another process has a lock of it.
fn is_file(key: &Key<'_>) -> bool {
    key.target.starts_with('/')
}

/// The same in words.
pub(super) fn doing(key: &Key<'_>) -> String {
    does(key).sentence()
}

/// Who or what: the peer, the file, else the method.
pub(super) fn culprit(key: &Key<'_>) -> Fact {
    match (key.target, key.place) {
        ("", "") => culprits::DOING.is(Value::Name(doing(key))),
        ("", place) => culprits::METHOD.is(Value::name(place)),
        (target, _) => culprits::TARGET.is(Value::name(target)),
    }
}

/// A metric with an amount in the slow windows and in the baseline: of an operation, or threads at
/// a time.
pub(super) fn amount(metric: &'static Metric, (slow, base): (f64, f64), each: Each) -> Fact {
    match each.is_counted() {
        true => metric.is(Value::ms(slow)).over(Value::ms(base)).with("noun", Value::name(each.noun())),
        false => metric.is(Value::plain(slow)).over(Value::plain(base)),
    }
}

/// That something is as it is in the baseline.
pub(super) fn as_usual(check: &'static Metric, base: f64, each: Each) -> Fact {
    match each.is_counted() {
        true => check.is(Value::ms(base)).with("each", Value::name(each.one())),
        false => check.fact().with("threads", Value::plain(base)),
    }
}

/// What a thread does, and whose, where it is one of another pool.
pub(super) fn done_by(cause: &Cause<'_>, own: &str) -> Fact {
    of(does(&cause.key), cause.other, own)
}

/// The steps of a way, from who waits to what that comes to: "… in shop.Orders.book ← sleeping for
/// a time in shop.Audit.trail (auditor)".
pub(super) fn way(way: &Path<'_>, own: &str) -> Fact {
    let step = |step: &Step<'_>| of(does(&step.key), step.other, own);
    facts::WAY.fact().with("steps", Value::list(way.iter().map(step)))
}

/// What threads do, with whose they are, where they are of another pool than those that wait for
/// them, and of which process, where that is not `own`.
fn of(doing: Fact, pool: Option<Pool<'_>>, own: &str) -> Fact {
    let Some(pool) = pool.filter(|pool| !pool.name.is_empty()) else { return doing };
    let thread = Value::name(pool.name);
    match pool.process == own {
        true => doing.with("thread", thread),
        false => doing.with("thread-of-another", thread).with("process", Value::name(pool.process)),
    }
}

/// The address over which the waits led to another thread.
fn over(way: Option<&Path<'_>>) -> Option<Value> {
    let (_, before) = way?.split_last()?;
    let peer = before.iter().find(|s| s.key.category == Category::Network && !s.key.target.is_empty());
    peer.map(|step| Value::name(step.key.target))
}

/// What is waited for where the way ends at a thread that selects: the answer comes over a
/// connection of that thread.
pub(super) fn event_for(cause: &Cause<'_>, way: Option<&Path<'_>>, own: &str) -> Option<Fact> {
    let first = way?.first()?;
    let selects = cause.key.category == Category::Network && cause.key.target.is_empty();
    let pool = cause.other.filter(|pool| selects && !pool.name.is_empty())?;
    let process = Some(pool.process).filter(|process| *process != own).map(Value::name);
    let answer = facts::ANSWER.fact().with("place", Value::named(first.key.place));
    Some(answer.with("thread", Value::name(pool.name)).with("process", process))
}

/// What grew most.
pub(super) fn grown(
    cause: &Cause<'_>,
    way: Option<&Path<'_>>,
    own: &str,
    amounts: (f64, f64),
    each: Each,
) -> Fact {
    if let Some(answer) = event_for(cause, way, own) {
        return amount(&facts::WAITS_FOR_ANSWER, amounts, each).with("answer", Value::from(answer));
    }
    if !each.is_counted() && way.is_none() && cause.key.category.is_running() {
        return amount(&facts::RUNS, amounts, each).with("place", Value::named(cause.key.place));
    }
    // A wait in a queue for such a thread is longer than what that thread does once.
    let metric = if way.is_some() { &facts::WAITS_FOR_THREAD } else { &facts::SPENDS };
    let doing = done_by(cause, own).with("over", over(way));
    amount(metric, amounts, each).with("doing", Value::from(doing))
}

/// That there are as many calls as in the baseline.
pub(super) fn calls_again(calls: &Calls<'_>) -> Fact {
    let each = if calls.each.is_counted() { calls.each.one() } else { "a second" };
    let again = checks::CALLS_AGAIN.is(Value::plain(calls.base)).with("call", Value::name(calls.name));
    again.with("each", Value::name(each))
}

/// The line of a finding about more calls.
pub(super) fn more_calls(calls: &Calls<'_>, place: &str, caller: Option<&str>, took: (f64, f64)) -> Fact {
    let made = of_calls(&facts::MORE_CALLS, calls).over(Value::plain(calls.base));
    let made = made.with("call", Value::name(calls.name)).with("place", Value::named(place));
    let made = made.with("caller", caller.map(Value::name));
    match calls.each.is_counted() {
        true => made.with("took", Value::ms(took.0)).with("took-baseline", Value::ms(took.1)),
        false => made.with("threads", Value::plain(took.0)).with("threads-baseline", Value::plain(took.1)),
    }
}

/// The same of a wait for those who are asked.
pub(super) fn asked_more(calls: &Calls<'_>) -> Fact {
    let made = of_calls(&facts::ASKED_MORE, calls).over(Value::plain(calls.base));
    made.with("call", Value::name(calls.name))
}

/// A metric with how many calls there are, and of what.
fn of_calls(metric: &'static Metric, calls: &Calls<'_>) -> Fact {
    metric
        .is(Value::plain(calls.slow))
        .with("noun", calls.each.is_counted().then(|| Value::name(calls.each.noun())))
}

/// Its value.
pub(super) fn counted(calls: &Calls<'_>) -> Fact {
    let each = if calls.each.is_counted() { calls.each.one() } else { "a second" };
    let fact = facts::CALLS.is(Value::plain(calls.slow)).over(Value::plain(calls.base));
    fact.with("call", Value::name(calls.name)).with("each", Value::name(each))
}

/// Connections that are opened: "each operation opens 10 connections instead of none".
pub(super) fn connections(calls: &Calls<'_>) -> Fact {
    let usual = (calls.base >= 0.05).then(|| Value::plain(calls.base));
    of_calls(&facts::CONNECTIONS, calls).over(usual)
}

/// The release in which `synchronized` no longer keeps virtual threads on their carriers.
const NO_PIN_BY_MONITORS: u32 = 24;

/// What to do where virtual threads stay on their carriers, in a JVM of a release.
pub(crate) fn let_go_of_carriers(jdk: Option<u32>) -> &'static Metric {
    match jdk.is_some_and(|jdk| jdk >= NO_PIN_BY_MONITORS) {
        true => &remedies::NO_WAITS_ON_CARRIERS,
        false => &remedies::NO_PINNING_MONITORS,
    }
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
pub(super) fn meaning(category: Category, others_behind: bool) -> &'static Metric {
    match (category, others_behind) {
        (_, true) => &meanings::SHARED_WAIT,
        (category, _) if category.is_running() => &meanings::MORE_CPU_TIME,
        (Category::Sleep, _) => &meanings::LONGER_SLEEP,
        _ => &meanings::GREW_MOST,
    }
}

/// What to look at next.
pub(super) fn remedy(key: &Key<'_>) -> Remedy {
    match key.category {
        Category::Child if is_file(key) => remedies::FILE_LOCK.remedy(),
        category => remedy_of(category),
    }
}

/// The same by the category alone.
pub(super) fn remedy_of(category: Category) -> Remedy {
    match category {
        Category::Network => &remedies::LOOK_AT_PEER,
        Category::Disk => &remedies::LOOK_AT_FILE,
        Category::RunQueue => &remedies::MORE_CPUS,
        Category::Throttled => &remedies::RAISE_QUOTA,
        Category::Sleep => &remedies::FIND_SLEEP,
        Category::TimedWait => &remedies::SHORTER_WAIT,
        Category::Child => &remedies::NO_PROCESS_EACH,
        category if category.is_running() => &remedies::COMPARE_FLAMES,
        _ => &remedies::FOLLOW_CHAIN,
    }
    .remedy()
}
