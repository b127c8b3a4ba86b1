//! The first screen of a dump.

use comfy_table::Table;
use fathom_diagnose::quantity;
use fathom_heap::report::{Group, Screen};
use fathom_heap::{DamagedPart, FirstDamage, Storage};

use super::{holder, tables, way};
use crate::printable;
use crate::tables::{section, shortened, table};
use crate::text::wrap;
use crate::units::wall_clock;

/// Columns of text.
const WIDTH: usize = 100;
/// Columns for names.
const NAME: usize = 52;

/// The first screen as text of at most 100 columns; `paths` of the holders with it.
pub fn screen(screen: &Screen, top: usize) -> String {
    let mut out = String::new();
    paragraph(&mut out, "", &headline(screen));
    out.push('\n');
    paragraph(&mut out, "", &about(screen));
    notes(screen).iter().for_each(|note| paragraph(&mut out, "  ", note));
    holders(&mut out, screen, top);
    let bytes = "shallow: of the objects themselves; retained: would be freed with them";
    groups(&mut out, &format!("Classes by retained size ({bytes})"), "class", &screen.classes, top);
    groups(&mut out, "Packages by what their objects retain", "package", &screen.packages, top.min(10));
    groups(
        &mut out,
        "Class loaders by what objects of their classes retain",
        "loader",
        &screen.loaders,
        top.min(8),
    );
    tables::threads(&mut out, screen, top.min(10));
    tables::waste(&mut out, screen);
    tables::references(&mut out, screen);
    roots(&mut out, screen);
    out
}

fn bytes(n: u64) -> String {
    quantity::bytes(n as f64)
}

fn count(n: u64) -> String {
    quantity::count(n as f64)
}

/// A space that no line is broken at, between a number and its unit: "279 MB".
const NO_BREAK: &str = "\u{a0}";

fn paragraph(out: &mut String, indent: &str, text: &str) {
    for line in wrap(&unbroken_numbers(text), WIDTH - indent.chars().count()) {
        out.push_str(&format!("{indent}{}\n", line.replace(NO_BREAK, " ")));
    }
}

/// The text with each number kept together with its unit.
fn unbroken_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        out.push_str(word);
        let is_number = word.trim_start_matches('(').starts_with(|first: char| first.is_ascii_digit())
            && word.ends_with(|last: char| last.is_ascii_digit());
        match words.peek() {
            Some(next) if is_number && is_of_the_number(next) => out.push_str(NO_BREAK),
            Some(_) => out.push(' '),
            None => {}
        }
    }
    out
}

fn is_of_the_number(word: &str) -> bool {
    matches!(word.trim_end_matches([',', ')', ':', ';']), "B" | "kB" | "MB" | "GB" | "TB")
}

/// What keeps most, in a sentence.
pub(super) fn headline(screen: &Screen) -> String {
    match screen.holders.all.first() {
        Some(first) => holder::sentence(first, screen.size.bytes),
        None => {
            format!("{} are retained by many small holders: none retains 5% of it", bytes(screen.size.bytes))
        }
    }
}

/// The dump and how much is in it.
pub(super) fn about(screen: &Screen) -> String {
    let about = &screen.about;
    let written =
        i64::try_from(about.written_ms).ok().and_then(|ms| ms.checked_mul(1_000_000)).and_then(wall_clock);
    format!(
        "{}: {}{}, {} in {}{}",
        printable(&about.file),
        bytes(about.file_bytes),
        if about.packed { " packed" } else { "" },
        objects(screen.size.objects),
        bytes(screen.size.bytes),
        written.map_or(String::new(), |at| format!(", written {at}")),
    )
}

/// What is not counted, how sizes are known, and what could not be read.
pub(super) fn notes(screen: &Screen) -> Vec<String> {
    let about = &screen.about;
    let mut notes = Vec::new();
    if screen.size.unreachable_objects > 0 {
        // Of a dump that is cut off, what holds them may be in the part that is missing.
        let why = match about.damage.is_incomplete() {
            true => "nothing that was read reaches (garbage, or held by what is missing)",
            // java.lang.Class has fields that HPROF has no place for, reflectionData among them.
            false => {
                "nothing in the dump reaches (garbage that was not collected yet, or reflection data of classes, whose \
                 holder dumps leave out)"
            }
        };
        notes.push(format!(
            "not counted: {} in {} that {why}",
            objects(screen.size.unreachable_objects),
            bytes(screen.size.unreachable_bytes)
        ));
    }
    notes.push(format!("sizes: {}; 1 kB is 1,024 B, 1 MB 1,048,576 B", about.layout.in_words()));
    if about.redacted {
        let note = "a copy in which values are zero (--redacted): duplicate texts, names of threads and the bounds of \
                    collections that stand in fields are not known";
        notes.push(note.to_owned());
    }
    if !about.weak_counts {
        let note = "soft, weak, phantom and final references hold nothing here (--strong-only)";
        notes.push(note.to_owned());
    }
    if about.index == Storage::Disk {
        let note =
            "index: in files without a name (TMPDIR, else /var/tmp), as memory would not have sufficed";
        notes.push(note.to_owned());
    }
    notes.extend(damage(screen).into_iter().map(|line| format!("note: {line}")));
    notes
}

