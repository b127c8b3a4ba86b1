//! A question asked: its SQL is given to an engine with what makes the dialect's tables of the rows
//! at a place.

use std::path::Path;

use serde_json::{Value, json};

use crate::driver::drive;
use crate::questions::Steps;
use crate::tables::NAMES;
use crate::{FleetError, Question, SqlEngine};

/// The program that calls engines.
const DRIVER: &str = include_str!("sql_engine.py");

/// Rows that an engine answered with.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values: text, numbers, null.
    pub rows: Vec<Vec<Value>>,
}

impl SqlEngine {
    /// Asks a question to the rows at a place: a directory, or for Trino the address of a schema,
    /// `http://USER@HOST:PORT/CATALOG/SCHEMA`. `python` is a Python that has the engine's package.
    pub fn ask(
        self,
        question: &Question,
        place: &Path,
        set: &[(String, String)],
        python: &str,
    ) -> Result<Answer, FleetError> {
        let place = match self {
            Self::Trino if !place.to_string_lossy().contains("://") => {
                return Err(FleetError::Parameter(format!(
                    "trino is asked at an address, http://USER@HOST:PORT/CATALOG/SCHEMA, which {} is not; \
                     fathom fleet register makes the tables",
                    place.display()
                )));
            }
            Self::Trino => place.to_path_buf(),
            _ => {
                let place = place.canonicalize().map_err(FleetError::io(place))?;
                crate::place::has_rows(&place)?;
                place
            }
        };
        let place = place.to_string_lossy();
        let steps = question.steps(self, set)?;
        let work = json!({
            "engine": self.name(), "place": place, "prelude": self.prelude(&place, &steps),
            "steps": steps.tables, "sql": steps.answer,
        });
        let said = drive(python, DRIVER, &work, self.name(), self.package())?;
        answer(&said).ok_or_else(|| FleetError::Refused {
            engine: self.name(),
            why: "its answer is not a table".into(),
        })
    }

    /// What is run before a question: settings, and the tables that it names as views. Others may
    /// not be there, as rows of the first fathoms have fewer.
    fn prelude(self, place: &str, steps: &Steps) -> Vec<String> {
        let files = |table: &str| self.quoted(&format!("{place}/day=*/service=*/host=*/*-{table}.parquet"));
        let view = |table: &&str| match self {
            Self::DuckDb => format!(
                "CREATE VIEW {table} AS SELECT * FROM read_parquet({}, hive_partitioning = false)",
                files(table)
            ),
            Self::ClickHouse => {
                format!("CREATE VIEW {table} AS SELECT * FROM file({}, Parquet)", files(table))
            }
            // Spark takes columns from the path below the one that it is given: none of one that
            // is a pattern of files.
            Self::Spark => {
                format!("CREATE TEMPORARY VIEW {table} USING parquet OPTIONS (path {})", files(table))
            }
            Self::Trino => String::new(),
        };
        let settings: &[&str] = match self {
            Self::DuckDb | Self::Spark | Self::Trino => &[],
            // As in standard SQL: an outer join has nulls, a cast keeps them, numbers are numbers
            // in JSON.
            Self::ClickHouse => &[
                "SET join_use_nulls = 1",
                "SET cast_keep_nullable = 1",
                "SET output_format_json_quote_64bit_integers = 0",
                "SET use_hive_partitioning = 0",
            ],
        };
        let named = |table: &str| {
            steps.tables.iter().map(|(_, sql)| sql).chain([&steps.answer]).any(|sql| sql.contains(table))
        };
        let settings = settings.iter().map(|s| (*s).to_owned());
        let views = NAMES.iter().filter(|table| self != Self::Trino && named(table)).map(view);
        settings.chain(views).collect()
    }
}

/// Has DuckDB answer SQL over Parquet files, each a table of the name that it has here. At most so
/// many rows and one more are answered. `address(x)` is a number in hexadecimal.
pub fn ask_files(
    files: &[(&str, &Path)],
    sql: &str,
    most: usize,
    python: &str,
) -> Result<Answer, FleetError> {
    let engine = SqlEngine::DuckDb;
    let view = |(name, file): &(&str, &Path)| {
        format!(
            "CREATE VIEW {name} AS SELECT * FROM read_parquet({})",
            engine.quoted(&file.to_string_lossy())
        )
    };
    let mut prelude: Vec<String> = files.iter().map(view).collect();
    prelude.push("CREATE MACRO address(x) AS format('0x{:x}', x)".to_owned());
    let none: [(); 0] = [];
    let work = json!({
        "engine": engine.name(), "prelude": prelude, "steps": none, "sql": sql, "most": most + 1,
    });
    let said = drive(python, DRIVER, &work, engine.name(), engine.package())?;
    answer(&said)
        .ok_or_else(|| FleetError::Refused { engine: engine.name(), why: "its answer is not a table".into() })
}

fn answer(value: &Value) -> Option<Answer> {
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
