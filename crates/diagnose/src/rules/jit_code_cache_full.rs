//! `jit-code-cache-full`: no room for compiled code, so hot methods stay interpreted or are
//! compiled again and again.

use fathom_recording::vocabulary::{fact, figure, kind, label};
use fathom_recording::{ProcessId, Span};

use super::jit_case::JitCase;
use crate::confidence::Ground;
use crate::facts::{
    Metric, Value, checks, compile, culprits, meanings, reasons, remedies, scope, switch_on, titles,
};
use crate::intervals::Intervals;
use crate::{BlindSpot, Case, Evidence, Fact, Finding, Judgement, Layer, Rule, Window, stats};

/// So many events of a full code cache are not an accident of one large compilation.
const MIN_EVENTS: usize = 3;
/// The sweeper (JDK ≤ 19), and a collection to unload code (JDK ≥ 20), run every few minutes where
/// there is room. More than one a second …
const SWEEPS_PER_S: f64 = 1.0;
/// … over ten seconds is a storm, nanoseconds. Measured with a cache too small, no warning either
/// time: 205 sweeps in 22 s on JDK 17, 22 collections in 24 s on JDK 25, eleven of them within ten.
const STORM_NS: i64 = 10_000_000_000;
/// Compilations that failed for lack of code cache or of a compiler.
const GAVE_UP: [&str; 2] = ["CodeCache is full", "compilation is disabled"];
/// Records cited.
const CITED: usize = 3;

/// See the module.
pub(crate) struct JitCodeCacheFull;

impl Rule for JitCodeCacheFull {
    fn id(&self) -> &'static str {
        "jit-code-cache-full"
    }

    fn layer(&self) -> Layer {
        Layer::Jit
    }

    fn about(&self) -> &'static str {
        "Compiled code lives in a code cache of fixed size. When it (or its segment) is full the JVM stops compiling, \
         or throws code away to make room and compiles it again when it is called: hot methods run interpreted.\n\n\
         **Evidence.** The JVM says that the compiler has been disabled; or the cache was full three times or more; or \
         the sweeper (JDK 19 and older), or collections with cause `CodeCache GC Threshold` or `CodeCache GC \
         Aggressive` (JDK 20 and later), ran more than once a second for ten seconds. Failed compilations for lack of \
         room are listed with it.\n\n\
         **Cost.** What was lost from the first such time on; an upper bound, because logs do not show which code \
         ran interpreted.\n\n\
         **Confounders.** Slow code with a long compile queue is `jit-compile-burst`: here the queue is empty, because \
         nothing more is asked for. Code thrown away for a wrong assumption is `jit-deopt-loop`.\n\n\
         **Needs** a LogCompilation file, or the JVM's own warning in its log (`-Xlog:codecache` or standard output)."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Compilations]
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let seen = Seen::of(case, jvm);
        let jit = JitCase::read(case, jvm);
        let Some(begin) = seen.begin() else {
            if jit.tasks.is_empty() && seen.full.is_empty() && seen.sweeps.is_empty() {
                return Judgement::Inconclusive(BlindSpot {
                    what: scope::COMPILATIONS.is(Value::name(case.jvm_name(jvm))).into(),
                    rules: vec![self.id().to_owned()],
                    remedy: switch_on::JIT_LOG.fact().into(),
                });
            }
            let hardly = compile::CACHE_HARDLY.is(Value::count(seen.collections.len()));
            let hardly = hardly.with("full", Value::count(seen.full.len()));
            return jit.ruled_out(hardly.with("sweeps", Value::count(seen.sweeps.len())));
        };
        let to_ns = case.slow.iter().map(|w| w.to_ns).max().unwrap_or(begin);
        let after = Intervals::of([(begin, to_ns)]).and(&Intervals::of_windows(&case.slow));
        let cost_ms = case
            .lost_during_ms(&after)
            .unwrap_or_else(|| if case.loss.lost_ms > 0.0 { 0.0 } else { after.length_ms() });
        if !case.matters(cost_ms) {
            let lost = compile::CACHE_LOST.is(Value::ms(cost_ms));
            return jit.ruled_out(lost.with("full", Value::count(seen.full.len())));
        }
        Judgement::Found(Box::new(found(self, case, jvm, &seen, &after, cost_ms)))
    }
}

/// What the logs say of a full code cache.
struct Seen<'a> {
    full: Vec<Span<'a>>,
    disabled: Option<Span<'a>>,
    sweeps: Vec<Span<'a>>,
    gave_up: Vec<Span<'a>>,
    /// Collections for the code cache's sake.
    collections: Vec<Span<'a>>,
}

