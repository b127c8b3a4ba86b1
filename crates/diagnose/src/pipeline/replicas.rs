//! Several JVMs of one main class: each is judged, named and added up for itself.

use fathom_recording::vocabulary::{fact, kind, series};
use fathom_recording::{ClockBasis, Placement, ProcessId, Recording, SeriesInfo, SeriesKind, Sink, Source};

use crate::built::Built;
use crate::chain::Chains;
use crate::facts::merged;
use crate::thread_ledger::{By, thread_ledger};
use crate::{Diagnosis, Options, diagnose};

const S: i64 = 1_000_000_000;

/// Two replicas for a minute; in the last 20 s four threads of each queue for a monitor of their
/// own, and the throughput of both together falls to a fifth.
fn replicas(with_series: bool) -> Recording {
    let mut built = Built::jvm("17", "G1", 60.0);
    for (pid, args) in [(11, "db1 1"), (12, "db2 2")] {
        if pid == 12 {
            built.another_jvm("App");
        }
        built.recording.process_mut(built.jvm).pid = Some(pid);
        built.fact(fact::MAIN_ARGS, args);
        built.span(kind::RUN, "run", 0.0, 60e3, &[], &[]);
        for second in 40..60 {
            for worker in 0..4 {
                built.waits_for(
                    &format!("worker-{worker}"),
                    "shop.Ledger",
                    "owner",
                    f64::from(second),
                    950.0,
                );
            }
        }
    }
    let placement = Placement { uncertainty_ns: Some(0), ..Placement::default() };
    built.recording.sources[0].placement = placement.clone();
    built.recording.add_source(Source {
        process: Some(built.jvm.0),
        clock: ClockBasis::JvmUptime,
        placement: Placement { offset_ns: -5 * S, ..placement.clone() },
        ..Source::default()
    });
    if with_series {
        let table =
            Source { name: "tput.csv".into(), format: "table".into(), placement, ..Source::default() };
        let source = built.recording.add_source(table);
        let id = built.recording.add_series(SeriesInfo {
            name: series::THROUGHPUT.into(),
            unit: "ops/s".into(),
            instance: String::new(),
            kind: SeriesKind::Rate,
            process: None,
            source,
        });
        for s in 0..60 {
            let rate = if s >= 40 { 120.0 } else { 600.0 };
            built.recording.point(id, s * S, S, rate + (s * 37 % 11) as f64);
        }
    }
    built.sealed()
}

fn diagnosed(with_series: bool) -> Diagnosis {
    let options = Options {
        slow: vec!["40s..60s".parse().unwrap()],
        base: vec!["0s..40s".parse().unwrap()],
        ..Options::default()
    };
    diagnose(&replicas(with_series), &options).unwrap()
}

#[test]
fn two_replicas_with_the_same_trouble_are_two_findings_that_say_which() {
    for with_series in [false, true] {
        let d = diagnosed(with_series);
        let found: Vec<_> =
            d.findings.iter().map(|f| (f.rule, f.process_id, f.pid, f.process.as_str())).collect();
        assert_eq!(
            found,
            [
                ("lock-contended-monitor", ProcessId(0), Some(11), "App db1 1 [pid 11]"),
                ("lock-contended-monitor", ProcessId(1), Some(12), "App db2 2 [pid 12]"),
            ],
            "{}",
            d.headline
        );
        assert_eq!(d.findings[1].started_ns, Some(-5 * S));
        assert!(d.findings.iter().all(|f| f.facts(&merged::ALSO_FITS).count() == 0), "{:?}", d.findings);
    }
}

#[test]
fn the_loss_is_shared_out_among_replicas() {
    let d = diagnosed(true);
    let shares: Vec<f64> = d.findings.iter().filter_map(|f| f.share).collect();
    assert!(shares.len() == 2 && (shares[0] - 0.5).abs() < 0.01 && shares[0] == shares[1], "{shares:?}");
}

#[test]
fn ledger_and_chains_keep_replicas_apart() {
    let recording = replicas(false);
    let ledger = thread_ledger(&recording, None, None, By::Process);
    let names: Vec<_> = ledger.groups.iter().map(|group| (group.name.as_str(), group.threads)).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let shown: std::collections::BTreeSet<_> = names.iter().map(|(name, _)| *name).collect();
    assert_eq!(shown.into_iter().collect::<Vec<_>>(), ["App db1 1 [pid 11]", "App db2 2 [pid 12]"]);
    let rows: std::collections::BTreeSet<_> = diagnosed(false)
        .ledger
        .iter()
        .filter(|row| row.process_id.is_some())
        .map(|row| (row.pid, row.process.clone()))
        .collect();
    assert_eq!(rows.len(), 2, "{rows:?}");
    let chains = Chains::of(&recording);
    let window = crate::Window { from_ns: 40 * S, to_ns: 60 * S };
    let of: std::collections::BTreeSet<_> =
        chains.victims(window, &[]).into_iter().map(|(id, _)| chains.of_victim(id, window).process).collect();
    assert_eq!(of.into_iter().collect::<Vec<_>>(), ["App db1 1 [pid 11]", "App db2 2 [pid 12]"]);
}
