//! Formats of a request a line.

use flashscope_block::{Bytes, Nanos, Op};
use std::io::Read;

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

/// A format of a request a line.
pub(super) trait TextFormat: Send + Sized + 'static {
    /// A reader's state before the first line.
    fn new(options: &Options) -> Self;

    /// Reads a line, without its end: it may hold a request, or not.
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
    let whole = match memchr::memrchr(b'\n', head) {
        Some(end) => &head[..end],
        None => head,
    };
    let mut format = F::new(&Options::default());
    let mut out = Output::default();
    let (mut good, mut bad) = (0u32, 0u32);
    for line in whole.split(|byte| *byte == b'\n').take(SNIFFED_LINES) {
        match format.line(trimmed(line), &mut out) {
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
            format: F::new(&options),
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

/// The fields of a line, one after the other.
pub(super) struct Fields<'a> {
    /// What is left; `None` after the last field.
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Fields<'a> {
    /// Fields that are separated by one byte, such as a comma.
    #[inline]
    pub(super) fn separated(line: &'a [u8], separator: u8) -> Fields<'a> {
        Fields { rest: Some(line), separator }
    }

    /// Fields that are separated by one or more blanks or tabs.
    #[inline]
    pub(super) fn blank(line: &'a [u8]) -> Fields<'a> {
        let line = line.trim_ascii();
        Fields { rest: Some(line).filter(|line| !line.is_empty()), separator: b' ' }
    }

    /// The next field as it stands; `name` says what it is.
    #[inline]
    pub(super) fn text(&mut self, name: &'static str) -> Result<&'a [u8], Reason> {
        let rest = self.rest.ok_or_else(|| missing(name))?;
        let end = rest.iter().position(|byte| self.separates(*byte)).unwrap_or(rest.len());
        self.go_on(rest, end);
        Ok(&rest[..end])
    }

    /// The next field as a whole number.
    #[inline]
    pub(super) fn number(&mut self, name: &'static str) -> Result<u64, Reason> {
        let rest = self.rest.ok_or_else(|| missing(name))?;
        let (value, digits) = digits(rest);
        let ends = rest.get(digits).is_none_or(|byte| self.separates(*byte));
        if !ends || digits == 0 || digits > MOST_DIGITS {
            let text = self.text(name)?;
            return slow_number(text, name);
        }
        self.go_on(rest, digits);
        Ok(value)
    }

    /// The next field as a time in units of `unit` nanoseconds, with or without decimals; digits
    /// beyond a nanosecond are cut off.
    #[inline]
    pub(super) fn time(&mut self, name: &'static str, unit: u64) -> Result<Nanos, Reason> {
        decimal(self.text(name)?, b'.', unit)
            .map(Nanos)
            .ok_or_else(|| Reason::new(format!("{name} is no time, or one beyond 584 years")))
    }

    /// The next field as an address or a length in units of `unit` bytes.
    #[inline]
    pub(super) fn bytes(&mut self, name: &'static str, unit: u64) -> Result<Bytes, Reason> {
        let value = self.number(name)?.checked_mul(unit).map(Bytes);
        value.ok_or_else(|| Reason::new(format!("{name} is beyond 2^64 bytes")))
    }

    /// The next field as an operation, of which some texts are the names.
    #[inline]
    pub(super) fn op(
        &mut self,
        name: &'static str,
        names: &[(&'static str, Op)],
    ) -> Result<Op, Reason> {
        let text = self.text(name)?;
        let named = names.iter().find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(text));
        named.map(|(_, op)| *op).ok_or_else(|| {
            let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
            Reason::new(format!("{name} is `{}`, and none of {}", shown(text), names.join(", ")))
        })
    }

    /// That there is no further field.
    #[inline]
    pub(super) fn end(&self) -> Result<(), Reason> {
        match self.rest {
            None | Some([]) => Ok(()),
            Some(rest) => Err(Reason::new(format!("there is more in it: `{}`", shown(rest)))),
        }
    }

    #[inline]
    fn separates(&self, byte: u8) -> bool {
        byte == self.separator || (self.separator == b' ' && byte == b'\t')
    }

    /// Goes to the field after the one that ends at `end`.
    #[inline]
    fn go_on(&mut self, rest: &'a [u8], end: usize) {
        self.rest = rest.get(end + 1..);
        if self.separator == b' '
            && let Some(rest) = self.rest
        {
            let blank = rest.iter().take_while(|byte| self.separates(**byte)).count();
            self.rest = Some(&rest[blank..]);
        }
    }
}

/// A request that is possible at all.
#[inline]
pub(super) fn checked(request: Request) -> Result<Request, Reason> {
    if request.len.0 == 0 && request.op != Op::Flush {
        return Err(Reason::new("it is for 0 bytes"));
    }
    if request.offset.0.checked_add(request.len.0).is_none() {
        return Err(Reason::new("it ends beyond 2^64 bytes"));
    }
    Ok(request)
}

/// So many digits fit 64 bits in any case.
const MOST_DIGITS: usize = 19;

/// The number at the start of a text, and how many digits it has.
#[inline]
fn digits(text: &[u8]) -> (u64, usize) {
    let mut value = 0u64;
    let mut count = 0;
    while let Some(byte) = text.get(count) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    (value, count)
}

#[cold]
fn slow_number(text: &[u8], name: &'static str) -> Result<u64, Reason> {
    let number = std::str::from_utf8(text.trim_ascii()).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        Reason::new(match text {
            [] => format!("{name} is empty"),
            text => format!("{name} is `{}`, and no whole number", shown(text)),
        })
    })
}

/// A number with or without decimals, times `unit`, cut off below 1; `point` stands before the
/// decimals.
#[inline]
pub(super) fn decimal(text: &[u8], point: u8, unit: u64) -> Option<u64> {
    let (whole, count) = digits(text);
    if count > MOST_DIGITS || (count == 0 && text.first() != Some(&point)) {
        return None;
    }
    let whole = whole.checked_mul(unit)?;
    let Some(rest) = text.get(count..).filter(|rest| !rest.is_empty()) else {
        return Some(whole);
    };
    let rest = rest.strip_prefix(&[point])?;
    let (mut fraction, mut scale) = (0u64, 1u64);
    for byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        // Beyond this nothing is left of a nanosecond.
        if scale < 1_000_000_000_000 {
            fraction = fraction * 10 + u64::from(digit);
            scale *= 10;
        }
    }
    let part = u128::from(fraction) * u128::from(unit) / u128::from(scale);
    whole.checked_add(u64::try_from(part).ok()?)
}

#[cold]
fn missing(name: &'static str) -> Reason {
    Reason::new(format!("{name} is missing"))
}

/// A text of a trace, as far as it can be shown.
pub(super) fn shown(text: &[u8]) -> String {
    let most = 40;
    let mut shown: String = String::from_utf8_lossy(&text[..text.len().min(most)])
        .chars()
        .map(|c| if c.is_control() { '�' } else { c })
        .collect();
    if text.len() > most {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    // Are numbers read as they stand, whatever separates them?
    #[test]
    fn fields_are_read() {
        let mut fields = Fields::separated(b"12,hm,,0007,18446744073709551615", b',');
        assert_eq!(fields.number("a"), Ok(12));
        assert_eq!(fields.text("b"), Ok(&b"hm"[..]));
        assert_eq!(fields.number("c"), Err(Reason::new("c is empty")));
        assert_eq!(fields.number("d"), Ok(7));
        assert_eq!(fields.number("e"), Ok(u64::MAX));
        assert_eq!(fields.end(), Ok(()));
        assert_eq!(fields.number("f"), Err(Reason::new("f is missing")));
        let mut fields = Fields::blank(b"  1 \t 22\t3 ");
        let numbers = [fields.number("a"), fields.number("b"), fields.number("c")];
        assert_eq!(numbers, [Ok(1), Ok(22), Ok(3)]);
        assert_eq!(fields.end(), Ok(()));
    }

    // Is a field that is no number refused with its text, and one that is too large?
    #[test]
    fn numbers_are_numbers() {
        for (text, message) in [
            ("-1", "x is `-1`, and no whole number"),
            ("1e3", "x is `1e3`, and no whole number"),
            ("18446744073709551616", "x is `18446744073709551616`, and no whole number"),
        ] {
            let found = Fields::separated(text.as_bytes(), b',').number("x");
            assert_eq!(found, Err(Reason::new(message)));
        }
        let found = Fields::separated(b"36028797018963968", b',').bytes("x", 512);
        assert_eq!(found, Err(Reason::new("x is beyond 2^64 bytes")));
    }

    // Are decimals exact to the nanosecond?
    #[test]
    fn decimals_are_exact() {
        let second = 1_000_000_000;
        for (text, unit, wanted) in [
            ("0.551706", second, Some(551_706_000)),
            ("1456095145.133076000", second, Some(1_456_095_145_133_076_000)),
            ("13.191135", 1_000_000, Some(13_191_135)),
            ("7", 1_000, Some(7_000)),
            (".5", second, Some(500_000_000)),
            ("1.", second, Some(second)),
            ("0.0000000019", second, Some(1)),
            ("1.2.3", second, None),
            ("", second, None),
            ("-1.0", second, None),
            ("99999999999999999999", 1, None),
            ("18446744074", second, None),
        ] {
            assert_eq!(decimal(text.as_bytes(), b'.', unit), wanted, "{text}");
        }
    }
}
