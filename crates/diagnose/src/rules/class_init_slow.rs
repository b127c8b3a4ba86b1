//! `class-init-slow`: threads wait until another one has run the static initialiser of a class.

use std::collections::{BTreeMap, BTreeSet};

use fathom_recording::vocabulary::source;
use fathom_recording::{ProcessId, Span, StackId, ThreadId};
use rustc_hash::FxHashMap;

use super::gc_case::{cited, summed};
use crate::attribution::Pool;
use crate::chain::awaits_initialiser;
use crate::confidence::Ground;
use crate::facts::{Fact, Value, checks, culprits, meanings, reasons, remedies, titles, waits as facts};
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::waits::place::java_method;
use crate::{Case, Finding, Judgement, Layer, Rule, Sight, Window};

/// What the frame of a static initialiser ends with.
const INITIALISER: &str = ".<clinit>";
/// Places, doings and waits that are named.
const NAMED: usize = 3;
/// Share of the loss from which on it is likely.
const MOST: f64 = 0.5;

/// The rule.
pub struct ClassInitSlow;

impl Rule for ClassInitSlow {
    fn id(&self) -> &'static str {
        "class-init-slow"
    }

    fn layer(&self) -> Layer {
        Layer::Application
    }

    fn about(&self) -> &'static str {
        "A class is initialised by the first thread that uses it; all others that use it wait until its static initialiser has \
         ended. One that reads files, calls a service or computes a table stops all of them, once for each start of the JVM, and often \
         minutes later, when the first request needs the class. A virtual thread keeps its carrier meanwhile, so that a few of them stop all.\n\n\
         **Evidence.** Threads are off the CPU in the JVM's function that initialises a class (`InstanceKlass::initialize_impl`), \
         below no Java frame, which distinguishes them from the thread that runs the initialiser: that one has the class's `<clinit>` on its stack, \
         and names it.\n\n\
         **Cost.** The share of the time of the pools whose threads wait that goes to such waits, and to the initialiser itself where \
         a thread of the same pool runs it.\n\n\
         **Confounders.** A monitor or lock that the program holds while it loads something has a name of its own. Loading a class from a jar is no \
         initialisation.\n\n\
         **Ruled out** by the time that threads waited so."
    }

    fn needs(&self) -> &'static [Sight] {
        &[Sight::Switches]
    }

    /// Who waits for an initialiser waits for a thread, and so does who waits for what it runs.
    fn reports(&self, finding: &Finding, category: Category, method: &str) -> bool {
        let class = method.rsplit_once('.').map_or(method, |(class, _)| class);
        matches!(category, Category::Waiting | Category::NativeLock)
            || finding.culprit.fact().name("value") == Some(class)
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let waits = Waits::of(case, jvm, &case.slow);
        let base = Waits::of(case, jvm, &case.base);
        let cost_ms = case.excess_ms(waits.cost_ms, base.cost_ms);
        if waits.waited_ms <= 0.0 || !case.matters(cost_ms) {
            return Judgement::RuledOut {
                figure: facts::INITIALISER_WAITS.is(Value::ms(waits.waited_ms)).into(),
                source: source::SCHED.into(),
            };
        }
        Judgement::Found(Box::new(waits.finding(self, case, jvm, cost_ms)))
    }
}

/// Waits for initialisers in some windows.
struct Waits<'a> {
    spans: Vec<(ThreadId, Span<'a>)>,
    /// When any thread waited.
    intervals: Intervals,
    /// Added up over threads, milliseconds.
    waited_ms: f64,
    /// Threads that ran an initialiser meanwhile, with the class and when they were seen in it.
    runs: BTreeMap<(ThreadId, String), Vec<i64>>,
    cost_ms: f64,
}

