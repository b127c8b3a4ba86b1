//! What threads of a pool run to find work, and carriers to change from one virtual thread to the
//! next, where that is new: it comes with the tasks that are handed to them, and is credited to the
//! method of the application that does most with these.

use super::{Grown, Growth};
use crate::Case;
use crate::waits::Category;
use crate::waits::place::is_of_jdk;

/// Beginnings of methods by which pools and virtual threads are handed work, or run it.
const HANDS: [&str; 6] = [
    "java.util.concurrent.ForkJoin",
    "java.util.concurrent.ThreadPerTaskExecutor.",
    "java.util.concurrent.ThreadPoolExecutor.",
    "java.util.concurrent.CompletableFuture.async",
    "java.lang.VirtualThread",
    "java.lang.ThreadBuilders",
];
/// Beginnings of the places of what they run themselves.
const OWN: [&str; 3] = ["java.util.concurrent.", "java.lang.VirtualThread", "jdk.internal.vm."];
/// How many times of its usual time such a place must take to be new.
const NEW_TIMES: f64 = 10.0;
/// What of a method's time must be spent with such work.
const WITH_POOLS: f64 = 0.2;

impl Growth<'_> {
    /// Credits the method whose work with pools grew most with what these run anew themselves, and
    /// with the waiting for a CPU there.
    pub(crate) fn credit_pools(&mut self, case: &Case<'_>) {
        let hands = |g: &Grown<'_>| {
            let slow = |ms: &[f64]| ms[0] + ms[1];
            let (mut with, mut all) = (0.0, 0.0);
            for (stack, ms) in &g.part.by_stack {
                let mut frames = case.recording.frames_of(*stack).map(|frame| frame.name());
                let of_pools = |name: &str| HANDS.iter().any(|begin| name.starts_with(begin));
                all += slow(ms);
                with += if frames.any(of_pools) { slow(ms) } else { 0.0 };
            }
            all > 0.0 && with >= WITH_POOLS * all
        };
        let is_application = |g: &Grown<'_>| {
            g.key.category.is_running() && !g.key.place.is_empty() && !is_of_jdk(g.key.place) && g.by() > 0.0
        };
        let works =
            (0..self.grown.len()).filter(|at| is_application(&self.grown[*at]) && hands(&self.grown[*at]));
        let grew = |at: &usize| self.grown[*at].slow - self.grown[*at].base;
        let Some(most) = works.max_by(|a, b| grew(a).total_cmp(&grew(b))) else { return };
        let is_place = |g: &Grown<'_>| OWN.iter().any(|begin| g.key.place.starts_with(begin));
        let is_new = |g: &&Grown<'_>| is_place(g) && g.by() > 0.0 && g.slow >= NEW_TIMES * g.base;
        let runs: Vec<&Grown<'_>> =
            self.grown.iter().filter(is_new).filter(|g| g.key.category.is_running()).collect();
        // What is more than the work itself does not come with it alone.
        if runs.iter().map(|g| g.slow - g.base).sum::<f64>() > grew(&most) {
            return;
        }
        let places: Vec<&str> = runs.iter().map(|g| g.key.place).collect();
        let is_own = |g: &Grown<'_>| {
            let runs = g.key.category.is_running() || g.key.category == Category::RunQueue;
            runs && is_new(&g) && places.contains(&g.key.place)
        };
        for at in 0..self.grown.len() {
            let by = self.grown[at].by();
            if is_own(&self.grown[at]) {
                self.grown[at].credit -= by;
                self.grown[most].credit += by;
            }
        }
        self.grown.sort_by(|a, b| b.by().total_cmp(&a.by()).then_with(|| a.cause.cmp(&b.cause)));
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::C2;

    use super::*;
    use crate::built::{Built, whole_run};
    use crate::growth::tests::grew;

    /// What a method of the application is credited with: it takes 12 µs more, and threads of a
    /// pool 7 µs for themselves. `below`: what its stacks end in.
    fn credited(below: &str, pool_base: f64) -> f64 {
        const RUN: &str = "java.util.concurrent.ForkJoinWorkerThread.run";
        let mut built = Built::jvm("25", "G1", 10.0);
        let stack = built.stack(&[("shop.Cart.sum", C2), (below, C2)]).unwrap();
        let recording = built.sealed();
        let case = whole_run(&recording);
        let parts = [(Category::C2, "shop.Cart.sum", 2.0, 14.0), (Category::C2, RUN, pool_base, 7.0)];
        let mut growth = grew(&parts);
        growth.grown[0].part.by_stack.insert(stack, [7.0, 7.0, 2.0]);
        growth.credit_pools(&case);
        growth.grown.iter().find(|g| g.key.place == "shop.Cart.sum").unwrap().credit
    }

    #[test]
    fn what_a_pool_runs_anew_is_credited_to_who_gives_it_work() {
        assert_eq!(credited("java.util.concurrent.ForkJoinTask.doExec", 0.0), 7.0);
        assert_eq!(credited("java.lang.VirtualThread.run", 0.0), 7.0);
        assert_eq!(credited("java.lang.Thread.run", 0.0), 0.0, "another method gives it work");
        assert_eq!(credited("java.lang.VirtualThread.run", 3.0), 0.0, "it had some before");
    }
}
