//! A stage that all operations pass through and that has no time to spare any more: one thread, or
//! the few of a pool, that took work from others and waited for it a good part of the time, and
//! that is now busy all the time. What limits a row of stages is the one that never waits for work
//! (the utilisation law); all others wait for it, whoever wakes them up.
//!
//! ```text
//! sessions ──▶ enrichers ──▶ journal: in write() to a pipe for 96% of the time instead of 0%
//!     waits        waits        51% of the time without work, now 0.5%
//! ```
//!
//! The ways of waits do not lead there where each stage hands over to the next one: who wakes an
//! idle stage up is the one before it.

use std::collections::BTreeMap;

use fathom_recording::{FrameType, ProcessId, ThreadId};

use super::parts::Key;
use super::places::Places;
use super::{Grown, Growth, MOST, SHOWN, TIMES, on_threads, words};
use crate::attribution::{Pool, segments};
use crate::chain::Chains;
use crate::intervals::Intervals;
use crate::waits::Heading;
use crate::{Case, Confidence, Evidence, Finding, Remedy, Window, quantity};

/// The id of the finding.
pub const STAGE_RULE: &str = "busy-stage";

/// The share of their time that a pool's threads must have been without work in the base, and may
/// be while it is slow.
const HAD_TIME: f64 = 0.25;
const HAS_NONE: f64 = 0.1;
/// Share of the time that may be unseen.
const UNSEEN: f64 = 0.1;
/// How often a second other threads must have brought such a pool something in the base for it to
/// be a stage of theirs: a job of a timetable runs seldom.
const BROUGHT_PER_S: f64 = 2.0;
/// Over a whole run: the share of its time that one doing must make up, and how many others must
/// wait for threads at a time.
const ALL_ALONG: f64 = 0.9;
const WAITING_ALL_ALONG: f64 = 2.0;
/// What they wait in then.
const WAITS: [Heading; 4] = [Heading::Waiting, Heading::Lock, Heading::Monitor, Heading::NativeLock];
const MEANING: &str = "A row of stages is as fast as the one that never waits for work. Making any other one faster, or giving it more threads, \
                       changes nothing.";
/// Share of its busy time that one doing must make up to be said to be what it is busy with.
const MAINLY: f64 = 0.7;

/// How threads of a pool spent their time in some windows, milliseconds.
#[derive(Clone, Copy, Default)]
struct Spent {
    lived: f64,
    /// Idle, or waiting for another thread.
    waited: f64,
    queued: f64,
    unseen: f64,
}

impl Spent {
    /// Whether it had no time to spare, and had CPUs.
    fn is_busy(&self) -> bool {
        self.lived > 0.0
            && self.waiting_share() <= HAS_NONE
            && self.unseen <= UNSEEN * self.lived
            && self.queued <= MOST * self.lived
    }

    fn waiting_share(&self) -> f64 {
        self.waited / self.lived.max(f64::MIN_POSITIVE)
    }
}

/// A stage without time to spare.
pub(super) struct Stage<'a> {
    threads: Vec<ThreadId>,
    name: &'a str,
    /// Threads at a time, slow and in the base.
    count: (f64, f64),
    /// Share of their time for which they had work, slow and in the base.
    busy: (f64, f64),
    /// What they mainly do while it is slow.
    key: Key<'a>,
    /// Its share of their time, slow and in the base.
    share: (f64, f64),
    /// The longest time of it.
    longest: Longest,
}

/// The stage that lost most of the time that it had to spare.
pub(super) fn find<'a>(case: &Case<'a>, jvm: ProcessId) -> Option<Stage<'a>> {
    let chains = case.chains();
    let (slow, base) = (Intervals::of_windows(&mostly(&case.slow)), Intervals::of_windows(&case.base));
    let stages = pools(case, jvm, (&slow, &base)).into_iter();
    let stages = stages.filter(|(_, (_, now, usual))| now.is_busy() && usual.waiting_share() >= HAD_TIME);
    let brought = |threads: &[ThreadId]| {
        let ended = threads.iter().map(|thread| brought(chains, *thread, &case.base)).sum::<usize>();
        ended as f64 / (base.length_ms() / 1e3).max(f64::MIN_POSITIVE)
    };
    let fed = stages.filter(|(_, (threads, ..))| brought(threads) >= BROUGHT_PER_S);
    let gained = |now: &Spent, usual: &Spent| usual.waiting_share() - now.waiting_share();
    let (pool, (threads, now, usual)) =
        fed.max_by(|a, b| gained(&a.1.1, &a.1.2).total_cmp(&gained(&b.1.1, &b.1.2)))?;
    let doing = mainly(case, &threads, (&slow, &base))?;
    // Threads that ended are missed from then on.
    let onset = slow.stretches().first().map_or(i64::MAX, |stretch| stretch.0);
    let before = base.and(&Intervals::of([(i64::MIN, onset)]));
    let before = if before.is_empty() { base.clone() } else { before };
    let at_a_time = |within: &Intervals| {
        let mut spent = Spent::default();
        threads.iter().for_each(|thread| add(chains, *thread, within, &mut spent));
        spent.lived / within.length_ms().max(f64::MIN_POSITIVE)
    };
    let count = (at_a_time(&slow), at_a_time(&before));
    Some(Stage {
        name: if threads.len() == 1 { chains.name(threads[0]) } else { pool.name },
        threads,
        count,
        busy: (1.0 - now.waiting_share(), 1.0 - usual.waiting_share()),
        key: doing.0,
        share: (doing.1 / now.lived, doing.2 / usual.lived.max(f64::MIN_POSITIVE)),
        longest: doing.3,
    })
}

