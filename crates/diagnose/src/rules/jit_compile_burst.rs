//! `jit-compile-burst`: a code path becomes hot all at once, and runs slow until its methods are compiled.

mod evidence;
mod methods;
mod samples;

use std::collections::{BTreeMap, HashSet};

use fathom_recording::ProcessId;

use self::evidence::{evidence, remedies};
use self::methods::{newly_hot, packages};
use self::samples::Support;
use super::jit_case::{JitCase, Task};
use super::jit_deopt_loop::in_a_loop;
use crate::intervals::Intervals;
use crate::quantity::{count, millis, plural, share};
use crate::{Case, Confidence, Finding, Judgement, Layer, Rule, Window};

/// Compile tasks per second from which they are a burst. A warmed-up service queues less than one a second (measured:
/// 0.3 a second over minutes of a database server); the seed burst queued 190.
const BURST_PER_S: f64 = 5.0;
/// And so many times the base's rate.
const TIMES_BASE: f64 = 5.0;
/// Fewer tasks than this are no burst, whatever their rate.
const MIN_TASKS: usize = 30;
/// Or: the top compiler busy for this share of the window …
const BUSY: f64 = 0.5;
/// … and this much more than in the base: few methods, each long to compile.
const BUSY_MORE: f64 = 0.3;
/// Fewest tasks of such a window.
const MIN_BUSY_TASKS: usize = 10;
/// Bins in which a burst is looked for, nanoseconds.
const BIN_NS: i64 = 1_000_000_000;
/// A burst may begin this long before the dip shows: throughput is told in ticks of a second or more, and the clocks
/// of two files may be apart by as much.
const LEAD_NS: i64 = 3_000_000_000;
/// Stretches of the burst closer than this are one: between its tiers a method runs on, counted and slow.
const BRIDGE_NS: i64 = 1_000_000_000;
/// A burst in a smaller part of the slow windows is judged in that part.
const PART: f64 = 0.5;
/// Of a burst's tasks, how many its densest part must hold to stand for it.
const MOST_TASKS: f64 = 0.6;
/// A JVM with a third of another's tasks in the same windows follows that one: its own new work is to talk to it.
const FOLLOWS: usize = 3;

/// See the module.
pub(crate) struct JitCompileBurst;

