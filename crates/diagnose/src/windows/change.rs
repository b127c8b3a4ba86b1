//! Slow windows without a series: intervals in which application threads spent their time in
//! another way than usual.
//!
//! ```text
//! threads' time ─▶ by category and method, bin by bin ─▶ one that rises far above its median for some bins: the windows
//! ```
//!
//! A part that rises need not be large by itself: [`super::mix`] takes all of them together.
//!
//! Running and waiting for a CPU are one part: code that runs more waits more. That threads ran
//! less than usual, and waited for a CPU instead, is a part of its own, for others had the CPUs
//! then.
//!
//! A change is no loss by itself: the work may have changed. So what is found in such windows is
//! never more than consistent with the evidence unless a rule knows better. Categories that say
//! nothing of what threads wait for (without work, not seen) are left out, and so is the beginning
//! of the recording, where a program may warm up.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{kind, sample};
use fathom_recording::{ProcessId, Recording, ThreadId};
use rustc_hash::FxHashMap;

use super::lengths::are_no_longer;
use super::mix;
use super::rise::{LASTS, Runs, rise};
use crate::attribution::{Pool, lives_of_pools};
use crate::chain::Chains;
use crate::facts::{Value, windows as words};
use crate::intervals::Intervals;
use crate::places::{Places, SUMMED_WITHIN_NS, ShortWait};
use crate::waits::Category;
use crate::{Fact, Window, stats};

/// Length of a bin at least, nanoseconds, and how many there are at most: a bin must hold many
/// operations.
const BIN_NS: i64 = 500_000_000;
const MOST_BINS: i64 = 240;
/// Bins of a recording at least: fewer have no usual level.
const FEWEST_BINS: usize = 16;
/// By how many threads at a time a part must rise, and by what share of those that are usually held
/// up or run.
const RISES_THREADS: f64 = 0.25;
const RISES_SHARE: f64 = 0.1;
/// So many threads are enough, however many others wait for whatever they always wait for.
const RISES_ENOUGH: f64 = 2.0;
/// Threads that begin after the first fifth of the recording are new.
const NEW_AFTER: usize = 5;

/// CPUs that compilers take of a bin, and how many times their median, while a program warms
/// up; in this first part of the time at most.
const WARMS_UP_CPUS: f64 = 0.25;
const WARMS_UP_TIMES: f64 = 5.0;
const WARMS_UP_WITHIN: f64 = 1.0 / 3.0;
/// What of the baseline must remain without that, as a share.
const ENOUGH_BASE: f64 = 0.5;

/// What is no change of what threads do: without work, not seen, and stops of all of them, which
/// are windows of their own ([`super::stops`]).
const SAYS_NOTHING: [Category; 7] = [
    Category::Unknown,
    Category::Idle,
    Category::StoppedByGc,
    Category::StoppedToReach,
    Category::StoppedByLog,
    Category::Stopped,
    Category::Frozen,
];

/// A change that was found.
pub(crate) struct Change {
    /// The windows, in order of time.
    pub(crate) slow: Vec<Window>,
    /// The rest of what was watched, without its beginning.
    pub(crate) base: Vec<Window>,
    /// How it was found.
    pub(crate) how: Fact,
}

