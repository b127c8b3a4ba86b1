//! Masks secrets in a JVM's command line and properties, so that a recording or a screen can be
//! shown to somebody else.
//!
//! Everything that comes from a JVM's arguments goes through here. The name in front of the `=`
//! decides what is masked: `-Ddb.password=…`, `-Djavax.net.ssl.trustStorePassword=…`, the options
//! of agents (`-javaagent:apm.jar=token=…,host=…`) and the parameters of URLs
//! (`…?user=u&password=…`); within a URL its position after the user's name does
//! (`jdbc:mysql://u:…@host/db`, `jdbc:oracle:thin:u/…@host`).
//!
//! Limit: a secret under an innocent name (`-Dx=hunter2`) is not recognised.

/// Parts of names, in lower case, whose values are secret.
const SECRET: [&str; 8] = ["password", "passwd", "passphrase", "secret", "token", "key", "credential", "pwd"];

/// The arguments with the values of secrets replaced by "***".
///
/// Logs print arguments separated by spaces and without quotes, so that a value may continue after
/// a space: what follows a secret up to the next word that begins with `-` is dropped with it.
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
        in_secret = mask_word(&masked_urls(word), &mut out) || names_the_next(word);
        if in_secret && !word.contains('=') {
            out.push_str(" ***");
        }
    }
    out
}

/// Whether an argument is the name of a secret whose value is the next one: `--password hunter2`.
fn names_the_next(word: &str) -> bool {
    word.starts_with("--") && !word.contains('=') && is_secret(word)
}

/// The characters that end the user and the host of a URL.
const BEHIND_HOST: [char; 5] = ['/', '?', '#', ';', ','];

/// A text with the passwords in its URLs replaced by "***": what stands between the user's name and
/// the `@`.
pub fn masked_urls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, behind) = rest.split_at(at + 3);
        out.push_str(before);
        let is_web = before.ends_with("http://") || before.ends_with("https://");
        rest = match password_in(behind).or_else(|| token_in(behind, is_web)) {
            Some((from, to)) => {
                out.push_str(&behind[..from]);
                out.push_str("***");
                &behind[to..]
            }
            None => behind,
        };
    }
    out.push_str(rest);
    masked_oracle(out)
}

/// Where the password is in a URL without its scheme: from the colon after the user to the last
/// `@`, because a password that was not encoded may contain both `@` and `/`. A path with an `@`
/// after a password is masked as well, so that no part of a password is shown.
fn password_in(url: &str) -> Option<(usize, usize)> {
    let url = &url[..url.find(char::is_whitespace).unwrap_or(url.len())];
    // The next URL of a list begins after the last comma before its scheme.
    let next = url.find("://").map(|scheme| url[..scheme].rfind([',', ';']).unwrap_or(scheme));
    let url = &url[..next.unwrap_or(url.len())];
    let end = url.find(BEHIND_HOST).unwrap_or(url.len());
    let colon = url[..end].find(':').filter(|_| !url.starts_with('['))?;
    // A port has digits only, and is not followed by a password.
    let is_port = url[colon + 1..end].bytes().all(|byte| byte.is_ascii_digit());
    if is_port && end < url.len() {
        return None;
    }
    let query = url[colon..].find('?').map_or(url.len(), |at| colon + at);
    let at = url[..query].rfind('@').or_else(|| url.rfind('@')).filter(|at| *at > colon)?;
    Some((colon + 1, at))
}

/// User names are shorter than this, and tokens longer.
const TOKEN_FROM: usize = 16;

/// Where a token stands alone before the host, as in `https://TOKEN@host`: on the web a long name
/// without a password is one, and elsewhere if it has digits among its letters, which names of
/// accounts hardly have.
fn token_in(url: &str, is_web: bool) -> Option<(usize, usize)> {
    let end = url.find(BEHIND_HOST).unwrap_or(url.len());
    let name = &url[..url[..end].rfind('@')?];
    let is_token = is_web || name.contains(|c: char| c.is_ascii_digit());
    (is_token && name.len() >= TOKEN_FROM).then_some((0, name.len()))
}

