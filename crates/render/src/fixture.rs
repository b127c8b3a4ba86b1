//! Diagnoses made up for the tests of this crate.

use fathom_diagnose::facts::{Metric, Value};
use fathom_diagnose::{
    Began, BlindSpot, Category, Charge, ChargeKind, Confidence, Diagnosis, Evidence, Fact, Finding, FoundOn,
    Input, Layer, LedgerCategory, LedgerRow, Loss, Mark, Measure, Part, PartOf, Remedy, RuledOut, SCHEMA,
    Seen, Sight, Sighted, Status, Window, Windows,
};
use fathom_recording::ProcessId;

const S: i64 = 1_000_000_000;

/// What a diagnosis states, as a sentence that was made up.
static MADE_UP: Metric = Metric::new("", "{value}");

pub fn said(sentence: &str) -> Fact {
    MADE_UP.is(Value::name(sentence))
}

fn evidence(text: &str, source: &str, at_s: Option<i64>) -> Evidence {
    Evidence::summed(source, said(text)).at(at_s.map(|s| s * S))
}

fn row(process: &str, category: LedgerCategory, in_sum: bool, slow: f64, base: f64) -> LedgerRow {
    LedgerRow {
        process_id: Some(ProcessId(u32::from(process != "server2"))),
        recording: None,
        pid: None,
        process: process.into(),
        category_id: category,
        compiler: None,
        category: category.words().into(),
        in_sum,
        slow_ms: Some(slow),
        base_ms: Some(base),
        slow_share: Some(slow / 15_000.0),
        base_share: Some(base / 100_000.0),
    }
}

fn input(name: &str, format: &str, process: Option<&str>, records: u64) -> Input {
    Input {
        name: name.into(),
        format: format.into(),
        process: process.map(Into::into),
        process_id: None,
        recording: None,
        records,
        skipped: 0,
        lost: 0,
        placed: "date next to uptime in 3200 lines".into(),
        uncertainty_ns: Some(1_000_000),
    }
}

