//! The connection to one client: a thread reads and submits its requests.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use flashscope_block::Op;
use socket2::Socket;

use super::handshake::Offer;
use super::reply::{Handle, Reply};
use super::session::{Event, Session};
use crate::attached::AttachedDrive;
use crate::net::{Client, Input, Outbox};
use crate::request::{Answer, CompletedRequest, PendingRequest, Request, RequestError};

/// The size of the send buffer of a Unix socket in bytes, as far as the system allows. The default
/// fits about 25 replies with 4 KiB of data each, and a client with more requests in flight would
/// have to wait. TCP adapts its buffer itself.
const SEND_BUFFER: usize = 4 << 20;

/// The maximum number of requests submitted together. While they are served, the client can process
/// the previous replies and send more requests.
const BATCH: usize = 8;

/// The maximum cost in bytes of a client's requests that wait for a reply; a request costs its data
/// and [`COST`]. It limits the memory for a client that reads no replies.
const MAX_PENDING: u64 = 64 << 20;

/// The cost in bytes of a request in addition to its data.
const COST: u64 = 256;

/// The timeout of each read and each write during the handshake.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// The client and the handle to which a reply goes.
#[derive(Debug)]
pub struct Recipient {
    connection: Arc<Connection>,
    handle: Handle,
    cost: u64,
}

impl Answer for Recipient {
    fn answer(done: &mut Vec<CompletedRequest<Recipient>>) {
        // Replies to the same client are sent together.
        if !done.is_sorted_by_key(|answered| answered.to.connection.number) {
            done.sort_by_key(|answered| answered.to.connection.number);
        }
        let mut done = done.drain(..).peekable();
        while let Some(first) = done.peek() {
            let connection = Arc::clone(&first.to.connection);
            let its = std::iter::from_fn(|| {
                done.next_if(|answered| Arc::ptr_eq(&answered.to.connection, &connection))
            });
            connection.outbox.send(&connection.socket, its.filter_map(Recipient::reply));
        }
    }
}

impl Recipient {
    fn reply(answered: CompletedRequest<Recipient>) -> Option<(Reply, u64)> {
        let CompletedRequest { request, result, to } = answered;
        if result == Err(RequestError::Lost) {
            return None;
        }
        let result = result.map_err(RequestError::errno);
        Reply::to(&to.handle, request, result, to.cost)
    }
}

/// A connection to one client.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Socket,
    number: u64,
    outbox: Outbox<Reply>,
}

impl Connection {
    pub(super) fn new(socket: Socket) -> Arc<Connection> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        Arc::new(Connection { socket, number, outbox: Outbox::new() })
    }

    /// Serves the client until it disconnects and its requests are completed. With an exclusive
    /// offer, `taken` is true while another client is served.
    pub(super) fn serve(
        self: &Arc<Connection>,
        drive: &AttachedDrive<Recipient>,
        offer: Offer,
        taken: &AtomicBool,
    ) {
        let exclusive = offer.exclusive;
        let mut slot = ExclusiveSlot { taken, held: false };
        thread::scope(|scope| {
            let sends = thread::Builder::new().name("nbd-sends".into());
            if sends.spawn_scoped(scope, || self.outbox.send_rest(&self.socket)).is_ok() {
                let mut enter = || !exclusive || slot.take();
                // Even after an error, the client's earlier requests are answered if possible.
                let _ = self.converse(drive, offer, &mut enter);
                self.outbox.wait_until_answered();
            }
            self.close();
        });
    }

    fn converse(
        self: &Arc<Connection>,
        drive: &AttachedDrive<Recipient>,
        offer: Offer,
        enter: &mut dyn FnMut() -> bool,
    ) -> io::Result<()> {
        self.prepare()?;
        let mut output = Vec::new();
        let mut session = Session::new(Arc::new(offer), &mut output);
        let mut input = Input::new();
        let mut batch = Batch { connection: self, drive, requests: Vec::new(), owed: 0, room: 0 };
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
            // Requests received before the client disconnected or broke the protocol are still
            // served.
            batch.hand_over();
            if !goes_on? {
                return (&self.socket).write_all(&output);
            }
        }
    }

    /// Processes the received bytes; returns false if the session has ended.
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
                Some(Event::Request(request, handle)) => batch.add(request, handle),
                Some(Event::Reply(handle, result)) => batch.reply(Reply::at_once(&handle, result)),
            }
        }
    }

    fn prepare(&self) -> io::Result<()> {
        self.socket.set_read_timeout(Some(HANDSHAKE))?;
        self.socket.set_write_timeout(Some(HANDSHAKE))?;
        if self.socket.local_addr()?.as_socket().is_some() {
            self.socket.set_tcp_nodelay(true)?;
            // Keepalive detects a client whose machine is gone.
            self.socket.set_keepalive(true)?;
        } else {
            self.socket.set_send_buffer_size(SEND_BUFFER)?;
        }
        Ok(())
    }
}

impl Client for Connection {
    type Reply = Reply;

    fn socket(&self) -> &Socket {
        &self.socket
    }

    fn outbox(&self) -> &Outbox<Reply> {
        &self.outbox
    }
}

/// The exclusive right to be served, if the drive has one client at a time.
struct ExclusiveSlot<'a> {
    taken: &'a AtomicBool,
    held: bool,
}

impl ExclusiveSlot<'_> {
    fn take(&mut self) -> bool {
        self.held = !self.taken.swap(true, Ordering::AcqRel);
        self.held
    }
}

impl Drop for ExclusiveSlot<'_> {
    fn drop(&mut self) {
        if self.held {
            self.taken.store(false, Ordering::Release);
        }
    }
}

/// Requests that arrived together, to be submitted together.
struct Batch<'a> {
    connection: &'a Arc<Connection>,
    drive: &'a AttachedDrive<Recipient>,
    requests: Vec<PendingRequest<Recipient>>,
    /// The cost of the requests in the batch, in bytes.
    owed: u64,
    /// The maximum of `owed`.
    room: u64,
}

impl Batch<'_> {
    fn add(&mut self, request: Request, handle: Handle) {
        let data = match request.op {
            Op::Read => request.len.0,
            _ => request.data.len() as u64,
        };
        let cost = COST + data;
        self.make_room();
        self.owed += cost;
        let from = Recipient { connection: Arc::clone(self.connection), handle, cost };
        self.requests.push(PendingRequest { request, from });
    }

    /// Sends a reply that needs no access to the drive.
    fn reply(&mut self, reply: Reply) {
        self.make_room();
        self.connection.outbox.owe(COST);
        self.connection.outbox.send(&self.connection.socket, std::iter::once((reply, COST)));
        self.room = self.room.saturating_sub(COST);
    }

    /// Submits a full batch, and waits while too many replies are pending.
    fn make_room(&mut self) {
        if self.owed >= self.room || self.requests.len() == BATCH {
            self.hand_over();
            self.room = self.connection.outbox.room(MAX_PENDING);
        }
    }

    fn hand_over(&mut self) {
        if !self.requests.is_empty() {
            self.connection.outbox.owe(std::mem::take(&mut self.owed));
            self.drive.submit(&mut self.requests);
        }
        self.room = 0;
    }
}
