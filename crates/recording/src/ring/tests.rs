//! The ring: what it returns, and that it does not grow.

use super::*;
use crate::vocabulary::{count, kind, label};
use crate::{Recording, SeriesKind};

const S: i64 = 1_000_000_000;
const BOUNDS: Bounds = Bounds { bytes: 4 << 20, age_ns: 20 * S };

fn source(ring: &mut Ring) -> SourceId {
    ring.add_source(Source { name: "sched".into(), ..Source::default() })
}

struct Who {
    process: ProcessId,
    thread: ThreadId,
    source: SourceId,
}

fn who(ring: &mut Ring) -> Who {
    let process = ring.add_process(Process { pid: Some(7), name: "shop".into(), ..Process::default() });
    let thread = ring.thread(process, Some(8), "worker", Role::App);
    Who { process, thread, source: source(ring) }
}

fn span(ring: &mut Ring, who: &Who, kind: &str, name: &str, (t0_ns, t1_ns): (i64, i64)) -> SpanId {
    let frame = ring.frame(name, "", FrameType::C2, 3);
    let stack = Some(ring.stack(None, frame));
    let (process, thread, source) = (who.process, Some(who.thread), who.source);
    let (labels, figures) = (&[("path", name)][..], &[("bytes", 4096.0)][..]);
    let row = SpanRow {
        thread,
        stack,
        figures,
        labels,
        ..SpanRow::new(kind, name, (t0_ns, t1_ns), process, source)
    };
    ring.span(&row)
}

fn sealed(ring: &mut Ring, within: (i64, i64)) -> Recording {
    let mut recording = ring.excerpt(within).recording();
    recording.seal();
    recording
}

fn spans(recording: &Recording, kind: &str) -> Vec<(String, i64, i64)> {
    recording.spans_of(kind).map(|s| (s.name().to_owned(), s.t0_ns() / S, s.t1_ns() / S)).collect()
}

#[test]
fn an_excerpt_has_what_touches_it_with_all_that_it_points_to() {
    let mut ring = Ring::new(BOUNDS, 0);
    // What nothing in the excerpt refers to is not in it.
    for i in 0..10 {
        ring.add_process(Process { pid: Some(100 + i), ..Process::default() });
    }
    let who = who(&mut ring);
    let info = SeriesInfo {
        name: "throughput".into(),
        unit: "ops/s".into(),
        instance: String::new(),
        kind: SeriesKind::Rate,
        process: Some(who.process),
        source: who.source,
    };
    let series = ring.add_series(info);
    for i in 0..20 {
        span(&mut ring, &who, "k", &format!("n{i}"), (i * S, i * S + S / 2));
        ring.point(series, i * S, S, i as f64);
        ring.source_mut(who.source).lost = i as u64;
        ring.roll((i + 1) * S, None);
    }
    let recording = sealed(&mut ring, (8 * S, 12 * S));
    let names: Vec<_> = spans(&recording, "k").into_iter().map(|s| s.0).collect();
    assert_eq!(names, ["n8", "n9", "n10", "n11"]);
    assert_eq!(recording.processes.len(), 1);
    assert_eq!((recording.threads.len(), recording.stacks.len()), (1, 4));
    let span = recording.spans_of("k").next().unwrap();
    assert_eq!((span.figure("bytes"), span.label("path")), (Some(4096.0), Some("n8")));
    let node = recording.stacks[span.stack().unwrap().index()];
    assert_eq!(recording.strings.get(recording.frames[node.frame.index()].name), "n8");
    assert_eq!(recording.series[0].value, [8.0, 9.0, 10.0, 11.0]);
    assert_eq!(recording.sources[0].records, 8);
    assert_eq!(
        recording.sources[0].lost, 13,
        "from the beginning of the segment on in which the first row came in"
    );
    assert_eq!(recording.covers_ns(), Some((8 * S, 12 * S)));
}

