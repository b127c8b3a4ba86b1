//! The one sentence of a diagnosis.

use std::collections::BTreeSet;

use fathom_recording::ProcessId;
use fathom_recording::vocabulary::source;

use crate::facts::{Metric, Unit, Value, headlines as words};
use crate::limits::cost_little;
use crate::rules::yields;
use crate::windows::Chosen;
use crate::{Confidence, Diagnosis, Fact, Finding, Part, PartOf, Sight, Status, Window, quantity};

/// Windows named in the sentence.
const NAMED: usize = 2;
/// Windows from which on they may be reported as periodic, and by how much of the median nine in
/// ten of them may differ in when they come and in how long they are: a tick of a second at either
/// end of 15 s is an eighth of it.
const BEATS: usize = 4;
const BEAT_APART: f64 = 0.1;
const BEAT_LENGTH: f64 = 0.25;
/// Share of the loss below which what explains it is only a part, and the rest needs words.
const MOSTLY: f64 = 0.5;
/// A cost below this is not a number that anybody needs, milliseconds: the finding says that
/// something failed.
const NO_COST_MS: f64 = 0.5;

/// What took the time, or what was looked at without a cause being found.
///
/// `chosen`: what its windows were chosen on. `collections`: whether those of all JVMs are known.
pub(crate) fn of(diagnosis: &Diagnosis, whole_run: bool, chosen: &Chosen, collections: bool) -> Fact {
    let slight = chosen.slight;
    let lost = || Value::ms(diagnosis.loss.lost_ms);
    match (diagnosis.status, diagnosis.findings.first()) {
        (Status::Healthy, Some(finding)) => (words::HEALTHY_WITH.fact())
            .with("healthy", Value::from(healthy(diagnosis, slight)))
            .with("found", Value::from(found(diagnosis, finding, whole_run))),
        (_, Some(finding)) => found(diagnosis, finding, whole_run),
        (Status::NotExplained, None) if diagnosis.seen.unrecorded_ms >= diagnosis.seen.judged_ms => {
            let unrecorded = words::UNRECORDED.is(lost()).with("when", Value::from(when(diagnosis)));
            unrecorded.with("series", Value::name(&diagnosis.loss.measured_on))
        }
        (Status::NotExplained, None) => {
            let lost = words::NOT_EXPLAINED.is(lost()).with("when", Value::from(when(diagnosis)));
            lost.with("parts", parts(diagnosis))
        }
        (Status::Healthy, None) => healthy(diagnosis, slight),
        (Status::NothingToJudge, None) => words::NOTHING_TO_JUDGE.fact(),
        (Status::NoCauseFound | Status::Found, None) => {
            no_cause(diagnosis, whole_run, chosen.without_operations.as_ref(), collections)
        }
    }
}

/// That a series showed no loss, and the stops neither. `slight`: where a series that never fell by
/// what is called a dip was lower than usual, and by which share.
fn healthy(diagnosis: &Diagnosis, slight: Option<(Window, f64)>) -> Fact {
    let judged = Value::ms(diagnosis.seen.judged_ms);
    let level = match slight {
        None => words::HEALTHY.is(judged),
        // The name of the series shows which way is worse: latency rises.
        Some((window, share)) => {
            let slight = words::HEALTHY_SLIGHT.is(judged).with("worse", Value::share(share));
            let from = timestamp(diagnosis, window.from_ns);
            slight.with("from", from).with("to", timestamp(diagnosis, window.to_ns))
        }
    };
    let level = level.with("series", Value::name(&diagnosis.loss.measured_on));
    level.with("limit", Value::share(crate::MATTERS_SHARE))
}

