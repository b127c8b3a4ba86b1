//! Counts of methods in text and as JSON: what came since the last time, and all of it at the end.

use std::collections::HashMap;
use std::time::Duration;

use fathom_capture::methods::{CallsOf, MethodReport, Report, Standing, Times, Way};
use fathom_diagnose::quantity::whole;
use fathom_render::printable;
use serde_json::{Value, json};

use super::slow;

/// What the JSON lines are.
const SCHEMA: &str = "fathom.method/1";

/// What prints.
pub struct Show {
    top: usize,
    json: bool,
    /// What was counted until the last time, by place in the list of methods.
    before: Vec<Counted>,
    elapsed: Duration,
}

/// Counts of a method until some time.
#[derive(Clone, Default)]
struct Counted {
    calls: u64,
    replaced: u64,
    callers: HashMap<String, u64>,
    threads: HashMap<String, u64>,
    watched: Duration,
}

impl Counted {
    fn of(method: &MethodReport) -> Self {
        let by = |list: &[CallsOf]| list.iter().map(|of| (of.who.clone(), of.calls)).collect();
        Self {
            calls: method.calls,
            replaced: method.replaced,
            callers: by(&method.callers),
            threads: by(&method.threads),
            watched: method.watched,
        }
    }

    /// What came since then.
    fn since(&self, method: &MethodReport) -> MethodReport {
        let more = |list: &[CallsOf], before: &HashMap<String, u64>| {
            let more = |of: &CallsOf| CallsOf {
                who: of.who.clone(),
                calls: of.calls - before.get(&of.who).copied().unwrap_or(0).min(of.calls),
            };
            let mut list: Vec<CallsOf> = list.iter().map(more).filter(|of| of.calls > 0).collect();
            list.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.who.cmp(&b.who)));
            list
        };
        MethodReport {
            calls: method.calls.saturating_sub(self.calls),
            replaced: method.replaced.saturating_sub(self.replaced),
            callers: more(&method.callers, &self.callers),
            threads: more(&method.threads, &self.threads),
            watched: method.watched.saturating_sub(self.watched),
            ..method.clone()
        }
    }
}

impl Show {
    /// Prints so many callers and threads of each method.
    pub fn new(top: usize, json: bool) -> Self {
        Self { top, json, before: Vec::new(), elapsed: Duration::ZERO }
    }

    /// What was counted since the last time.
    pub fn interval(&mut self, report: &Report) -> String {
        let none = Counted::default();
        let since = report.methods.iter().enumerate();
        let since: Vec<MethodReport> =
            since.map(|(i, method)| self.before.get(i).unwrap_or(&none).since(method)).collect();
        let elapsed = report.elapsed.saturating_sub(self.elapsed);
        self.before = report.methods.iter().map(Counted::of).collect();
        self.elapsed = report.elapsed;
        if self.json {
            return line(&as_json(&since, elapsed, report, "interval"));
        }
        let mut text = format!("{:.1} s\n", report.elapsed.as_secs_f64());
        for method in since.iter().filter(|method| has_something(method)) {
            text += &self.method(method, elapsed);
        }
        text
    }

    /// All of it, with what was not counted.
    pub fn totals(&self, report: &Report) -> String {
        if self.json {
            return line(&as_json(&report.methods, report.elapsed, report, "total"));
        }
        let mut text = format!("Total of {:.1} s\n", report.elapsed.as_secs_f64());
        for method in &report.methods {
            text += &self.method(method, report.elapsed);
            if let Some(times) = method.all_times.as_ref().filter(|times| times.count > 0) {
                text += &time_of(None, times);
            }
            for (caller, times) in method.times.iter().take(self.top) {
                text += &time_of(Some(caller), times);
            }
            text += &self.untimed(method);
            for not in not_counted(method) {
                text += &format!("    not counted: {}\n", printable(&not));
            }
        }
        text += &proportions(report);
        if report.methods.is_empty() {
            text += match report.way {
                Way::Breakpoint => {
                    "  no compiled code was found of the methods that were asked for: nothing was counted\n"
                }
                Way::Flight => {
                    "  none of the methods that were asked for is loaded, or was called: nothing was counted\n"
                }
                Way::Agent => "  none of the methods that were asked for is loaded: nothing was counted\n",
            };
        }
        for (what, why) in &report.refused {
            text += &format!("  {}: not counted: {}\n", printable(what), printable(why));
        }
        text += &slow::text(report, self.top);
        if report.unread > 0 {
            text += &format!(
                "  {} compilations could not be read: what is inlined there is not known\n",
                report.unread
            );
        }
        text
    }

