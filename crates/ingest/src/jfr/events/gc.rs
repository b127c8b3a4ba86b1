//! Collections and safepoints: the events that [`super::super::gc_events`] and
//! [`super::super::safepoints`] assemble.

use fathom_recording::vocabulary::{failure, figure, kind, label};

use super::super::gc_events::Level;
use super::{Event, Kind, Reader, known};

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "jdk.GarbageCollection",
        fields: &["gcId", "name", "cause", "sumOfPauses"],
        read: collection,
    },
    Kind { name: "jdk.GCPhasePause", fields: &["gcId", "name"], read: pause },
    Kind { name: "jdk.GCPhasePauseLevel1", fields: &["gcId", "name"], read: part },
    Kind { name: "jdk.GCPhaseConcurrent", fields: &["gcId", "name"], read: concurrent },
    Kind { name: "jdk.G1GarbageCollection", fields: &["gcId", "type"], read: sort },
    Kind { name: "jdk.YoungGarbageCollection", fields: &["gcId", "tenuringThreshold"], read: young },
    Kind { name: "jdk.ZYoungGarbageCollection", fields: &["gcId", "tenuringThreshold"], read: young },
    Kind { name: "jdk.GCCPUTime", fields: &["gcId", "userTime", "systemTime", "realTime"], read: cpu_time },
    Kind {
        name: "jdk.GCHeapSummary",
        fields: &["gcId", "when", "heapUsed", "heapSpace.committedSize"],
        read: heap,
    },
    Kind {
        name: "jdk.G1HeapSummary",
        fields: &["gcId", "when", "edenUsedSize", "edenTotalSize", "survivorUsedSize", "oldGenUsedSize"],
        read: g1_heap,
    },
    Kind {
        name: "jdk.PSHeapSummary",
        fields: &[
            "gcId",
            "when",
            "oldObjectSpace.used",
            "oldSpace.committedSize",
            "edenSpace.used",
            "fromSpace.used",
            "youngSpace.committedSize",
        ],
        read: parallel_heap,
    },
    Kind {
        name: "jdk.MetaspaceSummary",
        fields: &["gcId", "when", "metaspace.used", "metaspace.committed"],
        read: metaspace,
    },
    Kind { name: "jdk.TenuringDistribution", fields: &["gcId", "age", "size"], read: tenuring },
    Kind { name: "jdk.EvacuationFailed", fields: &["gcId"], read: evacuation_failed },
    Kind { name: "jdk.PromotionFailed", fields: &["gcId"], read: promotion_failed },
    Kind { name: "jdk.ConcurrentModeFailure", fields: &["gcId"], read: mode_failed },
    Kind { name: "jdk.ZAllocationStall", fields: &["size"], read: stall },
    Kind { name: "jdk.SafepointBegin", fields: &["safepointId", "totalThreadCount"], read: safepoint_begin },
    Kind {
        name: "jdk.SafepointStateSynchronization",
        fields: &["safepointId", "runningThreadCount"],
        read: safepoint_runnable,
    },
    Kind { name: "jdk.SafepointEnd", fields: &["safepointId"], read: safepoint_end },
    Kind {
        name: "jdk.ExecuteVMOperation",
        fields: &["operation", "safepoint", "safepointId", "caller"],
        read: operation,
    },
    Kind { name: "jdk.SafepointLatency", fields: &["threadState"], read: latency },
];

fn collection<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let id = event.integer(0)?;
    let name = reader.text(event.field(1))?;
    let cause = reader.text(event.field(2)).unwrap_or_default();
    reader.writer.collections.whole(id, (&name, &cause), event.times()?, event.integer(3));
    Some(())
}

fn phase<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>, level: Level) -> Option<()> {
    let (t0_ns, t1_ns) = event.times()?;
    let id = event.integer(0)?;
    let name = reader.text(event.field(1))?;
    reader.writer.collections.phase(id, level, &name, t0_ns, t1_ns);
    Some(())
}

fn pause<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    phase(reader, event, Level::Pause)
}

fn part<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    phase(reader, event, Level::Part)
}

fn concurrent<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    phase(reader, event, Level::Concurrent)
}

fn sort<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let sort = reader.text(event.field(1))?;
    reader.writer.collections.sort(event.integer(0)?, &sort);
    Some(())
}

fn young<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.writer.collections.figure(event.integer(0)?, figure::TENURING_THRESHOLD, event.number(1)?);
    Some(())
}

fn cpu_time<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let id = event.integer(0)?;
    for (at, key) in [(1, figure::USER_S), (2, figure::SYS_S), (3, figure::REAL_S)] {
        reader.writer.collections.figure(id, key, event.number(at)? / 1e9);
    }
    Some(())
}

/// Which side of a change a summary is, by the time at which it was made.
fn side<'a, 'k>(
    reader: &mut Reader<'_, 'a, '_>,
    event: &Event<'_, 'a>,
    keys: [&'k str; 2],
) -> Option<&'k str> {
    let when = reader.text(event.field(1))?;
    Some(keys[usize::from(&*when != "Before GC")])
}

