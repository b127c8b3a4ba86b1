//! What ends a wait where no thread did, as [`super::label::INTERRUPT`] names it.

/// A time was up: the thread slept until then, or waited no longer.
pub const TIMER: &str = "a timer";
/// A request to a device of storage was done.
pub const DISK: &str = "the disk";
/// Something came from the network, or was sent.
pub const NETWORK: &str = "the network";
/// A device, of whose interrupt nothing more is known. Else its name follows, " (eth0-rx-1)".
pub const DEVICE: &str = "a device";
/// Something that a processor had put off: a reader of a buffer of the kernel is woken so.
pub const OTHER: &str = "an interrupt";
