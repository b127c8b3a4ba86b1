//! In which order commands are run, and after how many runs somebody looks.
//!
//! **Order.** A block is one run of each command. Blocks come in pairs: the first in a random
//! order, the second in the reverse of it (A B, B A). A machine that gets slower at a steady pace
//! then takes the same from each command, and what it does in a rhythm of its own meets each at
//! random.
//!
//! **Looks.** Who looks after every run and stops when the difference is clear finds one where
//! there is none, far more often than 5 times in 100. So the numbers of runs after which a verdict
//! may be given are fixed beforehand, and the chance of error is divided among them: half for the
//! last look, the other half in equal parts for those before. By Bonferroni's inequality the chance
//! of any wrong claim is at most their sum, whatever the distribution, and however much the looks
//! have in common.

use crate::random::Random;

/// One look: after so many blocks, with so much of the chance of error.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Look {
    /// Blocks that are done.
    pub blocks: usize,
    /// The chance of a wrong claim at this look.
    pub alpha: f64,
}

/// The order of the commands in each block.
pub fn order(commands: usize, blocks: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut random = Random::new(seed);
    let mut order: Vec<Vec<usize>> = Vec::with_capacity(blocks);
    while order.len() < blocks {
        let mut block: Vec<usize> = (0..commands).collect();
        random.shuffle(&mut block);
        let reverse = block.iter().rev().copied().collect();
        order.push(block);
        order.push(reverse);
    }
    order.truncate(blocks);
    order
}

/// The looks at `fewest` blocks, at the double of it and so on, and at `most`.
pub fn looks(fewest: usize, most: usize, alpha: f64) -> Vec<Look> {
    let mut at: Vec<usize> =
        std::iter::successors(Some(fewest.max(1)), |n| n.checked_mul(2)).take_while(|n| *n < most).collect();
    let early = at.len() as f64;
    at.push(most);
    let share = |blocks: usize| match early {
        0.0 => alpha,
        _ if blocks == most => alpha / 2.0,
        _ => alpha / 2.0 / early,
    };
    at.into_iter().map(|blocks| Look { blocks, alpha: share(blocks) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_of_blocks_is_balanced() {
        let order = order(3, 10, 7);
        assert_eq!(order.len(), 10);
        for pair in order.chunks(2) {
            let reverse: Vec<usize> = pair[0].iter().rev().copied().collect();
            assert_eq!(pair[1], reverse);
        }
        let firsts: std::collections::BTreeSet<usize> = order.iter().map(|b| b[0]).collect();
        assert!(firsts.len() > 1, "{order:?}");
    }

    #[test]
    fn the_chances_of_error_of_all_looks_add_up_to_the_whole() {
        assert_eq!(looks(10, 10, 0.05), [Look { blocks: 10, alpha: 0.05 }]);
        let several = looks(6, 30, 0.05);
        assert_eq!(several.iter().map(|l| l.blocks).collect::<Vec<_>>(), [6, 12, 24, 30]);
        assert!((several.iter().map(|l| l.alpha).sum::<f64>() - 0.05).abs() < 1e-12);
        assert_eq!(several[3].alpha, 0.025);
        assert_eq!(looks(0, 2, 0.05).len(), 2);
    }
}
