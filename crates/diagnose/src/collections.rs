//! A JVM's collections as rules and metrics ask for them: what kind of pause it was, what it
//! collected, how much CPU it got.
//!
//! One place for these answers, so that `fathom gc` and the verdict never count differently.

mod live_points;

use std::collections::{HashMap, HashSet};

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{ProcessId, Recording, Span, SpanId, StrId};

use crate::Window;

pub use live_points::{LivePoint, live_estimate, live_points, live_points_of};

/// Pauses shorter than this have CPU times too coarse to divide by: the log prints them in steps
/// of 10 ms, so that at 50 ms the error is a fifth.
pub const CPU_MIN_REAL_S: f64 = 0.05;

/// A stop-the-world collection, outermost.
#[derive(Clone, Copy)]
pub struct Pause<'a> {
    /// Its span.
    pub span: Span<'a>,
    called: Called,
    /// Whether a collection labelled "Full" is nested in it.
    nested_full: bool,
    /// Whether the log says that it collected the old generation, by its name or otherwise.
    collected_old: bool,
    // What every rule asks of every pause is looked up once.
    cause: Option<&'a str>,
    cpu: Option<Cpu>,
}

/// What the name of a pause says. A long log has few names and many pauses, so each name is read
/// once.
#[derive(Clone, Copy)]
struct Called {
    full: bool,
    mixed: bool,
    young: bool,
    prepares_mixed: bool,
    cleanup: bool,
    /// Whether it is a young collection whose name says no more than that, as of a JVM that was
    /// watched from outside: a mixed one is called so, too.
    unnamed: bool,
}

impl Called {
    fn of(name: &str) -> Self {
        let mixed = name.contains("Mixed") || name.contains("(mixed)");
        Self {
            full: name.contains("Full"),
            mixed,
            young: name.contains("Young")
                || name.contains("young")
                || name == "GC"
                || name.starts_with("GC ("),
            prepares_mixed: mixed || name.contains("Prepare Mixed"),
            cleanup: name.contains("leanup"),
            unnamed: name == "Pause Young",
        }
    }
}

impl<'a> Pause<'a> {
    /// Length in milliseconds, as the log prints it.
    pub fn ms(&self) -> f64 {
        self.span.duration_ns() as f64 / 1e6
    }

    /// The cause that the log names: "G1 Evacuation Pause".
    pub fn cause(&self) -> Option<&'a str> {
        self.cause
    }

    /// Whether the log calls it, or a collection nested in it, a full one. One stop is one full
    /// collection.
    pub fn labelled_full(&self) -> bool {
        self.nested_full || self.called.full
    }

    /// Whether it collected the old generation as a whole, labelled so or not: a concurrent mode
    /// failure of CMS or a failed promotion carries no label and is the same work.
    pub fn collected_old(&self) -> bool {
        self.collected_old
    }

    /// Whether it is a young collection that took old regions with it (G1).
    pub fn is_mixed(&self) -> bool {
        self.called.mixed
    }

    /// Whether its name does not say what kind of young collection it is, and the old generation
    /// was smaller after it: where a cycle has just ended, a mixed one.
    fn is_mixed_unnamed(&self) -> bool {
        self.called.unnamed && self.is_young() && self.old_growth_bytes().is_some_and(|grown| grown < 0.0)
    }

    /// Whether it evacuated the young generation and left the old one alone.
    pub fn is_young(&self) -> bool {
        !self.collected_old() && self.called.young
    }

    /// A value that says yes or no.
    pub fn flag(&self, key: &str) -> bool {
        self.span.figure(key).is_some_and(|v| v > 0.0)
    }

    /// CPU seconds and wall seconds as its CPU line prints them.
    pub fn cpu(&self) -> Option<Cpu> {
        self.cpu
    }

    /// What the old generation grew by, bytes; negative when it shrank. Old values where the log
    /// prints them, else heap less young.
    pub fn old_growth_bytes(&self) -> Option<f64> {
        old_growth_bytes(|n| self.span.figure(SIZES[n]))
    }

    /// What it freed in all, bytes.
    pub fn freed_bytes(&self) -> Option<f64> {
        Some(self.span.figure(figure::HEAP_BEFORE_BYTES)? - self.span.figure(figure::HEAP_AFTER_BYTES)?)
    }
}

