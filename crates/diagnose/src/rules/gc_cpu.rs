//! Whether a collector had the CPUs that it could use: by the CPU times of a log's pauses, else by
//! what the scheduler shows of its threads.

use fathom_recording::vocabulary::{kind, source};
use fathom_recording::{Role, ThreadId};

use super::gc_case::{GcCase, summed};
use crate::Evidence;
use crate::collections::{CPU_MIN_REAL_S, Cpu, Pause};
use crate::facts::{Value, pauses};
use crate::waits::Category;

/// CPU ÷ (wall × workers) over the long pauses. A quiet machine gives 0.6 to 0.95; below one half
/// the workers waited longer than they worked. Measured on two CPUs with a load of 20: 0.15.
pub(super) const STARVED: f64 = 0.5;
/// Whether so little CPU was used that a single worker would have waited for more than it worked.
fn used_little(cpu: Cpu) -> bool {
    cpu.cpu_s() < STARVED * cpu.real_s
}

/// Whether a pause waited for more of its time than it worked, however many workers it had.
pub(super) fn waited(pause: &Pause<'_>) -> bool {
    pause.cpu().is_some_and(|cpu| cpu.real_s >= CPU_MIN_REAL_S && used_little(cpu))
}

/// Threads of a collector on the CPUs, and ready to be there, milliseconds added up over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Ready {
    threads: usize,
    ran_ms: f64,
    waited_ms: f64,
}

impl Ready {
    /// In some pauses of a JVM; `None` where the scheduler was not watched, or most of
    /// their time was not seen.
    pub(super) fn of<'p, 'a: 'p>(
        gc: &GcCase<'_, 'a>,
        pauses: impl Iterator<Item = &'p Pause<'a>>,
    ) -> Option<Self> {
        // Of a log alone nothing is to be looked for, however long it is.
        gc.case.recording.spans_of(kind::SCHED_WATCHED).next()?;
        let chains = gc.case.chains();
        let threads = gc.case.recording.threads.iter().enumerate();
        let own = threads.filter(|(_, thread)| thread.process == gc.jvm && thread.role == Role::Gc);
        let own: Vec<_> = own.filter_map(|(i, _)| chains.by_category(ThreadId(i as u32))).collect();
        let ranges: Vec<_> = pauses.map(|p| (p.span.t0_ns(), p.span.t1_ns())).collect();
        let (mut ready, mut unseen_ms) = (Self::default(), 0.0);
        for by_category in &own {
            let (mut ran_ns, mut waited_ns) = (0, 0);
            for category in Category::ALL {
                let intervals = &by_category[category.index()];
                let ns =
                    || ranges.iter().map(|(from, to)| intervals.length_within_ns(*from, *to)).sum::<i64>();
                match category {
                    Category::RunQueue | Category::Throttled => waited_ns += ns(),
                    Category::Unknown => unseen_ms += ns() as f64 / 1e6,
                    _ if category.is_running() => ran_ns += ns(),
                    _ => {}
                }
            }
            ready.threads += usize::from(ran_ns + waited_ns > 0);
            ready.ran_ms += ran_ns as f64 / 1e6;
            ready.waited_ms += waited_ns as f64 / 1e6;
        }
        // Of what nobody saw nothing is known, neither that they waited nor that they did not.
        let is_seen = unseen_ms <= ready.ran_ms + ready.waited_ms;
        (ready.threads > 0 && is_seen).then_some(ready)
    }

    /// What the threads waited of the time in which they could run.
    pub(super) fn waited_share(&self) -> f64 {
        self.waited_ms / (self.ran_ms + self.waited_ms).max(f64::MIN_POSITIVE)
    }

    /// Whether they waited for longer than they ran.
    pub(super) fn is_starved(&self) -> bool {
        self.waited_share() > 1.0 - STARVED
    }

    /// The same as evidence.
    pub(super) fn evidence(&self, paused: &[Pause<'_>]) -> Evidence {
        let fact =
            pauses::COLLECTOR_READY.is(Value::ms(self.ran_ms)).with("waited", Value::ms(self.waited_ms));
        let fact =
            fact.with("threads", Value::count(self.threads)).with("pauses", Value::count(paused.len()));
        summed(source::SCHED, fact.with("paused", Value::ms(paused.iter().map(Pause::ms).sum())))
    }
}
