//! Names that somebody may have meant.

/// Names listed at most.
const MOST: usize = 6;
/// Longer names are compared by what they contain only.
const LONGEST: usize = 64;

/// "; near it: a, b, c", of names that are like one of two words; "" when there is none.
pub(crate) fn similar_names(wanted: &str, other: &str, names: &[String]) -> String {
    let mut ranked: Vec<(usize, &str)> = names
        .iter()
        .filter_map(|name| Some((distance(wanted, name).or_else(|| distance(other, name))?, name.as_str())))
        .collect();
    ranked.sort_unstable();
    ranked.dedup();
    let near: Vec<&str> = ranked.iter().map(|(_, name)| *name).take(MOST).collect();
    if near.is_empty() { String::new() } else { format!("; near it: {}", near.join(", ")) }
}

/// How far a name is from what was written; `None`: too far.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let (wanted, lower) = (wanted.to_lowercase(), name.to_lowercase());
    if wanted.is_empty() {
        return None;
    }
    if lower.contains(&wanted) {
        return Some(lower.len() - wanted.len());
    }
    // One that contains it ranks by what else it holds, one that is misspelt behind those that are
    // nearly the same.
    if wanted.len() > LONGEST || lower.len() > LONGEST || wanted.len().abs_diff(lower.len()) > 3 {
        return None;
    }
    // Two neighbours that changed places are one edit.
    let edits = strsim::osa_distance(&wanted, &lower);
    (edits <= 1 + wanted.len() / 5).then_some(edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_contain_it_or_are_misspelt_are_near() {
        let names = ["open", "open64", "fopen", "close", "getaddrinfo"].map(str::to_owned);
        assert_eq!(similar_names("oepn64", "", &names), "; near it: open64");
        assert_eq!(similar_names("open", "", &names), "; near it: open, fopen, open64");
        assert_eq!(similar_names("zzzzzz", "", &names), "");
        assert_eq!(similar_names("stpo", "", &["stop".to_owned()]), "; near it: stop");
    }
}
