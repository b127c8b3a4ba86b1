//! A diagnosis takes time in proportion to its input: a log of 400 MB is read in the hope that it
//! ends.

use fathom_recording::Recording;
use fathom_recording::vocabulary::{fact, figure, kind};

use crate::built::Built;
use crate::{Options, diagnose};

/// Pauses of the smaller log, and how many times as many the larger one has.
const PAUSES: u32 = 2_000;
const TIMES: u32 = 8;
/// What the larger one may take, times the smaller: linear is 8, with a sort 11, quadratic 64.
const MOST: f64 = 20.0;

/// A log of G1 that is stopped much throughout, so that all of it is judged, with all that rules
/// look at: safepoints, CPU times, phases, sizes, failures, cycles, some stops that stand out.
fn log(pauses: u32) -> Recording {
    let mut built = Built::jvm("17", "G1", f64::from(pauses));
    built.fact(fact::HEAP_MAX_BYTES, "1073741824").fact(fact::GC_WORKERS, "4");
    for i in 0..pauses {
        let at = f64::from(i);
        let ms = if i % 50 == 0 { 900.0 } else { 250.0 + f64::from(i % 7) };
        let figures = [
            (figure::USER_S, ms / 1e3),
            (figure::SYS_S, 0.01),
            (figure::REAL_S, ms / 1e3),
            (figure::WORKERS, 4.0),
            (figure::PHASES_SUM_MS, 0.9 * ms),
            (figure::IDLE_GAP_MS, 0.1),
            (figure::HEAP_BEFORE_BYTES, 8e8),
            (figure::HEAP_AFTER_BYTES, 3e8 + f64::from(i % 11) * 1e6),
            (figure::EVACUATION_FAILURE, f64::from(u8::from(i % 500 == 0))),
        ];
        built.span(kind::SAFEPOINT, "G1CollectForAllocation", at, ms + 0.2, &[(figure::REACH_NS, 1e5)], &[]);
        let name = if i % 40 == 39 { "Pause Young (Mixed)" } else { "Pause Young (Normal)" };
        built.pause(name, "G1 Evacuation Pause", at + 1e-4, ms, &figures);
        if i % 20 == 0 {
            built.span(kind::GC_CONCURRENT, "Concurrent Mark Cycle", at + 0.7, 200.0, &[], &[]);
        }
    }
    built.sealed()
}

/// What this thread has run for, in the kernel's ticks of 10 ms: other programs on the machine do
/// not count.
fn ran_ticks() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    // Behind the name, which may hold anything, the 12th and 13th are user and system time.
    let (_, behind) = stat.rsplit_once(')')?;
    let ticks = behind.split_whitespace().skip(11).take(2).map(|word| word.parse::<f64>());
    ticks.sum::<Result<f64, _>>().ok()
}

#[test]
fn a_diagnosis_takes_time_in_proportion_to_the_log() {
    let took = |recording: &Recording| {
        let one = || {
            let before = ran_ticks().unwrap();
            let d = diagnose(recording, &Options::default()).unwrap();
            assert!(!d.findings.is_empty(), "{}", d.headline);
            let _ = crate::metrics::gc::report(recording, None);
            ran_ticks().unwrap() - before
        };
        (0..3).map(|_| one()).fold(f64::INFINITY, f64::min)
    };
    let (small, large) = (took(&log(PAUSES)), took(&log(TIMES * PAUSES)));
    assert!(large <= MOST * small, "{small} ticks of 10 ms, and {large} for {TIMES} times as much");
}