    /// Of which callers no call was timed, and why.
    fn untimed(&self, method: &MethodReport) -> String {
        let mut text = String::new();
        for untimed in method.untimed.iter().take(self.top) {
            let calls = fathom_diagnose::quantity::plural(untimed.calls as usize, "call", "calls");
            text += &format!("    not timed: {calls} from {}: {}\n", printable(&untimed.caller), untimed.why);
        }
        let more = method.untimed.len().saturating_sub(self.top);
        if more > 0 {
            text += &format!("    not timed: calls from {more} callers more\n");
        }
        text
    }

    fn method(&self, method: &MethodReport, elapsed: Duration) -> String {
        // The rate is that of the time in which it could be counted.
        let seconds = method.watched.min(elapsed).as_secs_f64();
        let rate = if seconds > 0.0 { method.calls as f64 / seconds } else { 0.0 };
        let mut text = format!("  {}\n", printable(&method.name));
        text += &format!("    {} calls, {rate:.1}/s{}\n", whole(method.calls), standing(&method.standing));
        for (what, list) in [("from", &method.callers), ("by", &method.threads)] {
            let shown = list.iter().take(self.top);
            let rest: u64 = list.iter().skip(self.top).map(|of| of.calls).sum();
            for of in shown {
                text += &share(what, &of.who, of.calls, method.calls);
            }
            if rest > 0 {
                text += &share(what, &format!("{} others", list.len() - self.top), rest, method.calls);
            }
        }
        text
    }
}

/// How often each method is called for a call of the one that is called most: full handshakes for
/// a connection, queries for a request. Of rates, as not all were counted from the same time on.
fn proportions(report: &Report) -> String {
    let rate = |method: &MethodReport| {
        let seconds = method.watched.min(report.elapsed).as_secs_f64();
        if seconds > 0.0 { method.calls as f64 / seconds } else { 0.0 }
    };
    let counted = |method: &&MethodReport| !method.watched.is_zero() && method.standing != Standing::TooHot;
    let mut called: Vec<&MethodReport> = report.methods.iter().filter(counted).collect();
    called.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    let Some((most, others)) = called.split_first().filter(|(most, _)| most.calls > 0) else {
        return String::new();
    };
    let mut text = String::new();
    for other in others {
        text += &format!("    {:.4} calls of {}\n", rate(other) / rate(most), printable(&other.name));
    }
    match text.is_empty() {
        true => text,
        false => format!("  For each call of {}\n{text}", printable(&most.name)),
    }
}

/// A duration, with nanoseconds where it is that short.
pub fn seconds(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..100_000 => format!("{:.1} µs", ns as f64 / 1e3),
        100_000..1_000_000 => format!("{:.0} µs", ns as f64 / 1e3),
        _ => fathom_diagnose::quantity::seconds(ns as f64 / 1e9),
    }
}

fn share(what: &str, who: &str, calls: u64, of: u64) -> String {
    let percent = 100.0 * calls as f64 / of.max(1) as f64;
    format!("    {percent:>5.1}%  {:>9}  {what:<4} {}\n", whole(calls), printable(who))
}

