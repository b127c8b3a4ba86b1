//! Where what stays is allocated: samples of allocations compared with what a heap dump says is
//! kept.
//!
//! ```text
//!   dump:   Sessions.OPEN → ConcurrentHashMap → … → Session      what stays
//!   sample: byte[] ◂ Session.<init> ◂ Web.open ◂ Web.serve       made while a Session is made
//!                                     └ the place
//! ```
//!
//! A sample is of what stays when its object is of that class, or is made by that class's
//! constructor. Of a class of the JDK's (byte[]) most objects are garbage soon: where some of the
//! samples are by a thread that keeps them, or come through a class on the way to them, only those
//! count; where none are, the place is reported as that of all objects of the class.

use fathom_recording::vocabulary::{frame, sample};
use fathom_recording::{FrameId, FrameType, ProcessId, Recording, StackFrame, StackId};
use rustc_hash::FxHashMap;

use super::keeper::Keeper;
use crate::Fact;
use crate::facts::{Value, pauses};
use crate::waits::place::is_of_jdk;

/// Fewer samples are too few for a share.
const FEWEST: usize = 5;
/// Frames of the way to the place that are shown.
const SHOWN: usize = 4;
/// A class that is on so large a share of the samples' stacks distinguishes nothing: that of `main`
/// is on most.
const EVERYWHERE: f64 = 0.9;
/// Classes on the way that are distinguished, those next to what stays.
const OWNERS: usize = 64;
/// Frames that are looked at, the innermost.
const DEEPEST: usize = 2048;

/// Where what stays is allocated.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    /// The method and its line.
    pub(super) method: String,
    /// It and its callers.
    pub(super) stack: Vec<String>,
    /// Its share of the bytes that were sampled.
    pub(super) share: f64,
    /// Samples of it.
    pub(super) samples: usize,
    /// Whether the samples are known to be of what stays, and not only of its class.
    pub(super) of_what_stays: bool,
    /// The class.
    pub(super) class: String,
}

impl Place {
    /// What is known of it.
    pub(super) fn fact(&self) -> Fact {
        let metric = if self.of_what_stays { &pauses::ALLOCATED_BY } else { &pauses::ALLOCATED_ALL_BY };
        let frames = self.stack.iter().map(|frame| pauses::FRAME.is(Value::name(frame)));
        let fact = metric.is(Value::share(self.share)).with("class", Value::name(&self.class));
        fact.with("stack", Value::list(frames)).with("samples", Value::count(self.samples))
    }
}

/// What is to be found on stacks.
struct Wanted<'a> {
    class: &'a str,
    /// "Session.<init>", "Session.<clinit>"; none for a class of the JDK, of which a constructor is
    /// called for anything.
    makers: Option<[String; 2]>,
    /// Classes of the application on the way to it, as methods begin with them.
    owners: Vec<String>,
}

/// A stack that allocates the class.
#[derive(Clone, Copy)]
struct Match {
    /// The stack from the place on.
    from: StackId,
    frame: FrameId,
    /// Which of the owners are on it, a bit each.
    owners: u64,
}

