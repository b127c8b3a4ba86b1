//! The slow operations compared with the ordinary ones: time per operation by what it is attributed
//! to.

use std::collections::BTreeMap;

use super::pick::{self, Choice, OperationsError, Picked};
use super::pieces::{self, Cut};
use super::{General, Part, SLOWEST_SCHEMA, Side, Slowest};
use crate::attribution::Key;
use crate::attribution::Pool;
use crate::chain::Chains;
use crate::confidence::Ground;
use crate::facts::operations as facts;
use crate::facts::{Value, links};
use crate::waits::Category;
use crate::{Confidence, Fact};

/// Operations of one side that are looked at, spread evenly: more would not change a mean.
const MOST_LOOKED_AT: usize = 2_000;
/// Slow operations that are listed.
const LISTED: usize = 20;
/// What of the difference a part must make up to be called what explains it.
const LEADS: f64 = 0.25;
/// Share of the slow operations that must have it to be likely, and how many there must be.
const IN_MOST: f64 = 0.5;
const ENOUGH: usize = 3;
/// Share of the difference that may be unseen where something is likely.
const UNSEEN: f64 = 0.2;

/// What time is attributed to, whether a lock was in between, and the pool that did it.
type Cause<'a> = (Key<'a>, Option<Pool<'a>>, bool);

/// A cause as a row of the table reads. Causes that read the same are one row: pools of one name in
/// two JVMs, categories with the same words, a wait for a thread with and without a lock on the
/// way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row<'a> {
    words: &'static str,
    place: &'a str,
    counterpart: String,
    /// The category of these words.
    category: Category,
}

impl<'a> Row<'a> {
    fn of((key, other, _): Cause<'a>) -> Self {
        let counterpart = match (other, key.target) {
            (Some(pool), "") => format!("thread {}", pool.name),
            (Some(pool), target) => format!("thread {}, {target}", pool.name),
            (None, target) => target.to_owned(),
        };
        Self { words: pieces::words(key.category), place: key.place, counterpart, category: key.category }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    slow_ms: f64,
    ordinary_ms: f64,
    in_slow: usize,
    /// Of both sides, with a lock on the way.
    by_lock_ms: f64,
}

pub(super) fn slowest(chains: &Chains<'_>, choice: &Choice) -> Result<Slowest, OperationsError> {
    let recording = chains.recording();
    let sides = pick::sides(recording, choice)?;
    let mut cut = Cut::of(chains);
    let mut sums: BTreeMap<Row<'_>, Sum> = BTreeMap::new();
    let slow = add(&mut cut, &sides.slow, &mut sums, |sum, ms| {
        sum.slow_ms += ms;
        sum.in_slow += 1;
    });
    let ordinary = add(&mut cut, &sides.ordinary, &mut sums, |sum, ms| sum.ordinary_ms += ms);
    let longer_ms = slow.mean_ms - ordinary.mean_ms;
    let part = |(row, sum): (Row<'_>, Sum)| {
        let slow_ms = sum.slow_ms / slow.looked_at.max(1) as f64;
        let ordinary_ms = sum.ordinary_ms / ordinary.looked_at.max(1) as f64;
        let more_ms = slow_ms - ordinary_ms;
        let by_lock = sum.by_lock_ms > (sum.slow_ms + sum.ordinary_ms) / 2.0;
        Part {
            category: row.category,
            words: row.words,
            place: row.place.to_owned(),
            counterpart: row.counterpart,
            slow_ms,
            ordinary_ms,
            more_ms,
            share: if longer_ms > 0.0 { more_ms / longer_ms } else { 0.0 },
            in_slow: sum.in_slow as f64 / slow.looked_at.max(1) as f64,
            covered_by: if by_lock { Some(General::Lock) } else { General::of(row.category) },
        }
    };
    let mut parts: Vec<Part> = sums.into_iter().map(part).collect();
    parts.sort_by(|a, b| b.more_ms.total_cmp(&a.more_ms));
    let (finding, confidence, why) = judged(&parts, longer_ms, &slow, cut.coarse_stamps());
    let at = |share: f64| {
        let place = ((sides.lengths.len() as f64 * share).ceil() as usize).clamp(1, sides.lengths.len());
        sides.lengths[place - 1] as f64 / 1e6
    };
    Ok(Slowest {
        schema: SLOWEST_SCHEMA,
        recording: recording.identity.recording.clone(),
        kind: sides.kind,
        other_kinds: sides.other_kinds,
        operations: sides.lengths.len(),
        p50_ms: at(0.5),
        p99_ms: at(0.99),
        longest_ms: at(1.0),
        slow,
        ordinary,
        longer_ms,
        parts,
        finding: finding.into(),
        confidence,
        why_confidence: vec![why.into()],
        slow_operations: sides.slow.iter().take(LISTED).map(|picked| picked.described(recording)).collect(),
    })
}

/// Adds up what operations of one side spent, each row once for each operation.
fn add<'a>(
    cut: &mut Cut<'_, 'a>,
    operations: &[Picked<'a>],
    sums: &mut BTreeMap<Row<'a>, Sum>,
    mut count: impl FnMut(&mut Sum, f64),
) -> Side {
    let each = operations.len().div_ceil(MOST_LOOKED_AT).max(1);
    let (mut looked_at, mut on_a_thread, mut all_ms) = (0, 0, 0.0);
    for operation in operations.iter().step_by(each) {
        looked_at += 1;
        on_a_thread += usize::from(operation.span.thread().is_some());
        all_ms += operation.length_ns() as f64 / 1e6;
        let mut own: BTreeMap<Cause<'a>, f64> = BTreeMap::new();
        for piece in cut.of_operation(&operation.span) {
            let end = piece.end();
            let ms = piece.to.saturating_sub(piece.from) as f64 / 1e6;
            *own.entry((end.key, end.other, piece.is_by_lock())).or_default() += ms;
        }
        for (row, (ms, by_lock_ms)) in rows(own) {
            let sum = sums.entry(row).or_default();
            count(sum, ms);
            sum.by_lock_ms += by_lock_ms;
        }
    }
    let mean_ms = if looked_at > 0 { all_ms / looked_at as f64 } else { 0.0 };
    Side { operations: operations.len(), looked_at, mean_ms, on_a_thread }
}

/// Time by cause as time by row, and how much of that had a lock on the way.
fn rows<'a>(causes: BTreeMap<Cause<'a>, f64>) -> BTreeMap<Row<'a>, (f64, f64)> {
    let mut rows: BTreeMap<Row<'a>, (f64, f64)> = BTreeMap::new();
    for (cause, ms) in causes {
        let row = rows.entry(Row::of(cause)).or_default();
        row.0 += ms;
        row.1 += if cause.2 { ms } else { 0.0 };
    }
    rows
}