impl Rule for JitCompileBurst {
    fn id(&self) -> &'static str {
        "jit-compile-burst"
    }

    fn layer(&self) -> Layer {
        Layer::Jit
    }

    fn about(&self) -> &'static str {
        "A code path that had not run before (a migration, a new tenant, the first request of a kind) becomes hot all \
         at once. Until its methods are compiled they run in the interpreter, some twenty times slower, then in C1's \
         profiled code, two to three times slower; the compiler threads take processors away from the application \
         meanwhile.\n\n\
         **Evidence.** In a slow window: at least 5 compile tasks a second, 5 times the base's rate and 30 in all; or \
         C2 busy for half of the time and 30 points more than in the base. The burst begins no more than 3 s before \
         the dip shows. The finding names the methods that were never compiled before, tiers, on-stack replacements, \
         waits in the queue, its greatest length, how busy the compilers were, and the other JVMs beside it.\n\n\
         **Cost.** With CPU samples and the threads' switches (`fathom record`): what application threads ran interpreted, or \
         in C1's code, of methods that were compiled from the burst on, and what the compilers of all recorded JVMs took of \
         the processors that they waited for, both above the base's, and in the burst's own stretches, or their densest part, where these are less than half \
         of the slow windows. Where that does not matter, the burst is only what new code always brings, and no cause. Where there \
         are too few samples for shares, no more is charged than compilers worked and the samples show of such code. From logs \
         alone: the part of the loss that fell into the stretches in which tasks of the burst were waiting or being compiled, an upper bound, and the verdict is only *consistent with*; \
         samples of frame types, or the same run with `-XX:TieredStopAtLevel=1`, decide.\n\n\
         **Look-alikes.** A collection at the same time: the finding tells how long the JVM was stopped in the window, \
         and is only *consistent with* when stops explain a good part. Another process taking the processors: slow \
         code everywhere, but no new methods in the queue. A method compiled again and again is `jit-deopt-loop` and \
         does not count, an \
         empty queue with slow code `jit-code-cache-full`. Start-up: in the first 30 s of a JVM (less where the series \
         has kept its usual level for 5 s), or before the series has reached its level, it is told as start-up, and \
         only when the user's window lies there, with no base of the JVM before it.\n\n\
         **Needs** a LogCompilation file for waits and lengths; `-Xlog:jit+compilation=debug` or PrintCompilation show \
         rates and names alone. Without a slow window nothing is found: compiling alone is not slow; where compilers were busy for 5 % of the time and nothing tells when it was slow, it is not known."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Compilations]
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let jit = match JitCase::of(case, jvm, self) {
            Ok(jit) => jit,
            Err(judgement) => return judgement,
        };
        if case.whole_run {
            let (at_ns, most) = busiest(&jit);
            let after = jit.start_ns().map_or(0.0, |start| at_ns.saturating_sub(start) as f64 / 1e9).max(0.0);
            let (most, tasks) = (plural(most, "task", "tasks"), count(jit.tasks.len() as f64));
            let told =
                format!("{tasks} compile tasks, at most {most} a second, {after:.0} s after the start");
            let busy = case.compile_ms(jvm, &case.slow) / Case::length_ms(&case.slow).max(f64::MIN_POSITIVE);
            // Where nobody says when it was slow, a burst may have been: unless compilers were hardly busy.
            if case.loss.measured_on.is_empty() && busy >= crate::MATTERS_SHARE {
                return Judgement::CannotTell(crate::BlindSpot {
                    what: format!(
                        "whether compilation slowed {} down, for nothing tells when it was slow: {told}, compilers busy for {} of the time",
                        case.jvm_name(jvm),
                        crate::quantity::share(busy)
                    ),
                    rules: vec![self.id().to_owned()],
                    remedy: "a table of throughput or latency, or --slow and --base".into(),
                });
            }
            let slow = match case.loss.measured_on.is_empty() {
                true => format!("compilers busy for {} of the time", crate::quantity::share(busy)),
                false => "nothing was slow".to_owned(),
            };
            return jit.ruled_out(format!("{slow}; {told}"));
        }
        let looping = in_a_loop(&jit);
        let bursts: Vec<Burst<'_>> =
            case.slow.iter().filter_map(|w| Burst::in_window(&jit, *w, &looping)).collect();
        let stretches = bursts.iter().fold(Intervals::default(), |all, b| all.or(&b.stretches));
        let most_ms = cost_ms(case, jvm, &stretches);
        if bursts.is_empty() || !case.matters(most_ms) {
            return jit.ruled_out(quiet(&jit));
        }
        if let Some(leader) = leader(&jit, &bursts) {
            return jit.ruled_out(leader);
        }
        let base = Intervals::of_windows(&case.base);
        let near = case.clipped(&stretches.or(&base));
        let support = support(&jit, &bursts, &stretches);
        let cost_ms = match &support {
            Some((support, most_ms)) => support.cost_ms().min(*most_ms),
            None => samples::at_most_ms(&jit, &near, &bursts).map_or(most_ms, |ms| ms.min(most_ms)),
        };
        let support = support.map(|(support, _)| support);
        if support.is_none() && !case.matters(cost_ms) {
            return jit.ruled_out(format!(
                "{}; compilers worked for {} in these stretches, and samples show next to nothing that ran before it was compiled",
                quiet(&jit),
                millis(case.compile_ms(jvm, &near.slow))
            ));
        }
        match &support {
            Some(support) if !case.matters(cost_ms) => support.too_little(self, &jit),
            _ => {
                Judgement::Found(Box::new(found(self, &jit, &bursts, &stretches, support.as_ref(), cost_ms)))
            }
        }
    }
}

