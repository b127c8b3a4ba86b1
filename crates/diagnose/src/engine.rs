//! The diagnosis: windows → loss → ledger → every rule on every JVM → one ranked, merged verdict.

use std::cell::OnceCell;
use std::rc::Rc;

use fathom_recording::vocabulary::source::SESSION;
use fathom_recording::{ProcessId, Recording};
use jiff::tz::TimeZone;

use crate::burden::Burden;
use crate::chain::Chains;
use crate::growth::{self, Growth, demand};
use crate::merge::Merged;
use crate::rules::RULES;
use crate::sight::{Sights, losses};
use crate::timeline::Timeline;
use crate::windows::progress::Progress;
use crate::windows::{self, Chosen, FindOn, WindowError, WindowSpec};
use crate::{
    BlindSpot, Case, Confidence, Diagnosis, Finding, Input, Layer, Loss, SCHEMA, Seen, Windows, account,
    collector, headline, ledger, marks, merge, metrics, quantity, seen, sight, status,
};

/// The beginning of a remedy for what is summed up and not missing.
const NOTHING_TO_DO: &str = "none is needed";
/// Share of the loss that findings must explain for the rest to need no words.
const MOSTLY: f64 = 0.5;

/// By how much a stretch of a series must be worse to be looked into although it is no dip.
const FELT: f64 = 0.08;

/// Ticks of the series that such a stretch must have been recorded for.
const LEAST_TICKS: usize = 4;

/// Share from which on there is no room for what grew besides.
const NEARLY: f64 = 0.75;
/// Share of the loss below which findings leave room for less demand.
const LITTLE: f64 = 0.25;

/// Findings without a rule at most.
const MOST_GROWN: usize = 3;

/// How many times what a cause costs where threads spent their time differently it must cost in the whole run to act in all of it.
const SMALL_PART: f64 = 2.0;

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
    let chains = Rc::new(OnceCell::new());
    let sights = Sights::of(recording);
    let judge_on = |find_on: FindOn| -> Result<_, WindowError> {
        let chosen = windows::choose(recording, &jvms, &timeline, options, find_on, &chains)?;
        let judged = judge(recording, &sights, &jvms, &timeline, &chosen, &chains);
        Ok((chosen, judged))
    };
    let (mut chosen, mut judged) = judge_on(FindOn::Exchanges)?;
    // That fewer exchanges were made, or that threads did something else, is no loss by itself: where it comes to nothing, it is
    // no reason to look away from the rest. Nor is it where it comes to a small part without a mechanism, and a rule knows one elsewhere.
    if chosen.exchanges.is_some() && is_vague(&judged.merged.findings) {
        let (by_change, changed) = judge_on(FindOn::Change)?;
        if judged.merged.findings.is_empty() || changed.merged.findings.first().is_some_and(|f| !grew(f)) {
            (chosen, judged) = (by_change, changed);
        }
    }
    if chosen.by_change && judged.merged.findings.is_empty() {
        (chosen, judged) = judge_on(FindOn::Stops)?;
    }
    // What is less than a dip is looked into where it is enough to be felt, and told where a cause stands out: machines that are shared waver.
    if chosen.slight.is_some_and(|(_, share)| share >= FELT) {
        let (slight, looked_into) = judge_on(FindOn::Slight)?;
        let explains = |f: &Finding| f.confidence > Confidence::ConsistentWith && f.share >= Some(MOSTLY);
        // A level lasts: of one that lay mostly before the recording too little is left to tell it from noise.
        let lasts = slight.lost_by.len() >= LEAST_TICKS;
        if lasts && looked_into.merged.findings.first().is_some_and(explains) {
            (chosen, judged) = (slight, looked_into);
        }
    }
    let Judged { case, windows, merged, left } = judged;
    let Merged { mut findings, mut ruled_out, mut blind_spots } = merged;
    merge::limit_shares(&mut findings);
    let ledger = ledger::ledger(recording, &jvms, &case.slow, &case.base, &case.loss);
    // A finding of the collector's speaks for itself.
    if findings.iter().all(|finding| finding.layer != Layer::Gc) {
        ruled_out.splice(0..0, collector::ruled_out(&case, &sights, &jvms, &ledger));
    }
    blind_spots.extend(unseen(recording, &jvms, &unplaced));
    blind_spots.extend(uncollected(recording));
    blind_spots.extend(unrecorded(&chosen));
    let slow_ms = Case::length_ms(&case.slow);
    let unsure =
        |f: &Finding| f.confidence == Confidence::ConsistentWith || headline::cost_little(f, slow_ms);
    let unsure = case.loss.lost_ms <= 0.0 && findings.first().is_some_and(unsure);
    let rest =
        findings.is_empty() || unsure || (case.loss.lost_ms > 0.0 && self::explained(&findings) < MOSTLY);
    let seen = Seen {
        judged_ms: Case::length_ms(&case.slow),
        unrecorded_ms: chosen.unrecorded_ms,
        loss_measured: !case.loss.measured_on.is_empty(),
        sights: seen::sights(&case, &sights, &jvms),
        largest: if rest { seen::largest(&case, &ledger, &jvms) } else { Vec::new() },
    };
    let status = status::of(&case, &sights, &jvms, &findings, chosen.steady);
    let begins = if case.whole_run { &[][..] } else { &windows.slow };
    let tick_ns = chosen.lost_by.first().map_or(0, |(tick, _)| tick.length_ns());
    let marks = marks::of(recording, begins, tick_ns);
    let mut diagnosis = Diagnosis {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        status,
        headline: String::new(),
        seen,
        inputs: recording.sources.iter().map(|source| input(recording, source)).collect(),
        wall_clock: timeline.wall,
        zero_ns: timeline.zero_ns,
        windows,
        marks,
        loss: case.loss.clone(),
        account: account::of(&case.loss, &findings, &left),
        ledger,
        findings,
        ruled_out,
        blind_spots,
        warnings: warnings(recording, &timeline),
    };
    let bad = judged_bad(recording, &jvms, &diagnosis.findings, timeline.zero_ns);
    let fine = status::collector_is_fine(&case, &sights, &jvms).filter(|_| bad.is_empty());
    diagnosis.warnings.extend(bad);
    diagnosis.headline = headline::of(&diagnosis, case.whole_run, fine, chosen.slight);
    Ok(diagnosis)
}

