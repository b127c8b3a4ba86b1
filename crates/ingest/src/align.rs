//! All sources on one clock.
//!
//! In this order, the first that holds for a source:
//!
//! 1. by hand (`--align`, [`by_hand`]);
//! 2. its timestamps are wall-clock time;
//! 3. it counts from the start of a JVM, and some source of that JVM knows when that was: unified
//!    logging's `uptime`, LogCompilation's `stamp`, JDK 8's leading seconds and PrintCompilation's
//!    first column share one zero (the VM's elapsed counter), so one date next to one of them
//!    places all of them. Which files are of one JVM is found by [`same_jvm`]. A flight recording
//!    of the same collections is such a date as well ([`shared_collections`]);
//! 4. when something else is in wall-clock time: the file was last written when its last line was,
//!    if that makes it overlap with the others;
//! 5. a table that counts from a start of its own: by correlation with what the JVMs did
//!    ([`correlation`]);
//! 6. not at all. It keeps its own timestamps, [`Placement::uncertainty_ns`] is `None`, and the
//!    user is warned.
//!
//! When nothing is in wall-clock time, everything stays on seconds since the start of the first
//! JVM.

mod activity;
mod by_correlation;
mod by_hand;
mod correlation;
mod duplicates;
mod same_jvm;
mod shared_collections;

use fathom_recording::quantity::whole;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use fathom_recording::clock::SECOND_NS;
use fathom_recording::{Anchor, ClockBasis, Placement, Recording, SourceId};

use crate::report::{InputsError, Report};
use by_hand::{ByHand, Move};
pub use duplicates::leave_out_duplicates;

/// How far the time at which a file was written may be off its last line: buffers are flushed
/// within a second.
const MTIME_UNCERTAINTY_NS: i64 = SECOND_NS;

/// Places the sources from `first_new` on.
pub(crate) fn align(
    recording: &mut Recording,
    first_new: usize,
    arguments: &[String],
    report: &mut Report,
) -> Result<(), InputsError> {
    same_jvm::merge(recording, first_new, &mut report.warnings);
    recording.merge_threads();
    crate::jit::join(recording, first_new);
    shared_collections::anchor(recording, first_new);
    let by_hand = by_hand::parse(arguments, recording, first_new)?;
    let mut clock = Clock { recording, first_new, placements: BTreeMap::new() };
    clock.by_timestamps();
    clock.by_hand(&by_hand);
    clock.by_jvm();
    clock.by_modification(report);
    clock.by_being_the_only_one();
    clock.by_correlation(&mut report.warnings);
    clock.leave_the_rest(&mut report.warnings);
    clock.apply();
    shared_collections::drop_repeated(recording, first_new);
    Ok(())
}

/// The sources that are being placed.
struct Clock<'a> {
    recording: &'a mut Recording,
    first_new: usize,
    /// The decisions so far, by index of the source.
    placements: BTreeMap<usize, Placement>,
}

