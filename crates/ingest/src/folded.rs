//! Folded stacks: what `stackcollapse-*.pl`, inferno, async-profiler's `-o collapsed` and many
//! others write.
//!
//! ```text
//! [worker-6 tid=32734];java/lang/Thread.run_[j];LockStorm.hotSection_[j];__schedule_[k] 42
//! └ thread (async-profiler -t)  └ frames, the root first, with their kind of code    └ weight
//! ```
//!
//! One sample per line, without a time. The format does not say what the weight counts either, so
//! samples are of kind "event".

use fathom_recording::vocabulary::sample;
use fathom_recording::{
    ClockBasis, FrameType, Process, ProcessId, Role, SampleRow, Sink, Source, SourceId, ThreadId,
};

use crate::lines::is_text;
use crate::{Confidence, Format, IngestError, Input, Tally, java_names};

/// The reader of folded stacks.
pub(crate) struct Folded;

const ID: &str = "folded";

/// How many lines of the head are looked at to recognise the format.
const SNIFFED: usize = 200;
/// Frames of a stack that are kept, the innermost ones.
const DEEPEST: usize = 4096;

impl Format for Folded {
    fn id(&self) -> &'static str {
        ID
    }

    fn about(&self) -> &'static str {
        "folded stacks (a;b;c 42) of any profiler, with async-profiler's frame types and threads; without time"
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        let (mut ours, mut deep, mut all) = (0u32, 0u32, 0u32);
        let mut lines =
            head.split(|b| *b == b'\n').filter(|l| !l.trim_ascii().is_empty()).take(SNIFFED).peekable();
        while let Some(line) = lines.next() {
            // The head may end within a line.
            if lines.peek().is_none() && all > 0 {
                break;
            }
            all += 1;
            let line = String::from_utf8_lossy(line);
            // Arbitrary bytes have semicolons too, and now and then end in a digit.
            if let Some((stack, _)) = split(&line).filter(|_| is_text(&line)) {
                ours += u32::from(stack.split(';').all(is_frame));
                deep += u32::from(stack.contains(';'));
            }
        }
        // A table separated by semicolons has cells of numbers; a stack has words, and some stack
        // has more than one.
        let surely = ours > 0 && ours * 10 >= all * 9 && deep * 2 >= all;
        Confidence(if surely { 70 } else { 0 })
    }

    fn read(&self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), IngestError> {
        let mut out: Option<Out<'_>> = None;
        let mut sink = Some(sink);
        let mut tally = Tally::default();
        while let Some(line) = input.lines.next() {
            if line.bytes.trim_ascii().is_empty() {
                continue;
            }
            let text = String::from_utf8_lossy(line.bytes);
            let Some((stack, weight)) = split(&text).filter(|_| !line.truncated) else {
                tally.unknown(line.number, line.bytes);
                continue;
            };
            if let Some(sink) = sink.take() {
                out = Some(Out::new(sink, &input.name));
            }
            if let Some(out) = &mut out {
                out.sample(stack, weight);
                tally.records += 1;
            }
        }
        let Some(out) = out else {
            return Err(IngestError::Empty { path: input.name.clone().into(), format: ID });
        };
        let truncated = input.lines.ends_in_line() && tally.skipped > 0;
        out.finish(tally, truncated);
        Ok(())
    }
}

/// The stack and its weight. Some tools write weights with a fraction.
fn split(line: &str) -> Option<(&str, i64)> {
    let (stack, weight) = line.trim_end().rsplit_once([' ', '\t'])?;
    let weight: f64 = weight.parse().ok().filter(|w: &f64| w.is_finite() && *w >= 0.0)?;
    let stack = stack.trim_end();
    (!stack.is_empty()).then_some((stack, weight.round() as i64))
}

/// Whether a cell may be a frame: it has a letter or is in brackets.
fn is_frame(frame: &str) -> bool {
    frame.is_empty() || frame.chars().any(|c| c.is_alphabetic() || c == '[' || c == '<')
}

/// Writes samples.
struct Out<'s> {
    sink: &'s mut dyn Sink,
    source: SourceId,
    process: ProcessId,
    java: bool,
}

