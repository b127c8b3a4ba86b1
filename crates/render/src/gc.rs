//! `fathom gc` in the terminal: judged metrics first, the tables after them.

use fathom_diagnose::metrics::gc::{GcReport, JvmGc, Totals};
use fathom_diagnose::quantity;

use crate::printable;
use crate::tables::{LENGTHS, Sheet, group, lengths, section, shortened, table};

/// Columns for names in tables that have many columns of values.
const NAME: usize = 40;

/// The report as text of at most so many columns, 100 at most.
pub fn text(report: &GcReport, columns: usize) -> String {
    let mut out = Sheet::new(columns);
    out.warnings(&report.warnings);
    for jvm in &report.jvms {
        one(&mut out, jvm);
    }
    if report.jvms.len() > 1 {
        out.push_str(&format!("All {} JVMs: {}\n", report.jvms.len(), totals(&report.total)));
    }
    out.finish()
}

fn totals(totals: &Totals) -> String {
    format!(
        "{}, {} in all, the longest {}; {}",
        quantity::plural(totals.pauses, "pause", "pauses"),
        quantity::seconds(totals.total_pause_s),
        quantity::seconds(totals.max_pause_s),
        quantity::plural(totals.full_gcs, "full collection", "full collections"),
    )
}

fn one(out: &mut Sheet, jvm: &JvmGc) {
    let over = match jvm.covers_s {
        Some(s) => format!("over {}", quantity::seconds(s)),
        None if jvm.is_empty() => "without a record of the collector or of a stop".to_owned(),
        None => "no timestamps".to_owned(),
    };
    let mut about = vec![printable(&jvm.process).into_owned()];
    about.extend((!jvm.description.is_empty()).then(|| printable(&jvm.description).into_owned()));
    out.push_str(&format!("{}, {over}\n{}\n", about.join(": "), totals(&jvm.totals)));
    for metrics in &jvm.groups {
        group(out, metrics);
    }
    pauses(out, jvm);
    causes(out, jvm);
    work(out, jvm);
    safepoints(out, jvm);
    longest(out, jvm);
    out.push('\n');
}

fn pauses(out: &mut Sheet, jvm: &JvmGc) {
    let mut rows = table(&["kind", "count", "total", "p50", "p90", "p95", "p99", "p99.9", "max"], &[]);
    for row in &jvm.pauses_by_kind {
        let d = &row.length_ms;
        let [total, p50, p90, p95, p99, p999, max] =
            [d.total, d.p50, d.p90, d.p95, d.p99, d.p999, d.max].map(quantity::millis);
        let count = quantity::count(d.count as f64);
        rows.add_row([shortened(&row.kind, NAME), count, total, p50, p90, p95, p99, p999, max]);
    }
    section(out, "Pauses by kind", &rows);
}

fn causes(out: &mut Sheet, jvm: &JvmGc) {
    let mut rows = table(&["cause", "count", "total", "max", "share"], &[]);
    for row in &jvm.causes {
        rows.add_row([
            shortened(&row.cause, NAME),
            quantity::count(row.count as f64),
            quantity::millis(row.total_ms),
            quantity::millis(row.max_ms),
            quantity::share(row.share),
        ]);
    }
    section(out, "Pauses by cause (share: of all time paused)", &rows);
}

fn work(out: &mut Sheet, jvm: &JvmGc) {
    let header = |first| [&[first][..], &LENGTHS].concat();
    let mut phases = table(&[&header("phase")[..], &["share"]].concat(), &[]);
    for row in &jvm.phases {
        let figures = lengths(&row.length_ms).into_iter().chain([quantity::share(row.share)]);
        phases.add_row(std::iter::once(shortened(&row.phase, NAME)).chain(figures));
    }
    section(out, "Phases of pauses (share: of the time of pauses that print phases)", &phases);
    let mut concurrent = table(&header("work"), &[]);
    for row in &jvm.concurrent {
        concurrent.add_row(std::iter::once(shortened(&row.name, NAME)).chain(lengths(&row.length_ms)));
    }
    section(out, "Concurrent work (a cycle holds its phases)", &concurrent);
    let mut stalls = table(&header("thread"), &[]);
    for row in &jvm.stalls {
        let thread = format!("{}: {}", shortened(&row.thread, NAME), printable(&row.kind));
        stalls.add_row(std::iter::once(shortened(&thread, NAME)).chain(lengths(&row.length_ms)));
    }
    section(out, "Threads that waited for memory", &stalls);
}

