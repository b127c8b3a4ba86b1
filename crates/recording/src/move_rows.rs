//! Moves rows: those of a source onto the one clock, those of a process to another one. Call them
//! before [`Recording::seal`].

use crate::{ProcessId, Recording, SourceId};

impl Recording {
    /// Adds `offset_ns` to every time of one source (spans, counts, series, samples, the interval
    /// that it covers), saturating.
    ///
    /// Callers record the reason in the source's [`crate::Placement`].
    pub fn place(&mut self, source: SourceId, offset_ns: i64) {
        if offset_ns == 0 {
            return;
        }
        let shift = |t: &mut i64| *t = t.saturating_add(offset_ns);
        for i in 0..self.spans.len() {
            if self.spans.origins.of(i).1 == source {
                shift(&mut self.spans.t0_ns[i]);
                shift(&mut self.spans.t1_ns[i]);
            }
        }
        for i in 0..self.counts.len() {
            if self.counts.origins.of(i).1 == source {
                shift(&mut self.counts.t0_ns[i]);
                shift(&mut self.counts.t1_ns[i]);
            }
        }
        for i in 0..self.samples.len() {
            if self.samples.origins.of(i).2 == source {
                shift(&mut self.samples.t_ns[i]);
            }
        }
        for series in self.series.iter_mut().filter(|s| s.info.source == source) {
            series.t_ns.iter_mut().for_each(shift);
        }
        if let Some((from, to)) = &mut self.sources[source.index()].covers_ns {
            shift(from);
            shift(to);
        }
    }

    /// Moves all rows of process `from` to process `into`, when two files turn out to be of one
    /// JVM. `from` keeps its row; name and facts are moved where `into` has none of its own.
    pub fn merge_process(&mut self, from: ProcessId, into: ProcessId) {
        if from == into {
            return;
        }
        let moved = |p: &mut ProcessId| {
            if *p == from {
                *p = into;
            }
        };
        self.spans.origins.change(|(process, _)| moved(process));
        self.counts.origins.change(|(process, _)| moved(process));
        self.samples.origins.change(|(_, process, _)| moved(process));
        self.threads.iter_mut().for_each(|t| moved(&mut t.process));
        for series in &mut self.series {
            if let Some(p) = &mut series.info.process {
                moved(p);
            }
        }
        for source in self.sources.iter_mut().filter(|s| s.process == Some(from.0)) {
            source.process = Some(into.0);
        }
        let donor = std::mem::take(&mut self.processes[from.index()]);
        let host = &mut self.processes[into.index()];
        host.pid = host.pid.or(donor.pid);
        host.jvm |= donor.jvm;
        if donor.facts.contains_key(crate::vocabulary::fact::MAIN) || host.name.is_empty() {
            host.name = donor.name;
        }
        for (key, value) in donor.facts {
            host.facts.entry(key).or_insert(value);
        }
    }
}
