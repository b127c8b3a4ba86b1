//! `gc-log-write-blocked`: the JVM waits in `write()` for its own log while all threads are
//! stopped.
//!
//! Unified logging takes a line's timestamp before it writes the line, and most lines of a
//! collection are written inside the pause. A write that blocks (dirty-page throttling, a frozen or
//! slow file system, a pipe whose reader sleeps) therefore shows as a gap between two lines in
//! which nobody used a CPU.

mod finding;
mod gaps;
#[cfg(test)]
mod tests;

use fathom_recording::vocabulary::{fact, kind};

use self::finding::found;
use self::gaps::{GAP_MS, Seen, Wait, after_pause, within_pause};
use super::gc_case::{GcCase, blind};
use super::log_write;
use crate::facts::{Value, ruled_out, scope, switch_on, written as facts};
use crate::intervals::Intervals;
use crate::limits::stands_out;
use crate::waits::Category;
use crate::{Case, Finding, Judgement, Layer, Rule};

/// A write that does not block takes some tens of microseconds; stops in which the log was written
/// for less than this are left out, milliseconds.
const WRITTEN_MS: f64 = 1.0;

/// Where the kernel timed writes for as much of a gap, they are what filled it.
const FILLED: f64 = 0.5;

/// The rule.
pub struct GcLogWriteBlocked;

