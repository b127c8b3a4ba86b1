//! Which files the page cache wrote back in some moments, in words.

use std::collections::HashMap;

use fathom_recording::Recording;
use fathom_recording::vocabulary::{figure, kind, label};

use crate::intervals::Intervals;
use crate::quantity;

/// What of it is one file for the others not to be named.
const MOST: f64 = 0.9;

/// The file of which most was written back to a device ("254:0"), who wrote to it last, and how much of others:
/// "1.2 GB of /srv/dump.bin, last written by dd (4711), and 3 MB of 2 others". A record that lies in the moments in part counts
/// in full. `None` where no file was told.
pub(crate) fn files(recording: &Recording, device: &str, moments: &Intervals) -> Option<String> {
    let mut files: HashMap<&str, (f64, Option<&str>)> = HashMap::new();
    let to_it = |span: &_| fathom_recording::Span::label(span, label::DEVICE) == Some(device);
    for span in recording.spans_of(kind::DISK_WRITEBACK_FILE).filter(to_it) {
        if moments.within(span.t0_ns(), span.t1_ns()).next().is_none() {
            continue;
        }
        let file = files.entry(span.label(label::PATH).unwrap_or(span.name())).or_default();
        file.0 += span.figure(figure::BYTES).unwrap_or(0.0);
        file.1 = span.label(label::WRITER).or(file.1);
    }
    let total: f64 = files.values().map(|(bytes, _)| bytes).sum();
    let largest = files.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0).then_with(|| b.0.cmp(a.0)));
    let (path, (bytes, writer)) = largest?;
    let mut text = format!("{} of {path}", quantity::bytes(*bytes));
    if let Some(writer) = writer {
        text.push_str(&format!(", last written by {writer}"));
    }
    if *bytes < MOST * total {
        let others = quantity::plural(files.len() - 1, "other", "others");
        text.push_str(&format!(", and {} of {others}", quantity::bytes(total - bytes)));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::Built;

    #[test]
    fn the_largest_file_of_the_device_and_moments_is_named_with_its_writer() {
        let mut built = Built::jvm("17", "G1", 60.0);
        let mut file = |name: &str, at_ms: f64, bytes: f64, labels: &[(&str, &str)]| {
            built.span(kind::DISK_WRITEBACK_FILE, name, at_ms, 10.0, &[(figure::BYTES, bytes)], labels);
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
            let moments = Intervals::of([(all + from_s * 1_000_000_000, all + to_s * 1_000_000_000)]);
            files(&recording, "254:0", &moments)
        };
        let told = within(0, 3).unwrap();
        assert!(told.contains("of /srv/dump.bin, last written by dd (7), and "), "{told}");
        assert!(told.ends_with("of 1 other"), "{told}");
        assert_eq!(within(10, 20), None);
        let alone = within(0, 1).unwrap();
        assert!(alone.ends_with("last written by dd (7)"), "{alone}");
    }
}
