//! Findings of rules that are attributed with what the attribution of the time knows better than
//! the rules do.

use crate::growth::Growth;
use crate::rules::RULES;
use crate::{Case, Finding};

/// Attributes a finding about page faults with all that operations took longer for them, waits for
/// a CPU included: threads that run longer wait longer for a CPU.
pub(super) fn with_cpu_waits(case: &Case<'_>, findings: &mut [Finding], faults_ms: f64) {
    let charged: f64 = findings.iter().filter(|f| f.share.is_some()).map(|f| f.cost_ms).sum();
    if let Some(storm) = findings.iter_mut().find(|f| f.rule.starts_with("page-fault-") && f.share.is_some())
    {
        let more_ms = (faults_ms - storm.cost_ms).min(case.loss.lost_ms - charged);
        storm.cost_ms += more_ms.max(0.0);
        storm.share = case.share(storm.cost_ms);
    }
}

/// Attributes findings about code that runs slower than it should with all that operations ran
/// longer in it.
pub(super) fn with_code<'a>(case: &Case<'a>, findings: &mut [Finding], growth: &mut Growth<'a>) {
    for rule in RULES {
        let is_it = |f: &Finding| f.process_id == growth.jvm() && f.rule == rule.id();
        let Some(at) = findings.iter().position(is_it) else { continue };
        let Some((what, share)) = rule.slows_code(case, growth.jvm()) else { continue };
        growth.credit_code(case, (findings, at), what, share);
    }
}

/// Attributes a finding about a lock with what the holders did meanwhile, in their own time, as far
/// as the loss reaches.
pub(super) fn with_holders(case: &Case<'_>, findings: &mut [Finding], share: f64) {
    let charged: f64 = findings.iter().filter(|f| f.share.is_some()).map(|f| f.cost_ms).sum();
    let more_ms = (share * case.loss.lost_ms).min(case.loss.lost_ms - charged);
    if let Some(lock) = findings.iter_mut().find(|f| f.rule.starts_with("lock-") && f.share.is_some())
        && more_ms > 0.0
    {
        lock.cost_ms += more_ms;
        lock.share = case.share(lock.cost_ms);
    }
}
