//! Real traces with every kind of timestamp, and damaged ones.

use std::io::Cursor;

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{ClockBasis, Recording, Role};
use proptest::prelude::*;

use super::*;
use crate::Lines;

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/fixtures/strace/{name}", env!("CARGO_MANIFEST_DIR"));
    let data = std::fs::read(path).unwrap();
    if name.ends_with(".zst") { zstd::decode_all(data.as_slice()).unwrap() } else { data }
}

fn read(data: &[u8]) -> Recording {
    let mut recording = Recording::new();
    let lines = Lines::new(Box::new(Cursor::new(data.to_vec())));
    let mut input = Input { name: "app.strace".into(), modified: None, lines };
    let _ = Strace.read(&mut input, &mut recording);
    recording.seal();
    recording
}

#[test]
fn every_trace_is_recognised_and_no_other_text() {
    for name in ["dns-slow.strace", "dns-drop.strace", "ls-tt.strace", "ls-r-yy.strace", "mixed.strace.zst"] {
        assert_eq!(Strace.sniff(&fixture(name)), Confidence(80), "{name}");
    }
    for other in [
        &b"t,ops\n1,2\n"[..],
        b"[0.1s][info][gc] GC(1) Pause Young (Normal) 3M->1M(9M) 1.2ms\n",
        b"a;b;c 3\n",
        b"",
    ] {
        assert_eq!(Strace.sniff(other), Confidence(0));
    }
}

#[test]
fn every_line_of_a_real_trace_is_understood_and_every_call_is_there_once() {
    let text = fixture("mixed.strace.zst");
    let recording = read(&text);
    let source = &recording.sources[0];
    assert_eq!(
        (source.skipped, source.cut, source.clock),
        (0, false, ClockBasis::Epoch),
        "{:?}",
        source.unknown
    );
    let text = String::from_utf8(text).unwrap();
    // By another method: complete calls and the ends of split ones; what never ended was truncated
    // by the end.
    let ends = |l: &str| l.match_indices(") ").any(|(at, _)| l[at + 2..].trim_start().starts_with("= "));
    let ended = text.lines().filter(|l| ends(l)).count();
    let begun = text.lines().filter(|l| l.ends_with("<unfinished ...>")).count();
    let resumed = text.lines().filter(|l| l.contains(" resumed>")).count();
    let calls: Vec<_> = recording.spans_of(kind::SYSCALL).collect();
    assert_eq!(calls.len(), ended + begun - resumed);
    // The time of all calls is the sum of -T.
    let took_us: i64 = text
        .lines()
        .filter_map(|l| l.strip_suffix('>')?.rsplit_once('<')?.1.parse::<f64>().ok())
        .map(|s| (s * 1e6).round() as i64)
        .sum();
    let timed =
        calls.iter().filter(|c| c.figure(figure::RESULT).is_some() || c.label(label::ERROR).is_some());
    let read_us: i64 = timed.map(|c| c.duration_ns() / 1_000).sum();
    assert_eq!(read_us, took_us);
}

#[test]
fn threads_of_a_jvm_have_their_names_roles_and_process() {
    let recording = read(&fixture("mixed.strace.zst"));
    let jvm = recording.processes.iter().position(|p| p.jvm).unwrap();
    assert_eq!(recording.processes[jvm].name, "java");
    assert!(recording.processes[jvm].pid.is_some());
    let threads: Vec<_> = recording
        .threads
        .iter()
        .filter(|t| t.process.index() == jvm)
        .map(|t| (recording.strings.get(t.name), t.role))
        .collect();
    assert!(threads.contains(&("C2 CompilerThre", Role::Jit)), "{threads:?}");
    assert!(threads.contains(&("GC Thread#0", Role::Gc)) || threads.contains(&("G1 Main Marker", Role::Gc)));
    assert!(threads.iter().any(|(name, _)| *name == "locker-0"));
}

#[test]
fn a_call_has_its_file_or_peer() {
    let recording = read(&fixture("mixed.strace.zst"));
    let synced = recording.spans_of(kind::SYSCALL).find(|c| c.name() == "fsync").unwrap();
    assert!(synced.label(label::PATH).is_some_and(|path| path.starts_with("/tmp/mixed")));
    let written =
        recording.spans_of(kind::SYSCALL).find(|c| c.figure(figure::BYTES) == Some(65_536.0)).unwrap();
    assert!(written.label(label::PATH).is_some_and(|path| path.starts_with("/tmp/mixed")));
    assert!(
        recording
            .spans_of(kind::NET_CONNECT)
            .any(|c| c.label(label::PEER).is_some_and(|p| p.starts_with("127.0.0.1:")))
    );
}

