use fathom_recording::{Check, SampleRow, Sampling, Sink, UnknownLine};

use super::*;

fn recording() -> Recording {
    let mut recording = Recording::new();
    let mut process = Process { name: "Main\x1b[2J".into(), jvm: true, pid: Some(7), ..Process::default() };
    process.facts.insert("collector".into(), "G1".into());
    recording.add_process(process);
    recording.add_source(Source {
        name: "gc\x1b[31m.log".into(),
        format: "unified-log".into(),
        process: Some(0),
        records: 12,
        skipped: 3,
        lost: 4,
        unknown: vec![UnknownLine { line: 9, text: "wh\rat".into(), alike: 2 }],
        checks: vec![
            Check { claim: "no pause is negative".into(), holds: true, detail: "0 of 12".into() },
            Check { claim: "every GC id is known".into(), holds: false, detail: "GC(3) is not".into() },
        ],
        cut: true,
        ..Source::default()
    });
    recording.seal();
    recording
}

#[test]
fn losses_cuts_and_failed_checks_stand_before_the_tables() {
    let text = text(&recording(), 100, false);
    let head = text.split("Sources").next().unwrap();
    for expected in
        ["what came last may", "4 records LOST", "CHECK FAILED: every GC id is known (GC(3) is not)"]
    {
        assert!(head.contains(expected), "{expected} in {head}");
    }
    assert!(!head.contains("no pause is negative"));
    assert!(text.contains("1 of 2"), "{text}");
}

#[test]
fn samples_have_their_weight_in_its_unit_and_the_event_that_took_them() {
    let mut recording = Recording::new();
    let sampling = Sampling { event: "cycles".into(), unit: "cycles".into(), rate_hz: 99, period: None };
    let name = "cpu".into();
    let source = recording.add_source(Source { name, sampling: Some(sampling), ..Source::default() });
    let process = recording.add_process(Process::default());
    for weight in [30_000_000, 5_000_000] {
        let kind = sample::CYCLES;
        recording.sample(&SampleRow { kind, t_ns: 1, process, thread: None, stack: None, weight, source });
    }
    recording.seal();
    let text = text(&recording, 100, false);
    assert!(text.contains("35 Mcycles"), "{text}");
    assert!(text.contains("taken by cycles, a period that the kernel adapts, 99 Hz per CPU"), "{text}");
    let expected = json!([{"kind": "cycles", "count": 2, "weight": 35_000_000, "unit": "cycles"}]);
    assert_eq!(to_json(&recording)["sample_kinds"], expected);
}

#[test]
fn series_are_folded_by_family_and_listed_with_all_and_all_fits_the_terminal() {
    let mut recording = recording();
    let source = fathom_recording::SourceId(0);
    for (name, instance) in [("disk.io.read", "vda"), ("disk.io.read", "vdb"), ("disk.queue", "vda")] {
        let info = fathom_recording::SeriesInfo {
            name: name.into(),
            instance: instance.into(),
            unit: "bytes/s".into(),
            kind: fathom_recording::SeriesKind::Rate,
            process: None,
            source,
        };
        let series = recording.add_series(info);
        recording.point(series, 0, 1, 1.0);
    }
    let folded = text(&recording, 100, false);
    let row = folded.lines().find(|line| line.trim_start().starts_with("disk ")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>().join(" "), "disk 3 3 2 things io.read, queue");
    assert!(!folded.contains("vdb") && folded.contains("--all"), "{folded}");
    assert!(text(&recording, 100, true).contains("vdb"));
    for (columns, all) in [60, 80, 100].into_iter().flat_map(|columns| [(columns, false), (columns, true)]) {
        let text = text(&recording, columns, all);
        assert!(text.lines().all(|line| crate::text::width(line) <= columns), "{columns}\n{text}");
    }
}

#[test]
fn nothing_of_an_input_reaches_the_terminal_as_a_control() {
    let text = text(&recording(), 100, false);
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    assert!(text.contains("gc\\x1b[31m.log:9 (one of 2 such lines): wh\\rat"), "{text}");
}

#[test]
fn json_has_the_fields_of_each_source() {
    let json = to_json(&recording());
    assert_eq!(json["schema"], "fathom.info/1");
    assert_eq!(
        json["losses"],
        serde_json::json!({"skipped": 3, "lost": 4, "cut_sources": 1, "failed_checks": 1})
    );
    let source = json["sources"][0].as_object().unwrap();
    for field in [
        "name",
        "format",
        "records",
        "skipped",
        "lost",
        "lines",
        "bytes",
        "unknown",
        "checks",
        "clock",
        "placement",
        "cut",
        "unseen",
    ] {
        assert!(source.contains_key(field), "{field}");
    }
}