impl<'s> Out<'s> {
    fn new(sink: &'s mut dyn Sink, name: &str) -> Self {
        let process = sink.add_process(Process { name: name.to_owned(), ..Process::default() });
        let source = sink.add_source(Source {
            name: name.to_owned(),
            format: ID.to_owned(),
            process: Some(process.0),
            clock: ClockBasis::None,
            ..Source::default()
        });
        Self { sink, source, process, java: false }
    }

    fn sample(&mut self, stack: &str, weight: i64) {
        let mut frames = stack.split(';').filter(|frame| !frame.is_empty()).peekable();
        let thread = frames.peek().and_then(|first| thread(first));
        let thread = thread.map(|(name, tid)| {
            frames.next();
            self.thread(name, tid)
        });
        let count = stack.bytes().filter(|b| *b == b';').count();
        let mut node = None;
        for frame in frames.skip(count.saturating_sub(DEEPEST)) {
            let (name, frame_type) = frame_of(frame);
            self.java |= frame_type.is_java();
            let module = if frame_type == FrameType::Kernel { "kernel" } else { "" };
            let frame = self.sink.frame(&name, module, frame_type, -1);
            node = Some(self.sink.stack(node, frame));
        }
        self.sink.sample(&SampleRow {
            kind: sample::EVENT,
            t_ns: 0,
            process: self.process,
            thread,
            stack: node,
            weight,
            source: self.source,
        });
    }

    fn thread(&mut self, name: &str, tid: Option<i64>) -> ThreadId {
        self.sink.thread(self.process, tid, name, Role::of_named(name, Some(false)))
    }

    fn finish(self, tally: Tally, truncated: bool) {
        self.sink.process_mut(self.process).jvm = self.java;
        let source = self.sink.source_mut(self.source);
        source.cut = truncated;
        tally.add_to(source);
    }
}

/// Name and id of the thread in a root frame: `[worker-6 tid=32734]`, `[tid=32734]`,
/// `java-32656/32734`.
pub(crate) fn thread(root: &str) -> Option<(&str, Option<i64>)> {
    if let Some(inside) = root.strip_prefix('[').and_then(|r| r.strip_suffix(']')) {
        let (name, tid) = inside.rsplit_once("tid=")?;
        return Some((name.trim_end(), Some(tid.parse().ok()?)));
    }
    let (name, ids) = root.rsplit_once('-')?;
    let (pid, tid) = ids.split_once('/')?;
    let is_pid = pid == "?" || pid.parse::<i64>().is_ok();
    (is_pid && !name.is_empty()).then_some((name, Some(tid.parse().ok()?)))
}

/// Name and type of a frame: by its suffix, otherwise by the form of its name.
pub(crate) fn frame_of(frame: &str) -> (String, FrameType) {
    let suffixed = frame.strip_suffix(']').and_then(|f| f.rsplit_once("_["));
    let known = suffixed.and_then(|(name, suffix)| {
        let frame_type = match suffix {
            "j" => FrameType::C2,
            "1" => FrameType::C1,
            "0" => FrameType::Interpreted,
            "i" => FrameType::Inlined,
            "k" => FrameType::Kernel,
            _ => return None,
        };
        Some((name, frame_type))
    });
    match known {
        Some((name, FrameType::Kernel)) => (name.to_owned(), FrameType::Kernel),
        Some((name, frame_type)) => (java(name), frame_type),
        None if looks_java(frame) => (java(frame), FrameType::Unknown),
        None => (java_names::native(frame).into_owned(), FrameType::Native),
    }
}

/// "java/lang/Thread.run" as "java.lang.Thread.run".
fn java(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((class, method)) if class.contains('/') => format!("{}.{method}", java_names::class(class)),
        _ => java_names::method(name).into_owned(),
    }
}

