//! Time of several sorts that grew below one method: it runs there, waits for the disk, and waits
//! for a CPU after each of these waits. None of that is much by itself, and the method is what they
//! have in common.
//!
//! ```text
//! running in Index.flush           ─┐
//! waiting for the disk in Index.flush ─┼─ below Segment.flush: most of what an operation takes longer
//! waiting for the disk in File.flush  ─┘
//! ```

use rustc_hash::FxHashMap;

use super::callers::{an_operation, methods};
use super::{Grown, Growth, LEADS, MOST, RULE, SHOWN, TIMES, on_threads, words};
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, growth as facts, reasons};
use crate::waits::Category;
use crate::{Case, Fact, Finding};

/// What of all that grew with a known stack must lie below a method.
const BELOW: f64 = 0.5;
/// What of it one sort may make up at most: a method with one sort is a part of its own.
const ONE: f64 = 0.75;
/// What of the growth below it a sort must make up to be named.
const NAMED: f64 = 0.1;

/// A method below which time of several sorts grew.
pub(super) struct Below<'g, 'a> {
    method: &'a str,
    /// The parts that lie below it, with what each grew by there.
    parts: Vec<(&'g Grown<'a>, f64)>,
    /// Milliseconds an operation below it, or an average number of threads, slow and in the
    /// baseline.
    slow: f64,
    base: f64,
}

impl<'a> Below<'_, 'a> {
    /// What grew below it.
    pub(super) fn by(&self) -> f64 {
        self.parts.iter().map(|(_, by)| by).sum()
    }

    /// Whether it reports a part.
    pub(super) fn has(&self, part: &Grown<'a>) -> bool {
        self.parts.iter().any(|(own, _)| own.cause == part.cause)
    }
}

/// Of a method: slow and baseline time below it, what of it grew, and how far from the innermost
/// method it stands, weighted by that.
#[derive(Default)]
struct Sums {
    slow: f64,
    base: f64,
    grew: f64,
    away: f64,
}

