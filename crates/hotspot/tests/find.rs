//! Real JVMs of every release, found and described from outside.

#![allow(clippy::unwrap_used)]

mod jvm;

use fathom_hotspot::find::{self, Collector, Kind};
use fathom_hotspot::perf_data::{self, Unit, Variability};
use fathom_hotspot::proc_status::ProcStatus;
use jvm::{Jvm, jdks, may_trace};

#[test]
fn every_release_is_found_with_what_it_runs_and_without_its_secrets() {
    for jdk in jdks() {
        let options = ["-XX:+UseSerialGC", "-Ddb.password=hunter2", "-Dname=value"];
        let Some(jvm) = Jvm::start(&jdk, &options, &["Idle", "--token=hunter2"]) else { return };
        if !may_trace() {
            return;
        }
        let all = find::all().unwrap();
        let found = all.jvms.iter().find(|found| found.pid == jvm.pid()).unwrap();
        let about = &found.about;
        assert_eq!(about.main.as_deref(), Some("Idle"), "JDK {}", jdk.release);
        assert_eq!((about.feature(), about.collector), (Some(jdk.release), Some(Collector::Serial)));
        assert!(about.publishes && about.vm_version.is_some() && about.home.is_some(), "{about:?}");
        assert!(about.options.iter().any(|option| option == "-Dname=value"), "{about:?}");
        assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");
        assert!(matches!(&found.kind, Kind::HotSpot { deleted: false, .. }), "{:?}", found.kind);
        assert!((0.0..600.0).contains(&found.uptime_s) && !found.status.in_pid_namespace());
    }
}

#[test]
fn a_jvm_that_publishes_no_counters_is_described_from_what_the_kernel_shows() {
    for jdk in jdks() {
        let options = ["-XX:-UsePerfData", "-XX:+UseG1GC", "-Ddb.password=hunter2"];
        let Some(jvm) = Jvm::start(&jdk, &options, &["Idle", "--token=hunter2"]) else { return };
        if !may_trace() {
            return;
        }
        let found = find::Jvm::of(jvm.pid()).unwrap().unwrap();
        assert!(!found.about.publishes && found.about.main.as_deref() == Some("Idle"), "{:?}", found.about);
        assert_eq!(found.about.collector, Some(Collector::G1), "JDK {}", jdk.release);
        // A JDK from a package may come without its `release` file; then nothing is claimed.
        assert!(found.about.feature().is_none_or(|feature| feature == jdk.release));
        assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");
    }
}

#[test]
fn collectors_are_reported_as_the_options_choose_them() {
    let asked = [
        ("-XX:+UseParallelGC", Collector::Parallel, 8..=u32::MAX),
        ("-XX:+UseConcMarkSweepGC", Collector::Cms, 8..=13),
        ("-XX:+UseG1GC", Collector::G1, 8..=u32::MAX),
        ("-XX:+UseZGC", Collector::Z, 17..=u32::MAX),
    ];
    for jdk in jdks() {
        for (option, collector, releases) in &asked {
            if !releases.contains(&jdk.release) || !may_trace() {
                continue;
            }
            let Some(jvm) = Jvm::start(&jdk, &[option], &["Idle"]) else { return };
            let found = find::Jvm::of(jvm.pid()).unwrap().unwrap();
            assert_eq!(found.about.collector, Some(*collector), "JDK {} {option}", jdk.release);
        }
    }
}

#[test]
fn counters_are_those_that_the_jvm_itself_prints() {
    for jdk in jdks() {
        let Some(jvm) = Jvm::start(&jdk, &[], &["Idle"]) else { return };
        if !may_trace() {
            return;
        }
        // Printing adds counters of its own, so what is published is read after it.
        let Some(printed) = jvm.jcmd(&["PerfCounter.print"]) else { return };
        let status = ProcStatus::of(jvm.pid()).unwrap();
        let data = perf_data::read(jvm.pid(), &status).unwrap();
        let data = data.unwrap_or_else(|| panic!("JDK {} publishes nothing", jdk.release));
        assert_eq!(data.skipped, 0, "JDK {}", jdk.release);
        let heap = &data.counters["sun.gc.generation.0.maxCapacity"];
        assert_eq!((heap.unit, heap.variability), (Unit::Bytes, Variability::Constant));
        assert!(data.seconds("sun.cls.time").unwrap() < 600.0);
        let lines = printed.lines().filter_map(|line| line.split_once('='));
        let printed: Vec<(&str, &str)> = lines.collect();
        assert!(printed.len() > 50, "JDK {}", jdk.release);
        // What the prologue holds, jcmd prints as counters.
        for (name, value) in printed.iter().filter(|(name, _)| !name.starts_with("sun.perfdata.")) {
            let counter = data.counters.get(*name).unwrap_or_else(|| panic!("JDK {} {name}", jdk.release));
            if counter.variability == Variability::Constant {
                let own = match &counter.value {
                    perf_data::Value::Number(number) => number.to_string(),
                    perf_data::Value::Text(text) => format!("\"{text}\""),
                };
                // The JVM escapes what is special in its own way.
                assert!(own == *value || value.contains('\\'), "JDK {} {name}: {own} {value}", jdk.release);
            }
        }
    }
}

#[test]
fn this_program_is_no_jvm() {
    assert_eq!(Kind::of(std::process::id()).unwrap(), Kind::Other);
    assert!(find::Jvm::of(std::process::id()).unwrap().is_none());
}