/// How long calls from one caller took.
fn time_of(caller: Option<&str>, times: &Times) -> String {
    let from = caller.map_or(String::new(), |caller| format!(" from {}", printable(caller)));
    if times.buckets.is_empty() {
        let mean = seconds(times.sum_ns / times.count.max(1));
        return format!(
            "    took max {}, mean {mean} in {} timed calls{from}\n",
            seconds(times.max_ns),
            whole(times.count)
        );
    }
    format!(
        "    took p50 {}, p90 {}, p99 {}, max {}, mean {} in {} timed calls{from}\n",
        seconds(times.per_mille(500)),
        seconds(times.per_mille(900)),
        seconds(times.per_mille(990)),
        seconds(times.max_ns),
        seconds(times.sum_ns / times.count.max(1)),
        whole(times.count),
    )
}

/// Whether a method is worth lines in an interval.
fn has_something(method: &MethodReport) -> bool {
    method.calls > 0 || matches!(method.standing, Standing::Counted { .. } | Standing::Woven)
}

fn standing(standing: &Standing) -> String {
    match standing {
        Standing::Counted { level, compile_id } => format!("; {}, compilation {compile_id}", tier(*level)),
        Standing::Woven => String::new(),
        Standing::NoCode => "; no compiled code of its own now".to_owned(),
        Standing::NoBreakpoint { refused: None } => "; no breakpoint is free for it".to_owned(),
        Standing::NoBreakpoint { refused: Some(why) } => format!("; no breakpoint: {why}"),
        Standing::TooHot => "; DROPPED, it was called too often".to_owned(),
    }
}

/// A tier in words.
pub fn tier(level: u8) -> String {
    match level {
        0 => "wrapper of native code".to_owned(),
        1..=3 => format!("C1, tier {level}"),
        _ => format!("C2, tier {level}"),
    }
}

/// Why methods that were found are not counted at the beginning.
pub fn without_a_count(report: &Report) -> Vec<String> {
    let row = |method: &MethodReport| {
        let not = not_counted(method);
        (!matches!(method.standing, Standing::Counted { .. } | Standing::Woven))
            .then(|| format!("{}: not counted yet: {}", method.name, not.join("; ")))
    };
    report.methods.iter().filter_map(row).collect()
}

/// What the count of a method leaves out, and why.
fn not_counted(method: &MethodReport) -> Vec<String> {
    let mut not = Vec::new();
    let copies = &method.not_counted.inlined;
    if !copies.is_empty() {
        let shown = copies.iter().take(6).map(|(into, level, places)| match places {
            1 => format!("{into} ({})", tier(*level)),
            places => format!("{into} ({}, {places} places)", tier(*level)),
        });
        let mut shown: Vec<String> = shown.collect();
        if copies.len() > shown.len() {
            shown.push(format!("{} more", copies.len() - shown.len()));
        }
        not.push(format!("calls from code that it is inlined into: {}", shown.join(", ")));
    }
    for (level, bci) in &method.not_counted.on_stack {
        not.push(format!(
            "an interpreted call that goes on in compiled code, in its loop at bytecode {bci} (on-stack replacement, {})",
            tier(*level)
        ));
    }
    match &method.standing {
        Standing::NoCode => not.push("calls now: it has no compiled code of its own".to_owned()),
        Standing::NoBreakpoint { refused: None } => {
            not.push("all: a CPU has four breakpoints, which stand on other methods; name fewer".to_owned());
        }
        Standing::NoBreakpoint { refused: Some(why) } => not.push(format!("all: {why}")),
        Standing::TooHot => not.push("all since it was dropped (--max-rate)".to_owned()),
        Standing::Counted { .. } | Standing::Woven => {}
    }
    if let Some(seen) = method.callers_seen {
        not.push(format!(
            "the callers of {} calls: {seen} others, drawn at random, stand for them",
            method.calls.saturating_sub(seen)
        ));
    }
    if !method.unwatched.is_zero() && method.compilations > 0 {
        not.push(format!(
            "calls in {:.3} s in which no breakpoint was set: interpreted, or in code that was not seen in time",
            method.unwatched.as_secs_f64()
        ));
    }
    if method.replaced > 0 {
        not.push(format!(
            "{} calls that met code that had just been replaced; they are counted where they went on to code that was watched by then",
            method.replaced
        ));
    }
    if method.native {
        not.push("calls that compilers replace by an intrinsic".to_owned());
    }
    not
}

