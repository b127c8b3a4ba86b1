//! What cannot be recorded or looked into is one sentence with the way out and exit status 3, and
//! leaves nothing. A process that is gone and one of another user: record.rs; OpenJ9:
//! unusual_jvms.rs; no JVM for the flight recorder: record_jfr.rs.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use crate::live::process::{Running, Talking};
use crate::live::recorder::Recorder;
use crate::live::{FATHOM, ebpf_is_allowed, fathom, jdks, said};

/// A folder in which everybody may write.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    dir
}

/// Exit status 3, one line that has all of these, and no recording.
fn assert_refused(output: &Output, dir: &Path, words: &[&str]) {
    let said = said(output);
    assert_eq!((output.status.code(), said.lines().count()), (Some(3), 1), "{said}");
    words.iter().for_each(|word| assert!(said.contains(word), "{word}: {said}"));
    assert!(!dir.join("x.fathom").exists());
}

/// Runs a command as nobody; `None`, loudly, where that cannot be done.
fn as_nobody(dir: &Path, command: &[&str]) -> Option<Command> {
    let mut nobody = Command::new("setpriv");
    nobody.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).current_dir(dir);
    let works = nobody.arg(FATHOM).arg("version").output();
    if !works.is_ok_and(|output| output.status.success()) {
        fathom_testing::skip(&format!("no other user can be taken on here, or may run {FATHOM}"));
        return None;
    }
    let mut nobody = Command::new("setpriv");
    nobody.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).args(command).current_dir(dir);
    Some(nobody)
}

/// A program of 32 bits: it maps the file that it is given, says "ready", and waits.
fn program_of_32_bits() -> Vec<u8> {
    const BASE: u32 = 0x0804_8000;
    const HEADERS: u32 = 52 + 32;
    let code: &[u8] = &[
        0x8b, 0x5c, 0x24, 0x08, // mov ebx, [esp+8]: its first argument
        0x31, 0xc9, 0x31, 0xd2, // xor ecx, ecx; xor edx, edx: to be read
        0xb8, 5, 0, 0, 0, 0xcd, 0x80, // open
        0x89, 0xc7, 0x31, 0xdb, // mov edi, eax; xor ebx, ebx: anywhere
        0xb9, 0, 0x10, 0, 0, // mov ecx, 4096
        0xba, 5, 0, 0, 0, // mov edx, PROT_READ | PROT_EXEC
        0xbe, 2, 0, 0, 0, // mov esi, MAP_PRIVATE
        0x31, 0xed, // xor ebp, ebp: from its beginning
        0xb8, 0xc0, 0, 0, 0, 0xcd, 0x80, // mmap2
        0xbb, 1, 0, 0, 0, // mov ebx, 1
        0xb9, 0, 0, 0, 0, // mov ecx, the word below
        0xba, 6, 0, 0, 0, // mov edx, 6
        0xb8, 4, 0, 0, 0, 0xcd, 0x80, // write
        0xb8, 0x1d, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7, // pause, for ever
        b'r', b'e', b'a', b'd', b'y', b'\n',
    ];
    let mut code = code.to_vec();
    let word = BASE + HEADERS + code.len() as u32 - 6;
    let at = code.windows(6).position(|bytes| bytes == [0xb9, 0, 0, 0, 0, 0xba]).unwrap() + 1;
    code[at..at + 4].copy_from_slice(&word.to_le_bytes());
    let size = HEADERS + code.len() as u32;
    let half = |n: u16| n.to_le_bytes().to_vec();
    let long = |n: u32| n.to_le_bytes().to_vec();
    [
        // ELFCLASS32, little-endian, version 1.
        b"\x7fELF\x01\x01\x01".to_vec(),
        vec![0; 9],
        // ET_EXEC for EM_386; entry, one program header, no section.
        [half(2), half(3), long(1), long(BASE + HEADERS), long(52), long(0), long(0)].concat(),
        [half(52), half(32), half(1), half(0), half(0), half(0)].concat(),
        // PT_LOAD of all of it, to be read and run.
        [long(1), long(0), long(BASE), long(BASE), long(size), long(size), long(5), long(4096)].concat(),
        code,
    ]
    .concat()
}

