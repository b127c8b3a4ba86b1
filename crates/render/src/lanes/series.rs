//! Lanes of the series of a recording: one for each name, its instances and their sum as lines.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::live;
use fathom_recording::{Process, ProcessId, Series, SeriesKind};

use super::families::{Family, open_at_first, rank, title};
use super::lines::Points;
use super::{Builder, Group, Lane, LineLane, short};

/// What the lanes of processes that share a group are of.
const OTHERS: &str = "others";
/// Lines in one lane; more cannot be distinguished.
const MAX_LINES: usize = 12;
/// Series of the application that are open at first: a table of latencies brings many columns.
const OPEN_OF_APPLICATION: usize = 3;

impl Builder<'_, '_> {
    /// What the application got done: the series that are neither of the machine nor of a process.
    pub(super) fn application_lanes(&mut self) -> Vec<Lane> {
        let of_nobody = |s: &&Series| s.info.process.is_none() && !live::is_live(&s.info.name);
        let all: Vec<&Series> = self.recording.series.iter().filter(of_nobody).collect();
        let mut lanes = self.lanes_of(&all, "all", |name| title(name, ""));
        // Progress first, then the usual latency, then its other columns.
        lanes.sort_by_key(|(series, _)| {
            let middle = ["avg", "mean", "median"].iter().any(|word| series.info.name.contains(word));
            if series.info.kind == SeriesKind::Rate { 0 } else { 2 - u8::from(middle) }
        });
        let opened = |(i, (_, lane)): (usize, (&Series, LineLane))| {
            Lane::Lines(LineLane { open: i < OPEN_OF_APPLICATION, ..lane })
        };
        lanes.into_iter().enumerate().map(opened).collect()
    }

    /// The series of a process. Those that a live collector wrote and that stay at zero say nothing
    /// and are left out.
    pub(super) fn process_lanes(&mut self, process: ProcessId) -> Vec<Lane> {
        let theirs = |s: &&Series| s.info.process == Some(process) && !always_zero(s);
        let all: Vec<&Series> = self.recording.series.iter().filter(theirs).collect();
        let mut lanes = self.lanes_of(&all, &process.index().to_string(), |name| title(name, "process."));
        lanes.sort_by_key(|(series, _)| rank(&series.info.name));
        lanes.into_iter().map(|(_, lane)| Lane::Lines(lane)).collect()
    }

    /// The series of the machine, a group for each part of it; what stayed at zero is named in the
    /// group's detail.
    pub(super) fn machine_groups(&mut self) -> Vec<Group> {
        let recording = self.recording;
        let mut groups = Vec::new();
        for family in Family::ALL {
            let of_family = |s: &&Series| s.info.process.is_none() && family.holds(&s.info.name);
            let all: Vec<&Series> = recording.series.iter().filter(of_family).collect();
            let (moving, still): (Vec<&Series>, Vec<&Series>) = all.into_iter().partition(|s| {
                !recording.series.iter().filter(|other| other.info.name == s.info.name).all(always_zero)
            });
            let mut lanes = self.lanes_of(&moving, "all", |name| title(name, family.prefix(name)));
            lanes.sort_by_key(|(series, _)| rank(&series.info.name));
            if lanes.is_empty() {
                continue;
            }
            let mut zeros: Vec<String> =
                still.iter().map(|s| title(&s.info.name, family.prefix(&s.info.name))).collect();
            zeros.sort_unstable();
            zeros.dedup();
            let detail =
                if zeros.is_empty() { String::new() } else { format!("always 0: {}", zeros.join(", ")) };
            groups.push(Group {
                name: family.name().into(),
                detail,
                open: family.is_open(),
                lanes: lanes.into_iter().map(|(_, lane)| Lane::Lines(lane)).collect(),
            });
        }
        groups
    }

    /// Lanes of the series of processes that are not looked into: one for each word, a line for
    /// each process, the ones with most of it.
    pub(super) fn other_process_lanes(&mut self, processes: &[ProcessId]) -> Vec<Lane> {
        let theirs = |s: &&Series| s.info.process.is_some_and(|p| processes.contains(&p)) && !always_zero(s);
        let mut all: Vec<&Series> = self.recording.series.iter().filter(theirs).collect();
        let sum = |s: &Series| s.value.iter().filter(|v| v.is_finite()).sum::<f64>();
        all.sort_by(|a, b| sum(b).total_cmp(&sum(a)));
        let mut lanes = self.lanes_of(&all, OTHERS, |name| title(name, "process."));
        lanes.sort_by_key(|(series, _)| rank(&series.info.name));
        lanes.into_iter().map(|(_, lane)| Lane::Lines(lane)).collect()
    }

