//! `jit-never-compiled`: a hot method runs in the interpreter for good.

use std::collections::{BTreeMap, BTreeSet};

use fathom_recording::vocabulary::{fact, kind, sample};
use fathom_recording::{FrameType, ProcessId, StackId};

use super::cpu_case::{Cpu, Seen, unseen};
use super::gc_case::summed;
use super::jit_case::{JitCase, name_of};
use crate::confidence::Ground;
use crate::facts::{
    Metric, Value, checks, compile, culprits, meanings, reasons, remedies, ruled_out, titles,
};
use crate::own_code::is_made_at_run_time;
use crate::rule::ShareOfCode;
use crate::{Case, Finding, Judgement, Layer, Remedy, Rule};

/// How long a method must have run in the interpreter to be one that is never compiled,
/// nanoseconds: a hot one is compiled by C1 after some thousand calls or loops, in milliseconds.
const FOR_GOOD_NS: i64 = 5_000_000_000;
/// Share of the JVM's CPU time from which on a method counts.
const COUNTS: f64 = 0.05;
/// Share of the JVM's CPU time from which on methods count together however little each takes,
/// where the compilers do next to nothing: fewer compilations than one for each second of that.
const ALL: f64 = 0.5;
/// What compiled code would save of the interpreter's time: it takes some twenty times as long.
const SAVED: f64 = 0.95;
/// Samples from which on such a share is sure enough to be likely: that of n samples is known to
/// about its 1/√n, which is a fifth here.
const ENOUGH: usize = 30;
/// Methods that are named.
const NAMED: usize = 3;
/// Beginnings of arguments that let only some methods be compiled, or exclude some.
const LIMITS: [&str; 3] =
    ["-XX:CompileCommand=compileonly", "-XX:CompileOnly=", "-XX:CompileCommand=exclude"];
/// A JVM without compilers.
const INT: &str = "-Xint";

/// The rule.
pub struct JitNeverCompiled;

impl Rule for JitNeverCompiled {
    fn id(&self) -> &'static str {
        "jit-never-compiled"
    }

    fn layer(&self) -> Layer {
        Layer::Jit
    }

    fn about(&self) -> &'static str {
        "A method that is hot is compiled within milliseconds of running. Some never are: a method of more than 8,000 bytes of \
         bytecode (`HugeMethodLimit`; generated parsers, rule tables, template and script code), one that is excluded \
         (`-XX:CompileCommand`), one on which a compiler has given up, or all with `-Xint`. They run in the interpreter for good, some twenty \
         times slower, and a profile shows a hot method without a word on why.\n\n\
         **Evidence.** CPU samples whose innermost frame of all is an interpreted one of the same method, from first to last over 5 s or \
         more, and no compilation of that method where compilations were recorded; many such methods, however little each takes, where \
         they take half of the CPU time and hardly anything is compiled (`-XX:CompileCommand=compileonly`). Fewer than 30 samples are at most *consistent with* it.\n\n\
         **Confounders.** Code that has just become hot is interpreted for a short time, and then compiled: `jit-compile-burst`. Code that is thrown \
         away and compiled again: `jit-deopt-loop`. A full code cache: `jit-code-cache-full`. A loop that sleeps or waits is interpreted \
         all its life, for it runs seldom: the time of the kernel, the JVM and native code below an interpreted frame is none of the \
         interpreter's. Classes that are made at run time (lambdas, proxies) share a name: each of a thousand runs once or twice.\n\n\
         **Cost.** Nineteen twentieths of the time in these methods themselves: what compiled code would save; or all that operations run \
         longer in them, with the waiting for a CPU that follows, where that is more.\n\n\
         **Ruled out** by the CPU time in interpreted methods that stay so."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::CpuSamples]
    }

    /// All that is interpreted.
    fn slows_code<'a>(&self, case: &Case<'a>, _jvm: ProcessId) -> Option<(&'static Metric, ShareOfCode<'a>)> {
        let recording = case.recording;
        let share = move |stack: StackId| {
            let innermost = recording.frames_of(stack).next();
            f64::from(innermost.is_some_and(|frame| frame.frame_type() == FrameType::Interpreted))
        };
        Some((&reasons::WITH_INTERPRETED, Box::new(share)))
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let Some(cpu) = Cpu::of(case, jvm, interpreted) else { return unseen(self, case) };
        // What was interpreted all along is not what changed.
        if !case.base.is_empty() && has_no_compilers(case, jvm) {
            return Judgement::RuledOut {
                figure: ruled_out::ALL_INTERPRETED.fact().with("flag", Value::name(INT)).into(),
                source: "the JVM's arguments".into(),
            };
        }
        let compilations = JitCase::read(case, jvm);
        let compiled: BTreeSet<&str> = compilations.tasks.iter().map(|task| name_of(task.method())).collect();
        let lasting = lasting(case, jvm);
        let lasts = |method: &str| {
            let long = lasting.get(method).is_some_and(|ns| *ns >= FOR_GOOD_NS);
            long && !is_made_at_run_time(method) && !compiled.contains(method)
        };
        let all_s = cpu.by().into_iter().filter(|(name, _)| lasts(name)).map(|(_, ms)| ms).sum::<f64>() / 1e3;
        let idle_compilers = case.has(kind::JIT_COMPILE, jvm) && (compilations.tasks.len() as f64) < all_s;
        let together = idle_compilers && cpu.share(lasts) >= ALL;
        let stays = |method: &str| lasts(method) && (together || cpu.share(|one| one == method) >= COUNTS);
        let cost_ms = match cpu.worth(ruled_out::STAY_INTERPRETED.fact(), stays) {
            Ok(cost_ms) => cost_ms * SAVED,
            Err(ruled_out) => return ruled_out,
        };
        let methods: Vec<(&str, f64)> = cpu.by().into_iter().filter(|(name, _)| stays(name)).collect();
        Judgement::Found(Box::new(found(self, &cpu, jvm, (&methods, !compiled.is_empty()), cost_ms)))
    }
}

