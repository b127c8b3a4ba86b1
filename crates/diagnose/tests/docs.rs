//! The documentation says what the code does: every field of the JSON form, every rule.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::path::Path;

use fathom_diagnose::rules::RULES;
use fathom_diagnose::*;

fn docs(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// A diagnosis in which every list has an element.
fn full() -> Diagnosis {
    let window = Window { from_ns: 0, to_ns: 1 };
    Diagnosis {
        schema: SCHEMA,
        version: "0",
        recording: None,
        recordings: vec![Default::default()],
        status: Status::Found,
        seen: Seen {
            judged_ms: 0.0,
            unrecorded_ms: 0.0,
            loss_measured: true,
            sights: vec![Sighted { what: Sight::Locks, sources: vec![String::new()], share: 0.0 }],
            few_stops: Some(FewStops { share: 0.0, longest_ms: 0.0 }),
            largest: vec![Part {
                process: String::new(),
                process_id: fathom_recording::ProcessId(0),
                recording: None,
                of: PartOf::Jvm,
                category: Category::Running,
                what: Statement::default(),
                ms: 0.0,
                share: 0.0,
                base_share: None,
                per_operation_ms: None,
                base_per_operation_ms: None,
                details: vec![Statement::default()],
            }],
            threads: Vec::new(),
        },
        headline: Statement::default(),
        inputs: vec![Input {
            name: String::new(),
            format: String::new(),
            process: None,
            process_id: None,
            recording: None,
            records: 0,
            skipped: 0,
            lost: 0,
            placed: String::new(),
            uncertainty_ns: None,
        }],
        wall_clock: true,
        zero_ns: 0,
        windows: Windows {
            slow: vec![window],
            base: vec![window],
            how: vec![Statement::default()],
            ..Windows::default()
        },
        marks: vec![Mark {
            at_ns: 0,
            text: String::new(),
            precision_ns: 1,
            source: String::new(),
            began: Some(Began { from_ns: 0, before_ms: 0.0, within_ms: 1.0 }),
        }],
        loss: Loss::default(),
        account: vec![Charge {
            to: Statement::default(),
            kind: ChargeKind::Grew,
            category: Some(Category::Running),
            finding: Some(0),
            ms: 0.0,
            share: 0.0,
        }],
        ledger: vec![LedgerRow {
            process: String::new(),
            process_id: None,
            recording: None,
            pid: None,
            category_id: LedgerCategory::Unknown,
            compiler: None,
            category: String::new(),
            in_sum: true,
            slow_ms: None,
            base_ms: None,
            slow_share: None,
            base_share: None,
        }],
        findings: vec![Finding {
            rule: "",
            title: Statement::default(),
            layer: Layer::Jit,
            confidence: Confidence::Likely,
            why_confidence: vec![Statement::default()],
            cost_ms: 0.0,
            share: None,
            covered_share: 1.0,
            culprit: Statement::default(),
            process: String::new(),
            process_id: fathom_recording::ProcessId(0),
            recording: None,
            pid: None,
            started_ns: None,
            meaning: Statement::default(),
            evidence: vec![evidence()],
            remedies: vec![Remedy::default()],
            verify: vec![Statement::default()],
            windows: vec![window],
            acts: Vec::new(),
            also: Vec::new(),
            chain: Some(chain()),
            stop: Some(stop()),
        }],
        ruled_out: vec![RuledOut {
            rule: String::new(),
            process_id: fathom_recording::ProcessId(0),
            recording: None,
            figure: Statement::default(),
            source: String::new(),
        }],
        blind_spots: vec![BlindSpot {
            what: Statement::default(),
            rules: vec![],
            remedy: Statement::default(),
        }],
        warnings: vec![Statement::default()],
    }
}

fn evidence() -> Evidence {
    let parts = facts::Value::list([Fact::default()]);
    Evidence::summed("", Fact::default().with("parts", parts))
}

fn link(next: Vec<chain::Link>) -> chain::Link {
    chain::Link {
        thread: None,
        tid: None,
        process: String::new(),
        process_id: None,
        category: None,
        kind: chain::LinkKind::Thread,
        what: Statement::default(),
        ms: 0.0,
        share: 0.0,
        times: 1,
        from_ns: 0,
        to_ns: 0,
        stack: Vec::new(),
        source: String::new(),
        end: Some(chain::End::Unknown),
        next,
    }
}

fn chain() -> chain::Chain {
    let (thread, process) = (String::new(), String::new());
    chain::Chain {
        thread,
        tid: None,
        process,
        process_id: None,
        from_ns: 0,
        to_ns: 1,
        ms: 0.0,
        links: vec![link(Vec::new())],
    }
}

fn stop() -> chain::Stop {
    let part = chain::Part::Reach;
    chain::Stop {
        process: String::new(),
        process_id: fathom_recording::ProcessId(0),
        operation: String::new(),
        from_ns: 0,
        to_ns: 1,
        ms: 0.0,
        asked_by: None,
        last_in: None,
        last_in_how: None,
        last_in_stack: Vec::new(),
        parts: vec![chain::StopPart {
            part,
            words: part.words(),
            from_ns: 0,
            to_ns: 1,
            ms: 0.0,
            links: vec![],
        }],
        source: String::new(),
    }
}

/// Rows "| `field` |" of a section of the page, in order.
fn documented(page: &str, section: &str) -> Vec<String> {
    let (_, rest) =
        page.split_once(&format!("\n## {section}\n")).unwrap_or_else(|| panic!("no section {section}"));
    let body = rest.split("\n## ").next().unwrap();
    let rows = body.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.map(|(field, _)| field.to_owned()).collect()
}

#[test]
fn every_field_of_the_json_form_is_documented_and_no_other() {
    let page = std::fs::read_to_string(docs("diagnosis-json.md")).unwrap();
    let json = serde_json::to_value(full()).unwrap();
    for (section, pointer) in [
        ("Top level", ""),
        ("RecordingPart", "/recordings/0"),
        ("Ids", "/recordings/0/processes"),
        ("Seen", "/seen"),
        ("Sighted", "/seen/sights/0"),
        ("FewStops", "/seen/few_stops"),
        ("Part", "/seen/largest/0"),
        ("Input", "/inputs/0"),
        ("Windows", "/windows"),
        ("Window", "/windows/slow/0"),
        ("Mark", "/marks/0"),
        ("Began", "/marks/0/began"),
        ("Loss", "/loss"),
        ("Charge", "/account/0"),
        ("LedgerRow", "/ledger/0"),
        ("Finding", "/findings/0"),
        ("Evidence", "/findings/0/evidence/0"),
        ("Fact", "/findings/0/evidence/0/details/parts/parts/0"),
        ("Remedy", "/findings/0/remedies/0"),
        ("Chain", "/findings/0/chain"),
        ("Link", "/findings/0/chain/links/0"),
        ("Stop", "/findings/0/stop"),
        ("StopPart", "/findings/0/stop/parts/0"),
        ("RuledOut", "/ruled_out/0"),
        ("BlindSpot", "/blind_spots/0"),
    ] {
        let mut fields: Vec<&str> =
            json.pointer(pointer).unwrap().as_object().unwrap().keys().map(String::as_str).collect();
        let mut rows = documented(&page, section);
        fields.sort_unstable();
        rows.sort_unstable();
        assert_eq!(rows, fields, "{section}");
    }
}

/// docs/rules.md, from the rules themselves.
/// `FATHOM_BLESS=1 cargo test -p fathom-diagnose --test docs` rewrites it.
#[test]
fn the_page_of_rules_is_that_of_the_code() {
    let mut page = String::from(
        "# The rules\n\n\
         Generated from the code (`FATHOM_BLESS=1 cargo test -p fathom-diagnose --test docs`): one section a rule, in \
         the order in which they are asked. What the words and costs mean is in [diagnosis.md](diagnosis.md).\n",
    );
    for rule in RULES {
        let layer = serde_json::to_value(rule.layer()).unwrap();
        let layer = layer.as_str().unwrap();
        let needs: Vec<_> = rule.needs().iter().map(|sight| sight.words()).collect();
        let needs = match needs.is_empty() {
            true => String::new(),
            false => format!(" Needs to see: {}.", needs.join(", ")),
        };
        page += &format!("\n## {}\n\nLayer: {layer}.{needs}\n\n{}\n", rule.id(), rule.about().trim());
    }
    let file = docs("rules.md");
    if std::env::var_os("FATHOM_BLESS").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(written, page, "docs/rules.md is not current: run the test with FATHOM_BLESS=1");
}

/// docs/evidence.md, from the catalogue of metrics.
#[test]
fn the_page_of_metrics_is_that_of_the_code() {
    let mut page = String::from(
        "# What verdicts state\n\n\
         Generated from the code (`FATHOM_BLESS=1 cargo test -p fathom-diagnose --test docs`): titles, culprits, meanings and \
         remedies of findings,\nhow to see that these helped, what findings rest on, what rules causes out and what was not seen, by the `metric` of [the JSON \
         form](diagnosis-json.md#fact), with the\nsentence that states it. `{value}` and `{baseline}` stand for the fields of \
         those names, every other name in braces for one of\n`details`; `{n|pause|pauses}` is a number with its noun, \
         `{n?was|were}` the verb alone, `{list*; }` a list, `{n!}` a short time,\n`{n:.1}` a number with so many digits, `{n#}` one that names and does not count. \
         What is in brackets is left out where it is not known; what is behind a bar there takes\nits place. Behind a remedy stands, in italics, where it applies and \
         what it\nrisks. An id keeps its meaning; new ones come with new versions.\n",
    );
    for (subject, metrics) in facts::catalogue() {
        page += &format!("\n## {subject}\n\n| metric | sentence |\n|---|---|\n");
        for metric in metrics {
            let notes = [metric.applies_to, metric.risk].into_iter().filter(|words| !words.is_empty());
            let notes: String = notes.map(|words| format!(" *{words}*")).collect();
            page += &format!("| `{}` | {}{notes} |\n", metric.id, metric.words.replace('|', "\\|"));
        }
    }
    let file = docs("evidence.md");
    if std::env::var_os("FATHOM_BLESS").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(written, page, "docs/evidence.md is not current: run the test with FATHOM_BLESS=1");
}

#[test]
fn rule_ids_are_unique_and_every_rule_describes_itself() {
    let mut ids: Vec<&str> = RULES.iter().map(|rule| rule.id()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), RULES.len());
    for rule in RULES {
        assert!(rule.about().len() > 300, "{} says too little of itself", rule.id());
    }
}
