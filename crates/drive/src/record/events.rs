//! Parser of the kernel's event stream: `struct blk_io_trace` of `linux/blktrace_api.h`, version 7
//! (48 bytes) or 8 (64 bytes), each followed by data of the stated length. Text lines between
//! events report lost events and events of other tracers.

use std::io;

/// The upper three bytes of an event's first word. The lowest byte is the version.
const MAGIC: u32 = 0x6561_7400;

/// The start of a line with the number of lost events.
const LOST: &[u8] = b"CPU:";

/// The start of a line for an event of another tracer.
const OTHER: &[u8] = b"type:";

/// An upper bound for the length of a line.
const LONGEST_LINE: usize = 256;

/// Types of events, in the lowest byte of the action.
const QUEUE: u32 = 1;
const ISSUE: u32 = 7;

/// The category of a command passed through to the drive, as a bit of the action.
const PASSED_THROUGH: u32 = 1 << 25;

/// The action of a note with the time of day.
const NOTE_OF_TIME: u32 = 1 << 26 | 1;

/// The number and size of requests so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) requests: u64,
    pub(super) bytes: u64,
}

/// An incremental parser: input pieces may end in the middle of an event.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// Input that is not parsed yet.
    pending: Vec<u8>,
    pub(super) queued: Count,
    pub(super) issued: Count,
}

impl Events {
    /// Parses the next piece and appends complete events to `out`, unchanged.
    pub(super) fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.pending.extend_from_slice(piece);
        let mut start = 0;
        while let Some(part) = next(&self.pending[start..])? {
            let end = start + part.length();
            if let Part::Event { action, bytes, .. } = part {
                self.count(action, bytes);
                out.extend_from_slice(&self.pending[start..end]);
            }
            start = end;
        }
        self.pending.drain(..start);
        Ok(())
    }

    fn count(&mut self, action: u32, bytes: u32) {
        let count = match action & 0xff {
            QUEUE => &mut self.queued,
            ISSUE => &mut self.issued,
            _ => return,
        };
        if action & PASSED_THROUGH == 0 {
            count.requests += 1;
            count.bytes += u64::from(bytes);
        }
    }
}

enum Part {
    Event { length: usize, action: u32, bytes: u32 },
    Line { length: usize },
}

impl Part {
    fn length(&self) -> usize {
        match self {
            Part::Event { length, .. } | Part::Line { length } => *length,
        }
    }
}

/// Returns the first event or line, or `None` if it is incomplete.
fn next(pending: &[u8]) -> io::Result<Option<Part>> {
    let Some(word) = pending.get(..4) else { return Ok(None) };
    if word == &LOST[..4] || word == &OTHER[..4] {
        let end = pending.iter().take(LONGEST_LINE).position(|byte| *byte == b'\n');
        return match end {
            Some(end) => Ok(Some(Part::Line { length: end + 1 })),
            None if pending.len() < LONGEST_LINE => Ok(None),
            None => Err(unknown(word)),
        };
    }
    let word_at = |at: usize| {
        let word = pending.get(at..at + 4).and_then(|word| word.try_into().ok());
        u32::from_ne_bytes(word.unwrap_or_default())
    };
    // The length of the header, and the offset of the field with the length of the data after it.
    let (header, follows) = match (word_at(0) & !0xff, word_at(0) & 0xff) {
        (MAGIC, 7) => (48, 46),
        (MAGIC, 8) => (64, 50),
        _ => return Err(unknown(word)),
    };
    if pending.len() < header {
        return Ok(None);
    }
    let length = header + usize::from(u16::from_ne_bytes([pending[follows], pending[follows + 1]]));
    // In version 8, the action has 64 bits, of which the lower half suffices here.
    let action = match header {
        48 => word_at(28),
        _ if cfg!(target_endian = "little") => word_at(32),
        _ => word_at(36),
    };
    let event = Part::Event { length, action, bytes: word_at(24) };
    Ok((pending.len() >= length).then_some(event))
}

