//! The name of a request: its method and its path, with `*` for whatever distinguishes one request
//! from another.
//!
//! Nothing that may be a secret or a person is recorded: no query string, no parameters of a path,
//! no host, and of a path only segments that look like a route ("orders", "v1", "oauth2"). A
//! segment that has other digits, an escape, a sign, more letters than a word or many of both cases
//! is `*`. So are positions in the path with too many names, because words may name users as well.

use rustc_hash::FxHashMap;

/// Longer segments are not words of a route, characters.
const LONGEST_WORD: usize = 32;
/// Letters that a hexadecimal number may consist of by chance: "decade", "facade" are words.
const SHORTEST_HEX: usize = 8;
/// This many letters of both cases are a token: readable route names are not worth a leaked secret.
const SHORTEST_TOKEN: usize = 12;
/// Names at one position of a path; more are the names of things.
const MOST_NAMES: usize = 48;
/// Names of requests in total.
const MOST_TEMPLATES: usize = 2048;
/// Segments of a path that are kept.
const DEEPEST: usize = 8;
/// Methods that are named; anything else may be arbitrary text.
const METHODS: [&str; 16] = [
    "GET",
    "POST",
    "PUT",
    "DELETE",
    "HEAD",
    "OPTIONS",
    "PATCH",
    "CONNECT",
    "TRACE",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
];
/// The name of a line without a request: a client that connected and sent nothing, or not HTTP.
const NO_REQUEST: &str = "no request";

/// The names of requests so far.
#[derive(Debug, Default)]
pub(super) struct Templates {
    names: Vec<String>,
    ids: FxHashMap<String, u32>,
    /// The number of names at a position, by the path that leads to it.
    children: FxHashMap<String, usize>,
}

impl Templates {
    /// The id of a request's name.
    pub(super) fn of(&mut self, method: &str, target: &str) -> u32 {
        let method = METHODS.iter().find(|known| known.eq_ignore_ascii_case(method));
        let Some(method) = method else { return self.id(NO_REQUEST.to_owned()) };
        let mut name = format!("{method} ");
        for segment in segments(target).take(DEEPEST) {
            let at = name.len();
            name.push('/');
            name.push_str(word(segment));
            if name.ends_with("/*") || self.ids.contains_key(&name) || self.children.contains_key(&name) {
                continue;
            }
            let parent = name.get(..at).unwrap_or_default();
            let known = self.children.entry(parent.to_owned()).or_insert(0);
            if *known < MOST_NAMES && self.names.len() < MOST_TEMPLATES {
                *known += 1;
                self.children.entry(name.clone()).or_insert(0);
            } else {
                name.truncate(at);
                name.push_str("/*");
            }
        }
        if segments(target).nth(DEEPEST).is_some() {
            name.push_str("/…");
        }
        if name.ends_with(' ') {
            name.push_str(if target.starts_with('/') || target.contains("://") { "/" } else { "*" });
        }
        if self.names.len() >= MOST_TEMPLATES && !self.ids.contains_key(&name) {
            name = format!("{method} *");
        }
        self.id(name)
    }

    fn id(&mut self, name: String) -> u32 {
        let names = &mut self.names;
        *self.ids.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            names.len() as u32 - 1
        })
    }

    /// A name by its id.
    pub(super) fn name(&self, id: u32) -> &str {
        self.names.get(id as usize).map_or(NO_REQUEST, String::as_str)
    }
}

/// Method and target of the first line of a request.
pub(super) fn split(request: &str) -> (&str, &str) {
    let mut words = request.split(' ');
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}

