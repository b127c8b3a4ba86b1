//! Waits put together by hand, of which it is known what they come to.

use fathom_recording::vocabulary::{interrupt, kind, label, sample};
use fathom_recording::{FrameType, Recording, Role, SampleRow, Sink, SpanRow, ThreadId};
use proptest::prelude::*;

use super::*;
use crate::built::Built;

const TAKE: [&str; 2] = ["java.util.concurrent.locks.ReentrantLock.lock", "shop.Pool.borrow"];
const BORROW: [&str; 3] = [
    "java.util.concurrent.locks.LockSupport.park",
    "java.util.concurrent.LinkedTransferQueue.tryTransfer",
    "shop.Pool.borrow",
];
/// Reads of an answer from this host and from another one: what the connection's frame is called
/// decides the peer.
const READ: [&str; 2] = ["sun.nio.ch.NioSocketImpl.read", "shop.Pool.call"];
const READ_FROM_AFAR: [&str; 2] = ["sun.nio.ch.NioSocketImpl.read", "shop.Remote.call"];
const SELECT: [&str; 2] = ["sun.nio.ch.EPollSelectorImpl.doSelect", "rpc.Client.loop"];
const REST: [&str; 2] =
    ["java.util.concurrent.LinkedBlockingQueue.take", "java.util.concurrent.ThreadPoolExecutor.getTask"];
const ANSWER: [&str; 2] = ["java.util.concurrent.CompletableFuture.get", "shop.Rpc.call"];
const SLEEP: [&str; 2] = ["java.lang.Thread.sleep", "shop.Peer.answer"];

