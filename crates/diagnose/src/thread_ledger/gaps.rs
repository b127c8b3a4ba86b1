//! What a watched thread did between the waits that were recorded one by one: short waits, running,
//! or unknown.
//!
//! ```text
//! waits, one by one       ▐████▌          ▐██▌                ▐█████▌
//! gaps between them             ░░░░░░░░░░    ░░░░░░░░░░░░░░░░
//!   short waits, of which only the sum is known, are spread over the gap that they were counted in
//!   what is left ran, as far as CPU samples of the thread bear it out
//!   the rest of it is unknown: switches or waits that were not recorded
//! ```

use std::borrow::Cow;

use fathom_recording::vocabulary::sample;
use fathom_recording::{Recording, StrId};

use super::thread_records::{Taken, ThreadRecords};
use crate::intervals::Intervals;
use crate::waits::Category;

/// Short waits are spread in parts of this length, nanoseconds: no window that is worth a look is
/// shorter.
const PART_NS: i64 = 50_000_000;
/// Parts of one gap at most.
const MOST_PARTS: i64 = 20;
/// Samples by which a true time may lie above what was sampled: three standard deviations of a
/// count, and as many periods more, for counts so small that they have no normal distribution
/// (without a sample eight periods pass once in 3,000 times).
const DEVIATIONS: f64 = 3.0;
const PERIODS: f64 = 8.0;

/// How CPU samples were taken, where they bear out that a thread ran.
#[derive(Clone)]
pub(super) struct Sampler {
    period_ns: f64,
    pub(super) covers: (i64, i64),
}

impl Sampler {
    /// Of a recording whose sampler counts time by itself and lost next to nothing.
    pub(super) fn of(recording: &Recording) -> Option<Self> {
        let of_time = |source: &&fathom_recording::Source| {
            let by_time = source.sampling.as_ref().is_some_and(|s| s.unit == "ns" && s.period.is_some());
            by_time && source.lost <= source.records / 100
        };
        let source = recording.sources.iter().find(of_time)?;
        let period_ns = source.sampling.as_ref()?.period? as f64;
        Some(Self { period_ns, covers: source.covers_ns? })
    }

    /// The longest time that so many samples do not speak against.
    pub(super) fn most_ns(&self, samples: usize, weight_ns: i64) -> i64 {
        let above = (DEVIATIONS * (samples as f64).sqrt() + PERIODS) * self.period_ns;
        weight_ns.saturating_add(above as i64)
    }
}

/// An interval between two things that a thread was seen to do.
struct Gap<'g> {
    /// When it may have run: sorted, without overlap.
    ran: Cow<'g, [(i64, i64)]>,
    /// Its CPU samples: until when each counts, and for how long.
    samples: &'g [(i64, i64)],
}

impl Gap<'_> {
    fn ns(&self) -> i64 {
        self.ran.iter().fold(0, |sum: i64, (from, to)| sum.saturating_add(to.saturating_sub(*from)))
    }

    fn weight_ns(&self) -> i64 {
        self.samples.iter().fold(0, |sum: i64, (_, weight)| sum.saturating_add(*weight))
    }

    /// What of it lies in some intervals; `None` where nothing does. Most gaps lie in them or
    /// outside of them as a whole.
    fn cut(self, intervals: &Intervals) -> Option<Self> {
        let ends = self.ran.first()?.0..self.ran.last()?.1;
        let first = intervals.ranges().partition_point(|range| range.1 <= ends.start);
        let near = intervals.ranges().get(first).filter(|range| range.0 < ends.end)?;
        if near.0 <= ends.start && ends.end <= near.1 {
            return Some(self);
        }
        let within = |(from, to): &(i64, i64)| intervals.within(*from, *to);
        let ran: Vec<(i64, i64)> = self.ran.iter().flat_map(within).collect();
        (!ran.is_empty()).then_some(Self { ran: Cow::Owned(ran), ..self })
    }

    /// When no sample says that it ran.
    fn unsupported(&self) -> Intervals {
        let around = self.samples.iter().map(|(t, weight)| (t.saturating_sub(*weight), t.saturating_add(1)));
        Intervals::of_sorted(self.ran.iter().copied()).without(&Intervals::of(around))
    }
}