/// What samples and switches show of bursts, with the most that these can have cost there, milliseconds. The mean of a long
/// window hides what a burst did to a part of it, as one that other things slow down, too: so the bursts are judged in their
/// densest parts as well as in all of their stretches, as far as there are samples enough, and the part that shows more tells.
fn support<'a>(
    jit: &JitCase<'_, 'a>,
    bursts: &[Burst<'a>],
    stretches: &Intervals,
) -> Option<(Support<'a>, f64)> {
    let case = jit.case;
    let base = Intervals::of_windows(&case.base);
    let dense = bursts.iter().fold(Intervals::default(), |all, burst| all.or(&burst.densest()));
    let is_part = |part: &Intervals| part.length_ms() < PART * Case::length_ms(&case.slow);
    let parts = [dense, stretches.clone()].into_iter().filter(is_part);
    let near = parts.filter_map(|part| {
        let near = case.clipped(&part.or(&base));
        Some((Support::of(jit, &near, bursts)?, cost_ms(case, jit.jvm, &part)))
    });
    let cost_ms = |(support, most_ms): &(Support<'_>, f64)| support.cost_ms().min(*most_ms);
    near.max_by(|a, b| cost_ms(a).total_cmp(&cost_ms(b)))
        .or_else(|| Some((Support::of(jit, case, bursts)?, self::cost_ms(case, jit.jvm, stretches))))
}

/// The second with most tasks.
fn busiest(jit: &JitCase<'_, '_>) -> (i64, usize) {
    let mut bins: BTreeMap<i64, usize> = BTreeMap::new();
    for task in &jit.tasks {
        *bins.entry(task.queued_ns.div_euclid(BIN_NS)).or_default() += 1;
    }
    let most = bins.into_iter().max_by_key(|(bin, n)| (*n, std::cmp::Reverse(*bin)));
    most.map_or((0, 0), |(bin, n)| (bin.saturating_mul(BIN_NS), n))
}

/// Another JVM in which many times as much became hot in the same windows, in words.
fn leader(jit: &JitCase<'_, '_>, bursts: &[Burst<'_>]) -> Option<String> {
    let windows: Vec<Window> = bursts.iter().map(|b| b.window).collect();
    let own = jit.asked_in(&windows).count();
    let counts = others(jit).map(|other| (other.asked_in(&windows).count(), other.jvm));
    let (most, jvm) = counts.max_by_key(|(n, jvm)| (*n, std::cmp::Reverse(*jvm)))?;
    (most >= FOLLOWS * own).then(|| {
        let name = jit.case.jvm_name(jvm);
        format!(
            "{} compile tasks in the slow windows beside {} of {name}",
            count(own as f64),
            count(most as f64)
        )
    })
}

/// The compilations of the other JVMs.
fn others<'j, 'a>(jit: &'j JitCase<'j, 'a>) -> impl Iterator<Item = JitCase<'j, 'a>> {
    let jvms = jit.case.recording.processes.iter().enumerate().filter(|(_, p)| p.jvm);
    let others = jvms.map(|(i, _)| ProcessId(i as u32)).filter(|jvm| *jvm != jit.jvm);
    others.map(|jvm| JitCase::read(jit.case, jvm)).filter(|other| !other.tasks.is_empty())
}

fn quiet(jit: &JitCase<'_, '_>) -> String {
    let (slow, base) = (jit.per_s(&jit.case.slow), jit.per_s(&jit.case.base));
    let rate = format!("{slow:.1} compile tasks a second in the slow windows, {base:.1} in the base");
    if !jit.lengths_known {
        return rate;
    }
    let busy = |windows| share(jit.busy_share("c2", windows));
    format!("{rate}; C2 busy {} of the time, {} in the base", busy(&jit.case.slow), busy(&jit.case.base))
}

/// A burst within one slow window.
struct Burst<'a> {
    window: Window,
    tasks: Vec<Task<'a>>,
    /// Where its tasks were asked for, waiting or being compiled, within the window.
    stretches: Intervals,
    /// When it began.
    onset_ns: i64,
}

impl<'a> Burst<'a> {
    fn in_window(jit: &JitCase<'_, 'a>, window: Window, looping: &HashSet<&str>) -> Option<Self> {
        let early = Window { from_ns: window.from_ns.saturating_sub(LEAD_NS), to_ns: window.to_ns };
        let asked: Vec<Task<'a>> =
            jit.asked_in(&[early]).filter(|t| !looping.contains(t.method())).copied().collect();
        let base_per_s = jit.per_s(&jit.case.base);
        let limit = BURST_PER_S.max(TIMES_BASE * base_per_s);
        let mut bins: BTreeMap<i64, usize> = BTreeMap::new();
        for task in &asked {
            *bins.entry(task.queued_ns.div_euclid(BIN_NS)).or_default() += 1;
        }
        bins.retain(|_, n| *n as f64 >= limit);
        let in_bin = |t: &Task<'_>| bins.contains_key(&t.queued_ns.div_euclid(BIN_NS));
        let dense: Vec<Task<'a>> = asked.iter().filter(|t| in_bin(t)).copied().collect();
        let (busy, usual) = (jit.busy_share("c2", &[window]), jit.busy_share("c2", &jit.case.base));
        let tasks = if dense.len() >= MIN_TASKS {
            dense
        } else if asked.len() >= MIN_BUSY_TASKS && busy >= BUSY && busy >= usual + BUSY_MORE {
            asked
        } else {
            return None;
        };
        let onset_ns = tasks.first()?.queued_ns;
        // Wholly before the window it is the end of another story.
        tasks.iter().rfind(|t| t.done_ns >= window.from_ns)?;
        let at_work = tasks.iter().map(|t| {
            let bin = t.queued_ns.div_euclid(BIN_NS).saturating_add(1).saturating_mul(BIN_NS);
            (t.queued_ns, t.done_ns.max(if bins.is_empty() { t.done_ns } else { bin }))
        });
        let bridged = Intervals::of(at_work.map(|(from, to)| (from, to.saturating_add(BRIDGE_NS))));
        let stretches = bridged.and(&Intervals::of_windows(&[window]));
        (!stretches.is_empty()).then_some(Self { window, tasks, stretches, onset_ns })
    }

    /// The part of its stretches in which more tasks came than on average, where most of them came then; else all of them.
    fn densest(&self) -> Intervals {
        let of = |t_ns: i64| t_ns.div_euclid(BIN_NS);
        let (Some(first), Some(last)) = (self.tasks.first(), self.tasks.last()) else {
            return self.stretches.clone();
        };
        let mut bins: BTreeMap<i64, f64> =
            (of(first.queued_ns)..=of(last.queued_ns)).map(|b| (b, 0.0)).collect();
        self.tasks.iter().for_each(|task| *bins.entry(of(task.queued_ns)).or_default() += 1.0);
        let mean = self.tasks.len() as f64 / bins.len() as f64;
        // The stretch of bins with the greatest sum above the mean (Kadane).
        let (mut from, mut sum, mut best) = (*bins.keys().next().unwrap_or(&0), 0.0, (0.0, 0, 0));
        for (bin, tasks) in &bins {
            if sum <= 0.0 {
                (from, sum) = (*bin, 0.0);
            }
            sum += tasks - mean;
            if sum > best.0 {
                best = (sum, from, *bin);
            }
        }
        let held: f64 = bins.range(best.1..=best.2).map(|(_, tasks)| tasks).sum();
        if best.0 <= 0.0 || held < MOST_TASKS * self.tasks.len() as f64 {
            return self.stretches.clone();
        }
        let end = best.2.saturating_add(1).saturating_mul(BIN_NS);
        Intervals::of([(best.1.saturating_mul(BIN_NS), end)]).and(&self.stretches)
    }
}

/// What of the loss fell into the burst. Without a series: its length less the time in which the JVM was stopped
/// anyway, unless the loss was measured on those stops.
fn cost_ms(case: &Case<'_>, jvm: ProcessId, stretches: &Intervals) -> f64 {
    case.lost_during_ms(stretches).unwrap_or_else(|| match case.loss.lost_ms > 0.0 {
        true => 0.0,
        false => stretches.length_ms() - case.stopped_ms(jvm, &stretches.windows()),
    })
}

fn found(
    rule: &dyn Rule,
    jit: &JitCase<'_, '_>,
    bursts: &[Burst<'_>],
    stretches: &Intervals,
    support: Option<&Support<'_>>,
    cost_ms: f64,
) -> Finding {
    let case = jit.case;
    let tasks: Vec<Task<'_>> = bursts.iter().flat_map(|b| b.tasks.iter().copied()).collect();
    let fresh = newly_hot(jit, bursts);
    let start_up = bursts.iter().all(|b| is_start_up(jit, b.window));
    let (confidence, why) = sureness(jit, bursts, support, cost_ms, start_up);
    let mut finding = case.finding(rule, jit.jvm, confidence, cost_ms);
    finding.why_confidence = why;
    let methods = plural(fresh.len(), "method", "methods");
    let takes_cpus = support.is_some_and(Support::is_mostly_processors);
    finding.title = match (start_up, takes_cpus) {
        (true, _) => format!("start-up: {methods} compiled for the first time"),
        (_, true) => {
            format!("{methods} became hot at once: their compilation took the application's processors")
        }
        _ => format!("{methods} became hot at once and ran slow until compiled"),
    };
    finding.culprit = packages(&fresh);
    finding.meaning = match support {
        None => {
            "New code runs interpreted, many times slower, until C1 and then C2 have compiled it. When much becomes hot \
             at the same moment it queues up for the few compiler threads, which take processors from the application \
             as well."
        }
        Some(_) if takes_cpus => {
            "What becomes hot at the same moment is compiled at the same moment, and the compiler threads take the \
             processors that the application's threads wait for."
        }
        Some(_) => {
            "New code runs interpreted, then in C1's profiled code, until C2 has compiled it; when much becomes hot at \
             the same moment it queues up for the few compiler threads."
        }
    }
    .into();
    finding.evidence = evidence(jit, bursts, &tasks, &fresh);
    if let Some(support) = support {
        finding.evidence.splice(0..0, support.evidence(jit));
    }
    finding.windows = match support {
        Some(support) => stretches.and(&Intervals::of_windows(support.slow_windows())).windows(),
        None => stretches.windows(),
    };
    finding.remedies = remedies(jit);
    finding.verify = vec![
        "run the same load with -XX:TieredStopAtLevel=1 (C1 only): if the dip shrinks to a fraction, it was C2's \
         queue; if it stays, look for what else the new code does"
            .into(),
        format!(
            "after a warm-up of the path, the log shows fewer than {BURST_PER_S:.0} compile tasks a second in the \
             window, and the throughput keeps its level"
        ),
    ];
    finding
}

/// Whether a window lies in the start-up: what it is held against comes after it. A base before it shows the JVM at its usual
/// work already.
fn is_start_up(jit: &JitCase<'_, '_>, window: Window) -> bool {
    let start_ns = jit.start_ns().unwrap_or(i64::MIN);
    if jit.case.base.iter().any(|base| base.to_ns <= window.from_ns && base.to_ns > start_ns) {
        return false;
    }
    let young = jit.warm_ns().is_some_and(|warm| window.from_ns < warm);
    young || jit.case.warm_up.is_some_and(|w| window.from_ns < w.to_ns)
}

fn sureness(
    jit: &JitCase<'_, '_>,
    bursts: &[Burst<'_>],
    support: Option<&Support<'_>>,
    cost_ms: f64,
    start_up: bool,
) -> (Confidence, String) {
    let case = jit.case;
    let windows: Vec<Window> = match support {
        Some(support) => support.slow_windows().to_vec(),
        None => bursts.iter().map(|b| b.window).collect(),
    };
    let lost_ms = case.lost_during_ms(&Intervals::of_windows(&windows));
    let stopped_ms = case.excess_ms(
        case.stopped_ms(jit.jvm, &windows),
        case.stopped_ms(jit.jvm, &case.base) * Case::length_ms(&windows)
            / Case::length_ms(&case.slow).max(1.0),
    );
    let weak = |why: &str| (Confidence::ConsistentWith, why.to_owned());
    if start_up {
        return weak("every JVM compiles much in its first seconds: expected, and as long as that");
    }
    let Some(lost_ms) = lost_ms else {
        return weak(
            "no series of throughput or latency shows that anything was lost; the cost is how long it lasted, and \
             no more than compilers worked and new code ran, as far as samples show that",
        );
    };
    if cost_ms < 0.5 * lost_ms {
        return weak(match support {
            Some(_) => {
                "what samples and switches show of it explains less than half of what these windows lost"
            }
            None => {
                "less than half of what these windows lost was lost while tasks of the burst were under way"
            }
        });
    }
    if stopped_ms > 0.3 * lost_ms {
        return weak("stops of the JVM explain a good part of the same windows");
    }
    if bursts.iter().any(|b| b.onset_ns > b.window.from_ns.saturating_add(b.window.length_ns() / 2)) {
        return weak("in a window the burst began only when half of it was over");
    }
    match support {
        Some(_) => (
            Confidence::Likely,
            "samples and switches show what ran before it was compiled, and who took the processors; that explains half of \
             the loss or more"
                .into(),
        ),
        None => weak(
            "the burst begins with the dip and most of the loss falls into it; logs do not show which code ran interpreted, \
             so that the new code is slow for another reason is not excluded: CPU samples (fathom record) would tell",
        ),
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType;

    use super::*;
    use crate::Loss;
    use crate::built::{Built, jit_task};

    const S: i64 = 1_000_000_000;

    fn window(from_s: i64, to_s: i64) -> Window {
        Window { from_ns: from_s * S, to_ns: to_s * S }
    }

    /// A minute of quiet from 40 s on, then a slow window of 100 to 110 s in which half is lost.
    fn judge(built: Built, slow: Window) -> Judgement {
        let (jvm, recording) = (built.jvm, built.sealed());
        let ticks = (slow.from_ns / S..slow.to_ns / S).map(|s| (window(s, s + 1), 500.0));
        let lost_by: Vec<_> = ticks.collect();
        let lost_ms = lost_by.iter().map(|(_, ms)| ms).sum();
        let case = Case {
            recording: &recording,
            slow: vec![slow],
            base: vec![window(40, 95)],
            whole_run: false,
            loss: Loss { lost_ms, slow_rate: Some(50.0), base_rate: Some(100.0), ..Loss::default() },
            found_on_stops: false,
            warm_up: None,
            lost_by,
            exchanges: None,
            chains: Default::default(),
        };
        JitCompileBurst.judge(&case, jvm)
    }

    fn burst(at_s: f64, tasks: usize) -> Built {
        let mut built = Built::jvm("17", "Parallel", 200.0);
        for i in 0..20 {
            jit_task(&mut built, "app.Old.run()", 41.0 + 2.0 * f64::from(i), 0.0, 5.0, 3);
        }
        for i in 0..tasks {
            let at = at_s + i as f64 * 0.01;
            let tier = if i % 3 == 0 { 4 } else { 3 };
            jit_task(&mut built, &format!("app.shift.M{i}.go()"), at, 50.0 * i as f64, 20.0, tier);
        }
        built
    }

    /// The same with samples of the worker every 10 ms, in code of a kind from 100 to 110 s and compiled before, and of the
    /// compiler in the dip.
    fn sampled(by: FrameType, method: &str, compiling: f64) -> Built {
        let mut built = burst(100.2, 120);
        built.watched("worker", 200.0);
        for i in 0..7_000 {
            let at = 40.0 + f64::from(i) * 0.01;
            if (100.0..110.0).contains(&at) {
                built.on_cpu(
                    "worker",
                    &[(method, by), ("app.Main.run", FrameType::Interpreted)],
                    at,
                    10.0 * (1.0 - compiling),
                );
                built.on_cpu(
                    "C2 CompilerThread0",
                    &[("Compile::Compile", FrameType::Jvm)],
                    at,
                    10.0 * compiling,
                );
            } else {
                built.on_cpu("worker", &[("app.Old.run", FrameType::C2)], at, 10.0);
            }
        }
        if compiling > 0.0 {
            for i in 0..100 {
                built.preempted(
                    "worker",
                    100.0 + f64::from(i) * 0.1,
                    100.0 * compiling,
                    0.0,
                    "C2 CompilerThre (9)",
                );
            }
        }
        built
    }

    #[test]
    fn samples_of_code_that_is_compiled_later_make_it_likely() {
        let built = sampled(FrameType::Interpreted, "app.shift.M7.go", 0.0);
        let Judgement::Found(finding) = judge(built, window(100, 110)) else { panic!() };
        assert_eq!(finding.confidence, Confidence::Likely, "{}", finding.why_confidence);
        let text: Vec<_> = finding.evidence.iter().map(|e| e.text.as_str()).collect();
        assert!(text.iter().any(|t| t.contains("100 % interpreted")), "{text:?}");
        assert!(!finding.meaning.contains("times slower"), "{}", finding.meaning);
    }

    #[test]
    fn a_burst_whose_code_runs_compiled_is_what_new_code_brings_and_no_cause() {
        for (by, method) in [
            (FrameType::C2, "app.shift.M7.go"),
            // Never compiled: slow for another reason.
            (FrameType::Interpreted, "app.Huge.table"),
            (FrameType::Native, "connect"),
        ] {
            let Judgement::RuledOut { figure, .. } = judge(sampled(by, method, 0.0), window(100, 110)) else {
                panic!("{by:?} {method}")
            };
            assert!(figure.contains("0 % interpreted"), "{figure}");
        }
    }

    #[test]
    fn compilers_that_have_the_processors_which_the_application_waits_for_are_the_cause() {
        let built = sampled(FrameType::C2, "app.shift.M7.go", 0.6);
        let Judgement::Found(finding) = judge(built, window(100, 110)) else { panic!() };
        assert!(finding.title.contains("took the application's processors"), "{}", finding.title);
        let text: Vec<_> = finding.evidence.iter().map(|e| e.text.as_str()).collect();
        assert!(
            text.iter().any(|t| t.contains("compilers took 0.60 processors (0.00 in the base)")),
            "{text:?}"
        );
        assert!(text.iter().any(|t| t.contains("waited for a CPU for 60 %")), "{text:?}");
    }

    #[test]
    fn a_burst_that_begins_with_the_dip_is_consistent_with_it_and_names_the_new_methods() {
        let Judgement::Found(finding) = judge(burst(100.2, 120), window(100, 110)) else { panic!() };
        assert_eq!(finding.confidence, Confidence::ConsistentWith, "{}", finding.why_confidence);
        assert!(finding.why_confidence.contains("logs do not show"), "{}", finding.why_confidence);
        assert!(finding.title.starts_with("120 methods became hot"), "{}", finding.title);
        assert_eq!(finding.culprit, "app.shift (120)");
        assert!(finding.share.unwrap() > 0.5 && finding.cost_ms < 5_000.0, "{finding:?}");
        let text: Vec<_> = finding.evidence.iter().map(|e| e.text.as_str()).collect();
        assert!(text.iter().any(|t| t.contains("80 at tier 3, 40 at tier 4")), "{text:?}");
        assert!(text.iter().any(|t| t.contains("200 ms after the slow window")), "{text:?}");
        assert!(text.iter().any(|t| t.contains("waits in the queue: C2 p50")), "{text:?}");
    }

    #[test]
    fn a_burst_at_another_time_or_of_a_few_tasks_explains_nothing() {
        for built in [burst(150.0, 120), burst(100.2, 20), burst(60.0, 0)] {
            let Judgement::RuledOut { figure, .. } = judge(built, window(100, 110)) else { panic!() };
            assert!(figure.contains("in the slow windows"), "{figure}");
        }
    }

    #[test]
    fn start_up_is_called_start_up_and_never_more_than_consistent() {
        let Judgement::Found(finding) = judge(burst(5.0, 300), window(3, 13)) else { panic!() };
        assert_eq!(finding.confidence, Confidence::ConsistentWith);
        assert!(finding.title.starts_with("start-up: "), "{}", finding.title);
    }

    /// A case in which nothing tells what was lost.
    fn judge_unmeasured(built: Built, slow: Window, base: Window) -> Judgement {
        let (jvm, recording) = (built.jvm, built.sealed());
        let ((from, to), base) = ((slow.from_ns / S, slow.to_ns / S), (base.from_ns / S, base.to_ns / S));
        let measured = crate::built::slow_and_base(&recording, (from, to), base, 0.0);
        JitCompileBurst.judge(&Case { loss: Loss::default(), lost_by: Vec::new(), ..measured }, jvm)
    }

    #[test]
    fn what_a_base_precedes_is_no_start_up() {
        let judged = |base| match judge_unmeasured(burst(20.2, 120), window(20, 30), base) {
            Judgement::Found(finding) => finding.title,
            other => panic!("{other:?}"),
        };
        let title = judged(window(5, 15));
        assert!(title.starts_with("120 methods became hot at once"), "{title}");
        let title = judged(window(50, 90));
        assert!(title.starts_with("start-up: "), "{title}");
    }

    #[test]
    fn no_more_is_charged_than_compilers_worked_and_new_code_ran_where_no_loss_was_measured() {
        let judged = |by: FrameType| {
            let mut built = Built::jvm("17", "Parallel", 200.0);
            for i in 0..120 {
                let at = 100.2 + f64::from(i) * 0.01;
                jit_task(&mut built, &format!("app.shift.M{i}.go()"), at, 1.0, 0.2, 4);
            }
            // A worker that mostly sleeps: too few samples for shares.
            for i in 0..50 {
                built.on_cpu("worker", &[("app.shift.M7.go", by)], 100.2 + f64::from(i) * 0.02, 20.0);
            }
            judge_unmeasured(built, window(100, 110), window(40, 95))
        };
        let Judgement::RuledOut { figure, .. } = judged(FrameType::C2) else { panic!("found") };
        assert!(figure.contains("compilers worked for 24 ms in these stretches"), "{figure}");
        let Judgement::Found(finding) = judged(FrameType::Interpreted) else { panic!("not found") };
        assert!((finding.cost_ms - 1_024.0).abs() < 1.0, "{}", finding.cost_ms);
    }

    #[test]
    fn a_burst_is_judged_where_it_was_and_not_over_a_long_window() {
        judged_where_it_was(burst(100.2, 120));
    }

    #[test]
    fn a_burst_that_dies_down_slowly_is_judged_where_it_was_dense() {
        let mut built = burst(100.2, 600);
        for i in 0..400 {
            let at = 108.0 + f64::from(i) * 0.16;
            jit_task(&mut built, &format!("app.late.M{i}.go()"), at, 0.0, 5.0, 3);
        }
        let finding = judged_where_it_was(built);
        assert!(finding.windows.iter().all(|w| w.to_ns <= 110 * S), "{:?}", finding.windows);
    }

    /// Judged over 72 s. The worker waits for a tenth of the base, for two fifths in the first nine seconds, while compilers
    /// work, and not at all afterwards.
    fn judged_where_it_was(mut built: Built) -> Box<Finding> {
        built.watched("worker", 200.0);
        for i in 0..1_320 {
            let at = 40.0 + f64::from(i) * 0.1;
            let (waits, compiles) = match at {
                at if at < 100.0 => (0.1, 0.0),
                at if at < 109.0 => (0.4, 0.4),
                _ => (0.0, 0.0),
            };
            built.on_cpu("worker", &[("app.Old.run", FrameType::C2)], at, 100.0 * (1.0 - waits));
            if waits > 0.0 {
                built.preempted("worker", at, 100.0 * waits, 0.0, "C2 CompilerThre (9)");
            }
            if compiles > 0.0 {
                let frames = [("Compile::Compile", FrameType::Jvm)];
                built.on_cpu("C2 CompilerThread0", &frames, at, 100.0 * compiles);
            }
        }
        // Shares are told of a hundred samples.
        built.on_cpu("worker", &[("app.Old.run", FrameType::Interpreted)], 30.0, 1.0);
        for i in 0..100 {
            built.on_cpu("worker", &[("app.Old.run", FrameType::C2)], 100.5 + f64::from(i) * 0.01, 0.1);
        }
        let Judgement::Found(finding) = judge(built, window(100, 172)) else { panic!("not found") };
        assert!(finding.title.contains("took the application's processors"), "{}", finding.title);
        assert!(finding.cost_ms > 1_800.0 && finding.cost_ms < 4_300.0, "{}", finding.cost_ms);
        finding
    }

    #[test]
    fn stops_in_the_same_windows_weaken_it() {
        let mut built = burst(100.2, 120);
        built.pause("Pause Full", "Allocation Failure", 103.0, 4_000.0, &[]);
        let Judgement::Found(finding) = judge(built, window(100, 110)) else { panic!() };
        assert!(finding.why_confidence.contains("stops of the JVM explain"), "{}", finding.why_confidence);
    }

    #[test]
    fn compiling_without_a_slow_window_is_no_finding_and_ruled_out_only_where_it_was_little_or_a_series_was_steady()
     {
        let judged = |tasks, measured_on: &str| {
            let recording = burst(100.2, tasks).sealed();
            let loss = Loss { measured_on: measured_on.into(), ..Loss::default() };
            let case = Case { loss, ..crate::built::whole_run(&recording) };
            JitCompileBurst.judge(&case, fathom_recording::ProcessId(0))
        };
        let Judgement::RuledOut { figure, .. } = judged(300, "") else { panic!() };
        assert!(figure.starts_with("compilers busy for") && figure.contains("320 compile tasks"), "{figure}");
        let Judgement::CannotTell(spot) = judged(500, "") else { panic!() };
        assert!(spot.what.contains("compilers busy for 5.1 % of the time"), "{}", spot.what);
        let Judgement::RuledOut { figure, .. } = judged(500, "throughput of app.csv") else { panic!() };
        assert!(figure.starts_with("nothing was slow; 520 compile tasks"), "{figure}");
        let silent = Built::jvm("17", "G1", 10.0).sealed();
        assert!(matches!(crate::built::judged(&JitCompileBurst, &silent), Judgement::CannotTell(_)));
    }

    #[test]
    fn a_jvm_that_follows_another_is_not_the_cause() {
        let mut built = burst(100.2, 150);
        let leader = built.jvm;
        let follower = built.another_jvm("follower");
        for i in 0..40 {
            let at_s = 100.3 + 0.01 * f64::from(i);
            jit_task(&mut built, &format!("app.Talk.m{i}()"), at_s, 1.0, 1.0, 3);
        }
        let recording = built.sealed();
        let case = Case {
            recording: &recording,
            slow: vec![window(100, 110)],
            base: vec![window(40, 95)],
            whole_run: false,
            loss: Loss::default(),
            found_on_stops: false,
            warm_up: None,
            lost_by: Vec::new(),
            exchanges: None,
            chains: Default::default(),
        };
        assert!(matches!(JitCompileBurst.judge(&case, leader), Judgement::Found(_)));
        let judged = JitCompileBurst.judge(&case, follower);
        assert!(
            matches!(&judged, Judgement::RuledOut { figure, .. } if figure.contains("150 of App")),
            "{judged:?}"
        );
    }
}
