//! What the finding rests on: threads that waited for a CPU, and who had it.

use super::super::cpu_contention::{CpuContention, last_runners};
use super::super::gc_case::summed;
use super::{NAMED, STEAL, Taken};
use crate::Evidence;
use crate::chain::spent::Spent;
use crate::facts::{Fact, Value, cpu as facts};

/// CPUs that other JVMs, or the recorder, must keep busy to be reported.
const REPORTED_CPUS: f64 = 0.05;

/// Time of the threads, who took the CPUs from them, and who else used them.
pub(super) fn evidence(cpu: &CpuContention<'_, '_>, taken: &Taken) -> Vec<Evidence> {
    let (slow, base) = (&cpu.slow, cpu.base.as_ref());
    let ms = |of: fn(&Spent<'_>) -> f64| (Value::ms(of(slow)), base.map(|base| Value::ms(of(base))));
    let (waiting, waiting_before) = ms(|s| s.waiting_ms);
    let (running, running_before) = ms(|s| s.running_ms);
    let (active, active_before) = ms(|s| s.active_ms);
    let threads = facts::THREADS_WAITING.is(waiting).over(waiting_before);
    let threads = threads.with("running", running).with("baseline-running", running_before);
    let threads = threads.with("active", active).with("baseline-active", active_before);
    let mut evidence = vec![summed(cpu.source(), threads)];
    let cpus = |of: &dyn Fn(&Spent<'_>) -> f64| {
        (Value::cpus(slow.cpus(of(slow))), base.map(|base| Value::cpus(base.cpus(of(base)))))
    };
    if taken.counted {
        let (app, app_before) = cpus(&|s| s.running_ms);
        let (gc, gc_before) = cpus(&|s| s.role_ms(cpu.jvm, "gc"));
        let (jit, jit_before) = cpus(&|s| s.role_ms(cpu.jvm, "jit"));
        let (others, others_before) = cpus(&|s| s.others_ms.unwrap_or(0.0));
        let busy = facts::CPUS_BUSY.is(app).over(app_before);
        let busy = busy.with("gc", gc).with("baseline-gc", gc_before);
        let busy = busy.with("jit", jit).with("baseline-jit", jit_before);
        let busy = busy.with("others", others).with("baseline-others", others_before);
        evidence.push(summed(cpu.host(), busy));
        let metric = if base.is_some() { &facts::TAKEN_ABOVE } else { &facts::TAKEN };
        let named = taken.by.iter().take(NAMED);
        let named: Vec<_> =
            named.map(|(name, ms)| metric.is(Value::ms(*ms)).with("process", Value::name(name))).collect();
        if !named.is_empty() {
            evidence.push(summed(cpu.host(), facts::TAKEN_BY.fact().with("processes", Value::list(named))));
        }
    }
    evidence.extend(
        taken
            .started
            .map(|started| summed("syscalls", facts::PROGRAMS_STARTED.is(Value::per_second(started)))),
    );
    let of_jvms: f64 =
        ["app", "jit", "gc"].iter().map(|role| slow.cpus(slow.foreign_ms(cpu.jvm, role))).sum();
    if of_jvms >= REPORTED_CPUS {
        let (app, app_before) = cpus(&|s| s.foreign_ms(cpu.jvm, "app"));
        let (jit, jit_before) = cpus(&|s| s.foreign_ms(cpu.jvm, "jit"));
        let (gc, gc_before) = cpus(&|s| s.foreign_ms(cpu.jvm, "gc"));
        let jvms = facts::CPUS_OF_JVMS.is(app).over(app_before);
        let jvms = jvms.with("jit", jit).with("baseline-jit", jit_before);
        evidence.push(summed(cpu.source(), jvms.with("gc", gc).with("baseline-gc", gc_before)));
    }
    let runners = last_runners(cpu.case, cpu.jvm);
    let all: f64 = runners.iter().map(|(_, ms)| ms).sum();
    if !runners.is_empty() {
        let ran = |(name, ms): &(String, f64)| {
            facts::RAN_LAST_SHARE.is(Value::share(ms / all)).with("process", Value::name(name))
        };
        let ran = Value::list(runners.iter().take(NAMED).map(ran));
        evidence.push(summed(cpu.source(), facts::RAN_LAST.fact().with("processes", ran)));
    }
    evidence.extend(recorder(slow).map(|fact| summed(cpu.host(), fact)));
    let steal = slow.cpus(slow.steal_ms);
    if steal >= STEAL {
        evidence.push(summed(cpu.host(), facts::STOLEN.is(Value::cpus(steal))));
    }
    evidence
}

/// What the recorder took, where that is worth a word.
pub(super) fn recorder(spent: &Spent<'_>) -> Option<Fact> {
    let cpus = spent.cpus(spent.recorder_ms);
    (cpus >= REPORTED_CPUS).then(|| facts::RECORDER.is(Value::cpus(cpus)))
}
