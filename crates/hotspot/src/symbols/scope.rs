//! Scopes of compiled code: frames that the compiler described, and what several have in common.

/// One frame of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    /// `Method*`.
    pub(super) method: u64,
    /// Bytecode index; -1 at the entry.
    pub(super) bci: i32,
}

/// The frames that `enough` or more of some scopes have in common, innermost first; each scope is
/// innermost first.
pub(super) fn in_common(scopes: &[Vec<Scope>], enough: usize) -> Vec<Scope> {
    let mut left: Vec<&[Scope]> = scopes.iter().map(Vec::as_slice).collect();
    let mut frames: Vec<Scope> = Vec::new();
    loop {
        let depth = frames.len();
        let at = |scope: &[Scope], depth: usize| scope.len().checked_sub(depth + 1).map(|i| scope[i]);
        // What a frame is: its method, and where in its caller it is inlined.
        let frame = |scope: &[Scope]| {
            let caller = depth.checked_sub(1).and_then(|above| at(scope, above)).map(|caller| caller.bci);
            at(scope, depth).map(|scope| (scope.method, caller))
        };
        let Some((method, caller)) = most_common(left.iter().filter_map(|scope| frame(scope))) else { break };
        let agree = |scope: &&[Scope]| frame(scope) == Some((method, caller));
        if left.iter().filter(|scope| agree(scope)).count() < enough.max(1) {
            break;
        }
        left.retain(agree);
        if let (Some(above), Some(bci)) = (frames.last_mut(), caller) {
            above.bci = bci;
        }
        let bci = most_common(left.iter().filter_map(|scope| at(scope, depth)).map(|scope| scope.bci));
        frames.push(Scope { method, bci: bci.unwrap_or(-1) });
    }
    frames.reverse();
    frames
}

/// The most frequent value, the smallest of those that are equally frequent.
fn most_common<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    let runs = values.chunk_by(|a, b| a == b);
    runs.rev().max_by_key(|run| run.len()).map(|run| run[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(frames: &[(u64, i32)]) -> Vec<Scope> {
        frames.iter().map(|(method, bci)| Scope { method: *method, bci: *bci }).collect()
    }

    #[test]
    fn frames_are_those_that_enough_scopes_have() {
        let check = scope(&[(2, 7), (1, 10)]);
        let other_check = scope(&[(2, 9), (1, 10)]);
        let follows = scope(&[(3, 0), (1, 20)]);
        let of = |scopes: &[&Vec<Scope>], enough| {
            in_common(&scopes.iter().copied().cloned().collect::<Vec<_>>(), enough)
        };
        assert_eq!(of(&[&check, &other_check, &follows], 2), check);
        assert_eq!(of(&[&check, &follows], 2), scope(&[(1, 10)]));
        assert_eq!(of(&[&follows], 1), follows);
        assert_eq!(of(&[], 0), []);
    }
}
