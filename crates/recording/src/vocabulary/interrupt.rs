//! What ends a wait where no thread did, as [`super::label::INTERRUPT`] names it.

/// A timer: the thread slept until then, or its time-out was over.
pub const TIMER: &str = "a timer";
/// A request to a block device was completed.
pub const DISK: &str = "the disk";
/// A packet was received, or sent.
pub const NETWORK: &str = "the network";
/// A device interrupt of which nothing more is known. Otherwise its name follows, " (eth0-rx-1)".
pub const DEVICE: &str = "a device";
/// Deferred work of a CPU (irq_work), by which readers of a kernel buffer are woken.
pub const OTHER: &str = "an interrupt";
