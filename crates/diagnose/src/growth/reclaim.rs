//! Threads whose control group has reached its memory limit: the kernel takes pages back from it
//! for each new one, and those of files are the first to go. What is read is then read from the
//! disk again and again.

use fathom_recording::vocabulary::{kind, memory_stall, source};
use fathom_recording::{ProcessId, Span};

use super::parts::Part;
use crate::facts::{Value, growth as facts, remedies};
use crate::waits::Category;
use crate::{Case, Evidence, Fact, Remedy, Window};

/// How often threads must have been held up by it, and how many times as often a second as in the
/// baseline.
const FEW: usize = 20;
const TIMES: f64 = 10.0;
/// Which share of it must be by threads that are in the part.
const ITS: f64 = 0.5;

/// Reclaim of a control group, a second.
#[derive(Clone, Copy)]
pub(super) struct Reclaim {
    per_s: f64,
    base_per_s: f64,
    stalled_ms: f64,
}

impl Reclaim {
    /// That of the threads of a part that reads or writes files, or touches memory; `None` where
    /// there was none to speak of, or as much as ever.
    pub(super) fn of(case: &Case<'_>, jvm: ProcessId, part: &Part<'_>, category: Category) -> Option<Self> {
        let may_be_of_it = category.is_running()
            || matches!(category, Category::Disk | Category::PageFault | Category::MemoryStall);
        let stalls = |windows: &[Window]| -> Vec<Span<'_>> {
            let all = case.spans_in(kind::MEMORY_STALL, jvm, windows);
            all.filter(|stall| stall.name() == memory_stall::GROUP_RECLAIM).collect()
        };
        let (slow, base) = (stalls(&case.slow), stalls(&case.base));
        let per_s =
            |stalls: &[Span<'_>], windows: &[Window]| stalls.len() as f64 * 1e3 / Case::length_ms(windows);
        let its = slow.iter().filter(|stall| stall.thread().is_some_and(|id| part.threads.contains(&id)));
        let is_its = its.count() as f64 >= ITS * slow.len() as f64;
        if !may_be_of_it || slow.len() < FEW || !is_its {
            return None;
        }
        let (per_s, base_per_s) = (per_s(&slow, &case.slow), per_s(&base, &case.base));
        let stalled_ms = slow.iter().map(|stall| stall.duration_ns() as f64 / 1e6).sum();
        (per_s >= TIMES * base_per_s).then_some(Self { per_s, base_per_s, stalled_ms })
    }

    pub(super) fn in_title(self) -> Fact {
        let base = (self.base_per_s > 0.0).then(|| Value::plain(self.base_per_s));
        facts::GROUP_RECLAIM.is(Value::plain(self.per_s)).over(base)
    }

    pub(super) fn evidence(self) -> Evidence {
        Evidence::summed(source::MEMORY, self.in_title().with("stalled", Value::ms(self.stalled_ms)))
    }

    pub(super) fn remedy() -> Remedy {
        remedies::LARGER_MEMORY_LIMIT.remedy()
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::{C2, Kernel};
    use fathom_recording::vocabulary::{kind, memory_stall};
    use fathom_recording::{Sink as _, SourceId, SpanRow};

    use crate::facts::{growth as facts, remedies};
    use crate::growth::tests::{MS, Service, found, is_slow};

    /// Whether the finding of a worker that waits for the disk says that its group's memory was
    /// taken back, of so many times a second while it is slow and else.
    fn says(slow: i64, usual: i64) -> bool {
        let mut service = Service::of((300.0, 60.0));
        let worker = service.thread("worker-0");
        service.off(worker, &[("io_schedule", Kernel), ("shop.Tiles.read", C2)], (2, 95), &[]);
        for s in 0..60 {
            for i in 0..if is_slow(s) { slow } else { usual } {
                let at_ms = s * 1_000 + i * 10;
                service.built.recording.span(&SpanRow {
                    kind: kind::MEMORY_STALL,
                    name: memory_stall::GROUP_RECLAIM,
                    t0_ns: at_ms * MS,
                    t1_ns: (at_ms + 2) * MS,
                    process: service.built.jvm,
                    thread: Some(worker),
                    stack: None,
                    source: SourceId(0),
                    line: 1,
                    key: -1,
                    parent: None,
                    figures: &[],
                    labels: &[],
                });
            }
        }
        let diagnosis = service.diagnosis();
        let finding = found(&diagnosis);
        let says = finding.title.fact().find(&facts::GROUP_RECLAIM).is_some();
        assert_eq!(finding.advises(&remedies::LARGER_MEMORY_LIMIT), says, "{finding:#?}");
        says
    }

    #[test]
    fn memory_that_a_group_must_give_back_is_why_files_are_read_again() {
        assert!(says(10, 0));
        assert!(!says(10, 8), "as much as ever");
        assert!(!says(0, 0));
    }
}
