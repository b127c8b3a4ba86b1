//! The live set over a run: whether it grows, and whether as a leak does.
//!
//! `fathom gc` grades by it and the rule `heap-leak` judges by it: it stands here and nowhere else,
//! so that the two never disagree.

use crate::Fact;
use crate::collections::LivePoint;
use crate::facts::{Metric, Value, live_set};
use crate::trend::Trend;

/// Readings of the live set that a growth is judged by. Each half must have three for a slope with
/// an interval.
pub(crate) const READINGS: usize = 8;
/// Growth from the first readings to the last, as a share of the heap. Less is within what load
/// What it must have grown by, as a share of the heap, not to be ruled out as a leak while it rises
/// to the end.
const NOTABLE: f64 = 0.05;
/// does to a live set.
const GROWN: f64 = 0.2;
/// A rise in the later half of less than this share of that in the earlier half is one that ends.
const NEARLY_ENDS: f64 = 0.25;
/// The rise in the later half must keep this share of that in the earlier half: a cache that fills
/// flattens.
const KEEPS_RISING: f64 = 0.5;
/// Live set as a share of the heap from which on the collector's work grows steeply, so that a leak
/// costs something.
const HIGH: f64 = 0.7;
/// The live set as a share of the heap at which it cannot grow any more.
const FULL: f64 = 0.95;

/// The growth of the live set.
pub(crate) struct Rise {
    pub(crate) all: Trend,
    pub(crate) early: Trend,
    pub(crate) late: Trend,
    pub(crate) first: f64,
    pub(crate) last: f64,
    /// From the first reading to the last, seconds.
    span_s: f64,
    heap: f64,
}

/// What a growth comes to.
#[derive(Debug, PartialEq)]
pub(crate) enum Growth {
    /// None, or one that ends.
    None(Fact),
    /// The readings scatter too much for one that matters to show.
    Unsure(Fact),
    /// One that goes on and is far from the end.
    Early(Fact),
    /// One that goes on and has filled most of the heap.
    Leak,
}

impl Rise {
    /// `None` where the readings are too few, or not far enough apart in time.
    pub(crate) fn of(points: &[LivePoint<'_>], heap: f64) -> Option<Self> {
        if points.len() < READINGS {
            return None;
        }
        let xy: Vec<_> = until_full(points, heap).iter().map(|p| (p.t_ns as f64 / 1e9, p.bytes)).collect();
        let all = Trend::fit(&xy)?;
        let (early, late) = Trend::halves(&xy)?;
        // Ends of the line and not single readings, so that one odd collection does not decide.
        let span_s = xy.last()?.0 - xy.first()?.0;
        Some(Self { all, early, late, first: all.last - all.slope * span_s, last: all.last, span_s, heap })
    }

    pub(crate) fn growth(&self) -> Growth {
        let with_interval = |metric: &'static Metric| {
            let fact = metric.is(Value::growth(self.all.slope)).with("low", Value::growth(self.all.low));
            fact.with("high", Value::growth(self.all.high))
        };
        let in_halves = |metric: &'static Metric| {
            metric.is(Value::growth(self.late.slope)).over(Value::growth(self.early.slope))
        };
        // What may have been added over the whole interval, with 95%, would be a good part of the
        // heap.
        if self.all.low <= 0.0 && self.all.high * self.span_s >= GROWN * self.heap {
            return Growth::Unsure(with_interval(&live_set::UNCERTAIN));
        }
        if self.all.low <= 0.0 {
            return Growth::None(with_interval(&live_set::NOT_SURELY));
        }
        let grown = self.last - self.first;
        if grown < GROWN * self.heap {
            let fact = live_set::GREW_BY.is(Value::bytes(grown)).with("heap", Value::bytes(self.heap));
            // What rises to the end may be a leak that was not watched for long.
            let rises_on = self.late.low > 0.0 && self.late.slope >= KEEPS_RISING * self.early.slope;
            return match rises_on && grown >= NOTABLE * self.heap {
                true => Growth::Unsure(fact),
                false => Growth::None(fact),
            };
        }
        let (slows, is_sure) = (self.late.slope < KEEPS_RISING * self.early.slope, self.late.low > 0.0);
        // Slower, and surely going on; or as fast, and too few readings to be sure: less may be
        // asked for, or a cache fills.
        if slows == is_sure && self.late.slope >= NEARLY_ENDS * self.early.slope {
            return Growth::Unsure(in_halves(&live_set::MAY_FLATTEN));
        }
        if slows || !is_sure {
            return Growth::None(in_halves(&live_set::FLATTENS));
        }
        if self.last < HIGH * self.heap {
            let fact = live_set::FAR_FROM_FULL.is(Value::growth(self.all.slope));
            let fact = fact.with("share", Value::share(self.last / self.heap));
            return Growth::Early(fact.with("left", Value::seconds(self.seconds_left())));
        }
        Growth::Leak
    }

    pub(crate) fn seconds_left(&self) -> f64 {
        ((self.heap - self.last) / self.all.slope).max(0.0)
    }
}

/// The readings up to the first few that find the heap full: a leak cannot grow beyond it, and the
/// many collections of its last seconds would look like a level that was reached.
fn until_full<'p, 'a>(points: &'p [LivePoint<'a>], heap: f64) -> &'p [LivePoint<'a>] {
    match points.iter().position(|p| p.bytes >= FULL * heap) {
        Some(full) => points.get(..full + 2).unwrap_or(points),
        None => points,
    }
}
