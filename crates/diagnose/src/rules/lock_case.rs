//! A contended lock, told the same way for monitors and for `java.util.concurrent`.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::label;
use fathom_recording::{ProcessId, Span, ThreadId};

use super::gc_case::remedy;
use super::wait_case::{Waits, java_method, unseen};
use crate::chain::Chain;
use crate::intervals::Intervals;
use crate::{Case, Confidence, Finding, Judgement, Rule, quantity};

/// Records cited.
const CITED: usize = 3;

/// What differs between the rules on locks.
pub(crate) struct LockWords {
    /// "monitor", "lock".
    pub(crate) noun: &'static str,
    /// Methods of the lock itself, which are not the place that waits: prefixes.
    pub(crate) own: &'static [&'static str],
    /// What to do, with where it applies and what it risks.
    pub(crate) remedies: &'static [(&'static str, &'static str, &'static str)],
}

/// Judges the waits of a kind that `which` picks.
pub(crate) fn judge<'a>(
    rule: &dyn Rule,
    case: &Case<'a>,
    jvm: ProcessId,
    kind: &str,
    words: &LockWords,
    which: impl Fn(&Span<'a>) -> bool,
) -> Judgement {
    let Some(waits) = Waits::of(case, jvm, kind, which) else {
        return unseen(rule, "what threads waited for: locks");
    };
    if waits.slow.is_empty() {
        return waits.ruled_out(format!("no thread waited for a {}", words.noun));
    }
    // A lock has an owner to wait for: one thread that waits now and then is not contention.
    if waits.threads() < 2 || !case.matters(waits.cost_ms()) {
        return waits.ruled_out(format!(
            "{} waited {} for {}s, {} each above the base",
            quantity::plural(waits.threads(), "thread", "threads"),
            quantity::millis(waits.total_ms()),
            words.noun,
            quantity::millis(waits.cost_ms())
        ));
    }
    Judgement::Found(Box::new(found(rule, &waits, words)))
}

/// Class and identity of the lock of a wait.
fn lock(span: &Span<'_>) -> String {
    let class = if span.name().is_empty() { "an object of unknown class" } else { span.name() };
    match span.label(label::ADDRESS) {
        Some(address) => format!("{class} @ {address}"),
        None => class.to_owned(),
    }
}

/// What the owners of locks did while others waited for them.
struct Meanwhile {
    /// What, in words, with its time, the longest first.
    did: Vec<(String, f64)>,
    /// Time in which anybody waited for a lock whose owner is known, milliseconds: each owner's added up.
    held_ms: f64,
    /// Of it, owners that were off the CPU.
    off_ms: f64,
}

impl Meanwhile {
    /// `None` where no owner is known or nothing is known of it.
    fn of(waits: &Waits<'_, '_>) -> Option<Self> {
        let chains = waits.case.chains();
        let mut stretches: BTreeMap<ThreadId, Vec<(i64, i64)>> = BTreeMap::new();
        for wait in &waits.slow {
            let owner = chains.owner(&wait.span).filter(|owner| Some(*owner) != wait.span.thread());
            if let Some(owner) = owner {
                stretches.entry(owner).or_default().push((wait.span.t0_ns(), wait.span.t1_ns()));
            }
        }
        let moments: Vec<(ThreadId, Intervals)> =
            stretches.into_iter().map(|(thread, list)| (thread, Intervals::of(list))).collect();
        let held_ms = moments.iter().map(|(_, moments)| moments.length_ms()).sum::<f64>();
        let (did, off_ms) = chains.did(&moments);
        (held_ms > 0.0 && !did.is_empty()).then_some(Self { did, held_ms, off_ms })
    }
}

/// The chain of the thread that waited longest in all, over all its waits.
fn longest_chain(waits: &Waits<'_, '_>) -> Option<Chain> {
    let mut stretches: BTreeMap<ThreadId, Vec<(i64, i64)>> = BTreeMap::new();
    for wait in &waits.slow {
        if let Some(thread) = wait.span.thread() {
            stretches.entry(thread).or_default().push((wait.span.t0_ns(), wait.span.t1_ns()));
        }
    }
    let slow = Intervals::of_windows(&waits.case.slow);
    let moments = stretches.into_iter().map(|(thread, list)| (thread, Intervals::of(list).and(&slow)));
    let (thread, moments) = moments.max_by_key(|(_, moments)| moments.length_ns())?;
    Some(waits.case.chains().during(thread, &moments))
        .filter(|chain| chain.links.iter().any(|l| !l.next.is_empty()))
}

