//! The scheduler's collector on a real JVM: threads with known waits, and the ledger that must add
//! up to them. Needs root and eBPF; skips loudly without.

use std::path::Path;
use std::process::Command;

use fathom_recording::Span;
use fathom_recording::vocabulary::{kind, label, sample};

use crate::live::process::Talking;
use crate::live::recorded::{self, ledger};
use crate::live::{fathom, jdks, patiently, said};

/// A program, running; `None`, and a line about it, where there is no JDK.
fn program(dir: &Path, class: &str, argument: &str) -> Option<Talking> {
    let home = jdks::compile(dir, 11, &[class])?;
    let mut java = Command::new(home.join("bin/java"));
    Some(Talking::start(java.args(["-XX:+UseSerialGC", "-cp"]).arg(dir).args([class, argument])))
}

/// Records it; `false`, and a line about it, where that is not possible here.
#[track_caller]
fn recorded(dir: &Path, args: &[&str]) -> bool {
    let output = fathom(dir, args);
    let said = said(&output);
    if output.status.code() == Some(3) && said.contains("eBPF") {
        fathom_testing::skip(&format!("the scheduler cannot be watched here: {said}"));
        return false;
    }
    assert!(output.status.success(), "{said}");
    true
}

fn thread<'a>(ledger: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let groups = ledger["groups"].as_array().unwrap();
    groups
        .iter()
        .find(|g| g["name"].as_str().unwrap().starts_with(name))
        .unwrap_or_else(|| panic!("no {name}: {ledger}"))
}

/// Share of a thread's time under categories whose words begin with any of these.
fn share(thread: &serde_json::Value, words: &[&str]) -> f64 {
    let spent = thread["spent"].as_array().unwrap().iter();
    let under = spent.filter(|s| words.iter().any(|w| s["words"].as_str().unwrap().starts_with(w)));
    under.map(|s| s["ms"].as_f64().unwrap()).sum::<f64>() / thread["thread_ms"].as_f64().unwrap()
}

#[test]
fn known_waits_stand_in_the_ledger_and_every_threads_time_adds_up() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let Some(jvm) = program(dir.path(), "Waits", "120") else { return };
        let args = ["record", "-p", &jvm.pid(), "-d", "6s", "-o", "x.fathom", "--without", "jvm-events"];
        if !recorded(dir.path(), &args) {
            return;
        }
        let ledger = ledger(dir.path(), "Waits");
        // What waits for a CPU is the machine's doing, and stands apart from what the program does;
        // and so does what was sampled before the last collector had begun, or after the first had
        // ended, which takes its time on a busy machine.
        let on_its_own = |name: &str, words: &[&str]| {
            let thread = thread(&ledger, name);
            share(thread, words) / (1.0 - share(thread, &["waiting for a CPU", "unknown"]))
        };
        let burner = thread(&ledger, "burner");
        let known_ms = burner["thread_ms"].as_f64().unwrap() * (1.0 - share(burner, &["unknown"]));
        assert!(known_ms > 4_000.0, "of six seconds of the burner {known_ms} ms are known: {ledger}");
        let off = ["blocked", "asleep", "idle", "waiting for another"];
        let sleeps = on_its_own("sleeper", &off);
        assert!(sleeps > 0.97, "the sleeper sleeps {sleeps}: {ledger}");
        // The JVM stops it for safepoints, which are not watched here: a lock of the JVM's own.
        let runs = on_its_own("burner", &["running", "stopped", "blocked: native lock"]);
        assert!(runs > 0.9, "the burner runs {runs}: {ledger}");
        let half = on_its_own("half", &["running"]);
        assert!((0.35..0.65).contains(&half), "the half runs {half}: {ledger}");
        let unknown = share(thread(&ledger, "sleeper"), &["unknown"]);
        assert!(unknown < 0.1, "of the sleeper's time {unknown} is unknown: {ledger}");
        // The stack at the switch shows why.
        let asleep = on_its_own("sleeper", &["asleep"]);
        assert!(asleep > 0.9, "the sleeper is asleep {asleep}: {ledger}");
        let monitor = on_its_own("locker", &["blocked: Java monitor"])
            + on_its_own("holder", &["blocked: Java monitor"]);
        assert!(monitor > 0.8, "one of two always waits for the other: {monitor}: {ledger}");
        // It sleeps from before the recording until behind it, and only a look from outside shows
        // in what.
        let main = on_its_own("main", &["asleep"]);
        assert!(main > 0.97, "main sleeps {main}: {ledger}");
    });
}

