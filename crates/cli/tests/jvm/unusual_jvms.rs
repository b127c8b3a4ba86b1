//! `fathom record` on JVMs that are not as they come out of the box: in namespaces of their own,
//! with a library that has lost its probes or its symbols, of another make. Needs root and eBPF;
//! skips loudly without.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{Recording, StackCensus};

use crate::live::process::Talking;
use crate::live::recorded::{count, open, thread_name};
use crate::live::recorder::Recorder;
use crate::live::{FATHOM, ebpf_is_allowed, fathom, jdks, patiently, said};

/// A JDK with a compiler, and a folder with the compiled program; `None`, loudly, where something
/// is missing.
fn jdk() -> Option<(PathBuf, tempfile::TempDir)> {
    if !ebpf_is_allowed() {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    Some((jdks::compile(dir.path(), 11, &["Collects"])?, dir))
}

/// Records a process for some seconds.
fn record(dir: &Path, pid: &str) -> (Recording, String) {
    let output = fathom(dir, &["record", "-p", pid, "-d", "4s", "-F", "499", "-o", "x.fathom"]);
    assert!(output.status.success(), "{}", said(&output));
    (open(dir, "x.fathom"), said(&output))
}

fn stacks_are_whole(recording: &Recording, what: &str) {
    let census = StackCensus::of(recording);
    assert!(census.java_samples > 20, "{what}: {census:?}");
    assert!(census.whole_share().unwrap() > 0.98, "{what}: {census:?}");
}

const OPTIONS: [&str; 2] = ["-Xmx64m", "-XX:+UseSerialGC"];

#[test]
fn a_jvm_in_namespaces_of_its_own_whose_files_are_not_there_outside_is_recorded_whole() {
    patiently(|| {
        let Some((home, dir)) = jdk() else { return };
        // Its JDK lies where only its own mount namespace has something.
        let inside = dir.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        let script = format!(
            "mount --bind {} {inside} && exec {inside}/bin/java {} -cp {} Collects 60",
            home.display(),
            OPTIONS.join(" "),
            dir.path().display(),
            inside = inside.display(),
        );
        let mut command = Command::new("unshare");
        command.args(["--pid", "--mount", "--fork", "--mount-proc", "sh", "-c", &script]);
        let jvm = Talking::start(&mut command);
        assert!(!inside.join("bin/java").exists(), "the namespace is not its own");
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", jvm.pid())).unwrap();
        let (recording, said) = record(dir.path(), children.trim());
        stacks_are_whole(&recording, &said);
        assert!(count(&recording, kind::GC_PAUSE) > 5 && count(&recording, kind::SCHED_OFF) > 5, "{said}");
    });
}

#[test]
fn fathom_within_a_pid_namespace_sees_what_it_sees_outside() {
    patiently(|| {
        let Some((home, dir)) = jdk() else { return };
        let script = format!(
            "{home}/bin/java {options} -cp . Collects 60 >/dev/null & sleep 2; {fathom} record --name '^Collects$' -d 4s -F 499 -o x.fathom; \
         code=$?; kill -9 $!; exit $code",
            home = home.display(),
            options = OPTIONS.join(" "),
            fathom = FATHOM,
        );
        let mut command = Command::new("unshare");
        command.args(["--pid", "--mount", "--fork", "--mount-proc", "sh", "-c", &script]);
        let output = command.current_dir(dir.path()).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let recording = open(dir.path(), "x.fathom");
        stacks_are_whole(&recording, &said(&output));
        for kind in [kind::GC_PAUSE, kind::SCHED_OFF, kind::SCHED_WATCHED] {
            assert!(count(&recording, kind) > 5, "{kind}: {}", said(&output));
        }
    });
}

/// A copy of a JDK whose libjvm.so went through objcopy; `None`, loudly, without it.
fn copy_with_another_libjvm(home: &Path, to: &Path, options: &[&str]) -> Option<PathBuf> {
    let java = to.join("bin/java");
    std::fs::create_dir_all(to.join("bin")).unwrap();
    std::fs::create_dir_all(to.join("lib/server")).unwrap();
    std::fs::copy(home.join("bin/java"), &java).unwrap();
    for entry in std::fs::read_dir(home.join("lib")).unwrap().flatten() {
        let name = entry.file_name();
        // The launcher finds the rest from where its own libraries really are.
        match name.to_str().unwrap() {
            "server" => {}
            "libjli.so" | "libjava.so" | "jvm.cfg" => {
                std::fs::copy(entry.path(), to.join("lib").join(&name)).map(|_| ()).unwrap();
            }
            _ => symlink(entry.path(), to.join("lib").join(&name)).unwrap(),
        }
    }
    let _ = symlink(home.join("conf"), to.join("conf"));
    let mut objcopy = Command::new("objcopy");
    objcopy.args(options).arg(home.join("lib/server/libjvm.so")).arg(to.join("lib/server/libjvm.so"));
    match objcopy.status() {
        Ok(status) if status.success() => Some(java),
        _ => {
            fathom_testing::skip("no objcopy (binutils)");
            None
        }
    }
}

#[test]
fn a_libjvm_without_probes_is_watched_by_its_functions_and_a_stripped_one_is_said_to_be_silent() {
    patiently(|| {
        let Some((home, dir)) = jdk() else { return };
        let classes = dir.path().to_str().unwrap();
        let without_probes = ["--remove-section=.note.stapsdt"];
        let stripped = ["--strip-all", "--remove-section=.note.stapsdt"];
        for (name, options) in [("no-probes", &without_probes[..]), ("stripped", &stripped[..])] {
            let Some(java) = copy_with_another_libjvm(&home, &dir.path().join(name), options) else { return };
            let jvm =
                Talking::start(Command::new(java).args(OPTIONS).args(["-cp", classes, "Collects", "60"]));
            let pid = jvm.pid();
            let (recording, said) = record(dir.path(), &pid);
            stacks_are_whole(&recording, &said);
            let check = fathom(dir.path(), &["check", "-p", &pid]);
            let check = String::from_utf8_lossy(&check.stdout).into_owned();
            if name == "stripped" {
                assert!(said.contains("not seen: collections, safepoints and VM operations"), "{said}");
                assert!(
                    check.contains("libjvm.so is stripped") && check.contains("has no probes"),
                    "{check}"
                );
                continue;
            }
            let pauses: Vec<&str> = recording.spans_of(kind::GC_PAUSE).map(|s| s.name()).collect();
            assert!(pauses.iter().filter(|name| **name == "Pause Young").count() > 5, "{said}: {pauses:?}");
            assert!(
                count(&recording, kind::SAFEPOINT) > 5 && count(&recording, kind::VM_OPERATION) > 5,
                "{said}"
            );
            let cause =
                |span: fathom_recording::Span<'_>| span.label(label::CAUSE) == Some("Allocation Failure");
            assert!(recording.spans_of(kind::GC_PAUSE).any(cause), "{said}");
            assert!(said.contains("not seen: sizes of the heap's spaces at collections"), "{said}");
            assert!(check.contains("by its functions"), "{check}");
            std::fs::remove_dir_all(dir.path().join("x.fathom")).unwrap();
        }
    });
}

/// Their waits are followed through functions of libjvm, which a stripped one does not name: where
/// they wait is read from outside.
#[test]
fn single_waits_of_virtual_threads_of_a_stripped_jvm_are_said_to_be_unseen() {
    patiently(|| {
        if !ebpf_is_allowed() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        if jdks::compile(dir.path(), 11, &["VirtualWaits"]).is_none() {
            return;
        }
        let classes = dir.path().to_str().unwrap();
        for (release, home) in jdks::each(jdks::of(&[21, 25])) {
            let to = dir.path().join(release.to_string());
            let Some(java) = copy_with_another_libjvm(&home, &to, &["--strip-all"]) else { return };
            let mut command = Command::new(java);
            let mut jvm = Talking::start(command.args(OPTIONS).args(["-cp", classes, "VirtualWaits"]));
            jvm.until("ready");
            let (recording, said) = record(dir.path(), &jvm.pid());
            let what = format!("single short waits of virtual threads of process {}", jvm.pid());
            let lines: Vec<&str> = said.lines().filter(|line| line.contains(&what)).collect();
            assert!(matches!(lines[..], [line] if line.contains("it is stripped")), "JDK {release}: {said}");
            let waits = recording.spans_of(kind::LOCK_PARK);
            let read: std::collections::BTreeSet<&str> = waits
                .map(|wait| thread_name(&recording, &wait))
                .filter(|name| name.starts_with("virtual"))
                .collect();
            assert!(read.len() >= 60, "JDK {release}: 40 sleep and 20 wait for a lock: {read:?}, {said}");
            std::fs::remove_dir_all(dir.path().join("x.fathom")).unwrap();
        }
    });
}

/// Every method is compiled when it is called for the first time, and starting the agent for JMX
/// loads and calls what nobody has called before.
#[test]
fn compilations_and_classes_of_a_libjvm_without_probes_are_reported_by_its_functions() {
    patiently(|| {
        let Some((home, dir)) = jdk() else { return };
        let jcmd = home.join("bin/jcmd");
        if !jcmd.exists() {
            fathom_testing::skip("the JDK has no jcmd");
            return;
        }
        let to = dir.path().join("no-probes");
        let Some(java) = copy_with_another_libjvm(&home, &to, &["--remove-section=.note.stapsdt"]) else {
            return;
        };
        let compiled_at_once = ["-Xcomp", "-XX:TieredStopAtLevel=1", "-cp", dir.path().to_str().unwrap()];
        let jvm =
            Talking::start(Command::new(java).args(OPTIONS).args(compiled_at_once).args(["Collects", "300"]));
        let pid = jvm.pid();
        let recorder = Recorder::record(dir.path(), &pid, &["--without", "cpu"]);
        let started = Command::new(jcmd).args([&pid, "ManagementAgent.start_local"]).output().unwrap();
        assert!(started.status.success(), "{started:?}");
        let (code, said) = recorder.end("INT");
        assert_eq!(code, Some(0), "{said}");
        let recording = open(dir.path(), "x.fathom");
        let of_the_agent = |kind: &str| {
            let all = recording.spans_of(kind).filter(|span| span.name().starts_with("jdk.internal.agent."));
            all.map(|span| (span.name().to_owned(), span.figure(figure::TIER))).collect::<Vec<_>>()
        };
        let (classes, compiles) = (of_the_agent(kind::CLASS_LOAD), of_the_agent(kind::JIT_COMPILE));
        assert!(classes.iter().any(|(name, _)| name == "jdk.internal.agent.Agent"), "{classes:?} {said}");
        assert!(
            !compiles.is_empty() && compiles.iter().all(|(_, tier)| *tier == Some(1.0)),
            "{compiles:?} {said}"
        );
        assert!(!said.contains("not seen: compilations"), "{said}");
    });
}

/// There is no OpenJ9 to be had here: what counts is what is mapped.
#[test]
fn a_jvm_of_another_make_is_refused_in_one_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let library = dir.path().join("libj9vm29.so");
    std::fs::write(&library, vec![0; 4096]).unwrap();
    let script = "import mmap, sys, time\nf = open(sys.argv[1], 'rb')\nm = mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ)\n\
                  print('ready', flush=True)\ntime.sleep(60)";
    let mut command = Command::new("python3");
    let Ok(mut jvm) = Talking::spawn(command.args(["-c", script]).arg(&library)) else {
        fathom_testing::skip("no python3");
        return;
    };
    jvm.until("ready");
    let output = fathom(dir.path(), &["record", "-p", &jvm.pid(), "-d", "1s", "-o", "x.fathom"]);
    assert_eq!((output.status.code(), said(&output).lines().count()), (Some(3), 1), "{}", said(&output));
    assert!(said(&output).contains("is OpenJ9, and fathom reads 64-bit HotSpot only"), "{}", said(&output));
    assert!(!dir.path().join("x.fathom").exists());
}
