//! Finds the node of a frame below the node of its caller.
//!
//! A recording looks up a node for each frame of each stack that is added, and it has millions of
//! them: the keys are in the table itself, so that a look-up is one cache miss. A node right after
//! its caller is not in here: the caller of this module checks there first.

use crate::samples::StackNode;
use crate::{FrameId, StackId};

/// As a caller: none. As a node: a free slot.
const NONE: u32 = u32::MAX;

/// Nodes by caller and frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct StackIndex {
    /// Open addressing; the length is a power of two, and at least a quarter of the slots are free.
    places: Vec<Place>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    parent: u32,
    frame: u32,
    node: u32,
}

const FREE: Place = Place { parent: NONE, frame: NONE, node: NONE };

impl StackIndex {
    /// The node of a caller and a frame.
    #[inline]
    pub(crate) fn get(&self, node: &StackNode) -> Option<StackId> {
        if self.places.is_empty() {
            return None;
        }
        let place = self.places[self.find(node.parent.map_or(NONE, |parent| parent.0), node.frame)];
        (place.node != NONE).then_some(StackId(place.node))
    }

    /// Adds a node, unless there is one of the same caller and frame.
    pub(crate) fn add(&mut self, node: &StackNode, id: StackId) {
        if (self.len + 1) * 4 > self.places.len() * 3 {
            self.grow();
        }
        let parent = node.parent.map_or(NONE, |parent| parent.0);
        let at = self.find(parent, node.frame);
        if self.places[at].node == NONE {
            self.places[at] = Place { parent, frame: node.frame.0, node: id.0 };
            self.len += 1;
        }
    }

    /// The slot of a node, or the free one that it belongs in. There has to be a free slot.
    #[inline]
    fn find(&self, parent: u32, frame: FrameId) -> usize {
        let mask = self.places.len() - 1;
        let key = (u64::from(parent) << 32 | u64::from(frame.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The high bits depend on all of the key's.
        let mut at = (key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 24 & mask;
        loop {
            let place = &self.places[at];
            if place.node == NONE || (place.parent, place.frame) == (parent, frame.0) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let len = (self.places.len() * 2).max(64);
        let old = std::mem::replace(&mut self.places, vec![FREE; len]);
        for place in old.into_iter().filter(|place| place.node != NONE) {
            let at = self.find(place.parent, FrameId(place.frame));
            self.places[at] = place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_node_of_a_caller_and_a_frame_is_found() {
        let mut index = StackIndex::default();
        let node = |i: u32| StackNode {
            parent: (!i.is_multiple_of(7)).then_some(StackId(i % 1000)),
            frame: FrameId(i / 7),
        };
        assert_eq!(index.get(&node(0)), None);
        let mut first = std::collections::HashMap::new();
        for i in 0..20_000 {
            index.add(&node(i), StackId(i));
            first.entry(node(i)).or_insert(i);
        }
        for i in 0..20_000 {
            assert_eq!(index.get(&node(i)).map(|id| id.0), first.get(&node(i)).copied());
        }
        assert_eq!(index.get(&StackNode { parent: None, frame: FrameId(5_000) }), None);
    }
}