#[test]
fn a_jvm_of_32_bits_is_refused_with_the_way_out() {
    let dir = folder();
    let [program, library] = ["java", "libjvm.so"].map(|name| dir.path().join(name));
    for file in [&program, &library] {
        let mut bytes = program_of_32_bits();
        bytes.resize(4096, 0);
        std::fs::write(file, bytes).unwrap();
    }
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut jvm = match Talking::spawn(Command::new(&program).arg(&library)) {
        Ok(jvm) => jvm,
        Err(error) => {
            fathom_testing::skip(&format!(
                "this kernel runs no programs of 32 bits (CONFIG_IA32_EMULATION): {error}"
            ));
            return;
        }
    };
    if jvm.line() != Some("ready") {
        fathom_testing::skip(&format!(
            "this machine runs no programs of 32 bits: {:?}",
            jvm.process.0.wait()
        ));
        return;
    }
    for engine in ["auto", "ebpf", "jfr"] {
        let args = ["record", "-p", &jvm.pid(), "--engine", engine, "-o", "x.fathom"];
        assert_refused(&fathom(dir.path(), &args), dir.path(), &["a 32-bit JVM", "64-bit HotSpot"]);
    }
    let check = fathom(dir.path(), &["check", "-p", &jvm.pid()]);
    assert_refused(&check, dir.path(), &["no engine can observe"]);
    let reported = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(
        reported.contains("this is a 32-bit JVM") && reported.contains("64-bit HotSpot JDK"),
        "{reported}"
    );
}

#[test]
fn a_jvm_of_another_user_is_refused_with_whom_to_be() {
    let Some((_, home)) = jdks::all().into_iter().next() else {
        fathom_testing::skip("no JDK was found");
        return;
    };
    let dir = folder();
    // It waits for a debugger: a JVM that needs no program.
    let agent = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address=127.0.0.1:0";
    let mut jvm = Talking::spawn(Command::new(home.join("bin/java")).args([agent, "Nothing"])).unwrap();
    let line = jvm.line().unwrap_or_default();
    if !line.contains("dt_socket") {
        fathom_testing::skip(&format!("the JVM of {} has no debugger to wait for: {line}", home.display()));
        return;
    }
    for engine in ["auto", "ebpf", "jfr"] {
        let words = [FATHOM, "record", "-p", &jvm.pid(), "--engine", engine, "-o", "x.fathom"];
        let Some(mut record) = as_nobody(dir.path(), &words) else { return };
        assert_refused(&record.output().unwrap(), dir.path(), &["belongs to root", "sudo"]);
    }
}

#[test]
fn without_privileges_the_engine_that_needs_them_is_refused_with_the_command_that_gives_them() {
    let dir = folder();
    let Some(mut sleep) = as_nobody(dir.path(), &["sleep", "60"]) else { return };
    let sleep = Running::start(&mut sleep);
    let words = [FATHOM, "record", "-p", &sleep.pid(), "--engine", "ebpf", "-o", "x.fathom"];
    let Some(mut record) = as_nobody(dir.path(), &words) else { return };
    assert_refused(&record.output().unwrap(), dir.path(), &["CAP_BPF", "sudo setcap"]);
}

/// The file that shows a lockdown, as it reads on a machine that is locked down, in a mount
/// namespace of its own: the kernel of this machine stays as it is.
#[test]
fn a_kernel_that_is_locked_down_is_refused_with_what_to_boot_with() {
    let dir = folder();
    let sleep = Running::start(Command::new("sleep").arg("60"));
    let script = "mount -t tmpfs none /sys/kernel/security && echo 'none integrity [confidentiality]' \
                  >/sys/kernel/security/lockdown || exit 77; exec \"$@\"";
    let locked_down = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, "sh", FATHOM]).args(words);
        command.current_dir(dir.path()).output()
    };
    let words = ["record", "-p", &sleep.pid(), "--engine", "ebpf", "-o", "x.fathom"];
    let output = match locked_down(&words) {
        Ok(output) if output.status.code() != Some(77) && !said(&output).contains("unshare:") => output,
        _ => {
            fathom_testing::skip("no mount namespace of its own can be had here");
            return;
        }
    };
    if said(&output).contains("CAP_BPF") {
        fathom_testing::skip("no right to eBPF, which is reported first");
        return;
    }
    assert_refused(&output, dir.path(), &["locked down", "lockdown=integrity"]);
    let check = locked_down(&["check", "--json"]).unwrap();
    let reported: serde_json::Value = serde_json::from_slice(&check.stdout).unwrap();
    let item = reported["items"].as_array().unwrap().iter().find(|item| item["id"] == "lockdown").unwrap();
    assert_eq!(item["state"], "missing");
    assert!(item["remedy"].as_str().unwrap().contains("lockdown=integrity"), "{item}");
}

#[test]
fn a_process_without_its_option_and_a_probe_on_the_kernel_are_answered_with_what_works() {
    let dir = folder();
    let without = fathom(dir.path(), &["trace", "lock", "25374"]);
    assert_eq!(without.status.code(), Some(2));
    assert!(said(&without).contains("fathom trace lock -p 25374"), "{}", said(&without));
    let kernel = fathom(dir.path(), &["trace", "kprobe:find_vma", "-p", "1"]);
    assert_eq!(kernel.status.code(), Some(2));
    for form in
        ["uprobe:LIBRARY:FUNCTION", "usdt:LIBRARY:PROVIDER:NAME", "tracepoint:CATEGORY:NAME", "kernel"]
    {
        assert!(said(&kernel).contains(form), "{form}: {}", said(&kernel));
    }
    let bare = fathom(dir.path(), &[]);
    assert_eq!(bare.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&bare.stdout).contains("Usage: fathom"));
}

