//! What is wrong with a request or a result, as the answer to a request.

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flashscope_report::ResultKind;
use schemars::JsonSchema;
use serde::Serialize;

/// Why a request is not answered as it was meant.
#[derive(Debug, Clone)]
pub struct Problem {
    status: StatusCode,
    message: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// What is wrong.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProblemBody {
    /// What is wrong, where, and what to do.
    pub error: String,
}

impl Problem {
    fn new(status: StatusCode, message: impl Into<String>) -> Problem {
        Problem { status, message: message.into(), headers: vec![] }
    }

    /// The request cannot be understood.
    pub fn bad_request(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, message)
    }

    /// The request has to say who sent it.
    pub fn unauthorized(message: impl Into<String>) -> Problem {
        let problem = Problem::new(StatusCode::UNAUTHORIZED, message);
        problem.with(header::WWW_AUTHENTICATE, "Bearer")
    }

    /// It is there already, or something is missing for it.
    pub fn conflict(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::CONFLICT, message)
    }

    /// Too much is asked for.
    pub fn too_many(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::TOO_MANY_REQUESTS, message).with(header::RETRY_AFTER, "5")
    }

    /// The request is not for those who sent it.
    pub fn forbidden(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::FORBIDDEN, message)
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, message)
    }

    /// The result `id` is of this kind, and not of the one that was asked for.
    pub fn of_kind(kind: ResultKind, id: &str) -> Problem {
        let there = match kind {
            ResultKind::Measurement => format!("a measurement: ask for /api/results/{id}"),
            ResultKind::Simulation => format!("a simulation: ask for /api/simulations/{id}"),
            ResultKind::Probe => format!("a probe: ask for /api/probes/{id}"),
            ResultKind::Sweep => format!("a sweep: ask for /api/sweeps/{id}"),
            ResultKind::WhatIf => format!("a what-if: ask for /api/what-ifs/{id}"),
        };
        Problem::not_found(format!("`{id}` is {there}"))
    }

    /// There is such a thing, but nothing is done to it in this way.
    pub fn wrong_method(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, message)
    }

    /// What was sent is too large.
    pub fn too_large(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    /// What was sent is not of a type that is read here.
    pub fn wrong_type(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
    }

    /// A result, or what was sent, is not what it should be.
    pub fn damaged(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// It cannot be done now.
    pub fn busy(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// The server failed.
    pub fn failed(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// The same with a header of the answer.
    pub fn with(mut self, name: HeaderName, value: &'static str) -> Problem {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    /// What is wrong, where, and what to do.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// An error of a result is one of the item, not of the server.
impl From<flashscope_result::Error> for Problem {
    fn from(error: flashscope_result::Error) -> Problem {
        Problem::damaged(error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(ProblemBody { error: self.message })).into_response();
        response.headers_mut().extend(self.headers);
        response
    }
}
