//! Text formats, which are parsed line by line.

mod fields;

use std::io::Read;

pub(super) use fields::{Fields, LONGEST_FIELD, checked, decimal, hexadecimal, shown};

use super::error::{Place, Reason};
use super::reader::{BATCH, Options, Reader, SkippedInput};
use super::{Error, Request, Source, Volumes};

/// The maximum length of a line in bytes; a file with longer lines is not a trace.
const LONGEST_LINE: usize = 1 << 16;

/// The bytes read at a time: few enough to stay in the CPU caches during parsing.
const CHUNK: usize = 1 << 18;

/// The number of lines read to detect a format.
const SNIFFED_LINES: usize = 200;

/// The destination of parsed requests.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) requests: Vec<Request>,
    pub(super) volumes: Volumes,
}

impl Output {
    /// Adds a request to the volume of this name.
    #[inline]
    pub(super) fn push_of(&mut self, volume: &[u8], request: Request) {
        let volume = self.volumes.id(volume);
        self.requests.push(Request { volume, ..request });
    }
}

/// A text format, which is parsed line by line.
pub(super) trait TextFormat: Send + Sized + 'static {
    /// True if the meaning of a line does not depend on other lines.
    const HAS_INDEPENDENT_LINES: bool = false;

    /// Creates a parser. `head` holds the first bytes of the content, for formats that need to look
    /// ahead.
    fn new(options: &Options, head: &[u8]) -> Self;

    /// Parses a line, which may contain a request. The line has no line ending and is neither empty
    /// nor a comment.
    ///
    /// # Errors
    /// The reason that the line is invalid.
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason>;

    /// Ends the trace and emits all pending requests.
    fn end(&mut self, _out: &mut Output) {}

    /// Returns true if the parsed requests are plausible for this format. A format overrides this
    /// function if its lines have the same form as those of another format.
    fn plausible(_requests: &[Request]) -> bool {
        true
    }
}

/// Returns the likelihood of a format, from 0 to 1000: the share of the first lines that parse.
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

/// Returns the first line that is neither empty nor a comment, without its ending.
pub(super) fn first_line(head: &[u8]) -> &[u8] {
    let mut lines = head.split(|byte| *byte == b'\n').map(trimmed);
    lines.find(|line| !is_aside(line)).unwrap_or_default()
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns true if a line is empty or a comment. Such a line contains no request in any format.
#[inline]
fn is_aside(line: &[u8]) -> bool {
    match line {
        [] | [b'#', ..] => true,
        [b' ' | b'\t', ..] => line.trim_ascii().is_empty(),
        _ => false,
    }
}

/// Reads a text trace line by line.
pub(super) struct Lines<F> {
    format: F,
    source: Source,
    options: Options,
    buffer: Vec<u8>,
    /// The unread range of the buffer.
    start: usize,
    end: usize,
    line: u64,
    at_end: bool,
    out: Output,
    skipped: SkippedInput,
}

impl<F: TextFormat> Lines<F> {
    pub(super) fn open(source: Source, options: Options) -> Box<dyn Reader> {
        Lines::read_by(F::new(&options, source.head()), source, options)
    }

    /// Opens a trace whose lines `format` parses.
    pub(super) fn read_by(format: F, source: Source, options: Options) -> Box<dyn Reader> {
        Box::new(Lines {
            format,
            source,
            options,
            buffer: vec![0; CHUNK],
            start: 0,
            end: 0,
            line: 0,
            at_end: false,
            out: Output::default(),
            skipped: SkippedInput::default(),
        })
    }

    /// Moves the unread bytes to the front and reads more. Returns false at the end of the content.
    fn refill(&mut self) -> Result<bool, Error> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end > LONGEST_LINE {
            let reason = format!(
                "line {} is longer than {LONGEST_LINE} bytes: this is not a text trace",
                self.line + 1
            );
            return Err(Error::Damaged { name: self.source.name().into(), reason });
        }
        let read = self.source.read(&mut self.buffer[self.end..]);
        let read = read.map_err(|error| self.source.failed(error))?;
        self.end += read;
        Ok(read > 0)
    }

    /// Parses the buffered lines while the batch has room.
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
                    // The last line lacks a line ending. The buffer has room for the ending,
                    // because a line is shorter than the buffer.
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

    fn skipped(&self) -> &SkippedInput {
        &self.skipped
    }
}
