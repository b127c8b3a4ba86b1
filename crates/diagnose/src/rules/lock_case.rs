//! A contended lock, reported the same way for monitors and for `java.util.concurrent`: which lock,
//! who waits for it, and what its holders did, added up over all the time in which they held it and
//! others waited.

use std::collections::BTreeMap;

use fathom_recording::{ProcessId, Span, ThreadId};

use super::lock_advice;
use super::lock_holders::holders;
use super::lock_identity::{self, Lock};
use super::lock_releasers::releasers;
use super::wait_case::{Waits, unseen};
use crate::chain::{Chain, Did, Link};
use crate::confidence::Ground;
use crate::facts::{
    Metric, Value, checks, links, locks as facts, meanings, reasons, remedies, ruled_out, titles,
};
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::waits::place::{NO_PLACE, place};
use crate::{Case, Fact, Finding, Judgement, Rule};

/// Records cited.
const CITED: usize = 3;
/// What one thing must make up of what holders did to be all of it.
const THE_SAME: f64 = 0.8;
/// Things that holders did that are named in a title.
const NAMED: usize = 2;
/// Share of the time for which a lock was waited for of which it must be known what its holders
/// did, for that to be the story, and of what they did, for one part of it to be most of it.
const MOSTLY: f64 = 0.5;

/// What differs between the rules on locks.
pub(crate) struct LockWords {
    /// "monitor", "lock".
    pub(crate) noun: &'static str,
    /// Of the spans that are single waits.
    pub(crate) kind: &'static str,
    /// What the ledger of threads attributes such waits to.
    pub(crate) category: Category,
    /// Methods of the lock itself, which are not the place that waits: prefixes.
    pub(crate) own: &'static [&'static str],
}

