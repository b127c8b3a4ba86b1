//! Many machines: rows of recordings in one place, and questions to them.
//!
//! ```text
//! Recording ──▶ tables (thin rows, by minute) ──▶ PLACE/day=…/service=…/host=…/ID-TABLE.parquet
//!                                                     │
//! fleet/QUESTION.sql + views of the engine's dialect ─┴─▶ DuckDB, ClickHouse ──▶ Answer
//! ```
//!
//! Nothing here stores or queries: files are plain Parquet in Hive's layout, and questions are SQL
//! that an engine answers which exists. What the columns are is said in docs/fleet.md.

mod columns;
mod engine;
mod error;
mod place;
mod questions;
mod tables;

pub use engine::{Answer, Engine, python};
pub use error::FleetError;
pub use place::{Added, add, partition, put};
pub use questions::{Parameter, QUESTIONS, Question};