fn found(rule: &dyn Rule, waits: &Waits<'_, '_>, words: &LockWords) -> Finding {
    let recording = waits.case.recording;
    let place = |span: &Span<'_>| {
        let own = |name: &str| words.own.iter().any(|prefix| name.starts_with(prefix));
        java_method(recording, span.stack(), own).unwrap_or("a place that was not recorded").to_owned()
    };
    let owner = |span: &Span<'_>| span.label(label::OWNER).unwrap_or_default().to_owned();
    let (locks, places, owners) = (waits.by(lock), waits.by(place), waits.by(owner));
    let total = waits.total_ms();
    let share = |ms: f64| if total > 0.0 { ms / total } else { 0.0 };
    let (first, group) = &locks[0];
    let hot = share(group.ms) >= 0.5;
    let sure = match waits.case.share(waits.cost_ms()) {
        Some(part) if part >= 0.5 && hot => Confidence::Likely,
        Some(_) => Confidence::ConsistentWith,
        None if hot => Confidence::Likely,
        None => Confidence::ConsistentWith,
    };
    let owners_did = Meanwhile::of(waits);
    let why = match &owners_did {
        Some(_) => "the waits were measured, and what the owners did meanwhile was seen",
        None => {
            "the waits were measured; what the owner did meanwhile was not: an owner that is itself off the CPU \
             (throttled, swapped, blocked on a disk) makes the same waits"
        }
    };
    let mut finding = waits.finding(rule, (sure, why));
    finding.title = format!(
        "{} waited {} for {}",
        quantity::plural(waits.threads(), "thread", "threads"),
        quantity::millis(total),
        if hot { format!("one {}: {first}", words.noun) } else { format!("{} {}s", locks.len(), words.noun) },
    );
    finding.culprit = first.clone();
    let deadlock = waits.case.chains().deadlock(waits.jvm).filter(|cycle| {
        cycle.iter().any(|(thread, _)| waits.slow.iter().any(|wait| wait.span.thread() == Some(*thread)))
    });
    finding.meaning = format!(
        "Only one thread at a time holds a {}; the others do nothing until it is their turn, however many processors \
         there are.",
        words.noun
    );
    if let Some(cycle) = &deadlock {
        let name = |thread: &ThreadId| recording.strings.get(recording.threads[thread.index()].name);
        let waits = cycle.iter().map(|(thread, lock)| format!("{} waits for {lock}", name(thread)));
        finding.title = format!("a deadlock: {}", waits.collect::<Vec<_>>().join(", "));
        finding.meaning =
            "Each of these threads holds what the one before it waits for: none of them, and nobody who \
                           wants one of their locks, will ever go on."
                .into();
    }
    finding.evidence.push(waits.summed(format!(
        "{} of {} threads, {} in all, the longest {}; {} on {first}",
        quantity::plural(waits.slow.len(), "wait", "waits"),
        waits.threads(),
        quantity::millis(total),
        quantity::millis(waits.longest_ms()),
        quantity::share(share(group.ms)),
    )));
    let listed = |list: &[(String, super::wait_case::Group)]| {
        let one = |(name, g): &(String, super::wait_case::Group)| {
            format!(
                "{name} ({} of the time, {})",
                quantity::share(share(g.ms)),
                quantity::plural(g.count, "wait", "waits")
            )
        };
        list.iter().filter(|(name, _)| !name.is_empty()).take(CITED).map(one).collect::<Vec<_>>().join(", ")
    };
    finding.evidence.push(waits.summed(format!("waited for in {}", listed(&places))));
    if owners.iter().any(|(name, _)| !name.is_empty()) {
        finding.evidence.push(waits.summed(format!("held before by {}", listed(&owners))));
    }
    if let Some(told) = &owners_did {
        let share = |ms: f64| quantity::share((ms / told.held_ms).min(1.0));
        let parts = told.did.iter().take(CITED).map(|(what, ms)| format!("{what} {}", share(*ms)));
        finding
            .evidence
            .push(waits.summed(format!("meanwhile its owner was {}", parts.collect::<Vec<_>>().join(", "))));
        if told.off_ms >= told.held_ms * 0.5 {
            finding.meaning.push_str(
                " Its owner spent most of that time off the CPU itself: what it waited for there, and not the work under \
                 the lock, takes the time.",
            );
        }
    }
    finding.evidence.extend(waits.longest(CITED, |span| format!("for {} in {}", lock(span), place(span))));
    finding.chain = longest_chain(waits);
    if deadlock.is_some() {
        finding.remedies.push(remedy(
            "take these locks in the same order everywhere, or ask with tryLock and a time limit; until then, restart",
            "any JDK",
            "none",
        ));
        finding.verify =
            vec!["jcmd PID Thread.print names deadlocks of monitors and exclusive locks at its end".into()];
        return finding;
    }
    finding.remedies = words.remedies.iter().map(|(change, to, risk)| remedy(*change, *to, *risk)).collect();
    finding.verify = vec![
        "the same load with half the threads: throughput that stays says that the lock, not the work, is the limit".into(),
        format!("after the change, fathom ledger shows the time under \"blocked\" for this {} gone", words.noun),
    ];
    finding
}

