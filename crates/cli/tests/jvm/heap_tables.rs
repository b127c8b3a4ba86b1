//! `fathom heap --tables` and `--sql` on a real dump: the queries of docs/heap.md are run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;

use crate::live::jdks;
use crate::live::process::Talking;

/// A Python with DuckDB.
fn python() -> Option<&'static PathBuf> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = PYTHON.get_or_init(|| fathom_testing::duckdb::python(Path::new(env!("CARGO_TARGET_TMPDIR"))));
    if made.is_none() {
        fathom_testing::skip("DuckDB cannot be had here (python3 with venv, and PyPI)");
    }
    made.as_ref()
}

/// A dump of a program whose static map keeps sixty thousand sessions.
fn dump() -> Option<tempfile::TempDir> {
    let classes = tempfile::tempdir().unwrap();
    let home = jdks::compile(classes.path(), 8, &["Holders"])?;
    let dir = tempfile::tempdir().unwrap();
    let mut java = Command::new(home.join("bin/java"));
    java.arg("-Xmx512m").arg("-cp").arg(classes.path()).args(["Holders", "static-map"]).arg(classes.path());
    let program = Talking::start(&mut java);
    crate::live::json(dir.path(), &["heap", "-p", &program.pid(), "--dump", "it.hprof"]);
    Some(dir)
}

fn heap(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(crate::live::FATHOM);
    if let Some(python) = python() {
        command.env("FATHOM_FLEET_PYTHON", python);
    }
    command.current_dir(dir).arg("heap").args(args).output().unwrap()
}

fn rows(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", crate::live::said(output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["schema"], &answer["more"]), (&"fathom.heap-sql/1".into(), &false.into()));
    answer["rows"].as_array().unwrap().clone()
}

#[test]
fn tables_agree_with_the_screen_and_every_query_of_the_documentation_is_answered() {
    let (Some(dir), Some(_)) = (dump(), python()) else { return };
    let dir = dir.path();
    let screen = crate::live::json(dir, &["heap", "it.hprof"]);
    let total = "SELECT count(retained), sum(shallow) FILTER (retained IS NOT NULL), \
                 count(*) - count(retained) FROM objects";
    let total = &rows(&heap(dir, &["it.hprof", "--sql", total, "--json"]))[0];
    let size = &screen["size"];
    assert_eq!(
        (&total[0], &total[1], &total[2]),
        (&size["objects"], &size["bytes"], &size["unreachable_objects"])
    );
    let written = heap(dir, &["it.hprof", "--tables", "all", "--show-values"]);
    assert!(written.status.success(), "{}", crate::live::said(&written));
    let docs = include_str!("../../../../docs/heap.md");
    let queries: Vec<&str> =
        docs.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(queries.len() >= 8);
    for query in queries {
        let answered = rows(&heap(dir, &["all", "--sql", query, "--json"]));
        // No class of this program was defined twice.
        assert!(!answered.is_empty() || query.contains("HAVING count(*) > 1 ORDER BY loaders"), "{query}");
    }
    let holder = screen["holders"]["all"][0]["address"].as_u64().unwrap();
    let object = crate::live::json(dir, &["heap", "it.hprof", "--object", &format!("{holder:#x}")]);
    let of = format!("SELECT retained FROM objects WHERE object = {holder}");
    assert_eq!(rows(&heap(dir, &["all", "--sql", &of, "--json"]))[0][0], object["object"]["retained_bytes"]);
    // Who refers to a session is in the rows of references, too.
    let nodes = "SELECT count(*) FROM refs r JOIN objects t ON t.object = r.target JOIN objects s ON s.object = r.source \
                 WHERE t.class = 'Holders$Session' AND s.class LIKE '%Node' AND r.field = 'val'";
    assert_eq!(rows(&heap(dir, &["all", "--sql", nodes, "--json"]))[0][0], 60_000);
    let text = heap(dir, &["all", "--sql", "SELECT address(255) AS a"]);
    assert!(String::from_utf8_lossy(&text.stdout).contains("0xff"), "{text:?}");
}

#[test]
fn tables_have_no_values_unless_asked_for_and_nothing_is_written_over() {
    let Some(dir) = dump() else { return };
    let dir = dir.path();
    let written = heap(dir, &["it.hprof", "--tables", "some"]);
    assert!(written.status.success(), "{}", crate::live::said(&written));
    let mut names: Vec<String> = std::fs::read_dir(dir.join("some"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["classes.parquet", "objects.parquet", "refs.parquet", "roots.parquet", "threads.parquet"]
    );
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(dir.join("some/objects.parquet")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    let again = heap(dir, &["it.hprof", "--tables", "some"]);
    assert!(crate::live::said(&again).contains("it is not empty"), "{}", crate::live::said(&again));
    let alone = heap(dir, &["it.hprof", "--show-values"]);
    assert!(!alone.status.success() && crate::live::said(&alone).contains("--object, --tables or --sql"));
    if python().is_some() {
        let strings = heap(dir, &["some", "--sql", "SELECT value FROM strings"]);
        assert!(!strings.status.success() && crate::live::said(&strings).contains("with --show-values"));
        let refused = heap(dir, &["some", "--sql", "SELECT nothing FROM objects"]);
        assert_eq!(refused.status.code(), Some(2), "{}", crate::live::said(&refused));
    }
}
