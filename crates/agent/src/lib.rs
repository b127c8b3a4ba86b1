//! `fathom agent`: the daemon of a host with many JVMs.
//!
//! ```text
//!   JVMs that fit ─▶ one Session (capture) ─▶ Intervals: a ring in memory
//!                                                │ every N seconds          │ something slow
//!                                                ▼                          ▼
//!                     SPOOL/rows: the fleet's rows, by JVM      SPOOL/incidents: whole recordings
//!                                                └──────── Shipper ─────────┘
//!                                                             ▼
//!                                        Place: a directory, or a bucket
//! ```
//!
//! It keeps itself within limits of CPU, memory and disk ([`Limits`]); what it gave up for them,
//! what it dropped and what it may not see is in its [`Status`] and in the rows.

mod backoff;
mod declared;
mod error;
mod intervals;
mod limits;
mod place;
mod rows;
mod run;
mod ship;
mod spool;
mod status;
mod usage;

pub use declared::declared;
pub use error::AgentError;
pub use intervals::Identify;
pub use limits::Limits;
pub use place::{Directory, Place};
pub use rows::OWN_SERVICE;
pub use run::{Agent, run};
pub use status::{IncidentStatus, JvmStatus, PlaceStatus, SpoolStatus, Status};
