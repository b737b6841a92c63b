//! A measurement of the round trip over TCP, with a minimal host.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use flashscope_block::{Bytes, Op};
use flashscope_drive::Clock;

use super::command::{COMMAND_LEN, FABRICS, SGL_IN_CAPSULE, SGL_TRANSPORT};
use super::pdu::{CAPSULE_CMD, CAPSULE_CMD_LEN, FLAG_LAST, H2C_DATA, HEADER_LEN, IC_LEN, IC_REQ};
use super::wire::{Structure, u32_at};
use super::{IN_CAPSULE, Listener, SubsystemOptions, fabrics, io as nvm, serve};
use crate::round_trip::RoundTrip;
use crate::trial::trial_drive;

/// Measures the round trip between a local host and a drive that is served over TCP. Takes about
/// 0.3 s.
///
/// # Errors
/// Returns an error if the system has no more sockets or threads.
pub fn round_trip() -> io::Result<RoundTrip> {
    let listener = Listener::bind("127.0.0.1:0").map_err(io::Error::other)?;
    let address = listener.address();
    let drive = std::sync::Arc::new(trial_drive()?);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (sender, name) = channel();
        let (drive, stop) = (&drive, &stop);
        let serves = thread::Builder::new().name("nvme-trial".into());
        serves.spawn_scoped(scope, move || {
            let ready = |nqn: &str| drop(sender.send(nqn.to_owned()));
            serve(listener, drive, &SubsystemOptions::default(), stop, ready)
        })?;
        let measured = name.recv().map_err(io::Error::other).and_then(|nqn| measure(address, &nqn));
        stop.store(true, Ordering::Relaxed);
        measured
    })
}

fn measure(address: SocketAddr, nqn: &str) -> io::Result<RoundTrip> {
    let mut admin = Host::connect(address)?;
    let id = admin.create(nqn, 0, u16::MAX)?;
    // The controller is enabled, with entries of 64 and 16 bytes.
    let mut enable = command(FABRICS);
    enable.u8(4, fabrics::PROPERTY_SET).u32(44, 0x14).u64(48, 1 | 6 << 16 | 4 << 20);
    admin.send(enable, &[])?;
    admin.take(HEADER_LEN)?;
    let mut queue = Host::connect(address)?;
    queue.create(nqn, 1, id)?;
    let clock = Clock::new();
    RoundTrip::measure(|| clock.now(), |op, offset, len| queue.transfer(op, offset, len))
}

/// A host with one queue.
struct Host {
    socket: TcpStream,
    data: Vec<u8>,
}

/// Starts a command, whose data are described by an SGL.
fn command(opcode: u8) -> Structure {
    let mut command = Structure::new(COMMAND_LEN);
    command.u8(0, opcode).u8(1, 1 << 6);
    command
}

impl Host {
    fn connect(address: SocketAddr) -> io::Result<Host> {
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        let mut host = Host { socket, data: Vec::new() };
        let mut request = Structure::new(IC_LEN);
        let len = u8::try_from(IC_LEN).expect("headers are short");
        request.u8(0, IC_REQ).u8(2, len).u32(4, len.into());
        host.socket.write_all(&request.into_bytes())?;
        host.take(IC_LEN)?;
        Ok(host)
    }

    /// Creates a queue, and returns the identifier of the controller.
    fn create(&mut self, nqn: &str, queue: u16, controller: u16) -> io::Result<u16> {
        let mut data = Structure::new(1024);
        data.u16(16, controller).terminated(256, 256, nqn);
        data.terminated(512, 256, "nqn.2014-08.org.nvmexpress:flashscope");
        let mut connect = command(FABRICS);
        connect.u8(4, fabrics::CONNECT).u16(42, queue).u16(44, 31);
        self.send(connect, &data.into_bytes())?;
        self.take(HEADER_LEN)?;
        Ok(super::wire::u16_at(&self.data, 8))
    }

    /// Sends a command with data in its capsule.
    fn send(&mut self, mut command: Structure, data: &[u8]) -> io::Result<()> {
        let len = u32::try_from(data.len()).expect("data are short");
        if len > 0 {
            command.u32(32, len).u8(39, SGL_IN_CAPSULE);
        }
        let mut capsule = capsule_header(data.len());
        capsule.extend(command.into_bytes());
        capsule.extend(data);
        self.socket.write_all(&capsule)
    }

    fn take(&mut self, len: usize) -> io::Result<()> {
        self.data.resize(len, 0);
        self.socket.read_exact(&mut self.data)
    }

    /// Reads or writes, and waits for the completion.
    fn transfer(&mut self, op: Op, offset: Bytes, len: Bytes) -> io::Result<()> {
        let mut request = command(if op == Op::Write { nvm::WRITE } else { nvm::READ });
        let (start, blocks) = (offset.0 / 512, u32::try_from(len.0 / 512).expect("short"));
        let bytes = usize::try_from(len.0).expect("a request fits in memory");
        request.u32(4, 1).u64(40, start).u32(48, blocks - 1);
        if op == Op::Write && len.0 <= IN_CAPSULE.into() {
            self.send(request, &vec![0; bytes])?;
            return self.take(HEADER_LEN);
        }
        request.u32(32, blocks * 512).u8(39, SGL_TRANSPORT);
        self.send(request, &[])?;
        if op == Op::Read {
            return self.take(HEADER_LEN + bytes + HEADER_LEN);
        }
        self.take(HEADER_LEN)?;
        let asked = u32_at(&self.data, 16);
        let mut piece = Structure::new(HEADER_LEN);
        let header = u8::try_from(HEADER_LEN).expect("headers are short");
        piece.u8(0, H2C_DATA).u8(1, FLAG_LAST).u8(2, header).u8(3, header);
        piece.u32(4, u32::from(header) + asked).u32(16, asked);
        let mut pdu = piece.into_bytes();
        pdu.resize(HEADER_LEN + asked as usize, 0);
        self.socket.write_all(&pdu)?;
        self.take(HEADER_LEN)
    }
}

fn capsule_header(data: usize) -> Vec<u8> {
    let mut header = Structure::new(8);
    let len = u8::try_from(CAPSULE_CMD_LEN).expect("headers are short");
    let offset = if data > 0 { len } else { 0 };
    let total = CAPSULE_CMD_LEN + data;
    header.u8(0, CAPSULE_CMD).u8(2, len).u8(3, offset);
    header.u32(4, u32::try_from(total).expect("capsules are short"));
    header.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    // The measurement completes with a positive time.
    #[test]
    fn tcp_is_measured() {
        let trip = round_trip().unwrap();
        assert!(trip.of(Op::Read, Bytes::kib(4)).0 > 0, "{trip:?}");
    }
}
