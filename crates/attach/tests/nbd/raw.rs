//! Tests with a client that speaks the protocol byte by byte, in part incorrectly.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use flashscope_attach::Speed;
use flashscope_block::Nanos;

use crate::served::{SIZE, ServerOptions, TestServer};
use crate::talk::{self, info};

const READ: u16 = 0;
const WRITE: u16 = 1;
const DISC: u16 = 2;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const WRITE_ZEROES: u16 = 6;
const FUA: u16 = 1;
const NO_HOLE: u16 = 2;

const EPERM: u32 = 1;
const EINVAL: u32 = 22;
const ENOSPC: u32 = 28;

const ACK: u32 = 1;
const SERVER: u32 = 2;
const INFO: u32 = 3;
const UNSUP: u32 = (1 << 31) + 1;
const POLICY: u32 = (1 << 31) + 2;
const INVALID: u32 = (1 << 31) + 3;
const UNKNOWN: u32 = (1 << 31) + 6;

struct Client(UnixStream);

impl Client {
    /// Connects and exchanges the greeting.
    fn connect(server: &TestServer) -> Client {
        let mut client = Client(UnixStream::connect(server.socket()).unwrap());
        assert_eq!(client.bytes(18), b"NBDMAGICIHAVEOPT\0\x03");
        client.send(&3u32.to_be_bytes());
        client
    }

    /// Connects and completes the handshake.
    fn new(server: &TestServer, structured: bool) -> Client {
        let mut client = Client::connect(server);
        if structured {
            assert_eq!(client.option(8, &[]), [(ACK, vec![])]);
        }
        let replies = client.option(7, &info("fixed"));
        assert_eq!(replies.last().unwrap().0, ACK, "{replies:?}");
        client
    }

    fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.bytes(4).try_into().unwrap())
    }

    /// Sends an option, and returns the type and data of each reply to it.
    fn option(&mut self, number: u32, data: &[u8]) -> Vec<(u32, Vec<u8>)> {
        self.send(&talk::option(number, data));
        let mut replies = Vec::new();
        loop {
            assert_eq!(self.bytes(8), 0x0003_e889_0455_65a9_u64.to_be_bytes());
            assert_eq!(self.u32(), number);
            let (kind, len) = (self.u32(), self.u32());
            replies.push((kind, self.bytes(len as usize)));
            if kind == ACK || kind > 1 << 31 {
                return replies;
            }
        }
    }

    fn ask(&mut self, flags: u16, command: u16, cookie: u64, offset: u64, len: u32) {
        self.send(&talk::request(flags, command, cookie, offset, len));
    }

    /// Receives a simple reply, and returns its cookie and error.
    fn simple(&mut self) -> (u64, u32) {
        assert_eq!(self.u32(), 0x6744_6698);
        let error = self.u32();
        (u64::from_be_bytes(self.bytes(8).try_into().unwrap()), error)
    }

    /// Receives a structured reply of one chunk, and returns its cookie, type and content.
    fn chunk(&mut self) -> (u64, u16, Vec<u8>) {
        assert_eq!(self.u32(), 0x668e_33ef);
        let done_and_kind = self.u32();
        assert_eq!(done_and_kind >> 16, 1, "the only chunk is the last");
        let cookie = u64::from_be_bytes(self.bytes(8).try_into().unwrap());
        let len = self.u32();
        (cookie, u16::try_from(done_and_kind & 0xffff).unwrap(), self.bytes(len as usize))
    }

    fn error_of(&mut self, flags: u16, command: u16, offset: u64, len: u32) -> u32 {
        self.ask(flags, command, 4711, offset, len);
        let (cookie, error) = self.simple();
        assert_eq!(cookie, 4711);
        error
    }

    fn write(&mut self, flags: u16, offset: u64, data: &[u8]) {
        let len = u32::try_from(data.len()).unwrap();
        self.send(&[&talk::request(flags, WRITE, 1, offset, len)[..], data].concat());
        assert_eq!(self.simple(), (1, 0));
    }

    fn read(&mut self, offset: u64, len: u32) -> Vec<u8> {
        assert_eq!(self.error_of(0, READ, offset, len), 0);
        self.bytes(len as usize)
    }

    /// Returns true if the server has closed the connection without sending more bytes.
    fn was_disconnected(mut self) -> bool {
        matches!(self.0.read(&mut [0]), Ok(0))
    }
}

