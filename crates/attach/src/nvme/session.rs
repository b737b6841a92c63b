//! The transport of one connection without its socket: it turns received bytes into commands with
//! their data.

use std::collections::{BTreeMap, VecDeque};

use super::command::{COMMAND_LEN, Command, SGL_IN_CAPSULE, SGL_TRANSPORT};
use super::pdu::{
    self, CAPSULE_CMD, CAPSULE_CMD_LEN, COMMON_LEN, DIGEST_LEN, FLAG_DATA_DIGEST,
    FLAG_HEADER_DIGEST, FLAG_LAST, Fatal, Format, H2C_DATA, H2C_TERM_REQ, HEADER_LEN, IC_LEN,
    IC_REQ, RunningDigest,
};
use super::status::Status;
use super::wire::{u16_at, u32_at};

/// The maximum number of data bytes in a PDU of the host.
pub(super) const MAX_DATA: u32 = 128 * 1024;

/// The maximum number of data bytes in a capsule.
pub(crate) const IN_CAPSULE: u32 = 16 * 1024;

/// The maximum number of requested bytes that have not arrived, unless one command needs more.
/// Later commands wait until earlier commands have their data.
const WINDOW: u32 = 4 << 20;

/// The maximum memory in bytes reserved for data before any of them arrive.
const AT_ONCE: usize = 64 * 1024;

/// The direction and the length of a command's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// No data.
    None,
    /// This number of bytes from the host; not 0.
    FromHost(u32),
    /// At most this number of bytes to the host.
    ToHost(u32),
}

/// The reason why a command is not executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// The command is completed with this status.
    Complete(Status),
    /// The host has more commands in flight than its queue has entries, and the connection ends.
    Overflow,
}

impl From<Status> for Rejection {
    fn from(status: Status) -> Rejection {
        Rejection::Complete(status)
    }
}

/// An event that the bytes of a host cause.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// Both sides agreed on a format, and commands follow.
    Begin(Format),
    /// A command with the data from the host, of the length that was admitted.
    Command(Command, Vec<u8>),
    /// A command that is completed with this status, without being executed.
    Refused(Command, Status),
    /// The host terminates the connection.
    End,
}

/// The transport of one connection.
#[derive(Debug)]
pub struct Session {
    state: State,
    format: Format,
    transfers: Transfers,
    /// The number of bytes of the current header that were checked.
    checked: usize,
}

#[derive(Debug)]
enum State {
    /// ICReq comes first.
    Start,
    /// The header of a PDU comes next.
    Idle,
    /// The data of a PDU come next.
    Data(Body),
    Ended,
}

/// The data of a PDU that is being received.
#[derive(Debug)]
struct Body {
    to: Destination,
    left: usize,
    digest: Option<Box<RunningDigest>>,
}

#[derive(Debug)]
enum Destination {
    /// A command that needs the first `len` bytes.
    Capsule { command: Command, data: Vec<u8>, len: usize },
    /// A command whose data were requested.
    Transfer(u16),
    /// The data of a refused command are skipped.
    Skip(Command, Status),
}

/// The fields of a header that all PDUs share.
#[derive(Debug, Clone, Copy)]
struct Common {
    kind: u8,
    flags: u8,
    header: usize,
    data_offset: usize,
    len: usize,
}

type Admit<'a> = &'a mut dyn FnMut(&Command) -> Result<Transfer, Rejection>;

impl Default for Session {
    fn default() -> Session {
        Session::new()
    }
}

impl Session {
    /// Starts a session with a new host.
    pub fn new() -> Session {
        let transfers = Transfers::default();
        Session { state: State::Start, format: Format::default(), transfers, checked: 0 }
    }

    /// Consumes bytes of `input` up to the next event; returns `None` if more bytes are needed. The
    /// rest of `input` must be passed again, followed by more input. Bytes for the host are
    /// appended to `output`. `admit` returns the data transfer of a command, or rejects the
    /// command.
    ///
    /// When `None` is returned, fewer than 256 bytes remain in `input`.
    ///
    /// # Errors
    /// Returns the error that ends the connection. The request to terminate it is then in `output`.
    pub fn next(
        &mut self,
        input: &mut &[u8],
        output: &mut Vec<u8>,
        admit: Admit<'_>,
    ) -> Result<Option<Event>, Fatal> {
        let event = self.advance(input, output, admit);
        if let Err(fatal) = event {
            // The input still begins with the header in error.
            output.extend(fatal.term_req(&input[..self.checked]));
        }
        if matches!(event, Err(_) | Ok(Some(Event::End))) {
            self.state = State::Ended;
        }
        event
    }

