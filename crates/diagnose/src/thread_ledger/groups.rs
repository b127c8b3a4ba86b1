//! Accounts of threads put together: by process, role, pool or one by one.

use std::collections::BTreeMap;

use fathom_recording::{ProcessId, Recording, Role, ThreadId};

use super::charge::Account;
use super::rank::{self, Weight};
use super::{GroupLedger, Spent, Target};
use crate::waits::Category;

/// By what threads are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// All threads of a process.
    Process,
    /// The application's threads, the collector's, the compilers', the JVM's own.
    Role,
    /// Threads whose names differ in numbers only.
    Pool,
    /// Each alone.
    Thread,
}

impl By {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Role => "role",
            Self::Pool => "pool",
            Self::Thread => "thread",
        }
    }
}

/// Sums of a group of threads.
struct Sum {
    threads: usize,
    spent_ns: [i64; Category::ALL.len()],
    cpu_samples: u64,
    on: BTreeMap<Category, BTreeMap<String, i64>>,
}

/// Names of what was waited for that are listed below a category.
const MOST_TARGETS: usize = 5;

impl Default for Sum {
    fn default() -> Self {
        Self { threads: 0, spent_ns: [0; Category::ALL.len()], cpu_samples: 0, on: BTreeMap::new() }
    }
}

impl Sum {
    fn add(&mut self, account: &Account<'_>) {
        for (category, target, ns) in &account.on {
            let targets = self.on.entry(*category).or_default();
            match targets.get_mut(*target) {
                Some(sum) => *sum = sum.saturating_add(*ns),
                None => {
                    targets.insert((*target).to_owned(), *ns);
                }
            }
        }
        self.threads += 1;
        self.cpu_samples += account.cpu_samples;
        self.spent_ns.iter_mut().zip(account.spent_ns).for_each(|(sum, ns)| *sum = sum.saturating_add(ns));
    }

    /// What was waited for under a category, the most costly first.
    fn targets(&self, category: Category) -> Vec<Target> {
        let all = self.on.get(&category).into_iter().flatten();
        let mut targets: Vec<Target> =
            all.map(|(name, ns)| Target { name: name.clone(), ms: *ns as f64 / 1e6 }).collect();
        targets.sort_by(|a, b| b.ms.total_cmp(&a.ms));
        targets.truncate(MOST_TARGETS);
        targets
    }

    fn ms(&self) -> f64 {
        self.spent_ns.iter().map(|ns| *ns as f64 / 1e6).sum()
    }

    fn running_ms(&self) -> f64 {
        let of = |category: &Category| self.spent_ns[category.index()] as f64 / 1e6;
        Category::ALL.iter().filter(|h| h.is_running()).map(of).sum()
    }
}

