//! `fathom heap -p PID`: what is in the heap of a running JVM, by class, without a stop and without
//! a dump.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Context;
use fathom_hotspot::histogram::{Histogram, read};
use fathom_hotspot::{Error, Vm};
use fathom_render::heap::{LiveClass, LiveHeap};

use crate::output::{print_fitted, print_json, print_json_line};

/// Where the intervals of a large heap begin to be drawn; each reading draws others.
const SEED: u64 = 1;

/// Shows it once, or again and again until the JVM ends.
pub fn show(pid: u32, every: Option<Duration>, top: usize, json: bool) -> anyhow::Result<()> {
    let vm = Vm::open(pid)?;
    let started = Instant::now();
    // A stream is of lines: a reader need not wait for the end to know where a reading ends.
    let print_one = |shown: &LiveHeap| match every {
        Some(_) => print_json_line(shown),
        None => print_json(shown),
    };
    let mut first: Option<HashMap<String, f64>> = None;
    for reading in 0.. {
        let (began, at) = (Instant::now(), jiff::Timestamp::now());
        let histogram = match read(&vm, SEED + reading) {
            Ok(histogram) => histogram,
            // It ran when the first was made.
            Err(Error::Memory(_)) if reading > 0 => return Ok(()),
            Err(error) => return Err(error).with_context(|| format!("process {pid}")),
        };
        let took = began.elapsed();
        let shown = shown(pid, &histogram, (at, began - started, took), first.as_ref(), top);
        if json {
            print_one(&shown)?;
        } else {
            print_fitted(&fathom_render::heap::live(&shown))?;
        }
        first =
            first.or_else(|| Some(histogram.rows.into_iter().map(|row| (row.class, row.bytes)).collect()));
        match every {
            Some(every) => std::thread::sleep(every.saturating_sub(took)),
            None => break,
        }
    }
    Ok(())
}

fn shown(
    pid: u32,
    histogram: &Histogram,
    (at, since_first, took): (jiff::Timestamp, Duration, Duration),
    first: Option<&HashMap<String, f64>>,
    top: usize,
) -> LiveHeap {
    let mut classes: Vec<LiveClass> = histogram
        .rows
        .iter()
        .map(|row| LiveClass {
            class: row.class.clone(),
            instances: row.instances,
            bytes: row.bytes,
            share: row.bytes / histogram.used_bytes.max(1) as f64,
            bytes_within: row.bytes_within,
            grown_bytes: first.map(|first| row.bytes - first.get(&row.class).copied().unwrap_or(0.0)),
        })
        .collect();
    if first.is_some() {
        classes.sort_by(|a, b| b.grown_bytes.unwrap_or(0.0).total_cmp(&a.grown_bytes.unwrap_or(0.0)));
    }
    classes.truncate(top);
    LiveHeap {
        schema: "fathom.heap-live/1",
        pid,
        collector: histogram.collector,
        used_bytes: histogram.used_bytes,
        read_bytes: histogram.read_bytes,
        skipped_bytes: histogram.skipped_bytes,
        reserved_bytes: histogram.reserved_bytes,
        moved_bytes: histogram.moved_bytes,
        walks: histogram.walks,
        took_ms: took.as_secs_f64() * 1e3,
        at: at.to_string(),
        at_s: since_first.as_secs_f64(),
        classes,
    }
}
