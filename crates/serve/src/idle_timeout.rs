//! Idle timeouts for connections and request bodies. Without them, a client that stops reading or
//! sending would hold its connection for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use hyper::body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::limits;

/// A timer that expires after a time without progress.
struct IdleTimer {
    limit: Duration,
    waited: Option<Pin<Box<Sleep>>>,
}

impl IdleTimer {
    fn new(limit: Duration) -> IdleTimer {
        IdleTimer { limit, waited: None }
    }

    /// Returns `progress` and resets the timer if `progress` is ready. Fails if the timer expires
    /// first.
    fn wait<T>(&mut self, cx: &mut Context<'_>, progress: Poll<T>) -> Poll<Result<T, io::Error>> {
        if let Poll::Ready(progress) = progress {
            self.waited = None;
            return Poll::Ready(Ok(progress));
        }
        let limit = self.limit;
        let waited = self.waited.get_or_insert_with(|| Box::pin(sleep(limit)));
        waited.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// A stream whose writes fail if the client reads nothing for a time.
pub(crate) struct WriteTimeout<S> {
    stream: S,
    timer: IdleTimer,
}

impl<S> WriteTimeout<S> {
    /// Wraps a stream whose client must read something within each `limit`.
    pub(crate) fn new(stream: S, limit: Duration) -> WriteTimeout<S> {
        WriteTimeout { stream, timer: IdleTimer::new(limit) }
    }
}

impl<S: AsyncWrite + Unpin> WriteTimeout<S> {
    fn write<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = write(Pin::new(&mut self.stream), cx);
        self.timer.wait(cx, written).map(|written| written?)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, |stream, cx| stream.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(cx, |stream, cx| stream.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(cx, |stream, cx| stream.poll_shutdown(cx))
    }
}

/// Wraps the body of a request, which then fails if the client sends nothing for the idle timeout.
pub(crate) async fn with_read_timeout(request: Request) -> Request {
    request.map(|body| Body::new(ReadTimeout { body, timer: IdleTimer::new(limits::STUCK_TIME) }))
}

/// A request body with an idle timeout.
struct ReadTimeout<B> {
    body: B,
    timer: IdleTimer,
}

impl<B> hyper::body::Body for ReadTimeout<B>
where
    B: hyper::body::Body<Data = Bytes, Error = axum::Error> + Unpin,
{
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        let frame = self.timer.wait(cx, frame);
        frame.map(|frame| frame.unwrap_or_else(|late| Some(Err(axum::Error::new(late)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Waker;

    use super::*;

    /// A client that reads everything or nothing, and sends nothing.
    struct Client {
        takes: bool,
    }

    impl Client {
        fn take<T>(&self, all: T) -> Poll<io::Result<T>> {
            if self.takes { Poll::Ready(Ok(all)) } else { Poll::Pending }
        }
    }

    impl AsyncWrite for Client {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.take(bytes.len())
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.take(())
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.take(())
        }
    }

    impl hyper::body::Body for Client {
        type Data = Bytes;
        type Error = axum::Error;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
            self.take(Frame::data(Bytes::from_static(b"all")))
                .map(|frame| Some(frame.map_err(axum::Error::new)))
        }
    }

    fn wait<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.unwrap().block_on(work)
    }

    // A client that does not read must not hold its connection for ever.
    #[test]
    fn client_that_does_not_read_is_dropped() {
        wait(async {
            let mut stuck = WriteTimeout::new(Client { takes: false }, Duration::from_millis(1));
            let write = poll_fn(|cx| Pin::new(&mut stuck).poll_write(cx, b"answer")).await;
            assert_eq!(write.unwrap_err().kind(), io::ErrorKind::TimedOut);
            let shut = poll_fn(|cx| Pin::new(&mut stuck).poll_shutdown(cx)).await;
            assert_eq!(shut.unwrap_err().kind(), io::ErrorKind::TimedOut);
        });
    }

    #[test]
    fn progress_resets_the_timer() {
        wait(async {
            let mut cx = Context::from_waker(Waker::noop());
            let mut stream = WriteTimeout::new(Client { takes: false }, Duration::from_secs(3600));
            assert!(Pin::new(&mut stream).poll_write(&mut cx, b"answer").is_pending());
            assert!(stream.timer.waited.is_some());
            stream.stream.takes = true;
            let write = Pin::new(&mut stream).poll_write(&mut cx, b"answer");
            assert!(matches!(write, Poll::Ready(Ok(6))));
            assert!(stream.timer.waited.is_none());
        });
    }

    // A request without progress must not hold its permit until the time limit of requests.
    #[test]
    fn body_without_progress_fails() {
        wait(async {
            let timer = || IdleTimer::new(Duration::from_millis(1));
            let stuck = Body::new(ReadTimeout { body: Client { takes: false }, timer: timer() });
            let late = axum::body::to_bytes(stuck, 9).await.unwrap_err();
            assert!(late.to_string().contains("timed out"), "{late}");
            let mut going = ReadTimeout { body: Client { takes: true }, timer: timer() };
            let frame = poll_fn(|cx| hyper::body::Body::poll_frame(Pin::new(&mut going), cx)).await;
            assert!(matches!(frame, Some(Ok(_))));
        });
    }
}
