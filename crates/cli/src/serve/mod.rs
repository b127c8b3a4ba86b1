//! The server behind `fathom serve`: a page, its data, and the samples of a window.
//!
//! ```text
//! GET /KEY/            the page without data
//! GET /KEY/state       which version of the data there is, and whether more is to come
//! GET /KEY/diagnosis · lanes · samples
//! GET /KEY/samples/FROM..TO,FROM..TO    samples of these windows in full, nanoseconds on the recording's clock
//! ```
//!
//! Everything else is refused. Requests are handled one after the other on one thread: there is one
//! reader, and the work of an answer is bounded by what a browser bears.

pub mod connections;
mod guard;
mod served;

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, Response, StatusCode, header};
use fathom_diagnose::Window;
use fathom_render::ServerState;
use tokio::net::TcpListener;

pub use guard::{Guard, same};
pub use served::Served;

/// Windows in one request; a page has few.
const MOST_WINDOWS: usize = 64;

struct App {
    guard: Guard,
    served: Served,
}

/// Answers until the process ends.
pub async fn serve(listener: TcpListener, guard: Guard, served: Served) -> io::Result<()> {
    let app = Arc::new(App { guard, served });
    app.served.follow();
    axum::serve(connections::Limited::new(listener), Router::new().fallback(answer).with_state(app)).await
}

async fn answer(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let path = match app.guard.admit(request.headers(), request.uri().path()) {
        Ok(path) => path.to_owned(),
        Err(refused) => return reply(refused, "text/plain", refused.canonical_reason().unwrap_or("refused")),
    };
    if request.method() != Method::GET {
        return reply(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET");
    }
    let data = app.served.now();
    const PACKED: &str = "application/octet-stream";
    match path.as_str() {
        "" => reply(StatusCode::OK, "text/html; charset=utf-8", fathom_render::shell()),
        "state" => {
            let state = ServerState { version: data.version, live: data.recording.cut };
            match fathom_render::json_line(&state) {
                Ok(state) => reply(StatusCode::OK, "application/json", state),
                Err(e) => reply(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", e.to_string()),
            }
        }
        "diagnosis" => reply(StatusCode::OK, "application/json", data.parts.diagnosis.clone()),
        "lanes" => reply(StatusCode::OK, PACKED, data.parts.lanes.clone()),
        "samples" => reply(StatusCode::OK, PACKED, data.parts.samples.clone()),
        other => match other.strip_prefix("samples/").and_then(windows) {
            Some(windows) => {
                match fathom_render::samples_within(&data.recording, &data.parts.index, &windows) {
                    Ok(bytes) => reply(StatusCode::OK, PACKED, bytes),
                    Err(e) => reply(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", e.to_string()),
                }
            }
            None => reply(StatusCode::NOT_FOUND, "text/plain", "nothing here"),
        },
    }
}

/// "FROM..TO,FROM..TO" in nanoseconds.
fn windows(text: &str) -> Option<Vec<Window>> {
    let window = |part: &str| {
        let (from, to) = part.split_once("..")?;
        let (from_ns, to_ns) = (from.parse().ok()?, to.parse().ok()?);
        (from_ns < to_ns).then_some(Window { from_ns, to_ns })
    };
    let windows: Option<Vec<Window>> = text.split(',').take(MOST_WINDOWS).map(window).collect();
    windows.filter(|all| !all.is_empty())
}

fn reply(status: StatusCode, content: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers: &mut HeaderMap = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, content),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, header::HeaderValue::from_static(value));
    }
    // No other site may hold an answer, not even to look at its size.
    let own = header::HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(own, header::HeaderValue::from_static("same-origin"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_an_address_are_read_and_damaged_ones_refused() {
        assert_eq!(windows("1..5,-9..7").map(|w| w.len()), Some(2));
        for bad in ["", "1..", "5..1", "1..2,x", "99999999999999999999..1"] {
            assert!(windows(bad).is_none(), "{bad}");
        }
    }
}
