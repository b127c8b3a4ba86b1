//! `fathom agent` with real JVMs: their rows are in the place exactly once, whatever is killed and
//! whatever goes away meanwhile. Needs root and eBPF; skips loudly without.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

mod agent_rows;
mod live;

use std::cell::{RefCell, RefMut};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fathom_testing::s3::Server;

use agent_rows::{Recorded, files, recorded, unseen};
use live::process::{Running, Talking};
use live::recorder::Recorder;
use live::{FATHOM, ebpf_is_allowed, fathom, jdks, said};
use serde_json::Value;

/// Nothing here takes longer, on any machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// A folder with a place, a spool and a program.
struct Host {
    dir: tempfile::TempDir,
    jdks: Vec<(u64, PathBuf)>,
    /// The place is in it, and the folder has copies.
    bucket: Option<RefCell<Server>>,
}

impl Host {
    /// `None`, loudly, where this machine cannot do it.
    fn new(program: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("place")).unwrap();
        jdks::compile(dir.path(), 11, &[program])?;
        let jdks = jdks::of(&[17, 25]);
        (ebpf_is_allowed() && !jdks.is_empty()).then_some(Self { dir, jdks, bucket: None })
    }

    /// The same with a bucket as its place.
    fn with_bucket(program: &str) -> Option<Self> {
        let bucket = Some(RefCell::new(Server::start()?));
        Some(Self { bucket, ..Self::new(program)? })
    }

    fn bucket(&self) -> RefMut<'_, Server> {
        self.bucket.as_ref().unwrap().borrow_mut()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn jvm(&self, home: &Path, program: &str, label: &str) -> Talking {
        let mut java = Command::new(home.join("bin/java"));
        java.current_dir(self.dir.path()).args(["-Xmx64m", "-XX:+UseSerialGC", "-cp", "."]);
        Talking::start(java.arg(format!("-Dfathom.test={label}")).arg(program))
    }

    fn command(&self, label: &str, more: &[&str]) -> Command {
        let mut agent = Command::new(FATHOM);
        let only = format!("property:fathom.test={label}");
        agent.current_dir(self.dir.path()).args(["agent", "--where", &only, "--spool", "spool"]);
        match &self.bucket {
            Some(bucket) => agent.args(["--to", "s3://fleet/prod"]).envs(bucket.borrow().environment()),
            None => agent.args(["--to", "place"]),
        };
        // What a busy machine makes of it is not looked at here.
        if !more.contains(&"--max-cpu") {
            agent.args(["--max-cpu", "1000"]);
        }
        agent.args(["--max-memory", "1GB"]).args(more);
        agent
    }

    fn start(&self, label: &str, more: &[&str]) -> Recorder {
        let agent = Recorder::start(&mut self.command(label, more), "attached in");
        agent.unwrap_or_else(|(_, said)| panic!("it does not record: {said}"))
    }

    fn status(&self) -> Value {
        let output = fathom(self.dir.path(), &["agent", "--status", "--json", "--spool", "spool"]);
        assert!(output.status.success(), "{}", said(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Names of what waits.
    fn waiting(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("spool/rows")).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    /// Ids of recordings whose rows wait.
    fn waiting_ids(&self) -> Vec<String> {
        recorded(&self.path("spool/rows")).into_iter().map(|recorded| recorded.id).collect()
    }

    fn recorded(&self) -> Vec<Recorded> {
        if let Some(bucket) = &self.bucket {
            bucket.borrow_mut().copy_to(&self.path("place"));
        }
        recorded(&self.path("place"))
    }
}

/// Waits until something holds.
#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Each recording is there once and whole, and those of one JVM do not overlap.
#[track_caller]
fn assert_once(place: &Path, all: &[Recorded]) {
    for one in all {
        let its: Vec<PathBuf> =
            files(place).into_iter().filter(|f| f.to_string_lossy().contains(&one.id)).collect();
        assert_eq!(its.len(), 9, "{its:?}");
        assert_eq!(one.frames_cpu_ns, one.cpu_ns, "{one:?}");
        assert_eq!(all.iter().filter(|other| other.id == one.id).count(), 1, "{one:?}");
        let day =
            jiff::Timestamp::from_nanosecond(one.start_ns.into()).unwrap().strftime("%Y-%m-%d").to_string();
        assert!(its.iter().all(|file| file.to_string_lossy().contains(&format!("day={day}/"))), "{its:?}");
    }
    for (i, one) in all.iter().enumerate() {
        let of_same =
            |other: &&Recorded| (&other.service, &other.jvm_version) == (&one.service, &one.jvm_version);
        for other in all[i + 1..].iter().filter(of_same) {
            assert!(one.end_ns <= other.start_ns || other.end_ns <= one.start_ns, "{one:?} {other:?}");
        }
    }
    let half =
        files(place).into_iter().find(|file| file.extension().is_some_and(|extension| extension == "tmp"));
    assert_eq!(half, None);
}

#[test]
fn jvms_are_found_and_recorded_and_their_rows_appear() {
    let Some(host) = Host::new("Computing") else { return };
    let agent = host
        .start("two", &["--every", "2s", "--service", "sums", "--version-label", "2.3", "--label", "zone=b"]);
    // Those that come later are found too.
    let _jvms: Vec<Talking> = host.jdks.iter().map(|(_, home)| host.jvm(home, "Computing", "two")).collect();
    let other = host.jvm(&host.jdks[0].1, "Computing", "other");
    let seen =
        |release: u64| move |r: &Recorded| r.jvm_version.starts_with(&format!("{release}.")) && r.cpu_ns > 0;
    until("rows of each JVM", || {
        let all = host.recorded();
        host.jdks.iter().all(|(release, _)| all.iter().filter(|r| seen(*release)(r)).count() >= 2)
    });
    until("the status", || host.status()["jvms"].as_array().unwrap().len() == host.jdks.len());
    let status = host.status();
    assert_eq!(
        (&status["running"], &status["state"]),
        (&Value::Bool(true), &Value::from("recording")),
        "{status}"
    );
    assert!(!status["jvms"].to_string().contains(&format!("\"pid\":{}", other.pid())), "{status}");
    let second = host.command("two", &[]).output().unwrap();
    assert_eq!(second.status.code(), Some(3), "{}", said(&second));
    assert!(said(&second).contains("another fathom agent is running"), "{}", said(&second));
    let (code, reported) = agent.end("TERM");
    assert_eq!(code, Some(0), "{reported}");
    assert_eq!(host.waiting(), [""; 0], "{reported}");
    assert_eq!(host.status()["running"], false);
    let all = host.recorded();
    assert_once(&host.path("place"), &all);
    let (own, jvms): (Vec<_>, Vec<_>) = all.iter().partition(|r| r.service == "fathom-agent");
    assert!(own.len() >= 2 && jvms.len() >= 4, "{all:?}");
    assert!(
        jvms.iter().all(|r| r.service == "sums" && r.version == "2.3" && r.labels == "zone=b"),
        "{all:?}"
    );
    assert!(all.iter().all(|r| !r.host.is_empty()), "{all:?}");
}

/// The next of a sequence that is the same in each run.
fn random(state: &mut u64, below: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state % below
}

#[test]
fn whenever_it_is_killed_each_recording_is_in_the_place_exactly_once() {
    let Some(host) = Host::new("Computing") else { return };
    is_killed(&host, Duration::from_secs(20));
}

#[test]
fn whenever_it_is_killed_each_recording_is_in_the_bucket_exactly_once() {
    let Some(host) = Host::with_bucket("Computing") else { return };
    is_killed(&host, Duration::from_secs(12));
    let objects = files(&host.path("place")).len();
    // What was put again was not put in place of what was there.
    let versions = host.bucket().versions();
    let unfinished = host.bucket().unfinished_uploads();
    assert_eq!((versions, unfinished), (objects, 0));
}

/// Kills it for so long, or as often as is asked for.
fn is_killed(host: &Host, lasts: Duration) {
    // Several of these run at once, in one process or in many: each records its own JVM.
    let label = &host.dir.path().display().to_string();
    let _jvm = host.jvm(&host.jdks[0].1, "Computing", label);
    let (mut state, mut promised) = (0x9e37_79b9_7f4a_7c15_u64, Vec::new());
    // scripts/agent-kills.sh asks for many more.
    let asked = std::env::var("FATHOM_AGENT_KILLS").ok().and_then(|kills| kills.parse().ok());
    let end = Instant::now() + lasts;
    let mut kills = 0;
    while asked.map_or(Instant::now() < end || kills < 3, |asked: usize| kills < asked) {
        let mut agent =
            Running::start(host.command(label, &["--every", "1s"]).stderr(std::process::Stdio::null()));
        // Anything from its start to its third interval.
        std::thread::sleep(Duration::from_millis(random(&mut state, 9_000)));
        agent.signal("KILL");
        agent.end();
        kills += 1;
        // What the spool has as a whole must arrive.
        promised.extend(host.waiting_ids());
    }
    let agent = host.start(label, &["--every", "1s"]);
    std::thread::sleep(Duration::from_secs(5));
    let (code, reported) = agent.end("TERM");
    assert_eq!((code, host.waiting()), (Some(0), Vec::new()), "{reported}");
    let all = host.recorded();
    assert_once(&host.path("place"), &all);
    let lost: Vec<&String> = promised.iter().filter(|id| all.iter().all(|r| r.id != **id)).collect();
    assert!(lost.is_empty(), "{kills} kills: {lost:?}");
    assert!(all.len() > kills / 4, "{kills} kills, {} recordings", all.len());
    let left: Vec<PathBuf> =
        ["making", "gone"].iter().flat_map(|part| files(&host.path("spool").join(part))).collect();
    assert!(left.iter().all(|file| file.ends_with("status.json")), "{left:?}");
}

#[test]
fn a_bucket_that_is_away_gets_everything_when_it_is_back() {
    let Some(host) = Host::with_bucket("Computing") else { return };
    host.bucket().go_away();
    let _jvm = host.jvm(&host.jdks[0].1, "Computing", "away-bucket");
    let agent = host.start("away-bucket", &["--every", "1s"]);
    until("intervals that wait", || host.waiting().len() >= 3);
    until("that it is reported", || host.status()["place"]["works"] == false);
    let status = host.status().to_string();
    assert!(status.contains("s3://fleet/prod: it cannot be reached: Connection refused"), "{status}");
    assert!(host.bucket().keys().iter().all(|key| !status.contains(key.as_str())), "{status}");
    let waiting = host.waiting_ids();
    host.bucket().come_back();
    until("what waited", || {
        let all = host.recorded();
        waiting.iter().all(|id| all.iter().any(|r| r.id == *id))
    });
    until("that it works", || host.status()["place"]["works"] == true);
    let (code, reported) = agent.end("TERM");
    assert_eq!((code, host.waiting()), (Some(0), Vec::new()), "{reported}");
    assert!(
        reported.contains("waits on this host") && reported.contains("accepts uploads again"),
        "{reported}"
    );
    assert_once(&host.path("place"), &host.recorded());
    assert_eq!(host.status()["spool"]["dropped_recordings"], 0);
}

#[test]
fn a_place_that_is_away_gets_everything_when_it_is_back() {
    let Some(host) = Host::new("Computing") else { return };
    std::fs::remove_dir(host.path("place")).unwrap();
    let _jvm = host.jvm(&host.jdks[0].1, "Computing", "away");
    let agent = host.start("away", &["--every", "1s"]);
    until("intervals that wait", || host.waiting().len() >= 4);
    until("that it is reported", || host.status()["place"]["works"] == false);
    assert!(host.status()["place"]["why"].as_str().unwrap().contains("No such file"), "{}", host.status());
    let waiting = host.waiting_ids();
    std::fs::create_dir(host.path("place")).unwrap();
    until("what waited", || {
        let all = host.recorded();
        waiting.iter().all(|id| all.iter().any(|r| r.id == *id))
    });
    until("that it works", || host.status()["place"]["works"] == true);
    let (code, reported) = agent.end("TERM");
    assert_eq!(code, Some(0), "{reported}");
    assert_once(&host.path("place"), &host.recorded());
    assert_eq!(host.status()["spool"]["dropped_recordings"], 0);
}

/// A disk of so many kilobytes, unmounted with the test.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: &Path, kilobytes: u32) -> Option<Self> {
        let size = format!("size={kilobytes}k");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at).status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(at.to_path_buf()));
        }
        fathom_testing::skip("no tmpfs may be mounted here");
        None
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn on_a_full_disk_the_oldest_rows_are_dropped_and_counted_and_the_rest_arrives() {
    let Some(host) = Host::new("Computing") else { return };
    let Some(disk) = Disk::mount(&host.path("place"), 64) else { return };
    let _jvm = host.jvm(&host.jdks[0].1, "Computing", "full");
    let agent = host.start("full", &["--every", "1s", "--max-disk", "300k"]);
    until("recordings that are dropped", || {
        host.status()["spool"]["dropped_recordings"].as_u64().is_some_and(|dropped| dropped > 2)
    });
    let status = host.status();
    assert_eq!(status["place"]["works"], false, "{status}");
    assert!(status["spool"]["bytes"].as_u64().unwrap() <= 400 << 10, "{status}");
    // Room again.
    let more = Command::new("mount").args(["-o", "remount,size=64m"]).arg(&disk.0).status().unwrap();
    assert!(more.success());
    let dropped = host.status()["spool"]["dropped_recordings"].as_u64().unwrap();
    until("that it works", || host.status()["place"]["works"] == true);
    until("rows that say so", || {
        unseen(&host.path("place")).iter().any(|(what, _)| what.contains("recordings of this host"))
    });
    let (code, reported) = agent.end("TERM");
    assert_eq!((code, host.waiting()), (Some(0), Vec::new()), "{reported}");
    assert!(host.status()["spool"]["dropped_recordings"].as_u64().unwrap() >= dropped);
    assert_once(&host.path("place"), &host.recorded());
}

