//! `findings`: what `fathom diagnose` says of the recording, a row each.

use fathom_diagnose::Statement;

use super::{Input, process};
use crate::columns::{Cell, Rows};

const COLUMNS: &[&str] = &[
    "rule",
    "confidence",
    "process",
    "culprit",
    "lost_ms",
    "share",
    "sentence",
    "why_confidence",
    "started_ns",
];

pub(super) fn rows(input: &Input<'_>) -> Rows {
    let mut rows = Rows::new("findings", COLUMNS);
    for finding in &input.diagnosis.findings {
        rows.push([
            finding.rule.into(),
            finding.confidence.word().into(),
            process(input.recording, finding.process_id).into(),
            (&*finding.culprit).into(),
            Some(finding.cost_ms).filter(|ms| *ms > 0.0).into(),
            finding.share.into(),
            (&*finding.title).into(),
            Statement::joined(&finding.why_confidence).as_str().into(),
            Cell::Int(finding.started_ns),
        ]);
    }
    rows
}
