//! The words, values and recommendations of a busy stage.

use super::spinning::Spinning;
use super::{Grown, Growth, STAGE_RULE, Stage};
use crate::confidence::Ground;
use crate::facts::{Metric, Value, checks, culprits, growth as facts, meanings, reasons, remedies};
use crate::growth::{SHOWN, TIMES, words};
use crate::waits::Category;
use crate::{Case, Evidence, Fact, Finding, Remedy, Window};

/// Share of its busy time that one doing must make up to be said to be what it is busy with.
const MAINLY: f64 = 0.7;
impl<'a> Growth<'a> {
    pub(in crate::growth) fn stage_finding(
        &self,
        case: &Case<'_>,
        stage: &Stage<'a>,
        behind: &[&Grown<'a>],
        cost_ms: f64,
    ) -> Finding {
        // What it is busy with must be more than before, or the threads fewer.
        let doing_more = stage.share.0 >= TIMES * stage.share.1;
        let fewer = stage.count.0 <= stage.count.1 / TIMES;
        let is_clear = stage.share.0 >= MAINLY * stage.busy.0 && (doing_more || fewer);
        let is_lost = case.loss.lost_ms > 0.0;
        let ground = if is_clear && is_lost { Ground::Incomplete } else { Ground::Fits };
        let why = reasons::STAGE_BUSY.is(Value::count(stage.threads.len()));
        let sure = ground.because(case, cost_ms, why);
        let mut finding =
            case.finding_by(STAGE_RULE, words::layer(stage.key.category), self.jvm, sure, cost_ms);
        let doing = Value::from(words::does(&stage.key));
        let (left, usual) = (stage.count.0.round(), stage.count.1.round());
        let (ended, pool) = (Value::counted(usual - left), Value::name(stage.name));
        let is_asleep = stage.key.category == Category::Sleep;
        let runs = stage.key.category.is_running();
        let spins = runs.then(|| Spinning::of(case, self.jvm, &stage.threads)).flatten();
        let title = match spins {
            Some(_) => &facts::SPINNING_STAGE,
            None if is_asleep => &facts::BUSY_STAGE_ASLEEP,
            None => &facts::BUSY_STAGE,
        };
        let title = title.is(Value::share(stage.busy.0));
        let title = match stage.others {
            None => title.over(Value::share(stage.busy.1)),
            Some(others) => title.with("others", Value::plain(others)),
        };
        let title = title.with("who", Value::from(stage.who(fewer))).with("doing", doing.clone());
        let title = title.with("share", Value::share(stage.share.0 / stage.busy.0.max(f64::MIN_POSITIVE)));
        let title = title.with("pool", pool.clone()).with("usual", Value::counted(usual));
        let title = title.with("spins", spins.map(|spins| Value::from(spins.fact())));
        finding.title = title.with("ended", fewer.then(|| ended.clone())).into();
        finding.culprit = match (stage.key.target, stage.key.place) {
            _ if fewer => culprits::ENDED.is(ended).with("usual", Value::counted(usual)).with("pool", pool),
            _ if stage.others.is_some() => culprits::THREAD.is(pool),
            ("", "") => culprits::THREAD.is(pool),
            _ => words::culprit(&stage.key),
        }
        .into();
        let meaning = if spins.is_some() { &meanings::SPINNING } else { &meanings::PIPELINE };
        finding.meaning = meaning.fact().into();
        let row = |fact: Fact| Evidence::summed("ledger of threads", fact);
        let of_time = |metric: &'static Metric, (slow, base): (f64, f64)| {
            metric.is(Value::share(slow)).over(Value::share(base))
        };
        let idle = (1.0 - stage.busy.0, 1.0 - stage.busy.1);
        let mut rows = match stage.others {
            Some(_) => {
                let time = facts::STAGE_TIME.is(Value::share(stage.share.0)).with("doing", doing);
                vec![row(time.with("idle", Value::share(idle.0)))]
            }
            None => vec![
                row(of_time(&facts::STAGE_TIME, stage.share).with("doing", doing)),
                row(of_time(&facts::STAGE_IDLE, idle)),
            ],
        };
        if fewer {
            let (slow, base) = (Value::plain(stage.count.0), Value::plain(stage.count.1));
            rows.push(row(facts::STAGE_THREADS.is(slow).over(base)));
        }
        let waits = behind.iter().filter(|g| g.by() > 0.0 && !self.is_own(stage, g)).take(SHOWN - 2);
        rows.extend(waits.map(|g| g.evidence(case.jvm_name(self.jvm), self.per.each)));
        rows.splice(1..1, spins.map(Spinning::evidence));
        finding.evidence = rows;
        finding.remedies = if spins.is_some() { vec![Spinning::remedy()] } else { stage.remedies(fewer) };
        let check = match stage.others {
            None => checks::STAGE_WITHOUT_WORK.is(Value::share(1.0 - stage.busy.1)),
            Some(others) => checks::STAGE_SHARED.is(Value::plain(others)),
        };
        finding.verify = vec![check.with("pool", Value::name(stage.name)).into()];
        finding.windows.clone_from(&case.slow);
        let (thread, from_ns, to_ns) = stage.longest;
        finding.chain = Some(case.chains().of_thread(thread, Window { from_ns, to_ns }));
        finding
    }
}

impl Stage<'_> {
    pub(super) fn who(&self, fewer: bool) -> Fact {
        let now = self.count.0.round().max(1.0);
        match (self.threads.len(), fewer) {
            (1, _) => facts::STAGE.fact().with("thread", Value::name(self.name)),
            (_, true) => facts::STAGE_LEFT.fact().with("threads", (now > 1.0).then(|| Value::counted(now))),
            _ => {
                let fact = facts::STAGE.fact().with("threads", Value::counted(now));
                fact.with("pool", Value::name(self.name))
            }
        }
    }

    pub(super) fn remedies(&self, fewer: bool) -> Vec<Remedy> {
        let ended = fewer.then(|| remedies::WHY_THREADS_ENDED.remedy());
        // More threads that sleep in between take no work any earlier.
        let faster = match self.key.category {
            Category::Sleep => words::remedy_of(Category::Sleep),
            _ => {
                let doing = Value::from(words::does(&self.key));
                remedies::OFF_THE_CRITICAL_PATH.fact().with("doing", doing).into()
            }
        };
        ended.into_iter().chain([faster]).collect()
    }
}
