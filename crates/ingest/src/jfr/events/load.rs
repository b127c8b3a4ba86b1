//! Load of the machine, the process and its threads, and memory: values about once per second.

use fathom_recording::vocabulary::series;

use super::{Event, Kind, Reader};

pub(super) const KINDS: &[Kind] = &[
    Kind { name: "jdk.CPULoad", fields: &["jvmUser", "jvmSystem", "machineTotal"], read: cpu },
    Kind { name: "jdk.ThreadCPULoad", fields: &["user", "system"], read: thread_cpu },
    Kind { name: "jdk.ThreadContextSwitchRate", fields: &["switchRate"], read: switches },
    Kind { name: "jdk.PhysicalMemory", fields: &["totalSize", "usedSize"], read: memory },
    Kind { name: "jdk.ResidentSetSize", fields: &["size"], read: resident },
    Kind { name: "jdk.JavaThreadStatistics", fields: &["activeCount"], read: threads },
    Kind { name: "jdk.DataLoss", fields: &["amount"], read: data_loss },
];

fn cpu<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let t_ns = event.t0_ns()?;
    for (at, name) in [(0, series::CPU_JVM_USER), (1, series::CPU_JVM_SYSTEM), (2, series::CPU_MACHINE)] {
        reader.writer.gauge(name, "share", "", t_ns, event.number(at)?);
    }
    Some(())
}

/// The load of a thread: one series per name, so that a pool of a thousand workers does not become
/// a thousand series.
fn thread_cpu<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let (busy, t_ns) = (event.number(0)? + event.number(1)?, event.t0_ns()?);
    // A thread that ended before the JVM wrote its name down has none.
    if let Some(name) = reader.text(event.standard(2)).filter(|name| !name.is_empty()) {
        reader.writer.gauge(series::CPU_THREAD, "share", &name, t_ns, busy);
    }
    Some(())
}

fn switches<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.writer.gauge(series::CONTEXT_SWITCHES, "1/s", "", event.t0_ns()?, event.number(0)?);
    Some(())
}

fn memory<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.writer.fact(fathom_recording::vocabulary::fact::MEMORY_BYTES, event.integer(0)?.to_string());
    reader.writer.gauge(series::MEMORY_USED, "bytes", "", event.t0_ns()?, event.number(1)?);
    Some(())
}

fn resident<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.writer.gauge(series::MEMORY_RESIDENT, "bytes", "", event.t0_ns()?, event.number(0)?);
    Some(())
}

fn threads<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.writer.gauge(series::JAVA_THREADS, "threads", "", event.t0_ns()?, event.number(0)?);
    Some(())
}

/// Bytes that the JVM had no buffer for. The number of events is not recorded: at least one.
fn data_loss<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    event.integer(0)?;
    reader.writer.lost(1);
    Some(())
}
