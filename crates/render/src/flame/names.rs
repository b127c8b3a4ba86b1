//! Names of frames on their way out: bounded, and without characters that would be obeyed.

use fathom_diagnose::stacks::TreeFrame;

use crate::printable;

/// Characters of a name that are shown. Real ones are below 300 (C++ templates); one of a megabyte
/// is an attack.
pub(crate) const LONGEST_NAME: usize = 500;

/// A name cut to [`LONGEST_NAME`] characters, nothing else changed.
pub(crate) fn plain(name: &str) -> String {
    match name.char_indices().nth(LONGEST_NAME) {
        None => name.to_owned(),
        Some((at, _)) => format!("{}… ({} bytes)", &name[..at], name.len()),
    }
}

/// A name as it is shown: truncated, and with controls and marks that turn text around as their
/// codes.
pub(crate) fn shown(name: &str) -> String {
    printable(&plain(name)).into_owned()
}

/// A frame as it is shown: its name, with the line where the tree is divided by lines.
pub(crate) fn of_frame(frame: &TreeFrame) -> String {
    let name = shown(&frame.name);
    if frame.line >= 0 { format!("{name}:{}", frame.line) } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_megabyte_is_cut_and_marks_become_visible() {
        let long = shown(&"\u{202e}é".repeat(300_000));
        assert!(long.len() < 10 * LONGEST_NAME && long.starts_with("\\u{202e}é"), "{}", long.len());
        assert!(long.ends_with("… (1500000 bytes)"));
        assert_eq!(shown("org.example.Orders.total"), "org.example.Orders.total");
    }
}
