//! The diagnosis: windows → loss → ledger → every rule on every JVM → one ranked, merged verdict.

mod blind_spots;
mod credited;
mod inputs;

use std::rc::Rc;

pub use blind_spots::is_summed;
use fathom_recording::{ProcessId, Recording, SourceId};

use crate::Rule;
use crate::burden;
use crate::facts::{Metric, Value, doubts, headlines, reasons, windows as words};
use crate::growth::{self, Growth, demand, held};
use crate::intervals::Intervals;
use crate::known::Known;
use crate::merge::Merged;
use crate::rules::{self, RULES, queueing_after_disk};
use crate::sight::Sights;
use crate::timeline::Timeline;
use crate::windows::progress::Progress;
use crate::windows::{self, Chosen, FindOn, Options, WindowError};
use crate::{
    Case, Confidence, Diagnosis, Fact, Finding, FoundOn, Layer, Loss, SCHEMA, Seen, Statement, Status,
    Window, Windows, account, gc_ruled_out, headline, ledger, limits, looked_at, marks, merge, metrics,
    status,
};

/// Share of the loss that findings must explain for the rest to need no words.
const MOSTLY: f64 = 0.5;

/// By how much an interval of a series must be worse to be looked into although it is no dip.
const FELT: f64 = 0.08;

/// Ticks of the series that such an interval must have been recorded for.
const LEAST_TICKS: usize = 4;

/// Share from which on there is no room for what grew besides.
const NEARLY: f64 = 0.75;
/// Share of the loss below which findings leave room for less demand.
const LITTLE: f64 = 0.25;

/// Share of the recording that must lie in the warm-up of a series for it to be looked into.
const UNJUDGED: f64 = 0.25;

/// Findings without a rule at most.
const MOST_GROWN: usize = 3;

/// How many times what a cause costs where threads spent their time differently it must cost in the
/// whole run to act in all of it.
const SMALL_PART: f64 = 2.0;

