//! What threads can have run for at most: what the kernel accounts to their process, what the
//! machine has, and what the samples of all threads of a process bear out.
//!
//! The first two are limits that nothing can exceed, not estimates: of a reading that lies in a
//! window in part, all of it may lie in that part. The samples of a process are many where those of
//! each of its threads are few: a thousand threads may each have run for a short time that no
//! sample met, but not all of them. What is above a limit was not seen, and becomes unknown.

use fathom_recording::vocabulary::{kind, live};
use fathom_recording::{ProcessId, Recording};
use rustc_hash::FxHashMap;

use super::charge::Account;
use super::gaps::Sampler;
use crate::Window;
use crate::intervals::Intervals;
use crate::waits::Category;

/// The most CPUs that a recording lists one by one; where it lists as many, whether there are
/// more is not known.
const MOST_CPUS: usize = 256;
/// What a process' account in ticks of 10 ms, of user and of kernel time, may be off at both ends
/// of a window.
const TICKS_NS: f64 = 40e6;

/// The limits of a recording.
pub(super) struct Bounds {
    cpus: Option<f64>,
    /// By process: from, to, nanoseconds on CPUs.
    processes: FxHashMap<ProcessId, Vec<(i64, i64, f64)>>,
    /// When switches of any of its threads were watched: only then can a thread run without a
    /// sample.
    watched: FxHashMap<ProcessId, Intervals>,
    sampler: Option<Sampler>,
}

impl Bounds {
    pub(super) fn of(recording: &Recording, sampler: Option<Sampler>) -> Self {
        let named = |name: &'static str| recording.series.iter().filter(move |s| s.info.name == name);
        let cpus = named(live::HOST_CPU_BUSY.name).count();
        let mut processes: FxHashMap<ProcessId, Vec<(i64, i64, f64)>> = FxHashMap::default();
        for word in [live::PROCESS_CPU_USER, live::PROCESS_CPU_KERNEL] {
            for series in named(word.name) {
                let Some(process) = series.info.process else { continue };
                let readings = processes.entry(process).or_default();
                readings.extend((0..series.t_ns.len()).map(|i| {
                    let (from, dt) = (series.t_ns[i], series.dt_ns[i].max(0));
                    (from, from.saturating_add(dt), series.value[i].max(0.0) * dt as f64)
                }));
            }
        }
        let mut watched: FxHashMap<ProcessId, Vec<(i64, i64)>> = FxHashMap::default();
        for span in recording.spans_of(kind::SCHED_WATCHED) {
            watched.entry(span.process()).or_default().push((span.t0_ns(), span.t1_ns()));
        }
        let watched = watched.into_iter().map(|(process, spans)| (process, Intervals::of(spans))).collect();
        let cpus = (1..MOST_CPUS).contains(&cpus).then_some(cpus as f64);
        Self { cpus, processes, watched, sampler }
    }

    /// What all CPUs can have run of a process' watched threads in a window, but for some
    /// intervals, nanoseconds.
    fn all_ns(&self, process: ProcessId, window: Window, but_for: &Intervals) -> f64 {
        let Some(watched) = self.watched.get(&process) else { return 0.0 };
        let ns = watched.without(but_for).length_within_ns(window.from_ns, window.to_ns);
        if ns > 0 { self.cpus.map_or(f64::INFINITY, |cpus| cpus * ns as f64) } else { 0.0 }
    }

