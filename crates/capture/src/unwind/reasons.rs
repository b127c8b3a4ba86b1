//! Why walks of stacks ended, by number: read from the list that the programs are compiled with.

use std::sync::OnceLock;

/// The list: `CUT(NAME, "text")`, a line each.
const LIST: &str = include_str!("../../bpf/cut_reasons.h");

/// Name of the first reason, which is none.
const WHOLE: &str = "WHOLE";
/// Reasons of stacks that are whole though nothing of user space was walked.
const WITHOUT_USER_STACK: &str = "NO_USER_STACK";

fn list() -> &'static [(&'static str, &'static str)] {
    static PARSED: OnceLock<Vec<(&'static str, &'static str)>> = OnceLock::new();
    PARSED.get_or_init(|| LIST.lines().filter_map(line).collect())
}

fn line(line: &'static str) -> Option<(&'static str, &'static str)> {
    let (name, text) = line.strip_prefix("CUT(")?.split_once(", \"")?;
    Some((name, text.strip_suffix("\")")?))
}

/// The text of a reason for which a stack was cut; `None` for a stack that was walked to its root.
pub fn reason_name(reason: u8) -> Option<&'static str> {
    match list().get(usize::from(reason)) {
        Some((WHOLE | WITHOUT_USER_STACK, _)) => None,
        Some((_, text)) => Some(text),
        None => Some("unknown reason"),
    }
}

/// Whether a reason is the one of that name in the list.
pub fn is_reason(reason: u8, name: &str) -> bool {
    list().get(usize::from(reason)).is_some_and(|(own, _)| *own == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_number_and_a_text() {
        let lines = LIST.lines().filter(|line| line.starts_with("CUT(")).count();
        assert_eq!(list().len(), lines);
        assert_eq!(reason_name(0), None);
        assert_eq!(reason_name(1), None);
        assert!(is_reason(9, "DEPTH"));
        assert_eq!(reason_name(9), Some("depth"));
        assert_eq!(reason_name(255), Some("unknown reason"));
    }
}
