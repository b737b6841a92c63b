//! Streamed responses: lines of JSON, or server-sent events.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use serde::Serialize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The content type: newline-delimited JSON.
pub(crate) const LINES: &str = "application/x-ndjson";

/// The content type of server-sent events.
pub(crate) const EVENTS: &str = "text/event-stream";

/// A stream of pieces of JSON, each a `T`. The queue is not bounded, because a stream has few
/// pieces.
pub(crate) struct Lines<T> {
    kind: &'static str,
    received: UnboundedReceiver<Bytes>,
    gone: Arc<AtomicBool>,
    of: PhantomData<fn() -> T>,
}

/// The sender of a stream.
pub(crate) struct Sender<T> {
    kind: &'static str,
    lines: UnboundedSender<Bytes>,
    gone: Arc<AtomicBool>,
    of: PhantomData<fn(T)>,
}

/// The error that the client has disconnected.
#[derive(Debug)]
pub(crate) struct DisconnectError;

impl<T> Lines<T> {
    /// Creates a stream and its sender. The stream ends when the sender is dropped.
    pub(crate) fn new() -> (Lines<T>, Sender<T>) {
        Lines::of_kind(LINES)
    }

    /// Creates a stream of server-sent events and its sender.
    pub(crate) fn events() -> (Lines<T>, Sender<T>) {
        Lines::of_kind(EVENTS)
    }

    fn of_kind(kind: &'static str) -> (Lines<T>, Sender<T>) {
        let (lines, received) = unbounded_channel();
        let gone = Arc::new(AtomicBool::new(false));
        let sender = Sender { kind, lines, gone: Arc::clone(&gone), of: PhantomData };
        (Lines { kind, received, gone, of: PhantomData }, sender)
    }
}

impl<T> Sender<T> {
    /// Returns a flag that is set once the client has disconnected.
    pub(crate) fn gone(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.gone)
    }
}

impl<T: Serialize> Sender<T> {
    /// Sends a piece.
    pub(crate) fn send(&self, value: &T) -> Result<(), DisconnectError> {
        // The JSON has no line breaks: a line break would end the event.
        let json = serde_json::to_string(value).map_err(|_| DisconnectError)?;
        let piece = if self.kind == EVENTS { format!("data: {json}\n\n") } else { json + "\n" };
        self.lines.send(piece.into()).map_err(|_| DisconnectError)
    }

    /// Sends a comment in a stream of events, which keeps the connection open.
    pub(crate) fn keep_alive(&self) -> Result<(), DisconnectError> {
        self.lines.send(Bytes::from_static(b": alive\n\n")).map_err(|_| DisconnectError)
    }
}

impl<T> Drop for Lines<T> {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::Relaxed);
    }
}

impl<T: 'static> hyper::body::Body for Lines<T> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let line = self.received.poll_recv(cx);
        line.map(|line| line.map(|line| Ok(Frame::data(line))))
    }
}

impl<T: 'static> IntoResponse for Lines<T> {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, self.kind)], Body::new(self)).into_response()
    }
}
