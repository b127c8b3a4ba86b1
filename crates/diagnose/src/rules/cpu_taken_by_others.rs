//! `cpu-taken-by-others`: threads can run and wait, because others have the CPUs.

mod children;
mod evidence;
mod lowered;
#[cfg(test)]
mod tests;

use fathom_recording::{ProcessId, Recording};

use super::cpu_contention::{CpuContention, last_runners};
use crate::chain::spent::Spent;
use crate::confidence::Ground;
use crate::facts::{Value, checks, cpu as facts, culprits, meanings, reasons, remedies, ruled_out, titles};
use crate::{Case, Evidence, Fact, Finding, Judgement, Layer, Rule, Statement, quantity};

use evidence::{evidence, recorder};
use lowered::Lowered;

/// What it must cost of the time looked at where no loss was measured, as a share of it: a fifth is
/// what a dip is at least, and on a machine that has no CPU to spare somebody always waits a
/// little.
const UNMEASURED_SHARE: f64 = 0.2;
/// Part of a loss below which it is no likely cause of it, and what it must cost to be a proven
/// one, milliseconds.
const FAIR_PART: f64 = 0.25;
const PROVES_MS: f64 = 500.0;
/// By what the share of their time that threads wait for a CPU must be above the baseline, where
/// there is one.
const WAITS_LONGER: f64 = 0.02;
/// Takers that are named.
const NAMED: usize = 3;
/// A taker of less than this part of what was taken is not named.
const WORTH_NAMING: f64 = 0.05;
/// Share of the waits that may end with a thread of the JVM's own for others to be to blame.
const AMONG_THEMSELVES: f64 = 0.5;
/// Share of its time that the hypervisor may take from a machine without a word.
const STEAL: f64 = 0.02;

/// By how much larger the share must be of the waiting for a CPU that follows waits for a disk, or
/// yielding, to be that of more calls.
const MORE_OF_CALLS: f64 = 0.3;

/// The rule.
pub struct CpuTakenByOthers;

impl Rule for CpuTakenByOthers {
    fn id(&self) -> &'static str {
        "cpu-taken-by-others"
    }

    fn layer(&self) -> Layer {
        Layer::Cpu
    }

    fn about(&self) -> &'static str {
        "Threads of the application are ready to run, and other programs, or the JVM's own collector threads, have the \
         CPUs. Every piece of work takes longer then, and no profile of the JVM shows why.\n\n\
         **Evidence.** The context switches of all threads, as `fathom record` sees them: how long application threads waited for a \
         CPU; and who ran on the CPUs meanwhile, added up by process over all of the windows, above the baseline. What is \
         attributed is what the threads would have run with that in addition to what they did run, and no more than they waited, nor longer \
         than others ran. Where operations are counted, waits that double explain no more of a fall to a fiftieth than their part of that factor. Without a measured loss it must be a fifth of the time looked at, \
         and others must have run for as long as the application where there is no baseline either.\n\n\
         **Confounders.** More runnable threads of the JVM's own than CPUs: they wait for each other, others take \
         nothing, and it is ruled out. Threads that give their CPU up (`Thread.yield` in a loop that waits for something) wait for it by \
         their own choice. Recorded JVMs that wait for each other's CPUs: the finding says that they want more than \
         there are. What the recorder takes is reported as well, and is no part of the cost. A quota of the control group: `cpu-throttled-by-cgroup`. Compiler threads, its own and \
         those of other recorded JVMs: `jit-compile-burst`. A process whose own nice value or weight fell leaves the CPUs to others that were there before: its priority is to blame then. Time that a hypervisor takes is no wait that the kernel sees; it \
         is reported as well.\n\n\
         **Ruled out** by how long threads waited and what others took."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Switches]
    }

    fn of_any_program(&self) -> bool {
        true
    }

    /// Many machines are shared all the time.
    fn may_be_usual(&self) -> bool {
        true
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let cpu = CpuContention::of(case, jvm);
        if cpu.slow.active_ms <= 0.0 {
            return Judgement::NotApplicable;
        }
        let taken = Taken::of(&cpu);
        // Nobody lost more than all threads waited together.
        let cost_ms = cpu.lost_to_ms(taken.all_ms(), cpu.slow.running_ms).min(cpu.slow.waiting_ms);
        let cost_ms = cost_ms * cpu.part_of_more(taken.all_ms()) * (1.0 - of_own_calls(&cpu));
        let cost_ms = cpu.most_of_loss().map_or(cost_ms, |most| cost_ms.min(most * case.loss.lost_ms));
        let unmeasured = case.loss.lost_ms <= 0.0;
        let least_ms = if unmeasured { UNMEASURED_SHARE * cpu.slow.length_ms } else { 0.0 };
        // Others take more as well where threads leave the CPUs to them, for they wait for
        // something else.
        let waited = cpu.base.as_ref().map_or(0.0, |base| base.waiting_share());
        let waits_longer = cpu.base.is_none() || cpu.slow.waiting_share() >= waited + WAITS_LONGER;
        // Of a run without anything to compare it with, threads that keep the CPUs busier than all
        // others do wait for each other first.
        if unmeasured && cpu.base.is_none() && cpu.slow.running_ms > taken.all_ms() {
            return Judgement::NotApplicable;
        }
        if case.matters(cost_ms) && cost_ms >= least_ms && waits_longer {
            return Judgement::Found(Box::new(found(self, &cpu, &taken, cost_ms)));
        }
        let usual = cpu.base.as_ref().map(|base| Value::share(base.waiting_share()));
        let waited = ruled_out::CPU_WAITS_LITTLE.is(Value::share(cpu.slow.waiting_share())).over(usual);
        let others = if cpu.base.is_some() { "more" } else { "others" };
        let waited = waited.with(others, Value::cpus(cpu.slow.cpus(taken.all_ms())));
        let figure = waited.with("recorder", recorder(&cpu.slow).map(Value::from)).into();
        Judgement::RuledOut { figure, source: cpu.source() }
    }
}

