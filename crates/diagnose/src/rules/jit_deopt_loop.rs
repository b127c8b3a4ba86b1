//! `jit-deopt-loop`: the same methods are compiled, found to rest on a wrong assumption, thrown
//! away and compiled again.

use std::collections::{BTreeMap, HashMap, HashSet};

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{ProcessId, Span};

use super::jit_case::JitCase;
use crate::confidence::Ground;
use crate::facts::{Value, checks, compile, culprits, meanings, reasons, remedies, ruled_out, titles};
use crate::intervals::Intervals;
use crate::metrics::jit::is_benign;
use crate::own_code::is_made_at_run_time;
use crate::places::class_of;
use crate::{Case, Evidence, Fact, Finding, Judgement, Layer, Rule};

/// Code of one method thrown away so often is a loop; warm-up does it once or twice a method.
const LOOP: usize = 5;
/// All over the slow windows, invalidations a second that are a storm. While javac warmed up there
/// were five.
const STORM_PER_S: f64 = 20.0;
/// A method runs slow from the invalidation until its next code is installed, at most this long for
/// one round: a method that is never compiled again has ceased to be hot.
const ROUND_MAX_NS: i64 = 5_000_000_000;
/// Reason of an invalidation that only frees code which was made not entrant before.
const ZOMBIE: &str = "zombie";
/// Compilations of one method in the slow windows that are a loop by themselves: three tiers, each
/// for some class loaders or overloads, and again when the first code was made on a wrong guess,
/// stay below it.
const AGAIN: usize = 20;
/// Compilations of one method that a redefinition of classes brings about: one a tier.
const A_REDEFINITION: usize = 3;
/// The format of LogCompilation files, as their reader names it.
const LOG_COMPILATION: &str = "log-compilation";
/// Methods named.
const NAMED: usize = 3;

/// See the module.
pub(crate) struct JitDeoptLoop;

impl Rule for JitDeoptLoop {
    fn id(&self) -> &'static str {
        "jit-deopt-loop"
    }

    fn layer(&self) -> Layer {
        Layer::Jit
    }

    fn about(&self) -> &'static str {
        "C2 compiles on assumptions from what it has seen: this branch is never taken, this call has one receiver. When \
         one fails the code is thrown away, the method runs interpreted, is profiled and compiled anew. A method whose \
         assumptions keep failing is compiled and invalidated in a loop, and after some rounds may be given up for good \
         (`PerMethodRecompilationCutoff`).\n\n\
         **Evidence.** In the slow windows, after start-up: the code of one method thrown away five times or more and \
         made again; or more than 20 invalidations a second in all. Those that only make room for better code do not \
         count: JDK 25 says so (\"not used\"), before that the installation of the same method at a higher tier within \
         100 ms shows it. Or one method compiled 20 times or more for each time that its class was seen to be loaded: what is compiled \
         again was thrown away, whether that was recorded or not; those that redefinitions of classes bring about do not count.\n\n\
         **Cost.** The time from each invalidation to the next code of the same method (at most 5 s), as a part of the \
         loss where one was measured. Other threads may have been elsewhere, so it is an upper bound.\n\n\
         **Confounders.** Warm-up invalidates a lot, once a method: it is left out. A new code path is \
         `jit-compile-burst`: there the methods are new. A full code cache throws code away as well: \
         `jit-code-cache-full` has its own events.\n\n\
         **Needs** a LogCompilation file to be ruled out, and to name the reason; compilations alone (`fathom record`) show a loop. \
         PrintCompilation shows \"made not entrant\" without reasons before JDK 25."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Deoptimisations]
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let jit = match JitCase::of(case, jvm, self) {
            Ok(jit) => jit,
            Err(judgement) => return judgement,
        };
        let rounds = Rounds::of(&jit);
        let ranges = rounds.ranges(case);
        let slow_ms = case.lost_during_ms(&ranges).unwrap_or_else(|| match case.loss.lost_ms > 0.0 {
            true => 0.0,
            false => ranges.length_ms(),
        });
        let is_loop = !rounds.loops.is_empty() || rounds.per_s > STORM_PER_S;
        if is_loop && case.matters(slow_ms) {
            return Judgement::Found(Box::new(found(self, &jit, &rounds, &ranges, slow_ms)));
        }
        let again = Again::of(&jit);
        let again_ms = case.lost_during_ms(&again.ranges).unwrap_or_else(|| match case.loss.lost_ms > 0.0 {
            true => 0.0,
            false => again.ranges.length_ms(),
        });
        if !again.methods.is_empty() && case.matters(again_ms) {
            return Judgement::Found(Box::new(compiled_again(self, &jit, &again, again_ms)));
        }
        jit.ruled_out(rounds.figure())
    }
}

