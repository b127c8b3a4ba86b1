//! Writes of the JVM to its own log that everybody waits for: those of the VM thread and of the
//! collector's workers, who log phases of a pause as well.
//!
//! Unified logging writes in the thread that logs (`LogFileStreamOutput::write`,
//! logFileStreamOutput.cpp, JDK 9 on; JDK 8: `fileStream::write`, ostream.cpp), and the VM thread
//! logs while all others are stopped. Its other writes (a heap dump, a thread dump) are not log
//! writes. The stack shows which it is, or the path, where the command line names it as a log.

use fathom_recording::vocabulary::{fact, kind, label};
use fathom_recording::{ProcessId, Recording, Role, Span, StackId, Thread};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::intervals::Intervals;

/// Name of the thread that runs VM operations (vmThread.cpp).
pub(crate) const VM_THREAD: &str = "VM Thread";

/// System calls that write to a file.
pub(crate) const WRITES: [&str; 4] = ["write", "writev", "pwrite64", "pwritev"];

/// Functions of the JVM that write a line of a log to its file.
const LOGGING: [&str; 6] = [
    "LogFileStreamOutput::",
    "LogFileOutput::",
    "LogOutput::",
    "gcLogFileStream::write",
    "rotatingFileStream::write",
    "fileStream::write",
];

/// Writes of these threads of a JVM to the JVM's log: calls, and times off the CPU in them.
pub(crate) fn log_writes<'a>(recording: &'a Recording, jvm: ProcessId) -> Vec<Span<'a>> {
    let args = recording.processes.get(jvm.index()).and_then(|p| p.fact(fact::JVM_ARGS)).unwrap_or_default();
    let vm = recording.strings.find(VM_THREAD);
    let stops = |thread: &Thread| Some(thread.name) == vm || thread.role == Role::Gc;
    let of_stops: Vec<bool> = recording.threads.iter().map(stops).collect();
    if !of_stops.contains(&true) {
        return by_stops(recording, jvm);
    }
    let is_its = |span: &Span<'_>| {
        let of_stops = span.thread().and_then(|id| of_stops.get(id.index()));
        of_stops == Some(&true) && span.process() == jvm
    };
    let mut known: FxHashMap<StackId, bool> = FxHashMap::default();
    let mut is_log = |span: &Span<'_>| {
        let logs = |stack| *known.entry(stack).or_insert_with(|| has_logging(recording, stack));
        span.stack().is_some_and(logs) || span.label(label::PATH).is_some_and(|path| is_named(args, path))
    };
    // Whose they are is asked first: of very many, few are those threads'.
    let calls = recording.spans_of(kind::SYSCALL).filter(is_its);
    let calls = calls.filter(|span| WRITES.contains(&span.name()));
    let switches = recording.spans_of(kind::SCHED_OFF).filter(is_its);
    let switches = switches.filter(|s| s.label(label::SYSCALL).is_some_and(|call| WRITES.contains(&call)));
    let writes: Vec<Span<'a>> = calls.chain(switches).filter(|span| is_log(span)).collect();
    if writes.is_empty() { by_stops(recording, jvm) } else { writes }
}

/// Writes of the thread that writes while all others are stopped, where no source names threads and
/// files (an strace): what begins within a stop is the VM thread's, as others are held until it
/// ends.
fn by_stops<'a>(recording: &'a Recording, jvm: ProcessId) -> Vec<Span<'a>> {
    let nameless: Vec<bool> =
        recording.threads.iter().map(|thread| recording.strings.get(thread.name).is_empty()).collect();
    let nameless = |span: &Span<'_>| {
        let unknown = span.thread().and_then(|id| nameless.get(id.index())) == Some(&true);
        unknown && span.process() == jvm && span.stack().is_none() && span.label(label::PATH).is_none()
    };
    let calls = recording.spans_of(kind::SYSCALL);
    let calls: Vec<Span<'a>> = calls.filter(|span| nameless(span) && WRITES.contains(&span.name())).collect();
    let (Some(from), Some(to)) = (calls.iter().map(Span::t0_ns).min(), calls.iter().map(Span::t1_ns).max())
    else {
        return Vec::new();
    };
    let stops = [kind::GC_PAUSE, kind::SAFEPOINT].into_iter().flat_map(|kind| recording.spans_of(kind));
    let stops = Intervals::of(stops.filter(|s| s.process() == jvm).map(|s| (s.t0_ns(), s.t1_ns())));
    let watched = stops.within(from, to).count();
    let mut begun: FxHashMap<_, FxHashSet<usize>> = FxHashMap::default();
    for call in &calls {
        let stop = stops.ranges().partition_point(|stop| stop.1 <= call.t0_ns());
        if stops.ranges().get(stop).is_some_and(|(from, _)| *from < call.t0_ns()) {
            begun.entry(call.thread()).or_default().insert(stop);
        }
    }
    let writer = begun.into_iter().max_by_key(|(thread, stops)| (stops.len(), std::cmp::Reverse(*thread)));
    match writer.filter(|(_, stops)| stops.len() * 2 > watched) {
        Some((thread, _)) => calls.into_iter().filter(|call| call.thread() == thread).collect(),
        None => Vec::new(),
    }
}

fn has_logging(recording: &Recording, stack: StackId) -> bool {
    let logs = |name: &str| LOGGING.iter().any(|beginning| name.starts_with(beginning));
    recording.frames_of(stack).any(|frame| logs(frame.name()))
}

/// Whether the command line names a file as a log: "-Xlog:gc*:file=gc.log", "-Xloggc:gc.log". The
/// kernel gives the absolute path, people write less; "%p" and "%t" and the number of a rotated
/// file are not written there.
fn is_named(args: &str, path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    let options = args.split_whitespace().filter(|arg| arg.starts_with("-Xlog"));
    !file.is_empty() && options.into_iter().any(|option| option.contains(file))
}
