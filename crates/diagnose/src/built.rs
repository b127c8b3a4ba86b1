//! Recordings put together by hand, for tests: one JVM, its facts, its spans.

use fathom_recording::vocabulary::{count, fact, kind, label, live, sample};
use fathom_recording::{
    CountRow, FrameType, Process, ProcessId, Recording, Role, SampleRow, SeriesInfo, SeriesKind, Sink,
    Source, SourceId, SpanId, SpanRow, StackId,
};

use crate::facts::{Value, links};
use crate::known::Known;
use crate::{Case, Judgement, Loss, Rule, Window};

/// A recording under construction. Times are seconds, lengths milliseconds.
pub struct Built {
    pub recording: Recording,
    pub jvm: ProcessId,
    pub source: SourceId,
    line: u64,
    /// The stack of the next span.
    next_stack: Option<StackId>,
}

impl Built {
    /// A JVM of a release and collector whose log covers `0..seconds`.
    pub fn jvm(jdk: &str, collector: &str, seconds: f64) -> Self {
        let mut recording = Recording::new();
        let process = Process { name: "App".into(), jvm: true, ..Process::default() };
        let jvm = recording.add_process(process);
        let source = Source { name: "gc.log".into(), process: Some(jvm.0), ..Source::default() };
        let source = recording.add_source(source);
        let mut built = Self { recording, jvm, source, line: 0, next_stack: None };
        built.fact(fact::JDK, jdk).fact(fact::COLLECTOR, collector);
        built.span(kind::RUN, "run", 0.0, seconds * 1e3, &[], &[]);
        built
    }

    /// Another JVM in the same log; spans are its from now on.
    pub fn another_jvm(&mut self, name: &str) -> ProcessId {
        let process = Process { name: name.into(), jvm: true, ..Process::default() };
        self.jvm = self.recording.add_process(process);
        self.jvm
    }

    pub fn fact(&mut self, key: &str, value: &str) -> &mut Self {
        self.recording.process_mut(self.jvm).facts.insert(key.into(), value.into());
        self
    }

    pub fn pause(&mut self, name: &str, cause: &str, at_s: f64, ms: f64, figures: &[(&str, f64)]) -> SpanId {
        let cause = [(label::CAUSE, cause)];
        self.span(kind::GC_PAUSE, name, at_s, ms, figures, if cause[0].1.is_empty() { &[] } else { &cause })
    }

    pub fn span(
        &mut self,
        kind: &str,
        name: &str,
        at_s: f64,
        ms: f64,
        figures: &[(&str, f64)],
        labels: &[(&str, &str)],
    ) -> SpanId {
        self.row(kind, name, at_s, ms, figures, labels, None, None)
    }

    /// A span nested in another.
    pub fn nested(&mut self, name: &str, at_s: f64, ms: f64, parent: SpanId) -> SpanId {
        self.row(kind::GC_NESTED, name, at_s, ms, &[], &[], Some(parent), None)
    }

    /// A span on a thread.
    pub fn on_thread(&mut self, kind: &str, thread: &str, name: &str, at_s: f64, ms: f64) -> SpanId {
        self.row(kind, name, at_s, ms, &[], &[], None, Some(thread))
    }

    /// A wait of a thread for a monitor that another one holds.
    pub fn waits_for(&mut self, thread: &str, class: &str, owner: &str, at_s: f64, ms: f64) -> SpanId {
        self.row(kind::LOCK_MONITOR, class, at_s, ms, &[], &[(label::OWNER, owner)], None, Some(thread))
    }

    /// The same, which had not ended when the recording did.
    pub fn still_waits_for(&mut self, thread: &str, class: &str, owner: &str, at_s: f64, ms: f64) -> SpanId {
        let labels = [(label::OWNER, owner), (label::CUT, "the recording ended")];
        self.row(kind::LOCK_MONITOR, class, at_s, ms, &[], &labels, None, Some(thread))
    }

    /// A system call of a thread on a file.
    pub fn call(&mut self, thread: &str, name: &str, path: &str, at_s: f64, ms: f64) -> SpanId {
        self.row(kind::SYSCALL, name, at_s, ms, &[], &[(label::PATH, path)], None, Some(thread))
    }

    /// A system call of a thread, with all that is known of it.
    pub fn call_with(
        &mut self,
        thread: &str,
        name: &str,
        (at_s, ms): (f64, f64),
        figures: &[(&str, f64)],
        labels: &[(&str, &str)],
    ) -> SpanId {
        self.row(kind::SYSCALL, name, at_s, ms, figures, labels, None, Some(thread))
    }

    /// A look-up of a name by a thread.
    pub fn lookup(
        &mut self,
        thread: &str,
        name: &str,
        (at_s, ms): (f64, f64),
        labels: &[(&str, &str)],
    ) -> SpanId {
        self.row(kind::NET_DNS, name, at_s, ms, &[], labels, None, Some(thread))
    }

