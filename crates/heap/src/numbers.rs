//! Numbers of objects, and places in the dump: how many of each there may be.

/// No object, where the number of one stands.
pub const NONE: u32 = u32::MAX;
/// Objects at most: their numbers from 1 on, and what stands for none of them, have 32 bits.
pub const MOST_OBJECTS: u32 = u32::MAX - 16;
/// Bits of a place in the dump.
pub const PLACE_BITS: u32 = 40;
