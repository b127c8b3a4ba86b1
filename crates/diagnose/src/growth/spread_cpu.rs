//! CPU time that grew in many methods below one: a query that scans a table, a parser, a template
//! engine. Each of the innermost methods has a small part of it; what they have in common is who
//! calls them.
//!
//! ```text
//! samples of running time that grew ─▶ time of an operation below each method of the application ─▶ the innermost one below which
//!                                                                                                   most of the growth lies
//! ```

use fathom_recording::{Recording, StackId};
use rustc_hash::FxHashMap;

use super::callers::{an_operation, methods};
use super::parts::Part;
use super::{Grown, Growth, MOST, RULE, SHOWN, TIMES, mechanism, words};
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, growth as facts, reasons};
use crate::own_code::{OwnCode, is_made_at_run_time};
use crate::places::{class_of, short};
use crate::{Case, Fact, Finding, Layer};

/// Share of the running time's growth that must lie below a method; the same without what threads
/// run that have no code of the application's own on their stacks.
const BELOW: [f64; 2] = [0.8, 0.7];
/// Share of a part's slow time that must lie below it for the part to be of it.
const OF_IT: f64 = 0.5;
/// What of its time a thread of a library may have code of the application's own on its stack, and
/// what of its growth own code must have grown by to come first.
const HARDLY_OWN: f64 = 0.1;
const AS_MUCH: f64 = 0.5;
/// How many times as much as the largest part alone it must explain to be reported in its place.
const WIDER: f64 = 1.25;
/// Innermost methods that are named in a title.
const NAMED: usize = 2;
/// What of the growth below the method must lie below one that it calls for that to be named first.
const NARROWER: f64 = 0.85;

/// A method below which running time grew.
pub(super) struct Spread<'g, 'a> {
    pub(super) method: &'a str,
    /// The nearest method of other code from which it is called.
    caller: Option<&'a str>,
    /// The parts that lie below it.
    pub(super) parts: Vec<&'g Grown<'a>>,
    /// Milliseconds an operation below it, or an average number of threads, slow and in the
    /// baseline, as far as threads ran on a CPU.
    slow: f64,
    base: f64,
}

impl Spread<'_, '_> {
    /// What its parts grew by.
    pub(super) fn by(&self) -> f64 {
        self.parts.iter().map(|g| g.by()).sum()
    }
}

/// Of a method: slow and baseline time below it, and how far from the innermost method it stands,
/// weighted by slow time.
#[derive(Clone, Copy, Default)]
struct Below {
    slow: f64,
    base: f64,
    away: f64,
}