/// The same of a JVM's application threads, for who attributes these waits.
pub(crate) fn queueing_after_disk(case: &Case<'_>, jvm: ProcessId) -> f64 {
    more_after_disk(&CpuContention::of(case, jvm))
}

/// By how much larger a share of the waiting for a CPU follows waits for a disk than in the
/// baseline: threads that make more such calls wait for a CPU after each of them.
fn more_after_disk(cpu: &CpuContention<'_, '_>) -> f64 {
    more(cpu, Spent::after_disk)
}

/// The same with the waiting of threads that gave the CPU up themselves, which others then have.
fn of_own_calls(cpu: &CpuContention<'_, '_>) -> f64 {
    (more_after_disk(cpu) + more(cpu, Spent::after_yield)).min(1.0)
}

/// By how much larger a share of the waiting for a CPU is than in the baseline, where that is
/// notable.
fn more<'a>(cpu: &CpuContention<'_, 'a>, share: fn(&Spent<'a>) -> f64) -> f64 {
    let more = cpu.base.as_ref().map_or(0.0, |base| share(&cpu.slow) - share(base));
    if more >= MORE_OF_CALLS { more.min(1.0) } else { 0.0 }
}

/// What was taken above the baseline, milliseconds of CPU time.
struct Taken {
    /// By all other processes but the recorder.
    others_ms: f64,
    /// By other recorded JVMs, of that.
    jvms_ms: f64,
    collector_ms: f64,
    /// Whether the machine's counters show it, and not only the last who ran.
    counted: bool,
    /// By whom, in words, with milliseconds: the most first.
    by: Vec<(String, f64)>,
    /// Programs that the JVM starts a second, where most of it was taken by what is too short-lived
    /// to be listed.
    started: Option<f64>,
}

