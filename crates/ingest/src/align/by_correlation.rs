//! Places tables that count from a start of their own by what the JVMs did meanwhile.

use fathom_recording::clock::{ns_from_seconds, seconds};
use fathom_recording::vocabulary::series::THROUGHPUT;
use fathom_recording::{ClockBasis, Placement, Recording};

use super::Clock;
use super::activity;
use super::correlation::{self, Match, Tick};

/// Tables whose lengths differ by less than this share may have run together.
const LIKE_LENGTH: f64 = 0.1;

/// The shortest step in which events are counted.
const SHORTEST_STEP_S: f64 = 0.05;

/// Tables that started together, or one alone.
struct Group {
    /// Indexes of the sources.
    sources: Vec<usize>,
    /// The sum of their throughput.
    ticks: Vec<Tick>,
}

impl Clock<'_> {
    /// Places tables where the match is certain, and offers it in a warning where it is not.
    pub(super) fn by_correlation(&mut self, warnings: &mut Vec<String>) {
        let mut groups = groups(self.recording, self.first_new);
        groups.retain(|group| !self.follows(group));
        let known = (0..self.recording.sources.len()).filter_map(|i| self.origin(i));
        let Some((origin_ns, wall)) = known.min().filter(|_| !groups.is_empty()) else { return };
        let placed = |i: usize| {
            let placement = self.placement(i).filter(|p| p.is_known() && p.wall == wall)?;
            Some(if i < self.first_new { 0 } else { placement.offset_ns })
        };
        let shortest = groups.iter().filter_map(|g| Some(g.ticks.first()?.length_s)).reduce(f64::min);
        let step_s = (shortest.unwrap_or(1.0) / 2.0).max(SHORTEST_STEP_S);
        let witnesses = activity::witnesses(self.recording, &placed, origin_ns, step_s);
        for group in groups {
            if let Some(found) = correlation::best_offset(&group.ticks, &witnesses) {
                self.judge(&group, &found, (origin_ns, wall), warnings);
            }
        }
    }

    /// Places the tables that started together with one that is placed already. False when none is.
    fn follows(&mut self, group: &Group) -> bool {
        let placed = |i: &usize| Some((*i, self.placement(*i).filter(|p| p.is_known())?.clone()));
        let Some((leader, placement)) = group.sources.iter().find_map(placed) else { return false };
        let tick_ns = group.ticks.first().map_or(0, |tick| ns_from_seconds(tick.length_s));
        let leader = self.recording.sources[leader].name.clone();
        for i in &group.sources {
            self.placements.entry(*i).or_insert_with(|| Placement {
                uncertainty_ns: placement.uncertainty_ns.map(|u| u.saturating_add(tick_ns)),
                how: format!("goes up and down together with {leader}: {}", placement.how),
                ..placement
            });
        }
        true
    }

    /// Zero of a placed JVM's clock, and whether that is wall-clock time.
    fn origin(&self, index: usize) -> Option<(i64, bool)> {
        let placed = self.placement(index).filter(|p| p.is_known())?;
        let jvm = self.recording.sources.get(index)?.clock == ClockBasis::JvmUptime;
        jvm.then_some((placed.offset_ns, placed.wall))
    }

    fn judge(&mut self, group: &Group, found: &Match, origin: (i64, bool), warnings: &mut Vec<String>) {
        let file = |i: &usize| {
            let name = &self.recording.sources[*i].name;
            name.rsplit('/').next().unwrap_or(name).to_owned()
        };
        let names: Vec<_> = group.sources.iter().map(file).collect();
        let (names, first) = (names.join(", "), names.first().cloned().unwrap_or_default());
        let at = |offset_s: f64| format!("{offset_s:+.1}s");
        let offset = at(found.offset_s);
        let agree = match found.agree {
            0 | 1 => String::new(),
            n => format!("; {n} JVMs show it independently"),
        };
        let evidence = format!(
            "±{:.1} s; its changes correlate with those of {} by {:.2}{agree}; probability {}",
            found.uncertainty_s,
            activity::in_words(found.by),
            found.correlation,
            percent(found.probability)
        );
        if found.is_certain() {
            warnings.push(format!(
                "{names}: placed by correlation: second 0 is {offset} after the start of the JVM ({evidence}); \
                 override with --align {first}=+SECONDS"
            ));
        } else {
            let others: Vec<_> =
                found.others.iter().map(|(o, p)| format!("{} {}", at(*o), percent(*p))).collect();
            let others =
                if others.is_empty() { String::new() } else { format!("; else {}", others.join(", ")) };
            warnings.push(format!(
                "{names}: not placed in time, so not compared with the JVMs: second 0 may be {offset} after the start of \
                 the JVM ({evidence}{others}), which is too uncertain to be used; if you know it, say --align {first}={offset}"
            ));
        }
        let placement = match found.is_certain() {
            true => Placement {
                wall: origin.1,
                offset_ns: origin.0.saturating_add(ns_from_seconds(found.offset_s)),
                uncertainty_ns: Some(ns_from_seconds(found.uncertainty_s)),
                how: format!("by correlation: {offset} after the start of the JVM, {evidence}"),
            },
            false => Placement {
                how: format!(
                    "not placed: perhaps {offset} after the start of the JVM, {evidence}: say --align {first}={offset} if \
                     you know it"
                ),
                ..Placement::default()
            },
        };
        for i in &group.sources {
            self.placements.insert(*i, placement.clone());
        }
    }
}

/// Tables that count from a start of their own, grouped by those that started together.
fn groups(recording: &Recording, first_new: usize) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for i in first_new..recording.sources.len() {
        if recording.sources[i].clock != ClockBasis::SinceStart {
            continue;
        }
        let ticks = throughput(recording, i);
        if ticks.is_empty() {
            continue;
        }
        match groups.iter_mut().find(|group| alike(&group.ticks, &ticks)) {
            Some(group) => {
                group.sources.push(i);
                for (sum, tick) in group.ticks.iter_mut().zip(&ticks) {
                    sum.value += tick.value;
                }
            }
            None => groups.push(Group { sources: vec![i], ticks }),
        }
    }
    groups
}

/// Whether two tables have the same ticks and about the same length, and rise and fall together.
fn alike(a: &[Tick], b: &[Tick]) -> bool {
    let same_ticks =
        a.iter().zip(b).all(|(a, b)| (a.from_s - b.from_s).abs() < 0.5 * a.length_s.min(b.length_s));
    let (n, m) = (a.len() as f64, b.len() as f64);
    same_ticks && (n - m).abs() <= LIKE_LENGTH * n && correlation::together(a, b)
}

/// The work done in a source, over all instances that have its ticks.
fn throughput(recording: &Recording, source: usize) -> Vec<Tick> {
    let of_source = recording.series.iter().filter(|series| series.info.source.index() == source);
    let mut sum: Vec<Tick> = Vec::new();
    for series in of_source.filter(|series| series.info.name == THROUGHPUT) {
        let times = series.t_ns.iter().zip(&series.dt_ns).zip(&series.value);
        let ticks =
            times.map(|((t, dt), value)| Tick { from_s: seconds(*t), length_s: seconds(*dt), value: *value });
        if sum.is_empty() {
            sum = ticks.collect();
        } else {
            sum.iter_mut().zip(ticks).for_each(|(sum, tick)| sum.value += tick.value);
        }
    }
    sum
}

/// A probability, never rounded to certainty.
fn percent(probability: f64) -> String {
    match 100.0 * probability {
        p if p > 99.9 => "over 99.9%".to_owned(),
        p if p < 0.1 => "below 0.1%".to_owned(),
        p => format!("{p:.1}%"),
    }
}