fn unknown(word: &[u8]) -> io::Error {
    let reason = format!(
        "the kernel's stream contains an unknown event ({word:02x?}): the kernel is newer than this \
             program, or another program changed the tracer during the recording"
    );
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// Returns a note of the time of day, with which a blktrace stream begins. It states that
/// `monotonic` on the trace clock is `since_1970`, both in nanoseconds.
pub(super) fn note_of_time(monotonic: u64, since_1970: u64) -> Vec<u8> {
    let second = 1_000_000_000;
    // The field overflows in 2106.
    let seconds = u32::try_from(since_1970 / second).unwrap_or(u32::MAX);
    let nanos = u32::try_from(since_1970 % second).unwrap_or_default();
    let mut note = Vec::with_capacity(56);
    note.extend([MAGIC | 7, 0].map(u32::to_ne_bytes).as_flattened());
    note.extend([monotonic, 0].map(u64::to_ne_bytes).as_flattened());
    note.extend([0, NOTE_OF_TIME, 0, 0, 0].map(u32::to_ne_bytes).as_flattened());
    note.extend([0, 8].map(u16::to_ne_bytes).as_flattened());
    note.extend([seconds, nanos].map(u32::to_ne_bytes).as_flattened());
    note
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn event(action: u32, follows: &[u8]) -> Vec<u8> {
        let mut event = vec![0; 48];
        event[..4].copy_from_slice(&(MAGIC | 7).to_ne_bytes());
        event[24..28].copy_from_slice(&512u32.to_ne_bytes());
        event[28..32].copy_from_slice(&(1 << 20 | action).to_ne_bytes());
        event[46..].copy_from_slice(&u16::try_from(follows.len()).unwrap().to_ne_bytes());
        [&event, follows].concat()
    }

    // Complete events are passed on unchanged, and lines are dropped.
    #[test]
    fn pieces_may_end_anywhere() {
        let passed = event(ISSUE | PASSED_THROUGH, &[0; 300]);
        let events = [event(QUEUE, b"abc"), event(ISSUE, b""), passed];
        let lines = ["CPU:1 [LOST 17 EVENTS]\n", "type: 5\n", "CPU:0 [LOST EVENTS]\n"];
        let mut stream = Vec::new();
        for (event, line) in events.iter().zip(lines) {
            stream.extend_from_slice(line.as_bytes());
            stream.extend_from_slice(event);
        }
        for size in [1, 5, 47, 48, 49, 200, 1000] {
            let (mut parser, mut out) = (Events::default(), Vec::new());
            for piece in stream.chunks(size) {
                parser.push(piece, &mut out).unwrap();
            }
            assert_eq!(out, events.concat(), "{size}");
            let one = Count { requests: 1, bytes: 512 };
            assert_eq!((parser.queued, parser.issued), (one, one));
        }
    }

    proptest! {
        // The result is never longer than the stream.
        #[test]
        fn results_do_not_depend_on_the_pieces(
            parts in vec((0..4u8, any::<(u8, u16)>(), vec(any::<u8>(), 0..80)), 0..8),
            size in 1..400usize,
        ) {
            let stream: Vec<u8> = parts.into_iter().flat_map(|(kind, (action, long), bytes)| match kind {
                0 => event(u32::from(action), &bytes),
                1 => [&b"type: "[..], &bytes, b"\n"].concat(),
                2 => {
                    let version = 7 + u32::from(action % 2);
                    let length = [&long.to_ne_bytes()[..], &[0, 0]].concat();
                    [&(MAGIC | version).to_ne_bytes()[..], &[0; 42], &length, &bytes].concat()
                }
                _ => bytes,
            }).collect();
            let parse = |size: usize| {
                let (mut events, mut out) = (Events::default(), Vec::new());
                let failed = stream.chunks(size).any(|piece| events.push(piece, &mut out).is_err());
                (failed, out, events.queued, events.issued)
            };
            let whole = parse(stream.len().max(1));
            prop_assert!(whole.1.len() <= stream.len());
            prop_assert_eq!(parse(size), whole);
        }
    }

    #[test]
    fn invalid_data_is_an_error() {
        let endless = [b"CPU:", &[b'x'; 300][..]].concat();
        for stream in [&b"abcdefgh"[..], &[9, 0x74, 0x61, 0x65], &endless] {
            let error = Events::default().push(stream, &mut Vec::new()).unwrap_err();
            assert!(error.to_string().contains("contains an unknown event"), "{error}");
        }
    }

    #[test]
    fn the_note_is_an_event() {
        let note = note_of_time(5, 1_700_000_000_000_000_007);
        let mut out = Vec::new();
        Events::default().push(&note, &mut out).unwrap();
        assert_eq!((out.len(), out == note), (56, true));
    }
}
