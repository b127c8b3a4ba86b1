//! One object, the ways to it, one class: what is asked after the first screen.

use fathom_diagnose::quantity;
use fathom_heap::report::{Brief, ClassReport, Member, ObjectReport, WaysReport};

use super::way;
use crate::printable;
use crate::tables::{section, shortened, table};

/// Columns for names.
const NAME: usize = 56;

fn bytes(n: u64) -> String {
    quantity::bytes(n as f64)
}

fn retained(brief: &Brief) -> String {
    brief.retained_bytes.map_or("unreachable".to_owned(), bytes)
}

fn titled(object: &Brief) -> String {
    format!(
        "{} {:#x}: {} itself, {}\n",
        printable(&object.class),
        object.address,
        bytes(object.shallow_bytes),
        object
            .retained_bytes
            .map_or("which nothing reaches".to_owned(), |n| format!("{} retained", bytes(n)))
    )
}

fn briefs(out: &mut String, title: &str, all: &[Brief]) {
    let mut rows = table(&["object", "address", "shallow", "retained"], &[]);
    for brief in all {
        rows.add_row([
            shortened(&brief.class, NAME - 8),
            format!("{:#x}", brief.address),
            bytes(brief.shallow_bytes),
            retained(brief),
        ]);
    }
    section(out, title, &rows);
}

/// An object.
pub fn object(report: &ObjectReport) -> String {
    let mut out = titled(&report.object);
    if let Some(length) = report.length {
        out += &format!("  {}\n", quantity::plural(length as usize, "element", "elements"));
    }
    if let Some(value) = &report.value {
        out += &format!("  value: {}\n", printable(value));
    }
    let mut rows = table(&["field", "type", "refers to", "retained"], &[1, 2]);
    for member in &report.members {
        rows.add_row([
            shortened(&member.name, NAME / 2),
            member.kind.to_owned(),
            target(member),
            kept(member),
        ]);
    }
    section(&mut out, "Fields (values: --show-values)", &rows);
    briefs(
        &mut out,
        "Retained by, nearest first (if any of these were freed, it would be)",
        &report.dominators,
    );
    let title = format!("Retains {} directly; the largest", quantity::count(report.keeps_objects as f64));
    briefs(&mut out, &title, &report.keeps);
    out
}

fn target(member: &Member) -> String {
    match (&member.object, &member.value) {
        (Some(brief), _) => format!("{} {:#x}", shortened(&brief.class, NAME / 2), brief.address),
        (None, Some(value)) => printable(value).into_owned(),
        (None, None) => String::new(),
    }
}

fn kept(member: &Member) -> String {
    member.object.as_ref().map_or_else(String::new, retained)
}

/// The ways to an object.
pub fn ways(report: &WaysReport) -> String {
    let mut out = titled(&report.object);
    let referrers = quantity::plural(report.referrers as usize, "object refers", "objects refer");
    out += &format!("  {referrers} to it; the shortest way through each of the first of them:\n");
    if report.ways.is_empty() {
        out += "  nothing in the dump reaches it: garbage, or held by a field of java.lang.Class, which dumps leave out\n";
    }
    for way in &report.ways {
        out.push('\n');
        for line in way::lines(way, "  ") {
            out += &format!("{line}\n");
        }
    }
    out
}

/// A class.
pub fn class(report: &ClassReport) -> String {
    let sum = &report.sum;
    let mut out = format!(
        "{}: {} in {}, {} retained\n",
        printable(&report.class),
        quantity::plural(sum.objects as usize, "object", "objects"),
        bytes(sum.shallow_bytes),
        bytes(sum.retained_bytes)
    );
    if sum.unreachable_objects > 0 {
        let objects = quantity::plural(sum.unreachable_objects as usize, "more", "more");
        out += &format!("  {objects} in {} that nothing reaches\n", bytes(sum.unreachable_bytes));
    }
    if !report.superclasses.is_empty() {
        let names: Vec<_> = report.superclasses.iter().map(|name| printable(name)).collect();
        out += &format!("  extends {}\n", names.join(", "));
    }
    for loader in report.loaders.iter().take(5) {
        out += &format!("  defined by {}\n", printable(loader));
    }
    if report.loaders.len() > 5 {
        out += &format!("  and by {} other loaders\n", report.loaders.len() - 5);
    }
    briefs(&mut out, "Instances that retain most", &report.largest);
    let mut rows = table(&["retained directly by", "instances", "retained"], &[]);
    for (class, count, kept) in &report.kept_by {
        rows.add_row([shortened(class, NAME), quantity::count(*count as f64), bytes(*kept)]);
    }
    section(&mut out, "Who retains them", &rows);
    out
}