/// The segments of a target's path: without scheme and host, query and fragment, and each without
/// its parameters. A host without a scheme (`//host/path`) may as well be a path with a redundant
/// slash: it is `*`.
fn segments(target: &str) -> impl Iterator<Item = &str> {
    let path = match target.split_once("://") {
        Some((_, rest)) => rest.split_once('/').map_or("", |(_, path)| path),
        None if target.starts_with('/') => target,
        // `CONNECT host:443`, `OPTIONS *`: no path.
        None => "",
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let names = path.split('/').map(|s| s.split(';').next().unwrap_or_default()).filter(|s| !s.is_empty());
    let host = path.starts_with("//");
    names.enumerate().map(move |(i, name)| if host && i == 0 { "*" } else { name })
}

/// A segment as it is recorded.
fn word(segment: &str) -> &str {
    let signs = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    let version = segment
        .strip_prefix(['v', 'V'])
        .is_some_and(|n| (1..=2).contains(&n.len()) && n.bytes().all(|b| b.is_ascii_digit()));
    // "oauth2" and "s3" have one digit, at their end.
    let one_last = digits == 1 && segment.len() > 1 && segment.ends_with(|c: char| c.is_ascii_digit());
    let hex = segment.len() >= SHORTEST_HEX && segment.bytes().all(|b| b.is_ascii_hexdigit());
    let short = segment.len() <= LONGEST_WORD && !is_token(segment);
    let routed = short && segment.chars().all(signs) && !hex && (digits == 0 || version || one_last);
    if routed { segment } else { "*" }
}

/// Whether a segment has many letters in both cases, other than a capital at the beginning of each
/// of its words.
fn is_token(segment: &str) -> bool {
    let letters = segment.bytes().filter(u8::is_ascii_alphabetic).count();
    let capital_within = |word: &str| word.bytes().skip(1).any(|b| b.is_ascii_uppercase());
    letters >= SHORTEST_TOKEN
        && segment.bytes().any(|b| b.is_ascii_lowercase())
        && segment.split(['-', '_', '.']).any(capital_within)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(request: &str) -> String {
        let mut templates = Templates::default();
        let (method, target) = split(request);
        let id = templates.of(method, target);
        templates.name(id).to_owned()
    }

    #[test]
    fn what_distinguishes_one_request_from_another_is_left_out() {
        for (request, expected) in [
            ("GET /orders/17/items?token=secret HTTP/1.1", "GET /orders/*/items"),
            ("GET / HTTP/1.1", "GET /"),
            ("POST /api/v1/users/0b5f1a3e-52f8-4c0b-9f59-6f3c1f6f2a11#x HTTP/2", "POST /api/v1/users/*"),
            ("GET /oauth2/s3/login;jsessionid=ABCDEF HTTP/1.1", "GET /oauth2/s3/login"),
            ("GET /u/alice@example.com HTTP/1.1", "GET /u/*"),
            ("GET /u/al%20ice HTTP/1.1", "GET /u/*"),
            ("GET /t/deadbeefcafe HTTP/1.1", "GET /t/*"),
            ("GET /t/aVeryLongTokenThatNoRouteWouldEverHaveInIt HTTP/1.1", "GET /t/*"),
            ("GET http://alice:secret@host:80/a/b?c HTTP/1.1", "GET /a/b"),
            ("GET /reset/Zk_hTqLwXvPbNmRsAaBbCcDd HTTP/1.1", "GET /reset/*"),
            ("GET /reset/SecretTokenAbc HTTP/1.1", "GET /reset/*"),
            ("GET /users/SECRETTOKENabcdef HTTP/1.1", "GET /users/*"),
            (
                "GET /Notifications/Account-Settings/findById HTTP/1.1",
                "GET /Notifications/Account-Settings/findById",
            ),
            ("GET //user.secret.example/path HTTP/1.1", "GET /*/path"),
            ("GET ///user.secret.example/path HTTP/1.1", "GET /*/path"),
            ("GET /a//b HTTP/1.1", "GET /a/b"),
            ("CONNECT internal.example.com:443 HTTP/1.1", "CONNECT *"),
            ("OPTIONS * HTTP/1.1", "OPTIONS *"),
            ("get /a HTTP/1.1", "GET /a"),
            ("SSTP_DUPLEX_POST /sra_{BA195980} HTTP/1.1", "no request"),
            (r"\x16\x03\x01", "no request"),
            ("-", "no request"),
            ("", "no request"),
            ("GET /a/b/c/d/e/f/g/h/i/j", "GET /a/b/c/d/e/f/g/h/…"),
        ] {
            assert_eq!(name(request), expected, "{request}");
        }
    }

    #[test]
    fn a_place_with_too_many_names_holds_names_of_things() {
        let mut templates = Templates::default();
        let letters: Vec<String> =
            ('a'..='z').flat_map(|a| ('a'..='z').map(move |b| format!("{a}{b}"))).collect();
        let mut ids: Vec<u32> =
            letters.iter().map(|user| templates.of("GET", &format!("/users/{user}/x"))).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), MOST_NAMES + 1);
        assert!(ids.iter().any(|id| templates.name(*id) == "GET /users/*/x"));
    }

    #[test]
    fn hostile_paths_do_not_grow_without_bound() {
        let mut templates = Templates::default();
        let word =
            |n: usize| -> String { n.to_string().bytes().map(|b| char::from(b - b'0' + b'g')).collect() };
        for i in 0..20_000 {
            templates.of("GET", &format!("/{}/{}/{}", word(i % 40), word(i / 40 % 40), word(i / 1600)));
        }
        assert!(templates.names.len() <= MOST_TEMPLATES + 20, "{}", templates.names.len());
        assert!(templates.children.len() <= 4 * MOST_TEMPLATES, "{}", templates.children.len());
    }
}