/// The change in which threads of a JVM spent most time in another way; `None` where context
/// switches were not recorded, or nothing changed.
pub(crate) fn find<'a>(recording: &'a Recording, chains: &Chains<'a>, jvms: &[ProcessId]) -> Option<Change> {
    let found = jvms.iter().filter_map(|jvm| {
        let watched = recording.spans_of(kind::SCHED_WATCHED).filter(|span| span.process() == *jvm);
        let watched = Intervals::of(watched.map(|span| (span.t0_ns(), span.t1_ns())));
        let bins = Bins::of(&watched)?;
        let (area, rise) = in_jvm(recording, chains, *jvm, &bins)?;
        Some((area, rise, bins, watched, *jvm))
    });
    let (_, rise, bins, watched, jvm) = found.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let slow: Vec<Window> = rise.runs.iter().map(|(first, last)| bins.window(*first, *last)).collect();
    let usual = Intervals::of_windows(&[bins.window(LASTS, bins.count)]).and(&watched);
    // A change begins and ends within a bin.
    let around = rise.runs.iter().map(|(first, end)| bins.window(first.saturating_sub(1), end + 1));
    let base = usual.without(&Intervals::of_windows(&around.collect::<Vec<_>>()));
    let settled = base.without(&Intervals::of([(i64::MIN / 2, settled_ns(recording, jvms, &bins))]));
    let enough = settled.length_ms() >= ENOUGH_BASE * base.length_ms();
    let base = if enough { settled } else { base }.windows();
    let how = words::CHANGE.is(Value::plain(rise.level)).over(Value::plain(rise.usual));
    let how = how.with("jvm", Value::name(recording.process_name(jvm)));
    let how = how.with("doing", Value::name(rise.doing));
    let how = how.with("place", Value::named(rise.place));
    let how = how.with("intervals", Value::count(slow.len()));
    let how = how.with("length", Value::ms(bins.ms() * rise.bins as f64));
    Some(Change { slow, base, how })
}

/// When compilers had come to rest: until then what load brings to a program that has just started
/// would be usual.
fn settled_ns(recording: &Recording, jvms: &[ProcessId], bins: &Bins) -> i64 {
    let mut compiling = vec![0.0; bins.count];
    for span in recording.spans_of(kind::JIT_COMPILE).filter(|span| jvms.contains(&span.process())) {
        bins.add(&mut compiling, span.t0_ns(), span.t1_ns());
    }
    let usual = stats::median(&stats::sorted(compiling.iter().copied())).unwrap_or(0.0);
    let limit = (WARMS_UP_CPUS * bins.ms()).max(WARMS_UP_TIMES * usual);
    let early = (bins.count as f64 * WARMS_UP_WITHIN) as usize;
    let last = compiling[..early].iter().rposition(|ms| *ms > limit);
    last.map_or(bins.from_ns, |bin| bins.window(bin, bin + 1).to_ns)
}

/// The time in which a JVM was watched, cut into equal parts.
struct Bins {
    from_ns: i64,
    each_ns: i64,
    count: usize,
    /// Whether it was watched in most of each of them.
    seen: Vec<bool>,
}

impl Bins {
    fn of(watched: &Intervals) -> Option<Self> {
        let (from_ns, to_ns) = (watched.ranges().first()?.0, watched.ranges().last()?.1);
        let length_ns = to_ns.saturating_sub(from_ns);
        let each_ns = (length_ns / MOST_BINS).max(BIN_NS);
        let count = usize::try_from(length_ns / each_ns).ok().filter(|count| *count >= FEWEST_BINS)?;
        let mut bins = Self { from_ns, each_ns, count, seen: Vec::new() };
        let most = |bin: usize| {
            let window = bins.window(bin, bin + 1);
            watched.length_within_ns(window.from_ns, window.to_ns) >= each_ns / 10 * 9
        };
        bins.seen = (0..count).map(most).collect();
        Some(bins)
    }

    fn ms(&self) -> f64 {
        self.each_ns as f64 / 1e6
    }

    /// From the beginning of a bin to that of another.
    fn window(&self, first: usize, end: usize) -> Window {
        let at = |bin: usize| self.from_ns.saturating_add((bin as i64).saturating_mul(self.each_ns));
        Window { from_ns: at(first), to_ns: at(end) }
    }

    fn of_ns(&self, t_ns: i64) -> Option<usize> {
        let bin = t_ns.checked_sub(self.from_ns)?.checked_div(self.each_ns)?;
        usize::try_from(bin).ok().filter(|bin| *bin < self.count)
    }