// Reads return the written data at any offset and length, and zeros for trimmed and zeroed ranges.
#[test]
fn reads_return_the_written_data() {
    let server = TestServer::new(&ServerOptions::default());
    let mut client = Client::new(&server, false);
    client.write(0, 1, b"unaligned");
    client.write(FUA, SIZE.0 - 3, b"end");
    assert_eq!(client.read(0, 11), b"\0unaligned\0");
    assert_eq!(client.read(SIZE.0 - 4, 4), b"\0end");
    client.write(0, 4096, &[7; 100_000]);
    assert_eq!(client.error_of(FUA, TRIM, 4096, 1024), 0);
    assert_eq!(client.error_of(0, WRITE_ZEROES, 8192, 512), 0);
    assert_eq!(client.error_of(NO_HOLE | FUA, WRITE_ZEROES, 10_001, 99), 0);
    assert_eq!(client.error_of(0, TRIM, 20_001, 510), 0, "less than a block");
    let seen = client.read(4096, 100_000);
    let zero = |at: usize| at < 1024 || (4096..4608).contains(&at) || (5905..6004).contains(&at);
    assert!(seen.iter().enumerate().all(|(at, byte)| *byte == if zero(at) { 0 } else { 7 }));
    assert_eq!(client.error_of(0, FLUSH, 0, 0), 0);
    client.ask(0, DISC, 0, 0, 0);
    assert!(client.was_disconnected());
}

// A write of zeros may exceed the maximum length of other requests, and has one reply.
#[test]
fn a_long_write_of_zeros_has_one_reply() {
    let server = TestServer::new(&ServerOptions::default());
    let mut client = Client::new(&server, false);
    for offset in [0, 64 << 20, (100 << 20) - 1] {
        client.write(0, offset, b"x");
    }
    assert_eq!(client.error_of(NO_HOLE, WRITE_ZEROES, 0, 100 << 20), 0);
    for offset in [0, 64 << 20, (100 << 20) - 1] {
        assert_eq!(client.read(offset, 1), [0]);
    }
}

// Structured replies are sent once they are agreed on; an error reply contains a text.
#[test]
fn structured_replies_are_sent_once_negotiated() {
    let server = TestServer::new(&ServerOptions::default());
    let mut client = Client::new(&server, true);
    client.write(0, 512, b"there");
    client.ask(4, READ, 2, 512, 5);
    assert_eq!(client.chunk(), (2, 1, [&512u64.to_be_bytes()[..], b"there"].concat()));
    client.ask(0, READ, 3, SIZE.0, 1);
    let (cookie, kind, content) = client.chunk();
    assert_eq!((cookie, kind), (3, (1 << 15) + 1));
    let words = b"the range exceeds the size of the drive";
    let expected = [&EINVAL.to_be_bytes()[..], &[0, 39], words].concat();
    assert_eq!(content, expected);
}

// An invalid request is rejected with the error of the protocol, and the connection stays open.
#[test]
fn invalid_requests_are_rejected() {
    let server = TestServer::new(&ServerOptions::default());
    let mut client = Client::new(&server, false);
    let end = SIZE.0;
    assert_eq!(client.error_of(0, READ, end - 1, 2), EINVAL);
    assert_eq!(client.error_of(0, READ, u64::MAX, 2), EINVAL);
    assert_eq!(client.error_of(0, TRIM, end, 1), EINVAL);
    assert_eq!(client.error_of(0, WRITE_ZEROES, end, 1), ENOSPC);
    assert_eq!(client.error_of(0, READ, 0, 0), EINVAL);
    assert_eq!(client.error_of(0, READ, 0, (32 << 20) + 1), EINVAL);
    assert_eq!(client.error_of(0, FLUSH, 512, 0), EINVAL);
    assert_eq!(client.error_of(4, READ, 0, 1), EINVAL, "structured replies are not enabled");
    assert_eq!(client.error_of(NO_HOLE, TRIM, 0, 512), EINVAL);
    assert_eq!(client.error_of(0, 5, 0, 512), EINVAL);
    assert_eq!(client.error_of(0, 4711, 0, 512), EINVAL);
    // The data of a rejected write are not taken for a request.
    for (offset, len, error) in [(end - 1, 2, ENOSPC), (0, (32 << 20) + 1, EINVAL)] {
        client.ask(0, WRITE, 9, offset, len);
        client.send(&vec![0x25; len as usize]);
        assert_eq!(client.simple(), (9, error));
    }
    assert_eq!(client.read(end - 1, 1), [0]);
}

