//! A contended lock, told the same way for monitors and for `java.util.concurrent`.

use fathom_recording::vocabulary::label;
use fathom_recording::{ProcessId, Span};

use super::gc_case::remedy;
use super::wait_case::{Waits, java_method, unseen};
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
    let why = "the waits were measured; what the owner did meanwhile was not: an owner that is itself off the CPU \
               (throttled, swapped, blocked on a disk) makes the same waits";
    let mut finding = waits.finding(rule, (sure, why));
    finding.title = format!(
        "{} waited {} for {}",
        quantity::plural(waits.threads(), "thread", "threads"),
        quantity::millis(total),
        if hot { format!("one {}: {first}", words.noun) } else { format!("{} {}s", locks.len(), words.noun) },
    );
    finding.culprit = first.clone();
    finding.meaning = format!(
        "Only one thread at a time holds a {}; the others do nothing until it is their turn, however many processors \
         there are.",
        words.noun
    );
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
    finding.evidence.extend(waits.longest(CITED, |span| format!("for {} in {}", lock(span), place(span))));
    finding.remedies = words.remedies.iter().map(|(change, to, risk)| remedy(*change, *to, *risk)).collect();
    finding.verify = vec![
        "the same load with half the threads: throughput that stays says that the lock, not the work, is the limit".into(),
        format!("after the change, fathom ledger shows the time under \"blocked\" for this {} gone", words.noun),
    ];
    finding
}
