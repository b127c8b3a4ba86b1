//! System properties of a running JVM.

use std::collections::BTreeMap;

use fathom_recording::secrets::{is_secret, masked_argument};

use crate::Result;
use crate::attach::Attach;

impl Attach {
    /// The system properties, values of secrets masked ("***").
    pub fn properties(&self) -> Result<BTreeMap<String, String>> {
        let mut properties = parse(&self.execute("properties", &[])?);
        for (name, value) in &mut properties {
            if is_secret(name) {
                "***".clone_into(value);
            } else if name == "sun.java.command" {
                // The program's own arguments may hold anything.
                let main = value.split_whitespace().next().unwrap_or_default().to_owned();
                *value = main;
            } else {
                *value = masked_argument(value);
            }
        }
        Ok(properties)
    }
}

/// Parses the text that `java.util.Properties.store` writes: one pair per line, special characters
/// escaped.
fn parse(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter(|line| !line.starts_with(['#', '!'])).filter_map(|line| {
        // The first `=` or `:` that is not escaped; `store` always writes `=`.
        let mut escaped = false;
        let at = line.find(|c: char| {
            let found = c == '=' && !escaped;
            escaped = c == '\\' && !escaped;
            found
        })?;
        Some((unescaped(&line[..at]), unescaped(&line[at + 1..])))
    });
    pairs.collect()
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Characters beyond the first plane are two escapes: collected as UTF-16.
    let mut units: Vec<u16> = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let unit = (c == '\\').then(|| chars.next()).flatten();
        if unit == Some('u') {
            let digits: String = chars.by_ref().take(4).collect();
            units.extend(u16::from_str_radix(&digits, 16));
            continue;
        }
        out += &String::from_utf16_lossy(&std::mem::take(&mut units));
        out.push(match unit {
            Some('t') => '\t',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('f') => '\u{c}',
            Some(other) => other,
            None => c,
        });
    }
    out + &String::from_utf16_lossy(&units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_a_stored_file_are_undone() {
        let text =
            "#Sat Nov 21 14:00:00 UTC 2026\na\\=b=c\\:d\nsep=\\n\nface=\\uD83D\\uDE00x\nempty=\nnonsense\n";
        let parsed = parse(text);
        assert_eq!(parsed["a=b"], "c:d");
        assert_eq!(
            (parsed["sep"].as_str(), parsed["face"].as_str(), parsed["empty"].as_str()),
            ("\n", "😀x", "")
        );
        assert_eq!(parsed.len(), 4);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,80}") {
            parse(&text);
        }
    }
}
