//! Who keeps what grows: what a heap dump given with the log says of it.
//!
//! Only the log shows that the live set grows: what keeps most of a heap may well have been loaded
//! once. Which of the holders is the one that grows is shown by a second dump; with one dump alone
//! it is the largest for which nothing speaks of a bound, and only where it keeps half of what the
//! log saw growing.

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{ProcessId, Recording, Span};

use crate::collections::LivePoint;
use crate::facts::{Value, live_set, pauses};
use crate::{Evidence, Fact};

/// What a holder must keep, or have grown by, as a share of the growth that it is to explain.
const MOST: f64 = 0.5;
/// A dump of the same JVM at the same time has this share at least of what the collection before it
/// left in use: less is another JVM's, or of another time.
const SAME_HEAP: f64 = 0.5;

/// A heap dump of the JVM.
pub(super) struct Dump<'a> {
    pub(super) span: Span<'a>,
    holders: Vec<Span<'a>>,
    direct: Vec<Span<'a>>,
}

/// How a holder was picked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum By {
    /// It grew from one dump to the next by so many bytes.
    Grew(f64),
    /// It is a suspect: many entries, no bound.
    Suspicion,
    /// It keeps most.
    Size,
}

/// Who keeps what grows.
#[derive(Clone, Copy)]
pub(super) struct Keeper<'a> {
    pub(super) span: Span<'a>,
    pub(super) by: By,
    /// Of what can be reached.
    pub(super) share: f64,
}

impl<'a> Dump<'a> {
    /// The dump of a JVM, where one was given.
    pub(super) fn of(recording: &'a Recording, jvm: ProcessId) -> Option<Self> {
        let span = recording.spans_of(kind::HEAP_DUMP).rfind(|dump| dump.process() == jvm)?;
        let own = |of: &str| -> Vec<Span<'a>> {
            recording.spans_of(of).filter(|row| row.source() == span.source()).collect()
        };
        Some(Self { span, holders: own(kind::HEAP_HOLDER), direct: own(kind::HEAP_DIRECT) })
    }

    pub(super) fn bytes(&self) -> f64 {
        retained(&self.span)
    }

    /// What could be reached in the dump before, where there are two.
    pub(super) fn before(&self) -> Option<f64> {
        self.span.figure(figure::BEFORE_BYTES)
    }

    /// Why it can hardly be of the JVM and time that the log is of.
    pub(super) fn is_of_another(&self, points: &[LivePoint<'_>]) -> Option<Fact> {
        let before = points.iter().rev().find(|point| point.t_ns <= self.span.t0_ns());
        let point = before.or(points.first())?;
        (self.bytes() < SAME_HEAP * point.bytes).then(|| {
            let fact = live_set::OTHER_DUMP.is(Value::bytes(self.bytes()));
            let fact = fact.with("file", Value::name(self.span.name()));
            fact.with("in-use", Value::bytes(point.bytes))
        })
    }

    /// Who keeps a growth of so many bytes.
    pub(super) fn keeper(&self, grown: f64) -> Option<Keeper<'a>> {
        let free = || self.holders.iter().filter(|holder| holder.label(label::BOUND).is_none());
        let largest =
            |all: &mut dyn Iterator<Item = (f64, Span<'a>)>| all.max_by(|(a, _), (b, _)| a.total_cmp(b));
        let keeper = |span: Span<'a>, by| Keeper { span, by, share: retained(&span) / self.bytes().max(1.0) };
        if let Some(before) = self.before() {
            let growth = |h: &Span<'a>| retained(h) - h.figure(figure::BEFORE_BYTES).unwrap_or(0.0);
            let (by, span) = largest(&mut free().map(|holder| (growth(holder), *holder)))?;
            let all = self.bytes() - before;
            return (all > 0.0 && by >= MOST * all).then(|| keeper(span, By::Grew(by)));
        }
        let enough = |holder: &&Span<'a>| retained(holder) >= MOST * grown;
        let suspects = free().filter(|holder| holder.label(label::SUSPICION).is_some());
        let suspect = largest(&mut suspects.filter(enough).map(|holder| (retained(holder), *holder)));
        if let Some((_, span)) = suspect {
            return Some(keeper(span, By::Suspicion));
        }
        let most = largest(&mut free().filter(enough).map(|holder| (retained(holder), *holder)));
        most.map(|(_, span)| keeper(span, By::Size))
    }

    /// What keeps most, to be named where nothing grows.
    pub(super) fn largest(&self) -> Option<Keeper<'a>> {
        let span = *self.holders.first()?;
        Some(Keeper { span, by: By::Size, share: retained(&span) / self.bytes().max(1.0) })
    }

    /// Of those who keep direct buffers, the one whose capacity grew most between two dumps, with
    /// that.
    pub(super) fn direct_growth(&self) -> Option<(Span<'a>, f64)> {
        let grown = self.direct.iter().filter_map(|owner| {
            Some((*owner, owner.figure(figure::BYTES)? - owner.figure(figure::BEFORE_BYTES)?))
        });
        grown.max_by(|(_, a), (_, b)| a.total_cmp(b)).filter(|(_, by)| *by > 0.0)
    }
}

