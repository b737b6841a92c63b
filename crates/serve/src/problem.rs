//! Problems with a request or a result, as responses.

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flashscope_report::ResultKind;
use schemars::JsonSchema;
use serde::Serialize;

/// The reason why a request fails.
#[derive(Debug, Clone)]
pub struct Problem {
    status: StatusCode,
    message: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    place: Option<[usize; 2]>,
}

/// The body of an error response.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProblemBody {
    /// The problem, where it is, and what to do.
    pub error: String,
    /// The position of the problem in the expression of a request, as a half-open range of
    /// characters, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<[usize; 2]>,
}

impl Problem {
    fn new(status: StatusCode, message: impl Into<String>) -> Problem {
        Problem { status, message: message.into(), headers: vec![], place: None }
    }

    /// Reports that the request is malformed.
    pub fn bad_request(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, message)
    }

    /// Reports that the request needs a token.
    pub fn unauthorized(message: impl Into<String>) -> Problem {
        let problem = Problem::new(StatusCode::UNAUTHORIZED, message);
        problem.with(header::WWW_AUTHENTICATE, "Bearer")
    }

    /// Reports that the resource exists already, or that something that it needs is missing.
    pub fn conflict(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::CONFLICT, message)
    }

    /// Reports that there are too many requests.
    pub fn too_many(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::TOO_MANY_REQUESTS, message).with(header::RETRY_AFTER, "5")
    }

    /// Reports that the caller is not allowed to make the request.
    pub fn forbidden(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::FORBIDDEN, message)
    }

    /// Reports that there is no such resource.
    pub fn not_found(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, message)
    }

    /// Reports that the result `id` has the kind `kind` instead of the requested kind.
    pub fn of_kind(kind: ResultKind, id: &str) -> Problem {
        let there = match kind {
            ResultKind::Measurement => format!("a measurement: ask for /api/results/{id}"),
            ResultKind::Simulation => format!("a simulation: ask for /api/simulations/{id}"),
            ResultKind::Probe => format!("a probe: ask for /api/probes/{id}"),
            ResultKind::Sweep => format!("a sweep: ask for /api/sweeps/{id}"),
            ResultKind::WhatIf => format!("a what-if: ask for /api/what-ifs/{id}"),
            ResultKind::Twin => format!("a twin: ask for /api/twins/{id}"),
            ResultKind::Prediction => format!("a prediction: ask for /api/predictions/{id}"),
        };
        Problem::not_found(format!("`{id}` is {there}"))
    }

    /// Reports that the resource does not support the method.
    pub(crate) fn wrong_method(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, message)
    }

    /// Reports that the request body is too large.
    pub(crate) fn too_large(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    /// Reports that the request body has an unsupported content type.
    pub(crate) fn wrong_type(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
    }

    /// Reports that a result or the request body is invalid.
    pub fn damaged(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// Reports that the server cannot answer now.
    pub fn busy(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// Reports that the server failed.
    pub fn failed(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// Adds the position of the problem in the text of the request, as a half-open range of
    /// characters.
    pub(crate) fn at(mut self, start: usize, end: usize) -> Problem {
        self.place = Some([start, end]);
        self
    }

    /// Adds a header to the response.
    pub fn with(mut self, name: HeaderName, value: &'static str) -> Problem {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    /// Returns the message: the problem, where it is, and what to do.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Reports an error of a result as a damaged result (422), not as a failure of the server (500).
impl From<flashscope_result::Error> for Problem {
    fn from(error: flashscope_result::Error) -> Problem {
        Problem::damaged(error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response =
            (self.status, Json(ProblemBody { error: self.message, place: self.place }))
                .into_response();
        response.headers_mut().extend(self.headers);
        response
    }
}