#[test]
fn of_very_many_waits_the_long_ones_are_reported_and_the_others_summed_up_and_it_says_so() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let Some(jvm) = program(dir.path(), "Crowd", "100") else { return };
        let args = ["record", "-p", &jvm.pid(), "-d", "6s", "-o", "x.fathom", "--without", "jvm-events"];
        if !recorded(dir.path(), &args) {
            return;
        }
        let recording = recorded::open(dir.path(), "x.fathom");
        let pool = |kind: &str| {
            let of_it = |span: &Span<'_>| recorded::thread_name(&recording, span).starts_with("pool-");
            recording.spans_of(kind).filter(of_it).count()
        };
        // Some hundred thousand of a millisecond and more: each CPU reports a thousand a
        // second, and somewhat more until it has found from which length on.
        let most = 6_000 * std::thread::available_parallelism().unwrap().get() + 6_000;
        let reported = pool(kind::SCHED_OFF);
        assert!(reported < most, "{reported} waits of the pool were reported, at most {most} should be");
        let parked = pool(kind::LOCK_PARK);
        assert!(parked < most, "{parked} times the pool was reported to be parked, at most {most} should be");
        // Nothing of their time is missing, and it is known what they did.
        let ledger = ledger(dir.path(), "Crowd");
        let workers = (0..100).map(|i| thread(&ledger, &format!("pool-{i} ")));
        let shares = |words: &[&str]| workers.clone().map(|worker| share(worker, words)).sum::<f64>() / 100.0;
        let off = shares(&["blocked", "asleep", "idle", "waiting for another"])
            / (1.0 - shares(&["waiting for a CPU", "unknown"]));
        assert!(off > 0.8, "the pool waits {off} of its time: {ledger}");
        // Long waits are reported, however many short ones there are.
        let naps = recorded::of_thread(&recording, kind::SCHED_OFF, "sleeper");
        let long: i64 =
            naps.iter().map(|nap| nap.t1_ns() - nap.t0_ns()).filter(|ns| *ns >= 250_000_000).sum();
        let sleeper = thread(&ledger, "sleeper");
        let known_ms = sleeper["thread_ms"].as_f64().unwrap() * (1.0 - share(sleeper, &["unknown"]));
        assert!(
            long as f64 / 1e6 > known_ms - 700.0,
            "the sleeper naps all the time: {long} ns of {known_ms} ms"
        );
        // Waits for what somebody holds are reported one by one.
        let waiting: i64 = ["waiter", "holder"]
            .iter()
            .flat_map(|name| recorded::of_thread(&recording, kind::LOCK_MONITOR, name))
            .map(|span| span.t1_ns() - span.t0_ns())
            .sum();
        assert!(waiting > 4_000_000_000, "one of two nearly always waits for the other: {waiting} ns of 6 s");
        // So is that of a thread which sleeps so often that it is not asked what for: with who
        // holds it.
        let visits = recorded::of_thread(&recording, kind::LOCK_MONITOR, "guest");
        let long: Vec<_> =
            visits.iter().filter(|visit| visit.t1_ns() - visit.t0_ns() >= 50_000_000).collect();
        let by_keeper = long.iter().filter(|visit| visit.label(label::OWNER) == Some("keeper")).count();
        assert!(long.len() >= 8, "it waits four times a second: {}", long.len());
        assert!(by_keeper * 10 >= long.len() * 9, "the keeper held {by_keeper} of {} times", long.len());
        let info = crate::live::json(dir.path(), &["info", "x.fathom"]);
        let unseen = info["sources"].as_array().unwrap().iter().flat_map(|s| s["unseen"].as_array().unwrap());
        let unseen: Vec<&str> = unseen.map(|unseen| unseen["what"].as_str().unwrap()).collect();
        assert!(unseen.iter().any(|what| what.contains("waits one by one")), "{unseen:?}");
        assert!(unseen.iter().any(|what| what.contains("waits for work")), "{unseen:?}");
    });
}

#[test]
fn short_waits_are_charged_to_their_places_in_turns_and_not_to_long_ones() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let Some(jvm) = program(dir.path(), "ShortWaits", "120") else { return };
        let args = ["record", "-p", &jvm.pid(), "-d", "8s", "-o", "x.fathom", "--without", "jvm-events"];
        if !recorded(dir.path(), &args) {
            return;
        }
        let recording = recorded::open(dir.path(), "x.fathom");
        let off_cpu = recording.strings.find(sample::OFF_CPU);
        let within = |method: &str| {
            let is_within =
                |stack| recorded::names(&recording, stack).iter().any(|name| name.contains(method));
            let short = recording.samples.iter().filter(|s| Some(s.kind) == off_cpu && is_within(s.stack));
            let short: i64 = short.map(|sample| sample.weight).sum();
            let long = recording.spans_of(kind::SCHED_OFF).filter(|span| is_within(span.stack()));
            let long: i64 = long.map(|span| span.t1_ns() - span.t0_ns()).sum();
            (short as f64, long as f64)
        };
        let (first, second, idle) =
            (within("ShortWaits.first"), within("ShortWaits.second"), within("ShortWaits.idle"));
        let places = format!("first {first:?}, second {second:?}, idle {idle:?}, each (short, long)");
        // 0.25 and 0.55 ms of a round, and some 60 µs for the timer each.
        let share = first.0 / (first.0 + second.0);
        assert!((0.23..0.45).contains(&share), "the first is some third of the short waits: {places}");
        // Five rounds are 4.6 ms to 20 of the long wait.
        let shorts = (first.0 + second.0) / (idle.0 + idle.1);
        assert!((0.17..0.33).contains(&shorts), "short waits are a fourth of the long ones: {places}");
        assert!(idle.0 < 0.03 * idle.1, "a long wait has no short ones: {places}");
    });
}
