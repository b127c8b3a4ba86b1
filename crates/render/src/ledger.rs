//! `fathom ledger` in the terminal: what each group of threads spent the window on, as bars that
//! add up.

use fathom_diagnose::quantity;
use fathom_diagnose::thread_ledger::{GroupLedger, Spent, ThreadLedger};

use crate::tables::{Sheet, shortened};
use crate::text::{bar, cut, left, right};
use crate::{printable, units};

/// Columns of a category, of a value and of a bar.
const CATEGORY: usize = 34;
const VALUE: usize = 10;
const BAR: usize = 16;
/// A bar of fewer columns shows nothing.
const LEAST_BAR: usize = 6;
/// Columns of the error of a share that samples give, behind the bar.
const ERROR: usize = 8;
/// Columns for a group's name.
const NAME: usize = 60;
/// Columns of a file or a peer that was waited for, and how many are shown of a category.
const TARGET: usize = 64;
const TARGETS: usize = 3;
/// Categories with less than this of a group's time, in the window and in the baseline, are one
/// line.
const FOLDED: f64 = 0.001;
/// Growth of a share, in points, that is marked.
const GREW: f64 = 0.01;

/// The ledger as text of at most so many columns, 100 at most; the first `most` groups.
pub fn text(ledger: &ThreadLedger, zero: &fathom_diagnose::Zero, most: usize, columns: usize) -> String {
    let window = |w: &fathom_diagnose::Window| {
        let clock = units::on_the_clock(w.from_ns, w.to_ns, zero);
        format!("{}{clock}", units::window(w.from_ns, w.to_ns, zero.at_ns))
    };
    let mut out = Sheet::new(columns);
    out.push_str(&format!("window    {}\n", window(&ledger.window)));
    if let Some(base) = &ledger.base {
        out.push_str(&format!("baseline  {}\n", window(base)));
    }
    if let Some(operations) = ledger.operations {
        out.push_str(&format!("done      {} operations", quantity::count(operations.round())));
        if let Some(of) = &ledger.operations_of {
            out.push_str(&format!(" ({})", printable(of)));
        }
        if let Some(base) = ledger.base_operations {
            out.push_str(&format!(", {} in the baseline", quantity::count(base.round())));
        }
        out.push('\n');
    }
    for group in ledger.groups.iter().take(most) {
        out.push('\n');
        one(&mut out, group, ledger, most == usize::MAX);
    }
    if ledger.groups.len() > most {
        let more = quantity::plural(ledger.groups.len() - most, "group", "groups");
        out.push_str(&format!("\n{more} more: --all shows them\n"));
    }
    out.push_str(&format!("{}\n", units::counted_from(zero)));
    out.finish()
}

fn one(out: &mut Sheet, group: &GroupLedger, ledger: &ThreadLedger, all: bool) {
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
        out.push_str(&format!("  {} of thread time for each operation\n", quantity::of_one(ms)));
    }
    let values = 2 + usize::from(base) + usize::from(operations);
    // The mark of what grew stands behind the baseline.
    let category = (out.width - 2 - values * VALUE - if base { 2 } else { 0 }).min(CATEGORY);
    let bar = BAR.min(out.width.saturating_sub(2 + category + values * VALUE + 2 + 2 + ERROR));
    let mut header = format!("  {}{}{}", left("", category), right("time", VALUE), right("share", VALUE));
    header.push_str(&if base { right("baseline", VALUE) } else { String::new() });
    header.push_str(&if operations { right("per op", VALUE) } else { String::new() });
    out.push_str(&format!("{header}\n"));
    let (shown, folded): (Vec<&Spent>, Vec<&Spent>) = group
        .spent
        .iter()
        .partition(|spent| all || spent.share.max(spent.base_share.unwrap_or(0.0)) >= FOLDED);
    for spent in shown {
        out.push_str(&line(spent, (base, operations), (category, bar)));
        // What is less than a tenth of its category would only make the list long.
        for target in spent.on.iter().filter(|target| target.ms >= spent.ms * 0.1).take(TARGETS) {
            let room = TARGET.min(out.width - 4 - VALUE);
            let name = shortened(&target.name, room);
            let name = printable(&name);
            out.push_str(&format!(
                "    {}{}\n",
                left(&name, room),
                right(&quantity::millis(target.ms), VALUE)
            ));
        }
    }
    if !folded.is_empty() {
        let name = format!("{} below 0.1%", quantity::plural(folded.len(), "category", "categories"));
        let ms: f64 = folded.iter().map(|spent| spent.ms).sum();
        let share: f64 = folded.iter().map(|spent| spent.share).sum();
        out.push_str(&format!(
            "  {}{}{}\n",
            left(&cut(&name, category, "…"), category),
            right(&quantity::millis(ms), VALUE),
            right(&quantity::share(share), VALUE)
        ));
    }
}