/// All gaps of a thread. A thread that waits often has millions, so that they have no lists of
/// their own.
#[derive(Default)]
struct Row {
    gaps: Vec<Place>,
    /// When the thread may have run, gap after gap.
    ran: Vec<(i64, i64)>,
    /// CPU samples, gap after gap.
    samples: Vec<(i64, i64)>,
}

/// Where the lists of a gap end.
struct Place {
    ran: usize,
    samples: usize,
}

impl Row {
    fn gaps(&self) -> impl Iterator<Item = Gap<'_>> {
        self.gaps.iter().enumerate().map(|(i, place)| {
            let before = i.checked_sub(1).map(|before| &self.gaps[before]);
            let (ran, samples) = before.map_or((0, 0), |before| (before.ran, before.samples));
            Gap {
                ran: Cow::Borrowed(&self.ran[ran..place.ran]),
                samples: &self.samples[samples..place.samples],
            }
        })
    }
}

/// What the gaps of a thread were spent on, but for running.
#[derive(Default)]
pub(super) struct Gaps {
    /// Short waits, where they are spread.
    pub(super) short: Vec<(Category, (i64, i64))>,
    /// What is not known.
    pub(super) unknown: Intervals,
}

/// Looks at the gaps of a thread. `category`: what a sample of short waits says. Samples are in
/// order of time.
pub(super) fn of(
    records: &ThreadRecords<'_>,
    kinds: &Kinds,
    sampler: Option<&Sampler>,
    category: impl Fn(&Taken) -> Category,
) -> Gaps {
    let watched = Intervals::of(records.watched.iter().copied());
    if watched.is_empty() {
        return Gaps::default();
    }
    let free = watched.without(&Intervals::of(records.off.iter().map(|s| (s.t0_ns(), s.t1_ns()))));
    let mut ends: Vec<i64> = records.off.iter().map(|span| span.t1_ns()).collect();
    ends.extend(records.samples.iter().filter(|s| kinds.is_short(s.kind)).map(|s| s.t_ns));
    ends.extend(watched.ranges().iter().flat_map(|(from, to)| [*from, *to]));
    // The stable sort takes what is put together of rows in order as such.
    ends.sort();
    ends.dedup();
    let mut short = Vec::new();
    let mut row = Row::default();
    let mut samples = records.samples.iter().peekable();
    let mut owed: Vec<(Category, i64)> = Vec::new();
    let mut from = i64::MIN;
    for to in ends {
        owed.clear();
        let before = row.samples.len();
        while let Some(sample) = samples.next_if(|s| s.t_ns <= to) {
            if kinds.is_short(sample.kind) {
                owed.push((category(sample), sample.weight.max(0)));
            } else if kinds.is_on_cpu(sample.kind) {
                row.samples.push((sample.t_ns, sample.weight.max(0)));
            }
        }
        let ends = (std::mem::replace(&mut from, to), to);
        if owed.is_empty() {
            let own = row.ran.len();
            row.ran.extend(free.within(ends.0, ends.1));
            if row.ran.len() == own {
                row.samples.truncate(before);
                continue;
            }
        } else {
            let own = free.clipped(ends.0, ends.1);
            if own.is_empty() {
                row.samples.truncate(before);
                continue;
            }
            let first = short.len();
            spread(&own, &owed, &mut short);
            // Pieces are laid one behind the other.
            let spread = Intervals::of_sorted(short[first..].iter().map(|(_, part)| *part));
            row.ran.extend_from_slice(own.without(&spread).ranges());
        }
        row.gaps.push(Place { ran: row.ran.len(), samples: row.samples.len() });
    }
    let mut unknown = Vec::new();
    if let Some(sampler) = sampler {
        by_samples(sampler, &row, &mut unknown);
    }
    Gaps { short, unknown: Intervals::of(unknown) }
}