/// Judges what threads waited for; `None` where nobody looked.
pub(crate) fn judge(
    rule: &dyn Rule,
    (case, jvm): (&Case<'_>, ProcessId),
    waits: Option<Waits<'_, '_>>,
    words: &LockWords,
) -> Judgement {
    let Some(mut waits) = waits else {
        return unseen(rule, (case, jvm), words.kind, "waits for locks");
    };
    waits.attributed_ms = case.attributed.ms(jvm, words.category) * waits.kept_share;
    if waits.threads() == 0 {
        return waits.ruled_out(ruled_out::NO_WAIT.fact().with("noun", Value::name(words.noun)));
    }
    // A lock has an owner to wait for: one thread that waits now and then is not contention.
    if waits.threads() < 2 || !case.matters(waits.cost_ms()) {
        return waits.ruled_out(too_little(&waits, words));
    }
    Judgement::Found(Box::new(found(rule, &waits, words)))
}

/// Waits that are no cause: what they were in all, and what of it is above the baseline.
fn too_little(waits: &Waits<'_, '_>, words: &LockWords) -> Fact {
    let fact = facts::LITTLE.is(Value::ms(waits.total_ms())).with("threads", Value::count(waits.threads()));
    let fact = fact.with("noun", Value::name(words.noun));
    let cost = Value::ms(waits.cost_ms());
    match (waits.case.base.is_empty(), waits.cost_ms() > 0.0) {
        (true, _) => fact.with("each", cost),
        (false, true) => fact.with("above", cost),
        (false, false) => fact.with("usual", Value::from(facts::AS_USUAL.fact())),
    }
}

/// What the holders of a lock did while others waited for it.
struct Holders {
    each: Vec<(ThreadId, Intervals)>,
    /// What, the longest first.
    did: Vec<Did>,
    /// Time in which somebody waited and it is known who held it, milliseconds.
    held_ms: f64,
    /// Of it, time in which it is known what the holder did, …
    known_ms: f64,
    /// … and in which the holder was off the CPU.
    off_ms: f64,
    /// Time in which anybody waited by a record, milliseconds, …
    wanted_ms: f64,
    /// … and what of it some holder is known for: less than [`Holders::held_ms`] where several hold
    /// it at once.
    covered_ms: f64,
    /// Whether the lock names no owner, and who ended its waits is taken to have held it.
    is_inferred: bool,
}

impl Holders {
    /// `None` where no holder is known, or nothing is known of what they did.
    fn of(waits: &Waits<'_, '_>, lock: &Lock, words: &LockWords) -> Option<Self> {
        let slow = Intervals::of_windows(&waits.case.slow);
        let owners = holders(lock, waits);
        let is_inferred = owners.is_empty();
        let owners = if is_inferred { releasers(lock, waits) } else { owners };
        let each: Vec<_> = (owners.into_iter())
            .map(|(thread, held)| (thread, held.and(&slow)))
            .filter(|(_, held)| !held.is_empty())
            .collect();
        let held_ms = each.iter().map(|(_, held)| held.length_ms()).sum::<f64>();
        let (did, off_ms) = waits.case.chains().did(&each, lock.as_monitor(words.category).as_ref());
        let known_ms = did.iter().map(|did| did.ms).sum();
        let wanted = Intervals::of(lock.spans(waits).map(|span| (span.t0_ns(), span.t1_ns()))).and(&slow);
        let covered = Intervals::of(each.iter().flat_map(|(_, held)| held.ranges().iter().copied()));
        let (wanted_ms, covered_ms) = (wanted.length_ms(), covered.and(&wanted).length_ms());
        let known = held_ms > 0.0 && known_ms > 0.0;
        known.then_some(Self { each, did, held_ms, known_ms, off_ms, wanted_ms, covered_ms, is_inferred })
    }

    /// Whether it is known who held it for most of the time in which somebody waited: else what
    /// those few did says nothing of the rest.
    fn is_covered(&self) -> bool {
        self.covered_ms >= MOSTLY * self.wanted_ms
    }

    /// Whether what they did is known of most of the time.
    fn is_known(&self) -> bool {
        self.known_ms >= MOSTLY * self.held_ms
    }

    /// Whether nearly all of what they did is one thing.
    fn do_the_same(&self) -> bool {
        let most = self.did.first().map_or(0.0, |did| did.ms);
        self.is_covered() && most >= THE_SAME * self.held_ms
    }

    /// Whether they waited for a CPU most of that time.
    fn waits_for_a_cpu(&self) -> bool {
        let queued = self.did.iter().filter(|did| did.category == Category::RunQueue);
        queued.map(|did| did.ms).sum::<f64>() >= MOSTLY * self.held_ms
    }

    fn is_off(&self) -> bool {
        self.off_ms >= MOSTLY * self.known_ms
    }

    /// What they did, as parts of the time for which they held it.
    fn parts(&self, most: usize) -> impl Iterator<Item = Fact> {
        let share = |ms: f64| Value::share((ms / self.held_ms).min(1.0));
        let part = move |did: &Did| facts::DID.is(share(did.ms)).with("what", Value::from(&did.what));
        self.did.iter().take(most).map(part)
    }

    /// What they did, and how long they held it.
    fn fact(&self) -> Fact {
        let fact = facts::HOLDERS.is(Value::ms(self.held_ms)).with("off", Value::ms(self.off_ms));
        let fact = match self.covered_ms < self.wanted_ms {
            true => {
                let fact = fact.with("covered", Value::ms(self.covered_ms));
                fact.with("wanted", Value::ms(self.wanted_ms))
            }
            false => fact,
        };
        fact.with("did", Value::list(self.parts(CITED)))
    }

    /// A title with that: "its holder was off the CPU 17.30 s of 18.80 s: asleep in …, in fsync()
    /// on …".
    fn in_title(&self, title: Fact) -> Fact {
        let title = match self.is_off() {
            true => title.with("off", Value::ms(self.off_ms)),
            false => title.with("ran", Value::ms(self.known_ms - self.off_ms)),
        };
        title.with("held", Value::ms(self.held_ms)).with("did", Value::list(self.parts(NAMED)))
    }

    fn meaning(&self) -> &'static Metric {
        if self.is_off() { &meanings::HOLDER_IS_OFF } else { &meanings::HOLDER_RUNS }
    }
}

/// The chain of the thread that waited longest in all for a lock, to what its holders did.
fn chain(waits: &Waits<'_, '_>, lock: &Lock, words: &LockWords, holders: Option<&Holders>) -> Option<Chain> {
    let mut intervals: BTreeMap<ThreadId, Vec<(i64, i64)>> = BTreeMap::new();
    for span in lock.spans(waits) {
        if let Some(thread) = span.thread() {
            intervals.entry(thread).or_default().push((span.t0_ns(), span.t1_ns()));
        }
    }
    let slow = Intervals::of_windows(&waits.case.slow);
    let intervals = intervals.into_iter().map(|(thread, list)| (thread, Intervals::of(list).and(&slow)));
    let (thread, intervals) = intervals.max_by_key(|(_, intervals)| intervals.length_ns())?;
    let what = links::FOR_LOCK.is(Value::name(lock.named()));
    let chains = waits.case.chains();
    Some(chains.of_lock(
        thread,
        words.category,
        what,
        &intervals,
        &holders?.each,
        lock.as_monitor(words.category).as_ref(),
    ))
    .filter(|chain| chain.links.iter().any(|l| !l.next.is_empty()))
}

