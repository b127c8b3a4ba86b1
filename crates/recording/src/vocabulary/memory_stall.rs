//! What the kernel holds threads up for where memory is short, as spans `memory.stall` and the
//! series of a process name it.

/// A thread reclaims memory itself, as the host has none left.
pub const RECLAIM: &str = "direct reclaim";
/// The same, as its control group has none left.
pub const GROUP_RECLAIM: &str = "reclaim of the control group";
/// A thread moves pages together for a block of them.
pub const COMPACTION: &str = "compaction";
