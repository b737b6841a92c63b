#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "a Unix socket: a socket on which nobody listens is replaced, anything else refused; removed only if its inode is the one that was made"
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

/// How many clients may wait to be let in.
const BACKLOG: i32 = 128;

/// How long [`Listener::accept`] waits for a client.
const PATIENCE: Duration = Duration::from_millis(100);

/// Why nothing can be served, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another server is there.
    #[error("{address} is in use: another server listens there; stop it, or name another address")]
    InUse {
        /// The address.
        address: Address,
    },
    /// There is a file that is no socket.
    #[error("{} is there and is no socket; remove it, or name another path", path.display())]
    NoSocket {
        /// The file.
        path: PathBuf,
    },
    /// The system refused to listen.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address.
        address: Address,
        /// What the system says.
        source: io::Error,
    },
    /// The system lets no more clients in.
    #[error("cannot let clients in at {address}: {source}")]
    Accept {
        /// The address.
        address: Address,
        /// What the system says.
        source: io::Error,
    },
}

/// A socket at which clients are awaited. A Unix socket is removed with it.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    address: Address,
    _file: Option<SocketFile>,
}

impl Listener {
    /// Listens at an address. The file of a Unix socket whose server is gone is replaced.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn bind(address: &Address) -> Result<Listener, Error> {
        let listener = match address {
            Address::Tcp(wanted) => bind_tcp(wanted),
            Address::Unix(path) => bind_unix(path)?,
        };
        listener.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => Error::InUse { address: address.clone() },
            _ => Error::Listen { address: address.clone(), source },
        })
    }

    /// Where it listens: with the port that was found where any was asked for, and the whole path.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The next client; none where there was none for a while.
    pub(super) fn accept(&self) -> Result<Option<Socket>, Error> {
        use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
        match self.socket.accept() {
            Ok((client, _)) => Ok(Some(client)),
            Err(error) => match error.raw_os_error() {
                // A client that goes is no trouble of the server, and files are closed again.
                Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM) => {
                    std::thread::sleep(PATIENCE);
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

fn bind_tcp(wanted: &str) -> io::Result<Listener> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in wanted.to_socket_addrs()? {
        match bind_socket(&address.into(), |socket| socket.set_reuse_address(true)) {
            Ok(socket) => {
                let found = socket.local_addr()?.as_socket().map(|found| found.port());
                let host = wanted.rsplit_once(':').map_or(wanted, |(host, _)| host);
                let address = Address::Tcp(format!("{host}:{}", found.unwrap_or(address.port())));
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
        // If it cannot be removed, binding says why.
        let _ = fs::remove_file(path);
    }
    Ok((|| {
        let path = std::path::absolute(path)?;
        let socket = bind_socket(&SockAddr::unix(&path)?, |_| Ok(()))?;
        let file = SocketFile { inode: fs::symlink_metadata(&path)?.ino(), path: path.clone() };
        Ok(Listener { socket, address: Address::Unix(path), _file: Some(file) })
    })())
}

/// Whether somebody answers at a socket; where that cannot be told, somebody may.
fn has_server(path: &Path) -> bool {
    let connected = SockAddr::unix(path).and_then(|address| {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        // A server that is busy must not hold this up.
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
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// The file of a Unix socket, as long as it is the one that was made.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    inode: u64,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode) {
            // One that stays is replaced by the next server.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    // Is the file of a server that is gone replaced, and removed in the end, and what is in use or
    // is no socket left alone?
    #[test]
    fn socket_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let address = Address::Unix(path.clone());
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "the standard library leaves it");
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

    // Is a file that somebody else put in place of ours left alone?
    #[test]
    fn another_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = Listener::bind(&Address::Unix(path.clone())).unwrap();
        fs::rename(&path, folder.path().join("ours")).unwrap();
        fs::write(&path, "theirs").unwrap();
        drop(listener);
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
    }

    // Is a port found where any was asked for, and one that is taken refused?
    #[test]
    fn ports() {
        let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
        assert_ne!(listener.address(), &Address::Tcp("127.0.0.1:0".into()));
        let refused = Listener::bind(listener.address()).unwrap_err();
        assert!(matches!(refused, Error::InUse { .. }), "{refused}");
        let unknown = Listener::bind(&"no.such.host.invalid:1".parse().unwrap()).unwrap_err();
        assert!(matches!(unknown, Error::Listen { .. }), "{unknown}");
    }
}
