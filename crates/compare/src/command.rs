//! A command as it was typed: one text for a shell, or a program with its arguments.

use std::process;

use serde::{Deserialize, Serialize};

/// Characters that mean something to a shell. A text without any of them needs none.
const FOR_A_SHELL: &[char] = &[
    '|', '&', ';', '<', '>', '(', ')', '$', '`', '\\', '"', '\'', '*', '?', '[', ']', '#', '~', '=', '%',
    '{', '}', '\n', '!',
];

/// A command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// What it is called in tables: "A", "jdk=17".
    pub label: String,
    /// As it was typed.
    pub text: String,
    /// Program and arguments.
    pub words: Vec<String>,
}

impl Command {
    /// A command from words: one alone that has blanks is taken apart at them, or given to `sh -c`
    /// when a character of it means something to a shell. `None`: there is none.
    pub fn of(label: &str, words: &[String]) -> Option<Self> {
        let text = words.join(" ");
        if text.trim().is_empty() {
            return None;
        }
        let words = match words {
            [one] if one.contains(FOR_A_SHELL) => vec!["sh".to_owned(), "-c".to_owned(), one.clone()],
            [one] => one.split_whitespace().map(str::to_owned).collect(),
            several => several.to_vec(),
        };
        Some(Self { label: label.to_owned(), text, words })
    }

    /// The text, with the label where that says which of many variants it is.
    pub(crate) fn named(&self) -> String {
        if self.label.len() > 2 { format!("{}: {}", self.label, self.text) } else { self.text.clone() }
    }

    /// The same for the operating system.
    pub(crate) fn process(&self) -> process::Command {
        let mut command = process::Command::new(self.words.first().map_or("", String::as_str));
        command.args(self.words.iter().skip(1));
        command
    }
}

/// The letter of a command by its place: A, B … Z, A1, B1 …
pub fn letter(place: usize) -> String {
    let letter = char::from(b'A' + (place % 26) as u8);
    match place / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &[&str]) -> Vec<String> {
        let text: Vec<String> = text.iter().map(|w| (*w).to_owned()).collect();
        Command::of("A", &text).map(|c| c.words).unwrap_or_default()
    }

    #[test]
    fn a_shell_is_asked_only_where_one_is_needed() {
        assert_eq!(words(&["java -Xint -version"]), ["java", "-Xint", "-version"]);
        assert_eq!(words(&["java -version | head"]), ["sh", "-c", "java -version | head"]);
        assert_eq!(words(&["java", "-cp", "a b", "Main"]), ["java", "-cp", "a b", "Main"]);
        assert_eq!((Command::of("A", &[]), Command::of("A", &[" ".to_owned()])), (None, None));
    }

    #[test]
    fn letters_go_on_behind_z() {
        assert_eq!([0, 1, 25, 26, 53].map(letter), ["A", "B", "Z", "A1", "B2"]);
    }
}
