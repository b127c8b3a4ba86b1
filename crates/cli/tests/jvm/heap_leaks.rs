//! `fathom diagnose` on log, flight recording and heap dumps of real JVMs that hold on to more and
//! more: who holds it, and what allocates it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::live::jdks;
use crate::live::process::Talking;

/// What a program of `tests/java/Growing.java` left: `gc.log`, `flight.jfr`, `early.hprof`,
/// `late.hprof`.
struct Grown {
    dir: tempfile::TempDir,
}

/// Steps that are taken when the first dump is written, and the second. A step is 4 MB of a heap of
/// 128 MB.
const STEPS: [usize; 2] = [8, 25];

fn grown(release: u64, home: &Path, classes: &Path, case: &str) -> Grown {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let mut java = Command::new(home.join("bin/java"));
    java.args(["-Xmx128m", "-Xmn16m", "-XX:+UseSerialGC", "-XX:MaxDirectMemorySize=64m"]);
    match release {
        8 => {
            java.args(["-XX:+PrintGCDetails", "-XX:+PrintGCDateStamps", &format!("-Xloggc:{}", at("gc.log"))])
        }
        _ => java.arg(format!("-Xlog:gc*,safepoint:file={}:time,uptime,level,tags", at("gc.log"))),
    };
    java.arg(format!(
        "-XX:StartFlightRecording=settings=profile,dumponexit=true,filename={}",
        at("flight.jfr")
    ));
    java.arg("-cp").arg(classes).args(["Growing", case]).arg(classes);
    let mut program = Talking::start(&mut java);
    let mut taken = 0;
    for (steps, dump) in STEPS.into_iter().zip(["early.hprof", "late.hprof"]) {
        program.send(&(steps - taken).to_string());
        taken = steps;
        program.until(&format!("took {taken}"));
        let attach = fathom_hotspot::attach::Attach::to(program.pid().parse().unwrap()).unwrap();
        attach.jcmd(&format!("GC.heap_dump {}", at(dump))).unwrap();
    }
    program.send("end");
    assert!(program.process.end().success());
    Grown { dir }
}

impl Grown {
    /// The finding of the rule, or what the diagnosis says of it otherwise.
    fn leak(&self, inputs: &[&str]) -> Result<Value, Value> {
        let diagnosis = crate::live::json(self.dir.path(), &[&["diagnose"], inputs].concat());
        let findings = diagnosis["findings"].as_array().unwrap();
        let found = findings.iter().find(|finding| finding["rule"] == "heap-leak").cloned();
        found.ok_or(diagnosis)
    }
}

fn on_each(test: impl Fn(u64, &Path, &Path)) {
    let classes = tempfile::tempdir().unwrap();
    if jdks::compile(classes.path(), 8, &["Growing"]).is_none() {
        return;
    }
    for (release, home) in jdks::of(&[8, 17, 25]) {
        test(release, &home, classes.path());
    }
}

fn evidence(finding: &Value) -> String {
    let reported =
        finding["evidence"].as_array().unwrap().iter().flat_map(|reported| reported["text"].as_str());
    reported.collect::<Vec<_>>().join("\n")
}

/// What grows, who must be named as its holder, what accumulates there, and what allocates it.
const PLANTED: [(&str, &str, &str, &str); 6] = [
    ("map", "Growing$Sessions.OPEN (static)", "Growing$Session", "Growing.open"),
    ("cache", "Growing.PAGES (static)", "byte[]", "Growing$Pages.render"),
    ("listeners", "Growing.BUS (static)", "Growing$View", "Growing.listen"),
    ("thread-local", "thread \"pool-1-thread-1\" and 3 more", "byte[]", "Growing.remember"),
    ("loaders", "Growing.KEPT (static)", "class GrowingPlugin", "Growing.deploy"),
    ("finalizers", "the queue of objects with finalize()", "Growing$Finished", "Growing.finish"),
];

