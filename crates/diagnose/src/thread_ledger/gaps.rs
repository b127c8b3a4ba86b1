//! What a watched thread did between the waits that are told one by one: short waits, running, or nobody knows.
//!
//! ```text
//! waits told one by one   ▐████▌          ▐██▌                ▐█████▌
//! gaps between them             ░░░░░░░░░░    ░░░░░░░░░░░░░░░░
//!   short waits, of which only the sum is known, are spread over the gap that they were counted in
//!   what is left ran, as far as the kernel's account of the thread, or its CPU samples, bear it out
//!   the rest of it is unknown: switches that nobody saw, or waits that were never told
//! ```

use fathom_recording::vocabulary::sample;
use fathom_recording::{Recording, Sample};

use super::charge::Book;
use crate::intervals::Intervals;
use crate::waits::Heading;

/// Short waits are spread in parts as long, nanoseconds: no window that is worth a look is shorter.
const PART_NS: i64 = 50_000_000;
/// Parts of one gap at most.
const MOST_PARTS: i64 = 20;
/// Samples by which a true time may lie above what was sampled: three standard deviations of a count, and as many periods more,
/// for counts so small that they have no normal distribution (without a sample eight periods pass once in 3,000 times).
const DEVIATIONS: f64 = 3.0;
const PERIODS: f64 = 8.0;
/// What the kernel's account of a thread may be behind at each reading: a running thread's is brought up to date at a tick, of which
/// there are 100 a second at least.
const STALE_NS: i64 = 10_000_000;

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

/// A stretch between two things that a thread was seen to do.
struct Gap {
    ends: (i64, i64),
    /// When it may have run.
    ran: Intervals,
    /// Its CPU samples: until when each counts, and for how long.
    samples: Vec<(i64, i64)>,
}

impl Gap {
    fn ns(&self) -> i64 {
        self.ran.length_ns()
    }

    fn weight_ns(&self) -> i64 {
        self.samples.iter().fold(0, |sum: i64, (_, weight)| sum.saturating_add(*weight))
    }

    /// When no sample says that it ran.
    fn unsupported(&self) -> Intervals {
        let around = self.samples.iter().map(|(t, weight)| (t.saturating_sub(*weight), t.saturating_add(1)));
        self.ran.without(&Intervals::of(around))
    }
}

/// What the gaps of a thread were spent on, but for running.
#[derive(Default)]
pub(super) struct Gaps {
    /// Short waits, where they are spread.
    pub(super) short: Vec<(Heading, (i64, i64))>,
    /// What is not known.
    pub(super) unknown: Intervals,
}

/// Looks at the gaps of a thread. `heading`: what a sample of short waits says. Samples are in order of time.
pub(super) fn of(
    book: &Book<'_>,
    kinds: &Kinds,
    sampler: Option<&Sampler>,
    heading: impl Fn(&Sample) -> Heading,
) -> Gaps {
    let watched = Intervals::of(book.watched.iter().copied());
    if watched.is_empty() {
        return Gaps::default();
    }
    let free = watched.without(&Intervals::of(book.off.iter().map(|s| (s.t0_ns(), s.t1_ns()))));
    let mut ends: Vec<i64> = book.off.iter().map(|span| span.t1_ns()).collect();
    ends.extend(book.samples.iter().filter(|s| kinds.is_short(s)).map(|s| s.t_ns));
    ends.extend(watched.stretches().iter().flat_map(|(from, to)| [*from, *to]));
    ends.sort_unstable();
    ends.dedup();
    let mut short = Vec::new();
    let mut gaps: Vec<Gap> = Vec::new();
    let mut samples = book.samples.iter().peekable();
    let mut from = i64::MIN;
    for to in ends {
        let (mut owed, mut taken) = (Vec::new(), Vec::new());
        while let Some(sample) = samples.next_if(|s| s.t_ns <= to) {
            if kinds.is_short(sample) {
                owed.push((heading(sample), sample.weight.max(0)));
            } else if kinds.is_on_cpu(sample) {
                taken.push((sample.t_ns, sample.weight.max(0)));
            }
        }
        let own = Intervals::of(free.within(from, to));
        let ends = (std::mem::replace(&mut from, to), to);
        if own.is_empty() {
            continue;
        }
        let first = short.len();
        spread(&own, &owed, &mut short);
        let ran = own.without(&Intervals::of(short[first..].iter().map(|(_, part)| *part)));
        gaps.push(Gap { ends, ran, samples: taken });
    }
    let mut unknown = Vec::new();
    let accounts = by_account(book, &gaps, &mut unknown);
    if let Some(sampler) = sampler {
        by_samples(sampler, &accounts, &gaps, &mut unknown);
    }
    Gaps { short, unknown: Intervals::of(unknown) }
}

