//! Frames whose cost differs: as a share of the CPU samples, as `fathom flame --diff --normalise
//! share` finds them, and per operation where both sides count operations.

use fathom_diagnose::Window;
use fathom_diagnose::stacks::{
    Base, Comparison, Errors, Flame, HALF_INTERVAL, NodeType, Normalisation, Selection, Shape, TopFrame,
    Verdict, flame, kinds, top,
};
use fathom_recording::Recording;
use fathom_recording::vocabulary::sample;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

use super::measures;

/// Most frames that are listed.
const MOST: usize = 40;

/// What differs in the samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Frames {
    /// What was sampled.
    pub kind: String,
    /// Unit of costs: "share" of the samples, or "ms/op", "cycles/op".
    pub unit: &'static str,
    /// Samples on each side.
    pub samples: [usize; 2],
    /// Operations on each side; absent where shares are compared.
    pub operations: Option<[f64; 2]>,
    /// Frames that differ beyond noise (5% of them may be wrong), the largest difference first.
    pub moved: Vec<MovedFrame>,
    /// How many of them there are.
    pub differ: usize,
    /// Frames that were judged.
    pub judged: usize,
}

/// A frame whose own cost differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MovedFrame {
    /// Method or function.
    pub name: String,
    /// Library, "kernel", or empty.
    pub module: String,
    /// Its own cost on the first side.
    pub first: f64,
    /// On the second.
    pub second: f64,
    /// The difference lies between these.
    pub difference: [f64; 2],
    /// With all that it calls, on both sides.
    pub total: [f64; 2],
    /// The difference of that lies between these; absent where it was not judged.
    pub total_difference: Option<[f64; 2]>,
    /// Chance of a difference as large by accident, of this frame alone.
    pub p_value: f64,
    /// Whether cost came, went or moved.
    pub change: Change,
}

/// What became of a frame's cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The first side has nothing of the frame.
    New,
    /// The second side has nothing of it.
    Gone,
    /// Its own cost differs, and with all that it calls it does not, or not in this direction; or
    /// what calls it costs as much as before. The cost is in another frame, as when a method has
    /// another name or is inlined on one side alone.
    Moved,
    /// It costs more, also with what it calls.
    More,
    /// It costs less, also with what it calls.
    Less,
}

/// Two recordings put together, distinguished by their sources, and the windows of each.
#[derive(Debug)]
pub struct Sampled {
    recording: Recording,
    first_sources: u32,
    within: [Option<Window>; 2],
    /// Where operations were counted on each side.
    counted: [Option<Window>; 2],
}

impl Sampled {
    /// Puts two recordings together.
    pub(super) fn of(mut first: Recording, second: Recording, within: [Option<Window>; 2]) -> Self {
        let first_sources = first.sources.len() as u32;
        let counted = [&first, &second].map(measures::counted);
        first.append(second);
        first.seal();
        Self { recording: first, first_sources, within, counted }
    }

    /// Both recordings in one.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The flame graphs of all kinds of samples that both sides have: the second compared with the
    /// first.
    pub fn flames(&self, normalisation: Normalisation) -> Vec<Flame> {
        kinds(&self.recording).iter().filter_map(|kind| self.flame(&kind.name, normalisation)).collect()
    }

    fn flame(&self, kind: &str, normalisation: Normalisation) -> Option<Flame> {
        let all = Selection { kind: kind.to_owned(), ..Selection::default() };
        let [of_first, of_second] = [0, 1].map(|side| self.windows(side, normalisation));
        let first = Selection { sources_to: Some(self.first_sources), windows: of_first, ..all.clone() };
        let second = Selection { sources_from: self.first_sources, windows: of_second, ..all };
        let base = Base { selection: first, normalisation };
        flame(&self.recording, &second, Shape::default(), Some(&base)).ok().filter(|f| f.comparison.is_some())
    }

    /// What is taken of a side. Samples from where nobody counted operations would make those that
    /// were counted dearer.
    fn windows(&self, side: usize, normalisation: Normalisation) -> Vec<Window> {
        let counted = self.counted[side].filter(|_| normalisation == Normalisation::Operation);
        let both = match (self.within[side], counted) {
            (Some(a), Some(b)) => {
                let from_ns = a.from_ns.max(b.from_ns);
                Some(Window { from_ns, to_ns: a.to_ns.min(b.to_ns).max(from_ns) })
            }
            (one, other) => one.or(other),
        };
        both.into_iter().collect()
    }

    /// The CPU samples of both compared with each other; `None` where a side has none, or where
    /// operations are to be compared and a side counts none.
    pub(super) fn frames(&self, normalisation: Normalisation) -> Option<Frames> {
        sample::ON_CPU.into_iter().find_map(|kind| frames(&self.flame(kind, normalisation)?))
    }
}

