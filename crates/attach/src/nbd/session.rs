//! The protocol of one connection without its socket: it turns received bytes into requests and
//! replies.

use std::sync::Arc;

use super::handshake::{Handshake, Next, Offer};
use super::reply::{Handle, Refusal};
use super::transmission::Transmission;
use crate::request::Request;

/// A violation of the protocol, or a refusal that the protocol can express only by disconnecting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The input is neither an option nor a request.
    #[error("an option or a request does not begin with its magic number")]
    Magic,
    /// The client set flags that the server did not offer.
    #[error("the client requires features that were not offered")]
    UnknownFlags,
    /// The client sent too many options.
    #[error("the client sent too many options")]
    TooManyOptions,
    /// The client requested another drive with an option that has no error reply.
    #[error("no drive of that name is served here")]
    UnknownExport,
    /// Another client is being served, and the option has no error reply.
    #[error("the drive is served to one client at a time, and another client is connected")]
    Taken,
}

/// An event that the bytes of a client cause.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete, and requests follow.
    Begin,
    /// A request to the drive.
    Request(Request, Handle),
    /// A reply that needs no access to the drive.
    Reply(Handle, Result<(), Refusal>),
    /// The client ends the session: requests in flight are answered, and the connection is closed.
    End,
}

/// A session with one client.
#[derive(Debug)]
pub struct Session {
    offer: Arc<Offer>,
    state: State,
}

#[derive(Debug)]
enum State {
    Handshake(Handshake),
    Transmission(Transmission),
    Ended,
}

impl Session {
    /// Starts a session with a new client, and writes the greeting to `output`.
    pub fn new(offer: Arc<Offer>, output: &mut Vec<u8>) -> Session {
        let handshake = Handshake::new(Arc::clone(&offer), output);
        Session { offer, state: State::Handshake(handshake) }
    }

    /// Consumes bytes of `input` up to the next event; returns `None` if more bytes are needed. The
    /// rest of `input` must be passed again, followed by more input. Bytes for the client are
    /// appended to `output`. `enter` is called when the client requests to start the transmission,
    /// and returns true if the client may do so.
    ///
    /// When `None` is returned, at most about 16 KiB remain in `input`.
    ///
    /// # Errors
    /// Returns the violation; the connection must be closed once requests in flight are answered.
    pub fn next(
        &mut self,
        input: &mut &[u8],
        output: &mut Vec<u8>,
        enter: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Event>, Violation> {
        let event = self.advance(input, output, enter);
        if matches!(event, Err(_) | Ok(Some(Event::End))) {
            self.state = State::Ended;
        }
        event
    }

    fn advance(
        &mut self,
        input: &mut &[u8],
        output: &mut Vec<u8>,
        enter: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Event>, Violation> {
        loop {
            match &mut self.state {
                State::Handshake(handshake) => match handshake.next(input, output, enter)? {
                    Next::More => return Ok(None),
                    Next::Processed => {}
                    Next::End => return Ok(Some(Event::End)),
                    Next::Begin(options) => {
                        let transmission = Transmission::new(Arc::clone(&self.offer), options);
                        self.state = State::Transmission(transmission);
                        return Ok(Some(Event::Begin));
                    }
                },
                State::Transmission(transmission) => {
                    return transmission.next(input);
                }
                State::Ended => {
                    *input = &[];
                    return Ok(None);
                }
            }
        }
    }
}
