//! The web application over results too big for one page: the same screens as in the page that
//! `flashscope report` writes, computed from the records as they are looked at.
//!
//! What comes from elsewhere (results, requests) is not trusted: ids are looked up, never made into
//! paths; sizes are bounded (`limits`); a result that is damaged is shown as such, and the rest works.

mod api;
mod endpoint;
mod guard;
mod limits;
mod page;
mod parameters;
mod problem;
mod server;
mod shelf;
mod views;
mod work;

use std::net::SocketAddr;

pub use api::{app, openapi};
pub use guard::Access;
pub use shelf::Folders;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

impl Access {
    /// Who reaches `address`.
    pub fn of(address: &SocketAddr) -> Access {
        if address.ip().is_loopback() { Access::Loopback } else { Access::Network }
    }
}

/// Shows `folders` at `address` until the program is interrupted or asked to end. Where the port is 0,
/// a free one is taken; `ready` is told which, once the server answers.
///
/// # Errors
/// Where the address cannot be listened at.
pub fn serve(
    folders: Folders,
    address: SocketAddr,
    ready: impl FnOnce(SocketAddr),
) -> std::io::Result<()> {
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
        ready(listener.local_addr()?);
        server::run(listener, app(folders, Access::of(&address)), stop).await;
        Ok(())
    })
}