impl<'a> Keeper<'a> {
    /// "Sessions.OPEN (static)".
    pub(super) fn name(&self) -> Value {
        match self.span.label(label::SUSPICION) {
            Some("finalizers") => Value::from(pauses::FINALIZER_QUEUE.fact()),
            _ => Value::name(self.span.label(label::HELD_BY).unwrap_or(self.span.name())),
        }
    }

    /// What it keeps.
    pub(super) fn bytes(&self) -> f64 {
        retained(&self.span)
    }

    /// Its class, and what accumulates in it: "java.util.HashMap with 60,000 entries of Session".
    pub(super) fn contents(&self) -> Fact {
        let objects = self.span.figure(figure::OBJECTS).filter(|objects| *objects > 1.0);
        let contents = pauses::CONTENTS.is(Value::name(self.span.name()));
        let contents = contents.with("objects", objects.map(Value::counted));
        let contents = contents.with("entries", self.span.figure(figure::ENTRIES).map(Value::counted));
        contents.with("entry-class", self.entry_class().map(Value::name))
    }

    /// The class of what accumulates.
    pub(super) fn entry_class(&self) -> Option<&'a str> {
        self.span.label(label::ENTRY_CLASS)
    }

    /// Classes from the first object that keeps it down to it.
    pub(super) fn dominators(&self) -> impl Iterator<Item = &'a str> {
        self.span.label(label::DOMINATORS).unwrap_or_default().lines()
    }

    /// Names of the threads that keep it.
    pub(super) fn threads(&self) -> impl Iterator<Item = &'a str> {
        self.span.label(label::HELD_BY_THREADS).unwrap_or_default().lines()
    }

    /// What the dump says of it.
    pub(super) fn evidence(&self, dump: &Dump<'_>) -> Vec<Evidence> {
        let of = |fact: Fact| Evidence::summed(dump.span.name(), fact).at(dump.span.t0_ns());
        let inside = self.span.label(label::ACCUMULATES_IN);
        let kept = pauses::RETAINED.is(Value::bytes(retained(&self.span)));
        let kept = kept.with("heap", Value::bytes(dump.bytes())).with("share", Value::share(self.share));
        let kept = kept.with("owner", self.name()).with("contents", Value::from(self.contents()));
        let mut evidence = vec![of(kept.with("inside", inside.map(Value::name)))];
        let way: Vec<&str> = self.dominators().collect();
        if way.len() > 1 {
            evidence.push(of(pauses::RETAINED_BY.is(Value::name(way.join(" → ")))));
        }
        if let (By::Grew(by), Some(before)) = (self.by, dump.before()) {
            let grew = Value::bytes(dump.bytes() - before);
            evidence.push(of(pauses::RETAINED_MORE.is(Value::bytes(by)).with("heap", grew)));
        }
        evidence
    }
}

fn retained(row: &Span<'_>) -> f64 {
    row.figure(figure::RETAINED_BYTES).unwrap_or(0.0)
}
