//! What was left out and what was lost, as the source says it.

use fathom_recording::{Scope, quantity};

use super::LockWaits;
use super::skeleton::types::lock_loss;
use crate::event_stacks::Events;
use crate::{Context, Unavailable};

impl LockWaits {
    /// Says what was left out because there was too much of it.
    pub(super) fn report_limits(&self, cx: &mut Context<'_>) {
        let of = |kind: lock_loss| self.events.as_ref().map_or(0, |events| events.left_out(kind.0));
        let (without_stack, of_work) = self.virtual_threads.limits();
        let often = "their threads sleep thousands of times a second, and are not asked each time what for";
        let many = "there were more than 1,000 a second on a CPU";
        /// Waits of virtual threads and waits for work, below.
        const OF_VIRTUAL: usize = 2;
        const OF_WORK: usize = 3;
        let limits = [
            (
                self.ownerless,
                "waits for locks: who held the lock when they began; who left it last is shown instead",
                often,
            ),
            (of(lock_loss::LOCK_WITHOUT_STACK) + without_stack, "waits for locks: their stacks", many),
            (of_work, "waits of virtual threads for work (parked, Object.wait)", many),
            (
                of(lock_loss::UNREPORTED_WORK),
                "waits for work (parked, Object.wait) one by one, the shorter ones",
                many,
            ),
        ];
        for (i, (n, what, why)) in limits.into_iter().enumerate().filter(|(_, (n, ..))| *n > 0) {
            let remedy = match i {
                OF_WORK => "nothing to do: the scheduler's collector has their time",
                _ => "fathom record --min with a longer time: fewer are asked for",
            };
            // Waits for work are no waits for locks; the others are recorded without it.
            let scope = match i {
                OF_VIRTUAL => Scope::nothing().of_virtual_threads(true),
                _ => Scope::nothing(),
            };
            cx.unseen(Unavailable {
                scope: Some(scope),
                what: format!("{} {what}", quantity::count(n as f64)),
                why: why.into(),
                remedy: remedy.into(),
            });
        }
    }

    pub(super) fn count_losses(&mut self, cx: &mut Context<'_>) {
        let lost = self.events.as_mut().map_or(0, Events::lost);
        cx.source_mut().lost += lost + self.virtual_threads.lost();
    }
}
