//! Samples by kind and in order of time, so that those of a window are found without looking at all
//! others.

use fathom_diagnose::Window;
use fathom_recording::{Recording, StrId};

use super::FIRST;

/// Made once for a recording; a server asks it for each window that is brushed.
pub struct SampleIndex {
    pub(super) kinds: Vec<OfKind>,
}

/// The samples of one kind.
pub(super) struct OfKind {
    pub(super) kind: StrId,
    /// Their places in the recording, by time.
    pub(super) places: Vec<u32>,
}

impl SampleIndex {
    /// Goes through all samples once; 4 bytes are kept of each. Beyond 2³² samples the rest is not
    /// seen.
    pub fn of(recording: &Recording) -> Self {
        let mut found = recording.sample_kinds();
        found.sort_by_key(|(kind, _)| FIRST.iter().position(|first| first == kind).unwrap_or(FIRST.len()));
        let mut kinds: Vec<OfKind> = (found.into_iter())
            .filter_map(|(kind, n)| {
                Some(OfKind { kind: recording.strings.find(kind)?, places: Vec::with_capacity(n) })
            })
            .collect();
        let mut times = Vec::with_capacity(recording.samples.len());
        for (place, sample) in recording.samples.iter().enumerate() {
            times.push(sample.t_ns);
            let (Ok(place), Some(of)) =
                (u32::try_from(place), kinds.iter_mut().find(|of| of.kind == sample.kind))
            else {
                continue;
            };
            of.places.push(place);
        }
        for of in &mut kinds {
            let time = |place: &u32| times[*place as usize];
            if !of.places.is_sorted_by_key(time) {
                of.places.sort_by_key(time);
            }
        }
        Self { kinds }
    }
}

impl OfKind {
    /// The places of samples in some windows, or of all; a sample that lies in two windows is given
    /// once.
    pub(super) fn within(&self, recording: &Recording, windows: Option<&[Window]>) -> Vec<&[u32]> {
        let Some(windows) = windows else { return vec![&self.places] };
        let mut windows: Vec<(i64, i64)> = windows.iter().map(|w| (w.from_ns, w.to_ns)).collect();
        windows.sort_unstable();
        let before = |end: i64| {
            self.places.partition_point(|p| recording.samples.get(*p as usize).is_some_and(|s| s.t_ns < end))
        };
        let mut seen = 0;
        let mut out = Vec::new();
        for (from, to) in windows {
            let (first, last) = (before(from).max(seen), before(to));
            if first < last {
                out.push(&self.places[first..last]);
                seen = last;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::{Process, SampleRow, Sink, Source};

    use super::*;

    #[test]
    fn samples_of_windows_are_those_within_and_each_once() {
        let mut r = Recording::new();
        let source = r.add_source(Source::default());
        let process = r.add_process(Process::default());
        for t_ns in [50, 10, 30, 20, 40] {
            for kind in ["wall", "cpu"] {
                r.sample(&SampleRow { kind, t_ns, process, thread: None, stack: None, weight: 1, source });
            }
        }
        r.seal();
        let index = SampleIndex::of(&r);
        let kinds: Vec<&str> = index.kinds.iter().map(|of| r.strings.get(of.kind)).collect();
        assert_eq!(kinds, ["cpu", "wall"]);
        let chosen = |windows: &[(i64, i64)]| -> Vec<i64> {
            let windows: Vec<Window> =
                windows.iter().map(|(from_ns, to_ns)| Window { from_ns: *from_ns, to_ns: *to_ns }).collect();
            let places = index.kinds[0].within(&r, Some(&windows)).concat();
            places.iter().filter_map(|p| r.samples.get(*p as usize)).map(|s| s.t_ns).collect()
        };
        assert_eq!(chosen(&[(20, 41)]), [20, 30, 40]);
        assert_eq!(chosen(&[(30, 60), (10, 35)]), [10, 20, 30, 40, 50]);
        assert_eq!(chosen(&[(60, 70), (45, 45)]), [0; 0]);
        assert_eq!(index.kinds[1].within(&r, None).concat().len(), 5);
    }
}
