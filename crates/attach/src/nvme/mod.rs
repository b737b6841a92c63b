//! The drive as an NVM subsystem over TCP: the protocol is that of the NVM Express Base
//! Specification 2.1, the NVM Command Set Specification 1.1, the Zoned Namespace Command Set
//! Specification 1.1 and the TCP Transport Specification 1.1.
//!
//! Each connection is one queue and has a thread. A [`Session`], which does not depend on sockets,
//! decodes the transport into commands; a [`Queue`] turns commands into replies and into plans,
//! whose requests go to the drive ([`AttachedDrive::submit`]). One more thread submits the requests
//! of a command that start only after others are complete.

mod admin;
mod command;
mod connection;
mod controller;
mod erasure;
mod fabrics;
mod features;
mod identify;
mod io;
mod job;
mod log_page;
mod namespace;
mod namespaces;
mod pdu;
mod placement;
mod plan;
mod protection;
mod queue;
mod round_trip;
mod session;
mod status;
mod subsystem;
mod wire;
mod zones;

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::thread;

pub use command::Command;
pub use connection::Recipient;
pub use controller::Link;
pub use namespace::Namespace;
pub use namespaces::{NamespaceError, NamespaceOptions, ParseNamespaceError, check_namespaces};
pub use pdu::{Completion, Fatal, Format};
pub use placement::PlacementCommand;
pub use plan::{Erase, Finish, Plan};
pub use protection::ExtendedRead;
pub use queue::{Action, Commands, Queue};
pub use round_trip::round_trip;
pub(crate) use session::IN_CAPSULE;
pub use session::{Event, Rejection, Session, Transfer};
pub use status::Status;
pub use subsystem::{Nqn, ParseNqnError, SnapshotSource, Subsystem, SubsystemOptions};
pub use zones::{Report, ZoneCommand};

use crate::attached::AttachedDrive;
use crate::net::{self, Address};
use connection::Connection;
use job::Step;

/// The name of every discovery subsystem.
pub(crate) const DISCOVERY_NQN: &str = "nqn.2014-08.org.nvmexpress.discovery";

/// The reason why a drive is not served over NVMe/TCP.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is not a loopback address.
    #[error(
        "{address} is not a loopback address: NVMe/TCP has no passwords here (neither in-band authentication nor \
         TLS), and everyone who can reach the port could write to the drive; listen at 127.0.0.1:4420 or [::1]:4420, \
         and forward the port by SSH"
    )]
    NotLoopback {
        /// The address.
        address: String,
    },
    /// The text is not an address.
    #[error("`{0}` is not an address: name HOST:PORT, such as 127.0.0.1:4420")]
    NoAddress(String),
    /// The drive cannot be divided into namespaces.
    #[error(transparent)]
    Namespaces(#[from] NamespaceError),
    /// The server cannot listen, or cannot accept hosts.
    #[error(transparent)]
    Net(#[from] net::Error),
}

/// A socket that accepts the connections of hosts on this machine.
#[derive(Debug)]
pub struct Listener {
    listener: net::Listener,
    address: SocketAddr,
}

impl Listener {
    /// Listens at a loopback address, `HOST:PORT`; port 0 selects a free port.
    ///
    /// # Errors
    /// Returns an error if the address is in use, not a loopback address, or unknown.
    pub fn bind(address_text: &str) -> Result<Listener, Error> {
        let no_address = || Error::NoAddress(address_text.into());
        let found = address_text.to_socket_addrs().map_err(|_| no_address())?;
        let addresses: Vec<SocketAddr> = found.collect();
        if addresses.iter().any(|address| !address.ip().is_loopback()) {
            return Err(Error::NotLoopback { address: address_text.into() });
        }
        let first = addresses.first().ok_or_else(no_address)?;
        let listener = net::Listener::bind(&Address::Tcp(first.to_string()))?;
        let bound = match listener.address() {
            Address::Tcp(bound) => bound.parse().map_err(|_| no_address())?,
            Address::Unix(_) => return Err(no_address()),
        };
        Ok(Listener { listener, address: bound })
    }

    /// Returns the address in use, with the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Serves a drive to the hosts of `listener` until `stop` is set. Then commands in flight are
/// completed and the connections are closed. `ready` receives the name of the subsystem.
///
/// # Errors
/// Returns an error if the drive cannot be divided into the namespaces, or if the system cannot
/// accept more hosts.
pub fn serve(
    listener: Listener,
    drive: &Arc<AttachedDrive<Recipient>>,
    options: &SubsystemOptions,
    stop: &AtomicBool,
    ready: impl FnOnce(&str),
) -> Result<(), Error> {
    let Listener { listener, address } = listener;
    let observed = Arc::clone(drive);
    let source: SnapshotSource = Box::new(move || Some(observed.snapshot()));
    let subsystem = Arc::new(Subsystem::new(drive.export(), options, address, source)?);
    ready(subsystem.nqn());
    let (steps, receiver) = channel();
    let start = |socket| {
        let connection = Connection::new(socket);
        let (subsystem, drive) = (Arc::clone(&subsystem), Arc::clone(drive));
        let (its, steps) = (Arc::clone(&connection), steps.clone());
        let thread = thread::Builder::new().name("nvme".into());
        // If the system cannot start a thread, the host is disconnected.
        let thread = thread.spawn(move || its.serve(&subsystem, &drive, &steps)).ok()?;
        Some((connection, thread))
    };
    thread::scope(|scope| {
        let follows = thread::Builder::new().name("nvme-follows".into());
        let its = Arc::clone(&subsystem);
        let follows = follows.spawn_scoped(scope, move || job::run(&receiver, &its, drive));
        let result = match follows {
            Ok(_) => {
                let tick = || {
                    subsystem.end_silent();
                    drive.presence()
                };
                net::serve(listener, stop, start, tick, || drive.end_delays())
            }
            Err(source) => Err(net::Error::Listen { address: listener.address().clone(), source }),
        };
        // All jobs have ended with their connections, or are given up.
        let _ = steps.send(Step::Stop);
        result.map_err(Error::from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Only loopback addresses are served; all others are refused before a socket exists.
    #[test]
    fn only_loopback_addresses_are_served() {
        let bound = Listener::bind("127.0.0.1:0").unwrap();
        assert_ne!(bound.address().port(), 0);
        assert!(matches!(Listener::bind(&bound.address().to_string()), Err(Error::Net(_))));
        for address in ["0.0.0.0:0", "192.0.2.1:4420", "[::]:4420", "[2001:db8::1]:4420"] {
            let refused = Listener::bind(address).unwrap_err();
            assert!(matches!(refused, Error::NotLoopback { .. }), "{address}: {refused}");
        }
        for text in ["", "4420", "127.0.0.1", "127.0.0.1:70000"] {
            assert!(matches!(Listener::bind(text), Err(Error::NoAddress(_))), "{text}");
        }
    }
}
