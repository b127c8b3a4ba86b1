//! From where a part of an operation's time is called, where that is new: the method at which the
//! change begins, above the one that the time is spent in.

use fathom_recording::{FrameType, Recording, StackFrame, StackId};
use rustc_hash::FxHashMap;

use super::Per;
use super::parts::{BASE, FRAMES, Part};
use crate::own_code::{OwnCode, is_made_at_run_time};
use crate::waits::place::{is_lambda, is_of_jdk};

/// Share of a part's slow time that must have a caller on its stack.
const CALLED_MOSTLY: f64 = 0.8;
/// What a method may take in the baseline of what it takes now, per operation, and be new: one that
/// is called a hundred times as often is not.
const CALLED_BEFORE: f64 = 0.002;

/// Share of a part's slow time that a method must be in that another one calls for it to be said.
const MOSTLY_IN: f64 = 0.5;

/// Time of an operation by the methods of the application on its stacks, slow and in the baseline,
/// of all that grew or not.
pub(super) struct Callers<'a> {
    recording: &'a Recording,
    by_method: FxHashMap<&'a str, (f64, f64)>,
}

impl<'a> Callers<'a> {
    pub(super) fn of<'g>(
        recording: &'a Recording,
        parts: impl Iterator<Item = &'g Part<'a>>,
        per: &Per,
    ) -> Self
    where
        'a: 'g,
    {
        let mut callers = Self { recording, by_method: FxHashMap::default() };
        for (stack, ms) in parts.flat_map(|part| &part.by_stack) {
            let (slow, base) = an_operation(ms, per);
            for name in methods(recording, *stack) {
                let sum = callers.by_method.entry(name).or_default();
                *sum = (sum.0 + slow, sum.1 + base);
            }
        }
        callers
    }

    fn is_new(&self, method: &str) -> bool {
        self.by_method.get(method).is_some_and(|(slow, base)| *base <= CALLED_BEFORE * *slow)
    }

    /// The nearest method from which most of a part's time was called: a new one, else whichever it
    /// is, for the method that the time is spent in may be one through which all calls go.
    pub(super) fn of_parts(&self, parts: &[&Part<'a>], per: &Per, place: &str) -> Option<&'a str> {
        self.new_one(parts, per, place).or_else(|| self.nearest(parts, per, |name| name != place))
    }

    /// The nearest method of the application from which most of a part's slow time was called, and
    /// which took hardly any time before. `None` where the part's own method is new, or it is
    /// called from where it always was.
    pub(super) fn new_one(&self, parts: &[&Part<'a>], per: &Per, place: &str) -> Option<&'a str> {
        if self.is_new(place) {
            return None;
        }
        self.nearest(parts, per, |name| self.is_new(name))
    }

    /// Where a part's own method is new: the farthest method of the application's own code that is,
    /// too. The change begins there.
    pub(super) fn where_it_begins(
        &self,
        parts: &[&Part<'a>],
        per: &Per,
        place: &str,
        main: &str,
    ) -> Option<&'a str> {
        let code = OwnCode::of(main);
        let begins = |name: &str| self.is_new(name) && code.has(name) && !name.contains("lambda$");
        let farthest = self.is_new(place).then(|| self.mostly_on(parts, per, begins).pop()).flatten();
        farthest.filter(|name| *name != place)
    }

    /// The methods by which the application's own code comes to a place in the code of others: its
    /// own nearest one last. `main`: its main class, or what else names the JVM. Empty where the
    /// place is its own, or most of the time did not come from one method of its own.
    pub(super) fn way_from_own(
        &self,
        parts: &[&Part<'a>],
        per: &Per,
        place: &str,
        main: &str,
    ) -> Vec<&'a str> {
        let code = OwnCode::of(main);
        if code.has(place) {
            return Vec::new();
        }
        let mut way = self.mostly_on(parts, per, |_| true);
        let own = way.iter().position(|name| code.has(name));
        way.truncate(own.map_or(0, |own| own + 1));
        way.retain(|name| *name != place);
        way
    }

    /// The nearest method that is on the stacks of most of some parts' slow time and that may be
    /// it.
    fn nearest(&self, parts: &[&Part<'a>], per: &Per, may: impl Fn(&str) -> bool) -> Option<&'a str> {
        self.mostly_on(parts, per, may).into_iter().next()
    }

    /// The methods that are on the stacks of most of some parts' slow time and that may be meant,
    /// the nearest first.
    fn mostly_on(&self, parts: &[&Part<'a>], per: &Per, may: impl Fn(&str) -> bool) -> Vec<&'a str> {
        // How much of the time each was called for, and how far away it is at most.
        let mut calls: FxHashMap<&'a str, (f64, usize)> = FxHashMap::default();
        let mut all = 0.0;
        for (stack, ms) in parts.iter().flat_map(|part| &part.by_stack) {
            let (slow, _) = an_operation(ms, per);
            all += slow;
            for (away, name) in methods(self.recording, *stack).into_iter().enumerate() {
                let sum = calls.entry(name).or_default();
                *sum = (sum.0 + slow, sum.1.max(away));
            }
        }
        let mostly = |(name, (slow, _)): &(&str, (f64, usize))| *slow >= CALLED_MOSTLY * all && may(name);
        let mut found: Vec<_> = calls.into_iter().filter(mostly).collect();
        found.sort_unstable_by_key(|(name, (_, away))| (*away, *name));
        found.into_iter().map(|(name, _)| name).collect()
    }
}

/// Milliseconds an operation in the slow windows and in the baseline.
pub(super) fn an_operation(ms: &[f64; FRAMES], per: &Per) -> (f64, f64) {
    let rate = |ms: f64, by: f64| ms / by.max(f64::MIN_POSITIVE);
    (rate(ms[0] + ms[1], per.by[0] + per.by[1]), rate(ms[BASE], per.by[BASE]))
}

/// The application's methods of a stack, each once, the innermost first. The JVM makes up the names
/// of lambdas' classes anew in each run.
pub(super) fn methods(recording: &Recording, stack: StackId) -> Vec<&str> {
    let mut methods: Vec<&str> = Vec::new();
    for frame in recording.frames_of(stack) {
        let name = frame.name();
        if frame.is_java() && !is_of_jdk(name) && !is_lambda(name) && !methods.contains(&name) {
            methods.push(name);
        }
    }
    methods
}

/// The method of the JDK that a method of the application calls for most of its part's slow time,
/// and for which share of it: what a method does is more often in what it calls than in its name.
/// Behind it the one farthest below it that still has most of that time, if it is of another class:
/// a logger is slow for what its handler does. Where compiled code was interrupted between two of
/// its calls, the inlined method that the JVM attributes that to is a neighbour of the right one,
/// and does not count.
pub(super) fn mostly_in<'a>(recording: &'a Recording, part: &Part<'_>, place: &str) -> Vec<(&'a str, f64)> {
    let mut calls: FxHashMap<&'a str, f64> = FxHashMap::default();
    // By method, with how far below the place it is, weighted by its time.
    let mut below: FxHashMap<&'a str, (f64, f64)> = FxHashMap::default();
    let mut all = 0.0;
    for (stack, ms) in &part.by_stack {
        let slow = ms[0] + ms[1];
        all += slow;
        let frames = || recording.frames_of(*stack).take_while(|frame| frame.name() != place);
        let Some(entry) = frames().map(|frame| frame.name()).filter(|name| is_of_jdk(name)).last() else {
            continue;
        };
        *calls.entry(entry).or_default() += slow;
        // Stubs that copy arrays are called without a record of where.
        let unsure = |frame: &StackFrame| matches!(frame.frame_type(), FrameType::Inlined | FrameType::Stub);
        let surely = frames().skip_while(unsure);
        let surely: Vec<&str> = surely.filter(StackFrame::is_java).map(|frame| frame.name()).collect();
        let mut passed: Vec<&str> = Vec::new();
        for (away, name) in surely.iter().rev().enumerate() {
            if !passed.contains(name) && !is_made_at_run_time(name) {
                passed.push(name);
                let sum = below.entry(name).or_default();
                *sum = (sum.0 + slow, sum.1 + slow * away as f64);
            }
        }
    }
    let is_most = |ms: f64| all > 0.0 && ms >= MOSTLY_IN * all;
    let most = calls.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(a.0)));
    let Some((entry, ms)) = most.filter(|(_, ms)| is_most(*ms)) else { return Vec::new() };
    let class = |name: &'a str| name.rsplit_once('.').map_or("", |(class, _)| class);
    let others = below.into_iter().filter(|(name, (ms, _))| is_most(*ms) && class(name) != class(entry));
    let away = |(name, (ms, away)): &(&'a str, (f64, f64))| (away / ms, *name);
    let farthest = others.max_by(|a, b| away(a).0.total_cmp(&away(b).0).then(away(b).1.cmp(away(a).1)));
    let farthest = farthest.map(|(name, (ms, _))| (name, ms / all));
    [Some((entry, ms / all)), farthest].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::Built;
    use crate::growth::Each;

    #[test]
    fn what_a_method_does_is_named_by_what_it_calls_of_the_jdk_for_most_of_its_time() {
        let mut built = Built::jvm("25", "G1", 10.0);
        let own = ["shop.Cart.sum", "shop.Cart.add", "java.lang.Thread.run"];
        let mut part = |own_ms: f64, hashes_ms: f64| {
            let mut part = Part::default();
            let mut ran = |called: &[&str], slow_ms: f64| {
                let frames: Vec<_> = called.iter().chain(&own).map(|name| (*name, FrameType::C2)).collect();
                part.by_stack.insert(built.stack(&frames).unwrap(), [slow_ms, 0.0, 0.0]);
            };
            ran(&[], own_ms);
            ran(&["java.util.HashMap.hash", "java.util.HashMap.get"], 15.0);
            ran(&["java.util.HashMap.putVal"], 5.0);
            ran(&["java.lang.Long.hashCode", "java.util.HashMap.hash", "java.util.HashMap.get"], hashes_ms);
            part
        };
        let (mostly, hardly, hashes) = (part(10.0, 0.0), part(100.0, 0.0), part(10.0, 90.0));
        let recording = built.sealed();
        assert_eq!(mostly_in(&recording, &mostly, own[0]), [("java.util.HashMap.get", 0.5)]);
        assert_eq!(mostly_in(&recording, &hardly, own[0]), []);
        let farther = [("java.util.HashMap.get", 0.875), ("java.lang.Long.hashCode", 0.75)];
        assert_eq!(mostly_in(&recording, &hashes, own[0]), farther);
    }

    #[test]
    fn time_in_the_code_of_a_library_has_its_way_from_the_applications_own() {
        let mut built = Built::jvm("25", "G1", 10.0);
        let mut part = Part::default();
        let place = "com.google.Uninterruptibles.sleep";
        for client in ["shop.push.Sender.first", "shop.push.Sender.second"] {
            let frames = [place, "com.google.RateLimiter.acquire", "shop.push.Sender.send", client];
            let frames = frames.map(|name| (name, FrameType::C2));
            part.by_stack.insert(built.stack(&frames).unwrap(), [10.0, 0.0, 0.0]);
        }
        let recording = built.sealed();
        let per = Per { each: Each::Operation, by: [100.0; FRAMES] };
        let callers = Callers::of(&recording, [&part].into_iter(), &per);
        let way = |place: &str, main: &str| callers.way_from_own(&[&part], &per, place, main);
        let expected = ["com.google.RateLimiter.acquire", "shop.push.Sender.send"];
        assert_eq!(way(place, "shop.push.Main"), expected);
        assert_eq!(way("shop.push.Sender.send", "shop.push.Main"), [""; 0], "its own");
        for launcher in ["org.springframework.boot.loader.launch.JarLauncher", "shop.jar"] {
            assert_eq!(way(place, launcher), expected, "{launcher}");
        }
        assert_eq!(way(place, "org.other.Main"), [""; 0], "none of its own is on the way");
    }
}
