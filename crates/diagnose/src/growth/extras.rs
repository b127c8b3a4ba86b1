//! What else is known of the part that grew most: each adds to the title of its finding, and may
//! bring a row of evidence and what to do first.

use fathom_recording::vocabulary::fact;

use super::answers::Answers;
use super::calls::Calls;
use super::carriers::has_carried;
use super::connection::Limited;
use super::io_limit::IoLimit;
use super::lead::Lead;
use super::meanwhile::{self, Meanwhile};
use super::parts::Part;
use super::reclaim::Reclaim;
use super::time_limit::TimeLimit;
use super::{Grown, Growth, MOST, failing, handshakes, held, sending, words};
use crate::attribution::Key;
use crate::facts::{growth as facts, remedies};
use crate::waits::Category;
use crate::{Case, Evidence, Fact, Finding, Remedy};

/// Where a row stands in the evidence.
enum At {
    First,
    /// Behind the row of the part itself.
    Second,
    Last,
}

/// One thing more.
#[derive(Default)]
pub(super) struct Extra {
    title: Option<Fact>,
    evidence: Option<(At, Evidence)>,
    /// What to do before all else.
    remedy: Option<Remedy>,
    /// Who is to blame instead.
    culprit: Option<Fact>,
}

impl Extra {
    /// Adds what it brings; what is returned stands in the title.
    pub(super) fn add_to(self, finding: &mut Finding) -> Option<Fact> {
        let rows = &mut finding.evidence;
        match self.evidence {
            Some((At::First, row)) => rows.insert(0, row),
            Some((At::Second, row)) => rows.insert(1.min(rows.len()), row),
            Some((At::Last, row)) => rows.push(row),
            None => {}
        }
        self.culprit.into_iter().for_each(|culprit| finding.culprit = culprit.into());
        self.remedy.into_iter().for_each(|remedy| finding.remedies.insert(0, remedy));
        self.title
    }
}

