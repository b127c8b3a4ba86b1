//! Trees of small random graphs against what goes when an object is taken away.

use proptest::prelude::*;

use super::*;

#[derive(Debug)]
struct Small {
    roots: Vec<u32>,
    edges: Vec<Vec<u32>>,
    /// The class of each object, where its objects hold it.
    classes: Vec<u32>,
    of_loaders: Vec<(u32, u32)>,
    alone: Bits,
}

impl Graph for Small {
    fn objects(&self) -> u32 {
        self.edges.len() as u32
    }
    fn roots(&self) -> &[u32] {
        &self.roots
    }
    fn successors(&self, object: u32) -> Left {
        Left { at: 0, last: object, first: self.first(object) }
    }
    fn first(&self, object: u32) -> u32 {
        self.classes[object as usize]
    }
    fn next(&self, left: &mut Left) -> Option<u32> {
        if left.first != NONE {
            return Some(std::mem::replace(&mut left.first, NONE));
        }
        let next = self.edges[left.last as usize].get(left.at as usize).copied();
        left.at += u64::from(next.is_some());
        next
    }
    fn has_more(&self, left: &Left) -> bool {
        left.first != NONE || (left.at as usize) < self.edges[left.last as usize].len()
    }
}

impl Small {
    fn new(roots: Vec<u32>, edges: Vec<Vec<u32>>) -> Self {
        let classes = vec![NONE; edges.len()];
        Self::with_classes(roots, edges, classes, Vec::new())
    }

    fn with_classes(
        roots: Vec<u32>,
        mut edges: Vec<Vec<u32>>,
        classes: Vec<u32>,
        of_loaders: Vec<(u32, u32)>,
    ) -> Self {
        of_loaders.iter().for_each(|(loader, class)| edges[*loader as usize].push(*class));
        let alone = Bits::none(Storage::Memory, edges.len());
        let mut graph = Self { roots, edges, classes, of_loaders, alone };
        let mut count = vec![0; graph.edges.len()];
        graph.classes.iter().filter(|class| **class != NONE).for_each(|class| count[*class as usize] = 2);
        graph.roots.iter().for_each(|root| count[*root as usize] = 2);
        graph.edges.iter().flatten().for_each(|to| count[*to as usize] += 1);
        (0..).zip(count).filter(|(_, count)| *count == 1).for_each(|(object, _)| graph.alone.add(object));
        graph
    }

    fn private(&self) -> Bits {
        let apart = apart(self, Storage::Memory, &self.of_loaders, &self.alone);
        private(self, Storage::Memory, &self.alone, &apart)
    }

    fn tree(&self) -> Tree {
        let (tree, reached, is_reached) = Tree::along_with(
            self,
            Storage::Memory,
            &self.private(),
            &Progress::default(),
            |reached| (0..self.objects()).map(|object| reached.has(object)).collect::<Vec<_>>(),
            |tree| tree,
        );
        assert_eq!(is_reached, self.reached_without(None));
        assert_eq!(reached.all() as usize, is_reached.iter().filter(|is| **is).count());
        tree
    }

    /// What can be reached when one object is taken away.
    fn reached_without(&self, removed: Option<u32>) -> Vec<bool> {
        let mut reached = vec![false; self.edges.len()];
        let mut left = self.roots.clone();
        while let Some(object) = left.pop() {
            if Some(object) != removed && !std::mem::replace(&mut reached[object as usize], true) {
                left.extend(&self.edges[object as usize]);
                left.extend(Some(self.first(object)).filter(|class| *class != NONE));
            }
        }
        reached
    }
}

fn small() -> impl Strategy<Value = Small> {
    (1_u32..24).prop_flat_map(|n| {
        let edges = prop::collection::vec((0..n, 0..n), 0..(n as usize * 3));
        // Some objects are classes, with a loader each that refers to them.
        let classes = prop::collection::btree_map(0..n, 0..n, 0..4);
        let of = prop::collection::vec(any::<prop::sample::Index>(), n as usize);
        (prop::collection::vec(0..n, 1..4), edges, classes, of, 0_u32..3).prop_map(
            move |(roots, pairs, of_loaders, of, plain)| {
                let mut edges = vec![Vec::new(); n as usize];
                pairs.iter().for_each(|(from, to)| edges[*from as usize].push(*to));
                let of_loaders: Vec<(u32, u32)> = of_loaders
                    .into_iter()
                    .filter(|(class, loader)| class != loader && !roots.contains(class))
                    .map(|(class, loader)| (loader, class))
                    .collect();
                // What is a root is no class that instances hold.
                let class = |(object, of): (u32, prop::sample::Index)| {
                    if of_loaders.is_empty() || object % 3 < plain {
                        return NONE;
                    }
                    of_loaders[of.index(of_loaders.len())].1
                };
                let classes = (0..).zip(of).map(class).collect();
                Small::with_classes(roots, edges, classes, of_loaders)
            },
        )
    })
}

