//! One command with placeholders, in all variants: `{jdk} {flags} -cp app.jar Main`.

use crate::command::Command;

/// More variants than anybody reads a table of.
pub const MOST_VARIANTS: usize = crate::runs::MOST_COMMANDS;

/// A placeholder and the values that replace it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// `jdk` of `{jdk}`.
    pub name: String,
    /// As they were typed.
    pub values: Vec<String>,
}

impl std::str::FromStr for Axis {
    type Err = String;

    /// `jdk=17,21`, `flags=-XX:TieredStopAtLevel={1,4}`, `flags=,-Xint` (the first one is empty).
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, values) = text.split_once('=').ok_or("a placeholder with its values: jdk=17,25")?;
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
            return Err(format!("{name:?} is not a valid name of a placeholder"));
        }
        let values: Vec<String> = divided(values).into_iter().flat_map(|part| expanded(&part)).collect();
        match values.len() {
            2..=MOST_VARIANTS => Ok(Self { name: name.to_owned(), values }),
            n => Err(format!("{name} has {n} values; 2 to {MOST_VARIANTS} can be compared")),
        }
    }
}

/// A text divided at the commas that stand in no braces.
fn divided(text: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0_i32);
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        match (c, parts.last_mut()) {
            (',', _) if depth <= 0 => parts.push(String::new()),
            (c, Some(part)) => part.push(c),
            _ => {}
        }
    }
    parts
}

/// A text with each of what its braces hold: "a{1,2}" is "a1" and "a2".
fn expanded(text: &str) -> Vec<String> {
    let (Some(from), Some(to)) = (text.find('{'), text.rfind('}')) else { return vec![text.to_owned()] };
    if to < from {
        return vec![text.to_owned()];
    }
    let (before, after) = (&text[..from], &text[to + 1..]);
    let within = divided(&text[from + 1..to]);
    within.iter().map(|part| format!("{before}{part}{after}")).take(MOST_VARIANTS + 1).collect()
}

/// The command in all variants; `resolved` says what a value of a placeholder becomes.
pub fn variants(
    words: &[String],
    axes: &[Axis],
    resolved: impl Fn(&str, &str) -> Result<String, String>,
) -> Result<Vec<Command>, String> {
    for (i, axis) in axes.iter().enumerate() {
        if !words.iter().any(|word| word.contains(&format!("{{{}}}", axis.name))) {
            return Err(format!("the command has no {{{}}}", axis.name));
        }
        if axes[..i].iter().any(|other| other.name == axis.name) {
            return Err(format!("{} is given twice", axis.name));
        }
    }
    let number = axes.iter().try_fold(1_usize, |n, axis| n.checked_mul(axis.values.len()));
    if number.is_none_or(|n| n > MOST_VARIANTS) {
        return Err(format!("more than {MOST_VARIANTS} variants"));
    }
    let mut all: Vec<(String, Vec<String>)> = vec![(String::new(), words.to_vec())];
    for axis in axes {
        let mut further = Vec::with_capacity(all.len() * axis.values.len());
        for (label, words) in &all {
            for value in &axis.values {
                let put = resolved(&axis.name, value)?;
                let words = words.iter().map(|w| w.replace(&format!("{{{}}}", axis.name), &put)).collect();
                further.push((format!("{label} {}={value}", axis.name).trim_start().to_owned(), words));
            }
        }
        all = further;
    }
    let commands = all.into_iter().map(|(label, words)| {
        // A placeholder that stands alone and is empty is no argument.
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        Command::of(&label, &words).ok_or_else(|| "the command is empty".to_owned())
    });
    commands.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(text: &str) -> Axis {
        text.parse().unwrap()
    }

    #[test]
    fn values_are_divided_by_commas_and_braces_multiply() {
        assert_eq!(axis("jdk=17,25").values, ["17", "25"]);
        assert_eq!(axis("flags=,-XX:L={0,1}").values, ["", "-XX:L=0", "-XX:L=1"]);
        assert_eq!(axis("x={a,b}c").values, ["ac", "bc"]);
        assert!(
            ["jdk", "jdk=17", "=1,2", "a b=1,2", "x=}{"].iter().all(|text| text.parse::<Axis>().is_err())
        );
    }

    #[test]
    fn all_variants_are_made_with_their_labels() {
        let words = ["{jdk} {flags} Main".to_owned()];
        let axes = [axis("jdk=17,25"), axis("flags=,-Xint")];
        let resolve = |name: &str, value: &str| {
            Ok(if name == "jdk" { format!("/jdk{value}/bin/java") } else { value.to_owned() })
        };
        let all = variants(&words, &axes, resolve).unwrap();
        assert_eq!(all.len(), 4);
        assert_eq!(all[0].words, ["/jdk17/bin/java", "Main"]);
        assert_eq!(all[3].words, ["/jdk25/bin/java", "-Xint", "Main"]);
        assert_eq!(all[3].label, "jdk=25 flags=-Xint");
    }

    #[test]
    fn what_does_not_fit_the_command_is_said() {
        let words = ["{jdk} Main".to_owned()];
        let plain = |_: &str, value: &str| Ok(value.to_owned());
        let said = |axes: &[Axis]| variants(&words, axes, plain).unwrap_err();
        assert_eq!(said(&[axis("flags=1,2")]), "the command has no {flags}");
        assert_eq!(said(&[axis("jdk=1,2"), axis("jdk=3,4")]), "jdk is given twice");
        let long = "x".to_owned() + &",x".repeat(99);
        assert!(format!("jdk={long}").parse::<Axis>().is_err());
    }
}