#[test]
fn where_descriptors_run_out_that_is_what_is_said() {
    if fathom_capture::check::ebpf().is_err() {
        fathom_testing::skip("without eBPF few descriptors are needed");
        return;
    }
    let dir = folder();
    let sleep = Running::start(Command::new("sleep").arg("60"));
    let limited = |limit: &str| {
        let script =
            format!("ulimit {limit}; exec \"$0\" record -p {} -d 1s -o x.fathom --force", sleep.pid());
        Command::new("sh").current_dir(dir.path()).args(["-c", &script, FATHOM]).output().unwrap()
    };
    let few = limited("-n 64");
    assert_eq!(few.status.code(), Some(3), "{}", said(&few));
    assert!(said(&few).contains("file descriptors") && said(&few).contains("ulimit -n"), "{}", said(&few));
    assert!(!said(&few).contains("has ended"), "{}", said(&few));
    // A limit that may be raised is.
    let soft = limited("-S -n 64");
    assert!(soft.status.success(), "{}", said(&soft));
}

/// What docs/record.md says that a recording has open: of itself, for each CPU, and for each
/// JVM.
const DESCRIPTORS: [usize; 3] = [280, 7, 32];

#[test]
fn a_recording_has_no_more_descriptors_open_than_is_said() {
    if !ebpf_is_allowed() {
        return;
    }
    let dir = folder();
    let Some(home) = jdks::compile(dir.path(), 11, &["Waits"]) else { return };
    let jvm = || {
        let mut java = Command::new(home.join("bin/java"));
        Talking::start(
            java.args(["-XX:+UseSerialGC", "-Xmx64m", "-cp"]).arg(dir.path()).args(["Waits", "120"]),
        )
    };
    let jvms = [jvm(), jvm(), jvm()];
    let open = |count: usize| {
        let mut record = Command::new(FATHOM);
        record.current_dir(dir.path()).args(["record", "-o", "x.fathom", "--force"]);
        for jvm in &jvms[..count] {
            record.args(["-p", &jvm.pid()]);
        }
        let recorder = Recorder::start(&mut record, "recording").unwrap_or_else(|(_, said)| panic!("{said}"));
        // What is opened for a JVM later: its counters, its logs.
        std::thread::sleep(Duration::from_secs(2));
        let open = recorder.descriptors();
        recorder.end("INT");
        open
    };
    let (one, three) = (open(1), open(3));
    let [own, each_processor, each_jvm] = DESCRIPTORS;
    let processors = std::thread::available_parallelism().unwrap().get();
    eprintln!("{one} descriptors for a JVM, {three} for three, on {processors} CPUs");
    assert!(one <= own + each_processor * processors + each_jvm, "{one} for one JVM");
    assert!(three <= one + 2 * each_jvm, "{three} for three JVMs, {one} for one");
}

#[test]
fn what_matches_and_belongs_to_others_is_said_so() {
    let dir = folder();
    let Some(mut nobody) = as_nobody(dir.path(), &[FATHOM]) else { return };
    let _sleep = Running::start(Command::new("sleep").arg("61"));
    let output = nobody.args(["record", "--name", "^sleep$", "-d", "1s", "-o", "x.fathom"]).output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("belong to others") && said.contains("sudo"), "{said}");
    assert!(!said.contains("none found"), "{said}");
}

#[test]
fn the_way_down_to_the_flight_recorder_is_said_in_the_first_line() {
    let dir = folder();
    let Some(home) = jdks::compile(dir.path(), 11, &["Waits"]) else { return };
    let java = home.join("bin/java");
    let classes = dir.path().to_str().unwrap();
    let java = [java.to_str().unwrap(), "-XX:+UseSerialGC", "-cp", classes, "Waits", "120"];
    let Some(mut java) = as_nobody(dir.path(), &java) else { return };
    let Ok(mut jvm) = Talking::spawn(&mut java) else { return };
    jvm.until("ready");
    let Some(mut nobody) = as_nobody(dir.path(), &[FATHOM]) else { return };
    let output = nobody.args(["record", "-p", &jvm.pid(), "-d", "2s", "-o", "x.fathom"]).output().unwrap();
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    let first = said.lines().next().unwrap();
    assert!(first.contains("ONLY by the JVM's flight recorder") && first.contains("CAP_BPF"), "{said}");
}