impl<'a> Growth<'a> {
    /// The innermost method below which most of what running time grew by lies; `None` where one
    /// part alone makes up most of that.
    pub(super) fn spread<'g>(&self, case: &Case<'a>, left: &[&'g Grown<'a>]) -> Option<Spread<'g, 'a>> {
        let running: Vec<&'g Grown<'a>> =
            left.iter().copied().filter(|g| g.key.category.is_running() && g.by() > 0.0).collect();
        let own = OwnCode::of(case.jvm_name(self.jvm));
        let is_own = |stack| has_own(case.recording, stack, own);
        let all = || self.innermost(case, &running, BELOW[0], |_| true);
        let of_own = || self.innermost(case, &running, BELOW[1], is_own);
        all().or_else(of_own)
    }

    /// The innermost method below which that share lies of what the running time grew by of stacks
    /// that `counts`.
    fn innermost<'g>(
        &self,
        case: &Case<'a>,
        running: &[&'g Grown<'a>],
        share: f64,
        counts: impl Fn(StackId) -> bool,
    ) -> Option<Spread<'g, 'a>> {
        let mut below: FxHashMap<&'a str, Below> = FxHashMap::default();
        let (mut slow, mut base) = (0.0, 0.0);
        for (stack, ms) in running.iter().flat_map(|g| &g.part.by_stack).filter(|(stack, _)| counts(**stack))
        {
            let (now, usual) = an_operation(ms, &self.per);
            (slow, base) = (slow + now, base + usual);
            for (away, name) in methods(case.recording, *stack).into_iter().enumerate() {
                let sum = below.entry(name).or_default();
                *sum = Below {
                    slow: sum.slow + now,
                    base: sum.base + usual,
                    away: sum.away + now * away as f64,
                };
            }
        }
        let grew = slow - base;
        let of_most = |(_, b): &(&&str, &Below)| b.slow - b.base >= share * grew && b.slow >= TIMES * b.base;
        let away = |b: &Below| b.away / b.slow.max(f64::MIN_POSITIVE);
        let candidates = below.iter().filter(of_most).filter(|_| grew > 0.0);
        let (method, sums) =
            candidates.min_by(|a, b| away(a.1).total_cmp(&away(b.1)).then_with(|| a.0.cmp(b.0)))?;
        self.spread_below(case, running, (method, *sums))
    }

    /// The parts that lie below a method, where they are more than the largest of them alone.
    fn spread_below<'g>(
        &self,
        case: &Case<'a>,
        running: &[&'g Grown<'a>],
        (method, sums): (&'a str, Below),
    ) -> Option<Spread<'g, 'a>> {
        let is_below = |g: &&Grown<'a>| share_below(case, &g.part, method, self) >= OF_IT;
        let parts: Vec<&'g Grown<'a>> = running.iter().copied().filter(is_below).collect();
        // What it took before is all of that, and not only of what takes more now; unless as much
        // below it takes less: its code is another one now.
        let (slow, base) = self.all_below(case, method);
        let (slow, base) = match slow - base >= MOST * (sums.slow - sums.base) {
            true => (slow.max(sums.slow), base.max(sums.base)),
            false => (sums.slow, sums.base),
        };
        let spread = Spread { method, caller: self.called_from(case, &parts, method), slow, base, parts };
        let largest = spread.parts.iter().map(|g| g.by()).fold(0.0, f64::max);
        (spread.parts.len() > 1 && spread.by() >= WIDER * largest).then_some(spread)
    }

    /// Milliseconds an operation that all threads run below a method, slow and in the baseline.
    fn all_below(&self, case: &Case<'a>, method: &str) -> (f64, f64) {
        let running = self.grown.iter().filter(|g| g.key.category.is_running());
        let stacks = running.flat_map(|g| &g.part.by_stack);
        let below = stacks.filter(|(stack, _)| methods(case.recording, **stack).contains(&method));
        below
            .map(|(_, ms)| an_operation(ms, &self.per))
            .fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
    }

    /// Splits off what threads of libraries run that have no code of the application's own on
    /// their stacks, where such code grew by half as much: a selector that turns round and round
    /// while a worker is busy is its consequence.
    pub(super) fn split_meanwhile<'g>(
        &self,
        case: &Case<'a>,
        left: Vec<&'g Grown<'a>>,
    ) -> (Vec<&'g Grown<'a>>, Vec<&'g Grown<'a>>) {
        let own = OwnCode::of(case.jvm_name(self.jvm));
        let share_own = |g: &Grown<'a>| -> f64 {
            let (mut all, mut of_own) = (0.0, 0.0);
            for (stack, ms) in &g.part.by_stack {
                let (slow, _) = an_operation(ms, &self.per);
                all += slow;
                of_own += if has_own(case.recording, *stack, own) { slow } else { 0.0 };
            }
            of_own / f64::max(all, f64::MIN_POSITIVE)
        };
        let running = left.iter().filter(|g| g.key.category.is_running());
        let most = running.filter(|g| share_own(g) >= OF_IT).map(|g| g.by()).fold(0.0, f64::max);
        left.into_iter().partition(|g| {
            g.key.category.is_running() && g.by() * AS_MUCH <= most && share_own(g) < HARDLY_OWN
        })
    }

    /// The nearest method of the application's own that most of the time below a method was called
    /// from; else the nearest one of any other product.
    fn called_from(&self, case: &Case<'a>, parts: &[&Grown<'a>], method: &str) -> Option<&'a str> {
        let own = OwnCode::of(case.jvm_name(self.jvm));
        let may_be_own = own.has(method);
        if may_be_own && own != OwnCode::NoLibrary {
            return None;
        }
        let is_apart = |name: &&&str| product(class_of(name)) != product(class_of(method));
        let mut calls: FxHashMap<&'a str, f64> = FxHashMap::default();
        let mut all = 0.0;
        for (stack, ms) in parts.iter().flat_map(|g| &g.part.by_stack) {
            let names = methods(case.recording, *stack);
            let Some(at) = names.iter().position(|name| *name == method) else { continue };
            let (now, _) = an_operation(ms, &self.per);
            all += now;
            let outer = &names[at + 1..];
            let other = outer.iter().filter(is_apart).find(|name| own.has(name));
            // What calls code that may be its own, and is a library's, is a container.
            let other = other.or_else(|| outer.iter().find(is_apart).filter(|_| !may_be_own));
            *calls.entry(other.copied().unwrap_or("")).or_default() += now;
        }
        let (name, ms) = calls.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(b.0)))?;
        (!name.is_empty() && ms >= OF_IT * all).then_some(name)
    }

    /// The innermost method below which nearly all of that lies, where it is farther in than the
    /// method itself: some of what grew with it comes by other ways, so that it has too little of
    /// everything. With its share.
    fn narrower(&self, case: &Case<'a>, spread: &Spread<'_, 'a>) -> Option<(&'a str, f64)> {
        let mut below: FxHashMap<&'a str, (f64, f64)> = FxHashMap::default();
        let mut all = 0.0;
        for (stack, ms) in spread.parts.iter().flat_map(|g| &g.part.by_stack) {
            let (now, usual) = an_operation(ms, &self.per);
            let names = methods(case.recording, *stack);
            let Some(at) = names.iter().position(|name| *name == spread.method).filter(|_| now > usual)
            else {
                continue;
            };
            all += now - usual;
            for (away, name) in names[..at].iter().enumerate().filter(|(_, name)| !is_made_at_run_time(name))
            {
                let (grew, far) = below.entry(name).or_default();
                (*grew, *far) = (*grew + now - usual, *far + (now - usual) * away as f64);
            }
        }
        let most = below.into_iter().filter(|(_, (grew, _))| *grew >= NARROWER * all);
        let far = |(grew, far): (f64, f64)| far / grew.max(f64::MIN_POSITIVE);
        let (name, (grew, _)) =
            most.min_by(|a, b| far(a.1).total_cmp(&far(b.1)).then_with(|| a.0.cmp(b.0)))?;
        Some((short(name), grew / all))
    }

    /// The finding of it; `share`: of all that grew.
    pub(super) fn spread_finding(
        &self,
        case: &Case<'a>,
        spread: &Spread<'_, 'a>,
        share: f64,
        cost_ms: f64,
        by_change: bool,
    ) -> Finding {
        let lead = |of: fn(&Grown<'_>) -> bool| -> f64 {
            spread.parts.iter().filter(|g| of(g)).map(|g| g.by()).sum::<f64>() / spread.by()
        };
        let holds = lead(|g| g.holds) >= MOST && lead(|g| g.runs_more) >= MOST;
        let likely = share >= MOST && holds && !by_change && case.loss.lost_ms > 0.0;
        let ground = if likely { Ground::Incomplete } else { Ground::Fits };
        let why = reasons::GREW_BELOW.is(Value::share(share.min(1.0)));
        let why = why.with("whose", Value::name(self.whose()));
        let sure = ground.because(case, cost_ms, why);
        let mut finding = case.finding_by(RULE, Layer::Application, self.jvm, sure, cost_ms);
        let named = by_name(spread.parts.iter().map(|g| (short(g.key.place), g.by())), short(spread.method));
        let named = named.into_iter().take(NAMED);
        let one = |(name, by): (&str, f64)| {
            facts::SHARE_OF.is(Value::share(by / spread.by())).with("method", Value::name(name))
        };
        let narrower = self.narrower(case, spread).filter(|(name, _)| *name != short(spread.method));
        let narrower = narrower
            .map(|(name, share)| facts::SHARE_OF.is(Value::share(share)).with("method", Value::name(name)));
        let named: Vec<Fact> = narrower.into_iter().chain(named.map(one)).take(NAMED).collect();
        let title = words::amount(&facts::SPREAD, (spread.slow, spread.base), self.per.each);
        let (method, caller) = (Value::name(spread.method), spread.caller.map(Value::name));
        let title = title.with("method", method.clone()).with("caller", caller.clone());
        finding.title = title.with("methods", (!named.is_empty()).then(|| Value::list(named))).into();
        finding.culprit = culprits::METHOD.is(method).with("caller", caller).into();
        finding.meaning = words::meaning(crate::waits::Category::Running, false).fact().into();
        let own = case.jvm_name(self.jvm);
        let evidence = spread.parts.iter().take(SHOWN).map(|g| g.evidence(own, self.per.each));
        finding.evidence = evidence.collect();
        finding.remedies = vec![words::remedy_of(crate::waits::Category::Running)];
        finding.verify = vec![
            words::as_usual(&checks::METHOD_AS_USUAL, spread.base, self.per.each)
                .with("method", Value::name(spread.method))
                .into(),
            checks::SAME_FRAMES.fact().into(),
        ];
        finding.windows.clone_from(&case.slow);
        mechanism::add(case, &self.per, spread.parts.iter().map(|g| &g.part), &mut finding);
        finding
    }
}

