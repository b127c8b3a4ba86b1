//! Whole inputs from disk: compressed files, archives, directories, rotated sets, and everything
//! that can be wrong with them.

use std::fs;
use std::io::Write;
use std::path::Path;

use fathom_recording::vocabulary::kind;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::open::packed::{bzip2, gzip, zstd};

const TABLE: &[u8] = b"time,ops\n1,10\n2,11\n3,12\n4,9\n5,10\n";

/// A JDK 8 log of `count` young collections from second `from` on.
fn jdk8_log(from: u32, count: u32) -> String {
    let pause = |i| format!("{i}.509: [GC (Allocation Failure)  1024K->512K(4096K), 0.0100000 secs]\n");
    (from..from + count).map(pause).collect()
}

fn put(dir: &TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ::zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(*name, ::zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn read(paths: &[PathBuf]) -> (Result<Report, InputsError>, Recording) {
    read_with_limit(paths, Expansion::default())
}

fn read_with_limit(paths: &[PathBuf], expansion: Expansion) -> (Result<Report, InputsError>, Recording) {
    let mut recording = Recording::new();
    let options = Options { expansion, ..Options::default() };
    (read_inputs(paths, &options, &mut recording), recording)
}

fn refusal(path: &Path) -> String {
    read(&[path.to_owned()]).0.unwrap_err().to_string()
}

fn records(recording: &Recording) -> Vec<u64> {
    recording.sources.iter().map(|source| source.records).collect()
}

/// What PowerShell's `>` makes of a log, and a log whose line feeds were removed.
#[test]
fn a_log_in_utf16_or_with_carriage_returns_gives_the_same_rows_at_the_same_lines() {
    let dir = TempDir::new().unwrap();
    let log = jdk8_log(1, 40);
    let utf16: Vec<u8> = format!("\u{feff}{log}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (name, bytes) in
        [("utf16", utf16.clone()), ("gz", gzip(&utf16)), ("cr", log.replace('\n', "\r").into())]
    {
        let (report, recording) = read(&[put(&dir, name, bytes)]);
        report.unwrap();
        let lines: Vec<u64> = recording.spans_of(kind::GC_PAUSE).map(|p| p.line()).collect();
        assert_eq!(lines, (1..=40).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn every_packing_of_a_file_gives_the_same_rows() {
    let dir = TempDir::new().unwrap();
    for (name, bytes) in [
        ("plain", TABLE.to_vec()),
        ("gz", gzip(TABLE)),
        ("zst", zstd(TABLE)),
        ("bz2", bzip2(TABLE)),
        ("zip", zip(&[("t.csv", TABLE)])),
        ("zip-of-gz", zip(&[("t.csv.gz", &gzip(TABLE))])),
    ] {
        let (report, recording) = read(&[put(&dir, name, bytes)]);
        assert_eq!(records(&recording), [5], "{name}");
        assert_eq!(recording.series[0].value, [10.0, 11.0, 12.0, 9.0, 10.0], "{name}");
        let outcome = &report.unwrap().inputs[0].outcome;
        assert!(matches!(outcome, Outcome::Read { format: "table", .. }), "{name}: {outcome:?}");
    }
}

#[test]
fn what_cannot_be_used_is_reported_with_its_name_and_reason() {
    let dir = TempDir::new().unwrap();
    let missing = dir.path().join("missing.log");
    assert!(refusal(&missing).contains("missing.log: No such file"), "{}", refusal(&missing));
    let cases: [(&str, Vec<u8>, &str); 7] = [
        ("empty", Vec::new(), "(empty)"),
        ("blank", b"\n\n\n".to_vec(), "(blank lines only)"),
        ("binary", (0..4000u32).map(|i| (i * 7 % 256) as u8).collect(), "(binary data)"),
        ("prose", b"Dear all,\nthe server is slow.\n".to_vec(), "(text: Dear all,)"),
        ("gz-of-gz", gzip(&gzip(TABLE)), "an archive within an archive"),
        ("zip-of-zip", zip(&[("in.zip", &zip(&[("t.csv", TABLE)]))]), "a zip archive within an archive"),
        ("broken.zip", zip(&[("t.csv", TABLE)])[..40].to_vec(), "broken.zip"),
    ];
    for (name, bytes, reason) in cases {
        let message = refusal(&put(&dir, name, bytes));
        assert!(message.contains(name) && message.contains(reason), "{name}: {message}");
    }
    let empty_directory = dir.path().join("nothing");
    fs::create_dir(&empty_directory).unwrap();
    assert!(refusal(&empty_directory).contains("nothing in it"));
}

#[test]
fn one_bad_input_among_good_ones_is_reported_and_the_rest_is_used() {
    let dir = TempDir::new().unwrap();
    let paths = [put(&dir, "bad", b"prose\n"), put(&dir, "t.csv", TABLE), dir.path().join("missing")];
    let (report, recording) = read(&paths);
    assert_eq!(records(&recording), [5]);
    let messages = report.unwrap().messages();
    assert!(messages.iter().any(|m| m.contains("bad: not a format")), "{messages:?}");
    assert!(messages.iter().any(|m| m.contains("missing: No such file")), "{messages:?}");
}

#[test]
fn a_directory_is_all_its_known_files_and_the_others_are_listed() {
    let dir = TempDir::new().unwrap();
    put(&dir, "t.csv", TABLE);
    put(&dir, "gc.log.gz", gzip(jdk8_log(0, 9).as_bytes()));
    put(&dir, "notes.txt", b"prose\n");
    fs::create_dir(dir.path().join("deeper")).unwrap();
    let (report, recording) = read(&[dir.path().to_owned()]);
    assert_eq!(records(&recording).len(), 2);
    let messages = report.unwrap().messages();
    assert!(messages.iter().any(|m| m.starts_with("not used: ") && m.contains("notes.txt")), "{messages:?}");
}

#[test]
fn a_truncated_archive_keeps_what_was_read_and_reports_it() {
    let dir = TempDir::new().unwrap();
    let text = jdk8_log(0, 30_000);
    for (name, packed) in [("zst", zstd(text.as_bytes())), ("gz", gzip(text.as_bytes()))] {
        let path = put(&dir, name, &packed[..packed.len() * 3 / 4]);
        let (report, recording) = read(&[path]);
        let source = &recording.sources[0];
        assert!(
            source.cut && source.records > 1000,
            "{name}: {} records, truncated {}",
            source.records,
            source.cut
        );
        let messages = report.unwrap().messages();
        assert!(messages.iter().any(|m| m.contains("truncated after line")), "{messages:?}");
    }
}

#[test]
fn a_damaged_member_of_a_zip_is_reported() {
    let dir = TempDir::new().unwrap();
    let text = jdk8_log(0, 2000);
    let mut bytes = zip(&[("gc.log", text.as_bytes())]);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    let (report, recording) = read(&[put(&dir, "d.zip", bytes)]);
    let messages = report.unwrap().messages();
    assert!(messages.iter().any(|m| m.contains("truncated after line")), "{messages:?}");
    assert!(recording.sources.iter().any(|source| source.cut));
}

#[test]
fn bombs_are_stopped_and_cost_no_memory() {
    let dir = TempDir::new().unwrap();
    let limit = Expansion { floor_bytes: 512 << 10, ratio: 2 };
    // Rows that a reader takes, so that it would go on for ever.
    let mut rows = b"time,ops\n".to_vec();
    for i in 0..20_000 {
        rows.extend_from_slice(
            format!("{i},10                                                        \n").as_bytes(),
        );
    }
    let members: Vec<_> = (0..4).map(|i| format!("{i}.csv")).collect();
    let members: Vec<_> = members.iter().map(|name| (name.as_str(), rows.as_slice())).collect();
    for (name, bytes) in [("z.zst", zstd(&rows)), ("g.gz", gzip(&rows)), ("b.zip", zip(&members))] {
        let (report, recording) = read_with_limit(&[put(&dir, name, bytes)], limit);
        let messages = report.unwrap().messages();
        assert!(
            messages.iter().any(|m| m.contains("looks like a decompression bomb")),
            "{name}: {messages:?}"
        );
        let read: u64 = recording.sources.iter().map(|source| source.bytes).sum();
        assert!(read <= 768 << 10, "{name}: {read}");
    }
}

#[test]
fn a_gigabyte_without_a_line_break_is_refused_or_truncated_in_bounded_memory() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("long");
    let file = fs::File::create(&path).unwrap();
    (&file).write_all(TABLE).unwrap();
    file.set_len(1 << 30).unwrap(); // sparse: zeros without a line break
    let (report, recording) = read(std::slice::from_ref(&path));
    assert!(report.is_ok());
    assert_eq!((recording.sources[0].records, recording.sources[0].skipped), (5, 1));
    file.set_len(0).unwrap();
    file.set_len(1 << 30).unwrap();
    assert!(refusal(&path).contains("binary data"));
}

/// A rotated set of JDK 8: uptimes give the order.
fn rotated(dir: &TempDir, names: &[(&str, u32)]) {
    for (name, from) in names {
        let text = jdk8_log(*from, 10);
        let bytes = if name.ends_with(".gz") { gzip(text.as_bytes()) } else { text.into_bytes() };
        put(dir, name, bytes);
    }
}

#[test]
fn a_rotated_set_is_one_input_in_the_order_in_which_it_was_written() {
    for names in [
        [("gc.log.0", 20), ("gc.log.1.current", 30), ("gc.log.2", 0), ("gc.log.3.gz", 10)],
        [("gc.log", 30), ("gc.log.0", 10), ("gc.log.1.gz", 20), ("gc.log.2", 0)],
    ] {
        let dir = TempDir::new().unwrap();
        rotated(&dir, &names);
        let (report, recording) = read(&[dir.path().to_owned()]);
        let report = report.unwrap();
        assert_eq!(records(&recording).len(), 1, "{:?}", report.messages());
        let source = &recording.sources[0];
        let mut expected = names.to_vec();
        expected.sort_by_key(|(_, from)| *from);
        let segments: Vec<_> = source.segments.iter().map(|s| s.name.rsplit('/').next().unwrap()).collect();
        assert_eq!(segments, expected.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let pauses: Vec<_> = recording.spans_of(kind::GC_PAUSE).map(|s| s.position()).collect();
        assert_eq!(pauses.len(), 40);
        assert!(pauses[25].ends_with(&format!("{}:6", expected[2].0)), "{}", pauses[25]);
        assert!(source.name.ends_with("gc.log"));
    }
}

#[test]
fn members_named_one_by_one_or_in_a_zip_are_joined_too() {
    let dir = TempDir::new().unwrap();
    rotated(&dir, &[("gc.log.0", 10), ("gc.log.1", 0), ("gc.log.2.current", 20)]);
    let path = |name| dir.path().join(name);
    let (_, recording) = read(&[path("gc.log.2.current"), path("gc.log.0"), path("gc.log.1")]);
    assert_eq!(recording.sources[0].segments.len(), 3);
    let (first, second) = (jdk8_log(10, 10), jdk8_log(0, 10));
    let bytes = zip(&[("logs/gc.log", first.as_bytes()), ("logs/gc.log.0", second.as_bytes())]);
    let (_, recording) = read(&[put(&dir, "logs.zip", bytes)]);
    let segments: Vec<_> = recording.sources[0].segments.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(segments, ["gc.log.0", "gc.log"]);
}

#[test]
fn one_named_file_is_read_alone_and_its_siblings_are_mentioned() {
    let dir = TempDir::new().unwrap();
    rotated(&dir, &[("gc.log", 20), ("gc.log.0", 0), ("gc.log.1", 10)]);
    let (report, recording) = read(&[dir.path().join("gc.log")]);
    assert!(recording.sources[0].segments.is_empty());
    let messages = report.unwrap().messages();
    assert!(messages.iter().any(|m| m.contains("one of 3 parts of a rotated log")), "{messages:?}");
}

#[test]
fn numbered_tables_are_independent() {
    let dir = TempDir::new().unwrap();
    let paths = [put(&dir, "client.0", TABLE), put(&dir, "client.1", TABLE)];
    let (report, recording) = read(&paths);
    assert_eq!(recording.sources.len(), 2, "{:?}", report.unwrap().messages());
}

#[test]
fn a_part_of_a_set_that_is_damaged_does_not_end_the_set() {
    let dir = TempDir::new().unwrap();
    let text = jdk8_log(0, 3000);
    let packed = gzip(text.as_bytes());
    put(&dir, "gc.log.0.gz", &packed[..packed.len() / 2]);
    put(&dir, "gc.log.1.current", jdk8_log(5000, 10));
    let (report, recording) = read(&[dir.path().to_owned()]);
    let messages = report.unwrap().messages();
    assert!(
        messages.iter().any(|m| m.contains("part of it is missing") && m.contains("gc.log.0.gz")),
        "{messages:?}"
    );
    assert!(recording.sources[0].cut);
    let last = recording.spans_of(kind::GC_PAUSE).next_back().unwrap();
    assert!(last.position().ends_with("gc.log.1.current:10"), "{}", last.position());
}

#[test]
fn progress_reaches_the_size_of_the_files() {
    let dir = TempDir::new().unwrap();
    let path = put(&dir, "gc.log.zst", zstd(jdk8_log(0, 10_000).as_bytes()));
    let size = fs::metadata(&path).unwrap().len();
    let seen = std::sync::Arc::new(std::sync::Mutex::new((0, 0)));
    let to = seen.clone();
    let progress: Progress = std::sync::Arc::new(move |read, total| *to.lock().unwrap() = (read, total));
    let options = Options { progress: Some(progress), ..Options::default() };
    read_inputs(&[path], &options, &mut Recording::new()).unwrap();
    assert_eq!(*seen.lock().unwrap(), (size, size));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damage_anywhere_in_an_archive_is_reported_or_harmless(
        packing in 0usize..4,
        at in any::<proptest::sample::Index>(),
        flip in 1u8..=255,
        keep in any::<proptest::sample::Index>(),
    ) {
        let text = jdk8_log(0, 200);
        let mut bytes = match packing {
            0 => gzip(text.as_bytes()),
            1 => zstd(text.as_bytes()),
            2 => bzip2(text.as_bytes()),
            _ => zip(&[("gc.log", text.as_bytes())]),
        };
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        bytes.truncate(keep.index(bytes.len()) + 1);
        let dir = TempDir::new().unwrap();
        let limit = Expansion { floor_bytes: 1 << 20, ratio: 100 };
        match read_with_limit(&[put(&dir, "x", bytes)], limit) {
            (Ok(_), recording) => prop_assert!(!recording.sources.is_empty()),
            (Err(error), _) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn random_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 64..4096)) {
        let dir = TempDir::new().unwrap();
        prop_assert!(read(&[put(&dir, "x", &bytes)]).0.is_err());
    }
}
