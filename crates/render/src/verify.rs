//! What came of a fix, in the terminal: the verdict, each cause, what was gained, what is new, what
//! is not known.

use std::fmt::Write;

use fathom_compare::causes::{Cause, Cost};
use fathom_compare::verify::{Change, VerifyReport};
use fathom_diagnose::quantity;

use crate::printable;
use crate::tables::{section, shortened, table};

/// Characters of a title in the list of causes.
const TITLE: usize = 160;
/// Characters of a fact that differs.
const FACT: usize = 34;

/// The report as text.
pub fn text(report: &VerifyReport) -> String {
    let mut out = format!("{}\n\n", printable(&report.sentence));
    for (label, side) in [("before", &report.before), ("after ", &report.after)] {
        let (of, covers) = (printable(&side.of), quantity::seconds(side.covers_s));
        let _ = writeln!(out, "{label}  {of}, {covers}: {}", printable(&side.headline));
    }
    if !report.causes.is_empty() {
        out.push_str("\nFindings of before\n");
    }
    report.causes.iter().for_each(|cause| one(&mut out, cause));
    if !report.new.is_empty() {
        out.push_str("\nNew in after\n");
    }
    for new in &report.new {
        let cost =
            new.ms_per_s.map_or("not known".into(), |ms| format!("{} of each second", quantity::millis(ms)));
        let seen = if new.before_saw { "" } else { "; before could not show it" };
        let title = shortened(&new.title, TITLE);
        let _ =
            writeln!(out, "  {}: {title} ({})\n      costs {cost}{seen}", new.rule, new.confidence.word());
    }
    let sections =
        [(Change::Better, "Gained"), (Change::Worse, "Worse"), (Change::NotSure, "Not surely changed")];
    for (change, title) in sections {
        let of_it = report.gains.iter().filter(|gain| gain.change == change);
        for (i, gain) in of_it.enumerate() {
            let _ = if i == 0 { writeln!(out, "\n{title}") } else { Ok(()) };
            let _ = writeln!(out, "  {}", printable(&gain.words));
        }
    }
    let mut rows = table(&["", "before", "after"], &[1, 2]);
    for differing in &report.differing {
        let shown = |side: &Option<String>| shortened(side.as_deref().unwrap_or("–"), FACT);
        rows.add_row([differing.what.to_owned(), shown(&differing.first), shown(&differing.second)]);
    }
    section(&mut out, "Not the same on both sides", &rows);
    if !report.not_known.is_empty() {
        out.push_str("\nNot known\n");
    }
    for why in &report.not_known {
        let _ = writeln!(out, "  {}", printable(why));
    }
    out.push_str(
        "\nThis holds for one run of each: only more runs show how much runs differ by themselves.\n",
    );
    out
}

fn one(out: &mut String, cause: &Cause) {
    let title = shortened(&cause.title, TITLE);
    let _ = writeln!(out, "  {}: {} ({title})", cause.state.words(), cause.rule);
    let cost_of = |cost: &Option<Cost>| {
        let Some(cost) = cost else { return "none that is known".to_owned() };
        let per = cost.ms_per_operation.map(|ms| format!(", {} for each operation", quantity::of_one(ms)));
        format!("{} of each second{}", quantity::millis(cost.ms_per_s), per.unwrap_or_default())
    };
    let after = match cause.after {
        None => String::new(),
        after => format!("; after: {}", cost_of(&after)),
    };
    let _ = writeln!(out, "      cost before: {}{after}", cost_of(&cause.before));
    let _ = writeln!(out, "      {}", printable(&cause.why));
}
