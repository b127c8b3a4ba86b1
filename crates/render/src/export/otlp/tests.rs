//! What is written keeps the rules of the format, and is what it was when it is read again.
//! OpenTelemetry's own checker is asked in crates/cli/tests/files/otlp.rs.

use std::collections::BTreeSet;

use fathom_diagnose::Window;
use fathom_diagnose::stacks::Selection;
use fathom_ingest::read_inputs;
use fathom_recording::{Placement, Sink};

use super::super::Table;
use super::super::tests::recording;
use super::*;

const S: i64 = 1_000_000_000;
/// A time of this century.
const EPOCH: i64 = 1_795_967_291 * S;

/// The fixture in wall-clock time, its times as they are.
fn on_wall_clock() -> Recording {
    let mut r = recording();
    r.sources[0].placement = Placement { wall: true, uncertainty_ns: Some(0), ..Placement::default() };
    r
}

fn request(recording: &Recording) -> Request<'_> {
    Request {
        recording,
        kinds: vec![sample::CPU.into(), sample::ALLOC.into()],
        selection: Selection::default(),
        per_thread: false,
        annotated: false,
        table: Table::Samples,
        title: String::new(),
    }
}

/// What OpenTelemetry's checker looks at: the first entries of tables, indices, one shape of
/// samples, times; and that no entry is there twice or for nothing.
fn keeps_the_rules(data: &ProfilesData) {
    let tables = data.dictionary.as_ref().unwrap();
    assert_eq!(tables.string_table[0], "");
    assert_eq!(tables.mapping_table, [Nothing {}]);
    assert_eq!(tables.link_table, [Nothing {}]);
    assert_eq!(tables.stack_table[0], Stack::default());
    assert_eq!(tables.location_table[0], Location::default());
    assert_eq!(tables.function_table[0], Function::default());
    assert_eq!(tables.attribute_table[0], KeyValueAndUnit::default());
    fn distinct<T: std::hash::Hash + Eq>(table: &[T]) -> usize {
        table.iter().collect::<std::collections::HashSet<_>>().len()
    }
    let lengths = [
        (tables.string_table.len(), distinct(&tables.string_table)),
        (tables.stack_table.len(), distinct(&tables.stack_table)),
        (tables.location_table.len(), distinct(&tables.location_table)),
        (tables.function_table.len(), distinct(&tables.function_table)),
        (tables.attribute_table.len(), distinct(&tables.attribute_table)),
    ];
    assert!(lengths.iter().all(|(all, distinct)| all == distinct), "{lengths:?}");
    let mut used: [BTreeSet<i32>; 5] = Default::default();
    used.iter_mut().for_each(|used| used.extend([0]));
    let [texts, stacks, locations, functions, attributes] = &mut used;
    for of_resource in &data.resource_profiles {
        for profile in of_resource.scope_profiles.iter().flat_map(|scope| &scope.profiles) {
            for value in profile.sample_type.iter().chain(&profile.period_type) {
                texts.extend([value.type_strindex, value.unit_strindex]);
            }
            assert!(!profile.samples.is_empty());
            let end = profile.time_unix_nano + profile.duration_nano;
            for sample in &profile.samples {
                stacks.insert(sample.stack_index);
                attributes.extend(&sample.attribute_indices);
                let times = &sample.timestamps_unix_nano;
                assert!(times.iter().all(|t| (profile.time_unix_nano..end).contains(t)));
                let expected = if profile.time_unix_nano > 0 { times.len() } else { 1 };
                assert_eq!(sample.values.len(), expected);
            }
            let identities: BTreeSet<_> =
                profile.samples.iter().map(|s| (s.stack_index, &s.attribute_indices)).collect();
            assert_eq!(identities.len(), profile.samples.len());
        }
    }
    locations.extend(tables.stack_table.iter().flat_map(|stack| &stack.location_indices));
    for location in &tables.location_table {
        functions.extend(location.lines.iter().map(|line| line.function_index));
        attributes.extend(&location.attribute_indices);
    }
    texts.extend(tables.function_table.iter().map(|function| function.name_strindex));
    texts.extend(tables.attribute_table.iter().map(|attribute| attribute.key_strindex));
    for (used, (length, _)) in used.iter().zip(&lengths) {
        assert!(used.iter().copied().eq(0..*length as i32), "indices that are used are those that there are");
    }
}

/// A sample by all that is shown of it: its kind, process, thread, stack, time and weight.
type Shown =
    (String, (String, Option<i64>), (String, Option<i64>), Vec<(String, String, String, i32)>, i64, i64);

