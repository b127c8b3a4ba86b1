//! Why single operations were slow: the slowest of a kind compared with the ordinary ones, and one
//! of them along its thread.
//!
//! ```text
//! spans with a begin and an end ─▶ kinds (pick.rs) ─▶ each operation in pieces (pieces.rs)
//!                                                        │
//!             the slowest ─┐                             │
//!                          ├─ time per operation by what it is attributed to ─▶ what the slow ones have more (compare.rs)
//! between p25 and p75 ─────┘
//! ```
//!
//! Pieces are those of the ledger of threads, and waits for threads are attributed as the verdict
//! does ([`crate::attribution`]). The pieces of an operation add up to its length; what nobody saw
//! is a piece that says so.
//!
//! A span of a trace that threads were seen in is an operation from the first to the last look that
//! found it.
//!
//! Limits. An operation lies on one thread: work that it hands to another thread is followed only
//! while its own thread waits for that. An access log names no thread: of what its requests were
//! spent on only the stops of the JVM are known.

mod compare;
mod pick;
mod pieces;
#[cfg(test)]
mod tests;

use fathom_recording::Recording;
use serde::Serialize;

use crate::chain::Chains;
use crate::facts::operations as facts;
use crate::facts::{Statement, Value};
use crate::waits::Category;
use crate::{Confidence, Fact};

pub use pick::{Amount, Choice, OperationsError};

/// Version of the JSON of `fathom diagnose --slowest`.
pub const SLOWEST_SCHEMA: &str = "fathom.slowest/3";
/// Version of the JSON of `fathom diagnose --op`.
pub const OPERATION_SCHEMA: &str = "fathom.operation/3";

/// The slowest operations of a kind compared with the ordinary ones.
#[derive(Clone, Debug, Serialize)]
pub struct Slowest {
    /// Format of this value.
    pub schema: &'static str,
    /// The id of the recording; `None` of files that are none.
    pub recording: Option<String>,
    /// The kind: "shop.Request".
    pub kind: String,
    /// Other kinds of which there are operations, with how many, the one with most time first.
    pub other_kinds: Vec<(String, usize)>,
    /// Operations of the kind.
    pub operations: usize,
    /// Half of them took no longer, milliseconds.
    pub p50_ms: f64,
    /// 99% of them took no longer.
    pub p99_ms: f64,
    /// The longest.
    pub longest_ms: f64,
    /// The slow ones that were looked at.
    pub slow: Side,
    /// The ordinary ones: between the 25th and the 75th percentile.
    pub ordinary: Side,
    /// What a slow one takes longer than an ordinary one, milliseconds.
    pub longer_ms: f64,
    /// What it is made of, what grew most first; `more_ms` adds up to `longer_ms`.
    pub parts: Vec<Part>,
    /// What explains it.
    pub finding: Statement,
    /// How sure; `None` where nothing explains it.
    pub confidence: Option<Confidence>,
    /// Why it is so sure, or not.
    pub why_confidence: Vec<Statement>,
    /// The slow ones, the longest first; `fathom diagnose --op ID` goes on from there.
    pub slow_operations: Vec<Operation>,
}

/// One side of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Side {
    /// Operations that belong to it.
    pub operations: usize,
    /// Of these, how many were looked at, spread evenly.
    pub looked_at: usize,
    /// The mean of those looked at, milliseconds.
    pub mean_ms: f64,
    /// How many of those looked at lie on a known thread.
    pub on_a_thread: usize,
}

/// What operations spent time on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The category.
    pub category: Category,
    /// In words.
    pub words: &'static str,
    /// The application's method; empty where no stack was recorded.
    pub place: String,
    /// A peer, a file, a lock's class or a pool of threads; empty where nothing names one.
    pub counterpart: String,
    /// Of a slow operation, milliseconds.
    pub slow_ms: f64,
    /// Of an ordinary one.
    pub ordinary_ms: f64,
    /// The difference.
    pub more_ms: f64,
    /// The same as a share of what a slow one takes longer.
    pub share: f64,
    /// Share of the slow operations that have any of it.
    pub in_slow: f64,
    /// The general cause that covers it; `None` without one.
    pub covered_by: Option<General>,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operation {
    /// By this `--op` finds it again in the same recording.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// When it began, nanoseconds on the recording's clock.
    pub from_ns: i64,
    /// When it ended.
    pub to_ns: i64,
    /// How long it took, milliseconds.
    pub ms: f64,
    /// Its thread; `None` where none is known.
    pub thread: Option<String>,
    /// The trace that its thread was in, where its program publishes that.
    pub trace_id: Option<String>,
    /// The span of that trace.
    pub span_id: Option<String>,
}

/// One operation, piece by piece.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// Format of this value.
    pub schema: &'static str,
    /// The id of the recording; `None` of files that are none.
    pub recording: Option<String>,
    /// Which.
    pub operation: Operation,
    /// What it did, in order of time, without overlap and without a remainder.
    pub pieces: Vec<Piece>,
    /// What is to be known of these pieces: that no thread is known, or where else its span was
    /// seen.
    pub notes: Vec<Statement>,
}