/// The innermost frame of a stack, where it is an interpreted method. What an interpreted method
/// calls takes as long when compiled code calls it.
fn interpreted<'a>(frames: &[Seen<'a>]) -> Option<&'a str> {
    let innermost = frames.first()?;
    (innermost.by == FrameType::Interpreted).then_some(innermost.name)
}

/// From the first to the last time that each method was seen to run interpreted, nanoseconds.
fn lasting<'a>(case: &Case<'a>, jvm: ProcessId) -> BTreeMap<&'a str, i64> {
    let recording = case.recording;
    let Some(kind) = recording.strings.find(sample::CPU) else { return BTreeMap::new() };
    let mut seen: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for sample in recording.samples.iter().filter(|s| s.kind == kind && s.process == jvm) {
        let Some(frame) = recording.frames_of(sample.stack).next() else { continue };
        if frame.frame_type() == FrameType::Interpreted {
            let ends = seen.entry(frame.name()).or_insert((sample.t_ns, sample.t_ns));
            *ends = (ends.0.min(sample.t_ns), ends.1.max(sample.t_ns));
        }
    }
    seen.into_iter().map(|(name, (first, last))| (name, last.saturating_sub(first))).collect()
}

fn has_no_compilers(case: &Case<'_>, jvm: ProcessId) -> bool {
    let arguments = case.recording.processes.get(jvm.index()).and_then(|p| p.fact(fact::JVM_ARGS));
    arguments.is_some_and(|args| args.split_whitespace().any(|arg| arg == INT))
}

/// The argument of the JVM that lets only some methods be compiled, or excludes some.
fn limits_compilation<'a>(case: &Case<'a>, jvm: ProcessId) -> Option<&'a str> {
    let arguments = case.recording.processes.get(jvm.index())?.fact(fact::JVM_ARGS)?;
    arguments.split_whitespace().find(|arg| LIMITS.iter().any(|limit| arg.starts_with(limit)))
}

