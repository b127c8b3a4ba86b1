//! The callers' tree: first what ran, below it who called it.

use rustc_hash::FxHashMap;

use super::compare::{Comparison, Errors};
use super::tree::{CallTree, NodeType};

/// Callers of what took less than this share are left out: they would be narrower than a tenth of a
/// pixel, and a tree of a million nodes would become one of fifty million.
const SMALLEST_SHARE: f64 = 1.0 / 20_000.0;

/// Samples that share their last frames: where each ends in the given tree, and how far up its
/// callers it is followed.
struct Group {
    node: u32,
    ends: Ends,
}

/// Where samples end, and the caller that has been reached from there.
type Ends = Vec<(u32, u32)>;

/// A tree, and the comparison with it, from the other end. A node's total is what its leaf took on
/// the way through it. Standard errors add up as those of independent samples.
pub fn inverted(tree: &CallTree, comparison: Option<&Comparison>) -> (CallTree, Option<Comparison>) {
    let base = |i: u32| comparison.map_or(0, |c| c.base_self.get(i as usize).copied().unwrap_or(0));
    let scale = comparison.map_or(0.0, |c| c.scale);
    let weigh = |i: u32| tree.self_weight[i as usize] as f64 + base(i) as f64 * scale;
    let mut out =
        Out { tree: CallTree { frames: tree.frames.clone(), ..CallTree::default() }, ..Out::default() };
    let ends: Ends = (1..tree.len() as u32).filter(|i| weigh(*i) > 0.0).map(|i| (i, i)).collect();
    let whole: f64 = ends.iter().map(|(end, _)| weigh(*end)).sum();
    if tree.parent.is_empty() {
        return (out.tree, None);
    }
    out.push(0, tree.frame[0], NodeType::Group, &ends, tree, comparison);
    let mut level = vec![Group { node: 0, ends }];
    while !level.is_empty() {
        let mut next = Vec::new();
        for group in level {
            let mut places: FxHashMap<u32, usize> = FxHashMap::default();
            let mut parts: Vec<(u32, NodeType, Ends)> = Vec::new();
            for (end, at) in group.ends.into_iter().filter(|(_, at)| *at != 0) {
                let frame = tree.frame[at as usize];
                let place = *places.entry(frame).or_insert_with(|| {
                    parts.push((frame, tree.node_type[at as usize], Vec::new()));
                    parts.len() - 1
                });
                parts[place].2.push((end, at));
            }
            for (frame, node_type, ends) in parts {
                let node = out.push(group.node, frame, node_type, &ends, tree, comparison);
                if ends.iter().map(|(end, _)| weigh(*end)).sum::<f64>() >= whole * SMALLEST_SHARE {
                    let up = |(end, at): (u32, u32)| (end, tree.parent[at as usize]);
                    next.push(Group { node, ends: ends.into_iter().map(up).collect() });
                }
            }
        }
        level = next;
    }
    out.finish(comparison)
}

#[derive(Default)]
struct Out {
    tree: CallTree,
    base_total: Vec<i64>,
    variance: Vec<f64>,
}

impl Out {
    fn push(
        &mut self,
        parent: u32,
        frame: u32,
        node_type: NodeType,
        ends: &[(u32, u32)],
        from: &CallTree,
        comparison: Option<&Comparison>,
    ) -> u32 {
        let own = |end: u32| from.self_weight[end as usize];
        let tree = &mut self.tree;
        tree.parent.push(parent);
        tree.frame.push(frame);
        tree.node_type.push(node_type);
        tree.java.push([0; 4]);
        tree.total_weight.push(ends.iter().fold(0, |sum: i64, (end, _)| sum.saturating_add(own(*end))));
        if let Some(c) = comparison {
            let base =
                ends.iter().fold(0, |sum: i64, (end, _)| sum.saturating_add(c.base_self[*end as usize]));
            self.base_total.push(base);
            let errors = ends.iter().map(|(end, _)| c.nodes.of_self[*end as usize]).filter(|e| e.is_finite());
            self.variance.push(errors.map(|e| e * e).sum());
        }
        tree.parent.len() as u32 - 1
    }

    fn finish(mut self, comparison: Option<&Comparison>) -> (CallTree, Option<Comparison>) {
        self.tree.self_weight = ends(&self.tree.parent, &self.tree.total_weight);
        let turned = comparison.map(|c| {
            let of_total = self.variance.iter().map(|v| if *v > 0.0 { v.sqrt() } else { f64::NAN }).collect();
            Comparison {
                base_self: ends(&self.tree.parent, &self.base_total),
                base_total: self.base_total,
                nodes: Errors {
                    of_self: vec![f64::NAN; self.tree.parent.len()],
                    of_total,
                    self_limit: None,
                    total_limit: c.nodes.self_limit,
                },
                ..c.clone()
            }
        });
        (self.tree, turned)
    }
}

/// What of each total does not go on to a child.
fn ends(parent: &[u32], total: &[i64]) -> Vec<i64> {
    let mut own = total.to_vec();
    for i in 1..parent.len() {
        let of = &mut own[parent[i] as usize];
        *of = of.saturating_sub(total[i]).max(0);
    }
    own
}
