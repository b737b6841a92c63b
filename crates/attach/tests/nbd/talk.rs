//! Generated conversations of clients and checks of their results, shared with the fuzz target
//! `nbd`.

use std::sync::Arc;

use flashscope_attach::Export;
use flashscope_attach::nbd::{Event, Offer, Session};
use flashscope_block::{Bytes, Op};

pub(crate) const OPTION_MAGIC: u64 = u64::from_be_bytes(*b"IHAVEOPT");
pub(crate) const REQUEST_MAGIC: u32 = 0x2560_9513;

/// The maximum number of unprocessed bytes between two calls: the longest option.
const MAX_UNPROCESSED: usize = 16 * 1024 + 16;

/// The size of a small drive, in which random ranges are sometimes valid and requests sometimes too
/// long.
const SIZE: Bytes = Bytes(256 * 1024);
const MAX_TRANSFER: Bytes = Bytes(64 * 1024);

/// Encodes an option of a client.
pub(crate) fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = OPTION_MAGIC.to_be_bytes().to_vec();
    bytes.extend(number.to_be_bytes());
    bytes.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
    bytes.extend(data);
    bytes
}

/// Encodes the data of the options INFO and GO, requesting all information.
pub(crate) fn info(name: &str) -> Vec<u8> {
    let mut bytes = u32::try_from(name.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend(name.as_bytes());
    bytes.extend([0, 3, 0, 0, 0, 1, 0, 3]);
    bytes
}

/// Encodes a request of a client.
pub(crate) fn request(flags: u16, command: u16, cookie: u64, offset: u64, len: u32) -> Vec<u8> {
    let mut bytes = REQUEST_MAGIC.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(command.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(len.to_be_bytes());
    bytes
}

/// Generates a nearly valid conversation: options, requests, and a few changes. `below` returns a
/// random number below its argument.
pub(crate) fn conversation(below: &mut dyn FnMut(usize) -> usize) -> Vec<u8> {
    // The properties of the drive, and the flags of the client.
    let mut bytes = vec![small(below(4) | [0, 0, 0, 8][below(4)]), 0, 0, 0, small(below(4))];
    for _ in 0..below(4) {
        let data = [info("fixed"), Vec::new(), vec![0; below(40)]][below(3)].clone();
        bytes.extend(option(u32::try_from(below(13)).unwrap(), &data));
    }
    match below(4) {
        0 => bytes.extend(option(1, b"")),
        _ => bytes.extend(option(7, &info(["", "fixed", "other"][below(3)]))),
    }
    for cookie in 0..below(20) as u64 {
        let offset = below(600) as u64 * 512 + [0, 7][below(2)];
        let len = u32::try_from([512, 7, 4096, 65536, 65537, 200_000, 0][below(7)]).unwrap();
        let command = u16::from([0u8, 0, 1, 1, 2, 3, 4, 6, 5, 9][below(10)]);
        let range = if command == 3 && below(4) > 0 { (0, 0) } else { (offset, len) };
        bytes.extend(request(
            [0, 0, 0, 1, 1, 2, 4, 128][below(8)],
            command,
            cookie,
            range.0,
            range.1,
        ));
        if command == 1 {
            bytes.extend(std::iter::repeat_n(small(below(256)), len as usize));
        }
    }
    for _ in 0..below(4) {
        let at = below(bytes.len() + 1);
        let end = (at + below(6)).min(bytes.len());
        let with: Vec<u8> = (0..below(6)).map(|_| small(below(256))).collect();
        bytes.splice(at..end, with);
    }
    bytes
}

fn small(number: usize) -> u8 {
    u8::try_from(number).unwrap()
}

/// The result of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The requests to the drive, and the replies that need no access to it.
    pub events: Vec<String>,
    /// The bytes sent to the client.
    pub output: Vec<u8>,
    /// The reason why the session ended, if it did.
    pub end: Option<String>,
}

/// Runs a session with a client that sends `bytes`, first in one piece and then in several. The
/// first byte selects the drive's properties. Checks that the results are equal and all requests
/// valid.
pub(crate) fn talk(bytes: &[u8]) -> Outcome {
    let (&kind, input_bytes) = bytes.split_first().unwrap_or((&0, &[]));
    let whole = listen(kind, input_bytes, usize::MAX);
    for step in [1 + usize::from(kind), 4099] {
        let pieces = listen(kind, input_bytes, step);
        assert_eq!(whole, pieces, "in pieces of {step}");
    }
    whole
}

fn listen(kind: u8, input_bytes: &[u8], step: usize) -> Outcome {
    let trims = kind & 1 == 0;
    let logical_block = Bytes(512);
    let writable = kind & 8 == 0;
    let export = Export { trims, writable, ..Export::new("fixed", (SIZE, logical_block)) };
    let offer =
        Offer { export, trims_to_zeros: trims, exclusive: kind & 2 == 2, longest: MAX_TRANSFER };
    let mut outcome = Outcome { events: Vec::new(), output: Vec::new(), end: None };
    let mut session = Session::new(Arc::new(offer), &mut outcome.output);
    let mut kept = Vec::new();
    for piece in input_bytes.chunks(step) {
        kept.extend_from_slice(piece);
        let mut input = &kept[..];
        while outcome.end.is_none() {
            match session.next(&mut input, &mut outcome.output, &mut || kind & 4 == 0) {
                Ok(None) => break,
                Ok(Some(event)) => outcome.take(&event, writable),
                Err(violation) => outcome.end = Some(violation.to_string()),
            }
        }
        assert!(
            input.len() <= MAX_UNPROCESSED || outcome.end.is_some(),
            "{} are left",
            input.len()
        );
        let left = input.len();
        kept.drain(..kept.len() - left);
    }
    // A skipped option has one reply, and each option has at most a few hundred bytes of replies.
    assert!(outcome.output.len() <= 64 * 1024, "{}", outcome.output.len());
    outcome
}

impl Outcome {
    fn take(&mut self, event: &Event, writable: bool) {
        if let Event::Request(request, _) = event {
            let (offset, len) = (request.offset, request.len);
            assert!(offset.0.checked_add(len.0).is_some_and(|end| end <= SIZE.0), "{request:?}");
            assert_eq!(len.0 == 0, request.op == Op::Flush, "{request:?}");
            assert!(writable || matches!(request.op, Op::Read | Op::Flush), "{request:?}");
            assert!(len <= MAX_TRANSFER || request.op == Op::Trim, "{request:?}");
            let data = request.data.len() as u64;
            assert!(data == 0 || (request.op == Op::Write && data == len.0), "{request:?}");
        }
        if matches!(event, Event::End) {
            self.end = Some("the client disconnected".into());
        }
        self.events.push(format!("{event:?}"));
    }
}