impl<'a> Seen<'a> {
    fn of(case: &Case<'a>, jvm: ProcessId) -> Self {
        let own = |kind: &'static str| case.recording.spans_of(kind).filter(move |s| s.process() == jvm);
        let full: Vec<Span<'a>> = own(kind::JIT_CODE_CACHE_FULL).collect();
        let warned = own(kind::JVM_WARNING).find(|s| s.name().contains("Compiler has been disabled"));
        let disabled = full.iter().find(|s| s.figure(figure::COMPILER_DISABLED) == Some(1.0)).copied();
        let reason = |s: &Span<'_>| s.label(label::REASON).is_some_and(|r| GAVE_UP.contains(&r));
        let cause = |s: &Span<'_>| s.label(label::CAUSE).is_some_and(|c| c.starts_with("CodeCache GC"));
        Self {
            disabled: disabled.or(warned),
            sweeps: own(kind::JIT_SWEEP).collect(),
            gave_up: own(kind::JIT_FAILURE).filter(reason).collect(),
            collections: own(kind::GC_PAUSE).filter(cause).collect(),
            full,
        }
    }

    /// When it began to matter; `None` where it did not.
    fn begin(&self) -> Option<i64> {
        let full = self.full.first().filter(|_| self.full.len() >= MIN_EVENTS);
        let begins = [self.disabled.as_ref().map(Span::t0_ns), full.map(Span::t0_ns), self.storm()];
        begins.into_iter().flatten().min()
    }

    /// The first sweep, or collection for the code cache's sake, of ten seconds with more than one
    /// a second.
    fn storm(&self) -> Option<i64> {
        let enough = (SWEEPS_PER_S * STORM_NS as f64 / 1e9) as usize;
        let mut starts: Vec<i64> = self.sweeps.iter().chain(&self.collections).map(Span::t0_ns).collect();
        starts.sort_unstable();
        starts.windows(enough + 1).find(|w| w[enough].saturating_sub(w[0]) <= STORM_NS).map(|w| w[0])
    }
}

fn found(
    rule: &dyn Rule,
    case: &Case<'_>,
    jvm: ProcessId,
    seen: &Seen<'_>,
    after: &Intervals,
    cost_ms: f64,
) -> Finding {
    let is_half = case.share(cost_ms).is_some_and(|share| share >= 0.5);
    let (ground, why) = match (&seen.disabled, is_half) {
        (Some(_), true) => (Ground::Traces, &reasons::STOPPED_COMPILING),
        (Some(_), false) => (Ground::Traces, &reasons::STOPPED_COMPILING_COST),
        (None, _) => (Ground::Fits, &reasons::CODE_THROWN_AWAY),
    };
    let mut finding = case.finding(rule, jvm, ground.because(case, cost_ms, why), cost_ms);
    let title = if seen.disabled.is_some() { &titles::COMPILER_OFF } else { &titles::CODE_CACHE_FULL };
    finding.title = title.fact().into();
    finding.culprit = segments(seen).into();
    finding.meaning = meanings::NO_MORE_COMPILATION.fact().into();
    finding.evidence = evidence(case, jvm, seen);
    finding.windows = after.windows();
    finding.remedies = vec![
        remedies::LARGER_CODE_CACHE.remedy(),
        remedies::ONE_CODE_CACHE.remedy(),
        remedies::FLUSH_CODE_CACHE.remedy(),
    ];
    finding.verify = vec![checks::ROOM_IN_CODE_CACHE.fact().into()];
    finding
}

fn segments(seen: &Seen<'_>) -> Fact {
    let mut names: Vec<&str> = seen.full.iter().filter_map(|s| s.label(label::SEGMENT)).collect();
    names.sort_unstable();
    names.dedup();
    let named = (!names.is_empty()).then(|| Value::name(names.join(", ")));
    Fact { value: named, ..culprits::SEGMENTS.fact() }
}

fn evidence(case: &Case<'_>, jvm: ProcessId, seen: &Seen<'_>) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    evidence.extend(seen.disabled.as_ref().map(|s| Evidence::cited(s, compile::DISABLED.fact())));
    evidence.extend(seen.full.iter().take(CITED).map(|s| {
        let free = s.figure(figure::CODE_CACHE_FREE_BYTES).map(Value::bytes);
        Evidence::cited(s, Fact { value: free, ..compile::CACHE_FULL.fact() })
    }));
    let summed = |spans: &[Span<'_>], metric: &'static Metric| {
        spans.first().map(|first| {
            let source = case.recording.sources.get(first.source().index());
            Evidence::summed(source.map_or("", |s| &s.name), metric.is(Value::count(spans.len())))
                .at(first.t0_ns())
        })
    };
    evidence.extend(summed(&seen.full, &compile::CACHE_FULL_TIMES));
    evidence.extend(summed(&seen.gave_up, &compile::GAVE_UP));
    evidence.extend(summed(&seen.sweeps, &compile::SWEEPS));
    evidence.extend(summed(&seen.collections, &compile::FOR_CODE));
    evidence.extend(quiet_after(case, jvm, seen));
    let size = case.recording.processes.get(jvm.index()).and_then(|p| p.fact_number(fact::CODE_CACHE_BYTES));
    if let (Some(size), Some(first)) = (size, evidence.first()) {
        let source = first.source.clone();
        evidence.push(Evidence::summed(source, compile::CACHE_SIZE.is(Value::bytes(size))));
    }
    evidence
}