#[test]
#[ignore = "make test-long"]
fn a_leak_is_named_with_who_holds_it_and_what_allocates_it() {
    on_each(|release, home, classes| {
        for (case, holder, class, place) in PLANTED {
            let grown = grown(release, home, classes, case);
            // In any order; with one dump and with two.
            for inputs in [
                &["late.hprof", "gc.log", "flight.jfr"][..],
                &["flight.jfr", "late.hprof", "early.hprof", "gc.log"],
            ] {
                let reported = format!("JDK {release}, {case}, {inputs:?}");
                let leak = grown.leak(inputs).unwrap_or_else(|said| panic!("{reported}: {said:#}"));
                let reported = format!("{reported}: {leak:#}");
                assert_eq!(leak["culprit"]["text"], holder, "{reported}");
                let title = &leak["title"]["details"];
                assert_eq!(title["class"]["value"], class, "{reported}");
                let method = title["method"]["value"].as_str().unwrap_or_default();
                assert_eq!(method.split(':').next(), Some(place), "{reported}");
                assert!(leak["confidence"] != "consistent-with", "{reported}");
                let evidence = evidence(&leak);
                assert!(evidence.contains("each holds what is right of it: "), "{reported}");
                assert_eq!(
                    evidence.contains("more than in the dump before"),
                    inputs.len() == 4,
                    "{reported}"
                );
            }
            // Without samples of allocations nobody can say where.
            let leak = grown.leak(&["gc.log", "late.hprof"]).unwrap();
            assert_eq!(leak["culprit"]["text"], holder, "JDK {release}: {leak:#}");
            assert!(leak["title"]["details"]["method"].is_null(), "JDK {release}: {leak:#}");
        }
    });
}

#[test]
fn direct_buffers_that_grow_are_named_with_who_keeps_them_where_two_dumps_show_it() {
    on_each(|release, home, classes| {
        let grown = grown(release, home, classes, "direct");
        let leak = grown.leak(&["gc.log", "late.hprof", "early.hprof", "flight.jfr"]);
        let leak = leak.unwrap_or_else(|said| panic!("JDK {release}: {said:#}"));
        assert_eq!(leak["culprit"]["value"], "Growing.BUFFERS (static)", "JDK {release}: {leak:#}");
        let title = &leak["title"];
        let mb = |value: &Value| (value.as_f64().unwrap() / f64::from(1 << 20)).round();
        assert_eq!(title["metric"], "heap-leak-direct", "JDK {release}: {title}");
        assert_eq!(
            (mb(&title["value"]), mb(&title["details"]["size"]["value"])),
            (34.0, 50.0),
            "JDK {release}"
        );
        assert!(grown.leak(&["gc.log", "late.hprof"]).is_err(), "JDK {release}: one dump shows no growth");
    });
}

#[test]
#[ignore = "make test-long"]
fn what_keeps_most_of_a_heap_that_does_not_grow_is_no_leak() {
    on_each(|release, home, classes| {
        for (case, holder) in [("bounded", "Growing.RECENT"), ("loaded-once", "Growing$Sessions.OPEN")] {
            let grown = grown(release, home, classes, case);
            let one = grown.leak(&["gc.log", "late.hprof", "flight.jfr"]).unwrap_err();
            let two = grown.leak(&["gc.log", "late.hprof", "early.hprof"]).unwrap_err();
            for diagnosis in [one, two] {
                let ruled_out = diagnosis["ruled_out"].as_array().unwrap();
                let ruled_out = ruled_out.iter().find(|cause| cause["rule"] == "heap-leak");
                let ruled_out = ruled_out.unwrap_or_else(|| panic!("JDK {release}, {case}: {diagnosis:#}"));
                let figure = ruled_out["figure"]["text"].as_str().unwrap();
                assert!(
                    figure.contains(holder) && figure.contains("is no leak"),
                    "JDK {release}, {case}: {figure}"
                );
            }
        }
    });
}
