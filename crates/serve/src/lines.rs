//! Answers that come line by line, each as soon as there is something to say.

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

/// The kind of content: newline-delimited JSON.
pub const LINES: &str = "application/x-ndjson";

/// Lines of JSON, each a `T`. They are few; what is not read yet is kept.
pub struct Lines<T> {
    received: UnboundedReceiver<Bytes>,
    gone: Arc<AtomicBool>,
    of: PhantomData<fn() -> T>,
}

/// Where lines are written.
pub struct Sender<T> {
    lines: UnboundedSender<Bytes>,
    gone: Arc<AtomicBool>,
    of: PhantomData<fn(T)>,
}

/// Nobody reads the lines any more.
#[derive(Debug)]
pub struct Gone;

impl<T> Lines<T> {
    /// Lines, and where they are written: they end when that is dropped.
    pub fn new() -> (Lines<T>, Sender<T>) {
        let (lines, received) = unbounded_channel();
        let gone = Arc::new(AtomicBool::new(false));
        let sender = Sender { lines, gone: Arc::clone(&gone), of: PhantomData };
        (Lines { received, gone, of: PhantomData }, sender)
    }
}

impl<T> Sender<T> {
    /// Is set once nobody reads the lines any more.
    pub fn gone(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.gone)
    }
}

impl<T: Serialize> Sender<T> {
    /// Writes a line.
    pub fn send(&self, value: &T) -> Result<(), Gone> {
        let mut line = serde_json::to_vec(value).map_err(|_| Gone)?;
        line.push(b'\n');
        self.lines.send(line.into()).map_err(|_| Gone)
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