/// A thread's waits: from, to, in what, and who ended it.
type Wait<'s> = (i64, i64, &'s [&'s str], Option<usize>);

/// Threads with their waits, milliseconds; the number of a thread is its place.
fn recording(threads: &[Vec<Wait<'_>>]) -> Recording {
    let mut recording = begun(threads);
    recording.seal();
    recording
}

/// The same, to which more may be added.
fn begun(threads: &[Vec<Wait<'_>>]) -> Recording {
    let Built { mut recording, jvm, .. } = Built::jvm("17", "G1", 10.0);
    let name = |at: usize| format!("worker-{at}");
    for (at, waits) in threads.iter().enumerate() {
        let thread = recording.thread(jvm, Some(at as i64 + 1), &name(at), Role::App);
        let mut span = |kind: &str, (from, to): (i64, i64), frames: &[&str], labels: &[(&str, &str)]| {
            let mut stack = None;
            let reads = frames.first() == Some(&READ[0]);
            let kernel = [(if reads { "tcp_recvmsg" } else { "futex_wait" }, FrameType::Kernel)];
            let java = frames.iter().rev().map(|name| (*name, FrameType::C2));
            for (name, frame_type) in java.chain(kernel.into_iter().filter(|_| !frames.is_empty())) {
                let frame = recording.frame(name, "", frame_type, -1);
                stack = Some(recording.stack(stack, frame));
            }
            recording.span(&SpanRow {
                thread: Some(thread),
                stack,
                line: 1,
                labels,
                ..SpanRow::new(
                    kind,
                    "sleeping",
                    (from * 1_000_000, to * 1_000_000),
                    jvm,
                    fathom_recording::SourceId(0),
                )
            });
        };
        span(kind::SCHED_WATCHED, (0, 10_000), &[], &[]);
        for (from, to, frames, ended_by) in waits {
            let waker = ended_by.map(|other| format!("{} ({})", name(other), other + 1));
            let labels = waker.as_ref().map(|waker| (label::WAKER, waker.as_str()));
            let peer = if *frames == READ { "127.0.0.1:7432" } else { "10.0.0.7:7432" };
            let peer = Some((label::PEER, peer)).filter(|_| frames.first() == Some(&READ[0]));
            let call = Some((label::SYSCALL, "epoll_wait")).filter(|_| frames.first() == Some(&SELECT[0]));
            let labels: Vec<(&str, &str)> = labels.into_iter().chain(peer).chain(call).collect();
            span(kind::SCHED_OFF, (*from, *to), frames, &labels);
        }
    }
    recording
}

fn of(recording: &Recording, thread: &str) -> ThreadId {
    let at = recording.threads.iter().position(|row| recording.strings.get(row.name) == thread).unwrap();
    ThreadId(at as u32)
}

/// Pieces of all waits of a thread in milliseconds, by category and place of what they come to.
fn pieces(recording: &Recording, thread: &str) -> Vec<(Category, String, i64)> {
    let chains = Chains::of(recording);
    let (mut attribution, mut places) = (Attribution::of(&chains), Places::of_recording(recording));
    let thread = of(recording, thread);
    let mut found: std::collections::BTreeMap<(Category, String), i64> = Default::default();
    for segment in segments::of(&chains, &mut places, thread) {
        let ends = (segment.from, segment.to);
        if !is_followed(segment.key.category) {
            continue;
        }
        for (path, from, to) in
            attribution.of_wait(thread, segment.key, (segment.ended_by, segment.queues), ends)
        {
            let end = path.last().unwrap().key;
            *found.entry((end.category, end.place.to_owned())).or_default() += (to - from) / 1_000_000;
        }
    }
    found.into_iter().map(|((category, place), ms)| (category, place, ms)).collect()
}

#[test]
fn a_wait_in_a_queue_of_waiters_comes_to_what_the_first_of_them_did() {
    // Worker 2 waits for 1, that one for 0, which sleeps under the lock and then runs.
    let recording = recording(&[
        vec![(100, 180, &SLEEP, None)],
        vec![(100, 200, &TAKE, Some(0)), (200, 250, &SLEEP, None)],
        vec![(100, 300, &TAKE, Some(1))],
    ]);
    let place = |name: &str| name.to_owned();
    assert_eq!(
        pieces(&recording, "worker-2"),
        [(Category::Running, place(""), 70), (Category::Sleep, place("shop.Peer.answer"), 130),]
    );
}

#[test]
fn of_whoever_does_many_short_things_meanwhile_all_of_them_count() {
    // Nine milliseconds asleep and one at work, two hundred times.
    let naps: Vec<Wait<'_>> = (0..200).map(|at| (at * 10, at * 10 + 9, &SLEEP[..], None)).collect();
    let recording = recording(&[vec![(0, 2_000, &TAKE, Some(1))], naps]);
    let found = pieces(&recording, "worker-0");
    let [(Category::Running, _, ran), (Category::Sleep, _, slept)] = &found[..] else { panic!("{found:?}") };
    assert!((198..=202).contains(ran) && (1_798..=1_802).contains(slept), "{found:?}");
}

#[test]
fn short_waits_of_whoever_is_waited_for_are_where_the_sample_that_sums_them_up_shows_them() {
    let mut recording = begun(&[vec![(0, 90, &BORROW, Some(1))], Vec::new()]);
    let (thread, source) = (of(&recording, "worker-1"), fathom_recording::SourceId(0));
    let mut stack = None;
    for name in SLEEP.iter().rev() {
        let frame = recording.frame(name, "", FrameType::C2, -1);
        stack = Some(recording.stack(stack, frame));
    }
    let (process, weight) = (recording.threads[thread.index()].process, 100_000_000);
    let of_ms = |t_ms: i64, stack| SampleRow {
        kind: sample::OFF_CPU,
        t_ns: t_ms * 1_000_000,
        process,
        thread: Some(thread),
        stack,
        weight,
        source,
    };
    recording.sample(&of_ms(100, stack));
    recording.seal();
    assert_eq!(pieces(&recording, "worker-0"), [(Category::Sleep, "shop.Peer.answer".to_owned(), 90)]);
}

#[test]
fn a_wait_for_an_answer_from_this_host_comes_to_what_the_thread_that_answers_did() {
    let place = |name: &str| name.to_owned();
    // The server waits for the request first, which is nothing that its answer waits for.
    let answers = |read: &'static [&'static str]| {
        recording(&[
            vec![(100, 200, read, Some(1))],
            vec![(90, 110, &READ, Some(0)), (110, 190, &SLEEP, None)],
        ])
    };
    assert_eq!(
        pieces(&answers(&READ), "worker-0"),
        [
            (Category::Running, place(""), 10),
            (Category::Network, place("shop.Pool.call"), 10),
            (Category::Sleep, place("shop.Peer.answer"), 80),
        ]
    );
    // From afar an interrupt wakes the reader, in whichever thread it meets.
    assert_eq!(
        pieces(&answers(&READ_FROM_AFAR), "worker-0"),
        [(Category::Network, place("shop.Remote.call"), 100)]
    );
}

#[test]
fn threads_that_wait_for_each_other_and_who_is_not_known_end_the_way_where_it_is() {
    let circle = recording(&[
        vec![(100, 200, &TAKE, Some(1))],
        vec![(100, 200, &TAKE, Some(0))],
        vec![(100, 200, &TAKE, None)],
    ]);
    for thread in ["worker-0", "worker-2"] {
        assert_eq!(
            pieces(&circle, thread),
            [(Category::Lock, "shop.Pool.borrow".to_owned(), 100)],
            "{thread}"
        );
    }
}

#[test]
fn a_wait_for_a_thread_without_work_is_not_charged_to_its_idleness() {
    let recording = recording(&[vec![(100, 200, &REST, None)], vec![(100, 200, &TAKE, Some(0))]]);
    assert_eq!(pieces(&recording, "worker-1"), [(Category::Lock, "shop.Pool.borrow".to_owned(), 100)]);
}

#[test]
fn a_wait_for_a_thread_that_waits_for_its_time_comes_to_that() {
    let mut recording = begun(&[vec![(100, 200, &ANSWER, Some(1))], Vec::new()]);
    let thread = of(&recording, "worker-1");
    let mut stack = None;
    for name in ["shop.Batch.collect", "java.util.concurrent.LinkedBlockingQueue.poll"] {
        let frame = recording.frame(name, "", FrameType::C2, -1);
        stack = Some(recording.stack(stack, frame));
    }
    let (process, source) = (recording.threads[thread.index()].process, fathom_recording::SourceId(0));
    recording.span(&SpanRow {
        thread: Some(thread),
        stack,
        labels: &[(label::INTERRUPT, interrupt::TIMER)],
        ..SpanRow::new(kind::SCHED_OFF, "sleeping", (105_000_000, 195_000_000), process, source)
    });
    recording.seal();
    let found = pieces(&recording, "worker-0");
    assert!(found.contains(&(Category::TimedWait, "shop.Batch.collect".to_owned(), 95)), "{found:?}");
}

#[test]
fn a_wait_for_an_answer_that_a_selector_receives_comes_to_the_network_whatever_its_threads_did_before() {
    // Worker 0 asks; 1 completes the answers, which 2 receives for it from somewhere else. Before,
    // both did things for others.
    let recording = recording(&[
        vec![(100, 200, &ANSWER, Some(1))],
        vec![(100, 120, &REST, Some(3)), (120, 150, &SLEEP, None), (150, 195, &REST, Some(2))],
        vec![(100, 130, &SELECT, Some(7)), (130, 140, &SLEEP, None), (140, 190, &SELECT, Some(7))],
        vec![(100, 200, &SLEEP, None)],
    ]);
    let place = |name: &str| name.to_owned();
    assert_eq!(
        pieces(&recording, "worker-0"),
        [(Category::Running, place(""), 10), (Category::Network, place("rpc.Client.loop"), 90)]
    );
}

#[test]
fn a_selector_that_a_thread_of_its_own_jvm_notifies_is_followed_to_that_one() {
    // Worker 0 asks; 1 is the event loop, which 2 wakes up when its work is done.
    let recording = recording(&[
        vec![(100, 200, &ANSWER, Some(1))],
        vec![(102, 195, &SELECT, Some(2))],
        vec![(90, 190, &SLEEP, None)],
    ]);
    let place = |name: &str| name.to_owned();
    assert_eq!(
        pieces(&recording, "worker-0"),
        [(Category::Running, place(""), 10), (Category::Sleep, place("shop.Peer.answer"), 90)]
    );
}

/// The same where that one is a server at the other end of a connection within the JVM.
#[test]
fn a_selector_that_a_server_of_its_own_jvm_answers_waits_for_the_network() {
    let mut recording = begun(&[
        vec![(100, 200, &ANSWER, Some(1))],
        vec![(102, 195, &SELECT, Some(2))],
        vec![(110, 190, &SLEEP, None)],
    ]);
    let (thread, jvm) = (Some(of(&recording, "worker-2")), ProcessId(0));
    let source = fathom_recording::SourceId(0);
    let labels = [(label::ACCEPTED, "yes"), (label::PEER, "127.0.0.1:50001")];
    let reads = SpanRow::new(kind::SYSCALL, "read", (50_000_000, 90_000_000), jvm, source);
    recording.span(&SpanRow { thread, labels: &labels, line: 1, ..reads });
    recording.seal();
    let place = |name: &str| name.to_owned();
    assert_eq!(
        pieces(&recording, "worker-0"),
        [(Category::Running, place(""), 5), (Category::Network, place("rpc.Client.loop"), 95)]
    );
}

#[test]
fn what_a_colleague_gives_back_to_a_queue_is_not_charged_to_who_gave_that_one_its_request() {
    // Worker 1 gives back the connection of a request that 2 brought it only at 180.
    let recording = recording(&[
        vec![(100, 200, &BORROW, Some(1))],
        vec![(100, 180, &REST, Some(2)), (182, 198, &SLEEP, None)],
        vec![(90, 180, &SELECT, Some(7))],
    ]);
    let place = |name: &str| name.to_owned();
    assert_eq!(
        pieces(&recording, "worker-0"),
        [
            (Category::Running, place(""), 4),
            (Category::Waiting, place("shop.Pool.borrow"), 80),
            (Category::Sleep, place("shop.Peer.answer"), 16)
        ]
    );
}

#[test]
fn work_that_was_handed_over_late_comes_to_what_whoever_hands_it_over_did_before() {
    let recording = recording(&[
        vec![(100, 200, &ANSWER, Some(1))],
        vec![(110, 190, &REST, Some(2))],
        vec![(90, 185, &SLEEP, None)],
    ]);
    let place = |name: &str| name.to_owned();
    assert_eq!(
        pieces(&recording, "worker-0"),
        [(Category::Running, place(""), 15), (Category::Sleep, place("shop.Peer.answer"), 85)]
    );
}

#[test]
fn tasks_that_follow_each_other_through_a_pool_are_each_charged_with_what_they_did() {
    // Two threads that could work at once take turns, as each task is handed on by the one before.
    let first: Vec<Wait<'_>> = vec![
        (0, 10, &SLEEP, None),
        (10, 20, &REST, Some(2)),
        (20, 30, &SLEEP, None),
        (30, 40, &REST, Some(2)),
        (40, 50, &SLEEP, None),
    ];
    let second: Vec<Wait<'_>> = vec![
        (0, 10, &REST, Some(1)),
        (10, 20, &SLEEP, None),
        (20, 30, &REST, Some(1)),
        (30, 40, &SLEEP, None),
    ];
    let recording = recording(&[vec![(0, 50, &ANSWER, Some(1))], first, second]);
    let expected = [(Category::Sleep, "shop.Peer.answer".to_owned(), 50)];
    assert_eq!(pieces(&recording, "worker-0"), expected);
}