/// A compile burst in one of two JVMs.
pub fn burst() -> Diagnosis {
    let charge = |to: &str, finding: Option<usize>, ms| Charge {
        to: said(to).into(),
        kind: match (finding, to) {
            (Some(_), _) => ChargeKind::Finding,
            (None, "not known") => ChargeKind::NotKnown,
            (None, _) => ChargeKind::Grew,
        },
        category: None,
        finding,
        ms,
        share: ms / 7_900.0,
    };
    let finding = Finding {
        rule: "jit-compile-burst",
        title: said("a burst of JIT compilation: 191 tasks/s instead of 0.4/s, queue up to 312").into(),
        layer: Layer::Jit,
        confidence: Confidence::Proven,
        why_confidence: vec![
            said("queue, compiler threads and throughput move together; GC and stops are ruled out").into(),
        ],
        cost_ms: 6_900.0,
        share: Some(0.87),
        culprit: said("C2 CompilerThread0, org.example.migrate.MigrationMgr.analyze").into(),
        process: "server2".into(),
        process_id: ProcessId(0),
        recording: None,
        pid: None,
        started_ns: None,
        meaning: said(
            "Methods that had never run became hot at once. Until the compiler got to them they ran in the \
                  interpreter, many times slower.",
        )
        .into(),
        evidence: vec![
            evidence(
                "956 methods queued between 143 s and 148 s, 2 in the 5 s before",
                "jit2.xml:88412",
                Some(143),
            ),
            evidence("queue waits of 1.9 s at the median, 4.1 s at most", "jit2.xml:91007", Some(146)),
            evidence(
                "compiler threads busy for 187% of the window, 3% before",
                "jit2.xml (4515 compile tasks)",
                None,
            ),
            evidence("31 methods reached tier 4 first here, 214 tier 3", "jit2.xml", None),
            evidence("throughput is back 2 s after the queue is empty", "client0.csv:160", Some(160)),
        ],
        remedies: vec![
            Remedy {
                change: said("warm the migration's code path before it is needed").into(),
                applies_to: String::new(),
                risk: String::new(),
            },
            Remedy {
                change: said("-XX:TieredStopAtLevel=1").into(),
                applies_to: "JDK 8 and later".into(),
                risk: "lower peak speed".into(),
            },
        ],
        verify: vec![
            said("run again: throughput at the start of the migration stays above 350 ops/s").into(),
        ],
        windows: vec![Window { from_ns: 143 * S, to_ns: 158 * S }],
        covered_share: 1.0,
        acts: Vec::new(),
        also: Vec::new(),
        chain: None,
        stop: None,
    };
    Diagnosis {
        schema: SCHEMA,
        version: "0.1.0",
        recording: None,
        recordings: Vec::new(),
        status: Status::Found,
        seen: Seen {
            judged_ms: 15_000.0,
            unrecorded_ms: 0.0,
            loss_measured: true,
            sights: vec![sighted(Sight::Collections, "gc2.log"), sighted(Sight::Compilations, "jit2.xml")],
            few_stops: None,
            largest: Vec::new(),
            threads: Vec::new(),
        },
        headline: said(
            "JIT compilation in server2 explains 6.9 s of the 7.9 s lost between 143 s and 158 s.",
        )
        .into(),
        inputs: vec![
            input("gc2.log", "unified-log", Some("server2"), 812),
            input("jit2.xml", "log-compilation", Some("server2"), 4515),
            input("client0.csv", "table", None, 240),
        ],
        wall_clock: true,
        zero_ns: 0,
        windows: Windows {
            slow: vec![Window { from_ns: 143 * S, to_ns: 158 * S }],
            base: vec![Window { from_ns: 20 * S, to_ns: 120 * S }],
            found_on: FoundOn::Series,
            how: vec![said("change points of the summed throughput").into()],
        },
        marks: Vec::new(),
        loss: Loss {
            lost_ms: 7_900.0,
            slow_rate: Some(187.6),
            base_rate: Some(396.2),
            unit: "tx/s".into(),
            measure: Some(Measure::Throughput),
            measured_on: "throughput of client0, client1, client2".into(),
        },
        account: vec![
            charge("C2 CompilerThread0, org.example.migrate.MigrationMgr.analyze", Some(0), 6_900.0),
            charge(
                "waiting for the network at 10.0.0.7:5432 in org.example.storage.Remote.read",
                None,
                600.0,
            ),
            charge("not known", None, 400.0),
        ],
        ledger: vec![
            row("server1", LedgerCategory::StoppedByGc, true, 110.0, 900.0),
            row("server1", LedgerCategory::NotStopped, true, 14_890.0, 99_100.0),
            row("server2", LedgerCategory::StoppedByGc, true, 120.0, 870.0),
            row("server2", LedgerCategory::Stopped, true, 40.0, 110.0),
            row("server2", LedgerCategory::NotStopped, true, 14_840.0, 99_020.0),
            row("server2", LedgerCategory::Compilers, false, 28_050.0, 3_100.0),
        ],
        findings: vec![finding],
        ruled_out: vec![
            RuledOut {
                rule: "gc".into(),
                process_id: ProcessId(0),
                recording: None,
                figure: said("GC stopped server2 for 0.12 s of 15 s, 0.13 s in as much baseline time").into(),
                source: "gc2.log".into(),
            },
            RuledOut {
                rule: "safepoint-slow-to-reach".into(),
                process_id: ProcessId(0),
                recording: None,
                figure: said("threads stopped within 1.2 ms in all 31 safepoints").into(),
                source: "gc2.log".into(),
            },
        ],
        blind_spots: vec![BlindSpot {
            what: said("CPU of the machine").into(),
            rules: vec!["gc-starved-of-cpu".into()],
            remedy: said("record with fathom record, or add a log of vmstat").into(),
        }],
        warnings: vec![
            said("client0.csv was placed by correlation, ±0.5 s; give --align client0.csv=+36s if you know")
                .into(),
        ],
    }
}

fn sighted(what: Sight, source: &str) -> Sighted {
    Sighted { what, sources: vec![source.into()], share: 1.0 }
}