fn objects(n: u64) -> String {
    quantity::plural(usize::try_from(n).unwrap_or(usize::MAX), "object", "objects")
}

fn damage(screen: &Screen) -> Vec<String> {
    let damage = &screen.about.damage;
    let mut notes = Vec::new();
    if damage.truncated {
        notes.push(
            "the file is truncated: what was read before that is shown, and what nothing in it refers to counts as held, as what held it may be missing"
                .to_owned(),
        );
    }
    notes.extend(damage.first.as_ref().map(first_damage));
    let counts = [
        (damage.damaged_records, "records with a length that cannot be right"),
        (damage.damaged_segments, "places in the heap that could not be read"),
        (damage.unknown_records, "records of unknown kinds"),
        (damage.duplicate_objects, "objects were listed twice"),
        (damage.without_class, "objects whose class is not in the dump: their fields are not read"),
        (
            damage.dangling_references,
            match damage.is_incomplete() {
                true => "references lead to what is not in the dump, or was not read",
                false => {
                    "references lead to what is not in the dump (the JVM leaves out classes that are archived and not \
                     loaded)"
                }
            },
        ),
    ];
    notes.extend(counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n))));
    if damage.skipped_bytes > 0 {
        let at = damage.first_at.unwrap_or(0);
        let held = match damage.parts_of_heap && !damage.truncated {
            false => "",
            true => "; what nothing else refers to counts as held, as what held it may be among them",
        };
        notes.push(format!("{} skipped, the first at byte {at}{held}", bytes(damage.skipped_bytes)));
    }
    notes
}

/// What is damaged first, and where reading went on.
fn first_damage(first: &FirstDamage) -> String {
    let FirstDamage { at, part, tag, .. } = first;
    let length = first.length.unwrap_or(0);
    let what = match part {
        DamagedPart::Record => format!("the record at byte {at} (kind {tag:#04x}) says it has {length} B"),
        DamagedPart::Segment => format!("the segment of the heap at byte {at} says it has {length} B"),
        DamagedPart::SubRecord => {
            format!("what is in the heap at byte {at} (kind {tag:#04x}) cannot be read")
        }
    };
    let why = if *part == DamagedPart::SubRecord { "" } else { ", behind which no record begins" };
    let on = match first.went_on_at {
        Some(on) => format!("reading went on at byte {on}"),
        None => "nothing behind it could be read".to_owned(),
    };
    format!("damaged: {what}{why}; {on}")
}

fn holders(out: &mut String, screen: &Screen, top: usize) {
    if screen.holders.all.is_empty() {
        return;
    }
    out.push_str("\nLargest holders (what would be freed with them)\n");
    for (i, holder) in screen.holders.all.iter().take(top).enumerate() {
        let text = holder::sentence(holder, screen.size.bytes);
        let mark = if holder.suspicion.is_some() { "!" } else { "·" };
        let mut lines = String::new();
        paragraph(&mut lines, "       ", &text);
        out.push_str(&format!("{mark} {:>3}  {}", i + 1, lines.trim_start()));
        paragraph(out, "       ", &holder::judged(holder));
        if let Some(place) = &holder.accumulates_in {
            paragraph(out, "       ", &format!("memory accumulates in its {}", printable(place)));
        }
        if holder.objects > 1 {
            paragraph(out, "       ", "the path to the one of them that retains most:");
        }
        for line in way::lines(&holder.way, "       ") {
            out.push_str(&format!("{line}\n"));
        }
    }
}

fn groups(out: &mut String, title: &str, what: &str, groups: &[Group], top: usize) {
    let mut rows: Table = table(&[what, "objects", "shallow", "retained"], &[]);
    for group in groups.iter().take(top) {
        let name = if group.name.is_empty() { "(no package)" } else { &group.name };
        rows.add_row([
            shortened(name, NAME),
            count(group.sum.objects),
            bytes(group.sum.shallow_bytes),
            bytes(group.sum.retained_bytes),
        ]);
    }
    section(out, title, &rows);
}

fn roots(out: &mut String, screen: &Screen) {
    let mut rows = table(&["root", "count"], &[]);
    for roots in &screen.roots {
        rows.add_row([way::root(roots.kind).to_owned(), count(roots.roots)]);
    }
    section(out, "GC roots (why an object is held at all)", &rows);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_on_one_line_with_their_units() {
        for columns in 20..60 {
            let mut out = String::new();
            let text = "(93%) are kept by one queue: 1,234,567 entries of a.B, 279 B each";
            for line in wrap(&unbroken_numbers(text), columns) {
                out.push_str(&format!("{}\n", line.replace(NO_BREAK, " ")));
            }
            assert!(out.contains("1,234,567") && out.contains("279 B") && out.contains("(93%)"), "{out}");
        }
        assert_eq!(unbroken_numbers("JDK 8 and a.b 9"), "JDK 8 and a.b 9");
    }
}
