//! A control group that reads or writes as much as its limit lets it: what is more waits in the
//! kernel, and the device is idle.

use fathom_recording::ProcessId;
use fathom_recording::vocabulary::{live, live::Word};

use crate::facts::{Metric, Value, culprits, growth as facts, remedies};
use crate::series_within::mean;
use crate::waits::Category;
use crate::{Case, Evidence, Fact, Remedy};

/// What of a limit must be used for it to be what is waited for; the kernel evens out over a tenth
/// of a second.
const USED: f64 = 0.85;
/// What is limited, and what is done of it.
const LIMITS: [(Word, Word); 2] = [
    (live::CGROUP_IO_REQUESTS_MAX, live::CGROUP_IO_REQUESTS),
    (live::CGROUP_IO_BYTES_MAX, live::CGROUP_IO_BYTES),
];

/// A limit that is used up.
pub(super) struct IoLimit {
    fact: Fact,
    group: String,
}

impl IoLimit {
    /// That of a JVM's control groups, where what grew may be due to it.
    pub(super) fn of(case: &Case<'_>, jvm: ProcessId, category: Category) -> Option<Self> {
        if category != Category::Disk {
            return None;
        }
        let of = |word: Word| {
            let all = case.recording.series.iter();
            all.filter(move |s| s.info.name == word.name && s.info.process == Some(jvm))
        };
        for (limit, done) in LIMITS {
            for series in of(limit) {
                let group = series.info.instance.as_str();
                let Some(done) = of(done).find(|s| s.info.instance == group) else { continue };
                let (Some(may), Some(does)) = (mean(series, &case.slow), mean(done, &case.slow)) else {
                    continue;
                };
                let usual = mean(done, &case.base);
                // A limit that was there and used up before is no change.
                let was_used = mean(series, &case.base).is_some_and(|may| usual >= Some(USED * may));
                if does >= USED * may && !was_used {
                    return Some(Self {
                        fact: fact(group, limit, may, does, usual),
                        group: group.to_owned(),
                    });
                }
            }
        }
        None
    }

    pub(super) fn in_title(&self) -> Fact {
        self.fact.clone()
    }

    pub(super) fn evidence(&self) -> Evidence {
        Evidence::summed("host", self.fact.clone())
    }

    pub(super) fn culprit(&self) -> Fact {
        culprits::IO_LIMIT.is(Value::name(&self.group))
    }

    pub(super) fn remedy() -> Remedy {
        remedies::HIGHER_IO_LIMIT.remedy()
    }
}

fn fact(group: &str, limit: Word, may: f64, does: f64, usual: Option<f64>) -> Fact {
    let is_read = group.ends_with(" read");
    let metric: &Metric = if is_read { &facts::READ_LIMIT } else { &facts::WRITE_LIMIT };
    let is_count = limit == live::CGROUP_IO_REQUESTS_MAX;
    let amount = |value: f64| if is_count { Value::plain(value) } else { Value::bytes(value) };
    let fact = metric.is(amount(may)).over(usual.map(amount)).with("done", amount(does));
    fact.with("requests", is_count.then(|| Value::plain(may))).with("group", Value::name(group))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;
    use crate::built::{Built, slow_and_base};

    const GROUP: &str = "shop/api vda read";

    fn said(limit: (f64, f64), done: (f64, f64)) -> Option<Statement> {
        let mut built = Built::jvm("25", "G1", 60.0);
        let jvm = Some(built.jvm);
        let values = |(usual, slow): (f64, f64)| [(0.0, 20.0, usual), (20.0, 40.0, slow)];
        built.gauge(live::CGROUP_IO_REQUESTS_MAX, GROUP, jvm, &values(limit));
        built.gauge(live::CGROUP_IO_REQUESTS, GROUP, jvm, &values(done));
        let (jvm, recording) = (built.jvm, built.sealed());
        let case = slow_and_base(&recording, (20, 40), (0, 20), 10_000.0);
        IoLimit::of(&case, jvm, Category::Disk).map(|limit| limit.fact.into())
    }

    #[test]
    fn a_limit_that_is_used_up_is_why_the_disk_is_waited_for() {
        let fact = said((1_000.0, 150.0), (140.0, 149.0)).unwrap();
        fact.states(&facts::READ_LIMIT, &[("requests", "150"), ("done", "149"), ("group", GROUP)]);
        assert!(said((1_000.0, 1_000.0), (140.0, 149.0)).is_none(), "far from it");
        assert!(said((150.0, 150.0), (149.0, 149.0)).is_none(), "as ever");
    }
}