    fn advance(
        &mut self,
        input: &mut &[u8],
        output: &mut Vec<u8>,
        admit: Admit<'_>,
    ) -> Result<Option<Event>, Fatal> {
        loop {
            match std::mem::replace(&mut self.state, State::Idle) {
                State::Start => {
                    self.state = State::Start;
                    let Some(begin) = self.start(input, output)? else { return Ok(None) };
                    self.state = State::Idle;
                    return Ok(Some(begin));
                }
                State::Idle => {
                    if !self.header(input, output, admit)? {
                        return Ok(None);
                    }
                    if matches!(self.state, State::Ended) {
                        return Ok(Some(Event::End));
                    }
                }
                State::Data(body) => {
                    let Some(event) = self.data(body, input, output) else { return Ok(None) };
                    if event.is_some() {
                        return Ok(event);
                    }
                }
                State::Ended => {
                    self.state = State::Ended;
                    *input = &[];
                    return Ok(None);
                }
            }
        }
    }

    /// Processes the request to initialize the connection.
    fn start(&mut self, input: &mut &[u8], output: &mut Vec<u8>) -> Result<Option<Event>, Fatal> {
        let Some(common) = Common::parse(input) else { return Ok(None) };
        self.checked = COMMON_LEN;
        match common {
            Common { kind: H2C_TERM_REQ, .. } => return Ok(Some(Event::End)),
            Common { kind, .. } if kind != IC_REQ => return Err(Fatal::Sequence),
            Common { flags, .. } if flags != 0 => return Err(Fatal::HeaderField(1)),
            Common { header, .. } if header != IC_LEN => return Err(Fatal::HeaderField(2)),
            Common { len, .. } if len != IC_LEN => return Err(Fatal::HeaderField(4)),
            Common { .. } => {}
        }
        let Some((request, rest)) = input.split_at_checked(IC_LEN) else { return Ok(None) };
        self.checked = IC_LEN;
        if u16_at(request, 8) != 0 {
            return Err(Fatal::Unsupported(8));
        }
        let alignment = request[10];
        if alignment > 31 {
            return Err(Fatal::HeaderField(10));
        }
        self.format = Format {
            header_digest: request[11] & FLAG_HEADER_DIGEST != 0,
            data_digest: request[11] & FLAG_DATA_DIGEST != 0,
            host_alignment: 4 * (usize::from(alignment) + 1),
        };
        *input = rest;
        output.extend(pdu::ic_resp(self.format, MAX_DATA));
        Ok(Some(Event::Begin(self.format)))
    }

    /// Processes the header of a PDU; returns false if more bytes are needed.
    fn header(
        &mut self,
        input: &mut &[u8],
        output: &mut Vec<u8>,
        admit: Admit<'_>,
    ) -> Result<bool, Fatal> {
        let Some(common) = Common::parse(input) else { return Ok(false) };
        self.checked = COMMON_LEN;
        let expected = match common.kind {
            H2C_TERM_REQ => {
                self.state = State::Ended;
                return Ok(true);
            }
            CAPSULE_CMD => CAPSULE_CMD_LEN,
            H2C_DATA => HEADER_LEN,
            IC_REQ => return Err(Fatal::Sequence),
            _ => return Err(Fatal::HeaderField(0)),
        };
        let head_len = common.check(expected, self.format)?;
        let Some((head, rest)) = input.split_at_checked(head_len) else { return Ok(false) };
        self.checked = expected;
        if self.format.header_digest
            && pdu::digest(&head[..expected]) != head[expected..expected + DIGEST_LEN]
        {
            return Err(Fatal::HeaderDigest);
        }
        let data = common.data_len(self.format);
        let to = match common.kind {
            CAPSULE_CMD => self.capsule(head, data, output, admit)?,
            _ => Some(Destination::Transfer(self.transfers.piece(head, common.flags, data)?)),
        };
        *input = rest;
        if let Some(to) = to {
            let digest =
                (self.format.data_digest && data > 0).then(|| Box::new(RunningDigest::new()));
            self.state = State::Data(Body { to, left: data, digest });
        }
        Ok(true)
    }

