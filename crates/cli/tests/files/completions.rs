//! Completions and manual pages are made from the commands that there are, so that none lags
//! behind.

use std::process::Command;

fn fathom(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fathom")).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that `--help` lists.
fn commands() -> Vec<String> {
    let help = fathom(&["--help"]);
    let listed = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let first = |line: &str| line.strip_prefix("  ")?.split_whitespace().next().map(str::to_owned);
    let own = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    listed.lines().filter(own).filter_map(first).filter(|name| name != "help").collect()
}

#[test]
fn each_shell_completes_each_command_and_its_options() {
    let commands = commands();
    assert!(commands.len() > 15, "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = fathom(&["completions", shell]);
        for word in commands.iter().map(String::as_str).chain(["fail-on", "align"]) {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn each_command_has_a_manual_page_with_its_options_and_examples() {
    let folder = tempfile::tempdir().unwrap();
    fathom(&["man", folder.path().join("man1").to_str().unwrap()]);
    let page = |name: &str| std::fs::read_to_string(folder.path().join("man1").join(name)).unwrap();
    for command in commands() {
        assert!(page(&format!("fathom-{command}.1")).contains(".SH OPTIONS"), "{command}");
    }
    assert!(page("fathom.1").contains("diagnose"));
    let diagnose = page("fathom-diagnose.1");
    assert!(diagnose.contains("fail\\-on") && diagnose.contains("Examples:"), "{diagnose}");
}
