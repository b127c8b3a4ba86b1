//! The trace and the span that a thread is in, as its program publishes them for readers outside:
//! OpenTelemetry's thread context.
//!
//! ```text
//!   place.rs: which library exports otel_thread_ctx_v1, where each thread has it ──▶ bpf/thread_context.h
//!                                                                                         │ with each stack
//!   looks.rs: which process is looked at when          recording ◀── seen.rs: spans ◀─────┘
//! ```
//!
//! It comes with the stacks of CPU samples and of waits. A process that exports no such variable
//! costs a look at its mappings now and then, and nothing for its samples.
//!
//! Source: opentelemetry-specification, `oteps/profiles/4947-thread-ctx.md` (August 2026).

use fathom_recording::vocabulary::label;

mod looks;
mod place;
mod seen;

pub(crate) use looks::{Look, Looks};
pub(crate) use place::Place;
pub(crate) use seen::{SeenSpan, SpansSeen, Whose};

/// A span of a trace, by the ids of W3C's Trace Context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SpanIds {
    pub(crate) trace: [u8; 16],
    pub(crate) span: [u8; 8],
}

impl SpanIds {
    /// In hexadecimal digits.
    pub(crate) fn texts(&self) -> SpanTexts {
        SpanTexts { trace: hex(&self.trace), span: hex(&self.span) }
    }
}

/// The ids of a span as texts.
pub(crate) struct SpanTexts {
    trace: String,
    span: String,
}

impl SpanTexts {
    /// The labels of what belongs to the span.
    pub(crate) fn labels(&self) -> [(&str, &str); 2] {
        [(label::TRACE_ID, &self.trace), (label::SPAN_ID, &self.span)]
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a thread's context was at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It was not read.
    #[default]
    Unknown,
    /// The thread was in no span.
    Nothing,
    /// It was in this one.
    In(SpanIds),
}

impl Seen {
    /// The span, where there was one.
    pub(crate) fn ids(self) -> Option<SpanIds> {
        match self {
            Self::In(ids) => Some(ids),
            Self::Unknown | Self::Nothing => None,
        }
    }
}