fn frames(flame: &Flame) -> Option<Frames> {
    let (comparison, _) = flame.comparison.as_ref()?;
    let per_operation = comparison.normalisation == Normalisation::Operation;
    let (unit, scale) = match (per_operation, flame.unit) {
        (false, _) => ("share", 1.0),
        (true, "ns") => ("ms/op", 1e-6),
        (true, "cycles") => ("cycles/op", 1.0),
        (true, _) => ("samples/op", 1.0),
    };
    let costs = Costs { flame, comparison, scale, nodes: outermost_nodes(flame) };
    let (mut moved, mut judged) = (Vec::new(), 0);
    for frame in top(&flame.tree) {
        let i = frame.frame as usize;
        let error = comparison.frames.of_self.get(i).copied().unwrap_or(f64::NAN);
        let difference = frame.self_weight as f64 - costs.scaled(&comparison.base_frame_self, i);
        let verdict = Errors::judge(difference, error, comparison.frames.self_limit);
        judged += usize::from(verdict != Verdict::TooFew);
        if matches!(verdict, Verdict::More | Verdict::Less) {
            moved.extend(costs.frame(&frame, difference, error, verdict));
        }
    }
    moved.sort_by(|a, b| (b.second - b.first).abs().total_cmp(&(a.second - a.first).abs()));
    let differ = moved.len();
    moved.truncate(MOST);
    let [here, baseline] = comparison.denominators;
    Some(Frames {
        kind: flame.kind.clone(),
        unit,
        samples: [comparison.base_samples, flame.samples],
        operations: per_operation.then_some([baseline, here]),
        moved,
        differ,
        judged,
    })
}

/// Converts the weights of a comparison to costs.
struct Costs<'a> {
    flame: &'a Flame,
    comparison: &'a Comparison,
    scale: f64,
    /// Of each frame.
    nodes: Vec<Vec<u32>>,
}

/// The nodes of each frame, without those that it calls itself from.
fn outermost_nodes(flame: &Flame) -> Vec<Vec<u32>> {
    let tree = &flame.tree;
    let mut nodes = vec![Vec::new(); tree.frames.len()];
    for (node, recursive) in tree.recursive().into_iter().enumerate().skip(1) {
        if !recursive {
            nodes[tree.frame[node] as usize].push(node as u32);
        }
    }
    nodes
}

impl Costs<'_> {
    /// A weight of the baseline in the unit of the other side.
    fn scaled(&self, baseline: &[i64], frame: usize) -> f64 {
        baseline.get(frame).copied().unwrap_or(0) as f64 * self.comparison.scale
    }

    fn cost(&self, weight: f64) -> f64 {
        weight * self.scale / self.comparison.denominators[0]
    }

    fn between(&self, difference: f64, error: f64) -> [f64; 2] {
        [-HALF_INTERVAL, HALF_INTERVAL].map(|n| self.cost(difference + n * error))
    }

    /// Whether most of what a frame costs more or less, with all that it calls, is made good below
    /// the nearest caller that both sides have (the cost shifts of FBDetect, SOSP 2024): the
    /// interval of that caller's difference leaves no room for half of it.
    fn is_only_elsewhere(&self, frame: usize) -> bool {
        let (mut elsewhere, mut all) = (0.0, 0.0);
        for node in self.nodes[frame].iter().map(|node| *node as usize) {
            let cost = self.difference_of(node).abs();
            all += cost;
            let Some(caller) = self.common_caller(node) else { continue };
            let error = self.comparison.nodes.of_total.get(caller).copied().unwrap_or(f64::NAN);
            let most = self.difference_of(caller).abs() + HALF_INTERVAL * error;
            if most < 0.5 * cost * self.rest_of(caller) {
                elsewhere += cost;
            }
        }
        elsewhere > 0.5 * all
    }

    /// What a node with all below it costs more than in the baseline.
    fn difference_of(&self, node: usize) -> f64 {
        self.flame.tree.total_weight[node] as f64 - self.scaled(&self.comparison.base_total, node)
    }

    fn common_caller(&self, node: usize) -> Option<usize> {
        let tree = &self.flame.tree;
        let is_on_both = |node: usize| tree.total_weight[node] > 0 && self.comparison.base_total[node] > 0;
        let mut at = tree.parent[node] as usize;
        while at != 0 && tree.node_type[at] != NodeType::Group {
            if is_on_both(at) {
                return Some(at);
            }
            at = tree.parent[at] as usize;
        }
        None
    }

    /// How much of a cost that is new shows in its caller. Where shares are compared it makes all
    /// others smaller, what else the caller calls as well.
    fn rest_of(&self, caller: usize) -> f64 {
        match self.comparison.normalisation {
            Normalisation::Share => {
                1.0 - self.flame.tree.total_weight[caller] as f64 / self.comparison.denominators[0]
            }
            Normalisation::Wall | Normalisation::Operation => 1.0,
        }
    }

    fn frame(&self, frame: &TopFrame, difference: f64, error: f64, verdict: Verdict) -> Option<MovedFrame> {
        let (c, i) = (self.comparison, frame.frame as usize);
        let named = self.flame.tree.frames.get(i)?;
        let (baseline, baseline_total) =
            (self.scaled(&c.base_frame_self, i), self.scaled(&c.base_frame_total, i));
        let of_total = frame.total_weight as f64 - baseline_total;
        let total_error = c.frames.of_total.get(i).copied().unwrap_or(f64::NAN);
        let of_all = Errors::judge(of_total, total_error, c.frames.total_limit);
        let change = match (verdict, of_all) {
            _ if self.is_only_elsewhere(i) => Change::Moved,
            _ if baseline_total == 0.0 => Change::New,
            _ if frame.total_weight == 0 => Change::Gone,
            (own, all) if own == all => {
                if own == Verdict::More {
                    Change::More
                } else {
                    Change::Less
                }
            }
            _ => Change::Moved,
        };
        Some(MovedFrame {
            name: named.name.clone(),
            module: named.module.clone(),
            first: self.cost(baseline),
            second: self.cost(frame.self_weight as f64),
            difference: self.between(difference, error),
            total: [self.cost(baseline_total), self.cost(frame.total_weight as f64)],
            total_difference: (total_error > 0.0).then(|| self.between(of_total, total_error)),
            p_value: 2.0 * Normal::standard().sf((difference / error).abs()),
            change,
        })
    }
}
