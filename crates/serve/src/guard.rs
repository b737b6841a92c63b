//! The guards before every endpoint: access, time limits and security headers.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Uri, header};
use axum::middleware::{Next, from_fn, from_fn_with_state, map_request};
use axum::response::{IntoResponse, Response};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};
use tower_http::csrf::CsrfLayer;

use crate::idle_timeout::with_read_timeout;
use crate::limits;
use crate::lines::LINES;
use crate::problem::Problem;

/// The headers of every response.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The content security policy of responses other than pages, which allows nothing.
const NO_PAGE: &str = "default-src 'none'; frame-ancestors 'none'";

/// The clients that may access a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Programs on this machine. The `Host` of a request must be a loopback address or `localhost`,
    /// because an attacker's domain name could resolve to this machine (DNS rebinding).
    Loopback,
    /// Anyone who reaches the address.
    Network,
}

/// Adds the guards to `router`.
pub fn guarded(router: Router, access: Access) -> Router {
    router
        .layer(CsrfLayer::new().with_rejection_response(|_| {
            Problem::forbidden("a page of another site may not change anything on this server")
                .into_response()
        }))
        .layer(from_fn_with_state(Arc::new(access), known_host))
        .layer(map_request(with_read_timeout))
        .layer(from_fn(in_time))
        .layer(compressed())
        .layer(from_fn(with_headers))
}

/// Compresses responses, except streams of lines: the compressor would delay each line until the
/// next line.
fn compressed() -> CompressionLayer<impl Predicate> {
    let whole = DefaultPredicate::new().and(NotForContentType::new(LINES));
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(whole)
}

async fn known_host(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    if *access == Access::Network || host(&request).is_some_and(|host| is_loopback(&host)) {
        return next.run(request).await;
    }
    Problem::forbidden(
        "this server only answers under 127.0.0.1 and localhost: open it there, or start it with \
         --listen",
    )
    .into_response()
}

/// Returns the host that the client addressed, without the port.
fn host(request: &Request) -> Option<String> {
    let of_header = || {
        let host = request.headers().get(header::HOST)?.to_str().ok()?;
        format!("http://{host}/").parse::<Uri>().ok()
    };
    let uri = request.uri();
    let host = uri.host().map(String::from).or_else(|| of_header()?.host().map(String::from))?;
    Some(host.to_ascii_lowercase())
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "127.0.0.1" | "localhost" | "[::1]")
}

async fn in_time(request: Request, next: Next) -> Response {
    let time = if request.method().is_safe() { limits::READ_TIME } else { limits::WRITE_TIME };
    let answer = tokio::time::timeout(time, next.run(request)).await;
    answer.unwrap_or_else(|_| {
        let message = "the request takes too long and is still running: try again";
        Problem::busy(message).with(header::RETRY_AFTER, "10").into_response()
    })
}

async fn with_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let policy = headers.entry(header::CONTENT_SECURITY_POLICY);
    policy.or_insert(HeaderValue::from_static(NO_PAGE));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
