//! Trees and comparisons of recordings put together by hand, and of samples drawn from known
//! distributions.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{frame as words, kind, sample, series};
use fathom_recording::{
    ClockBasis, FrameType, Placement, Process, Recording, Role, SampleRow, SeriesInfo, SeriesKind, Sink,
    Source, SourceId, SpanRow, StackId,
};
use proptest::prelude::*;

use super::*;
use crate::Window;

const S: i64 = 1_000_000_000;

/// A recording of samples: one process, one source that covers `0..seconds`.
struct Made {
    recording: Recording,
    source: SourceId,
}

impl Made {
    fn new(seconds: i64) -> Self {
        let mut recording = Recording::new();
        recording.add_process(Process { name: "App".into(), pid: Some(7), jvm: true, ..Process::default() });
        let source = Source { name: "x".into(), covers_ns: Some((0, seconds * S)), ..Source::default() };
        let source = recording.add_source(source);
        Self { recording, source }
    }

    /// A stack from its caller down; "C1:name" names the type, C2 without.
    fn stack(&mut self, frames: &[&str]) -> Option<StackId> {
        let mut at = None;
        for frame in frames {
            let (frame_type, name) = match frame.split_once(':') {
                Some(("C1", name)) => (FrameType::C1, name),
                Some(("int", name)) => (FrameType::Interpreted, name),
                Some(("kern", name)) => (FrameType::Kernel, name),
                _ => (FrameType::C2, *frame),
            };
            let id = self.recording.frame(name, "", frame_type, -1);
            at = Some(self.recording.stack(at, id));
        }
        at
    }

    fn sample(&mut self, t_ns: i64, thread: &str, role: Role, frames: &[&str], weight: i64) {
        let stack = self.stack(frames);
        let process = fathom_recording::ProcessId(0);
        let thread = Some(self.recording.thread(process, Some(1), thread, role));
        let (kind, source) = (sample::CPU, self.source);
        self.recording.sample(&SampleRow { kind, t_ns, process, thread, stack, weight, source });
    }

    fn throughput(&mut self, from_s: i64, seconds: i64, rate: f64) {
        let series = self.recording.add_series(SeriesInfo {
            name: series::THROUGHPUT.into(),
            unit: "ops/s".into(),
            instance: String::new(),
            kind: SeriesKind::Rate,
            process: None,
            source: self.source,
        });
        self.recording.point(series, from_s * S, seconds * S, rate);
    }
}

fn cpu(windows: &[(i64, i64)]) -> Selection {
    let windows = windows.iter().map(|(a, b)| Window { from_ns: a * S, to_ns: b * S }).collect();
    Selection { kind: sample::CPU.into(), windows, ..Selection::default() }
}

/// "a;b;c" → own weight, for every node that has any.
fn folded(tree: &CallTree) -> BTreeMap<String, i64> {
    let name = |i: usize| tree.frames[tree.frame[i] as usize].name.as_str();
    (0..tree.len())
        .filter(|i| tree.self_weight[*i] > 0)
        .map(|i| (tree.path(i).into_iter().map(name).collect::<Vec<_>>().join(";"), tree.self_weight[i]))
        .collect()
}

fn expected(rows: &[(&str, i64)]) -> BTreeMap<String, i64> {
    rows.iter().map(|(stack, weight)| ((*stack).to_owned(), *weight)).collect()
}

#[test]
fn a_method_is_one_node_however_it_was_compiled_and_says_how_much_ran_as_what() {
    let mut made = Made::new(10);
    made.sample(S, "main", Role::App, &["main", "int:work"], 10);
    made.sample(2 * S, "main", Role::App, &["main", "C1:work"], 20);
    made.sample(3 * S, "main", Role::App, &["int:main", "work", "kern:write"], 30);
    let flame = flame(&made.recording, &cpu(&[]), Shape::default(), None).unwrap();
    assert_eq!(folded(&flame.tree), expected(&[("main;work", 30), ("main;work;write", 30)]));
    let work =
        (0..flame.tree.len()).find(|i| flame.tree.frames[flame.tree.frame[*i] as usize].name == "work");
    let work = work.unwrap();
    assert_eq!(flame.tree.java[work], [10, 20, 30, 0]);
    assert_eq!(flame.tree.node_type[work], NodeType::C2);
    assert_eq!(flame.tree.total_weight[0], 60);
}

