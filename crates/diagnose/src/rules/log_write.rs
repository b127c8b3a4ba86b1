//! The proof of a blocked write of the log: the system call itself, timed by the kernel.

use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{ProcessId, Role, Span};

use crate::waits::Heading;
use crate::waits::stack::ByStack;
use crate::{Case, quantity};

/// Part of a gap that a call must cover to be what filled it.
const COVERS: f64 = 0.8;

/// System calls that write to a file.
const WRITES: [&str; 4] = ["write", "writev", "pwrite64", "pwritev"];

/// What the kernel says of the time in which a stop did nothing.
pub(super) enum Kernel<'a> {
    /// A write took it.
    Write(Span<'a>, String),
    /// A page fault of the VM thread took it: a file that is mapped, not one that is written.
    Fault(Span<'a>, String),
}

/// What the kernel says of `ms` milliseconds of a stop in which nothing was done. An strace does not say whose JVM it
/// watched: its calls count where no other JVM's would be meant.
pub(super) fn during<'a>(case: &Case<'a>, jvm: ProcessId, stop: &Span<'_>, ms: f64) -> Option<Kernel<'a>> {
    // A stop is stamped in milliseconds, and its log is written until after its end.
    let slack_ns = (ms * 1e6 * (1.0 - COVERS)) as i64;
    let from_ns = stop.t0_ns().saturating_sub(slack_ns);
    let to_ns = stop.t1_ns().max(stop.t0_ns().saturating_add((ms * 1e6) as i64)).saturating_add(slack_ns);
    let fills = |span: &Span<'_>| span.overlap_ns(from_ns, to_ns) as f64 >= COVERS * ms * 1e6;
    let named = |process: ProcessId| case.recording.processes.get(process.index()).is_some_and(|p| p.jvm);
    let own = |span: &Span<'_>| span.process() == jvm || !named(span.process());
    let in_kernel = |span: &Span<'_>| quantity::millis(span.duration_ns() as f64 / 1e6);

    let calls = case.recording.spans_of(kind::SYSCALL);
    let writes = calls.filter(|s| WRITES.contains(&s.name()) && own(s) && fills(s));
    if let Some(call) = writes.max_by_key(Span::duration_ns) {
        let to = call.label(label::PATH).map_or(String::new(), |path| format!(" to {path}"));
        let text = format!(
            "{}(){to} on {} took {} in the kernel",
            call.name(),
            thread(case, &call),
            in_kernel(&call)
        );
        return Some(Kernel::Write(call, text));
    }
    let stacks = ByStack::of(case.recording);
    let vm = |s: &Span<'_>| s.thread().is_some_and(|t| case.recording.threads[t.index()].role == Role::Vm);
    let off = case.recording.spans_of(kind::SCHED_OFF).filter(|s| s.process() == jvm && vm(s) && fills(s));
    // The JVM's other threads sleep through a stop; the one that does the stop is the one in a call or a fault.
    off.filter_map(|span| match (span.label(label::SYSCALL), stacks.heading(span.stack())) {
        (_, Heading::PageFault) => {
            let text = format!("{} was in a page fault for {}", thread(case, &span), in_kernel(&span));
            Some(Kernel::Fault(span, text))
        }
        (Some(call), _) if WRITES.contains(&call) => {
            let text =
                format!("{} was off the CPU in {call}() for {}", thread(case, &span), in_kernel(&span));
            Some(Kernel::Write(span, text))
        }
        _ => None,
    })
    .max_by_key(|found| match found {
        Kernel::Write(span, _) | Kernel::Fault(span, _) => span.duration_ns(),
    })
}

/// The thread of a span: its name, or its id where only that is known.
fn thread(case: &Case<'_>, span: &Span<'_>) -> String {
    let thread = span.thread().and_then(|id| case.recording.threads.get(id.index()));
    let name = thread.map_or("", |thread| case.recording.strings.get(thread.name)).trim();
    match thread.and_then(|thread| thread.tid) {
        Some(tid) if name.is_empty() => format!("thread {tid}"),
        _ if name.is_empty() => "a thread".to_owned(),
        _ => name.to_owned(),
    }
}
