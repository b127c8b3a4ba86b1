//! Live collectors: what a running JVM and its machine do, written as a recording. One module a source.
//!
//! Collectors know only how to write a recording. They leave the target as they found it, also when fathom is killed.
