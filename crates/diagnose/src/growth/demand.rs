//! Fewer operations, none of which took longer: less was asked for, or what asks waits elsewhere. That is no slowness of this JVM.
//!
//! Threads' time is what operations take, and what threads have no work for. Where fewer operations were done, each took as long as usual,
//! and the time was seen, the rest is time without work.

use crate::{Case, Confidence, Evidence, Finding, Layer, Remedy, quantity};

use super::{Growth, words};

/// The id of the finding.
pub const DEMAND_RULE: &str = "less-demand";

/// How many times of its usual time an operation may take and be as long as ever: throughput itself is noisier.
const AS_EVER: f64 = 1.15;
/// Share of the threads' time that may go unseen: it could hold what operations waited for.
const UNSEEN: f64 = 0.1;

impl Growth<'_> {
    /// That less was asked for; `None` where operations are not counted, took longer, or too much of the time was not seen.
    pub(crate) fn less_demand(&self, case: &Case<'_>) -> Option<Finding> {
        let (slow, base) = self.worked().fold((0.0, 0.0), |sum, g| (sum.0 + g.slow, sum.1 + g.base));
        let as_ever = base > 0.0 && slow <= AS_EVER * base;
        if !self.per.operations || !as_ever || self.unseen > UNSEEN || case.loss.lost_ms <= 0.0 {
            return None;
        }
        let fell = case.loss.slow_rate.zip(case.loss.base_rate)?;
        let mut finding = case.finding_by(
            DEMAND_RULE,
            Layer::Application,
            self.jvm,
            Confidence::ConsistentWith,
            case.loss.lost_ms,
        );
        finding.title = format!(
            "fewer operations, and none took longer: {} of threads' time each instead of {}; less was asked for",
            words::time(slow),
            words::time(base)
        );
        finding.why_confidence =
            "threads had no work meanwhile; what sends the requests was not looked at, and may wait for something else".into();
        finding.culprit = "whoever asks for the operations".into();
        finding.meaning = "A service that does less because less is asked of it is not slow. Clients that wait for their turn elsewhere, a \
                           balancer that sends requests to other instances, or a queue before this process look the same from here."
            .into();
        finding.evidence = vec![
            Evidence {
                text: format!(
                    "{} instead of {} {}, and {} instead of {} of running and waiting for each",
                    quantity::count(fell.0),
                    quantity::count(fell.1),
                    case.loss.unit,
                    words::time(slow),
                    words::time(base)
                ),
                source: "ledger of threads".into(),
                at_ns: None,
            },
            Evidence {
                text: format!("{} of the threads' time was not seen", quantity::share(self.unseen)),
                source: "ledger of threads".into(),
                at_ns: None,
            },
        ];
        finding.remedies = vec![Remedy {
            change: "look at the clients, the balancer or the queue before this process for the same time"
                .into(),
            applies_to: "any JDK".into(),
            risk: String::new(),
        }];
        finding.verify =
            vec!["requests that arrive at this process a second fell as its operations did".into()];
        finding.windows = case.slow.clone();
        Some(finding)
    }
}
