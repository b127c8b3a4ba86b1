//! Which kinds of samples and of spans with stacks a recording has.

use fathom_recording::vocabulary::sample;
use fathom_recording::{Recording, SpanId};
use rustc_hash::FxHashMap;

use super::waits::{self, WAITS};

/// What is drawn first where a recording has several: what ran, then what waited, then memory.
const ORDER: [&str; 11] = [
    sample::CPU,
    sample::CYCLES,
    sample::WALL,
    WAITS,
    sample::OFF_CPU,
    sample::LOCK,
    sample::ALLOC,
    sample::LIVE,
    sample::MALLOC,
    sample::PAGE_FAULT,
    sample::EVENT,
];

/// A kind of sample, or of span, that has stacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindOfStacks {
    /// Its word.
    pub name: String,
    /// Unit of its weights: "ns", "bytes", "cycles", "count".
    pub unit: &'static str,
    /// How many samples or spans there are.
    pub rows: usize,
    /// Whether it is a kind of span.
    pub of_spans: bool,
}

/// All kinds that have stacks: samples and waits in the order in which they are drawn, then spans
/// by name.
pub fn kinds(recording: &Recording) -> Vec<KindOfStacks> {
    let place = |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
    let samples = recording.sample_kinds();
    let mut found: Vec<KindOfStacks> = samples
        .iter()
        .map(|(name, rows)| KindOfStacks {
            name: (*name).to_owned(),
            unit: sample::unit(name),
            rows: *rows,
            of_spans: false,
        })
        .collect();
    let waits = waits::count(recording);
    if waits > 0 {
        // Its parts are left out: each says less than the whole, and together they would count
        // twice.
        found.retain(|kind| !waits::is_part(&kind.name));
        found.push(KindOfStacks { name: WAITS.into(), unit: "ns", rows: waits, of_spans: true });
    }
    found.sort_by(|a, b| place(&a.name).cmp(&place(&b.name)).then_with(|| a.name.cmp(&b.name)));
    let mut spans: FxHashMap<&str, usize> = FxHashMap::default();
    for i in 0..recording.spans.len() {
        let span = recording.span_at(SpanId(i as u32));
        if !(waits > 0 && waits::is_part(span.kind()))
            && span.stack().is_some()
            && span.t1_ns() > span.t0_ns()
        {
            *spans.entry(span.kind()).or_default() += 1;
        }
    }
    let mut spans: Vec<_> = spans.into_iter().collect();
    spans.sort_unstable();
    let of_spans = spans.into_iter().filter(|(name, _)| !samples.iter().any(|(known, _)| known == name));
    found.extend(of_spans.map(|(name, rows)| KindOfStacks {
        name: name.to_owned(),
        unit: "ns",
        rows,
        of_spans: true,
    }));
    found
}
