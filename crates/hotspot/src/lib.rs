//! A HotSpot JVM read from outside: nothing is loaded into it and nothing is asked of its flags.
//!
//! What is read comes from a process that may end, or lie, at any time: every size is bounded, every pointer may be
//! wrong, and a field that a JDK does not have is an error that names it.