    /// Processes a command capsule with `data` bytes of data. Returns the destination of the data,
    /// or `None` if they are requested from the host.
    fn capsule(
        &mut self,
        head: &[u8],
        data: usize,
        output: &mut Vec<u8>,
        admit: Admit<'_>,
    ) -> Result<Option<Destination>, Fatal> {
        if data > IN_CAPSULE as usize {
            return Err(Fatal::HeaderField(4));
        }
        let command = Command::parse(&head[COMMON_LEN..COMMON_LEN + COMMAND_LEN]);
        let place = match admit(&command) {
            Ok(transfer) => place(&command, transfer, data),
            Err(Rejection::Complete(status)) => Err(status),
            Err(Rejection::Overflow) => return Err(Fatal::Sequence),
        };
        Ok(match place {
            Ok(Place::InCapsule(len)) => {
                Some(Destination::Capsule { command, data: Vec::with_capacity(len), len })
            }
            Ok(Place::Host(len)) => {
                self.transfers.begin(command, len);
                self.transfers.request(self.format, output);
                None
            }
            Err(status) => Some(Destination::Skip(command, status)),
        })
    }

    /// Processes data. Returns `None` if more bytes are needed; after the last byte, returns the
    /// event, if there is one.
    fn data(
        &mut self,
        mut body: Body,
        input: &mut &[u8],
        output: &mut Vec<u8>,
    ) -> Option<Option<Event>> {
        let (bytes, rest) = input.split_at(input.len().min(body.left));
        *input = rest;
        body.left -= bytes.len();
        if let Some(digest) = &mut body.digest {
            digest.update(bytes);
        }
        match &mut body.to {
            Destination::Capsule { data, len, .. } => {
                let needed = bytes.len().min(*len - data.len());
                data.extend_from_slice(&bytes[..needed]);
            }
            Destination::Transfer(id) => self.transfers.add(*id, bytes),
            Destination::Skip(..) => {}
        }
        let digest_len = if body.digest.is_some() { DIGEST_LEN } else { 0 };
        if body.left > 0 || input.len() < digest_len {
            self.state = State::Data(body);
            return None;
        }
        let (received, rest) = input.split_at(digest_len);
        *input = rest;
        let is_intact = body.digest.is_none_or(|digest| digest.finish() == received);
        let event = match body.to {
            Destination::Skip(command, status) => Some(Event::Refused(command, status)),
            Destination::Capsule { command, .. } if !is_intact => {
                Some(Event::Refused(command, Status::TRANSIENT_TRANSPORT_ERROR))
            }
            Destination::Capsule { command, data, .. } => Some(Event::Command(command, data)),
            Destination::Transfer(id) => self.transfers.end_of_piece(id, is_intact),
        };
        self.transfers.request(self.format, output);
        Some(event)
    }
}

impl Common {
    fn parse(input: &[u8]) -> Option<Common> {
        let head = input.get(..COMMON_LEN)?;
        Some(Common {
            kind: head[0],
            flags: head[1],
            header: usize::from(head[2]),
            data_offset: usize::from(head[3]),
            len: u32_at(head, 4) as usize,
        })
    }

    /// Checks the fields of a PDU whose header has the length `expected`. Returns the length of the
    /// header, its digest and its padding.
    fn check(&self, expected: usize, format: Format) -> Result<usize, Fatal> {
        let head = expected + format.header_digest_len();
        if (self.flags & FLAG_HEADER_DIGEST != 0) != format.header_digest {
            return Err(Fatal::HeaderField(1));
        }
        if self.header != expected {
            return Err(Fatal::HeaderField(2));
        }
        if self.len < head {
            return Err(Fatal::HeaderField(4));
        }
        if self.len == head {
            return Ok(head);
        }
        if (self.flags & FLAG_DATA_DIGEST != 0) != format.data_digest {
            return Err(Fatal::HeaderField(1));
        }
        if self.data_offset < head || !self.data_offset.is_multiple_of(4) {
            return Err(Fatal::HeaderField(3));
        }
        match self.len <= self.data_offset + format.data_digest_len() {
            true => Err(Fatal::HeaderField(4)),
            false => Ok(self.data_offset),
        }
    }

    /// Returns the number of data bytes of a checked PDU.
    fn data_len(&self, format: Format) -> usize {
        match self.len == self.header + format.header_digest_len() {
            true => 0,
            false => self.len - self.data_offset - format.data_digest_len(),
        }
    }
}

/// The source of a command's data.
enum Place {
    /// This number of bytes of the capsule's data; 0 for a command without data from the host.
    InCapsule(usize),
    /// The host, from which this number of bytes must be requested.
    Host(u32),
}

