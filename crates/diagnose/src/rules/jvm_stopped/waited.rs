//! Stops in which the collector waited rather than worked, or had one CPU where it could use
//! several.

use fathom_recording::vocabulary::figure;

use super::WAITED;
use crate::collections::{self, Pause};
use crate::facts::{Metric, Value, pauses, remedies};
use crate::limits::LONG_MS;
use crate::{Fact, Remedy};

/// Full collections of a second and more go through a hundred megabytes of heap a second and more:
/// of 1,078 in public logs with their CPU time all but 9. Bytes a second below which the collector
/// waited rather than worked; of those logs 3 of 4 such collections used less than half a
/// CPU.
const SLOW_PACE: f64 = 20.0 * 1024.0 * 1024.0;
/// CPUs at work in a pause up to which it was one.
const ONE_CPU: f64 = 1.1;

/// Full collections that went through little of the heap a second, in a log without their CPU time.
pub(super) struct Pace<'p, 'a> {
    pauses: Vec<&'p Pause<'a>>,
    pub(super) ms: f64,
    bytes: f64,
}

pub(super) fn slow_pace<'p, 'a>(pauses: &'p [Pause<'a>]) -> Option<Pace<'p, 'a>> {
    let bytes = |p: &Pause<'_>| p.span.figure(figure::HEAP_BEFORE_BYTES);
    let crept = |p: &&Pause<'_>| {
        let full = p.collected_old() && p.ms() >= LONG_MS && p.cpu().is_none();
        full && bytes(p).is_some_and(|bytes| bytes < SLOW_PACE * p.ms() / 1e3)
    };
    let pauses: Vec<&Pause<'_>> = pauses.iter().filter(crept).collect();
    let ms = pauses.iter().map(|p| p.ms()).sum();
    let bytes = pauses.iter().filter_map(|p| bytes(p)).sum();
    (!pauses.is_empty()).then_some(Pace { pauses, ms, bytes })
}

impl Pace<'_, '_> {
    pub(super) fn bytes_a_second(&self) -> f64 {
        self.bytes / (self.ms / 1e3)
    }

    pub(super) fn fact(&self) -> Fact {
        let fact = pauses::PACE.is(Value::bytes(self.bytes_a_second()));
        let fact = fact.with("collections", Value::count(self.pauses.len()));
        fact.with("heap", Value::bytes(self.bytes)).with("paused", Value::ms(self.ms))
    }
}

/// Pauses of CMS whose work is parallel, and what runs on one CPU there nevertheless.
struct Mark {
    /// As the log has it.
    name: &'static str,
    words: (&'static str, &'static str),
    why: &'static str,
    /// What is done about it.
    remedy: &'static Metric,
}

const MARKS: [Mark; 2] = [
    Mark {
        name: "CMS-remark",
        words: ("remark", "remarks"),
        why: "references, class unloading and the cleaning of tables are the work of a single thread unless a flag says otherwise",
        remedy: &remedies::PARALLEL_REMARK,
    },
    Mark {
        name: "CMS-initial-mark",
        words: ("initial mark", "initial marks"),
        why: "it looks at the whole young generation, with a single thread before JDK 8 or without \
              -XX:+CMSParallelInitialMarkEnabled",
        remedy: &remedies::PARALLEL_INITIAL_MARK,
    },
];

/// What is said of pauses of CMS that ran on one CPU, and what to do about it.
pub(super) struct OnOneCpu {
    pub(super) fact: Fact,
    pub(super) remedy: Remedy,
}

/// Pauses of CMS, whose work is parallel but for some phases, that ran on one CPU, where they
/// are what matters.
pub(super) fn on_one_cpu(pauses: &[Pause<'_>]) -> Option<OnOneCpu> {
    MARKS.iter().find_map(|mark| {
        let marks: Vec<&Pause<'_>> = pauses.iter().filter(|p| p.span.name().contains(mark.name)).collect();
        let all: f64 = pauses.iter().map(Pause::ms).sum();
        if marks.iter().map(|p| p.ms()).sum::<f64>() * 2.0 < all {
            return None;
        }
        let seen = collections::Worked::of(marks.into_iter())?;
        let cpus = seen.cpu.cpu_s() / seen.cpu.real_s;
        (WAITED..=ONE_CPU).contains(&cpus).then(|| OnOneCpu {
            fact: pauses::ON_ONE_CPU
                .is(Value::seconds(seen.cpu.cpu_s()))
                .with("pauses", Value::count(seen.pauses))
                .with("mark", Value::name(if seen.pauses == 1 { mark.words.0 } else { mark.words.1 }))
                .with("paused", Value::seconds(seen.cpu.real_s))
                .with("why", Value::name(mark.why)),
            remedy: mark.remedy.remedy(),
        })
    })
}
