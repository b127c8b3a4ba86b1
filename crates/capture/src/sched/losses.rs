//! What was left out and what was lost, as the source says it.

use fathom_recording::quantity;

use super::skeleton::types::sched_loss;
use super::{MISSED_ONE_IN, Sched};
use crate::clock::monotonic_ns;
use crate::event_stacks::Events;
use crate::{Context, Unavailable};

impl Sched {
    /// Reports how many waits were not reported one by one, as there were too many.
    pub(super) fn report_limits(&self, cx: &mut Context<'_>) {
        let short = self.left_out(sched_loss::UNREPORTED_WAIT);
        if short > 0 {
            cx.unseen(Unavailable {
                scope: None,
                what: format!(
                    "{} short waits one by one; their time is in the sums of short waits",
                    quantity::count(short as f64)
                ),
                why: "there were more than 1,000 a second on a CPU".into(),
                remedy: "nothing to do; fathom record --min sets from which length on waits are listed"
                    .into(),
            });
        }
    }

    /// Switches that were not seen, so far.
    pub(super) fn missed(&self) -> u64 {
        self.left_out(sched_loss::MISSED_SWITCH)
    }

    fn left_out(&self, kind: sched_loss) -> u64 {
        self.events.as_ref().map_or(0, |events| events.left_out(kind.0))
    }

    /// Reports switches that were not seen, where they are many. They are no records that are
    /// missing somewhere: what their thread did around each is left open, from the last switch that
    /// was seen to the next one, and is in no watch (`send_missed` in `bpf/sched.bpf.c`).
    pub(super) fn report_missed(&self, cx: &mut Context<'_>) {
        let missed = self.missed().saturating_sub(self.missed_before);
        if missed.saturating_mul(MISSED_ONE_IN) <= cx.source_mut().records {
            return;
        }
        cx.unseen(Unavailable {
            what: format!(
                "{} context switches; the time around each is in the sums as not seen",
                quantity::count(missed as f64)
            ),
            why: "the kernel counted them and did not report them".into(),
            remedy: "nothing to do; fathom ledger shows how much of the threads' time was not seen".into(),
            scope: None,
        });
    }

    /// A lost event leaves a hole of unknown length in one thread that nobody can name: all watches
    /// begin anew.
    pub(super) fn count_losses(&mut self, cx: &mut Context<'_>) {
        let lost = self.events.as_mut().map_or(0, Events::lost);
        let lost_starts = self.left_out(sched_loss::LOST_START) + cx.services.starts.lost;
        let without_stack = self.left_out(sched_loss::START_WITHOUT_STACK);
        cx.source_mut().lost += lost_starts - self.lost_starts;
        self.lost_starts = lost_starts;
        if without_stack > 0 {
            cx.unseen(Unavailable {
                scope: None,
                what: "stacks of some of the threads' starts".into(),
                why: "more than 2,000 a second on a CPU are not walked".into(),
                remedy: "flame graphs of CPU samples show who starts threads".into(),
            });
        }
        if lost == 0 {
            return;
        }
        cx.source_mut().lost += lost;
        let now_ns = monotonic_ns().max(0).cast_unsigned();
        let tids: Vec<u32> = self.threads.keys().copied().collect();
        for tid in tids {
            let Some(watched) = self.threads.get(&tid) else { continue };
            let (anew, last_ns) = (watched.anew(now_ns), watched.last_ns);
            self.unwatch(tid, last_ns, cx);
            self.threads.insert(tid, anew);
        }
    }
}
