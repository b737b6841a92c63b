//! The handshake before the first request: fixed newstyle negotiation.

use std::sync::Arc;

use flashscope_block::Bytes;

use super::MAX_TRANSFER;
use super::protocol::*;
use super::session::Violation;
use crate::attached::{AttachedDrive, Export};
use crate::request::Answer;

/// The maximum length of an option's data that is read; the protocol limits names to 4096 bytes.
const LONGEST_OPTION: u32 = 16 * 1024;

/// The maximum number of options that a client may send.
const MAX_OPTIONS: u32 = 64;

/// The maximum length of an export name in the protocol.
const LONGEST_NAME: usize = 4096;

/// The properties that the server offers to clients.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The drive.
    pub export: Export,
    /// True if trimmed bytes read as zeros; a trim then serves a request to write zeros.
    pub trims_to_zeros: bool,
    /// True if only one client is served at a time.
    pub exclusive: bool,
    /// The maximum number of bytes that one request may read or write.
    pub longest: Bytes,
}

impl Offer {
    pub(super) fn of<A: Answer>(drive: &AttachedDrive<A>, exclusive: bool) -> Offer {
        Offer {
            export: drive.export().clone(),
            trims_to_zeros: drive.trims_to_zeros(),
            exclusive,
            longest: MAX_TRANSFER,
        }
    }
}

/// The options agreed on with the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionOptions {
    /// True if reads are answered with structured replies.
    pub(super) structured: bool,
}

/// The result of processing input of the handshake.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// More input is needed.
    More,
    /// The input was processed, and a reply may have been written.
    Processed,
    /// The handshake is complete, and requests follow.
    Begin(SessionOptions),
    /// The client ended the session.
    End,
}

/// The state of a handshake.
#[derive(Debug)]
pub(super) struct Handshake {
    offer: Arc<Offer>,
    /// `None` until the client's flags arrive; then true if the server may omit the padding zeros.
    no_zeroes: Option<bool>,
    structured: bool,
    options: u32,
    /// The number of bytes of an oversized option still to be skipped.
    skip: u32,
}

impl Handshake {
    /// Starts a handshake and writes the greeting to `output`.
    pub(super) fn new(offer: Arc<Offer>, output: &mut Vec<u8>) -> Handshake {
        output.extend(MAGIC.to_be_bytes());
        output.extend(OPTION_MAGIC.to_be_bytes());
        output.extend((FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES).to_be_bytes());
        Handshake { offer, no_zeroes: None, structured: false, options: 0, skip: 0 }
    }

    /// Processes the next step of the handshake. `enter` returns true if this client may be served.
    pub(super) fn next(
        &mut self,
        input: &mut &[u8],
        output: &mut Vec<u8>,
        enter: &mut dyn FnMut() -> bool,
    ) -> Result<Next, Violation> {
        if self.skip > 0 {
            let skipped = input.len().min(self.skip as usize);
            *input = &input[skipped..];
            self.skip -= u32::try_from(skipped).expect("no more than there was to skip");
            return Ok(if self.skip > 0 { Next::More } else { Next::Processed });
        }
        let Some(no_zeroes) = self.no_zeroes else { return self.flags(input) };
        let mut rest = *input;
        let Some((magic, option, len)) = take_header(&mut rest) else { return Ok(Next::More) };
        if magic != OPTION_MAGIC {
            return Err(Violation::Magic);
        }
        if len <= LONGEST_OPTION && rest.len() < len as usize {
            return Ok(Next::More);
        }
        self.options += 1;
        if self.options > MAX_OPTIONS {
            return Err(Violation::TooManyOptions);
        }
        if len > LONGEST_OPTION {
            *input = rest;
            self.skip = len;
            reply(output, option, REP_ERR_TOO_BIG, b"the data of the option is too long");
            return Ok(Next::Processed);
        }
        let (data, rest) = rest.split_at(len as usize);
        *input = rest;
        match option {
            OPT_EXPORT_NAME => self.export_name(data, output, no_zeroes, enter),
            _ => Ok(self.option(option, data, output, enter)),
        }
    }

    fn flags(&mut self, input: &mut &[u8]) -> Result<Next, Violation> {
        let Some(flags) = take_u32(input) else { return Ok(Next::More) };
        let [fixed, no_zeroes] = [FLAG_FIXED_NEWSTYLE, FLAG_NO_ZEROES].map(u32::from);
        if flags & !(fixed | no_zeroes) != 0 {
            return Err(Violation::UnknownFlags);
        }
        self.no_zeroes = Some(flags & no_zeroes != 0);
        Ok(Next::Processed)
    }

    /// Handles the only option without a reply, which can be refused only by closing the
    /// connection.
    fn export_name(
        &self,
        name: &[u8],
        output: &mut Vec<u8>,
        no_zeroes: bool,
        enter: &mut dyn FnMut() -> bool,
    ) -> Result<Next, Violation> {
        if !self.is_ours(name) {
            return Err(Violation::UnknownExport);
        }
        if !enter() {
            return Err(Violation::Taken);
        }
        output.extend(self.offer.export.size.0.to_be_bytes());
        output.extend(self.transmission_flags().to_be_bytes());
        if !no_zeroes {
            output.extend([0; 124]);
        }
        Ok(Next::Begin(SessionOptions { structured: self.structured }))
    }

