//! The server behind `fathom receive`.
//!
//! ```text
//! POST /ingest?name=APP{host=…}&from=…&until=…&format=…     Pyroscope: a body, or a form with it as `profile` or `jfr`
//! POST /v1development/profiles                              OTLP over HTTP: ExportProfilesServiceRequest
//! GET  /ready, /                                            whether it is there
//! ```
//!
//! Whoever can connect may be hostile: few bodies are in memory at a time, each bounded in size and
//! in the time that it may take, and what is kept is bounded on the disk. A page of another site
//! can make a browser send requests here; those have an `Origin` and are refused, which no client
//! that pushes has.

mod push;
mod store;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Query, Request, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use self::push::{Asked, Push};
pub use self::store::Store;
use crate::serve::connections::Limited;
use crate::stderr;

/// Bodies that are in memory at a time; others wait.
const BODIES: usize = 4;
/// A body that takes longer is given up, however steadily it comes.
const LONGEST: Duration = Duration::from_secs(60);

/// What is taken at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a request.
    pub request: u64,
}

/// See the module.
pub struct Receiver {
    store: Store,
    limits: Limits,
    token: Option<String>,
    bodies: Semaphore,
}

/// Why a request is refused.
pub struct Refused(StatusCode, String);

impl Receiver {
    /// With all that it may use.
    pub fn new(store: Store, limits: Limits, token: Option<String>) -> Self {
        Self { store, limits, token, bodies: Semaphore::new(BODIES) }
    }

    /// Answers until the process ends.
    pub async fn serve(self, listener: TcpListener) -> std::io::Result<()> {
        let router = Router::new()
            .route("/ingest", post(ingest))
            .route("/v1development/profiles", post(profiles))
            .route("/ready", get(|| async { "ready\n" }))
            .route("/", get(|| async { "fathom receive\n" }))
            // A form would else be cut at 2 MB; bodies are bounded in `take`.
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::new(self));
        axum::serve(Limited::new(listener), router).await
    }

    /// Whether a client may push.
    fn admit(&self, headers: &HeaderMap) -> Result<(), Refused> {
        if headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site") {
            return Err(Refused(StatusCode::FORBIDDEN, "a page in a browser may not push".into()));
        }
        let Some(token) = &self.token else { return Ok(()) };
        match push::token(headers) {
            Some(given) if crate::serve::same(given.as_bytes(), token.as_bytes()) => Ok(()),
            _ => Err(Refused(StatusCode::UNAUTHORIZED, "the token is missing or another one".into())),
        }
    }

    /// Takes what a request holds.
    async fn take(&self, asked: Asked, request: Request) -> Result<(), Refused> {
        self.admit(request.headers())?;
        let (head, body) = request.into_parts();
        let limit = usize::try_from(self.limits.request).unwrap_or(usize::MAX);
        if let Some(length) = push::length(&head.headers).filter(|length| *length > self.limits.request) {
            return Err(too_large(length, self.limits.request));
        }
        let _permit = self.bodies.acquire().await;
        let body = tokio::time::timeout(LONGEST, axum::body::to_bytes(body, limit)).await;
        let body = match body {
            Ok(Ok(body)) => body,
            Ok(Err(_)) => {
                let why = format!("the body is cut off, or larger than {} bytes", self.limits.request);
                return Err(Refused(StatusCode::PAYLOAD_TOO_LARGE, why));
            }
            Err(_) => return Err(Refused(StatusCode::REQUEST_TIMEOUT, "the body took too long".into())),
        };
        let push = Push::of(asked, head, body).await?;
        let kept = self.store.keep(&push);
        kept.map_err(|error| Refused(StatusCode::SERVICE_UNAVAILABLE, format!("{error:#}")))?;
        Ok(())
    }
}

fn too_large(length: u64, most: u64) -> Refused {
    Refused(StatusCode::PAYLOAD_TOO_LARGE, format!("{length} bytes are more than the {most} that are taken"))
}

async fn ingest(
    State(receiver): State<Arc<Receiver>>,
    Query(asked): Query<Asked>,
    request: Request,
) -> Response<Body> {
    answer(receiver.take(asked, request).await, "text/plain")
}

async fn profiles(State(receiver): State<Arc<Receiver>>, request: Request) -> Response<Body> {
    // An answer without fields says that all was taken.
    answer(receiver.take(Asked::otlp(), request).await, "application/x-protobuf")
}

fn answer(taken: Result<(), Refused>, content: &'static str) -> Response<Body> {
    let (status, text) = match taken {
        Ok(()) => (StatusCode::OK, String::new()),
        Err(Refused(status, why)) => {
            stderr::write(&format!("fathom: refused: {}\n", fathom_render::printable(&why)));
            (status, format!("{why}\n"))
        }
    };
    let content = if status == StatusCode::OK { content } else { "text/plain; charset=utf-8" };
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        // Clients of OTLP send again later where an answer asks for it.
        response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("60"));
    }
    response
}
