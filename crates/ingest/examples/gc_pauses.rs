//! Counts the pauses that the readers see in each file named: pauses, seconds, longest, full ones,
//! lines not understood. `scripts/count-corpus.sh` compares these numbers with an independent
//! count.

use std::fs::File;
use std::io::BufReader;

use fathom_ingest::{FORMATS, Input, Lines};
use fathom_recording::Recording;
use fathom_recording::vocabulary::{figure, kind};

fn main() {
    println!("file\tformat\tpauses\ttotal_s\tmax_s\tfull\tunknown\tlost\tfailed_checks\truns");
    for path in std::env::args().skip(1) {
        println!("{path}\t{}", count(&path).unwrap_or_else(|why| format!("-\t0\t0\t0\t0\t0\t0\t{why}\t0")));
    }
}

fn count(path: &str) -> Result<String, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let mut input =
        Input { name: path.to_owned(), modified: None, lines: Lines::new(Box::new(BufReader::new(file))) };
    let head = input.lines.peek().to_vec();
    let format = FORMATS.iter().rev().max_by_key(|f| f.sniff(&head)).ok_or("no format")?;
    if format.sniff(&head).0 == 0 {
        return Err("refused".to_owned());
    }
    let mut recording = Recording::new();
    format.read(&mut input, &mut recording).map_err(|e| e.to_string())?;
    recording.seal();
    let pauses: Vec<_> = recording.spans_of(kind::GC_PAUSE).collect();
    let total_ns: i64 = pauses.iter().map(|p| p.duration_ns()).sum();
    let max_ns = pauses.iter().map(|p| p.duration_ns()).max().unwrap_or(0);
    let full = pauses.iter().filter(|p| p.figure(figure::FULL) == Some(1.0)).count();
    let sum = |of: fn(&fathom_recording::Source) -> u64| recording.sources.iter().map(of).sum::<u64>();
    let failed: Vec<String> = recording
        .sources
        .iter()
        .flat_map(|s| &s.checks)
        .filter(|c| !c.holds)
        .map(|c| format!("{}: {}", c.claim, c.detail))
        .collect();
    if std::env::var_os("SHOW_UNKNOWN").is_some() {
        for unknown in recording.sources.iter().flat_map(|s| &s.unknown) {
            eprintln!("{path}:{}: {}", unknown.line, unknown.text);
        }
    }
    Ok(format!(
        "{}\t{}\t{:.7}\t{:.7}\t{full}\t{}\t{}\t{}\t{}",
        format.id(),
        pauses.len(),
        total_ns as f64 / 1e9,
        max_ns as f64 / 1e9,
        sum(|s| s.skipped),
        sum(|s| s.lost),
        if failed.is_empty() { "-".to_owned() } else { failed.join("; ") },
        recording.sources.len()
    ))
}
