//! The journal: the order of the events of a verification, on another medium than the drive.
//!
//! A journal is a line of text, then records. A record consists of its length and its CRC-32C, both
//! as 32-bit little-endian numbers, and its content. The checksum also covers the checksum of the
//! previous record, which detects a record in the wrong position. The first record is the
//! [`Opening`] as JSON. Every other record is a [`Moment`] with the events up to it.
//!
//! A power cut may damage the end of the journal. The reader stops at the first invalid record, and
//! the records before it contain a prefix of the events.

mod event;
mod log;

use std::ops::Range;

use crc_fast::CrcAlgorithm::Crc32Iscsi;
use flashscope_block::DeviceInfo;
use flashscope_document::manifest::Tool;
use flashscope_document::verification::{Atomicity, VerificationWorkload};
use serde::{Deserialize, Serialize};

pub use event::Event;
pub use log::{Background, Log, Storage};

use crate::clock::Moment;

/// The first line of a journal. Its number is the version of the format and of the plan.
const FIRST_LINE: &[u8] = b"flashscope verify journal 1\n";
/// The part of the first line that all versions share.
const FIRST_WORDS: usize = b"flashscope verify journal ".len();
/// The length of the header of a record.
const HEAD: usize = 8;
/// The length of a moment.
const MOMENT: usize = 16;

/// The start of a journal: the drive and the writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// The program that wrote the journal.
    pub tool: Tool,
    /// The drive.
    pub device: DeviceInfo,
    /// The writes.
    pub workload: VerificationWorkload,
    /// The atomicity that the drive promises.
    pub atomicity: Atomicity,
    /// The start time, as RFC 3339 in UTC.
    pub began: String,
}

/// The reason why a file is not a usable journal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The file does not begin like a journal.
    #[error("it is not a journal of `flashscope verify`")]
    NotAJournal,
    /// Another version of this program wrote the file.
    #[error("another version of flashscope wrote it: use that version")]
    Version,
    /// The record that describes the drive and the writes is missing or damaged.
    #[error("its first record, which states the drive and the writes, is damaged")]
    Opening,
}

/// Encodes the records of a journal.
pub struct Encoder {
    checksum: u32,
}

impl Encoder {
    /// Creates an encoder, and returns it with the start of the journal.
    #[must_use]
    pub fn new(opening: &Opening) -> (Encoder, Vec<u8>) {
        let mut encoder = Encoder { checksum: 0 };
        let json = serde_json::to_vec(opening).expect("an opening is plain data");
        let mut begin = FIRST_LINE.to_vec();
        begin.extend(encoder.record(&json));
        (encoder, begin)
    }

    /// Encodes a record: `moment`, and the events before it as [`Event::encode`] encodes them.
    #[must_use]
    pub fn events(&mut self, moment: Moment, events: &[u8]) -> Vec<u8> {
        let mut content = Vec::with_capacity(MOMENT + events.len());
        content.extend(moment.wall_ns.to_le_bytes());
        content.extend(moment.steady_ns.to_le_bytes());
        content.extend(events);
        self.record(&content)
    }

    fn record(&mut self, content: &[u8]) -> Vec<u8> {
        self.checksum = checksum(self.checksum, content);
        let len = u32::try_from(content.len()).expect("a record is short");
        let mut record = Vec::with_capacity(HEAD + content.len());
        record.extend(len.to_le_bytes());
        record.extend(self.checksum.to_le_bytes());
        record.extend(content);
        record
    }
}

/// Returns the checksum of a record. `before` is the checksum of the previous record.
fn checksum(before: u32, content: &[u8]) -> u32 {
    let mut digest = crc_fast::Digest::new(Crc32Iscsi);
    digest.update(&before.to_le_bytes());
    digest.update(content);
    u32::try_from(digest.finalize()).expect("a checksum of 32 bits")
}

/// A journal in memory, up to its first invalid record.
pub struct Journal {
    /// The drive and the writes.
    pub opening: Opening,
    /// The moment of each record.
    pub moments: Vec<Moment>,
    /// The bytes after the last valid record.
    pub damaged_tail: u64,
    bytes: Vec<u8>,
    /// The encoded events of each record.
    events: Vec<Range<usize>>,
}

impl Journal {
    /// Reads a journal.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a journal, or if its first record is damaged.
    pub fn parse(bytes: Vec<u8>) -> Result<Journal, JournalError> {
        if !bytes.starts_with(FIRST_LINE) {
            let is_ours = bytes.starts_with(&FIRST_LINE[..FIRST_WORDS]);
            let error = if is_ours { JournalError::Version } else { JournalError::NotAJournal };
            return Err(error);
        }
        let mut at = FIRST_LINE.len();
        let mut before = 0;
        let first = record(&bytes, &mut at, &mut before).ok_or(JournalError::Opening)?;
        let opening = serde_json::from_slice(&bytes[first]).map_err(|_| JournalError::Opening)?;
        let (mut moments, mut events) = (Vec::new(), Vec::new());
        while let Some(content) = record(&bytes, &mut at, &mut before) {
            let Some(moment) = moment(&bytes[content.clone()]) else { break };
            moments.push(moment);
            events.push(content.start + MOMENT..content.end);
        }
        let damaged_tail = (bytes.len() - at) as u64;
        Ok(Journal { opening, moments, damaged_tail, bytes, events })
    }

    /// Returns the events in order. The iterator ends at the first event that is invalid.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        let mut records = self.events.iter();
        let mut left: &[u8] = &[];
        std::iter::from_fn(move || {
            while left.is_empty() {
                left = &self.bytes[records.next()?.clone()];
            }
            let event = Event::decode(&mut left);
            if event.is_none() {
                (records, left) = ([].iter(), &[]);
            }
            event
        })
    }
}

/// Returns the content of the record at `at`, and advances to the next one, if the record is valid.
fn record(bytes: &[u8], at: &mut usize, before: &mut u32) -> Option<Range<usize>> {
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes))
    };
    let len = usize::try_from(number(*at)?).ok()?;
    let expected = number(*at + 4)?;
    let content = *at + HEAD..(*at + HEAD).checked_add(len)?;
    if checksum(*before, bytes.get(content.clone())?) != expected {
        return None;
    }
    (*at, *before) = (content.end, expected);
    Some(content)
}

fn moment(content: &[u8]) -> Option<Moment> {
    let word = |at: usize| content.get(at..at + 8)?.try_into().ok();
    let wall_ns = i64::from_le_bytes(word(0)?);
    Some(Moment { wall_ns, steady_ns: u64::from_le_bytes(word(8)?) })
}

#[cfg(test)]
mod tests;