#[cfg(test)]
mod tests {
    use fathom_recording::Sink;

    use fathom_recording::vocabulary::kind;

    use crate::built::{Built, judged};
    use crate::rules::lock_contended_monitor::LockContendedMonitor;
    use crate::{Finding, Judgement};

    /// Two threads that wait for a monitor most of the time, held by "owner".
    fn contended() -> Built {
        let mut built = Built::jvm("17", "G1", 60.0);
        for thread in ["worker-1", "worker-2"] {
            for i in 0..60 {
                built.waits_for(thread, "shop.Cart", "owner", f64::from(i), 800.0);
            }
        }
        built
    }

    fn found(built: Built) -> Box<Finding> {
        match judged(&LockContendedMonitor, &built.sealed()) {
            Judgement::Found(finding) => finding,
            _ => panic!("nothing found"),
        }
    }

    #[test]
    fn what_the_owner_did_meanwhile_is_told_with_its_share() {
        let mut built = contended();
        built.on_thread(kind::SCHED_WATCHED, "owner", "", 0.0, 60_000.0);
        for i in 0..60 {
            // In write() for three quarters of the wait, with the switch inside of it.
            let at = f64::from(i);
            built.call("owner", "write", "/var/log/app.log", at, 600.0);
            built.on_thread(kind::SCHED_OFF, "owner", "uninterruptible", at, 600.0);
        }
        let finding = found(built);
        let told =
            finding.evidence.iter().map(|e| e.text.as_str()).find(|text| text.contains("meanwhile")).unwrap();
        assert!(
            told.contains("in write() on /var/log/app.log 75 %") && told.contains("running 25 %"),
            "{told}"
        );
    }

    #[test]
    fn an_owner_that_waits_for_another_lock_is_a_link_of_the_chain() {
        let mut built = contended();
        for i in 0..60 {
            built.waits_for("owner", "shop.Stock", "last", f64::from(i), 790.0);
        }
        let finding = found(built);
        assert!(
            finding.evidence.iter().any(|e| e.text.contains("waiting for shop.Stock that last held 99")),
            "{:?}",
            finding.evidence
        );
    }

    #[test]
    fn threads_that_wait_for_each_other_at_the_end_are_a_deadlock_and_those_in_a_row_are_none() {
        for (last, is_cycle) in [("one", true), ("three", false)] {
            let mut built = Built::jvm("17", "G1", 60.0);
            built.still_waits_for("one", "shop.Stock", "two", 10.0, 50_000.0);
            built.still_waits_for("two", "shop.Cart", last, 10.0, 50_000.0);
            built.still_waits_for("by the way", "shop.Cart", "one", 20.0, 40_000.0);
            built.on_thread(kind::SCHED_WATCHED, "three", "", 0.0, 60_000.0);
            let finding = found(built);
            assert_eq!(finding.title.contains("deadlock"), is_cycle, "{}", finding.title);
            assert_eq!(finding.title.contains("two waits for shop.Cart"), is_cycle, "{}", finding.title);
            assert!(!finding.title.contains("by the way"), "{}", finding.title);
        }
    }

    #[test]
    fn an_owner_of_whom_nothing_is_known_is_not_told_of() {
        let mut built = contended();
        // Two threads of that name: nobody knows which.
        for tid in [1, 2] {
            let jvm = built.jvm;
            built.recording.thread(jvm, Some(tid), "owner", fathom_recording::Role::App);
        }
        built.on_thread(kind::SCHED_OFF, "owner", "sleeping", 0.0, 60_000.0);
        let finding = found(built);
        assert!(!finding.evidence.iter().any(|e| e.text.contains("meanwhile")), "{:?}", finding.evidence);
    }
}