/// Lays sums of waits into a gap, evenly, one after the other in each of its parts.
fn spread(own: &Intervals, owed: &[(Heading, i64)], short: &mut Vec<(Heading, (i64, i64))>) {
    let all = own.length_ns();
    let sum: i128 = owed.iter().map(|(_, ns)| i128::from(*ns)).sum();
    if sum == 0 || all <= 0 {
        return;
    }
    // What does not fit was counted elsewhere.
    let fits = sum.max(i128::from(all));
    for (from, to) in own.stretches() {
        let length = to - from;
        let parts = (length / PART_NS + 1).min(MOST_PARTS);
        for part in 0..parts {
            let at = |i: i64| from + (i128::from(length) * i128::from(i) / i128::from(parts)) as i64;
            let (begin, end) = (at(part), at(part + 1));
            let mut so_far = 0_i128;
            for (heading, ns) in owed {
                let place = |sum: i128| begin + (i128::from(end - begin) * sum / fits) as i64;
                let piece = (place(so_far), place(so_far + i128::from(*ns)));
                so_far += i128::from(*ns);
                if piece.0 < piece.1 {
                    short.push((*heading, piece));
                }
            }
        }
    }
}

/// Holds the gaps to the kernel's account of the thread; the stretches that it covers.
fn by_account(book: &Book<'_>, gaps: &[Gap], unknown: &mut Vec<(i64, i64)>) -> Intervals {
    for (from, to, ran_ns) in &book.accounts {
        // Gaps are in order of time.
        let first = gaps.partition_point(|gap| gap.ends.1 <= *from);
        let mut within: Vec<Gap> = (gaps[first..].iter())
            .take_while(|gap| gap.ends.0 < *to)
            .filter_map(|gap| {
                let ran = Intervals::of(gap.ran.within(*from, *to));
                (!ran.is_empty()).then(|| Gap { ends: gap.ends, ran, samples: gap.samples.clone() })
            })
            .collect();
        let all = within.iter().fold(0, |sum: i64, gap| sum.saturating_add(gap.ns()));
        if all > ran_ns.saturating_add(2 * STALE_NS) {
            take(&mut within, all.saturating_sub(*ran_ns), unknown);
        }
    }
    Intervals::of(book.accounts.iter().map(|(from, to, _)| (*from, *to)))
}

/// Holds the gaps that no account covers to what was sampled in each of them, and in all of them together.
fn by_samples(sampler: &Sampler, accounts: &Intervals, gaps: &[Gap], unknown: &mut Vec<(i64, i64)>) {
    let sampled = Intervals::of([sampler.covers]).without(accounts);
    let mut left = Vec::new();
    for gap in gaps {
        let ran = gap.ran.and(&sampled);
        if ran.is_empty() {
            continue;
        }
        let gap = Gap { ends: gap.ends, ran, samples: gap.samples.clone() };
        if gap.ns() > sampler.most_ns(gap.samples.len(), gap.weight_ns()) {
            unknown.extend(gap.unsupported().stretches());
        } else {
            left.push(gap);
        }
    }
    let sum = |of: &dyn Fn(&Gap) -> i64| left.iter().fold(0, |sum: i64, gap| sum.saturating_add(of(gap)));
    let (all, weight) = (sum(&Gap::ns), sum(&Gap::weight_ns));
    let samples = left.iter().map(|gap| gap.samples.len()).sum();
    if all > sampler.most_ns(samples, weight) {
        take(&mut left, all.saturating_sub(weight), unknown);
    }
}

/// Takes so much out of gaps, first of those that are longest without a sample.
fn take(gaps: &mut [Gap], ns: i64, unknown: &mut Vec<(i64, i64)>) {
    let mut left = ns;
    gaps.sort_by_key(|gap| (std::cmp::Reverse(gap.ns().saturating_sub(gap.weight_ns())), gap.samples.len()));
    for gap in gaps {
        for (from, to) in gap.unsupported().stretches() {
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
    short: [Option<fathom_recording::StrId>; 2],
    pub(super) on_cpu: Option<fathom_recording::StrId>,
}

impl Kinds {
    pub(super) fn of(recording: &Recording) -> Self {
        let find = |kind| recording.strings.find(kind);
        Self { short: [find(sample::OFF_CPU), find(sample::RUN_QUEUE)], on_cpu: recording.on_cpu_kind() }
    }

    pub(super) fn is_short(&self, sample: &Sample) -> bool {
        self.short.contains(&Some(sample.kind))
    }

    pub(super) fn is_on_cpu(&self, sample: &Sample) -> bool {
        self.on_cpu == Some(sample.kind)
    }
}