/// No cause, and no loss that was measured: what was looked at, and what the time went to.
fn no_cause(
    diagnosis: &Diagnosis,
    whole_run: bool,
    without_operations: Option<&Fact>,
    collections: bool,
) -> Fact {
    let seen = &diagnosis.seen;
    let at = (!whole_run).then(|| Value::from(when(diagnosis)));
    let series = || Value::name(&diagnosis.loss.measured_on);
    let loss = match (diagnosis.loss.measured_on.as_str(), seen.loss_measured) {
        ("", _) | (_, false) => words::LOSS_NOT_MEASURED.fact(),
        (_, true) if seen.unrecorded_ms > 0.0 => {
            words::LOSS_OUTSIDE.is(Value::ms(seen.unrecorded_ms)).with("series", series())
        }
        (_, true) => {
            without_operations.map_or_else(|| words::NO_LOSS.fact().with("series", series()), Fact::clone)
        }
    };
    if diagnosis.ledger.iter().all(|row| !row.in_sum) && seen.sights.is_empty() {
        return words::NOTHING_OF_JVM.fact().with("when", at);
    }
    let judged = Value::ms(seen.judged_ms);
    if let Some(stops) = seen.few_stops.filter(|_| only_stops(diagnosis)) {
        let few = if collections { &words::COLLECTOR_HEALTHY } else { &words::STOPS_FEW };
        let few = few.is(judged).with("when", at).with("share", Value::share(stops.share));
        return few.with("longest", Value::ms(stops.longest_ms)).with("loss", Value::from(loss));
    }
    let none = words::NO_CAUSE.is(judged).with("when", at).with("loss", Value::from(loss));
    none.with("input", Value::name(input(diagnosis))).with("parts", parts(diagnosis))
}

/// Whether nothing was seen but stops of the JVM and its compilations.
fn only_stops(diagnosis: &Diagnosis) -> bool {
    let beyond = [Sight::Locks, Sight::CpuSamples, Sight::Switches, Sight::Calls];
    diagnosis.seen.sights.iter().all(|sight| !beyond.contains(&sight.what))
}

fn input(diagnosis: &Diagnosis) -> &'static str {
    let has = |format: &str| diagnosis.inputs.iter().any(|input| input.format == format);
    match () {
        () if has(source::SESSION) => "a live recording",
        () if has("jfr") => "a flight recording",
        () => "what was read",
    }
}

/// The largest parts of the time: stops of JVMs, then what application threads did.
fn parts(diagnosis: &Diagnosis) -> Option<Value> {
    let largest = diagnosis.seen.largest.iter();
    let (threads, stops): (Vec<&Part>, Vec<&Part>) =
        largest.partition(|part| part.of == PartOf::ApplicationThreads);
    let part = |metric: &'static Metric, part: &Part| {
        metric.is(Value::share(part.share)).with("what", Value::from(&part.what))
    };
    let stop = |stop: &&Part| {
        let stops = part(&words::PART_STOPS, stop).with("process", Value::name(&stop.process));
        stops.with("details", details(stop))
    };
    let mut parts: Vec<Fact> = stops.iter().map(stop).collect();
    if let Some(first) = threads.first() {
        let whole_ms = if first.share > 0.0 { first.ms / first.share } else { 0.0 };
        let one = |of: &&Part| part(&words::PART, of).over(of.base_share.map(Value::share));
        let whole = words::PART_THREADS.is(Value::ms(whole_ms)).with("process", Value::named(&first.process));
        parts.push(whole.with("parts", Value::list(threads.iter().map(one))));
        let known = threads.iter().find_map(|part| details(part));
        parts.extend(known.map(|known| words::PART_DETAIL.fact().with("details", known)));
    }
    (!parts.is_empty()).then(|| Value::list(parts))
}

/// What a part of the time was in particular, where that is known.
fn details(part: &Part) -> Option<Value> {
    let known = part.details.iter().map(|one| one.fact().clone());
    (!part.details.is_empty()).then(|| Value::list(known))
}

