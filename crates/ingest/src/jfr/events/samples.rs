//! Samples: of threads, of allocations, of live objects.
//!
//! The weight of a sample comes from the recording's settings: the JDK's sampler looks at its
//! threads every `period`, async-profiler every `interval` of the event that it counts.

use fathom_recording::vocabulary::sample;

use super::{Event, Kind, Reader, RunWriter};

pub(super) const KINDS: &[Kind] = &[
    Kind { name: "jdk.ExecutionSample", fields: &["sampledThread", "state"], read: execution },
    Kind { name: "jdk.NativeMethodSample", fields: &["sampledThread"], read: native },
    Kind { name: "jdk.CPUTimeSample", fields: &["samplingPeriod", "failed"], read: cpu_time },
    Kind { name: "jdk.CPUTimeSamplesLost", fields: &["lostSamples"], read: lost_samples },
    Kind {
        name: "profiler.WallClockSample",
        fields: &["sampledThread", "samples", "timeSpan"],
        read: wall_clock,
    },
    Kind { name: "jdk.ObjectAllocationSample", fields: &["weight", "objectClass"], read: allocation },
    Kind { name: "jdk.ObjectAllocationInNewTLAB", fields: &["tlabSize", "objectClass"], read: allocation },
    Kind {
        name: "jdk.ObjectAllocationOutsideTLAB",
        fields: &["allocationSize", "objectClass"],
        read: allocation,
    },
    Kind { name: "jdk.OldObjectSample", fields: &["objectSize", "allocationTime"], read: live },
    Kind { name: "profiler.LiveObject", fields: &["allocationSize", "allocationTime"], read: live },
    Kind { name: "profiler.Malloc", fields: &["size"], read: malloc },
];

/// The settings of `jdk.ExecutionSample`.
const EXECUTION: &str = "jdk.ExecutionSample";
/// JDK 11 to 25, `default.jfc`.
const JDK_PERIOD_NS: i64 = 20_000_000;
/// `DEFAULT_INTERVAL` of async-profiler.
const ASYNC_INTERVAL_NS: i64 = 10_000_000;
/// `DEFAULT_WALL_INTERVAL` is five times as long.
const ASYNC_WALL_NS: i64 = 50_000_000;

/// async-profiler's names of the events whose interval is a time.
const CPU_CLOCKS: [&str; 4] = ["cpu", "itimer", "ctimer", "cpu-clock"];

/// The weight of samples according to the recording's settings.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Counted {
    /// `jdk.ExecutionSample` of threads that were asleep, and of all others.
    asleep: (&'static str, i64),
    awake: (&'static str, i64),
    native_ns: i64,
    wall_ns: i64,
}

impl Counted {
    fn in_book(writer: &mut RunWriter<'_>) -> Self {
        match writer.counted {
            Some(counted) => counted,
            None => *writer.counted.insert(Self::of(writer)),
        }
    }

    fn of(writer: &RunWriter<'_>) -> Self {
        let native_ns = writer.setting_ns("jdk.NativeMethodSample", "period").unwrap_or(JDK_PERIOD_NS);
        let wall_ns = writer.setting_ns(EXECUTION, "wall").filter(|n| *n > 0).unwrap_or(ASYNC_WALL_NS);
        let Some(counted) = writer.setting("jdk.ActiveRecording", "event") else {
            let of_cpu = (sample::CPU, writer.setting_ns(EXECUTION, "period").unwrap_or(JDK_PERIOD_NS));
            return Self { asleep: of_cpu, awake: of_cpu, native_ns, wall_ns };
        };
        let wall = counted == "wall";
        let time = wall || CPU_CLOCKS.contains(&counted);
        let default = if wall { ASYNC_WALL_NS } else { ASYNC_INTERVAL_NS };
        let interval = writer.setting_ns(EXECUTION, "interval").filter(|n| *n > 0);
        let of_wall = (sample::WALL, interval.unwrap_or(default));
        let awake = match (wall, time) {
            (true, _) => of_wall,
            (false, true) => (sample::CPU, interval.unwrap_or(default)),
            (false, false) => (sample::EVENT, interval.unwrap_or(1)),
        };
        Self { asleep: of_wall, awake, native_ns, wall_ns }
    }

    fn of_sample(self, asleep: bool) -> (&'static str, i64) {
        if asleep { self.asleep } else { self.awake }
    }
}

/// A thread that ran Java code (JDK), or whatever async-profiler counted.
fn execution<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let state = reader.text(event.field(1));
    let asleep = state.as_deref() == Some("STATE_SLEEPING");
    let (kind, weight) = Counted::in_book(reader.writer).of_sample(asleep);
    put(reader, event, kind, 0, weight)
}

/// A thread in native code; whether it ran or waited there is not recorded.
fn native<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let period = Counted::in_book(reader.writer).native_ns;
    put(reader, event, sample::NATIVE, 0, period)
}

/// JDK 25: by the CPU time of the thread. A sample without a stack still represents time.
fn cpu_time<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let weight = event.integer(0)?;
    let (thread, stack) = (reader.thread(event), reader.stack(event));
    reader.writer.sample(sample::CPU, event.t0_ns()?, thread, stack, weight.max(0));
    Some(())
}

fn lost_samples<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.writer.lost(u64::try_from(event.integer(0)?).ok()?);
    Some(())
}

/// A thread, whether it ran or not; one that stays idle is recorded once for several samples, with
/// their time.
fn wall_clock<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let interval = Counted::in_book(reader.writer).wall_ns;
    let by_count = event.integer(1).unwrap_or(1).max(1).saturating_mul(interval);
    let weight = event.integer(2).filter(|ns| *ns > 0).unwrap_or(by_count);
    put(reader, event, sample::WALL, 0, weight)
}

/// A sample of the thread in a field of its own.
fn put<'a>(
    reader: &mut Reader<'_, 'a, '_>,
    event: &Event<'_, 'a>,
    kind: &str,
    thread: usize,
    weight: i64,
) -> Option<()> {
    let (thread, stack) = (reader.thread_of(event.field(thread)), reader.stack(event));
    reader.writer.sample(kind, event.t0_ns()?, thread, stack, weight);
    Some(())
}

/// An allocation, with the bytes that were allocated since the previous sample as its weight. The
/// class is its innermost frame, as for the allocation probe.
fn allocation<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let (thread, caller) = (reader.thread(event), reader.stack(event));
    let class = reader.names.class_frame(event.field(1), reader.writer.sink);
    let stack = class.map(|class| reader.writer.sink.stack(caller, class)).or(caller);
    reader.writer.sample(sample::ALLOC, event.t0_ns()?, thread, stack, event.integer(0)?.max(0));
    Some(())
}

fn malloc<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    by_size(reader, event, sample::MALLOC)
}

/// An object that is still live: the sample has the time when it was allocated.
fn live<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let t_ns = event.integer(1).or(event.t0_ns())?;
    let (thread, stack) = (reader.thread(event), reader.stack(event));
    // JDK 11 does not record the size.
    let size = event.integer(0).unwrap_or(0).max(0);
    reader.writer.sample(sample::LIVE, t_ns, thread, stack, size);
    Some(())
}

fn by_size<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>, kind: &str) -> Option<()> {
    let (thread, stack) = (reader.thread(event), reader.stack(event));
    reader.writer.sample(kind, event.t0_ns()?, thread, stack, event.integer(0)?.max(0));
    Some(())
}