fn found(
    rule: &dyn Rule,
    cpu: &Cpu<'_, '_>,
    jvm: ProcessId,
    (methods, others_compiled): (&[(&str, f64)], bool),
    cost_ms: f64,
) -> Finding {
    let is_one = |name: &str| methods.iter().any(|(method, _)| *method == name);
    let no_compilers = has_no_compilers(cpu.case, jvm);
    let samples = cpu.samples_of(is_one);
    let (ground, why) = match (no_compilers, others_compiled) {
        _ if samples < ENOUGH => (Ground::Fits, &reasons::FEW_SAMPLES),
        (true, _) => (Ground::Incomplete, &reasons::COMPILERS_OFF),
        (_, true) => (Ground::Incomplete, &reasons::OTHERS_COMPILED),
        (_, false) => (Ground::Fits, &reasons::STAYED_INTERPRETED),
    };
    let mut finding = cpu.case.finding(rule, jvm, ground.because(cpu.case, cost_ms, why), cost_ms);
    let most = methods.first().map_or("", |(method, _)| *method);
    let share = Value::share(cpu.share(is_one));
    let (title, culprit) = match no_compilers {
        true => {
            let flag = Value::name(INT);
            (titles::NO_COMPILERS.is(share).with("flag", flag.clone()), culprits::FLAG.is(flag))
        }
        false => {
            let (method, more) = (Value::name(most), methods.len().saturating_sub(1));
            let title = titles::NEVER_COMPILED.is(share).with("method", method.clone());
            (title.with("more", (more > 0).then(|| Value::count(more))), culprits::METHOD.is(method))
        }
    };
    finding.title = cpu.with_waits(title, cost_ms, is_one).into();
    finding.culprit = culprit.into();
    finding.meaning = meanings::INTERPRETED.fact().into();
    finding.windows = cpu.case.slow.clone();
    let one =
        |(name, ms): &(&str, f64)| compile::IN_METHOD.is(Value::ms(*ms)).with("method", Value::name(*name));
    let list = Value::list(methods.iter().take(NAMED).map(one));
    let stays = compile::STAYS_INTERPRETED.is(Value::share(cpu.share(is_one)));
    let stays = stays.with("samples", Value::count(samples));
    finding.evidence.push(summed(cpu.source(), stays.with("methods", list)));
    finding.remedies = remedies(no_compilers);
    if let Some(flag) = limits_compilation(cpu.case, jvm) {
        finding.remedies.insert(0, remedies::LEAVE_OUT_IF_FIXED.is(Value::name(flag)).into());
    }
    finding.verify = vec![checks::CODE_OF_C2.fact().into(), checks::LAST_BYTECODE.fact().into()];
    finding
}

