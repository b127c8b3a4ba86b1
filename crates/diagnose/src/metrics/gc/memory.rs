//! Memory: how fast it is allocated, what survives, how much is live, and whether that grows.
//!
//! Rates are computed from the sizes that the log prints around each collection:
//! - **allocated** between two collections = heap before the second − heap after the first, where
//!   that is positive; divided by the interval from the first reading to the last. What is
//!   allocated while a concurrent collection runs is seen only as far as its own sizes show it, so
//!   for ZGC and Shenandoah the rate is a lower bound.
//! - **promoted** by a young collection = what the old generation grew by in it, where that is
//!   positive. For G1 the old generation is known in whole regions.

use std::collections::HashMap;

use fathom_recording::Span;
use fathom_recording::vocabulary::{fact, figure, kind, label};

use super::super::{Limits, Metric};
use super::pauses::STOPPED;
use super::{Grade, Group, Scope};
use crate::collections::{self, LivePoint};
use crate::facts::{Unit, Value, judged as words};
use crate::live_set::{Growth, READINGS, Rise};

/// Live set as a share of the maximum heap. A collector's work per byte allocated goes with live /
/// (heap − live): at 50% that is 1, at 70% more than 2, at 85% almost 6.
pub const LIVE_SHARE: (f64, f64) = (0.70, 0.85);
/// Promoted as a share of allocated. Most objects die young; where a tenth does not, the old
/// generation fills at a tenth of the allocation rate and old collections follow.
const PROMOTED: Limits = Limits { fine: 0.10, watch: 0.30 };
/// Bytes allocated and the seconds that this was seen over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allocated {
    /// Bytes.
    pub bytes: f64,
    /// Seconds.
    pub over_s: f64,
}

/// What was allocated between the collections of a scope, by the formula of this module.
fn allocated(scope: &Scope<'_>) -> Option<Allocated> {
    let before = scope.recording.figure_of(figure::HEAP_BEFORE_BYTES);
    let after = scope.recording.figure_of(figure::HEAP_AFTER_BYTES);
    let sizes = |span: &Span<'_>| Some((span.t0_ns(), span.t1_ns(), before(span)?, after(span)?));
    let concurrent = collections::of_kind(scope.recording, kind::GC_CONCURRENT, scope.jvm, scope.asked);
    let readings = collections::in_order(
        scope.pauses.iter().filter_map(|p| sizes(&p.span)),
        concurrent.filter_map(|span| sizes(&span)),
        |reading| reading.0,
    );
    scope.covers?;
    let mut bytes = 0.0;
    let mut last: Option<(i64, f64)> = None;
    let mut from = None;
    for (t0, t1, before, after) in readings {
        match last {
            // Nested in or overlapping the reading before: its growth is counted there.
            Some((ended, _)) if t0 < ended => continue,
            Some((_, left)) => bytes += (before - left).max(0.0),
            None => from = Some(t1),
        }
        last = Some((t1, after));
    }
    let over_s = last?.0.saturating_sub(from?) as f64 / 1e9;
    (over_s > 0.0).then_some(Allocated { bytes, over_s })
}

/// Bytes promoted by the young collections of a scope; `None` where none of them has the sizes.
fn promoted(scope: &Scope<'_>) -> Option<f64> {
    let growth = collections::old_growth_of(scope.recording);
    let young = scope.pauses.iter().filter(|p| p.is_young() && !p.is_mixed());
    young.filter_map(|p| growth(&p.span)).map(|grown| grown.max(0.0)).reduce(|a, b| a + b)
}

pub(super) fn group(scope: &Scope<'_>) -> Group {
    let live = collections::live_points_of(&scope.pauses, scope.recording, scope.jvm, scope.asked);
    let allocated = allocated(scope);
    let capacity = capacity(scope);
    let mut metrics = vec![allocation_rate(scope, allocated)];
    metrics.extend(promotion(scope, allocated));
    metrics.extend(live_set(scope, &live, capacity));
    metrics.extend(heap(scope, capacity));
    metrics.extend(metaspace(scope));
    metrics.extend(humongous(scope));
    metrics.push(survivors(scope));
    Group { name: "Memory", metrics }
}

fn allocation_rate(scope: &Scope<'_>, allocated: Option<Allocated>) -> Metric {
    let rate = allocated.map(|a| a.bytes / a.over_s);
    let stopped = scope.stopped_share;
    Metric::new("allocation_rate", "Allocation rate", rate, Unit::BytesPerSecond)
        .means("What the application allocates. It sets how often the collector must run.")
        .because(words::NO_RATE.fact())
        .judged(|_| match stopped {
            Some(s) if s <= STOPPED.fine => (Grade::Fine, words::KEEPS_UP.is(Value::share(s))),
            Some(s) => (Grade::Watch, words::KEEPING_UP_TAKES.is(Value::share(s))),
            None => (Grade::NotJudged, scope.no_time()),
        })
}

