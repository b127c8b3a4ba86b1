//! Calls of methods, where a recording was asked to time or to trace some (JEP 520, JDK 25 on).

use fathom_recording::vocabulary::{figure, kind};

use super::{Event, Kind, Reader, known};

pub(super) const KINDS: &[Kind] = &[
    Kind { name: "jdk.MethodTrace", fields: &["method"], read: call },
    Kind { name: "jdk.MethodTiming", fields: &["method", "invocations", "average", "maximum"], read: timing },
];

fn call<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let method = reader.text(event.field(0))?;
    reader.span(event, kind::METHOD_CALL, &method, &[], &[])
}

/// Since the method is timed, not since the last event. Times are not known of a method that was
/// not called.
fn timing<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let method = reader.text(event.field(0))?;
    let figures = known([
        (figure::CALLS, event.number(1)),
        (figure::MEAN_NS, event.number(2)),
        (figure::MAX_NS, event.number(3)),
    ]);
    reader.span(event, kind::METHOD_TIMING, &method, &figures, &[])
}
