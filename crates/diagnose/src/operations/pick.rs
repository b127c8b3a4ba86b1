//! Which spans of a recording are operations, how they are called, and which of them are slow.

use std::collections::BTreeMap;
use std::str::FromStr;

use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{Recording, Span, ThreadId};
use rustc_hash::FxHashMap;
use thiserror::Error;

use super::Operation;

/// Kinds of spans that stand for work of the application, with the word that ids begin with.
const KINDS: [(&str, &str); 4] =
    [(kind::EVENT, "event"), (kind::PROBE, "probe"), (kind::OPERATION, "request"), (kind::TRACE_SPAN, SEEN)];
/// Of those that were seen at some moments only, whose beginning and end are not known exactly.
const SEEN: &str = "span";
/// Hexadecimal digits of a span's id and of a trace's.
const ID_DIGITS: [usize; 2] = [16, 32];
/// The largest part of all operations that can be called slow: the others begin with the 75th
/// percentile.
const MOST_SLOW: f64 = 0.25;
/// Fewer operations have no ordinary ones to compare the slow ones with.
const LEAST: usize = 8;

/// How many are slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// A share of all, 0 to 1.
    Share(f64),
    /// So many.
    Count(usize),
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text}: write a share up to 25%, 1%, or a number of operations, 20");
        if let Some(percent) = text.strip_suffix('%') {
            let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
            let share = percent / 100.0;
            return if share > 0.0 && share <= MOST_SLOW { Ok(Self::Share(share)) } else { Err(wrong()) };
        }
        match text.parse() {
            Ok(0) | Err(_) => Err(wrong()),
            Ok(count) => Ok(Self::Count(count)),
        }
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Choice {
    /// How many of the slowest.
    pub amount: Amount,
    /// Of which kind; that with most time in all, without one.
    pub kind: Option<String>,
}

/// Why there is no answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OperationsError {
    /// Nothing in the recording is an operation.
    #[error(
        "no operations with a begin and an end. These have some: a JFR file with events of the application that last \
         (jdk.jfr.Event), fathom trace uprobe:LIBRARY:FUNCTION -o FILE, an access log with the duration of requests, \
         fathom record of a program that publishes the trace contexts of its threads"
    )]
    None,
    /// None of the kind.
    #[error("no operations of kind {asked}; there are: {there}")]
    NoKind {
        /// What was asked for.
        asked: String,
        /// What there is, with commas.
        there: String,
    },
    /// Too few of the kind.
    #[error(
        "{count} operations of kind {kind}: at least {LEAST} are needed to distinguish slow ones from ordinary ones"
    )]
    TooFew {
        /// Of which kind.
        kind: String,
        /// How many there are.
        count: usize,
    },
    /// No such operation.
    #[error(
        "no operation {0}: fathom diagnose --slowest 1% lists ids (event:12, probe:12, request:12, span:12); the id of a \
         span or a trace has 16 or 32 hexadecimal digits"
    )]
    NoSuch(String),
    /// No thread was seen in the span or the trace for any time.
    #[error(
        "no thread was seen in {0} for any time: a span is seen at CPU samples and at waits of a millisecond or more, \
         where the program publishes the trace contexts of its threads"
    )]
    NotSeen(String),
}

/// An operation with its id.
#[derive(Clone, Copy)]
pub(super) struct Picked<'a> {
    pub(super) span: Span<'a>,
    word: &'static str,
    number: usize,
}

impl Picked<'_> {
    pub(super) fn length_ns(&self) -> i64 {
        self.span.t1_ns().saturating_sub(self.span.t0_ns())
    }

    pub(super) fn described(&self, recording: &Recording) -> Operation {
        let thread = self.span.thread().and_then(|id| recording.threads.get(id.index()));
        Operation {
            id: format!("{}:{}", self.word, self.number),
            kind: self.span.name().to_owned(),
            from_ns: self.span.t0_ns(),
            to_ns: self.span.t1_ns(),
            ms: self.length_ns() as f64 / 1e6,
            thread: thread.map(|row| recording.strings.get(row.name).to_owned()),
            trace_id: self.span.label(label::TRACE_ID).map(str::to_owned),
            span_id: self.span.label(label::SPAN_ID).map(str::to_owned),
        }
    }
}

/// Events of the JDK itself are no work of the application.
fn is_operation(span: &Span<'_>) -> bool {
    span.t1_ns() > span.t0_ns() && !(span.kind() == kind::EVENT && span.name().starts_with("jdk."))
}

/// The operations of a kind. A number is the place among its spans, which a recording keeps.
fn of_kind<'a>(recording: &'a Recording, kind: &str, word: &'static str) -> impl Iterator<Item = Picked<'a>> {
    let numbered = recording.spans_of(kind).enumerate();
    let picked = numbered.map(move |(at, span)| Picked { span, word, number: at + 1 });
    picked.filter(|picked| is_operation(&picked.span))
}