fn safepoints(out: &mut Sheet, jvm: &JvmGc) {
    let mut rows = table(&[&["operation"][..], &LENGTHS, &["reach p99", "reach max"]].concat(), &[]);
    for row in &jvm.safepoints {
        let reach = row.reach_ms.as_ref().map(|d| [d.p99, d.max].map(quantity::millis));
        let reach = reach.unwrap_or_else(|| ["–".into(), "–".into()]);
        let name = shortened(&row.operation, NAME - 8);
        rows.add_row(std::iter::once(name).chain(lengths(&row.length_ms)).chain(reach));
    }
    section(out, "Safepoints by operation (reach: time to safepoint)", &rows);
}

fn longest(out: &mut Sheet, jvm: &JvmGc) {
    let mut rows = table(&["at", "length", "CPU", "kind and cause", "where"], &[3, 4]);
    for row in &jvm.longest {
        let kind = match &row.cause {
            Some(cause) => format!("{} ({})", row.kind, cause),
            None => row.kind.clone(),
        };
        rows.add_row([
            row.at_s.map_or("–".into(), |s| format!("{s:.3} s")),
            quantity::millis(row.ms),
            row.cpu_s.map_or("–".into(), |s| format!("{s:.2} s")),
            shortened(&kind, NAME + 2),
            shortened(&row.position, NAME - 10),
        ]);
    }
    section(out, "Longest pauses (at: as --window counts)", &rows);
}

#[cfg(test)]
mod tests {
    use crate::text::width;
    use fathom_diagnose::metrics::gc::report;
    use fathom_recording::vocabulary::{fact, figure, kind, label};
    use fathom_recording::{Process, Recording, Sink, Source, SpanRow};

    use super::*;

    /// A JVM whose names are as long as a log can make them.
    fn wide() -> Recording {
        let mut recording = Recording::new();
        let facts = [(fact::COLLECTOR.to_owned(), "G1".to_owned())].into();
        let process =
            recording.add_process(Process { name: "/srv/".repeat(40), facts, ..Process::default() });
        let name = format!("/var/log/{}/gc.log", "very-long-directory/".repeat(12));
        let source = recording.add_source(Source { name, process: Some(process.0), ..Source::default() });
        for i in 0..40_i64 {
            for kind in [kind::GC_PAUSE, kind::SAFEPOINT, kind::GC_CONCURRENT, kind::GC_STALL] {
                let t0_ns = i * 3_600_000_000_000;
                recording.span(&SpanRow {
                    line: 123_456_789,
                    key: i,
                    figures: &[
                        ("phase_ms:Post Evacuate Collection Set and more", 99.9),
                        (figure::REACH_NS, 9.9e9),
                    ],
                    labels: &[(label::CAUSE, "G1 Preventive Collection and whatever else comes")],
                    ..SpanRow::new(
                        kind,
                        &format!(
                            "Pause Young (Concurrent Start) (Evacuation Failure: Allocation / Pinned) {}",
                            i % 3
                        ),
                        (t0_ns, t0_ns + 123_456_789),
                        process,
                        source,
                    )
                });
            }
        }
        recording.seal();
        recording
    }

    #[test]
    fn every_table_fits_the_terminal() {
        for columns in [60, 80, 100] {
            let text = text(&report(&wide(), None), columns);
            assert!(text.contains("Safepoints by operation") && text.contains("Longest pauses"));
            for line in text.lines() {
                assert!(width(line) <= columns, "{columns}, {}: {line}", width(line));
            }
            // What does not fit next to the others stands below its name, and nothing is left out.
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let shown = if columns < 100 { "p99 123 ms" } else { "p99 max" };
            assert!(words.contains(shown), "{columns}: {text}");
        }
    }

    #[test]
    fn the_commonest_pause_of_g1_is_named_in_full() {
        let mut recording = Recording::new();
        let facts = [(fact::COLLECTOR.to_owned(), "G1".to_owned())].into();
        let process = recording.add_process(Process { name: "Shop".into(), facts, ..Process::default() });
        let source = recording.add_source(Source { process: Some(process.0), ..Source::default() });
        let labels = &[(label::CAUSE, "G1 Evacuation Pause")];
        let row = SpanRow::new(kind::GC_PAUSE, "Pause Young (Normal)", (0, 25_000_000), process, source);
        recording.span(&SpanRow { labels, ..row });
        recording.seal();
        let text = text(&report(&recording, None), 100);
        assert!(text.contains("  Pause Young (Normal) (G1 Evacuation Pause)"), "{text}");
    }

    #[test]
    fn a_jvm_of_which_nothing_was_recorded_is_said_to_be_one() {
        let mut recording = Recording::new();
        let facts = [(fact::COLLECTOR.to_owned(), "G1".to_owned())].into();
        recording.add_process(Process { name: "Shop".into(), facts, ..Process::default() });
        recording.seal();
        let text = text(&report(&recording, None), 100);
        assert!(text.starts_with("Shop: G1, without a record of the collector or of a stop\n"), "{text}");
    }
}
