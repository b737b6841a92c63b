//! One client: what it sends is read and handed over by a thread of its own.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use flashscope_block::Op;
use socket2::Socket;

use super::handshake::Offer;
use super::outbox::Outbox;
use super::reply::{Handle, Reply};
use super::session::{Event, Session};
use crate::attached::Attached;
use crate::request::{Answer, Answered, Asked, Request};

/// How much is read at once.
const BUFFER: usize = 256 * 1024;

/// What a Unix socket is to hold, as far as the system allows. By default that is some 25 replies with 4
/// KiB of data each, and a client that has more requests in flight would have to be waited for; TCP finds
/// out by itself.
const SEND_BUFFER: usize = 4 << 20;

/// How many requests are handed over at once, at most: while these are answered the client takes the
/// answers to those before, and asks for more.
const BATCH: usize = 8;

/// What requests of a client that are not answered yet may cost, each as many bytes as its data and
/// [`COST`]. A client that reads no replies gets no further than that.
const MOST_OWED: u64 = 64 << 20;

/// What a request costs beside its data.
const COST: u64 = 256;

/// How long a client may take for each step of the handshake.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// Who is told how a request went.
#[derive(Debug)]
pub struct To {
    connection: Arc<Connection>,
    handle: Handle,
    cost: u64,
}

impl Answer for To {
    fn answer(done: &mut Vec<Answered<To>>) {
        // What goes to one client goes together.
        if !done.is_sorted_by_key(|answered| answered.to.connection.number) {
            done.sort_by_key(|answered| answered.to.connection.number);
        }
        let mut done = done.drain(..).peekable();
        while let Some(first) = done.peek() {
            let connection = Arc::clone(&first.to.connection);
            let its = std::iter::from_fn(|| {
                done.next_if(|answered| Arc::ptr_eq(&answered.to.connection, &connection))
            });
            connection.outbox.send(&connection.socket, its.filter_map(To::reply));
        }
    }
}

impl To {
    fn reply(answered: Answered<To>) -> Option<(Reply, u64)> {
        let Answered { request, result, to } = answered;
        Reply::to(&to.handle, request, result).map(|reply| (reply, to.cost))
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Socket,
    number: u64,
    outbox: Outbox,
}

impl Connection {
    pub(super) fn new(socket: Socket) -> Arc<Connection> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        Arc::new(Connection { socket, number, outbox: Outbox::new() })
    }

    /// Serves the client until it goes and what it asked for is answered. `taken` says whether the
    /// drive is served to a client already; it is looked at if there is to be one alone.
    pub(super) fn serve(
        self: &Arc<Connection>,
        drive: &Attached<To>,
        offer: Offer,
        taken: &AtomicBool,
    ) {
        let exclusive = offer.exclusive;
        let mut seat = Seat { taken, held: false };
        thread::scope(|scope| {
            let sends = thread::Builder::new().name("nbd-sends".into());
            if sends.spawn_scoped(scope, || self.outbox.send_rest(&self.socket)).is_ok() {
                let mut enter = || !exclusive || seat.take();
                // However the client went, what it asked for before is answered if it can be.
                let _ = self.converse(drive, offer, &mut enter);
                self.outbox.wait_until_answered();
            }
            self.close();
        });
    }

    /// Reads no more: what is in flight is answered, and then the client is let go.
    pub(super) fn stop(&self) {
        // One that is not connected any more needs no stopping.
        let _ = self.socket.shutdown(Shutdown::Read);
    }

    /// Waits for the client to be let go, at most for `time`; whether it was.
    pub(super) fn wait_until_closed(&self, time: Duration) -> bool {
        self.outbox.wait_until_closed(time)
    }

    /// Lets the client go.
    pub(super) fn close(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
        self.outbox.close();
    }

    fn converse(
        self: &Arc<Connection>,
        drive: &Attached<To>,
        offer: Offer,
        enter: &mut dyn FnMut() -> bool,
    ) -> io::Result<()> {
        self.prepare()?;
        let mut output = Vec::new();
        let mut session = Session::new(Arc::new(offer), &mut output);
        let mut input = Input::new();
        let mut batch = Batch { connection: self, drive, asked: Vec::new(), owed: 0, room: 0 };
        loop {
            (&self.socket).write_all(&output)?;
            output.clear();
            if !input.fill(&self.socket)? {
                return Ok(());
            }
            let mut arrived = input.arrived();
            let goes_on =
                self.understand(&mut session, &mut arrived, &mut output, enter, &mut batch);
            let left = arrived.len();
            input.keep(left);
            // What came before the client went, or went astray, is asked for all the same.
            batch.hand_over();
            if !goes_on? {
                return (&self.socket).write_all(&output);
            }
        }
    }

