//! Trace contexts of threads: found in processes that have them, and written as spans.

use fathom_recording::vocabulary::kind;
use fathom_recording::{Sink, SpanRow};

use super::Session;
use super::output::Output;
use super::window::Within;
use crate::Unavailable;
use crate::target::TargetEvent;
use crate::thread_context::{Look, SeenSpan};

/// What all of them are called: a program publishes ids, and no names.
const NAME: &str = "span";

impl Session {
    /// Looks for processes that have them, and writes what is over; all that was seen before
    /// `since_ns`, monotonic nanoseconds, has come in.
    pub(super) fn keep_contexts_up(&mut self, since_ns: u64, writer: &mut dyn Output) {
        for (pid, look) in self.services.contexts.look() {
            self.found_contexts(pid, look, writer);
        }
        if !self.services.spans_seen.is_empty() {
            let over = self.services.spans_seen.over(since_ns);
            self.write_spans_seen(&over, writer);
        }
    }

    fn found_contexts(&mut self, pid: i32, look: Look, writer: &mut dyn Output) {
        let Some(unwinder) = self.services.unwinder.clone() else { return };
        match look {
            Look::At(place) => {
                if !unwinder.borrow_mut().code.read_contexts(pid, place) {
                    self.services.contexts.want_later(pid);
                }
            }
            Look::Unsupported(why) => {
                let what = format!("trace contexts of the threads of process {pid}");
                let unseen = Unavailable { scope: None, what, why: why.into(), remedy: String::new() };
                self.say_unseen(unseen, writer);
            }
        }
    }

    /// A process is gone, or another program.
    pub(super) fn end_contexts(&mut self, event: &TargetEvent, writer: &mut dyn Output) {
        self.services.contexts.forget(event.target.pid);
        self.end_spans(Some(event.target.pid.cast_unsigned()), writer);
    }

    /// No more is to come of a process, or of all.
    pub(super) fn end_spans(&mut self, pid: Option<u32>, writer: &mut dyn Output) {
        let seen = self.services.spans_seen.end(pid);
        self.write_spans_seen(&seen, writer);
    }

    /// Writes those that are open as if they ended now.
    pub(super) fn write_open_spans(&mut self, writer: &mut dyn Output) {
        let seen = self.services.spans_seen.unfinished();
        self.write_spans_seen(&seen, writer);
    }

    fn write_spans_seen(&mut self, seen: &[SeenSpan], writer: &mut dyn Output) {
        if seen.is_empty() {
            return;
        }
        writer.source_mut(self.source).records += seen.len() as u64;
        let mut within = Within { to: writer, window: &mut self.window };
        for span in seen {
            let ids = span.ids.texts();
            within.span(&SpanRow {
                kind: kind::TRACE_SPAN,
                name: NAME,
                t0_ns: self.clock.epoch_ns(span.from_ns.cast_signed()),
                t1_ns: self.clock.epoch_ns(span.to_ns.cast_signed()),
                process: span.whose.process,
                thread: Some(span.whose.thread),
                stack: None,
                source: self.source,
                line: 0,
                key: -1,
                parent: None,
                figures: &[],
                labels: &ids.labels(),
            });
        }
    }
}
