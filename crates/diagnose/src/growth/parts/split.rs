//! The time of a wait, split by what threads waited for in the end.

use fathom_recording::ThreadId;
use rustc_hash::FxHashMap;

use super::{BASE, Cause, FRAMES, Part};
use crate::attribution::Key;

/// The time of one thread under one key, split by what it is attributed to: as much in all as the
/// key has.
pub(super) fn attributed<'a>(
    key: Key<'a>,
    mut part: Part<'a>,
    thread: ThreadId,
) -> Vec<(Cause<'a>, Part<'a>)> {
    let mut sums = [0_i64; FRAMES];
    let length = |from: i64, to: i64| to.saturating_sub(from).max(0);
    let followed = std::mem::take(&mut part.followed);
    followed.iter().for_each(|(frame, (_, from, to))| sums[*frame] += length(*from, *to));
    if followed.is_empty() {
        return vec![(Cause::itself(key), part)];
    }
    let is_new = part.is_new;
    let mut causes: FxHashMap<Cause<'a>, Part<'a>> = FxHashMap::default();
    for (frame, (path, from, to)) in followed {
        let ns = length(from, to);
        let ms = part.ms[frame] * ns as f64 / sums[frame].max(1) as f64;
        let of_cause = causes.entry(Cause::of(&path, key)).or_default();
        of_cause.is_new = is_new;
        of_cause.ms[frame] += ms;
        of_cause.ways.entry(path).or_default()[frame] += ms;
        if frame != BASE {
            of_cause.threads.insert(thread);
            of_cause.intervals.push((from, to));
            if of_cause.longest.is_none_or(|(best, ..)| ns > best) {
                of_cause.longest = Some((ns, thread, from, to));
            }
        }
    }
    // The stacks are those of the wait: they do not show what it is attributed to elsewhere.
    let part_ms = part.ms;
    if let Some(own) = causes.get_mut(&Cause::itself(key)) {
        let of = |frame: usize| if part_ms[frame] > 0.0 { own.ms[frame] / part_ms[frame] } else { 0.0 };
        let shares: [f64; FRAMES] = std::array::from_fn(of);
        let stacks = part.by_stack.iter();
        own.by_stack = stacks.map(|(s, ms)| (*s, std::array::from_fn(|f| ms[f] * shares[f]))).collect();
    }
    // Waits of the baseline are often too short to be followed one by one. They are taken to have
    // waited for the same as those of the slow time: that what they wait for took no time then is
    // not known.
    let slow = |ms: &[f64; FRAMES]| ms[0] + ms[1];
    let slow_ms: f64 = causes.values().map(|part| slow(&part.ms)).sum();
    if sums[BASE] == 0 && part_ms[BASE] > 0.0 && slow_ms > 0.0 {
        for of_cause in causes.values_mut() {
            let share = part_ms[BASE] / slow_ms;
            of_cause.ms[BASE] += slow(&of_cause.ms) * share;
            of_cause.ways.values_mut().for_each(|ms| ms[BASE] += slow(ms) * share);
        }
    }
    // A slow window in which none of its waits was followed keeps its time as it is.
    let kept = |frame: &usize| *frame != BASE || slow_ms <= 0.0;
    let rest = (0..FRAMES).filter(|frame| sums[*frame] == 0 && part_ms[*frame] > 0.0).filter(kept);
    for frame in rest {
        causes.entry(Cause::itself(key)).or_default().ms[frame] += part_ms[frame];
    }
    causes.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::Step;
    use crate::waits::Category;

    /// Waits of 600 ms in a slow window, two thirds of them for the network, and a baseline of 30
    /// ms whose waits were too short to be followed one by one.
    #[test]
    fn waits_of_the_base_that_were_too_short_to_follow_are_not_taken_for_another_cause() {
        let key = |category, place| Key { category, place, target: "" };
        let wait = key(Category::Waiting, "Shop.join");
        let path = |category, place| [Step { key: key(category, place), other: None }].into();
        let mut part = Part { ms: [600.0, 0.0, 30.0], ..Part::default() };
        part.followed.push((0, (path(Category::Network, "Shop.price"), 0, 400)));
        part.followed.push((0, (path(Category::Sleep, "Shop.later"), 400, 600)));
        let split = attributed(wait, part, ThreadId(0));
        let ms = |category| {
            let of = split.iter().find(|(cause, _)| cause.key.category == category);
            of.map(|(_, part)| part.ms.map(f64::round))
        };
        assert_eq!(ms(Category::Network), Some([400.0, 0.0, 20.0]));
        assert_eq!(ms(Category::Sleep), Some([200.0, 0.0, 10.0]));
        assert_eq!(ms(Category::Waiting), None, "nothing of the baseline is left to another cause");
    }
}
