//! Calls that took long, one by one: when, on which thread, from where, and what the thread waited
//! for.

use fathom_capture::methods::{Report, SlowCall};
use fathom_render::printable;
use serde_json::{Value, json};

use super::show::seconds;

/// Frames printed of a call.
const FRAMES: usize = 12;

/// The slowest, in text.
pub fn text(report: &Report, top: usize) -> String {
    let mut calls: Vec<&SlowCall> = report.slow.iter().collect();
    if calls.is_empty() {
        return String::new();
    }
    calls.sort_by_key(|call| std::cmp::Reverse(call.took_ns));
    let all = calls.len() as u64 + report.slow_left_out;
    let mut text = format!("  Slow calls: {all}");
    if all > top as u64 {
        text += &format!(", the slowest {top}");
    }
    text.push('\n');
    for call in calls.into_iter().take(top) {
        let at = (call.begun_ns - report.begun_ns) as f64 / 1e9;
        text += &format!(
            "    {} at {at:.3} s: {} by {}\n",
            seconds(call.took_ns),
            printable(&call.method),
            printable(&call.thread)
        );
        for (what, ns) in &call.waited {
            text += &format!("      {} {}\n", seconds(*ns), printable(what));
        }
        for frame in call.stack.iter().take(FRAMES) {
            text += &format!("      at {}\n", printable(frame));
        }
        if call.stack.len() > FRAMES {
            text += &format!("      … and {} frames more\n", call.stack.len() - FRAMES);
        }
    }
    text
}

/// All that are kept.
pub fn json(report: &Report) -> Vec<Value> {
    let call = |call: &SlowCall| {
        json!({
            "method": call.method,
            "thread": call.thread,
            "begun_ns": call.begun_ns,
            "took_ns": call.took_ns,
            "stack": call.stack,
            "waited": call.waited.iter().map(|(what, ns)| json!({ "what": what, "ns": ns })).collect::<Vec<_>>(),
        })
    };
    report.slow.iter().map(call).collect()
}