/// The longest of slow windows, where it makes up half of them: in a short one beside it something
/// else may have acted.
fn mostly(windows: &[Window]) -> Vec<Window> {
    let all: i64 = windows.iter().map(Window::length_ns).sum();
    match windows.iter().max_by_key(|window| window.length_ns()) {
        Some(longest) if 2 * longest.length_ns() >= all => vec![*longest],
        _ => windows.to_vec(),
    }
}

/// The threads of each pool, with how they spent the slow time and the base.
type Pools<'a> = BTreeMap<Pool<'a>, (Vec<ThreadId>, Spent, Spent)>;

fn pools<'a>(case: &Case<'a>, jvm: ProcessId, (slow, base): (&Intervals, &Intervals)) -> Pools<'a> {
    let chains = case.chains();
    let mut pools = Pools::new();
    let of_kernel = |id: &ThreadId| case.recording.threads[id.index()].tid.is_some();
    for thread in chains.application_threads(jvm).into_iter().filter(of_kernel) {
        let pool = pools.entry(Pool::of(chains, thread)).or_default();
        add(chains, thread, slow, &mut pool.1);
        add(chains, thread, base, &mut pool.2);
        pool.0.push(thread);
    }
    pools
}

fn add(chains: &Chains<'_>, thread: ThreadId, within: &Intervals, spent: &mut Spent) {
    let Some(by_heading) = chains.by_heading(thread) else { return };
    for heading in Heading::ALL {
        let ms = by_heading[heading.index()].shared_ns(within) as f64 / 1e6;
        spent.lived += ms;
        match heading {
            Heading::RunQueue => spent.queued += ms,
            Heading::Unknown => spent.unseen += ms,
            Heading::TimedWait => spent.waited += ms,
            heading if on_threads(heading) => spent.waited += ms,
            _ => {}
        }
    }
}

/// How often another thread of the JVM ended a thread's wait.
fn brought(chains: &Chains<'_>, thread: ThreadId, windows: &[Window]) -> usize {
    let off = windows.iter().flat_map(|w| chains.off_between(thread, w.from_ns, w.to_ns));
    off.filter(|span| chains.woken_by(thread, span).is_some_and(|other| other != thread)).count()
}

/// What threads were busy with for most of the slow time, with milliseconds slow and in the base,
/// and the longest of it.
type Doing<'a> = (Key<'a>, f64, f64, Longest);
type Doings = (f64, f64, Longest);
type Longest = (ThreadId, i64, i64);

fn mainly<'a>(
    case: &Case<'a>,
    threads: &[ThreadId],
    (slow, base): (&Intervals, &Intervals),
) -> Option<Doing<'a>> {
    let mut places = Places::of_recording(case.recording);
    let mut by: BTreeMap<Key<'a>, Doings> = BTreeMap::new();
    for thread in threads {
        for segment in segments::of(case.chains(), &mut places, *thread) {
            if segment.rests || on_threads(segment.key.heading) {
                continue;
            }
            let ms = |within: &Intervals| within.length_within_ns(segment.from, segment.to) as f64 / 1e6;
            let sum = by.entry(segment.key).or_insert((0.0, 0.0, (*thread, 0, 0)));
            let (now, usual) = (ms(slow), ms(base));
            if now > 0.0 && segment.to - segment.from > sum.2.2 - sum.2.1 {
                sum.2 = (*thread, segment.from, segment.to);
            }
            (sum.0, sum.1) = (sum.0 + now, sum.1 + usual);
        }
    }
    // Short waits that were summed up have no peer or file, and are the same doing.
    let mut headings: BTreeMap<Heading, (f64, f64)> = BTreeMap::new();
    for (key, (now, usual, _)) in &by {
        let sum = headings.entry(key.heading).or_default();
        (sum.0, sum.1) = (sum.0 + now, sum.1 + usual);
    }
    let (heading, (now, usual)) = headings.into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let of_it = by.into_iter().filter(|(key, _)| key.heading == heading);
    let is_named = |key: &Key<'_>| !key.place.is_empty() || !key.target.is_empty();
    let (mut named, others): (Vec<_>, Vec<_>) = of_it.partition(|(key, _)| is_named(key));
    named.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    let most = named.first().filter(|(_, sum)| sum.0 >= MOST * now);
    let (key, longest) = match most {
        Some((key, sum)) => (*key, sum.2),
        None => (Key { heading, place: "", target: "" }, named.first().or(others.first())?.1.2),
    };
    (now > 0.0).then_some((key, now, usual, longest))
}

