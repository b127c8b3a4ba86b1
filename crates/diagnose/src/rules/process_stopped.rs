//! `process-stopped`: the process was stopped from outside, by a signal, a debugger or the freezer.

use fathom_recording::ProcessId;
use fathom_recording::vocabulary::{kind, source};

use super::cpu_contention::CpuContention;
use super::gc_case::{cited, summed};
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, meanings, reasons, remedies, titles, waits as facts};
use crate::intervals::Intervals;
use crate::stop_delay::StopDelay;
use crate::waits::{Category, frozen};
use crate::{Case, Fact, Finding, Judgement, Layer, Rule};

/// A stop that is worth a finding whatever it is of the whole, milliseconds: requests time out.
const LONG_MS: f64 = 1_000.0;

/// Stops of most threads at once that are so many, and so short in the mean, milliseconds: few
/// threads that are each stopped at every system call, as a tracer does.
const MANY_SHORT: (usize, f64) = (50, 50.0);
/// Share of the time in which threads have work that a tracer must take.
const TRACED_SHARE: f64 = 0.05;

/// The rule.
pub struct ProcessStopped;

impl Rule for ProcessStopped {
    fn id(&self) -> &'static str {
        "process-stopped"
    }

    fn layer(&self) -> Layer {
        Layer::Cpu
    }

    fn about(&self) -> &'static str {
        "SIGSTOP (`kill -STOP`, Ctrl-Z, job control), a debugger that attaches, and the freezer of a cgroup (`docker pause`, a \
         snapshot of a container or machine) stop every thread of a process wherever it is. Nothing runs, nothing is logged, and the \
         JVM does not know.\n\n\
         **Evidence.** Most threads of the application are off the CPU in the kernel's functions for stopped tasks \
         (`do_signal_stop`, `ptrace_stop`, `do_freezer_trap`, `__refrigerator`) at the same time. Or each of them is, one at a time, for a good part of the time in which it had work: that is a tracer (`strace`, \
         `gdb`), and who lets the threads go names it.\n\n\
         **Confounders.** A quota that is used up (the scheduler records it), a machine that is paused as a whole (its clock \
         and this recording stand as well), a stop by the JVM itself: each has other functions on its stacks.\n\n\
         **Ruled out** by the switches of the JVM's threads, none of which was there for long."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Switches]
    }

    fn of_any_program(&self) -> bool {
        true
    }

    fn is_about_stops(&self) -> bool {
        true
    }

    fn reports(&self, _finding: &Finding, category: Category, _method: &str) -> bool {
        category == Category::Frozen
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        if !case.has(kind::SCHED_OFF, jvm) {
            return Judgement::NotApplicable;
        }
        let stacks = case.known.stacks();
        let frozen = frozen::of(case.recording, stacks, jvm);
        let within = |windows: &[crate::Window]| {
            frozen.intervals.and(&crate::intervals::Intervals::of_windows(windows))
        };
        let (slow, base_ms) = (within(&case.slow), within(&case.base).length_ms());
        let delays_ms = StopDelay::cost_ms(case, &frozen.intervals);
        let cost_ms = case.excess_ms(slow.length_ms(), base_ms).max(delays_ms);
        let source = source::SCHED;
        if cost_ms < LONG_MS && !case.matters(cost_ms) {
            if let Some(traced) = Traced::of(case, jvm, &frozen) {
                return Judgement::Found(Box::new(traced.finding(self, case, jvm)));
            }
            return Judgement::RuledOut {
                figure: facts::HARDLY_FROZEN.is(Value::ms(slow.length_ms())).into(),
                source: source.into(),
            };
        }
        let times = slow.ranges().len();
        let many_short = times >= MANY_SHORT.0 && slow.length_ms() < MANY_SHORT.1 * times as f64;
        if let Some(traced) = many_short.then(|| Traced::of(case, jvm, &frozen)).flatten() {
            return Judgement::Found(Box::new(traced.finding(self, case, jvm)));
        }
        let why = &reasons::THREADS_STOPPED;
        let mut finding = case.finding(self, jvm, Ground::Standstill.because(case, cost_ms, why), cost_ms);
        let title = titles::PROCESS_STOPPED.is(Value::ms(slow.length_ms()));
        let title = title.with("jvm", Value::name(case.jvm_name(jvm)));
        finding.title = title.with("times", (times > 1).then(|| Value::count(times))).into();
        finding.culprit = culprits::STOPPER.fact().into();
        finding.meaning = meanings::PROCESS_STOPPED.fact().into();
        finding.evidence.push(summed(
            source,
            facts::FROZEN.is(Value::ms(slow.length_ms())).over(Value::ms(slow.length_ms() - cost_ms)),
        ));
        if let Some(span) = &frozen.longest {
            let took = Value::ms(span.duration_ns() as f64 / 1e6);
            finding.evidence.push(cited(span, facts::FROZEN_LONGEST.is(took)));
        }
        finding.remedies = vec![remedies::FIND_STOPPER.remedy()];
        finding.verify = vec![checks::PROCESS_STATE.fact().into(), checks::NOT_STOPPED.fact().into()];
        finding.windows = slow.windows();
        Judgement::Found(Box::new(finding))
    }
}

