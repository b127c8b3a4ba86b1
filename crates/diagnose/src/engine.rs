//! The diagnosis: windows → loss → ledger → every rule on every JVM → one ranked, merged verdict.

use fathom_recording::{ProcessId, Recording};
use jiff::tz::TimeZone;

use crate::merge::Merged;
use crate::rules::RULES;
use crate::timeline::Timeline;
use crate::windows::{self, Chosen, WindowError, WindowSpec};
use crate::{BlindSpot, Case, Diagnosis, Input, Layer, SCHEMA, collector, headline, ledger, merge};

/// What a user may ask of a diagnosis.
#[derive(Clone, Debug)]
pub struct Options {
    /// Slow windows; found when empty.
    pub slow: Vec<WindowSpec>,
    /// Base windows; found when empty.
    pub base: Vec<WindowSpec>,
    /// The zone of clock times that name none.
    pub zone: TimeZone,
}

impl Default for Options {
    fn default() -> Self {
        Self { slow: Vec::new(), base: Vec::new(), zone: TimeZone::UTC }
    }
}

/// Diagnoses a sealed recording. Fails only when a window that the user gave cannot be followed.
///
/// The same recording and options give the same diagnosis.
pub fn diagnose(recording: &Recording, options: &Options) -> Result<Diagnosis, WindowError> {
    let timeline = Timeline::of(recording);
    let (jvms, unplaced) = timeline.jvms();
    let Chosen { windows, whole_run, loss, warm_up, lost_by } =
        windows::choose(recording, &jvms, &timeline, options)?;
    let case = Case {
        recording,
        slow: windows.slow.clone(),
        base: windows.base.clone(),
        whole_run,
        loss: loss.clone(),
        warm_up,
        lost_by,
        chains: std::cell::OnceCell::new(),
    };
    let ledger = ledger::ledger(recording, &jvms, &case.slow, &case.base, &loss);
    let Merged { findings, mut ruled_out, mut blind_spots } = merge::judge_all(&case, &jvms, RULES);
    // A finding of the collector's speaks for itself.
    if findings.iter().all(|finding| finding.layer != Layer::Gc) {
        ruled_out.splice(0..0, collector::ruled_out(&case, &jvms, &ledger));
    }
    blind_spots.extend(unseen(recording, &jvms, &unplaced));
    blind_spots.extend(uncollected(recording));
    let mut diagnosis = Diagnosis {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        headline: String::new(),
        inputs: recording.sources.iter().map(|source| input(recording, source)).collect(),
        wall_clock: timeline.wall,
        zero_ns: timeline.zero_ns,
        windows,
        loss,
        ledger,
        findings,
        ruled_out,
        blind_spots,
        warnings: warnings(recording, &timeline),
    };
    diagnosis.headline = headline::of(&diagnosis, whole_run);
    Ok(diagnosis)
}

/// What no rule could look at: recordings without a JVM, JVMs that are on no common clock.
fn unseen(recording: &Recording, jvms: &[ProcessId], unplaced: &[ProcessId]) -> Vec<BlindSpot> {
    let rules: Vec<String> = RULES.iter().map(|rule| rule.id().to_owned()).collect();
    if !unplaced.is_empty() {
        let names: Vec<_> =
            unplaced.iter().map(|jvm| recording.processes[jvm.index()].name.as_str()).collect();
        return vec![BlindSpot {
            what: format!("{}: cannot be placed on the clock of the other inputs", names.join(", ")),
            rules,
            remedy: "place the log by hand: --align FILE=+SECONDS after the start of the first JVM, or \
                     --align FILE=@2026-11-20T22:00:00Z; logging with the `time` decorator makes that unnecessary"
                .into(),
        }];
    }
    if !jvms.is_empty() {
        return Vec::new();
    }
    let of = |layers: &[crate::Layer]| -> Vec<String> {
        let rules = RULES.iter().filter(|rule| layers.contains(&rule.layer()));
        rules.map(|rule| rule.id().to_owned()).collect()
    };
    use crate::Layer::{Application, Cpu, Gc, Jit, Memory, Safepoint, Storage};
    let rows = [
        (
            "what the JVM's collector and safepoints did: no log of a JVM was given",
            of(&[Gc, Safepoint, Cpu, Memory, Storage, Application]),
            "-Xlog:gc*,safepoint:file=gc.log:time,uptime,level,tags (JDK 8: -Xloggc:gc.log -XX:+PrintGCDetails \
             -XX:+PrintGCDateStamps -XX:+PrintGCApplicationStoppedTime)",
        ),
        (
            "what the JIT compiler did: no log of a JVM was given",
            of(&[Jit]),
            "-XX:+UnlockDiagnosticVMOptions -XX:+LogCompilation -XX:LogFile=jit.xml",
        ),
    ];
    rows.into_iter()
        .filter(|(_, rules, _)| !rules.is_empty())
        .map(|(what, rules, remedy)| BlindSpot { what: what.into(), rules, remedy: remedy.into() })
        .collect()
}

/// What the collectors of a live recording could not see, as they said themselves.
fn uncollected(recording: &Recording) -> impl Iterator<Item = BlindSpot> {
    let unseen = recording.sources.iter().flat_map(|source| &source.unseen);
    unseen.map(|unseen| BlindSpot {
        what: format!("{}: {}", unseen.what, unseen.why),
        rules: Vec::new(),
        remedy: unseen.remedy.clone(),
    })
}

fn input(recording: &Recording, source: &fathom_recording::Source) -> Input {
    let process = source.process.and_then(|id| recording.processes.get(id as usize));
    Input {
        name: source.name.clone(),
        format: source.format.clone(),
        process: process.map(|p| p.name.clone()),
        records: source.records,
        skipped: source.skipped,
        lost: source.lost,
        placed: placed(&source.placement),
    }
}

fn placed(placement: &fathom_recording::Placement) -> String {
    match placement.uncertainty_ns {
        Some(ns) if ns > 0 => {
            format!("{}, to within {}", placement.how, crate::quantity::millis(ns as f64 / 1e6))
        }
        _ => placement.how.clone(),
    }
}

/// What the reader of the verdict must know about its inputs.
fn warnings(recording: &Recording, timeline: &Timeline<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    for (i, source) in recording.sources.iter().enumerate() {
        let name = &source.name;
        let mut warn = |text: String| warnings.push(format!("{name}: {text}"));
        if !timeline.is_placed(fathom_recording::SourceId(i as u32)) {
            let how = &source.placement.how;
            warn(format!("left out, because it cannot be related in time to the rest: {how}"));
        }
        for check in source.checks.iter().filter(|check| !check.holds) {
            warn(format!("self-check failed: {}: {}", check.claim, check.detail));
        }
        // Some lines of the application among those of the JVM are usual; many are another log, or another format.
        if source.skipped.saturating_mul(10) >= source.lines.max(1) && source.skipped > 0 {
            let [skipped, lines] = [source.skipped, source.lines].map(|n| crate::quantity::count(n as f64));
            warn(format!("{skipped} of {lines} lines were not understood; fathom info shows some of them"));
        }
        if source.lost > 0 {
            warn(format!(
                "{} are missing",
                crate::quantity::plural(source.lost as usize, "record", "records")
            ));
        }
        if source.cut {
            warn("ends in the middle of a record".into());
        }
    }
    if !timeline.series_usable {
        warnings.push(
            "no JVM is on the clock of the series: the series was not used; place one of them with --align"
                .into(),
        );
    }
    if recording.cut {
        warnings.push("the recording was cut off before it was finished: what came last is missing".into());
    }
    warnings
}
