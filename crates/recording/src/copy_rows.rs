//! Writes the rows of a recording in memory into a sink: rows that were read later join those that
//! were streamed.

use std::collections::HashMap;

use crate::spans::NONE;
use crate::{CountRow, ProcessId, Recording, SampleRow, Sink, SourceId, SpanId, SpanRow, StackId, ThreadId};

impl Recording {
    /// Writes all rows that overlap `[from_ns, to_ns)` into a sink, with new ids. `process` maps
    /// processes to those of the sink; facts that those do not have yet are added to them. Spans
    /// that only record when something was watched ([`crate::vocabulary::kind::RUN`]) are truncated
    /// at both ends, all others stay whole. Times must be on the sink's clock. A source counts the
    /// records that were written, and covers nothing if all of it lies outside.
    ///
    /// Returns how many rows were written.
    pub fn copy_into(
        &self,
        sink: &mut dyn Sink,
        (from_ns, to_ns): (i64, i64),
        mut process: impl FnMut(ProcessId, &mut dyn Sink) -> ProcessId,
    ) -> u64 {
        let processes: Vec<ProcessId> =
            (0..self.processes.len() as u32).map(|id| process(ProcessId(id), sink)).collect();
        for (row, id) in self.processes.iter().zip(&processes) {
            let host = sink.process_mut(*id);
            for (key, value) in &row.facts {
                host.facts.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        let sources = self.sources.iter().map(|source| {
            let mut source = source.clone();
            source.process = source.process.and_then(|p| processes.get(p as usize)).map(|p| p.0);
            let covers = source.covers_ns.map(|(from, to)| (from.max(from_ns), to.min(to_ns)));
            source.covers_ns = covers.filter(|(from, to)| from <= to);
            source.records = 0;
            sink.add_source(source)
        });
        let sources: Vec<SourceId> = sources.collect();
        let threads = self
            .threads
            .iter()
            .map(|t| sink.thread(processes[t.process.index()], t.tid, self.strings.get(t.name), t.role));
        let threads: Vec<ThreadId> = threads.collect();
        let stacks = self.replay_stacks(sink);
        let thread = |id: u32| threads.get(id as usize).copied();
        let stack = |id: u32| stacks.get(id as usize).copied();

        let mut written = vec![0_u64; sources.len()];
        let mut spans: HashMap<u32, SpanId> = HashMap::new();
        for i in 0..self.spans.len() {
            let row = self.span_at(SpanId(i as u32));
            if row.t1_ns() < from_ns || row.t0_ns() >= to_ns {
                continue;
            }
            let watches = row.kind() == crate::vocabulary::kind::RUN;
            let ends = if watches {
                (row.t0_ns().max(from_ns), row.t1_ns().min(to_ns))
            } else {
                (row.t0_ns(), row.t1_ns())
            };
            let figures: Vec<(&str, f64)> = row.figures().collect();
            let labels: Vec<(&str, &str)> = row.labels().collect();
            let id = sink.span(&SpanRow {
                kind: row.kind(),
                name: row.name(),
                t0_ns: ends.0,
                t1_ns: ends.1,
                process: processes[row.process().index()],
                thread: row.thread().and_then(|t| thread(t.0)),
                stack: row.stack().and_then(|s| stack(s.0)),
                source: sources[row.source().index()],
                line: row.line(),
                key: row.key(),
                parent: row.parent().and_then(|p| spans.get(&p.0)).copied(),
                figures: &figures,
                labels: &labels,
            });
            spans.insert(i as u32, id);
            written[row.source().index()] += 1;
        }
        for row in (0..self.counts.len()).map(|row| self.count_at(row)) {
            if row.t1_ns() < from_ns || row.t0_ns() >= to_ns {
                continue;
            }
            let figures: Vec<(&str, f64)> = row.figures().collect();
            sink.count(&CountRow {
                kind: row.kind(),
                name: row.name(),
                t0_ns: row.t0_ns(),
                t1_ns: row.t1_ns(),
                process: processes[row.process().index()],
                thread: row.thread().and_then(|t| thread(t.0)),
                source: sources[row.source().index()],
                key: row.key(),
                count: row.count(),
                total_ns: row.total_ns(),
                figures: &figures,
            });
            written[row.source().index()] += 1;
        }
        for row in self.samples.iter().filter(|row| (from_ns..to_ns).contains(&row.t_ns)) {
            sink.sample(&SampleRow {
                kind: self.strings.get(row.kind),
                t_ns: row.t_ns,
                process: processes[row.process.index()],
                thread: row.thread.and_then(|t| thread(t.0)),
                stack: row.stack.and_then(|s| stack(s.0)),
                weight: row.weight,
                source: sources[row.source.index()],
            });
            written[row.source.index()] += 1;
        }
        for series in &self.series {
            let mut info = series.info.clone();
            info.process = info.process.map(|p| processes[p.index()]);
            info.source = sources[info.source.index()];
            let within = |i: &usize| (from_ns..to_ns).contains(&series.t_ns[*i]);
            let points: Vec<usize> = (0..series.t_ns.len()).filter(within).collect();
            if points.is_empty() {
                continue;
            }
            let id = sink.add_series(info);
            written[series.info.source.index()] += points.len() as u64;
            for i in points {
                sink.point(id, series.t_ns[i], series.dt_ns[i], series.value[i]);
            }
        }
        for (id, rows) in sources.iter().zip(&written) {
            sink.source_mut(*id).records = *rows;
        }
        written.iter().sum()
    }

    /// All stacks, by their ids here. Parents come before their children.
    fn replay_stacks(&self, sink: &mut dyn Sink) -> Vec<StackId> {
        let mut stacks: Vec<StackId> = Vec::with_capacity(self.stacks.len());
        for node in &self.stacks {
            let frame = &self.frames[node.frame.index()];
            let text = |id| self.strings.get(id);
            let frame = sink.frame(text(frame.name), text(frame.module), frame.frame_type, frame.line);
            let parent = node.parent.map_or(NONE, |p| p.0);
            stacks.push(sink.stack(stacks.get(parent as usize).copied(), frame));
        }
        stacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::kind;
    use crate::{Process, Source};

    #[test]
    fn rows_within_the_interval_join_the_other_recording_under_its_process() {
        let mut log = Recording::new();
        let process =
            log.add_process(Process { facts: [("jdk".into(), "21".into())].into(), ..Process::default() });
        let source = log.add_source(Source {
            process: Some(process.0),
            covers_ns: Some((0, 100)),
            records: 5,
            ..Source::default()
        });
        // Its last line was written before the interval begins.
        log.add_source(Source { covers_ns: Some((0, 30)), ..Source::default() });
        let mut span = |kind, t0_ns, t1_ns, parent| {
            log.span(&SpanRow {
                kind,
                name: "x",
                t0_ns,
                t1_ns,
                process,
                thread: None,
                stack: None,
                source,
                line: 3,
                key: 7,
                parent,
                figures: &[("f", 1.5)],
                labels: &[("l", "v")],
            })
        };
        span(kind::RUN, 0, 100, None);
        let before = span("k", 1, 5, None);
        span("k", 30, 45, Some(before));
        let outer = span("k", 35, 55, None);
        span("k", 60, 70, Some(outer));
        span("k", 90, 95, None);

        for t0_ns in [10, 30, 70, 80] {
            let count = CountRow::new("c", "read", (t0_ns, t0_ns + 15), process, source, 9);
            log.count(&CountRow { total_ns: Some(0), figures: &[("f", 1.5)], ..count });
        }

        let mut live = Recording::new();
        let host = live.add_process(Process::default());
        live.add_source(Source::default());
        let written = log.copy_into(&mut live, (40, 80), |_, _| host);
        live.seal();
        assert_eq!(written, 6);
        let runs: Vec<_> = live.spans_of(kind::RUN).map(|s| (s.t0_ns(), s.t1_ns())).collect();
        assert_eq!(runs, [(40, 80)]);
        let spans: Vec<_> =
            live.spans_of("k").map(|s| (s.t0_ns(), s.parent().is_some(), s.figure("f"))).collect();
        assert_eq!(spans, [(30, false, Some(1.5)), (35, false, Some(1.5)), (60, true, Some(1.5))]);
        let counts: Vec<_> = live.counts_of("c").map(|c| (c.t0_ns(), c.t1_ns(), c.count())).collect();
        assert_eq!(counts, [(30, 45, 9), (70, 85, 9)]);
        let count = live.counts_of("c").next().unwrap();
        assert_eq!((count.name(), count.total_ns(), count.figure("f")), ("read", Some(0), Some(1.5)));
        assert_eq!((live.sources[1].covers_ns, live.sources[1].process), (Some((40, 80)), Some(0)));
        assert_eq!(live.sources[1].records, written);
        assert_eq!((live.sources[2].covers_ns, live.sources[2].records), (None, 0));
        assert_eq!(live.processes[0].fact("jdk"), Some("21"));
    }
}
