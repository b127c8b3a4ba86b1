//! `recordings`: one row each, and what every row of every table begins with.

use fathom_diagnose::Status;
use fathom_recording::vocabulary::{fact, sample};
use fathom_recording::{Identity, Recording};

use super::Input;
use crate::columns::{Cell, Rows};

const COLUMNS: &[&str] = &[
    "end_ns",
    "service_from",
    "boot",
    "container",
    "labels",
    "jvm_version",
    "collector",
    "tool",
    "samples",
    "cpu_ns",
    "lost_records",
    "status",
    "headline",
    "judged_ms",
    "lost_ms",
    "operations_per_s",
];

/// The columns that all rows of a recording have.
pub(crate) fn common(recording: &Recording, id: &str, start_ns: i64, day: &str) -> Vec<(&'static str, Cell)> {
    let Identity { service, version, host, .. } = &recording.identity;
    vec![
        ("recording", id.into()),
        ("day", day.into()),
        ("service", service.clone().into()),
        ("version", version.clone().into()),
        ("host", host.clone().into()),
        ("start_ns", start_ns.into()),
    ]
}

pub(super) fn rows(input: &Input<'_>) -> Rows {
    let (recording, diagnosis) = (input.recording, input.diagnosis);
    let identity = &recording.identity;
    let labels: Vec<String> = identity.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let fact_of = |key: &str| {
        let mut facts: Vec<&str> = recording.processes.iter().filter_map(|p| p.fact(key)).collect();
        facts.sort_unstable();
        facts.dedup();
        (!facts.is_empty()).then(|| facts.join(", "))
    };
    let cpu = recording.strings.find(sample::CPU);
    let cpu_ns = recording.samples.iter().filter(|s| Some(s.kind) == cpu).map(|s| s.weight);
    let status = match diagnosis.status {
        Status::Found => "found",
        Status::NotExplained => "not-explained",
        Status::NoCauseFound => "no-cause-found",
        Status::Healthy => "healthy",
        Status::NothingToJudge => "nothing-to-judge",
    };
    let lost = recording.sources.iter().map(|s| s.lost).fold(0_u64, u64::saturating_add);
    let measured = diagnosis.seen.loss_measured;
    let mut rows = Rows::new("recordings", COLUMNS);
    rows.push([
        input.covers_ns.1.into(),
        identity.service_from.map(|from| from.word().to_owned()).into(),
        identity.boot.clone().into(),
        identity.container.clone().into(),
        labels.join(", ").as_str().into(),
        fact_of(fact::JVM_VERSION).into(),
        fact_of(fact::COLLECTOR).into(),
        concat!("fathom ", env!("CARGO_PKG_VERSION")).into(),
        recording.samples.len().into(),
        cpu_ns.fold(0_i64, i64::saturating_add).into(),
        i64::try_from(lost).unwrap_or(i64::MAX).into(),
        status.into(),
        (&*diagnosis.headline).into(),
        diagnosis.seen.judged_ms.into(),
        Some(diagnosis.loss.lost_ms).filter(|_| measured).into(),
        diagnosis.loss.base_rate.into(),
    ]);
    rows
}
