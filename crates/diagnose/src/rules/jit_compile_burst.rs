//! `jit-compile-burst`: a code path becomes hot all at once, and runs slow until its methods are
//! compiled.

mod burst;
mod evidence;
mod finding;
mod methods;
mod peers;
mod redefined;
mod samples;
#[cfg(test)]
mod tests;
mod uncompiled;

use fathom_recording::ProcessId;

use self::burst::{Burst, busiest, cost_ms};
use self::finding::found;
use self::peers::leader;
use self::samples::Support;
use self::uncompiled::Uncompiled;
use super::jit_case::JitCase;
use super::jit_deopt_loop::in_a_loop;
use crate::facts::{Metric, Value, compile, reasons, switch_on};
use crate::intervals::Intervals;
use crate::rule::ShareOfCode;
use crate::{Case, Fact, Judgement, Layer, Rule};

/// A burst in a smaller part of the slow windows is judged in that part.
const PART: f64 = 0.5;

/// See the module.
pub(crate) struct JitCompileBurst;

impl Rule for JitCompileBurst {
    fn id(&self) -> &'static str {
        "jit-compile-burst"
    }

    fn layer(&self) -> Layer {
        Layer::Jit
    }

    /// What it does to the code that calls a method, cold caches and calls that are not inlined
    /// yet, makes that code take longer.
    fn makes_others_grow(&self) -> bool {
        true
    }

    fn about(&self) -> &'static str {
        "A code path that had not run before (a migration, a new tenant, the first request of a kind) becomes hot all \
         at once. Until its methods are compiled they run in the interpreter, some twenty times slower, then in C1's \
         profiled code, two to three times slower; the compiler threads take CPUs away from the application \
         meanwhile.\n\n\
         **Evidence.** In a slow window: at least 5 compile tasks a second, 5 times the baseline's rate and 30 in all; or \
         C2 busy for half of the time and 30 points more than in the baseline. The burst begins no more than 3 s before \
         the dip shows. The finding names the methods that were never compiled before, tiers, on-stack replacements, \
         waits in the queue, its greatest length, how busy the compilers were, and the other JVMs at the same time.\n\n\
         **Cost.** With CPU samples and context switches (`fathom record`): what of the time that application threads ran interpreted, or \
         in C1's code, of methods that were compiled from the burst on, compiled code would have saved (95% and 60% of it), and what the compilers of all recorded JVMs took of \
         the CPUs that they waited for, both above the baseline's (of such code: above what an operation has of it there, where operations are counted), and in the burst's own periods, or their densest part, where these are less than half \
         of the slow windows. Where that does not matter, the burst is only what new code always brings, and no cause. Where there \
         are too few samples for shares, no more is attributed than compilers worked and the samples show of such code. From logs \
         alone: the part of the loss that fell into the periods in which tasks of the burst were waiting or being compiled, an upper bound, and the verdict is only *consistent with*; \
         samples of frame types, or the same run with `-XX:TieredStopAtLevel=1`, decide.\n\n\
         **Confounders.** A collection at the same time: the finding says how long the JVM was stopped in the window, \
         and is only *consistent with* when stops explain a good part. Another process taking the CPUs: slow \
         code everywhere, but no new methods in the queue. Code that was thrown away because classes were \
         redefined is said to be that, with who asked. A method compiled again and again is `jit-deopt-loop` and \
         does not count, an \
         empty queue with slow code `jit-code-cache-full`. Start-up: in the first 30 s of a JVM (less where the series \
         has kept its usual level for 5 s), or before the series has reached its level, it is reported as start-up, and \
         only when the user's window lies there, with no baseline of the JVM before it.\n\n\
         **Needs** a LogCompilation file for waits and lengths; `-Xlog:jit+compilation=debug` or PrintCompilation show \
         rates and names alone. Without a slow window nothing is found: compiling alone is not slow; where compilers were busy for 5% of the time and nothing shows when it was slow, it is not known."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Compilations]
    }

    /// What operations ran before it was compiled, which would else be reported as growth of the
    /// methods that ran it.
    fn slows_code<'a>(&self, case: &Case<'a>, jvm: ProcessId) -> Option<(&'static Metric, ShareOfCode<'a>)> {
        let uncompiled = Uncompiled::of(case, jvm)?;
        Some((&reasons::WITH_UNCOMPILED, Box::new(move |stack| uncompiled.saved(stack))))
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let jit = match JitCase::of(case, jvm, self) {
            Ok(jit) => jit,
            Err(judgement) => return judgement,
        };
        if case.whole_run {
            let (at_ns, most) = busiest(&jit);
            let after = jit.start_ns().map_or(0.0, |start| at_ns.saturating_sub(start) as f64 / 1e9).max(0.0);
            let tasks = compile::RUN.is(Value::count(jit.tasks.len())).with("most", Value::count(most));
            let tasks = Value::list([tasks.with("after", Value::plain(after))]);
            let busy = case.compile_ms(jvm, &case.slow) / Case::length_ms(&case.slow).max(f64::MIN_POSITIVE);
            // Where nobody says when it was slow, a burst may have been: unless compilers were
            // hardly busy.
            if case.loss.measure.is_none() && busy >= crate::MATTERS_SHARE {
                return Judgement::Inconclusive(crate::BlindSpot {
                    what: compile::NOT_JUDGED
                        .is(Value::share(busy))
                        .with("jvm", Value::name(case.jvm_name(jvm)))
                        .with("tasks", tasks)
                        .into(),
                    rules: vec![self.id().to_owned()],
                    remedy: switch_on::SERIES_OR_WINDOWS.fact().into(),
                });
            }
            let fact = match case.loss.measure.is_none() {
                true => compile::BUSY_RUN.is(Value::share(busy)),
                false => compile::NO_SLOW_TIME.fact(),
            };
            return jit.ruled_out(fact.with("tasks", tasks));
        }
        let looping = in_a_loop(&jit);
        let bursts: Vec<Burst<'_>> =
            case.slow.iter().filter_map(|w| Burst::in_window(&jit, *w, &looping)).collect();
        let ranges = bursts.iter().fold(Intervals::default(), |all, b| all.or(&b.ranges));
        let most_ms = cost_ms(case, jvm, &ranges);
        if bursts.is_empty() || !case.matters(most_ms) {
            return jit.ruled_out(quiet(&jit));
        }
        if let Some(leader) = leader(&jit, &bursts) {
            return jit.ruled_out(leader);
        }
        let base = Intervals::of_windows(&case.base);
        let near = case.clipped(&ranges.or(&base));
        let support = support(&jit, &bursts, &ranges);
        let cost_ms = match &support {
            Some((support, most_ms)) => support.cost_ms().min(*most_ms),
            None => samples::at_most_ms(&jit, &near, &bursts).map_or(most_ms, |ms| ms.min(most_ms)),
        };
        let support = support.map(|(support, _)| support);
        // Compilers that get no CPU are busy for long with as few tasks as ever.
        if support.is_none() && !case.base.is_empty() && jit.per_s(&case.slow) <= jit.per_s(&case.base) {
            return jit.ruled_out(quiet(&jit));
        }
        if support.is_none() && !case.matters(cost_ms) {
            let worked = compile::WORKED.is(Value::ms(samples::compilers_ms(&jit, &near)));
            return jit.ruled_out(worked.with("rate", Value::list([quiet(&jit)])));
        }
        match &support {
            Some(support) if !case.matters(cost_ms) => support.too_little(self, &jit),
            _ => Judgement::Found(Box::new(found(self, &jit, &bursts, &ranges, support.as_ref(), cost_ms))),
        }
    }
}

