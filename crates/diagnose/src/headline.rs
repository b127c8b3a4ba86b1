//! The one sentence of a diagnosis.

use std::collections::BTreeSet;

use fathom_recording::ProcessId;
use fathom_recording::vocabulary::source;

use crate::facts::{Unit, Value};
use crate::limits::cost_little;
use crate::rules::yields;
use crate::seen::in_words;
use crate::windows::Chosen;
use crate::{Confidence, Diagnosis, Fact, Finding, Sight, Status, Window, quantity};

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
pub(crate) fn of(diagnosis: &Diagnosis, whole_run: bool, chosen: &Chosen, collections: bool) -> String {
    let slight = chosen.slight;
    match (diagnosis.status, diagnosis.findings.first()) {
        (Status::Healthy, Some(finding)) => {
            format!(
                "{}; what acts all along: {}",
                healthy(diagnosis, slight),
                found(diagnosis, finding, whole_run)
            )
        }
        (_, Some(finding)) => found(diagnosis, finding, whole_run),
        (Status::NotExplained, None) if diagnosis.seen.unrecorded_ms >= diagnosis.seen.judged_ms => format!(
            "{} lost {}, when nothing but {} was recorded: its cause cannot be known from these inputs",
            quantity::millis(diagnosis.loss.lost_ms),
            when(diagnosis),
            diagnosis.loss.measured_on
        ),
        (Status::NotExplained, None) => format!(
            "{} lost {}, and nothing that these inputs show explains it{}",
            quantity::millis(diagnosis.loss.lost_ms),
            when(diagnosis),
            parts(diagnosis)
        ),
        (Status::Healthy, None) => healthy(diagnosis, slight),
        (Status::NothingToJudge, None) => {
            "nothing to judge: no log of a JVM and no series of progress was read".into()
        }
        (Status::NoCauseFound | Status::Found, None) => {
            no_cause(diagnosis, whole_run, chosen.without_operations.as_deref(), collections)
        }
    }
}

/// That a series showed no loss, and the stops neither. `slight`: where a series that never fell by
/// what is called a dip was lower than usual, and by which share.
fn healthy(diagnosis: &Diagnosis, slight: Option<(Window, f64)>) -> String {
    let series = &diagnosis.loss.measured_on;
    let level = match slight {
        None => format!("{series} kept its usual level (what the level should be is not known)"),
        // The name of the series shows which way is worse: latency rises.
        Some((window, share)) => {
            let at = |ns: i64| seconds(ns.saturating_sub(diagnosis.zero_ns));
            let (from, to) = (at(window.from_ns), at(window.to_ns));
            format!(
                "{series} was worse than usual by {} at {from}–{to} s, too little to be examined by default (--slow \
                 {from}s..{to}s examines it), and kept its usual level otherwise",
                quantity::share(share)
            )
        }
    };
    format!(
        "healthy: {level}, and stops of the JVM took less than {} of {}, none of them a second",
        quantity::share(crate::MATTERS_SHARE),
        quantity::millis(diagnosis.seen.judged_ms)
    )
}

