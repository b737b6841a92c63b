//! The transmission phase: requests after the handshake.

use std::sync::Arc;

use flashscope_block::{Bytes, Op};

use super::handshake::{Offer, SessionOptions};
use super::protocol::*;
use super::reply::{Handle, Refusal};
use super::session::{Event, Violation};
use crate::request::Request;

/// The maximum memory in bytes reserved for the data of a write before any data arrive.
const AT_ONCE: usize = 64 * 1024;

/// The state of a connection after the handshake.
#[derive(Debug)]
pub(super) struct Transmission {
    offer: Arc<Offer>,
    options: SessionOptions,
    state: State,
}

#[derive(Debug)]
enum State {
    /// A request comes next.
    Idle,
    /// The data of a write come next.
    Data { request: Request, handle: Handle },
    /// The data of a rejected write are skipped.
    Skip { left: u32, handle: Handle, refusal: Refusal },
    /// The rest of a request that carries no data. A long write of zeros has several pieces.
    Pieces { rest: Request, handle: Handle },
}

/// The header of a request.
#[derive(Debug, Clone, Copy)]
struct Header {
    flags: u16,
    command: u16,
    cookie: u64,
    offset: u64,
    len: u32,
}

impl Transmission {
    pub(super) fn new(offer: Arc<Offer>, options: SessionOptions) -> Transmission {
        Transmission { offer, options, state: State::Idle }
    }

    /// Processes the input up to the next event; returns `None` if more input is needed.
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
        let handle = Handle::new(header.cookie, self.options.structured);
        let has_data = header.command == CMD_WRITE;
        self.state = match self.request(&header) {
            Ok(request) if has_data => State::Data { request, handle },
            Ok(rest) => State::Pieces { rest, handle },
            Err(refusal) => {
                State::Skip { left: if has_data { header.len } else { 0 }, handle, refusal }
            }
        };
    }

    /// Returns the request to the drive, or the reason why it is rejected.
    fn request(&self, header: &Header) -> Result<Request, Refusal> {
        let changes = matches!(header.command, CMD_WRITE | CMD_TRIM | CMD_WRITE_ZEROES);
        if changes && !self.offer.export.writable {
            return Err(Refusal::read_only());
        }
        let allowed = match header.command {
            CMD_READ if self.options.structured => CMD_FLAG_FUA | CMD_FLAG_DF,
            CMD_WRITE_ZEROES => CMD_FLAG_FUA | CMD_FLAG_NO_HOLE,
            CMD_READ | CMD_WRITE | CMD_FLUSH => CMD_FLAG_FUA,
            CMD_TRIM if self.offer.export.trims => CMD_FLAG_FUA,
            _ => return Err(Refusal::invalid("this command is not supported")),
        };
        if header.flags & !allowed != 0 {
            return Err(Refusal::invalid("the command does not support these flags"));
        }
        self.check_range(header)?;
        let (offset, len) = (Bytes(header.offset), Bytes(u64::from(header.len)));
        let durable = header.flags & CMD_FLAG_FUA != 0;
        let request = |op| Request {
            op,
            offset,
            len,
            data: Vec::new(),
            durable,
            appends: false,
            stream: 0,
            metadata: None,
        };
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
                _ => Err(Refusal::invalid("a flush must have an offset and a length of 0")),
            };
        }
        let carries_data = matches!(header.command, CMD_READ | CMD_WRITE);
        if header.len == 0 {
            return Err(Refusal::invalid("the range is empty"));
        }
        // A deliberate bug that the fuzz targets must find: a length that is one byte too long is
        // accepted.
        let spare = u64::from(flashscope_block::canary::is_planted());
        if carries_data && u64::from(header.len) > self.offer.longest.0 + spare {
            return Err(Refusal::invalid("the request exceeds the offered maximum length"));
        }
        match header.offset.checked_add(u64::from(header.len)) {
            Some(end) if end <= self.offer.export.size.0 => Ok(()),
            _ if matches!(header.command, CMD_WRITE | CMD_WRITE_ZEROES) => Err(Refusal::no_space()),
            _ => Err(Refusal::invalid("the range exceeds the size of the drive")),
        }
    }

    /// Returns true if a trim can serve a request to write zeros: only for whole blocks, because a
    /// drive keeps the data of partly trimmed blocks.
    fn may_trim(&self, header: &Header) -> bool {
        let block = self.offer.export.logical_block.0;
        self.offer.trims_to_zeros
            && header.flags & CMD_FLAG_NO_HOLE == 0
            && header.offset.is_multiple_of(block)
            && u64::from(header.len).is_multiple_of(block)
    }

    /// Returns the next piece of a request. Writes of zeros carry no data and may exceed the
    /// maximum length; they are split into pieces. All other requests consist of one piece.
    fn take_piece(&self, mut rest: Request, handle: Handle) -> (State, Option<Event>) {
        let longest = self.offer.longest;
        if rest.op == Op::Trim && rest.len == Bytes(0) {
            return (State::Idle, Some(Event::Reply(handle, Ok(()))));
        }
        if rest.op != Op::Write || rest.len <= longest {
            return (State::Idle, Some(Event::Request(rest, handle)));
        }
        let piece = Request { len: longest, data: Vec::new(), metadata: None, ..rest };
        rest.offset += longest;
        rest.len = rest.len - longest;
        let (handle, of_piece) = handle.split();
        (State::Pieces { rest, handle }, Some(Event::Request(piece, of_piece)))
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
    let total = usize::try_from(request.len.0).expect("bounded by the longest request");
    if request.data.capacity() == 0 {
        request.data.reserve_exact(total.min(AT_ONCE));
    }
    let (data, rest) = input.split_at(input.len().min(total - request.data.len()));
    request.data.extend_from_slice(data);
    *input = rest;
    match request.data.len() == total {
        true => (State::Idle, Some(Event::Request(request, handle))),
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

/// Reduces a trim to the whole blocks in its range; the protocol allows a trim to do less.
fn whole_blocks(request: Request, block: Bytes) -> Request {
    let start = Bytes(request.offset.0.next_multiple_of(block.0));
    let end = (request.offset + request.len).round_down(block);
    Request { offset: start, len: Bytes(end.0.saturating_sub(start.0)), ..request }
}