impl Tree {
    /// The dominators of a number that can be reached, from itself up; 0 is not among them.
    fn above(&self, number: u32) -> Vec<u32> {
        let above = |number: &u32| self.dominator(*number).filter(|above| *above != 0);
        std::iter::successors(Some(number), above).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn what_an_object_dominates_is_what_goes_when_it_is_taken_away(graph in small()) {
        let tree = graph.tree();
        let all = graph.reached_without(None);
        for object in 0..graph.objects() {
            if !all[object as usize] {
                prop_assert_eq!(tree.dominator(object + 1), None);
                continue;
            }
            let without = graph.reached_without(Some(object));
            for other in (0..graph.objects()).filter(|other| all[*other as usize]) {
                let dominates = tree.above(other + 1).contains(&(object + 1));
                prop_assert_eq!(dominates, !without[other as usize], "{} {}", object, other);
            }
        }
    }
}

#[test]
fn what_one_alone_refers_to_takes_no_part_in_the_walk() {
    // A root with a list of texts, and a text that two of its entries share.
    let edges = vec![vec![1, 2], vec![3, 5], vec![4, 5], vec![], vec![6], vec![7], vec![], vec![]];
    let graph = Small::new(vec![0], edges);
    let private = graph.private();
    let found: Vec<u32> = (0..8).filter(|object| private.has(*object)).collect();
    assert_eq!(found, [3, 4, 6, 7]);
    assert_eq!(walk(&graph, Storage::Memory, &private, &Progress::default()).order.len(), 5);
    assert_eq!(graph.tree().above(8), [8, 6, 1]);
}

#[test]
fn what_refers_to_its_class_is_private_where_the_loader_holds_the_class() {
    // A root 0 with a loader 1 and a list 2; the loader has a class 3; the list has two
    // instances 4, 5 of it with a text each. Another root 8 has an object 9 of its own.
    let edges =
        vec![vec![1, 2], vec![], vec![4, 5], vec![1], vec![6], vec![7], vec![], vec![], vec![9], vec![]];
    let of = |holders: &[u32], roots: Vec<u32>, edges: &[Vec<u32>], of_loaders: Vec<(u32, u32)>| {
        let classes = (0..10).map(|object| if holders.contains(&object) { 3 } else { NONE }).collect();
        Small::with_classes(roots, edges.to_vec(), classes, of_loaders)
    };
    let private = |graph: &Small| {
        let private = graph.private();
        (0..10).filter(|object| private.has(*object)).collect::<Vec<u32>>()
    };
    let graph = of(&[4, 5], vec![0, 8], &edges, vec![(1, 3)]);
    assert_eq!(private(&graph), [2, 4, 5, 6, 7, 9]);
    assert_eq!(graph.tree().above(4), [4, 1]);
    // An instance below another root keeps the class, too: nobody does.
    let graph = of(&[4, 5, 9], vec![0, 8], &edges, vec![(1, 3)]);
    assert_eq!(graph.tree().above(4), [4]);
    // A loader that is only reached through an instance: it is the instance that keeps all.
    let mut kept = edges;
    kept[0] = vec![2];
    kept[6] = vec![1];
    let graph = of(&[4, 5], vec![0, 8], &kept, vec![(1, 3)]);
    assert_eq!(private(&graph), [7, 9]);
    assert_eq!(graph.tree().above(4), [4, 3, 1]);
}

#[test]
fn a_long_list_whose_end_refers_to_what_others_hold_takes_no_quadratic_time() {
    // A list of 200,000, whose end refers to 200,000 objects that a root holds, too.
    let n = 200_000;
    let mut edges: Vec<Vec<u32>> = (1..n).map(|next| vec![next]).collect();
    edges.push((n..2 * n).collect());
    edges.extend((0..n).map(|_| Vec::new()));
    edges.push((n..2 * n).collect());
    let graph = Small::new(vec![0, 2 * n], edges);
    let tree = graph.tree();
    let of_roots = (1..=2 * n + 1).filter(|number| tree.dominator(*number) == Some(0)).count();
    assert_eq!(of_roots as u32, n + 2);
}
