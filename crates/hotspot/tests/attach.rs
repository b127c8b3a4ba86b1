//! Real JVMs of every release, asked through the attach protocol: alone, as another user's, in
//! namespaces.

#![allow(clippy::unwrap_used)]

mod jvm;

use std::process::Command;
use std::time::Duration;

use fathom_hotspot::Error;
use fathom_hotspot::attach::{Attach, AttachError};
use fathom_hotspot::find::arguments;
use jvm::{Jdk, Jvm, classes, jdks, may_trace};

/// Names of the files in `/tmp` by which a JVM is called.
fn calls_left(pid: u32) -> Vec<String> {
    let names = std::fs::read_dir("/tmp").unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
    names.filter(|name| *name == format!(".attach_pid{pid}")).collect()
}

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        fathom_testing::skip("only root can start a JVM as another user or in a namespace");
    }
    root
}

#[test]
fn every_release_answers_diagnostic_commands_properties_and_thread_dumps() {
    for jdk in jdks() {
        if !may_trace() {
            return;
        }
        let Some(jvm) = Jvm::start(&jdk, &["-Dapi.token=hunter2"], &["Idle"]) else { return };
        let attach = Attach::to(jvm.pid()).unwrap();
        let version = attach.jcmd("VM.version").unwrap();
        assert!(version.contains(&format!("JDK {}", jdk.release)), "JDK {}: {version}", jdk.release);
        assert!(attach.jcmd("VM.flags").unwrap().contains("MaxHeapSize=67108864"));
        let properties = attach.properties().unwrap();
        assert_eq!(properties["sun.java.command"], "Idle");
        assert_eq!(properties["api.token"], "***");
        let dump = attach.thread_dump().unwrap();
        let main = dump.threads.iter().find(|thread| thread.name == "main").unwrap();
        assert!(main.frames.iter().any(|frame| frame.starts_with("Idle.main(")), "{main:?}");
        let tasks = format!("/proc/{}/task/{}", jvm.pid(), main.native_id.unwrap());
        assert!(std::path::Path::new(&tasks).exists(), "{main:?}");
        match attach.jcmd("No.such_command") {
            Err(Error::Attach(AttachError::Refused { text, .. })) => {
                assert!(text.contains("Unknown diagnostic command"), "{text}");
            }
            other => panic!("JDK {}: {other:?}", jdk.release),
        }
        assert_eq!(calls_left(jvm.pid()), Vec::<String>::new());
        assert!(attach.is_alive());
    }
}

#[test]
fn a_request_longer_than_version_1_can_say_goes_through_where_the_jvm_knows_version_2() {
    for jdk in jdks() {
        let Some(jvm) = Jvm::start(&jdk, &[], &["Idle"]) else { return };
        if !may_trace() {
            return;
        }
        let attach = Attach::to(jvm.pid()).unwrap();
        let long = format!("VM.version{}", " ".repeat(3000));
        match attach.jcmd(&long) {
            Ok(text) => assert!(jdk.release >= 24 && text.contains("JDK"), "JDK {}: {text}", jdk.release),
            Err(Error::Attach(AttachError::TooLong { .. })) => assert!(jdk.release < 24, "{}", jdk.release),
            Err(other) => panic!("JDK {}: {other}", jdk.release),
        }
    }
}

#[test]
fn root_asks_the_jvm_of_another_user_and_stays_root() {
    for jdk in jdks() {
        if !is_root() {
            return;
        }
        let Some(classes) = classes() else { return };
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&jdk.java);
        // The folder of the classes is root's own; its current directory it may still use.
        open_to_all(classes);
        command.args(["-Xmx64m", "-cp"]).arg(classes).arg("Idle");
        if !runs_as_nobody(&jdk) {
            fathom_testing::skip(&format!("JDK {} may not be run by another user", jdk.release));
            continue;
        }
        let jvm = Jvm::of(command, &jdk);
        // What a killed JVM of root's with the same pid leaves: in a sticky folder the JVM cannot
        // replace it.
        let socket = format!("/tmp/.java_pid{}", jvm.pid());
        let _ = std::fs::remove_file(&socket);
        drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
        let attach = Attach::to(jvm.pid()).unwrap();
        assert_eq!(attach.status().uid, 65_534);
        assert!(attach.jcmd("VM.version").unwrap().contains("JDK"));
        assert!(rustix::process::geteuid().is_root());
        assert_eq!(calls_left(jvm.pid()), Vec::<String>::new());
    }
}