/// A piece of an operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Piece {
    /// From when, nanoseconds on the recording's clock …
    pub from_ns: i64,
    /// … to when.
    pub to_ns: i64,
    /// How long, milliseconds.
    pub ms: f64,
    /// What the operation's own thread did.
    pub category: Category,
    /// In words.
    pub words: &'static str,
    /// The application's method in which it did.
    pub place: String,
    /// A peer, a file or a lock's class; empty where nothing names one.
    pub counterpart: String,
    /// Who ended the wait, and what that thread did meanwhile, step by step to the end; empty where
    /// nobody was followed.
    pub behind: Vec<Behind>,
}

/// What a thread did while an operation waited for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Behind {
    /// The pool of threads; `None` where it is the thread of the step before.
    pub thread: Option<String>,
    /// What it did.
    pub category: Category,
    /// In words.
    pub words: &'static str,
    /// The application's method in which it did; empty where none is known.
    pub place: String,
    /// A peer, a file or a lock's class; empty where nothing names one.
    pub counterpart: String,
}

/// A general cause: what the verdict would report such time under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum General {
    /// Collections, and allocations that wait for one.
    StopForGc,
    /// Other stops of the JVM.
    Safepoint,
    /// Java's locks and the JVM's own.
    Lock,
    /// Waits for a CPU, or for quota.
    RunQueue,
    /// Who answers a connection.
    NetworkPeer,
    /// Look-ups of names.
    NameResolution,
    /// Files and block devices.
    Disk,
    /// Page faults, the lock of the address space, reclaim.
    Memory,
}

impl General {
    /// That of a category; `None` where it has none.
    pub(crate) fn of(category: Category) -> Option<Self> {
        use Category as H;
        Some(match category {
            H::StoppedByGc | H::AllocationStall => Self::StopForGc,
            H::StoppedToReach | H::StoppedByLog | H::Stopped => Self::Safepoint,
            H::Monitor | H::Lock | H::NativeLock => Self::Lock,
            H::RunQueue | H::Throttled => Self::RunQueue,
            H::Network => Self::NetworkPeer,
            H::Dns => Self::NameResolution,
            H::Disk => Self::Disk,
            H::PageFault | H::MapLock | H::MemoryStall => Self::Memory,
            _ => return None,
        })
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::StopForGc => "stop for GC",
            Self::Safepoint => "safepoint",
            Self::Lock => "lock",
            Self::RunQueue => "run queue",
            Self::NetworkPeer => "network peer",
            Self::NameResolution => "name resolution",
            Self::Disk => "disk",
            Self::Memory => "memory",
        }
    }
}

/// The slowest operations of a recording, and what they have that the ordinary ones have not.
pub fn slowest(recording: &Recording, choice: &Choice) -> Result<Slowest, OperationsError> {
    let chains = Chains::of(recording);
    compare::slowest(&chains, choice)
}

/// Where else threads were seen in a span, named at most.
const MOST_ELSEWHERE: usize = 8;

/// Where else threads were seen in the same span or trace.
fn elsewhere(recording: &Recording, others: &[pick::Picked<'_>]) -> Option<Fact> {
    let named = others.iter().take(MOST_ELSEWHERE).map(|other| {
        let other = other.described(recording);
        facts::AT
            .is(Value::name(other.id))
            .with("took", Value::ms(other.ms))
            .with("thread", other.thread.map(Value::name))
    });
    let more = others.len().saturating_sub(MOST_ELSEWHERE);
    (!others.is_empty()).then(|| {
        facts::ELSEWHERE
            .fact()
            .with("operations", Value::list(named))
            .with("more", (more > 0).then(|| Value::count(more)))
    })
}

/// One operation by its id; of a span or a trace, by its own id, where a thread was seen in it the
/// longest.
pub fn explain(recording: &Recording, id: &str) -> Result<Explained, OperationsError> {
    let (span, others) = if pick::is_of_trace(id) {
        let mut found = pick::by_trace(recording, id)?;
        (found.remove(0), found)
    } else {
        (pick::by_id(recording, id)?, Vec::new())
    };
    let chains = Chains::of(recording);
    let mut cut = pieces::Cut::of(&chains);
    let thread = span.span.thread();
    let pieces = cut.of_operation(&span.span).iter().map(pieces::RawPiece::described).collect();
    let note = match (thread, cut.coarse_stamps()) {
        (Some(_), _) => elsewhere(recording, &others),
        (None, true) => Some(facts::COARSE_ALONE.fact()),
        (None, false) => Some(facts::NO_THREAD_ALONE.fact()),
    };
    let notes = note.into_iter().map(Statement::from).collect();
    let id = recording.identity.recording.clone();
    let operation = span.described(recording);
    Ok(Explained { schema: OPERATION_SCHEMA, recording: id, operation, pieces, notes })
}
