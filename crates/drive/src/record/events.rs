//! The kernel's stream of events: `struct blk_io_trace` of `linux/blktrace_api.h`, of version 7 (48
//! bytes) or 8 (64), each with what it says to follow; in between, lines of text about other things.

use std::io;

/// The upper three bytes of the first word; the lowest is the version.
const MAGIC: u32 = 0x6561_7400;

/// A line begins that says how many events were lost.
const LOST: &[u8] = b"CPU:";

/// A line begins that stands for an event of another tracer.
const OTHER: &[u8] = b"type:";

/// Lines are shorter.
const LONGEST_LINE: usize = 256;

/// What happened, in the lowest byte of an event's action.
const QUEUE: u32 = 1;
const ISSUE: u32 = 7;

/// Of the categories of an event, in its action: a command that is passed through to the drive.
const PASSED_THROUGH: u32 = 1 << 25;

/// What a note of the time of day is, in the action of an event.
const NOTE_OF_TIME: u32 = 1 << 26 | 1;

/// How much was asked for so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) requests: u64,
    pub(super) bytes: u64,
}

/// Takes the stream apart, of which pieces come that end anywhere.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// What came and is not taken apart yet.
    pending: Vec<u8>,
    pub(super) queued: Count,
    pub(super) issued: Count,
}

impl Events {
    /// Takes the next piece; whole events go to `out` as they are.
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

/// What stands first, if it is there as a whole.
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
    // The header, and where in it stands the length of what follows.
    let (header, follows) = match (word_at(0) & !0xff, word_at(0) & 0xff) {
        (MAGIC, 7) => (48, 46),
        (MAGIC, 8) => (64, 50),
        _ => return Err(unknown(word)),
    };
    if pending.len() < header {
        return Ok(None);
    }
    let length = header + usize::from(u16::from_ne_bytes([pending[follows], pending[follows + 1]]));
    // Of version 8 it is 64 bits wide, of which nothing here needs more than half.
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
        "the kernel gives what is no event of its tracer of block devices ({word:02x?}): it is newer \
         than this program, or somebody changed what is traced meanwhile"
    );
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// A note of the time of day, as blktrace begins with one: `monotonic` on the clock of the trace
/// was `since_1970`, both in nanoseconds.
pub(super) fn note_of_time(monotonic: u64, since_1970: u64) -> Vec<u8> {
    let second = 1_000_000_000;
    // Until 2106 it fits the field.
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

    // Do whole events come out as they are, wherever the pieces end, and lines not?
    #[test]
    fn pieces_end_anywhere() {
        let passed = event(ISSUE | PASSED_THROUGH, &[0; 300]);
        let events = [event(QUEUE, b"abc"), event(ISSUE, b""), passed];
        let lines = ["CPU:1 [LOST 17 EVENTS]\n", "type: 5\n", "CPU:0 [LOST EVENTS]\n"];
        let mut stream = Vec::new();
        for (event, line) in events.iter().zip(lines) {
            stream.extend_from_slice(line.as_bytes());
            stream.extend_from_slice(event);
        }
        for size in [1, 5, 47, 48, 49, 200, 1000] {
            let (mut taken, mut out) = (Events::default(), Vec::new());
            for piece in stream.chunks(size) {
                taken.push(piece, &mut out).unwrap();
            }
            assert_eq!(out, events.concat(), "{size}");
            let one = Count { requests: 1, bytes: 512 };
            assert_eq!((taken.queued, taken.issued), (one, one));
        }
    }

    proptest! {
        // Is a stream taken apart alike wherever its pieces end, whatever it holds, and never more than was in it?
        #[test]
        fn any_stream(
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
            let taken = |size: usize| {
                let (mut events, mut out) = (Events::default(), Vec::new());
                let failed = stream.chunks(size).any(|piece| events.push(piece, &mut out).is_err());
                (failed, out, events.queued, events.issued)
            };
            let whole = taken(stream.len().max(1));
            prop_assert!(whole.1.len() <= stream.len());
            prop_assert_eq!(taken(size), whole);
        }
    }

    // Is what is no event an error, rather than part of a trace?
    #[test]
    fn what_is_no_event_is_refused() {
        let endless = [b"CPU:", &[b'x'; 300][..]].concat();
        for stream in [&b"abcdefgh"[..], &[9, 0x74, 0x61, 0x65], &endless] {
            let error = Events::default().push(stream, &mut Vec::new()).unwrap_err();
            assert!(error.to_string().contains("no event of its tracer"), "{error}");
        }
    }

    // Is the note laid out as an event, so that it passes as one?
    #[test]
    fn the_note_is_an_event() {
        let note = note_of_time(5, 1_700_000_000_000_000_007);
        let mut out = Vec::new();
        Events::default().push(&note, &mut out).unwrap();
        assert_eq!((out.len(), out == note), (56, true));
    }
}
