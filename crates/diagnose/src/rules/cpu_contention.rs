//! Who ran on the CPUs while threads of a JVM could run and had none.
//!
//! A CPU that others take is lost to threads that wait for one: they would have run with it.
//! It cannot cost more than they waited, and with more runnable threads than CPUs most of
//! them wait, whoever runs: so what counts is what was taken beyond the baseline, not how long was
//! waited.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use fathom_recording::vocabulary::{figure, kind, label, live, source};
use fathom_recording::{ProcessId, Recording, Series, ThreadId};

use crate::chain::spent::{Ready, Spent};
use crate::intervals::Intervals;
use crate::thread_ledger::ByCategory;
use crate::waits::Category;
use crate::{Case, Measure, Window};

/// The collector that has values of each process on the machine.
const HOST: &str = "host";
/// What the recorder's program is called, to begin with.
const RECORDER: &str = "fathom";
/// How much of the windows the values of the machine must cover to stand for all of them.
const COVERED: f64 = 0.5;

/// The state of a thread that waits for a disk.
const UNINTERRUPTIBLE: &str = "uninterruptible";
/// Into how many pieces intervals are cut to be put together.
const PIECES: i64 = 64;

/// The call by which a thread lets others have its CPU.
const YIELD: &str = "sched_yield";

/// What says nothing of its own: waits for other threads of the JVM, whose time counts, and what
/// nobody saw.
const AMONG_THEMSELVES: [Category; 7] = [
    Category::Monitor,
    Category::Lock,
    Category::NativeLock,
    Category::Waiting,
    Category::TimedWait,
    Category::Blocked,
    Category::Unknown,
];

impl Spent<'_> {
    /// What `of` takes of threads' time in which they had work, as a share: the mean over threads,
    /// each by how long it was ready to run, so that those that only listen do not count.
    pub(super) fn part(&self, of: impl Fn(ThreadId, &Ready) -> f64) -> f64 {
        let all: f64 = self.threads.values().map(|thread| thread.ready_ms).sum();
        let part = |(id, thread): (&ThreadId, &Ready)| {
            thread.ready_ms * (of(*id, thread) / thread.active_ms.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
        };
        if all > 0.0 { self.threads.iter().map(part).sum::<f64>() / all } else { 0.0 }
    }

    /// Waiting for a CPU, as a share of the time in which threads had work.
    pub(super) fn waiting_share(&self) -> f64 {
        self.part(|_, thread| thread.waiting_ms)
    }

    /// Waiting for a CPU, as a share of the time in which threads could run: what they ran, and
    /// what they waited for a CPU or for their quota.
    pub(super) fn waiting_to_run(&self) -> f64 {
        let ready_ms = self.running_ms + self.waiting_ms + self.throttled_ms;
        if ready_ms > 0.0 { self.waiting_ms / ready_ms } else { 0.0 }
    }

    /// What of the waiting for a CPU is at the ends of waits for a disk, as a share.
    pub(super) fn after_disk(&self) -> f64 {
        self.of_waiting(self.waiting_after_disk_ms)
    }

    /// What of the waiting for a CPU follows a thread's own yielding of it, as a share.
    pub(super) fn after_yield(&self) -> f64 {
        self.of_waiting(self.waiting_after_yield_ms)
    }

    fn of_waiting(&self, ms: f64) -> f64 {
        if self.waiting_ms > 0.0 { (ms / self.waiting_ms).min(1.0) } else { 0.0 }
    }

    /// How many times as long as its running time a piece of work takes, as threads that run wait
    /// for CPUs, too.
    pub(super) fn range(&self) -> f64 {
        let ready_ms = self.running_ms + self.waiting_ms + self.throttled_ms;
        if self.running_ms > 0.0 { ready_ms / self.running_ms } else { 1.0 }
    }

    /// Throttled, as a share of that time.
    pub(super) fn throttled_share(&self) -> f64 {
        self.part(|_, thread| thread.throttled_ms)
    }

    /// CPU time of threads of a JVM, milliseconds.
    pub(super) fn role_ms(&self, jvm: ProcessId, role: &str) -> f64 {
        self.roles.iter().filter(|((p, r), _)| *p == jvm && *r == role).map(|(_, ms)| ms).sum()
    }

    /// CPU time of the compilers of all other JVMs.
    pub(super) fn foreign_jit_ms(&self, jvm: ProcessId) -> f64 {
        self.foreign_ms(jvm, "jit")
    }

    /// CPU time of all other JVMs' threads of a role.
    pub(super) fn foreign_ms(&self, jvm: ProcessId, role: &str) -> f64 {
        self.roles.iter().filter(|((p, of), _)| *p != jvm && *of == role).map(|(_, ms)| ms).sum()
    }

    /// Milliseconds as CPUs: how many it kept busy.
    pub(super) fn cpus(&self, ms: f64) -> f64 {
        if self.length_ms > 0.0 { ms / self.length_ms } else { 0.0 }
    }
}

