//! Lanes of spans: one entry of [`SPECS`] each; kinds of spans that none of them names get a lane
//! of their own.

mod specs;

use std::collections::HashMap;

use fathom_diagnose::Category;
use fathom_diagnose::thread_ledger::Weight;
use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{ProcessId, Span};

use super::families::title;
use super::{Builder, Lane, Named, SpanLane};
pub(super) use specs::SPECS;

/// What a lane shows.
pub(super) struct Spec {
    /// Kinds of spans on it.
    kinds: &'static [&'static str],
    title: &'static str,
    /// Names of the classes that colour and height distinguish.
    classes: &'static [&'static str],
    /// Which of them a span belongs to.
    class: fn(&Span<'_>) -> usize,
    /// Whether classes are what a thread waited for, by its stack, in place of `classes`.
    by_cause: bool,
    /// Whether spans lie on a row for each thread.
    by_thread: bool,
    /// Values in nanoseconds that follow one another within a span.
    parts: &'static [(&'static str, &'static str)],
    /// Values for the details: key, name, unit.
    facts: &'static [(&'static str, &'static str, &'static str)],
    /// Labels for the details: word, name.
    labels: &'static [(&'static str, &'static str)],
}

/// A lane with one class and nothing to add; the start of the others.
const PLAIN: Spec = Spec {
    kinds: &[],
    title: "",
    classes: &[""],
    class: |_| 0,
    by_cause: false,
    by_thread: false,
    parts: &[],
    facts: &[],
    labels: &[(label::CAUSE, "cause"), (label::REASON, "reason"), (label::CUT, "cut off")],
};

/// Kinds that other lanes show in another form: a run is the whole width, a mark a line over all
/// lanes, a nested collection part of its pause, the queue and the installations are counted in
/// lines, that a thread was watched is not something that it did, and what is in a heap dump has no
/// time but the dump's.
const NOT_DRAWN: [&str; 8] = [
    kind::RUN,
    kind::MARK,
    kind::HEAP_HOLDER,
    kind::HEAP_DIRECT,
    kind::GC_NESTED,
    kind::JIT_QUEUE,
    kind::JIT_INSTALL,
    kind::SCHED_WATCHED,
];

/// Labels and values of a track: more than any kind of record has; a file could name millions.
const MAX_WORDS: usize = 24;

/// Rows of threads in a lane, those with most time on it; the last row takes all others.
const MAX_ROWS: usize = 16;
/// Parts of a lane's time, to see which threads' waits change.
const PARTS: i64 = 24;

/// Of kinds of spans that have no lane above: what a new collector writes shows without a line
/// here.
const UNKNOWN: Spec = Spec { by_thread: true, ..PLAIN };

/// Index of the spec before which the compiler's lines stand.
const COMPILER_THREADS: usize = 4;

