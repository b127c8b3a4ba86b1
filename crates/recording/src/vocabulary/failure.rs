//! Ways in which a collection can fail, as [`super::label::FAILURE`] of a `gc.pause` names them,
//! whatever its log calls them.

/// CMS: the old generation filled before the concurrent cycle had ended.
pub const CONCURRENT_MODE_FAILURE: &str = "concurrent mode failure";
/// CMS: an explicitly requested full collection aborted the concurrent cycle.
pub const CONCURRENT_MODE_INTERRUPTED: &str = "concurrent mode interrupted";
/// No room in the old generation for the objects that a young collection wanted to promote.
pub const PROMOTION_FAILED: &str = "promotion failed";
/// G1: no free region to copy to ("to-space exhausted", "to-space overflow", "(young)--",
/// "Evacuation Failure: Allocation").
pub const EVACUATION_FAILURE: &str = "evacuation failure";
/// G1 of JDK 22 and later: a region left in place because native code holds an object in it. This
/// is not a lack of room.
pub const PINNED: &str = "pinned";
/// Shenandoah: a cycle that had to be finished with the application stopped.
pub const DEGENERATED: &str = "degenerated";
/// Shenandoah: a degenerated collection that freed too little and became a full one.
pub const UPGRADED_TO_FULL: &str = "upgraded to full";

/// Whether a failure is one of those that [`super::figure::EVACUATION_FAILURE`] counts: there was
/// no room for objects, or the concurrent cycle was not done in time. An aborted cycle and a
/// degenerated collection do not count.
pub fn is_evacuation_failure(word: &str) -> bool {
    [EVACUATION_FAILURE, PINNED, PROMOTION_FAILED, CONCURRENT_MODE_FAILURE].contains(&word)
}