/// What a thread did that the holders waited for, where they waited for one thread most of the time
/// and that did one thing most of that: the lock only hands on what others wait for.
fn behind(chain: &Chain) -> Option<Fact> {
    let most = |links: &[Link]| links.iter().max_by(|a, b| a.ms.total_cmp(&b.ms)).cloned();
    let waits = chain.links.first()?;
    let held = most(&waits.next).filter(|held| held.ms >= MOSTLY * waits.ms)?;
    let did = most(&held.next).filter(|did| did.ms >= MOSTLY * held.ms && did.category.is_some())?;
    let thread = did.thread.as_deref().map(Value::name);
    let is_one = held.category == Some(Category::Waiting) && did.category != Some(Category::Waiting);
    let fact = facts::BEHIND_HOLDER.is(Value::share((did.ms / held.ms).min(1.0)));
    is_one.then(|| fact.with("what", Value::from(&did.what)).with("thread", thread))
}

fn found(rule: &dyn Rule, waits: &Waits<'_, '_>, words: &LockWords) -> Finding {
    let recording = waits.case.recording;
    let locks = lock_identity::locks(waits, words.own);
    let total = waits.total_ms();
    let share = |ms: f64| if total > 0.0 { ms / total } else { 0.0 };
    let nothing = Lock::default();
    let first = locks.first().unwrap_or(&nothing);
    let holders = Holders::of(waits, first, words);
    // Many objects are as one where whoever holds any of them does the same.
    let as_one = !first.several || holders.as_ref().is_some_and(Holders::do_the_same);
    let hot = share(first.ms) >= MOSTLY && as_one;
    let deadlock = waits.case.chains().deadlock(waits.jvm).filter(|cycle| {
        cycle.iter().any(|(thread, _)| waits.slow.iter().any(|wait| wait.span.thread() == Some(*thread)))
    });
    // Who holds a lock and gets no CPU makes others wait: the lock is where it shows, and no cause.
    let without_cpu = |holders: &Holders| holders.is_covered() && holders.waits_for_a_cpu();
    let ground = if deadlock.is_some() {
        Ground::Standstill
    } else if first.class.is_empty()
        || holders.as_ref().is_some_and(without_cpu)
        || !hot
        || waits.may_cost_little()
    {
        // Time that stacks alone attribute to a lock: nothing shows which one it is.
        Ground::Fits
    } else {
        Ground::Waits
    };
    let why = match &holders {
        _ if deadlock.is_some() => reasons::DEADLOCK.fact(),
        _ if first.class.is_empty() => reasons::STACKS_OF_SWITCHES.fact(),
        _ if waits.may_cost_little() => reasons::VIRTUAL_THREADS_AT_A_TIME.fact(),
        Some(holders) if !holders.is_covered() => {
            reasons::HOLDERS_PARTLY.is(Value::ms(holders.covered_ms)).with("of", Value::ms(holders.wanted_ms))
        }
        Some(holders) if holders.waits_for_a_cpu() => reasons::HOLDERS_WITHOUT_CPU.fact(),
        Some(holders) if holders.is_known() => {
            reasons::HOLDERS_KNOWN.is(Value::ms(holders.known_ms)).with("of", Value::ms(holders.held_ms))
        }
        _ => reasons::HOLDERS_UNSEEN.fact(),
    };
    // What was concluded is not said as if it had been read.
    let inferred = holders.as_ref().is_some_and(|holders| holders.is_inferred);
    let mut finding = waits.finding(rule, ground.because(waits.case, waits.cost_ms(), why));
    finding.why_confidence.extend(inferred.then(|| reasons::OWNER_INFERRED.fact().into()));
    let holders = holders.filter(Holders::is_known);
    let title = title(waits, &locks, first, hot, words);
    let story = holders.as_ref().filter(|holders| hot && holders.is_covered());
    finding.chain = chain(waits, first, words, holders.as_ref());
    let behind = finding.chain.as_ref().and_then(behind);
    finding.title = match story {
        Some(holders) => holders.in_title(title).with("behind", behind.map(Value::from)).into(),
        None => title.into(),
    };
    finding.culprit = first.culprit().into();
    finding.meaning = meanings::ONE_AT_A_TIME.is(Value::name(words.noun)).into();
    if let Some(cycle) = &deadlock {
        let name = |thread: &ThreadId| recording.strings.get(recording.threads[thread.index()].name);
        let cycle = cycle.iter().map(|(thread, lock)| {
            let wait = facts::DEADLOCK_WAIT.fact().with("thread", Value::name(name(thread)));
            wait.with("lock", Value::from(lock.clone()))
        });
        let cycle = Value::list(cycle);
        finding.title = titles::DEADLOCK.fact().with("waits", cycle.clone()).into();
        finding.evidence.push(waits.summed(facts::DEADLOCK.fact().with("waits", cycle)));
        finding.meaning = meanings::DEADLOCK.fact().into();
    }
    evidence(&mut finding, waits, &locks, words);
    if let Some(holders) = &holders {
        // What they did decides what is to be changed: it stands before places and single waits.
        finding.evidence.insert(1.min(finding.evidence.len()), waits.summed(holders.fact()));
        if deadlock.is_none() && holders.is_covered() {
            finding.meaning.add("holder", Value::from(holders.meaning().fact()));
        }
    }
    let of = |span: &Span<'_>| {
        let class = Some(span.name()).filter(|class| !class.is_empty()).map(Value::name);
        let place = place(recording, waits.case.chains().stack_of(span), words.own);
        facts::WAIT.fact().with("class", class).with("place", Value::named(place))
    };
    finding.evidence.extend(waits.longest(CITED, of));
    if deadlock.is_some() {
        finding.remedies.push(remedies::SAME_ORDER.remedy());
        finding.verify = vec![checks::THREAD_PRINT.fact().into()];
        return finding;
    }
    let covered = holders.as_ref().filter(|holders| holders.is_covered());
    let waits_for_file = |holders: &&Holders| lock_advice::waits_for_file(holders.did[0].what.fact());
    let file = covered.filter(waits_for_file).map(|_| &remedies::FILE_LOCK);
    finding.remedies = file
        .into_iter()
        .chain(lock_advice::of(&first.class, covered.is_some()))
        .map(Metric::remedy)
        .collect();
    finding.verify = vec![
        checks::HALF_THE_THREADS.fact().into(),
        checks::LEDGER_WITHOUT.is(Value::Category(words.category)).into(),
    ];
    finding
}

