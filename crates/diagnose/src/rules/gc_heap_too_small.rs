//! `gc-heap-too-small`: the collector runs all the time because there is too little room.

pub(super) mod remedies;
#[cfg(test)]
mod tests;
mod young;

use fathom_recording::vocabulary::{fact, figure};

use super::gc_case::{GcCase, SEVERAL, blind, cited, median, most, summed};
use super::gc_cpu::{Ready, waited};
use super::heap_leak;
use super::{collector_work, finalizer_backlog};
use crate::collections::{Pause, live_points};
use crate::confidence::Ground;
use crate::facts::{
    Metric, Value, checks, culprits, meanings, pauses, reasons, ruled_out, scope, switch_on, titles,
};
use crate::intervals::Intervals;
use crate::limits::LONG_MS;
use crate::metrics::gc::LIVE_SHARE;
use crate::{Case, Fact, Finding, Judgement, Layer, MATTERS_SHARE, Rule};

use young::{CLOSE_S, Young};

/// Share of the time stopped by collections for lack of room.
const STOPPED: f64 = MATTERS_SHARE;
/// Live set as a share of the heap. A collector's work per byte allocated goes with live / (heap −
/// live): 2.3 at 70%, 9 at 90%.
const LIVE: f64 = 0.70;
/// Old generation in use after full collections, as a share of what it has room for: nothing more
/// can be promoted. It can be so full in a heap that is not, where the young generation has the
/// room.
const OLD_FULL: f64 = 0.9;
/// The same where full collections follow each other as closely as [`CLOSE_S`]: the parallel
/// collector makes one as soon as what is usually promoted would no longer fit.
const OLD_SHORT: f64 = 0.75;
/// Full collections from which on that is reported, and of which the last ones are taken.
const FULL_ONES: usize = 3;
/// Full collections from which on they are said to follow each other closely.
const MANY_CLOSE: usize = 10;
/// A heap that takes less than this of its maximum may still grow, and a full old generation is no
/// limit to it: it is made larger when it is short …
const GROWN: f64 = 0.75;
/// … unless as many full collections …
const MANY_FULL: usize = 100;
/// … leave its capacity the same, but for so much: then something else holds it where it is
/// (`-Xmn`, `-XX:NewRatio`, memory).
const SAME_ROOM: f64 = 0.05;
/// Readings of the live set from which on it counts as known where it is what rules the cause out.
const LIVE_READINGS: usize = 3;
/// Young collections as close together as this, seconds, are many for any young generation: a
/// larger heap might have fewer, so the part of the heap that it is rules nothing out.
const VERY_CLOSE_S: f64 = 0.1;
/// Full collections of a second or more within this time of each other, median, seconds: what one
/// frees is used up by the next, however little they take of a run of hours.
const USED_UP_S: f64 = 60.0;
/// Young collections up to which the young generation cannot be to blame.
const FEW_YOUNG: usize = 2;

/// Allocation per second and CPU beyond which it is the application that allocates too much:
/// whoever does something with what it allocates rarely gets there, and writing it alone takes a
/// good part of a CPU.
const FLOOD_PER_CPU: f64 = 1024.0 * 1024.0 * 1024.0;

/// The rule.
pub struct GcHeapTooSmall;