/// The values that show what the old generation grew by.
const SIZES: [&str; 6] = [
    figure::OLD_BEFORE_BYTES,
    figure::OLD_AFTER_BYTES,
    figure::HEAP_BEFORE_BYTES,
    figure::YOUNG_BEFORE_BYTES,
    figure::HEAP_AFTER_BYTES,
    figure::YOUNG_AFTER_BYTES,
];

/// What the old generation grew by, of which `size` gives the values of [`SIZES`].
fn old_growth_bytes(size: impl Fn(usize) -> Option<f64>) -> Option<f64> {
    if let (Some(before), Some(after)) = (size(0), size(1)) {
        return Some(after - before);
    }
    let before = size(2)? - size(3)?;
    let after = size(4)? - size(5)?;
    Some(after - before)
}

/// Gives [`Pause::old_growth_bytes`] of this recording's spans. For loops over many.
pub fn old_growth_of(recording: &Recording) -> impl Fn(&Span<'_>) -> Option<f64> + Copy + use<> {
    let sizes = SIZES.map(|key| recording.figure_of(key));
    move |span| old_growth_bytes(|n| sizes[n](span))
}

/// The CPU time of one pause or of several added up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// In user mode, seconds.
    pub user_s: f64,
    /// In kernel mode, seconds.
    pub sys_s: f64,
    /// By the clock on the wall, seconds.
    pub real_s: f64,
    /// Worker threads, where the log names them.
    pub workers: Option<f64>,
}

impl Cpu {
    /// Of the pauses of a recording.
    fn of(recording: &Recording) -> impl Fn(&Span<'_>) -> Option<Self> + use<> {
        let keys = [figure::USER_S, figure::SYS_S, figure::REAL_S, figure::WORKERS];
        let [user_s, sys_s, real_s, workers] = keys.map(|key| recording.figure_of(key));
        move |pause| {
            Some(Self {
                user_s: user_s(pause)?,
                sys_s: sys_s(pause)?,
                real_s: real_s(pause).unwrap_or(pause.duration_ns() as f64 / 1e9),
                workers: workers(pause).filter(|w| *w >= 1.0),
            })
        }
    }

    /// User and kernel mode together, seconds.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.sys_s
    }
}

/// The CPU time of the pauses that are long enough to have meaningful values, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Worked {
    /// How many pauses.
    pub pauses: usize,
    /// Their CPU time.
    pub cpu: Cpu,
    /// CPU ÷ (wall × workers) over those of which the log has the number of workers; `None` where
    /// that is not most of them, or the value cannot be right.
    pub efficiency: Option<f64>,
}

/// More than this share of what the workers could use cannot be: the number of workers is another
/// one. Times come in steps of 10 ms, which may add up to a twentieth.
const MOST_EFFICIENT: f64 = 1.05;

impl Worked {
    /// Of pauses of [`CPU_MIN_REAL_S`] or more; `None` without any that has values.
    pub fn of<'p, 'a: 'p>(pauses: impl Iterator<Item = &'p Pause<'a>>) -> Option<Self> {
        let mut worked = Self::default();
        let (mut known_s, mut of_known_s, mut possible_s) = (0.0, 0.0, 0.0);
        for cpu in pauses.filter_map(Pause::cpu).filter(|cpu| cpu.real_s >= CPU_MIN_REAL_S) {
            worked.pauses += 1;
            worked.cpu.user_s += cpu.user_s;
            worked.cpu.sys_s += cpu.sys_s;
            worked.cpu.real_s += cpu.real_s;
            if let Some(workers) = cpu.workers {
                known_s += cpu.real_s;
                of_known_s += cpu.cpu_s();
                possible_s += cpu.real_s * workers;
            }
        }
        let known = known_s * 2.0 > worked.cpu.real_s && possible_s > 0.0;
        worked.efficiency = known.then(|| of_known_s / possible_s).filter(|share| *share <= MOST_EFFICIENT);
        (worked.pauses > 0).then_some(worked)
    }
}

