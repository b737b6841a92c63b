//! One connection, without the socket: bytes in, bytes and requests out.

use std::sync::Arc;

use super::handshake::{Handshake, Next, Offer};
use super::reply::{Handle, Refusal};
use super::transmission::Transmission;
use crate::request::Request;

/// What a client did that the protocol forbids, or that leaves no way to refuse it but to hang up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// What came is neither an option nor a request.
    #[error("an option or a request does not begin as it must")]
    Magic,
    /// The client set flags that nobody offered.
    #[error("the client wants what was not offered")]
    UnknownFlags,
    /// There was no end of options.
    #[error("the client sent more options than one in good faith would")]
    TooManyOptions,
    /// The client asked for another drive, by an option that cannot be refused.
    #[error("there is no drive of that name")]
    UnknownExport,
    /// The drive is another client's, and the option cannot be refused.
    #[error("the drive is served to one client at a time, and another one has it")]
    Taken,
}

/// What comes of the bytes of a client.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// The client may send requests from now on.
    Begin,
    /// The drive is asked for something.
    Ask(Request, Handle),
    /// A reply for which the drive is not needed.
    Reply(Handle, Result<(), Refusal>),
    /// The client goes: what is in flight is answered, and the connection closed.
    End,
}

/// See the module.
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
    /// A client that was just let in; it is greeted.
    pub fn new(offer: Arc<Offer>, output: &mut Vec<u8>) -> Session {
        let handshake = Handshake::new(Arc::clone(&offer), output);
        Session { offer, state: State::Handshake(handshake) }
    }

    /// Takes what it can use off `input`, until something comes of it; `None` where it needs more.
    /// The rest is to be handed over again, with more behind it. What the client is to be sent is
    /// put into `output`. `enter` is asked once, when the client wants to send requests, whether it
    /// may.
    ///
    /// At most some 16 KiB are left in `input`.
    ///
    /// # Errors
    /// The connection is to be closed, once what is in flight is answered.
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
                    Next::Answered => {}
                    Next::End => return Ok(Some(Event::End)),
                    Next::Begin(agreed) => {
                        let transmission = Transmission::new(Arc::clone(&self.offer), agreed);
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