/// Whether a finding is what grew, and no rule knows its mechanism.
fn grew(finding: &Finding) -> bool {
    [growth::RULE, growth::PACE_RULE, growth::CALLS_RULE].contains(&finding.rule)
}

/// Whether findings explain but a small part, or are only parts that grew and explain less than half.
fn is_vague(findings: &[Finding]) -> bool {
    let explained = explained(findings);
    explained < LITTLE || (findings.iter().all(grew) && explained < MOSTLY)
}

/// Figures that `fathom gc` judges bad and that no finding tells of.
fn judged_bad(recording: &Recording, jvms: &[ProcessId], findings: &[Finding], zero_ns: i64) -> Vec<String> {
    let of_jvm = |jvm: &ProcessId| {
        let name = recording.processes.get(jvm.index()).map_or("", |p| p.name.as_str());
        let told = |id: &str| {
            let rules = metrics::gc::told_by(id);
            let names = |f: &Finding| {
                let mut named = f.also.iter().chain([&f.rule]);
                named.any(|name| rules.iter().any(|rule| name.starts_with(rule)))
            };
            findings.iter().any(|f| f.process_id == *jvm && names(f))
        };
        let bad = metrics::gc::bad(recording, *jvm, zero_ns).into_iter().filter(|metric| !told(metric.id));
        let words: Vec<String> =
            bad.map(|metric| format!("{} {} ({})", metric.name, metric.shown(), metric.why)).collect();
        (!words.is_empty()).then(|| format!("{name}: bad by fathom gc, and no finding: {}", words.join("; ")))
    };
    jvms.iter().filter_map(of_jvm).collect()
}

/// What of the loss findings explain, as a share; 0 where no loss was measured.
fn explained(findings: &[Finding]) -> f64 {
    findings.iter().filter_map(|finding| finding.share).sum()
}

