//! What a test run left out or had to try again.
//!
//! A test that cannot run on this machine passes, and the test harness hides what a passing test
//! prints. So each skip and each second attempt is a line in one file, which `make test` prints at
//! its end; and where everything should run, a skip is a failure.
//!
//! | environment variable | what it does |
//! |---|---|
//! | `FATHOM_TEST_NOTES` | the file to which a line is appended for each skip and each second attempt |
//! | `FATHOM_MAY_SKIP` | a file with one text a line (`#` begins a comment): a skip whose reason contains none of them fails its test |

pub mod duckdb;
pub mod s3;

use std::io::Write;

/// Says that a test, or a part of it, does not run here and why. The caller returns afterwards.
///
/// # Panics
/// When `FATHOM_MAY_SKIP` names a file of permitted reasons and this is not one of them, or when
/// that file cannot be read.
#[track_caller]
pub fn skip(why: &str) {
    let why = one_line(why);
    note("SKIPPED", &why);
    if let Some(permitted) = std::env::var_os("FATHOM_MAY_SKIP") {
        let list = std::fs::read_to_string(&permitted)
            .unwrap_or_else(|error| panic!("FATHOM_MAY_SKIP {}: {error}", permitted.display()));
        assert!(
            may_skip(&list, &why),
            "this should have run here: {why} ({} permits no such skip)",
            permitted.display()
        );
    }
}

/// Says that a test failed and is run once more, and under which circumstances.
pub fn tried_again(why: &str) {
    note("TRIED AGAIN", &one_line(why));
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn may_skip(list: &str, why: &str) -> bool {
    let reasons = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    reasons.into_iter().any(|reason| why.contains(reason))
}

/// One line to the file of notes and to standard error. The harness captures what `eprintln!`
/// prints, but not what is written to the stream itself.
fn note(what: &str, why: &str) {
    let thread = std::thread::current();
    let line = format!("{what}: {}: {why}\n", thread.name().unwrap_or("a test"));
    let _ = std::io::stderr().write_all(line.as_bytes());
    let Some(path) = std::env::var_os("FATHOM_TEST_NOTES") else { return };
    // One write call, so that lines of tests that run at the same time do not mix.
    let written = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(error) = written {
        panic!("FATHOM_TEST_NOTES {}: {error}", path.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_reason_of_the_list_permits_a_skip() {
        let list = "# what this machine cannot do\n\nno programs of 32 bits\n  counts no cycles \n";
        assert!(may_skip(list, "this kernel runs no programs of 32 bits: exec format error"));
        assert!(may_skip(list, "this machine counts no cycles"));
        assert!(!may_skip(list, "no JDK with a compiler was found"));
        assert!(!may_skip("", "anything") && !may_skip("#\n\n", "#"));
    }

    #[test]
    fn a_reason_of_several_lines_stays_one_line_of_notes() {
        assert_eq!(one_line("fathom: no\n  eBPF\r\nhere"), "fathom: no eBPF here");
    }
}