impl Rule for GcHeapTooSmall {
    fn id(&self) -> &'static str {
        "gc-heap-too-small"
    }

    fn layer(&self) -> Layer {
        Layer::Gc
    }

    fn about(&self) -> &'static str {
        "What the application keeps in use fills most of the heap, so that every collection frees little and the next \
         one follows at once; or the young generation is so small that it fills many times a second.\n\n\
         **Evidence.** Collections for lack of room (not those that somebody asked for, nor for metaspace, humongous \
         objects or native code) stop the application for 5% of the time or more, and the live set is 70% of \
         the largest heap or more, or the last full collections left as much, or full collections leave 90% of the old generation in use (75% where they follow each other within half a second) in a heap that has grown to three \
         quarters of its maximum, or does not grow in a hundred of them, or young collections follow each other within half a second in a young generation \
         of at most 15% of the heap. Five full collections of a second or more that leave 70% of the heap in use and follow each other within a minute are one too, \
         whatever they take of the run.\n\n\
         **Confounders.** A live set that keeps growing is a leak (`heap-leak`), which a larger heap only delays. \
         Pauses that are long because the collector gets no CPU (`gc-starved-of-cpu`) are few and use little CPU. \
         A small young generation is not to blame either where more than 1 GB per second per CPU is allocated. \
         Where the allocation rate grew along with the collections, that is reported: the heap may be the right size for \
         the usual load.\n\n\
         **Ruled out** by the time that such collections take, or by a live set and a young generation that leave room. Where \
         a log does not have their sizes, or covers less than 10 s, or where the heap may still grow, or where the young generation fills more than ten times a \
         second though it is a large part of the heap, it is not known."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Collections]
    }

    fn judge(&self, case: &Case<'_>, jvm: fathom_recording::ProcessId) -> Judgement {
        let gc = match GcCase::of(case, jvm, self) {
            Ok(gc) => gc.over_run(),
            Err(judgement) => return judgement,
        };
        if matches!(gc.fact(fact::COLLECTOR), Some("Z" | "Shenandoah" | "Epsilon")) {
            return Judgement::NotApplicable;
        }
        let stopped = gc.stopped_share(for_room);
        let cost_ms = gc.excess_ms(for_room);
        if let Some(tight) = left_full(&gc).filter(|_| stopped < STOPPED && !heap_leak::leaks(&gc)) {
            let room = Room { tight: Some(tight), old: None, young: None, long: true };
            let (stopped, cost_ms) = (gc.stopped_share(is_long), gc.excess_ms(is_long));
            return Judgement::Found(Box::new(found(self, &gc, stopped, cost_ms, &room)));
        }
        if stopped < STOPPED || !gc.matters(cost_ms) {
            // `fathom gc` says that such a heap is full.
            let live = heap_leak::live_share(&gc).filter(|(live, heap)| *live > LIVE_SHARE.1 * heap);
            let fact = ruled_out::FOR_ROOM_LITTLE.is(Value::share(stopped));
            let fact = fact.with("limit", Value::share(STOPPED));
            return gc.ruled_out(fact.with("live", live.map(|(live, heap)| Value::share(live / heap))));
        }
        // Less than a long stop, all together: a fragment of a log, or a start-up.
        if gc.slow.len() < SEVERAL || (cost_ms < LONG_MS && !gc.is_a_run()) {
            return gc.too_few(self);
        }
        let live = heap_leak::live_share(&gc);
        let tight = live.filter(|(live, heap)| *live >= LIVE * heap).or_else(|| full_after_full(&gc));
        let generation = Young::of(&gc);
        let young = generation.as_ref().filter(|young| young.is_small());
        let old = old_full(&gc);
        let grows = old.and_then(|_| may_grow(&gc));
        let old = old.filter(|_| grows.is_none());
        if tight.is_none() && young.is_none() && old.is_none() {
            return no_cause(self, &gc, stopped, live, generation.as_ref(), grows);
        }
        let room = Room { tight, old, young, long: false };
        // Of a full old generation come full collections alone: young ones between them have room
        // enough. Of a small young one come young ones: more room there makes no other one rarer.
        let (stopped, cost_ms) = (gc.stopped_share(|p| room.is_short(p)), gc.excess_ms(|p| room.is_short(p)));
        if stopped < STOPPED || !gc.matters(cost_ms) {
            let metric = match old {
                Some(_) => &ruled_out::FULL_FOR_ROOM_LITTLE,
                None => &ruled_out::YOUNG_FOR_ROOM_LITTLE,
            };
            return gc.ruled_out(metric.is(Value::share(stopped)).with("limit", Value::share(STOPPED)));
        }
        if let Some(rate) = flood(&gc).filter(|_| tight.is_none() && old.is_none()) {
            return gc.ruled_out(flooded(rate));
        }
        if heap_leak::leaks(&gc) {
            return gc.ruled_out(ruled_out::GROWS.fact());
        }
        Judgement::Found(Box::new(found(self, &gc, stopped, cost_ms, &room)))
    }
}

/// Whether a pause took place because memory for new objects ran out, and not for another reason
/// that it names.
fn for_room(pause: &Pause<'_>) -> bool {
    const OTHER: [&str; 10] = [
        "System",
        "Diagnostic",
        "Heap ",
        "JvmtiEnv",
        "Metadata",
        "Permanent",
        "GCLocker",
        "G1 Humongous",
        "CodeCache",
        "G1 Periodic",
    ];
    // A pause that hardly ran is long for another reason than the heap's size.
    !waited(pause) && pause.cause().is_none_or(|cause| !OTHER.iter().any(|other| cause.starts_with(other)))
}

