//! The drive as a network block device: the protocol is described in doc/proto.md of
//! <https://github.com/NetworkBlockDevice/nbd>.
//!
//! Each client has a thread, which receives its requests and submits those that arrived together
//! ([`AttachedDrive::submit`]); replies that are due together are sent together. A [`Session`],
//! which does not depend on sockets, decodes the protocol.

mod connection;
mod handshake;
mod protocol;
mod reply;
mod round_trip;
mod session;
mod transmission;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use flashscope_block::Bytes;

pub use connection::Recipient;
pub use handshake::Offer;
pub use reply::{Handle, Refusal};
pub use round_trip::round_trip;
pub use session::{Event, Session, Violation};

use crate::attached::AttachedDrive;
use crate::net;
pub use crate::net::{Address, Error, Listener, ParseAddressError};
use connection::Connection;

/// The maximum number of bytes per read or write: the limit that clients assume by default.
pub const MAX_TRANSFER: Bytes = Bytes::mib(32);

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
    let start = |socket| {
        let connection = Connection::new(socket);
        let (offer, taken, drive) = (offer.clone(), Arc::clone(&taken), Arc::clone(&drive));
        let its = Arc::clone(&connection);
        let thread = thread::Builder::new().name("nbd".into());
        // If the system cannot start a thread, the client is disconnected.
        let thread = thread.spawn(move || its.serve(&drive, offer, &taken)).ok()?;
        Some((connection, thread))
    };
    net::serve(listener, stop, start, || drive.presence(), || drive.end_delays())
}