/// The same inputs on a good day.
pub fn healthy() -> Diagnosis {
    let mut diagnosis = burst();
    let headline =
        "no cause found in 120 s: of the time in which application threads were not idle, 91% running";
    diagnosis.headline = said(headline).into();
    diagnosis.status = Status::NoCauseFound;
    diagnosis.seen = Seen {
        judged_ms: 120_000.0,
        unrecorded_ms: 0.0,
        loss_measured: false,
        sights: vec![
            sighted(Sight::Collections, "gc2.log"),
            Sighted { share: 0.4, ..sighted(Sight::Locks, "app.jfr") },
        ],
        few_stops: None,
        largest: vec![Part {
            process: "server2".into(),
            process_id: ProcessId(0),
            recording: None,
            of: PartOf::ApplicationThreads,
            category: Category::Running,
            what: said("running").into(),
            ms: 300_000.0,
            share: 0.91,
            base_share: None,
            per_operation_ms: None,
            base_per_operation_ms: None,
            details: Vec::new(),
        }],
        threads: Vec::new(),
    };
    diagnosis.windows = Windows {
        slow: vec![Window { from_ns: 0, to_ns: 120 * S }],
        base: vec![],
        found_on: FoundOn::WholeRun,
        how: vec![said("no slow window was given or found: the whole run is looked at").into()],
    };
    diagnosis.loss = Loss::default();
    diagnosis.account.clear();
    diagnosis.findings.clear();
    diagnosis.warnings.clear();
    for row in &mut diagnosis.ledger {
        row.base_ms = None;
        row.base_share = None;
    }
    diagnosis
}

/// More of everything than a screen holds.
pub fn crowded() -> Diagnosis {
    let mut diagnosis = burst();
    for i in 0..7 {
        let mut finding = diagnosis.findings[0].clone();
        finding.cost_ms /= 2.0 + f64::from(i);
        finding.share = finding.share.map(|s| s / (2.0 + f64::from(i)));
        finding.confidence = if i % 2 == 0 { Confidence::Likely } else { Confidence::ConsistentWith };
        diagnosis.findings.push(finding);
    }
    for list in 0..5 {
        diagnosis.ruled_out.extend(burst().ruled_out);
        diagnosis.blind_spots.extend(burst().blind_spots);
        diagnosis.warnings.extend(burst().warnings);
        diagnosis.ledger.push(row(
            &format!("server{}", 3 + list),
            LedgerCategory::StoppedByGc,
            true,
            10.0,
            20.0,
        ));
    }
    diagnosis
}

/// A mark at the beginning of the slow window, or long before it.
pub fn mark(text: &str, before_ms: Option<f64>) -> Mark {
    let from_ns = 143 * S;
    let at_ns = before_ms.map_or(20 * S, |ms| from_ns - (ms * 1e6) as i64);
    let began = before_ms.map(|before_ms| Began { from_ns, before_ms, within_ms: 2000.0 });
    Mark { at_ns, text: text.into(), precision_ns: S, source: "--mark".into(), began }
}

/// Every text that can come from an input tries to break out.
pub fn hostile() -> Diagnosis {
    const EVIL: &str =
        "</script><!--<img src=x onerror=alert(1)>\x1b[2J\x1b]0;owned\x07\u{202e}txt\u{2028}\r\n";
    let mut diagnosis = burst();
    diagnosis.headline = said(EVIL).into();
    diagnosis.windows.how = vec![said(EVIL).into()];
    diagnosis.marks = vec![mark(EVIL, Some(400.0))];
    diagnosis.loss.unit = EVIL.into();
    diagnosis.loss.measured_on = EVIL.repeat(40);
    diagnosis.warnings = vec![said(EVIL).into()];
    diagnosis.account.iter_mut().for_each(|charge| charge.to = said(EVIL).into());
    for input in &mut diagnosis.inputs {
        input.name = EVIL.into();
        input.process = Some(EVIL.into());
        input.placed = EVIL.into();
    }
    for row in &mut diagnosis.ledger {
        row.process = EVIL.into();
        row.category = EVIL.into();
    }
    let finding = &mut diagnosis.findings[0];
    finding.title = said(&EVIL.repeat(3)).into();
    finding.culprit = said(&EVIL.repeat(30)).into();
    finding.process = EVIL.into();
    finding.meaning = said(EVIL).into();
    finding.why_confidence = vec![said(EVIL).into()];
    finding.evidence = vec![evidence(EVIL, EVIL, Some(i64::MAX / S))];
    finding.remedies[0].change = said(EVIL).into();
    finding.verify = vec![said(EVIL).into()];
    diagnosis.ruled_out[0].rule = EVIL.into();
    diagnosis.ruled_out[0].figure = said(EVIL).into();
    diagnosis.ruled_out[0].source = EVIL.into();
    diagnosis.blind_spots[0].what = said(EVIL).into();
    diagnosis.blind_spots[0].remedy = said(EVIL).into();
    diagnosis
}