impl<'a> Waits<'a> {
    fn of(case: &Case<'a>, jvm: ProcessId, windows: &[Window]) -> Self {
        let chains = case.chains();
        let within = Intervals::of_windows(windows);
        let threads = chains.application_threads(jvm);
        let mut awaits: FxHashMap<StackId, bool> = FxHashMap::default();
        let mut spans = Vec::new();
        let (mut pools, mut all, mut waited_ms) = (BTreeSet::new(), Vec::new(), 0.0);
        for thread in threads.iter().filter(|id| case.recording.threads[id.index()].tid.is_some()) {
            for window in windows {
                for span in chains.off_between(*thread, window.from_ns, window.to_ns) {
                    let Some(stack) = span.stack() else { continue };
                    let waits = *awaits
                        .entry(stack)
                        .or_insert_with(|| awaits_initialiser(case.recording, Some(stack)));
                    if waits {
                        pools.insert(Pool::of(chains, *thread));
                        let (from, to) = (span.t0_ns().max(window.from_ns), span.t1_ns().min(window.to_ns));
                        waited_ms += to.saturating_sub(from).max(0) as f64 / 1e6;
                        all.push((from, to));
                        spans.push((*thread, *span));
                    }
                }
            }
        }
        let intervals = Intervals::of(all);
        let mut waits = Self { spans, intervals, waited_ms, runs: BTreeMap::new(), cost_ms: 0.0 };
        if waits.waited_ms <= 0.0 {
            return waits;
        }
        let mut classes: FxHashMap<StackId, Option<String>> = FxHashMap::default();
        for thread in &threads {
            let mut seen = |stack: Option<StackId>, t_ns: i64| {
                let Some(stack) = stack.filter(|_| waits.intervals.touches(t_ns, t_ns)) else { return };
                let class = classes.entry(stack).or_insert_with(|| initialises(case, stack));
                if let Some(class) = class {
                    waits.runs.entry((*thread, class.clone())).or_default().push(t_ns);
                }
            };
            chains.samples(*thread).iter().for_each(|sample| seen(sample.stack(), sample.t_ns));
            for window in windows {
                let off = chains.off_between(*thread, window.from_ns, window.to_ns);
                off.for_each(|span| seen(span.stack(), span.t0_ns().max(window.from_ns)));
            }
        }
        let of_pools = |id: &&ThreadId| pools.contains(&Pool::of(chains, **id));
        let lived = |id: &ThreadId| {
            let by_category = chains.by_category(*id);
            by_category.map_or(0.0, |by| by.iter().map(|c| c.shared_ns(&within) as f64 / 1e6).sum())
        };
        let lived_ms: f64 = threads.iter().filter(of_pools).map(lived).sum();
        let initialisers: BTreeSet<ThreadId> = waits.runs.keys().map(|(thread, _)| *thread).collect();
        let ran = initialisers.iter().filter(of_pools).count() as f64 * waits.intervals.length_ms();
        let share = ((waits.waited_ms + ran) / lived_ms.max(f64::MIN_POSITIVE)).min(1.0);
        waits.cost_ms = (share * within.length_ms()).min(waits.intervals.length_ms());
        waits
    }

    /// The thread that was seen most in an initialiser, and the class.
    fn initialiser(&self) -> Option<(ThreadId, &str)> {
        let most = self.runs.iter().max_by_key(|(_, seen)| seen.len())?;
        Some((most.0.0, most.0.1.as_str()))
    }

