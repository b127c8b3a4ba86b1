//! The self-checks at the end of a run.

use fathom_recording::quantity::whole;
use fathom_recording::vocabulary::fact;
use fathom_recording::{Check, ClockBasis, Sink};

use super::{Run, TIMESTAMP_NS};

impl Run {
    pub(super) fn facts(&mut self, sink: &mut dyn Sink) {
        let mut facts = std::mem::take(&mut self.header.facts);
        if let Some(collector) = self.collector {
            facts.entry(fact::COLLECTOR.to_owned()).or_insert_with(|| collector.name().to_owned());
        }
        // Before JDK 17 every line is written by the thread that logs it.
        facts.insert(fact::LOG_MODE.to_owned(), "sync".to_owned());
        if self.sums.pauses > 0 && !self.sums.detailed {
            facts.insert(fact::GC_BRIEF.to_owned(), "1".to_owned());
        }
        sink.process_mut(self.process).facts.extend(facts);
    }

    pub(super) fn checks(&self) -> Vec<Check> {
        let sums = &self.sums;
        let ms = |ns: i64| ns as f64 / 1e6;
        let check =
            |claim: &str, holds: bool, detail: String| Check { claim: claim.to_owned(), holds, detail };
        let mut checks = vec![check(
            "no pause is negative",
            sums.negative == 0,
            format!("{} of {} pauses", whole(sums.negative), whole(sums.pauses)),
        )];
        if let Some((from, to)) = self.covers_ns.filter(|_| self.basis != ClockBasis::None) {
            let span = to.saturating_sub(from);
            checks.push(check(
                "pauses lie within the log's span",
                sums.pause_ns <= span.saturating_add(TIMESTAMP_NS),
                format!("{:.3} ms of pauses in {:.3} ms", ms(sums.pause_ns), ms(span)),
            ));
            checks.push(check(
                "pauses do not overlap",
                sums.overlapping == 0,
                format!(
                    "{} of {} begin before the one before has ended",
                    whole(sums.overlapping),
                    whole(sums.pauses)
                ),
            ));
        }
        if let Some(covered) = sums.covered_by_stops.filter(|b| b.pauses > 0) {
            let slack = i64::try_from(covered.pauses).unwrap_or(i64::MAX).saturating_mul(TIMESTAMP_NS / 2);
            checks.push(check(
                "the sum of pauses is at most the sum of stops",
                covered.pause_ns <= sums.stop_ns.saturating_add(slack),
                format!(
                    "{} pauses of {:.3} ms, {} stops of {:.3} ms",
                    whole(covered.pauses),
                    ms(covered.pause_ns),
                    whole(sums.stops),
                    ms(sums.stop_ns)
                ),
            ));
        }
        if let Some(next) = sums.next_id {
            checks.push(check("every GC id is accounted for", sums.missing_ids.is_empty(), {
                let more = if sums.missing_uncounted { "more than " } else { "" };
                let first =
                    sums.missing_ids.first().map_or(String::new(), |id| format!(", the first is {id}"));
                let silent = match sums.silent_cycles {
                    0 => String::new(),
                    1 => ", 1 of a cycle that was aborted before it wrote a line".to_owned(),
                    n => format!(", {} of cycles that were aborted before they wrote a line", whole(n)),
                };
                format!("{more}{} missing below {next}{first}{silent}", whole(sums.missing_ids.len()))
            }));
        }
        checks
    }
}
