//! What grew from one dump to the next.

use fathom_diagnose::quantity;
use fathom_heap::Growth;

use crate::printable;
use crate::tables::{section, shortened, table};
use crate::text::wrap;

fn signed(from: u64, to: u64, written: impl Fn(f64) -> String) -> String {
    let sign = if to >= from { "+" } else { "-" };
    format!("{sign}{}", written(to.abs_diff(from) as f64))
}

/// The growth as text of at most 100 columns.
pub fn growth(growth: &Growth) -> String {
    let [before, after] = growth.bytes;
    let mut out = format!(
        "{} → {} reachable ({}), {} objects\n",
        quantity::bytes(before as f64),
        quantity::bytes(after as f64),
        signed(before, after, quantity::bytes),
        signed(growth.objects[0], growth.objects[1], quantity::count),
    );
    if growth.chains.is_empty() {
        out += "\nNothing grew by 1% of the heap or more in one place.\n";
    } else {
        out += "\nWhere growth is held (from the roots down, each holds what is right of it)\n";
    }
    for chain in &growth.chains {
        let [from, to] = chain.retained_bytes;
        let names: Vec<_> = chain.chain.iter().map(|name| printable(name)).collect();
        let text = format!(
            "{}: {} → {}, {} objects ({} → {})",
            signed(from, to, quantity::bytes),
            quantity::bytes(from as f64),
            quantity::bytes(to as f64),
            signed(chain.objects[0], chain.objects[1], quantity::count),
            quantity::count(chain.objects[0] as f64),
            quantity::count(chain.objects[1] as f64),
        );
        out += &format!("  {text}\n");
        for line in wrap(&names.join(" → "), 92) {
            out += &format!("      {line}\n");
        }
    }
    let mut rows = table(&["class", "objects", "change", "shallow", "change"], &[]);
    for class in &growth.classes {
        rows.add_row([
            shortened(&class.class, 44),
            quantity::count(class.objects[1] as f64),
            signed(class.objects[0], class.objects[1], quantity::count),
            quantity::bytes(class.shallow_bytes[1] as f64),
            signed(class.shallow_bytes[0], class.shallow_bytes[1], quantity::bytes),
        ]);
    }
    section(&mut out, "Classes whose objects changed most", &rows);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shrank_has_the_minus_sign_of_all_numbers() {
        assert_eq!(signed(3_000, 1_000, quantity::count), "-2,000");
        assert_eq!(signed(1, 3, quantity::count), "+2");
    }
}