fn line(spent: &Spent, (base, operations): (bool, bool), (category, columns): (usize, usize)) -> String {
    let mut line = format!(
        "  {}{}{}",
        left(&cut(spent.words, category, "…"), category),
        right(&quantity::millis(spent.ms), VALUE),
        right(&quantity::share(spent.share), VALUE)
    );
    if base {
        let share = spent.base_share.map_or("–".into(), quantity::share);
        let grew = spent.base_share.is_some_and(|base| spent.share - base > GREW);
        line.push_str(&right(&share, VALUE));
        line.push_str(if grew { " ▲" } else { "  " });
    }
    if operations {
        let ms = spent.ms_per_operation.map_or("–".into(), quantity::of_one);
        line.push_str(&right(&ms, VALUE));
    }
    if columns >= LEAST_BAR {
        line.push_str(&format!("  {}", bar(spent.share, columns, true)));
    }
    if let Some(error) = spent.sampling_error.filter(|error| *error >= 0.001) {
        line.push_str(&format!(" ± {}", quantity::share(error)));
    }
    format!("{}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use fathom_diagnose::thread_ledger::{SCHEMA, Target};
    use fathom_diagnose::{Category, Window, Zero};

    use super::*;
    use crate::text::width;

    #[test]
    fn the_ledger_fits_the_terminal() {
        let spent = |category: Category, sampling_error| Spent {
            category,
            words: category.words(),
            ms: 123_456.0,
            share: 0.5,
            base_ms: Some(1.0),
            base_share: Some(0.01),
            ms_per_operation: Some(12.3),
            base_ms_per_operation: Some(0.1),
            sampling_error,
            on: vec![Target { name: "/srv/".to_owned() + &"a-long-folder/".repeat(9), ms: 99_999.0 }],
        };
        let window = Window { from_ns: 0, to_ns: 60_000_000_000 };
        let group = GroupLedger {
            name: "http-nio-8080-exec-* of a service with a long name indeed".into(),
            process: "org.example.service.Main with some arguments after it".into(),
            process_id: fathom_recording::ProcessId(0),
            recording: None,
            threads: 200,
            thread_ms: 12_000_000.0,
            base_thread_ms: 1.0,
            spent: Category::ALL.into_iter().map(|category| spent(category, Some(0.02))).collect(),
            cpu_samples: 0,
        };
        let mut ledger = ThreadLedger {
            schema: SCHEMA,
            recording: None,
            recordings: Vec::new(),
            window,
            base: None,
            operations: None,
            operations_of: Some("series of throughput".into()),
            base_operations: None,
            by: "role",
            groups: vec![group],
        };
        let zero = Zero { at_ns: 0, is: "the start of the recording", wall: true };
        for (base, operations) in [(false, false), (true, false), (false, true), (true, true)] {
            ledger.base = base.then_some(window);
            ledger.operations = operations.then_some(1_000.0);
            for columns in [60, 80, 100] {
                let text = text(&ledger, &zero, 10, columns);
                for line in text.lines() {
                    assert!(width(line) <= columns, "{columns}, {}: {line}", width(line));
                }
                assert!(text.contains("50%") && text.contains("123.46 s"), "{text}");
            }
        }
        ledger.base = None;
        let small = ledger.groups[0]
            .spent
            .iter_mut()
            .skip(2)
            .map(|spent| (spent.share, spent.base_share) = (0.0005, None));
        let count = small.count();
        let (folded, all) = (text(&ledger, &zero, 10, 100), text(&ledger, &zero, usize::MAX, 100));
        assert!(folded.contains(&format!("{count} categories below 0.1%")), "{folded}");
        assert!(
            folded.lines().count() < 20 && all.lines().count() > count && !all.contains("below 0.1%"),
            "{all}"
        );
    }
}