/// Outermost pauses of a JVM in order of start; those that overlap `window` when one is given.
pub fn pauses<'a>(recording: &'a Recording, jvm: ProcessId, window: Option<Window>) -> Vec<Pause<'a>> {
    let with_full: HashSet<SpanId> = recording
        .spans_of(kind::GC_NESTED)
        .filter(|nested| nested.process() == jvm && nested.name().contains("Full"))
        .filter_map(|nested| nested.parent())
        .collect();
    let full = recording.figure_of(figure::FULL);
    let (cause, cpu) = (recording.label_of(label::CAUSE), Cpu::of(recording));
    let mut names: HashMap<StrId, Called> = HashMap::new();
    let mut last: Option<(StrId, Called)> = None;
    of_kind(recording, kind::GC_PAUSE, jvm, window)
        .map(|span| {
            let name = span.name_id();
            let called = match last {
                Some((same, called)) if same == name => called,
                _ => *names.entry(name).or_insert_with(|| Called::of(span.name())),
            };
            last = Some((name, called));
            let nested_full = with_full.contains(&span.id);
            let collected_old = nested_full || called.full || full(&span).is_some_and(|v| v > 0.0);
            let cause = cause(&span).map(|cause| recording.strings.get(cause));
            Pause { span, called, nested_full, collected_old, cause, cpu: cpu(&span) }
        })
        .collect()
}

/// Pauses of a JVM whose records are truncated, so far as they name a failure or are full: their
/// length is not known, and they are in no sum.
pub fn cut_off(recording: &Recording, jvm: ProcessId) -> Vec<Pause<'_>> {
    let cpu = Cpu::of(recording);
    of_kind(recording, kind::GC_CUT, jvm, None)
        .map(|span| {
            let called = Called::of(span.name());
            let collected_old = called.full || span.figure(figure::FULL).is_some_and(|v| v > 0.0);
            let cause = span.label(label::CAUSE);
            Pause { span, called, nested_full: false, collected_old, cause, cpu: cpu(&span) }
        })
        .collect()
}

/// Spans of a kind and JVM in order of start; those that touch `window` when one is given.
pub fn of_kind<'a>(
    recording: &'a Recording,
    kind: &'static str,
    jvm: ProcessId,
    window: Option<Window>,
) -> impl Iterator<Item = Span<'a>> {
    recording.spans_of(kind).filter(move |span| span.process() == jvm && touches(span, window))
}

fn touches(span: &Span<'_>, window: Option<Window>) -> bool {
    window.is_none_or(|w| {
        span.overlap_ns(w.from_ns, w.to_ns) > 0
            || (span.t0_ns() == span.t1_ns() && (w.from_ns..w.to_ns).contains(&span.t0_ns()))
    })
}

/// Two lists that are in order of their start as one that is; of those that start at once, `a`'s
/// first.
pub fn in_order<T>(
    a: impl Iterator<Item = T>,
    b: impl Iterator<Item = T>,
    start_ns: impl Fn(&T) -> i64,
) -> impl Iterator<Item = T> {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    std::iter::from_fn(move || match (a.peek(), b.peek()) {
        (Some(first), Some(second)) if start_ns(second) < start_ns(first) => b.next(),
        (Some(_), _) => a.next(),
        (None, _) => b.next(),
    })
}

