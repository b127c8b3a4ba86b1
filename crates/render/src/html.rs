//! The report: one HTML page with everything in it, written as a stream.
//!
//! The page itself is built from `ui/` (`npm --prefix ui run build`) and lies ready in
//! `assets/report.html`, so that building fathom needs no Node. It carries a content security
//! policy by which nothing is loaded from anywhere; the data is in script elements of types
//! that no browser runs.

use std::io::{self, Write};

use fathom_diagnose::{Diagnosis, Window};
use fathom_recording::Recording;
use flate2::Compression;
use serde::Serialize;

use crate::samples::{SampleIndex, Stacks, Threads, samples};
use crate::{json, lanes};

const TEMPLATE: &str = include_str!("../assets/report.html");
/// Where the data goes.
const MARKER: &str = "<!--fathom:data-->";

/// Writes the report of a diagnosis and the (sealed) recording behind it.
pub fn html(diagnosis: &Diagnosis, recording: &Recording, out: &mut impl Write) -> io::Result<()> {
    let (before, after) =
        TEMPLATE.split_once(MARKER).expect("the build checks that the marker is there once");
    out.write_all(before.as_bytes())?;
    out.write_all(b"<script type=\"application/json\" id=\"fathom-diagnosis\">")?;
    json::write_inside_html(diagnosis, out)?;
    out.write_all(b"</script>\n    <script type=\"application/octet-stream\" id=\"fathom-lanes\">")?;
    let range = recording.covers_ns().unwrap_or((diagnosis.zero_ns, diagnosis.zero_ns));
    let (mut stacks, mut threads) = (Stacks::new(recording), Threads::new(recording));
    let timeline = lanes::timeline(diagnosis, recording, range, &mut stacks, &mut threads);
    timeline.columns.write(&timeline.header, out)?;
    out.write_all(b"</script>\n    <script type=\"application/octet-stream\" id=\"fathom-samples\">")?;
    let samples = samples(recording, &SampleIndex::of(recording), range, None, stacks, threads);
    samples.columns.write(&samples.header, out)?;
    out.write_all(b"</script>")?;
    out.write_all(after.as_bytes())
}

/// A page whose data a server hands out: what [`html`] writes into the page, in parts.
pub struct Parts {
    /// Where the samples of a window are.
    pub index: SampleIndex,
    /// The diagnosis as JSON.
    pub diagnosis: Vec<u8>,
    /// The lanes, deflated.
    pub lanes: Vec<u8>,
    /// The samples, deflated; thinned where there are too many for a browser.
    pub samples: Vec<u8>,
}

/// Which version of the data a server has: what its page asks for again and again.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ServerState {
    /// Counts up with each change.
    pub version: u64,
    /// Whether the recording is still being written.
    pub live: bool,
}

/// The page without data. It asks the server that it came from, and no other.
pub fn shell() -> String {
    const CLOSED: &str = "default-src 'none'";
    let marker = "<script type=\"application/json\" id=\"fathom-served\">{}</script>";
    TEMPLATE.replacen(MARKER, marker, 1).replacen(CLOSED, &format!("{CLOSED}; connect-src 'self'"), 1)
}

/// The data of a diagnosis and the (sealed) recording behind it.
pub fn parts(diagnosis: &Diagnosis, recording: &Recording) -> io::Result<Parts> {
    let range = recording.covers_ns().unwrap_or((diagnosis.zero_ns, diagnosis.zero_ns));
    let (mut stacks, mut threads) = (Stacks::new(recording), Threads::all(recording));
    let timeline = lanes::timeline(diagnosis, recording, range, &mut stacks, &mut threads);
    let index = SampleIndex::of(recording);
    let samples = samples(recording, &index, range, None, stacks, threads);
    let mut parts = Parts { index, diagnosis: Vec::new(), lanes: Vec::new(), samples: Vec::new() };
    json::write_inside_html(diagnosis, &mut parts.diagnosis)?;
    timeline.columns.pack(&timeline.header, &mut parts.lanes, Compression::fast())?;
    samples.columns.pack(&samples.header, &mut parts.samples, Compression::fast())?;
    Ok(parts)
}