#[test]
fn what_extends_beyond_the_interval_is_truncated_and_labelled_and_counts_are_whole_or_absent() {
    let mut ring = Ring::new(BOUNDS, 0);
    let who = who(&mut ring);
    for (kind, t0, t1) in [(kind::LOCK_MONITOR, 1, 6), (kind::SCHED_OFF, 1, 9), (kind::SCHED_WATCHED, 0, 10)]
    {
        span(&mut ring, &who, kind, "x", (t0 * S, t1 * S));
    }
    for interval in [(4 * S, 6 * S), (6 * S, 7 * S), (7 * S, 9 * S)] {
        let count = CountRow::new(count::SYSCALL_TOTALS, "read", interval, who.process, who.source, 3);
        let (thread, total_ns, figures) = (Some(who.thread), Some(4), &[("failed", 1.0)][..]);
        ring.count(&CountRow { thread, total_ns, figures, ..count });
    }
    assert_eq!(ring.rows(), 6);
    let recording = sealed(&mut ring, (5 * S, 8 * S));
    let one = |kind| spans(&recording, kind).into_iter().map(|s| (s.1, s.2)).collect::<Vec<_>>();
    assert_eq!(one(kind::LOCK_MONITOR), [(5, 6)]);
    assert_eq!(one(kind::SCHED_OFF), [(5, 8)]);
    assert_eq!(one(kind::SCHED_WATCHED), [(5, 8)]);
    let counts: Vec<_> = recording.counts_of(count::SYSCALL_TOTALS).collect();
    let [read] = counts.as_slice() else { panic!("{counts:?}") };
    assert_eq!((read.t0_ns(), read.t1_ns(), read.count(), read.total_ns()), (6 * S, 7 * S, 3, Some(4)));
    assert_eq!((read.name(), read.figure("failed")), ("read", Some(1.0)));
    let thread = &recording.threads[read.thread().unwrap().index()];
    assert_eq!((thread.tid, thread.process), (Some(8), read.process()));
    assert_eq!(recording.sources[read.source().index()].records, 4);
    let truncated = |kind| recording.spans_of(kind).next().and_then(|s| s.label(label::CUT)).is_some();
    assert!(truncated(kind::LOCK_MONITOR) && !truncated(kind::SCHED_OFF));
}

#[test]
fn what_has_not_ended_is_in_one_excerpt_only() {
    let mut ring = Ring::new(BOUNDS, 0);
    let who = who(&mut ring);
    span(&mut ring, &who, "k", "ended", (S, 2 * S));
    ring.roll(3 * S, None);
    ring.write_unfinished();
    span(&mut ring, &who, "k", "goes on", (S, 3 * S));
    let first = sealed(&mut ring, (0, 3 * S));
    assert_eq!(spans(&first, "k").len(), 2);
    span(&mut ring, &who, "k", "goes on", (S, 4 * S));
    ring.roll(5 * S, None);
    let second = sealed(&mut ring, (0, 5 * S));
    assert_eq!(spans(&second, "k"), [("ended".into(), 1, 2), ("goes on".into(), 1, 4)]);
}

#[test]
fn a_million_rows_do_not_make_it_grow_whatever_is_new_in_them() {
    let mut ring = Ring::new(BOUNDS, 0);
    let mut who = who(&mut ring);
    let (mut largest, mut renewed) = (0, 0);
    for i in 0..1_000_000_i64 {
        // Ten thousand per second; every fifth has a new thread, name, path and stack.
        let t_ns = i * (S / 10_000);
        let new = i - i % 5;
        if i == new {
            who.thread = ring.thread(who.process, Some(i), &format!("t{i}"), Role::App);
        }
        span(&mut ring, &who, "k", &format!("name {new}"), (t_ns, t_ns + 1));
        if i % 1000 == 0 {
            ring.roll(t_ns, None);
            if ring.wants_new_names() {
                ring.renew_names();
                renewed += 1;
            }
            if ring.known() > 50_000 {
                ring.forget(|pid, tid| pid == 7 && tid.is_some());
            }
            largest = largest.max(ring.bytes());
            assert!(ring.known() < 120_000, "{} at {i}", ring.known());
        }
    }
    assert!(largest <= BOUNDS.bytes + BOUNDS.bytes / 4, "{largest}");
    assert!(renewed > 2, "{renewed}");
    assert!(ring.dropped().rows > 0 && ring.dropped().stacks == 0, "{:?}", ring.dropped());
    // What is left is consistent.
    let since = ring.since_ns();
    let recording = sealed(&mut ring, (since, 100 * S));
    assert!(recording.spans_of("k").len() > 1000);
    for span in recording.spans_of("k") {
        let node = recording.stacks[span.stack().unwrap().index()];
        let frame = recording.strings.get(recording.frames[node.frame.index()].name);
        let thread = recording.strings.get(recording.threads[span.thread().unwrap().index()].name);
        assert_eq!((frame, &frame[5..]), (span.name(), &thread[1..]));
    }
}