// Each option has a reply, including unknown ones.
#[test]
fn each_option_has_a_reply() {
    let server = TestServer::new(&ServerOptions::default());
    let mut client = Client::connect(&server);
    let listed = [&[0, 0, 0, 5], &b"fixed"[..]].concat();
    assert_eq!(client.option(3, &[]), [(SERVER, listed), (ACK, vec![])]);
    for (option, data, kind) in [
        (5, &[][..], UNSUP),
        (9, &[], UNSUP),
        (4711, b"what", UNSUP),
        (3, b"data", INVALID),
        (8, b"data", INVALID),
        (6, b"\0\0\0\x09short", INVALID),
        (6, &info("other"), UNKNOWN),
        (7, &info("other"), UNKNOWN),
    ] {
        assert_eq!(client.option(option, data).last().unwrap().0, kind, "{option}");
    }
    let replies = client.option(6, &info(""));
    let flags: u16 = 1 | 4 | 8 | 32 | 64 | 256;
    let export = [&[0, 0], &SIZE.0.to_be_bytes()[..], &flags.to_be_bytes()];
    assert_eq!(replies[0], (INFO, export.concat()));
    assert_eq!(replies[1], (INFO, b"\0\x01fixed".to_vec()));
    let sizes = [512u32, 4096, 32 << 20].map(u32::to_be_bytes).concat();
    assert_eq!(replies[2], (INFO, [&[0, 3], &sizes[..]].concat()));
    assert_eq!(replies[3], (ACK, vec![]));
    assert_eq!(client.option(2, &[]), [(ACK, vec![])]);
    assert!(client.was_disconnected());
}

// The older option for an export name works with and without padding; a wrong name disconnects.
#[test]
fn the_export_name_option_works() {
    let server = TestServer::new(&ServerOptions::default());
    for (flags, zeros) in [(1u32, 124), (3, 0)] {
        let mut client = Client(UnixStream::connect(server.socket()).unwrap());
        client.bytes(18);
        client.send(&[&flags.to_be_bytes(), &talk::option(1, b"fixed")[..]].concat());
        let reply = client.bytes(10 + zeros);
        assert_eq!(reply[..8], SIZE.0.to_be_bytes());
        assert!(reply[10..].iter().all(|byte| *byte == 0));
        assert_eq!(client.read(0, 1), [0]);
    }
    let mut client = Client::connect(&server);
    client.send(&talk::option(1, b"other"));
    assert!(client.was_disconnected());
}

// With an exclusive offer, a second client is refused until the first one has disconnected.
#[test]
fn one_client_is_served_at_a_time() {
    let server = TestServer::new(&ServerOptions { exclusive: true, ..ServerOptions::default() });
    let first = Client::new(&server, false);
    let mut second = Client::connect(&server);
    let refused = second.option(7, &info(""));
    let words = "the drive is served to one client at a time, and another client is connected";
    assert_eq!(refused, [(POLICY, words.into())]);
    assert_eq!(second.option(6, &info("")).last().unwrap().0, ACK, "information is available");
    let mut third = Client::connect(&server);
    third.send(&talk::option(1, b""));
    assert!(third.was_disconnected());
    let mut first = first;
    first.ask(0, DISC, 0, 0, 0);
    assert!(first.was_disconnected());
    // The server closes the connection shortly before it accepts the next client.
    while second.option(7, &info("")).last().unwrap().0 != ACK {
        std::thread::yield_now();
        second = Client::connect(&server);
    }
    assert_eq!(second.read(0, 1), [0]);
}

// A long write of zeros, which is split into pieces, leaves nothing behind that keeps its
// connection open.
#[test]
fn a_client_that_wrote_long_zeros_gives_up_its_place() {
    let server = TestServer::new(&ServerOptions { exclusive: true, ..ServerOptions::default() });
    let mut client = Client::new(&server, false);
    // Without a limit, a connection that never closes would block the test.
    client.0.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    assert_eq!(client.error_of(NO_HOLE, WRITE_ZEROES, 0, 100 << 20), 0);
    client.ask(0, DISC, 0, 0, 0);
    assert!(client.was_disconnected());
}