/// Diagnoses a sealed recording. Fails only when a window that the user gave cannot be followed.
///
/// The same recording and options give the same diagnosis.
pub fn diagnose(recording: &Recording, options: &Options) -> Result<Diagnosis, WindowError> {
    let timeline = Timeline::of(recording);
    let (jvms, unplaced) = timeline.jvms();
    let known = Rc::new(Known::of(recording));
    let sights = Sights::of(recording);
    let judge_on = |find_on: FindOn| -> Result<_, WindowError> {
        let chosen = windows::choose(recording, &jvms, &timeline, options, find_on, &known)?;
        let judged = judge(recording, &sights, &jvms, &timeline, &chosen, &known);
        Ok((chosen, judged))
    };
    let (mut chosen, mut judged) = judge_on(FindOn::Exchanges)?;
    let fewer = windows::fewer_requests(&chosen, timeline.zero_ns);
    // That fewer exchanges were made, or that threads did something else, is no loss by itself:
    // where it comes to nothing, it is no reason to look away from the rest. Nor is it where it
    // comes to a small part without a mechanism, and a rule knows one elsewhere.
    if chosen.exchanges.is_some() && is_vague(&judged.merged.findings) {
        let (by_change, changed) = judge_on(FindOn::Change)?;
        if judged.merged.findings.is_empty() || changed.merged.findings.first().is_some_and(|f| !grew(f)) {
            (chosen, judged) = (by_change, changed);
        }
    }
    if chosen.by_change && judged.merged.findings.is_empty() {
        (chosen, judged) = judge_on(FindOn::Stops)?;
    }
    // On a series that wanders as much as this, noise looks like a dip: where little explains
    // those, and something explains what the recording itself shows, that is the answer.
    if chosen.wanders && explained(&judged.merged.findings) < MOSTLY {
        let (by_recording, again) = judge_on(FindOn::Recording)?;
        let most = MOSTLY * again.case.yardstick_ms();
        if !by_recording.whole_run && again.merged.findings.first().is_some_and(|f| f.cost_ms >= most) {
            (chosen, judged) = (by_recording, again);
        }
    }
    // Where a series was slow only while nobody watched threads, and logs of that time show no
    // cause, what threads did else may be the answer, and is what is known.
    let is_unwatched = || {
        let watched = windows::change::watched(recording);
        !watched.is_empty() && Intervals::of_windows(&chosen.windows.slow).and(&watched).is_empty()
    };
    let is_found = chosen.windows.found_on == FoundOn::Series && !chosen.whole_run;
    if is_found && judged.merged.findings.is_empty() && is_unwatched() {
        (chosen, judged) = judge_on(FindOn::Watched)?;
    }
    // Of the time before a series has reached its level it says nothing: what the recording itself
    // shows of that is the answer, where it is sure.
    if judged.merged.findings.is_empty() && is_in_warm_up(&chosen, &timeline) {
        let (by_recording, again) = judge_on(FindOn::Recording)?;
        let warm_up = Intervals::of_windows(chosen.warm_up.as_slice());
        let is_of_it = |f: &Finding| {
            let acts = Intervals::of_windows(&f.windows);
            f.confidence > Confidence::ConsistentWith
                && acts.and(&warm_up).length_ms() >= MOSTLY * acts.length_ms()
        };
        if !by_recording.whole_run && again.merged.findings.first().is_some_and(is_of_it) {
            (chosen, judged) = (by_recording, again);
        }
    }
    // What is less than a dip is looked into where it is enough to be felt, and reported where a
    // cause stands out: the throughput of shared machines varies.
    if chosen.slight.is_some_and(|(_, share)| share >= FELT) {
        let (slight, looked_into) = judge_on(FindOn::Slight)?;
        let explains = |f: &Finding| f.confidence > Confidence::ConsistentWith && f.share >= Some(MOSTLY);
        // A level lasts: of one that lay mostly before the recording too little is left to
        // distinguish it from noise.
        let lasts = slight.lost_by.len() >= LEAST_TICKS;
        if lasts && looked_into.merged.findings.first().is_some_and(explains) {
            (chosen, judged) = (slight, looked_into);
        }
    }
    // A series may be lower by less than what stands out of it by itself, and yet be lower just
    // where threads did something else.
    let no_loss = chosen.on_stops && judged.case.loss.measure.is_some() && judged.case.loss.lost_ms <= 0.0;
    if chosen.whole_run || no_loss {
        let (both, looked_into) = judge_on(FindOn::Both)?;
        if both.windows.found_on == FoundOn::Series && !looked_into.merged.findings.is_empty() {
            (chosen, judged) = (both, looked_into);
        }
    }
    let Judged { case, windows, merged, left } = judged;
    let Merged { mut findings, mut ruled_out, mut blind_spots } = merged;
    merge::limit_shares(&mut findings);
    growth::threads_begun::add(&case, &mut findings);
    let ledger = ledger::ledger(recording, known.stacks(), &jvms, &case.slow, &case.base, &case.loss);
    // A finding of the collector's speaks for itself.
    if findings.iter().all(|finding| finding.layer != Layer::Gc) {
        ruled_out.splice(0..0, gc_ruled_out::of(&case, &sights, &jvms, &ledger));
    }
    blind_spots.extend(blind_spots::unseen(recording, &jvms, &unplaced));
    blind_spots.extend(blind_spots::uncollected(recording));
    let slow_ms = Case::length_ms(&case.slow);
    blind_spots.extend(blind_spots::unrecorded(&chosen, slow_ms));
    let unsure =
        |f: &Finding| f.confidence == Confidence::ConsistentWith || limits::cost_little(f.cost_ms, slow_ms);
    let unsure = case.loss.lost_ms <= 0.0 && findings.first().is_some_and(unsure);
    let rest =
        findings.is_empty() || unsure || (case.loss.lost_ms > 0.0 && self::explained(&findings) < MOSTLY);
    let seen = Seen {
        judged_ms: Case::length_ms(&case.slow),
        unrecorded_ms: chosen.unrecorded_ms,
        loss_measured: case.loss.measure.is_some(),
        sights: looked_at::sights(&case, &sights, &jvms),
        few_stops: status::few_stops(&case, &sights, &jvms),
        largest: if rest { looked_at::largest(&case, &ledger, &jvms) } else { Vec::new() },
        threads: looked_at::threads(&case),
    };
    let status = status::of(&case, &sights, &jvms, &findings, chosen.steady);
    let status = match status {
        Status::Healthy if findings.is_empty() && status::may_be_held_up(&seen.largest) => {
            Status::NoCauseFound
        }
        status => status,
    };
    let begins = if case.whole_run { &[][..] } else { &windows.slow };
    let tick_ns = chosen.lost_by.first().map_or(0, |(tick, _)| tick.length_ns());
    let marks = marks::of(recording, begins, tick_ns);
    let sources = (0..recording.sources.len() as u32).map(SourceId);
    let mut diagnosis = Diagnosis {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        recording: recording.identity.recording.clone(),
        recordings: recording.parts(),
        status,
        headline: Statement::default(),
        seen,
        inputs: sources.filter_map(|source| inputs::input(recording, source)).collect(),
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
        warnings: inputs::warnings(recording, &timeline),
    };
    let bad = judged_bad(recording, &jvms, &diagnosis.findings, timeline.zero_ns);
    diagnosis.seen.few_stops = diagnosis.seen.few_stops.filter(|_| bad.is_empty());
    diagnosis.warnings.extend(bad);
    let collections = jvms.iter().all(|jvm| burden::shows_collections(recording, *jvm));
    let mut headline = headline::of(&diagnosis, case.whole_run, &chosen, collections);
    // That is no loss by itself, and not what a reader may miss either.
    if let Some(fewer) = fewer.filter(|_| chosen.exchanges.is_none()) {
        diagnosis.windows.how.push(fewer.clone().into());
        headline = headlines::AFTER_FEWER.fact().with("headline", Value::from(headline));
        headline = headline.with("fewer", Value::from(fewer));
    }
    diagnosis.headline = headline.into();
    Ok(diagnosis)
}

