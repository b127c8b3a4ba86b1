//! Groups that cannot be distinguished, as letters: two commands that share one do not differ
//! beyond noise (the compact letter display; Piepho, Journal of Computational and Graphical
//! Statistics 2004, "insert and absorb").
//!
//! That they share a letter does not make them equal: it says that these runs do not distinguish
//! them.

/// The letters of each command. `differ`: pairs that are distinguished; `means`: the groups are
/// lettered from the smallest on.
pub fn letters(means: &[f64], differ: &[(usize, usize)]) -> Vec<String> {
    let n = means.len();
    let mut groups: Vec<Vec<bool>> = vec![vec![true; n]];
    for (a, b) in differ.iter().copied().filter(|(a, b)| a.max(b) < &n) {
        let (both, mut rest): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group[a] && group[b]);
        for group in both {
            for left_out in [a, b] {
                let mut part = group.clone();
                part[left_out] = false;
                rest.push(part);
            }
        }
        groups = absorbed(rest);
    }
    let smallest = |group: &Vec<bool>| {
        let members = means.iter().zip(group).filter(|(_, within)| **within);
        members.map(|(mean, _)| *mean).fold(f64::INFINITY, f64::min)
    };
    groups.sort_by(|x, y| smallest(x).total_cmp(&smallest(y)).then_with(|| y.cmp(x)));
    let of = |i: usize| {
        let within = groups.iter().enumerate().filter(|(_, group)| group[i]);
        within.map(|(g, _)| crate::command::letter(g).to_lowercase()).collect::<String>()
    };
    (0..n).map(of).collect()
}

/// Groups without those that lie within another.
fn absorbed(groups: Vec<Vec<bool>>) -> Vec<Vec<bool>> {
    let within = |a: &[bool], b: &[bool]| a.iter().zip(b).all(|(x, y)| !x || *y);
    let mut kept: Vec<Vec<bool>> = Vec::new();
    for group in groups {
        if kept.iter().any(|other| within(&group, other)) {
            continue;
        }
        kept.retain(|other| !within(other, &group));
        kept.push(group);
    }
    kept
}

/// Which of many tests may be claimed at a chance of error together (Holm, 1979).
pub fn holm(p_values: &[f64], alpha: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let passes = |(rank, i): &(usize, usize)| p_values[*i] <= alpha / (p_values.len() - rank) as f64;
    let mut claimed = vec![false; p_values.len()];
    order.into_iter().enumerate().take_while(passes).for_each(|(_, i)| claimed[i] = true);
    claimed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn commands_that_cannot_be_distinguished_share_a_letter() {
        assert_eq!(letters(&[1.0, 1.1, 2.0], &[(0, 2), (1, 2)]), ["a", "a", "b"]);
        assert_eq!(letters(&[1.0, 1.5, 2.0], &[(0, 2)]), ["a", "ab", "b"]);
        assert_eq!(letters(&[3.0, 1.0], &[]), ["a", "a"]);
        assert_eq!(letters(&[], &[]), Vec::<String>::new());
    }

    /// In order 0.005, 0.01, 0.03, 0.04; the limits are 0.05 divided by 4, 3, 2, 1: the third is
    /// above its own.
    #[test]
    fn the_smallest_p_values_are_claimed_as_holm_has_it() {
        assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005], 0.05), [true, false, false, true]);
        assert_eq!(holm(&[0.02, 0.02], 0.05), [true, true]);
        assert_eq!(holm(&[], 0.05), Vec::<bool>::new());
    }

    proptest! {
        #[test]
        fn two_share_a_letter_exactly_when_they_are_not_distinct(
            n in 2_usize..8, chosen in prop::collection::vec(any::<bool>(), 28)
        ) {
            let pairs: Vec<(usize, usize)> = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect();
            let differ: Vec<_> = pairs.iter().zip(&chosen).filter(|(_, c)| **c).map(|(p, _)| *p).collect();
            let means: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let letters = letters(&means, &differ);
            for (a, b) in pairs {
                let shared = letters[a].chars().any(|c| letters[b].contains(c));
                prop_assert_eq!(shared, !differ.contains(&(a, b)), "{:?}", letters);
            }
        }
    }
}
