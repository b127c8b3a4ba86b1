//! What a JVM's flight recorder is asked to record: a configuration of our own (`.jfc`), the same
//! for JDK 8 to 25.
//!
//! A JDK leaves out events and settings that it does not know. Thresholds are low, because what one
//! looks for is the rare long one, and stacks are taken where a wait would not be understood
//! without. Left out on purpose: events that hold secrets (`InitialSystemProperty`,
//! `InitialEnvironmentVariable`), and those that cost an application that does much of it: an event
//! for each exception (asked for only where the JDK limits their rate, from 25), an event for each
//! new TLAB (JDK 8 to 15 have no sampled allocations).

use std::fmt::Write;

/// How an event is taken.
#[derive(Clone, Copy)]
enum Take {
    /// Whenever it happens.
    All,
    /// When it lasted at least so many milliseconds.
    Over(u32),
    /// The same with the stack of its thread.
    OverWithStack(u32),
    /// With the stack of its thread, no more than so many a second.
    RateWithStack(u32),
    /// Once so many milliseconds.
    Every(u32),
    /// Once a chunk of the recording.
    Chunk,
}

use Take::{All, Chunk, Every, Over, OverWithStack, RateWithStack};

/// The events, in the order of JDK's `metadata.xml`.
const EVENTS: &[(&str, Take)] = &[
    // Threads and waits. A monitor that is fought over is waited for in short pieces; sleeping,
    // waiting and parking are what idle threads do all the time.
    ("jdk.ThreadStart", All),
    ("jdk.ThreadEnd", All),
    ("jdk.ThreadSleep", OverWithStack(10)),
    ("jdk.ThreadPark", OverWithStack(10)),
    ("jdk.JavaMonitorEnter", OverWithStack(1)),
    ("jdk.JavaMonitorWait", OverWithStack(10)),
    ("jdk.VirtualThreadPinned", OverWithStack(1)),
    // Classes.
    ("jdk.ClassLoad", Over(1)),
    ("jdk.ClassUnload", All),
    // Input and output.
    ("jdk.FileRead", OverWithStack(1)),
    ("jdk.FileWrite", OverWithStack(1)),
    ("jdk.FileForce", OverWithStack(1)),
    ("jdk.SocketConnect", OverWithStack(1)),
    ("jdk.SocketRead", OverWithStack(1)),
    ("jdk.SocketWrite", OverWithStack(1)),
    ("jdk.TLSHandshake", All),
    // Errors.
    ("jdk.JavaErrorThrow", RateWithStack(100)),
    ("jdk.ExceptionStatistics", Every(1000)),
    // Stops of all threads.
    ("jdk.SafepointBegin", Over(0)),
    ("jdk.SafepointStateSynchronization", Over(0)),
    ("jdk.SafepointEnd", Over(0)),
    ("jdk.ExecuteVMOperation", Over(0)),
    // Collections.
    ("jdk.GarbageCollection", Over(0)),
    ("jdk.YoungGarbageCollection", Over(0)),
    ("jdk.OldGarbageCollection", Over(0)),
    ("jdk.ParallelOldGarbageCollection", Over(0)),
    ("jdk.G1GarbageCollection", Over(0)),
    ("jdk.ZYoungGarbageCollection", Over(0)),
    ("jdk.ZOldGarbageCollection", Over(0)),
    ("jdk.GCPhasePause", Over(0)),
    ("jdk.GCPhasePauseLevel1", Over(0)),
    ("jdk.GCPhaseConcurrent", Over(0)),
    ("jdk.GCCPUTime", All),
    ("jdk.GCHeapSummary", All),
    ("jdk.G1HeapSummary", All),
    ("jdk.PSHeapSummary", All),
    ("jdk.MetaspaceSummary", All),
    ("jdk.TenuringDistribution", All),
    ("jdk.PromotionFailed", All),
    ("jdk.EvacuationFailed", All),
    ("jdk.ConcurrentModeFailure", All),
    ("jdk.ZAllocationStall", OverWithStack(0)),
    ("jdk.GCConfiguration", Chunk),
    ("jdk.GCHeapConfiguration", Chunk),
    ("jdk.ObjectAllocationSample", RateWithStack(150)),
    // Compilers.
    ("jdk.Compilation", Over(0)),
    ("jdk.CompilationFailure", All),
    ("jdk.Deoptimization", RateWithStack(100)),
    ("jdk.CodeCacheFull", All),
    ("jdk.SweepCodeCache", Over(0)),
    ("jdk.CodeCacheConfiguration", Chunk),
    ("jdk.CodeCacheStatistics", Every(1000)),
    ("jdk.CompilerQueueUtilization", Every(1000)),
    // The process and its machine.
    ("jdk.CPULoad", Every(1000)),
    ("jdk.ThreadCPULoad", Every(5000)),
    ("jdk.ThreadContextSwitchRate", Every(1000)),
    ("jdk.JavaThreadStatistics", Every(1000)),
    ("jdk.ResidentSetSize", Every(1000)),
    ("jdk.PhysicalMemory", Every(5000)),
    ("jdk.SwapSpace", Every(5000)),
    ("jdk.JVMInformation", Chunk),
    ("jdk.OSInformation", Chunk),
    ("jdk.CPUInformation", Chunk),
    ("jdk.BooleanFlag", Chunk),
    // What was lost.
    ("jdk.DataLoss", All),
    ("jdk.CPUTimeSamplesLost", All),
];

