//! Second changes: what is new and small compared with the cause, and stays when that is undone.
//!
//! A service that is held up by one thing hides the next one: while each operation waits 20 ms for
//! a lock, 0.7 ms more of running are a hundredth of what it grew by. Once the lock is free, they
//! are a sixth of an operation of 4 ms. So a change counts here by its share of the growth, or by
//! what it adds to an operation as it usually is.

use super::calls::Calls;
use super::lead::Lead;
use super::{Grown, Growth};
use crate::facts::{Value, reasons};
use crate::waits::Category;
use crate::{Case, Finding, Statement};

/// What of the growth a part that is new must make up to be reported together with a cause that
/// explains most of it.
const NEW_LEADS: f64 = 0.02;
/// What it must add to an operation's usual time to be reported, however little of the growth it
/// is.
const STAYS: f64 = 0.05;
/// How many times of its usual time a part must take to be new.
const NEW_TIMES: f64 = 10.0;
/// New parts that are reported at most.
const MOST_NEW: usize = 2;

/// Whether a finding's culprit is a method, or something in it: "shop.Cart in shop.Orders.book()".
fn names(finding: &Finding, place: &str) -> bool {
    finding.culprit.split([' ', '(']).any(|word| word == place)
}

impl<'a> Growth<'a> {
    /// Findings of second changes, with `reported` and `found` before them; the parts that they
    /// report leave `left`. `lost_ms` is what the whole growth explains of the loss, and `rest_ms`
    /// what no finding has been attributed yet, both in milliseconds.
    pub(super) fn second_changes(
        &self,
        case: &Case<'a>,
        (reported, found): (&[Finding], &[Finding]),
        left: &mut Vec<&Grown<'a>>,
        lost_ms: f64,
        mut rest_ms: f64,
    ) -> Vec<Finding> {
        let mut second: Vec<Finding> = Vec::new();
        let mut charge = |by: f64| {
            let share = by / self.all().max(f64::MIN_POSITIVE);
            let cost_ms = (lost_ms * share).min(rest_ms).max(0.0);
            rest_ms -= cost_ms;
            (share, cost_ms)
        };
        // Threads that sleep or wait in a method run in it, too.
        let is_known = |g: &Grown<'_>, second: &[Finding]| {
            let before = reported.iter().filter(|f| f.process_id == self.jvm).chain(found).chain(second);
            !g.key.place.is_empty() && before.into_iter().any(|f| names(f, g.key.place))
        };
        if let Some((calls, made)) = self.new_calls(case, left) {
            let (share, cost_ms) = charge(made.iter().map(|g| g.by()).sum());
            let mut finding = self.more_calls(case, calls, &made, share, cost_ms, false);
            finding.why_confidence.extend(self.stays(&made));
            left.retain(|g| made.iter().all(|m| m.cause != g.cause));
            second.push(finding);
        }
        while second.len() < MOST_NEW {
            let is_second = |g: &Grown<'_>| self.is_new(g) && self.is_felt(&[g]) && !is_known(g, &second);
            let Some(part) = left.iter().copied().find(|g| is_second(g)) else { break };
            let same: Vec<_> = left.iter().copied().filter(|g| g.key == part.key).collect();
            let (share, cost_ms) = charge(same.iter().map(|g| g.by()).sum());
            let lead = Lead { part, behind: Vec::new(), throughout: 0.0 };
            let mut finding = self.finding(case, &lead, left, share, cost_ms, false);
            finding.why_confidence.extend(self.stays(&same));
            left.retain(|g| g.key != part.key);
            second.push(finding);
        }
        second
    }

    /// The calls of which operations make more, with the parts of their time that are these calls'
    /// doing, where that is felt.
    fn new_calls<'g>(
        &'g self,
        case: &Case<'a>,
        left: &[&'g Grown<'a>],
    ) -> Option<(&'g Calls<'a>, Vec<&'g Grown<'a>>)> {
        let made = |calls: &'g Calls<'a>| {
            let is_made = |g: &&'g Grown<'a>| self.is_new(g) && calls.make(case.recording, g);
            (calls, left.iter().copied().filter(is_made).collect::<Vec<_>>())
        };
        let by = |made: &[&Grown<'_>]| made.iter().map(|g| g.by()).sum::<f64>();
        let new = self
            .calls
            .iter()
            .filter(|calls| calls.more_a_second)
            .map(made)
            .filter(|(_, made)| self.is_felt(made));
        new.max_by(|a, b| by(&a.1).total_cmp(&by(&b.1)))
    }

    /// Whether operations hardly did so in the baseline, and it is nothing that follows from
    /// waiting for others.
    fn is_new(&self, grown: &Grown<'_>) -> bool {
        use Category::{Disk, Dns, Network, Sleep};
        let category = grown.key.category;
        let acts = category.is_running() || matches!(category, Disk | Dns | Network | Sleep);
        acts && grown.holds && !grown.key.place.is_empty() && grown.base * NEW_TIMES <= grown.slow
    }

    /// Whether parts are enough of the growth, or of what an operation usually takes.
    fn is_felt(&self, parts: &[&Grown<'_>]) -> bool {
        let by: f64 = parts.iter().map(|g| g.by()).sum();
        by > 0.0 && (by >= NEW_LEADS * self.all() || self.added(parts) >= STAYS)
    }

    /// What parts add to an operation as it usually is, as a share of that.
    fn added(&self, parts: &[&Grown<'_>]) -> f64 {
        let usual: f64 = self.worked().map(|g| g.base).sum();
        parts.iter().map(|g| g.slow - g.base).sum::<f64>() / usual.max(f64::MIN_POSITIVE)
    }

    fn stays(&self, parts: &[&Grown<'_>]) -> Option<Statement> {
        let added = self.added(parts);
        (added >= STAYS).then(|| reasons::STAYS.is(Value::share(added)).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::culprits;
    use crate::{Confidence, Layer};

    #[test]
    fn a_method_that_a_finding_names_already_is_no_second_change() {
        let recording = crate::built::Built::jvm("25", "G1", 10.0).sealed();
        let case = crate::built::whole_run(&recording);
        let sure = (Confidence::Likely, Vec::new());
        let mut finding =
            case.finding_by("jit-never-compiled", Layer::Jit, fathom_recording::ProcessId(0), sure, 1.0);
        finding.culprit = culprits::METHOD.is(Value::name("shop.Rules.score")).into();
        assert!(names(&finding, "shop.Rules.score"));
        assert!(!names(&finding, "shop.Rules") && !names(&finding, "shop.Rules.scoreAll"));
        finding.culprit = culprits::DOING.is(Value::name("shop.Cart in shop.Orders.book()")).into();
        assert!(names(&finding, "shop.Orders.book"));
    }
}
