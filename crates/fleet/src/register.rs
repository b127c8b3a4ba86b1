//! The files of a place as tables of Apache Iceberg, for engines that know tables and no patterns
//! of names: Trino, and Spark, Flink or Snowflake with a catalogue.
//!
//! pyiceberg does it, a module of Python as the engines are: it takes files that exist into a
//! table as they are, and keeps its catalogue in SQLite. The `iceberg` crate has no such catalogue
//! without an asynchronous runtime and sqlx, minutes of every build for a command that few use.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::FleetError;
use crate::driver::drive;
use crate::tables::NAMES;

/// The program that does it.
const DRIVER: &str = include_str!("register.py");
/// What is installed for it.
const PACKAGE: &str = "'pyiceberg[pyarrow,sql-sqlite]'";
/// The namespace of the tables.
pub const NAMESPACE: &str = "fathom";

/// What became of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Its name.
    pub table: &'static str,
    /// Files that have rows.
    pub files: u64,
    /// Those that the table did not have.
    pub added: u64,
    /// Those that it had and that are gone.
    pub removed: u64,
    /// The metadata that it is as of now.
    pub metadata: PathBuf,
}

/// Makes or brings up to date tables of Iceberg of the rows at a place. The catalogue is
/// `catalog.db` in a directory, which is made where it is missing.
pub fn register(place: &Path, catalog: &Path, python: &str) -> Result<Vec<Registered>, FleetError> {
    let place = place.canonicalize().map_err(FleetError::io(place))?;
    crate::place::has_rows(&place)?;
    std::fs::create_dir_all(catalog).map_err(FleetError::io(catalog))?;
    let catalog = catalog.canonicalize().map_err(FleetError::io(catalog))?;
    let work = json!({
        "place": place.to_string_lossy(), "catalog": catalog.to_string_lossy(), "namespace": NAMESPACE, "tables": NAMES,
    });
    let said: Value = drive(python, DRIVER, &work, "iceberg", PACKAGE)?;
    let registered = NAMES.iter().filter_map(|table| {
        let said = said.get(*table)?;
        let number = |key: &str| said[key].as_u64().unwrap_or(0);
        Some(Registered {
            table,
            files: number("files"),
            added: number("added"),
            removed: number("removed"),
            metadata: said["metadata"].as_str().unwrap_or_default().into(),
        })
    });
    Ok(registered.collect())
}
