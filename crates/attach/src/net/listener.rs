#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "a Unix socket: only a socket without a listener is replaced; it is removed only if its inode is the one created"
    )
)]

use std::fs;
use std::io;
use std::net::ToSocketAddrs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use socket2::{Domain, SockAddr, Socket, Type};

use super::Address;

/// The maximum number of clients that wait to be accepted.
const BACKLOG: i32 = 128;

/// The maximum time that [`Listener::accept`] waits for a client.
const ACCEPT_TIMEOUT: Duration = Duration::from_millis(100);

/// The reason why a server cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another server uses the address.
    #[error("{address} is in use: another server listens there; stop it, or name another address")]
    InUse {
        /// The address.
        address: Address,
    },
    /// The path leads to a file that is not a socket.
    #[error("{} exists and is not a socket; remove it, or name another path", path.display())]
    NoSocket {
        /// The file.
        path: PathBuf,
    },
    /// The system could not listen at the address.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address.
        address: Address,
        /// The error of the system.
        source: io::Error,
    },
    /// The system could not accept another client.
    #[error("cannot accept clients at {address}: {source}")]
    Accept {
        /// The address.
        address: Address,
        /// The error of the system.
        source: io::Error,
    },
}

/// A socket that accepts clients. A Unix socket's file is removed when this is dropped.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    address: Address,
    _file: Option<SocketFile>,
}

impl Listener {
    /// Listens at an address. A Unix socket whose server is gone is replaced.
    ///
    /// # Errors
    /// Returns an [`Error`] if the address is in use or cannot be used.
    pub fn bind(address: &Address) -> Result<Listener, Error> {
        let listener = match address {
            Address::Tcp(address_text) => bind_tcp(address_text),
            Address::Unix(path) => bind_unix(path)?,
        };
        listener.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => Error::InUse { address: address.clone() },
            _ => Error::Listen { address: address.clone(), source },
        })
    }

    /// Returns the address in use. A TCP address has the port that the system chose, and the path
    /// of a socket is absolute.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Waits up to [`ACCEPT_TIMEOUT`] for the next client; returns `None` if no client connects.
    pub(crate) fn accept(&self) -> Result<Option<Socket>, Error> {
        use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
        match self.socket.accept() {
            Ok((client, _)) => Ok(Some(client)),
            Err(error) => match error.raw_os_error() {
                // The lack of descriptors or memory may be temporary. A client that has
                // disconnected, in the next case, is no error of the server either.
                Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM) => {
                    std::thread::sleep(ACCEPT_TIMEOUT);
                    Ok(None)
                }
                _ if matches!(error.kind(), ConnectionAborted | Interrupted | WouldBlock) => {
                    Ok(None)
                }
                _ => Err(Error::Accept { address: self.address.clone(), source: error }),
            },
        }
    }
}

fn bind_tcp(address_text: &str) -> io::Result<Listener> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in address_text.to_socket_addrs()? {
        match bind_socket(&address.into(), |socket| socket.set_reuse_address(true)) {
            Ok(socket) => {
                let port = socket.local_addr()?.as_socket().map(|bound| bound.port());
                let host = address_text.rsplit_once(':').map_or(address_text, |(host, _)| host);
                let address = Address::Tcp(format!("{host}:{}", port.unwrap_or(address.port())));
                return Ok(Listener { socket, address, _file: None });
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn bind_unix(path: &Path) -> Result<io::Result<Listener>, Error> {
    if let Ok(metadata) = fs::symlink_metadata(path) {
        if !metadata.file_type().is_socket() {
            return Err(Error::NoSocket { path: path.into() });
        }
        if has_server(path) {
            return Err(Error::InUse { address: Address::Unix(path.into()) });
        }
        // If the file cannot be removed, binding reports the reason.
        let _ = fs::remove_file(path);
    }
    Ok((|| {
        let path = std::path::absolute(path)?;
        let socket = bind_socket(&SockAddr::unix(&path)?, |_| Ok(()))?;
        let file = SocketFile { inode: fs::symlink_metadata(&path)?.ino(), path: path.clone() };
        Ok(Listener { socket, address: Address::Unix(path), _file: Some(file) })
    })())
}

/// Returns true if a server listens at a socket, or if that cannot be determined.
fn has_server(path: &Path) -> bool {
    let connected = SockAddr::unix(path).and_then(|address| {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        // A busy server must not block this check.
        socket.set_nonblocking(true)?;
        socket.connect(&address)
    });
    !connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

fn bind_socket(
    address: &SockAddr,
    prepare: impl Fn(&Socket) -> io::Result<()>,
) -> io::Result<Socket> {
    let socket = Socket::new(address.domain(), Type::STREAM, None)?;
    prepare(&socket)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)?;
    socket.set_read_timeout(Some(ACCEPT_TIMEOUT))?;
    Ok(socket)
}

/// The file of a Unix socket, which is removed when this is dropped if it is still the same file.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    inode: u64,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|metadata| metadata.ino() == self.inode) {
            // A file that remains is replaced by the next server.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    // The file of a dead server's socket is replaced, and removed in the end. A socket in use and
    // other files stay unchanged.
    #[test]
    fn only_sockets_without_a_server_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let address = Address::Unix(path.clone());
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "the standard library leaves the file");
        let listener = Listener::bind(&address).unwrap();
        UnixStream::connect(&path).unwrap();
        let refused = Listener::bind(&address).unwrap_err();
        assert!(matches!(refused, Error::InUse { .. }), "{refused}");
        drop(listener);
        assert!(!path.exists());
        fs::write(&path, "precious").unwrap();
        let refused = Listener::bind(&address).unwrap_err();
        assert!(matches!(refused, Error::NoSocket { .. }), "{refused}");
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        let long = Address::Unix(folder.path().join("x".repeat(200)));
        assert!(matches!(Listener::bind(&long), Err(Error::Listen { .. })));
    }

    // A file that replaced the server's socket is not removed.
    #[test]
    fn a_replaced_socket_file_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = Listener::bind(&Address::Unix(path.clone())).unwrap();
        fs::rename(&path, folder.path().join("ours")).unwrap();
        fs::write(&path, "theirs").unwrap();
        drop(listener);
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
    }

    // Port 0 selects a free port, and a port in use is refused.
    #[test]
    fn port_0_selects_a_free_port() {
        let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
        assert_ne!(listener.address(), &Address::Tcp("127.0.0.1:0".into()));
        let refused = Listener::bind(listener.address()).unwrap_err();
        assert!(matches!(refused, Error::InUse { .. }), "{refused}");
        let unknown = Listener::bind(&"no.such.host.invalid:1".parse().unwrap()).unwrap_err();
        assert!(matches!(unknown, Error::Listen { .. }), "{unknown}");
    }
}
