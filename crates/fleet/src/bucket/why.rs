//! Why a bucket did not do something, in one sentence.
//!
//! What a server answers is not passed on: the answer to a wrong signature quotes the request with
//! its session token. Of an answer only its code is taken, and of a failed connection its cause.

use std::error::Error as _;

use object_store::Error;

/// A code is a word.
const LONGEST_CODE: usize = 64;

/// See the module.
pub(super) fn why(error: &Error) -> String {
    let all = texts(error);
    let any = |what: &str| all.iter().any(|text| text.contains(what));
    let code = code(&all);
    let of_code = code.as_deref().map(|code| format!(" ({code})")).unwrap_or_default();
    match (code.as_deref(), error) {
        // Neither keys nor a role: the machine is asked for one, which has none to give.
        _ if any("/latest/api/token") || any("/latest/meta-data") => {
            "there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a role"
                .into()
        }
        (Some("NoSuchBucket"), _) => format!("there is no such bucket{of_code}"),
        (Some("NoSuchKey"), _) => format!("there is no such object{of_code}"),
        (Some("RequestTimeTooSkewed"), _) => format!("the clock of this machine is wrong{of_code}"),
        (Some("PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException"), _) => {
            format!("the bucket is of another region: set AWS_REGION{of_code}")
        }
        _ if any("redirect without LOCATION") => "the bucket is of another region: set AWS_REGION".into(),
        (
            Some(
                "InvalidAccessKeyId" | "SignatureDoesNotMatch" | "InvalidToken" | "ExpiredToken"
                | "InvalidClientTokenId" | "TokenRefreshRequired",
            ),
            _,
        )
        | (_, Error::Unauthenticated { .. }) => format!(
            "the credentials are refused{of_code}: see AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the role of this machine"
        ),
        (Some("AccessDenied"), _) | (_, Error::PermissionDenied { .. }) => {
            format!("these credentials are not allowed to do that there{of_code}")
        }
        (None, Error::NotFound { .. }) => "there is no such object, or no such bucket".into(),
        (Some(code), _) => format!("it answered {code}"),
        (None, _) => match status(&all) {
            Some(status) => format!("it answered {status}"),
            None => cause(error),
        },
    }
}

/// Whether the server does not know how to put only what is not there yet.
pub(super) fn is_without_conditions(error: &Error) -> bool {
    code(&texts(error)).as_deref() == Some("NotImplemented")
}

/// Whether the bucket is missing, and not the object.
pub(super) fn is_no_bucket(error: &Error) -> bool {
    code(&texts(error)).as_deref() == Some("NoSuchBucket")
}

/// What the error and each of its causes says.
fn texts(error: &Error) -> Vec<String> {
    std::iter::once(error.to_string()).chain(causes(error).map(ToString::to_string)).collect()
}

fn causes(error: &Error) -> impl Iterator<Item = &dyn std::error::Error> {
    std::iter::successors(error.source(), |&cause| cause.source())
}

/// The code of an answer.
fn code(all: &[String]) -> Option<String> {
    all.iter().find_map(|text| {
        let (code, _) = text.split_once("<Code>")?.1.split_once("</Code>")?;
        let is_word = code.len() <= LONGEST_CODE && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (is_word && !code.is_empty()).then(|| code.to_owned())
    })
}

/// The status of an answer, as in "503 Service Unavailable".
fn status(all: &[String]) -> Option<String> {
    all.iter().find_map(|text| {
        let (_, behind) = text.split_once("status code: ")?;
        let status = behind.split(':').next()?.trim();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b' ' || byte == b'-';
        (status.len() <= LONGEST_CODE && status.bytes().all(is_plain)).then(|| status.to_owned())
    })
}

/// The innermost cause, which says it without the address that was asked.
fn cause(error: &Error) -> String {
    let innermost = causes(error).last().map_or_else(|| error.to_string(), ToString::to_string);
    let line = innermost.lines().next().unwrap_or_default();
    format!("it cannot be reached: {}", line.chars().take(300).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(body: &str) -> Error {
        Error::Generic { store: "S3", source: format!("status code: 403 Forbidden: {body}").into() }
    }

    #[test]
    fn of_an_answer_only_the_code_is_passed_on() {
        let body = "<Error><Code>SignatureDoesNotMatch</Code><CanonicalRequest>x-amz-security-token:of-a-session</CanonicalRequest></Error>";
        let why = why(&answered(body));
        assert!(why.starts_with("the credentials are refused (SignatureDoesNotMatch)"), "{why}");
        assert!(!why.contains("of-a-session") && !why.contains('\n'), "{why}");
    }

    #[test]
    fn an_answer_that_is_none_of_s3_is_its_status() {
        assert_eq!(why(&answered("<html>SECRET")), "it answered 403 Forbidden");
        assert_eq!(why(&answered("<Code>SlowDown</Code>")), "it answered SlowDown");
        assert_eq!(why(&answered("<Code>\u{1b}[2J</Code>")), "it answered 403 Forbidden");
    }
}
