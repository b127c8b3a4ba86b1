//! What a request holds: a profile, of which format, and of whom.

use std::collections::BTreeMap;
use std::io::Read;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fathom_ingest::{Confidence, FORMATS};
use fathom_recording::identity::plain;

use super::Refused;

/// Bytes of a profile, unpacked, by which its format is recognised.
const HEAD: u64 = 256 << 10;
/// Parts of a form that are looked at; Pyroscope's agents send up to four.
const MOST_PARTS: usize = 16;

/// The formats that are taken, with the ending of their files.
const TAKEN: [(&str, &str); 4] =
    [("jfr", "jfr"), ("pprof", "pb"), ("otlp-profiles", "otlp"), ("folded", "folded")];

/// The parameters of `/ingest` that are looked at. What the profile is, is seen by its content, and
/// when it was taken stands in it.
#[derive(Debug, Default, serde::Deserialize)]
pub struct Asked {
    /// "shop", "shop{host=web-1,zone=b}".
    name: Option<String>,
    #[serde(skip)]
    otlp: bool,
}

impl Asked {
    /// For a request of OTLP, which has all within.
    pub fn otlp() -> Self {
        Self { otlp: true, ..Self::default() }
    }
}

/// A profile that arrived.
pub struct Push {
    /// What the client calls itself.
    pub service: Option<String>,
    /// The host, where a label names it.
    pub host: Option<String>,
    /// "jfr", "pb.gz".
    pub ending: String,
    /// As it arrived.
    pub bytes: Bytes,
}

impl Push {
    /// What is in a request whose body has arrived.
    pub async fn of(asked: Asked, head: Parts, body: Bytes) -> Result<Self, Refused> {
        let unfit = |why: &str| Refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, why.to_owned());
        let text = |name: header::HeaderName| head.headers.get(name).and_then(|value| value.to_str().ok());
        let content = text(header::CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
        let encoding = text(header::CONTENT_ENCODING).unwrap_or("identity").to_ascii_lowercase();
        if !matches!(encoding.as_str(), "identity" | "gzip" | "zstd" | "") {
            return Err(unfit("packed otherwise than with gzip or zstd"));
        }
        if asked.otlp && content.starts_with("application/json") {
            return Err(unfit("OTLP as JSON is not read: send protobuf"));
        }
        let bytes = if content.starts_with("multipart/form-data") {
            of_form(Request::from_parts(head, Body::from(body))).await?
        } else {
            body
        };
        let (format, packed) = recognised(&bytes).ok_or_else(|| {
            unfit("neither JFR nor pprof, OTLP profiles (protobuf) nor folded stacks, plain or packed with gzip or zstd")
        })?;
        if asked.otlp && format != "otlp" {
            return Err(unfit("no OTLP profiles (protobuf)"));
        }
        let (service, host) = named(asked.name.as_deref().unwrap_or_default());
        Ok(Self { service, host, ending: format!("{format}{packed}"), bytes })
    }
}

/// The profile of a form.
async fn of_form(request: Request) -> Result<Bytes, Refused> {
    let damaged =
        |error: &dyn std::fmt::Display| Refused(StatusCode::BAD_REQUEST, format!("the form: {error}"));
    let mut form = Multipart::from_request(request, &()).await.map_err(|e| damaged(&e))?;
    let mut profile: Option<Bytes> = None;
    for _ in 0..MOST_PARTS {
        let Some(part) = form.next_field().await.map_err(|e| damaged(&e))? else { break };
        let is_profile = matches!(part.name(), Some("profile" | "jfr"));
        // Others are its labels and what its types mean.
        let bytes = part.bytes().await.map_err(|e| damaged(&e))?;
        if is_profile && profile.is_none() {
            profile = Some(bytes);
        }
    }
    let missing = || Refused(StatusCode::BAD_REQUEST, "the form has no part profile or jfr".into());
    profile.ok_or_else(missing)
}

/// The ending of the format of some bytes, and of how they are packed.
fn recognised(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let mut head = Vec::new();
    let unpacked = match bytes {
        [0x1f, 0x8b, ..] => {
            // What is truncated is read as far as it goes.
            let _ = flate2::read::MultiGzDecoder::new(bytes).take(HEAD).read_to_end(&mut head);
            ".gz"
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let _ = zstd::Decoder::new(bytes).ok()?.take(HEAD).read_to_end(&mut head);
            ".zst"
        }
        _ => {
            head.extend(bytes.iter().take(usize::try_from(HEAD).unwrap_or(usize::MAX)));
            ""
        }
    };
    let sure = TAKEN.iter().filter_map(|(id, ending)| {
        let format = FORMATS.iter().find(|format| format.id() == *id)?;
        Some((format.sniff(&head), *ending)).filter(|(confidence, _)| *confidence > Confidence(0))
    });
    let (_, ending) = sure.max_by_key(|(confidence, _)| *confidence)?;
    Some((ending, unpacked))
}

/// Service and host of a name with labels.
fn named(name: &str) -> (Option<String>, Option<String>) {
    let some = |text: &str| Some(plain(text.trim())).filter(|text| !text.is_empty());
    let (service, labels) = name.split_once('{').unwrap_or((name, ""));
    let labels: BTreeMap<&str, &str> = labels
        .trim_end_matches('}')
        .split(',')
        .filter_map(|label| label.split_once('='))
        .map(|(key, value)| (key.trim(), value.trim().trim_matches('"')))
        .collect();
    let label = |key: &str| labels.get(key).and_then(|value| some(value));
    let host = ["host", "hostname", "instance", "pod"].into_iter().find_map(label);
    (label("service_name").or_else(|| some(service)), host)
}

/// The token that a client sends: `Bearer`, or the password of `Basic`.
pub fn token(headers: &HeaderMap) -> Option<String> {
    let sent = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (way, value) = sent.split_once(' ')?;
    if way.eq_ignore_ascii_case("bearer") {
        return Some(value.trim().to_owned());
    }
    if way.eq_ignore_ascii_case("basic") {
        let decoded = STANDARD.decode(value.trim()).ok()?;
        return String::from_utf8(decoded).ok()?.split_once(':').map(|(_, password)| password.to_owned());
    }
    None
}

/// How long a body is, where the client says so.
pub fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_have_labels_behind_it() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(named("shop"), (some("shop"), None));
        assert_eq!(named("shop{hostname=web-1,zone=b}"), (some("shop"), some("web-1")));
        assert_eq!(named("x{service_name=\"shop\"}"), (some("shop"), None));
        assert_eq!(named(""), (None, None));
        assert_eq!(named("{}"), (None, None));
    }

    #[test]
    fn a_token_is_sent_in_one_of_two_ways() {
        let sent = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, header::HeaderValue::from_static(value));
            token(&headers)
        };
        assert_eq!(sent("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(sent("Basic dXNlcjphYmM=").as_deref(), Some("abc"));
        assert_eq!(sent("Digest abc"), None);
        assert_eq!(sent("Basic ???"), None);
    }

    #[test]
    fn content_says_what_it_is() {
        assert_eq!(recognised(b"main;a;b 12\nmain;a 3\nmain;c 1\n"), Some(("folded", "")));
        assert_eq!(recognised(b""), None);
        assert_eq!(recognised(b"{\"resourceProfiles\":[]}"), None);
    }
}
