//! How long calls take: one breakpoint goes from caller to caller, and stands where their calls
//! return to.
//!
//! A call that is entered with this return address is timed until its thread comes by there with
//! the stack as it was. All calls from the place are timed while the breakpoint stands there, so
//! that long ones are as likely as short ones, but for those that are still under way when it moves
//! on. Calls from the interpreter are not: all of them return to the same few addresses. A call
//! that ends by an exception returns elsewhere and is left out.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::Watch;
use super::program::{Armed, BREAKPOINTS, Calls, Program, Times};
use super::report::{Names, Untimed};
use crate::unwind::samples::WalkedFrame;

/// How long it stands at one place.
const STAYS: Duration = Duration::from_secs(1);
/// Places that are timed at most: half of the numbers that there are for entries.
const MOST_PLACES: usize = 1024;
/// The breakpoint that is used.
const SLOT: usize = BREAKPOINTS - 1;

/// A place that calls of a method return to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    /// Number of the method.
    method: usize,
    /// The caller.
    caller: WalkedFrame,
}

/// What was timed of a place.
struct Timed {
    /// Number of the return, under which the program counts.
    entry: u32,
    /// When it was timed last.
    last: Instant,
}

/// See the module.
pub(super) struct Timing {
    places: HashMap<Place, Timed>,
    now: Option<Place>,
    next: Instant,
    rounds: u32,
    /// Calls from each place when one was chosen last.
    before: HashMap<Place, u64>,
}

impl Timing {
    pub(super) fn new(now: Instant) -> Self {
        Self { places: HashMap::new(), now: None, next: now, rounds: 0, before: HashMap::new() }
    }

    /// Whether it is another place to be timed.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        now >= self.next
    }

    /// Whether calls of this method are timed now.
    pub(super) fn is_of(&self, method: usize) -> bool {
        self.now.is_some_and(|place| place.method == method)
    }

    /// Hits of the breakpoint at returns of a method.
    pub(super) fn returns_of(&self, method: usize, program: &Program) -> u64 {
        let places = self.places.iter().filter(|(place, _)| place.method == method);
        places.map(|(_, timed)| program.hits(timed.entry).all()).sum()
    }

    /// How long calls of a method took, by caller, most timed first.
    pub(super) fn of(&self, method: usize, program: &Program, names: &Names) -> Vec<(String, Times)> {
        let places = self.places.iter().filter(|(place, _)| place.method == method);
        let mut times: HashMap<String, Times> = HashMap::new();
        for (place, timed) in places {
            // The same line in code that was compiled anew, or copied.
            let sum = times.entry(names.of_caller(&place.caller).to_owned()).or_default();
            sum.add(program.times(timed.entry));
        }
        let mut times: Vec<_> = times.into_iter().filter(|(_, times)| times.count > 0).collect();
        times.sort_by(|(a, x), (b, y)| y.count.cmp(&x.count).then_with(|| a.cmp(b)));
        times
    }
}

impl Timing {
    /// Callers of a method none of whose calls was timed, with why, most calls first.
    pub(super) fn untimed(
        &self,
        method: usize,
        calls: &[&Calls],
        timed: &[(String, Times)],
        names: &Names,
    ) -> Vec<Untimed> {
        let mut by_caller: HashMap<&str, (u64, &'static str)> = HashMap::new();
        for calls in calls {
            let caller = names.caller(calls);
            if timed.iter().any(|(timed, _)| timed == caller) {
                continue;
            }
            let had_turn = self.places.contains_key(&Place { method, caller: calls.caller.frame });
            let why = match (calls.is_walked, calls.caller.frame) {
                (false, _) => UNKNOWN,
                (true, WalkedFrame::Interpreted { .. }) => INTERPRETED,
                (true, WalkedFrame::Stub { .. } | WalkedFrame::Native { .. }) => NOT_COMPILED,
                (true, WalkedFrame::Compiled { .. }) if had_turn => NONE_RETURNED,
                (true, WalkedFrame::Compiled { .. }) => NO_TURN,
            };
            let sum = by_caller.entry(caller).or_insert((0, why));
            sum.0 += calls.count;
        }
        let untimed = |(caller, (calls, why)): (&str, (u64, &'static str))| Untimed {
            caller: caller.to_owned(),
            calls,
            why,
        };
        let mut untimed: Vec<Untimed> = by_caller.into_iter().map(untimed).collect();
        untimed.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.caller.cmp(&b.caller)));
        untimed
    }
}

const UNKNOWN: &str = "where they return to is not known, as their caller was not found";
const INTERPRETED: &str =
    "they come from the interpreter, all of whose calls return to the same few addresses";
const NOT_COMPILED: &str = "they come from the JVM or native code: only calls from compiled Java are timed";
const NONE_RETURNED: &str =
    "none came back while the breakpoint was set there: they last longer than that, or end by an exception";
const NO_TURN: &str =
    "its time did not come: one caller after the other is timed, a second each; measure for longer";

impl Times {
    /// Adds others.
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        for (from, count) in other.buckets {
            match self.buckets.binary_search_by_key(&from, |(from, _)| *from) {
                Ok(at) => self.buckets[at].1 += count,
                Err(at) => self.buckets.insert(at, (from, count)),
            }
        }
    }
}

