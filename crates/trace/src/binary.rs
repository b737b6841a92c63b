//! Formats of a sequence of binary records.

use std::io::Read;

use super::error::{OnBad, Place, Reason};
use super::reader::{BATCH, Options, Reader, Skipped};
use super::text::Output;
use super::{Error, Request, Source, Volumes};

/// A longer record is none of a trace.
const LONGEST_RECORD: usize = 1 << 16;

/// How much is read at a time.
const CHUNK: usize = 1 << 18;

/// A format of binary records.
pub(super) trait BinaryFormat: Send + Sized + 'static {
    /// How likely a content is of the format, by its first bytes, from 0 to 1000.
    fn sniff(head: &[u8]) -> u32;

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

    /// The names of the files that are one trace with the one that has this name, other than it.
    ///
    /// # Errors
    /// Where they cannot be looked for.
    fn others(_name: &str) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    /// When a record was made: those of several files are read in this order.
    fn time(_record: &[u8]) -> u64 {
        0
    }
}

/// The records of one file, as they are read.
struct Stream {
    source: Source,
    buffer: Vec<u8>,
    /// What of the buffer is not read yet.
    start: usize,
    end: usize,
    /// How long the record is with which that begins, once it is there as a whole.
    whole: Option<usize>,
    /// How many records were read, and where in the content the next one begins.
    record: u64,
    byte: u64,
    at_end: bool,
}

impl Stream {
    /// The records after the first `header` bytes.
    fn open(mut source: Source, header: usize) -> Result<Stream, Error> {
        let byte = header as u64;
        let passed = std::io::copy(&mut source.by_ref().take(byte), &mut std::io::sink());
        passed.map_err(|error| source.failed(error))?;
        let buffer = vec![0; CHUNK];
        let (start, end, record) = (0, 0, 0);
        Ok(Stream { source, buffer, start, end, whole: None, record, byte, at_end: false })
    }

    /// Sees to it that the next record is in the buffer; returns whether there is one. What is
    /// left at the end of the file and is none goes to `skipped`.
    fn advance<F: BinaryFormat>(
        &mut self,
        format: &F,
        on_bad: OnBad,
        skipped: &mut Skipped,
    ) -> Result<bool, Error> {
        while self.whole.is_none() && !self.at_end {
            self.whole = self.find(format)?;
            if self.whole.is_none() && !self.refill()? {
                self.at_end = true;
                let left = self.end - self.start;
                if left > 0 {
                    let reason = format!("the file ends within it, after {left} bytes of it");
                    let (name, reason) = (self.source.name(), Reason::new(reason));
                    skipped.note(on_bad, name, self.place(), reason)?;
                }
            }
        }
        Ok(self.whole.is_some())
    }

    /// The length of the next record, where it is in the buffer as a whole.
    fn find<F: BinaryFormat>(&self, format: &F) -> Result<Option<usize>, Error> {
        let rest = &self.buffer[self.start..self.end];
        let length = format.length(rest).map_err(|reason| self.damaged(&reason))?;
        if length.is_some_and(|length| !(1..=LONGEST_RECORD).contains(&length)) {
            let reason = format!("it would have more than {LONGEST_RECORD} bytes");
            return Err(self.damaged(&Reason::new(reason)));
        }
        Ok(length.filter(|length| *length <= rest.len()))
    }

    /// Moves what is left to the front and reads more; returns whether there was more.
    fn refill(&mut self) -> Result<bool, Error> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let read = self.source.read(&mut self.buffer[self.end..]);
        let read = read.map_err(|error| self.source.failed(error))?;
        self.end += read;
        Ok(read > 0)
    }

    /// The next record, after [`advance`](Stream::advance) has found one.
    fn record(&self) -> &[u8] {
        &self.buffer[self.start..self.start + self.whole.unwrap_or_default()]
    }

    /// Where that stands.
    fn place(&self) -> Place {
        Place::Record(self.record + 1, self.byte)
    }

    /// Goes on to the one after it.
    fn pass(&mut self) {
        let length = self.whole.take().unwrap_or_default();
        self.start += length;
        self.byte += length as u64;
        self.record += 1;
    }

    fn damaged(&self, reason: &Reason) -> Error {
        let reason = format!("{}: {reason}; what follows it cannot be found", self.place());
        Error::Damaged { name: self.source.name().into(), reason }
    }
}

/// Reads binary records, from one file or from several that are one trace.
pub(super) struct Records<F> {
    format: F,
    streams: Vec<Stream>,
    options: Options,
    at_end: bool,
    out: Output,
    skipped: Skipped,
}

impl<F: BinaryFormat> Records<F> {
    pub(super) fn open(source: Source, options: Options) -> Result<Box<dyn Reader>, Error> {
        let others: Result<Vec<_>, _> =
            F::others(source.name())?.iter().map(|name| Source::open(name)).collect();
        let (format, stream) = Records::<F>::stream(source, &options)?;
        let mut streams = vec![stream];
        for source in others? {
            streams.push(Records::<F>::stream(source, &options)?.1);
        }
        let (out, skipped) = (Output::default(), Skipped::default());
        Ok(Box::new(Records { format, streams, options, at_end: false, out, skipped }))
    }

    fn stream(source: Source, options: &Options) -> Result<(F, Stream), Error> {
        let (format, header) = F::new(source.head(), options).map_err(|reason| Error::Damaged {
            name: source.name().into(),
            reason: reason.to_string(),
        })?;
        Ok((format, Stream::open(source, header)?))
    }

    /// The stream whose next record is the first in time; of equals, the first stream.
    fn next(&mut self) -> Result<Option<usize>, Error> {
        let Records { format, streams, options, skipped, .. } = self;
        if let [stream] = &mut streams[..] {
            return Ok(stream.advance(format, options.on_bad, skipped)?.then_some(0));
        }
        let mut first = None;
        for (index, stream) in streams.iter_mut().enumerate() {
            if stream.advance(format, options.on_bad, skipped)? {
                let time = F::time(stream.record());
                if first.is_none_or(|(earliest, _)| time < earliest) {
                    first = Some((time, index));
                }
            }
        }
        Ok(first.map(|(_, index)| index))
    }

    fn fill(&mut self) -> Result<(), Error> {
        while self.out.requests.len() < BATCH && !self.at_end {
            let Some(index) = self.next()? else {
                self.at_end = true;
                self.format.end(&mut self.out);
                return Ok(());
            };
            let stream = &mut self.streams[index];
            let read = self.format.record(stream.record(), &mut self.out);
            let place = stream.place();
            stream.pass();
            if let Err(reason) = read {
                let (name, on_bad) = (stream.source.name(), self.options.on_bad);
                self.skipped.note(on_bad, name, place, reason)?;
            }
        }
        Ok(())
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
