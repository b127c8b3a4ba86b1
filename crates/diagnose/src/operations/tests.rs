//! Operations put together by hand, of which it is known what makes them slow.

use crate::Confidence;
use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{FrameType, Recording};
use proptest::prelude::*;

use super::*;
use crate::built::Built;

/// A hundred requests a tenth of a second apart: 10 ms each, the 50th 90 ms, 80 of which wait for
/// the monitor that the sleeper holds.
fn shop(slow_waits: bool) -> Recording {
    let mut built = Built::jvm("17", "G1", 20.0);
    for at in 0..100_i32 {
        let at_s = 1.0 + f64::from(at) / 10.0;
        let is_slow = at == 50;
        built.on_thread(kind::EVENT, "worker-1", "shop.Request", at_s, if is_slow { 90.0 } else { 10.0 });
        if is_slow && slow_waits {
            let labels = [(label::OWNER, "sleeper")];
            let frames = [("shop.Stock.take", FrameType::C2)];
            let at = (at_s + 0.005, 80.0);
            built.with_stack((kind::LOCK_MONITOR, "shop.Stock"), "worker-1", &frames, &labels, at);
            built.on_thread(kind::THREAD_SLEEP, "sleeper", "", at_s, 90.0);
        }
    }
    built.sealed()
}

fn choice(amount: Amount) -> Choice {
    Choice { amount, kind: None }
}

#[test]
fn the_sleep_of_the_owner_of_a_lock_makes_the_slow_request_slow() {
    let recording = shop(true);
    let found = slowest(&recording, &choice(Amount::Share(0.01))).unwrap();
    assert_eq!((found.kind.as_str(), found.operations, found.slow.operations), ("shop.Request", 100, 1));
    assert!((found.longer_ms - 80.0).abs() < 1e-6, "{found:?}");
    let lead = &found.parts[0];
    assert_eq!((lead.category, lead.covered_by), (Category::Sleep, Some(General::Lock)), "{found:?}");
    assert!((lead.more_ms - 80.0).abs() < 1e-6 && lead.ordinary_ms == 0.0, "{lead:?}");
    assert_eq!(lead.counterpart, "thread sleeper", "{lead:?}");
    // One operation alone is a coincidence as well.
    assert_eq!(found.confidence, Some(Confidence::ConsistentWith));

    let id = &found.slow_operations[0].id;
    let explained = explain(&recording, id).unwrap();
    let waits: Vec<_> = explained.pieces.iter().filter(|p| p.category == Category::Monitor).collect();
    assert_eq!(waits.len(), 1, "{explained:?}");
    assert_eq!((waits[0].place.as_str(), waits[0].counterpart.as_str()), ("shop.Stock.take", "shop.Stock"));
    let [behind] = &waits[0].behind[..] else { panic!("{explained:?}") };
    assert_eq!((behind.thread.as_deref(), behind.category), (Some("sleeper"), Category::Sleep));
    found
        .finding
        .states(&facts::LONGER, &[("value", "80 ms"), ("counterpart", "thread sleeper"), ("lock", "a lock")]);
}

#[test]
fn what_nobody_saw_is_not_explained() {
    let found = slowest(&shop(false), &choice(Amount::Count(1))).unwrap();
    assert_eq!((found.confidence, found.parts[0].category), (None, Category::Unknown), "{found:?}");
    assert!((found.parts[0].share - 1.0).abs() < 1e-6);
}

#[test]
fn without_operations_it_says_what_would_give_some() {
    let none = Built::jvm("17", "G1", 10.0).sealed();
    assert_eq!(slowest(&none, &choice(Amount::Share(0.01))).unwrap_err(), OperationsError::None);
    let recording = shop(true);
    let other = Choice { kind: Some("shop.Other".into()), ..choice(Amount::Count(1)) };
    let no_kind = OperationsError::NoKind { asked: "shop.Other".into(), there: "shop.Request".into() };
    assert_eq!(slowest(&recording, &other).unwrap_err(), no_kind);
    for id in ["event:0", "event:101", "request:1", "12", "event:x", ""] {
        assert_eq!(explain(&recording, id).unwrap_err(), OperationsError::NoSuch(id.into()));
    }
}

#[test]
fn a_request_without_a_thread_is_explained_by_the_stops_of_the_only_jvm() {
    let mut built = Built::jvm("17", "G1", 20.0);
    for at in 0..100_i32 {
        let at_s = 1.0005 + f64::from(at) / 10.0;
        built.span(kind::OPERATION, "GET /", at_s, if at == 50 { 90.0 } else { 10.0 }, &[], &[]);
    }
    built.pause("Pause Full", "System.gc()", 6.01, 70.0, &[]);
    let recording = built.sealed();
    let found = slowest(&recording, &choice(Amount::Count(1))).unwrap();
    assert_eq!((found.slow.on_a_thread, found.parts[0].category), (0, Category::StoppedByGc), "{found:?}");
    let explained = explain(&recording, &found.slow_operations[0].id).unwrap();
    assert_eq!(explained.operation.thread, None);
    explained.notes[0].states(&facts::NO_THREAD_ALONE, &[]);
}