/// The methods that go round in a loop: their compilations are no news.
pub(crate) fn in_a_loop<'a>(jit: &JitCase<'_, 'a>) -> HashSet<&'a str> {
    let rounds = Rounds::of(jit);
    let thrown_away = rounds.loops.into_iter().filter(|(_, rounds)| rounds.len() >= LOOP);
    let again = Again::of(jit).methods.into_iter().map(|(method, _)| method);
    thrown_away.map(|(method, _)| method).chain(again).collect()
}

/// Methods that are compiled again and again: nobody compiles what is still there, so their code
/// was thrown away each time, whether anybody saw that or not. Where a LogCompilation file has each
/// time that code was thrown away, that is counted instead; else the loads of its class: classes of
/// one name that many loaders load have a method of that name each.
struct Again<'a> {
    /// With how often, the most first.
    methods: Vec<(&'a str, usize)>,
    /// From one compilation to the next, as far as they follow each other.
    ranges: Intervals,
}

impl<'a> Again<'a> {
    /// Of the slow windows, after start-up. A method has one compilation a tier and a place to
    /// enter its loops at; class loaders and overloads of one name have as many each, which is what
    /// [`AGAIN`] leaves room for.
    fn of(jit: &JitCase<'_, 'a>) -> Self {
        if sees_invalidations(jit) {
            return Self { methods: Vec::new(), ranges: Intervals::default() };
        }
        let warm_ns = jit.warm_ns().unwrap_or(i64::MIN);
        let mut by: HashMap<&'a str, Vec<(i64, i64)>> = HashMap::new();
        let asked = jit.asked_in(&jit.case.slow).filter(|t| !t.osr && t.queued_ns >= warm_ns);
        for task in asked.filter(|t| !is_made_at_run_time(t.method())) {
            by.entry(task.method()).or_default().push((task.queued_ns, task.done_ns));
        }
        let copies = copies(jit);
        // No assumption failed where an agent had the code thrown away.
        let redefined = A_REDEFINITION * jit.redefinitions(&jit.case.slow).len();
        by.retain(|method, tasks| {
            tasks.len() >= redefined + AGAIN * copies.get(class_of(method)).map_or(1, |n| (*n).max(1))
        });
        let mut ranges = Vec::new();
        for tasks in by.values() {
            for pair in tasks.windows(2) {
                let [(from, _), (_, done)] = pair else { continue };
                ranges.push((*from, (*done).min(from.saturating_add(ROUND_MAX_NS))));
            }
        }
        let mut methods: Vec<_> = by.into_iter().map(|(method, tasks)| (method, tasks.len())).collect();
        methods.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let windows = Intervals::of_windows(&jit.case.slow);
        Self { methods, ranges: Intervals::of(ranges).and(&windows) }
    }
}

/// How often classes were loaded, by name: loaders that come and go load one each, and each has
/// methods of its own.
fn copies<'a>(jit: &JitCase<'_, 'a>) -> HashMap<&'a str, usize> {
    let mut copies: HashMap<&'a str, usize> = HashMap::new();
    let loads = jit.case.recording.spans_of(kind::CLASS_LOAD).filter(|s| s.process() == jit.jvm);
    loads.for_each(|load| *copies.entry(load.name()).or_default() += 1);
    copies
}

/// Whether a source would have recorded each time that code of the JVM was thrown away.
fn sees_invalidations(jit: &JitCase<'_, '_>) -> bool {
    let own = |source: &&fathom_recording::Source| source.process.is_none_or(|process| process == jit.jvm.0);
    jit.case.recording.sources.iter().filter(own).any(|source| source.format == LOG_COMPILATION)
        || jit.case.has(kind::JIT_INVALIDATE, jit.jvm)
}