fn found(diagnosis: &Diagnosis, finding: &Finding, whole_run: bool) -> Fact {
    let sure = match finding.confidence {
        Confidence::Proven => "proven",
        Confidence::Likely => "likely",
        Confidence::ConsistentWith => "consistent with the evidence",
    };
    let alike =
        diagnosis.findings.iter().filter(|f| f.rule == finding.rule && f.process_id != finding.process_id);
    let others: BTreeSet<ProcessId> = alike.clone().map(|f| f.process_id).collect();
    let process = Value::named(&finding.process);
    let who = Fact { value: process, ..words::WHO.fact() };
    let who = who.with("others", (!others.is_empty()).then(|| Value::count(others.len())));
    let judged_ms = diagnosis.seen.judged_ms;
    let says_cost = says(finding.title.fact(), finding.cost_ms);
    let cost = || Value::ms(finding.cost_ms);
    let parts = || parts(diagnosis);
    let found = match finding.share {
        Some(share) if !whole_run => {
            let share = share + alike.filter_map(|f| f.share).sum::<f64>();
            let explained: f64 = diagnosis.findings.iter().filter_map(|f| f.share).sum();
            let covered = (finding.covered_share < 1.0).then(|| Value::share(finding.covered_share));
            let rest = (explained < MOSTLY).then(|| words::REST.fact().with("parts", parts()).into());
            let found = words::FOUND_SHARE.is(Value::share(share)).with("covered", covered);
            let found = found.with("lost", Value::ms(diagnosis.loss.lost_ms));
            found.with("when", Value::from(when(diagnosis))).with("rest", rest)
        }
        _ if yields(finding.rule) => words::FOUND.fact(),
        _ if whole_run && cost_little(finding.cost_ms, judged_ms) => {
            let little = if says_cost { &words::FOUND_LITTLE_OF } else { &words::FOUND_LITTLE };
            little.is(cost()).with("of", Value::ms(judged_ms)).with("parts", parts())
        }
        _ => {
            let found = match finding.cost_ms < NO_COST_MS || says_cost {
                true => words::FOUND.fact(),
                false => words::FOUND_COST.is(cost()),
            };
            let more = more_stops(diagnosis, finding);
            let found = found.with("others", more.map(|left| Value::ms(left.cost_ms)));
            found.with("left", more.map(|left| Value::from(&left.title))).with("parts", parts())
        }
    };
    let found = found.with("title", Value::from(&finding.title)).with("who", Value::from(who));
    found.with("sure", Value::name(sure))
}

/// Another finding that lists stops which the first cause leaves, where these are more.
fn more_stops<'d>(diagnosis: &'d Diagnosis, first: &Finding) -> Option<&'d Finding> {
    let left = |f: &&Finding| yields(f.rule) && f.process_id == first.process_id && f.cost_ms > first.cost_ms;
    diagnosis.findings.iter().skip(1).find(left)
}

/// Whether a title states a time already, so that it is not said twice.
fn says(title: &Fact, ms: f64) -> bool {
    let is_it = |value: &Value| match value {
        Value::Number(of, Unit::Ms) => quantity::millis(*of) == quantity::millis(ms),
        other => other.parts().iter().any(|part| says(part, ms)),
    };
    title.values().any(is_it)
}

/// A timestamp, from where times of the diagnosis count.
fn timestamp(diagnosis: &Diagnosis, ns: i64) -> Value {
    Value::at(ns.saturating_sub(diagnosis.zero_ns))
}

/// Windows in order that come back in a beat, most of them equally far apart and equally long.
fn in_every(diagnosis: &Diagnosis) -> Option<Fact> {
    let windows = &diagnosis.windows.slow;
    let (first, last) = (windows.first()?, windows.last()?);
    if windows.len() < BEATS {
        return None;
    }
    let mut apart: Vec<i64> = windows.windows(2).map(|w| w[1].from_ns.saturating_sub(w[0].from_ns)).collect();
    let mut lengths: Vec<i64> = windows.iter().map(Window::length_ns).collect();
    let median = |of: &mut Vec<i64>| {
        of.sort_unstable();
        of[of.len() / 2]
    };
    let (every, length) = (median(&mut apart), median(&mut lengths));
    let are_alike = |of: &[i64], middle: i64, share: f64| {
        let near = of.iter().filter(|ns| (**ns - middle).abs() as f64 <= share * middle as f64).count();
        near * 10 >= of.len() * 9
    };
    if !are_alike(&apart, every, BEAT_APART) || !are_alike(&lengths, length, BEAT_LENGTH) {
        return None;
    }
    let round =
        |ns: i64| if ns >= 9_950_000_000 { (ns + 500_000_000) / 1_000_000_000 * 1_000_000_000 } else { ns };
    let periodic = words::PERIODIC.is(Value::at(round(length))).with("every", Value::at(round(every)));
    let periodic = periodic.with("times", Value::count(windows.len()));
    let from = timestamp(diagnosis, first.from_ns);
    Some(periodic.with("from", from).with("to", timestamp(diagnosis, last.to_ns)))
}

