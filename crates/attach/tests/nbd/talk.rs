//! What clients may say, and what must come of it whatever they say. The fuzz target `nbd` does the same.

use std::sync::Arc;

use flashscope_attach::Export;
use flashscope_attach::nbd::{Event, Offer, Session};
use flashscope_block::{Bytes, Op};

pub const OPTION_MAGIC: u64 = u64::from_be_bytes(*b"IHAVEOPT");
pub const REQUEST_MAGIC: u32 = 0x2560_9513;

/// What is left over between two calls is less than this: the longest option.
const MOST_LEFT: usize = 16 * 1024 + 16;

/// A small drive, so that random ranges are within it now and then, and requests are too long.
const SIZE: Bytes = Bytes(256 * 1024);
const LONGEST: Bytes = Bytes(64 * 1024);

/// An option as a client sends it.
pub fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = OPTION_MAGIC.to_be_bytes().to_vec();
    bytes.extend(number.to_be_bytes());
    bytes.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
    bytes.extend(data);
    bytes
}

/// The data of the options INFO and GO, which ask for everything there is to know.
pub fn info(name: &str) -> Vec<u8> {
    let mut bytes = u32::try_from(name.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend(name.as_bytes());
    bytes.extend([0, 3, 0, 0, 0, 1, 0, 3]);
    bytes
}

/// A request as a client sends it.
pub fn request(flags: u16, command: u16, cookie: u64, offset: u64, len: u32) -> Vec<u8> {
    let mut bytes = REQUEST_MAGIC.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(command.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(len.to_be_bytes());
    bytes
}

/// A conversation that is nearly right: options, requests, and a few changes. `below` chooses a number
/// below another.
pub fn conversation(below: &mut dyn FnMut(usize) -> usize) -> Vec<u8> {
    // What the drive is like, and the flags of the client.
    let mut bytes = vec![small(below(4)), 0, 0, 0, small(below(4))];
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

/// What came of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What the drive is asked, and the replies that need no drive.
    pub events: Vec<String>,
    /// What the client is sent.
    pub output: Vec<u8>,
    /// Whether and how it ended.
    pub end: Option<String>,
}

/// Has a session with a client that sends `bytes` (the first of which says what the drive is like), all
/// at once and bit by bit: both must come to the same, and to nothing that a drive cannot be asked.
pub fn talk(bytes: &[u8]) -> Outcome {
    let (&kind, said) = bytes.split_first().unwrap_or((&0, &[]));
    let whole = listen(kind, said, usize::MAX);
    for step in [1 + usize::from(kind), 4099] {
        let pieces = listen(kind, said, step);
        assert_eq!(whole, pieces, "in pieces of {step}");
    }
    whole
}

fn listen(kind: u8, said: &[u8], step: usize) -> Outcome {
    let trims = kind & 1 == 0;
    let logical_block = Bytes(512);
    let export = Export { name: "fixed".into(), size: SIZE, logical_block, trims, writable: true };
    let offer = Offer { export, trims_to_zeros: trims, exclusive: kind & 2 == 2, longest: LONGEST };
    let mut outcome = Outcome { events: Vec::new(), output: Vec::new(), end: None };
    let mut session = Session::new(Arc::new(offer), &mut outcome.output);
    let mut kept = Vec::new();
    for piece in said.chunks(step) {
        kept.extend_from_slice(piece);
        let mut input = &kept[..];
        while outcome.end.is_none() {
            match session.next(&mut input, &mut outcome.output, &mut || kind & 4 == 0) {
                Ok(None) => break,
                Ok(Some(event)) => outcome.take(&event),
                Err(violation) => outcome.end = Some(violation.to_string()),
            }
        }
        assert!(input.len() <= MOST_LEFT || outcome.end.is_some(), "{} are left", input.len());
        let left = input.len();
        kept.drain(..kept.len() - left);
    }
    // Of what is passed over, words are said once; each option is answered by a few hundred bytes.
    assert!(outcome.output.len() <= 64 * 1024, "{}", outcome.output.len());
    outcome
}

impl Outcome {
    fn take(&mut self, event: &Event) {
        if let Event::Ask(request, _) = event {
            let (offset, len) = (request.offset, request.len);
            assert!(offset.0.checked_add(len.0).is_some_and(|end| end <= SIZE.0), "{request:?}");
            assert_eq!(len.0 == 0, request.op == Op::Flush, "{request:?}");
            assert!(len <= LONGEST || request.op == Op::Trim, "{request:?}");
            let data = request.data.len() as u64;
            assert!(data == 0 || (request.op == Op::Write && data == len.0), "{request:?}");
        }
        if matches!(event, Event::End) {
            self.end = Some("the client went".into());
        }
        self.events.push(format!("{event:?}"));
    }
}