impl<'a> Builder<'a, '_> {
    /// All lanes of spans of processes that have something on them, with the compiler's activity of
    /// a single one between.
    pub(super) fn span_lanes(&mut self, processes: &[ProcessId]) -> Vec<Lane> {
        let mut lanes = Vec::new();
        for (i, spec) in SPECS.iter().enumerate() {
            if let ([process], COMPILER_THREADS) = (processes, i) {
                lanes.extend(self.compile_lanes(*process));
            }
            lanes.extend(self.span_lane(processes, spec, spec.kinds, spec.title));
        }
        let recording = self.recording;
        for (kind, _) in recording.kinds() {
            let known = SPECS.iter().any(|s| s.kinds.contains(&kind)) || NOT_DRAWN.contains(&kind);
            if !known {
                lanes.extend(self.span_lane(processes, &UNKNOWN, &[kind], &title(kind, "")));
            }
        }
        lanes
    }

    fn span_lane(
        &mut self,
        processes: &[ProcessId],
        spec: &Spec,
        kinds: &[&str],
        title: &str,
    ) -> Option<Lane> {
        let mut spans: Vec<Span<'a>> = kinds.iter().flat_map(|k| self.spans_of(k, processes)).collect();
        let total = spans.len();
        if total == 0 {
            return None;
        }
        let mut note = String::new();
        if total > self.max_spans {
            // Waiting for work is what most long waits are, and what nobody asks about.
            let size = |s: &Span<'_>| {
                let idle = spec.by_cause && self.causes.category(s).is_idle();
                std::cmp::Reverse(if idle { s.duration_ns() / 1_000 } else { s.duration_ns() })
            };
            spans.select_nth_unstable_by_key(self.max_spans, size);
            spans.truncate(self.max_spans);
            note = format!("the {} longest of {total} are drawn", self.max_spans);
        }
        spans.sort_by_key(Span::t0_ns);
        let (classes, class_of) = self.classes(&spans, spec);
        let (rows, row_of) = self.rows(&spans, spec, processes.len() > 1);
        let names: Vec<u64> = spans.iter().map(|s| self.string(s.name())).collect();
        let labels = self.labels(&spans, spec);
        let parts: Vec<Named> =
            spec.parts.iter().filter_map(|(word, name)| self.figure(&spans, word, name, "ns")).collect();
        let facts = self.facts(&spans, spec);
        let stacks: Vec<u64> = spans.iter().map(|s| u64::from(self.stacks.node(s.stack()))).collect();
        let threads: Vec<u64> = spans.iter().map(|s| u64::from(self.threads.number(s.thread()))).collect();
        let origin = self.origin_ns;
        let columns = &mut self.columns;
        let of = match processes {
            [process] => format!("p{}", process.index()),
            _ => "others".into(),
        };
        Some(Lane::Spans(SpanLane {
            id: format!("{of}-{}", kinds.first().unwrap_or(&"")),
            title: title.into(),
            note,
            classes,
            rows,
            t0: columns.delta(spans.iter().map(|s| s.t0_ns().saturating_sub(origin))),
            duration: columns.small(spans.iter().map(|s| rounded_ns(s.duration_ns().max(0) as u64))),
            cls: columns.small(class_of.into_iter()),
            row: columns.small(row_of.into_iter()),
            name: columns.small(names.into_iter()),
            parts,
            facts,
            labels,
            source: columns.small(spans.iter().map(|s| s.source().index() as u64)),
            line: columns.delta(spans.iter().map(|s| s.line() as i64)),
            stack: stacks.iter().any(|n| *n > 0).then(|| columns.small(stacks.into_iter())),
            thread: threads.iter().any(|n| *n > 0).then(|| columns.small(threads.into_iter())),
        }))
    }

    /// The classes that any of the spans is of, and which each is of.
    fn classes(&self, spans: &[Span<'_>], spec: &Spec) -> (Vec<String>, Vec<u64>) {
        let all: Vec<&str> = match spec.by_cause {
            true => Category::ALL.iter().map(|category| category.words()).collect(),
            false => spec.classes.to_vec(),
        };
        let place = |s: &Span<'_>| match spec.by_cause {
            true => Category::ALL.iter().position(|h| *h == self.causes.category(s)).unwrap_or(0),
            false => (spec.class)(s),
        };
        let of: Vec<usize> = spans.iter().map(place).collect();
        let mut places = vec![None; all.len()];
        of.iter().for_each(|class| places[*class] = Some(0_u64));
        let mut classes = Vec::new();
        for (place, name) in places.iter_mut().zip(all).filter(|(place, _)| place.is_some()) {
            *place = Some(classes.len() as u64);
            classes.push(name.to_owned());
        }
        (classes, of.into_iter().map(|class| places[class].unwrap_or(0)).collect())
    }

    /// The labels that any of the spans has: those that the lane knows, then all others.
    fn labels(&mut self, spans: &[Span<'a>], spec: &Spec) -> Vec<Named> {
        let mut words: Vec<(&str, String)> =
            spec.labels.iter().map(|(word, name)| (*word, (*name).to_owned())).collect();
        let known = |word: &str, words: &[(&str, String)]| words.iter().any(|(w, _)| *w == word);
        for (word, _) in spans.iter().flat_map(Span::labels) {
            if !known(word, &words) && words.len() < MAX_WORDS {
                words.push((word, crate::names::short(word)));
            }
        }
        let mut labels = Vec::new();
        for (word, name) in words {
            // One too high, so that 0 can mean none.
            let values: Vec<u64> =
                spans.iter().map(|s| s.label(word).map_or(0, |text| self.string(text) + 1)).collect();
            if values.iter().any(|v| *v > 0) {
                labels.push(Named { name, unit: "", values: self.columns.small(values.into_iter()) });
            }
        }
        labels
    }

    /// The values that the track knows; for kinds of spans that have no track of their own all that
    /// there are.
    fn facts(&mut self, spans: &[Span<'a>], spec: &Spec) -> Vec<Named> {
        let mut words: Vec<(&str, &str, &'static str)> = spec.facts.to_vec();
        if spec.facts.is_empty() && spec.parts.is_empty() {
            for (word, _) in spans.iter().flat_map(Span::figures) {
                if !words.iter().any(|(w, ..)| *w == word) && words.len() < MAX_WORDS {
                    let (name, unit) = named(word);
                    words.push((word, name, unit));
                }
            }
        }
        words.into_iter().filter_map(|(word, name, unit)| self.figure(spans, word, name, unit)).collect()
    }

    /// A column of a value, when any of the spans has it.
    fn figure(&mut self, spans: &[Span<'_>], word: &str, name: &str, unit: &'static str) -> Option<Named> {
        let values: Vec<f64> = spans.iter().map(|s| s.figure(word).unwrap_or(f64::NAN)).collect();
        let seen = values.iter().any(|v| !v.is_nan());
        seen.then(|| Named {
            name: crate::names::short(name),
            unit,
            values: self.columns.figures(values.into_iter()),
        })
    }

    /// What rows rank by: the time of their spans, but waits that may be want of work by how much
    /// they change over the run.
    fn weights(
        &self,
        spans: &[Span<'_>],
        spec: &Spec,
        key: impl Fn(&Span<'_>) -> Option<usize>,
    ) -> HashMap<Option<usize>, i64> {
        let first = spans.iter().map(Span::t0_ns).min().unwrap_or(0);
        let last = spans.iter().map(Span::t1_ns).max().unwrap_or(0);
        let step = (last.saturating_sub(first) / PARTS).max(1);
        let mut weights: HashMap<Option<usize>, Weight> = HashMap::new();
        for span in spans {
            let weight = weights.entry(key(span));
            let weight = weight.or_insert_with(|| Weight::of((0..PARTS).map(|_| step as f64)));
            let category = match span.kind() {
                _ if spec.by_cause => self.causes.category(span),
                kind::SYSCALL => Category::Blocked,
                _ => Category::Monitor,
            };
            weight.add(usize::MAX, category, 1.0);
            let (mut at, end) = (span.t0_ns(), span.t1_ns());
            while at < end {
                let part = (at.saturating_sub(first) / step).clamp(0, PARTS - 1);
                let next =
                    if part + 1 == PARTS { end } else { first.saturating_add((part + 1) * step).min(end) };
                weight.add(part as usize, category, next.saturating_sub(at) as f64);
                at = next;
            }
        }
        weights.into_iter().map(|(key, weight)| (key, weight.value() as i64)).collect()
    }

    /// Names of the rows, and the row of each span: of processes where there are several, else of
    /// threads.
    fn rows(&self, spans: &[Span<'_>], spec: &Spec, by_process: bool) -> (Vec<String>, Vec<u64>) {
        let key = |s: &Span<'_>| match by_process {
            true => Some(s.process().index()),
            false => s.thread().map(|t| t.index()),
        };
        let is_of_threads = spans.iter().any(|s| s.thread().is_some() && s.duration_ns() > 0);
        if !by_process && !(spec.by_thread && (is_of_threads || !spec.kinds.is_empty())) {
            return (vec![String::new()], vec![0; spans.len()]);
        }
        let weights = self.weights(spans, spec, key);
        let mut keys: Vec<Option<usize>> = weights.keys().copied().collect();
        let others = (keys.len() > MAX_ROWS).then(|| keys.len() - MAX_ROWS + 1);
        keys.sort_unstable_by_key(|key| (std::cmp::Reverse(weights[key]), *key));
        keys.truncate(if others.is_some() { MAX_ROWS - 1 } else { MAX_ROWS });
        let recording = self.recording;
        let name = |key: &Option<usize>| match key {
            Some(id) if by_process => {
                let id = ProcessId(*id as u32);
                crate::names::name_of(recording, id)
            }
            Some(id) => crate::samples::thread_name(recording, fathom_recording::ThreadId(*id as u32)),
            None => "unknown thread".into(),
        };
        let mut named: Vec<(String, Option<usize>)> = keys.iter().map(|key| (name(key), *key)).collect();
        named.sort_unstable();
        let place: HashMap<Option<usize>, u64> =
            named.iter().enumerate().map(|(row, (_, key))| (*key, row as u64)).collect();
        let mut names: Vec<String> = named.into_iter().map(|(name, _)| name).collect();
        let last = names.len() as u64;
        names.extend(
            others.map(|n| format!("{n} other {}", if by_process { "processes" } else { "threads" })),
        );
        let row_of = spans.iter().map(|s| place.get(&key(s)).copied().unwrap_or(last)).collect();
        (names, row_of)
    }
}

/// The nearest number of 14 significant bits, four digits: three are shown, and the others are a
/// fifth of the page.
fn rounded_ns(ns: u64) -> u64 {
    let left_out = (u64::BITS - ns.leading_zeros()).saturating_sub(14);
    if left_out == 0 { ns } else { (ns.saturating_add(1 << (left_out - 1)) >> left_out) << left_out }
}

/// A value's key as a name and a unit: keys carry their unit at the end.
fn named(word: &str) -> (&str, &'static str) {
    for (ending, unit) in [("_bytes", "bytes"), ("_ns", "ns"), ("_ms", "ms"), ("_s", "s")] {
        if let Some(name) = word.strip_suffix(ending).filter(|name| !name.is_empty()) {
            return (name, unit);
        }
    }
    (word, if word == figure::BYTES { "bytes" } else { "" })
}

fn gc_class(span: &Span<'_>) -> usize {
    let name = span.name();
    let has = |word: &str| name.contains(word);
    if span.figure(figure::FULL).is_some_and(|f| f > 0.0) || has("Full") {
        2
    } else if has("Mixed") || has("mixed") {
        1
    } else if ["Young", "young", "Minor", "ParNew", "DefNew", "PSYoungGen"].into_iter().any(has)
        || name == "GC"
    {
        0
    } else {
        3
    }
}

/// The class of a compilation: C1, C2 or unknown.
pub(super) fn compiler(span: &Span<'_>) -> usize {
    match (span.label(label::COMPILER), span.figure(figure::TIER)) {
        (Some("c1"), _) => 0,
        (Some("c2" | "jvmci"), _) => 1,
        (_, Some(tier)) if (1.0..4.0).contains(&tier) => 0,
        (_, Some(tier)) if tier >= 4.0 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_four_digits_and_short_ones_all() {
        for ns in [0, 1, 16_383, 123_456_789, 9_999_999_999_999, u64::MAX] {
            let off = rounded_ns(ns).abs_diff(ns) as f64 / ns.max(1) as f64;
            assert!(off < 1e-4, "{ns}");
        }
        assert_eq!(rounded_ns(16_383), 16_383);
    }
}
