//! Formats that are a sequence of binary records.

use std::io::Read;

use super::error::{OnBad, Place, Reason};
use super::reader::{BATCH, Options, Reader, SkippedInput};
use super::text::Output;
use super::{Error, Request, Source, Volumes};

/// The maximum length of a record in bytes; a file with longer records is not a trace.
const LONGEST_RECORD: usize = 1 << 16;

/// The number of bytes read at a time.
const CHUNK: usize = 1 << 18;

/// A format of binary records.
pub(super) trait BinaryFormat: Send + Sized + 'static {
    /// Returns the likelihood that content with these first bytes has the format, from 0 to 1000.
    fn sniff(head: &[u8]) -> u32;

    /// Creates a parser from the first bytes of the content. Also returns the length of the header,
    /// which precedes the first record.
    ///
    /// # Errors
    /// The header is invalid.
    fn new(head: &[u8], options: &Options) -> Result<(Self, usize), Reason>;

    /// Returns the length of the record that begins with `start`; `None` if it takes more bytes to
    /// determine the length.
    ///
    /// # Errors
    /// The length is invalid. The position of the next record is then unknown, and reading must
    /// stop.
    fn length(&self, start: &[u8]) -> Result<Option<usize>, Reason>;

    /// Parses a complete record, and adds the requests that are ready to `out`.
    ///
    /// # Errors
    /// The record is invalid.
    fn record(&mut self, record: &[u8], out: &mut Output) -> Result<(), Reason>;

    /// Ends the trace and emits all pending requests.
    fn end(&mut self, _out: &mut Output) {}

    /// Returns the names of the other files of the same trace.
    ///
    /// # Errors
    /// The folder cannot be read.
    fn others(_name: &str) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    /// Returns the time of a record, by which the records of several files are merged.
    fn time(_record: &[u8]) -> u64 {
        0
    }
}

/// The records of one file.
struct Stream {
    source: Source,
    buffer: Vec<u8>,
    /// The unread range of the buffer.
    start: usize,
    end: usize,
    /// The length of the next record, once it is buffered completely.
    whole: Option<usize>,
    /// The number of records read.
    record: u64,
    /// The position of the next record in the content.
    byte: u64,
    at_end: bool,
}

impl Stream {
    /// Creates a stream of the records after the first `header` bytes.
    fn open(mut source: Source, header: usize) -> Result<Stream, Error> {
        let byte = header as u64;
        let passed = std::io::copy(&mut source.by_ref().take(byte), &mut std::io::sink());
        passed.map_err(|error| source.failed(error))?;
        let buffer = vec![0; CHUNK];
        let (start, end, record) = (0, 0, 0);
        Ok(Stream { source, buffer, start, end, whole: None, record, byte, at_end: false })
    }

    /// Buffers the next record. Returns false at the end of the file. Reports an incomplete record
    /// at the end of the file in `skipped`.
    fn advance<F: BinaryFormat>(
        &mut self,
        format: &F,
        on_bad: OnBad,
        skipped: &mut SkippedInput,
    ) -> Result<bool, Error> {
        while self.whole.is_none() && !self.at_end {
            self.whole = self.find(format)?;
            if self.whole.is_none() && !self.refill()? {
                self.at_end = true;
                let left = self.end - self.start;
                if left > 0 {
                    let reason = format!("the file ends after {left} bytes of this record");
                    let (name, reason) = (self.source.name(), Reason::new(reason));
                    skipped.note(on_bad, name, self.place(), reason)?;
                }
            }
        }
        Ok(self.whole.is_some())
    }

    /// Returns the length of the next record if it is buffered completely.
    fn find<F: BinaryFormat>(&self, format: &F) -> Result<Option<usize>, Error> {
        let rest = &self.buffer[self.start..self.end];
        let length = format.length(rest).map_err(|reason| self.damaged(&reason))?;
        if length.is_some_and(|length| !(1..=LONGEST_RECORD).contains(&length)) {
            let reason = format!("its length is not between 1 and {LONGEST_RECORD} bytes");
            return Err(self.damaged(&Reason::new(reason)));
        }
        Ok(length.filter(|length| *length <= rest.len()))
    }

    /// Moves the unread bytes to the front and reads more. Returns false at the end of the content.
    fn refill(&mut self) -> Result<bool, Error> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let read = self.source.read(&mut self.buffer[self.end..]);
        let read = read.map_err(|error| self.source.failed(error))?;
        self.end += read;
        Ok(read > 0)
    }

    /// Returns the next record, after [`advance`](Stream::advance) returned true.
    fn record(&self) -> &[u8] {
        &self.buffer[self.start..self.start + self.whole.unwrap_or_default()]
    }

    /// Returns the position of the next record.
    fn place(&self) -> Place {
        Place::Record(self.record + 1, self.byte)
    }

    /// Moves past the next record.
    fn pass(&mut self) {
        let length = self.whole.take().unwrap_or_default();
        self.start += length;
        self.byte += length as u64;
        self.record += 1;
    }

    fn damaged(&self, reason: &Reason) -> Error {
        let reason = format!("{}: {reason}; the records after it cannot be located", self.place());
        Error::Damaged { name: self.source.name().into(), reason }
    }
}

/// Reads binary records from one file, or from several files of one trace.
pub(super) struct Records<F> {
    format: F,
    streams: Vec<Stream>,
    options: Options,
    at_end: bool,
    out: Output,
    skipped: SkippedInput,
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
        let (out, skipped) = (Output::default(), SkippedInput::default());
        Ok(Box::new(Records { format, streams, options, at_end: false, out, skipped }))
    }

    fn stream(source: Source, options: &Options) -> Result<(F, Stream), Error> {
        let (format, header) = F::new(source.head(), options).map_err(|reason| Error::Damaged {
            name: source.name().into(),
            reason: reason.to_string(),
        })?;
        Ok((format, Stream::open(source, header)?))
    }

    /// Returns the stream whose next record is the earliest; on a tie, the first stream.
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

    fn skipped(&self) -> &SkippedInput {
        &self.skipped
    }
}

/// Returns the `N` bytes at `at`, which must be within the record.
pub(super) fn bytes<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    if let Some(found) = record.get(at..at + N) {
        bytes.copy_from_slice(found);
    }
    bytes
}