/// The samples of some windows alone, in full where a browser can bear them; threads have the
/// numbers of [`parts`].
pub fn samples_within(recording: &Recording, index: &SampleIndex, windows: &[Window]) -> io::Result<Vec<u8>> {
    let range = recording.covers_ns().unwrap_or((0, 0));
    let samples =
        samples(recording, index, range, Some(windows), Stacks::new(recording), Threads::all(recording));
    let mut out = Vec::new();
    samples.columns.pack(&samples.header, &mut out, Compression::fast())?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use base64::Engine as _;
    use fathom_recording::vocabulary::{count, figure, kind, label};
    use fathom_recording::{CountRow, Process, Role, SeriesInfo, SeriesKind, Sink, Source, SpanRow};

    use super::*;
    use crate::fixture;

    fn page(diagnosis: &Diagnosis, recording: &Recording) -> String {
        let mut out = Vec::new();
        html(diagnosis, recording, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
        text.split_once(from).unwrap().1.split_once(to).unwrap().0
    }

    /// The header of the lanes, read back.
    fn header(page: &str) -> serde_json::Value {
        let text = between(page, "id=\"fathom-lanes\">", "<");
        let packed = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
        let mut bytes = Vec::new();
        flate2::read::DeflateDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
        let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        serde_json::from_slice(&bytes[4..4 + length]).unwrap()
    }

    fn recording(pauses: i64, name: &str) -> Recording {
        let mut r = Recording::new();
        let source = r.add_source(Source { name: name.into(), ..Source::default() });
        let process = r.add_process(Process { name: "server2".into(), jvm: true, ..Process::default() });
        let thread = r.thread(process, Some(1), name, Role::Jit);
        for i in 0..pauses {
            for kind in [kind::GC_PAUSE, kind::JIT_COMPILE, "storage.write"] {
                r.span(&SpanRow {
                    kind,
                    name,
                    t0_ns: i * 1_000_000,
                    t1_ns: i * 1_000_000 + i,
                    process,
                    thread: Some(thread),
                    stack: None,
                    source,
                    line: i as u64,
                    key: i,
                    parent: None,
                    figures: &[(figure::HEAP_AFTER_BYTES, i as f64), (figure::TIER, 4.0)],
                    labels: &[(label::CAUSE, name)],
                });
            }
        }
        for instance in ["a", "b"] {
            let series = r.add_series(SeriesInfo {
                name: "throughput".into(),
                unit: "ops/s".into(),
                instance: instance.into(),
                kind: SeriesKind::Rate,
                process: None,
                source,
            });
            for i in 0..pauses {
                r.point(series, i * 1_000_000_000, 1_000_000_000, 1.0);
            }
        }
        r.seal();
        r
    }

    #[test]
    fn every_layer_of_the_recording_has_its_lanes() {
        let page = page(&fixture::burst(), &recording(10, "x"));
        let header = header(&page);
        let titles = |group: usize| -> Vec<&str> {
            let lanes = header["groups"][group]["lanes"].as_array().unwrap();
            lanes.iter().map(|l| l["title"].as_str().unwrap()).collect()
        };
        assert_eq!(titles(0), ["Throughput"]);
        assert_eq!(titles(1), ["Heap", "GC pauses", "Compilations", "Compiler threads", "Storage write"]);
        let lines = header["groups"][0]["lanes"][0]["lines"].as_array().unwrap();
        assert_eq!(lines.iter().map(|l| l["name"].as_str().unwrap()).collect::<Vec<_>>(), ["sum", "a", "b"]);
    }

    #[test]
    fn the_page_says_which_time_was_recorded() {
        const S: i64 = 1_000_000_000;
        let mut r = Recording::new();
        let format = fathom_recording::vocabulary::source::SESSION.into();
        let covers_ns = Some((100 * S, 200 * S));
        let source = r.add_source(Source { format, covers_ns, ..Source::default() });
        let process = r.add_process(Process { jvm: true, ..Process::default() });
        let thread = Some(r.thread(process, Some(1), "main", Role::App));
        // A wait that began long before anybody looked.
        let span = SpanRow {
            kind: kind::LOCK_WAIT,
            name: "park",
            t0_ns: 10 * S,
            t1_ns: 150 * S,
            process,
            thread,
            stack: None,
            source,
            line: 0,
            key: -1,
            parent: None,
            figures: &[],
            labels: &[],
        };
        r.span(&span);
        r.seal();
        let header = header(&page(&fixture::burst(), &r));
        assert_eq!(header["origin_ns"], 10 * S);
        assert_eq!(header["recorded"], serde_json::json!([90 * S, header["to"].as_i64().unwrap()]));
    }

    #[test]
    fn counts_are_lines_and_tables_and_never_waits() {
        let mut r = recording(3, "x");
        let thread = r.thread(fathom_recording::ProcessId(0), Some(2), "worker", Role::App);
        for i in 0..4_i64 {
            let interval = (i * 1_000_000_000, (i + 1) * 1_000_000_000);
            let (process, source) = (fathom_recording::ProcessId(0), fathom_recording::SourceId(0));
            let calls = CountRow::new(count::SYSCALL_TOTALS, "futex", interval, process, source, 40);
            r.count(&CountRow { thread: Some(thread), total_ns: Some(500_000_000), ..calls });
            r.count(&CountRow::new(count::MEMORY_FOREIGN, "ps", interval, process, source, 7));
        }
        r.seal();
        let header = header(&page(&fixture::burst(), &r));
        let lanes = header["groups"][1]["lanes"].as_array().unwrap();
        let lane = lanes.iter().find(|l| l["title"] == "All system calls, time in them").unwrap();
        assert_eq!((&lane["type"], &lane["lines"][0]["name"]), (&"lines".into(), &"futex".into()));
        let others = lanes.iter().find(|l| l["title"] == "Address space locked by others").unwrap();
        assert_eq!((&others["unit"], &others["lines"][0]["name"]), (&"1/s".into(), &"ps".into()));
        let tables = header["counted"].as_array().unwrap();
        assert_eq!(tables.len(), 1);
        assert_eq!(tables[0]["title"], "All system calls");
        assert!(lanes.iter().all(|l| l["type"] == "lines" || l["title"] != "Syscall totals"));
    }

    #[test]
    fn nothing_from_an_input_can_leave_its_script_element() {
        let evil = "</script><script>alert(1)</script><!--\u{2028}\u{202e}\x1b[2J";
        let page = page(&fixture::hostile(), &recording(3, evil));
        let rest = page.replacen(TEMPLATE.split_once(MARKER).unwrap().0, "", 1);
        let rest = rest.replace(TEMPLATE.split_once(MARKER).unwrap().1, "");
        assert_eq!(rest.matches("<script").count(), 3, "ours and no other");
        assert_eq!(rest.matches("</script").count(), 3);
        assert!(!rest.contains("<!--") && !rest.contains('\u{2028}') && !rest.contains('\u{202e}'));
        assert_eq!(header(&page)["strings"][0], evil, "and nothing is lost");
        let diagnosis = between(&page, "id=\"fathom-diagnosis\">", "</script>");
        let read: serde_json::Value = serde_json::from_str(diagnosis).unwrap();
        assert_eq!(read["headline"]["text"], *fixture::hostile().headline);
    }

    #[test]
    fn a_lane_with_too_many_spans_keeps_the_longest_and_says_so() {
        let header = header(&page(&fixture::burst(), &recording(200_050, "x")));
        let lane = &header["groups"][1]["lanes"][1];
        assert!(lane["note"].as_str().unwrap().contains("longest of 200050 are drawn"), "{lane}");
        let n = header["columns"][lane["t0"].as_u64().unwrap() as usize]["n"].as_u64().unwrap();
        assert!(n <= lanes::MAX_SPANS as u64 && n >= 2_000);
    }

    #[test]
    fn a_recording_with_nothing_in_it_makes_a_page() {
        let mut empty = Recording::new();
        empty.seal();
        let header = header(&page(&fixture::healthy(), &empty));
        assert_eq!(header["groups"].as_array().unwrap().len(), 0);
    }

    #[test]
    fn times_at_the_ends_of_the_clock_do_not_overflow() {
        let mut r = recording(2, "x");
        let source = fathom_recording::SourceId(0);
        let process = fathom_recording::ProcessId(0);
        for (kind, t0_ns, t1_ns) in [
            (kind::GC_PAUSE, i64::MIN, i64::MAX),
            (kind::JIT_QUEUE, i64::MIN, i64::MIN + 1),
            (kind::JIT_INSTALL, i64::MAX, i64::MAX),
        ] {
            let figures = &[(figure::HEAP_BEFORE_BYTES, f64::NAN)];
            r.span(&SpanRow {
                line: u64::MAX,
                figures,
                ..SpanRow::new(kind, "", (t0_ns, t1_ns), process, source)
            });
        }
        r.seal();
        assert!(header(&page(&fixture::burst(), &r))["to"].is_i64());
    }

    #[test]
    fn the_page_of_a_server_asks_that_server_alone_and_holds_no_data() {
        let shell = shell();
        assert!(shell.contains("default-src 'none'; connect-src 'self'") && shell.contains("fathom-served"));
        let parts = parts(&fixture::burst(), &recording(10, "x")).unwrap();
        assert!(!parts.lanes.is_empty() && !parts.samples.is_empty());
        assert_eq!(
            serde_json::from_slice::<serde_json::Value>(&parts.diagnosis).unwrap()["schema"],
            "fathom.diagnosis/8"
        );
    }

    #[test]
    fn the_template_loads_nothing_and_says_so_in_its_policy() {
        assert_eq!(TEMPLATE.matches(MARKER).count(), 1);
        assert!(TEMPLATE.contains("default-src 'none'"));
        assert!(!TEMPLATE.contains("unsafe-inline") && !TEMPLATE.contains("src=\""));
    }
}