/// Threads that are stopped one at a time: signals and freezers stop all of a process, a tracer
/// each thread that makes a system call.
struct Traced<'a> {
    cost_ms: f64,
    added_up_ms: f64,
    /// Share of the time in which threads had work, slow and in the baseline.
    share: (f64, f64),
    by: Option<&'a str>,
}

impl<'a> Traced<'a> {
    /// `None` where it costs too little to matter.
    fn of(case: &Case<'a>, jvm: ProcessId, frozen: &frozen::Frozen<'a>) -> Option<Self> {
        let cpu = CpuContention::of(case, jvm);
        // Most stops of a tracer are too short to be recorded one by one: the ledger has the sums.
        let stopped_ms = |windows: &[crate::Window]| {
            let within = Intervals::of_windows(windows);
            let threads = case.chains().application_threads(jvm).into_iter();
            let of = |id| Some(case.chains().by_category(id)?[Category::Frozen.index()].shared_ns(&within));
            threads.filter_map(of).sum::<i64>() as f64 / 1e6
        };
        let share = |windows: &[crate::Window], active_ms: f64| {
            (stopped_ms(windows) / active_ms.max(f64::MIN_POSITIVE)).min(1.0)
        };
        let slow = share(&case.slow, cpu.slow.active_ms);
        let base = cpu.base.as_ref().map_or(0.0, |base| share(&case.base, base.active_ms));
        let cost_ms = (slow - base).max(0.0) * cpu.slow.any_active_ms;
        let traced = Self {
            cost_ms,
            added_up_ms: stopped_ms(&case.slow),
            share: (slow, base),
            by: frozen.let_go_by(),
        };
        (case.matters(cost_ms) && traced.added_up_ms >= LONG_MS && slow >= TRACED_SHARE).then_some(traced)
    }

    fn finding(&self, rule: &dyn Rule, case: &Case<'_>, jvm: ProcessId) -> Finding {
        let why = &reasons::THREADS_TRACED;
        let sure = Ground::Incomplete.because(case, self.cost_ms, why);
        let mut finding = case.finding(rule, jvm, sure, self.cost_ms);
        let by = self.by.map(Value::name);
        let title = titles::PROCESS_TRACED.is(Value::share(self.share.0)).with("by", by.clone());
        finding.title = title.with("jvm", Value::name(case.jvm_name(jvm))).into();
        finding.culprit = Fact { value: by, ..culprits::TRACER.fact() }.into();
        finding.meaning = meanings::TRACED.fact().into();
        finding.evidence.push(summed(
            source::SCHED,
            facts::TRACED
                .is(Value::ms(self.added_up_ms))
                .with("share", Value::share(self.share.0))
                .over(Value::share(self.share.1)),
        ));
        finding.remedies = vec![remedies::END_TRACER.remedy()];
        finding.verify = vec![checks::NO_TRACER.fact().into()];
        finding.windows.clone_from(&case.slow);
        finding
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::{FrameType, Recording, Role, Sink, Source, SpanRow};

    use super::*;
    use crate::built::{Built, judged};

    /// Threads that are off the CPU from 10 s to 13 s in a function of the kernel, `standing` of
    /// them in that for stopped tasks.
    fn recording(standing: usize, threads: usize) -> Recording {
        let mut built = Built::jvm("17", "G1", 60.0);
        let jvm = built.jvm;
        let recording = &mut built.recording;
        let source = recording.add_source(Source {
            name: "sched".into(),
            format: "sched".into(),
            covers_ns: Some((0, 60_000_000_000)),
            ..Source::default()
        });
        for i in 0..threads {
            let thread = recording.thread(jvm, Some(100 + i as i64), &format!("worker-{i}"), Role::App);
            let park = recording.frame("jdk.internal.misc.Unsafe.park", "", FrameType::C2, -1);
            let park = recording.stack(None, park);
            let name = if i < standing { "do_signal_stop" } else { "futex_wait_queue" };
            let leaf = recording.frame(name, "", FrameType::Kernel, -1);
            let stack = recording.stack(Some(park), leaf);
            for (kind, from_s, to_s, stack) in
                [(kind::SCHED_WATCHED, 0, 60, None), (kind::SCHED_OFF, 10, 13, Some(stack))]
            {
                recording.span(&SpanRow {
                    thread: Some(thread),
                    stack,
                    ..SpanRow::new(
                        kind,
                        "sleeping",
                        (from_s * 1_000_000_000, to_s * 1_000_000_000),
                        jvm,
                        source,
                    )
                });
            }
        }
        built.sealed()
    }

    /// The second 10 s of a recording compared with the first.
    fn halves(recording: &Recording) -> Case<'_> {
        let window = |from_s: i64, to_s: i64| {
            vec![crate::Window { from_ns: from_s * 1_000_000_000, to_ns: to_s * 1_000_000_000 }]
        };
        let whole = crate::built::whole_run(recording);
        Case { slow: window(10, 20), base: window(0, 10), whole_run: false, ..whole }
    }