/// Growth by the name that is shown, the largest first: a method that runs in several ways (in its
/// own code, in page faults) has one share. None where all of it is the method `below` which it
/// lies.
fn by_name<'n>(parts: impl Iterator<Item = (&'n str, f64)>, below: &str) -> Vec<(&'n str, f64)> {
    let mut named: Vec<(&str, f64)> = Vec::new();
    for (name, by) in parts {
        match named.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += by,
            None => named.push((name, by)),
        }
    }
    named.sort_by(|a, b| b.1.total_cmp(&a.1));
    if matches!(named[..], [(one, _)] if one == below) { Vec::new() } else { named }
}

/// Share of a part's slow time that lies below a method.
fn share_below<'a>(case: &Case<'a>, part: &Part<'a>, method: &str, growth: &Growth<'a>) -> f64 {
    let (mut all, mut below) = (0.0, 0.0);
    for (stack, ms) in &part.by_stack {
        let (now, _) = an_operation(ms, &growth.per);
        all += now;
        below += if methods(case.recording, *stack).contains(&method) { now } else { 0.0 };
    }
    if all > 0.0 { below / all } else { 0.0 }
}

/// Whose code a class is, by the first two parts of its package: "org.h2" of
/// "org.h2.mvstore.Cursor".
fn product(class: &str) -> &str {
    let package = class.rsplit_once('.').map_or("", |(package, _)| package);
    package.match_indices('.').nth(1).map_or(package, |(at, _)| &package[..at])
}

/// Whether a stack has code of the application's own.
fn has_own(recording: &Recording, stack: StackId, own: OwnCode<'_>) -> bool {
    recording.frames_of(stack).any(|frame| frame.is_java() && own.has(frame.name()))
}

#[cfg(test)]
mod tests {
    use super::by_name;

    #[test]
    fn a_method_that_runs_in_several_ways_is_named_once() {
        let parts = [("Page.next", 5.0), ("Expr.depth", 4.0), ("Expr.depth", 3.0)];
        let named = by_name(parts.into_iter(), "Expr.depth");
        assert_eq!(named, [("Expr.depth", 7.0), ("Page.next", 5.0)]);
        assert_eq!(by_name(parts[1..].iter().copied(), "Expr.depth"), []);
    }
}
