//! The proof of a blocked write of the log: the system call itself, timed by the kernel.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{FrameType, ProcessId, Role, Span};

use super::gc_case::summed;
use crate::facts::{Metric, Value, written as facts};
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::waits::log_write::{WRITES, log_writes};
use crate::{Case, Evidence, Fact, Window, written_back};

/// Part of a gap that a call must cover to be what filled it.
const COVERS: f64 = 0.8;

/// The words for a writer that the kernel holds back.
pub(super) const THROTTLED: &str = "throttled, because too much is waiting to be written";

/// What a writer waits for, by functions of the kernel that its stack holds at the switch; the
/// first that is found decides (Linux 5.10 to 6.18: mm/page-writeback.c, mm/filemap.c, fs/jbd2,
/// fs/super.c).
const WAITED_FOR: [(&str, &str); 9] = [
    ("balance_dirty_pages", THROTTLED),
    ("folio_wait_writeback", "for a page that is being written back"),
    ("folio_wait_stable", "for a page that is being written back"),
    ("wait_on_page_writeback", "for a page that is being written back"),
    ("do_get_write_access", "for the file system's journal"),
    ("start_this_handle", "for the file system's journal"),
    ("jbd2_", "for the file system's journal"),
    ("percpu_rwsem_wait", "for the file system to be thawed"),
    ("io_schedule", "for the disk"),
];

/// A stop in which the log was written: for how long, milliseconds, the longest write, and what of
/// that is known.
pub(super) type Written<'a> = (Span<'a>, f64, Span<'a>, Fact);

/// Stops of a JVM in some windows in which it wrote the log for so long at least.
pub(super) fn in_stops<'a>(
    case: &Case<'a>,
    jvm: ProcessId,
    windows: &[Window],
    least_ms: f64,
) -> Vec<Written<'a>> {
    let mut writes = log_writes(case.recording, jvm);
    let mut found: Vec<Written<'a>> = Vec::new();
    if writes.is_empty() || windows.is_empty() {
        return found;
    }
    writes.sort_by_key(Span::t0_ns);
    let written = Intervals::of(writes.iter().map(|write| (write.t0_ns(), write.t1_ns())));
    let longest_ns = writes.iter().map(Span::duration_ns).max().unwrap_or(0);
    let mut known = Intervals::default();
    // A pause within a safepoint is part of it; without one it is the stop.
    for kind in [kind::SAFEPOINT, kind::GC_PAUSE] {
        let stops: Vec<Span<'a>> = (case.spans_in(kind, jvm, windows))
            .filter(|stop| written.length_within_ns(stop.t0_ns(), stop.t1_ns()) as f64 / 1e6 >= least_ms)
            .filter(|stop| !known.touches(stop.t0_ns(), stop.t1_ns()))
            .collect();
        known = known.or(&Intervals::of(stops.iter().map(|stop| (stop.t0_ns(), stop.t1_ns()))));
        found.extend(stops.iter().filter_map(|stop| {
            let first = writes.partition_point(|w| w.t0_ns() < stop.t0_ns().saturating_sub(longest_ns));
            let near = writes[first..].iter().take_while(|write| write.t0_ns() < stop.t1_ns());
            let own: Vec<Span<'a>> =
                near.filter(|write| write.overlap_ns(stop.t0_ns(), stop.t1_ns()) > 0).copied().collect();
            let ms = written.length_within_ns(stop.t0_ns(), stop.t1_ns()) as f64 / 1e6;
            longest_of(case, stop, &own, ms)
        }));
    }
    found
}

/// The writes of a stop.
fn longest_of<'a>(case: &Case<'a>, stop: &Span<'a>, own: &[Span<'a>], ms: f64) -> Option<Written<'a>> {
    let during = |span: &Span<'_>| span.overlap_ns(stop.t0_ns(), stop.t1_ns());
    let longest = own.iter().max_by_key(|write| (during(write), write.kind() == kind::SYSCALL))?;
    let to = own.iter().find_map(|write| write.label(label::PATH));
    let waited = own.iter().filter_map(|write| Some((during(write), waited_for(case, write)?)));
    let waited = waited.max_by_key(|(ns, _)| *ns).map(|(_, waited)| waited);
    let call = longest.label(label::SYSCALL).unwrap_or(longest.name());
    let fact = of_write(&facts::WRITE, (case, longest), (call, ms));
    let fact = fact.with("file", to.map(Value::name));
    let fact = fact.with("waited-for", waited.map(|(what, _)| Value::name(what)));
    Some((*stop, ms, *longest, fact.with("function", waited.map(|(_, name)| Value::name(name)))))
}

/// What a writer that was switched out waited for, and the function of the kernel that shows it.
fn waited_for<'a>(case: &Case<'a>, write: &Span<'_>) -> Option<(&'static str, &'a str)> {
    let frames = case.recording.frames_of(write.stack());
    let kernel = frames.filter(|frame| frame.frame_type() == FrameType::Kernel);
    let names: Vec<&str> = kernel.map(|frame| frame.name()).collect();
    WAITED_FOR.iter().find_map(|(beginning, what)| {
        names.iter().find(|name| name.starts_with(beginning)).map(|name| (*what, *name))
    })
}

