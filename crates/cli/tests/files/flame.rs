//! `fathom flame`, from the outside, on recordings with samples.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use fathom_recording::vocabulary::sample;
use fathom_recording::{FrameType, Overwrite, Placement, Process, Recording, Role, SampleRow, Sink, Source};

const S: i64 = 1_000_000_000;

/// 100 s: `hot` at 100 samples a second, from 50 s on `extra` at 50 a second as well; the GC
/// waits.
fn recording(dir: &Path, name: &str, extra: bool) {
    let mut r = Recording::new();
    let process =
        r.add_process(Process { name: "App".into(), pid: Some(7), jvm: true, ..Process::default() });
    let placement = Placement { wall: true, uncertainty_ns: Some(0), ..Placement::default() };
    let covers_ns = Some((0, 100 * S));
    let source = r.add_source(Source { name: name.into(), covers_ns, placement, ..Source::default() });
    let app = Some(r.thread(process, Some(8), "worker-1", Role::App));
    let gc = Some(r.thread(process, Some(9), "G1 Main", Role::Gc));
    let mut add = |kind: &str, t_ns: i64, thread, frames: &[&str]| {
        let mut stack = None;
        for frame in frames {
            let frame = r.frame(frame, "", FrameType::C2, -1);
            stack = Some(r.stack(stack, frame));
        }
        r.sample(&SampleRow { kind, t_ns, process, thread, stack, weight: 10_000_000, source });
    };
    for i in 0..10_000_i64 {
        let t_ns = i * S / 100;
        add(sample::CPU, t_ns, app, &["org.a.Main.run", "org.a.Main.hot"]);
        if extra && i >= 5_000 && i % 2 == 0 {
            add(sample::CPU, t_ns, app, &["org.a.Main.run", "org.b.Main.extra"]);
        }
        if i % 100 == 0 {
            add(sample::OFF_CPU, t_ns, gc, &["wait"]);
        }
    }
    r.seal();
    fathom_recording::write(&r, &dir.join(name), Overwrite::Never).unwrap();
}

fn fathom(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom")).current_dir(dir).args(args).output().unwrap()
}

