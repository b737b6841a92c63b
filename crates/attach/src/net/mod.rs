//! Sockets, independent of the protocol: the listener, its clients, and their input and output.

mod address;
mod input;
mod listener;
mod outbox;

use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::Socket;

pub use address::{Address, ParseAddressError};
pub(crate) use input::Input;
pub use listener::{Error, Listener};
pub(crate) use outbox::{Message, Outbox};

use crate::faults::Presence;

/// The maximum number of connected clients; additional clients wait to be accepted.
pub(crate) const CLIENTS: usize = 128;

/// The maximum time, once serving stops, for completing requests in flight and sending replies.
const GRACE: Duration = Duration::from_secs(2);

/// The connection to a client.
pub(crate) trait Client {
    /// A reply of the protocol.
    type Reply: Message;

    /// Returns the socket of the connection.
    fn socket(&self) -> &Socket;

    /// Returns the replies that wait to be sent.
    fn outbox(&self) -> &Outbox<Self::Reply>;

    /// Stops reading: requests in flight are answered, and then the connection is closed.
    fn stop(&self) {
        // Fails only if the client has already disconnected.
        let _ = self.socket().shutdown(Shutdown::Read);
    }

    /// Waits at most `time` until the connection is closed, and returns true if it is.
    fn wait_until_closed(&self, time: Duration) -> bool {
        self.outbox().wait_until_closed(time)
    }

    /// Closes the connection.
    fn close(&self) {
        let _ = self.socket().shutdown(Shutdown::Both);
        self.outbox().close();
    }
}

/// A client and the thread that serves it.
pub(crate) type ClientThread<C> = (Arc<C>, JoinHandle<()>);

/// Accepts clients until `stop` is set. Then requests in flight are answered and the connections
/// are closed. `start` starts to serve a client, or disconnects it. `tick` is called several times
/// a second, and returns the state of the connections, which may require a cut. `end` is called
/// before the clients are disconnected.
pub(crate) fn serve<C: Client>(
    listener: Listener,
    stop: &AtomicBool,
    mut start: impl FnMut(Socket) -> Option<ClientThread<C>>,
    mut tick: impl FnMut() -> Presence,
    end: impl FnOnce(),
) -> Result<(), Error> {
    let mut clients: Vec<ClientThread<C>> = Vec::new();
    let mut result = Ok(());
    let mut cuts = 0;
    while !stop.load(Ordering::Relaxed) && result.is_ok() {
        let presence = tick();
        if presence.cuts != cuts || !presence.is_present {
            cuts = presence.cuts;
            clients.iter().for_each(|(client, _)| client.close());
        }
        clients.retain(|(_, thread)| !thread.is_finished());
        if clients.len() == CLIENTS {
            thread::sleep(Duration::from_millis(10));
            continue;
        }
        match listener.accept() {
            Ok(Some(socket)) if presence.is_present => clients.extend(start(socket)),
            Ok(_) => {}
            Err(error) => result = Err(error),
        }
    }
    // From here on no client can connect.
    drop(listener);
    end();
    let_go(clients);
    result
}

fn let_go<C: Client>(clients: Vec<ClientThread<C>>) {
    for (connection, _) in &clients {
        connection.stop();
    }
    let mut time = GRACE;
    for (connection, thread) in clients {
        if !connection.wait_until_closed(time) {
            connection.close();
            // The grace period applies to all clients together, and is over for the remaining
            // clients.
            time = Duration::ZERO;
        }
        // If the thread panicked, it has already reported that.
        let _ = thread.join();
    }
}
