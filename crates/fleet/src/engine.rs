//! Engines that answer: programs that exist, found on the machine and called with SQL.
//!
//! DuckDB as a library would be minutes of C++ in every build, for a command that few use; the
//! module that `pip` installs is the same engine. What differs between dialects is a prelude:
//! settings, and a view for each table.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::{FleetError, Question};

/// The program that calls them.
const DRIVER: &str = include_str!("engine.py");
/// Names the Python that has the engines, where it is not `python3`.
const PYTHON: &str = "FATHOM_FLEET_PYTHON";
/// The tables, each a view.
pub(crate) const TABLES: [&str; 9] =
    ["recordings", "frames", "ledger", "findings", "pauses", "locks", "calls", "series", "unseen"];

/// An engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// DuckDB: PyPI's `duckdb`.
    DuckDb,
    /// ClickHouse, within one process: PyPI's `chdb`.
    ClickHouse,
}

/// Rows that an engine answered with.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values: text, numbers, null.
    pub rows: Vec<Vec<Value>>,
}

/// The Python that is asked for engines: `python3`, or what [`PYTHON`] names.
pub fn python() -> String {
    std::env::var(PYTHON).unwrap_or_else(|_| "python3".into())
}

impl Engine {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::DuckDb => "duckdb",
            Self::ClickHouse => "clickhouse",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::DuckDb => "duckdb",
            Self::ClickHouse => "chdb",
        }
    }

    /// What is run before a question: the tables that it names as views. Others may not be there:
    /// rows of the first fathoms have fewer.
    fn prelude(self, place: &str, question: &Question) -> Vec<String> {
        let files = |table: &str| self.quoted(&format!("{place}/day=*/service=*/host=*/*-{table}.parquet"));
        let view = |table: &&str| match self {
            Self::DuckDb => format!(
                "CREATE VIEW {table} AS SELECT * FROM read_parquet({}, hive_partitioning = false)",
                files(table)
            ),
            Self::ClickHouse => {
                format!("CREATE VIEW {table} AS SELECT * FROM file({}, Parquet)", files(table))
            }
        };
        let settings: &[&str] = match self {
            Self::DuckDb => &[],
            // As in standard SQL: an outer join has nulls, a cast keeps them, numbers are numbers
            // in JSON.
            Self::ClickHouse => &[
                "SET join_use_nulls = 1",
                "SET cast_keep_nullable = 1",
                "SET output_format_json_quote_64bit_integers = 0",
                "SET use_hive_partitioning = 0",
            ],
        };
        let named = question.tables();
        settings.iter().map(|s| (*s).to_owned()).chain(named.iter().map(view)).collect()
    }

    /// A text as a literal. ClickHouse knows the backslash as an escape.
    pub(crate) fn quoted(self, text: &str) -> String {
        let text = match self {
            Self::DuckDb => text.to_owned(),
            Self::ClickHouse => text.replace('\\', "\\\\"),
        };
        format!("'{}'", text.replace('\'', "''"))
    }

    /// Asks a question to the rows at a place.
    /// `python` is a Python that has the engine's package.
    pub fn ask(
        self,
        question: &Question,
        place: &Path,
        set: &[(String, String)],
        python: &str,
    ) -> Result<Answer, FleetError> {
        let place = place.canonicalize().map_err(FleetError::io(place))?;
        crate::place::has_rows(&place)?;
        let sql = question.sql_with(self, set)?;
        let work = json!({"engine": self.name(), "prelude": self.prelude(&place.to_string_lossy(), question), "sql": sql});
        let missing = || FleetError::NoEngine {
            engine: self.name(),
            remedy: format!("{python} -m pip install {}", self.package()),
            python: python.to_owned(),
        };
        let refused = |why: String| FleetError::Refused { engine: self.name(), why };
        let mut child = match Command::new(python)
            .args(["-c", DRIVER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
        {
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                return Err(FleetError::NoPython { python: python.to_owned() });
            }
            child => child.map_err(|cause| refused(cause.to_string()))?,
        };
        if let Some(mut input) = child.stdin.take() {
            // Who does not read says why when it ends.
            let _ = input.write_all(work.to_string().as_bytes());
        }
        let output = child.wait_with_output().map_err(|cause| refused(cause.to_string()))?;
        match output.status.code() {
            Some(0) => answer(&output.stdout).ok_or_else(|| refused("its answer is no table".into())),
            Some(3) => Err(missing()),
            _ => Err(refused(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        }
    }
}

fn answer(json: &[u8]) -> Option<Answer> {
    let value: Value = serde_json::from_slice(json).ok()?;
    let columns = value["columns"].as_array()?.iter().map(|c| c.as_str().map(str::to_owned));
    let rows =
        value["rows"].as_array()?.iter().map(|row| row.as_array().map(|row| row.iter().map(same).collect()));
    Some(Answer { columns: columns.collect::<Option<_>>()?, rows: rows.collect::<Option<_>>()? })
}

/// A number in one form, whichever the engine has it in: 3 and 3.0 are one.
fn same(value: &Value) -> Value {
    match value.as_f64() {
        Some(n) if n.fract() == 0.0 && n.abs() < 9e15 => json!(n as i64),
        _ => value.clone(),
    }
}