/// Whether a series shows no slow time, and much of the recording lies before it reached its level.
fn is_in_warm_up(chosen: &Chosen, timeline: &Timeline<'_>) -> bool {
    let recorded = timeline.recorded();
    let before = |warm_up: Window| recorded.length_within_ns(warm_up.from_ns, warm_up.to_ns) as f64;
    let unjudged = chosen.warm_up.filter(|_| chosen.whole_run).map_or(0.0, before);
    unjudged > 0.0 && unjudged >= UNJUDGED * recorded.length_ns() as f64
}

/// Whether a finding is what grew, and no rule knows its mechanism.
fn grew(finding: &Finding) -> bool {
    [growth::RULE, growth::PACE_RULE, growth::CALLS_RULE].contains(&finding.rule)
}

/// Whether findings explain but a small part, or are only parts that grew and explain less than
/// half.
fn is_vague(findings: &[Finding]) -> bool {
    let explained = explained(findings);
    explained < LITTLE || (findings.iter().all(grew) && explained < MOSTLY)
}

/// Metrics that `fathom gc` judges bad and that no finding explains.
fn judged_bad(
    recording: &Recording,
    jvms: &[ProcessId],
    findings: &[Finding],
    zero_ns: i64,
) -> Vec<Statement> {
    let of_jvm = |jvm: &ProcessId| {
        let name = recording.processes.get(jvm.index()).map_or("", |p| p.name.as_str());
        let is_explained = |id: &str| {
            let rules = metrics::gc::explained_by(id);
            let names = |f: &Finding| {
                let mut named = f.also.iter().chain([&f.rule]);
                named.any(|name| rules.iter().any(|rule| name.starts_with(rule)))
            };
            findings.iter().any(|f| f.process_id == *jvm && names(f))
        };
        let bad =
            metrics::gc::bad(recording, *jvm, zero_ns).into_iter().filter(|metric| !is_explained(metric.id));
        let metrics: Vec<Fact> = bad.map(|metric| metric.stated()).collect();
        let bad = doubts::BAD.fact().with("process", Value::name(name));
        (!metrics.is_empty()).then(|| bad.with("metrics", Value::list(metrics)).into())
    };
    jvms.iter().filter_map(of_jvm).collect()
}

/// What of the loss findings explain, as a share; 0 where no loss was measured.
fn explained(findings: &[Finding]) -> f64 {
    findings.iter().filter_map(|finding| finding.share).sum()
}

/// The same where no loss was measured: what findings that are more than possible cost of the slow
/// windows.
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
    left: Vec<growth::Left>,
}

/// That less was asked for, as the reason for what of the loss is not known already.
fn of_the_rest(less: Finding, known: f64) -> Finding {
    let rest = 1.0 - known;
    Finding { cost_ms: less.cost_ms * rest, share: less.share.map(|share| share * rest), ..less }
}

/// What fewer operations mean where threads do not show that they took longer: a stage that has no
/// time to spare any more; answers that are held back, as the recorder or the clients measure; or
/// that less was asked for, which clients that wait longer refute.
fn held_or_less<'a>(growth: &Growth<'a>, case: &Case<'a>, latency: Option<&Progress>) -> Option<Finding> {
    let late = || growth.late_at_clients(case, latency?);
    let less = || match latency.is_some_and(|latency| held::clients::rose(case, latency)) {
        true => None,
        false => growth.less_demand(case),
    };
    held(growth, case).or_else(late).or_else(|| growth.in_more_pieces(case)).or_else(less)
}

/// The same where only the recording counts requests.
fn held<'a>(growth: &Growth<'a>, case: &Case<'a>) -> Option<Finding> {
    let held = growth.busy_stage(case).or_else(|| growth.held_back(case));
    held.or_else(|| growth.larger_answers(case))
}