#[test]
fn window_thread_role_and_package_each_choose_their_samples() {
    let mut made = Made::new(10);
    made.sample(S, "worker-1", Role::App, &["java.lang.Thread.run", "org.a.Main.run"], 1);
    made.sample(2 * S, "worker-2", Role::App, &["java.lang.Thread.run", "org.ab.Main.run"], 10);
    made.sample(5 * S, "GC Thread#0", Role::Gc, &["kern:work"], 100);
    let weight = |selection: &Selection| Rows::of(&made.recording, selection).weight();
    assert_eq!(weight(&cpu(&[])), 111);
    assert_eq!(weight(&cpu(&[(2, 5)])), 10, "the end of a window is not in it");
    assert_eq!(weight(&cpu(&[(0, 2), (1, 6)])), 111, "what lies in two windows counts once");
    let thread = regex_lite::Regex::new("^worker").ok();
    assert_eq!(weight(&Selection { thread, ..cpu(&[]) }), 11);
    assert_eq!(weight(&Selection { roles: vec![Role::Gc], ..cpu(&[]) }), 100);
    assert_eq!(weight(&Selection { packages: vec!["org.a".into()], ..cpu(&[]) }), 1);
    let rows = Rows::of(&made.recording, &cpu(&[(8, 20)]));
    assert_eq!(rows.covered_ns(), 2 * S, "a window counts as far as there are sources");
}

#[test]
fn time_before_the_process_began_is_not_covered() {
    let mut made = Made::new(10);
    made.sample(5 * S, "worker-1", Role::App, &["org.a.Main.run"], 1);
    let from = |made: &Made| Rows::of(&made.recording, &cpu(&[])).covered[0].from_ns;
    assert_eq!(from(&made), 0, "nothing shows when it began");
    let placement = Placement { offset_ns: 3 * S, uncertainty_ns: Some(0), ..Placement::default() };
    let clock = ClockBasis::JvmUptime;
    made.recording.add_source(Source { clock, placement, process: Some(0), ..Source::default() });
    assert_eq!(from(&made), 3 * S);
    made.sample(S, "worker-1", Role::App, &["org.a.Main.run"], 1);
    assert_eq!(from(&made), S, "no row lies outside");
}

#[test]
fn per_thread_divides_by_process_and_thread_first() {
    let mut made = Made::new(10);
    made.recording.add_process(Process { name: "Other".into(), ..Process::default() });
    made.sample(S, "a", Role::App, &["run"], 1);
    made.sample(S, "b", Role::App, &["run"], 2);
    made.sample(S, "a", Role::App, &["run"], 4);
    let shape = Shape { per_thread: true, ..Shape::default() };
    let tree = flame(&made.recording, &cpu(&[]), shape, None).unwrap().tree;
    let rows = [("App [pid 7];a [tid 1];run", 5), ("App [pid 7];b [tid 1];run", 2)];
    assert_eq!(folded(&tree), expected(&rows));
    assert_eq!(top(&tree).len(), 1, "groups are no frames");
}

#[test]
fn spans_with_a_stack_weigh_what_lies_in_the_window() {
    let mut made = Made::new(10);
    let stack = made.stack(&["run", "lock"]);
    let process = fathom_recording::ProcessId(0);
    made.recording.span(&SpanRow {
        stack,
        ..SpanRow::new(kind::LOCK_MONITOR, "java.lang.Object", (S, 4 * S), process, made.source)
    });
    let of_lock = |windows: &[(i64, i64)]| Selection { kind: kind::LOCK_MONITOR.into(), ..cpu(windows) };
    let flame = flame(&made.recording, &of_lock(&[(2, 3), (0, 1)]), Shape::default(), None).unwrap();
    assert_eq!((flame.tree.total_weight[0], flame.unit), (S, "ns"));
    let known = kinds(&made.recording);
    assert_eq!((known.len(), known[0].of_spans, known[0].rows), (1, true, 1));
}