/// What samples and switches show of bursts, with the most that these can have cost there,
/// milliseconds. The mean of a long window hides what a burst did to a part of it, as one that
/// other things slow down, too: so the bursts are judged in their densest parts as well as in all
/// of their intervals and in the slow windows as a whole, as far as there are samples enough, and
/// what shows more counts.
fn support<'a>(
    jit: &JitCase<'_, 'a>,
    bursts: &[Burst<'a>],
    ranges: &Intervals,
) -> Option<(Support<'a>, f64)> {
    let case = jit.case;
    let base = Intervals::of_windows(&case.base);
    let dense = bursts.iter().fold(Intervals::default(), |all, burst| all.or(&burst.densest()));
    let is_part = |part: &Intervals| part.length_ms() < PART * Case::length_ms(&case.slow);
    let parts = [dense, ranges.clone()].into_iter().filter(is_part);
    let near = parts.filter_map(|part| {
        let near = case.clipped(&part.or(&base));
        Some((Support::of(jit, &near, bursts)?, cost_ms(case, jit.jvm, &part)))
    });
    let whole = Support::of(jit, case, bursts).map(|support| (support, self::cost_ms(case, jit.jvm, ranges)));
    let cost_ms = |(support, most_ms): &(Support<'_>, f64)| support.cost_ms().min(*most_ms);
    near.chain(whole).max_by(|a, b| cost_ms(a).total_cmp(&cost_ms(b)))
}

/// How many tasks there were, and how busy C2 was.
fn quiet(jit: &JitCase<'_, '_>) -> Fact {
    let (slow, base) = (jit.per_s(&jit.case.slow), jit.per_s(&jit.case.base));
    let rate = compile::RATE.is(Value::per_second(slow)).over(Value::per_second(base));
    let busy = |windows| jit.lengths_known.then(|| Value::share(jit.busy_share("c2", windows)));
    rate.with("c2", busy(&jit.case.slow)).with("baseline-c2", busy(&jit.case.base))
}