fn promotion(scope: &Scope<'_>, allocated: Option<Allocated>) -> [Metric; 2] {
    let promoted = promoted(scope);
    let rate = promoted.zip(scope.covers_s()).map(|(bytes, s)| bytes / s);
    let share = promoted.zip(allocated).filter(|(_, a)| a.bytes > 0.0).map(|(p, a)| p / a.bytes);
    // What was there before the first collection is no part of what is counted as allocated after
    // it.
    let (share, unknown) = match share {
        Some(share) if share > 1.0 => (None, words::PROMOTED_MORE.fact()),
        share => (share, words::NO_OLD_SIZES.fact()),
    };
    [
        Metric::new("promotion_rate", "Promotion rate", rate, Unit::BytesPerSecond)
            .means("What young collections move to the old generation. It sets how often that must be collected.")
            .because(if rate.is_some() { words::BY_ALLOCATED.fact() } else { words::NO_OLD_SIZES.fact() }),
        Metric::new("promoted_share", "Promoted of what was allocated", share, Unit::Share)
            .means("Most objects die young and should never reach the old generation.")
            .because(unknown)
            .judged(|s| match PROMOTED.grade(s) {
                Grade::Fine => (Grade::Fine, words::USUAL_UP_TO.is(Value::share(PROMOTED.fine))),
                grade => (scope.grade_cost(grade), words::MUCH_SURVIVES.fact()),
            }),
    ]
}

fn live_set(scope: &Scope<'_>, live: &[LivePoint<'_>], capacity: Option<f64>) -> Vec<Metric> {
    let estimate = collections::live_estimate(live);
    // A log joined of those of two JVMs has sizes beyond the heap that it states.
    let heap = scope.fact_number(fact::HEAP_MAX_BYTES).into_iter().chain(capacity).reduce(f64::max);
    let share = estimate.zip(heap).filter(|(_, h)| *h > 0.0).map(|(e, h)| e / h);
    let limits = Limits { fine: LIVE_SHARE.0, watch: LIVE_SHARE.1 };
    let last = live.last().map(|p| p.span.position());
    vec![
        Metric::new("live_set", "Live set (estimate)", estimate, Unit::Bytes)
            .means("What the application holds on to: the median heap after the last collections of the old generation.")
            .because(if estimate.is_some() { words::BY_HEAP.fact() } else { words::NO_OLD_COLLECTION.fact() })
            .at(last),
        Metric::new("live_share", "Live set as a share of the heap", share, Unit::Share)
            .means("The fuller the heap stays after a collection, the harder the collector works for each byte.")
            .because(words::NO_OLD_OR_SIZE.fact())
            .judged(|s| match limits.grade(s) {
                Grade::Fine => (Grade::Fine, words::LEAVES_ROOM.is(Value::share(limits.fine))),
                grade => (grade, words::LITTLE_ROOM.fact()),
            }),
        live_trend(scope, live, heap),
    ]
}

fn live_trend(scope: &Scope<'_>, live: &[LivePoint<'_>], heap: Option<f64>) -> Metric {
    let heap = heap.filter(|heap| *heap > 0.0);
    let rise = heap.filter(|_| scope.covers.is_some()).and_then(|heap| Rise::of(live, heap));
    let too_few = || words::TOO_FEW_OLD.is(Value::count(READINGS)).with("has", Value::count(live.len()));
    let unknown = match heap {
        None => words::NO_HEAP_SIZE.fact(),
        Some(_) => too_few(),
    };
    Metric::new(
        "live_trend",
        "Growth of the live set",
        rise.as_ref().map(|r| r.all.slope),
        Unit::BytesPerSecond,
    )
    .means("Slope of the heap after collections of the old generation. A leak never stops growing.")
    .because(unknown)
    .judged(|_| match rise.as_ref().map(|rise| (rise, rise.growth())) {
        None => (Grade::NotJudged, too_few()),
        Some((_, Growth::None(why))) => (Grade::Fine, why),
        Some((_, Growth::Unsure(why))) => (Grade::NotJudged, why),
        Some((_, Growth::Early(why))) => (Grade::Watch, why),
        Some((rise, Growth::Leak)) => (
            Grade::Watch,
            match rise.seconds_left() {
                s if s > 0.0 => words::GROWS_AS_LEAK.is(Value::seconds(s)),
                _ => words::GREW_FULL.fact(),
            },
        ),
    })
}

/// The largest heap capacity that a pause prints.
fn capacity(scope: &Scope<'_>) -> Option<f64> {
    let capacity = scope.recording.figure_of(figure::HEAP_CAPACITY_BYTES);
    scope.pauses.iter().filter_map(|p| capacity(&p.span)).reduce(f64::max)
}

