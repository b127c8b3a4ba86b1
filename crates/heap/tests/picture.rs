//! The tree that the page of a dump shows: no byte is lost where it is grouped, folded or cut.

#![allow(clippy::unwrap_used)]

mod small;

use fathom_heap::report::{About, Grouped, Limits, Node, Picture};
use fathom_heap::{Heap, Kept, Referents};
use proptest::prelude::*;

fn read(dump: &[u8]) -> (Heap, Kept, tempfile::NamedTempFile) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), dump).unwrap();
    let heap = fathom_heap::read(file.path(), Referents::AsAll, None).unwrap();
    let kept = Kept::of(&heap);
    (heap, kept, file)
}

/// Objects with what they refer to, and the roots.
type Objects = (Vec<(u64, [Option<u64>; 3])>, Vec<u64>);

fn objects() -> impl Strategy<Value = Objects> {
    (1_u64..60).prop_flat_map(|n| {
        // Mostly to objects behind: long chains and wide trees, and some ways back.
        let to = prop::option::weighted(0.6, 0..n);
        let object = (0..small::KINDS, [to.clone(), to.clone(), to]);
        (prop::collection::vec(object, n as usize), prop::collection::vec(0..n, 1..5))
    })
}

fn sums_hold(nodes: &[Node]) {
    let mut children = vec![0_u64; nodes.len()];
    for (at, node) in nodes.iter().enumerate().skip(1) {
        assert!((node.parent as usize) < at, "{at}: a parent stands before its children");
        assert_eq!(node.depth, nodes[node.parent as usize].depth + 1);
        assert!(node.objects > node.chained || node.objects == 1, "{node:?}");
        children[node.parent as usize] += node.retained_bytes;
    }
    for (node, children) in nodes.iter().zip(children) {
        assert_eq!(node.retained_bytes, node.own_bytes + node.folded.bytes + children, "{node:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn children_folded_and_own_bytes_are_all_of_a_node_however_it_is_cut(
        (objects, roots) in objects(),
        least_bytes in 1_u64..400,
        deepest in 1_u32..8,
        most in 1_usize..60,
    ) {
        let (heap, kept, _file) = read(&small::graph(&objects, &roots));
        let every: Vec<u32> = kept.numbers().collect();
        let limits = Limits { least_bytes, deepest, most };
        let cut = Grouped::of(&heap, &kept, limits, &every);
        sums_hold(&cut.nodes);
        prop_assert_eq!(cut.nodes[0].retained_bytes, kept.reachable_bytes());
        prop_assert!(cut.nodes.len() <= most.max(1));
        prop_assert!(cut.nodes.iter().all(|node| node.depth <= deepest));
        prop_assert!(cut.nodes[1..].iter().all(|node| node.retained_bytes >= least_bytes));
        // Objects count where they are asked for.
        for (at, node) in cut.nodes.iter().enumerate().skip(1) {
            let inside = cut.places.iter().filter(|place| **place == Some(at as u32)).count();
            prop_assert_eq!(inside as u64, node.objects);
        }
        // Without limits nothing is folded, and every object is in a node.
        let limits = Limits { least_bytes: 1, deepest: u32::MAX, most: usize::MAX };
        let whole = Grouped::of(&heap, &kept, limits, &every);
        sums_hold(&whole.nodes);
        prop_assert!(whole.nodes.iter().all(|node| node.folded.objects == 0));
        prop_assert!(whole.places.iter().all(Option::is_some));
        prop_assert_eq!(whole.nodes.iter().map(|node| node.own_bytes).sum::<u64>(), kept.reachable_bytes());
    }
}

#[test]
fn a_list_is_one_node_and_the_way_to_it_is_told_once() {
    let (heap, kept, file) = read(&small::dump());
    let picture = Picture::of(&heap, &kept, About::of(&heap, file.path(), true));
    sums_hold(&picture.nodes);
    let items = picture.nodes.iter().find(|node| node.name == "org.example.Cache").unwrap();
    assert_eq!((items.objects, items.chained), (small::ITEMS, 0));
    let array = &picture.nodes[items.parent as usize];
    assert_eq!((array.name.as_str(), array.address), ("java.lang.Object[]", small::id::ARRAY));
    let list = &picture.nodes[array.parent as usize];
    assert_eq!((list.name.as_str(), list.address), ("java.util.ArrayList", small::id::LIST));
    // The way to the array is that to the list and one step more.
    let way = |address| {
        let at = picture.nodes.iter().position(|node| node.address == address).unwrap();
        picture.way_of_node[at].unwrap()
    };
    assert_eq!(picture.steps[way(small::id::ARRAY) as usize].before, Some(way(small::id::LIST)));
    let holder = &picture.screen.holders.all[0];
    let (node, way) = picture.holders[0];
    let steps: Vec<&str> = std::iter::successors(way, |step| picture.steps[*step as usize].before)
        .map(|step| picture.steps[step as usize].class.as_str())
        .collect();
    let shown: Vec<&str> = holder.way.steps.iter().rev().map(|step| step.class.as_str()).collect();
    assert_eq!(steps.iter().map(|class| class.trim_start_matches("class ")).collect::<Vec<_>>(), shown);
    assert_eq!(picture.nodes[node.unwrap() as usize].address, holder.address);
}

#[test]
fn a_chain_of_one_class_is_one_node_however_long() {
    const LONG: u64 = 200_000;
    let objects: Vec<(u64, [Option<u64>; 3])> =
        (0..LONG).map(|at| (0, [Some(at + 1).filter(|next| *next < LONG), None, None])).collect();
    let (heap, kept, file) = read(&small::graph(&objects, &[0]));
    let picture = Picture::of(&heap, &kept, About::of(&heap, file.path(), true));
    sums_hold(&picture.nodes);
    let list = picture.nodes.iter().find(|node| node.name == "k.K0").unwrap();
    assert_eq!((list.objects, list.chained), (LONG, LONG - 1));
    assert_eq!(list.own_bytes, list.retained_bytes);
}