impl Clock<'_> {
    /// Sources without a placement.
    fn open(&self) -> Vec<usize> {
        (self.first_new..self.recording.sources.len()).filter(|i| !self.placements.contains_key(i)).collect()
    }

    /// The placement of any source, also of an opened recording.
    fn placement(&self, index: usize) -> Option<&Placement> {
        let before = || self.recording.sources.get(index).map(|s| &s.placement);
        self.placements.get(&index).or_else(|| if index < self.first_new { before() } else { None })
    }

    /// When the clock of a process showed zero, by the surest source that has it: epoch
    /// nanoseconds, uncertainty, and how it is known.
    fn zero_of(&self, process: u32) -> Option<Anchor> {
        let of_process =
            self.recording.sources.iter().enumerate().filter(|(_, source)| {
                source.process == Some(process) && source.clock == ClockBasis::JvmUptime
            });
        let zeros = of_process.filter_map(|(i, source)| match (self.placement(i), &source.anchor) {
            (Some(placed), _) if placed.is_known() && placed.wall => Some(Anchor {
                zero_epoch_ns: placed.offset_ns,
                uncertainty_ns: placed.uncertainty_ns?,
                how: format!("{}: {}", source.name, placed.how),
            }),
            (None, Some(anchor)) => {
                Some(Anchor { how: format!("{}: {}", source.name, anchor.how), ..anchor.clone() })
            }
            _ => None,
        });
        zeros.min_by_key(|anchor| anchor.uncertainty_ns)
    }

    fn by_timestamps(&mut self) {
        for i in self.open() {
            let source = &self.recording.sources[i];
            let placement = match (source.clock, &source.anchor) {
                // Timestamps of an access log are truncated to seconds.
                (ClockBasis::Epoch, Some(anchor)) if anchor.zero_epoch_ns == 0 => {
                    wall(0, anchor.uncertainty_ns, anchor.how.clone())
                }
                (ClockBasis::Epoch, _) => wall(0, 0, "its timestamps are wall-clock time".to_owned()),
                (ClockBasis::JvmUptime | ClockBasis::SinceStart, Some(anchor)) => {
                    wall(anchor.zero_epoch_ns, anchor.uncertainty_ns, anchor.how.clone())
                }
                _ => continue,
            };
            self.placements.insert(i, placement);
        }
    }

    /// Applies the user's offsets: what has wall-clock time of its own is moved by the offset,
    /// anything else is placed that much after the start of the first JVM.
    fn by_hand(&mut self, by_hand: &[ByHand]) {
        for ByHand { source, shift, argument } in by_hand {
            let own = self.placements.get(source).map(|placed| placed.offset_ns);
            let start = self.start(*source);
            let (offset_ns, wall) = match (shift, own, start) {
                (Move::Zero(zero), _, _) => (*zero, true),
                (Move::By(by), Some(own), _) => (own.saturating_add(*by), true),
                (Move::By(by), None, Some(start)) => (start.saturating_add(*by), true),
                (Move::By(by), None, None) => (*by, false),
            };
            let how = format!("by hand (--align {argument})");
            let uncertainty_ns = Some(0);
            self.placements.insert(*source, Placement { wall, offset_ns, uncertainty_ns, how });
        }
    }

    /// When the first JVM (otherwise the first other source in wall-clock time) started, for a
    /// source placed by hand.
    fn start(&self, except: usize) -> Option<i64> {
        let others = 0..self.recording.sources.len();
        let placed: Vec<_> = others
            .filter(|i| *i != except)
            .filter_map(|i| Some((&self.recording.sources[i], self.placement(i).filter(|p| p.wall)?)))
            .collect();
        let jvms = placed.iter().filter(|(source, _)| source.clock == ClockBasis::JvmUptime);
        let first_jvm = jvms.map(|(_, placement)| placement.offset_ns).min();
        first_jvm.or_else(|| {
            let starts = placed.iter().filter_map(|(s, p)| Some(s.covers_ns?.0.saturating_add(p.offset_ns)));
            starts.min()
        })
    }

    fn by_jvm(&mut self) {
        for i in self.open() {
            let source = &self.recording.sources[i];
            let (ClockBasis::JvmUptime, Some(process)) = (source.clock, source.process) else { continue };
            if let Some(zero) = self.zero_of(process) {
                let how = format!("counts from the start of the JVM, which is known from {}", zero.how);
                self.placements.insert(i, wall(zero.zero_epoch_ns, zero.uncertainty_ns, how));
            }
        }
    }

    /// Takes the time at which a file was written for that of its last line, if the file then
    /// overlaps with what is in wall-clock time.
    fn by_modification(&mut self, report: &Report) {
        let Some((from, to)) = self.wall_covers() else { return };
        for i in self.open() {
            let source = &self.recording.sources[i];
            let (ClockBasis::JvmUptime, Some((_, last))) = (source.clock, source.covers_ns) else { continue };
            let modified = report.modified(SourceId(i as u32)).and_then(epoch_ns);
            let Some(zero) = modified.and_then(|m| m.checked_sub(last)) else { continue };
            let overlaps = zero < to && zero.saturating_add(last) > from;
            if overlaps {
                let how = "guessed: the file was last written when its last line was".to_owned();
                self.placements.insert(i, wall(zero, MTIME_UNCERTAINTY_NS, how));
            }
        }
        self.by_jvm();
    }

    /// First and last wall-clock time of what has been placed.
    fn wall_covers(&self) -> Option<(i64, i64)> {
        let all = 0..self.recording.sources.len();
        let placed = all.filter_map(|i| {
            let placement = self.placement(i).filter(|p| p.wall)?;
            let (from, to) = self.recording.sources[i].covers_ns?;
            let offset = if i < self.first_new { 0 } else { placement.offset_ns };
            Some((from.saturating_add(offset), to.saturating_add(offset)))
        });
        placed.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// Without any wall-clock time the clock is that of the first JVM, otherwise of the first
    /// source.
    fn by_being_the_only_one(&mut self) {
        // A source that was placed by hand relative to the start of a JVM without wall-clock time
        // waits for that JVM.
        let known = (0..self.recording.sources.len())
            .any(|i| self.placement(i).is_some_and(|p| p.is_known() && (p.wall || i < self.first_new)));
        if known {
            return;
        }
        let open = self.open();
        let sources = &self.recording.sources;
        let jvm = open.iter().find(|i| sources[**i].clock == ClockBasis::JvmUptime);
        let Some(first) = jvm.or(open.first()).copied() else { return };
        let clock = |i: usize| (sources[i].clock, sources[i].process);
        let same = |i: &usize| *i == first || (jvm.is_some() && clock(*i) == clock(first));
        let how = match jvm {
            Some(_) => "no wall-clock time in it: seconds since the start of the JVM",
            None => "no wall-clock time in it: seconds since its own start",
        };
        let with_it: Vec<_> = open.iter().copied().filter(same).collect();
        for i in with_it {
            let placement =
                Placement { uncertainty_ns: Some(0), how: how.to_owned(), ..Placement::default() };
            self.placements.insert(i, placement);
        }
    }

    /// What cannot be related to the rest keeps its own timestamps, with a warning, once for all
    /// runs in a file.
    fn leave_the_rest(&mut self, warnings: &mut Vec<String>) {
        let mut unplaced: BTreeMap<(String, &str), Vec<String>> = BTreeMap::new();
        for i in self.open() {
            let source = &self.recording.sources[i];
            let why = match source.clock {
                ClockBasis::None => "has no timestamps",
                ClockBasis::JvmUptime => "counts from the start of its JVM, and nothing shows when that was",
                ClockBasis::SinceStart => "counts from a start of its own, and nothing shows when that was",
                ClockBasis::Epoch => continue,
            };
            let file = same_jvm::file(&source.name).to_owned();
            unplaced.entry((file, why)).or_default().push(source.name.clone());
            self.placements.insert(i, Placement { how: why.to_owned(), ..Placement::default() });
        }
        for ((_, why), names) in unplaced {
            let Some(name) = names.first() else { continue };
            let more = match names.len() {
                1 => String::new(),
                n => format!(" (and {} more runs in it)", whole(n - 1)),
            };
            warnings.push(format!(
                "{name}{more}: {why}: not related in time to the other inputs; if you know, say --align \
                 '{name}=+SECONDS'"
            ));
        }
    }

    fn apply(self) {
        for (i, placement) in self.placements {
            self.recording.place(SourceId(i as u32), placement.offset_ns);
            self.recording.sources[i].placement = placement;
        }
    }
}

fn wall(offset_ns: i64, uncertainty_ns: i64, how: String) -> Placement {
    Placement { wall: true, offset_ns, uncertainty_ns: Some(uncertainty_ns), how }
}

fn epoch_ns(time: SystemTime) -> Option<i64> {
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
}

#[cfg(test)]
mod tests;