#[test]
fn waits_are_the_long_ones_and_the_sums_of_the_short_ones() {
    let mut made = Made::new(100);
    let (process, source) = (fathom_recording::ProcessId(0), made.source);
    let thread = Some(made.recording.thread(process, Some(1), "worker", Role::App));
    let stack = made.stack(&["serve", "kern:futex_wait"]);
    // Long ones in the slow seconds 10 to 20, short ones before: the sums alone say the opposite.
    for (from_s, to_s, queued_s) in [(10, 16, 1.0), (18, 30, 0.0)] {
        made.recording.span(&SpanRow {
            thread,
            stack,
            figures: &[(fathom_recording::vocabulary::figure::RUNQ_NS, queued_s * 1e9)],
            ..SpanRow::new(kind::SCHED_OFF, "sleeping", (from_s * S, to_s * S), process, source)
        });
    }
    for (t_s, ms) in [(2, 300), (4, 300), (12, 20)] {
        let (t_ns, weight) = (t_s * S, ms * 1_000_000);
        made.recording.sample(&SampleRow {
            kind: sample::OFF_CPU,
            t_ns,
            process,
            thread,
            stack,
            weight,
            source,
        });
    }
    made.recording.seal();
    let waited_ms = |kind: &str, windows: &[(i64, i64)]| {
        let selection = Selection { kind: kind.into(), ..cpu(windows) };
        let flame = flame(&made.recording, &selection, Shape::default(), None).unwrap();
        folded(&flame.tree).values().sum::<i64>() / 1_000_000
    };
    // Without the second in which it could run and had no CPU.
    assert_eq!(waited_ms(waits::WAITS, &[(10, 20)]), 5_000 + 2_000 + 20);
    assert_eq!(waited_ms(waits::WAITS, &[(0, 10)]), 600);
    assert_eq!(waited_ms(sample::OFF_CPU, &[(10, 20)]), 20);
    let kinds: Vec<(String, usize)> = kinds(&made.recording).into_iter().map(|k| (k.name, k.rows)).collect();
    assert_eq!(kinds, [(waits::WAITS.to_owned(), 5)], "its parts would count twice");
}

#[test]
fn cut_stacks_and_those_that_are_missing_are_kept_and_counted() {
    let mut made = Made::new(10);
    made.sample(S, "a", Role::App, &[&words::cut("depth"), "work"], 1);
    made.sample(S, "a", Role::App, &[], 2);
    made.sample(S, "a", Role::App, &["work"], -5);
    let flame = flame(&made.recording, &cpu(&[]), Shape::default(), None).unwrap();
    assert_eq!((flame.cut, flame.without_stack, flame.negative, flame.samples), (1, 1, 1, 2));
    let types: Vec<_> = (1..flame.tree.len()).map(|i| flame.tree.node_type[i]).collect();
    assert_eq!(types, [NodeType::Cut, NodeType::C2, NodeType::Unknown]);
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let mut made = Made::new(10);
    made.sample(S, "a", Role::App, &["work"], 1);
    let error = |kind: &str, windows: &[(i64, i64)]| {
        let selection = Selection { kind: kind.into(), ..cpu(windows) };
        flame(&made.recording, &selection, Shape::default(), None).unwrap_err().to_string()
    };
    assert_eq!(error("alloc", &[]), "no alloc sample is chosen; there are cpu (1)");
    assert_eq!(
        error("cpu", &[(5, 6)]),
        "no cpu sample is chosen; beyond the window there are 1, from 0.0 s to 0.0 s of the recording"
    );
    let none = flame(&Recording::new(), &cpu(&[]), Shape::default(), None).unwrap_err().to_string();
    assert_eq!(none, "no cpu sample is chosen; nothing that was read has stacks");
}