    /// System calls of a thread, counted from a timestamp on for so many milliseconds.
    pub fn counted_calls(&mut self, thread: &str, name: &str, at_s: f64, ms: f64, calls: u64) {
        let thread = Some(self.recording.thread(self.jvm, None, thread, Role::App));
        let interval = interval(at_s, ms);
        let count = CountRow::new(count::SYSCALL_TOTALS, name, interval, self.jvm, self.source, calls);
        self.recording.count(&CountRow { thread, ..count });
    }

    /// A second's page faults in a mapping, and how long each of them took.
    pub fn counted_faults(
        &mut self,
        mapping: &str,
        at_s: f64,
        (faults, each_ns): (u64, u64),
        figures: &[(&str, f64)],
    ) {
        let interval = interval(at_s, 1_000.0);
        let count = CountRow::new(count::PAGE_FAULTS, mapping, interval, self.jvm, self.source, faults);
        self.recording.count(&CountRow { total_ns: Some(faults * each_ns), figures, ..count });
    }

    /// A thread whose switches were all seen, from the beginning on for so many seconds.
    pub fn watched(&mut self, thread: &str, seconds: f64) -> SpanId {
        self.on_thread(kind::SCHED_WATCHED, thread, "", 0.0, seconds * 1e3)
    }

    /// A thread that could run and did not: `throttled_ms` of it for lack of quota, then waiting
    /// for a CPU while another ran.
    pub fn preempted(
        &mut self,
        thread: &str,
        at_s: f64,
        ms: f64,
        throttled_ms: f64,
        instead: &str,
    ) -> SpanId {
        let figures = [
            (fathom_recording::vocabulary::figure::RUNQ_NS, ms * 1e6),
            (fathom_recording::vocabulary::figure::THROTTLED_NS, throttled_ms * 1e6),
        ];
        let labels = [(label::RAN_INSTEAD, instead)];
        let labels = if instead.is_empty() { &labels[..0] } else { &labels[..] };
        self.row(kind::SCHED_OFF, "preempted", at_s, ms, &figures, labels, None, Some(thread))
    }

    /// A value in numbers over time: from second to second, and what it was.
    pub fn gauge(
        &mut self,
        word: live::Word,
        instance: &str,
        process: Option<ProcessId>,
        values: &[(f64, f64, f64)],
    ) {
        let info = SeriesInfo {
            name: word.name.into(),
            unit: word.unit.into(),
            instance: instance.into(),
            kind: SeriesKind::Gauge,
            process,
            source: self.source,
        };
        let id = self.recording.add_series(info);
        for (from_s, to_s, value) in values {
            let ns = |s: f64| (s * 1e9).round() as i64;
            self.recording.point(id, ns(*from_s), ns(to_s - from_s), *value);
        }
    }

    /// A span of a thread with a stack, the innermost frame first.
    pub fn with_stack(
        &mut self,
        (kind, name): (&str, &str),
        thread: &str,
        frames: &[(&str, FrameType)],
        labels: &[(&str, &str)],
        (at_s, ms): (f64, f64),
    ) {
        self.next_stack = self.stack(frames);
        self.row(kind, name, at_s, ms, &[], labels, None, Some(thread));
    }

    pub fn stack(&mut self, frames: &[(&str, FrameType)]) -> Option<StackId> {
        let mut stack = None;
        for (name, by) in frames.iter().rev() {
            let frame = self.recording.frame(name, "", *by, -1);
            stack = Some(self.recording.stack(stack, frame));
        }
        stack
    }

    /// Short waits of a thread, summed up in one sample; `frames`: the innermost first.
    pub fn short_waits(&mut self, thread: &str, frames: &[(&str, FrameType)], at_s: f64, ms: f64) {
        self.sampled(sample::OFF_CPU, thread, frames, at_s, ms);
    }

    /// A thread on a CPU for so long, as one sample; `frames`: the innermost first.
    pub fn on_cpu(&mut self, thread: &str, frames: &[(&str, FrameType)], at_s: f64, ms: f64) {
        self.sampled(sample::CPU, thread, frames, at_s, ms);
    }

    fn sampled(&mut self, kind: &str, thread: &str, frames: &[(&str, FrameType)], at_s: f64, ms: f64) {
        let role = if thread.contains("CompilerThread") { Role::Jit } else { Role::App };
        let thread = Some(self.recording.thread(self.jvm, None, thread, role));
        let stack = self.stack(frames);
        let (t_ns, weight) = ((at_s * 1e9).round() as i64, (ms * 1e6).round() as i64);
        let (process, source) = (self.jvm, self.source);
        self.recording.sample(&SampleRow { kind, t_ns, process, thread, stack, weight, source });
    }