/// The windows of a whole run that is judged instead of others; `how` these were found.
fn whole_run(case: &Case<'_>, mut how: Vec<Statement>, why: &'static Metric) -> Windows {
    how.push(why.fact().into());
    Windows { slow: case.slow.clone(), base: Vec::new(), how, ..Windows::default() }
}

/// Judges the slow windows. Where these are only stops of the JVM, or changes of what threads do,
/// what acted all along is not in them: the whole run is judged as well, and the frame is that in
/// which the costliest cause was found. What only the other frame shows is kept.
fn judge<'a>(
    recording: &'a Recording,
    sights: &Sights<'a>,
    jvms: &[ProcessId],
    timeline: &Timeline<'_>,
    chosen: &Chosen,
    known: &Rc<Known<'a>>,
) -> Judged<'a> {
    let (judged, limited) = judge_windows(recording, sights, jvms, timeline, chosen, known);
    let Judged { case, windows, merged, left } = judged;
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
        known: Rc::clone(&case.known),
    };
    let mut whole = merge::judge_all(&whole_case, sights, jvms, RULES);
    whole.ruled_out.extend(growth::work::limit(&whole_case, &mut whole.findings));
    // What may be usual is no news where it was no worse in the windows in which threads did
    // something else.
    let refuted = |finding: &Finding| {
        let may_be_usual = rules::find(finding.rule).is_some_and(Rule::may_be_usual);
        may_be_usual && chosen.by_change && merged.ruled_out.iter().any(|row| row.rule == finding.rule)
    };
    whole.findings.retain(|finding| !refuted(finding));
    let costliest = merged.findings.first().map_or(0.0, merge::weight_ms);
    let quiet = |jvm: &ProcessId| case.known.stops(*jvm).burden.quiet;
    // Stops that are few, and short enough for nobody to notice, are no loss that asks for an
    // explanation.
    if merged.findings.is_empty() && jvms.iter().all(quiet) {
        let windows = whole_run(&whole_case, windows.how, &words::FEW_STOPS);
        return Judged { case: whole_case, windows, merged: whole, left: Vec::new() };
    }
    // The same cause costs more over more time, which is no reason to look away from where it
    // stands out; unless a change of what threads do is but a small part of where it acts.
    let known =
        |f: &Finding| merged.findings.iter().any(|k| k.rule == f.rule && k.process_id == f.process_id);
    let is_whole = |finding: &Finding| {
        let weight = merge::weight_ms(finding);
        // What is but possible over the whole run is no reason to look away from where something
        // was found.
        let is_sure = finding.confidence > Confidence::ConsistentWith || merged.findings.is_empty();
        is_sure
            && weight > costliest
            && limited.iter().all(|rule| rule != finding.rule)
            && (!known(finding) || (chosen.by_change && weight > SMALL_PART * costliest))
    };
    if whole.findings.iter().any(is_whole) {
        let windows = whole_run(&whole_case, windows.how, &words::COSTS_MORE);
        let of = match chosen.on_stops {
            true => &reasons::FOUND_IN_STOPS,
            false => &reasons::FOUND_IN_CHANGES,
        };
        let merged = merge::with_others(whole, merged, of);
        return Judged { merged, case: whole_case, windows, left: Vec::new() };
    }
    Judged { merged: merge::with_others(merged, whole, &reasons::FOUND_IN_RUN), case, windows, left }
}