/// Compile tasks before and after the compiler was switched off: an empty queue is what
/// distinguishes it from a burst.
fn quiet_after(case: &Case<'_>, jvm: ProcessId, seen: &Seen<'_>) -> Option<Evidence> {
    let begin = seen.disabled.as_ref()?.t0_ns();
    let jit = JitCase::read(case, jvm);
    let (first, last) = (jit.tasks.first()?.queued_ns, case.recording.covers_ns()?.1);
    let rate =
        |from_ns: i64, to_ns: i64| stats::mean(&[jit.per_s(&[Window { from_ns, to_ns }])]).unwrap_or(0.0);
    let after = compile::AFTER_DISABLED.is(Value::per_second(rate(begin, last)));
    Some(jit.evidence(after.over(Value::per_second(rate(first, begin)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::built::{Built, jit_task, judged};

    fn jvm() -> Built {
        let mut built = Built::jvm("17", "G1", 100.0);
        for i in 0..50 {
            jit_task(&mut built, &format!("app.A.m{i}()"), f64::from(i) * 0.1, 1.0, 2.0, 3);
        }
        built
    }

    #[test]
    fn a_compiler_that_is_switched_off_is_found_from_then_on() {
        let mut built = jvm();
        let figures = [(figure::COMPILER_DISABLED, 1.0), (figure::CODE_CACHE_FREE_BYTES, 1024.0)];
        let segment = [(label::SEGMENT, "CodeHeap 'non-profiled nmethods'")];
        built.span(kind::JIT_CODE_CACHE_FULL, "full", 20.0, 0.0, &figures, &segment);
        let Judgement::Found(found) = judged(&JitCodeCacheFull, &built.sealed()) else { panic!() };
        assert_eq!((found.cost_ms, found.confidence), (80_000.0, Confidence::ConsistentWith));
        assert_eq!(found.named(), "CodeHeap 'non-profiled nmethods'");
        assert!(found.facts(&compile::CACHE_FULL).any(|full| full.number("value") == Some(1024.0)));
        assert!(found.fact(&compile::AFTER_DISABLED).number("value").unwrap() < 0.5);
    }

    #[test]
    fn a_storm_of_sweeps_is_found_without_any_warning() {
        let mut built = jvm();
        for i in 0..205 {
            built.span(kind::JIT_SWEEP, "sweep", 40.0 + f64::from(i) * 0.1, 1.0, &[], &[]);
        }
        let judged = judged(&JitCodeCacheFull, &built.sealed());
        assert!(matches!(judged, Judgement::Found(_)), "{judged:?}");
    }

    #[test]
    fn a_storm_of_collections_to_unload_code_is_found() {
        let storm = |apart_s: f64| {
            let mut built = jvm();
            for i in 0..44 {
                built.pause("Pause Young", "CodeCache GC Threshold", 40.0 + f64::from(i) * apart_s, 5.0, &[]);
            }
            judged(&JitCodeCacheFull, &built.sealed())
        };
        assert!(matches!(storm(0.5), Judgement::Found(_)));
        let Judgement::RuledOut { figure, .. } = storm(1.3) else { panic!("found") };
        let hardly = figure.fact().find(&compile::CACHE_HARDLY).unwrap_or_else(|| panic!("{figure:?}"));
        assert_eq!(hardly.number("value"), Some(44.0));
    }

    #[test]
    fn a_sweep_now_and_then_and_one_full_cache_are_ruled_out() {
        let mut built = jvm();
        for i in 0..8 {
            built.span(kind::JIT_SWEEP, "sweep", f64::from(i) * 11.0, 1.0, &[], &[]);
        }
        built.span(kind::JIT_CODE_CACHE_FULL, "full", 20.0, 0.0, &[], &[]);
        let Judgement::RuledOut { figure, .. } = judged(&JitCodeCacheFull, &built.sealed()) else {
            panic!("found")
        };
        let hardly = figure.fact().find(&compile::CACHE_HARDLY).unwrap_or_else(|| panic!("{figure:?}"));
        assert_eq!(["full", "sweeps"].map(|name| hardly.number(name)), [Some(1.0), Some(8.0)]);
    }
}