#[test]
fn damaged_stacks_neither_hang_nor_panic() {
    let mut made = Made::new(10);
    made.sample(S, "a", Role::App, &["x", "y"], 1);
    made.recording.stacks[0].parent = Some(StackId(1));
    made.recording.stacks[1].frame = fathom_recording::FrameId(99);
    let flame = flame(&made.recording, &cpu(&[]), Shape::default(), None).unwrap();
    assert_eq!(flame.tree.total_weight[0], 1);
}

/// A sequence that looks random and is the same each time (Knuth's MMIX generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// 100 methods, all alike, for 200 s; then the first alone takes `times` as long per second.
fn drawn(seed: u64, times: u64) -> Made {
    let mut made = Made::new(200);
    let mut numbers = Numbers(seed);
    for i in 0..20_000_i64 {
        let late = i >= 10_000;
        let method = numbers.below(100);
        let rounds = if late && method == 0 { times } else { 1 };
        for _ in 0..rounds {
            let t = i * S / 100 + numbers.below(S as u64 / 100) as i64;
            made.sample(t, "a", Role::App, &["main", &format!("method{method}")], 10_000_000);
        }
    }
    made
}

fn compared(made: &Made, normalisation: Normalisation) -> (Flame, Comparison) {
    let base = Base { selection: cpu(&[(0, 100)]), normalisation };
    let flame = flame(&made.recording, &cpu(&[(100, 200)]), Shape::default(), Some(&base)).unwrap();
    let comparison = flame.comparison.clone().unwrap().0;
    (flame, comparison)
}

/// Names of the frames whose own weight differs beyond noise, with the verdict.
fn beyond(flame: &Flame, c: &Comparison) -> Vec<(String, Verdict)> {
    let frames = top(&flame.tree);
    let verdict = |f: &TopFrame| {
        let i = f.frame as usize;
        let difference = f.self_weight as f64 - c.base_frame_self[i] as f64 * c.scale;
        Errors::judge(difference, c.frames.of_self[i], c.frames.self_limit)
    };
    let different = frames.iter().map(|f| (flame.tree.frames[f.frame as usize].name.clone(), verdict(f)));
    different.filter(|(_, v)| matches!(v, Verdict::More | Verdict::Less)).collect()
}

/// Each method is one sample in a hundred: of 4000 intervals of 95%, some 200 may miss that.
#[test]
fn the_interval_of_a_share_holds_the_true_share() {
    let mut missed = [0, 0];
    for seed in 1..=40 {
        let (flame, c) = compared(&drawn(seed, 1), Normalisation::Wall);
        for f in top(&flame.tree).iter().filter(|f| flame.tree.frames[f.frame as usize].name != "main") {
            for (shares, missed) in c.shares.iter().zip(&mut missed) {
                let [low, high] = shares.of_total[f.frame as usize].interval();
                *missed += usize::from(!(low..=high).contains(&0.01));
            }
        }
    }
    assert!(missed.iter().all(|n| (20..=240).contains(n)), "{missed:?} of 4000 intervals miss 1%");
}

#[test]
fn a_share_is_of_all_samples_of_its_side_whatever_is_compared() {
    for normalisation in [Normalisation::Wall, Normalisation::Share] {
        let (flame, c) = compared(&drawn(3, 30), normalisation);
        let frame = |name: &str| flame.tree.frames.iter().position(|f| f.name == name).unwrap();
        let [here, base] = [0, 1].map(|side| &c.shares[side]);
        let [now, then] = [here, base].map(|s| s.of_total[frame("method0")]);
        let method = top(&flame.tree).into_iter().find(|f| f.frame as usize == frame("method0")).unwrap();
        assert_eq!(now.of_all, method.total_weight as f64 / flame.tree.total_weight[0] as f64);
        assert_eq!(then.of_all, c.base_frame_total[frame("method0")] as f64 / c.base_total[0] as f64);
        assert!(now.interval()[0] > then.interval()[1], "{now:?} {then:?}");
        let main = here.of_total[frame("main")];
        assert_eq!((main.of_all, main.interval()[1]), (1.0, 1.0));
        assert_eq!(here.of_self[frame("main")].of_all, 0.0);
    }
}

