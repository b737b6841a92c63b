//! Formats of a sequence of binary records.

use std::io::Read;

use super::error::{Place, Reason};
use super::reader::{BATCH, Options, Reader, Skipped};
use super::text::Output;
use super::{Error, Request, Source, Volumes};

/// A longer record is none of a trace.
const LONGEST_RECORD: usize = 1 << 16;

/// How much is read at a time.
const CHUNK: usize = 1 << 18;

/// A format of binary records.
pub(super) trait BinaryFormat: Send + Sized + 'static {
    /// A reader's state, from the first bytes of the content, of which it says how many are a
    /// header, before the first record.
    ///
    /// # Errors
    /// Why the header is none.
    fn new(head: &[u8], options: &Options) -> Result<(Self, usize), Reason>;

    /// How long the record is that begins with `start`; `None` where more than these bytes are
    /// needed to tell.
    ///
    /// # Errors
    /// Where what follows cannot be found: nothing after it can be read.
    fn length(&self, start: &[u8]) -> Result<Option<usize>, Reason>;

    /// Reads a record of that length: it may hold a request, or not.
    ///
    /// # Errors
    /// What is wrong with it.
    fn record(&mut self, record: &[u8], out: &mut Output) -> Result<(), Reason>;

    /// The trace is at its end: gives what was held back.
    fn end(&mut self, _out: &mut Output) {}
}

/// Reads binary records.
pub(super) struct Records<F> {
    format: F,
    source: Source,
    options: Options,
    buffer: Vec<u8>,
    /// What of the buffer is not read yet.
    start: usize,
    end: usize,
    /// How many records were read, and where in the content the next one begins.
    record: u64,
    byte: u64,
    at_end: bool,
    out: Output,
    skipped: Skipped,
}

impl<F: BinaryFormat> Records<F> {
    pub(super) fn open(mut source: Source, options: Options) -> Result<Box<dyn Reader>, Error> {
        let (format, header) = F::new(source.head(), &options).map_err(|reason| {
            Error::Damaged { name: source.name().into(), reason: reason.to_string() }
        })?;
        let header = header as u64;
        let passed = std::io::copy(&mut source.by_ref().take(header), &mut std::io::sink());
        passed.map_err(|error| source.failed(error))?;
        Ok(Box::new(Records {
            format,
            source,
            options,
            buffer: vec![0; CHUNK],
            start: 0,
            end: 0,
            record: 0,
            byte: header,
            at_end: false,
            out: Output::default(),
            skipped: Skipped::default(),
        }))
    }

    fn refill(&mut self) -> Result<bool, Error> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let read = self.source.read(&mut self.buffer[self.end..]);
        let read = read.map_err(|error| self.source.failed(error))?;
        self.end += read;
        Ok(read > 0)
    }

    /// Reads the records that are in the buffer, as long as the batch has room.
    fn read_records(&mut self) -> Result<(), Error> {
        while self.out.requests.len() < BATCH {
            let rest = &self.buffer[self.start..self.end];
            let length = self.format.length(rest).map_err(|reason| self.damaged(&reason))?;
            if length.is_some_and(|length| !(1..=LONGEST_RECORD).contains(&length)) {
                let reason = format!("it would have more than {LONGEST_RECORD} bytes");
                return Err(self.damaged(&Reason::new(reason)));
            }
            let Some(record) = length.and_then(|length| rest.get(..length)) else { return Ok(()) };
            let read = self.format.record(record, &mut self.out);
            let place = Place::Record(self.record + 1, self.byte);
            self.start += record.len();
            self.byte += record.len() as u64;
            self.record += 1;
            if let Err(reason) = read {
                self.skipped.note(self.options.on_bad, self.source.name(), place, reason)?;
            }
        }
        Ok(())
    }

    fn damaged(&self, reason: &Reason) -> Error {
        let place = Place::Record(self.record + 1, self.byte);
        let reason = format!("{place}: {reason}; what follows it cannot be found");
        Error::Damaged { name: self.source.name().into(), reason }
    }

    fn fill(&mut self) -> Result<(), Error> {
        loop {
            self.read_records()?;
            if self.at_end || self.out.requests.len() >= BATCH {
                return Ok(());
            }
            if !self.refill()? {
                self.at_end = true;
                let left = self.end - self.start;
                if left > 0 {
                    let place = Place::Record(self.record + 1, self.byte);
                    let reason = format!("the file ends within it, after {left} bytes of it");
                    let (name, reason) = (self.source.name(), Reason::new(reason));
                    self.skipped.note(self.options.on_bad, name, place, reason)?;
                }
                self.format.end(&mut self.out);
            }
        }
    }
}

impl<F: BinaryFormat> Reader for Records<F> {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<(), Error> {
        self.out.requests = std::mem::take(batch);
        self.out.requests.clear();
        let filled = self.fill();
        *batch = std::mem::take(&mut self.out.requests);
        filled
    }

    fn volumes(&self) -> &Volumes {
        &self.out.volumes
    }

    fn skipped(&self) -> &Skipped {
        &self.skipped
    }
}

/// Reads the `N` bytes at `at`; a format asks only for what its length covers.
pub(super) fn bytes<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    if let Some(found) = record.get(at..at + N) {
        bytes.copy_from_slice(found);
    }
    bytes
}