fn compiled_again(rule: &dyn Rule, jit: &JitCase<'_, '_>, again: &Again<'_>, cost_ms: f64) -> Finding {
    let case = jit.case;
    let (worst, times) = again.methods.first().copied().unwrap_or(("", 0));
    let (ground, why) = match case.share(cost_ms) {
        Some(share) if share >= 0.5 && case.lost_during_ms(&again.ranges).is_some() => {
            (Ground::Traces, &reasons::COMPILED_OFTEN)
        }
        _ => (Ground::Fits, &reasons::COMPILED_OFTEN_COST),
    };
    let mut finding = case.finding(rule, jit.jvm, ground.because(case, cost_ms, why), cost_ms);
    let method = Value::name(worst);
    finding.title = titles::COMPILED_AGAIN.is(Value::count(times)).with("method", method.clone()).into();
    finding.culprit = culprits::METHOD.is(method).into();
    finding.meaning = meanings::DEOPT_LOOP.fact().into();
    let methods = again.methods.iter().take(NAMED).map(|(method, n)| {
        compile::AGAIN_METHOD.is(Value::counted(*n as f64)).with("method", Value::name(method.to_string()))
    });
    let fact = compile::AGAIN.is(Value::counted(AGAIN as f64));
    finding.evidence = vec![jit.evidence(fact.with("methods", Value::list(methods)))];
    finding.windows = again.ranges.windows();
    finding.remedies = advice();
    let rarely = checks::NOT_COMPILED_AGAIN.is(Value::count(AGAIN));
    finding.verify = vec![rarely.into(), checks::REASONS_NAMED.fact().into()];
    finding
}

/// A real invalidation, and when the method had code again.
struct Round<'a> {
    span: Span<'a>,
    until_ns: i64,
}

/// The invalidations of the slow windows after start-up.
struct Rounds<'a> {
    /// By method, only those of a loop unless there is a storm.
    loops: Vec<(&'a str, Vec<Round<'a>>)>,
    all: usize,
    most: usize,
    per_s: f64,
}

impl<'a> Rounds<'a> {
    fn of(jit: &JitCase<'_, 'a>) -> Self {
        let case = jit.case;
        let mut installs: HashMap<&str, Vec<Span<'a>>> = HashMap::new();
        let own = |kind: &'static str| case.recording.spans_of(kind).filter(|s| s.process() == jit.jvm);
        for span in own(kind::JIT_INSTALL) {
            installs.entry(span.name()).or_default().push(span);
        }
        let warm_ns = jit.warm_ns().unwrap_or(i64::MIN);
        let mut methods: BTreeMap<&'a str, Vec<Round<'a>>> = BTreeMap::new();
        let none = Vec::new();
        let mut all = 0;
        // Code is first made not entrant and later a zombie (JDK ≤ 19): one invalidation, logged
        // twice.
        let mut seen: HashSet<i64> = HashSet::new();
        for span in case.spans_in(kind::JIT_INVALIDATE, jit.jvm, &case.slow).filter(|s| s.t0_ns() >= warm_ns)
        {
            let made = installs.get(span.name()).unwrap_or(&none);
            let again =
                span.label(label::REASON) == Some(ZOMBIE) || (span.key() >= 0 && !seen.insert(span.key()));
            if again || is_benign(&span, made) {
                continue;
            }
            all += 1;
            let latest = span.t0_ns().saturating_add(ROUND_MAX_NS);
            let next = made.iter().map(Span::t0_ns).find(|t| *t > span.t0_ns());
            // Never compiled again: thrown away for good, and no round of a loop.
            let Some(next) = next else { continue };
            methods.entry(span.name()).or_default().push(Round { span, until_ns: next.min(latest) });
        }
        let length_s = (Case::length_ms(&case.slow) / 1e3).max(1e-3);
        let per_s = all as f64 / length_s;
        let most = methods.values().map(Vec::len).max().unwrap_or(0);
        let mut loops: Vec<_> =
            methods.into_iter().filter(|(_, r)| r.len() >= LOOP || per_s > STORM_PER_S).collect();
        loops.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then(a.0.cmp(b.0)));
        Self { loops, all, most, per_s }
    }

    fn ranges(&self, case: &Case<'_>) -> Intervals {
        let rounds = self.loops.iter().flat_map(|(_, rounds)| rounds);
        Intervals::of(rounds.map(|r| (r.span.t0_ns(), r.until_ns))).and(&Intervals::of_windows(&case.slow))
    }

    fn figure(&self) -> Fact {
        let fact = ruled_out::INVALIDATIONS.is(Value::per_second(self.per_s));
        fact.with("invalidations", Value::count(self.all)).with("most", Value::count(self.most))
    }
}

