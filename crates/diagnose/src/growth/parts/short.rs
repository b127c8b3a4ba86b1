//! Short waits, of which only sums are known and not at which peer or file: where threads wait at
//! one of them in the same place, they are the same waits. Else one that became long enough to be
//! recorded one by one would look new.

use rustc_hash::FxHashMap;

use super::{ByCause, Cause, FRAMES};
use crate::attribution::Key;

/// What one peer or file must make up of all that are named in a place for short waits there to be
/// its.
const MOSTLY: f64 = 0.7;

/// The same in its place, at a peer or file that is not known.
fn unnamed<'a>(cause: &Cause<'a>) -> Cause<'a> {
    Cause { key: Key { target: "", ..cause.key }, ..*cause }
}

/// Gives short waits to the peer or file at which threads wait in the same place.
pub(super) fn named(by_cause: &mut ByCause<'_>) {
    let total = |ms: &[f64; FRAMES]| ms.iter().sum::<f64>();
    let is_named = |cause: &Cause<'_>| !cause.key.target.is_empty() && !cause.key.place.is_empty();
    let mut of_place: FxHashMap<Cause<'_>, (f64, f64, Cause<'_>)> = FxHashMap::default();
    let mut named: Vec<_> = by_cause.iter().filter(|(cause, _)| is_named(cause)).collect();
    named.sort_by_key(|(cause, _)| **cause);
    for (cause, part) in named {
        let (all, most, largest) = of_place.entry(unnamed(cause)).or_insert((0.0, 0.0, *cause));
        let ms = total(&part.ms);
        *all += ms;
        if ms > *most {
            (*most, *largest) = (ms, *cause);
        }
    }
    for (place, (all, most, largest)) in of_place {
        if most < MOSTLY * all {
            continue;
        }
        if let Some(short) = by_cause.remove(&place) {
            by_cause.entry(largest).or_default().merge(short);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Part;
    use super::*;
    use crate::waits::Category;

    #[test]
    fn short_waits_are_for_the_one_peer_of_their_place_and_for_none_of_several() {
        let cause = |target| Cause::itself(Key { category: Category::Network, place: "Shop.call", target });
        let of = |named: &[(&'static str, f64)]| {
            let mut by_cause = ByCause::default();
            by_cause.insert(cause(""), Part { ms: [1.0, 1.0, 500.0], ..Part::default() });
            for (target, ms) in named {
                by_cause.insert(cause(target), Part { ms: [*ms, *ms, 0.0], ..Part::default() });
            }
            super::named(&mut by_cause);
            by_cause.get(&cause("a:1")).map(|part| part.ms)
        };
        assert_eq!(of(&[("a:1", 100.0), ("b:1", 1.0)]), Some([101.0, 101.0, 500.0]));
        assert_eq!(of(&[("a:1", 100.0), ("b:1", 90.0)]), Some([100.0, 100.0, 0.0]));
    }
}