impl Watch {
    /// Goes on to the place that is called from and was not timed for longest.
    pub(super) fn time_another(&mut self, now: Instant) {
        let mut calls: HashMap<Place, u64> = HashMap::new();
        for of in self.program.calls() {
            let Some(method) = self.entry_of.get(of.entry as usize).copied() else { continue };
            // What the caller's code calls now: an entry before may be of other callers.
            let is_current = self.followed[method].slot.is_some()
                && self.followed[method].entries.last() == Some(&of.entry);
            if is_current && of.is_walked && matches!(of.caller.frame, WalkedFrame::Compiled { .. }) {
                *calls.entry(Place { method, caller: of.caller.frame }).or_default() += of.count;
            }
        }
        let Some(timing) = &mut self.timing else { return };
        timing.next = now + STAYS;
        let before = std::mem::replace(&mut timing.before, calls.clone());
        let more = |place: &Place, calls: u64| calls - before.get(place).copied().unwrap_or(0).min(calls);
        let called = calls.iter().map(|(place, calls)| (*place, more(place, *calls)));
        let may_be = |place: &Place| timing.places.contains_key(place) || timing.places.len() < MOST_PLACES;
        let called = called.filter(|(place, more)| *more > 0 && may_be(place));
        let last = |place: &Place| timing.places.get(place).map(|timed| timed.last);
        // Never timed comes first, then longest ago; of those that were never timed, the one that
        // calls most.
        let chosen: Option<(Place, u64)> =
            called.min_by_key(|(place, more)| (last(place), std::cmp::Reverse(*more)));
        match (chosen, timing.now) {
            // The only one that is called from: calls that are under way are timed to their end.
            (Some((place, _)), Some(now)) if place == now => {}
            (Some((place, _)), _) => {
                self.end_timing();
                self.time(place, now);
            }
            // None was called from for a second: a long call may be under way.
            (None, _) => {}
        }
    }

    fn time(&mut self, place: Place, now: Instant) {
        let WalkedFrame::Compiled { nmethod, compile_id, pc } = place.caller else { return };
        // Code that was replaced meanwhile is not called from any more, and other code may lie
        // there.
        if !self.entries.is_there(nmethod, compile_id) {
            return;
        }
        let known =
            self.timing.as_ref().and_then(|timing| timing.places.get(&place)).map(|timed| timed.entry);
        let Some(entry) = known.or_else(|| self.new_entry(place.method)) else { return };
        let Some(timing) = &mut self.timing else { return };
        timing.rounds = timing.rounds.wrapping_add(1);
        timing.places.entry(place).or_insert(Timed { entry, last: now }).last = now;
        let round = timing.rounds;
        let armed = Armed { at: pc, entry, round, is_return: true, ..Armed::default() };
        // Taken by somebody else: tried again for the next place.
        if self.program.arm(SLOT, &armed).is_err() {
            return;
        }
        timing.now = Some(place);
        self.write_entry(place.method, pc, round);
    }

    /// Times no more, until the next place.
    pub(super) fn end_timing(&mut self) {
        let Some(place) = self.timing.as_mut().and_then(|timing| timing.now.take()) else { return };
        self.write_entry(place.method, 0, 0);
        self.program.disarm(SLOT);
    }

    /// Says at a method's entry which calls are timed.
    fn write_entry(&self, method: usize, returns_to: u64, round: u32) {
        let followed = &self.followed[method];
        let entry = followed.entries.last().copied();
        let (Some(slot), Some(code), Some(entry)) = (followed.slot, followed.code, entry) else { return };
        let armed = Armed { at: code.entry, state: code.state, returns_to, entry, round, is_return: false };
        // It then times nothing, and counts on.
        let _ = self.program.write(slot, &armed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unwind::samples::Walked;

    #[test]
    fn of_a_caller_without_times_it_is_said_why() {
        let compiled = |nmethod| WalkedFrame::Compiled { nmethod, compile_id: 1, pc: nmethod + 8 };
        let interpreted = WalkedFrame::Interpreted { method: 1, const_method: 2, bci: 3 };
        let calls = |frame, is_walked, count| Calls {
            caller: Walked { frame, exact: false },
            is_walked,
            entry: 0,
            tid: 1,
            comm: String::new(),
            count,
        };
        let mut timing = Timing::new(Instant::now());
        timing
            .places
            .insert(Place { method: 0, caller: compiled(64) }, Timed { entry: 9, last: Instant::now() });
        // None has a name, so that each alone is a caller.
        for (frame, is_walked, why) in [
            (compiled(64), true, NONE_RETURNED),
            (compiled(128), true, NO_TURN),
            (interpreted, true, INTERPRETED),
            (WalkedFrame::Native { pc: 5 }, true, NOT_COMPILED),
            (compiled(64), false, UNKNOWN),
        ] {
            let calls = calls(frame, is_walked, 7);
            let untimed = timing.untimed(0, &[&calls], &[], &Names::default());
            assert_eq!((untimed.len(), untimed[0].calls, untimed[0].why), (1, 7, why));
            let timed = [(untimed[0].caller.clone(), Times::default())];
            assert!(timing.untimed(0, &[&calls], &timed, &Names::default()).is_empty());
        }
    }
}