/// Requests of a program that publishes its trace contexts, as they were seen: one of 80 ms, with
/// another span within it, and part of it on a second thread; and one of another trace.
fn traced() -> Recording {
    let mut built = Built::jvm("17", "G1", 20.0);
    let mut seen = |trace: &str, span: &str, thread: &str, at_s: f64, ms: f64| {
        let labels = [(label::TRACE_ID, trace), (label::SPAN_ID, span)];
        built.row(kind::TRACE_SPAN, "span", at_s, ms, &[], &labels, None, Some(thread));
    };
    seen(TRACE, SPAN, "worker-1", 1.0, 80.0);
    seen(TRACE, "000000000000000b", "worker-1", 1.02, 40.0);
    seen(TRACE, SPAN, "worker-2", 1.03, 20.0);
    seen(TRACE, "000000000000000c", "worker-3", 1.04, 0.0);
    seen("00000000000000000000000000000002", "000000000000000d", "worker-1", 3.0, 10.0);
    built.on_thread(kind::THREAD_SLEEP, "worker-1", "", 1.01, 60.0);
    built.sealed()
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

#[test]
fn a_span_of_a_trace_leads_to_what_its_thread_did() {
    let recording = traced();
    for id in [SPAN, TRACE, "00F067AA0BA902B7"] {
        let explained = explain(&recording, id).unwrap();
        let own = &explained.operation;
        assert_eq!((own.id.as_str(), own.thread.as_deref(), own.ms), ("span:1", Some("worker-1"), 80.0));
        assert_eq!((own.trace_id.as_deref(), own.span_id.as_deref()), (Some(TRACE), Some(SPAN)));
        let asleep: f64 =
            explained.pieces.iter().filter(|p| p.category == Category::Sleep).map(|p| p.ms).sum();
        assert!((asleep - 60.0).abs() < 1e-6, "{explained:?}");
        // What lies within it, and what was seen once, is not listed.
        let [note] = &explained.notes[..] else { panic!("{explained:?}") };
        note.states(&facts::AT, &[("value", "span:3"), ("took", "20 ms"), ("thread", "worker-2")]);
        note.states(&facts::ELSEWHERE, &[("more", "")]);
    }
    let inner = explain(&recording, "000000000000000b").unwrap();
    assert_eq!((inner.operation.id.as_str(), inner.notes.len()), ("span:2", 0));
    for id in ["000000000000000c", "0000000000000000", &"f".repeat(32)] {
        assert_eq!(explain(&recording, id).unwrap_err(), OperationsError::NotSeen(id.into()));
    }
}

#[test]
fn spans_within_others_are_no_operations_of_their_own_and_what_has_ends_comes_first() {
    let mut built = Built::jvm("17", "G1", 40.0);
    for at in 0..20 {
        let at_s = f64::from(at);
        let labels = [(label::TRACE_ID, TRACE), (label::SPAN_ID, SPAN)];
        built.row(kind::TRACE_SPAN, "span", at_s, 500.0, &[], &labels, None, Some("worker-1"));
        built.row(kind::TRACE_SPAN, "span", at_s + 0.1, 100.0, &[], &labels, None, Some("worker-1"));
        built.on_thread(kind::EVENT, "worker-2", "shop.Request", at_s, 10.0);
    }
    let recording = built.sealed();
    let found = slowest(&recording, &choice(Amount::Count(1))).unwrap();
    assert_eq!((found.kind.as_str(), &found.other_kinds[..]), ("shop.Request", &[("span".into(), 20)][..]));
    let of_spans = Choice { kind: Some("span".into()), ..choice(Amount::Count(1)) };
    let found = slowest(&recording, &of_spans).unwrap();
    assert_eq!((found.operations, found.p50_ms, found.other_kinds.len()), (20, 500.0, 1));
}

#[test]
fn amounts_are_shares_or_numbers() {
    assert_eq!("1%".parse(), Ok(Amount::Share(0.01)));
    assert_eq!("20".parse(), Ok(Amount::Count(20)));
    for wrong in ["", "0", "0%", "26%", "-1", "x%", "NaN%"] {
        assert!(wrong.parse::<Amount>().is_err(), "{wrong}");
    }
}

/// Waits of threads: whose, in what, from, how long (milliseconds).
fn waits() -> impl Strategy<Value = Vec<(usize, usize, u32, u32)>> {
    prop::collection::vec((0_usize..3, 0_usize..4, 0_u32..3_000, 1_u32..400), 0..40)
}

proptest! {
    #[test]
    fn pieces_add_up_to_the_operation_and_parts_to_the_difference(
        waits in waits(),
        lengths in prop::collection::vec(1_u32..300, 8..20),
    ) {
        let mut built = Built::jvm("17", "G1", 10.0);
        for (thread, what, from, ms) in waits {
            let (name, at_s, ms) = (format!("t-{thread}"), f64::from(from) / 1e3, f64::from(ms));
            match what {
                0 => built.waits_for(&name, "shop.Stock", &format!("t-{}", (thread + 1) % 3), at_s, ms),
                1 => built.on_thread(kind::THREAD_SLEEP, &name, "", at_s, ms),
                2 => built.pause("Pause Young", "", at_s, ms, &[]),
                _ => built.call(&name, "read", "/data", at_s, ms),
            };
        }
        for (at, ms) in lengths.iter().enumerate() {
            built.on_thread(kind::PROBE, "t-0", "serve", 0.15 * at as f64, f64::from(*ms));
        }
        let recording = built.sealed();
        let found = slowest(&recording, &choice(Amount::Count(2))).unwrap();
        let sum: f64 = found.parts.iter().map(|part| part.more_ms).sum();
        prop_assert!((sum - found.longer_ms).abs() < 1e-6, "{} of {}", sum, found.longer_ms);
        for operation in &found.slow_operations {
            let explained = explain(&recording, &operation.id).unwrap();
            let mut at = operation.from_ns;
            for piece in &explained.pieces {
                prop_assert_eq!(piece.from_ns, at);
                prop_assert!(piece.to_ns > at);
                at = piece.to_ns;
            }
            prop_assert_eq!(at, operation.to_ns);
        }
    }
}
