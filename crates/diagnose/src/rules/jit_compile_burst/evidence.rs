//! What shows a burst: rates, methods, tiers, waits in the queue, compiler threads, its beginning,
//! the other JVMs, and what the JVM was stopped for meanwhile; and what can be done.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::kind;

use super::burst::Burst;
use super::peers::others;
use crate::facts::{Value, compile, remedies};
use crate::rules::jit_case::{JitCase, Task, compiler_of, deepest, waits};
use crate::{Case, Evidence, Fact, Window};

/// Methods named.
const NAMED: usize = 5;

/// All evidence of the bursts.
pub(super) fn evidence(
    jit: &JitCase<'_, '_>,
    bursts: &[Burst<'_>],
    tasks: &[Task<'_>],
    fresh: &[(&str, f64)],
) -> Vec<Evidence> {
    let case = jit.case;
    let windows: Vec<Window> = bursts.iter().map(|b| b.window).collect();
    let (slow, base) = (jit.per_s(&windows), jit.per_s(&case.base));
    let tasks_in = Value::count(jit.asked_in(&windows).count());
    let asked = compile::TASKS.is(Value::per_second(slow)).over(Value::per_second(base));
    let mut all = vec![jit.evidence(asked.with("tasks", tasks_in))];
    let named = fresh.iter().take(NAMED).map(|(method, _)| compile::METHOD.is(Value::name(*method)));
    all.push(jit.evidence(compile::FRESH.is(Value::count(fresh.len())).with("methods", Value::list(named))));
    all.push(tiers(jit, tasks));
    all.extend(queue(jit, tasks, &case.base));
    if jit.lengths_known {
        let busy = |compiler: &str, windows: &[Window]| Value::share(jit.busy_share(compiler, windows));
        let of = |compiler: &str, name: &str| {
            let fact = compile::BUSY_OF.is(busy(compiler, &windows)).over(busy(compiler, &case.base));
            fact.with("compiler", Value::name(name))
        };
        let compilers = Value::list([of("c2", "C2"), of("c1", "C1")]);
        all.push(jit.evidence(compile::BUSY.fact().with("compilers", compilers)));
    }
    all.extend(bursts.iter().map(|burst| onset(jit, burst)));
    all.extend(other_jvms(jit, &windows));
    all.extend(stops(jit, &windows));
    all
}

/// Tiers and on-stack replacements; where the source has neither, the compilers.
fn tiers(jit: &JitCase<'_, '_>, tasks: &[Task<'_>]) -> Evidence {
    let mut by: BTreeMap<(Option<u8>, Option<&str>), usize> = BTreeMap::new();
    for task in tasks {
        let compiler = (!jit.tiers_known).then(|| compiler_of(&task.span));
        *by.entry((task.tier.filter(|_| jit.tiers_known), compiler)).or_default() += 1;
    }
    let part = |((tier, compiler), n): ((Option<u8>, Option<&str>), usize)| match (tier, compiler) {
        (Some(tier), _) => compile::PART.is(Value::count(n)).with("tier", Value::count(tier.into())),
        (None, Some(of)) => {
            compile::PART.is(Value::count(n)).with("compiler", Value::name(of.to_uppercase()))
        }
        (None, None) => compile::PART_UNKNOWN.is(Value::count(n)),
    };
    let parts = Value::list(by.into_iter().map(part));
    let fact = match jit.tiers_known {
        true => compile::TIERS.is(Value::count(tasks.iter().filter(|t| t.osr).count())),
        false => compile::COMPILERS.fact(),
    };
    jit.evidence(fact.with("parts", parts))
}

/// How long tasks waited: each compiler has a queue of its own.
fn queue(jit: &JitCase<'_, '_>, tasks: &[Task<'_>], base: &[Window]) -> Option<Evidence> {
    if !jit.queue_known {
        return None;
    }
    let of = |top: bool| waits(tasks.iter().filter(move |t| t.is_top_tier() == top));
    let usual = |top: bool| waits(jit.asked_in(base).filter(move |t| t.is_top_tier() == top));
    let words = [("C2", true), ("C1", false)].into_iter().filter_map(|(name, top)| {
        let d = of(top)?;
        let usual = usual(top).map(|d| Value::ms(d.p95));
        let fact = compile::QUEUE_OF.is(Value::ms(d.p95)).over(usual).with("compiler", Value::name(name));
        Some(fact.with("p50", Value::ms(d.p50)).with("max", Value::ms(d.max)))
    });
    let compilers: Vec<Fact> = words.collect();
    let depth = Value::count(deepest(tasks.iter()));
    let known = !compilers.is_empty();
    known.then(|| jit.evidence(compile::QUEUE.is(depth).with("compilers", Value::list(compilers))))
}

fn onset(jit: &JitCase<'_, '_>, burst: &Burst<'_>) -> Evidence {
    let late_ns = burst.onset_ns.saturating_sub(burst.window.from_ns);
    let word = if late_ns < 0 { "before" } else { "after" };
    let fact = compile::ONSET.is(Value::ms(late_ns.unsigned_abs() as f64 / 1e6));
    let fact = fact.with("side", Value::name(word));
    let fact = fact.with("window", Value::ms(burst.window.length_ns() as f64 / 1e6));
    let filled = burst.ranges.length_ns() as f64 / burst.window.length_ns().max(1) as f64;
    jit.evidence(fact.with("filled", Value::share(filled))).at(burst.onset_ns)
}

/// The other JVMs: a neighbour without a burst shows that it is this one's doing.
fn other_jvms(jit: &JitCase<'_, '_>, windows: &[Window]) -> Option<Evidence> {
    let jvms: Vec<Fact> = others(jit)
        .map(|other| {
            let (slow, base) = (other.per_s(windows), other.per_s(&jit.case.base));
            let fact = compile::OTHER.is(Value::per_second(slow)).over(Value::per_second(base));
            fact.with("jvm", Value::name(jit.case.jvm_name(other.jvm)))
        })
        .take(NAMED)
        .collect();
    let any = !jvms.is_empty();
    any.then(|| jit.evidence(compile::OTHERS.fact().with("jvms", Value::list(jvms))))
}

/// What rules collections out, or not.
fn stops(jit: &JitCase<'_, '_>, windows: &[Window]) -> Option<Evidence> {
    let case = jit.case;
    let stop_kind = [kind::GC_PAUSE, kind::SAFEPOINT].into_iter().find(|kind| case.has(kind, jit.jvm))?;
    let span = case.recording.spans_of(stop_kind).find(|s| s.process() == jit.jvm)?;
    let of = |windows: &[Window]| case.stopped_ms(jit.jvm, windows) / Case::length_ms(windows).max(1.0);
    let fact = compile::STOPPED.is(Value::share(of(windows))).over(Value::share(of(&case.base)));
    let source = case.recording.sources.get(span.source().index()).map_or("", |s| &s.name);
    Some(Evidence::summed(source, fact))
}

/// What can be done.
pub(super) fn remedies(jit: &JitCase<'_, '_>) -> Vec<crate::Remedy> {
    let process = jit.case.recording.processes.get(jit.jvm.index());
    let threads = process.and_then(|p| p.fact(fathom_recording::vocabulary::fact::COMPILER_THREADS));
    let more = remedies::MORE_COMPILER_THREADS.fact();
    let more = threads.map_or(more, |threads| remedies::MORE_COMPILER_THREADS.is(Value::name(threads)));
    vec![remedies::WARM_UP.remedy(), remedies::AOT_CACHE.remedy(), more.into(), remedies::C1_ONLY.remedy()]
}

#[cfg(test)]
mod tests {
    use fathom_recording::ProcessId;
    use fathom_recording::vocabulary::{figure, label};

    use super::*;
    use crate::built::{Built, whole_run};

    /// The evidence of compilations: the compiler of each, and its values.
    fn in_words(compiled: &[(&str, &[(&str, f64)])]) -> String {
        let mut built = Built::jvm("17", "G1", 60.0);
        for (i, (compiler, figures)) in compiled.iter().enumerate() {
            let at_s = 1.0 + i as f64;
            built.span(kind::JIT_COMPILE, "A.a()", at_s, 5.0, figures, &[(label::COMPILER, compiler)]);
        }
        let recording = built.sealed();
        let case = whole_run(&recording);
        let jit = JitCase::read(&case, ProcessId(0));
        tiers(&jit, &jit.tasks).text()
    }

    #[test]
    fn tiers_and_replacements_are_reported_where_the_log_has_them() {
        let tier = |tier: f64| [(figure::TIER, tier)];
        let (three, four) = (tier(3.0), tier(4.0));
        let osr = [(figure::TIER, 4.0), (figure::OSR_BCI, 7.0)];
        assert_eq!(
            in_words(&[("c1", &three), ("c2", &four), ("c2", &osr)]),
            "1 at tier 3, 2 at tier 4; 1 of them on-stack replacements of running loops"
        );
        // The probes of a JVM: C2 has one tier, that of C1 is unknown.
        assert_eq!(in_words(&[("c1", &[]), ("c1", &[]), ("c2", &four)]), "2 by C1, 1 by C2");
    }
}
