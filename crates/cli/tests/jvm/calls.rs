//! System calls, connections and look-ups of a real JVM whose calls are known by construction:
//! counts are exact, lengths those that the program measured, files, peers and Java methods the
//! right ones. Needs root and eBPF; skips loudly without.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fathom_recording::vocabulary::{count, figure, kind, label};
use fathom_recording::{Count, Recording, Span};

use crate::live::kernel::Programs;
use crate::live::process::Running;
use crate::live::recorded::{counts_of_thread, ledger, names, of_thread, open};
use crate::live::{FATHOM, ebpf_is_allowed, fathom, jdks, json, patiently, said};

/// A span lies within what the program measured around it, give or take clocks that are read one
/// after the other.
const CLOCKS_NS: f64 = 1e6;

/// Starts the program and records it to its end.
const RECORD: &str = r#"
"$JAVA" -XX:+UseSerialGC -Xmx64m -cp . Calls "$PWD" $HOSTS > measured.txt & jvm=$!
"$FATHOM" record -p $jvm --without jvm-events --force -o x.fathom 2> said.txt; status=$?
cat said.txt >&2
kill $jvm 2> /dev/null
exit $status
"#;

/// Runs a script that records the program, and lets the program begin once it is watched. `None`,
/// when the script finds that it cannot run here.
fn recorded(dir: &Path, java: &Path, hosts: &str, mut shell: Command, script: &str) -> Option<String> {
    let (go, said) = (dir.join("go"), dir.join("said.txt"));
    let _ = (std::fs::remove_file(&go), std::fs::remove_file(&said));
    let _ = std::fs::remove_dir_all(dir.join("x.fathom"));
    shell.current_dir(dir).arg(script).env("JAVA", java).env("HOSTS", hosts);
    shell.env("FATHOM", FATHOM).stderr(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(90);
    while child.try_wait().unwrap().is_none() && Instant::now() < patience {
        if !go.exists() && std::fs::read_to_string(&said).is_ok_and(|said| said.contains("recording pid")) {
            std::fs::write(&go, "").unwrap();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    let reported = std::fs::read_to_string(dir.join("measured.txt")).unwrap_or_default();
    let shown = format!("{}: {}{reported}", java.display(), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(CANNOT) {
        return None;
    }
    assert!(output.status.success(), "{shown}");
    Some(shown)
}

/// The status with which a script says that it cannot run here.
const CANNOT: i32 = 66;

/// What a step of the program took, nanoseconds, how it ended, and what it was about.
fn steps(dir: &Path) -> BTreeMap<String, Vec<(f64, String, String)>> {
    let mut steps: BTreeMap<String, Vec<(f64, String, String)>> = BTreeMap::new();
    for line in std::fs::read_to_string(dir.join("measured.txt")).unwrap().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["step", name, ns, outcome, what] = words[..] {
            let step = (ns.parse().unwrap(), outcome.to_owned(), what.to_owned());
            steps.entry(name.to_owned()).or_default().push(step);
        }
    }
    steps
}

#[track_caller]
fn has_method(recording: &Recording, span: &Span<'_>, method: &str, shown: &str) {
    let names = names(recording, span.stack());
    assert!(names.contains(&method), "{shown}: {}: {names:?}", span.name());
}

/// Spans in words.
fn list(spans: &[Span<'_>]) -> String {
    let one = |span: &Span<'_>| {
        let labels: Vec<_> = span.labels().collect();
        format!("{} {} {:.3} ms {labels:?}", span.kind(), span.name(), span.duration_ns() as f64 / 1e6)
    };
    spans.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn sum_ns(spans: &[Span<'_>]) -> f64 {
    spans.iter().map(|span| span.duration_ns() as f64).sum()
}

#[test]
fn calls_of_a_jvm_are_counted_exactly_and_reported_with_file_peer_and_method() {
    patiently(|| {
        if !ebpf_is_allowed() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        for (_, home) in jdks::each(jdks::with_program(dir.path(), "Calls")) {
            let place = dir.path().canonicalize().unwrap();
            let place = place.to_str().unwrap();
            let mut shell = Command::new("bash");
            shell.arg("-c");
            let shown = recorded(dir.path(), &home.join("bin/java"), "", shell, RECORD).unwrap();
            let (recording, steps) = (open(dir.path(), "x.fathom"), steps(dir.path()));
            let took = |step: &str| steps[step][0].clone();

            // Ten thousand writes are ten thousand calls, and together no longer than the program
            // says.
            let totals = counts_of_thread(&recording, count::SYSCALL_TOTALS, "writer");
            let writes: Vec<_> = totals.iter().filter(|made| made.name() == "write").collect();
            assert_eq!(writes.iter().map(|made| made.count()).sum::<u64>(), 10_000, "{shown}");
            let total_ns: u64 = writes.iter().filter_map(|made| made.total_ns()).sum();
            assert!(total_ns as f64 <= took("writer").0 + CLOCKS_NS, "{shown}: {total_ns}");
            let lengths = |made: &Count<'_>| -> f64 {
                made.figures()
                    .filter(|(key, _)| key.starts_with(figure::CALLS_FROM_NS_PREFIX))
                    .map(|(_, n)| n)
                    .sum()
            };
            let by_length: f64 = writes.iter().map(|made| lengths(made)).sum();
            let timed = |made: &Count<'_>| made.figure(figure::TIMED).unwrap_or(made.count() as f64);
            assert_eq!(by_length, writes.iter().map(|made| timed(made)).sum::<f64>(), "{shown}");

            // What a disk takes for a sync is nobody's to say; it is within what the program
            // measured, and on its file.
            let syncs = of_thread(&recording, kind::SYSCALL, "syncer");
            let path = format!("{place}/synced.dat");
            let on_file = |call: &Span<'_>| call.label(label::PATH) == Some(path.as_str());
            let large = |call: &Span<'_>| call.figure(figure::REQUESTED_BYTES) == Some(f64::from(1 << 20));
            let disk = |call: &Span<'_>| ["fsync", "fdatasync"].contains(&call.name()) || large(call);
            assert!(syncs.iter().all(|call| on_file(call) || !disk(call)), "{shown}: {}", list(&syncs));
            assert!(sum_ns(&syncs) <= took("syncer").0 + CLOCKS_NS, "{shown}");
            for sync in syncs.iter().filter(|call| call.name() == "fsync") {
                has_method(&recording, sync, "Calls.sync", &shown);
            }

            // A read that had to wait 400 ms, less what a busy machine took before the call began;
            // no longer than the program says.
            let (measured, outcome, peer) = took("reader");
            assert_eq!(outcome, "done", "{shown}");
            let reads = of_thread(&recording, kind::SYSCALL, "reader");
            let waited =
                |call: &&Span<'_>| call.duration_ns() > 100_000_000 && call.label(label::PEER) == Some(&peer);
            let read = reads.iter().find(waited);
            let read = read.unwrap_or_else(|| panic!("{shown}: {}", list(&reads)));
            let ns = read.duration_ns() as f64;
            assert!((200e6..=measured + CLOCKS_NS).contains(&ns), "{shown}: {ns} of {measured}");
            has_method(&recording, read, "Calls.read", &shown);

            // Both ends of the connection name each other, and the one that accepted it says so.
            assert_eq!(read.label(label::ACCEPTED), None, "{shown}");
            let served = of_thread(&recording, kind::SYSCALL, "answerer");
            let served = served.iter().find(|call| call.label(label::PEER) == read.label(label::OWN));
            let served = served.unwrap_or_else(|| panic!("{shown}: {}", list(&reads)));
            assert_eq!(served.label(label::OWN), Some(peer.as_str()), "{shown}");
            assert_eq!(served.label(label::ACCEPTED), Some("yes"), "{shown}");

            // Who refuses answers at once.
            let refused = of_thread(&recording, kind::NET_CONNECT, "refused");
            let [connect] = &refused[..] else { panic!("{shown}: {}", list(&refused)) };
            assert_eq!(connect.label(label::PEER), Some(took("refused").2.as_str()), "{shown}");
            assert_eq!(connect.label(label::ERROR), Some("ECONNREFUSED"), "{shown}");
            assert!(connect.duration_ns() as f64 <= took("refused").0 + CLOCKS_NS, "{shown}");
            has_method(&recording, connect, "Calls.connect", &shown);

            // Who does not answer is waited for until the program gives up.
            let (measured, outcome, peer) = took("unanswered");
            assert_eq!(outcome, "SocketTimeoutException", "{shown}");
            let unanswered = of_thread(&recording, kind::NET_CONNECT, "unanswered");
            let Some(connect) = unanswered.iter().max_by_key(|span| span.duration_ns()) else {
                panic!("{shown}")
            };
            let ns = connect.duration_ns() as f64;
            assert!((2_550e6..=measured + CLOCKS_NS).contains(&ns), "{shown}: {ns} of {measured}");
            assert_eq!(connect.label(label::PEER), Some(peer.as_str()), "{shown}");
            assert_eq!(connect.label(label::REASON), Some("given up by the program"), "{shown}");
            has_method(&recording, connect, "Calls.connect", &shown);
            let again: Vec<_> = recording.spans_of(kind::NET_RETRANSMIT).collect();
            assert!(
                again.iter().any(|span| span.label(label::PEER) == Some(peer.as_str())),
                "{shown}: {}",
                list(&again)
            );

            // The ledger names what was waited for.
            let ledger = ledger(dir.path(), &shown);
            let groups = ledger["groups"].as_array().unwrap();
            let reader = groups.iter().find(|g| g["name"].as_str().unwrap().starts_with("reader")).unwrap();
            let network =
                reader["spent"].as_array().unwrap().iter().find(|s| s["category"] == "network").unwrap();
            assert_eq!(network["on"][0]["name"], took("reader").2, "{shown}: {network}");
            assert!(network["on"][0]["ms"].as_f64().unwrap() > 200.0, "{shown}: {network}");
        }
    });
}

/// Calls of a command by name, as `strace -c` has them.
fn strace(dir: &Path, command: &[&str]) -> Option<BTreeMap<String, f64>> {
    let table = dir.join("strace.txt");
    let traced = Command::new("strace").args(["-f", "-c", "-o"]).arg(&table).args(command).output();
    let Ok(true) = traced.map(|output| output.status.success()) else {
        fathom_testing::skip("in part: no strace");
        return None;
    };
    let text = std::fs::read_to_string(table).unwrap();
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let calls = words.get(3)?.parse().ok()?;
        Some(((*words.last()?).to_owned(), calls)).filter(|(name, _): &(String, f64)| name != "total")
    };
    Some(text.lines().filter_map(row).collect())
}

#[test]
fn counts_by_call_are_those_of_strace() {
    patiently(|| {
        if !ebpf_is_allowed() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let command = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=20000"];
        let Some(expected) = strace(dir.path(), &command) else { return };
        let record = ["record", "--without", "cpu", "--without", "host", "-o", "x.fathom", "--"];
        let output = fathom(dir.path(), &[&record[..], &command].concat());
        assert!(output.status.success(), "{}", said(&output));
        let recording = open(dir.path(), "x.fathom");
        let mut counted: BTreeMap<&str, f64> = BTreeMap::new();
        for made in recording.counts_of(count::SYSCALL_TOTALS) {
            *counted.entry(made.name()).or_default() += made.count() as f64;
        }
        assert!(expected["write"] > 20_000.0 && expected["read"] > 20_000.0, "{expected:?}");
        for (name, calls) in &expected {
            let found = counted.get(name.as_str()).copied().unwrap_or(0.0);
            // The child that becomes the command makes a few calls before it does.
            let own = if matches!(name.as_str(), "write" | "lseek" | "dup2") { 0.0 } else { 60.0 };
            assert!(
                found >= *calls - 1.0 && found <= calls + own,
                "{name}: {found} of {calls}: {counted:?} {expected:?}"
            );
        }
    });
}

#[test]
fn calls_of_a_thread_that_makes_a_million_a_second_are_counted_one_by_one_and_timed_in_turn() {
    /// Two calls each.
    const BLOCKS: f64 = 3e6;
    patiently(|| {
        if !ebpf_is_allowed() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let blocks = format!("count={BLOCKS}");
        let command = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", blocks.as_str()];
        let output = fathom(dir.path(), &[&["record", "-o", "x.fathom", "--"][..], &command].concat());
        assert!(output.status.success(), "{}", said(&output));
        let recording = open(dir.path(), "x.fathom");
        let sum = |call: &str, of: fn(&Count<'_>) -> f64| -> f64 {
            recording
                .counts_of(count::SYSCALL_TOTALS)
                .filter(|made| made.name() == call)
                .map(|made| of(&made))
                .sum()
        };
        let timed = |call| sum(call, |made| made.figure(figure::TIMED).unwrap_or(0.0));
        let shown = format!("{} {:?}", said(&output), ["read", "write"].map(timed));
        // What dd says at its end, and what it reads before it begins.
        for (call, others) in [("read", 60.0), ("write", 5.0)] {
            let calls = sum(call, |made| made.count() as f64);
            assert!(calls >= BLOCKS && calls <= BLOCKS + others, "{call}: {calls}: {shown}");
            let timed = timed(call);
            assert!(timed > BLOCKS / 1e4 && timed < BLOCKS / 10.0, "{call}: {shown}");
        }
        let share = timed("read") / timed("write");
        assert!((0.5..2.0).contains(&share), "calls that alternate are both timed: {shown}");
        let recorded_ns = recording.counts_of(count::SYSCALL_TOTALS).map(|c| c.t1_ns()).max().unwrap()
            - recording.counts_of(count::SYSCALL_TOTALS).map(|c| c.t0_ns()).min().unwrap();
        let total_ns = |call| sum(call, |made| made.total_ns().unwrap_or(0) as f64);
        let within = total_ns("read") + total_ns("write");
        assert!(within > 0.05 * recorded_ns as f64 && within < recorded_ns as f64, "{within}: {shown}");
    });
}

#[test]
fn calls_of_threads_that_live_for_a_millisecond_are_all_counted() {
    patiently(|| {
        if !ebpf_is_allowed() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/brief_threads.py");
        let command = ["python3", program.to_str().unwrap(), "40000"];
        let record = ["record", "--without", "cpu", "--without", "host", "-o", "x.fathom", "--"];
        let output = fathom(dir.path(), &[&record[..], &command].concat());
        let shown = said(&output);
        assert!(output.status.success(), "{shown}");
        let made = String::from_utf8(output.stdout).unwrap();
        let made: BTreeMap<&str, f64> = (made.lines())
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(call, times)| Some((call, times.parse().ok()?)))
            .collect();
        assert_eq!(made.len(), 10, "{made:?}: {shown}");
        let recording = open(dir.path(), "x.fathom");
        let source = recording.sources.iter().find(|source| source.format == "syscalls").unwrap();
        let is_full = |unseen: &fathom_recording::Unseen| unseen.what.contains("in the totals");
        assert!(source.lost == 0 && !source.unseen.iter().any(is_full), "{source:?}: {shown}");
        for (call, times) in &made {
            let totals = recording.counts_of(count::SYSCALL_TOTALS).filter(|made| made.name() == *call);
            let calls: f64 = totals.map(|made| made.count() as f64).sum();
            // The interpreter makes a few of its own when it begins.
            assert!(calls >= *times && calls <= times + 20.0, "{call}: {calls} of {times}: {shown}");
        }
        // They are too many to be listed one by one: with some twenty calls each, that would be
        // 800,000 rows.
        let together = counts_of_thread(&recording, count::SYSCALL_TOTALS, "threads that have ended").len();
        let all = recording.counts_of(count::SYSCALL_TOTALS).count();
        eprintln!("{together} of {all} rows are of threads that have ended");
        assert!(together > 0 && all < 80_000, "{together} of {all} rows: {shown}");
    });
}

/// Names are resolved by a server of our own, in a network and with a resolv.conf of its own.
const NAMESPACE: &str = r#"
ip link set lo up || exit 66
printf 'nameserver 127.0.0.1\noptions timeout:2 attempts:1\n' > resolv.conf && mount --bind resolv.conf /etc/resolv.conf || exit 66
printf 'hosts: files dns\n' > nsswitch.conf && mount --bind nsswitch.conf /etc/nsswitch.conf || exit 66
python3 "$RESOLVER" 1.2 > ready & server=$!
for i in $(seq 100); do [ -s ready ] && break; sleep 0.1; done
[ -s ready ] || exit 66
trap 'kill $server' EXIT
"#;

#[test]
fn look_ups_are_reported_by_name_server_and_lost_questions_and_diagnosed() {
    patiently(|| {
        if !ebpf_is_allowed() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let Some((_, home)) = jdks::with_program(dir.path(), "Calls").into_iter().next() else { return };
        let mut shell = Command::new("unshare");
        shell.args(["-mn", "bash", "-c"]);
        shell.env("RESOLVER", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/resolver.py"));
        let script = format!("{NAMESPACE}{RECORD}");
        let hosts = "slow0.test lost0.test slow1.test lost1.test";
        let Some(shown) = recorded(dir.path(), &home.join("bin/java"), hosts, shell, &script) else {
            fathom_testing::skip("no network of its own with a resolver can be made here");
            return;
        };
        let (recording, steps) = (open(dir.path(), "x.fathom"), steps(dir.path()));
        for (measured, outcome, host) in &steps["resolver"] {
            let lost = host.starts_with("lost");
            assert_eq!(outcome, if lost { "UnknownHostException" } else { "done" }, "{shown}");
            let spans: Vec<_> =
                recording.spans_of(kind::NET_DNS).filter(|span| span.name() == host).collect();
            let [span] = &spans[..] else { panic!("{shown}: {host}: {}", list(&spans)) };
            let (ns, least) = (span.duration_ns() as f64, if lost { 2000e6 } else { 1200e6 });
            assert!(
                (least * 0.98..=measured + CLOCKS_NS).contains(&ns),
                "{shown}: {host}: {ns} of {measured}"
            );
            assert_eq!(span.label(label::PEER), Some("127.0.0.1:53"), "{shown}");
            assert_eq!(span.figure(figure::TIMEOUTS).unwrap() > 0.0, lost, "{shown}: {host}");
            assert_eq!(span.label(label::ERROR).is_some(), lost, "{shown}: {host}");
            has_method(&recording, span, "Calls.resolve", &shown);
        }
        let verdict = json(dir.path(), &["diagnose", "x.fathom"]);
        let found: Vec<&str> =
            verdict["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect();
        assert!(found.contains(&"dns-timeout") && found.contains(&"dns-slow"), "{found:?}: {verdict}");
    });
}

#[test]
fn a_killed_recording_leaves_no_probe_behind_and_its_target_alive() {
    if !ebpf_is_allowed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut sleep = Running::start(Command::new("sleep").arg("120"));
    let mut record = Command::new(FATHOM);
    record.current_dir(dir.path()).args(["record", "-p", &sleep.pid(), "-o", "x.fathom"]);
    let mut record = Running::start(record.stderr(Stdio::null()));
    std::thread::sleep(Duration::from_secs(5));
    assert!(record.0.try_wait().unwrap().is_none(), "the recording has ended");
    let programs = Programs::of(record.0.id());
    record.0.kill().unwrap();
    record.0.wait().unwrap();
    assert!(sleep.0.try_wait().unwrap().is_none(), "the target has ended");
    programs.are_gone();
}
