//! The drive as a network block device: the protocol is described in doc/proto.md of
//! <https://github.com/NetworkBlockDevice/nbd>.
//!
//! Each client has a thread, which receives its requests and submits those that arrived together
//! ([`AttachedDrive::submit`]); replies that are due together are sent together. A [`Session`],
//! which does not depend on sockets, decodes the protocol.

mod address;
mod connection;
mod handshake;
mod listener;
mod outbox;
mod protocol;
mod reply;
mod round_trip;
mod session;
mod transmission;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use flashscope_block::Bytes;

pub use address::{Address, ParseAddressError};
pub use connection::Recipient;
pub use handshake::Offer;
pub use listener::{Error, Listener};
pub use reply::{Handle, Refusal};
pub use round_trip::round_trip;
pub use session::{Event, Session, Violation};

use crate::attached::AttachedDrive;
use connection::Connection;

/// The maximum number of bytes per read or write: the limit that clients assume by default.
pub const LONGEST: Bytes = Bytes::mib(32);

/// The maximum number of connected clients; further clients wait to be accepted.
const CLIENTS: usize = 128;

/// The maximum time at the end for completing requests in flight and sending their replies.
const GRACE: Duration = Duration::from_secs(2);

/// Serves a drive to the clients of `listener`, one at a time if `exclusive`, until `stop` is set.
/// Then requests in flight are answered and the connections are closed.
///
/// # Errors
/// Returns an error if the system cannot accept more clients.
pub fn serve(
    listener: Listener,
    drive: Arc<AttachedDrive<Recipient>>,
    exclusive: bool,
    stop: &AtomicBool,
) -> Result<(), Error> {
    let offer = Offer::of(&drive, exclusive);
    let taken = Arc::new(AtomicBool::new(false));
    let mut clients: Vec<(Arc<Connection>, JoinHandle<()>)> = Vec::new();
    let mut result = Ok(());
    while !stop.load(Ordering::Relaxed) && result.is_ok() {
        clients.retain(|(_, thread)| !thread.is_finished());
        if clients.len() == CLIENTS {
            thread::sleep(Duration::from_millis(10));
            continue;
        }
        match listener.accept() {
            Ok(Some(socket)) => {
                let connection = Connection::new(socket);
                let (offer, taken, drive) = (offer.clone(), Arc::clone(&taken), Arc::clone(&drive));
                let its = Arc::clone(&connection);
                let thread = thread::Builder::new().name("nbd".into());
                // If the system cannot start a thread, the client is disconnected.
                if let Ok(thread) = thread.spawn(move || its.serve(&drive, offer, &taken)) {
                    clients.push((connection, thread));
                }
            }
            Ok(None) => {}
            Err(error) => result = Err(error),
        }
    }
    // From here on no client can connect.
    drop(listener);
    let_go(clients);
    result
}

fn let_go(clients: Vec<(Arc<Connection>, JoinHandle<()>)>) {
    for (connection, _) in &clients {
        connection.stop();
    }
    let mut time = GRACE;
    for (connection, thread) in clients {
        if !connection.wait_until_closed(time) {
            connection.close();
            // The remaining clients had this time too, and get no more.
            time = Duration::ZERO;
        }
        // A panic was already reported by the thread.
        let _ = thread.join();
    }
}
