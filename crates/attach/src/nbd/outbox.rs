//! What a client is yet to be sent.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use socket2::Socket;

use super::reply::Reply;
use crate::lock;

/// As many parts as the system sends in one call.
const PARTS: usize = 1024;

/// Replies on their way to a client. Whoever has one sends it at once, as far as the socket takes it;
/// what is left is sent by a thread that may wait for the client.
#[derive(Debug)]
pub(super) struct Outbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: Queue,
    /// The thread that may wait is at it: what is added now goes behind what it sends.
    handed_over: bool,
    /// What requests that are not answered yet cost.
    owed: u64,
    closed: bool,
}

/// A reply, and what its request cost.
type Entry = (Reply, u64);

#[derive(Debug, Default)]
struct Queue {
    entries: VecDeque<Entry>,
    /// Bytes of the first that are sent.
    sent: usize,
}

impl Outbox {
    pub(super) fn new() -> Outbox {
        Outbox { state: Mutex::default(), changed: Condvar::new() }
    }

    /// What was asked for costs so much, until it is answered.
    pub(super) fn owe(&self, cost: u64) {
        lock(&self.state).owed += cost;
    }

    /// What may still be owed; waits until there is something.
    pub(super) fn room(&self, most: u64) -> u64 {
        let state = self.wait_while(|state| state.owed >= most && !state.closed);
        most.saturating_sub(state.owed)
    }

    /// Waits until everything is answered, or cannot be.
    pub(super) fn wait_until_answered(&self) {
        drop(self.wait_while(|state| state.owed > 0 && !state.closed));
    }

    /// Waits until it is closed, at most for `time`; whether it is.
    pub(super) fn wait_until_closed(&self, time: Duration) -> bool {
        let state = self.changed.wait_timeout_while(lock(&self.state), time, |state| !state.closed);
        state.is_ok_and(|(state, _)| state.closed)
    }

    fn wait_while(&self, condition: impl Fn(&mut State) -> bool) -> MutexGuard<'_, State> {
        let waited = self.changed.wait_while(lock(&self.state), condition);
        waited.unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Sends replies as far as the socket takes them now; never waits.
    pub(super) fn send(&self, socket: &Socket, replies: impl Iterator<Item = Entry>) {
        let mut state = lock(&self.state);
        if state.closed {
            return;
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

    /// Sends what a socket did not take at once, until it is closed.
    pub(super) fn send_rest(&self, socket: &Socket) {
        loop {
            let mut state = self.wait_while(|state| !state.handed_over && !state.closed);
            if state.closed {
                return;
            }
            if state.queue.entries.is_empty() {
                state.handed_over = false;
                continue;
            }
            let mut queue = std::mem::take(&mut state.queue);
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

    /// Nothing is sent any more, and nobody waits for it.
    pub(super) fn close(&self) {
        lock(&self.state).closed = true;
        self.changed.notify_all();
    }
}

impl State {
    /// Who cannot be answered need not be heard.
    fn give_up(&mut self, socket: &Socket) {
        let _ = socket.shutdown(Shutdown::Both);
        self.closed = true;
    }
}

impl Queue {
    /// Sends until all is sent or the socket takes no more; what of it was paid for.
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

    /// Sends what goes in one call; what the replies cost that are sent with it.
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
