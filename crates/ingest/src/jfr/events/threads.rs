//! Threads: waits for locks, parks, sleeps, their start and end, classes, exceptions.

use fathom_recording::vocabulary::{figure, kind, label};

use super::{Event, Kind, Reader};

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "jdk.JavaMonitorEnter",
        fields: &["monitorClass", "previousOwner", "address"],
        read: monitor_enter,
    },
    Kind {
        name: "jdk.JavaMonitorWait",
        fields: &["monitorClass", "notifier", "address"],
        read: monitor_wait,
    },
    Kind { name: "jdk.ThreadPark", fields: &["parkedClass", "address"], read: park },
    Kind { name: "jdk.ThreadSleep", fields: &[], read: sleep },
    Kind { name: "jdk.VirtualThreadPinned", fields: &["pinnedReason", "blockingOperation"], read: pinned },
    Kind { name: "profiler.NativeLock", fields: &["address"], read: native_lock },
    Kind { name: "jdk.ThreadStart", fields: &["thread"], read: start },
    Kind { name: "jdk.ThreadEnd", fields: &["thread"], read: end },
    Kind { name: "jdk.ClassLoad", fields: &["loadedClass"], read: class_load },
    Kind { name: "jdk.ClassUnload", fields: &["unloadedClass"], read: class_unload },
    Kind { name: "jdk.JavaExceptionThrow", fields: &["thrownClass", "message"], read: thrown },
    Kind { name: "jdk.JavaErrorThrow", fields: &["thrownClass", "message"], read: thrown },
];

/// A lock, by the class of its object; with the address that tells it from others of the class.
fn lock<'a>(
    reader: &mut Reader<'_, 'a, '_>,
    event: &Event<'_, 'a>,
    kind: &str,
    address: usize,
) -> Option<()> {
    let class = reader.text(event.field(0)).unwrap_or_default();
    let owner = if address == 2 { reader.text(event.field(1)) } else { None };
    let address = event.integer(address).filter(|a| *a != 0).map(|a| format!("{a:#x}"));
    let mut labels = Vec::new();
    labels.extend(owner.as_deref().filter(|o| !o.is_empty()).map(|owner| (label::OWNER, owner)));
    labels.extend(address.as_deref().map(|address| (label::ADDRESS, address)));
    reader.span(event, kind, &class, &[], &labels)
}

fn monitor_enter<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    lock(reader, event, kind::LOCK_MONITOR, 2)
}

fn monitor_wait<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    lock(reader, event, kind::LOCK_WAIT, 2)
}

fn park<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    lock(reader, event, kind::LOCK_PARK, 1)
}

fn sleep<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.span(event, kind::THREAD_SLEEP, "sleep", &[], &[])
}

/// A virtual thread that kept its carrier while it waited (JDK 21 and later).
fn pinned<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let reason = reader.text(event.field(0)).unwrap_or_default();
    let blocked = reader.text(event.field(1)).unwrap_or_default();
    let name = if blocked.is_empty() { "pinned" } else { &blocked };
    let labels = [(label::REASON, &*reason)];
    let labels = if reason.is_empty() { &[][..] } else { &labels[..] };
    reader.span(event, kind::THREAD_PINNED, name, &[], labels)
}

/// A wait for a `pthread` lock, as async-profiler sees it.
fn native_lock<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let address = event.integer(0).map(|a| format!("{a:#x}")).unwrap_or_default();
    reader.span(event, kind::LOCK_NATIVE, "pthread", &[], &[(label::ADDRESS, &address)])
}

fn start<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    life(reader, event, kind::THREAD_START)
}

fn end<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    life(reader, event, kind::THREAD_END)
}

fn life<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>, kind: &str) -> Option<()> {
    let name = reader.text(event.field(0)).unwrap_or_default();
    let (t0_ns, t1_ns) = event.times()?;
    let (thread, stack) = (reader.thread_of(event.field(0)), reader.stack(event));
    let entry = super::Entry::new(kind, &name, t0_ns, t1_ns);
    reader.book.span(&super::Entry { thread, stack, ..entry });
    Some(())
}

fn class_load<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let class = reader.text(event.field(0))?;
    reader.span(event, kind::CLASS_LOAD, &class, &[], &[])
}

fn class_unload<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let class = reader.text(event.field(0))?;
    reader.span(event, kind::CLASS_UNLOAD, &class, &[], &[])
}

/// What was thrown. Its message is not kept: it may hold data of the application.
fn thrown<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let class = reader.text(event.field(0))?;
    let error = f64::from(u8::from(event.name == "jdk.JavaErrorThrow"));
    reader.span(event, kind::EXCEPTION, &class, &[(figure::IS_ERROR, error)], &[])
}