fn times_as_json(caller: Option<&str>, times: &Times) -> Value {
    json!({
        "caller": caller,
        "count": times.count,
        "sum_ns": times.sum_ns,
        "max_ns": times.max_ns,
        "buckets": times.buckets.iter().map(|(from, n)| json!([from, n])).collect::<Vec<_>>(),
    })
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

fn as_json(methods: &[MethodReport], elapsed: Duration, report: &Report, what: &str) -> Value {
    let by = |list: &[CallsOf]| -> Vec<Value> {
        list.iter().map(|of| json!({ "who": of.who, "calls": of.calls })).collect()
    };
    let method = |method: &MethodReport| {
        let (standing, why) = match &method.standing {
            Standing::Counted { .. } => ("counted", None),
            Standing::Woven => ("woven", None),
            Standing::NoCode => ("no-code", None),
            Standing::NoBreakpoint { refused } => ("no-breakpoint", refused.clone()),
            Standing::TooHot => ("too-hot", None),
        };
        let code = match method.standing {
            Standing::Counted { compile_id, level } => json!({ "compile_id": compile_id, "level": level }),
            _ => Value::Null,
        };
        let inlined = method.not_counted.inlined.iter();
        let inlined: Vec<Value> = inlined
            .map(|(into, level, places)| json!({ "into": into, "level": level, "places": places }))
            .collect();
        let on_stack = method.not_counted.on_stack.iter();
        let on_stack: Vec<Value> =
            on_stack.map(|(level, bci)| json!({ "level": level, "bci": bci })).collect();
        let times = |(caller, times): &(String, Times)| times_as_json(Some(caller), times);
        let times_of = |times: &Times| times_as_json(None, times);
        // They are those of all of the time.
        let times: Vec<Value> = method.times.iter().filter(|_| what == "total").map(times).collect();
        let untimed = method.untimed.iter().filter(|_| what == "total");
        let untimed: Vec<Value> =
            untimed.map(|of| json!({ "caller": of.caller, "calls": of.calls, "why": of.why })).collect();
        json!({
            "name": method.name,
            "native": method.native,
            "calls": method.calls,
            "watched_ms": method.watched.as_secs_f64() * 1e3,
            "unwatched_ms": method.unwatched.as_secs_f64() * 1e3,
            "standing": standing,
            "why": why,
            "code": code,
            "compilations": method.compilations,
            "replaced": method.replaced,
            "caller_not_kept": method.not_kept,
            "elsewhere": method.elsewhere,
            "callers": by(&method.callers),
            "threads": by(&method.threads),
            "times": times,
            "all_times": method.all_times.as_ref().filter(|_| what == "total").map(times_of),
            "thrown": method.thrown,
            "callers_seen": method.callers_seen,
            "untimed": untimed,
            "inlined": inlined,
            "on_stack_replacements": on_stack,
            "not_counted": not_counted(method),
        })
    };
    json!({
        "schema": SCHEMA,
        "way": report.way.name(),
        "kind": what,
        "at_ms": report.elapsed.as_secs_f64() * 1e3,
        "elapsed_ms": elapsed.as_secs_f64() * 1e3,
        "methods": methods.iter().map(method).collect::<Vec<_>>(),
        "unread_compilations": report.unread,
        "refused": report.refused.iter().map(|(what, why)| json!({ "what": what, "why": why })).collect::<Vec<_>>(),
        "slow": if what == "total" { slow::json(report) } else { Vec::new() },
        "slow_left_out": report.slow_left_out,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_in_groups_of_three_digits() {
        assert_eq!(share("from", "Shop.sell:7", 1_534, 1_634), "     93.9%      1,534  from Shop.sell:7\n");
    }
}
