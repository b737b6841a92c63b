//! Formats of a request a line.

mod fields;

use std::io::Read;

pub(super) use fields::{Fields, LONGEST_FIELD, checked, decimal, hexadecimal, shown};

use super::error::{Place, Reason};
use super::reader::{BATCH, Options, Reader, Skipped};
use super::{Error, Request, Source, Volumes};

/// A longer line is none of a trace.
const LONGEST_LINE: usize = 1 << 16;

/// How much is read at a time: it stays in the caches while its lines are read.
const CHUNK: usize = 1 << 18;

/// How many lines are read to find a format.
const SNIFFED_LINES: usize = 200;

/// Where requests go as they are read.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) requests: Vec<Request>,
    pub(super) volumes: Volumes,
}

impl Output {
    /// Gives a request of the volume of that name.
    #[inline]
    pub(super) fn push_of(&mut self, volume: &[u8], request: Request) {
        let volume = self.volumes.id(volume);
        self.requests.push(Request { volume, ..request });
    }
}

/// A format of a request a line.
pub(super) trait TextFormat: Send + Sized + 'static {
    /// A reader's state before the first line; `head` is how the content begins, for what cannot
    /// be told from the lines before alone.
    fn new(options: &Options, head: &[u8]) -> Self;

    /// Reads a line, without its end: it may hold a request, or not. It is neither empty nor a
    /// comment.
    ///
    /// # Errors
    /// What is wrong with it.
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason>;

    /// The trace is at its end: gives what was held back.
    fn end(&mut self, _out: &mut Output) {}

    /// Whether what was read under the assumption that the trace is of this format looks like it,
    /// where other formats have lines of the same form.
    fn plausible(_requests: &[Request]) -> bool {
        true
    }
}

/// How likely a content is of a format, from 0 to 1000, by its first lines: the share of them that
/// can be read.
pub(super) fn sniff<F: TextFormat>(head: &[u8]) -> u32 {
    let mut format = F::new(&Options::default(), head);
    let whole = match memchr::memrchr(b'\n', head) {
        Some(end) => &head[..end],
        None => head,
    };
    let mut out = Output::default();
    let (mut good, mut bad) = (0u32, 0u32);
    let lines = whole.split(|byte| *byte == b'\n').map(trimmed);
    for line in lines.take(SNIFFED_LINES).filter(|line| !is_aside(line)) {
        match format.line(line, &mut out) {
            Ok(()) => good += 1,
            Err(_) => bad += 1,
        }
    }
    format.end(&mut out);
    if out.requests.is_empty() || bad > good || !F::plausible(&out.requests) {
        return 0;
    }
    good * 1000 / (good + bad)
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Whether a line is empty or a comment: such hold no request in any format.
#[inline]
fn is_aside(line: &[u8]) -> bool {
    match line {
        [] | [b'#', ..] => true,
        [b' ' | b'\t', ..] => line.trim_ascii().is_empty(),
        _ => false,
    }
}

/// Reads a text, line by line.
pub(super) struct Lines<F> {
    format: F,
    source: Source,
    options: Options,
    buffer: Vec<u8>,
    /// What of the buffer is not read yet.
    start: usize,
    end: usize,
    line: u64,
    at_end: bool,
    out: Output,
    skipped: Skipped,
}

impl<F: TextFormat> Lines<F> {
    pub(super) fn open(source: Source, options: Options) -> Box<dyn Reader> {
        Box::new(Lines {
            format: F::new(&options, source.head()),
            source,
            options,
            buffer: vec![0; CHUNK],
            start: 0,
            end: 0,
            line: 0,
            at_end: false,
            out: Output::default(),
            skipped: Skipped::default(),
        })
    }

    /// Moves what is left to the front and reads more; returns whether there was more.
    fn refill(&mut self) -> Result<bool, Error> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end > LONGEST_LINE {
            let reason = format!(
                "line {} is longer than {LONGEST_LINE} bytes: this is no trace in text",
                self.line + 1
            );
            return Err(Error::Damaged { name: self.source.name().into(), reason });
        }
        let read = self.source.read(&mut self.buffer[self.end..]);
        let read = read.map_err(|error| self.source.failed(error))?;
        self.end += read;
        Ok(read > 0)
    }

    /// Reads the lines that are in the buffer, as long as the batch has room.
    fn read_lines(&mut self) -> Result<(), Error> {
        while self.out.requests.len() < BATCH {
            let rest = &self.buffer[self.start..self.end];
            let Some(length) = memchr::memchr(b'\n', rest) else { return Ok(()) };
            let line = trimmed(&rest[..length]);
            self.start += length + 1;
            self.line += 1;
            if is_aside(line) {
                continue;
            }
            if let Err(reason) = self.format.line(line, &mut self.out) {
                let (place, name) = (Place::Line(self.line), self.source.name());
                self.skipped.note(self.options.on_bad, name, place, reason)?;
            }
        }
        Ok(())
    }

    fn fill(&mut self) -> Result<(), Error> {
        loop {
            self.read_lines()?;
            if self.at_end || self.out.requests.len() >= BATCH {
                return Ok(());
            }
            if !self.refill()? {
                self.at_end = true;
                if self.end > self.start {
                    // The last line has no end; there is room, as a line is shorter than the buffer.
                    self.buffer[self.end] = b'\n';
                    self.end += 1;
                    self.read_lines()?;
                }
                self.format.end(&mut self.out);
            }
        }
    }
}

impl<F: TextFormat> Reader for Lines<F> {
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
