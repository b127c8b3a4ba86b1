//! What is in the heap of a running JVM, by class.

use fathom_diagnose::quantity;
use serde::Serialize;

use crate::printable;
use crate::tables::table;

/// What is in a running heap: `--json` prints it as it is (schema fathom.heap-live/1).
#[derive(Clone, Debug, Serialize)]
pub struct LiveHeap {
    /// The form of this: "fathom.heap-live/1".
    pub schema: &'static str,
    /// The JVM.
    pub pid: u32,
    /// "G1", "Parallel", "Serial".
    pub collector: &'static str,
    /// Bytes in use, dead objects included.
    pub used_bytes: u64,
    /// Bytes of them that were read.
    pub read_bytes: u64,
    /// Bytes of these in which no sound object was found.
    pub skipped_bytes: u64,
    /// Bytes of these that threads had reserved and not used.
    pub reserved_bytes: u64,
    /// Bytes of these in regions that a collection emptied or moved objects out of while they were
    /// read.
    pub moved_bytes: u64,
    /// How often the heap was walked until little of it moved meanwhile.
    pub walks: u32,
    /// How long it took, milliseconds.
    pub took_ms: f64,
    /// When it began, by the wall clock: "2026-11-24T22:00:23.5Z".
    pub at: String,
    /// When it began, seconds since the first reading.
    pub at_s: f64,
    /// Largest first; by growth where there was a reading before.
    pub classes: Vec<LiveClass>,
}

/// A class in it.
#[derive(Clone, Debug, Serialize)]
pub struct LiveClass {
    /// Its name.
    pub class: String,
    /// Its objects; estimated where the heap was read in part.
    pub instances: f64,
    /// Their bytes.
    pub bytes: f64,
    /// Of what is in use.
    pub share: f64,
    /// In 19 of 20 cases the bytes are off by at most as much; 0 where the heap was read whole.
    pub bytes_within: f64,
    /// Bytes more than in the first reading; none in that.
    pub grown_bytes: Option<f64>,
}

/// The table of classes.
pub fn live(shown: &LiveHeap) -> String {
    let bytes = |n: u64| quantity::bytes(n as f64);
    let mut out = format!(
        "{} in use by {}, dead objects included; {} of it read in {} without stopping the JVM\n",
        bytes(shown.used_bytes),
        shown.collector,
        bytes(shown.read_bytes),
        quantity::millis(shown.took_ms),
    );
    out += &format!(
        "  {} reserved by threads and not used yet, {} skipped: no valid object there (moved meanwhile, or dead with its class)\n",
        bytes(shown.reserved_bytes),
        bytes(shown.skipped_bytes)
    );
    if shown.walks > 1 {
        out += &format!("  walked {} times, as collections moved objects meanwhile\n", shown.walks);
    }
    if shown.moved_bytes > 0 {
        out += &format!(
            "  {} read where a collection moved objects meanwhile: they may be counted twice, or not at all\n",
            bytes(shown.moved_bytes)
        );
    }
    out += "\n";
    let part = shown.classes.iter().any(|row| row.bytes_within > 0.0);
    let grows = shown.classes.iter().any(|row| row.grown_bytes.is_some());
    let mut titles = vec!["class", "objects", "bytes", "share"];
    titles.extend(part.then_some("bytes ± (95%)"));
    titles.extend(grows.then_some("growth"));
    let mut rows = table(&titles, &[1]);
    for row in &shown.classes {
        let mut cells = vec![
            printable(&row.class).to_string(),
            quantity::count(row.instances),
            quantity::bytes(row.bytes),
            quantity::share(row.share),
        ];
        cells.extend(part.then(|| quantity::bytes(row.bytes_within)));
        cells.extend(row.grown_bytes.map(|grown| {
            let sign = if grown > 0.0 { "+" } else { "" };
            format!("{sign}{}", quantity::bytes(grown))
        }));
        rows.add_row(cells);
    }
    out += &format!("{rows}\n");
    out
}
