//! Findings of rules that are attributed with what the attribution of the time knows better than
//! the rules do.

use fathom_recording::{FrameType, StackId};

use crate::facts::reasons;
use crate::growth::Growth;
use crate::rules::{JitCompileBurst, JitNeverCompiled, Uncompiled};
use crate::{Case, Finding, Rule};

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

/// Attributes a burst of compilations with what operations ran before it was compiled, which would
/// else be reported as growth of the methods that ran it.
pub(super) fn with_burst<'a>(case: &Case<'a>, findings: &mut [Finding], growth: &mut Growth<'a>) {
    let Some(at) = finding_of(&JitCompileBurst, findings, growth) else { return };
    let Some(uncompiled) = Uncompiled::of(case, growth.jvm()) else { return };
    let of_code = |stack| uncompiled.saved(stack);
    growth.credit_code(case, (findings, at), &reasons::WITH_UNCOMPILED, of_code);
}

/// Attributes methods that are never compiled with all that operations ran in them.
pub(super) fn with_interpreted<'a>(case: &Case<'a>, findings: &mut [Finding], growth: &mut Growth<'a>) {
    let Some(at) = finding_of(&JitNeverCompiled, findings, growth) else { return };
    let of_code = |stack: StackId| {
        let node = case.recording.stacks.get(stack.index());
        let frame = node.and_then(|node| case.recording.frames.get(node.frame.index()));
        f64::from(frame.is_some_and(|frame| frame.frame_type == FrameType::Interpreted))
    };
    growth.credit_code(case, (findings, at), &reasons::WITH_INTERPRETED, of_code);
}

fn finding_of(rule: &dyn Rule, findings: &[Finding], growth: &Growth<'_>) -> Option<usize> {
    findings.iter().position(|f| f.process_id == growth.jvm() && f.rule == rule.id())
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
