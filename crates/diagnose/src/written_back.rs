//! What the page cache wrote back in some intervals: which file, or whose files.

use std::collections::HashMap;

use fathom_recording::Recording;
use fathom_recording::vocabulary::{figure, kind, label, live};

use crate::Fact;
use crate::facts::{Value, written as facts};
use crate::intervals::Intervals;

/// What of it is one file, or one process', for the others not to be named.
const MOST: f64 = 0.9;
/// Writers that are named.
const NAMED: usize = 3;

/// What was written back to a device ("254:0"): the largest file, where most of it was of files
/// that were recorded one by one, else who wrote to the files. `None` where nothing was recorded.
pub(crate) fn what(recording: &Recording, device: &str, intervals: &Intervals) -> Option<Fact> {
    let files = files(recording, device, intervals);
    let writers = writers(recording, device, intervals);
    match (files, writers) {
        // Sums are of a second each: the bytes of single files may be more.
        (Some((of_files, fact)), Some((all, _))) if 2.0 * of_files >= all => Some(fact),
        (Some((_, fact)), None) | (_, Some((_, fact))) => Some(fact),
        (None, None) => None,
    }
}

/// Bytes of files that were recorded one by one, and of which most was written back, who wrote to
/// it last, and how much of others: "1.2 GB of /srv/dump.bin, last written by dd (4711), and 3 MB
/// of 2 others". A record that lies in the intervals in part counts in full.
fn files(recording: &Recording, device: &str, intervals: &Intervals) -> Option<(f64, Fact)> {
    let mut files: HashMap<&str, (f64, Option<&str>)> = HashMap::new();
    let to_it = |span: &_| fathom_recording::Span::label(span, label::DEVICE) == Some(device);
    for span in recording.spans_of(kind::DISK_WRITEBACK_FILE).filter(to_it) {
        if intervals.within(span.t0_ns(), span.t1_ns()).next().is_none() {
            continue;
        }
        let file = files.entry(span.label(label::PATH).unwrap_or(span.name())).or_default();
        file.0 += span.figure(figure::BYTES).unwrap_or(0.0);
        file.1 = span.label(label::WRITER).or(file.1);
    }
    let total: f64 = files.values().map(|(bytes, _)| bytes).sum();
    let largest = files.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0).then_with(|| b.0.cmp(a.0)));
    let (path, (bytes, writer)) = largest?;
    let fact = facts::FILE.is(Value::bytes(*bytes)).with("file", Value::name(*path));
    let fact = fact.with("writer", writer.map(Value::name));
    let others = *bytes < MOST * total;
    let fact = fact.with("rest", others.then(|| Value::bytes(total - bytes)));
    Some((total, fact.with("others", others.then(|| Value::count(files.len() - 1)))))
}

/// Bytes of all files, of which small ones are recorded as sums of a second only, and who wrote to
/// them last: "about 12 MB of files last written by dd (63%), OrderService (4711) (37%)".
fn writers(recording: &Recording, device: &str, intervals: &Intervals) -> Option<(f64, Fact)> {
    let mut writers: Vec<(&str, f64)> = Vec::new();
    for series in recording.series.iter().filter(|s| s.info.name == live::DISK_WRITTEN_BACK.name) {
        let Some(writer) = series.info.instance.strip_prefix(device).and_then(|rest| rest.strip_prefix(' '))
        else {
            continue;
        };
        let within = |i: usize| {
            let (from, length) = (series.t_ns[i], series.dt_ns[i]);
            series.value[i] * intervals.length_within_ns(from, from.saturating_add(length)) as f64 / 1e9
        };
        let bytes: f64 = (0..series.t_ns.len()).map(within).sum();
        writers.extend((bytes > 0.0).then_some((writer, bytes)));
    }
    let total: f64 = writers.iter().map(|(_, bytes)| bytes).sum();
    writers.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let mut named = Vec::new();
    let mut sum = 0.0;
    for (writer, bytes) in writers.iter().take(NAMED) {
        named.push(facts::WRITER.is(Value::share(bytes / total)).with("writer", Value::name(*writer)));
        sum += bytes;
        if sum >= MOST * total {
            break;
        }
    }
    let fact = facts::FILES.is(Value::bytes(total));
    (!named.is_empty()).then(|| (total, fact.with("writers", Value::list(named))))
}

