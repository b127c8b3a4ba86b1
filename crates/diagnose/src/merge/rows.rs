//! Causes that were ruled out and blind spots, one row each for all JVMs.

use fathom_recording::ProcessId;

use super::is_no_jvm;
use crate::facts::{Value, scope};
use crate::{BlindSpot, Case, Layer, Rule, RuledOut, Statement};

/// Processes named in a row before "and N more".
pub(super) const NAMED: usize = 3;

/// One row for a rule that no JVM shows: the metric of the JVM in which its layer was busiest.
pub(super) fn of_the_busiest(
    case: &Case<'_>,
    rule: &dyn Rule,
    mut out: Vec<(ProcessId, Statement, String)>,
) -> Option<RuledOut> {
    let others = out.len().saturating_sub(1);
    let busy = |jvm: ProcessId| match rule.layer() {
        Layer::Jit => case.compile_ms(jvm, &case.slow),
        _ => case.stopped_ms(jvm, &case.slow),
    };
    // The first of equals: sort_by is stable.
    out.sort_by(|a, b| busy(b.0).total_cmp(&busy(a.0)));
    let (jvm, figure, source) = out.into_iter().next()?;
    let figure = match others {
        0 => figure,
        n => {
            let others = match is_no_jvm(case.recording, jvm) {
                true => &scope::OTHER_PROCESSES,
                false => &scope::OTHER_JVMS,
            };
            let of = others.is(Value::count(n)).with("process", Value::name(case.jvm_name(jvm)));
            of.with("figure", Value::list([figure.fact().clone()])).into()
        }
    };
    let recording = case.recording.recording_of(jvm).map(str::to_owned);
    Some(RuledOut { rule: rule.id().to_owned(), process_id: jvm, recording, figure, source })
}

/// One row for each thing to switch on, with all rules that it blinds.
pub(super) fn blind_spots(spots: Vec<(String, BlindSpot)>) -> Vec<BlindSpot> {
    let mut rows: Vec<(Vec<Statement>, BlindSpot)> = Vec::new();
    for (_, spot) in spots {
        match rows.iter_mut().find(|(_, row)| row.remedy == spot.remedy) {
            Some((whats, row)) => {
                if !whats.contains(&spot.what) {
                    whats.push(spot.what);
                }
                row.rules.extend(spot.rules);
            }
            None => rows.push((vec![spot.what.clone()], spot)),
        }
    }
    rows.into_iter()
        .map(|(whats, mut row)| {
            let more = whats.len().saturating_sub(NAMED);
            let named = &whats[..whats.len() - more];
            if let [_, _, ..] = named {
                let parts = named.iter().map(|what| what.fact().clone());
                let several = scope::SEVERAL.fact().with("what", Value::list(parts));
                row.what = several.with("more", (more > 0).then(|| Value::count(more))).into();
            }
            row.rules.sort_unstable();
            row.rules.dedup();
            row
        })
        .collect()
}