/// The finding, how sure it is, and why.
fn judged(parts: &[Part], longer_ms: f64, slow: &Side, coarse: bool) -> (Fact, Option<Confidence>, Fact) {
    let unseen: f64 =
        parts.iter().filter(|part| part.category == Category::Unknown).map(|part| part.share).sum();
    let unseen_share = || Value::share(unseen.max(0.0));
    let lead = parts.iter().find(|part| part.category != Category::Unknown && part.share >= LEADS);
    let Some(lead) = lead.filter(|_| longer_ms > 0.0) else {
        let why = match slow.on_a_thread {
            0 if coarse => facts::COARSE.fact(),
            0 => facts::NO_THREAD.fact(),
            _ => facts::NOT_SEEN.is(unseen_share()),
        };
        return (facts::LONGER_UNKNOWN.is(Value::ms(longer_ms)), None, why);
    };
    let is_lock = matches!(lead.category, Category::Monitor | Category::Lock | Category::NativeLock);
    let behind_lock = lead.covered_by == Some(General::Lock) && !is_lock;
    let finding = facts::LONGER
        .is(Value::ms(longer_ms))
        .with("share", Value::share(lead.share.min(1.0)))
        .with("category", (lead.category != Category::Running).then_some(Value::Category(lead.category)))
        .with("place", Value::named(&lead.place))
        .with("counterpart", Value::named(&lead.counterpart))
        .with("lock", behind_lock.then(|| Value::from(links::A_LOCK.fact())));
    let (share, have) = (Value::share(lead.share.min(1.0)), Value::share(lead.in_slow));
    let is_known = lead.in_slow >= IN_MOST && unseen <= UNSEEN && slow.looked_at >= ENOUGH;
    let ground = if is_known { Ground::Traces } else { Ground::Fits };
    let confidence = ground.confidence(Some(lead.share));
    let why = if confidence > Ground::Fits.confidence(None) {
        facts::IN_SLOW.is(share).with("of", have)
    } else {
        let looked_at = Value::count(slow.looked_at);
        facts::IN_FEW.is(share).with("of", have).with("looked_at", looked_at).with("unseen", unseen_share())
    };
    (finding, Some(confidence), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_that_read_the_same_are_one_row() {
        let key = |place| Key { category: Category::Sleep, place, target: "" };
        let pool = |process| Some(Pool { name: "sleeper", process });
        let causes = BTreeMap::from([
            ((key("shop.Stock.take"), pool("shop"), true), 60.0),
            ((key("shop.Stock.take"), pool("shop"), false), 20.0),
            ((key("shop.Stock.take"), pool("stock"), true), 3.0),
            ((key("shop.Stock.give"), pool("shop"), true), 5.0),
            ((key("shop.Stock.take"), None, false), 7.0),
        ]);
        let rows: Vec<_> = rows(causes).into_values().collect();
        assert_eq!(rows, [(5.0, 5.0), (7.0, 0.0), (83.0, 63.0)]);
    }
}