#[cfg(test)]
mod tests {
    use fathom_recording::{ProcessId, SeriesInfo, SeriesKind, Sink, Source, SpanRow};

    use super::*;
    use crate::built::Built;

    #[test]
    fn the_largest_file_of_the_device_and_interval_is_named_with_its_writer() {
        let mut built = Built::jvm("17", "G1", 60.0);
        let mut file = |name: &str, at_s: f64, bytes: f64, labels: &[(&str, &str)]| {
            built.span(kind::DISK_WRITEBACK_FILE, name, at_s, 10.0, &[(figure::BYTES, bytes)], labels);
        };
        let device = (label::DEVICE, "254:0");
        let dump = [device, (label::PATH, "/srv/dump.bin"), (label::WRITER, "dd (7)")];
        file("dump.bin", 1.0, 3e6, &dump);
        file("dump.bin", 2.0, 4e6, &dump[..2]);
        file("metadata", 2.5, 1e6, &[device]);
        file("else.bin", 2.5, 9e9, &[(label::DEVICE, "8:0")]);
        file("later.bin", 40.0, 9e9, &[device]);
        let recording = built.sealed();
        let all = recording.spans_of(kind::DISK_WRITEBACK_FILE).next().unwrap().t0_ns();
        let within = |from_s: i64, to_s: i64| {
            let intervals = Intervals::of([(all + from_s * 1_000_000_000, all + to_s * 1_000_000_000)]);
            what(&recording, "254:0", &intervals)
        };
        let text = within(0, 3).unwrap();
        assert_eq!((text.name("file"), text.name("writer")), (Some("/srv/dump.bin"), Some("dd (7)")));
        assert_eq!(text.number("others"), Some(1.0));
        assert_eq!(within(10, 20), None);
        let alone = within(0, 1).unwrap();
        assert_eq!((alone.name("writer"), alone.number("others")), (Some("dd (7)"), None));
    }

    #[test]
    fn small_files_are_listed_by_who_wrote_to_them() {
        let mut recording = Recording::new();
        let source = recording.add_source(Source::default());
        let mut sum = |instance: &str, rate: f64| {
            let series = recording.add_series(SeriesInfo {
                name: live::DISK_WRITTEN_BACK.name.into(),
                unit: "bytes/s".into(),
                instance: instance.into(),
                kind: SeriesKind::Rate,
                process: None,
                source,
            });
            recording.point(series, 0, 1_000_000_000, rate * 1_048_576.0);
        };
        sum("254:0 dd", 6.0);
        sum("254:0 OrderService (7)", 3.0);
        sum("254:0 unknown", 0.1);
        sum("254:01 x", 90.0);
        let mut file = |ms: i64, mebibytes: f64| {
            let t0_ns = ms * 1_000_000;
            recording.span(&SpanRow {
                figures: &[(figure::BYTES, mebibytes * 1_048_576.0)],
                labels: &[(label::DEVICE, "254:0")],
                ..SpanRow::new(
                    kind::DISK_WRITEBACK_FILE,
                    "large.bin",
                    (t0_ns, t0_ns + 1_000_000),
                    ProcessId(0),
                    source,
                )
            });
        };
        // A third of what went there in the second half of the first second; nearly all of the
        // first hundred milliseconds.
        file(600, 1.5);
        file(50, 0.8);
        recording.seal();
        let half = Intervals::of([(500_000_000, 2_000_000_000)]);
        let text = what(&recording, "254:0", &half).unwrap();
        assert_eq!(text.shows("value"), "4.5 MB");
        let writers = text.detail("writers").unwrap().parts().iter();
        let shown: Vec<_> = writers.map(|one| (one.shows("writer"), one.shows("value"))).collect();
        assert_eq!(shown, [("dd", "66%"), ("OrderService (7)", "33%")].map(|(w, s)| (w.into(), s.into())));
        let begin = Intervals::of([(0, 100_000_000)]);
        let large = what(&recording, "254:0", &begin).unwrap();
        assert_eq!((large.shows("value"), large.name("file")), ("819 kB".into(), Some("large.bin")));
        assert_eq!(what(&recording, "254:0", &Intervals::of([(1_000_000_000, 2_000_000_000)])), None);
    }
}