/// The slow windows alone; with the rules whose findings what grew leaves too little for.
fn judge_windows<'a>(
    recording: &'a Recording,
    sights: &Sights<'a>,
    jvms: &[ProcessId],
    timeline: &Timeline<'_>,
    chosen: &Chosen,
    known: &Rc<Known<'a>>,
) -> (Judged<'a>, Vec<String>) {
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
        known: Rc::clone(known),
    };
    // Stops were picked for being stops: that they grew says nothing.
    let growth = (!chosen.on_stops).then(|| Growth::of(&case, sights, jvms, RULES)).flatten();
    case.attributed = Rc::new(growth.as_ref().map(|growth| growth.attributed(&case)).unwrap_or_default());
    let mut merged = merge::judge_all(&case, sights, jvms, RULES);
    merged.ruled_out.extend(growth::work::limit(&case, &mut merged.findings));
    let mut limited: Vec<String> = Vec::new();
    let mut left = Vec::new();
    let is_measured = !case.lost_by.is_empty() && case.exchanges.is_none();
    let found = explained(&merged.findings);
    let latency = Progress::of_latency(recording, |series| timeline.usable(series));
    // Clients that are answered as soon as ever refute that operations took longer, whatever
    // threads wait for between them.
    let asked_less = latency.as_ref().filter(|_| is_measured && found < LITTLE).and_then(|latency| {
        demand::by_latency(&case, jvms.first().copied().unwrap_or(ProcessId(0)), latency)
    });
    let mut is_asked_less = asked_less.is_some();
    if let Some(less) = asked_less {
        merged.findings.push(of_the_rest(less, found));
        merge::by_cost(&mut merged.findings);
    } else if is_measured && found < LITTLE {
        merged.blind_spots.extend(jvms.iter().filter_map(|jvm| demand::unseen_sleeps(&case, *jvm)));
        let less = match growth.as_ref() {
            Some(growth) if !growth.grew(&case) => held_or_less(growth, &case, latency.as_ref()),
            _ => None,
        };
        merged.findings.extend(less.map(|less| of_the_rest(less, found)));
        merge::by_cost(&mut merged.findings);
    }
    // Where only the recording counts requests, fewer of them are no loss, unless each is answered
    // late.
    let by_requests = !case.lost_by.is_empty() && case.exchanges.as_ref().is_some_and(|e| e.are_requests());
    if by_requests && found < MOSTLY {
        let as_long = growth.as_ref().filter(|growth| !growth.grew(&case));
        let held = as_long.and_then(|growth| held(growth, &case).or_else(|| growth.in_more_pieces(&case)));
        // Who asks itself is no client whose demand could have fallen by itself.
        let as_ever = |growth: &Growth<'_>| growth.answers_as_ever(&case) && !growth.asks_itself(&case);
        is_asked_less = found < LITTLE && held.is_none() && growth.as_ref().is_some_and(as_ever);
        if is_asked_less {
            merged.findings.retain(|finding| finding.confidence > Confidence::ConsistentWith);
        }
        merged.findings.extend(held.map(|held| of_the_rest(held, found)));
        merge::by_cost(&mut merged.findings);
    }
    if let Some(mut growth) = growth.filter(|growth| !is_asked_less && growth.grew(&case)) {
        let too_small = growth.limit(&case, &mut merged.findings);
        merge::by_cost(&mut merged.findings);
        limited.extend(too_small.iter().map(|row| row.rule.clone()));
        merged.ruled_out.extend(too_small);
        growth.credit_new_places();
        growth.credit_pools(&case);
        growth.credit_disk(queueing_after_disk(&case, growth.jvm()));
        growth.credit_allocation();
        growth.credit_running(&merged.findings);
        growth.credit_holders(&merged.findings);
        credited::with_code(&case, &mut merged.findings, &mut growth);
        credited::with_cpu_waits(&case, &mut merged.findings, growth.of_page_faults(&case));
        let peer = growth.behind_late_peer(&case, &mut merged.findings);
        merged.findings.extend(peer);
        if is_measured {
            let found = self::explained(&merged.findings);
            merged.findings.extend(growth.more_requests(&case, found));
        }
        let explained = match case.loss.lost_ms > 0.0 {
            true => explained(&merged.findings),
            false => costs(&case, &merged.findings),
        };
        let by_change = chosen.by_change || chosen.exchanges.is_some() || chosen.picked;
        let most = if explained < NEARLY { MOST_GROWN } else { 0 };
        let grown = growth.findings(&case, &merged.findings, explained, by_change, most);
        left = grown.left;
        merged.findings.extend(grown.findings);
        // What all operations together took longer is less than half of what was lost: the rest is
        // no slowness of theirs.
        let known = self::explained(&merged.findings).max(growth.most_share(&case));
        if found < LITTLE && known < MOSTLY {
            let less = match (is_measured, by_requests) {
                (true, _) => held_or_less(&growth, &case, latency.as_ref()),
                (false, true) => held(&growth, &case),
                (false, false) => None,
            };
            less.into_iter().for_each(|less| merge::join(&mut merged.findings, of_the_rest(less, known)));
        }
        credited::with_holders(&case, &mut merged.findings, grown.of_holders);
        merge::by_cost(&mut merged.findings);
    }
    if case.whole_run {
        let all_along = jvms.iter().filter_map(|jvm| growth::busy_stage::all_along(&case, *jvm));
        merged.findings.extend(all_along.max_by(|a, b| a.cost_ms.total_cmp(&b.cost_ms)));
        merge::by_cost(&mut merged.findings);
    }
    (Judged { case, windows: chosen.windows.clone(), merged, left }, limited)
}

#[cfg(test)]
mod replicas;
#[cfg(test)]
mod scaling;

#[cfg(test)]
mod tests;