#[test]
fn a_thread_that_rests_once_it_has_let_go_is_charged_with_what_it_did_before() {
    let recording = recording(&[
        vec![(100, 200, &TAKE, Some(1))],
        vec![(90, 195, &SLEEP, None), (196, 300, &REST, Some(2))],
        vec![(0, 290, &SLEEP, None)],
    ]);
    let place = |name: &str| name.to_owned();
    assert_eq!(
        pieces(&recording, "worker-0"),
        [
            (Category::Running, place(""), 1),
            (Category::Lock, place("shop.Pool.borrow"), 4),
            (Category::Sleep, place("shop.Peer.answer"), 95),
        ]
    );
}

/// A thread that runs for 2 ms of each 40 and waits for a CPU in between is sampled seldom.
#[test]
fn a_thread_that_is_preempted_goes_on_with_what_it_did() {
    let mut built = Built::jvm("17", "G1", 10.0);
    built.watched("loop", 10.0);
    for slice in 0..25 {
        built.preempted("loop", 0.04 * f64::from(slice), 38.0, 0.0, "hog (4711)");
    }
    built.on_cpu("loop", &[("shop.Page.render", FrameType::C2)], 0.519, 10.0);
    // From 1 s to 2 s it waits for a request; afterwards it runs, and what is not known.
    built.on_thread(kind::SCHED_OFF, "loop", "sleeping", 1.0, 1_000.0);
    let recording = built.sealed();
    let (chains, thread) = (Chains::of(&recording), of(&recording, "loop"));
    let mut places = Places::of_recording(&recording);
    let segments = segments::of(&chains, &mut places, thread);
    let ran = segments.iter().filter(|segment| segment.key.category == Category::Running);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for segment in ran {
        if segment.from < 1_000_000_000 { &mut before } else { &mut after }.push(segment.key.place);
    }
    assert!(before.len() == 25 && before.iter().all(|place| *place == "shop.Page.render"), "{before:?}");
    assert!(after.iter().all(|place| place.is_empty()), "{after:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whoever waits for whom: the pieces of a thread's waits add up to its waits.
    #[test]
    fn time_is_conserved(wakers in prop::collection::vec(prop::collection::vec((0_i64..90, 1_i64..30, 0_usize..8), 0..6), 1..6)) {
        let threads: Vec<Vec<Wait<'_>>> = wakers.iter().map(|waits| {
            let mut until = 0;
            let mut own = Vec::new();
            for (gap, length, other) in waits {
                let from = until + gap;
                until = from + length;
                own.push((from, until, &TAKE[..], Some(*other).filter(|other| *other < wakers.len())));
            }
            own
        }).collect();
        let recording = recording(&threads);
        for (at, waits) in threads.iter().enumerate() {
            let all: i64 = waits.iter().map(|(from, to, ..)| to - from).sum();
            let found: i64 = pieces(&recording, &format!("worker-{at}")).iter().map(|(_, _, ms)| ms).sum();
            prop_assert_eq!(found, all);
        }
    }
}