impl Taken {
    fn of(cpu: &CpuContention<'_, '_>) -> Self {
        let collector_ms = cpu.above_base_ms(|spent| spent.role_ms(cpu.jvm, "gc"));
        let Some(others_ms) = cpu.taken_by_others_ms() else { return Self::by_last_runners(cpu) };
        let mut by: Vec<(String, f64)> = (cpu.takers().into_iter())
            .map(|(name, count, ms)| match count {
                1 => (name.to_owned(), ms),
                n => (format!("{name} ({} processes)", quantity::count(n as f64)), ms),
            })
            .collect();
        let named: f64 = by.iter().map(|(_, ms)| ms).sum();
        let unlisted_ms = others_ms - named;
        let started = children::started(cpu).filter(|_| unlisted_ms > 0.5 * others_ms);
        let unlisted = "processes too short-lived or too small to be listed one by one";
        by.push((unlisted.into(), unlisted_ms));
        by.push(("the JVM's own collector threads".into(), collector_ms));
        by.retain(|(_, ms)| *ms >= WORTH_NAMING * (others_ms + collector_ms));
        by.sort_by(|a, b| b.1.total_cmp(&a.1));
        let jvms_ms = cpu.taken_by_jvms_ms().min(others_ms);
        Self { others_ms, jvms_ms, collector_ms, counted: true, by, started }
    }

    /// Where nobody counted the processes' CPU time: by who ran at the end of each wait, which is a
    /// sample of who had the CPU.
    fn by_last_runners(cpu: &CpuContention<'_, '_>) -> Self {
        let recording = cpu.case.recording;
        let by: Vec<(String, f64)> = (last_runners(cpu.case, cpu.jvm).into_iter())
            .filter(|(name, _)| !is_own(recording, cpu.jvm, name))
            .collect();
        let others_ms = by.iter().map(|(_, ms)| ms).sum();
        Self { others_ms, jvms_ms: 0.0, collector_ms: 0.0, counted: false, by, started: None }
    }

    fn all_ms(&self) -> f64 {
        self.others_ms + self.collector_ms
    }

    /// Whether most of it was taken by the JVM's own collector.
    fn is_collector(&self) -> bool {
        self.collector_ms > self.others_ms
    }

    /// Whether most of it was taken by other recorded JVMs.
    fn is_jvms(&self) -> bool {
        !self.is_collector() && self.jvms_ms > 0.5 * self.others_ms
    }

    fn culprit(&self, cpu: &CpuContention<'_, '_>) -> Fact {
        let one = |(name, ms): &(String, f64)| {
            let cpus = self.counted.then(|| Value::cpus(cpu.slow.cpus(*ms)));
            culprits::TAKER.is(Value::name(name)).with("cpus", cpus)
        };
        culprits::TAKERS.fact().with("takers", Value::list(self.by.iter().take(NAMED).map(one)))
    }
}

/// Whether a thread of a JVM has that name, but for a number at its end, as far as the kernel keeps
/// names.
fn is_own(recording: &Recording, jvm: ProcessId, name: &str) -> bool {
    let own = |thread: &&fathom_recording::Thread| thread.process == jvm;
    recording.threads.iter().filter(own).any(|t| recording.strings.get(t.name).starts_with(name))
}

/// Share of the waits for a CPU at whose end a thread of the JVM itself had had it.
fn own_share(cpu: &CpuContention<'_, '_>) -> f64 {
    let runners = last_runners(cpu.case, cpu.jvm);
    let all: f64 = runners.iter().map(|(_, ms)| ms).sum();
    let own = runners.iter().filter(|(name, _)| is_own(cpu.case.recording, cpu.jvm, name));
    if all > 0.0 { own.map(|(_, ms)| ms).sum::<f64>() / all } else { 0.0 }
}

