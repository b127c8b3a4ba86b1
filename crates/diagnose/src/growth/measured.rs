//! What operations took longer for: the time of threads in slow windows and baseline, divided by
//! operations.

use fathom_recording::ProcessId;

use super::parts::{self, BASE, FRAMES, Kept, Part};
use super::{Each, Grown, Growth, MORE, Per, calls, carriers, joined_waits, on_threads, worked};
use crate::attribution::Key;
use crate::intervals::Intervals;
use crate::sight::Sights;
use crate::waits::Category;
use crate::{COVERED, Case, Rule, Sight, thread_ledger};

/// What of their time threads must wait more for others that do something for that to be no habit.
const FOR_OTHERS: f64 = 0.2;
/// Share of a thread's time that is next to nothing.
const HARDLY: f64 = 0.02;

/// The parts of a JVM's time that grew or not, those that grew most first.
pub(super) fn grown<'a>(
    case: &Case<'a>,
    sights: &Sights<'_>,
    jvm: ProcessId,
    rules: &'static [&'static dyn Rule],
) -> Option<Growth<'a>> {
    let seen = sights.coverage(Sight::Switches, jvm);
    let slow = Intervals::of_windows(&case.slow);
    let base = Intervals::of_windows(&case.base);
    let covered = slow.and(&seen.intervals);
    if (covered.length_ns() as f64) < COVERED * slow.length_ns() as f64 {
        return None;
    }
    let base = base.and(&seen.intervals);
    if base.is_empty() {
        return None;
    }
    let (first, second) = halves(&covered);
    let frames: [Intervals; FRAMES] = [first, second, base];
    let per = per(case, &frames);
    let lengths_ms = frames.each_ref().map(Intervals::length_ms);
    let calls = calls::grown(case, jvm, &frames, &per);
    let parts = {
        let kept = if per.each.is_counted() { Kept::OfOperations } else { Kept::All };
        parts::of(case.recording, case.chains(), jvm, &frames, kept)
    };
    let mut grown: Vec<Grown<'a>> = Vec::new();
    for (cause, part) in parts.by_cause {
        let slow = (part.ms[0] + part.ms[1]) / (per.by[0] + per.by[1]).max(f64::MIN_POSITIVE);
        let base = part.ms[BASE] / per.by[BASE].max(f64::MIN_POSITIVE);
        let holds = joined_waits::holds(&part.ms, &per.by, &lengths_ms);
        let rate = |ms: f64, length_ms: f64| ms / length_ms.max(f64::MIN_POSITIVE);
        let slow_ms = frames[0].length_ms() + frames[1].length_ms();
        let usual = rate(part.ms[BASE], frames[BASE].length_ms());
        let runs_more = rate(part.ms[0] + part.ms[1], slow_ms) > MORE * usual;
        // Who makes connections that it did not make waits for the network for another reason.
        let connects = || {
            cause.key.category == Category::Network && calls.iter().any(|c| c.connects() && c.more_a_second)
        };
        let passes = per.each.is_counted()
            && !connects()
            && passes(&cause.key, &part, (slow_ms, frames[BASE].length_ms()));
        let credit = if passes { -(slow - base).max(0.0) } else { 0.0 };
        grown.push(Grown {
            key: cause.key,
            cause,
            part,
            slow,
            base,
            credit,
            holds,
            runs_more,
            several: Vec::new(),
        });
    }
    let mut grown = joined_waits::joined(grown);
    for whole in grown.iter_mut().filter(|g| !g.several.is_empty()) {
        whole.holds = joined_waits::holds(&whole.part.ms, &per.by, &lengths_ms);
    }
    // Threads that came and sleep hold nobody up, unless somebody waits meanwhile.
    let waited: f64 = grown.iter().filter(|g| on_threads(g.key.category) && worked(g)).map(Grown::by).sum();
    grown.retain(|g| !g.part.is_new || g.key.category != Category::Sleep || g.by() <= waited);
    carriers::credit(case, jvm, &frames, &mut grown);
    match per.each.is_counted() {
        true => {
            without_polls(&mut grown, &lengths_ms);
            without_what_runs_as_ever(&mut grown);
        }
        false => queue_where_they_run(&mut grown),
    }
    grown.sort_by(|a, b| b.by().total_cmp(&a.by()).then_with(|| a.cause.cmp(&b.cause)));
    Some(Growth {
        jvm,
        grown,
        per,
        threads: parts.threads,
        lengths_ms,
        unseen: parts.unseen,
        calls,
        of_holders: 0.0,
        of_code: 0.0,
        rules,
    })
}

