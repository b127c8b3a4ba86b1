//! Waits for one resource that is spread over several things of a kind: files of a log that are all
//! written to one disk, connections to one service, a pipe to each of many child processes. None of
//! them grew much by itself, and together they are the cause.
//!
//! ```text
//! waiting for the disk at a.log in Log.append  ─┐
//! waiting for the disk at b.log in Log.append  ─┼─ waiting for the disk in Log.append ─┐
//! waiting for the disk in Index.flush          ─────────────────────────────────────────┴─ waiting for the disk
//! ```

use super::parts::Cause;
use super::{FRAMES, Grown};
use crate::attribution::Key;
use crate::waits::Category;

/// What of a group's growth its largest part must make up to stand for itself.
const LARGEST: f64 = 0.6;
/// Parts that are named.
const NAMED: usize = 3;
const WORTH_NAMING: f64 = 0.05;

/// Joins waits that differ in what they wait for by name, then waits for the disk or for other
/// processes that differ in the method, where none of them is most of it.
pub(super) fn joined<'a>(grown: Vec<Grown<'a>>) -> Vec<Grown<'a>> {
    let by_name = join(grown, |cause| Cause { key: Key { target: "", ..cause.key }, ..*cause });
    join(by_name, |cause| match cause.key.category {
        Category::Disk | Category::Child => {
            Cause { key: Key { target: "", place: "", ..cause.key }, ..*cause }
        }
        _ => *cause,
    })
}

fn join<'a>(grown: Vec<Grown<'a>>, group_of: impl Fn(&Cause<'a>) -> Cause<'a>) -> Vec<Grown<'a>> {
    let mut groups: std::collections::BTreeMap<Cause<'a>, Vec<Grown<'a>>> = std::collections::BTreeMap::new();
    for part in grown {
        groups.entry(group_of(&part.cause)).or_default().push(part);
    }
    groups.into_iter().flat_map(|(cause, parts)| of_group(cause, parts)).collect()
}

fn of_group<'a>(cause: Cause<'a>, mut parts: Vec<Grown<'a>>) -> Vec<Grown<'a>> {
    parts.sort_by(|a, b| b.by().total_cmp(&a.by()).then_with(|| a.cause.cmp(&b.cause)));
    let all: f64 = parts.iter().map(Grown::by).sum();
    let is_resource = matches!(cause.key.category, Category::Disk | Category::Network | Category::Child);
    // Short waits whose stacks were not taken have no name: what they are of the others say.
    let is_named = |part: &Grown<'a>| !part.key.place.is_empty() || !part.key.target.is_empty();
    let stands = |part: &Grown<'a>| part.by() >= LARGEST * all && is_named(part);
    if !is_resource || parts.len() < 2 || all <= 0.0 || stands(&parts[0]) {
        return parts;
    }
    let mut whole = parts.remove(0);
    let name = |part: &Grown<'a>| match (part.key.place != cause.key.place, part.key.target) {
        (true, _) => part.key.place.to_owned(),
        (false, target) => target.to_owned(),
    };
    let mut several = vec![(name(&whole), whole.by() / all)];
    for part in parts {
        several.push((name(&part), part.by() / all));
        whole.slow += part.slow;
        whole.base += part.base;
        whole.credit += part.credit;
        whole.runs_more |= part.runs_more;
        whole.part.merge(part.part);
    }
    several.retain(|(name, share)| !name.is_empty() && *share >= WORTH_NAMING);
    several.truncate(NAMED);
    (whole.cause, whole.key, whole.several) = (cause, cause.key, several);
    vec![whole]
}

/// Whether a whole takes so many times as long in each half of the slow time as in the baseline;
/// see [`super::TIMES`].
pub(super) fn holds(ms: &[f64; FRAMES], by: &[f64; FRAMES], lengths_ms: &[f64; FRAMES]) -> bool {
    let at = |frame: usize| ms[frame] / by[frame].max(f64::MIN_POSITIVE);
    let (less, more) = (at(0).min(at(1)), at(0).max(at(1)));
    // Both halves have a fair part of it, for each operation or of the time (in one half hardly any
    // may be done): a single long wait in one of them does not hold.
    let of_time = |frame: usize| ms[frame] / lengths_ms[frame].max(f64::MIN_POSITIVE);
    let is_fair =
        less >= super::FAIR * more || of_time(0).min(of_time(1)) >= super::FAIR * of_time(0).max(of_time(1));
    less >= super::TIMES * at(super::BASE) && less > 0.0 && is_fair
}
