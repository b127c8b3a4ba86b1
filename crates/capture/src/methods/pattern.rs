//! How methods are asked for: `package.Class::method`, with `*` for anything and a descriptor where
//! it matters.

use std::str::FromStr;

use fathom_hotspot::symbols::Method;

/// Longest pattern taken. Matching takes at most its length times that of a name.
const LONGEST: usize = 512;

/// Which methods are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    class: String,
    name: String,
    descriptor: Option<String>,
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write package.Class::method, with * for any characters and, where one of several of the same name \
                            is meant, its descriptor: java.util.HashMap::put, 'com.shop.*::find*', \
                            'java.lang.String::indexOf(I)I'";
        if text.len() > LONGEST || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(format!("{FORM} (at most {LONGEST} characters, no blanks)"));
        }
        let (names, descriptor) = match text.find('(') {
            Some(at) => (&text[..at], Some(text[at..].to_owned())),
            None => (text, None),
        };
        let (class, name) = names.split_once("::").or_else(|| names.rsplit_once('.')).ok_or(FORM)?;
        if class.is_empty() || name.is_empty() || name.contains([':', '/']) {
            return Err(FORM.to_owned());
        }
        // As the JVM writes classes.
        Ok(Self { text: text.to_owned(), class: class.replace('/', "."), name: name.to_owned(), descriptor })
    }
}

impl Pattern {
    /// The class, with dots; `*` for any characters.
    pub fn class(&self) -> &str {
        &self.class
    }

    /// The name of the method; `*` for any characters.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The descriptor, where one was given.
    pub fn descriptor(&self) -> Option<&str> {
        self.descriptor.as_deref()
    }

    /// Whether it means a method. A class without a package and without `*` is one of any package.
    pub fn means(&self, method: &Method) -> bool {
        self.means_parts(&method.class, &method.name, &method.signature)
    }

    /// The same of a method as a [`super::MethodReport`] names it: "package.Class::method(I)V".
    pub fn means_named(&self, name: &str) -> bool {
        let (names, signature) = name.split_at(name.find('(').unwrap_or(name.len()));
        names.split_once("::").is_some_and(|(class, name)| self.means_parts(class, name, signature))
    }

    fn means_parts(&self, class: &str, name: &str, signature: &str) -> bool {
        let simple = class.rsplit_once('.').map_or(class, |(_, simple)| simple);
        let is_class = fits(&self.class, class) || (!self.class.contains(['.', '*']) && self.class == simple);
        is_class
            && fits(&self.name, name)
            && self.descriptor.as_ref().is_none_or(|descriptor| fits(descriptor, signature))
    }

    /// Whether a method has the name that is meant, whatever its class.
    pub fn has_name(&self, method: &Method) -> bool {
        self.name != "*" && fits(&self.name, &method.name)
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// Whether a text fits a pattern in which `*` stands for any characters.
fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    // Where to go on when what follows the last `*` does not fit here.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p + 1, t));
            p += 1;
        } else if pattern.get(p) == Some(&text[t]) {
            p += 1;
            t += 1;
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            (p, t) = (after, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pattern(text: &str) -> Pattern {
        text.parse().unwrap()
    }

    #[test]
    fn a_pattern_is_split_into_class_method_and_descriptor() {
        let split = |text: &str| {
            let pattern = pattern(text);
            (pattern.class, pattern.name, pattern.descriptor)
        };
        let plain = |class: &str, name: &str| (class.to_owned(), name.to_owned(), None);
        assert_eq!(split("java.util.HashMap::put"), plain("java.util.HashMap", "put"));
        assert_eq!(split("java.util.HashMap.put"), plain("java.util.HashMap", "put"));
        assert_eq!(split("java/util/HashMap::<init>"), plain("java.util.HashMap", "<init>"));
        let with = split("a.B.c(Ljava/lang/String;)V");
        assert_eq!(with, ("a.B".into(), "c".into(), Some("(Ljava/lang/String;)V".into())));
        let named = "com.shop.Cart::put(I)V";
        assert!(pattern("Cart::put").means_named(named) && pattern("com.*::p*(I)V").means_named(named));
        assert!(!pattern("Cart::get").means_named(named) && !pattern("Cart::put(J)V").means_named(named));
        for wrong in ["", "put", "::put", "A::", "A::b::c", "A b::c", "A::b/c"] {
            assert!(wrong.parse::<Pattern>().is_err(), "{wrong:?}");
        }
        assert!("x".repeat(LONGEST + 1).parse::<Pattern>().is_err());
    }

    #[test]
    fn a_star_stands_for_any_characters_and_for_none() {
        assert!(fits("*", "") && fits("*", "abc") && fits("a*c", "ac") && fits("a*c*", "abcabd"));
        assert!(
            fits("sun.*.ssl.*", "sun.security.ssl.Alert") && fits("*Handshake*", "ServerHandshakeContext")
        );
        assert!(!fits("a*c", "abd") && !fits("", "a") && !fits("ab", "abc") && !fits("*a", "ab"));
    }

    proptest! {
        #[test]
        fn fitting_is_what_a_regular_expression_says(pattern in "[ab*]{0,8}", text in "[ab]{0,10}") {
            let expression = regex_lite::Regex::new(&format!("^{}$", pattern.replace('*', ".*"))).unwrap();
            prop_assert_eq!(fits(&pattern, &text), expression.is_match(&text));
        }
    }
}