#[test]
fn where_nothing_changed_hardly_anything_is_called_different() {
    let mut wrong = 0;
    for seed in 0..20 {
        let made = drawn(seed, 1);
        for normalisation in [Normalisation::Wall, Normalisation::Share] {
            let (flame, c) = compared(&made, normalisation);
            wrong += beyond(&flame, &c).len();
            assert_eq!(c.blocks, (32, 32));
        }
    }
    // 40 comparisons of 100 frames: where nothing is different, one comparison in twenty may call
    // something.
    assert!(wrong <= 4, "{wrong} frames of 4000 were called different");
}

#[test]
fn a_frame_that_takes_three_times_as_long_is_found_and_no_other() {
    for seed in 0..10 {
        let (flame, c) = compared(&drawn(seed, 3), Normalisation::Wall);
        let found = beyond(&flame, &c);
        assert!(found.contains(&("method0".to_owned(), Verdict::More)), "seed {seed}: {found:?}");
        assert!(found.len() <= 2, "seed {seed}: {found:?}");
    }
}

#[test]
fn bursts_are_noise_that_counting_alone_would_call_a_difference() {
    // Every method runs in bursts of 2 s, now and then: samples of a burst are one event and not
    // two hundred.
    let mut made = Made::new(200);
    let mut numbers = Numbers(3);
    for burst in 0..100_i64 {
        let method = format!("method{}", numbers.below(10));
        for i in 0..200 {
            made.sample(burst * 2 * S + i * S / 100, "a", Role::App, &["main", &method], 10_000_000);
        }
    }
    let (flame, c) = compared(&made, Normalisation::Wall);
    assert_eq!(beyond(&flame, &c), []);
    let by_counting = top(&flame.tree).into_iter().any(|f| {
        let i = f.frame as usize;
        let (here, there) = (f.self_weight as f64, c.base_frame_self[i] as f64);
        let error = ((here + there) * 10_000_000.0).sqrt();
        (here - there).abs() > 4.0 * error
    });
    assert!(by_counting, "the case would be no test otherwise");
}

#[test]
fn windows_of_other_length_and_load_are_made_comparable_as_asked() {
    let mut made = Made::new(30);
    for i in 0..300 {
        // 10 a second in the baseline of 20 s, 20 a second in the window of 10 s.
        let (t, n) = if i < 200 { (i * S / 10, 1) } else { (20 * S + (i - 200) * S / 10, 2) };
        for _ in 0..n {
            made.sample(t, "a", Role::App, &["work"], 100);
        }
    }
    made.throughput(0, 20, 5.0);
    made.throughput(20, 10, 20.0);
    let scale = |normalisation| {
        let base = Base { selection: cpu(&[(0, 20)]), normalisation };
        let flame = flame(&made.recording, &cpu(&[(20, 30)]), Shape::default(), Some(&base)).unwrap();
        let c = flame.comparison.unwrap().0;
        (c.scale * c.base_total[0] as f64, flame.tree.total_weight[0])
    };
    assert_eq!(scale(Normalisation::Wall), (10_000.0, 20_000), "twice as much a second");
    assert_eq!(scale(Normalisation::Share), (20_000.0, 20_000), "all is all");
    assert_eq!(scale(Normalisation::Operation), (40_000.0, 20_000), "half as much an operation");
    made.recording.series.clear();
    let base = Base { selection: cpu(&[(0, 20)]), normalisation: Normalisation::Operation };
    let error = flame(&made.recording, &cpu(&[(20, 30)]), Shape::default(), Some(&base)).unwrap_err();
    assert_eq!(error, StacksError::NoOperations("the window"));
}