#[test]
fn an_id_of_a_stack_that_was_forgotten_gives_no_stack_and_never_a_wrong_one() {
    let mut ring = Ring::new(BOUNDS, 0);
    let who = who(&mut ring);
    let frame = ring.frame("old", "", FrameType::C2, -1);
    let stack = Some(ring.stack(None, frame));
    ring.renew_names();
    span(&mut ring, &who, "k", "new", (S, 2 * S));
    let (process, thread, source) = (who.process, Some(who.thread), who.source);
    ring.sample(&SampleRow { kind: "cpu", t_ns: S, process, thread, stack, weight: 1, source });
    let onto = ring.stack(stack, frame);
    assert_eq!(ring.frames(Some(onto), 9), [("[forgotten]".to_owned(), FrameType::Unknown)]);
    let recording = sealed(&mut ring, (0, 3 * S));
    assert_eq!(recording.samples.iter().next().unwrap().stack, None);
    assert_eq!(ring.dropped().stacks, 1);
}

#[test]
fn what_is_too_old_goes_unless_it_is_kept_and_what_lives_is_not_forgotten() {
    let mut ring = Ring::new(BOUNDS, 0);
    let who = who(&mut ring);
    for i in 0..100 {
        span(&mut ring, &who, "k", "x", (i * S, i * S + 1));
        ring.roll((i + 1) * S, (i > 50).then_some(10 * S + S / 2));
        if i == 50 {
            assert_eq!((ring.since_ns() / S, ring.dropped().rows), (30, 0));
        }
    }
    assert_eq!(ring.since_ns() / S, 30, "kept from 10 s on, as far as it was there");
    ring.roll(200 * S, None);
    assert_eq!(ring.rows(), 0);
    ring.forget(|_, _| false);
    assert_eq!((ring.thread_name(who.thread), ring.known()), ("worker", 3));
    ring.forget(|_, tid| tid.is_some());
    assert_eq!((ring.thread_name(who.thread), ring.known()), ("", 2));
    ring.forget(|_, _| true);
    assert!(ring.process(who.process).is_none());
    ring.process_mut(who.process).name = "nobody".into();
}

#[test]
fn a_part_of_an_excerpt_has_the_rows_of_its_process_alone() {
    let mut ring = Ring::new(BOUNDS, 0);
    let one = who(&mut ring);
    let jvm = Process { pid: Some(9), name: "bank".into(), jvm: true, ..Process::default() };
    let other = ring.add_process(jvm);
    let other = Who { process: other, thread: ring.thread(other, Some(9), "main", Role::App), ..one };
    span(&mut ring, &one, "k", "one", (S, 2 * S));
    span(&mut ring, &other, "k", "other", (S, 2 * S));
    let info = |process| SeriesInfo {
        name: "n".into(),
        unit: String::new(),
        instance: String::new(),
        kind: SeriesKind::Gauge,
        process,
        source: one.source,
    };
    for (value, process) in [(1.0, None), (2.0, Some(one.process)), (3.0, Some(other.process))] {
        let series = ring.add_series(info(process));
        ring.point(series, S, 0, value);
    }
    let excerpt = ring.excerpt((0, 3 * S));
    assert_eq!(excerpt.jvms().map(|(id, _)| id).collect::<Vec<_>>(), [other.process]);
    let values = |recording: &Recording| recording.series.iter().map(|s| s.value[0]).collect::<Vec<_>>();
    let mut part = excerpt.recording_of(&|process| process == Some(other.process));
    part.seal();
    assert_eq!(spans(&part, "k"), [("other".to_owned(), 1, 2)]);
    assert_eq!((part.processes.len(), values(&part)), (1, vec![3.0]));
    let machine = excerpt.recording_of(&|process| process.is_none());
    assert_eq!((machine.spans.len(), machine.processes.len(), values(&machine)), (0, 0, vec![1.0]));
}