/// Checks a command's descriptor of data; its capsule has `in_capsule` bytes of data.
fn place(command: &Command, transfer: Transfer, in_capsule: usize) -> Result<Place, Status> {
    let sgl = command.sgl();
    let (Transfer::FromHost(len) | Transfer::ToHost(len)) = transfer else {
        return Ok(Place::InCapsule(0));
    };
    match (sgl.kind, transfer) {
        (SGL_IN_CAPSULE, Transfer::FromHost(_)) if sgl.address != 0 => {
            Err(Status::SGL_OFFSET_INVALID)
        }
        (SGL_IN_CAPSULE, Transfer::FromHost(_)) if sgl.len as usize != in_capsule => {
            Err(Status::DATA_SGL_LENGTH_INVALID)
        }
        (SGL_IN_CAPSULE, Transfer::FromHost(_)) | (SGL_TRANSPORT, _) if sgl.len < len => {
            Err(Status::DATA_SGL_LENGTH_INVALID)
        }
        (SGL_IN_CAPSULE, Transfer::FromHost(_)) => Ok(Place::InCapsule(len as usize)),
        (SGL_TRANSPORT, Transfer::FromHost(_)) if in_capsule > 0 => Err(Status::SGL_TYPE_INVALID),
        (SGL_TRANSPORT, Transfer::FromHost(_)) => Ok(Place::Host(len)),
        (SGL_TRANSPORT, _) => Ok(Place::InCapsule(0)),
        _ => Err(Status::SGL_TYPE_INVALID),
    }
}

/// The commands whose data are requested from the host.
#[derive(Debug, Default)]
struct Transfers {
    commands: BTreeMap<u16, Incoming>,
    /// Commands whose data are not requested yet, in order of arrival.
    waiting: VecDeque<u16>,
    /// The requested bytes of the commands that lack data.
    requested: u32,
}

#[derive(Debug)]
struct Incoming {
    command: Command,
    data: Vec<u8>,
    len: u32,
    is_requested: bool,
    is_intact: bool,
}

impl Transfers {
    fn begin(&mut self, command: Command, len: u32) {
        self.waiting.push_back(command.id());
        let data = Vec::new();
        let incoming = Incoming { data, len, is_requested: false, is_intact: true, command };
        self.commands.insert(incoming.command.id(), incoming);
    }

    /// Requests the data of waiting commands, as far as the window allows.
    fn request(&mut self, format: Format, output: &mut Vec<u8>) {
        while let Some(id) = self.waiting.front() {
            let incoming = self.commands.get_mut(id).expect("waiting commands are kept");
            if self.requested > 0 && self.requested + incoming.len > WINDOW {
                return;
            }
            self.requested += incoming.len;
            incoming.is_requested = true;
            incoming.data.reserve_exact(AT_ONCE.min(incoming.len as usize));
            output.extend(pdu::r2t(format, *id, incoming.len));
            self.waiting.pop_front();
        }
    }

    /// Checks the header of a data PDU with `data` bytes; returns its transfer.
    fn piece(&self, head: &[u8], flags: u8, data: usize) -> Result<u16, Fatal> {
        let (id, tag) = (u16_at(head, 8), u16_at(head, 10));
        let (offset, len) = (u32_at(head, 12), u32_at(head, 16));
        let Some(incoming) = self.commands.get(&tag).filter(|incoming| incoming.is_requested)
        else {
            return Err(Fatal::HeaderField(10));
        };
        if id != tag {
            return Err(Fatal::HeaderField(8));
        }
        if len as usize != data || len == 0 {
            return Err(Fatal::HeaderField(16));
        }
        if len > MAX_DATA {
            return Err(Fatal::DataLimit);
        }
        let received = incoming.data.len();
        let end = u64::from(offset) + u64::from(len);
        if offset as usize != received || end > u64::from(incoming.len) {
            return Err(Fatal::OutOfRange);
        }
        match (flags & FLAG_LAST != 0) == (end == u64::from(incoming.len)) {
            true => Ok(tag),
            false => Err(Fatal::HeaderField(1)),
        }
    }

    fn add(&mut self, id: u16, bytes: &[u8]) {
        let incoming = self.commands.get_mut(&id).expect("a transfer that was checked");
        incoming.data.extend_from_slice(bytes);
    }

    /// Ends a data PDU. Returns the event of a command that has all its data.
    fn end_of_piece(&mut self, id: u16, is_intact: bool) -> Option<Event> {
        let incoming = self.commands.get_mut(&id).expect("a transfer that was checked");
        incoming.is_intact &= is_intact;
        if incoming.data.len() < incoming.len as usize {
            return None;
        }
        let incoming = self.commands.remove(&id).expect("a transfer that was checked");
        self.requested -= incoming.len;
        Some(match incoming.is_intact {
            true => Event::Command(incoming.command, incoming.data),
            false => Event::Refused(incoming.command, Status::TRANSIENT_TRANSPORT_ERROR),
        })
    }
}
