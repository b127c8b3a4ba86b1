//! The recorder runs when it is due, also on a machine that has more to do than it can:
//! what waits in the kernel's buffers is lost when it waits too long, and a thread that nobody has
//! looked at yet is not known.

use rustix::process::nice;

/// How much sooner, in steps of `nice(2)`. The recorder needs a few hundredths of a CPU.
const STEPS: i32 = 10;

/// While this is held, the calling thread goes before those of usual priority. What it starts
/// meanwhile inherits that.
pub struct Raised(bool);

impl Raised {
    /// Raises the priority, where this user may (CAP_SYS_NICE).
    pub fn new() -> Self {
        Self(nice(-STEPS).is_ok())
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        if self.0 {
            // Back to where it was: lower is always allowed.
            let _ = nice(STEPS);
        }
    }
}