/// No cause, and no loss that was measured: what was looked at, and what the time went to.
fn no_cause(
    diagnosis: &Diagnosis,
    whole_run: bool,
    without_operations: Option<&str>,
    collections: bool,
) -> String {
    let seen = &diagnosis.seen;
    let at = if whole_run { String::new() } else { format!(" {}", when(diagnosis)) };
    let loss = match (diagnosis.loss.measured_on.as_str(), seen.loss_measured) {
        ("", _) | (_, false) => "loss not measured: no throughput or latency given".to_owned(),
        (series, true) if seen.unrecorded_ms > 0.0 => format!(
            "{series} shows a loss, of which {} lie outside of what was recorded, and too little within it to judge",
            quantity::millis(seen.unrecorded_ms)
        ),
        (series, true) => without_operations
            .map_or_else(|| format!("{series} shows no loss that stands out"), str::to_owned),
    };
    if diagnosis.ledger.iter().all(|row| !row.in_sum) && seen.sights.is_empty() {
        return format!(
            "no cause can be seen{at}: nothing about a JVM was read; the blind spots say what to switch on"
        );
    }
    if let Some(stops) = seen.few_stops.filter(|_| only_stops(diagnosis)) {
        let (who, unseen) = match collections {
            true => ("the collector is healthy (it stopped the JVM for", ""),
            false => ("stops of the JVM are few (they took", "what they were for, "),
        };
        return format!(
            "no cause found in {}{at}: {who} {} of the time, the longest stop took {}); these inputs do not show \
             {unseen}locks, I/O, CPUs or what the application ran; {loss}",
            quantity::millis(seen.judged_ms),
            quantity::share(stops.share),
            quantity::millis(stops.longest_ms)
        );
    }
    format!(
        "no cause found in {} of {}{at} ({loss}){}",
        quantity::millis(seen.judged_ms),
        input(diagnosis),
        parts(diagnosis)
    )
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

fn parts(diagnosis: &Diagnosis) -> String {
    let words = in_words(&diagnosis.seen.largest);
    if words.is_empty() { String::new() } else { format!("; the largest parts: {words}") }
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
    let alike =
        diagnosis.findings.iter().filter(|f| f.rule == finding.rule && f.process_id != finding.process_id);
    let others: BTreeSet<ProcessId> = alike.clone().map(|f| f.process_id).collect();
    let who = match others.len() {
        0 => who,
        n => format!("{who}, and the same in {}", quantity::plural(n, "other JVM", "other JVMs")),
    };
    // Who comes with the first part of a title that goes on to say why.
    let title = match title.split_once("; ") {
        Some((first, rest)) => format!("{first}{who}; {rest}"),
        None => format!("{title}{who}"),
    };
    match finding.share {
        Some(share) if !whole_run => {
            let share = share + alike.filter_map(|f| f.share).sum::<f64>();
            let explained: f64 = diagnosis.findings.iter().filter_map(|f| f.share).sum();
            let covered = match finding.covered_share < 1.0 {
                true => {
                    format!(", in the {} of it that was recorded", quantity::share(finding.covered_share))
                }
                false => String::new(),
            };
            format!(
                "{title}: {} of the {} lost {}{covered} ({sure}){}",
                quantity::share(share),
                quantity::millis(diagnosis.loss.lost_ms),
                when(diagnosis),
                if explained < MOSTLY {
                    format!("; the rest is not explained{}", parts(diagnosis))
                } else {
                    String::new()
                }
            )
        }
        _ if yields(finding.rule) => format!("{title} ({sure})"),
        _ if whole_run && cost_little(finding.cost_ms, diagnosis.seen.judged_ms) => {
            let of = quantity::millis(diagnosis.seen.judged_ms);
            let cost = quantity::millis(finding.cost_ms);
            match says(finding.title.fact(), finding.cost_ms) {
                true => format!("{title}, which is little of {of} ({sure}){}", parts(diagnosis)),
                false => format!("{title}; it cost little: {cost} of {of} ({sure}){}", parts(diagnosis)),
            }
        }
        _ if finding.cost_ms < NO_COST_MS || says(finding.title.fact(), finding.cost_ms) => {
            format!("{title} ({sure}){}{}", more_stops(diagnosis, finding), parts(diagnosis))
        }
        _ => format!(
            "{title}: {} ({sure}){}{}",
            quantity::millis(finding.cost_ms),
            more_stops(diagnosis, finding),
            parts(diagnosis)
        ),
    }
}

/// That the JVM was stopped for longer than the first cause accounts for, where another finding
/// lists the stops that are left.
fn more_stops(diagnosis: &Diagnosis, first: &Finding) -> String {
    let left = |f: &&Finding| yields(f.rule) && f.process_id == first.process_id && f.cost_ms > first.cost_ms;
    let left = diagnosis.findings.iter().skip(1).find(left);
    left.map_or_else(String::new, |left| {
        format!("; other stops took {}: {}", quantity::millis(left.cost_ms), left.title)
    })
}

/// Whether a title states a time already, so that it is not said twice.
fn says(title: &Fact, ms: f64) -> bool {
    let is_it = |value: &Value| match value {
        Value::Number(of, Unit::Ms) => quantity::millis(*of) == quantity::millis(ms),
        other => other.parts().iter().any(|part| says(part, ms)),
    };
    title.values().any(is_it)
}

/// A timestamp in seconds, in tenths where it is not a whole number of them; never "-0".
fn seconds(ns: i64) -> String {
    let tenths = (ns as f64 / 1e8).round() as i64;
    if tenths % 10 == 0 { (tenths / 10).to_string() } else { format!("{:.1}", tenths as f64 / 10.0) }
}

/// "for 15 s in every 60 s (50 times, 1.6–2957 s)": windows in order that come back in a beat, most
/// of them equally far apart and equally long.
fn in_every(windows: &[Window], zero_ns: i64) -> Option<String> {
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
    let at = |ns: i64| seconds(ns.saturating_sub(zero_ns));
    let round =
        |ns: i64| if ns >= 9_950_000_000 { (ns + 500_000_000) / 1_000_000_000 * 1_000_000_000 } else { ns };
    Some(format!(
        "for {} s in every {} s ({} times, {}–{} s)",
        seconds(round(length)),
        seconds(round(every)),
        windows.len(),
        at(first.from_ns),
        at(last.to_ns)
    ))
}

/// "at 142 s to 165 s and 84 s to 88 s": slow windows, longest first.
fn when(diagnosis: &Diagnosis) -> String {
    if let Some(words) = in_every(&diagnosis.windows.slow, diagnosis.zero_ns) {
        return words;
    }
    let mut windows: Vec<Window> = diagnosis.windows.slow.clone();
    windows.sort_by_key(|w| (std::cmp::Reverse(w.length_ns()), w.from_ns));
    let seconds = |ns: i64| seconds(ns.saturating_sub(diagnosis.zero_ns));
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

#[cfg(test)]
mod tests {
    use super::{in_every, says, seconds};
    use crate::Window;
    use crate::facts::{Value, titles};
    use crate::limits::cost_little;

    #[test]
    fn windows_that_come_back_periodically_are_reported_as_one() {
        const S: i64 = 1_000_000_000;
        let window = |from_ns: i64, s: i64| Window { from_ns, to_ns: from_ns + s * S };
        // Ticks of a second: a window may begin and end one later.
        let beat: Vec<Window> = (0..50).map(|i| window(i * 60 * S + i % 2 * S, 15 + i % 3)).collect();
        assert_eq!(in_every(&beat, 0).as_deref(), Some("for 16 s in every 61 s (50 times, 0–2957 s)"));
        assert_eq!(in_every(&beat[..3], 0), None, "too few");
        let any: Vec<Window> = (0..50).map(|i| window(i * i * S * 3, 2)).collect();
        assert_eq!(in_every(&any, 0), None, "ever further apart");
        let longer: Vec<Window> = (0..20).map(|i| window(i * 60 * S, 1 + 2 * i)).collect();
        assert_eq!(in_every(&longer, 0), None, "ever longer");
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
    fn a_timestamp_just_before_zero_is_zero() {
        let said = [-1_200_000, 0, 49_000_000, 51_000_000, 4_990_000_000, 86_123_456_789, -260_000_000];
        assert_eq!(said.map(seconds), ["0", "0", "0", "0.1", "5", "86.1", "-0.3"]);
    }

    #[test]
    fn a_time_that_a_title_has_is_not_said_again() {
        let title = titles::LOCK.is(Value::ms(6_551.0)).with("threads", Value::count(55));
        assert!(says(&title, 6_550.0) && !says(&title, 55.0) && !says(&title, 16_550.0));
        let within = titles::DEADLOCK.fact().with("waits", Value::from(title));
        assert!(says(&within, 6_550.0) && !says(&within, 55.0));
    }
}
