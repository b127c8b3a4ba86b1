//! `fathom ledger` in the terminal: what each group of threads spent the window on, as bars that add up.

use fathom_diagnose::quantity;
use fathom_diagnose::thread_ledger::{GroupLedger, Spent, ThreadLedger};

use crate::tables::shortened;
use crate::text::{bar, left, right};
use crate::{printable, units};

/// Columns of a heading, of a figure and of a bar.
const HEADING: usize = 34;
const FIGURE: usize = 10;
const BAR: usize = 16;
/// Columns for a group's name.
const NAME: usize = 60;
/// Columns of a file or a peer that was waited for, and how many are shown of a heading.
const TARGET: usize = 64;
const TARGETS: usize = 3;
/// Growth of a share, in points, that is marked.
const GREW: f64 = 0.01;

/// The ledger as text of at most 100 columns; the first `most` groups.
pub fn text(ledger: &ThreadLedger, zero: &fathom_diagnose::Zero, most: usize) -> String {
    let window = |w: &fathom_diagnose::Window| {
        let clock = units::on_the_clock(w.from_ns, w.to_ns, zero);
        format!("{}{clock}", units::window(w.from_ns, w.to_ns, zero.at_ns))
    };
    let mut out = format!("window    {}\n", window(&ledger.window));
    if let Some(base) = &ledger.base {
        out.push_str(&format!("base      {}\n", window(base)));
    }
    if let Some(operations) = ledger.operations {
        out.push_str(&format!("done      {} operations", quantity::count(operations.round())));
        if let Some(of) = &ledger.operations_of {
            out.push_str(&format!(" ({})", printable(of)));
        }
        if let Some(base) = ledger.base_operations {
            out.push_str(&format!(", {} in the base", quantity::count(base.round())));
        }
        out.push('\n');
    }
    for group in ledger.groups.iter().take(most) {
        out.push('\n');
        one(&mut out, group, ledger);
    }
    if ledger.groups.len() > most {
        let more = quantity::plural(ledger.groups.len() - most, "group", "groups");
        out.push_str(&format!("\n{more} more: --all shows them\n"));
    }
    out.push_str(&format!("{}\n", units::counted_from(zero)));
    out
}

fn one(out: &mut String, group: &GroupLedger, ledger: &ThreadLedger) {
    let mut name = shortened(&group.name, NAME);
    if group.process != group.name && !group.process.is_empty() {
        name.push_str(&format!(" of {}", shortened(&group.process, NAME / 2)));
    }
    let threads = quantity::plural(group.threads, "thread", "threads");
    let time = quantity::seconds(group.thread_ms / 1e3);
    out.push_str(&format!("{}: {threads}, {time} of thread time\n", printable(&name)));
    let base = ledger.base.is_some();
    let operations = ledger.operations.is_some();
    if let Some(operations) = ledger.operations.filter(|n| *n > 0.0) {
        let ms = group.thread_ms / operations;
        out.push_str(&format!("  {} of thread time for each operation\n", quantity::millis(ms)));
    }
    let mut header = format!("  {}{}{}", left("", HEADING), right("time", FIGURE), right("share", FIGURE));
    header.push_str(&if base { right("base", FIGURE) } else { String::new() });
    header.push_str(&if operations { right("per op", FIGURE) } else { String::new() });
    out.push_str(&format!("{header}\n"));
    for spent in &group.spent {
        out.push_str(&line(spent, base, operations));
        // What is less than a tenth of its heading would only make the list long.
        for target in spent.on.iter().filter(|target| target.ms >= spent.ms * 0.1).take(TARGETS) {
            let name = shortened(&target.name, TARGET);
            let name = printable(&name);
            out.push_str(&format!(
                "    {}{}\n",
                left(&name, TARGET),
                right(&quantity::millis(target.ms), FIGURE)
            ));
        }
    }
}

fn line(spent: &Spent, base: bool, operations: bool) -> String {
    let mut line = format!(
        "  {}{}{}",
        left(spent.words, HEADING),
        right(&quantity::millis(spent.ms), FIGURE),
        right(&quantity::share(spent.share), FIGURE)
    );
    if base {
        let share = spent.base_share.map_or("–".into(), quantity::share);
        let grew = spent.base_share.is_some_and(|base| spent.share - base > GREW);
        line.push_str(&right(&share, FIGURE));
        line.push_str(if grew { " ▲" } else { "  " });
    }
    if operations {
        let ms = spent.ms_per_operation.map_or("–".into(), quantity::millis);
        line.push_str(&right(&ms, FIGURE));
    }
    line.push_str(&format!("  {}", bar(spent.share, BAR, true)));
    if let Some(error) = spent.sampling_error.filter(|error| *error >= 0.001) {
        line.push_str(&format!(" ± {}", quantity::share(error)));
    }
    format!("{}\n", line.trim_end())
}
