//! A flame graph as JSON (schema `fathom.flame/1`): the frames, and the tree in columns.

use fathom_diagnose::Window;
use fathom_diagnose::stacks::{Flame, NodeType, Share, Verdict};
use serde::Serialize;

use super::top::{Compared, compared};
use super::{TopOptions, names, notes};

const SCHEMA: &str = "fathom.flame/1";

/// The machine's form.
#[derive(Serialize)]
pub struct Json {
    schema: &'static str,
    version: &'static str,
    kind: String,
    unit: &'static str,
    samples: usize,
    total: i64,
    windows: Vec<Window>,
    cut_samples: usize,
    samples_without_stack: usize,
    comparison: Option<ComparisonJson>,
    notes: Vec<String>,
    frames: Vec<FrameJson>,
    tree: TreeJson,
}

#[derive(Serialize)]
struct ComparisonJson {
    normalised: &'static str,
    scale: f64,
    base_windows: Vec<Window>,
    base_samples: usize,
    base_total: i64,
    blocks: [usize; 2],
    self_limit_standard_errors: Option<f64>,
    total_limit_standard_errors: Option<f64>,
}

#[derive(Serialize)]
struct FrameJson {
    name: String,
    module: String,
    #[serde(rename = "type")]
    node_type: NodeType,
    #[serde(rename = "self")]
    own: i64,
    total: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<BaseJson>,
}

/// Baseline weights, scaled to be comparable.
#[derive(Serialize)]
struct BaseJson {
    #[serde(rename = "self")]
    own: f64,
    total: f64,
    self_verdict: Verdict,
    total_verdict: Verdict,
    self_share: SharesJson,
    total_share: SharesJson,
}

/// Shares of all samples of a side, each with the ends of its interval of 95%.
#[derive(Serialize)]
struct SharesJson {
    base: f64,
    base_interval: [f64; 2],
    window: f64,
    window_interval: [f64; 2],
}

impl SharesJson {
    fn of([base, window]: [Share; 2]) -> Self {
        Self {
            base: base.of_all,
            base_interval: base.interval(),
            window: window.of_all,
            window_interval: window.interval(),
        }
    }
}

/// The tree, a place a node; parents stand before their children.
#[derive(Serialize)]
struct TreeJson {
    names: Vec<String>,
    modules: Vec<String>,
    parent: Vec<i64>,
    frame: Vec<u32>,
    #[serde(rename = "type")]
    node_type: Vec<NodeType>,
    #[serde(rename = "self")]
    own: Vec<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_self: Option<Vec<i64>>,
}

/// A flame graph in the machine's form.
pub fn json(flame: &Flame, options: TopOptions) -> Json {
    let tree = &flame.tree;
    let frame = |c: &Compared| {
        let frame = &tree.frames[c.frame.frame as usize];
        FrameJson {
            name: names::of_frame(frame),
            module: names::shown(&frame.module),
            node_type: c.frame.node_type,
            own: c.frame.self_weight,
            total: c.frame.total_weight,
            base: c.base.map(|[own, total]| BaseJson {
                own: own.weight,
                total: total.weight,
                self_verdict: own.verdict,
                total_verdict: total.verdict,
                self_share: SharesJson::of(own.shares),
                total_share: SharesJson::of(total.shares),
            }),
        }
    };
    Json {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        kind: crate::printable(&flame.kind).into_owned(),
        unit: flame.unit,
        samples: flame.samples,
        total: tree.total_weight.first().copied().unwrap_or(0),
        windows: flame.covered.clone(),
        cut_samples: flame.cut,
        samples_without_stack: flame.without_stack,
        comparison: flame.comparison.as_ref().map(|(c, covered)| ComparisonJson {
            normalised: c.normalisation.words(),
            scale: c.scale,
            base_windows: covered.clone(),
            base_samples: c.base_samples,
            base_total: c.base_total.first().copied().unwrap_or(0),
            blocks: [c.blocks.0, c.blocks.1],
            self_limit_standard_errors: c.frames.self_limit,
            total_limit_standard_errors: c.frames.total_limit,
        }),
        notes: notes(flame),
        frames: compared(flame, options.by).iter().take(options.most).map(frame).collect(),
        tree: TreeJson {
            names: tree.frames.iter().map(names::of_frame).collect(),
            modules: tree.frames.iter().map(|f| names::shown(&f.module)).collect(),
            parent: (0..tree.len()).map(|i| if i == 0 { -1 } else { i64::from(tree.parent[i]) }).collect(),
            frame: tree.frame.clone(),
            node_type: tree.node_type.clone(),
            own: tree.self_weight.clone(),
            base_self: flame.comparison.as_ref().map(|(c, _)| c.base_self.clone()),
        },
    }
}