/// CPUs of a case, as a JVM's application threads saw them.
pub(super) struct CpuContention<'c, 'a> {
    pub(super) case: &'c Case<'a>,
    pub(super) jvm: ProcessId,
    pub(super) slow: Rc<Spent<'a>>,
    pub(super) base: Option<Rc<Spent<'a>>>,
}

impl<'c, 'a> CpuContention<'c, 'a> {
    pub(super) fn of(case: &'c Case<'a>, jvm: ProcessId) -> Self {
        let spent = |windows: &[Window]| case.chains().spent(jvm, windows, || spent(case, jvm, windows));
        let base = (!case.base.is_empty()).then(|| spent(&case.base));
        Self { case, jvm, slow: spent(&case.slow), base }
    }

    /// What `of` takes of the slow windows beyond what the same running time took of it in the
    /// baseline, milliseconds.
    pub(super) fn beyond_usual_ms(&self, of: impl Fn(&Spent<'a>) -> f64) -> f64 {
        let usual = self.base.as_ref().filter(|base| base.running_ms > 0.0);
        let usual = usual.map_or(0.0, |base| of(base) * self.slow.running_ms / base.running_ms);
        (of(&self.slow) - usual).max(0.0)
    }

    /// What `of` takes of the slow windows above as much baseline time, milliseconds.
    pub(super) fn above_base_ms(&self, of: impl Fn(&Spent<'a>) -> f64) -> f64 {
        self.case.excess_ms(of(&self.slow), self.base.as_deref().map_or(0.0, of))
    }

    /// What was taken of CPUs that application threads waited for, in wall time,
    /// milliseconds: what they would have run with it in addition to what they, and those that
    /// compete with them on equal terms, did run; but no more than they waited beyond the usual,
    /// nor longer than others ran: a thread that wakes up on an idle CPU waits for that one, and
    /// for nobody.
    pub(super) fn lost_to_ms(&self, taken_ms: f64, running_ms: f64) -> f64 {
        let whole_ms = running_ms + taken_ms;
        let taken = if whole_ms > 0.0 { taken_ms / whole_ms } else { 0.0 };
        let waited_ms = self.slow.waiting_ms.max(f64::MIN_POSITIVE);
        let beyond = self.beyond_usual_ms(|spent| spent.waiting_ms) / waited_ms;
        (taken.min(self.slow.waiting_share() * beyond) * self.slow.any_active_ms).min(taken_ms)
    }

    /// What of the loss waiting for a CPU can explain at most, as a share: operations take so many
    /// times as long, and what they run takes so many times as long with its waits for a CPU.
    /// These are factors, so that their logarithms are what adds up: a fall to a fiftieth is not
    /// half explained by waits that double. `None` where operations were not counted, or nobody saw
    /// the threads before.
    pub(super) fn most_of_loss(&self) -> Option<f64> {
        let (loss, base) = (&self.case.loss, self.base.as_ref()?);
        let (slow_rate, base_rate) = loss.slow_rate.zip(loss.base_rate)?;
        let is_rate = loss.measure != Some(Measure::Latency);
        let longer = if is_rate { base_rate / slow_rate } else { slow_rate / base_rate };
        // What an operation runs, compared with the baseline.
        let ran = |spent: &Spent<'_>, rate: f64| spent.running_ms / spent.length_ms / rate;
        let more = if is_rate { ran(&self.slow, slow_rate) / ran(base, base_rate) } else { 1.0 };
        let waits = self.slow.range() / base.range();
        if [longer, more, waits].iter().any(|times| !times.is_finite()) || longer <= 1.0 {
            return None;
        }
        let waits = waits.max(1.0).ln();
        Some((waits / longer.ln().max(waits + more.max(1.0).ln())).min(1.0))
    }

    /// The part that what was taken makes up of what the CPUs were asked for more: threads
    /// that run more than usual wait longer for each other.
    pub(super) fn part_of_more(&self, taken_ms: f64) -> f64 {
        let own_ms =
            self.base.as_ref().map_or(0.0, |_| self.above_base_ms(|spent| spent.running_ms).max(0.0));
        taken_ms / (taken_ms + own_ms).max(f64::MIN_POSITIVE)
    }

    /// Time in which application threads were throttled beyond the usual, in wall time,
    /// milliseconds: all threads of a group stand still together, so that it is no longer than any
    /// of them did.
    pub(super) fn throttled_ms(&self) -> f64 {
        let all_ms = self.slow.throttled_ms;
        let beyond =
            if all_ms > 0.0 { self.beyond_usual_ms(|spent| spent.throttled_ms) / all_ms } else { 0.0 };
        beyond * (self.slow.throttled_share() * self.slow.length_ms).min(self.slow.any_throttled_ms)
    }

    /// CPU time that other processes took above the baseline, without their compilers' (a burst of
    /// compilations is a cause of its own) and without the recorder's, milliseconds.
    pub(super) fn taken_by_others_ms(&self) -> Option<f64> {
        self.slow.others_ms?;
        let jvm = self.jvm;
        let taken = |s: &Spent<'_>| s.others_ms.unwrap_or(0.0) - s.foreign_jit_ms(jvm) - s.recorder_ms;
        Some(self.above_base_ms(|s| taken(s).max(0.0)))
    }

    /// What of that other recorded JVMs took, milliseconds.
    pub(super) fn taken_by_jvms_ms(&self) -> f64 {
        self.above_base_ms(|s| (s.jvms_ms - s.foreign_jit_ms(self.jvm)).max(0.0))
    }

    /// Other processes by name with how many there were and what they took above the baseline,
    /// milliseconds, the most first.
    pub(super) fn takers(&self) -> Vec<(&'a str, usize, f64)> {
        let usual = |name: &str| {
            self.base.as_ref().and_then(|base| base.by_name.get(name)).map_or(0.0, |(_, ms)| *ms)
        };
        let taker = |(name, (count, ms)): (&&'a str, &(usize, f64))| {
            (*name, *count, self.case.excess_ms(*ms, usual(name)))
        };
        let mut takers: Vec<_> = self.slow.by_name.iter().map(taker).filter(|(.., ms)| *ms > 0.0).collect();
        takers.sort_by(|a, b| b.2.total_cmp(&a.2));
        takers
    }

    /// The collector that records threads' switches, by name.
    pub(super) fn source(&self) -> String {
        source_of(self.case.recording, source::SCHED)
    }

    /// The collector of the machine's counters, by name.
    pub(super) fn host(&self) -> String {
        source_of(self.case.recording, HOST)
    }
}

fn source_of(recording: &Recording, format: &str) -> String {
    recording.sources.iter().find(|s| s.format == format).map_or(String::new(), |s| s.name.clone())
}

fn spent<'a>(case: &Case<'a>, jvm: ProcessId, windows: &[Window]) -> Spent<'a> {
    let recording: &'a Recording = case.recording;
    let within = Intervals::of_windows(windows);
    let mut spent = Spent { length_ms: within.length_ms(), ..Spent::default() };
    let mut threads = Vec::new();
    let counts = |category: Category| !category.is_idle() && !AMONG_THEMSELVES.contains(&category);
    let watched = case.has(kind::SCHED_WATCHED, jvm);
    let borne_out = if watched { case.chains().borne_out(jvm, windows) } else { 1.0 };
    for id in case.chains().application_threads(jvm).into_iter().filter(|_| watched) {
        let Some(by_category) = case.chains().by_category(id) else { continue };
        let mut thread = Ready::default();
        let mut running_ms = 0.0;
        for category in Category::ALL.into_iter().filter(|category| counts(*category)) {
            let seen_ms = by_category[category.index()].shared_ns(&within) as f64 / 1e6;
            let ms = if category.is_running() { seen_ms * borne_out } else { seen_ms };
            thread.active_ms += ms;
            match category {
                Category::RunQueue => thread.waiting_ms += ms,
                Category::Throttled => thread.throttled_ms += ms,
                _ if category.is_running() => running_ms += ms,
                _ => {}
            }
        }
        for window in windows {
            let off = case.chains().off_between(id, window.from_ns, window.to_ns);
            for span in off.filter(|span| within.touches(span.t1_ns(), span.t1_ns())) {
                let queued_ms = span.figure(figure::RUNQ_NS).unwrap_or(0.0) / 1e6;
                if span.name() == UNINTERRUPTIBLE {
                    spent.waiting_after_disk_ms += queued_ms;
                } else if span.label(label::SYSCALL) == Some(YIELD) {
                    spent.waiting_after_yield_ms += queued_ms;
                }
            }
        }
        threads.push(by_category);
        thread.ready_ms = running_ms + thread.waiting_ms + thread.throttled_ms;
        spent.running_ms += running_ms;
        spent.waiting_ms += thread.waiting_ms;
        spent.throttled_ms += thread.throttled_ms;
        spent.active_ms += thread.active_ms;
        if thread.ready_ms > 0.0 {
            spent.threads.insert(id, thread);
        }
    }
    spent.any_active_ms = any_ms(&threads, &within, counts);
    spent.any_throttled_ms = any_ms(&threads, &within, |category| category == Category::Throttled);
    machine(recording, jvm, &within, &mut spent);
    spent
}

