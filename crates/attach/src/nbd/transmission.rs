//! Requests, as they arrive after the handshake.

use std::sync::Arc;

use flashscope_block::{Bytes, Op};

use super::handshake::{Agreed, Offer};
use super::protocol::*;
use super::reply::{Handle, Refusal};
use super::session::{Event, Violation};
use crate::request::Request;

/// How much memory is taken for the data of a write before any of it is there.
const AT_ONCE: usize = 64 * 1024;

/// The state of a connection after the handshake.
#[derive(Debug)]
pub(super) struct Transmission {
    offer: Arc<Offer>,
    agreed: Agreed,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The next that comes is a request.
    Idle,
    /// The data of a write comes.
    Data { request: Request, handle: Handle },
    /// Data comes that nobody wants.
    Skip { left: u32, handle: Handle, refusal: Refusal },
    /// What is left of a long range that is asked for piece by piece.
    Pieces { rest: Request, handle: Handle },
}

/// What a request begins with.
#[derive(Debug, Clone, Copy)]
struct Header {
    flags: u16,
    command: u16,
    cookie: u64,
    offset: u64,
    len: u32,
}

impl Transmission {
    pub(super) fn new(offer: Arc<Offer>, agreed: Agreed) -> Transmission {
        Transmission { offer, agreed, state: State::Idle }
    }

    /// What comes next of what arrived; `None` where that is not all there.
    pub(super) fn next(&mut self, input: &mut &[u8]) -> Result<Option<Event>, Violation> {
        if matches!(self.state, State::Idle) {
            match take_header(input)? {
                None => return Ok(None),
                Some(header) if header.command == CMD_DISC => return Ok(Some(Event::End)),
                Some(header) => self.begin(header),
            }
        }
        let (state, event) = match std::mem::replace(&mut self.state, State::Idle) {
            State::Data { request, handle } => take_data(request, handle, input),
            State::Skip { left, handle, refusal } => skip(left, handle, refusal, input),
            State::Pieces { rest, handle } => self.take_piece(rest, handle),
            State::Idle => (State::Idle, None),
        };
        self.state = state;
        Ok(event)
    }

    fn begin(&mut self, header: Header) {
        let handle = Handle::new(header.cookie, self.agreed.structured);
        let has_data = header.command == CMD_WRITE;
        self.state = match self.request(&header) {
            Ok(request) if has_data => State::Data { request, handle },
            Ok(rest) => State::Pieces { rest, handle },
            Err(refusal) => {
                State::Skip { left: if has_data { header.len } else { 0 }, handle, refusal }
            }
        };
    }

    /// What the drive is to be asked, or why it is not.
    fn request(&self, header: &Header) -> Result<Request, Refusal> {
        let allowed = match header.command {
            CMD_READ if self.agreed.structured => CMD_FLAG_FUA | CMD_FLAG_DF,
            CMD_WRITE_ZEROES => CMD_FLAG_FUA | CMD_FLAG_NO_HOLE,
            CMD_READ | CMD_WRITE | CMD_FLUSH => CMD_FLAG_FUA,
            CMD_TRIM if self.offer.export.trims => CMD_FLAG_FUA,
            _ => return Err(Refusal::invalid("this command is not known here")),
        };
        if header.flags & !allowed != 0 {
            return Err(Refusal::invalid("the command does not take these flags"));
        }
        self.check_range(header)?;
        let (offset, len) = (Bytes(header.offset), Bytes(u64::from(header.len)));
        let durable = header.flags & CMD_FLAG_FUA != 0;
        let request = |op| Request { op, offset, len, data: Vec::new(), durable };
        Ok(match header.command {
            CMD_READ => Request { durable: false, ..request(Op::Read) },
            CMD_FLUSH => Request { durable: false, ..request(Op::Flush) },
            CMD_TRIM => whole_blocks(request(Op::Trim), self.offer.export.logical_block),
            CMD_WRITE_ZEROES if self.may_trim(header) => request(Op::Trim),
            _ => request(Op::Write),
        })
    }