/// The same where no loss was measured: what findings that are more than possible cost of the slow windows.
fn costs(case: &Case<'_>, findings: &[Finding]) -> f64 {
    let sure = findings.iter().filter(|finding| finding.confidence > Confidence::ConsistentWith);
    let cost_ms: f64 = sure.map(|finding| finding.cost_ms).sum();
    (cost_ms / Case::length_ms(&case.slow).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
}

/// The rules' judgement, in the frame in which it says most.
struct Judged<'a> {
    case: Case<'a>,
    windows: Windows,
    merged: Merged,
    /// What grew and no finding explains.
    left: Vec<account::Left>,
}

/// Judges the slow windows. Where these are only stops of the JVM, or changes of what threads do, what acted all along is not in them: the whole run is
/// judged as well, and the frame is that in which the costliest cause was found. What only the other frame shows is kept.
fn judge<'a>(
    recording: &'a Recording,
    sights: &Sights<'a>,
    jvms: &[ProcessId],
    timeline: &Timeline<'_>,
    chosen: &Chosen,
    chains: &Rc<OnceCell<Chains<'a>>>,
) -> Judged<'a> {
    let mut case = Case {
        recording,
        slow: chosen.windows.slow.clone(),
        base: chosen.windows.base.clone(),
        whole_run: chosen.whole_run,
        loss: chosen.loss.clone(),
        found_on_stops: chosen.on_stops,
        warm_up: chosen.warm_up,
        lost_by: chosen.lost_by.clone(),
        exchanges: chosen.exchanges.clone(),
        attributed: Rc::default(),
        chains: Rc::clone(chains),
    };
    let windows = chosen.windows.clone();
    // Stops were picked for being stops: that they grew says nothing.
    let growth = (!chosen.on_stops).then(|| Growth::of(&case, sights, jvms)).flatten();
    case.attributed = Rc::new(growth.as_ref().map(|growth| growth.attributed(&case)).unwrap_or_default());
    let mut merged = merge::judge_all(&case, sights, jvms, RULES);
    merged.ruled_out.extend(growth::work::limit(&case, &mut merged.findings));
    let mut limited: Vec<String> = Vec::new();
    let mut left = Vec::new();
    let is_told = !case.lost_by.is_empty() && case.exchanges.is_none();
    let found = explained(&merged.findings);
    if is_told && found < LITTLE {
        merged.blind_spots.extend(jvms.iter().filter_map(|jvm| demand::unseen_sleeps(&case, *jvm)));
        let less = match growth.as_ref() {
            Some(growth) if !growth.grew(&case) => growth.less_demand(&case),
            Some(_) => None,
            None => Progress::of_latency(recording, |series| timeline.usable(series)).and_then(|latency| {
                demand::by_latency(&case, jvms.first().copied().unwrap_or(ProcessId(0)), &latency)
            }),
        };
        merged.findings.extend(less.map(|less| Finding {
            cost_ms: less.cost_ms * (1.0 - found),
            share: less.share.map(|share| share * (1.0 - found)),
            ..less
        }));
        merge::by_cost(&mut merged.findings);
    }
    if let Some(mut growth) = growth.filter(|growth| growth.grew(&case)) {
        let too_small = growth.limit(&case, &mut merged.findings);
        limited.extend(too_small.iter().map(|row| row.rule.clone()));
        merged.ruled_out.extend(too_small);
        growth.credit_running(&merged.findings);
        growth.credit_holders(&merged.findings);
        let explained = match case.loss.lost_ms > 0.0 {
            true => explained(&merged.findings),
            false => costs(&case, &merged.findings),
        };
        let by_change = chosen.by_change || chosen.exchanges.is_some() || chosen.picked;
        let most = if explained < NEARLY { MOST_GROWN } else { 0 };
        let grown = growth.findings(&case, &merged.findings, explained, by_change, most);
        left = grown.left;
        merged.findings.extend(grown.findings);
        with_holders(&case, &mut merged.findings, grown.of_holders);
        merge::by_cost(&mut merged.findings);
    }
    if !chosen.on_stops && (!chosen.by_change || merged.findings.is_empty()) {
        return Judged { case, windows, merged, left };
    }
    let whole_case = Case {
        recording,
        slow: timeline.judged(),
        base: Vec::new(),
        whole_run: true,
        loss: Loss::default(),
        found_on_stops: false,
        warm_up: chosen.warm_up,
        lost_by: Vec::new(),
        exchanges: None,
        attributed: Rc::default(),
        chains: Rc::clone(&case.chains),
    };
    let mut whole = merge::judge_all(&whole_case, sights, jvms, RULES);
    whole.ruled_out.extend(growth::work::limit(&whole_case, &mut whole.findings));
    let costliest = merged.findings.first().map_or(0.0, merge::weight_ms);
    let quiet = |jvm: &ProcessId| Burden::of(recording, *jvm).quiet;
    // Stops that are few, and short enough for nobody to notice, are no loss that asks for an explanation.
    if merged.findings.is_empty() && jvms.iter().all(quiet) {
        let how = format!(
            "{}; they are too few and too short to matter, so the whole run is looked at",
            windows.how
        );
        let windows = Windows { slow: whole_case.slow.clone(), base: Vec::new(), how };
        return Judged { case: whole_case, windows, merged: whole, left: Vec::new() };
    }
    // The same cause costs more over more time, which is no reason to look away from where it stands out; unless a change of what threads
    // do is but a small part of where it acts.
    let known =
        |f: &Finding| merged.findings.iter().any(|k| k.rule == f.rule && k.process_id == f.process_id);
    let is_whole = |finding: &Finding| {
        let weight = merge::weight_ms(finding);
        // What is but possible over the whole run is no reason to look away from where something was found.
        let is_sure = finding.confidence > Confidence::ConsistentWith || merged.findings.is_empty();
        is_sure
            && weight > costliest
            && limited.iter().all(|rule| rule != finding.rule)
            && (!known(finding) || (chosen.by_change && weight > SMALL_PART * costliest))
    };
    if whole.findings.iter().any(is_whole) {
        let how = format!("{}; what acted all along costs more, so the whole run is looked at", windows.how);
        let windows = Windows { slow: whole_case.slow.clone(), base: Vec::new(), how };
        let of = match chosen.on_stops {
            true => "in the longest stops, and its cost is theirs",
            false => "where threads spent their time differently, and its cost is of that",
        };
        let merged = merge::with_others(whole, merged, of);
        return Judged { merged, case: whole_case, windows, left: Vec::new() };
    }
    Judged {
        merged: merge::with_others(merged, whole, "over the whole run, and its cost is of all of it"),
        case,
        windows,
        left,
    }
}

