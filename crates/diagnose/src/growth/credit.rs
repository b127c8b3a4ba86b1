//! Waits that follow from something else that grew, and are credited to that: waiting for a CPU to
//! what runs or calls more, what the holder of a lock did to the lock, stalls by the collector to
//! the code that allocates more; and what ran in code that was not compiled to why it was not.

use std::collections::{BTreeMap, BTreeSet};

use fathom_recording::StackId;

use super::callers::an_operation;
use super::{Grown, Growth, MORE_CPU, words};
use crate::attribution::Key;
use crate::facts::{Metric, Value};
use crate::waits::Category;
use crate::{Case, Finding};

/// How many times of its usual time a method must take for threads to have hardly been in it.
const NEW_TIMES: f64 = 10.0;
/// What of the waiting for a CPU in such a method another thing in it must make up to be why
/// threads wait there.
const WHY: f64 = 0.05;

/// What stalls must grow by, of what their code grew by with them, to be a word of its title.
const STALLS_MATTER: f64 = 0.05;

impl<'a> Growth<'a> {
    /// Credits running time with what waiting for a CPU grew by beyond what findings say of others
    /// that took CPUs, where operations need more CPU time: threads that run longer wait longer,
    /// for each other and for their next time slice. Where threads do something new, they wait for
    /// a CPU because of that.
    pub(crate) fn credit_running(&mut self, findings: &[Finding]) {
        let new_places = self.new_places();
        let follows = |g: &Grown<'_>| g.key.category == Category::RunQueue && !queues_anew(g, &new_places);
        let runs = || self.grown.iter().filter(|g| g.key.category.is_running());
        let queues = || self.grown.iter().filter(|g| follows(g));
        let (ran, usual) = (runs().map(|g| g.slow).sum::<f64>(), runs().map(|g| g.base).sum::<f64>());
        // What runs hardly longer is not why threads wait for much longer.
        let longer =
            |g: &Grown<'_>| g.key.category.is_running() && g.slow + g.credit.max(0.0) >= MORE_CPU * g.base;
        let grew = self.grown.iter().filter(|g| longer(g)).map(Grown::by).sum::<f64>();
        let queued = queues().map(Grown::by).sum::<f64>();
        if ran < MORE_CPU * usual || grew <= 0.0 || queued <= 0.0 {
            return;
        }
        let taken =
            findings.iter().filter(|f| f.process_id == self.jvm && words::is_of(Category::RunQueue, f.rule));
        let taken: f64 = taken.map(|finding| finding.share.unwrap_or(1.0)).sum();
        let own = (1.0 - taken * self.resources() / queued.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        for g in &mut self.grown {
            if follows(g) {
                g.credit -= g.by() * own;
            } else if longer(g) {
                g.credit += queued * own * g.by() / grew;
            }
        }
        self.grown.sort_by(|a, b| b.by().total_cmp(&a.by()).then_with(|| a.cause.cmp(&b.cause)));
    }

    /// Credits what threads do most in a method in which they hardly did anything before with the
    /// waiting for a CPU there.
    pub(crate) fn credit_new_places(&mut self) {
        let new_places = self.new_places();
        for queue in 0..self.grown.len() {
            let (place, by) = (self.grown[queue].key.place, self.grown[queue].by());
            let is_why = |g: &Grown<'_>| {
                does_something(g) && g.key.place == place && !g.cause.by_lock && g.slow - g.base >= WHY * by
            };
            let grew = |at: &usize| self.grown[*at].slow - self.grown[*at].base;
            let own = (0..self.grown.len()).filter(|at| is_why(&self.grown[*at]));
            let most = own.max_by(|a, b| grew(a).total_cmp(&grew(b)));
            if let Some(most) = most.filter(|_| queues_anew(&self.grown[queue], &new_places)) {
                self.grown[queue].credit -= by;
                self.grown[most].credit += by;
            }
        }
        self.grown.sort_by(|a, b| b.by().total_cmp(&a.by()).then_with(|| a.cause.cmp(&b.cause)));
    }

