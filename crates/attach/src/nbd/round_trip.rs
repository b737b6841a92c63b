//! A measurement of the round trip over a socket, with a minimal client.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::sync::atomic::AtomicBool;
use std::thread;

use flashscope_block::{Bytes, Op};
use flashscope_drive::Clock;
use socket2::{Domain, SockAddr, Socket, Type};

use super::connection::Connection;
use super::handshake::Offer;
use super::protocol::{
    CMD_DISC, CMD_READ, CMD_WRITE, FLAG_FIXED_NEWSTYLE, FLAG_NO_ZEROES, OPT_EXPORT_NAME,
    OPTION_MAGIC, REQUEST_MAGIC,
};
use crate::net::{Address, Client as _};
use crate::round_trip::RoundTrip;
use crate::trial::trial_drive;

/// The length of the server's greeting in bytes.
const GREETING_LEN: usize = 18;
/// The length of the reply to the export name in bytes, without the padding zeros.
const EXPORT_LEN: usize = 10;
/// The length of a simple reply without data, in bytes.
const REPLY_LEN: usize = 16;

/// Measures the round trip between a local client and a drive that is served at the given kind of
/// address. Takes about 0.3 s.
///
/// # Errors
/// Returns an error if the system has no more sockets or threads.
pub fn round_trip(address: &Address) -> io::Result<RoundTrip> {
    let (client, server) = connected(address)?;
    let drive = trial_drive()?;
    let offer = Offer::of(&drive, false);
    let connection = Connection::new(server);
    thread::scope(|scope| {
        let serves = thread::Builder::new().name("nbd".into());
        serves.spawn_scoped(scope, || connection.serve(&drive, offer, &AtomicBool::new(false)))?;
        let measured = Client::connect(&client).and_then(|mut client| {
            let clock = Clock::new();
            let measured = RoundTrip::measure(
                || clock.now(),
                |op, offset, len| client.transfer(op, offset, len),
            );
            client.request(CMD_DISC, Bytes(0), Bytes(0), &[])?;
            measured
        });
        connection.close();
        measured
    })
}

/// Returns the two ends of a connection.
fn connected(address: &Address) -> io::Result<(Socket, Socket)> {
    match address {
        Address::Unix(_) => Socket::pair(Domain::UNIX, Type::STREAM, None),
        Address::Tcp(_) => {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let client = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            client.connect(&SockAddr::from(listener.local_addr()?))?;
            client.set_tcp_nodelay(true)?;
            Ok((client, listener.accept()?.0.into()))
        }
    }
}

struct Client<'a> {
    socket: &'a Socket,
    data: Vec<u8>,
}

impl Client<'_> {
    /// Performs the handshake and returns a client that can send requests.
    fn connect(socket: &Socket) -> io::Result<Client<'_>> {
        let mut client = Client { socket, data: Vec::new() };
        client.take(GREETING_LEN)?;
        let flags = u32::from(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES);
        let mut sent = flags.to_be_bytes().to_vec();
        sent.extend(OPTION_MAGIC.to_be_bytes());
        sent.extend(OPT_EXPORT_NAME.to_be_bytes());
        sent.extend(0_u32.to_be_bytes());
        client.socket.write_all(&sent)?;
        client.take(EXPORT_LEN)?;
        Ok(client)
    }

    fn take(&mut self, len: usize) -> io::Result<()> {
        self.data.resize(len, 0);
        self.socket.read_exact(&mut self.data)
    }

    /// Reads or writes, and waits for the reply.
    fn transfer(&mut self, op: Op, offset: Bytes, len: Bytes) -> io::Result<()> {
        let data = usize::try_from(len.0).expect("a request fits in memory");
        if op == Op::Write {
            self.request(CMD_WRITE, offset, len, &vec![0; data])?;
            self.take(REPLY_LEN)
        } else {
            self.request(CMD_READ, offset, len, &[])?;
            self.take(REPLY_LEN + data)
        }
    }

    fn request(&mut self, command: u16, offset: Bytes, len: Bytes, data: &[u8]) -> io::Result<()> {
        let mut request = REQUEST_MAGIC.to_be_bytes().to_vec();
        request.extend(0_u16.to_be_bytes());
        request.extend(command.to_be_bytes());
        // The handle, which this client does not use.
        request.extend([0; 8]);
        request.extend(offset.0.to_be_bytes());
        request.extend(u32::try_from(len.0).expect("requests are short").to_be_bytes());
        request.extend(data);
        self.socket.write_all(&request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The measurement completes over both kinds of sockets with a positive time.
    #[test]
    fn tcp_and_unix_sockets_are_measured() {
        for address in ["127.0.0.1:0", "./socket"] {
            let trip = round_trip(&address.parse().unwrap()).unwrap();
            assert!(trip.of(Op::Read, Bytes::kib(4)).0 > 0, "{address}: {trip:?}");
        }
    }
}