fn heap<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let id = event.integer(0)?;
    let after = side(reader, event, ["", "after"])? == "after";
    let used = event.number(2)?;
    let key = if after { figure::HEAP_AFTER_BYTES } else { figure::HEAP_BEFORE_BYTES };
    // async-profiler's summaries, once per second, belong to no collection.
    if id >= 0 && reader.writer.setting("jdk.ActiveRecording", "event").is_none() {
        reader.writer.collections.figure(id, key, used);
        if let Some(capacity) = event.number(3) {
            reader.writer.collections.figure(id, figure::HEAP_CAPACITY_BYTES, capacity);
        }
    } else {
        reader.writer.gauge(
            fathom_recording::vocabulary::series::HEAP_USED,
            "bytes",
            "",
            event.t0_ns()?,
            used,
        );
    }
    Some(())
}

/// Figures of one side, each with its keys before and after.
fn sides<'a>(
    reader: &mut Reader<'_, 'a, '_>,
    event: &Event<'_, 'a>,
    figures: &[(Option<f64>, [&'static str; 2])],
) -> Option<()> {
    let id = event.integer(0)?;
    let after = side(reader, event, ["", "after"])? == "after";
    for (value, [before_key, after_key]) in figures {
        let key = if after { after_key } else { before_key };
        if let (Some(value), false) = (value, key.is_empty()) {
            reader.writer.collections.figure(id, key, *value);
        }
    }
    Some(())
}

fn g1_heap<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let (eden, survivor) = (event.number(2)?, event.number(4)?);
    let capacity = event.number(3).map(|total| total + survivor);
    sides(
        reader,
        event,
        &[
            (Some(eden), [figure::EDEN_BEFORE_BYTES, figure::EDEN_AFTER_BYTES]),
            (Some(survivor), [figure::SURVIVOR_BEFORE_BYTES, figure::SURVIVOR_AFTER_BYTES]),
            (Some(eden + survivor), [figure::YOUNG_BEFORE_BYTES, figure::YOUNG_AFTER_BYTES]),
            (capacity, ["", figure::YOUNG_CAPACITY_BYTES]),
            // Since JDK 22 or so.
            (event.number(5), [figure::OLD_BEFORE_BYTES, figure::OLD_AFTER_BYTES]),
        ],
    )
}

fn parallel_heap<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let (eden, from) = (event.number(4)?, event.number(5)?);
    sides(
        reader,
        event,
        &[
            (event.number(2), [figure::OLD_BEFORE_BYTES, figure::OLD_AFTER_BYTES]),
            (event.number(3), ["", figure::OLD_CAPACITY_BYTES]),
            (Some(eden), [figure::EDEN_BEFORE_BYTES, figure::EDEN_AFTER_BYTES]),
            (Some(from), [figure::SURVIVOR_BEFORE_BYTES, figure::SURVIVOR_AFTER_BYTES]),
            (Some(eden + from), [figure::YOUNG_BEFORE_BYTES, figure::YOUNG_AFTER_BYTES]),
            (event.number(6), ["", figure::YOUNG_CAPACITY_BYTES]),
        ],
    )
}

fn metaspace<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    sides(
        reader,
        event,
        &[
            (event.number(2), [figure::METASPACE_BEFORE_BYTES, figure::METASPACE_AFTER_BYTES]),
            (event.number(3), ["", figure::METASPACE_COMMITTED_BYTES]),
        ],
    )
}

fn tenuring<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let (id, age, size) = (event.integer(0)?, event.integer(1)?, event.number(2)?);
    if age == 1 {
        reader.writer.collections.figure(id, figure::AGE1_BYTES, size);
    }
    Some(())
}

fn evacuation_failed<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.writer.collections.failed(event.integer(0)?, failure::EVACUATION_FAILURE);
    Some(())
}

fn promotion_failed<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.writer.collections.failed(event.integer(0)?, failure::PROMOTION_FAILED);
    Some(())
}

fn mode_failed<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.writer.collections.failed(event.integer(0)?, failure::CONCURRENT_MODE_FAILURE);
    Some(())
}

fn stall<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let figures = known([(figure::BYTES, event.number(0))]);
    reader.span(event, kind::GC_STALL, "Allocation Stall", &figures, &[])
}

fn safepoint_begin<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.writer.stops.begin(event.integer(0)?, event.times()?, event.number(1));
    Some(())
}

fn safepoint_runnable<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.writer.stops.runnable(event.integer(0)?, event.number(1)?);
    Some(())
}

fn safepoint_end<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let (t0_ns, t1_ns) = event.times()?;
    reader.writer.stops.end(event.integer(0)?, t0_ns, t1_ns);
    Some(())
}

/// A VM operation: at a safepoint, or one that stops no thread.
fn operation<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let name = reader.text(event.field(0))?;
    let (t0_ns, t1_ns) = event.times()?;
    if event.is(1)
        && let Some(id) = event.integer(2).filter(|id| *id > 0)
    {
        reader.writer.stops.operation(id, &name, t0_ns, t1_ns);
    }
    let caller = reader.text(event.field(3));
    let labels: Vec<_> = caller.as_deref().map(|caller| (label::CALLER, caller)).into_iter().collect();
    reader.span(event, kind::VM_OPERATION, &name, &[], &labels)
}

/// A thread that was late to stop (JDK 25).
fn latency<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let state = reader.text(event.field(0)).unwrap_or_default();
    reader.span(event, kind::SAFEPOINT_LATE, &state, &[], &[])
}