    /// Credits code that runs longer with the time in which the collector stalls threads that
    /// allocate in it: that is longer because they allocate more there.
    pub(crate) fn credit_allocation(&mut self) {
        for stall in 0..self.grown.len() {
            let (key, by) = (self.grown[stall].key, self.grown[stall].by());
            let allocates = |g: &Grown<'_>| {
                g.key.category.is_running()
                    && g.key.place == key.place
                    && !g.cause.by_lock
                    && g.slow >= MORE_CPU * g.base
            };
            let running = (0..self.grown.len()).filter(|at| allocates(&self.grown[*at]));
            let most = running.max_by(|a, b| self.grown[*a].by().total_cmp(&self.grown[*b].by()));
            if let Some(most) = most.filter(|_| key.category == Category::AllocationStall && by > 0.0) {
                self.grown[stall].credit -= by;
                self.grown[most].credit += by;
            }
        }
        self.grown.sort_by(|a, b| b.by().total_cmp(&a.by()).then_with(|| a.cause.cmp(&b.cause)));
    }

    /// The time in which the collector stalls threads in code that is credited with it.
    pub(super) fn stalled_in(&self, code: &Grown<'_>) -> Option<&Grown<'a>> {
        let stalls = |g: &&Grown<'_>| {
            g.key.category == Category::AllocationStall && g.key.place == code.key.place && g.credit < 0.0
        };
        let matters = |g: &&Grown<'_>| g.slow - g.base >= STALLS_MATTER * code.by();
        self.grown.iter().find(stalls).filter(|_| code.key.category.is_running()).filter(matters)
    }

    /// Whether threads wait for a CPU in a method in which they hardly did anything before.
    pub(super) fn is_anew(&self, part: &Grown<'_>) -> bool {
        queues_anew(part, &self.new_places())
    }

    /// Methods in which threads hardly did anything before. That they wait for a CPU there comes
    /// with what they do there, and not with what they run elsewhere.
    fn new_places(&self) -> BTreeSet<&'a str> {
        let mut places: BTreeMap<&'a str, (f64, f64)> = BTreeMap::new();
        for g in self.grown.iter().filter(|g| does_something(g) && !g.key.place.is_empty()) {
            let sums = places.entry(g.key.place).or_default();
            *sums = (sums.0 + g.slow, sums.1 + g.base);
        }
        let is_new = |(slow, base): &(f64, f64)| *slow > 0.0 && *slow >= NEW_TIMES * *base;
        places.into_iter().filter(|(_, sums)| is_new(sums)).map(|(place, _)| place).collect()
    }

    /// Credits waits for a disk with the waits for a CPU that follow them, where those are why
    /// threads wait for a CPU more: `share` of these waits.
    pub(crate) fn credit_disk(&mut self, share: f64) {
        let sum =
            |of: Category| -> f64 { self.grown.iter().filter(|g| g.key.category == of).map(Grown::by).sum() };
        let (queued, disk) = (sum(Category::RunQueue), sum(Category::Disk));
        if share <= 0.0 || queued <= 0.0 || disk <= 0.0 {
            return;
        }
        for g in &mut self.grown {
            match g.key.category {
                Category::RunQueue => g.credit -= g.by() * share,
                Category::Disk => g.credit += queued * share * g.by() / disk,
                _ => {}
            }
        }
    }

    /// Credits findings about locks with what the holders did meanwhile in their own time: what
    /// others wait for takes the holder as long, and is the same cause. No longer than the others
    /// wait, though: what a thread does while nobody waits is its own.
    pub(crate) fn credit_holders(&mut self, findings: &[Finding]) {
        let mut waited: BTreeMap<Key<'a>, f64> = BTreeMap::new();
        for g in self.grown.iter().filter(|g| g.cause.by_lock && self.is_reported(g, findings)) {
            *waited.entry(g.key).or_default() += g.by();
        }
        for g in &mut self.grown {
            let is_own = !g.cause.by_lock && g.key.category != Category::Idle;
            if let Some(waited) = waited.get(&g.key).filter(|_| is_own) {
                let held = waited.min(g.by());
                g.credit -= held;
                self.of_holders += held;
            }
        }
        self.grown.sort_by(|a, b| b.by().total_cmp(&a.by()).then_with(|| a.cause.cmp(&b.cause)));
    }

    /// Credits the finding at a place with the share `of_code` of the time in each stack that
    /// operations run longer, with the waits for a CPU that these parts are credited with. It
    /// explains all of that where it is more than what its rule could measure, and what other
    /// findings leave of the loss.
    pub(crate) fn credit_code(
        &mut self,
        case: &Case<'a>,
        (findings, at): (&mut [Finding], usize),
        what: &'static Metric,
        of_code: impl Fn(StackId) -> f64,
    ) {
        let charged: f64 = findings.iter().filter(|f| f.share.is_some()).map(|f| f.cost_ms).sum();
        let Some(finding) = findings.get_mut(at) else { return };
        let per = &self.per;
        let mut credited = 0.0;
        for g in self.grown.iter_mut().filter(|g| g.key.category.is_running()) {
            let of_code = g.part.by_stack.iter().map(|(stack, ms)| {
                let (slow, base) = an_operation(ms, per);
                (slow - base) * of_code(*stack)
            });
            let share = of_code.sum::<f64>() / (g.slow - g.base).max(f64::MIN_POSITIVE);
            let by = g.by() * share.clamp(0.0, 1.0);
            g.credit -= by;
            credited += by;
        }
        self.of_code += credited;
        self.grown.sort_by(|a, b| b.by().total_cmp(&a.by()).then_with(|| a.cause.cmp(&b.cause)));
        let all_ms = self.most_ms(case) * credited / self.all().max(f64::MIN_POSITIVE);
        if all_ms > finding.cost_ms {
            let room_ms = if finding.share.is_some() { case.loss.lost_ms - charged } else { f64::INFINITY };
            finding.cost_ms += (all_ms - finding.cost_ms).min(room_ms).max(0.0);
            finding.share = finding.share.and(case.share(finding.cost_ms));
            let cost = finding.share.map_or(Value::ms(finding.cost_ms), Value::share);
            finding.why_confidence.push(what.is(cost).into());
        }
    }
}

/// Whether threads are at work in a part, or wait for anything but a CPU.
fn does_something(part: &Grown<'_>) -> bool {
    !matches!(part.key.category, Category::RunQueue | Category::Idle | Category::Recorder)
}

/// Whether threads wait for a CPU in one of these methods, and hardly did before.
fn queues_anew(part: &Grown<'_>, places: &BTreeSet<&str>) -> bool {
    let is_new = part.slow >= NEW_TIMES * part.base && places.contains(part.key.place);
    part.key.category == Category::RunQueue && !part.cause.by_lock && is_new
}