#[test]
fn look_ups_are_answered_late_or_never() {
    let of = |name: &str| -> Vec<(String, i64, f64, String)> {
        let recording = read(&fixture(name));
        let lookups = recording.spans_of(kind::NET_DNS);
        lookups
            .map(|l| {
                let timeouts = l.figure(figure::TIMEOUTS).unwrap();
                (
                    l.name().to_owned(),
                    l.duration_ns() / 100_000_000,
                    timeouts,
                    l.label(label::PEER).unwrap().to_owned(),
                )
            })
            .collect()
    };
    let slow = of("dns-slow.strace");
    assert_eq!(slow[0], ("slow0.test".into(), 12, 0.0, "127.0.0.1:53".into()));
    assert!(slow.iter().all(|(_, _, timeouts, _)| *timeouts == 0.0));
    let fast = of("dns-fast.strace");
    assert_eq!((fast.len(), fast.iter().map(|f| f.1).max()), (slow.len(), Some(0)));
    let dropped = of("dns-drop.strace");
    let names: Vec<_> = dropped.iter().map(|d| (d.0.as_str(), d.1, d.2)).collect();
    assert_eq!(names, [("drop0.test", 40, 2.0), ("drop1.test", 40, 2.0), ("drop2.test", 40, 2.0)]);
    assert!(read(&fixture("dns-drop.strace")).processes[0].jvm, "a fault that it survives is HotSpot's test");
}

#[test]
fn times_of_day_and_since_the_line_before_are_not_wall_clock_time() {
    let day = read(&fixture("ls-tt.strace"));
    let relative = read(&fixture("ls-r-yy.strace"));
    for recording in [&day, &relative] {
        assert_eq!(recording.sources[0].clock, ClockBasis::SinceStart);
        assert!(recording.spans_of(kind::SYSCALL).len() >= 38);
    }
    let open = relative.spans_of(kind::SYSCALL).find(|c| c.name() == "newfstatat").unwrap();
    assert_eq!(open.label(label::PATH), Some("/etc/ld.so.cache"));
    let midnight = "1 23:59:59.900000 a(1) = 0 <0.1>\n1 00:00:00.100000 b(1) = 0 <0.1>\n";
    let spans: Vec<_> = read(midnight.as_bytes()).spans_of(kind::SYSCALL).map(|s| s.t0_ns()).collect();
    assert_eq!(spans[1] - spans[0], 200_000_000);
}

#[test]
fn a_call_that_never_returned_lasts_until_the_trace_ends() {
    let text =
        "7 1700000000.0 futex(0x1, FUTEX_WAIT <unfinished ...>\n8 1700000003.5 getppid() = 1 <0.000001>\n";
    let recording = read(text.as_bytes());
    let futex = recording.spans_of(kind::SYSCALL).find(|c| c.name() == "futex").unwrap();
    assert_eq!((futex.duration_ns(), futex.figure(figure::RESULT)), (3_500_000_000, None));
}

#[test]
fn what_the_program_writes_itself_is_counted_and_nothing_else_is_lost() {
    let mut text = b"hello from the program\n".to_vec();
    text.extend(fixture("dns-slow.strace"));
    let recording = read(&text);
    assert_eq!(recording.sources[0].skipped, 1);
    assert_eq!(
        recording.spans_of(kind::SYSCALL).len(),
        read(&fixture("dns-slow.strace")).spans_of(kind::SYSCALL).len()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_damage_makes_it_panic(share in 0.0..1.0_f64, flips in prop::collection::vec((0.0..1.0_f64, 0..8_u8), 0..64)) {
        let mut data = fixture("mixed.strace.zst");
        data.truncate((data.len() as f64 * share) as usize);
        for (at, bit) in flips {
            if let Some(byte) = data.get_mut((share * at * 400_000.0) as usize) {
                *byte ^= 1 << bit;
            }
        }
        let recording = read(&data);
        for (kind, _) in recording.kinds() {
            prop_assert!(recording.spans_of(kind).all(|span| span.t1_ns() >= span.t0_ns()));
        }
    }
}
