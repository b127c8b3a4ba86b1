//! LogCompilation logs (`-XX:+UnlockDiagnosticVMOptions -XX:+LogCompilation`): the whole life of a
//! compile task.
//!
//! | record | from | until |
//! |---|---|---|
//! | `jit.queue` | `task_queued` | the `task` of the same compile id |
//! | `jit.compile` | `task` | `task_done` |
//! | `jit.install` | `nmethod` | |
//! | `jit.invalidate` | `make_not_entrant` | |
//! | `jit.trap` | `uncommon_trap` of the main stream; those in a task's parse tree are possible
//! traps | |
//! | `jit.dependency` | `dependency_failed` | |
//! | `jit.failure` | `failure` of a task that did not succeed; `make_not_compilable` | |
//! | `jit.code-cache-full`, `jit.sweep` | `code_cache_full`, `sweeper` | |
//! | series `codecache.used` | `code_cache` of each task, against the size that was set or the
//! default that fits | |
//!
//! The log comes in three forms, recognised by content:
//!
//! * complete: the main stream, followed by each compiler thread's tasks;
//! * truncated by `kill -9` or a crash: the main stream up to its last 4 kB, no task at all. The
//!   start of a queued task is not in it: the wait then ends at the installation, or where it
//!   began, with `wait_known` = 0;
//! * a compiler thread's own file (`/tmp/hs_c<tid>_pid<pid>.log`), which the JVM then leaves
//!   behind, without root element and wall-clock time. Read together with the main file it gives
//!   the tasks, and the ends of the waits.
//!
//! Timestamps are seconds since the JVM's start with three digits, the zero of unified logging's
//! `uptime`; `time_ms` of the root is the wall-clock time of that zero. Absent attributes mean:
//! `level` the highest tier, `compile_kind` a normal compilation, `count` none. Sources:
//! `compileTask.cpp`, `compileBroker.cpp`, `compileLog.cpp`, `nmethod.cpp`, `deoptimization.cpp`,
//! `xmlstream.cpp` of HotSpot 8 to 25, and logs of 11, 17, 21 and 25.

mod elements;
mod header;
mod main_stream;
mod markup;
mod open_tasks;
mod out;
mod run;
mod task;
#[cfg(test)]
mod tests;

use fathom_recording::Sink;
use memchr::memmem;

use self::markup::Element;
use self::out::Out;
use self::run::Run;
use crate::{Confidence, Format, IngestError, Input};

/// Id of the format.
pub(super) const ID: &str = "log-compilation";

/// The format of `-XX:+LogCompilation`.
pub(crate) struct LogCompilation;

impl Format for LogCompilation {
    fn id(&self) -> &'static str {
        ID
    }

    fn about(&self) -> &'static str {
        "LogCompilation XML of HotSpot 8 to 25: complete, truncated, or a compiler thread's own hs_c*.log: tasks, queue \
         waits, installed and invalidated code, traps, code cache"
    }

    fn written_by_jvms(&self) -> bool {
        true
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        let start = head.trim_ascii_start();
        let root = memmem::find(&start[..start.len().min(400)], b"<hotspot_log ");
        if root == Some(0) || (root.is_some() && start.starts_with(b"<?xml")) {
            return Confidence(100);
        }
        if start.starts_with(b"<start_compile_thread ") {
            return Confidence(95);
        }
        // The end of a log whose beginning was rotated or deleted.
        let wanted: [&[u8]; 3] =
            [b"\n<task_queued compile_id='", b"\n<task compile_id='", b"\n<nmethod compile_id='"];
        Confidence(if wanted.iter().any(|element| memmem::find(head, element).is_some()) { 80 } else { 0 })
    }

    fn read(&self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), IngestError> {
        let mut out = Out::new(sink, &input.name);
        let mut run = Run::new();
        let mut found = false;
        while let Some(line) = input.lines.next() {
            let element = Element::of(line.bytes);
            if run.is_followed_by(element.as_ref()) {
                std::mem::replace(&mut run, Run::new()).finish(false, line.number, &mut out);
                found |= out.has_source();
                out.next_run();
            }
            run.take(line.number, line.bytes, element, &mut out);
        }
        run.finish(input.lines.ends_in_line(), input.lines.number(), &mut out);
        found |= out.has_source();
        if found { Ok(()) } else { Err(IngestError::Empty { path: input.name.clone().into(), format: ID }) }
    }
}
