//! Findings of rules that are attributed with what the attribution of the time knows better than
//! the rules do.

use crate::growth::Growth;
use crate::rules::{JitCompileBurst, Uncompiled};
use crate::{Case, Finding, Rule, quantity};

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

/// Attributes a finding about a burst of compilations with all that operations ran before it was
/// compiled, where that is more than what the rule could measure of it.
pub(super) fn with_burst<'a>(case: &Case<'a>, findings: &mut [Finding], growth: &mut Growth<'a>) {
    let is_burst = |f: &Finding| f.process_id == growth.jvm() && f.rule == JitCompileBurst.id();
    if !findings.iter().any(is_burst) {
        return;
    }
    let Some(uncompiled) = Uncompiled::of(case, growth.jvm()) else { return };
    let burst_ms = growth.credit_burst(case, |stack| uncompiled.saved(stack));
    let charged: f64 = findings.iter().filter(|f| f.share.is_some()).map(|f| f.cost_ms).sum();
    let burst = findings.iter_mut().find(|f| f.rule == JitCompileBurst.id());
    if let Some(burst) = burst
        && burst_ms > burst.cost_ms
    {
        let room_ms = if burst.share.is_some() { case.loss.lost_ms - charged } else { f64::INFINITY };
        burst.cost_ms += (burst_ms - burst.cost_ms).min(room_ms).max(0.0);
        burst.share = burst.share.and(case.share(burst.cost_ms));
        let cost = burst.share.map_or(quantity::millis(burst.cost_ms), quantity::share);
        burst.why_confidence +=
            &format!("; with what threads took longer in code that was not compiled yet it is {cost}");
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