impl Rule for GcLogWriteBlocked {
    fn id(&self) -> &'static str {
        "gc-log-write-blocked"
    }

    fn layer(&self) -> Layer {
        Layer::Storage
    }

    fn about(&self) -> &'static str {
        "The JVM writes its GC log itself, most of it while all threads are stopped, and waits until the kernel has \
         taken the line. When the disk is busy or the file system frozen, the pause lasts as long as the `write()`. \
         JDK 17 and later do the same unless `-Xlog:async` is given: asynchronous logging exists there but is off by \
         default.\n\n\
         **Evidence.** A gap of 200 ms or more between two lines of one pause, for which no phase accounts and in \
         which no CPU time was used; or a safepoint that holds the threads 200 ms longer than the collection in it. \
         The pause less its phases agrees with the gap. Calls that the kernel \
         timed count in pieces of any length from 1 ms a stop on.\n\n\
         **Confounders.** A stall of the JVM's `hsperfdata` file (a memory-mapped file, default under /tmp) prints the \
         very same lines; so does a VM thread that gets no CPU, though rarely for so long, and a machine or \
         process that was stopped as a whole. From logs alone the verdict is therefore at most *consistent with*. \
         What proves it: the time of the kernel's `write()` on the log's descriptor (`strace -f -T -e trace=write`), or \
         the off-CPU stack of the VM thread (`vfs_write`, not a page fault).\n\n\
         With those recorded (an strace as well as the log, or `fathom record`) the verdict is *proven*, of all stops in which \
         the VM thread is seen to write the log, whatever the log itself says; what the kernel waited for (dirty \
         throttling, a page under writeback, the journal, a frozen file system) is known from its stack. A page fault of \
         the VM thread in the write's place rules this cause out.\n\n\
         **Ruled out** by the longest gap found, or by asynchronous logging.\n\n\
         **Inconclusive** from a log of one line a pause (`-Xlog:gc`), and of a long gap in a log without CPU times."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Collections]
    }

    fn is_about_stops(&self) -> bool {
        true
    }

    fn reports(&self, _finding: &Finding, category: Category, _method: &str) -> bool {
        category == Category::StoppedByLog
    }

    fn judge(&self, case: &Case<'_>, jvm: fathom_recording::ProcessId) -> Judgement {
        let gc = match GcCase::of(case, jvm, self) {
            Ok(gc) => gc,
            Err(judgement) => return judgement,
        };
        if gc.fact(fact::LOG_MODE) == Some("async") {
            return gc.ruled_out(ruled_out::LOG_ASYNC.fact());
        }
        if gc.slow.is_empty() && !case.has(kind::SAFEPOINT, jvm) {
            return gc.none(&ruled_out::NO_PAUSE);
        }
        let written = log_write::in_stops(case, jvm, &case.slow, WRITTEN_MS);
        // Where the call itself was seen, what the log leaves to guess is not needed.
        let filled = Intervals::of((written.iter()).map(|(stop, ..)| (stop.t0_ns(), stop.t1_ns())));
        let timed_ms = |w: &Wait<'_>| -> f64 {
            if !filled.touches(w.span.t0_ns(), w.span.t1_ns()) {
                return 0.0;
            }
            let its =
                |(stop, ..): &&log_write::Written<'_>| stop.overlap_ns(w.span.t0_ns(), w.span.t1_ns()) > 0;
            written.iter().filter(its).map(|(_, ms, ..)| ms).sum()
        };
        // Of the short ones, hundreds of thousands in a long log, the longest is kept.
        let (mut waits, mut short): (Vec<Wait<'_>>, Option<Wait<'_>>) = Default::default();
        let all = gc.slow.iter().filter_map(within_pause).chain(after_pause(&gc));
        for wait in all.filter(|w| timed_ms(w) < FILLED * w.ms) {
            if wait.ms >= GAP_MS {
                waits.push(wait);
            } else if short.as_ref().is_none_or(|short| wait.ms >= short.ms) {
                short = Some(wait);
            }
        }
        waits.extend(short);
        waits.extend(written.into_iter().map(|(span, ms, call, how)| Wait {
            span,
            ms,
            idle: true,
            busy: false,
            how: (facts::IN_STOP.is(Value::ms(ms))).with("stop", Value::ms(span.duration_ns() as f64 / 1e6)),
            call: Some((call, how)),
        }));
        // A gap must be long to be distinguished from a wait for a CPU; a call that was timed
        // counts in pieces of any length.
        let counts = |w: &Wait<'_>| w.idle && (w.ms >= GAP_MS || w.call.is_some());
        let (long, short): (Vec<_>, Vec<_>) = waits.into_iter().partition(counts);
        let usual_ms =
            log_write::in_stops(case, jvm, &case.base, WRITTEN_MS).iter().map(|(_, ms, ..)| ms).sum();
        let slow_ms = long.iter().map(|w| w.ms).sum();
        let cost_ms: f64 = case.excess_ms(slow_ms, usual_ms);
        let longest = long.iter().map(|w| w.span.duration_ns() as f64 / 1e6).fold(0.0, f64::max);
        let usual = gc.usual_ms(|_| true);
        if !long.is_empty() && (case.matters(cost_ms) || stands_out(longest, usual)) {
            let seen = Seen::of(&gc, &long);
            return match seen.fault {
                Some(fault) if seen.fault_ms > seen.write_ms => gc.ruled_out(fault),
                _ => Judgement::Found(Box::new(found(self, &gc, long, cost_ms, &seen))),
            };
        }
        match short.iter().chain(&long).max_by(|a, b| a.ms.total_cmp(&b.ms)) {
            Some(w) if w.ms >= GAP_MS && w.busy => gc.ruled_out(ruled_out::GAP_BUSY.is(Value::ms(w.ms))),
            Some(w) if w.ms >= GAP_MS && !w.idle => {
                let gap = scope::GAP_USE.is(Value::ms(w.ms));
                blind(self, gap, switch_on::GC_CPU_OR_RECORD.fact())
            }
            Some(w) if w.ms >= GAP_MS => {
                let gaps = ruled_out::GAPS_LITTLE.is(Value::ms(cost_ms));
                gc.ruled_out(gaps.with("longest", Value::ms(w.ms)))
            }
            Some(w) => {
                let gap = ruled_out::GAP_SHORT.is(Value::ms(w.ms.max(0.0)));
                gc.ruled_out(gap.with("least", Value::ms(GAP_MS)))
            }
            None => blind(self, scope::PHASES.fact(), switch_on::GC_PHASES.fact()),
        }
    }
}
