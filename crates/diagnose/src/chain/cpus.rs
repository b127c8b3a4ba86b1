//! Who had the CPUs while a thread that could run waited for one.
//!
//! The machine's counters say what each process ran for, second by second: a wait's time is divided
//! among the processes in proportion to what they ran in its second. The switch that ends a wait
//! names a thread too, but only the last of those that ran meanwhile, often one that ran for a
//! time; it is named where the machine was not watched.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{label, live};
use fathom_recording::{ProcessId, Recording, ThreadId};

use super::walk::Walk;
use super::{End, Link, LinkKind};
use crate::Fact;
use crate::facts::{Value, links};
use crate::intervals::Intervals;
use crate::waits::Category;

/// What ran for less than this part of a second's CPU time is not named: a machine has dozens of
/// processes that do a little.
const LEAST: f64 = 0.02;

/// What processes ran for, by the machine's counters.
pub(crate) struct Runners {
    /// In order of time, without overlap.
    ticks: Vec<Tick>,
}

struct Tick {
    from_ns: i64,
    to_ns: i64,
    /// Each with the CPUs that it kept busy; the most first.
    ran: Vec<(Runner, f64)>,
}

/// Who ran.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Runner {
    /// Threads of a process that the recording knows.
    Known(ProcessId, String),
    /// Processes of a name.
    Named(String),
    /// Processes that ran for a little each.
    Others,
}

impl Runner {
    /// That it ran, as a thread of `own` sees it.
    fn ran(&self, own: ProcessId) -> Fact {
        match self {
            Self::Known(process, name) if *process == own => links::OWN_THREADS_RAN.is(Value::name(name)),
            Self::Known(_, name) | Self::Named(name) => links::RAN.is(Value::name(name)),
            Self::Others => links::OTHERS_RAN.fact(),
        }
    }
}

impl Runners {
    pub(crate) fn of(recording: &Recording) -> Self {
        let mut ticks: BTreeMap<i64, (i64, BTreeMap<Runner, f64>)> = BTreeMap::new();
        for series in recording.series.iter().filter(|s| s.info.name == live::PROCESS_CPU.name) {
            let instance = series.info.instance.as_str();
            let name = instance.rsplit_once(" (").map_or(instance, |(name, _)| name).to_owned();
            let runner = match series.info.process {
                Some(process) => Runner::Known(process, name),
                None => Runner::Named(name),
            };
            for ((t, dt), value) in series.t_ns.iter().zip(&series.dt_ns).zip(&series.value) {
                if *value > 0.0 && value.is_finite() && *dt > 0 {
                    let tick = ticks.entry(*t).or_default();
                    tick.0 = tick.0.max(t.saturating_add(*dt));
                    *tick.1.entry(runner.clone()).or_default() += value;
                }
            }
        }
        let mut until = i64::MIN;
        let tick = |(from_ns, (to_ns, ran)): (i64, (i64, BTreeMap<Runner, f64>))| {
            let from_ns = from_ns.max(until);
            until = until.max(to_ns);
            let all: f64 = ran.values().sum();
            let (named, little): (Vec<_>, Vec<_>) =
                ran.into_iter().partition(|(_, cpus)| *cpus >= LEAST * all);
            let little: f64 = little.iter().map(|(_, cpus)| cpus).sum();
            let mut ran = named;
            ran.sort_by(|a, b| b.1.total_cmp(&a.1));
            ran.extend((little > 0.0).then_some((Runner::Others, little)));
            Tick { from_ns, to_ns, ran }
        };
        let ticks = ticks.into_iter().map(tick).filter(|tick| tick.from_ns < tick.to_ns).collect();
        Self { ticks }
    }