    /// Adds an interval's milliseconds to the bins that it touches.
    fn add(&self, to: &mut [f64], from_ns: i64, to_ns: i64) {
        let Some(mut bin) = self.of_ns(from_ns.max(self.from_ns)) else { return };
        while bin < self.count {
            let window = self.window(bin, bin + 1);
            let ns = to_ns.min(window.to_ns).saturating_sub(from_ns.max(window.from_ns));
            if ns <= 0 {
                break;
            }
            to[bin] += ns as f64 / 1e6;
            bin += 1;
        }
    }
}

/// Time by category and by the application's method, milliseconds bin by bin.
type ByPart<'a> = BTreeMap<(Category, &'a str), Vec<f64>>;

/// Rows of [`ByPart`] under way: asked for with each interval, mostly of the part that was
/// asked for before.
struct Rows<'a> {
    bins: usize,
    rows: Vec<(Category, &'a str, Vec<f64>)>,
    /// By category, and where the name of the method is in memory: a recording has each of its
    /// words once.
    known: FxHashMap<Part, usize>,
    /// What was asked for last.
    last: Option<(Part, usize)>,
}

/// A category, and where the name of a method stands.
type Part = (Category, usize, usize);

impl<'a> Rows<'a> {
    fn of(&mut self, category: Category, place: &'a str) -> &mut [f64] {
        let at = if place.is_empty() { 0 } else { place.as_ptr() as usize };
        let part = (category, at, place.len());
        let last = self.last.filter(|(last, _)| *last == part).map(|(_, row)| row);
        let row = last.unwrap_or_else(|| {
            *self.known.entry(part).or_insert_with(|| {
                self.rows.push((category, place, vec![0.0; self.bins]));
                self.rows.len() - 1
            })
        });
        self.last = Some((part, row));
        &mut self.rows[row].2
    }

    fn finish(self) -> ByPart<'a> {
        let mut parts = ByPart::new();
        for (category, place, times) in self.rows {
            let sums = parts.entry((category, place)).or_insert_with(|| vec![0.0; self.bins]);
            sums.iter_mut().zip(times).for_each(|(sum, ms)| *sum += ms);
        }
        parts
    }
}

/// A part of threads' time that rises.
struct Rise<'a> {
    runs: Runs,
    bins: usize,
    /// Threads at a time, in the runs and usually.
    level: f64,
    usual: f64,
    /// What threads did, and in which method, where that is known.
    doing: &'static str,
    place: &'a str,
}

/// The rise with the largest area above its usual level: its area in thread-milliseconds, and
/// where.
fn in_jvm<'a>(
    recording: &'a Recording,
    chains: &Chains<'a>,
    jvm: ProcessId,
    bins: &Bins,
) -> Option<(f64, Rise<'a>)> {
    let (parts, sleeps) = parts(recording, chains, jvm, bins);
    let busy = parts.iter().filter(|((category, _), _)| *category != Category::Sleep).map(|(_, times)| times);
    let busy: f64 = busy.flatten().sum::<f64>() / (bins.ms() * bins.count as f64);
    let least = RISES_THREADS.max((RISES_SHARE * busy).min(RISES_ENOUGH));
    let rises = parts.iter().filter_map(|((category, place), times)| {
        let levels: Vec<f64> = times.iter().map(|ms| ms / bins.ms()).collect();
        let (area, runs, usual) = rise(&levels, &bins.seen, least)?;
        if *category == Category::Sleep && sleeps.get(place).is_some_and(|each| is_pace(each, bins, &runs)) {
            return None;
        }
        let count: usize = runs.iter().map(|(first, end)| end - first).sum();
        let level = runs.iter().flat_map(|(first, end)| &levels[*first..*end]).sum::<f64>() / count as f64;
        Some((area, Rise { runs, bins: count, level, usual, doing: doing(*category), place }))
    });
    rises.chain(mixed(&parts, bins, least, busy)).max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The change of all parts together, if there is one: for how often a thread sleeps, and how long
/// it waits for a CPU, it is no witness.
fn mixed<'a>(parts: &ByPart<'a>, bins: &Bins, least: f64, busy: f64) -> Option<(f64, Rise<'a>)> {
    let says_something =
        |(category, _): &(Category, &str)| !matches!(category, Category::Sleep | Category::RunQueue);
    let of: Vec<_> = parts.iter().filter(|(part, _)| says_something(part)).collect();
    let levels: Vec<Vec<f64>> =
        of.iter().map(|(_, times)| times.iter().map(|ms| ms / bins.ms()).collect()).collect();
    let split = mix::split(&levels, &bins.seen, least, busy)?;
    let ((category, place), _) = of[split.most];
    let (first, end) = split.behind;
    let rise = Rise {
        runs: vec![(first, end)],
        bins: end - first,
        level: split.levels.0,
        usual: split.levels.1,
        doing: doing(*category),
        place,
    };
    Some((split.rise * (end - first) as f64, rise))
}

