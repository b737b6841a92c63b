//! Serves connections from a socket until the server stops. Limits the number of connections and
//! the time that a client may take.

use std::io;
use std::sync::Arc;

use axum::extract::ConnectInfo;
use axum::{Extension, Router};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower::Layer as _;

use crate::idle_timeout::WriteTimeout;
use crate::limits;

/// Serves `router` until the future `stop` completes, then finishes open responses. Requests carry
/// a [`ConnectInfo`] with the client's address.
pub(crate) async fn run(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let places = Arc::new(Semaphore::new(limits::CONNECTIONS));
    let under_way = GracefulShutdown::new();
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits::HEAD_TIME).max_buf_size(64 << 10);
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = async {
            let place = places.clone().acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = &mut stop => break,
            accepted = accepted => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                pause_after(&error).await;
                continue;
            }
        };
        let service = Extension(ConnectInfo(peer)).layer(router.clone());
        let service = TowerToHyperService::new(service);
        let stream = TokioIo::new(WriteTimeout::new(stream, limits::STUCK_TIME));
        let connection = under_way.watch(http.serve_connection(stream, service));
        tokio::spawn(async move {
            // A client that disconnects or does not speak HTTP is no error of the server.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    // After the grace period, the server drops the connections that are still open.
    let _ = tokio::time::timeout(limits::GRACE, under_way.shutdown()).await;
}

/// Waits after an error that an immediate retry does not fix, such as too many open files.
async fn pause_after(error: &io::Error) {
    let of_the_client = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    );
    if !of_the_client {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}