#[test]
#[ignore = "make test-long"]
fn above_its_cpu_limit_it_lowers_its_rate_and_says_so_in_status_and_rows() {
    let Some(host) = Host::new("Computing") else { return };
    let _jvm = host.jvm(&host.jdks[0].1, "Computing", "limits");
    let agent = host.start("limits", &["--every", "2s", "--max-cpu", "0.001"]);
    until("a lower rate", || host.status()["state"] == "reduced");
    let status = host.status();
    assert!(status["rate_hz"].as_u64().is_some_and(|hz| hz < 99), "{status}");
    assert!(status["why"].as_str().unwrap().contains("0.00% are allowed"), "{status}");
    until("a pause", || host.status()["state"] == "paused");
    until("rows of the pause", || {
        let reported = unseen(&host.path("place"));
        let has =
            |what: &str| reported.iter().any(|(w, why)| w.contains(what) && why.contains("keeps its limits"));
        has("CPU samples at the requested rate") && has("everything")
    });
    let (code, reported) = agent.end("TERM");
    assert_eq!(code, Some(0), "{reported}");
    assert_once(&host.path("place"), &host.recorded());
}

#[test]
fn what_is_slow_arrives_as_a_whole_recording() {
    let Some(host) = Host::new("Slow") else { return };
    let mut jvm = host.jvm(&host.jdks[0].1, "Slow", "slow");
    let args =
        ["--every", "2s", "--on-slow", "lock>1s", "--before", "2s", "--after", "1s", "--service", "slow"];
    let agent = host.start("slow", &args);
    std::thread::sleep(Duration::from_secs(3));
    jvm.send("lock 3000");
    assert_eq!(jvm.line(), Some("done"));
    let incident = || {
        files(&host.path("place/incidents")).into_iter().find(|f| f.extension().is_some_and(|e| e == "tar"))
    };
    until("the incident", || incident().is_some());
    let (code, reported) = agent.end("TERM");
    assert_eq!(code, Some(0), "{reported}");
    let path = incident().unwrap();
    assert!(path.to_string_lossy().contains("service=slow"), "{}", path.display());
    let recording = fathom_recording::open(&path).unwrap();
    let slow = recording.spans_of(fathom_recording::vocabulary::kind::SLOW);
    assert!(
        slow.into_iter().any(|span| span.name() == "lock>1s" && span.duration_ns() > 2_000_000_000),
        "{reported}"
    );
    assert_eq!(host.status()["incidents"]["written"], 1);
    assert_once(&host.path("place"), &host.recorded());
}