fn found(
    rule: &dyn Rule,
    jit: &JitCase<'_, '_>,
    rounds: &Rounds<'_>,
    ranges: &Intervals,
    cost_ms: f64,
) -> Finding {
    let case = jit.case;
    let reasons = reasons(rounds);
    let (ground, why) = match case.share(cost_ms) {
        Some(share) if share >= 0.5 && case.lost_during_ms(ranges).is_some() => {
            (Ground::Traces, &reasons::ROUNDS)
        }
        _ => (Ground::Fits, &reasons::ROUNDS_COST),
    };
    let mut finding = case.finding(rule, jit.jvm, ground.because(case, cost_ms, why), cost_ms);
    let worst = rounds.loops.first().map_or(&"", |(method, _)| method);
    let method = Value::name(*worst);
    finding.title = match rounds.most >= LOOP {
        true => titles::DEOPT_LOOP.is(Value::count(rounds.most)).with("method", method.clone()),
        false => titles::DEOPT_STORM.is(Value::per_second(rounds.per_s)),
    }
    .into();
    finding.culprit = culprits::METHOD.is(method).into();
    finding.meaning = meanings::DEOPT_LOOP.fact().into();
    finding.evidence = evidence(jit, rounds, &reasons);
    finding.windows = ranges.windows();
    finding.remedies = advice();
    finding.verify = vec![checks::NOT_MADE_NOT_ENTRANT.is(Value::count(LOOP)).into()];
    finding
}

/// What can be done.
fn advice() -> Vec<crate::Remedy> {
    vec![
        remedies::HOLD_ASSUMPTION.remedy(),
        remedies::NEWEST_UPDATE.remedy(),
        remedies::INTERPRET_METHOD.remedy(),
    ]
}

/// Reasons of invalidations and traps of the methods in the loop, most frequent first.
fn reasons(rounds: &Rounds<'_>) -> Vec<(String, usize)> {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for round in rounds.loops.iter().flat_map(|(_, rounds)| rounds) {
        *reasons.entry(round.span.label(label::REASON).unwrap_or("not logged")).or_default() += 1;
    }
    let mut reasons: Vec<_> = reasons.into_iter().map(|(r, n)| (r.to_owned(), n)).collect();
    reasons.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    reasons
}

fn evidence(jit: &JitCase<'_, '_>, rounds: &Rounds<'_>, reasons: &[(String, usize)]) -> Vec<Evidence> {
    let case = jit.case;
    let mut evidence = vec![jit.evidence(rounds.figure())];
    for (method, of) in rounds.loops.iter().take(NAMED) {
        let slow_ms: f64 = of.iter().map(|r| r.until_ns.saturating_sub(r.span.t0_ns()) as f64 / 1e6).sum();
        let Some(first) = of.first() else { continue };
        let fact = compile::THROWN_AWAY.is(Value::count(of.len())).with("method", Value::name(*method));
        evidence.push(Evidence::cited(&first.span, fact.with("without", Value::ms(slow_ms))));
    }
    let listed = reasons
        .iter()
        .take(NAMED)
        .map(|(reason, n)| compile::REASON.is(Value::count(*n)).with("reason", Value::name(reason)));
    evidence.push(jit.evidence(compile::REASONS.fact().with("reasons", Value::list(listed))));
    evidence.extend(traps(jit, rounds));
    let gone = case
        .spans_in(kind::JIT_TRAP, jit.jvm, &case.slow)
        .filter(|s| s.label(label::ACTION) == Some("make_not_compilable"))
        .count();
    if gone > 0 {
        evidence.push(jit.evidence(compile::NOT_COMPILABLE.is(Value::count(gone))));
    }
    evidence
}

