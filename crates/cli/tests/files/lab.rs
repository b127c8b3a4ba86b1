//! What `lab/run` shows without running anything.

use std::process::Command;

#[test]
fn a_reader_that_went_away_ends_the_list_of_cases_without_a_word() {
    // tomllib is part of Python from 3.11 on.
    let python = Command::new("python3").args(["-c", "import tomllib"]).output();
    if !python.is_ok_and(|output| output.status.success()) {
        return fathom_testing::skip("no python3 with tomllib");
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/run");
    let listed = Command::new(run).arg("list").stdout(writer).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&listed.stderr), "");
}