/// The interval that a JVM's spans of `kind` were logged over, nanoseconds: what the sources that
/// hold them cover. `None` without such spans or where the log has no timestamps.
pub fn logged_ns(recording: &Recording, kind: &'static str, jvm: ProcessId) -> Option<Window> {
    let mut sources: Vec<_> = Vec::new();
    let mut seen: Option<Window> = None;
    for span in of_kind(recording, kind, jvm, None) {
        if !sources.contains(&span.source()) {
            sources.push(span.source());
        }
        seen = Some(join(seen, span.t0_ns(), span.t1_ns()));
    }
    for run in of_kind(recording, fathom_recording::vocabulary::kind::RUN, jvm, None) {
        if sources.contains(&run.source()) {
            seen = Some(join(seen, run.t0_ns(), run.t1_ns()));
        }
    }
    seen.filter(|w| w.to_ns > w.from_ns)
}

fn join(window: Option<Window>, from_ns: i64, to_ns: i64) -> Window {
    window.map_or(Window { from_ns, to_ns }, |w| Window {
        from_ns: w.from_ns.min(from_ns),
        to_ns: w.to_ns.max(to_ns),
    })
}

/// Time covered by any of some intervals within a window, nanoseconds: overlaps count once.
pub fn covered_ns(mut ranges: Vec<(i64, i64)>, window: Window) -> i64 {
    ranges.sort_unstable();
    covered_in_order_ns(ranges.into_iter(), window)
}

/// The same of intervals that come in order of their start.
pub fn covered_in_order_ns(ranges: impl Iterator<Item = (i64, i64)>, window: Window) -> i64 {
    let mut covered = 0_i64;
    let mut reached = window.from_ns;
    for (from, to) in ranges {
        let (from, to) = (from.max(reached), to.min(window.to_ns));
        if to > from {
            covered = covered.saturating_add(to.saturating_sub(from));
            reached = to;
        }
    }
    covered
}

/// CPU times are printed in steps of 10 ms, user and system each rounded: what two of them may be
/// off, seconds.
const CPU_STEP_S: f64 = 0.02;

/// Where only the sum of the phases shows the gap, the whole pause must have used hardly any CPU:
/// work that no phase is printed for would have.
const IDLE_CPU_SHARE: f64 = 0.1;

/// Time within a pause in which nothing of the collection is known to have run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    pub(crate) ms: f64,
    /// Whether no CPU time was used in it.
    pub(crate) idle: bool,
    /// Whether something is known to have been at work in it, by CPU times or by phases that leave
    /// no room for it: without CPU times it is neither that nor idle.
    pub(crate) busy: bool,
    /// Whether it lies between two lines of the pause, and is not only what its phases leave over.
    pub(crate) between_lines: bool,
}

impl Pause<'_> {
    /// The gap within the pause: between its lines where they are stamped, else what its phases
    /// leave over.
    pub(crate) fn gap(&self) -> Option<Gap> {
        let beyond_ms = self.span.figure(figure::PHASES_SUM_MS).map(|sum| self.ms() - sum);
        let cpu = self.cpu();
        let cpu_s = cpu.map(|cpu| cpu.cpu_s());
        if let Some(gap) = self.span.figure(figure::IDLE_GAP_MS) {
            // All CPU time of the pause fits into the part of it that lies outside the gap. Of a
            // log that does not say how many workers, one: that can only understate how idle they
            // were.
            let workers = cpu.and_then(|cpu| cpu.workers).unwrap_or(1.0);
            let rest_s = (self.ms() - gap).max(0.0) / 1e3 * workers;
            let idle = cpu_s.is_some_and(|s| s <= rest_s + CPU_STEP_S);
            // Phases that add up to more than the rest of the pause were at work during the gap.
            let free = beyond_ms.is_none_or(|beyond| beyond >= 0.8 * gap);
            let busy = !free || (cpu_s.is_some() && !idle);
            return Some(Gap { ms: gap, idle: idle && free, busy, between_lines: true });
        }
        let ms = beyond_ms?;
        let idle = cpu_s.is_some_and(|s| s <= IDLE_CPU_SHARE * self.ms() / 1e3);
        Some(Gap { ms, idle, busy: cpu_s.is_some() && !idle, between_lines: false })
    }
}
