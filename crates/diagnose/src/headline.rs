//! The one sentence of a diagnosis.

use crate::{Confidence, Diagnosis, Finding, Window, quantity};

/// Windows named in the sentence.
const NAMED: usize = 2;

/// What took the time, or that nothing was found.
pub(crate) fn of(diagnosis: &Diagnosis, whole_run: bool) -> String {
    let lost = diagnosis.loss.lost_ms;
    let at = when(diagnosis);
    match diagnosis.findings.first() {
        Some(finding) => found(diagnosis, finding, whole_run),
        None if whole_run && diagnosis.ledger.is_empty() && diagnosis.loss.measured_on.is_empty() => {
            "nothing to judge: no log of a JVM and no series of progress was read".into()
        }
        None if whole_run && !diagnosis.ledger.iter().any(|row| row.in_sum) => {
            "no cause can be seen: no log of a JVM was read; the blind spots say what to switch on".into()
        }
        None if whole_run => "healthy as far as these inputs tell: no slow window and no cause found".into(),
        None if lost > 0.0 => {
            format!("{} lost {at}, and nothing that these inputs show explains it", quantity::millis(lost))
        }
        None => format!("nothing was lost {at}, and no cause was found"),
    }
}

fn found(diagnosis: &Diagnosis, finding: &Finding, whole_run: bool) -> String {
    let sure = match finding.confidence {
        Confidence::Proven => "proven",
        Confidence::Likely => "likely",
        Confidence::ConsistentWith => "consistent with the evidence",
    };
    let who = match finding.process.as_str() {
        "" => String::new(),
        process => format!(" in {process}"),
    };
    let title = &finding.title;
    match finding.share {
        Some(share) if !whole_run => format!(
            "{title}{who}: {} of the {} lost {} ({sure})",
            quantity::share(share),
            quantity::millis(diagnosis.loss.lost_ms),
            when(diagnosis)
        ),
        _ => format!("{title}{who}: {} ({sure})", quantity::millis(finding.cost_ms)),
    }
}

/// "at 142 s to 165 s and 84 s to 88 s": slow windows, longest first.
fn when(diagnosis: &Diagnosis) -> String {
    let mut windows: Vec<Window> = diagnosis.windows.slow.clone();
    windows.sort_by_key(|w| (std::cmp::Reverse(w.length_ns()), w.from_ns));
    let seconds = |ns: i64| {
        let s = ns.saturating_sub(diagnosis.zero_ns) as f64 / 1e9;
        if (s - s.round()).abs() < 0.05 { format!("{s:.0}") } else { format!("{s:.1}") }
    };
    let named: Vec<String> = windows
        .iter()
        .take(NAMED)
        .map(|w| format!("{}–{} s", seconds(w.from_ns), seconds(w.to_ns)))
        .collect();
    match windows.len().saturating_sub(NAMED) {
        0 => format!("at {}", named.join(" and ")),
        more => format!("at {} and {more} more", named.join(", ")),
    }
}