// A read-only drive is offered as such (NBD protocol, NBD_FLAG_READ_ONLY). Requests that change
// data fail with EPERM and change nothing.
#[test]
fn a_read_only_drive_refuses_changes() {
    let server = TestServer::new(&ServerOptions { writable: false, ..ServerOptions::default() });
    let mut client = Client::connect(&server);
    let info_replies = client.option(6, &info(""));
    let flags: u16 = 1 | 2 | 4 | 8 | 256;
    let export = [&[0, 0], &SIZE.0.to_be_bytes()[..], &flags.to_be_bytes()];
    assert_eq!(info_replies[0], (INFO, export.concat()));
    let mut client = Client::new(&server, false);
    client.ask(0, WRITE, 9, 0, 512);
    client.send(&[0x25; 512]);
    assert_eq!(client.simple(), (9, EPERM));
    assert_eq!(client.error_of(0, TRIM, 0, 512), EPERM);
    assert_eq!(client.error_of(0, WRITE_ZEROES, 0, 512), EPERM);
    assert_eq!(client.error_of(NO_HOLE, WRITE_ZEROES, 0, 100 << 20), EPERM);
    assert_eq!(client.error_of(0, FLUSH, 0, 0), 0);
    assert_eq!(client.read(0, 512), [0; 512]);
}

// A client that violates the protocol is disconnected after its earlier requests are answered.
#[test]
fn violations_end_the_connection() {
    let server = TestServer::new(&ServerOptions::default());
    for sent in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 4], &[0, 0, 0, 1, b'x', b'y', 0, 0]] {
        let mut client = Client(UnixStream::connect(server.socket()).unwrap());
        client.bytes(18);
        client.send(sent);
        client.0.shutdown(Shutdown::Write).unwrap();
        assert!(matches!(client.0.read(&mut [0]), Ok(0) | Err(_)), "{sent:?}");
    }
    let mut client = Client::new(&server, false);
    client.send(&[&talk::request(0, READ, 5, 0, 1)[..], &[0xff; 28]].concat());
    assert_eq!(client.simple(), (5, 0));
    assert_eq!(client.bytes(1), [0]);
    assert!(matches!(client.0.read(&mut [0]), Ok(0) | Err(_)));
    assert_eq!(Client::new(&server, false).read(0, 1), [0]);
}

// A client that disconnects during a write changes nothing, and other clients are served.
#[test]
fn an_incomplete_write_changes_nothing() {
    let server = TestServer::new(&ServerOptions::default());
    let mut other = Client::new(&server, false);
    let mut client = Client::new(&server, false);
    client.send(&[&talk::request(0, WRITE, 1, 0, 4096)[..], &[1; 4095]].concat());
    drop(client);
    let mut client = Client::connect(&server);
    client.send(&talk::option(7, &info(""))[..20]);
    drop(client);
    assert_eq!(other.read(0, 4096), [0; 4096]);
}

// A client that reads no replies does not delay others and uses limited memory. It receives all
// replies once it reads.
#[test]
fn a_client_that_reads_no_replies_delays_no_other() {
    for speed in [Speed::Max, Speed::Times(1.0)] {
        let server = TestServer::new(&ServerOptions { speed, ..ServerOptions::default() });
        let mut idle = Client::new(&server, false);
        idle.write(0, 0, &[7; 1 << 20]);
        // The data of these requests are three times as large as the server may hold for a client
        // (`MAX_PENDING`).
        let count = 192;
        let mut writes = idle.0.try_clone().unwrap();
        let asks = std::thread::spawn(move || {
            for cookie in 0..count {
                writes.write_all(&talk::request(0, READ, cookie, 0, 1 << 20)).unwrap();
            }
        });
        let mut other = Client::new(&server, false);
        for _ in 0..20 {
            assert_eq!(other.read(0, 4), [7; 4]);
        }
        let mut cookies: Vec<u64> = (0..count)
            .map(|_| {
                let (cookie, error) = idle.simple();
                assert_eq!(error, 0);
                assert!(idle.bytes(1 << 20).iter().all(|byte| *byte == 7));
                cookie
            })
            .collect();
        cookies.sort_unstable();
        assert!(cookies.into_iter().eq(0..count));
        asks.join().unwrap();
    }
}