    /// One lane for each name and unit, with the first of its series.
    fn lanes_of<'s>(
        &mut self,
        all: &[&'s Series],
        of: &str,
        title: impl Fn(&str) -> String,
    ) -> Vec<(&'s Series, LineLane)> {
        let mut by_name: BTreeMap<(&str, &str), Vec<&'s Series>> = BTreeMap::new();
        for series in all.iter().filter(|s| !s.t_ns.is_empty()) {
            by_name.entry((&series.info.name, &series.info.unit)).or_default().push(series);
        }
        let mut lanes = Vec::new();
        for ((name, unit), all) in by_name {
            let adds_up = all.iter().all(|s| s.info.kind != SeriesKind::Latency);
            let mut lines = Vec::new();
            let mut note = String::new();
            if all.len() > MAX_LINES {
                note = format!("{MAX_LINES} of {} are drawn", all.len());
            }
            if all.len() > 1 && adds_up {
                let sum = sum(&all, self.origin_ns);
                lines.push(self.line("sum", true, sum, &mut note));
            }
            for series in all.iter().take(MAX_LINES) {
                let instance = &series.info.instance;
                let points = self.with_gaps(series);
                // In the group of a process its name need not be said again.
                let own = series
                    .info
                    .process
                    .filter(|_| of != OTHERS)
                    .map(|p| &self.recording.processes[p.index()]);
                let instance = own.map_or(instance.as_str(), |own| without_process(instance, own));
                let line = if instance.is_empty() { name } else { instance };
                lines.push(self.line(line, all.len() == 1, points, &mut note));
            }
            let lane = LineLane {
                id: short(&format!("series-{of}-{name}-{unit}")),
                title: short(&title(name)),
                unit: short(unit),
                steps: false,
                open: open_at_first(name),
                note,
                lines,
            };
            lanes.push((all[0], lane));
        }
        lanes
    }

    /// A series with its gaps marked: where more than two and a half of its usual steps lie between
    /// two values.
    fn with_gaps(&self, series: &Series) -> Points {
        let usual = usual_step(&series.t_ns);
        let mut points = Points::with_capacity(series.t_ns.len());
        for (i, (t, value)) in series.t_ns.iter().zip(&series.value).enumerate() {
            let before = i.checked_sub(1).and_then(|i| series.t_ns.get(i));
            if let Some(before) =
                before.filter(|b| usual > 0 && t.saturating_sub(**b) > usual.saturating_mul(5) / 2)
            {
                points.push((self.since(before.saturating_add(usual)), f64::NAN));
            }
            points.push((self.since(*t), *value));
        }
        points
    }
}

/// The sum over instances at the times that they share, else on the grid of their usual step, where
/// it stands at the mean of the times that it is of. A step in which an instance that was there
/// before and after says nothing is a gap: missing is not zero.
fn sum(all: &[&Series], origin_ns: i64) -> Points {
    let since = |t: i64| t.saturating_sub(origin_ns);
    let step =
        if share_times(all) { 1 } else { all.iter().map(|s| usual_step(&s.t_ns)).min().unwrap_or(0).max(1) };
    let bin = |t: i64| since(t).div_euclid(step);
    // How far into its step each value lies decides where the sum stands.
    let mut bins: BTreeMap<i64, (f64, usize, i64)> = BTreeMap::new();
    for series in all {
        let mut own: BTreeMap<i64, (f64, i32, i64)> = BTreeMap::new();
        for (t, value) in series.t_ns.iter().zip(&series.value) {
            let entry = own.entry(bin(*t)).or_default();
            *entry = (entry.0 + value, entry.1 + 1, since(*t).rem_euclid(step));
        }
        for (bin, (sum, n, into)) in own {
            let entry = bins.entry(bin).or_default();
            *entry = (entry.0 + sum / f64::from(n), entry.1 + 1, entry.2.saturating_add(into));
        }
    }
    let covers: Vec<(i64, i64)> =
        all.iter().filter_map(|s| Some((bin(*s.t_ns.first()?), bin(*s.t_ns.last()?)))).collect();
    let value = |(at, (sum, n, into)): (i64, (f64, usize, i64))| {
        let expected = covers.iter().filter(|(from, to)| (*from..=*to).contains(&at)).count();
        let t = at.saturating_mul(step).saturating_add(into / (n as i64).max(1));
        (t, if n < expected { f64::NAN } else { sum })
    };
    bins.into_iter().map(value).collect()
}