/// What the kernel says of the time in which a stop did nothing.
pub(super) enum Kernel<'a> {
    /// A write took it.
    Write(Span<'a>, Fact),
    /// A page fault of the VM thread took it: a file that is mapped, not one that is written.
    Fault(Span<'a>, Fact),
}

/// What the kernel says of `ms` milliseconds of a stop in which nothing was done. An strace does
/// not say whose JVM it watched: its calls count where no other JVM's would be meant.
pub(super) fn during<'a>(case: &Case<'a>, jvm: ProcessId, stop: &Span<'_>, ms: f64) -> Option<Kernel<'a>> {
    // A stop is stamped in milliseconds, and its log is written until after its end.
    let slack_ns = (ms * 1e6 * (1.0 - COVERS)) as i64;
    let from_ns = stop.t0_ns().saturating_sub(slack_ns);
    let to_ns = stop.t1_ns().max(stop.t0_ns().saturating_add((ms * 1e6) as i64)).saturating_add(slack_ns);
    let fills = |span: &Span<'_>| span.overlap_ns(from_ns, to_ns) as f64 >= COVERS * ms * 1e6;
    let named = |process: ProcessId| case.recording.processes.get(process.index()).is_some_and(|p| p.jvm);
    let own = |span: &Span<'_>| span.process() == jvm || !named(span.process());
    let in_kernel = |span: &Span<'_>| span.duration_ns() as f64 / 1e6;

    let calls = case.recording.spans_of(kind::SYSCALL);
    let writes = calls.filter(|s| WRITES.contains(&s.name()) && own(s) && fills(s));
    if let Some(call) = writes.max_by_key(Span::duration_ns) {
        let fact = of_write(&facts::TRACED, (case, &call), (call.name(), in_kernel(&call)));
        return Some(Kernel::Write(call, fact.with("file", call.label(label::PATH).map(Value::name))));
    }
    let stacks = case.known.stacks();
    let vm = |s: &Span<'_>| s.thread().is_some_and(|t| case.recording.threads[t.index()].role == Role::Vm);
    let off = case.recording.spans_of(kind::SCHED_OFF).filter(|s| s.process() == jvm && vm(s) && fills(s));
    // The JVM's other threads sleep through a stop; the one that does the stop is the one in a call
    // or a fault.
    off.filter_map(|span| match (span.label(label::SYSCALL), stacks.category(span.stack())) {
        (_, Category::PageFault) => {
            let fact = facts::FAULT.is(Value::ms(in_kernel(&span)));
            Some(Kernel::Fault(span, fact.with("thread", thread(case, &span))))
        }
        (Some(call), _) if WRITES.contains(&call) => {
            let fact = of_write(&facts::OFF_CPU, (case, &span), (call, in_kernel(&span)));
            Some(Kernel::Write(span, fact))
        }
        _ => None,
    })
    .max_by_key(|found| match found {
        Kernel::Write(span, _) | Kernel::Fault(span, _) => span.duration_ns(),
    })
}

/// A metric of a write that took `ms`: on which thread, in which call, and what happened meanwhile.
fn of_write(metric: &'static Metric, (case, write): (&Case<'_>, &Span<'_>), (call, ms): (&str, f64)) -> Fact {
    let fact = metric.is(Value::ms(ms)).with("thread", thread(case, write));
    fact.with("call", Value::name(call)).with("meanwhile", meanwhile(case, write).map(Value::from))
}

/// What a disk or the page cache was busy with for most of a write that hung, whoever caused it.
fn meanwhile(case: &Case<'_>, write: &Span<'_>) -> Option<Fact> {
    let most = |span: &Span<'_>| {
        span.overlap_ns(write.t0_ns(), write.t1_ns()) as f64 >= COVERS * write.duration_ns() as f64
    };
    let kinds = [kind::DISK_COMMIT, kind::DISK_WRITEBACK, kind::DISK_REQUEST];
    let span = kinds.iter().find_map(|kind| case.recording.spans_of(kind).find(&most))?;
    let device = span.label(label::DEVICE).unwrap_or("a device");
    let took = |metric: &'static Metric| {
        metric.is(Value::ms(span.duration_ns() as f64 / 1e6)).with("device", Value::name(device))
    };
    Some(match span.kind() {
        kind::DISK_COMMIT => took(&facts::COMMIT),
        kind::DISK_WRITEBACK => {
            let intervals = Intervals::of([(write.t0_ns(), write.t1_ns())]);
            let files = written_back::what(case.recording, device, &intervals);
            let fact = took(&facts::WRITEBACK).with("reason", Value::name(span.name()));
            fact.with("files", files.map(Value::from))
        }
        _ => {
            let issuer = span.label(label::ISSUER).unwrap_or("another process");
            let fact = took(&facts::REQUEST).with("request", Value::name(span.name()));
            fact.with("issuer", Value::name(issuer))
        }
    })
}

/// Whose data kept the device busy to which a JVM's writers were throttled, over the slow windows:
/// a writer waits until as much is written back, whoever wrote it. `None` where none of its threads
/// was throttled, or nobody counted what was written back.
pub(super) fn throttled_meanwhile(case: &Case<'_>, jvm: ProcessId) -> Option<Evidence> {
    let mut devices: BTreeMap<&str, (i64, Span<'_>)> = BTreeMap::new();
    for span in case.spans_in(kind::DISK_THROTTLE, jvm, &case.slow) {
        let device = devices.entry(span.label(label::DEVICE)?).or_insert((0, span));
        device.0 = device.0.saturating_add(span.duration_ns());
    }
    let (device, (_, span)) = devices.into_iter().max_by_key(|(_, (ns, _))| *ns)?;
    let what = written_back::what(case.recording, device, &Intervals::of_windows(&case.slow))?;
    let source = case.recording.sources.get(span.source().index()).map_or("", |source| source.name.as_str());
    let fact = facts::BACK.fact().with("device", Value::name(device)).with("files", Value::from(what));
    Some(summed(source, fact))
}

/// The thread of a span.
fn thread(case: &Case<'_>, span: &Span<'_>) -> Option<Value> {
    span.thread().map(|id| Value::Name(case.recording.thread_label(id)))
}
