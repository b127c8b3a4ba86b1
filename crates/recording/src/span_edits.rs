//! Edits of spans, for when a second source has more about the same events. Call them before
//! [`Recording::seal`].

use crate::duplicates::Change;
use crate::spans::NONE;
use crate::{Recording, Span, SpanId};

impl Recording {
    /// Ends a span at `t1_ns`, or where it starts when that is later.
    pub fn end_span(&mut self, span: SpanId, t1_ns: i64) {
        let i = span.index();
        self.spans.t1_ns[i] = t1_ns.max(self.spans.t0_ns[i]);
    }

    /// Changes the value of a figure of a span. `false`: it has no such figure.
    pub fn set_figure(&mut self, span: SpanId, key: &str, value: f64) -> bool {
        let Some(key) = self.strings.find(key) else { return false };
        self.spans.figures.set(span.index(), key, value)
    }

    /// Removes spans. Ids of the spans after them change; a child of a removed span has no parent
    /// any more.
    pub fn remove_spans(&mut self, mut remove: impl FnMut(&Span<'_>) -> bool) {
        let gone: Vec<bool> =
            (0..self.spans.len()).map(|i| remove(&self.span_at(SpanId(i as u32)))).collect();
        self.edit_spans(|id| gone.get(id.index()).copied().unwrap_or(false).then_some(&Change::Remove));
    }

    /// Removes spans, and adds figures and labels to others.
    pub(crate) fn edit_spans<'c>(&mut self, change: impl Fn(SpanId) -> Option<&'c Change>) {
        let change = |i: usize| change(SpanId(i as u32));
        let mut next = 0;
        let mut new_ids = Vec::with_capacity(self.spans.len());
        let mut changed = false;
        for i in 0..self.spans.len() {
            let change = change(i);
            changed |= change.is_some();
            let stays = !matches!(change, Some(Change::Remove));
            new_ids.push(if stays { next } else { NONE });
            next += u32::from(stays);
        }
        if !changed {
            return;
        }
        let old = std::mem::take(&mut self.spans);
        let spans = &mut self.spans;
        for i in (0..old.len()).filter(|i| new_ids[*i] != NONE) {
            spans.kind.push(old.kind[i]);
            spans.name.push(old.name[i]);
            spans.t0_ns.push(old.t0_ns[i]);
            spans.t1_ns.push(old.t1_ns[i]);
            spans.origins.push(old.origins.of(i));
            let to = spans.len() - 1;
            spans.thread.put(to, old.thread.get(i));
            spans.stack.put(to, old.stack.get(i));
            spans.parent.put(to, new_ids.get(old.parent.get(i) as usize).copied().unwrap_or(NONE));
            spans.line.push(old.line.get(i));
            spans.push_key(old.key_of(i));
            match change(i) {
                Some(Change::Extend(figures, labels)) => {
                    let figures: Vec<_> = old.figures.of(i).chain(figures.iter().copied()).collect();
                    spans.figures.push(figures.into_iter());
                    spans.labels.push(old.labels.of(i).iter().chain(labels).copied());
                }
                _ => {
                    spans.figures.push_from(&old.figures, i);
                    spans.labels.push(old.labels.of(i).iter().copied());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Process, Recording, Sink, Source, SpanId, SpanRow};

    /// Spans "s0" to "s5" with key, figure and label; odd ones are parts of the one before.
    fn six() -> Recording {
        let mut recording = Recording::new();
        let process = recording.add_process(Process::default());
        let source = recording.add_source(Source::default());
        for i in 0..6_i64 {
            let name = format!("s{i}");
            recording.span(&SpanRow {
                kind: "k",
                name: &name,
                t0_ns: i * 10,
                t1_ns: i * 10 + 1,
                process,
                thread: None,
                stack: None,
                source,
                line: i as u64,
                key: i,
                parent: (i % 2 == 1).then(|| SpanId(i as u32 - 1)),
                figures: &[("f", i as f64)],
                labels: &[("l", &name)],
            });
        }
        recording
    }

    #[test]
    fn what_is_left_keeps_its_figures_labels_and_parents() {
        let mut recording = six();
        recording.remove_spans(|span| matches!(span.key(), 1 | 2));
        recording.seal();
        let left: Vec<_> = recording
            .spans_of("k")
            .map(|s| (s.key(), s.figure("f"), s.label("l"), s.parent().map(|p| recording.span_at(p).key())))
            .collect();
        let expected = [
            (0, Some(0.0), Some("s0"), None),
            (3, Some(3.0), Some("s3"), None),
            (4, Some(4.0), Some("s4"), None),
            (5, Some(5.0), Some("s5"), Some(4)),
        ];
        assert_eq!(left, expected);
    }

    #[test]
    fn ends_and_figures_can_be_corrected() {
        let mut recording = six();
        recording.end_span(SpanId(2), 99);
        recording.end_span(SpanId(3), 0);
        assert!(recording.set_figure(SpanId(2), "f", 7.0));
        assert!(
            !recording.set_figure(SpanId(2), "unknown", 7.0) && !recording.set_figure(SpanId(2), "l", 7.0)
        );
        let (two, three) = (recording.span_at(SpanId(2)), recording.span_at(SpanId(3)));
        assert_eq!(
            (two.t1_ns(), two.figure("f"), three.duration_ns(), three.figure("f")),
            (99, Some(7.0), 0, Some(3.0))
        );
    }
}