/// Lays sums of waits into a gap, evenly, one after the other in each of its parts.
fn spread(own: &Intervals, owed: &[(Category, i64)], short: &mut Vec<(Category, (i64, i64))>) {
    let all = own.length_ns();
    let sum: i128 = owed.iter().map(|(_, ns)| i128::from(*ns)).sum();
    if sum == 0 || all <= 0 {
        return;
    }
    // What does not fit was counted elsewhere.
    let fits = sum.max(i128::from(all));
    for (from, to) in own.ranges() {
        let length = to - from;
        let parts = (length / PART_NS + 1).min(MOST_PARTS);
        for part in 0..parts {
            let at = |i: i64| from + (i128::from(length) * i128::from(i) / i128::from(parts)) as i64;
            let (begin, end) = (at(part), at(part + 1));
            let mut so_far = 0_i128;
            for (category, ns) in owed {
                let place = |sum: i128| begin + (i128::from(end - begin) * sum / fits) as i64;
                let piece = (place(so_far), place(so_far + i128::from(*ns)));
                so_far += i128::from(*ns);
                if piece.0 < piece.1 {
                    short.push((*category, piece));
                }
            }
        }
    }
}

/// Holds the gaps to what was sampled in each of them, and in all of them together.
fn by_samples(sampler: &Sampler, row: &Row, unknown: &mut Vec<(i64, i64)>) {
    let sampled = Intervals::of([sampler.covers]);
    let mut left = Vec::new();
    for gap in row.gaps() {
        let Some(gap) = gap.cut(&sampled) else { continue };
        if gap.ns() > sampler.most_ns(gap.samples.len(), gap.weight_ns()) {
            unknown.extend(gap.unsupported().ranges());
        } else {
            left.push(gap);
        }
    }
    let sum = |of: &dyn Fn(&Gap<'_>) -> i64| left.iter().fold(0, |sum: i64, gap| sum.saturating_add(of(gap)));
    let (all, weight) = (sum(&|gap| gap.ns()), sum(&|gap| gap.weight_ns()));
    let samples = left.iter().map(|gap| gap.samples.len()).sum();
    if all > sampler.most_ns(samples, weight) {
        take(&mut left, all.saturating_sub(weight), unknown);
    }
}

/// Takes so much out of gaps, first of those that are longest without a sample.
fn take(gaps: &mut [Gap<'_>], ns: i64, unknown: &mut Vec<(i64, i64)>) {
    let mut left = ns;
    gaps.sort_by_cached_key(|gap| {
        (std::cmp::Reverse(gap.ns().saturating_sub(gap.weight_ns())), gap.samples.len())
    });
    for gap in gaps {
        if left <= 0 {
            return;
        }
        for (from, to) in gap.unsupported().ranges() {
            if left <= 0 {
                return;
            }
            let from = (*from).max(to.saturating_sub(left));
            left -= to - from;
            unknown.push((from, *to));
        }
    }
}

/// Kinds of samples, looked up once.
pub(super) struct Kinds {
    short: [Option<StrId>; 2],
    pub(super) on_cpu: Option<StrId>,
}

impl Kinds {
    pub(super) fn of(recording: &Recording) -> Self {
        let find = |kind| recording.strings.find(kind);
        Self { short: [find(sample::OFF_CPU), find(sample::RUN_QUEUE)], on_cpu: recording.on_cpu_kind() }
    }

    pub(super) fn is_short(&self, kind: StrId) -> bool {
        self.short.contains(&Some(kind))
    }

    pub(super) fn is_on_cpu(&self, kind: StrId) -> bool {
        self.on_cpu == Some(kind)
    }
}