/// "30 threads waited 12.00 s for the monitor OrderService$AccountLedger in OrderService.book()".
fn title(waits: &Waits<'_, '_>, locks: &[Lock], first: &Lock, hot: bool, words: &LockWords) -> Fact {
    let noun = Value::name(words.noun);
    if hot {
        let title = titles::LOCK.is(Value::ms(first.ms)).with("threads", Value::count(first.threads.len()));
        let class = (!first.class.is_empty()).then(|| Value::name(first.short_class()));
        let place = first.short_place().map(Value::name);
        return title.with("noun", noun).with("lock", class).with("place", place);
    }
    let title = titles::LOCKS.is(Value::ms(waits.total_ms())).with("noun", noun);
    let title = title.with("threads", Value::count(waits.threads()));
    let several = first.several || locks.len() == 1;
    let lock = one_or_several(several, first.short());
    let locks = (locks.len() > 1).then(|| Value::count(locks.len()));
    title.with("locks", locks).with("lock", lock)
}

/// A lock, or the objects of a class.
fn one_or_several(several: bool, lock: String) -> Value {
    match several {
        true => Value::from(facts::OBJECTS.is(Value::name(lock))),
        false => Value::name(lock),
    }
}

/// How much was waited for, where, and who held it.
fn evidence(finding: &mut Finding, waits: &Waits<'_, '_>, locks: &[Lock], words: &LockWords) {
    let total = waits.total_ms();
    let share = |ms: f64| Value::share(if total > 0.0 { ms / total } else { 0.0 });
    let mut sums = match waits.slow.len() {
        0 => facts::WAITS_BY_SUMS.is(Value::ms(total)),
        n => {
            let fact = facts::WAITS.is(Value::ms(total)).with("waits", Value::count(n));
            fact.with("longest", Value::ms(waits.longest_ms()))
        }
    };
    sums = sums.with("threads", Value::count(waits.threads()));
    if let Some(lock) = locks.first() {
        let most = one_or_several(lock.several, lock.named());
        sums = sums.with("share", share(lock.ms)).with("lock", most);
    }
    finding.evidence.push(waits.summed(sums));
    if waits.unlisted_ms() > 0.0 {
        let fact = facts::UNLISTED.is(Value::ms(waits.unlisted_ms()));
        finding.evidence.push(waits.summed(fact.with("noun", Value::name(words.noun))));
    }
    let mut places: BTreeMap<&str, f64> = BTreeMap::new();
    for (place, ms) in locks.iter().flat_map(|lock| &lock.places) {
        *places.entry(place).or_default() += ms;
    }
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_by(|a, b| b.1.total_cmp(&a.1));
    if places.iter().any(|(place, _)| *place != NO_PLACE) {
        let one = |(place, ms): &(&str, f64)| facts::PLACE.is(share(*ms)).with("place", Value::named(place));
        let listed = Value::list(places.iter().take(CITED).map(one));
        finding.evidence.push(waits.summed(facts::WAITED_IN.fact().with("places", listed)));
    }
}

#[cfg(test)]
mod tests;