    /// The time that the samples of a process' threads stand for in a window, where they say that
    /// these did not run for as long as it looks, nanoseconds.
    fn sampled_ns(&self, process: ProcessId, window: Window, accounts: &[&mut Account<'_>]) -> Option<f64> {
        let sampler = self.sampler.as_ref()?;
        let samples = accounts.iter().map(|account| account.cpu_samples).sum::<u64>();
        let weight = accounts.iter().fold(0, |sum: i64, account| sum.saturating_add(account.sampled_ns));
        let rest = self.all_ns(process, window, &Intervals::of([sampler.covers]));
        let running = accounts.iter().fold(0, |sum: i64, account| sum.saturating_add(account.running_ns()));
        let most = sampler.most_ns(usize::try_from(samples).unwrap_or(usize::MAX), weight) as f64 + rest;
        (running as f64 > most).then_some(weight as f64 + rest)
    }

    /// The longest that the threads of a process can have run in a window, nanoseconds; `None`
    /// where nothing limits it.
    fn most_ns(&self, process: ProcessId, window: Window) -> Option<f64> {
        let readings = self.processes.get(&process)?;
        let all = |ns: f64| self.cpus.map_or(f64::INFINITY, |cpus| cpus * ns);
        let within = |from: i64, to: i64| to.min(window.to_ns).saturating_sub(from.max(window.from_ns));
        let read = readings.iter().filter(|(from, to, _)| within(*from, *to) > 0);
        let read_ns: f64 = read.map(|(from, to, ns)| ns.min(all(within(*from, *to) as f64))).sum();
        let covered = Intervals::of(readings.iter().map(|(from, to, _)| (*from, *to)));
        Some(read_ns + TICKS_NS + self.all_ns(process, window, &covered))
    }

    /// Holds the accounts of a window to the limits.
    pub(super) fn hold(&self, recording: &Recording, window: Window, accounts: &mut [Account<'_>]) {
        let mut by_process: FxHashMap<ProcessId, Vec<&mut Account<'_>>> = FxHashMap::default();
        for account in accounts.iter_mut() {
            let process = recording.threads[account.thread.index()].process;
            by_process.entry(process).or_default().push(account);
        }
        for (process, mut of_it) in by_process {
            if let Some(most_ns) = self.most_ns(process, window) {
                limit(&mut of_it, most_ns);
            }
            if let Some(most_ns) = self.sampled_ns(process, window, &of_it) {
                limit(&mut of_it, most_ns);
            }
        }
        if let Some(cpus) = self.cpus {
            limit(&mut accounts.iter_mut().collect::<Vec<_>>(), cpus * window.length_ns().max(0) as f64);
        }
    }
}

/// Takes from the running time of threads what is above a limit, first what no sample bears out,
/// from all in proportion.
fn limit(accounts: &mut [&mut Account<'_>], most_ns: f64) {
    let running: Vec<i64> = accounts.iter().map(|account| account.running_ns()).collect();
    let total: f64 = running.iter().map(|ns| *ns as f64).sum();
    let excess = total - most_ns;
    if excess <= 0.0 {
        return;
    }
    let bare = |account: &Account<'_>, ns: i64| (ns - account.sampled_ns).max(0) as f64;
    let all_bare: f64 = accounts.iter().zip(&running).map(|(account, ns)| bare(account, *ns)).sum();
    let of_bare = if all_bare > 0.0 { (excess / all_bare).min(1.0) } else { 0.0 };
    let of_rest = if excess > all_bare { (excess - all_bare) / (total - all_bare).max(1.0) } else { 0.0 };
    for (account, ns) in accounts.iter_mut().zip(running) {
        let bare = bare(account, ns);
        account.forget(bare * of_bare + (ns as f64 - bare) * of_rest);
    }
}

impl Account<'_> {
    pub(super) fn running_ns(&self) -> i64 {
        let of = |category: &Category| self.spent_ns[category.index()];
        Category::ALL.iter().filter(|h| h.is_running()).map(of).sum()
    }

    /// Moves so much running time, nanoseconds, to the unknown: of each layer in proportion,
    /// rounded up so that a limit holds.
    fn forget(&mut self, ns: f64) {
        let running = self.running_ns();
        if running <= 0 {
            return;
        }
        let share = (ns / running as f64).min(1.0);
        for category in Category::ALL.into_iter().filter(|h| h.is_running()) {
            let there = self.spent_ns[category.index()];
            let moved = ((there as f64 * share).ceil() as i64).clamp(0, there);
            self.spent_ns[category.index()] -= moved;
            self.spent_ns[Category::Unknown.index()] += moved;
        }
    }
}