/// Slow windows, longest first.
fn when(diagnosis: &Diagnosis) -> Fact {
    if let Some(periodic) = in_every(diagnosis) {
        return periodic;
    }
    let mut windows: Vec<Window> = diagnosis.windows.slow.clone();
    windows.sort_by_key(|w| (std::cmp::Reverse(w.length_ns()), w.from_ns));
    let more = windows.len().saturating_sub(NAMED);
    let named = windows.iter().take(NAMED).map(|w| {
        let from = timestamp(diagnosis, w.from_ns);
        words::WINDOW.fact().with("from", from).with("to", timestamp(diagnosis, w.to_ns))
    });
    words::AT.fact().with("windows", Value::list(named)).with("more", (more > 0).then(|| Value::count(more)))
}

#[cfg(test)]
mod tests {
    use super::{says, when};
    use crate::facts::{Value, headlines as words, titles};
    use crate::limits::cost_little;
    use crate::{Options, Window};

    #[test]
    fn windows_that_come_back_periodically_are_reported_as_one() {
        const S: i64 = 1_000_000_000;
        let mut diagnosis =
            crate::diagnose(&crate::built::Built::jvm("17", "G1", 60.0).sealed(), &Options::default())
                .unwrap();
        let mut of = |windows: Vec<Window>| {
            (diagnosis.zero_ns, diagnosis.windows.slow) = (0, windows);
            when(&diagnosis)
        };
        let window = |from_ns: i64, s: i64| Window { from_ns, to_ns: from_ns + s * S };
        // Ticks of a second: a window may begin and end one later.
        let beat: Vec<Window> = (0..50).map(|i| window(i * 60 * S + i % 2 * S, 15 + i % 3)).collect();
        let periodic = of(beat.clone());
        assert_eq!(periodic.metric, &words::PERIODIC);
        let shown = ["value", "every", "times", "from", "to"].map(|name| periodic.shows(name));
        assert_eq!(shown, ["16", "61", "50", "0", "2957"]);
        assert_eq!(of(beat[..3].to_vec()).metric, &words::AT, "too few");
        let any: Vec<Window> = (0..50).map(|i| window(i * i * S * 3, 2)).collect();
        assert_eq!(of(any).metric, &words::AT, "ever further apart");
        let longer: Vec<Window> = (0..20).map(|i| window(i * 60 * S, 1 + 2 * i)).collect();
        assert_eq!(of(longer).metric, &words::AT, "ever longer");
    }

    #[test]
    fn a_failure_that_cost_next_to_nothing_is_said_to_have_cost_little() {
        use fathom_recording::vocabulary::{failure, kind, label};
        let costs_little = |ms: f64| {
            let mut built = crate::built::Built::jvm("17", "G1", 1_000.0);
            (0..100).for_each(|i| {
                built.pause(
                    "Pause Young (Normal)",
                    "G1 Evacuation Pause",
                    5.0 + 9.0 * f64::from(i),
                    5.0,
                    &[],
                );
            });
            let failed = [(label::FAILURE, failure::EVACUATION_FAILURE)];
            built.span(kind::GC_PAUSE, "Pause Young (Normal)", 500.0, ms, &[], &failed);
            let diagnosis = crate::diagnose(&built.sealed(), &crate::Options::default()).unwrap();
            assert_eq!(diagnosis.findings[0].rule, "gc-evacuation-failure", "{}", diagnosis.headline);
            cost_little(diagnosis.findings[0].cost_ms, diagnosis.seen.judged_ms)
        };
        assert!(costs_little(60.0) && !costs_little(9_000.0));
    }

    #[test]
    fn a_time_that_a_title_has_is_not_said_again() {
        let title = titles::LOCK.is(Value::ms(6_551.0)).with("threads", Value::count(55));
        assert!(says(&title, 6_550.0) && !says(&title, 55.0) && !says(&title, 16_550.0));
        let within = titles::DEADLOCK.fact().with("waits", Value::from(title));
        assert!(says(&within, 6_550.0) && !says(&within, 55.0));
    }
}