fn shown(recording: &Recording, with_time: bool) -> Vec<Shown> {
    let one = |sample: &fathom_recording::Sample| {
        let frames = stacks::path(recording, sample.stack).into_iter().map(|frame| {
            let (name, module, frame_type, line) = stacks::described(recording, frame);
            (name, module, format!("{frame_type:?}"), line)
        });
        (
            recording.strings.get(sample.kind).to_owned(),
            stacks::process(recording, sample.process),
            stacks::thread(recording, sample.thread),
            frames.collect(),
            if with_time { sample.t_ns } else { 0 },
            sample.weight,
        )
    };
    let mut shown: Vec<Shown> = recording.samples.iter().map(|sample| one(&sample)).collect();
    shown.sort();
    shown
}

/// A file that is read again.
fn read(data: &ProfilesData) -> Recording {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.otlp");
    std::fs::write(&file, data.encode_to_vec()).unwrap();
    let mut recording = Recording::new();
    read_inputs(&[file], &Default::default(), &mut recording).unwrap();
    recording.seal();
    recording
}

#[test]
fn what_is_read_again_has_the_same_samples() {
    // A shift of all times to now, as 1970 is no time that a profile would have.
    let mut moved = Recording::new();
    let r = on_wall_clock();
    let source = moved.add_source(fathom_recording::Source {
        covers_ns: Some((EPOCH, EPOCH + 100 * S)),
        ..r.sources[0].clone()
    });
    let processes: Vec<_> = r.processes.iter().map(|process| moved.add_process(process.clone())).collect();
    for sample in r.samples.iter() {
        let thread = r.threads[sample.thread.unwrap().index()].clone();
        let name = r.strings.get(thread.name);
        let process = processes[sample.process.index()];
        let mut stack = None;
        for frame in stacks::path(&r, sample.stack) {
            let frame = r.frames[frame.index()];
            let frame = moved.frame(
                r.strings.get(frame.name),
                r.strings.get(frame.module),
                frame.frame_type,
                frame.line,
            );
            stack = Some(moved.stack(stack, frame));
        }
        let thread = Some(moved.thread(process, thread.tid, name, thread.role));
        moved.sample(&fathom_recording::SampleRow {
            kind: r.strings.get(sample.kind),
            t_ns: EPOCH + sample.t_ns,
            process,
            thread,
            stack,
            weight: sample.weight,
            source,
        });
    }
    moved.seal();
    let (data, written) = data(&request(&moved)).unwrap();
    assert_eq!((written.samples, written.left_out.len()), (800, 0));
    keeps_the_rules(&data);
    let again = read(&data);
    assert_eq!(shown(&again, true), shown(&moved, true));
    assert!(again.sources[0].checks.iter().all(|check| check.holds), "{:?}", again.sources[0].checks);
    assert_eq!(again.sources[0].covers_ns, Some((EPOCH, EPOCH + 100 * S)));
    assert!(again.processes.iter().all(|process| process.jvm));
}

#[test]
fn without_wall_clock_time_there_are_sums_and_no_times() {
    let recording = recording();
    let (data, written) = data(&request(&recording)).unwrap();
    keeps_the_rules(&data);
    assert!(written.left_out[0].contains("time of samples"), "{written:?}");
    let again = read(&data);
    let total = |r: &Recording| r.samples.iter().map(|sample| sample.weight).sum::<i64>();
    assert_eq!(total(&again), total(&recording));
    let stacks = |r: &Recording| {
        let all = shown(r, false).into_iter().map(|sample| (sample.0, sample.1, sample.2, sample.3));
        all.collect::<BTreeSet<_>>()
    };
    assert_eq!(stacks(&again), stacks(&recording));
}

#[test]
fn a_window_has_its_samples_alone() {
    let recording = on_wall_clock();
    let windows = vec![Window { from_ns: 50 * S, to_ns: 100 * S }];
    let selection = Selection { windows, ..Selection::default() };
    let (data, written) = data(&Request { selection, ..request(&recording) }).unwrap();
    keeps_the_rules(&data);
    assert_eq!(written.samples, 400);
    for profile in data.resource_profiles.iter().flat_map(|r| &r.scope_profiles).flat_map(|s| &s.profiles) {
        assert_eq!((profile.time_unix_nano, profile.duration_nano), (50 * S as u64, 50 * S as u64));
    }
}

#[test]
fn a_resource_is_what_is_known_of_its_process() {
    let mut recording = on_wall_clock();
    recording.identity.service = Some("shop".into());
    recording.identity.host = Some("web-1".into());
    recording.processes[0].facts.insert(fact::CONTAINER.into(), "abc".into());
    recording.processes[1].jvm = false;
    let (data, _) = data(&request(&recording)).unwrap();
    let keys = |i: usize| -> Vec<_> {
        let attributes = &data.resource_profiles[i].resource.as_ref().unwrap().attributes;
        attributes.iter().map(|attribute| attribute.key.as_str()).collect()
    };
    assert_eq!(keys(0), ["service.name", "host.name", "container.id", "process.title", "process.pid"]);
    assert_eq!(keys(1), ["host.name", "process.title"], "the service is that of the JVMs");
}
