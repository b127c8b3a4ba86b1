//! The command line as `--help` shows it.

use clap::{Command, CommandFactory};
use fathom_render::WIDEST;

use crate::commands::Cli;

/// The command line. Lists in the help of a command (examples, collectors, probes) are fitted to
/// the terminal.
pub fn command() -> Command {
    let columns = crate::output::columns().min(WIDEST);
    Cli::command().mut_subcommands(|command| {
        let Some(text) = command.get_after_long_help().map(ToString::to_string) else { return command };
        command.after_long_help(text.lines().map(|line| hung(line, columns)).collect::<Vec<_>>().join("\n"))
    })
}

/// A line of a list: what is too long for the terminal goes on below the second column, where it
/// has two, else further in than it began. Any other line is clap's to break.
fn hung(line: &str, columns: usize) -> String {
    let begins = line.len() - line.trim_start_matches(' ').len();
    if begins == 0 || line.chars().count() <= columns {
        return line.to_owned();
    }
    let second = line[begins..].find("  ").map(|gap| {
        let rest = &line[begins + gap..];
        line.len() - rest.trim_start_matches(' ').len()
    });
    let second = second.filter(|second| line[..*second].chars().count() <= columns * 2 / 3);
    let (first, below) = match second {
        Some(second) => (second, line[..second].chars().count()),
        // Further in than any list begins, it is the second column that goes on.
        None => (begins, if begins > 8 { begins } else { begins + 4 }),
    };
    let mut text = line[..first].to_owned();
    let mut used = text.chars().count();
    for (i, word) in line[first..].split_whitespace().enumerate() {
        let length = word.chars().count();
        if i > 0 && used + 1 + length > columns {
            text.push_str(&format!("\n{:below$}{word}", ""));
            used = below + length;
        } else {
            let blank = if i > 0 { " " } else { "" };
            text.push_str(&format!("{blank}{word}"));
            used += blank.len() + length;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test panics where it fails")]
    use super::*;

    #[test]
    fn what_a_command_says_of_itself_at_length_is_in_its_help() {
        let cli = command();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/commands");
        for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
            let says =
                file.is_file() && std::fs::read_to_string(&file).unwrap().contains("    long_about = ");
            let name = file.file_stem().unwrap().to_str().unwrap();
            if let Some(command) = cli.find_subcommand(name).filter(|_| says) {
                assert!(command.get_long_about().is_some(), "{name}");
            }
        }
        for command in cli.get_subcommands() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
        }
    }

    #[test]
    fn a_list_goes_on_below_its_second_column() {
        assert_eq!(
            hung("  cpu     samples with whole stacks", 24),
            "  cpu     samples with\n          whole stacks"
        );
        assert_eq!(hung("  fathom heap A --sql QUERY", 20), "  fathom heap A\n      --sql QUERY");
        assert_eq!(hung("            for days at once", 22), "            for days\n            at once");
        assert_eq!(hung("  short  enough", 24), "  short  enough");
        assert_eq!(hung("Any other line is left as it is", 10), "Any other line is left as it is");
    }
}
