//! Streams many rows through the writer and reports the speed and the memory used.
//!
//!     cargo run --release -p fathom-recording --example stream_rows -- 20000000 2000000
//!     /tmp/big.fathom
//!
//! The writer must stay within 128 MB of resident memory with 50,000 stacks, whatever the number of
//! rows; this ends with status 1 when that is exceeded.

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use common::Filled;
use fathom_recording::{Overwrite, Writer, open};

/// What the writer may take, kB.
const MAX_RSS_KB: u64 = 128 << 10;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let mut number = || args.next().and_then(|n| n.parse::<u64>().ok());
    let (Some(samples), Some(spans), Some(path)) = (number(), number(), std::env::args().nth(3)) else {
        eprintln!("usage: stream_rows SAMPLES SPANS NAME.fathom");
        return ExitCode::from(2);
    };
    let path = Path::new(&path);
    let mut writer = Writer::create(path, Overwrite::Recording).expect("writable");
    let started = Instant::now();
    let mut filled = Filled::new(&mut writer, 50_000);
    for i in 0..samples.max(spans) {
        if i < samples {
            filled.sample(&mut writer, i);
        }
        if i < spans {
            filled.span(&mut writer, i);
        }
    }
    let spooled = started.elapsed().as_secs_f64();
    writer.finish().expect("written");
    let written = started.elapsed().as_secs_f64();
    let rss_kb = peak_rss_kb();
    let rows = (samples + spans) as f64 / 1e6;
    println!(
        "spooled {:.1} M rows/s, finished {:.1} M rows/s, {} MB resident",
        rows / spooled,
        rows / written,
        rss_kb >> 10
    );
    let started = Instant::now();
    let recording = open(path).expect("readable");
    println!("opened {:.1} M rows/s", rows / started.elapsed().as_secs_f64());
    assert_eq!((recording.samples.len() as u64, recording.spans.len() as u64), (samples, spans));
    if rss_kb > MAX_RSS_KB { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The largest resident memory of this process so far, as the kernel reports it.
fn peak_rss_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|kb| kb.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(u64::MAX)
}