#[test]
fn a_jvm_of_another_user_is_named_with_the_reason() {
    let Some(host) = Host::new("Computing") else { return };
    let jvm = host.jvm(&host.jdks[0].1, "Computing", "closed");
    use std::os::unix::fs::{PermissionsExt, chown};
    std::fs::set_permissions(host.dir.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    let program = host.path("fathom");
    std::fs::copy(FATHOM, &program).unwrap();
    std::fs::create_dir(host.path("spool")).unwrap();
    ["place", "spool"].iter().for_each(|dir| chown(host.path(dir), Some(65_534), Some(65_534)).unwrap());
    let mut agent = Command::new("setpriv");
    agent
        .current_dir(host.dir.path())
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program);
    agent.args([
        "agent",
        "--where",
        "property:fathom.test=closed",
        "--to",
        "place",
        "--spool",
        "spool",
        "--every",
        "1s",
    ]);
    let agent = Recorder::start(&mut agent, "fathom: ").unwrap_or_else(|(_, said)| panic!("{said}"));
    let what = format!("the JVM {}", jvm.pid());
    until("rows that name it", || {
        unseen(&host.path("place")).iter().any(|(w, why)| *w == what && why.contains("uid 0"))
    });
    let reported = unseen(&host.path("place"));
    assert!(reported.iter().any(|(what, _)| what.contains("eBPF") || what == "everything"), "{reported:?}");
    // The status is written apart from the rows.
    until("a status that names it", || host.status()["unseen"].to_string().contains(&what));
    assert_eq!(agent.end("TERM").0, Some(0));
}
