//! Flame graphs and tables of frames: an HTML page, an SVG, text, JSON.

mod json;
pub(crate) mod names;
pub(crate) mod page;
mod svg;
mod top;

use fathom_diagnose::Window;
use fathom_diagnose::stacks::{Flame, Verdict};
use fathom_recording::Recording;

pub use json::json;
pub use page::html;
pub(crate) use page::script;
pub use svg::svg;
pub use top::{TopBy, TopOptions, top};

use crate::units;

/// What stands around a flame graph, and how it is turned.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// What it is of: the inputs.
    pub title: String,
    /// Which threads, packages and the like were chosen, in words; empty when all.
    pub chosen: String,
    /// What relative times count from, nanoseconds on the recording's clock.
    pub zero_ns: i64,
    /// Whether callers are shown below what they called.
    pub inverted: bool,
}

impl About {
    /// About the samples of a recording.
    pub fn of(recording: &Recording, title: String, chosen: String, inverted: bool) -> Self {
        Self { title, chosen, zero_ns: fathom_diagnose::zero_ns(recording), inverted }
    }

    /// Intervals of time: "115.0 s to 125.0 s".
    pub(crate) fn windows(&self, windows: &[Window]) -> String {
        const MOST: usize = 3;
        let one = |w: &Window| units::window(w.from_ns, w.to_ns, self.zero_ns);
        let mut text = windows.iter().take(MOST).map(one).collect::<Vec<_>>().join(", ");
        if windows.len() > MOST {
            text.push_str(&format!(" and {} more", windows.len() - MOST));
        }
        text
    }
}

/// What a reader should know of a flame graph: what is not in it, and how it was judged.
pub(crate) fn notes(flame: &Flame) -> Vec<String> {
    use fathom_diagnose::quantity::{count, share};
    let mut notes = Vec::new();
    let of_all = |n: usize| {
        let all = flame.samples as f64;
        format!("{} of {} samples ({})", count(n as f64), count(all), share(n as f64 / all.max(1.0)))
    };
    if flame.cut > 0 {
        notes.push(format!(
            "{} have callers that could not be walked: their stacks are marked as cut",
            of_all(flame.cut)
        ));
    }
    if flame.without_stack > 0 {
        notes.push(format!("{} have no stack", of_all(flame.without_stack)));
    }
    if flame.negative > 0 {
        notes.push(format!("{} samples of negative weight are left out", count(flame.negative as f64)));
    }
    if let Some((c, _)) = &flame.comparison {
        let how = match c.blocks {
            (0, 0) => "counting alone: there are too few samples to compare intervals of time".to_owned(),
            (0, b) => format!("counting, in the baseline over {b} intervals of time"),
            (a, 0) => format!("counting, in the window over {a} intervals of time"),
            (a, b) => {
                format!(
                    "counting and by how intervals of time differ ({a} in the window, {b} in the baseline)"
                )
            }
        };
        notes.push(format!(
            "Compared {}; baseline of {} samples times {:.3}. Noise is estimated by {how}; of the frames called different, \
             one in twenty may be so by chance.",
            c.normalisation.words(),
            count(c.base_samples as f64),
            c.scale,
        ));
    }
    notes
}

/// A weight in its unit.
pub(crate) fn weight(value: f64, unit: &str) -> String {
    use fathom_diagnose::quantity;
    match unit {
        "ns" if value == 0.0 => "0 s".into(),
        "ns" if value.abs() < 1e4 => format!("{:.2} µs", value / 1e3),
        "ns" => quantity::millis(value / 1e6),
        "bytes" => quantity::bytes(value),
        "cycles" => quantity::cycles(value),
        _ => quantity::count(value),
    }
}

/// A share of all, "–" of nothing.
pub(crate) fn part(value: f64, all: f64) -> String {
    if all > 0.0 { fathom_diagnose::quantity::share(value / all) } else { "–".into() }
}

/// A sign for a verdict, that says without colour what a colour says.
pub(crate) fn sign(verdict: Verdict, added: bool) -> &'static str {
    match verdict {
        Verdict::More if added => "new",
        Verdict::More => "+",
        Verdict::Less => "−",
        Verdict::Noise => "=",
        Verdict::TooFew => "",
    }
}

#[cfg(test)]
mod tests;
