//! The same weights frame by frame: what each took itself, and with all that it called.

use super::tree::{CallTree, NodeType};

/// A frame with its weights over the whole tree.
#[derive(Clone, Debug, PartialEq)]
pub struct TopFrame {
    /// Index into the tree's frames.
    pub frame: u32,
    /// The type that took most of its total.
    pub node_type: NodeType,
    /// Weight of samples that end in it.
    pub self_weight: i64,
    /// Weight of samples that it is anywhere in; a recursion counts once.
    pub total_weight: i64,
}

/// Every frame of the tree, what took most itself first; groups are no frames.
pub fn top(tree: &CallTree) -> Vec<TopFrame> {
    let recursive = tree.recursive();
    let mut heaviest = vec![-1_i64; tree.frames.len()];
    let mut frames: Vec<TopFrame> = (0..tree.frames.len() as u32)
        .map(|frame| TopFrame { frame, node_type: NodeType::Group, self_weight: 0, total_weight: 0 })
        .collect();
    for i in 1..tree.len() {
        let frame = &mut frames[tree.frame[i] as usize];
        let total = tree.total_weight[i];
        frame.self_weight = frame.self_weight.saturating_add(tree.self_weight[i]);
        let most = &mut heaviest[tree.frame[i] as usize];
        if total > *most {
            *most = total;
            frame.node_type = tree.node_type[i];
        }
        if !recursive[i] {
            frame.total_weight = frame.total_weight.saturating_add(total);
        }
    }
    frames.retain(|f| f.node_type != NodeType::Group);
    frames.sort_by(|a, b| {
        (b.self_weight, b.total_weight).cmp(&(a.self_weight, a.total_weight)).then(a.frame.cmp(&b.frame))
    });
    frames
}
