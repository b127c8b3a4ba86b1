//! What a stranger or an enemy hands to fathom: every command ends soon, without a panic, with an
//! exit status that says whether anything could be used, and with values that are not wrong.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Commands that read inputs, as far as possible without writing files.
const READERS: [&[&str]; 11] = [
    &["diagnose"],
    &["report", "-o", "-"],
    &["gc"],
    &["jit"],
    &["info"],
    &["ledger"],
    &["ledger", "--json"],
    &["flame"],
    &["flame", "-o", "-"],
    &["export", "--format", "folded", "-o", "-"],
    &["export", "--format", "csv", "--table", "spans", "-o", "-"],
];

/// No input here takes a debug build a second; a machine under load may need many.
const PATIENCE: Duration = Duration::from_secs(60);

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ingest/fixtures").join(name)
}

/// The text of a fixture that is packed with zstd.
fn unpacked(name: &str) -> Vec<u8> {
    zstd::decode_all(File::open(fixture(name)).unwrap()).unwrap()
}

/// Runs fathom and holds it to what is true whatever it reads.
fn run(dir: &Path, args: &[&str], stdin: Stdio, stdout: Stdio) -> Output {
    let begin = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command.current_dir(dir).args(args).stdin(stdin).stdout(stdout).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(begin.elapsed() < PATIENCE, "{args:?} took {:?}", begin.elapsed());
    assert!(matches!(output.status.code(), Some(0 | 2)), "{args:?}: {}: {said}", output.status);
    assert!(!said.contains("panicked"), "{args:?}: {said}");
    assert!(!said.contains('\x1b'), "{args:?}: {said}");
    assert!(output.status.success() || said.starts_with("fathom: ") || said.starts_with("error: "), "{said}");
    output
}

fn fathom(dir: &Path, args: &[&str]) -> Output {
    run(dir, args, Stdio::null(), Stdio::piped())
}

