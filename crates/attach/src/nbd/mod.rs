//! The drive as a network block device: the protocol is described in doc/proto.md of
//! <https://github.com/NetworkBlockDevice/nbd>.
//!
//! Each client has a thread, which reads what it sends and hands over all that arrived together
//! ([`Attached::submit`]); answers that are due together go out together. What a client says is
//! understood by a [`Session`], which knows no sockets.

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
pub use connection::To;
pub use handshake::Offer;
pub use listener::{Error, Listener};
pub use reply::{Handle, Refusal};
pub use round_trip::round_trip;
pub use session::{Event, Session, Violation};

use crate::attached::Attached;
use connection::Connection;

/// The most bytes that a client may write or read at once: what the protocol tells clients to assume.
pub const LONGEST: Bytes = Bytes::mib(32);

/// The most clients at once; others wait to be let in.
const CLIENTS: usize = 128;

/// How long requests in flight have to be answered, and clients to take the answers, in the end.
const GRACE: Duration = Duration::from_secs(2);

/// Serves a drive to the clients that come to `listener`, one at a time where it is `exclusive`, until
/// `stop` is set: then what is in flight is answered and the clients are let go.
///
/// # Errors
/// The system lets no more clients in.
pub fn serve(
    listener: Listener,
    drive: Arc<Attached<To>>,
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
                // Where the system has no thread for it, the client is let go.
                if let Ok(thread) = thread.spawn(move || its.serve(&drive, offer, &taken)) {
                    clients.push((connection, thread));
                }
            }
            Ok(None) => {}
            Err(error) => result = Err(error),
        }
    }
    // Nobody else comes in.
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
            // The others had that time as well.
            time = Duration::ZERO;
        }
        // One that panicked has said so.
        let _ = thread.join();
    }
}
