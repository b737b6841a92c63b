//! What is said before the first request: fixed newstyle.

use std::sync::Arc;

use flashscope_block::Bytes;

use super::LONGEST;
use super::protocol::*;
use super::session::Violation;
use crate::attached::{Attached, Export};
use crate::request::Answer;

/// The longest data of an option that is looked at; the protocol bounds names by 4096 bytes.
const LONGEST_OPTION: u32 = 16 * 1024;

/// A client that sends more options than this means no good.
const MOST_OPTIONS: u32 = 64;

/// The longest name that a client can ask for.
const LONGEST_NAME: usize = 4096;

/// What is offered to clients.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The drive.
    pub export: Export,
    /// Whether trimmed bytes read as zeros, so that a trim does where zeros are to be written.
    pub trims_to_zeros: bool,
    /// Whether there is one client at a time.
    pub exclusive: bool,
    /// The most bytes that may be written or read by one request.
    pub longest: Bytes,
}

impl Offer {
    pub(super) fn of<A: Answer>(drive: &Attached<A>, exclusive: bool) -> Offer {
        Offer {
            export: drive.export().clone(),
            trims_to_zeros: drive.trims_to_zeros(),
            exclusive,
            longest: LONGEST,
        }
    }
}

/// What was agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Agreed {
    /// Reads are answered by structured replies.
    pub(super) structured: bool,
}

/// What comes of an option, or of what came instead of one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// There is not enough to go on.
    More,
    /// Something was answered.
    Answered,
    /// Requests follow.
    Begin(Agreed),
    /// The client has enough.
    End,
}

/// The state of a handshake.
#[derive(Debug)]
pub(super) struct Handshake {
    offer: Arc<Offer>,
    /// None before the flags of the client have arrived; then, whether it does without the zeros.
    no_zeroes: Option<bool>,
    structured: bool,
    options: u32,
    /// How many bytes of an option are to be passed over.
    skip: u32,
}

impl Handshake {
    /// Begins with a greeting.
    pub(super) fn new(offer: Arc<Offer>, output: &mut Vec<u8>) -> Handshake {
        output.extend(MAGIC.to_be_bytes());
        output.extend(OPTION_MAGIC.to_be_bytes());
        output.extend((FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES).to_be_bytes());
        Handshake { offer, no_zeroes: None, structured: false, options: 0, skip: 0 }
    }

    /// Goes one step on with what arrived. `enter` says whether one more client may be served.
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
            return Ok(if self.skip > 0 { Next::More } else { Next::Answered });
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
        if self.options > MOST_OPTIONS {
            return Err(Violation::TooManyOptions);
        }
        if len > LONGEST_OPTION {
            *input = rest;
            self.skip = len;
            reply(output, option, REP_ERR_TOO_BIG, b"the data of the option is too long");
            return Ok(Next::Answered);
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
        Ok(Next::Answered)
    }

    /// The one option that has no reply by which it could be refused.
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
        Ok(Next::Begin(Agreed { structured: self.structured }))
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
                reply(output, option, REP_ERR_INVALID, b"this option has no data");
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
            _ => reply(output, option, REP_ERR_UNSUP, b"this option is not known here"),
        }
        Next::Answered
    }

    fn info(
        &self,
        option: u32,
        mut data: &[u8],
        output: &mut Vec<u8>,
        enter: &mut dyn FnMut() -> bool,
    ) -> Next {
        let Some((name, wanted)) = take_info(&mut data) else {
            reply(output, option, REP_ERR_INVALID, b"the data of the option is malformed");
            return Next::Answered;
        };
        if !self.is_ours(name) {
            let words = format!("the drive here is `{}`, or no name", self.offer.export.name);
            reply(output, option, REP_ERR_UNKNOWN, words.as_bytes());
            return Next::Answered;
        }
        if option == OPT_GO && !enter() {
            let words = b"the drive is served to one client at a time, and another one has it";
            reply(output, option, REP_ERR_POLICY, words);
            return Next::Answered;
        }
        self.describe(option, &wanted, output);
        reply(output, option, REP_ACK, &[]);
        match option {
            OPT_GO => Next::Begin(Agreed { structured: self.structured }),
            _ => Next::Answered,
        }
    }

    fn describe(&self, option: u32, wanted: &[u16], output: &mut Vec<u8>) {
        let mut info = INFO_EXPORT.to_be_bytes().to_vec();
        info.extend(self.offer.export.size.0.to_be_bytes());
        info.extend(self.transmission_flags().to_be_bytes());
        reply(output, option, REP_INFO, &info);
        if wanted.contains(&INFO_NAME) {
            let info = [&INFO_NAME.to_be_bytes(), self.name()].concat();
            reply(output, option, REP_INFO, &info);
        }
        if wanted.contains(&INFO_BLOCK_SIZE) {
            let mut info = INFO_BLOCK_SIZE.to_be_bytes().to_vec();
            for size in self.block_sizes() {
                info.extend(u32::try_from(size).unwrap_or(u32::MAX).to_be_bytes());
            }
            reply(output, option, REP_INFO, &info);
        }
    }

    /// What requests have to be multiples of, what they had best be multiples of, and the longest.
    fn block_sizes(&self) -> [u64; 3] {
        // Linux's own client takes no longer blocks than its pages.
        let block = self.offer.export.logical_block.0;
        [block.min(4096), block.max(4096), self.offer.longest.0]
    }

    fn transmission_flags(&self) -> u16 {
        let mut flags = FLAG_HAS_FLAGS | FLAG_SEND_FLUSH | FLAG_SEND_FUA | FLAG_SEND_WRITE_ZEROES;
        let more = [
            (self.offer.export.trims, FLAG_SEND_TRIM),
            (self.structured, FLAG_SEND_DF),
            (!self.offer.exclusive, FLAG_CAN_MULTI_CONN),
        ];
        flags |= more.iter().filter(|(set, _)| *set).fold(0, |all, (_, flag)| all | flag);
        flags
    }

    fn is_ours(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.name()
    }

    /// The name of the drive, where the protocol has room for it.
    fn name(&self) -> &[u8] {
        let name = self.offer.export.name.as_bytes();
        if name.len() <= LONGEST_NAME { name } else { &[] }
    }
}

/// Magic, number and length of the data of an option.
fn take_header(input: &mut &[u8]) -> Option<(u64, u32, u32)> {
    Some((take_u64(input)?, take_u32(input)?, take_u32(input)?))
}

/// The name and the kinds of information that a client asks for.
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