    /// Intervals in which a thread of a process waited divided among those who ran in them, in
    /// proportion to what each ran in the same second: without overlap, and without a rest but for
    /// what no value covers. What the thread itself `ran` does not count.
    pub(crate) fn divide(
        &self,
        intervals: &Intervals,
        own: ProcessId,
        ran: &Intervals,
    ) -> BTreeMap<Runner, Intervals> {
        let mut by: BTreeMap<&Runner, Vec<(i64, i64)>> = BTreeMap::new();
        let first = intervals.ranges().first().map_or(0, |s| s.0);
        let last = intervals.ranges().last().map_or(0, |s| s.1);
        let near = self.ticks.partition_point(|tick| tick.to_ns <= first);
        for tick in self.ticks[near..].iter().take_while(|tick| tick.from_ns < last) {
            let tick_ns = tick.to_ns.saturating_sub(tick.from_ns) as f64;
            let itself = ran.length_within_ns(tick.from_ns, tick.to_ns) as f64 / tick_ns;
            let others = tick.ran.iter().map(|(runner, cpus)| match runner {
                Runner::Known(process, _) if *process == own => (runner, (cpus - itself).max(0.0)),
                _ => (runner, *cpus),
            });
            let others: Vec<(&Runner, f64)> = others.filter(|(_, cpus)| *cpus > 0.0).collect();
            let all: f64 = others.iter().map(|(_, cpus)| cpus).sum();
            for (from, to) in intervals.within(tick.from_ns, tick.to_ns) {
                let (mut sum, mut at) = (0.0, from);
                for (i, (runner, cpus)) in others.iter().enumerate() {
                    sum += cpus;
                    let is_last = i + 1 == others.len();
                    let share = from + (to.saturating_sub(from) as f64 * sum / all) as i64;
                    let end = if is_last { to } else { share.min(to) };
                    by.entry(runner).or_default().push((at, end));
                    at = end;
                }
            }
        }
        by.into_iter().map(|(runner, parts)| (runner.clone(), Intervals::of(parts))).collect()
    }
}

/// That somebody ran, when, and the record that names them.
struct Ran {
    what: Fact,
    parts: Vec<(i64, i64)>,
    source: String,
}

impl Ran {
    /// The entry for what ran, which is added where there is none yet.
    fn of(all: &mut BTreeMap<String, Self>, what: Fact) -> &mut Self {
        let one = all.entry(what.sentence());
        one.or_insert_with(|| Self { what, parts: Vec::new(), source: String::new() })
    }
}

impl Walk<'_, '_> {
    /// Who ran instead in some intervals of a thread.
    pub(super) fn cpu_links(&mut self, thread: ThreadId, intervals: &Intervals) -> Vec<Link> {
        let own = self.chains.recording.threads[thread.index()].process;
        let running = self.chains.intervals.by_category(thread, &self.chains.stacks);
        let running = running.map_or_else(Intervals::default, |by_category| {
            let running = Category::ALL.iter().filter(|category| category.is_running());
            Intervals::of(running.flat_map(|category| by_category[category.index()].ranges()).copied())
        });
        let divided = self.chains.runners().divide(intervals, own, &running);
        let mut left = intervals.clone();
        let mut others: BTreeMap<String, Ran> = BTreeMap::new();
        for (runner, parts) in divided {
            left = left.without(&parts);
            Ran::of(&mut others, runner.ran(own)).parts.extend(parts.ranges());
        }
        let off = self.chains.intervals.off(thread);
        // Times off the CPU do not overlap: their ends are in order too.
        let near =
            off.partition_point(|span| span.t1_ns() <= left.ranges().first().map_or(i64::MAX, |s| s.0));
        for span in &off[near..] {
            let Some(other) = span.label(label::RAN_INSTEAD) else { continue };
            let mut parts = left.within(span.t0_ns(), span.t1_ns()).peekable();
            if parts.peek().is_some() {
                // The span's stack is that of the thread that waited: it says nothing of who ran.
                let other = Ran::of(&mut others, links::RAN.is(Value::name(other)));
                other.parts.extend(parts);
                other.source = super::position(span);
            }
        }
        let mut others: Vec<(Fact, Intervals, String)> =
            (others.into_values()).map(|ran| (ran.what, Intervals::of(ran.parts), ran.source)).collect();
        for (_, intervals, _) in &others {
            left = left.without(intervals);
        }
        others.sort_by_key(|(_, intervals, _)| std::cmp::Reverse(intervals.length_ns()));
        let mut next = self.the_most(
            others,
            |(_, intervals, _)| intervals.clone(),
            |walk, (what, intervals, source)| {
                let mut link = walk.link(LinkKind::Cpu, (None, None), what, &intervals);
                link.source = source;
                link.end = Some(End::Running);
                link
            },
        );
        if !left.is_empty() && !next.is_empty() {
            let what = links::RUNNER_UNKNOWN.fact();
            let mut rest = self.link(LinkKind::CpuUnknown, (None, None), what, &left);
            rest.end = Some(End::Unknown);
            next.push(rest);
        }
        next
    }
}