// Requests in flight are answered when the server stops, and the store contains their data.
#[test]
fn requests_in_flight_are_answered_at_the_end() {
    let takes = Nanos::micros(300_000);
    let options =
        ServerOptions { speed: Speed::Times(1.0), takes, kept: true, ..ServerOptions::default() };
    let mut server = TestServer::new(&options);
    let mut client = Client::new(&server, false);
    let mut never_reads = Client::new(&server, false);
    for cookie in 0..64u64 {
        let write = talk::request(0, WRITE, cookie, cookie * 512, 512);
        client.send(&[&write[..], &[u8::try_from(cookie).unwrap() + 1; 512]].concat());
    }
    never_reads.ask(0, READ, 1, 0, 1 << 20);
    // After the first reply, the drive has received the other requests.
    let first = client.simple();
    server.stop();
    let mut answered = vec![first];
    let mut reply = [0; 16];
    while client.0.read_exact(&mut reply).is_ok() {
        let error = u32::from_be_bytes(reply[4..8].try_into().unwrap());
        answered.push((u64::from_be_bytes(reply[8..].try_into().unwrap()), error));
    }
    server.end();
    assert_eq!(answered.len(), 64);
    // The data follow the header of the store.
    let kept = std::fs::read(server.store()).unwrap().split_off(4096);
    for (cookie, error) in answered {
        assert_eq!(error, 0);
        let at = usize::try_from(cookie).unwrap() * 512;
        assert!(kept[at..at + 512].iter().all(|byte| u64::from(*byte) == cookie + 1));
    }
    assert!(
        UnixStream::connect(server.socket())
            .is_err_and(|error| { error.kind() == io::ErrorKind::NotFound })
    );
}

// The drive disappears with the second write, and returns with the data of the first.
#[test]
fn a_drive_that_disappeared_returns_with_its_data() {
    let server = TestServer::new(&ServerOptions {
        speed: Speed::Times(1.0),
        faults: Some(
            "[[fault]]\neffect = 'disappear'\nops = ['write']\nskip = 1\ncount = 1\nfor = '300ms'",
        ),
        ..ServerOptions::default()
    });
    let mut client = Client::new(&server, false);
    client.write(0, 4096, &[7; 4096]);
    client.send(&[&talk::request(0, WRITE, 2, 0, 512)[..], &[8; 512]].concat());
    assert!(client.was_disconnected(), "without a reply");
    let mut client = loop {
        let mut socket = UnixStream::connect(server.socket()).unwrap();
        // A drive that is absent closes the connection before its greeting.
        if socket.read_exact(&mut [0; 18]).is_ok() {
            break Client::new(&server, false);
        }
    };
    assert_eq!(client.read(0, 512), [0; 512], "a lost write");
    assert_eq!(client.read(4096, 4096), [7; 4096]);
}

#[test]
fn injected_errors_have_their_number() {
    let server = TestServer::new(&ServerOptions {
        faults: Some(
            "[[fault]]\neffect = 'error'\nerror = 'no-space'\nops = ['write']\n[[fault]]\neffect = 'error'",
        ),
        ..ServerOptions::default()
    });
    let mut client = Client::new(&server, false);
    client.send(&[&talk::request(0, WRITE, 1, 0, 512)[..], &[8; 512]].concat());
    assert_eq!(client.simple(), (1, 28));
    assert_eq!(client.error_of(0, READ, 0, 512), 5);
    assert_eq!(client.error_of(0, FLUSH, 0, 0), 5);
}

// The reply to the request is due after a cut has closed its connection.
#[test]
fn a_late_reply_after_a_cut_is_dropped() {
    let mut server = TestServer::new(&ServerOptions {
        speed: Speed::Times(1.0),
        faults: Some(
            "[[fault]]\neffect = 'delay'\ndelay = '300ms'\nops = ['read']\ncount = 1
            [[fault]]\neffect = 'reset'\nops = ['write']\ncount = 1",
        ),
        ..ServerOptions::default()
    });
    let mut client = Client::new(&server, false);
    client.ask(0, READ, 1, 0, 512);
    client.send(&[&talk::request(0, WRITE, 2, 0, 512)[..], &[8; 512]].concat());
    assert!(client.was_disconnected());
    let mut client = Client::new(&server, false);
    // The writes continue until after the late reply is due.
    let began = flashscope_drive::Clock::new();
    while began.now() < Nanos::micros(400_000) {
        client.write(0, 0, &[1; 512]);
    }
    drop(client);
    server.end();
}