/// Over a whole run, without a baseline: a thread that hardly does anything but write to a file or
/// a pipe, force it to the disk or wait for a lock of it, while others wait for threads all the
/// time.
pub(crate) fn all_along(case: &Case<'_>, jvm: ProcessId) -> Option<Finding> {
    let (run, none) = (Intervals::of_windows(&case.slow), Intervals::default());
    let pools = pools(case, jvm, (&run, &none));
    let busy = pools.iter().filter(|(_, (_, now, _))| now.is_busy());
    let stages = busy.filter_map(|(pool, (threads, now, _))| {
        let (key, ms, _, longest) = mainly(case, threads, (&run, &none))?;
        (ms >= ALL_ALONG * now.lived && hands_to_kernel(case, longest)).then(|| Stage {
            name: if threads.len() == 1 { case.chains().name(threads[0]) } else { pool.name },
            count: (now.lived / run.length_ms().max(f64::MIN_POSITIVE), 0.0),
            threads: threads.clone(),
            busy: (1.0 - now.waiting_share(), 0.0),
            key,
            share: (ms / now.lived, 0.0),
            longest,
        })
    });
    let stage = stages.max_by(|a, b| a.share.0.total_cmp(&b.share.0))?;
    let others = case.chains().application_threads(jvm).into_iter();
    let waited: f64 = others
        .filter(|thread| !stage.threads.contains(thread))
        .filter_map(|thread| case.chains().by_heading(thread))
        .flat_map(|by| WAITS.map(|heading| by[heading.index()].shared_ns(&run) as f64 / 1e6))
        .sum();
    let waiting = waited / run.length_ms().max(f64::MIN_POSITIVE);
    if waiting < WAITING_ALL_ALONG {
        return None;
    }
    let cost_ms = stage.share.0 * run.length_ms();
    let layer = words::layer(stage.key.heading);
    let mut finding = case.finding_by(STAGE_RULE, layer, jvm, Confidence::ConsistentWith, cost_ms);
    let (doing, share) = (words::doing(&stage.key), quantity::share);
    finding.title = format!(
        "{} {doing} for {} of the time, while {waiting:.1} threads at a time wait for another thread",
        stage.who(false),
        share(stage.share.0)
    );
    finding.culprit = words::culprit(&stage.key);
    finding.why_confidence =
        "what the others wait for was not followed to it, and whether it was ever faster is not known".into();
    finding.meaning = MEANING.into();
    finding.evidence = vec![Evidence::summed(
        "ledger of threads",
        format!("{doing}: {} of the time; without work: {}", share(stage.share.0), share(1.0 - stage.busy.0)),
    )];
    finding.remedies = stage.remedies(false);
    finding.verify = vec!["fathom ledger REC --by pool: it waits for work a good part of the time".into()];
    let (thread, from_ns, to_ns) = stage.longest;
    finding.chain = Some(case.chains().of_thread(thread, Window { from_ns, to_ns }));
    Some(finding)
}

/// Whether a time off the CPU is one in which the thread gives something to the kernel, and not one
/// in which it may have nothing to do: reading a pipe that nobody writes to looks as busy.
fn hands_to_kernel(case: &Case<'_>, (thread, from, to): Longest) -> bool {
    let recording = case.recording;
    let mut at = case.chains().off_between(thread, from, to).next().and_then(|span| span.stack());
    while let Some(node) = at.and_then(|id| recording.stacks.get(id.index())) {
        let frame = recording.frames.get(node.frame.index());
        let of_kernel = frame.filter(|frame| frame.frame_type == FrameType::Kernel);
        let name = of_kernel.map_or("", |frame| recording.strings.get(frame.name));
        if ["write", "sync", "lock_file"].iter().any(|part| name.contains(part)) {
            return true;
        }
        at = node.parent;
    }
    false
}

