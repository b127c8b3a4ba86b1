//! What the diagnoses of both sides find, and what became of it.

use fathom_compare::causes::{Cause, Cost, New, State};
use fathom_compare::recordings::Causes;
use fathom_diagnose::quantity;

use super::runs::paragraph;
use crate::printable;
use crate::tables::shortened;

/// Characters of a title.
const TITLE: usize = 160;

/// The causes of both sides as text.
pub(super) fn causes(out: &mut String, found: &Causes) {
    if found.of_first.is_empty() && found.new.is_empty() {
        return;
    }
    out.push_str("\nCauses, by the diagnosis of each (fathom diagnose)\n");
    found.of_first.iter().for_each(|cause| one(out, cause));
    found.new.iter().for_each(|new| one_more(out, new));
}

fn one(out: &mut String, cause: &Cause) {
    let became = match cause.state {
        State::Gone => "gone in B",
        State::Smaller => "smaller in B",
        State::Same => "the same in B",
        State::Larger => "larger in B",
        State::NotKnown => "in A, of B not known",
    };
    let title = shortened(&cause.title, TITLE);
    paragraph(out, &format!("{became}: {} ({title}; {})", cause.rule, cause.confidence.word()), "  ");
    let costs = [("A", cause.before), ("B", cause.after)].into_iter();
    let costs: Vec<String> =
        costs.filter_map(|(side, cost)| cost.map(|cost| format!("{side}: {}", of(cost)))).collect();
    let text = match cause.state {
        State::NotKnown => format!("{}; {}", costs.join("; "), printable(&cause.why)),
        _ => costs.join("; "),
    };
    paragraph(out, text.trim_start_matches("; "), "      ");
}

fn one_more(out: &mut String, new: &New) {
    let became = if new.before_saw { "new in B" } else { "in B, of A not known" };
    let title = shortened(&new.title, TITLE);
    paragraph(out, &format!("{became}: {} ({title}; {})", new.rule, new.confidence.word()), "  ");
    if let Some(ms) = new.ms_per_s {
        paragraph(out, &format!("B: {} of each second", quantity::millis(ms)), "      ");
    }
}

fn of(cost: Cost) -> String {
    let per = cost.ms_per_operation.map(|ms| format!(", {} for each operation", quantity::of_one(ms)));
    format!("{} of each second{}", quantity::millis(cost.ms_per_s), per.unwrap_or_default())
}