/// The traps of the methods in the loop: which assumption, at which bytecode.
fn traps(jit: &JitCase<'_, '_>, rounds: &Rounds<'_>) -> Option<Evidence> {
    let methods: Vec<&str> = rounds.loops.iter().map(|(method, _)| *method).collect();
    let mut traps: BTreeMap<(String, String, Option<i64>), (usize, i64)> = BTreeMap::new();
    for span in jit.case.spans_in(kind::JIT_TRAP, jit.jvm, &jit.case.slow) {
        if !methods.contains(&span.name()) {
            continue;
        }
        let bci = span.figure(figure::BCI).map(|bci| bci as i64);
        let reason = span.label(label::REASON).unwrap_or("not logged").to_owned();
        traps.entry((span.name().to_owned(), reason, bci)).or_insert((0, span.t0_ns())).0 += 1;
    }
    let ((method, reason, bci), (n, at_ns)) = traps.into_iter().max_by_key(|(_, (n, at))| (*n, -*at))?;
    let fact = compile::TRAPS.is(Value::count(n)).with("reason", Value::name(reason));
    let fact = fact.with("bytecode", bci.map(|bci| Value::counted(bci as f64)));
    Some(jit.evidence(fact.with("method", Value::name(method))).at(at_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::built::{Built, jit_task, judged};

    /// A method thrown away `rounds` times from 40 s on, a second apart, and made again 0.8 s
    /// later.
    fn looping(rounds: usize, reason: &str, at_s: f64) -> Judgement {
        let mut built = Built::jvm("25", "G1", 60.0);
        jit_task(&mut built, "app.A.work()", 1.0, 1.0, 2.0, 4);
        for i in 0..rounds {
            let at = at_s + i as f64;
            built.span(
                kind::JIT_TRAP,
                "app.A.work()",
                at,
                0.0,
                &[(figure::BCI, 17.0)],
                &[(label::REASON, "class_check")],
            );
            built.span(kind::JIT_INVALIDATE, "app.A.work()", at, 0.0, &[], &[(label::REASON, reason)]);
            built.span(kind::JIT_INSTALL, "app.A.work()", at + 0.8, 0.0, &[(figure::TIER, 4.0)], &[]);
        }
        judged(&JitDeoptLoop, &built.sealed())
    }

    #[test]
    fn the_same_method_thrown_away_again_and_again_is_found_with_its_trap() {
        let Judgement::Found(found) = looping(12, "uncommon trap", 40.0) else { panic!() };
        assert_eq!((found.named(), found.confidence), ("app.A.work()", Confidence::ConsistentWith));
        assert!((found.cost_ms - 9_600.0).abs() < 1.0, "{}", found.cost_ms);
        assert!(
            found.facts(&compile::TRAPS).any(|trap| trap.number("bytecode") == Some(17.0)
                && trap.detail("reason") == Some(&Value::name("class_check"))),
            "{:?}",
            found.evidence
        );
    }

    #[test]
    fn a_method_that_is_compiled_again_and_again_is_a_loop_whoever_saw_its_code_thrown_away() {
        let compiled = |times: u32, name: &str| {
            let mut built = Built::jvm("17", "G1", 60.0);
            for i in 0..times {
                jit_task(&mut built, name, 40.0 + f64::from(i) * 0.2, 1.0, 20.0, 4);
            }
            judged(&JitDeoptLoop, &built.sealed())
        };
        let Judgement::Found(found) = compiled(50, "App.price") else { panic!("not found") };
        found.title.states(&titles::COMPILED_AGAIN, &[("method", "App.price"), ("value", "50")]);
        assert!((found.cost_ms - 9_821.0).abs() < 5.0, "{}", found.cost_ms);
        assert!(matches!(compiled(10, "App.price"), Judgement::RuledOut { .. }));
        // Classes of many loaders, of which the file says that no code was thrown away.
        let mut built = Built::jvm("17", "G1", 60.0);
        built.recording.sources[0].format = LOG_COMPILATION.into();
        (0..50).for_each(|i| jit_task(&mut built, "App.price", 40.0 + f64::from(i) * 0.2, 1.0, 20.0, 4));
        assert!(matches!(judged(&JitDeoptLoop, &built.sealed()), Judgement::RuledOut { .. }));
        assert!(matches!(compiled(50, "java.lang.invoke.LambdaForm$MH.invoke"), Judgement::RuledOut { .. }));
        // Ten loaders, one after another, each with a class of that name, whose method is compiled
        // at five tiers one after another.
        let loaded = |times: u32| {
            let mut built = Built::jvm("17", "G1", 60.0);
            for i in 0..times {
                built.span(kind::CLASS_LOAD, "App", 40.0 + f64::from(i), 0.0, &[], &[]);
            }
            (0..50).for_each(|i| jit_task(&mut built, "App.price", 40.0 + f64::from(i) * 0.2, 1.0, 20.0, 4));
            judged(&JitDeoptLoop, &built.sealed())
        };
        // An agent that redefines classes has all code thrown away each time.
        let mut built = Built::jvm("17", "G1", 60.0);
        for i in 0..50 {
            let at = 40.0 + f64::from(i) * 0.2;
            built.span(kind::SAFEPOINT, "RedefineClasses", at, 10.0, &[], &[]);
            jit_task(&mut built, "App.price", at + 0.02, 1.0, 20.0, 4);
        }
        assert!(matches!(judged(&JitDeoptLoop, &built.sealed()), Judgement::RuledOut { .. }));
        assert!(matches!(loaded(10), Judgement::RuledOut { .. }));
        assert!(matches!(loaded(1), Judgement::Found(_)));
    }

    #[test]
    fn replaced_code_warm_up_and_a_few_rounds_are_ruled_out() {
        for judged in [
            looping(12, "not used", 40.0),
            looping(12, "uncommon trap", 5.0),
            looping(4, "uncommon trap", 40.0),
        ] {
            assert!(matches!(judged, Judgement::RuledOut { .. }), "{judged:?}");
        }
    }
}
