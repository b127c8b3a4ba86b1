//! The words, values and recommendations of a busy stage.

use super::{Grown, Growth, STAGE_RULE, Stage};
use crate::growth::{SHOWN, TIMES, words};
use crate::{Case, Confidence, Evidence, Finding, Remedy, Window, quantity};

/// Share of its busy time that one doing must make up to be said to be what it is busy with.
const MAINLY: f64 = 0.7;
/// What it means.
pub(super) const MEANING: &str = "A pipeline is as fast as the stage that never waits for work. Making any other one faster, or giving it more threads, \
                       changes nothing.";

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
        let sure = if is_clear && is_lost { Confidence::Likely } else { Confidence::ConsistentWith };
        let mut finding =
            case.finding_by(STAGE_RULE, words::layer(stage.key.category), self.jvm, sure, cost_ms);
        let share = quantity::share;
        let doing = words::doing(&stage.key);
        let who = stage.who(fewer);
        let (left, usual) = (stage.count.0.round(), stage.count.1.round());
        let ended = format!("{} of {usual} threads of {} ended", usual - left, stage.name);
        let lead = if fewer { format!("{ended}, and ") } else { String::new() };
        finding.title = format!(
            "{lead}{who} always busy ({} of the time, {} in the baseline): {doing} for {} of it; work handed over queues up",
            share(stage.busy.0),
            share(stage.busy.1),
            share(stage.share.0 / stage.busy.0.max(f64::MIN_POSITIVE)),
        );
        finding.culprit = match (stage.key.target, stage.key.place) {
            _ if fewer => ended,
            ("", "") => format!("thread {}", stage.name),
            _ => words::culprit(&stage.key),
        };
        finding.why_confidence = format!(
            "threads that took work from others and had time to spare have none any more, and the others wait more than before; that what \
             they wait for passes through {} was not seen itself",
            if stage.threads.len() == 1 { "this thread" } else { "these threads" }
        );
        finding.meaning = MEANING.into();
        let row = |text: String| Evidence::summed("ledger of threads", text);
        let mut rows = vec![
            row(format!(
                "{doing}: {} of the time, {} in the baseline",
                share(stage.share.0),
                share(stage.share.1)
            )),
            row(format!(
                "without work, or waiting for another thread: {} of the time, {} in the baseline",
                share(1.0 - stage.busy.0),
                share(1.0 - stage.busy.1)
            )),
        ];
        if fewer {
            rows.push(row(format!(
                "{:.1} threads of it at a time, {:.1} in the baseline",
                stage.count.0, stage.count.1
            )));
        }
        let waits = behind.iter().filter(|g| g.by() > 0.0 && !self.is_own(stage, g)).take(SHOWN - 2);
        rows.extend(waits.map(|g| g.evidence(case.jvm_name(self.jvm), self.per.each)));
        finding.evidence = rows;
        finding.remedies = stage.remedies(fewer);
        finding.verify = vec![format!(
            "fathom ledger REC --by pool: {} is again without work for {} of the time",
            stage.name,
            share(1.0 - stage.busy.1)
        )];
        finding.windows.clone_from(&case.slow);
        let (thread, from_ns, to_ns) = stage.longest;
        finding.chain = Some(case.chains().of_thread(thread, Window { from_ns, to_ns }));
        finding
    }
}

impl Stage<'_> {
    pub(super) fn who(&self, fewer: bool) -> String {
        let now = self.count.0.round().max(1.0);
        match (self.threads.len(), fewer) {
            (1, _) => format!("thread {} is", self.name),
            (_, true) if now == 1.0 => "the one that is left is".to_owned(),
            (_, true) => format!("the {now} that are left are"),
            _ => format!("the {now} threads of {} are", self.name),
        }
    }

    pub(super) fn remedies(&self, fewer: bool) -> Vec<Remedy> {
        let remedy =
            |change: String, risk: &str| Remedy { change, applies_to: "any JDK".into(), risk: risk.into() };
        let mut remedies = Vec::new();
        if fewer {
            remedies.push(remedy(
                "find out why threads of this pool ended: an exception that leaves run() ends its thread (catch it there, and set an \
                 UncaughtExceptionHandler that logs)"
                    .into(),
                "",
            ));
        }
        remedies.push(remedy(
            format!(
                "take it off the critical path, make it faster, or share it among more threads: {}",
                words::doing(&self.key)
            ),
            "more threads change the order of what passes through",
        ));
        remedies
    }
}