fn remedies(no_compilers: bool) -> Vec<Remedy> {
    if no_compilers {
        return vec![remedies::LEAVE_OUT.is(Value::name(INT)).into()];
    }
    vec![
        remedies::SPLIT_METHOD.remedy(),
        remedies::COMPILE_HUGE_METHODS.remedy(),
        remedies::DO_NOT_EXCLUDE.remedy(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::built::{Built, jit_task, judged};
    use FrameType::{C2, Interpreted, Kernel, Native};

    const PRICE: &str = "shop.Rules.price";

    /// So many tenths of a second of a thread, 80% of them in a method.
    fn run(tenths: u32, by: FrameType) -> Built {
        let mut built = Built::jvm("17", "G1", 20.0);
        for i in 0..tenths {
            let method = if i % 5 == 0 { ("shop.Cart.add", C2) } else { (PRICE, by) };
            built.on_cpu("worker", &[method, ("shop.Shop.sell", C2)], f64::from(i) / 10.0, 100.0);
        }
        built
    }

    fn judge(built: Built) -> Judgement {
        judged(&JitNeverCompiled, &built.sealed())
    }

    #[test]
    fn a_method_that_is_interpreted_for_long_and_never_compiled_is_found() {
        let mut built = run(150, Interpreted);
        jit_task(&mut built, "shop.Cart.add(I)V", 0.0, 0.0, 5.0, 4);
        let Judgement::Found(finding) = judge(built) else { panic!("not found") };
        assert_eq!((finding.named(), finding.confidence), (PRICE, Confidence::Likely));
        let share = finding.fact(&compile::STAYS_INTERPRETED).number("value").unwrap();
        assert!((share - 0.8).abs() < 1e-6, "{share}");
        assert!(finding.advises(&remedies::COMPILE_HUGE_METHODS), "{:?}", finding.remedies);
        let Judgement::Found(unlogged) = judge(run(150, Interpreted)) else { panic!("not found") };
        assert_eq!(unlogged.confidence, Confidence::ConsistentWith);
        let mut int = run(150, Interpreted);
        int.fact(fact::JVM_ARGS, "-Xmx1g -Xint");
        let Judgement::Found(int) = judge(int) else { panic!("not found") };
        assert_eq!(int.culprit, INT);
        let mut int = run(150, Interpreted);
        int.fact(fact::JVM_ARGS, "-Xint");
        let (jvm, recording) = (int.jvm, int.sealed());
        let window = |from_s: i64, to_s: i64| {
            vec![crate::Window { from_ns: from_s * 1_000_000_000, to_ns: to_s * 1_000_000_000 }]
        };
        let whole = crate::built::whole_run(&recording);
        let case = Case { slow: window(5, 20), base: window(0, 5), whole_run: false, ..whole };
        assert!(
            matches!(JitNeverCompiled.judge(&case, jvm), Judgement::RuledOut { .. }),
            "in the baseline as well"
        );
    }

    #[test]
    fn many_methods_count_together_where_hardly_anything_is_compiled() {
        let methods: Vec<String> = (0..50).map(|i| format!("shop.Rules.rule{i}")).collect();
        let many = |tasks: u32| {
            let mut built = Built::jvm("17", "G1", 20.0);
            for i in 0..300_u32 {
                let method = (&*methods[i as usize % 50], Interpreted);
                built.on_cpu(
                    "worker",
                    &[method, ("shop.Shop.sell", Interpreted)],
                    f64::from(i) / 20.0,
                    100.0,
                );
            }
            for i in 0..tasks {
                jit_task(&mut built, "shop.Cart.add(I)V", f64::from(i) / 10.0, 0.0, 5.0, 4);
            }
            built.fact(fact::JVM_ARGS, "-Xmx1g -XX:CompileCommand=compileonly,shop.Cart::add");
            judge(built)
        };
        let Judgement::Found(all) = many(2) else { panic!("not found") };
        assert!(all.advises(&remedies::LEAVE_OUT_IF_FIXED), "{:?}", all.remedies);
        assert!(matches!(many(100), Judgement::RuledOut { .. }), "code that warms up");
    }

    #[test]
    fn a_method_that_is_compiled_in_the_end_or_was_just_begun_is_none() {
        let mut compiled = run(150, Interpreted);
        jit_task(&mut compiled, "shop.Rules.price(I)J", 14.0, 0.0, 5.0, 4);
        assert!(matches!(judge(compiled), Judgement::RuledOut { .. }));
        assert!(matches!(judge(run(40, Interpreted)), Judgement::RuledOut { .. }), "four seconds");
        assert!(matches!(judge(run(150, C2)), Judgement::RuledOut { .. }));
        assert!(matches!(judge(Built::jvm("17", "G1", 10.0)), Judgement::Inconclusive(_)));
    }

    #[test]
    fn a_thousand_classes_of_one_name_are_not_one_method_that_stays_interpreted() {
        let mut built = Built::jvm("17", "G1", 20.0);
        for i in 0..150 {
            let made = ("shop.Rules$$Lambda.applyAsInt", Interpreted);
            built.on_cpu("worker", &[made, ("shop.Rules.bind", C2)], f64::from(i) / 10.0, 100.0);
        }
        assert!(matches!(judge(built), Judgement::RuledOut { .. }));
    }

    /// A loop that puts something into a queue and sleeps, all its life in the interpreter: so many
    /// samples of itself, a second apart, and of what it calls.
    fn loop_that_sleeps(own: u32, below: u32) -> Built {
        let mut built = Built::jvm("17", "G1", 20.0);
        let (feed, root) = (("shop.Feed.run", Interpreted), ("java.lang.Thread.run", Interpreted));
        for i in 0..own + below {
            let at = 19.0 * f64::from(i) / f64::from(own + below);
            match i < own {
                true => built.on_cpu("feed", &[feed, root], f64::from(i), 200.0),
                false if i % 2 == 0 => built.on_cpu(
                    "feed",
                    &[("finish_task_switch", Kernel), ("clock_nanosleep", Native), feed, root],
                    at,
                    100.0,
                ),
                false => built.on_cpu("feed", &[("__lll_lock_wake", Native), feed, root], at, 100.0),
            }
        }
        jit_task(&mut built, "shop.Cart.add(I)V", 0.0, 0.0, 5.0, 4);
        built
    }

    #[test]
    fn the_kernel_and_native_code_below_an_interpreted_frame_are_no_interpreting() {
        let below = judge(loop_that_sleeps(2, 150));
        assert!(matches!(below, Judgement::RuledOut { .. }), "{below:?}");
    }

    #[test]
    fn a_few_samples_are_never_likely() {
        let Judgement::Found(few) = judge(loop_that_sleeps(14, 0)) else { panic!("not found") };
        assert_eq!(few.confidence, Confidence::ConsistentWith);
        assert_eq!(few.fact(&compile::STAYS_INTERPRETED).number("samples"), Some(14.0));
    }
}