/// How long any of the threads had time of some categories in some intervals, milliseconds. Put
/// together piece by piece: those of all threads over hours are many.
fn any_ms(threads: &[Rc<ByCategory>], within: &Intervals, of: impl Fn(Category) -> bool) -> f64 {
    let categories: Vec<Category> = Category::ALL.into_iter().filter(|category| of(*category)).collect();
    let each_ns = (within.length_ns() / PIECES).max(1);
    let mut any_ns = 0_i64;
    for (mut from, end) in within.ranges().iter().copied() {
        while from < end {
            let to = end.min(from.saturating_add(each_ns));
            let sets = threads.iter().flat_map(|thread| categories.iter().map(|h| &thread[h.index()]));
            let any = Intervals::of(sets.flat_map(|intervals| intervals.within(from, to)));
            any_ns = any_ns.saturating_add(any.length_ns());
            from = to;
        }
    }
    any_ns as f64 / 1e6
}

/// What the machine's counters say of some intervals.
fn machine<'a>(recording: &'a Recording, jvm: ProcessId, within: &Intervals, spent: &mut Spent<'a>) {
    let (mut busy_ms, mut own_ms, mut covered_ms) = (0.0, 0.0, 0.0_f64);
    let mut own_top_ms = 0.0;
    let is_jvm = |p: ProcessId| recording.processes.get(p.index()).is_some_and(|process| process.jvm);
    for series in &recording.series {
        let (name, process) = (series.info.name.as_str(), series.info.process);
        let sum = || sum_ms(series, within);
        if name == live::HOST_CPU_BUSY.name {
            let (ms, covers_ms) = sum();
            busy_ms += ms;
            spent.processors += 1;
            covered_ms = covered_ms.max(covers_ms);
        } else if name == live::HOST_CPU_STEAL.name {
            spent.steal_ms += sum().0;
        } else if name == live::PROCESS_CPU_ROLE.name {
            let role = series.info.instance.rsplit(' ').next().unwrap_or_default();
            if let Some(process) = process {
                *spent.roles.entry((process, role)).or_default() += sum().0;
            }
        } else if [live::PROCESS_CPU_USER.name, live::PROCESS_CPU_KERNEL.name].contains(&name) {
            match process {
                Some(process) if process == jvm => own_ms += sum().0,
                Some(process) if is_jvm(process) => spent.jvms_ms += sum().0,
                _ => {}
            }
        } else if name == live::FATHOM_CPU.name && series.info.instance == "all" {
            spent.recorder_ms += sum().0;
        } else if name == live::PROCESS_CPU.name {
            let ms = sum().0;
            if process == Some(jvm) {
                own_top_ms += ms;
            } else if ms > 0.0 {
                let taker = spent.by_name.entry(without_id(&series.info.instance)).or_default();
                *taker = (taker.0 + 1, taker.1 + ms);
            }
        }
    }
    // The recorder stands among the others by its name.
    let mut left_ms = spent.recorder_ms;
    for (_, (_, ms)) in spent.by_name.iter_mut().filter(|(name, _)| name.starts_with(RECORDER)) {
        let own_ms = left_ms.min(*ms);
        (*ms, left_ms) = (*ms - own_ms, left_ms - own_ms);
    }
    let length_ms = within.length_ms();
    if covered_ms > 0.0 && covered_ms >= COVERED * length_ms {
        // Values of a second say as much of a window that they cover nearly.
        let own_ms = own_ms.max(own_top_ms);
        spent.others_ms = Some((busy_ms - own_ms).max(0.0) * length_ms / covered_ms);
    }
}