/// An exception is an event only where the JDK limits their rate.
const LIMITS_EXCEPTIONS: u32 = 25;
/// Since when a JDK samples by the CPU time of threads, on Linux (JEP 509).
const SAMPLES_CPU_TIME: u32 = 25;
/// Shortest time between two samples that the JDK's sampler keeps to, milliseconds.
const SHORTEST_PERIOD_MS: u32 = 1;
/// Native methods are looked at one thread at a time: more often shows no more.
const NATIVE_PERIOD_MS: u32 = 20;

/// The configuration for a release, with so many samples a second.
pub(super) fn configuration(release: u32, frequency_hz: u32) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text += "<configuration version=\"2.0\" label=\"fathom\" provider=\"fathom\">\n";
    for (event, take) in EVENTS {
        write_event(&mut text, event, *take);
    }
    let exceptions = if release >= LIMITS_EXCEPTIONS {
        &[("jdk.JavaExceptionThrow", RateWithStack(100))][..]
    } else {
        &[]
    };
    exceptions.iter().for_each(|(event, take)| write_event(&mut text, event, *take));
    let period_ms = (1000 / frequency_hz.max(1)).max(SHORTEST_PERIOD_MS);
    let period = format!("{period_ms} ms");
    if release >= SAMPLES_CPU_TIME {
        // Both samplers would count the same time twice.
        settings(
            &mut text,
            "jdk.CPUTimeSample",
            &[("throttle", &format!("{period_ms}ms")), ("stackTrace", "true")],
        );
    } else {
        settings(&mut text, "jdk.ExecutionSample", &[("period", &period)]);
    }
    let native = format!("{} ms", period_ms.max(NATIVE_PERIOD_MS));
    settings(&mut text, "jdk.NativeMethodSample", &[("period", &native)]);
    text + "</configuration>\n"
}

fn write_event(text: &mut String, event: &str, take: Take) {
    let of = |ms: u32| format!("{ms} ms");
    match take {
        All => settings(text, event, &[]),
        Over(ms) => settings(text, event, &[("threshold", &of(ms)), ("stackTrace", "false")]),
        OverWithStack(ms) => settings(text, event, &[("threshold", &of(ms)), ("stackTrace", "true")]),
        RateWithStack(rate) => {
            settings(text, event, &[("throttle", &format!("{rate}/s")), ("stackTrace", "true")]);
        }
        Every(ms) => settings(text, event, &[("period", &of(ms))]),
        Chunk => settings(text, event, &[("period", "everyChunk")]),
    }
}

fn settings(text: &mut String, event: &str, settings: &[(&str, &str)]) {
    let mut line = |name: &str, value: &str| {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{name}{value}");
    };
    line("  <event name=\"", &format!("{event}\">"));
    line("    <setting name=\"enabled\">", "true</setting>");
    for (name, value) in settings {
        line(&format!("    <setting name=\"{name}\">"), &format!("{value}</setting>"));
    }
    line("  </event>", "");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_sampled_in_one_way_only_and_as_often_as_asked() {
        let old = configuration(17, 99);
        assert!(old.contains("jdk.ExecutionSample") && !old.contains("CPUTimeSample\""), "{old}");
        assert!(old.contains("<setting name=\"period\">10 ms</setting>"));
        let new = configuration(25, 20);
        assert!(!new.contains("jdk.ExecutionSample"));
        assert!(new.contains("<setting name=\"throttle\">50ms</setting>"));
        assert!(configuration(17, 10_000).contains(">1 ms<"));
    }

    #[test]
    fn nothing_that_holds_secrets_and_no_unlimited_exceptions_are_asked_for() {
        for release in [8, 11, 17, 21] {
            let text = configuration(release, 99);
            for event in ["InitialSystemProperty", "InitialEnvironmentVariable", "JavaExceptionThrow"] {
                assert!(!text.contains(event), "{event}");
            }
        }
        assert!(configuration(25, 99).contains("JavaExceptionThrow"));
    }
}