#[test]
fn added_and_vanished_frames_are_in_the_tree_with_nothing_on_the_other_side() {
    let mut made = Made::new(20);
    for i in 0..100 {
        made.sample(i * S / 10, "a", Role::App, &["main", "old"], 1);
        made.sample(10 * S + i * S / 10, "a", Role::App, &["main", "new"], 1);
    }
    let base = Base { selection: cpu(&[(0, 10)]), normalisation: Normalisation::Wall };
    let flame = flame(&made.recording, &cpu(&[(10, 20)]), Shape::default(), Some(&base)).unwrap();
    let c = &flame.comparison.as_ref().unwrap().0;
    let row = |name: &str| {
        let i = (0..flame.tree.len()).find(|i| flame.tree.frames[flame.tree.frame[*i] as usize].name == name);
        (flame.tree.total_weight[i.unwrap()], c.base_total[i.unwrap()])
    };
    assert_eq!((row("new"), row("old")), ((100, 0), (0, 100)));
    let found = beyond(&flame, c);
    assert!(found.contains(&("new".into(), Verdict::More)) && found.contains(&("old".into(), Verdict::Less)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the stacks are, every weight is in the tree once, a total is the sum of what is
    /// below, a frame's total counts each sample once.
    #[test]
    fn weights_are_neither_lost_nor_counted_twice(
        rows in prop::collection::vec((prop::collection::vec(0_u8..5, 0..8), 0_i64..1000, 0_u8..3), 1..60),
        per_thread: bool,
    ) {
        let mut made = Made::new(10);
        let (mut sum, mut by_frame) = (0, BTreeMap::<String, i64>::new());
        for (frames, weight, thread) in &rows {
            let names: Vec<String> = frames.iter().map(|f| format!("f{f}")).collect();
            let refs: Vec<&str> = names.iter().map(String::as_str).collect();
            made.sample(S, &format!("t{thread}"), Role::App, &refs, *weight);
            sum += weight;
            for name in names.iter().collect::<std::collections::BTreeSet<_>>() {
                *by_frame.entry(name.clone()).or_default() += weight;
            }
        }
        let shape = Shape { per_thread, lines: false };
        let tree = flame(&made.recording, &cpu(&[]), shape, None).unwrap().tree;
        prop_assert_eq!(tree.total_weight[0], sum);
        prop_assert_eq!(tree.self_weight.iter().sum::<i64>(), sum);
        for i in 1..tree.len() {
            prop_assert!((tree.parent[i] as usize) < i);
        }
        for frame in top(&tree) {
            let name = &tree.frames[frame.frame as usize].name;
            if name != "[no stack]" {
                prop_assert_eq!(frame.total_weight, by_frame[name]);
            }
        }
    }
}

#[test]
fn the_callers_tree_has_the_weights_of_the_first_from_the_other_end() {
    let mut made = Made::new(10);
    for (frames, weight) in
        [(&["main", "a", "x"][..], 6), (&["main", "b", "x"], 3), (&["main", "b", "x", "x"], 1)]
    {
        made.sample(S, "t", Role::App, frames, weight);
    }
    let base = Base { selection: cpu(&[]), normalisation: Normalisation::Wall };
    let flame = flame(&made.recording, &cpu(&[]), Shape::default(), Some(&base)).unwrap();
    let (turned, comparison) = inverted(&flame.tree, flame.comparison.as_ref().map(|c| &c.0));
    assert_eq!(folded(&turned), expected(&[("x;a;main", 6), ("x;b;main", 3), ("x;x;b;main", 1)]));
    assert_eq!(turned.total_weight[0], 10);
    let comparison = comparison.unwrap();
    assert_eq!((comparison.base_total[0], comparison.base_self.iter().sum::<i64>()), (10, 10));
}