/// Credits methods with the waiting for a CPU of which nobody recorded where it was: a thread that
/// runs is taken off its CPU most often where it runs most. Where operations are counted, it is
/// what each of them waits longer for.
fn queue_where_they_run(grown: &mut [Grown<'_>]) {
    let is_nowhere = |g: &Grown<'_>| g.key.category == Category::RunQueue && g.key.place.is_empty();
    let sum = |of: &dyn Fn(&Grown<'_>) -> bool| {
        grown.iter().filter(|g| of(g)).fold((0.0, 0.0), |sum, g| (sum.0 + g.slow, sum.1 + g.base))
    };
    let (queued, ran) = (sum(&is_nowhere), sum(&|g| g.key.category.is_running()));
    if ran.0 <= 0.0 || ran.1 <= 0.0 {
        return;
    }
    for g in grown {
        if is_nowhere(g) {
            g.credit -= g.by();
        } else if g.key.category.is_running() {
            g.credit += queued.0 * g.slow / ran.0 - queued.1 * g.base / ran.1;
        }
    }
}

/// Takes the growth from threads that sleep as long each time as in the baseline, and slept much of
/// the baseline: what they look for every so often comes less often. Where nothing else made
/// operations take longer by as much, it stays.
fn without_polls(grown: &mut [Grown<'_>], lengths_ms: &[f64; FRAMES]) {
    let polls = |g: &Grown<'_>| g.key.category == Category::Sleep && g.part.is_poll(lengths_ms);
    let others: f64 = grown.iter().filter(|g| worked(g) && !polls(g)).map(Grown::by).sum();
    for g in grown.iter_mut().filter(|g| polls(g) && g.by() <= others) {
        g.credit -= g.by();
    }
}

/// Takes the growth from code that runs no more of the time than usual, where what other code takes
/// longer makes up as much: fewer operations are each charged with more of the one, and are fewer
/// because of the other.
fn without_what_runs_as_ever(grown: &mut [Grown<'_>]) {
    let runs = |g: &&Grown<'_>| g.key.category.is_running();
    let sum = |more: bool| -> f64 {
        grown.iter().filter(runs).filter(|g| g.runs_more == more).map(Grown::by).sum()
    };
    let (more, as_ever) = (sum(true), sum(false));
    if more < as_ever {
        return;
    }
    for g in grown.iter_mut().filter(|g| g.key.category.is_running() && !g.runs_more) {
        g.credit -= g.by();
    }
}

/// Intervals cut where half of their time has passed.
pub(super) fn halves(intervals: &Intervals) -> (Intervals, Intervals) {
    let mut left = intervals.length_ns() / 2;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (from, to) in intervals.ranges() {
        let cut = from.saturating_add(left.min(to.saturating_sub(*from)));
        left -= cut.saturating_sub(*from);
        first.push((*from, cut));
        second.push((cut, *to));
    }
    (Intervals::of(first), Intervals::of(second))
}

/// Operations in each frame, where a series or the recording itself counts them in all; else
/// milliseconds.
pub(super) fn per(case: &Case<'_>, frames: &[Intervals; FRAMES]) -> Per {
    let counted = frames.each_ref().map(|intervals| {
        let windows = intervals.windows();
        if let Some(exchanges) = &case.exchanges {
            return exchanges.within(&windows).flatten().sum::<f64>() * exchanges.tick_ns as f64 / 1e9;
        }
        let each = windows.iter().map(|w| thread_ledger::operations(case.recording, *w).unwrap_or(0.0));
        each.sum::<f64>()
    });
    match counted.iter().all(|n| *n >= 1.0) {
        true => match &case.exchanges {
            Some(exchanges) if exchanges.are_requests() => Per { each: Each::Request, by: counted },
            Some(turns) if turns.are_turns() => Per { each: Each::Turn, by: counted },
            Some(_) => Per { each: Each::Exchange, by: counted },
            None => Per { each: Each::Operation, by: counted },
        },
        false => Per { each: Each::Wall, by: frames.each_ref().map(Intervals::length_ms) },
    }
}

/// Whether threads spend no more of their time in a wait than usual, and as much as ever on other
/// things: fewer operations are each charged with more of it, and it makes none of them fewer. What
/// makes threads do less takes time from all else that they do. Time in which they waited for one
/// that does it is no such wait of their own.
fn passes(key: &Key<'_>, part: &Part<'_>, (slow_ms, base_ms): (f64, f64)) -> bool {
    let waits =
        !key.category.is_running() && !matches!(key.category, Category::RunQueue | Category::Throttled);
    let threads = part.threads.len().max(1) as f64;
    let share = |ms: f64, length_ms: f64| ms / (threads * length_ms.max(f64::MIN_POSITIVE));
    let (slow, base) = (share(part.ms[0] + part.ms[1], slow_ms), share(part.ms[BASE], base_ms));
    // Who hardly does anything else does as much of it as ever.
    let others = ((1.0 - slow).max(0.0) + HARDLY) / ((1.0 - base).max(0.0) + HARDLY);
    let waited = part.waited_ms();
    let for_others = share(waited[0] + waited[1], slow_ms) - share(waited[BASE], base_ms);
    waits && for_others < FOR_OTHERS && slow <= MORE * base && others >= 1.0 / MORE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_as_ever_is_no_cause_where_other_code_runs_more() {
        let by = |code_now: f64| {
            let mut growth = crate::growth::tests::grew(&[
                (Category::C2, "shop.Orders.scan", 0.0, code_now),
                (Category::C2, "web.Io.loop", 0.02, 0.2),
            ]);
            growth.grown[1].runs_more = false;
            without_what_runs_as_ever(&mut growth.grown);
            growth.grown.iter().map(|g| (g.by() * 100.0).round()).collect::<Vec<_>>()
        };
        assert_eq!(by(0.6), [60.0, 0.0]);
        assert_eq!(by(0.1), [10.0, 18.0], "it may do other work");
    }
}