/// The place that allocates most of what a holder keeps; `None` where too few samples are of it.
pub(super) fn place(recording: &Recording, jvm: ProcessId, keeper: &Keeper<'_>) -> Option<Place> {
    let class = keeper.entry_class().unwrap_or(keeper.span.name());
    let class = class.strip_prefix("class ").unwrap_or(class);
    let of_jdk = is_of_jdk(class) || class.ends_with("[]");
    let makers = (!of_jdk).then(|| [format!("{class}.<init>"), format!("{class}.<clinit>")]);
    let owners = keeper.dominators().map(|name| name.strip_prefix("class ").unwrap_or(name));
    let owners = owners.filter(|name| !is_of_jdk(name) && !name.ends_with("[]") && *name != class);
    let mut owners: Vec<String> = owners.map(|name| format!("{name}.")).collect();
    owners.drain(..owners.len().saturating_sub(OWNERS));
    let wanted = Wanted { class, makers, owners };
    let kind = recording.strings.find(sample::ALLOC)?;
    let by_threads: Vec<&str> = keeper.threads().collect();
    let mut known: FxHashMap<StackId, Option<Match>> = FxHashMap::default();
    let mut matched: Vec<(Match, f64, bool)> = Vec::new();
    for sample in recording.samples.iter().filter(|s| s.kind == kind && s.process == jvm && s.weight > 0) {
        let Some(stack) = sample.stack else { continue };
        let found = *known.entry(stack).or_insert_with(|| wanted.on(recording, stack));
        let Some(found) = found else { continue };
        let thread = sample.thread.and_then(|thread| recording.threads.get(thread.index()));
        let by_thread = thread.is_some_and(|t| by_threads.contains(&recording.strings.get(t.name)));
        matched.push((found, sample.weight as f64, by_thread));
    }
    let distinguishing = wanted.distinguishing(&matched);
    for (found, _, near) in &mut matched {
        *near |= found.owners & distinguishing != 0;
    }
    let near = matched.iter().filter(|(.., near)| *near).count() >= FEWEST;
    if near {
        matched.retain(|(.., near)| *near);
    }
    if matched.len() < FEWEST {
        return None;
    }
    let mut places: FxHashMap<FrameId, (f64, usize, StackId)> = FxHashMap::default();
    for (found, weight, _) in &matched {
        let (sum, samples, _) = places.entry(found.frame).or_insert((0.0, 0, found.from));
        (*sum, *samples) = (*sum + weight, *samples + 1);
    }
    let all: f64 = matched.iter().map(|(_, weight, _)| weight).sum();
    let by_weight = |a: &(FrameId, (f64, usize, StackId)), b: &(FrameId, (f64, usize, StackId))| {
        a.1.0.total_cmp(&b.1.0).then_with(|| b.0.cmp(&a.0))
    };
    let (_, (sum, samples, from)) = places.into_iter().max_by(by_weight)?;
    let stack: Vec<String> = recording
        .frames_of(from)
        .filter(|frame| frame::cut_reason(frame.name()).is_none())
        .take(SHOWN)
        .map(line_of)
        .collect();
    Some(Place {
        method: line_of(recording.frames_of(from).next()?),
        stack,
        share: sum / all.max(1.0),
        samples,
        of_what_stays: near || !of_jdk,
        class: class.to_owned(),
    })
}

impl Wanted<'_> {
    /// The owners that are on some of the stacks and not on nearly all, a bit each.
    fn distinguishing(&self, matched: &[(Match, f64, bool)]) -> u64 {
        let on = |bit: &usize| matched.iter().filter(|(found, ..)| found.owners >> bit & 1 == 1).count();
        let is_rare = |bit: &usize| on(bit) as f64 <= EVERYWHERE * matched.len() as f64;
        (0..self.owners.len()).filter(is_rare).map(|bit| 1 << bit).fold(0, |all, bit| all | bit)
    }

    /// Whether a stack allocates what is wanted, and where.
    fn on(&self, recording: &Recording, stack: StackId) -> Option<Match> {
        let mut is_it = false;
        let mut place: Option<Match> = None;
        let mut owners = 0;
        let mut inner: Option<(StackId, FrameId)> = None;
        for (at, frame) in recording.frames_of(stack).take(DEEPEST).enumerate() {
            let called = frame.name();
            // What allocates puts the class where the innermost frame is.
            if at == 0 && frame.frame_type() == FrameType::Unknown && frame.line() < 0 {
                is_it |= called == self.class;
                continue;
            }
            if self.makers.iter().flatten().any(|maker| maker == called) {
                (is_it, place) = (true, None);
                continue;
            }
            let java = !matches!(frame.frame_type(), FrameType::Native | FrameType::Jvm | FrameType::Kernel);
            inner = inner.or(java.then_some((frame.stack(), frame.id())));
            for (bit, owner) in self.owners.iter().enumerate() {
                owners |= u64::from(called.starts_with(owner.as_str())) << bit;
            }
            if place.is_none() && java && !is_of_jdk(called) {
                place = Some(Match { from: frame.stack(), frame: frame.id(), owners: 0 });
            }
        }
        let place = place.or(inner.map(|(from, frame)| Match { from, frame, owners: 0 }));
        place.filter(|_| is_it).map(|place| Match { owners, ..place })
    }
}

fn line_of(frame: StackFrame<'_>) -> String {
    match frame.line() {
        ..=0 => frame.name().to_owned(),
        line => format!("{}:{line}", frame.name()),
    }
}