fn found(rule: &dyn Rule, cpu: &CpuContention<'_, '_>, taken: &Taken, cost_ms: f64) -> Finding {
    let case = cpu.case;
    let (ground, why) = match case.share(cost_ms) {
        // Half of what is hardly anything proves nothing, nor do waits of which it is not known
        // how long they usually are.
        Some(part)
            if part >= 0.5
                && cpu.base.is_some()
                && taken.counted
                && cost_ms.min(case.loss.lost_ms) >= PROVES_MS =>
        {
            (Ground::Itself, &reasons::CPU_HALF)
        }
        Some(part) if part >= FAIR_PART => (Ground::Incomplete, &reasons::CPU_PART),
        Some(_) => (Ground::Fits, &reasons::CPU_SMALL_PART),
        None => (Ground::Fits, &reasons::CPU_USUAL_UNKNOWN),
    };
    // Waits that end when a thread of the JVM's own leaves the CPU are waits for each other.
    let own = own_share(cpu);
    let own = (own >= AMONG_THEMSELVES).then(|| reasons::CPU_OWN.is(Value::share(own)));
    let after_disk = more_after_disk(cpu);
    let after_disk = (after_disk > 0.0).then(|| {
        let share = cpu.slow.after_disk();
        reasons::CPU_AFTER_DISK.is(Value::share(share)).over(Value::share(share - after_disk))
    });
    // Whose children the short-lived ones are is not recorded.
    let whose = taken.started.is_some().then(|| reasons::CPU_CHILDREN.fact());
    let against: Vec<Statement> =
        [own, after_disk, whose].into_iter().flatten().map(Statement::from).collect();
    let ground = if against.is_empty() { ground } else { Ground::Fits };
    let mut finding = case.finding(rule, cpu.jvm, ground.because(case, cost_ms, why), cost_ms);
    finding.why_confidence.extend(against);
    let lowered = Lowered::of(case, cpu.jvm);
    let title = titles::CPU_TAKEN.is(Value::share(cpu.slow.waiting_to_run()));
    let title = title.over(cpu.base.as_ref().map(|base| Value::share(base.waiting_to_run())));
    finding.title = match (taken.is_collector(), taken.is_jvms()) {
        (true, _) => title.with("by", Value::from(facts::BY_COLLECTOR.fact())),
        (_, true) => {
            let jvms = case.recording.processes.iter().filter(|process| process.jvm).count();
            let cpus = Value::counted(cpu.slow.processors as f64);
            title.with("jvms", Value::count(jvms)).with("cpus", cpus)
        }
        _ if taken.started.is_some() => title
            .with("by", Value::from(facts::BY_SHORT_LIVED.fact()))
            .with("started", taken.started.map(Value::per_second)),
        _ => title.with("by", Value::from(facts::BY_OTHERS.fact())),
    }
    .with("lowered", lowered.as_ref().map(|lowered| Value::from(lowered.fact())))
    .into();
    finding.culprit = match &lowered {
        Some(_) => culprits::OWN_PRIORITY.fact(),
        None => taken.culprit(cpu),
    }
    .into();
    finding.meaning = meanings::CPUS_WITH_OTHERS.fact().into();
    finding.evidence = evidence(cpu, taken);
    let row = |lowered: &Lowered| Evidence::summed("host", lowered.fact());
    finding.evidence.extend(lowered.as_ref().map(row));
    // Over a whole run it slows all down that runs then, whatever else is wrong, and attributes
    // none of it for itself.
    if !case.whole_run {
        finding.windows.clone_from(&case.slow);
    }
    finding.remedies = lowered.iter().map(Lowered::remedy).chain(remedies(taken)).collect();
    if taken.is_jvms() {
        finding.meaning = meanings::CPUS_WITH_OTHER_JVMS.fact().into();
    }
    finding.verify = vec![checks::NO_CPU_WAITS.fact().into(), checks::RUN_QUEUE.fact().into()];
    finding
}

fn remedies(taken: &Taken) -> Vec<crate::Remedy> {
    if taken.is_jvms() {
        return vec![remedies::MORE_CPUS_OR_FEWER_JVMS.remedy()];
    }
    if taken.started.is_some() {
        return vec![remedies::FEWER_PROGRAMS.remedy()];
    }
    let mut remedies = vec![remedies::OWN_CPUS.remedy()];
    if taken.is_collector() {
        remedies.push(remedies::FEWER_COLLECTOR_THREADS.remedy());
    } else {
        remedies.push(remedies::LARGER_WEIGHT.remedy());
    }
    remedies
}
