//! Flags that differ: name, both values and who set them, and what the flag is for.

use fathom_compare::flags::{Because, Difference, Flag, FlagsReport};
use fathom_diagnose::quantity;

use super::runs::paragraph;
use crate::printable;
use crate::tables::shortened;
use crate::text::left;

/// Differing defaults that are shown without `--all`.
const MOST_DEFAULTS: usize = 12;
/// Columns of a name, and of a value.
const NAME: usize = 34;
const VALUE: usize = 30;

/// The differences as text of at most 100 columns; `all`: every one of them.
pub fn flags(report: &FlagsReport, all: bool) -> String {
    let mut out = String::new();
    for (label, i) in [("A", 0), ("B", 1)] {
        let known = quantity::plural(report.known[i], "flag", "flags");
        let whole = if report.whole[i] { "" } else { " that the command line sets; the rest is not known" };
        paragraph(&mut out, &format!("{label}: {}: {known}{whole}", printable(&report.of[i])), "");
    }
    if report.differ.is_empty() {
        out.push_str("\nNothing differs.\n");
    }
    let titles = [
        (Because::Set, "Set explicitly"),
        (Because::Ergonomics, "Chosen by the JVM, by the machine and other flags"),
        (Because::Default, "Defaults that differ"),
        (Because::Unknown, "Differ; what set them is not known"),
    ];
    for (because, title) in titles {
        let rows: Vec<&Difference> = report.differ.iter().filter(|d| d.because == because).collect();
        if rows.is_empty() {
            continue;
        }
        out.push_str(&format!("\n{title}\n"));
        let most = if all || because == Because::Set { usize::MAX } else { MOST_DEFAULTS };
        for row in rows.iter().take(most) {
            difference(&mut out, row);
        }
        let more = rows.len().saturating_sub(most);
        if more > 0 {
            out.push_str(&format!("  … and {more} more (--all)\n"));
        }
    }
    for (label, names) in [("A", &report.only_first), ("B", &report.only_second)] {
        if names.is_empty() {
            continue;
        }
        let count = quantity::plural(names.len(), "flag", "flags");
        let list = if all { format!(": {}", names.join(" ")) } else { " (--all)".to_owned() };
        out.push('\n');
        paragraph(&mut out, &format!("{count} that only {label} has, at the default{list}"), "");
    }
    out
}

fn difference(out: &mut String, row: &Difference) {
    let kind = row.first.as_ref().or(row.second.as_ref()).and_then(|f| f.kind.as_deref());
    let shown = |as_size| {
        [&row.first, &row.second].map(|f| f.as_ref().map_or("–".to_owned(), |f| value(f, as_size)))
    };
    // Where two sizes round to one, or one of them may be no size, all digits are shown.
    let are_sizes = [&row.first, &row.second].into_iter().flatten().all(may_be_size);
    let sizes = shown(are_sizes);
    let [a, b] = if without_origin(&sizes[0]) == without_origin(&sizes[1]) { shown(false) } else { sizes };
    let name = left(&shortened(&row.name, NAME), NAME);
    let line = format!("  {name} {} {}", left(&shortened(&a, VALUE), VALUE), shortened(&b, VALUE));
    out.push_str(line.trim_end());
    out.push('\n');
    let says = match (row.meaning, kind) {
        (Some(meaning), _) => meaning.to_owned(),
        (None, Some(kind)) => format!("({})", printable(kind)),
        (None, None) => return,
    };
    paragraph(out, &says, "      ");
}

/// The value, if it is a number from which on it matters whether it counts bytes.
fn large(flag: &Flag) -> Option<f64> {
    flag.value.parse::<f64>().ok().filter(|n| *n >= 1_048_576.0)
}

/// What counts bytes is a whole number of kilobytes, or of a type for it.
fn may_be_size(flag: &Flag) -> bool {
    large(flag).is_none_or(|n| n % 1024.0 == 0.0 || flag.r#type.as_deref() == Some("size_t"))
}

/// "1.0 GB (command line)".
fn value(flag: &Flag, as_size: bool) -> String {
    let size = large(flag).filter(|_| as_size);
    let text = if flag.value.is_empty() { "\"\"" } else { flag.value.as_str() };
    let shown = size.map_or_else(|| text.to_owned(), quantity::bytes);
    match flag.origin.as_deref() {
        Some(origin) if origin != "default" => format!("{shown} ({origin})"),
        _ => shown,
    }
}

fn without_origin(value: &str) -> &str {
    value.split(" (").next().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_round_to_one_are_shown_in_bytes() {
        let jvm = |bytes: &str| fathom_compare::flags::of_arguments(&format!("-XX:CodeSize={bytes}"));
        let shown = |a: &str, b: &str| {
            let report = fathom_compare::flags::differences(["a".into(), "b".into()], [&jvm(a), &jvm(b)]);
            flags(&report, false)
        };
        let (near, far) = (shown("251658240", "251662336"), shown("1g", "2g"));
        assert!(near.contains("251658240 (command line)") && near.contains("251662336"), "{near}");
        assert!(far.contains("1.0 GB (command line)") && far.contains("2.0 GB"), "{far}");
        let one_is_none = shown("5826188", "5832704");
        assert!(one_is_none.contains("5826188 (") && one_is_none.contains("5832704 ("), "{one_is_none}");
        assert!(near.lines().all(|line| line.chars().count() <= 100), "{near}");
        assert!(shown("1g", "1024m").ends_with("Nothing differs.\n"));
    }
}