fn ok(dir: &Path, args: &[&str]) -> String {
    let output = fathom(dir, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_ending_says_what_is_written_and_only_its_owner_may_read_it() {
    let dir = tempfile::tempdir().unwrap();
    recording(dir.path(), "a.fathom", true);
    ok(dir.path(), &["flame", "a.fathom"]);
    ok(dir.path(), &["flame", "a.fathom", "-o", "x.svg", "--inverted"]);
    ok(dir.path(), &["flame", "a.fathom", "-o", "x.folded"]);
    let start = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap()[..14].to_owned();
    assert_eq!(start("flame.html"), "<!doctype html");
    assert_eq!(start("x.svg"), "<svg xmlns=\"ht");
    let folded = fs::read_to_string(dir.path().join("x.folded")).unwrap();
    assert_eq!(
        folded,
        "org.a.Main.run;org.a.Main.hot 100000000000\norg.a.Main.run;org.b.Main.extra 25000000000\n"
    );
    let mode = fs::metadata(dir.path().join("flame.html")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let wrong = fathom(dir.path(), &["flame", "a.fathom", "-o", "x.png"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8(wrong.stderr).unwrap().contains(".html, .svg or .folded"));
}

#[test]
fn windows_roles_kinds_and_packages_choose_what_is_drawn() {
    let dir = tempfile::tempdir().unwrap();
    recording(dir.path(), "a.fathom", true);
    let folded = |args: &[&str]| ok(dir.path(), &[&["flame", "a.fathom", "-o", "-"], args].concat());
    assert_eq!(folded(&["--kind", "off-cpu"]), "wait 1000000000\n");
    assert_eq!(folded(&["--package", "org.b"]), "org.a.Main.run;org.b.Main.extra 25000000000\n");
    assert_eq!(folded(&["--role", "gc", "--per-thread"]), "G1 Main [tid 9];wait 1000000000\n");
    assert_eq!(folded(&["--window", "10s..20s"]), "org.a.Main.run;org.a.Main.hot 10000000000\n");
    for args in
        [&["--thread", "nobody"][..], &["--kind", "alloc"], &["--thread", "("], &["--window", "900s..901s"]]
    {
        let output = fathom(dir.path(), &[&["flame", "a.fathom", "--top"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stderr.starts_with(b"fathom: "), "{args:?}");
    }
}

#[test]
fn one_of_several_jvms_of_one_main_class_is_chosen_by_its_pid_or_its_arguments() {
    let dir = tempfile::tempdir().unwrap();
    let mut r = Recording::new();
    let source = r.add_source(Source { covers_ns: Some((0, 10 * S)), ..Source::default() });
    for (pid, args) in [(7, "db1 0"), (8, "db2 1")] {
        let facts = [(fathom_recording::vocabulary::fact::MAIN_ARGS.to_owned(), args.to_owned())].into();
        let process = r.add_process(Process { name: "StartUp".into(), pid: Some(pid), jvm: true, facts });
        let thread = Some(r.thread(process, Some(pid), "main", Role::App));
        let frame = r.frame(&format!("org.a.Main.of{pid}"), "", FrameType::C2, -1);
        let stack = Some(r.stack(None, frame));
        for i in 0..10_i64 {
            let t_ns = i * S;
            r.sample(&SampleRow { kind: sample::CPU, t_ns, process, thread, stack, weight: 1_000, source });
        }
    }
    r.seal();
    fathom_recording::write(&r, &dir.path().join("both.fathom"), Overwrite::Never).unwrap();
    let table = |process: &str| ok(dir.path(), &["flame", "both.fathom", "--top", "--process", process]);
    for process in ["8", "db2", "StartUp db[2-9]"] {
        let table = table(process);
        assert!(table.contains("of8") && !table.contains("of7"), "{process}: {table}");
        assert!(table.contains(&format!("process {process}")), "{table}");
    }
    let both = table("StartUp");
    assert!(both.contains("of7") && both.contains("of8"), "{both}");
    let none = fathom(dir.path(), &["flame", "both.fathom", "--process", "9"]);
    assert_eq!(none.status.code(), Some(2));
}

#[test]
fn two_windows_or_two_recordings_are_held_against_each_other() {
    let dir = tempfile::tempdir().unwrap();
    recording(dir.path(), "new.fathom", true);
    recording(dir.path(), "old.fathom", false);
    let frames = |args: &[&str]| -> Vec<(String, String)> {
        let text = ok(dir.path(), &[&["flame", "new.fathom", "--json"], args].concat());
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let text = |v: &serde_json::Value| v.as_str().unwrap().to_owned();
        let frames = value["frames"].as_array().unwrap().iter();
        frames.map(|f| (text(&f["name"]), text(&f["base"]["self_verdict"]))).collect()
    };
    let expected = |hot: &str| {
        let row = |name: &str, verdict: &str| (name.to_owned(), verdict.to_owned());
        vec![row("org.a.Main.hot", hot), row("org.b.Main.extra", "more")]
    };
    let windows = ["--window", "50s..100s", "--diff", "0s..50s"];
    let mut found = frames(&windows);
    found.retain(|(name, _)| name != "org.a.Main.run");
    assert_eq!(found, expected("noise"));
    let mut found = frames(&["--diff", "old.fathom", "--normalise", "share"]);
    found.retain(|(name, _)| name != "org.a.Main.run");
    assert_eq!(found, expected("less"), "its share is less where something else was added");
    let table = ok(dir.path(), &["flame", "new.fathom", "--diff", "old.fathom", "--top=5", "--by", "change"]);
    assert!(
        table.lines().any(|l| l.contains("extra") && l.contains("new") && l.contains("+25.00 s")),
        "{table}"
    );
    let alone = fathom(dir.path(), &["flame", "new.fathom", "--diff", "0s..50s"]);
    assert_eq!(alone.status.code(), Some(2));
    let none = fathom(dir.path(), &["flame", "new.fathom", "--diff", "gone.fathom"]);
    assert!(String::from_utf8(none.stderr).unwrap().contains("neither a file"));
}
