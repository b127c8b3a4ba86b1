//! Two or more things compared with each other, with what is noise: commands that are run,
//! recordings and logs, JMH results.
//!
//! The unit of replication is the run of a process (a *fork*): what happens within one is not
//! independent of itself, so that ten thousand iterations of one process say less than ten
//! processes with one each (Kalibera and Jones, ISMM 2013). Everything that is drawn at random has
//! a seed that is written down: the same runs give the same verdict.

pub mod benchmarks;
pub mod causes;
pub mod command;
mod error;
pub mod flags;
pub mod interval;
pub mod jdk_changes;
pub mod jmh;
pub mod judge;
pub mod letters;
pub mod matrix;
pub mod metric;
pub mod plan;
mod random;
pub mod recordings;
pub mod running;
pub mod runs;
pub mod segments;
pub mod sentence;
pub mod steady;
pub mod trial;
pub mod verdict;
pub mod verify;

pub use error::CompareError;
pub use verdict::Verdict;
