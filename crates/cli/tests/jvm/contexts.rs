//! In which spans of traces threads were, as their program publishes it: of a JVM and of programs
//! that have the variable in each place where it can be. Needs root, eBPF and a C compiler; skips
//! loudly without.

use std::path::Path;
use std::process::Command;

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{Recording, Span};
use serde_json::Value;

use crate::live::process::Talking;
use crate::live::recorded::{self, of_thread};
use crate::live::{ebpf_is_allowed, fathom, jdks, json, patiently, said};

/// A nap that lasts so long is within a span.
const NAP_NS: i64 = 45_000_000;

/// Compiles files of `tests/native`; `false`, and a line about it, without a compiler.
fn compiled(dir: &Path, into: &str, files: &[&str], options: &[&str]) -> bool {
    let sources = files.iter().map(|file| format!("{}/tests/native/{file}", env!("CARGO_MANIFEST_DIR")));
    let output =
        Command::new("cc").current_dir(dir).args(["-O1", "-o", into]).args(sources).args(options).output();
    let Ok(output) = output else {
        fathom_testing::skip("no C compiler (cc) was found");
        return false;
    };
    assert!(output.status.success(), "{into}: {}", said(&output));
    true
}

fn library(dir: &Path, into: &str, dialect: &str) -> bool {
    let dialect = format!("-mtls-dialect={dialect}");
    compiled(dir, into, &["spans.c"], &["-shared", "-fPIC", &dialect])
}

#[track_caller]
fn record(dir: &Path, program: &Talking, last: &str) -> Recording {
    let output = fathom(dir, &["record", "-p", &program.pid(), "-d", last, "--force", "-o", "x.fathom"]);
    assert!(output.status.success(), "{}", said(&output));
    recorded::open(dir, "x.fathom")
}

fn length(span: &Span<'_>) -> i64 {
    span.t1_ns() - span.t0_ns()
}

fn number(span: &Span<'_>, label: &str) -> u64 {
    u64::from_str_radix(span.label(label).unwrap(), 16).unwrap()
}

/// How long a thread slept in a wait, whatever the machine had to do then.
fn asleep(wait: &Span<'_>) -> i64 {
    length(wait) - wait.figure(figure::RUNQ_NS).unwrap_or(0.0) as i64
}

/// Spans of a thread, each 50 ms asleep and 30 ms at work, with 30 ms asleep in none behind it.
#[track_caller]
fn single_spans_are_known(recording: &Recording, thread: &str, trace: u64, what: &str) {
    let mut naps = of_thread(recording, kind::SCHED_OFF, thread);
    naps.retain(|wait| wait.name() == "sleeping" && asleep(wait) >= 25_000_000);
    // The first and the last may be cut by the beginning and the end of the recording.
    let naps = naps.get(1..naps.len().saturating_sub(1)).unwrap_or_default();
    let (within, outside): (Vec<&Span<'_>>, Vec<&Span<'_>>) =
        naps.iter().partition(|nap| asleep(nap) >= NAP_NS);
    assert!(within.len() >= 6 && outside.len() >= 6, "{what}: {} and {}", within.len(), outside.len());
    assert!(outside.iter().all(|nap| nap.label(label::SPAN_ID).is_none()), "{what}: in no span");
    let seen = of_thread(recording, kind::TRACE_SPAN, thread);
    let mut last = 0;
    for nap in &within {
        let (own_trace, own_span) = (nap.label(label::TRACE_ID), nap.label(label::SPAN_ID));
        assert_eq!((own_trace.map(str::len), own_span.map(str::len)), (Some(32), Some(16)), "{what}");
        assert_eq!(number(nap, label::TRACE_ID), trace, "{what}");
        let span = number(nap, label::SPAN_ID);
        assert!(span > last, "{what}: each span naps once, {span} behind {last}");
        last = span;
        let of_it: Vec<_> = seen.iter().filter(|span| span.label(label::SPAN_ID) == own_span).collect();
        let ends: Vec<_> =
            of_it.iter().map(|span| (span.t0_ns() - nap.t0_ns(), span.t1_ns() - nap.t1_ns())).collect();
        assert!(matches!(ends[..], [(before, behind)] if before <= 0 && behind >= 0), "{what}: {ends:?}");
        // The nap outside is not within it.
        let is_within = |nap: &&&Span<'_>| nap.t0_ns() < of_it[0].t1_ns() && nap.t1_ns() > of_it[0].t0_ns();
        assert_eq!(outside.iter().filter(is_within).count(), 0, "{what}: {ends:?}");
    }
    // From the nap to the last sample of the work behind it.
    let mut worked: Vec<_> = seen.iter().map(length).collect();
    worked.sort_unstable();
    assert!(worked[worked.len() / 2] >= 60_000_000, "{what}: {worked:?}");
    // Who is in no span has none.
    let other = [kind::SCHED_OFF, kind::TRACE_SPAN].map(|kind| of_thread(recording, kind, "outside"));
    assert!(!other[0].is_empty(), "{what}");
    assert!(other.iter().flatten().all(|span| span.label(label::TRACE_ID).is_none()), "{what}");
}