impl<'a> Growth<'a> {
    /// What grew because others wait for a stage: waits for threads, those that were followed to a
    /// connection of nobody in particular, and the stage's own part.
    pub(super) fn behind<'g>(&self, stage: &Stage<'a>, left: &[&'g Grown<'a>]) -> Vec<&'g Grown<'a>> {
        let is_behind = |g: &&&'g Grown<'a>| {
            let followed = g.key.heading == Heading::Network && g.key.target.is_empty() && g.way().is_some();
            g.key.heading != Heading::Idle && (on_threads(g.key.heading) || followed || self.is_own(stage, g))
        };
        left.iter().filter(is_behind).copied().collect()
    }

    fn is_own(&self, stage: &Stage<'a>, grown: &Grown<'a>) -> bool {
        grown.key == stage.key && grown.part.threads.iter().any(|id| stage.threads.contains(id))
    }

    pub(super) fn stage_finding(
        &self,
        case: &Case<'_>,
        stage: &Stage<'a>,
        behind: &[&Grown<'a>],
        cost_ms: f64,
    ) -> Finding {
        // What it is busy with must be more than before, or the threads fewer.
        let doing_more = stage.share.0 >= TIMES * stage.share.1;
        let fewer = stage.count.0 <= stage.count.1 / TIMES;
        let is_clear = stage.share.0 >= MAINLY * stage.busy.0 && (doing_more || fewer);
        let is_lost = case.loss.lost_ms > 0.0;
        let sure = if is_clear && is_lost { Confidence::Likely } else { Confidence::ConsistentWith };
        let mut finding =
            case.finding_by(STAGE_RULE, words::layer(stage.key.heading), self.jvm, sure, cost_ms);
        let share = quantity::share;
        let doing = words::doing(&stage.key);
        let who = stage.who(fewer);
        let (left, usual) = (stage.count.0.round(), stage.count.1.round());
        let ended = format!("{} of {usual} threads of {} ended", usual - left, stage.name);
        let lead = if fewer { format!("{ended}, and ") } else { String::new() };
        finding.title = format!(
            "{lead}{who} always busy ({} of the time, {} in the base): {doing} for {} of it; what is handed over waits for its turn",
            share(stage.busy.0),
            share(stage.busy.1),
            share(stage.share.0 / stage.busy.0.max(f64::MIN_POSITIVE)),
        );
        finding.culprit = match (stage.key.target, stage.key.place) {
            _ if fewer => ended,
            ("", "") => format!("thread {}", stage.name),
            _ => words::culprit(&stage.key),
        };
        finding.why_confidence = format!(
            "threads that took work from others and had time to spare have none any more, and the others wait more than before; that what \
             they wait for passes through {} was not seen itself",
            if stage.threads.len() == 1 { "this thread" } else { "these threads" }
        );
        finding.meaning = MEANING.into();
        let row = |text: String| Evidence::summed("ledger of threads", text);
        let mut rows = vec![
            row(format!(
                "{doing}: {} of the time, {} in the base",
                share(stage.share.0),
                share(stage.share.1)
            )),
            row(format!(
                "without work, or waiting for another thread: {} of the time, {} in the base",
                share(1.0 - stage.busy.0),
                share(1.0 - stage.busy.1)
            )),
        ];
        if fewer {
            rows.push(row(format!(
                "{:.1} threads of it at a time, {:.1} in the base",
                stage.count.0, stage.count.1
            )));
        }
        let waits = behind.iter().filter(|g| g.by() > 0.0 && !self.is_own(stage, g)).take(SHOWN - 2);
        rows.extend(waits.map(|g| g.evidence(case.jvm_name(self.jvm), self.per.each)));
        finding.evidence = rows;
        finding.remedies = stage.remedies(fewer);
        finding.verify = vec![format!(
            "fathom ledger REC --by pool: {} is again without work for {} of the time",
            stage.name,
            share(1.0 - stage.busy.1)
        )];
        finding.windows.clone_from(&case.slow);
        let (thread, from_ns, to_ns) = stage.longest;
        finding.chain = Some(case.chains().of_thread(thread, Window { from_ns, to_ns }));
        finding
    }
}

impl Stage<'_> {
    fn who(&self, fewer: bool) -> String {
        let now = self.count.0.round().max(1.0);
        match (self.threads.len(), fewer) {
            (1, _) => format!("thread {} is", self.name),
            (_, true) if now == 1.0 => "the one that is left is".to_owned(),
            (_, true) => format!("the {now} that are left are"),
            _ => format!("the {now} threads of {} are", self.name),
        }
    }

    fn remedies(&self, fewer: bool) -> Vec<Remedy> {
        let remedy =
            |change: String, risk: &str| Remedy { change, applies_to: "any JDK".into(), risk: risk.into() };
        let mut remedies = Vec::new();
        if fewer {
            remedies.push(remedy(
                "find out why threads of this pool ended: an exception that leaves run() ends its thread (catch it there, and set an \
                 UncaughtExceptionHandler that logs)"
                    .into(),
                "",
            ));
        }
        remedies.push(remedy(
            format!(
                "take it out of the way of operations, make it faster, or share it among more threads: {}",
                words::doing(&self.key)
            ),
            "more threads change the order of what passes through",
        ));
        remedies
    }
}

#[cfg(test)]
mod tests;