/// Charges a finding about a lock with what the holders did meanwhile, in their own time, as far as the loss reaches.
fn with_holders(case: &Case<'_>, findings: &mut [Finding], share: f64) {
    let charged: f64 = findings.iter().filter(|f| f.share.is_some()).map(|f| f.cost_ms).sum();
    let more_ms = (share * case.loss.lost_ms).min(case.loss.lost_ms - charged);
    if let Some(lock) = findings.iter_mut().find(|f| f.rule.starts_with("lock-") && f.share.is_some())
        && more_ms > 0.0
    {
        lock.cost_ms += more_ms;
        lock.share = case.share(lock.cost_ms);
    }
}

/// What no rule could look at: recordings without a JVM, JVMs that are on no common clock.
fn unseen(recording: &Recording, jvms: &[ProcessId], unplaced: &[ProcessId]) -> Vec<BlindSpot> {
    let rules: Vec<String> = RULES.iter().map(|rule| rule.id().to_owned()).collect();
    if !unplaced.is_empty() {
        let names: Vec<_> = unplaced.iter().map(|jvm| recording.process_name(*jvm)).collect();
        return vec![BlindSpot {
            what: format!("{}: cannot be placed on the clock of the other inputs", names.join(", ")),
            rules,
            remedy: "place the log by hand: --align FILE=+SECONDS after the start of the first JVM, or \
                     --align FILE=@2026-11-20T22:00:00Z; logging with the `time` decorator makes that unnecessary"
                .into(),
        }];
    }
    // A recording of processes none of which is a JVM: there is no log to give.
    let live = recording.sources.iter().any(|source| source.format == SESSION);
    if live && jvms.iter().all(|jvm| merge::is_no_jvm(recording, *jvm)) {
        let rules = RULES.iter().filter(|rule| jvms.is_empty() || !rule.of_any_program());
        let rules = rules.map(|rule| rule.id().to_owned()).collect();
        return vec![BlindSpot {
            what: "causes within a JVM: none of the recorded processes is one".into(),
            rules,
            remedy: "fathom ps lists the JVMs; fathom ledger and fathom chain tell of any process".into(),
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

/// Slow time that only the series covers.
fn unrecorded(chosen: &Chosen) -> Option<BlindSpot> {
    (chosen.unrecorded_ms > 0.0).then(|| BlindSpot {
        what: format!(
            "{} of slow time that only the series covers: the verdict holds for the rest",
            quantity::millis(chosen.unrecorded_ms)
        ),
        rules: Vec::new(),
        remedy: "record all of the time that the series covers".into(),
    })
}

/// What the collectors of a live recording could not see, as they said themselves, and what they lost. What they summed
/// up on purpose is there, only not one by one.
fn uncollected(recording: &Recording) -> impl Iterator<Item = BlindSpot> {
    let lost = recording.sources.iter().filter_map(|source| {
        sight::too_lossy(source).map(|lost| BlindSpot {
            what: format!("{lost}: its values are too low, and rule nothing out"),
            rules: Vec::new(),
            remedy: "a shorter recording, fewer processes, or a less busy machine".into(),
        })
    });
    lost.chain(unseen_of(recording))
}

/// Whether something that a source did not list is in its sums: then nothing is missing, and there is nothing to do.
pub fn is_summed(unseen: &fathom_recording::Unseen) -> bool {
    unseen.remedy.starts_with(NOTHING_TO_DO)
}

fn unseen_of(recording: &Recording) -> impl Iterator<Item = BlindSpot> {
    let unseen = recording.sources.iter().flat_map(|source| &source.unseen);
    let unseen = unseen.filter(|unseen| !is_summed(unseen));
    unseen.map(|unseen| BlindSpot {
        what: format!("{}: {}", unseen.what, unseen.why),
        rules: Vec::new(),
        remedy: unseen.remedy.clone(),
    })
}

fn input(recording: &Recording, source: &fathom_recording::Source) -> Input {
    Input {
        name: source.name.clone(),
        format: source.format.clone(),
        process: source.process.map(|id| recording.process_name(ProcessId(id)).to_owned()),
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
            warn(format!("{}: its values are too low", losses(source)));
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

#[cfg(test)]
mod replicas;
#[cfg(test)]
mod scaling;

#[cfg(test)]
mod tests {
    use fathom_recording::vocabulary::{fact, figure, kind, live, series};
    use fathom_recording::{Placement, SeriesId, SeriesInfo, SeriesKind, Sink, Source};

    use super::*;
    use crate::Status;
    use crate::built::Built;

    const S: i64 = 1_000_000_000;

    /// A series of throughput in a table of its own.
    fn throughput(built: &mut Built) -> SeriesId {
        let source = built.recording.add_source(Source { format: "table".into(), ..Source::default() });
        built.recording.add_series(SeriesInfo {
            name: series::THROUGHPUT.into(),
            unit: "ops/s".into(),
            instance: String::new(),
            kind: SeriesKind::Rate,
            process: None,
            source,
        })
    }

    /// 20 minutes of throughput a second, which falls to a tenth for 15 s of each minute, with lock waits of 30 threads in
    /// all of these times, of which a recording has only what begins in `recorded`.
    fn convoy(recorded: (i64, i64), with_series: bool) -> Recording {
        let slow = |s: i64| s % 60 >= 45;
        let mut built = Built::jvm("17", "G1", 0.0);
        let placement = Placement { uncertainty_ns: Some(0), ..Placement::default() };
        built.span(kind::RUN, "run", recorded.0 as f64, (recorded.1 - recorded.0) as f64 * 1e3, &[], &[]);
        for s in (recorded.0..recorded.1).filter(|s| slow(*s)) {
            for thread in 0..30 {
                built.waits_for(&format!("worker-{thread}"), "shop.Ledger", "owner", s as f64, 950.0);
            }
        }
        built.recording.sources.iter_mut().for_each(|source| source.placement = placement.clone());
        if with_series {
            let table =
                Source { name: "tput.csv".into(), format: "table".into(), placement, ..Source::default() };
            let source = built.recording.add_source(table);
            let info = SeriesInfo {
                name: series::THROUGHPUT.into(),
                unit: "ops/s".into(),
                instance: String::new(),
                kind: SeriesKind::Rate,
                process: None,
                source,
            };
            assert!(!live::is_live(&info.name));
            let id = built.recording.add_series(info);
            for s in 0..1_200 {
                let wobble = (s * 37 % 11) as f64;
                let rate = if slow(s) { 60.0 } else { 600.0 };
                built.recording.point(id, s * S, S, rate + wobble);
            }
        }
        built.sealed()
    }

    #[test]
    fn half_a_minute_recorded_within_twenty_is_judged_on_that_and_says_so() {
        let alone = diagnose(&convoy((30, 60), false), &Options::default()).unwrap();
        assert_eq!(
            alone.findings.first().map(|f| f.rule),
            Some("lock-contended-monitor"),
            "{}",
            alone.headline
        );
        let with = diagnose(&convoy((30, 60), true), &Options::default()).unwrap();
        assert_eq!(
            with.findings.first().map(|f| f.rule),
            Some("lock-contended-monitor"),
            "{}",
            with.headline
        );
        assert!(with.findings[0].share.is_some_and(|share| share > 0.9), "{:?}", with.findings[0].share);
        assert!(
            (with.loss.lost_ms - 13_500.0).abs() < 500.0,
            "of the 15 s that were recorded: {}",
            with.loss.lost_ms
        );
        assert!(
            with.seen.unrecorded_ms > 200_000.0 && with.windows.how.contains("were recorded"),
            "{}",
            with.windows.how
        );
        assert!(with.blind_spots.iter().any(|b| b.what.contains("only the series covers")));
    }

    #[test]
    fn what_nobody_recorded_is_not_ruled_out() {
        // The recording lies between two slow times.
        let d = diagnose(&convoy((10, 40), true), &Options::default()).unwrap();
        assert_eq!(d.status, Status::NotExplained, "{}", d.headline);
        assert!(d.ruled_out.iter().all(|row| !row.rule.starts_with("lock") && !row.rule.starts_with("gc")));
        assert!(
            d.blind_spots.iter().any(|b| b.rules.iter().any(|r| r == "gc-explicit")),
            "{:?}",
            d.blind_spots
        );
    }

    #[test]
    fn a_recording_without_a_jvm_is_not_asked_for_logs_of_one() {
        let source = |format: &str| {
            let mut recording = Recording::default();
            recording.add_source(Source {
                format: format.into(),
                covers_ns: Some((0, 10 * S)),
                ..Source::default()
            });
            recording.seal();
            diagnose(&recording, &Options::default()).unwrap().blind_spots
        };
        let live = source(SESSION);
        assert!(live.iter().all(|spot| !spot.remedy.contains("-Xlog")), "{live:?}");
        assert!(live.iter().any(|spot| spot.what.contains("none of the recorded processes")), "{live:?}");
        assert!(source("strace").iter().any(|spot| spot.remedy.contains("-Xlog")));
    }

    /// A run of ten minutes in which threads queue for a monitor all along, and three pauses of 300 ms.
    fn convoy_with_stops() -> Recording {
        let mut built = Built::jvm("17", "G1", 600.0);
        for i in 0..100 {
            built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 1.0 + f64::from(i) * 5.0, 4.0, &[]);
        }
        for at in [100.5, 200.5, 300.5] {
            built.pause("Pause Young (Concurrent Start)", "G1 Humongous Allocation", at, 300.0, &[]);
        }
        for s in 0..600 {
            for thread in 0..8 {
                built.waits_for(&format!("worker-{thread}"), "shop.Ledger", "owner", f64::from(s), 600.0);
            }
        }
        built.sealed()
    }

    #[test]
    fn three_long_stops_do_not_hide_what_acts_all_along() {
        let d = diagnose(&convoy_with_stops(), &Options::default()).unwrap();
        assert_eq!(d.findings.first().map(|f| f.rule), Some("lock-contended-monitor"), "{}", d.headline);
        assert!(d.findings[0].cost_ms > 300_000.0, "{}", d.findings[0].cost_ms);
        assert!(d.windows.base.is_empty() && d.windows.how.contains("3 stops of 103"), "{}", d.windows.how);
    }

    #[test]
    fn stops_that_no_rule_explains_are_named_with_what_they_were() {
        let mut built = Built::jvm("17", "G1", 600.0);
        for i in 0..600 {
            let ms = if i % 10 == 0 { 300.0 } else { 4.0 };
            built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 0.5 + f64::from(i), ms, &[]);
        }
        let d = diagnose(&built.sealed(), &Options::default()).unwrap();
        let [finding] = &d.findings[..] else { panic!("{}", d.headline) };
        assert_eq!((d.status, finding.rule), (Status::Found, "jvm-stopped"), "{}", d.headline);
        assert!(
            finding.evidence[0].text().starts_with("60 × Pause Young (Normal)"),
            "{:?}",
            finding.evidence
        );
    }

    #[test]
    fn the_head_of_a_log_does_not_say_that_the_collector_is_healthy() {
        let said = |seconds: f64| {
            let mut built = Built::jvm("17", "G1", seconds);
            built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 0.0, 1.0, &[]);
            diagnose(&built.sealed(), &Options::default()).unwrap().headline
        };
        assert!(!said(0.01).contains("healthy"), "{}", said(0.01));
        assert!(said(60.0).contains("the collector is healthy"), "{}", said(60.0));
    }

    #[test]
    fn stops_that_are_few_and_below_a_second_ask_for_no_explanation() {
        let run = |cause: &str, ms: f64| {
            let mut built = Built::jvm("17", "G1", 600.0);
            for i in 0..100 {
                built.pause(
                    "Pause Young (Normal)",
                    "G1 Evacuation Pause",
                    1.0 + f64::from(i) * 5.0,
                    4.0,
                    &[],
                );
            }
            built.pause("Pause Full", cause, 300.5, ms, &[]);
            diagnose(&built.sealed(), &Options::default()).unwrap()
        };
        for cause in ["System.gc()", "Metadata GC Threshold"] {
            let d = run(cause, 600.0);
            assert_eq!((d.status, d.findings.len()), (Status::NoCauseFound, 0), "{}", d.headline);
            assert!(
                d.headline.contains("the collector is healthy")
                    && d.headline.contains("longest stop took 600 ms"),
                "{}",
                d.headline
            );
            assert!(d.windows.how.contains("too few and too short to matter"), "{}", d.windows.how);
            assert_eq!(run(cause, 1_200.0).status, Status::Found, "{cause}");
        }
        let d = run("G1 Compaction Pause", 600.0);
        assert_eq!(d.findings.iter().map(|f| f.rule).collect::<Vec<_>>(), ["gc-evacuation-failure"]);
    }

    #[test]
    fn healthy_needs_a_series_without_a_dip_and_stops_that_were_seen() {
        let steady = |jvm: bool, noise: i64| {
            let mut built = Built::jvm("17", "G1", if jvm { 300.0 } else { 0.0 });
            built.pause("Pause Young (Normal)", "", 5.0, 10.0, &[]);
            let id = throughput(&mut built);
            for s in 0..300 {
                built.recording.point(id, s * S, S, 600.0 + (s * 7919 % 101 - 50) as f64 * noise as f64);
            }
            diagnose(&built.sealed(), &Options::default()).unwrap()
        };
        let d = steady(true, 1);
        assert_eq!(d.status, Status::Healthy, "{}", d.headline);
        assert_eq!(steady(false, 1).status, Status::NoCauseFound, "nobody saw the stops");
        assert_eq!(steady(true, 9).status, Status::NoCauseFound, "no dip would show");
        let alone = diagnose(&Built::jvm("17", "G1", 60.0).sealed(), &Options::default()).unwrap();
        assert_eq!(alone.status, Status::NoCauseFound, "{}", alone.headline);
        assert!(alone.headline.contains("the collector is healthy"), "{}", alone.headline);
        let nothing = diagnose(&Recording::new(), &Options::default()).unwrap();
        assert_eq!(nothing.status, Status::NothingToJudge);
    }

    #[test]
    fn what_may_act_all_along_is_no_loss_of_a_series_that_never_fell() {
        let run = |level_after: f64| {
            let mut built = Built::jvm("17", "G1", 60.0);
            built.pause("Pause Young (Normal)", "", 5.0, 10.0, &[]);
            for name in ["worker-0", "worker-1"] {
                built.watched(name, 60.0);
                for i in 0..600 {
                    built.preempted(name, f64::from(i) * 0.1, 60.0, 0.0, "hog (4711)");
                }
            }
            let jvm = Some(built.jvm);
            for cpu in ["cpu0", "cpu1"] {
                built.gauge(live::HOST_CPU_BUSY, cpu, None, &[(0.0, 60.0, 1.0)]);
            }
            built.gauge(live::PROCESS_CPU_USER, "App (1)", jvm, &[(0.0, 60.0, 0.8)]);
            built.gauge(live::PROCESS_CPU, "hog (4711)", None, &[(0.0, 60.0, 1.2)]);
            let id = throughput(&mut built);
            // The client goes on for longer than anybody recorded.
            for s in 0..90 {
                let level = if (30..40).contains(&s) { level_after } else { 600.0 };
                built.recording.point(id, s * S, S, level + (s * 7919 % 101 - 50) as f64 / 10.0);
            }
            diagnose(&built.sealed(), &Options::default()).unwrap()
        };
        let d = run(600.0);
        assert_eq!((d.status, d.findings.len()), (Status::Healthy, 1), "{}", d.headline);
        assert!(
            d.headline.starts_with("healthy: ") && d.headline.contains("what acts all along: application"),
            "{}",
            d.headline
        );
        assert!(d.windows.how.contains("only the 60.00 s that were recorded"), "{}", d.windows.how);
        assert_ne!(run(200.0).status, Status::Healthy, "it fell");
    }

    #[test]
    fn what_fathom_gc_judges_bad_is_a_finding_or_said() {
        const MB: f64 = 1024.0 * 1024.0;
        let mut built = Built::jvm("17", "Parallel", 300.0);
        built.fact(fact::HEAP_MAX_BYTES, "1073741824");
        for i in 0..3 {
            let sizes = [(figure::HEAP_AFTER_BYTES, 980.0 * MB)];
            built.pause("Pause Full", "Ergonomics", 10.0 + f64::from(i) * 100.0, 100.0, &sizes);
        }
        let (jvm, recording) = (built.jvm, built.sealed());
        let bad: Vec<_> = metrics::gc::bad(&recording, jvm, 0).iter().map(|metric| metric.id).collect();
        assert_eq!(bad, ["live_share"]);
        let d = diagnose(&recording, &Options::default()).unwrap();
        assert!(
            d.warnings.iter().any(|w| w.contains("Live set as a share of the heap 96%")),
            "{:?}",
            d.warnings
        );
        assert!(!d.headline.contains("healthy"), "{}", d.headline);
    }

    #[test]
    fn a_loss_that_nobody_measured_is_not_called_none() {
        let built = Built::jvm("17", "G1", 60.0);
        let options = Options {
            slow: vec!["10s..20s".parse().unwrap()],
            base: vec!["30s..50s".parse().unwrap()],
            ..Options::default()
        };
        let d = diagnose(&built.sealed(), &options).unwrap();
        assert!(
            d.headline.contains("loss not measured") && !d.headline.contains("nothing was lost"),
            "{}",
            d.headline
        );
        assert!(!d.seen.loss_measured);
    }
}