#[test]
fn the_span_of_a_thread_is_read_wherever_its_program_has_the_variable() {
    if !ebpf_is_allowed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let both = ["traced.c", "spans.c"];
    let linked = ["-Wl,--no-as-needed", "-L.", "-lspans", "-Wl,-rpath,.", "-ldl", "-lpthread"];
    if !compiled(dir, "whole", &both, &["-rdynamic", "-ldl", "-lpthread"]) {
        return;
    }
    // Libraries that come later have a block of their own, or, with descriptors, what was reserved
    // for them.
    assert!(library(dir, "libspans.so", "gnu") && library(dir, "libdescribed.so", "gnu2"));
    assert!(compiled(dir, "linked", &["traced.c"], &linked));
    assert!(compiled(dir, "loading", &["traced.c"], &["-ldl", "-lpthread"]));
    let programs: [&[&str]; 4] =
        [&["./whole"], &["./linked"], &["./loading", "./libspans.so"], &["./loading", "./libdescribed.so"]];
    for program in programs {
        patiently(|| {
            let running = Talking::start(Command::new(program[0]).current_dir(dir).args(&program[1..]));
            let recording = record(dir, &running, "3s");
            single_spans_are_known(&recording, "inside", 0x7ace, &program.join(" "));
        });
    }
}

#[test]
fn the_spans_of_a_jvms_threads_lead_to_their_waits() {
    if !ebpf_is_allowed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let Some(home) = jdks::compile(dir, 11, &["Spans"]) else { return };
    if !library(dir, "libspans.so", "gnu") {
        return;
    }
    let java = |arguments: &[&str]| {
        let library = dir.join("libspans.so");
        let mut java = Command::new(home.join("bin/java"));
        java.args(["-XX:+UseSerialGC", "-cp"]).arg(dir).arg("Spans").arg(library).args(arguments);
        java
    };
    patiently(|| {
        let running = Talking::start(&mut java(&["120"]));
        let recording = record(dir, &running, "4s");
        single_spans_are_known(&recording, "single", 1, "JVM");
        nested_spans_are_known(&recording);
        a_span_is_explained(dir, &recording);
        let info = json(dir, &["info", "x.fathom"]);
        assert!(info.to_string().contains(kind::TRACE_SPAN), "{info}");
    });
    // A library that is loaded while the recording is under way.
    patiently(|| {
        let mut running = Talking::spawn(&mut java(&["120", "1500"])).unwrap();
        let recording = record(dir, &running, "8s");
        running.until("ready");
        let naps = of_thread(&recording, kind::SCHED_OFF, "single");
        let named = naps.iter().filter(|nap| nap.label(label::SPAN_ID).is_some()).count();
        assert!(named >= 8, "{named} of {} waits", naps.len());
    });
}

/// By its id, as a tracing backend shows it: what its thread did in it.
#[track_caller]
fn a_span_is_explained(dir: &Path, recording: &Recording) {
    let naps = of_thread(recording, kind::SCHED_OFF, "single");
    let mut naps = naps.iter().filter(|nap| asleep(nap) >= NAP_NS);
    let id = naps.nth(2).and_then(|nap| nap.label(label::SPAN_ID)).expect("three spans at least");
    // Not the first: those of the other thread have the numbers 1 and 2.
    let ids =
        |operation: &Value| ["thread", "span_id"].map(|key| operation[key].as_str().unwrap().to_owned());
    let explained = json(dir, &["diagnose", "x.fathom", "--op", id]);
    assert_eq!(ids(&explained["operation"]), ["single", id], "{explained}");
    let pieces = explained["pieces"].as_array().unwrap().iter();
    let spent = |words: &str| -> f64 {
        pieces.clone().filter(|p| p["words"] == words).map(|p| p["ms"].as_f64().unwrap()).sum()
    };
    assert!((45.0..60.0).contains(&spent("asleep")), "{explained}");
    assert!((15.0..50.0).contains(&spent("running")), "{explained}");
    let longest = json(dir, &["diagnose", "x.fathom", "--slowest", "1", "--kind", "span"]);
    assert!(longest["operations"].as_u64().unwrap() >= 12, "{longest}");
}

/// One span within another: 20 ms, 25 ms in the inner one, 20 ms.
#[track_caller]
fn nested_spans_are_known(recording: &Recording) {
    let seen = of_thread(recording, kind::TRACE_SPAN, "nested");
    let of = |span: u64| {
        let is_it = move |seen: &&Span<'_>| number(seen, label::SPAN_ID) == span;
        seen.iter().filter(is_it).collect::<Vec<_>>()
    };
    let (outer, inner) = (of(1), of(2));
    assert!(outer.len() >= 6 && inner.len() >= 6, "{} and {}", outer.len(), inner.len());
    let mut whole = 0;
    for inner in &inner {
        let is_around = |outer: &&Span<'_>| {
            outer.label(label::TRACE_ID) == inner.label(label::TRACE_ID)
                && outer.t0_ns() < inner.t0_ns()
                && outer.t1_ns() > inner.t1_ns()
        };
        whole += usize::from(outer.iter().any(is_around));
    }
    assert!(whole + 3 >= inner.len(), "{whole} of {} lie within their outer span", inner.len());
    // Less those that the beginning and the end of the recording cut.
    let long = inner.iter().filter(|inner| length(inner) >= 24_000_000).count();
    assert!(long + 2 >= inner.len(), "{long} of {} inner spans last for 25 ms", inner.len());
    let long = outer.iter().filter(|outer| length(outer) >= 64_000_000).count();
    assert!(long + 3 >= outer.len(), "{long} of {} outer spans last for 65 ms", outer.len());
}