    #[allow(clippy::too_many_arguments, reason = "the one place that knows all columns")]
    pub fn row(
        &mut self,
        kind: &str,
        name: &str,
        at_s: f64,
        ms: f64,
        figures: &[(&str, f64)],
        labels: &[(&str, &str)],
        parent: Option<SpanId>,
        thread: Option<&str>,
    ) -> SpanId {
        self.line += 1;
        let (t0_ns, t1_ns) = interval(at_s, ms);
        let thread = thread.map(|name| self.recording.thread(self.jvm, None, name, Role::App));
        self.recording.span(&SpanRow {
            kind,
            name,
            t0_ns,
            t1_ns,
            process: self.jvm,
            thread,
            stack: self.next_stack.take(),
            source: self.source,
            line: self.line,
            key: self.line as i64,
            parent,
            figures,
            labels,
        })
    }

    /// The finished recording.
    pub fn sealed(mut self) -> Recording {
        self.recording.seal();
        self.recording
    }
}

/// From a second on for so many milliseconds, nanoseconds.
fn interval(at_s: f64, ms: f64) -> (i64, i64) {
    let t0_ns = (at_s * 1e9).round() as i64;
    (t0_ns, t0_ns + (ms * 1e6).round() as i64)
}

/// Time that a thread spent under a category in a method, as chains have it.
pub fn spent_in(category: crate::Category, place: &str) -> crate::Fact {
    links::SPENT.is(Value::Category(category)).with("place", Value::named(place))
}

/// What the holders of a lock did by its finding, with the shares in whole per cent.
pub fn did_by_holders(finding: &crate::Finding) -> Vec<(crate::Fact, f64)> {
    let did = finding.fact(&crate::facts::locks::HOLDERS).detail("did").unwrap().parts();
    let share = |part: &crate::Fact| (part.number("value").unwrap() * 100.0).round() / 100.0;
    did.iter().map(|part| (part.detail("what").unwrap().parts()[0].clone(), share(part))).collect()
}

/// A case that looks at a whole run, without a series to measure a loss on.
pub fn whole_run(recording: &Recording) -> Case<'_> {
    let (from_ns, to_ns) = recording.covers_ns().expect("a recording with spans");
    Case {
        recording,
        slow: vec![Window { from_ns, to_ns }],
        base: Vec::new(),
        whole_run: true,
        loss: Loss::default(),
        found_on_stops: false,
        warm_up: None,
        lost_by: Vec::new(),
        exchanges: None,
        attributed: std::rc::Rc::default(),
        known: Known::shared(recording),
    }
}

/// A case with seconds `slow` compared with `base`, in which so much of the slow ones was lost,
/// second by second.
pub fn slow_and_base(recording: &Recording, slow: (i64, i64), base: (i64, i64), lost: f64) -> Case<'_> {
    const S: i64 = 1_000_000_000;
    let window = |from: i64, to: i64| Window { from_ns: from * S, to_ns: to * S };
    let lost_by: Vec<_> = (slow.0..slow.1).map(|s| (window(s, s + 1), lost * 1e3)).collect();
    let lost_ms = lost_by.iter().map(|(_, ms)| ms).sum();
    Case {
        recording,
        slow: vec![window(slow.0, slow.1)],
        base: vec![window(base.0, base.1)],
        whole_run: false,
        loss: Loss { lost_ms, slow_rate: Some(1.0 - lost), base_rate: Some(1.0), ..Loss::default() },
        found_on_stops: false,
        warm_up: None,
        lost_by,
        exchanges: None,
        attributed: std::rc::Rc::default(),
        known: Known::shared(recording),
    }
}

/// What a rule says of the JVM of a recording, over its whole run.
pub fn judged(rule: &dyn Rule, recording: &Recording) -> Judgement {
    rule.judge(&whole_run(recording), ProcessId(0))
}

/// A compile task as LogCompilation records it: queued at `at_s`, started `wait_ms` later, done in
/// `ms`.
pub fn jit_task(built: &mut Built, method: &str, at_s: f64, wait_ms: f64, ms: f64, tier: u8) {
    let key = built.line as i64 + 1_000_000;
    let figures = [(fathom_recording::vocabulary::figure::TIER, f64::from(tier))];
    let compiler = if tier == 4 { "c2" } else { "c1" };
    let started_s = at_s + wait_ms / 1e3;
    let mut add = |kind: &str, from_s: f64, length_ms: f64, labels: &[(&str, &str)]| {
        let thread = built.recording.thread(built.jvm, None, compiler, Role::Jit);
        let t0_ns = (from_s * 1e9).round() as i64;
        built.line += 1;
        built.recording.span(&SpanRow {
            kind,
            name: method,
            t0_ns,
            t1_ns: t0_ns + (length_ms * 1e6).round() as i64,
            process: built.jvm,
            thread: Some(thread),
            stack: None,
            source: built.source,
            line: built.line,
            key,
            parent: None,
            figures: &figures,
            labels,
        });
    };
    add(kind::JIT_QUEUE, at_s, wait_ms, &[]);
    add(kind::JIT_COMPILE, started_s, ms, &[(label::COMPILER, compiler)]);
}