fn heap(scope: &Scope<'_>, capacity: Option<f64>) -> [Metric; 2] {
    let after = scope.recording.figure_of(figure::HEAP_AFTER_BYTES);
    let max = scope.pauses.iter().filter_map(|p| after(&p.span)).reduce(f64::max);
    let stated = scope.fact_number(fact::HEAP_MAX_BYTES);
    let heap = stated.map(|stated| capacity.map_or(stated, |capacity| stated.max(capacity)));
    [
        Metric::new("heap_after_max", "Highest heap after a collection", max, Unit::Bytes)
            .means("Compared with the heap's size it shows how close the heap came to running out.")
            .because(words::NO_HEAP_SIZES.fact())
            .judged(|m| match heap.filter(|h| *h > 0.0).map(|h| m / h) {
                Some(s) if s > LIVE_SHARE.1 => (Grade::Watch, words::OF_LARGEST.is(Value::share(s))),
                Some(s) => (Grade::Fine, words::OF_LARGEST.is(Value::share(s))),
                None => (Grade::NotJudged, words::NO_HEAP_MAX.fact()),
            }),
        Metric::new("heap_capacity_max", "Largest heap reserved", capacity, Unit::Bytes)
            .means("The heap's capacity as printed with the collections.")
            .because(words::FOR_COMPARISON.fact()),
    ]
}

fn metaspace(scope: &Scope<'_>) -> [Metric; 2] {
    let used = scope.pauses.iter().rev().find_map(|p| p.span.figure(figure::METASPACE_AFTER_BYTES));
    let cause = scope.recording.label_of(label::CAUSE);
    let named = scope.pauses.iter().any(|p| cause(&p.span).is_some());
    let mut metaspace = HashMap::new();
    let asked = scope.pauses.iter().filter_map(|p| cause(&p.span)).filter(|cause| {
        let starts = || scope.recording.strings.get(*cause).starts_with("Metadata GC");
        *metaspace.entry(*cause).or_insert_with(starts)
    });
    [
        Metric::new("metaspace", "Metaspace in use, last seen", used, Unit::Bytes)
            .means("Memory for classes, outside the heap.")
            .because(words::BY_COLLECTIONS.fact()),
        Metric::new(
            "metaspace_gcs",
            "Collections to free metaspace",
            named.then(|| asked.count() as f64),
            Unit::Count,
        )
        .means("Collections because class memory reached a threshold, though the heap had room.")
        .because(words::NO_CAUSES.fact())
        .judged(|n| match n {
            0.0 => (Grade::Fine, words::NONE.fact()),
            n if n <= 3.0 => (Grade::Fine, words::LOADING.fact()),
            _ => (Grade::Watch, words::LOADING_GOES_ON.fact()),
        }),
    ]
}

fn humongous(scope: &Scope<'_>) -> Option<Metric> {
    if scope.fact(fact::COLLECTOR).is_some_and(|c| c != "G1") {
        return None;
    }
    let before = scope.recording.figure_of(figure::HUMONGOUS_BEFORE_REGIONS);
    let regions = scope.pauses.iter().filter_map(|p| before(&p.span)).reduce(f64::max)?;
    let (cause, humongous) =
        (scope.recording.label_of(label::CAUSE), scope.recording.strings.find("G1 Humongous Allocation"));
    let caused = scope.pauses.iter().filter(|p| humongous.is_some() && cause(&p.span) == humongous).count();
    let metric = Metric::new("humongous_max", "Most humongous regions", Some(regions), Unit::Count)
        .means(
            "Regions that hold objects of half a region or more; they are allocated in the old generation.",
        )
        .judged(|_| match caused {
            0 => (Grade::Fine, words::HUMONGOUS_NONE.fact()),
            n => (Grade::Watch, words::HUMONGOUS_STARTED.is(Value::count(n))),
        });
    Some(metric)
}

fn survivors(scope: &Scope<'_>) -> Metric {
    let threshold = scope.recording.figure_of(figure::TENURING_THRESHOLD);
    let max = scope.recording.figure_of(figure::TENURING_MAX);
    let aged: Vec<_> =
        scope.pauses.iter().filter_map(|p| Some((threshold(&p.span)?, max(&p.span)?))).collect();
    let collapsed = aged.iter().filter(|(threshold, max)| *threshold <= 1.0 && *max > 1.0).count();
    let share = (!aged.is_empty()).then(|| collapsed as f64 / aged.len() as f64);
    Metric::new("survivors_overrun", "Collections with survivors overrun", share, Unit::Share)
        .means("Young collections after which objects are promoted at age 1, because the survivor spaces are too small.")
        .because(words::NO_AGES.fact())
        .judged(|s| match s {
            s if s < 0.5 => (Grade::Fine, words::FEWER_THAN_HALF.fact()),
            _ => (Grade::Watch, words::HALF_OR_MORE.fact()),
        })
}
