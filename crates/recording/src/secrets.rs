//! Secrets in a JVM's command line and properties, masked so that a recording or a screen can be shown to somebody else.
//!
//! All that begins with a JVM's arguments goes through here. What is masked is told by the name in front of the `=`:
//! `-Ddb.password=…`, `-Djavax.net.ssl.trustStorePassword=…`, and the options of agents
//! (`-javaagent:apm.jar=token=…,host=…`).
//!
//! Limit: a secret under an innocent name (`-Dx=hunter2`) is not known as one.

/// Parts of names whose values are nobody's business, lower case.
const SECRET: [&str; 8] = ["password", "passwd", "passphrase", "secret", "token", "key", "credential", "pwd"];

/// The arguments with the values of secrets replaced by "***".
///
/// The logs print arguments with spaces between and no quotes, so that a value may go on behind a space: what
/// follows a secret up to the next word that begins with `-` is dropped with it.
pub fn masked(args: &str) -> String {
    let mut out = String::with_capacity(args.len());
    let mut in_secret = false;
    for word in args.split_whitespace() {
        if in_secret && !word.starts_with('-') {
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        in_secret = mask_word(word, &mut out);
    }
    out
}

/// Appends one argument, masked. Tells whether it ends in a secret.
fn mask_word(word: &str, out: &mut String) -> bool {
    let mut rest = word;
    loop {
        let Some(at) = rest.find('=') else {
            out.push_str(rest);
            return false;
        };
        let (name, value) = (&rest[..at], &rest[at + 1..]);
        let name_from = name.rfind([',', ':', '=']).map_or(0, |i| i + 1);
        out.push_str(&rest[..=at]);
        if is_secret(&name[name_from..]) {
            out.push_str("***");
            // Agents take lists of options: the next one stands behind a comma. A comma within a secret must not
            // lay its rest open, so that what follows counts only as "name=value".
            match value.find(',').filter(|comma| value[comma + 1..].contains('=')) {
                Some(comma) if word.starts_with("-javaagent:") || word.starts_with("-agent") => {
                    rest = &value[comma..];
                }
                _ => return true,
            }
        } else {
            rest = value;
        }
    }
}

/// Whether a name speaks of a secret, so that its value is nobody's business.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

/// The same of arguments that are told apart, as `/proc/PID/cmdline` has them: a value ends where its argument ends.
pub fn masked_argument(argument: &str) -> String {
    let mut out = String::with_capacity(argument.len());
    mask_word(argument, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secrets_are_masked_and_nothing_else() {
        assert_eq!(masked("-Xmx1g -Ddb.password=hunter2 -Dx=y"), "-Xmx1g -Ddb.password=*** -Dx=y");
        assert_eq!(masked("-DAPI_TOKEN=a=b,c -Xss1m"), "-DAPI_TOKEN=*** -Xss1m");
        assert_eq!(masked("-Dsecret=my long value -Dx=two words"), "-Dsecret=*** -Dx=two words");
        assert_eq!(
            masked("-javaagent:apm.jar=host=h,token=t0p,port=1 -Xint"),
            "-javaagent:apm.jar=host=h,token=***,port=1 -Xint"
        );
        assert_eq!(masked("-javaagent:apm.jar=token=a,b"), "-javaagent:apm.jar=token=***");
        assert_eq!(masked("-Xlog:gc*:file=gc.log:uptime"), "-Xlog:gc*:file=gc.log:uptime");
        assert_eq!(masked(""), "");
    }

    #[test]
    fn an_argument_of_its_own_is_masked_to_its_end_however_many_words_it_has() {
        assert_eq!(masked_argument("-Dsecret=a -b c"), "-Dsecret=***");
        assert_eq!(masked_argument("-Dname=a -b c"), "-Dname=a -b c");
        assert_eq!(masked_argument("-javaagent:a.jar=api_key=1,x=2"), "-javaagent:a.jar=api_key=***,x=2");
    }

    proptest::proptest! {
        #[test]
        fn no_arguments_make_it_panic(args in "\\PC{0,80}") {
            masked(&args);
            masked_argument(&args);
        }
    }
}