/// Whether instances were looked at together, as collectors do: (nearly) all their times are the
/// same ones.
fn share_times(all: &[&Series]) -> bool {
    let mut times: Vec<i64> = all.iter().flat_map(|s| s.t_ns.iter().copied()).collect();
    times.sort_unstable();
    times.dedup();
    let longest = all.iter().map(|s| s.t_ns.len()).max().unwrap_or(0);
    times.len() <= longest + longest / 20
}

/// "Orders (4711) gc" is "gc", and "Orders (4711)" nothing, where the process is named already.
fn without_process<'s>(instance: &'s str, process: &Process) -> &'s str {
    let rest = process.pid.and_then(|pid| {
        instance.strip_prefix(process.name.as_str())?.trim_start().strip_prefix(&format!("({pid})"))
    });
    rest.map_or(instance, str::trim)
}

/// Whether a live collector looked and there was never anything.
fn always_zero(series: &Series) -> bool {
    live::is_live(&series.info.name) && series.value.iter().all(|v| *v == 0.0 || v.is_nan())
}

/// Median distance of neighbouring times.
fn usual_step(t_ns: &[i64]) -> i64 {
    let mut steps: Vec<i64> = t_ns.windows(2).map(|w| w[1].saturating_sub(w[0])).collect();
    let middle = steps.len() / 2;
    if steps.is_empty() { 0 } else { *steps.select_nth_unstable(middle).1 }
}

#[cfg(test)]
mod tests {
    use fathom_recording::Sink;

    use super::*;

    fn series(points: &[(i64, f64)]) -> Series {
        let mut recording = fathom_recording::Recording::new();
        let source = recording.add_source(fathom_recording::Source::default());
        let id = recording.add_series(fathom_recording::SeriesInfo {
            name: "process.cpu.role".into(),
            unit: "cpus".into(),
            instance: String::new(),
            kind: SeriesKind::Gauge,
            process: None,
            source,
        });
        for (t_ns, value) in points {
            recording.point(id, *t_ns, 0, *value);
        }
        recording.seal();
        recording.series.swap_remove(0)
    }

    #[test]
    fn a_sum_stands_at_the_times_of_what_it_is_of() {
        let a = series(&[(1_900, 1.0), (2_903, 2.0), (3_890, 4.0)]);
        let b = series(&[(1_900, 10.0), (2_903, 20.0), (3_890, 40.0)]);
        assert_eq!(sum(&[&a, &b], 900), [(1_000, 11.0), (2_003, 22.0), (2_990, 44.0)]);
        // Looked at apart: in each step the mean of both times, and a gap where one that goes on
        // says nothing.
        let a = series(&[(1_000, 1.0), (2_000, 1.0), (3_000, 1.0), (4_000, 1.0)]);
        let b = series(&[(1_400, 10.0), (2_400, 10.0), (4_400, 10.0)]);
        let summed = sum(&[&a, &b], 0);
        assert_eq!(summed.iter().map(|p| p.0).collect::<Vec<_>>(), [1_200, 2_200, 3_000, 4_200]);
        assert!(summed[2].1.is_nan() && summed[3].1 == 11.0);
    }

    #[test]
    fn the_name_of_a_process_is_not_said_twice() {
        let process = Process { name: "Orders".into(), pid: Some(47), ..Process::default() };
        assert_eq!(without_process("Orders (47) gc", &process), "gc");
        assert_eq!(without_process("Orders (47)", &process), "");
        assert_eq!(without_process("Orders (48) gc", &process), "Orders (48) gc");
        assert_eq!(without_process("eden", &process), "eden");
    }
}
