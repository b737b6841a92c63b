//! The replies to be sent to a client.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use socket2::Socket;

use crate::lock;

/// The maximum number of buffers that the system sends in one call.
const PARTS: usize = 1024;

/// An encoded message to a client.
pub(crate) trait Message: std::fmt::Debug + Send {
    /// Returns the pieces of the message, in order.
    fn parts(&self) -> impl Iterator<Item = &[u8]>;

    /// Returns the length of all parts in bytes.
    fn len(&self) -> usize;
}

/// Replies to be sent to a client. Each thread sends its replies immediately, as far as the
/// socket accepts them; another thread, which may wait for the client, sends the remainder.
#[derive(Debug)]
pub(crate) struct Outbox<M> {
    state: Mutex<State<M>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<M> {
    queue: Queue<M>,
    /// True while the thread in [`Outbox::send_rest`] sends the queue: new replies are then added
    /// to the queue.
    handed_over: bool,
    /// The cost of the requests without a reply, in bytes.
    owed: u64,
    closed: bool,
}

/// A reply and the cost of its request in bytes.
type Entry<M> = (M, u64);

#[derive(Debug)]
struct Queue<M> {
    entries: VecDeque<Entry<M>>,
    /// The number of bytes of the first entry that were sent.
    sent: usize,
}

impl<M: Message> Outbox<M> {
    pub(crate) fn new() -> Outbox<M> {
        let state = State { queue: Queue::new(), handed_over: false, owed: 0, closed: false };
        Outbox { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Adds the cost of requests, which counts until their replies are sent.
    pub(crate) fn owe(&self, cost: u64) {
        lock(&self.state).owed += cost;
    }

    /// Waits until the pending cost is below `most`, and returns the difference.
    pub(crate) fn room(&self, most: u64) -> u64 {
        let state = self.wait_while(|state| state.owed >= most && !state.closed);
        most.saturating_sub(state.owed)
    }

    /// Waits until all replies are sent or the connection is closed.
    pub(crate) fn wait_until_answered(&self) {
        drop(self.wait_while(|state| state.owed > 0 && !state.closed));
    }

    /// Waits at most `time` until the connection is closed, and returns true if it is.
    pub(crate) fn wait_until_closed(&self, time: Duration) -> bool {
        let state = self.changed.wait_timeout_while(lock(&self.state), time, |state| !state.closed);
        state.is_ok_and(|(state, _)| state.closed)
    }

    fn wait_while(&self, condition: impl Fn(&mut State<M>) -> bool) -> MutexGuard<'_, State<M>> {
        let waited = self.changed.wait_while(lock(&self.state), condition);
        waited.unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Sends replies as far as the socket accepts them now, and queues the remainder; never waits.
    pub(crate) fn send(&self, socket: &Socket, replies: impl Iterator<Item = Entry<M>>) {
        let mut state = lock(&self.state);
        if state.closed {
            // The caller may rely on all replies being taken from the iterator.
            return replies.for_each(drop);
        }
        state.queue.entries.extend(replies);
        if state.handed_over {
            return;
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        let result = state.queue.send(socket, flags).map(|paid| state.owed -= paid);
        match result {
            Ok(()) if state.queue.entries.is_empty() => {}
            Ok(()) => state.handed_over = true,
            Err(_) => state.give_up(socket),
        }
        self.changed.notify_all();
    }

    /// Sends queued replies, waiting for the client as needed, until the connection is closed.
    pub(crate) fn send_rest(&self, socket: &Socket) {
        loop {
            let mut state = self.wait_while(|state| !state.handed_over && !state.closed);
            if state.closed {
                return;
            }
            if state.queue.entries.is_empty() {
                state.handed_over = false;
                continue;
            }
            let mut queue = std::mem::replace(&mut state.queue, Queue::new());
            drop(state);
            while !queue.entries.is_empty() {
                let sent = queue.send_some(socket, libc::MSG_NOSIGNAL);
                let mut state = lock(&self.state);
                match sent {
                    Ok(paid) => state.owed -= paid,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => state.give_up(socket),
                }
                self.changed.notify_all();
                if state.closed {
                    return;
                }
            }
        }
    }

    /// Closes the outbox: nothing more is sent, and waiting threads continue.
    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.changed.notify_all();
    }
}

impl<M> State<M> {
    /// Closes the connection to a client that cannot receive replies.
    fn give_up(&mut self, socket: &Socket) {
        let _ = socket.shutdown(Shutdown::Both);
        self.closed = true;
    }
}

impl<M: Message> Queue<M> {
    fn new() -> Queue<M> {
        Queue { entries: VecDeque::new(), sent: 0 }
    }

    /// Sends until the queue is empty or the socket is full. Returns the cost of the replies sent.
    fn send(&mut self, socket: &Socket, flags: libc::c_int) -> io::Result<u64> {
        let mut paid = 0;
        while !self.entries.is_empty() {
            match self.send_some(socket, flags) {
                Ok(more) => paid += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(paid)
    }

    /// Sends as much as one call accepts. Returns the cost of the replies sent completely.
    fn send_some(&mut self, socket: &Socket, flags: libc::c_int) -> io::Result<u64> {
        let parts = self.entries.iter().flat_map(|(reply, _)| reply.parts());
        let mut slices: Vec<IoSlice> = parts.take(PARTS).map(IoSlice::new).collect();
        let mut unsent = &mut slices[..];
        IoSlice::advance_slices(&mut unsent, self.sent);
        self.sent += socket.send_vectored_with_flags(unsent, flags)?;
        let mut paid = 0;
        while let Some((reply, cost)) = self.entries.front() {
            if self.sent < reply.len() {
                break;
            }
            self.sent -= reply.len();
            paid += cost;
            self.entries.pop_front();
        }
        Ok(paid)
    }
}