/// Whether it is a full collection for lack of room that is reported whatever its share of the run.
fn is_long(pause: &Pause<'_>) -> bool {
    for_room(pause) && pause.collected_old() && pause.ms() >= LONG_MS
}

/// What long full collections leave in use, in the median, and the largest heap, bytes, where they
/// leave it full and follow each other: they may take little of a run that is idle mostly.
fn left_full(gc: &GcCase<'_, '_>) -> Option<(f64, f64)> {
    let heap = gc.heap_max_bytes()?;
    let long: Vec<&Pause<'_>> = gc.slow.iter().filter(|p| is_long(p)).collect();
    let left = median(long.iter().filter_map(|p| p.span.figure(figure::HEAP_AFTER_BYTES)));
    let starts = long.windows(2).map(|pair| pair[1].span.t0_ns().saturating_sub(pair[0].span.t0_ns()));
    let every_s = median(starts.map(|ns| ns as f64 / 1e9));
    (long.len() >= SEVERAL && every_s <= USED_UP_S && left >= LIVE * heap).then_some((left, heap))
}

/// The same of the last ones of any length. What stays when the load has gone is no measure of what
/// it needed.
fn full_after_full(gc: &GcCase<'_, '_>) -> Option<(f64, f64)> {
    let heap = gc.heap_max_bytes()?;
    let full = gc.slow.iter().rev().filter(|p| p.collected_old() && for_room(p));
    let left: Vec<f64> =
        full.filter_map(|p| p.span.figure(figure::HEAP_AFTER_BYTES)).take(FULL_ONES * FULL_ONES).collect();
    let middle = median(left.iter().copied());
    (left.len() >= FULL_ONES && middle >= LIVE * heap).then_some((middle, heap))
}

/// What is said where collections take much of the time and nothing is known to be too small: ruled
/// out only by values of both, the live set and the young generation.
fn no_cause(
    rule: &dyn Rule,
    gc: &GcCase<'_, '_>,
    stopped: f64,
    live: Option<(f64, f64)>,
    young: Option<&Young>,
    grows: Option<(f64, f64)>,
) -> Judgement {
    let readings = live_points(gc.case.recording, gc.jvm, None).len();
    let live = live.filter(|_| readings >= LIVE_READINGS);
    let few = gc.slow.iter().filter(|p| p.is_young() && for_room(p)).count() <= FEW_YOUNG;
    if let Some(rate) = flood(gc) {
        return gc.ruled_out(flooded(rate));
    }
    if let Some((taken, most)) = grows.filter(|_| gc.is_a_run()) {
        let what = scope::HEAP_GROWS.is(Value::share(stopped)).with("taken", Value::bytes(taken));
        let what = what.with("heap", Value::bytes(most)).with("jvm", Value::name(gc.case.jvm_name(gc.jvm)));
        return blind(rule, what, switch_on::HEAP_AT_ITS_SIZE.fact());
    }
    let unknown: &Metric = match live {
        _ if !gc.is_a_run() => &scope::SHORT_LOG,
        _ if gc.heap_max_bytes().is_none() => &scope::NO_HEAP_SIZE,
        None => &scope::FEW_OLD_COLLECTIONS,
        _ if young.is_some_and(|young| young.interval_s <= VERY_CLOSE_S) => &scope::FILLS_FAST,
        Some((live, heap)) if young.is_some() || few => {
            let fact = ruled_out::HAS_ROOM.is(Value::share(stopped)).with("live", Value::share(live / heap));
            let fact = fact.with("young", young.map(|young| Value::bytes(young.size)));
            return gc.ruled_out(fact.with("interval", young.map(|young| Value::seconds(young.interval_s))));
        }
        Some(_) => &scope::NO_YOUNG_SIZE,
    };
    let what = scope::HEAP_NOT_JUDGED.is(Value::share(stopped)).with("why", Value::from(unknown.fact()));
    let what = what.with("jvm", Value::name(gc.case.jvm_name(gc.jvm)));
    blind(rule, what, switch_on::LONGER_LOG_WITH_SIZES.fact())
}