    fn finding(&self, rule: &dyn Rule, case: &Case<'a>, jvm: ProcessId, cost_ms: f64) -> Finding {
        let initialiser = self.initialiser();
        let is_most = case.share(cost_ms).is_none_or(|share| share >= MOST);
        let (ground, why) = match (initialiser.is_some(), is_most) {
            _ if case.may_be_start_up() => (Ground::Fits, &reasons::BEGINNING),
            (true, true) => (Ground::Waits, &reasons::INITIALISER_SEEN),
            (true, false) => (Ground::Waits, &reasons::INITIALISER_LESS),
            (false, _) => (Ground::Fits, &reasons::INITIALISER_UNSEEN),
        };
        let mut finding = case.finding(rule, jvm, ground.because(case, cost_ms, why), cost_ms);
        let class = initialiser.map(|(_, class)| Value::name(class));
        let threads = self.spans.iter().map(|(thread, _)| *thread).collect::<BTreeSet<_>>().len();
        let title = titles::CLASS_INIT_SLOW.is(Value::ms(self.waited_ms)).with("class", class.clone());
        finding.title = title.with("threads", Value::count(threads)).into();
        finding.culprit = Fact { value: class, ..culprits::INITIALISER.fact() }.into();
        finding.meaning = meanings::CLASS_INITIALISED_ONCE.fact().into();
        finding.windows = self.intervals.windows();
        let fact = facts::INITIALISER_WAITS.is(Value::ms(self.waited_ms));
        finding.evidence.push(summed(
            source::SCHED,
            fact.with("threads", Value::count(threads)).with("places", Value::list(self.places(case))),
        ));
        if let Some((thread, class)) = initialiser {
            let did = self.doings(case, thread).into_iter().map(|(category, share)| {
                facts::INITIALISER_PART.is(Value::share(share)).with("what", Value::Category(category))
            });
            let fact = facts::INITIALISER_RUN.is(Value::name(class));
            let fact = fact.with("thread", Value::name(case.chains().name(thread)));
            finding.evidence.push(summed(source::SCHED, fact.with("did", Value::list(did))));
        }
        if let Some((thread, span)) = self.spans.iter().max_by_key(|(_, span)| span.duration_ns()) {
            let took = Value::ms(span.duration_ns() as f64 / 1e6);
            finding.evidence.push(cited(span, facts::INITIALISER_LONGEST.is(took)));
            let window = Window { from_ns: span.t0_ns(), to_ns: span.t1_ns() };
            finding.chain = Some(case.chains().of_thread(*thread, window));
        }
        finding.remedies =
            vec![remedies::INITIALISE_EARLY.remedy(), remedies::INITIALISE_WITHOUT_WAITS.remedy()];
        finding.verify =
            vec![checks::LOG_CLASS_INIT.fact().into(), checks::NO_WAIT_FOR_INITIALISER.fact().into()];
        finding
    }

    /// Where threads waited, those with the most waits first.
    fn places(&self, case: &Case<'a>) -> Vec<Fact> {
        let mut places: BTreeMap<&str, f64> = BTreeMap::new();
        for (_, span) in &self.spans {
            let place = java_method(case.recording, span.stack(), |_| false).unwrap_or("unknown code");
            *places.entry(place).or_default() += span.duration_ns() as f64 / 1e6;
        }
        let mut places: Vec<_> = places.into_iter().collect();
        places.sort_by(|a, b| b.1.total_cmp(&a.1));
        let fact = |(place, ms): (&str, f64)| {
            facts::INITIALISER_AT.is(Value::ms(ms)).with("place", Value::name(place))
        };
        places.into_iter().take(NAMED).map(fact).collect()
    }

    /// What the thread that ran the initialiser did while others waited, by share of that time.
    fn doings(&self, case: &Case<'a>, thread: ThreadId) -> Vec<(Category, f64)> {
        let Some(by_category) = case.chains().by_category(thread) else { return Vec::new() };
        let all = self.intervals.length_ms().max(f64::MIN_POSITIVE);
        let share = |category: Category| {
            (category, by_category[category.index()].shared_ns(&self.intervals) as f64 / 1e6 / all)
        };
        let mut did: Vec<_> =
            Category::ALL.into_iter().map(share).filter(|(_, share)| *share >= 0.01).collect();
        did.sort_by(|a, b| b.1.total_cmp(&a.1));
        did.truncate(NAMED);
        did
    }
}

/// The class whose static initialiser is the innermost one on a stack, where the thread runs it.
fn initialises(case: &Case<'_>, stack: StackId) -> Option<String> {
    let class = |name: &str| Some(name.split('(').next()?.strip_suffix(INITIALISER)?.to_owned());
    case.recording.frames_of(stack).find_map(|frame| class(frame.name()))
}

#[cfg(test)]
mod tests;
