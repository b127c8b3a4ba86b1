//! How often `fathom compare` is wrong, and how small a difference it finds: comparisons drawn from
//! recorded runs.
//!
//!     scripts/accuracy/compare_aa.py target/release/fathom series/
//!     cargo run --release -p fathom-compare --example calibrate -- series/*.json
//!
//! Prints the tables of docs/compare.md.

use std::path::Path;

use fathom_compare::runs::Runs;

mod simulation;

use simulation::{RATIOS, Rates, rates};

/// Comparisons of each cell.
const COMPARISONS: usize = 1_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "| runs of | ratio planted | runs of each | claimed | wrong way | no difference | interval covers |"
    );
    println!("|---|---|---|---|---|---|---|");
    for path in std::env::args().skip(1) {
        let runs = Runs::read(Path::new(&path))?;
        let series: Vec<f64> = runs.runs.iter().map(|run| run.usage.wall_s).collect();
        let name = runs.commands.first().map_or("", |c| c.text.as_str());
        for (fewest, most) in [(10, 10), (30, 30), (6, 30)] {
            for ratio in RATIOS {
                let Rates { claimed, wrong, same, covered, mean_runs } =
                    rates(&series, ratio, (fewest, most), COMPARISONS);
                let number = if fewest == most {
                    most.to_string()
                } else {
                    format!("{fewest}..{most}, {mean_runs:.0} on average")
                };
                let [claimed, wrong, same, covered] = [claimed, wrong, same, covered].map(|r| r * 100.0);
                println!(
                    "| `{name}` | {ratio} | {number} | {claimed:.1}% | {wrong:.1}% | {same:.1}% | {covered:.1}% |"
                );
            }
        }
    }
    Ok(())
}
