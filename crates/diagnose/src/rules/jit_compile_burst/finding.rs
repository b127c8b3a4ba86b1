//! What is said of bursts that cost something, and how sure it is.

use super::super::jit_case::{JitCase, Task};
use super::burst::{BURST_PER_S, Burst};
use super::evidence::{evidence, remedies};
use super::methods::{newly_hot, packages};
use super::redefined::Redefined;
use super::samples::Support;
use crate::confidence::Ground;
use crate::facts::{Metric, Value, checks, compile, meanings, reasons, titles};
use crate::intervals::Intervals;
use crate::{Case, Finding, Rule, Sure, Window};

pub(super) fn found(
    rule: &dyn Rule,
    jit: &JitCase<'_, '_>,
    bursts: &[Burst<'_>],
    ranges: &Intervals,
    support: Option<&Support<'_>>,
    cost_ms: f64,
) -> Finding {
    let case = jit.case;
    let tasks: Vec<Task<'_>> = bursts.iter().flat_map(|b| b.tasks.iter().copied()).collect();
    let fresh = newly_hot(jit, bursts);
    let start_up = bursts.iter().all(|b| is_start_up(jit, b.window));
    let sure = sureness(jit, bursts, support, cost_ms, start_up);
    let mut finding = case.finding(rule, jit.jvm, sure, cost_ms);
    let takes_cpus = support.is_some_and(Support::is_mostly_processors);
    let title = match (start_up, takes_cpus) {
        (true, _) => &titles::START_UP,
        (_, true) => &titles::BURST_TOOK_CPUS,
        _ => &titles::BURST,
    };
    finding.title = title.is(Value::count(fresh.len())).into();
    finding.culprit = packages(&fresh).into();
    finding.meaning = match support {
        None => &meanings::QUEUE_FOR_COMPILERS,
        Some(_) if takes_cpus => &meanings::COMPILERS_TAKE_CPUS,
        Some(_) => &meanings::QUEUE_FOR_C2,
    }
    .fact()
    .into();
    finding.evidence = evidence(jit, bursts, &tasks, &fresh);
    let onset_ns = bursts.iter().map(|burst| burst.onset_ns).min();
    if let (true, Some(start_ns), Some(onset_ns)) = (start_up, jit.start_ns(), onset_ns) {
        let after_ms = onset_ns.saturating_sub(start_ns).max(0) as f64 / 1e6;
        finding.evidence.push(jit.evidence(compile::START_UP.is(Value::ms(after_ms))).at(onset_ns));
    }
    if let Some(support) = support {
        finding.evidence.splice(0..0, support.evidence(jit));
    }
    finding.windows = match support {
        Some(support) => ranges.and(&Intervals::of_windows(support.slow_windows())).windows(),
        None => ranges.windows(),
    };
    finding.remedies = remedies(jit);
    finding.verify = vec![
        checks::C1_ALONE.fact().into(),
        checks::FEWER_COMPILATIONS.is(Value::per_second(BURST_PER_S)).into(),
    ];
    if let Some(redefined) = Redefined::of(jit, bursts) {
        redefined.say(jit, &mut finding);
    }
    finding
}

/// Whether a window lies in the start-up: what it is compared with comes after it. A baseline
/// before it shows the JVM at its usual work already.
pub(super) fn is_start_up(jit: &JitCase<'_, '_>, window: Window) -> bool {
    let start_ns = jit.start_ns().unwrap_or(i64::MIN);
    if jit.case.base.iter().any(|base| base.to_ns <= window.from_ns && base.to_ns > start_ns) {
        return false;
    }
    let young = jit.warm_ns().is_some_and(|warm| window.from_ns < warm);
    young || jit.case.warm_up.is_some_and(|w| window.from_ns < w.to_ns)
}

pub(super) fn sureness(
    jit: &JitCase<'_, '_>,
    bursts: &[Burst<'_>],
    support: Option<&Support<'_>>,
    cost_ms: f64,
    start_up: bool,
) -> Sure {
    let case = jit.case;
    let windows: Vec<Window> = match support {
        Some(support) => support.slow_windows().to_vec(),
        None => bursts.iter().map(|b| b.window).collect(),
    };
    let lost_ms = case.lost_during_ms(&Intervals::of_windows(&windows));
    let stopped_ms = case.excess_ms(
        case.stopped_ms(jit.jvm, &windows),
        case.stopped_ms(jit.jvm, &case.base) * Case::length_ms(&windows)
            / Case::length_ms(&case.slow).max(1.0),
    );
    let weak = |why: &'static Metric| Ground::Fits.because(case, cost_ms, why);
    if start_up {
        return weak(&reasons::START_UP);
    }
    let Some(lost_ms) = lost_ms else {
        return weak(&reasons::BURST_NO_SERIES);
    };
    if cost_ms < 0.5 * lost_ms {
        return weak(match support {
            Some(_) => &reasons::BURST_SEEN_LESS,
            None => &reasons::BURST_LESS,
        });
    }
    if stopped_ms > 0.3 * lost_ms {
        return weak(&reasons::STOPS_TOO);
    }
    if bursts.iter().any(|b| b.onset_ns > b.window.from_ns.saturating_add(b.window.length_ns() / 2)) {
        return weak(&reasons::BURST_LATE);
    }
    match support {
        Some(_) => {
            let is_part = Case::length_ms(&windows) < Case::length_ms(&case.slow);
            let why = if is_part { &reasons::BURST_SEEN_IN_PART } else { &reasons::BURST_SEEN };
            Ground::Incomplete.because(case, cost_ms, why)
        }
        None => weak(&reasons::BURST_FITS),
    }
}
