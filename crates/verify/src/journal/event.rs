use flashscope_document::verification::WritingEnd;

/// An event of the writing. The order of the events is the order in which the host observed them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The host submits the next write: the numbers of writes rise by one.
    Submitted,
    /// The drive acknowledged a write, given as its distance from the newest submitted write.
    Acknowledged(u64),
    /// A write failed, given as its distance from the newest submitted write.
    Failed(u64),
    /// The host submits a flush. At most one is in flight.
    FlushSubmitted,
    /// The drive acknowledged the flush.
    FlushAcknowledged,
    /// The flush failed.
    FlushFailed,
    /// The writing ended.
    Ended(WritingEnd),
}

/// The ends that a journal can record. A power cut records no end.
const ENDS: [WritingEnd; 3] =
    [WritingEnd::DriveFailed, WritingEnd::Complete, WritingEnd::Interrupted];

impl Event {
    /// Appends the code of the event: a byte, and for some events a number in LEB128.
    pub fn encode(self, bytes: &mut Vec<u8>) {
        match self {
            Event::Submitted => bytes.push(0),
            Event::Acknowledged(distance) => {
                bytes.push(1);
                encode_number(distance, bytes);
            }
            Event::Failed(distance) => {
                bytes.push(2);
                encode_number(distance, bytes);
            }
            Event::FlushSubmitted => bytes.push(3),
            Event::FlushAcknowledged => bytes.push(4),
            Event::FlushFailed => bytes.push(5),
            Event::Ended(end) => {
                let code = ENDS.iter().position(|known| *known == end).expect("no cut is recorded");
                bytes.push(6);
                encode_number(code as u64, bytes);
            }
        }
    }

    /// Decodes the first event and removes it from `bytes`. Returns `None` if the code is invalid
    /// or incomplete.
    pub fn decode(bytes: &mut &[u8]) -> Option<Event> {
        let (code, rest) = bytes.split_first()?;
        *bytes = rest;
        Some(match code {
            0 => Event::Submitted,
            1 => Event::Acknowledged(decode_number(bytes)?),
            2 => Event::Failed(decode_number(bytes)?),
            3 => Event::FlushSubmitted,
            4 => Event::FlushAcknowledged,
            5 => Event::FlushFailed,
            6 => Event::Ended(*ENDS.get(usize::try_from(decode_number(bytes)?).ok()?)?),
            _ => return None,
        })
    }
}

fn encode_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7f).expect("seven bits") | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).expect("seven bits"));
}

fn decode_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