    /// Takes what can be used of what arrived; whether more is to come.
    fn understand(
        &self,
        session: &mut Session,
        arrived: &mut &[u8],
        output: &mut Vec<u8>,
        enter: &mut dyn FnMut() -> bool,
        batch: &mut Batch<'_>,
    ) -> io::Result<bool> {
        loop {
            match session.next(arrived, output, enter).map_err(io::Error::other)? {
                None => return Ok(true),
                Some(Event::End) => return Ok(false),
                Some(Event::Begin) => {
                    (&self.socket).write_all(output)?;
                    output.clear();
                    self.socket.set_read_timeout(None)?;
                    self.socket.set_write_timeout(None)?;
                }
                Some(Event::Ask(request, handle)) => batch.ask(request, handle),
                Some(Event::Reply(handle, result)) => batch.reply(Reply::at_once(&handle, result)),
            }
        }
    }

    fn prepare(&self) -> io::Result<()> {
        self.socket.set_read_timeout(Some(HANDSHAKE))?;
        self.socket.set_write_timeout(Some(HANDSHAKE))?;
        if self.socket.local_addr()?.as_socket().is_some() {
            self.socket.set_tcp_nodelay(true)?;
            // A machine that is gone is noticed some day.
            self.socket.set_keepalive(true)?;
        } else {
            self.socket.set_send_buffer_size(SEND_BUFFER)?;
        }
        Ok(())
    }
}

/// Whether a client is the one that the drive is served to.
struct Seat<'a> {
    taken: &'a AtomicBool,
    held: bool,
}

impl Seat<'_> {
    fn take(&mut self) -> bool {
        self.held = !self.taken.swap(true, Ordering::AcqRel);
        self.held
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if self.held {
            self.taken.store(false, Ordering::Release);
        }
    }
}

/// Requests that arrived together are handed over together.
struct Batch<'a> {
    connection: &'a Arc<Connection>,
    drive: &'a Attached<To>,
    asked: Vec<Asked<To>>,
    /// What the requests in it cost, and what they may.
    owed: u64,
    room: u64,
}

impl Batch<'_> {
    fn ask(&mut self, request: Request, handle: Handle) {
        let data = match request.op {
            Op::Read => request.len.0,
            _ => request.data.len() as u64,
        };
        let cost = COST + data;
        self.make_room();
        self.owed += cost;
        let from = To { connection: Arc::clone(self.connection), handle, cost };
        self.asked.push(Asked { request, from });
    }

    /// A reply for which the drive is not needed.
    fn reply(&mut self, reply: Reply) {
        self.make_room();
        self.connection.outbox.owe(COST);
        self.connection.outbox.send(&self.connection.socket, std::iter::once((reply, COST)));
        self.room = self.room.saturating_sub(COST);
    }

    /// Hands over where there is enough, and waits, where too much is owed, until some of it is answered.
    fn make_room(&mut self) {
        if self.owed >= self.room || self.asked.len() == BATCH {
            self.hand_over();
            self.room = self.connection.outbox.room(MOST_OWED);
        }
    }

    fn hand_over(&mut self) {
        if !self.asked.is_empty() {
            self.connection.outbox.owe(std::mem::take(&mut self.owed));
            self.drive.submit(&mut self.asked);
        }
        self.room = 0;
    }
}

/// What arrived and was not used up.
struct Input {
    bytes: Box<[u8]>,
    len: usize,
}

impl Input {
    fn new() -> Input {
        Input { bytes: vec![0; BUFFER].into(), len: 0 }
    }

    /// Waits for more; whether there was some before the end.
    fn fill(&mut self, socket: &Socket) -> io::Result<bool> {
        loop {
            match { socket }.read(&mut self.bytes[self.len..]) {
                Ok(read) => {
                    self.len += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn arrived(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Keeps the last `left` bytes alone.
    fn keep(&mut self, left: usize) {
        self.bytes.copy_within(self.len - left..self.len, 0);
        self.len = left;
    }
}
