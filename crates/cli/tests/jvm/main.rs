//! Commands on live JVMs, programs and processes: what is true of them is known by construction,
//! or asked of the JVM and of the kernel. Most need root and eBPF; what a machine cannot do is
//! reported with SKIPPED.
//!
//! One program for all of them, so that two tests are always under way, and one alone never keeps
//! the others waiting.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

#[path = "../live/mod.rs"]
mod live;

mod calls;
mod chain;
mod compare;
mod computing;
mod connections;
mod contexts;
mod flags;
mod heap;
mod heap_leaks;
mod heap_live;
mod heap_tables;
mod jdk_changes;
mod jmh;
mod lookups;
mod memory;
mod method;
mod method_ways;
mod on_slow;
mod options;
mod ps;
mod record;
mod record_jfr;
mod refused;
mod requests;
mod sampling;
mod sched;
mod serve;
mod slowest;
mod stopped;
mod threads;
mod trace;
mod trace_locks;
mod trace_probes;
mod truth;
mod unfinished;
mod unusual_jvms;
mod verify;
mod virtual_waits;
mod wakers;