/// Puts groups in order: those first that grew most above the baseline, or, without one, those
/// first whose time changed most over the parts of the window, and who did more than wait.
pub(super) fn rank(
    groups: &mut [GroupLedger],
    recording: &Recording,
    by: By,
    parts: &[(f64, Vec<Account<'_>>)],
    base_scale: Option<f64>,
) {
    let names = names(recording);
    let mut weights: BTreeMap<(ProcessId, String), f64> = BTreeMap::new();
    if let Some(scale) = base_scale {
        for group in groups.iter() {
            let spent = group.spent.iter().map(|s| (s.category, s.ms, s.base_ms.unwrap_or(0.0)));
            weights.insert((group.process_id, group.name.clone()), rank::growth(spent, scale));
        }
    } else {
        let mut spent: BTreeMap<(ProcessId, String), Weight> = BTreeMap::new();
        for (part, account) in
            parts.iter().enumerate().flat_map(|(i, (_, all))| all.iter().map(move |a| (i, a)))
        {
            let weight = spent.entry(key(recording, &names, by, account.thread));
            let weight = weight.or_insert_with(|| Weight::of(parts.iter().map(|(length, _)| *length)));
            for category in Category::ALL {
                weight.add(part, category, account.spent_ns[category.index()] as f64 / 1e6);
            }
        }
        weights.extend(spent.into_iter().map(|(key, weight)| (key, weight.value())));
    }
    let of =
        |group: &GroupLedger| weights.get(&(group.process_id, group.name.clone())).copied().unwrap_or(0.0);
    groups.sort_by_cached_key(|group| std::cmp::Reverse(Ordered(of(group))));
}

/// A number with an order.
#[derive(PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Groups the accounts of a window and of its baseline, by process and name.
pub(super) fn group(
    recording: &Recording,
    by: By,
    accounts: &[Account<'_>],
    base: Option<&[Account<'_>]>,
    operations: (Option<f64>, Option<f64>),
) -> Vec<GroupLedger> {
    let names = names(recording);
    let mut groups: BTreeMap<(ProcessId, String), (Sum, Sum)> = BTreeMap::new();
    for account in accounts {
        groups.entry(key(recording, &names, by, account.thread)).or_default().0.add(account);
    }
    for account in base.unwrap_or_default() {
        groups.entry(key(recording, &names, by, account.thread)).or_default().1.add(account);
    }
    let ledger = |((process_id, name), (window, base_sum)): ((ProcessId, String), (Sum, Sum))| GroupLedger {
        name,
        process: names.get(process_id.index()).cloned().unwrap_or_default(),
        process_id,
        recording: recording.recording_of(process_id).map(str::to_owned),
        threads: window.threads,
        thread_ms: window.ms(),
        base_thread_ms: base_sum.ms(),
        cpu_samples: window.cpu_samples,
        spent: spent(&window, base.map(|_| &base_sum), operations),
    };
    groups.into_iter().map(ledger).collect()
}

fn spent(window: &Sum, base: Option<&Sum>, operations: (Option<f64>, Option<f64>)) -> Vec<Spent> {
    let (all, base_all) = (window.ms(), base.map_or(0.0, Sum::ms));
    let share = |ms: f64, all: f64| if all > 0.0 { ms / all } else { 0.0 };
    let row = |category: Category| {
        let ms = window.spent_ns[category.index()] as f64 / 1e6;
        let base_ms = base.map(|base| base.spent_ns[category.index()] as f64 / 1e6);
        (ms > 0.0 || base_ms.is_some_and(|ms| ms > 0.0)).then(|| Spent {
            category,
            words: category.words(),
            ms,
            share: share(ms, all),
            base_ms,
            base_share: base_ms.map(|ms| share(ms, base_all)),
            ms_per_operation: operations.0.map(|n| ms / n),
            base_ms_per_operation: base_ms.zip(operations.1).map(|(ms, n)| ms / n),
            sampling_error: sampling_error(category, ms, window, all),
            on: window.targets(category),
        })
    };
    Category::ALL.into_iter().filter_map(row).collect()
}

/// Half of the 95% interval of a layer's share: the running time is measured or sampled, its layers
/// are sampled. Normal approximation of the binomial, at least half a sample's worth so that few
/// samples do not look certain.
fn sampling_error(category: Category, ms: f64, window: &Sum, all: f64) -> Option<f64> {
    let running = window.running_ms();
    if !category.is_running() || window.cpu_samples == 0 || running <= 0.0 || all <= 0.0 {
        return None;
    }
    let (p, n) = ((ms / running).min(1.0), window.cpu_samples as f64);
    Some((1.96 * (p * (1.0 - p) / n).sqrt()).max(0.5 / n) * running / all)
}

/// Of each process; of several that run one program with the pid.
fn names(recording: &Recording) -> Vec<String> {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    let ids = || (0..recording.processes.len() as u32).map(ProcessId);
    ids().for_each(|id| *times.entry(recording.process_name(id)).or_default() += 1);
    let of = |id: ProcessId| {
        let name = recording.process_name(id);
        match recording.processes[id.index()].pid.filter(|_| times[name] > 1) {
            Some(pid) => format!("{name} [pid {pid}]"),
            None => name.to_owned(),
        }
    };
    ids().map(of).collect()
}

fn key(recording: &Recording, names: &[String], by: By, id: ThreadId) -> (ProcessId, String) {
    let thread = &recording.threads[id.index()];
    let process = thread.process;
    let name = recording.strings.get(thread.name);
    let group = match by {
        By::Process => names.get(process.index()).cloned().unwrap_or_default(),
        By::Role => role(thread.role).to_owned(),
        By::Pool => pool(name),
        By::Thread => match thread.tid.filter(|_| !name.trim().is_empty()) {
            Some(tid) => format!("{} ({tid})", recording.thread_label(id)),
            None => recording.thread_label(id),
        },
    };
    (process, group)
}

fn role(role: Role) -> &'static str {
    match role {
        Role::App => "application threads",
        Role::Gc => "GC threads",
        Role::Jit => "compiler threads",
        Role::Vm => "other JVM threads",
        Role::Other => "other threads",
    }
}

/// A thread's name with each number as `#`: "http-nio-8080-exec-7" is of pool "http-nio-#-exec-#".
/// A digit after a single letter is part of a name: C1, C2, G1.
pub(crate) fn pool(name: &str) -> String {
    let mut pool = String::with_capacity(name.len());
    let mut letters = 0;
    for c in name.chars() {
        if c.is_ascii_digit() && letters != 1 {
            if !pool.ends_with('#') {
                pool.push('#');
            }
        } else {
            pool.push(c);
            letters = if c.is_alphabetic() {
                letters + 1
            } else if c.is_ascii_digit() {
                letters
            } else {
                0
            };
        }
    }
    pool
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_what_names_have_in_common() {
        assert_eq!(pool("http-nio-8080-exec-7"), pool("http-nio-8080-exec-12"));
        assert_eq!(pool("C2 CompilerThread0"), "C2 CompilerThread#");
        assert_eq!(pool("main"), "main");
    }
}