    fn option(
        &mut self,
        option: u32,
        data: &[u8],
        output: &mut Vec<u8>,
        enter: &mut dyn FnMut() -> bool,
    ) -> Next {
        match option {
            OPT_ABORT => {
                reply(output, option, REP_ACK, &[]);
                return Next::End;
            }
            OPT_GO | OPT_INFO => return self.info(option, data, output, enter),
            OPT_LIST | OPT_STRUCTURED_REPLY if !data.is_empty() => {
                reply(output, option, REP_ERR_INVALID, b"this option takes no data");
            }
            OPT_LIST => {
                let name = self.name();
                let len = u32::try_from(name.len()).expect("names are short").to_be_bytes();
                reply(output, option, REP_SERVER, &[&len, name].concat());
                reply(output, option, REP_ACK, &[]);
            }
            OPT_STRUCTURED_REPLY => {
                self.structured = true;
                reply(output, option, REP_ACK, &[]);
            }
            _ => reply(output, option, REP_ERR_UNSUP, b"this option is not supported"),
        }
        Next::Processed
    }

    fn info(
        &self,
        option: u32,
        mut data: &[u8],
        output: &mut Vec<u8>,
        enter: &mut dyn FnMut() -> bool,
    ) -> Next {
        let Some((name, kinds)) = take_info(&mut data) else {
            reply(output, option, REP_ERR_INVALID, b"the data of the option is malformed");
            return Next::Processed;
        };
        if !self.is_ours(name) {
            let words = format!("the drive is `{}`; an empty name works", self.offer.export.name);
            reply(output, option, REP_ERR_UNKNOWN, words.as_bytes());
            return Next::Processed;
        }
        if option == OPT_GO && !enter() {
            let words =
                b"the drive is served to one client at a time, and another client is connected";
            reply(output, option, REP_ERR_POLICY, words);
            return Next::Processed;
        }
        self.describe(option, &kinds, output);
        reply(output, option, REP_ACK, &[]);
        match option {
            OPT_GO => Next::Begin(SessionOptions { structured: self.structured }),
            _ => Next::Processed,
        }
    }

    fn describe(&self, option: u32, kinds: &[u16], output: &mut Vec<u8>) {
        let mut info = INFO_EXPORT.to_be_bytes().to_vec();
        info.extend(self.offer.export.size.0.to_be_bytes());
        info.extend(self.transmission_flags().to_be_bytes());
        reply(output, option, REP_INFO, &info);
        if kinds.contains(&INFO_NAME) {
            let info = [&INFO_NAME.to_be_bytes(), self.name()].concat();
            reply(output, option, REP_INFO, &info);
        }
        if kinds.contains(&INFO_BLOCK_SIZE) {
            let mut info = INFO_BLOCK_SIZE.to_be_bytes().to_vec();
            for size in self.block_sizes() {
                info.extend(u32::try_from(size).unwrap_or(u32::MAX).to_be_bytes());
            }
            reply(output, option, REP_INFO, &info);
        }
    }

    /// Returns the minimum and the preferred block size and the maximum length of a request, in
    /// bytes.
    fn block_sizes(&self) -> [u64; 3] {
        // Linux's own client accepts no blocks larger than a page.
        let block = self.offer.export.logical_block.0;
        [block.min(4096), block.max(4096), self.offer.longest.0]
    }

    fn transmission_flags(&self) -> u16 {
        let mut flags = FLAG_HAS_FLAGS | FLAG_SEND_FLUSH | FLAG_SEND_FUA;
        let writable = self.offer.export.writable;
        let more = [
            (!writable, FLAG_READ_ONLY),
            (writable, FLAG_SEND_WRITE_ZEROES),
            (writable && self.offer.export.trims, FLAG_SEND_TRIM),
            (self.structured, FLAG_SEND_DF),
            (!self.offer.exclusive, FLAG_CAN_MULTI_CONN),
        ];
        flags |= more.iter().filter(|(set, _)| *set).fold(0, |all, (_, flag)| all | flag);
        flags
    }

    fn is_ours(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.name()
    }

    /// Returns the name of the drive, or an empty name if it is too long for the protocol.
    fn name(&self) -> &[u8] {
        let name = self.offer.export.name.as_bytes();
        if name.len() <= LONGEST_NAME { name } else { &[] }
    }
}

/// Reads the magic number, the option number and the length of its data.
fn take_header(input: &mut &[u8]) -> Option<(u64, u32, u32)> {
    Some((take_u64(input)?, take_u32(input)?, take_u32(input)?))
}

/// Reads the export name and the kinds of information that a client requests.
fn take_info<'a>(data: &mut &'a [u8]) -> Option<(&'a [u8], Vec<u16>)> {
    let len = take_u32(data)? as usize;
    let (name, rest) = data.split_at_checked(len)?;
    *data = rest;
    let count = take_u16(data)?;
    if name.len() > LONGEST_NAME || data.len() != usize::from(count) * 2 {
        return None;
    }
    Some((name, std::iter::from_fn(|| take_u16(data)).collect()))
}

fn reply(output: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    output.extend(OPTION_REPLY_MAGIC.to_be_bytes());
    output.extend(option.to_be_bytes());
    output.extend(kind.to_be_bytes());
    output.extend(u32::try_from(data.len()).expect("replies are short").to_be_bytes());
    output.extend(data);
}