/// A value in CPUs over intervals, milliseconds, and how much of them it covers.
fn sum_ms(series: &Series, within: &Intervals) -> (f64, f64) {
    let (mut sum, mut covered) = (0.0, 0.0);
    for ((t, dt), value) in series.t_ns.iter().zip(&series.dt_ns).zip(&series.value) {
        let ms = within.length_within_ns(*t, t.saturating_add(*dt)) as f64 / 1e6;
        sum += if value.is_finite() { value.max(0.0) * ms } else { 0.0 };
        covered += ms;
    }
    (sum, covered)
}

/// "python3" of "python3 (4711)".
fn without_id(instance: &str) -> &str {
    instance.rsplit_once(" (").filter(|(_, id)| id.ends_with(')')).map_or(instance, |(name, _)| name)
}

/// Who ran at the end of threads' waits for a CPU, by the switch that ended each, with the
/// milliseconds of those waits; the most first. Threads that differ in number only are one.
pub(super) fn last_runners(case: &Case<'_>, jvm: ProcessId) -> Vec<(String, f64)> {
    let threads: BTreeSet<ThreadId> = case.chains().application_threads(jvm).into_iter().collect();
    let mut by: BTreeMap<String, f64> = BTreeMap::new();
    for span in case.spans_in(kind::SCHED_OFF, jvm, &case.slow) {
        let Some(other) = span.label(label::RAN_INSTEAD) else { continue };
        if span.thread().is_some_and(|thread| threads.contains(&thread)) {
            let name =
                without_id(other).trim_end_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '#');
            *by.entry(name.to_owned()).or_default() += span.figure(figure::RUNQ_NS).unwrap_or(0.0) / 1e6;
        }
    }
    let mut by: Vec<_> = by.into_iter().collect();
    by.sort_by(|a, b| b.1.total_cmp(&a.1));
    by
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::Built;
    use fathom_recording::FrameType::C2;

    /// Threads begin to run that had nothing to do: of what the CPUs are asked for more,
    /// theirs is a part.
    #[test]
    fn who_takes_cpus_is_charged_next_to_threads_that_run_more() {
        let part = |more: usize| {
            let mut built = Built::jvm("17", "Parallel", 20.0);
            built.watched("worker", 20.0);
            for thread in (0..more).map(|i| format!("other-{i}")) {
                built.watched(&thread, 20.0);
                let rest = [("java.util.concurrent.ThreadPoolExecutor.getTask", C2)];
                built.with_stack((kind::SCHED_OFF, "sleeping"), &thread, &rest, &[], (0.0, 10_000.0));
            }
            let (jvm, recording) = (built.jvm, built.sealed());
            let window = |from_s: i64, to_s: i64| {
                vec![Window { from_ns: from_s * 1_000_000_000, to_ns: to_s * 1_000_000_000 }]
            };
            let whole = crate::built::whole_run(&recording);
            let case = Case { slow: window(10, 20), base: window(0, 10), whole_run: false, ..whole };
            CpuContention::of(&case, jvm).part_of_more(5_000.0)
        };
        assert_eq!((part(0), part(1), part(3)), (1.0, 1.0 / 3.0, 1.0 / 7.0));
    }
}