/// The old generation as full collections leave it and what it has room for, bytes, where it is
/// full: the median of the last ones.
fn old_full(gc: &GcCase<'_, '_>) -> Option<(f64, f64)> {
    let full = gc.slow.iter().rev().filter(|p| p.collected_old() && for_room(p));
    let sizes = |p: &Pause<'_>| {
        Some((p.span.figure(figure::OLD_AFTER_BYTES)?, p.span.figure(figure::OLD_CAPACITY_BYTES)?))
    };
    let last: Vec<(f64, f64)> = full.filter_map(sizes).take(FULL_ONES * FULL_ONES).collect();
    let left = median(last.iter().map(|(left, _)| *left));
    let room = median(last.iter().map(|(_, room)| *room));
    let starts: Vec<i64> =
        gc.slow.iter().filter(|p| p.collected_old() && for_room(p)).map(|p| p.span.t0_ns()).collect();
    let close = median(starts.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64 / 1e9)) <= CLOSE_S;
    let limit = if close && starts.len() > MANY_CLOSE { OLD_SHORT } else { OLD_FULL };
    (last.len() >= FULL_ONES && left >= limit * room && room > 0.0).then_some((left, room))
}

/// What the heap takes and what it may, bytes, where it may still grow: a full collection that
/// finds the old generation short makes it larger.
fn may_grow(gc: &GcCase<'_, '_>) -> Option<(f64, f64)> {
    let most = gc.heap_max_bytes()?;
    let full = gc.slow.iter().rev().filter(|p| p.collected_old() && for_room(p));
    let rooms: Vec<f64> =
        full.clone().filter_map(|p| p.span.figure(figure::OLD_CAPACITY_BYTES)).take(MANY_FULL).collect();
    let (least, largest) = rooms.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), v| (a.min(*v), b.max(*v)));
    let stays = rooms.len() >= MANY_FULL && largest - least <= SAME_ROOM * largest;
    let taken = |p: &Pause<'_>| {
        let f = |key| p.span.figure(key);
        f(figure::HEAP_CAPACITY_BYTES)
            .or_else(|| Some(f(figure::OLD_CAPACITY_BYTES)? + f(figure::YOUNG_CAPACITY_BYTES).unwrap_or(0.0)))
    };
    // The last one of all may have emptied the heap, and made it smaller.
    let taken = full.filter_map(taken).take(FULL_ONES * FULL_ONES).reduce(f64::max)?;
    (!stays && taken < GROWN * most).then_some((taken, most))
}

/// What there is too little room in.
struct Room<'y> {
    /// The live set and the largest heap, bytes.
    tight: Option<(f64, f64)>,
    /// The old generation after full collections and its capacity, bytes.
    old: Option<(f64, f64)>,
    /// The young generation.
    young: Option<&'y Young>,
    /// Whether only long full collections are charged, in a run of which all take little.
    long: bool,
}

impl Room<'_> {
    /// Whether a pause took place for that.
    fn is_short(&self, pause: &Pause<'_>) -> bool {
        if self.long {
            return is_long(pause);
        }
        let is_its_kind = match (self.old, self.young) {
            (Some(_), None) => pause.collected_old(),
            (None, Some(_)) => pause.is_young(),
            _ => true,
        };
        for_room(pause) && (self.tight.is_some() || is_its_kind)
    }
}

/// The allocation rate per CPU, where it is out of all proportion.
fn flood(gc: &GcCase<'_, '_>) -> Option<f64> {
    let workers = || gc.slow.iter().filter_map(|p| p.span.figure(figure::WORKERS)).reduce(f64::max);
    let cpus = gc.fact_number(fact::CPUS).or_else(workers).filter(|n| *n >= 1.0)?;
    let length_s = Case::length_ms(&gc.case.slow) / 1e3;
    let bytes: f64 = gc.case.slow.iter().map(|w| allocated(gc, *w)).sum();
    Some(bytes / length_s / cpus).filter(|rate| *rate > FLOOD_PER_CPU)
}

fn flooded(rate: f64) -> Fact {
    ruled_out::FLOOD.is(Value::bytes(rate))
}

