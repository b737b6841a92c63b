//! A server for the web application. It has the same screens as the page that `flashscope report`
//! writes, but computes them from the records on demand, for results that are too large for one
//! page.
//!
//! Results and requests are untrusted input. The server looks ids up in an index and never makes
//! paths from them. Sizes are bounded (`limits`). The shelf shows a damaged result with its
//! problem; other results are not affected.

mod api;
mod app;
mod commands;
mod compared;
mod describe;
mod endpoint;
mod follow;
mod guard;
mod idle_timeout;
mod library;
mod limits;
mod lines;
mod live;
mod page;
mod parameters;
mod problem;
mod running;
mod server;
mod shelf;
mod strict_json;
mod views;
pub mod what_if;
mod work;

use std::net::SocketAddr;

pub use api::{Api, api, app, app_answering, app_watching, openapi, with_page};
use axum::Router;
pub use commands::Commands;
pub use endpoint::{Bearer, Body, Endpoints, Gate, JsonOf, Nothing, Parameters};
pub use guard::{Access, guarded};
pub use library::{Library, OpenMeasurement};
pub use live::{Attachment, attached, metrics_page};
pub use problem::Problem;
pub use running::{StateSource, running, serve_beside};
pub use shelf::{Folders, MAX_INTEGER, ShelfQuery, Sort};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
pub use work::Work;

impl Access {
    /// Returns the access that binding to `address` gives.
    pub fn of(address: &SocketAddr) -> Access {
        if address.ip().is_loopback() { Access::Loopback } else { Access::Network }
    }
}

/// Serves the router that `make` builds at `address`, until the program is interrupted or
/// terminated. Port 0 picks a free port. Calls `ready` with the actual address once the server
/// answers.
///
/// # Errors
/// If the address cannot be bound, or `make` fails.
pub fn serve<E: From<std::io::Error>>(
    make: impl AsyncFnOnce(Access) -> Result<Router, E>,
    address: SocketAddr,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), E> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut terminated = signal(SignalKind::terminate())?;
        let mut interrupted = signal(SignalKind::interrupt())?;
        let stop = async {
            tokio::select! {
                _ = terminated.recv() => {}
                _ = interrupted.recv() => {}
            }
        };
        let listener = TcpListener::bind(address).await?;
        let router = make(Access::of(&address)).await?;
        ready(listener.local_addr()?);
        server::run(listener, router, stop).await;
        Ok(())
    })
}
