//! Rows to fill recordings with.

#![allow(dead_code, reason = "each test uses some of it")]

use fathom_recording::*;

/// What the rows of [`fill`] belong to.
pub struct Filled {
    pub process: ProcessId,
    pub source: SourceId,
    pub threads: Vec<ThreadId>,
    pub stacks: Vec<StackId>,
    pub series: SeriesId,
    random: u64,
}

impl Filled {
    /// Adds a process, a source, threads, `stacks` stacks and a series.
    pub fn new(sink: &mut dyn Sink, stacks: u32) -> Self {
        let facts = [("jdk", "21"), ("collector", "G1")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let process = sink.add_process(Process {
            pid: Some(4711),
            name: "com.example.Main".into(),
            jvm: true,
            facts: facts.into(),
        });
        let source = sink.add_source(Source {
            name: "test".into(),
            format: "unified-log".into(),
            clock: ClockBasis::Epoch,
            process: Some(process.0),
            ..Source::default()
        });
        let threads =
            (0..16).map(|i| sink.thread(process, Some(i), &format!("worker-{i}"), Role::App)).collect();
        let mut nodes = Vec::new();
        for i in 0..stacks {
            let frame = sink.frame(&format!("com.example.Class{}.method{i}", i / 10), "", FrameType::C2, 7);
            let parent = (i % 20 != 0).then(|| nodes.last().copied()).flatten();
            nodes.push(sink.stack(parent, frame));
        }
        let series = sink.add_series(SeriesInfo {
            name: "throughput".into(),
            unit: "ops/s".into(),
            instance: String::new(),
            kind: SeriesKind::Rate,
            process: Some(process),
            source,
        });
        Self { process, source, threads, stacks: nodes, series, random: 0x9e37_79b9_7f4a_7c15 }
    }

    /// A number below `below`, the same ones in each run (xorshift).
    pub fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    /// Adds the sample number `i`.
    pub fn sample(&mut self, sink: &mut dyn Sink, i: u64) {
        let thread = self.random(16) as usize;
        // Squaring prefers few stacks, as real profiles do.
        let skewed = (self.random(1 << 16) * self.random(1 << 16) * self.stacks.len() as u64) >> 32;
        let t_ns = 1_700_000_000_000_000_000 + i as i64 * 10_000 + self.random(3_000) as i64;
        sink.sample(&SampleRow {
            kind: "cpu",
            t_ns,
            process: self.process,
            thread: Some(self.threads[thread]),
            stack: Some(self.stacks[skewed as usize]),
            weight: 10_000_000,
            source: self.source,
        });
    }

    /// Adds the count number `i`, calls of a thread within a second.
    pub fn count(&mut self, sink: &mut dyn Sink, i: u64) {
        let t0_ns = 1_700_000_000_000_000_000 + i as i64 / 16 * 1_000_000_000;
        let interval = (t0_ns, t0_ns + 1_000_000_000);
        sink.count(&CountRow {
            thread: Some(self.threads[i as usize % self.threads.len()]),
            total_ns: i.is_multiple_of(2).then_some(500 * i),
            figures: &[("longest_ns", 500.0)],
            ..CountRow::new("syscall.totals", "read", interval, self.process, self.source, i)
        });
    }

    /// Adds the span number `i`, a pause of a collection.
    pub fn span(&mut self, sink: &mut dyn Sink, i: u64) -> SpanId {
        let t0_ns = 1_700_000_000_000_000_000 + i as i64 * 100_000;
        let heap = self.random(1 << 30) as f64;
        sink.span(&SpanRow {
            line: i + 1,
            key: i as i64,
            figures: &[("heap_before_bytes", heap), ("heap_after_bytes", heap / 2.0), ("workers", 4.0)],
            labels: &[("cause", "G1 Evacuation Pause")],
            ..SpanRow::new(
                "gc.pause",
                if i.is_multiple_of(9) { "Pause Remark" } else { "Pause Young (Normal)" },
                (t0_ns, t0_ns + self.random(50_000) as i64),
                self.process,
                self.source,
            )
        })
    }
}
