//! When a JVM started, on the recording's clock: what its logs count from.

use crate::Clock;
use crate::clock::boottime_ns;
use crate::perf_memory::PerfMemory;
use crate::procfs::{Stat, ticks_per_second};

/// From the start of the process until HotSpot's elapsed counter starts: the launcher finds and
/// loads libjvm meanwhile, some 10 ms, more on a busy machine.
const LAUNCH_NS: i64 = 20_000_000;
/// A wall-clock time in milliseconds that was read with it.
const MILLISECOND_NS: i64 = 2_000_000;

/// When the clock of a JVM showed zero, nanoseconds since the epoch, and how far that may be off:
/// what the JVM says of itself, else when its process started. `None` when the process is not known
/// to the kernel any more and says nothing.
pub fn jvm_start(pid: i32, start_ticks: u64) -> Option<(i64, i64)> {
    let clock = Clock::now();
    let ticks = i64::try_from(start_ticks).ok()?;
    let since_boot_ns = ticks.checked_mul(1_000_000_000)? / i64::try_from(ticks_per_second()).ok()?;
    let process_ns = clock.epoch_now_ns() - (boottime_ns() - since_boot_ns);
    let lives = Stat::of(pid).is_some_and(|stat| stat.start_ticks == start_ticks);
    // Read with the elapsed counter's start (`TraceVmCreationTime`, os::javaTimeMillis).
    let counter_ms = lives.then(|| PerfMemory::find(pid)?.number("sun.rt.createVmBeginTime")).flatten();
    let counter_ns = counter_ms.and_then(|ms| ms.checked_mul(1_000_000));
    // A wall clock that was set since would have left it behind; the kernel's account is safe from
    // that.
    let near = counter_ns.filter(|ns| (0..10_000_000_000).contains(&(ns - process_ns + LAUNCH_NS)));
    Some(near.map_or((process_ns + LAUNCH_NS / 2, LAUNCH_NS), |ns| (ns, MILLISECOND_NS)))
}