/// Whether a name has a package with slashes, or a class with a capital before its method.
fn looks_java(name: &str) -> bool {
    let Some((class, method)) = name.rsplit_once('.') else { return false };
    let simple = class.rsplit(['/', '.']).next().unwrap_or_default();
    !name.contains("::")
        && !method.contains('/')
        && !class.ends_with(".so")
        && (class.contains('/') && !class.starts_with('/') || simple.starts_with(|c: char| c.is_uppercase()))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use fathom_recording::Recording;
    use proptest::prelude::*;

    use super::*;
    use crate::Lines;

    fn read(text: &str) -> Recording {
        let mut recording = Recording::new();
        let lines = Lines::new(Box::new(Cursor::new(text.to_owned().into_bytes())));
        let mut input = Input { name: "app.folded".into(), modified: None, lines };
        let _ = Folded.read(&mut input, &mut recording);
        recording.seal();
        recording
    }

    fn fixture() -> String {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/folded/async17.collapsed");
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn the_total_of_a_real_profile_is_the_sum_of_its_lines() {
        let text = fixture();
        let recording = read(&text);
        let sum: i64 = text.lines().map(|l| l.rsplit_once(' ').unwrap().1.parse::<i64>().unwrap()).sum();
        assert_eq!(recording.samples.iter().map(|s| s.weight).sum::<i64>(), sum);
        assert_eq!((recording.samples.len(), recording.sources[0].skipped), (text.lines().count(), 0));
        assert!(recording.processes[0].jvm);
        let has = |name: &str, frame_type: FrameType| {
            recording
                .frames
                .iter()
                .any(|f| recording.strings.get(f.name) == name && f.frame_type == frame_type)
        };
        assert!(has("Mixed.burn", FrameType::C2) || has("Mixed.burn", FrameType::C1));
        assert!(has("start_thread", FrameType::Native));
        let named = |name: &str| recording.threads.iter().any(|t| recording.strings.get(t.name) == name);
        assert!(named("locker-0") || named("cpu"));
        assert_eq!(Folded.sniff(text.as_bytes()), Confidence(70));
    }

    #[test]
    fn frames_are_of_the_kind_that_their_suffix_says() {
        let frame = |text: &str| {
            let (name, frame_type) = frame_of(text);
            (name, frame_type)
        };
        assert_eq!(frame("java/lang/Thread.run_[j]"), ("java.lang.Thread.run".into(), FrameType::C2));
        assert_eq!(frame("a/B$$Lambda$7.call_[0]"), ("a.B$$Lambda.call".into(), FrameType::Interpreted));
        assert_eq!(frame("__schedule_[k]"), ("__schedule".into(), FrameType::Kernel));
        assert_eq!(frame("java.util.HashMap.get"), ("java.util.HashMap.get".into(), FrameType::Unknown));
        assert_eq!(frame("JavaThread::run()"), ("JavaThread::run()".into(), FrameType::Native));
        assert_eq!(frame("libc.so.6"), ("libc.so.6".into(), FrameType::Native));
        assert_eq!(thread("[GC Thread#0 tid=12]"), Some(("GC Thread#0", Some(12))));
        assert_eq!(thread("java-1/22"), Some(("java", Some(22))));
        assert_eq!(thread("java"), None);
    }

    #[test]
    fn tables_and_prose_are_no_stacks() {
        for other in
            ["1;2;3\n4;5;6\n", "time;ops\n1;200\n", "some words 42\n", "", "10:00:00;5 1\n", "a,b 1\n"]
        {
            assert_eq!(Folded.sniff(other.as_bytes()), Confidence(0), "{other}");
        }
        assert_eq!(Folded.sniff(b"main;foo;bar 12\nmain;foo 3\nmain;x 3\n"), Confidence(70));
    }

    #[test]
    fn a_broken_name_makes_no_stack_another_thing() {
        let text = "main;\u{fffd}\u{fffd}.run;java/lang/Thread.run_[j] 12\n";
        assert_eq!(Folded.sniff(text.as_bytes()), Confidence(70));
    }

    #[test]
    fn lines_that_are_none_are_counted() {
        let recording = read("a;b 1\nno number here\nc;d 2.6\n");
        assert_eq!(recording.sources[0].skipped, 1);
        assert_eq!(recording.samples.iter().map(|s| s.weight).collect::<Vec<_>>(), [1, 3]);
    }

    proptest! {
        #[test]
        fn bytes_that_end_like_a_stack_are_none(bytes in proptest::collection::vec(any::<u8>(), 64..1024)) {
            let mut bytes: Vec<u8> = bytes.into_iter().filter(|b| *b != b'\n').collect();
            bytes.extend_from_slice(b";a 5");
            prop_assert_eq!(Folded.sniff(&bytes), Confidence(0));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,200}", length in 0..4_000_usize) {
            read(&text);
            let whole = fixture();
            read(&String::from_utf8_lossy(&whole.as_bytes()[..length.min(whole.len())]));
        }
    }
}
