//! `fathom heap DUMP --tables DIR` and `--sql QUERY`: a dump as Parquet tables, and SQL over them.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fathom_diagnose::quantity;
use fathom_fleet::{Answer, FleetError, ask_files, python};
use fathom_heap::{Heap, Kept, Table};
use serde_json::json;

use crate::exit::Environment;
use crate::output::{columns, print, print_json};

/// The schema of the JSON form.
const SCHEMA: &str = "fathom.heap-sql/1";
/// Rows of an answer at most: more are a table that is to be read with an engine.
const MOST_ROWS: usize = 10_000;

/// Whether a folder has the tables of a dump.
pub fn are_in(folder: &Path) -> bool {
    file(folder, Table::Objects).is_file()
}

fn file(folder: &Path, table: Table) -> PathBuf {
    folder.join(format!("{}.parquet", table.name()))
}

/// Writes the tables of a heap into a folder: all but those with values, which are written where
/// they are asked for. With a query only those that it names.
pub fn write(heap: &Heap, kept: &Kept, folder: &Path, values: bool, query: Option<&str>) -> Result<()> {
    let wanted = Table::ALL.into_iter().filter(|table| values || !table.has_values());
    let wanted: Vec<Table> = wanted.filter(|table| query.is_none_or(|query| names(query, *table))).collect();
    // The largest on threads of their own.
    std::thread::scope(|scope| {
        let begun: Vec<_> =
            wanted.iter().map(|table| scope.spawn(move || write_one(heap, kept, folder, *table))).collect();
        for (table, thread) in wanted.iter().zip(begun) {
            let rows = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let path = file(folder, *table);
            let rows = rows.with_context(|| path.display().to_string())?;
            if query.is_none() {
                eprintln!(
                    "fathom: {}: {} rows",
                    fathom_render::printable(&path.display().to_string()),
                    quantity::count(rows as f64)
                );
            }
        }
        Ok(())
    })
}

/// A table has its place when it is whole; only the user can read it.
fn write_one(heap: &Heap, kept: &Kept, folder: &Path, table: Table) -> io::Result<u64> {
    let written = tempfile::NamedTempFile::new_in(folder)?;
    let rows = table.write(heap, kept, written.reopen()?)?;
    written.persist(file(folder, table)).map_err(|error| error.error)?;
    Ok(rows)
}

/// Whether a query names a table; one that names a word like it writes a table too many.
fn names(query: &str, table: Table) -> bool {
    let mut words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|word| word.eq_ignore_ascii_case(table.name()))
}

/// A folder for tables that go with the answer.
pub fn folder() -> Result<tempfile::TempDir> {
    let folder = fathom_heap::folder();
    tempfile::tempdir_in(&folder).with_context(|| folder.display().to_string())
}

/// Makes the folder of the tables; what is in it already may not be of this dump.
pub fn make(folder: &Path) -> Result<()> {
    let named = || folder.display().to_string();
    std::fs::create_dir_all(folder).with_context(named)?;
    if std::fs::read_dir(folder).with_context(named)?.next().is_some() {
        bail!("{}: not written into: it is not empty", named());
    }
    Ok(())
}

/// Asks the tables of a folder, and shows the answer.
pub fn ask(folder: &Path, query: &str, as_json: bool) -> Result<()> {
    let folder = folder.canonicalize().with_context(|| folder.display().to_string())?;
    let paths: Vec<(Table, PathBuf)> =
        Table::ALL.iter().map(|table| (*table, file(&folder, *table))).collect();
    if let Some((table, _)) =
        paths.iter().find(|(table, path)| names(query, *table) && table.has_values() && !path.is_file())
    {
        eprintln!("fathom: the table {} has values, which are only written with --show-values", table.name());
    }
    let there = paths.iter().filter(|(_, path)| path.is_file());
    let files: Vec<(&str, &Path)> = there.map(|(table, path)| (table.name(), path.as_path())).collect();
    let answer = ask_files(&files, query, MOST_ROWS, &python());
    let Answer { columns: names, mut rows } = answer.map_err(|error| match error {
        FleetError::NoSqlEngine { .. } | FleetError::NoPython { .. } => {
            anyhow::Error::from(Environment(error.to_string()))
        }
        error => error.into(),
    })?;
    let more = rows.len() > MOST_ROWS;
    rows.truncate(MOST_ROWS);
    if as_json {
        print_json(&json!({
            "schema": SCHEMA, "query": query, "engine": "duckdb", "columns": names, "rows": rows, "more": more,
        }))?;
    } else {
        print(&fathom_render::fleet::text(&names, &rows, columns()))?;
    }
    if more {
        eprintln!(
            "fathom: the answer has more than {MOST_ROWS} rows, of which the first are shown: LIMIT, or --tables DIR and any engine"
        );
    }
    Ok(())
}