    #[test]
    fn a_process_that_is_stopped_from_outside_is_reported_and_one_that_waits_is_not() {
        let Judgement::Found(finding) = judged(&ProcessStopped, &recording(4, 4)) else {
            panic!("not found")
        };
        assert_eq!(finding.fact(&facts::FROZEN).number("value"), Some(3_000.0));
        assert!((finding.cost_ms - 3_000.0).abs() < 1e-6);
        for standing in [0, 1] {
            let judgement = judged(&ProcessStopped, &recording(standing, 4));
            assert!(matches!(judgement, Judgement::RuledOut { .. }), "{standing}: {judgement:?}");
        }
    }

    #[test]
    fn time_in_which_a_process_was_stopped_from_outside_is_no_time_in_which_its_jvm_was_not_stopped() {
        let recording = recording(4, 4);
        let jvm = fathom_recording::ProcessId(0);
        let windows = [crate::Window { from_ns: 9_000_000_000, to_ns: 14_000_000_000 }];
        let stacks = crate::waits::stack::ByStack::by_frames(&recording);
        let rows = crate::ledger::ledger(&recording, &stacks, &[jvm], &windows, &[], &crate::Loss::default());
        let of = |category| rows.iter().find(|row| row.category_id == category)?.slow_ms;
        assert_eq!(of(crate::LedgerCategory::Frozen), Some(3_000.0), "{rows:?}");
        assert_eq!(of(crate::LedgerCategory::NotStopped), Some(2_000.0), "{rows:?}");
    }

    /// Of threads without work it is often not recorded that they were stopped as well.
    #[test]
    fn threads_that_are_stopped_together_are_no_tracers_work_however_many_others_there_are() {
        let Judgement::Found(finding) = judged(&ProcessStopped, &recording(12, 27)) else {
            panic!("not found")
        };
        assert_eq!(finding.fact(&facts::FROZEN).number("value"), Some(3_000.0));
        assert!((finding.cost_ms - 3_000.0).abs() < 1e-6);
    }

    #[test]
    fn many_short_stops_of_few_threads_are_a_tracers() {
        let mut built = Built::jvm("17", "G1", 20.0);
        for worker in ["worker-0", "worker-1"] {
            built.watched(worker, 20.0);
            for i in 0..200 {
                let at = f64::from(i) * 0.1;
                let run = [("app.Main.run", FrameType::C2)];
                built.on_cpu(worker, &run, at + 0.04, if at >= 10.0 { 50.0 } else { 100.0 });
                if at >= 10.0 {
                    let stop = [("ptrace_stop", FrameType::Kernel), ("app.Main.run", FrameType::C2)];
                    built.with_stack((kind::SCHED_OFF, "sleeping"), worker, &stop, &[], (at + 0.05, 20.0));
                }
            }
        }
        built.preempted("worker-0", 5.0, 2.0, 0.0, "");
        let (jvm, recording) = (built.jvm, built.sealed());
        let case = halves(&recording);
        let judgement = ProcessStopped.judge(&case, jvm);
        let Judgement::Found(finding) = judgement else { panic!("{judgement:?}") };
        assert_eq!(finding.title.fact().metric, &titles::PROCESS_TRACED, "{finding:#?}");
    }

    /// Stops of a tenth of a millisecond, at two system calls of each: of the dip they take half.
    #[test]
    fn stops_that_are_too_short_to_be_recorded_one_by_one_show_a_tracer() {
        let mut built = Built::jvm("17", "G1", 20.0);
        for worker in ["worker-0", "worker-1"] {
            built.watched(worker, 20.0);
            for i in 0..200 {
                let at = f64::from(i) * 0.1;
                let traced = at >= 10.0;
                let run = [("app.Main.run", FrameType::C2)];
                built.on_cpu(worker, &run, at + 0.04, if traced { 50.0 } else { 100.0 });
                if traced {
                    let stop = [("ptrace_stop", FrameType::Kernel), ("app.Main.run", FrameType::C2)];
                    built.short_waits(worker, &stop, at + 0.09, 50.0);
                }
            }
        }
        built.preempted("worker-0", 5.0, 2.0, 0.0, "");
        let (jvm, recording) = (built.jvm, built.sealed());
        let case = halves(&recording);
        let judgement = ProcessStopped.judge(&case, jvm);
        let Judgement::Found(finding) = judgement else { panic!("{judgement:?}") };
        let share = finding.fact(&facts::TRACED).number("share").unwrap();
        assert!((share - 0.49).abs() < 0.005, "{share}");
    }

    #[test]
    fn without_a_series_the_time_in_which_the_process_was_stopped_is_the_slow_window() {
        let recording = recording(4, 4);
        let diagnosis = crate::diagnose(&recording, &crate::Options::default()).unwrap();
        assert_eq!(diagnosis.windows.slow.len(), 1, "{:?}", diagnosis.windows.how);
        assert!((diagnosis.loss.lost_ms - 3_000.0).abs() < 1.0, "{:?}", diagnosis.loss);
        assert_eq!(diagnosis.findings[0].rule, "process-stopped");
    }
}
