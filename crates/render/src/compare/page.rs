//! One page of a comparison, written as a stream: of two recordings with what changed and a
//! differential flame graph, or of runs with each of them as a point. Read by ui/src/compare/.
//!
//! The report is in it as `--json` prints it, so that page and JSON cannot disagree.

use std::io::{self, Write};

use fathom_compare::judge::Report;
use fathom_compare::recordings::RecordingsReport;
use fathom_diagnose::stacks::Flame;
use serde::Serialize;

use crate::flame::{About, script};
use crate::json;

const TEMPLATE: &str = include_str!("../../assets/compare.html");
/// Where the data goes.
const MARKER: &str = "<!--fathom:data-->";
pub(crate) const SCHEMA: &str = "fathom.compare-page/1";

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Page<'a> {
    schema: &'static str,
    version: &'static str,
    recordings: Option<&'a RecordingsReport>,
    runs: Option<&'a Report>,
}

/// Writes the page of two recordings. `runs`: those of the commands that were recorded, where there
/// are any; `flames`: the second compared with the first, the kind that is shown first in front.
pub fn page_of_recordings(
    report: &RecordingsReport,
    runs: Option<&Report>,
    flames: &[Flame],
    about: &About,
    out: &mut impl Write,
) -> io::Result<()> {
    written(Some(report), runs, out, |out| script(flames, about, out))
}

/// Writes the page of commands that were run, or of JMH results.
pub fn page_of_runs(report: &Report, out: &mut impl Write) -> io::Result<()> {
    written(None, Some(report), out, |_| Ok(()))
}

fn written<W: Write>(
    recordings: Option<&RecordingsReport>,
    runs: Option<&Report>,
    out: &mut W,
    further: impl FnOnce(&mut W) -> io::Result<()>,
) -> io::Result<()> {
    let (before, after) =
        TEMPLATE.split_once(MARKER).expect("the build checks that the marker is there once");
    out.write_all(before.as_bytes())?;
    out.write_all(b"<script type=\"application/json\" id=\"fathom-compare\">")?;
    let page = Page { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), recordings, runs };
    json::write_inside_html(&page, out)?;
    out.write_all(b"</script>")?;
    further(out)?;
    out.write_all(after.as_bytes())
}

#[cfg(test)]
mod tests {
    use fathom_compare::recordings::{Asked, compare_sampled};
    use fathom_diagnose::stacks::Normalisation;
    use fathom_recording::vocabulary::{fact, sample, series};
    use fathom_recording::{
        FrameType, Process, Recording, Role, SampleRow, SeriesInfo, SeriesKind, Sink, Source,
    };

    use super::*;

    /// 32 s of 100 operations a second, in which a frame of a name takes so many samples a second,
    /// up to 32, and another one always 32.
    fn recording(name: &str, samples: i64) -> Recording {
        let mut r = Recording::new();
        let source = r.add_source(Source { name: "x".into(), ..Source::default() });
        let mut jvm = Process { name: "Shop".into(), jvm: true, ..Process::default() };
        jvm.facts.insert(fact::JVM_VERSION.to_owned(), "17.0.15+6".to_owned());
        let process = r.add_process(jvm);
        let thread = Some(r.thread(process, Some(7), "main", Role::App));
        let info = SeriesInfo {
            name: series::THROUGHPUT.into(),
            unit: "ops/s".into(),
            instance: String::new(),
            kind: SeriesKind::Rate,
            process: None,
            source,
        };
        let throughput = r.add_series(info);
        let mut stack = |name: &str| {
            let frame = r.frame(name, "", FrameType::C2, -1);
            r.stack(None, frame)
        };
        let [one, other] = [stack(name), stack("org.example.Shop.same")];
        for second in 0..32_i64 {
            r.point(throughput, second * 1_000_000_000, 1_000_000_000, 100.0);
            for n in 0..64_i64 {
                let t_ns = second * 1_000_000_000 + n * 15_000_000;
                let stack = match n {
                    32.. => Some(other),
                    n if n < samples => Some(one),
                    _ => continue,
                };
                let weight = 10_000_000;
                r.sample(&SampleRow { kind: sample::CPU, t_ns, process, thread, stack, weight, source });
            }
        }
        r.seal();
        r
    }

    fn page(name: &str) -> (String, RecordingsReport) {
        let of = [name.to_owned(), "b".to_owned()];
        let (report, sampled) =
            compare_sampled(of, [recording(name, 16), recording(name, 32)], &Asked::default());
        let flames = sampled.flames(Normalisation::Operation);
        let about = About::of(sampled.recording(), "a and b".into(), String::new(), false);
        let mut out = Vec::new();
        page_of_recordings(&report, None, &flames, &about, &mut out).unwrap();
        (String::from_utf8(out).unwrap(), report)
    }

    fn data(page: &str) -> serde_json::Value {
        let text = page.split_once("id=\"fathom-compare\">").unwrap().1.split_once("</script>").unwrap().0;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_page_holds_what_json_prints_and_the_cost_of_an_operation() {
        let (page, report) = page("org.example.Shop.dearer");
        let held = data(&page);
        assert_eq!(held["schema"], SCHEMA);
        let json: serde_json::Value = serde_json::from_str(&crate::json_indented(&report).unwrap()).unwrap();
        assert_eq!(held["recordings"], json);
        let costs = &held["recordings"]["costs"];
        assert_eq!(costs["unit"], "ms/op", "{costs}");
        let dearer = &costs["moved"][0];
        // 16 and 32 samples of 10 ms in each second with 100 operations.
        assert_eq!(dearer["name"], "org.example.Shop.dearer", "{costs}");
        let near = |value: &serde_json::Value, to: f64| (value.as_f64().unwrap() - to).abs() < 0.05;
        assert!(near(&dearer["first"], 1.6) && near(&dearer["second"], 3.2), "{dearer}");
        assert_eq!(dearer["change"], "more");
        assert!(page.contains("id=\"fathom-flame\""));
    }

    #[test]
    fn nothing_from_an_input_can_leave_its_script_element() {
        let evil = "</script><script>alert(1)</script><!--\u{2028}\u{202e}";
        let (page, _) = page(evil);
        let (before, after) = TEMPLATE.split_once(MARKER).unwrap();
        let rest = page.strip_prefix(before).unwrap().strip_suffix(after).unwrap();
        assert_eq!(rest.matches("<script").count(), 2, "ours and no other");
        assert!(!rest.contains("<!--") && !rest.contains('\u{2028}') && !rest.contains('\u{202e}'));
        assert_eq!(data(&page)["recordings"]["of"][0], evil, "and nothing is lost");
    }

    #[test]
    fn the_template_loads_nothing_and_says_so_in_its_policy() {
        assert_eq!(TEMPLATE.matches(MARKER).count(), 1);
        assert!(TEMPLATE.contains("default-src 'none'"));
        assert!(!TEMPLATE.contains("unsafe-inline") && !TEMPLATE.contains("src=\""));
    }
}