/// All operations; of spans of a trace those that lie within no other of their thread.
fn all(recording: &Recording) -> impl Iterator<Item = Picked<'_>> {
    let mut until: FxHashMap<Option<ThreadId>, i64> = FxHashMap::default();
    KINDS.into_iter().flat_map(move |(kind, word)| of_kind(recording, kind, word)).filter(move |picked| {
        if picked.word != SEEN {
            return true;
        }
        let until = until.entry(picked.span.thread()).or_insert(i64::MIN);
        let is_outermost = picked.span.t1_ns() > *until;
        *until = picked.span.t1_ns().max(*until);
        is_outermost
    })
}

/// A span or a trace by its own id: where threads were seen in it, the longest first, none within
/// another of the same thread.
pub(super) fn by_trace<'a>(recording: &'a Recording, id: &str) -> Result<Vec<Picked<'a>>, OperationsError> {
    let label = if id.len() == ID_DIGITS[0] { label::SPAN_ID } else { label::TRACE_ID };
    let mut of_it: Vec<_> = of_kind(recording, kind::TRACE_SPAN, SEEN)
        .filter(|picked| picked.span.label(label).is_some_and(|own| own.eq_ignore_ascii_case(id)))
        .collect();
    of_it.sort_by_key(|picked| (std::cmp::Reverse(picked.length_ns()), picked.number));
    let mut outermost: Vec<Picked<'a>> = Vec::new();
    for picked in of_it {
        let holds = |outer: &Picked<'a>| {
            outer.span.thread() == picked.span.thread()
                && outer.span.t0_ns() <= picked.span.t0_ns()
                && outer.span.t1_ns() >= picked.span.t1_ns()
        };
        if !outermost.iter().any(holds) {
            outermost.push(picked);
        }
    }
    if outermost.is_empty() { Err(OperationsError::NotSeen(id.to_owned())) } else { Ok(outermost) }
}

/// Whether it is the id of a span or of a trace, as W3C's Trace Context has them.
pub(super) fn is_of_trace(id: &str) -> bool {
    ID_DIGITS.contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// One by its id.
pub(super) fn by_id<'a>(recording: &'a Recording, id: &str) -> Result<Picked<'a>, OperationsError> {
    let found = || {
        let (word, number) = id.split_once(':')?;
        let (kind, word) = KINDS.into_iter().find(|(_, own)| *own == word)?;
        let number: usize = number.parse().ok()?;
        let span = recording.spans_of(kind).nth(number.checked_sub(1)?)?;
        Some(Picked { span, word, number }).filter(|picked| is_operation(&picked.span))
    };
    found().ok_or_else(|| OperationsError::NoSuch(id.to_owned()))
}

/// Operations of one kind, cut into those that are slow and those that are ordinary.
pub(super) struct Sides<'a> {
    pub(super) kind: String,
    pub(super) other_kinds: Vec<(String, usize)>,
    /// Lengths of all, ascending, nanoseconds.
    pub(super) lengths: Vec<i64>,
    /// The longest first.
    pub(super) slow: Vec<Picked<'a>>,
    pub(super) ordinary: Vec<Picked<'a>>,
}

pub(super) fn sides<'a>(recording: &'a Recording, choice: &Choice) -> Result<Sides<'a>, OperationsError> {
    let mut by_name: BTreeMap<&str, Vec<Picked<'a>>> = BTreeMap::new();
    all(recording).for_each(|picked| by_name.entry(picked.span.name()).or_default().push(picked));
    let time = |of: &[Picked<'_>]| of.iter().map(Picked::length_ns).fold(0, i64::saturating_add);
    let mut kinds: Vec<_> = by_name.into_iter().collect();
    // What has a beginning and an end of its own comes before what was seen at some moments.
    let is_seen = |of: &[Picked<'_>]| of.iter().all(|picked| picked.word == SEEN);
    kinds.sort_by_key(|(_, of)| (is_seen(of), std::cmp::Reverse(time(of))));
    if kinds.is_empty() {
        return Err(OperationsError::None);
    }
    let at = match &choice.kind {
        None => 0,
        Some(asked) => kinds.iter().position(|(name, _)| name == asked).ok_or_else(|| {
            let there: Vec<_> = kinds.iter().take(10).map(|(name, _)| *name).collect();
            OperationsError::NoKind { asked: asked.clone(), there: there.join(", ") }
        })?,
    };
    let (kind, mut of) = kinds.remove(at);
    if of.len() < LEAST {
        return Err(OperationsError::TooFew { kind: kind.to_owned(), count: of.len() });
    }
    of.sort_by_key(|picked| (picked.length_ns(), picked.number));
    let count = of.len();
    let asked = match choice.amount {
        Amount::Share(share) => (share * count as f64).ceil() as usize,
        Amount::Count(asked) => asked,
    };
    let most = (count as f64 * MOST_SLOW) as usize;
    let slow = of[count - asked.clamp(1, most.max(1))..].iter().rev().copied().collect();
    let ordinary = of[count / 4..(count * 3).div_ceil(4)].to_vec();
    let other_kinds = kinds.into_iter().map(|(name, of)| (name.to_owned(), of.len())).collect();
    let lengths = of.iter().map(Picked::length_ns).collect();
    Ok(Sides { kind: kind.to_owned(), other_kinds, lengths, slow, ordinary })
}