    fn check_range(&self, header: &Header) -> Result<(), Refusal> {
        if header.command == CMD_FLUSH {
            return match (header.offset, header.len) {
                (0, 0) => Ok(()),
                _ => Err(Refusal::invalid("a flush has no range")),
            };
        }
        let carries_data = matches!(header.command, CMD_READ | CMD_WRITE);
        if header.len == 0 {
            return Err(Refusal::invalid("the range is empty"));
        }
        // A canary of the fuzz targets: a length that is one too long is accepted.
        let spare = u64::from(cfg!(feature = "canary"));
        if carries_data && u64::from(header.len) > self.offer.longest.0 + spare {
            return Err(Refusal::invalid("the request is longer than was said to be possible"));
        }
        match header.offset.checked_add(u64::from(header.len)) {
            Some(end) if end <= self.offer.export.size.0 => Ok(()),
            _ if matches!(header.command, CMD_WRITE | CMD_WRITE_ZEROES) => Err(Refusal::no_space()),
            _ => Err(Refusal::invalid("the range ends after the drive")),
        }
    }

    /// Whether zeros may be written by a trim: of whole blocks, since of others a drive keeps a part.
    fn may_trim(&self, header: &Header) -> bool {
        let block = self.offer.export.logical_block.0;
        self.offer.trims_to_zeros
            && header.flags & CMD_FLAG_NO_HOLE == 0
            && header.offset.is_multiple_of(block)
            && u64::from(header.len).is_multiple_of(block)
    }

    /// What has no data with it may be far longer than what has, so writes of zeros are taken piece by
    /// piece; anything else is one.
    fn take_piece(&self, mut rest: Request, handle: Handle) -> (State, Option<Event>) {
        let longest = self.offer.longest;
        if rest.op == Op::Trim && rest.len == Bytes(0) {
            return (State::Idle, Some(Event::Reply(handle, Ok(()))));
        }
        if rest.op != Op::Write || rest.len <= longest {
            return (State::Idle, Some(Event::Ask(rest, handle)));
        }
        let piece = Request { len: longest, data: Vec::new(), ..rest };
        rest.offset += longest;
        rest.len = rest.len - longest;
        let (handle, of_piece) = handle.split();
        (State::Pieces { rest, handle }, Some(Event::Ask(piece, of_piece)))
    }
}

fn take_header(input: &mut &[u8]) -> Result<Option<Header>, Violation> {
    let mut rest = *input;
    match take_u32(&mut rest) {
        None => return Ok(None),
        Some(REQUEST_MAGIC) => {}
        Some(_) => return Err(Violation::Magic),
    }
    let header = (|| {
        let (flags, command) = (take_u16(&mut rest)?, take_u16(&mut rest)?);
        let (cookie, offset) = (take_u64(&mut rest)?, take_u64(&mut rest)?);
        Some(Header { flags, command, cookie, offset, len: take_u32(&mut rest)? })
    })();
    if header.is_some() {
        *input = rest;
    }
    Ok(header)
}

fn take_data(mut request: Request, handle: Handle, input: &mut &[u8]) -> (State, Option<Event>) {
    let wanted = usize::try_from(request.len.0).expect("bounded by the longest request");
    if request.data.capacity() == 0 {
        request.data.reserve_exact(wanted.min(AT_ONCE));
    }
    let (data, rest) = input.split_at(input.len().min(wanted - request.data.len()));
    request.data.extend_from_slice(data);
    *input = rest;
    match request.data.len() == wanted {
        true => (State::Idle, Some(Event::Ask(request, handle))),
        false => (State::Data { request, handle }, None),
    }
}

fn skip(
    mut left: u32,
    handle: Handle,
    refusal: Refusal,
    input: &mut &[u8],
) -> (State, Option<Event>) {
    let skipped = input.len().min(left as usize);
    *input = &input[skipped..];
    left -= u32::try_from(skipped).expect("no more than there was to skip");
    match left {
        0 => (State::Idle, Some(Event::Reply(handle, Err(refusal)))),
        left => (State::Skip { left, handle, refusal }, None),
    }
}

/// What of a range is whole blocks: a trim may do less than it is asked to.
fn whole_blocks(request: Request, block: Bytes) -> Request {
    let start = Bytes(request.offset.0.next_multiple_of(block.0));
    let end = (request.offset + request.len).round_down(block);
    Request { offset: start, len: Bytes(end.0.saturating_sub(start.0)), ..request }
}