impl<'a> Growth<'a> {
    /// All that is known. `connecting`: the part is a wait for a connection to be made.
    pub(super) fn extras(&self, case: &Case<'_>, lead: &Lead<'_, '_>, connecting: bool) -> Vec<Extra> {
        let (per, jvm) = (&self.per, self.jvm);
        let Grown { key, part, .. } = lead.part;
        let jdk = || {
            let process = case.recording.processes.get(jvm.index());
            process.and_then(|process| process.fact(fact::JDK)?.parse().ok())
        };
        let on_carriers = stays_on_carrier(case, key, part).then(|| Extra {
            title: Some(facts::CARRIERS.fact()),
            remedy: Some(words::let_go_of_carriers(jdk()).remedy()),
            ..Extra::default()
        });
        let fewer = self.fewer(case, lead.part).map(|fewer| Extra {
            title: Some(fewer.in_title()),
            evidence: Some((At::First, fewer.evidence())),
            remedy: Some(remedies::FIND_LOST_PERMITS.remedy()),
            ..Extra::default()
        });
        let stalled = self.stalled_in(lead.part).map(|stalled| Extra {
            title: Some(words::amount(&facts::STALLED, (stalled.slow, stalled.base), per.each)),
            remedy: Some(remedies::ALLOCATE_LESS_THERE.remedy()),
            ..Extra::default()
        });
        let connects =
            connecting.then(|| Extra { title: Some(facts::CONNECTING.fact()), ..Extra::default() });
        let more = |calls: &Calls<'a>| calls.asked_more(case, per, &self.lengths_ms, lead.part);
        let is_answered = key.category == Category::Network && !connecting;
        let answers = is_answered.then(|| Answers::of(case, part, (jvm, key.target))).flatten();
        let answers = answers.map(|answers| Extra {
            title: Some(answers.in_title()),
            evidence: Some((At::Second, answers.evidence())),
            remedy: Some(answers.remedy()),
            ..Extra::default()
        });
        let more = self.calls.iter().find_map(more);
        let sends = || sending::sender(case, part).is_some();
        let limited = match is_answered {
            true => {
                // The rest of an answer may come slowly though its first bytes come soon, over a
                // narrow way.
                let explains = |took: &f64| !per.each.is_counted() && *took >= MOST * lead.part.slow;
                let took_ms = held::answered_after_ms(case, jvm, key.target).filter(explains);
                Limited::of(case, jvm, key.target, sends(), took_ms)
            }
            // Each call brings what the window has room for.
            false => more.as_ref().and_then(|_| Limited::of_reads(case, jvm)),
        };
        let asked = more.map(|asked| {
            let row = Evidence::summed("system calls, counted by the second", words::counted(&asked));
            let remedy = limited.is_none().then(|| remedies::ASK_ONCE.remedy());
            Extra {
                title: Some(words::asked_more(&asked)),
                evidence: Some((At::Second, row)),
                remedy,
                ..Extra::default()
            }
        });
        let limited = limited.map(|limited| Extra {
            title: limited.in_title(),
            culprit: limited.culprit(),
            evidence: Some((At::Second, limited.evidence())),
            remedy: limited.remedy(),
        });
        let may_fail = matches!(key.category, Category::Sleep | Category::TimedWait);
        let failing = may_fail.then(|| failing::Failing::of(case, jvm, part)).flatten();
        let failing = failing.map(|failing| Extra {
            title: Some(failing.in_title()),
            evidence: Some((At::Second, failing.evidence())),
            remedy: Some(failing.remedy()),
            ..Extra::default()
        });
        let reclaim = Reclaim::of(case, jvm, part, key.category).map(|reclaim| Extra {
            title: Some(reclaim.in_title()),
            evidence: Some((At::Second, reclaim.evidence())),
            remedy: Some(Reclaim::remedy()),
            ..Extra::default()
        });
        let time_limit = TimeLimit::of(case, part, key.category).map(|limit| Extra {
            title: Some(limit.in_title()),
            evidence: Some((At::Second, limit.evidence())),
            remedy: limit.remedy().filter(|_| !connecting),
            ..Extra::default()
        });
        let io_limit = IoLimit::of(case, jvm, key.category).map(|limit| Extra {
            title: Some(limit.in_title()),
            evidence: Some((At::Second, limit.evidence())),
            remedy: Some(IoLimit::remedy()),
            culprit: Some(limit.culprit()),
        });
        let is_stopped = key.category == Category::Stopped;
        let handshakes = is_stopped.then(|| handshakes::made_more(case, jvm)).flatten();
        let handshakes = handshakes.map(|handshakes| Extra {
            title: Some(handshakes.in_title()),
            evidence: Some((At::Last, handshakes.evidence())),
            remedy: Some(remedies::FEWER_HANDSHAKES.remedy()),
            ..Extra::default()
        });
        let unknown = meanwhile::may_be(key.category) && lead.part.way().is_none();
        let meanwhile = unknown.then(|| Meanwhile::of(case, jvm, part)).flatten().map(|meanwhile| Extra {
            title: Some(meanwhile.in_title()),
            evidence: Some((At::Second, meanwhile.evidence())),
            ..Extra::default()
        });
        [
            on_carriers,
            fewer,
            stalled,
            connects,
            asked,
            answers,
            limited,
            time_limit,
            failing,
            reclaim,
            io_limit,
            handshakes,
            meanwhile,
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Whether most of a wait is one of a virtual thread on its carrier, so that no other one gets on.
/// That is more than being pinned (the rule carriers-pinned, by the method that parks it there): a
/// call of the kernel and native code keep the carrier as well.
fn stays_on_carrier(case: &Case<'_>, key: &Key<'_>, part: &Part<'_>) -> bool {
    if key.category.is_running() || matches!(key.category, Category::RunQueue | Category::Idle) {
        return false;
    }
    // A virtual thread that has left its carrier is a thread of its own here, without an id at the
    // kernel.
    let on_carriers = part.threads.iter().all(|id| case.recording.threads[id.index()].tid.is_some());
    let (mut all, mut carried) = (0.0, 0.0);
    for (stack, ms) in &part.by_stack {
        all += ms[0] + ms[1];
        carried += if has_carried(case, *stack) { ms[0] + ms[1] } else { 0.0 };
    }
    on_carriers && carried > 0.5 * all
}
