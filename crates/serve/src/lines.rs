//! Responses that are streamed line by line.

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

/// A stream of JSON lines, each a `T`. The queue is not bounded, because a stream has few lines.
pub(crate) struct Lines<T> {
    received: UnboundedReceiver<Bytes>,
    gone: Arc<AtomicBool>,
    of: PhantomData<fn() -> T>,
}

/// The sender of a stream of lines.
pub(crate) struct Sender<T> {
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
        let (lines, received) = unbounded_channel();
        let gone = Arc::new(AtomicBool::new(false));
        let sender = Sender { lines, gone: Arc::clone(&gone), of: PhantomData };
        (Lines { received, gone, of: PhantomData }, sender)
    }
}

impl<T> Sender<T> {
    /// Returns a flag that is set once the client has disconnected.
    pub(crate) fn gone(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.gone)
    }
}

impl<T: Serialize> Sender<T> {
    /// Sends a line.
    pub(crate) fn send(&self, value: &T) -> Result<(), DisconnectError> {
        let mut line = serde_json::to_vec(value).map_err(|_| DisconnectError)?;
        line.push(b'\n');
        self.lines.send(line.into()).map_err(|_| DisconnectError)
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
        ([(header::CONTENT_TYPE, LINES)], Body::new(self)).into_response()
    }
}
