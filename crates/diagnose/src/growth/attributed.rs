//! What of the loss operations spent on what: the cost that rules take for causes that the
//! attribution knows better than they do.

use super::{FRAMES, Grown, Growth};
use crate::Case;
use crate::case::Attributed;
use crate::waits::Category;

impl Growth<'_> {
    /// What of the loss operations spent on what.
    pub(crate) fn attributed(&self, case: &Case<'_>) -> Attributed {
        if !self.per.each.is_counted() || case.loss.lost_ms <= 0.0 || !self.grew(case) {
            return Attributed::default();
        }
        let most_ms = self.most_ms(case) / self.all().max(f64::MIN_POSITIVE);
        let of =
            |category: Category| self.worked().map(|g| g.by() * through(g, category)).sum::<f64>() * most_ms;
        let mut ms = vec![0.0; Category::ALL.len()];
        Category::ALL.iter().for_each(|category| ms[category.index()] = of(*category));
        Attributed::of(self.jvm, ms)
    }
}

impl Growth<'_> {
    /// What of the loss operations spent in page faults, with what their CPU time is credited with;
    /// milliseconds.
    pub(crate) fn of_page_faults(&self, case: &Case<'_>) -> f64 {
        let in_faults =
            |g: &&Grown<'_>| matches!(g.key.category, Category::KernelFault | Category::PageFault);
        let took: f64 = self.worked().filter(in_faults).map(Grown::by).sum();
        self.most_ms(case) * took / self.all().max(f64::MIN_POSITIVE)
    }
}

/// What of a part's slow time is time under a category, or was waited for under it.
fn through(grown: &Grown<'_>, category: Category) -> f64 {
    if !grown.cause.by_lock || !matches!(category, Category::Monitor | Category::Lock) {
        return if grown.key.category == category { 1.0 } else { 0.0 };
    }
    let slow = |ms: &[f64; FRAMES]| ms[0] + ms[1];
    let all: f64 = grown.part.ways.values().map(slow).sum();
    let passing =
        grown.part.ways.iter().filter(|(way, _)| way.iter().any(|step| step.key.category == category));
    passing.map(|(_, ms)| slow(ms)).sum::<f64>() / all.max(f64::MIN_POSITIVE)
}
