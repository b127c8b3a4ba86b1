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

/// An address as text, without an allocation: each event of a lock has one.
struct Hex {
    digits: [u8; 18],
    from: usize,
}

impl Hex {
    fn of(address: i64) -> Self {
        let mut hex = Self { digits: [b'0'; 18], from: 18 };
        let mut rest = address as u64;
        while rest > 0 || hex.from == 18 {
            hex.from -= 1;
            hex.digits[hex.from] = b"0123456789abcdef"[(rest & 0xf) as usize];
            rest >>= 4;
        }
        hex.from -= 2;
        hex.digits[hex.from + 1] = b'x';
        hex
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.digits[self.from..]).unwrap_or_default()
    }
}

/// A lock, by the class of its object; with the address, which distinguishes it from others of the
/// class.
fn lock<'a>(
    reader: &mut Reader<'_, 'a, '_>,
    event: &Event<'_, 'a>,
    kind: &str,
    address: usize,
) -> Option<()> {
    let class = reader.text(event.field(0)).unwrap_or_default();
    let owner = if address == 2 { reader.text(event.field(1)) } else { None };
    let address = event.integer(address).filter(|a| *a != 0).map(Hex::of);
    let owner = owner.as_deref().filter(|o| !o.is_empty()).map(|owner| (label::OWNER, owner));
    let address = address.as_ref().map(|address| (label::ADDRESS, address.text()));
    match (owner, address) {
        (Some(owner), Some(address)) => reader.span(event, kind, &class, &[], &[owner, address]),
        (one, other) => reader.span(event, kind, &class, &[], one.or(other).as_slice()),
    }
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

/// A virtual thread that kept its carrier while it waited (pinned; JDK 21 and later).
fn pinned<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let reason = reader.text(event.field(0)).unwrap_or_default();
    let blocked = reader.text(event.field(1)).unwrap_or_default();
    let name = if blocked.is_empty() { "pinned" } else { &blocked };
    let labels = [(label::REASON, &*reason)];
    let labels = if reason.is_empty() { &[][..] } else { &labels[..] };
    reader.span(event, kind::THREAD_PINNED, name, &[], labels)
}

/// A wait for a `pthread` lock, as async-profiler records it.
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
    reader.writer.span(&super::Entry { thread, stack, ..entry });
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

/// What was thrown. Its message is not kept, because it may hold data of the application.
fn thrown<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let class = reader.text(event.field(0))?;
    let error = f64::from(u8::from(event.name == "jdk.JavaErrorThrow"));
    reader.span(event, kind::EXCEPTION, &class, &[(figure::IS_ERROR, error)], &[])
}

#[cfg(test)]
mod tests {
    use super::Hex;

    #[test]
    fn addresses_are_written_as_the_jvm_writes_them() {
        for address in [0, 1, 0xf, 0x10, 0x7f12_3456_789a, i64::MAX, i64::MIN, -1] {
            assert_eq!(Hex::of(address).text(), format!("{address:#x}"));
        }
    }
}