/// `jdbc:oracle:thin:scott/tiger@host:1521/db`.
fn masked_oracle(mut text: String) -> String {
    let Some(from) = text.find("jdbc:oracle:") else { return text };
    let url = &text[from..];
    let password = url.find('/').zip(url.find('@')).filter(|(slash, at)| slash < at);
    if let Some((slash, at)) = password {
        text.replace_range(from + slash + 1..from + at, "***");
    }
    text
}

/// Appends one argument, masked. Returns whether it ends in a secret.
fn mask_word(word: &str, out: &mut String) -> bool {
    let mut rest = word;
    loop {
        let Some(at) = rest.find('=') else {
            out.push_str(rest);
            return false;
        };
        let (name, value) = (&rest[..at], &rest[at + 1..]);
        let name_from = name.rfind([',', ':', '=', '?', '&', ';']).map_or(0, |i| i + 1);
        let is_parameter = name_from > 0 && matches!(name.as_bytes()[name_from - 1], b'?' | b'&' | b';');
        out.push_str(&rest[..=at]);
        if is_secret(&name[name_from..]) {
            // A switch is no secret: jdk.tls.useExtendedMasterSecret=false.
            out.push_str(if matches!(value, "true" | "false") { value } else { "***" });
            // Agents take lists of options: the next one follows a comma. A comma within a secret
            // must not expose the rest of it, so that only "name=value" counts as the next option.
            if let Some(end) = value.find(['&', ';']).filter(|_| is_parameter) {
                rest = &value[end..];
                continue;
            }
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

/// Whether a name denotes a secret, whose value must not be shown.
pub fn is_secret(name: &str) -> bool {
    // "db.pass" and "dbPass" are passwords; "bypass" and "passes" are not.
    let last = name.rsplit(['.', '-', '_']).next().unwrap_or(name);
    let is_pass = last.eq_ignore_ascii_case("pass") || last.ends_with("Pass");
    let name = name.to_ascii_lowercase();
    is_pass || SECRET.iter().any(|part| name.contains(part))
}

/// Like the above, for arguments that are separated, as `/proc/PID/cmdline` has them: a value ends
/// where its argument ends.
pub fn masked_argument(argument: &str) -> String {
    let mut out = String::with_capacity(argument.len());
    mask_word(&masked_urls(argument), &mut out);
    out
}

/// Arguments kept of a program: members of a cluster differ in the first few.
const PROGRAM_ARGUMENTS: usize = 8;
/// Characters of an argument of a program: keys and tokens are longer than names of members.
const PROGRAM_ARGUMENT: usize = 32;

/// The arguments of a program that may be kept, to distinguish members of a cluster: the first
/// short ones, without values that a name before them marks as secret (`--password=x`, `--password
/// x`) and without addresses that name a user (`db://user:word@host`).
pub fn program_arguments<'a>(arguments: impl Iterator<Item = &'a str>) -> String {
    let mut kept: Vec<String> = Vec::new();
    let mut in_secret = false;
    for word in arguments.flat_map(str::split_whitespace).take(PROGRAM_ARGUMENTS) {
        // A value may continue after a space: only the next option ends it.
        if word.starts_with('-') {
            in_secret = is_secret(word) && !word.contains('=');
        } else if in_secret {
            continue;
        }
        if !word.contains('@') && word.chars().count() <= PROGRAM_ARGUMENT {
            kept.push(masked_argument(word));
        }
    }
    kept.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_by_its_short_name_and_a_token_before_a_host_are_masked() {
        assert_eq!(
            masked("-Ddb.pass=hunter2 -DdbPass=x -Dbypass=on"),
            "-Ddb.pass=*** -DdbPass=*** -Dbypass=on"
        );
        assert_eq!(masked("https://ghp_abcdefgh12345678@example.org/a.git"), "https://***@example.org/a.git");
        assert_eq!(masked("amqp://tk9f8e7d6c5b4a39281@mq:5672/v"), "amqp://***@mq:5672/v");
        assert_eq!(masked("db://scott@db:1521/x"), "db://scott@db:1521/x", "a name is no secret");
        assert_eq!(masked("db://order-service-account@db/x"), "db://order-service-account@db/x");
    }

    #[test]
    fn of_a_programs_arguments_what_may_be_a_secret_is_not_kept() {
        let kept = |line: &str| program_arguments(line.split(' '));
        assert_eq!(kept("db2 2 --port 8080"), "db2 2 --port 8080");
        assert_eq!(
            kept("n1 --password=hunter2 --db-password hunter 2 -v"),
            "n1 --password=*** --db-password -v"
        );
        assert_eq!(kept("jdbc:pg://me:word@host eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9 n1"), "n1");
        assert_eq!(program_arguments(["--token", "a b"].into_iter()), "--token");
    }

    #[test]
    fn a_switch_is_no_secret_whatever_its_name() {
        let line = "-Djdk.tls.useExtendedMasterSecret=false -Dkey.check=true";
        assert_eq!(masked(line), line);
        assert_eq!(masked("-Ddb.pass=true crime -Xmx1g"), "-Ddb.pass=true -Xmx1g", "its end may be one");
    }

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

    #[test]
    fn passwords_in_urls_are_masked_wherever_they_stand() {
        for (given, shown) in [
            (
                "-Dspring.datasource.url=jdbc:mysql://u:PASS@db:3306/x",
                "-Dspring.datasource.url=jdbc:mysql://u:***@db:3306/x",
            ),
            ("-Durl=amqp://u:p/a@s@h/v", "-Durl=amqp://u:***@h/v"),
            ("-Durl=postgres://u:p@ss/word@h:5432/d", "-Durl=postgres://u:***@h:5432/d"),
            ("-Durl=http://u:p?q@h/d", "-Durl=http://u:***@h/d"),
            ("-Durl=http://u:p@h/d?mail=a@b", "-Durl=http://u:***@h/d?mail=a@b"),
            ("-Durl=http://[::1]:8080/a@b", "-Durl=http://[::1]:8080/a@b"),
            ("-Durl=postgres://u:p@ss@h:5432/d", "-Durl=postgres://u:***@h:5432/d"),
            (
                "-Durl=jdbc:postgresql://h/d?user=u&password=PASS&ssl=true",
                "-Durl=jdbc:postgresql://h/d?user=u&password=***&ssl=true",
            ),
            (
                "-Durl=jdbc:sqlserver://h:1433;user=u;pwd=PASS;x=y",
                "-Durl=jdbc:sqlserver://h:1433;user=u;pwd=***;x=y",
            ),
            ("-Durl=jdbc:oracle:thin:scott/tiger@h:1521/d", "-Durl=jdbc:oracle:thin:scott/***@h:1521/d"),
            ("-Durl=https://h/p?token=T0P&secret=S", "-Durl=https://h/p?token=***&secret=***"),
            ("-Durl=http://h:8080/a/b@c:d", "-Durl=http://h:8080/a/b@c:d"),
            ("-Dbrokers=amqp://a:b@h1,amqp://c:d@h2", "-Dbrokers=amqp://a:***@h1,amqp://c:***@h2"),
            ("https://u@h/p", "https://u@h/p"),
        ] {
            assert_eq!(masked(given), shown);
            assert_eq!(masked_argument(given), shown);
        }
        assert_eq!(masked("--db-password hunter2 --port 1"), "--db-password *** --port 1");
    }

    proptest::proptest! {
        #[test]
        fn no_arguments_make_it_panic(args in "\\PC{0,80}") {
            masked(&args);
            masked_argument(&args);
        }
    }
}
