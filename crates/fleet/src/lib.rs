//! Many machines: rows of recordings in one place, and questions to them.
//!
//! ```text
//! Recording ──▶ tables (thin rows, by minute) ──▶ PLACE/day=…/service=…/host=…/ID-TABLE.parquet
//!                                                     │
//! fleet/QUESTION.sql + views of the engine's dialect ─┴─▶ DuckDB, ClickHouse, Spark, Trino ──▶ Answer
//! ```
//!
//! A place is a directory or a bucket; of a bucket, what a question asks for is fetched first.
//! Nothing here stores or queries: files are plain Parquet in Hive's layout, and questions are SQL
//! that an engine answers which exists. What the columns are is said in docs/fleet.md.

mod ask;
#[cfg(feature = "s3")]
mod bucket;
#[cfg(not(feature = "s3"))]
#[path = "no_bucket.rs"]
mod bucket;
mod columns;
mod driver;
mod error;
mod place;
mod questions;
mod register;
mod slot;
mod sql_engine;
mod tables;

pub use ask::{Answer, ask_files};
pub use bucket::{Bucket, Mirror};
pub use driver::python;
pub use error::FleetError;
pub use place::{Added, add, add_to_bucket, put};
pub use questions::{Parameter, QUESTIONS, Question};
pub use register::{NAMESPACE, Registered, register};
pub use slot::partition;
pub use sql_engine::SqlEngine;