fn doing(category: Category) -> &'static str {
    match category {
        Category::Running => "running or waiting for a CPU",
        Category::RunQueue => "running less than usual, and waiting for a CPU instead",
        category => category.words(),
    }
}

/// Sleeps that were recorded one by one, by the application's method: when each ended, and its
/// length, nanoseconds.
type Sleeps<'a> = BTreeMap<&'a str, Vec<(i64, i64)>>;

/// Whether sleeps are no longer in some runs of bins than in the others: then threads sleep more
/// often there, and get more done between.
fn is_pace(each: &[(i64, i64)], bins: &Bins, runs: &Runs) -> bool {
    let is_in = |t_ns: i64| {
        let bin = bins.of_ns(t_ns);
        bin.is_some_and(|bin| runs.iter().any(|(first, end)| (*first..*end).contains(&bin)))
    };
    let lengths = |within: bool| {
        let of_it = each.iter().filter(|(t_ns, _)| is_in(*t_ns) == within);
        stats::sorted(of_it.map(|(_, ns)| *ns as f64))
    };
    are_no_longer(&lengths(true), &lengths(false))
}

fn parts<'a>(
    recording: &'a Recording,
    chains: &Chains<'a>,
    jvm: ProcessId,
    bins: &Bins,
) -> (ByPart<'a>, Sleeps<'a>) {
    let mut sleeps = Sleeps::new();
    let mut rows = Rows { bins: bins.count, rows: Vec::new(), known: FxHashMap::default(), last: None };
    let mut places = Places::of_recording(recording);
    let [mut ran, mut queued, mut nowhere] = [(); 3].map(|()| vec![0.0; bins.count]);
    let mut sampled: BTreeMap<&'a str, Vec<f64>> = BTreeMap::new();
    let kinds = sample::ON_CPU.map(|kind| recording.strings.find(kind));
    let empty = || vec![0.0; bins.count];
    let lives = lives_of_pools(chains, jvm);
    let settled_ns = bins.window(0, LASTS.max(bins.count / NEW_AFTER)).to_ns;
    for thread in chains.application_threads(jvm) {
        // Nobody waited for threads that were not there, whatever they sleep for; who waits for
        // them now does so in another part.
        let life = lives.get(&Pool::of(chains, thread));
        let is_new = life.is_some_and(|life| !life.touches(i64::MIN, settled_ns));
        let Some(by_category) = chains.by_category(thread) else { continue };
        let short = places.of_short_waits(chains, thread);
        for category in Category::ALL {
            let own = &by_category[category.index()];
            let says_nothing = SAYS_NOTHING.contains(&category) || (is_new && category == Category::Sleep);
            if own.is_empty() || says_nothing {
                continue;
            }
            if category.is_running() {
                own.ranges().iter().for_each(|(from, to)| bins.add(&mut ran, *from, *to));
                continue;
            }
            let is_queue = category == Category::RunQueue;
            if is_queue {
                own.ranges().iter().for_each(|(from, to)| bins.add(&mut queued, *from, *to));
            }
            let asked = category;
            // Where CPUs are scarce, code that runs more waits more for them: together they are
            // what it asks for.
            let category = if category == Category::RunQueue { Category::Running } else { category };
            by_place(chains, &mut places, (thread, asked), own, &short, |place, (from, to), by_itself| {
                if asked == Category::Sleep && by_itself {
                    sleeps.entry(place).or_default().push((to, to.saturating_sub(from)));
                }
                let is_nowhere = is_queue && place.is_empty();
                bins.add(if is_nowhere { &mut nowhere } else { rows.of(category, place) }, from, to);
            });
        }
        for sample in chains.samples(thread).iter().filter(|sample| kinds.contains(&Some(sample.kind))) {
            let Some(bin) = bins.of_ns(sample.t_ns) else { continue };
            sampled.entry(places.of(sample.stack())).or_insert_with(empty)[bin] +=
                sample.weight.max(0) as f64;
        }
    }
    let mut parts = rows.finish();
    // Running time is known from the switches; samples show only how it is split, in each bin for
    // itself. A thread that runs is taken off its CPU most often where it runs most.
    let mut all = vec![0.0; bins.count];
    for weights in sampled.values() {
        all.iter_mut().zip(weights).for_each(|(all, weight)| *all += weight);
    }
    for bin in 0..bins.count {
        if all[bin] <= 0.0 {
            parts.entry((Category::Running, "")).or_insert_with(empty)[bin] += ran[bin] + nowhere[bin];
            continue;
        }
        for (place, weights) in sampled.iter().filter(|(_, weights)| weights[bin] > 0.0) {
            let times = parts.entry((Category::Running, place)).or_insert_with(empty);
            times[bin] += (ran[bin] + nowhere[bin]) * weights[bin] / all[bin];
        }
    }
    parts.insert((Category::RunQueue, ""), kept_from_running(&ran, &queued, &bins.seen));
    (parts, sleeps)
}

