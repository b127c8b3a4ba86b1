//! Programs that the JVM starts itself: most live too short to be listed, and whoever looks for the
//! others that took the CPUs looks in vain.

use fathom_recording::vocabulary::count;

use super::super::cpu_contention::CpuContention;
use crate::intervals::Intervals;
use crate::{Case, Window};

/// Programs a second from which on what is too short-lived to be listed is taken to be those.
const MANY_A_SECOND: f64 = 5.0;
/// How many times as many as in the baseline.
const MORE: f64 = 1.5;

/// The calls in which a thread of the JDK waits for the end of each program that it started
/// (`ProcessHandleImpl.completion`).
const AWAITS: [&str; 2] = ["wait4", "waitid"];

/// Programs a second that the JVM starts and waits for, where they are many, and more than usual.
pub(super) fn started(cpu: &CpuContention<'_, '_>) -> Option<f64> {
    let case = cpu.case;
    let per_second = |windows: &[Window]| {
        let within = Intervals::of_windows(windows);
        let calls = case.recording.counts_of(count::SYSCALL_TOTALS);
        let own = calls.filter(|made| made.process() == cpu.jvm && AWAITS.contains(&made.name()));
        own.map(|made| within.counted_within(&made)).sum::<f64>() / Case::length_ms(windows).max(1.0) * 1e3
    };
    let slow = per_second(&case.slow);
    let usual = if case.base.is_empty() { 0.0 } else { per_second(&case.base) };
    (slow >= MANY_A_SECOND && slow >= MORE * usual).then_some(slow)
}