fn found(rule: &dyn Rule, gc: &GcCase<'_, '_>, stopped: f64, cost_ms: f64, short: &Room<'_>) -> Finding {
    let &Room { tight, old, young, long } = short;
    let room: Vec<Pause<'_>> = gc.slow.iter().filter(|p| short.is_short(p)).copied().collect();
    let grew = allocation_grew(gc);
    let (ground, why) = match grew {
        Some(times) => (Ground::Fits, reasons::LOAD_GREW.is(Value::plain(times))),
        None => (Ground::Incomplete, reasons::LARGER_HEAP_NOT_TRIED.fact()),
    };
    let mut finding = gc.finding(rule, ground.because(gc.case, cost_ms, why), cost_ms, &room);
    let before = tight.and_then(|(live, _)| remedies::less_before(gc, live));
    let title = match long {
        true => titles::GC_HEAP_TOO_SMALL_LONG.is(Value::count(room.len())),
        false => titles::GC_HEAP_TOO_SMALL.is(Value::share(stopped)),
    };
    finding.title = match (tight, old, young) {
        (Some((live, heap)), ..) => {
            let title = title.with("live", Value::share(live / heap)).with("heap", Value::bytes(heap));
            title.with("before", before.map(Value::bytes))
        }
        (_, Some((left, room)), _) => {
            title.with("old-left", Value::bytes(left)).with("old", Value::bytes(room))
        }
        (.., Some(young)) => {
            title.with("young", Value::bytes(young.size)).with("interval", Value::seconds(young.interval_s))
        }
        _ => title,
    }
    .into();
    let small = match (tight, old) {
        (Some(_), _) => "heap",
        (None, Some(_)) => "old generation",
        (None, None) => "young generation",
    };
    finding.culprit = match before {
        Some(_) => culprits::NO_HEAP.fact().into(),
        None => culprits::SIZE.is(Value::name(small)).into(),
    };
    finding.meaning = meanings::COLLECTIONS_FOLLOW.fact().into();
    let fact = pauses::FOR_ROOM.is(Value::share(stopped)).with("collections", Value::count(room.len()));
    let paused = Value::ms(room.iter().map(Pause::ms).sum());
    finding.evidence.push(summed(gc.source(), fact.with("paused", paused)));
    if let Some((live, heap)) = tight {
        let fact = pauses::LIVE_SET.is(Value::bytes(live)).with("heap", Value::bytes(heap));
        finding.evidence.push(summed(gc.source(), fact));
    }
    finding.evidence.extend(starved(gc, &room).map(|ready| ready.evidence(&room)));
    if let Some(young) = young {
        let fact = pauses::YOUNG_SIZE.is(Value::bytes(young.size)).with("share", Value::share(young.share));
        let fact = fact.with("interval", Value::seconds(young.interval_s));
        finding.evidence.push(summed(gc.source(), fact));
    }
    let heap = gc.heap_max_bytes().unwrap_or(f64::INFINITY);
    finding.evidence.extend(most(&room, Pause::ms).into_iter().map(|p| {
        let left = heap_leak::left_share(p, heap);
        cited(&p.span, pauses::pause(p).with("heap-after", left.map(Value::share)))
    }));
    finding.remedies = remedies::remedies(gc, tight, old);
    finding.verify = vec![if long { &checks::NO_LONG_FULL } else { &checks::LITTLE_STOPPED }.fact().into()];
    finalizer_backlog::tell(gc.case, gc.jvm, &mut finding);
    let paused = Intervals::of(room.iter().map(|p| (p.span.t0_ns(), p.span.t1_ns())));
    collector_work::report(gc.case, gc.jvm, &paused, &mut finding);
    finding
}

/// How the collector's threads waited for a CPU in some pauses, where that was for longer than they
/// ran.
fn starved<'a>(gc: &GcCase<'_, 'a>, pauses: &[Pause<'a>]) -> Option<Ready> {
    Ready::of(gc, pauses.iter()).filter(Ready::is_starved)
}

/// How many times as much is allocated per second as in the baseline windows, when that is a good
/// deal more.
fn allocation_grew(gc: &GcCase<'_, '_>) -> Option<f64> {
    let rate = |windows: &[crate::Window]| {
        let bytes: f64 = windows.iter().map(|w| allocated(gc, *w)).sum();
        let length_s = Case::length_ms(windows) / 1e3;
        (length_s > 0.0).then(|| bytes / length_s)
    };
    let times = rate(&gc.case.slow)? / rate(&gc.case.base).filter(|r| *r > 0.0)?;
    (times >= 1.5).then_some(times)
}

/// Bytes allocated between the collections of a window: heap before each, less heap after the one
/// before it.
fn allocated(gc: &GcCase<'_, '_>, window: crate::Window) -> f64 {
    let sizes = gc.all.iter().filter(|p| (window.from_ns..window.to_ns).contains(&p.span.t0_ns()));
    let sizes: Vec<_> = sizes
        .filter_map(|p| {
            Some((p.span.figure(figure::HEAP_BEFORE_BYTES)?, p.span.figure(figure::HEAP_AFTER_BYTES)?))
        })
        .collect();
    let grown = sizes.windows(2).map(|pair| match pair {
        [(_, left), (before, _)] => (before - left).max(0.0),
        _ => 0.0,
    });
    grown.sum()
}