/// Calls `each` with the parts of a thread's time of a category, and the method of the application
/// in which each was: by the stacks of what was recorded one by one, else of the short waits that
/// were summed up. Empty where neither shows it. The last argument: whether it was recorded by
/// itself.
pub(super) fn by_place<'a>(
    chains: &Chains<'a>,
    places: &mut Places<'a>,
    (thread, category): (ThreadId, Category),
    own: &Intervals,
    short: &[ShortWait<'a>],
    mut each: impl FnMut(&'a str, (i64, i64), bool),
) {
    let mut named: Vec<(i64, i64)> = Vec::new();
    chains.off_within(thread, own, |_, span, parts| {
        let place = places.of(span.stack());
        if !place.is_empty() {
            named.extend_from_slice(parts);
            parts.iter().for_each(|part| each(place, *part, true));
        }
    });
    let named = Intervals::of(named);
    // Short waits lie before the sample that sums them up.
    let of_category: Vec<_> = short.iter().filter(|wait| wait.category == category).collect();
    let mut next = 0;
    for (from, to) in own.without(&named).ranges() {
        next += of_category[next..].iter().take_while(|wait| wait.t_ns < *to).count();
        let soon = |wait: &&&ShortWait<'_>| wait.t_ns.saturating_sub(*to) <= SUMMED_WITHIN_NS;
        each(of_category.get(next).filter(soon).map_or("", |wait| wait.place), (*from, *to), false);
    }
}

/// By how much threads ran less than usual, bin by bin, as far as they waited for a CPU for longer
/// than usual instead: what others took.
fn kept_from_running(ran: &[f64], queued: &[f64], seen: &[bool]) -> Vec<f64> {
    let usual = |of: &[f64]| {
        let known = of.iter().zip(seen).filter(|(_, seen)| **seen).map(|(ms, _)| *ms);
        stats::median(&stats::sorted(known)).unwrap_or(0.0)
    };
    let (runs, queues) = (usual(ran), usual(queued));
    ran.iter().zip(queued).map(|(ran, queued)| (runs - ran).min(queued - queues).max(0.0)).collect()
}

/// Whether context switches were recorded.
pub(super) fn watches_threads(recording: &Recording) -> bool {
    recording.spans_of(kind::SCHED_WATCHED).next().is_some()
}

/// The time in which threads of any process were watched.
pub(crate) fn watched(recording: &Recording) -> Intervals {
    let spans = recording.spans_of(kind::SCHED_WATCHED);
    Intervals::of(spans.map(|span| (span.t0_ns(), span.t1_ns())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, jit_task};

    #[test]
    fn threads_are_kept_from_running_as_far_as_they_wait_for_a_cpu_instead() {
        let seen = [true; 8];
        let ran = [800.0, 800.0, 800.0, 300.0, 300.0, 300.0, 800.0, 800.0];
        let queued = [100.0, 100.0, 100.0, 700.0, 300.0, 100.0, 900.0, 100.0];
        // Others took the CPU; took a part of it; less was asked; more was asked, and the threads
        // ran as much as ever.
        assert_eq!(kept_from_running(&ran, &queued, &seen), [0.0, 0.0, 0.0, 500.0, 200.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn who_sleeps_as_long_each_time_and_more_in_all_does_not_wait_for_it() {
        use crate::growth::tests::{SLEEP, Service, is_slow};
        let found = |meanwhile_ms: i64| {
            let mut service = Service::uncounted();
            let sleep = service.stack(&SLEEP);
            for i in 0..4 {
                let thread = service.thread(&format!("client-{i}"));
                let mut at = 0;
                while at < 60_000 {
                    let (ms, busy) = if is_slow(at / 1_000) { (meanwhile_ms, 15) } else { (5, 95) };
                    service.row(kind::SCHED_OFF, thread, (at, at + ms), Some(sleep), &[]);
                    at += ms + busy;
                }
            }
            let (jvm, recording) = (service.built.jvm, service.built.sealed());
            find(&recording, &Chains::of(&recording), &[jvm]).is_some()
        };
        assert!(!found(5), "it does more of what it sleeps between");
        assert!(found(60), "a back-off");
    }

    #[test]
    fn an_interval_is_divided_among_the_bins_that_it_touches() {
        let bins = Bins::of(&Intervals::of([(0, 6_000_000_000), (7_000_000_000, 10_000_000_000)])).unwrap();
        assert_eq!(bins.seen.iter().filter(|seen| !**seen).count(), 2);
        let mut times = vec![0.0; bins.count];
        bins.add(&mut times, 250_000_000, 1_250_000_000);
        assert_eq!(times[..4], [250.0, 500.0, 250.0, 0.0]);
        bins.add(&mut times, -5_000_000_000, 100_000_000);
        assert_eq!(times[0], 350.0);
        bins.add(&mut times, 20_000_000_000, 30_000_000_000);
        assert_eq!(times.iter().sum::<f64>(), 1_100.0);
    }

    #[test]
    fn the_base_begins_where_compilers_have_come_to_rest() {
        let mut built = Built::jvm("17", "G1", 60.0);
        // Load comes at 5 s, and compilers work half of the time for 8 s; later ones are no
        // start-up.
        for i in 0..80 {
            jit_task(&mut built, &format!("shop.M{i}.go()"), 5.0 + f64::from(i) * 0.1, 0.0, 50.0, 4);
            jit_task(&mut built, &format!("shop.N{i}.go()"), 45.0 + f64::from(i) * 0.1, 0.0, 50.0, 4);
        }
        let (jvm, recording) = (built.jvm, built.sealed());
        let bins = Bins::of(&Intervals::of([(0, 60_000_000_000)])).unwrap();
        assert_eq!(settled_ns(&recording, &[jvm], &bins), 13_000_000_000);
        let quiet = Built::jvm("17", "G1", 60.0).sealed();
        assert_eq!(settled_ns(&quiet, &[jvm], &bins), 0);
    }
}