impl<'a> Growth<'a> {
    /// The innermost method below which most of what grew lies; `None` where there is none, or a
    /// part is a cause by itself.
    pub(super) fn below<'g>(&self, case: &Case<'a>, left: &[&'g Grown<'a>]) -> Option<Below<'g, 'a>> {
        let counts = |g: &&&'g Grown<'a>| g.by() > 0.0 && !on_threads(g.key.category);
        let parts: Vec<&'g Grown<'a>> = left.iter().filter(counts).copied().collect();
        let mut by_method: FxHashMap<&'a str, Sums> = FxHashMap::default();
        let mut known = 0.0;
        for g in &parts {
            self.each_stack(g, |stack, slow, base, grew| {
                known += grew;
                for (away, name) in methods(case.recording, stack).into_iter().enumerate() {
                    let sums = by_method.entry(name).or_default();
                    sums.slow += slow;
                    sums.base += base;
                    sums.grew += grew;
                    sums.away += grew * away as f64;
                }
            });
        }
        let worked = left.iter().filter(|g| super::worked(g));
        let largest = worked.max_by(|a, b| a.by().total_cmp(&b.by()))?;
        // That threads wait for a CPU where they do something new is no cause by itself.
        if known <= 0.0 || (largest.by() >= LEADS * self.all() && !self.is_anew(largest)) {
            return None;
        }
        let least = (BELOW * known).max(LEADS * self.all());
        let of_most = |(_, sums): &(&&str, &Sums)| sums.grew >= least && sums.slow >= TIMES * sums.base;
        let away = |sums: &Sums| sums.away / sums.grew.max(f64::MIN_POSITIVE);
        let candidates = by_method.iter().filter(of_most);
        let (method, sums) =
            candidates.min_by(|a, b| away(a.1).total_cmp(&away(b.1)).then_with(|| a.0.cmp(b.0)))?;
        let grew_below = |g: &Grown<'a>| {
            let mut below = 0.0;
            self.each_stack(g, |stack, _, _, grew| {
                below += if methods(case.recording, stack).contains(method) { grew } else { 0.0 };
            });
            below
        };
        let parts = parts.into_iter().map(|g| (g, grew_below(g))).filter(|(g, by)| *by >= 0.5 * g.by());
        let mut parts: Vec<_> = parts.collect();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cause.cmp(&b.0.cause)));
        let below = Below { method, slow: sums.slow, base: sums.base, parts };
        let of_sorts = sorts(&below).first().is_some_and(|(_, by)| *by <= ONE * below.by());
        of_sorts.then_some(below)
    }

    /// Of each stack of a part: slow and baseline time of an operation, with what it is credited
    /// with, and what it grew by.
    fn each_stack(&self, part: &Grown<'a>, mut take: impl FnMut(fathom_recording::StackId, f64, f64, f64)) {
        let credited = part.by() / (part.slow - part.base).max(f64::MIN_POSITIVE);
        for (stack, ms) in &part.part.by_stack {
            let (now, usual) = an_operation(ms, &self.per);
            let grew = ((now - usual) * credited).max(0.0);
            take(*stack, usual + grew, usual, grew);
        }
    }

    /// The finding of it; `share`: of all that grew.
    pub(super) fn below_finding(
        &self,
        case: &Case<'_>,
        below: &Below<'_, '_>,
        share: f64,
        cost_ms: f64,
        by_change: bool,
    ) -> Finding {
        let holding: f64 = below.parts.iter().filter(|(g, _)| g.holds).map(|(_, by)| by).sum();
        let holds = holding >= MOST * below.by();
        let likely = share >= MOST && holds && !by_change && case.loss.lost_ms > 0.0;
        let ground = if likely { Ground::Incomplete } else { Ground::Fits };
        let why = reasons::LIES_BELOW.is(Value::share(share.min(1.0)));
        let why = why.with("whose", Value::name(self.whose()));
        let sure = ground.because(case, cost_ms, why);
        let sorts = sorts(below);
        // Threads wait for a CPU after what they did otherwise, and that by its own time.
        let others = below.parts.iter().filter(|(g, _)| g.key.category != Category::RunQueue);
        let main = others.max_by(|(a, _), (b, _)| (a.slow - a.base).total_cmp(&(b.slow - b.base)));
        let main = main.map_or(Category::RunQueue, |(g, _)| g.key.category);
        let mut finding = case.finding_by(RULE, words::layer(main), self.jvm, sure, cost_ms);
        let one = |(category, by): &(Category, f64)| {
            let sort = words::doing(&crate::attribution::Key { category: *category, place: "", target: "" });
            facts::SHARE_OF.is(Value::share(by / below.by())).with("method", Value::Name(sort))
        };
        let named = sorts.iter().filter(|(_, by)| *by >= NAMED * below.by());
        let named: Vec<Fact> = named.map(one).collect();
        let method = Value::name(below.method);
        let title = words::amount(&facts::SPENT_BELOW, (below.slow, below.base), self.per.each);
        finding.title = title.with("method", method.clone()).with("sorts", Value::list(named)).into();
        finding.culprit = culprits::METHOD.is(method.clone()).into();
        finding.meaning = words::meaning(main, false).fact().into();
        let own = case.jvm_name(self.jvm);
        finding.evidence =
            below.parts.iter().take(SHOWN).map(|(g, _)| g.evidence(own, self.per.each)).collect();
        finding.remedies = vec![words::remedy_of(main)];
        finding.verify = vec![
            words::as_usual(&checks::METHOD_AS_USUAL, below.base, self.per.each)
                .with("method", method)
                .into(),
            checks::SAME_PARTS.fact().into(),
        ];
        finding.windows.clone_from(&case.slow);
        finding
    }
}

/// What grew by what threads do, the largest first; running time is one sort.
fn sorts(below: &Below<'_, '_>) -> Vec<(Category, f64)> {
    let mut sorts: Vec<(Category, f64)> = Vec::new();
    for (g, by) in &below.parts {
        let category = if g.key.category.is_running() { Category::Running } else { g.key.category };
        match sorts.iter_mut().find(|(known, _)| *known == category) {
            Some((_, sum)) => *sum += by,
            None => sorts.push((category, *by)),
        }
    }
    sorts.sort_by(|a, b| b.1.total_cmp(&a.1));
    sorts
}