/// Holds every command that reads inputs, the server among them, to refusing one in a single line
/// that names it.
fn all_refuse(dir: &Path, input: &str) {
    for reader in READERS {
        let output = fathom(dir, &[reader, &[input]].concat());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{reader:?} {input}");
        assert!(output.stdout.is_empty(), "{reader:?} {input}");
        assert!(said.starts_with(&format!("fathom: {input}")) && said.lines().count() == 1, "{said}");
    }
    let mut server = Command::new(env!("CARGO_BIN_EXE_fathom"));
    server.current_dir(dir).args(["serve", "--port", "0", input]).stdin(Stdio::null());
    let mut server = server.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while server.try_wait().unwrap().is_none() {
        if begin.elapsed() > PATIENCE {
            server.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = server.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "serve {input}: {said}");
    assert!(said.starts_with(&format!("fathom: {input}")) && said.lines().count() == 1, "{said}");
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn place(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    dir
}

/// Bytes that look like noise and are the same in each run (xorshift).
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn what_is_no_log_of_a_jvm_is_refused_by_every_command_with_its_name() {
    let dir = place(&[
        ("empty", b""),
        ("noise", &noise(50_000)),
        (
            "nginx-error.log",
            b"2026/11/20 22:00:00 [error] 12#12: *1 open() \"/x\" failed (2: No such file or directory)\n"
                .repeat(50)
                .as_slice(),
        ),
        (
            "journal",
            b"Nov 20 22:00:01 host systemd[1]: Started Session 1 of user root.\n".repeat(50).as_slice(),
        ),
        (
            "go.log",
            b"gc 1 @0.01s 2%: 0.018+1.1+0.004 ms clock, 0.1+0.4/1/0.05 ms cpu, 4->4->1 MB, 5 MB goal, 8 P\n"
                .as_slice(),
        ),
        ("line", &[b'x'; 3 << 20]),
    ]);
    fs::create_dir(dir.path().join("nothing")).unwrap();
    for input in ["empty", "noise", "nginx-error.log", "journal", "go.log", "line", "nothing", "missing"] {
        all_refuse(dir.path(), input);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_may_not_be_read_is_refused_by_every_command() {
    use std::os::unix::fs::PermissionsExt;
    let dir = place(&[("gc.log", &unpacked("unified/g1-17.log.zst"))]);
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&dir.path().join("gc.log"), 0o000);
    mode(dir.path(), 0o755);
    if File::open(dir.path().join("gc.log")).is_err() {
        return all_refuse(dir.path(), "gc.log");
    }
    // Root reads everything: as somebody else, then.
    let nobody = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", env!("CARGO_BIN_EXE_fathom")]);
        command.current_dir(dir.path()).args(args).stdin(Stdio::null()).output()
    };
    if !nobody(&["version"]).is_ok_and(|output| output.status.success()) {
        fathom_testing::skip("root reads everything, and fathom cannot be run as another user here");
        return;
    }
    for reader in READERS.iter().chain(&[&["serve", "--port", "0"][..]]) {
        let output = nobody(&[reader, &["gc.log"][..]].concat()).unwrap();
        assert_eq!(output.status.code(), Some(2), "{reader:?}");
        assert_eq!(stderr(&output), "fathom: gc.log: Permission denied\n", "{reader:?}");
    }
}

#[test]
fn a_log_cut_off_anywhere_gives_figures_or_exit_status_2() {
    let dir = place(&[]);
    let logs = [
        unpacked("unified/g1-17.log.zst"),
        unpacked("unified/genzgc-25.log.zst"),
        unpacked("jit/jdk17.xml.zst"),
        fs::read(fixture("jdk8/traps.log")).unwrap(),
        fs::read(fixture("jdk8/cms-both-fls-stopped.log")).unwrap(),
        fs::read(fixture("elasql/client0.csv")).unwrap(),
        // Packed, cut off within the packing.
        fs::read(fixture("unified/shen-21.log.zst")).unwrap(),
    ];
    let shares = [1, 2, 5, 17, 43, 90, 100];
    for (i, log) in logs.iter().enumerate() {
        for (j, share) in shares.into_iter().enumerate() {
            let head = &log[..log.len().min(400_000) * share / 100];
            fs::write(dir.path().join("cut.log"), head).unwrap();
            fathom(dir.path(), &[READERS[(i + j) % READERS.len()], &["cut.log"]].concat());
        }
    }
}

#[test]
fn a_line_without_an_end_costs_neither_the_log_around_it_nor_memory() {
    let dir = place(&[]);
    let mut log = File::create(dir.path().join("gc.log")).unwrap();
    log.write_all(&unpacked("unified/g1-17.log.zst")).unwrap();
    for _ in 0..64 {
        log.write_all(&[b'x'; 1 << 20]).unwrap();
    }
    log.write_all(b"\n").unwrap();
    let reported = json(&fathom(dir.path(), &["gc", "gc.log", "--json"]));
    let whole =
        json(&fathom(dir.path(), &["gc", fixture("unified/g1-17.log.zst").to_str().unwrap(), "--json"]));
    assert!(whole["pauses"].as_u64().unwrap() > 10);
    assert_eq!(reported["pauses"], whole["pauses"]);
    assert_eq!(reported["total_pause_s"], whole["total_pause_s"]);
}

#[test]
fn logs_mixed_into_one_file_are_counted_apart_and_foreign_lines_are_reported() {
    let (one, other) = (unpacked("unified/g1-17.log.zst"), unpacked("unified/parallel-21.log.zst"));
    let foreign =
        b"java.lang.IllegalStateException: no room\n\tat org.example.Main.main(Main.java:7)\n".repeat(200);
    let dir = place(&[
        ("mixed.log", &[one.clone(), foreign, other.clone()].concat()),
        ("1.log", &one),
        ("2.log", &other),
    ]);
    let pauses =
        |input: &str| json(&fathom(dir.path(), &["gc", input, "--json"]))["pauses"].as_u64().unwrap();
    assert_eq!(pauses("mixed.log"), pauses("1.log") + pauses("2.log"));
    let reported = json(&fathom(dir.path(), &["diagnose", "mixed.log", "--json"]));
    let warnings = reported["warnings"].to_string();
    assert!(warnings.contains("lines were not understood"), "{warnings}");
}

#[test]
fn what_is_named_twice_is_read_once_and_a_copy_is_reported() {
    let log = unpacked("unified/serial-17.log.zst");
    let dir = place(&[("gc.log", &log), ("copy.log", &log)]);
    let once = json(&fathom(dir.path(), &["gc", "gc.log", "--json"]))["pauses"].as_u64();
    let twice = fathom(dir.path(), &["gc", "gc.log", "./gc.log", "--json"]);
    assert_eq!(json(&twice)["pauses"].as_u64(), once);
    assert_eq!(stderr(&twice), "fathom: ./gc.log: named twice, read once\n");
    let copy = fathom(dir.path(), &["gc", "gc.log", "copy.log"]);
    assert!(stderr(&copy).contains("copy.log: seems to be the same log as gc.log"), "{}", stderr(&copy));
    assert!(fathom(dir.path(), &["import", "gc.log", "-o", "x.fathom"]).status.success());
    let recordings = fathom(dir.path(), &["gc", "x.fathom", "./x.fathom", "--json"]);
    assert_eq!(json(&recordings)["pauses"].as_u64(), once);
    let piped = run(
        dir.path(),
        &["gc", "-", "-", "--json"],
        File::open(dir.path().join("gc.log")).unwrap().into(),
        Stdio::piped(),
    );
    assert_eq!(json(&piped)["pauses"].as_u64(), once);
}

#[test]
fn two_logs_of_one_program_are_not_called_copies() {
    let dir = place(&[]);
    let [one, two] = ["elasql/gc0.log", "elasql/gc1.log"].map(|log| fixture(log).display().to_string());
    let said = stderr(&fathom(dir.path(), &["gc", &one, &two]));
    assert!(!said.contains("the same log"), "{said}");
}

#[test]
fn names_that_would_drive_a_terminal_are_shown_and_not_obeyed() {
    let log = unpacked("unified/g1-21.log.zst");
    let names = ["a b.log", "new\nline.log", "\x1b[2Jred.log"];
    let dir = place(&names.map(|name| (name, log.as_slice())));
    for reader in READERS {
        let output = fathom(dir.path(), &[reader, &names].concat());
        assert!(!output.stdout.contains(&0x1b), "{reader:?}");
    }
    let missing = fathom(dir.path(), &["gc", "\x1b[2Jgone\nfathom: all is well"]);
    assert!(!stderr(&missing).contains('\x1b'));
}

#[test]
fn windows_and_offsets_that_make_no_sense_are_refused_with_what_is_wrong() {
    let dir = place(&[("gc.log", &unpacked("unified/g1-17.log.zst"))]);
    for (argument, reason) in [
        ("--slow=5..3", "ends before it begins"),
        ("--slow=3..3", "has no length"),
        ("--slow=5..", "nothing was recorded then"),
        ("--slow=99999..100000", "nothing was recorded then"),
        ("--slow=NaN..1", "cannot read"),
        ("--slow=0..1e300", "cannot read"),
        ("--slow=99999999999999999999s..2s", "cannot read"),
        ("--slow=..", "a window is FROM..TO"),
        ("--base=..-3", "nothing was recorded then"),
        ("--base=..--3", "cannot read"),
        ("--align=gc.log", "is not FILE=OFFSET"),
        ("--align=gc.log=NaN", "is no offset"),
        ("--align=gc.log=99999999999999999s", "is no offset"),
        ("--align=other.log=1s", "no input is called other.log"),
    ] {
        let output = fathom(dir.path(), &["diagnose", "gc.log", argument]);
        assert_eq!(output.status.code(), Some(2), "{argument}");
        assert!(stderr(&output).contains(reason), "{argument}: {}", stderr(&output));
    }
}

#[test]
fn a_recording_without_its_index_is_called_damaged_and_not_read_file_by_file() {
    let dir = place(&[("gc.log", &unpacked("unified/g1-17.log.zst"))]);
    assert!(fathom(dir.path(), &["import", "gc.log", "-o", "x.fathom"]).status.success());
    for text in [&b""[..], b"{", b"{}", &noise(300)] {
        fs::write(dir.path().join("x.fathom/meta.json"), text).unwrap();
        all_refuse(dir.path(), "x.fathom");
    }
}

#[test]
fn a_recording_with_a_damaged_table_is_refused_by_every_command() {
    let dir = place(&[("gc.log", &unpacked("unified/g1-17.log.zst"))]);
    for damage in [&noise(300), &b""[..]] {
        assert!(fathom(dir.path(), &["import", "gc.log", "-o", "x.fathom"]).status.success());
        fs::write(dir.path().join("x.fathom/spans.parquet"), damage).unwrap();
        all_refuse(dir.path(), "x.fathom");
        fs::remove_dir_all(dir.path().join("x.fathom")).unwrap();
    }
}

#[test]
fn a_log_comes_through_a_named_pipe() {
    let dir = place(&[]);
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let feeding = std::thread::spawn({
        let (pipe, log) = (pipe.clone(), unpacked("unified/g1-17.log.zst"));
        move || fs::write(pipe, log).unwrap()
    });
    assert!(json(&fathom(dir.path(), &["gc", "pipe", "--json"]))["pauses"].as_u64().unwrap() > 10);
    feeding.join().unwrap();
}

/// Every command that prints, in a place with `gc.log` and `x.fathom`.
const PRINTERS: [&[&str]; 10] = [
    &["diagnose", "gc.log"],
    &["diagnose", "gc.log", "--json"],
    &["report", "gc.log", "-o", "-"],
    &["gc", "gc.log"],
    &["gc", "gc.log", "--json"],
    &["info", "gc.log"],
    &["pack", "x.fathom", "-o", "-"],
    &["jdks", "--json"],
    &["version"],
    &["version", "--json"],
];

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let dir = place(&[("gc.log", &unpacked("unified/g1-17.log.zst"))]);
    assert!(fathom(dir.path(), &["import", "gc.log", "-o", "x.fathom"]).status.success());
    for printer in PRINTERS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = run(dir.path(), printer, Stdio::null(), writer.into());
        assert!(output.status.success() && output.stderr.is_empty(), "{printer:?}: {}", stderr(&output));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_reported_and_blamed_on_the_output() {
    let dir = place(&[("gc.log", &unpacked("unified/g1-17.log.zst"))]);
    assert!(fathom(dir.path(), &["import", "gc.log", "-o", "x.fathom"]).status.success());
    for printer in PRINTERS {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = run(dir.path(), printer, Stdio::null(), full.into());
        assert_eq!(output.status.code(), Some(2), "{printer:?}");
        assert!(stderr(&output).starts_with("fathom: standard output: No space left"), "{}", stderr(&output));
    }
}