fn open_to_all(folder: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Other users cannot read a JDK below root's home.
fn runs_as_nobody(jdk: &Jdk) -> bool {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&jdk.java).arg("-version");
    command.output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_jvm_in_namespaces_of_its_own_is_asked_by_its_own_number_in_its_own_tmp() {
    for jdk in jdks() {
        if !is_root() {
            return;
        }
        let Some(classes) = classes() else { return };
        // Its own /tmp hides ours, with the classes in it; the launcher wants to name the folder
        // that it is in.
        if env!("CARGO_TARGET_TMPDIR").starts_with("/tmp/") {
            fathom_testing::skip("this checkout lies in /tmp, which the JVM's own would hide");
            return;
        }
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::copy(classes.join("Idle.class"), folder.path().join("Idle.class")).unwrap();
        let script = "mount -t tmpfs tmpfs /tmp && exec \"$0\" -Xmx64m -cp . Idle";
        let mut command = Command::new("unshare");
        command.args(["--pid", "--mount", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script]);
        command.arg(&jdk.java).current_dir(&folder);
        let jvm = Jvm::of(command, &jdk);
        let children = format!("/proc/{0}/task/{0}/children", jvm.pid());
        let pid: u32 = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
        assert!(arguments(pid).contains(&"Idle".to_owned()));
        let attach = Attach::to(pid).unwrap();
        assert_eq!(attach.status().own_pid(), 1);
        assert!(attach.jcmd("VM.version").unwrap().contains("JDK"));
        let tmp = std::fs::read_dir(format!("/proc/{pid}/root/tmp")).unwrap().flatten();
        let names: Vec<String> = tmp.map(|entry| entry.file_name().into_string().unwrap()).collect();
        assert!(names.contains(&".java_pid1".to_owned()), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with(".attach_pid")), "{names:?}");
        let counters = fathom_hotspot::perf_data::read(pid, attach.status()).unwrap().unwrap();
        assert_eq!(counters.text("sun.rt.javaCommand"), Some("Idle"));
    }
}

#[test]
fn what_is_no_jvm_is_not_signalled_and_goes_on() {
    let mut sleep = Command::new("sleep").arg("60").spawn().unwrap();
    let refused = Attach::to(sleep.id());
    assert!(matches!(refused, Err(Error::NoLibjvm { .. })), "{refused:?}");
    assert_eq!(sleep.try_wait().unwrap(), None);
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    assert!(matches!(Attach::to(sleep.id()), Err(Error::NoProcess { .. })));
}

#[test]
fn a_jvm_that_forbids_it_or_is_stopped_is_reported_and_goes_on() {
    let Some(jdk) = jdks().pop() else { return };
    if !may_trace() {
        return;
    }
    let Some(jvm) = Jvm::start(&jdk, &["-XX:+DisableAttachMechanism"], &["Idle"]) else { return };
    let refused = Attach::to(jvm.pid());
    assert!(matches!(refused, Err(Error::Attach(AttachError::Disabled { .. }))), "{refused:?}");
    let Some(jvm) = Jvm::start(&jdk, &[], &["Idle"]) else { return };
    signal(jvm.pid(), rustix::process::Signal::STOP);
    assert!(wait_for(|| all_threads_are_stopped(jvm.pid())));
    let refused = Attach::to(jvm.pid());
    assert!(matches!(refused, Err(Error::Attach(AttachError::Stopped { .. }))), "{refused:?}");
    assert_eq!(calls_left(jvm.pid()), Vec::<String>::new());
    signal(jvm.pid(), rustix::process::Signal::CONT);
    assert!(Attach::to(jvm.pid()).unwrap().jcmd("VM.version").is_ok());
}

#[test]
fn a_jvm_that_stops_answering_is_given_up_after_a_while_and_nothing_is_left() {
    let Some(jdk) = jdks().pop() else { return };
    if !may_trace() {
        return;
    }
    let Some(jvm) = Jvm::start(&jdk, &[], &["Idle"]) else { return };
    let attach = Attach::with_patience(jvm.pid(), Duration::from_secs(5)).unwrap();
    signal(jvm.pid(), rustix::process::Signal::STOP);
    assert!(wait_for(|| all_threads_are_stopped(jvm.pid())));
    let asked = attach.execute_within(Duration::from_millis(300), "jcmd", &["VM.version"]);
    assert!(matches!(asked, Err(Error::Attach(AttachError::Timeout { .. }))), "{asked:?}");
    signal(jvm.pid(), rustix::process::Signal::CONT);
}

#[test]
fn a_jvm_without_signal_handlers_listens_from_its_start_and_is_asked_without_one() {
    let Some(jdk) = jdks().pop() else { return };
    if !may_trace() {
        return;
    }
    let Some(jvm) = Jvm::start(&jdk, &["-Xrs"], &["Idle"]) else { return };
    assert!(Attach::to(jvm.pid()).unwrap().jcmd("VM.version").is_ok());
}

/// A process is stopped a thread at a time.
fn all_threads_are_stopped(pid: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let mut states = tasks.map(|task| std::fs::read_to_string(task.path().join("stat")).unwrap_or_default());
    states.all(|stat| stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" T")))
}

fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

fn wait_for(done: impl Fn() -> bool) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        done()
    })
}
